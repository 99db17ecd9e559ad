r"""Which pairs of records are compared at all: the union of several searches, each of them exact.

    FIELD:MEASURE:THRESHOLD     pairs whose values score at least the threshold, of each value the k best
    FIELD:exact                 pairs whose values are equal

Searches by a measure are those of `strings.Matcher`, which loses no pair above its threshold and never scores all
pairs; equal values are found by sorting. A value that more than `max_block` records share is left out and named in the
notes, and a blocking that gives more than `max_pairs` is refused, so that memory is bounded. Missing values are in no
block. Blocks that nobody chose are kept to a number of pairs for each record: where that many records share a value, a
second field has to agree.

    recall = labeled matches among the candidates / labeled matches

Cost: that of the searches. Memory: 9 bytes for each pair and search.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError
from textmill.model import check_range
from textmill.numeric import sparse
from textmill.readable import counted
from textmill.strings import Matcher, parse_measure
from textmill.tasks.names.gold import Gold
from textmill.tasks.names.records import Field, RecordList, numbered_values

__all__ = ["Block", "BlockingReport", "Candidates", "HugeBlock", "default_blocks", "find_candidates", "parse_block"]

_COMMON = (1000, 300, 100, 50, 30, 20, 10)  # records that share a value, tried in turn
_FEW = 500_000  # pairs that are never too many
_PARTNERS = 50  # of a record, whose other partners are candidates for it, too
_WORDS, _LETTERS = ("tfidf(words)", 0.2), ("tfidf(trigrams)", 0.3)  # found fast, and different in what they miss


class HugeBlock(UserWarning):
    """A value that too many records share was left out of a blocking."""


@dataclass(frozen=True, slots=True)
class Block:
    """A way to find candidates: equal values of a field (measure "exact"), or a measure and a threshold.

    >>> str(Block("name", "tfidf(words)", 0.3)), str(Block("phone"))
    ('name:tfidf(words):0.3', 'phone:exact')
    """

    field: str
    measure: str = "exact"
    threshold: float = 1.0

    def __post_init__(self) -> None:
        parse_measure(self.measure)
        check_range(f"the threshold of the block {self.field}:{self.measure}", self.threshold, above=0.0, at_most=1.0)

    def __str__(self) -> str:
        return f"{self.field}:{self.measure}" + ("" if self.measure == "exact" else f":{self.threshold:g}")


def parse_block(text: str | Block) -> Block:
    """Return the block that a text describes; a `Block` is returned as it is.

    >>> parse_block("name:tfidf(words):0.3")
    Block(field='name', measure='tfidf(words)', threshold=0.3)
    """
    if isinstance(text, Block):
        return text
    parts = [part.strip() for part in text.split(":")] if isinstance(text, str) else []
    if len(parts) == 2 and parts[1] == "exact":
        return Block(parts[0])
    try:
        field, measure, threshold = parts
        return Block(field, measure, float(threshold))
    except DataError:
        raise
    except ValueError:
        raise DataError(f"the block {text!r} must be FIELD:exact or FIELD:MEASURE:THRESHOLD") from None


def default_blocks(fields: Sequence[Field]) -> list[Block]:
    """Blocks where none are named: words and letters of text fields, equal values of exact ones.

    >>> [str(block) for block in default_blocks([Field("name"), Field("phone", "exact")])]
    ['name:tfidf(words):0.2', 'name:tfidf(trigrams):0.3', 'phone:exact']
    """
    blocks = []
    for field in fields:
        if field.measure == "exact":
            blocks.append(Block(field.name))
        else:
            blocks += [Block(field.name, *_WORDS), Block(field.name, *_LETTERS)]
    return blocks


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Pairs to compare, sorted by position, each once; `by_block[b]` says which of them block b has found."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    by_block: NDArray[np.bool_]  # (blocks, pairs)
    blocks: tuple[Block, ...]
    sizes: tuple[int, int | None]  # records on the left, and on the right if that is another list
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.left)

    @property
    def possible(self) -> int:
        """How many pairs there are at all."""
        n, m = self.sizes
        return n * (n - 1) // 2 if m is None else n * m

    def positions(self, left: NDArray[np.integer], right: NDArray[np.integer]) -> NDArray[np.int64]:
        """Where pairs of records stand among the candidates; -1 for those that do not."""
        width = max(1, self.sizes[0] if self.sizes[1] is None else self.sizes[1])
        keys = self.left.astype(np.int64) * width + self.right
        wanted = left.astype(np.int64) * width + right
        at = np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1))
        return np.where(keys[at] == wanted, at, -1) if len(keys) else np.full(len(wanted), -1)

    def including(self, left: NDArray[np.integer], right: NDArray[np.integer]) -> Candidates:
        """These candidates and the pairs of records that are not among them, which no block has found."""
        lost = self.positions(left, right) < 0
        if not lost.any():
            return self
        i = np.concatenate([self.left, left[lost].astype(np.int32)])
        j = np.concatenate([self.right, right[lost].astype(np.int32)])
        by_block = np.concatenate([self.by_block, np.zeros((len(self.by_block), int(lost.sum())), bool)], axis=1)
        order = np.lexsort((j, i))
        return Candidates(i[order], j[order], by_block[:, order], self.blocks, self.sizes, self.notes)

    def between(self, likely: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs within a list that are no candidates and share a partner in the likely ones, named best first.

        Of each record the 50 best partners count, which bounds the pairs.

        >>> people = RecordList.of({"name": ["Ann Lee", "Ann B. Lee", "Ann B. Leigh"]})
        >>> found = find_candidates(people, blocks=[Block("name", "jaro", 0.85)])
        >>> found.left.tolist(), found.right.tolist(), [side.tolist() for side in found.between(np.arange(2))]
        ([0, 1], [1, 2], [[0], [2]])
        """
        size = self.sizes[0]
        ends = np.concatenate([self.left[likely], self.right[likely]]).astype(np.int64)
        others = np.concatenate([self.right[likely], self.left[likely]])
        order = np.lexsort((np.tile(np.arange(len(likely)), 2), ends))
        starts = np.searchsorted(ends[order], ends[order])
        order = order[np.arange(len(order)) - starts < _PARTNERS]
        met = sparse.csr_matrix((np.ones(len(order), np.int32), (ends[order], others[order])), shape=(size, size))
        product = (met.T @ met).tocoo()
        i, j = product.row.astype(np.int64), product.col.astype(np.int64)
        i, j = i[i < j], j[i < j]
        order = np.argsort(i * size + j)
        i, j = i[order], j[order]
        fresh = self.positions(i, j) < 0
        return i[fresh], j[fresh]

    def report(
        self, gold: Gold | None = None, records: RecordList | None = None, other: RecordList | None = None
    ) -> BlockingReport:
        """What was compared, and with labels (which need the records) what the blocking has lost."""
        total = [int(row.sum()) for row in self.by_block]
        alone = [int((row & (self.by_block.sum(axis=0) == 1)).sum()) for row in self.by_block]
        base = (tuple(map(str, self.blocks)), tuple(total), tuple(alone), len(self), self.possible, self.notes)
        if gold is None or records is None:
            return BlockingReport(*base)
        i, j, label = gold.places(records.names(), None if other is None else other.names())
        i, j = i[label == 0], j[label == 0]
        at = self.positions(i, j)
        right = records if other is None else other
        lost = tuple((records.ids[a], right.ids[b]) for a, b in zip(i[at < 0], j[at < 0], strict=True))
        hits = tuple(int(row[at[at >= 0]].sum()) for row in self.by_block)
        return BlockingReport(*base, matches=len(i), hits=hits, lost=lost)


