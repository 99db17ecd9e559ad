"""Machines put together as regular expressions are: operators, strings in place of machines, sets, string files.

    a + b        a followed by b                    a | b          a or b
    a @ b        a, then b on what a writes         a - b          a without the strings of b
    ~a           everything over the alphabet       a ** n         a, n times
                 but the strings of a               a ** (2, 5)    2 to 5 times; (2, ...) 2 times or more
    cross(a, b)  from each string of a to each      one_of(text)   any one symbol of the text
                 string of b

A string is promoted to the acceptor of its symbols wherever a machine is expected beside one. What its symbols are
(code points, bytes, words of a table) and what `~` takes for everything is said once, by `reading`:

    with reading(token_type="byte"): ...            the alphabet of bytes is 1 ... 255
    with reading(alphabet="abc"): ...

Results are not made smaller on the way; call `optimize` where it pays. Cost: that of the operation of the same kind in
`rational` and `composition`. Reference: Gorman (2016), Pynini; Mohri (2009).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import EllipsisType

from textmill.errors import DataError
from textmill.fst.composition import complement, compose, difference, sigma_star
from textmill.fst.machine import Fst
from textmill.fst.optimization import determinize, rmepsilon
from textmill.fst.rational import closure, concat, project, repeat, union
from textmill.fst.semirings import Semiring
from textmill.fst.strings import accep, labels_of, string_map
from textmill.fst.symbols import SymbolTable
from textmill.fst.transform import arcmap

__all__ = [
    "END",
    "START",
    "Reading",
    "acceptor_of",
    "add_weight",
    "alphabet_of",
    "any_string",
    "current_reading",
    "inputs_of",
    "joined",
    "negate",
    "one_of",
    "plain",
    "power",
    "promote",
    "reading",
    "string_file",
    "subtract",
]

START, END = 0x7FFFFFFD, 0x7FFFFFFE  # labels of the begin and the end of a string in contexts of rewrite rules


@dataclass(frozen=True, slots=True)
class Reading:
    """How strings are read: what their symbols are, and all symbols there are, in the order of labels."""

    token_type: str = "utf8"
    symbols: SymbolTable | None = None
    generated: SymbolTable | None = None
    alphabet: tuple[int, ...] = ()


_READING: ContextVar[Reading] = ContextVar("reading")


def current_reading() -> Reading:
    """The reading of the `with reading(...)` around the call, or the one without any: code points, no alphabet.

    >>> current_reading().token_type
    'utf8'
    """
    return _READING.get(Reading())


@contextlib.contextmanager
def reading(
    *,
    token_type: str = "utf8",
    symbols: SymbolTable | None = None,
    generated: SymbolTable | None = None,
    alphabet: str | Iterable[int] | Fst | None = None,
) -> Iterator[Reading]:
    """Say for a block what the symbols of strings are, and which there are: a text of them, their labels or a machine.

    Without `alphabet`, bytes are 1 to 255, words are those of the table, and code points have none.

    >>> from textmill.fst.strings import strings
    >>> with reading(alphabet="ab"):
    ...     sorted(text for text, _, _ in strings((accep("a") | "b" | "ab") - ~(accep("a") | "ab")))
    ['a', 'ab']
    """
    if isinstance(alphabet, str):
        letters = Reading(token_type, symbols, generated)
        with _reading(letters):
            labels: Iterable[int] = labels_of(alphabet, token_type, symbols, generated=generated)
    elif isinstance(alphabet, Fst):
        labels = alphabet_of(alphabet)
    elif alphabet is not None:
        labels = alphabet
    elif token_type == "byte":
        labels = range(1, 256)
    elif token_type == "symbol" and symbols is not None:
        labels = (key for key, _ in symbols.items())
    else:
        labels = ()
    ordered = tuple(sorted({int(label) for label in labels} - {0}))
    if ordered and not 0 < ordered[0] <= ordered[-1] < START:
        raise DataError(f"labels of an alphabet are from 1 to {START - 1:,}")
    with _reading(Reading(token_type, symbols, generated, ordered)) as settings:
        yield settings


@contextlib.contextmanager
def _reading(settings: Reading) -> Iterator[Reading]:
    token = _READING.set(settings)
    try:
        yield settings
    finally:
        _READING.reset(token)


def promote(value: Fst | str, semiring_name: str | Semiring = "tropical") -> Fst:
    """A machine as it is, a string as the acceptor of its symbols in the current reading.

    >>> promote("ab").num_states
    3
    """
    if isinstance(value, Fst):
        return value
    if not isinstance(value, str):
        raise DataError(f"a machine or a string is expected, not {type(value).__name__}")
    now = current_reading()
    return accep(
        value,
        token_type=now.token_type,
        symbols=now.symbols,
        generated=now.generated,
        semiring_name=semiring_name,
    )


def alphabet_of(fst: Fst) -> list[int]:
    """All labels on arcs of a machine but epsilon, in order.

    >>> alphabet_of(accep("ba"))
    [97, 98]
    """
    arcs = fst.arrays()[1]
    return sorted({*arcs["ilabel"].tolist(), *arcs["olabel"].tolist()} - {0, START, END})


def one_of(symbols: str | Iterable[int], semiring_name: str | Semiring = "tropical") -> Fst:
    """Any one symbol of a text, or one of some labels.

    >>> one_of("aeiou").num_arcs
    5
    """
    now = current_reading()
    labels: list[int]
    if isinstance(symbols, str) and now.token_type == "byte" and not symbols.isascii():
        return union(*(promote(symbol, semiring_name) for symbol in dict.fromkeys(symbols)))
    if isinstance(symbols, str):
        labels = labels_of(symbols, now.token_type, now.symbols, generated=now.generated)
    else:
        labels = list(symbols)
    labels = sorted(set(labels))
    zeros = [0] * len(labels)
    fst = Fst.from_arrays(
        semiring_name,
        start=0,
        sources=zeros,
        ilabels=labels,
        olabels=labels,
        nextstates=[1] * len(labels),
        final_states=[1],
        states=2,
    )
    if isinstance(symbols, str):
        fst.input_symbols = fst.output_symbols = now.symbols
    return fst


def any_string(semiring_name: str = "tropical") -> Fst:
    """All strings over the alphabet of the current reading.

    >>> with reading(alphabet="ab"):
    ...     any_string().num_arcs
    2
    """
    fst = sigma_star(_alphabet(), semiring_name)
    fst.input_symbols = fst.output_symbols = current_reading().symbols
    return fst


def add_weight(fst: Fst | str, weight: float) -> Fst:
    """A machine whose every path costs more by a weight.

    >>> from textmill.fst.strings import strings
    >>> list(strings(add_weight("a", 2.0)))
    [('a', 'a', 2.0)]
    """
    machine = promote(fst)
    return concat(machine, accep("", weight, semiring_name=machine.semiring))


def power(fst: Fst, times: int | tuple[int, int | EllipsisType | None]) -> Fst:
    """A machine repeated: a number of times, or from a least to a greatest number; None or ... is no limit.

    >>> from textmill.fst.strings import strings
    >>> sorted(text for text, _, _ in strings(accep("a") ** (1, 3)))
    ['a', 'aa', 'aaa']
    """
    if isinstance(times, int):
        return repeat(fst, times, times)
    if not isinstance(times, tuple) or len(times) != 2 or not isinstance(times[0], int):
        raise DataError(f"a machine is repeated ** 3 or ** (2, 5) or ** (2, ...) times, not {times!r}")
    least, most = times
    if most is None or most is Ellipsis:
        return closure(fst) if least == 0 else repeat(fst, least, None)
    if not isinstance(most, int):
        raise DataError(f"the greatest number of repetitions is a number, None or ..., not {most!r}")
    return repeat(fst, least, most)


def subtract(left: Fst, right: Fst | str) -> Fst:
    """The strings of an acceptor that another has not; weights of the other do not matter.

    >>> from textmill.fst.strings import strings
    >>> [text for text, _, _ in strings((accep("a") | "b") - "a")]
    ['b']
    """
    other = promote(right, left.semiring)
    if not other.has("acceptor"):
        raise DataError("only the strings of an acceptor can be taken away; project the transducer first")
    return difference(rmepsilon(left), plain(other))


def negate(fst: Fst) -> Fst:
    """All strings over the alphabet of the current reading that an acceptor has not: `~`."""
    if not fst.has("acceptor"):
        raise DataError("only of an acceptor there are strings that it has not; project the transducer first")
    return complement(plain(fst), _alphabet())


def plain(fst: Fst) -> Fst:
    """The deterministic acceptor of the same strings, without weights."""
    return determinize(rmepsilon(arcmap(fst, "rmweight")))


def joined(left: Fst, right: Fst | str) -> Fst:
    """Composition with strings promoted: `@`."""
    return compose(left, promote(right, left.semiring))


def string_file(
    path: str | os.PathLike[str],
    *,
    token_type: str | None = None,
    semiring_name: str | Semiring = "tropical",
) -> Fst:
    r"""The transducer of a file of strings: a line has an input, and behind tabs its output and its weight, if any.

    >>> from textmill.fst.strings import strings
    >>> _ = Path("digits.tsv").write_text("1\tone\n2\ttwo\t0.5\n3\n")
    >>> sorted(strings(string_file("digits.tsv")))
    [('1', 'one', 0.0), ('2', 'two', 0.5), ('3', '3', 0.0)]
    """
    now = current_reading()
    rows: list[tuple[str, str, float]] = []
    source = os.fspath(path)
    content = Path(path).read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        at = content.count(b"\n", 0, fault.start) + 1
        raise DataError(f"the file is not UTF-8 at byte {fault.start}", source=source, line=at) from None
    for number, line in enumerate(text.split("\n"), 1):
        row = line.rstrip("\r")
        if not row:
            continue
        fields = row.split("\t")
        if len(fields) > 3:
            raise DataError("a line has an input, an output and a weight at most", source=source, line=number)
        try:
            weight = float(fields[2]) if len(fields) == 3 else 0.0
        except ValueError:
            raise DataError(f"the weight {fields[2]!r} is not a number", source=source, line=number) from None
        rows.append((fields[0], fields[1] if len(fields) > 1 else fields[0], weight))
    try:
        return string_map(
            rows,
            token_type=token_type or now.token_type,
            input_symbols=now.symbols,
            output_symbols=now.symbols,
            generated=now.generated,
            semiring_name=semiring_name,
        )
    except DataError as fault:
        raise DataError(fault.message, source=source, line=fault.line) from None


def acceptor_of(value: Fst | str, what: str, semiring_name: str | Semiring = "tropical") -> Fst:
    """The promoted value; a DataError that names it unless it is an acceptor."""
    fst = promote(value, semiring_name)
    if not fst.has("acceptor"):
        raise DataError(f"{what} must be an acceptor; project the transducer first")
    return fst


def inputs_of(fst: Fst) -> Fst:
    """The deterministic acceptor of what a machine reads."""
    return plain(project(fst))


def _alphabet() -> tuple[int, ...]:
    letters = current_reading().alphabet
    if not letters:
        raise DataError("this needs an alphabet; write it inside of 'with reading(alphabet=...):'")
    return letters
