"""`textmill parse`: from KNP files to a parser, its heads, its figures and its weights; what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import said

from textmill.corpus import read_knp, write_knp
from textmill.model import load
from textmill.tasks.dependency import DependencyParser, evaluate, sample_sentences


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with sentences to train, tune and test with."""
    path = tmp_path_factory.mktemp("parse")
    for part, seed, size in (("train", 0, 200), ("dev", 1, 40), ("test", 2, 60)):
        write_knp(sample_sentences(size, random_state=seed), path / f"{part}.knp")
    DependencyParser(l1=1.0).fit(read_knp(path / "train.knp")).save(path / "parser.mill")
    return path


def test_a_parser_is_trained_applied_evaluated_and_explained(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, out = str(tmp_path / "parser.mill"), str(tmp_path / "parsed.knp")
    code, text, _ = said(capsys, "parse", "train", str(folder / "train.knp"), "--l1", "1", "-o", model)
    assert code == 0
    assert text.startswith(f"{model}: 200 sentences, ")
    parser = load(model, expect=DependencyParser)
    test = list(read_knp(folder / "test.knp"))
    assert said(capsys, "parse", "apply", model, str(folder / "test.knp"), "-o", out)[0] == 0
    assert [sentence.heads for sentence in read_knp(out)] == parser.predict(test)
    scores = evaluate(test, parser.predict(test))
    lines = said(capsys, "parse", "evaluate", model, str(folder / "test.knp"), "--intervals")[1].splitlines()
    accuracy = f"{scores.dependencies.accuracy:.4f}"
    assert lines[0] == f"dependency accuracy {accuracy} of {scores.dependencies.items} bunsetsus"
    assert lines[1].endswith(f"of {scores.sentences.items} sentences")
    assert lines[3] == "distance\tcorrect\ttotal\taccuracy"
    lines = said(capsys, "parse", "explain", model, "-k", "3")[1].splitlines()
    assert lines[0] == "label\tfeature\tweight"
    assert lines[1].split("\t")[1] == parser.strongest(1).features[0]
    assert len(lines) == 4


def test_the_penalty_is_chosen_on_dev_and_documents_are_read_by_id(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(tmp_path / "parser.mill")
    train, dev = str(folder / "train.knp"), str(folder / "dev.knp")
    facts = json.loads(said(capsys, "parse", "train", train, "--dev", dev, "-o", model, "--json")[1])
    assert (facts["sentences"], facts["skipped"]) == (200, 0)
    assert facts["accuracy_by_l1"][f"{facts['l1']:g}"] == max(facts["accuracy_by_l1"].values())
    ids = tmp_path / "train.id"
    ids.write_text("\n".join(f"sample-{number}" for number in range(1, 51)), encoding="utf-8")
    others = tmp_path / "dev.id"
    others.write_text("\n".join(f"sample-{number}" for number in range(51, 101)), encoding="utf-8")
    code, out, _ = said(
        capsys, "parse", "train", train, "--documents", str(ids), "--dev-documents", str(others), "-o", model, "--json"
    )  # fmt: skip
    assert code == 0
    assert json.loads(out)["sentences"] == 50
    figures = json.loads(said(capsys, "parse", "evaluate", model, train, "--documents", str(others), "--json")[1])
    assert figures["sentences"] == 50
    parser = load(model, expect=DependencyParser)
    assert figures["dependency_accuracy"] == parser.score(read_knp(train, documents=others.read_text().split()))


def test_errors_are_shown_and_put_on_a_page(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weak, page = str(tmp_path / "weak.mill"), tmp_path / "errors.html"
    train, test = str(folder / "train.knp"), str(folder / "test.knp")
    assert said(capsys, "parse", "train", train, "--l1", "200", "--degree", "1", "-o", weak)[0] == 0
    _, out, _ = said(capsys, "parse", "evaluate", weak, test, "--show-errors", "-k", "2", "--report", str(page))
    assert "place\tbunsetsu\tright\tpredicted\tsentence" in out
    assert "Wrong heads" in page.read_text(encoding="utf-8")
    facts = json.loads(
        said(capsys, "parse", "evaluate", weak, test, "--show-errors", "-k", "2", "--intervals", "--json")[1]
    )
    assert len(facts["errors"]) == 2
    assert facts["interval"][0] <= facts["dependency_accuracy"] <= facts["interval"][1]


def test_words_of_conllu_are_learned_and_parsed(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = []
    for sentence in sample_sentences(80):
        firsts, rows = [], []
        for bunsetsu in sentence.bunsetsus:
            firsts.append(len(rows) + 1)
            rows += [(m, f"B{at}") for at, m in enumerate(bunsetsu.morphemes)]
        unit = -1
        for number, (m, place) in enumerate(rows, 1):
            unit += place == "B0"
            head = (firsts[sentence.heads[unit]] if sentence.heads[unit] >= 0 else 0) if place == "B0" else firsts[unit]
            mark = f"BunsetuBILabel={'B' if place == 'B0' else 'I'}"
            lines.append("\t".join([str(number), m.surface, m.lemma, m.pos, "_", "_", str(head), "dep", "_", mark]))
        lines.append("")
    words, model, out = tmp_path / "words.conllu", str(tmp_path / "m.mill"), tmp_path / "parsed.conllu"
    words.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert said(capsys, "parse", "train", str(words), "--l1", "1", "-o", model)[0] == 0
    figures = json.loads(said(capsys, "parse", "evaluate", model, str(words), "--json")[1])
    assert figures["sentences"] == 80
    assert said(capsys, "parse", "apply", model, str(words), "-o", str(out))[0] == 0
    columns = [line.split("\t") for line in out.read_text(encoding="utf-8").splitlines() if line]
    right = [line.split("\t") for line in lines if line]
    assert [row[:6] for row in columns] == [row[:6] for row in right]
    same = sum(row[6] == gold[6] for row, gold in zip(columns, right, strict=True))
    assert same / len(right) > 0.95
    ids = str(folder / "train.knp")
    assert said(capsys, "parse", "evaluate", model, str(words), "--documents", ids)[0] == 2
    assert said(capsys, "parse", "apply", model, str(words), str(folder / "test.knp"))[0] == 2
    assert said(capsys, "parse", "apply", model, str(words), "--format", "xml")[0] == 1


def test_samples_are_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert said(capsys, "parse", "sample", "-k", "3", "--seed", "5", "-o", str(tmp_path / "s.knp"))[0] == 0
    assert [s.heads for s in read_knp(tmp_path / "s.knp")] == [s.heads for s in sample_sentences(3, random_state=5)]


def test_bad_input_is_one_line_that_says_where(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, bad = str(folder / "parser.mill"), tmp_path / "bad.knp"
    bad.write_text("* -1D\n犬 いぬ 名詞\nEOS\n", encoding="utf-8")
    code, _, errors = said(capsys, "parse", "apply", model, str(bad))
    assert (code, errors.count("\n")) == (1, 1)
    assert f"{bad}:2: a morpheme needs 7 fields" in errors
    assert said(capsys, "parse", "apply", model, str(bad), "--errors", "skip")[:2] == (0, "")
    code, _, errors = said(capsys, "parse", "train", str(bad), "--errors", "skip", "-o", str(tmp_path / "m.mill"))
    assert (code, "can be learned from" in errors) == (1, True)
    code, _, errors = said(capsys, "parse", "evaluate", model, str(tmp_path / "missing.knp"))
    assert (code, "missing.knp" in errors) == (1, True)
    code, _, errors = said(capsys, "parse", "evaluate", model, str(bad), "--errors", "skip")
    assert (code, "no sentence" in errors) == (1, True)
    assert said(capsys, "parse", "explain", str(folder / "train.knp"))[0] == 1
