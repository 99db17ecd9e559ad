from __future__ import annotations

import json
from pathlib import Path

import pytest

from textmill.cli.app import main
from textmill.tasks.coherence import KINDS, sample_pages


def run(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> str:
    with pytest.raises(SystemExit) as left:
        main(["-q", *map(str, arguments)])
    output = capsys.readouterr()
    assert left.value.code == code, output.err
    return output.err if code else output.out


def write_pages(path: Path, count: int, seed: int) -> Path:
    lines = (json.dumps({"id": page.id, "text": page.text}) for page in sample_pages(count, random_state=seed))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("coherence")
    write_pages(folder / "good.jsonl", 250, 0)
    write_pages(folder / "new.jsonl", 60, 1)
    with pytest.raises(SystemExit) as left:
        main(
            [
                "-q",
                "coherence",
                "train",
                f"{folder}/good.jsonl",
                "-o",
                f"{folder}/d.mill",
                "--topics",
                "12",
                "--max-iter",
                "60",
            ]
        )
    assert left.value.code == 0
    return folder


def test_train_says_how_well_forgeries_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = run(
        capsys, "coherence", "train", folder / "good.jsonl", "-o", folder / "e.mill", "--topics", 12, "--max-iter", 60
    )
    assert "12 topics; equal error, held out: sentence-salad 0.0 %" in said
    assert (folder / "e.mill").read_bytes() == (folder / "d.mill").read_bytes()


def test_scores_are_lines_or_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, "coherence", "score", folder / "d.mill", folder / "new.jsonl").splitlines()
    assert lines.pop(0) == "verdict\tprobability\tscore\tthreshold\tentropy\tid"
    assert len(lines) == 60
    assert sum(line.startswith("coherent\t") for line in lines) > 50
    (folder / "odd.jsonl").write_text(
        '{"id": "a", "text": ""}\n{"id": "b", "text": "telescope star"}\n', encoding="utf-8"
    )
    output = run(capsys, "coherence", "score", folder / "d.mill", folder / "odd.jsonl", "--json")
    empty, short = map(json.loads, output.splitlines())
    assert (empty["id"], empty["empty"], empty["entropy"], empty["verdict"]) == ("a", True, None, "empty")
    assert (short["words"], short["empty"]) == (2, False)
    assert short["topics"][0]["words"]


@pytest.mark.parametrize("kind", KINDS)
def test_false_documents_are_made_and_caught(kind: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fake = folder / f"{kind}.jsonl"
    for path in (fake, folder / "again.jsonl"):
        arguments = ("--kind", kind, "-k", 30, "--length", 120, "--seed", 4, "-o", path)
        run(capsys, "coherence", "fake", folder / "new.jsonl", *arguments)
    assert fake.read_bytes() == (folder / "again.jsonl").read_bytes()
    records = [json.loads(line) for line in fake.read_text(encoding="utf-8").splitlines()]
    assert [record["id"] for record in records] == [f"{kind}-{i}" for i in range(30)]
    said = run(
        capsys, "coherence", "evaluate", folder / "d.mill", "--true", folder / "new.jsonl", "--false", fake, "--json"
    )
    assert json.loads(said)["entropy"] < 0.1


def test_evaluation_is_drawn(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "coherence", "fake", folder / "new.jsonl", "-k", 20, "--length", 15, "-o", folder / "short.jsonl")
    sides = ("--true", folder / "new.jsonl", "--false", folder / "short.jsonl")
    pictures = ("--plot", folder / "roc.png", "--histogram", folder / "h.svg")
    said = run(capsys, "coherence", "evaluate", folder / "d.mill", *sides, *pictures)
    *lines, definitions = said.splitlines()
    header, row = (line.split("\t") for line in lines)
    assert "caught and alarms are at the detector's own thresholds" in definitions
    assert header == ["kind", "score", "entropy", "llpw", "caught", "alarms", "empty"]
    assert row[0] == "short.jsonl"
    assert all(0 <= float(cell) <= 1 for cell in row[1:6])
    assert (folder / "roc.png").read_bytes()[1:4] == b"PNG"
    assert (folder / "h.svg").stat().st_size > 1000


def test_offending_sentences_are_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = next(page for page in sample_pages(60, random_state=1) if page.fields["subject"] == "railway")
    strange = "The stellar telescope observed the galaxy near the comet."
    (folder / "mixed.txt").write_text(page.text + " " + strange, encoding="utf-8")
    said = run(capsys, "coherence", "score", folder / "d.mill", folder / "mixed.txt", "--explain")
    assert said.rstrip().endswith(strange)


def test_faults_are_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "few.jsonl").write_text('{"text": "one page"}\n', encoding="utf-8")
    said = run(capsys, "coherence", "train", folder / "few.jsonl", "-o", folder / "x.mill", code=1)
    assert said.count("\n") == 1
    assert "calibrate" in said
    said = run(capsys, "coherence", "fake", folder / "new.jsonl", "--kind", "salad", code=1)
    assert "kind must be one of" in said
    said = run(capsys, "coherence", "score", folder / "new.jsonl", folder / "new.jsonl", code=1)
    assert "textmill" in said


def test_language_models_are_trained_scored_and_sampled(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "s.txt").write_text("the mill turns\nthe mill stands\na mill turns\n", encoding="utf-8")
    assert "3 sentences" in run(capsys, "lm", "train", folder / "s.txt", "--order", 2, "-o", folder / "lm.mill")
    run(capsys, "lm", "train", folder / "s.txt", "--order", 2, "-o", folder / "lm.arpa")
    mill, arpa = (run(capsys, "lm", "score", folder / name, folder / "s.txt") for name in ("lm.mill", "lm.arpa"))
    assert mill == arpa
    header, *_, last = mill.splitlines()
    assert header == "log10\twords\tunknown"
    assert len(mill.splitlines()) == 5
    assert last.startswith("# perplexity ")
    assert (
        json.loads(run(capsys, "lm", "score", folder / "lm.mill", folder / "s.txt", "--json").splitlines()[0])["words"]
        == 4
    )
    drawn = run(capsys, "lm", "sample", folder / "lm.mill", "-k", 4, "--seed", 1)
    assert drawn == run(capsys, "lm", "sample", folder / "lm.arpa", "-k", 4, "--seed", 1)
    assert len(drawn.splitlines()) == 4
