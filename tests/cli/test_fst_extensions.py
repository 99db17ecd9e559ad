"""Verbs for push-down machines, n-gram and linear models, edits and compressed files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import textmill.fst as wfst
from textmill.cli.fst import app
from textmill.errors import DataError
from textmill.fst import read_parentheses

ARPA = (
    "\\data\\\nngram 1=4\nngram 2=2\n\n\\1-grams:\n-99 <s> -0.3\n-0.4 </s>\n-0.3 a -0.2\n-0.6 b\n\n"
    "\\2-grams:\n-0.1 <s> a\n-0.2 a b\n\n\\end\\\n"
)


def run(*arguments: object, text: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=text, catch_exceptions=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    wfst.write_fst(wfst.compile_text("0 1 97 97\n1 2 9 9 1\n2 3 98 98\n1\n3"), "clause.fst")
    wfst.write_fst(wfst.accep("aab"), "text.fst")
    run("pdtreplace", "--pdt_parentheses=pairs.txt", "clause.fst", 9, "grammar.pdt")
    return tmp_path


def test_push_down_verbs(folder: Path) -> None:
    assert read_parentheses("pairs.txt") == ([(99, 100)], [])
    pairs = "--pdt_parentheses=pairs.txt"
    facts = json.loads(run("pdtinfo", "--json", pairs, "grammar.pdt").stdout)
    assert (facts["opening arcs"], facts["closing arcs"], facts["stacks"]) == (1, 2, 1)
    assert "opening arcs" in run("pdtinfo", pairs, "grammar.pdt").stdout
    run("pdtcompose", pairs, "--left_pdt=false", "text.fst", "grammar.pdt", "both.pdt")
    run("pdtshortestpath", pairs, "both.pdt", "best.fst")
    assert wfst.total_weight(wfst.read_fst("best.fst")) == 1.0
    run("pdtcompose", pairs, "--compose_filter=expand", "grammar.pdt", "text.fst", "done.fst")
    assert wfst.total_weight(wfst.read_fst("done.fst")) == 1.0
    run("pdtexpand", pairs, "--weight=2", "grammar.pdt", "near.fst")
    assert sorted(text for text, _, _ in wfst.strings(wfst.read_fst("near.fst"))) == ["a", "aaabb", "aab"]
    run("pdtexpand", pairs, "--max_depth=1", "--keep_parentheses", "grammar.pdt", "deep.fst")
    assert sorted(text for text, _, _ in wfst.strings(wfst.read_fst("deep.fst"))) == ["a", "acadb"]
    run("pdtreverse", pairs, "grammar.pdt", "back.pdt")
    run("pdtexpand", pairs, "--max_depth=1", "back.pdt", "back.fst")
    assert sorted(text for text, _, _ in wfst.strings(wfst.read_fst("back.fst"))) == ["a", "baa"]
    with pytest.raises(DataError, match="more than 50 states"):
        run("pdtexpand", pairs, "--max_states=50", "grammar.pdt", "x.fst")
    assert run("pdtexpand", "grammar.pdt").exit_code == 2
    assert not os.path.exists("x.fst")


def test_verbs_for_several_stacks(folder: Path) -> None:
    wfst.write_fst(wfst.compile_text("0 1 11 11\n1 2 13 13\n2 3 97 97\n3 4 12 12\n4 5 14 14\n5"), "m.fst")
    Path("two.txt").write_text("11 12 1\n13 14 2\n")
    pairs = "--mpdt_parentheses=two.txt"
    run("mpdtexpand", pairs, "m.fst", "out.fst")
    assert [text for text, _, _ in wfst.strings(wfst.read_fst("out.fst"))] == ["a"]
    run("mpdtreverse", pairs, "m.fst", "back.fst")
    run("mpdtexpand", pairs, "--restriction=write", "back.fst", "out.fst")
    assert [text for text, _, _ in wfst.strings(wfst.read_fst("out.fst"))] == ["a"]
    run("mpdtexpand", pairs, "--restriction=write", "m.fst", "out.fst")
    assert wfst.read_fst("out.fst", map_file=False).num_states == 0
    wfst.write_fst(wfst.accep("a"), "a.fst")
    run("mpdtcompose", pairs, "--compose_filter=expand", "m.fst", "a.fst", "out.fst")
    assert wfst.total_weight(wfst.read_fst("out.fst", map_file=False)) == 0.0
    assert json.loads(run("mpdtinfo", "--json", pairs, "m.fst").stdout)["stacks"] == 2


def test_models_in_bits(folder: Path) -> None:
    Path("m.arpa").write_text(ARPA)
    assert "3 states" in run("ngram", "m.arpa", "m.mill").stderr
    run("ngram", "m.mill", "m.fst")
    run("ngram", "--back_off=epsilon", "m.arpa", "e.fst")
    assert wfst.read_fst("m.fst").num_arcs == wfst.read_fst("e.fst").num_arcs
    facts = json.loads(run("ngraminfo", "--json", "m.mill").stdout)
    assert facts["bytes"] < facts["bytes as a plain machine"]
    assert "bytes per arc" in run("ngraminfo", "m.arpa").stdout
    Path("f.txt").write_text("X\t1\t-\t0=a\n")
    run("linear", "f.txt", "-", "--save=l.mill", text="a\n")
    with pytest.raises(DataError, match="another model"):
        run("ngram", "l.mill", "x.fst")
    with pytest.raises(DataError, match="another model"):
        run("linear", "m.mill", "-", text="a\n")


def test_linear_models(folder: Path) -> None:
    Path("f.txt").write_text("# comment\nDET\t2\t-\t0=the\nNOUN\t1\tDET\n")
    assert run("linear", "f.txt", "-", "--save=t.mill", text="the dog\nthe\n").stdout == "-3\tDET NOUN\n-2\tDET\n"
    assert run("linear", "--nshortest=2", "t.mill", "-", text="the\n").stdout == "-2\tDET\n0\tNOUN\n"
    Path("c.txt").write_text("spam\t2\t-\t0=win\nham\t1\t-\t0=hello\n")
    assert run("linear", "--classify", "c.txt", "-", text="hello win\n").stdout == "-2\tspam\n"
    Path("f.txt").write_text("DET 2\n")
    with pytest.raises(DataError, match=r"f\.txt:1"):
        run("linear", "f.txt", "-", text="the\n")


def test_edits(folder: Path) -> None:
    Path("c.txt").write_text("state\narc 0 4 99 99 0.5\nfinal 4 2\ndelete 1\nstart 0\n")
    assert "3 states changed or added, 5 in all" in run("edit", "clause.fst", "c.txt", "out.fst").stderr
    assert sorted((text, weight) for text, _, weight in wfst.strings(wfst.read_fst("out.fst"))) == [
        ("a", 0.0),
        ("c", 2.5),
    ]
    for line in ("arc 0 9 1 1", "final x", "nothing", "delete", "arc 0 1 1 1 heavy"):
        Path("c.txt").write_text("state\n" + line + "\n")
        with pytest.raises(DataError, match=r"c\.txt:2"):
            run("edit", "clause.fst", "c.txt", "bad.fst")
    assert not os.path.exists("bad.fst")


def test_compressed_files(folder: Path) -> None:
    assert "bytes became" in run("compress", "clause.fst", "c.lzfst").stderr
    run("decompress", "c.lzfst", "again.fst")
    assert Path("again.fst").read_bytes() == Path("clause.fst").read_bytes()
    with pytest.raises(DataError, match="not a compressed machine"):
        run("decompress", "clause.fst", "x.fst")
    with pytest.raises(DataError, match="not a binary machine"):
        run("compress", "pairs.txt", "x.fst")


def test_words_are_added_to_a_lexicon(folder: Path) -> None:
    Path("a.txt").write_text("walked\ntalked\n")
    Path("b.txt").write_text("walking\ntalking\ntalked\n")
    run("lexicon", "a.txt", "-o", "a.fst")
    assert "2 words are new" in run("lexicon", "b.txt", "--extend", "a.fst", "-o", "ab.fst").stderr
    both = wfst.lexicon(["walked", "talked", "walking", "talking"])
    assert wfst.isomorphic(wfst.read_fst("ab.fst"), both)


def test_a_crf_becomes_a_machine(folder: Path) -> None:
    from textmill.sequence import CRF, Encoder

    rows = [("the DT", "O"), ("dog NN", "B"), ("a|b NN", "B"), ("runs VB", "O")]
    X = [[row.split() for row, _ in rows], [row.split() for row, _ in rows[::-1]]]
    y = [[tag for _, tag in rows], [tag for _, tag in rows[::-1]]]
    patterns = ["u:w=%x[0,0]", "u:t=%x[-1,1]", "b:t=%x[0,1]"]
    crf = CRF(encoder=Encoder(patterns=patterns), l1=0.01).fit(X, y)
    crf.save("crf.mill")
    words = ["the|DT", "a|b|NN", "runs|VB"]
    line = run("linear", "crf.mill", "-", "--save=tagger.mill", text=" ".join(words) + "\n").stdout
    columns = [word.rsplit("|", 1) for word in words]
    assert line.split("\t")[1].split() == list(crf.predict([columns])[0])
    assert run("linear", "tagger.mill", "-", text=" ".join(words) + "\n").stdout == line
    # a lattice: the same words under other numbers, and one that the model has not
    symbols = wfst.SymbolTable(["<eps>", "never|XX", *words[::-1]])
    symbols.write("words.syms")
    lattice = wfst.compile_text("0 1 the|DT\n0 1 never|XX 9\n1 2 a|b|NN\n2 3 runs|VB\n3", acceptor=True,
                                input_symbols=symbols)  # fmt: skip
    lattice.input_symbols = symbols
    wfst.write_fst(lattice, "lattice.fst")
    for model in ("crf.mill", "tagger.mill"):
        run("linear", "--lattice", model, "lattice.fst", "tagged.fst")
        tagged = wfst.read_fst("tagged.fst")
        best = wfst.shortest_path(tagged)
        assert f"{wfst.total_weight(best):.4g}" == f"{float(line.split(chr(9))[0]):.4g}"
        path = next(iter(wfst.strings(best, token_type="symbol")))
        assert (path[0].split(), path[1].split()) == (words, line.split("\t")[1].split())
    wfst.write_fst(wfst.accep("ab"), "plain.fst")
    with pytest.raises(DataError, match="no symbols"):
        run("linear", "--lattice", "crf.mill", "plain.fst", "x.fst")
    assert not os.path.exists("x.fst")


def test_machines_of_unicode(folder: Path) -> None:
    acute, below, flag = chr(0x301), chr(0x323), chr(0x1F1E9) + chr(0x1F1EA)
    Path("marks.txt").write_text("ệ é\n", encoding="utf-8")  # circumflex, dot below, acute

    def applied(machine: str, text: str) -> str:
        return run("apply", "--token_type=byte", machine, text=text + "\n").stdout.rstrip("\n").split("\t")[1]

    assert "states" in run("unicode", "order_marks", "--characters=marks.txt", "order.fst").stderr
    assert applied("order.fst", "e" + acute + below) == "e" + below + acute
    run("unicode", "graphemes", "--separator=_", "clusters.fst")
    assert applied("clusters.fst", "e" + acute + flag + "x") == "e" + acute + "_" + flag + "_x"
    run("unicode", "recompose", "--characters=marks.txt", "join.fst")
    assert applied("join.fst", "caf" + "e" + acute) == "café"
    run("unicode", "code_points", "--characters=marks.txt", "points.fst")
    points = wfst.compose(wfst.accep("é", token_type="byte"), wfst.read_fst("points.fst"))
    assert [arc.olabel for s in range(points.num_states) for arc in points.arcs(s) if arc.olabel] == [ord("é")]
    run("unicode", "utf8", "utf8.fst")
    assert wfst.read_fst("utf8.fst").num_arcs == 498
    for arguments, message in (
        (["order_marks"], "name a text"),
        (["utf8", "--characters=marks.txt"], "leave out"),
        (["graphs"], "KIND"),
        (["graphemes", "--separator="], "separator is empty"),
    ):
        with pytest.raises(DataError, match=message):
            run("unicode", *arguments, "x.fst")
    assert not os.path.exists("x.fst")
