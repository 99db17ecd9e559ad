"""Segmenters on texts with known segments: WindowDiff and P_k, by number of segments, beside the two extremes.

For each text the window is half the mean length of its true segments; figures are means over texts. `sweep` tries
every number of dimensions of a latent space from one decomposition for each text, the number of segments given.
References: Pevzner & Hearst (2002); Beeferman, Berger & Lafferty (1999).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.metrics import Segmentation, boundary_counts, pk, window_diff
from textmill.model import check_range, effective_jobs
from textmill.tasks.segmentation.building import Reference
from textmill.tasks.segmentation.rules import choose_gaps
from textmill.tasks.segmentation.segmenter import Segmenter, gaps_of
from textmill.tasks.segmentation.signals import Contexts, gap_signal, smooth

__all__ = ["SegmentationScores", "Sweep", "evaluate_segmenters", "sweep_dimensions"]

_USUAL = 5  # dimensions


@dataclass(frozen=True, eq=False)
class SegmentationScores:
    """Figures of one segmenter, one for each text; precision, recall and F1 are those of boundaries."""

    name: str
    window_diff: Floats
    pk: Floats
    precision: Floats
    recall: Floats
    f1: Floats
    n_true: Ints
    n_proposed: Ints

    def by_segments(self) -> dict[int, float]:
        """Mean WindowDiff by the true number of segments."""
        return {int(m): float(self.window_diff[self.n_true == m].mean()) for m in np.unique(self.n_true)}

    def to_json(self) -> dict[str, Any]:
        """Means and standard deviations."""
        return {
            "method": self.name,
            "texts": len(self.n_true),
            "window_diff": round(float(self.window_diff.mean()), 4),
            "window_diff_sd": round(float(self.window_diff.std()), 4),
            "pk": round(float(self.pk.mean()), 4),
            "pk_sd": round(float(self.pk.std()), 4),
            "precision": round(float(self.precision.mean()), 4),
            "recall": round(float(self.recall.mean()), 4),
            "f1": round(float(self.f1.mean()), 4),
            "segments": round(float(self.n_proposed.mean()), 2),
            "true_segments": round(float(self.n_true.mean()), 2),
        }


def evaluate_segmenters(
    segmenters: Mapping[str, Segmenter],
    references: Sequence[Reference],
    *,
    number_given: bool = False,
    tolerance: int = 0,
    n_jobs: int | None = None,
) -> list[SegmentationScores]:
    """Score segmenters on texts with known segments.

    `number_given` tells the segmenters how many segments there are; `tolerance` is how many tokens off a boundary may
    be for precision, recall and F1. A text without boundaries in which none is proposed has 1 for these.

    >>> from textmill.tasks.segmentation import NoBoundary, reference_of
    >>> references = [reference_of(["a b c d", "e f g h", "i j k l"])]
    >>> [scores] = evaluate_segmenters({"none": NoBoundary()}, references)
    >>> scores.to_json()["window_diff"]
    0.4
    """
    if not references:
        raise DataError("there are no texts with known segments to score on")
    check_range("tolerance", tolerance, at_least=0, whole=True)
    jobs = effective_jobs(n_jobs)
    results = []
    for name, segmenter in segmenters.items():

        def one(reference: Reference, segmenter: Segmenter = segmenter) -> list[float]:
            wanted = reference.n_segments if number_given else None
            proposed = segmenter.segment(reference.text, n_segments=wanted, snap=None).segmentation()
            truth = reference.segmentation
            near = boundary_counts(truth, proposed, tolerance=tolerance)
            right = not (near.hits or near.misses or near.false_alarms)
            places = [1.0] * 3 if right else [near.precision(), near.recall(), near.f()]
            return [_rate(window_diff, truth, proposed), _rate(pk, truth, proposed), *places, len(proposed.masses)]

        with ThreadPoolExecutor(jobs) as pool:
            wd, p_k, precision, recall, f1, many = np.array(list(pool.map(one, references))).T
        true = np.array([reference.n_segments for reference in references])
        results.append(SegmentationScores(name, wd, p_k, precision, recall, f1, true, many.astype(np.int64)))
    return results


def _rate(measure: Any, truth: Segmentation, proposed: Segmentation) -> float:
    return float(measure(truth, proposed).rate) if truth.units > 1 else 0.0


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
            return [_rate(window_diff, reference.segmentation, whole)] * (most + 1)
        vectors, _ = contexts.latent(max(most, _USUAL))

        def rate(d: int, wanted: int | None) -> float:
            gaps = gaps_of(contexts.gaps, smooth(gap_signal(contexts, vectors[:, :d]), 2, 1))
            chosen = gaps.positions[choose_gaps(gaps, "depth", 1.0, wanted)]
            return _rate(window_diff, reference.segmentation, Segmentation.from_boundaries(chosen, len(reference.text)))

        return [rate(_USUAL, None), *(rate(d, reference.n_segments) for d in range(1, most + 1))]

    with ThreadPoolExecutor(effective_jobs(n_jobs)) as pool:
        rates = np.array(list(pool.map(one, references)))
    true = np.array([reference.n_segments for reference in references])
    numbers = np.unique(true)
    means = np.array([rates[true == m].mean(axis=0) for m in numbers])
    deviations = np.array([rates[true == m].std(axis=0) for m in numbers])
    return Sweep(np.arange(1, most + 1), numbers, means[:, 1:], deviations[:, 1:], means[:, 0])
