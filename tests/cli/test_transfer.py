"""`textmill trees` and `textmill transfer`, from a treebank to a treebank."""

from __future__ import annotations

import json
from pathlib import Path
from warnings import catch_warnings

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.reference.transfer import FAMILIES, SOURCE, source_tree, target_tree
from textmill.cli.app import app, main
from textmill.corpus import read_trees


def call(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["--quiet", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.output


def test_a_grammar_is_trained_applied_and_evaluated(tmp_path: Path) -> None:
    bank, model, text = tmp_path / "bank.mrg", tmp_path / "grammar.mill", tmp_path / "text.txt"
    bank.write_text("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))\n(S (NP (DT a) (NN cat)) (VP (VBZ sleeps)))\n")
    facts = json.loads(call("trees", "train", bank, "-o", model, "--json"))
    assert facts == {"trees": 2, "rules": 3, "labels": 6, "words": 6}
    assert "2 trees" in call("trees", "train", tmp_path, "-o", model)
    text.write_text("a dog sleeps\n\nthe cat barks\n")
    assert call("trees", "parse", model, text).splitlines()[0] == "(S (NP (DT a) (NN dog)) (VP (VBZ sleeps)))"
    assert call("trees", "parse", model, text, "--max-words", 2).startswith("(X ")
    assert call("trees", "parse", model, text, "-k", 2).splitlines()[0].startswith("1\t")
    text.write_text("an/DT owl/NN hoots/VBZ\n")
    assert call("trees", "parse", model, text, "--tagged") == "(S (NP (DT an) (NN owl)) (VP (VBZ hoots)))\n"
    figures = json.loads(call("trees", "evaluate", model, bank, "--json", "--tagged", "--max-length", 3, "--intervals"))
    assert figures["f1"] == 1.0
    assert figures["trees"] == 2
    assert "exact_match" in call("trees", "evaluate", model, bank)


def test_a_treebank_is_transferred(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    gold = [target_tree(rng) for _ in range(60)]
    files = {
        name: tmp_path / name for name in ("source.mrg", "gold.mrg", "orders.txt", "text.txt", "out.mrg", "m.mill")
    }
    files["gold.mrg"].write_text("".join(f"{tree}\n" for tree in gold))
    files["source.mrg"].write_text("".join(f"{source_tree(tree, rng)}\n" for tree in gold))
    files["orders.txt"].write_text(FAMILIES)
    files["text.txt"].write_text("".join(" ".join(target_tree(rng).tags()) + "\n" for _ in range(500)))
    run = ["transfer", "run", files["source.mrg"], "--families", files["orders.txt"], "--text", files["text.txt"]]
    run += ["-o", files["m.mill"], "--max-iter", 30, "--burn-in", 10, "--thin", 2, "--chains", 2]
    figures = json.loads(call(*run, "--json", "--plot", tmp_path / "trace.svg", "--checkpoint", tmp_path / "state.npz"))
    assert len(figures["mean"]) == 13
    assert figures["iterations"] == 30
    assert (tmp_path / "trace.svg").exists()
    assert call(*run, "--method", "em").startswith("parameter\tmean")
    call(*run)
    call("transfer", "best", files["m.mill"], "-o", files["out.mrg"])
    best = json.loads(call("transfer", "evaluate", files["gold.mrg"], files["out.mrg"], "--json"))
    copied = json.loads(call("transfer", "evaluate", files["gold.mrg"], files["source.mrg"], "--json"))
    assert best["f1"] > copied["f1"]
    assert best["exact_match"] > copied["exact_match"]
    assert "exact_match" in call("transfer", "evaluate", files["gold.mrg"], files["out.mrg"])
    call("transfer", "sample", files["m.mill"], "-k", 2, "-o", files["out.mrg"])
    assert len(list(read_trees(files["out.mrg"]))) == 120
    assert call("transfer", "best", files["m.mill"], "-k", 2).startswith("1\t")
    assert call("transfer", "best", files["m.mill"], "--consensus").count("\n") == 60
    one = json.loads(call("transfer", "best", files["m.mill"], "--consensus", "--json").splitlines()[0])
    assert 0 < one["brackets"][0]["share"] <= 1
    lm = tmp_path / "lm.mill"
    call("lm", "train", files["text.txt"], "--order", 3, "--case", "keep", "-o", lm)
    judged = ["transfer", "evaluate", files["gold.mrg"], files["source.mrg"], "--language-model", lm, "--json"]
    fringes = json.loads(call(*judged))
    assert fringes["perplexity_gold"] < fringes["perplexity_imputed"]
    assert json.loads(call(*judged, "--fringe", "words"))["perplexity_gold"] > fringes["perplexity_gold"]
    better = call("transfer", "best", files["m.mill"], "--language-model", lm, "--beam", 5, "--json").splitlines()
    assert set(json.loads(better[0])) == {"sentence", "log_posterior", "tree"}
    assert len(better) == 60
    for by in ("rejection", "forest"):
        assert call("transfer", "sample", files["m.mill"], "--by", by).count("\n") == 60
    rules = call("transfer", "forest", files["source.mrg"], "--model", files["m.mill"]).splitlines()
    assert rules[0] == "node\tbelow\tprobability"
    assert "--families and --model" in call("transfer", "forest", files["source.mrg"], code=2)
    without = [*run[:5], "-o", files["m.mill"], "--max-iter", 20, "--burn-in", 10, "--order", 3]
    assert call(*without, "--language-model", lm, "--summary", "sticks").startswith("parameter\tmean")
    assert call(*without, "--text", files["text.txt"], "--full", "--summary", "events").startswith("event\tmean\tlow")
    machine = tmp_path / "machine.txt"
    machine.write_text("".join(f"0 0 {w} {w} 1\n" for w in "anv") + "0 1\n")
    (tmp_path / "symbols.txt").write_text("<eps> 0\na 1\nn 2\nv 3\n")
    symbols = ["--isymbols", tmp_path / "symbols.txt", "--osymbols", tmp_path / "symbols.txt"]
    call("fst", "compile", *symbols, "--keep_isymbols", machine, tmp_path / "machine.fst")
    assert call(*without, "--acceptor", tmp_path / "machine.fst").startswith("parameter\tmean")
    call(*without, code=2)


def test_a_forest_is_printed(tmp_path: Path) -> None:
    (tmp_path / "source.mrg").write_text(f"{SOURCE}\n")
    (tmp_path / "orders.txt").write_text(FAMILIES)
    arguments = ["transfer", "forest", tmp_path / "source.mrg", "--families", tmp_path / "orders.txt"]
    lines = call(*arguments).splitlines()
    assert len(lines) == 40
    assert "(#, C, v): 2" in lines
    assert call(*arguments, "--dot").startswith("digraph forest {")
    assert "(#, C..., a): 1" in call(*arguments, "--no-binarize").splitlines()
    assert call(*arguments, "--sentence", 2, code=1) == ""


def test_dependency_trees_are_transferred(tmp_path: Path) -> None:
    rows = "1 old _ ADJ _ _ 2 amod _ _\n2 men _ NOUN _ _ 3 nsubj _ _\n3 sleep _ VERB _ _ 0 root _ _\n\n"
    (tmp_path / "source.conllu").write_text(rows.replace(" ", "\t"))
    (tmp_path / "orders.txt").write_text("nsubj: amod NOUN | NOUN amod\n")
    (tmp_path / "text.txt").write_text("NOUN ADJ VERB\n" * 50)
    model = tmp_path / "m.mill"
    run = ["transfer", "run", tmp_path / "source.conllu", "--families", tmp_path / "orders.txt"]
    call(*run, "--text", tmp_path / "text.txt", "-o", model, "--max-iter", 20, "--burn-in", 5)
    assert call("transfer", "best", model, "--to", "conllu").splitlines()[0].split("\t")[1] == "men"


def test_errors_and_warnings_speak_of_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.mrg").write_text("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))\n", encoding="utf-8")
    (tmp_path / "f.txt").write_text("NP: DT NN | NN DT\n", encoding="utf-8")
    (tmp_path / "t.tags").write_text("NN DT VBZ\n", encoding="utf-8")
    files = [str(tmp_path / "s.mrg"), "--families", str(tmp_path / "f.txt"), "--text", str(tmp_path / "t.tags")]
    for option, code, complaint in (
        (["--burn-in", "50"], 1, "--burn-in must be"),
        ([], 0, "nearly those of the prior"),
    ):
        with pytest.raises(SystemExit) as left, catch_warnings():
            main(["transfer", "run", *files, "-o", str(tmp_path / "m.mill"), "--max-iter", "20", *option])
        errors = capsys.readouterr().err
        assert left.value.code == code
        assert complaint in errors
        assert "()" not in errors


def test_a_model_with_a_machine_is_whole_in_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "source.mrg").write_text("(S (NP (JJ old) (NN mills)) (VP (VBP turn)))\n" * 3, encoding="utf-8")
    (tmp_path / "orders.txt").write_text("NP: JJ NN | NN JJ\n", encoding="utf-8")
    (tmp_path / "symbols.txt").write_text("<eps> 0\nJJ 1\nNN 2\nVBP 3\n", encoding="utf-8")
    (tmp_path / "arcs.txt").write_text("0 1 NN 0.1\n1 2 JJ\n2 3 VBP\n0 4 JJ 4\n4 2 NN\n3\n", encoding="utf-8")
    names = {name: str(tmp_path / name) for name in ("source.mrg", "orders.txt", "symbols.txt", "arcs.txt", "bad.txt")}
    machine, model = str(tmp_path / "machine.fst"), str(tmp_path / "model.mill")

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out, err

    run(
        "fst",
        "compile",
        "--acceptor",
        f"--isymbols={names['symbols.txt']}",
        "--keep_isymbols",
        names["arcs.txt"],
        machine,
    )
    fit = ["transfer", "run", names["source.mrg"], "--families", names["orders.txt"], "--max-iter", "20", "-o", model]
    assert run(*fit, "--acceptor", machine)[0] == 0
    code, out, err = run("transfer", "best", model)
    assert (code, err) == (0, "")
    assert out.splitlines() == ["(S (NP (NN mills) (JJ old)) (VP (VBP turn)))"] * 3
    assert len(run("transfer", "sample", model, "-k", "2")[1].splitlines()) == 6
    assert "pass one of --text, --language-model and --acceptor" in run(*fit)[2]
    (tmp_path / "bad.txt").write_text("NP: JJ NN | NN JJ\nthe old mill\n", encoding="utf-8")
    fit[fit.index(names["orders.txt"])] = names["bad.txt"]
    assert f"{names['bad.txt']}:2: 'the old mill' has no colon" in run(*fit, "--acceptor", machine)[2]
