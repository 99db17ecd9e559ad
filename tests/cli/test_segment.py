"""The command `textmill segment`: every verb on small texts, pipes, bad input."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from textmill.cli.app import app
from textmill.corpus import write_choi

MILL, SKY = "The mill wheel grinds grain. ", "A planet orbits its star. "
SHIP = "The ship sails the sea. "
TEXT = MILL * 8 + SKY * 8


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "volume.txt").write_text(TEXT)

    def call(*arguments, text=""):
        return CliRunner().invoke(app, ["segment", *arguments], input=text)

    return call


def test_a_text_is_printed_in_every_form(run):
    rows = run("text", "volume.txt").stdout.splitlines()
    assert rows[0] == "id\tsegment\ttokens\tbegin\tend\twords"
    assert [row.split("\t")[1:5] for row in rows[1:]] == [["1", "40", "0", "232"], ["2", "40", "232", "440"]]
    assert json.loads(run("text", "volume.txt", "--to", "strings").stdout) == [MILL * 8, SKY * 8]
    assert run("text", "volume.txt", "--to", "masses").stdout == "40 40\n"
    assert run("text", "volume.txt", "--to", "marks").stdout.index("1") == 39
    assert run("text", "volume.txt", "--to", "choi").stdout.count("==========") == 3
    facts = json.loads(run("text", "-", "--to", "json", text=TEXT).stdout)
    assert "".join(segment["text"] for segment in facts["segments"]) == TEXT
    wrong = run("text", "volume.txt", "--to", "pages")
    assert wrong.exit_code != 0
    assert "to must be one of" in str(wrong.exception or wrong.stderr)


def test_limits_pictures_and_pages(run, tmp_path):
    result = run(
        "text", "volume.txt", "--method", "lsitiling", "--segments", "4", "--plot", "a.svg", "--report", "a.html"
    )
    assert result.exit_code == 0, result.output
    assert "<svg" in (tmp_path / "a.svg").read_text()
    assert "planet" in (tmp_path / "a.html").read_text()
    masses = run("text", "volume.txt", "--max-tokens", "15", "--to", "masses").stdout.split()
    assert max(map(int, masses)) <= 15


def test_many_texts_come_in_order_for_any_number_of_threads(run, tmp_path):
    rows = [{"id": f"d{i}", "text": MILL * (4 + i % 5) + SKY * (4 + i % 3)} for i in range(40)]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    one, two = (run("text", "docs.jsonl", "--to", "json", "--jobs", jobs).stdout for jobs in ("1", "3"))
    assert one == two
    assert [json.loads(line)["id"] for line in one.splitlines()] == [row["id"] for row in rows]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_stream_is_written_as_it_comes(run, end):
    lines = TEXT.replace(". ", "." + end) * 3 + "No end of line"
    rows = run("text", "-", "--stream", text=lines).stdout.splitlines()
    assert "".join(json.loads(row)["text"] for row in rows) == lines


def test_texts_of_a_stream_do_not_share_a_line(run, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"One.\r\nTwo")
    (tmp_path / "b.txt").write_bytes(b"Three\n")
    rows = run("text", "a.txt", "b.txt", "--stream").stdout.splitlines()
    assert "".join(json.loads(row)["text"] for row in rows) == "One.\r\nTwo\nThree\n"


def test_chunks_can_be_indexed(run, tmp_path):
    (tmp_path / "docs.jsonl").write_text(json.dumps({"id": "a", "title": "T", "text": TEXT}) + "\n")
    run("chunks", "docs.jsonl", "--max-tokens", "20", "-o", "chunks.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "chunks.jsonl").read_text().splitlines()]
    assert "".join(row["text"] for row in rows) == TEXT
    assert [row["id"] for row in rows] == [f"a#{i}" for i in range(1, len(rows) + 1)]
    assert all(row["title"] == "T" and TEXT[row["begin"] : row["end"]] == row["text"] for row in rows)


def test_texts_with_known_segments_are_scored(run, tmp_path):
    (tmp_path / "built").mkdir()
    parts = [[MILL.strip()] * 9, [SKY.strip()] * 9, ["The ship sails the sea."] * 9]
    for number, some in enumerate([parts[:2], parts[1:], parts]):
        write_choi(some, tmp_path / "built" / f"{number}.ref")
    rows = [line.split("\t") for line in run("evaluate", "built", "--method", "auto,hearst").stdout.splitlines()]
    measures = ["window_diff", "window_diff_sd", "pk", "pk_sd", "precision", "recall", "f1"]
    assert rows[0] == ["method", "texts", *measures, "segments", "true_segments"]
    assert rows[1][1] == "3"
    assert float(rows[1][-1]) == pytest.approx(7 / 3, abs=0.05)
    assert float(rows[1][2]) < float(rows[2][2])
    json.loads(run("evaluate", "built", "--method", "auto", "--json", "--plot", "s.svg", "--report", "s.html").stdout)
    assert (tmp_path / "s.svg").exists()
    assert (tmp_path / "s.html").exists()


def test_the_tree_of_cuts_goes_from_the_weakest_boundary_to_the_strongest(run, tmp_path):
    (tmp_path / "three.txt").write_text(MILL * 8 + SKY * 8 + "The ship sails a sea. " * 8)
    rows = [line.split("\t") for line in run("text", "three.txt", "--to", "tree").stdout.splitlines()]
    assert rows[0] == ["id", "segments", "token", "begin", "dissimilarity", "ending", "beginning"]
    assert [row[1] for row in rows[1:]] == ["3", "2"]
    assert sorted(row[2] for row in rows[1:]) == ["40", "80"]
    assert float(rows[1][4]) <= float(rows[2][4])
    assert "mill" in rows[2][5]
    assert "planet" in rows[2][6]


def test_a_background_model_of_other_texts_is_mixed_in(run, tmp_path):
    lines = "\n".join([MILL, SKY, SHIP] * 5)
    (tmp_path / "docs.txt").write_text(lines)
    trained = ["topics", "train", "docs.txt", "--lines", "--kind", "lsa", "--topics", "2", "-o", "space.mill"]
    assert CliRunner().invoke(app, trained).exit_code == 0
    (tmp_path / "turns.txt").write_text((MILL + SKY + MILL + SHIP) * 4 + (SKY + SKY + MILL + SHIP) * 4 + SKY * 6)
    common = ["text", "turns.txt", "--method", "lsitiling", "--to", "json", "--gaps"]
    plain, mixed, alone = (
        json.loads(run(*common, *more).stdout)["gaps"]
        for more in ([], ["--background", "space.mill"], ["--background", "space.mill", "--background-weight", "1"])
    )
    similarities = [[gap["similarity"] for gap in gaps] for gaps in (plain, mixed, alone)]
    assert len(set(map(tuple, similarities))) == 3
    for a, b, c in zip(*similarities, strict=True):
        assert b == pytest.approx((a + c) / 2, abs=1e-5)


@pytest.mark.parametrize("dimensions", ["3", "segments", "auto", "clusters"])
def test_dimensions_are_a_number_or_a_way_to_choose_it(run, dimensions):
    result = run("text", "volume.txt", "--method", "lsitiling", "--dimensions", dimensions, "--to", "json")
    facts = json.loads(result.stdout)
    assert 2 <= facts["n_dimensions"] <= 20
    assert "".join(segment["text"] for segment in facts["segments"]) == TEXT


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["text", "volume.txt", "--dimensions", "4"], "--dimensions needs a latent space, which auto has not"),
        (["text", "volume.txt", "--method", "optimal", "--dimensions", "x"], "segments, auto or clusters, got 'x'"),
        (["text", "volume.txt", "--method", "c99-latent", "--dimensions", "auto"], "must be a number, got 'auto'"),
        (["text", "volume.txt", "--background", "volume.txt"], "add --method lsitiling"),
        (["text", "volume.txt", "--method", "lsitiling", "--background", "volume.txt"], "not a textmill model"),
        (["text", "nowhere.txt"], "No such file"),
        (["evaluate", "empty"], "the folder has no files"),
        (["text", "volume.txt", "--method", "magic"], "method must be one of"),
        (["chunks", "volume.txt", "--max-tokens", "0"], "max_tokens must be"),
        (["evaluate", "blank.ref"], "no sentences"),
        (["text", "volume.txt", "--stream", "--segments", "3"], "--segments needs the whole text"),
        (["text", "volume.txt", "--stream", "--to", "masses"], "--to needs the whole text"),
    ],
)
def test_mistakes_are_named(run, tmp_path, arguments, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "blank.ref").write_text("==========\n")
    result = run(*arguments)
    assert result.exit_code != 0
    assert message in result.output + str(result.exception)
    assert "id\tsegment" not in result.stdout
