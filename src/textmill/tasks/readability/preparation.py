"""Texts made ready for learning: annotated, turned into arrays, with the features that need no learning.

Levels, groups and leaks are checked here. Versions of one article must be in one group: where no groups are given and
texts of different levels share stretches of words, that is an error; what else gives levels away is a warning.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill.arrays import Ints
from textmill.errors import DataError, warn_caller
from textmill.tasks.readability.annotator import Annotator
from textmill.tasks.readability.documents import AnnotatedText
from textmill.tasks.readability.features import GROUPS, FeatureTable, static_features
from textmill.tasks.readability.graded import GradedTexts, order_levels
from textmill.tasks.readability.layers import Layers
from textmill.tasks.readability.leaks import LeakWarning, find_leaks
from textmill.tasks.readability.perplexities import TokenArrays
from textmill.tasks.readability.resources import LanguageResources
from textmill.tasks.readability.wordnet import WordNet

__all__ = ["PreparedTexts", "plain_text", "prepare", "prepare_graded"]


@dataclass(frozen=True)
class PreparedTexts:
    """Annotated texts with levels and groups as numbers, their tokens as arrays, and their static features."""

    documents: list[AnnotatedText]
    level: Ints
    order: list[str]
    groups: list[Hashable]
    tokens: TokenArrays
    static: FeatureTable

    def __len__(self) -> int:
        return len(self.documents)


def plain_text(text: str | AnnotatedText) -> str:
    """Return a text, of an annotated one its tokens with blanks between them.

    >>> plain_text(AnnotatedText([["The", "mill", "."], ["It", "turns", "."]]))
    'The mill .\\nIt turns .'
    """
    return text if isinstance(text, str) else "\n".join(" ".join(sentence) for sentence in text.sentences)


def prepare(
    texts: Sequence[str | AnnotatedText],
    levels: Sequence[Any],
    groups: Sequence[Hashable] | None = None,
    *,
    order: Sequence[str] | None = None,
    ids: Sequence[str] | None = None,
    annotator: Annotator | None = None,
    wordnet: WordNet | None = None,
    resources: LanguageResources | None = None,
    feature_groups: Sequence[str] = GROUPS,
    salience: int = 1,
    n_jobs: int | None = None,
) -> PreparedTexts:
    """Check texts, levels and groups, annotate the texts and work out the features that need no learning.

    `order` are the levels, the easiest first. `groups` of None are checked: every text is then a group of its own. The
    grid is that of entities with `salience` mentions.
    """
    names = [str(level) for level in levels]
    if len(texts) != len(names):
        raise DataError(f"there are {len(texts)} texts but {len(names)} levels; pass one for each text")
    if groups is not None and len(groups) != len(texts):
        raise DataError(f"there are {len(texts)} texts but {len(groups)} groups; pass one for each text")
    if not texts:
        raise DataError("there are no texts; pass at least one of each level")
    plain = [plain_text(text) for text in texts]
    ranked = order_levels(plain, names) if order is None else [str(level) for level in order]
    if strange := sorted(set(names) - set(ranked)):
        raise DataError(f"level {strange[0]!r} is not one of {', '.join(ranked)}")
    ranked = [level for level in ranked if level in set(names)]
    if len(ranked) < 2:
        raise DataError(f"all texts have the level {ranked[0]!r}; pass texts of at least two levels")
    _check_leaks(plain, names, groups)
    maker = Annotator(resources=resources) if annotator is None else annotator
    documents = maker.annotate(texts, ids=ids)
    layers = Layers(documents, resources, n_jobs)
    return PreparedTexts(
        documents,
        np.array([ranked.index(level) for level in names], dtype=np.int64),
        ranked,
        list(range(len(texts))) if groups is None else list(groups),
        TokenArrays.of(layers),
        static_features(layers, wordnet=wordnet, groups=feature_groups, salience=salience),
    )


def prepare_graded(graded: GradedTexts, **options: Any) -> PreparedTexts:
    """Prepare what `read_graded_texts` has read; options as in `prepare`.

    >>> graded = GradedTexts(["A mill.", "It is old."], ["1", "2"], None, ["a", "b"], ["1", "2"])
    >>> prepare_graded(graded).level.tolist()
    [0, 1]
    """
    return prepare(graded.texts, graded.levels, graded.groups, order=graded.order, ids=graded.ids, **options)


def _check_leaks(texts: Sequence[str], levels: Sequence[str], groups: Sequence[Hashable] | None) -> None:
    for leak in find_leaks(texts, levels, groups):
        if leak.kind == "versions" and groups is None:
            raise DataError(f"{leak.what}; pass groups: the article of each text")
        warn_caller(str(leak), LeakWarning)
