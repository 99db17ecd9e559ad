"""`textmill similar`: from files to an index to answers, and what is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from textmill.cli.app import main
from textmill.corpus import sample_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a run in this process."""
    with pytest.raises(SystemExit) as left:
        main(["-q", *arguments])
    captured = capsys.readouterr()
    assert isinstance(left.value.code, int)
    return left.value.code, captured.out, captured.err


def test_index_query_add_remove_and_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = str(tmp_path / "index.mill")
    assert said(capsys, "similar", "index", str(sample_path()), "-o", index)[1].startswith("308 documents, vectors of")
    code, out, _ = said(capsys, "similar", "query", index, "--text", "tides of the moon", "-k", "3")
    assert code == 0
    header, first, *others = out.splitlines()
    assert header == "score\tid\ttitle"
    assert first.split("\t")[1:] == ["astronomy-01", "Why the Moon shows one face"]
    assert len(others) == 2
    found = json.loads(said(capsys, "similar", "query", index, "--id", "wildlife-20", "-k", "1", "--json")[1])
    assert found["found"][0]["id"] == "wildlife-20-copy"
    assert found["found"][0]["title"]
    pairs = said(capsys, "similar", "pairs", index, "--threshold", "0.95")[1]
    assert pairs.splitlines()[0] == "score\tleft\tright"
    assert pairs.splitlines()[1].split("\t")[1:] == ["wildlife-20", "wildlife-20-copy"]
    scores = [
        row.split("\t")[0] for row in said(capsys, "similar", "pairs", index, "--threshold", "0.5")[1].splitlines()
    ]
    assert len(scores) > 5
    assert scores[1:] == sorted(scores[1:], reverse=True)
    assert json.loads(said(capsys, "similar", "pairs", index, "--threshold", "0.95", "--json")[1])["score"] > 0.95
    (tmp_path / "new.jsonl").write_text('{"id": "n1", "text": "a comet, a comet"}\n', encoding="utf-8")
    assert said(capsys, "similar", "add", index, str(tmp_path / "new.jsonl"))[1] == "1 document added, 309 in all\n"
    _, out, _ = said(capsys, "similar", "query", index, "--file", str(tmp_path / "new.jsonl"), "-k", "1")
    assert out == "query\tscore\tid\ttitle\nn1\t1.0000\tn1\ta comet, a comet\n"
    assert said(capsys, "similar", "remove", index, "n1")[1] == "1 document removed, 308 in all\n"
    _, out, err = said(capsys, "similar", "query", index, "--text", "qqqq")
    assert (out, err) == ("score\tid\ttitle\n", "query: nothing found: no word of the query is known to the model\n")


def test_wrong_requests_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = tmp_path / "index.mill"
    said(capsys, "similar", "index", str(sample_path()), "-o", str(index), "--method", "inverted")
    (tmp_path / "cut.mill").write_bytes(index.read_bytes()[:-9])
    for arguments, message in [
        (["query", str(index)], "exactly one of --text, --id and --file"),
        (["query", str(index), "--text", "a", "--id", "b"], "exactly one of --text, --id and --file"),
        (["query", str(index), "--id", "nobody"], "the index has no document with the id 'nobody'"),
        (["query", str(index), str(index), "--id", "astronomy-01"], "--id searches one index"),
        (["query", str(tmp_path / "cut.mill"), "--text", "a"], "cut.mill: ends after"),
        (["query", str(sample_path()), "--text", "a"], "not a textmill model"),
        (["index", str(sample_path()), "-o", str(index), "--method", "va"], "cannot index sparse vectors"),
    ]:
        code, _, err = said(capsys, "similar", *arguments)
        assert code == 1
        assert message in err
        assert err.count("\n") == 1
