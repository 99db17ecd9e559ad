"""Messages with marked spans: inline mark-up to standoff spans, and back.

    <greeting> hi Jane </greeting> <caller> this is Pat Caller </caller> call me at <telno> one two three </telno>

A file has one message per line; an empty line is an empty message, and is kept. Tokens are what blanks separate. Tags
may touch their tokens; spans do not overlap. The name of a caller is the leftmost run of capitalized tokens in the
caller's phrase, from its first token as far as it goes; I, I'm, I've, I'd and I'll are no names.

Reference: Jansche & Abney (2002), Information extraction from voicemail transcripts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from textmill.corpus import open_source
from textmill.errors import DataError
from textmill.files import replacing
from textmill.model import check_choice

__all__ = [
    "LABELS",
    "MarkedSpan",
    "Message",
    "caller_name",
    "parse_message",
    "read_messages",
    "sample_messages",
    "write_messages",
]

LABELS = ("greeting", "caller", "telno", "closing")
_TAG = re.compile(r"<(/?)([^<>\s]*)>")
_PRONOUNS = frozenset(("I", "I'm", "I've", "I'd", "I'll"))


class MarkedSpan(NamedTuple):
    """Tokens `start` to `end` (not included) of a message, and what they are."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class Message:
    """The tokens of a message and its spans, by their place.

    >>> message = parse_message("<greeting> hi </greeting> <caller> this is Pat Caller </caller> call me")
    >>> message.tokens[:3], message.spans[1]
    (('hi', 'this', 'is'), MarkedSpan(start=1, end=5, label='caller'))
    >>> message.name
    MarkedSpan(start=3, end=5, label='name')
    >>> str(message)
    '<greeting> hi </greeting> <caller> this is Pat Caller </caller> call me'
    """

    tokens: tuple[str, ...]
    spans: tuple[MarkedSpan, ...] = ()

    def __post_init__(self) -> None:
        last = 0
        for start, end, label in self.spans:
            if not last <= start < end <= len(self.tokens):
                raise DataError(
                    f"span {start}-{end} ({label}) is empty, overlaps the one before or leaves the message of "
                    f"{len(self.tokens)} tokens; give spans in order, without overlap"
                )
            last = end

    @property
    def text(self) -> str:
        """The tokens with blanks between."""
        return " ".join(self.tokens)

    @property
    def caller(self) -> MarkedSpan | None:
        """The caller's phrase, the first if there are several."""
        return next(iter(self.marked("caller")), None)

    @property
    def name(self) -> MarkedSpan | None:
        """The caller's name, by its capitals."""
        caller = self.caller
        run = None if caller is None else caller_name(self.tokens[caller.start : caller.end])
        if caller is None or run is None:
            return None
        return MarkedSpan(caller.start + run[0], caller.start + run[1], "name")

    def marked(self, label: str) -> list[MarkedSpan]:
        """The spans of a label."""
        return [span for span in self.spans if span.label == label]

    def __str__(self) -> str:
        words: list[str] = []
        at = 0
        for start, end, label in self.spans:
            words += [*self.tokens[at:start], f"<{label}>", *self.tokens[start:end], f"</{label}>"]
            at = end
        return " ".join([*words, *self.tokens[at:]])


def caller_name(tokens: Sequence[str]) -> tuple[int, int] | None:
    """Where the name is in a caller's phrase: the leftmost run of capitalized tokens; None without any.

    >>> caller_name("this is Pat from the Murray Hill office".split())
    (2, 3)
    >>> caller_name("I'm Pat Caller".split())
    (1, 3)
    >>> caller_name("it's me".split()) is None
    True
    """
    start = next((i for i, token in enumerate(tokens) if _capitalized(token)), None)
    if start is None:
        return None
    end = start + 1
    while end < len(tokens) and _capitalized(tokens[end]):
        end += 1
    return start, end


def _capitalized(token: str) -> bool:
    return token[:1].isupper() and token not in _PRONOUNS


def parse_message(text: str, *, source: str | None = None, line: int | None = None) -> Message:
    """A message from its mark-up; `source` and `line` are named in errors.

    >>> parse_message("call <telno> one two three four </telno>").spans
    (MarkedSpan(start=1, end=5, label='telno'),)
    >>> parse_message("<caller> this is <telno> one </telno> </caller>", source="calls.txt", line=3)
    Traceback (most recent call last):
    textmill.errors.DataError: calls.txt:3: <telno> inside of <caller>; spans must not overlap, close one first
    """
    if text.startswith('{"'):
        fault = "a JSON object is no message; give the words alone, one message per line"
        raise DataError(fault, source=source, line=line)
    tokens: list[str] = []
    spans: list[MarkedSpan] = []
    label, start, at = "", 0, 0
    for tag in _TAG.finditer(text):
        tokens += text[at : tag.start()].split()
        at = tag.end()
        closing, name = tag.groups()
        if name not in LABELS:
            raise DataError(f"unknown tag {tag[0]}; tags are {', '.join(LABELS)}", source=source, line=line)
        if not closing:
            if label:
                fault = f"{tag[0]} inside of <{label}>; spans must not overlap, close one first"
                raise DataError(fault, source=source, line=line)
            label, start = name, len(tokens)
        elif name != label:
            before = f"<{label}> is open" if label else "nothing is open"
            raise DataError(f"{tag[0]} where {before}; close what was opened", source=source, line=line)
        else:
            if len(tokens) == start:
                raise DataError(f"nothing between <{name}> and {tag[0]}; leave the tags out", source=source, line=line)
            spans.append(MarkedSpan(start, len(tokens), label))
            label = ""
    if label:
        raise DataError(f"<{label}> is not closed; add </{label}>", source=source, line=line)
    tokens += text[at:].split()
    return Message(tuple(tokens), tuple(spans))


def read_messages(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], *, encoding: str = "utf-8"
) -> Iterator[Message]:
    """Messages of files with one per line or record, as they are read; "-" for standard input."""
    paths = [sources] if isinstance(sources, str | os.PathLike) else sources
    for path in paths:
        with open_source(path, encoding=encoding) as opened:
            for document in opened.documents():
                yield parse_message(document.text, source=document.source, line=document.line)


def sample_messages(part: str = "train") -> list[Message]:
    """Made-up messages to try things with: 1,000 of "train", 200 of "test", in which other people call.

    >>> messages = sample_messages("test")
    >>> len(messages), messages[1].tokens[:4]
    (200, ('hi', 'this', 'is', 'Catherine'))
    """
    check_choice("part", part, ("train", "test"))
    return list(read_messages(Path(__file__).parent / "samples" / f"{part}.txt"))


def write_messages(path: str | os.PathLike[str], messages: Iterable[Message]) -> int:
    """Write messages with their mark-up, one per line; returns how many."""
    count = 0
    with replacing(path) as stream:
        for message in messages:
            stream.write(f"{message}\n".encode())
            count += 1
    return count
