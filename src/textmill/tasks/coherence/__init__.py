"""Is a document one coherent text? The entropy of its topics tells blended, shuffled and generated text from genuine.

content       documents as sequences of content words
scores        entropy, log-likelihood per word, their combination
forgery       six kinds of false documents, seeded, of any length
detector      CoherenceDetector: fitted to good documents, judges and explains new ones
sample        pages for demonstrations
experiments   error rates by model, number of topics, length, noise and domain
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.coherence.content import Content, ContentReader
    from textmill.tasks.coherence.detector import CoherenceDetector, DocumentScore, Explanation, SentenceScore
    from textmill.tasks.coherence.experiments import (
        ErrorRow,
        Evaluation,
        by_kind,
        by_length,
        by_noise,
        by_topics,
        draw_errors,
        draw_histograms,
        draw_roc,
        evaluate,
        fixed_threshold,
        make_sets,
    )
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
    "ErrorRow",
    "Evaluation",
    "Explanation",
    "Forger",
    "MixtureScorer",
    "SentenceScore",
    "TopicScorer",
    "by_kind",
    "by_length",
    "by_noise",
    "by_topics",
    "combine",
    "draw_errors",
    "draw_histograms",
    "draw_roc",
    "effective_topics",
    "entropy",
    "equal_error",
    "evaluate",
    "fixed_threshold",
    "kind_of",
    "make_sets",
    "sample_pages",
    "tune_weight",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "content": "Content ContentReader",
        "detector": "CoherenceDetector DocumentScore Explanation SentenceScore",
        "experiments": "ErrorRow Evaluation by_kind by_length by_noise by_topics draw_errors draw_histograms "
        "draw_roc evaluate fixed_threshold make_sets",
        "forgery": "Forger KINDS kind_of",
        "sample": "sample_pages",
        "scores": "CoherenceScores MixtureScorer TopicScorer combine effective_topics entropy equal_error tune_weight",
    },
)
