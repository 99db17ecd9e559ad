from __future__ import annotations

import builtins
import gzip
import io
import random
import tracemalloc

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from textmill.corpus.parquet import read_parquet
from textmill.corpus.readers import SkippedRecords, read_documents, read_records
from textmill.corpus.streams import BadRecords, Part
from textmill.errors import DataError

ROWS = [
    {"id": 1, "text": "a storm", "score": 0.5, "good": True, "tags": ["x", "y"], "by": {"name": "Ann"}, "raw": b"\xff"},
    {"id": 2, "text": "", "score": None, "good": None, "tags": [], "by": None, "raw": None},
    {"id": 3, "text": "déjà vu 🌧", "score": -1.0, "good": False, "tags": None, "by": {"name": None}, "raw": b""},
]


@pytest.fixture
def path(tmp_path):
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "news.parquet")
    return tmp_path / "news.parquet"


def test_rows_are_records_with_their_number_and_python_values(path):
    records = list(read_records(path))
    assert [record.fields for record in records] == ROWS
    assert [record.line for record in records] == [1, 2, 3]
    documents = read_documents(path)
    for _ in range(2):
        assert [(document.id, document.text) for document in documents] == [
            ("1", "a storm"), ("2", ""), ("3", "déjà vu 🌧"),
        ]  # fmt: skip
    assert [list(chunk.texts()) for chunk in documents.chunks(1)] == [[row["text"] for row in ROWS]]


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "brotli", "lz4"])
def test_every_compression_inside_and_every_kind_of_string_is_read(tmp_path, compression):
    texts = [f"text {i % 7}" for i in range(1000)]
    kinds = {"plain": pa.string(), "large": pa.large_string(), "coded": pa.dictionary(pa.int32(), pa.string())}
    table = pa.table({name: pa.array(texts).cast(kind) for name, kind in kinds.items()})
    pq.write_table(table, tmp_path / "x.parquet", compression=compression, row_group_size=300)
    for name in kinds:
        assert list(read_documents(tmp_path / "x.parquet", text_field=name).texts()) == texts


@pytest.mark.parametrize(("field", "kind"), [("tags", "list"), ("by", "dict"), ("raw", "bytes"), ("id", "int")])
def test_a_column_that_holds_no_text_is_named(path, field, kind):
    with pytest.raises(DataError, match=rf"news\.parquet:1:{field}: the field '{field}' holds .* {kind}, not a text"):
        list(read_documents(path, text_field=field))


def test_a_missing_column_is_an_error_that_lists_the_columns(path):
    with pytest.raises(DataError, match=r"no field 'body'; the fields are 'id', 'text', .* text_field"):
        list(read_documents(path, text_field="body"))


def test_streams_and_compressed_files_are_read_through_a_copy(path, tmp_path):
    data = path.read_bytes()
    assert len(list(read_records(io.BytesIO(data), format="parquet"))) == 3
    (tmp_path / "again.parquet.gz").write_bytes(gzip.compress(data))
    assert [record.fields for record in read_records(tmp_path / "again.parquet.gz")] == ROWS
    (tmp_path / "cut.parquet.gz").write_bytes(gzip.compress(data)[:-20])
    with pytest.raises(DataError, match=r"cut\.parquet\.gz: the file ends in the middle of the compressed data"):
        list(read_records(tmp_path / "cut.parquet.gz"))


def test_damaged_files_are_errors_that_name_the_file_or_are_skipped(path):
    data = path.read_bytes()
    random.seed(1)
    for length in [0, 3, 4, 8, *(random.randrange(9, len(data)) for _ in range(20))]:
        path.write_bytes(data[:length])
        with pytest.raises(DataError, match=r"news\.parquet: damaged Parquet data .* fetch or make the file again"):
            list(read_records(path))
        with pytest.warns(SkippedRecords, match="1 bad record skipped"):
            assert list(read_records(path, errors="skip")) == []
    path.write_bytes(b"id,text\n1,a\n" * 10)
    with pytest.raises(DataError, match="damaged Parquet data"):
        list(read_records(path))


