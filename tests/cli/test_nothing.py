"""A command that finds nothing says so on stderr, and what to try; one that finds something does not."""

import json

import pytest

from textmill.cli.app import main
from textmill.sequence import CRF
from textmill.tasks.entities import EntityRecognizer

SAME = "The mill turns the wheel and the wheel turns the stone. " * 12


@pytest.fixture
def said(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        with pytest.raises(SystemExit) as left:
            main([*map(str, arguments)])
        captured = capsys.readouterr()
        assert left.value.code == 0, captured.err
        return captured

    return call


def test_a_text_of_one_topic(said, tmp_path):
    (tmp_path / "a.txt").write_text(SAME)
    nothing = "no change of topic found in the text; pass --segments N, or --method probability"
    assert nothing in said("segment", "text", "a.txt").err
    assert "no change" not in said("segment", "text", "a.txt", "--segments", 3).err
    assert said("-q", "segment", "text", "a.txt").err == ""


def test_names_that_are_all_different(said, tmp_path):
    (tmp_path / "n.csv").write_text("name\nAnna Huber\nZoltan Kiss\nMary Smith\n")
    assert "pass a lower --threshold" in said("match", "dedupe", "n.csv", "-o", "p.tsv").err
    (tmp_path / "n.csv").write_text("name\nAnna Huber\nAnna Hubert\nMary Smith\n")
    assert "lower" not in said("match", "dedupe", "n.csv", "-o", "p.tsv", "--threshold", 0.5).err


def test_a_text_without_names(said, tmp_path):
    X, y = [["Ana", "vive", "en", "Lima"], ["ella", "vive"]] * 5, [["B-PER", "O", "O", "B-LOC"], ["O", "O"]] * 5
    EntityRecognizer().fit(X, y).save("e.mill")
    CRF(l1=0.1).fit(X, y).save("t.mill")
    for text, there in (("ella vive", False), ("Ana vive en Lima", True)):
        (tmp_path / "t.txt").write_text(text)
        (tmp_path / "r.jsonl").write_text(json.dumps({"text": text}) + "\n")
        for command in (
            ("entities", "label", "e.mill", "t.txt", "--text"),
            ("entities", "label", "e.mill", "r.jsonl"),
            ("tag", "label", "t.mill", "--text", "t.txt"),
            ("tag", "label", "t.mill", "r.jsonl"),
        ):
            err = said(*command).err
            assert ("was found; is the text in the language" in err) != there, (command, err)


def test_a_corrector_that_changes_nothing(said, tmp_path):
    (tmp_path / "c.txt").write_text(SAME)
    said("correct", "train", "c.txt", "-o", "c.mill")
    (tmp_path / "t.txt").write_text("The mill turns\n")
    assert "no word was changed" in said("correct", "apply", "c.mill", "t.txt").err


def test_a_table_without_rows(said, tmp_path):
    lines = [json.dumps({"id": str(i), "text": f"word{i} thing{i} other{i}"}) for i in range(4)]
    (tmp_path / "d.jsonl").write_text("\n".join(lines))
    said("similar", "index", "d.jsonl", "-o", "d.mill")
    for form in ((), ("--json",)):
        printed = said("similar", "pairs", "d.mill", "--threshold", 0.99, *form)
        assert "no two documents are that similar" in printed.err
        assert printed.out == ("" if form else "score\tleft\tright\n")


def test_a_figure_without_cases_is_not_a_hundred_percent(said, tmp_path):
    (tmp_path / "c.txt").write_text(SAME)
    assert said("correct", "train", "c.txt", "-o", "c.mill").out.endswith("no rare word to leave alone\n")
