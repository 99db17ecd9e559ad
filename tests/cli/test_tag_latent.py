"""`textmill tag` with hidden states: train, label with certificates, states, explain, tune, compare."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from papers.latent_crf.hidden_chains import HiddenChain
from textmill.cli.app import app

runner = CliRunner()


def run(*arguments, code=0):
    result = runner.invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output + result.stderr
    return result


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chain = HiddenChain({"A": 2, "B": 2}, vocabulary=12, random_state=1)
    for name, first in (("train.txt", 0), ("test.txt", 1000)):
        X, y, _ = chain.sample(40, 8, first=first)
        rows = [
            "".join(f"{w} t{w} {label}\n" for w, label in zip(a, b, strict=True)) for a, b in zip(X, y, strict=True)
        ]
        (tmp_path / name).write_text("\n".join(rows))
    (tmp_path / "patterns.txt").write_text("u:%x[0,0]\nb\n")
    settings = ["-p", "patterns.txt", "--max-iter", 20, "--noise", 0.5]
    run("tag", "train", "train.txt", "--kind", "latent", "--states", 2, "--restarts", 2, *settings, "-o", "latent.mill",
        "--held-out", 0.2, "--log", "log.csv")  # fmt: skip
    return tmp_path


def test_labels_certificates_and_comparison(files):
    run("tag", "label", "latent.mill", "test.txt", "-o", "a.out")
    run("tag", "label", "latent.mill", "test.txt", "--search", "viterbi", "-o", "b.out")
    comparison = json.loads(run("tag", "compare", "a.out", "b.out", "--json").stdout)
    assert set(comparison) == {"figures", "tokens", "sequences", "mcnemar"}
    lines = run("tag", "label", "latent.mill", "test.txt", "--certificates", "-k", 2).stdout.splitlines()
    assert len(lines) == 40
    first = json.loads(lines[0])
    labels = [line.split()[-1] for line in (files / "a.out").read_text().split("\n\n")[0].splitlines()]
    assert first["labelings"][0]["labels"] == labels
    assert first["exact"] is True
    assert len(first["labelings"]) == 2
    limited = run("tag", "label", "latent.mill", "test.txt", "--certificates", "--max-expansions", 1).stdout
    assert '"exact": false' in limited or '"exact":false' in limited
    assert (files / "log.csv").read_text().startswith("iteration,objective,gradient_norm")


def test_explanations_and_tuning(files):
    why = json.loads(run("tag", "explain", "latent.mill", "test.txt", "--json").stdout.splitlines()[0])
    assert {"token", "label", "state", "tests"} <= set(why)
    text = run("tag", "tune", "train.txt", "--kind", "latent", "--grid", "states=1,2", "--grid", "l2=1",
               "--max-iter", 5, "-p", "patterns.txt", "--csv", "cells.csv", "--output", "best.mill").stdout  # fmt: skip
    assert text.splitlines()[-1].startswith("best: states")
    assert len((files / "cells.csv").read_text().splitlines()) == 3
    assert (files / "best.mill").exists()


def test_wrong_options_are_refused_in_one_line(files):
    run("tag", "train", "train.txt", "-p", "patterns.txt", "--max-iter", 2, "-o", "crf.mill")
    cases = [
        (["tag", "label", "crf.mill", "test.txt", "--search", "label"], 1, "--kind latent"),
        (["tag", "train", "train.txt", "--states", 2, "-o", "x.mill"], 2, "--states is not an option of --kind crf"),
        (["tag", "train", "train.txt", "--kind", "latent", "--states", "A=x", "-o", "x.mill"], 1, "--states must be"),
        (["tag", "train", "train.txt", "--kind", "latent", "--states", "A=2", "-o", "x.mill"], 1, "the label 'B'"),
        (["tag", "tune", "train.txt", "--grid", "size=3"], 1, "--grid 'size=3'"),
        (["tag", "label", "latent.mill", "test.txt", "--search", "beam"], 1, "search must be one of"),
    ]
    for arguments, code, message in cases:
        result = run(*arguments, code=code)
        assert message in f"{result.stderr}{result.output}{result.exception}".replace("\n", " ")
