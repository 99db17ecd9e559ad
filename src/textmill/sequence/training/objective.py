"""The objective of a chain model over sequences, as optimizers take it.

    O(theta) = sum_i w_i [log Z(x^i) - score of y^i] + l2 / 2 ||theta||^2      + l1 ||theta||_1, the optimizer's part

Labels that are not known are summed over: with Y_i the labelings that agree with what is known,

    log Z(x^i) - log sum_{y in Y_i} exp score(y)

the second term is another problem of the same kind whose labels are forced, counted with weight -1.

Sequences are cut into partitions by their number of tokens, never by the number of machines, and values and gradients
of the partitions are added pairwise, so every cluster gives the same bytes. A conditional Markov model conditions on
the label before: its bigram test b after label y' is a unigram test of its own, row b Y + y' of the same weights, and
nothing is summed over sequences.

How often tests are true differs by orders of magnitude, and with it the second derivatives. At theta = 0 they are about

    c_k = n_k / Y + l2,    n_k / Y^2 + l2 for a pair of labels          n_k = sum over tokens of w (value of the test)^2

`scales` returns sqrt(c_k), the geometric mean of that and of no guess at all, for quasi-Newton methods to begin with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import sequence as native
from textmill.arrays import Floats, Ids, Ints
from textmill.cluster import Cluster, Kept
from textmill.errors import DataError
from textmill.model import effective_jobs
from textmill.optimize import add_scaled, dot
from textmill.sequence.encoding import Active, Encoded
from textmill.sequence.features import FeatureLayout

__all__ = [
    "PART_CELLS",
    "ChainObjective",
    "Part",
    "conditional_layout",
    "conditioned",
    "frequencies",
    "seen_features",
    "select_sequences",
    "slices",
]

PART_CELLS = 1 << 27  # tokens * labels of a partition: its vectors take at most three times 8 bytes each
MARKS = 32  # bytes that may be spent on each occurrence of a test to find features without sorting them


class ChainObjective:
    """Value and gradient of the negative log-likelihood of labeled sequences.

    `candidates` are the features that the model has, None for all of the layout. `restrict` looks at some of them:
    theta and gradient have one entry for each. `l1` is only carried along, for the algorithms that know what to do with
    it. Nothing is made of the sequences before the first evaluation, so algorithms that go sequence by sequence
    (`sequences`) pay for nothing.

    >>> tests = Active(np.arange(4), np.zeros(3, np.int32), None, 1)
    >>> data = Encoded(np.array([0, 3]), tests, tests, np.array([0, 1, 0], np.int32))
    >>> objective = ChainObjective(FeatureLayout(2, 1, 1), data)
    >>> value, gradient = objective(np.zeros(6))
    >>> round(value, 6), gradient.tolist()
    (2.079442, [-0.5, 0.5, 0.5, -0.5, -0.5, 0.5])
    """

    owner: Ids | None = None  # labels of hidden states, where the labels of the layout are states

    def __init__(
        self,
        layout: FeatureLayout,
        data: Encoded,
        *,
        l1: float = 0.0,
        l2: float = 0.0,
        n_jobs: int | None = 1,
        cluster: Cluster | None = None,
        normalized: bool = False,
        candidates: Ints | None = None,
    ) -> None:
        if data.labels is None:
            raise DataError("the sequences have no labels to learn from; pass y")
        self.layout, self.data, self.l1, self.l2, self.n_jobs = layout, data, l1, l2, n_jobs
        self.normalized, self.candidates = normalized, candidates
        self._cluster = cluster
        self._numbering = conditional_layout(layout) if normalized else layout
        self._candidate_support = None if candidates is None else self._supported(candidates)
        self.restrict(None)

    @property
    def threads(self) -> int:
        """Number of threads on this machine."""
        return effective_jobs(self.n_jobs)

    def sequences(self) -> tuple[FeatureLayout, Encoded]:
        """The sequences, and the numbers of their features, for algorithms that go from one to the next."""
        if not self.normalized:
            return self.layout, self.data
        return self._numbering, conditioned(self.layout, self.data)

    def signature(self) -> dict[str, Any]:
        """What tells one problem from another, for checkpoints."""
        return {
            "penalties": (self.l1, self.l2),
            "candidates": None if self.candidates is None else len(self.candidates),
            **asdict(self.layout),
            "tokens": self.data.tokens,
            "sequences": self.data.sequences,
            "tests": len(self.data.unigram.ids) + len(self.data.bigram.ids),
        }

    @cached_property
    def _addresses(self) -> list[Any]:
        tokens = max(1, PART_CELLS // self.layout.labels)
        return [(self.layout, part) for part in slices(self.data, tokens)]

    @property
    def _load(self) -> Callable[..., Part]:
        return Part.conditional if self.normalized else Part

    @cached_property
    def _parts(self) -> list[Part]:
        """Partitions in this process."""
        return [self._load(address) for address in self._addresses] if self._cluster is None else []

    @cached_property
    def _remote(self) -> list[Kept[Part]]:
        """Partitions on the workers of a cluster."""
        assert self._cluster is not None
        return self._cluster.keep(self._load, self._addresses)

    @cached_property
    def _frequency(self) -> Floats:
        return frequencies(self.layout, self.data)

    def restrict(self, features: Ints | None) -> None:
        """Look only at these features, which rise; None for all candidates."""
        self.features: Ints | None = self.candidates if features is None else features
        if features is not None:
            self._support: native.Support | None = self._supported(features)
        else:  # always the same object: what native code prepares for it is found again
            self._support = self._candidate_support

    def _supported(self, features: Ints) -> native.Support | None:
        return self._numbering.support(features)

    def spread(self, features: Ints, weights: Floats) -> Floats:
        """Weights of these features among those the objective looks at, zeros elsewhere."""
        if self.features is None:
            full = np.zeros(self.layout.size)
            full[features] = weights
            return full
        full = np.zeros(len(self.features))
        at = np.searchsorted(self.features, features)
        there = at < len(full)
        there[there] = self.features[at[there]] == features[there]
        full[at[there]] = weights[there]
        return full

    def scales(self) -> Floats:
        """Square roots of the second derivatives to be expected, for the features that the objective looks at."""
        labels, rows = self.layout.labels, self.layout.rows
        if self.features is None:
            test, pair = self._frequency[:rows], self._frequency[rows:]
            frequency = np.concatenate([np.repeat(test, labels), np.repeat(pair, labels**2)])
        else:
            row = self.features // labels
            frequency = self._frequency[np.where(row < rows, row, rows + (row - rows) // labels)]
        return np.sqrt(frequency + self.l2)

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Value and gradient at theta, with the L2 penalty."""
        gradient = np.empty_like(theta)
        return self.into(theta, gradient), gradient

    def into(self, theta: Floats, gradient: Floats) -> float:
        """Fill the gradient at theta, in memory that is there, and return the value."""
        if self._cluster is None:
            gradient.fill(0.0)
            threads = self.threads
            value = sum(part.evaluate(theta, self._support, gradient, threads) for part in self._parts)
        else:
            state = self._cluster.broadcast((theta.copy(), self.features, self._numbering))
            jobs = self._cluster.worker_jobs(self.threads) or 1
            value, gradient[:] = self._cluster.map_reduce(_evaluate, self._remote, _add, state, jobs)
        if self.l2:
            value += 0.5 * self.l2 * dot(theta, theta)
            add_scaled(gradient, self.l2, theta)
        return float(value)

    def violations(self, theta: Floats, threshold: float) -> tuple[float, Floats, Ints, Floats]:
        """Value and gradient on the support, and the other features whose gradient exceeds the threshold."""
        if self._support is None:
            raise DataError("a search for features begins with a support, which may be empty; call restrict first")
        if len(self._parts) != 1 or self.candidates is not None:
            return self._whole_violations(theta, threshold)
        value, gradient, features, slopes = self._parts[0].violations(theta, self._support, threshold, self.threads)
        return value + 0.5 * self.l2 * dot(theta, theta), gradient + self.l2 * theta, features, slopes

    def _whole_violations(self, theta: Floats, threshold: float) -> tuple[float, Floats, Ints, Floats]:
        """The same from the gradient of all candidates, which are few, or partitions, whose gradients are added."""
        assert self.features is not None
        features = self.features
        self.restrict(None)
        value, gradient = self(self.spread(features, theta))
        at = features if self.features is None else np.searchsorted(self.features, features)
        inside = gradient[at]
        gradient[at] = 0.0
        outside = np.flatnonzero(np.abs(gradient) > threshold)
        slopes = gradient[outside]
        if self.features is not None:
            outside = self.features[outside]
        self.restrict(features)
        return value, inside, outside, slopes

    def zero_rate(self, theta: Floats) -> float:
        """Share of the pair scores of all positions that are zero: what the sparse recursion saves."""
        rates = [part.problem.zero_rate(theta, self._support) for part in self._parts]
        return float(np.mean(rates)) if rates else 1.0


