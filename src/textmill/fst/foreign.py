"""What a file is that somebody passed for a machine, told by its first bytes, and what to do with it."""

from __future__ import annotations

from textmill.model import kind_of_file

__all__ = ["foreign_machine"]

# how a file begins, what it is, what to do
_BEGINNINGS = (
    ((2125656924).to_bytes(4, "little"), "an archive of machines (FAR)", "see 'textmill fst far --help'"),
    ((5656924).to_bytes(4, "little"), "an archive of machines (FAR)", "see 'textmill fst far --help'"),
    ((2125658996).to_bytes(4, "little"), "a symbol table of OpenFst", "it goes beside a machine, with --isymbols"),
)


def foreign_machine(first: bytes) -> str:
    """Name the kind of a file that begins with these bytes, and what to do.

    >>> foreign_machine(b"the mill")
    "text; compile arcs with 'textmill fst compile', or a list of words with 'textmill fst lexicon'"
    """
    if first[8:9] == b"{" and b'"textmill"' in first:
        return "a model file of textmill; 'textmill info FILE' describes it"
    return kind_of_file(
        first,
        _BEGINNINGS,
        "text; compile arcs with 'textmill fst compile', or a list of words with 'textmill fst lexicon'",
        "an unknown or damaged file; name a machine of OpenFst or textmill",
    )
