r"""Star reviews in the tagged form of the Multi-Domain Sentiment collection.

    <review>
    <rating>
    4.0
    </rating>
    <review_text>
    A fine mill. ...
    </review_text>
    </review>

A tag stands alone on its line, and what stands between <name> and </name> is the field of that name; no entity is
decoded and nothing else is markup, so it is not XML. The text is the field "text" (`review_text` in the file), all
others keep their names. Of a field that comes twice in a review the first counts. Outside of reviews there may be
blank lines, and tags that wrap them all.

Cost: one pass; memory is the longest review. Reference: Blitzer, Dredze & Pereira (2007), Biographies, Bollywood,
boom-boxes and blenders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from textmill.corpus.streams import BadRecords, Part
from textmill.errors import DataError

__all__ = ["read_star_reviews"]

_TAG = re.compile(r"\s*<(/?)([a-z_]+)>\s*")
_NAMES = {"review_text": "text"}


def read_star_reviews(part: Part, bad: BadRecords) -> Iterator[tuple[int, dict[str, Any]]]:
    r"""Yield the line on which each review begins, and its fields.

    >>> import io
    >>> review = b"<review>\n<rating>\n4.0\n</rating>\n<review_text>\nA fine mill.\n</review_text>\n</review>\n"
    >>> list(read_star_reviews(Part(io.BytesIO(review), "mills.review"), BadRecords("strict", "mills.review")))
    [(1, {'rating': '4.0', 'text': 'A fine mill.'})]
    """
    start = 0
    fields: dict[str, Any] = {}
    field: str | None = None
    content: list[str] = []
    for number, line in part.lines(bad):
        tag = _TAG.fullmatch(line) if "<" in line else None
        closing, name = (tag[1], tag[2]) if tag else ("", "")
        if field is not None:
            if closing and name == field:
                fields.setdefault(_NAMES.get(field, field), "\n".join(content).strip())
                field = None
            elif closing and name == "review":
                bad(_fault(f"<{field}> is not closed in this review; write </{field}> behind it", part, start))
                start, field = 0, None
            else:
                content.append(line)
        elif name == "review":
            if not closing and start:
                bad(_fault("this review is not closed; write </review> behind it", part, start))
            elif closing and start:
                yield start, fields
            elif closing:
                bad(_fault("</review> without <review>", part, number))
            start, fields = (0 if closing else number), {}
        elif tag is not None and not closing and start:
            field, content = name, []
        elif line.strip() and (tag is None or start):  # a tag outside of reviews, such as <data>, wraps them
            bad(_fault("outside of a field; write <name>, the value and </name> on lines of their own", part, number))
    if start:
        bad(_fault("the file ends within this review; was it cut?", part, start))


def _fault(message: str, part: Part, line: int) -> DataError:
    return DataError(message, source=part.name, line=line)
