"""Pairs of strings: numbers for their symbols, files that hold them, how often their symbols meet.

    word <TAB> symbol symbol ...        one pair per line; more columns are allowed: a weight

A side is a string, whose symbols are its characters, or a list of symbols. Bags of symbols tell which symbols go
together before anything is aligned: an entry with letters x_1 ... x_n and phonemes y_1 ... y_m has the bag A of its
letters and m empty ones, the bag B of its phonemes and n empty ones, and

    C(x, y) = sum over entries of A(x) B(y)          the cell of twice nothing is left out unless it is asked for
    P(x, y) = l1 P_rules(x, y) + l2 P_lexicon(x, y) + l3 / number of cells

Cost: O(symbols); bags O(n m) an entry, in a sparse product. Reference: Jansche (2001), Re-engineering letter-to-sound
rules.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Ids, Ints
from textmill.errors import DataError
from textmill.fst.alignment import Link
from textmill.model import check_choice

if TYPE_CHECKING:  # loaded where they are used: machines need neither sparse matrices nor readers
    from scipy.sparse import csr_matrix

    from textmill.corpus import Source

__all__ = ["SIDES", "EncodedPairs", "Numbers", "PairRecord", "bag_counts", "bag_weights", "encode_pairs", "read_pairs"]

SIDES = ("characters", "words")


class Numbers(dict[str, int]):
    """Numbers of symbols in order of their first use; -1 for new ones when it is `closed`.

    >>> numbers = Numbers(["a"])
    >>> numbers["b"], numbers["a"]
    (1, 0)
    """

    def __init__(self, symbols: Iterable[str] = (), *, closed: bool = False) -> None:
        super().__init__((symbol, number) for number, symbol in enumerate(symbols))
        self.closed = closed

    def __missing__(self, symbol: str) -> int:
        if not isinstance(symbol, str) or not symbol:
            raise DataError(f"symbol {symbol!r} is not a string with something in it")
        if self.closed:
            return -1
        self[symbol] = number = len(self)
        return number


@dataclass(frozen=True, slots=True, eq=False)
class EncodedPairs:
    """Numbers of the symbols of pairs one after another, and where each string begins.

    >>> pairs = encode_pairs([("ab", ["X"])], Numbers(), Numbers())
    >>> pairs.x_begin.tolist(), pairs.x.tolist(), pairs.y.tolist(), len(pairs)
    ([0, 2], [0, 1], [0], 1)
    """

    x_begin: Ints
    x: Ids
    y_begin: Ints
    y: Ids

    def __len__(self) -> int:
        return len(self.x_begin) - 1

    def arrays(self) -> tuple[Ints, Ids, Ints, Ids]:
        """What kernels take."""
        return self.x_begin, self.x, self.y_begin, self.y

    def part(self, begin: int, end: int) -> EncodedPairs:
        """Pairs `begin` to `end - 1`."""
        x, y = self.x_begin[begin : end + 1], self.y_begin[begin : end + 1]
        return EncodedPairs(x - x[0], self.x[x[0] : x[-1]], y - y[0], self.y[y[0] : y[-1]])


def encode_pairs(pairs: Iterable[Any], inputs: Numbers, outputs: Numbers) -> EncodedPairs:
    """Number the symbols of pairs in one pass; `inputs` and `outputs` get the symbols they do not know.

    >>> letters = Numbers()
    >>> _ = encode_pairs([("ox", "AK"), (["x"], [])], letters, Numbers()); letters
    {'o': 0, 'x': 1}
    """
    lefts: list[Sequence[str]] = []
    rights: list[Sequence[str]] = []
    for number, pair in enumerate(pairs, 1):
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise DataError(f"pair {number} is {_short(pair)}, not (input, output); pass pairs of strings or lists")
        left, right = pair
        lefts.append(left if isinstance(left, str | list | tuple) else _side(left, number))
        rights.append(right if isinstance(right, str | list | tuple) else _side(right, number))
    return EncodedPairs(*_encoded(lefts, inputs), *_encoded(rights, outputs))


def _side(side: Any, number: int) -> Sequence[str]:
    try:
        return tuple(side)
    except TypeError:
        raise DataError(f"pair {number} holds {_short(side)}, not a string or a list of symbols") from None


def _encoded(sides: list[Sequence[str]], numbers: Numbers) -> tuple[Ints, Ids]:
    begin = np.zeros(len(sides) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, sides), np.int64, len(sides)), out=begin[1:])
    try:
        return begin, np.fromiter(map(numbers.__getitem__, chain.from_iterable(sides)), np.int32, int(begin[-1]))
    except (DataError, TypeError) as fault:  # TypeError: a symbol that cannot be hashed
        wrong = (k for k, side in enumerate(sides, 1) if not all(isinstance(s, str) and s for s in side))
        number = next(wrong)
        reason = fault.message if isinstance(fault, DataError) else "a symbol is not a string"
        raise DataError(f"pair {number}: {reason}; a side is a string or a list of strings") from None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


@dataclass(frozen=True, slots=True)
class PairRecord:
    """A pair from a file: input and output, a weight (1 without a third column), and its line."""

    input: str | list[str]
    output: str | list[str]
    weight: float
    line: int


def read_pairs(
    source: Source,
    *,
    inputs: str = "characters",
    outputs: str = "words",
    weighted: bool = False,
    encoding: str = "utf-8",
    errors: str = "strict",
) -> Iterator[PairRecord]:
    r"""Read one pair per line: input, tab, output, and with `weighted` a tab and a weight; empty lines are left out.

    A side is cut into its "characters" or into "words" between blanks; an empty output is allowed. Files may be
    compressed, "-" is the standard input.

    >>> import io
    >>> [record] = read_pairs(io.BytesIO(b"box\tB AA K S\n"))
    >>> record.input, record.output
    ('box', ['B', 'AA', 'K', 'S'])
    """
    for name, cut in (("inputs", inputs), ("outputs", outputs)):
        check_choice(name, cut, SIDES)
    from textmill.corpus import BadRecords, open_lines, source_name

    name = source_name(source)
    with BadRecords(errors, name) as bad:
        for line, text in open_lines(source, encoding=encoding, errors=bad, name=name):
            if not text.strip():
                continue
            fields = text.split("\t")
            if len(fields) < 2 + weighted:
                wanted = "input, output and weight" if weighted else "input and output"
                bad(DataError(f"{_short(text)} has no tab between {wanted}; put tabs there", source=name, line=line))
                continue
            weight = _weight(fields[2]) if weighted else 1.0
            if weight is None:
                fault = f"weight {_short(fields[2])} is not a number of 0 or more"
                bad(DataError(f"{fault}; correct the line", source=name, line=line))
                continue
            left = fields[0] if inputs == "characters" else fields[0].split()
            right = fields[1] if outputs == "characters" else fields[1].split()
            yield PairRecord(left, right, weight, line)


def _weight(text: str) -> float | None:
    try:
        weight = float(text)
    except ValueError:
        return None
    return weight if 0.0 <= weight < math.inf else None


def bag_counts(pairs: Iterable[Any], *, empty: bool = False) -> dict[Link, float]:
    """How often symbols meet in pairs, C(x, y) as above; with `empty` also the cell ((), ()).

    >>> counts = bag_counts([("texte", "tEkst")])
    >>> counts[("t",), ()], counts[("t",), ("t",)], counts[(), ("k",)], sum(counts.values())
    (10.0, 4.0, 5.0, 75.0)
    """
    inputs, outputs = Numbers(), Numbers()
    return _cells(_bag_table(encode_pairs(pairs, inputs, outputs), len(inputs), len(outputs), empty), inputs, outputs)


def bag_weights(
    pairs: Iterable[Any],
    *,
    rules: Iterable[Any] = (),
    weights: tuple[float, float, float] = (0.0, 0.9, 0.1),
    empty: bool = False,
) -> dict[Link, float]:
    """P(x, y) as above, for every pair of symbols: something for `StringAligner` to start from.

    `weights` are those of rules, pairs and the uniform distribution, with sum 1; `rules` are pairs too, such as
    ("x", "ks") or ("e", ""). `empty`: the cell of twice nothing counts in the sums, though no alignment can use it.

    >>> table = bag_weights([("ox", "oks"), ("so", "so")], rules=[("x", "ks")], weights=(0.9, 0.09, 0.01))
    >>> round(table[("x",), ("k",)], 4), round(sum(table.values()), 9)
    (0.1321, 1.0)
    """
    if len(weights) != 3 or not all(0.0 <= weight <= 1.0 for weight in weights) or abs(sum(weights) - 1.0) > 1e-9:
        raise DataError(f"weights of rules, pairs and uniform must be three of 0 or more with sum 1, got {weights!r}")
    inputs, outputs = Numbers(), Numbers()
    encoded = encode_pairs(pairs, inputs, outputs), encode_pairs(rules, inputs, outputs)
    if weights[0] > 0 and not len(encoded[1]):
        raise DataError(f"rules have weight {weights[0]} but there are none; pass rules=, or give them weight 0")
    lexicon, ruled = (_bag_table(part, len(inputs), len(outputs), empty) for part in encoded)
    if weights[1] > 0 and not lexicon.any():
        raise DataError(f"pairs have weight {weights[1]} but there are no symbols in them; pass pairs")
    table = np.full(lexicon.shape, weights[2] / max(lexicon.size - (not empty), 1))
    for weight, counts in ((weights[0], ruled), (weights[1], lexicon)):
        if weight > 0:
            table += weight * (counts / counts.sum())
    return _cells(table, inputs, outputs, without_empty=True)


def _bag_table(pairs: EncodedPairs, inputs: int, outputs: int, empty: bool) -> NDArray[np.float64]:
    """C(x, y) with nothing in row and column 0."""
    n, m = np.diff(pairs.x_begin), np.diff(pairs.y_begin)

    from scipy.sparse import csr_matrix

    def bag(begin: Ints, symbols: Ids, others: Ints, size: int) -> csr_matrix:
        rows = np.concatenate([np.repeat(np.arange(len(pairs)), np.diff(begin)), np.arange(len(pairs))])
        columns = np.concatenate([symbols + 1, np.zeros(len(pairs), dtype=np.int32)])
        values = np.concatenate([np.ones(len(symbols)), others])
        return csr_matrix((values, (rows, columns)), shape=(len(pairs), size + 1))

    table: NDArray[np.float64] = (
        bag(pairs.x_begin, pairs.x, m, inputs).T @ bag(pairs.y_begin, pairs.y, n, outputs)
    ).toarray()
    if not empty:
        table[0, 0] = 0.0
    return table


def _cells(
    table: NDArray[np.float64], inputs: Mapping[str, int], outputs: Mapping[str, int], without_empty: bool = False
) -> dict[Link, float]:
    """The cells that are not 0, by their symbols."""
    xs: list[tuple[str, ...]] = [(), *((symbol,) for symbol in inputs)]
    ys: list[tuple[str, ...]] = [(), *((symbol,) for symbol in outputs)]
    cells = {(xs[i], ys[j]): float(table[i, j]) for i, j in zip(*table.nonzero(), strict=True)}
    if without_empty:
        cells.pop(((), ()), None)
    return cells
