"""Labels and weights of rows: what is refused, with the row, and what passes."""

import numpy as np
import pytest

from textmill.errors import DataError
from textmill.model.labels import checked_weights, label_array, labels_of, require_rows


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "one label per row"),
        ([["a", "b"], ["c", "d"]], "shape \\(2, 2\\)"),
        ([1j, 2j], "complex"),
        ([0.0, np.nan], "contains NaN"),
        ([0.0, 1.0, np.inf], "contains infinity"),
        ([0.0, 0.5], "continuous"),
        (["a", 1, "b"], "first in row 1"),
        ([1, 2, "b"], "first in row 2"),
        (np.array(["a", "b", 3], dtype=object), "first in row 2"),
    ],
)
def test_labels_that_cannot_be_told_apart_are_refused(y, message):
    with pytest.raises(DataError, match=message):
        label_array(y)


@pytest.mark.parametrize("y", [["b", "a"], [1.0, 2.0], [True, False], (3, 4), np.array(["x", "y"], dtype=object)])
def test_labels_of_one_kind_pass(y):
    assert label_array(y).tolist() == list(y)


def test_labels_become_numbers_of_classes():
    classes = np.array(["a", "b", "d"])
    assert labels_of(["d", "a", "b"], 3, classes).tolist() == [2, 0, 1]
    with pytest.raises(DataError, match="'c' in row 1"):
        labels_of(["a", "c"], 2, classes)
    with pytest.raises(DataError, match="'z' in row 0"):
        labels_of(["z"], 1, classes)
    with pytest.raises(DataError, match="3 rows but y has 2 labels"):
        labels_of(["a", "b"], 3, classes)


@pytest.mark.parametrize(("shape", "what"), [((0, 3), "sample"), ((3, 0), "feature")])
def test_no_rows_and_no_columns_are_refused(shape, what):
    with pytest.raises(DataError, match=f"0 {what}"):
        require_rows(np.zeros(shape))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], "shape \\(1,\\)"),
        ([[1.0], [1.0]], "shape \\(2, 1\\)"),
        ([1.0, -1.0], "-1.0 in row 1"),
        ([np.nan, 1.0], "nan in row 0"),
        ([1.0, np.inf], "inf in row 1"),
        ([0.0, 0.0], "zero for every row"),
    ],
)
def test_weights_that_are_none_are_refused(weights, message):
    with pytest.raises(DataError, match=message):
        checked_weights(weights, 2)


def test_weights_are_copied():
    given = np.array([0.0, 2.0])
    weights = checked_weights(given, 2)
    given[0] = 5.0
    assert weights.tolist() == [0.0, 2.0]
