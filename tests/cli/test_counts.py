"""The command `textmill counts`, and naive Bayes in `textmill classify`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import output_of as run

from textmill.cli.app import main
from textmill.corpus import sample_articles

LINES = [
    "the mill grinds corn corn corn corn",
    "the sea is rough the sea",
    "the mill",
    "the old sea at night",
    "the sky",
]


def table(output: str) -> list[dict[str, str]]:
    head, *rows = output.strip("\n").split("\n")
    return [dict(zip(head.split("\t"), row.split("\t"), strict=True)) for row in rows]


def test_fit_prints_a_row_for_every_word(tmp_path: Path) -> None:
    texts = tmp_path / "a.txt"
    texts.write_text("\n".join(LINES) + "\n")
    rows = table(run("counts", "fit", texts, "--lines", "--kind", "zibinom"))
    assert {"the", "corn", "sea"} <= {row["term"] for row in rows}
    corn = next(row for row in rows if row["term"] == "corn")
    assert 0.5 < float(corn["z"]) < 1
    assert list(corn) == ["term", "p", "z", "se_p", "se_z", "log_likelihood", "notes"]
    out = tmp_path / "fits.tsv"
    assert "fits of negbinom" in run(
        "counts", "fit", texts, "--lines", "--kind", "negbinom", "-o", out, "--min-count", 2
    )
    assert {row["term"] for row in table(out.read_text())} == {"the", "mill", "corn", "sea"}
    lines = run("counts", "fit", texts, "--lines", "--kind", "poisson", "--per-text", "--json").splitlines()
    assert next(row for row in map(json.loads, lines) if row["term"] == "corn")["mu"] == pytest.approx(4 / 5)


def test_tables_and_labels(tmp_path: Path) -> None:
    counts = tmp_path / "a.csv"
    counts.write_text("kind,tokens,mill,sea\nx,100,3,0\ny,80,0,1\nx,90,0,0\ny,50,0,2\n")
    options = ("--table", "--exposure-field", "tokens", "--label-field", "kind")
    rows = table(run("counts", "fit", counts, "--kind", "binom", *options))
    assert [(row["label"], row["term"], row["p"]) for row in rows] == [
        ("x", "mill", "0.0157895"), ("x", "sea", "0"), ("y", "mill", "0"), ("y", "sea", "0.0230769"),
    ]  # fmt: skip


def test_bags_are_tables_of_counts(tmp_path: Path) -> None:
    bags = tmp_path / "a.svmlight"
    bags.write_text("1 1:2 3:1\n0 2:1\n")
    rows = table(run("counts", "fit", bags, "--kind", "binom"))
    assert [row["p"] for row in rows] == ["0.5", "0.25", "0.25"]


def test_compare_shows_bursts_models_pictures_and_a_page(tmp_path: Path) -> None:
    texts = tmp_path / "a.txt"
    texts.write_text("\n".join(LINES * 5) + "\n")
    picture, page = tmp_path / "a.svg", tmp_path / "a.html"
    rows = table(run("counts", "compare", texts, "--lines", "--min-count", 5, "-k", 3, "--plot", picture))
    assert rows[0]["term"] == "corn"
    assert rows[0]["best"] == "zibinom"
    assert picture.read_text().count("<svg") == 1
    rows = table(run("counts", "compare", texts, "--lines", "--words", "corn,the", "--plot", picture, "--report", page))
    assert [row["term"] for row in rows] == ["corn"] * 4 + ["the"] * 4
    assert rows[0]["delta_aic"] == "0.000"
    assert "corn" in page.read_text()
    rows = table(run("counts", "compare", texts, "--words", "the", "--passages", 4, "--kinds", "poisson,negbinom"))
    assert {row["kind"] for row in rows} == {"poisson", "negbinom"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("tokens,mill\n100,-3\n", "a.csv:2: 'mill' holds '-3', which is no count"),
        ("tokens,mill\n100,3\n10,2.5\n", "a.csv:3: 'mill' holds '2.5'"),
        ("tokens,mill\n100,\n", "a.csv:2: 'mill' holds ''"),
        ("tokens,mill\n100,1\n100,nan\n", "a.csv:3: 'mill' holds 'nan'"),
        ("tokens,mill\n100,1e400\n", "a.csv:2: 'mill' holds '1e400'"),
        ("tokens,mill\n100\n", "a.csv:2: 1 field, but the header names 2"),
        ("tokens,mill\n100,1\n-5,0\n", "a.csv:3: 'tokens' holds '-5'"),
        ("tokens,mill\n100,1\n0,1\n", "a.csv:3: count 1 of 'mill' is above the length 0"),
        ("tokens,mill\n2,3\n", "a.csv:2: count 3 of 'mill' is above the length 2"),
        ("words,mill\n2,3\n", "no field 'tokens'; the fields are words, mill"),
        ("tokens,mill\n", "no records"),
    ],
)
def test_bad_tables_are_errors_with_the_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, message: str
) -> None:
    counts = tmp_path / "a.csv"
    counts.write_text(content)
    with pytest.raises(SystemExit) as left:
        main(["counts", "fit", str(counts), "--table", "--exposure-field", "tokens"])
    assert left.value.code == 1
    error = capsys.readouterr().err
    assert message in error
    assert len(error.strip().splitlines()) == 1


def fails(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line that a command ends with."""
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    assert left.value.code == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    return line


