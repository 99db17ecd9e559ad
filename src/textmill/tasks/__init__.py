"""Jobs, one module each, built from the models below.

coherence    coherent documents told from blended, shuffled and generated ones
dependency   heads of the bunsetsus of Japanese sentences, by a parser that can be read
names        match lists of names: find pairs, group them, evaluate measures, prepare labels
polarity     how many stars a review gives: scores on a scale, and the phrases that move them
similarity   documents like a text or like another document, in an index of many
transcription   letters as sounds, names in another script, kanji from their readings
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.coherence import CoherenceDetector, Forger
    from textmill.tasks.dependency import DependencyParser
    from textmill.tasks.polarity import BaselineScorer, PolarityScorer, ReviewFeatures
    from textmill.tasks.similarity import Matches, SimilarDocuments, query_shards
    from textmill.tasks.transcription import KanjiRestorer, LetterCRF, Transcriber

__all__ = [
    "BaselineScorer",
    "CoherenceDetector",
    "DependencyParser",
    "Forger",
    "KanjiRestorer",
    "LetterCRF",
    "Matches",
    "PolarityScorer",
    "ReviewFeatures",
    "SimilarDocuments",
    "Transcriber",
    "query_shards",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "coherence": "CoherenceDetector Forger",
        "dependency": "DependencyParser",
        "polarity": "BaselineScorer PolarityScorer ReviewFeatures",
        "similarity": "Matches SimilarDocuments query_shards",
        "transcription": "KanjiRestorer LetterCRF Transcriber",
    },
)
