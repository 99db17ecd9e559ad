"""Segmenters on texts with known segments: WindowDiff and P_k, by number of segments, beside the two extremes.

For each text the window is half the mean length of its true segments; figures are means over texts.
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
from textmill.tasks.segmentation.segmenter import Segmenter

__all__ = ["SegmentationScores", "evaluate_segmenters", "rate_of"]


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

    >>> from textmill.tasks.segmentation import TopicSegmenter, reference_of
    >>> references = [reference_of(["a b c d", "e f g h", "i j k l"])]
    >>> [scores] = evaluate_segmenters({"auto": TopicSegmenter()}, references)
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
            return [rate_of(window_diff, truth, proposed), rate_of(pk, truth, proposed), *places, len(proposed.masses)]

        with ThreadPoolExecutor(jobs) as pool:
            wd, p_k, precision, recall, f1, many = np.array(list(pool.map(one, references))).T
        true = np.array([reference.n_segments for reference in references])
        results.append(SegmentationScores(name, wd, p_k, precision, recall, f1, true, many.astype(np.int64)))
    return results


def rate_of(measure: Any, truth: Segmentation, proposed: Segmentation) -> float:
    """Return a share of windows that disagree; none of a text of one token.

    >>> rate_of(window_diff, Segmentation.from_masses([2, 2]), Segmentation.from_masses([4])) > 0
    True
    """
    return float(measure(truth, proposed).rate) if truth.units > 1 else 0.0
