"""Which words and chunks lower the margin of a sentence.

The margin is a sum of parts of features and a rest (`PassiveAggressive.feature_parts`, Shapley values). The part of an
n-gram goes in equal shares to its places in the sentence, and at each to its words; that of a border to the start or
the end. Words of a chunk share alike. So the shares of all words, of start and end, and the rest sum to the margin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill._native import tasks as native
from textmill.errors import DataError
from textmill.lm import FeatureSets
from textmill.model import check_fitted
from textmill.tables import Rows
from textmill.tasks.fluency.documents import words_of
from textmill.tasks.fluency.features import FeatureView, View, code_beginnings, parse_features
from textmill.tasks.fluency.model import FluencyModel

__all__ = ["Explanation", "FeatureShare", "WordShare", "explain_sentence"]


@dataclass(frozen=True, slots=True)
class WordShare:
    """A word as written, as the model sees it (`<unk>` if unknown), the chunk it is in, its share of the margin."""

    word: str
    known_as: str
    chunk: str
    share: float


@dataclass(frozen=True, slots=True)
class FeatureShare:
    """An n-gram of some kind, as classes, bits of their codes or words; where it stands; its part of the margin."""

    kind: str
    feature: str
    words: str
    share: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """A sentence with its margin, the shares of its words, of start and end, the rest, and its features."""

    margin: float
    probability: float
    words: Rows[WordShare]
    start: float
    end: float
    rest: float
    features: Rows[FeatureShare]


def explain_sentence(model: FluencyModel, sentence: str | Sequence[str], k: int = 10) -> Explanation:
    """Show what moves the margin of a sentence; `features` has the k n-grams that lower it most, then the k best.

    >>> from textmill.tasks.fluency import sample_documents
    >>> model = FluencyModel(n_classes=8, order=2, min_count=1).fit(sample_documents(60))
    >>> result = explain_sentence(model, "the old miller near the rivers see the wheel .")
    >>> total = sum(word.share for word in result.words) + result.start + result.end + result.rest
    >>> bool(abs(total - result.margin) < 1e-9)
    True
    """
    check_fitted(model)
    words = next(words_of([sentence], model.tokenizer))
    if not words:
        raise DataError("the sentence has no words; pass one with words")
    encoded = model.encode([words])
    views = model.views(encoded)
    kinds = parse_features(model.features)
    offsets, keys, at, places = native.ngram_places([view[:4] for view in views])
    parts, rest = model.learner_.feature_parts(FeatureSets(offsets, keys))
    constant = float(rest[0]) + model.margin_shift()
    margin = float(parts.sum()) + constant
    spans = [_spans(model, view, len(words)) for view in views]
    shares, ends = np.zeros(len(words)), np.zeros(2)
    rows = []
    for i, key in enumerate(keys.tolist()):
        number, length = divmod(int(key) >> 60, 4)
        length += 1
        found_at = places[at[i] : at[i + 1]].tolist()
        for place in found_at:
            for symbol in range(place, place + length):
                part = float(parts[i]) / (len(found_at) * length)
                if 0 <= symbol < len(spans[number]):
                    begin, end = spans[number][symbol]
                    shares[begin:end] += part / (end - begin)
                else:
                    ends[int(symbol >= 0)] += part
        rows.append(_feature(model, kinds[number], views[number], spans[number], words, found_at[0], length, parts[i]))
    rows.sort(key=lambda row: row.share)
    chosen = rows if len(rows) <= 2 * k else [*rows[:k], *rows[-k:]]
    vocabulary = model.lm_.words_.to_list()
    chunks = _chunks(model, views, kinds, words)
    lines = [
        WordShare(word, vocabulary[number], chunk, float(share))
        for word, number, chunk, share in zip(words, encoded.ids.tolist(), chunks, shares, strict=True)
    ]
    return Explanation(
        margin,
        float(model.predict_proba([words])[0]),
        Rows(lines, WordShare),
        float(ends[0]),
        float(ends[1]),
        constant,
        Rows(chosen, FeatureShare),
    )


def _spans(model: FluencyModel, view: View, words: int) -> list[tuple[int, int]]:
    """Which words each symbol of a view stands for."""
    lengths = np.ones(words, dtype=np.int64)
    if view.chunks is not None and model.word_classes_ is not None:
        lengths = model.word_classes_.lengths_of(view.chunks)
    ends = np.cumsum(lengths)
    return list(zip((ends - lengths).tolist(), ends.tolist(), strict=True))


def _chunks(model: FluencyModel, views: list[View], kinds: list[FeatureView], words: Sequence[str]) -> list[str]:
    """The chunk that each word is in; words themselves where there are no chunks."""
    for view, kind in zip(views, kinds, strict=True):
        if kind.kind in ("class", "code"):
            return [" ".join(words[b:e]) for b, e in _spans(model, view, len(words)) for _ in range(b, e)]
    return list(words)


def _feature(
    model: FluencyModel,
    kind: FeatureView,
    view: View,
    spans: list[tuple[int, int]],
    words: Sequence[str],
    place: int,
    length: int,
    part: Any,
) -> FeatureShare:
    """One n-gram in words."""
    inside = [s for s in range(place, place + length) if 0 <= s < len(spans)]
    vocabulary = model.lm_.words_
    tags = ["", *model.tags_.to_list(), "?"]
    names = []
    for symbol in range(place, place + length):
        if symbol not in inside:
            names.append("<s>" if symbol < 0 else "</s>")
        elif kind.kind == "word":
            names.append(vocabulary[int(view.symbols[symbol])])
        elif kind.kind == "pos":
            names.append(tags[int(view.symbols[symbol])])
        elif kind.kind == "code" and model.word_classes_ is not None:
            names.append(code_beginnings(model.word_classes_, kind.bits)[int(view.symbols[symbol]) - 1])
        else:
            names.append(str(int(view.symbols[symbol])))
    text = " ".join(words[spans[inside[0]][0] : spans[inside[-1]][1]])
    return FeatureShare(kind.kind, " ".join(names), text, float(part))
