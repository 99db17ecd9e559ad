"""One very long text in bounded memory: segments are given out as soon as a later boundary is certain.

The stream is read until `block` tokens are at hand, these are segmented, and all segments but the last are given out;
the last one, whose end is not yet seen, begins the next block. A segment that alone fills the room is given out as it
is. Boundaries therefore come at most one block later than their place.
Cost: that of the method on blocks; memory is `room` tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from textmill.model import check_range
from textmill.tasks.segmentation.segmenter import Segmenter

__all__ = ["segment_stream"]


def segment_stream(
    segmenter: Segmenter, pieces: Iterable[str], *, block: int = 20_000, room: int | None = None, **limits: Any
) -> Iterator[str]:
    """Yield the segments of a text that comes in pieces (lines, say); put together they are the text.

    `block` is the number of characters in hand before anything is segmented, times six: about so many tokens. `room`
    is how many tokens a segment may hold back, 4 blocks without it.

    >>> from textmill.tasks.segmentation import Fixed
    >>> list(segment_stream(Fixed(size=3), iter(["a b c ", "d e ", "f g"])))
    ['a b c ', 'd e f ', 'g']
    """
    check_range("block", block, at_least=1, whole=True)
    room = 4 * block if room is None else room
    waiting, size, wanted = [], 0, 6 * block
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size < wanted:
            continue
        text = "".join(waiting)
        segments = list(segmenter.segment(text, **limits))
        last = segments.pop() if len(segments) > 1 or size < 6 * room else ""
        yield from segments
        waiting, size = [last], len(last)
        wanted = size + 6 * block
    yield from segmenter.segment("".join(waiting), **limits)
