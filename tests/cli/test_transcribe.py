"""`textmill transcribe`: from pairs to a model, its outputs, figures, mined pairs and kanji; what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import commands
import pytest

from textmill.cli.app import main


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    return commands.said(capsys, "transcribe", *arguments)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with names to train on, names kept apart, and a model of one part."""
    path = tmp_path_factory.mktemp("transcribe")
    with pytest.raises(SystemExit):
        main(["-q", "transcribe", "sample", "-o", str(path / "names.tsv")])
    lines = (path / "names.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    (path / "train.tsv").write_text("".join(line for i, line in enumerate(lines) if i % 7), encoding="utf-8")
    (path / "test.tsv").write_text("".join(lines[::7]), encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["-q", "transcribe", "train", str(path / "train.tsv"), "--no-search", "-o", str(path / "m.mill")])
    return path


def test_words_are_transcribed_with_scores_and_alignments(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = tmp_path / "words.txt"
    words.write_text("yamamoto\nkitagawa\n")
    code, text, _ = said(capsys, "apply", folder / "m.mill", words)
    assert (code, text.splitlines()[0]) == (0, "yamamoto\tヤマモト")
    rows = [
        line.split("\t")
        for line in said(capsys, "apply", folder / "m.mill", words, "-k", 3, "--scores", "--alignment", "--no-cache")[
            1
        ].splitlines()
    ]
    first = [row for row in rows if row[0] == "yamamoto"]
    assert first[0][1] == "ヤマモト"
    assert float(first[0][2]) >= float(first[-1][2]) > 0
    assert "".join(link.split(":")[1] for link in first[0][4].split()).replace("|", "").replace("_", "") == "ヤマモト"
    text = said(capsys, "apply", folder / "m.mill", words, "--json")[1]
    assert json.loads(text.splitlines()[0])["outputs"][0]["output"] == "ヤマモト"
    assert said(capsys, "apply", folder / "m.mill", words, "-o", tmp_path / "results.xml")[0] == 0
    assert "<TargetName" in (tmp_path / "results.xml").read_text(encoding="utf-8")


def test_a_model_is_evaluated_and_says_what_it_had_seen(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "words.tsv"
    code, text, _ = said(capsys, "evaluate", folder / "m.mill", folder / "test.tsv", "--report", report)
    assert code == 0
    assert "of 65 words the model remembers: train 0" in text
    assert len(report.read_text(encoding="utf-8").splitlines()) == 66
    facts = json.loads(said(capsys, "evaluate", folder / "m.mill", folder / "train.tsv", "--json", "--cache")[1])
    assert facts["accuracy"] == 1.0
    assert facts["in_cache"]["train"] == 385


def test_training_chooses_on_dev_and_says_why(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    some = tmp_path / "some.tsv"
    lines = (folder / "train.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    some.write_text("".join(lines[::3]), encoding="utf-8")
    model = tmp_path / "searched.mill"
    code, text, err = said(capsys, "train", some, "--dev", folder / "test.tsv", "-o", model)
    assert (code, err) == (0, "")
    assert "% word error" in text
    assert "standard run" in text
    facts = json.loads(said(capsys, "show", model, "--json")[1])
    assert facts["choices"]
    assert sum(part["weight"] for part in facts["parts"]) > 0
    plot = tmp_path / "letters.svg"
    code, text, _ = said(capsys, "show", model, "yamada", "-k", 1, "--plot", plot)
    assert (code, text.splitlines()[0].split("\t")[0]) == (0, "ヤマダ")
    assert plot.read_text(encoding="utf-8").startswith("<?xml")


def test_pairs_from_elsewhere_make_a_non_standard_run(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    extra, model = tmp_path / "extra.tsv", tmp_path / "again.mill"
    extra.write_text("yamashima\tヤマシマ\n", encoding="utf-8")
    code, text, _ = said(capsys, "train", folder / "train.tsv", "--no-search", "--extra", extra, "-o", model)
    assert code == 0
    assert "1 extra, non-standard run" in text


def test_development_words_are_read_with_the_symbols_of_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train, dev = tmp_path / "train.tsv", tmp_path / "dev.tsv"
    train.write_text("".join(f"{a}{b}\t{a.upper()}H {b.upper()}H\n" for a in "abcdef" for b in "abcdef"))
    dev.write_text("".join(f"{a}\t{a.upper()}H\n" for a in "abcdef"))  # no output has a blank
    code, text, _ = said(capsys, "train", train, "--dev", dev, "-o", tmp_path / "m.mill", "--json")
    assert code == 0
    assert json.loads(text)["choices"][0]["errors"] == {"NFC / as it is": 0.0}


def test_kanji_are_restored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs, model, readings = tmp_path / "kanji.tsv", tmp_path / "kanji.mill", tmp_path / "readings.txt"
    assert said(capsys, "sample", "--kanji", "-o", pairs)[0] == 0
    readings.write_text("tanaka\t田中\nzhang\n", encoding="utf-8")
    code, text, err = said(capsys, "kanji", model, readings, "--train", pairs, "--alignment", "--scores")
    assert code == 0
    assert text.splitlines()[0].startswith("tanaka\t田中\t")
    assert text.splitlines()[1] == "zhang\t"
    assert "accuracy 1.0000 of 1 names" in err


def test_wrong_input_is_one_line_and_exit_code_1(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.tsv"
    bad.write_text("a\tA\nb\n", encoding="utf-8")
    code, _, err = said(capsys, "train", bad, "-o", tmp_path / "m.mill")
    assert code == 1
    assert "bad.tsv:2:" in err
    assert len(err.strip().splitlines()) == 1
    assert said(capsys, "apply", bad, bad)[0] == 1
    assert said(capsys, "train", folder / "train.tsv")[0] == 2
