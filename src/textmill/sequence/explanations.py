"""Why a token got its label: the tests that speak for it and against the label that comes next.

For every token the label y that was chosen is held against the label z of the highest marginal probability among the
others. What speaks for y is the difference of weights, test by test:

    u true here              w[u, y] - w[u, z]
    b true here, y' before   w[b, y', y] - w[b, y', z]
    b true behind, y'' there w[b, y, y''] - w[b, z, y'']

with hidden states y, z and their neighbors are the most probable states of those labels. The sum of the differences is
how much the score would fall if this label alone were changed. Cost: one pass over the tests of the tokens.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from textmill.arrays import Floats, Ids
from textmill.errors import DataError
from textmill.model import check_fitted, check_range
from textmill.sequence.chainmodel import ChainModel
from textmill.sequence.encoding import Active
from textmill.sequence.latent import LatentCRF

__all__ = ["Explanation", "explain_labels"]


class Explanation(NamedTuple):
    """Why a token has its label: `tests` speak for it (positive) or for the `other` label (negative), strongest first.

    With hidden states `state` and `other_state` are those that were compared; else they are None. `lead` is the sum of
    the differences of all tests, listed or not.
    """

    label: str
    probability: float
    other: str | None
    other_probability: float
    state: str | None
    other_state: str | None
    lead: float
    tests: list[tuple[str, float]]


def explain_labels(model: ChainModel, X: Iterable[Any], *, k: int = 5) -> list[list[Explanation]]:
    """Explain the label of every token by its k strongest tests.

    >>> from textmill.sequence import CRF
    >>> crf = CRF(patterns=["u:%x[0,0]"], l1=0.1).fit([[("a",), ("b",)]] * 3, [["A", "B"]] * 3)
    >>> [[why]] = explain_labels(crf, [[("a",)]])
    >>> why.label, why.other, [test for test, _ in why.tests]
    ('A', 'B', ['u:a'])
    """
    check_fitted(model)
    check_range("k", k, at_least=1, whole=True)
    if model.normalized:
        raise DataError("a conditional Markov model is normalized at every label; explain the labels of a CRF")
    if model.encoder_.hash_bits is not None:
        raise DataError("hashed tests have no names to explain labels with; train without hash_bits")
    X = list(X)
    data = model._encoded(X)
    predicted = model.predict(X)
    number = {label: i for i, label in enumerate(model.classes_.tolist())}
    if isinstance(model, LatentCRF):
        marginals, owner, names = model.predict_states(X), model.owner_, model.state_names_
    else:
        marginals = model.predict_marginals(X)
        owner, names = np.arange(len(number), dtype=np.int32), [str(name) for name in number]
    weights = _Weights(model)
    explained = []
    for s, labels in enumerate(predicted):
        begin = int(data.offsets[s])
        chosen = np.array([_best(marginals[s][t], owner, number[label]) for t, label in enumerate(labels)], np.int64)
        row = []
        for t, label in enumerate(labels):
            sums = np.bincount(owner, weights=marginals[s][t], minlength=len(number))
            probability = float(sums[number[label]])
            sums[number[label]] = -1.0
            rival = int(sums.argmax())
            if len(number) == 1:
                row.append(Explanation(label, probability, None, 0.0, None, None, 0.0, []))
                continue
            other = _best(marginals[s][t], owner, rival)
            before = int(chosen[t - 1]) if t else None
            behind = int(chosen[t + 1]) if t + 1 < len(labels) else None
            tests = weights.differences(data.unigram, data.bigram, begin + t, int(chosen[t]), other, before, behind)
            ranked = sorted(tests.items(), key=lambda item: (-abs(item[1]), item[0]))
            hidden = isinstance(model, LatentCRF)
            row.append(
                Explanation(
                    label,
                    probability,
                    str(model.classes_[rival]),
                    float(sums[rival]),
                    names[int(chosen[t])] if hidden else None,
                    names[other] if hidden else None,
                    float(sum(tests.values())),
                    [(name, value) for name, value in ranked[:k] if value != 0],
                )
            )
        explained.append(row)
    return explained


def _best(probabilities: Floats, owner: Ids, label: int) -> int:
    """The most probable state of a label."""
    states = np.flatnonzero(owner == label)
    return int(states[probabilities[states].argmax()])


class _Weights:
    """Weights and names of tests, by row."""

    def __init__(self, model: ChainModel) -> None:
        self.layout = model.feature_layout_
        self.features, self.weights = model.features_, model.weights_.astype(np.float64)
        unigram, bigram = model.encoder_.numbers()
        tests = model.encoder_.tests_
        self.unigram = {int(row): tests[i] for i, row in enumerate(unigram.tolist()) if row >= 0}
        self.bigram = {int(row): tests[i] for i, row in enumerate(bigram.tolist()) if row >= 0}

    def value(self, test: int, source: int, label: int) -> float:
        feature = int(self.layout.number(np.array([test]), np.array([source]), np.array([label]))[0])
        at = int(np.searchsorted(self.features, feature))
        return float(self.weights[at]) if at < len(self.features) and self.features[at] == feature else 0.0

    def differences(
        self,
        unigram: Active,
        bigram: Active,
        token: int,
        state: int,
        other: int,
        before: int | None,
        behind: int | None,
    ) -> dict[str, float]:
        """What each test says for one state against another, between given neighbors."""
        sums: defaultdict[str, float] = defaultdict(float)
        for test, value in _tests(unigram, token):
            sums[self.unigram[test]] += value * (self.value(test, -1, state) - self.value(test, -1, other))
        pairs = self.layout.bigrams
        for test, value in _tests(bigram, token):
            if before is None and self.layout.start:
                sums[f"{self.bigram[test]} at the beginning"] += value * (
                    self.value(test, -2, state) - self.value(test, -2, other)
                )
            elif before is not None and test < pairs:
                sums[f"{self.bigram[test]} after the label before"] += value * (
                    self.value(test, before, state) - self.value(test, before, other)
                )
        if behind is not None:
            for test, value in _tests(bigram, token + 1):
                if test < pairs:
                    sums[f"{self.bigram[test]} before the label behind"] += value * (
                        self.value(test, state, behind) - self.value(test, other, behind)
                    )
        return sums


def _tests(active: Active, token: int) -> list[tuple[int, float]]:
    begin, end = int(active.indptr[token]), int(active.indptr[token + 1])
    values = [1.0] * (end - begin) if active.values is None else active.values[begin:end].tolist()
    return list(zip(active.ids[begin:end].tolist(), values, strict=True))
