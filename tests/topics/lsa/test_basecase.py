"""topics/basecase.py: all methods against LAPACK, low rank, empty chunks, methods of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from textmill.errors import DataError
from textmill.topics.lsa import basecase
from textmill.topics.lsa.basecase import CHUNK_METHODS, base_case, gaussian


def zipf(seed: int, documents: int = 300, terms: int = 500) -> Any:
    random = np.random.default_rng(seed)
    topics = random.dirichlet(np.full(terms, 0.05), 20)
    mixtures = random.dirichlet(np.full(20, 0.1), documents)
    return sparse.csr_matrix(random.poisson(60 * mixtures @ topics).astype(float))


@pytest.fixture
def always_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    """No chunk is small enough to be made dense."""
    monkeypatch.setattr(basecase, "DENSE", 0)


@pytest.mark.usefixtures("always_sparse")
@pytest.mark.parametrize("method", CHUNK_METHODS)
@pytest.mark.parametrize("shape", [(300, 500), (500, 300)])
def test_methods_give_the_leading_factors(method: str, shape: tuple[int, int]) -> None:
    X = zipf(1, *shape)
    made = base_case(X, 15, method)
    s = np.linalg.svd(X.toarray(), compute_uv=False)
    assert made.s == pytest.approx(s[:15], rel=1e-4 if method == "stochastic" else 1e-10)
    assert (made.s <= s[:15] * (1 + 1e-12)).all()
    assert np.abs(made.U.T @ made.U - np.eye(15)).max() < 1e-11
    assert np.abs(made.U[np.abs(made.U).argmax(0), np.arange(15)] - np.abs(made.U).max(0)).max() == 0
    assert made.energy == pytest.approx((s**2).sum())
    assert s[15] ** 2 <= made.bound * (1 + 1e-6)


@pytest.mark.usefixtures("always_sparse")
@pytest.mark.parametrize("method", CHUNK_METHODS)
def test_low_rank_gives_fewer_factors_never_noise(method: str) -> None:
    random = np.random.default_rng(0)
    X = sparse.csr_matrix(random.normal(size=(200, 4)) @ random.normal(size=(4, 90)))
    made = base_case(X, 10, method)
    true = np.linalg.svd(X.toarray(), compute_uv=False)
    assert made.s[:4] == pytest.approx(true[:4], rel=1e-9)
    assert (made.s[4:] < 1e-7 * made.s[0]).all()
    assert np.abs(made.U.T @ made.U - np.eye(made.rank)).max() < 1e-10


@pytest.mark.parametrize("method", CHUNK_METHODS)
def test_an_empty_chunk_gives_no_factors(method: str) -> None:
    for X in (sparse.csr_matrix((0, 7)), sparse.csr_matrix((5, 7))):
        made = base_case(X, 3, method)
        assert (made.rank, made.documents, made.U.shape) == (0, X.shape[0], (7, 0))


def test_terms_that_are_not_there_are_zero_rows() -> None:
    X = sparse.csr_matrix((np.ones(2), ([0, 1], [3, 97])), shape=(2, 100))
    made = base_case(X, 5)
    assert sorted(np.flatnonzero(made.U.any(axis=1))) == [3, 97]


def test_a_method_of_ones_own_is_called_and_checked() -> None:
    def lapack(X: Any, rank: int) -> Any:
        U, s, _ = np.linalg.svd(X.toarray().T, full_matrices=False)
        return U[:, :rank], s[:rank]

    X = zipf(2, 40, 30)
    assert base_case(X, 5, lapack).s == pytest.approx(base_case(X, 5, "dense").s)
    with pytest.raises(DataError, match="chunk_method gave U of shape"):
        base_case(X, 5, lambda X, rank: (np.ones((3, 2)), np.ones(2)))


def test_random_numbers_belong_to_documents() -> None:
    whole = gaussian(50, 7, random_state=3)
    parts = [gaussian(20, 7, random_state=3), gaussian(30, 7, random_state=3, first=20, n_jobs=2)]
    assert (whole == np.vstack(parts)).all()
    assert abs(gaussian(2000, 50, random_state=1).mean()) < 0.02
