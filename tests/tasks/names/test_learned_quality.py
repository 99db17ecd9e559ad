"""Learned matching against the default measure on the name sets."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from textmill.tasks.names import Gold, LearnedMatcher, RecordList, RecordMatcher, read_names

pytestmark = [pytest.mark.data, pytest.mark.slow]

SETS = ("birdKunkel", "business", "gameExtracted", "parks", "restaurant")


def f_of_the_rest(name: str, seed: int) -> tuple[float, float]:
    """F1 of learned probabilities at 0.5 and of the default measure at 0.6, on pairs without a label."""
    left, right = read_names(Path(os.environ["TEXTMILL_DATA"], "names", f"{name}.txt"), format="secondstring").split()
    records, other = RecordList.of_names(left), RecordList.of_names(right)
    matcher = LearnedMatcher()
    found, scores = RecordMatcher().scores(records, other)
    assert left.clusters is not None
    assert right.clusters is not None
    truth = np.array(left.clusters)[found.left] == np.array(right.clusters)[found.right]
    chosen = np.random.default_rng(seed).permutation(len(found))[: min(200, len(found) // 2)]
    gold = Gold(
        {
            (left.ids[found.left[at]], right.ids[found.right[at]]): "pos" if truth[at] else "neg"
            for at in chosen.tolist()
        },
        symmetric=False,
    )
    probabilities = matcher.fit(records, gold, other=other, candidates=found).scores(records, other, candidates=found)[
        1
    ]
    rest = np.ones(len(found), bool)
    rest[chosen] = False
    total = len(Gold.from_clusters(left, right).positives) - int(truth[chosen].sum())
    return tuple(  # type: ignore[return-value]
        2 * float((truth & cut)[rest].sum()) / (cut[rest].sum() + total)
        for cut in (probabilities >= 0.5, scores >= 0.6)
    )


def test_two_hundred_labels_gain_three_points_on_average() -> None:
    gains = [np.subtract(*f_of_the_rest(name, seed)) for name in SETS for seed in (0, 1)]
    assert np.mean(gains) >= 0.03