class Part:
    """A partition where it is evaluated: all sequences, and once more those with unknown labels, forced."""

    def __init__(self, address: tuple[FeatureLayout, Encoded]) -> None:
        layout, data = address
        assert data.labels is not None
        self.address = address
        partial = np.zeros(data.sequences, bool)
        unknown = np.flatnonzero(data.labels < 0)
        if len(unknown):
            partial[np.searchsorted(data.offsets, unknown, side="right") - 1] = True
        observed = np.where(np.repeat(partial, np.diff(data.offsets)), -1, data.labels).astype(np.int32)
        self.problem = _problem(layout, data, observed, None, data.weights)
        self.forced = None
        if partial.any():
            some = select_sequences(data, partial)
            weights = -(np.ones(some.sequences) if some.weights is None else some.weights)
            self.forced = _problem(layout, some, None, some.labels, weights)

    def __reduce__(self) -> tuple[type[Part], tuple[tuple[FeatureLayout, Encoded]]]:
        """Between workers the sequences travel; what is made of them is made again there."""
        return Part, (self.address,)

    @classmethod
    def conditional(cls, address: tuple[FeatureLayout, Encoded]) -> Part:
        """A partition of a conditional Markov model."""
        layout, data = address
        return cls((conditional_layout(layout), conditioned(layout, data)))

    def evaluate(self, theta: Floats, support: native.Support | None, gradient: Floats, threads: int) -> float:
        """Add the gradient and return the value."""
        value = self.problem.evaluate(theta, support, gradient, threads)
        if self.forced is not None:
            value += self.forced.evaluate(theta, support, gradient, threads)
        return float(value)

    def violations(
        self, theta: Floats, support: native.Support, threshold: float, threads: int
    ) -> tuple[float, Floats, Ints, Floats]:
        """Value and gradient, and features outside the support whose gradient exceeds the threshold."""
        gradient = np.zeros_like(theta)
        value, features, slopes = self.problem.violations(
            theta, support, threshold if self.forced is None else -1.0, gradient, threads
        )
        if self.forced is not None:
            more, others, other_slopes = self.forced.violations(theta, support, -1.0, gradient, threads)
            value += more
            slopes = slopes + other_slopes  # both list every feature outside the support
            large = np.abs(slopes) > threshold
            features, slopes = others[large], slopes[large]
        return value, gradient, features, slopes


