"""`textmill tag`, every verb, on the sample chunks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from textmill.cli.app import main
from textmill.corpus import sample_path
from textmill.sequence import read_tagger

TRAIN, TEST = str(sample_path("chunks-train.txt")), str(sample_path("chunks-test.txt"))
PATTERNS = "u:w=%x[0,0]\nu:p-1=%x[-1,1]\nu:p=%x[0,1]\nu:p+1=%x[1,1]\n*\n"


def said(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0, quiet: bool = True) -> tuple[str, str]:
    """Output and errors of a run in this process."""
    with pytest.raises(SystemExit) as left:
        main([*["-q"] * quiet, "tag", *map(str, arguments)])
    captured = capsys.readouterr()
    assert left.value.code == code, captured.err
    return captured.out, captured.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Patterns and a trained model."""
    folder = tmp_path_factory.mktemp("tag")
    (folder / "patterns.txt").write_text(PATTERNS)
    with pytest.raises(SystemExit):
        main(
            ["-q", "tag", "train", TRAIN, "-p", f"{folder}/patterns.txt", "--max-iter", "25", "-o", f"{folder}/m.mill"]
        )
    return folder


def test_training_shows_a_row_for_every_iteration(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = said(
        capsys, "train", TRAIN, "-p", folder / "patterns.txt", "--dev", TEST, "--max-iter", 6, "--json",
        "--plot", tmp_path / "run.svg", "-o", tmp_path / "m.mill", quiet=False,
    )  # fmt: skip
    size, header, *rows = err.splitlines()
    assert re.fullmatch(r"[\d,]+ features; training takes at least [\d,]+ MB", size)
    assert header.split() == ["iteration", "objective", "active", "dev", "error", "time", "cpu"]
    assert len(rows) == json.loads(out)["iterations"] == 6
    assert all("%" in row for row in rows)
    assert (tmp_path / "run.svg").read_text().startswith("<?xml")


def test_the_summary_says_which_iteration_was_kept_and_why_training_ended(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = ["train", TRAIN, "-p", folder / "patterns.txt", "-o", tmp_path / "m.mill", "--max-iter", 7]
    out, err = said(capsys, *train)
    assert err == ""
    assert ", 7 iterations, objective " in out
    assert out.endswith(", stopped: iteration limit\n")
    facts = json.loads(said(capsys, *train, "--dev", TEST, "--json")[0])
    out, err = said(capsys, *train, "--dev", TEST, quiet=False)
    rows = [row.split() for row in err.splitlines()[2:]]
    errors = [float(row[3].rstrip("%")) for row in rows]
    kept = facts["kept_iteration"]
    assert errors[kept - 1] == min(errors)
    assert f", kept iteration {kept} of 7, objective {rows[kept - 1][1]}, stopped: " in out
    assert facts["active"] == int(rows[kept - 1][2]), "the figures are those of the weights that were kept"


def test_a_share_of_the_input_is_held_out(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train = ["train", TRAIN, "-p", folder / "patterns.txt", "--max-iter", 5, "-o", tmp_path / "m.mill", "--json"]
    facts = json.loads(said(capsys, *train, "--held-out", 0.25)[0])
    whole = json.loads(said(capsys, *train)[0])
    assert facts["sequences"] == pytest.approx(0.75 * whole["sequences"], abs=1)
    assert "kept_iteration" in facts
    assert "kept_iteration" not in whole
    for share, fault in ((1.5, "--held-out must be a number above 0 and below 1"), (0.2, "--dev and --held-out both")):
        _, err = said(capsys, *train, "--held-out", share, *(["--dev", TEST] if share < 1 else []), code=1)
        assert fault in err


def test_a_path_refuses_a_penalty(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, err = said(capsys, "path", TEST, "-p", folder / "patterns.txt", "--l1", 0.5, code=1)
    assert "--l1 0.5 has no meaning for a path" in err


def test_label_and_evaluate(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "label", folder / "m.mill", TEST, "-o", tmp_path / "out.txt")
    out, _ = said(capsys, "evaluate", tmp_path / "out.txt", "--intervals", "--confusion")
    assert out.startswith("processed 3233 tokens with 1594 phrases; found: ")
    assert "\nf1: 0.9" in out
    assert "\ngold\tB-ADJP" in out
    figures = json.loads(said(capsys, "evaluate", tmp_path / "out.txt", "--json", "--intervals")[0])
    assert figures["f1"] > 0.95
    assert figures["intervals"]["f1"][0] < figures["f1"]
    assert "f1" not in json.loads(said(capsys, "evaluate", tmp_path / "out.txt", "--json", "--no-chunks")[0])


def test_dump_update_compact_convert(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = folder / "m.mill"
    said(capsys, "dump", model, "-o", tmp_path / "a.dump")
    said(capsys, "update", model, tmp_path / "a.dump", "-o", tmp_path / "b.mill")
    said(capsys, "dump", tmp_path / "b.mill", "-o", tmp_path / "b.dump")
    assert (tmp_path / "a.dump").read_bytes() == (tmp_path / "b.dump").read_bytes()
    assert "tests have a weight" in said(capsys, "compact", model, "-o", tmp_path / "c.mill")[0]
    said(capsys, "convert", model, tmp_path / "m.wapiti")
    said(capsys, "convert", tmp_path / "m.wapiti", tmp_path / "d.mill")
    answers = {said(capsys, "label", file, TEST)[0] for file in (model, tmp_path / "c.mill", tmp_path / "d.mill")}
    assert len(answers) == 1


def test_path_and_crossval(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    patterns = folder / "patterns.txt"
    out, _ = said(capsys, "path", TEST, "-p", patterns, "--dev", TEST, "--steps", 3, "--max-iter", 8)
    rows = [line.split("\t") for line in out.splitlines()]
    assert rows[0] == ["l1", "active", "objective", "token error"]
    assert [int(row[1]) for row in rows[1:]] == sorted(int(row[1]) for row in rows[1:])
    out, _ = said(capsys, "crossval", TEST, "-p", patterns, "--folds", 3, "--max-iter", 8)
    assert out.count("fold ") == 3
    assert "processed 3233 tokens" in out
    assert (
        len(
            json.loads(said(capsys, "crossval", TEST, "-p", patterns, "--folds", 3, "--max-iter", 3, "--json")[0])[
                "folds"
            ]
        )
        == 3
    )


def test_files_of_crfsuite_and_crfpp_are_trained_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data.crfsuite").write_text("A\tw=a\tn:0.5\nB\tw=b\n\n" * 4)
    said(capsys, "train", tmp_path / "data.crfsuite", "--format", "crfsuite", "--l1", 0.1, "-o", tmp_path / "s.mill")
    out, _ = said(capsys, "label", tmp_path / "s.mill", tmp_path / "data.crfsuite", "--format", "crfsuite")
    assert out == "A\tA\nB\tB\n\n" * 4
    (tmp_path / "template").write_text("# words\nU00:%x[0,0]\nU01:%x[-1,0]\nB\n")
    (tmp_path / "train.txt").write_text("a A\nb B\n\n" * 4)
    said(
        capsys, "train", tmp_path / "train.txt", "-p", tmp_path / "template", "--syntax", "crf++", "--l1", 0.1,
        "-o", tmp_path / "p.mill",
    )  # fmt: skip
    assert said(capsys, "label", tmp_path / "p.mill", tmp_path / "train.txt")[0].startswith("a A A\nb B B\n\n")
    (tmp_path / "tests.txt").write_text("u1 b A\nu2 b B\n\n" * 4)
    said(capsys, "train", tmp_path / "tests.txt", "--format", "tests", "--l1", 0.1, "-o", tmp_path / "t.mill")
    assert said(capsys, "label", tmp_path / "t.mill", "--constrain", tmp_path / "tests.txt")[0].startswith("u1 b A A")


@pytest.mark.parametrize(
    ("text", "patterns", "fault"),
    [
        ("a DT B-NP\nb NN\n", PATTERNS, "train.txt:2: found 2 columns, expected 3"),
        ("a\n", PATTERNS, "train.txt:1: found one column"),
        ("", PATTERNS, "train.txt: there are no sequences"),
        ("a DT X\nb DT Y\nc DT X\n", "u:%x[0,7]\n", "patterns.txt:1) asks for column 7"),
        ("a DT X\nb DT Y\nc DT X\n", 'u:%m[0,0,"["]\n', "is no regular expression"),
        ("a DT X\nb DT Y\nc DT X\n", "b\nq:%x[0,0]\n", "patterns.txt:2: pattern 'q:%x[0,0]' must begin with u, b or *"),
    ],
)
def test_bad_input_is_one_line(
    text: str, patterns: str, fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.txt").write_text(text)
    (tmp_path / "patterns.txt").write_text(patterns)
    _, err = said(
        capsys, "train", tmp_path / "train.txt", "-p", tmp_path / "patterns.txt", "-o", tmp_path / "m.mill", code=1
    )
    assert err.count("\n") == 1
    assert fault in err
    assert not (tmp_path / "m.mill").exists()


def test_other_columns_than_in_training_are_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "wide.txt").write_text("a b c d\nb c d e\n")
    _, err = said(capsys, "label", folder / "m.mill", tmp_path / "wide.txt", code=1)
    assert "tokens have 4 columns, but those learned from had 2" in err
    _, err = said(
        capsys, "train", TRAIN, "-p", folder / "patterns.txt", "--dev", tmp_path / "wide.txt", "-o", "x.mill", code=1
    )
    assert "tokens have 3 columns, but those learned from had 2" in err


def test_training_without_patterns_says_which_were_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = said(capsys, "train", TRAIN, "--max-iter", 15, "-o", tmp_path / "m.mill")
    assert err == ""
    assert out.splitlines()[1].startswith("38 patterns by default: words -2 to +2, ")
    assert "; column 1: values" in out
    said(capsys, "label", tmp_path / "m.mill", TEST, "-o", tmp_path / "out.txt")
    assert json.loads(said(capsys, "evaluate", tmp_path / "out.txt", "--json")[0])["f1"] > 0.97
    said(capsys, "train", TRAIN, "--words-only", "-p", TEST, "-o", tmp_path / "m.mill", code=2)
    said(capsys, "train", TRAIN, "--syntax", "crf++", "-o", tmp_path / "m.mill", code=2)
    said(capsys, "crossval", TEST, "--folds", 3, "--max-iter", 2)


def test_running_text_is_labeled_with_exact_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said(capsys, "train", TRAIN, "--words-only", "--max-iter", 15, "-o", tmp_path / "m.mill")
    assert "25 patterns by default" in out
    text = "\ufeffThe mill stood.\r\n  The river, too…"
    (tmp_path / "text.txt").write_bytes(text.encode())
    out, _ = said(capsys, "label", tmp_path / "m.mill", "--text", tmp_path / "text.txt")
    assert [line.split("\t")[0] for line in out.split("\n")] == [
        *["The", "mill", "stood", "."],
        "",
        *["The", "river", ",", "too", "…"],
        "",
        "",
    ]
    out, err = said(
        capsys, "label", tmp_path / "m.mill", "--text", tmp_path / "text.txt", "--json", "--repair", "IOB2", quiet=False
    )
    assert err.startswith("textmill: repaired ")
    plain = text.removeprefix("\ufeff")
    for line in out.splitlines():
        sentence = json.loads(line)
        assert plain[sentence["begin"] : sentence["end"]] == sentence["text"]
        assert sentence["spans"]
        assert all(plain[span["begin"] : span["end"]] == span["text"] for span in sentence["spans"])
    said(capsys, "label", tmp_path / "m.mill", TEST, "--text", tmp_path / "text.txt", code=2)
    said(capsys, "label", tmp_path / "m.mill", "--text", tmp_path / "text.txt", "-k", 2, code=2)
    said(capsys, "label", tmp_path / "m.mill", TEST, "--json", code=2)
    (tmp_path / "latin.txt").write_bytes("café".encode("latin-1"))
    _, err = said(capsys, "label", tmp_path / "m.mill", "--text", tmp_path / "latin.txt", code=1)
    assert "latin.txt:1:4: byte 0xe9 is not UTF-8" in err
    said(capsys, "label", tmp_path / "m.mill", "--text", tmp_path / "latin.txt", "--encoding", "latin-1")


def test_running_text_needs_a_tagger_of_words(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.txt").write_text("The mill.")
    _, err = said(capsys, "label", folder / "m.mill", "--text", tmp_path / "text.txt", code=1)
    assert "column 1 is missing, first in pattern 'u:p-1=%x[-1,1]'" in err


def test_errors_are_shown_by_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out.txt").write_text("to O O\nBrno B-LOC B-PER\n\nUlm B-LOC B-PER\nOst B-LOC O\n")
    out, _ = said(capsys, "evaluate", tmp_path / "out.txt", "--show-errors", "-k", 1)
    table = [line.split("\t") for line in out.splitlines() if "\t" in line]
    assert table == [
        ["count", "kind", "place", "gold", "predicted", "sentence"],
        ["2", "LOC > PER", f"{tmp_path}/out.txt:2", "LOC: Brno", "PER: Brno", "to [Brno]"],
        ["1", "LOC > O", f"{tmp_path}/out.txt:5", "LOC: Ost", "-", "Ulm [Ost]"],
    ]
    errors = json.loads(said(capsys, "evaluate", tmp_path / "out.txt", "--show-errors", "--json")[0])["errors"]
    assert [(kind["kind"], kind["count"], len(kind["examples"])) for kind in errors] == [
        ("LOC > PER", 2, 2),
        ("LOC > O", 1, 1),
    ]
    assert "errors" not in json.loads(said(capsys, "evaluate", tmp_path / "out.txt", "--json")[0])


def test_show_prints_the_strongest_weights(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header, *rows = said(capsys, "show", folder / "m.mill", "--label", "B-NP", "-k", 3)[0].splitlines()
    assert header.split("\t") == ["weight", "test", "before", "label"]
    assert len(rows) == 6
    assert {row.split("\t")[3] for row in rows} == {"B-NP"}
    weights = [float(row.split("\t")[0]) for row in rows]
    assert weights == sorted(weights, reverse=True)
    pairs = [
        json.loads(line) for line in said(capsys, "show", folder / "m.mill", "--transitions", "--json")[0].splitlines()
    ]
    assert all(pair["test"] == "*" and pair["before"] for pair in pairs)
    out, _ = said(capsys, "show", folder / "m.mill", "--test", "u:p=DT", "--word", "the")
    assert out.splitlines() == ["weight\ttest\tbefore\tlabel"]


def test_tags_of_a_file_are_repaired(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tags.txt").write_text("to\tO\nBrno\tI-LOC\n")
    out, err = said(capsys, "repair", tmp_path / "tags.txt", quiet=False)
    assert (out, err) == ("to\tO\nBrno\tB-LOC\n\n", "textmill: repaired 1 tag in 1 of 1 sequence\n")
    assert said(capsys, "repair", tmp_path / "tags.txt", "--scheme", "IOBES")[0] == "to\tO\nBrno\tS-LOC\n\n"
    assert "scheme" in said(capsys, "repair", tmp_path / "tags.txt", "--scheme", "IOB", code=1)[1]


def test_models_go_to_crfsuite_and_back_and_dumps_are_models(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = said(capsys, "label", folder / "m.mill", TEST)[0]
    said(capsys, "convert", folder / "m.mill", tmp_path / "m.crfsuite", "--to", "crfsuite")
    said(capsys, "convert", tmp_path / "m.crfsuite", tmp_path / "n.mill")
    said(capsys, "convert", folder / "m.mill", tmp_path / "m.dump")
    assert said(capsys, "label", tmp_path / "m.dump", TEST)[0] == expected
    assert said(capsys, "dump", tmp_path / "n.mill")[0].startswith("#textmill dump ")


def test_a_tagger_without_patterns_that_knows_no_column_warns(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "convert", folder / "m.mill", tmp_path / "m.crfsuite")
    assert "knows no column of the input" in said(capsys, "label", tmp_path / "m.crfsuite", TEST, quiet=False)[1]
    (tmp_path / "tests.txt").write_text(
        "x\n" + read_tagger(tmp_path / "m.crfsuite").encoder_.tests_.to_list()[0] + "\n\n"
    )
    assert "knows no" not in said(capsys, "label", tmp_path / "m.crfsuite", tmp_path / "tests.txt", quiet=False)[1]
    assert "knows no" not in said(capsys, "label", folder / "m.mill", TEST, quiet=False)[1]


def test_a_million_labelings_are_the_limit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, err = said(capsys, "label", folder / "m.mill", TEST, "-k", 1_000_001, code=1)
    assert "-k must be a whole number at least 1 and at most 1000000" in err


def test_labels_of_greatest_expected_f(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain, _ = said(capsys, "label", folder / "m.mill", TEST)
    careful, eager = (said(capsys, "label", folder / "m.mill", TEST, "--maximize", name)[0] for name in ("f0.5", "f2"))
    chunks = [sum(line.split()[-1].startswith("B-") for line in text.splitlines() if line) for text in (careful, eager)]
    assert chunks[0] < chunks[1]
    assert len(plain.splitlines()) == len(eager.splitlines())
    _, errors = said(capsys, "label", folder / "m.mill", TEST, "--maximize", "f1", "--scores", code=1)
    assert "maximize has one answer" in errors


def test_a_learning_rate_is_that_of_the_algorithm(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from textmill.sequence import SGDL1

    train = ["train", TRAIN, "-p", folder / "patterns.txt", "--max-iter", 2, "-o", tmp_path / "m.mill"]
    said(capsys, *train, "--algorithm", "sgd_l1", "--rate", 0.25)
    assert read_tagger(tmp_path / "m.mill").algorithm == SGDL1(eta0=0.25)
    for wrong, fault, code in (
        (["--rate", 0.25], "--rate is of sgd_l1 and sgd_l2; owlqn has no learning rate", 2),
        (["--rate", 0.25, "--kind", "semimarkov"], "--rate is not an option of --kind semimarkov but of crf", 2),
        (["--algorithm", "sgd_l2", "--rate", 0], "--rate must be a number above 0, got 0", 1),
    ):
        _, err = said(capsys, *train, *wrong, code=code)
        assert fault in err


def test_stages_add_larger_patterns_where_smaller_ones_have_a_weight(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    patterns = tmp_path / "patterns.txt"
    patterns.write_text("b\nu:1=%x[0,0]\nu:2=%x[-1,0]/%x[0,0]\nu:3=%x[-1,0]/%x[0,0]/%x[1,0]\n")
    train = ["train", TRAIN, "-p", patterns, "--max-iter", 35, "--counts", "-o", tmp_path / "m.mill"]

    def tests(*options: object) -> list[int]:
        out, _ = said(capsys, *train, *options)
        return [int(line.split("\t")[0]) for line in out.splitlines()[1:5]]

    whole, staged = tests(), tests("--stages", 15)
    assert staged[:2] == whole[:2]
    assert 0 < staged[2] < whole[2]
    assert 0 < staged[3] < whole[3] / 2
    assert read_tagger(tmp_path / "m.mill").stages == [
        (15, ["u:2=%x[-1,0]/%x[0,0]"], [1]),
        (30, ["u:3=%x[-1,0]/%x[0,0]/%x[1,0]"], [2]),
    ]
    for wrong, fault, code in (
        (["--stages", 20], "--max-iter", 1),
        (["--stages", 0], "must be a whole number at least 1, got 0", 1),
        (["--stages", 5, "--hash-bits", 10], "--stages needs the names of tests; leave out --hash-bits", 2),
    ):
        _, err = said(capsys, *train, *wrong, code=code)
        assert fault in err
    _, err = said(capsys, "train", TRAIN, "--stages", 5, "-o", tmp_path / "m.mill", code=2)
    assert "--stages adds the patterns of a file one after the other; pass -p FILE" in err
