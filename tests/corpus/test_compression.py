from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import tracemalloc
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.corpus.compression import BLOCK, COMPRESSIONS, compress, decompress, pieces, recognize, stream_of
from textmill.errors import DataError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    zstd = pytest.importorskip("backports.zstd")

SUFFIXES = sorted(COMPRESSIONS)
TEXT = b"".join(b"line %d of some length\n" % number for number in range(4_000))


def pack(suffix: str, data: bytes) -> bytes:
    packed = io.BytesIO()
    with compress(packed, COMPRESSIONS[suffix], "x") as stream:
        stream.write(data)
    return packed.getvalue()


def unpack(suffix: str, data: bytes) -> bytes:
    return decompress(io.BytesIO(data), COMPRESSIONS[suffix], "some.file").read()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_compressing_and_decompressing_gives_the_same_bytes(suffix):
    for data in (b"", b"x", TEXT):
        assert unpack(suffix, pack(suffix, data)) == data


@pytest.mark.parametrize(("suffix", "library"), [(".gz", gzip), (".bz2", bz2), (".xz", lzma)])
def test_the_standard_library_reads_what_we_write_and_the_reverse(suffix, library):
    assert library.decompress(pack(suffix, TEXT)) == TEXT
    assert unpack(suffix, library.compress(TEXT)) == TEXT


def test_the_zstd_library_reads_what_we_write_and_the_reverse():
    assert zstd.decompress(pack(".zst", TEXT)) == TEXT
    assert unpack(".zst", zstd.compress(TEXT)) == TEXT


class Pieces(io.BytesIO):
    """A stream that gives some bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data)
        self.size = size

    def read1(self, size: int | None = -1) -> bytes:
        return self.read(self.size)


@pytest.mark.parametrize("library", ["isal", "zlib"])
@given(
    members=st.lists(st.binary(max_size=40) | st.integers(1, 300_000).map(bytes), max_size=4),
    padding=st.integers(0, 3),
    size=st.sampled_from([1, 7, BLOCK]),
    cut=st.integers(0, 9),
)
@settings(deadline=None, max_examples=60)
def test_both_gzip_libraries_give_what_the_standard_one_gives(library, members, padding, size, cut):
    packed = b"".join(gzip.compress(member, mtime=0) + bytes(padding) for member in members)
    packed = packed[: len(packed) - cut] if cut else packed
    with pytest.MonkeyPatch.context() as patch:
        if library == "zlib":
            patch.setitem(sys.modules, "isal", None)
        else:
            pytest.importorskip("isal")
        content = decompress(Pieces(packed, size), COMPRESSIONS[".gz"], "x")
        try:
            expected = gzip.decompress(packed)
        except (EOFError, gzip.BadGzipFile):
            with pytest.raises(DataError, match=r"^x: (the file ends in the middle|damaged gzip data)"):
                content.read()
        else:
            assert content.read() == expected


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_members_in_a_row_are_one_content(suffix):
    assert unpack(suffix, pack(suffix, TEXT) + pack(suffix, b"") + pack(suffix, b"the end")) == TEXT + b"the end"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_same_text_gives_the_same_bytes_at_any_time(suffix, monkeypatch):
    before = pack(suffix, TEXT)
    monkeypatch.setattr("time.time", lambda: 1e9)
    assert pack(suffix, TEXT) == before


def test_zstd_data_is_written_with_a_checksum():
    assert pack(".zst", TEXT)[4] & 4  # the flag in the descriptor of the frame (RFC 8878, 3.1.1.1.1)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_compressed_data_is_recognized_by_its_first_ten_bytes(suffix):
    assert recognize(pack(suffix, b"")[:10]) is COMPRESSIONS[suffix]
    assert recognize(pack(suffix, TEXT)[:10]) is COMPRESSIONS[suffix]


@pytest.mark.parametrize("head", [b"", b"B", b"BZh9 begins bzip2", b"(plain) text", b"\x1f", "\ufefft".encode()])
def test_plain_data_is_not_taken_for_compressed(head):
    assert recognize(head) is None


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("share", [0.3, 0.7, 0.99])
def test_cut_data_gives_its_beginning_and_then_an_error(suffix, share):
    packed = pack(suffix, TEXT)
    stream = decompress(io.BytesIO(packed[: int(len(packed) * share)]), COMPRESSIONS[suffix], "some.file")
    got = []
    with pytest.raises(DataError, match=r"^some\.file: the file ends in the middle of the compressed data"):
        got.extend(iter(partial(stream.read1, BLOCK), b""))
    assert TEXT.startswith(b"".join(got))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_cut_second_member_is_an_error(suffix):
    with pytest.raises(DataError, match="ends in the middle"):
        unpack(suffix, pack(suffix, b"first\n") + pack(suffix, TEXT)[:-30])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damaged_data_is_an_error_that_names_the_compression(suffix):
    packed = bytearray(pack(suffix, TEXT))
    packed[-3] ^= 0x5A
    with pytest.raises(DataError, match=rf"^some\.file: damaged {COMPRESSIONS[suffix].name} data \("):
        unpack(suffix, bytes(packed))


def test_garbage_after_gzip_data_is_an_error():
    with pytest.raises(DataError, match="damaged gzip data"):
        unpack(".gz", gzip.compress(TEXT) + b"garbage")


def test_a_disk_error_stays_a_disk_error():
    class Broken(io.BytesIO):
        def read1(self, size=-1):
            raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="Input/output error"):
        decompress(Broken(), COMPRESSIONS[".gz"], "x").read()


def test_skippable_zstd_frames_are_skipped():
    frame = b"\x5a\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"notes"
    assert recognize(frame) is COMPRESSIONS[".zst"]
    assert unpack(".zst", frame + pack(".zst", TEXT) + frame) == TEXT


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_small_file_with_enormous_content_does_not_fill_the_memory(suffix):
    size = 50_000_000
    packed = pack(suffix, bytes(size))
    tracemalloc.start()
    try:
        content = decompress(io.BytesIO(packed), COMPRESSIONS[suffix], "x")
        assert sum(map(len, pieces(content))) == size
        assert tracemalloc.get_traced_memory()[1] < 35_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python has zstd itself")
def test_zstd_without_its_library_names_what_to_install(monkeypatch):
    packed = pack(".zst", b"text")
    monkeypatch.setitem(sys.modules, "backports", None)
    with pytest.raises(DataError, match=r"^some\.file: zstd data needs .*pip install 'textmill\[io\]'"):
        unpack(".zst", packed)
    with pytest.raises(DataError, match=r"^x: zstd data needs .*pip install 'textmill\[io\]'"):
        pack(".zst", b"text")


def test_a_stream_of_parts_reads_like_a_file():
    stream = stream_of(iter([b"on", b"e\n", b"", b"two\nth", b"ree"]))
    assert stream.readline() == b"one\n"
    assert stream.read(2) == b"tw"
    assert stream.read() == b"o\nthree"
    assert stream.read() == b""
