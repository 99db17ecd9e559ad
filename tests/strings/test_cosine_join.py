"""The join by cosine: what its index finds is what scoring all pairs finds, with fewer cosines computed."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from textmill._native import strings as native
from textmill.strings import Cosine, TfIdf, parse_measure
from textmill.strings.cosine_join import CosineJoin
from textmill.strings.features import CustomFeatures
from textmill.strings.pairs import Pairs
from textmill.tasks.names.generate import generate_names

ODD = ["", "", "...", "?!", "a", "Łódź 東京", "שלום עולם", "😀", "x " * 60, "same same", "same", "q" * 10_000]
MEASURES = [
    "tfidf(words)",
    "tfidf(trigrams)",
    "tfidf(bigrams, documents='tokens')",
    "cosine(words)",
    "cosine(trigrams)",
]


def found(pairs: Pairs) -> dict[tuple[int, int], float]:
    return {(int(i), int(j)): float(score) for i, j, score in zip(*pairs, strict=True)}


def equal(got: dict[tuple[int, int], float], scores: np.ndarray, pairs: np.ndarray, threshold: float) -> None:
    """The same pairs with the same cosines, but for pairs that lie within rounding of the threshold."""
    wanted = {(int(i), int(j)): float(scores[i, j]) for i, j in pairs}
    for pair in got.keys() | wanted.keys():
        assert got.get(pair, threshold) == pytest.approx(wanted.get(pair, threshold), abs=1e-12), pair


@pytest.mark.parametrize("text", MEASURES)
def test_the_join_equals_brute_force(text: str) -> None:
    left, others = (
        [*generate_names(120, random_state=3).names, *ODD],
        [*generate_names(40, random_state=4).names, *ODD, "unheard of"],
    )
    fitted = parse_measure(text).fit(left)
    join = fitted.join(left, min_word_similarity=0.3, n_jobs=1)
    assert isinstance(join, CosineJoin)
    among, across = fitted.matrix(left), fitted.matrix(others, left)
    for threshold in (0.0, 0.1, 0.45, 0.6, 0.9, 1.0):
        pairs = np.argwhere(np.triu((among >= threshold) & (among > 0), 1))
        equal(found(join.among(0, len(left), threshold, 0, 2)), among, pairs, threshold)
        pairs = np.argwhere((across >= threshold) & (across > 0))
        equal(found(join.across(others, threshold, 0, 2)), across, pairs, threshold)


@pytest.mark.parametrize("seed", range(20))
def test_random_vectors_are_joined_as_by_brute_force(seed: int) -> None:
    random = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))[: random.integers(2, 26)]
    chance = random.dirichlet(np.full(len(letters), 0.3))
    names = ["".join(random.choice(letters, random.integers(0, 30), p=chance)) for _ in range(60)]
    for measure in (Cosine(CustomFeatures("letters", list)), TfIdf(CustomFeatures("letters", list))):
        fitted = measure.fit(names)
        scores = fitted.matrix(names)
        threshold = float(random.uniform(0.05, 1.0))
        join = fitted.join(names, min_word_similarity=0.0, n_jobs=1)
        pairs = np.argwhere(np.triu((scores >= threshold) & (scores > 0), 1))
        equal(found(join.among(0, len(names), threshold, 0, 1)), scores, pairs, threshold)
        top = int(random.integers(1, 5))
        best = join.among(0, len(names), 0.0, top, 1)
        for i, row in enumerate(scores):
            row[i] = 0.0
            expected = sorted(row[row > 0], reverse=True)[:top]
            assert best.score[best.left == i] == pytest.approx(expected, abs=1e-12)


def test_equal_vectors_have_exactly_the_cosine_1_in_both_directions() -> None:
    names = ["Ann Mary Smith", "Smith Mary Ann", "Tom Jones", "Jones Tom", "Ann Jones"]
    join = TfIdf().fit(names).join(names, min_word_similarity=0.0, n_jobs=1)
    assert found(join.among(0, 5, 1.0, 0, 1)) == {(0, 1): 1.0, (2, 3): 1.0}
    scores = found(join.among(0, 5, 0.0, 4, 1))
    assert all(scores[i, j] == scores[j, i] for i, j in scores)


def test_the_bounds_spare_most_of_the_cosines() -> None:
    names = generate_names(1_000, random_state=5).names
    join = parse_measure("tfidf(trigrams)").fit(names).join(names, min_word_similarity=0.0, n_jobs=1)
    left, _, _, candidates, computed = join.index(1).search_self(0, len(names), threshold=0.6, top=0, threads=1)
    assert len(left) <= computed < candidates < len(names) ** 2 / 2 / 20
    assert computed < 20 * len(left)


def test_joins_have_the_same_bytes_for_any_threads_blocks_and_after_a_journey() -> None:
    names = generate_names(150, random_state=6).names
    join = parse_measure("tfidf(trigrams)").fit(names).join(names, min_word_similarity=0.0, n_jobs=1)
    whole = join.among(0, len(names), 0.4, 3, 1)
    for threads in (2, 5):
        again = pickle.loads(pickle.dumps(join))  # noqa: S301
        blocks = [again.among(b, min(b + 77, len(names)), 0.4, 3, threads) for b in range(0, len(names), 77)]
        for one, other in zip(whole, Pairs.concatenate(blocks), strict=True):
            assert one.tobytes() == other.tobytes()


def test_names_added_later_are_found_like_the_first() -> None:
    first, more = (
        [*generate_names(20, random_state=5).names, ""],
        [*generate_names(20, random_state=6).names, "", "新しい"],
    )
    fitted = parse_measure("tfidf(trigrams)").fit(first)
    grown, whole = (
        fitted.join(first, min_word_similarity=0.0, n_jobs=1),
        fitted.join([*first, *more], min_word_similarity=0.0, n_jobs=1),
    )
    grown.among(0, 1, 0.5, 0, 1)
    grown.add(more, 1)
    total = len(first) + len(more)
    for one, other in zip(grown.among(0, total, 0.3, 0, 1), whole.among(0, total, 0.3, 0, 1), strict=True):
        assert np.array_equal(one, other)


def test_arrays_that_do_not_fit_are_refused() -> None:
    offsets, words, idf = np.array([0, 2]), np.array([0, 1], np.int32), np.ones(2)
    index = native.CosineIndex((offsets, words), idf, threads=1)
    for given in ((np.array([0, 3]), words), (np.array([1, 2]), words), (offsets, np.array([0, 2], np.int32))):
        with pytest.raises(ValueError, match="must"):
            native.CosineIndex(given, idf, threads=1)
        with pytest.raises(ValueError, match="must"):
            index.search(given, idf, threshold=0.1, top=0, threads=1)
    with pytest.raises(ValueError, match="weights of words"):
        native.CosineIndex((offsets, words), np.array([1.0, np.nan]), threads=1)
    with pytest.raises(ValueError, match="names must lie"):
        index.search_self(0, 2, threshold=0.1, top=0, threads=1)
    with pytest.raises(ValueError, match="threshold"):
        index.search_self(0, 1, threshold=-0.1, top=0, threads=1)
    with pytest.raises(ValueError, match="threads"):
        index.search_self(0, 1, threshold=0.1, top=0, threads=0)
