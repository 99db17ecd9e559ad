"""One very long text in bounded memory: segments are given out as soon as a later boundary is certain.

The stream is read until about `chunk_size` tokens are at hand, these are segmented, and all segments but the last are
given out; the last one, whose end is not yet seen, begins the next block. A segment that alone fills the room is given
out as it is. Boundaries therefore come at most one block later than their place.

Where a boundary depends on what follows it, only those with enough text behind them are given out, and each step reads
as much again. This is the `horizon` of a segmenter: the default judges the granularity of 30,000 tokens together. So a
stream has the boundaries of the whole text, but for segments that fill the room, and for what only the whole text
tells: its function words in languages without a list of them, and whether its lines are sentences.

`LSITiling`, which looks at a latent space, does not decompose each block anew: all blocks share one space
(`StreamedSpace`), the decomposition of all contexts so far, into which those of a block are merged (LSA, one pass) and
in which old ones fade. A block of three segments would else have a space of its own whose dimensions tell apart what is
inside one topic.

Cost: that of the method on blocks and one merge for each; memory is `room` tokens and the space.
Reference: Řehůřek (2011), Scalability of semantic analysis, chapters 3 and 5.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from textmill.arrays import Floats
from textmill.model import check_range
from textmill.tasks.segmentation.segmenter import Segmenter
from textmill.tasks.segmentation.segments import Segments
from textmill.tasks.segmentation.signals import Contexts
from textmill.topics import LSA

__all__ = ["StreamedSpace", "segment_stream"]

_COLUMNS = 1 << 14  # words are hashed to: the vocabulary of a stream has no end
_DIMENSIONS = 20  # at most


class StreamedSpace:
    """The latent space of the contexts of a text that is still being read.

        rows     a_ij log(n / df_i), of length 1; n and df_i count contexts, old ones less
        space    the largest singular vectors of all rows so far, those of earlier blocks faded

    `known` is the number of tokens at the beginning of the next block that the space has seen.
    """

    def __init__(self, dimensions: int, half_life: float) -> None:
        self.model = LSA(n_topics=dimensions, method="one_pass", chunk_method="gram", half_life=half_life)
        self.half_life = half_life
        self.known = 0
        self._contexts = 0.0
        self._frequency = np.zeros(_COLUMNS)

    def latent(self, contexts: Contexts, dimensions: int) -> tuple[Floats, Floats]:
        """Merge the contexts that are new into the space; coordinates of all, and the singular values."""
        from scipy import sparse

        rows = contexts.counts()
        columns = np.fromiter((zlib.crc32(term.encode()) % _COLUMNS for term in contexts.text.terms), np.int64)
        rows = sparse.csr_matrix((rows.data, columns[rows.indices], rows.indptr), shape=(rows.shape[0], _COLUMNS))
        rows.sum_duplicates()
        fresh = contexts.sequences[contexts.k :] > self.known
        new = rows[np.flatnonzero(fresh)]
        fading = 0.5 ** (new.shape[0] / self.half_life)
        self._contexts = fading * self._contexts + new.shape[0]
        self._frequency = fading * self._frequency + np.bincount(new.indices, minlength=_COLUMNS)
        rows.data *= np.log(np.maximum(1.0, self._contexts / np.maximum(1.0, self._frequency)))[rows.indices]
        rows.eliminate_zeros()
        norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
        rows = sparse.csr_matrix(sparse.diags(1 / np.where(norms > 0, norms, 1.0)) @ rows)
        if fresh.any() and rows[np.flatnonzero(fresh)].nnz:
            self.model.partial_fit(rows[np.flatnonzero(fresh)])
        if not hasattr(self.model, "components_"):
            return np.zeros((rows.shape[0], 0)), np.zeros(0)
        wanted = min(dimensions, len(self.model.singular_values_))
        return self.model.transform(rows)[:, :wanted], self.model.singular_values_[:wanted]


def segment_stream(
    segmenter: Segmenter,
    pieces: Iterable[str],
    *,
    chunk_size: int = 20_000,
    ahead: int | None = None,
    room: int | None = None,
    half_life: float | None = None,
    **limits: Any,
) -> Iterator[str]:
    """Yield the segments of a text that comes in pieces (lines, say); put together they are the text.

    A block has about `chunk_size` tokens, six characters each. `ahead` is the number of tokens that are read behind a
    boundary before it is given out, by default what the segmenter wants, but at most 3 blocks; `room` the number from
    which a segment is not held back any longer, 4 blocks and what is read ahead by default. `half_life` is the number
    of contexts after which an old one weighs half in the latent space of the stream, as many as a block has by default.

    >>> from textmill.tasks.segmentation import TopicSegmenter
    >>> mill, sky = "The mill wheel grinds grain. ", "A planet orbits its star. "
    >>> [part.count(".") for part in segment_stream(TopicSegmenter(), iter([mill] * 8 + [sky] * 8))]
    [8, 8]
    """
    check_range("chunk_size", chunk_size, at_least=1, whole=True)
    ahead = min(segmenter.horizon, 3 * chunk_size) if ahead is None else ahead
    check_range("ahead", ahead, at_least=0, whole=True)
    room = 4 * chunk_size + ahead if room is None else room
    space = None
    if hasattr(segmenter, "space"):
        space = StreamedSpace(_DIMENSIONS, max(1.0, chunk_size / 20) if half_life is None else half_life)
        segmenter = type(segmenter)(**segmenter.get_params(deep=False))
        segmenter.space = space  # type: ignore[attr-defined]
    step = 6 * max(chunk_size, ahead)
    waiting, size, wanted = [], 0, step + 6 * ahead
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size < wanted:
            continue
        cut = segmenter.segment("".join(waiting), **limits)
        segments = list(cut)
        certain = _certain(cut, ahead)
        if not certain and size >= 6 * room:
            certain = 1
        last = "".join(segments[certain:])
        if space is not None:
            space.known = int(cut.masses[certain:].sum())
        yield from segments[:certain]
        waiting, size = [last], len(last)
        wanted = size + step
    yield from segmenter.segment("".join(waiting), **limits)


def _certain(cut: Segments, ahead: int) -> int:
    """How many boundaries have enough behind them; where a text has blocks, those of the blocks that are whole."""
    seen = len(cut.text) - ahead
    there = frozenset(cut.boundaries.tolist())
    begins = cut.details.get("blocks", [])
    places = [b for a, b in pairwise(begins) if a <= seen and b in there]
    return int(np.searchsorted(cut.boundaries, places[-1] if places else seen, side="right"))
