"""Relevance of words to languages, from counts.

    gbar_L(w) = TF(w, C_L) / #(C_L)                       frequency in a language
    g_0(w)    = mean of gbar_L(w) over the languages      balanced background (default)
              = sum_L TF(w, C_L) / sum_L #(C_L)           union of all texts, as in the paper
    rel(w, L) = log(alpha + (1 - alpha) gbar_L(w) / g_0(w))

With a balanced background a corpus that is ten times as large says the same; with the union the words of a small corpus
weigh more than those of a large one. rel lies between log(alpha), for a word that does not occur in L, and
log(alpha + (1 - alpha) N) with N balanced languages, for one that occurs there alone. Cost: one visit of each entry.
Reference: Rehurek & Kolkus, Language identification on the web: extending the dictionary method (2009).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError
from textmill.tasks.language.counts import LanguageCounts

__all__ = ["entry_words", "word_relevances"]

Floats = NDArray[np.float64]


def entry_words(counts: LanguageCounts) -> NDArray[np.int64]:
    """The word of each entry of counts, by its number."""
    return np.repeat(np.arange(len(counts.words_), dtype=np.int64), np.diff(counts.begin_))


def word_relevances(counts: LanguageCounts, alpha: float, background: str | LanguageCounts = "balanced") -> Floats:
    """rel(w, L) of each entry of counts, in their order.

    >>> counts = LanguageCounts.from_texts(["the the cat sat", "pes pes cat sel"], ["en", "cs"])
    >>> [f"{value:.4f}" for value in word_relevances(counts, 0.1)]
    ['0.0000', '0.0000', '0.6419', '0.6419', '0.6419', '0.6419']
    """
    totals = counts.totals_
    if np.any(totals <= 0):
        empty = counts.languages_[int(np.argmax(totals <= 0))]
        raise DataError(f"language '{empty}' has no words; give it texts, or leave it out")
    frequency = counts.counts_ / totals[counts.language_ids_]
    words = entry_words(counts)
    if isinstance(background, LanguageCounts):
        of_word = _background_frequencies(counts, background)
    elif background == "union":
        of_word = np.bincount(words, counts.counts_, minlength=len(counts.words_)) / totals.sum()
    else:
        of_word = np.bincount(words, frequency, minlength=len(counts.words_)) / len(totals)
    return np.log(alpha + (1 - alpha) * frequency / of_word[words])


def _background_frequencies(counts: LanguageCounts, background: LanguageCounts) -> Floats:
    """g_0 of each word of counts in a corpus of its own; a word that is missing there counts as if it came once."""
    total = float(background.totals_.sum())
    if total <= 0:
        raise DataError("the background has no words; pass counts of texts")
    sums = np.add.reduceat(background.counts_, background.begin_[:-1]) if len(background.words_) else np.zeros(0)
    frequency = dict(zip(background.words_, sums, strict=True))
    return np.array([frequency.get(word, 1.0) for word in counts.words_]) / total
