"""`train`, `apply` and `show` of string alignments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from textmill.cli._fst_align import app
from textmill.errors import DataError, ModelFileError
from textmill.fst import StringAligner, parse_alignment
from textmill.model import load

PAIRS = "tax\tt a k s\nat\ta t\naxe\ta k s\nsat\ts a t\n"


def run(*arguments: object, text: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=text, catch_exceptions=False)


@pytest.fixture
def lexicon(tmp_path: Path) -> Path:
    path = tmp_path / "lexicon.tsv"
    path.write_text(PAIRS, encoding="utf-8")
    return path


@pytest.fixture
def model(lexicon: Path, tmp_path: Path) -> Path:
    path = tmp_path / "links.mill"
    assert run("train", lexicon, "-o", path, "--max-output", 2, "--no-insertions").exit_code == 0
    return path


def test_training_says_what_it_found(lexicon: Path, tmp_path: Path) -> None:
    path = tmp_path / "links.mill"
    found = run("train", lexicon, "-o", path, "--max-iter", 3, "--tolerance", 0)
    assert found.stdout.startswith(f"{path}: pairs 4, unaligned 0, links ")
    facts = json.loads(run("train", lexicon, "-o", path, "--max-iter", 3, "--tolerance", 0, "--json").stdout)
    assert facts["iterations"] == 3
    assert facts["trace"] == sorted(facts["trace"])
    assert load(path, expect=StringAligner).max_iter == 3


def test_applying_writes_alignments_that_can_be_read_back(model: Path, lexicon: Path, tmp_path: Path) -> None:
    output = tmp_path / "aligned.txt"
    assert run("apply", model, lexicon, "-o", output, "--between", "}").exit_code == 0
    lines = output.read_text(encoding="utf-8").splitlines()
    assert lines[:3] == ["t}t a}a x}k|s", "a}a t}t", "a}a x}k|s e}_"]
    for line, pair in zip(lines, PAIRS.splitlines(), strict=True):
        word, phonemes = pair.split("\t")
        found = parse_alignment(line, between="}")
        assert ("".join(found.input), " ".join(found.output)) == (word, phonemes)


def test_pairs_come_from_stdin_and_those_without_an_alignment_are_counted(model: Path) -> None:
    found = run("apply", model, "--scores", text="at\ta t\nq\tk\n")
    lines = found.stdout.split("\n")
    assert lines[0].split("\t")[0] == "a:a t:t"
    assert 0 < float(lines[0].split("\t")[2]) <= 1
    assert lines[1] == ""
    assert "1 of 2 pairs have no alignment" in found.stderr


def test_json_has_all_alignments_with_their_shares(model: Path) -> None:
    row = json.loads(run("apply", model, "--json", "-k", 50, text="axe\ta k s\n").stdout)
    assert (row["line"], row["input"], row["output"]) == (1, "axe", ["a", "k", "s"])
    assert row["alignments"][0]["links"] == [[["a"], ["a"]], [["x"], ["k", "s"]], [["e"], []]]
    assert sum(one["share"] for one in row["alignments"]) == pytest.approx(1.0)


def test_insertions_are_merged_on_request(lexicon: Path, tmp_path: Path) -> None:
    path = tmp_path / "links.mill"
    run("train", lexicon, "-o", path, "--bags", "0,0.9,0.1", "--max-iter", 0, "--insertions-first")
    plain = run("apply", path, text="at\ta k t\n").stdout
    assert plain == "a:a _:k t:t\n"
    assert run("apply", path, "--merge", text="at\ta k t\n").stdout == "a:a|k t:t\n"


def test_rules_allowed_links_and_weights_are_used(lexicon: Path, tmp_path: Path) -> None:
    path, rules = tmp_path / "links.mill", tmp_path / "rules.tsv"
    rules.write_text("x\tk s\nt\tt\na\ta\ns\ts\ne\t\n", encoding="utf-8")
    run("train", lexicon, "-o", path, "--rules", rules, "--max-iter", 0)
    assert run("apply", path, text="axe\ta k s\n").stdout in ("a:a x:k _:s e:_\n", "a:a x:k e:_ _:s\n")
    run("train", lexicon, "-o", path, "--allow", rules, "--max-output", 2)
    assert set(load(path, expect=StringAligner).links_) == {
        (("x",), ("k", "s")),
        (("t",), ("t",)),
        (("a",), ("a",)),
        (("s",), ("s",)),
        (("e",), ()),
    }
    with pytest.raises(DataError, match="leave out --rules and --bags"):
        run("train", lexicon, "-o", path, "--allow", rules, "--rules", rules)
    with pytest.raises(DataError, match="--bags must be three numbers"):
        run("train", lexicon, "-o", path, "--bags", "much")
    lexicon.write_text("ab\tA B\t2\n", encoding="utf-8")
    run("train", lexicon, "-o", path, "--weighted", "--max-iter", 1)
    assert load(path, expect=StringAligner).counts_.sum() > 4


def test_links_and_alignments_are_shown(model: Path) -> None:
    links = run("show", model, "-k", 2).stdout.splitlines()
    assert links[0] == "link\tprobability\tcount"
    assert len(links) == 3
    assert json.loads(run("show", model, "-k", 1, "--json").stdout)["link"] == [["a"], ["a"]]
    table = run("show", model, "axe", "a k s", "-k", 1).stdout.splitlines()
    assert table[:2] == ["a  x   e", "a  ks  ·"]
    assert table[2].startswith("ln p ")
    assert json.loads(run("show", model, "axe", "a k s", "-k", 1, "--json").stdout)["share"] > 0.5


def test_faults_are_named(model: Path, lexicon: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="an input is given without an output"):
        run("show", model, "axe")
    with pytest.raises(DataError, match="'q' and 'k' have no alignment"):
        run("show", model, "q", "k")
    with pytest.raises(DataError, match=r"stdin:1: 'no tab' has no tab between input and output"):
        run("apply", model, text="no tab\n")
    with pytest.raises(FileNotFoundError, match="there is no such folder"):
        run("train", lexicon, "-o", tmp_path / "none" / "a.mill")
    with pytest.raises(DataError, match="pair 1 of 3 x 4 symbols has no alignment"):
        run("train", lexicon, "-o", model, "--no-insertions")
    with pytest.raises(ModelFileError):
        run("apply", lexicon, lexicon)


def test_every_command_has_an_example() -> None:
    for command in ("train", "apply", "show"):
        assert "Example: textmill fst align" in " ".join(run(command, "--help").stdout.split())
