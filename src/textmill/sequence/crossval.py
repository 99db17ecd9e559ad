"""Cross-validation of taggers, with a development part for those that stop early.

Sequences are shuffled by the seed and dealt into folds; round i tests on fold i, stops early on fold i + 1 and trains
on the others: with ten folds the 8 / 1 / 1 of Lavergne, Cappé & Yvon (2010). Counts of all rounds add, so every
sequence is tested once and figures have intervals over all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError
from textmill.model import RandomState, check_range, seed_of
from textmill.progress import all_or_nothing, track
from textmill.selection import deal_folds, splits
from textmill.sequence.evaluation import TagScores, evaluate_tags

__all__ = ["Split", "cross_validate", "folds"]


class Split(NamedTuple):
    """Numbers of the sequences to train, to stop and to test with.

    >>> Split(np.array([0]), np.array([1]), np.array([2])).test.tolist()
    [2]
    """

    train: NDArray[np.int64]
    dev: NDArray[np.int64]
    test: NDArray[np.int64]


def folds(
    sequences: int, *, k: int = 10, early_stopping: bool = True, random_state: RandomState = 0
) -> Iterator[Split]:
    """The rounds of a k-fold cross-validation; without `early_stopping` nothing is kept apart for development.

    >>> [split.test.size for split in folds(25, k=10)]
    [3, 3, 3, 3, 3, 2, 2, 2, 2, 2]
    """
    check_range("k", k, at_least=3 if early_stopping else 2, whole=True)
    if sequences < k:
        raise DataError(f"{sequences} sequences cannot be dealt into {k} folds; use fewer folds")
    generator = np.random.default_rng(seed_of(random_state, 0))
    parts = [split.test for split in splits(deal_folds(np.zeros(sequences), k, random_state=generator))]
    for i, test in enumerate(parts):
        stop = parts[(i + 1) % k] if early_stopping else np.empty(0, np.int64)
        skipped = {i, (i + 1) % k} if early_stopping else {i}
        yield Split(np.concatenate([part for j, part in enumerate(parts) if j not in skipped]), stop, test)


def cross_validate(
    estimator: Any,
    X: Sequence[Any],
    y: Sequence[Sequence[str]],
    *,
    k: int = 10,
    early_stopping: bool = True,
    random_state: RandomState = 0,
    chunks: bool | None = None,
) -> list[TagScores]:
    """Train and test a tagger k times; the scores of every round, whose sum is that of all sequences.

    >>> class Constant:
    ...     def get_params(self, deep=False): return {}
    ...     def fit(self, X, y, X_dev=None, y_dev=None): return self
    ...     def predict(self, X): return [["A"] * len(x) for x in X]
    >>> scores = cross_validate(Constant(), ["ab"] * 6, [["A", "B"]] * 6, k=3)
    >>> len(scores), sum(scores[1:], scores[0]).token_error
    (3, 0.5)
    """
    results = []
    with all_or_nothing():
        splits = folds(len(X), k=k, early_stopping=early_stopping, random_state=random_state)
        for split in track(splits, "cross-validation", total=k, unit="folds"):
            train, stop, test = ([X[i] for i in part] for part in split)
            train_y, stop_y, test_y = ([y[i] for i in part] for part in split)
            fresh = type(estimator)(**estimator.get_params(deep=False))
            fitted = (
                fresh.fit(train, train_y, X_dev=stop, y_dev=stop_y) if early_stopping else fresh.fit(train, train_y)
            )
            results.append(evaluate_tags(test_y, fitted.predict(test), chunks=chunks))
    return results
