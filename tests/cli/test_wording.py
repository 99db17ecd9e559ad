"""Errors of the library as the command line says them, and help pages."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import pytest
import typer
from test_outputs import leaves, said

from textmill.cli._groups import command_of
from textmill.cli._wording import in_options, options_of
from textmill.cli.app import app, main

ROOT = typer.main.get_command(app)


@pytest.mark.parametrize(
    ("command", "message", "words"),
    [
        ("vocab build", "not UTF-8, pass encoding='latin-1'", "not UTF-8, pass --encoding latin-1"),
        ("fst info", "not UTF-8; it looks like latin-1, pass encoding='latin-1'", "not UTF-8; it looks like latin-1"),
        ("topics train", "n_topics must be at least 1, got 0", "--topics must be at least 1, got 0"),
        ("topics train", "random_state must be a whole number", "--seed must be a whole number"),
        ("topics train", "a.csv: errors must be 'strict' or 'skip'", "a.csv: --errors must be 'strict' or 'skip'"),
        ("tag crossval", "k must be at least 3", "--folds must be at least 3"),
        ("similar query", "k must be at least 1", "-k must be at least 1"),
        ("tokenize", "lengths[1] must be at least 3", "the second of --lengths must be at least 3"),
        ("match dedupe", "which format? pass format= one of csv, tsv", "which format? pass --format one of csv, tsv"),
        (
            "bags convert",
            "which format? pass format= one of mm, npz",
            "which format? pass --from or --to one of mm, npz",
        ),
        ("fst print", "two labels; pass acceptor=False", "two labels; pass no --acceptor"),
        ("fst print", "not two labels; pass acceptor=True", "not two labels; pass --acceptor"),
        ("vocab build", "name the right one with text_field", "name the right one with --text-field"),
        ("tag train", "max_iter is 0; use features='all', or lbfgs", "--max-iter is 0; use --features all, or lbfgs"),
        ("topics train", "4 terms count as 0; pass negative='keep', or idf='smooth' to weigh", "4 terms count as 0"),
        ("topics train", "n_jobs must be 1, or None for all cores", "--jobs must be 1; leave it out for all cores"),
        ("topics show", "pass a file made by save", "pass a model file that textmill has written"),
        ("topics train", "my_file.txt: no such file", "my_file.txt: no such file"),
        ("topics train", "field 'text_field' is empty", "field 'text_field' is empty"),
        ("topics train", "the errors are errors", "the errors are errors"),
        ("fst prune", "--weight=heavy: 'heavy' is not a weight", "--weight=heavy: 'heavy' is not a weight"),
    ],
)
def test_parameters_become_options(command: str, message: str, words: str) -> None:
    assert in_options(message, options_of(command_of(ROOT, command.split()))) == words


def test_errors_of_real_commands_name_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    latin, lines = tmp_path / "latin.txt", tmp_path / "a.jsonl"
    latin.write_bytes("café\n".encode("latin-1"))
    lines.write_text(json.dumps({"id": "a", "text": "to be"}) + "\n")
    binary, columns = tmp_path / "bin.txt", tmp_path / "a.conll"
    binary.write_bytes(bytes(range(256)))
    columns.write_text("a DT B-NP\nb NN O\n\n" * 5)
    out = ["-o", f"{tmp_path}/m.mill"]
    cases = {
        ("vocab", "build", latin, *out): "the line looks like latin-1, pass --encoding latin-1",
        ("vocab", "build", lines, *out, "--errors", "maybe"): "textmill: --errors must be 'strict' or 'skip'",
        ("vocab", "build", lines, *out, "--text-field", "body"): "name the right one with --text-field",
        ("topics", "train", lines, *out, "--topics", 0): "textmill: --topics must be a whole number at least 1",
        ("topics", "train", lines, *out, "--seed", -1): "textmill: --seed must be a whole number of at least 0, got -1",
        ("coherence", "fake", lines, "--length", -1): "textmill: --length must be a whole number at least 1, got -1",
        ("tag", "train", columns, "-p", binary, *out): f"{binary}:1:1: NUL character",
        ("tag", "crossval", columns, "--format", "tests", "--folds", 1): "textmill: --folds must be",
    }
    for arguments, expected in cases.items():
        code, errors = said(capsys, *arguments)
        assert (code, errors.count("\n")) == (1, 1), errors
        assert expected in errors
    assert not (tmp_path / "m.mill").exists()


def test_a_job_that_is_spelled_wrong_has_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "topic") == (
        2,
        "textmill: No such command 'topic'. Did you mean 'topics'? See 'textmill --help'\n",
    )
    assert "Did you mean 'train'?" in said(capsys, "topics", "trian")[1]
    assert "Did you mean 'arcsort'" in said(capsys, "fst", "arcsrt")[1]


def test_help_pages_are_short_and_plain(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    commands = [words for words, _ in leaves()]
    groups = {" ".join(words.split()[:-1]) for words in commands} - {""}
    assert len(commands) > 80
    for words in sorted({*commands, *groups}):
        with pytest.raises(SystemExit) as left:
            main([*words.split(), "-h"])
        page = capsys.readouterr().out
        assert left.value.code == 0
        assert "Usage: textmill" in page
        assert "<bool>" not in page, words
        usage = page[page.index("Usage:") :].split("\n", 1)[0]
        assert not re.search(r"[{\[][a-z_]+[}\]]", usage), usage
        assert "-completion" not in page, words
        dialect = re.search(r"\b(one|row|line|pair|label|list|object|string|sentence|document) a [a-z]+\b[.,;:)]", page)
        assert dialect is None, f"{words}: {dialect}"
        assert not re.search(r"\b([Ss]o many|parted by|at most, the best)\b", page), words


def test_explaining_without_a_known_word_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = tmp_path / "a.jsonl"
    lines.write_text("".join(json.dumps({"text": text}) + "\n" for text in ["to be", "or not", "to do", "or be"] * 2))
    model = f"{tmp_path}/m.mill"
    assert said(capsys, "topics", "train", lines, "--kind", "plsa", "--topics", 2, "--max-df", 1.0, "-o", model)[0] == 0
    assert said(capsys, "topics", "explain", model, "--text", "xyzzy") == (
        0,
        "textmill: no word of the text is known to the model, so there is nothing to explain\n",
    )
    assert said(capsys, "topics", "explain", model, "--text", "to be") == (0, "")
    assert said(capsys, "topics", "train", lines, "--kind", "lsa", "--topics", 2, "--max-df", 1.0, "-o", model)[0] == 0
    assert said(capsys, "topics", "coherence", model, lines) == (
        1,
        "textmill: the topics of LSA are directions, not distributions; use LDA or PLSA\n",
    )


def test_drawing_dot_under_the_name_of_a_picture_has_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("0 1 1 2\n1\n")
    for arguments, hint in {
        "fst compile a.txt a.fst": "",
        "fst draw a.fst a.dot": "",
        "fst draw --svg a.fst a.svg": "",
        "fst draw a.fst a.svg": "textmill: a.svg holds text in the DOT language, not a picture; draw it with "
        "'dot -Tsvg a.svg', or pass --svg\n",
        "-q fst draw a.fst a.png": "",
    }.items():
        with warnings.catch_warnings(), pytest.raises(SystemExit) as left:
            main(arguments.split())
        assert (left.value.code, capsys.readouterr().err) == (0, hint)
    assert Path("a.png").read_text().startswith("digraph")


def test_one_document_is_not_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("to be or not to be")
    with pytest.raises(SystemExit):
        main(["-q", "similar", "index", f"{tmp_path}/a.txt", "-o", f"{tmp_path}/i.mill"])
    assert capsys.readouterr().out == "1 document, vectors of 4 numbers\n"
