"""Jobs, each built from the models below.

similarity   documents like a text or like another document, in an index of many
"""

from textmill.tasks.similarity import Matches, SimilarDocuments, query_shards

__all__ = ["Matches", "SimilarDocuments", "query_shards"]
