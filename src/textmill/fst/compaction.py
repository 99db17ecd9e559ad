"""Machines that take less memory and cannot be changed: strings, acceptors, machines without weights.

    kind                  stored                               bytes per state      bytes per arc   with 32-bit weights
    string                a label                              4 for state and arc together
    weighted_string       a label and a weight                 8 for state and arc together
    unweighted_acceptor   a label and a state                  index              8
    acceptor              a label, a weight and a state        index              12
    unweighted            two labels and a state               index              12

An index has 1, 2 or 4 bytes, as many as needed, and final states take an element more; an `Fst` takes 20 bytes per
state and 16 per arc. What is stored is the body of OpenFst's file of the type `compact_...`. Every operation takes such
a machine: it is written out while the operation runs. Single states are read without that.
"""

from __future__ import annotations

import struct
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.fst.formats import to_bytes
from textmill.fst.machine import Arc, Fst
from textmill.fst.semirings import Semiring, Weight

__all__ = ["COMPACT", "CompactFst", "compact"]

COMPACT = ("string", "weighted_string", "unweighted_acceptor", "acceptor", "unweighted")  # smallest first


def compact(fst: Fst, kind: str | None = None) -> CompactFst:
    """The same machine in less memory: of a kind in `COMPACT`, the smallest that fits if none is given.

    >>> from textmill.fst.strings import accep
    >>> small = compact(accep("compact"))
    >>> small.kind, small.num_arcs, small.nbytes < accep("compact").nbytes
    ('string', 7, True)
    """
    if kind is not None and kind not in COMPACT:
        raise DataError(f"compact machines are of the kinds {', '.join(COMPACT)}, not {kind!r}")
    plain = Fst._of(fst._native, None, None)
    fault = None
    for tried in COMPACT if kind is None else (kind,):
        widths = ("",) if tried.endswith("string") else ("8", "16", "")
        for width in widths:
            try:
                content = to_bytes(plain, fst_type=f"compact{width}_{tried}")
            except DataError as refused:
                fault = refused
            else:
                return CompactFst(fst, tried, content)
    if kind is None:
        raise DataError("a machine with two labels and weights has no compact form; encode its labels first")
    raise fault or DataError(f"the machine has no compact form of the kind {kind!r}")


