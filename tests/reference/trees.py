"""C4.5 as its description reads, with every quantity computed anew: slow and obvious."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import combinations, pairwise
from typing import Any

Case = tuple[tuple[Any, ...], Any, float]  # cells, label, weight


def info(cases: list[Case]) -> float:
    total = sum(w for _, _, w in cases)
    counts: dict[Any, float] = defaultdict(float)
    for _, label, w in cases:
        counts[label] += w
    return -sum(n / total * math.log2(n / total) for n in counts.values())


def weight(cases: list[Case]) -> float:
    return sum(w for _, _, w in cases)


def gain_and_split_info(cases: list[Case], parts: list[list[Case]]) -> tuple[float, float]:
    total = weight(cases)
    shares = [weight(part) / total for part in parts]
    gain = info(cases) - sum(share * info(part) for share, part in zip(shares, parts, strict=True))
    return gain, -sum(share * math.log2(share) for share in shares)


def ratio(gain: float, split_info: float) -> float:
    return max(gain, 0.0) / split_info if split_info > 1e-10 else 0.0


def groups_of(cases: list[Case], column: int, min_cases: float, subsets: bool) -> list[tuple[Any, ...]]:
    """The groups of values of a split."""
    by_value: dict[Any, list[Case]] = defaultdict(list)
    for case in cases:
        by_value[case[0][column]].append(case)
    groups = [(value,) for value in sorted(by_value)]
    if not subsets:
        return groups

    def members(group: tuple[Any, ...]) -> list[Case]:
        return [case for value in group for case in by_value[value]]

    merged: list[tuple[Any, ...]] = []
    pure: dict[Any, int] = {}
    for group in groups:
        labels = {label for _, label, _ in members(group)}
        if len(labels) == 1 and next(iter(labels)) in pure:
            place = pure[next(iter(labels))]
            merged[place] = (*merged[place], *group)
            continue
        if len(labels) == 1:
            pure[next(iter(labels))] = len(merged)
        merged.append(group)
    groups = merged
    if len(groups) < 2:
        return groups
    first_gain, _ = gain_and_split_info(cases, [members(g) for g in groups])
    while len(groups) > 2:
        large = [g for g in groups if weight(members(g)) >= min_cases - 1e-9]
        heaviest = max(range(len(groups)), key=lambda i: weight(members(groups[i])))
        best: tuple[bool, float, int, int] | None = None
        for i, j in combinations(range(len(groups)), 2):
            if len(large) < 3 and heaviest in (i, j):
                continue
            joined = [g for at, g in enumerate(groups) if at not in (i, j)] + [groups[i] + groups[j]]
            gain, split_info = gain_and_split_info(cases, [members(g) for g in joined])
            keeps, own = gain >= first_gain / 2 - 1e-12, ratio(gain, split_info)
            if best is None or (keeps and not best[0]) or (keeps == best[0] and own > best[1] + 1e-12):
                best = keeps, own, i, j
        assert best is not None
        now = ratio(*gain_and_split_info(cases, [members(g) for g in groups]))
        if len(large) >= 2 and best[1] <= now + 1e-5:
            break
        _, _, i, j = best
        groups[i] = groups[i] + groups[j]
        del groups[j]
    return groups


def added_errors(n: float, e: float, confidence: float) -> float:
    table = [(0, 4.0), (0.001, 3.09), (0.005, 2.58), (0.01, 2.33), (0.05, 1.65), (0.1, 1.28), (0.2, 0.84), (0.4, 0.25)]
    table.append((1.0, 0.0))
    (v0, d0), (v1, d1) = next(pair for pair in pairwise(table) if confidence <= pair[1][0])
    q = (d0 + (d1 - d0) * (confidence - v0) / (v1 - v0)) ** 2
    if e < 1e-6:
        return n * (1 - confidence ** (1 / n))
    if e < 0.9999:
        none = n * (1 - confidence ** (1 / n))
        return none + e * (added_errors(n, 1.0, confidence) - none)
    if e + 0.5 >= n:
        return 0.67 * (n - e)
    root = math.sqrt(q * ((e + 0.5) * (1 - (e + 0.5) / n) + q / 4))
    return n * (e + 0.5 + q / 2 + root) / (n + q) - e


class Tree:
    """A node: `test` is None for a leaf, else a column and its groups or threshold."""

    def __init__(self, cases: list[Case]) -> None:
        self.cases = cases
        self.test: tuple[int, Any] | None = None
        self.children: list[Tree] = []
        self.count()

    def count(self) -> None:
        counts: Counter[Any] = Counter()
        for _, label, w in self.cases:
            counts[label] += w
        best = max(counts.values())
        self.label = min(label for label, n in counts.items() if n >= best - 1e-9)
        self.errors = sum(counts.values()) - counts[self.label]

    def branch(self, cells: tuple[Any, ...]) -> int:
        assert self.test is not None
        column, split = self.test
        if isinstance(split, float):
            return 0 if cells[column] <= split else 1
        return next((i for i, group in enumerate(split) if cells[column] in group), -1)

    def predict(self, cells: tuple[Any, ...]) -> Any:
        if self.test is None:
            return self.label
        at = self.branch(cells)
        return self.label if at < 0 else self.children[at].predict(cells)

    def size(self) -> int:
        return 1 + sum(child.size() for child in self.children)


def grow(
    cases: list[Case],
    *,
    classes: int,
    values: dict[int, int],
    all_weight: float,
    min_cases: float = 2,
    subsets: bool = True,
    confidence: float | None = 0.25,
    raising: bool = True,
) -> Tree:
    """The tree of the cases; `values` holds the number of values of each column of values."""
    rules: dict[str, Any] = {
        "classes": classes,
        "values": values,
        "all_weight": all_weight,
        "min_cases": min_cases,
        "subsets": subsets,
        "confidence": confidence,
        "raising": raising,
    }
    node = Tree(cases)
    if node.errors < 1e-9 or weight(cases) < 2 * min_cases - 1e-9:
        return node
    options = [split for c in range(len(cases[0][0])) if (split := option(cases, c, rules)) is not None]
    gaining = [split for split in options if split[0] > 1e-10]
    if not gaining:
        if min_cases > 1 or not options:
            return node
        chosen = options[0]
    else:
        few = [g for g, _, c, _ in gaining if c not in values or values[c] <= 0.3 * all_weight]
        mean = sum(few) / len(few) if few else sum(g for g, _, _, _ in gaining) / len(gaining)
        chosen, best = None, 0.0
        for split in gaining:
            if split[0] >= mean - 1e-3 and split[0] / split[1] > best + 1e-12:
                chosen, best = split, split[0] / split[1]
        assert chosen is not None
    node.test = chosen[2], chosen[3]
    parts: dict[int, list[Case]] = defaultdict(list)
    for case in cases:
        parts[node.branch(case[0])].append(case)
    node.children = [grow(parts[i], **rules) for i in sorted(parts)]
    if sum(training_errors(child) for child in node.children) >= node.errors - 1e-9:
        node.test, node.children = None, []
        return node
    return node if confidence is None else prune(node, confidence, raising)


def option(cases: list[Case], column: int, rules: dict[str, Any]) -> tuple[float, float, int, Any] | None:
    """Gain, split information, column, and groups or threshold; None where the column is of no use."""
    smallest = rules["min_cases"]
    if column in rules["values"]:
        groups = groups_of(cases, column, smallest, rules["subsets"])
        parts = [[case for case in cases if case[0][column] in group] for group in groups]
        if sum(weight(part) >= smallest - 1e-9 for part in parts) < 2:
            return None
        return (*gain_and_split_info(cases, parts), column, groups)
    total = weight(cases)
    smallest = max(smallest, min(0.1 * total / rules["classes"], 25.0))
    numbers = sorted({case[0][column] for case in cases})
    tried: list[tuple[float, float, float]] = []
    for low, high in pairwise(numbers):
        parts = [[c for c in cases if c[0][column] <= low], [c for c in cases if c[0][column] > low]]
        if min(weight(part) for part in parts) >= smallest - 1e-9:
            tried.append((*gain_and_split_info(cases, parts), low + (high - low) / 2))
    best = None
    for split in tried:
        if best is None or split[0] > best[0] + 1e-12:
            best = split
    return None if best is None else (best[0] - math.log2(len(tried)) / total, best[1], column, best[2])


def training_errors(node: Tree) -> float:
    return node.errors if node.test is None else sum(training_errors(child) for child in node.children)


def leaf_estimate(cases: list[Case], label: Any, confidence: float) -> float:
    if not cases:
        return 0.0
    errors = sum(w for _, own, w in cases if own != label)
    return errors + added_errors(weight(cases), errors, confidence)


def estimate(node: Tree, cases: list[Case], confidence: float) -> float:
    """Estimated errors of a subtree whose leaves are labeled by these cases."""
    if not cases:
        return 0.0
    here = Tree(cases)
    if node.test is None:
        return leaf_estimate(cases, here.label, confidence)
    parts: dict[int, list[Case]] = defaultdict(list)
    for case in cases:
        parts[node.branch(case[0])].append(case)
    lost = leaf_estimate(parts.pop(-1, []), here.label, confidence)
    return lost + sum(estimate(node.children[i], part, confidence) for i, part in parts.items())


def prune(node: Tree, confidence: float, raising: bool) -> Tree:
    """Leaf, largest branch or the node itself; its children are pruned already."""
    as_leaf = leaf_estimate(node.cases, node.label, confidence)
    as_tree = estimate(node, node.cases, confidence)
    largest = max(node.children, key=lambda child: (round(weight(child.cases), 6), -node.children.index(child)))
    as_branch = estimate(largest, node.cases, confidence) if raising else math.inf
    if as_leaf <= as_tree + 0.1 and as_leaf <= as_branch + 0.1:
        node.test, node.children = None, []
    elif as_branch <= as_tree + 0.1:
        return retake(largest, node.cases, confidence, raising)
    return node


def retake(node: Tree, cases: list[Case], confidence: float, raising: bool) -> Tree:
    """The subtree with other cases, pruned by them; a branch without cases keeps its label."""
    if not cases:
        node.test, node.children, node.cases, node.errors = None, [], [], 0.0
        return node
    node.cases = cases
    node.count()
    if node.test is None:
        return node
    parts: dict[int, list[Case]] = defaultdict(list)
    for case in cases:
        parts[node.branch(case[0])].append(case)
    node.children = [retake(child, parts[i], confidence, raising) for i, child in enumerate(node.children)]
    return prune(node, confidence, raising)
