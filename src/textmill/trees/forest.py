"""Packed forests of trees, and their intersection with n-grams or any automaton.

A forest is an acyclic and-or graph. A node is a word, or a label with choices; a choice is a list of nodes below with a
weight, which is a parameter by number (-1 for weight 1). `weave` intersects forests with an automaton:

    W(leaf) = weight of its event     W(choice) = parameter * prod W(below)     W(node) = sum of W(choices)

Events are n-grams (history, word), met on the way, or the arcs of an acceptor. Structure is built once; sums, samples
and best trees then take any weights of parameters and events (native/trees/forest.h).

Cost: building and each sum visit every choice of the intersection once. Reference: Jansche (2005), Treebank transfer.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from textmill._native import trees as native
from textmill.arrays import Floats, Ids, Ints
from textmill.corpus import Tree
from textmill.errors import DataError
from textmill.model import effective_jobs

__all__ = ["Acceptor", "Choice", "PackedForest", "WovenForests", "WovenSample", "weave"]


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


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


@dataclass(frozen=True)
class Acceptor:
    """A weighted automaton as arcs (source, symbol, target, weight) and final weights by state, in linear scale.

    >>> Acceptor.of(0, [(0, "a", 1, 0.5)], {1: 1.0}).n_states
    2
    """

    start: int
    arcs: tuple[tuple[int, str, int, float], ...]
    finals: dict[int, float]
    n_states: int

    @classmethod
    def of(cls, start: int, arcs: Iterable[tuple[int, str, int, float]], finals: dict[int, float]) -> Acceptor:
        """An acceptor with as many states as are named."""
        edges = tuple(arcs)
        states = 1 + max([start, *finals, *(q for arc in edges for q in (arc[0], arc[2]))])
        return cls(start, edges, dict(finals), states)

    @classmethod
    def from_machine(cls, machine: Any) -> Acceptor:
        """The acceptor of a machine of `fst` over the log or tropical semiring, without epsilon arcs.

        Weights are negative logarithms there, and symbols those of the input table.
        """
        table = machine.input_symbols
        if table is None:
            raise DataError("the machine has no input symbols, which are the words; set them with its symbol tables")
        arcs = []
        for state in machine.states():
            for arc in machine.arcs(state):
                if arc.ilabel == 0:
                    raise DataError(f"state {state} has an epsilon arc; remove them with fst.rmepsilon")
                arcs.append((state, table.symbol(arc.ilabel), arc.nextstate, float(np.exp(-float(arc.weight)))))
        finals = {q: float(np.exp(-float(machine.final(q)))) for q in machine.states() if machine.is_final(q)}
        return cls.of(machine.start, arcs, finals)


class WovenSample(NamedTuple):
    """One tree of each forest, as choices, with what was drawn: log Z of each, counts of parameters and of events."""

    log_z: Floats
    parameter_counts: Floats
    event_counts: Floats
    derivations: list[list[int]]


class WovenForests:
    """Forests that are intersected with one automaton.

    Attributes:
        forests: The plain forests.
        events: For n-grams, (history, word) of each event, the oldest word first; the end of a sentence is "$".
        start_weights: For an acceptor, the weights of its events.
    """

    def __init__(self, forests: Sequence[PackedForest], order: int, acceptor: Acceptor | None) -> None:
        self.forests = list(forests)
        words: dict[str, int] = {}
        arrays = _plain_arrays(self.forests, words)
        no_ids = np.zeros(0, np.int32)
        if acceptor is None:
            automaton: tuple[Any, ...] = (order, 0, np.zeros(1, np.int64), no_ids, no_ids, np.zeros(0, np.uint8))
            self.start_weights = np.zeros(0)
        else:
            arcs = sorted(acceptor.arcs, key=lambda arc: (arc[0], words.setdefault(arc[1], len(words))))
            at = np.zeros(acceptor.n_states + 1, np.int64)
            np.add.at(at, [arc[0] + 1 for arc in arcs], 1)
            final = np.zeros(acceptor.n_states)
            for state, weight in acceptor.finals.items():
                final[state] = weight
            self.start_weights = np.concatenate([np.array([arc[3] for arc in arcs], np.float64), final])
            labels = np.array([words[arc[1]] for arc in arcs], np.int32)
            targets = np.array([arc[2] for arc in arcs], np.int32)
            automaton = (0, acceptor.start, np.cumsum(at), labels, targets, (final > 0).astype(np.uint8))
        try:
            self._native = native.Forests(*arrays, *automaton)
        except ValueError as fault:
            raise DataError(f"{fault}; look at its words and at the automaton") from None
        self.n_parameters = int(arrays[5].max(initial=-1)) + 1
        self.events = self._events(list(words)) if acceptor is None else []
        self._first = [0, *itertools.accumulate(_n_choices(forest) for forest in self.forests)]

    def _events(self, words: list[str]) -> list[tuple[tuple[str, ...], str]]:
        states, symbols, at, flat = (array.tolist() for array in self._native.events())
        histories = [tuple(words[w] for w in flat[b:e]) for b, e in itertools.pairwise(at)]
        return [(histories[q], "$" if w < 0 else words[w]) for q, w in zip(states, symbols, strict=True)]

    @property
    def n_events(self) -> int:
        """Number of events."""
        return int(self._native.n_events)

    @property
    def n_bytes(self) -> int:
        """Memory of the intersections."""
        return int(self._native.n_bytes)

    @property
    def native(self) -> Any:
        """The native forests, for kernels."""
        return self._native

    def sizes(self, sentence: int = 0) -> dict[str, int]:
        """Nodes with choices, leaves and choices of one intersection, its top and end leaves apart."""
        node_at, event, choice_at, *_, node, _, _ = self._native.arrays()
        part = slice(int(node_at[sentence]), int(node_at[sentence + 1]))
        inner, below_root = event[part] < 0, node[part] >= 0
        choices = np.diff(choice_at)[part]
        return {
            "nodes": int((inner & below_root).sum()),
            "leaves": int((~inner & below_root).sum()),
            "choices": int(choices[below_root].sum()),
            "top_choices": int(choices[~below_root].sum()),
            "all_nodes": int(node_at[sentence + 1] - node_at[sentence]),
        }

    def triples(self, sentence: int = 0) -> list[str]:
        """Nodes of an intersection with n-grams in the paper's naming, (a, N, b), with their numbers of choices."""
        node_at, event, choice_at, *_, node, source, target = (array.tolist() for array in self._native.arrays())
        state = {}
        for number, (history, _) in zip(self._native.events()[0].tolist(), self.events, strict=True):
            state[number] = history[-1] if history else "#"
        out = []
        for at in range(node_at[sentence], node_at[sentence + 1]):
            a, b = state.get(source[at], "#"), state.get(target[at], "$")
            name = self.forests[sentence].names[node[at]] if node[at] >= 0 else "$" if event[at] >= 0 else "ROOT"
            choices = choice_at[at + 1] - choice_at[at]
            out.append(f"({a}, {name}, {b if node[at] >= 0 else '$'})" + (f": {choices}" if event[at] < 0 else ""))
        return out

    def expect(self, parameters: Floats, events: Floats, n_jobs: int | None = None) -> tuple[Floats, Floats, Floats]:
        """Return log Z of each forest, and expected counts of parameters and of events over all."""
        log_z, counts, event_counts = self._native.expect(parameters, events, effective_jobs(n_jobs))
        self._check(log_z)
        return log_z, counts, event_counts

    def sample(
        self,
        parameters: Floats,
        events: Floats,
        *,
        random_state: int = 0,
        iteration: int = 0,
        trees: bool = True,
        n_jobs: int | None = None,
    ) -> WovenSample:
        """Draw a tree of each forest by its weight; `trees` says whether derivations are wanted or only counts."""
        log_z, counts, event_counts, at, flat = self._native.sample(
            parameters, events, random_state, iteration, trees, effective_jobs(n_jobs)
        )
        self._check(log_z)
        return WovenSample(log_z, counts, event_counts, self.derivations(at, flat) if trees else [])

    def best(
        self, parameters: Floats, events: Floats, k: int = 1, n_jobs: int | None = None
    ) -> list[list[tuple[float, list[int]]]]:
        """Return the k best trees of each forest as (log weight, derivation), best first."""
        tree_at, scores, at, flat = self._native.best(parameters, events, k, effective_jobs(n_jobs))
        owner = np.repeat(np.arange(len(self.forests)), np.diff(tree_at))
        derivations = self.derivations(at, flat, owner.tolist())
        trees = list(zip(scores.tolist(), derivations, strict=True))
        return [trees[begin:end] for begin, end in itertools.pairwise(tree_at.tolist())]

    def derivations(self, at: Ints, flat: Ids, owner: Sequence[int] | None = None) -> list[list[int]]:
        """Choices of all forests as choices of each."""
        bounds, ids = at.tolist(), flat.tolist()
        owners = range(len(bounds) - 1) if owner is None else owner
        return [
            [choice - self._first[s] for choice in ids[begin:end]]
            for s, (begin, end) in zip(owners, itertools.pairwise(bounds), strict=True)
        ]

    def tree_log_weight(
        self, derivation: Sequence[int], parameters: Floats, events: Floats, sentence: int = 0
    ) -> float:
        """The log weight of one tree, for n-grams; minus log Z it is the log posterior."""
        forest = self.forests[sentence]
        flat = [choice for choices in forest.choices for choice in choices]
        total = sum(float(np.log(parameters[flat[c].parameter])) for c in derivation if flat[c].parameter >= 0)
        number = {event: at for at, event in enumerate(self.events)}
        longest = max(len(history) for history, _ in self.events)
        steps, stack = iter(derivation), [len(forest.names) - 1]
        history: tuple[str, ...] = ()
        while stack:
            node = stack.pop()
            symbol = forest.symbols[node]
            if symbol is None:
                stack.extend(reversed(flat[next(steps)].below))
                continue
            total += float(np.log(events[number[history, symbol]]))
            history = (*history, symbol)[-longest:] if longest else ()
        return total + float(np.log(events[number[history, "$"]]))

    def _check(self, log_z: Floats) -> None:
        bad = np.flatnonzero(~np.isfinite(log_z))
        if len(bad):
            raise DataError(
                f"no tree of sentence {int(bad[0]) + 1} has a weight above 0; smooth the language model, or declare "
                "more orders"
            )


