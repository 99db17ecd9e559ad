"""`textmill classify`: from labeled files to a model, its labels, its figures and its words; what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import said

from textmill.errors import DataError
from textmill.linear import CombinationLogistic, LogisticRegression, UtilityLogistic, make_classifier, read_labeled
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


@pytest.fixture
def records(tmp_path: Path) -> str:
    path = tmp_path / "reviews.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS), encoding="utf-8")
    return str(path)


def test_texts_are_learned_predicted_evaluated_and_explained(
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


def test_without_a_penalty_one_is_chosen_by_left_out_rows(
    records: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(tmp_path / "model.mill")
    code, out, _ = said(capsys, "classify", "train", records, "-o", model)
    assert code == 0
    assert "chosen by left-out rows" in out
    loaded = load(model)
    assert f"l2 {loaded.l2:g}" in out
    assert loaded.l2 < 1
    out = said(capsys, "classify", "train", records, "--l2", "1", "-o", model)[1]
    assert "chosen" not in out
    assert load(model).l2 == 1


def test_fields_may_be_parted_by_semicolons_in_any_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, model = tmp_path / "films.csv", str(tmp_path / "model.mill")
    data.write_text("text;label\n这部电影很好;pos\n这部电影很差;neg\nفيلم رائع;pos\nفيلم سيئ;neg\n", encoding="utf-8")
    code, out, _ = said(capsys, "classify", "train", str(data), "--delimiter", ";", "-o", model)
    assert code == 0
    assert out.startswith("4 rows, 2 classes; ")
    assert "accuracy 1.0000" in said(capsys, "classify", "evaluate", model, str(data), "--delimiter", ";")[1]


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


def test_columns_of_rows_keep_the_numbers_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, train, test = str(tmp_path / "model.mill"), tmp_path / "a1a", tmp_path / "a1a.t"
    train.write_text("+1 1:1 2:1\n-1 1:2\n+1 2:1\n-1 1:1\n", encoding="utf-8")  # no suffix, as LIBSVM's sets
    test.write_text("+1 2:1 120:1 123:2\n-1 1:3 123:1\n", encoding="utf-8")
    for kind in (["--l2", "1"], ["--l1", "0.1"], ["--kind", "combinations", "--l1", "0.1"], ["--kind", "bayes"]):
        assert said(capsys, "classify", "train", str(train), *kind, "-o", model)[0] == 0
        shown = [line.split("\t")[:2] for line in said(capsys, "classify", "explain", model)[1].splitlines()]
        assert ["1", "2"] in shown
        assert ["-1", "1"] in shown
        for command in ("evaluate", "predict"):
            code, out, err = said(capsys, "classify", command, model, str(test), quiet=False)
            assert (code, err.count("training did not have")) == (0, 1)
            assert "textmill: 2 columns that training did not have, 120, 123: 3 values left out" in err
        assert [line.split("\t")[0] for line in out.splitlines()[1:]] == ["1", "-1"]
    train.write_text("+1 0:1 1:1\n-1 0:2\n+1 1:1\n-1 0:1\n", encoding="utf-8")
    assert said(capsys, "classify", "train", str(train), "--l2", "1", "-o", model)[0] == 0
    test.write_text("+1 1:1\n", encoding="utf-8")  # column 0 does not occur: the model knows the numbers
    out = said(capsys, "classify", "predict", model, str(test))[1]
    assert out.splitlines()[1].split("\t")[0] == "1"
    shown = [line.split("\t")[:2] for line in said(capsys, "classify", "explain", model)[1].splitlines()]
    assert shown[1:] == [["1", "1"], ["-1", "0"]]
    prose = tmp_path / "notes.txt"
    prose.write_text("a short text\n", encoding="utf-8")
    code, _, err = said(capsys, "classify", "predict", model, str(prose))
    assert code == 1
    assert "the model takes rows of numbers or events, and this is text" in err


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
    rows.write_text("1 -1:1\n", encoding="utf-8")
    code, _, err = said(capsys, "classify", "train", str(rows), "-o", model)
    assert code == 1
    assert "a.svmlight:1:5: column -1 is outside 0 to" in err
    with pytest.raises(DataError, match="the files hold events and texts"):
        read_labeled([records, "b.events"])
    with pytest.raises(DataError, match="degree is no option of kind 'logistic'"):
        make_classifier("logistic", degree=2)


def test_unsorted_rows_are_sorted(tmp_path: Path) -> None:
    rows = tmp_path / "a.svmlight"
    rows.write_text("1 3:1 1:2\n-1 2:1\n", encoding="utf-8")
    assert np.array_equal(read_labeled([str(rows)]).X.toarray(), [[2, 0, 1], [0, 1, 0]])


def rare(tmp_path: Path, signs: int = 2) -> str:
    """Texts of which one in eight is an alarm, with so many telling words; others have none or one of them."""
    rng = np.random.default_rng(3)
    plain, telling = ["pump", "valve", "tank", "shift", "report", "water"], ["smoke", "heat", "pressure"]
    path = tmp_path / "alarms.jsonl"
    with path.open("w", encoding="utf-8") as out:
        for i in range(240):
            alarm = i % 8 == 0
            words = (
                rng.choice(plain, 6).tolist()
                + rng.choice(telling, signs if alarm else int(rng.random() < 0.4)).tolist()
            )
            out.write(
                json.dumps({"id": f"a{i}", "text": " ".join(words), "label": "alarm" if alarm else "quiet"}) + "\n"
            )
    return str(path)


def test_a_model_is_trained_for_the_score_that_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, model, plain = rare(tmp_path), str(tmp_path / "f.mill"), str(tmp_path / "l.mill")
    code, out, _ = said(capsys, "classify", "train", data, "--utility", "f1", "-o", model)
    assert code == 0
    assert out.startswith("240 rows, 2 classes; ")
    assert out.rstrip().endswith("positive label alarm")
    assert " on held-out rows" in out
    loaded = load(model)
    assert isinstance(loaded, UtilityLogistic)
    said(capsys, "classify", "train", data, "--l2", "1", "-o", plain)
    f1 = {}
    for name in (model, plain):
        figures = json.loads(said(capsys, "classify", "evaluate", name, data, "--json")[1])
        f1[name] = next(row["f1"] for row in figures["labels"] if row["label"] == "alarm")
    assert f1[model] > f1[plain]
    said(capsys, "classify", "train", data, "--utility", "f1", "--positive", "quiet", "-o", model)
    assert load(model).positive_ == "quiet"
    for arguments, fault in (
        (["--utility", "magic"], "unknown"),
        (["--utility", "f1", "--balanced"], "balanced"),
        (["--utility", "f1", "--kind", "combinations"], "utility is no option"),
        (["--positive", "alarm"], "--positive is for"),
        (["--utility", "f1", "--positive", "fire"], "no label"),
    ):
        code, _, errors = said(capsys, "classify", "train", data, *arguments, "-o", model)
        assert code == 1
        assert fault in errors


def test_operating_points_of_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, model, picture = rare(tmp_path), str(tmp_path / "m.mill"), tmp_path / "curve.svg"
    said(capsys, "classify", "train", data, "-o", model)
    code, out, _ = said(capsys, "classify", "curve", model, data, "--points", "8", "--plot", str(picture))
    assert code == 0
    lines = [line.split("\t") for line in out.splitlines()]
    assert lines[0] == ["threshold", "recall", "precision", "f1", "claimed", "best"]
    assert len(lines) <= 9
    assert [line[5] for line in lines].count("*") == 1
    recalls = [float(line[1]) for line in lines[1:]]
    assert recalls == sorted(recalls)
    assert picture.read_text(encoding="utf-8").startswith("<?xml")
    rows = [json.loads(line) for line in said(capsys, "classify", "curve", model, data, "--json")[1].splitlines()]
    best = next(row for row in rows if row["best"])
    assert best["f1"] == max(row["f1"] for row in rows)
    code, _, errors = said(capsys, "classify", "curve", model, data, "--positive", "fire")
    assert code == 1
    assert "no label of the model" in errors


def test_models_along_the_weight_of_recall(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, picture = rare(tmp_path, signs=1), tmp_path / "path.svg"
    arguments = ["classify", "path", data, "--along", "recall", "--steps", "3"]
    code, out, _ = said(capsys, *arguments, "--dev", data, "--plot", str(picture))
    assert code == 0
    lines = [line.split("\t") for line in out.splitlines()]
    assert lines[0] == ["weight", "held_out", "recall", "precision", "claimed"]
    assert [line[0] for line in lines[1:]] == ["0.1", "0.5", "0.9"]
    claimed = [int(line[4]) for line in lines[1:]]
    assert claimed[0] < claimed[2]
    assert float(lines[1][2]) < float(lines[3][2])
    assert picture.read_text(encoding="utf-8").startswith("<?xml")
    rows = [json.loads(line) for line in said(capsys, *arguments, "--positive", "quiet", "--json")[1].splitlines()]
    assert [row["weight"] for row in rows] == [0.1, 0.5, 0.9]
    assert rows[0]["recall"] is None
    for wrong, fault in (
        (["--along", "magic"], "along"),
        (["--along", "recall", "--plot", str(picture)], "--dev"),
        (["--along", "recall", "--kind", "combinations"], "utility is no option"),
        (["--along", "recall", "--steps", "1"], "steps"),
        (["--positive", "alarm"], "--along recall"),
    ):
        code, _, errors = said(capsys, "classify", "path", data, *wrong)
        assert code == 1
        assert fault in errors


def test_probabilities_are_decoded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "p.txt"
    source.write_text("0.4\n0.4\n0.3\n\n0.1\n0.1\n0.1\n", encoding="utf-8")
    code, out, errors = said(capsys, "classify", "decode", str(source))
    assert code == 0
    assert [line.split("\t")[0] for line in out.splitlines()] == ["label", "1", "1", "1", "0", "0", "0"]
    assert "3 of 6 items; expected f1 0.601900 on average over 2 sets" in errors  # (0.4748 + 0.729) / 2
    errors = said(capsys, "classify", "decode", str(source), "--micro", "--beta", "2")[2]
    assert "of all" in errors
    errors = said(capsys, "classify", "decode", str(source), "--utility", "jaccard", "--at-most", "1")[2]
    assert "expected jaccard" in errors
    table = tmp_path / "p.tsv"
    table.write_text(
        "label\tprobability\tid\tday\nspam\t0.9\tx\t1\nham\t0.8\ty\t2\nspam\t0.7\tz\t1\n", encoding="utf-8"
    )
    arguments = ["classify", "decode", str(table), "--positive", "spam", "--set-field", "day", "--json"]
    rows = [json.loads(line) for line in said(capsys, *arguments)[1].splitlines()]
    assert [(row["id"], row["label"], row["set"]) for row in rows] == [("x", 1, "1"), ("z", 1, "1"), ("y", 0, "2")]
    assert rows[2]["probability"] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("text", "arguments", "fault"),
    [
        ("0.5\n1.5\n", [], "p.txt:2: 1.5 is no probability"),
        ("0.5\nx\n", [], "p.txt:2: 'x' is no number"),
        ("0.5\nnan\n", [], "p.txt:2: nan is no probability"),
        ("\n", [], "no probabilities"),
        ("id,p\na,0.5\n", [], "there is no field 'probability'"),
        ("id,probability\na\n", [], "p.txt:2: has 1 fields"),
        ('{"probability": 0.5}\n{"probability"\n', [], "p.txt:2: is no JSON"),
        ('{"probability": true}\n', [], "no number"),
        ("0.5\n", ["--beta", "1", "--utility", "jaccard"], "one of them"),
        ("0.5\n", ["--utility", "magic"], "unknown"),
    ],
)
def test_bad_probabilities_are_named(
    text: str, arguments: list[str], fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "p.txt"
    source.write_text(text, encoding="utf-8")
    code, _, errors = said(capsys, "classify", "decode", str(source), *arguments)
    assert code == 1
    assert fault in errors


def test_what_predict_prints_can_be_decoded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, model, predictions = rare(tmp_path), str(tmp_path / "m.mill"), tmp_path / "predictions.jsonl"
    said(capsys, "classify", "train", data, "--l2", "1", "-o", model)
    predictions.write_text(said(capsys, "classify", "predict", model, data, "--json")[1], encoding="utf-8")
    out = said(capsys, "classify", "decode", str(predictions), "--positive", "alarm")[1]
    claimed = [line.split("\t")[2] for line in out.splitlines() if line.startswith("1\t")]
    predicted = [row for row in map(json.loads, predictions.read_text().splitlines()) if row["label"] == "alarm"]
    assert len(claimed) > len(predicted)


def test_a_path_of_combinations_is_printed_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = tmp_path / "xor.events"
    events.write_text("no\nyes a\nyes b\nno a b\n" * 10, encoding="utf-8")
    drawn = tmp_path / "path.svg"
    options = ("--kind", "combinations", "--degree", "2", "--steps", "4", "--dev", str(events), "--plot", str(drawn))
    code, out, _ = said(capsys, "classify", "path", str(events), *options, "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert rows[0]["features"] == 0
    assert rows[-1]["features"] == 3
    assert rows[-1]["accuracy"] == 1.0
    assert drawn.read_text(encoding="utf-8").startswith("<?xml")
    code, out, _ = said(capsys, "classify", "path", str(events), *options[:6], "--l2", "5", "--json")
    assert code == 0
    assert json.loads(out.splitlines()[-1])["objective"] > rows[-1]["objective"]
