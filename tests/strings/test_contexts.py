"""Similarity by neighbors: the definition, windows, variants of letters."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from reference import names as reference

from textmill.errors import DataError
from textmill.strings import Context, Exact, Ml, Ngrams, Words, parse_measure

NAMES = ["Ann Smith", "Anna Smyth", "Anne Smith", "Joanna Schmidt", "Ann Smith"]


@pytest.mark.parametrize("window", [2, 4, 7])
def test_contexts_follow_the_definition(window: int) -> None:
    fitted = parse_measure(f"ml(words, sub=ml(trigrams, sub=context(window={window})))").fit(NAMES)
    words = [word for name in dict.fromkeys(NAMES) for word in name.split()] + NAMES[0].split()
    sim = reference.context_similarity([reference.ngrams(word) for word in words], window)
    grams = fitted.sub.words
    expected = [[sim(a, b) for b in grams] for a in grams]
    assert np.abs(fitted.sub.sub.matrix(grams) - expected).max() < 1e-6
    assert np.abs(fitted.sub.sub.pairs(grams[1:], grams[:-1]) - np.diagonal(np.array(expected)[1:])).max() < 1e-12


def test_contexts_may_cross_words() -> None:
    fitted = parse_measure("ml(words, sub=ml(trigrams, sub=context(cross=True)))").fit(NAMES)
    sequences = [[gram for word in name.split() for gram in reference.ngrams(word)] for name in NAMES]
    sim = reference.context_similarity(sequences)
    grams = fitted.sub.words
    assert np.abs(fitted.sub.sub.matrix(grams) - [[sim(a, b) for b in grams] for a in grams]).max() < 1e-6


def test_words_have_contexts_too() -> None:
    fitted = Ml(Words(), sub=Context()).fit(["New York Times", "New York Post", "New York Herald", "La Repubblica"])
    assert fitted.sub.similarity("Times", "Post") > 0.99
    assert fitted.sub.similarity("Times", "Repubblica") == 0.0


def test_variants_of_letters_come_nearer() -> None:
    variants = ["Lugovoï", "Lugovoi", "Lugovoy", "Lugovo"]
    collection = [*variants, "Andrei Lugovoi", "Andreï Lugovoï", "Litvinenko", "Kovtun", "Andrey Lugovoy"]
    soft = parse_measure("ml(words, sub=ml(trigrams, sub=context))").fit(collection)
    hard = parse_measure("ml(words, sub=ml(trigrams, sub=exact))").fit(collection)
    for a, b in combinations(variants, 2):
        assert soft.similarity(a, b) > hard.similarity(a, b)


def test_unseen_features_are_like_themselves_only() -> None:
    fitted = Ml(Ngrams(), sub=Context()).fit(["Anna", "Hanna"])
    assert fitted.sub.pairs(["xyz", "xyz"], ["xyz", "^An"]).tolist() == [1.0, 0.0]
    assert fitted.similarity("xyz", "xyz") == 1.0


def test_a_context_needs_something_to_stand_in() -> None:
    with pytest.raises(DataError, match="use it as sub of a measure over n-grams"):
        Context().fit(["a"])
    assert not Exact().learns
    assert Context().learns
