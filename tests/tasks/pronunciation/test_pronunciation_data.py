"""Real word lists: errors, size, and the worth of context and of groups of letters."""

from __future__ import annotations

from pathlib import Path

import pytest

from textmill.tasks import pronunciation as task
from textmill.tasks.pronunciation import PronunciationModel, evaluate_pronunciations, read_lexicon


@pytest.mark.data
@pytest.mark.parametrize(("language", "most"), [("ady", 0.382), ("bul", 0.44), ("fre", 0.138)])
def test_words_of_three_languages_are_said_no_worse_than_by_a_binary_tree(
    data: Path, language: str, most: float
) -> None:
    folder = data / "g2p-sigmorphon2020"
    train, test = (list(read_lexicon(folder / f"{language}_{part}.tsv")) for part in ("train", "test"))
    model = PronunciationModel(context=2).fit([e.word for e in train], [e.phonemes for e in train])
    assert 1 - evaluate_pronunciations(model, test).word_accuracy <= most
    assert task.model_size(model) < 100_000


@pytest.mark.data
def test_context_and_groups_of_letters_pay(data: Path) -> None:
    folder = data / "g2p-sigmorphon2020"
    train, dev = (list(read_lexicon(folder / f"fre_{part}.tsv")) for part in ("train", "dev"))
    accuracy = task.sweep(train, dev, contexts=[0, 1, 2]).to_dict()["accuracy"]
    assert accuracy == sorted(accuracy)
    assert accuracy[0] < 0.9 < 0.97 < accuracy[2]
    grouped, single = (task.sweep(train, dev, contexts=[3], subsets=own).rows[0] for own in (True, False))
    assert grouped["nodes"] < 0.75 * single["nodes"]
    assert grouped["word_accuracy"] >= single["word_accuracy"]


@pytest.mark.data
@pytest.mark.slow
def test_the_dictionary_of_cmu(data: Path) -> None:
    train = list(read_lexicon(data / "g2p-cmu" / "g014b2b.train"))
    with pytest.warns(UserWarning, match="cannot be aligned"):
        model = PronunciationModel(context=3).fit([e.word for e in train], [e.phonemes for e in train])
    counts = evaluate_pronunciations(model, list(read_lexicon(data / "g2p-cmu" / "g014b2b.ref")))
    assert counts.phoneme_error_rate <= 0.10
    assert counts.word_accuracy >= 0.57
