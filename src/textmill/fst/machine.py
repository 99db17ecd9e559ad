"""Weighted finite-state transducers: states, arcs, weights, properties.

    T = (states 0 ... N-1, start, final weights, arcs (source, input label, output label, weight, next state))

Label 0 is epsilon, the empty string; an acceptor has equal labels on every arc. Arcs of a state are contiguous in one
flat array (native/fst/machine.h), so a machine takes 16 bytes per arc with 32-bit weights. A copy costs nothing until
one of the two is changed. A machine that is mapped from a file is changed through the same door: the first change
copies its arrays once, at the speed of memory, and all later ones cost what they cost elsewhere; where that copy is too
much, `EditedFst` (overlay.py) keeps changes beside the file. What an operation or an iterator reads is never changed
under it: iterators raise when they find that their machine has changed. Machines know their properties (acceptor,
sorted, acyclic, ...) until they are changed, and compute them in O(N + M) when they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.fst.semirings import Semiring, Weight, semiring
from textmill.fst.symbols import SymbolTable

__all__ = ["EPSILON", "NO_STATE", "PROPERTIES", "Arc", "Fst", "agreed"]

EPSILON = 0
NO_STATE = -1

# the bits of OpenFst: a question and its two answers
PROPERTIES: Mapping[str, tuple[int, int]] = {
    name: (0x10000 << 2 * i, 0x20000 << 2 * i)
    for i, name in enumerate(
        (
            "acceptor",
            "input_deterministic",
            "output_deterministic",
            "epsilons",
            "input_epsilons",
            "output_epsilons",
            "input_sorted",
            "output_sorted",
            "weighted",
            "cyclic",
            "initial_cyclic",
            "top_sorted",
            "accessible",
            "coaccessible",
            "string",
            "weighted_cycles",
        )
    )
}


class Arc(NamedTuple):
    """An arc as Python sees it."""

    ilabel: int
    olabel: int
    weight: Weight
    nextstate: int


class Fst:
    """A machine over a semiring.

    >>> fst = Fst()
    >>> first, last = fst.add_states(2)
    >>> fst.start = first
    >>> fst.add_arc(first, 1, 2, 0.5, last)
    >>> fst.set_final(last)
    >>> fst
    Fst('tropical', 2 states, 1 arcs)
    >>> fst.arcs(first)
    [Arc(ilabel=1, olabel=2, weight=0.5, nextstate=1)]
    """

    __slots__ = ("_native", "input_symbols", "output_symbols")

    def __init__(
        self,
        semiring_name: str | Semiring = "tropical",
        *,
        input_symbols: SymbolTable | None = None,
        output_symbols: SymbolTable | None = None,
    ) -> None:
        self._native = native.Machine(semiring(semiring_name)._native)
        self.input_symbols = input_symbols
        self.output_symbols = output_symbols

    @classmethod
    def _of(cls, machine: native.Machine, input_symbols: SymbolTable | None, output_symbols: SymbolTable | None) -> Fst:
        fst = cls.__new__(cls)
        fst._native = machine
        fst.input_symbols = input_symbols
        fst.output_symbols = output_symbols
        return fst

    @classmethod
    def from_arrays(
        cls,
        semiring_name: str | Semiring,
        *,
        start: int,
        sources: ArrayLike,
        ilabels: ArrayLike,
        olabels: ArrayLike,
        nextstates: ArrayLike,
        weights: ArrayLike | None = None,
        final_states: ArrayLike,
        final_weights: ArrayLike | None = None,
        states: int | None = None,
    ) -> Fst:
        """A machine from columns, without a Python object an arc; weights are one where they are missing.

        >>> arcs = {"sources": [0], "ilabels": [1], "olabels": [1], "nextstates": [1]}
        >>> Fst.from_arrays("tropical", start=0, final_states=[1], **arcs)
        Fst('tropical', 2 states, 1 arcs)
        """
        algebra = semiring(semiring_name)

        def whole(values: ArrayLike) -> NDArray[np.int32]:
            array = np.asarray(values)
            if array.size and (array.min() < -1 or array.max() > np.iinfo(np.int32).max):
                raise DataError("labels and states are whole numbers from 0 to 2,147,483,647")
            return np.ascontiguousarray(array, dtype=np.int32)

        def component(values: ArrayLike | None) -> NDArray[np.uint8] | None:
            if values is None:
                return None
            return np.ascontiguousarray(values, dtype=algebra.dtype).reshape(-1).view(np.uint8)

        columns = [whole(column) for column in (sources, ilabels, olabels, nextstates, final_states)]
        count = states
        if count is None:
            count = max(
                (int(column.max()) for column in (columns[0], columns[3], columns[4]) if column.size), default=start
            )
            count = max(count, start) + 1
        machine = native.Machine.from_columns(
            algebra._native,
            start,
            columns[0],
            columns[1],
            columns[2],
            component(weights),
            columns[3],
            columns[4],
            component(final_weights),
            count,
        )
        return cls._of(machine, None, None)

    # ---- what it is

    @property
    def semiring(self) -> Semiring:
        """The semiring of its weights."""
        return Semiring(self._native.semiring)

    @property
    def num_states(self) -> int:
        """How many states there are."""
        return int(self._native.states)

    @property
    def num_arcs(self) -> int:
        """How many arcs there are in all."""
        return int(self._native.arcs)

    @property
    def start(self) -> int:
        """The start state; -1 while there is none."""
        return int(self._native.start)

    @start.setter
    def start(self, state: int) -> None:
        self._native.set_start(state)

    @property
    def nbytes(self) -> int:
        """Bytes of memory of states and arcs; 0 for a mapped machine."""
        return int(self._native.memory)

    @property
    def is_mapped(self) -> bool:
        """Do its arrays lie in a file?"""
        return bool(self._native.mapped)

    def final(self, state: int) -> Weight:
        """The final weight of a state: zero unless it is final.

        >>> fst = Fst(); _ = fst.add_state(); fst.final(0)
        inf
        """
        return self._native.final(state)

    def is_final(self, state: int) -> bool:
        """Is the final weight of the state not zero?

        >>> fst = Fst(); _ = fst.add_state(); fst.is_final(0)
        False
        """
        return bool(self._native.final(state) != self._native.semiring.zero)

    def num_arcs_of(self, state: int) -> int:
        """How many arcs leave a state.

        >>> fst = Fst(); _ = fst.add_state(); fst.num_arcs_of(0)
        0
        """
        return int(self._native.counts(state)[0])

    def arcs(self, state: int) -> list[Arc]:
        """The arcs that leave a state.

        >>> fst = Fst(); _ = fst.add_state(); fst.add_arc(0, 1, 1, 2.0, 0); fst.arcs(0)[0].weight
        2.0
        """
        return [Arc(*arc) for arc in self._native.arc_list(state)]

    def states(self) -> Iterator[int]:
        """The states; changing the machine meanwhile is an error.

        >>> fst = Fst(); _ = fst.add_states(2); list(fst.states())
        [0, 1]
        """
        version, count = self._native.version, self.num_states
        for state in range(count):
            self._unchanged(version)
            yield state

    def iter_arcs(self) -> Iterator[tuple[int, Arc]]:
        """All arcs with their sources; changing the machine meanwhile is an error.

        >>> fst = Fst(); _ = fst.add_state(); fst.add_arc(0, 1, 1, None, 0); [source for source, _ in fst.iter_arcs()]
        [0]
        """
        version = self._native.version
        for state in range(self.num_states):
            for arc in self._native.arc_list(state):
                self._unchanged(version)
                yield state, Arc(*arc)

    def _unchanged(self, version: int) -> None:
        if self._native.version != version:
            raise DataError(
                "the machine was changed while it was iterated; iterate over a copy: for ... in fst.copy().states()"
            )

    def arc_array(self, state: int) -> NDArray[Any]:
        """The arcs of a state as a structured array, without copying; it keeps showing the machine as it is now.

        >>> fst = Fst(); _ = fst.add_state(); fst.add_arc(0, 1, 2, 0.5, 0)
        >>> fst.arc_array(0)["olabel"].tolist()
        [2]
        """
        array: NDArray[Any] = self._native.arc_bytes(state).view(self._arc_dtype())
        array.flags.writeable = False
        return array

    def arrays(self) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]:
        """Copies of everything: offsets of states into the arcs, arcs as a structured array, final weights.

        >>> fst = Fst(); _ = fst.add_state(); fst.add_arc(0, 1, 2, 0.5, 0)
        >>> [array.tolist() for array in fst.arrays()]
        [[0, 1], [(1, 2, 0.5, 0)], [inf]]
        """
        offsets, arcs, finals = self._native.arrays()
        return offsets, arcs.view(self._arc_dtype()), finals.view(self.semiring.dtype)

    def _arc_dtype(self) -> np.dtype[Any]:
        size, weight, nextstate = self._native.arc_layout
        return np.dtype(
            {
                "names": ["ilabel", "olabel", "weight", "nextstate"],
                "formats": ["i4", "i4", self.semiring.dtype, "i4"],
                "offsets": [0, 4, weight, nextstate],
                "itemsize": size,
            }
        )

    # ---- properties

    def properties(self, *names: str, test: bool = True) -> dict[str, bool]:
        """What is true of the machine, all of `PROPERTIES` or some; without `test` only what is known already.

        >>> fst = Fst(); _ = fst.add_state(); fst.properties("acceptor", "cyclic")
        {'acceptor': True, 'cyclic': False}
        """
        asked = names or tuple(PROPERTIES)
        for name in asked:
            if name not in PROPERTIES:
                raise DataError(f"no property is called {name!r}; there are {', '.join(PROPERTIES)}")
        mask = sum(sum(PROPERTIES[name]) for name in asked)
        bits = self._native.properties(mask, test)
        return {name: bool(bits & PROPERTIES[name][0]) for name in asked if bits & sum(PROPERTIES[name])}

    def has(self, name: str) -> bool:
        """Is one property true?

        >>> fst = Fst(); _ = fst.add_state(); fst.has("acceptor")
        True
        """
        return self.properties(name)[name]

    # ---- changing it

    def add_state(self) -> int:
        """Add a state and return its number.

        >>> Fst().add_state()
        0
        """
        return int(self._native.add_states(1))

    def add_states(self, n_states: int) -> range:
        """Add several states and return their numbers.

        >>> Fst().add_states(3)
        range(0, 3)
        """
        first = int(self._native.add_states(n_states))
        return range(first, first + n_states)

    def set_final(self, state: int, weight: Weight | None = None) -> None:
        """Give a state a final weight, one if none is given; zero makes it not final.

        >>> fst = Fst(); _ = fst.add_state(); fst.set_final(0, 1.5); fst.final(0)
        1.5
        """
        self._native.set_final(state, weight)

    def add_arc(self, state: int, ilabel: int, olabel: int, weight: Weight | None, nextstate: int) -> None:
        """Add an arc; the weight None is one.

        >>> fst = Fst(); _ = fst.add_state(); fst.add_arc(0, 1, 1, None, 0); fst.num_arcs
        1
        """
        self._native.add_arc(state, ilabel, olabel, weight, nextstate)

    def set_arc(self, state: int, position: int, arc: Arc | Sequence[Any]) -> None:
        """Replace the arc at a position.

        >>> fst = Fst(); _ = fst.add_state(); fst.add_arc(0, 1, 1, None, 0); fst.set_arc(0, 0, (3, 3, 1.0, 0))
        >>> fst.arcs(0)[0].ilabel
        3
        """
        ilabel, olabel, weight, nextstate = arc
        self._native.set_arc(state, position, ilabel, olabel, weight, nextstate)

    def delete_arcs(self, state: int, *, keep: int = 0) -> None:
        """Delete the arcs of a state but the first `keep`.

        >>> fst = Fst(); _ = fst.add_state(); fst.add_arc(0, 1, 1, None, 0); fst.delete_arcs(0); fst.num_arcs
        0
        """
        self._native.delete_arcs(state, keep)

    def delete_states(self, states: Sequence[int] | None = None) -> None:
        """Delete states and the arcs that lead to them, all if none are named; the others are renumbered in order.

        >>> fst = Fst(); _ = fst.add_states(3); fst.delete_states([1]); fst.num_states
        2
        """
        if states is None:
            self._native.clear()
        else:
            self._native.delete_states(list(states))

    def reserve(self, states: int, arcs: int) -> None:
        """Make room at once for what will be added.

        >>> Fst().reserve(1000, 5000)
        """
        self._native.reserve(states, arcs)

    def copy(self) -> Fst:
        """A copy; costs nothing until one of the two is changed.

        >>> fst = Fst(); other = fst.copy(); _ = other.add_state(); fst.num_states
        0
        """
        return Fst._of(self._native.copy(), self.input_symbols, self.output_symbols)

    def _like(self, machine: native.Machine) -> Fst:
        """The result of an operation that keeps the meaning of labels."""
        return Fst._of(machine, self.input_symbols, self.output_symbols)

    # ---- operators: textmill.fst.grammar says what they mean

    def __add__(self, other: Fst | str) -> Fst:
        from textmill.fst import grammar, rational

        return rational.concat(self, grammar.promote(other, self.semiring))

    def __radd__(self, other: str) -> Fst:
        from textmill.fst import grammar, rational

        return rational.concat(grammar.promote(other, self.semiring), self)

    def __or__(self, other: Fst | str) -> Fst:
        from textmill.fst import grammar, rational

        return rational.union(self, grammar.promote(other, self.semiring))

    def __ror__(self, other: str) -> Fst:
        from textmill.fst import grammar, rational

        return rational.union(grammar.promote(other, self.semiring), self)

    def __matmul__(self, other: Fst | str) -> Fst:
        from textmill.fst import grammar

        return grammar.joined(self, other)

    def __rmatmul__(self, other: str) -> Fst:
        from textmill.fst import grammar

        return grammar.joined(grammar.promote(other, self.semiring), self)

    def __sub__(self, other: Fst | str) -> Fst:
        from textmill.fst import grammar

        return grammar.subtract(self, other)

    def __rsub__(self, other: str) -> Fst:
        from textmill.fst import grammar

        return grammar.subtract(grammar.promote(other, self.semiring), self)

    def __invert__(self) -> Fst:
        from textmill.fst import grammar

        return grammar.negate(self)

    def __pow__(self, times: int | tuple[int, int | EllipsisType | None]) -> Fst:
        from textmill.fst import grammar

        return grammar.power(self, times)

    def __copy__(self) -> Fst:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Fst:
        return self.copy()

    def __repr__(self) -> str:
        return f"Fst({self.semiring.name!r}, {self.num_states} states, {self.num_arcs} arcs)"

    def _repr_svg_(self) -> str:
        from textmill.fst.draw import _preview

        return _preview(self)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        from textmill.fst.draw import _NOTEBOOK, _preview

        return {"text/plain": repr(self), "image/svg+xml": _preview(self, _NOTEBOOK)}


def agreed(a: SymbolTable | None, b: SymbolTable | None, what: str) -> SymbolTable | None:
    """The one table that two machines share, None if neither has one.

    >>> agreed(None, SymbolTable(["<eps>"]), "symbols")
    SymbolTable(1 symbols)
    """
    if a is not None and b is not None and a is not b and not a.compatible(b):
        raise DataError(f"the {what} differ; relabel one of them with relabel_symbols first")
    return b if a is None else a
