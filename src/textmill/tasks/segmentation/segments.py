"""A text cut into segments: as offsets, strings, masses, JSON, Choi's format, and as a tree of its cuts.

Every form says the same: boundaries are numbers of tokens, offsets are characters, the segments put together are the
text. References: Choi (2000); Fournier (2013), evaluating text segmentation using boundary edit distance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, overload

import numpy as np

from textmill.arrays import Floats, Ids, Ints
from textmill.errors import DataError
from textmill.metrics import Segmentation
from textmill.tasks.segmentation.signals import Gaps
from textmill.tasks.segmentation.texts import TokenizedText, unit_counts

__all__ = ["Segments"]

CHOI = "=========="


@dataclass(frozen=True, eq=False)
class Segments(Sequence[str]):
    """The segments of a text, a sequence of strings.

    Attributes:
        text: The text with its tokens.
        boundaries: Tokens before which the text is cut, rising.
        gaps: Every gap that was looked at, with similarity and depth; None where a method has no such signal.
        method: Name of the method.

    >>> from textmill.tasks.segmentation import TopicSegmenter
    >>> cut = TopicSegmenter().segment("to be or not to be that is the question", cuts=[13, 27])
    >>> list(cut), cut.offsets.tolist(), cut.masses.tolist()
    (['to be or not ', 'to be that is ', 'the question'], [13, 27], [4, 4, 2])
    """

    text: TokenizedText
    boundaries: Ints
    gaps: Gaps | None = None
    method: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def offsets(self) -> Ints:
        """Characters before which the text is cut."""
        return self.text.starts[self.boundaries]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Where each segment begins and ends, in characters."""
        edges = [0, *self.offsets.tolist(), len(self.text.text)] if self.text.text else []
        return list(pairwise(edges))

    @property
    def masses(self) -> Ints:
        """Number of tokens of each segment."""
        if not self.text.text:
            return np.zeros(0, np.int64)
        return np.diff(self.boundaries, prepend=0, append=len(self.text))

    def __len__(self) -> int:
        return len(self.boundaries) + 1 if self.text.text else 0

    def __iter__(self) -> Iterator[str]:
        return (self.text.text[begin:end] for begin, end in self.spans)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        return list(self)[index]

    def segmentation(self) -> Segmentation:
        """The cut as the metrics want it, in tokens."""
        if not len(self.text):
            raise DataError("the text has no tokens, so there is nothing to score; leave it out")
        return Segmentation.from_boundaries(self.boundaries, len(self.text))

    def to_json(self, *, texts: bool = False, gaps: bool = False) -> dict[str, Any]:
        """Plain values: spans and tokens of each segment, with `texts` their strings, with `gaps` the signal."""
        segments: list[dict[str, Any]] = [
            {"begin": begin, "end": end, "tokens": tokens}
            for (begin, end), tokens in zip(self.spans, self.masses.tolist(), strict=True)
        ]
        if texts:
            for segment, string in zip(segments, self, strict=True):
                segment["text"] = string
        facts: dict[str, Any] = {"method": self.method, "tokens": len(self.text), "segments": segments}
        facts |= self.details
        if gaps and self.gaps is not None:
            chosen = frozenset(self.boundaries.tolist())
            rows = zip(
                self.gaps.positions.tolist(), self.gaps.similarity.tolist(), self.gaps.depth.tolist(), strict=True
            )
            facts["gaps"] = [
                {"token": token, "similarity": round(x, 6), "depth": round(d, 6), "boundary": token in chosen}
                for token, x, d in rows
            ]
        return facts

    def to_choi(self) -> str:
        """Sentences on lines of their own, segments between lines of `==========`."""
        lines = [CHOI]
        edges = sorted({*self.text.sentences.tolist(), *self.boundaries.tolist()})
        cuts = frozenset(self.boundaries.tolist())
        for first, end in pairwise(edges):
            if first in cuts:
                lines.append(CHOI)
            begin = int(self.text.starts[first])
            stop = int(self.text.starts[end]) if end < len(self.text) else len(self.text.text)
            lines.append(" ".join(self.text.text[begin:stop].split()))
        return "\n".join([*lines, CHOI, ""])

    def to_string(self) -> str:
        """One character for each gap between tokens, 1 where the text is cut, as NLTK's metrics read it."""
        marks = np.zeros(max(0, len(self.text) - 1), np.int64)
        marks[self.boundaries - 1] = 1
        return "".join(map(str, marks.tolist()))

    def strengths(self) -> Floats:
        """How different the segments on both sides of each boundary are: 1 minus the cosine of their word counts."""
        rows = self._counts()
        from textmill.tasks.segmentation.signals import cosines_of_neighbors

        return 1.0 - cosines_of_neighbors(rows, 1) if rows.shape[0] > 1 else np.zeros(0)

    def tree(self) -> list[tuple[int, float]]:
        """Boundaries from the weakest cut to the strongest, by joining the most similar neighbors again and again.

        Each row has the token and the dissimilarity at which it disappears: leave out the first n for a coarser cut.
        """
        edges = [0, *self.boundaries.tolist(), len(self.text)]
        counts = self._counts()
        rows = [counts[i] for i in range(counts.shape[0])]
        away = [_dissimilarity(a, b) for a, b in pairwise(rows)]
        order: list[tuple[int, float]] = []
        while away:
            i = int(np.argmin(away))
            order.append((edges.pop(i + 1), max(away.pop(i), order[-1][1] if order else 0.0)))
            rows[i : i + 2] = [rows[i] + rows[i + 1]]
            for j in (i - 1, i):
                if 0 <= j < len(away):
                    away[j] = _dissimilarity(rows[j], rows[j + 1])
        return order

    def coarser(self, n_segments: int) -> Segments:
        """The same text in fewer segments: the weakest cuts are left out, nothing is computed anew."""
        if not 1 <= n_segments <= len(self):
            raise DataError(f"n_segments must lie from 1 to {len(self)}, the number of segments, got {n_segments}")
        left_out = {token for token, _ in self.tree()[: len(self) - n_segments]}
        boundaries = np.array([b for b in self.boundaries.tolist() if b not in left_out], np.int64)
        return Segments(self.text, boundaries, self.gaps, self.method, self.details)

    def words(self, k: int = 5) -> list[list[str]]:
        """The words of each segment that set it off from the others: term frequency by rarity among the segments."""
        rows = self._counts()
        size = np.asarray(rows.sum(axis=1)).ravel()
        which = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        share = rows.data / np.maximum(1, size)[which]
        total = np.bincount(rows.indices, rows.data, minlength=rows.shape[1])
        rest = (total[rows.indices] - rows.data) / np.maximum(1, size.sum() - size)[which]
        score = share * np.log((share + 1e-4) / (rest + 1e-4)) * (rows.data > 1)
        return [self._best(rows.indices[a:b], score[a:b], k) for a, b in pairwise(rows.indptr.tolist())]

    def explain(self, k: int = 5) -> list[tuple[int, list[str], list[str]]]:
        """For each boundary its token, and the words that end there and that begin there."""
        rows = self._counts()
        size = np.asarray(rows.sum(axis=1)).ravel()
        rarity = np.log(1 + rows.shape[0] / np.maximum(1, np.bincount(rows.indices, minlength=rows.shape[1])))
        rows.data = rows.data / np.repeat(np.maximum(1, size), np.diff(rows.indptr)) * rarity[rows.indices]
        change = (rows[:-1] - rows[1:]).tocsr()
        change.sort_indices()
        parts = [(change.indices[a:b], change.data[a:b]) for a, b in pairwise(change.indptr.tolist())]
        return [
            (int(token), self._best(terms, scores, k), self._best(terms, -scores, k))
            for token, (terms, scores) in zip(self.boundaries, parts, strict=True)
        ]

    def _counts(self) -> Any:
        """Sparse matrix of how often each word is in each segment."""
        edges = np.concatenate([[0], self.boundaries, [len(self.text)]]).astype(np.int64)
        counts = unit_counts(self.text.ids, edges, max(1, len(self.text.terms)))
        counts.sort_indices()
        return counts

    def _best(self, terms: Ids, scores: Floats, k: int) -> list[str]:
        order = np.argsort(-scores, kind="stable")[:k]
        return [self.text.terms[terms[i]] for i in order if scores[i] > 0]


def _dissimilarity(a: Any, b: Any) -> float:
    size = float(np.sqrt(a.data @ a.data) * np.sqrt(b.data @ b.data))
    return 1.0 - float(a.multiply(b).sum()) / size if size else 0.0
