"""Nearest neighbors: one index for cosine, Euclidean and Hellinger, dense and sparse, exact.

    query    the k nearest vectors                 within    all at least so near
    pairs    all pairs at least so near            add, remove, filters by id, save and load

| `method`   | vectors                            | reads                                                          |
|------------|------------------------------------|----------------------------------------------------------------|
| "scan"     | dense                              | everything, at the speed of memory (`scan.py`)                 |
| "coarse"   | dense                              | vectors rounded to bytes, then few vectors (`coarse.py`)       |
| "prefix"   | dense, leading columns heaviest    | leading columns, the rest where they do not settle (`scan.py`) |
| "va"       | dense                              | short approximations, then few vectors (`vafile.py`)           |
| "inverted" | sparse                             | postings of the query's terms (`inverted.py`)                  |

"auto" is "coarse" for dense and "inverted" for sparse vectors. All methods for dense vectors give the same answers:
keys are computed in double precision from the stored float32 numbers, ties are broken by id, whatever the method,
batch or number of threads. "inverted" sums its products in another order; its scores agree with theirs up to rounding.
How measures become searches by product or distance stands in `measured.py`.

Ids are whole numbers, given out in rising order and never again. A removed vector is only marked; when more than half
are, the index is compacted. Cost of `add`: the new rows, and now and then a copy of the index, so that over many calls
each row is copied a few times.
Reference: Rehurek (2011), Scalability of Semantic Analysis in Natural Language Processing, section 2.4.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill.corpus import check_bags
from textmill.errors import DataError, ModelFileError
from textmill.model import Estimator, Model, check_choice, check_fitted, check_owners, check_range, effective_jobs
from textmill.numeric import SparseRows, is_sparse, sparse
from textmill.tables import Column, Table
from textmill.vectors.coarse import CoarseScan
from textmill.vectors.growth import Growing
from textmill.vectors.inverted import InvertedIndex
from textmill.vectors.measured import INDEX_MEASURES, keys_of, kind_of, prepared, scores_of
from textmill.vectors.scan import DenseRows, Found, PrefixScan, Scan, Wish
from textmill.vectors.vafile import VAFile

__all__ = ["Answers", "Index", "Neighbors", "Ranked"]

METHODS = ("auto", "scan", "coarse", "prefix", "va", "inverted")

_BLOCK = 256  # rows whose pairs are found together
_FEW = 16  # where only one row of this many is allowed, keys of the allowed rows alone are cheaper than a search
_ZERO = "the query is a vector of zeros, which is near nothing"


@dataclass(frozen=True, slots=True, repr=False)
class Neighbors(Table):
    """What one query found: ids and scores, nearest first; `reason`: why the result is empty, if known."""

    ids: NDArray[np.int64]
    scores: NDArray[np.float64]
    reason: str | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def columns(self) -> dict[str, Column]:
        """Return ids and scores, the nearest first."""
        return {"id": self.ids, "score": self.scores}

    def note(self) -> str | None:
        """Return why nothing was found, if that is known."""
        return self.reason


@dataclass(frozen=True, slots=True, repr=False)
class Answers(Table, Sequence[Neighbors]):
    """What several queries found: a sequence of `Neighbors`.

    `read` counts the vectors that were read in full for all queries together, of `searched` that there were.
    """

    offsets: NDArray[np.int64]
    ids: NDArray[np.int64]
    scores: NDArray[np.float64]
    reasons: tuple[str | None, ...]
    read: int
    searched: int

    def __len__(self) -> int:
        return len(self.reasons)

    def columns(self) -> dict[str, Column]:
        """Return the number of the query, ids and scores of all answers."""
        query = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        return {"query": query, "id": self.ids, "score": self.scores}

    @overload
    def __getitem__(self, i: int) -> Neighbors: ...
    @overload
    def __getitem__(self, i: slice) -> list[Neighbors]: ...
    def __getitem__(self, i: int | slice) -> Neighbors | list[Neighbors]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        i = range(len(self))[i]
        part = slice(self.offsets[i], self.offsets[i + 1])
        return Neighbors(self.ids[part], self.scores[part], self.reasons[i])


class Ranked(NamedTuple):
    """Ids and keys of the answers to all queries one after the other, best first: those of query i from offsets[i] on.

    A key is larger for a nearer vector, whatever the measure; `scores_of` turns keys into scores.
    """

    offsets: NDArray[np.int64]
    ids: NDArray[np.int64]
    keys: NDArray[np.float64]


class Index(Growing, Estimator, Model):
    """Find the nearest of many vectors.

    Parameters:
        measure: "cosine", "euclidean" or "hellinger".
        method: How vectors are searched: "scan", "coarse", "prefix", "va" or "inverted" (see the module), or "auto".
        prefix: Number of columns that the method "prefix" reads first; None for as many as carry four fifths of the
            squared lengths.
        bits: Bits of a cell for the method "va".
        n_jobs: Number of threads; None for all cores.

    Attributes:
        ids_: Ids of the rows, (rows,), rising.
        alive_: False for removed vectors, (rows,).
        columns_: Number of columns.
        next_: First id that was never given.
        engine_: Structure that is searched, made whole when it is asked for.

    >>> index = Index().fit([[1.0, 0.0], [0.0, 1.0], [3.0, 4.0]])
    >>> neighbors = index.query([[0.0, 2.0]], k=2)[0]
    >>> neighbors.ids.tolist(), neighbors.scores.round(4).tolist()
    ([1, 2], [1.0, 0.8])
    """

    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {"ids_": "row: int64", "alive_": "row: bool"}
    state: ClassVar[dict[str, type]] = {"columns_": int, "next_": int}
    parts: ClassVar[dict[str, str]] = {
        "engine_": "vectors.Scan | vectors.CoarseScan | vectors.PrefixScan | vectors.VAFile | vectors.InvertedIndex"
    }

    ids_: NDArray[np.int64]
    alive_: NDArray[np.bool_]
    columns_: int
    next_: int
    _engine: Any

    def __init__(
        self,
        *,
        measure: str = "cosine",
        method: str = "auto",
        prefix: int | None = None,
        bits: int = 8,
        n_jobs: int | None = None,
    ) -> None:
        self.measure = measure
        self.method = method
        self.prefix = prefix
        self.bits = bits
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: object = None, *, ids: ArrayLike | None = None) -> Index:
        """Index the rows of X; `ids` are rising whole numbers, None for 0, 1, 2 and so on."""
        check_choice("measure", self.measure, INDEX_MEASURES)
        check_choice("method", self.method, METHODS)
        rows, empty = prepared(self.measure, X, "X")
        self._refuse_empty(empty, "X")
        return self._build(rows, ids)

    @classmethod
    def of(cls, rows: Any, *, ids: ArrayLike | None = None, **parameters: Any) -> Index:
        """Return the index of vectors that are prepared already, taken out of others by `vectors_of`.

        >>> index = Index().fit([[3.0, 4.0], [1.0, 0.0]])
        >>> Index.of(index.vectors_of([1])).query([[1.0, 0.0]])[0].ids.tolist()
        [0]
        """
        index = cls(**parameters)
        check_choice("measure", index.measure, INDEX_MEASURES)
        check_choice("method", index.method, METHODS)
        return index._build(rows.csr() if isinstance(rows, SparseRows) else rows, ids)

    def _build(self, rows: Any, ids: ArrayLike | None) -> Index:
        """Index prepared rows."""
        kind, method = kind_of(self.measure), self.method
        if method == "auto":
            method = "inverted" if is_sparse(rows) else "coarse"
        check_owners(self, "method", {"prefix": ("prefix",), "bits": ("va",)}, method)
        if is_sparse(rows) != (method == "inverted"):
            held = "sparse" if is_sparse(rows) else "dense"
            raise DataError(f"method='{method}' cannot index {held} vectors; pass method='auto' or convert them")
        builders: dict[str, Any] = {
            "scan": lambda: Scan.build(kind, rows),
            "coarse": lambda: CoarseScan.build(kind, rows),
            "prefix": lambda: PrefixScan.build(kind, rows, self.prefix),
            "va": lambda: VAFile.build(kind, rows, self.bits),
            "inverted": lambda: InvertedIndex.build(kind, rows),
        }
        names = _checked_ids(ids, rows.shape[0], 0)
        self.engine_ = builders[method]()
        self.columns_ = int(rows.shape[1])
        self.ids_, self.alive_ = names, np.ones(len(names), np.bool_)
        self.next_ = int(names[-1]) + 1 if len(names) else 0
        return self

    @property
    def engine_(self) -> Any:
        """The structure that is searched, with everything in it."""
        if "_engine" not in vars(self):
            raise AttributeError("this Index has no engine_ yet; call fit")
        self._engine.settle()
        return self._engine

    @engine_.setter
    def engine_(self, engine: Any) -> None:
        self._engine = engine

    def __sklearn_is_fitted__(self) -> bool:
        return "_engine" in vars(self) and "next_" in vars(self)  # without asking for the whole engine

    @property
    def n_features_in_(self) -> int:
        """The number of columns, as scikit-learn asks for it."""
        check_fitted(self)
        return self.columns_

    def __len__(self) -> int:
        return int(np.count_nonzero(self.alive_))

    def add(self, X: Any, *, ids: ArrayLike | None = None) -> NDArray[np.int64]:
        """Add the rows of X and return their ids, which are above all that were given before.

        >>> Index().fit([[1.0, 0.0]]).add([[0.0, 1.0]]).tolist()
        [1]
        """
        check_fitted(self)
        rows, empty = self._rows(X, "X")
        self._refuse_empty(empty, "X")
        names = _checked_ids(ids, rows.shape[0], self.next_)
        self._engine.append(rows)
        self.extend("ids_", names)
        self.extend("alive_", np.ones(len(names), np.bool_))
        self.next_ = int(names[-1]) + 1 if len(names) else self.next_
        return names

    def copy(self) -> Index:
        """Return another index of the same vectors, in the same memory; what is added to one is not in the other.

        >>> index = Index().fit([[1.0, 0.0]])
        >>> before = index.copy()
        >>> index.add([[0.0, 1.0]]).tolist(), len(index), len(before)
        ([1], 2, 1)
        """
        check_fitted(self)
        other = copy.copy(self)
        vars(other).update(vars(self))
        other._engine = copy.copy(self._engine)
        vars(other._engine).update(vars(self._engine))
        return other

    def remove(self, ids: ArrayLike) -> None:
        """Remove vectors by id; their ids are not given again.

        >>> index = Index().fit([[1.0], [2.0], [3.0]])
        >>> index.remove([1])
        >>> index.query([[1.0]])[0].ids.tolist()
        [0, 2]
        """
        check_fitted(self)
        rows = self._rows_of(ids)
        self.alive_ = self.alive_.copy()
        self.alive_[rows] = False
        if 2 * len(self) < len(self.alive_):
            self.compact()

    def compact(self) -> None:
        """Give back the room of removed vectors.

        >>> index = Index().fit([[1.0], [2.0], [3.0]])
        >>> index.remove([0])
        >>> index.compact()
        >>> index.ids_.tolist()
        [1, 2]
        """
        check_fitted(self)
        if not self.alive_.all():
            self._engine.keep(self.alive_)
            self.ids_ = self.ids_[self.alive_]
            self.alive_ = np.ones(len(self.ids_), np.bool_)

    def query(self, Q: Any, *, k: int = 10, allow: ArrayLike | None = None, deny: ArrayLike | None = None) -> Answers:
        """Return the k nearest vectors of each row of Q, of those in `allow` if given, without those in `deny`.

        >>> index = Index(measure="euclidean").fit([[0.0], [1.0], [5.0]])
        >>> index.query([[4.0]], k=1, deny=[2])[0]
        Neighbors, 1 row
        id  score
         1      3
        """
        check_range("k", k, at_least=1, whole=True)
        check_fitted(self)
        return self._search(*self._rows(Q, "Q"), k, -math.inf, self._allowed(allow, deny))

    def within(
        self, Q: Any, *, threshold: float, allow: ArrayLike | None = None, deny: ArrayLike | None = None
    ) -> Answers:
        """Return all vectors at least so near: cosine of `threshold` or more, or a distance of `threshold` or less.

        >>> Index(measure="euclidean").fit([[0.0], [1.0], [5.0]]).within([[0.5]], threshold=1.0)[0].ids.tolist()
        [0, 1]
        """
        check_fitted(self)
        return self._search(*self._rows(Q, "Q"), 0, self._least(threshold), self._allowed(allow, deny))

    def neighbors_of(self, ids: ArrayLike, *, k: int = 10) -> Answers:
        """Return the k nearest vectors of vectors in the index, but for themselves.

        >>> Index().fit([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]).neighbors_of([2], k=1)[0].ids.tolist()
        [1]
        """
        check_range("k", k, at_least=1, whole=True)
        check_fitted(self)
        rows = self._rows_of(ids)
        answers = self._search(self._engine.take(rows), np.zeros(len(rows), np.bool_), k + 1, -math.inf, self._mask())
        parts = []
        for row, answer in zip(rows, answers, strict=True):
            others = answer.ids != self.ids_[row]  # a vector of which more than k are copies may not have found itself
            parts.append(Neighbors(answer.ids[others][:k], answer.scores[others][:k]))
        return _answers(parts, answers)

    def vectors_of(self, ids: ArrayLike) -> Any:
        """Return the stored vectors of some ids, as `nearest` takes them: float32, dense or `SparseRows`.

        >>> Index().fit([[3.0, 4.0], [1.0, 0.0]]).vectors_of([1]).tolist()
        [[1.0, 0.0]]
        """
        check_fitted(self)
        return self._engine.take(self._rows_of(ids))

    def nearest(
        self,
        rows: Any,
        *,
        k: int = 10,
        threshold: float | None = None,
        allow: ArrayLike | None = None,
        deny: ArrayLike | None = None,
    ) -> Ranked:
        """Return what `query` does, or `within` if there is a threshold, for vectors as `vectors_of` and
        `prepare_rows` give them, with keys for scores.

        They are not prepared again, so keys have the bits that another index with these vectors would give, whichever
        is asked: answers of several indexes are merged as if they were one.

        >>> one, other = Index().fit([[3.0, 4.0]]), Index().fit([[1.0, 2.0], [2.0, 1.0]])
        >>> one.nearest(other.vectors_of([0])).keys[0] == other.nearest(one.vectors_of([0])).keys[0]
        np.True_
        """
        check_range("k", k, at_least=1, whole=True)
        check_fitted(self)
        empty = np.diff(rows.indptr) == 0 if is_sparse(rows) else ~rows.any(axis=1)
        if threshold is not None:
            return self._ranked(rows, empty, 0, self._least(threshold), self._allowed(allow, deny))[0]
        return self._ranked(rows, empty, k, -math.inf, self._allowed(allow, deny))[0]

    def reach(self, rows: Any, least: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return ids and keys of the vectors whose key with one prepared row is at least their own, by row of the
        index.

        `least` has a key for each of `ids_`: -inf for any, inf for none.

        >>> index = Index().fit([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
        >>> index.reach(index.vectors_of([0]), np.array([np.inf, 0.5, 0.5]))[0].tolist()
        [1]
        """
        check_fitted(self)
        if least.shape != self.ids_.shape or rows.shape != (1, self.columns_):
            raise DataError(f"one row of {self.columns_} numbers and {len(self.ids_)} least keys are needed")
        places, keys = self._engine.reach(rows, np.where(self.alive_, least, np.inf), effective_jobs(self.n_jobs))
        return self.ids_[places], keys

    def pairs(self, *, threshold: float) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]:
        """Yield all pairs at least so near, as in `within`, in blocks of smaller ids, larger ids and scores.

        Within a block pairs are in the order of the smaller id, then of nearness.

        >>> index = Index().fit([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
        >>> [[part.tolist() for part in block] for block in index.pairs(threshold=0.9)]
        [[[0], [2], [1.0]]]
        """
        check_fitted(self)
        least = self._least(threshold)
        return self._pairs(least)

    def check_values(self) -> None:
        """Check what the layout cannot say of an index from a file."""
        columns = self.engine_.vectors_.shape[1] if isinstance(self.engine_, DenseRows) else len(self.engine_.largest_)
        if len(self.engine_) != len(self.ids_) or columns != self.columns_ or self.columns_ < 1:
            raise ModelFileError("the ids do not fit the vectors", reason="damaged")
        if len(self.ids_) and (self.ids_[0] < 0 or (np.diff(self.ids_) <= 0).any() or self.next_ <= self.ids_[-1]):
            raise ModelFileError("the ids do not rise", reason="damaged")
        if self.measure not in INDEX_MEASURES or self.engine_.kind_ != kind_of(self.measure):
            raise ModelFileError("the measure does not fit the vectors", reason="damaged")

    def _pairs(self, least: float) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]:
        threads, mask = effective_jobs(self.n_jobs), self._mask()
        for start in range(0, len(self.ids_), _BLOCK):
            rows = start + np.flatnonzero(self.alive_[start : start + _BLOCK])
            Q = self.engine_.take(rows)
            if isinstance(self.engine_, InvertedIndex):
                matches = self.engine_.search(Q, Wish(0, least, mask), threads, first=rows + 1)
            else:
                wish = Wish(0, least, None if mask is None else mask[start:])
                matches = self.engine_.rest(start).search(Q, wish, threads)
                matches = matches._replace(rows=matches.rows + start)
            left = np.repeat(rows, np.diff(matches.offsets))
            wanted = matches.rows > left
            if wanted.any():
                keys = matches.keys[wanted]
                yield self.ids_[left[wanted]], self.ids_[matches.rows[wanted]], scores_of(self.measure, keys)

    def _search(
        self, Q: Any, empty: NDArray[np.bool_], k: int, least: float, allowed: NDArray[np.uint8] | None
    ) -> Answers:
        """Search for prepared rows; `empty` ones have no answer where zeros have no meaning."""
        (offsets, ids, keys), empty, count, read = self._ranked(Q, empty, k, least, allowed)
        nothing = "the index is empty, or all of it was filtered out" if count == 0 else None
        reasons = tuple(_ZERO if zero else nothing for zero in empty.tolist())
        return Answers(offsets, ids, scores_of(self.measure, keys), reasons, read, Q.shape[0] * len(self.ids_))

    def _ranked(
        self, Q: Any, empty: NDArray[np.bool_], k: int, least: float, allowed: NDArray[np.uint8] | None
    ) -> tuple[Ranked, NDArray[np.bool_], int, int]:
        """Ids and keys of all queries, which of these had no answer to expect, and how much was searched and read."""
        if self.measure == "euclidean":
            empty = np.zeros_like(empty)
        count = len(self.ids_) if allowed is None else int(np.count_nonzero(allowed))
        asked = np.flatnonzero(~empty)
        if count == 0 or not len(asked):
            matches = Found(np.zeros(len(asked) + 1, np.int64), np.zeros(0, np.int64), np.zeros(0), 0)
        elif isinstance(self._engine, DenseRows) and count * _FEW <= len(self.ids_) and allowed is not None:
            matches = _of_few(self._engine, Q[asked], k, least, np.flatnonzero(allowed))
        else:
            wish = Wish(min(k, count), least, allowed)
            matches = self._engine.search(
                Q if len(asked) == Q.shape[0] else Q[asked], wish, effective_jobs(self.n_jobs)
            )
        sizes = np.zeros(Q.shape[0], np.int64)
        sizes[asked] = np.diff(matches.offsets)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        return Ranked(offsets, self.ids_[matches.rows], matches.keys), empty, count, matches.read

    def _rows(self, X: Any, name: str) -> tuple[Any, NDArray[np.bool_]]:
        """Rows as the engine takes them, once they have the right length."""
        if is_sparse(X) and not isinstance(X, SparseRows):  # plain arrays: SciPy's own checks take longer than a search
            X = check_bags(X, name=name, negative=True)
            if X.has_canonical_format:
                X = SparseRows(X.data, X.indices.astype(np.int32, copy=False), X.indptr, X.shape)
        rows, empty = prepared(self.measure, X, name)
        if rows.shape[1] != self.columns_:
            raise DataError(
                f"{name} has vectors of {rows.shape[1]} numbers but the index of {self.columns_}; "
                "use the model that the index was made with"
            )
        wants_sparse = isinstance(self._engine, InvertedIndex)
        if wants_sparse and not is_sparse(rows):
            rows = sparse.csr_matrix(rows)
        elif not wants_sparse and is_sparse(rows):
            rows = rows.toarray()
        return rows, empty

    def _refuse_empty(self, empty: NDArray[np.bool_], name: str) -> None:
        if self.measure == "hellinger" and empty.any():
            raise DataError(f"row {int(empty.argmax())} of {name} sums to 0 and is no distribution; leave it out")

    def _least(self, threshold: float) -> float:
        if self.measure == "cosine":
            check_range("threshold", threshold, at_least=-1, at_most=1)
        else:
            check_range("threshold", threshold, at_least=0, below=math.inf)
        return keys_of(self.measure, threshold)

    def _rows_of(self, ids: ArrayLike) -> NDArray[np.int64]:
        """The rows of ids, all of which must be there."""
        wanted = _whole_numbers("ids", ids)
        rows = np.searchsorted(self.ids_, wanted)
        there = np.isin(wanted, self.ids_[self._known_rows("ids", wanted)])
        there[there] = self.alive_[rows[there]]
        if not there.all():
            raise DataError(f"the index has no vector with the id {wanted[int((~there).argmax())]}; check the ids")
        return rows

    def _mask(self) -> NDArray[np.uint8] | None:
        """Which rows may be found, None for all."""
        return None if self.alive_.all() else self.alive_.view(np.uint8)

    def _allowed(self, allow: ArrayLike | None, deny: ArrayLike | None) -> NDArray[np.uint8] | None:
        """Which rows may be found, None for all; unknown ids in the filters are passed over."""
        mask = self._mask()
        if allow is not None:
            chosen = np.zeros(len(self.ids_), np.uint8)
            chosen[self._known_rows("allow", allow)] = 1
            mask = chosen if mask is None else mask & chosen
        if deny is not None:
            mask = np.ones(len(self.ids_), np.uint8) if mask is None else mask.copy()
            mask[self._known_rows("deny", deny)] = 0
        return mask

    def _known_rows(self, name: str, ids: ArrayLike) -> NDArray[np.intp]:
        """The rows of those ids that are there, or were."""
        wanted = _whole_numbers(name, ids)
        rows = np.searchsorted(self.ids_, wanted)
        there = rows < len(self.ids_)
        there[there] = self.ids_[rows[there]] == wanted[there]
        return rows[there]


