"""The commands of readability: score, extract, train, predict, evaluate, explain."""

from __future__ import annotations

import csv
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from commands import output_of

from textmill.cli.app import main
from textmill.corpus import parse_tree
from textmill.sequence import CRF
from textmill.tasks.readability import sample_graded_texts
from textmill.trees import TreebankGrammar

run = partial(output_of, "readability")


def rows_of(output: str) -> list[dict[str, str]]:
    return list(csv.DictReader(output.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts at three levels, a letter and a model."""
    path = tmp_path_factory.mktemp("readability")
    graded = sample_graded_texts(12)
    assert graded.groups is not None
    lines = [
        json.dumps({"id": i, "level": level, "article": group, "text": text})
        for i, level, group, text in zip(graded.ids, graded.levels, graded.groups, graded.texts, strict=True)
    ]
    (path / "texts.jsonl").write_text("\n".join(lines) + "\n")
    (path / "letter.txt").write_text("The mill is old. It turns all day, and the miller, who is tired, sleeps.")
    run(
        "train",
        str(path / "texts.jsonl"),
        "--features",
        "shallow,lm.words",
        "--orders",
        "2",
        "-o",
        str(path / "grader.mill"),
    )
    return path


def test_formulas_are_printed(folder: Path) -> None:
    row = rows_of(run("score", str(folder / "letter.txt"), "--formulas", "all"))[0]
    assert row["words"] == "15"
    assert row["sentences"] == "2"
    assert len(row) == 14
    given = json.loads(run("score", str(folder / "letter.txt"), "--json"))
    assert given["flesch_kincaid"] == pytest.approx(float(row["flesch_kincaid"]), abs=0.01)
    with pytest.raises(SystemExit) as left:
        main(["readability", "score", str(folder / "letter.txt"), "--formulas", "grade"])
    assert left.value.code == 1


def test_features_are_printed_and_missing_ones_are_marked(folder: Path) -> None:
    row = rows_of(run("extract", str(folder / "letter.txt"), "--features", "shallow,pos.nouns"))[0]
    assert row["shallow.words"] == "15"
    assert row["pos.nouns.share"] == "-"
    annotations = folder / "annotations"
    annotations.mkdir(exist_ok=True)
    name = row["id"]
    (annotations / f"{name}.mrg").write_text("(S (NP (DT The) (NN mill)) (VP (VBZ turns)))\n")
    found = run("extract", str(folder / "letter.txt"), "--annotations", str(annotations), "--features", "pos,parse")
    assert rows_of(found)[0]["pos.nouns.share"] == "0.33333"


def test_perplexities_are_printed_by_a_model_and_without_the_own_article(folder: Path) -> None:
    chosen = ("--features", "lm.words,oov", "--orders", "2")
    letter = rows_of(
        run("extract", str(folder / "letter.txt"), "--model", str(folder / "grader.mill"), "--features", "lm,oov")
    )[0]
    assert float(letter["lm.words.easy.1"]) > 1
    assert float(letter["oov.tokens.100"]) <= 1
    held_out = rows_of(run("extract", str(folder / "texts.jsonl"), "--graded", *chosen))
    assert {row["level"] for row in held_out} == {"easy", "middle", "hard"}
    known = rows_of(run("extract", str(folder / "texts.jsonl"), "--model", str(folder / "grader.mill"), *chosen[:2]))
    own = [(f"lm.words.{row['level']}.2", i) for i, row in enumerate(held_out)]
    assert all(float(held_out[i][name]) > float(known[i][name]) for name, i in own)  # which has read the text itself
    for wrong in (("--features", "lm"), ("--model", str(folder / "grader.mill"), "--graded")):
        with pytest.raises(SystemExit):
            main(["readability", "extract", str(folder / "letter.txt"), *wrong])


def test_salience_reaches_the_grid(folder: Path) -> None:
    annotations = folder / "salient"
    annotations.mkdir(exist_ok=True)
    name = rows_of(run("extract", str(folder / "letter.txt"), "--features", "shallow"))[0]["id"]
    tree = "(S (NP (DT The) (NN mill)) (VP (VBZ grinds) (NP (NN {}))))\n"
    (annotations / f"{name}.mrg").write_text(tree.format("corn") + tree.format("wheat"))
    given = ["extract", str(folder / "letter.txt"), "--annotations", str(annotations), "--features", "grid"]
    assert rows_of(run(*given))[0]["grid.SS"] == "0.33333"
    assert rows_of(run(*given, "--salience", "2"))[0]["grid.SS"] == "1"


def test_texts_are_graded_and_explained(folder: Path) -> None:
    row = rows_of(run("predict", str(folder / "grader.mill"), str(folder / "letter.txt")))[0]
    assert row["level"] in ("easy", "middle", "hard")
    assert sum(float(row[f"p({level})"]) for level in ("easy", "middle", "hard")) == pytest.approx(1, abs=0.01)
    rows = rows_of(run("explain", str(folder / "grader.mill"), str(folder / "letter.txt"), "-k", "1"))
    assert [one["what"] for one in rows if not one["what"].startswith("sentence")] != []
    assert sum(one["what"].startswith("sentence") for one in rows) == 1
    (folder / "short.txt").write_text("The mill is old.")
    texts = [str(folder / "short.txt"), str(folder / "letter.txt")]
    rows = rows_of(run("explain", str(folder / "grader.mill"), *texts, "-k", "1"))
    assert [len({one["id"] for one in rows}), sum(one["what"].startswith("sentence") for one in rows)] == [2, 1]
    own = folder / "own"
    own.mkdir(exist_ok=True)
    (own / f"{rows[-1]['id']}.mrg").write_text("(S (NP (DT The) (NN wheel)) (VP (VBZ turns)))\n" * 2)
    found = run("explain", str(folder / "grader.mill"), texts[1], "--annotations", str(own), "-k", "1")
    assert rows_of(found)[-1]["detail"] == "The wheel turns"


def test_threads_reach_tagger_and_parser(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grammar = TreebankGrammar().fit([parse_tree("(S (NP (NN mills)) (VP (VBP turn)))")])
    tagger = CRF(algorithm="perceptron", max_iter=2).fit([["mills", "turn"]], [["NN", "VBP"]])
    grammar.save(folder / "grammar.mill")
    tagger.save(folder / "tagger.mill")
    seen: list[int | None] = []

    def watched(method: Any) -> Any:
        def called(self: Any, *arguments: Any) -> Any:
            seen.append(self.n_jobs)
            return method(self, *arguments)

        return called

    monkeypatch.setattr(TreebankGrammar, "parse", watched(TreebankGrammar.parse))
    monkeypatch.setattr(CRF, "predict", watched(CRF.predict))
    tools = ["--tagger", str(folder / "tagger.mill"), "--parser", str(folder / "grammar.mill")]
    run("extract", str(folder / "letter.txt"), *tools, "--jobs", "3")
    assert seen == [3, 3]


def test_experiments_are_run(folder: Path) -> None:
    texts = str(folder / "texts.jsonl")
    picture = folder / "levels.svg"
    options = ["--features", "shallow", "--folds", "3"]
    rows = rows_of(run("evaluate", texts, *options, "--plot", str(picture)))
    figures = {row["figure"]: float(row["value"]) for row in rows}
    assert figures["accuracy"] > 0.6
    assert {"mse", "kappa", "adjacent", "f(easy)", "f(hard)"} <= figures.keys()
    assert picture.read_text().startswith("<?xml")
    linear = run("evaluate", texts, *options, "--kind", "svm", "--kernel", "linear")
    assert linear != run("evaluate", texts, *options, "--kind", "svm")
    scored = rows_of(run("evaluate", texts, "--model", str(folder / "grader.mill")))
    assert scored[0]["figure"] == "features"
    other = folder / "other.jsonl"
    corpora = sample_graded_texts(6)
    lines = [json.dumps({"level": n, "text": t}) for n, t in zip(corpora.levels, corpora.texts, strict=True)]
    other.write_text("\n".join(lines) + "\n")
    external = [*options, "--external", str(other), "--mode", "paper"]
    rows = rows_of(run("evaluate", texts, *external))
    assert float(rows[0]["value"]) == 17
    said = run("train", texts, "--features", "shallow", "--external", str(other), "-o", str(folder / "external.mill"))
    assert said.endswith("17 features\n")
    run("predict", str(folder / "external.mill"), str(folder / "letter.txt"))


def test_what_is_wrong_is_said_in_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = folder / "bare.jsonl"
    rows = [json.loads(line) for line in (folder / "texts.jsonl").read_text().splitlines()]
    bare.write_text("".join(json.dumps({k: v for k, v in row.items() if k != "article"}) + "\n" for row in rows))
    with pytest.raises(SystemExit) as left:
        main(["readability", "train", str(bare), "-o", str(folder / "x.mill")])
    assert left.value.code == 1
    assert "pass groups: the article of each text" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["readability", "train", str(bare), "--l2", "small", "-o", str(folder / "x.mill")])
    assert "--l2 must be a number or auto" in capsys.readouterr().err
    (folder / "strange.jsonl").write_text(json.dumps({"level": "odd", "text": "The mill is old."}) + "\n")
    with pytest.raises(SystemExit):
        main(["readability", "evaluate", str(folder / "strange.jsonl"), "--model", str(folder / "grader.mill")])
    assert "level 'odd' is not one of those of the model: easy, middle, hard" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["score", "extract", "predict", "explain"])
def test_no_texts_are_said_to_be_none(folder: Path, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    empty = folder / "empty.txt"
    empty.write_text("")
    model = [str(folder / "grader.mill")] if verb in ("predict", "explain") else []
    with pytest.raises(SystemExit) as left:
        main(["readability", verb, *model, str(empty)])
    assert left.value.code == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"textmill: {empty}: there are no texts; pass at least one\n"
