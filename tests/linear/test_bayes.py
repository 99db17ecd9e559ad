"""Naive Bayes: the dense product over the vocabulary, scikit-learn's baselines, streams, clusters, files, bad input."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_selection import mutual_info_classif
from sklearn.naive_bayes import BernoulliNB, MultinomialNB

from papers._shared.presets import preset
from textmill.corpus import Vocabulary, read_documents
from textmill.errors import DataError
from textmill.linear import Binomial, NaiveBayes, ZeroInflated, mutual_information, vocabulary_curve
from textmill.linear.bayes import EVENTS, SUMMED
from textmill.linear.counts.distributions import distribution_of
from textmill.linear.left_out import AMOUNTS
from textmill.model import load
from textmill.vectors import TextVectorizer, Weighting


def some_texts(rows: int = 240, columns: int = 60, classes: int = 3, seed: int = 0) -> tuple[Any, Any, Any]:
    """Counts of bursty words in texts of three classes, labels, and lengths with tokens that are no columns."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    n = np.maximum(8, rng.lognormal(4, 0.7, rows)).astype(int)
    X = np.zeros((rows, columns), np.int32)
    for w in range(columns):
        for c in range(classes):
            own = y == c
            p = 0.3 / columns * rng.lognormal(0, 1.2)
            X[own, w] = ZeroInflated(Binomial(min(p, 0.5)), rng.uniform(0, 0.8)).sample(
                exposure=n[own], random_state=rng
            )
    X[0] = 0
    n = np.maximum(n, X.sum(axis=1))
    n[0] = 0
    return sparse.csr_matrix(X), np.array(["ham", "mill", "sea"])[y], n


X, Y, N = some_texts()


@pytest.mark.parametrize("event", EVENTS)
def test_scores_are_the_dense_product_over_all_words(event: str) -> None:
    model = NaiveBayes(event=event).fit(X, Y, exposure=N)
    scores = model.decision_function(X[:25], exposure=N[:25])
    dense, lengths = X[:25].toarray(), N[:25]
    right = np.tile(model.log_prior_, (25, 1))
    for c in range(3):
        for w in range(X.shape[1]):
            first, second, z = model.first_[w, c], model.second_[w, c], model.z_[w, c]
            x = dense[:, w]
            if event == "multinomial":
                right[:, c] += x * np.log(first)
            elif event == "multivariate":
                right[:, c] += np.where(x > 0, np.log(first), np.log1p(-first))
            else:
                right[:, c] += distribution_of(event, first, second, z).logpmf(x, lengths)
    gap = scores - right
    assert np.abs(gap - gap.mean(axis=1, keepdims=True)).max() < 1e-8  # but for terms that are the same for every class
    assert np.isfinite(model.predict_log_proba(X, exposure=N)).all()
    assert model.predict_proba(X, exposure=N).sum(axis=1) == pytest.approx(1.0)


def test_scikit_learn_has_the_same_baselines() -> None:
    ours, theirs = NaiveBayes(event="multinomial", smoothing=0.5).fit(X, Y), MultinomialNB(alpha=0.5).fit(X, Y)
    assert np.log(ours.first_.T) == pytest.approx(theirs.feature_log_prob_, rel=1e-12)
    assert ours.predict_log_proba(X) == pytest.approx(theirs.predict_log_proba(X), abs=1e-9)
    ours, theirs = NaiveBayes(event="multivariate", smoothing=1.0).fit(X, Y), BernoulliNB(alpha=1.0).fit(X, Y)
    assert ours.predict_log_proba(X) == pytest.approx(theirs.predict_log_proba(X), abs=1e-9)
    uniform = NaiveBayes(event="multinomial", class_prior="uniform").fit(X, Y)
    assert uniform.log_prior_ == pytest.approx(np.log(1 / 3))
    own = NaiveBayes(event="multinomial", class_prior=[0.5, 0.25, 0.25]).fit(X, Y)
    assert np.exp(own.log_prior_).tolist() == pytest.approx([0.5, 0.25, 0.25])


