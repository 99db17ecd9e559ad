from __future__ import annotations

import gzip
import io
import itertools
import json
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.corpus import readers
from textmill.corpus.readers import (
    READERS,
    Document,
    Documents,
    DocumentStream,
    EmptyDocuments,
    Record,
    SkippedRecords,
    read_documents,
    read_records,
    writer,
)
from textmill.errors import DataError


def write(path: Path, data: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def jsonl(*records: dict) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


# ---- records

SAME = {
    "news.csv": "id,text\n1,a storm\n2,rain\n",
    "news.tsv": "id\ttext\n1\ta storm\n2\train\n",
    "news.jsonl": '{"id": "1", "text": "a storm"}\n{"id": "2", "text": "rain"}\n',
    "NEWS.NDJSON": '{"id": "1", "text": "a storm"}\n{"id": "2", "text": "rain"}\n',
}


@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_the_suffix_below_that_of_the_compression_tells_the_format(tmp_path, name, suffix):
    path = tmp_path / f"{name}{suffix}"
    with writer(path) as out:
        out.write(SAME[name])
    records = list(read_records(path))
    assert [record.fields for record in records] == [{"id": "1", "text": "a storm"}, {"id": "2", "text": "rain"}]
    assert {record.source for record in records} == {str(path)}
    assert [record.line for record in records] == ([1, 2] if "json" in name.lower() else [2, 3])
    assert records[0].place == f"{path}:{records[0].line}"


def test_lines_of_plain_text_are_records_with_a_text(tmp_path):
    path = write(tmp_path / "x.txt", "one\n\ntwo")
    assert list(read_records(path)) == [
        Record({"text": text}, str(path), i) for i, text in enumerate(["one", "", "two"], 1)
    ]


def test_a_stream_is_read_as_lines_or_as_the_format_says():
    assert [record.fields for record in read_records(io.BytesIO(b"a,b\n1,2\n"))] == [{"text": "a,b"}, {"text": "1,2"}]
    assert [record.fields for record in read_records(io.BytesIO(b"a,b\n1,2\n"), format="csv")] == [{"a": "1", "b": "2"}]
    fields = [record.fields for record in read_records(io.BytesIO(b"a;b\n1;2\n"), format="csv", delimiter=";")]
    assert fields == [{"a": "1", "b": "2"}]


def test_an_open_file_is_read_as_its_name_says(tmp_path):
    with open(write(tmp_path / "x.csv", "a\n1\n"), "rb") as stream:
        assert [record.fields for record in read_records(stream)] == [{"a": "1"}]


def test_an_unknown_format_is_an_error_that_lists_the_formats(tmp_path):
    with pytest.raises(DataError, match=r"x\.docx: binary data, not text"):
        list(read_records(write(tmp_path / "x.docx", b"PK\x03\x04...")))
    with pytest.raises(ValueError, match=r"format must be one of conll, conllu, csv, .* not 'docx'"):
        list(read_records(tmp_path / "x.docx", format="docx"))


def test_bad_records_are_counted_and_reported(tmp_path):
    path = write(tmp_path / "x.jsonl", b'{"a": 1}\n{"a"\n\xff\n{"a": 2}\n')
    with pytest.raises(DataError, match=r"x\.jsonl:2:5: not JSON"):
        list(read_records(path))
    with pytest.warns(SkippedRecords, match=r"x\.jsonl: 2 bad records skipped, the first: .*x\.jsonl:2:5: not JSON"):
        assert [record.line for record in read_records(path, errors="skip")] == [1, 4]


def test_records_cannot_be_changed():
    with pytest.raises(AttributeError):
        Record({}, "x", 1).line = 2
    with pytest.raises(AttributeError):
        Document("1", "", {}, "x", 1).text = "b"


# ---- documents


def test_documents_have_id_text_fields_and_place(tmp_path):
    path = write(tmp_path / "x.jsonl", jsonl({"id": "n1", "text": "a storm", "year": 1999}, {"id": 7, "text": ""}))
    documents = read_documents(path)
    with pytest.warns(EmptyDocuments, match=r"x\.jsonl:2: the document has no words$"):
        read = list(documents)
    assert read == [
        Document("n1", "a storm", {"id": "n1", "text": "a storm", "year": 1999}, str(path), 1),
        Document("7", "", {"id": 7, "text": ""}, str(path), 2),
    ]
    assert [document.place for document in read] == [f"{path}:1", f"{path}:2"]
    assert documents.sources == (str(path),)


def test_documents_and_texts_can_be_read_again(tmp_path):
    documents = read_documents(write(tmp_path / "x.csv", "text\na\nb\n"))
    assert iter(documents) is not documents
    texts = documents.texts()
    assert iter(texts) is not texts
    for _ in range(2):
        assert [document.text for document in documents] == ["a", "b"]
        assert list(texts) == ["a", "b"]


def test_two_readings_at_once_do_not_disturb_each_other(tmp_path):
    documents = read_documents(write(tmp_path / "x.csv", "text\na\nb\n"))
    assert [(a, b.text) for a, b in itertools.product(documents.texts(), documents)] == [
        ("a", "a"), ("a", "b"), ("b", "a"), ("b", "b"),
    ]  # fmt: skip


def test_a_file_of_plain_text_is_one_document_or_one_a_line(tmp_path):
    path = write(tmp_path / "x.txt", "\ufeffone\r\n\r\ntwo\n")
    (document,) = read_documents(path)
    assert (document.id, document.text, document.place, document.line) == (str(path), "one\n\ntwo", str(path), None)
    lines = read_documents(path, unit="line")
    assert [(document.id, document.text) for document in lines] == [
        (f"{path}:1", "one"), (f"{path}:2", ""), (f"{path}:3", "two"),
    ]  # fmt: skip
    with pytest.raises(ValueError, match="unit must be 'file' or 'line', not 'page'"):
        read_documents(path, unit="page")


def test_ids_come_from_the_field_that_is_named_or_from_the_place(tmp_path):
    path = write(tmp_path / "x.csv", "id,key,text\n1,k1,a\n,k2,b\n")
    assert [document.id for document in read_documents(path)] == ["1", f"{path}:3"]
    assert [document.id for document in read_documents(path, id_field="key")] == ["k1", "k2"]
    with pytest.raises(
        DataError, match=r"x\.csv:3:id: the field 'id' holds nothing, not an id; name another with id_f"
    ):
        list(read_documents(path, id_field="id"))
    with pytest.raises(
        DataError, match=r"x\.csv:2: no field 'nr'; the fields are 'id', 'key', 'text'; name .* id_field"
    ):
        list(read_documents(path, id_field="nr").texts())


def test_a_missing_text_field_is_an_error_that_lists_the_fields(tmp_path):
    path = write(tmp_path / "x.jsonl", jsonl({"text": "a"}, {"id": 1, "body": "b"}))
    message = r"x\.jsonl:2: no field 'text'; the fields are 'id', 'body'; name the right one with text_field"
    with pytest.raises(DataError, match=message):
        list(read_documents(path))
    with pytest.raises(DataError, match=r"x\.jsonl:1: no field 'body'; the fields are 'text'"):
        list(read_documents(path, text_field="body").texts())
    write(path, jsonl({}))
    with pytest.raises(DataError, match="the fields are none"):
        list(read_documents(path))
    write(path, jsonl({f"f{i}": i for i in range(1000)}))
    with pytest.raises(DataError, match=r"'f9', \.\.\.; name"):
        list(read_documents(path))


@pytest.mark.parametrize(
    ("value", "kind"),
    [(None, "nothing"), (3.5, "a value of type float"), (["a"], "a value of type list"), (True, "bool")],
)
def test_a_text_that_is_no_string_is_an_error(tmp_path, value, kind):
    path = write(tmp_path / "x.jsonl", jsonl({"text": value}))
    with pytest.raises(DataError, match=rf"x\.jsonl:1:text: the field 'text' holds .*{kind}, not a text"):
        list(read_documents(path))


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_another_delimiter_is_recognized(tmp_path, delimiter):
    path = write(tmp_path / "x.csv", f"id{delimiter}text\n1{delimiter}a\n")
    with pytest.raises(DataError) as caught:
        list(read_documents(path))
    assert caught.value.message.endswith(f"pass delimiter={delimiter!r}")
    assert list(read_documents(path, delimiter=delimiter).texts()) == ["a"]


def test_bad_records_of_one_pass_are_counted_together(tmp_path):
    write(tmp_path / "a.jsonl", jsonl({"text": "1"}, {"body": "2"}) + "{\n")
    write(tmp_path / "b.txt", b"\xff\nfine\n")
    write(tmp_path / "c.md", b"\0unknown")
    write(tmp_path / "d.txt", "last")
    documents = read_documents(tmp_path, errors="skip")
    for _ in range(2):
        with pytest.warns(SkippedRecords) as caught:
            assert list(documents.texts()) == ["1", "last"]
        (warning,) = [each.message for each in caught]
        assert (warning.count, warning.first.line, documents.skipped) == (4, 2, 4)
        assert warning.source == f"{tmp_path / 'a.jsonl'} and 3 more"
    with pytest.warns(SkippedRecords):
        assert [document.text for document in documents] == ["1", "last"]


def test_a_binary_file_in_a_folder_is_refused_before_anything_is_read(tmp_path):
    write(tmp_path / "a.txt", b"\xff")
    write(tmp_path / "b.mill", b"\x10\0\0\0")
    with pytest.raises(DataError, match=r"b\.mill: binary data, not text"):
        read_documents(tmp_path)
    with pytest.warns(SkippedRecords, match="1 bad record skipped"):
        assert len(list(read_documents(tmp_path, encoding="latin-1", errors="skip"))) == 1


def test_files_without_suffix_are_read_by_their_beginning(tmp_path):
    write(tmp_path / "51060", "From: a@b\n\nThe mill.\n")
    write(tmp_path / "51061", jsonl({"id": " 7 ", "text": "lines"}))
    write(tmp_path / "51062", "id\ttext\n8\ttabs\n")
    write(tmp_path / "51063.old", 'text,id\n"com,ma",9\n')
    found = list(read_documents(tmp_path))
    assert [one.text for one in found] == ["From: a@b\n\nThe mill.", "lines", "tabs", "com,ma"]
    assert [one.id for one in found] == [str(tmp_path / "51060"), "7", "8", "9"]


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        (b'{"id": "n1", "text": "a storm"}\n', ["a storm"]),
        (b'\n {"text": "a storm"}\n', ["a storm"]),
        (b"id,text\n1,a storm\n", ["a storm"]),
        (b"id\ttext\n1\ta storm\n", ["a storm"]),
        (b"a text, plain\nand more\n", ["a text, plain", "and more"]),
        (b"text\n", ["text"]),
        (b"", []),
        (gzip.compress(b'{"text": "packed"}'), ["packed"]),
    ],
)
@pytest.mark.parametrize("spool", [False, True])
def test_standard_input_is_recognized(monkeypatch, content, texts, spool):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    documents = read_documents("-", spool=spool)
    assert list(documents.texts()) == texts
    assert list(documents.texts()) == (texts if spool else [])
    assert {one.source for one in documents} <= {"stdin"}


