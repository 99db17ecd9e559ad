"""`textmill language`: every verb, on small files."""

from __future__ import annotations

import json
from pathlib import Path
from warnings import catch_warnings

import pytest
from typer.testing import CliRunner

from textmill.cli.app import app
from textmill.errors import DataError

ENGLISH = ["the cat sat on the mat and the dog looked at it", "this is the house near the river that you saw"]
CZECH = ["kočka seděla na rohoži a pes se na ni díval", "to je dům u řeky který jsi viděl včera večer"]


def run(*arguments: object, stdin: str | None = None) -> str:
    result = CliRunner().invoke(app, ["language", *map(str, arguments)], input=stdin)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("languages")
    (path / "en.txt").write_text("\n".join(ENGLISH * 6), encoding="utf-8")
    (path / "cs.txt").write_text("\n".join(CZECH * 6), encoding="utf-8")
    options = ("--min-count", 1, "--order", 3)
    run("train", path / "en.txt", path / "cs.txt", "-o", path / "m.mill", "--counts", path / "c.mill", *options)
    return path


def test_detect_reads_lines(folder: Path) -> None:
    lines = run("detect", "--model", folder / "m.mill", stdin="the cat sat\nkočka a pes\n1234\n").splitlines()
    assert [line.split("\t")[0] for line in lines] == ["language", "en", "cs", "und"]
    row = json.loads(run("detect", "--model", folder / "m.mill", "--json", stdin="the cat\n"))
    assert row["ranking"][0]["language"] == row["language"] == "en"
    assert (
        run("detect", "--model", folder / "m.mill", "--languages", "cs", stdin="the cat\n").splitlines()[1][:2] != "en"
    )


def test_segment_prints_pieces_and_wanted_parts(folder: Path) -> None:
    text = f"{ENGLISH[0]} {CZECH[0]}\n"
    model = ("--model", folder / "m.mill", "--penalty", 2)
    rows = [json.loads(line) for line in run("segment", *model, "--json", stdin=text).splitlines()]
    assert [row["language"] for row in rows] == [["en"], ["cs"]]
    assert run("segment", *model, "--only", "cs", stdin=text).strip() == CZECH[0]
    rows = [
        json.loads(line) for line in run("segment", *model, "--method", "letters", "--json", stdin=text).splitlines()
    ]
    assert [row["language"] for row in rows] == [["en"], ["cs"]]
    assert "".join(row["text"] for row in rows) == text.strip()


def test_counts_add_and_are_taken_away(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "de.txt").write_text("der alte mann und das haus am fluss\n" * 4, encoding="utf-8")
    more = tmp_path / "more.mill"
    run("train", tmp_path / "de.txt", "-o", more, "--add", folder / "c.mill", "--min-count", 1, "--held-out", 0)
    assert run("list", "--model", more).split("\n")[1:4] != []
    assert {line.split("\t")[0] for line in run("list", "--model", more).splitlines()} >= {"cs", "de", "en"}


def test_word_lists_and_texts_to_refuse(folder: Path, tmp_path: Path) -> None:
    lists, others = tmp_path / "de.txt", tmp_path / "others" / "sco.txt"
    lists.write_text("hund 20\n\nkatze\t12\n", encoding="utf-8")
    others.parent.mkdir()
    others.write_text("\n".join(ENGLISH * 6), encoding="utf-8")
    texts, model = (folder / "en.txt", folder / "cs.txt"), tmp_path / "m.mill"
    run("train", *texts, "--word-list", lists, "--order", 0, "-o", model)
    assert run("dump", "--model", model, "--language", "de").split("\t")[0] == "hund"
    lists.write_text("bär 20\n", encoding="latin-1")
    for file in texts:
        (tmp_path / file.name).write_text(file.read_text(encoding="utf-8"), encoding="iso8859-2")
    own = [tmp_path / file.name for file in texts]
    run("train", *own, "--word-list", lists, "--encoding", "iso8859-2", "--order", 0, "-o", tmp_path / "old.mill")
    assert run("dump", "--model", tmp_path / "old.mill", "--language", "de").split("\t")[0] == "bär"
    with catch_warnings():
        printed = run("train", *texts, "--others", others.parent, "--held-out", 0.34, "--order", 0, "-o", model)
    assert "100% of the held-out texts in 'sco' are taken for a language that is known, mostly 'en'" in printed
    assert "sco" not in run("list", "--model", model)
    lists.write_text("hund\n", encoding="utf-8")
    for arguments, match in (
        (("--word-list", lists), r"de\.txt:1: expected a word and how often it occurs"),
        (("--others", folder / "en.txt"), "'en' is learned, and among the other languages"),
    ):
        command = ["language", "train", *texts, *arguments, "-o", tmp_path / "x.mill"]
        with pytest.raises(DataError, match=match):
            CliRunner().invoke(app, [*map(str, command)], catch_exceptions=False)


