"""Language models: how likely is a sequence of words, and what may follow.

ngram      n-gram models with modified Kneser-Ney smoothing: counting, scoring, sampling
formats    ARPA files in and out
"""

from textmill.lm.formats import from_arpa, read_model, to_arpa
from textmill.lm.ngram import NGramModel, SentenceScores

__all__ = ["NGramModel", "SentenceScores", "from_arpa", "read_model", "to_arpa"]
