"""Real word lists: errors, size, and the worth of context and of groups of letters."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import numpy as np
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
@pytest.mark.slow
def test_the_dictionary_of_cmu(data: Path) -> None:
    train = list(read_lexicon(data / "g2p-cmu" / "g014b2b.train"))
    with pytest.warns(UserWarning, match="cannot be aligned"):
        model = PronunciationModel(context=3).fit([e.word for e in train], [e.phonemes for e in train])
    counts = evaluate_pronunciations(model, list(read_lexicon(data / "g2p-cmu" / "g014b2b.ref")))
    assert counts.phoneme_error_rate <= 0.10
    assert counts.word_accuracy >= 0.57


@pytest.mark.data
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_rules_of_french_are_never_worse_on_dev_than_the_lexicon_alone(data: Path, seed: int) -> None:
    folder = data / "g2p-sigmorphon2020"
    words = [entry for part in ("train", "dev") for entry in read_lexicon(folder / f"fre_{part}.tsv")]
    order = np.random.default_rng(seed).permutation(len(words))
    train, dev = ([words[i] for i in some] for some in (order[:3150], order[3150:3600]))
    rules = task.read_rules(str(resources.files(task) / "rules" / "french.txt"))
    assert len(rules) >= 200
    with_rules, alone = (
        PronunciationModel(context=3, alignment="bag").fit(
            [e.word for e in train],
            [e.phonemes for e in train],
            rules=own,
            X_dev=[e.word for e in dev],
            y_dev=[e.phonemes for e in dev],
        )
        for own in (rules, ())
    )
    assert alone.weights_[0] == 0
    correct = [evaluate_pronunciations(model, dev).word_accuracy for model in (with_rules, alone)]
    assert correct[0] >= correct[1]
    assert correct[1] > 0.75
