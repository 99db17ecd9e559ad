"""Which orders of children a related language may have, and all trees of it that a source tree may come from.

A family names labels and orders of their children. Each target order t of a family has a row of parameters,

    p(source order s | target order t),    sum over s is 1

and a node that matches no family is copied with weight 1. The model generates the source tree from the target tree, so
the forest of a source tree has every order t of a node with the weight p(s | t) of the order s that was seen. Children
of one category keep their order among themselves.

    S: NP VP | VP NP          labels, a colon, orders between bars
    NP ADJP: JJ NN* | NN* JJ  several labels share one family; * stands for any letters

Cost: one visit per node and order. Reference: Jansche (2005), Treebank transfer, section 3.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from textmill.arrays import Ids
from textmill.corpus import Tree
from textmill.errors import DataError
from textmill.trees.forest import Choice, PackedForest

__all__ = ["Family", "OrderModel", "parse_families", "propose_families"]

MOST_ORDERS = 120


@dataclass(frozen=True)
class Family:
    """Labels that share orders of children: patterns of labels, and orders as patterns of the children's labels.

    >>> Family(("NP",), (("a", "n"), ("n", "a"))).source_order("NP", ["n", "a"])
    1
    """

    labels: tuple[str, ...]
    orders: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        name = " ".join(self.labels)
        if not self.labels or not self.orders:
            raise DataError(f"family {name!r} needs labels and orders, such as 'NP: JJ NN | NN JJ'")
        if len(self.orders) < 2 or len(self.orders[0]) < 2:
            raise DataError(
                f"family {name!r} has nothing to change: write two orders of two or more children, between bars"
            )
        if len({tuple(sorted(order)) for order in self.orders}) > 1:
            raise DataError(f"family {name!r}: all orders must have the same children")
        if len(set(self.orders)) < len(self.orders):
            raise DataError(f"family {name!r}: an order stands there twice")
        if len(self.orders) > MOST_ORDERS:
            raise DataError(f"family {name!r} has {len(self.orders)} orders; declare {MOST_ORDERS} at most")

    def __str__(self) -> str:
        return f"{' '.join(self.labels)}: {' | '.join(' '.join(order) for order in self.orders)}"

    def source_order(self, label: str, children: Sequence[str]) -> int | None:
        """The number of the order that a node has, None if the node is none of the family's."""
        if len(children) != len(self.orders[0]) or not any(fnmatchcase(label, one) for one in self.labels):
            return None
        for number, order in enumerate(self.orders):
            if all(map(fnmatchcase, children, order)):
                return number
        if _matches(children, self.orders[0]):
            raise DataError(
                f"children {' '.join(children)!r} of {label!r} stand in an order that family '{self}' does not "
                "declare; add it"
            )
        return None

    def placed(self, source: int, target: int) -> tuple[int, ...]:
        """For each place of a target order, the place of the same child in a source order."""
        places: dict[str, list[int]] = {}
        for at, category in enumerate(self.orders[source]):
            places.setdefault(category, []).append(at)
        return tuple(places[category].pop(0) for category in self.orders[target])


def parse_families(text: str, *, source: str | None = None) -> list[Family]:
    """The families of a text, one per line; # begins a comment. `source` names the file in messages.

    >>> [str(family) for family in parse_families("S: NP VP | VP NP   # verb first")]
    ['S: NP VP | VP NP']
    """
    families = []
    for number, line in enumerate(text.splitlines(), 1):
        content = line.split("#")[0].strip()
        if not content:
            continue
        labels, colon, orders = content.partition(":")
        if not colon:
            fault = f"{content!r} has no colon; write 'NP: JJ NN | NN JJ'"
            raise DataError(
                fault if source else f"line {number}: {fault}", source=source, line=number if source else None
            )
        try:
            families.append(Family(tuple(labels.split()), tuple(tuple(one.split()) for one in orders.split("|"))))
        except DataError as fault:
            own = str(fault) if source else f"line {number}: {fault}"
            raise DataError(own, source=source, line=number if source else None) from None
    if not families:
        raise DataError("no family is declared; write lines such as 'NP: JJ NN | NN JJ'", source=source)
    return families


