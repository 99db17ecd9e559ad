"""Tag schemes: labeled spans written as one tag a token.

A tag is `O` (outside every span) or a letter, a hyphen and a label (`B-PER`); spans without labels have the bare
letter (`B`). Letters mean the same in every scheme. Between two neighboring tags lies the edge of a span when

    one of them is O,  or their labels differ,  or the right one opens (B S U),  or the left one closes (E L S U)

so one reading serves all schemes, and a scheme only says which letter the tokens of a span are given:

              first    inner    last    only
    IOB1      I (B)    I        I       I (B)      B only where a span with the same label ends just before
    IOB2      B        I        I       B
    IOE1      I        I        I (E)   I (E)      E only where a span with the same label begins just after
    IOE2      I        I        E       E
    IOBES     B        I        E       S
    BILOU     B        I        L       U

A sequence is well-formed in a scheme when writing its spans in that scheme gives the sequence back. The reading of
ill-formed sequences (`lenient=True`) is the one of the conlleval scorer: `O I-PER` holds a span, `I-LOC I-PER` two.
`repair_tags` reads so and writes in the scheme: no token leaves or joins a span, no label changes, only letters do. So
in IOB2 an I after O or after another label becomes B, in IOBES a B before O becomes S, an I before O becomes E, and so
on. Scores of chunks are the same before and after.

Cost: linear in the number of tokens. References: Ramshaw & Marcus (1995); Tjong Kim Sang & Veenstra (1999).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from textmill.errors import DataError

__all__ = [
    "SCHEMES",
    "RepairedTags",
    "Span",
    "check_tags",
    "convert_tags",
    "guess_scheme",
    "repair_tags",
    "spans_of",
    "tags_of",
]

Span: TypeAlias = tuple[int, int, str]  # first token, one past the last token, label

_LETTERS = {  # first, inner, last and only token of a span
    "IOB2": ("B", "I", "I", "B"),
    "IOB1": ("I", "I", "I", "I"),
    "IOBES": ("B", "I", "E", "S"),
    "BILOU": ("B", "I", "L", "U"),
    "IOE2": ("I", "I", "E", "E"),
    "IOE1": ("I", "I", "I", "I"),
}
SCHEMES = tuple(_LETTERS)  # the order in which guess_scheme prefers them


class RepairedTags(NamedTuple):
    """Tags that are well-formed, and how many of them were changed."""

    tags: list[str]
    changes: int


def spans_of(
    tags: Sequence[str],
    scheme: str = "IOB2",
    *,
    lenient: bool = False,
    source: str | None = None,
    line: int | None = None,
) -> list[Span]:
    """The spans (start, end, label) of a tag sequence, in order.

    A sequence that is ill-formed in `scheme` is a DataError, placed as in `check_tags`; `lenient=True` reads any
    sequence of tags of any scheme, as conlleval does.

    >>> spans_of(["B-PER", "I-PER", "O", "B-LOC"])
    [(0, 2, 'PER'), (3, 4, 'LOC')]
    >>> spans_of(["O", "I-PER", "I-LOC"], lenient=True)
    [(1, 2, 'PER'), (2, 3, 'LOC')]
    """
    if lenient:
        return _read(tags, source, line)
    return _read_strictly(tags, scheme, source, line)


def tags_of(spans: Iterable[Span], length: int, scheme: str = "IOB2") -> list[str]:
    """The tags of `length` tokens with these spans, which may come in any order but may not overlap.

    >>> tags_of([(0, 2, "PER"), (2, 3, "PER")], 4, "IOBES")
    ['B-PER', 'E-PER', 'S-PER', 'O']
    >>> tags_of([(0, 2, "PER"), (2, 3, "PER")], 4, "IOB1")
    ['I-PER', 'I-PER', 'B-PER', 'O']
    """
    first, inner, last, only = _letters(scheme)
    tags = ["O"] * length
    end_before, label_before = 0, None
    for start, end, label in sorted(spans):
        if not end_before <= start < end <= length:
            fault = "overlaps the one before it" if 0 <= start < end_before else f"is not inside {length} tokens"
            raise DataError(f"span ({start}, {end}, {label!r}) {fault}; spans are (first, one past last, label)")
        suffix = f"-{label}" if label else ""
        if end - start == 1:
            tags[start] = only + suffix
        else:
            tags[start] = first + suffix
            tags[start + 1 : end - 1] = [inner + suffix] * (end - start - 2)
            tags[end - 1] = last + suffix
        if start == end_before and label == label_before:
            if scheme == "IOB1":
                tags[start] = "B" + suffix
            elif scheme == "IOE1":
                tags[start - 1] = "E" + suffix
        end_before, label_before = end, label
    return tags


def convert_tags(tags: Sequence[str], source_scheme: str, target_scheme: str) -> list[str]:
    """The same spans in another scheme.

    >>> convert_tags(["I-PER", "I-PER", "B-PER", "O"], "IOB1", "BILOU")
    ['B-PER', 'L-PER', 'U-PER', 'O']
    """
    return tags_of(spans_of(tags, source_scheme), len(tags), target_scheme)


def repair_tags(tags: Sequence[str], scheme: str = "IOB2") -> RepairedTags:
    """The tags with the letters that the scheme gives to their spans, as conlleval finds them.

    What is well-formed stays as it is. A string that is no tag of any scheme is a DataError.

    >>> repair_tags(["O", "I-PER", "I-LOC", "I-LOC"])
    RepairedTags(tags=['O', 'B-PER', 'B-LOC', 'I-LOC'], changes=2)
    >>> repair_tags(["B-PER", "O", "I-LOC", "I-LOC"], "IOBES").tags
    ['S-PER', 'O', 'B-LOC', 'E-LOC']
    """
    repaired = tags_of(_read(tags, None, None), len(tags), scheme)
    return RepairedTags(repaired, sum(map(str.__ne__, tags, repaired)))


def check_tags(
    tags: Sequence[str], scheme: str = "IOB2", *, source: str | None = None, line: int | None = None
) -> None:
    """Raise a DataError that names the first tag which breaks the scheme, and the scheme it looks like instead.

    `source` and `line` (of the first token, one token a line) make the message point into a column file.

    >>> check_tags(["B-PER", "E-PER"], source="train.conll", line=117)
    Traceback (most recent call last):
    textmill.errors.DataError: train.conll:118: tag 'E-PER' is not IOB2; this sequence looks like IOBES, \
