"""Similarity across the gaps of a text: counts, TF-IDF, a latent space of the text itself, or any model.

A text is N token sequences; gap g lies before sequence g. The context before it is c_{g-k}, that behind it c_g, of k
sequences each: gaps k .. N-k have both whole. With A the counts of the contexts,

    counts    x_g = cos(a_{g-k}, a_g)
    tfidf     the same with a_ij log(n / df_i), rows of length 1, n contexts
    latent    the same with rows of V S, the truncated singular value decomposition of tfidf
    a model   the same with what `model.transform(contexts)` gives, contexts being texts

All contexts overlap, so that their counts are a band matrix times those of the sequences. A latent space of d
dimensions is the first d coordinates of any larger one. One dimension knows only signs: all similarities are 1 or -1.
`overlap=True` compares contexts shifted by one sequence instead, the literal reading of the source.

Cost: O(tokens) for counts; O(k tokens) and an SVD for the others. References: Hearst (1997); Řehůřek (2007), Text
segmentation using context overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from textmill._native import tasks as native
from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.tasks.segmentation.texts import TokenizedText, unit_counts

__all__ = [
    "Contexts",
    "Gaps",
    "Space",
    "cosines_of_neighbors",
    "decompose",
    "depth_scores",
    "gap_signal",
    "local_minima",
    "smooth",
]

_DENSE = 400  # contexts up to which the Gram matrix is decomposed whole
_RANK = 1e-7  # singular values below this share of the largest are noise


@dataclass(frozen=True, slots=True)
class Gaps:
    """Gaps of a text: the token each stands before, the smoothed similarity across it, its depth."""

    positions: Ints
    similarity: Floats
    depth: Floats

    def __len__(self) -> int:
        return len(self.positions)


class Space(Protocol):
    """A latent space that a text shares with what was read before it."""

    def latent(self, contexts: Contexts, dimensions: int) -> tuple[Floats, Floats]:
        """Coordinates of contexts, and the singular values."""


class Contexts:
    """The overlapping contexts of a text and their vectors; those of `latent` come from `space` if there is one."""

    def __init__(self, text: TokenizedText, sequences: Ints, k: int, space: Space | None = None) -> None:
        self.text, self.sequences, self.space = text, sequences, space
        self.k = min(k, max(1, (len(sequences) - 1) // 2))

    def __len__(self) -> int:
        return max(0, len(self.sequences) - self.k)

    @property
    def gaps(self) -> Ints:
        """Tokens before which a gap with two whole contexts lies."""
        return self.sequences[self.k : len(self.sequences) - self.k]

    def counts(self) -> Any:
        """Rows of word counts, one for each context."""
        from scipy import sparse

        rows = unit_counts(self.text.ids, self.sequences, max(1, len(self.text.terms)))
        n = rows.shape[0]
        band = sparse.diags([np.ones(n)] * self.k, range(self.k), shape=(len(self), n), format="csr")
        return sparse.csr_matrix(band @ rows)

    def tfidf(self) -> Any:
        """The same, weighted by rarity among the contexts, of length 1."""
        from scipy import sparse

        rows = self.counts()
        frequency = np.bincount(rows.indices, minlength=rows.shape[1])
        rarity = np.log(rows.shape[0] / np.maximum(1, frequency))
        rows.data *= rarity[rows.indices]
        rows.eliminate_zeros()
        norms = np.sqrt(rows.multiply(rows).sum(axis=1)).A1 if hasattr(rows, "multiply") else np.ones(len(self))
        norms[norms == 0] = 1.0
        return sparse.csr_matrix(sparse.diags(1 / norms) @ rows)

    def latent(self, dimensions: int) -> tuple[Floats, Floats]:
        """Coordinates of the contexts in at most so many dimensions, largest first, and the singular values."""
        if self.space is not None:
            return self.space.latent(self, dimensions)
        return decompose(self.tfidf(), dimensions)

    def embedded(self, model: Any) -> Floats:
        """What a model makes of the texts of the contexts."""
        text, last = self.text, len(self.text)
        begins, ends = self.sequences[: len(self)], self.sequences[self.k :]
        spans = [
            (int(text.starts[b]), int(text.starts[e]) if e < last else len(text.text))
            for b, e in zip(begins, ends, strict=True)
        ]
        vectors = model.transform([text.text[begin:end] for begin, end in spans])
        vectors = vectors.toarray() if hasattr(vectors, "toarray") else np.asarray(vectors, np.float64)
        if vectors.ndim != 2 or len(vectors) != len(self):
            raise DataError(
                f"the model gave an array of shape {vectors.shape} for {len(self)} contexts; one row for each"
            )
        if not np.isfinite(vectors).all():
            raise DataError("the model gave vectors that are not finite; look at what it makes of short texts")
        return vectors


def decompose(rows: Any, dimensions: int) -> tuple[Floats, Floats]:
    """Rows of V S and the singular values of a sparse matrix, largest first; no more than its rank."""
    most = min(rows.shape)
    wanted = min(dimensions, most)
    if wanted < 1 or rows.nnz == 0:
        return np.zeros((rows.shape[0], 0)), np.zeros(0)
    if rows.shape[0] < _DENSE or wanted >= most // 3:
        values, vectors = np.linalg.eigh((rows @ rows.T).toarray())
        squares, V = values[::-1][:wanted], vectors[:, ::-1][:, :wanted]
        s = np.sqrt(np.maximum(0.0, squares))
    else:
        from scipy.sparse.linalg import svds

        start = np.ones(most) / np.sqrt(most)
        V, s, _ = svds(rows.astype(np.float64), k=wanted, v0=start, return_singular_vectors="u")
        V, s = V[:, ::-1], s[::-1]
    rank = int((s > _RANK * s[0]).sum())
    return V[:, :rank] * s[:rank], s[:rank]


def cosines_of_neighbors(vectors: Any, step: int) -> Floats:
    """Cosine of each row with the one `step` rows later; 1 if both are zero, 0 if one is.

    >>> cosines_of_neighbors(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]), 1).round(4).tolist()
    [0.7071, 0.0, 1.0]
    """
    left, right = vectors[:-step], vectors[step:]
    if hasattr(vectors, "multiply"):
        dots = np.asarray(left.multiply(right).sum(axis=1)).ravel()
        squares = np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel()
    else:
        dots, squares = (left * right).sum(axis=1), (vectors * vectors).sum(axis=1)
    norms = np.sqrt(squares)
    product = norms[:-step] * norms[step:]
    both = (norms[:-step] == 0) & (norms[step:] == 0)
    return np.where(product > 0, dots / np.where(product > 0, product, 1.0), both.astype(float))


def gap_signal(contexts: Contexts, vectors: Any, *, overlap: bool = False) -> Floats:
    """Similarity across every gap with two whole contexts; `vectors` None for counts."""
    if vectors is None and not overlap:
        text = contexts.text
        every = np.empty(max(0, len(contexts.sequences) - 2))
        native.gap_cosines(text.ids, contexts.sequences, len(text.terms), contexts.k, every)
        return every[contexts.k - 1 : len(every) + 1 - contexts.k]
    vectors = contexts.counts() if vectors is None else vectors
    if overlap:  # c_{b} and c_{b+1} meet in the middle of both
        shifted = cosines_of_neighbors(vectors, 1)
        first = max(0, (contexts.k - 1) // 2)
        wanted = len(contexts.gaps)
        padded = (
            np.pad(shifted, (0, max(0, first + wanted - len(shifted))), mode="edge")
            if len(shifted)
            else np.ones(wanted)
        )
        return padded[first : first + wanted]
    return cosines_of_neighbors(vectors, contexts.k)


def smooth(signal: Floats, width: int, rounds: int) -> Floats:
    """Moving average over 2 width - 1 points, fewer at the ends, so many times.

    >>> smooth(np.array([0.9, 0.8, 0.3, 0.7]), 2, 1).round(4).tolist()
    [0.85, 0.6667, 0.6, 0.5]
    """
    reach = width - 1
    if not reach or not len(signal):
        return signal
    window = np.ones(2 * reach + 1)
    points = np.convolve(np.ones(len(signal)), window)[reach:-reach]
    for _ in range(rounds):
        signal = np.convolve(signal, window)[reach:-reach] / points
    return np.round(signal, 12)  # so that what is equal but for rounding is a plateau


def local_minima(signal: Floats) -> Ints:
    """Places lower than both neighbors; of a plateau, its center. The ends count only if the whole signal is there.

    >>> local_minima(np.array([0.9, 0.8, 0.3, 0.7, 0.95, 0.9, 0.5, 0.6, 0.4, 0.9])).tolist()
    [2, 6, 8]
    """
    if not len(signal):
        return np.zeros(0, np.int64)
    first = np.flatnonzero(np.concatenate([[True], signal[1:] != signal[:-1]]))  # of each run of equals
    last = np.concatenate([first[1:], [len(signal)]]) - 1
    values = signal[first]
    lower = (values[1:-1] < values[:-2]) & (values[1:-1] < values[2:])
    centers: Ints = (first[1:-1][lower] + last[1:-1][lower]) // 2
    return centers


def depth_scores(signal: Floats) -> Floats:
    """How far the signal falls to each place from the peaks on either side.

    >>> depth_scores(np.array([0.9, 0.8, 0.3, 0.7, 0.95, 0.9, 0.5, 0.6, 0.4, 0.9])).round(4).tolist()
    [0.0, 0.1, 1.25, 0.25, 0.0, 0.05, 0.55, 0.0, 0.7, 0.0]
    """
    return _peaks(signal) + _peaks(signal[::-1])[::-1] - 2 * signal


def _peaks(signal: Floats) -> Floats:
    """The peak reached from each place by walking left while the signal does not fall."""
    peaks = signal.copy()
    for i in range(1, len(signal)):
        if signal[i - 1] >= signal[i]:
            peaks[i] = peaks[i - 1]
    return peaks
