"""Sentences, their candidate segments and the tests of both as arrays, and the objective of a semi-Markov model.

    O(theta) = sum_i w_i [log Z(x^i) - score of s^i] + l2 / 2 ||theta||^2      + l1 ||theta||_1, the optimizer's part

Weights stand in one vector: for every test of segments one per label, O first; then for every test of histories one per
state that a segment may follow and label. `SegmentData` is made once from cells, patterns and candidates;
`SegmentObjective` has what the batch algorithms and `Run` ask of an objective (training/objective.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
SharedRows = tuple[int, NDArray[np.int32], SegmentRows]  # number of the role, row of every token or -1, rows of values
Extra = Callable[[Ints, Ints, bool], SegmentRows | None]


_SHARED = (*ROLES, "single")


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
        indptr, ids = extractor.rows(self.sources, tests, begins, sizes, grow, self.threads)
        return indptr, ids, None

    def rests(self, role: str, tests: Any, needed: NDArray[np.bool_]) -> SegmentRows | None:
        """The tests of a role that look at more than one value, for the tokens that are needed."""
        extractor = self.compiled.rests.get(role)
        if extractor is None:
            return None
        at = np.flatnonzero(needed)
        indptr, ids = extractor.rows(self.sources, tests, at, np.ones(len(at), np.int32), False, self.threads)
        sizes = np.zeros(len(needed) + 1, np.int64)
        sizes[at + 1] = np.diff(indptr)
        return np.cumsum(sizes), ids, None

    def shared(self, tests: Any, needed: Sequence[NDArray[np.bool_]]) -> list[SharedRows]:
        """The tests that look at one value near a token, for every role and place."""
        shared: list[SharedRows] = []
        for (role, slot, offset), extractor in self.compiled.values.items():
            number = _SHARED.index(role)
            of = np.where(needed[number], self.sources.values_at(slot, offset), -1).astype(np.int32)
            indptr, ids = extractor.values(self.sources, tests, slot)
            shared.append((number, of, (indptr, ids, None)))
        return shared


@dataclass(frozen=True, slots=True)
class SegmentData:
    """Sentences with their candidates and tests, as the native core takes them.

    `own` has the rows of single tokens and then those of the longer candidates; `shared` those that depend on one value
    near a token, by roles and for single tokens. Roles have rows only of the tokens that some candidate needs.
    """

    candidates: Candidates
    roles: list[SegmentRows | None]
    shared: list[SharedRows]
    own: SegmentRows
    history: SegmentRows
    tests: int
    history_tests: int

    @classmethod
    def encode(cls, cells: SegmentCells, candidates: Candidates, tests: Any, history: Any, extra: Extra) -> SegmentData:
        """Look up the tests that are known."""
        tokens = np.arange(candidates.tokens, dtype=np.int64)
        needed = _needed(candidates)
        shared = cells.shared(tests, needed)
        used = {number for number, _, _ in shared}
        roles = [cells.rests(role, tests, needed[i]) for i, role in enumerate(ROLES)]
        roles = [_empty(len(tokens)) if rows is None and i in used else rows for i, rows in enumerate(roles)]
        single = cells.rests("single", tests, needed[-1]) or _empty(len(tokens))
        longer = cells.rows("own", tests, candidates.begins(), candidates.lengths) or _empty(len(candidates.lengths))
        own = _stacked(single, longer)
        begins = np.concatenate([tokens, candidates.begins()])
        lengths = np.concatenate([np.ones(len(tokens), np.int32), candidates.lengths])
        own = _joined(own, extra(begins, lengths, False))
        before = cells.rows("history", history, tokens, np.ones(len(tokens))) or _empty(len(tokens))
        return cls(candidates, roles, shared, own, before, len(tests), len(history))

    def problem(self, labels: int, history: str, weights: Floats | None = None) -> Any:
        """The native problem, for `labels` labels, O included."""
        c = self.candidates
        return native.SegmentProblem(
            c.offsets, self.roles, c.starts, c.lengths, c.single, self.own, self.history, labels, self.tests,
            self.history_tests, history, weights, self.shared,
        )  # fmt: skip

    def rows_at(self, role: str, token: int) -> Iterator[tuple[int, float]]:
        """Tests and values of a token in a role, or as "single" of the token as a segment of its own."""
        number = _SHARED.index(role)
        rows = self.own if role == "single" else self.roles[number]
        if rows is not None:
            yield from _entries(rows, token)
        for other, of, values in self.shared:
            if other == number and of[token] >= 0:
                yield from _entries(values, int(of[token]))

    def rows_of(self, candidate: int) -> Iterator[tuple[int, float]]:
        """Tests and values of their own of a candidate of more than one token."""
        return _entries(self.own, self.candidates.tokens + candidate)


def _entries(rows: SegmentRows, row: int) -> Iterator[tuple[int, float]]:
    indptr, ids, values = rows
    for e in range(int(indptr[row]), int(indptr[row + 1])):
        yield int(ids[e]), 1.0 if values is None else float(values[e])


def _needed(candidates: Candidates) -> list[NDArray[np.bool_]]:
    """For every role, and for single tokens, which tokens some segment asks for: O has the tests of one token."""
    every = np.ones(candidates.tokens, bool)
    begins = candidates.begins()
    lasts = begins + candidates.lengths - 1

    def marked(at: Ints) -> NDArray[np.bool_]:
        flags = np.zeros(candidates.tokens, bool)
        flags[at] = True
        return flags

    def covered(first: Ints, behind: Ints) -> NDArray[np.bool_]:
        steps = np.zeros(candidates.tokens + 1, np.int64)
        np.add.at(steps, first, 1)
        np.subtract.at(steps, behind, 1)
        return np.cumsum(steps[:-1]) > 0

    needed = {
        "first": every, "last": every, "all": every, "single": every, "first2": marked(begins), "last2": marked(lasts),
        "rest": covered(begins + 1, lasts + 1), "inner": covered(begins + 1, lasts),
    }  # fmt: skip
    return [needed[role] for role in _SHARED]


def _empty(rows: int) -> SegmentRows:
    return np.zeros(rows + 1, np.int64), np.empty(0, np.int32), None


def _stacked(rows: SegmentRows, more: SegmentRows) -> SegmentRows:
    """Rows, and others below them."""
    return np.concatenate([rows[0], rows[0][-1] + more[0][1:]]), np.concatenate([rows[1], more[1]]), None


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
        labels, states = self.labels, 1 if self.history == "none" else self.labels
        counts = self.problem.frequencies() / labels
        before = np.bincount(self.data.history[1], minlength=self.data.history_tests) / (labels * states)
        frequency = np.concatenate([np.repeat(counts, labels), np.repeat(before, labels * states)])
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
