"""Decision trees in the manner of C4.5: multiway splits on values in groups, thresholds on numbers, pruning by error.

    Gain(S)  = Info - sum_j |S_j|/N Info(S_j)         Info = -sum_c n_c/N log2 n_c/N
    ratio(S) = Gain(S) / SplitInfo(S)                 SplitInfo = -sum_j |S_j|/N log2 |S_j|/N

A node takes the split of the highest ratio among those whose gain reaches the mean gain of all usable ones (columns
with more values than 0.3 of the cases are left out of the mean). A column of values is split into groups of values: one
for each value at first, then the pair is joined that raises the ratio most, until none does. A column of numbers is
split at the threshold of the highest gain, less log2(thresholds tried) / N. A split needs two branches of `min_cases`.

A finished subtree gives way to a leaf, or to its largest branch, when that does not raise the estimated number of
errors: for E errors among N cases the upper limit of the binomial at `confidence`, in Quinlan's approximation. A value
that a node never saw ends there, with the label most frequent at the node.

Cost: a visit of every distinct case and column for each level of the tree, and O(V^2 C) for the groups of V values with
C classes at a node; native and threaded (native/trees/categorical.h), the same tree for any number of threads.
Reference: Quinlan (1993), C4.5: Programs for Machine Learning.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill._native import trees as native
from textmill.arrays import Floats, Ids, Ints
from textmill.errors import ModelFileError, reason_of
from textmill.model import (
    Classifier,
    Model,
    StringTable,
    check_fitted,
    check_range,
    checked_weights,
    effective_jobs,
    label_array,
    labels_of,
)
from textmill.tables import Table
from textmill.trees.rows import Column, EncodedRows, encode_columns, learn_columns

__all__ = ["CategoricalTree", "SplitWorths"]

_DEEPEST = 512
_SMALL = ("uint8", "uint16", "int32")  # types of numbers in a file: the first that holds them all


class SplitWorths(Table):
    """What each column would give as a split: gain, split information, their ratio, and the groups of values."""

    def __init__(self, names: list[str], worths: list[tuple[float, float, bool, str]]) -> None:
        self.names = names
        self.gain = [gain for gain, _, _, _ in worths]
        self.split_info = [info for _, info, _, _ in worths]
        self.usable = [usable for _, _, usable, _ in worths]
        self.groups = [groups for _, _, _, groups in worths]

    def columns(self) -> dict[str, list[Any]]:
        """Return column, gain, split_info, ratio, usable and groups."""
        ratio = [g / s if s > 0 else 0.0 for g, s in zip(self.gain, self.split_info, strict=True)]
        return {
            "column": self.names,
            "gain": self.gain,
            "split_info": self.split_info,
            "ratio": ratio,
            "usable": self.usable,
            "groups": self.groups,
        }


class CategoricalTree(Classifier, Model):
    """A decision tree over columns of values and columns of numbers.

    Parameters:
        categorical: Columns of numbers that are values all the same, by name or position; "all" for every column; None
            for none.
        min_cases: Cases that at least two branches of a split need; 1 switches the rule off.
        subsets: Whether values are split in groups; else every value has a branch of its own.
        confidence: Confidence of the limit by which subtrees are pruned; smaller prunes more. None for no pruning.
        raising: Whether a subtree may give way to its largest branch.
        max_depth: Tests on a path at most, up to 512, which is also what None stands for.
        smoothing: Weight of the uniform distribution in `predict_proba`, in cases.
        n_jobs: Threads; None for all cores. The tree is the same for any number.

    Attributes:
        classes_: Classes, sorted, (K,).
        attribute_: Column that a node asks for, by its place among columns of values, then of numbers; -1 for a leaf.
        label_: Class of each node, (nodes,).
        n_children_: Branches of each node; the children of nodes stand one after the other, in the order of the nodes.

    >>> rows = [["sunny", 85], ["sunny", 70], ["rain", 65], ["rain", 75], ["cloudy", 80], ["cloudy", 64]]
    >>> tree = CategoricalTree(min_cases=1).fit(rows, ["no", "yes", "no", "no", "yes", "yes"])
    >>> tree.predict([["cloudy", 90], ["rain", 70], ["hail", 70]]).tolist()
    ['no', 'no', 'no']
    >>> print(tree.text())
    0 in {cloudy, sunny}
    |   1 <= 82.5: yes (3)
    |   1 > 82.5: no (1)
    0 = rain: no (2)
    """

    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "names_": "column: str",
        "valued_": "column: bool",
        "values_": "value: str",
        "values_begin_": "valued+1: int64",
        "attribute_": "node: int16 | int32",
        "label_": "node: uint8 | uint16 | int32",
        "n_children_": "node: uint8 | uint16 | int32",
        "n_seen_": "node: uint8 | uint16 | int32",
        "n_counts_": "node: uint8 | uint16 | int32",
        "threshold_": "threshold",
        "seen_": "seen: uint8 | uint16 | int32",
        "branch_": "seen: uint8 | uint16 | int32",
        "count_class_": "count: uint8 | uint16 | int32",
        "count_": "count: uint8 | uint16 | int32 | float64",
    }
    offsets: ClassVar[dict[str, str]] = {"values_begin_": "value"}

    names_: StringTable
    valued_: NDArray[np.bool_]
    values_: StringTable
    values_begin_: Ints
    attribute_: NDArray[Any]
    label_: NDArray[Any]
    n_children_: NDArray[Any]
    n_seen_: NDArray[Any]
    n_counts_: NDArray[Any]
    threshold_: Floats
    seen_: NDArray[Any]
    branch_: NDArray[Any]
    count_class_: NDArray[Any]
    count_: NDArray[Any]
    _walker: native.Tree
    _columns: list[Column]

    def __init__(
        self,
        *,
        categorical: Sequence[Any] | str | None = None,
        min_cases: float = 2,
        subsets: bool = True,
        confidence: float | None = 0.25,
        raising: bool = True,
        max_depth: int | None = None,
        smoothing: float = 1.0,
        n_jobs: int | None = None,
    ) -> None:
        self.categorical = categorical
        self.min_cases = min_cases
        self.subsets = subsets
        self.confidence = confidence
        self.raising = raising
        self.max_depth = max_depth
        self.smoothing = smoothing
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn a tree from rows and their labels; rows of weight 0 are left out."""
        columns, rows, labels, weights = self._cases(X, y, sample_weight)
        depth = _DEEPEST if self.max_depth is None else self.max_depth
        attribute, threshold, label, _, children, seen_begin, seen, branch, count_begin, count_class, count = (
            native.grow(
                *self._arrays_of(columns, rows),
                labels,
                weights,
                len(self.classes_),
                float(self.min_cases),
                bool(self.subsets),
                1.0 if self.confidence is None else float(self.confidence),
                bool(self.raising),
                depth,
                effective_jobs(self.n_jobs),
            )
        )
        valued = [column.values for column in columns if column.values is not None]
        self.names_ = StringTable([column.name for column in columns])
        self.valued_ = np.array([column.values is not None for column in columns])
        self.values_ = StringTable([value for values in valued for value in values])
        self.values_begin_ = np.concatenate([[0], np.cumsum([len(values) for values in valued])]).astype(np.int64)
        self.attribute_ = attribute.astype(np.int16 if len(columns) < 1 << 15 else np.int32)
        self.threshold_ = threshold[attribute >= len(valued)]
        self.label_, self.n_children_ = _small(label), _small(children)
        self.n_seen_, self.n_counts_ = _small(np.diff(seen_begin)), _small(np.diff(count_begin))
        self.seen_, self.branch_, self.count_class_ = _small(seen), _small(branch), _small(count_class)
        self.count_ = _small(count) if np.array_equal(count, np.floor(count)) and count.max() < 1 << 31 else count
        self._walker, self._columns = self._build(), columns
        return self

    # ---- what it does

    def apply(self, X: Any) -> Ids:
        """Return the node where each row ends: a leaf, or the node that never saw the row's value.

        >>> tree = CategoricalTree(min_cases=1).fit([["a"], ["b"]], [0, 1])
        >>> tree.apply([["a"], ["b"], ["c"]]).tolist()
        [1, 2, 0]
        """
        check_fitted(self)
        rows = encode_columns(X, self.columns_)
        nodes = np.empty(len(rows.codes), np.int32)
        self.walker().walk(
            np.ascontiguousarray(rows.codes, np.int32),
            np.ascontiguousarray(rows.numbers, np.float64),
            nodes,
            effective_jobs(self.n_jobs),
        )
        return nodes

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row."""
        nodes = self.apply(X)
        labels: NDArray[Any] = self.classes_[self.label_[nodes]]
        return labels

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class: (n_c + smoothing / K) / (N + smoothing) at the node of the row."""
        check_range("smoothing", self.smoothing, at_least=0)
        nodes, places = np.unique(self.apply(X), return_inverse=True)
        counts = self.node_counts(nodes)
        counts += self.smoothing / len(self.classes_)
        total = counts.sum(axis=1, keepdims=True)
        empty = total[:, 0] == 0
        counts[empty], total[empty] = 1.0, len(self.classes_)
        return np.asarray((counts / total)[places])

    def node_counts(self, nodes: ArrayLike | None = None) -> Floats:
        """Return the weight of the cases of each class at these nodes, or at all, (nodes, K).

        >>> CategoricalTree(min_cases=1).fit([["a"], ["b"], ["b"]], [0, 1, 1]).node_counts().tolist()
        [[1.0, 2.0], [1.0, 0.0], [0.0, 2.0]]
        """
        check_fitted(self)
        chosen = np.arange(len(self.attribute_)) if nodes is None else np.asarray(nodes)
        begin = np.concatenate([[0], np.cumsum(self.n_counts_, dtype=np.int64)])
        lengths = self.n_counts_[chosen].astype(np.int64)
        rows = np.repeat(np.arange(len(chosen)), lengths)
        ends = np.cumsum(lengths)
        places = np.repeat(begin[chosen] - ends + lengths, lengths) + np.arange(int(ends[-1]) if len(ends) else 0)
        counts = np.zeros((len(chosen), len(self.classes_)))
        counts[rows, self.count_class_[places].astype(np.intp)] = self.count_[places]
        return counts

    def split_worths(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> SplitWorths:
        """Return what each column would give as a first split of these rows; the tree itself stays as it is.

        >>> worths = CategoricalTree(min_cases=1).split_worths([["a", 1], ["b", 1], ["b", 2]], [0, 1, 1])
        >>> [round(gain, 4) for gain in worths.gain]
        [0.9183, 0.2516]
        """
        probe = type(self)(**self.get_params())
        columns, rows, labels, weights = probe._cases(X, y, sample_weight)
        worths = native.worths(
            *self._arrays_of(columns, rows),
            labels,
            weights,
            len(probe.classes_),
            float(self.min_cases),
            bool(self.subsets),
            effective_jobs(self.n_jobs),
        )
        named = iter(worths[: rows.codes.shape[1]])
        numeric = iter(worths[rows.codes.shape[1] :])
        out = []
        for column in columns:
            gain, split_info, usable, threshold, seen, branch = next(numeric if column.values is None else named)
            if column.values is None:
                groups = f"<= {threshold:g}" if usable else ""
            else:
                of: dict[int, list[str]] = {}
                for value, group in zip(seen.tolist(), branch.tolist(), strict=True):
                    of.setdefault(group, []).append(column.values[value])
                groups = " | ".join(" ".join(values) for values in of.values())
            out.append((gain, split_info, usable, groups))
        return SplitWorths([column.name for column in columns], out)

    # ---- what it is

    @property
    def columns_(self) -> list[Column]:
        """The columns in the order of the rows: name, and values or None."""
        if "_columns" not in vars(self):
            values, begin = self.values_.to_list(), self.values_begin_.tolist()
            ranges = iter(itertools.pairwise(begin))
            columns = []
            for name, valued in zip(self.names_.to_list(), self.valued_.tolist(), strict=True):
                first, end = next(ranges) if valued else (0, 0)
                columns.append(Column(name, tuple(values[first:end]) if valued else None))
            self._columns = columns
        return self._columns

    @property
    def n_features_in_(self) -> int:
        """The number of columns, as scikit-learn asks for it."""
        check_fitted(self)
        return len(self.valued_)

    @property
    def n_nodes_(self) -> int:
        """The number of nodes, leaves included."""
        check_fitted(self)
        return len(self.attribute_)

    @property
    def n_leaves_(self) -> int:
        """The number of leaves."""
        check_fitted(self)
        return int(np.count_nonzero(self.attribute_ < 0))

    @property
    def first_child_(self) -> Ints:
        """The first child of each node, 0 for a leaf."""
        children = self.n_children_.astype(np.int64)
        return np.where(children > 0, 1 + np.cumsum(children) - children, 0)

    def text(self, node: int = 0, *, max_depth: int | None = None) -> str:
        """Return the tree below a node as indented text; behind a label its cases and, after a slash, its errors."""
        from textmill.trees.inspection import tree_text

        return tree_text(self, node, max_depth=max_depth)

    def walker(self) -> native.Tree:
        """Return the native tree, for kernels that walk it themselves."""
        check_fitted(self)
        if "_walker" not in vars(self):
            self._walker = self._build()
        return self._walker

    def check_values(self) -> None:
        """Check that every path through the tree ends at a leaf that is there."""
        try:
            self._build()
        except ValueError as fault:
            raise ModelFileError(f"the tree does not hold together: {fault}", reason=reason_of(fault)) from None
        if int(self.n_counts_.sum(dtype=np.int64)) != len(self.count_):
            raise ModelFileError("the counts of the nodes are not as many as there are counts", reason="damaged")
        if len(self.count_class_) and int(self.count_class_.max()) >= len(self.classes_):
            raise ModelFileError("there are counts of a class that is not there", reason="damaged")
        if len(self.values_begin_) != int(np.count_nonzero(self.valued_)) + 1:
            raise ModelFileError("there must be values for each column of values", reason="damaged")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_walker", "_columns")}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _cases(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> tuple[list[Column], EncodedRows, Ids, Floats]:
        """Check parameters and input; sets `classes_`."""
        check_range("min_cases", self.min_cases, above=0)
        check_range("smoothing", self.smoothing, at_least=0)
        if self.confidence is not None:
            check_range("confidence", self.confidence, above=0, below=1)
        if self.max_depth is not None:
            check_range("max_depth", self.max_depth, at_least=0, at_most=_DEEPEST, whole=True)
        labels = label_array(y)
        columns, rows = learn_columns(X, self.categorical)
        weights = checked_weights(sample_weight, len(rows.codes))
        self.classes_ = np.unique(labels)
        codes = labels_of(labels, len(rows.codes), self.classes_)
        for name in ("_walker", "_columns"):
            vars(self).pop(name, None)
        if (weights > 0).all():
            return columns, rows, codes, weights
        positive = weights > 0
        return columns, EncodedRows(rows.codes[positive], rows.numbers[positive]), codes[positive], weights[positive]

    @staticmethod
    def _arrays_of(columns: list[Column], rows: EncodedRows) -> tuple[Ids, Ids, Floats]:
        """Numbers of values, codes and numbers by column."""
        values = np.array([len(c.values) for c in columns if c.values is not None], np.int32)
        return (
            values,
            np.ascontiguousarray(rows.codes.T, np.int32),
            np.ascontiguousarray(rows.numbers.T, np.float64),
        )

    def _build(self) -> native.Tree:
        valued = len(self.values_begin_) - 1
        attribute = self.attribute_.astype(np.int32)
        threshold = np.zeros(len(attribute))
        numeric = attribute >= valued
        if np.count_nonzero(numeric) != len(self.threshold_):
            raise ValueError("there must be a threshold for each node that asks for a number")
        threshold[numeric] = self.threshold_
        return native.Tree(
            np.diff(self.values_begin_).astype(np.int32),
            len(self.valued_) - valued,
            len(self.classes_),
            attribute,
            threshold,
            self.label_.astype(np.int32),
            self.first_child_.astype(np.int32),
            self.n_children_.astype(np.int32),
            np.concatenate([[0], np.cumsum(self.n_seen_, dtype=np.int64)]),
            self.seen_.astype(np.int32),
            self.branch_.astype(np.int32),
        )


def _small(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers >= 0 in the smallest type that holds them."""
    largest = int(values.max()) if len(values) else 0
    return values.astype(next(kind for kind in _SMALL if largest <= np.iinfo(kind).max))