pass scheme='IOBES' or read with lenient=True
    """
    _read_strictly(tags, scheme, source, line)


def guess_scheme(sequences: Iterable[Sequence[str]]) -> str:
    """The scheme in which every sequence is well-formed, the earliest in SCHEMES where several are.

    Schemes that remain together are those whose tags read the same so far; without any span that is IOB2.

    >>> guess_scheme([["O", "I-PER"], ["I-PER", "B-PER", "O"]])
    'IOB1'
    """
    possible = list(SCHEMES)
    for number, tags in enumerate(sequences, 1):
        try:
            spans = _read(tags, None, None)
        except DataError as error:
            raise DataError(f"sequence {number}, {error}") from None
        fitting = [scheme for scheme in possible if tags_of(spans, len(tags), scheme) == list(tags)]
        if not fitting:
            raise DataError(
                f"sequence {number} ({' '.join(tags[:20])}) is not {' or '.join(possible)} like those before it; "
                "correct it, or name the scheme and read with lenient=True"
            )
        possible = fitting
    return possible[0]


def _letters(scheme: str) -> tuple[str, str, str, str]:
    try:
        return _LETTERS[scheme]
    except KeyError:
        raise DataError(f"unknown tag scheme {scheme!r}; choose {', '.join(SCHEMES)}") from None


@lru_cache(maxsize=1 << 16)
def _parse(tag: str) -> tuple[bool, bool, str | None] | None:
    """Whether the tag opens and closes a span, and its label (None for O); None for what is no tag."""
    if tag == "O":
        return False, False, None
    letter, hyphen, label = tag.partition("-")
    if letter not in ("B", "I", "E", "S", "L", "U") or bool(hyphen) != bool(label):
        return None
    return letter in "BSU", letter in "ELSU", label


def _read(tags: Sequence[str], source: str | None, line: int | None) -> list[Span]:
    """The spans between the edges that the module's rule finds."""
    spans: list[Span] = []
    start = 0
    inside: str | None = None  # label of the open span
    closed = False  # the tag before closes its span
    for position, tag in enumerate(tags):
        parsed = _parse(tag)
        if parsed is None:
            fault = f"{tag!r} is not a tag; tags are O, or one of B I E S L U and a label as in 'B-PER'"
            raise _tag_error(fault, position, source, line)
        opens, closes, label = parsed
        if inside is not None and (opens or closed or label != inside):
            spans.append((start, position, inside))
            inside = None
        if inside is None and label is not None:
            start, inside = position, label
        closed = closes
    if inside is not None:
        spans.append((start, len(tags), inside))
    return spans


def _read_strictly(tags: Sequence[str], scheme: str, source: str | None, line: int | None) -> list[Span]:
    """The spans, if writing them gives the tags back."""
    _letters(scheme)
    spans = _read(tags, source, line)
    written = tags_of(spans, len(tags), scheme)
    for position, (tag, expected) in enumerate(zip(tags, written, strict=True)):
        if tag != expected:
            for other in SCHEMES:
                if tags_of(spans, len(tags), other) == list(tags):
                    remedy = f"; this sequence looks like {other}, pass scheme={other!r} or read with lenient=True"
                    break
            else:
                remedy = f" here, {expected!r} is expected; correct it with repair_tags, or read with lenient=True"
            raise _tag_error(f"tag {tag!r} is not {scheme}{remedy}", position, source, line)
    return spans


def _tag_error(fault: str, position: int, source: str | None, line: int | None) -> DataError:
    if line is None:
        return DataError(f"token {position + 1}: {fault}", source=source)
    return DataError(fault, source=source, line=line + position)
