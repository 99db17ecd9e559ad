"""Cross-validation without leaks, comparison, curves, explanations and bad input, on made-up reviews."""

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
    Reviews,
    Scale,
    UnfamiliarText,
    balance,
    compare,
    cross_validate,
    density_grid,
    describe,
    evaluate_scores,
    explain_review,
    feature_polarities,
    learning_curve,
    parse_scale,
    protocol,
    read_reviews,
    read_svm_model,
    sample_reviews,
    transfer,
    write_vectors,
)
from textmill.tasks.polarity.protocol import TABLES

TEXTS, SCORES = sample_reviews(200)
SCORERS = {
    "svr": PolarityScorer(kind="svr"),
    "linear": PolarityScorer(kind="svr", kernel="linear", weighting="tf", min_df=2),
    "binary": PolarityScorer(kind="svr", weighting="binary"),
    "pairwise": PolarityScorer(kind="pairwise"),
    "least squares": PolarityScorer(kind="least-squares"),
    "ordinal": PolarityScorer(kind="ordinal", l2=0.3),
    "chosen": PolarityScorer(),
    "mean": PolarityScorer(kind="mean"),
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


def test_the_comparison_has_every_row_with_its_significance() -> None:
    rows = compare(Reviews.of(TEXTS, SCORES), n_folds=4, shuffles=2)
    by_name = {(row.table, row.name): row for row in rows}
    assert len(rows) == 16
    assert by_name["learners", "constant"].mse == pytest.approx(2.0)
    learners = [row for row in rows if row.table == "learners"]
    best = min(learners, key=lambda row: row.mse)
    assert best.p_value is None
    constant = by_name["learners", "constant"].p_value
    assert constant is not None
    assert constant < 0.01
    assert by_name["weightings", "tf-idf"].mse == by_name["features", "unigram"].mse
    with pytest.raises(DataError, match="no table 'kinds'"):
        compare(Reviews.of(TEXTS, SCORES), tables=["kinds"])


def test_another_domain_is_scored_by_what_training_knows() -> None:
    other = Reviews.of(*sample_reviews(50, random_state=9))
    result = transfer(Reviews.of(TEXTS, SCORES), other, {"svr": SCORERS["svr"]})
    scorer = PolarityScorer(kind="svr").fit(TEXTS, SCORES)
    assert result.predicted["svr"] == pytest.approx(scorer.predict(other.texts), abs=1e-6)


def test_the_curve_falls() -> None:
    points = learning_curve(TEXTS, SCORES, PolarityScorer(kind="svr"), sizes=[2, 30], n_folds=4)
    assert [point.per_score for point in points] == [2, 30]
    assert points[1].mse < points[0].mse
    assert [point.per_score for point in learning_curve(TEXTS, SCORES, PolarityScorer(kind="mean"), n_folds=4)] == [
        10,
        20,
        30,
    ]
    with pytest.raises(DataError, match="30 reviews of each score"):
        learning_curve(TEXTS, SCORES, sizes=[31], n_folds=4)


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


@pytest.mark.parametrize("kind", ["svr", "pairwise", "least-squares", "ordinal", "random"])
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
    scorer = PolarityScorer(kind="mean", balanced=True).fit(["a b"] * 44, scores)
    assert scorer.reviews_ == 12
    assert scorer.predict(["a"])[0] == pytest.approx(8 / 3)


def test_statistics_count_words_and_sentences() -> None:
    rows = describe(["One two. Three!", "A b c d.", "Bad <b>book</b>."], [5, 5, 1])
    assert [(row.score, row.reviews, row.words, row.sentences) for row in rows] == [(1, 1, 2, 1), (5, 2, 3.5, 1.5)]


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


def test_vectors_can_be_trained_by_libsvm_and_read_back(tmp_path: Path) -> None:
    from sklearn.datasets import load_svmlight_file
    from sklearn.svm import SVR

    scorer = PolarityScorer(kind="svr").fit(TEXTS, SCORES)
    write_vectors(tmp_path / "v.svmlight", scorer, TEXTS, SCORES)
    X, y = load_svmlight_file(str(tmp_path / "v.svmlight"))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    assert y.tolist() == SCORES.tolist()
    theirs = SVR(kernel="poly", degree=2, gamma=1.0, coef0=1.0, C=100, epsilon=0.1).fit(X, y)
    lines = ["svm_type epsilon_svr", "kernel_type polynomial", "degree 2", "gamma 1", "coef0 1", "nr_class 2"]
    lines += [f"total_sv {len(theirs.support_)}", f"rho {-theirs.intercept_[0]:.17g}", "SV"]
    rows = theirs.support_vectors_
    for number, weight in enumerate(theirs.dual_coef_.toarray()[0]):
        row = rows[number]
        cells = [f"{c + 1}:{v:.17g}" for c, v in zip(row.indices, row.data, strict=True)]
        lines.append(" ".join([f"{weight:.17g}", *cells]))
    (tmp_path / "svr.model").write_text("\n".join(lines) + "\n")
    model = read_svm_model(tmp_path / "svr.model", columns=X.shape[1])
    assert model.predict(X) == pytest.approx(theirs.predict(X), abs=1e-9)
    assert model.predict(X) == pytest.approx(scorer.predict(TEXTS), abs=0.01)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["svm_type c_svc", "kernel_type linear", "rho 0", "SV"], "only regressions"),
        (["hello"], "no line 'SV'"),
        (["svm_type epsilon_svr", "kernel_type sigmoid", "rho 0", "SV"], "the kernel 'sigmoid' is not known"),
        (["svm_type epsilon_svr", "kernel_type linear", "rho 0", "SV", "0.5 9:1"], r"m.model:5: column 9 is not among"),
        (["svm_type epsilon_svr", "kernel_type linear", "rho x", "SV"], "no number for 'rho'"),
    ],
)
def test_models_of_others_that_cannot_be_read(lines: list[str], message: str, tmp_path: Path) -> None:
    path = tmp_path / "m.model"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=message):
        read_svm_model(path, columns=3)


