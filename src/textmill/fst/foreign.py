"""What a file is that somebody passed for a machine, told by its first bytes, and what to do with it."""

from __future__ import annotations

import codecs

__all__ = ["foreign_machine"]

# how a file begins, what it is, what to do
_BEGINNINGS = (
    ((2125656924).to_bytes(4, "little"), "an archive of machines (FAR)", "see 'textmill fst far --help'"),
    ((5656924).to_bytes(4, "little"), "an archive of machines (FAR)", "see 'textmill fst far --help'"),
    ((2125658996).to_bytes(4, "little"), "a symbol table of OpenFst", "it goes beside a machine, with --isymbols"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file", "decompress it first"),
    (b"BZh", "a bzip2 file", "decompress it first"),
    (b"\xfd7zXZ\x00", "an xz file", "decompress it first"),
    (b"PK\x03\x04", "a zip archive", "unpack it first"),
    (b"<", "HTML or XML, perhaps the error page of a download", "fetch the machine again"),
    (b"version https://git-lfs", "a Git LFS pointer", "fetch the file itself: git lfs pull"),
)


def foreign_machine(first: bytes) -> str:
    """Name the kind of a file that begins with these bytes, and what to do.

    >>> foreign_machine(b"the mill")
    "text; compile arcs with 'textmill fst compile', or a list of words with 'textmill fst lexicon'"
    """
    for beginning, name, remedy in _BEGINNINGS:
        if first.startswith(beginning):
            return f"{name}; {remedy}"
    if first[8:9] == b"{" and b'"textmill"' in first:
        return "a model file of textmill; 'textmill info FILE' describes it"
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(first)  # the cut may split a character
    except UnicodeDecodeError:
        text = "\0"
    if all(letter.isprintable() or letter.isspace() for letter in text):
        return "text; compile arcs with 'textmill fst compile', or a list of words with 'textmill fst lexicon'"
    return "an unknown or damaged file; name a machine of OpenFst or textmill"
