"""Folds of cross-validation."""

from __future__ import annotations

import numpy as np
import pytest

from textmill.errors import DataError
from textmill.sequence import cross_validate, folds


def test_every_sequence_is_tested_once_and_parts_never_overlap() -> None:
    splits = list(folds(103, k=10, random_state=4))
    assert sorted(np.concatenate([split.test for split in splits]).tolist()) == list(range(103))
    assert sorted(np.concatenate([split.dev for split in splits]).tolist()) == list(range(103))
    for split in splits:
        assert sorted(np.concatenate(split).tolist()) == list(range(103))
        assert split.train.size in (81, 82, 83)


def test_without_a_development_part_more_is_trained_on() -> None:
    for split in folds(20, k=4, early_stopping=False):
        assert (split.train.size, split.dev.size, split.test.size) == (15, 0, 5)


def test_too_few_sequences_are_refused() -> None:
    with pytest.raises(DataError, match="2 sequences cannot be dealt into 10 folds"):
        list(folds(2))


class Majority:
    """Says the most frequent label of training, and remembers what it saw."""

    seen: list[tuple[int, int]] = []

    def get_params(self, deep: bool = False) -> dict[str, object]:
        return {}

    def fit(self, X, y, X_dev=None, y_dev=None):
        self.seen.append((len(X), len(X_dev or [])))
        labels = [label for row in y for label in row]
        self.label = max(sorted(set(labels)), key=labels.count)
        return self

    def predict(self, X):
        return [[self.label] * len(x) for x in X]


def test_rounds_train_stop_and_test_on_their_parts() -> None:
    scores = cross_validate(Majority(), ["ab"] * 10, [["A", "A"]] * 9 + [["B", "B"]], k=5)
    assert Majority.seen == [(6, 2)] * 5
    assert sum(scores[1:], scores[0]).token_error == pytest.approx(0.1)
