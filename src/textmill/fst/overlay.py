"""Changes that lie beside a machine, which stays as it is: for large machines that are mapped from a file.

    an `Fst` that is changed copies all its arcs first        an `EditedFst` copies the states that are changed

What was not changed is read where it lies. `lazy()` is the machine with its changes, for every lazy operation, best
paths and `expand`; `merge()` writes both into one machine, and `save` into a file. A change costs O(arcs of its state).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.fst.formats import write_fst
from textmill.fst.lazy.machine import LazyFst
from textmill.fst.machine import Arc, Fst
from textmill.fst.semirings import Weight

__all__ = ["EditedFst"]


class EditedFst:
    """A machine with changes beside it.

    >>> from textmill.fst import compile_text
    >>> base = compile_text("0 1 1 1 0.5\\n1")
    >>> edited = EditedFst(base)
    >>> last = edited.add_state()
    >>> edited.add_arc(1, 2, 2, None, last)
    >>> edited.set_final(last)
    >>> edited.num_states, edited.num_arcs, base.num_states
    (3, 2, 2)
    >>> edited.merge().num_arcs
    2
    """

    def __init__(self, base: Fst) -> None:
        if not isinstance(base, Fst):
            raise DataError(f"an Fst can be edited, not {type(base).__name__}; expand() a lazy machine first")
        self.base = base
        self._native = native.Edits.of(base._native)

    # ---- reading

    @property
    def start(self) -> int:
        """The start state; -1 if there is none."""
        return int(self._native.start)

    @start.setter
    def start(self, state: int) -> None:
        self._native.set_start(state)

    @property
    def num_states(self) -> int:
        """How many states there are, with those that were added."""
        return int(self._native.states)

    @property
    def num_arcs(self) -> int:
        """How many arcs there are now."""
        return int(self._native.arcs)

    @property
    def num_changed(self) -> int:
        """States that lie among the changes: changed ones and added ones."""
        return int(self._native.changed)

    @property
    def nbytes(self) -> int:
        """Bytes of the changes."""
        return int(self._native.memory)

    def final(self, state: int) -> Weight:
        """The final weight of a state.

        >>> from textmill.fst import compile_text
        >>> EditedFst(compile_text("0 1 1 1\\n1 2.5")).final(1)
        2.5
        """
        return self._native.final(state)

    def arcs(self, state: int) -> list[Arc]:
        """The arcs that leave a state.

        >>> from textmill.fst import compile_text
        >>> EditedFst(compile_text("0 1 1 1\\n1")).arcs(0)[0].nextstate
        1
        """
        return [Arc(*arc) for arc in self._native.arc_list(state)]

    # ---- changing

    def add_state(self) -> int:
        """A new state, which is not final.

        >>> from textmill.fst import compile_text
        >>> EditedFst(compile_text("0 1 1 1\\n1")).add_state()
        2
        """
        return int(self._native.add_state())

    def set_final(self, state: int, weight: Weight | None = None) -> None:
        """Give a state a final weight, one if none is given; zero makes it not final.

        >>> from textmill.fst import compile_text
        >>> edited = EditedFst(compile_text("0 1 1 1\\n1")); edited.set_final(0, 1.5); edited.final(0)
        1.5
        """
        self._native.set_final(state, weight)

    def add_arc(self, state: int, ilabel: int, olabel: int, weight: Weight | None, nextstate: int) -> None:
        """Add an arc; the weight None is one.

        >>> from textmill.fst import compile_text
        >>> edited = EditedFst(compile_text("0 1 1 1\\n1")); edited.add_arc(0, 2, 2, None, 0); edited.num_arcs
        2
        """
        self._native.add_arc(state, ilabel, olabel, weight, nextstate)

    def set_arc(self, state: int, position: int, arc: Arc | Sequence[Any]) -> None:
        """Replace the arc at a position.

        >>> from textmill.fst import compile_text
        >>> edited = EditedFst(compile_text("0 1 1 1\\n1")); edited.set_arc(0, 0, (7, 7, None, 0))
        >>> edited.arcs(0)[0].ilabel
        7
        """
        ilabel, olabel, weight, nextstate = arc
        self._native.set_arc(state, position, ilabel, olabel, weight, nextstate)

    def delete_arcs(self, state: int, *, keep: int = 0) -> None:
        """Delete the arcs of a state but the first `keep`.

        >>> from textmill.fst import compile_text
        >>> edited = EditedFst(compile_text("0 1 1 1\\n1")); edited.delete_arcs(0); edited.num_arcs
        0
        """
        self._native.delete_arcs(state, keep)

    # ---- using

    def lazy(self) -> LazyFst:
        """The machine as it is now; later changes do not show.

        >>> from textmill.fst import compile_text
        >>> edited = EditedFst(compile_text("0 1 1 1\\n1")); edited.lazy().expand().num_states
        2
        """
        return LazyFst(self._native.lazy(), self.base.input_symbols, self.base.output_symbols)

    def merge(self) -> Fst:
        """One machine of both.

        >>> from textmill.fst import compile_text
        >>> EditedFst(compile_text("0 1 1 1\\n1")).merge()
        Fst('tropical', 2 states, 1 arcs)
        """
        return self.base._like(self._native.merged())

    def save(self, path: str | os.PathLike[str], *, fst_type: str = "const", align: bool = True) -> None:
        """Write the merged machine, by default as a file that can be mapped again; it may replace that of the base.

        >>> import tempfile
        >>> from textmill.fst import compile_text, read_fst
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     EditedFst(compile_text("0 1 1 1\\n1")).save(f"{folder}/m.fst")
        ...     read_fst(f"{folder}/m.fst").num_arcs
        1
        """
        write_fst(self.merge(), path, fst_type=fst_type, align=align)

    def __repr__(self) -> str:
        return f"EditedFst({self.base!r}, {self.num_changed} states changed or added)"
