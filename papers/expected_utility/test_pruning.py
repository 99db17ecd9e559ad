"""What pruning costs, in figures."""

from __future__ import annotations

import pytest

from papers.expected_utility.pruning import compare_pruning
from textmill.errors import DataError


def test_the_report_of_pruning() -> None:
    report = compare_pruning(lengths=range(1, 31), runs=5)
    columns = report.to_dict()
    assert columns["distribution"] == ["uniform", "uniform", "beta", "beta"]
    assert columns["beam"] == ["1", "2n", "1", "2n"]
    assert 0.1 < columns["same"][0] < 0.5  # not the 99% of the paper: one state gives the most probable labels
    assert columns["same"][1] > 0.6
    assert max(columns["regret"]) < 0.03
    assert max(columns["regret"][1], columns["regret"][3]) < 0.001
    with pytest.raises(DataError, match="beam"):
        compare_pruning(lengths=[2], beams=["x"])