def test_smoothing_is_as_written() -> None:
    model = NaiveBayes(event="binom", smoothing=0.1).fit(X, Y, exposure=N)
    own = model.classes_[1] == Y
    p = (X[own].sum(axis=0) + 0.1) / (N[own].sum() + 0.1 * X.shape[1])
    assert model.first_[:, 1] == pytest.approx(np.asarray(p).ravel())
    there = NaiveBayes(event="bernoulli", smoothing=1.0).fit(X, Y, exposure=N)
    share = ((X[own] > 0).sum(axis=0) + 1) / (np.count_nonzero(N[own]) + 2)
    assert there.first_[:, 1] == pytest.approx(np.asarray(share).ravel())


@pytest.mark.parametrize("event", ["binom", "bernoulli"])
def test_smoothing_is_what_predicts_texts_that_are_left_out(event: str) -> None:
    model = NaiveBayes(event=event).fit(X, Y, exposure=N)

    def left_out(a: float) -> float:
        total = 0.0
        for c in range(3):
            D, T = model.documents_[c], (model.nonempty_ if event == "bernoulli" else model.texts_)[c]
            if event == "bernoulli":
                for side in (D, T - D):
                    own = side > 0
                    total += float((side[own] * np.log((side[own] - 1 + a) / (T - 1 + 2 * a))).sum())
            else:
                own = D > 0
                x, d = model.occurrences_[c][own], D[own]
                below = model.tokens_[c] * (1 - 1 / T) + a * X.shape[1]
                total += float((x * np.log((x * (1 - 1 / d) + a) / below)).sum())
        return total

    best = max(AMOUNTS, key=left_out)
    assert model.smoothing_ == pytest.approx(best)
    assert NaiveBayes(event=event, smoothing=0.02).fit(X, Y, exposure=N).smoothing_ == 0.02
    assert AMOUNTS[0] < model.smoothing_ < AMOUNTS[-1] or left_out(best) >= left_out(0.1)


def test_a_word_that_a_class_has_not_seen_is_not_inflated() -> None:
    rows, labels = [[3, 0], [0, 0], [0, 4], [0, 0], [0, 1]], [0, 0, 1, 1, 1]
    model = NaiveBayes(smoothing=0.1).fit(rows, labels, exposure=[40, 50, 60, 40, 30])
    assert model.z_[0, 1] == 0
    assert model.z_[1, 0] == 0
    assert model.first_[0, 1] == pytest.approx(0.1 / (130 + 0.2))
    assert model.z_[0, 0] > 0


@pytest.mark.parametrize("event", ["multinomial", "binom", "zibinom", "bernoulli", "betabinom"])
def test_chunks_streams_and_threads_give_the_same_model(event: str) -> None:
    whole = NaiveBayes(event=event, n_jobs=1).fit(X, Y, exposure=N)
    parts = NaiveBayes(event=event, n_jobs=2)
    for a in range(0, X.shape[0], 77):
        parts.partial_fit(X[a : a + 77], Y[a : a + 77], ["ham", "mill", "sea"], exposure=N[a : a + 77])
    chunks = [(X[a : a + 100], Y[a : a + 100], N[a : a + 100]) for a in range(0, X.shape[0], 100)]
    stream = NaiveBayes(event=event, n_jobs=3).fit(chunks)
    for model in (parts, stream):
        for name in ("first_", "second_", "z_", "log_prior_", "occurrences_", "documents_", "information_"):
            assert getattr(model, name).tobytes() == getattr(whole, name).tobytes(), name


def test_a_cluster_counts_the_same(client: Any) -> None:
    there = NaiveBayes().fit(X, Y, exposure=N, cluster=client)
    here = NaiveBayes().fit(X, Y, exposure=N)
    assert there.first_.tobytes() == here.first_.tobytes()
    assert there.z_.tobytes() == here.z_.tobytes()


def test_texts_and_files(tmp_path: Path) -> None:
    texts = ["the mill grinds corn corn", "a storm at sea", "corn for the mill", "the sea is rough"]
    labels = ["mill", "sea", "mill", "sea"]
    for vectorizer in (Vocabulary(), TextVectorizer(weighting=Weighting(scheme="nnn"))):
        model = NaiveBayes(vectorizer=vectorizer).fit(texts, labels)
        assert model.predict(["a mill", "rough sea weather"]).tolist() == ["mill", "sea"]
        model.save(tmp_path / "a.mill")
        again = load(tmp_path / "a.mill")
        assert again.predict_proba(texts).tolist() == model.predict_proba(texts).tolist()
        again.save(tmp_path / "b.mill")
        assert (tmp_path / "a.mill").read_bytes() == (tmp_path / "b.mill").read_bytes()
    with pytest.raises(DataError, match="has no rows"):
        again.partial_fit(texts, labels)
    counted = NaiveBayes(event="binom", vectorizer=Vocabulary()).fit(texts, labels)
    counted.save(tmp_path / "c.mill")
    more = load(tmp_path / "c.mill").partial_fit(texts, labels)
    assert more.tokens_.tolist() == (2 * counted.tokens_).tolist()
    unknown = NaiveBayes(event="binom", vectorizer=Vocabulary()).fit(texts, labels)
    rows, lengths = unknown._rows(["corn corn wheat"], None)
    assert (rows.sum(), lengths.tolist()) == (2, [3.0])


