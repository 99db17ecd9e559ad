"""Rules of a treebank, markovized and smoothed, as the arrays that a chart parser reads.

A node X under the ancestors P has one child, or reads its children c_1 ... c_m, m >= 2, from left to right:

    p(X -> c | P)           = u(X, P) p_1(c | X, P)
    p(X -> c_1 ... c_m | P) = (1 - u(X, P)) f(c_1 | X, P) prod_i p(c_i | X, P, c_{i-1}, c_{i-2}) p(end | ...)

`vertical` - 1 ancestors and `horizontal` children to the left are looked at. Each distribution leans on the one with
less context, to the last child alone, to fewer ancestors, to X alone (Witten & Bell):

    p(c | h) = (n(h, c) + strength t(h) p(c | h')) / (n(h) + strength t(h))        t(h): different outcomes after h

Rules of one child are applied in chains, of `CHAIN` steps at most and without a label twice; of all chains between two
symbols the most probable counts.

Cost: one visit per node, and the tables: states x labels. References: Johnson (1998), PCFG models of linguistic tree
representations; Klein & Manning (2003), Accurate unlexicalized parsing; Witten & Bell (1991).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from textmill.arrays import Floats, Ids, Ints
from textmill.corpus import Tree

__all__ = ["CHAIN", "ROOT", "RULE_LAYOUT", "CoarseRules", "Counts", "RuleArrays", "build_rules", "coarse_rules"]

ROOT = "<root>"  # above every sentence
CHAIN = 4  # steps of a chain at most

_END = -1  # as a child: the end of a rule
_FIRST = -2  # as a child to the left: there is none
_FAINTEST_RULE = np.log(1e-4)
_FAINTEST_CHAIN = np.log(1e-6)

Ancestors = tuple[int, ...]  # a label and those above it
History = tuple[Ancestors, tuple[int, ...]]  # and the children to the left, the last one first
_C = TypeVar("_C", Ancestors, History)


class RuleArrays(NamedTuple):
    """A grammar as arrays, as in native/trees/chart.h; symbol 0 is the root.

    `above` is the label above each group, and `chain_label` has the labels of each chain, from the top.
    """

    label: Ids
    group: Ids
    above: Ids
    state_symbol: Ids
    state_group: Ids
    stop: Floats
    step_at: Ints
    step_label: Ids
    step_next: Ids
    step: Floats
    begin_at: Ints
    begin_state: Ids
    begin: Floats
    chain_at: Ints
    chain_top: Ids
    chain: Floats
    chain_label_at: Ints
    chain_label: Ids


RULE_LAYOUT = {  # axes and types of RuleArrays, as a model file declares them
    "label": "symbol: int32",
    "group": "symbol: int32",
    "above": "group: int32",
    "state_symbol": "state: int32",
    "state_group": "state: int32",
    "stop": "state",
    "step_at": "state+1: int64",
    "step_label": "step: int32",
    "step_next": "step: int32",
    "step": "step",
    "begin_at": "symbol+1: int64",
    "begin_state": "begin: int32",
    "begin": "begin",
    "chain_at": "symbol+1: int64",
    "chain_top": "chain: int32",
    "chain": "chain",
    "chain_label_at": "chain+1: int64",
    "chain_label": "chain_labels: int32",
}


class CoarseRules(NamedTuple):
    """The coarse grammar of native/trees/chart.h: tables of child x parent, in linear scale."""

    prior: Floats
    begin: Floats
    step: Floats
    stop: Floats
    chain: Floats


@dataclass
class Counts:
    """How often each label has which children; labels are numbers, those with children below `parents`.

    >>> from textmill.corpus import parse_tree
    >>> counts = Counts.of([parse_tree("(S (NP (NN dogs)) (VP (VBP bark)))")], vertical=2, horizontal=1)
    >>> counts.labels
    ['<root>', 'NP', 'S', 'VP', 'NN', 'VBP']
    """

    labels: list[str]
    parents: int
    vertical: int
    horizontal: int
    single: dict[Ancestors, Counter[int]]  # the only child
    first: dict[Ancestors, Counter[int]]  # the first of several
    later: dict[History, Counter[int]]  # the next, or the end
    frequency: Floats

    @classmethod
    def of(cls, trees: Iterable[Tree], *, vertical: int, horizontal: int) -> Counts:
        """Count the rules of trees."""
        trees = list(trees)
        inner = {ROOT} | {node.label for tree in trees for node in tree.subtrees() if not node.is_preterminal}
        outer = {node.label for tree in trees for node in tree.subtrees()} - inner
        labels = sorted(inner) + sorted(outer)
        number = {label: at for at, label in enumerate(labels)}
        root = number[ROOT]
        frequency = np.zeros(len(labels))
        single: dict[Ancestors, Counter[int]] = defaultdict(Counter)
        first: dict[Ancestors, Counter[int]] = defaultdict(Counter)
        later: dict[History, Counter[int]] = defaultdict(Counter)
        counts = cls(labels, len(inner), vertical, horizontal, single, first, later, frequency)
        for tree in trees:
            counts._add((root,), [number[tree.label]])
            stack: list[tuple[Tree, Ancestors]] = [(tree, (root,))]
            while stack:
                node, above = stack.pop()
                own = number[node.label]
                frequency[own] += 1
                children = [child for child in node.children if isinstance(child, Tree)]
                if children:
                    counts._add((own, *above[: vertical - 1]), [number[child.label] for child in children])
                    stack.extend((child, (own, *above)[:vertical]) for child in children)
        frequency[root] = len(trees)
        return counts

    def _add(self, context: Ancestors, children: Sequence[int]) -> None:
        if len(children) == 1:
            for shorter in _shorter(context):
                self.single[shorter][children[0]] += 1
            return
        for shorter in _shorter(context):
            self.first[shorter][children[0]] += 1
        left: tuple[int, ...] = (children[0], _FIRST)
        for child in [*children[1:], _END]:
            for longer in _histories(context, left[: self.horizontal]):
                self.later[longer][child] += 1
            left = (child, *left)


def _shorter(context: Ancestors) -> list[Ancestors]:
    """The context with fewer and fewer ancestors."""
    return [context[:size] for size in range(len(context), 0, -1)]


def _histories(context: Ancestors, left: tuple[int, ...]) -> list[History]:
    """Contexts of a next child, from the longest: fewer children to the left, then fewer ancestors, then none."""
    chain: list[History] = [(context, left[:size]) for size in range(len(left), 1, -1)]
    if left:
        chain += [(shorter, left[:1]) for shorter in _shorter(context)]
    else:
        chain += [(shorter, ()) for shorter in _shorter(context)[:-1]]
    return [*chain, (context[:1], ())]


class _Smoothed:
    """Distributions over labels, and the end of a rule as the last entry, by context."""

    def __init__(self, counts: Counts, strength: float, floor: Floats | None) -> None:
        self._counts, self._strength, self._floor = counts, strength, floor
        self._memory: dict[tuple[int, object], Floats] = {}

    def _of(self, table: Mapping[_C, Counter[int]], chain: list[_C]) -> Floats:
        key = (id(table), chain[0])
        if key not in self._memory:
            counter = table.get(chain[0], Counter())
            out = np.zeros(len(self._counts.labels) + 1)
            for outcome, count in counter.items():
                out[outcome] = count
            lower = self._of(table, chain[1:]) if len(chain) > 1 else self._floor
            if lower is not None:
                extra = self._strength * max(len(counter), 1)
                out = (out + extra * lower) / (out.sum() + extra)
            elif (total := out.sum()) > 0:
                out /= total
            self._memory[key] = out
        return self._memory[key]

    def single(self, context: Ancestors) -> Floats:
        return self._of(self._counts.single, _shorter(context))

    def first(self, context: Ancestors) -> Floats:
        return self._of(self._counts.first, _shorter(context))

    def later(self, context: Ancestors, left: tuple[int, ...]) -> Floats:
        return self._of(self._counts.later, _histories(context, left))

    def share_of_single(self, context: Ancestors) -> float:
        """How often a node has one child."""
        share = 0.5
        for shorter in reversed(_shorter(context)):
            single = self._counts.single.get(shorter, Counter()).total()
            several = self._counts.first.get(shorter, Counter()).total()
            extra = self._strength * ((single > 0) + (several > 0))
            if single + several:
                floor = share if self._floor is not None or len(shorter) > 1 else single / (single + several)
                share = (single + extra * floor) / (single + several + extra)
        return share


def _floor(counts: Counts) -> Floats:
    """What any label may have as a child: every label but the root, and the end of a rule."""
    floor = np.append(counts.frequency + 0.5, 0.0)
    floor[counts.labels.index(ROOT)] = 0.0
    floor[-1] = floor.sum() / 3
    return np.asarray(floor / floor.sum())


def build_rules(counts: Counts, *, strength: float, complete: bool = False) -> RuleArrays:
    """The grammar of the counts; `complete` lets every label stand under every other.

    >>> from textmill.corpus import parse_tree
    >>> tree = parse_tree("(S (NP (NN dogs)) (VP (VBP bark)))")
    >>> build_rules(Counts.of([tree], vertical=1, horizontal=0), strength=1.0).label.tolist()
    [0, 1, 2, 3, 4, 5]
    """
    return _Builder(counts, strength, complete).arrays()


class _Builder:
    def __init__(self, counts: Counts, strength: float, complete: bool) -> None:
        self.counts = counts
        self.model = _Smoothed(counts, strength, _floor(counts) if complete else None)
        self.root = counts.labels.index(ROOT)
        everything = [label for label in range(len(counts.labels)) if label != self.root]
        below: dict[int, set[int]] = defaultdict(set)
        for above, children in [*counts.single.items(), *counts.first.items()]:
            below[above[0]].update(children)
        for (above, _), children in counts.later.items():
            below[above[0]].update(child for child in children if child != _END)
        self.below = {x: everything if complete else sorted(below[x]) for x in range(counts.parents)}
        self._number_symbols()

    def _number_symbols(self) -> None:
        """A symbol is a label in a group: the labels above it, of which the child of a rule knows all."""
        depth = self.counts.vertical - 1
        self.groups: dict[Ancestors, int] = {(-1,): 0}  # of the root
        members: list[tuple[int, int]] = [(0, self.root)]
        self.context: dict[tuple[int, int], Ancestors] = {(0, self.root): (self.root,)}
        waiting = [(0, self.root)]
        while waiting:
            symbol = waiting.pop()
            if symbol[1] >= self.counts.parents:
                continue
            inner = self.context[symbol][:depth]
            if inner in self.groups:
                continue
            group = self.groups[inner] = len(self.groups)
            for child in self.below[symbol[1]] if depth else range(len(self.counts.labels)):
                if child == self.root:
                    continue
                members.append((group, child))
                self.context[group, child] = (child, *inner)[: depth + 1]
                waiting.append((group, child))
        members.sort()
        self.symbols = members
        self.number = {symbol: at for at, symbol in enumerate(members)}

    def _inner(self, symbol: tuple[int, int]) -> int:
        """The group of the children of a symbol."""
        return self.groups[self.context[symbol][: self.counts.vertical - 1]]

    def arrays(self) -> RuleArrays:
        counts, model = self.counts, self.model
        states: dict[tuple[int, bool, tuple[int, ...]], int] = {}  # symbol, after a first child, children to the left

        def state(symbol: int, first: bool, left: tuple[int, ...]) -> int:
            left = left[: counts.horizontal]
            while not first and left and (self.context[self.symbols[symbol]], left) not in counts.later:
                left = left[:-1]
            return states.setdefault((symbol, first, left), len(states))

        begins: list[list[tuple[int, float]]] = [[] for _ in self.symbols]
        singles: list[list[tuple[int, float]]] = [[] for _ in self.symbols]
        for at, symbol in enumerate(self.symbols):
            if symbol[1] >= counts.parents:
                continue
            context, inner = self.context[symbol], self._inner(symbol)
            share = 1.0 if symbol[1] == self.root else model.share_of_single(context)
            single, first = share * model.single(context), (1.0 - share) * model.first(context)
            for child in self.below[symbol[1]]:
                below = self.number[inner, child]
                if single[child] > 0:
                    singles[below].append((at, float(np.log(single[child]))))
                if first[child] > 0 and (weight := float(np.log(first[child]))) > _FAINTEST_RULE:
                    begins[below].append((state(at, True, (child, _FIRST)), weight))
        step_at, step_label, step_next, step, stop = [0], [], [], [], []
        order = list(states)
        for owner, is_first, left in order:  # which grows by the states that are met on the way
            tail = model.later(self.context[self.symbols[owner]], left)
            if is_first:  # a second child must follow
                tail = np.append(tail[:-1] / max(1.0 - tail[-1], 1e-300), 0.0)
            stop.append(float(np.log(tail[-1])) if tail[-1] > 0 else -np.inf)
            for child in self.below[self.symbols[owner][1]]:
                if tail[child] > 0 and (weight := float(np.log(tail[child]))) > _FAINTEST_RULE:
                    step_label.append(child)
                    step_next.append(state(owner, False, (child, *left)))
                    step.append(weight)
                    if len(states) > len(order):
                        order.append(next(reversed(states)))
            step_at.append(len(step))
        begin_at = np.concatenate([[0], np.cumsum([len(rules) for rules in begins])])
        chains = self._chains(singles)
        chain_at = np.concatenate([[0], np.cumsum([len(rules) for rules in chains])])
        flat = [chain for rules in chains for chain in rules]
        return RuleArrays(
            np.array([label for _, label in self.symbols], np.int32),
            np.array([group for group, _ in self.symbols], np.int32),
            np.array([max(above[0], 0) if above else 0 for above in self.groups], np.int32),
            np.array([symbol for symbol, _, _ in order], np.int32),
            np.array([self._inner(self.symbols[symbol]) for symbol, _, _ in order], np.int32),
            np.array(stop, np.float64),
            np.array(step_at, np.int64),
            np.array(step_label, np.int32),
            np.array(step_next, np.int32),
            np.array(step, np.float64),
            begin_at.astype(np.int64),
            np.array([rule[0] for rules in begins for rule in rules], np.int32),
            np.array([rule[1] for rules in begins for rule in rules], np.float64),
            chain_at.astype(np.int64),
            np.array([chain[0] for chain in flat], np.int32),
            np.array([chain[1] for chain in flat], np.float64),
            np.concatenate([[0], np.cumsum([len(chain[2]) for chain in flat])]).astype(np.int64),
            np.array([label for chain in flat for label in chain[2]], np.int32),
        )

    def _chains(self, singles: list[list[tuple[int, float]]]) -> list[list[tuple[int, float, tuple[int, ...]]]]:
        """The best chain from each symbol to each above it: top, weight, labels from the top to above the symbol."""
        out = []
        for bottom, (_, bottom_label) in enumerate(self.symbols):
            best: dict[int, tuple[float, tuple[int, ...]]] = {}
            stack: list[tuple[int, float, tuple[int, ...]]] = [(bottom, 0.0, ())]
            while stack:
                symbol, weight, labels = stack.pop()
                for above, step in singles[symbol]:
                    label = self.symbols[above][1]
                    total = weight + step
                    if (total < _FAINTEST_CHAIN and label != self.root) or label in labels or label == bottom_label:
                        continue
                    if above in best and best[above][0] >= total:
                        continue
                    path = (label, *labels)
                    best[above] = total, path
                    if len(path) < CHAIN and label != self.root:
                        stack.append((above, total, path))
            out.append([(above, weight, path) for above, (weight, path) in sorted(best.items())])
        return out


def coarse_rules(counts: Counts, *, strength: float) -> CoarseRules:
    """The grammar of labels alone, in which all children of a rule are independent and any may follow any."""
    L, K, root = len(counts.labels), counts.parents, counts.labels.index(ROOT)
    model = _Smoothed(counts, strength, _floor(counts))
    begin, step, stop, single = np.zeros((L, K)), np.zeros((L, K)), np.zeros(K), np.zeros((L, K))
    for x in range(K):
        share = 1.0 if x == root else model.share_of_single((x,))
        single[:, x] = share * model.single((x,))[:L]
        if x != root:
            begin[:, x] = (1.0 - share) * model.first((x,))[:L]
            tail = model.later((x,), ())
            step[:, x], stop[x] = tail[:L], tail[L]
    closed = np.linalg.inv(np.eye(K) - single[:K])
    chain = np.concatenate([closed, single[K:] @ closed])
    prior = counts.frequency + 0.5
    return CoarseRules(prior / prior.sum(), begin, step, stop, np.maximum(chain, 0.0))
