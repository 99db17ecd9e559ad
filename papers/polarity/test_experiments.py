"""Comparison, curves, other domains, statistics and files of other programs, on made-up reviews."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from papers.polarity import experiments
from papers.polarity.exchange import read_svm_model, write_vectors
from papers.polarity.experiments import TABLES, compare, learning_curve, transfer
from papers.polarity.statistics import describe
from textmill.errors import DataError
from textmill.tasks.polarity import (
    PolarityScorer,
    ReviewFeatures,
    Reviews,
    cross_validate,
    sample_reviews,
)

TEXTS, SCORES = sample_reviews(200)


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
    result = transfer(Reviews.of(TEXTS, SCORES), other, {"svr": PolarityScorer(kind="svr")})
    scorer = PolarityScorer(kind="svr").fit(TEXTS, SCORES)
    assert result.predicted["svr"] == pytest.approx(scorer.predict(other.texts), abs=1e-6)


def test_the_curve_falls() -> None:
    points = learning_curve(TEXTS, SCORES, PolarityScorer(kind="svr"), sizes=[2, 30], n_folds=4)
    assert [point.per_score for point in points] == [2, 30]
    assert points[1].mse < points[0].mse
    points = learning_curve(TEXTS, SCORES, PolarityScorer(kind="least-squares"), n_folds=4)
    assert [point.per_score for point in points] == [10, 20, 30]
    with pytest.raises(DataError, match="30 reviews of each score"):
        learning_curve(TEXTS, SCORES, sizes=[31], n_folds=4)


def test_statistics_count_words_and_sentences() -> None:
    rows = describe(["One two. Three!", "A b c d.", "Bad <b>book</b>."], [5, 5, 1])
    assert [(row.score, row.reviews, row.words, row.sentences) for row in rows] == [(1, 1, 2, 1), (5, 2, 3.5, 1.5)]


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

    monkeypatch.setattr(experiments, "cross_validate", watch)
    texts = ["a great mill", "great, just great", "a bad mill", "bad, really bad"] * 5
    scorer = None if kind is None else PolarityScorer(kind=kind)
    rows = compare(Reviews.of(texts, [5, 5, 1, 1] * 5), tables=[table], scorer=scorer, n_folds=5)
    assert len(rows) == len(TABLES[table])
    assert len(seen) == sum("baseline" not in changes for changes in TABLES[table].values())
    settings = [
        {**one.get_params(deep=False), **(one.features or ReviewFeatures()).get_params(deep=False)}
        for one in seen.values()
    ]
    differing = {name for name in settings[0] if len({repr(one[name]) for one in settings}) > 1} - {"features"}
    assert differing <= {"learners": {"kind", "kernel"}, "weightings": {"weighting"}, "features": {"families"}}[table]
    if table != "learners":
        assert {one["kind"] for one in settings} == {kind or "svr"}
