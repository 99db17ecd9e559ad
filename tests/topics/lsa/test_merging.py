"""topics/merging.py: the worked merges, agreement of all four ways, orthogonality under stress."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from reference.printed_merge import printed_merge
from reference.titles import COUNTS
from scipy import linalg, sparse

from textmill.topics.decomposition import Decomposition
from textmill.topics.lsa.basecase import base_case
from textmill.topics.lsa.merging import direct, eigen, merge, merge_qr

Floats = NDArray[np.float64]

A1, A2 = COUNTS[:5], COUNTS[5:]
EXACT = [3.340884, 2.541701, 2.353944, 1.644532, 1.504832, 1.306382, 0.845903, 0.560134, 0.363677]
MERGES = [merge, merge_qr, direct]


def decompose(X: Floats, rank: int = 99) -> Decomposition:
    return base_case(sparse.csr_matrix(X), rank, "dense")


def drift(made: Decomposition) -> float:
    return float(np.abs(made.U.T @ made.U - np.eye(made.rank)).max(initial=0.0))


def random_model(random: np.random.Generator, m: int, k: int) -> Decomposition:
    U = np.linalg.qr(random.normal(size=(m, k)))[0]
    s = np.sort(random.uniform(0.1, 5, k))[::-1]
    return Decomposition(U, s, k, float(s @ s))


def test_a_merge_that_can_be_checked_by_hand() -> None:
    first = Decomposition(np.array([[1.0], [0.0], [0.0]]), np.array([2.0]), 1, 4.0)
    second = Decomposition(np.array([[0.5], [np.sqrt(3) / 2], [0.0]]), np.array([1.0]), 1, 1.0)
    made = merge(first, second)
    assert made.s == pytest.approx([2.074313, 0.835000], abs=1e-6)
    assert made.U[:, 0] == pytest.approx([0.992654, 0.120985, 0.0], abs=1e-6)
    assert merge(first, second, decay=0.5).s ** 2 == pytest.approx([1.5, 0.5])


def test_chunks_of_the_sample_have_their_printed_values() -> None:
    assert decompose(A1).s == pytest.approx([3.333473, 2.363438, 1.644342, 1.364704, 0.857812], abs=1e-6)
    assert decompose(A2).s == pytest.approx([2.523096, 1.441291, 0.566889, 0.485084], abs=1e-6)


@pytest.mark.parametrize("way", [*MERGES, eigen])
def test_a_merge_of_full_rank_is_exact(way: object) -> None:
    made = way(decompose(A1), decompose(A2))  # type: ignore[operator]
    assert made.s == pytest.approx(EXACT, abs=1e-6)
    assert np.abs((made.U * made.s**2) @ made.U.T - COUNTS.T @ COUNTS).max() < 1e-13
    assert made.energy == 31


@pytest.mark.parametrize("way", MERGES)
@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (2, [3.340005, 2.537878]),
        (3, [3.340117, 2.537900, 2.352338]),
        (4, [3.340862, 2.539520, 2.353880, 1.644513]),
    ],
)
def test_truncated_merges_have_their_printed_values(way: object, k: int, expected: list[float]) -> None:
    assert way(decompose(A1, k), decompose(A2, k), k).s == pytest.approx(expected, abs=1e-6)  # type: ignore[operator]


@pytest.mark.parametrize("way", MERGES)
def test_decay_halves_the_old_documents(way: object) -> None:
    made = way(decompose(A1), decompose(A2), decay=0.5)  # type: ignore[operator]
    expected = [2.526185, 1.686535, 1.445163, 1.162382, 0.822167, 0.691064, 0.568570, 0.524652, 0.286881]
    assert made.s == pytest.approx(expected, abs=1e-6)
    assert made.s == pytest.approx(np.linalg.svd(np.vstack([0.5 * A1, A2]), compute_uv=False)[:9])
    forgotten = way(decompose(A1), decompose(A2), decay=0.0)  # type: ignore[operator]
    assert forgotten.s == pytest.approx(decompose(A2).s)
    assert forgotten.rank == 4


def test_a_model_merged_with_itself_does_not_grow() -> None:
    model = decompose(A1)
    made = merge(model, model)
    assert made.s == pytest.approx([4.714243, 3.342406, 2.325450, 1.929983, 1.213130], abs=1e-6)
    assert made.s == pytest.approx(model.s * np.sqrt(2), rel=1e-14)
    assert drift(made) < 1e-14
    U, s = printed_merge(model.U, model.s, model.U, model.s, 10)
    assert len(s) > made.rank  # the printed method adds junk
    assert np.abs(U.T @ U - np.eye(len(s))).max() > 0.5


def test_the_trap_of_the_printed_algorithm_does_not_catch_us() -> None:
    random = np.random.default_rng(1)
    X = (random.normal(size=(200, 5)) @ random.normal(size=(5, 4000)) + 1e-9 * random.normal(size=(200, 4000))).T
    parts = [decompose(X[i : i + 20], 10) for i in range(0, 4000, 20)]
    made, (U, s) = parts[0], (parts[0].U, parts[0].s)
    for part in parts[1:]:
        made = merge(made, part, 10)
        U, s = printed_merge(U, s, part.U, part.s, 10)
    true = np.linalg.svd(X, compute_uv=False)
    assert np.abs(U.T @ U - np.eye(10)).max() > 0.9
    assert s[5] > 1e-5
    assert drift(made) < 1e-12
    assert made.s[:5] == pytest.approx(true[:5], rel=1e-13)
    assert (made.s[5:] < 1e-6).all()


@settings(max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 12),
    st.integers(1, 12),
    st.integers(1, 24),
    st.sampled_from([0.3, 0.9, 1.0]),
)
def test_all_ways_agree(seed: int, k1: int, k2: int, k: int, decay: float) -> None:
    random = np.random.default_rng(seed)
    first, second = random_model(random, 40, k1), random_model(random, 40, k2)
    expected = direct(first, second, k, decay=decay)
    for way in (merge, merge_qr):
        made = way(first, second, k, decay=decay)
        assert made.s == pytest.approx(expected.s, rel=1e-10)
        if made.rank == k1 + k2:  # the space is unique then
            assert np.sin(linalg.subspace_angles(made.U, expected.U)).max() < 1e-10
        assert drift(made) < 1e-12


def test_nothing_that_is_merged_is_changed() -> None:
    first, second, nothing = decompose(A1), decompose(A2), decompose(np.zeros((2, 12)))
    before = first.U.copy(), second.U.copy()
    for one, other in [(first, second), (first, nothing), (nothing, second)]:
        made = merge(one, other)
        made.U[:] = 0
        assert (before[0] == first.U).all()
        assert (before[1] == second.U).all()


@pytest.mark.parametrize("merges", [300, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["identical", "rank one", "zero", "duplicates"])
def test_thousands_of_merges_stay_orthonormal(kind: str, merges: int) -> None:
    random = np.random.default_rng(2)
    base = random.normal(size=(6, 50))
    chunks = {
        "identical": lambda i: base,
        "rank one": lambda i: np.outer(random.normal(size=3), base[i % 6]),
        "zero": lambda i: base * (i % 7 == 0),
        "duplicates": lambda i: base[[i % 6] * 4],
    }[kind]
    made = decompose(chunks(0), 8)
    for i in range(1, merges):
        made = merge(made, decompose(chunks(i), 8), 8, overwrite=True)
    assert drift(made) <= 1e-10
    assert made.rank <= 6
    assert float(made.s @ made.s) == pytest.approx(made.energy, rel=1e-9)


def test_in_a_tie_the_first_model_stays() -> None:
    first, second = decompose(np.diag([3.0, 2, 0, 0])), decompose(np.diag([0.0, 0, 2, 1]))
    assert np.abs(merge(first, second, 2).U.T) == pytest.approx(np.eye(4)[:2])
    assert np.abs(merge(second, first, 2).U.T) == pytest.approx(np.eye(4)[[0, 2]])


def test_a_larger_vocabulary_adds_zero_rows() -> None:
    small, large = decompose(np.array([[1.0, 2.0]])), decompose(np.array([[0.0, 0.0, 3.0]]))
    made = merge(small, large)
    assert made.s == pytest.approx([3, np.sqrt(5)])
    assert made.U.shape == (3, 2)