def test_a_background_of_counts_and_tables_with_another_delimiter(folder: Path, tmp_path: Path) -> None:
    rows = [f"{code};{text}" for code, text in (("en", ENGLISH[0]), ("cs", CZECH[0]))]
    (tmp_path / "t.csv").write_text("\n".join(["lang;text", *rows]), encoding="utf-8")
    options = ("--delimiter", ";", "--language-field", "lang", "--order", 0, "-o", tmp_path / "m.mill")
    run("train", tmp_path / "t.csv", "--background", folder / "c.mill", *options)
    own = run("dump", "--model", tmp_path / "m.mill")
    run("train", tmp_path / "t.csv", *options)
    assert "rohoži\tcs" in own
    assert own != run("dump", "--model", tmp_path / "m.mill")


def test_pages_say_their_language_and_documents_have_shares(folder: Path, tmp_path: Path) -> None:
    pages = [json.dumps({"text": f"<html lang='{code}'><p>Hotel</p></html>"}) for code in ("de", "cs")]
    answers = run("detect", "--pages", stdin="\n".join(pages)).splitlines()[1:]
    assert [line.split("\t")[0] for line in answers] == ["de", "cs"]
    (tmp_path / "page.html").write_text("<html lang='de-AT'><p>Hotel</p></html>", encoding="utf-8")
    assert run("detect", "--pages", tmp_path / "page.html").splitlines()[1].startswith("de\t")
    text = f"{ENGLISH[0]} {CZECH[0]}\n"
    shares = run("segment", "--model", folder / "m.mill", "--penalty", 2, "--shares", stdin=text).splitlines()
    assert shares == ["id\tlanguage\tshare", "stdin:1\ten\t0.5455", "stdin:1\tcs\t0.4545"]


def test_a_smaller_model_knows_some_of_the_languages(folder: Path, tmp_path: Path) -> None:
    run("edit", folder / "m.mill", "--languages", "cs", "-o", tmp_path / "cs.mill")
    assert [line.split("\t")[0] for line in run("list", "--model", tmp_path / "cs.mill").splitlines()] == [
        "language",
        "cs",
    ]


def test_edit_diff_and_dump(folder: Path, tmp_path: Path) -> None:
    edited = tmp_path / "e.mill"
    assert "1 relevance" in run("edit", folder / "m.mill", "--set", "ahoj:cs=2", "-o", edited)
    assert run("diff", folder / "m.mill", edited).splitlines()[1].split("\t") == ["ahoj", "cs", "-", "2.0000"]
    (tmp_path / "p.txt").write_text(run("diff", folder / "m.mill", edited, "--patch"), encoding="utf-8")
    run("edit", folder / "m.mill", "--patch", tmp_path / "p.txt", "-o", tmp_path / "again.mill")
    assert (tmp_path / "again.mill").read_bytes() == edited.read_bytes()
    assert "ahoj\tcs\t2.0000" in run("dump", "--model", edited)


