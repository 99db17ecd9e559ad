"""Sparse products against dense arithmetic: every type, shape and thread count, and matrices that lie."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from textmill._native import base

OFFSETS = [np.int32, np.int64]
VALUES = [np.float64, np.float32, np.int32]
REALS = [np.float64, np.float32]
WIDTHS = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 22, 31, 32, 33, 47, 48, 63, 64, 67, 130]


def random_csr(rows, columns, entries, seed=0, offset=np.int32, value=np.float64):
    """Entries anywhere, in no order, with repetitions, so that nothing but the definition holds."""
    rng = np.random.default_rng(seed)
    row = np.sort(rng.integers(0, max(rows, 1), entries if rows and columns else 0))
    indptr = np.searchsorted(row, np.arange(rows + 1)).astype(offset)
    indices = rng.integers(0, max(columns, 1), len(row)).astype(np.int32)
    return indptr, indices, rng.integers(-9, 10, len(row)).astype(value), columns


def dense_of(indptr, indices, data, columns):
    out = np.zeros((len(indptr) - 1, columns))
    np.add.at(out, (np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), indices), data)
    return out


def multiply(a, dense, threads=1):
    out = np.full((len(a[0]) - 1, *dense.shape[1:]), np.nan, dense.dtype)
    (base.csr_vector if dense.ndim == 1 else base.csr_dense)(*a, dense, out, threads)
    return out


def multiply_transposed(a, dense, threads=1):
    out = np.full((a[3], *dense.shape[1:]), np.nan)
    (base.csr_transposed_vector if dense.ndim == 1 else base.csr_transposed_dense)(*a, dense, out, threads)
    return out


def whole_numbers(shape, real, seed=1):
    """Small integers: every sum is exact, so results must be equal, not close."""
    return np.random.default_rng(seed).integers(-99, 100, shape).astype(real)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("real", REALS)
def test_products_of_every_type_are_exact_on_whole_numbers(offset, value, real):
    a = random_csr(150, 90, 3000, offset=offset, value=value)
    full = dense_of(*a)
    for k in WIDTHS:
        right, left = whole_numbers((90, k), real), whole_numbers((150, k), real)
        np.testing.assert_array_equal(multiply(a, right, 2), full @ right)
        np.testing.assert_array_equal(multiply_transposed(a, left, 2), full.T @ left)
    vector, other = whole_numbers(90, real), whole_numbers(150, real)
    np.testing.assert_array_equal(multiply(a, vector, 2), full @ vector)
    np.testing.assert_array_equal(multiply_transposed(a, other, 2), full.T @ other)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    rows=st.integers(0, 200),
    columns=st.integers(0, 40),
    entries=st.integers(0, 3000),
    k=st.integers(0, 40) | st.sampled_from([48, 65]),
    seed=st.integers(0, 99),
    threads=st.integers(1, 5),
)
def test_products_of_every_shape_are_exact_on_whole_numbers(rows, columns, entries, k, seed, threads):
    a = random_csr(rows, columns, entries, seed)
    full = dense_of(*a)
    right, left = whole_numbers((columns, k), float, seed), whole_numbers((rows, k), float, seed)
    np.testing.assert_array_equal(multiply(a, right, threads), full @ right)
    np.testing.assert_array_equal(multiply_transposed(a, left, threads), full.T @ left)


@pytest.mark.parametrize("k", [1, 2, 5, 8, 16, 40, 64, 130])
def test_any_number_of_threads_gives_the_same_bytes(k):
    a = random_csr(3000, 120, 60_000)
    rng = np.random.default_rng(2)
    right, left = rng.normal(size=(120, k)), rng.normal(size=(3000, k))
    one, other = multiply(a, right), multiply_transposed(a, left)
    for threads in (2, 3, 8, 64):
        assert multiply(a, right, threads).tobytes() == one.tobytes()
        assert multiply_transposed(a, left, threads).tobytes() == other.tobytes()


@pytest.mark.parametrize("k", [1, 3, 8, 22, 64])
def test_products_agree_with_scipy_on_a_bag_of_words(k):
    rng = np.random.default_rng(3)
    matrix = sparse.random_array((900, 700), density=0.05, format="csr", rng=rng)
    a = (matrix.indptr, matrix.indices.astype(np.int32), matrix.data, 700)
    right, left = rng.normal(size=(700, k)), rng.normal(size=(900, k))
    np.testing.assert_allclose(multiply(a, right, 2), matrix @ right, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(multiply_transposed(a, left, 2), matrix.T @ left, rtol=1e-12, atol=1e-13)


def test_float32_is_summed_in_float64():
    rng = np.random.default_rng(4)
    a = random_csr(50, 3000, 60_000, value=np.float32)
    for k in (1, 3, 8, 33):
        right = rng.normal(size=(3000, k)).astype(np.float32)
        np.testing.assert_array_equal(multiply(a, right), multiply(a, right.astype(float)).astype(np.float32))
        left = rng.normal(size=(50, k)).astype(np.float32)
        np.testing.assert_array_equal(multiply_transposed(a, left), multiply_transposed(a, left.astype(float)))


@pytest.mark.parametrize("k", [1, 3, 4, 40])
def test_nan_and_infinity_go_through_and_empty_rows_give_zero(k):
    matrix = sparse.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 3.0, np.nan]]))
    a = (matrix.indptr, matrix.indices.astype(np.int32), matrix.data, 3)
    dense = np.ones((3, k))
    dense[0, 0], dense[1, -1] = np.inf, np.nan
    np.testing.assert_array_equal(multiply(a, dense), matrix @ dense)
    np.testing.assert_array_equal(multiply_transposed(a, dense), matrix.T @ dense)
    assert (multiply(a, np.ones((3, k)))[1] == 0.0).all()


def test_arrays_with_room_to_spare_behind_the_last_row_are_accepted():
    indptr, indices, data, columns = random_csr(30, 20, 200)
    roomy = (indptr, np.append(indices, [-7, 10**9]).astype(np.int32), np.append(data, [np.nan] * 2), columns)
    dense = whole_numbers((20, 9), float)
    np.testing.assert_array_equal(multiply(roomy, dense), multiply((indptr, indices, data, columns), dense))
    left = whole_numbers((30, 9), float)
    np.testing.assert_array_equal(multiply_transposed(roomy, left), dense_of(indptr, indices, data, columns).T @ left)


def corrupt(part, position, value):
    a = [np.array(array) for array in random_csr(300, 20, 5000)[:3]]
    a[part][position] = value
    return (*a, 20)


CORRUPT = [
    (corrupt(0, 0, 1), "indptr starts with 1, not 0"),
    (corrupt(0, 0, -1), "indptr starts with -1, not 0"),
    (corrupt(0, 7, 10**6), "indptr falls from 1000000 to"),
    (corrupt(0, 7, -5), "indptr falls from .* to -5 at row 6"),
    (corrupt(0, -1, 6000), "indptr ends with 6000 but there are 5000 indices"),
    (corrupt(0, -1, 2**31 - 1), "indptr ends with 2147483647 but there are 5000 indices"),
    (corrupt(1, 4321, 20), "entry 4321 has column 20, the matrix has 20 columns"),
    (corrupt(1, 4999, -1), "entry 4999 has column -1, the matrix has 20 columns"),
    (corrupt(1, [100, 4000], [2**31 - 1, 20]), "entry 100 has column 2147483647, the matrix has 20 columns"),
    (corrupt(1, 0, -(2**31)), "entry 0 has column -2147483648, the matrix has 20 columns"),
]


@pytest.mark.parametrize("k", [1, 8, 40])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("a", "fault"), CORRUPT)
def test_a_corrupt_matrix_is_refused_with_the_place(a, fault, threads, k):
    with pytest.raises(ValueError, match=fault):
        multiply(a, np.ones((20, k)), threads)
    with pytest.raises(ValueError, match=fault):
        multiply_transposed(a, np.ones((300, k)), threads)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.data())
def test_random_damage_never_gets_past_the_checks(data):
    a = [np.array(array) for array in random_csr(40, 20, 300)[:3]]
    for _ in range(data.draw(st.integers(1, 3))):
        part = data.draw(st.integers(0, 1))
        a[part][data.draw(st.integers(0, len(a[part]) - 1))] = data.draw(st.integers(-(2**31), 2**31 - 1))
    cut = data.draw(st.integers(250, 300))
    a = (a[0], a[1][:cut], a[2][:cut], 20)
    legal = a[0][0] == 0 and (np.diff(a[0].astype(int)) >= 0).all() and a[0][-1] <= cut
    legal = legal and ((a[1][: a[0][-1]] >= 0) & (a[1][: a[0][-1]] < 20)).all()
    for product, rows in ((multiply, 20), (multiply_transposed, 40)):
        if legal:
            product(a, np.ones((rows, 5)), 2)
        else:
            with pytest.raises(ValueError, match=r"indptr|entry"):
                product(a, np.ones((rows, 5)), 2)


def test_arrays_that_do_not_fit_are_refused():
    indptr, indices, data, columns = a = random_csr(30, 20, 200)
    dense, out = np.ones((20, 4)), np.empty((30, 4))

    def refused(fault, *arguments, error=ValueError):
        with pytest.raises(error, match=fault):
            base.csr_dense(*arguments)

    refused("there are 200 indices but 199 values", indptr, indices, data[:-1], columns, dense, out, 1)
    refused("out must have 29 rows, got 30", indptr[:-1], indices, data, columns, dense, out, 1)
    refused("dense must have 21 rows, got 20", indptr, indices, data, 21, dense, out, 1)
    refused("out must have 4 columns", *a, dense, np.empty((30, 5)), 1)
    refused("dense must have 2 axes, got 1", *a, np.ones(20), out, 1)
    refused("one entry more than there are rows", np.empty(0, np.int32), indices, data, columns, dense, out, 1)
    refused("threads must be at least 1", *a, dense, out, 0)
    refused("indices must be int32, got int64", indptr, indices.astype(np.int64), data, columns, dense, out, 1)
    refused("indptr must be int32 or int64, got float64", indptr.astype(float), indices, data, columns, dense, out, 1)
    refused("data must be float64, float32 or int32, got int64", *a[:2], data.astype(int), columns, dense, out, 1)
    refused("dense must be float64 or float32, got int64", *a, dense.astype(int), out, 1)
    refused("out must be float64 like dense, got float32", *a, dense, out.astype(np.float32), 1)
    refused("incompatible function arguments", *a, dense, np.empty((4, 30)).T, 1, error=TypeError)
    refused("incompatible function arguments", indptr, indices, data, -1, dense, out, 1, error=TypeError)
    frozen = np.empty((30, 4))
    frozen.flags.writeable = False
    refused("incompatible function arguments", *a, dense, frozen, 1, error=TypeError)
    with pytest.raises(ValueError, match="number of columns is 2147483648, outside"):
        base.csr_transposed_dense(indptr, indices, data, 2**31, np.ones((30, 0)), np.empty((2**31, 0)), 1)
    with pytest.raises(ValueError, match="out must be float64, got float32"):
        base.csr_transposed_dense(*a, np.ones((30, 4), np.float32), np.empty((20, 4), np.float32), 1)


def test_an_output_that_overlaps_an_input_is_refused():
    indptr, indices, data, _ = random_csr(20, 20, 200)
    memory = np.ones((41, 4))
    with pytest.raises(ValueError, match="out overlaps an input"):
        base.csr_dense(indptr, indices, data, 20, memory[:20], memory[19:39], 1)
    base.csr_dense(indptr, indices, data, 20, memory[:20], memory[20:40], 1)
    values = np.ones(200)
    with pytest.raises(ValueError, match="out overlaps an input"):
        base.csr_vector(indptr, indices, values, 20, np.ones(20), values[:20], 1)
    with pytest.raises(ValueError, match="out overlaps an input"):
        base.csr_transposed_vector(indptr, indices, values, 20, np.ones(20), values[180:], 1)


def test_a_dense_operand_in_another_order_is_read_correctly():
    a = random_csr(30, 20, 200)
    dense = whole_numbers((7, 20), float).T
    np.testing.assert_array_equal(multiply(a, dense), dense_of(*a) @ dense)
