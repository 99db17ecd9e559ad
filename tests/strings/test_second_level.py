"""Words-level measures: brute force, invariants, known defects, and the kernels against the alignments."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
from reference import names as reference

from textmill.errors import DataError
from textmill.strings import (
    Assignment,
    CustomMeasure,
    Greedy,
    Jaro,
    Measure,
    Ml,
    MongeElkan,
    SoftTfIdf,
    TfIdf,
    parse_measure,
)

WORDS = ["anna", "ann", "anne", "smith", "smyth", "jones", "johns", "mr", "dr", "de", "la"]
CHAINS = [
    "ml(words, sub={sub})",
    'ml(words, sub={sub}, transpositions="adjacent")',
    'ml(words, sub={sub}, transpositions="extended")',
    'ml(words, sub={sub}, transpositions="extended", gap=2)',
    "assignment(words, sub={sub})",
]
ALL = [
    *CHAINS,
    "greedy(words, sub={sub}, theta=0.3)",
    "softtfidf(words, sub={sub}, theta=0.2)",
    'softtfidf(words, sub={sub}, theta=0.2, multiplicity="positions")',
    'softtfidf(words, sub={sub}, theta=0.7, symmetry="mean")',
    "monge_elkan(words, sub={sub})",
    'monge_elkan(words, sub={sub}, symmetry="min")',
]


def names(count: int, seed: int, *, repeats: bool = True) -> list[str]:
    draw = random.Random(seed)
    pick = draw.choices if repeats else draw.sample
    return [" ".join(pick(WORDS, k=draw.randrange(1, 6))) for _ in range(count)]


@pytest.mark.parametrize("gap", [None, 0, 1, 2, "free"])
@pytest.mark.parametrize("count", [50, pytest.param(1000, marks=pytest.mark.slow)])
def test_alignments_equal_brute_force_on_random_weights(gap: int | str | None, count: int) -> None:
    draw = np.random.default_rng(7)
    for _ in range(count):
        n, m = draw.integers(1, 6, 2)
        table = draw.random((n, m)) * (draw.random((n, m)) < 0.7)
        left, right = [f"a{i}" for i in range(n)], [f"b{j}" for j in range(m)]
        sub = CustomMeasure("table", lambda a, b: table[int(a[1:]), int(b[1:])], same_both_ways=False)  # noqa: B023
        if gap == "free":
            measure: Measure = Assignment(sub=sub, weights="uniform")
        elif gap is None:
            measure = Ml(sub=sub, weights="uniform")
        else:
            measure = Ml(sub=sub, weights="uniform", transpositions="extended", gap=gap)  # type: ignore[arg-type]
        expected = reference.best_matching(table.tolist(), gap) / np.sqrt(n * m)
        alignment = measure.align(" ".join(left), " ".join(right))
        assert alignment.score == pytest.approx(expected, abs=1e-6)
        chosen = tuple((edge.left, edge.right) for edge in alignment.edges)
        assert gap == "free" or reference.allowed(chosen, gap)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ALL)
@pytest.mark.parametrize("sub", ["jaro", "tfidf(trigrams)", "exact", "ml(trigrams, sub=context)"])
def test_kernels_give_the_scores_of_the_alignments(text: str, sub: str) -> None:
    collection = names(40, 8)
    fitted = parse_measure(text.format(sub=sub)).fit(collection)
    left, right = names(30, 9), [*names(28, 10), "", "unseen words"]
    expected = np.array([fitted.align(a, b).score for a, b in zip(left, right, strict=True)])
    assert np.abs(fitted.pairs(left, right) - expected).max() < 1e-9
    matrix = fitted.matrix(left, right, n_jobs=1)
    assert np.abs(np.diagonal(matrix) - expected).max() < 1e-9
    assert np.array_equal(matrix, fitted.matrix(left, right, n_jobs=3))


def test_scores_follow_the_definitions() -> None:
    collection = names(60, 11)
    idf = reference.learned_idf([name.split() for name in dict.fromkeys(collection)])
    left, right = names(300, 12), names(300, 13)
    pairs = [(a.split(), b.split()) for a, b in zip(left, right, strict=True)]
    sim = reference.jaro
    expected = {
        "ml(words, sub=jaro)": lambda x, y: reference.meta_levenshtein(x, y, sim, idf),
        'ml(words, sub=jaro, transpositions="adjacent")': lambda x, y: reference.meta_levenshtein(x, y, sim, idf, 0),
        'ml(words, sub=jaro, transpositions="extended", gap=2)': lambda x, y: reference.meta_levenshtein(
            x, y, sim, idf, 2
        ),
        "assignment(words, sub=jaro)": lambda x, y: reference.meta_levenshtein(x, y, sim, idf, "free"),
        "greedy(words, sub=jaro, theta=0.4)": lambda x, y: reference.greedy(x, y, sim, idf, 0.4),
        "softtfidf(words, sub=jaro, theta=0.4)": lambda x, y: reference.softtfidf(x, y, sim, idf, 0.4),
        'softtfidf(words, sub=jaro, theta=0.4, multiplicity="positions")': (
            lambda x, y: reference.softtfidf(x, y, sim, idf, 0.4, "positions")
        ),
        "monge_elkan(words, sub=jaro)": lambda x, y: reference.monge_elkan(x, y, sim),
    }
    for text, score in expected.items():
        scores = parse_measure(text).fit(collection).pairs(left, right)
        assert np.abs(scores - [score(x, y) for x, y in pairs]).max() < 1e-6, text


@pytest.mark.parametrize("count", [2000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_invariants_of_the_family(count: int) -> None:
    collection = names(2000, 14)
    left, right = names(count, 15), names(count, 16)
    family = [parse_measure(text.format(sub="jaro")).fit(collection) for text in CHAINS]
    scores = [fitted.pairs(left, right) for fitted in family]
    for fitted, score in zip(family, scores, strict=True):
        assert np.array_equal(score, fitted.pairs(right, left))
        assert score.min() >= 0
        assert score.max() <= 1
        assert np.abs(fitted.pairs(left, left) - 1).max() < 1e-12
    for less, more in pairwise(scores):
        assert np.all(less <= more + 1e-12)


def test_exact_words_give_the_cosine() -> None:
    collection = names(200, 17, repeats=False)
    ordered = [" ".join(sorted(name.split())) for name in collection]  # common words stand in one order
    left, right = ordered[:100], ordered[100:]
    cosine = TfIdf().fit(ordered).pairs(left, right)
    assert np.abs(Ml().fit(ordered).pairs(left, right) - cosine).max() < 1e-12
    repeated = names(200, 18)
    cosine = TfIdf().fit(repeated).pairs(repeated[:100], repeated[100:])
    soft = SoftTfIdf().fit(repeated).pairs(repeated[:100], repeated[100:])
    assert np.abs(soft - cosine).max() < 1e-12


def test_soft_tfidf_is_never_below_the_cosine_and_the_printed_formula_equals_it() -> None:
    collection = names(100, 19)
    left, right = names(200, 20), names(200, 21)
    cosine = TfIdf().fit(collection).pairs(left, right)
    soft = SoftTfIdf(sub=Jaro(), theta=0.5).fit(collection).pairs(left, right)
    assert np.all(soft >= cosine - 1e-12)
    idf = reference.learned_idf([name.split() for name in dict.fromkeys(collection)])
    printed = [reference.original_softtfidf(a.split(), b.split(), reference.jaro, idf, 0.5)
               for a, b in zip(left, right, strict=True)]  # fmt: skip
    assert np.abs(np.array(printed) - cosine).max() < 1e-12


def test_overflow_is_found_clipped_and_absent_from_one_to_one_measures() -> None:
    collection = names(200, 22)
    soft = SoftTfIdf(sub=Jaro(), theta=0.2, multiplicity="positions").fit(collection)
    scores = soft.pairs(collection[:100], collection[100:])
    with pytest.warns(UserWarning, match="exceed 1, the first at pair"):
        found = soft.overflows(collection[:100], collection[100:])
    assert len(found)
    assert found.tolist() == np.flatnonzero(scores > 1 + 1e-9).tolist()
    clipped = SoftTfIdf(sub=Jaro(), theta=0.2, multiplicity="positions", clip=True).fit(collection)
    assert clipped.pairs(collection[:100], collection[100:]).max() == 1.0
    assert not len(Ml(sub=Jaro()).fit(collection).overflows(collection[:100], collection[100:]))


def test_soft_tfidf_and_monge_elkan_have_a_direction_and_can_lose_it() -> None:
    a, b = "ann smith", "anna smyth johns"
    for make in (MongeElkan, SoftTfIdf):
        options = {"weights": "uniform"} if make is SoftTfIdf else {}
        one = make(sub=Jaro(), **options)
        forward, backward = one.similarity(a, b), one.similarity(b, a)
        assert forward != backward
        assert not one.symmetric
        for symmetry, expected in (
            ("mean", (forward + backward) / 2),
            ("max", max(forward, backward)),
            ("min", min(forward, backward)),
        ):
            joined = make(sub=Jaro(), symmetry=symmetry, **options)
            assert joined.symmetric
            assert joined.similarity(a, b) == joined.similarity(b, a) == pytest.approx(expected)


def test_names_without_weight_are_like_themselves_only() -> None:
    for text in ("ml(words, sub=jaro)", "softtfidf(words, sub=jaro)", "assignment(words)", "tfidf(words)", "cosine"):
        fitted = parse_measure(text).fit(["the the", "the"])
        assert fitted.pairs(["", "", "...", "...", "the"], ["", "the", "...", "!!!", ""]).tolist() == [1, 0, 1, 0, 0]
        assert fitted.matrix(["", "...", "!"], ["!", ""]).tolist() == [[0, 1], [0, 0], [1, 0]]
    fitted = Ml().fit(["the", "the the"])  # idf 0: every name holds it
    assert fitted.pairs(["the", "the"], ["the", "the the"]).tolist() == [1.0, 0.0]


def test_unseen_words_weigh_like_words_of_one_name() -> None:
    fitted = Ml(sub=Jaro()).fit(["ann smith", "tom smith", "tom jones"])
    offsets, ids = fitted.encode(["zoe smith", ""])
    assert offsets.tolist() == [0, 2, 2]
    weights = dict(zip(fitted.words, fitted.idf.tolist(), strict=True))
    assert weights["zoe"] == weights["ann"] == pytest.approx(np.log(3))
    assert [fitted.words[at] for at in ids] == ["zoe", "smith"]


@pytest.mark.parametrize("sub", ["jaro", "levenshtein", "tfidf(trigrams)", "ml(trigrams, sub=context)", "exact",
                                 "softtfidf(trigrams, sub=context)", "power(jaro, 3)"])  # fmt: skip
@pytest.mark.parametrize("epsilon", [0.0, 0.4])
def test_tables_of_words_hold_all_similarities_from_epsilon_on(
    sub: str, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("textmill.strings.second_level._CELLS", 1)  # as for long lists
    fitted = parse_measure(f"ml(words, sub={sub})").fit(names(200, 23))
    table = fitted.word_table(epsilon, n_jobs=2)
    expected = fitted.sub.matrix(fitted.words)
    np.fill_diagonal(expected, 1.0)
    expected[expected < epsilon] = 0.0
    assert table.dtype == np.float32
    assert table.has_sorted_indices
    assert np.abs(table.toarray() - expected).max() < 1e-6
    assert np.all(table.diagonal() == 1)
    assert np.array_equal(table.data, fitted.word_table(epsilon, n_jobs=1).data)


def test_documents_are_types_tokens_or_names() -> None:
    collection, counts = ["ann smith", "ann jones", "tom smith"], [5, 1, 1]
    idf = {}
    for documents in ("types", "tokens", "names"):
        fitted = Ml(documents=documents).fit(collection, counts)
        idf[documents] = dict(zip(fitted.words, fitted.idf, strict=True))
    assert idf["types"]["ann"] == idf["names"]["ann"] == pytest.approx(np.log(3 / 2))
    assert idf["tokens"]["ann"] == pytest.approx(np.log(7 / 6))
    fitted = Ml(sub=TfIdf(parse_measure("cosine(bigrams)").features, documents="names")).fit(collection)
    grams = dict(zip(fitted.sub.words, fitted.sub.idf, strict=True))
    assert grams["nn"] == pytest.approx(np.log(3 / 2))  # in two of three names, but in one of four words
    assert grams["^t"] == pytest.approx(np.log(3))


def test_a_sub_measure_outside_its_range_is_refused() -> None:
    bad = CustomMeasure("bad", lambda a, b: 1.5)
    with pytest.raises(DataError, match=r"measure 'bad' gave 1\.5 for 'a' and 'b'; return similarities from 0 to 1"):
        Ml(sub=bad, weights="uniform").similarity("a", "b")
    with pytest.raises(DataError, match="gave nan"):
        CustomMeasure("nan", lambda a, b: float("nan")).similarity("a", "b")


def test_unfitted_measures_that_learn_say_so() -> None:
    with pytest.raises(DataError, match=r"ml\(words\) learns from a collection; call fit\(names\)"):
        Ml().similarity("a", "b")
    with pytest.raises(DataError, match="weights must be one of"):
        Greedy(weights="tf")


@pytest.mark.parametrize("text", ["ml(words, sub=ml(trigrams, sub=context))", "softtfidf(words, sub=jaro)", "jaro",
                                  "cosine(trigrams)", "assignment(words, sub=levenshtein)"])  # fmt: skip
def test_any_script_and_odd_strings(text: str) -> None:
    odd = [
        "",
        "a",
        "...",
        "😀",
        "👩‍👩‍👧 Smith",
        "محمد البرادعي",
        "אבגד Smith",
        "漢字 かな",
        "x" * 1_000,
        "a\0b",
        " \t\n",
    ]
    fitted = parse_measure(text).fit(odd)
    scores = fitted.matrix(odd)
    assert np.isfinite(scores).all()
    assert scores.min() >= 0
    assert np.abs(np.diagonal(scores) - 1).max() < 1e-9


@pytest.mark.parametrize("transpositions", ["none", "adjacent", "extended"])
def test_long_names_are_aligned_row_by_row(transpositions: str) -> None:
    words = [f"w{i}" for i in range(2400)]
    some = [word for i, word in enumerate(words) if i % 3]
    swapped = [words[i ^ 1] for i in range(len(words))]
    fitted = Ml(transpositions=transpositions, weights="uniform").fit()
    whole, part, turned = " ".join(words), " ".join(some), " ".join(swapped)
    scores = fitted.pairs([whole, whole, part, whole], [whole, part, whole, turned])
    matches = 1200 if transpositions == "none" else 2400
    assert scores == pytest.approx([1.0, (2 / 3) ** 0.5, (2 / 3) ** 0.5, matches / 2400], abs=1e-9)
    assert fitted.matrix([part, whole], [whole]).ravel() == pytest.approx(scores[[2, 0]], abs=1e-12)


def test_a_greedy_match_of_a_hundred_thousand_words_holds_only_equal_ones() -> None:
    words = [f"w{i}" for i in range(100_000)]
    fitted = Greedy(weights="uniform").fit()
    score = fitted.similarity(" ".join(words), " ".join([*words[50_000:], *map(str, range(50_000))]))
    assert score == pytest.approx(0.5, abs=1e-9)


def test_damped_weights_are_a_power_of_the_idf() -> None:
    names = ["ann lee", "ann marie fox", "tom fox", "ann tom lee", "eva fox"]
    for kind in (Ml, Assignment):
        fitted = kind(weights="damped").fit(names)
        idf = kind().fit(names).idf
        assert fitted.idf.tolist() == idf.tolist()
        assert fitted.weights == pytest.approx(idf**0.75, rel=1e-15)
        by_hand = kind().with_idf(dict(zip(fitted.words, fitted.weights.tolist(), strict=True)))
        assert fitted.matrix(names) == pytest.approx(by_hand.matrix(names), rel=1e-12)
        assert fitted.explain(*names[:2]).score == pytest.approx(fitted.similarity(*names[:2]), rel=1e-12)