def test_bags_of_anything_but_counts_are_errors_with_the_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "a.svmlight"
    model = tmp_path / "a.mill"
    for content, message in (
        ("1 1:2\n0 3:1.5\n", "a.svmlight: row 2 holds 1.5 in column 3, which is no count"),
        ("1 1:2\n0 3:-1\n", "no count|a count is negative"),
        ("1 1:2\n0 3:nan\n", "a.svmlight:2:8: a value is not finite|a count is not finite"),
    ):
        rows.write_text(content)
        bayes = fails(capsys, "classify", "train", rows, "--kind", "bayes", "-o", model)
        fit = fails(capsys, "counts", "fit", rows)
        for line in (bayes, fit):
            assert any(part in line for part in message.split("|")), line
            assert "row 2" in line or ":2:" in line
        assert not model.exists()


def test_texts_of_no_length_and_words_that_never_occur_have_defined_fits(tmp_path: Path) -> None:
    counts = tmp_path / "a.csv"
    counts.write_text("tokens,mill,sea\n0,0,0\n80,0,1\n90,0,2\n")
    for kind in ("zibinom", "zibetabinom", "zinegbinom", "bernoulli"):
        rows = table(run("counts", "fit", counts, "--table", "--exposure-field", "tokens", "--kind", kind))
        assert [row["term"] for row in rows] == ["mill", "sea"]
        assert rows[0]["notes"] == "absent"
        assert float(rows[0]["log_likelihood"]) == 0
        values = [float(value) for name, value in rows[1].items() if name in ("p", "mu", "z", "log_likelihood")]
        assert all(abs(value) < 1e9 for value in values)
    compared = table(run("counts", "compare", counts, "--table", "--exposure-field", "tokens", "--words", "mill"))
    assert {row["notes"] for row in compared} == {"absent"}
    without = table(run("counts", "fit", counts, "--table", "--exposure-field", "tokens"))
    counts.write_text("tokens,mill,sea\n80,0,1\n90,0,2\n")
    assert table(run("counts", "fit", counts, "--table", "--exposure-field", "tokens")) == without


