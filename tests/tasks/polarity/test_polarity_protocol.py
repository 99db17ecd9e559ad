"""Cross-validation without leaks, explanations and bad input, on made-up reviews."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textmill.errors import DataError
from textmill.model import load
from textmill.selection import deal_folds
from textmill.tasks.polarity import (
    PolarityScorer,
    ReviewFeatures,
    Scale,
    UnfamiliarText,
    balance,
    cross_validate,
    density_grid,
    evaluate_scores,
    explain_review,
    feature_polarities,
    parse_scale,
    read_reviews,
    sample_reviews,
)

TEXTS, SCORES = sample_reviews(200)
SCORERS = {
    "svr": PolarityScorer(kind="svr"),
    "linear": PolarityScorer(kind="svr", kernel="linear", weighting="tf", min_df=2),
    "binary": PolarityScorer(kind="svr", weighting="binary"),
    "pairwise": PolarityScorer(kind="pairwise"),
    "least squares": PolarityScorer(kind="least-squares"),
    "ordinal": PolarityScorer(kind="ordinal", l2=0.3),
    "chosen": PolarityScorer(),
}


def test_folds_have_every_score_evenly() -> None:
    scores = np.repeat([1, 2, 3, 4, 5], [33, 40, 21, 57, 19])
    folds = deal_folds(scores, 10, random_state=3)
    for score in range(1, 6):
        counts = np.bincount(folds[scores == score], minlength=10)
        assert counts.max() - counts.min() <= 1
    sizes = np.bincount(folds, minlength=10)
    assert sizes.max() - sizes.min() <= 1
    assert deal_folds(scores, 10, random_state=4).tolist() != folds.tolist()


@pytest.mark.parametrize("name", SCORERS)
def test_a_fold_is_scored_as_by_a_scorer_trained_on_the_others(name: str) -> None:
    result = cross_validate(TEXTS, SCORES, {name: SCORERS[name]}, n_folds=4)
    for fold in range(2):
        inside, outside = np.flatnonzero(result.folds != fold), np.flatnonzero(result.folds == fold)
        scorer = PolarityScorer(**SCORERS[name].get_params(deep=False)).set_params(scale=(1, 5))
        scorer.fit([TEXTS[i] for i in inside], SCORES[inside])
        texts = [TEXTS[i] for i in outside]
        assert result.predicted[name][outside] == pytest.approx(scorer.predict(texts), abs=2e-3)
        assert (result.assigned[name][outside] == scorer.assign(texts)).mean() > 0.95


def test_texts_of_the_test_fold_do_not_reach_the_model() -> None:
    plain = cross_validate(TEXTS, SCORES, SCORERS, n_folds=4)
    test = np.flatnonzero(plain.folds == 0)
    changed = list(TEXTS)
    for i in test[1:]:
        changed[i] = "zebra quagga awful " * 30
    other = cross_validate(changed, SCORES, SCORERS, n_folds=4)
    for name in SCORERS:
        before, after = plain.predicted[name][test[0]], other.predicted[name][test[0]]
        assert after == pytest.approx(before, abs=1e-6), name  # columns may stand in another order


def test_deleting_or_permuting_the_texts_of_the_test_fold_changes_no_model() -> None:
    plain = cross_validate(TEXTS, SCORES, SCORERS, n_folds=4)
    test = np.flatnonzero(plain.folds == 0)
    deleted, permuted = list(TEXTS), list(TEXTS)
    order = np.random.default_rng(0).permutation(test)
    for i, j in zip(test, order, strict=True):
        permuted[i] = TEXTS[j]
    for i in test[1:]:
        deleted[i] = ""
    without = cross_validate(deleted, SCORES, SCORERS, n_folds=4)
    moved = cross_validate(permuted, SCORES, SCORERS, n_folds=4)
    for name in SCORERS:
        assert without.predicted[name][test[0]] == pytest.approx(plain.predicted[name][test[0]], abs=1e-6), name
        nothing = without.predicted[name][test[1:]]
        assert nothing == pytest.approx(np.full(len(nothing), nothing[0]), abs=1e-9), name
        assert moved.predicted[name][test] == pytest.approx(plain.predicted[name][order], abs=1e-6), name


def test_unseen_features_of_a_test_text_are_ignored() -> None:
    more = [
        text + " zebra quagga okapi" if fold == 0 else text
        for text, fold in zip(TEXTS, deal_folds(SCORES, 4), strict=True)
    ]
    plain = cross_validate(TEXTS, SCORES, {"svr": SCORERS["svr"]}, n_folds=4)
    longer = cross_validate(more, SCORES, {"svr": SCORERS["svr"]}, n_folds=4)
    test = plain.folds == 0
    assert longer.predicted["svr"][test] == pytest.approx(plain.predicted["svr"][test], abs=1e-9)


def test_made_up_reviews_can_be_learned_and_pairs_say_more_than_words() -> None:
    texts, scores = sample_reviews(400, random_state=1)
    pairs = PolarityScorer(kind="svr", features=ReviewFeatures(families=["unigram", "bigram"]))
    result = cross_validate(texts, scores, {"words": PolarityScorer(kind="svr"), "pairs": pairs}, n_folds=5)
    words, both = result.evaluation("words").mse, result.evaluation("pairs").mse
    assert words < 1.5
    assert both < words


@pytest.mark.parametrize("name", ["svr", "linear", "least squares", "ordinal"])
def test_polarities_are_shifts_of_the_score(name: str) -> None:
    scorer = PolarityScorer(**SCORERS[name].get_params(deep=False)).fit(TEXTS, SCORES)
    rows = feature_polarities(scorer, k=8)
    assert all(row.polarity > 0 for row in rows[:8])
    assert all(row.polarity < 0 for row in rows[8:])
    best = rows[0]
    assert best.score == pytest.approx(scorer.predict([best.feature])[0], abs=1e-6)
    assert {"superb", "perfect", "great", "excel", "brilliant", "wonder"} & {row.feature for row in rows[:8]}
    assert [row.df >= 15 for row in feature_polarities(scorer, k=3, min_df=15)]


@pytest.mark.parametrize("name", ["svr", "linear", "least squares"])
def test_parts_of_a_review_add_up_to_its_score(name: str) -> None:
    scorer = PolarityScorer(**SCORERS[name].get_params(deep=False)).fit(TEXTS, SCORES)
    parts = explain_review(scorer, TEXTS[3], k=1000)
    assert sum(part.part for part in parts) == pytest.approx(
        scorer.predict([TEXTS[3]])[0] - scorer.predict([""])[0], abs=1e-6
    )


def test_kinds_without_weights_say_so() -> None:
    scorer = PolarityScorer(kind="pairwise").fit(TEXTS, SCORES)
    with pytest.raises(DataError, match="kind 'pairwise' has no weights"):
        feature_polarities(scorer)
    with pytest.raises(DataError, match="has no probabilities"):
        scorer.predict_proba(TEXTS)


def test_probabilities_serve_both_criteria() -> None:
    scorer = PolarityScorer().fit(TEXTS, SCORES)
    assert scorer.kind_ == "ordinal"
    scores = scorer.scored(TEXTS[:20])
    assert scores.probabilities is not None
    assert scores.probabilities.sum(axis=1) == pytest.approx(np.ones(20))
    assert scores.raw == pytest.approx(scores.probabilities @ np.arange(1, 6))
    assert scores.stars.tolist() == (scores.probabilities.argmax(axis=1) + 1).tolist()


def test_scores_that_training_never_saw_have_no_probability() -> None:
    rows = np.flatnonzero(SCORES != 3)
    scorer = PolarityScorer(kind="ordinal", l2=1.0).fit([TEXTS[i] for i in rows], SCORES[rows])
    probabilities = scorer.predict_proba(TEXTS[:3])
    assert probabilities.shape == (3, 5)
    assert probabilities[:, 2].tolist() == [0, 0, 0]


@pytest.mark.parametrize("kind", ["svr", "pairwise", "least-squares", "ordinal"])
def test_saved_scorers_score_the_same(kind: str, tmp_path: Path) -> None:
    features = ReviewFeatures(families=["unigram", "bigram"], targets=["mill"])
    scorer = PolarityScorer(kind=kind, features=features, score_names=("a", "b", "c", "d", "e")).fit(TEXTS, SCORES)
    scorer.save(tmp_path / "scorer.mill")
    loaded = load(tmp_path / "scorer.mill")
    assert loaded.predict(TEXTS[:9]).tolist() == scorer.predict(TEXTS[:9]).tolist()
    assert loaded.scale_ == scorer.scale_


def test_continuous_scores_are_taken_by_regression_only() -> None:
    values = SCORES + 0.25
    scorer = PolarityScorer().fit(TEXTS, values)
    assert scorer.kind_ == "svr"
    assert scorer.scale_ == Scale(1.25, 5.25, whole=False)
    assert evaluate_scores(values, scorer.predict(TEXTS), scorer.scale_).confusion is None
    with pytest.raises(DataError, match="takes whole scores"):
        PolarityScorer(kind="pairwise").fit(TEXTS, values)


def test_a_scale_of_a_hundred_points() -> None:
    values = SCORES * 20
    scorer = PolarityScorer(kind="svr", scale=(0, 100)).fit(TEXTS, values)
    assert scorer.scale_ == Scale(0, 100)
    assert scorer.predict(TEXTS).std() > 10


def test_an_empty_review_has_the_score_of_nothing_known() -> None:
    scorer = PolarityScorer(kind="svr").fit(TEXTS, SCORES)
    scores = scorer.scored(["", "zzz"])
    assert scores.n_features.tolist() == [0, 0]
    assert scores.raw[0] == scores.raw[1] == scorer.predict([""])[0]
    assert len(scorer.scored([]).raw) == 0


def test_foreign_reviews_are_scored_with_a_warning() -> None:
    scorer = PolarityScorer(kind="svr").fit(TEXTS, SCORES)
    with pytest.warns(UnfamiliarText, match="% of the features"):
        scorer.scored(["dieses Buch ist leider ganz und gar nicht gut, eher schlecht"] * 5)


@pytest.mark.parametrize(
    ("texts", "scores", "settings", "message"),
    [
        (["a", "b"], [5, 5], {}, "all 2 reviews have the score 5"),
        (["a", "b"], [5, 9], {"scale": (1, 5)}, "score 9 in row 1 is outside of the scale, 1 to 5"),
        (["a", "b"], [5, np.nan], {}, "score in row 1 is missing"),
        (["a", "b"], ["x", "y"], {}, "must be numbers"),
        (["a", None], [1, 2], {}, "row 1 is no text but NoneType"),
        (["a"], [1, 2], {}, "1 reviews for scores"),
        ([], [], {}, "no reviews"),
        (["", ""], [1, 5], {}, "no review has a feature"),
        (["a", "b"], None, {}, "requires y"),
        (["a", "b"], [1, 5], {"kind": "svm"}, "kind must be one of"),
        (["a", "b"], [1, 5], {"weighting": "bm25"}, "weighting must be one of"),
        (["a", "b"], [1, 5], {"features": ReviewFeatures(families=["words"])}, "families must be one of"),
        (["a", "b"], [1, 5], {"features": ReviewFeatures(families=["inbook"], targets=[])}, "at least one target"),
    ],
)
def test_bad_input_is_named(texts: Any, scores: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        PolarityScorer(**settings).fit(texts, scores)


def test_balanced_samples_are_even_and_seeded() -> None:
    scores = np.repeat([1, 2, 5], [10, 4, 30])
    rows = balance(scores, random_state=1)
    assert np.bincount(scores[rows]).tolist() == [0, 4, 4, 0, 0, 4]
    assert balance(scores, random_state=1).tolist() == rows.tolist()
    assert balance(scores, random_state=2).tolist() != rows.tolist()
    with pytest.raises(DataError, match="4 reviews of score 2"):
        balance(scores, n_reviews=5)
    texts = [f"mill {score}" for score in scores]
    assert PolarityScorer(kind="least-squares", balanced=True).fit(texts, scores).reviews_ == 12


def test_density_counts_every_prediction() -> None:
    gold, predicted = [1, 1, 5], [-3.0, 1.9, 99.0]
    grid, _ = density_grid(gold, predicted, Scale(1, 5), bins=8)
    assert grid.shape == (5, 8)
    assert (grid[0, 0], grid[0, 1], grid[4, 7], grid.sum()) == (1, 1, 1, 3)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("stars,text\n5,good\n,bad\n", {}, r"r.csv:3: the review has no score: its field 'stars' is empty"),
        ("stars,text\n5,good\n1,\n", {}, r"r.csv:3: the review is empty"),
        ("stars,text\n5,good\nfour,bad\n", {}, r"r.csv:3: the score 'four' is no number"),
        ("stars,text\n5,good\n7,bad\n", {"scale": "1-5"}, r"r.csv:3: the score 7 is outside of the scale, 1 to 5"),
        ("stars,text\n5,good\n2.5,bad\n", {"scale": "1-5"}, r"r.csv:3: the score 2.5 is no whole number"),
        ("a,text\n5,good\n", {}, r"r.csv:2: the review has no score field; the fields are a, text"),
        ("stars,text\n", {}, "no reviews with scores"),
        ("stars,text\n5,good\n5,bad\n", {}, "all 2 reviews have the score 5"),
    ],
)
def test_bad_records_are_named_by_line(content: str, options: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=message):
        read_reviews(path, **options)


def test_bad_records_can_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("stars,text\n5,good\n,bad\n1,awful\n9x,fine\n")
    with pytest.warns(UserWarning, match="2"):
        reviews = read_reviews(path, errors="skip")
    assert reviews.texts == ["good", "awful"]


def test_files_of_different_scales_are_refused(tmp_path: Path) -> None:
    (tmp_path / "stars.csv").write_text("stars,text\n5,good\n1,bad\n")
    (tmp_path / "points.csv").write_text("stars,text\n90,good\n10,bad\n")
    with pytest.raises(DataError, match=r"points.csv: its scores go up to 90, those of .*stars.csv to 5"):
        read_reviews([tmp_path / "stars.csv", tmp_path / "points.csv"])


def test_scores_may_have_names(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("target,text\nVery Positive,good\nnegative,bad\n")
    assert read_reviews(path).scores.tolist() == [5, 2]
    path.write_text("target,text\ngood,good\nbad,bad\nfair,fair\n")
    reviews = read_reviews(path, scale="bad,fair,good")
    assert (reviews.scores.tolist(), reviews.scale.neutral) == ([3, 1, 2], 2)
    with pytest.raises(DataError, match=r"r.csv:2: the score 'good' is no number"):
        read_reviews(path)


@pytest.mark.parametrize("scale", ["5-1", "1", "a,a", "a,,b"])
def test_scales_that_are_none(scale: str) -> None:
    with pytest.raises(DataError, match="scale"):
        parse_scale(scale)
