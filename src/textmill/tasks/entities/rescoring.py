"""Which candidate phrases are names, and of which type: phase 1 and phase 2 joined.

A candidate has a probability P(span) from phase 1 and scores f_c of classes c from phase 2, among them O, no name:

    P(name | span)  = 1 / (1 + exp(-(a z + b logit P(span) + d)))        z = log sum_{c != O} exp f_c - f_O
    P(type | name)  = softmax(s f_c), c != O
    P(span, type)   = P(name | span) P(type | name)

Scores of naive Bayes count dependent evidence again and again, so a and s are far below 1; all four are learnt from
training sentences whose candidates and scores come from models without those sentences (jackknife). Within a document
candidates with the same words share their types: with t >= 0, learnt in the same way,

    log P(type | name) of candidate i  +=  t sum_j P(name_j) log P(type_j | name_j) / (1 + sum_j P(name_j))

j over the other candidates with these words. Chosen is the set without overlaps with the greatest expected F
(native/entities/candidates.h): half the F that the jackknife reaches is the threshold.

Where phase 2 is another classifier than naive Bayes, its log-probabilities and the scores of naive Bayes are added,
f_c = log p_c + w g_c, with the w that explains the classes of the jackknife best: two learners that err differently.
Reference: Jansche (2002) for the two phases; Dinkelbach (1967) for the threshold.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill._native import entities as native
from textmill.arrays import Floats, Ids, Ints
from textmill.model import effective_jobs
from textmill.tasks.entities.phrases import Phrases

__all__ = ["Mixing", "Scored", "choose_spans", "learn_mixing", "score_types", "weight_of_counts"]

_TEMPERATURES = np.array([0.05, 0.07, 0.1, 0.14, 0.2, 0.28, 0.4, 0.56, 0.8, 1.0, 1.4])
_COUNT_WEIGHTS = (0.0, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8)
_SHARINGS = (0.0, 0.25, 0.5, 1.0, 2.0)
_ROUNDS = 8  # of the threshold


class Mixing(NamedTuple):
    """How phases are joined."""

    score: float  # a
    span: float  # b
    bias: float  # d
    temperature: float  # s
    sharing: float  # t
    threshold: float  # P(span, type) from which a candidate adds to F
    counts: float = 0.0  # w


class Scored(NamedTuple):
    """P(name | span) of candidates and log P(type | name), [candidates, types]."""

    name: Floats
    types: Floats


def score_types(scores: Floats, none: int, probability: Floats, groups: Ints | None, mixing: Mixing) -> Scored:
    """Join the phases; `none` is the class O, `groups` numbers candidates of equal words in one document."""
    others = np.delete(scores, none, axis=1)
    margin = _log_sum(others) - scores[:, none]
    name = _expit(mixing.score * margin + mixing.span * _logit(probability) + mixing.bias)
    types = _log_softmax(mixing.temperature * others)
    if groups is not None and mixing.sharing > 0:
        types = _shared(types, name, groups, mixing.sharing)
    return Scored(name, types)


def choose_spans(phrases: Phrases, best: Floats, threshold: float, n_jobs: int | None) -> NDArray[np.bool_]:
    """The candidates of the set without overlaps that has the greatest sum of probabilities above the threshold."""
    chosen = np.empty(len(best), np.uint8)
    native.choose(*phrases, np.ascontiguousarray(best), threshold, chosen, effective_jobs(n_jobs))
    return chosen.astype(bool)


def learn_mixing(
    phrases: Phrases, scores: Floats, none: int, probability: Floats, gold: Ids, n_gold: int, groups: Ints | None
) -> Mixing:
    """Learn all weights from held-out candidates; `gold` has their classes, `n_gold` counts gold phrases."""
    others = np.delete(scores, none, axis=1)
    margin = _log_sum(others) - scores[:, none]
    names = gold != none
    columns = [margin, _logit(probability), np.ones(len(margin))]
    a, b, d = _logistic(columns, names.astype(np.float64)).tolist()
    place = np.where(gold > none, gold - 1, gold)[names]

    rows_of_names = np.arange(len(place))

    def likelihood(types: Floats) -> float:
        return float(types[rows_of_names, place].sum())

    s = max(_TEMPERATURES.tolist(), key=lambda s: likelihood(_log_softmax(s * others[names])))
    mixing = Mixing(a, b, d, s, 0.0, 0.5)
    if groups is not None:
        plain = score_types(scores, none, probability, None, mixing)
        shared = [likelihood(_shared(plain.types, plain.name, groups, t)[names]) for t in _SHARINGS]
        mixing = mixing._replace(sharing=_SHARINGS[int(np.argmax(shared))])
    return mixing._replace(threshold=_threshold(phrases, scores, none, probability, gold, n_gold, groups, mixing))


def weight_of_counts(log_probability: Floats, counts: Floats, gold: Ids) -> float:
    """The weight w of naive Bayes beside another classifier that gives the gold classes the greatest likelihood.

    >>> certain, doubtful = np.log([[0.5, 0.5]] * 4), np.array([[3.0, 0.0], [0.0, 3.0]] * 2)
    >>> weight_of_counts(certain, doubtful, np.array([0, 1, 0, 1], np.int32))
    0.8
    """
    rows = np.arange(len(gold))

    def likelihood(weight: float) -> float:
        scores = log_probability + weight * counts
        return max(float(_log_softmax(s * scores)[rows, gold].sum()) for s in _TEMPERATURES[4:].tolist())

    return max(_COUNT_WEIGHTS, key=likelihood)


def _threshold(
    phrases: Phrases,
    scores: Floats,
    none: int,
    probability: Floats,
    gold: Ids,
    n_gold: int,
    groups: Ints | None,
    mixing: Mixing,
) -> float:
    """Half the F of the best set, found by taking half the F of the set so far."""
    scored = score_types(scores, none, probability, groups, mixing)
    best = scored.name * np.exp(scored.types.max(axis=1, initial=-np.inf))
    predicted = scored.types.argmax(axis=1) if scored.types.shape[1] else np.zeros(len(gold), np.int64)
    right = predicted + (predicted >= none) == gold
    threshold = 0.5
    for _ in range(_ROUNDS):
        chosen = choose_spans(phrases, best, threshold, 1)
        f = 2 * int((chosen & right).sum()) / max(int(chosen.sum()) + n_gold, 1)
        threshold = f / 2
    return threshold


def _shared(types: Floats, name: Floats, groups: Ints, sharing: float) -> Floats:
    size = int(groups.max(initial=-1)) + 1
    mass = np.bincount(groups, weights=name, minlength=size)[groups] - name
    total = np.stack([np.bincount(groups, weights=name * column, minlength=size)[groups] for column in types.T], axis=1)
    others = total - name[:, None] * types
    mixed = types + sharing * others / (1.0 + np.maximum(mass, 0.0))[:, None]
    return _log_softmax(mixed)


def _log_sum(rows: Floats) -> Floats:
    top = rows.max(axis=1, initial=-1e300)
    return np.asarray(top + np.log(np.exp(rows - top[:, None]).sum(axis=1)))


def _log_softmax(rows: Floats) -> Floats:
    return np.asarray(rows - _log_sum(rows)[:, None])


def _logit(p: Floats) -> Floats:
    safe = np.clip(p, 1e-9, 1 - 1e-9)
    return np.asarray(np.log(safe) - np.log1p(-safe))


def _expit(x: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -500.0, 500.0))))


def _logistic(columns: list[Floats], truth: Floats, l2: float = 1e-3) -> Floats:
    """Weights of a small logistic regression, by Newton's method; sums by NumPy alone, which are the same anywhere."""
    size = len(columns)
    weights = np.zeros(size)

    def margins(at: Floats) -> Floats:
        total = np.zeros(len(truth))
        for weight, column in zip(at.tolist(), columns, strict=True):
            total += weight * column
        return total

    def loss(at: Floats) -> float:
        x = margins(at)
        return float((np.logaddexp(0.0, x) - truth * x).sum() + l2 / 2 * (at * at).sum())

    value = loss(weights)
    for _ in range(50):
        p = _expit(margins(weights))
        gradient = np.array([((p - truth) * column).sum() for column in columns]) + l2 * weights
        spread = p * (1 - p)
        curvature = np.array([[(spread * one * two).sum() for one in columns] for two in columns]) + l2 * np.eye(size)
        step = np.linalg.solve(curvature, gradient)
        while (new := loss(weights - step)) > value and np.abs(step).max() > 1e-7:
            step /= 2
        weights, value = weights - step, new
        if np.abs(step).max() < 1e-7:
            break
    return weights
