"""`textmill similar`: from files to an index to answers, and what is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from warnings import catch_warnings

import pytest

from textmill.cli.app import main
from textmill.corpus import sample_path
from textmill.tasks import Collection


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


def test_a_collection_from_files_to_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library, articles = str(tmp_path / "library"), str(sample_path())
    code, out, _ = said(capsys, "similar", "collect", f"news={articles}", "-o", library, "--topics", "20")
    assert (code, out) == (0, f"308 documents in {library}, compared by tfidf, lsa\n")
    code, out, _ = said(
        capsys, "similar", "query", library, "--text", "tides of the moon", "-k", "2", "--method", "tfidf"
    )
    assert out.splitlines()[1].split("\t")[1].startswith("astronomy-")
    (tmp_path / "new.jsonl").write_text('{"id": "new", "text": "the moon and the tides", "year": 1990}\n')
    assert (
        said(capsys, "similar", "upsert", library, str(tmp_path / "new.jsonl"))[1] == "1 document written, 309 in all\n"
    )
    asked = ["similar", "query", library, "--id", "astronomy-01", "--where", "year>=1990", "--json"]
    assert json.loads(said(capsys, *asked)[1])["found"][0]["id"] == "new"
    fused = ["similar", "query", library, "--id", "astronomy-01", "--method", "tfidf", "--method", "lsa", "-k", "3"]
    assert len(said(capsys, *fused)[1].splitlines()) == 4
    liked = ["similar", "query", library, "--like", "astronomy-01", "--unlike", "wildlife-20", "-k", "3"]
    assert "astronomy-01" not in said(capsys, *liked)[1]
    assert said(capsys, "similar", "remove", library, "new")[1] == "1 document removed, 308 in all\n"
    assert (
        said(capsys, "similar", "neighbors", library, "--method", "lsa", "-k", "5")[1]
        == "308 lists of 5 neighbors by lsa\n"
    )
    pairs = said(capsys, "similar", "duplicates", library, "--threshold", "0.8", "--report", str(tmp_path / "t.html"))[
        1
    ]
    assert "wildlife-20\twildlife-20-copy" in pairs
    assert said(capsys, "similar", "pairs", library, "--threshold", "0.8")[1] == pairs
    assert (tmp_path / "t.html").exists()
    assert "overlap\t" in said(capsys, "similar", "compare", library, "tfidf", "lsa")[1]
    assert "term\tearth" in said(capsys, "similar", "why", library, "astronomy-01", "astronomy-02", "-k", "40")[1]
    code, out, _ = said(capsys, "similar", "evaluate", library, "--field", "subject")
    assert [line.split("\t")[:2] for line in out.splitlines()[1:]] == [["tfidf", "class"], ["lsa", "class"]]
    code, out, _ = said(capsys, "similar", "heatmap", library, "--field", "subject", "--plot", str(tmp_path / "m.svg"))
    assert out.startswith("class\tnearest\n")
    assert "skewness\t" in said(capsys, "similar", "hubs", library)[1]
    assert said(capsys, "similar", "stats", library)[1].splitlines()[1].startswith("news\t308\t")
    assert "subject\t" in said(capsys, "similar", "stats", library, "--fields")[1]
    assert len(said(capsys, "similar", "stats", library, "--topics", "--method", "lsa")[1].splitlines()) == 21
    assert said(capsys, "similar", "export", library, "-o", str(tmp_path / "n.csv"), "--method", "lsa", "-k", "2")[
        1
    ].endswith("n.csv\n")
    tasks = str(tmp_path / "tasks.jsonl")
    assert said(capsys, "similar", "intrusion", library, "-o", tasks, "--method", "lsa")[1].startswith("20 tasks")
    model = str(tmp_path / "subjects.mill")
    train = ["similar", "classify", model, articles, "--train", "--field", "subject", "--features", "500"]
    assert "from 308 texts" in said(capsys, *train)[1] or "texts" in said(capsys, *train)[1]
    assert "astronomy" in said(capsys, "similar", "classify", model, articles, "-k", "1")[1]


def test_bags_are_collected_and_mistakes_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bags = tmp_path / "tiny.mm"
    bags.write_text("%%MatrixMarket matrix coordinate integer general\n3 4 4\n1 1 2\n1 3 1\n2 2 1\n3 1 1\n")
    library = str(tmp_path / "bags")
    assert said(capsys, "similar", "collect", str(bags), "-o", library, "--method", "tfidf")[0] == 0
    assert said(capsys, "similar", "query", library, "--id", "1")[1].splitlines()[1].split("\t")[1] == "3"
    for arguments, message in [
        (["query", library, "--id", "9"], "there is no document with the id '9'"),
        (["query", library], "nothing is asked"),
        (["query", library, "--text", "t1", "--method", "none"], "no method 'none'; it has tfidf"),
        (["query", library, "--text", "t1", "--where", "year"], "'year' is no filter"),
        (["collect", str(bags), "-o", library], "there is a collection already"),
        (["upsert", str(tmp_path), str(bags)], "no collection: there is no collection.json"),
        (["evaluate", library, "--field", "x"], "have a class in the field 'x'"),
    ]:
        code, _, err = said(capsys, "similar", *arguments)
        assert code == 1
        assert message in err
        assert len(err.splitlines()) == 1


def test_models_are_trained_anew_where_the_command_line_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["mill", "river", "stone", "wheel", "flour", "grain", "bread", "water", "wind", "sail"]
    rows = [{"id": str(i), "text": " ".join(words[(i + j) % 10] for j in range(4))} for i in range(30)]
    old, new, library = tmp_path / "old.jsonl", tmp_path / "new.jsonl", str(tmp_path / "library")
    old.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    new.write_text("".join(json.dumps(row | {"id": f"new{row['id']}"}) + "\n" for row in rows), encoding="utf-8")
    code, out, errors = said(capsys, "similar", "collect", str(old), "-o", library, "--method", "oracle")
    assert (code, out) == (1, "")
    assert errors.startswith("textmill: --method must be one of 'tfidf', 'lsa'")
    assert said(capsys, "similar", "collect", str(old), "-o", library, "--method", "tfidf")[0] == 0
    for option, advice in (([], ["train them anew with 'textmill similar upsert --rebuild'"]), (["--rebuild"], [])):
        with pytest.raises(SystemExit) as left, catch_warnings():
            main(["similar", "upsert", library, str(new), *option])
        out, errors = capsys.readouterr()
        assert (left.value.code, out) == (0, "30 documents written, 60 in all\n")
        assert [line.split("; ")[1] for line in errors.splitlines() if "newer than the models" in line] == advice
    assert Collection.open(library).staleness() == (0.0, 0.0)
