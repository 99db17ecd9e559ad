"""Which other kind of file somebody passed for a model, told by its first bytes.

A person who mixes up files wants to hear what the file is and what to do with it, not that a header was wrong.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable

__all__ = ["foreign_format", "kind_of_file"]

# how a file begins, what it is, what to do: what anybody may pass by mistake
_COMMON = (
    (b"\x1f\x8b", "a gzip file", "unpack it first: gunzip FILE"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file", "unpack it first: unzstd FILE"),
    (b"BZh", "a bzip2 file", "unpack it first: bunzip2 FILE"),
    (b"\xfd7zXZ\x00", "an xz file", "unpack it first: unxz FILE"),
    (b"PK\x03\x04", "a zip archive", "unpack it first: unzip FILE"),
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself", "fetch it: git lfs pull"),
    (b"<", "HTML or XML, perhaps the error page of a download", "download the file again"),
)
_BEGINNINGS = (
    (b"PK\x03\x04", "a zip archive, perhaps NumPy's .npz", "unpack it, or read bags with textmill.corpus"),
    (b"\x93NUMPY", "a NumPy array (.npy)", "read it with numpy.load"),
    (b"#mdl#", "a Wapiti model ('#mdl#' header)", "read it with sequence.read_wapiti"),
    (b"lCRF", "a CRFsuite model ('lCRF' header)", "read it with sequence.read_tagger"),
    (b"\xd6\xfd\xb2\x7e", "an OpenFst machine", "import it with textmill.fst"),
    (b"\x74\xfb\xb2\x7e", "an OpenFst symbol table", "import it with textmill.fst"),
    (b"mmap lm http://kheafield.com/code", "a KenLM binary", "convert its ARPA file with textmill.lm instead"),
    (b"%%MatrixMarket", "a Matrix Market file", "read it with textmill.corpus"),
    (b"\x89HDF\r\n", "an HDF5 file", "pass a file made by save"),
    (b"{", "JSON", "pass a file made by save"),
    (b"[", "JSON", "pass a file made by save"),
)


def kind_of_file(first: bytes, beginnings: Iterable[tuple[bytes, str, str]], text: str, other: str) -> str:
    """What begins with these bytes, and what to do: one of `beginnings`, of packed files and failed downloads, `text`.

    >>> kind_of_file(b"BZh9", [], "text", "an unknown file")
    'a bzip2 file; unpack it first: bunzip2 FILE'
    """
    for beginning, name, remedy in (*beginnings, *_COMMON):
        if first.startswith(beginning):
            return f"{name}; {remedy}"
    try:
        letters = codecs.getincrementaldecoder("utf-8")().decode(first)  # the cut may split a character
    except UnicodeDecodeError:
        return other
    return text if all(letter.isprintable() or letter.isspace() for letter in letters) else other


def foreign_format(first: bytes) -> str:
    """Name the format of a file that begins with these bytes and say what to do with it.

    >>> foreign_format(b"#mdl#2#123")
    "a Wapiti model ('#mdl#' header); read it with sequence.read_wapiti"
    """
    if not first:
        return "an empty file; perhaps an unfinished copy: fetch it again"
    if first[:1] == b"\x80" and first[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "a pickle, which could run code; train again or ask for a file made by save"
    if any(line.strip() == b"\\data\\" for line in first.splitlines()):
        return "an ARPA language model ('\\data\\' header); read it with textmill.lm"
    return kind_of_file(
        first,
        _BEGINNINGS,
        "plain text; pass a file made by save",
        "an unknown or damaged file; pass a file made by save",
    )
