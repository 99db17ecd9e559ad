"""LDA by variational Bayes: the worked example, batch and online learning, priors, recovery, files and bad input."""

from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference.dirichlet import e_step
from reference.titles import COUNTS, STOP, TITLES
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix

import textmill
from textmill.corpus import TopicStream, Vocabulary, read_documents
from textmill.errors import DataError, ModelFileError
from textmill.progress import Progress, reporting
from textmill.topics import LDA, Batch, Online, Statistics, make_model
from textmill.topics.lda.perplexity import split_words
from textmill.topics.lda.priors import improve_alpha
from textmill.topics.lda.schedule import Schedule, blended
from textmill.vectors import TextVectorizer, Weighting

X = csr_matrix(COUNTS.astype(float))
EXACT: dict[str, Any] = {"method": "batch", "dtype": "float64", "inner_max_iter": 20_000, "inner_tolerance": 1e-12}
STREAM = TopicStream(2000, vocabulary=300, topics=8, alpha=0.1, eta=0.05, length=60, chunk_size=100, seed=5)
CORPUS = STREAM.chunk(0, 2000)
CHUNKS = [CORPUS[i : i + 100] for i in range(0, 2000, 100)]


def hellinger(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Distances of topics after the best matching."""
    distances = np.sqrt(np.maximum(1 - np.sqrt(one) @ np.sqrt(other).T, 0))
    return distances[linear_sum_assignment(distances)]


def same(one: LDA, other: LDA) -> bool:
    return bool((one.term_topics_ == other.term_topics_).all() and (one.alpha_ == other.alpha_).all())


def bars(seed: int) -> csr_matrix:
    """Documents of 100 words whose topics are the rows and columns of a 5 x 5 image."""
    random = np.random.default_rng(seed)
    theta = random.dirichlet(np.full(10, 0.1), 1000)
    return csr_matrix(np.array([random.multinomial(100, row) for row in theta @ BARS]).astype(float))


BARS = np.zeros((10, 25))
for i in range(5):
    BARS[i, 5 * i : 5 * i + 5] = BARS[5 + i, i::5] = 0.2


def test_worked_example_of_the_nine_titles() -> None:
    best = max(
        (LDA(n_topics=2, alpha=0.5, eta=0.5, max_iter=250, random_state=seed, **EXACT).fit(X) for seed in range(6)),
        key=lambda lda: lda.trace_[-1],
    )
    assert best.trace_[-1] * 29 == pytest.approx(-83.494075, abs=6e-7)
    found = best.bound(X)
    assert found.total == pytest.approx(-83.494075, abs=6e-7)
    assert found.total == found.words_part + found.documents_part + found.topics_part
    theta = best.transform(X)
    first = int(theta[0].argmax())
    expected = [0.8701, 0.9180, 0.8969, 0.8971, 0.8707, 0.2519, 0.1680, 0.1261, 0.1332]
    assert theta[:, first] == pytest.approx(np.array(expected), abs=6e-5)
    one = ".096 .096 .096 .135 .173 .096 .096 .096 .057 .020 .019 .019"
    two = ".034 .034 .034 .034 .034 .034 .034 .034 .101 .231 .232 .165"
    assert best.components_[first] == pytest.approx(np.array(one.split(), float), abs=6e-4)
    assert best.components_[1 - first] == pytest.approx(np.array(two.split(), float), abs=6e-4)
    assert (np.diff(best.trace_) > -1e-12).all()


def test_batch_learning_never_lowers_the_bound() -> None:
    for seed in range(20):
        random = np.random.default_rng(seed)
        counts = csr_matrix(random.poisson(0.6, (12, 15)).astype(float))
        options = EXACT | {"inner_tolerance": 1e-10, "inner_max_iter": 2000}
        lda = LDA(n_topics=4, alpha=0.4, eta=0.3, max_iter=200, random_state=seed, **options).fit(counts)
        assert np.diff(lda.trace_).min() > -1e-12


def test_batch_steps_are_those_of_the_formulas() -> None:
    lda = LDA(n_topics=3, alpha=0.5, eta=0.2, max_iter=1, random_state=4, **EXACT)
    start = Statistics(np.full(3, 0.5), dtype="float64")
    start.begin(12, np.full((1, 1), 0.2), seed=4)
    lam = start.term_topics.T + 0.2
    for passes in (1, 2, 3):
        lam = 0.2 + e_step(COUNTS, lam, 0.5, 20_000, 1e-12)[1]
        made = lda.set_params(max_iter=passes).fit(X)
        assert pytest.approx(lam - 0.2, rel=1e-6, abs=1e-8) == made.term_topics_.T
        assert made.components_ == pytest.approx(lam / lam.sum(axis=1, keepdims=True), rel=1e-6)


@pytest.mark.parametrize("rho", [0.0, 1 / 3, 0.5, 1.0])
def test_worked_example_of_blending(rho: float) -> None:
    expected = {
        0.0: [[3, 0], [0, 6]],
        1 / 3: [[3, 1], [0, 4]],
        0.5: [[3, 1.5], [0, 3]],
        1.0: [[3, 3], [0, 0]],
    }[rho]
    one, other = np.array([[2.0, 0], [0, 4]]), np.array([[1.0, 1], [0, 0]])
    assert blended(one, 2, other, 1, rho) == pytest.approx(np.array(expected))
    assert blended(np.zeros((2, 2)), 0, other, 1, rho).tolist() == other.tolist()


def test_blending_with_the_share_of_documents_adds_and_equals_the_form_with_lambda() -> None:
    random = np.random.default_rng(0)
    for _ in range(20):
        one, other = random.gamma(1, 2, (2, 4, 6))
        n1, n2, rho, eta = *random.integers(1, 50, 2), random.uniform(), 0.3
        size = n1 + n2
        assert blended(one, n1, other, n2, n2 / size) == pytest.approx(one + other, rel=1e-12)
        by_lambda = (1 - rho) * (eta + size / n1 * one) + rho * (eta + size / n2 * other)
        assert eta + blended(one, n1, other, n2, rho) == pytest.approx(by_lambda, rel=1e-12)


def test_schedule_of_the_paper() -> None:
    assert [Schedule(learning_offset=1).rho(t, 10) for t in range(5)] == pytest.approx(
        [1, 0.707107, 0.57735, 0.5, 0.447214]
    )
    half = Schedule(half_life=300)
    assert (1 - half.rho(0, 100)) ** 3 == pytest.approx(0.5)
    assert half.rho(5, 1) * half.size(10, 10, None) == pytest.approx(1, rel=0.01)  # a document enters with weight 1


@pytest.mark.parametrize(("chunk_size", "passes"), [(100, 1), (101, 1), (106, 2), (500, 5), (2000, 20)])
def test_a_corpus_is_read_until_there_were_twenty_updates(chunk_size: int, passes: int) -> None:
    lda = LDA(n_topics=2, method=Online(chunk_size=chunk_size), inner_max_iter=1, random_state=0).fit(CORPUS)
    assert lda.n_iter_ == passes
    assert lda.updates_ == passes * -(-2000 // chunk_size)
    assert not lda.converged_


def test_batch_learning_ends_when_the_bound_hardly_rises() -> None:
    lda = LDA(**EXACT | {"method": Batch(tolerance=1e-3)}, n_topics=2, alpha=0.5, eta=0.5, random_state=0).fit(X)
    gains = np.diff(lda.trace_) / np.abs(lda.trace_[1:])
    assert lda.converged_
    assert 2 < lda.n_iter_ == len(lda.trace_) < 100
    assert gains[-1] < 1e-3
    assert (gains[:-1] >= 1e-3).all()
    last = np.diff(lda.trace_)[-1] / abs(lda.trace_[-1])
    assert lda.set_params(method__tolerance=last * (1 - 1e-6)).fit(X).n_iter_ > 1 + len(gains)
    assert not lda.partial_fit(X).converged_  # of more documents nothing is known
    options = EXACT | {"method": Batch(tolerance=0.0), "inner_tolerance": 1e-6}
    endless = LDA(n_topics=4, random_state=0, **options).fit(CORPUS[:200])
    assert endless.n_iter_ == 100
    assert not endless.converged_


def test_an_update_by_the_whole_corpus_is_batch_learning() -> None:
    settings: dict[str, Any] = {"n_topics": 4, "max_iter": 3, "random_state": 1, "chunk_size": 100}
    batch = make_model("lda", method="batch", **settings).fit(CORPUS)
    assert same(batch, make_model("lda", update_every=0, **settings).fit(CORPUS))
    assert same(batch, make_model("lda", update_every=20, **settings).fit(CORPUS))  # there are 20 chunks
    assert same(batch, make_model("lda", update_every=500, **settings).fit(CORPUS))
    assert not same(batch, make_model("lda", update_every=19, **settings).fit(CORPUS))
    settings["chunk_size"] = 2000  # one chunk: sums in another order
    whole = make_model("lda", **settings).fit(CORPUS)
    assert whole.term_topics_ == pytest.approx(batch.term_topics_, rel=1e-3, abs=1e-3)


def test_the_first_update_of_the_paper_drops_the_random_start() -> None:
    settings: dict[str, Any] = {"n_topics": 3, "max_iter": 1, "dtype": "float64", "random_state": 0}
    first = Online(chunk_size=100, learning_offset=1, total_docs=1000)
    literal = LDA(method=first, **settings).partial_fit(CORPUS[:100])
    assert literal.term_topics_.T.sum() == pytest.approx(CORPUS[:100].sum() * 10)  # stretched to 1000 documents
    kept = LDA(method=Online(chunk_size=100, total_docs=1000), **settings).partial_fit(CORPUS[:100])
    rho = 10**-0.5
    mass = (1 - rho) * 3 * 300 + rho * 10 * CORPUS[:100].sum()
    assert kept.term_topics_.T.sum() == pytest.approx(mass, rel=0.02)


def test_statistics_stand_for_the_documents_seen_once() -> None:
    lda = LDA(n_topics=5, max_iter=4, method=Online(chunk_size=100), random_state=0).fit(CORPUS)
    assert lda.documents_ == 2000
    assert lda.size_ == 2000
    assert lda.n_iter_ == 4
    assert lda.updates_ == 80
    assert lda.words_ == CORPUS.sum()
    stream = LDA(n_topics=5, max_iter=4, method=Online(chunk_size=100), random_state=0).fit(CHUNKS)  # of unknown length
    assert stream.size_ == 2000
    endless = LDA(n_topics=5, method=Online(chunk_size=100), random_state=0).partial_fit(iter(CHUNKS))
    assert endless.size_ == 2000
    assert endless.updates_ == 20
    assert (endless.documents_, endless.words_) == (2000, CORPUS.sum())
    assert LDA(n_topics=5, method=Online(chunk_size=100)).partial_fit(CORPUS[:300]).size_ == 1000  # ten chunks at least


def test_a_restart_begins_the_schedule_anew() -> None:
    def weights(restart: bool) -> list[LDA]:
        lda = LDA(
            n_topics=3,
            method=Online(learning_offset=1, restart=restart, chunk_size=100),
            random_state=0,
            dtype="float64",
        )
        return [lda.partial_fit(CORPUS[:500]), lda.partial_fit(CORPUS[500:600])]

    lda = weights(True)[-1]
    assert lda.term_topics_.T.sum() == pytest.approx(CORPUS[500:600].sum() * lda.size_ / 100)  # rho = 1: all new
    assert weights(False)[-1].term_topics_.T.sum() != pytest.approx(CORPUS[500:600].sum() * lda.size_ / 100)


def test_threads_and_runs_give_the_same_bytes() -> None:
    made = [
        LDA(n_topics=10, method=Online(chunk_size=256), random_state=3, n_jobs=jobs).fit(CORPUS)
        for jobs in (1, 2, 5, 1)
    ]
    assert all(same(made[0], other) for other in made[1:])
    assert not same(made[0], LDA(n_topics=10, method=Online(chunk_size=256), random_state=4).fit(CORPUS))


def test_mixtures_are_the_same_every_time_and_unknown_words_change_nothing() -> None:
    lda = LDA(n_topics=5, random_state=0).fit(CORPUS)
    some = CORPUS[:50]
    theta = lda.transform(some)
    assert (theta == lda.transform(some)).all()
    assert (theta[3:4] == lda.transform(some[3:4])).all()
    assert theta.sum(axis=1) == pytest.approx(np.ones(50))
    texts = LDA(n_topics=2, vectorizer=TextVectorizer(weighting=Weighting(scheme="nnn")), random_state=0).fit(TITLES)
    assert (texts.transform(["graph trees"]) == texts.transform(["graph unheard trees"])).all()
    assert texts.transform(["unheard"])[0].tolist() == [0.5, 0.5]
    assert texts.transform([]).shape == (0, 2)


def test_topics_of_bars_are_found_by_the_best_of_eight_starts() -> None:
    counts = bars(0)
    best = max(
        (
            LDA(n_topics=10, method="batch", alpha=0.1, eta=0.1, max_iter=100, random_state=seed).fit(counts)
            for seed in range(8)
        ),
        key=lambda lda: lda.trace_[-1],
    )
    assert hellinger(best.components_, BARS).max() < 0.1


def test_topics_of_a_generated_corpus_are_found() -> None:
    stream = TopicStream(5000, vocabulary=2000, topics=20, alpha=0.1, eta=0.02, length=100, seed=1)
    corpus = stream.chunk(0, 5000)
    settings: dict[str, Any] = {"n_topics": 20, "alpha": 0.1, "eta": 0.02, "chunk_size": 250, "max_iter": 6}
    best = max(
        (make_model("lda", random_state=seed, **settings).fit(corpus) for seed in range(2, 5)),
        key=lambda lda: lda.bound(corpus).total,
    )
    assert hellinger(best.components_, stream.topics_at(0)).mean() < 0.15


def test_alpha_is_learned() -> None:
    stream = TopicStream(4000, vocabulary=400, topics=4, alpha=[1.2, 0.6, 0.3, 0.1], eta=0.02, length=120, seed=2)
    corpus = stream.chunk(0, 4000)
    learned = LDA(n_topics=4, alpha="auto", method="batch", max_iter=25, random_state=1).fit(corpus)
    assert np.sort(learned.alpha_) == pytest.approx([0.1, 0.3, 0.6, 1.2], rel=0.25)
    fixed = LDA(n_topics=4, alpha=5.0, method="batch", max_iter=25, random_state=1).fit(corpus)
    assert learned.trace_[-1] > fixed.trace_[-1]
    online = LDA(n_topics=4, alpha="auto", method=Online(chunk_size=200), max_iter=3, random_state=1).fit(corpus)
    assert online.alpha_.max() > 2 * online.alpha_.min()
    assert improve_alpha(np.ones(2), np.array([-500.0, -1e-9]), 1, 1.0).min() > 0


def test_eta_is_a_number_one_a_word_or_one_a_topic_and_word() -> None:
    corpus = CORPUS[:400]
    number = LDA(n_topics=3, eta=0.2, random_state=0).fit(corpus)
    vector = LDA(n_topics=3, eta=np.full(300, 0.2), random_state=0).fit(corpus)
    matrix = LDA(n_topics=3, eta=np.full((3, 300), 0.2), random_state=0).fit(corpus)
    assert same(number, vector)
    assert same(number, matrix)
    assert number.eta_.shape == (1, 1)
    assert vector.eta_.shape == (1, 300)
    assert matrix.eta_.shape == (3, 300)
    learned = LDA(n_topics=8, eta="auto", method="batch", max_iter=30, random_state=0).fit(CORPUS)
    assert learned.eta_[0, 0] == pytest.approx(0.05, rel=0.5)  # the stream was made with it


def test_eta_guides_topics() -> None:
    guided = np.full((8, 300), 0.05)
    wanted = STREAM.topics_at(0)
    for topic in range(8):
        guided[topic, np.argsort(-wanted[topic])[:8]] = 20.0
    lda = LDA(n_topics=8, alpha=0.1, eta=guided, method=Online(chunk_size=200), max_iter=3, random_state=0).fit(CORPUS)
    distances = np.sqrt(1 - (np.sqrt(lda.components_) * np.sqrt(wanted)).sum(axis=1))
    assert distances.max() < 0.35  # topic by topic, without matching


def test_weights_of_terms_matter() -> None:
    corpus = CORPUS[:500]
    plain = LDA(n_topics=4, random_state=0).fit(corpus)
    for kind in ("idf", "pmi"):
        lda = LDA(n_topics=4, weighting=kind, random_state=0).fit(corpus)
        assert not same(plain, lda)
        assert lda.term_weights_ is not None
        assert np.isfinite(lda.transform(corpus)).all()
        common = int(np.asarray(corpus.sum(axis=0)).argmax())
        shares = [made.term_topics_.T[:, common].sum() / made.term_topics_.T.sum() for made in (lda, plain)]
        assert shares[0] < shares[1]
    with pytest.raises(DataError, match="read once"):
        LDA(n_topics=4, weighting="idf").fit(iter(CHUNKS))


def test_models_are_merged_and_blended() -> None:
    one = LDA(n_topics=8, random_state=0, max_iter=5).fit(CORPUS[:1000])
    other = LDA(n_topics=8, random_state=0, max_iter=5).fit(CORPUS[1000:2000])
    merged = one.merge(other)
    assert merged.documents_ == 2000
    assert merged.size_ == 2000
    assert merged.term_topics_.T.sum() == pytest.approx(one.term_topics_.T.sum() + other.term_topics_.T.sum(), rel=1e-5)
    mixed = one.blend(other, 0.25)
    expected = 0.75 * 2 * one.term_topics_.T + 0.25 * 2 * other.term_topics_.T
    assert pytest.approx(expected, rel=1e-5) == mixed.term_topics_.T
    assert one.perplexity(CORPUS[1000:1200]) > 0
    with pytest.raises(DataError, match="topics"):
        one.blend(LDA(n_topics=3, random_state=0).fit(CORPUS[:100]), 0.5)
    with pytest.raises(DataError, match="rho"):
        one.blend(other, 1.5)


def test_held_out_documents_are_watched_and_say_when_to_stop() -> None:
    held = CORPUS[1500:2000]
    lda = LDA(n_topics=8, alpha=0.1, method=Online(chunk_size=300, eval_every=2), random_state=0, max_iter=3)
    lda.fit(CORPUS[:1500], X_dev=held)
    assert lda.evaluated_.tolist() == [2, 4, 6, 8, 10, 12, 14]
    assert lda.perplexities_[-1] < lda.perplexities_[0]
    lda = LDA(n_topics=8, alpha=0.1, method=Online(chunk_size=300, tolerance=0.01), random_state=0)
    lda.fit(CORPUS[:1500], X_dev=held)
    assert lda.converged_
    assert lda.n_iter_ == len(lda.perplexities_) < 100
    assert lda.perplexities_[-1] == lda.perplexity(held)
    assert "held-out perplexity" in str(lda.report())


def test_passes_go_on_until_the_first_evaluations_have_come() -> None:
    lda = LDA(n_topics=4, method=Online(chunk_size=100, eval_every=7, tolerance=0.5), random_state=0)
    lda.fit(CORPUS[:300], X_dev=CORPUS[1500:1600])
    assert lda.evaluated_.tolist() == [7, 14, 21]  # the first, and two that are not better by half
    assert lda.converged_
    assert lda.n_iter_ == 7


def test_progress_is_told_with_the_latest_figure() -> None:
    figures: dict[int, dict[str, float]] = {}

    def listen(progress: Progress) -> None:
        if progress.description == "LDA":
            figures[progress.done] = dict(progress.figures)

    with reporting(listen):
        batch = LDA(n_topics=2, method="batch", max_iter=3, random_state=0).fit(X)
    assert figures == {0: {}} | {i + 1: {"bound": bound} for i, bound in enumerate(batch.trace_)}
    figures.clear()
    with reporting(listen):
        watched = LDA(n_topics=2, max_iter=2, random_state=0).fit(X, X_dev=X)
    assert figures == {0: {}} | {i + 1: {"perplexity": value} for i, value in enumerate(watched.perplexities_)}
    figures.clear()
    with reporting(listen):
        LDA(n_topics=2, method=Online(chunk_size=3), random_state=0).partial_fit(X)
    assert max(figures) == 3


def test_perplexity_is_that_of_its_definition() -> None:
    lda = LDA(n_topics=8, alpha=0.1, eta=0.05, method=Online(chunk_size=200), max_iter=5, random_state=0).fit(CORPUS)
    held = TopicStream(2300, vocabulary=300, topics=8, alpha=0.1, eta=0.05, length=60, seed=5).chunk(2000, 2300)
    true = STREAM.topics_at(0)
    assert lda.perplexity(held) < 1.1 * np.exp(-(held @ np.log(true.mean(axis=0))).sum() / held.sum())
    assert lda.perplexity(held, method="bound") > lda.perplexity(held)
    assert lda.score(held) == pytest.approx(-np.log(lda.perplexity(held)))
    frequency = (np.asarray(CORPUS.sum(axis=0)).ravel() + 1) / (CORPUS.sum() + 300)  # one topic: the words themselves
    _, rest = split_words(held)
    expected = np.exp(-(rest @ np.log(frequency)).sum() / rest.sum())
    assert LDA(n_topics=1, eta=1.0, method="batch", max_iter=2, random_state=0).fit(CORPUS).perplexity(held) == (
        pytest.approx(expected, rel=1e-4)
    )


def test_topics_of_words_follow_the_mixture() -> None:
    lda = LDA(n_topics=8, alpha=0.1, method=Online(chunk_size=200), max_iter=3, random_state=0).fit(CORPUS)
    bags, phi = lda.word_topics(CORPUS[:5])
    assert phi.shape == (bags.nnz, 8)
    assert phi.sum(axis=1) == pytest.approx(np.ones(bags.nnz))
    gamma = np.array([phi[bags.indptr[d] : bags.indptr[d + 1]].T @ bags.data[bags.indptr[d] : bags.indptr[d + 1]]
                      for d in range(5)]) + lda.alpha_  # fmt: skip
    assert gamma / gamma.sum(axis=1, keepdims=True) == pytest.approx(lda.transform(CORPUS[:5]), abs=2e-3)


def test_new_terms_are_new_rows() -> None:
    lda = LDA(n_topics=3, random_state=0).partial_fit(np.array([[3, 1, 0], [0, 2, 2]]))
    before = lda.components_.shape
    lda.partial_fit(np.array([[1, 0, 0, 2, 5], [0, 0, 0, 3, 1]]))
    assert before == (3, 3)
    assert lda.components_.shape == (3, 5)
    assert lda.components_.sum(axis=1) == pytest.approx(np.ones(3))
    for eta in (np.full(3, 0.1), np.full((3, 3), 0.1)):
        grown = LDA(n_topics=3, eta=eta, random_state=0).partial_fit(np.eye(3)).partial_fit(np.eye(4))
        assert grown.eta_.shape[1] == 4
        assert np.isfinite(grown.components_).all()


def test_a_model_goes_on_from_its_file(tmp_path: Path) -> None:
    first, second = CORPUS[:1000], CORPUS[1000:2000]
    for options in ({}, {"dtype": "float64", "alpha": "auto", "eta": np.full((6, 300), 0.1)}, {"weighting": "idf"}):
        lda = LDA(n_topics=6, method=Online(chunk_size=250), random_state=0, **options).fit(first)
        lda.save(tmp_path / "a.mill")
        loaded = textmill.load(tmp_path / "a.mill")
        assert (loaded.transform(second) == lda.transform(second)).all()
        assert same(loaded.partial_fit(second), lda.partial_fit(second))
        loaded.save(tmp_path / "b.mill")
        lda.save(tmp_path / "a.mill")
        assert (tmp_path / "a.mill").read_bytes() == (tmp_path / "b.mill").read_bytes()


def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    for name, value in (("alpha", np.zeros(2)), ("eta", np.ones((1, 3))), ("topic_counts", np.array([1, np.nan]))):
        lda = LDA(n_topics=2, random_state=0).fit(X)
        setattr(lda.statistics_, name, value)
        with pytest.raises(ModelFileError):
            lda.save(tmp_path / "bad.mill")


def test_texts_come_in_through_the_vectorizer() -> None:
    vectorizer = TextVectorizer(vocabulary=Vocabulary(stop_words=STOP), weighting=Weighting(scheme="nnn"))
    lda = LDA(n_topics=2, vectorizer=vectorizer, max_iter=20, random_state=0).fit(TITLES)
    assert {word for topic in lda.topics(6) for word, _ in topic} >= {"system", "trees"}
    assert "topic 1 (" in lda.describe_topics()
    assert lda.transform(["graph minors"]).shape == (1, 2)
    terms = len(lda.vectorizer_.terms_)
    with pytest.raises(DataError, match=f"X has {terms + 1} features, but TextVectorizer is expecting {terms}"):
        lda.partial_fit(np.ones((1, terms + 1)))
    with pytest.raises(DataError, match="features"):
        lda.transform(np.ones((1, terms + 1)))


def test_files_of_documents_are_read_in_chunks_of_the_size_asked_for(tmp_path: Path) -> None:
    for part in range(3):
        with gzip.open(tmp_path / f"{part}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps({"text": title}) + "\n" for title in TITLES)
    vectorizer = TextVectorizer(weighting=Weighting(scheme="nnn"))
    lda = LDA(n_topics=2, vectorizer=vectorizer, method=Online(chunk_size=10), max_iter=1, random_state=0)
    lda.fit(read_documents(sorted(tmp_path.iterdir())))
    assert lda.documents_ == 27
    assert lda.updates_ == 3


def test_it_works_in_a_pipeline_of_scikit_learn() -> None:
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    labels = CORPUS[:300].sum(axis=1) > 60
    pipeline = make_pipeline(clone(LDA(n_topics=4, random_state=0)), LogisticRegression())
    assert pipeline.fit(CORPUS[:300], np.asarray(labels).ravel()).predict(CORPUS[:3]).shape == (3,)
    assert LDA(n_topics=2, random_state=0).fit(X).get_feature_names_out().tolist() == ["lda0", "lda1"]


@pytest.mark.parametrize("method", ["online", "batch"])
def test_more_topics_than_words_and_short_and_long_documents(method: str) -> None:
    counts = np.zeros((4, 3))
    counts[0, 0], counts[1], counts[3, 2] = 1, (50_000, 3, 0), 2  # length 1, 50,003, empty, 2
    for prior in (1e-3, 0.5):
        lda = LDA(n_topics=7, method=method, alpha=prior, eta=prior, max_iter=3, random_state=0).fit(counts)
        for values in (lda.components_, lda.transform(counts), lda.term_topics_.T):
            assert np.isfinite(values).all()
        assert lda.components_.sum(axis=1) == pytest.approx(np.ones(7))
        assert lda.documents_ == 3


@pytest.mark.parametrize(
    ("options", "data", "message"),
    [
        ({"alpha": 0}, X, "alpha must be finite and above 0, got 0"),
        ({"alpha": -1.0}, X, "alpha"),
        ({"alpha": [0.1, 0.2, 0.3]}, X, "2 of them"),
        ({"alpha": "other"}, X, "alpha"),
        ({"alpha": np.nan}, X, "alpha"),
        ({"alpha": {}}, X, "alpha must hold numbers"),
        ({"eta": 0.0}, X, "eta must be finite and above 0, got 0"),
        ({"eta": -0.1}, X, "eta"),
        ({"eta": np.ones(5)}, X, "one per word"),
        ({"eta": "other"}, X, "eta"),
        ({"n_topics": 0}, X, "n_topics"),
        ({"method": "magic"}, X, "method"),
        ({"learning_decay": 0.4}, X, "learning_decay"),
        ({"learning_offset": 0.5}, X, "learning_offset"),
        ({"half_life": 0}, X, "half_life"),
        ({"chunk_size": 0}, X, "chunk_size"),
        ({"max_iter": 0}, X, "max_iter"),
        ({"update_every": -1}, X, "update_every"),
        ({"total_docs": 0}, X, "total_docs"),
        ({"inner_max_iter": 0}, X, "inner_max_iter"),
        ({"inner_tolerance": -1}, X, "inner_tolerance"),
        ({"tolerance": -1}, X, "tolerance"),
        ({"eval_every": -1}, X, "eval_every"),
        ({"weighting": "other"}, X, "weighting"),
        ({"dtype": "float16"}, X, "dtype"),
        ({"random_state": -1}, X, "random_state"),
        ({}, np.array([[1.0, np.nan]]), "remove it or set it to 0"),
        ({}, np.array([[1.0, -2.0]]), "negative"),
        ({}, np.zeros((3, 4)), "no documents with a word"),
        ({}, np.zeros((0, 4)), "no documents with a word"),
        ({}, np.zeros((3, 0)), "no "),
        ({}, [], "no documents"),
        ({}, ["a text"], "vectorizer"),
        ({"max_iter": 2}, iter([X]), "read once"),
        ({"method": "batch"}, iter([X]), "read once"),
    ],
)
def test_bad_input_is_one_clear_error(options: dict[str, Any], data: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        make_model("lda", **{"n_topics": 2} | options).fit(data)
    assert "\n" not in str(caught.value)


def test_a_stream_that_ends_early_is_refused_in_the_next_pass() -> None:
    class Shrinking:
        left = 3

        def __iter__(self) -> Any:
            Shrinking.left -= 1
            return iter([X] * (Shrinking.left + 1))

    with pytest.raises(DataError, match="must not change"):
        LDA(n_topics=2, max_iter=2, method=Online(chunk_size=5)).fit(Shrinking())


def test_documents_of_unknown_words_only_and_what_cannot_be_scored() -> None:
    lda = LDA(n_topics=2, alpha=[0.3, 0.1], random_state=0).fit(X)
    assert lda.transform(np.zeros((1, 12)))[0] == pytest.approx([0.75, 0.25])
    assert lda.word_topics(np.zeros((1, 12)))[1].shape == (0, 2)
    for how in ("completion", "bound"):
        with pytest.raises(DataError, match="no words"):
            lda.perplexity(np.zeros((2, 12)), method=how)
    with pytest.raises(DataError, match="method"):
        lda.perplexity(X, method="guess")
    with pytest.raises(DataError, match="not fitted"):
        LDA().transform(X)
    with pytest.raises(DataError, match="vocabulary"):
        lda.transform(np.ones((1, 13)))
    assert LDA(n_topics=2, random_state=0).partial_fit(X).partial_fit(np.zeros((2, 12))).documents_ == 9
    with pytest.raises(DataError, match="no documents with a word"):
        LDA(n_topics=2, random_state=0).partial_fit(np.zeros((2, 12)))


def test_a_long_run_with_the_slowest_decay_is_warned_of() -> None:
    lda = LDA(n_topics=2, random_state=0).fit(X)
    lda.statistics_.updates = 9_999
    with pytest.warns(UserWarning, match="learning_decay"):
        lda.partial_fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lda.statistics_.updates = 9_999
        lda.set_params(method=Online(learning_decay=0.7)).partial_fit(X)


def test_fractions_are_warned_of() -> None:
    with pytest.warns(UserWarning, match="fractions"):
        lda = LDA(n_topics=2, random_state=0, max_iter=1).fit(X * 0.5)
    assert np.isfinite(lda.components_).all()


def test_dead_and_double_topics_are_reported() -> None:
    lda = LDA(n_topics=3, random_state=0).fit(X)
    lda.term_topics_[:, 1] = 0.0
    lda.term_topics_[:, 0] = lda.term_topics_[:, 2]
    lda.statistics_.topic_counts = lda.term_topics_.sum(axis=0, dtype=float)
    vars(lda).pop("_components", None)
    report = lda.report()
    assert report.dead == [1]
    assert [pair[:2] for pair in report.duplicates] == [(0, 2)]
    assert "dead topics: 2" in str(report)
    assert "topics 1 and 3" in str(report)
