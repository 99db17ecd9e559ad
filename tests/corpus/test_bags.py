from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from textmill.corpus import check_bags
from textmill.errors import DataError


def test_half_precision_counts_become_single_precision():
    counts = check_bags(np.array([[1, 0], [0, 2]], np.float16))
    assert counts.dtype == np.float32
    assert counts.toarray().tolist() == [[1, 0], [0, 2]]


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        ([["red", "blue"]], r"X holds values that are not numbers \(<U4\)"),
        ([[1, 2], [3]], "X has rows of different lengths"),
        ([1, 2], "X must have rows and columns, got 1 axes"),
        ([[0.0, np.nan]], "X holds NaN in row 0, column 1"),
        ([[0, 0], [0, -3]], "X holds -3 in row 1, column 1; counts must not be negative"),
    ],
)
def test_what_is_not_counts_is_refused_with_its_place(bad, fault):
    with pytest.raises(DataError, match=fault):
        check_bags(bad)


def test_a_matrix_in_another_format_is_sorted_and_summed_without_touching_the_original():
    twice = sparse.coo_array((np.array([1, 2, 3]), (np.array([0, 0, 0]), np.array([2, 0, 2]))), shape=(1, 3))
    assert check_bags(twice).toarray().tolist() == [[2, 0, 4]]
    assert twice.nnz == 3


def test_wide_ids_become_narrow_ones():
    X = sparse.csr_matrix(np.array([[0, 2], [1, 0]]))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    checked = check_bags(X)
    assert (checked.indices.dtype, checked.toarray().tolist()) == (np.int32, [[0, 2], [1, 0]])
