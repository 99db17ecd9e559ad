"""Is a document one coherent text? The entropy of its topics tells blended, shuffled and generated text from genuine.

content       documents as sequences of content words
scores        entropy, log-likelihood per word, their combination
forgery       six kinds of false documents, seeded, of any length
detector      CoherenceDetector: fitted to good documents, judges and explains new ones
sample        pages for demonstrations
evaluation   a detector against false documents: figures and pictures
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.coherence.content import Content, ContentReader
    from textmill.tasks.coherence.detector import CoherenceDetector, DocumentScore, Explanation, SentenceScore
    from textmill.tasks.coherence.evaluation import Evaluation, draw_histograms, draw_roc, evaluate
    from textmill.tasks.coherence.forgery import KINDS, Forger, kind_of
    from textmill.tasks.coherence.sample import sample_pages
    from textmill.tasks.coherence.scores import (
        CoherenceScores,
        MixtureScorer,
        TopicScorer,
        combine,
        effective_topics,
        entropy,
        equal_error,
        tune_weight,
    )

__all__ = [
    "KINDS",
    "CoherenceDetector",
    "CoherenceScores",
    "Content",
    "ContentReader",
    "DocumentScore",
    "Evaluation",
    "Explanation",
    "Forger",
    "MixtureScorer",
    "SentenceScore",
    "TopicScorer",
    "combine",
    "draw_histograms",
    "draw_roc",
    "effective_topics",
    "entropy",
    "equal_error",
    "evaluate",
    "kind_of",
    "sample_pages",
    "tune_weight",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "content": "Content ContentReader",
        "detector": "CoherenceDetector DocumentScore Explanation SentenceScore",
        "evaluation": "Evaluation draw_histograms draw_roc evaluate",
        "forgery": "Forger KINDS kind_of",
        "sample": "sample_pages",
        "scores": "CoherenceScores MixtureScorer TopicScorer combine effective_topics entropy equal_error tune_weight",
    },
)