def _of_few(engine: DenseRows, Q: Any, k: int, least: float, rows: NDArray[np.int64]) -> Found:
    """The best of a few rows, by computing all their keys."""
    parts = []
    for query in Q:
        keys = engine.keys(query, rows)
        order = np.lexsort((rows, -keys))
        order = order[keys[order] >= least][: k or None]
        parts.append((rows[order], keys[order]))
    offsets = np.cumsum([0, *(len(some) for some, _ in parts)])
    members, keys = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Found(offsets, members, keys, len(rows) * len(Q))


def _answers(parts: list[Neighbors], like: Answers) -> Answers:
    return Answers(
        np.cumsum([0, *map(len, parts)]),
        np.concatenate([part.ids for part in parts]) if parts else like.ids,
        np.concatenate([part.scores for part in parts]) if parts else like.scores,
        tuple(part.reason for part in parts),
        like.read,
        like.searched,
    )


def _whole_numbers(name: str, values: ArrayLike) -> NDArray[np.int64]:
    array = np.atleast_1d(np.asarray(values))
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise DataError(f"{name} must be a list of whole numbers, got {array.dtype} of shape {array.shape}")
    return array.astype(np.int64)


def _checked_ids(ids: ArrayLike | None, rows: int, least: int) -> NDArray[np.int64]:
    """Ids for new rows: rising, from `least` on."""
    if ids is None:
        return np.arange(least, least + rows, dtype=np.int64)
    names = _whole_numbers("ids", ids)
    if len(names) != rows:
        raise DataError(f"there are {len(names)} ids for {rows} vectors; pass one each")
    if len(names) and (names[0] < least or (np.diff(names) <= 0).any()):
        raise DataError(f"ids must rise, from {least} on; sort the vectors by their ids")
    return names
