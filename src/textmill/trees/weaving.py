"""The intersection of packed forests with n-grams or any automaton: sums, samples and best trees.

    W(leaf) = weight of its event     W(choice) = parameter * prod W(below)     W(node) = sum of W(choices)

Events are n-grams (history, word), met on the way, or the arcs of an acceptor. Structure is built once; sums, samples
and best trees then take any weights of parameters and events (native/trees/forest.h). With n-grams of order 1 and
weights 1 the forest is as it was without an automaton: its shares are a grammar that is normalized at each node.

Cost: building and each sum visit every choice of the intersection once. References: Jansche (2005), Treebank transfer;
Huang & Chiang (2007), Forest rescoring.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from textmill._native import trees as native
from textmill.arrays import Floats, Ids, Ints
from textmill.errors import DataError
from textmill.model import check_range, effective_jobs
from textmill.trees.forest import PackedForest

__all__ = ["Acceptor", "ForestRule", "WovenForests", "WovenSample", "weave"]


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
            raise DataError(
                "the machine has no input symbols, which are the words; set them with its symbol tables, or "
                "compile it with --isymbols and --keep_isymbols"
            )
        arcs = []
        for state in machine.states():
            for arc in machine.arcs(state):
                if arc.ilabel == 0:
                    raise DataError(f"state {state} has an epsilon arc; remove them with fst.rmepsilon")
                arcs.append((state, table.symbol(arc.ilabel), arc.nextstate, float(np.exp(-float(arc.weight)))))
        finals = {q: float(np.exp(-float(machine.final(q)))) for q in machine.states() if machine.is_final(q)}
        return cls.of(machine.start, arcs, finals)

    def to_list(self) -> list[Any]:
        """Start, arcs and final states as plain lists.

        >>> Acceptor.of(0, [(0, "a", 1, 0.5)], {1: 1.0}).to_list()
        [0, [[0, 'a', 1, 0.5]], [[1, 1.0]]]
        """
        return [self.start, [list(arc) for arc in self.arcs], [list(final) for final in self.finals.items()]]

    @classmethod
    def from_list(cls, values: Sequence[Any]) -> Acceptor:
        """The acceptor of such lists.

        >>> Acceptor.from_list([0, [[0, "a", 1, 0.5]], [[1, 1.0]]]).finals
        {1: 1.0}
        """
        try:
            start, arcs, finals = values
            edges = [(int(a), str(word), int(b), float(weight)) for a, word, b, weight in arcs]
            ends = {int(q): float(weight) for q, weight in finals}
            states = [int(start), *ends, *(q for edge in edges for q in (edge[0], edge[2]))]
        except (TypeError, ValueError):
            raise DataError("an acceptor is a list of its start, its arcs and its final states") from None
        if min(states) < 0:
            raise DataError("states of an acceptor are numbered from 0")
        return cls.of(int(start), edges, ends)


class ForestRule(NamedTuple):
    """A choice of an intersection: a node, what is below it, and the share of the node's weight."""

    node: str
    below: tuple[str, ...]
    probability: float


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
        self.n_parameters = int(arrays[-1].max(initial=-1)) + 1
        self.events = self._events(list(words)) if acceptor is None else []

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

    @property
    def n_structures(self) -> int:
        """Number of different intersections; sentences with the same forest share one."""
        return len(self._native.arrays()[1]) - 1

    def sizes(self, sentence: int = 0) -> dict[str, int]:
        """Nodes with choices, leaves and choices of one intersection, its top and end leaves apart."""
        structure, node_at, event, choice_at, *_, node, _, _ = self._native.arrays()
        part = slice(int(node_at[structure[sentence]]), int(node_at[structure[sentence] + 1]))
        inner, below_root = event[part] < 0, node[part] != -1
        choices = np.diff(choice_at)[part]
        return {
            "nodes": int((inner & below_root).sum()),
            "leaves": int((~inner & below_root).sum()),
            "choices": int(choices[below_root].sum()),
            "top_choices": int(choices[~below_root].sum()),
            "all_nodes": part.stop - part.start,
        }

    def triples(self, sentence: int = 0) -> list[str]:
        """Nodes of an intersection with n-grams in the paper's naming, (a, N, b), with their numbers of choices.

        A part of a node N that was swept from the left is named (a, N..., b).
        """
        structure, node_at, event, choice_at, *_ = (array.tolist() for array in self._native.arrays())
        first, end = node_at[structure[sentence]], node_at[structure[sentence] + 1]
        return [
            name + (f": {choice_at[at + 1] - choice_at[at]}" if event[at] < 0 else "")
            for at, name in zip(range(first, end), self._names(sentence), strict=True)
        ]

    def _names(self, sentence: int) -> list[str]:
        structure, node_at, event, *_, node, source, target = (array.tolist() for array in self._native.arrays())
        state: dict[int, str] = {}
        for number, (history, _) in zip(self._native.events()[0].tolist(), self.events, strict=False):
            state[number] = history[-1] if history else "#"
        if not self.events:  # of an acceptor
            state = {q: str(q) for q in itertools.chain(source, target)}
        names, out = self.forests[sentence].names, []
        for at in range(node_at[structure[sentence]], node_at[structure[sentence] + 1]):
            own, a, b = node[at], state.get(source[at], "#"), state.get(target[at], "$")
            if own == -1:
                out.append(f"({a}, {'$' if event[at] >= 0 else 'ROOT'}, $)")
            else:
                out.append(f"({a}, {names[own] if own >= 0 else names[-2 - own] + '...'}, {b})")
        return out

    def grammar(self, parameters: Floats, events: Floats, sentence: int = 0) -> list[ForestRule]:
        """The choices of one intersection with P(choice | node): a grammar that is normalized at each node.

        The product of the probabilities of a tree's choices is its posterior. To normalize a forest alone, intersect
        it with n-grams of order 1 and give all events the weight 1.

        >>> from textmill.trees import Choice
        >>> forest = PackedForest()
        >>> top = forest.node("NP", [Choice((forest.word("a"), forest.word("n")), 0), Choice((1, 0), 1)])
        >>> alone = weave([forest], order=1)
        >>> [rule.probability for rule in alone.grammar(np.array([0.3, 0.9]), np.ones(alone.n_events))]
        [0.25, 0.75, 1.0]
        """
        shares = self._native.shares(parameters, events, sentence)
        names = self._names(sentence)
        structure, node_at, _, choice_at, left, right, *_ = (array.tolist() for array in self._native.arrays())
        first, end = node_at[structure[sentence]], node_at[structure[sentence] + 1]
        rules = []
        for at in range(first, end):
            for c in range(choice_at[at], choice_at[at + 1]):
                below = tuple(names[n] for n in (left[c], right[c]) if n >= 0)
                rules.append(ForestRule(names[at - first], below, float(shares[c - choice_at[first]])))
        return rules

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
        return WovenSample(log_z, counts, event_counts, _split(at, flat) if trees else [])

    def best(
        self, parameters: Floats, events: Floats, k: int = 1, n_jobs: int | None = None
    ) -> list[list[tuple[float, list[int]]]]:
        """Return the k best trees of each forest as (log weight, derivation), best first."""
        tree_at, scores, at, flat = self._native.best(parameters, events, k, effective_jobs(n_jobs))
        trees = list(zip(scores.tolist(), _split(at, flat), strict=True))
        return [trees[begin:end] for begin, end in itertools.pairwise(tree_at.tolist())]

    def reject(
        self,
        parameters: Floats,
        events: Floats,
        *,
        random_state: int = 0,
        max_tries: int = 100_000,
        n_jobs: int | None = None,
    ) -> tuple[Ints, list[list[int]]]:
        """Draw a tree of each forest by rejection; returns the numbers of tries, and derivations.

        The forest without the automaton proposes; a proposal is taken by the ratio of its automaton weight to the
        largest one. Trees have the distribution of `sample`, at the cost of the tries.
        """
        check_range("max_tries", max_tries, at_least=1, whole=True)
        tries, at, flat = self._native.reject(parameters, events, random_state, max_tries, effective_jobs(n_jobs))
        failed = np.flatnonzero(tries == 0)
        if len(failed):
            raise DataError(
                f"none of {max_tries} proposals for sentence {int(failed[0]) + 1} was taken; raise max_tries, or draw "
                "with sample, which needs no tries"
            )
        return tries, _split(at, flat)

    def pruned(
        self, parameters: Floats, events: Floats, *, beam: float, n_jobs: int | None = None
    ) -> list[PackedForest]:
        """Cut the forests down to what good trees use, for the intersection with a larger model.

        A choice stays if the best tree that makes it has a log weight of at most `beam` below the best tree: all trees
        within the beam stay, and their weights do not change.
        """
        check_range("beam", beam, at_least=0)
        at = np.concatenate([[0], np.cumsum([forest.n_choices for forest in self.forests])]).astype(np.int64)
        through, best = self._native.best_through(parameters, events, at, effective_jobs(n_jobs))
        self._check(best)
        return [
            forest.select((through[begin:end] >= top - beam - 1e-9 * max(abs(top), 1.0)).tolist())
            for forest, (begin, end), top in zip(
                self.forests, itertools.pairwise(at.tolist()), best.tolist(), strict=True
            )
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


def weave(
    forests: Sequence[PackedForest], *, order: int = 2, acceptor: Acceptor | None = None, binarize: bool = True
) -> WovenForests:
    """Intersect forests with all n-grams of an order, or with an acceptor.

    Choices of more than two nodes are made binary first, from the right, or else swept from the left as they are: sums
    and trees are the same, sizes differ.

    >>> from textmill.trees import Choice
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
    return WovenForests([forest.binarized() for forest in forests] if binarize else forests, order, acceptor)


def _split(at: Ints, flat: Ids) -> list[list[int]]:
    ids = flat.tolist()
    return [ids[begin:end] for begin, end in itertools.pairwise(at.tolist())]


def _plain_arrays(forests: Sequence[PackedForest], words: dict[str, int]) -> tuple[Any, ...]:
    """The arrays of native/trees/forest.h."""
    below: list[int] = []
    node_at, word, choice_at, below_at, parameter = [0], [], [0], [0], []
    for forest in forests:
        for symbol, choices in zip(forest.symbols, forest.choices, strict=True):
            word.append(-1 if symbol is None else words.setdefault(symbol, len(words)))
            for choice in choices:
                below.extend(choice.below)
                below_at.append(len(below))
                parameter.append(choice.parameter)
            choice_at.append(len(parameter))
        node_at.append(len(word))
    kinds = (np.int64, np.int32, np.int64, np.int64, np.int32, np.int32)
    lists = (node_at, word, choice_at, below_at, below, parameter)
    return tuple(np.array(values, kind) for values, kind in zip(lists, kinds, strict=True))
