"""Identifiers that came before, and texts to train and to test them on."""

from __future__ import annotations

import itertools

import pytest

from papers.language_id.baselines import (
    CommonWordsIdentifier,
    InterpolatedIdentifier,
    MarkovIdentifier,
    PPMIdentifier,
    RankOrderIdentifier,
)
from papers.language_id.building import build_corpus, build_tests

ENGLISH = ["the cat sat on the mat and the dog looked at it", "this is the house near the river that you saw"] * 3


CZECH = ["kočka seděla na rohoži a pes se na ni díval", "to je dům u řeky který jsi viděl včera večer"] * 3


@pytest.mark.parametrize(
    "kind", [CommonWordsIdentifier, InterpolatedIdentifier, MarkovIdentifier, PPMIdentifier, RankOrderIdentifier]
)
def test_baselines_tell_two_languages(kind: type) -> None:
    model = kind().fit(ENGLISH + CZECH, ["en"] * len(ENGLISH) + ["cs"] * len(CZECH))
    assert model.predict(["the dog and the house", "pes a dům u řeky"]).tolist() == ["en", "cs"]


@pytest.mark.parametrize("kind", [MarkovIdentifier, PPMIdentifier, InterpolatedIdentifier])
def test_probabilities_of_characters_sum_to_one(kind: type) -> None:
    model = kind(order=2).fit(ENGLISH + CZECH, ["en"] * len(ENGLISH) + ["cs"] * len(CZECH))
    for history in ("th", "zq", "  ", "ka"):
        for language in range(2):
            total = sum(model.probability(language, history, character) for character in model.alphabet_)
            assert total == pytest.approx(1.0)


def test_em_never_loses_likelihood() -> None:
    model = InterpolatedIdentifier(order=3).fit(ENGLISH + CZECH, ["en"] * len(ENGLISH) + ["cs"] * len(CZECH))
    for trace in model.trace_:
        assert all(b >= a - 1e-9 for a, b in itertools.pairwise(trace))
    assert model.weights_.sum(axis=1).tolist() == pytest.approx([1.0, 1.0])


def test_a_model_of_other_languages_rejects() -> None:
    model = MarkovIdentifier(unknown=["ez da hau nire etxea baina oso polita da"] * 5)
    model.fit(ENGLISH + CZECH, ["en"] * len(ENGLISH) + ["cs"] * len(CZECH))
    assert model.predict_known(["hau da nire etxea", "the cat sat"]) == [None, "en"]
    assert model.predict_known(["the cat"], thresholds=[0.0, 0.0]) == [None]


def test_a_list_of_bad_texts_is_left_out_of_tests() -> None:
    tests = build_tests({"en": ENGLISH}, k=30)
    bad = tests[0][2]
    assert [test for test in tests if test[2] != bad] == build_tests({"en": ENGLISH}, k=30, pruned=[bad])
    assert {name for _, name, text in tests if 2 <= len(text.split()) <= 5} == {"small"}


def test_sentences_of_another_script_are_left_out() -> None:
    train, test = build_corpus([*ENGLISH, "мир и дом"], script="Latin", held_out=0.5)
    assert sorted(train + test) == sorted(set(ENGLISH))
