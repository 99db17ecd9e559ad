"""How good is a detector? Equal error rates against kinds of false documents, what its threshold catches, pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from textmill import plot
from textmill.errors import DataError
from textmill.metrics import ScoreCounts
from textmill.tables import Rows
from textmill.tasks.coherence.detector import DocumentScore
from textmill.tasks.coherence.scores import equal_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Evaluation", "draw_histograms", "draw_roc", "evaluate"]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A detector against one kind of false documents.

    Equal error rates of its score, of entropy and of LLPW; the shares that its own threshold calls incoherent, of the
    false documents (caught) and of the true ones (alarms); how many documents on both sides are empty.
    """

    kind: str
    score: float
    entropy: float
    llpw: float
    caught: float
    alarms: float
    empty: int


def evaluate(true: Sequence[DocumentScore], false: Mapping[str, Sequence[DocumentScore]]) -> Rows[Evaluation]:
    """Compare what a detector found in true documents and in each kind of false ones; empty ones are left out."""
    rows = []
    for kind, scores in false.items():
        sides = [[one for one in side if one.verdict != "empty"] for side in (true, scores)]
        if not all(sides):
            raise DataError(f"there is no document with a known word on one side of '{kind}'; pass others")
        by_score, by_entropy, by_llpw = (
            equal_error(*([getattr(one, name) for one in side] for side in sides), accept=accept).figure
            for name, accept in (("score", "below"), ("entropy", "below"), ("llpw", "above"))
        )
        alarms, caught = (float(np.mean([one.score > one.threshold for one in side])) for side in sides)
        empty = len(true) + len(scores) - sum(map(len, sides))
        rows.append(Evaluation(kind, by_score, by_entropy, by_llpw, caught, alarms, empty))
    return Rows(rows, Evaluation)


def draw_histograms(
    entropies: Mapping[str, ArrayLike], *, threshold: float | None = None, title: str | None = None
) -> Figure:
    """Histograms of the entropies of true and false documents.

    >>> len(draw_histograms({"true": [1.0, 2.0, 1.5], "markov": [4.0, 4.4]}).axes)
    1
    """
    values = {name: np.asarray(one, dtype=np.float64) for name, one in entropies.items()}
    return plot.histogram(
        {name: one[~np.isnan(one)] for name, one in values.items()},
        x_label="entropy of the topics, bits",
        shares=True,
        title=title,
        verticals=None if threshold is None else {"threshold": [threshold]},
    )


def draw_roc(true: ArrayLike, false: Mapping[str, ArrayLike], *, det: bool = False, title: str | None = None) -> Figure:
    """ROC curves (with `det` DET curves) of scores accepted below a threshold, with their points of equal error.

    >>> len(draw_roc([1.0, 2.0, 1.5], {"markov": [4.0, 4.4, 1.8]}).axes)
    1
    """
    good = np.asarray(true, dtype=np.float64)
    curves: dict[str, tuple[Any, Any]] = {}
    points: list[tuple[float, float]] = []
    for kind, scores in false.items():
        bad = np.asarray(scores, dtype=np.float64)
        values, gold = np.concatenate([good, bad]), np.repeat([True, False], [len(good), len(bad)])
        scored = ~np.isnan(values)
        counts = ScoreCounts.from_scores(values[scored], gold[scored], accept="below")
        acceptance, rejection = counts.error_rates()
        rate = counts.equal_error().figure
        curves[f"{kind}, {100 * rate:.1f} %"] = (acceptance, rejection if det else 1 - rejection)
        points += [(rate, rate if det else 1 - rate)] if not det or 0 < rate < 1 else []
    scale = "probit" if det else "linear"
    return plot.lines(
        curves,
        x_label="false documents accepted",
        y_label="true documents rejected" if det else "true documents accepted",
        title=title,
        x_scale=scale,
        y_scale=scale,
        marks={"equal error": tuple(np.transpose(points))} if points else None,
        diagonal=det,
    )
