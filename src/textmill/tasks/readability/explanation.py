"""Why is this text hard: what each group of features adds, and which sentences make it so.

    share of a group  =  sum over its features of  w (x - mean) / deviation      w: change of the expected level by one
                                                                                 deviation, at this text
    difficulty of a sentence  =  expected level of the text - expected level of the text without the sentence

Shares are those of the linear model around the text; they add up to its distance from a mean text as long as that is
small. A sentence is hard if the text would be easier without it. Cost: features once for each sentence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from textmill.errors import DataError
from textmill.model import check_range
from textmill.tables import Rows
from textmill.tasks.readability.documents import AnnotatedText
from textmill.tasks.readability.features import subgroups
from textmill.tasks.readability.grader import ReadabilityGrader

__all__ = ["FeatureShare", "HardSentence", "explain_groups", "hardest_sentences"]


class FeatureShare(NamedTuple):
    """A group of features, what it adds to the expected level, and its feature that adds most."""

    group: str
    share: float
    feature: str
    value: float
    mean: float


class HardSentence(NamedTuple):
    """A sentence, its number, and how much easier the text would be without it."""

    sentence: int
    difficulty: float
    text: str


def explain_groups(grader: ReadabilityGrader, text: str | AnnotatedText) -> Rows[FeatureShare]:
    """Return what each group of features adds to the expected level of a text, the largest first."""
    table = grader.transform([text])
    shares = grader.learner_.shares(table.values)[0]
    names = np.array(table.names)
    rows = []
    for group in subgroups(table.names):
        own = np.flatnonzero([name == group or name.startswith(f"{group}.") for name in names])
        top = own[np.abs(shares[own]).argmax()]
        total = float(shares[own].sum())
        if np.isnan(table.values[0, own]).all():
            continue  # missing: it says nothing
        rows.append(
            FeatureShare(group, total, str(names[top]), float(table.values[0, top]), float(grader.learner_.mean_[top]))
        )
    return Rows(sorted(rows, key=lambda row: -abs(row.share)), FeatureShare)


def hardest_sentences(grader: ReadabilityGrader, text: str | AnnotatedText, *, k: int = 3) -> Rows[HardSentence]:
    """Return the sentences without which the text would be easier, the hardest first."""
    check_range("k", k, at_least=1, whole=True)
    document = grader.annotate([text])[0]
    if len(document.sentences) < 2:
        raise DataError("the text has one sentence; nothing is left without it", source=document.id or None)
    numbers = [i for i in range(len(document.sentences)) if _has_rest(document, i)]
    versions = [document, *(document.without_sentence(i) for i in numbers)]
    expected = grader.learner_.expected(grader.features_of(versions).values)
    rows = [
        HardSentence(number + 1, float(expected[0] - expected[at + 1]), " ".join(document.sentences[number]))
        for at, number in enumerate(numbers)
    ]
    return Rows(sorted(rows, key=lambda row: -row.difficulty)[:k], HardSentence)


def _has_rest(document: AnnotatedText, number: int) -> bool:
    rest = (token for i, row in enumerate(document.sentences) if i != number for token in row)
    return any(character.isalnum() for token in rest for character in token)
