"""Strings as machines and machines as strings; one machine applied to many strings.

    token_type   "utf8"     a label a code point
                 "byte"     a label a byte of the UTF-8 encoding
                 "symbol"   a label a word between blanks, by its key in a symbol table

`apply` composes each string with a machine and takes the best outputs, for many strings in one threaded call and
without a Python object an arc:  best over y of T(x, y).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.fst.composition import compose
from textmill.fst.machine import Fst
from textmill.fst.semirings import Semiring, Weight, semiring
from textmill.fst.symbols import SymbolTable
from textmill.model import check_range, effective_jobs

__all__ = ["accep", "apply", "cross", "labels_of", "string_map", "strings", "text_of"]


def labels_of(text: str, token_type: str = "utf8", symbols: SymbolTable | None = None) -> list[int]:
    """The labels of a string.

    >>> labels_of("né"), labels_of("né", "byte")
    ([110, 233], [110, 195, 169])
    """
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


def text_of(labels: Sequence[int], token_type: str = "utf8", symbols: SymbolTable | None = None) -> str:
    """The string of labels; those that no character can have are an error.

    >>> text_of([110, 233])
    'né'
    """
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
    semiring_name: str | Semiring = "tropical",
) -> Fst:
    """The acceptor of one string.

    >>> accep("ab", 0.5).final(2)
    0.5
    """
    labels = labels_of(text, token_type, symbols)
    return Fst._of(native.linear(semiring(semiring_name)._native, labels, labels, weight), symbols, symbols)


def cross(left: Fst, right: Fst) -> Fst:
    """The transducer from every string of one acceptor to every string of another.

    >>> [(x, y) for x, y, _ in strings(cross(accep("colour"), accep("color")))]
    [('colour', 'color')]
    """
    if not (left.has("acceptor") and right.has("acceptor")):
        raise DataError("a cross product is made of two acceptors; project transducers first")
    reads = Fst._of(native.map_arcs(left._native, "output_epsilon"), left.input_symbols, None)
    writes = Fst._of(native.map_arcs(right._native, "input_epsilon"), None, right.output_symbols)
    return compose(reads, writes)


def string_map(
    pairs: Sequence[tuple[str, str] | tuple[str, str, Weight]],
    *,
    token_type: str = "utf8",
    input_symbols: SymbolTable | None = None,
    output_symbols: SymbolTable | None = None,
    semiring_name: str | Semiring = "tropical",
) -> Fst:
    """The transducer of a list of (input, output) or (input, output, weight), prefixes of inputs shared.

    >>> sorted((x, y) for x, y, _ in strings(string_map([("one", "1"), ("ten", "10")])))
    [('one', '1'), ('ten', '10')]
    """
    algebra = semiring(semiring_name)
    fst = Fst(algebra, input_symbols=input_symbols, output_symbols=output_symbols)
    fst.start = fst.add_state()
    known: dict[tuple[int, int, int], int] = {}
    weighted: dict[int, Weight] = {}
    for pair in pairs:
        inputs = labels_of(pair[0], token_type, input_symbols)
        outputs = labels_of(pair[1], token_type, output_symbols)
        weight = pair[2] if len(pair) == 3 else algebra.one
        state = fst.start
        for i in range(max(len(inputs), len(outputs))):
            step = (state, inputs[i] if i < len(inputs) else 0, outputs[i] if i < len(outputs) else 0)
            if step not in known:
                known[step] = fst.add_state()
                fst.add_arc(state, step[1], step[2], None, known[step])
            state = known[step]
        weighted[state] = algebra.plus(weighted[state], weight) if state in weighted else weight
    for state, weight in weighted.items():
        fst.set_final(state, weight)
    return fst


def strings(
    fst: Fst, *, token_type: str = "utf8", most: int = 1_000_000, max_length: int | None = None
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
            text_of(inputs, token_type, fst.input_symbols),
            text_of(outputs, token_type, fst.output_symbols),
            weight,
        )


def apply(
    fst: Fst, texts: Sequence[str], *, n: int = 1, token_type: str = "utf8", n_jobs: int | None = None
) -> list[list[tuple[str, Weight]]]:
    """The n best outputs of a machine for each of many strings, with their weights, best first; none if it has no path.

    Outputs are distinct if n > 1. `fst` needs weights with the path property (tropical, ...).

    >>> apply(string_map([("one", "1"), ("ten", "10", 2.0)]), ["ten", "two"])
    [[('10', 2.0)], []]
    """
    check_range("n", n, at_least=1)
    offsets, flat = _encoded(texts, token_type, fst.input_symbols)
    machine = fst._native if fst.has("input_sorted") else native.sort_arcs(fst._native, False)
    paths, begins, outputs, weights = native.apply(machine, offsets, flat, n, effective_jobs(n_jobs))
    found = list(zip(_decoded(begins, outputs, token_type, fst.output_symbols), weights, strict=True))
    bounds = paths.tolist()
    return [found[begin:end] for begin, end in itertools.pairwise(bounds)]


def _encoded(
    texts: Sequence[str], token_type: str, symbols: SymbolTable | None
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The labels of all texts one after another, and where each begins."""
    if token_type == "utf8":  # at once: code points as Python itself stores them
        lengths = list(map(len, texts))
        flat = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<i4")
    else:
        labels = [labels_of(text, token_type, symbols) for text in texts]
        lengths = list(map(len, labels))
        flat = np.fromiter(itertools.chain.from_iterable(labels), dtype=np.int32, count=sum(lengths))
    if not flat.all():
        text = next(text for text in texts if "\0" in text)
        raise DataError(f"the string {text!r} holds label 0, which is epsilon; strings cannot contain it")
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets, flat.astype(np.int32, copy=False)


def _decoded(
    begins: NDArray[np.int64], labels: NDArray[np.int32], token_type: str, symbols: SymbolTable | None
) -> list[str]:
    """The texts of label sequences that lie one after another."""
    if token_type == "utf8":
        try:
            text = labels.astype("<i4", copy=False).tobytes().decode("utf-32-le", "surrogatepass")
        except UnicodeDecodeError:
            raise DataError("the machine writes labels that are no code points; pass token_type=") from None
        return [text[begin:end] for begin, end in itertools.pairwise(begins.tolist())]
    values = labels.tolist()
    return [text_of(values[begin:end], token_type, symbols) for begin, end in itertools.pairwise(begins.tolist())]