def test_naive_bayes_takes_empty_texts_and_refuses_a_single_class(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, model = tmp_path / "a.jsonl", tmp_path / "a.mill"
    texts = [("", "a"), ("mill mill", "a"), ("sea", "b")]
    data.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in texts))
    for event in ("zibinom", "binom", "betabinom", "bernoulli", "multinomial"):
        run("classify", "train", data, "--kind", "bayes", "--event", event, "-o", model)
        rows = [json.loads(line) for line in run("classify", "predict", model, data, "--json").splitlines()]
        assert (rows[0]["label"], rows[0]["probability"]) == ("a", pytest.approx(2 / 3, abs=1e-4))  # the prior
        assert [row["label"] for row in rows[1:]] == ["a", "b"]
    one = tmp_path / "one.jsonl"
    one.write_text('{"text": "mill", "label": "a"}\n{"text": "sea", "label": "a"}\n')
    assert "only one class, ['a']" in fails(capsys, "classify", "train", one, "--kind", "bayes", "-o", model)
    one.write_text('{"text": "mill", "label": "a"}\n{"text": "sea"}\n')
    assert "one.jsonl:2: no label" in fails(capsys, "classify", "train", one, "--kind", "bayes", "-o", model)


def test_classify_trains_naive_bayes(tmp_path: Path) -> None:
    data, model = tmp_path / "a.jsonl", tmp_path / "a.mill"
    labels = ["mill", "sea", "mill", "sea", "sky"]
    data.write_text("".join(json.dumps({"text": t, "label": c}) + "\n" for t, c in zip(LINES, labels, strict=True)))
    for event in ("zibinom", "multinomial"):
        train = run("classify", "train", data, "--kind", "bayes", "--event", event, "-o", model, "--words", 9)
        assert f"9 words with a model of kind {event}" in train
        predicted = [json.loads(line) for line in run("classify", "predict", model, data, "--json").splitlines()]
        assert [row["label"] for row in predicted] == labels
        assert "accuracy 1.0000 of 5 rows" in run("classify", "evaluate", model, data)
        assert "corn" in run("classify", "explain", model, "-k", 2)


def test_accuracy_by_the_number_of_words_is_that_of_trained_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    articles = [{"text": article["text"], "label": article["subject"]} for article in sample_articles()]
    for name, part in (("train", articles[::2]), ("dev", articles[1::2])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(article) + "\n" for article in part))
    data, dev, model = tmp_path / "train.jsonl", tmp_path / "dev.jsonl", tmp_path / "a.mill"
    picture = tmp_path / "words.svg"
    options = ("--sizes", "50,400", "--events", "binom,zibinom", "--plot", picture)
    rows = table(run("classify", "vocabulary", data, "--dev", dev, *options))
    assert [(row["words"], row["event"]) for row in rows] == [
        ("50", "binom"), ("50", "zibinom"), ("400", "binom"), ("400", "zibinom"),
    ]  # fmt: skip
    assert [row["p_value"] == "-" for row in rows] == [True, False, True, False]
    assert 0 < float(rows[1]["p_value"]) <= 1
    assert float(rows[3]["accuracy"]) > float(rows[1]["accuracy"])
    run("classify", "train", data, "--kind", "bayes", "--event", "zibinom", "--words", 400, "-o", model)
    assert f"accuracy {rows[3]['accuracy']} of {len(articles[1::2])} rows" in run("classify", "evaluate", model, dev)
    assert "<svg" in picture.read_text()
    seeded = [run("classify", "vocabulary", data, "--sizes", 50, "--seed", seed) for seed in (1, 1, 2)]
    assert seeded[0] == seeded[1] != seeded[2]
    assert "--sizes must be whole numbers" in fails(capsys, "classify", "vocabulary", data, "--sizes", "many")
    words = table(run("classify", "words", model, "--label", "cooking", "-k", 3))
    assert [row["label"] for row in words] == ["cooking"] * 3
    assert list(words[0]) == ["label", "feature", "documents", "occurrences", "p", "z", "information"]
    information = [float(row["information"]) for row in words]
    assert information == sorted(information, reverse=True)
    assert len(table(run("classify", "words", model, "-k", 3))) == 3 * len({a["label"] for a in articles})
    assert "there is no class 'sailing'" in fails(capsys, "classify", "words", model, "--label", "sailing")


