"""`textmill similar`: from files to an index to answers, and what is refused in one line."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from warnings import catch_warnings

import pyarrow.parquet
import pytest
from commands import said

from textmill.cli.app import main
from textmill.corpus import read_documents, sample_path
from textmill.tasks import Collection
from textmill.topics import LSA
from textmill.vectors import TextVectorizer, Weighting


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
    assert "term\tearth" in said(capsys, "similar", "why", library, "astronomy-01", "astronomy-02", "-k", "40")[1]
    code, out, _ = said(capsys, "similar", "evaluate", library, "--field", "subject")
    assert [line.split("\t")[:2] for line in out.splitlines()[1:]] == [["tfidf", "class"], ["lsa", "class"]]
    assert said(capsys, "similar", "stats", library)[1].splitlines()[1].startswith("news\t308\t")
    assert "subject\t" in said(capsys, "similar", "stats", library, "--fields")[1]
    assert len(said(capsys, "similar", "stats", library, "--topics", "--method", "lsa")[1].splitlines()) == 21
    assert said(capsys, "similar", "export", library, "-o", str(tmp_path / "n.csv"), "--method", "lsa", "-k", "2")[
        1
    ].endswith("n.csv\n")
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


def test_every_verb_takes_an_index_as_it_takes_a_collection(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words, topics, articles = str(tmp_path / "words.mill"), str(tmp_path / "topics.mill"), str(sample_path())
    model, library = str(tmp_path / "lsa.mill"), str(tmp_path / "library")
    documents = list(read_documents(articles))
    vectorizer = TextVectorizer(weighting=Weighting(idf="n/d"))
    LSA(n_topics=20, vectorizer=vectorizer, random_state=0).fit([one.text for one in documents]).save(model)
    said(capsys, "similar", "index", articles, "-o", words)
    said(capsys, "similar", "index", articles, "--model", model, "-o", topics)
    said(capsys, "similar", "collect", articles, "-o", library, "--model", model)
    given = ["--documents", articles]

    def same(verb: str, *options: str, more: Sequence[str] = ()) -> None:
        """An index prints what the collection of the same documents and model prints, but for its name."""
        left = said(capsys, "similar", verb, topics, *options, *more)
        right = said(capsys, "similar", verb, library, *options)
        assert left[0] == right[0] == 0
        assert left[1].replace("topics\t", "lsa\t") == right[1].replace(f"{sample_path().name}\t", "")

    same("duplicates", "--threshold", "0.9")
    same("why", "astronomy-01", "astronomy-02", more=given)
    same("evaluate", "--field", "subject", more=given)
    same("stats", "--topics")
    same("stats", "--fields", more=given)
    same("query", "--like", "astronomy-01", "--unlike", "wildlife-20", "-k", "4")
    same("query", "--text", "tides of the moon", "--where", "subject=astronomy", "-k", "4", more=given)
    assert "308\t" in said(capsys, "similar", "stats", topics, *given)[1]
    table, site = tmp_path / "n.csv", tmp_path / "site"
    assert said(capsys, "similar", "export", words, "-o", str(table), "-k", "2")[1] == f"616 rows in {table}\n"
    assert said(capsys, "similar", "export", topics, "-o", str(site), "-k", "2")[1] == f"308 pages in {site}\n"
    (tmp_path / "new.jsonl").write_text(
        '{"id": "astronomy-01", "text": "comet comet"}\n{"id": "new", "text": "the moon"}\n'
    )
    assert (
        said(capsys, "similar", "upsert", words, str(tmp_path / "new.jsonl"))[1] == "2 documents written, 309 in all\n"
    )
    assert said(capsys, "similar", "query", words, "--text", "comet", "-k", "1")[1].split("\t")[-2] == "astronomy-01"
    assert "astronomy-01\t1\t" in said(capsys, "similar", "neighbors", words, "-k", "1")[1]
    (tmp_path / "other.jsonl").write_text('{"id": "other", "text": "corn"}\n')
    (tmp_path / "fields.jsonl").write_text('{"id": "other", "words": "corn"}\n')
    subjects = str(tmp_path / "subjects.mill")
    assert said(capsys, "similar", "classify", subjects, library, "--train", "--field", "subject")[0] == 0
    bare = "an index holds no texts and fields; pass the documents it was made of (--documents), or make a collection"
    for arguments, message in [
        (["evaluate", topics, "--field", "subject"], bare),
        (["stats", topics], bare),
        (["duplicates", topics, "--threshold", "0.9", "--report", str(tmp_path / "d.html")], bare),
        (["stats", topics, "--documents", str(tmp_path / "fields.jsonl")], "no field 'text'"),
        (["stats", topics, "--documents", str(tmp_path / "other.jsonl")], "none of the documents is in the index"),
        (["stats", model], "holds a topics.LSA, not a SimilarDocuments"),
        (["stats", library, "--documents", articles], "--documents belongs to an index"),
        (["classify", subjects, words], "an index holds no texts to classify"),
        (["upsert", words, articles, "--rebuild"], "--rebuild is for collections"),
    ]:
        _, out, err = said(capsys, "similar", *arguments)
        assert message in out + err, arguments
        assert len(err.splitlines()) <= 1


def test_an_export_has_a_row_for_every_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"id": f"n{n}", "text": f"corn mill {n % 3} sea"} for n in range(9)]
    rows += [{"id": "empty", "text": ""}, {"id": "rule", "text": "====="}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    library, table, parquet = (str(tmp_path / name) for name in ("library", "n.csv", "n.parquet"))
    said(capsys, "similar", "collect", str(tmp_path / "rows.jsonl"), "-o", library, "--method", "tfidf")
    with pytest.raises(SystemExit), catch_warnings():
        main(["similar", "export", library, "-o", table, "-k", "2"])
    out, err = capsys.readouterr()
    assert out == f"20 rows in {table}\n"
    assert "2 documents without neighbors by tfidf: it knows no word of theirs" in err
    with open(table, newline="") as file:
        found = list(csv.DictReader(file))
    assert {row["id"] for row in found} == {row["id"] for row in rows}
    alone = [row for row in found if row["rank"] == "0"]
    assert [(row["id"], row["neighbor"], row["score"]) for row in alone] == [("empty", "", ""), ("rule", "", "")]
    said(capsys, "similar", "export", library, "-o", parquet, "-k", "2")
    read = pyarrow.parquet.read_table(parquet).to_pylist()
    assert [row["id"] for row in read if row["neighbor"] is None and row["score"] is None] == ["empty", "rule"]
    out = said(capsys, "similar", "neighbors", library, "--lists", "-k", "2")[1]
    assert {line.split("\t")[0] for line in out.splitlines()[1:]} == {row["id"] for row in rows}


def test_compact_and_diagnose(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library, page = str(tmp_path / "library"), tmp_path / "page.html"
    said(capsys, "similar", "collect", str(sample_path()), "-o", library, "--method", "tfidf", "--topics", "5")
    (tmp_path / "more.jsonl").write_text('{"id": "new", "text": "the moon"}\n')
    said(capsys, "similar", "upsert", library, str(tmp_path / "more.jsonl"))
    assert said(capsys, "similar", "compact", library)[1] == "309 documents in 1 shard, 2 before\n"
    code, out, _ = said(capsys, "similar", "diagnose", library, "--periods", "3", "--report", str(page))
    header, *rows = out.splitlines()
    assert (code, header) == (0, "period\tdocuments\twords\tdistinct\tunknown\tdrift\tchance")
    assert [row.split("\t")[:2] for row in rows] == [["1 to 103", "103"], ["104 to 206", "103"], ["207 to 309", "103"]]
    assert "Heaps" in page.read_text()
    assert said(capsys, "similar", "diagnose", library, "--by", "moon")[::2] == (
        1,
        "textmill: no document has one value in the field 'moon'; name another, or leave it out\n",
    )


def test_models_are_trained_anew_without_new_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = str(tmp_path / "library")
    said(capsys, "similar", "collect", str(sample_path()), "-o", library, "--method", "tfidf")
    before = Collection.open(library).snapshot.manifest["methods"]
    assert said(capsys, "similar", "upsert", library, "--rebuild")[:2] == (0, "0 documents written, 308 in all\n")
    assert Collection.open(library).snapshot.manifest["methods"] != before
    assert "nothing to write" in said(capsys, "similar", "upsert", library)[2]


PAPERS = [
    {"id": "p1", "text": "ideals of a commutative ring", "authors": "Noether, Emmy"},
    {"id": "p2", "text": "chains of prime ideals of a ring", "authors": ["Krull, Wolfgang", "Noether, Emmy"]},
    {"id": "p3", "text": "prime ideals in a ring of power series", "authors": "Zariski, Oscar"},
    {"id": "p4", "text": "trees and graphs", "authors": "Cayley, Arthur"},
]


def test_people_are_suggested(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    papers, library = tmp_path / "papers.jsonl", str(tmp_path / "papers")
    papers.write_text("".join(json.dumps(row) + "\n" for row in PAPERS))
    said(capsys, "similar", "collect", str(papers), "-o", library, "--method", "tfidf")
    code, out, _ = said(capsys, "similar", "reviewers", library, "--id", "p1")
    header, *rows = out.splitlines()
    assert (code, header) == (0, "name\tvotes\tarticles")
    assert [row.split("\t")[::2] for row in rows] == [["Zariski, Oscar", "p3"]]
    out = said(capsys, "similar", "reviewers", library, "--id", "p1", "--coauthors", "--json")[1]
    assert {json.loads(line)["name"] for line in out.splitlines()} == {"Krull, Wolfgang", "Zariski, Oscar"}
    asked = ["similar", "reviewers", library, "--text", "prime ideals", "--without", "zariski,  oscar", "--json"]
    names = [json.loads(line)["name"] for line in said(capsys, *asked)[1].splitlines()]
    assert names == ["Noether, Emmy", "Krull, Wolfgang"]
    figures = json.loads(said(capsys, "similar", "reviewers", library, "--evaluate", "-k", "2", "--json")[1])
    assert (figures["articles"], figures["people"]) == (2, 4)
    assert "nobody is suggested" in said(capsys, "similar", "reviewers", library, "--text", "zebra")[2]
    assert "exactly one of" in said(capsys, "similar", "reviewers", library)[2]
    assert "pass no --text" in said(capsys, "similar", "reviewers", library, "--evaluate", "--text", "a")[2]
    assert "name the field" in said(capsys, "similar", "reviewers", library, "--id", "p1", "--field", "editors")[2]


def test_a_graph_answers_as_the_index_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("usearch")
    model, index, questions = (tmp_path / name for name in ("lsa.mill", "index.mill", "asked.jsonl"))
    texts = [document.text for document in read_documents(sample_path())]
    LSA(n_topics=20, vectorizer=TextVectorizer(), random_state=0).fit(texts).save(model)
    said(capsys, "similar", "index", str(sample_path()), "-o", str(index), "--model", str(model))
    questions.write_text("".join(json.dumps({"id": str(n), "text": text}) + "\n" for n, text in enumerate(texts[:20])))
    ask = ["similar", "query", str(index), "--file", str(questions), "-k", "5", "--json"]
    exact = [json.loads(line)["found"] for line in said(capsys, *ask)[1].splitlines()]
    code, out, error = said(capsys, *ask, "--approximate")
    near = [json.loads(line)["found"] for line in out.splitlines()]
    assert code == 0
    assert error.startswith("the graph finds ")
    right = {(n, one["id"]): one["score"] for n, some in enumerate(exact) for one in some}
    assert sum((n, one["id"]) in right for n, some in enumerate(near) for one in some) >= 90
    assert all(right.get((n, one["id"]), one["score"]) == one["score"] for n, some in enumerate(near) for one in some)
    assert "--approximate asks one index" in said(capsys, *ask, "--approximate", "--where", "subject=sea")[2]


def test_sources_in_other_encodings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain, old, library = tmp_path / "plain.jsonl", tmp_path / "old.jsonl", str(tmp_path / "library")
    plain.write_text('{"id": "p1", "text": "die Mühle am Bach"}\n{"id": "p2", "text": "das Meer"}\n', encoding="utf-8")
    old.write_bytes(
        '{"id": "o1", "text": "die alte Mühle"}\n'.encode("latin-1") + b'{"id": "o2", "text": "das Haus"}\n'
    )
    code, _, error = said(capsys, "similar", "collect", str(plain), str(old), "-o", library, "--method", "tfidf")
    assert code == 1
    assert error.startswith(f"textmill: {old}:1:")
    assert "UTF-8" in error
    assert error.count("\n") == 1
    said(capsys, "similar", "collect", str(plain), "-o", library, "--method", "tfidf")
    code, out, _ = said(capsys, "similar", "upsert", library, str(old), "--encoding", "latin-1")
    assert (code, out.splitlines()[0]) == (0, "2 documents written, 4 in all")
    found = json.loads(said(capsys, "similar", "query", library, "--text", "Mühle", "-k", "2", "--json")[1])["found"]
    assert {one["id"] for one in found} == {"p1", "o1"}
    said(capsys, "similar", "remove", library, "o1")
    with pytest.raises(SystemExit):
        main(["similar", "upsert", library, str(old), "--errors", "skip"])
    captured = capsys.readouterr()
    assert "1 bad record skipped" in captured.err
    assert captured.out.splitlines()[-1] == "1 document written, 3 in all"
