"""What is asserted does not contradict the best language, and is more probable than not, whatever the text."""

import os
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.tasks.language import LanguageIdentifier

SHORT = ["Prometo olvidarte", "As-tu peur ?", "La puta TROIKA", "Sim, eu sou", "On se voit demain", "ok", "no", "x", ""]
WORDS = [
    "the",
    "la",
    "de",
    "der",
    "and",
    "et",
    "y",
    "on",
    "si",
    "no",
    "ja",
    "je",
    "va",
    "sun",
    "mar",
    "hora",
    "casa",
    "tu",
    "est",
    "demain",
    "peut",
    "dom",
    "eu",
    "não",
    "так",
    "и",
    "κ",
    "ok",
    "12",
    "é",
]
MODEL = LanguageIdentifier.bundled()


def check(texts, **asked):
    for text, answer in zip(texts, MODEL.detect_many(texts, k=200, **asked), strict=True):
        if not answer.languages:
            continue
        assert answer.language == answer.languages[0], text
        chance = {code: probability for code, _, probability in answer.ranking}
        assert len(answer.languages) > 1 or answer.confidence >= 0.5, text
        if len(answer.languages) == 1 or len(text.split()) < 8:  # of mixed texts probabilities are shares of words
            assert sum(chance[code] for code in answer.languages) >= 0.5 - 1e-9, text


def test_short_texts_of_other_people_are_not_contradicted():
    check(SHORT)
    check(SHORT, languages=["es", "la", "fr"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join), min_size=20, max_size=40))
def test_words_of_several_languages_in_any_order(texts):
    check(texts)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(max_size=60), min_size=10, max_size=20))
def test_any_characters(texts):
    check(texts)


@pytest.mark.data
def test_sentences_cut_to_every_length():
    folder = Path(os.environ.get("TEXTMILL_DATA", "")) / "language" / "sentences"
    rng, right, wrong, said = random.Random(5), 0, 0, 0
    for path in sorted(folder.glob("*.txt")):
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        texts = [" ".join(line.split()[: rng.randint(1, 8)]) for line in rng.sample(lines, 200)]
        check(texts)
        for answer in MODEL.detect_many(texts):
            said += bool(answer.languages)
            right += path.stem in answer.languages
            wrong += bool(answer.languages) and path.stem not in answer.languages
    assert right + wrong == said
    assert wrong < 0.03 * said
    assert right > 0.7 * 9 * 200
