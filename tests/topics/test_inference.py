"""Mixtures for fixed topics: the printed examples, optima against SciPy and against each other, nothing but numbers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, optimize, sparse, special

from papers._shared.presets import preset
from textmill.corpus import read_documents
from textmill.errors import DataError
from textmill.topics import PLSA
from textmill.topics.factors.em import fold_in
from textmill.topics.inference import (
    divergences,
    entropy,
    exponentiated_gradient,
    infer_topics,
    monte_carlo,
    query_likelihood,
)
from textmill.vectors import TextVectorizer, Weighting, compare

Floats = NDArray[np.float64]

PHI = np.array([[0.9, 0.2], [0.1, 0.8]])  # terms x topics of the printed example
DOCUMENT = np.array([[3, 1]])
OPTIMUM = np.array([[11 / 14, 3 / 14]])


def likelihood(theta: Floats, counts: Floats, phi: Floats) -> float:
    return float(counts @ np.log(phi @ theta))


def problem(seed: int, most: int = 10) -> tuple[sparse.csr_matrix, Floats]:
    """A random document and topics."""
    random = np.random.default_rng(seed)
    k, m = int(random.integers(2, most + 1)), int(random.integers(2, 60))
    phi = random.dirichlet(np.full(m, random.choice([0.1, 1.0])), size=k).T
    counts = random.poisson(random.choice([0.3, 3.0]), m)
    counts[random.integers(m)] += 1
    return sparse.csr_matrix(counts[None, :].astype(float)), phi


def test_em_follows_the_printed_steps() -> None:
    steps = [(0.641414, 0.358586), (0.712804, 0.287196), (0.747562, 0.252438), (0.765189, 0.234811)]
    steps.append((0.774481, 0.225519))
    for number, wanted in enumerate(steps):
        found = fold_in(DOCUMENT, PHI, max_iter=number + 2, accelerate=False)
        assert found.theta[0] == pytest.approx(wanted, abs=1e-6)
    trace = fold_in(DOCUMENT, PHI, max_iter=6, accelerate=False, trace=True).trace
    assert trace is not None
    assert trace[0, 1:] == pytest.approx([-2.343955, -2.274995, -2.256618, -2.251489, -2.249991], abs=1e-6)


@pytest.mark.parametrize("method", ["em", "eg"])
def test_the_fixed_point_is_the_printed_one(method: str) -> None:
    found = infer_topics(DOCUMENT, PHI, method=method, tolerance=1e-12)
    assert found.theta == pytest.approx(OPTIMUM, abs=1e-6)
    assert found.log_likelihood[0] == pytest.approx(-2.249341, abs=1e-6)
    assert PHI @ found.theta[0] == pytest.approx([0.75, 0.25], abs=1e-6)


def test_entropy_and_likelihood_per_word_at_the_fixed_point() -> None:
    found = infer_topics(DOCUMENT, PHI, tolerance=1e-12)
    assert entropy(found.theta)[0] == pytest.approx(0.749595, abs=1e-6)
    assert entropy(found.theta, base=math.e)[0] == pytest.approx(0.519580, abs=1e-6)
    per_word = found.log_likelihood[0] / 4 / math.log(2)
    assert per_word == pytest.approx(-0.811278, abs=1e-6)
    assert 2**-per_word == pytest.approx(1.754765, abs=1e-6)


def test_monte_carlo_converges_to_the_exact_evidence() -> None:
    exact = integrate.quad(lambda a: (0.2 + 0.7 * a) ** 3 * (0.8 - 0.7 * a), 0, 1)[0]
    assert exact == pytest.approx(0.06513, abs=1e-5)
    assert math.log(exact) == pytest.approx(-2.731370, abs=1e-6)
    found = monte_carlo(DOCUMENT, PHI, alpha=1.0, samples=1_000_000, random_state=3)
    assert found.log_likelihood[0] == pytest.approx(-2.731370, abs=2e-3)
    assert math.exp(-2.249341) == pytest.approx(0.1055, abs=1e-4)  # the plug-in value is larger
    mean = integrate.quad(lambda a: a * (0.2 + 0.7 * a) ** 3 * (0.8 - 0.7 * a), 0, 1)[0] / exact
    assert found.theta[0, 0] == pytest.approx(mean, abs=2e-3)


def test_smoothed_em_follows_the_printed_steps() -> None:
    first = fold_in(DOCUMENT, PHI, prior=0.1, max_iter=2, accelerate=False)
    assert first.theta[0] == pytest.approx([0.634680, 0.365320], abs=1e-6)
    found = infer_topics(DOCUMENT, PHI, method="smoothed-em", alpha=0.1, tolerance=1e-12)
    assert found.theta[0] == pytest.approx([0.757533, 0.242467], abs=1e-6)


@pytest.mark.parametrize(
    ("rate", "wanted"), [(0.1, (0.556326, 0.443674)), (0.25, (0.637760, 0.362240)), (1.0, (0.905734, 0.094266))]
)
def test_exponentiated_gradient_takes_the_printed_first_step(rate: float, wanted: tuple[float, float]) -> None:
    gradient = PHI.T @ (DOCUMENT[0] / (PHI @ [0.5, 0.5]))
    assert gradient == pytest.approx([5.131313, 2.868687], abs=1e-6)
    found = exponentiated_gradient(DOCUMENT, PHI, rate=4 * rate, max_iter=2)  # ours divides by the 4 words
    assert found.theta[0] == pytest.approx(wanted, abs=1e-6)
    if rate == 1.0:
        assert found.log_likelihood[0] == pytest.approx(-2.340367, abs=1e-6)


def test_entropy_of_uniform_and_of_single_topics() -> None:
    assert entropy(np.full((1, 50), 1 / 50))[0] == pytest.approx(5.643856, abs=1e-6)
    assert entropy(np.eye(50)[:1]).tolist() == [0.0]
    assert entropy(np.full((1, 50), 1 / 50), base=50)[0] == pytest.approx(1.0)


@pytest.mark.parametrize("method", ["em", "smoothed-em", "eg"])
def test_what_is_maximized_never_falls_and_the_gap_closes_on_a_thousand_problems(method: str) -> None:
    for seed in range(1000):
        X, phi = problem(seed)
        found = infer_topics(X, phi, method=method, tolerance=1e-7, max_iter=3000, trace=True)
        assert found.trace is not None
        points = found.trace[0][~np.isnan(found.trace[0])]
        assert (np.diff(points) >= -1e-12 * np.abs(points[:-1])).all(), seed
        assert found.gap[0] < (1e-5 if method == "eg" else 1e-6), seed
        assert found.theta[0].sum() == pytest.approx(1.0)


def test_plain_em_never_falls_on_a_thousand_problems() -> None:
    for seed in range(1000):
        X, phi = problem(seed)
        trace = fold_in(X, phi, accelerate=False, max_iter=50, trace=True).trace
        assert trace is not None
        points = trace[0][~np.isnan(trace[0])]
        assert (np.diff(points) >= -1e-12 * np.abs(points[:-1])).all(), seed


@pytest.mark.parametrize("seed", range(40))
def test_the_optimum_is_that_of_a_general_solver(seed: int) -> None:
    X, phi = problem(seed)
    counts, k = X.toarray()[0], phi.shape[1]
    kept = phi.sum(axis=1) > 0
    counts, rows = counts[kept], phi[kept]
    solved = optimize.minimize(
        lambda theta: -likelihood(np.maximum(theta, 1e-12), counts, rows),
        np.full(k, 1 / k),
        jac=lambda theta: -(rows.T @ (counts / (rows @ np.maximum(theta, 1e-12)))),
        bounds=[(0, 1)] * k,
        constraints={"type": "eq", "fun": lambda theta: theta.sum() - 1, "jac": lambda theta: np.ones(k)},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    for method in ("em", "eg"):
        found = infer_topics(X, phi, method=method, tolerance=1e-9, max_iter=5000)
        assert found.log_likelihood[0] == pytest.approx(likelihood(found.theta[0], counts, rows), abs=1e-9)
        assert found.log_likelihood[0] >= -solved.fun - 1e-6 * counts.sum()


@pytest.mark.parametrize("seed", range(20))
def test_the_gap_is_that_of_the_gradient_found_by_differences(seed: int) -> None:
    X, phi = problem(seed)
    counts = X.toarray()[0]
    found = fold_in(X, phi, max_iter=3, accelerate=False)
    step = 1e-6 * np.eye(phi.shape[1])
    gradient = [
        (likelihood(found.theta[0] + h, counts, phi) - likelihood(found.theta[0] - h, counts, phi)) / 2e-6 for h in step
    ]
    assert found.gap[0] == pytest.approx(max(gradient) / counts.sum() - 1, abs=1e-5)


def test_a_large_fixed_rate_fails_where_the_adaptive_one_does_not() -> None:
    phi = np.array([[1 - 1e-9, 1e-9], [1e-9, 1 - 1e-9]])
    counts = np.array([30.0, 1.0])
    theta = np.array([0.5, 0.5])
    with np.errstate(all="ignore"):
        for _ in range(30):  # equation (13) as printed, without logarithms
            theta = theta * np.exp(20.0 * phi.T @ (counts / (phi @ theta)))
            theta = theta / theta.sum()
    assert np.isnan(theta).any()
    found = exponentiated_gradient(counts[None, :], phi, rate=31 * 20.0)
    assert found.theta[0] == pytest.approx([30 / 31, 1 / 31], abs=1e-5)


def test_monte_carlo_is_exact_in_the_log_domain_where_products_underflow() -> None:
    found = monte_carlo([[5000, 3000], [0, 0]], PHI, samples=2000)
    assert np.isfinite(found.log_likelihood).all()
    assert found.log_likelihood[1] == pytest.approx(0.0, abs=1e-12)
    assert found.log_likelihood[0] < infer_topics([[5000, 3000]], PHI).log_likelihood[0]


def test_monte_carlo_says_when_a_word_is_impossible() -> None:
    phi = np.array([[1.0, 1.0], [0.0, 0.0]])
    assert monte_carlo([[1, 1]], phi, samples=10).log_likelihood[0] == pytest.approx(0.0)  # a word no topic has


METHODS = ["em", "smoothed-em", "eg", "variational", "gibbs", "monte-carlo"]


@pytest.mark.parametrize("method", METHODS)
def test_documents_of_any_length_give_numbers(method: str) -> None:
    random = np.random.default_rng(0)
    phi = random.dirichlet(np.full(30, 0.05), size=8).T
    phi[0] = 0.0  # a word that no topic has
    X = np.zeros((5, 30))
    X[1, 0] = 4  # unknown words only
    X[2, 7] = 1
    X[3] = random.multinomial(50_000, np.full(30, 1 / 30))
    X[4, 7] = 50_000
    found = infer_topics(X, phi, method=method, alpha=1e-3)
    assert np.isfinite(found.theta).all()
    assert found.theta.sum(axis=1) == pytest.approx(np.ones(5))
    assert found.theta[:2] == pytest.approx(np.full((2, 8), 1 / 8))
    assert found.log_likelihood[:2] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert np.isfinite(found.gap).all()


@pytest.mark.parametrize("method", METHODS)
def test_threads_and_repetition_change_nothing(method: str) -> None:
    random = np.random.default_rng(1)
    phi = random.dirichlet(np.full(50, 0.1), size=7).T
    X = random.poisson(0.5, (80, 50))
    one, many = (infer_topics(X, phi, method=method, max_iter=200, n_jobs=jobs) for jobs in (1, 3))
    assert one.theta.tobytes() == many.theta.tobytes()
    assert one.log_likelihood.tobytes() == many.log_likelihood.tobytes()


def test_variational_inference_is_its_fixed_point_and_bounds_the_evidence() -> None:
    for seed in range(10):
        X, phi = problem(seed)
        alpha, counts = 0.3, X.toarray()[0]
        found = infer_topics(X, phi, method="variational", alpha=alpha, tolerance=1e-12, max_iter=20_000)
        gamma = np.ones(phi.shape[1])
        for _ in range(20_000):
            weights = np.exp(special.digamma(gamma))
            gamma = alpha + weights * (phi.T @ (counts / np.maximum(phi @ weights, 1e-300)))
        assert found.theta[0] == pytest.approx(gamma / gamma.sum(), abs=1e-5)
    exact = -2.731370
    assert infer_topics(DOCUMENT, PHI, method="variational", alpha=1.0).log_likelihood[0] < exact


def test_gibbs_inference_is_near_the_mean_of_the_posterior() -> None:
    exact = monte_carlo(DOCUMENT, PHI, alpha=1.0, samples=200_000).theta[0]
    found = infer_topics(DOCUMENT, PHI, method="gibbs", alpha=1.0, max_iter=40_000)
    assert found.theta[0] == pytest.approx(exact, abs=0.01)
    assert found.log_likelihood[0] == pytest.approx(likelihood(found.theta[0], DOCUMENT[0], PHI))


def test_topics_in_single_precision_give_almost_the_same() -> None:
    X, phi = problem(5)
    double = exponentiated_gradient(X, phi, tolerance=1e-9)
    single = exponentiated_gradient(X, phi.astype(np.float32), tolerance=1e-9)
    assert single.log_likelihood == pytest.approx(double.log_likelihood, rel=1e-5)


def test_divergences_have_a_direction_and_agree_with_those_of_pairs() -> None:
    random = np.random.default_rng(2)
    P, Q = random.dirichlet(np.ones(6), 4), random.dirichlet(np.ones(6), 4)
    for found, p, q in zip(divergences(P, Q), P, Q, strict=True):
        assert found == pytest.approx(compare(p, q, "kl"))
    assert divergences(P, Q, "js") == pytest.approx([compare(p, q, "js") for p, q in zip(P, Q, strict=True)])
    assert divergences(P, Q, "symmetric") == pytest.approx(divergences(P, Q) + divergences(Q, P))
    inferred, smoothed = np.array([[1.0, 0.0]]), np.array([[0.8, 0.2]])
    assert np.isfinite(divergences(inferred, smoothed)).all()
    assert np.isinf(divergences(smoothed, inferred)).all()


def test_query_likelihood_is_that_of_the_definition() -> None:
    random = np.random.default_rng(3)
    phi, theta = random.dirichlet(np.ones(9), 4).T, random.dirichlet(np.ones(4), 5)
    queries = random.poisson(0.7, (3, 9))
    wanted = queries @ np.log(phi @ theta.T)
    assert query_likelihood(queries, theta, phi) == pytest.approx(wanted)
    assert query_likelihood(np.zeros((1, 9)), theta, phi).tolist() == [[0.0] * 5]


@pytest.mark.parametrize(
    ("X", "phi", "options", "message"),
    [
        (DOCUMENT, PHI, {"method": "mcmc"}, "method must be one of"),
        (DOCUMENT, PHI, {"alpha": 0.0}, "alpha must be finite and above 0"),
        (DOCUMENT, PHI, {"alpha": -1.0, "method": "smoothed-em"}, "alpha must be finite and above 0"),
        (DOCUMENT, PHI, {"method": "monte-carlo", "trace": True}, "has no trace"),
        (DOCUMENT, PHI, {"tolerance": 0.0}, "tolerance must be a number above 0"),
        (DOCUMENT, PHI, {"max_iter": 0, "method": "eg"}, "max_iter must be a whole number"),
        (DOCUMENT, PHI[:1], {}, "X has 2 columns, so phi must be 2 x topics"),
        (DOCUMENT, PHI[0], {}, "X has 2 columns, so phi must be 2 x topics"),
        (DOCUMENT, -PHI, {}, "not negative"),
        (np.array([[np.nan, 1.0]]), PHI, {}, "NaN"),
    ],
)
def test_bad_input_of_inference_is_told_in_one_line(X: Any, phi: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        infer_topics(X, phi, **options)
    assert "\n" not in str(caught.value)


def test_bad_mixtures_are_told_in_one_line() -> None:
    with pytest.raises(DataError, match="rows of Q must be mixtures"):
        divergences([[0.5, 0.5]], [[0.5, 0.6]])
    with pytest.raises(DataError, match="pass a row of Q"):
        divergences([[0.5, 0.5]], [[1.0]])
    with pytest.raises(DataError, match="do not fit"):
        query_likelihood([[1, 0]], [[1.0]], PHI)


@pytest.mark.data
def test_exponentiated_gradient_reaches_em_on_all_documents_of_a_test_set(data: Path) -> None:
    documents = read_documents(data / "reuters" / "reuters21578.jsonl.gz")
    vectorizer = TextVectorizer(vocabulary=preset("reuters"), weighting=Weighting(scheme="nnn"))
    X = vectorizer.fit_transform(documents)
    train = np.array([document.fields["split"] == "training" for document in documents])
    model = PLSA(n_topics=50, smoothing=0.02, max_iter=10, random_state=0).fit(X[train])
    phi, test = np.ascontiguousarray(model.components_.T), X[~train]
    em = fold_in(test, phi)
    eg = exponentiated_gradient(test, phi, tolerance=1e-5)
    length = np.maximum(np.asarray(test.sum(axis=1)).ravel(), 1)
    assert not np.isnan(eg.theta).any()
    assert (eg.gap <= 1e-5).all()
    assert np.abs((em.log_likelihood - eg.log_likelihood) / length / math.log(2)).max() < 1e-4
