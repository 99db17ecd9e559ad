"""`textmill fluency`: from documents to judged sentences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import failure
from commands import lines as run

from textmill.cli.app import main
from textmill.tasks.fluency import sample_documents

RIGHT = "in the morning the old miller near the river takes the sack and wants breakfast ."
WRONG = "in the morning the old miller near the river takes the anvil and wants supper ."


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "village.jsonl"
    with path.open("w") as out:
        for document in sample_documents(120):
            text = "\n".join(" ".join(words) for words in document.sentences)
            out.write(json.dumps({"id": document.id, "text": text}) + "\n")
    return path


def test_split_train_score_evaluate_explain_and_ask(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path
) -> None:
    parts, judge = tmp_path / "parts", tmp_path / "judge.mill"
    header, *rows = run(capsys, "fluency", "split", corpus, "-o", parts, "--tokenizer", "whitespace", "--case", "keep")
    assert header == "part\tdocuments\tsentences"
    assert sum(int(row.split("\t")[2]) for row in rows) == 2400
    first, second = run(capsys, "fluency", "train", parts, "-o", judge, "--features", "word:1", "--degree", 3)
    assert first.startswith("sentences: vocabulary 360, lm 1200")
    assert second.startswith("accuracy on development sentences")

    text = tmp_path / "sentences.txt"
    text.write_text(f"{RIGHT}\n{WRONG}\n")
    header, *rows = run(capsys, "fluency", "score", judge, text)
    assert header.split("\t") == ["right", "margin", "probability", "log10", "words", "unknown", "sentence"]
    assert [row.split("\t")[0] for row in rows] == ["yes", "no"]
    scored = [json.loads(row) for row in run(capsys, "fluency", "score", judge, text, "--json", "--threshold", -99)]
    assert [row["right"] for row in scored] == [True, True]
    one, two = (run(capsys, "fluency", "score", judge, text, "--jobs", jobs) for jobs in (1, 2))
    assert one == two == [header, *rows]

    test = parts / "test.jsonl"
    figures = json.loads(run(capsys, "fluency", "evaluate", judge, test, "--json", "--matched")[0])
    assert figures["accuracy"] > 0.85
    assert next(leak["name"] for leak in figures["leaks"]) == "length"
    again = run(capsys, "fluency", "evaluate", judge, parts, "--json", "--matched", "--jobs", 1)[0]
    assert json.loads(again) == figures
    raw = tmp_path / "raw.txt"
    raw.write_text(f"{RIGHT.replace(' .', '.').capitalize()} {RIGHT.replace(' .', '.')}\n" * 30)
    known = json.loads(run(capsys, "fluency", "evaluate", judge, raw, "--json")[0])
    unknown = next(leak for leak in known["leaks"] if leak["name"] == "unknown words")
    assert unknown["positive_mean"] < 0.05  # only the word that begins every second sentence
    page, plot, curve = tmp_path / "page.html", tmp_path / "margins.svg", tmp_path / "pr.svg"
    lines = run(capsys, "fluency", "evaluate", judge, test, "--report", page, "--plot", plot, "--precision", curve)
    assert lines[1].startswith("accuracy\t0.")
    assert any(line.startswith("LM score\t") for line in lines)
    assert all(path.stat().st_size > 1000 for path in (page, plot, curve))

    explained = run(capsys, "fluency", "explain", judge, text, "-k", 3, "--report", page)
    assert explained[0].startswith("# margin +")
    assert sum(line.startswith("# margin") for line in explained) == 2
    text.write_text(f"\r\n{RIGHT}\r\n\r\n{WRONG}\r\n")  # blank lines are no sentences
    record = json.loads(run(capsys, "fluency", "explain", judge, text, "--json")[1])
    shares = sum(word["share"] for word in record["words"])
    assert shares + record["start"] + record["end"] + record["rest"] == pytest.approx(record["margin"])

    negatives = tmp_path / "wrong.txt"
    negatives.write_text(f"{WRONG}\n" * 3)
    figures = json.loads(run(capsys, "fluency", "evaluate", judge, test, "--negatives", negatives, "--json")[0])
    assert figures["precision"] == 1.0


def test_documents_are_split_while_training(capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path) -> None:
    judge = tmp_path / "judge.mill"
    lines = run(capsys, "fluency", "train", corpus, "-o", judge, "--features", "word:1", "--kernel", "linear")
    assert "test" not in lines[0]
    assert "--shares must be five" in failure(capsys, "fluency", "split", corpus, "-o", tmp_path / "x", "--shares", "1")
    assert "class:2" in failure(capsys, "fluency", "train", corpus, "-o", judge, "--features", "letters:2")


def test_too_little_text_and_other_languages_are_told(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path
) -> None:
    judge, text = tmp_path / "judge.mill", tmp_path / "one.txt"
    text.write_text(f"{RIGHT}\n")
    said = failure(capsys, "fluency", "train", text, "-o", judge)
    assert "1 different document with sentences of 5 to 200 words cannot fill 4 parts" in said
    options = ["--features", "word:1", "--kernel", "linear"]
    assert run(capsys, "fluency", "train", corpus, "-o", judge, *options)[1].endswith(" %")
    few = tmp_path / "few.jsonl"
    few.write_text("".join(corpus.read_text().splitlines(keepends=True)[:20]))
    assert run(capsys, "fluency", "train", few, "-o", judge, *options)[1].endswith(" %; 20 sentences cannot tell much")
    text.write_text("")
    for verb in ("score", "explain"):
        said = failure(capsys, "fluency", verb, judge, text)
        assert said == f"textmill: {text}: there are no sentences; pass at least one\n"
    text.write_text("Das Mehl des Müllers ist sehr fein und der Bach fließt ruhig an der Mühle vorbei. " * 3)
    with pytest.raises(SystemExit):
        main(["fluency", "score", str(judge), str(text)])
    assert "% of the words are unknown to this judge" in capsys.readouterr().err


def test_scripts_without_blanks_between_words(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    texts, judge = tmp_path / "ja.jsonl", tmp_path / "judge.mill"
    subjects, verbs = ("水車", "粉屋", "古い橋", "村の人"), ("回る", "見える", "立つ", "残る")
    sentences = [f"{a}は川のそばで{b}と{c}が{d}。" for a in subjects for b in verbs for c in subjects for d in verbs]
    texts.write_text("".join(json.dumps({"text": one}) + "\n" for one in sentences), encoding="utf-8")
    first, _ = run(capsys, "fluency", "train", texts, "-o", judge)
    assert first.startswith("sentences: vocabulary 4")
    message = failure(capsys, "fluency", "train", texts, "-o", judge, "--tokenizer", "whitespace")
    assert "no sentence has 5 to 200 words, the longest has 1" in message
