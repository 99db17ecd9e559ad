"""textmill tag with segments: train, label, candidates, forest, edges and lengths."""

from __future__ import annotations

import contextlib
import io
import json
from types import SimpleNamespace

import pytest

import textmill
from textmill.cli.app import main
from textmill.corpus import TypedSegments, write_columns
from textmill.sequence import SemiMarkovCRF, read_amis


def run(*arguments, code=0):
    """Output and errors of a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as left:
        main(list(map(str, arguments)))
    assert left.value.code == code, err.getvalue()
    return SimpleNamespace(stdout=out.getvalue(), stderr=err.getvalue())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data, and a tagger trained by the command."""
    at = tmp_path_factory.mktemp("segments")
    write_columns(TypedSegments(120, seed=2), at / "train.txt", separator="\t")
    write_columns(TypedSegments(40, seed=2, first=120), at / "test.txt", separator="\t")
    options = [
        "--kind",
        "semimarkov",
        "--max-length",
        "6",
        "--filter-recall",
        "0.99",
        "--history",
        "entity",
        "--max-iter",
        "25",
        "--jobs",
        "1",
    ]
    done = run("tag", "train", at / "train.txt", *options, "-o", at / "names.mill", "--json")
    summary = json.loads(done.stdout)
    assert summary["sequences"] == 120
    assert 0 < summary["candidates"] < summary["all_candidates"]
    return at


def test_labels_are_good_and_scored_by_edges_and_lengths(folder):
    run("tag", "label", folder / "names.mill", folder / "test.txt", "-o", folder / "tagged.txt")
    shown = run("tag", "evaluate", folder / "tagged.txt", "--boundaries", "--lengths").stdout
    assert "left f1" in shown
    assert "length" in shown
    figures = json.loads(run("tag", "evaluate", folder / "tagged.txt", "--boundaries", "--json").stdout)
    assert figures["f1"] > 0.6
    assert figures["boundaries"]["left"]["f1"] >= figures["f1"] == pytest.approx(figures["boundaries"]["exact"]["f1"])


def test_spans_are_json_lines(folder):
    lines = run("tag", "label", folder / "names.mill", folder / "test.txt", "--spans").stdout.splitlines()
    assert len(lines) == 40
    first = json.loads(lines[0])
    for span in first["spans"]:
        assert span["text"] == " ".join(first["tokens"][span["begin"] : span["end"]])
        assert 0 < span["probability"] <= 1
    best = json.loads(
        run("tag", "label", folder / "names.mill", folder / "test.txt", "--spans", "-k", "3").stdout.splitlines()[0]
    )
    chances = [labeling["probability"] for labeling in best["labelings"]]
    assert chances == sorted(chances, reverse=True)
    assert len(chances) == 3


def test_spans_of_a_chain(folder):
    run("tag", "train", folder / "train.txt", "--max-iter", "20", "-o", folder / "chain.mill")
    lines = run("tag", "label", folder / "chain.mill", folder / "test.txt", "--spans").stdout.splitlines()
    assert len(lines) == 40
    assert any(json.loads(line)["spans"] for line in lines)


def test_k_best_and_scores_and_expected_f(folder):
    text = run("tag", "label", folder / "names.mill", folder / "test.txt", "-k", "2", "--scores").stdout
    assert text.startswith("# 1 ")
    assert "\n# 2 " in text
    run("tag", "label", folder / "names.mill", folder / "test.txt", "--maximise", "f1")


def test_candidates(folder):
    shown = run("tag", "candidates", folder / "train.txt", "--dev", folder / "test.txt", "--recall", "0.9").stdout
    assert "F1 that is still possible" in shown
    command = ["tag", "candidates", folder / "train.txt", "--max-length", "2", "--json", "--plot", folder / "c.svg"]
    facts = json.loads(run(*command).stdout)
    assert facts["n_kept"] < facts["candidates"]
    assert any(span["logit"] is None for span in facts["lost"])
    assert (folder / "c.svg").exists()


def test_forests(folder):
    shown = json.loads(run("tag", "forest", folder / "names.mill", folder / "test.txt", "--json").stdout)
    sizes = {(row["candidates"], row["packing"]): row["conjunctive"] for row in shown["forests"]}
    assert sizes["filtered", "factored"] < sizes["all", "factored"] < sizes["all", "packed"] < sizes["all", "unpacked"]
    dot = run("tag", "forest", folder / "names.mill", folder / "test.txt", "--to", "dot", "--sequence", "2").stdout
    assert dot.startswith("digraph forest {")
    run("tag", "forest", folder / "names.mill", folder / "test.txt", "--to", "amis", "-o", folder / "x.event")
    assert len(read_amis(folder / "x.event")) == 40


def test_patterns_word_lists_and_documents(folder):
    (folder / "patterns.txt").write_text("s:w=%x[a,0]\ns:string=%norm[b:e,0]\np\n")
    (folder / "genes.txt").write_text("some gene\n")
    text = (folder / "train.txt").read_text()
    (folder / "marked.txt").write_text(f"-DOCSTART-\n\n{text}")
    command = ["tag", "train", folder / "marked.txt", "--document", "-DOCSTART-", "--kind", "semimarkov"]
    command += [
        "-p",
        folder / "patterns.txt",
        "--word-list",
        folder / "genes.txt",
        "--max-iter",
        "3",
        "--max-length",
        "3",
    ]
    done = run(*command, "-o", folder / "own.mill")
    assert "candidates" in done.stdout
    assert "left out of training" in done.stderr
    model = textmill.load(folder / "own.mill", expect=SemiMarkovCRF)
    assert model.patterns_ == ["s:w=%x[a,0]", "s:string=%norm[b:e,0]", "p"]


def test_bad_use(folder):
    assert "posterior" in run("tag", "label", folder / "names.mill", folder / "test.txt", "--posterior", code=1).stderr
    wrong = run("tag", "forest", folder / "names.mill", folder / "test.txt", "--to", "dot", "--sequence", "99", code=1)
    assert "none has the number 99" in wrong.stderr
    assert (
        "history must be one of"
        in run(
            "tag",
            "train",
            folder / "train.txt",
            "--kind",
            "semimarkov",
            "--history",
            "all",
            "-o",
            folder / "n.mill",
            code=1,
        ).stderr
    )
