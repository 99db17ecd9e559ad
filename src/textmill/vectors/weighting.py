"""Weights of terms in documents, by three letters of the SMART notation: local, global, normalization.

    w_dt = norm( local(a_dt) * global(t) )      a_dt > 0: count of term t in document d; 0 stays 0

    local   n   a                               global   n   1
            b   1                                        t   idf, see below
            a   1/2 + 1/2 a / max of the row    norm     n   none
            l   log(1 + a)                               c   divided by the Euclidean length of the row

    idf     "n/(1+d)"   log(n / (1 + d_t))                n: documents, d_t: those that hold t, both of training
            "n/d"       log(n / d_t)
            "smooth"    log((1 + n) / (1 + d_t)) + 1

`nnn` changes nothing, `bnn` is binary, `ntc` is TF-IDF. A term that training never saw has the idf 0. Entries of weight
0 are dropped, so a weighted row never has more of them than the row of counts. log(n / (1 + d)) is negative for a term
of all documents: it counts as 0 unless negative="keep".

What is learned are the integers n and d: they add, so chunks, streams and machines give exactly the same model, and the
idf is derived when it is needed. Cost: one visit of an entry.

References: Salton & Buckley (1988), Term-weighting approaches in automatic text retrieval; Rehurek (2011), Scalability
of Semantic Analysis in Natural Language Processing, chapter 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill._native import vectors as native
from textmill.corpus import Vocabulary, array_like, check_bags, csr_arrays
from textmill.errors import DataError, ModelFileError, warn_caller
from textmill.model import Model, Transformer, check_choice, check_fitted, check_range, effective_jobs
from textmill.numeric import SparseRows, is_sparse, sparse

__all__ = ["NegativeWeights", "Vectors", "Weighting", "weigh"]

_LETTERS = (("local", "nbal"), ("global", "nt"), ("normalization", "nc"))


class NegativeWeights(UserWarning):
    """Terms in all documents have a negative idf, which was set to 0."""


class Weighting(Transformer, Model):
    """Weigh the entries of bags of words.

    Parameters:
        scheme: Three letters (see the module), or two schemes as "ddd.qqq", for documents and for queries.
        query: Scheme for queries; None for that of the documents.
        idf: "n/(1+d)", "n/d" or "smooth".
        log_base: Base of the logarithms of `l` and `t`.
        negative: What becomes of a negative idf: "clip" (to 0, with a warning) or "keep".
        dtype: Type of the weights: "float64" or "float32".
        n_jobs: Number of threads; None for all cores.

    Attributes:
        document_frequency_: Number of documents with each term, (V,).
        documents_: Number of documents.
        idf_: Inverse document frequencies, (V,), derived from the two.

    >>> X = sparse.csr_matrix([[1, 2, 0], [1, 0, 0], [0, 0, 3]])
    >>> weighting = Weighting(scheme="ntc", idf="smooth").fit(X)
    >>> weighting.document_frequency_.tolist(), weighting.documents_
    ([2, 1, 1], 3)
    >>> weighting.transform(X).toarray().round(4).tolist()
    [[0.3554, 0.9347, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """

    takes: ClassVar[str] = "counts"
    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {"document_frequency_": "term: int64"}
    state: ClassVar[dict[str, type]] = {"documents_": int}

    document_frequency_: NDArray[np.int64]
    documents_: int
    factors: NDArray[np.float64] | None = None  # of the columns, where some terms weigh less than others
    _counted: bool = False  # here, and not in another process

    def __init__(
        self,
        *,
        scheme: str = "ntc",
        query: str | None = None,
        idf: str = "n/(1+d)",
        log_base: float = math.e,
        negative: str = "clip",
        dtype: str = "float64",
        n_jobs: int | None = None,
    ) -> None:
        self.scheme = scheme
        self.query = query
        self.idf = idf
        self.log_base = log_base
        self.negative = negative
        self.dtype = dtype
        self.n_jobs = n_jobs

    @classmethod
    def of(cls, vocabulary: Vocabulary, **parameters: Any) -> Weighting:
        """Return the weighting of a corpus whose terms are counted already.

        >>> Weighting.of(Vocabulary().fit(["to be", "to do"]), idf="smooth").document_frequency_.tolist()
        [2, 1, 1]
        """
        check_fitted(vocabulary)
        weighting = cls(**parameters)
        weighting.schemes()
        weighting.document_frequency_ = vocabulary.document_frequency_
        weighting.documents_ = vocabulary.documents_
        weighting._counted = True
        return weighting

    def fit(self, X: Any, y: object = None) -> Weighting:
        """Count documents and document frequencies of one matrix, or of a stream of chunks in one pass.

        A SciPy matrix or NumPy array is a matrix; any other iterable is a stream of them.
        """
        X = array_like(X)
        counted = Weighting(**self.get_params(deep=False))
        for chunk in [X] if is_sparse(X) or hasattr(X, "__array__") else X:
            counted.partial_fit(chunk)
        if not counted.__sklearn_is_fitted__():
            raise DataError("the stream has no chunks, so the number of terms is unknown; pass at least one")
        self.document_frequency_, self.documents_ = counted.document_frequency_, counted.documents_
        self._counted = True
        return self

    def partial_fit(self, X: Any, y: object = None) -> Weighting:
        """Add the documents of one chunk.

        >>> Weighting().partial_fit([[1, 0]]).partial_fit([[2, 1]]).document_frequency_.tolist()
        [2, 1]
        """
        self.schemes()
        X = check_bags(X)
        there = X.indices if X.data.all() else X.indices[X.data != 0]
        frequency = np.bincount(there, minlength=X.shape[1]).astype(np.int64)
        if self.__sklearn_is_fitted__():
            self._check_columns(X.shape[1])
            frequency += self.document_frequency_
        self.documents_ = getattr(self, "documents_", 0) + X.shape[0]
        self.document_frequency_ = frequency
        self._counted = True
        return self

    def merge(self, other: Weighting) -> Weighting:
        """Return the weighting of both corpora together, exactly; their columns must be the same terms.

        >>> Weighting().fit(np.eye(2)).merge(Weighting().fit(np.ones((3, 2)))).document_frequency_.tolist()
        [4, 4]
        """
        check_fitted(self)
        check_fitted(other)
        self._check_columns(len(other.document_frequency_))
        merged = Weighting(**self.get_params(deep=False))
        merged.document_frequency_ = self.document_frequency_ + other.document_frequency_
        merged.documents_ = self.documents_ + other.documents_
        merged._counted = True
        return merged

    def transform(self, X: Any) -> sparse.csr_matrix:
        """Return the weights of documents."""
        return self._weigh(check_bags(X), 0).csr()

    def transform_query(self, X: Any) -> sparse.csr_matrix:
        """Return the weights of queries, by their own scheme if there is one.

        >>> weighting = Weighting(scheme="nnn.bnc").fit(np.array([[3, 0], [1, 2]]))
        >>> weighting.transform([[0, 2]]).toarray().tolist(), weighting.transform_query([[0, 2]]).toarray().tolist()
        ([[0.0, 2.0]], [[0.0, 1.0]])
        """
        return self._weigh(check_bags(X), 1).csr()

    def vectors(self, chunks: Iterable[Any]) -> Vectors:
        """Return the weights of a stream of chunks, which are made as they are read.

        >>> weighting = Weighting(scheme="nnc").fit(np.array([[3, 4]]))
        >>> [chunk.toarray().tolist() for chunk in weighting.vectors([[[3, 4]], [[0, 9]]])]
        [[[0.6, 0.8]], [[0.0, 1.0]]]
        """
        check_fitted(self)
        return Vectors(self, chunks)

    @property
    def idf_(self) -> NDArray[np.float64]:
        """The inverse document frequencies by column, derived from the counts; 0 for a term that was never seen."""
        check_fitted(self)
        settings = (self.idf, self.log_base, self.negative, self.documents_)
        derived_from, d, idf = getattr(self, "_derived", (None, None, np.zeros(0)))
        if derived_from != settings or d is not self.document_frequency_:
            idf = self._derive_idf()
            self._derived = (settings, self.document_frequency_, idf)
        return idf

    @property
    def n_features_in_(self) -> int:
        """The number of columns, as scikit-learn asks for it."""
        check_fitted(self)
        return len(self.document_frequency_)

    def schemes(self) -> tuple[str, str]:
        """Check the parameters and return the letters for documents and for queries.

        >>> Weighting(scheme="ltc.nnn").schemes()
        ('ltc', 'nnn')
        """
        check_choice("idf", self.idf, ["n/(1+d)", "n/d", "smooth"])
        check_choice("negative", self.negative, ["clip", "keep"])
        check_choice("dtype", self.dtype, ["float64", "float32"])
        check_range("log_base", self.log_base, above=1, below=math.inf)
        documents, dot, queries = str(self.scheme).partition(".")
        if dot and self.query is not None:
            raise DataError(f"scheme {self.scheme!r} names the one for queries already; leave out query={self.query!r}")
        queries = queries if dot else self.query if self.query is not None else documents
        return _letters("scheme", documents), _letters("scheme" if dot else "query", queries)

    def check_values(self) -> None:
        """Check what the layout cannot say of a weighting from a file."""
        d = self.document_frequency_
        if self.documents_ < 0 or (len(d) and (d.min() < 0 or d.max() > self.documents_)):
            raise ModelFileError(
                "document frequencies and the number of documents contradict each other", reason="damaged"
            )

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns, which are those that came in."""
        check_fitted(self)
        if input_features is None:
            return np.array([f"x{t}" for t in range(len(self.document_frequency_))], dtype=object)
        self._check_columns(len(input_features))
        return np.asarray(input_features, dtype=object)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_derived", "_counted")}

    def rows(self, X: SparseRows) -> SparseRows:
        """Return the weights of documents as plain arrays, for small jobs that need no SciPy.

        >>> vocabulary = Vocabulary().fit(["to be", "to do"])
        >>> Weighting.of(vocabulary, idf="smooth").rows(vocabulary.rows(["do do"])).data.tolist()
        [1.0]
        """
        return self._weigh(X, 0)

    def _weigh(self, X: Any, which: int) -> SparseRows:
        check_fitted(self)
        letters = self.schemes()[which]
        self._check_columns(X.shape[1])
        weights = self.idf_ if letters[1] == "t" else None
        if self.factors is not None:
            weights = self.factors if weights is None else weights * self.factors
        return weigh(X, letters, weights, log_base=self.log_base, dtype=self.dtype, n_jobs=self.n_jobs)

    def _check_columns(self, columns: int) -> None:
        expected = len(self.document_frequency_)
        if columns != expected:
            raise DataError(
                f"X has {columns} features, but Weighting is expecting {expected} features as input; "
                "use bags of one vocabulary"
            )

    def _derive_idf(self) -> NDArray[np.float64]:
        self.schemes()
        d, n = self.document_frequency_, self.documents_
        seen = d > 0
        ratio = np.ones(len(d))
        if self.idf == "n/d":
            ratio[seen] = n / d[seen]
        elif self.idf == "smooth":
            ratio[seen] = (1 + n) / (1 + d[seen])
        else:
            ratio[seen] = n / (1 + d[seen])
        idf: NDArray[np.float64] = np.log(ratio) / math.log(self.log_base) + (seen if self.idf == "smooth" else 0)
        negative = idf < 0
        if self.negative == "clip" and negative.any():
            if self._counted:  # a model from a file, or a copy, would say again what was said in training
                warn_caller(
                    f"{np.count_nonzero(negative)} of {len(d)} terms are in all {n} documents and have a negative idf, "
                    "which counts as 0; pass negative='keep', or idf='smooth' to weigh them",
                    NegativeWeights,
                )
            idf[negative] = 0.0
        return idf


class Vectors:
    """Weighted chunks of a stream of bags, made as they are read; can be read again when the bags can.

    Attributes, of the last or running pass: documents, nonzeros, empty (documents without a weight), unseen (entries
    of terms that training never saw); bags, the stream of counts; source, what the bags come from.
    """

    def __init__(self, weighting: Weighting, bags: Iterable[Any], source: Iterable[Any] | None = None) -> None:
        self.weighting = weighting
        self.bags = bags
        self.source = bags if source is None else source
        self._read = False
        self.documents = self.nonzeros = self.empty = self.unseen = 0

    def __iter__(self) -> Iterator[sparse.csr_matrix]:
        if self._read and iter(self.source) is self.source:
            raise DataError(
                "these vectors were read already and come from a generator, which can be read once; pass a list"
            )
        self._read = True
        self.documents = self.nonzeros = self.empty = self.unseen = 0
        return self._chunks()

    def _chunks(self) -> Iterator[sparse.csr_matrix]:
        unseen = self.weighting.document_frequency_ == 0
        for bags in self.bags:
            X = check_bags(bags)
            weights = self.weighting.transform(X)
            self.documents += X.shape[0]
            self.nonzeros += weights.nnz
            self.empty += int(np.count_nonzero(np.diff(weights.indptr) == 0))
            if unseen.any():
                self.unseen += int(np.count_nonzero(unseen[X.indices]))
            yield weights


def weigh(
    X: Any,
    letters: str,
    weights: NDArray[np.float64] | None = None,
    *,
    log_base: float = math.e,
    dtype: str = "float64",
    n_jobs: int | None = None,
) -> SparseRows:
    """Weigh checked bags by the letters of a scheme and, for the letter `t`, by the weights of the columns.

    >>> weigh(check_bags([[3.0, 4.0], [0.0, 0.0]]), "nnc").toarray().tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    values = X.data
    if values.dtype not in (np.int32, np.float32, np.float64):
        small = values.dtype.kind in "bui" and np.can_cast(values.dtype, np.int32)
        values = values.astype(np.int32 if small else np.float64)
    offsets = np.empty(X.shape[0] + 1, dtype=np.int64)
    columns = np.empty(X.nnz, dtype=np.int32)
    weighted = np.empty(X.nnz, dtype=dtype)
    size = native.weigh(
        *csr_arrays(X)[:2],
        values,
        local=letters[0],
        weights=np.zeros(0) if weights is None else weights,
        extent=X.shape[1],
        per_log=1.0 / math.log(log_base),
        unit=letters[2] == "c",
        out_offsets=offsets,
        out_columns=columns,
        out_values=weighted,
        threads=effective_jobs(n_jobs),
    )
    columns.resize(size, refcheck=False)  # in place: what was dropped is given back
    weighted.resize(size, refcheck=False)
    if letters[2] == "n" and values.dtype.kind == "f" and not np.isfinite(weighted).all():
        raise DataError(f"X holds values whose weight {dtype} cannot hold; pass counts, or scale them")
    return SparseRows(weighted, columns, offsets, (X.shape[0], X.shape[1]))


def _letters(parameter: str, scheme: object) -> str:
    """The letters of a scheme, once each is one."""
    if not isinstance(scheme, str) or len(scheme) != 3:
        raise DataError(f"{parameter} must be three letters such as 'ntc', got {scheme!r}")
    for letter, (place, letters) in zip(scheme, _LETTERS, strict=True):
        if letter not in letters:
            raise DataError(
                f"{parameter} {scheme!r}: the {place} letter must be one of {', '.join(letters)}, got {letter!r}"
            )
    return scheme
