"""Joins of names: what an index finds is what scoring all pairs finds."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from textmill.strings import parse_measure
from textmill.strings.pairs import NameJoin, Pairs
from textmill.strings.scored_join import ScoredJoin
from textmill.strings.word_join import WordJoin
from textmill.tasks.names.collection import read_names
from textmill.tasks.names.generate import generate_names

MEASURES = [
    "ml(words, sub=tfidf(trigrams), transpositions='extended')",
    "ml(words, sub=ml(trigrams, sub=context))",
    "assignment(words, sub=ml(trigrams))",
    "greedy(words, sub=tfidf(trigrams), theta=0.2)",
    "softtfidf(words, sub=tfidf(trigrams), symmetry='mean')",
    "softtfidf(words, sub=tfidf(bigrams), theta=0.4, multiplicity='positions', clip=True)",
    "monge_elkan(words, sub=tfidf(trigrams), symmetry='max')",
    "tfidf(words)",
    "tfidf(trigrams)",
    "cosine(words)",
    "jaccard(trigrams)",
]
ODD = ["", "", "...", "?!", "a", "Łódź 東京", "שלום עולם", "😀", "x " * 60, "same same", "same"]


def names() -> list[str]:
    return [*generate_names(30, random_state=3).names, *ODD]


def triples(pairs: Pairs) -> dict[tuple[int, int], float]:
    return {(int(i), int(j)): float(score) for i, j, score in zip(*pairs, strict=True)}


def close(found: dict[tuple[int, int], float], wanted: dict[tuple[int, int], float], threshold: float) -> None:
    """Equal up to the rounding of tables to float32; at the threshold itself either answer will do."""
    for pair in found.keys() | wanted.keys():
        a, b = found.get(pair, 0.0), wanted.get(pair, 0.0)
        assert a == pytest.approx(b, abs=2e-6) or max(a, b) == pytest.approx(threshold, abs=2e-6), pair


@pytest.mark.parametrize("text", MEASURES)
def test_joins_find_what_scoring_all_pairs_finds(text: str) -> None:
    left, others = names(), [*generate_names(12, random_state=4).names, *ODD, "unheard words"]
    fitted = parse_measure(text).fit(left)
    among, across = fitted.matrix(left), fitted.matrix(others, left)
    join = parse_measure(text).fit(left).join(left, min_word_similarity=0.0, n_jobs=1)  # which has not met the others
    for threshold in (0.3, 0.7):
        wanted = {(i, j): among[i, j] for i, j in np.argwhere(among >= threshold - 1e-5) if i < j}
        close(triples(join.among(0, len(left), threshold, 0, 2)), wanted, threshold)
        wanted = {(i, j): across[i, j] for i, j in np.argwhere(across >= threshold - 1e-5)}
        close(triples(join.across(others, threshold, 0, 2)), wanted, threshold)


CUT = [
    "ml(words, sub=power(jaro, 3), transpositions='extended')",
    "ml(words, sub=ml(trigrams, sub=context), transpositions='extended')",
    "assignment(words, sub=jaro)",
    "greedy(words, sub=levenshtein, theta=0.1)",
    "softtfidf(words, sub=tfidf(trigrams), symmetry='mean')",
    "softtfidf(words, sub=jaro, theta=0.2, multiplicity='positions')",
    "monge_elkan(words, sub=levenshtein, symmetry='max')",
]


@pytest.mark.parametrize("text", CUT)
@pytest.mark.parametrize("epsilon", [0.3, 0.5])
def test_a_cut_table_loses_no_pair_above_the_threshold_and_changes_no_score(text: str, epsilon: float) -> None:
    left, others = [*generate_names(60, random_state=3).names, *ODD], generate_names(12, random_state=4).names
    fitted = parse_measure(text).fit(left)
    among, across = fitted.matrix(left), fitted.matrix(others, left)
    join = parse_measure(text).fit(left).join(left, min_word_similarity=epsilon, n_jobs=1)
    for threshold in (0.55, 0.8):
        wanted = {(i, j): among[i, j] for i, j in np.argwhere(among >= threshold - 1e-5) if i < j}
        close(triples(join.among(0, len(left), threshold, 0, 2)), wanted, threshold)
        wanted = {(i, j): across[i, j] for i, j in np.argwhere(across >= threshold - 1e-5)}
        close(triples(join.across(others, threshold, 0, 2)), wanted, threshold)
    best = triples(join.among(0, len(left), 0.55, 2, 2))
    for i, row in enumerate(among):
        scores = sorted((row[j] for j in range(len(left)) if j != i and row[j] >= 0.55), reverse=True)[:2]
        found = sorted((score for (k, _), score in best.items() if k == i), reverse=True)
        assert found == pytest.approx(scores, abs=2e-6)


@pytest.mark.parametrize("text", CUT[:3])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0])
def test_the_best_of_names_with_weights_come_in_order_with_exact_scores(text: str, epsilon: float) -> None:
    left = [*generate_names(40, random_state=3).names, "Mary Jane Watson", "Watson Mary Jane"]
    fitted = parse_measure(text).fit(left)
    scores = fitted.matrix(left)
    join = fitted.join(left, min_word_similarity=epsilon, n_jobs=1)
    best = join.among(0, len(left), 0.55, 2, 2)
    assert len(best.left) > 4
    assert best.score == pytest.approx(scores[best.left, best.right], abs=2e-6)
    order = list(zip(best.left.tolist(), (-best.score).tolist(), best.right.tolist(), strict=True))
    assert order == sorted(order)
    assert np.bincount(best.left).max() == 2
    every = join.among(0, len(left), 0.0, 0, 2)  # without a threshold: all that have anything in common
    assert every.score.min() > 0
    if isinstance(join, WordJoin) and epsilon == 0.0:
        assert join.matrix(2) == pytest.approx(scores, abs=2e-6)


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_a_score_that_is_the_threshold_reaches_it(epsilon: float) -> None:
    left = ["Ann Lee", "Bob Roy", "Ann Lee"]
    join = (
        parse_measure("ml(words, sub=jaro, weights='uniform')")
        .fit(left)
        .join(left, min_word_similarity=epsilon, n_jobs=1)
    )
    score = join.among(0, 3, 0.9, 0, 1).score[0]
    assert triples(join.among(0, 3, score, 0, 1)) == {(0, 2): score}


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0])
def test_a_word_that_all_names_share_makes_no_pair(epsilon: float) -> None:
    left = ["the cat", "the dog", "the bird song", "xx the"]
    join = parse_measure("ml(words, sub=jaro)").fit(left).join(left, min_word_similarity=epsilon, n_jobs=1)
    assert triples(join.among(0, 4, 0.0, 0, 1)) == {(1, 2): pytest.approx(0.5106882)}


@pytest.mark.parametrize("text", ["levenshtein", "ml(words, sub=tfidf(trigrams))", "tfidf(trigrams)"])
def test_blocks_of_names_give_the_pairs_of_all(text: str) -> None:
    left = names()
    join = parse_measure(text).fit(left).join(left, min_word_similarity=0.2, n_jobs=1)
    for top in (0, 2):
        whole = join.among(0, len(left), 0.3, top, 1)
        parts = Pairs.concatenate([join.among(i, min(i + 17, len(left)), 0.3, top, 1) for i in range(0, len(left), 17)])
        assert triples(parts) == triples(whole)


@pytest.mark.parametrize("text", ["ml(words, sub=tfidf(trigrams))", "levenshtein", "jaro_winkler", "jaccard(bigrams)"])
def test_names_added_later_are_found_like_the_first(text: str) -> None:
    first, more = generate_names(8, random_state=5).names, generate_names(5, random_state=6).names
    fitted = parse_measure(text).fit(first)
    grown, whole = (
        fitted.join(first, min_word_similarity=0.1, n_jobs=1),
        fitted.join([*first, *more], min_word_similarity=0.1, n_jobs=1),
    )
    grown.add(more, 1)
    total = len(first) + len(more)
    for one, other in zip(grown.among(0, total, 0.4, 0, 1), whole.among(0, total, 0.4, 0, 1), strict=True):
        assert np.array_equal(one, other)


def test_lengths_that_are_too_different_are_not_compared_and_nothing_is_lost() -> None:
    left = [*generate_names(10, random_state=7).names, "", "a", "ab", "x" * 300]
    for text in ("levenshtein", "osa", "damerau", "jaro", "jaro_winkler", "jaro_winkler(prefix=0.2)"):
        fitted = parse_measure(text).fit(left)
        scores = fitted.matrix(left)
        for threshold in (0.5, 0.8, 1.0):
            found = triples(ScoredJoin(fitted, left).among(0, len(left), threshold, 0, 1))
            assert found == {(i, j): scores[i, j] for i, j in np.argwhere(scores >= threshold) if i < j}


def test_the_best_of_each_name_are_those_of_the_whole_list() -> None:
    left = names()
    for text in ("ml(words, sub=tfidf(trigrams))", "levenshtein"):
        fitted = parse_measure(text).fit(left)
        join = fitted.join(left, min_word_similarity=0.0, n_jobs=1)
        best = join.among(0, len(left), 0.2, 2, 2)
        every: dict[int, list[tuple[float, int]]] = {}
        for (i, j), score in triples(join.among(0, len(left), 0.2, 0, 1)).items():
            every.setdefault(i, []).append((-score, j))
            every.setdefault(j, []).append((-score, i))
        wanted = [(i, j, -score) for i in sorted(every) for score, j in sorted(every[i])[:2]]
        assert list(zip(best.left.tolist(), best.right.tolist(), best.score.tolist(), strict=True)) == wanted


@pytest.mark.parametrize("threads", [2, 5])
def test_results_have_the_same_bytes_for_any_number_of_threads(threads: int) -> None:
    left = generate_names(100, random_state=8).names

    def made(jobs: int) -> tuple[NameJoin, Pairs]:
        fitted = parse_measure("ml(words, sub=ml(trigrams, sub=context))").fit(left)
        join = fitted.join(left, min_word_similarity=0.2, n_jobs=jobs)
        return join, join.among(0, len(left), 0.4, 0, jobs)

    (one, alone), (many, together) = made(1), made(threads)
    assert isinstance(one, WordJoin)
    assert isinstance(many, WordJoin)
    assert np.array_equal(one.table.data, many.table.data)
    for a, b in zip(alone, together, strict=True):
        assert a.tobytes() == b.tobytes()
    again = pickle.loads(pickle.dumps(one)).among(0, len(left), 0.4, 0, 1)  # noqa: S301
    assert again.score.tobytes() == alone.score.tobytes()


@pytest.mark.data
@pytest.mark.parametrize(
    "name",
    ["parks", "restaurant", "business", "gameExtracted", "vaUniv", "ucdPeopleMatch", "ucdPeopleCluster", "birdKunkel"],
)
def test_real_names_are_found_as_by_scoring_all_pairs(data: Path, name: str) -> None:
    encoding = "latin-1" if name == "ucdPeopleCluster" else "utf-8"
    names = read_names(data / "names" / f"{name}.txt", format="secondstring", encoding=encoding).names
    left = [text.lower() for text in names]
    for text in CUT[:2] + CUT[4:5]:
        fitted = parse_measure(text).fit(left)
        scores = fitted.matrix(left)
        wanted = {(i, j): scores[i, j] for i, j in np.argwhere(scores >= 0.6 - 2e-6) if i < j}
        close(triples(fitted.join(left, min_word_similarity=0.3, n_jobs=2).among(0, len(left), 0.6, 0, 2)), wanted, 0.6)


@pytest.mark.parametrize("measure", ["levenshtein", "osa", "damerau", "jaro", "jaro_winkler"])
@pytest.mark.parametrize("threshold", [0.4, 0.5, 0.75, 0.8, 0.9])
def test_lengths_leave_out_no_pair_that_reaches_the_threshold(measure: str, threshold: float) -> None:
    names = ["ab", "abcd", "abc", "abcde", "abcdefgh", "a", "xbcd", "abcdefghij", "abdc", "abcdefghi"]
    scores = parse_measure(measure).fit(names).matrix(names, names)
    join = ScoredJoin(parse_measure(measure).fit(names), names)
    unequal = 0
    for i, name in enumerate(names):  # one at a time: a block of several has the range of all their lengths
        expected = {(0, j): scores[i, j] for j in range(len(names)) if scores[i, j] >= threshold}
        assert triples(join.across([name], threshold, 0, 1)) == pytest.approx(expected)
        unequal += sum(len(name) != len(names[j]) for _, j in expected)
    assert unequal


def test_names_of_other_lengths_are_not_scored_by_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    left = ["x" * length for length in range(1, 41)]
    fitted = parse_measure("levenshtein").fit(left)
    assert ScoredJoin(fitted, left).across(["x" * 20], 0.8, 0, 1).right.tolist() == [19, *_around(19)]
    monkeypatch.setattr(type(fitted.measure), "length_ratio", lambda self, threshold: 0.96)  # more than it may ask for
    assert ScoredJoin(fitted, left).across(["x" * 20], 0.8, 0, 1).right.tolist() == [19]
    assert len(ScoredJoin(fitted, left).across(["y" * 20], 0.0, 0, 1).score) == 0  # nothing in common is no pair


def _around(place: int) -> list[int]:
    """Places of lengths 16 to 25 but 20, by falling score: shorter / longer."""
    return sorted((j for j in range(15, 25) if j != place), key=lambda j: (-min(j + 1, 20) / max(j + 1, 20), j))


@pytest.mark.parametrize(
    "text",
    ["levenshtein", "osa", "damerau", "jaro", "jaro_winkler", "jaro_winkler(prefix=0.2)", "jaro_winkler(prefix=0)"],
)
@pytest.mark.parametrize(("shorter", "longer"), [(8, 10), (6, 9), (10, 10)])
def test_a_name_and_its_beginning_just_reach_the_least_ratio_of_lengths(text: str, shorter: int, longer: int) -> None:
    name, measure = "abcdefghij"[:longer], parse_measure(text)
    score = measure.fit([name]).matrix([name], [name[:shorter]])[0, 0]
    assert measure.length_ratio(score) == pytest.approx(shorter / longer)


@pytest.mark.parametrize(
    ("text", "threshold", "ratio"),
    [
        ("jaro", 0.5, 0.0),  # two thirds without a common length
        ("levenshtein", 1.5, 1.0),
        ("jaro_winkler(prefix=0.25)", 0.99, 0.0),  # four letters in common are enough for a score of 1
        ("jaccard(bigrams)", 0.9, 0.0),
        ("levenshtein(words)", 0.9, 0.9),  # lengths count features
    ],
)
def test_lengths_say_only_what_is_known(text: str, threshold: float, ratio: float) -> None:
    assert parse_measure(text).length_ratio(threshold) == ratio