def weave(forests: Sequence[PackedForest], *, order: int = 2, acceptor: Acceptor | None = None) -> WovenForests:
    """Intersect forests with all n-grams of an order, or with an acceptor; choices of more than two nodes are split.

    >>> forest = PackedForest()
    >>> top = forest.node("NP", [Choice((forest.word("a"), forest.word("n")), 0), Choice((1, 0), 1)])
    >>> woven = weave([forest])
    >>> woven.events[0]
    ((), 'a')
    >>> woven.sizes()["nodes"]
    2
    """
    if not forests:
        raise DataError("there is no forest to intersect; pass at least one")
    if order < 1:
        raise DataError(f"order must be at least 1, got {order}")
    return WovenForests([forest.binarized() for forest in forests], order, acceptor)


def _n_choices(forest: PackedForest) -> int:
    return sum(map(len, forest.choices))


def _plain_arrays(forests: Sequence[PackedForest], words: dict[str, int]) -> tuple[Any, ...]:
    """The arrays of native/trees/forest.h."""
    node_at, word, choice_at, left, right, parameter = [0], [], [0], [], [], []
    for forest in forests:
        for symbol, choices in zip(forest.symbols, forest.choices, strict=True):
            word.append(-1 if symbol is None else words.setdefault(symbol, len(words)))
            for choice in choices:
                left.append(choice.below[0])
                right.append(choice.below[1] if len(choice.below) == 2 else -1)
                parameter.append(choice.parameter)
            choice_at.append(len(left))
        node_at.append(len(word))
    kinds = (np.int64, np.int32, np.int64, np.int32, np.int32, np.int32)
    lists = (node_at, word, choice_at, left, right, parameter)
    return tuple(np.array(values, kind) for values, kind in zip(lists, kinds, strict=True))
