"""What all segmenters share: one method for one text, limits of length, snapping, cuts given in advance.

A method proposes boundaries and, where it has one, a signal over the gaps. Then, for every method alike:

    snap          a boundary moves to the nearest end of a sentence, or to a paragraph or line within `reach` tokens
    cuts          characters where the text must be cut (another language begins, say) are added; a boundary that is
                  proposed within `reach` tokens of one is taken to mean the same and goes
    min_tokens    the weakest boundaries go until every segment is long enough
    max_tokens    a segment that is too long is cut at its weakest link: the gap of least similarity

Segmenters learn nothing beforehand: `fit` does nothing, `transform` segments many texts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol, Self

import numpy as np

from textmill._native import tasks as native
from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.model import Estimator, check_range, effective_jobs
from textmill.tasks.segmentation.segments import Segments
from textmill.tasks.segmentation.signals import Gaps, depth_scores
from textmill.tasks.segmentation.texts import TokenizedText, tokenized

__all__ = ["Precut", "Proposal", "Segmenter", "fixed_places", "gaps_of", "snapped", "unit_similarities"]

REACH = 40  # tokens over which a boundary may be moved to a break
_NO_SENTENCE = 200  # tokens without the end of a sentence: a transcript or a table, no prose


class Precut(Protocol):
    """Anything that cuts a text beforehand, such as a `LanguageSegmenter` or another segmenter."""

    def segments(self, text: str) -> Sequence[Any]:
        """Pieces that join to the text: pairs (begin, end), or objects that have a `begin`, in characters."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a method proposes: boundaries, the signal over the gaps if it has one, what else there is to say."""

    boundaries: Ints
    gaps: Gaps | None = None
    details: dict[str, Any] = field(default_factory=dict)


