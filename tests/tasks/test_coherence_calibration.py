"""Limits by length: checked by counting, on documents whose distribution is known."""

from __future__ import annotations

import numpy as np
import pytest

from textmill.tasks.coherence.calibration import LengthCurve


def test_between_lengths_the_curve_is_linear_in_the_logarithm() -> None:
    curve = LengthCurve(np.array([10.0, 1000.0]), np.array([1.0, 3.0]))
    assert curve.at([0, 10, 100, 1000, 10**7]).tolist() == pytest.approx([1, 1, 2, 3, 3])


def test_the_limit_of_one_group_is_the_order_statistic_of_conformal_prediction() -> None:
    scores = np.random.default_rng(0).permutation(39).astype(float)
    flat = LengthCurve(np.array([10.0]), np.array([100.0]))
    assert flat.raised(np.full(39, 50), scores, 0.05).at(50) == 37.0  # the 38th of 39
    assert flat.lowered(np.full(39, 50), scores, 0.05).at(50) == 1.0  # the second smallest
    assert flat.raised(np.array([50, 50]), np.array([3.0, 7.0]), 0.05).at(50) == 7.0  # too few: the largest


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_new_documents_keep_to_the_share_at_every_length(share: float) -> None:
    random = np.random.default_rng(1)

    def documents(count: int) -> tuple[np.ndarray, np.ndarray]:
        words = np.exp(random.uniform(2, 7, count)).astype(np.int64)
        return words, random.normal(np.log(words) ** 2 / 10, 1.0)  # long ones score higher, and more than linearly

    beginnings = LengthCurve(np.array([10.0, 100.0]), np.array([2.0, 1.0]))  # says the opposite, and ends early
    curve = beginnings.raised(*documents(2000), share)
    words, scores = documents(100_000)
    above = scores > curve.at(words)
    assert above.mean() == pytest.approx(share, abs=0.015)
    for low, high in ((7, 30), (30, 100), (100, 300), (300, 1100)):
        some = (words >= low) & (words < high)
        assert above[some].mean() == pytest.approx(share, abs=0.5 * share + 0.02), (low, high)


def test_all_documents_of_one_length_set_its_limit() -> None:
    flat = LengthCurve(np.array([10.0]), np.array([0.0]))
    assert flat.raised(np.full(199, 50), np.arange(199.0), 0.05).at(50) == 189.0  # the 190th of 199, in several groups
