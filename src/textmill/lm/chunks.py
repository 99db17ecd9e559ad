"""Chunks: runs of words that occur often enough to be one thing, as a tree; the first cut of sentences into them.

A chunk is a run of known words that occurs `min_count` times or more; single words always are. Sentences are first cut
by the frequencies of chunks alone,

    best partition = argmax over partitions of sum_j log(count of chunk_j / all counts)

and chunks that become rare in these partitions are dropped, until none does. Cost: counting visits every run of up to
`max_length` words once, a cut every run of every sentence. Reference: Deligne & Bimbot (1995), Language modeling by
variable length sequences: theoretical formulation and evaluation of multigrams.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from textmill._native import lm as native
from textmill.arrays import Ids, Ints
from textmill.lm.counting import BEGIN, END
from textmill.model import StringTable

__all__ = ["ChunkNames", "chunk_inventory", "cut_by_frequency", "marked_sentences"]

_FLOOR = 0.1  # occurrences of a word that stands only in chunks


def chunk_inventory(
    sentences: tuple[Ints, Ids], words: int, *, max_length: int, min_count: int, threads: int
) -> tuple[Ints, Ids, Ids, Ints]:
    """Return the tree of all chunks that are frequent enough, and how often they occur.

    `sentences` are offsets and ids below `words`.

    >>> text = (np.array([0, 2, 4]), np.array([3, 4, 3, 4], dtype=np.int32))
    >>> levels, last, children, counts = chunk_inventory(text, 5, max_length=2, min_count=2, threads=1)
    >>> counts.tolist()  # <unk>, <s> and </s>, two words, and both as a chunk
    [0, 2, 2, 2, 2, 2]
    """
    level, word, first, count = native.count(
        *sentences, order=max_length, words=words, begin=BEGIN, end=END, threads=threads
    )
    marked = count >= min_count
    marked[: int(level[2])] = True  # words always
    marked[int(level[2]) :] &= word[int(level[2]) :] > END
    parents = np.repeat(np.arange(len(first) - 1), np.diff(first))  # of the nodes from 1 on
    for n in range(2, len(level) - 1):
        part = slice(int(level[n]), int(level[n + 1]))
        before = parents[part.start - 1 : part.stop - 1]
        marked[part] &= marked[before] & (word[before] > END)
    level, word, first, old = native.select(level, word, first, marked.view(np.uint8))
    return level, word, first, count[old][1:]


def cut_by_frequency(
    table: native.ChunkTable,
    sentences: tuple[Ints, Ids],
    counts: Ints,
    usable: NDArray[np.uint8],
    words: int,
    *,
    min_count: int,
    threads: int,
) -> tuple[Ints, Ids]:
    """Return the best partition by frequencies of chunks alone; `usable` loses the chunks that do not stay frequent."""
    one_class, transition = np.zeros(len(usable), dtype=np.int32), np.zeros((1, 1))
    while True:
        weights = np.where(usable > 0, counts, 0).astype(np.float64)
        weights[:words] = np.maximum(weights[:words], _FLOOR)  # a word can always stand alone
        with np.errstate(divide="ignore"):
            lexicon = np.log(weights / weights.sum())
        offsets, types, *_ = table.segment(
            *sentences, class_of=one_class, lexicon=lexicon, transition=transition, threads=threads
        )
        counts = np.bincount(types, minlength=len(usable))
        rare = (counts < min_count) & (usable > 0)
        rare[:words] = False
        if not rare.any():
            return offsets, types
        usable[rare] = 0


class ChunkNames:
    """Chunks as text, read from the tree when they are asked for."""

    def __init__(self, words: StringTable, levels: Ints, last_words: Ids, children: Ids) -> None:
        self._words, self._levels, self._last_words = words.to_list(), levels, last_words
        self._parents = np.repeat(np.arange(len(children) - 1), np.diff(children))

    def names(self, types: Ids) -> list[str]:
        """Return types as text."""
        names = []
        for node in (types + 1).tolist():
            parts: list[str] = []
            while node > 0:
                parts.append(self._words[int(self._last_words[node])])
                node = int(self._parents[node - 1])
            names.append(" ".join(reversed(parts)))
        return names


def marked_sentences(offsets: Ints, tokens: Ids, marked: NDArray[np.bool_]) -> tuple[Ints, Ids]:
    """The sentences that are marked."""
    lengths = np.diff(offsets)
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[marked])])
    return bounds, np.ascontiguousarray(tokens[np.repeat(marked, lengths)])
