"""What a candidate phrase looks like: features for the classifier of phase 2.

    length       number of words, at most max_length
    distance     words before the phrase in its sentence, at most max_distance
    words        the words inside, as a set
    first1 ...   the first words, and each view of them (first1.initial = upper)
    last1 ...    the last words, counted from the end
    before1 ...  the words before the phrase, the nearest first; `_` beyond the sentence
    after1 ...   the words behind it
    phrase       all words of it, as one value
    keyword      whether a word of a list stands anywhere in the sentence

Positions beyond the phrase have no value at all: with "there is no third word" as a value the length would be counted
again and again. Features are numbered in the order of their names and values, so that the order of training sentences
does not matter. Extraction is native (native/entities/phrases.h). Reference: Jansche (2002), section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill._native import entities as native
from textmill.arrays import Ids, Ints
from textmill.errors import ModelFileError, reason_of
from textmill.model import Estimator, Model, StringTable, check_choice, check_fitted, check_range, effective_jobs
from textmill.tasks.entities.words import VIEWS, describe_words

__all__ = ["PhraseFeatures", "PhraseRows", "Phrases"]

_POSITIONS = ("length", "distance", "first", "last", "before", "after", "words", "phrase", "keyword")


class Phrases(NamedTuple):
    """Spans of sentences: those of sentence s are begin, end [offsets[s] .. offsets[s + 1])."""

    offsets: Ints  # [sentences + 1]
    begin: Ids
    end: Ids


class PhraseRows(NamedTuple):
    """Features of phrases: those of phrase i are ids[offsets[i] .. offsets[i + 1])."""

    offsets: Ints
    ids: Ids


class PhraseFeatures(Estimator, Model):
    """Turn phrases into rows of numbered features.

    Parameters:
        first: How many of the first words are looked at.
        last: How many of the last words.
        before: How many words before the phrase.
        after: How many words behind it.
        views: Views of those words (words.py).
        max_length: Largest length that is told from others.
        max_distance: Largest distance from the beginning of the sentence.
        whole: Whether the phrase as a whole is a feature.
        keywords: Words whose presence in the sentence is a feature.
        accents: Whether accents stay.
        keep: Letters that keep their accents.
        n_jobs: Number of threads; None for all cores.

    Attributes:
        template_of_: Template of each feature, (F,).
        values_: Value of each feature, (F,).
    """

    takes: ClassVar[str] = "sequences"
    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {"template_of_": "feature: int32", "values_": "feature: str"}

    template_of_: Ids
    values_: StringTable

    def __init__(
        self,
        *,
        first: int = 6,
        last: int = 1,
        before: int = 2,
        after: int = 2,
        views: Sequence[str] = ("plain", "initial", "letters"),
        max_length: int = 8,
        max_distance: int = 3,
        whole: bool = False,
        keywords: Sequence[str] = (),
        accents: bool = False,
        keep: str = "",
        n_jobs: int | None = None,
    ) -> None:
        self.first = first
        self.last = last
        self.before = before
        self.after = after
        self.views = views
        self.max_length = max_length
        self.max_distance = max_distance
        self.whole = whole
        self.keywords = keywords
        self.accents = accents
        self.keep = keep
        self.n_jobs = n_jobs

    def templates(self) -> list[str]:
        """Return the names of templates in the order of their numbers.

        >>> PhraseFeatures(first=1, last=0, before=1, after=0, views=["plain", "initial"]).templates()
        ['before1', 'before1.initial', 'distance', 'first1', 'first1.initial', 'length', 'words']
        """
        return [name for name, _ in self._named()]

    def fit_rows(self, cells: Any, phrases: Phrases) -> PhraseRows:
        """Learn the features of the phrases of sentences (`CountedMarkov.cells`), and return their rows."""
        self._check_parameters()
        self._table = native.Phrases([template for _, template in self._named()], len(self.views))
        rows = self._rows(cells, phrases, grow=True)
        number = self._table.sort()
        self._take()
        return PhraseRows(rows.offsets, number[rows.ids])

    def rows(self, cells: Any, phrases: Phrases) -> PhraseRows:
        """Return the features of phrases that are known."""
        check_fitted(self)
        return self._rows(cells, phrases, grow=False)

    def word_sums(self, cells: Any) -> NDArray[np.uint64]:
        """Return sums over words, [tokens + 1], of numbers that stand for their first views: equal differences mean
        phrases of the same words."""
        views, keyword = self._loaded().views(cells, self._describe())
        first = views.reshape(len(keyword), -1)[:, 0]
        spread = (first.astype(np.uint64) + np.uint64(1)) * np.uint64(0xD6E8FEB86659FD93)
        spread = (spread ^ (spread >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
        return np.concatenate([np.zeros(1, np.uint64), np.cumsum(spread[cells.ids(0)])])

    def feature(self, number: int) -> str:
        """Return a feature as text."""
        check_fitted(self)
        return f"{self.templates()[int(self.template_of_[number])]}={self.values_[number]}"

    def union(self, other: PhraseFeatures) -> tuple[PhraseFeatures, Ints, Ints]:
        """Return the features of both, and the numbers that those of each have there."""
        both = PhraseFeatures(**self.get_params(deep=False))
        pairs = [list(zip(one.template_of_.tolist(), one.values_, strict=True)) for one in (self, other)]
        order = sorted({*pairs[0], *pairs[1]}, key=lambda pair: (pair[0], pair[1].encode()))
        both.template_of_ = np.array([template for template, _ in order], np.int32)
        both.values_ = StringTable([value for _, value in order])
        number = {pair: i for i, pair in enumerate(order)}
        places = [np.array([number[pair] for pair in one], np.int64) for one in pairs]
        return both, places[0], places[1]

    def check_values(self) -> None:
        """Check what the layout cannot say of features from a file."""
        try:
            self._loaded()
        except ValueError as error:
            raise ModelFileError(str(error), reason=reason_of(error)) from None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def _check_parameters(self) -> None:
        for name in ("first", "last", "before", "after"):
            check_range(name, getattr(self, name), at_least=0, at_most=100, whole=True)
        for name in ("max_length", "max_distance"):
            check_range(name, getattr(self, name), at_least=1, at_most=10_000, whole=True)
        for view in self.views:
            check_choice("views", view, VIEWS)

    def _named(self) -> list[tuple[str, tuple[int, int, int]]]:
        """Templates by name: position, place and view."""
        named = {"length": ("length", self.max_length, 0), "distance": ("distance", self.max_distance, 0)}
        named["words"] = ("words", 1, 0)
        if self.whole:
            named["phrase"] = ("phrase", 1, 0)
        if self.keywords:
            named["keyword"] = ("keyword", 1, 0)
        for position in ("first", "last", "before", "after"):
            for place in range(1, getattr(self, position) + 1):
                for number, view in enumerate(self.views):
                    suffix = f".{view}" if number else ""
                    named[f"{position}{place}{suffix}"] = (position, place, number)
        return [(name, (_POSITIONS.index(kind), place, view)) for name, (kind, place, view) in sorted(named.items())]

    def _describe(self) -> Callable[[list[str]], list[tuple[str | bool | None, ...]]]:
        return describe_words(self.views, accents=self.accents, keep=self.keep, keywords=self.keywords)

    def _loaded(self) -> native.Phrases:
        if getattr(self, "_table", None) is None:
            self._table = native.Phrases([template for _, template in self._named()], len(self.views))
            self._table.load(self.template_of_, self.values_.bytes, self.values_.offsets)
        return self._table

    def _rows(self, cells: Any, phrases: Phrases, *, grow: bool) -> PhraseRows:
        table = self._loaded()
        views, keyword = table.views(cells, self._describe())
        offsets, ids = table.rows(
            cells, views, keyword, phrases.offsets, phrases.begin, phrases.end, grow, effective_jobs(self.n_jobs)
        )
        return PhraseRows(offsets, ids)

    def _take(self) -> None:
        self.template_of_, data, offsets = self._table.arrays()
        self.values_ = StringTable.from_arrays(data, offsets)
