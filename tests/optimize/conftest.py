from __future__ import annotations

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="module")
def one_blas_thread():
    """The objectives here are tiny: a second thread only waits."""
    with threadpool_limits(1):
        yield
