"""CVB0: its fixed point, one topic a document exactly, threads, quality, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from textmill._native import topics as native
from textmill.errors import DataError
from textmill.topics.factors.em import fold_in
from textmill.topics.lda.cvb0 import collapse_variational
from textmill.topics.lda.gibbs import sample_topics


def drawn(documents: int, vocabulary: int, topics: int, length: int, seed: int) -> csr_matrix:
    """Documents drawn from topics."""
    random = np.random.default_rng(seed)
    phi = random.dirichlet(np.full(vocabulary, 0.05), topics)
    words = random.dirichlet(np.full(topics, 0.1), documents) @ phi
    return csr_matrix(np.array([random.multinomial(length, row) for row in words]).astype(np.int32))


@pytest.mark.parametrize("matrix", [False, True])
def test_the_result_is_a_fixed_point_of_the_update(matrix: bool) -> None:
    random = np.random.default_rng(0)
    X = csr_matrix(random.poisson(1.0, (6, 9)).astype(np.int32))
    alpha = np.array([0.3, 0.5, 0.9])
    eta = random.uniform(0.2, 1.0, (3, 9)) if matrix else np.full((3, 9), 0.4)
    found = collapse_variational(X, 3, alpha=alpha, eta=eta if matrix else 0.4, max_iter=3000, random_state=1)
    K = found.counts
    J = found.theta * (np.asarray(X.sum(axis=1)) + alpha.sum()) - alpha
    by_word, by_document = np.zeros_like(K), np.zeros_like(J)
    for d, w in zip(*X.nonzero(), strict=True):
        gamma = np.zeros(3)
        for _ in range(2000):  # gamma of this entry, the counts given
            new = (J[d] - gamma + alpha) * (K[w] - gamma + eta[:, w]) / (K.sum(axis=0) - gamma + eta.sum(axis=1))
            gamma = 0.5 * gamma + 0.5 * new / new.sum()
        by_word[w] += X[d, w] * gamma
        by_document[d] += X[d, w] * gamma
    assert by_word == pytest.approx(K, abs=2e-3)
    assert by_document == pytest.approx(J, abs=2e-3)


def test_counts_add_up_after_every_sweep() -> None:
    X = drawn(1500, 300, 6, 80, seed=1)
    made = native.make_collapsed_variational(
        X.indptr.astype(np.int64), X.indices, X.data, np.full(6, 0.1), np.array([[0.1]]), 300, 0
    )
    assert made.stages == 4
    for _ in range(20):
        for _ in range(made.stages):
            made.advance(2)
        words, documents = made.totals()
        assert words == pytest.approx(documents, rel=1e-4)
        assert words.sum() == pytest.approx(made.tokens, rel=1e-5)


def test_any_number_of_threads_gives_the_same_bytes() -> None:
    X = drawn(1500, 300, 6, 80, seed=1)
    found = [
        collapse_variational(X, 6, max_iter=12, learn_alpha=True, random_state=3, n_jobs=jobs) for jobs in (1, 2, 8)
    ]
    for other in found[1:]:
        for name in ("counts", "theta", "alpha", "joint", "assignments"):
            assert getattr(other, name).tobytes() == getattr(found[0], name).tobytes()


def test_it_predicts_as_well_as_gibbs_with_as_many_sweeps() -> None:
    X = drawn(1200, 400, 8, 60, seed=4)
    train, test = X[:1000], X[1000:]
    bits = {}
    for name, method in (("gibbs", sample_topics), ("cvb0", collapse_variational)):
        scores = []
        for seed in range(3):
            counts = method(train, 8, alpha=0.1, eta=0.05, max_iter=60, random_state=seed).counts
            phi = (counts + 0.05) / (counts.sum(axis=0) + 0.05 * 400)
            scores.append(fold_in(test, phi).log_likelihood.sum() / test.sum() / np.log(2))
        bits[name] = np.mean(scores)
    assert bits["cvb0"] > bits["gibbs"] - 0.03


def test_assignments_belong_to_the_tokens() -> None:
    X = csr_matrix(np.tile(np.array([[3, 2, 0, 0], [0, 0, 2, 4]], np.int32), (10, 1)))
    found = collapse_variational(X, 2, alpha=0.1, eta=0.1, random_state=0)
    words = np.repeat(X.indices, X.data)
    assert found.counts.argmax(axis=1)[words].tolist() == found.assignments.tolist()


def test_counts_of_other_documents_stay() -> None:
    X = csr_matrix(np.array([[3, 2, 0, 0], [0, 0, 2, 4]], np.int32))
    before = np.array([[0, 50.0], [0, 50], [50, 0], [50, 0]])
    for seed in range(4):
        found = collapse_variational(X, 2, alpha=0.1, eta=0.1, start=before, random_state=seed)
        assert found.counts.argmax(axis=1).tolist() == [1, 1, 0, 0]
        assert found.counts.sum() == pytest.approx(211)


def test_hard_documents_are_inferred() -> None:
    X = csr_matrix(np.array([[0, 0, 0], [0, 1, 0], [50_000, 20_000, 0], [1, 1, 1]]))
    for prior in (1e-3, 1.0):
        found = collapse_variational(X, 11, alpha=prior, eta=prior, max_iter=20, random_state=0)
        assert np.isfinite(found.counts).all()
        assert found.theta.sum(axis=1) == pytest.approx(np.ones(4))
        assert found.counts.sum() == pytest.approx(70_004, rel=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": [[0.5, 1]]}, "whole counts"),
        ({"n_topics": 0}, "n_topics"),
        ({"alpha": 0.0}, "alpha"),
        ({"eta": -1.0}, "eta"),
        ({"max_iter": 0}, "max_iter"),
        ({"trace_every": 0}, "trace_every"),
        ({"dtype": "int"}, "dtype"),
        ({"start": np.zeros(3, int)}, "start"),
    ],
)
def test_bad_input_is_one_clear_error(arguments: dict, message: str) -> None:
    given = {"X": [[1, 1]], "n_topics": 2, **arguments}
    with pytest.raises(DataError, match=message):
        collapse_variational(given.pop("X"), given.pop("n_topics"), **given)
