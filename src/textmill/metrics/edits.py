"""Word and symbol error rate, sequence accuracy, and overlap by longest common subsequence.

    D(i, j) = min( D(i-1, j-1) + [x_i != y_j],  D(i-1, j) + 1,  D(i, j-1) + 1 )        x reference, y hypothesis
    error rate = (S + I + D) / |x|          substitutions, insertions (only in y), deletions (only in x)
    LCS F      = 2 P R / (P + R),  P = LCS / |y|,  R = LCS / |x|

Of all alignments with the fewest edits the one with the most substitutions counts (a wrong word is one substitution
rather than a deletion and an insertion), which makes S, I and D unique. With K > |x| + |y| a substitution costs K and
an insertion or deletion K + 1, so the cheapest path costs K (S + I + D) + (I + D); I - D = |y| - |x| gives the rest.
Where `align` still has a choice of path it takes, from the end, substitution or match before deletion before insertion.

Cost: O(|x| |y|) per pair, all pairs of similar length together, one NumPy row at a time. The left neighbor in a row
needs no loop: min over j' <= j of (t_j' + (j - j') c) is a running minimum of t_j - j c.
References: Levenshtein (1966); Wagner & Fischer (1974); Li, Kumaran, Zhang & Pervouchine, NEWS shared task (2009).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat

import numpy as np

from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.metrics._inputs import check_lengths
from textmill.metrics.conventions import conventions, merged, signature

__all__ = ["EditCounts", "align", "edit_table", "lcs_f"]

_CELLS = 1 << 16  # of one row of one batch: small enough for the cache, large enough to hide the cost of a NumPy call

_Symbols = Sequence[Hashable]


@dataclass(frozen=True, slots=True)
class EditCounts:
    """Edits between hypotheses and references, summed over sequences.

    `reference` is the length of all references, `exact` the number of sequences without any edit.

    >>> counts = EditCounts.from_sequences(["the cat sat".split()], ["the cat sat down".split()])
    >>> counts.insertions, round(counts.error_rate, 4), counts.sequence_accuracy
    (1, 0.3333, 0.0)
    >>> EditCounts.from_sequences(["kitten"], ["sitting"], unit="symbol").errors
    3
    """

    substitutions: int = 0
    insertions: int = 0
    deletions: int = 0
    reference: int = 0
    exact: int = 0
    sequences: int = 0
    conventions: str = ""

    @classmethod
    def from_sequences(
        cls, references: Sequence[_Symbols], hypotheses: Sequence[_Symbols], *, unit: str = "word"
    ) -> EditCounts:
        """Compare each hypothesis with its reference; `unit` names what the sequences are made of."""
        _check_unit(unit, chain(references, hypotheses))
        return cls._total(edit_table(references, hypotheses), conventions("error-rate", unit=unit, references=1))

    @classmethod
    def from_alternatives(
        cls, references: Sequence[Sequence[_Symbols]], hypotheses: Sequence[_Symbols], *, unit: str = "word"
    ) -> EditCounts:
        """Compare each hypothesis with the nearest of its references.

        Nearest is fewest edits, then the longest reference, then the first.

        >>> EditCounts.from_alternatives([["color", "colour"]], ["colour"], unit="symbol").error_rate
        0.0
        """
        targets, answers, sizes = _flattened(references, hypotheses)
        _check_unit(unit, chain(targets, answers))
        table = edit_table(targets, answers)
        nearest = _first_of_each(sizes, table[:, :3].sum(axis=1), -table[:, 3])
        return cls._total(table[nearest], conventions("error-rate", unit=unit, references="nearest"))

    @classmethod
    def _total(cls, table: Ints, choices: str) -> EditCounts:
        substitutions, insertions, deletions, reference = table.sum(axis=0).tolist()
        exact = int(np.count_nonzero(table[:, :3].sum(axis=1) == 0))
        return cls(substitutions, insertions, deletions, reference, exact, len(table), choices)

    def __add__(self, other: EditCounts) -> EditCounts:
        return EditCounts(
            self.substitutions + other.substitutions,
            self.insertions + other.insertions,
            self.deletions + other.deletions,
            self.reference + other.reference,
            self.exact + other.exact,
            self.sequences + other.sequences,
            merged(self.conventions, other.conventions),
        )

    @property
    def errors(self) -> int:
        """Substitutions, insertions and deletions together."""
        return self.substitutions + self.insertions + self.deletions

    @property
    def error_rate(self) -> float:
        """Edits per reference symbol; insertions can carry it above 1."""
        if not self.reference:
            raise DataError("the references are empty, so an error rate is not defined; add a reference with symbols")
        return self.errors / self.reference

    @property
    def sequence_accuracy(self) -> float:
        """Share of sequences without any edit."""
        if not self.sequences:
            raise DataError("there is no sequence; add counts of at least one")
        return self.exact / self.sequences

    @property
    def signature(self) -> str:
        """Unit, use of references and version, to print beside the figure."""
        return signature(self.conventions)


def edit_table(references: Sequence[_Symbols], hypotheses: Sequence[_Symbols]) -> Ints:
    """One row for each pair: substitutions, insertions, deletions, reference length.

    >>> edit_table(["kitten", "abc"], ["sitting", "abc"]).tolist()
    [[2, 1, 0, 6], [0, 0, 0, 3]]
    """
    if isinstance(references, str) or isinstance(hypotheses, str):
        raise DataError("references and hypotheses are lists of sequences, not a string; pass ['kitten'] for one word")
    check_lengths("references", len(references), "hypotheses", len(hypotheses))
    n, m = _lengths(references), _lengths(hypotheses)
    factor = int(n.max() + m.max()) + 1
    errors, shifts = np.divmod(_distances(references, hypotheses, factor, factor + 1), factor)
    insertions = (shifts + m - n) // 2
    return np.stack([errors - shifts, insertions, shifts - insertions, n], axis=-1)


def align(reference: _Symbols, hypothesis: _Symbols) -> list[tuple[int | None, int | None]]:
    """Pairs of positions in reference and hypothesis; None where a side has nothing. O(|x| |y|) bytes of memory.

    >>> align("abd", "abcd")
    [(0, 0), (1, 1), (None, 2), (2, 3)]
    """
    (x,), (y,) = _numbered([reference], [hypothesis])
    factor = len(x) + len(y) + 1
    came_from = np.zeros((len(x) + 1, len(y) + 1), np.uint8)  # 0 diagonal, 1 from above: deletion, 2 from left
    came_from[0, 1:] = 2
    above = np.zeros((1, 0), np.int64)
    for i, row in enumerate(_rows(x[None, :], y[None, :], factor, factor + 1)):
        if i:
            diagonal = row[0, 1:] == above[0, :-1] + factor * (x[i - 1] != y)
            deletion = row[0, 1:] == above[0, 1:] + factor + 1
            came_from[i, 0] = 1
            came_from[i, 1:] = np.where(diagonal, 0, np.where(deletion, 1, 2))
        above = row
    pairs: list[tuple[int | None, int | None]] = []
    i, j = len(x), len(y)
    while i or j:
        step = int(came_from[i, j])
        i, j = i - (step != 2), j - (step != 1)
        pairs.append((None if step == 2 else i, None if step == 1 else j))
    return pairs[::-1]


def lcs_f(references: Sequence[Sequence[_Symbols]], hypotheses: Sequence[_Symbols]) -> Floats:
    """F of the longest common subsequence with the nearest reference, for each hypothesis.

    Nearest is the reference r with the smallest |r| - 2 LCS, the first of equals; an empty hypothesis has F = 0.

    >>> lcs_f([["afcde"], ["smyth", "smithers"]], ["abcd", "smith"]).round(6).tolist()
    [0.666667, 0.8]
    """
    targets, answers, sizes = _flattened(references, hypotheses)
    n, m = _lengths(targets), _lengths(answers)
    common = (n + m - _distances(targets, answers, 2, 1)) // 2
    nearest = _first_of_each(sizes, n - 2 * common)
    return np.asarray(2.0 * common[nearest] / np.maximum(1, n[nearest] + m[nearest]))


def _check_unit(unit: str, sequences: Iterable[_Symbols]) -> None:
    """A string is a sequence of characters: under the name of words it would give the wrong figure."""
    if unit == "word":
        for sequence in sequences:
            if isinstance(sequence, str):
                raise DataError(f"{sequence!r} is a string, not a list of words; split it, or pass unit='symbol'")


def _flattened(
    references: Sequence[Sequence[_Symbols]], hypotheses: Sequence[_Symbols]
) -> tuple[list[_Symbols], list[_Symbols], Ints]:
    """Every reference, its hypothesis beside it, and the number of references of each hypothesis."""
    check_lengths("references", len(references), "hypotheses", len(hypotheses))
    for place, alternatives in enumerate(references):
        if isinstance(alternatives, str):
            raise DataError(
                f"the references of hypothesis {place} are the string {alternatives!r}; pass a list of them"
            )
    sizes = _lengths(references)
    if sizes.min() == 0:
        raise DataError(f"hypothesis {int(sizes.argmin())} has no reference; pass at least one for each")
    answers = list(chain.from_iterable(map(repeat, hypotheses, sizes.tolist())))
    return list(chain.from_iterable(references)), answers, sizes


def _first_of_each(sizes: Ints, *keys: Ints) -> Ints:
    """Of each run of `sizes` rows the place of the smallest by the keys, the first of equals (lexsort is stable)."""
    order = np.lexsort((*keys[::-1], np.repeat(np.arange(len(sizes)), sizes)))
    return np.asarray(order[np.cumsum(sizes) - sizes], np.int64)


def _lengths(sequences: Sequence[Sequence[object]]) -> Ints:
    return np.fromiter(map(len, sequences), np.int64, len(sequences))


def _distances(references: Sequence[_Symbols], hypotheses: Sequence[_Symbols], substitution: int, indel: int) -> Ints:
    """Cheapest edit cost of every pair, in batches of similar length."""
    xs, ys = _numbered(references, hypotheses)
    n, m = _lengths(references), _lengths(hypotheses)
    order = np.lexsort((m, n))
    result = np.empty(len(xs), np.int64)
    start = 0
    while start < len(order):
        width = np.maximum.accumulate(m[order[start : start + _CELLS]]) + 1
        fits = np.arange(1, len(width) + 1) * width <= _CELLS
        batch = order[start : start + max(1, int(fits.sum()))]
        x, y = _padded([xs[i] for i in batch]), _padded([ys[i] for i in batch])
        for i, row in enumerate(_rows(x, y, substitution, indel)):
            done = n[batch] == i
            result[batch[done]] = row[done, m[batch[done]]]
        start += len(batch)
    return result


def _rows(x: Ints, y: Ints, substitution: int, indel: int) -> Iterator[Ints]:
    """Rows 0 .. |x| of the edit matrix of every pair: arrays (pairs, |y| + 1)."""
    slope = np.arange(y.shape[1] + 1, dtype=np.int64) * indel
    row = np.broadcast_to(slope, (len(x), len(slope)))
    yield row
    for i in range(x.shape[1]):
        best = row + indel
        diagonal = row[:, :-1] + substitution * (x[:, i : i + 1] != y)
        np.minimum(best[:, 1:], diagonal, out=best[:, 1:])
        best -= slope
        np.minimum.accumulate(best, axis=1, out=best)
        best += slope
        row = best
        yield row


def _padded(sequences: list[Ints]) -> Ints:
    """One row for each sequence; cells that touch the padding are computed but never read."""
    result = np.zeros((len(sequences), max(map(len, sequences))), np.int64)
    for row, sequence in zip(result, sequences, strict=True):
        row[: len(sequence)] = sequence
    return result


def _numbered(references: Sequence[_Symbols], hypotheses: Sequence[_Symbols]) -> tuple[list[Ints], list[Ints]]:
    """Every distinct symbol becomes a number."""
    index = {symbol: i for i, symbol in enumerate(dict.fromkeys(chain.from_iterable(chain(references, hypotheses))))}
    sides = []
    for side in (references, hypotheses):
        sides.append([np.fromiter(map(index.__getitem__, sequence), np.int64, len(sequence)) for sequence in side])
    return sides[0], sides[1]