@dataclass(frozen=True, slots=True)
class BlockingReport:
    """How many pairs each block finds (`pairs`), and finds alone; with labels the matches it has, and those lost."""

    blocks: tuple[str, ...]
    pairs: tuple[int, ...]
    alone: tuple[int, ...]
    compared: int
    possible: int
    notes: tuple[str, ...] = ()
    matches: int | None = None
    hits: tuple[int, ...] = ()
    lost: tuple[tuple[str, str], ...] = ()

    @property
    def recall(self) -> float | None:
        """The share of labeled matches that are compared; None without labels."""
        return None if not self.matches else 1.0 - len(self.lost) / self.matches

    def lines(self, k: int = 10) -> list[str]:
        """The report as text, with the first k lost matches."""
        share = self.compared / self.possible if self.possible else 0.0
        lines = [f"{self.compared:,} of {self.possible:,} pairs are compared ({share:.4%})"]
        for number, block in enumerate(self.blocks):
            matches = (
                "" if not self.hits else f", {self.hits[number]} of {counted(self.matches or 0, 'labeled matches')}"
            )
            lines.append(f"  {block}: {self.pairs[number]:,} pairs, {self.alone[number]:,} by no other{matches}")
        if self.recall is not None:
            lines.append(f"recall on labels {self.recall:.4f}; {counted(len(self.lost), 'labeled matches')} lost")
            lines += [f"  lost: {one} and {two}" for one, two in self.lost[:k]]
            if len(self.lost) > k:
                lines.append(f"  and {len(self.lost) - k} more")
        return lines


