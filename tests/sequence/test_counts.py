"""Tests and weights of each pattern."""

from __future__ import annotations

import numpy as np
import pytest

from textmill.corpus import sample_path
from textmill.model import load
from textmill.sequence import CRF, Encoder, count_by_pattern, patterns_of_tests, read_labeled

X = [[("the", "D"), ("dog", "N")], [("a/b", "D"), ("dog/c", "N")]]


def test_tests_belong_to_the_pattern_that_made_them() -> None:
    patterns = ["b", "b:%x[0,1]", "u:%x[0,0]", "u:%x[0,0]/%x[1,0]", "u:w%x[0,0]", "*"]
    made = {pattern: set(Encoder(patterns=[pattern]).fit(X).tests_) for pattern in patterns}
    encoder = Encoder(patterns=patterns).fit(X)
    for test, number in zip(encoder.tests_, patterns_of_tests(encoder).tolist(), strict=True):
        if test not in ("u:a/b", "u:dog/c"):  # which both patterns of this form could have made
            assert test in made[patterns[number]], test


@pytest.mark.parametrize("start_label", [False, True])
def test_counts_add_up_to_the_model_and_are_kept_when_tests_are_dropped(tmp_path, start_label: bool) -> None:
    data = read_labeled(sample_path("chunks-test.txt"))
    patterns = ["*:p=%x[0,1]", "u:w=%x[0,0]", "b", 'u:never=%t[0,0,"^\\s"]']
    whole = CRF(patterns=patterns, max_iter=15, start_label=start_label, compact=False).fit(data.X, data.y)
    small = CRF(patterns=patterns, max_iter=15, start_label=start_label).fit(data.X, data.y)
    assert whole.pattern_counts_ == small.pattern_counts_
    sums = {name: sum(row[name] for row in small.pattern_counts_) for name in list(small.pattern_counts_[0])[1:]}
    assert sums["tests"] == len(whole.encoder_.tests_)
    assert sums["features"] == whole.feature_layout_.size
    assert sums["active_tests"] == len(small.encoder_.tests_) < sums["tests"]
    assert sums["active"] == len(small.features_)
    small.save(tmp_path / "m.mill")
    assert load(tmp_path / "m.mill").pattern_counts_ == small.pattern_counts_
    left = count_by_pattern(small.encoder_, small.feature_layout_, small.features_)
    assert [row["tests"] for row in left] == [row["active_tests"] for row in small.pattern_counts_]


def test_attributes_and_hashes_are_one_row() -> None:
    X, y = [[{"a": 1.0}, {"b": 1.0}]] * 4, [["A", "B"]] * 4
    (row,) = CRF(l1=0.1).fit(X, y).pattern_counts_
    assert (row["tests"], row["features"]) == (3, 8)
    (row,) = CRF(encoder=Encoder(patterns=["u:%x[0,0]"], hash_bits=4), l1=0.1).fit([["a", "b"]] * 4, y).pattern_counts_
    assert (row["tests"], row["features"], row["active_tests"]) == (32, 16 * 2 + 16 * 4, 2)
    assert np.isfinite(row["active"])
