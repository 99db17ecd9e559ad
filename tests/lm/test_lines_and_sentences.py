"""A model remembers how its text was cut into sentences; text that was cut into words before is questioned."""

import math
import re

import pytest

from textmill.cli.app import main
from textmill.corpus import Sentences
from textmill.lm import Mixture, NGramModel, prune, quantize, read_model

LINES = ["the mill <unk> turns", "the old mill 's wheel . It turns", "a wheel of the mill turns on"] * 4


@pytest.fixture
def said(capsys):
    def call(*arguments):
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert left.value.code == 0, captured.err
        return captured

    return call


def test_a_model_of_lines_scores_lines(tmp_path, said):
    text = tmp_path / "t.txt"
    text.write_text("\n".join(LINES) + "\n")
    cut = ["--tokenizer", "whitespace", "--case", "keep"]
    for name in ("m.mill", "m.arpa"):
        assert "12 sentences" in said("lm", "train", text, "--order", 2, *cut, "-o", tmp_path / name).out
    expected = said("lm", "perplexity", tmp_path / "m.arpa", text, *cut).out
    assert "12 sentences" in expected
    for more in ((), cut, ("--split", "lines")):
        assert said("lm", "perplexity", tmp_path / "m.mill", text, *more).out == expected
    scored = said("lm", "score", tmp_path / "m.mill", text).out
    assert scored == said("lm", "score", tmp_path / "m.arpa", text, *cut).out
    perplexity = float(re.search(r"# perplexity ([\d.]+)", scored)[1])
    assert math.isclose(perplexity, NGramModel(order=2).fit([line.split() for line in LINES]).perplexity(
        [line.split() for line in LINES]), abs_tol=0.005)  # fmt: skip
    assert "16 sentences" in said("lm", "perplexity", tmp_path / "m.mill", text, "--split", "sentences").out


def test_what_is_made_of_a_model_remembers_it_too(tmp_path):
    by_line = NGramModel(order=2).fit(LINES)
    by_sentence = NGramModel(order=2).fit(Sentences(LINES))
    assert by_line.by_line_
    assert not by_sentence.by_line_
    made = [
        prune(by_line, keep=0.9),
        quantize(by_line, bits=8),
        Mixture([by_line, by_line], weights=[0.5, 0.5]).merged(),
    ]
    for number, model in enumerate(made):
        model.save(tmp_path / f"{number}.mill")
        assert read_model(tmp_path / f"{number}.mill").by_line_


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("a <unk> b\n", "<unk>"),
        ("it 's old\nthe mill 's wheel\nhe does n't say\n", "'s"),
        ("it turns , and stands , and turns .\n", ","),
        ("It's the mill's wheel, and it turns. Really! Does it?\n", None),
        ("no marks at all\n", None),
    ],
)
def test_text_that_is_cut_into_words_is_questioned(tmp_path, said, text, sign):
    path = tmp_path / "t.txt"
    path.write_text(text * 3)
    warned = said("lm", "train", path, "--order", 1, "-o", tmp_path / "m.mill").err
    assert (f"as by {sign!r}; pass --tokenizer whitespace" in warned) if sign else "cut into words" not in warned
    for tokenizer in ("whitespace", "words"):
        asked = said("lm", "train", path, "--order", 1, "--tokenizer", tokenizer, "-o", tmp_path / "m.mill").err
        assert "cut into words" not in asked