def find_candidates(
    records: RecordList,
    other: RecordList | None = None,
    *,
    blocks: Sequence[Block],
    k: int = 20,
    max_block: int = 1000,
    max_pairs: int = 20_000_000,
    per_record: int | None = None,
    n_jobs: int | None = None,
) -> Candidates:
    """Find the pairs within a list, or between two, that at least one block proposes.

    A search by a measure gives each distinct value its k best partners (of `records`, between two lists). With
    `per_record` a value is common if blocks by values that as many records share would give more pairs for each record
    than that: a pair by a common value is a candidate if another field agrees, too.

    >>> people = RecordList.of({"name": ["Ann Lee", "Tom Jones", "Anne Lee"], "phone": ["1", "1", None]})
    >>> candidates = find_candidates(people, blocks=[Block("name", "jaro", 0.8), Block("phone")])
    >>> candidates.left.tolist(), candidates.right.tolist(), candidates.by_block.tolist()
    ([0, 0], [1, 2], [[False, True], [True, False]])
    """
    check_range("k", k, at_least=1, whole=True)
    check_range("max_block", max_block, at_least=2, whole=True)
    if not blocks:
        raise DataError("there is no block, so nothing would be compared; name at least one")
    width = max(1, len(records) if other is None else len(other))
    notes: list[str] = []
    keys: list[NDArray[np.int64]] = []
    fields = {
        name: _Values(records, other, name, max_block if per_record is None else None, notes)
        for name in dict.fromkeys(block.field for block in blocks)
    }
    searches = []
    for block in blocks:
        values = fields[block.field]
        searches.append(values.equal() if block.measure == "exact" else values.similar(block, k, n_jobs))
    if per_record is not None:
        size = len(records) + (0 if other is None else len(other))
        least = max(per_record * size, _FEW)
        for common in _COMMON:
            chosen = [fields[b.field].rare(pairs, common) for b, pairs in zip(blocks, searches, strict=True)]
            together = _together(list(fields.values()), common)
            total = sum(fields[b.field].count(pairs) for b, pairs in zip(blocks, chosen, strict=True))
            if total + sum(count for *_, count in together) <= least:
                break
        searches = chosen
        if together:
            notes.append(f"values that more than {common:,} records share are candidates where a second field agrees")
    for block, pairs in zip(blocks, searches, strict=True):
        values = fields[block.field]
        expected = values.count(pairs)
        if expected + sum(map(len, keys)) > max_pairs:
            raise DataError(
                f"the blocking gives more than {max_pairs:,} pairs, {expected:,} of them by {block}; "
                "raise its threshold, or take a field that tells more"
            )
        left, right = values.records(pairs)
        keys.append(np.unique(left * width + right))
    if per_record is not None:
        names = list(fields)
        for a, b, codes, _ in together:
            left, right = _equal_pairs(codes, common, other is None)
            for at, block in enumerate(blocks):
                if block.field in (names[a], names[b]):
                    keys[at] = np.concatenate([keys[at], left * width + right])
        keys = [np.unique(some) for some in keys]
    every = np.unique(np.concatenate(keys))
    by_block = np.stack([np.isin(every, some, assume_unique=True) for some in keys])
    sizes = (len(records), None if other is None else len(other))
    rows, columns = (every // width).astype(np.int32), (every % width).astype(np.int32)
    return Candidates(rows, columns, by_block, tuple(blocks), sizes, tuple(notes))


_ValuePairs: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]


