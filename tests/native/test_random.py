"""Counter-based random numbers: published vectors, distributions, independence of streams and threads."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from textmill import _testing
from textmill._native import base

SEED = 20_240_229
LEVEL = 1e-4  # seeds are fixed: a test passes always or never


def draw(name, *parameters, rows=400, columns=500, dtype=float, seed=SEED, threads=2):
    out = np.empty((rows, columns), dtype)
    getattr(base if hasattr(base, name) else _testing, name)(seed, *parameters, out, threads)
    return out


def philox(counter, key):
    """Philox4x32-10 in plain integers."""
    c, (k0, k1) = list(counter), key
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k0, b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k1, a & 0xFFFFFFFF]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c


# The known-answer vectors published with Random123.
@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox_gives_the_published_answers(counter, key, expected):
    out = np.empty(4, np.uint32)
    _testing.philox4x32(np.array(counter, np.uint32), np.array(key, np.uint32), out)
    assert out.tolist() == expected == philox(counter, key)


@pytest.mark.parametrize("seed", [0, 1, 2**32 + 5, 2**64 - 1])
def test_a_stream_is_philox_of_block_and_item_under_the_seed(seed):
    out = draw("random_uniform", rows=3, columns=5, seed=seed)
    for item, draws in enumerate(out):
        expected = []
        for block in range(3):
            w = philox([block, 0, item, 0], [seed & 0xFFFFFFFF, seed >> 32])
            expected += [((w[1] << 32 | w[0]) >> 11) * 2.0**-53, ((w[3] << 32 | w[2]) >> 11) * 2.0**-53]
        assert draws.tolist() == expected[:5]


@pytest.mark.parametrize(
    ("name", "parameters", "dtype"),
    [
        ("random_uniform", (), float),
        ("random_below", (1000,), np.int64),
        ("random_normal", (), float),
        ("random_gamma", (0.3,), float),
        ("random_beta", (0.5, 2.0), float),
        ("random_dirichlet", (np.full(40, 0.1),), float),
        ("random_categorical", (np.arange(50.0),), np.int64),
        ("random_permutation", (), np.int64),
    ],
)
def test_any_number_of_threads_draws_the_same_bytes(name, parameters, dtype):
    expected = draw(name, *parameters, rows=1501, columns=40, dtype=dtype, threads=1)
    for threads in (2, 3, 8, 64):
        got = draw(name, *parameters, rows=1501, columns=40, dtype=dtype, threads=threads)
        assert got.tobytes() == expected.tobytes()
    # the stream of an item does not depend on how many items there are, but on the seed
    assert draw(name, *parameters, rows=3, columns=40, dtype=dtype).tobytes() == expected[:3].tobytes()
    assert draw(name, *parameters, rows=1501, columns=40, dtype=dtype, seed=SEED + 1).tobytes() != expected.tobytes()


def assert_distributed(sample, distribution):
    assert stats.kstest(np.ravel(sample), distribution.cdf).pvalue > LEVEL


def test_uniform_numbers_are_uniform_and_below_one():
    sample = draw("random_uniform")
    assert sample.min() >= 0.0
    assert sample.max() < 1.0
    assert_distributed(sample, stats.uniform())


def test_streams_of_neighboring_items_and_seeds_are_independent():
    sample = draw("random_uniform", rows=200, columns=2000)
    correlation = np.corrcoef(sample)[np.triu_indices(200, 1)]
    assert np.abs(correlation).max() < 5.5 / math.sqrt(2000)  # 19,900 pairs
    assert_distributed(correlation * math.sqrt(2000), stats.norm())
    assert_distributed(sample[:, 0], stats.uniform())  # the first numbers of the streams are a sample too
    other = draw("random_uniform", rows=200, columns=2000, seed=SEED + 1)
    assert abs(np.corrcoef(sample.ravel(), other.ravel())[0, 1]) < 4 / math.sqrt(400_000)
    assert len(np.unique(np.concatenate([sample.ravel(), other.ravel()]))) == 800_000


@pytest.mark.parametrize("n", [1, 2, 3, 7, 100, 1000])
def test_integers_below_n_are_equally_likely(n):
    sample = draw("random_below", n, dtype=np.int64)
    counts = np.bincount(sample.ravel(), minlength=n)
    assert len(counts) == n
    assert n == 1 or stats.chisquare(counts).pvalue > LEVEL


def test_integers_below_a_number_near_the_word_size_have_no_bias():
    n = 2**62 + 2**61  # a plain remainder or product would favor a third of the numbers
    sample = draw("random_below", n, dtype=np.int64)
    assert sample.max() < n
    assert stats.chisquare(np.bincount((sample // (n // 12)).ravel(), minlength=12)).pvalue > LEVEL
    assert stats.chisquare(np.bincount((sample % 3).ravel())).pvalue > LEVEL


def test_normal_numbers_are_normal_and_pairs_are_independent():
    sample = draw("random_normal")
    assert_distributed(sample, stats.norm())
    assert abs(np.corrcoef(sample[:, ::2].ravel(), sample[:, 1::2].ravel())[0, 1]) < 4 / math.sqrt(100_000)


@pytest.mark.parametrize("shape", [0.02, 0.1, 0.5, 0.999, 1.0, 1.5, 3.0, 40.0, 1e6])
def test_gamma_numbers_have_their_distribution(shape):
    assert_distributed(draw("random_gamma", shape), stats.gamma(shape))


@pytest.mark.parametrize("shape", [1e-300, 1e-4, 1e15, 1e300])
def test_extreme_shapes_give_numbers(shape):
    sample = draw("random_gamma", shape, rows=20, columns=20)
    assert np.isfinite(sample).all()
    assert (sample >= 0.0).all()


@pytest.mark.parametrize(("a", "b"), [(0.05, 2.0), (0.5, 3.0), (1.0, 1.0), (8.0, 2.0)])
def test_beta_numbers_have_their_distribution(a, b):
    assert_distributed(draw("random_beta", a, b), stats.beta(a, b))


def test_dirichlet_vectors_sum_to_one_and_have_beta_marginals():
    alpha = np.array([0.1, 0.5, 1.0, 4.0])
    sample = draw("random_dirichlet", alpha, rows=30_000, columns=4)
    np.testing.assert_allclose(sample.sum(axis=1), 1.0, rtol=1e-14)
    for i, a in enumerate(alpha):
        assert_distributed(sample[:, i], stats.beta(a, alpha.sum() - a))
    expected = -alpha[2] * alpha[3] / (alpha.sum() ** 2 * (alpha.sum() + 1))
    assert np.cov(sample[:, 2], sample[:, 3])[0, 1] == pytest.approx(expected, abs=0.002)


@pytest.mark.parametrize("alpha", [1e-3, 1e-10, 1e-300])
def test_dirichlet_vectors_of_tiny_alphas_are_points_not_nan(alpha):
    sample = draw("random_dirichlet", np.full(5, alpha), rows=20_000, columns=5)
    np.testing.assert_allclose(sample.sum(axis=1), 1.0, rtol=1e-14)
    assert stats.chisquare(np.bincount(sample.argmax(axis=1), minlength=5)).pvalue > LEVEL


def test_categories_come_in_proportion_to_their_weights():
    weights = np.array([0.0, 3.0, 1e-300, 1.0, 0.0, 6.0, 0.0])
    counts = np.bincount(draw("random_categorical", weights, dtype=np.int64).ravel(), minlength=7)
    assert counts[[0, 2, 4, 6]].sum() == 0
    assert stats.chisquare(counts[[1, 3, 5]], 200_000 * np.array([0.3, 0.1, 0.6])).pvalue > LEVEL


def test_permutations_are_permutations_and_equally_likely():
    sample = draw("random_permutation", rows=24_000, columns=4, dtype=np.int64)
    assert (np.sort(sample, axis=1) == np.arange(4)).all()
    place = {order: i for i, order in enumerate(itertools.permutations(range(4)))}
    assert stats.chisquare(np.bincount([place[tuple(row)] for row in sample.tolist()])).pvalue > LEVEL
    assert draw("random_permutation", rows=2, columns=1, dtype=np.int64).tolist() == [[0], [0]]
    assert draw("random_permutation", rows=2, columns=0, dtype=np.int64).shape == (2, 0)


@pytest.mark.parametrize(
    ("name", "parameters", "dtype", "fault"),
    [
        ("random_below", (0,), np.int64, "n must be at least 1, got 0"),
        ("random_gamma", (0.0,), float, "shape must be finite and at least 1e-300, got 0"),
        ("random_gamma", (math.inf,), float, "shape must be finite"),
        ("random_beta", (1.0, math.nan), float, "b must be finite"),
        ("random_dirichlet", (np.array([1.0, -1.0]),), float, "alpha must be finite and at least 1e-300, got -1"),
        ("random_dirichlet", (np.ones(3),), float, "out must have 3 columns, got 2"),
        ("random_dirichlet", (np.ones(0),), float, "alpha is empty"),
        ("random_categorical", (np.zeros(2),), np.int64, "weights must have a positive, finite sum, got 0"),
        ("random_categorical", (np.array([1.0, -1.0]),), np.int64, "weights must be at least 0, got -1"),
        ("random_categorical", (np.array([1.0, math.nan]),), np.int64, "weights must be at least 0, got nan"),
        ("random_categorical", (np.full(3, 1e308),), np.int64, "weights must have a positive, finite sum, got inf"),
    ],
)
def test_parameters_without_a_distribution_are_refused(name, parameters, dtype, fault):
    with pytest.raises(ValueError, match=fault):
        draw(name, *parameters, rows=3, columns=2, dtype=dtype)
