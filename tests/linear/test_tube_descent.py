"""Linear regression with a tube over chunks: the optimum of all rows, whatever the chunks, and bad chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from textmill.errors import DataError
from textmill.linear import SupportVectorRegression

RANDOM = np.random.default_rng(1)
X = sparse.random(1500, 200, 0.05, random_state=RANDOM, format="csr")
Y = X @ RANDOM.normal(0, 3, 200) + 3 + RANDOM.normal(0, 0.3, 1500)


class Chunks:
    """Rows cut into chunks, made anew each time they are read; counts the readings."""

    def __init__(self, size: int) -> None:
        self.size, self.readings = size, 0

    def __iter__(self) -> Any:
        self.readings += 1
        return ((X[a : a + self.size], Y[a : a + self.size]) for a in range(0, X.shape[0], self.size))


def test_one_chunk_is_the_model_of_rows_in_memory() -> None:
    whole = SupportVectorRegression(cost=1.0, method="descent").fit(X, Y)
    chunk = SupportVectorRegression(cost=1.0).fit(Chunks(1500))
    assert whole.coef_ is not None
    assert chunk.coef_ is not None
    assert chunk.coef_.tobytes() == whole.coef_.tobytes()
    assert chunk.intercept_.tolist() == whole.intercept_.tolist()
    assert chunk.n_features_in_ == 200


@pytest.mark.parametrize("size", [100, 700])
def test_chunks_reach_the_optimum_of_all_rows(size: int) -> None:
    chunks = Chunks(size)
    exact = SupportVectorRegression(cost=1.0, method="smo", tolerance=1e-4).fit(X, Y)
    model = SupportVectorRegression(cost=1.0, tolerance=1e-2).fit(chunks)
    assert model.converged_
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-2)
    assert model.predict(X[:50]) == pytest.approx(exact.predict(X[:50]), abs=0.3)
    assert chunks.readings < 2 * model.n_iter_ + 5


def test_bad_chunks_are_named() -> None:
    with pytest.raises(DataError, match="once"):
        SupportVectorRegression().fit(iter(Chunks(100)))
    with pytest.raises(DataError, match="must be \\(X, y\\)"):
        SupportVectorRegression().fit([X[:5]])
    with pytest.raises(DataError, match="chunk 1 has 2 columns"):
        SupportVectorRegression().fit([(X[:2], Y[:2]), (X[:2, :2], Y[:2])])
    with pytest.raises(DataError, match="no chunks"):
        SupportVectorRegression().fit([])
    with pytest.raises(DataError, match="kernel='linear'"):
        SupportVectorRegression(kernel="polynomial").fit(Chunks(100))
