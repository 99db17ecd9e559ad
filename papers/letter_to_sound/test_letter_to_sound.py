"""Context pays, and lexicons from texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from papers.letter_to_sound.harvest import ask_program, harvest_lexicon
from papers.letter_to_sound.sweep import sweep
from textmill.errors import DataError
from textmill.tasks import pronunciation as task
from textmill.tasks.pronunciation import (
    Entry,
    read_lexicon,
)


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    return task.sample_lexicon(1500)


def test_accuracy_rises_with_context(entries: list[Entry]) -> None:
    train, test = task.split_lexicon(entries, 0.3)
    table = sweep(train, test, contexts=[0, 1, 2], alignment="em")
    accuracy = table.to_dict()["word_accuracy"]
    assert accuracy == sorted(accuracy)
    assert accuracy[2] > accuracy[0] + 0.3
    nodes = table.to_dict()["nodes"]
    assert nodes == sorted(nodes)


def test_harvesting_leaves_abbreviations_out(tmp_path: Path) -> None:
    tokens = ["Le", "CNRS", "OTAN", "M.D.", "a2", "dit", "dit", "trmp", "zéro", "42"]
    harvest = harvest_lexicon(tokens, lambda word: None if word == "zéro" else list(word))
    assert [e.word for e in harvest.entries] == ["Le", "dit"]
    reasons = {"CNRS": "no vowel", "OTAN": "all capitals", "M.D.": "no vowel", "a2": "digit", "trmp": "no vowel"}
    assert {word: harvest.left_out[word] for word in reasons} == reasons
    assert harvest.left_out["zéro"] == "no pronunciation"
    open_to_all = harvest_lexicon(tokens, list, vowels=None, capitals=False, periods=False, digits=False)
    assert {"CNRS", "OTAN", "M.D.", "a2"} <= {e.word for e in open_to_all.entries}
    with pytest.raises(DataError, match="printed 1 lines for 2 words"):
        ask_program("head -n 1", ["a", "b"])
    with pytest.raises(DataError, match="cannot be run"):
        ask_program("no-such-program-here", ["a"])


@pytest.mark.data
def test_context_and_groups_of_letters_pay(data: Path) -> None:
    folder = data / "g2p-sigmorphon2020"
    train, dev = (list(read_lexicon(folder / f"fre_{part}.tsv")) for part in ("train", "dev"))
    accuracy = sweep(train, dev, contexts=[0, 1, 2]).to_dict()["accuracy"]
    assert accuracy == sorted(accuracy)
    assert accuracy[0] < 0.9 < 0.97 < accuracy[2]
    grouped, single = (sweep(train, dev, contexts=[3], subsets=own).rows[0] for own in (True, False))
    assert grouped["nodes"] < 0.75 * single["nodes"]
    assert grouped["word_accuracy"] >= single["word_accuracy"]
