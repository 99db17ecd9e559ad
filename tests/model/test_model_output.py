"""Frames instead of arrays: where one was chosen, for callers outside of the package."""

import numpy as np
import pandas
import pytest
import sklearn
from scipy import sparse

from textmill.errors import DataError
from textmill.model import Transformer

X = np.array([[1.0, 2.0], [3.0, 4.0]])


class Double(Transformer):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return 2 * (X if sparse.issparse(X) else np.asarray(X))

    def get_feature_names_out(self, input_features=None):
        return np.array(["left", "right"], object)


class Triple(Double):
    def transform(self, X):
        return 3 * X


class Words(Double):
    def transform(self, X):
        return [text.split() for text in X]


def test_a_frame_has_names_and_the_index_of_the_input():
    double = Double().set_output(transform="pandas")
    assert double.set_output() is double
    assert double.transform(X).columns.tolist() == ["left", "right"]
    rows = double.transform(pandas.DataFrame(X, index=["a", "b"]))
    assert (rows.index.tolist(), rows.to_numpy().tolist()) == (["a", "b"], (2 * X).tolist())
    assert isinstance(double.set_output(transform="default").transform(X), np.ndarray)
    assert Triple().set_output(transform="pandas").transform(X)["right"].tolist() == [6.0, 12.0]


def test_sparse_rows_are_sparse_columns_of_pandas_and_refused_by_polars():
    double = Double().set_output(transform="pandas")
    assert double.transform(sparse.csr_matrix(X)).sparse.to_dense().to_numpy().tolist() == (2 * X).tolist()
    double.set_output(transform="polars")
    with pytest.raises(DataError, match="Polars has no sparse columns"):
        double.transform(sparse.csr_matrix(X))


def test_what_is_no_matrix_stays_as_it_is():
    assert Words().set_output(transform="pandas").transform(["to be"]) == [["to", "be"]]


def test_a_choice_for_all_of_scikit_learn_holds_unless_there_is_one_of_its_own():
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(Double().transform(X), pandas.DataFrame)
        assert isinstance(Double().set_output(transform="default").transform(X), np.ndarray)
    assert isinstance(Double().transform(X), np.ndarray)


def test_callers_inside_of_the_package_get_arrays():
    double = Double().set_output(transform="pandas")
    inside = {"__name__": "textmill.somewhere", "double": double, "X": X}
    exec("def call(): return double.transform(X)", inside)
    assert isinstance(inside["call"](), np.ndarray)
    outside = inside | {"__name__": "textmills"}
    exec("def call(): return double.transform(X)", outside)
    assert isinstance(outside["call"](), pandas.DataFrame)


def test_an_unknown_frame_is_refused():
    with pytest.raises(DataError, match="transform must be one of 'default', 'pandas', 'polars', got 'frames'"):
        Double().set_output(transform="frames")
