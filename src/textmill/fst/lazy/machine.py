"""Lazy machines: states are computed when somebody asks for them.

    start           the number of the first state
    arcs(s)         computed the first time, then kept in a cache of bounded size
    expand()        the whole machine, written out
    shortest_path   the best paths, with no more states computed than the search looks at

A lazy machine costs what is looked at. Operations on lazy machines are lazy and nest to any depth; each has its own
cache, which lets go of states that were not asked for lately when its states take more than `cache` bytes. What was
let go is computed again if it is asked for; the numbers of states never change. A machine may be used from several
threads.

A machine of one's own is any object with three methods (`LazyDefinition`); states are hashable objects of its choice:

    start() -> state or None        final(state) -> weight or None        arcs(state) -> (ilabel, olabel, weight, state)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.fst.machine import Arc, Fst
from textmill.fst.rational import connect as connected
from textmill.fst.semirings import Semiring, Weight, semiring
from textmill.fst.symbols import SymbolTable
from textmill.model import check_range

__all__ = ["CACHE", "CacheStatistics", "LazyDefinition", "LazyFst", "as_lazy", "define", "shortest_path"]

CACHE = 1 << 20  # bytes
_MOST_STATES = 2**31 - 1


class LazyDefinition(Protocol):
    """What `define` makes a machine of."""

    def start(self) -> Hashable:
        """The first state; None if there is none."""

    def final(self, state: Any) -> Weight | None:
        """The final weight of a state; None if it is not final."""

    def arcs(self, state: Any) -> Iterable[tuple[int, int, Weight | None, Any]]:
        """Input label, output label, weight (None for one) and next state of each arc that leaves a state."""


@dataclass(frozen=True)
class CacheStatistics:
    """What a lazy machine has done so far."""

    numbered: int  # states that have numbers
    computed: int  # how often the arcs of a state were computed, again included
    hits: int  # how often they were in the cache
    dropped: int  # how often a state was let go
    cached: int  # states in the cache now
    nbytes: int  # their size
    most_bytes: int  # the greatest it has been


class LazyFst:
    """A machine whose states are computed when they are asked for; made by `as_lazy`, `define` and all operations.

    >>> from textmill.fst.strings import accep
    >>> machine = as_lazy(accep("ab"))
    >>> machine.arcs(machine.start)[0].ilabel == ord("a")
    True
    """

    __slots__ = ("_native", "input_symbols", "output_symbols")

    def __init__(
        self, machine: Any, input_symbols: SymbolTable | None = None, output_symbols: SymbolTable | None = None
    ) -> None:
        self._native = machine
        self.input_symbols = input_symbols
        self.output_symbols = output_symbols

    @property
    def semiring(self) -> Semiring:
        """The semiring of its weights."""
        return Semiring(self._native.semiring)

    @property
    def start(self) -> int:
        """The start state; -1 if there is none."""
        return int(self._native.start)

    def final(self, state: int) -> Weight:
        """The final weight of a state that is known: zero unless it is final.

        >>> from textmill.fst.strings import accep
        >>> as_lazy(accep("a")).final(0)
        inf
        """
        return self._native.final(state)

    def arcs(self, state: int) -> list[Arc]:
        """The arcs that leave a state that is known: the start, or one that an arc led to.

        >>> from textmill.fst.strings import accep
        >>> len(as_lazy(accep("a")).arcs(0))
        1
        """
        return [Arc(*arc) for arc in self._native.arc_list(state)]

    def walk(self) -> Iterator[int]:
        """States as they are met from the start, breadth first; there may be no end of them.

        >>> from textmill.fst.strings import accep
        >>> list(as_lazy(accep("ab")).walk())
        [0, 1, 2]
        """
        if self.start < 0:
            return
        seen, line = {self.start}, [self.start]
        for state in line:  # grows meanwhile
            yield state
            for arc in self._native.arc_list(state):
                if arc[3] not in seen:
                    seen.add(arc[3])
                    line.append(arc[3])

    def statistics(self) -> CacheStatistics:
        """What was computed, found in the cache, and let go.

        >>> from textmill.fst.strings import accep
        >>> from textmill.fst import lazy
        >>> machine = lazy.closure(accep("ab"))
        >>> _ = machine.expand()
        >>> machine.statistics().computed
        4
        """
        return CacheStatistics(*self._native.facts())

    def expand(self, *, connect: bool = False, max_states: int = _MOST_STATES) -> Fst:
        """The whole machine, states in the order in which they are met; with `connect` only those on complete paths.

        >>> from textmill.fst.strings import accep
        >>> as_lazy(accep("ab")).expand().num_states
        3
        """
        check_range("max_states", max_states, at_least=1)
        fst = Fst._of(self._native.expand(max_states), self.input_symbols, self.output_symbols)
        return connected(fst) if connect else fst

    def _like(self, machine: Any) -> LazyFst:
        return LazyFst(machine, self.input_symbols, self.output_symbols)

    def __repr__(self) -> str:
        return f"LazyFst({self.semiring.name!r}, {self._native.known} states known)"


def as_lazy(machine: Fst | LazyFst) -> LazyFst:
    """A machine as a lazy one, without copying; later changes of it do not show.

    >>> from textmill.fst.strings import accep
    >>> as_lazy(accep("a"))
    LazyFst('tropical', 2 states known)
    """
    if isinstance(machine, LazyFst):
        return machine
    if not isinstance(machine, Fst):
        raise DataError(
            f"a machine is an Fst or a LazyFst, not {type(machine).__name__}; define() makes one of an object"
        )
    return LazyFst(native.LazyMachine.whole(machine._native), machine.input_symbols, machine.output_symbols)


def define(
    definition: LazyDefinition,
    semiring_name: str | Semiring = "tropical",
    *,
    cache: int | None = CACHE,
    input_symbols: SymbolTable | None = None,
    output_symbols: SymbolTable | None = None,
) -> LazyFst:
    """A lazy machine of an object with the methods of `LazyDefinition`.

    >>> class Countdown:
    ...     def start(self): return 3
    ...     def final(self, state): return 0.0 if state == 0 else None
    ...     def arcs(self, state): return [(state, state, None, state - 1)] if state else []
    >>> define(Countdown()).expand().num_states
    4
    """
    for method in ("start", "final", "arcs"):
        if not callable(getattr(definition, method, None)):
            raise DataError(
                f"a lazy machine needs the methods start(), final(state) and arcs(state); {method} is missing"
            )
    machine = native.LazyMachine.defined(semiring(semiring_name)._native, definition, _checked_cache(cache))
    return LazyFst(machine, input_symbols, output_symbols)


def shortest_path(
    machine: Fst | LazyFst,
    n_paths: int = 1,
    *,
    max_states: int = _MOST_STATES,
    counted: Callable[[int], Any] | None = None,
) -> Fst:
    """The best paths of a lazy machine, by the weights of a path semiring that are never better than one.

    States are computed best first and no further than needed; `counted` is called with how many there were.

    >>> from textmill.fst.strings import string_map, strings
    >>> words = string_map([("a", "x", 2.0), ("a", "y", 1.0)])
    >>> [(x, y, w) for x, y, w in strings(shortest_path(words))]
    [('a', 'y', 1.0)]
    """
    check_range("n_paths", n_paths, at_least=1)
    check_range("max_states", max_states, at_least=1)
    lazy = as_lazy(machine)
    paths, expanded = lazy._native.best_paths(n_paths, max_states)
    if counted is not None:
        counted(expanded)
    return Fst._of(paths, lazy.input_symbols, lazy.output_symbols)


def _checked_cache(cache: int | None) -> int | None:
    """The size of a cache in bytes, checked; None is no limit."""
    if cache is not None:
        check_range("cache", cache, at_least=0)
    return cache
