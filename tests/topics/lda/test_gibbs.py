"""Gibbs samplers: the worked example against enumeration, counts, threads, weights, warm starts, bad input."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from reference.allocation import log_joint, posterior, with_fixed_topics
from scipy.sparse import csr_matrix

from textmill._native import topics as native
from textmill.corpus import csr_arrays
from textmill.errors import DataError
from textmill.progress import TrainingInterrupted
from textmill.topics.factors.em import fold_in
from textmill.topics.lda.gibbs import gibbs_mixtures, sample_topics

# Example 6 of the specification: documents [0,0,1] and [1,1,2].
DOCUMENTS = [[0, 0, 1], [1, 1, 2]]
TINY = csr_matrix(np.array([[2, 1, 0], [0, 2, 1]], dtype=np.int32))
ALPHA, ETA = np.ones(2), np.full((2, 3), 0.1)
PAIRS = {(0, 1): 0.942068, (0, 2): 0.326006, (2, 3): 0.835941, (3, 4): 0.912395, (4, 5): 0.586536, (0, 5): 0.294227}
NO_WEIGHTS, NO_START = np.zeros(0, np.float32), np.zeros(0, np.int32)


def sampler(X, *, alpha=ALPHA, eta=0.1, collapsed=True, seed=0, start=NO_START, weights=NO_WEIGHTS):
    """A bare sampler with exactly this seed."""
    eta = np.atleast_2d(np.asarray(eta, dtype=float))
    return native.make_sampler(*csr_arrays(X, np.int32), weights, alpha, eta, X.shape[1], collapsed, seed, start)


def drawn(documents: int, vocabulary: int, topics: int, length: int, seed: int):
    """Documents drawn from topics, and those topics (topics x words)."""
    random = np.random.default_rng(seed)
    phi = random.dirichlet(np.full(vocabulary, 0.05), topics)
    words = random.dirichlet(np.full(topics, 0.1), documents) @ phi
    return csr_matrix(np.array([random.multinomial(length, row) for row in words]).astype(np.int32)), phi


def large() -> csr_matrix:
    """Enough tokens for four groups of cells."""
    return drawn(900, 300, 6, 50, seed=1)[0]


def sweep(made, threads: int = 1) -> None:
    for _ in range(made.stages):
        made.advance(threads)


def test_log_evidence_and_pairs_of_the_worked_example_by_enumeration() -> None:
    evidence, probability = posterior(DOCUMENTS, ALPHA, ETA)
    assert evidence == pytest.approx(-8.397300, abs=1e-6)
    for (i, j), expected in PAIRS.items():
        assert sum(p for z, p in probability.items() if z[i] == z[j]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("z", "expected"), [((0, 0, 0, 1, 1, 1), -11.574910), ((0, 0, 1, 1, 1, 1), -9.990013)])
def test_joint_of_the_worked_example(z: tuple[int, ...], expected: float) -> None:
    assert sampler(TINY, start=np.array(z, np.int32)).joint(1) == pytest.approx(expected, abs=1e-6)


def test_posterior_means_of_the_worked_example() -> None:
    made = sampler(TINY, start=np.array([0, 0, 1, 1, 1, 0], np.int32))
    counts, theta = np.zeros((3, 2)), np.zeros((2, 2))
    made.average(counts, theta, 1.0, 1)
    phi = ((counts + 0.1) / (counts.sum(axis=0) + 0.3)).T
    expected = [[0.636364, 0.030303, 0.333333], [0.030303, 0.939394, 0.030303]]
    assert phi == pytest.approx(np.array(expected), abs=1e-6)
    assert theta == pytest.approx(np.array([[0.6, 0.4], [0.4, 0.6]]), abs=1e-12)


def test_first_draw_has_the_conditional_probability_of_the_worked_example() -> None:
    seeds, start, hits = 40_000, np.array([0, 0, 1, 1, 1, 0], np.int32), 0
    for seed in range(seeds):
        made = sampler(TINY, seed=seed, start=start)
        made.advance(1)
        hits += made.assignments()[0] == 0
    expected = 0.940415
    assert hits / seeds == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / seeds))


@pytest.mark.parametrize("collapsed", [True, False])
def test_samplers_reproduce_the_exact_pairs_of_the_worked_example(collapsed: bool) -> None:
    sweeps, batches = 100_000, 100
    made = sampler(TINY, collapsed=collapsed, seed=7)
    sweep(made)
    together = np.empty((sweeps, len(PAIRS)), dtype=bool)
    firsts, seconds = (np.array(side) for side in zip(*PAIRS, strict=True))
    for i in range(sweeps):
        made.advance(1)
        z = made.assignments()
        together[i] = z[firsts] == z[seconds]
    means = together.reshape(batches, -1, len(PAIRS)).mean(axis=1)  # of batches: sweeps are not independent
    error = means.std(axis=0, ddof=1) / np.sqrt(batches)
    assert (np.abs(means.mean(axis=0) - list(PAIRS.values())) < 4 * error).all()
    assert error.max() < 0.01


@pytest.mark.parametrize("topics", [1, 3, 8, 9, 17, 50])
def test_draws_follow_the_conditional_for_any_number_of_topics(topics: int) -> None:
    """One word, one document: P(z_0 = t) ~ J_t + alpha_t, all else is common."""
    random = np.random.default_rng(topics)
    alpha, others = random.uniform(0.1, 2.0, topics), random.integers(0, topics, 30)
    X, start = csr_matrix(np.array([[31]], np.int32)), np.r_[random.integers(topics), others].astype(np.int32)
    counts = np.bincount(others, minlength=topics)
    weight = (counts + alpha) * (counts + 0.5) / (counts + 0.5)
    seeds = 4000
    found = np.zeros(topics)
    for seed in range(seeds):
        made = sampler(X, alpha=alpha, eta=0.5, seed=seed, start=start)
        made.advance(1)
        found[made.assignments()[0]] += 1
    expected = weight / weight.sum()
    error = np.sqrt(expected * (1 - expected) / seeds)
    assert (np.abs(found / seeds - expected) <= 4.5 * error + 1e-9).all()


@pytest.mark.parametrize("collapsed", [True, False])
@pytest.mark.parametrize("weights", [None, "idf"])
def test_counts_stay_consistent_and_the_joint_equals_its_recomputation(collapsed: bool, weights: str | None) -> None:
    X = large()
    numbers = NO_WEIGHTS
    if weights:
        documents = np.bincount(X.indices, minlength=X.shape[1])
        numbers = np.log(X.shape[0] / np.maximum(documents, 1)).astype(np.float32)[X.indices]
    total = float((X.data * numbers).sum()) if weights else float(X.data.sum())
    alpha = np.full(6, 0.2)
    made = sampler(X, alpha=alpha, collapsed=collapsed, weights=numbers)
    assert made.stages == 4
    for _ in range(5):
        sweep(made, 2)
        words, documents = made.totals()
        assert words == pytest.approx(documents, rel=1e-5)
        assert words.sum() == pytest.approx(total, rel=1e-6)
        again = sampler(X, alpha=alpha, start=made.assignments(), weights=numbers)
        assert again.joint(1) == pytest.approx(made.joint(1), rel=1e-6 if weights else 1e-12)


def test_joint_equals_the_definition_for_vector_and_matrix_priors() -> None:
    random = np.random.default_rng(3)
    z = random.integers(0, 3, 6).astype(np.int32)
    alpha = np.array([0.3, 1.2, 0.05])
    for eta in (random.uniform(0.1, 1, 3), random.uniform(0.1, 1, (3, 3))):
        by_term = np.ascontiguousarray(eta[:, None] if eta.ndim == 1 else eta.T)
        expected = log_joint(DOCUMENTS, z, alpha, np.broadcast_to(eta, (3, 3)))
        assert sampler(TINY, alpha=alpha, eta=by_term, start=z).joint(1) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    "options", [{}, {"collapsed": False}, {"weights": "pmi"}, {"eta": np.full((6, 300), 0.1)}, {"learn_alpha": True}]
)
def test_any_number_of_threads_gives_the_same_bytes(options: dict) -> None:
    X = large()
    found = [sample_topics(X, 6, max_iter=12, random_state=3, n_jobs=jobs, **options) for jobs in (1, 2, 8)]
    for other in found[1:]:
        for name in ("counts", "theta", "alpha", "joint", "assignments"):
            assert getattr(other, name).tobytes() == getattr(found[0], name).tobytes()


def test_seeds_matter_and_repeat() -> None:
    one, same, other = (sample_topics(TINY, 2, max_iter=5, random_state=seed).assignments for seed in (1, 1, 2))
    assert one.tolist() == same.tolist()
    assert any(
        sample_topics(TINY, 2, max_iter=5, random_state=seed).assignments.tolist() != other.tolist()
        for seed in range(9)
    )


def matched_error(phi: np.ndarray, truth: np.ndarray) -> float:
    """Mean L1 distance of best-matched topics, both topics x words."""
    from scipy.optimize import linear_sum_assignment

    distance = np.abs(phi[:, None, :] - truth[None]).sum(axis=2)
    return float(distance[linear_sum_assignment(distance)].mean())


def test_known_topics_are_recovered_by_the_best_of_five_chains() -> None:
    X, truth = drawn(2500, 500, 10, 100, seed=5)
    train, test = X[:2000], X[2000:]
    found = sample_topics(train, 10, alpha=0.1, eta=0.05, max_iter=200, n_chains=5, random_state=0)
    phi = (found.counts + 0.05) / (found.counts.sum(axis=0) + 0.05 * 500)
    assert matched_error(phi.T, truth) < 0.12
    bits = [fold_in(test, topics).log_likelihood.sum() / test.sum() / np.log(2) for topics in (phi, truth.T + 1e-12)]
    assert abs(bits[0] - bits[1]) < 0.03


def test_the_chain_with_the_best_joint_is_taken() -> None:
    X = drawn(60, 40, 4, 20, seed=2)[0]
    found = sample_topics(X, 4, max_iter=30, n_chains=4, random_state=0)
    seeds = np.random.SeedSequence(0).generate_state(4, np.uint64)
    scores = []
    for seed in seeds:
        made = sampler(X, alpha=np.full(4, 0.25), eta=0.25, seed=int(seed))
        sweep(made)
        kept = []
        for i in range(30):
            sweep(made)
            kept += [made.joint(1)] if i + 1 > 15 and (i + 1) % 10 == 0 else []
        scores.append(np.mean(kept))
    assert found.chain == int(np.argmax(scores))


def test_learned_alpha_satisfies_the_fixed_point_and_finds_rare_topics() -> None:
    from scipy.special import digamma

    X = large()
    made = sampler(X, alpha=np.full(6, 0.5))
    for _ in range(20):
        sweep(made)
    made.learn_alpha(2000, 1)
    alpha = made.alpha()
    counts, theta = np.zeros((300, 6)), np.zeros((900, 6))
    made.average(counts, theta, 1.0, 1)
    length = np.asarray(X.sum(axis=1)).ravel()
    J = theta * (length + alpha.sum())[:, None] - alpha
    top = (digamma(J + alpha) - digamma(alpha)).sum(axis=0)
    bottom = (digamma(length + alpha.sum()) - digamma(alpha.sum())).sum()
    assert top / bottom == pytest.approx(np.ones(6), abs=1e-4)


def test_auto_is_learning_from_the_symmetric_prior() -> None:
    X = large()
    auto = sample_topics(X, 6, alpha="auto", max_iter=20, random_state=2**70)
    learned = sample_topics(X, 6, learn_alpha=True, max_iter=20, random_state=2**70)
    assert auto.alpha.tobytes() == learned.alpha.tobytes()
    assert not np.allclose(auto.alpha, 1 / 6)
    assert gibbs_mixtures(X[:2], auto.counts, random_state=2**70).shape == (2, 6)


def test_guided_topics_keep_their_words() -> None:
    X = csr_matrix(np.tile(np.array([[3, 2, 0, 0], [0, 0, 2, 3]], np.int32), (10, 1)))
    eta = np.array([[0.01, 0.01, 5.0, 5.0], [5.0, 5.0, 0.01, 0.01]])
    for seed in range(5):
        counts = sample_topics(X, 2, alpha=0.1, eta=eta, max_iter=20, random_state=seed).counts
        assert counts.argmax(axis=1).tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("weights", ["idf", "pmi", np.array([1.0, 2.0, 0.0])])
def test_weights_decide_what_a_token_counts(weights: object) -> None:
    counts = sample_topics(TINY, 2, max_iter=10, weights=weights, random_state=0).counts.sum(axis=1)
    share = np.array([2, 3, 1]) / 6
    n = TINY.toarray()
    expected = {
        "idf": n.sum(axis=0) * np.log(2 / np.array([1, 2, 1])),
        "pmi": (n * np.maximum(np.log(np.maximum(n, 1e-9) / 3 / share), 0)).sum(axis=0),
    }.get(weights if isinstance(weights, str) else "", n.sum(axis=0) * np.array([1.0, 2.0, 0.0]))
    assert counts == pytest.approx(expected, abs=1e-5)


def test_training_goes_on_from_assignments() -> None:
    X = large()
    first = sample_topics(X, 6, alpha=0.1, eta=0.1, max_iter=60, random_state=0)
    second = sample_topics(X, 6, alpha=0.1, eta=0.1, max_iter=2, start=first.assignments, random_state=1)
    assert second.joint[-1] == pytest.approx(first.joint[-1], rel=0.01)
    assert (second.assignments == first.assignments).mean() > 0.6


def test_new_documents_are_added_to_the_counts_of_old_ones() -> None:
    X = drawn(900, 300, 6, 50, seed=1)[0]
    old, new = X[:700], X[700:]
    first = sample_topics(old, 6, alpha=0.1, eta=0.1, max_iter=60, random_state=0)
    both = sample_topics(new, 6, alpha=0.1, eta=0.1, max_iter=20, start=first.counts, random_state=1)
    assert both.counts.sum() == pytest.approx(X.sum())
    assert (both.counts - first.counts).min() >= 0
    phi = first.counts / first.counts.sum(axis=0)
    expected = fold_in(new, np.ascontiguousarray(phi), prior=0.1).theta
    assert (both.theta.argmax(axis=1) == expected.argmax(axis=1)).mean() > 0.9


def test_means_are_those_of_the_sweeps_after_burn_in() -> None:
    seen = {}

    def watch(sweep: int, counts: np.ndarray, alpha: np.ndarray) -> None:
        seen[sweep] = counts

    found = sample_topics(TINY, 2, max_iter=40, burn_in=10, thin=5, random_state=0, watch=watch)
    assert sorted(seen) == list(range(5, 41, 5))
    assert found.counts == pytest.approx(np.mean([seen[i] for i in range(15, 41, 5)], axis=0))
    assert found.joint_at.tolist() == sorted(seen)
    stopped = sample_topics(TINY, 2, max_iter=40, thin=5, random_state=0, watch=lambda i, counts, alpha: i == 10)
    assert stopped.joint_at[-1] == 10


def test_an_interrupt_keeps_what_was_sampled() -> None:
    def watch(sweep: int, counts: np.ndarray, alpha: np.ndarray) -> None:
        if sweep == 10:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(TrainingInterrupted):
        found = sample_topics(TINY, 2, max_iter=40, thin=5, n_chains=3, random_state=0, watch=watch)
    assert found.joint_at[-1] == 10
    assert found.counts.sum() == pytest.approx(6)


@pytest.mark.parametrize("collapsed", [True, False])
def test_every_instruction_set_gives_the_same_topics(collapsed: bool) -> None:
    code = f"""
