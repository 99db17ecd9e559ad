"""C99: rank the similarities of sentences among their neighbors, then divide where the inside grows densest.

    S_ij = cosine of the stems of sentences i and j
    R_ij = share of the other cells of the r x r neighborhood of (i, j), clipped at the border, with a lower S
    D    = sum over segments of the R inside their squares / sum of the squares' areas

A text is divided again and again where D grows most; ties go to the first place. Without a number of segments, the
gains dD are averaged with weights (1, 2, 4, 8, 4, 2, 1), and divisions count as long as they gain more than the mean
plus 1.2 standard deviations. `n_dimensions` puts a latent space of the sentences in the place of stems.

Cost: O(n^2 r^2) time and O(n^2) memory for n sentences. Of more than 4,000 sentences each is compared only with those
less than `band` away, neighborhoods and squares are clipped there, and memory is O(n band). References: Choi (2000),
Advances in domain independent linear text segmentation; Choi, Wiemer-Hastings & Moore (2001), Latent semantic analysis
for text segmentation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from textmill._native import tasks as native
from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.model import check_choice, check_range
from textmill.tasks.segmentation.segmenter import Proposal, Segmenter
from textmill.tasks.segmentation.signals import decompose
from textmill.tasks.segmentation.texts import TokenizedText, unit_counts

__all__ = ["C99", "smoothed_gains"]

_WEIGHTS = np.array([1.0, 2.0, 4.0, 8.0, 4.0, 2.0, 1.0])
_MOST = 4000  # sentences that are all compared with each other: 400 MB


class C99(Segmenter):
    """Divide a text by the ranks of the similarities of its sentences.

    Parameters:
        neighborhood: Side of the neighborhood of a cell, odd.
        deviations: How many standard deviations above the mean a gain must be, without a number of segments.
        search: "fast", where each segment names its own best place, as the original does; or "exact".
        n_dimensions: Of a latent space for the sentences; None for their stems.
        band: Sentences from which on two are too far apart to be compared, in texts of more than 4,000.
        tokenizer: A `Tokenizer`, or an object with `spans(text)`; None for words.

    >>> mill, sky = "The mill wheel grinds grain.", "A planet orbits its star."
    >>> C99().segment("\\n".join([mill] * 8 + [sky] * 8), n_segments=2).boundaries.tolist()
    [40]
    """

    def __init__(
        self,
        *,
        neighborhood: int = 11,
        deviations: float = 1.2,
        search: str = "fast",
        n_dimensions: int | None = None,
        band: int = 300,
        tokenizer: Any = None,
    ) -> None:
        self.neighborhood = neighborhood
        self.deviations = deviations
        self.search = search
        self.n_dimensions = n_dimensions
        self.band = band
        self.tokenizer = tokenizer

    def _boundaries(self, text: TokenizedText, n_segments: int | None) -> Proposal:
        check_range("neighborhood", self.neighborhood, at_least=1, whole=True)
        if self.neighborhood % 2 == 0:
            raise DataError(f"neighborhood must be odd, got {self.neighborhood}; it has a center")
        check_choice("search", self.search, ["fast", "exact"])
        check_range("band", self.band, at_least=1, whole=True)
        units = text.sentences
        n = len(units) - 1
        if n < 2:
            return Proposal(np.zeros(0, np.int64))
        from scipy import sparse

        rows = self._rows(text)
        exact = self.search == "exact"
        if n > _MOST:
            rows = sparse.csr_matrix(rows)
            indices, values = rows.indices.astype(np.int32), rows.data.astype(np.float64)
            cuts, density = native.divide_band(
                rows.indptr.astype(np.int64), indices, values, rows.shape[1], r=self.neighborhood,
                band=min(n, self.band), exact=exact,
            )  # fmt: skip
        else:
            similarity = _cosines(rows)
            ranks = np.empty_like(similarity)
            native.rank_matrix(similarity, self.neighborhood, ranks)
            cuts, density = native.divide(ranks, exact)
        count = n_segments - 1 if n_segments is not None else _divisions(np.diff(density), self.deviations)
        return Proposal(units[np.sort(cuts[:count])])

    def _rows(self, text: TokenizedText) -> Any:
        """Vectors of the sentences, a sparse or a dense matrix."""
        ids, offsets, vocabulary = text.content(text.sentences)
        rows = unit_counts(ids, offsets, max(1, vocabulary))
        if self.n_dimensions is None:
            return rows
        check_range("n_dimensions", self.n_dimensions, at_least=1, whole=True)
        return decompose(rows, int(self.n_dimensions))[0]


def _cosines(rows: Any) -> Any:
    products = rows @ rows.T
    products = products.toarray() if hasattr(products, "toarray") else products
    norms = np.sqrt(np.diag(products))
    norms[norms == 0] = 1.0
    return np.ascontiguousarray(products / norms / norms[:, None], np.float32)


def smoothed_gains(gains: Floats) -> Floats:
    """Weighted averages of seven gains, fewer at the ends.

    >>> smoothed_gains(np.array([3.0, 0.0, 0.0])).round(4).tolist()
    [1.7143, 0.75, 0.4286]
    """
    reach = len(_WEIGHTS) // 2
    total = np.convolve(gains, _WEIGHTS)[reach:-reach]
    return total / np.convolve(np.ones(len(gains)), _WEIGHTS)[reach:-reach]


def _divisions(gains: Floats, deviations: float) -> int:
    """How many leading divisions gain more than the threshold."""
    gains = smoothed_gains(gains)
    below = np.flatnonzero(gains <= gains.mean() + deviations * gains.std())
    return int(below[0]) if len(below) else len(gains)
