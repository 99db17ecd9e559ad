"""Records of a language model written anew: with other words, for some of the languages, without accents.

Columns are those of records.py. Each function reads all records, changes the columns and writes them: O(records), a
second for a million.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import language as native
from textmill.arrays import Ints
from textmill.model import StringTable
from textmill.tasks.language.counts import LanguageCounts
from textmill.tasks.language.letters import letter_evidence
from textmill.tasks.language.records import GRAM, WORD, columns_of

__all__ = ["bare_records", "edited_records", "selected_records"]

Records = NDArray[np.uint8]
_OTHERS = 0.02  # weight of words with accents beside one that is written without
_GOOD_PART = 0.2  # of a word, that a language must have for its letters to count
_LEAST_SHARE = 1.6e-4  # of an n-gram that is learned from a dictionary, whose frequencies are coarse
_LEAST_WORDS = 1_000  # of a language in the mean, to learn n-grams from a dictionary


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


def bare_records(
    records: Records, step: float, languages: Sequence[str], *, alpha: float, order: int, min_share: float, prior: float
) -> Records:
    """Keys without accents. Words that fall together have the mean of their ratios exp(rel), `_OTHERS` for those that
    lose accents: how frequent each was is not known, and a word that is written without is the more probable one.

    N-grams change with every letter that loses its accent, so they are learned anew from the words of a dictionary that
    is large enough for it; in others those that fall together keep the largest value of each language.
    """
    words = _merged(records, step, WORD, _OTHERS)
    parts = [_written(*_columns(words, WORD), step)]
    if order > 0 and len(words[0]) >= _LEAST_WORDS * len(languages):
        grams = letter_evidence(
            _bare_counts(words, languages, alpha), order=order, min_share=max(min_share, _LEAST_SHARE), prior=prior
        )
        columns = grams.keys, GRAM, grams.rest, np.diff(grams.begin), grams.languages, grams.values
        parts.append(_written(*columns, step))
    else:
        parts.append(_written(*_columns(_merged(records, step, GRAM, None), GRAM), step))
    return np.concatenate(parts)


def _merged(
    records: Records, step: float, kind: int, others: float | None
) -> tuple[list[str], NDArray[Any], Ints, NDArray[Any]]:
    """Keys without accents, their rest, cells (256 times a key plus a language) and values; the largest ones without a
    weight for `others`."""
    keys, rest, begin, languages, values = columns_of(records, step, kind)
    strings = keys.to_list()
    stripped = _without_accents(strings)
    names = sorted(set(stripped), key=str.encode)
    place = {name: i for i, name in enumerate(names)}
    group = np.fromiter((place[name] for name in stripped), np.int64, len(stripped))
    sizes = np.diff(begin)
    cells = np.repeat(group, sizes) * 256 + languages
    distinct, cell = np.unique(cells, return_inverse=True)
    if others is None:
        usual, best = np.full(len(names), -np.inf), np.full(len(distinct), -np.inf)
        np.maximum.at(usual, group, rest)
        np.maximum.at(best, cell, values)
        return names, usual, distinct, best
    own = np.fromiter((a == b for a, b in zip(strings, stripped, strict=True)), bool, len(strings))
    weight = np.where(own, 1.0, others)
    ratio = np.exp(rest.astype(np.float64))
    total = np.bincount(group, weight, minlength=len(names))
    usual = np.bincount(group, weight * ratio, minlength=len(names)) / total
    above = np.repeat(weight, sizes) * (np.exp(values.astype(np.float64)) - np.repeat(ratio, sizes))
    mean = usual[distinct // 256] + np.bincount(cell, above, minlength=len(distinct)) / total[distinct // 256]
    return names, np.log(usual), distinct, np.log(np.maximum(mean, 1e-9))


def _columns(
    merged: tuple[list[str], NDArray[Any], Ints, NDArray[Any]], kind: int
) -> tuple[StringTable, int, NDArray[Any], Ints, NDArray[Any], NDArray[Any]]:
    names, rest, cells, values = merged
    return StringTable(names), kind, rest, np.bincount(cells // 256, minlength=len(names)), cells % 256, values


def _bare_counts(
    merged: tuple[list[str], NDArray[Any], Ints, NDArray[Any]], languages: Sequence[str], alpha: float
) -> LanguageCounts:
    """Each word once, shared among the languages that have a good part of it."""
    names, _, cells, values = merged
    shares = (np.exp(values) - alpha) / ((1 - alpha) * len(languages))
    large = shares > _GOOD_PART
    cells, share = cells[large], shares[large]
    counts = LanguageCounts()
    counts.words_, counts.languages_ = StringTable(names), StringTable(languages)
    sizes = np.bincount(cells // 256, minlength=len(names))
    counts.begin_ = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    counts.language_ids_ = (cells % 256).astype(np.int32)
    counts.counts_ = share
    counts.totals_ = np.bincount(cells % 256, share, minlength=len(languages)).astype(np.float64)
    counts.accents_ = "strip"
    return counts


def _without_accents(strings: list[str]) -> list[str]:
    """Keys without accents; marks of n-grams stay."""
    text = "\n".join(strings)
    bare = {
        ord(mark): "".join(native.keys(native.Texts([mark]), 0, True)) or mark
        for mark in set(text)
        if not mark.isascii()
    }
    return text.translate(bare).split("\n") if strings else []


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
