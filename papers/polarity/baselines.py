"""Scores without reading the review: what every scorer has to beat.

    constant   always the neutral score
    random     any score of the scale, each as likely; the same for the same seed and row

On a test set with all of m scores equally often, 1 to m, the constant has a squared error of (m^2 - 1) / 12 and random
guesses one of (m^2 - 1) / 6: 2 and 4 for five stars.
"""

from __future__ import annotations

import numpy as np

from textmill.arrays import Floats
from textmill.model import check_choice
from textmill.tasks.polarity import CrossValidated, Scale

__all__ = ["BASELINES", "add_baselines", "baseline_scores"]

BASELINES = ("constant", "random")


def baseline_scores(name: str, reviews: int, scale: Scale, *, random_state: int = 0) -> Floats:
    """Return a score for each of so many reviews.

    >>> baseline_scores("constant", 2, Scale(1, 5)).tolist()
    [3.0, 3.0]
    """
    check_choice("name", name, BASELINES)
    if name == "constant":
        return np.full(reviews, scale.neutral, dtype=np.float64)
    generator = np.random.Generator(np.random.Philox(random_state))
    return generator.integers(int(scale.low), int(scale.high) + 1, reviews).astype(np.float64)


def add_baselines(result: CrossValidated, *, random_state: int = 0) -> CrossValidated:
    """Set the scores of both baselines beside those of scorers that were cross-validated."""
    for name in BASELINES:
        result.predicted[name] = baseline_scores(name, len(result.gold), result.scale, random_state=random_state)
        result.assigned[name] = result.scale.round(result.predicted[name])
    return result
