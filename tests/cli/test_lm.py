"""`textmill lm`: what is printed, and what the options change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import failure
from commands import lines as run

TEXT = "The Mill turns. The Mill stands still!\nIs the mill old?\n"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


def test_documents_are_split_into_sentences(capsys: pytest.CaptureFixture[str], text: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.mill"
    assert run(capsys, "lm", "train", text, "-o", model)[0].startswith("3 sentences, ")
    assert run(capsys, "lm", "train", text, "-o", model, "--split", "lines")[0].startswith("2 sentences, ")
    assert run(capsys, "lm", "train", text, "-o", model, "--tokenizer", "whitespace")[0].startswith("2 sentences, ")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], {"the", "mill", "turns", "stands", "still", "is", "old"}),
        (["--case", "keep"], {"The", "the", "Mill", "mill", "turns", "stands", "still", "Is", "old"}),
        (["--tokenizer", "punctuation"], {"the", "mill", "turns", ".", "stands", "still", "!", "is", "old", "?"}),
        (["--tokenizer", "whitespace", "--case", "keep"],
         {"The", "the", "Mill", "mill", "turns.", "stands", "still!", "Is", "old?"}),
    ],
)  # fmt: skip
def test_case_and_punctuation_are_kept_on_demand(
    capsys: pytest.CaptureFixture[str], text: Path, tmp_path: Path, options: list[str], words: set[str]
) -> None:
    model = tmp_path / "m.mill"
    run(capsys, "lm", "train", text, "-o", model, *options)
    rows = run(capsys, "lm", "ngrams", model, "-k", 100, "--json")
    assert {json.loads(row)["words"][0] for row in rows} - {"<s>", "</s>", "<unk>"} == words
    *_, last = run(capsys, "lm", "score", model, text, *(["--split", "lines"] if "whitespace" in options else []))
    assert last.startswith("# perplexity ")
    assert " inf" not in last


def test_next_words_and_ngrams(capsys: pytest.CaptureFixture[str], text: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.mill"
    text.write_text(TEXT * 4)  # seen often enough that smoothing leaves them on top
    run(capsys, "lm", "train", text, "-o", model, "--order", "2")
    header, *rows = [row.split("\t") for row in run(capsys, "lm", "next", model, "mill", "-k", 3)]
    assert header == ["probability", "word"]
    assert {word for _, word in rows} == {"turns", "stands", "old"}
    header, row = (row.split("\t") for row in run(capsys, "lm", "ngrams", model, "the", "-k", 1))
    assert header == ["count", "probability", "words"]
    assert (row[0], row[2]) == ("12", "the mill")


def test_the_perplexity_is_on_standard_output_also_as_json(
    capsys: pytest.CaptureFixture[str], text: Path, tmp_path: Path
) -> None:
    model = tmp_path / "m.mill"
    run(capsys, "lm", "train", text, "-o", model)
    *rows, last = map(json.loads, run(capsys, "lm", "score", model, text, "--json"))
    assert len(rows) == 3
    assert last["perplexity"] == pytest.approx(10 ** (-sum(r["log10"] for r in rows) / sum(r["words"] for r in rows)))


def test_an_arpa_file_takes_a_tokenizer_and_a_model_has_its_own(
    capsys: pytest.CaptureFixture[str], text: Path, tmp_path: Path
) -> None:
    for name in ("m.mill", "m.arpa"):
        run(capsys, "lm", "train", text, "-o", tmp_path / name, "--case", "keep")
    assert run(capsys, "lm", "score", tmp_path / "m.arpa", text, "--case", "keep") == run(
        capsys, "lm", "score", tmp_path / "m.mill", text
    )
    other = failure(capsys, "lm", "score", tmp_path / "m.mill", text, "--tokenizer", "whitespace")
    assert "has another tokenizer" in other
    assert "whitespace" in failure(capsys, "lm", "train", text, "-o", tmp_path / "x.mill", "--tokenizer", "spaces")


def test_every_way_of_training_is_an_option(capsys: pytest.CaptureFixture[str], text: Path, tmp_path: Path) -> None:
    from textmill import load
    from textmill.lm import SMOOTHINGS

    text.write_text(TEXT * 5)
    for smoothing in SMOOTHINGS:
        run(capsys, "lm", "train", text, "-o", tmp_path / "m.mill", "--smoothing", smoothing, "--memory", "1MB")
        assert load(tmp_path / "m.mill").smoothing == smoothing
    run(capsys, "lm", "train", text, "-o", tmp_path / "cut.mill", "--min-counts", "1,1,6")
    assert len(load(tmp_path / "cut.mill").last_words_) < len(load(tmp_path / "m.mill").last_words_)
    run(capsys, "lm", "train", text, "-o", tmp_path / "small.mill", "--prune", "0.7", "--quantize", "4")
    small = load(tmp_path / "small.mill")
    assert small.books_.shape == (2, 16)
    assert len(small.last_words_) < len(load(tmp_path / "m.mill").last_words_)
    assert "whole numbers" in failure(capsys, "lm", "train", text, "-o", tmp_path / "x.mill", "--min-counts", "a")
    assert "smoothing must be" in failure(capsys, "lm", "train", text, "-o", tmp_path / "x.mill", "--smoothing", "x")


def test_models_are_mixed_pruned_and_converted(capsys: pytest.CaptureFixture[str], text: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("The wheel turns. A wheel is round.")
    run(capsys, "lm", "train", text, "-o", tmp_path / "a.mill")
    run(capsys, "lm", "train", other, "-o", tmp_path / "b.arpa")
    rows = run(capsys, "lm", "mix", tmp_path / "a.mill", tmp_path / "b.arpa", "--dev", text, "-o", tmp_path / "ab.mill")
    assert rows[0].split("\t") == ["weight", "perplexity", "model"]
    assert float(rows[1].split("\t")[0]) > 0.5
    rows = run(capsys, "lm", "mix", tmp_path / "a.mill", tmp_path / "b.arpa", "--weight", 3, "--weight", 1)
    assert [row.split("\t")[0] for row in rows[1:]] == ["0.7500", "0.2500"]
    assert "either --dev" in failure(capsys, "lm", "mix", tmp_path / "a.mill", tmp_path / "b.arpa")
    line = run(capsys, "lm", "prune", tmp_path / "ab.mill", "--keep", 0.8, "-o", tmp_path / "small.arpa")[0]
    assert line.endswith(" n-grams")
    assert int(line.split()[0]) < int(line.split()[2])
    run(capsys, "lm", "convert", tmp_path / "small.arpa", "--quantize", 8, "-o", tmp_path / "small.mill")
    first, second = (run(capsys, "lm", "score", tmp_path / name, text)[-1] for name in ("small.arpa", "small.mill"))
    assert first.split(",")[0] == second.split(",")[0]


def test_perplexity_is_reported_as_srilm_does(capsys: pytest.CaptureFixture[str], text: Path, tmp_path: Path) -> None:
    run(capsys, "lm", "train", text, "-o", tmp_path / "m.mill")
    page = tmp_path / "page.html"
    lines = run(capsys, "lm", "perplexity", tmp_path / "m.mill", text, "--report", page, "--by-document")
    assert lines[0].split("\t") == ["ppl", "ppl1", "words", "unknown", "document"]
    assert lines[2] == "# 1 documents, 3 sentences, 11 words, 0 OOVs"
    assert page.read_text().startswith("<!DOCTYPE html>")
    result = json.loads(run(capsys, "lm", "perplexity", tmp_path / "m.mill", text, "--json")[0])
    assert result["words"] == 11
    assert sum(result["hits"]) == 14
    opened = json.loads(run(capsys, "lm", "perplexity", tmp_path / "m.mill", text, "--json", "--open-vocabulary")[0])
    assert opened["ppl"] == result["ppl"]  # nothing is unknown


def test_documents_are_scored_by_all_others(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from textmill.lm import NGramModel

    texts = ["the mill turns", "the mill stands", "a wheel turns"]
    path = tmp_path / "three.jsonl"
    path.write_text("".join(json.dumps({"text": t, "group": t[0]}) + "\n" for t in texts))
    command = ("lm", "leave-one-out", path, "--order", 2, "--smoothing", "witten-bell", "--json")
    rows = [json.loads(row) for row in run(capsys, *command)]
    model = NGramModel(order=2, smoothing="witten-bell")
    assert rows[0]["perplexity"] == pytest.approx(model.fit(texts[1:]).perplexity(texts[:1]))
    rows = [json.loads(row) for row in run(capsys, *command, "--group-field", "group")]
    assert rows[0]["perplexity"] == pytest.approx(model.fit(texts[2:]).perplexity(texts[:1]))
    assert "has no field 'x'" in failure(capsys, *command, "--group-field", "x")
    assert run(capsys, *command[:-1])[-1].startswith("# perplexity ")


def test_classes_are_learned_shown_saved_and_used(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, model = tmp_path / "text.txt", tmp_path / "c.mill"
    path.write_text("the mill turns\na mill stands\nthe wheel turns\na wheel stands\n" * 3)
    common = ("--tokenizer", "whitespace")
    header, *rows = run(capsys, "lm", "classes", path, *common, "--classes", 3, "-o", model)
    assert header == "class\tcount\tmembers"
    assert len(rows) == 3
    assert any({"mill", "wheel"} == set(row.split("\t")[2].split(", ")) for row in rows)
    tree = ("--classes", 4, "--method", "hierarchical", "-k", 1)
    coded = [json.loads(row) for row in run(capsys, "lm", "classes", path, *common, *tree, "--json")]
    assert len({row["code"] for row in coded}) == 4
    assert all(len(row["members"]) == 1 for row in coded)
    _, first, *_ = run(capsys, "lm", "classes", path, *common, "--model", model)
    numbers, chunks = first.split("\t")
    assert chunks == "the | mill | turns"
    assert len(numbers.split()) == 3
    assert "too few" in failure(capsys, "lm", "classes", path, *common, "--classes", 99)
