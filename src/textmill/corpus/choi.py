"""Choi's format for texts with known segments: one sentence per line, segments between lines of `==========`.

    ==========
    The first sentence .
    The second one .
    ==========
    ...

A line of ten or more equals signs parts segments; blank lines and empty segments are left out.
Reference: Choi (2000), Advances in domain independent linear text segmentation.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from textmill.corpus.streams import open_lines, source_name
from textmill.errors import DataError
from textmill.files import replacing

__all__ = ["parse_choi", "read_choi", "write_choi"]

MARK = "=========="


def parse_choi(lines: Iterable[str]) -> list[list[str]]:
    """The sentences of each segment.

    >>> parse_choi(["==========", "To be .", "Or not .", "==========", "To be .", "=========="])
    [['To be .', 'Or not .'], ['To be .']]
    """
    segments: list[list[str]] = [[]]
    for line in lines:
        stripped = line.strip()
        if len(stripped) >= len(MARK) and not stripped.strip("="):
            segments.append([])
        elif stripped:
            segments[-1].append(stripped)
    return [segment for segment in segments if segment]


def read_choi(source: Any, *, encoding: str = "utf-8", errors: str = "strict") -> list[list[str]]:
    """Read the sentences of each segment of a file; a file without any is refused.

    >>> import io
    >>> read_choi(io.BytesIO(b"==========\\nTo be .\\n==========\\nOr not .\\n"))
    [['To be .'], ['Or not .']]
    """
    lines = [line for _, line in open_lines(source, encoding=encoding, errors=errors)]
    segments = parse_choi(lines)
    if segments and not any(len(line.strip()) >= len(MARK) and not line.strip().strip("=") for line in lines):
        fault = f"no line of {MARK}, which stands between segments; one sentence is on each other line"
        raise DataError(fault, source=source_name(source))
    if not segments:
        raise DataError(f"{source_name(source)}: no sentences; one is on each line, and segments between {MARK}")
    return segments


def write_choi(segments: Iterable[Iterable[str]], path: str | os.PathLike[str]) -> None:
    """Write the sentences of segments; a line break inside of a sentence becomes a blank."""
    lines = [MARK]
    for segment in segments:
        lines += [" ".join(sentence.split()) for sentence in segment]
        lines.append(MARK)
    with replacing(path) as file:
        file.write("\n".join([*lines, ""]).encode())