class _Values:
    """The distinct values of a field, and who has them. Searches are among values, records follow from these."""

    def __init__(
        self, records: RecordList, other: RecordList | None, field: str, max_block: int | None, notes: list[str]
    ) -> None:
        lists = [records] if other is None else [records, other]
        self._texts, self._sides = numbered_values([side.column(field) for side in lists])
        self._same_list = other is None
        self._counts = [np.bincount(side[side >= 0], minlength=len(self._texts)) for side in self._sides]
        largest = np.maximum(self._counts[0], self._counts[-1])
        self._usable = np.ones(len(largest), bool)
        if max_block is None:
            return
        for at in np.flatnonzero(largest > max_block):
            note = f"{field} {self._texts[at]!r} is that of {counted(int(largest[at]), 'records')}"
            notes.append(f"{note}, more than {max_block:,}; pairs by this value are not compared")
            warnings.warn(notes[-1], HugeBlock, stacklevel=4)
        self._usable = largest <= max_block

    def equal(self) -> _ValuePairs:
        """Every value with itself."""
        values = np.flatnonzero(self._usable)
        return values, values

    def similar(self, block: Block, k: int, n_jobs: int | None) -> _ValuePairs:
        """Values that score at least the threshold, and, within a list, every value with itself."""
        left, right = (np.flatnonzero(self._usable & (counts > 0)) for counts in (self._counts[0], self._counts[-1]))
        if not len(left) or not len(right):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        matcher = Matcher(measure=block.measure, threshold=block.threshold, normalize=None, n_jobs=n_jobs)
        matcher.fit([self._texts[i] for i in right])
        if self._same_list:
            pairs = matcher.pairs(k=k)
            several = np.flatnonzero(self._usable & (self._counts[0] > 1))
            return np.concatenate([left[pairs.left], several]), np.concatenate([right[pairs.right], several])
        pairs = matcher.join([self._texts[i] for i in left], k=k)
        return left[pairs.left], right[pairs.right]

    def rare(self, pairs: _ValuePairs, common: int) -> _ValuePairs:
        """Equal values that few records share, and different ones that give few pairs."""
        a, b = pairs
        expected = self._counts[0][a] * self._counts[-1][b]
        few = expected <= np.where(a == b, common * common, common)
        return a[few], b[few]

    def codes(self, common: int) -> list[NDArray[np.int64]]:
        """The value of each record of each list, -1 where it is missing or not common."""
        crowded = np.append(self._counts[0] * self._counts[-1] > common * common, False)
        return [np.where(crowded[side], side, -1) for side in self._sides]

    @property
    def size(self) -> int:
        """How many distinct values there are."""
        return len(self._texts)

    def count(self, pairs: _ValuePairs) -> int:
        """How many pairs of records there are at most."""
        return int((self._counts[0][pairs[0]] * self._counts[-1][pairs[1]]).sum())

    def records(self, pairs: _ValuePairs) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of records with these values; within a list the earlier record is on the left."""
        size = len(self._texts)
        met = sparse.csr_matrix((np.ones(len(pairs[0]), bool), pairs), shape=(size, size))
        left, right = (_holders(side, size) for side in (self._sides[0], self._sides[-1]))
        product = (left @ met @ right.T).tocoo()
        i, j = product.row.astype(np.int64), product.col.astype(np.int64)
        if self._same_list:
            i, j = np.minimum(i, j)[i != j], np.maximum(i, j)[i != j]
        return i, j


_Together: TypeAlias = tuple[int, int, list[NDArray[np.int64]], int]


def _together(fields: list[_Values], common: int) -> list[_Together]:
    """For two fields each: numbers of the two common values that records have, and how many pairs they give."""
    codes = [values.codes(common) for values in fields]
    result = []
    for a, b in combinations(range(len(fields)), 2):
        sides = [
            np.where((one >= 0) & (two >= 0), one * fields[b].size + two, -1)
            for one, two in zip(codes[a], codes[b], strict=True)
        ]
        both = np.concatenate(sides)
        if (both >= 0).any():
            numbers = np.unique(both, return_inverse=True)[1].ravel() - int((both < 0).any())
            numbered = np.split(numbers, np.cumsum([len(side) for side in sides])[:-1])
            counts = [np.bincount(side[side >= 0], minlength=numbers.max() + 1) for side in numbered]
            products = counts[0] * counts[-1]
            result.append((a, b, numbered, int(products[products <= common * common].sum())))
    return result


def _equal_pairs(
    codes: list[NDArray[np.int64]], common: int, same_list: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of records with the same number, of numbers that few records have."""
    size = max(int(side.max(initial=-1)) for side in codes) + 1
    counts = [np.bincount(side[side >= 0], minlength=size) for side in codes]
    few = np.append(counts[0] * counts[-1] <= common * common, False)
    left, right = (_holders(np.where(few[side], side, -1), size) for side in (codes[0], codes[-1]))
    product = (left @ right.T).tocoo()
    i, j = product.row.astype(np.int64), product.col.astype(np.int64)
    return (i[i < j], j[i < j]) if same_list else (i, j)


def _holders(side: NDArray[np.int64], size: int) -> sparse.csr_matrix:
    """Records by values."""
    rows = np.flatnonzero(side >= 0)
    return sparse.csr_matrix((np.ones(len(rows), bool), (rows, side[rows])), shape=(len(side), size))
