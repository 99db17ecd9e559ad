"""Products with matrices that are held, streamed, or only known by what they do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from textmill.errors import DataError
from textmill.topics import as_operator

MAKERS: dict[str, Callable[[sparse.csr_matrix], Any]] = {
    "matrix": lambda X: X,
    "dense": lambda X: X.toarray(),
    "chunks": lambda X: [X[:3], X[3:3], X[3:]],
    "operator": aslinearoperator,
}


@pytest.mark.parametrize("kind", [*MAKERS, "functions"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_products_are_those_of_the_dense_matrix(kind: str, dtype: Any) -> None:
    rng = np.random.default_rng(4)
    X = sparse.csr_matrix(rng.integers(-2, 3, (11, 7)).astype(dtype))
    made = as_operator((X.dot, X.T.dot), shape=X.shape) if kind == "functions" else as_operator(MAKERS[kind](X))
    for columns in (0, 1, 5):
        D, E = rng.normal(size=(7, columns)), rng.normal(size=(11, columns))
        assert made.shape == (11, 7)
        assert np.allclose(made.times(D), X.toarray() @ D, rtol=1e-13, atol=1e-13)
        assert np.allclose(made.transposed_times(E), X.toarray().T @ E, rtol=1e-13, atol=1e-13)
    assert made.times(np.ones(7)).shape == (11,)
    assert made.transposed_times(np.ones(11)).shape == (7,)


def test_bytes_do_not_depend_on_threads() -> None:
    rng = np.random.default_rng(5)
    X = sparse.random_array((3000, 500), density=0.02, rng=rng, format="csr")
    D, E = rng.normal(size=(500, 9)), rng.normal(size=(3000, 9))
    made = [as_operator(X, n_jobs=jobs) for jobs in (1, 2, 8)]
    assert len({(one.times(D).tobytes(), one.transposed_times(E).tobytes()) for one in made}) == 1


def test_what_cannot_be_multiplied_is_refused() -> None:
    X = sparse.csr_matrix(np.eye(3))
    with pytest.raises(DataError, match="needs 3 rows here"):
        as_operator(X).times(np.ones(4))
    with pytest.raises(DataError, match="pass shape="):
        as_operator((X.dot, X.T.dot))
    with pytest.raises(DataError, match="can be read once"):
        as_operator(iter([X]))
    with pytest.raises(DataError, match="at least one chunk"):
        as_operator([])
    with pytest.raises(DataError, match="holds NaN"):
        as_operator(np.array([[np.nan]]))
