"""TextTiling and LSITiling: cut where the words before a gap and behind it have little in common.

    TextTiling   raw counts; a local minimum with similarity < 0.2 is a boundary
    Hearst       raw counts without function words; depth > mean - sd / 2; boundaries moved to paragraphs
    LSITiling    a latent space of the text itself; a local minimum with depth >= 1 is a boundary

`signals` says how the similarity is made, `rules` how gaps are chosen. `LSITiling(search="optimal")` does not look for
minima: it finds the segments whose contexts deviate least from their means, for a given number or with a penalty for
each segment. In one dimension every cosine is 1 or -1, so a latent space needs two or more.

Cost: O(tokens) for counts; LSITiling O(dimensions * k * tokens); the optimum O(sequences^2) at most.
References: Hearst (1997), TextTiling: segmenting text into multi-paragraph subtopic passages; Řehůřek (2007), Text
segmentation using context overlap; Killick, Fearnhead & Eckley (2012), optimal detection of changepoints.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from textmill._native import tasks as native
from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.model import check_choice, check_range
from textmill.tasks.segmentation.dimensions import clustered_dimensions, spread_dimensions
from textmill.tasks.segmentation.rules import RULES, choose_gaps, threshold_of
from textmill.tasks.segmentation.segmenter import Proposal, Segmenter, gaps_of, snapped
from textmill.tasks.segmentation.signals import Contexts, Gaps, Space, gap_signal, smooth
from textmill.tasks.segmentation.texts import TokenizedText

__all__ = ["Hearst", "LSITiling", "TextTiling"]

_UNLIMITED = 2**62
_Search = Callable[[Contexts, Floats, int | None], Proposal]
_MOST = 20  # dimensions: more never helped


class _Tiling(Segmenter):
    """A signal over the gaps, and a rule that chooses among them."""

    sequence_tokens: int
    context: int
    rule: str
    threshold: float
    smoothing: int
    rounds: int
    overlap: bool
    space: Space | None = None  # of a text that comes in blocks (streams.py)

    def _boundaries(self, text: TokenizedText, n_segments: int | None) -> Proposal:
        check_range("sequence_tokens", self.sequence_tokens, at_least=1, whole=True)
        check_range("context", self.context, at_least=1, whole=True)
        check_range("smoothing", self.smoothing, at_least=1, whole=True)
        check_range("rounds", self.rounds, at_least=0, whole=True)
        check_choice("rule", self.rule, RULES)
        contexts = Contexts(text, text.sequences(self.sequence_tokens), self.context, self.space)
        if not len(contexts.gaps):
            return Proposal(np.zeros(0, np.int64))
        return self._cut(contexts, n_segments)

    @abstractmethod
    def _cut(self, contexts: Contexts, n_segments: int | None) -> Proposal:
        """Boundaries among the gaps of these contexts."""

    def _gaps(self, contexts: Contexts, vectors: Any) -> Gaps:
        return gaps_of(contexts.gaps, self._smooth(gap_signal(contexts, vectors, overlap=self.overlap)))

    def _smooth(self, signal: Floats) -> Floats:
        return smooth(signal, self.smoothing, self.rounds)

    def _chosen(self, gaps: Gaps, n_segments: int | None, **details: Any) -> Proposal:
        """The gaps that the rule chooses; the details say what it compared with which threshold."""
        if n_segments is None:
            signal, threshold = threshold_of(gaps, self.rule, self.threshold)
            details |= {"threshold": {"of": signal, "value": threshold}}
        return Proposal(gaps.positions[choose_gaps(gaps, self.rule, self.threshold, n_segments)], gaps, details)


class TextTiling(_Tiling):
    """Cut a text where the words before and behind a gap differ.

    Parameters:
        sequence_tokens: Tokens of a sequence.
        context: Sequences on either side of a gap.
        vectors: "counts", "tfidf", or a model with `transform(texts)`, such as a pipeline of a vectorizer and LSA.
        rule: "depth", "similarity", "hearst", "liberal" or "signal" (see the module `rules`).
        threshold: Of the rules "depth" and "similarity".
        smoothing: Points on one side of a moving average, its center included; 1 for none.
        rounds: How often the signal is smoothed.
        overlap: Compare contexts shifted by one sequence instead of those on both sides.
        tokenizer: A `Tokenizer`, or an object with `spans(text)`; None for words.

    >>> text = "mill wheel grain flour " * 60 + "planet orbit star moon " * 60
    >>> [round(b, -1) for b in TextTiling().segment(text).boundaries.tolist()]
    [240]
    """

    def __init__(
        self,
        *,
        sequence_tokens: int = 20,
        context: int = 6,
        vectors: Any = "counts",
        rule: str = "similarity",
        threshold: float = 0.2,
        smoothing: int = 2,
        rounds: int = 1,
        overlap: bool = False,
        tokenizer: Any = None,
    ) -> None:
        self.sequence_tokens = sequence_tokens
        self.context = context
        self.vectors = vectors
        self.rule = rule
        self.threshold = threshold
        self.smoothing = smoothing
        self.rounds = rounds
        self.overlap = overlap
        self.tokenizer = tokenizer

    def _cut(self, contexts: Contexts, n_segments: int | None) -> Proposal:
        if isinstance(self.vectors, str):
            check_choice("vectors", self.vectors, ["counts", "tfidf"])
            vectors = None if self.vectors == "counts" else contexts.tfidf()
        else:
            vectors = contexts.embedded(self.vectors)
        return self._chosen(self._gaps(contexts, vectors), n_segments)


class LSITiling(_Tiling):
    """Cut a text where its contexts part in a latent space of the text itself.

    Parameters:
        sequence_tokens: Tokens of a sequence.
        context: Sequences on either side of a gap.
        n_dimensions: Of the latent space; "segments" for the number of segments asked for, or found with 5; "auto" for
            the largest gap between singular values, "clusters" for the number of clusters of contexts.
        search: "minima" of the signal, or "optimal": least squared deviation from the means of the segments.
        penalty: Of a segment, for the optimal search without a number of segments; None for a tenth of the deviation
            of the whole text.
        rule: See the module `rules`.
        threshold: Of the rules "depth" and "similarity".
        smoothing: Points on one side of a moving average, its center included; 1 for none.
        rounds: How often the signal is smoothed.
        overlap: Compare contexts shifted by one sequence instead of those on both sides.
        background: A model with `transform(texts)` whose similarities are mixed in; for short texts.
        background_weight: Share of the background model.
        tokenizer: A `Tokenizer`, or an object with `spans(text)`; None for words.

    >>> text = "mill wheel grain flour " * 60 + "planet orbit star moon " * 60
    >>> [round(b, -1) for b in LSITiling().segment(text).boundaries.tolist()]
    [240]
    """

    def __init__(
        self,
        *,
        sequence_tokens: int = 20,
        context: int = 6,
        n_dimensions: int | str = 5,
        search: str = "minima",
        penalty: float | None = None,
        rule: str = "depth",
        threshold: float = 1.0,
        smoothing: int = 2,
        rounds: int = 1,
        overlap: bool = False,
        background: Any = None,
        background_weight: float = 0.5,
        tokenizer: Any = None,
    ) -> None:
        self.sequence_tokens = sequence_tokens
        self.context = context
        self.n_dimensions = n_dimensions
        self.search = search
        self.penalty = penalty
        self.rule = rule
        self.threshold = threshold
        self.smoothing = smoothing
        self.rounds = rounds
        self.overlap = overlap
        self.background = background
        self.background_weight = background_weight
        self.tokenizer = tokenizer

    def _cut(self, contexts: Contexts, n_segments: int | None) -> Proposal:
        check_choice("search", self.search, ["minima", "optimal"])
        cut = self._optimum if self.search == "optimal" else self._minima
        if self.n_dimensions in ("auto", "clusters"):
            vectors, s = contexts.latent(_MOST)
            auto = self.n_dimensions == "auto"
            wanted = spread_dimensions(s) if auto else clustered_dimensions(vectors, contexts.k)
            return cut(contexts, vectors[:, :wanted], n_segments)
        if self.n_dimensions == "segments":
            return self._as_many(contexts, cut, n_segments)
        if isinstance(self.n_dimensions, str):
            names = "a number, 'segments', 'auto' or 'clusters'"
            raise DataError(f"n_dimensions must be {names}, got {self.n_dimensions!r}")
        check_range("n_dimensions", self.n_dimensions, at_least=1, whole=True)
        return cut(contexts, contexts.latent(int(self.n_dimensions))[0], n_segments)

    def _as_many(self, contexts: Contexts, cut: _Search, n_segments: int | None) -> Proposal:
        """As many dimensions as segments: those asked for, or, again and again, those of the last answer."""
        largest = contexts.latent(_MOST if n_segments is None else max(2, n_segments))[0]
        if n_segments is not None:
            return cut(contexts, largest, n_segments)
        dimensions, seen = 5, set[int]()
        while True:
            proposal = cut(contexts, largest[:, :dimensions], None)
            seen.add(dimensions)
            dimensions = min(_MOST, max(2, len(proposal.boundaries) + 1))
            if dimensions in seen:
                return proposal

    def _minima(self, contexts: Contexts, vectors: Floats, n_segments: int | None) -> Proposal:
        gaps = self._gaps(contexts, vectors)
        if self.background is not None:
            check_range("background_weight", self.background_weight, at_least=0, at_most=1)
            model = self._gaps(contexts, contexts.embedded(self.background))
            share = self.background_weight
            gaps = gaps_of(gaps.positions, (1 - share) * gaps.similarity + share * model.similarity)
        return self._chosen(gaps, n_segments, **self._dimensions(vectors))

    def _optimum(self, contexts: Contexts, vectors: Floats, n_segments: int | None) -> Proposal:
        gaps = self._gaps(contexts, vectors)
        norms = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
        unit = vectors / np.where(norms > 0, norms, 1.0)
        n = len(unit)
        penalty = 0.0
        if n_segments is None:
            deviation = float(((unit - unit.mean(axis=0)) ** 2).sum())
            penalty = 0.1 * deviation if self.penalty is None else self.penalty
        cuts, _ = native.compact_cuts(
            np.ascontiguousarray(unit), np.arange(n + 1), penalty=penalty, segments=min(n, n_segments or 0),
            shortest=0, longest=_UNLIMITED,
        )  # fmt: skip
        boundaries = np.unique(contexts.sequences[cuts + contexts.k // 2])
        return Proposal(boundaries.astype(np.int64), gaps, self._dimensions(vectors))

    def _dimensions(self, vectors: Floats) -> dict[str, Any]:
        """The number of dimensions, and the one asked for where the text has fewer."""
        there = vectors.shape[1]
        fewer = not isinstance(self.n_dimensions, str) and self.n_dimensions > there
        return {"n_dimensions": there} | ({"n_dimensions_asked": self.n_dimensions} if fewer else {})


class Hearst(_Tiling):
    """TextTiling as it was first described: function words left out, paragraphs, an adaptive threshold.

    The rule selects a large share of all minima whatever the text is: expect a boundary every few sentences.

    Parameters:
        sequence_tokens: Tokens of a sequence.
        context: Sequences on either side of a gap.
        rule: "hearst" (mean - sd / 2) or "liberal" (mean - sd).
        smoothing: Points on one side of a moving average, its center included; 1 for none.
        rounds: How often the signal is smoothed.
        paragraphs: Move boundaries to the nearest paragraph within five sequences.
        tokenizer: A `Tokenizer`, or an object with `spans(text)`; None for words.
    """

    threshold = 0.0
    overlap = False

    def __init__(
        self,
        *,
        sequence_tokens: int = 20,
        context: int = 6,
        rule: str = "hearst",
        smoothing: int = 2,
        rounds: int = 1,
        paragraphs: bool = True,
        tokenizer: Any = None,
    ) -> None:
        self.sequence_tokens = sequence_tokens
        self.context = context
        self.rule = rule
        self.smoothing = smoothing
        self.rounds = rounds
        self.paragraphs = paragraphs
        self.tokenizer = tokenizer

    def _cut(self, contexts: Contexts, n_segments: int | None) -> Proposal:
        text = contexts.text
        ids, offsets, vocabulary = text.content(contexts.sequences)
        every = np.empty(len(contexts.sequences) - 2)
        native.gap_cosines(ids, offsets, vocabulary, contexts.k, every)
        edge = min(3, contexts.k)  # near both ends of the text, contexts of three sequences
        gaps = gaps_of(contexts.sequences[edge:-edge], self._smooth(every[edge - 1 : len(every) + 1 - edge]))
        proposal = self._chosen(gaps, n_segments)
        if not self.paragraphs:
            return proposal
        boundaries = snapped(proposal.boundaries, text.breaks("paragraph"), 5 * self.sequence_tokens)
        return Proposal(boundaries, gaps, proposal.details)
