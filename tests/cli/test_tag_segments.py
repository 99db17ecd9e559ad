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
from textmill.sequence import SemiMarkovCRF


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
    run("tag", "label", folder / "names.mill", folder / "test.txt", "--maximize", "f1")


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


def test_segments_are_explained(folder):
    lines = run("tag", "explain", folder / "names.mill", folder / "test.txt", "-k", "2", "--json").stdout.splitlines()
    spans = run("tag", "label", folder / "names.mill", folder / "test.txt", "--spans").stdout.splitlines()
    assert len(lines) == sum(len(json.loads(line)["spans"]) for line in spans)
    first, span = json.loads(lines[0]), json.loads(spans[0])["spans"][0]
    assert (first["begin"], first["segment"], first["label"]) == (span["begin"], span["text"], span["label"])
    assert len(first["tests"]) == 2
    shown = run("tag", "explain", folder / "names.mill", folder / "test.txt").stdout.splitlines()
    assert shown[0].split("\t")[:3] == ["sequence", "segment", "label"]


def test_settings_are_tuned_and_cross_validated(folder):
    more = ["--kind", "semimarkov", "--max-iter", "8", "--jobs", "1"]
    command = ["tag", "tune", folder / "train.txt", *more, "--grid", "max-length=2,6", "--csv", folder / "cells.csv"]
    text = run(*command, "--refit", "-o", folder / "best.mill").stdout
    assert text.splitlines()[-1].startswith("best: max_length 6")
    assert (folder / "cells.csv").read_text().startswith("max_length,figure")
    best = textmill.load(folder / "best.mill", expect=SemiMarkovCRF)
    assert (best.max_length, best.n_iter_ <= 8) == (6, True)
    scores = json.loads(run("tag", "crossval", folder / "train.txt", *more, "--folds", "3", "--json").stdout)
    assert scores["f1"] > 0.3
    run("tag", "train", folder / "train.txt", *more, "--log", folder / "log.csv", "-o", folder / "logged.mill")
    assert len((folder / "log.csv").read_text().splitlines()) == 9


@pytest.mark.parametrize(
    ("kind", "options", "fault"),
    [
        ("semimarkov", ["--states", "2"], "--states is not an option of --kind semimarkov but of latent"),
        ("semimarkov", ["--hash-bits", "8"], "--hash-bits is not an option of --kind semimarkov"),
        ("semimarkov", ["--features", "seen"], "--features is not an option of --kind semimarkov"),
        ("semimarkov", ["--format", "tests"], "--format is not an option of --kind semimarkov"),
        ("semimarkov", ["--counts"], "--counts is not an option"),
        ("crf", ["--max-length", "4"], "--max-length is not an option of --kind crf but of semimarkov"),
        ("latent", ["--keep-long"], "--keep-long is not an option of --kind latent but of semimarkov"),
        ("latent", ["--history", "none"], "--history is not an option of --kind latent"),
    ],
)
def test_options_of_other_kinds_are_refused(folder, kind, options, fault):
    wrong = run("tag", "train", folder / "train.txt", "--kind", kind, *options, "-o", folder / "no.mill", code=2)
    assert fault in wrong.stderr
    assert not (folder / "no.mill").exists()


def test_faults_of_patterns_name_the_file(folder):
    (folder / "bad.pat").write_text("s:%x[b,0]\np:%x[e,0]\n")
    options = ["--kind", "semimarkov", "-p", folder / "bad.pat", "-o", folder / "no.mill"]
    assert "bad.pat:2: pattern 'p:%x[e,0]'" in run("tag", "train", folder / "train.txt", *options, code=1).stderr


def test_an_unknown_kind_is_refused(folder):
    wrong = run("tag", "train", folder / "train.txt", "--kind", "hmm", "-o", folder / "no.mill", code=1)
    assert "kind must be one of" in wrong.stderr
