"""Records of a language model written anew: with other words, for some of the languages, without accents.

Columns are those of records.py. Each function reads all records, changes the columns and writes them: O(records), a
second for a million.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from textmill._native import language as native
from textmill.arrays import Ints
from textmill.model import StringTable
from textmill.tasks.language.records import GRAM, WORD, columns_of

__all__ = ["bare_records", "edited_records", "selected_records"]

Records = NDArray[np.uint8]


def edited_records(
    records: Records, step: float, changes: Mapping[str, Mapping[int, float] | None], usual: float
) -> Records:
    """Words have these relevances by the number of the language, or go; new ones say `usual` of all other languages."""
    keys, rest, begin, languages, values = columns_of(records, step, WORD)
    stay = np.fromiter((key not in changes for key in keys), bool, len(keys))
    others = {key: float(rest[i]) for i, key in enumerate(keys) if not stay[i]}
    added = {word: pairs for word, pairs in changes.items() if pairs is not None}
    rows = np.flatnonzero(stay)
    words = [*(keys[i] for i in rows), *added]
    sizes = np.concatenate([np.diff(begin)[rows], [len(pairs) for pairs in added.values()]]).astype(np.int64)
    left = np.repeat(stay, np.diff(begin))
    of_pair = np.concatenate([languages[left], [number for pairs in added.values() for number in pairs]])
    value = np.concatenate([values[left], [pair for pairs in added.values() for pair in pairs.values()]])
    all_rest = np.concatenate([rest[rows], [others.get(word, usual) for word in added]])
    order = np.array(sorted(range(len(words)), key=lambda i: words[i].encode()), dtype=np.int64)
    ends = np.cumsum(sizes)
    pairs = _ranges((ends - sizes)[order], sizes[order])
    table = StringTable([words[i] for i in order])
    written = _written(table, WORD, all_rest[order], sizes[order], of_pair[pairs], value[pairs], step)
    return np.concatenate([written, _unchanged(records, step, GRAM)])


def selected_records(records: Records, step: float, chosen: Sequence[int], *, keep_rest: bool) -> Records:
    """Only these languages, numbered anew; with `keep_rest`, words stay that say something of all others."""
    number = np.full(256, -1, dtype=np.int16)
    number[list(chosen)] = np.arange(len(chosen))
    parts = []
    for kind in (WORD, GRAM):
        keys, rest, begin, languages, values = columns_of(records, step, kind)
        stay = number[languages] >= 0
        sizes = np.diff(np.concatenate([[0], np.cumsum(stay)])[begin])
        rows = np.flatnonzero((sizes > 0) | (rest != 0) if keep_rest else sizes > 0)
        parts.append(
            _written(keys.take(rows), kind, rest[rows], sizes[rows], number[languages[stay]], values[stay], step)
        )
    return np.concatenate(parts)


def bare_records(records: Records, step: float) -> Records:
    """Keys without accents; those that fall together keep the largest value of each language."""
    parts = []
    for kind in (WORD, GRAM):
        keys, rest, begin, languages, values = columns_of(records, step, kind)
        stripped = _without_accents(keys)
        names = sorted(set(stripped), key=str.encode)
        place = {name: i for i, name in enumerate(names)}
        group = np.fromiter((place[name] for name in stripped), np.int64, len(stripped))
        usual = np.full(len(names), -np.inf)
        np.maximum.at(usual, group, rest)
        cell = np.repeat(group, np.diff(begin)) * 256 + languages  # key and language in one number
        order = np.lexsort((values, cell))
        last = np.append(cell[order][1:] != cell[order][:-1], True) if len(order) else np.zeros(0, dtype=bool)
        best = order[last]
        sizes = np.bincount(cell[best] // 256, minlength=len(names))
        parts.append(_written(StringTable(names), kind, usual, sizes, languages[best], values[best], step))
    return np.concatenate(parts)


def _without_accents(keys: StringTable) -> list[str]:
    """Keys without accents; marks of n-grams stay."""
    strings = keys.to_list()
    bare = {
        mark: mark if mark in "<>" or mark.isascii() else "".join(native.keys(native.Texts([mark]), 0, True)) or mark
        for mark in set().union(*strings)
    }
    return [key if key.isascii() else "".join(bare[mark] for mark in key) for key in strings]


def _unchanged(records: Records, step: float, kind: int) -> Records:
    keys, rest, begin, languages, values = columns_of(records, step, kind)
    return _written(keys, kind, rest, np.diff(begin), languages, values, step)


def _written(
    keys: StringTable,
    kind: int,
    rest: NDArray[np.floating],
    sizes: Ints,
    languages: NDArray[np.integer],
    values: NDArray[np.floating],
    step: float,
) -> Records:
    begin = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    written: Records = native.write_records(
        keys.bytes, keys.offsets, kind, rest.astype(np.float32), begin, languages.astype(np.uint8),
        values.astype(np.float32), step,
    )  # fmt: skip
    return written


def _ranges(starts: Ints, sizes: Ints) -> Ints:
    """start, start + 1, ... of each, one after the other."""
    ends = np.cumsum(sizes)
    result: Ints = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(starts - (ends - sizes), sizes)
    return result
