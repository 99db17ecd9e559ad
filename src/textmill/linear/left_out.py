"""How much to add to counts: the amount by which texts are predicted best from all other texts.

A word that occurs X times in D texts of a class loses X / D of its occurrences when one of its texts is left out, and
the class, of T texts with N tokens, loses N / T tokens. What is left predicts the occurrences that were left out:

    L(a) = sum_wc X_wc log [(X_wc (1 - 1 / D_wc) + a) / (N_c (1 - 1 / T_c) + a V)]              binom, poisson and such
    L(a) = sum_wc D log [(D - 1 + a) / (T - 1 + 2 a)] + (T - D) log [(T - D - 1 + a) / (T - 1 + 2 a)]        presence

A word of one text is as unseen without it as a new word, however often it occurs there: words burst. Leaving out single
occurrences instead would hardly smooth. Both need sums by class only, so any chunking gives the same amount.

Cost: one visit of every sum; counts up to 63 are handled by their number. Reference: Ney, Essen & Kneser (1995), On the
estimation of small probabilities by leaving-one-out.
"""

from __future__ import annotations

import numpy as np

from textmill.arrays import Floats

__all__ = ["smoothing_of_counts", "smoothing_of_presence"]

AMOUNTS = 10.0 ** np.arange(-3, 0.01, 0.25)  # among which is chosen: no word counts for more than one text
_SMALL = 64


def smoothing_of_counts(occurrences: Floats, documents: Floats, tokens: Floats, texts: Floats) -> float:
    """The amount for counts: occurrences and texts of each word by class, (K, V), tokens and texts by class, (K,).

    >>> rare, sharp = np.array([[1.0, 1, 1, 1]]), np.array([[40.0, 40, 0, 0, 0, 0]])
    >>> smoothing_of_counts(rare, rare, rare.sum(axis=1), np.array([4.0]))
    1.0
    >>> smoothing_of_counts(sharp, sharp, sharp.sum(axis=1), np.array([60.0]))
    0.001
    """
    there = occurrences > 0
    amount, left = _distinct(occurrences[there], documents[there])
    total = occurrences.sum(axis=1)
    below = tokens * (1.0 - 1.0 / np.maximum(texts, 1.0))
    gains = [
        float((amount * np.log(left + a)).sum() - (total * np.log(below + a * occurrences.shape[1])).sum())
        for a in AMOUNTS
    ]
    return _best(np.array(gains), 0.1)


def smoothing_of_presence(documents: Floats, texts: Floats) -> float:
    """The amount for presence: texts with each word by class, (K, V), and all texts by class, (K,).

    >>> smoothing_of_presence(np.array([[10.0, 0.0], [0.0, 10.0]]), np.array([10.0, 10.0]))
    0.001
    """
    gains = np.zeros(len(AMOUNTS))
    for row, size in zip(documents, texts, strict=True):
        if size <= 0:
            continue
        values, numbers = np.unique(row, return_counts=True)
        for side in (values, size - values):
            weight, left = numbers * side, np.maximum(side - 1.0, 0.0)
            for i, a in enumerate(AMOUNTS):
                gains[i] += float((weight * np.log((left + a) / (max(size - 1.0, 0.0) + 2 * a))).sum())
    return _best(gains, 1.0)


def _best(gains: Floats, usual: float) -> float:
    """The amount of the largest gain; of equal ones, as where a class has one text only, that nearest to the usual."""
    equal = gains >= gains.max() - 1e-9 * max(abs(float(gains.max())), 1.0)
    return float(AMOUNTS[int(np.argmin(np.where(equal, np.abs(np.log(AMOUNTS / usual)), np.inf)))])


def _distinct(occurrences: Floats, documents: Floats) -> tuple[Floats, Floats]:
    """Occurrences to predict and what is left of them, like ones together."""
    left = occurrences * np.maximum(1.0 - 1.0 / np.maximum(documents, 1e-300), 0.0)
    whole = (occurrences < _SMALL) & (occurrences == np.floor(occurrences)) & (documents == np.floor(documents))
    whole &= documents < _SMALL
    code = (occurrences[whole] * _SMALL + documents[whole]).astype(np.int64)
    numbers = np.bincount(code, minlength=_SMALL * _SMALL)
    used = np.flatnonzero(numbers)
    x, d = used // _SMALL, np.maximum(used % _SMALL, 1)
    return np.concatenate([numbers[used] * x, occurrences[~whole]]), np.concatenate([x * (1.0 - 1.0 / d), left[~whole]])
