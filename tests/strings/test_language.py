"""Measures as text: what is printed reads back as an equal measure, and mistakes are named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textmill import strings
from textmill.errors import DataError
from textmill.strings import MEASURES, CustomFeatures, CustomMeasure, Jaro, Ml, Ngrams, Words, parse_measure

TEXTS = [
    "jaro",
    'jaro(window="winkler", half_transpositions="floor")',
    "jaro_winkler(prefix=0.2)",
    "levenshtein(words)",
    "needleman_wunsch(gap=0.5, sub=exact)",
    'ml(words, sub=ml(trigrams, sub=context), transpositions="extended")',
    'ml(words(split="regex"), sub=softtfidf(bigrams, sub=context(window=6, cross=True)), gap=2)',
    'softtfidf(words, sub=tfidf(ngrams(4, pad=False)), theta=0.9, multiplicity="positions", symmetry="mean")',
    'assignment(words, sub=mean(jaro, levenshtein), weights="uniform")',
    'ml(words, sub=jaro, weights="damped")',
    'greedy(words, sub=maximum(jaro, osa, damerau), theta=0.5, documents="tokens")',
    'monge_elkan(words, sub=power(jaro, 3), symmetry="max")',
    "overlap(trigrams)",
    "jaccard(bigrams)",
    "dice(ngrams(1))",
    "cosine(words)",
]


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_printed_reads_back(text: str) -> None:
    measure = parse_measure(text)
    assert parse_measure(str(measure)) == measure
    assert hash(parse_measure(str(measure))) == hash(measure)
    assert str(parse_measure(str(measure))) == str(measure)


def test_defaults_are_left_out() -> None:
    assert (
        str(Ml(Words(), sub=Ml(Ngrams(), sub=strings.Context(window=4)))) == "ml(words, sub=ml(trigrams, sub=context))"
    )
    assert str(Jaro()) == "jaro"
    assert parse_measure("tfidf") == strings.TfIdf()


def test_every_measure_and_feature_has_a_name() -> None:
    classes = {getattr(strings, name) for name in strings.__all__ if isinstance(getattr(strings, name), type)}
    named = {cls.name for cls in classes if issubclass(cls, strings.Measure) and cls.name}
    assert named == set(MEASURES)
    assert tuple(sorted(MEASURES)) == MEASURES


def test_functions_of_yours_stand_by_their_label() -> None:
    near = CustomMeasure("near", lambda a, b: float(a[:1] == b[:1]))
    parts = CustomFeatures("parts", lambda text: text.split("-"))
    functions = {"near": near, "parts": parts}
    measure = parse_measure('ml(parts, sub=near, weights="uniform")', functions)
    assert measure.similarity("x-ab", "x-ac") == pytest.approx(1.0)
    assert parse_measure(str(measure), functions) == measure


@pytest.mark.parametrize(("text", "message"), [
    ("levenstein", "no measure is called 'levenstein'; known: assignment, auto, context, cosine"),
    ("ml(words, sub=jarro)", "no measure is called 'jarro'; known: "),
    ("ml(words, sub=3)", "sub of ml must be a measure, got 3"),
    ("ml(jaro)", "features of ml must be features, got jaro"),
    ("ml(words, sub=words)", "sub of ml must be a measure, got words"),
    ("ml(words, gap=jaro)", "gap of ml must be a plain value, got jaro"),
    ("mean(words)", "mean is made of measures, got words"),
    ("mean()", "mean needs at least one measure"),
    ("power(jaro)", "power has other arguments"),
    ("jaro(width=3)", "jaro has other arguments"),
    ("words", "describes no measure"),
    ("'jaro'", "describes no measure"),
    ("jaro +", "cannot be read"),
    ("jaro.window", "is no name"),
    ("jaro[0]", "is no name"),
    ("softtfidf(words, theta=1.5)", "theta must be a number at least 0.0 and at most 1"),
    ("softtfidf(words, theta='high')", "theta must be a number"),
    ("context(window=1)", "window must be a whole number at least 2"),
    ("ngrams(0)", "n must be a whole number at least 1"),
    ("(" * 5000, "cannot be read"),
    ("j" * 20_000, "at most 10000 are read"),
    ("", "cannot be read"),
])  # fmt: skip
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse_measure(text)


@given(st.text(max_size=40))
def test_any_text_gives_a_measure_or_one_clear_error(text: str) -> None:
    try:
        parse_measure(text)
    except DataError as error:
        assert "\n" not in str(error)  # noqa: PT017


def test_only_text_is_read() -> None:
    with pytest.raises(DataError, match="described by text"):
        parse_measure(3)  # type: ignore[arg-type]
