"""The two annotators of the paper, and scorers that do not read."""

from __future__ import annotations

import numpy as np
import pytest

from papers.polarity.baselines import BASELINES, baseline_scores
from papers.polarity.human import evaluate_annotator
from textmill.tasks.polarity import Scale, evaluate_scores

STARS = Scale(1, 5)


H1 = [[12, 7, 0, 1, 0], [7, 8, 4, 1, 0], [1, 1, 13, 5, 0], [0, 0, 4, 10, 6], [0, 1, 2, 7, 10]]


H2 = [[16, 3, 0, 1, 0], [11, 5, 3, 1, 0], [2, 5, 7, 4, 2], [0, 1, 2, 1, 16], [0, 0, 0, 2, 18]]


@pytest.mark.parametrize(
    ("matrix", "totals", "figures"),
    [
        (
            H1,
            [20, 17, 23, 24, 16],
            {
                "mse": 0.75,
                "mae": 0.55,
                "accuracy": 0.53,
                "within_one": 0.94,
                "weighted_kappa": 0.80519,
                "kappa": 0.4125,
                "bias": -0.01,
                "pearson": 0.80583,
                "spearman": 0.80576,
                "kendall": 0.70872,
                "binary_accuracy": 67 / 70,
                "binary_strict": 67 / 80,
            },
        ),
        (
            H2,
            [29, 14, 12, 9, 36],
            {
                "mse": 0.79,
                "mae": 0.61,
                "accuracy": 0.47,
                "within_one": 0.93,
                "weighted_kappa": 0.83644,
                "kappa": 0.3375,
                "bias": 0.09,
                "pearson": 0.85029,
                "spearman": 0.85390,
                "kendall": 0.75117,
                "binary_accuracy": 72 / 75,
                "binary_strict": 72 / 80,
            },
        ),
    ],
)
def test_annotators_have_the_figures_of_their_matrices(
    matrix: list[list[int]], totals: list[int], figures: dict[str, float]
) -> None:
    result = evaluate_annotator(matrix, STARS)
    assert result.confusion is not None
    assert np.asarray(result.confusion.table).sum(axis=0).tolist() == totals
    assert result.table() == matrix
    assert {name: result.figures()[name] for name in figures} == pytest.approx(figures, abs=1e-4)


def test_baselines_on_even_scores() -> None:
    gold = np.tile(np.arange(1.0, 6.0), 40_000)
    constant, random = (baseline_scores(name, len(gold), STARS) for name in BASELINES)
    assert evaluate_scores(gold, constant, STARS).mse == 2.0
    assert ((random - gold) ** 2).mean() == pytest.approx(4.0, abs=0.05)
    assert set(random) == {1.0, 2.0, 3.0, 4.0, 5.0}