KICKS = {0: 144, 1: 91, 2: 32, 3: 11, 4: 2}  # deaths in 280 years of army corps: von Bortkiewicz (1898)


def kicks(path: Path) -> Path:
    rows = [count for count, times in KICKS.items() for _ in range(times)]
    lines = [f"{count},{75 + i % 20},{'GIVX'[i % 4]}{i % 5},1" for i, count in enumerate(rows)]
    path.write_text("\n".join(["y,year,corp,ones", *lines]) + "\n")
    return path


def test_lengths_of_texts_are_said_and_not_guessed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = kicks(tmp_path / "kicks.csv")
    alone = tmp_path / "y.csv"
    alone.write_text("".join(line.split(",")[0] + "\n" for line in data.read_text().splitlines()))
    for source, options in ((alone, ()), (data, ()), (data, ("--exposure-field", "ones"))):
        (row,) = table(run("counts", "compare", source, "--table", "--words", "y", "--kinds", "poisson", *options))
        assert (row["parameters"], row["log_likelihood"]) == ("mu 0.7", "-314.154")
        assert float(row["p_value"]) == pytest.approx(0.38, abs=0.005)
    assert {row["kind"] for row in table(run("counts", "compare", data, "--table", "--words", "y"))} == {
        "poisson", "negbinom", "zipoisson", "zinegbinom"
    }  # fmt: skip
    for command in (
        ("fit", data), ("compare", data), ("compare", alone), ("compare", data, "--words", "y", "--kinds", "binom")
    ):  # fmt: skip
        assert "needs the length of each text" in fails(capsys, "counts", *command, "--table")
    fitted = table(run("counts", "fit", data, "--table", "--kind", "poisson"))
    assert {row["term"]: row["mu"] for row in fitted} == {"y": "0.7", "year": "84.5", "ones": "1"}


def test_rows_that_count_all_words_have_lengths(tmp_path: Path) -> None:
    counts = tmp_path / "a.csv"
    counts.write_text("mill,sea\n3,1\n0,1\n0,5\n")
    rows = table(run("counts", "fit", counts, "--table", "--whole-texts", "--kind", "binom"))
    assert [(row["term"], row["p"]) for row in rows] == [("mill", "0.3"), ("sea", "0.7")]


def test_compare_prints_the_words_of_two_corpora(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b"
    first.write_text("\n".join(["the mill grinds"] * 8) + "\n")
    second.mkdir()
    for i in range(6):
        (second / f"{i}.txt").write_text("the sea, the sea\n")
    rows = table(run("compare", first, second, "-k", 2))
    assert [(row["corpus"], row["term"]) for row in rows] == [
        (str(first), "grinds"), (str(first), "mill"), (str(second), "sea"), (str(second), "the"),
    ]  # fmt: skip
    assert (rows[0]["first"], rows[0]["second"], rows[2]["second"], rows[2]["second_documents"]) == (
        "8",
        "0",
        "12",
        "6",
    )
    assert float(rows[0]["log_ratio"]) > 0 > float(rows[2]["log_ratio"])


def test_bursts_are_in_time_where_documents_have_dates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "news.jsonl"
    records = [
        {"text": "rain" + (" flood" if month in (4, 5) else ""), "date": f"2023-{month:02}-{day:02}"}
        for month in range(1, 13)
        for day in range(1, 11)
    ]
    data.write_text("".join(json.dumps(record) + "\n" for record in records))
    rows = table(run("bursts", data, "--by", "month"))
    assert [(row["term"], row["begin"], row["end"], row["documents"]) for row in rows] == [
        ("flood", "2023-04", "2023-05", "20")
    ]
    texts = tmp_path / "a.txt"
    texts.write_text("\n".join(LINES * 5) + "\n")
    assert table(run("bursts", texts, "--lines", "--min-count", 5, "-k", 1))[0]["term"] == "corn"
    assert "--by is for documents with dates" in fails(capsys, "bursts", texts, "--lines", "--by", "month")