def test_changed_bytes_give_records_or_a_data_error(path):
    data = path.read_bytes()
    random.seed(2)
    for _ in range(200):
        broken = bytearray(data)
        broken[random.randrange(len(data))] ^= random.randrange(1, 256)
        path.write_bytes(broken)
        try:
            list(read_records(path))
        except DataError as error:
            assert "\n" not in str(error)  # noqa: PT017


def test_damage_in_the_middle_comes_after_the_rows_before_it(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"text": [f"text {i}" * 5 for i in range(2000)]}), path, row_group_size=500)
    start = pq.ParquetFile(path).metadata.row_group(2).column(0).dictionary_page_offset
    data = bytearray(path.read_bytes())
    data[start : start + 40] = b"\xff" * 40
    path.write_bytes(data)
    read = []
    lines = (record.line for record in read_records(path))
    with pytest.raises(DataError, match=r"x\.parquet:\d+: damaged Parquet data") as caught:
        read.extend(lines)
    assert read == list(range(1, caught.value.line))
    assert 500 <= len(read) <= 1000
    with pytest.warns(SkippedRecords):
        assert len(list(read_records(path, errors="skip"))) == len(read)


def test_a_text_that_is_not_utf_8_is_one_bad_record(tmp_path):
    binary = pa.array([b"a", b"\xff", b"c"])
    text = pa.StringArray.from_buffers(3, binary.buffers()[1], binary.buffers()[2])
    pq.write_table(pa.table({"text": text}), tmp_path / "x.parquet")
    with pytest.raises(DataError, match=r"x\.parquet:2: a text is not UTF-8"):
        list(read_records(tmp_path / "x.parquet"))
    with pytest.warns(SkippedRecords, match="1 bad record"):
        assert list(read_documents(tmp_path / "x.parquet", errors="skip").texts()) == ["a", "c"]


def test_times_finer_than_python_knows_are_cut(tmp_path):
    table = pa.table(
        {
            "day": pa.array([1_000_000_001], pa.timestamp("ns")),
            "zoned": pa.array([1_000_000_001], pa.timestamp("ns", tz="UTC")),
            "time": pa.array([1_001], pa.time64("ns")),
            "span": pa.array([1_999], pa.duration("ns")),
        }
    )
    pq.write_table(table, tmp_path / "x.parquet")
    (record,) = read_records(tmp_path / "x.parquet")
    assert [str(value) for value in record.fields.values()] == [
        "1970-01-01 00:00:01", "1970-01-01 00:00:01+00:00", "00:00:00.000001", "0:00:00.000001",
    ]  # fmt: skip


def test_a_value_python_cannot_hold_is_one_bad_record(tmp_path):
    years = pa.array([0, 1 << 50, 1], pa.timestamp("ms"))
    pq.write_table(pa.table({"year": years}), tmp_path / "x.parquet")
    with pytest.warns(SkippedRecords, match=r"x\.parquet:2: a value cannot be read"):
        assert [record.line for record in read_records(tmp_path / "x.parquet", errors="skip")] == [1, 3]


def test_two_columns_of_one_name_are_an_error(tmp_path):
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(DataError, match=r"x\.parquet: 2 columns have the name 'text'; rename them"):
        list(read_records(tmp_path / "x.parquet"))


def test_a_file_without_rows_holds_no_records(tmp_path):
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), tmp_path / "x.parquet")
    assert list(read_records(tmp_path / "x.parquet")) == []


def test_memory_does_not_grow_with_a_huge_row_group(tmp_path):
    path = tmp_path / "x.parquet"
    schema = pa.schema([("text", pa.string())])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as out:
        out.write_table(pa.table({"text": [f"{i:06d}" * 500 for i in range(20_000)]}), row_group_size=20_000)
    assert path.stat().st_size > 50e6
    pool, before = pa.default_memory_pool(), pa.total_allocated_bytes()
    tracemalloc.start()
    most = 0
    for record in read_records(path):
        if record.line % 500 == 0:
            most = max(most, pool.bytes_allocated() - before)
    python = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 10e6
    assert python < 10e6


def test_a_missing_library_is_named(path, monkeypatch):
    real = builtins.__import__

    def refuse(name, *arguments, **options):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(DataError, match=r"Parquet needs the pyarrow library: pip install 'textmill\[parquet\]'"):
        list(read_parquet(Part(str(path), "x.parquet"), BadRecords("skip", "x.parquet")))
