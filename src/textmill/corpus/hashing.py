"""Bags without a vocabulary: columns by the hash of a term.

    column(t) = |h(t)| mod m      sign(t) = sign of h(t), if signed      h: MurmurHash3, 32 bits, of the UTF-8 bytes

Nothing is learned, so nothing grows: streams without end, and workers that never met, get the same columns. The price
is that columns have no names and some terms share one: with V terms and m columns a term is alone with probability
about exp(-V/m).

Reference: Weinberger et al. (2009), Feature hashing for large scale multitask learning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill._native import corpus as native
from textmill.corpus.bags import csr_of
from textmill.corpus.counting import Cutter, TokenizerLike, texts_of
from textmill.corpus.tokenize import text_batches
from textmill.model import Model, Transformer, check_range
from textmill.numeric import sparse
from textmill.progress import track

__all__ = ["HashedBags"]


class HashedBags(Transformer, Model):
    """Count documents by hashed terms; the columns are those of scikit-learn's HashingVectorizer.

    Parameters:
        columns: Number of columns.
        signed: Whether half of the terms count negatively, so that collisions cancel out on average.
        tokenizer: What cuts texts into terms, as in `Vocabulary`.
        ngrams: The shortest and the longest run of words that is a term.
        n_jobs: Number of threads; None for all cores.

    >>> X = HashedBags(columns=16).transform(["to be or not to be"])
    >>> X.shape, int(X.sum())
    ((1, 16), 6)
    """

    takes: ClassVar[str] = "texts"
    format_version: ClassVar[int] = 1

    def __init__(
        self,
        *,
        columns: int = 1 << 20,
        signed: bool = False,
        tokenizer: TokenizerLike = None,
        ngrams: tuple[int, int] = (1, 1),
        n_jobs: int | None = None,
    ) -> None:
        self.columns = columns
        self.signed = signed
        self.tokenizer = tokenizer
        self.ngrams = ngrams
        self.n_jobs = n_jobs

    def fit(self, documents: Iterable[Any] = (), y: object = None) -> HashedBags:
        """Do nothing: there is nothing to learn."""
        return self

    def fit_transform(self, documents: Iterable[Any], y: object = None, **options: Any) -> sparse.csr_matrix:
        """Return the bags of documents, in one pass."""
        return self.transform(documents)

    def transform(self, documents: Iterable[Any]) -> sparse.csr_matrix:
        """Return the bags of documents as one matrix."""
        empty = sparse.csr_matrix((0, self.columns), dtype=np.int32)
        return sparse.vstack([empty, *self.bags(documents)], format="csr")

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return names of the columns, which are numbers of hashes: hashedbags0, hashedbags1 and so on."""
        return np.array([f"hashedbags{i}" for i in range(self.columns)], dtype=object)

    def bags(self, documents: Iterable[Any]) -> Iterator[sparse.csr_matrix]:
        """Give the bags of a stream, chunk by chunk.

        >>> [chunk.shape for chunk in HashedBags(columns=8).bags(iter(["a b", "c"]))]
        [(2, 8)]
        """
        check_range("columns", self.columns, at_least=1, at_most=np.iinfo(np.int32).max, whole=True)
        cutter = Cutter(self.tokenizer, self.n_jobs, ngrams=self.ngrams)
        first = 0
        for batch in text_batches(track(texts_of(documents), "hashing terms", unit="documents")):
            cut, rules = (cutter.forms(batch), None) if cutter.normalizes(batch) else cutter.cut(batch)
            rows = native.count_hashed(
                cut, rules, columns=self.columns, with_sign=self.signed, threads=cutter.threads, first=first
            )
            first += len(batch)
            yield csr_of(rows, self.columns)
