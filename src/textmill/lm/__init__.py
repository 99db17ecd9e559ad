"""Language models: how likely is a sequence of words, and what may follow.

ngram      n-gram models with modified Kneser-Ney smoothing: counting, scoring, sampling
queries    what comes next, how often was this seen
formats    ARPA files in and out
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.lm.formats import from_arpa, read_model, to_arpa
    from textmill.lm.ngram import NGramModel, SentenceScores
    from textmill.lm.queries import NGram, frequent_ngrams, next_words

__all__ = [
    "NGram",
    "NGramModel",
    "SentenceScores",
    "frequent_ngrams",
    "from_arpa",
    "next_words",
    "read_model",
    "to_arpa",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "formats": "from_arpa read_model to_arpa",
        "ngram": "NGramModel SentenceScores",
        "queries": "NGram frequent_ngrams next_words",
    },
)
