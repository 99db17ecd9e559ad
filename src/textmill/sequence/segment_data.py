"""Sentences, their candidate segments and the tests of both as arrays, and the objective of a semi-Markov model.

    O(theta) = sum_i w_i [log Z(x^i) - score of s^i] + l2 / 2 ||theta||^2      + l1 ||theta||_1, the optimizer's part

Weights stand in one vector: for every test of segments one per label, O first; then for every test of histories one per
state that a segment may follow and label. `SegmentData` is made once from cells, patterns and candidates;
`SegmentObjective` has what the batch algorithms and `Run` ask of an objective (training/objective.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import extract
from textmill._native import segments as native
from textmill.arrays import Floats, Ints
from textmill.corpus import Sentence
from textmill.model import effective_jobs
from textmill.optimize import add_scaled, dot
from textmill.sequence.candidates import Candidates
from textmill.sequence.segment_patterns import ROLES, CompiledSegments

__all__ = ["SegmentCells", "SegmentData", "SegmentObjective", "SegmentRows"]

SegmentRows = tuple[Ints, NDArray[np.int32], NDArray[np.float32] | None]  # offsets, tests, values or None for ones
Extra = Callable[[Ints, Ints, bool], SegmentRows | None]


class SegmentCells:
    """Columns of sequences, interned, and the tests that patterns find in them."""

    def __init__(self, compiled: CompiledSegments, X: Sequence[Any], threads: int) -> None:
        self.compiled, self.threads = compiled, threads
        self.cells = extract.Cells(compiled.columns)
        for sequence in X:
            if isinstance(sequence, Sentence):
                self.cells.add_columns(sequence.columns)
            else:
                self.cells.add_rows(sequence)
        self.cells.finish(threads)
        self.offsets: Ints = self.cells.offsets()
        self.sources = compiled.sources(self.cells)

    def rows(self, role: str, tests: Any, begins: Ints, lengths: Any, *, grow: bool = False) -> SegmentRows | None:
        """The tests of a role for these segments; None if no pattern has the role."""
        extractor = self.compiled.extractors.get(role)
        if extractor is None:
            return None
        sizes = np.ascontiguousarray(lengths, np.int32)
        indptr, ids = extractor.rows(self.cells, self.sources, tests, begins, sizes, grow, self.threads)
        return indptr, ids, None


@dataclass(frozen=True, slots=True)
class SegmentData:
    """Sentences with their candidates and tests, as the native core takes them.

    `own` has the rows of single tokens and then those of the longer candidates.
    """

    candidates: Candidates
    roles: list[SegmentRows | None]
    own: SegmentRows
    history: SegmentRows
    tests: int
    history_tests: int

    @classmethod
    def encode(cls, cells: SegmentCells, candidates: Candidates, tests: Any, history: Any, extra: Extra) -> SegmentData:
        """Look up the tests that are known."""
        tokens = np.arange(candidates.tokens, dtype=np.int64)
        ones = np.ones(len(tokens), np.int32)
        roles = [cells.rows(role, tests, tokens, ones) for role in ROLES]
        begins = np.concatenate([tokens, candidates.begins()])
        lengths = np.concatenate([ones, candidates.lengths])
        own = cells.rows("own", tests, begins, lengths) or _empty(len(begins))
        own = _joined(own, extra(begins, lengths, False))
        before = cells.rows("history", history, tokens, ones) or _empty(len(tokens))
        return cls(candidates, roles, own, before, len(tests), len(history))

    def problem(self, labels: int, history: str, weights: Floats | None = None) -> Any:
        """The native problem, for `labels` labels, O included."""
        c = self.candidates
        return native.SegmentProblem(
            c.offsets, self.roles, c.starts, c.lengths, c.single, self.own, self.history, labels, self.tests,
            self.history_tests, history, weights,
        )  # fmt: skip

    def frequencies(self, labels: int, states: int) -> Floats:
        """For every weight how often its test is true, over the labels (and states) it has."""
        counts = np.zeros(self.tests)
        for rows in (*self.roles, self.own):
            if rows is not None:
                squares = None if rows[2] is None else rows[2].astype(np.float64) ** 2
                counts += np.bincount(rows[1], squares, minlength=self.tests)
        before = np.bincount(self.history[1], minlength=self.history_tests) / (labels * states)
        return np.concatenate([np.repeat(counts / labels, labels), np.repeat(before, labels * states)])


def _empty(rows: int) -> SegmentRows:
    return np.zeros(rows + 1, np.int64), np.empty(0, np.int32), None


def _joined(rows: SegmentRows, more: SegmentRows | None) -> SegmentRows:
    """Rows with the entries of others behind their own."""
    if more is None:
        return rows
    counts, others = np.diff(rows[0]), np.diff(more[0])
    indptr = np.concatenate([[0], np.cumsum(counts + others)]).astype(np.int64)
    ids = np.empty(int(indptr[-1]), np.int32)
    values = np.ones(len(ids), np.float32)
    at = np.arange(len(rows[1])) + np.repeat(indptr[:-1] - rows[0][:-1], counts)
    to = np.arange(len(more[1])) + np.repeat(indptr[:-1] + counts - more[0][:-1], others)
    ids[at], ids[to] = rows[1], more[1]
    values[at] = 1.0 if rows[2] is None else rows[2]
    values[to] = 1.0 if more[2] is None else more[2]
    return indptr, ids, values


class SegmentObjective:
    """Value and gradient of the negative log-likelihood of segmentations, with the L2 penalty."""

    def __init__(
        self,
        data: SegmentData,
        observed: Ints,
        labels: int,
        history: str,
        *,
        l1: float = 0.0,
        l2: float = 0.0,
        weights: Floats | None = None,
        n_jobs: int | None = 1,
        packed: bool = False,
    ) -> None:
        self.data, self.l1, self.l2, self.n_jobs, self.packed = data, l1, l2, n_jobs, packed
        self.labels, self.history = labels, history
        self.problem = data.problem(labels, history, weights)
        self.problem.observe(observed)
        self.size: int = self.problem.features
        self.observed = len(observed)
        self.features: Ints | None = None

    @property
    def threads(self) -> int:
        """Number of threads on this machine."""
        return effective_jobs(self.n_jobs)

    def signature(self) -> dict[str, Any]:
        """What tells one problem from another, for checkpoints."""
        return {
            "penalties": (self.l1, self.l2),
            "history": self.history,
            "labels": self.labels,
            "features": self.size,
            "candidates": self.data.candidates.count,
            "tokens": self.data.candidates.tokens,
            "segments": self.observed,
        }

    def restrict(self, features: Ints | None) -> None:
        """Look only at these features, which rise; None for all."""
        self.features = features

    def spread(self, features: Ints, weights: Floats) -> Floats:
        """Weights of these features among those the objective looks at, zeros elsewhere."""
        full = np.zeros(self.size)
        full[features] = weights
        return full if self.features is None else full[self.features]

    def scales(self) -> Floats:
        """Square roots of the second derivatives to be expected, for the features that the objective looks at."""
        states = 1 if self.history == "none" else self.labels
        frequency = self.data.frequencies(self.labels, states)
        frequency[frequency == 0] = 1.0
        return np.sqrt((frequency if self.features is None else frequency[self.features]) + self.l2)

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Value and gradient at theta, with the L2 penalty."""
        gradient = np.empty_like(theta)
        return self.into(theta, gradient), gradient

    def into(self, theta: Floats, gradient: Floats) -> float:
        """Fill the gradient at theta, in memory that is there, and return the value."""
        if self.features is None:
            gradient.fill(0.0)
            value = self.problem.evaluate(theta, gradient, self.packed, self.threads)
        else:
            whole, slopes = np.zeros(self.size), np.zeros(self.size)
            whole[self.features] = theta
            value = self.problem.evaluate(whole, slopes, self.packed, self.threads)
            gradient[:] = slopes[self.features]
        if self.l2:
            value += 0.5 * self.l2 * dot(theta, theta)
            add_scaled(gradient, self.l2, theta)
        return float(value)

    def violations(self, theta: Floats, threshold: float) -> tuple[float, Floats, Ints, Floats]:
        """Value and gradient on the features looked at, and the others whose gradient exceeds the threshold."""
        features = self.features
        assert features is not None
        self.restrict(None)
        value, slopes = self(self.spread(features, theta))
        self.restrict(features)
        inside = slopes[features]
        slopes[features] = 0.0
        outside = np.flatnonzero(np.abs(slopes) > threshold)
        return value, inside, outside, slopes[outside]
