"""Folders that hold files of every format, each read by its suffix."""

from __future__ import annotations

import bz2
import gzip
import lzma
import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from backports import zstd

from textmill.corpus.readers import SkippedRecords, read_documents
from textmill.errors import DataError

DUMP = (
    "<mediawiki><page><title>T</title><ns>0</ns><id>8</id><revision><text>''wiki''</text></revision></page></mediawiki>"
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("plain")
    (tmp_path / "b.jsonl").write_text('{"id": 2, "text": "lines"}\n')
    (tmp_path / "c.csv").write_text("id,text\n3,comma\n")
    (tmp_path / "d.tsv").write_text("id\ttext\n4\ttabs\n")
    pq.write_table(pa.table({"id": [5], "text": ["columns"]}), tmp_path / "e.parquet")
    (tmp_path / "sub/f.txt.gz").write_bytes(gzip.compress(b"gzip"))
    (tmp_path / "sub/g.ndjson.xz").write_bytes(lzma.compress(b'{"id": 7, "text": "xz"}\n'))
    (tmp_path / "sub/h.xml.bz2").write_bytes(bz2.compress(DUMP.encode()))
    (tmp_path / "sub/i.CSV.ZST").write_bytes(zstd.compress(b"id,text\n9,zstd\n"))
    (tmp_path / "sub/j.xml-p1p9.bz2").write_bytes(bz2.compress(DUMP.encode()))
    (tmp_path / "z.xml").write_text(DUMP)
    return tmp_path


TEXTS = ["plain", "lines", "comma", "tabs", "columns", "gzip", "xz", "wiki", "zstd", "wiki", "wiki"]


def test_every_file_is_read_by_its_suffix(folder):
    documents = read_documents(folder)
    for _ in range(2):
        assert list(documents.texts()) == TEXTS
    ids = [document.id for document in documents]
    assert ids == [
        str(folder / "a.txt"), "2", "3", "4", "5", str(folder / "sub/f.txt.gz"), "7", "8", "9", "8", "8",
    ]  # fmt: skip


@pytest.mark.parametrize("size", [1, 3, 100])
def test_chunks_of_a_mixed_folder_give_the_same_documents(folder, size):
    documents = read_documents(folder)
    chunks = [pickle.loads(pickle.dumps(chunk)) for chunk in documents.chunks(size)]  # noqa: S301
    assert [document for chunk in chunks for document in chunk] == list(documents)


@pytest.mark.parametrize("name", ["paper.pdf", "README", "letters.docx.gz", "sub/x.unknown"])
def test_a_file_of_unknown_format_is_refused_at_once_or_counted(folder, name):
    content = b"PK\x03\x04\0"
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with pytest.raises(DataError, match=rf"{name}: binary data, not text; leave the file out, pass errors='skip'"):
        read_documents(folder)
    documents = read_documents(folder, errors="skip")
    with pytest.warns(SkippedRecords, match=rf"1 bad record skipped, the first: .*{name}: binary data"):
        assert list(documents.texts()) == TEXTS
    assert documents.skipped == 1


def test_bad_files_of_every_kind_are_counted_together(folder):
    (folder / "e.parquet").write_bytes(b"PAR1 cut")
    (folder / "z.xml").write_text("<rss>")
    (folder / "notes.md").write_text("\0")
    (folder / "b.jsonl").write_text("{\n")
    documents = read_documents(folder, errors="skip")
    with pytest.warns(SkippedRecords, match="4 bad records skipped"):
        assert list(documents.texts()) == ["plain", "comma", "tabs", "gzip", "xz", "wiki", "zstd", "wiki"]


def test_a_fault_names_the_file_it_is_in(folder):
    (folder / "e.parquet").write_bytes(b"PAR1 cut")
    read = []
    with pytest.raises(DataError, match=r"e\.parquet: damaged Parquet data"):
        read.extend(read_documents(folder).texts())
    (folder / "e.parquet").unlink()
    (folder / "sub/h.xml.bz2").write_bytes(bz2.compress(DUMP.encode())[:-5])
    with pytest.raises(DataError, match=r"h\.xml\.bz2:.*ends in the middle of the compressed data"):
        list(read_documents(folder).texts())
