"""When is a language asserted, and how sure is one: thresholds and probabilities from held-out texts.

A text of n words is in L when its score reaches t_L(n) = t_L - c / sqrt(n), as scores of short texts vary more. t_L is
the cut with the best F_beta over all cuts between two neighboring scores of held-out texts of all languages,

    F_beta = (1 + beta^2) P R / (beta^2 P + R)

and c the best of a few for all languages together. Probabilities are those of a logistic model of the sums s_L of a
text and its length,

    P(L | text) ~ exp(a n^-b s_L)

with a and b of least cross-entropy on the same texts: words of one text are not independent, so b > 0.
A language that is not known borrows words from one that is. What it has not is the rest: texts of a known language
are known word by word, by the dictionary or by their letters. So the mean m of what all words say of the best language,
and the share k of words of the dictionary, tell both apart,

    m + w k  >=  b - c / sqrt(n)

with the b of best F_beta for the best of a few w and c, where texts whose language is known and found should pass and
texts of other languages should not.
Cost: a sort for each language; a few dozen passes over the scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "best_threshold",
    "fit_support",
    "fit_temperature",
    "held_apart",
    "probabilities",
    "several_lengths",
    "tune_thresholds",
]

Floats = NDArray[np.float64]
_LENGTH_PARTS = (0.0, 0.1, 0.2, 0.4, 0.7, 1.0, 1.4)
_SHARE_WEIGHTS = (0.0, 1.0, 2.0, 3.0, 4.0)  # in the unit of relevances
_SUPPORT_PARTS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
_LEAST_TEXTS = 30  # of other languages, for a rule that holds for more than these


def best_threshold(scores: Any, positive: Any, beta: float = 1.0) -> tuple[float, float]:
    """The threshold with the best F_beta, and that F_beta; the lowest of several.

    >>> best_threshold([0.1, 0.2, 0.6, 0.9], [False, False, True, True])
    (0.4, 1.0)
    """
    scores, positive = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=bool)
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    hits = np.cumsum(positive[order])
    last = np.append(ranked[1:] != ranked[:-1], True)  # cuts lie behind runs of equal scores
    asserted = np.arange(1, len(ranked) + 1)[last]
    hits, cuts = hits[last], ranked[last]
    if not positive.any():
        return float(ranked[0] + 1.0) if len(ranked) else 0.0, 0.0
    figure = (1 + beta**2) * hits / (beta**2 * positive.sum() + asserted)
    best = len(figure) - 1 - int(np.argmax(figure[::-1]))
    below = cuts[best + 1] if best + 1 < len(cuts) else cuts[best] - 1.0
    return float((cuts[best] + below) / 2), float(figure[best])


def tune_thresholds(scores: Floats, labels: NDArray[np.intp], words: Floats, beta: float) -> tuple[Floats, float]:
    """t_L of each language, and c; scores are texts x languages, labels -1 for texts of none of them."""
    root = 1 / np.sqrt(np.maximum(words, 1.0))
    best: tuple[float, Floats, float] | None = None
    for part in _LENGTH_PARTS:
        tuned = [best_threshold(scores[:, i] + part * root, labels == i, beta) for i in range(scores.shape[1])]
        mean = float(np.mean([figure for _, figure in tuned]))
        if best is None or mean > best[0] + 1e-9:
            best = mean, np.array([threshold for threshold, _ in tuned]), part
    assert best is not None
    return best[1], best[2]


def fit_support(
    mean: Floats, coverage: Floats, words: Floats, outcome: NDArray[Any], beta: float
) -> tuple[float, float, float] | tuple[()]:
    """w, b and c of the rule of support; nothing with too few texts of other languages.

    `outcome` is 1 for texts whose language was found, 0 for those where another was, -1 for texts of other languages.
    """
    right = outcome == 1
    rows = np.flatnonzero(right | (outcome < 0))
    if (outcome < 0).sum() < _LEAST_TEXTS or right.sum() < _LEAST_TEXTS:
        return ()
    root = 1 / np.sqrt(np.maximum(words, 1.0))
    best: tuple[float, tuple[float, float, float]] | None = None
    for weight in _SHARE_WEIGHTS:
        for part in _SUPPORT_PARTS:
            support = mean + weight * coverage + part * root
            least, figure = best_threshold(support[rows], right[rows], beta)
            if best is None or figure > best[0] + 1e-9:
                best = figure, (weight, least, part)
    assert best is not None
    return best[1]


def probabilities(sums: Floats, words: Floats, temperature: tuple[float, float]) -> Floats:
    """P(L | text) of each language; rows add to 1.

    >>> probabilities(np.array([[2.0, 0.0]]), np.array([4.0]), (1.0, 0.5)).round(4).tolist()
    [[0.7311, 0.2689]]
    """
    factor, power = temperature
    scaled = sums * (factor * np.maximum(words, 1.0) ** -power)[:, None]
    scaled = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    result: Floats = scaled / scaled.sum(axis=1, keepdims=True)
    return result


def fit_temperature(sums: Floats, labels: NDArray[np.intp], words: Floats) -> tuple[float, float]:
    """a and b with the least cross-entropy of the labels."""
    rows = np.flatnonzero(labels >= 0)
    if not rows.size:
        return 1.0, 0.25
    candidates = [(a, b) for b in (0.0, 0.15, 0.3, 0.45, 0.6) for a in (0.15, 0.25, 0.4, 0.6, 0.8, 1.0, 1.3, 1.7, 2.2)]

    def loss(temperature: tuple[float, float]) -> float:
        chosen = probabilities(sums[rows], words[rows], temperature)[np.arange(rows.size), labels[rows]]
        return -float(np.mean(np.log(np.maximum(chosen, 1e-9))))

    return min(candidates, key=loss)


def held_apart(labels: list[str], share: float) -> list[bool]:
    """Which texts are kept apart: of each language every n-th, if there are ten at least."""
    number: dict[str, int] = {}
    total = {label: labels.count(label) for label in set(labels)} if share > 0 else {}
    apart = []
    for label in labels:
        number[label] = number.get(label, 0) + 1
        many = share > 0 and total[label] * share >= 1
        apart.append(bool(many and int(number[label] * share) > int((number[label] - 1) * share)))
    return apart


def several_lengths(texts: list[str], labels: list[int]) -> tuple[list[str], list[int]]:
    """The texts, and pieces of 2, 6 or 20 words of those that are longer, with their labels."""
    cut_texts, cut_labels = list(texts), list(labels)
    for i, (text, label) in enumerate(zip(texts, labels, strict=True)):
        pieces = text.split()
        size = (2, 6, 20)[i % 3]
        if len(pieces) > size:
            start = i % (len(pieces) - size)
            cut_texts.append(" ".join(pieces[start : start + size]))
            cut_labels.append(label)
    return cut_texts, cut_labels
