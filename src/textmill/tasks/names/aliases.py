"""Names that mean the same: groups of nicknames or trade names, and values in which one name stands for its group.

    robert, bob, rob, bobby                      a line for each group; the first name stands for all
    international business machines, ibm

A run of words that is a name of a group is replaced, the longest first, from left to right; words are compared in their
plain form. A name of several groups ("bert" of albert and of robert) counts for the first one. Cost: one lookup for
each word and length of a name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from textmill.corpus import open_lines
from textmill.errors import DataError
from textmill.tasks.names.records import plain_form

__all__ = ["Aliases", "read_aliases"]


class Aliases:
    """Groups of names; a call rewrites a value in plain form.

    >>> aliases = Aliases([["Robert", "Bob"], ["International Business Machines", "IBM"]])
    >>> aliases("Bob Smith"), aliases("IBM Deutschland")
    ('robert smith', 'international business machines deutschland')
    """

    def __init__(self, groups: Iterable[Sequence[str]]) -> None:
        self._first: dict[str, str] = {}
        for group in groups:
            forms = [plain_form(name) for name in group]
            if len(forms) < 2 or not all(forms):
                raise DataError(f"a group of aliases needs two names or more, each with a letter, got {list(group)!r}")
            for form in forms:
                self._first.setdefault(form, self._first.get(forms[0], forms[0]))
        self._longest = max((form.count(" ") + 1 for form in self._first), default=0)

    def __call__(self, value: str) -> str:
        """The plain form of a value with the first name of its group for each name."""
        words, shown, at = plain_form(value).split(), [], 0
        while at < len(words):
            lengths = range(min(self._longest, len(words) - at), 0, -1)
            runs = (" ".join(words[at : at + length]) for length in lengths)
            name = next((run for run in runs if run in self._first), words[at])
            shown.append(self._first.get(name, name))
            at += name.count(" ") + 1
        return " ".join(shown)


def read_aliases(path: str | os.PathLike[str], *, encoding: str = "utf-8") -> Aliases:
    r"""Read a file with a group on each line, its names separated by commas; # begins a comment.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "nicknames.txt")
    ...     _ = path.write_text("robert, bob, rob\nwilliam, bill  # and will\n")
    ...     print(read_aliases(path)("Bill Smith"))
    william smith
    """
    groups = []
    for line, text in open_lines(os.fspath(path), encoding=encoding):
        named = text.partition("#")[0].strip()
        if not named:
            continue
        groups.append([name.strip() for name in named.split(",")])
        if len(groups[-1]) < 2 or not all(map(plain_form, groups[-1])):
            fault = f"{named[:40]!r} is no group of aliases; write two names or more, with commas between them"
            raise DataError(fault, source=os.fspath(path), line=line)
    return Aliases(groups)
