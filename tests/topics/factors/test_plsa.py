"""PLSA: the worked example, its equivalence to the KL factorization, streams, files and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from reference.titles import COUNTS, STOP, TITLES
from scipy.sparse import csr_matrix

import textmill
from textmill.corpus import Vocabulary
from textmill.errors import DataError
from textmill.topics import NMF, PLSA
from textmill.topics.factors.em import learn
from textmill.topics.factors.nmf import factorize
from textmill.vectors import TextVectorizer, Weighting

X = csr_matrix(COUNTS.astype(float))
W = np.array([[1.0, 0.1]] * 9 + [[0.1, 1.0]] * 3)
H = np.array([[1.0, 0.1]] * 5 + [[0.1, 1.0]] * 4)
LENGTH = COUNTS.sum(axis=1)
TOTAL = 29


def drawn(documents: int, vocabulary: int, topics: int, length: int, seed: int) -> csr_matrix:
    """Documents drawn from topics."""
    random = np.random.default_rng(seed)
    phi = random.dirichlet(np.full(vocabulary, 0.05), topics)
    words = random.dirichlet(np.full(topics, 0.2), documents) @ phi
    return csr_matrix(np.array([random.multinomial(length, row) for row in words]).astype(float))


def worked(iterations: int, **options):
    """PLSA from the start of the worked example: P(z) = 1/2, columns of W and H normalized."""
    joint = 0.5 * H / H.sum(axis=0)
    theta = joint / joint.sum(axis=1, keepdims=True)
    return learn(X, theta, W / W.sum(axis=0), max_iter=iterations, tolerance=-1.0, **options)[:3]


def test_likelihoods_of_the_worked_example() -> None:
    marginal = (0.5 * H / H.sum(axis=0)).sum(axis=1)
    trace = worked(100, accelerate=False)[2]
    documents = float(LENGTH @ np.log(LENGTH / TOTAL))
    assert trace[0] + float(LENGTH @ np.log(marginal)) == pytest.approx(-125.625719, abs=1e-6)
    assert trace[1] + documents == pytest.approx(-117.129302, abs=1e-6)
    assert trace[10] + documents == pytest.approx(-115.793953, abs=1e-6)
    assert trace[100] + documents == pytest.approx(-115.793944, abs=1e-6)
    assert (np.diff(trace) >= -1e-12).all()


def test_distributions_of_the_worked_example() -> None:
    theta, phi, _ = worked(1000)
    joint = theta * (LENGTH / TOTAL)[:, None]
    share = joint.sum(axis=0)
    assert share == pytest.approx([20 / 29, 9 / 29], abs=1e-6)
    assert joint[:, 0] / share[0] == pytest.approx([0.15, 0.30, 0.20, 0.20, 0.15, 0, 0, 0, 0], abs=1e-6)
    assert phi[8] == pytest.approx([0.05, 1 / 9], abs=1e-6)
    assert np.isfinite(theta).all()
    assert np.isfinite(phi).all()


def test_the_kl_loss_equals_that_of_nmf() -> None:
    trace = worked(1000)[2]
    x = COUNTS[COUNTS > 0].astype(float)
    loss = float((x * np.log(x)).sum() - (LENGTH * np.log(LENGTH)).sum()) - trace[-1]
    factors = factorize(X, H, W, loss="kl", method="multiplicative", max_iter=1000, tolerance=-1.0)[2]
    assert loss == pytest.approx(19.528659, abs=1e-6)
    assert loss == pytest.approx(factors[-1], abs=1e-6)


def test_no_random_start_of_fifty_is_better_than_the_worked_example() -> None:
    best = max(PLSA(n_topics=2, max_iter=300, tolerance=0.0, random_state=s).fit(X).trace_[-1] for s in range(50))
    assert best + float(LENGTH @ np.log(LENGTH / TOTAL)) == pytest.approx(-115.793944, abs=1e-4)


@pytest.mark.parametrize("accelerate", [False, True])
def test_the_likelihood_never_falls_and_nothing_becomes_nan(accelerate: bool) -> None:
    random = np.random.default_rng(0)
    counts = csr_matrix(random.poisson(0.2, (40, 30)).astype(float))
    plsa = PLSA(n_topics=7, max_iter=1000, tolerance=0.0, accelerate=accelerate, random_state=1).fit(counts)
    assert (np.diff(plsa.trace_) >= -1e-9 * abs(plsa.trace_[0])).all()
    assert np.isfinite(plsa.components_).all()
    assert plsa.components_.sum(axis=1) == pytest.approx(np.ones(7))


def test_tempering_lowers_the_training_likelihood_and_smoothing_leaves_no_word_impossible() -> None:
    train = drawn(150, 300, 5, 30, 3)
    plain, warm = (PLSA(n_topics=20, temper=t, max_iter=200, random_state=0).fit(train) for t in (1.0, 0.7))
    smooth = PLSA(n_topics=20, max_iter=200, smoothing=0.1, random_state=0).fit(train)
    assert plain.components_.min() == 0.0
    assert smooth.components_.min() > 0.0
    assert warm.score(train) < plain.score(train)


def test_held_out_documents_stop_em_early_and_cool_it() -> None:
    corpus = drawn(300, 200, 4, 30, 5)
    settings = {"n_topics": 15, "max_iter": 200, "tolerance": 0.0, "random_state": 0, "smoothing": 0.01}
    free = PLSA(**settings).fit(corpus)
    stopped = PLSA(held_out=0.2, **settings).fit(corpus)
    cooled = PLSA(held_out=0.2, cooling=0.9, **settings).fit(corpus)
    assert len(stopped.trace_) < len(free.trace_)
    assert len(cooled.trace_) > len(stopped.trace_)
    assert 0 < cooled.temper_ <= 1


def test_online_em_comes_near_batch_em() -> None:
    corpus = drawn(2000, 300, 5, 60, 7)
    batch = PLSA(n_topics=5, random_state=0).fit(corpus)
    online = PLSA(n_topics=5, chunk_size=200, max_iter=4, random_state=0).fit(corpus)
    assert online.documents_ == 2000
    assert online.score(corpus) > batch.score(corpus) - 0.03


def test_one_shot_streams_are_read_once_or_refused_before_they_are_read() -> None:
    read = []

    def chunks():
        for start in range(0, 9, 3):
            read.append(start)
            yield X[start : start + 3]

    PLSA(n_topics=2, chunk_size=3, random_state=0).fit(chunks())
    assert read == [0, 3, 6]
    with pytest.raises(DataError, match="2 passes"):
        PLSA(n_topics=2, chunk_size=3, max_iter=2).fit(chunks())
    assert read == [0, 3, 6]


def test_texts_come_in_through_the_vectorizer_and_the_file_carries_it(tmp_path) -> None:
    vectorizer = TextVectorizer(vocabulary=Vocabulary(stop_words=STOP, min_df=2), weighting=Weighting(scheme="nnn"))
    plsa = PLSA(n_topics=2, vectorizer=vectorizer, random_state=3).fit(TITLES)
    plsa.save(tmp_path / "titles.mill")
    loaded = textmill.load(tmp_path / "titles.mill")
    assert loaded.transform(TITLES).tobytes() == plsa.transform(TITLES).tobytes()
    assert loaded.topics(3) == plsa.topics(3)
    loaded.save(tmp_path / "again.mill")
    assert (tmp_path / "again.mill").read_bytes() == (tmp_path / "titles.mill").read_bytes()
    loaded.partial_fit(["graph minors and trees"])
    assert loaded.documents_ == 10


def test_merging_pairs_topics_whatever_their_order() -> None:
    whole = csr_matrix(np.kron(np.eye(3), np.ones((20, 4))))
    one = PLSA(n_topics=3, random_state=0, max_iter=500).fit(whole)
    other = PLSA(n_topics=3, random_state=9, max_iter=500).fit(whole)
    merged = one.merge(other)
    assert merged.documents_ == 120
    assert merged.components_ == pytest.approx(one.components_, abs=1e-3)


@pytest.mark.parametrize("jobs", [2, 5])
def test_the_same_bytes_for_any_number_of_threads(jobs: int) -> None:
    models = [PLSA(n_topics=3, random_state=0, n_jobs=n).fit(X) for n in (1, jobs)]
    assert models[0].components_.tobytes() == models[1].components_.tobytes()


@pytest.mark.parametrize("model", [PLSA, NMF])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.zeros((0, 3)), "no documents"),
        (np.zeros((4, 0)), "X has no columns"),
        (np.zeros((4, 3)), "only zeros"),
        (np.array([[1.0, np.nan]]), "NaN"),
        (np.array([[1.0, np.inf]]), "inf"),
        (np.array([[1.0, -1.0]]), "negative"),
        ([], "no documents"),
        (["to be"], "vectorizer"),
        ("to be", "matrix or a stream"),
    ],
)
def test_bad_input_is_one_clear_error(model: type, bad: object, message: str) -> None:
    with pytest.raises(DataError, match=message) as raised:
        model(n_topics=2).fit(bad)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("model", [PLSA, NMF])
def test_more_topics_than_documents_and_terms_identical_and_empty_documents(model: type) -> None:
    same = np.array([[2.0, 1.0, 0.0]] * 4 + [[0.0, 0.0, 0.0]])
    found = model(n_topics=10, random_state=0).fit(same)
    rows = found.transform(same)
    assert rows.shape == (5, 10)
    assert np.isfinite(rows).all()
    assert rows[0] == pytest.approx(rows[1])


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_topics": 0},
        {"temper": 0.0},
        {"temper": 1.5},
        {"held_out": 1.0},
        {"cooling": 0.9},
        {"smoothing": -1.0},
        {"max_iter": 0},
        {"init": "magic"},
        {"decay": 2.0},
        {"chunk_size": 0},
        {"chunk_size": 5, "held_out": 0.5},
        {"random_state": -1},
    ],
)
def test_parameters_are_checked_by_fit(parameters: dict) -> None:
    with pytest.raises(DataError):
        PLSA(**parameters).fit(X)


def test_models_that_do_not_belong_together_are_not_merged() -> None:
    one = PLSA(n_topics=2, random_state=0).fit(X)
    with pytest.raises(DataError, match="topics"):
        one.merge(PLSA(n_topics=3, random_state=0).fit(X))
    with pytest.raises(DataError, match="NMF"):
        one.merge(NMF(n_topics=2, random_state=0).fit(X))
    with pytest.raises(DataError, match=r"X has 13 features, but .* is expecting 12"):
        one.transform(np.ones((1, 13)))
    with pytest.raises(DataError, match="no words"):
        one.score(np.zeros((2, 12)))
