"""native strings: alignments of words against all matchings, and the search against scoring all pairs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from reference.names import best_matching, greedy, monge_elkan, softtfidf
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from textmill._native import strings as native

OPTIONS = {"alignment": "chain", "sides": "forward", "gap": -1, "theta": 0.0, "types": False}
RULES: dict[str, dict[str, Any]] = {
    "ml": {},
    "damerau": {"gap": 0},
    "ext1": {"gap": 1},
    "ext2": {"gap": 2},
    "assignment": {"alignment": "assignment"},
    "greedy": {"alignment": "greedy"},
    "soft": {"alignment": "closest", "types": True, "theta": 0.3},
    "soft positions": {"alignment": "closest"},
    "soft mean": {"alignment": "closest", "sides": "mean", "types": True},
    "soft max": {"alignment": "closest", "sides": "max"},
    "soft min": {"alignment": "closest", "sides": "min"},
    "average": {"alignment": "average"},
    "average mean": {"alignment": "average", "sides": "mean"},
    "average max": {"alignment": "average", "sides": "max"},
    "average min": {"alignment": "average", "sides": "min"},
}
Words = tuple[NDArray[np.int64], NDArray[np.int32]]


def packed(names: list[list[int]]) -> Words:
    offsets = np.cumsum([0, *map(len, names)], dtype=np.int64)
    return offsets, np.array([word for name in names for word in name], dtype=np.int32)


def table_of(similarities: NDArray[np.floating[Any]]) -> tuple[Any, Any, Any]:
    csr = sparse.csr_matrix(similarities.astype(np.float32))
    return csr.indptr.astype(np.int64), csr.indices.astype(np.int32), csr.data


def random_table(random: np.random.Generator, words: int, density: float = 0.5) -> NDArray[np.float32]:
    """Symmetric, 1 on the diagonal."""
    s = random.random((words, words)) * (random.random((words, words)) < density)
    s = np.triu(s, 1)
    result: NDArray[np.float32] = (s + s.T + np.eye(words)).astype(np.float32)
    return result


def random_names(random: np.random.Generator, names: int, words: int, longest: int) -> list[list[int]]:
    return [random.integers(0, words, random.integers(0, longest + 1)).tolist() for _ in range(names)]


def matrix(left: Words, right: Words, idf: Any, table: Any, threads: int = 1, **options: Any) -> NDArray[np.float64]:
    out = np.empty((len(left[0]) - 1, len(right[0]) - 1))
    native.score_matrix(left, right, idf, table, **(OPTIONS | options), out=out, threads=threads)
    return out


@pytest.mark.parametrize(
    ("rule", "gap"), [("ml", None), ("damerau", 0), ("ext1", 1), ("ext2", 2), ("assignment", "free")]
)
def test_alignments_are_the_best_of_all_that_are_allowed(rule: str, gap: Any) -> None:
    random = np.random.default_rng(1)
    for _ in range(200):
        n, m = random.integers(1, 6, 2)
        s = np.zeros((n + m, n + m), dtype=np.float32)
        s[:n, n:] = random.random((n, m)) * (random.random((n, m)) < 0.7)
        idf = random.random(n + m) + 0.1
        weights = s[:n, n:].astype(float) * idf[:n, None] * idf[n:]
        norm = np.sqrt((idf[:n] ** 2).sum() * (idf[n:] ** 2).sum())
        left, right = packed([list(range(n))]), packed([list(range(n, n + m))])
        score = matrix(left, right, idf, table_of(s), **RULES[rule])[0, 0]
        assert score == pytest.approx(best_matching(weights.tolist(), gap) / norm, abs=1e-12)


def test_closest_average_and_greedy_follow_their_definitions() -> None:
    random = np.random.default_rng(2)
    s = random_table(random, 12)
    idf = random.random(12) + 0.1

    def sim(a: int, b: int) -> float:
        return float(s[a, b])

    names = [name for name in random_names(random, 60, 12, 5) if name]
    left = packed(names)

    def of(rule: str) -> NDArray[np.float64]:
        return matrix(left, left, idf, table_of(s), **RULES[rule])

    soft, positions, average, taken = of("soft"), of("soft positions"), of("average"), of("greedy")
    for i, x in enumerate(names):
        for j, y in enumerate(names):
            assert soft[i, j] == pytest.approx(softtfidf(x, y, sim, idf.__getitem__, 0.3, "types"), abs=1e-12)
            assert positions[i, j] == pytest.approx(softtfidf(x, y, sim, idf.__getitem__, 0.0, "positions"), abs=1e-12)
            assert average[i, j] == pytest.approx(monge_elkan(x, y, sim), abs=1e-12)
            assert taken[i, j] == pytest.approx(min(1.0, greedy(x, y, sim, idf.__getitem__)), abs=1e-12)
    assert np.array_equal(of("average mean"), (average + average.T) / 2)
    assert np.array_equal(of("average max"), np.maximum(average, average.T))
    assert np.array_equal(of("average min"), np.minimum(average, average.T))


@pytest.mark.parametrize("pairs", [2_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_invariants_of_meta_levenshtein(pairs: int) -> None:
    random = np.random.default_rng(3)
    size = round(pairs**0.5)
    s = random_table(random, 40, 0.3)
    idf = random.random(40) + 0.01
    names = [name or [0] for name in random_names(random, size, 40, 6)]
    words = packed(names)
    scores = [
        matrix(words, words, idf, table_of(s), **RULES[rule])
        for rule in ("ml", "damerau", "ext1", "ext2", "assignment")
    ]
    for score in scores[:-1]:
        assert np.array_equal(score, score.T)
        assert score.min() >= 0
        assert score.max() <= 1
        assert (score.diagonal() == 1).all()
    for smaller, larger in pairwise(scores):
        assert (smaller <= larger + 1e-12).all()
    exact = table_of(np.eye(40))
    cosine = matrix(words, words, idf, exact, alignment="closest", types=True)
    once = [sorted(set(name)) for name in names]
    assert matrix(packed(once), packed(once), idf, exact) == pytest.approx(
        matrix(packed(once), packed(once), idf, exact, alignment="closest", types=True), abs=1e-12
    )
    assert (matrix(words, words, idf, table_of(s), alignment="closest", types=True) >= cosine - 1e-12).all()


@pytest.mark.parametrize("rule", RULES)
def test_search_finds_exactly_what_scoring_all_pairs_finds(rule: str) -> None:
    random = np.random.default_rng(4)
    options = OPTIONS | RULES[rule]
    for words in (8, 60):
        s = random_table(random, words, 0.15)
        idf = random.exponential(1.0, words) * (random.random(words) < 0.9)
        names, others = packed(random_names(random, 150, words, 5)), packed(random_names(random, 80, words, 5))
        table = table_of(s)
        index = native.NameIndex(names, idf, table, **options)
        every = np.arange(words, dtype=np.int32)
        among = matrix(names, names, idf, table, **options)
        across = matrix(others, names, idf, table, **options)
        for threshold in (0.2, 0.6, 0.9):
            left, right, score, _, _ = index.search_self(0, 150, threshold=threshold, top=0, threads=2)
            wanted = {(i, j, among[i, j]) for i, j in np.argwhere(among >= threshold) if i < j}
            assert set(zip(left, right, score, strict=True)) == wanted
            assert len(left) == len(wanted)
            left, right, score, _, _ = index.search(others, idf, every, table, threshold=threshold, top=0, threads=2)
            assert set(zip(left, right, score, strict=True)) == {
                (i, j, across[i, j]) for i, j in np.argwhere(across >= threshold)
            }
        left, right, score, _, _ = index.search(others, idf, every, table, threshold=0.0, top=3, threads=1)
        best = [
            (i, j, across[i, j])
            for i in range(80)
            for j in sorted(np.flatnonzero(across[i] > 0), key=lambda j: (-across[i, j], j))[:3]
        ]
        assert list(zip(left, right, score, strict=True)) == best


def test_pairs_and_matrix_agree_however_pairs_are_put_together() -> None:
    random = np.random.default_rng(5)
    s, idf = random_table(random, 30, 0.2), random.random(30)
    names = packed(random_names(random, 50, 30, 5))
    scores = matrix(names, names, idf, table_of(s), gap=1, threads=3)
    assert np.array_equal(scores, matrix(names, names, idf, table_of(s), gap=1))
    for order in (np.arange(2500), random.permutation(2500)):
        lefts, rights = (order // 50).astype(np.int32), (order % 50).astype(np.int32)
        out = np.empty(2500)
        options = OPTIONS | {"gap": 1}
        native.score_pairs(names, names, idf, table_of(s), lefts, rights, **options, out=out, threads=2)
        assert np.array_equal(out, scores[lefts, rights])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alignment": "none"}, "no alignment is called none"),
        ({"sides": "both"}, "no sides are called both"),
        ({"gap": -2}, "gap must be at least 0"),
        ({"theta": 2.0}, "theta must lie from 0 to 1"),
        ({"words": packed([[0, 7]])}, "words must lie from 0 to 3 - 1, got 7"),
        ({"words": (np.array([0, 3]), np.array([0], dtype=np.int32))}, "must end with 1"),
        ({"idf": np.ones(2)}, "one weight a word"),
        ({"idf": -np.ones(3)}, "must not be negative"),
        ({"table": table_of(2 * np.eye(3))}, "similarities must lie from 0 to 1, got 2"),
        (
            {"table": (np.array([0, 1, 1, 1]), np.array([5], dtype=np.int32), np.ones(1, np.float32))},
            "columns of the table",
        ),
    ],
)
def test_wrong_arrays_are_refused(change: dict[str, Any], message: str) -> None:
    given = {"words": packed([[0, 1]]), "idf": np.ones(3), "table": table_of(np.eye(3))} | change
    words, idf, table = given.pop("words"), given.pop("idf"), given.pop("table")
    with pytest.raises(ValueError, match=message):
        matrix(words, words, idf, table, **given)


@pytest.mark.parametrize("rule", ["assignment", "greedy"])
def test_long_names_are_matched_by_the_words_the_table_links(rule: str) -> None:
    random = np.random.default_rng(11)
    words = 1500
    links = np.triu(random.random((words, words)) * (random.random((words, words)) < 4e-4), 1)
    similar = (links + links.T + np.eye(words)).astype(np.float32)
    names = [random.integers(0, words, size).tolist() for size in (1200, 1100, 2500, 3)]
    idf = random.random(words)
    options = OPTIONS | RULES[rule]
    found = matrix(packed(names), packed(names), idf, table_of(similar), **options)
    pairs = np.argwhere(np.ones_like(found)).astype(np.int32)
    single = np.empty(len(pairs))
    given = (packed(names), packed(names), idf, table_of(similar))
    native.score_pairs(*given, *pairs.T.copy(), out=single, threads=1, **options)
    assert single.reshape(found.shape).tobytes() == found.tobytes()
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            w = similar[np.ix_(a, b)].astype(np.float64) * np.outer(idf[a], idf[b])
            best = w[linear_sum_assignment(w, maximize=True)].sum() if rule == "assignment" else greedy_sum(w)
            norm = np.sqrt((idf[a] ** 2).sum() * (idf[b] ** 2).sum())
            assert found[i, j] == pytest.approx(min(best / norm, 1.0), abs=1e-9)
    index = native.NameIndex(packed(names), idf, table_of(similar), **options)
    left, right, scores, *_ = index.search_self(0, len(names), threshold=0.01, top=3, threads=2)
    assert scores == pytest.approx(found[left, right], abs=1e-12)
    assert len(scores) == (found >= 0.01).sum() - len(names)


def greedy_sum(weights: NDArray[np.float64]) -> float:
    """The largest weight, then the largest that is left in other rows and columns."""
    rows, columns = np.nonzero(weights)
    order = np.argsort(-weights[rows, columns], kind="stable")
    used: tuple[set[int], set[int]] = (set(), set())
    total = 0.0
    for i, j in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
        if i not in used[0] and j not in used[1]:
            used[0].add(i)
            used[1].add(j)
            total += float(weights[i, j])
    return total
