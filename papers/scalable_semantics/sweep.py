"""How many dimensions does a latent space of one text need? WindowDiff of every number, the number of segments given.

One decomposition serves all: a space of d dimensions is the first d coordinates of any larger one. Ways to choose the
number stand beside each other: always 5, as many as segments, the best one of each number of segments.

Reference: Řehůřek (2011), section 5.5 and figures 5.4 and 5.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill import plot
from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.metrics import Segmentation, window_diff
from textmill.model import check_range, effective_jobs
from textmill.tasks.segmentation.building import Reference
from textmill.tasks.segmentation.evaluation import rate_of
from textmill.tasks.segmentation.rules import choose_gaps
from textmill.tasks.segmentation.segmenter import gaps_of
from textmill.tasks.segmentation.signals import Contexts, gap_signal, smooth

__all__ = ["Sweep", "draw_best_dimensions", "draw_strategies", "draw_sweep", "sweep_dimensions"]

_USUAL = 5  # dimensions


@dataclass(frozen=True, eq=False)
class Sweep:
    """WindowDiff of every number of dimensions, for each true number of segments.

    Attributes:
        dimensions: Numbers of dimensions that were tried.
        n_segments: True numbers of segments.
        scores: Mean WindowDiff with the number of segments given, numbers of segments x dimensions.
        deviations: Standard deviation over texts, of the same shape.
        free: Mean WindowDiff of 5 dimensions with the number of segments not given, by number of segments.
    """

    dimensions: Ints
    n_segments: Ints
    scores: Floats
    deviations: Floats
    free: Floats

    def best(self) -> dict[int, int]:
        """The best number of dimensions by true number of segments."""
        return {
            int(m): int(self.dimensions[np.argmin(row)]) for m, row in zip(self.n_segments, self.scores, strict=True)
        }

    def behind(self) -> Floats:
        """How far each number of dimensions is behind the best one; NaN if by more than the deviation of the best."""
        best = np.argmin(self.scores, axis=1)
        rows = np.arange(len(best))
        away = self.scores - self.scores[rows, best][:, None]
        return np.where(away <= self.deviations[rows, best][:, None], away, np.nan)

    def strategies(self) -> dict[str, Floats]:
        """Ways to choose the number of dimensions: their mean WindowDiff by number of segments."""
        rows, last = np.arange(len(self.n_segments)), len(self.dimensions) - 1
        return {
            "5, segments not given": self.free,
            "5": self.scores[:, min(_USUAL - 1, last)],
            "as many as segments": self.scores[rows, np.minimum(np.maximum(self.n_segments, 2) - 1, last)],
            "best": self.scores.min(axis=1),
        }


def sweep_dimensions(
    references: Sequence[Reference],
    *,
    most: int = 20,
    sequence_tokens: int = 20,
    context: int = 6,
    n_jobs: int | None = None,
) -> Sweep:
    """Try 1 .. `most` dimensions on every text, the number of segments given, from one decomposition of each."""
    check_range("most", most, at_least=1, whole=True)
    if not references:
        raise DataError("there are no texts with known segments to score on")

    def one(reference: Reference) -> list[float]:
        contexts = Contexts(reference.text, reference.text.sequences(sequence_tokens), context)
        if not len(contexts.gaps):
            whole = Segmentation.from_masses([len(reference.text)])
            return [rate_of(window_diff, reference.segmentation, whole)] * (most + 1)
        vectors, _ = contexts.latent(max(most, _USUAL))

        def rate(d: int, wanted: int | None) -> float:
            gaps = gaps_of(contexts.gaps, smooth(gap_signal(contexts, vectors[:, :d]), 2, 1))
            chosen = gaps.positions[choose_gaps(gaps, "depth", 1.0, wanted)]
            return rate_of(
                window_diff, reference.segmentation, Segmentation.from_boundaries(chosen, len(reference.text))
            )

        return [rate(_USUAL, None), *(rate(d, reference.n_segments) for d in range(1, most + 1))]

    with ThreadPoolExecutor(effective_jobs(n_jobs)) as pool:
        rates = np.array(list(pool.map(one, references)))
    true = np.array([reference.n_segments for reference in references])
    numbers = np.unique(true)
    means = np.array([rates[true == m].mean(axis=0) for m in numbers])
    deviations = np.array([rates[true == m].std(axis=0) for m in numbers])
    return Sweep(np.arange(1, most + 1), numbers, means[:, 1:], deviations[:, 1:], means[:, 0])


def draw_sweep(sweep: Sweep) -> Any:
    """WindowDiff by the number of dimensions, one line per number of segments."""
    return plot.lines(
        {
            f"{m} segments": (sweep.dimensions.astype(float), row)
            for m, row in zip(sweep.n_segments.tolist(), sweep.scores, strict=True)
        },
        x_label="dimensions",
        y_label="WindowDiff",
        title="How many dimensions",
    )


def draw_best_dimensions(sweep: Sweep) -> Any:
    """The best numbers of dimensions by number of segments: those within one standard deviation of the best, the
    darker the nearer."""
    return plot.heat_map(
        sweep.behind(),
        x_label="dimensions",
        y_label="segments",
        title="WindowDiff behind the best number of dimensions",
        columns=[str(d) for d in sweep.dimensions.tolist()],
        rows=[str(m) for m in sweep.n_segments.tolist()],
        color_map="Blues_r",
    )


def draw_strategies(sweep: Sweep) -> Any:
    """Ways to choose the number of dimensions: WindowDiff by number of segments, one line per way."""
    return plot.lines(
        {name: (sweep.n_segments.astype(float), scores) for name, scores in sweep.strategies().items()},
        x_label="true segments",
        y_label="WindowDiff",
        title="How many dimensions to take",
    )
