"""What a collection of reviews holds: how many of each score, and how long they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from textmill.corpus import split_sentences
from textmill.tables import Rows
from textmill.tasks.polarity.features import ReviewFeatures

__all__ = ["ScoreStatistics", "describe"]


class ScoreStatistics(NamedTuple):
    """Reviews of one score: how many, and their mean numbers of words and of sentences."""

    score: float
    reviews: int
    words: float
    sentences: float


def describe(texts: Sequence[str], scores: ArrayLike) -> Rows[ScoreStatistics]:
    """Numbers of reviews, words and sentences for each score.

    >>> describe(["Good. Very good!", "Bad."], [5, 1])[1]
    ScoreStatistics(score=5.0, reviews=1, words=3.0, sentences=2.0)
    """
    values = np.asarray(scores, dtype=np.float64)
    cut = ReviewFeatures(keep="")
    words = np.array([len(cut.words(text)) for text in texts])
    sentences = np.array([len(split_sentences(text)) for text in texts])
    rows = []
    for score in np.unique(values):
        own = values == score
        rows.append(
            ScoreStatistics(float(score), int(own.sum()), float(words[own].mean()), float(sentences[own].mean()))
        )
    return Rows(rows, ScoreStatistics)
