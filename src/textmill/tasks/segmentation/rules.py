"""Which gaps are boundaries: thresholds on depth or similarity, Hearst's adaptive rules, or a given number.

    depth        depth >= t
    similarity   similarity < t
    hearst       depth > mean - sd / 2 of the depths of all minima (HC), one sd for `liberal` (LC)
    signal       similarity < mean - sd / 2 of the whole signal
    a number m   the m - 1 minima of least similarity

Only local minima of the signal are looked at. sd is that of the population. References: Hearst (1997); Řehůřek (2011).
"""

from __future__ import annotations

import numpy as np

from textmill.arrays import Floats, Ints
from textmill.tasks.segmentation.signals import Gaps, local_minima

__all__ = ["RULES", "choose_gaps", "threshold_of"]

RULES = ("depth", "similarity", "hearst", "liberal", "signal")


def choose_gaps(gaps: Gaps, rule: str, threshold: float, n_segments: int | None = None) -> Ints:
    """Indices of the gaps that are boundaries, rising.

    >>> x = np.array([0.9, 0.8, 0.3, 0.7, 0.95, 0.9, 0.5, 0.6, 0.4, 0.9])
    >>> from textmill.tasks.segmentation.signals import depth_scores
    >>> gaps = Gaps(np.arange(1, 11), x, depth_scores(x))
    >>> [choose_gaps(gaps, *rule).tolist() for rule in (("depth", 1.0), ("hearst", 0.0), ("depth", 1.0, 3))]
    [[2], [2, 8], [2, 8]]
    """
    minima = local_minima(gaps.similarity)
    depth, similarity = gaps.depth[minima], gaps.similarity[minima]
    if n_segments is not None:
        return np.sort(minima[np.argsort(similarity, kind="stable")[: n_segments - 1]])
    signal, value = threshold_of(gaps, rule, threshold)
    if signal == "similarity":
        return minima[similarity < value]
    return minima[depth >= value if rule == "depth" else depth > value]


def threshold_of(gaps: Gaps, rule: str, threshold: float) -> tuple[str, float]:
    """What a rule looks at, "similarity" or "depth", and the value it compares that with.

    >>> x = np.array([0.9, 0.8, 0.3, 0.7, 0.95, 0.9, 0.5, 0.6, 0.4, 0.9])
    >>> from textmill.tasks.segmentation.signals import depth_scores
    >>> signal, value = threshold_of(Gaps(np.arange(1, 11), x, depth_scores(x)), "hearst", 0.0)
    >>> signal, round(value, 4)
    ('depth', 0.6829)
    """
    if rule == "signal":
        return "similarity", _below(gaps.similarity, 0.5)
    if rule in ("depth", "similarity"):
        return rule, threshold
    return "depth", _below(gaps.depth[local_minima(gaps.similarity)], 0.5 if rule == "hearst" else 1.0)


def _below(values: Floats, deviations: float) -> float:
    return float(values.mean() - deviations * values.std()) if len(values) else 0.0