def _evaluate(part: Part, state: tuple[Floats, Ints | None, FeatureLayout], jobs: int) -> tuple[float, Floats]:
    """One partition on a worker."""
    theta, features, layout = state
    support = None if features is None else layout.support(features)
    gradient = np.zeros_like(theta)
    return part.evaluate(theta, support, gradient, jobs), gradient


def _add(left: tuple[float, Floats], right: tuple[float, Floats]) -> tuple[float, Floats]:
    return left[0] + right[0], left[1] + right[1]


def conditional_layout(layout: FeatureLayout) -> FeatureLayout:
    """The same features when a bigram test after a label is a unigram test.

    >>> conditional_layout(FeatureLayout(2, 3, 1)).unigrams
    5
    """
    return FeatureLayout(layout.labels, layout.rows + layout.bigrams * layout.labels, 0)


def seen_features(layout: FeatureLayout, data: Encoded) -> Ints:
    """The features that occur in labeled sequences, with the labels they have there; rising.

    >>> tests = Active(np.arange(4), np.zeros(3, np.int32), None, 1)
    >>> data = Encoded(np.array([0, 3]), tests, tests, np.array([0, 1, 0], np.int32))
    >>> seen_features(FeatureLayout(2, 1, 1), data).tolist()
    [0, 1, 3, 4]
    """
    offsets, unigram, bigram = layout.data(data)
    assert data.labels is not None
    labels = data.labels.astype(np.int64)
    before = np.full(data.tokens, -1, np.int64)
    before[1:] = labels[:-1]
    before[offsets[:-1][np.diff(offsets) > 0]] = -1
    pair = np.where((before >= 0) & (labels >= 0), before * layout.labels + labels, -1)

    def numbers(active: Active, cells: Ints, size: int) -> Ints:
        cell = np.repeat(cells, np.diff(active.indptr))
        met = (active.ids.astype(np.int64) * size + cell)[cell >= 0]
        if active.size * size > MARKS * len(met):
            return np.unique(met)
        mark = np.zeros(active.size * size, bool)
        mark[met] = True
        return np.flatnonzero(mark)

    first = layout.rows * layout.labels
    return np.concatenate([numbers(unigram, labels, layout.labels), first + numbers(bigram, pair, layout.labels**2)])


def frequencies(layout: FeatureLayout, data: Encoded) -> Floats:
    """For every row, then every bigram test: sum of its squared values, over the labels (pairs of labels) it has.

    A test that is never true has 1: its slope is 0 whatever it is divided by.
    """
    offsets, unigram, bigram = layout.data(data)
    weights = None if data.weights is None else np.repeat(data.weights, np.diff(offsets))

    def squares(active: Active, size: int) -> Floats:
        share = None if weights is None else np.repeat(weights, np.diff(active.indptr))
        if active.values is not None:
            square = active.values.astype(np.float64) ** 2
            share = square if share is None else share * square
        total = np.bincount(active.ids, share, minlength=active.size) / size
        return np.where(total > 0, total, 1.0)

    return np.concatenate([squares(unigram, layout.labels), squares(bigram, layout.labels**2)])


