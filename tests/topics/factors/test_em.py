"""Folding in: the numbers of the worked examples, the optimum found by another solver, and the certificate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from textmill._native import topics as native
from textmill.errors import DataError
from textmill.topics import fold_in
from textmill.topics.factors.em import blend, expected_counts, learn

PHI = np.array([[0.9, 0.2], [0.1, 0.8]])


def random_problem(seed: int, topics: int = 6, terms: int = 15):
    random = np.random.default_rng(seed)
    phi = random.dirichlet(np.full(terms, 0.3), topics).T
    counts = random.integers(0, 4, (1, terms)).astype(float)
    counts[0, random.integers(terms)] += 1
    return counts, np.ascontiguousarray(phi)


def objective(theta, counts, phi, prior=0.0):
    p = phi @ theta
    there = counts > 0
    return float(
        counts[there] @ np.log(p[there]) + (prior * np.log(theta)).sum() if prior else counts[there] @ np.log(p[there])
    )


def test_plain_em_gives_the_steps_of_the_worked_example() -> None:
    thetas = [0.641414, 0.712804, 0.747562, 0.765189, 0.774481]
    likelihoods = [-2.343955, -2.274995, -2.256618, -2.251489, -2.249991]
    for step, (theta, likelihood) in enumerate(zip(thetas, likelihoods, strict=True), 2):
        found = fold_in([[3, 1]], PHI, max_iter=step, accelerate=False)
        assert found.theta[0] == pytest.approx([theta, 1 - theta], abs=1e-6)
        assert found.log_likelihood[0] == pytest.approx(likelihood, abs=1e-6)
        assert found.n_iter[0] == step


@pytest.mark.parametrize("accelerate", [False, True])
def test_the_fixed_point_of_the_worked_example(accelerate: bool) -> None:
    found = fold_in([[3, 1]], PHI, tolerance=1e-13, accelerate=accelerate)
    assert found.theta[0] == pytest.approx([11 / 14, 3 / 14], abs=1e-9)
    assert found.log_likelihood[0] == pytest.approx(-2.249341, abs=1e-6)
    assert found.gap[0] < 1e-12


def test_the_smoothed_steps_of_the_worked_example() -> None:
    first = fold_in([[3, 1]], PHI, prior=0.1, max_iter=2, accelerate=False)
    assert first.theta[0] == pytest.approx([0.634680, 0.365320], abs=1e-6)
    found = fold_in([[3, 1]], PHI, prior=0.1, tolerance=1e-12)
    assert found.theta[0] == pytest.approx([0.757533, 0.242467], abs=1e-6)


@pytest.mark.parametrize("accelerate", [False, True])
def test_the_likelihood_never_falls_on_a_thousand_problems(accelerate: bool) -> None:
    problems = [random_problem(seed) for seed in range(1000)]
    for steps in (1, 2, 3, 5, 9, 17):
        values = []
        for counts, phi in problems[steps::17]:
            found = fold_in(counts, phi, max_iter=steps, accelerate=accelerate)
            after = fold_in(counts, phi, max_iter=steps + 1, accelerate=accelerate)
            values.append((found.log_likelihood[0], after.log_likelihood[0]))
        before, later = np.array(values).T
        assert (later >= before - 1e-9).all()


def test_the_gap_closes_on_a_thousand_problems_and_bounds_what_is_missing() -> None:
    worst = 0.0
    for seed in range(1000):
        counts, phi = random_problem(seed)
        found = fold_in(counts, phi, tolerance=1e-6, max_iter=5000)
        best = fold_in(counts, phi, tolerance=1e-12, max_iter=5000)
        worst = max(worst, found.gap[0])
        missing = (best.log_likelihood[0] - found.log_likelihood[0]) / counts[0, phi.any(axis=1)].sum()
        assert -1e-9 <= missing <= found.gap[0] + 1e-9
    assert worst < 1e-6


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("prior", [0.0, 0.3])
def test_a_general_solver_finds_the_same_optimum(seed: int, prior: float) -> None:
    counts, phi = random_problem(seed, topics=4)
    found = fold_in(counts, phi, prior=prior, tolerance=1e-10, max_iter=20000)
    result = minimize(
        lambda theta: -objective(np.maximum(theta, 1e-12), counts[0], phi, prior),
        np.full(4, 0.25),
        method="SLSQP",
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda theta: theta.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    ours = objective(np.maximum(found.theta[0], 1e-300), counts[0], phi, prior)
    assert ours >= -result.fun - 1e-6 * counts.sum()


@pytest.mark.parametrize("temper", [0.4, 0.8])
def test_tempering_climbs_the_tempered_likelihood(temper: float) -> None:
    counts, phi = random_problem(3)
    theta = np.full(phi.shape[1], 1 / phi.shape[1])
    trace = []
    for _ in range(200):
        q = theta**temper * phi**temper
        p = q.sum(axis=1)
        trace.append(counts[0] @ np.log(p) / temper)
        theta = (counts[0] / p) @ q / counts.sum()
    found = fold_in(counts, phi, temper=temper, tolerance=1e-10)
    assert (np.diff(trace) > -1e-12).all()
    assert found.theta[0] == pytest.approx(theta, abs=1e-6)
    assert found.log_likelihood[0] == pytest.approx(trace[-1], abs=1e-6)


def test_a_document_without_known_words_gets_the_prior_or_is_uniform() -> None:
    phi = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])
    found = fold_in([[0, 0, 0], [0, 0, 7]], phi)
    assert found.theta == pytest.approx(np.full((2, 3), 1 / 3))
    assert found.log_likelihood.tolist() == [0.0, 0.0]
    smoothed = fold_in([[0, 0, 7]], phi, prior=np.array([1.0, 2.0, 1.0]))
    assert smoothed.theta.tolist() == [[0.25, 0.5, 0.25]]


def test_tiny_probabilities_do_not_give_nan() -> None:
    phi = np.array([[1e-300, 0.0], [1.0, 1e-310], [0.0, 1.0]])
    found = fold_in([[1e6, 1, 1], [0, 0, 1e-300]], phi)
    assert np.isfinite(found.theta).all()
    assert found.theta.sum(axis=1) == pytest.approx([1, 1])


@pytest.mark.parametrize("threads", [2, 5])
def test_the_same_bytes_for_any_number_of_threads(threads: int) -> None:
    random = np.random.default_rng(0)
    X = csr_matrix(random.poisson(0.3, (150, 80)).astype(float))
    phi = np.ascontiguousarray(random.dirichlet(np.full(80, 0.5), 21).T)
    one, many = (fold_in(X, phi, n_jobs=jobs) for jobs in (1, threads))
    assert one.theta.tobytes() == many.theta.tobytes()
    theta = random.dirichlet(np.ones(21), 150)
    sums = [expected_counts(X, theta, phi, threads=jobs) for jobs in (1, threads)]
    assert all(a.tobytes() == b.tobytes() for a, b in zip(*sums, strict=True))


def test_float32_topics_give_nearly_the_same() -> None:
    counts, phi = random_problem(5)
    exact, rough = fold_in(counts, phi), fold_in(counts, phi.astype(np.float32))
    assert rough.theta == pytest.approx(exact.theta, abs=1e-4)


def test_expected_counts_are_sums_of_the_posterior() -> None:
    random = np.random.default_rng(1)
    X = random.poisson(1.0, (5, 7)).astype(float)
    theta, phi = random.dirichlet(np.ones(3), 5), np.ascontiguousarray(random.dirichlet(np.ones(7), 3).T)
    posterior = theta[:, None, :] * phi[None]
    p = posterior.sum(axis=2)
    posterior = X[:, :, None] * posterior / p[:, :, None]
    by_document, by_term, likelihood = expected_counts(csr_matrix(X), theta, phi)
    assert by_document == pytest.approx(posterior.sum(axis=1))
    assert by_term == pytest.approx(posterior.sum(axis=0))
    assert likelihood == pytest.approx((X * np.log(p)).sum(axis=1))


def test_learning_is_monotone_and_extrapolation_gets_further() -> None:
    random = np.random.default_rng(2)
    X = csr_matrix(random.poisson(0.5, (60, 40)).astype(float))
    theta, phi = random.dirichlet(np.ones(5), 60), np.ascontiguousarray(random.dirichlet(np.ones(40), 5).T)
    traces = [learn(X, theta, phi, max_iter=30, accelerate=fast)[2] for fast in (False, True)]
    for trace in traces:
        assert (np.diff(trace) >= -1e-9 * abs(trace[0])).all()
    assert traces[1][-1] >= traces[0][-1]


def test_online_steps_remember_what_forget_says() -> None:
    X = csr_matrix(np.array([[3.0, 1.0]]))
    _, once, _ = blend(X, PHI, np.zeros((2, 2)), decay=1.0, smoothing=0.0, temper=1.0, threads=1)
    _, twice, _ = blend(X, PHI, once, decay=0.5, smoothing=0.0, temper=1.0, threads=1)
    assert twice == pytest.approx(1.5 * once)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": [[1, 2, 3]]}, "3 columns"),
        ({"phi": -PHI}, "not negative"),
        ({"phi": PHI * np.nan}, "finite"),
        ({"X": [[-1, 2]]}, "negative"),
        ({"X": [[np.nan, 2]]}, "NaN"),
        ({"prior": -1.0}, "prior"),
        ({"temper": 0.0}, "temper"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"max_iter": 0}, "max_iter"),
        ({"start": np.zeros((1, 2))}, "start"),
    ],
)
def test_bad_input_is_one_clear_error(arguments: dict, message: str) -> None:
    given = {"X": [[1, 2]], "phi": PHI, **arguments}
    with pytest.raises(DataError, match=message):
        fold_in(given.pop("X"), given.pop("phi"), **given)


def test_the_kernels_refuse_arrays_that_do_not_fit() -> None:
    offsets, terms, counts = np.array([0, 2]), np.array([0, 1], np.int32), np.array([3.0, 1.0])
    out = {"ratio": np.empty(2), "gradient": np.empty((1, 2)), "likelihood": np.empty(1), "threads": 1}
    theta = np.full((1, 2), 0.5)
    native.expect(offsets, terms, counts, PHI, theta, **out)
    for bad in (
        {"offsets": np.array([0, 3])},
        {"offsets": np.array([1, 2])},
        {"terms": np.array([0, 2], np.int32)},
        {"terms": np.array([-1, 0], np.int32)},
        {"counts": np.array([np.inf, 1.0])},
        {"theta": np.full((2, 2), 0.5)},
    ):
        given = {"offsets": offsets, "terms": terms, "counts": counts, "phi": PHI, "theta": theta, **bad}
        with pytest.raises(ValueError, match="must"):
            native.expect(**given, **out)
    with pytest.raises(ValueError, match="square"):
        native.descend(np.ones((2, 3)), np.ones((1, 2)), 1, 0.0, np.ones((1, 2)), 1)
