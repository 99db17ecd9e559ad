from __future__ import annotations

import builtins
import bz2
import gzip
import io
import pickle
from unittest import mock

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from textmill.corpus.readers import SkippedRecords, open_bytes, open_lines, read_documents, read_records
from textmill.corpus.remote import is_remote, open_remote, remote_files, remote_path
from textmill.errors import DataError

JSONL = b'{"id": "1", "text": "a storm"}\n{"id": "2", "text": "rain"}\n'


@pytest.fixture
def memory():
    system = fsspec.filesystem("memory")
    system.pipe(
        {
            "/news/a.jsonl": JSONL,
            "/news/b.csv.gz": gzip.compress(b"id,text\n3,snow\n"),
            "/news/deep/c.txt": b"one\ntwo\n",
            "/news/.hidden.txt": b"no",
            "/news/.git/x.txt": b"no",
        }
    )
    yield system
    system.rm("/news", recursive=True)


@pytest.mark.parametrize(
    ("source", "remote"),
    [
        ("s3://bucket/x", True), ("https://a.b/x", True), ("memory://x", True), ("HTTP://x", True),
        ("git+ssh://x", True), ("C://x", False), ("x.csv", False), ("/a//b", False), ("://x", False), ("-", False),
        ("a b://x", False),
        (io.BytesIO(), False),
    ],
)  # fmt: skip
def test_addresses_are_told_from_paths(source, remote):
    assert is_remote(source) is remote


def test_bytes_lines_and_records_come_from_remote_files(memory):
    with open_bytes("memory://news/a.jsonl") as stream:
        assert stream.read() == JSONL
    assert list(open_lines("memory://news/deep/c.txt")) == [(1, "one"), (2, "two")]
    records = list(read_records("memory://news/a.jsonl"))
    assert [record.fields["text"] for record in records] == ["a storm", "rain"]
    assert records[1].place == "memory://news/a.jsonl:2"
    assert [record.fields for record in read_records("memory://news/b.csv.gz")] == [{"id": "3", "text": "snow"}]


def test_documents_come_from_remote_files_again_and_again(memory):
    documents = read_documents(["memory://news/a.jsonl", "memory://news/deep/c.txt"])
    assert documents.sources == ("memory://news/a.jsonl", "memory://news/deep/c.txt")
    for _ in range(2):
        assert [document.id for document in documents] == ["1", "2", "memory://news/deep/c.txt"]
        assert list(documents.texts()) == ["a storm", "rain", "one\ntwo"]


def test_a_remote_file_is_one_chunk_of_its_own(memory):
    documents = read_documents(["memory://news/a.jsonl", "memory://news/b.csv.gz"])
    chunks = [pickle.loads(pickle.dumps(chunk)) for chunk in documents.chunks(1)]  # noqa: S301
    assert [list(chunk.texts()) for chunk in chunks] == [["a storm", "rain"], ["snow"]]
    lines = read_documents("memory://news/deep/c.txt", unit="line")
    assert [list(chunk.texts()) for chunk in lines.chunks(1)] == [["one", "two"]]


def test_a_remote_folder_is_read_in_order_without_hidden_files(memory):
    texts = ["a storm", "rain", "snow", "one\ntwo"]
    assert list(read_documents("memory://news/").texts()) == texts
    assert list(read_documents(["memory:///news/"]).texts()) == texts
    memory.pipe("/news/d.docx", b"\0")
    with pytest.raises(DataError, match=r"memory:///news/d\.docx: binary data"):
        read_documents("memory://news/")
    with pytest.warns(SkippedRecords, match=r"1 bad record skipped, the first: memory:///news/d\.docx"):
        assert list(read_documents("memory://news/", errors="skip").texts()) == texts
    memory.mkdir("/empty")
    with pytest.raises(DataError, match="memory://empty/: the folder holds no files"):
        list(remote_files("memory://empty/"))


def test_file_addresses_are_files(tmp_path):
    (tmp_path / "x.jsonl").write_bytes(JSONL)
    pq.write_table(pa.table({"text": ["from parquet"]}), tmp_path / "y.parquet")
    (tmp_path / "z.txt.bz2").write_bytes(bz2.compress(b"from bzip2"))
    texts = ["a storm", "rain", "from parquet", "from bzip2"]
    names = [f"file://{tmp_path}/{name}" for name in ("x.jsonl", "y.parquet", "z.txt.bz2")]
    assert list(read_documents(names).texts()) == texts
    assert list(read_documents(f"file://{tmp_path}/").texts()) == texts
    chunks = read_documents(names).chunks(1)
    assert [text for chunk in chunks for text in chunk.texts()] == texts


def test_faults_in_remote_files_have_their_place(memory):
    memory.pipe("/news/bad.jsonl", JSONL + b"{\n")
    with pytest.raises(DataError, match=r"^memory://news/bad\.jsonl:3:2: not JSON"):
        list(read_documents("memory://news/bad.jsonl"))
    memory.pipe("/news/cut.txt.gz", gzip.compress(b"some text" * 100)[:-9])
    with pytest.raises(DataError, match=r"cut\.txt\.gz.* ends in the middle of the compressed data"):
        list(read_records("memory://news/cut.txt.gz"))


def test_a_missing_remote_file_is_noticed_at_once():
    with pytest.raises(FileNotFoundError):
        read_documents("memory://news/missing.txt")
    with pytest.raises(FileNotFoundError):
        list(read_records("memory://news/missing.txt"))


def test_the_query_of_an_address_is_no_part_of_the_suffix(memory):
    assert remote_path("https://a.org/x.csv.gz?key=a/b.txt#top") == "https://a.org/x.csv.gz"
    assert remote_path("s3://bucket/what?.csv") == "s3://bucket/what?.csv"
    with mock.patch("textmill.corpus.streams.open_remote", return_value=io.BytesIO(b"id,text\n3,snow\n")):
        (record,) = read_records("https://a.org/x.csv?key=7")
    assert record.fields == {"id": "3", "text": "snow"}


def refuse_import(monkeypatch, package):
    real = builtins.__import__

    def refuse(name, *arguments, **options):
        if name.partition(".")[0] == package:
            raise ImportError(f"No module named {name!r}")
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)


def test_what_is_missing_is_named(monkeypatch):
    with pytest.raises(
        DataError, match=r"^klingon://x\.txt: fsspec does not know klingon://; copy the file here first"
    ):
        read_documents("klingon://x.txt")
    with monkeypatch.context() as patch:
        refuse_import(patch, "fsspec")
        with pytest.raises(
            DataError, match=r"s3://b/x\.txt: s3:// needs the fsspec library: pip install 'textmill\[io"
        ):
            list(read_records("s3://b/x.txt"))
    error = ImportError("Install s3fs to access S3")
    with (
        mock.patch("fsspec.core.url_to_fs", side_effect=error),
        pytest.raises(DataError, match=r"s3:// needs another package \(Install s3fs to access S3\)"),
    ):
        open_remote("s3://b/x.txt")


def test_what_a_protocol_raises_is_one_line(memory):
    for patched in ("open", "info"):
        with mock.patch.object(type(memory), patched, side_effect=RuntimeError("no\ncredentials")):
            read = read_documents if patched == "info" else open_remote
            with pytest.raises(DataError, match=r"a\.jsonl: cannot be opened \(no credentials\); check the address"):
                read("memory://news/a.jsonl")