class Segmenter(Estimator):
    """Base of the segmenters: `_boundaries` proposes, `segment` keeps the limits."""

    tokenizer: Any = None
    horizon = 0  # tokens behind a boundary that it may depend on, in a text of any length

    def fit(self, X: Any = None, y: object = None) -> Self:
        """Do nothing: segmenters learn nothing beforehand."""
        return self

    def segment(
        self,
        text: str | TokenizedText,
        *,
        n_segments: int | None = None,
        min_tokens: int = 0,
        max_tokens: int | None = None,
        snap: str | None = "sentence",
        reach: int | None = None,
        cuts: Sequence[int] | Precut = (),
    ) -> Segments:
        """Cut a text.

        Args:
            text: The text.
            n_segments: How many segments to make; None leaves it to the method. With fewer candidates than that, all.
            min_tokens: Length that every segment has, if the text is long enough.
            max_tokens: Length that no segment exceeds.
            snap: "sentence", "paragraph" or "line": where boundaries are moved to; None leaves them where the method
                puts them. Where every line is a sentence, sentences are lines.
            reach: Tokens over which a boundary may be moved; None for 40, and for any number to the nearest end of a
                sentence, but inside of 200 tokens or more without one.
            cuts: Characters before which the text is cut in any case, or what finds them: an object with
                `segments(text)`, such as a `LanguageSegmenter`.

        >>> from textmill.tasks.segmentation import TopicSegmenter
        >>> TopicSegmenter().segment("one two three four", cuts=[8]).boundaries.tolist()
        [2]
        """
        _check_limits(n_segments, min_tokens, max_tokens, reach)
        source = tokenized(text, self.tokenizer)
        if len(source) < 2 or n_segments == 1:
            proposal = Proposal(np.zeros(0, np.int64))
        else:
            proposal = self._boundaries(source, n_segments)
        boundaries, gaps = proposal.boundaries, proposal.gaps
        if snap is not None:
            boundaries = self._moved(source, boundaries, snap, reach, n_segments)
        fixed = fixed_places(source, cuts)
        boundaries = np.union1d(snapped(boundaries, fixed, REACH if reach is None else reach), fixed).astype(np.int64)
        if n_segments is not None and len(boundaries) >= n_segments > 1 and len(fixed):
            boundaries = _strongest(source, boundaries, fixed, n_segments)
        if min_tokens > 1:
            boundaries = _lengthened(source, boundaries, fixed, min_tokens)
        if max_tokens is not None:
            breaks = None if snap is None else source.breaks(snap)
            boundaries = _shortened(source, boundaries, gaps, max_tokens, max(1, min_tokens), breaks)
        return Segments(source, boundaries, gaps, type(self).__name__, proposal.details)

    def transform(self, X: Iterable[str], *, n_jobs: int | None = None, **limits: Any) -> list[Segments]:
        """Segment many texts, several at a time; options as in `segment`."""
        if isinstance(X, str):
            raise DataError("transform takes many texts, got one; use segment")
        return list(self.iterate(X, n_jobs=n_jobs, **limits))

    def iterate(self, X: Iterable[str], *, n_jobs: int | None = None, **limits: Any) -> Iterator[Segments]:
        """The same one after the other, in order; only a few texts are read ahead.

        >>> from textmill.tasks.segmentation import TopicSegmenter
        >>> [len(cut) for cut in TopicSegmenter().iterate(iter(["a b c", "", "d e"]))]
        [1, 0, 1]
        """
        jobs = effective_jobs(n_jobs)
        if jobs == 1:
            yield from (self.segment(text, **limits) for text in X)
            return
        with ThreadPoolExecutor(jobs) as pool:
            waiting: deque[Future[Segments]] = deque()
            for text in X:
                waiting.append(pool.submit(self.segment, text, **limits))
                if len(waiting) >= 4 * jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def segments(self, text: str) -> list[tuple[int, int]]:
        """Where each segment begins and ends, in characters."""
        return self.segment(text).spans

    def _moved(
        self, text: TokenizedText, boundaries: Ints, snap: str, reach: int | None, n_segments: int | None
    ) -> Ints:
        """The boundaries at breaks, as many as there were if their number was asked for."""
        breaks = text.breaks(snap)
        far = np.full(len(boundaries), REACH if reach is None else reach, np.int64)
        if snap == "sentence" and reach is None:
            edges = text.sentences
            own = np.clip(np.searchsorted(edges, boundaries, side="right") - 1, 0, max(0, len(edges) - 2))
            far[np.diff(edges)[own] < _NO_SENTENCE] = len(text)
        moved = snapped(boundaries, breaks, far)
        if n_segments is not None and len(moved) < len(boundaries) < n_segments:  # two were nearest to one break
            moved = _apart(boundaries, breaks, far)
        return moved

    @abstractmethod
    def _boundaries(self, text: TokenizedText, n_segments: int | None) -> Proposal:
        """Boundaries of a text with two tokens or more."""


def _check_limits(n_segments: int | None, min_tokens: int, max_tokens: int | None, reach: int | None) -> None:
    if n_segments is not None:
        check_range("n_segments", n_segments, at_least=1, whole=True)
    check_range("min_tokens", min_tokens, at_least=0, whole=True)
    if reach is not None:
        check_range("reach", reach, at_least=0, whole=True)
    if max_tokens is not None:
        check_range("max_tokens", max_tokens, at_least=max(1, min_tokens), whole=True)


def snapped(boundaries: Ints, breaks: Ints, reach: int | Ints) -> Ints:
    """Each at the nearest break within reach, or where it was."""
    if not len(breaks):
        return boundaries
    right = np.searchsorted(breaks, boundaries)
    candidates = np.stack([breaks[np.maximum(0, right - 1)], breaks[np.minimum(len(breaks) - 1, right)]])
    away = np.abs(candidates - boundaries)
    nearest = candidates[np.argmin(away, axis=0), np.arange(len(boundaries))]
    return np.unique(np.where(away.min(axis=0) <= reach, nearest, boundaries))


def _apart(boundaries: Ints, breaks: Ints, reach: Ints) -> Ints:
    """Each at the nearest break within reach that is not taken, or where it was."""
    free, moved = set(breaks.tolist()), []
    for boundary, most in zip(boundaries.tolist(), reach.tolist(), strict=True):
        nearest = min(free, key=lambda place: (abs(place - boundary), place), default=None)
        if nearest is None:
            break
        if abs(nearest - boundary) > most:
            nearest = boundary
        free.discard(nearest)
        moved.append(nearest)
    return np.unique(np.array(moved, np.int64))


