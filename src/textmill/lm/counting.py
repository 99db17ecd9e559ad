"""Counting n-grams: from sentences to a tree, in memory, through files within a limit of memory, or on a cluster.

A stream is cut into stretches; each is counted into a tree of its own, and trees add up. Words get their ids by first
appearance, so the sum is the same, byte by byte, however the stream was cut and wherever it was counted.

With a limit of memory the trees of stretches go to temporary files and are merged there from front to back
(native/lm/merging.h); the sum and all that is worked out from it live in mapped files, too, which vanish with the
model. TMPDIR says where. Cost: some 110 bytes of memory for each token of a stretch; on disk 16 bytes for each n-gram
of each stretch, and 48 for each of the sum.
"""

from __future__ import annotations

import errno
import itertools
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill._native import corpus as native_corpus
from textmill._native import lm as native
from textmill.arrays import Ints
from textmill.cluster import connect, tree_reduce
from textmill.corpus import Cutter, Documents, Sentences, TokenizerLike, byte_count, text_batches, texts_of
from textmill.errors import DataError
from textmill.files import scratch_array
from textmill.model import StringTable, effective_jobs
from textmill.progress import track

__all__ = ["BEGIN", "END", "SPECIAL", "UNKNOWN", "Counts", "Ids", "Room", "counted", "read_ids", "sequences"]

Tree = tuple[Ints, NDArray[np.int32], NDArray[np.int32], Ints]  # levels, last words, first children, counts
Batch = tuple[Ints, NDArray[np.int32]]  # where sentences begin, ids of their words

UNKNOWN, BEGIN, END = 0, 1, 2  # ids of the three words that every model has
SPECIAL = ("<unk>", "<s>", "</s>")

_TOKENS = 1 << 24  # counted together: memory while counting is some hundred bytes for each
_BATCH = 1 << 20  # characters that are cut together: few, since the next are read meanwhile
_BYTES = 110  # of memory for a token while it is counted
_FEWEST = 1 << 12  # tokens that are counted together however little memory there is
_PIECE = 25_000  # documents that a worker counts at a time
_EMPTY = "there are no sentences to count; pass at least one"


class Counts(NamedTuple):
    """The words by id, the tree of all n-grams with their counts, and the number of sentences."""

    words: StringTable
    tree: Tree
    sentences: int


class Ids(NamedTuple):
    """The words by id, where sentences begin, and the ids of their words."""

    words: StringTable
    offsets: Ints
    tokens: NDArray[np.int32]


