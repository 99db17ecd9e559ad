"""`textmill match` as a person meets it."""

from __future__ import annotations

import json
from pathlib import Path

import commands
import pytest

from textmill.corpus import read_records
from textmill.tasks.names import read_gold, read_pairs, sample_names_path


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    return commands.said(capsys, "match", *arguments)


NAMES = str(sample_names_path())


def test_score_and_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "score", "kitten", "sitting", "-m", "levenshtein")[1] == "0.571429\n"
    code, out, _ = said(capsys, "score", "Ann Smith", "Smith, Anne", "--explain")
    assert code == 0
    assert "Smith ~ Smith" in out
    code, out, _ = said(capsys, "score", "M. Guérin", "Étienne Guérin", "--names", NAMES, "--json")
    assert 0 < json.loads(out)["score"] < 1
    best = "ml(words, sub=ml(trigrams, sub=context), transpositions='extended')"
    assert said(capsys, "score", "Rumyantsev", "Rumyanstev", "-m", best)[0] == 0


@pytest.mark.parametrize("command", ["evaluate {}", "compare {}", "pool {}", "score Ann Anne --names {}"])
def test_every_command_reads_names_by_the_fields_that_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    rows = [f"{place},{name},{place // 2}" for place, name in enumerate(["Ann Lee", "Anne Lee", "Tom Fox", "Tim Fox"])]
    (tmp_path / "people.csv").write_text("\n".join(["key,person,cluster", *rows, "4,,9"]))
    arguments = command.format(tmp_path / "people.csv").split()
    code, _, errors = said(capsys, *arguments)
    assert (code, errors.count("name the right one with --name-field")) == (1, 1)
    fields = ["--name-field", "person", "--id-field", "key"]
    assert "the name is" in said(capsys, *arguments, *fields)[2]
    assert said(capsys, *arguments, *fields, "--errors", "skip")[0] == 0


@pytest.mark.parametrize("suffix", ["tsv", "jsonl", "parquet"])
def test_dedupe_finds_pairs_groups_and_writes_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    pairs, groups, page = tmp_path / f"pairs.{suffix}", tmp_path / f"groups.{suffix}", tmp_path / "page.html"
    code, _, said_last = said(
        capsys, "dedupe", NAMES, "-o", str(pairs), "-t", "0.6", "--clusters", str(groups), "--report", str(page),
        "--jobs", "2",
    )  # fmt: skip
    assert code == 0
    found = list(read_pairs(pairs))
    assert said_last.startswith(f"331 names, {len(found)} pairs, ")
    assert {"Alexander Rumyantsev", "Alexander Rumyanstev"} in [{row.name1, row.name2} for row in found]
    assert "\nmeasure assignment(" in said_last or "\nmeasure ml(" in said_last
    assert all(row.score >= 0.6 for row in found)
    members = [record.fields for record in read_records(groups)]
    assert len(members) == 331
    assert {str(row["canonical"]) for row in members} <= {str(row["id"]) for row in members}
    assert "Download decisions" in page.read_text(encoding="utf-8")


def test_options_of_dedupe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people = said(capsys, "dedupe", NAMES, "-t", "0.8", "--kind", "person")[1]
    assert "Steel" not in people
    frequent = said(capsys, "dedupe", NAMES, "-t", "0.8", "--min-count", "3")[1]
    assert 0 < frequent.count("\n") < people.count("\n")
    folded = tmp_path / "folded.txt"
    folded.write_text("DR. JOSÉ RAMÍREZ\nJose Ramirez\n", encoding="utf-8")
    assert said(capsys, "dedupe", str(folded), "-t", "0.99")[1].count("\n") == 1
    steps = [word for step in ("case", "accents", "titles") for word in ("--normalize", step)]
    out = said(capsys, "dedupe", str(folded), "-t", "0.99", *steps)[1]
    assert out.splitlines()[1] == "1\t2\t1.000000\tDR. JOSÉ RAMÍREZ\tJose Ramirez"  # names as they came
    top = said(capsys, "dedupe", NAMES, "-t", "0.5", "-k", "1", "--method", "correlation")[1]
    left = [line.split("\t")[0] for line in top.splitlines()[1:]]
    assert len(set(left)) == len(left)


def test_join_goes_from_the_left_list_to_the_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    orders, page = tmp_path / "orders.csv", tmp_path / "page.html"
    orders.write_text("number,buyer\n1,Rumyantsev Alexander\n2,nobody at all\n", encoding="utf-8")
    customers = tmp_path / "customers.csv"
    customers.write_text("number,buyer\nx,Alexander Rumyantsev\ny,Yevgeny Ryabev\n", encoding="utf-8")
    fields = ["--name-field", "buyer", "--id-field", "number", "--report", str(page)]
    code, out, _ = said(capsys, "join", str(orders), str(customers), *fields)
    assert code == 0
    assert [line.split("\t")[:2] for line in out.splitlines()[1:]] == [["1", "x"]]
    assert page.exists()


