"""Jobs, one module each, built from the models below.

names        match lists of names: find pairs, group them, evaluate measures, prepare labels
similarity   documents like a text or like another document, in an index of many
"""

from textmill.tasks.similarity import Matches, SimilarDocuments, query_shards

__all__ = ["Matches", "SimilarDocuments", "query_shards"]