import numpy as np
from scipy.sparse import csr_matrix
from textmill.topics.lda.gibbs import sample_topics
X = csr_matrix(np.random.default_rng(0).poisson(0.5, (100, 60)))
found = sample_topics(X, 13, max_iter=20, random_state=0, collapsed={collapsed})
print(found.assignments.tolist())
"""
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "TEXTMILL_SIMD": simd}, capture_output=True, check=True
        ).stdout
        for simd in ("baseline", "")
    ]
    assert runs[0] == runs[1]


def test_folding_in_gives_the_posterior_mean() -> None:
    random = np.random.default_rng(0)
    phi, alpha = random.dirichlet(np.ones(4), 3).T.copy(), np.array([0.3, 1.0, 0.6])
    words = [0, 0, 1, 3, 3]
    X = csr_matrix(np.tile(np.bincount(words, minlength=4), (200, 1)))
    _, expected = with_fixed_topics(words, phi, alpha)
    theta = gibbs_mixtures(X, phi, alpha=alpha, max_iter=2000, burn_in=10, random_state=0)
    error = theta.std(axis=0, ddof=1) / np.sqrt(len(theta))
    assert (np.abs(theta.mean(axis=0) - expected) < 4.5 * error).all()
    assert theta.sum(axis=1) == pytest.approx(np.ones(200))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_folding_in_is_the_same_for_any_thread_count_and_scale_of_words(dtype: type) -> None:
    X = large()[:60]
    phi = np.random.default_rng(0).dirichlet(np.full(300, 0.1), 6).T.astype(dtype)
    one = gibbs_mixtures(X, phi, alpha=0.1, max_iter=20, random_state=0, n_jobs=1)
    assert one.tobytes() == gibbs_mixtures(X, phi, alpha=0.1, max_iter=20, random_state=0, n_jobs=4).tobytes()
    scaled = gibbs_mixtures(X, phi.astype(float) * 1e-40, alpha=0.1, max_iter=20, random_state=0)
    assert scaled.argmax(axis=1).tolist() == one.argmax(axis=1).tolist()


def test_hard_documents_are_sampled() -> None:
    """Empty documents, length 1, length 70,000 (32-bit counts), tiny priors, more topics than words."""
    X = csr_matrix(np.array([[0, 0, 0], [0, 1, 0], [50_000, 20_000, 0], [1, 1, 1]]))
    for alpha, eta in itertools.product((1e-3, 1.0), (1e-3, 1.0)):
        for collapsed in (True, False):
            found = sample_topics(X, 11, alpha=alpha, eta=eta, max_iter=4, collapsed=collapsed, random_state=0)
            assert np.isfinite(found.counts).all()
            assert found.theta.sum(axis=1) == pytest.approx(np.ones(4))
            assert found.theta[0] == pytest.approx(np.full(11, 1 / 11))
            assert found.counts.sum() == pytest.approx(70_004)
    assert len(sample_topics(csr_matrix((2, 3)), 2, max_iter=2, random_state=0).assignments) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": [[0.5, 1]]}, "whole counts"),
        ({"X": [[np.nan, 1]]}, "NaN"),
        ({"X": [[-1, 1]]}, "negative"),
        ({"X": np.zeros((2, 0))}, "no terms"),
        ({"X": [[1e12, 1]]}, "below"),
        ({"n_topics": 0}, "n_topics"),
        ({"n_topics": 70_000}, "n_topics"),
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": [1.0, 2.0, 3.0]}, "alpha"),
        ({"eta": 0.0}, "eta"),
        ({"eta": np.nan}, "eta"),
        ({"eta": np.ones(3)}, "eta"),
        ({"max_iter": 0}, "max_iter"),
        ({"burn_in": 300}, "burn_in"),
        ({"thin": 0}, "thin"),
        ({"n_chains": 0}, "n_chains"),
        ({"dtype": "float16"}, "dtype"),
        ({"weights": "tf"}, "idf"),
        ({"weights": [1.0, -1.0]}, "weights"),
        ({"start": np.zeros(3, int)}, "tokens"),
        ({"start": np.array([0, 2])}, "topic 2"),
        ({"start": np.array([0, -1])}, "topic -1"),
        ({"start": np.ones((3, 2))}, "start"),
        ({"start": -np.ones((2, 2))}, "negative"),
    ],
)
def test_bad_input_is_one_clear_error(arguments: dict, message: str) -> None:
    given = {"X": [[1, 1]], "n_topics": 2, "max_iter": 3, **arguments}
    with pytest.raises(DataError, match=message):
        sample_topics(given.pop("X"), given.pop("n_topics"), **given)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"phi": np.ones((3, 2))}, "2 columns"), ({"phi": -np.ones((2, 2))}, "negative"), ({"max_iter": 0}, "max_iter"),
     ({"burn_in": 100}, "burn_in"), ({"alpha": 0}, "alpha")],
)  # fmt: skip
def test_bad_input_of_folding_in_is_one_clear_error(arguments: dict, message: str) -> None:
    given = {"phi": np.ones((2, 2)), **arguments}
    with pytest.raises(DataError, match=message):
        gibbs_mixtures([[1, 1]], **given)


def test_the_kernels_refuse_arrays_that_do_not_fit() -> None:
    good = {
        "offsets": TINY.indptr.astype(np.int64),
        "terms": TINY.indices.astype(np.int32),
        "counts": TINY.data.astype(np.int32),
        "weights": NO_WEIGHTS,
        "alpha": ALPHA,
        "eta": np.array([[0.1]]),
        "vocabulary": 3,
        "collapsed": True,
        "seed": 0,
        "start": NO_START,
    }
    made = native.make_sampler(**good)
    for bad in (
        {"offsets": np.array([0, 2, 9])},
        {"offsets": np.array([0, 3, 2])},
        {"terms": np.array([0, 1, 1, 3], np.int32)},
        {"counts": np.array([1, -1, 1, 1], np.int32)},
        {"weights": np.ones(3, np.float32)},
        {"weights": np.full(4, np.nan, np.float32)},
        {"alpha": np.zeros(2)},
        {"alpha": np.zeros(0)},
        {"eta": np.ones((2, 1))},
        {"eta": np.ones((1, 2))},
        {"eta": np.zeros((1, 1))},
        {"vocabulary": 2},
        {"start": np.zeros(5, np.int32)},
        {"start": np.full(6, 2, np.int32)},
    ):
        with pytest.raises(ValueError, match="must"):
            native.make_sampler(**{**good, **bad})
    with pytest.raises(ValueError, match="must"):
        made.average(np.zeros((3, 3)), np.zeros((2, 2)), 1.0, 1)
    with pytest.raises(ValueError, match="must"):
        made.average(np.zeros((3, 2)), np.zeros((3, 2)), 1.0, 1)
    with pytest.raises(ValueError, match="must"):
        native.fixed_topics(np.ones((3, 2)), np.ones(3), 1)