def test_explain_and_evaluate(folder: Path) -> None:
    assert "kočka\tdictionary" in run("explain", "kočka a xx", "--model", folder / "m.mill")
    report = run("evaluate", folder / "en.txt", folder / "cs.txt", "--model", folder / "m.mill")
    assert report.startswith("accuracy of the best language 1.0000")
    assert "all\tmicro\t1.0000\t1.0000\t1.0000" in report
    texts = folder / "en.txt", folder / "cs.txt"
    table = run("evaluate", *texts, "--model", folder / "m.mill", "--beta", 2, "--confusion")
    assert table.splitlines()[1].split("\t")[-1] == "f2"
    assert table.splitlines()[-2:] == ["cs\tcs\t12", "en\ten\t12"]
    facts = json.loads(run("evaluate", *texts, "--model", folder / "m.mill", "--json"))
    assert facts["confusion"] == {"cs": {"cs": 12}, "en": {"en": 12}}
    printed = run("evaluate", *texts, "--model", folder / "m.mill", "--segments", "--documents", 20, "--json")
    figures = json.loads(printed)
    assert figures["accuracy"] > 0.9
    settings = "--model", folder / "m.mill", "--segments", "--documents", 20, "--json"
    assert json.loads(run("evaluate", *texts, *settings, "--penalty", 1000))["accuracy"] < 0.9  # one piece for all


def test_verbs_that_answer_can_do_without_accents(folder: Path, tmp_path: Path) -> None:
    options, bare = ("--model", folder / "m.mill"), "kocka sedela na rohozi"
    assert json.loads(run("detect", *options, "--json", stdin=bare))["dictionary_words"] == 1
    assert json.loads(run("detect", *options, "--json", "--without-accents", stdin=bare))["dictionary_words"] == 4
    assert "kocka\tletters" in run("explain", bare, *options)
    assert "kocka\tdictionary" in run("explain", bare, *options, "--without-accents")
    for name, text in (("en", "the cat sat"), ("cs", "kocka sedela rohozi")):
        (tmp_path / f"{name}.txt").write_text(f"{text}\n" * 9, encoding="utf-8")
    files = tmp_path / "en.txt", tmp_path / "cs.txt"
    recall = [json.loads(run("evaluate", *files, *options, "--json", *more))["sets"]["all"]["languages"]["cs"]["recall"]
              for more in ((), ("--without-accents",))]  # fmt: skip
    assert recall == [0.0, 1.0]
    mixed = "the cat sat on the mat kocka sedela rohozi rece"
    pieces = [json.loads(line)["text"] for line in run(
        "segment", *options, "--json", "--penalty", 0.5, "--without-accents", stdin=mixed).splitlines()]  # fmt: skip
    assert pieces[0].startswith("the cat")
    assert pieces[-1].startswith("kocka")


def test_one_endless_word_on_standard_input_has_an_answer(folder: Path) -> None:
    """Longer than any field of a table may be, so it is no table."""
    rows = run("detect", "--model", folder / "m.mill", stdin="a" * 200_000 + "\n").splitlines()
    assert rows[1].split("\t")[0] == "und"


def test_errors_are_one_line(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "xx.txt").write_text("\n")
    empty = CliRunner().invoke(app, ["language", "train", str(tmp_path / "xx.txt"), "-o", str(tmp_path / "none.mill")])
    assert empty.exit_code != 0
    assert "xx.txt: the file has no text" in empty.output + str(empty.exception or "")
    (tmp_path / "bad.txt").write_text("one two\n", encoding="utf-8")
    arguments = ["edit", folder / "m.mill", "--patch", tmp_path / "bad.txt", "-o", tmp_path / "x.mill"]
    assert CliRunner().invoke(app, ["language", *map(str, arguments)]).exit_code != 0
    wanted = ["segment", folder / "m.mill", "--model", folder / "m.mill", "--only", "xx"]
    with pytest.raises(DataError, match="does not know the language 'xx'"):
        CliRunner().invoke(app, ["language", *map(str, wanted)], catch_exceptions=False)