def test_join_one_to_one_gives_every_name_one_partner(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left, right = tmp_path / "left.txt", tmp_path / "right.txt"
    left.write_text("Ann Smith\nAnn Smyth\n", encoding="utf-8")
    right.write_text("Ann Smith\nTom Jones\nAnna Smith\n", encoding="utf-8")
    for method in ("greedy", "optimal"):
        code, out, _ = said(capsys, "join", str(left), str(right), "--threshold", "0.3", "--one-to-one", method)
        assert code == 0
        assert [line.split("\t")[:2] for line in out.splitlines()[1:]] == [["1", "1"], ["2", "3"]]
    code, _, err = said(capsys, "join", str(left), str(right), "--one-to-one", "best")
    assert code == 1
    assert "--one-to-one must be one of" in err


def test_evaluate_compare_and_pool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measures = ["-m", "cosine(words)", "-m", "ml(words, sub=levenshtein, transpositions='extended')"]
    plot = tmp_path / "curves.png"
    code, out, _ = said(capsys, "evaluate", NAMES, *measures, "--plot", str(plot), "--json")
    assert code == 0
    plain, best = (json.loads(line) for line in out.splitlines())
    assert best["F1"] > plain["F1"] + 0.05
    assert plot.read_bytes().startswith(b"\x89PNG")
    code, out, _ = said(capsys, "compare", NAMES, *measures, "-k", "3")
    assert code == 0
    assert out.splitlines()[3].startswith("best on held-out pairs: ml(words")
    assert "positives within the best cut of" in out
    pooled, page = tmp_path / "pool.tsv", tmp_path / "pool.html"
    code, _, errors = said(capsys, "pool", NAMES, *measures, "-k", "20", "-o", str(pooled), "--report", str(page))
    assert code == 0
    count = len(list(read_pairs(pooled)))
    assert 20 <= count <= 40
    assert errors == f"{count} pairs to label\n"
    assert said(capsys, "review", str(pooled), "-o", str(page), "--title", "Mine")[0] == 0
    assert "<h1>Mine</h1>" in page.read_text(encoding="utf-8")


def test_evaluate_between_two_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left, right, gold = tmp_path / "l.txt", tmp_path / "r.txt", tmp_path / "g.tsv"
    left.write_text("Ann Smith\nTom Jones\n", encoding="utf-8")
    right.write_text("Jones Tom\nEve\nAnne Smith\n", encoding="utf-8")
    gold.write_text("1\t3\tpos\n2\t1\tpos\n1\t2\tunk\n", encoding="utf-8")
    code, out, _ = said(
        capsys, "evaluate", str(left), "--other", str(right), "--gold", str(gold), "-m", "overlap(trigrams)", "--json"
    )
    assert code == 0
    assert json.loads(out)["F1"] == 1.0


def test_evaluate_takes_ids_without_the_blanks_around_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = tmp_path / "names.secondstring"
    names.write_text('a\t"x "\tAnn Smith\nb\tx\tAnn Smith\nc\ty\tTom Jones\nd\t"y"\tTom Jones\n', encoding="utf-8")
    options = ["--format", "secondstring", "-m", "overlap(trigrams)", "--json"]
    code, out, errors = said(capsys, "evaluate", str(names), *options)
    assert (code, errors) == (0, "")
    assert json.loads(out)["F1"] == 1.0


def test_accept_merges_decisions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold, decisions = tmp_path / "gold.tsv", tmp_path / "decisions.tsv"
    decisions.write_text("a\tb\tpos\nc\td\tunk\n", encoding="utf-8")
    assert said(capsys, "accept", str(gold), str(decisions))[1] == "2 labels added, 0 changed; 1 pos, 1 unk\n"
    decisions.write_text("d\tc\tneg\ne\tf\tpos\n", encoding="utf-8")
    assert said(capsys, "accept", str(gold), str(decisions))[1] == "1 label added, 1 changed; 2 pos, 1 neg\n"
    assert read_gold(gold).label("c", "d") == "neg"


STRANGE = [
    "a",
    "x" * 10_000,
    "...",
    "!?",
    "Иван Smith",
    "محمد البرادعي",
    "שלום עולם",
    "😀",
    "👩‍👩‍👧 family",
    "e\u0301",
    "\u200f",
]


@pytest.mark.parametrize("measure", ["ml(words, sub=jaro)", "levenshtein", "softtfidf(words, sub=tfidf(trigrams))"])
def test_strange_names_are_names(tmp_path: Path, capsys: pytest.CaptureFixture[str], measure: str) -> None:
    names = tmp_path / "strange.txt"
    names.write_text("\n".join([*STRANGE, *STRANGE[:-1]]) + "\n", encoding="utf-8")
    pairs, page = tmp_path / "pairs.tsv", tmp_path / "page.html"
    code, _, errors = said(capsys, "dedupe", str(names), "-o", str(pairs), "-m", measure, "-t", "0.99")
    assert (code, errors[:9]) == (0, "21 names,")
    twins = {row.name1 for row in read_pairs(pairs) if row.name1 == row.name2}
    assert {"x" * 10_000, "Иван Smith", "محمد البرادعي", "a"} <= twins
    assert said(capsys, "dedupe", str(names), "-m", measure, "--report", str(page), "-t", "0.99")[0] == 0
    for left in STRANGE:
        assert said(capsys, "score", left, "Ann", "-m", "jaro")[0] == 0


@pytest.mark.parametrize(
    ("files", "arguments", "message"),
    [
        ({}, ["dedupe", NAMES, "-m", "jarro"], "no measure is called 'jarro'; known: assignment, "),
        ({}, ["dedupe", NAMES, "-m", "ml(words"], "the measure 'ml(words' cannot be read"),
        ({}, ["dedupe", NAMES, "-t", "1.5"], "--threshold must be a number at least 0"),
        ({}, ["dedupe", NAMES, "-t", "-0.1"], "--threshold must be a number at least 0"),
        ({}, ["dedupe", NAMES, "-k", "0"], "-k must be a whole number at least 1"),
        ({}, ["dedupe", NAMES, "-o", "pairs.xls"], "pairs.xls: pairs are not written as .xls"),
        ({}, ["dedupe", NAMES, "--format", "xml"], "--format must be one of csv, jsonl"),
        ({}, ["dedupe", NAMES, "--normalize", "all"], "--normalize must be of accents, case"),
        ({}, ["dedupe", NAMES, "--method", "magic", "--clusters", "c.tsv", "-o", "p.tsv"], "--method must be"),
        ({}, ["dedupe", "nowhere.tsv"], "nowhere.tsv: No such file"),
        ({}, ["evaluate", NAMES, "--floor", "2"], "--floor must be a number at least 0"),
        ({"n.tsv": "a\tAnn\na\tTom\n"}, ["dedupe", "n.tsv"], "n.tsv:2:id: id 'a' is also that of line 1"),
        ({"n.tsv": "a\tAnn\nb\tTom\tx\ty\n"}, ["dedupe", "n.tsv"], "n.tsv:2: 4 fields where the first row has 2"),
        ({"n.tsv": "a\t\n"}, ["dedupe", "n.tsv"], "n.tsv:1:name: the name is empty"),
        ({"n.csv": "id,name\n1\n"}, ["dedupe", "n.csv"], "n.csv:2: 1 field, but the header names 2"),
        ({"n.txt": "Ann\nTom\n"}, ["dedupe", "n.txt", "--min-count", "2"], "the names have no counts"),
        ({"n.txt": "Ann\nTom\n"}, ["evaluate", "n.txt"], "the names have no clusters"),
        (
            {"n.txt": "Ann\nTom\n", "g.tsv": "1\t2\tneg\n1\t7\tpos\n"},
            ["evaluate", "n.txt", "--gold", "g.tsv"],
            "g.tsv:2: no name has the id '7'",
        ),
        (
            {"n.txt": "Ann\nTom\n", "g.tsv": "1\t2\tneg\n"},
            ["evaluate", "n.txt", "--gold", "g.tsv"],
            "the gold has no positive pair",
        ),
        ({"p.tsv": "a\tb\n1\t2\n"}, ["review", "p.tsv", "-o", "x.html"], "p.tsv:2: no field 'id1'"),
        ({"d.tsv": "a\tb\tyes\n"}, ["accept", "g.tsv", "d.tsv"], "d.tsv:1: label 'yes' is none of pos, neg, unk"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in files.items():
        Path(name).write_text(text, encoding="utf-8")
    code, _, errors = said(capsys, *arguments)
    assert code == 1
    assert errors.startswith(f"textmill: {message}")
    assert errors.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)  # nothing half-made is left


def test_case_and_accents_are_ignored_unless_told_otherwise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "score", "JOSÉ SMITH", "jose smith")[1] == "1.000000\n"
    assert float(said(capsys, "score", "JOSÉ SMITH", "jose smith", "--normalize", "none")[1]) < 0.5
    explained = said(capsys, "score", "JOSÉ SMITH", "jose smith", "--explain")[1]
    assert "JOSÉ ~ jose" in explained
    names, page = tmp_path / "n.txt", tmp_path / "p.html"
    names.write_text("JOSÉ SMITH\njose smith\nTom Jones\n", encoding="utf-8")
    rows = said(capsys, "dedupe", str(names), "--report", str(page))[1].splitlines()
    assert rows[1].split("\t")[3:] == ["JOSÉ SMITH", "jose smith"]
    assert "JOS\\u00c9" in page.read_text(encoding="utf-8") or "JOSÉ" in page.read_text(encoding="utf-8")
    assert len(said(capsys, "dedupe", str(names), "--normalize", "none")[1].splitlines()) == 1
