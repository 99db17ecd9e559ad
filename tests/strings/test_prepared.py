"""Strings prepared once: pairs above a threshold are those of a matrix of all pairs, to the last bit."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from textmill._native import strings as native
from textmill.errors import DataError
from textmill.strings import CustomMeasure, Measure, Pairs, parse_measure, scored_join
from textmill.tasks.names.generate import generate_names

TEXTS = [
    "levenshtein",
    "osa",
    "damerau",
    "jaro",
    "jaro(window='secondstring')",
    "jaro_winkler",
    "jaro_winkler(prefix=0.25, boost=0)",
    "levenshtein(words)",
    "osa(bigrams)",
    "jaccard(trigrams)",
    "dice(words)",
    "overlap(words)",
    "tfidf(words)",
    "needleman_wunsch(gap=0.5)",
    "exact",
    "power(jaro, 3)",
    "mean(jaro, jaccard(bigrams))",
    "py_softtfidf",
]


def strings(seed: int) -> list[str]:
    """Names, empty and very long strings, strings of one symbol, strings that share no symbol."""
    dice = random.Random(seed)
    letters = ["".join(dice.choices("abcdxyzé東", k=dice.randint(0, 90))) for _ in range(40)]
    return [
        *generate_names(12, random_state=seed).names,
        *letters,
        "",
        "",
        "...",
        "a",
        "a" * 200,
        "b" * 130,
        "x y",
        "😀",
    ]


def expected(scores: Any, at_least: float, within: bool) -> dict[tuple[int, int], float]:
    chosen = (scores >= at_least) & (scores > 0)
    return {(int(i), int(j)): scores[i, j] for i, j in np.argwhere(chosen) if not within or i < j}


def triples(pairs: Pairs) -> dict[tuple[int, int], float]:
    found = {(int(i), int(j)): float(score) for i, j, score in zip(*pairs, strict=True)}
    assert len(found) == len(pairs.score)  # no pair comes twice
    return found


@pytest.mark.parametrize("text", TEXTS)
def test_scores_of_prepared_strings_are_those_of_the_matrix(text: str) -> None:
    left, right = strings(1), strings(2)
    if text in ("needleman_wunsch(gap=0.5)", "py_softtfidf"):  # in Python
        left, right = left[:16], right[:6]
    fitted = parse_measure(text).fit(left)
    a, b = fitted.prepare(left), fitted.prepare(right)
    across, within = fitted.matrix(left, right), fitted.matrix(left, list(left))
    for at_least in (0.0, 0.4, 0.75, 0.9, 1.0):
        for jobs in (1, 5):
            assert triples(a.scores(b, at_least=at_least, n_jobs=jobs)) == expected(across, at_least, False)
        assert triples(a.scores(at_least=at_least)) == expected(within, at_least, True)
    assert triples(a.scores(b)) == expected(across, 0.0, False)
    part = a.part(5, 15)
    assert triples(part.scores(b, at_least=0.4)) == expected(across[5:15], 0.4, False)


def test_blocks_of_rows_give_the_pairs_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the other side has more strings than scores are held together."""
    names, others = strings(3)[:12], strings(4)[:7]
    fitted = parse_measure("needleman_wunsch(gap=0.5)").fit(names)
    across, within = fitted.matrix(names, others), fitted.matrix(names, list(names))
    heights: list[int] = []
    score_matrix = fitted.score_matrix

    def watched(rows: list[str], columns: list[str], n_jobs: int) -> Any:
        heights.append(len(rows))
        return score_matrix(rows, columns, n_jobs)

    monkeypatch.setattr(fitted, "score_matrix", watched)
    monkeypatch.setattr(scored_join, "_CELLS", 37)  # five rows against seven strings, three against twelve
    assert triples(fitted.prepare(names).scores(fitted.prepare(others))) == expected(across, 0.0, False)
    assert heights == [5, 5, 2]
    assert triples(fitted.prepare(names).scores()) == expected(within, 0.0, True)
    assert heights[3:] == [3, 3, 3, 3]
    assert len(fitted.prepare(names).scores(fitted.prepare([])).left) == 0


def test_a_measure_of_yours_can_be_prepared() -> None:
    same_end: Measure = CustomMeasure("same_end", lambda a, b: float(a[-1:] == b[-1:]))
    names = same_end.fit().prepare(["Ann", "Jon", "Tom"])
    assert triples(names.scores(at_least=0.5)) == {(0, 1): 1.0}
    assert len(names) == 3


def test_sides_of_different_measures_do_not_meet() -> None:
    letters, words = (parse_measure(text).fit(["a b"]).prepare(["a b"]) for text in ("jaro", "dice(words)"))
    for one, other in ((letters, words), (words, letters)):
        with pytest.raises(DataError, match="same fitted measure"):
            one.scores(other)
    with pytest.raises(DataError, match="at_least must"):
        letters.scores(at_least=1.5)


def test_what_a_kernel_cannot_search_is_refused() -> None:
    good = np.array([0, 1], np.int64), np.array([97], np.uint32)
    options: dict[str, Any] = {"kind": "jaro", "window": "paper", "floor": False, "prefix": 0.0, "boost": 1.0}
    limits: dict[str, Any] = {"at_least": 0.5, "length_ratio": 0.0, "symmetric": False, "threads": 1}
    other = np.array([0, 1], np.int64), np.array([98], np.uint32)
    for left, right, changes in (
        (good, good, {"threads": 0}),
        (good, good, {"at_least": -0.1}),
        (good, good, {"at_least": float("nan")}),
        (good, good, {"length_ratio": 1.5}),
        (good, other, {"symmetric": True}),
        ((np.array([0, 2], np.int64), good[1]), good, {}),
    ):
        with pytest.raises(ValueError, match=r"must|symmetric"):
            native.character_search(left, right, **(options | limits | changes))
