"""Linear support vector regression by dual coordinate descent, over rows in memory or over chunks that are read again.

    w = sum_i b_i x_i,     -cost <= b_i <= cost,     each step minimizes over one b_i

The intercept is free of penalty: every pass ends with it as the new center. Rows are visited in a seeded order within
their chunk, chunks in theirs, so a chunk is all that is in memory of X at a time. Memory beyond it: 8 bytes for each
column, 40 for each row.

The dual problem of a free intercept has sum_i b_i = 0, which holds at the end only. So the gap is worked out at

    b'_i = a (b_i - t / n),   t = sum_i b_i,   a = C / (C + |t| / n),   w' = a (w - t / n sum_i x_i)

which is feasible at any point: it adds up to zero and lies within +-C.

Cost: two visits of every entry a pass, one reading of all chunks a pass and one more every fifth, which gives the gap.
References: Ho & Lin (2012), Large-scale linear support vector regression; Yu, Hsieh, Chang & Lin (2010), Large linear
classification when data cannot fit in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from textmill._native import linear as native
from textmill.arrays import Floats
from textmill.corpus import check_bags, csr_arrays, require_passes
from textmill.errors import DataError, warn_caller
from textmill.linear.logistic import NotConverged
from textmill.progress import interruptible

if TYPE_CHECKING:
    from textmill.linear.svr import SupportVectorRegression

__all__ = ["CheckedChunks", "best_intercept", "descend"]

_EVERY = 5  # passes after which the gap is worked out
_APART = 1_000_003  # between the seeds of chunks


def descend(model: SupportVectorRegression, chunks: Iterable[tuple[Any, Floats]]) -> tuple[Floats, float]:
    """Train on chunks of rows and values; returns weights and intercept, and notes the rest on the model."""
    squares, targets, columns = [], [], 0
    totals: Floats = np.zeros(0)
    for X, y in chunks:
        offsets, _, values = csr_arrays(X, np.float64)
        squares.append(np.bincount(np.repeat(np.arange(len(y)), np.diff(offsets)), values**2, len(y)))
        targets.append(y)
        columns = X.shape[1]
        totals = (totals if len(totals) else np.zeros(columns)) + np.asarray(X.sum(axis=0)).ravel()
    target, square = np.concatenate(targets), np.concatenate(squares)
    n = len(target)
    dual, w, fitted = np.zeros(n), np.zeros(columns), np.zeros(n)
    center, total, rate = float(np.median(target)), 0.0, max(float(square.mean()), 1e-12)
    limit = 1000 if model.max_iter is None else model.max_iter
    costs = np.full(n, float(model.cost))
    intercept = center
    model.converged_ = False
    with interruptible(range(limit)) as passes:
        for number in passes:
            begin = 0
            for place, (X, y) in enumerate(chunks):
                own = slice(begin, begin + len(y))
                begin += len(y)
                _, total = native.tube_pass(
                    *csr_arrays(X, np.float64),
                    target[own],
                    square[own],
                    model.cost,
                    model.tube,
                    center,
                    rate,
                    model.random_state + number + place * _APART,
                    total,
                    dual[own],
                    w,
                )
            center += rate * total
            model.n_iter_ = number + 1
            if number % _EVERY == _EVERY - 1 or number == limit - 1:
                begin = 0
                for X, y in chunks:
                    fitted[begin : begin + len(y)] = X @ w
                    begin += len(y)
                intercept = best_intercept(target - fitted, model.tube)
                shift = float(dual.sum()) / n
                shrink = model.cost / (model.cost + abs(shift))
                feasible, point = shrink * (dual - shift), shrink * (w - shift * totals)
                model._certify(target, costs, feasible, fitted + intercept, float(w @ w), float(point @ point))
                if model.gap_ <= model.tolerance * abs(model.objective_):
                    model.converged_ = True
                    break
    if not model.converged_:
        warn_caller(f"training ended by max_iter={limit}; raise max_iter or tolerance", NotConverged)
    return w, intercept


def best_intercept(residual: Floats, tube: float) -> float:
    """The intercept of least loss for residuals y - w.x: a median of the edges of the tubes.

    >>> best_intercept(np.array([1.0, 2.0, 9.0]), 0.5)
    2.0
    """
    return float(np.median(np.concatenate([residual - tube, residual + tube])))


class CheckedChunks:
    """Chunks (X, y) of an iterable that can be read again, checked as they are read.

    >>> [y.tolist() for _, y in CheckedChunks([([[1.0, 0.0]], [3]), ([[0.0, 2.0]], [5])])]
    [[3.0], [5.0]]
    """

    def __init__(self, chunks: Iterable[Any]) -> None:
        require_passes(chunks, 2, "descent over chunks")
        self.chunks = chunks

    def __iter__(self) -> Iterator[tuple[Any, Floats]]:
        from textmill.linear.svr import check_targets

        columns: int | None = None
        for number, chunk in enumerate(self.chunks):
            if not isinstance(chunk, tuple) or len(chunk) != 2:
                raise DataError("a chunk must be (X, y); requires y to be passed with X otherwise")
            X = check_bags(np.asarray(chunk[0], np.float64) if isinstance(chunk[0], list) else chunk[0], negative=True)
            if columns is not None and X.shape[1] != columns:
                raise DataError(f"chunk {number} has {X.shape[1]} columns, those before have {columns}; use one number")
            columns = int(X.shape[1])
            yield X, check_targets(X, chunk[1])
        if columns is None:
            raise DataError("there are no chunks; pass at least one (X, y)")
