"""The commands of polarity: train, score, explain, evaluate."""

from __future__ import annotations

import csv
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from commands import output_of

from textmill.cli.app import main
from textmill.tasks.polarity import sample_reviews

run = partial(output_of, "polarity")


def rows_of(output: str) -> list[dict[str, str]]:
    return list(csv.DictReader(output.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reviews as CSV, JSON lines and in the star-review format, and a model."""
    path = tmp_path_factory.mktemp("polarity")
    texts, scores = sample_reviews(150)
    with (path / "reviews.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("stars", "text"), *zip(scores.astype(int), texts, strict=True)])
    texts, scores = sample_reviews(60, random_state=1)
    lines = [json.dumps({"rating": score, "text": text}) for score, text in zip(scores, texts, strict=True)]
    (path / "test.jsonl").write_text("\n".join(lines) + "\n")
    reviews = [
        f"<review>\n<rating>\n{score}\n</rating>\n<review_text>\n{text}\n</review_text>\n</review>\n"
        for score, text in zip(scores, texts, strict=True)
    ]
    (path / "test.review").write_text("".join(reviews))
    run(
        "train",
        str(path / "reviews.csv"),
        "-o",
        str(path / "svr.mill"),
        "--kind",
        "svr",
        "--features",
        "unigram,bigram",
    )
    return path


def test_a_model_is_trained_and_scores_reviews(folder: Path) -> None:
    said = run("train", str(folder / "reviews.csv"), "-o", str(folder / "m.mill"))
    assert said.startswith("150 reviews on a scale from 1 to 5, ")
    assert said.endswith("; ordinal\n")
    rows = rows_of(run("score", str(folder / "m.mill"), str(folder / "test.jsonl")))
    assert len(rows) == 60
    assert sum(float(rows[0][f"p({s})"]) for s in range(1, 6)) == pytest.approx(1, abs=0.01)
    assert {row["stars"] for row in rows} <= {"1", "2", "3", "4", "5"}
    first = json.loads(
        run("score", str(folder / "m.mill"), "-", "--json", text="Superb, perfect!\nAwful.\n").split("\n")[0]
    )
    assert first["score"] > 3
    assert first["features"] == 2


def test_all_formats_give_the_same_figures(folder: Path) -> None:
    model = str(folder / "svr.mill")
    figures = [
        json.loads(run("evaluate", model, str(folder / name), "--json")) for name in ("test.jsonl", "test.review")
    ]
    assert figures[0] == figures[1]
    assert figures[0]["model"]["mse"] < figures[0]["constant"]["mse"] == 2.0
    assert sum(map(sum, figures[0]["model"]["confusion"])) == 60


def test_an_evaluation_is_drawn(folder: Path) -> None:
    picture, page = folder / "density.svg", folder / "page.html"
    pages = ["--plot", str(picture), "--report", str(page)]
    output = run("evaluate", str(folder / "svr.mill"), str(folder / "test.jsonl"), *pages)
    rows = {row["figure"]: row for row in rows_of(output.split("gold \\")[0])}
    assert rows["mse"]["constant"] == "2.0000"
    assert output.splitlines()[-1].split("\t")[0::6] == ["all", "60"]
    assert "<svg" in picture.read_text()
    assert "constant" in page.read_text()


def test_phrases_are_listed_for_a_model_and_for_reviews(folder: Path) -> None:
    rows = rows_of(run("explain", str(folder / "svr.mill"), "-k", "3", "--family", "bigram", "--at-least", "2"))
    assert len(rows) == 6
    assert all(row["family"] == "bigram" and int(row["reviews"]) >= 2 for row in rows)
    assert float(rows[0]["polarity"]) > 0 > float(rows[3]["polarity"])
    parts = rows_of(run("explain", str(folder / "svr.mill"), "-", "-k", "2", text="A superb mill.\n"))
    assert [row["family"] for row in parts] == ["unigram", "unigram"]


def test_intervals_and_standard_errors_are_printed(folder: Path) -> None:
    data, model = str(folder / "reviews.csv"), str(folder / "sure.mill")
    said = run("train", data, "--kind", "svr", "--kernel", "linear", "--coverage", "0.8", "-o", model)
    assert "80 % within" in said
    for row in rows_of(run("score", model, str(folder / "test.jsonl"))):
        assert 1 <= float(row["low"]) <= float(row["score"]) <= float(row["high"]) <= 5
    rows = rows_of(run("explain", model, "-k", "2", "--errors-from", data))
    assert all(float(row["error"]) > 0 for row in rows)


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("stars,text\n5,good\n,bad\n", [], "bad.csv:3: the review has no score: its field 'stars' is empty"),
        ("stars,text\n5,good\n9,bad\n", ["--scale", "1-5"], "bad.csv:3: the score 9 is outside of the scale, 1 to 5"),
        ("stars,text\n5,good\n1,\n", [], "bad.csv:3: the review is empty"),
        ("stars,text\n5,good\n5,bad\n", [], "all 2 reviews have the score 5"),
        ("mark,text\n5,good\n1,bad\n", [], "name the right one with --score-field"),
        ("stars,text\n5,good\n1,bad\n", ["--kind", "svm"], "kind must be one of"),
        ("stars,text\n5,good\n1,bad\n", ["--features", "words"], "families must be one of"),
    ],
)
def test_bad_input_is_one_line(
    content: str, arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.csv").write_text(content)
    with pytest.raises(SystemExit) as left:
        main(["polarity", "train", str(tmp_path / "bad.csv"), "-o", str(tmp_path / "m.mill"), *arguments])
    error: Any = capsys.readouterr().err
    assert left.value.code == 1
    assert message in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "m.mill").exists()


STARS = "<review>\n<rating>\n{}\n</rating>\n<review_text>\n{}\n</review_text>\n</review>\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<review>\n<review_text>\nbad book\n</review_text>\n</review>\n", "bad.review:9: the review has no score"),
        (STARS.format("", "bad"), "bad.review:9: the review has no score: its field 'rating' is empty"),
        (STARS.format("five", "bad"), "bad.review:9: the score 'five' is no number"),
        (STARS.format("1", ""), "bad.review:9: the review is empty"),
        (STARS.format("1", "bad").split("</review_text>")[0], "bad.review:9: the file ends within this review"),
        ("<review>\n<rating>\n1\n</rating>\n</review>\n", "bad.review:9: no field 'text'"),
    ],
)
def test_star_reviews_without_stars_or_text_are_named_by_line(
    content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.review").write_text(STARS.format("5.0", "good book") + content)
    with pytest.raises(SystemExit) as left:
        main(["polarity", "train", str(tmp_path / "bad.review"), "-o", str(tmp_path / "m.mill")])
    (line,) = capsys.readouterr().err.splitlines()
    assert left.value.code == 1
    assert message in line


def test_mixed_scales_are_refused_in_one_file_and_in_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stars, points = tmp_path / "stars.csv", tmp_path / "points.csv"
    stars.write_text("stars,text\n5,good\n1,bad\n4,fine\n90,good\n")
    points.write_text("stars,text\n90,good\n10,bad\n")
    output = str(tmp_path / "m.mill")
    with pytest.raises(SystemExit):
        main(["polarity", "train", str(stars), "-o", output])
    assert "stars.csv:5: the score 90 is far above most others, which go up to 5" in capsys.readouterr().err
    assert "scale from 1 to 90" in run("train", str(stars), "--scale", "1-90", "-o", output)
    stars.write_text("stars,text\n5,good\n1,bad\n")
    with pytest.raises(SystemExit):
        main(["polarity", "train", str(stars), str(points), "-o", output])
    assert "points.csv: its scores go up to 90, those of " in capsys.readouterr().err
    assert "scale from 10 to 90" in run("train", str(points), "-o", output)


def test_empty_and_foreign_reviews_are_scored_by_what_is_known(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "empty.csv").write_text('text\n""\nsuperb\n')
    rows = rows_of(run("score", str(folder / "svr.mill"), str(folder / "empty.csv")))
    assert [row["features"] for row in rows] == ["0", "1"]
    nothing = float(rows[0]["score"])
    assert 1 < nothing < float(rows[1]["score"])
    (folder / "foreign.txt").write_text("dieses Buch ist leider ganz und gar nicht gut eher schlecht\n" * 5)
    with pytest.raises(SystemExit) as left:
        main(["polarity", "score", str(folder / "svr.mill"), str(folder / "foreign.txt"), "--lines"])
    assert left.value.code == 0
    printed = capsys.readouterr()
    assert "of the features of these reviews were never seen in training" in printed.err
    assert [row["score"] for row in rows_of(printed.out)] == [f"{nothing:.3f}"] * 5


def test_scores_outside_of_the_model_s_scale_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "points.csv").write_text("stars,text\n5,good\n80,fine\n")
    with pytest.raises(SystemExit):
        main(["polarity", "evaluate", str(folder / "svr.mill"), str(folder / "points.csv")])
    assert "points.csv:3: the score 80 is outside of the scale, 1 to 5" in capsys.readouterr().err
