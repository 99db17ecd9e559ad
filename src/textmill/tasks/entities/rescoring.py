"""Which candidate phrases are names, and of which type: all that was learned of them joined.

A candidate has several judges, each of which may err in its own way:

    scores      f_c of classes c from phase 2, among them O, no name; one set for each classifier
    span        P(span) of phase 1
    chain       P(span, type) of a single chain over full tags, where the recognizer has one

What they say is weighed by regressions, for names by a logistic one and for types by a conditional one:

    P(name | span)   = 1 / (1 + exp(-(sum_j a_j z_j + b logit P(span) + c logit sum_t P(span, t) + d)))
                                                            z_j = log sum_{c != O} exp f_jc - f_jO
    P(type | name)   = softmax_t (sum_j s_j f_jt + s log P(t | span))
    P(span, type)    = P(name | span) P(type | name)

Scores of naive Bayes count dependent evidence again and again, so their weights are far below 1. Weights are learned
from training sentences whose candidates and scores come from models without those sentences (jackknife). Within a
document candidates with the same words share their types, and shorter ones learn from longer ones that hold their words
(native/entities/sharing.h), by one more conditional regression on

    log P(type | name),   the mean of it over candidates of the same words,   the mean over longer candidates

Chosen is the set without overlaps with the greatest expected F (native/entities/candidates.h): half the F that the
jackknife reaches is the threshold. References: Jansche (2002) for the two phases; Dinkelbach (1967) for the threshold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from textmill._native import entities as native
from textmill.arrays import Floats, Ids, Ints
from textmill.model import effective_jobs
from textmill.optimize import fit_logistic, sigmoid
from textmill.tasks.entities.phrases import Phrases

__all__ = ["Documents", "Judges", "Mixing", "Scored", "choose_spans", "learn_mixing", "score_types"]

_ROUNDS = 8  # of the threshold
_SHARED = 3  # weights of sharing
_LEAST_SHARE = 1e-4  # of a type that the chain over full tags did not find
_L2 = 1e-2  # penalty of the weights

Loss = Callable[[Floats], tuple[float, Floats, Floats]]  # value, gradient, curvature


class Documents(NamedTuple):
    """Words of sentences and their documents: first tokens, sums over words, and the number of each document."""

    tokens: Ints  # [sentences + 1]
    sums: NDArray[np.uint64]  # [tokens + 1]
    number: Ints  # [sentences]


class Judges(NamedTuple):
    """What is said of candidates: scores [candidates, classes] with O at `none`, P(span), P(span, type) or None."""

    scores: list[Floats]
    none: int
    span: Floats
    chain: Floats | None

    def names(self) -> list[Floats]:
        """Columns that speak for a name."""
        others = [np.delete(scores, self.none, axis=1) for scores in self.scores]
        columns = [_log_sum(rest) - scores[:, self.none] for rest, scores in zip(others, self.scores, strict=True)]
        columns.append(_logit(self.span))
        if self.chain is not None:
            columns.append(_logit(self.chain.sum(axis=1)))
        return [*columns, np.ones(len(self.span))]

    def types(self) -> list[Floats]:
        """Columns [candidates, types] that speak for types."""
        columns = [np.delete(scores, self.none, axis=1) for scores in self.scores]
        if self.chain is not None:
            columns.append(_log_shares(self.chain))
        return columns


class Mixing(NamedTuple):
    """Weights of judges."""

    name: tuple[float, ...]  # of Judges.names
    types: tuple[float, ...]  # of Judges.types
    sharing: tuple[float, ...]  # own, same words, longer names
    threshold: float  # P(span, type) from which a candidate adds to F

    def to_array(self) -> Floats:
        """All weights, one after the other."""
        return np.array([*self.name, *self.types, *self.sharing, self.threshold])

    @classmethod
    def from_array(cls, weights: Floats, scores: int, chain: bool) -> Self:
        """The weights for so many sets of scores, with or without a chain over full tags.

        >>> Mixing.from_array(np.arange(8.0), 1, False)
        Mixing(name=(0.0, 1.0, 2.0), types=(3.0,), sharing=(4.0, 5.0, 6.0), threshold=7.0)
        """
        names, types = scores + 2 + chain, scores + chain
        values = weights.tolist()
        cuts = np.cumsum([names, types, _SHARED]).tolist()
        return cls(
            tuple(values[: cuts[0]]), tuple(values[cuts[0] : cuts[1]]), tuple(values[cuts[1] : cuts[2]]), values[-1]
        )

    @staticmethod
    def size(scores: int, chain: bool) -> int:
        """The number of weights.

        >>> Mixing.size(1, False), Mixing.size(2, True)
        (8, 12)
        """
        return 2 * (scores + chain) + 2 + _SHARED + 1

    @property
    def shares(self) -> bool:
        """Whether candidates of a document have to do with each other."""
        return any(weight != 0.0 for weight in self.sharing[1:])


class Scored(NamedTuple):
    """P(name | span) of candidates and log P(type | name), [candidates, types]."""

    name: Floats
    types: Floats


def score_types(judges: Judges, phrases: Phrases, documents: Documents | None, mixing: Mixing) -> Scored:
    """Join what the judges say."""
    name = sigmoid(_weighted(judges.names(), mixing.name))
    types = _log_softmax(_weighted(judges.types(), mixing.types))
    if documents is not None and mixing.shares:
        types = _log_softmax(_weighted([types, *_elsewhere(phrases, documents, name, types)], mixing.sharing))
    return Scored(name, types)


def choose_spans(phrases: Phrases, best: Floats, threshold: float, n_jobs: int | None) -> NDArray[np.bool_]:
    """The candidates of the set without overlaps that has the greatest sum of probabilities above the threshold."""
    chosen = np.empty(len(best), np.uint8)
    native.choose(*phrases, np.ascontiguousarray(best), threshold, chosen, effective_jobs(n_jobs))
    return chosen.astype(bool)


def learn_mixing(judges: Judges, phrases: Phrases, gold: Ids, n_gold: int, documents: Documents | None) -> Mixing:
    """Learn all weights from held-out candidates; `gold` has their classes, `n_gold` counts gold phrases."""
    names = gold != judges.none
    name_weights = fit_logistic(np.stack(judges.names(), axis=-1), names, l2=_L2)
    place = np.where(gold > judges.none, gold - 1, gold)[names]
    type_weights = _conditional([column[names] for column in judges.types()], place)
    mixing = Mixing(tuple(name_weights.tolist()), tuple(type_weights.tolist()), (1.0, 0.0, 0.0), 0.5)
    if documents is not None:
        plain = score_types(judges, phrases, None, mixing)
        columns = [plain.types, *_elsewhere(phrases, documents, *plain)]
        sharing = _conditional([column[names] for column in columns], place)
        mixing = mixing._replace(sharing=tuple(sharing.tolist()))
    scored = score_types(judges, phrases, documents, mixing)
    return mixing._replace(threshold=_threshold(scored, judges.none, phrases, gold, n_gold))


def _elsewhere(phrases: Phrases, documents: Documents, name: Floats, types: Floats) -> tuple[Floats, Floats]:
    """What documents say of the same words, and of longer names that hold them."""
    same, longer = np.empty_like(types), np.empty_like(types)
    native.share_types(tuple(documents), *phrases, name, np.ascontiguousarray(types), same, longer)
    return same, longer


def _threshold(scored: Scored, none: int, phrases: Phrases, gold: Ids, n_gold: int) -> float:
    """Half the F of the best set, found by taking half the F of the set so far."""
    best = scored.name * np.exp(scored.types.max(axis=1, initial=-np.inf))
    predicted = scored.types.argmax(axis=1) if scored.types.shape[1] else np.zeros(len(gold), np.int64)
    right = predicted + (predicted >= none) == gold
    threshold = 0.5
    for _ in range(_ROUNDS):
        chosen = choose_spans(phrases, best, threshold, 1)
        f = 2 * int((chosen & right).sum()) / max(int(chosen.sum()) + n_gold, 1)
        threshold = f / 2
    return threshold


def _weighted(columns: list[Floats], weights: tuple[float, ...]) -> Floats:
    """Sums by NumPy alone, which are the same anywhere."""
    total = columns[0] * weights[0]
    for column, weight in zip(columns[1:], weights[1:], strict=True):
        total += weight * column
    return total


def _log_shares(chain: Floats) -> Floats:
    size = max(chain.shape[1], 1)
    shares = (chain + _LEAST_SHARE) / (chain.sum(axis=1, keepdims=True) + size * _LEAST_SHARE)
    return np.asarray(np.log(shares))


def _log_sum(rows: Floats) -> Floats:
    columns = np.ascontiguousarray(rows.T)  # there are few of them: sums along a row would take far longer
    top = columns.max(axis=0, initial=-1e300)
    return np.asarray(top + np.log(np.exp(columns - top).sum(axis=0)))


def _log_softmax(rows: Floats) -> Floats:
    return np.asarray(rows - _log_sum(rows)[:, None])


def _logit(p: Floats) -> Floats:
    safe = np.clip(p, 1e-6, 1 - 1e-6)
    return np.asarray(np.log(safe) - np.log1p(-safe))


def _conditional(columns: list[Floats], gold: Ints) -> Floats:
    """Weights of a softmax over types, one for each column [rows, types]."""
    rows = np.arange(len(gold))

    def loss(weights: Floats) -> tuple[float, Floats, Floats]:
        log_p = _log_softmax(_weighted(columns, tuple(weights.tolist())))
        p = np.exp(log_p)
        means = [(p * column).sum(axis=1) for column in columns]
        gradient = np.array([(m - c[rows, gold]).sum() for m, c in zip(means, columns, strict=True)])
        curvature = np.array(
            [
                [((p * one * two).sum(axis=1) - m * n).sum() for one, m in zip(columns, means, strict=True)]
                for two, n in zip(columns, means, strict=True)
            ]
        )
        return float(-log_p[rows, gold].sum()), gradient, curvature

    return _newton(loss, np.full(len(columns), 0.3))


def _newton(loss: Loss, weights: Floats, l2: float = _L2) -> Floats:
    """The weights of the smallest loss with an L2 penalty, by Newton's method with steps that are halved."""

    def penalized(at: Floats) -> tuple[float, Floats, Floats]:
        value, gradient, curvature = loss(at)
        return value + l2 / 2 * float((at * at).sum()), gradient + l2 * at, curvature + l2 * np.eye(len(at))

    value, gradient, curvature = penalized(weights)
    for _ in range(50):
        step = np.linalg.solve(curvature, gradient)
        while (new := penalized(weights - step))[0] > value and np.abs(step).max() > 1e-7:
            step /= 2
        weights, (value, gradient, curvature) = weights - step, new
        if np.abs(step).max() < 1e-7:
            break
    return weights
