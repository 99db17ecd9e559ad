"""Pictures of linear models: weights along a path of penalties, the strongest weights of a model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from textmill.errors import DataError
from textmill.linear.classifier import LinearClassifier
from textmill.linear.grafting import CombinationLogistic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_path", "draw_strongest"]


def draw_path(models: Iterable[Any], *, k: int = 8, label: Any = None) -> Figure:
    """Draw how weights grow as the L1 penalty falls: a curve for each of the k strongest features of the last model.

    `models` are those of `LogisticRegression.path` or `CombinationLogistic.path`; `label` is the class whose weights
    are drawn when there are more than two, by default the first.

    >>> from textmill.linear import CombinationLogistic
    >>> X, y = np.array([[0, 0], [1, 0], [0, 1], [1, 1]] * 10, dtype=float), [0, 1, 1, 0] * 10
    >>> figure = draw_path(CombinationLogistic(intercept="none").path(X, y, steps=4, ratio=0.1))
    >>> figure.axes[0].get_xlabel()
    'L1 penalty'
    """
    from textmill.plot import lines

    path = list(models)
    if not path:
        raise DataError("there are no models to draw; pass those of a path")
    last = path[-1]
    margin = 0 if label is None or len(last.coef_) == 1 else int(np.flatnonzero(last.classes_ == label)[0])
    weights = [_named_weights(model, margin) for model in path]
    final = weights[-1]
    best = sorted(final, key=lambda name: (-abs(final[name]), name))[:k]
    if not best:
        raise DataError("all weights of the last model are zero; lower its penalty")
    penalties = [model.l1 for model in path]
    rising = sorted(best, key=lambda name: -final[name])
    series = {name: (penalties, [row.get(name, 0.0) for row in weights]) for name in rising}
    return lines(series, x_label="L1 penalty", y_label="weight", x_scale="log")


def draw_strongest(model: LinearClassifier, *, k: int = 12) -> Figure:
    """Draw the strongest weights of a model as bars: words, or combinations of features.

    Of two classes, weights below zero speak for the first.

    >>> from textmill.linear import CombinationLogistic
    >>> X, y = np.array([[0, 0], [1, 0], [0, 1], [1, 1]] * 10, dtype=float), [0, 1, 1, 0] * 10
    >>> figure = draw_strongest(CombinationLogistic(l1=1.0, intercept="none").fit(X, y))
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['0 & 1', '0', '1']
    """
    from textmill.plot import bars

    if len(model.coef_) > 1:
        strongest = model.strongest(k)
        chosen = sorted(range(len(strongest.weights)), key=lambda i: -abs(strongest.weights[i]))[:k]
        names = [f"{strongest.labels[i]}: {strongest.features[i]}" for i in chosen]
        values = [strongest.weights[i] for i in chosen]
    else:
        weights = _named_weights(model, 0)
        names = sorted(weights, key=lambda name: (-round(abs(weights[name]), 9), name))[:k]
        values = [weights[name] for name in names]
    if not names:
        raise DataError("all weights are zero; lower the penalty")
    return bars(names, {"weight": values}, x_label="weight")


def _named_weights(model: Any, margin: int) -> dict[str, float]:
    """The weights of one class that are not zero, by the names of their features."""
    row = model.coef_[margin]
    active = np.flatnonzero(row)
    names = model.feature_names() if isinstance(model, CombinationLogistic) or model.vectorizer_ is not None else None
    return {(str(j) if names is None else names[j]): float(row[j]) for j in active.tolist()}
