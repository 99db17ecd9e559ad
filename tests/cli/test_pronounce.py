"""`textmill pronounce`: from a word list to a model, its sounds, figures, rules and other forms; what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import said

from textmill.cli.app import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a lexicon, words to test on, and a model."""
    path = tmp_path_factory.mktemp("pronounce")
    for name, size, seed in (("words", 800, 0), ("test", 100, 1)):
        with pytest.raises(SystemExit):
            main(["-q", "pronounce", "sample", "-k", str(size), "--seed", str(seed), "-o", str(path / f"{name}.tsv")])
    lexicon, model = str(path / "words.tsv"), str(path / "m.mill")
    with pytest.raises(SystemExit):
        main(["-q", "pronounce", "train", lexicon, "--context", "1", "-o", model])
    return path


def test_words_are_pronounced_with_scores_and_alignments(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = tmp_path / "words.txt"
    words.write_text("taxe\nchou\n")
    model = str(folder / "m.mill")
    code, text, _ = said(capsys, "pronounce", "apply", model, str(words))
    assert (code, text.splitlines()) == (0, ["taxe\tt a k s", "chou\tS u"])
    _, text, _ = said(capsys, "pronounce", "apply", model, str(words), "-k", "2", "--scores", "--json")
    rows = [json.loads(line) for line in text.splitlines()]
    assert [row["word"] for row in rows] == ["taxe", "taxe", "chou", "chou"]
    assert rows[0]["probability"] > rows[1]["probability"]
    _, text, _ = said(capsys, "pronounce", "apply", model, str(words), "--alignment")
    assert text.splitlines()[0].split("\t")[2] == "t:t a:a x:k _:s e:_"


def test_a_model_is_evaluated_and_its_errors_shown(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, test = str(folder / "m.mill"), str(folder / "test.tsv")
    code, text, _ = said(capsys, "pronounce", "evaluate", model, test, "--show-errors", "--intervals", "-k", "3")
    assert code == 0
    assert text.startswith("word accuracy 0.")
    assert "letter\tpositions\terrors\tshare\tmostly" in text
    plot = tmp_path / "errors.svg"
    facts = json.loads(said(capsys, "pronounce", "evaluate", model, test, "--json", "--plot", str(plot))[1])
    assert 0.5 < facts["word_accuracy"] <= 1
    assert plot.read_text().startswith("<?xml")


def test_training_chooses_and_says_so(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = tmp_path / "rules.txt"
    rules.write_text("x -> k s\nch -> S\n")
    lexicon, model = str(folder / "words.tsv"), str(tmp_path / "m.mill")
    some = tmp_path / "some.tsv"
    some.write_text("".join(Path(lexicon).read_text().splitlines(keepends=True)[:200]))
    arguments = ["--rules", str(rules), "--context", "1", "--alignment", "bag", "--exceptions", "--dev", lexicon]
    code, text, err = said(capsys, "pronounce", "train", str(some), *arguments, "-o", model, "--json")
    facts = json.loads(text)
    assert code == 0
    assert "are in" in err
    assert sum(facts["weights"]) == pytest.approx(1)
    assert facts["context"] == 1
    _, text, _ = said(capsys, "pronounce", "show", model, "--as", "exceptions")
    assert len(text.splitlines()) == facts["exceptions"] > 0


def test_a_model_is_shown_exported_and_turned_round(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(folder / "m.mill")
    _, text, _ = said(capsys, "pronounce", "show", model, "--letter", "c")
    assert "right1" in text
    _, text, _ = said(capsys, "pronounce", "show", model, "--as", "rules", "-k", "3")
    assert all(line.startswith("if ") for line in text.splitlines())
    _, text, _ = said(capsys, "pronounce", "show", model, "--as", "links", "--letter", "x")
    assert text.splitlines()[1].split("\t")[:2] == ["x", "k"]
    _, text, _ = said(capsys, "pronounce", "show", model, "--worst", str(folder / "test.tsv"), "-k", "2")
    assert len(text.splitlines()) == 3
    for form, name in (("tree", "tree.svg"), ("links", "links.svg")):
        assert said(capsys, "pronounce", "show", model, "--as", form, "--plot", str(tmp_path / name))[0] == 0
    for form in ("c", "rules", "tree", "fst", "lexicon"):
        out = tmp_path / f"model.{form}"
        more = ["--symbols", str(tmp_path / "symbols")] if form == "fst" else []
        assert said(capsys, "pronounce", "export", model, "--to", form, "-o", str(out), *more)[0] == 0
        assert out.exists()
    assert (tmp_path / "symbols.in").exists()
    _, text, _ = said(capsys, "pronounce", "invert", model, "t", "a", "k", "s", "-k", "2", "--json")
    assert json.loads(text.splitlines()[0])["phonemes"] == "t a k s"


def test_wrong_input_is_one_line_and_exit_code_1(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.tsv"
    bad.write_text("a\tA\nb\n\tX\n")
    code, _, err = said(capsys, "pronounce", "train", str(bad), "-o", str(tmp_path / "m.mill"), "--format", "tsv")
    assert code == 1
    assert err.strip().endswith(
        "bad.tsv:2: expected a word, a tab and phonemes separated by blanks; mend the line, or skip such lines"
    )
    assert said(capsys, "pronounce", "show", str(folder / "m.mill"), "--letter", "漢")[0] == 1
