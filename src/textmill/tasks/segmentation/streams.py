"""One very long text in bounded memory: segments are given out as soon as a later boundary is certain.

The stream is read until about `chunk_size` tokens are at hand, these are segmented, and all segments but the last are
given out; the last one, whose end is not yet seen, begins the next block. A segment that alone fills the room is given
out as it is. Boundaries therefore come at most one block later than their place.
Cost: that of the method on blocks; memory is `room` tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from textmill.model import check_range
from textmill.tasks.segmentation.segmenter import Segmenter

__all__ = ["segment_stream"]


def segment_stream(
    segmenter: Segmenter, pieces: Iterable[str], *, chunk_size: int = 20_000, room: int | None = None, **limits: Any
) -> Iterator[str]:
    """Yield the segments of a text that comes in pieces (lines, say); put together they are the text.

    A block has about `chunk_size` tokens, six characters each; `room` is the number of tokens from which a segment
    is not held back any longer, 4 blocks by default.

    >>> from textmill.tasks.segmentation import Fixed
    >>> list(segment_stream(Fixed(n_tokens=3), iter(["a b c ", "d e ", "f g"])))
    ['a b c ', 'd e f ', 'g']
    """
    check_range("chunk_size", chunk_size, at_least=1, whole=True)
    room = 4 * chunk_size if room is None else room
    waiting, size, wanted = [], 0, 6 * chunk_size
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
        wanted = size + 6 * chunk_size
    yield from segmenter.segment("".join(waiting), **limits)