def propose_families(trees: Iterable[Tree], *, min_count: int = 20, max_children: int = 3) -> list[Family]:
    """Families of all orders for the frequent rules of a treebank, the order that is seen most often first.

    >>> from textmill.corpus import parse_tree
    >>> [str(one) for one in propose_families([parse_tree("(NP (JJ old) (NN man))")], min_count=1)]
    ['NP: JJ NN | NN JJ']
    """
    seen: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for tree in trees:
        for rule in tree.productions():
            if not rule.lexical and 2 <= len(rule.children) <= max_children:
                seen[rule.label, rule.children] += 1
    groups: dict[tuple[str, tuple[str, ...]], Counter[tuple[str, ...]]] = {}
    for (label, children), count in seen.items():
        groups.setdefault((label, tuple(sorted(children))), Counter())[children] += count
    families = []
    for (label, children), orders in sorted(groups.items(), key=lambda item: (-item[1].total(), item[0])):
        if orders.total() >= min_count and len(set(children)) > 1:
            usual = [order for order, _ in orders.most_common()]
            rest = sorted(set(itertools.permutations(children)) - set(usual))
            families.append(Family((label,), (*usual, *rest)))
    return families


class OrderModel:
    """Families with numbers for their parameters: row by row, the row of target order t, in it the source orders.

    >>> model = OrderModel(parse_families("NP: a n | n a"))
    >>> model.n_parameters, model.row.tolist(), model.row_names
    (4, [0, 0, 1, 1], ['NP: a n', 'NP: n a'])
    """

    def __init__(self, families: Sequence[Family]) -> None:
        self.families = list(families)
        sizes = [len(family.orders) for family in self.families]
        self.first = [0, *itertools.accumulate(size * size for size in sizes)]
        self.n_parameters = self.first[-1]
        self.row_names = [f"{' '.join(f.labels)}: {' '.join(order)}" for f in self.families for order in f.orders]
        self.names = [
            f"{' '.join(f.labels)}: {' '.join(target)} -> {' '.join(source)}"
            for f in self.families
            for target in f.orders
            for source in f.orders
        ]
        rows = np.repeat(np.arange(sum(sizes)), [size for size in sizes for _ in range(size)])
        self.row: Ids = rows.astype(np.int32)
        self._known: dict[tuple[str, tuple[str, ...]], list[tuple[tuple[int, ...], int]]] = {}

    def forest(self, tree: Tree, *, fringe: str = "tags") -> PackedForest:
        """All target trees of a source tree; the automaton reads tags or words.

        >>> from textmill.corpus import parse_tree
        >>> model = OrderModel(parse_families("NP: JJ NN | NN JJ"))
        >>> [str(one) for one in model.forest(parse_tree("(NP (JJ old) (NN man))")).trees()]
        ['(NP (JJ old) (NN man))', '(NP (NN man) (JJ old))']
        """
        forest = PackedForest()

        def node(own: Tree, below: list[int]) -> int:
            if own.is_preterminal:
                word = str(own.children[0])
                return forest.word(own.label if fringe == "tags" else word, own, word)
            labels = tuple(child.label if isinstance(child, Tree) else child for child in own.children)
            orders = self._orders(own.label, labels)
            if not orders:
                return forest.node(own.label, [Choice(tuple(below))])
            choices = [Choice(tuple(below[at] for at in places), parameter) for places, parameter in orders]
            return forest.node(own.label, choices)

        def leaf(word: str) -> int:
            return -1  # below a tag, which is the word here

        def fold(own: Tree, below: list[int]) -> int:
            if not own.is_preterminal and -1 in below:
                bare = [
                    forest.word(str(child)) if isinstance(child, str) else at
                    for child, at in zip(own.children, below, strict=True)
                ]
                return node(own, bare)
            return node(own, below)

        tree.fold(fold, leaf)
        return forest

    def _orders(self, label: str, children: tuple[str, ...]) -> list[tuple[tuple[int, ...], int]]:
        """Places of the children in each target order, and its parameter; empty if no family has such a node."""
        orders = self._known.get((label, children))
        if orders is None:
            orders = []
            for number, family in enumerate(self.families):
                source = family.source_order(label, children)
                if source is not None:
                    size, first = len(family.orders), self.first[number]
                    orders = [(family.placed(source, t), first + t * size + source) for t in range(size)]
                    break
            self._known[label, children] = orders
        return orders


def _matches(children: Sequence[str], patterns: Sequence[str]) -> bool:
    """Whether children can be paired with patterns."""
    left = list(patterns)
    for child in children:
        fit = next((pattern for pattern in left if fnmatchcase(child, pattern)), None)
        if fit is None:
            return False
        left.remove(fit)
    return True
