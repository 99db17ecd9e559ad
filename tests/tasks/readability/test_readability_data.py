"""Real texts: syllables of a dictionary, leaks of the folder of levels, accuracy over articles."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from textmill.tasks.readability import (
    FeatureSet,
    GradedTexts,
    LanguageResources,
    LevelLearner,
    LevelModels,
    cross_validate,
    find_leaks,
    hold_out_leak,
    prepare_graded,
    read_graded_texts,
)

pytestmark = pytest.mark.data
VOWEL = re.compile(r"^(AA|AE|AH|AO|AW|AY|EH|ER|EY|IH|IY|OW|OY|UH|UW)$")


@pytest.fixture(scope="module")
def graded(data: Path) -> GradedTexts:
    return read_graded_texts(data / "readability-onestop" / "onestop.jsonl")


def test_syllables_of_a_dictionary_are_right_by_rules(data: Path) -> None:
    words: dict[str, set[int]] = {}
    for line in (data / "g2p-cmu" / "g014b2b.ref").read_text(encoding="utf-8").splitlines():
        word, *spoken = line.split("\t")
        words[word.lower()] = {sum(VOWEL.match(sound) is not None for sound in one.split()) for one in spoken}
    counts = LanguageResources().syllables(words)
    assert np.mean([int(n) in own for n, own in zip(counts, words.values(), strict=True)]) > 0.94


def test_what_the_raw_texts_give_away_is_found(graded: GradedTexts) -> None:
    leaks = find_leaks(graded.texts, graded.levels, graded.groups)
    assert {leak.level for leak in leaks if leak.kind == "characters"} == {"intermediate"}
    assert "characters that are not ASCII" in {leak.what for leak in leaks}
    reduced = graded.reduced()
    assert not [leak for leak in find_leaks(reduced.texts, reduced.levels, reduced.groups) if leak.kind != "versions"]


@pytest.mark.filterwarnings("ignore:versions")
def test_levels_are_told_apart_over_articles_and_document_wise_hold_out_leaks(graded: GradedTexts) -> None:
    prepared = prepare_graded(graded.reduced(), feature_groups=["shallow"])
    sets = {
        "length": FeatureSet(["shallow.words_per_sentence"], LevelLearner()),
        "shallow": FeatureSet(["shallow"], LevelLearner()),
        "short": FeatureSet(["shallow"], LevelLearner(), length=False),
        "words": FeatureSet(["lm.words"], LevelLearner()),
    }
    models = LevelModels(representations=("words",), common=())
    rows = {row.name: 100 * row.accuracy for row in cross_validate(prepared, sets, models=models, mode="paper").rows()}
    assert rows["length"] == pytest.approx(58, abs=3)
    assert rows["shallow"] == pytest.approx(74, abs=4)
    assert rows["short"] == pytest.approx(58, abs=3)
    assert rows["words"] == pytest.approx(76, abs=4)
    alone = models.fit(prepared.tokens, graded.levels, range(len(graded)), graded.order).training_features()
    leak = hold_out_leak(alone, graded.levels, graded.order)
    assert leak is not None
    assert leak.share > 0.95
