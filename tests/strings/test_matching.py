"""One-to-one matchings of pairs that a join found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from textmill.errors import DataError
from textmill.strings import Matcher, one_to_one
from textmill.strings.pairs import Pairs
from textmill.tasks.names.generate import generate_names


def random_pairs(seed: int, rows: int, columns: int, density: float) -> tuple[Pairs, np.ndarray]:
    random = np.random.default_rng(seed)
    scores = np.round(random.random((rows, columns)), 2) * (random.random((rows, columns)) < density)
    left, right = np.nonzero(scores)
    return Pairs(left.astype(np.int32), right.astype(np.int32), scores[left, right]), scores


@pytest.mark.parametrize("seed", range(20))
def test_matchings_are_those_of_a_dense_matrix(seed: int) -> None:
    pairs, scores = random_pairs(seed, 3 + seed, 20 - seed // 2, (seed % 5 + 1) / 5)
    found = one_to_one(pairs, method="optimal")
    assert found.score.sum() == pytest.approx(scores[linear_sum_assignment(scores, maximize=True)].sum(), abs=1e-12)
    rest, wanted = scores.copy(), []
    while rest.any():
        i, j = np.unravel_index(rest.argmax(), rest.shape)  # the first of the largest
        wanted.append((int(i), int(j), float(scores[i, j])))
        rest[i], rest[:, j] = 0, 0
    greedy = one_to_one(pairs)
    assert list(zip(greedy.left.tolist(), greedy.right.tolist(), greedy.score.tolist(), strict=True)) == sorted(wanted)
    for matching in (found, greedy):
        assert len(np.unique(matching.left)) == len(np.unique(matching.right)) == len(matching.score)
    assert found.score.sum() >= greedy.score.sum() - 1e-12 >= found.score.sum() / 2 - 1e-9


def test_a_hundred_thousand_names_a_side_are_matched_from_their_pairs_alone() -> None:
    random = np.random.default_rng(1)
    size, edges = 100_000, 400_000
    left, right = (random.integers(0, size, edges).astype(np.int32) for _ in range(2))
    pairs = Pairs(left, right, random.random(edges))
    found = one_to_one(pairs)
    assert len(np.unique(found.left)) == len(np.unique(found.right)) == len(found.score)
    held = np.zeros((2, size))
    held[0, found.left] = held[1, found.right] = found.score
    assert (
        np.maximum(held[0, left], held[1, right]) >= pairs.score
    ).all()  # no pair is better than what its names have


def test_no_pairs_give_no_matches_and_other_methods_an_error() -> None:
    for method in ("greedy", "optimal"):
        assert len(one_to_one(Pairs.of([]), method=method).score) == 0
    with pytest.raises(DataError, match="method must be one of"):
        one_to_one(Pairs.of([]), method="best")


def test_a_matcher_joins_lists_one_to_one() -> None:
    made = generate_names(40, random_state=2)
    first = {key: at for at, key in reversed(list(enumerate(made.clusters or ())))}
    names = [made.names[at] for at in first.values()]
    others = [name for at, name in enumerate(made.names) if at not in first.values()]
    matcher = Matcher(threshold=0.3).fit(names)
    every = matcher.join(others)
    for method in ("greedy", "optimal"):
        found = matcher.join(others, one_to_one=method)
        wanted = one_to_one(every, method=method)
        assert all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))
        assert len(found.left) < len(every.left)
    with pytest.raises(DataError, match="one_to_one must be one of"):
        matcher.join(others, one_to_one="best")