class CompactFst(Fst):
    """A machine that takes less memory and cannot be changed; made by `compact`.

    >>> from textmill.fst.rational import concat
    >>> from textmill.fst.strings import accep, strings
    >>> small = compact(accep("ab"))
    >>> [text for text, _, _ in strings(concat(small, small))]
    ['abab']
    """

    __slots__ = ("_arcs", "_content", "_elements", "_offsets", "_semiring", "_start", "_states", "kind")

    def __init__(self, fst: Fst, kind: str, content: bytes) -> None:
        self.kind = kind
        self.input_symbols, self.output_symbols = fst.input_symbols, fst.output_symbols
        self._semiring = fst.semiring
        self._start, self._states, self._arcs = fst.start, fst.num_states, fst.num_arcs
        self._content = np.frombuffer(content, dtype=np.uint8)
        self._offsets, self._elements = _views(content, kind, self._semiring.dtype, self._states)

    @property
    def _native(self) -> native.Machine:
        return native.read_binary(self._content, 0, False)[0]

    @_native.setter
    def _native(self, machine: native.Machine) -> None:
        self._refuse()

    def expanded(self) -> Fst:
        """The machine written out, to be changed.

        >>> from textmill.fst.strings import accep
        >>> compact(accep("ab")).expanded().add_state()
        3
        """
        return Fst._of(self._native, self.input_symbols, self.output_symbols)

    @property
    def semiring(self) -> Semiring:
        """The semiring of its weights."""
        return self._semiring

    @property
    def num_states(self) -> int:
        """How many states there are."""
        return self._states

    @property
    def num_arcs(self) -> int:
        """How many arcs there are in all."""
        return self._arcs

    @property
    def start(self) -> int:
        """The start state; -1 if there is none."""
        return self._start

    @start.setter
    def start(self, state: int) -> None:
        self._refuse()

    @property
    def nbytes(self) -> int:
        """Bytes of memory of states and arcs."""
        return int(self._content.nbytes)

    @property
    def is_mapped(self) -> bool:
        """Compact machines are in memory."""
        return False

    def _of_state(self, state: int) -> tuple[Weight, NDArray[Any]]:
        """The final weight of a state and the elements of its arcs."""
        if not 0 <= state < self._states:
            raise DataError(f"state {state} is not one of the {self._states} states of the machine")
        begin, end = (state, state + 1) if self._offsets is None else self._offsets[state : state + 2].tolist()
        elements = self._elements[begin:end]
        if not len(elements) or elements["label"][0] != -1:
            return self._semiring.zero, elements
        weight = elements["weight"][0].item() if "weight" in (elements.dtype.names or ()) else self._semiring.one
        return weight, elements[1:]

    def final(self, state: int) -> Weight:
        """The final weight of a state: zero unless it is final.

        >>> from textmill.fst.strings import accep
        >>> compact(accep("ab", 0.5)).final(2)
        0.5
        """
        return self._of_state(state)[0]

    def is_final(self, state: int) -> bool:
        """Is the final weight of the state not zero?

        >>> from textmill.fst.strings import accep
        >>> compact(accep("ab")).is_final(2)
        True
        """
        return bool(self.final(state) != self._semiring.zero)

    def num_arcs_of(self, state: int) -> int:
        """How many arcs leave a state.

        >>> from textmill.fst.strings import accep
        >>> compact(accep("ab")).num_arcs_of(0)
        1
        """
        return len(self._of_state(state)[1])

    def arcs(self, state: int) -> list[Arc]:
        """The arcs that leave a state.

        >>> from textmill.fst.strings import accep
        >>> compact(accep("ab")).arcs(0)
        [Arc(ilabel=97, olabel=97, weight=0.0, nextstate=1)]
        """
        elements = self._of_state(state)[1]
        names = elements.dtype.names or ()
        columns = [elements["label"].tolist(), elements["olabel" if "olabel" in names else "label"].tolist()]
        columns.append(elements["weight"].tolist() if "weight" in names else [self._semiring.one] * len(elements))
        columns.append(elements["nextstate"].tolist() if "nextstate" in names else [state + 1] * len(elements))
        return [Arc(*fields) for fields in zip(*columns, strict=True)]

    def copy(self) -> Fst:
        """The machine itself: it cannot be changed.

        >>> from textmill.fst.strings import accep
        >>> small = compact(accep("ab")); small.copy() is small
        True
        """
        return self

    def _refuse(self, *args: Any, **options: Any) -> NoReturn:
        raise DataError("a compact machine cannot be changed; change what expanded() returns and make it compact again")

    add_state = add_states = add_arc = set_arc = set_final = delete_arcs = delete_states = reserve = _refuse

    def __repr__(self) -> str:
        return f"CompactFst({self.kind!r}, {self._semiring.name!r}, {self._states} states, {self._arcs} arcs)"


def _views(content: bytes, kind: str, weight: np.dtype[Any], states: int) -> tuple[NDArray[Any] | None, NDArray[Any]]:
    """Where the elements of each state begin, unless there is one per state, and the elements."""
    number: Any = np.dtype(weight.descr, align=True) if weight.names else weight
    fields = [("label", "i4")]
    fields += [("olabel", "i4")] * (kind == "unweighted")
    fields += [("weight", number)] * (not kind.startswith("unweighted") and kind != "string")
    fields += [("nextstate", "i4")] * (not kind.endswith("string"))
    dtype = np.dtype(fields, align=True)
    (size,) = struct.unpack_from("<i", content, 4)
    name = content[8 : 8 + size].decode()
    (other,) = struct.unpack_from("<i", content, 8 + size)
    body = 8 + size + 4 + other + 4 + 4 + 8 + 8 + 8 + 8  # version, flags, properties, start, states, arcs
    if kind.endswith("string"):
        return None, np.frombuffer(content, dtype=dtype, offset=body)
    width = {"compact8": "u1", "compact16": "<u2", "compact": "<u4"}[name.partition("_")[0]]
    offsets: NDArray[Any] = np.frombuffer(content, dtype=width, offset=body, count=states + 1)
    return offsets, np.frombuffer(content, dtype=dtype, offset=body + offsets.nbytes)
