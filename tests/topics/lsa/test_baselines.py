"""Older decompositions of streams and the measures of accuracy that the benchmarks compare them by."""

from __future__ import annotations

import numpy as np
import pytest
from reference.titles import COUNTS
from scipy import sparse

from bench._lsa_accuracy import relative_errors, shift_departure, similarity_rmse
from bench._lsa_baselines import frequent_directions, hebbian, zms
from textmill.errors import DataError
from textmill.topics.lsa.passes import Plan, node

TRUE = np.linalg.svd(COUNTS, compute_uv=False)


def chunks(size: int) -> list[sparse.csr_matrix]:
    return [sparse.csr_matrix(COUNTS[i : i + size]) for i in range(0, 9, size)]


@pytest.mark.parametrize("size", [1, 3, 9])
def test_zms_is_exact_at_full_rank(size: int) -> None:
    made = zms(chunks(size), 9)
    assert made.s == pytest.approx(TRUE, rel=1e-10)
    assert made.energy == 31
    assert np.abs(made.U.T @ made.U - np.eye(9)).max() < 1e-12


def test_zms_equals_merging_when_chunks_are_not_truncated() -> None:
    assert zms(chunks(2), 3).s == pytest.approx(node(chunks(2), Plan(3)).s, rel=1e-10)


@pytest.mark.parametrize("size", [1, 3, 9])
@pytest.mark.parametrize("rank", [2, 5, 8])
def test_frequent_directions_keep_their_guarantee(size: int, rank: int) -> None:
    made = frequent_directions(chunks(size), rank)
    C = COUNTS.T @ COUNTS
    missing = np.linalg.eigvalsh(C - (made.U * made.s**2) @ made.U.T)
    assert missing[0] > -1e-10  # never too much
    assert missing[-1] <= made.bound + 1e-10
    for j in range(rank + 1):
        assert missing[-1] <= (TRUE[j:] ** 2).sum() / (rank + 1 - j) + 1e-10
    assert frequent_directions(chunks(size), 9).s == pytest.approx(TRUE, rel=1e-10)


def test_the_hebbian_rule_comes_near_the_first_factors() -> None:
    made = hebbian(chunks(3) * 20, 2, epochs=15, rate=0.02)
    U = np.linalg.svd(COUNTS.T)[0]
    assert np.abs(np.sum(made.U * U[:, :2], axis=0)) == pytest.approx([1, 1], abs=0.02)


def test_low_rank_plus_shift_merges_exactly() -> None:
    random = np.random.default_rng(4)
    Q = np.linalg.qr(random.normal(size=(60, 40)))[0]  # terms x documents
    s = np.concatenate([[9.0, 7.0, 5.0], np.ones(37)])
    V = np.linalg.qr(random.normal(size=(40, 40)))[0]
    X = sparse.csr_matrix(((Q * s) @ V.T).T)
    made = node([X[:20], X[20:]], Plan(3, method="dense"))
    assert shift_departure(s, 3) == 0
    assert shift_departure(TRUE, 3) > 0.001
    assert made.s == pytest.approx(s[:3], rel=1e-10)


def test_errors_are_relative_and_missing_factors_count() -> None:
    assert relative_errors(TRUE, TRUE).max() == 0
    assert relative_errors([], [1.0, 2.0]).tolist() == [1, 1]
    with pytest.raises(DataError, match="must be positive"):
        relative_errors([1.0], [0.0])
    with pytest.raises(DataError, match="pass the same documents"):
        similarity_rmse(np.eye(2), np.eye(3))
