"""The merit of features, and texts of each level counted."""

from __future__ import annotations

import numpy as np
import pytest

from papers.readability.selection import merit
from papers.readability.statistics import level_table
from textmill.tasks.readability import (
    prepare,
)


def test_merit_of_the_specification() -> None:
    assert merit(np.array([0.5, 0.5]), np.eye(2)) == pytest.approx(2**-0.5)
    assert merit(np.array([0.5, 0.5]), np.ones((2, 2))) == 0.5


def test_levels_are_counted_and_measured() -> None:
    texts = ["A mill turns.", "The old mill turns. It is big.", "Many strange considerations accompany negotiations."]
    rows = level_table(prepare(texts, ["1", "1", "2"]))
    assert rows[0] == ("1", 2, pytest.approx(2 / 3), 5.0, pytest.approx(8**0.5), 3.25, pytest.approx(0.125**0.5))
    assert rows[1] == ("2", 1, pytest.approx(1 / 3), 5.0, 0.0, 5.0, 0.0)
