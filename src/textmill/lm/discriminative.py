"""A classifier that learns online and with a margin: right or wrong, from sets of features.

    l   = max(0, 1 - y f(x)),   f <- f + tau y K(x, .)   whenever l > 0
    tau = l / K(x, x)                  method "pa"
          min(C, l / K(x, x))                 "pa1", the default
          l / (K(x, x) + 1 / (2 C))           "pa2"

    kernel    linear      x.z           weights of features; rows may hold any numbers
              polynomial  (1 + |x n z|)^degree                       of sets: rows hold 0 and 1
              rbf         exp(-gamma (|x| + |z| - 2 |x n z|))        of sets
              a function  kernel(X, Z) -> values of all pairs of rows

An update is the smallest change of the model that gives the example a margin of 1, or as much of it as C allows.
Kernels of sets are evaluated with an inverted index of the active examples, those with an update so far: f(x) visits
only examples that share a feature with x. `ExpandedKernel` turns a polynomial kernel into weights of conjunctions,
which is faster still. Features are numbered when an example that has them becomes active, so rounds that change nothing
cost no memory.

The last model depends on the order of the examples; `averaged` takes the mean of the models after all rounds.

Cost of a round: the lengths of the lists of its features. Memory of the index: 4 bytes for each feature of each active
example. References: Crammer et al. (2006), Online passive-aggressive algorithms; Kudo & Matsumoto (2003), Fast methods
for kernel-based text analysis; Okanohara & Tsujii (2007), A discriminative language model with pseudo-negative samples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill._native import lm as native
from textmill.arrays import Floats, Ids, Ints
from textmill.corpus import check_bags, csr_arrays
from textmill.errors import DataError, ModelFileError, reason_of
from textmill.lm.feature_sets import FeatureSets
from textmill.lm.user_kernels import UserRounds
from textmill.model import (
    Classifier,
    Model,
    check_choice,
    check_fitted,
    check_range,
    effective_jobs,
    label_array,
    labels_of,
    require_rows,
)
from textmill.optimize import Sigmoid, fit_sigmoid
from textmill.progress import interruptible, track

__all__ = ["METHODS", "PassiveAggressive"]

METHODS = ("pa", "pa1", "pa2")
KERNELS = ("linear", "polynomial", "rbf")
_EMPTY = np.zeros(0)


class PassiveAggressive(Classifier, Model):
    """Tell two classes apart, learning from one example after the other.

    Parameters:
        method: "pa", "pa1" or "pa2".
        cost: C, the price of a margin that is missed; larger means larger steps.
        kernel: "linear", "polynomial", "rbf", or a function of two CSR matrices.
        degree: Degree of the polynomial kernel, 1 to 4.
        gamma: Factor of the distance in rbf.
        max_iter: Passes over the examples of `fit`.
        averaged: Whether to predict by the mean of the models after all rounds.
        shuffle: Whether `fit` takes the examples of each pass in a new order.
        random_state: Seed of these orders.
        n_jobs: Threads; None for all cores. The model is the same for any number.

    Attributes:
        classes_: The two labels, (2,); margins above 0 mean the second.
        keys_: Keys of all features, (features,).
        begin_, features_: Active examples: features features_[begin_[i]:begin_[i + 1]] by number; of a linear model
            none.
        values_: Values of these features, of a kernel that is a function; else None.
        a_: Coefficient tau y of each active example, or weight of each feature of a linear model.
        b_: The same times the number of its round, for means.
        rounds_: Number of rounds.
        slope_, intercept_: Curve of probabilities; None until `calibrate`.
        n_features_in_: Number of columns, 0 for sets.

    >>> X = np.array([[1, 1], [1, 0], [0, 1]])
    >>> model = PassiveAggressive(cost=50, shuffle=False).fit(X, [1, -1, 1])
    >>> model.coef_.tolist(), model.predict([[0, 1]]).tolist()
    ([[-1.0, 1.0]], [1])
    """

    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "keys_": "feature: uint64",
        "begin_": "bound: int64",
        "features_": "posting: int32",
        "values_": "posting: float64 | None",
        "a_": "coefficient: float64",
        "b_": "coefficient: float64",
    }
    state: ClassVar[dict[str, Any]] = {
        "rounds_": int,
        "slope_": float | None,
        "intercept_": float | None,
        "n_features_in_": int,
    }

    classes_: NDArray[Any]
    keys_: NDArray[np.uint64]
    begin_: Ints
    features_: Ids
    values_: Floats | None
    a_: Floats
    b_: Floats
    rounds_: int
    slope_: float | None
    intercept_: float | None
    n_features_in_: int

    def __init__(
        self,
        *,
        method: str = "pa1",
        cost: float = 50.0,
        kernel: str | Callable[..., Any] = "linear",
        degree: int = 3,
        gamma: float = 0.01,
        max_iter: int = 1,
        averaged: bool = False,
        shuffle: bool = True,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.method = method
        self.cost = cost
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.max_iter = max_iter
        self.averaged = averaged
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> PassiveAggressive:
        """Learn from rows of numbers, or `FeatureSets`, and a label for each, in `max_iter` passes."""
        check_range("max_iter", self.max_iter, at_least=1, whole=True)
        rows = self._begin(X, y)
        numbers = 2 * labels_of(y, len(rows), self.classes_).astype(np.int8) - 1
        generator = np.random.Generator(np.random.Philox(self.random_state))
        slots = np.full(len(rows), -1, dtype=np.int32)
        with interruptible(track(range(self.max_iter), "learning", unit="passes"), unit="passes") as passes:
            for _ in passes:
                if not self.shuffle:
                    self._rounds(rows, numbers, slots)
                    continue
                order = generator.permutation(len(rows))
                own = slots[order]
                self._rounds(rows.take(order), numbers[order], own)
                slots[order] = own
        self._keep()
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> PassiveAggressive:
        """Go on learning from further examples, one round each, in their order.

        `classes`, both labels, is needed in the first call if its examples do not have both.

        >>> model = PassiveAggressive(kernel="polynomial").partial_fit(FeatureSets.of([{1, 2}]), [1], classes=[-1, 1])
        >>> model.partial_fit(FeatureSets.of([{1}]), [-1]).a_.round(6).tolist()
        [0.037037, -0.162037]
        """
        self.learn(X, y, classes=classes)
        self._keep()
        return self

    def learn(
        self, X: Any, y: Any, *, classes: Any = None, slots: Ids | None = None, naive: bool = False
    ) -> tuple[Floats, Floats]:
        """Go on learning, and return the margin of each example before its round, and tau of the round.

        `slots` says which active example is the same as this one, -1 for none, and is filled in: an example that comes
        again then changes its coefficient instead of becoming active twice. `naive` meets every active example in
        place of the index: slower, for comparison.

        >>> model = PassiveAggressive(kernel="polynomial", degree=3)
        >>> margins, tau = model.learn(FeatureSets.of([{1, 2}, {1}, {2}, {1, 2}]), [1, 0, 1, 1])
        >>> margins.round(6).tolist()
        [0.0, 0.296296, 0.134259, 0.569444]
        """
        rows = self._rows(X) if "classes_" in vars(self) else self._begin(X, y if classes is None else classes)
        numbers = 2 * labels_of(y, len(rows), self.classes_).astype(np.int8) - 1
        own = np.full(len(rows), -1, dtype=np.int32) if slots is None else slots
        return self._rounds(rows, numbers, own, naive=naive)

    def decision_function(self, X: Any) -> Floats:
        """Return the margin of each example; above 0 means the second class."""
        return self.margins(X)

    def margins(self, X: Any, *, naive: bool = False) -> Floats:
        """Return margins by the index or, if `naive`, by meeting every active example: slower, for comparison.

        >>> model = PassiveAggressive(kernel="polynomial").fit([[1, 1], [1, 0]], [1, 0])
        >>> bool(abs(model.margins([[0, 1]]) - model.margins([[0, 1]], naive=True))[0] < 1e-12)
        True
        """
        rows = self._rows(X)
        learner = self._learner()
        if isinstance(learner, UserRounds):
            return learner.margins(rows.matrix, averaged=self.averaged)
        margins: Floats = learner.margins(
            *rows.arrays, averaged=self.averaged, by_pairs=naive, threads=effective_jobs(self.n_jobs)
        )
        return margins

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each example: the second class where the margin is above 0."""
        check_fitted(self)
        return self.classes_[(self.margins(X) > 0).astype(np.int64)]

    def feature_parts(self, X: Any) -> tuple[Floats, Floats]:
        """Return the part of each feature of each example in its margin, and the margin without any feature.

        Parts are Shapley values: a conjunction belongs to its features alike. The parts of an example and its rest sum
        to its margin. For rows of a matrix features are the entries that are not 0, row by row.

        >>> model = PassiveAggressive(kernel="polynomial").fit([[1, 1], [1, 0]], [1, 0])
        >>> parts, rest = model.feature_parts([[1, 1]])
        >>> bool(abs(parts.sum() + rest[0] - model.margins([[1, 1]])[0]) < 1e-12)
        True
        """
        rows = self._rows(X if isinstance(X, FeatureSets) else _without_zeros(X))
        learner = self._learner()
        if isinstance(learner, UserRounds):
            raise DataError("the parts of features are known for linear, polynomial and rbf kernels, not for functions")
        parts, rest = learner.parts(*rows.arrays, averaged=self.averaged, threads=effective_jobs(self.n_jobs))
        return parts, rest

    def calibrate(self, X: Any, y: Any) -> PassiveAggressive:
        """Learn probabilities from examples that the model was not trained on; returns the model itself.

        >>> model = PassiveAggressive().fit([[1, 0], [0, 1]], [0, 1])
        >>> model.calibrate([[1, 0], [0, 1]] * 5, [0, 1] * 5).predict_proba([[0, 1]]).round(2).tolist()
        [[0.14, 0.86]]
        """
        check_fitted(self)
        rows = self._rows(X)
        positive = labels_of(y, len(rows), self.classes_) == 1
        if positive.all() or not positive.any():
            raise DataError("all examples have the same label; pass examples of both to calibrate with")
        self.slope_, self.intercept_ = fit_sigmoid(self.margins(X), positive)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class; `calibrate` first."""
        check_fitted(self)
        if self.slope_ is None or self.intercept_ is None:
            raise DataError("margins are no probabilities yet; call calibrate with examples kept apart")
        p = Sigmoid(self.slope_, self.intercept_).probabilities(self.margins(X))
        return np.stack([1.0 - p, p], axis=1)

    def coefficients(self) -> Floats:
        """Return those that predict: of active examples, or weights of `keys_` of a linear model; means if averaged."""
        check_fitted(self)
        return (self.a_ * (self.rounds_ + 1) - self.b_) / self.rounds_ if self.averaged else self.a_

    @property
    def coef_(self) -> Floats:
        """Weights of a linear model by column, (1, n_features_in_)."""
        if self.kernel != "linear" or not self.n_features_in_:
            raise AttributeError("only a linear model of rows has weights of columns")
        weights = np.zeros((1, self.n_features_in_))
        weights[0, self.keys_.astype(np.int64)] = self.coefficients()
        return weights

    @property
    def n_active_(self) -> int:
        """Number of active examples; of a linear model none are kept."""
        return len(self.begin_) - 1

    def index_bytes(self) -> int:
        """Return the size of the inverted index.

        >>> PassiveAggressive().fit([[1, 0], [0, 1]], [0, 1]).index_bytes() < 100
        True
        """
        learner = self._learner()
        return 0 if isinstance(learner, UserRounds) else int(learner.index_bytes())

    def examples(self, X: Any) -> tuple[Ints, NDArray[np.uint64], Floats | None]:
        """Return examples as the learner takes them: offsets, keys, and values or None, checked.

        >>> model = PassiveAggressive().fit([[1, 0], [0, 1]], [0, 1])
        >>> model.examples([[0, 1]])[1].tolist()
        [1]
        """
        check_fitted(self)
        return self._rows(X).arrays

    def native_learner(self) -> native.Learner:
        """Return the kernel's own learner, for `expansion`."""
        learner = self._learner()
        if isinstance(learner, UserRounds):
            raise DataError("a kernel that is a function cannot be expanded; use a polynomial one")
        return learner

    def check_values(self) -> None:
        """Check what the layout cannot say of a model from a file."""
        if len(self.classes_) != 2 or self.rounds_ < 0 or self.n_features_in_ < 0:
            raise ModelFileError("there must be two classes and no negative numbers", reason="damaged")
        if callable(self.kernel) != (self.values_ is not None):
            raise ModelFileError("the kernel and the values of active rows do not belong together", reason="damaged")
        try:
            learner = self._new_learner()
            arrays = (self.keys_, self.begin_, self.features_, self.a_, self.b_, self.rounds_)
            if isinstance(learner, UserRounds):
                native.Learner(aggression=0, cost=1.0, kernel=1, degree=1, gamma=1.0).restore(*arrays)
                self._restore_rows(learner)
            else:
                learner.restore(*arrays)
        except ValueError as error:
            raise ModelFileError(str(error), reason=reason_of(error)) from None
        self._made = learner

    def __getstate__(self) -> dict[str, Any]:
        self._keep()
        return {name: value for name, value in vars(self).items() if name != "_made"}

    def save(self, path: Any) -> None:
        """Write the model to one file."""
        self._keep()
        super().save(path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _begin(self, X: Any, labels: Any) -> _Rows:
        """Check parameters and labels, and forget what was learned."""
        check_choice("method", self.method, METHODS)
        check_range("cost", self.cost, above=0.0)
        if not callable(self.kernel):
            check_choice("kernel", self.kernel, KERNELS)
        check_range("degree", self.degree, at_least=1, at_most=4, whole=True)
        check_range("gamma", self.gamma, above=0.0)
        rows = _Rows(X, self.kernel)
        values = label_array(labels)
        classes = np.unique(values)
        if len(classes) != 2:
            raise DataError(
                f"Only binary classification is supported: the labels have {len(classes)} classes; pass examples of "
                "two classes, or classes= for a stream"
                if len(classes) != 1
                else f"all labels are {classes[0]!r}: 1 class where 2 are needed; pass examples of both classes"
            )
        self.classes_ = classes
        self.n_features_in_ = rows.columns
        self.slope_ = self.intercept_ = None
        self._made = self._new_learner()
        self._stale = True
        return rows

    def _rows(self, X: Any) -> _Rows:
        if "a_" in vars(self) or "classes_" not in vars(self):
            check_fitted(self)
        rows = _Rows(X, self.kernel)
        if rows.columns != self.n_features_in_:
            raise DataError(
                f"X has {rows.columns} features, but PassiveAggressive is expecting {self.n_features_in_} features as "
                "input; pass rows with the columns of training"
            )
        return rows

    def _rounds(
        self, rows: _Rows, labels: NDArray[np.int8], slots: Ids, *, naive: bool = False
    ) -> tuple[Floats, Floats]:
        learner = self._learner()
        self._stale = True
        self.slope_ = self.intercept_ = None
        if isinstance(learner, UserRounds):
            return learner.learn(rows.matrix, labels, slots)
        if self.kernel == "linear" and rows.dense_enough:
            done = learner.learn_columns(*rows.triple, columns=rows.columns, label=labels)
            if done is not None:
                return done[0], done[1]
        threads = effective_jobs(self.n_jobs)
        margins, tau = learner.learn(*rows.arrays, labels, slots, by_pairs=naive, threads=threads)
        return margins, tau

    def _new_learner(self) -> native.Learner | UserRounds:
        if callable(self.kernel):
            return UserRounds(self.kernel, self._tau, self.n_features_in_)
        return native.Learner(
            aggression=METHODS.index(self.method),
            cost=float(self.cost),
            kernel=KERNELS.index(self.kernel),
            degree=int(self.degree),
            gamma=float(self.gamma),
        )

    def _tau(self, loss: float, square: float) -> float:
        if self.method == "pa2":
            return loss / (square + 0.5 / self.cost)
        return loss / square if self.method == "pa" else min(self.cost, loss / square)

    def _learner(self) -> native.Learner | UserRounds:
        if "_made" not in vars(self):
            check_fitted(self)
            if "_made" not in vars(self):
                self.check_values()
        return self._made

    def _keep(self) -> None:
        """Take over what the learner has learned."""
        if not vars(self).pop("_stale", False):
            return
        learner = self._made
        if isinstance(learner, UserRounds):
            begin, columns, values = csr_arrays(learner.rows, np.float64)
            used, places = np.unique(columns, return_inverse=True)
            self.features_ = places.astype(np.int32)
            self.keys_, self.begin_, self.values_ = used.astype(np.uint64), begin, values
            self.a_, self.b_, self.rounds_ = learner.a.copy(), learner.b.copy(), learner.rounds
            return
        self.keys_, self.begin_, self.features_, self.a_, self.b_, self.rounds_ = learner.state()
        self.values_ = None

    def _restore_rows(self, learner: UserRounds) -> None:
        from textmill.numeric import sparse

        columns = self.keys_.astype(np.int64)[self.features_]
        shape = (len(self.begin_) - 1, self.n_features_in_)
        if columns.size and columns.max() >= shape[1]:
            raise ValueError("a feature is beyond the last column")
        learner.rows = sparse.csr_matrix((self.values_, columns, self.begin_), shape=shape)
        learner.a, learner.b, learner.rounds = np.array(self.a_), np.array(self.b_), self.rounds_


def _without_zeros(X: Any) -> Any:
    """The matrix with only those entries stored that are not 0."""
    matrix = check_bags(X, negative=True)
    if not matrix.data.all():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    return matrix


class _Rows:
    """Examples in the form of the learner: rows of a matrix, or sets of features."""

    def __init__(self, X: Any, kernel: Any) -> None:
        self.columns = 0
        self.sets: FeatureSets | None = None
        if isinstance(X, FeatureSets):
            if callable(kernel):
                raise DataError("a kernel that is a function takes rows of a matrix, not sets")
            self.sets = X
            return
        self.linear = not callable(kernel) and kernel == "linear"
        self.matrix = check_bags(X, negative=True) if self.linear else _without_zeros(X)
        require_rows(self.matrix)
        self.columns = int(self.matrix.shape[1])
        self.triple = csr_arrays(self.matrix, np.float64)
        values = self.triple[2]
        if not callable(kernel) and not self.linear and not (values == 1.0).all():
            raise DataError(
                f"kernel='{kernel}' is one of sets: rows must hold 0 and 1, not {values[values != 1.0][0]:g}; make "
                "features of ranges of values, or use kernel='linear'"
            )

    def __len__(self) -> int:
        return len(self.sets) if self.sets is not None else int(self.matrix.shape[0])

    @property
    def dense_enough(self) -> bool:
        """Whether a weight for every column costs little beside the rows."""
        return self.sets is None and 0 < self.columns <= max(4 * self.matrix.nnz, 1 << 16) and self.columns < 1 << 22

    @property
    def arrays(self) -> tuple[Ints, NDArray[np.uint64], Floats | None]:
        if self.sets is not None:
            return self.sets.offsets, self.sets.keys, None
        offsets, columns, values = self.triple
        return offsets, columns.astype(np.uint64), values if self.linear else None

    def take(self, order: Ints) -> _Rows:
        """The same examples in another order."""
        other = object.__new__(_Rows)
        other.columns = self.columns
        if self.sets is not None:
            other.sets = self.sets.take(order)
            return other
        other.sets = None
        other.matrix, other.linear = self.matrix[order], self.linear
        other.triple = csr_arrays(other.matrix, np.float64)
        return other
