"""Groups of matching names: components, and correlation clusters against all partitions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from textmill.errors import DataError
from textmill.strings import Pairs, canonical_names, cluster_pairs


def partitions(size: int) -> Iterator[list[int]]:
    """All ways to number items by groups, each group by its first member."""

    def extend(groups: list[int]) -> Iterator[list[int]]:
        if len(groups) == size:
            yield groups
            return
        for group in range(max(groups, default=-1) + 2):
            yield from extend([*groups, group])

    return extend([])


def worth(groups: list[int], scores: dict[tuple[int, int], float], threshold: float) -> float:
    size = len(groups)
    inside = [(i, j) for i in range(size) for j in range(i + 1, size) if groups[i] == groups[j]]
    return sum(scores.get(pair, 0.0) - threshold for pair in inside)


def test_chains_are_followed_by_components_and_cut_by_correlation() -> None:
    links = [(i, i + 1, 0.7) for i in range(9)]
    pairs = Pairs.of(links)
    assert cluster_pairs(pairs, 10, threshold=0.6).tolist() == [0] * 10
    cut = cluster_pairs(pairs, 10, threshold=0.6, method="correlation")
    assert np.bincount(cut).max() <= 2
    assert cut[0] == 0


def test_correlation_clusters_are_nearly_the_best_of_all_partitions() -> None:
    random = np.random.default_rng(1)
    exact = 0
    for _ in range(60):
        size = 7
        scores = {
            (i, j): float(random.random()) for i in range(size) for j in range(i + 1, size) if random.random() < 0.6
        }
        pairs = Pairs.of([(i, j, score) for (i, j), score in scores.items()])
        kept = {pair: score for pair, score in scores.items() if score >= 0.5}
        found = cluster_pairs(pairs, size, threshold=0.5, method="correlation").tolist()
        best = max(worth(groups, kept, 0.5) for groups in partitions(size))
        got = worth(found, kept, 0.5)
        assert got >= 0.7 * best - 1e-9
        exact += got >= best - 1e-9
    assert exact >= 45


def test_groups_are_numbered_by_their_first_members_whatever_the_order_of_pairs() -> None:
    rows = [(4, 5, 0.9), (1, 3, 0.8), (0, 2, 0.9)]
    for order in (rows, rows[::-1]):
        assert cluster_pairs(Pairs.of(order), 7).tolist() == [0, 1, 0, 1, 2, 2, 3]
    assert cluster_pairs(Pairs.of([]), 0).tolist() == []
    assert cluster_pairs(Pairs.of([]), 2, threshold=0.5, method="correlation").tolist() == [0, 1]


def test_the_canonical_name_is_the_one_the_others_resemble_most() -> None:
    names = ["J Smith", "John Smith", "Jon Smith"]
    groups = np.zeros(3, np.int64)
    pairs = Pairs.of([(0, 1, 0.6), (1, 2, 0.9), (0, 2, 0.6)])
    assert canonical_names(names, groups, pairs) == [1]
    assert canonical_names(names, groups, pairs, counts=[9, 1, 1]) == [0]
    assert canonical_names(["Ann", "Anne"], np.zeros(2, np.int64), Pairs.of([(0, 1, 0.9)])) == [1]


def test_bad_input_is_one_clear_error() -> None:
    with pytest.raises(DataError, match="must lie among 2 names, got 5"):
        cluster_pairs(Pairs.of([(0, 5, 1.0)]), 2)
    with pytest.raises(DataError, match="threshold above 0"):
        cluster_pairs(Pairs.of([]), 2, method="correlation")
    with pytest.raises(DataError, match="method must be one of"):
        cluster_pairs(Pairs.of([]), 2, method="complete")
    with pytest.raises(DataError, match="1 names, 2 groups"):
        canonical_names(["a"], np.zeros(2, np.int64), Pairs.of([]))
