import sys

import pytest
from reference import toy_models


@pytest.fixture(autouse=True)
def toys(monkeypatch):
    """The toy models, importable as textmill.toys for one test."""
    monkeypatch.delitem(sys.modules, "textmill.toys", raising=False)
    return toy_models.install()


@pytest.fixture
def examples():
    return toy_models.examples()
