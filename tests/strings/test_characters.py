"""Edit distances and the Jaro family: definitions, peers, graphs, any Unicode text, any number of threads."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import names as reference

from textmill._native import strings as native
from textmill.errors import DataError
from textmill.strings import (
    CustomMeasure,
    Damerau,
    Jaro,
    JaroWinkler,
    Levenshtein,
    Measure,
    NeedlemanWunsch,
    Osa,
    Words,
)

MEASURES = [Levenshtein(), Osa(), Damerau(), Jaro(), JaroWinkler()]
ALPHABETS = ["ab", "abcd", "abcdefghijklmnop éßЖ漢😀"]
TEXTS = st.text(st.sampled_from("abcé漢😀 "), max_size=12)


def words(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    lengths = [0, 1, 3, 8, 9, 16, 17, 32, 33, 63, 64, 65, 130, 300]
    return ["".join(draw.choices(draw.choice(ALPHABETS), k=draw.choice(lengths))) for _ in range(count)]


@given(TEXTS, TEXTS)
def test_kernels_follow_the_definitions(x: str, y: str) -> None:
    assert Levenshtein().similarity(x, y) == pytest.approx(reference.edit_similarity(x, y), abs=1e-15)
    assert Osa().similarity(x, y) == pytest.approx(reference.edit_similarity(x, y, "osa"), abs=1e-15)
    assert Damerau().similarity(x, y) == pytest.approx(reference.edit_similarity(x, y, "damerau"), abs=1e-15)
    for window in ("paper", "winkler", "secondstring"):
        for half in ("exact", "floor"):
            score = Jaro(window=window, half_transpositions=half).similarity(x, y)
            assert score == pytest.approx(reference.jaro(x, y, window, half), abs=1e-15)
            score = JaroWinkler(prefix=0.2, boost=0.5, window=window, half_transpositions=half).similarity(x, y)
            options = {"window": window, "half_transpositions": half}
            assert score == pytest.approx(reference.jaro_winkler(x, y, 0.2, 0.5, **options), abs=1e-15)


@given(TEXTS, TEXTS)
def test_alignments_give_the_scores_of_the_kernels(x: str, y: str) -> None:
    for measure in MEASURES:
        alignment = measure.align(x, y)
        assert alignment.score == pytest.approx(measure.similarity(x, y), abs=1e-15)
        if measure.name in ("levenshtein", "osa", "damerau") and (x or y):
            unmatched = len(alignment.unmatched_left) + len(alignment.unmatched_right)
            weights = sum(edge.weight for edge in alignment.edges)
            most = max(len(x), len(y))
            assert (most - unmatched - len(alignment.edges) + weights) / most == pytest.approx(alignment.score)


def test_levenshtein_by_graph_is_one_minus_distance_on_ten_thousand_pairs() -> None:
    from rapidfuzz.distance import OSA, DamerauLevenshtein
    from rapidfuzz.distance import Levenshtein as Peer

    draw = random.Random(1)
    pairs = [("".join(draw.choices("abcd", k=draw.randrange(9))), "".join(draw.choices("abcd", k=draw.randrange(9))))
             for _ in range(10_000)]  # fmt: skip
    left, right = zip(*pairs, strict=True)
    for measure, peer in ((Levenshtein(), Peer), (Osa(), OSA), (Damerau(), DamerauLevenshtein)):
        expected = np.array([peer.normalized_similarity(a, b) for a, b in pairs])
        assert np.abs(measure.fit().pairs(left, right) - expected).max() < 1e-12
        graphs = np.array([measure.align(a, b).score for a, b in pairs[:1000]])
        assert np.abs(graphs - expected[:1000]).max() < 1e-12


@pytest.mark.parametrize("name", ["Levenshtein", "OSA", "DamerauLevenshtein", "Jaro", "JaroWinkler"])
def test_matrices_equal_those_of_rapidfuzz(name: str) -> None:
    from rapidfuzz import distance, process

    options = {"window": "winkler", "half_transpositions": "floor"}
    ours: dict[str, Measure] = {
        "Levenshtein": Levenshtein(),
        "OSA": Osa(),
        "DamerauLevenshtein": Damerau(),
        "Jaro": Jaro(**options),
        "JaroWinkler": JaroWinkler(),
    }
    left, right = words(150, 2), words(170, 3)
    scorer = getattr(distance, name).normalized_similarity
    expected = process.cdist(left, right, scorer=scorer, dtype=np.float64)
    fitted = ours[name].fit()
    scores = fitted.matrix(left, right, n_jobs=1)
    assert np.abs(scores - expected).max() < 1e-12
    assert np.array_equal(scores, fitted.matrix(left, right, n_jobs=3))
    assert np.array_equal(scores.astype(np.float32), fitted.matrix(left, right, dtype=np.float32))
    pairs = fitted.pairs(left, right[:150])
    assert np.abs(pairs - np.diagonal(scores)).max() < 1e-15


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_a_matrix_of_one_list_equals_that_of_two(measure: Measure) -> None:
    names = words(200, 4)
    fitted = measure.fit()
    scores = fitted.matrix(names)
    assert np.array_equal(scores, fitted.matrix(names, list(names)))
    assert np.array_equal(scores, scores.T)
    assert np.all(np.diagonal(scores) == 1)


def test_both_instruction_sets_give_the_same_scores() -> None:
    import subprocess
    import sys

    code = (
        "import hashlib, random; from textmill.strings import Jaro, Levenshtein, Osa; r = random.Random(5);"
        "n = [''.join(r.choices('abcé', k=r.randrange(70))) for _ in range(150)];"
        "made = b''.join(m.fit().matrix(n, n[:]).tobytes() for m in (Jaro(), Levenshtein(), Osa()));"
        "print(hashlib.sha1(made).hexdigest())"
    )
    prints = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "TEXTMILL_SIMD": simd}, capture_output=True, check=True
        ).stdout
        for simd in ("", "baseline")
    }
    assert len(prints) == 1


def test_ten_thousand_characters() -> None:
    draw = random.Random(6)
    x = "".join(draw.choices("abcdefgh", k=10_000))
    y = x[:5000] + "Ж" + x[5001:9000]
    assert Levenshtein().similarity(x, y) == pytest.approx(1 - 1001 / 10_000)
    assert Osa().fit().matrix([x], [y])[0, 0] == pytest.approx(1 - 1001 / 10_000)
    assert 0.9 < Jaro().similarity(x, y) < 1.0


def test_words_are_compared_as_wholes() -> None:
    assert Levenshtein(Words()).similarity("John Adam Smith", "John Smith") == pytest.approx(2 / 3)
    names = ["John Smith", "Smith John", "", "John"]
    assert Osa(Words()).fit().matrix(names)[0].tolist() == [1.0, 0.5, 0.0, 0.5]


def test_decomposed_characters_are_composed_first() -> None:
    assert Levenshtein().similarity("Mu\u0308ller", "Müller") == 1.0


def test_lone_surrogates_and_controls_are_symbols_like_others() -> None:
    assert Levenshtein().similarity("a\ud800\0", "a\0") == pytest.approx(2 / 3)


@given(TEXTS, TEXTS, st.sampled_from([0.0, 0.3, 1.0, 1.5]))
def test_needleman_wunsch_follows_its_definition(x: str, y: str, gap: float) -> None:
    sub = CustomMeasure("near", lambda a, b: 1.0 if a == b else 0.5 if {a, b} <= set("abc") else 0.0)
    cost = reference.needleman_wunsch(x, y, gap, lambda a, b: 1 - sub.function(a, b))
    expected = max(0.0, 1 - cost / max(len(x), len(y))) if x or y else 1.0
    alignment = NeedlemanWunsch(gap=gap, sub=sub).align(x, y)
    assert alignment.score == pytest.approx(expected, abs=1e-12)
    assert NeedlemanWunsch(gap=gap, sub=sub).similarity(x, y) == pytest.approx(expected, abs=1e-12)


def test_bad_options_are_named() -> None:
    with pytest.raises(DataError, match="window must be one of"):
        Jaro(window="wide")
    with pytest.raises(DataError, match="half_transpositions must be one of"):
        JaroWinkler(half_transpositions="half")
    with pytest.raises(DataError, match=r"prefix must be .* at most 0\.25"):
        JaroWinkler(prefix=0.3)
    with pytest.raises(DataError, match="gap must be a number at least"):
        NeedlemanWunsch(gap=-1)


def test_the_binding_checks_what_it_is_given() -> None:
    offsets, symbols = np.array([0, 1]), np.array([97], np.uint32)
    good = (offsets, symbols)
    rest = {"kind": "jaro", "window": "paper", "floor": False, "prefix": 0.0, "boost": 1.0, "threads": 1}

    def matrix(left: object, right: object, **options: object) -> None:
        native.character_matrix(left, right, **({"symmetric": False, "out": np.empty((1, 1))} | rest | options))

    matrix(good, good)
    for left, options, message in [
        ((np.array([0, 2]), symbols), {}, "must end with 1"),
        ((np.array([1, 1]), symbols), {}, "must begin with 0"),
        ((np.array([0, 2, 1]), symbols), {}, "must not decrease"),
        ((offsets, np.array([1 << 27], np.uint32)), {}, "must be below"),
        (good, {"kind": "hamming"}, "no measure of characters"),
        (good, {"window": "wide"}, "no window"),
        (good, {"prefix": 0.5}, "prefix must lie"),
        (good, {"out": np.empty((2, 1))}, "out must be 1 x 1"),
        (good, {"threads": 0}, "threads must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            matrix(left, good, **options)
    pairs = {"out": np.empty(1)} | rest
    with pytest.raises(ValueError, match=r"pair 0 is \(1, 0\)"):
        native.character_pairs(good, good, np.array([1], np.int32), np.array([0], np.int32), **pairs)
