"""Other domains and the learning curve on real reviews."""

from __future__ import annotations

import os
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from papers.polarity.baselines import add_baselines
from papers.polarity.experiments import learning_curve, transfer
from textmill.tasks.polarity import (
    PolarityScorer,
    Reviews,
    balance,
    read_reviews,
)


@cache
def reviews(name: str) -> Reviews:
    folder = Path(os.environ["TEXTMILL_DATA"]) / "reviews"
    if name == "amazon5":
        return read_reviews(folder / "amazon5.csv", text_field="input")
    return read_reviews([folder / f"{name}-negative.review", folder / f"{name}-positive.review"])


def balanced(name: str, seed: int) -> Reviews:
    whole = reviews(name)
    return whole.take(balance(whole.scores, random_state=seed))


@pytest.mark.slow
def test_regression_beats_votes_and_the_constant_in_another_domain() -> None:
    for source, target in (("books", "dvd"), ("dvd", "kitchen_housewares"), ("kitchen_housewares", "books")):
        scorers = {kind: PolarityScorer(kind=kind) for kind in ("pairwise", "svr")}
        result = add_baselines(transfer(balanced(source, 0), balanced(target, 0), scorers))
        mse = {kind: result.evaluation(kind).mse for kind in ("constant", *scorers)}
        assert mse["svr"] < min(mse["constant"], mse["pairwise"])


@pytest.mark.slow
def test_the_learning_curve_of_five_stars_falls() -> None:
    part = balanced("amazon5", 0)
    points = learning_curve(part.texts, part.scores, PolarityScorer(kind="svr"), sizes=[10, 20, 40, 80, 160])
    errors = [point.mse for point in points]
    assert all(later <= earlier + 0.05 for earlier, later in pairwise(errors))
    assert errors[0] - errors[-1] >= 0.35
