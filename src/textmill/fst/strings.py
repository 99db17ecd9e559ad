"""Strings as machines and machines as strings; one machine applied to many strings.

    token_type   "utf8"     a label a code point
                 "byte"     one label per byte of the UTF-8 encoding
                 "symbol"   one label per word between blanks, by its key in a symbol table
    generated    a table of generated symbols: [name] and [65] in strings are read and written as single labels

`apply` composes each string with a machine and takes the best outputs,  best over y of T(x, y),  for many strings in
one threaded call: strings are read where Python keeps them, the lattice of string and machine lies in memory that a
thread uses again and again, and the lists of outputs are made by the calling thread while the others go on. The result
does not depend on the number of threads. Cost: O(nodes + arcs of the lattice) a string (native/fst/apply.h).
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.fst.brackets import bracketed_labels, bracketed_text
from textmill.fst.composition import _special_labels, compose
from textmill.fst.formats import _table
from textmill.fst.machine import Fst
from textmill.fst.semirings import Semiring, Weight, semiring
from textmill.fst.symbols import SymbolTable
from textmill.model import check_range, effective_jobs

__all__ = ["accep", "apply", "apply_stream", "cross", "labels_of", "string_map", "strings", "text_of"]

_STRETCH = 8192  # strings of a stream that are answered at a time


def labels_of(
    text: str,
    token_type: str = "utf8",
    symbols: SymbolTable | None = None,
    *,
    generated: SymbolTable | None = None,
) -> list[int]:
    """The labels of a string; with a table of generated symbols brackets are read as `fst.brackets` says.

    >>> labels_of("né"), labels_of("né", "byte")
    ([110, 233], [110, 195, 169])
    >>> labels_of("a[end]", generated=SymbolTable(["<eps>"]))
    [97, 983040]
    """
    if not isinstance(text, str):
        raise DataError(f"a string of symbols must be a str, not {type(text).__name__}")
    if generated is not None and token_type != "symbol":
        return bracketed_labels(text, lambda plain: labels_of(plain, token_type), generated)
    if token_type == "utf8":
        labels = [ord(letter) for letter in text]
    elif token_type == "byte":
        labels = list(text.encode())
    elif token_type == "symbol":
        if symbols is None:
            raise DataError("token_type='symbol' needs a table of symbols")
        labels = [symbols.key(token) for token in text.split()]
    else:
        raise DataError(f"token_type is 'utf8', 'byte' or 'symbol', not {token_type!r}")
    if max(labels, default=0) > 0x7FFFFFFF:
        raise DataError(f"the string {text!r} holds a symbol whose key is too large for a label; compact the table")
    if 0 in labels:
        raise DataError(f"the string {text!r} holds label 0, which is epsilon; strings cannot contain it")
    return labels


def text_of(
    labels: Sequence[int],
    token_type: str = "utf8",
    symbols: SymbolTable | None = None,
    *,
    generated: SymbolTable | None = None,
) -> str:
    """The string of labels; those that no character can have are an error. Generated symbols come in brackets.

    >>> text_of([110, 233])
    'né'
    """
    if generated is not None and token_type != "symbol":
        return bracketed_text(labels, lambda plain: text_of(plain, token_type), generated)
    try:
        if token_type == "utf8":
            return "".join(map(chr, labels))
        if token_type == "byte":
            return bytes(labels).decode()
    except (ValueError, OverflowError) as fault:
        raise DataError(f"labels {list(labels)[:20]} are not text of type {token_type!r} ({fault})") from None
    if token_type != "symbol":
        raise DataError(f"token_type is 'utf8', 'byte' or 'symbol', not {token_type!r}")
    if symbols is None:
        raise DataError("token_type='symbol' needs a table of symbols")
    return " ".join(symbols.symbol(label) for label in labels)


def accep(
    text: str,
    weight: Weight | None = None,
    *,
    token_type: str = "utf8",
    symbols: SymbolTable | None = None,
    generated: SymbolTable | None = None,
    semiring_name: str | Semiring = "tropical",
) -> Fst:
    """The acceptor of one string.

    >>> accep("ab", 0.5).final(2)
    0.5
    """
    labels = labels_of(text, token_type, symbols, generated=generated)
    return Fst._of(native.linear(semiring(semiring_name)._native, labels, labels, weight), symbols, symbols)


def cross(left: Fst | str, right: Fst | str) -> Fst:
    """The transducer from every string of one acceptor to every string of another; strings are promoted.

    >>> [(x, y) for x, y, _ in strings(cross(accep("colour") | "coulour", "color"))]
    [('colour', 'color'), ('coulour', 'color')]
    """
    from textmill.fst.grammar import promote

    algebra = left.semiring if isinstance(left, Fst) else right.semiring if isinstance(right, Fst) else "tropical"
    left, right = promote(left, algebra), promote(right, algebra)
    if not (left.has("acceptor") and right.has("acceptor")):
        raise DataError("a cross product is made of two acceptors; project transducers first")
    reads = Fst._of(native.map_arcs(left._native, "output_epsilon"), left.input_symbols, None)
    writes = Fst._of(native.map_arcs(right._native, "input_epsilon"), None, right.output_symbols)
    return compose(reads, writes)


def string_map(
    pairs: Mapping[str, str] | Iterable[str | tuple[str, str] | tuple[str, str, Weight]],
    *,
    token_type: str = "utf8",
    input_symbols: SymbolTable | None = None,
    output_symbols: SymbolTable | None = None,
    generated: SymbolTable | None = None,
    semiring_name: str | Semiring = "tropical",
) -> Fst:
    """The transducer of a list of (input, output) or (input, output, weight), prefixes of inputs shared.

    A string alone is its own output. A dictionary is a list of its items.

    >>> sorted((x, y) for x, y, _ in strings(string_map([("one", "1"), ("ten", "10"), "two"])))
    [('one', '1'), ('ten', '10'), ('two', 'two')]
    """
    _refuse_text("pairs", pairs)
    items = pairs.items() if isinstance(pairs, Mapping) else pairs
    rows = [(pair, pair) if isinstance(pair, str) else pair for pair in items]
    for i, pair in enumerate(rows):
        if not isinstance(pair, tuple | list) or len(pair) not in (2, 3):
            raise DataError(f"{pair!r} is not (input, output) or (input, output, weight)", source="pairs", line=i + 1)

    def side(place: int, symbols: SymbolTable | None) -> tuple[str | list[int], ...]:
        if generated is None:
            return tuple(pair[place] for pair in rows)
        return tuple(labels_of(pair[place], token_type, symbols, generated=generated) for pair in rows)

    with _place("pairs"):
        machine = native.string_map(
            semiring(semiring_name)._native,
            side(0, input_symbols),
            side(1, output_symbols),
            tuple(pair[2] if len(pair) == 3 else None for pair in rows),
            token_type=token_type,
            input=_table(input_symbols),
            output=_table(output_symbols),
        )
    return Fst._of(machine, input_symbols, output_symbols)


def strings(
    fst: Fst,
    *,
    token_type: str = "utf8",
    most: int = 1_000_000,
    max_length: int | None = None,
    generated: SymbolTable | None = None,
) -> Iterator[tuple[str, str, Weight]]:
    """Input, output and weight of every path; a machine with cycles needs `max_length`, in arcs.

    >>> list(strings(accep("ab", 0.5)))
    [('ab', 'ab', 0.5)]
    """
    check_range("most", most, at_least=1)
    if max_length is not None:
        check_range("max_length", max_length, at_least=1)
    for inputs, outputs, weight in native.paths(fst._native, most, max_length or 0):
        yield (
            text_of(inputs, token_type, fst.input_symbols, generated=generated),
            text_of(outputs, token_type, fst.output_symbols, generated=generated),
            weight,
        )


def apply(
    fst: Fst,
    texts: Iterable[str],
    *,
    k: int = 1,
    token_type: str = "utf8",
    sigma: int | None = None,
    rho: int | None = None,
    phi: int | None = None,
    n_jobs: int | None = None,
    source: str = "texts",
) -> list[list[tuple[str, Weight]]]:
    """The k best outputs of a machine for each of many strings, with their weights, best first; none if it has no path.

    Outputs are distinct if k > 1. `fst` needs weights with the path property (tropical, ...), and is sorted by input
    first if it is not. `sigma`, `rho` and `phi` are labels on its inputs with the meaning they have in `compose`. A
    symbol that is not in the table of symbols is read as one that no arc has. Errors name `source` and its line.

    >>> apply(string_map([("one", "1"), ("ten", "10", 2.0)]), ["ten", "two"])
    [[('10', 2.0)], []]
    """
    check_range("k", k, at_least=1)
    _refuse_text("texts", texts)
    outputs: list[list[tuple[str, Weight]]]
    with _place(source):
        outputs = native.apply(
            fst._native if fst.has("input_sorted") else native.sort_arcs(fst._native, False),
            tuple(texts),
            token_type=token_type,
            input=_table(fst.input_symbols),
            output=_table(fst.output_symbols),
            n=k,
            specials=_special_labels(sigma, rho, phi),
            threads=effective_jobs(n_jobs),
        )
    return outputs


def apply_stream(fst: Fst, texts: Iterable[str], **options: Any) -> Iterator[list[tuple[str, Weight]]]:
    """The same for a stream of strings of any length, read and answered in stretches of some thousands.

    >>> machine = string_map([("one", "1"), ("ten", "10", 2.0)])
    >>> next(apply_stream(machine, itertools.repeat("ten")))
    [('10', 2.0)]
    """
    _refuse_text("texts", texts)
    machine = fst if fst.has("input_sorted") else fst._like(native.sort_arcs(fst._native, False))
    stream, done = iter(texts), 0
    while stretch := tuple(itertools.islice(stream, _STRETCH)):
        try:
            answers = apply(machine, stretch, **options)
        except DataError as fault:
            if fault.line is None:
                raise
            raise DataError(fault.message, source=fault.source, line=fault.line + done) from None
        yield from answers
        done += len(stretch)


def _refuse_text(name: str, value: object) -> None:
    """A single string would be taken for a list of its characters."""
    if isinstance(value, str | bytes):
        raise DataError(f"{name} is one string, {value[:40]!r}; pass a list of strings: [{value[:40]!r}]")


@contextlib.contextmanager
def _place(source: str) -> Iterator[None]:
    """Faults of the native core that begin with the number of a text name it as a record of the source."""
    try:
        yield
    except DataError as fault:
        number, _, message = fault.message.partition(": ")
        if not number.isdigit():
            raise
        raise DataError(message, source=source, line=int(number) + 1) from None
