"""One support vector machine for each pair of classes, and a vote.

    for a < b:   1/2 |w|^2 + cost sum_i max(0, 1 - t_i f_ab(x_i))        rows of a (t = -1) and b (t = +1)
    predict:     every machine votes for a or b; the class with most votes wins

Ties go to the class nearest to the neutral score (`neutral`, by default half-way between the lowest and the highest
class), then to the one with the larger sum of |f| over the votes for it, then to the lower one. All pairs share one
matrix of kernel values. Cost: K (K - 1) / 2 problems, each over the rows of two classes.

References: Kressel (1999), Pairwise classification and support vector machines; Okanohara & Tsujii (2005).
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats, Ids
from textmill.corpus import array_like
from textmill.errors import DataError
from textmill.linear.classifier import classes_of, labels_of, require_rows
from textmill.linear.kernels import MAX_STEPS, KernelModel, KernelRows, Solved, solve_problems
from textmill.model import Classifier, check_fitted, check_range

__all__ = ["PairwiseSVM", "count_votes", "solve_pairs", "vote"]


class PairwiseSVM(Classifier, KernelModel):
    """Classify by votes of support vector machines, one for each pair of classes.

    Parameters:
        kernel: "linear", "polynomial" or "rbf"; see `make_kernel`.
        degree: Of the polynomial kernel.
        gamma: Factor of the dot product, or of the squared distance.
        coef0: Summand of the polynomial kernel.
        cost: Price of an error, C of LIBSVM.
        neutral: Score to which ties go; None for the middle of the classes, if they are numbers.
        tolerance: Largest violation of the optimality conditions.
        max_iter: Steps for a pair at most; None for as many as it takes.
        n_jobs: Threads; None for all cores. The model is the same for any number.

    Attributes:
        classes_: Classes, sorted, (K,).
        dual_: Variables of the support vectors, a row for each pair in the order (0, 1), (0, 2), ... (1, 2), ...
        coef_: Weights of the pairs, for a linear kernel, else None.
        intercept_: Intercepts of the pairs.

    >>> model = PairwiseSVM().fit([[0.0], [1.0], [5.0], [6.0], [9.0]], [1, 1, 2, 2, 3])
    >>> model.predict([[0.5], [5.5], [10.0]]).tolist()
    [1, 2, 3]
    """

    format_version: ClassVar[int] = 1

    classes_: NDArray[Any]

    def __init__(
        self,
        *,
        kernel: str = "linear",
        degree: int = 2,
        gamma: float = 1.0,
        coef0: float = 1.0,
        cost: float = 100.0,
        neutral: float | None = None,
        tolerance: float = 1e-3,
        max_iter: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.cost = cost
        self.neutral = neutral
        self.tolerance = tolerance
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train the machines of all pairs."""
        kernel = self._kernel()
        check_range("cost", self.cost, above=0)
        check_range("tolerance", self.tolerance, above=0)
        rows = KernelRows(array_like(X), n_jobs=self.n_jobs)
        require_rows(rows.X)
        n = rows.X.shape[0]
        classes = classes_of(y)
        labels = labels_of(y, n, classes)
        if self.neutral is not None and classes.dtype.kind not in "iuf":
            raise DataError("neutral is for classes that are numbers; leave it out")
        limit = MAX_STEPS if self.max_iter is None else self.max_iter
        every = np.arange(n, dtype=np.int32)
        settings: dict[str, Any] = {
            "cost": self.cost,
            "tolerance": self.tolerance,
            "max_iter": limit,
            "n_jobs": self.n_jobs,
        }
        listed, solved = solve_pairs(rows.gram(kernel), every, labels, len(classes), **settings)
        dual = np.zeros((len(listed), n))
        begin = 0
        for number, own in enumerate(listed):
            dual[number, own] = solved.dual[begin : begin + len(own)]
            begin += len(own)
        self.classes_ = classes
        self._keep(rows.X, dual, solved.intercepts)
        self._note(int(solved.steps.max()), float(solved.violations.max()), self.tolerance, limit)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row."""
        values = self.decision_values(X)
        labels: NDArray[Any] = self.classes_[vote(values, self._distances())]
        return labels

    def votes(self, X: Any) -> NDArray[np.int64]:
        """Return the number of votes for each class, (rows, K).

        >>> model = PairwiseSVM().fit([[0.0], [1.0], [5.0], [6.0], [9.0]], [1, 1, 2, 2, 3])
        >>> model.votes([[0.5]]).tolist()
        [[2, 1, 0]]
        """
        check_fitted(self)
        return count_votes(self.decision_values(X), len(self.classes_))[0]

    def _distances(self) -> Floats:
        """How far each class is from the neutral score."""
        if self.classes_.dtype.kind not in "iuf":
            return np.zeros(len(self.classes_))
        middle = (self.classes_[0] + self.classes_[-1]) / 2 if self.neutral is None else self.neutral
        return np.abs(self.classes_ - float(middle)).astype(np.float64)


def solve_pairs(
    matrix: Floats, rows: Ids, labels: Ids, classes: int, *, cost: float, **settings: Any
) -> tuple[list[Ids], Solved]:
    """Solve the problems of all pairs of classes over `rows` of the matrix; returns the rows of each.

    A class without rows leaves its pairs without an opinion: their intercept speaks for the class that is there.

    >>> matrix = np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> rows, solved = solve_pairs(matrix, np.array([0, 1], np.int32), np.array([0, 1], np.int32), 2, cost=9.0,
    ...                            tolerance=1e-9)
    >>> solved.dual.round(4).tolist()
    [-0.5, 0.5]
    """
    members = [np.flatnonzero(labels == c) for c in range(classes)]
    listed, targets, bounds = [], [], []
    for a, b in combinations(range(classes), 2):
        own = np.sort(np.concatenate([members[a], members[b]]))
        sign = np.where(labels[own] == b, 1.0, -1.0)
        listed.append(rows[own])
        targets.append(sign)
        bounds.append((np.where(sign > 0, 0.0, -cost), np.where(sign > 0, cost, 0.0)))
    return listed, solve_problems(matrix, listed, targets, bounds, tube=0.0, **settings)


def vote(values: Floats, distances: Floats) -> NDArray[np.intp]:
    """The number of the winning class of each row, from values of all pairs; `distances` are those from neutral.

    >>> vote(np.array([[-1.0, -1.0, 1.0]]), np.array([1.0, 0.0, 1.0])).tolist()
    [0]
    """
    votes, sums = count_votes(values, len(distances))
    rows = np.arange(len(votes))
    most = votes == votes.max(axis=1, keepdims=True)
    far = np.where(most, distances, np.inf)
    near = far == far.min(axis=1, keepdims=True)
    winners: NDArray[np.intp] = np.where(near, sums, -np.inf)[rows].argmax(axis=1)
    return winners


def count_votes(values: Floats, classes: int) -> tuple[NDArray[np.int64], Floats]:
    """Votes for each class, and the sums of |f| over them, from values of all pairs.

    >>> count_votes(np.array([[-1.0, -1.0, 1.0]]), 3)[0].tolist()
    [[2, 0, 1]]
    """
    votes = np.zeros((len(values), classes), np.int64)
    sums = np.zeros((len(values), classes))
    for number, (a, b) in enumerate(combinations(range(classes), 2)):
        second = values[:, number] > 0
        votes[:, b] += second
        votes[:, a] += ~second
        size = np.abs(values[:, number])
        sums[:, b] += np.where(second, size, 0.0)
        sums[:, a] += np.where(second, 0.0, size)
    return votes, sums
