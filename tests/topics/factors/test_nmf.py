"""NMF: the worked example, monotone losses, scikit-learn's objective, streams and files."""

from __future__ import annotations

import numpy as np
import pytest
from reference.titles import COUNTS
from scipy import sparse
from scipy.optimize import nnls
from scipy.sparse import csr_matrix

import textmill
from textmill._native import topics as native
from textmill.errors import DataError
from textmill.topics import NMF
from textmill.topics.factors.nmf import factorize
from textmill.topics.factors.starts import start_factors

X = csr_matrix(COUNTS.astype(float))
W = np.array([[1.0, 0.1]] * 9 + [[0.1, 1.0]] * 3)
H = np.array([[1.0, 0.1]] * 5 + [[0.1, 1.0]] * 4)


def true_loss(X, H, W, loss: str) -> float:
    """Straight from the definition, dense."""
    A, R = X.toarray(), H @ W.T
    if loss == "euclidean":
        return float(((A - R) ** 2).sum())
    there = A > 0
    return float((A[there] * np.log(A[there] / R[there])).sum() - A.sum() + R.sum())


def problem(seed: int) -> csr_matrix:
    X = sparse.random(25, 18, 0.3, format="csr", random_state=seed)
    return csr_matrix(X[np.diff(X.indptr) > 0])


@pytest.mark.parametrize(
    ("loss", "values"),
    [("euclidean", [13.865939, 13.486170, 13.486052]), ("kl", [20.427745, 19.528661, 19.528659])],
)
def test_multiplicative_updates_give_the_worked_example(loss: str, values: list[float]) -> None:
    losses = factorize(X, H, W, loss=loss, method="multiplicative", max_iter=100, tolerance=-1.0)[2]
    assert [losses[0], losses[9], losses[99]] == pytest.approx(values, abs=1e-6)
    assert (np.diff(losses) <= 1e-9).all()


@pytest.mark.parametrize(("loss", "value"), [("euclidean", 13.486052), ("kl", 19.528659)])
def test_the_fast_solvers_reach_the_same_optimum_sooner(loss: str, value: float) -> None:
    losses = factorize(X, H, W, loss=loss, method="fast", max_iter=15, tolerance=-1.0)[2]
    assert losses[-1] == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("loss", ["euclidean", "kl"])
@pytest.mark.parametrize("solver", ["fast", "multiplicative"])
def test_losses_never_rise_and_factors_are_never_negative(loss: str, solver: str) -> None:
    for seed in range(20):
        data = problem(seed)
        theta, phi = start_factors(data, 4, "random", seed)
        iterations = 1000 if seed < 3 else 60
        settings = {"loss": loss, "method": solver, "max_iter": iterations, "tolerance": -1.0}
        made_h, made_w, losses, _ = factorize(data, theta * np.asarray(data.sum(axis=1)), phi, **settings)
        assert (np.diff(losses) <= 1e-9 * losses[0]).all()
        assert made_h.min() >= 0
        assert made_w.min() >= 0
        assert np.isfinite(made_h).all()
        assert losses[-1] >= true_loss(data, made_h, made_w, loss) - 1e-6


@pytest.mark.parametrize("loss", ["euclidean", "kl"])
def test_no_worse_than_scikit_learn(loss: str) -> None:
    from sklearn import decomposition

    data = sparse.random(200, 120, 0.05, format="csr", random_state=1)
    data = csr_matrix(data[np.diff(data.indptr) > 0])
    solver = {"solver": "mu", "beta_loss": "kullback-leibler"} if loss == "kl" else {"solver": "cd"}
    peer = decomposition.NMF(8, init="nndsvda", max_iter=300, tol=0, random_state=0, **solver).fit(data)
    theirs = peer.reconstruction_err_**2 / (2 if loss == "kl" else 1)
    ours = NMF(n_topics=8, loss=loss, max_iter=300, tolerance=1e-7, random_state=0).fit(data).trace_[-1]
    assert ours <= 1.01 * theirs


def test_coordinate_descent_solves_non_negative_least_squares() -> None:
    random = np.random.default_rng(0)
    basis, rows = random.random((30, 7)), random.normal(size=(9, 30))
    h = np.zeros((9, 7))
    native.descend(basis.T @ basis, rows @ basis, 5000, 1e-12, h, 2)
    for row, found in zip(rows, h, strict=True):
        assert found == pytest.approx(nnls(basis, row)[0], abs=1e-8)


