"""What tests of papers share."""

from __future__ import annotations

from pathlib import Path

import pytest

from papers._shared.recipe import data_folder


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data sets; the test is skipped when TEXTMILL_DATA does not name it."""
    folder = data_folder()
    if folder is None:
        pytest.skip("TEXTMILL_DATA is not set")
    return folder
