"""A tree that can be read: as indented text, as rules, as a picture.

Rules are the paths of a tree: conditions on one column are joined into one, so that each column occurs once. They cover
every row exactly once, values that training never saw included ("not in"), and give the label that the tree gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from textmill.errors import DataError
from textmill.plot import branches
from textmill.tables import Table
from textmill.trees.categorical import CategoricalTree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Rule", "TreeRules", "draw_tree", "tree_rules", "tree_text"]


@dataclass(frozen=True)
class Rule:
    """Conditions that hold together, and the label they lead to.

    `inside` and `outside` hold, by column, the values that the cell must or must not be; `bounds` the open lower and
    the closed upper limit of a number. `cases` and `errors` are those of training, 0 where only new values lead.
    """

    inside: dict[str, tuple[str, ...]]
    outside: dict[str, tuple[str, ...]]
    bounds: dict[str, tuple[float, float]]
    label: Any
    cases: float
    errors: float

    def holds(self, row: dict[str, Any]) -> bool:
        """Whether a row, cells by column, meets all conditions.

        >>> Rule({"0": ("a", "b")}, {}, {}, "k", 2, 0).holds({"0": "b"})
        True
        """
        return (
            all(row[name] in values for name, values in self.inside.items())
            and all(row[name] not in values for name, values in self.outside.items())
            and all(low < row[name] <= high for name, (low, high) in self.bounds.items())
        )

    def __str__(self) -> str:
        parts = [_inside(name, values) for name, values in self.inside.items()]
        parts += [f"{name} not in {_set(values)}" for name, values in self.outside.items()]
        for name, (low, high) in self.bounds.items():
            if low > -np.inf:
                parts.append(f"{name} > {low:g}")
            if high < np.inf:
                parts.append(f"{name} <= {high:g}")
        return f"if {' and '.join(parts)} then {self.label}" if parts else f"always {self.label}"


class TreeRules(Table, Sequence[Rule]):
    """The rules of a tree, in the order of its leaves."""

    def __init__(self, rules: list[Rule]) -> None:
        self._rules = rules

    def __len__(self) -> int:
        return len(self._rules)

    def __getitem__(self, i: Any) -> Any:
        return self._rules[i]

    def columns(self) -> dict[str, list[Any]]:
        """Return rule, label, cases and errors."""
        return {
            "rule": [str(rule) for rule in self._rules],
            "label": [rule.label for rule in self._rules],
            "cases": [rule.cases for rule in self._rules],
            "errors": [rule.errors for rule in self._rules],
        }

    def text(self) -> str:
        """Return the rules, a line each."""
        return "\n".join(f"{rule} ({_cases(rule.cases, rule.errors)})" for rule in self._rules)


def tree_text(tree: CategoricalTree, node: int = 0, *, max_depth: int | None = None) -> str:
    """Return the tree below a node as indented text.

    >>> tree = CategoricalTree(min_cases=1).fit([["a"], ["b"], ["c"]], ["k", "s", "s"])
    >>> print(tree_text(tree))
    0 = a: k (1)
    0 in {b, c}: s (2)
    """
    view = _View(tree)
    view.check(node)
    lines: list[str] = []
    if view.attribute[node] < 0:
        return view.leaf(node)
    _write(view, node, 0, lines, max_depth)
    return "\n".join(lines)


def _write(view: _View, node: int, depth: int, lines: list[str], max_depth: int | None) -> None:
    for child, condition in view.branches(node):
        indent = "|   " * depth
        if view.attribute[child] < 0 or (max_depth is not None and depth + 1 >= max_depth):
            more = "" if view.attribute[child] < 0 else " ..."
            lines.append(f"{indent}{condition}: {view.leaf(child)}{more}")
        else:
            lines.append(f"{indent}{condition}")
            _write(view, child, depth + 1, lines, max_depth)


def tree_rules(tree: CategoricalTree, node: int = 0) -> TreeRules:
    """Return the paths of a tree, or of the part below a node, as rules.

    >>> tree = CategoricalTree(min_cases=1).fit([["a"], ["b"], ["c"]], ["k", "s", "s"])
    >>> print(tree_rules(tree).text())
    if 0 not in {a, b, c} then s (0)
    if 0 = a then k (1)
    if 0 in {b, c} then s (2)
    """
    view = _View(tree)
    view.check(node)
    rules: list[Rule] = []
    for path, end, default in view.paths(node):
        inside: dict[str, tuple[str, ...]] = {}
        outside: dict[str, tuple[str, ...]] = {}
        bounds: dict[str, tuple[float, float]] = {}
        possible = True
        for name, kind, value in path:
            if kind == "in":
                rest = [v for v in value if v not in outside.get(name, ())]
                rest = [v for v in rest if name not in inside or v in inside[name]]
                inside[name] = tuple(rest)
                outside.pop(name, None)
                possible &= bool(rest)
            elif kind == "not in" and name in inside:
                inside[name] = tuple(v for v in inside[name] if v not in value)
                possible &= bool(inside[name])
            elif kind == "not in":
                outside[name] = tuple(sorted({*outside.get(name, ()), *value}))
            else:
                low, high = bounds.get(name, (-np.inf, np.inf))
                bounds[name] = (low, min(high, value)) if kind == "<=" else (max(low, value), high)
        if possible:
            cases, errors = (0.0, 0.0) if default else view.counts(end)
            rules.append(Rule(inside, outside, bounds, view.label(end), cases, errors))
    return TreeRules(rules)


def draw_tree(tree: CategoricalTree, *, node: int = 0, max_depth: int = 3, title: str | None = None) -> Figure:
    """Draw the upper part of a tree, or of the part below a node.

    >>> tree = CategoricalTree(min_cases=1).fit([["a"], ["b"], ["c"]], ["k", "s", "s"])
    >>> [text.get_text() for text in draw_tree(tree).axes[0].texts]
    ['0', 'k (1)', '= a', 's (2)', 'in {b, c}']
    """
    view = _View(tree)
    view.check(node)
    parents, texts, edges = [-1], [""], [""]
    queue = [(node, 0, 0)]
    for at, place, depth in queue:  # grows while it is read
        if view.attribute[at] < 0:
            texts[place] = view.leaf(at)
        elif depth == max_depth:
            texts[place] = f"{view.leaf(at)} ..."
        else:
            texts[place] = view.column(at)
            for child, condition in view.branches(at):
                queue.append((child, len(parents), depth + 1))
                parents.append(place)
                texts.append("")
                edges.append(condition.removeprefix(view.column(at) + " "))
    return branches(parents, texts, edges, title=title)


class _View:
    """The arrays of a tree as Python values."""

    def __init__(self, tree: CategoricalTree) -> None:
        self.tree = tree
        columns = tree.columns_
        self.ordered = [c for c in columns if c.values is not None] + [c for c in columns if c.values is None]
        self.n_valued = sum(c.values is not None for c in columns)
        self.attribute = tree.attribute_.tolist()
        self.first = tree.first_child_.tolist()
        self.children = tree.n_children_.tolist()
        self.seen_begin = np.concatenate([[0], np.cumsum(tree.n_seen_, dtype=np.int64)]).tolist()
        self.count_begin = np.concatenate([[0], np.cumsum(tree.n_counts_, dtype=np.int64)]).tolist()
        self.thresholds = dict(
            zip(np.flatnonzero(tree.attribute_ >= self.n_valued).tolist(), tree.threshold_.tolist(), strict=True)
        )

    def check(self, node: int) -> None:
        if not 0 <= node < len(self.attribute):
            raise DataError(f"there is no node {node}; the tree has {len(self.attribute)}, from 0")

    def column(self, node: int) -> str:
        return str(self.ordered[self.attribute[node]].name)

    def groups(self, node: int) -> list[tuple[str, ...]]:
        """Values of each branch."""
        values = self.ordered[self.attribute[node]].values or ()
        groups: list[list[str]] = [[] for _ in range(self.children[node])]
        for at in range(self.seen_begin[node], self.seen_begin[node + 1]):
            groups[self.tree.branch_[at]].append(values[self.tree.seen_[at]])
        return [tuple(group) for group in groups]

    def branches(self, node: int) -> Iterator[tuple[int, str]]:
        first, name = self.first[node], self.column(node)
        if self.attribute[node] >= self.n_valued:
            yield first, f"{name} <= {self.thresholds[node]:g}"
            yield first + 1, f"{name} > {self.thresholds[node]:g}"
            return
        for i, group in enumerate(self.groups(node)):
            yield first + i, _inside(name, group)

    def paths(self, node: int) -> Iterator[tuple[list[tuple[str, str, Any]], int, bool]]:
        """Conditions, the node they lead to, and whether only values that it never saw do."""
        stack: list[tuple[int, list[tuple[str, str, Any]]]] = [(node, [])]
        while stack:
            at, path = stack.pop()
            if self.attribute[at] < 0:
                yield path, at, False
                continue
            name, first = self.column(at), self.first[at]
            if self.attribute[at] >= self.n_valued:
                stack.append((first + 1, [*path, (name, ">", self.thresholds[at])]))
                stack.append((first, [*path, (name, "<=", self.thresholds[at])]))
                continue
            groups = self.groups(at)
            yield [*path, (name, "not in", tuple(v for group in groups for v in group))], at, True
            for i in reversed(range(len(groups))):
                stack.append((first + i, [*path, (name, "in", groups[i])]))

    def label(self, node: int) -> Any:
        label = self.tree.classes_[self.tree.label_[node]]
        return label.item() if hasattr(label, "item") else label

    def counts(self, node: int) -> tuple[float, float]:
        """Cases and errors."""
        begin, end = self.count_begin[node], self.count_begin[node + 1]
        counts = self.tree.count_[begin:end].astype(float)
        right = counts[self.tree.count_class_[begin:end] == self.tree.label_[node]].sum()
        return float(counts.sum()), float(counts.sum() - right)

    def leaf(self, node: int) -> str:
        return f"{self.label(node)} ({_cases(*self.counts(node))})"


def _inside(name: str, values: tuple[str, ...]) -> str:
    return f"{name} = {values[0]}" if len(values) == 1 else f"{name} in {_set(values)}"


def _set(values: tuple[str, ...]) -> str:
    return "{" + ", ".join(values) + "}"


def _cases(cases: float, errors: float) -> str:
    return f"{cases:g}/{errors:g}" if errors > 1e-9 else f"{cases:g}"
