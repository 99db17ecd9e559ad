"""Which features to use: whole groups added one by one, or single ones by a filter.

Add-one-best starts with nothing, adds the group that raises the cross-validated accuracy most, and stops when none
does. The filter looks for the set S of k features with the highest merit,

    merit(S) = k r_cf / sqrt(k + k (k - 1) r_ff)      r_cf, r_ff: mean SU with the level, and of pairs
    SU(x, y) = 2 (H(x) + H(y) - H(x, y)) / (H(x) + H(y))

by best-first search that ends after five sets in a row that bring nothing. Features are cut into ten parts of equal
numbers of texts.

Choosing on all texts and then scoring on the same ones is optimistic; `select_nested` chooses inside of each fold, from
its training texts alone. References: Feng et al. (2010); Hall (1999), Correlation-based feature selection.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.model import check_choice, check_range
from textmill.progress import track
from textmill.selection import deal_groups
from textmill.tables import Rows, Table
from textmill.tasks.readability.features import FeatureTable, subgroup_of, subgroups
from textmill.tasks.readability.learners import LevelLearner

__all__ = ["GroupStep", "NestedSelection", "add_one_best", "feature_filter", "merit", "select_nested"]

METHODS = ("groups", "filter", "none")
_BINS, _STALE = 10, 5


class GroupStep(NamedTuple):
    """A group that was added, and the accuracy with all so far."""

    group: str
    features: int
    accuracy: float


@dataclass(frozen=True)
class NestedSelection(Table):
    """Accuracy of features that were chosen inside of each fold; how often each was chosen."""

    method: str
    accuracy: float
    deviation: float
    optimistic: float
    n_features: float
    chosen: dict[str, int]
    folds: int

    def columns(self) -> dict[str, Any]:
        """Return the features, and in which share of the folds each was chosen."""
        names = sorted(self.chosen, key=lambda name: (-self.chosen[name], name))
        return {"feature": names, "chosen": [self.chosen[name] / self.folds for name in names]}

    def note(self) -> str:
        """Return the accuracy, honest and optimistic."""
        return (
            f"accuracy {self.accuracy:.4f} with {self.n_features:.0f} features; {self.optimistic:.4f} (optimistic) if "
            "chosen on all texts"
        )


def add_one_best(
    table: FeatureTable,
    level: Ints,
    groups: Sequence[Hashable],
    learner: LevelLearner | None = None,
    *,
    n_folds: int = 5,
    random_state: int = 0,
) -> Rows[GroupStep]:
    """Add groups of features, the best first, as long as the cross-validated accuracy rises."""
    there = [name for name in table.names if name not in set(table.missing())]
    left = {group: [name for name in there if subgroup_of(name) == group] for group in subgroups(there)}
    folds = deal_groups(groups, n_folds, random_state=random_state)
    names: list[str] = []
    steps: list[GroupStep] = []
    while left:
        scores = {
            group: _accuracy(table.choose(names + own).values, level, groups, folds, learner)
            for group, own in left.items()
        }
        best = max(scores, key=lambda group: scores[group])
        if steps and scores[best] <= steps[-1].accuracy:
            break
        names += left.pop(best)
        steps.append(GroupStep(best, len(names), scores[best]))
    return Rows(steps, GroupStep)


def _accuracy(X: Floats, level: Ints, groups: Sequence[Hashable], folds: Ints, learner: LevelLearner | None) -> float:
    right = 0
    for fold in range(int(folds.max()) + 1):
        inside, outside = folds != fold, folds == fold
        own = [group for group, keep in zip(groups, inside, strict=True) if keep]
        model = _new(learner).fit(X[inside], level[inside], own)
        right += int((model.predict(X[outside]) == level[outside]).sum())
    return right / len(level)


def _new(learner: LevelLearner | None) -> LevelLearner:
    return LevelLearner() if learner is None else LevelLearner(**learner.get_params(deep=False))


def merit(with_level: Floats, among: Floats) -> float:
    """Return the merit of features from their correlations with the level, (k,), and with each other, (k, k).

    >>> round(merit(np.array([0.5, 0.5]), np.eye(2)), 4), merit(np.array([0.5, 0.5]), np.ones((2, 2)))
    (0.7071, 0.5)
    """
    k = len(with_level)
    pairs = (float(among.sum()) - float(np.trace(among))) / 2
    return float(with_level.sum() / np.sqrt(k + 2 * pairs))


def feature_filter(table: FeatureTable, level: Ints) -> list[str]:
    """Return the features that the filter chooses, in the order of the table."""
    names = [name for name in table.names if name not in set(table.missing())]
    if not names:
        raise DataError("no feature has a value; annotate the texts, or choose other features")
    codes = np.column_stack([_cut(column) for column in table.choose(names).values.T])
    every = np.column_stack([codes, level])
    among = np.ones((len(names), len(names)))
    with_level = np.empty(len(names))
    entropy = [_entropy(column) for column in every.T]
    for i in range(len(names)):
        with_level[i] = _uncertainty(codes[:, i], level, entropy[i], entropy[-1])
        for j in range(i):
            among[i, j] = among[j, i] = _uncertainty(codes[:, i], codes[:, j], entropy[i], entropy[j])
    best, best_merit = frozenset[int](), 0.0
    open_sets: list[tuple[float, frozenset[int]]] = [(0.0, best)]
    seen = {best}
    stale = 0
    while open_sets and stale < _STALE:
        open_sets.sort(key=lambda one: one[0])
        _, current = open_sets.pop()
        better = False
        for i in range(len(names)):
            grown = current | {i}
            if grown in seen:
                continue
            seen.add(grown)
            rows = sorted(grown)
            value = merit(with_level[rows], among[np.ix_(rows, rows)])
            open_sets.append((value, grown))
            if value > best_merit + 1e-9:
                best, best_merit, better = grown, value, True
        stale = 0 if better else stale + 1
    return [names[i] for i in sorted(best)]


def _cut(column: Floats) -> Ints:
    """Ten parts of equal numbers of texts; a missing value is a part of its own."""
    has_value = ~np.isnan(column)
    edges = np.unique(np.quantile(column[has_value], np.linspace(0, 1, _BINS + 1)[1:-1]))
    codes = np.searchsorted(edges, column, side="right")
    return np.where(has_value, codes, len(edges) + 1).astype(np.int64)


def _entropy(codes: Ints) -> float:
    counts = np.bincount(codes)
    shares = counts[counts > 0] / len(codes)
    return float(-(shares * np.log2(shares)).sum())


def _uncertainty(x: Ints, y: Ints, hx: float, hy: float) -> float:
    if hx + hy == 0.0:
        return 0.0
    return 2.0 * (hx + hy - _entropy(x * (int(y.max()) + 1) + y)) / (hx + hy)


def select_nested(
    table: FeatureTable,
    level: Ints,
    groups: Sequence[Hashable],
    learner: LevelLearner | None = None,
    *,
    method: str = "groups",
    n_folds: int = 10,
    random_state: int = 0,
) -> NestedSelection:
    """Score a way to choose features, which sees only the training texts of each fold; and the optimistic figure.

    `method` is "groups" (add-one-best), "filter", or "none" for all features.
    """
    check_choice("method", method, METHODS)
    check_range("n_folds", n_folds, at_least=2, whole=True)
    folds = deal_groups(groups, n_folds, random_state=random_state)
    chosen: dict[str, int] = {}
    right = np.zeros(n_folds)
    sizes = []
    for fold in track(range(n_folds), "folds", unit="folds"):
        inside = np.flatnonzero(folds != fold)
        own = [groups[int(i)] for i in inside]
        part = FeatureTable(table.names, table.values[inside], [table.ids[i] for i in inside])
        names = _chosen(part, level[inside], own, learner, method, random_state)
        for name in names:
            chosen[name] = chosen.get(name, 0) + 1
        sizes.append(len(names))
        model = _new(learner).fit(part.choose(names).values, level[inside], own)
        outside = folds == fold
        right[fold] = (model.predict(table.choose(names).values[outside]) == level[outside]).mean()
    names = _chosen(table, level, groups, learner, method, random_state)
    optimistic = _accuracy(table.choose(names).values, level, groups, folds, learner)
    weights = np.bincount(folds) / len(folds)
    return NestedSelection(
        method, float(weights @ right), float(right.std(ddof=1)), optimistic, float(np.mean(sizes)), chosen, n_folds
    )


def _chosen(
    table: FeatureTable,
    level: Ints,
    groups: Sequence[Hashable],
    learner: LevelLearner | None,
    method: str,
    random_state: int,
) -> list[str]:
    if method == "filter":
        return feature_filter(table, level)
    there = [name for name in table.names if name not in set(table.missing())]
    if method == "none":
        return there
    wanted = {step.group for step in add_one_best(table, level, groups, learner, random_state=random_state)}
    return [name for name in there if subgroup_of(name) in wanted]
