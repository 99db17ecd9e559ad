"""`textmill match train`, `blocks`, `explain`, and matching of records, as a person meets them."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import commands
import numpy as np
import pytest

from textmill import load
from textmill.strings import Pairs
from textmill.tasks.names import (
    FellegiSunter,
    RecordList,
    RecordMatcher,
    generate_names,
    group_notes,
    read_record_list,
)
from textmill.tasks.names.generate import generate_people


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    return commands.said(capsys, "match", *arguments)


FIELDS = ["--field", "name", "--field", "phone:exact"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """people.csv, and gold.tsv with labels of every third candidate."""
    folder = tmp_path_factory.mktemp("people")
    names = generate_names(100, random_state=6)
    numbers = np.unique(names.clusters, return_inverse=True)[1]
    rows = [
        f'{key},"{name}",{number % 89 if at % 4 else ""}'
        for at, (key, name, number) in enumerate(zip(names.ids, names.names, numbers, strict=True))
    ]
    (folder / "people.csv").write_text("\n".join(["id,name,phone", *rows]) + "\n", encoding="utf-8")
    records = read_record_list(folder / "people.csv", ["name", "phone"])
    found = RecordMatcher(fields=["name", "phone:exact"]).candidates(records)
    lines = [
        f"{names.ids[i]}\t{names.ids[j]}\t{'pos' if numbers[i] == numbers[j] else 'neg'}"
        for i, j in zip(found.left[::3], found.right[::3], strict=True)
    ]
    (folder / "gold.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_records_are_matched_by_several_fields(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    groups, page = folder / "groups.tsv", folder / "groups.html"
    options = ["-t", 0.7, "--clusters", groups, "--cluster-report", page, "--report", folder / "pairs.html"]
    code, out, err = said(capsys, "dedupe", folder / "people.csv", *FIELDS, *options)
    assert code == 0
    assert out.startswith("id1\tid2\tscore\tname1\tname2\n")
    assert "pairs compared" in err
    assert groups.read_text().startswith("id\tcluster\tcanonical\tname\n")
    assert "groups of several records" in page.read_text()
    assert "why" in (folder / "pairs.html").read_text()


def test_train_suggest_label_and_match_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people, model = folder / "people.csv", folder / "people.mill"
    more = ["--suggest", folder / "next.tsv", "--report", folder / "next.html", "-k", 12]
    code, _, err = said(capsys, "train", people, *FIELDS, "--labels", folder / "gold.tsv", "-o", model, *more)
    assert code == 0
    assert "recall on labels" in err
    assert "Brier score" in err
    suggested = (folder / "next.tsv").read_text().splitlines()
    assert len(suggested) == 13
    labeled = {tuple(line.split("\t")[:2]) for line in (folder / "gold.tsv").read_text().splitlines()}
    assert not labeled & {tuple(line.split("\t")[:2]) for line in suggested}
    assert "Pairs to label" in (folder / "next.html").read_text()
    decisions = "".join(f"{line.split(chr(9))[0]}\t{line.split(chr(9))[1]}\tneg\n" for line in suggested[1:])
    (folder / "decisions.tsv").write_text(decisions)
    (folder / "more.tsv").write_text((folder / "gold.tsv").read_text())
    assert said(capsys, "accept", folder / "more.tsv", folder / "decisions.tsv")[0] == 0
    assert said(capsys, "train", people, *FIELDS, "--labels", folder / "more.tsv", "-o", folder / "b.mill")[0] == 0
    code, out, _ = said(capsys, "dedupe", people, "--model", model)
    assert out.startswith("id1\tid2\tprobability\t")
    scores = [float(line.split("\t")[2]) for line in out.splitlines()[1:]]
    assert min(scores) >= load(model).threshold_
    code, out, _ = said(capsys, "join", people, people, "--model", model, "-t", 0.9)
    assert code == 0
    first = out.splitlines()[1].split("\t")
    code, out, _ = said(capsys, "explain", people, first[0], first[1], "--model", model, "--other", people)
    assert code == 0
    assert "before anything is compared" in out


def test_train_without_labels(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people, model = folder / "people.csv", folder / "em.mill"
    code, _, err = said(capsys, "train", people, *FIELDS, "-o", model, "--suggest", folder / "first.tsv", "-k", 5)
    assert code == 0
    assert "share of matches among all pairs" in err
    assert len((folder / "first.tsv").read_text().splitlines()) == 6
    assert said(capsys, "dedupe", people, "--model", model)[1].startswith("id1\tid2\tprobability\t")


def people_file(path: Path, **settings: Any) -> Path:
    """A list of made-up people."""
    columns = generate_people(**settings).records.columns
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(columns)
        table.writerows(zip(*columns.values(), strict=True))
    return path


PEOPLE_FIELDS = [part for name in ("forename", "surname", "street", "city", "born:exact") for part in ("--field", name)]


def test_a_list_without_duplicates_is_said_and_pairs_to_label_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = people_file(tmp_path / "alone.csv", people=300, duplicates=0.0)
    model, following = tmp_path / "m.mill", tmp_path / "next.tsv"
    code, _, err = said(capsys, "train", people, *PEOPLE_FIELDS, "-o", model, "--suggest", following, "-k", 20)
    assert code == 1
    assert "label some pairs (`match train --suggest FILE` chooses them)" in err.splitlines()[-1]
    assert len(following.read_text().splitlines()) == 21
    assert not model.exists()


def test_groups_that_swallow_the_list_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people = people_file(tmp_path / "people.csv", people=200, duplicates=0.3)
    code, _, err = said(capsys, "dedupe", people, *PEOPLE_FIELDS, "-t", 0.05, "-o", tmp_path / "pairs.tsv")
    assert code == 0
    assert re.search(r"one group has \d+ of \d+ records \(.*\): the threshold is too low", err)
    model = tmp_path / "m.mill"
    assert said(capsys, "train", people, *PEOPLE_FIELDS, "-o", model)[0] == 0
    code, _, err = said(capsys, "dedupe", people, "--model", model, "-o", tmp_path / "pairs.tsv")
    assert code == 0
    assert "one group" not in err


def test_groups_whose_pairs_contradict_are_split_and_the_reason_is_given() -> None:
    people = RecordList.of({"name": [f"name {n}" for n in range(4)]})
    chain = Pairs.of([(0, 1, 0.99), (1, 2, 0.6), (2, 3, 0.99)])
    groups = FellegiSunter().clusters(people, chain, threshold=0.5, method="correlation").groups
    assert groups.tolist() == [0, 0, 1, 1]
    notes = group_notes(people, chain, groups)
    assert len(notes) == 1
    assert notes[0].startswith("left out of the groups: 1 pair above the threshold, because most of the other pairs")
    assert notes[0].endswith("the likeliest: 2 and 3")


def test_blocks_are_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people, gold = folder / "people.csv", folder / "gold.tsv"
    code, out, _ = said(capsys, "blocks", people, *FIELDS, "--block", "phone:exact", "--labels", gold)
    assert code == 0
    assert "by no other" in out
    assert "  lost: " in out
    report = json.loads(said(capsys, "blocks", people, *FIELDS, "--labels", gold, "--json")[1])
    assert report["recall"] == 1.0
    assert report["compared"] < report["possible"]


@pytest.mark.parametrize(("command", "fault"), [
    (["train", "people.csv", "-o", "m.mill", "--method", "labels"], "there are no labels; name a file with --labels"),
    (["train", "people.csv", "-o", "m.mill", "--method", "magic"], "--method"),
    (["train", "people.csv", "-o", "m.mill", "--labels", "one.tsv"], "no label is neg"),
    (["train", "people.csv", "-o", "m.mill", "--labels", "both.tsv"], "is labeled pos above and neg here"),
    (["train", "people.csv", "-o", "m.mill", "--labels", "gone.tsv"], "no name has the id 'nobody'"),
    (["train", "people.csv", "-o", "m.mill", "--field", "street"], "no field 'street'; the fields are 'id', 'name'"),
    (["dedupe", "people.csv", "--field", "name", "-k", "3"], "-k does not go with --model, --field, --block or"),
    (["dedupe", "people.csv", "--model", "gold.tsv"], "gold.tsv"),
    (["dedupe", "people.csv", "--field", "name:nosuch"], "no measure is called 'nosuch'"),
    (["dedupe", "people.csv", "--block", "name:0.5"], "FIELD:exact or FIELD:MEASURE:THRESHOLD"),
    (["explain", "people.csv", "nobody", "1"], "no name has the id 'nobody'"),
])  # fmt: skip
def test_mistakes_are_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: list[str], fault: str
) -> None:
    monkeypatch.chdir(folder)
    ids = [line.split(",")[0] for line in Path("people.csv").read_text().splitlines()[1:3]]
    Path("one.tsv").write_text(f"{ids[0]}\t{ids[1]}\tpos\n")
    Path("both.tsv").write_text(f"{ids[0]}\t{ids[1]}\tpos\n{ids[1]}\t{ids[0]}\tneg\n")
    Path("gone.tsv").write_text(f"{ids[0]}\tnobody\tpos\n")
    code, _, err = said(capsys, *command)
    assert code in (1, 2)
    assert fault in err
    if code == 1:
        assert len(err.strip().splitlines()) == 1


def test_aliases_join_nicknames_and_trade_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    list_, aliases = tmp_path / "names.txt", tmp_path / "aliases.txt"
    list_.write_text("Bob Smith\nRobert Smith\nIBM\nInternational Business Machines\nMary Jones\n")
    aliases.write_text("robert, bob, rob\n\n# firms\nInternational Business Machines, IBM\n")
    code, out, _ = said(capsys, "dedupe", list_, "--threshold", 0.9)
    assert (code, out.count("\n")) == (0, 1)
    code, out, _ = said(capsys, "dedupe", list_, "--threshold", 0.9, "--aliases", aliases)
    rows = [line.split("\t") for line in out.splitlines()[1:]]
    assert [(row[2], *row[3:5]) for row in rows] == [
        ("1.000000", "Bob Smith", "Robert Smith"),
        ("1.000000", "IBM", "International Business Machines"),
    ]
    code, out, _ = said(capsys, "join", list_, list_, "--threshold", 0.9, "--aliases", aliases)
    assert (code, out.count("\n")) == (0, 10)
    code, out, _ = said(capsys, "explain", list_, 1, 2, "--aliases", aliases)
    assert "score 1.0000" in out
    assert "Bob Smith" in out


def test_what_common_values_leave_out_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    list_ = tmp_path / "equal.csv"
    list_.write_text("id,name,city\n" + "".join(f"{n},Ann Lee,Rome\n" for n in range(2000)))
    code, _, err = said(capsys, "dedupe", list_, "--field", "name", "--field", "city")
    assert code == 0
    assert "records share are candidates where a second field agrees" in err
