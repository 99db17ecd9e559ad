"""The commands of entities: train, label, evaluate, explain, merge."""

from __future__ import annotations

import json
from functools import partial

import pytest
from commands import output_of

from textmill.cli.app import main
from textmill.corpus import write_columns
from textmill.tasks.entities import sample_entities

run = partial(output_of, "entities")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("entities")
    write_columns(sample_entities(200, random_state=1), path / "train.conll")
    write_columns(sample_entities(60, random_state=2), path / "test.conll")
    said = run("train", path / "train.conll", "-o", path / "m.mill", "--language", "es", "--dev", path / "test.conll")
    assert "200 sentences" in said
    assert "LOC, MISC, ORG, PER" in said
    assert "F on" in said
    return path


def test_labels_are_one_more_column(folder):
    out = run("label", folder / "m.mill", folder / "test.conll")
    lines = (folder / "test.conll").read_text(encoding="utf-8").splitlines()
    labeled = out.splitlines()
    assert [line.rsplit(" ", 1)[0] if line else "" for line in labeled] == lines
    piped = run("label", folder / "m.mill", text=(folder / "test.conll").read_text(encoding="utf-8"))
    assert piped == out
    run("label", folder / "m.mill", folder / "test.conll", "-o", folder / "out.conll")
    assert (folder / "out.conll").read_text(encoding="utf-8") == out


def test_other_marks_begin_documents(folder):
    lines = (folder / "test.conll").read_text(encoding="utf-8")
    (folder / "marked.conll").write_text("###MEDLINE:1\n\n" + lines, encoding="utf-8")
    out = run("label", folder / "m.mill", folder / "marked.conll", "--document", "###MEDLINE:")
    assert out == "###MEDLINE:1\n\n" + run("label", folder / "m.mill", folder / "test.conll")
    scored = run("evaluate", folder / "m.mill", folder / "marked.conll", "--document", "###MEDLINE:")
    assert "processed" in scored


def test_names_are_printed_as_json(folder):
    rows = [json.loads(line) for line in run("label", folder / "m.mill", folder / "test.conll", "--json").splitlines()]
    assert len(rows) == 60
    names = [name for row in rows for name in row["entities"]]
    assert {name["label"] for name in names} == {"LOC", "MISC", "ORG", "PER"}
    assert all(" ".join(row["words"][n["start"] : n["end"]]) == n["text"] for row in rows for n in row["entities"])


def test_running_text_is_read(folder):
    text = "Ayer llovió. Marta Gil vive en Lima."
    out = run("label", folder / "m.mill", "--text", "-", text=text).splitlines()
    assert out[0].split("\t") == ["begin", "end", "label", "probability", "text"]
    rows = [line.split("\t") for line in out[1:]]
    assert [(row[2], row[4]) for row in rows] == [("PER", "Marta Gil"), ("LOC", "Lima")]
    first = json.loads(run("label", folder / "m.mill", "--text", "--json", "-", text=text).splitlines()[0])
    assert text[first["begin"] : first["end"]] == "Marta Gil"


def test_both_phases_are_evaluated_and_reported(folder):
    out = run("evaluate", folder / "m.mill", folder / "test.conll", "--report", folder / "page.html")
    assert "processed" in out
    assert "classification accuracy" in out
    assert "Errors by kind" in (folder / "page.html").read_text(encoding="utf-8")
    page = json.loads(run("evaluate", folder / "m.mill", folder / "test.conll", "--json"))
    assert page["figures"]["f1"] > 0.8
    assert page["tags"]["f1"] == page["figures"]["f1"]


def test_reasons_are_listed(folder):
    out = run("explain", folder / "m.mill", "Marta Gil vive en Lima.", "-k", "2").splitlines()
    rows = [dict(zip(out[0].split("\t"), line.split("\t"), strict=True)) for line in out[1:]]
    chosen = {row["phrase"]: row["type"] for row in rows if row["chosen"] == "yes"}
    assert chosen == {"Marta Gil": "PER", "Lima": "LOC"}
    assert run("explain", folder / "m.mill", "-", text="Marta Gil vive en Lima.\n").splitlines()[0] == out[0]


def test_models_are_merged(folder):
    for number in (1, 2):
        write_columns(sample_entities(80, random_state=number), folder / f"part{number}.conll")
        run("train", folder / f"part{number}.conll", "-o", folder / f"part{number}.mill", "--phrases", "gold")
    write_columns([*sample_entities(80, random_state=1), *sample_entities(80, random_state=2)], folder / "whole.conll")
    run("train", folder / "whole.conll", "-o", folder / "whole.mill", "--phrases", "gold")
    said = run("merge", folder / "part1.mill", folder / "part2.mill", "-o", folder / "both.mill")
    assert "2 models, 160 sentences" in said
    assert (folder / "both.mill").read_bytes() == (folder / "whole.mill").read_bytes()


def test_settings_are_tuned_on_a_file(folder):
    said = run("train", folder / "test.conll", "-o", folder / "t.mill", "--tune", "--dev", folder / "train.conll")
    assert said.splitlines()[0].split("\t") == ["setting", "value", "f1", "better"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Ana\nve\n", "bad.conll:1: found one column"),
        ("Ana NOUN\n", "bad.conll:1: 'NOUN' is not a tag"),
        ("Ana O\n", "no sentence has a name"),
        ("", "no sentences"),
    ],
)
def test_an_error_is_one_line(folder, capsys, text, message):
    (folder / "bad.conll").write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit) as left:
        main(["entities", "train", str(folder / "bad.conll"), "-o", str(folder / "bad.mill")])
    assert left.value.code == 1
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
    assert not (folder / "bad.mill").exists()
