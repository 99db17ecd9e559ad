"""What a scorer says beside the score: words for stems, intervals, standard errors; families and votes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textmill.errors import DataError
from textmill.model import load
from textmill.tasks.polarity import (
    PolarityScorer,
    ReviewFeatures,
    Reviews,
    cross_validate,
    explain_review,
    feature_polarities,
    sample_reviews,
)


def test_stems_are_shown_as_their_most_frequent_word() -> None:
    texts = ["waste of money", "money well spent", "lovely money, lovely", "loves it", "disappointing waste"] * 3
    scorer = PolarityScorer(kind="svr", kernel="linear").fit(texts, [1, 4, 5, 5, 1] * 3)
    shown = {row.feature for row in feature_polarities(scorer, k=10)}
    assert {"money", "waste", "lovely", "disappointing"} <= shown
    assert not {"monei", "wast", "love"} & shown
    assert {row.feature for row in explain_review(scorer, "A waste of my money")} == {"waste", "of", "money"}


def test_a_file_without_words_for_stems_still_loads() -> None:
    path = Path(__file__).parents[2] / "files" / "tasks" / "polarity-1.mill"
    scorer = load(path, expect=PolarityScorer)
    assert scorer.predict(["great"])[0] > scorer.predict(["bad"])[0] + 2
    assert scorer.shown("u:realli") == "realli"
    assert scorer.half_width_ is None


def test_intervals_hold_the_share_of_scores_that_was_asked_for() -> None:
    reviews = Reviews.of(*sample_reviews(600, random_state=3))
    new = Reviews.of(*sample_reviews(600, random_state=4))
    for coverage in (0.6, 0.9):
        scorer = PolarityScorer(kind="svr", kernel="linear", cost=1.0, coverage=coverage)
        scorer.fit(reviews.texts, reviews.scores)
        intervals = scorer.predict_interval(new.texts)
        inside = (intervals[:, 0] <= new.scores) & (new.scores <= intervals[:, 1])
        assert coverage - 0.06 < inside.mean() < coverage + 0.08
        assert intervals.min() >= 1
        assert intervals.max() <= 5
        assert scorer.scored(new.texts[:5]).columns()["low"].tolist() == intervals[:5, 0].tolist()
    with pytest.raises(DataError, match="without intervals"):
        PolarityScorer(kind="svr").fit(reviews.texts[:50], reviews.scores[:50]).predict_interval(["good"])


def test_each_family_may_have_the_same_length() -> None:
    reviews = Reviews.of(*sample_reviews(200, random_state=5))
    features = ReviewFeatures(families=["unigram", "bigram"])
    scorer = PolarityScorer(kind="svr", features=features, normalize="family").fit(reviews.texts, reviews.scores)
    rows = scorer.vectors(reviews.texts[:20])
    bigram = np.array([str(name).startswith("b:") for name in scorer.vectorizer_.terms_])
    squares = rows.multiply(rows)
    assert np.asarray(squares.sum(axis=1)).ravel() == pytest.approx(1.0)
    assert np.asarray(squares[:, np.flatnonzero(bigram)].sum(axis=1)).ravel() == pytest.approx(0.5)
    folds = cross_validate(reviews.texts, reviews.scores, {"": scorer}, n_folds=5)
    train, test = np.flatnonzero(folds.folds != 0), np.flatnonzero(folds.folds == 0)
    again = PolarityScorer(**scorer.get_params(deep=False))
    again.fit([reviews.texts[i] for i in train], reviews.scores[train])
    assert again.predict([reviews.texts[i] for i in test]) == pytest.approx(folds.predicted[""][test], abs=5e-3)


def test_the_mean_of_votes_is_a_number_and_the_winner_the_whole_score() -> None:
    reviews = Reviews.of(*sample_reviews(250, random_state=6))
    votes = PolarityScorer(kind="pairwise").fit(reviews.texts, reviews.scores)
    mean = PolarityScorer(kind="pairwise-mean").fit(reviews.texts, reviews.scores)
    new = Reviews.of(*sample_reviews(60, random_state=7))
    counts = votes.learner_.votes(votes.vectors(new.texts))
    assert mean.predict(new.texts) == pytest.approx((counts * np.arange(1, 6)).sum(axis=1) / 10)
    assert mean.assign(new.texts).tolist() == votes.predict(new.texts).tolist()
    folds = cross_validate(reviews.texts, reviews.scores, {"votes": votes, "mean": mean}, n_folds=5)
    assert folds.assigned["mean"].tolist() == folds.assigned["votes"].tolist()
    assert np.abs(folds.predicted["mean"] - 3).max() <= 1  # of ten votes a class gets four at most


def test_standard_errors_tell_phrases_from_noise() -> None:
    reviews = Reviews.of(*sample_reviews(300, random_state=8))
    scorer = PolarityScorer(kind="svr", kernel="linear", cost=1.0).fit(reviews.texts, reviews.scores)
    settings: dict[str, Any] = {"k": 400, "texts": reviews.texts, "scores": reviews.scores, "n_resamples": 15}
    rows = feature_polarities(scorer, **settings)
    assert all(row.error is not None for row in rows)
    ratio = [abs(row.polarity) / row.error for row in rows if row.error]
    assert ratio[0] > 2
    assert min(ratio) < 2
    same = feature_polarities(scorer, **settings)
    assert [row.error for row in rows] == [row.error for row in same]
