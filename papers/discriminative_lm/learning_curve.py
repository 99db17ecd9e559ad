"""Accuracy by the number of sentences that a judge learns from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill.model import check_range
from textmill.plot import lines
from textmill.tables import Rows
from textmill.tasks.fluency.documents import CorpusSplit, SentenceDocument
from textmill.tasks.fluency.evaluation import evaluate_fluency
from textmill.tasks.fluency.model import FluencyModel, seed_for

__all__ = ["CurvePoint", "draw_curve", "learning_curve"]


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Sentences learned from (positives and negatives of a pass), accuracy on the test part, features, active ones."""

    sentences: int
    accuracy: float
    features: int
    active: int


def learning_curve(model: FluencyModel, split: CorpusSplit, sizes: Sequence[int]) -> Rows[CurvePoint]:
    """Train on growing numbers of positives, and measure each model on the test part.

    `sizes` are numbers of sentences of a pass, half of them positive; language model and classes stay the same.

    >>> from textmill.tasks.fluency import sample_documents, split_corpus
    >>> split = split_corpus(sample_documents(60))
    >>> points = learning_curve(FluencyModel(n_classes=8, order=2, min_count=1), split, [40, 160])
    >>> [point.sentences for point in points]
    [40, 160]
    """
    sentences = split.sentences("train")
    order = np.random.Generator(np.random.Philox(seed_for(model.random_state, "order", 10**6))).permutation(
        len(sentences)
    )
    points = []
    for size in sizes:
        check_range("a size", size, at_least=2, at_most=2 * len(sentences), whole=True)
        some = [SentenceDocument("train", [sentences[i] for i in np.sort(order[: size // 2]).tolist()])]
        part = CorpusSplit(split.vocabulary, split.lm, some, split.dev, split.test)
        fitted = FluencyModel(**model.get_params(deep=False)).fit(part)
        result = evaluate_fluency(fitted, split.test)
        points.append(CurvePoint(int(size), result.accuracy, result.n_features, fitted.learner_.n_active_))
    return Rows(points, CurvePoint)


def draw_curve(points: dict[str, Sequence[CurvePoint]]) -> Any:
    """Draw accuracy over the number of training sentences."""
    curves = {
        name: ([point.sentences for point in row], [100 * point.accuracy for point in row])
        for name, row in points.items()
    }
    return lines(curves, x_label="sentences", y_label="accuracy, %", x_scale="log")
