"""The E step: worked examples, the formulas themselves, peers, any threads, numbers that are hard on a float."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.dirichlet import bound, e_step, log_evidence
from reference.titles import COUNTS
from scipy.sparse import csr_matrix
from scipy.special import psi

from textmill._native import topics as native
from textmill.topics.lda.variational import Topics, document_parts, expect, infer, topics_part, word_topics

LAMBDA = np.array([[2, 2, 2, 3, 4, 2, 2, 2, 1.5, 0.5, 0.5, 0.5], [0.5] * 8 + [1.5, 3, 3, 2]])


def topics_of(lam: Any, alpha: Any, eta: float, dtype: Any = np.float64, **options: Any) -> Topics:
    """Topics whose lambda (k, m) is given."""
    lam = np.asarray(lam, float)
    alpha = np.array(np.broadcast_to(np.asarray(alpha, float), (len(lam),)))
    chi = np.ascontiguousarray((lam - eta).T, dtype=dtype)
    return Topics(chi, np.full((1, 1), eta), lam.sum(axis=1), alpha, **options)


def random_problem(seed: int, documents: int, terms: int, topics: int) -> tuple[csr_matrix, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.poisson(0.7, (documents, terms)) * random.integers(0, 2, (documents, terms))
    return csr_matrix(X.astype(float)), random.gamma(0.3, 5.0, (topics, terms)) + 0.02


def test_worked_example_of_fixed_topics() -> None:
    topics = topics_of(LAMBDA, 0.5, 0.5, max_iter=10_000, tolerance=1e-13)
    found = infer(csr_matrix(COUNTS.astype(float)), topics, collect=True)
    expected = [
        (3.476214, 0.523786),
        (6.429626, 0.570374),
        (4.482396, 0.517604),
        (4.483478, 0.516522),
        (3.479664, 0.520336),
        (0.504670, 1.495330),
        (0.504799, 2.495201),
        (0.505900, 3.494100),
        (0.537897, 3.462103),
    ]
    assert found.gamma == pytest.approx(np.array(expected), abs=6e-7)
    chi = "1.986318 1.986288 1.987190 2.988775 3.990334 1.987322 1.987322 1.988464 .982250 .008687 .005911 .005782"
    assert found.statistics[:, 0] == pytest.approx(np.array(chi.split(), float), abs=6e-7)
    assert found.statistics.sum() == pytest.approx(29, abs=1e-9)
    total = found.likelihood.sum() + document_parts(found.gamma, topics.alpha)[1].sum() + topics_part(topics)
    assert total == pytest.approx(-83.728208, abs=6e-7)


def test_worked_example_of_a_tiny_document() -> None:
    X = csr_matrix([[2.0, 1.0]])
    topics = topics_of([[9, 1], [1, 9]], 0.5, 0.5, tolerance=1e-14)
    steps = {1: (2.438072, 1.561928), 2: (2.534098, 1.465902), 3: (2.556437, 1.443563), 1000: (2.563553, 1.436447)}
    for iterations, gamma in steps.items():
        assert infer(X, replace(topics, max_iter=iterations)).gamma[0] == pytest.approx(gamma, abs=6e-7)
    found = infer(X, replace(topics, max_iter=1000), collect=True)
    assert found.gamma[0] / found.gamma.sum() == pytest.approx((0.640888, 0.359112), abs=6e-7)
    assert pytest.approx(np.array([[1.940016, 0.123538], [0.059984, 0.876462]]), abs=6e-7) == found.statistics.T
    assert word_topics(X, topics, found.gamma)[:, 0] == pytest.approx((0.970008, 0.123538), abs=6e-7)
    part = found.likelihood[0] + document_parts(found.gamma, topics.alpha)[1][0]
    assert part == pytest.approx(-2.916090, abs=6e-7)
    beta = np.exp(psi(np.array([9.0, 1.0])) - psi(10.0))
    assert beta == pytest.approx((0.894839, 0.059074), abs=6e-7)


def test_expected_logarithms_of_a_mixture() -> None:
    assert document_parts(np.array([[3.5, 0.5]]), np.ones(2))[0][0] == pytest.approx((-0.152961, -3.219628), abs=6e-7)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    documents=st.integers(1, 12),
    terms=st.integers(1, 60),
    topics=st.integers(1, 40),
    alpha=st.sampled_from([0.001, 0.02, 0.5, 3.0]),
)
def test_e_step_is_that_of_the_formulas(seed: int, documents: int, terms: int, topics: int, alpha: float) -> None:
    X, lam = random_problem(seed, documents, terms, topics)
    told = np.flatnonzero(X.getnnz(axis=1))
    gamma, chi, words = e_step(X.toarray(), lam, alpha, 60, 1e-6)
    made = infer(X, topics_of(lam, alpha, 0.01, max_iter=60, tolerance=1e-6), collect=True)
    assert made.gamma[told] == pytest.approx(gamma[told], rel=1e-7, abs=1e-9)
    assert made.statistics == pytest.approx(chi.T[made.words], rel=1e-7, abs=1e-9)
    assert made.likelihood.sum() == pytest.approx(words, rel=1e-9, abs=1e-9)
    # counts and mixtures keep their sums, and so do the topics of a word
    assert made.gamma.sum(axis=1) == pytest.approx(alpha * topics + np.asarray(X.sum(axis=1)).ravel(), rel=1e-9)
    assert made.statistics.sum() == pytest.approx(X.sum(), rel=1e-9)
    phi = word_topics(X, topics_of(lam, alpha, 0.01), made.gamma)
    assert phi.sum(axis=1) == pytest.approx(np.ones(X.nnz))


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), topics=st.integers(1, 70), alpha=st.sampled_from([0.001, 0.02, 1.0]))
def test_float32_is_close_to_float64(seed: int, topics: int, alpha: float) -> None:
    X, lam = random_problem(seed, 10, 50, topics)
    double, single = (infer(X, topics_of(lam, alpha, 0.01, dtype), collect=True) for dtype in (np.float64, np.float32))
    close = np.abs(single.gamma - double.gamma).mean(axis=1)
    assert np.median(close) < 1e-3  # a document that stops one step earlier is as good
    assert single.statistics.dtype == np.float32
    assert single.statistics.sum(dtype=float) == pytest.approx(X.sum(), rel=1e-6)
    assert single.likelihood.sum() == pytest.approx(double.likelihood.sum(), rel=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_threads_gives_the_same_bytes(dtype: Any) -> None:
    X, lam = random_problem(1, 300, 400, 30)
    topics = topics_of(lam, 0.05, 0.01, dtype)
    one = infer(X, topics, collect=True, n_jobs=1)
    for jobs in (2, 5):
        other = infer(X, topics, collect=True, n_jobs=jobs)
        assert (one.gamma == other.gamma).all()
        assert (one.statistics == other.statistics).all()
        assert (one.likelihood == other.likelihood).all()


def test_a_document_gives_the_same_mixture_wherever_it_stands() -> None:
    X, lam = random_problem(2, 40, 100, 20)
    topics = topics_of(lam, 0.05, 0.01, np.float32)
    together = infer(X, topics).gamma
    assert (infer(X[::-1].tocsr(), topics).gamma[::-1] == together).all()
    assert (infer(X[7:8], topics).gamma == together[7:8]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("prior", [1e-3, 1e-2, 1.0])
def test_numbers_stay_finite_with_tiny_priors_and_documents_of_any_length(prior: float, dtype: Any) -> None:
    random = np.random.default_rng(0)
    X = np.zeros((5, 30))
    X[0, 3] = 1  # one word
    X[1, 29] = 1  # one that no topic has
    X[2] = random.multinomial(50_000, np.full(30, 1 / 30))
    X[3, 4] = 50_000
    chi = random.gamma(0.2, 10.0, (8, 30))
    chi[:, 29] = 0.0
    chi[:7, 5] = 0.0  # a word of one topic only
    X[4, 5], X[4, 6] = 3, 2
    topics = topics_of(chi + prior, prior, prior, dtype)
    made = infer(csr_matrix(X), topics, collect=True)
    assert np.isfinite(made.gamma).all()
    assert np.isfinite(made.statistics).all()
    assert np.isfinite(made.likelihood).all()
    assert made.statistics.sum(dtype=float) == pytest.approx(X.sum(), rel=1e-5)
    expected = e_step(X[:4], np.asarray(chi + prior), max(prior, 1e-2))[0] if prior == 1.0 else None
    if expected is not None:
        assert made.gamma[:4] == pytest.approx(expected, rel=2e-3, abs=2e-3)


def test_empty_documents_are_the_prior_and_not_counted() -> None:
    X = csr_matrix(np.array([[0, 0, 0], [1, 0, 2], [0, 0, 0]], float))
    topics = topics_of(np.ones((2, 3)), (0.3, 0.6), 0.1)
    assert infer(X, topics).gamma[[0, 2]].tolist() == [[0.3, 0.6]] * 2
    assert infer(X, topics).likelihood[[0, 2]].tolist() == [0, 0]
    assert expect(X, topics).documents == 1


def test_words_that_the_topics_do_not_have_are_new_rows_of_eta() -> None:
    X = csr_matrix(np.array([[1.0, 0.0, 2.0]]))
    made = infer(X, topics_of([[3.0, 1.0], [1.0, 3.0]], 0.5, 0.5), collect=True)
    assert made.words.tolist() == [0, 2]
    assert np.isfinite(made.statistics).all()
    assert made.statistics.sum() == pytest.approx(3)


def test_the_bound_is_below_the_likelihood_by_enumeration() -> None:
    random = np.random.default_rng(3)
    for documents in ([[0, 1, 1], [2, 2]], [[0, 0, 1, 2, 2, 1]], [[0], [1], [2, 0]]):
        X = np.array([np.bincount(words, minlength=3) for words in documents], float)
        exact = log_evidence(documents, 2, 3, alpha=0.7, eta=0.4)
        lam = random.gamma(1.0, 1.0, (2, 3)) + 0.4
        for _ in range(200):
            gamma, chi, _ = e_step(X, lam, 0.7, 500, 1e-12)
            assert bound(X, lam, gamma, 0.7, 0.4) <= exact
            lam = 0.4 + chi
        topics = topics_of(lam, 0.7, 0.4, max_iter=500, tolerance=1e-12)
        found = infer(csr_matrix(X), topics)
        ours = found.likelihood.sum() + document_parts(found.gamma, topics.alpha)[1].sum() + topics_part(topics)
        assert ours == pytest.approx(bound(X, lam, found.gamma, 0.7, 0.4), rel=1e-10)
        assert ours <= exact


def test_the_bound_is_flat_at_the_fixed_point_of_batch_learning() -> None:
    X, lam = random_problem(5, 6, 8, 3)
    dense = X.toarray()[X.getnnz(axis=1) > 0]
    X = csr_matrix(dense)
    for _ in range(3000):
        topics = topics_of(lam, 0.6, 0.3, max_iter=3000, tolerance=1e-14)
        found = infer(X, topics, collect=True)
        new = np.full_like(lam, 0.3)
        new[:, found.words] += found.statistics.T
        if np.abs(new - lam).max() < 1e-12:
            break
        lam = new
    gamma, h = found.gamma, 1e-5
    for values in (lam, gamma):
        for place in np.ndindex(*values.shape):
            sides = []
            for sign in (1, -1):
                values[place] += sign * h
                sides.append(bound(dense, lam, gamma, 0.6, 0.3))
                values[place] -= sign * h
            assert abs(sides[0] - sides[1]) / (2 * h) < 1e-5


@pytest.mark.data
def test_e_step_is_that_of_the_peers_on_real_documents(data: Path) -> None:
    import json
    from gzip import open as open_gzip

    from gensim.models import LdaModel
    from sklearn.decomposition import LatentDirichletAllocation

    from papers._shared.presets import preset

    with open_gzip(data / "reuters" / "reuters21578.jsonl.gz", "rt") as lines:
        texts = [json.loads(line)["text"] for line, _ in zip(lines, range(1000), strict=False)]
    X = csr_matrix(preset("reuters").fit_transform(texts), dtype=float)
    X = X[X.getnnz(axis=1) > 0]
    k, m = 20, X.shape[1]
    lam = np.random.default_rng(0).gamma(100.0, 0.01, (k, m)) * np.random.default_rng(1).gamma(0.1, 10, (k, m)) + 0.05
    found = infer(X, topics_of(lam, 0.05, 0.05, max_iter=2000, tolerance=1e-9), collect=True)
    theirs = LatentDirichletAllocation(
        k, doc_topic_prior=0.05, topic_word_prior=0.05, mean_change_tol=1e-9, max_doc_update_iter=2000
    )
    theirs._init_latent_vars(m, dtype=np.float64)
    theirs.components_, theirs.random_state_ = lam, np.random.RandomState(0)
    theirs.exp_dirichlet_component_ = np.exp(psi(lam) - psi(lam.sum(axis=1, keepdims=True)))
    gamma, _ = theirs._e_step(X, cal_sstats=True, random_init=False)
    settled = found.steps < 2000
    assert settled.mean() > 0.95
    assert np.abs(found.gamma - gamma)[settled].max() < 1e-6
    ours = np.zeros((k, m))
    ours[:, found.words] = found.statistics.T
    bound_ours = found.likelihood.sum() + document_parts(found.gamma, np.full(k, 0.05))[1].sum()
    bound_ours += topics_part(topics_of(lam, 0.05, 0.05))
    assert bound_ours == pytest.approx(theirs._approx_bound(X, gamma, sub_sampling=False), rel=1e-6)
    corpus = [list(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in X[:200]]
    peer = LdaModel(
        num_topics=k, id2word={i: str(i) for i in range(m)}, alpha=np.full(k, 0.05), eta=0.05, dtype=np.float64,
        iterations=2000, gamma_threshold=1e-9,
    )  # fmt: skip
    peer.state.sstats, peer.random_state = lam - 0.05, _Ones()
    peer.sync_state()
    gamma, _ = peer.inference(corpus)
    assert np.abs(found.gamma[:200] - gamma)[settled[:200]].max() < 1e-6


class _Ones:
    """gensim draws where an inference starts; here everybody starts at 1."""

    def gamma(self, shape: float, scale: float, size: Any) -> np.ndarray:
        return np.ones(size)


def test_bindings_refuse_what_would_crash() -> None:
    good: dict[str, Any] = {
        "offsets": np.array([0, 1]),
        "terms": np.zeros(1, np.int32),
        "counts": np.ones(1),
        "statistics": np.ones((2, 3)),
        "eta": np.ones((1, 1)),
        "psi_totals": np.ones(3),
        "alpha": np.ones(3),
        "iterations": 5,
        "tolerance": 0.0,
        "collect": True,
        "gamma": np.ones((1, 3)),
        "steps": np.zeros(1, np.int32),
        "likelihood": np.zeros(1),
        "threads": 1,
    }
    native.expect_topics(**good)
    bad = [
        {"terms": np.full(1, 2, np.int32)},
        {"offsets": np.array([0, 2])},
        {"counts": np.array([np.nan])},
        {"alpha": np.zeros(3)},
        {"alpha": np.ones(2)},
        {"eta": np.ones((3, 1))},
        {"gamma": np.zeros((1, 3))},
        {"gamma": np.ones((2, 3))},
        {"steps": np.zeros(2, np.int32)},
        {"iterations": 0},
        {"threads": 0},
        {"psi_totals": np.ones(4)},
    ]
    for change in bad:
        with pytest.raises(ValueError, match="must"):
            native.expect_topics(**good | change)
    with pytest.raises(ValueError, match="rise"):
        native.blend(
            np.ones((2, 1)), 1.0, np.array([1, 0], np.int32), np.ones((2, 1)), 1.0, np.ones(0), 0, np.ones(1), 1
        )
    with pytest.raises(ValueError, match="rise"):
        native.blend(np.ones((2, 1)), 1.0, np.array([2], np.int32), np.ones((1, 1)), 1.0, np.ones(0), 0, np.ones(1), 1)
