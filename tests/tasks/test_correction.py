"""Spelling correction: words, context, case, files, the command."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from textmill import load
from textmill.cli.app import app
from textmill.errors import DataError
from textmill.tasks import SpellingCorrector

TEXTS = [
    "The weather was fine and the mill turned all day.",
    "We asked whether the miller would grind our corn.",
    "They did not know whether the weather would change.",
    "The cat sat on the mat near the old mill.",
    "A dog and a cat slept in the sun by the mill.",
    "The miller gave the dog some corn and the cat some milk.",
] * 4


@cache
def corrector() -> SpellingCorrector:
    """A corrector of a few sentences."""
    return SpellingCorrector(min_count=2, n_jobs=1).fit(TEXTS)


def test_misspelled_words_are_replaced_in_their_case() -> None:
    assert corrector().correct("Teh cat slpet on the matt.") == "The cat slept on the mat."
    assert corrector().correct("the mill turnd all day") == "the mill turned all day"


def test_the_context_decides_between_words_that_are_equally_near() -> None:
    assert corrector().correct("know wheather the miller") == "know whether the miller"
    assert corrector().correct("the wheather was fine") == "the weather was fine"


def test_words_that_are_right_far_or_names_stay() -> None:
    for text in ("The cat sat on the mat", "xylophone music", "the old Mrs Catt", "NASA 42 e-mail", ""):
        assert corrector().correct(text) == text
    named = SpellingCorrector(min_count=2, capitalized=True, n_jobs=1).fit(TEXTS)
    assert named.correct("near the old Mll") == "near the old Mill"


def test_corrections_name_places() -> None:
    (change,) = corrector().corrections(["on teh mat"])[0]
    assert (change.start, change.end, change.word, change.correction, change.edits) == (3, 6, "teh", "the", 1)


def test_the_model_survives_its_file_and_threads(tmp_path: Path) -> None:
    corrector().save(tmp_path / "c.mill")
    again = load(tmp_path / "c.mill", expect=SpellingCorrector)
    text = "teh wether was fien and the milller slepped"
    assert again.correct(text) == corrector().correct(text)
    assert again.set_params(n_jobs=2).correct(text) == corrector().correct(text)
    again.save(tmp_path / "d.mill")
    assert (tmp_path / "c.mill").read_bytes() == (tmp_path / "d.mill").read_bytes() or again.n_jobs == 2


def test_bad_input_is_refused() -> None:
    with pytest.raises(DataError, match="no word occurs 9 times"):
        SpellingCorrector(min_count=9).fit(["one two"])
    with pytest.raises(DataError, match="max_edits"):
        SpellingCorrector(max_edits=0).fit(TEXTS)
    with pytest.raises(DataError, match="one string"):
        corrector().corrections("text")
    with pytest.raises(DataError, match=r"passes|again|generator"):
        SpellingCorrector().fit(text for text in TEXTS)


def test_the_command_trains_applies_and_suggests(tmp_path: Path) -> None:
    run = CliRunner().invoke
    corpus, model = tmp_path / "corpus.txt", str(tmp_path / "c.mill")
    corpus.write_text("\n".join(TEXTS))
    trained = run(app, ["correct", "train", str(corpus), "-o", model, "--min-count", "2"])
    assert trained.exit_code == 0, trained.output
    assert "words, an edit costs" in trained.output
    assert run(app, ["correct", "apply", model], input="teh cat\n").output == "the cat\n"
    row = json.loads(run(app, ["correct", "apply", model, "--json"], input="teh cat\n").output)
    assert row["corrections"][0]["correction"] == "the"
    assert run(app, ["correct", "suggest", model, "milk", "mlil"]).output.split("\n")[1].split()[1] == "mill"