def test_a_model_of_svmlight_is_read(tmp_path: Path) -> None:
    lines = ["SVM-light Version V6.02", "1 # kernel type", "2 # kernel parameter -d", "1 # kernel parameter -g"]
    lines += ["1 # kernel parameter -s", "1 # kernel parameter -r", "empty# kernel parameter -u", "1 # highest feature"]
    lines += ["3 # number of training documents", "4 # number of support vectors plus 1", "-4.3 # threshold b"]
    lines += ["8.275 1:1 #", "-13.7 1:2 #", "5.425 1:3 #"]
    (tmp_path / "m.dat").write_text("\n".join(lines) + "\n")
    model = read_svm_model(tmp_path / "m.dat", columns=1)
    assert model.predict([[1.0], [2.0], [3.0]]) == pytest.approx([0.9, 2.1, 7.9], abs=1e-9)


@pytest.mark.parametrize("kind", [None, "ordinal"])
@pytest.mark.parametrize("table", TABLES)
def test_rows_of_a_table_differ_in_one_thing_only(
    table: str, kind: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, PolarityScorer] = {}

    def watch(texts: object, scores: object, scorers: dict[str, PolarityScorer], **options: object) -> object:
        seen.update(scorers)
        return cross_validate(texts, scores, scorers, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(protocol, "cross_validate", watch)
    texts = ["a great mill", "great, just great", "a bad mill", "bad, really bad"] * 5
    scorer = None if kind is None else PolarityScorer(kind=kind)
    rows = compare(Reviews.of(texts, [5, 5, 1, 1] * 5), tables=[table], scorer=scorer, n_folds=5)
    assert len(rows) == len(seen) == len(TABLES[table])
    settings = [
        {**one.get_params(deep=False), **(one.features or ReviewFeatures()).get_params(deep=False)}
        for one in seen.values()
    ]
    differing = {name for name in settings[0] if len({repr(one[name]) for one in settings}) > 1} - {"features"}
    assert differing <= {"learners": {"kind", "kernel"}, "weightings": {"weighting"}, "features": {"families"}}[table]
    if table != "learners":
        assert {one["kind"] for one in settings} == {kind or "svr"}
