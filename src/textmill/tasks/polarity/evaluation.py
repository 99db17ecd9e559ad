"""How good scores are: errors of the numbers, agreement of the scores, and the binary question behind both.

    MSE      (1/n) sum (p - g)^2       raw, clipped to the scale, rounded to its scores, averaged over gold scores
    MAE      (1/n) sum |p - g|         bias: mean of p - g
    accuracy share of scores that are right, or within 1; kappa beyond chance, plain and with squared distances
    binary   above or below neutral: items of neutral gold or assignment left out, or the assigned ones counted wrong
    ranks    Spearman's rho and Kendall's tau-b

A squared error and an accuracy want different answers: the mean of what is likely, and its mode. `assigned` may
therefore differ from the rounded predictions. Reference: Okanohara & Tsujii (2005), sections 3 and 5.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from textmill import plot
from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.metrics import Confusion, RegressionCounts
from textmill.selection import kendall, spearman
from textmill.tables import Table
from textmill.tasks.polarity.scale import Scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PolarityEvaluation", "density_grid", "draw_confusion", "draw_density", "evaluate_scores"]


@dataclass(frozen=True)
class PolarityEvaluation(Table):
    """Figures of predicted scores; `confusion` is None for a scale without steps."""

    reviews: int
    mse: float
    mse_clipped: float
    mse_rounded: float
    mse_macro: float
    mae: float
    bias: float
    accuracy: float | None
    within_one: float | None
    kappa: float | None
    weighted_kappa: float | None
    pearson: float | None
    spearman: float | None
    kendall: float | None
    binary_right: int
    binary_decided: int
    binary_polar: int
    confusion: Confusion | None

    @property
    def binary_accuracy(self) -> float | None:
        """Share of right signs where neither gold nor assigned score is neutral."""
        return self.binary_right / self.binary_decided if self.binary_decided else None

    @property
    def binary_strict(self) -> float | None:
        """The same with assigned neutral scores counted wrong."""
        return self.binary_right / self.binary_polar if self.binary_polar else None

    def figures(self) -> dict[str, float | int | None]:
        """All figures by name."""
        names = [name for name in self.__dataclass_fields__ if name != "confusion" and not name.startswith("binary")]
        figures = {name: getattr(self, name) for name in names}
        return figures | {"binary_accuracy": self.binary_accuracy, "binary_strict": self.binary_strict}

    def table(self) -> list[list[int]] | None:
        """Numbers of reviews, gold x assigned scores."""
        return None if self.confusion is None else np.asarray(self.confusion.table).astype(int).tolist()

    def table_lines(self) -> list[str]:
        """The same with scores and totals, as lines of cells between tabs."""
        if self.confusion is None:
            return []
        table = np.asarray(self.confusion.table).astype(int)
        whole = np.vstack([np.column_stack([table, table.sum(axis=1)]), [*table.sum(axis=0), table.sum()]])
        names = [*(f"{label:g}" for label in self.confusion.labels), "all"]
        lines = ["\t".join(["gold \\ assigned", *names])]
        return lines + ["\t".join([name, *map(str, row)]) for name, row in zip(names, whole.tolist(), strict=True)]

    def columns(self) -> dict[str, Any]:
        """Return name and value of each figure."""
        figures = self.figures()
        return {"figure": list(figures), "value": list(figures.values())}


def evaluate_scores(
    gold: ArrayLike, predicted: ArrayLike, scale: Scale, *, assigned: ArrayLike | None = None
) -> PolarityEvaluation:
    """Compare predicted with gold scores; `assigned` are scores to count as labels, by default the rounded predictions.

    >>> result = evaluate_scores([1, 2, 4, 5], [1.4, 2.0, 5.5, 3.0], Scale(1, 5))
    >>> round(result.mse, 4), result.accuracy, result.binary_accuracy
    (1.6025, 0.5, 1.0)
    """
    right, values = np.asarray(gold, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    if right.shape != values.shape or right.ndim != 1:
        raise DataError(f"there are {right.size} gold scores for {values.size} predictions; pass one for each")
    if not right.size:
        raise DataError("there is nothing to evaluate; pass at least one review")
    rounded = scale.round(values)
    labels = rounded if assigned is None else np.asarray(assigned, dtype=np.float64)
    counts = RegressionCounts.from_values(right, values)
    squares = (values - right) ** 2
    macro = [float(squares[right == score].mean()) for score in np.unique(right)]
    confusion = None
    if scale.whole:
        steps = scale.scores()
        if not set(right.tolist()) | set(labels.tolist()) <= set(steps):
            raise DataError(f"a gold score is not on the scale, {scale}; pass scores of the same scale")
        confusion = Confusion.from_labels(right.tolist(), labels.tolist(), labels=steps)
    correlated = len(np.unique(values)) > 1 and len(np.unique(right)) > 1
    decided = (right != scale.neutral) & (labels != scale.neutral)
    same = decided & ((right > scale.neutral) == (labels > scale.neutral))
    return PolarityEvaluation(
        reviews=len(right),
        mse=counts.mse,
        mse_clipped=float(((scale.clip(values) - right) ** 2).mean()),
        mse_rounded=float(((rounded - right) ** 2).mean()),
        mse_macro=float(np.mean(macro)),
        mae=counts.mae,
        bias=counts.bias,
        accuracy=None if confusion is None else confusion.accuracy(),
        within_one=None if confusion is None else confusion.accuracy(within=1),
        kappa=None if confusion is None else confusion.kappa(),
        weighted_kappa=None if confusion is None else confusion.kappa("quadratic"),
        pearson=counts.pearson if correlated else None,
        spearman=spearman(right, values) if correlated else None,
        kendall=kendall(right, values) if correlated else None,
        binary_right=int(same.sum()),
        binary_decided=int(decided.sum()),
        binary_polar=int((right != scale.neutral).sum()),
        confusion=confusion,
    )


def density_grid(gold: ArrayLike, predicted: ArrayLike, scale: Scale, *, bins: int = 20) -> tuple[Floats, Floats]:
    """Counts of predictions in equal bins over the scale for each gold score, (scores, bins), and the edges.

    Predictions outside of the scale fall into the first and the last bin.

    >>> grid, edges = density_grid([1, 5], [1.2, 4.9], Scale(1, 5), bins=4)
    >>> grid[0].tolist(), edges.tolist()
    ([1.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0, 5.0])
    """
    right, values = np.asarray(gold, dtype=np.float64), scale.clip(predicted)
    edges = np.linspace(scale.low, scale.high, bins + 1)
    rows = scale.scores() or np.unique(right).tolist()
    grid = np.array([np.histogram(values[right == score], bins=edges)[0] for score in rows], dtype=np.float64)
    return grid, edges


def draw_confusion(evaluation: PolarityEvaluation) -> Figure:
    """Draw gold against assigned scores, with totals.

    >>> draw_confusion(evaluate_scores([1, 5], [1, 4], Scale(1, 5))).axes[0].get_xlabel()
    'assigned'
    """
    if evaluation.confusion is None:
        raise DataError("a scale without steps has no confusion table; draw the density instead")
    table = np.asarray(evaluation.confusion.table)
    whole = np.vstack([np.column_stack([table, table.sum(axis=1)]), [*table.sum(axis=0), table.sum()]])
    names = [*(f"{label:g}" for label in evaluation.confusion.labels), "all"]
    return plot.heat_map(whole, x_label="assigned", y_label="gold", columns=names, rows=names)


def draw_density(gold: ArrayLike, predicted: ArrayLike, scale: Scale, *, bins: int = 20) -> Figure:
    """Draw where the predictions for each gold score lie.

    >>> draw_density([1, 5], [1.2, 4.9], Scale(1, 5), bins=4).axes[0].get_ylabel()
    'gold'
    """
    grid, edges = density_grid(gold, predicted, scale, bins=bins)
    middles = [f"{(a + b) / 2:.3g}" for a, b in itertools.pairwise(edges)]
    rows = [f"{score:g}" for score in scale.scores() or np.unique(np.asarray(gold, dtype=np.float64))]
    return plot.heat_map(grid, x_label="predicted", y_label="gold", columns=middles, rows=rows)
