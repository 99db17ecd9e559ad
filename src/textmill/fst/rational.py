"""Rational operations and those that rearrange a machine: union, concatenation, closure, reversal, sorting, trimming.

    union        L(a) + L(b)                     concat     L(a) L(b)
    closure      L(a)*, or L(a)+ without star    repeat     L(a)^m + ... + L(a)^n
    reverse      strings backwards               invert     (x, y) becomes (y, x)
    project      (x, y) becomes (x, x) or (y, y)

Every function returns a new machine and leaves its arguments as they are. All cost O(states + arcs), sorting with a
logarithm. Symbol tables go along; those of two machines that are joined must agree where both have them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.fst.machine import Arc, Fst, agreed
from textmill.fst.symbols import SymbolTable

__all__ = [
    "arcsort",
    "closure",
    "concat",
    "connect",
    "invert",
    "project",
    "relabel",
    "relabel_symbols",
    "repeat",
    "reverse",
    "statesort",
    "topsort",
    "union",
]

_MOST_STATES = 1 << 27


def union(first: Fst, *others: Fst) -> Fst:
    """All strings of all machines.

    >>> from textmill.fst.strings import accep, strings
    >>> sorted(text for text, _, _ in strings(union(accep("a"), accep("b"))))
    ['a', 'b']
    """
    if not others:
        return first.copy()
    return Fst._of(native.unite([first._native, *(other._native for other in others)]), *_tables(first, others))


def concat(first: Fst, *others: Fst) -> Fst:
    """A string of the first followed by one of the second, and so on.

    >>> from textmill.fst.strings import accep, strings
    >>> [text for text, _, _ in strings(concat(accep("a"), accep("b")))]
    ['ab']
    """
    if not others:
        return first.copy()
    parts = [first._native, *(other._native for other in others)]
    while len(parts) > 1:  # neighbors in pairs, so that each arc is copied log n times
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [native.concatenate(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return Fst._of(parts[0], *_tables(first, others))


def closure(fst: Fst, *, star: bool = True) -> Fst:
    """Any number of strings of the machine one after another, at least one without `star`.

    >>> from textmill.fst.strings import accep
    >>> closure(accep("a")).has("cyclic")
    True
    """
    return fst._like(native.close(fst._native, star))


def repeat(fst: Fst, lower: int, upper: int | None = None) -> Fst:
    """From `lower` to `upper` strings of the machine one after another; without `upper` there is no limit.

    >>> from textmill.fst.strings import accep, strings
    >>> sorted(text for text, _, _ in strings(repeat(accep("a"), 1, 3)))
    ['a', 'aa', 'aaa']
    """
    if lower < 0 or (upper is not None and upper < lower):
        raise DataError(f"repeat from {lower} to {upper} times is impossible; lower is at least 0 and at most upper")
    empty = Fst(fst.semiring, input_symbols=fst.input_symbols, output_symbols=fst.output_symbols)
    empty.start = empty.add_state()
    empty.set_final(0)
    copies = lower if upper is None else upper
    one = concat(empty, fst)  # with a start that no arc leads to, so that it can be final between two copies
    if copies * one.num_states > _MOST_STATES:
        raise DataError(
            f"{copies} repetitions of {fst.num_states} states are more than {_MOST_STATES:,} states; repeat less often"
        )
    if one.start < 0:
        return empty if lower == 0 else one
    result = empty
    for bit in f"{copies:b}" if copies else "":  # doubled for each digit
        result = concat(result, result) if result is not empty else result
        if bit == "1":
            result = one if result is empty else concat(result, one)
    if upper is None:
        return concat(result, closure(fst))
    for copy in range(lower, upper):
        result.set_final(one.start + copy * one.num_states)
    return result


def reverse(fst: Fst, *, require_superinitial: bool = True) -> Fst:
    """All strings backwards.

    The result has a start of its own, with epsilons to the old final states; without `require_superinitial` the only
    final state becomes the start where that is possible.

    >>> from textmill.fst.strings import accep, strings
    >>> [text for text, _, _ in strings(reverse(accep("ab")))]
    ['ba']
    >>> reverse(accep("ab"), require_superinitial=False).num_states
    3
    """
    return fst._like(native.reverse(fst._native, require_superinitial))


def invert(fst: Fst) -> Fst:
    """Inputs and outputs exchanged.

    >>> from textmill.fst.strings import cross, accep, strings
    >>> [(x, y) for x, y, _ in strings(invert(cross(accep("a"), accep("b"))))]
    [('b', 'a')]
    """
    return Fst._of(native.invert(fst._native), fst.output_symbols, fst.input_symbols)


def project(fst: Fst, side: str = "input") -> Fst:
    """The acceptor of the inputs, or with "output" of the outputs.

    >>> from textmill.fst.strings import cross, accep, strings
    >>> [text for text, _, _ in strings(project(cross(accep("a"), accep("b")), "output"))]
    ['b']
    """
    if side not in ("input", "output"):
        raise DataError(f"project to 'input' or 'output', not {side!r}")
    symbols = fst.output_symbols if side == "output" else fst.input_symbols
    return Fst._of(native.project(fst._native, side == "output"), symbols, symbols)


def relabel(
    fst: Fst,
    *,
    input_pairs: Mapping[int, int] | Iterable[tuple[int, int]] = (),
    output_pairs: Mapping[int, int] | Iterable[tuple[int, int]] = (),
) -> Fst:
    """Replace labels by others; those without a pair stay.

    >>> from textmill.fst.formats import compile_text
    >>> relabel(compile_text("0 1 1 1"), input_pairs={1: 5}).arcs(0)[0].ilabel
    5
    """
    pairs = [list(dict(table).items()) for table in (input_pairs, output_pairs)]
    return fst._like(native.relabel(fst._native, *pairs))


def relabel_symbols(
    fst: Fst,
    *,
    input_symbols: SymbolTable | None = None,
    output_symbols: SymbolTable | None = None,
    unknown: str | None = None,
) -> Fst:
    """Give every label the key that its symbol has in another table, and keep that table; epsilon stays epsilon.

    A symbol that the table has not becomes `unknown`; without that it is an error.

    >>> from textmill.fst.formats import compile_text
    >>> old, new = SymbolTable(["<eps>", "a"]), SymbolTable(["<eps>", "b", "a"])
    >>> relabel_symbols(compile_text("0 1 a", acceptor=True, input_symbols=old), input_symbols=new).arcs(0)[0].ilabel
    2
    """

    def pairs(old: SymbolTable | None, new: SymbolTable | None, side: str) -> dict[int, int]:
        if new is None:
            return {}
        if old is None:
            raise DataError(f"the machine has no table of {side} symbols to relabel from; set fst.{side}_symbols first")
        used = set(fst.arrays()[1][f"{side[0]}label"].tolist()) - {0}
        symbols = {label: old.symbol(label) for label in used}
        return {
            label: new.key(symbol if symbol in new or unknown is None else unknown) for label, symbol in symbols.items()
        }

    result = relabel(
        fst,
        input_pairs=pairs(fst.input_symbols, input_symbols, "input"),
        output_pairs=pairs(fst.output_symbols, output_symbols, "output"),
    )
    result.input_symbols = fst.input_symbols if input_symbols is None else input_symbols
    result.output_symbols = fst.output_symbols if output_symbols is None else output_symbols
    return result


def arcsort(fst: Fst, by: str | Callable[[Arc], Any] = "ilabel") -> Fst:
    """The arcs of every state sorted by input label, by "olabel", or by a key of your own (at the speed of Python).

    >>> from textmill.fst.formats import compile_text
    >>> fst = compile_text("0 1 2 2 5\\n0 1 1 1 7")
    >>> [arc.ilabel for arc in arcsort(fst).arcs(0)], [arc.ilabel for arc in arcsort(fst, lambda a: a.weight).arcs(0)]
    ([1, 2], [2, 1])
    """
    if not isinstance(by, str):
        machine = fst._like(fst._native.copy())
        for state in range(fst.num_states):
            for position, arc in enumerate(sorted(fst.arcs(state), key=by)):
                machine.set_arc(state, position, arc)
        return machine
    if by not in ("ilabel", "olabel"):
        raise DataError(f"sort arcs by 'ilabel' or 'olabel', not {by!r}")
    return fst._like(native.sort_arcs(fst._native, by == "olabel"))


def topsort(fst: Fst) -> Fst:
    """States in topological order, so that arcs lead to later states; a DataError names a cycle.

    >>> from textmill.fst.formats import compile_text
    >>> topsort(compile_text("1 0 1 1\\n0", keep_state_numbering=True)).start
    0
    """
    return fst._like(native.sort_states(fst._native))


def statesort(fst: Fst, order: Sequence[int]) -> Fst:
    """States with new numbers: `order[s]` is that of s.

    >>> from textmill.fst.formats import compile_text
    >>> statesort(compile_text("0 1 1 1\\n1"), [1, 0]).start
    1
    """
    return fst._like(native.renumber(fst._native, list(order)))


def connect(fst: Fst) -> Fst:
    """Without the states that are not on a path from the start to a final state.

    >>> from textmill.fst.formats import compile_text
    >>> connect(compile_text("0 1 1 1\\n0 2 1 1\\n1")).num_states
    2
    """
    return fst._like(native.connect(fst._native))


def _tables(first: Fst, others: Iterable[Fst]) -> tuple[SymbolTable | None, SymbolTable | None]:
    """The tables of symbols of machines that are joined."""
    inputs, outputs = first.input_symbols, first.output_symbols
    for other in others:
        inputs = agreed(inputs, other.input_symbols, "input symbols of the machines")
        outputs = agreed(outputs, other.output_symbols, "output symbols of the machines")
    return inputs, outputs
