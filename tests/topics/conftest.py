"""One thread of BLAS: the matrices of these tests are too small to share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from textmill.topics.decomposition import blas_threads


@pytest.fixture(autouse=True)
def _one_blas_thread() -> Iterator[None]:
    with blas_threads(1):
        yield