def test_fields_of_plain_text_are_refused(tmp_path, monkeypatch):
    path = write(tmp_path / "x.txt", "text")
    for options in ({"text_field": "body"}, {"id_field": "key"}):
        with pytest.raises(DataError, match=rf"x\.txt: {next(iter(options))} names a field, but this is plain text"):
            read_documents(path, **options)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"text\n")))
        with pytest.raises(DataError, match=r"stdin: .*plain text"):
            list(read_documents("-", **options))
    write(tmp_path / "y.jsonl", jsonl({"body": "fields"}))
    assert list(read_documents(tmp_path, text_field="body").texts()) == ["text", "fields"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_skipped(tmp_path):
    write(tmp_path / "a.txt", "fine")
    write(tmp_path / "b.txt", "secret").chmod(0)
    with pytest.warns(SkippedRecords, match=r"b\.txt: Permission denied"):
        assert list(read_documents(tmp_path, errors="skip").texts()) == ["fine"]


def test_a_link_that_leads_nowhere_is_skipped(tmp_path):
    write(tmp_path / "a.txt", "fine")
    (tmp_path / "b.txt").symlink_to(tmp_path / "gone.txt")
    with pytest.warns(SkippedRecords, match=r"b\.txt: No such file"):
        assert list(read_documents(tmp_path, errors="skip").texts()) == ["fine"]
    with pytest.raises(FileNotFoundError):
        list(read_documents(tmp_path))


def test_an_unknown_encoding_is_an_error_though_bad_records_are_skipped(tmp_path):
    with pytest.raises(DataError, match="unknown encoding 'klingon'"):
        read_documents(write(tmp_path / "a.txt", "a"), encoding="klingon", errors="skip")


def test_empty_files_hold_no_documents(tmp_path):
    for name in ("a.txt", "b.csv", "c.tsv", "d.jsonl"):
        write(tmp_path / name, "")
    with pytest.warns(EmptyDocuments, match=r"a\.txt: the document has no words \(the file is empty\)$"):
        assert list(read_documents(tmp_path)) == []
    assert list(read_documents(tmp_path, unit="line")) == []


def test_documents_without_a_word_are_kept_counted_and_named(tmp_path):
    write(tmp_path / "a.html", "<nav>Home</nav><script>f()</script>")
    write(tmp_path / "b.html", "<p>words")
    write(tmp_path / "c.jsonl", jsonl({"text": "words"}, {"text": " ... "}))
    write(tmp_path / "d.csv", "id,text\n1,\n")
    write(tmp_path / "e.txt", "\n\n")
    write(tmp_path / "f.xml", "<a><script>f()</script></a>")
    with pytest.warns(EmptyDocuments) as caught:
        texts = list(read_documents(tmp_path).texts())
    assert texts == ["", "words", "words", " ... ", "", "\n", ""]
    (warning,) = caught
    assert str(warning.message).endswith(
        "5 documents have no words, the first: " + str(tmp_path / "a.html") + " (left out: nav 1, script 1)"
    )
    assert pickle.loads(pickle.dumps(warning.message)).count == 5  # noqa: S301


# ---- folders and lists of sources


def test_folders_are_read_in_order_without_hidden_files(tmp_path):
    for name in ("b.txt", "a/2.txt", "a/10.txt", ".hidden.txt", "a/.git/x.txt", "c/d/e.txt", "Z.txt"):
        write(tmp_path / name, name)
    assert list(read_documents(tmp_path).texts()) == ["Z.txt", "a/10.txt", "a/2.txt", "b.txt", "c/d/e.txt"]
    paths = [tmp_path / "c", tmp_path / "b.txt", str(tmp_path / "a")]
    assert list(read_documents(paths).texts()) == ["c/d/e.txt", "b.txt", "a/10.txt", "a/2.txt"]
    assert list(read_documents(iter(paths)).texts()) == ["c/d/e.txt", "b.txt", "a/10.txt", "a/2.txt"]


def test_links_are_followed_but_not_in_circles(tmp_path):
    write(tmp_path / "here/a.txt", "a")
    write(tmp_path / "there/b.txt", "b")
    (tmp_path / "here/back").symlink_to(tmp_path / "here")
    (tmp_path / "here/there").symlink_to(tmp_path / "there")
    (tmp_path / "there/up").symlink_to(tmp_path / "here")
    assert list(read_documents(tmp_path / "here").texts()) == ["a", "b"]


def test_nothing_to_read_is_an_error(tmp_path):
    with pytest.raises(DataError, match="no sources to read"):
        read_documents([])
    write(tmp_path / "sub/.hidden", "x")
    with pytest.raises(DataError, match="the folder holds no files"):
        read_documents(tmp_path)


def test_a_missing_file_is_noticed_at_once(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_documents([tmp_path / "missing.txt"])


def test_relative_names_stay_names_when_the_folder_changes(tmp_path, monkeypatch):
    write(tmp_path / "a.txt", "a")
    monkeypatch.chdir(tmp_path)
    documents = read_documents("a.txt")
    monkeypatch.chdir("/")
    assert [(document.id, document.text) for document in documents] == [("a.txt", "a")]


# ---- chunks

RECORD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n"), max_size=6)


@settings(derandomize=True, max_examples=25)
@given(
    texts=st.lists(RECORD, max_size=12),
    size=st.integers(1, 5),
    again=st.integers(1, 5),
    end=st.sampled_from(["\n", "\r\n"]),
    closed=st.booleans(),
)
def test_chunks_give_equal_documents_whatever_their_size(tmp_path_factory, texts, size, again, end, closed):
    folder = tmp_path_factory.getbasetemp() / "chunks"
    lines = end.join(texts) + end * closed
    records = end.join(json.dumps({"id": i, "text": text}) for i, text in enumerate(texts)) + end * closed
    write(folder / "a.txt", "\ufeff" + lines)
    write(folder / "b.jsonl", records)
    write(folder / "c.jsonl.gz", gzip.compress(records.encode()))
    write(folder / "d.jsonl", gzip.compress(records.encode()))
    write(folder / "e.csv", "id,text\n" + "".join(f"{i},x\n" for i in range(7)))
    for unit in ("line", "file"):
        documents = read_documents(folder, unit=unit)
        chunks = [pickle.loads(pickle.dumps(chunk)) for chunk in documents.chunks(size)]  # noqa: S301
        assert [document for chunk in chunks for document in chunk] == list(documents)
        assert [text for chunk in chunks for text in chunk.texts()] == list(documents.texts())
        finer = [piece for chunk in chunks for piece in chunk.chunks(again)]
        assert [document for piece in finer for document in piece] == list(documents)


def test_chunks_are_small_and_of_the_size_asked_for(tmp_path):
    path = write(tmp_path / "x.jsonl", jsonl(*({"text": f"document {i} " * 50} for i in range(1000))))
    chunks = list(read_documents(path).chunks(300))
    assert [len(list(chunk)) for chunk in chunks] == [300, 300, 300, 100]
    assert max(len(pickle.dumps(chunk)) for chunk in chunks) < 1000
    for i in range(7):
        write(tmp_path / "folder" / f"{i}.txt", f"text {i}")
    assert [len(list(chunk)) for chunk in read_documents(tmp_path / "folder").chunks(3)] == [3, 3, 1]


def test_files_that_cannot_be_cut_are_one_chunk(tmp_path):
    two_bytes = write(tmp_path / "x.txt", "a\nb\nਊ\n".encode("utf-16"))
    chunks = list(read_documents(two_bytes, unit="line", encoding="utf-16").chunks(1))
    assert [list(chunk.texts()) for chunk in chunks] == [["a", "b", "ਊ"]]
    packed = write(tmp_path / "x.jsonl.gz", gzip.compress(jsonl({"text": "a"}, {"text": "b"}).encode()))
    assert [list(chunk.texts()) for chunk in read_documents(packed).chunks(1)] == [["a", "b"]]


def test_a_fault_in_a_chunk_has_the_line_of_the_file(tmp_path):
    path = write(tmp_path / "x.jsonl", jsonl(*[{"text": "a"}] * 10) + "{\n")
    *good, last = read_documents(path).chunks(4)
    assert [len(list(chunk)) for chunk in good] == [4, 4]
    with pytest.raises(DataError, match=r"x\.jsonl:11:2: not JSON"):
        list(last)


def test_chunks_count_their_bad_records(tmp_path):
    path = write(tmp_path / "x.jsonl", jsonl({"text": "a"}) + "{\n" + jsonl({"text": "b"}) + "{\n[\n")
    counts = []
    for chunk in read_documents(path, errors="skip").chunks(2):
        with pytest.warns(SkippedRecords):
            list(chunk)
        counts.append(chunk.skipped)
    assert counts == [1, 1, 1]


def test_a_chunk_has_at_least_one_document(tmp_path):
    with pytest.raises(ValueError, match="chunk_size must be a whole number at least 1, got 0"):
        list(read_documents(write(tmp_path / "x.txt", "a")).chunks(0))


# ---- streams that can be read once


def run_python(program: str, data: bytes) -> str:
    environment = {**os.environ, "PYTHONPATH": str(Path(readers.__file__).absolute().parents[2])}
    done = subprocess.run([sys.executable, "-c", program], env=environment, input=data, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def test_standard_input_is_one_document_a_line_and_can_be_read_once():
    program = """if True:
        from textmill.corpus.readers import read_documents
        documents = read_documents("-")
        assert iter(documents) is documents
        print([(document.id, document.text) for document in documents], list(documents), list(documents.texts()))
    """
    assert run_python(program, b"one\ntwo\n") == "[('stdin:1', 'one'), ('stdin:2', 'two')] [] []"


def test_standard_input_may_hold_compressed_json_lines():
    program = """if True:
        from textmill.corpus.readers import read_documents
        texts = read_documents("-", format="jsonl").texts()
        assert iter(texts) is texts
        print(list(texts))
    """
    assert run_python(program, gzip.compress(jsonl({"text": "a"}, {"text": "b"}).encode())) == "['a', 'b']"


def test_a_pipe_can_be_read_once(tmp_path):
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    thread = threading.Thread(target=pipe.write_bytes, args=(b"one\ntwo\n",))
    thread.start()
    documents = read_documents(pipe)
    assert isinstance(documents, DocumentStream)
    assert next(documents).text == "one"
    assert list(documents.texts()) == ["two"]
    thread.join()
    with pytest.raises(DataError, match="a stream cannot be read in pieces; save it as a file first"):
        documents.chunks(2)


# ---- the table, size, real data


def test_formats_are_listed_in_order_and_nothing_is_read_from_empty_text():
    assert list(READERS) == sorted(READERS)
    for name in ("csv", "jsonl", "ndjson", "tsv", "txt"):
        assert list(read_records(io.BytesIO(b""), format=name)) == []


def test_a_json_line_of_100_megabytes_is_read(tmp_path):
    path = tmp_path / "long.jsonl"
    with open(path, "wb") as out:
        out.write(b'{"text": "')
        for _ in range(100):
            out.write(b"word " * 200_000)
        out.write(b'"}\n{"text": "after"}\n')
    assert [len(text) for text in read_documents(path).texts()] == [100_000_000, 5]


@pytest.mark.data
def test_the_newsgroups_are_read_whole(data):
    documents = read_documents(data / "newsgroups" / "20news.jsonl.gz")
    assert isinstance(documents, Documents)
    groups = {document.fields["group"] for document in documents}
    with gzip.open(data / "newsgroups" / "20news.jsonl.gz") as stream:
        expected = [json.loads(line)["text"] for line in stream]
    assert list(documents.texts()) == expected
    assert (len(expected), len(groups)) == (19_997, 20)
