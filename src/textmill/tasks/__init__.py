"""Jobs, one module each, built from the models below.

coherence    coherent documents told from blended, shuffled and generated ones
dependency   heads of the bunsetsus of Japanese sentences, by a parser that can be read
names        match lists of names: find pairs, group them, evaluate measures, prepare labels
similarity   documents like a text or like another document, in an index of many
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.coherence import CoherenceDetector, Forger
    from textmill.tasks.dependency import DependencyParser
    from textmill.tasks.similarity import Matches, SimilarDocuments, query_shards

__all__ = ["CoherenceDetector", "DependencyParser", "Forger", "Matches", "SimilarDocuments", "query_shards"]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "coherence": "CoherenceDetector Forger",
        "dependency": "DependencyParser",
        "similarity": "Matches SimilarDocuments query_shards",
    },
)
