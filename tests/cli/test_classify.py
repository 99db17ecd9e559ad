"""`textmill classify`: from labeled files to a model, its labels, its figures and its words; what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from textmill.cli.app import main
from textmill.errors import DataError
from textmill.linear import CombinationLogistic, LogisticRegression, make_classifier, read_labeled
from textmill.model import load

RECORDS = [
    {"id": f"r{i}", "text": text, "label": label}
    for i, (text, label) in enumerate(
        [
            ("a splendid book, warmly told", "good"),
            ("splendid cast and a splendid score", "good"),
            ("a dull book, badly told", "bad"),
            ("dull, dull, and the score is bad", "bad"),
        ]
        * 5
    )
]


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a run in this process."""
    with pytest.raises(SystemExit) as left:
        main(["-q", *arguments])
    captured = capsys.readouterr()
    assert isinstance(left.value.code, int)
    return left.value.code, captured.out, captured.err


@pytest.fixture
def records(tmp_path: Path) -> str:
    path = tmp_path / "reviews.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS), encoding="utf-8")
    return str(path)


def test_texts_are_learnt_predicted_evaluated_and_explained(
    records: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(tmp_path / "model.mill")
    code, out, _ = said(capsys, "classify", "train", records, "--l1", "0.1", "--weighting", "nnn", "-o", model)
    assert code == 0
    assert out.startswith("20 rows, 2 classes; ")
    loaded = load(model)
    assert isinstance(loaded, LogisticRegression)
    assert (loaded.l1, loaded.l2) == (0.1, 0.0)
    new = tmp_path / "new.csv"
    new.write_text("id,text\nn1,a splendid score\nn2,dull\n", encoding="utf-8")
    lines = said(capsys, "classify", "predict", model, str(new))[1].splitlines()
    assert lines[0] == "label\tprobability\tid"
    assert [line.split("\t")[::2] for line in lines[1:]] == [["good", "n1"], ["bad", "n2"]]
    first = json.loads(said(capsys, "classify", "predict", model, str(new), "--json")[1].splitlines()[0])
    assert first["label"] == "good"
    assert first["probability"] > 0.5
    out = said(capsys, "classify", "evaluate", model, records)[1]
    assert out.splitlines()[-1] == "accuracy 1.0000 of 20 rows"
    figures = json.loads(said(capsys, "classify", "evaluate", model, records, "--json")[1])
    assert figures["accuracy"] == 1.0
    assert {row["label"] for row in figures["labels"]} == {"good", "bad"}
    words = said(capsys, "classify", "explain", model, "-k", "2")[1].splitlines()
    assert words[0] == "label\tfeature\tweight"
    assert {tuple(line.split("\t")[:2]) for line in words[1:]} & {("good", "splendid"), ("bad", "dull")}


def test_events_give_combinations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events, model = tmp_path / "train.events", str(tmp_path / "model.mill")
    events.write_text("N v=eat p=with\nV v=eat p=of\nV v=see p=with\nN v=see p=of\n" * 9, encoding="utf-8")
    said(capsys, "classify", "train", str(events), "--kind", "combinations", "--l1", "0.5", "-o", model)
    assert isinstance(load(model), CombinationLogistic)
    assert " & " in said(capsys, "classify", "explain", model)[1]
    assert said(capsys, "classify", "evaluate", model, str(events))[1].endswith("accuracy 1.0000 of 36 rows\n")


def test_rows_follow_a_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = tmp_path / "train.svmlight"
    rows.write_text("1 1:1 3:0.5\n-1 2:1\n1 1:2\n-1 2:1 3:0.5\n" * 5, encoding="utf-8")
    dev = tmp_path / "dev.svmlight"
    dev.write_text("1 1:1\n-1 2:2\n", encoding="utf-8")  # fewer columns: filled up
    _, out, _ = said(capsys, "classify", "path", str(rows), "--dev", str(dev), "--steps", "4")
    lines = [line.split("\t") for line in out.splitlines()]
    assert lines[0] == ["l1", "features", "objective", "accuracy"]
    assert lines[1][1] == "0"
    assert lines[-1][1] != "0"
    assert lines[-1][3] == "1.0000"
    model = str(tmp_path / "model.mill")
    assert said(capsys, "classify", "train", str(rows), "-o", model)[0] == 0
    labels = said(capsys, "classify", "predict", model, str(dev))[1]
    assert [line.split("\t")[0] for line in labels.splitlines()[1:]] == ["1", "-1"]


def test_wrong_data_and_options_are_refused_in_one_line(
    records: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(tmp_path / "model.mill")
    code, _, err = said(capsys, "classify", "train", records, "--label-field", "stars", "-o", model)
    assert code == 1
    assert "reviews.jsonl:1: no label in the field 'stars'; the fields are id, text, label" in err
    assert said(capsys, "classify", "train", records, "--degree", "3", "-o", model)[0] == 1
    assert said(capsys, "classify", "train", records, "--kind", "tree", "-o", model)[0] == 1
    rows = tmp_path / "a.svmlight"
    rows.write_text("1 0:1\n", encoding="utf-8")
    code, _, err = said(capsys, "classify", "train", str(rows), "-o", model)
    assert code == 1
    assert "a.svmlight:1" in err
    with pytest.raises(DataError, match="the files hold events and texts"):
        read_labeled([records, "b.events"])
    with pytest.raises(DataError, match="degree is no option of kind 'logistic'"):
        make_classifier("logistic", degree=2)


def test_unsorted_rows_are_sorted(tmp_path: Path) -> None:
    rows = tmp_path / "a.svmlight"
    rows.write_text("1 3:1 1:2\n-1 2:1\n", encoding="utf-8")
    assert np.array_equal(read_labeled([str(rows)]).X.toarray(), [[2, 0, 1], [0, 1, 0]])