@pytest.mark.parametrize("loss", ["euclidean", "kl"])
def test_transform_is_the_best_for_the_topics(loss: str) -> None:
    data = problem(3)
    nmf = NMF(n_topics=4, loss=loss, max_iter=500, tolerance=0.0, random_state=0).fit(data)
    made = nmf.transform(data)
    assert nmf.components_.sum(axis=1) == pytest.approx(np.ones(4))
    assert true_loss(data, made + 1e-300, nmf.components_.T, loss) <= nmf.trace_[-1] * (1 + 1e-6)
    if loss == "kl":
        assert made.sum(axis=1) == pytest.approx(np.asarray(data.sum(axis=1)).ravel())


@pytest.mark.parametrize("loss", ["euclidean", "kl"])
def test_mini_batches_come_near_all_at_once_and_memory_is_that_of_a_chunk(loss: str) -> None:
    random = np.random.default_rng(0)
    topics = random.dirichlet(np.full(60, 0.1), 4)
    data = csr_matrix(random.poisson(30 * random.dirichlet(np.full(4, 0.3), 1500) @ topics).astype(float))
    batch = NMF(n_topics=4, loss=loss, random_state=0).fit(data)
    online = NMF(n_topics=4, loss=loss, chunk_size=100, max_iter=3, random_state=0)
    online.fit([data[start : start + 100] for start in range(0, 1500, 100)])
    scores = [true_loss(data, m.transform(data) + 1e-300, m.components_.T + 1e-300, loss) for m in (batch, online)]
    assert scores[1] < 1.05 * scores[0]
    assert online.documents_ == 1500


def test_partial_fit_goes_on_from_a_file_and_grows_with_the_vocabulary(tmp_path) -> None:
    nmf = NMF(n_topics=2, random_state=0).fit(X)
    nmf.save(tmp_path / "nmf.mill")
    loaded = textmill.load(tmp_path / "nmf.mill")
    loaded.partial_fit(np.ones((3, 14)))
    assert loaded.documents_ == 12
    assert loaded.components_.shape == (2, 14)
    assert loaded.components_[:, 12:].sum() > 0
    assert textmill.load(tmp_path / "nmf.mill").documents_ == 9


def test_restarts_keep_the_best() -> None:
    data = problem(7)
    settings = {"n_topics": 5, "init": "random", "max_iter": 30, "tolerance": 0.0}
    single = [NMF(random_state=2 * r, **settings).fit(data).trace_[-1] for r in range(5)]
    best = NMF(random_state=0, restarts=5, **settings).fit(data).trace_[-1]
    assert best == pytest.approx(min(single))


@pytest.mark.parametrize("loss", ["euclidean", "kl"])
def test_merging_two_halves(loss: str) -> None:
    data = csr_matrix(np.kron(np.eye(3), np.full((20, 4), 2.0)))
    order = np.random.default_rng(0).permutation(60)
    halves = [NMF(n_topics=3, loss=loss, random_state=s).fit(data[order[s::2]]) for s in (0, 1)]
    merged = halves[0].merge(halves[1])
    assert true_loss(data, merged.transform(data) + 1e-300, merged.components_.T + 1e-300, loss) < 1e-3
    assert merged.documents_ == 60


@pytest.mark.parametrize("loss", ["euclidean", "kl"])
def test_the_same_bytes_for_any_number_of_threads(loss: str) -> None:
    models = [NMF(n_topics=3, loss=loss, random_state=0, n_jobs=n).fit(problem(1)) for n in (1, 2, 5)]
    assert len({model.components_.tobytes() for model in models}) == 1


def test_kl_looks_at_the_non_zeros_alone() -> None:
    """All 1e11 cells of this matrix would neither fit into memory nor be looked at in an hour."""
    data = csr_matrix(sparse.eye(300_000))
    theta, phi = start_factors(data, 2, "random", 0)
    settings = {"loss": "kl", "method": "multiplicative", "max_iter": 2, "tolerance": -1.0, "n_jobs": 1}
    _, _, losses, _ = factorize(data, theta, phi, **settings)
    assert losses[1] < losses[0]


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_topics": 0},
        {"loss": "l1"},
        {"method": "magic"},
        {"init": "magic"},
        {"tolerance": -1.0},
        {"restarts": 2},
        {"decay": -0.1},
        {"chunk_size": 0},
        {"max_iter": 0},
    ],
)
def test_parameters_are_checked_by_fit(parameters: dict) -> None:
    with pytest.raises(DataError):
        NMF(**parameters).fit(X)


def test_losses_of_different_kinds_do_not_merge() -> None:
    with pytest.raises(DataError, match="loss"):
        NMF(n_topics=2, random_state=0).fit(X).merge(NMF(n_topics=2, loss="kl", random_state=0).fit(X))
