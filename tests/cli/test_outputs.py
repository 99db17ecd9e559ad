"""Files to write are looked at before anything is read: folder, permission, suffix; in every command that writes."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Any

import pytest
import typer

from textmill import files
from textmill.cli import _tables
from textmill.cli._groups import command_of
from textmill.cli.app import app, main
from textmill.files import check_target

ROOT = typer.main.get_command(app)
# names of parameters that are files to write
OUTPUTS = {"output", "target", "plot", "histogram", "html", "report", "resume", "save_isymbols", "save_osymbols"}
# those that are not, or are checked inside: a name without suffix, a string, an object
EXCEPTIONS = {
    ("topics export", "output"),
    ("fst align show", "output"),
    ("topics update", "output"),
}


def leaves(command: Any = ROOT, words: tuple[str, ...] = ()) -> list[tuple[str, Any]]:
    """All commands that do something, by their words."""
    if not hasattr(command, "list_commands"):
        return [(" ".join(words), command)]
    context = typer.Context(command)
    found = []
    for name in command.list_commands(context):
        found += leaves(command.get_command(context, name), (*words, name))
    return found


def test_every_file_to_write_is_checked_when_the_command_line_is_read() -> None:
    seen = 0
    for words, command in leaves():
        for parameter in command.params:
            if parameter.name in OUTPUTS and (words, parameter.name) not in EXCEPTIONS:
                assert parameter.callback is not None, f"{words}: {parameter.name}"
                seen += 1
    assert seen > 60


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    """Exit code and errors of a run in this process."""
    with pytest.raises(SystemExit) as left:
        main(["-q", *map(str, arguments)])
    assert isinstance(left.value.code, int)
    return left.value.code, capsys.readouterr().err


COMMANDS = [
    "topics train nowhere.jsonl -o",
    "topics train nowhere.jsonl --kind plsa -o m.mill --plot",
    "topics update nowhere.mill nowhere.jsonl -o",
    "topics transform nowhere.mill nowhere.jsonl -o",
    "topics show nowhere.mill --plot",
    "topics explain nowhere.mill --text a --report",
    "topics export nowhere.mill --to matrix -o",
    "topics export nowhere.mill --to ldac -o",
    "coherence train nowhere.jsonl -o",
    "coherence fake nowhere.jsonl -o",
    "coherence evaluate nowhere.mill --true a --false b --histogram",
    "similar index nowhere.jsonl -o",
    "lm train nowhere.txt -o",
    "vocab build nowhere.jsonl -o",
    "bags make nowhere.jsonl --vocab nowhere.mill -o",
    "bags convert nowhere.npz",
    "tokenize nowhere.txt -o",
    "tag train nowhere.txt -p p.txt -o",
    "tag train nowhere.txt -p p.txt -o m.mill --resume",
    "tag convert nowhere.mill",
    "match dedupe nowhere.csv -o",
    "match dedupe nowhere.csv --report",
    "match dedupe nowhere.csv --clusters",
    "match evaluate nowhere.csv --plot",
    "fst arcsort nowhere.fst",
    "fst replace nowhere.fst 7",
    "fst far create nowhere.fst",
    "fst align train nowhere.tsv -o",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_folder_is_told_before_the_input_is_opened(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said(capsys, *command.split(), "no/such/file.png") == (
        1,
        "textmill: no/such: there is no such folder; make it or choose another\n",
    )
    if "ldac" not in command:
        (tmp_path / "folder.png").mkdir()
        assert said(capsys, *command.split(), "folder.png") == (1, "textmill: folder.png: is a folder; name a file\n")
    with monkeypatch.context() as patch:
        patch.setattr(files.os, "access", lambda path, mode: False)  # tests may run as root, whom nothing is forbidden
        code, errors = said(capsys, *command.split(), "file.png")
        assert code == 1
        assert errors.endswith("no permission to write into its folder; choose another\n")
    code, errors = said(capsys, *command.split(), "file.mm" if command.startswith("bags") else "file.png")
    assert "nowhere" in errors, "and where nothing is wrong with the output, the input is looked at"


def test_the_folder_of_the_demo_is_looked_at_before_the_tour_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("textmill.cli._demo.write_demo", lambda folder: pytest.fail("the tour has begun"))
    (tmp_path / "file").touch()
    assert said(capsys, "demo", "-o", "file/demo") == (1, "textmill: file: is a file, not a folder; choose another\n")
    monkeypatch.setattr(files.os, "access", lambda path, mode: not mode & os.W_OK)  # root may do everything
    for name, what in (("new/demo", f"make this folder in {tmp_path}"), (".", "write into this folder")):
        assert said(capsys, "demo", "-o", name) == (1, f"textmill: {name}: no permission to {what}; choose another\n")


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.endswith(("--plot", "--histogram"))])
def test_the_suffix_of_a_figure_is_told_before_the_input_is_opened(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, errors = said(capsys, *command.split(), "out.docx")
    assert code == 1
    assert errors == "textmill: out.docx: figures are written as .png, .svg or .pdf; choose one of these suffixes\n"


def test_models_without_a_training_curve_say_so_first(capsys: pytest.CaptureFixture[str]) -> None:
    training = ["topics", "train", "nowhere.jsonl", "--kind", "lsa", "-o", "m.mill"]
    code, errors = said(capsys, *training, "--plot", "curve.png")
    assert (code, errors.count("\n")) == (1, 1)
    assert "--kind lsa has no training curve" in errors


def test_what_can_be_written_passes(tmp_path: Path) -> None:
    (tmp_path / "old").touch()
    (tmp_path / "link").symlink_to(tmp_path / "old")
    for name in ("new", "old", "link"):
        check_target(tmp_path / name)
    check_target("/dev/null")
    with pytest.raises(NotADirectoryError, match="is a file, not a folder"):
        check_target(tmp_path / "old" / "new")


def test_the_command_of_arguments_is_found() -> None:
    for words in ("topics train", "fst draw", "fst far create", "tokenize"):
        command = command_of(ROOT, ["-q", *words.split(), "--jobs", "2", "train"])
        assert inspect.unwrap(command.callback).__module__.startswith("textmill.cli.")
        assert command.name == words.split()[-1]
    assert command_of(ROOT, ["nonsense", "train"]) is ROOT


@pytest.mark.parametrize(
    "command",
    [
        "voicemail rules nowhere.mill",
        "voicemail grammar nowhere.txt",
        "voicemail grammar nowhere.fst --lattice",
        "trees evaluate nowhere.mill neither.mrg",
    ],
)
def test_an_error_has_no_header_before_it(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(command.split())
    out, errors = capsys.readouterr()
    assert (left.value.code, out) == (1, "")
    assert errors.count("\n") == 1
    assert "No such file" in errors


def test_a_table_without_rows_has_its_header(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.txt").touch()
    with pytest.raises(SystemExit) as left:
        main(["voicemail", "grammar", str(tmp_path / "empty.txt")])
    out, errors = capsys.readouterr()
    assert (left.value.code, errors) == (0, "textmill: nothing was found to list\n")
    assert out == "message\tstart\tend\tdigits\textension\tnumber\tamount\twords\n"


def test_the_header_of_a_failed_table_does_not_wait_for_the_next_command(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("voicemail grammar nowhere.txt", "info"):
        with pytest.raises(SystemExit):
            main(command.split())
    assert "digits\textension" not in capsys.readouterr().out


def test_a_failed_command_leaves_no_header_to_those_who_call_the_commands_themselves(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["voicemail", "grammar", "nowhere.txt"])
    app(["info"], standalone_mode=False)
    assert "digits\textension" not in capsys.readouterr().out
    assert not _tables._waiting


@pytest.mark.parametrize(
    ("command", "code", "fault"),
    [
        ("language detect", 0, "the document has no words (the file is empty)"),
        ("readability score", 1, "there are no texts; pass at least one"),
    ],
)
def test_documents_without_a_word_are_told_once(
    command: str, code: int, fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty.txt"
    empty.touch()
    with pytest.raises(SystemExit) as left:
        main([*command.split(), str(empty)])
    assert (left.value.code, capsys.readouterr().err) == (code, f"textmill: {empty}: {fault}\n")
