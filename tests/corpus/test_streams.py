from __future__ import annotations

import gzip
import io
import itertools
import os
import pickle
import re
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.corpus import streams
from textmill.corpus.compression import COMPRESSIONS, compress
from textmill.corpus.streams import BadRecords, Part, SkippedRecords, decode_lines, open_bytes, open_lines, source_name
from textmill.errors import DataError

STRICT = BadRecords("strict", "x")
ANY = st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff")
ALPHABETS = {
    **dict.fromkeys(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"], ANY),
    **dict.fromkeys(["latin-1", "cp037"], st.characters(min_codepoint=1, max_codepoint=255)),
    **dict.fromkeys(["shift_jis", "gb18030"], st.sampled_from('a\\"表ソ能')),  # whose bytes mean something in ASCII
}


def lines_of(data: bytes, **options) -> list[str]:
    return [line for _, line in open_lines(io.BytesIO(data), **options)]


def expected_lines(text: str) -> list[str]:
    """The definition: line ends are \\n and \\r\\n, and the last line may lack one."""
    lines = re.split("\r?\n", text)
    return lines[:-1] if lines[-1] == "" else lines


def cuts(data: bytes, sizes: list[int]) -> list[bytes]:
    """The data in blocks of these sizes, in turn."""
    blocks, start = [], 0
    while start < len(data):
        size = sizes[len(blocks) % len(sizes)]
        blocks.append(data[start : start + size])
        start += size
    return blocks


# ---- lines


def test_lines_are_numbered_from_one_without_their_line_ends():
    assert list(open_lines(io.BytesIO(b"one\r\n\ntwo\n"))) == [(1, "one"), (2, ""), (3, "two")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("text", ["", "\n", "one\r\n\ntwo\n", "one\n\rtwo\r", "a\r\nb\u2028c\r\n"])
def test_lines_with_their_ends_join_to_the_text(text, encoding):
    assert "".join(lines_of(text.encode(encoding), encoding=encoding, keep_ends=True)) == text


def test_a_bad_line_keeps_its_place_among_lines_with_ends():
    data = b"one\r\nb\xffd\ntwo"
    lines = open_lines(io.BytesIO(data), errors=lambda fault, line: line.upper(), keep_ends=True)
    assert [line for _, line in lines] == ["one\r\n", "B\ufffdD\n", "two"]


def test_an_empty_file_has_no_lines_and_a_line_end_makes_one():
    assert lines_of(b"") == []
    assert lines_of(b"\n") == [""]
    assert lines_of(b"\n\n") == ["", ""]


def test_only_newline_and_carriage_return_newline_end_a_line():
    text = "a\rb\x0b\x0c\x1c\x85\u2028c\r\r\nd\r"
    assert lines_of(text.encode()) == ["a\rb\x0b\x0c\x1c\x85\u2028c\r", "d\r"]


@pytest.mark.parametrize("encoding", ALPHABETS)
def test_any_text_and_any_blocks_give_the_lines(encoding):
    @settings(derandomize=True, max_examples=40)
    @given(
        text=st.text(ALPHABETS[encoding] | st.sampled_from("\r\n"), max_size=30),
        sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    )
    def check(text, sizes):
        blocks = cuts(text.encode(encoding), sizes)
        got = list(decode_lines(blocks, encoding=encoding, bad=STRICT, name="x"))
        assert got == list(enumerate(expected_lines(text), 1))

    check()


@settings(derandomize=True, max_examples=100)
@given(
    raw=st.lists(
        st.sampled_from([b"a", b"\xc3", b"\xa9", b"\0", b"\n", b"\r", b"\xed\xa0\x80", "€".encode(), b"\xf0\x9f"])
    )
)
def test_bad_lines_are_found_one_by_one_whatever_the_blocks(raw):
    data = b"".join(raw)
    good, faults = [], []
    lines = data.split(b"\n")
    for number, line in enumerate(lines if lines[-1] else lines[:-1], 1):
        ends = number < len(lines)
        try:
            text = line.decode()
            if "\0" in text:
                faults.append((number, text.index("\0") + 1))
            else:
                good.append((number, text.removesuffix("\r") if ends else text))
        except UnicodeDecodeError:
            longest = next(size for size in range(len(line), -1, -1) if _decodes(line[:size]))
            faults.append((number, len(line[:longest].decode()) + 1))
    for sizes in ([1], [3], [1000]):
        seen = []
        keep = lambda error, line: seen.append((error.line, error.column))  # noqa: B023, E731
        assert list(decode_lines(cuts(data, sizes), encoding="utf-8", bad=keep, name="x")) == good
        assert seen == faults


def _decodes(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


# ---- byte-order marks and encodings


@pytest.mark.parametrize(
    ("encoding", "written"),
    [("utf-8", "utf-8-sig"), ("UTF8", "utf-8-sig"), ("utf-8-sig", "utf-8"), ("utf-16", "utf-16"), ("utf-32", "utf-32")],
)
def test_a_byte_order_mark_is_removed_and_need_not_be_there(encoding, written):
    assert lines_of("é\nb".encode(written), encoding=encoding) == ["é", "b"]


@pytest.mark.parametrize(("order", "mark"), [("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")])
def test_the_byte_order_mark_decides_the_byte_order(order, mark):
    assert lines_of(mark + "é\nĊ".encode(order), encoding="utf-16") == ["é", "Ċ"]
    assert lines_of(mark + "é\nĊ".encode(order), encoding=order) == ["é", "Ċ"]


def test_a_byte_order_mark_elsewhere_is_content():
    assert lines_of("a\n\ufeffb\n".encode()) == ["a", "\ufeffb"]
    blocks = ["\ufeffb\n".encode()]
    assert list(decode_lines(blocks, encoding="utf-8", bad=STRICT, name="x", line=2)) == [(2, "\ufeffb")]


ODD = "\u0a61\u0100\u6100\u0a61"  # in UTF-16 the bytes of a newline stand in here, in both orders, across characters


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_newline_bytes_across_code_units_do_not_end_lines(encoding):
    for text in (ODD, f"a\n{ODD}", f"{ODD}\n{ODD}\nend", f"a\n{ODD}" * 3):
        assert lines_of(text.encode(encoding), encoding=encoding) == expected_lines(text)
        blocks = cuts(text.encode(encoding), [5])
        assert [line for _, line in decode_lines(blocks, encoding=encoding, bad=STRICT, name="x")] == text.split("\n")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_bad_lines_of_wide_characters_are_left_out_alone(encoding):
    data = f"{ODD}\n".encode(encoding) + f"{ODD}\ud800\n{ODD}\n".encode(encoding, "surrogatepass")
    with pytest.warns(SkippedRecords, match="x:2:5: byte 0x"):
        assert lines_of(data, encoding=encoding, errors="skip", name="x") == [ODD, ODD]


@pytest.mark.parametrize("encoding", ["klingon", "base64", "rot13", "undefined"])
def test_an_unknown_encoding_is_named(encoding):
    with pytest.raises(DataError, match=f"unknown encoding '{encoding}'; try"):
        lines_of(b"a", encoding=encoding)


def test_an_encoding_whose_lines_depend_on_each_other_is_refused():
    with pytest.raises(DataError, match="iconv"):
        lines_of(b"a", encoding="iso2022_kr")


# ---- faults


FAULTS = {
    "latin-1": ("a\ncaf\xe9 noir\n".encode("latin-1"), "utf-8"),
    "cp1252": ("\u201cno\u201d\n".encode("cp1252"), "utf-8"),
    "utf-16 mark": ("a\nb\n".encode("utf-16"), "utf-8"),
    "utf-32 mark": ("a\nb\n".encode("utf-32"), "utf-8"),
    "utf-16 mark in latin-1": ("a\n".encode("utf-16"), "latin-1"),
    "utf-16-le": ("ab\n".encode("utf-16-le"), "utf-8"),
    "utf-16-be": ("ab\n".encode("utf-16-be"), "utf-8"),
    "NUL": (b"one\ntwo\0\n", "utf-8"),
    "surrogate": (b"one\n\xed\xa0\x80\n", "utf-8"),
    "cut": ("one\nzw\xf6lf \u20ac".encode()[:-1], "utf-8"),
    "cut utf-16": ("ab".encode("utf-16-le")[:-1], "utf-16"),
    "png": (b"\x89PNG\r\n\x1a\n\0\0", "utf-8"),
    "pdf": (b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", "utf-8"),
    "zip": (b"PK\x03\x04\x14\0", "utf-8"),
    "garbage": (b"\x80\x02\x01\xff\xfe\x05\n", "utf-8"),
}
MESSAGES = {
    "latin-1": "x:2:4: byte 0xe9 is not UTF-8; the line looks like latin-1, pass encoding='latin-1'",
    "cp1252": "x:1:1: byte 0x93 is not UTF-8; the line looks like cp1252, pass encoding='cp1252'",
    "utf-16 mark": "x:1:1: byte 0xff is not UTF-8; the file begins with a UTF-16 byte-order mark, "
    "pass encoding='utf-16'",
    "utf-32 mark": "x:1:1: byte 0xff is not UTF-8; the file begins with a UTF-32 byte-order mark, "
    "pass encoding='utf-32'",
    "utf-16 mark in latin-1": "x:1:4: NUL character; the file begins with a UTF-16 byte-order mark, "
    "pass encoding='utf-16'",
    "utf-16-le": "x:1:2: NUL character; the file looks like UTF-16, pass encoding='utf-16-le'",
    "utf-16-be": "x:1:1: NUL character; the file looks like UTF-16, pass encoding='utf-16-be'",
    "NUL": "x:2:4: NUL character; is this binary data?",
    "surrogate": "x:2:1: byte 0xed is not UTF-8; half a surrogate pair is no character; write the file again as UTF-8",
    "cut": "x:2:7: byte 0xe2 is not UTF-8; the file ends in the middle of a character; was the copy finished?",
    "cut utf-16": "x:1:2: byte 0x62 is not UTF-16-LE; the file ends in the middle of a character; "
    "was the copy finished?",
    "png": "x:1:1: byte 0x89 is not UTF-8; this is an image, not text",
    "pdf": "x:2:2: byte 0xe2 is not UTF-8; this is a PDF file, not text",
    "zip": "x:1:6: NUL character; this is a zip archive, not text",
    "garbage": "x:1:1: byte 0x80 is not UTF-8; is this binary data?",
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_names_place_reason_and_remedy(kind):
    data, encoding = FAULTS[kind]
    with pytest.raises(DataError) as caught:
        lines_of(data, name="x", encoding=encoding)
    assert str(caught.value) == MESSAGES[kind]


def test_random_bytes_give_an_error_with_a_place():
    garbage = bytes((i * i * 7919 + i // 3) % 251 + 5 for i in range(10_000))
    with pytest.raises(DataError) as caught:
        lines_of(garbage)
    assert caught.value.line is not None
    assert caught.value.column is not None


def test_an_invalid_byte_far_into_a_file_is_found_exactly(tmp_path):
    path = tmp_path / "far.txt"
    line = "naïve text of a line that is not short\r\n".encode()
    before = 12_000_000 // len(line)
    path.write_bytes(line * before + "ünder\xe9\n".encode("latin-1").replace(b"\xfc", "ü".encode()) + line)
    lines = open_lines(path)
    assert sum(1 for _ in itertools.islice(lines, before)) == before
    with pytest.raises(DataError, match="byte 0xe9 is not UTF-8") as caught:
        next(lines)
    assert (caught.value.source, caught.value.line, caught.value.column) == (str(path), before + 1, 6)


def test_gzip_inside_gzip_is_recognized():
    with pytest.raises(DataError, match="this is gzip data inside compressed data; decompress it once before"):
        lines_of(gzip.compress(gzip.compress(b"text", mtime=0)))


# ---- leaving bad lines out


def test_skipping_counts_and_reports_once():
    data = b"one\n\xff\ntwo\n\0\nthree"
    with pytest.warns(SkippedRecords) as caught:
        assert lines_of(data, errors="skip", name="x") == ["one", "two", "three"]
    (warning,) = [each.message for each in caught]
    assert (warning.count, warning.source, warning.first.line) == (2, "x", 2)
    assert str(warning).startswith("x: 2 bad records skipped, the first: x:2:1: byte 0xff")
    copy = pickle.loads(pickle.dumps(warning))  # noqa: S301
    assert str(copy) == str(warning)


def test_skipping_nothing_reports_nothing():
    assert lines_of(b"one\n", errors="skip") == ["one"]


def test_stopping_early_still_reports_what_was_skipped():
    lines = open_lines(io.BytesIO(b"\xff\none\ntwo\n"), errors="skip")
    assert next(lines) == (2, "one")
    with pytest.warns(SkippedRecords, match="1 bad record skipped"):
        lines.close()


def test_an_error_is_not_hidden_by_the_report(tmp_path):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"\xff\n" + bytes(range(32, 127)) * 100)[:60])
    with pytest.raises(DataError, match="ends in the middle"):
        list(open_lines(path, errors="skip"))


def test_a_reader_may_answer_for_bad_lines_itself():
    bad = lambda error, line: f"<{line}>" if error.line == 2 else None  # noqa: E731
    assert list(open_lines(io.BytesIO(b"a\nb\xff\r\nc\0\nd"), errors=bad)) == [(1, "a"), (2, "<b\ufffd>"), (4, "d")]


def test_readers_can_share_one_count():
    bad = BadRecords("skip", "both")
    assert list(open_lines(io.BytesIO(b"\xff\n"), errors=bad)) == []
    assert list(open_lines(io.BytesIO(b"\0\n"), errors=bad)) == []
    assert bad.count == 2
    with pytest.warns(SkippedRecords, match="both: 2 bad records"):
        bad.__exit__(None, None, None)


def test_errors_must_be_strict_or_skip():
    with pytest.raises(ValueError, match="errors must be 'strict' or 'skip', got 'ignore'"):
        lines_of(b"", errors="ignore")


# ---- sources


@pytest.mark.parametrize("suffix", sorted(COMPRESSIONS))
@pytest.mark.parametrize("keeps_suffix", [True, False])
def test_compressed_files_are_read_with_and_without_their_suffix(tmp_path, suffix, keeps_suffix):
    path = tmp_path / ("news.txt" + suffix * keeps_suffix)
    with open(path, "wb") as raw, compress(raw, COMPRESSIONS[suffix], "x") as out:
        out.write("één\ntwee\n".encode())
    assert list(open_lines(path)) == [(1, "één"), (2, "twee")]
    assert list(open_lines(str(path))) == [(1, "één"), (2, "twee")]


@pytest.mark.parametrize("suffix", sorted(COMPRESSIONS))
def test_a_cut_compressed_file_gives_its_lines_and_the_line_reached(tmp_path, suffix):
    path = tmp_path / f"news.txt{suffix}"
    text = b"".join(b"%d %x\n" % (i, hash((i, i * i)) & 0xFFFFFFFF) for i in range(30_000))
    with open(path, "wb") as raw, compress(raw, COMPRESSIONS[suffix], "x") as out:
        out.write(text)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    got = []
    with pytest.raises(
        DataError, match="the file ends in the middle of the compressed data; was the download"
    ) as caught:
        collect(open_lines(path), got)
    assert [line.encode() for line in got] == text.split(b"\n")[: len(got)]
    assert (caught.value.source, caught.value.line) == (str(path), len(got) + 1)
    if suffix in (".gz", ".zst"):  # the others have blocks of more than this
        assert got


def collect(lines, got):
    for _, line in lines:
        got.append(line)


def test_a_suffix_that_promises_compression_is_held_to_it(tmp_path):
    path = tmp_path / "news.txt.gz"
    path.write_bytes(b"<html>Not found</html>")
    with pytest.raises(DataError, match="the name promises gzip data but the file begins with b'<html>Not "):
        list(open_lines(path))
    path.write_bytes(b"")
    with pytest.raises(DataError, match="the name promises gzip data but the file is empty"):
        list(open_lines(path))


def test_an_open_stream_is_read_from_where_it_is_and_stays_open():
    stream = io.BytesIO(b"skipped\n" + gzip.compress(b"one\ntwo\n"))
    stream.readline()
    assert [line for _, line in open_lines(stream)] == ["one", "two"]
    assert not stream.closed
    with open_bytes(io.BytesIO(b"plain")) as opened:
        assert opened.read() == b"plain"


def test_a_text_stream_is_refused_with_advice():
    with pytest.raises(DataError, match="open it in binary mode"):
        list(open_lines(io.StringIO("text")))


def test_what_the_system_refuses_stays_an_os_error(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError):
        list(open_lines(tmp_path / "missing.txt"))
    with pytest.raises(IsADirectoryError):
        list(open_lines(tmp_path))

    def refuse(path, mode):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(streams, "open", refuse, raising=False)
    with pytest.raises(PermissionError):
        list(open_lines("secret.txt"))


def test_sources_have_names(tmp_path):
    assert source_name("-") == "stdin"
    assert source_name(Path("a/b.txt")) == "a/b.txt"
    with open(tmp_path / "named", "wb") as stream:
        assert source_name(stream) == str(tmp_path / "named")


def test_a_pipe_is_read_though_it_cannot_go_back(tmp_path):
    path = tmp_path / "pipe"
    for data, slowly in (
        (b"one\ntwo\n", False),
        (gzip.compress(b"one\ntwo\n"), False),
        (gzip.compress(b"one\ntwo\n"), True),
    ):
        os.mkfifo(path)
        thread = threading.Thread(target=_write_pipe, args=(path, data, slowly))
        thread.start()
        assert [line for _, line in open_lines(path)] == ["one", "two"]
        thread.join()
        path.unlink()


def _write_pipe(path, data, slowly):
    with open(path, "wb", buffering=0) as pipe:
        for block in cuts(data, [1 if slowly else 1000]):
            pipe.write(block)


def run_python(program: str, *, wait: bool = True, **options):
    folder = str(Path(streams.__file__).absolute().parents[2])
    environment = {**os.environ, "PYTHONPATH": folder, "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-c", program]
    if wait:
        return subprocess.run(command, env=environment, capture_output=True, timeout=60, **options)
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input_is_read_through_a_pipe(packed):
    data = "één\ntwee\n".encode()
    program = "from textmill.corpus.streams import open_lines; print(list(open_lines('-')))"
    done = run_python(program, input=gzip.compress(data) if packed else data)
    assert done.stdout.decode().strip() == "[(1, 'één'), (2, 'twee')]", done.stderr


def test_lines_of_a_pipe_come_as_soon_as_they_are_written():
    program = "from textmill.corpus.streams import open_lines\nfor line in open_lines('-'): print(line, flush=True)"
    with run_python(program, wait=False) as running:
        for number, line in enumerate(["a", "(b", "c"], 1):
            running.stdin.write(f"{line}\n".encode())
            running.stdin.flush()
            assert running.stdout.readline().decode().strip() == str((number, line))
        running.stdin.close()
        assert running.wait(60) == 0


# ---- parts of files


@settings(derandomize=True, max_examples=30)
@given(text=st.text("aé\r\n\ufeff", max_size=40))
def test_parts_of_a_file_cut_at_line_ends_give_its_lines(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "parts.txt"
    data = text.encode()
    path.write_bytes(data)
    ends = [0, *(i + 1 for i, byte in enumerate(data) if byte == 10), len(data)]
    got = []
    for line, (start, stop) in enumerate(itertools.pairwise(ends), 1):
        got += Part(str(path), "x", start=start, stop=stop, line=line).lines(STRICT)
    assert got == list(open_lines(path))


# ---- size


def test_a_line_of_100_megabytes_is_read(tmp_path):
    path = tmp_path / "long.txt"
    with open(path, "wb") as out:
        out.write(b"before\n")
        for _ in range(100):
            out.write("é".encode() * 500_000)
        out.write(b"\nafter\n")
    with warnings.catch_warnings(action="error"):
        (_, first), (_, long), (_, last) = open_lines(path)
    assert (first, len(long), long[:1], long[-1:], last) == ("before", 50_000_000, "é", "é", "after")
