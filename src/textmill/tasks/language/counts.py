"""Counts of words by language: what a language identifier is made of, and all of it adds.

    TF(w, C_L)     occurrences of word w in the texts of language L
    #(C_L)         words of all texts of L

Counts of two corpora are added, those of a part are taken away again, and a cluster counts shards apart: the same words
in the same order, whatever the way. Words are runs of letters of one script, in lower case and composed (NFC);
apostrophes, hyphens and digits stand between them. Cost: one pass over the texts, in native code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill._native import language as native
from textmill.cluster import connect
from textmill.errors import DataError
from textmill.model import Model, StringTable

__all__ = ["LanguageCounts", "check_language", "words_of"]

_BATCH = 4096  # texts counted together


class LanguageCounts(Model):
    """How often each word occurs in each language.

    Attributes: languages_ (codes, sorted), words_ (sorted by their bytes), begin_ (where the entries of each word
    begin), language_ids_ and counts_ (one for each entry), totals_ (words of each language, also those without an
    entry). `a + b` and `a - b` add and take away.

    >>> counts = LanguageCounts.from_texts(["the the cat", "pes a cat"], ["en", "cs"])
    >>> counts.of("cat"), counts.total("en")
    ({'cs': 1.0, 'en': 1.0}, 3.0)
    >>> (counts + counts).of("the")
    {'en': 4.0}
    """

    format_version = 1
    layout: ClassVar[Mapping[str, str]] = {
        "languages_": "language: str",
        "words_": "word: str",
        "begin_": "word+1: int64",
        "language_ids_": "entry: int32",
        "counts_": "entry",
        "totals_": "language",
    }
    indices: ClassVar[Mapping[str, str]] = {"language_ids_": "language"}
    offsets: ClassVar[Mapping[str, str]] = {"begin_": "entry"}
    state: ClassVar[Mapping[str, Any]] = {"accents_": str}

    languages_: StringTable
    words_: StringTable
    begin_: NDArray[np.int64]
    language_ids_: NDArray[np.int32]
    counts_: NDArray[np.float64]
    totals_: NDArray[np.float64]
    accents_: str

    @classmethod
    def from_texts(
        cls, texts: Iterable[str], languages: Iterable[str], *, accents: str = "keep", cluster: Any = None
    ) -> LanguageCounts:
        """Count the words of texts, each with its language; with accents="strip" without their accents.

        >>> LanguageCounts.from_texts(["Äpfel"], ["de"], accents="strip").words_.to_list()
        ['apfel']
        """
        texts, labels = list(texts), list(languages)
        if len(texts) != len(labels):
            raise DataError(f"{len(texts)} texts have {len(labels)} languages; pass a language for each text")
        labels = [check_language(label) for label in labels]
        codes = sorted(set(labels))
        number = {code: i for i, code in enumerate(codes)}
        jobs = [
            (texts[i : i + _BATCH], [number[label] for label in labels[i : i + _BATCH]], len(codes), accents == "strip")
            for i in range(0, len(texts), _BATCH)
        ]
        if cluster is None:
            counter = native.Counter(max(len(codes), 1))
            for batch, ids, _, strip in jobs:
                counter.add_texts(native.Texts(batch), np.array(ids, dtype=np.int32), strip)
            return cls._from_columns(codes, counter.columns(), accents)
        if not jobs:
            return cls.from_frequencies({}, accents=accents)
        with connect(cluster) as workers:
            columns = workers.map_reduce(_count_shard, jobs, _add_shards)
        return cls._from_columns(codes, columns[:-1], accents)

    @classmethod
    def from_frequencies(
        cls, frequencies: Mapping[str, Mapping[str, float]], *, accents: str = "keep"
    ) -> LanguageCounts:
        """Take counts from word lists: for each language its words and how often each occurs.

        >>> LanguageCounts.from_frequencies({"en": {"Cat": 2, "cat": 1}}).of("cat")
        {'en': 3.0}
        """
        by_code = {check_language(code): words for code, words in frequencies.items()}
        codes = sorted(by_code)
        counter = native.Counter(max(len(codes), 1))
        for number, code in enumerate(codes):
            words = list(by_code[code].items())
            for word, count in words:
                if not isinstance(word, str) or not count >= 0:
                    raise DataError(
                        f"{code}: the word {word!r} has the count {count!r}; pass words and counts from 0 on"
                    )
            keys = [words_of(word, accents=accents) for word, _ in words]
            table = StringTable([key for of_word in keys for key in of_word])
            sizes = [len(of_word) for of_word in keys]
            counts = np.repeat(np.array([count for _, count in words], dtype=np.float64), sizes)
            _add(counter, table, np.full(len(table), number, dtype=np.int32), counts)
        return cls._from_columns(codes, counter.columns(), accents)

    def of(self, word: str) -> dict[str, float]:
        """The counts of a word by language.

        >>> LanguageCounts.from_texts(["ja ja"], ["de"]).of("ja")
        {'de': 2.0}
        """
        position = self.position(word)
        if position < 0:
            return {}
        entries = slice(int(self.begin_[position]), int(self.begin_[position + 1]))
        codes = self.languages_.to_list()
        return {codes[i]: float(n) for i, n in zip(self.language_ids_[entries], self.counts_[entries], strict=True)}

    def position(self, word: str) -> int:
        """Where a word stands in `words_`, -1 when it does not occur.

        >>> LanguageCounts.from_texts(["ja nein"], ["de"]).position("nein")
        1
        """
        key, low, high = word.encode(), 0, len(self.words_)
        while low < high:
            middle = (low + high) // 2
            if self.words_[middle].encode() < key:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self.words_) and self.words_[low] == word else -1

    def total(self, language: str) -> float:
        """The number of words of a language."""
        return float(self.totals_[self.languages_.to_list().index(language)])

    def select(self, languages: Sequence[str]) -> LanguageCounts:
        """The counts of these languages alone.

        >>> LanguageCounts.from_texts(["ja", "yes"], ["de", "en"]).select(["en"]).words_.to_list()
        ['yes']
        """
        return _combined([(self, 1.0)], sorted(languages), self.accents_)

    def __add__(self, other: LanguageCounts) -> LanguageCounts:
        return _merged(self, other, 1.0)

    def __sub__(self, other: LanguageCounts) -> LanguageCounts:
        difference = _merged(self, other, -1.0)
        if np.any(difference.counts_ < 0):
            entry = int(np.argmax(difference.counts_ < 0))
            word = difference.words_[int(np.searchsorted(difference.begin_, entry, side="right")) - 1]
            raise DataError(
                f"more occurrences of {word!r} are taken away than were counted; subtract only what was added"
            )
        return difference

    @classmethod
    def _from_columns(cls, codes: list[str], columns: Any, accents: str) -> LanguageCounts:
        counts = cls()
        data, offsets, counts.begin_, counts.language_ids_, counts.counts_ = columns
        counts.languages_, counts.words_ = StringTable(codes), StringTable.from_arrays(data, offsets)
        totals = np.bincount(counts.language_ids_, counts.counts_, minlength=len(codes))
        counts.totals_ = totals.astype(np.float64)
        counts.accents_ = accents
        return counts


def check_language(code: Any) -> str:
    """A language code: letters, digits and hyphens, for which underscores may stand; an error otherwise.

    >>> check_language("sr-Latn"), check_language("zh_CN")
    ('sr-Latn', 'zh-CN')
    """
    if isinstance(code, str):
        code = code.replace("_", "-")
    if not isinstance(code, str) or not code or not all(part.isalnum() for part in code.split("-")):
        raise DataError(f"{code!r} is no language code; pass letters and digits such as 'en' or 'sr-Latn'")
    return code


def words_of(text: str | bytes, *, accents: str = "keep") -> list[str]:
    """The words of a text as an identifier sees them.

    >>> words_of("Don't PANIC, Zoë!")
    ['don', 't', 'panic', 'zoë']
    """
    return [key for key in native.keys(native.Texts([text]), 0, accents == "strip") if key]


def _add(counter: Any, table: StringTable, languages: NDArray[np.int32], counts: NDArray[np.float64]) -> None:
    begin = np.arange(len(table) + 1, dtype=np.int64)
    identity = np.arange(int(languages.max()) + 1 if languages.size else 1, dtype=np.int32)
    counter.add_counts(table.bytes, table.offsets, begin, languages, counts, identity, 1.0)


def _merged(left: LanguageCounts, right: LanguageCounts, factor: float) -> LanguageCounts:
    if left.accents_ != right.accents_:
        raise DataError(f"counts with accents {left.accents_!r} and {right.accents_!r} do not add; count both alike")
    codes = sorted({*left.languages_, *right.languages_})
    return _combined([(left, 1.0), (right, factor)], codes, left.accents_)


def _combined(parts: list[tuple[LanguageCounts, float]], codes: list[str], accents: str) -> LanguageCounts:
    counter = native.Counter(max(len(codes), 1))
    number = {code: i for i, code in enumerate(codes)}
    totals = np.zeros(len(codes))
    for part, factor in parts:
        renumbered = np.array([number.get(code, -1) for code in part.languages_], dtype=np.int32)
        np.add.at(totals, renumbered[renumbered >= 0], factor * part.totals_[renumbered >= 0])
        counter.add_counts(
            part.words_.bytes, part.words_.offsets, part.begin_, part.language_ids_, part.counts_, renumbered, factor
        )
    combined = LanguageCounts._from_columns(codes, counter.columns(), accents)
    combined.totals_ = totals
    return combined


def _count_shard(shard: tuple[list[str], list[int], int, bool]) -> Any:
    """Columns of the counts of one batch of texts; pure, so it runs unchanged on a worker."""
    texts, ids, languages, strip = shard
    counter = native.Counter(max(languages, 1))
    counter.add_texts(native.Texts(texts), np.array(ids, dtype=np.int32), strip)
    return (*counter.columns(), languages)


def _add_shards(left: Any, right: Any) -> Any:
    languages = left[-1]
    counter = native.Counter(max(languages, 1))
    identity = np.arange(max(languages, 1), dtype=np.int32)
    for data, offsets, begin, ids, counts, _ in (left, right):
        counter.add_counts(data, offsets, begin, ids, counts, identity, 1.0)
    return (*counter.columns(), languages)
