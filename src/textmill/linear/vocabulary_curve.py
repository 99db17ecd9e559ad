"""How good is a classifier with the 20, 100, 1,000 ... most informative words? Several event models in one pass.

Words are ranked by their mutual information with the class in the training texts. A word's model does not depend on
which other words are taken, so every event is fitted once for the largest vocabulary, and one pass over the test texts
gives the scores of all sizes: words fall into buckets between the sizes, and scores of buckets add. The multinomial
only has another normalizer for each size.

Two events on the same test texts are compared by McNemar's test. Reference: Jansche (2003), tables 2 and 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from textmill.arrays import Floats, Masks
from textmill.errors import DataError
from textmill.linear.bayes import NaiveBayes
from textmill.linear.classifier import labels_of
from textmill.metrics import PairedCounts
from textmill.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["VocabularyCurve", "vocabulary_curve"]


class VocabularyCurve(Table):
    """Accuracy by vocabulary size and event.

    Attributes: sizes; events; accuracy, (sizes, events); correct, which test texts are right, (sizes, events, texts).
    """

    def __init__(self, sizes: list[int], events: list[str], correct: Masks) -> None:
        self.sizes, self.events, self.correct = sizes, events, correct
        self.accuracy = correct.mean(axis=2) if correct.size else np.zeros(correct.shape[:2])

    def columns(self) -> dict[str, list[Any]]:
        """Return words, and the accuracy of each event."""
        return {"words": self.sizes, **{name: self.accuracy[:, i].tolist() for i, name in enumerate(self.events)}}

    def paired(self, first: str, second: str, n_words: int) -> PairedCounts:
        """Return how many test texts only one of two events gets right, for McNemar's test.

        >>> X, y = [[2, 0], [3, 0], [0, 1], [0, 2]], ["a", "a", "b", "b"]
        >>> curve = vocabulary_curve(X, y, X, y, sizes=[1, 2], events=("binom", "zibinom"))
        >>> curve.paired("binom", "zibinom", 2).mcnemar().p_value
        1.0
        """
        for event in (first, second):
            if event not in self.events:
                raise DataError(f"there is no event {event!r} in the curve; there are {', '.join(self.events)}")
        if n_words not in self.sizes:
            raise DataError(f"there is no size {n_words} in the curve; there are {self.sizes}")
        rows = self.correct[self.sizes.index(n_words)]
        return PairedCounts.from_correct(rows[self.events.index(first)], rows[self.events.index(second)])

    def draw(self) -> Figure:
        """Draw accuracy against the number of words."""
        from textmill.plot import lines

        series = {name: (self.sizes, 100 * self.accuracy[:, i]) for i, name in enumerate(self.events)}
        return lines(series, x_label="words", y_label="accuracy, %", x_scale="log")


def vocabulary_curve(
    X: Any,
    y: Any,
    X_dev: Any,
    y_dev: Any,
    *,
    sizes: Sequence[int] = (20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000),
    events: Sequence[str] = ("bernoulli", "binom", "zibinom", "betabinom"),
    exposure: ArrayLike | None = None,
    exposure_dev: ArrayLike | None = None,
    **parameters: Any,
) -> VocabularyCurve:
    """Train on X, y and measure on X_dev, y_dev with the most informative words, for every size and event.

    Sizes above the number of columns count as that number. `parameters` go to `NaiveBayes`.

    >>> X, y = [[2, 0, 1], [3, 0, 1], [0, 1, 1], [0, 2, 1]], ["a", "a", "b", "b"]
    >>> vocabulary_curve(X, y, X, y, sizes=[1, 3], events=("binom", "bernoulli")).accuracy.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    if not len(sizes) or min(sizes) < 1:
        raise DataError(f"sizes must be numbers of at least 1, got {list(sizes)}")
    curves = []
    ends: list[int] = []
    for event in events:
        method = parameters.get("method", "moments" if event == "betabinom" else "newton")
        settings = {**parameters, "method": method if event in ("betabinom", "negbinom") else "newton"}
        model = NaiveBayes(event=event, n_words=max(sizes), **settings)
        model.fit(X, y, exposure=exposure)
        ends = sorted({min(int(size), len(model.words_)) for size in sizes})
        labels = labels_of(y_dev, len(y_dev), model.classes_)
        totals = _totals(model, X_dev, exposure_dev, ends)
        curves.append(totals.argmax(axis=2) == labels)
    return VocabularyCurve(ends, list(events), np.stack(curves, axis=1))


def _totals(model: NaiveBayes, X: Any, exposure: ArrayLike | None, ends: list[int]) -> Floats:
    """Scores for each size, (sizes, rows, classes)."""
    rows, lengths = model._rows(X, exposure)
    rank = np.empty(len(model.words_), np.int64)
    rank[model.ranking()] = np.arange(len(model.words_))
    bucket = np.searchsorted(ends, rank, side="right").astype(np.int32)
    scores = np.cumsum(model._scores(rows, lengths, bucket, len(ends)), axis=0)
    if model.event == "multinomial":
        by_word = rows[:, model.words_].tocsc()
        tokens = np.stack(
            [np.asarray(by_word[:, bucket == b].sum(axis=1), np.float64).ravel() for b in range(len(ends))]
        )
        masses = np.stack([model.first_[bucket == b].sum(axis=0) for b in range(len(ends))])
        scores = scores - np.cumsum(tokens, axis=0)[:, :, None] * np.log(np.cumsum(masses, axis=0))[:, None, :]
    return np.asarray(scores + model.log_prior_)