def fixed_places(text: TokenizedText, cuts: Sequence[int] | Precut) -> Ints:
    """Tokens of cuts that are given as characters, or as what finds them."""
    if hasattr(cuts, "segments"):
        pieces = cuts.segments(text.text) if text.text else []
        cuts = [int(piece.begin) if hasattr(piece, "begin") else int(piece[0]) for piece in pieces]
    characters = np.asarray(cuts, np.int64)
    if len(characters) and (characters.min() < 0 or characters.max() > len(text.text)):
        raise DataError(f"cuts must lie inside the text of {len(text.text)} characters")
    places = np.unique(np.searchsorted(text.starts, characters))
    return places[(places > 0) & (places < len(text))].astype(np.int64)


def _strongest(text: TokenizedText, boundaries: Ints, fixed: Ints, n_segments: int) -> Ints:
    """The fixed ones, and of the others those that part the most, so many segments in all."""
    order = [token for token, _ in Segments(text, boundaries).tree() if token not in frozenset(fixed.tolist())]
    surplus = max(0, len(boundaries) + 1 - max(n_segments, len(fixed) + 1))
    return np.setdiff1d(boundaries, np.array(order[:surplus], np.int64)).astype(np.int64)


def _lengthened(text: TokenizedText, boundaries: Ints, fixed: Ints, shortest: int) -> Ints:
    """Without the weaker boundary of every segment that is too short, the shortest first."""
    protected = frozenset(fixed.tolist())
    while len(boundaries):
        masses = np.diff(boundaries, prepend=0, append=len(text))
        for i in np.argsort(masses, kind="stable"):
            if masses[i] >= shortest:
                return boundaries
            sides = [j for j in (i - 1, i) if 0 <= j < len(boundaries) and int(boundaries[j]) not in protected]
            if sides:
                break
        else:
            return boundaries
        strengths = Segments(text, boundaries).strengths()
        boundaries = np.delete(boundaries, min(sides, key=lambda j: (strengths[j], j)))
    return boundaries


def _shortened(
    text: TokenizedText, boundaries: Ints, gaps: Gaps | None, longest: int, shortest: int, breaks: Ints | None
) -> Ints:
    """With more boundaries, so that no segment is too long."""
    places, signal = _candidates(text, gaps, breaks)
    edges = [0, *boundaries.tolist(), len(text)]
    todo = [(a, b) for a, b in pairwise(edges) if b - a > longest]
    added: dict[int, float] = {}  # cuts, and the similarity across each
    while todo:
        a, b = todo.pop()
        low, high = np.searchsorted(places, [a + shortest, b - shortest + 1])
        best = low + int(np.argmin(signal[low:high])) if low < high else -1
        cut = int(places[best]) if best >= 0 else a + min(longest, b - a - 1)
        added[cut] = float(signal[best]) if best >= 0 else 1.0
        todo += [(c, d) for c, d in ((a, cut), (cut, b)) if d - c > longest]
    edges = sorted({*edges, *added})
    for cut in sorted(added, key=lambda cut: (-added[cut], cut)):  # what fits together after all
        at = edges.index(cut)
        if edges[at + 1] - edges[at - 1] <= longest:
            del edges[at]
    return np.array(edges[1:-1], np.int64)


def _candidates(text: TokenizedText, gaps: Gaps | None, breaks: Ints | None) -> tuple[Ints, Floats]:
    """Places where a long segment may be cut, and the similarity across each."""
    if breaks is not None and len(breaks):
        places = breaks
    elif gaps is not None and len(gaps):
        return gaps.positions, gaps.similarity
    else:
        places = text.pieces[1:-1]
    return places, unit_similarities(text, places)


def unit_similarities(text: TokenizedText, places: Ints) -> Floats:
    """Cosines of the six units before and behind each of these places."""
    units = np.concatenate([[0], places, [len(text)]]).astype(np.int64)
    out = np.empty(len(places))
    if len(places):
        native.gap_cosines(text.ids, units, len(text.terms), 6, out)
    return out


def gaps_of(positions: Ints, similarity: Floats) -> Gaps:
    """Gaps with their depths."""
    return Gaps(positions, similarity, depth_scores(similarity))
