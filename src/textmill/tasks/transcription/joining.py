"""Join several transcribers: candidates of all, weighed by a product of their probabilities.

    p(y | x) = prod_m p_m(y | x)^w_m / sum over the candidates y' of the same            w_m >= 0
    minimize  - sum over words of ln sum over right y of p(y | x) + strength |w - 1/M|^2      over development words

The candidates of a word are the best outputs of each of M models; a model that did not list one is asked for its score.
Words none of whose candidates is right say nothing. The problem is small, smooth and convex but for words with several
right outputs; weights at zero leave a model out.

Cost: that of asking each model for the candidates of the others. Reference: Och & Ney (2002), Discriminative training
and maximum entropy models for statistical machine translation.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from textmill.arrays import Floats, Ints

__all__ = ["CandidateTable", "join_weights"]

_STRENGTH = 8.0  # of the pull towards equal weights
_SMALLEST = 0.02  # weight below which a model is left out


class CandidateTable(NamedTuple):
    """Candidates of words, and ln p(y | x) of each by each model.

    outputs[begin[i]:begin[i + 1]] are those of word i; scores (candidates, models).
    """

    begin: Ints | Sequence[int]
    outputs: Sequence[Any]
    scores: Floats

    def log_posteriors(self, weights: Floats) -> Floats:
        """ln p of each candidate by the join.

        >>> table = CandidateTable([0, 2], ["a", "b"], np.log([[0.8], [0.2]]))
        >>> np.exp(table.log_posteriors(np.array([1.0]))).round(3).tolist()
        [0.8, 0.2]
        """
        values = self.scores @ weights
        return values - np.repeat(_log_sums(values, np.asarray(self.begin)), np.diff(self.begin))

    def ranked(self, weights: Floats, k: int) -> tuple[Ints, Ints]:
        """The k best candidates of each word by the join, best first: where words begin, and numbers of candidates.

        >>> table = CandidateTable([0, 2, 3], ["a", "b", "c"], np.log([[0.1], [0.9], [0.5]]))
        >>> [part.tolist() for part in table.ranked(np.ones(1), 1)]
        [[0, 1, 2], [1, 2]]
        """
        sizes = np.diff(self.begin)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        order = np.lexsort((-(self.scores @ weights), owner))  # stable: the first of equals
        rank = np.arange(len(order)) - np.repeat(np.asarray(self.begin)[:-1], sizes)
        return np.concatenate([[0], np.cumsum(np.minimum(sizes, k))]), order[rank < k]

    def right(self, references: Sequence[frozenset[Any]]) -> Any:
        """Which candidates are among the right outputs of their word.

        >>> CandidateTable([0, 2], ["a", "b"], np.zeros((2, 1))).right([frozenset("b")]).tolist()
        [False, True]
        """
        flags = [
            output in references[i]
            for i in range(len(self.begin) - 1)
            for output in self.outputs[int(self.begin[i]) : int(self.begin[i + 1])]
        ]
        return np.array(flags, dtype=bool)

    def best(self, weights: Floats) -> list[Any]:
        """The best candidate of each word, None where there is none.

        >>> CandidateTable([0, 2, 2], ["a", "b"], np.log([[0.1], [0.9]])).best(np.ones(1))
        ['b', None]
        """
        begin, order = self.ranked(weights, 1)
        return [
            self.outputs[int(order[first])] if end > first else None
            for first, end in itertools.pairwise(begin.tolist())
        ]


def join_weights(table: CandidateTable, references: Sequence[frozenset[Any]], *, strength: float = _STRENGTH) -> Floats:
    """The weights of models that make the right outputs of development words most probable.

    >>> scores = np.log([[0.9, 0.4], [0.1, 0.6]] * 20)
    >>> table = CandidateTable(list(range(0, 41, 2)), ["a", "b"] * 20, scores)
    >>> first, second = join_weights(table, [frozenset("a")] * 20)
    >>> first > second
    np.True_
    """
    from scipy.optimize import minimize

    models = table.scores.shape[1]
    equal = np.full(models, 1.0 / models)
    flags = table.right(references)
    begin = np.array(table.begin)
    used = [i for i in range(len(begin) - 1) if flags[begin[i] : begin[i + 1]].any()]
    if not used or models == 1:
        return equal
    rows = np.concatenate([np.arange(begin[i], begin[i + 1]) for i in used])
    sizes = [int(begin[i + 1] - begin[i]) for i in used]
    scores, marks = table.scores[rows], flags[rows]
    starts = np.concatenate([[0], np.cumsum(sizes)])

    def objective(weights: Floats) -> tuple[float, Floats]:
        values = scores @ weights
        whole, good = _log_sums(values, starts), _log_sums(np.where(marks, values, -np.inf), starts)
        p = np.exp(values - np.repeat(whole, sizes))
        q = np.exp(np.where(marks, values, -np.inf) - np.repeat(good, sizes))
        apart = weights - equal
        return float((whole - good).sum() + strength * apart @ apart), scores.T @ (p - q) + 2.0 * strength * apart

    result = minimize(objective, equal, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * models)
    weights: Floats = np.where(result.x < _SMALLEST, 0.0, result.x)
    return weights if weights.any() else equal


def _log_sums(values: Floats, begin: Ints) -> Floats:
    """ln sum exp over runs; -inf for empty ones."""
    sums = np.full(len(begin) - 1, -np.inf)
    some = np.flatnonzero(begin[1:] > begin[:-1])
    if len(some):
        first = begin[:-1][some]
        most = np.maximum.reduceat(values, first)
        shift = np.where(np.isfinite(most), most, 0.0)
        with np.errstate(divide="ignore"):
            sums[some] = shift + np.log(np.add.reduceat(np.exp(values - np.repeat(shift, np.diff(begin)[some])), first))
    return sums
