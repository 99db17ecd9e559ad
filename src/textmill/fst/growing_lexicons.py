"""Words added to a minimal acceptor that is finished, without building it again.

    add a word:   copy the states on its path that others lead to as well, add what is missing,
                  then look each of them up from the end on, and drop it for an equal one

A state is known by its final weight and its arcs; equal states are the same, so the machine stays minimal after each
word. Weights stay as far towards the start as they can be: an arc that a cheaper word follows gets its cost, and what
lies behind it the rest. Cost: O(states + arcs) to begin with, then O(characters) for a word, times the arcs of a state.
Reference: Carrasco & Forcada (2002), Incremental construction and maintenance of minimal finite-state automata.
"""

from __future__ import annotations

from collections.abc import Iterable

from textmill.errors import DataError
from textmill.fst.machine import Fst
from textmill.model import check_choice

__all__ = ["GrowingLexicon"]

_GRAIN = 2.0**-20  # weights nearer than this are equal
_Signature = tuple[float | None, tuple[tuple[int, float, int], ...]]


class GrowingLexicon:
    """A lexicon that words are added to; begins with one that `lexicon` has made, or with none.

    >>> from textmill.fst import lexicon
    >>> growing = GrowingLexicon(lexicon(["walked", "talked"]))
    >>> growing.add("walking"), growing.add("talking"), growing.add("talked")
    (True, True, False)
    >>> growing.fst().num_states == lexicon(["walked", "talked", "walking", "talking"]).num_states
    True
    """

    def __init__(self, lexicon: Fst | None = None, *, token_type: str = "utf8") -> None:
        check_choice("token_type", token_type, ["utf8", "byte"])
        self.token_type = token_type
        self._finals: list[float | None] = []
        self._arcs: list[dict[int, tuple[float, int]]] = []
        self._callers: list[int] = []  # how many arcs lead to a state
        self._register: dict[_Signature, int] = {}
        self._free: list[int] = []
        self._symbols = (None, None) if lexicon is None else (lexicon.input_symbols, lexicon.output_symbols)
        if lexicon is None or lexicon.start < 0:
            self._start = self._new(None, {})
            return
        if lexicon.semiring.name != "tropical":
            raise DataError(f"a lexicon has tropical weights, not {lexicon.semiring.name}; convert it first")
        if lexicon.has("cyclic") or not lexicon.has("acceptor") or not lexicon.has("input_deterministic"):
            raise DataError("words are added to a deterministic acceptor without cycles; minimize it first")
        if lexicon.has("epsilons"):
            raise DataError("words are added to an acceptor without epsilons; remove them first")
        zero = lexicon.semiring.zero
        states = range(lexicon.num_states)
        finals = [lexicon.final(state) for state in states]
        self._finals = [None if final == zero else final for final in finals]
        self._arcs = [{arc.ilabel: (arc.weight, arc.nextstate) for arc in lexicon.arcs(state)} for state in states]
        self._callers = [0] * lexicon.num_states
        for arcs in self._arcs:
            for _, target in arcs.values():
                self._callers[target] += 1
        self._start = lexicon.start
        for state in states:
            if state != self._start:
                self._register.setdefault(self._signature(state), state)

    def add(self, word: str | bytes, weight: float = 0.0) -> bool:
        """Add a word; was it new? Of equal words the least weight counts.

        >>> growing = GrowingLexicon()
        >>> growing.add("tea", 2.0), growing.add("tea", 1.0), growing.fst().num_states
        (True, False, 4)
        """
        labels = self._labels(word)
        if not labels:
            raise DataError("an empty word cannot be added")
        if weight != weight or abs(weight) == float("inf"):
            raise DataError(f"the weight of a word must be finite, got {weight}")
        return self._add(labels, weight)

    def _add(self, labels: list[int], weight: float) -> bool:
        path, rest = [self._start], weight
        for label in labels:
            state = path[-1]
            old = self._arcs[state].get(label)
            least = rest if old is None else min(rest, old[0])
            target = self._own(old[1], old[0] - least) if old is not None else self._new(None, {})
            if old is not None and target != old[1]:
                self._callers[old[1]] -= 1
                self._callers[target] += 1
            if old is None:
                self._callers[target] += 1
            self._arcs[state][label] = (least, target)
            path.append(target)
            rest -= least
        last = self._finals[path[-1]]
        self._finals[path[-1]] = rest if last is None else min(rest, last)
        for before, label, state in reversed(list(zip(path, labels, path[1:], strict=False))):
            same = self._register.setdefault(self._signature(state), state)
            if same != state:
                cost, _ = self._arcs[before][label]
                self._arcs[before][label] = (cost, same)
                self._callers[same] += 1
                self._drop(state)
        return last is None

    def update(self, words: Iterable[str | tuple[str, float]]) -> int:
        """Add many words, or pairs of a word and its weight; how many were new?

        >>> GrowingLexicon().update(["to", "ten", "to"])
        2
        """
        return sum(self.add(word) if isinstance(word, str) else self.add(*word) for word in words)

    def merge(self, lexicon: Fst) -> int:
        """Add the words of another lexicon; how many were new?

        >>> from textmill.fst import lexicon
        >>> GrowingLexicon(lexicon(["to", "tea"])).merge(lexicon(["tea", "ten"]))
        1
        """
        other, new = GrowingLexicon(lexicon, token_type=self.token_type), 0
        line: list[tuple[int, float, tuple[int, ...]]] = [(other._start, 0.0, ())]
        while line:
            state, weight, labels = line.pop()
            final = other._finals[state]
            if final is not None:
                new += self._add(list(labels), weight + final)
            line += [(target, weight + w, (*labels, label)) for label, (w, target) in other._arcs[state].items()]
        return new

    def __contains__(self, word: object) -> bool:
        state = self._start
        for label in self._labels(word) if isinstance(word, str | bytes) else [0]:
            if label not in self._arcs[state]:
                return False
            state = self._arcs[state][label][1]
        return self._finals[state] is not None

    def fst(self) -> Fst:
        """The minimal acceptor of all words.

        >>> growing = GrowingLexicon(); _ = growing.add("to"); growing.fst().num_arcs
        2
        """
        machine = Fst("tropical", input_symbols=self._symbols[0], output_symbols=self._symbols[1])
        numbers, order = {self._start: 0}, [self._start]
        for state in order:  # grows meanwhile
            for _, target in self._arcs[state].values():
                if target not in numbers:
                    numbers[target] = len(order)
                    order.append(target)
        machine.add_states(len(order))
        machine.start = 0
        for state in order:
            for label, (weight, target) in sorted(self._arcs[state].items()):
                machine.add_arc(numbers[state], label, label, weight, numbers[target])
            final = self._finals[state]
            if final is not None:
                machine.set_final(numbers[state], final)
        return machine

    def _labels(self, word: str | bytes) -> list[int]:
        if self.token_type == "byte":
            return list(word.encode("utf-8", "surrogateescape") if isinstance(word, str) else word)
        if isinstance(word, bytes):
            raise DataError("labels of this lexicon are characters, so a word is a str")
        return [ord(character) for character in word]

    def _new(self, final: float | None, arcs: dict[int, tuple[float, int]]) -> int:
        """A state with these arcs, which nobody leads to."""
        if self._free:
            state = self._free.pop()
            self._finals[state], self._arcs[state], self._callers[state] = final, arcs, 0
        else:
            state = len(self._finals)
            self._finals.append(final)
            self._arcs.append(arcs)
            self._callers.append(0)
        for _, target in arcs.values():
            self._callers[target] += 1
        return state

    def _own(self, state: int, more: float) -> int:
        """A state like this one that may be changed, with more weight on all that leaves it."""
        if self._register.get(self._signature(state)) == state and self._callers[state] <= 1:
            del self._register[self._signature(state)]
        elif self._callers[state] > 1:
            state = self._new(self._finals[state], dict(self._arcs[state]))
        if more:
            final = self._finals[state]
            self._finals[state] = None if final is None else final + more
            self._arcs[state] = {
                label: (weight + more, target) for label, (weight, target) in self._arcs[state].items()
            }
        return state

    def _drop(self, state: int) -> None:
        """Forget a state that nobody leads to any more; what it led to has other callers."""
        for _, target in self._arcs[state].values():
            self._callers[target] -= 1
        self._arcs[state], self._finals[state] = {}, None
        self._free.append(state)

    def _signature(self, state: int) -> _Signature:
        def grain(weight: float) -> float:
            return round(weight / _GRAIN)

        final = self._finals[state]
        arcs = self._arcs[state].items()
        return (
            None if final is None else grain(final),
            tuple(sorted((label, grain(weight), target) for label, (weight, target) in arcs)),
        )
