"""Sheets for people, and the learning curve."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from papers.discriminative_lm.human import judge_sheets, write_sheet
from papers.discriminative_lm.learning_curve import draw_curve, learning_curve
from textmill.errors import DataError
from textmill.tasks import FluencyModel
from textmill.tasks.fluency import (
    sample_documents,
    split_corpus,
)

PARTS = split_corpus(sample_documents(60))


MODEL = FluencyModel(features="word:1").fit(PARTS)


def answered(sheet: Path, key: Path, target: Path, wrong: int = 0, empty: int = 0) -> None:
    truth = {row["number"]: row["right"] for row in csv.DictReader(key.read_text().splitlines())}
    rows = list(csv.DictReader(sheet.read_text().splitlines()))
    with target.open("w") as out:
        table = csv.DictWriter(out, ["number", "sentence", "right"])
        table.writeheader()
        for i, row in enumerate(rows):
            answer = truth[row["number"]]
            answer = {"yes": "No", "no": "Y"}[answer] if i < wrong else answer
            table.writerow({**row, "right": "" if i >= len(rows) - empty else answer})


def test_a_sheet_has_both_sides_in_random_order_and_judgments_are_scored(tmp_path: Path) -> None:
    sheet, key = tmp_path / "sheet.csv", tmp_path / "key.csv"
    assert write_sheet(MODEL, PARTS.test, sheet, key, sentences=40) == 40
    truth = [row["right"] for row in csv.DictReader(key.read_text().splitlines())]
    assert truth.count("yes") == truth.count("no") == 20
    assert truth != sorted(truth)
    assert truth != sorted(truth, reverse=True)
    rows = list(csv.DictReader(sheet.read_text().splitlines()))
    real = {" ".join(words) for words in PARTS.sentences("test")}
    assert [row["sentence"] in real for row in rows] == [answer == "yes" for answer in truth]
    assert {row["right"] for row in rows} == {""}
    for name, wrong, empty in (("native", 1, 0), ("guest", 12, 4)):
        answered(sheet, key, tmp_path / f"{name}.csv", wrong, empty)
    native, guest = judge_sheets([tmp_path / "native.csv", tmp_path / "guest.csv"], key)
    assert (native.judge, native.sentences, native.accuracy) == ("native", 40, 39 / 40)
    assert np.isnan(native.kappa)
    assert (guest.sentences, guest.unanswered, guest.accuracy) == (36, 4, 24 / 36)
    assert 0.0 < guest.kappa < 1.0


def test_sheets_that_are_wrong_are_clear_errors(tmp_path: Path) -> None:
    sheet, key = tmp_path / "sheet.csv", tmp_path / "key.csv"
    write_sheet(MODEL, PARTS.test, sheet, key, sentences=10)
    with pytest.raises(DataError, match="no sentence is judged"):
        judge_sheets([sheet], key)
    for text, message in (
        ("number,right\n1,maybe\n", "'maybe' is no judgment"),
        ("number,right\n77,yes\n", "number 77 is not in the key"),
        ("number,right\n1,yes\n1,no\n", "comes twice"),
        ("id,right\n1,yes\n", "columns number and right"),
    ):
        (tmp_path / "bad.csv").write_text(text)
        with pytest.raises(DataError, match=message):
            judge_sheets([tmp_path / "bad.csv"], key)
    with pytest.raises(DataError, match="no sheets"):
        judge_sheets([], key)


def test_the_learning_curve_is_drawn() -> None:
    points = learning_curve(FluencyModel(features="word:1", max_iter=1), PARTS, [50, 200])
    assert draw_curve({"": points}).axes[0].get_xscale() == "log"