def _problem(layout: FeatureLayout, data: Encoded, observed: Any, forced: Any, weights: Any) -> native.Problem:
    offsets, unigram, bigram = layout.data(data)
    return native.make_problem(
        layout.labels, offsets, tuple(unigram), tuple(bigram), observed=observed, forced=forced, weights=weights
    )


def slices(data: Encoded, tokens: int) -> list[Encoded]:
    """Cut a data set into stretches of whole sequences with at most this many tokens (or one sequence).

    >>> tests = Active(np.arange(4), np.zeros(3, np.int32), None, 1)
    >>> [part.sequences for part in slices(Encoded(np.array([0, 1, 2, 3]), tests, tests), 2)]
    [2, 1]
    """
    if data.tokens <= tokens:
        return [data]
    parts, begin = [], 0
    while begin < data.sequences:
        end = int(np.searchsorted(data.offsets, data.offsets[begin] + tokens, side="right")) - 1
        end = min(max(end, begin + 1), data.sequences)
        parts.append(select_sequences(data, slice(begin, end)))
        begin = end
    return parts


def select_sequences(data: Encoded, chosen: NDArray[np.bool_] | slice) -> Encoded:
    """Some of the sequences.

    >>> tests = Active(np.arange(4), np.zeros(3, np.int32), None, 1)
    >>> select_sequences(Encoded(np.array([0, 1, 3]), tests, tests), slice(1, 2)).tokens
    2
    """
    if isinstance(chosen, slice):
        mask = np.zeros(data.sequences, bool)
        mask[chosen] = True
        chosen = mask
    lengths = np.diff(data.offsets)
    tokens = np.repeat(chosen, lengths)

    def rows(active: Active) -> Active:
        counts = np.diff(active.indptr)
        entries = np.repeat(tokens, counts)
        indptr = np.concatenate([[0], np.cumsum(counts[tokens])]).astype(np.int64)
        values = None if active.values is None else active.values[entries]
        return Active(indptr, active.ids[entries], values, active.size)

    return replace(
        data,
        offsets=np.concatenate([[0], np.cumsum(lengths[chosen])]).astype(np.int64),
        unigram=rows(data.unigram),
        bigram=rows(data.bigram),
        labels=None if data.labels is None else data.labels[tokens],
        weights=None if data.weights is None else data.weights[chosen],
    )


def conditioned(layout: FeatureLayout, data: Encoded) -> Encoded:
    """Sequences for a conditional Markov model: bigram tests as unigram tests that know the label before.

    A token after an unknown label is left without its bigram tests, a token with an unknown label is not learned from.

    >>> tests = Active(np.arange(4), np.zeros(3, np.int32), None, 1)
    >>> data = Encoded(np.array([0, 3]), tests, tests, np.array([0, 1, 0], np.int32))
    >>> conditioned(FeatureLayout(2, 1, 1), data).unigram.ids.tolist()
    [0, 0, 1, 0, 2]
    """
    offsets, unigram, bigram = layout.data(data)
    assert data.labels is not None
    before = np.full(data.tokens, -1, np.int64)
    before[1:] = data.labels[:-1]
    before[offsets[:-1][np.diff(offsets) > 0]] = -1
    counts = np.diff(bigram.indptr) * (before >= 0)
    indptr = unigram.indptr + np.concatenate([[0], np.cumsum(counts)])
    ids = np.empty(int(indptr[-1]), np.int32)
    extra = np.ones(len(ids), bool)
    entries = np.arange(len(unigram.ids)) + np.repeat(indptr[:-1] - unigram.indptr[:-1], np.diff(unigram.indptr))
    extra[entries] = False
    ids[entries] = unigram.ids
    per_entry = np.repeat(before, np.diff(bigram.indptr))
    used = per_entry >= 0
    ids[extra] = layout.rows + bigram.ids[used].astype(np.int64) * layout.labels + per_entry[used]
    values = None
    if unigram.values is not None or bigram.values is not None:
        values = np.ones(len(ids), np.float32)
        values[entries] = 1.0 if unigram.values is None else unigram.values
        values[extra] = 1.0 if bigram.values is None else bigram.values[used]
    rows = Active(indptr, ids, values, layout.rows + layout.bigrams * layout.labels)
    weights = None if data.weights is None else np.repeat(data.weights, np.diff(offsets))
    labeled = data.labels >= 0
    single = np.arange(data.tokens + 1, dtype=np.int64)
    none = Active(np.zeros(data.tokens + 1, np.int64), np.empty(0, np.int32), None, 0)
    return select_sequences(Encoded(single, rows, none, data.labels, weights), labeled)
