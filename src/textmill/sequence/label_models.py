"""Binary labels that depend on each other: Markov chains, CRFs and hidden Markov models, and decoding under them.

    P(x) = initial(x_0) prod_t step_t(x_{t-1}, x_t)          y_t = 1 where the state x_t is positive

A linear-chain CRF given its tokens is such a chain, step_t(x', x) = exp(v_t(x', x) + u_t(x) + b_t(x) - b_{t-1}(x'))
with the backward sums b; so is a hidden Markov model given its observations. Longer histories are states of their own.

Under dependent labels the most probable m items need not be the best m. For any joint distribution, with
P[i, s] = Pr(y_i = 1, T = s) and for each m

    Delta_i = sum_s (1 + b) P[i, s] / (m + b s),     E_m = sum of the m largest,     E_0 = Pr(T = 0)

(general F-maximizer). For a chain P is found from generating functions at roots of unity, O(n^2 S^2 + n^2 log n) (see
native/sequence/label_counts.h), then O(n^3) for all m. References: Dembczynski, Waegeman, Cheng & Huellermeier (2011);
Jansche (2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill._native import sequence as native
from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.metrics import Utility
from textmill.sequence.expected_utility import Decoding, check_probabilities, count_expectation, f_weight

__all__ = ["MarkovLabels", "count_joint", "decode_chain_f", "decode_joint_f", "expected_value", "label_model"]


@dataclass(frozen=True)
class MarkovLabels:
    """A distribution over label sequences: `initial` [S], `steps` [n - 1, S, S], `positive` [S], states with label 1.

    >>> labels = MarkovLabels.from_probabilities([0.4, 0.4, 0.3])
    >>> labels.length, labels.positives().tolist()
    (3, [0.4, 0.4, 0.3])
    """

    initial: Floats
    steps: Floats
    positive: NDArray[np.bool_]
    independent: Floats | None = None  # probabilities, where positions do not depend on each other

    def __post_init__(self) -> None:
        initial, steps = (np.ascontiguousarray(part, dtype=np.float64) for part in (self.initial, self.steps))
        positive = np.asarray(self.positive, dtype=np.bool_)
        if initial.ndim != 1 or steps.shape[1:] != (len(initial), len(initial)) or positive.shape != initial.shape:
            raise DataError(
                f"initial {initial.shape}, steps {steps.shape} and positive {positive.shape} do not fit; pass S, "
                "(n - 1) x S x S and S"
            )
        for name, rows in (("initial", initial[None]), ("steps", steps.reshape(-1, len(initial)))):
            sums = rows.sum(axis=1)
            if not (np.isfinite(rows).all() and (rows >= 0).all() and (np.abs(sums * (sums - 1)) < 1e-6).all()):
                raise DataError(f"{name} holds no probabilities: rows must be >= 0 and add up to 1")
        for name, value in (
            ("initial", np.minimum(initial, 1)),
            ("steps", np.minimum(steps, 1)),
            ("positive", positive),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def from_probabilities(cls, p: ArrayLike) -> MarkovLabels:
        """Independent labels."""
        chances = check_probabilities(p)
        if not len(chances):
            raise DataError("p is empty; pass at least one probability")
        rows = np.stack([1 - chances, chances], axis=1)
        steps = np.repeat(rows[1:, None, :], 2, axis=1)
        return cls(rows[0], steps, np.array([False, True]), chances)

    @classmethod
    def from_scores(cls, unary: ArrayLike, pairs: ArrayLike, positive: ArrayLike) -> MarkovLabels:
        """A linear-chain CRF: scores of states [n, S], of pairs of states [n - 1, S, S] or [S, S] for every position.

        >>> labels = MarkovLabels.from_scores(np.zeros((2, 2)), np.log([[3.0, 1.0], [1.0, 3.0]]), [False, True])
        >>> labels.steps.round(6).tolist()
        [[[0.75, 0.25], [0.25, 0.75]]]
        """
        u, v = np.asarray(unary, np.float64), np.asarray(pairs, np.float64)
        v = np.broadcast_to(v, (len(u) - 1, u.shape[1], u.shape[1]))
        behind = np.zeros(u.shape[1])
        steps = np.empty(v.shape)
        for t in range(len(u) - 1, 0, -1):
            scores = v[t - 1] + u[t] + behind
            behind = np.logaddexp.reduce(scores, axis=1)
            steps[t - 1] = np.where(behind[:, None] == -np.inf, 0.0, np.exp(scores - _finite(behind)[:, None]))
        first = u[0] + behind
        return cls(np.exp(first - np.logaddexp.reduce(first)), steps, np.asarray(positive, np.bool_))

    @classmethod
    def from_hidden(
        cls, start: ArrayLike, transitions: ArrayLike, likelihoods: ArrayLike, positive: ArrayLike
    ) -> MarkovLabels:
        """A hidden Markov model given its observations: `likelihoods` [n, S] of each observation under each state."""
        with np.errstate(divide="ignore"):
            unary = np.log(np.asarray(likelihoods, np.float64))
            unary[0] = unary[0] + np.log(np.asarray(start, np.float64))
            return cls.from_scores(unary, np.log(np.asarray(transitions, np.float64)), positive)

    @classmethod
    def concatenated(cls, parts: Sequence[MarkovLabels]) -> MarkovLabels:
        """Several sequences as one, independent of each other: for a score over all of them."""
        if not parts or any(not np.array_equal(part.positive, parts[0].positive) for part in parts):
            raise DataError("parts must be sequences over the same states, at least one")
        steps = [parts[0].steps]
        for part in parts[1:]:
            steps += [np.broadcast_to(part.initial, (1, part.states, part.states)), part.steps]
        return cls(parts[0].initial, np.concatenate(steps), parts[0].positive)

    @property
    def length(self) -> int:
        """Number of positions."""
        return len(self.steps) + 1

    @property
    def states(self) -> int:
        """Number of states."""
        return len(self.initial)

    def marginals(self) -> Floats:
        """Probability of every state at every position, [n, S]."""
        return self._marginals

    @cached_property
    def _marginals(self) -> Floats:
        rows = np.empty((self.length, self.states))
        rows[0] = self.initial
        for t, step in enumerate(self.steps, 1):
            rows[t] = rows[t - 1] @ step
        return rows

    def positives(self) -> Floats:
        """Probability of the label 1 at every position."""
        if self.independent is not None:
            return self.independent
        return np.asarray(self.marginals()[:, self.positive].sum(axis=1))

    def count_marginals(self) -> tuple[Floats, float]:
        """Pr(y_i = 1, T = s) as an array [n, n + 1], and Pr(T = 0).

        >>> joint, none = MarkovLabels.from_probabilities([0.5, 0.5]).count_marginals()
        >>> joint.round(12).tolist(), round(none, 12)
        ([[0.0, 0.25, 0.25], [0.0, 0.25, 0.25]], 0.25)
        """
        joint, none = count_joint(
            self.initial, self.steps, self.positive, np.where(self.positive, 0, -1).astype(np.int32)
        )
        return joint[:, 0], none

    def sample(self, n_samples: int, random_state: int = 0) -> NDArray[np.uint8]:
        """Draw label sequences, [n_samples, n]."""
        rng = np.random.default_rng(random_state)
        labels = np.empty((n_samples, self.length), np.uint8)
        state = np.zeros(n_samples, np.intp)
        for t in range(self.length):
            rows = self.initial[None] if t == 0 else self.steps[t - 1]
            ends = np.cumsum(rows, axis=1)
            ends[:, -1] = np.inf
            draws = rng.random(n_samples)
            state = (draws[:, None] >= ends[np.zeros(n_samples, np.intp) if t == 0 else state]).sum(axis=1)
            labels[:, t] = self.positive[state]
        return labels


def label_model(labels: ArrayLike | MarkovLabels) -> MarkovLabels:
    """Probabilities of independent labels, or a chain, as a chain."""
    return labels if isinstance(labels, MarkovLabels) else MarkovLabels.from_probabilities(labels)


def expected_value(utility: Utility, z: ArrayLike, labels: ArrayLike | MarkovLabels) -> float:
    """Exact expectation of a utility over counts for a set z, under independent labels or a Markov chain.

    >>> from textmill.metrics import RatioUtility
    >>> round(expected_value(RatioUtility.jaccard(), [1, 0], [0.9, 0.2]), 6)
    0.81
    """
    model = label_model(labels)
    claimed = np.ascontiguousarray(z, dtype=np.uint8)
    if claimed.shape != (model.length,) or not np.array_equal(claimed, np.asarray(z)) or (claimed > 1).any():
        raise DataError(f"z must be {model.length} labels, 0 or 1")
    m = int(claimed.sum())
    if model.independent is not None:
        p = model.independent
        hits, rest = (native.sum_distribution(np.ascontiguousarray(p[claimed == side])) for side in (1, 0))
        return count_expectation(utility, hits, rest, m, model.length)
    table = np.empty((m + 1, model.length - m + 1))
    native.joint_counts(model.initial, model.steps, model.positive.astype(np.uint8), claimed, table)
    a, r = np.indices(table.shape)
    counts = np.stack([a, r, m - a, model.length - m - r], axis=-1)
    return float((utility.value(counts) * table).sum())


def decode_joint_f(joint: ArrayLike, none: float, beta: float = 1.0, *, b: float | None = None) -> Decoding:
    """The set of greatest expected F under any joint distribution of labels.

    `joint` [n, n + 1] has Pr(y_i = 1, T = s), T the number of labels 1; `none` is Pr(T = 0).

    >>> joint = np.array([[0, 9, 8, 0], [0, 0, 8, 0], [0, 7, 0, 0]]) / 24  # 24 Pr: 8 for 110, 7 for 001, 9 for 100
    >>> best = decode_joint_f(joint, 0.0)
    >>> best.labels.tolist(), round(best.value, 6)
    ([1, 0, 1], 0.611111)
    """
    weight = f_weight(beta, b).b
    P = np.asarray(joint, np.float64)
    if P.ndim != 2 or P.shape[1] != len(P) + 1:
        raise DataError(f"joint has shape {P.shape}; pass n x (n + 1) probabilities of a label and a number of labels")
    if not (np.isfinite(P).all() and (P > -1e-9).all() and P.sum() <= len(P) * (1 + 1e-9)):
        raise DataError("joint holds negative numbers, NaN or more than 1 for an item; pass probabilities")
    best, value = np.empty(0, np.intp), float(none)
    for first in range(1, len(P) + 1, 256):
        sizes = np.arange(first, min(first + 256, len(P) + 1))
        gains = P[:, 1:] @ ((1 + weight) / (sizes + weight * np.arange(1, P.shape[1])[:, None]))
        for m, column in zip(sizes.tolist(), gains.T, strict=True):
            chosen = np.argsort(-column, kind="stable")[:m]
            total = float(column[chosen].sum())
            if total > value:
                best, value = chosen, total
    labels = np.zeros(len(P), np.uint8)
    labels[best] = 1
    return Decoding(labels, value)


def decode_chain_f(labels: MarkovLabels, beta: float = 1.0, *, b: float | None = None) -> Decoding:
    """The set of greatest expected F under a Markov chain of labels, exactly.

    >>> decode_chain_f(MarkovLabels.from_probabilities([0.4, 0.4, 0.3])).labels.tolist()
    [1, 1, 1]
    """
    joint, none = labels.count_marginals()
    return decode_joint_f(joint, none, beta, b=b)


def count_joint(
    initial: Floats, steps: Floats, positive: NDArray[Any], group: NDArray[np.int32]
) -> tuple[Floats, float]:
    """Pr(state at t is of a group, T = s) [n, groups, n + 1], T the count of positive states, and Pr(T = 0)."""
    n, groups = len(steps) + 1, int(group.max(initial=0)) + 1
    transform = np.empty((n, groups + 1, (n + 1) // 2 + 1), np.complex128)
    rest = np.where(group < 0, groups, group).astype(np.int32)  # all others, for Pr(T = 0)
    native.count_transforms(initial, steps, np.ascontiguousarray(positive, np.uint8), rest, transform)
    joint = np.fft.irfft(transform, n + 1, axis=2)
    none = float(joint[0, :, 0].sum())
    return np.maximum(joint[:, :groups], 0.0), none


def _finite(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, 0.0)
