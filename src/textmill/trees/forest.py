"""Packed forests of trees: many trees that share their parts.

A forest is an acyclic and-or graph. A node is a word, or a label with choices; a choice is a list of nodes below with a
weight, which is a parameter by number (-1 for weight 1). A forest can be enumerated, drawn, made binary, and cut to
some of its choices; sums, samples and best trees are those of its intersection with an automaton (weaving.py).

Cost: one visit per choice. Reference: Jansche (2005), Treebank transfer, section 4.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from textmill.corpus import Tree
from textmill.errors import DataError

__all__ = ["Choice", "PackedForest"]


class Choice(NamedTuple):
    """Nodes below, in order, and the number of the parameter that is the weight; -1 for weight 1."""

    below: tuple[int, ...]
    parameter: int = -1


@dataclass
class PackedForest:
    """An and-or graph that is built from the words up; the last node is the root.

    >>> forest = PackedForest()
    >>> a, n = forest.word("a"), forest.word("n")
    >>> top = forest.node("NP", [Choice((a, n), 0), Choice((n, a), 1)])
    >>> [str(tree) for tree in forest.trees()]
    ['(NP a n)', '(NP n a)']
    """

    names: list[str] = field(default_factory=list)
    choices: list[list[Choice]] = field(default_factory=list)
    spliced: list[bool] = field(default_factory=list)  # parts of a rule, which are no constituents
    symbols: list[str | None] = field(default_factory=list)  # what the automaton reads of a word
    leaves: list[Tree | str | None] = field(default_factory=list)  # what stands in a tree for a word

    def word(self, symbol: str, leaf: Tree | str | None = None, name: str | None = None) -> int:
        """Add a word, which an automaton reads as `symbol` and a tree has as `leaf`; returns its number."""
        return self._add(symbol if name is None else name, [], False, symbol, symbol if leaf is None else leaf)

    def node(self, name: str, choices: Iterable[Choice], *, spliced: bool = False) -> int:
        """Add a node above others; returns its number."""
        alternatives = list(choices)
        if not alternatives:
            raise DataError(f"node {name!r} has no choices; a leaf is a word")
        for below in itertools.chain.from_iterable(choice.below for choice in alternatives):
            if not 0 <= below < len(self.names):
                raise DataError(f"node {name!r} stands above node {below}, which is not there yet; add it first")
        if any(not choice.below for choice in alternatives):
            raise DataError(f"a choice of node {name!r} has nothing below; leave it out")
        return self._add(name, alternatives, spliced, None, None)

    def _add(self, name: str, choices: list[Choice], spliced: bool, symbol: str | None, leaf: Tree | str | None) -> int:
        self.names.append(name)
        self.choices.append(choices)
        self.spliced.append(spliced)
        self.symbols.append(symbol)
        self.leaves.append(leaf)
        return len(self.names) - 1

    def binarized(self) -> PackedForest:
        """The forest with two nodes at most below a choice: all but the first are gathered in a node of their own.

        >>> forest = PackedForest()
        >>> top = forest.node("S", [Choice((forest.word("a"), forest.word("b"), forest.word("c")))])
        >>> len(forest.binarized().names)
        5
        """
        out, number = PackedForest(), []
        for at, choices in enumerate(self.choices):
            if not choices:
                number.append(out.word(str(self.symbols[at]), self.leaves[at], self.names[at]))
                continue
            if all(len(choice.below) <= 2 for choice in choices):
                same = [Choice(tuple([number[node] for node in choice.below]), choice.parameter) for choice in choices]
                number.append(out._add(self.names[at], same, self.spliced[at], None, None))
                continue
            parts: dict[tuple[int, ...], int] = {}  # suffixes of choices, shared by those that end alike

            def gathered(below: tuple[int, ...], parts: dict[tuple[int, ...], int] = parts) -> int:
                if len(below) == 1:
                    return below[0]
                for size in range(2, len(below) + 1):
                    suffix = below[-size:]
                    if suffix not in parts:
                        rest = suffix[1] if size == 2 else parts[suffix[1:]]
                        name = " ".join(out.names[node] for node in suffix)
                        parts[suffix] = out.node(name, [Choice((suffix[0], rest))], spliced=True)
                return parts[below]

            pairs = []
            for choice in choices:
                below = tuple(number[node] for node in choice.below)
                two = below if len(below) <= 2 else (below[0], gathered(below[1:]))
                pairs.append(Choice(two, choice.parameter))
            number.append(out.node(self.names[at], pairs, spliced=self.spliced[at]))
        return out

    def select(self, choices: Sequence[bool]) -> PackedForest:
        """The forest with only some of its choices, counted over all nodes; nodes that nothing leads to are left out.

        >>> forest = PackedForest()
        >>> top = forest.node("NP", [Choice((forest.word("a"),)), Choice((forest.word("b"),))])
        >>> [str(tree) for tree in forest.select([False, True]).trees()]
        ['(NP b)']
        """
        if len(choices) != self.n_choices:
            raise DataError(
                f"{len(choices)} values do not say which of {self.n_choices} choices stay; pass one for each"
            )
        ends = list(itertools.accumulate(map(len, self.choices)))
        left: list[list[Choice] | None] = [  # None: nothing can be made of the node
            [choice for c, choice in enumerate(own, end - len(own)) if choices[c]]
            for own, end in zip(self.choices, ends, strict=True)
        ]
        for at, own in enumerate(self.choices):
            if own:
                left[at] = [
                    choice for choice in left[at] or [] if all(left[node] is not None for node in choice.below)
                ] or None
        if left[-1] is None:
            raise DataError("no tree is left; keep more choices")
        reached = [False] * len(self.names)
        reached[-1] = True
        for at in range(len(self.names) - 1, -1, -1):
            for choice in (left[at] or []) if reached[at] else []:
                for node in choice.below:
                    reached[node] = True
        out, number = PackedForest(), [-1] * len(self.names)
        for at in range(len(self.names)):
            if reached[at]:
                below = [Choice(tuple(number[n] for n in choice.below), choice.parameter) for choice in left[at] or []]
                number[at] = out._add(self.names[at], below, self.spliced[at], self.symbols[at], self.leaves[at])
        return out

    @property
    def n_choices(self) -> int:
        """Number of choices of all nodes."""
        return sum(map(len, self.choices))

    def n_trees(self) -> int:
        """How many trees it holds.

        >>> forest = PackedForest()
        >>> forest.node("NP", [Choice((forest.word("a"),)), Choice((forest.word("b"),))])
        2
        >>> forest.n_trees()
        2
        """
        counts: list[int] = []
        for choices in self.choices:
            total = 0 if choices else 1
            for choice in choices:
                product = 1
                for node in choice.below:
                    product *= counts[node]
                total += product
            counts.append(total)
        return counts[-1]

    def derivations(self, node: int = -1) -> Iterator[list[int]]:
        """Every tree as its choices from the top, left to right, choices counted over all nodes."""
        first = [0, *itertools.accumulate(len(choices) for choices in self.choices)]

        def below(at: int) -> Iterator[list[int]]:
            if not self.choices[at]:
                yield []
            for c, choice in enumerate(self.choices[at]):
                for parts in itertools.product(*(list(below(part)) for part in choice.below)):
                    yield [first[at] + c, *itertools.chain.from_iterable(parts)]

        return below(node % len(self.names))

    def tree(self, derivation: Sequence[int]) -> Tree:
        """The tree of choices, as `derivations` and samples give them."""
        flat = [choice for choices in self.choices for choice in choices]
        steps = iter(derivation)
        root: list[Tree | str] = []
        # a frame collects the children of a node; spliced nodes collect into the frame around them
        stack: list[tuple[int, list[Tree | str]] | tuple[None, str, list[Tree | str], list[Tree | str]]] = [
            (len(self.names) - 1, root)
        ]
        while stack:
            frame = stack.pop()
            if frame[0] is None:
                _, name, children, around = frame
                around.append(Tree(name, tuple(children)))
                continue
            node, out = frame
            leaf = self.leaves[node]
            if leaf is not None:
                out.append(leaf)
                continue
            target = out
            if not self.spliced[node]:
                target = []
                stack.append((None, self.names[node], target, out))
            stack.extend((below, target) for below in reversed(flat[next(steps)].below))
        (tree,) = root
        if not isinstance(tree, Tree):
            raise DataError("the forest is a single word; a tree needs a label above it")
        return tree

    def derivation(self, tree: Tree) -> list[int]:
        """The choices of one of its trees, as `tree` takes them; where a tree has several, the first.

        >>> forest = PackedForest()
        >>> top = forest.node("NP", [Choice((forest.word("a"), forest.word("n"))), Choice((1, 0))])
        >>> forest.derivation(forest.tree([1]))
        [1]
        """
        first = [0, *itertools.accumulate(len(choices) for choices in self.choices)]
        # linked lists: nodes to come, -1 where a constituent must end; siblings, a place, those around them; choices
        states: list[tuple[Any, Any, Any]] = [((len(self.names) - 1, None), ((tree,), 0, None), None)]
        while states:
            nodes, (siblings, at, around), steps = states.pop()
            if nodes is None:
                return _unlinked(steps)
            node, later = nodes
            if node < 0:
                if at == len(siblings):
                    states.append((later, around, steps))
                continue
            next_one = siblings[at] if at < len(siblings) else None
            if not self.choices[node]:
                if next_one == self.leaves[node]:
                    states.append((later, (siblings, at + 1, around), steps))
                continue
            place = siblings, at, around
            if not self.spliced[node]:
                if not isinstance(next_one, Tree) or next_one.label != self.names[node]:
                    continue
                later, place = (-1, later), (next_one.children, 0, (siblings, at + 1, around))
            for c in reversed(range(len(self.choices[node]))):
                below = later
                for part in reversed(self.choices[node][c].below):
                    below = part, below
                states.append((below, place, (first[node] + c, steps)))
        raise DataError("the forest does not hold this tree")

    def trees(self) -> Iterator[Tree]:
        """Every tree; there may be very many, see `n_trees`."""
        return map(self.tree, self.derivations())

    def dot(self) -> str:
        """The forest as a drawing for Graphviz: boxes are choices."""
        lines = ["digraph forest {", "  ordering=out;"]
        for at, (name, choices) in enumerate(zip(self.names, self.choices, strict=True)):
            shape = "ellipse" if choices else "plaintext"
            lines.append(f'  n{at} [label="{_quoted(name)}", shape={shape}];')
            for c, choice in enumerate(choices):
                label = "" if choice.parameter < 0 else f"x{choice.parameter}"
                lines.append(f'  c{at}_{c} [label="{label}", shape=box, height=0.2];')
                lines.append(f"  n{at} -> c{at}_{c} [dir=none];")
                lines += [f"  c{at}_{c} -> n{node};" for node in choice.below]
        return "\n".join([*lines, "}", ""])


def _unlinked(steps: Any) -> list[int]:
    out = []
    while steps is not None:
        step, steps = steps
        out.append(step)
    return out[::-1]


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
