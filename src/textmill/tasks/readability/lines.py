"""Lines that were broken to fit a page are joined again, so that a line end does not end a sentence.

A line end is taken for a blank if the first word of the next line would hardly have fitted in, and the text is wrapped:

    width       the longest line of at most 120 characters; at least 40, and at most one line in five is longer
    hardly      length of the line + 1 + length of the word > 0.8 width: people and programs break a little early
    wrapped     of such line ends where no sentence ends, at least a third go on with a lower-case letter

Verse, lists, tables and headings stay as they are, and so does a text that has a paragraph on each line. Every
character keeps its place. Cost: one pass over the lines.
"""

from __future__ import annotations

import re

__all__ = ["unwrap_lines"]

_WIDEST, _NARROWEST = 120, 40
_FULL = 0.8  # share of the width that a line and the next word take
_LONGER = 0.2  # share of lines that may be longer than the widest
_LOWER = 1 / 3  # share of line ends with a lower-case letter behind them
_ENDED = re.compile(r"[.?!:][\"')\]\u201d\u2019]*\s*$")
_FIRST = re.compile(r"\S+")


def unwrap_lines(text: str) -> str:
    """Return a text with blanks in place of the line ends that only fit it to a width.

    >>> text = "The mill by the old river turns all day and\\nall night, and the miller sleeps.\\n\\nIt is old."
    >>> unwrap_lines(text).count("\\n")
    2
    >>> unwrap_lines("Milk\\nBread\\nThree eggs").count("\\n")
    2
    """
    lines = text.split("\n")
    if len(lines) < 2:
        return text
    sizes = [len(line.rstrip()) for line in lines]
    filled = [size for size in sizes if size]
    width = max((size for size in filled if size <= _WIDEST), default=0)
    if width < _NARROWEST or sum(size > _WIDEST for size in filled) > _LONGER * len(filled):
        return text
    soft, lower, unended = [], 0, 0
    for at in range(len(lines) - 1):
        word = _FIRST.search(lines[at + 1])
        if not sizes[at] or word is None or sizes[at] > _WIDEST or sizes[at] + 1 + len(word[0]) <= _FULL * width:
            continue
        soft.append(at)
        if _ENDED.search(lines[at]) is None:
            unended += 1
            lower += word[0][0].islower()
    if not unended or lower < _LOWER * unended:
        return text
    joined = set(soft)
    return "".join(f"{line.replace(chr(13), ' ')} " if at in joined else f"{line}\n" for at, line in enumerate(lines))[
        :-1
    ]