def test_mutual_information_is_that_of_scikit_learn() -> None:
    there = (X > 0).astype(int)
    documents = np.stack([np.asarray(there[label == Y].sum(axis=0)).ravel() for label in ("ham", "mill", "sea")])
    ours = mutual_information(documents, [np.count_nonzero(label == Y) for label in ("ham", "mill", "sea")])
    theirs = mutual_info_classif(there.toarray(), Y, discrete_features=True)
    assert ours == pytest.approx(theirs, abs=1e-12)


def test_selected_words_are_those_that_inform_most() -> None:
    full, few = NaiveBayes().fit(X, Y, exposure=N), NaiveBayes(n_words=10).fit(X, Y, exposure=N)
    assert set(few.words_.tolist()) == set(full.ranking()[:10].tolist())
    assert few.first_.tobytes() == full.first_[few.words_].tobytes()
    short = NaiveBayes(n_words=10, length="vocabulary").fit(X, Y)
    assert short.predict(X).shape == (X.shape[0],)


@pytest.mark.parametrize("event", ["bernoulli", "binom", "zibinom", "betabinom", "multinomial", "multivariate"])
def test_a_curve_is_what_each_size_gives_alone(event: str) -> None:
    train, test = slice(0, 160), slice(160, None)
    curve = vocabulary_curve(
        X[train], Y[train], X[test], Y[test], sizes=[5, 20, 1000], events=[event], exposure=N[train],
        exposure_dev=N[test], method="moments",
    )  # fmt: skip
    assert curve.sizes == [5, 20, 60]
    for i, size in enumerate(curve.sizes):
        method = "moments" if event == "betabinom" else "newton"
        model = NaiveBayes(event=event, n_words=size, method=method).fit(X[train], Y[train], exposure=N[train])
        correct = model.predict(X[test], exposure=N[test]) == Y[test]
        assert curve.correct[i, 0].tolist() == correct.tolist()
    assert curve.columns()["words"] == [5, 20, 60]
    assert len(curve.draw().axes) == 1


def test_the_true_model_wins() -> None:
    rows, labels, lengths = some_texts(rows=3000, columns=12, seed=3)
    train, test = slice(0, 1500), slice(1500, None)
    curve = vocabulary_curve(
        rows[train], labels[train], rows[test], labels[test], sizes=[12], events=("binom", "zibinom", "multinomial"),
        exposure=lengths[train], exposure_dev=lengths[test],
    )  # fmt: skip
    binomial, inflated, _ = curve.accuracy[0]
    assert inflated > binomial
    assert curve.paired("binom", "zibinom", 12).mcnemar().p_value < 0.05


def test_explanations_add_up() -> None:
    model = NaiveBayes().fit(X, Y, exposure=N)
    for i, told in enumerate(model.explain(X[1:6], exposure=N[1:6]), start=1):
        proba = model.predict_log_proba(X[i], exposure=N[i : i + 1])[0]
        best, second = np.sort(proba)[::-1][:2]
        assert sum(told.weights) + told.absent + told.prior == pytest.approx(best - second, abs=1e-8)
        assert told.label == model.predict(X[i], exposure=N[i : i + 1])[0]
        assert len(told.features) == X[i].nnz
    table = model.topicality("mill", 5).to_dict()
    assert list(table) == ["feature", "documents", "occurrences", "p", "z", "information"]
    assert table["information"] == sorted(table["information"], reverse=True)
    strongest = model.strongest(3)
    assert strongest.labels == ["ham"] * 3 + ["mill"] * 3 + ["sea"] * 3
    with pytest.raises(DataError, match="no class 'wind'"):
        model.topicality("wind")