class Room:
    """Where arrays are made: in memory, or in mapped files of a temporary folder.

    A file is unlinked as soon as it is mapped, and its blocks are reserved before: a full disk is an error, never a
    crash, and nothing is left behind, whatever happens.

    >>> Room(on_disk=False).array(np.int32, 3).shape
    (3,)
    """

    def __init__(self, *, on_disk: bool) -> None:
        self.on_disk = on_disk

    def array(self, dtype: Any, size: int) -> NDArray[Any]:
        """Return an array whose values are to be filled in."""
        if not self.on_disk or size == 0:
            return np.empty(size, dtype=dtype)
        folder = tempfile.gettempdir()
        try:
            return scratch_array(folder, (size,), dtype)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            raise DataError(f"no room for n-grams in {folder}; free some, or set TMPDIR to a larger folder") from None

    def copy(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the same values in an array made here."""
        array = self.array(values.dtype, len(values))
        array[:] = values
        return array


def sequences(
    sentences: Iterable[Any],
    words: native_corpus.TermTable,
    tokenizer: TokenizerLike,
    n_jobs: int | None,
    *,
    grow: bool,
) -> Iterator[Batch]:
    """Batches of sentences as offsets and ids of words, -1 for those that are not there unless the table may grow."""
    cutter = Cutter(tokenizer, n_jobs)
    batches = text_batches(track(texts_of(sentences), "reading sentences", unit="sentences"), characters=_BATCH)

    def cut(batch: list[Any], first: int) -> Batch:
        offsets, ids = cutter.sequences(batch, first, words, grow=grow)
        symbols = ids.view(np.uint32) - np.uint32(BEGIN) <= END - BEGIN
        if symbols.any():
            place = int(np.searchsorted(offsets, int(symbols.argmax()), side="right")) - 1
            symbol = SPECIAL[int(ids[symbols.argmax()])]
            raise DataError(f"sentence {first + place} holds the word '{symbol}', its start or end; take it out")
        return offsets, ids

    native_cut = cutter.rules is not None and cutter.normalize is None
    yield from _while_reading(batches, cut) if native_cut and cutter.threads > 1 else _in_turn(batches, cut)


def _in_turn(batches: Iterator[list[Any]], cut: Callable[[list[Any], int], Batch]) -> Iterator[Batch]:
    """What `cut` makes of each batch and the number of sentences before it."""
    first = 0
    for batch in batches:
        yield cut(batch, first)
        first += len(batch)


def _while_reading(batches: Iterator[list[Any]], cut: Callable[[list[Any], int], Batch]) -> Iterator[Batch]:
    """The same, each batch being cut while this thread reads the next one."""
    first = 0
    with ThreadPoolExecutor(1) as pool:
        batch = next(batches, None)
        while batch is not None:
            result = pool.submit(cut, batch, first)
            first += len(batch)
            try:
                batch = next(batches, None)
            except BaseException:
                result.result()  # a fault in what was read before comes first
                raise
            yield result.result()


def counted(
    sentences: Iterable[Any],
    *,
    order: int,
    tokenizer: TokenizerLike,
    vocabulary: Iterable[str] | None,
    memory: int | str | None,
    n_jobs: int | None,
    cluster: Any,
) -> Counts:
    """Count the n-grams of a stream; words outside `vocabulary`, if there is one, are unknown."""
    fixed = None if vocabulary is None else _checked_vocabulary(vocabulary)
    if cluster is not None:
        return _counted_on(cluster, sentences, order, tokenizer, fixed, n_jobs)
    limit = None if memory is None else byte_count(memory)
    step = _TOKENS if limit is None else max(_FEWEST, min(_TOKENS, limit // _BYTES))
    words = _table(fixed)
    stretches = _stretches(sentences, words, order, tokenizer, fixed is None, n_jobs, step)
    tree, total = _reduced(stretches, words, effective_jobs(n_jobs)) if limit is None else _merged(stretches, words)
    return Counts(_names(words), tree, total)


def read_ids(
    sentences: Iterable[Any],
    *,
    tokenizer: TokenizerLike,
    vocabulary: Iterable[str] | None,
    min_count: int,
    n_jobs: int | None,
) -> Ids:
    """Read sentences into memory, 4 bytes for each word; words outside `vocabulary`, or rarer than `min_count`, are 0.

    >>> read_ids(["to be", "to do"], tokenizer=None, vocabulary=["to"], min_count=1, n_jobs=1).tokens.tolist()
    [3, 0, 3, 0]
    """
    fixed = None if vocabulary is None else _checked_vocabulary(vocabulary)
    table = _table(fixed)
    batches = list(sequences(sentences, table, tokenizer, n_jobs, grow=fixed is None))
    if not batches:
        raise DataError(_EMPTY)
    tokens = np.maximum(np.concatenate([ids for _, ids in batches]), UNKNOWN)
    lengths = np.concatenate([np.diff(offsets) for offsets, _ in batches])
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    words = _names(table)
    if fixed is None and min_count > 1:
        frequent = np.bincount(tokens, minlength=len(words)) >= min_count
        frequent[: len(SPECIAL)] = True
        tokens = np.where(frequent, np.cumsum(frequent) - 1, UNKNOWN).astype(np.int32)[tokens]
        words = words.take(np.flatnonzero(frequent))
    return Ids(words, offsets, tokens)


def _reduced(stretches: Iterator[tuple[Tree, int]], words: native_corpus.TermTable, threads: int) -> tuple[Tree, int]:
    """The sum of trees in memory."""
    total = 0

    def trees() -> Iterator[Tree]:
        nonlocal total
        for tree, sentences in stretches:
            total += sentences
            yield tree

    def add(left: Tree, right: Tree) -> Tree:
        return _sum([left, right], [_same(left), _same(right)], len(words), threads)

    return tree_reduce(add, trees()), total


def _merged(stretches: Iterator[tuple[Tree, int]], words: native_corpus.TermTable) -> tuple[Tree, int]:
    """The sum of trees through files."""
    room = Room(on_disk=True)
    stored: list[Tree] = []
    total = 0
    for tree, sentences in stretches:
        total += sentences
        stored.append((tree[0], room.copy(tree[1]), room.copy(tree[2]), room.copy(tree[3])))
        del tree
    size = 1 + len(words) + sum(len(tree[1]) - int(tree[2][1]) for tree in stored)
    word, first, count = room.array(np.int32, size), room.array(np.int32, size + 1), room.array(np.int64, size)
    numbers = [room.array(np.int32, len(tree[1])) for tree in stored]
    levels = native.merge(stored, numbers, words=len(words), word=word, first=first, count=count)
    nodes, inner = int(levels[-1]), int(levels[-2])
    return (levels, word[:nodes], first[: inner + 1], count[:nodes]), total


def _stretches(
    sentences: Iterable[Any],
    words: native_corpus.TermTable,
    order: int,
    tokenizer: TokenizerLike,
    grow: bool,
    n_jobs: int | None,
    step: int,
) -> Iterator[tuple[Tree, int]]:
    """The counts of stretches of a stream, each with its number of sentences."""
    held: list[Batch] = []
    threads = effective_jobs(n_jobs)

    def tree() -> tuple[Tree, int]:
        lengths = np.concatenate([np.diff(offsets) for offsets, _ in held])
        tokens = np.concatenate([ids for _, ids in held])
        held.clear()
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        counts: Tree = native.count(
            offsets, tokens, order=order, words=len(words), begin=BEGIN, end=END, threads=threads
        )
        return counts, len(lengths)

    size, empty = 0, True
    for offsets, ids in sequences(sentences, words, tokenizer, n_jobs, grow=grow):
        held.append((offsets, ids if grow else np.maximum(ids, UNKNOWN)))
        empty = False
        size += len(ids) + 2 * (len(offsets) - 1)
        if size >= step:
            yield tree()
            size = 0
    if empty:
        raise DataError(_EMPTY)
    if held:
        yield tree()


def _counted_on(
    cluster: Any, sentences: Iterable[Any], order: int, tokenizer: TokenizerLike, fixed: list[str] | None, n_jobs: Any
) -> Counts:
    """The same on the workers of a Dask cluster."""
    split = isinstance(sentences, Sentences)
    source: Any = sentences.documents if isinstance(sentences, Sentences) else sentences
    pieces = source.chunks(_PIECE) if isinstance(source, Documents) else _lists(texts_of(source), _PIECE)
    first = next(pieces, None)
    if first is None:
        raise DataError(_EMPTY)
    with connect(cluster) as workers:
        todo = track(itertools.chain([first], pieces), "counting n-grams", unit="pieces")
        settings = (order, tokenizer, fixed, split, workers.worker_jobs(n_jobs))
        names, offsets, *tree, total = workers.map_reduce(_count_piece, todo, _add_pieces, settings)
    if not int(total[0]):
        raise DataError(_EMPTY)
    return Counts(StringTable.from_arrays(names, offsets), (tree[0], tree[1], tree[2], tree[3]), int(total[0]))


def _count_piece(piece: Iterable[Any], settings: tuple[Any, ...]) -> tuple[NDArray[Any], ...]:
    """Words, tree and number of sentences of one piece; pure, so it runs unchanged on a worker."""
    order, tokenizer, fixed, split, n_jobs = settings
    words = _table(fixed)
    texts = texts_of(piece)
    total = 0
    threads = effective_jobs(n_jobs)
    batches = []
    for offsets, ids in sequences(Sentences(texts) if split else texts, words, tokenizer, n_jobs, grow=fixed is None):
        batches.append((offsets, np.maximum(ids, UNKNOWN)))
        total += len(offsets) - 1
    lengths = np.concatenate([np.zeros(0, np.int64), *(np.diff(offsets) for offsets, _ in batches)])
    tokens = np.concatenate([np.zeros(0, np.int32), *(ids for _, ids in batches)])
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    tree = native.count(bounds, tokens, order=order, words=len(words), begin=BEGIN, end=END, threads=threads)
    names, ends, *_ = words.terms_from(0)
    return names, ends, *tree, np.array([total])


def _add_pieces(left: tuple[NDArray[Any], ...], right: tuple[NDArray[Any], ...]) -> tuple[NDArray[Any], ...]:
    """Both pieces together, words of the left one first."""
    words = native_corpus.TermTable()
    rename = [words.insert(StringTable.from_arrays(piece[0], piece[1]).to_list()) for piece in (left, right)]
    trees: list[Tree] = [(piece[2], piece[3], piece[4], piece[5]) for piece in (left, right)]
    tree = _sum(trees, rename, len(words), 1)
    names, ends, *_ = words.terms_from(0)
    return names, ends, *tree, left[6] + right[6]


def _sum(trees: list[Tree], rename: list[NDArray[np.int32]], words: int, threads: int) -> Tree:
    both: Tree = native.combine(trees, rename, words=words, threads=threads)
    return both


def _same(tree: Tree) -> NDArray[np.int32]:
    return np.arange(int(tree[2][1]) - 1, dtype=np.int32)


def _table(fixed: list[str] | None) -> native_corpus.TermTable:
    words = native_corpus.TermTable()
    words.insert([*SPECIAL, *(fixed or [])])
    return words


def _names(words: native_corpus.TermTable) -> StringTable:
    names, offsets, *_ = words.terms_from(0)
    return StringTable.from_arrays(names, offsets)


def _checked_vocabulary(vocabulary: Iterable[str]) -> list[str]:
    words = list(vocabulary)
    if isinstance(vocabulary, str) or not all(isinstance(word, str) and word for word in words):
        raise DataError("vocabulary must be words, none of them empty")
    return [word for word in dict.fromkeys(words) if word not in SPECIAL]


def _lists(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Consecutive lists of at most `size` items."""
    rest = iter(items)
    while piece := list(itertools.islice(rest, size)):
        yield piece
