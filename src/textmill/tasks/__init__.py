"""Jobs, one module each, built from the models below.

coherence    coherent documents told from blended, shuffled and generated ones
dependency   heads of the bunsetsus of Japanese sentences, by a parser that can be read
language     which languages a text is in, and where they change
names        match lists of names: find pairs, group them, evaluate measures, prepare labels
polarity     how many stars a review gives: scores on a scale, and the phrases that move them
similarity   documents like a text or like another document, in an index of many
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.coherence import CoherenceDetector, Forger
    from textmill.tasks.dependency import DependencyParser
    from textmill.tasks.language import LanguageCounts, LanguageIdentifier, LanguageSegmenter
    from textmill.tasks.polarity import BaselineScorer, PolarityScorer, ReviewFeatures
    from textmill.tasks.similarity import Matches, SimilarDocuments, query_shards

__all__ = [
    "BaselineScorer",
    "CoherenceDetector",
    "DependencyParser",
    "Forger",
    "LanguageCounts",
    "LanguageIdentifier",
    "LanguageSegmenter",
    "Matches",
    "PolarityScorer",
    "ReviewFeatures",
    "SimilarDocuments",
    "query_shards",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "coherence": "CoherenceDetector Forger",
        "dependency": "DependencyParser",
        "language": "LanguageCounts LanguageIdentifier LanguageSegmenter",
        "polarity": "BaselineScorer PolarityScorer ReviewFeatures",
        "similarity": "Matches SimilarDocuments query_shards",
    },
)