@pytest.mark.parametrize("event", EVENTS)
def test_degenerate_texts_give_finite_scores(event: str) -> None:
    rows = [[0, 4, 0, 1], [0, 2, 0, 0], [0, 0, 0, 0], [0, 3, 1, 0], [0, 1, 0, 0], [0, 7, 0, 0]]
    labels, lengths = ["a", "a", "a", "b", "b", "b"], [5, 2, 0, 9, 1, 30]
    model = NaiveBayes(event=event).fit(rows, labels, exposure=lengths)
    texts = [[9, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1], [0, 50, 0, 0]]
    for given in ([9, 0, 1, 4, 50], [10**6, 10**6, 10**6, 10**6, 10**6]):
        assert np.isfinite(model.decision_function(texts, exposure=given)).all()
    single = NaiveBayes(event=event).fit([[1], [0], [1], [0]], ["a", "a", "b", "b"], exposure=[1, 1, 1, 1])
    assert np.isfinite(single.predict_log_proba([[1], [0]], exposure=[1, 1])).all()


@pytest.mark.parametrize(
    ("rows", "labels", "options", "message"),
    [
        ([[1, -2], [0, 1]], ["a", "b"], {}, "row 0, column 1"),
        ([[1, 2], [0, 0.5]], ["a", "b"], {}, "0.5 in row 1, column 1; counts are whole"),
        ([[1, 2], [0, np.nan]], ["a", "b"], {}, "NaN in row 1, column 1"),
        ([[1, 2], [0, 1]], ["a", "a"], {}, "only one class"),
        ([[1, 2], [0, 3]], ["a", "b"], {"exposure": [5, 2]}, "row 1, column 1; that is more than the exposure"),
        ([[1, 2], [0, 3]], ["a", "b"], {"exposure": [5]}, "one length per row"),
        ([[1, 2], [0, 3]], ["a", "b", "a"], {}, "y has 3 labels"),
    ],
)
def test_bad_input_is_an_error_that_names_the_row(rows: Any, labels: Any, options: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        NaiveBayes().fit(rows, labels, **options)


def test_parameters_that_do_not_go_together_are_errors() -> None:
    for parameters in ({"event": "gauss"}, {"smoothing": 0}, {"n_words": 0}, {"length": "some"}, {"method": "moments"}):
        with pytest.raises(DataError):
            NaiveBayes(**parameters).fit(X, Y)
    model = NaiveBayes().fit(X, Y)
    with pytest.raises(DataError, match="expecting 60 features"):
        model.predict(X[:, :5])
    with pytest.raises(DataError, match="no vectorizer"):
        model.predict(["a text"])
    assert clone(NaiveBayes(event="binom")).event == "binom"
    assert "zibinom" not in SUMMED


@pytest.mark.data
@pytest.mark.slow
def test_newsgroups_bars() -> None:
    """Zero inflation beats the binomial by a point at every size, over three random splits."""
    folder = Path(os.environ["TEXTMILL_DATA"])
    posts = list(read_documents(folder / "newsgroups" / "20news.jsonl.gz"))
    groups = np.array([post.fields["group"] for post in posts])
    rows = preset("letters").fit_transform([post.text for post in posts])
    lengths = np.asarray(rows.sum(axis=1), float).ravel()
    sizes, accuracy = [20, 200, 500, 1000, 5000, 20_000], []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(groups))
        train, test = order[: len(order) * 4 // 5], order[len(order) * 4 // 5 :]
        frequent = np.flatnonzero(np.asarray(rows[train].sum(axis=0)).ravel() > 1)
        known = rows[:, frequent].tocsr()
        curve = vocabulary_curve(
            known[train], groups[train], known[test], groups[test], sizes=sizes,
            events=("bernoulli", "binom", "zibinom"), exposure=lengths[train], exposure_dev=lengths[test],
        )  # fmt: skip
        accuracy.append(100 * curve.accuracy)
        for size in (200, 1000, 5000, 20_000):
            i = sizes.index(size)
            assert accuracy[-1][i, 2] >= accuracy[-1][i, 1] + 1
            assert curve.paired("binom", "zibinom", size).mcnemar().p_value < 0.05
    mean = np.mean(accuracy, axis=0)
    assert mean[4, 2] >= 77
    assert mean[5, 2] >= 81.5
    assert mean[0, 0] > mean[0, 1]
    assert mean[2, 0] < mean[2, 1]
