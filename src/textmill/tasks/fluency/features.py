"""What the judge looks at: n-grams of words, of parts of speech, of classes, present or not.

    word:3     runs of 1 to 3 words, unknown ones as <unk>
    class:2    runs of 1 to 2 classes of the best partition (`WordClasses`)
    fine:1     runs of 1 class, of four times as many classes of words
    code4:2    the same as class:2 with the first 4 bits of the codes of hierarchical classes
    pos:3      runs of 1 to 3 tags of a tagger, which sees <unk> for unknown words on both sides

Several, with commas, are a union. In runs of two and more a border stands before and behind the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from textmill._native import tasks as native
from textmill.arrays import Ids, Ints
from textmill.errors import DataError
from textmill.lm import FeatureSets, WordClasses
from textmill.tasks.fluency.encoded import Encoded

__all__ = [
    "FeatureView",
    "View",
    "class_view",
    "code_beginnings",
    "feature_sets",
    "needs_classes",
    "parse_features",
    "tag_view",
    "word_view",
]

MOST_VIEWS, MOST_ORDER = 4, 4
_FORM = re.compile(r"(word|class|fine|code|pos)(\d*):(\d+)")


class FeatureView(NamedTuple):
    """One kind of n-grams: "word", "class", "fine", "code" or "pos", their greatest length, and the bits of a code."""

    kind: str
    order: int
    bits: int = 0


class View(NamedTuple):
    """Symbols of sentences in one view; the border is a symbol, too. `chunks` are types, where symbols are classes."""

    offsets: Ints
    symbols: Ids
    order: int
    border: int
    chunks: Ids | None = None


def parse_features(text: str | Sequence[str]) -> list[FeatureView]:
    """Read names of features.

    >>> parse_features("class:2,word:3,code4:1")
    [FeatureView(kind='class', order=2, bits=0), FeatureView(kind='word', order=3, bits=0), FeatureView(kind='code', \
order=1, bits=4)]
    """
    names = text.split(",") if isinstance(text, str) else list(text)
    views = []
    for name in names:
        match = _FORM.fullmatch(name.strip())
        if match is None or (match[1] == "code") != bool(match[2]):
            raise DataError(
                f"features are words such as 'class:2', 'fine:1', 'word:3', 'pos:3' or 'code4:2', with commas, not "
                f"{name!r}"
            )
        order, bits = int(match[3]), int(match[2] or 0)
        if not 1 <= order <= MOST_ORDER or (match[1] == "code" and not 1 <= bits <= 15):
            raise DataError(f"{name!r}: n-grams have 1 to {MOST_ORDER} symbols, and codes 1 to 15 bits")
        views.append(FeatureView(match[1], order, bits))
    if not 1 <= len(views) <= MOST_VIEWS or len(set(views)) < len(views):
        raise DataError(f"pass 1 to {MOST_VIEWS} different kinds of features, got {len(views)}")
    return views


def needs_classes(views: Sequence[FeatureView]) -> bool:
    """Whether there are features of classes, other than fine ones.

    >>> needs_classes(parse_features("word:3,fine:1"))
    False
    """
    return any(view.kind in ("class", "code") for view in views)


def feature_sets(views: Sequence[View], *, threads: int) -> FeatureSets:
    """Return sentences as sets of n-grams.

    >>> view = View(np.array([0, 2]), np.array([4, 4], dtype=np.int32), 2, 0)
    >>> len(feature_sets([view], threads=1).keys)  # 4, border 4, 4 4, 4 border
    4
    """
    try:
        return FeatureSets(*native.ngram_sets([view[:4] for view in views], threads=threads))
    except ValueError as error:
        raise DataError(f"{error}; use shorter n-grams of words, or a larger min_count") from None


def word_view(sentences: Encoded, order: int, border: int) -> View:
    """Words as symbols."""
    return View(sentences.offsets, sentences.ids, order, border)


def code_beginnings(classes: WordClasses, bits: int) -> list[str]:
    """The first bits of the codes of classes, in order; those of symbol 1 come first.

    >>> text = ["the mill turns", "a wheel stands"] * 3
    >>> code_beginnings(WordClasses(n_classes=4, method="hierarchical").fit(text), 1)
    ['0', '1']
    """
    return sorted({code[:bits] for code in classes.codes_.to_list()[1:]})


def class_view(sentences: Encoded, view: FeatureView, classes: WordClasses) -> View:
    """Classes of the best partition as symbols, or the beginnings of their codes; fine ones are of single words."""
    offsets, types = classes.partitions(sentences.offsets, sentences.ids)
    symbols = classes.class_of_[types]
    if view.kind == "code":
        numbers = {code: i for i, code in enumerate(code_beginnings(classes, view.bits), 1)}
        codes = classes.codes_.to_list()[1:]
        symbols = np.array([0, *(numbers[code[: view.bits]] for code in codes)], dtype=np.int32)[symbols]
    chunks = None if view.kind == "fine" else types
    return View(offsets, np.ascontiguousarray(symbols, dtype=np.int32), view.order, 0, chunks)


def tag_view(sentences: Encoded, words: Sequence[str], order: int, tagger: Any, tags: Sequence[str]) -> View:
    """Tags as symbols, from 1 on; a tag that was never seen is the last."""
    bounds = sentences.offsets.tolist()
    ids = sentences.ids.tolist()
    texts = [[words[i] for i in ids[bounds[s] : bounds[s + 1]]] for s in range(sentences.size)]
    numbers = {tag: i for i, tag in enumerate(tags, 1)}
    rows = tagger.predict(texts)
    symbols: list[int] = []
    for text, row in zip(texts, rows, strict=True):
        if len(row) != len(text):
            raise DataError(f"the tagger gave {len(row)} tags for a sentence of {len(text)} words")
        symbols += [numbers.get(str(tag), len(numbers) + 1) for tag in row]
    return View(sentences.offsets, np.array(symbols, dtype=np.int32), order, 0)
