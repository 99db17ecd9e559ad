"""Distances and similarities of vectors, and of all pairs of rows, block by block.

    manhattan, euclidean, chebyshev     L_1, L_2, L_inf: minkowski with p = 1, 2, inf
    minkowski    distance               (sum_i |x_i - y_i|^p)^(1/p)                         p >= 1
    cosine       similarity, -1 to 1    x.y / (|x| |y|); 0 when |x| or |y| is 0
    hellinger    distance, 0 to 1       sqrt(1/2 sum_i (sqrt x_i - sqrt y_i)^2)
    kl           divergence             sum_i x_i log(x_i / y_i); infinite where y_i = 0 < x_i
    js           divergence             1/2 kl(x, m) + 1/2 kl(y, m), m = (x + y) / 2        (Jensen-Shannon)
    jaccard      similarity, 0 to 1     terms of both / terms of either, whatever their weights; 1 if none has any

A distance d is the similarity 1 / (1 + d) (`similarity_of_distance`). hellinger, kl and js compare probabilities: rows
must not be negative and sum to 1. kl >= 2 hellinger^2, in nats. Hellinger distances are Euclidean distances of square
roots, over sqrt 2; Euclidean distances of rows of length 1 rank like cosines, |x - y|^2 = 2 - 2 cos(x, y).

Cost of a pair of sparse rows: their common terms for cosine, hellinger, js, jaccard, L_1 and L_2, else all their terms;
of dense rows: one visit of each column, and cosine, hellinger and L_2 are matrix products. Where a difference of sums
has lost digits, because rows are near each other, it is computed anew from differences of entries. Memory: the rows and
one block of results.

Reference: Rehurek (2011), Scalability of Semantic Analysis in Natural Language Processing, chapter 2.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from textmill._native import vectors as native
from textmill.corpus import check_bags, csr_arrays
from textmill.errors import DataError
from textmill.model import check_choice, check_range, effective_jobs
from textmill.numeric import sparse
from textmill.vectors.weighting import weigh

__all__ = ["MEASURES", "compare", "pairwise", "pairwise_matrix", "similarity_of_distance"]

MEASURES = ("manhattan", "euclidean", "chebyshev", "minkowski", "cosine", "hellinger", "kl", "js", "jaccard")

Floats: TypeAlias = NDArray[np.floating[Any]]

_PROBABILITIES = ("hellinger", "kl", "js")
_NAMED = {1.0: "manhattan", 2.0: "euclidean", math.inf: "chebyshev"}
_FEW = 4  # rows against which pairs are compared one by one
_TILE = (256, 2048)  # rows and columns of a product that one thread makes
_BLOCK = 1 << 22  # entries of a block when its size is not given: 32 MiB


def compare(
    x: Any, y: Any, measure: str, *, p: float | None = None, base: float = math.e, normalize: bool = False
) -> float:
    """Return the measure of two vectors, which are arrays of one axis or sparse matrices of one row.

    `p` belongs to minkowski; `base`, of the logarithms, to kl and js; `normalize`, to divide vectors by their sums, to
    hellinger, kl and js.

    >>> compare([1, 2, 3], [4, 0, 3], "manhattan")
    5.0
    >>> round(compare([1, 2, 3], [4, 0, 3], "cosine"), 6)
    0.694879
    >>> round(compare([0.5, 0.3, 0.2], [0.1, 0.6, 0.3], "kl", base=2), 6)
    0.743972
    """
    X, Y = (_row(vector, name) for vector, name in ((x, "x"), (y, "y")))
    _, block = next(_pairwise(X, Y, ("x", "y"), measure, p, base, normalize, None, None))
    return float(block[0, 0])


def pairwise(
    X: Any,
    Y: Any = None,
    *,
    measure: str = "cosine",
    p: float | None = None,
    base: float = math.e,
    normalize: bool = False,
    chunk_size: int | None = None,
    n_jobs: int | None = None,
) -> Iterator[tuple[int, Floats]]:
    """Yield (first row, dense block) of the matrix of all rows of X against all rows of Y, or of X itself.

    Only one block exists at a time: `chunk_size` rows, or as many as make about 32 MiB. The other options are those of
    `compare`. Results are float32 when both matrices are, else float64, and have the same bytes for any `n_jobs`.

    >>> X = sparse.csr_matrix([[1, 0], [1, 1], [0, 2]])
    >>> for first, rows in pairwise(X, measure="cosine", chunk_size=2):
    ...     first, rows.round(4).tolist()
    (0, [[1.0, 0.7071, 0.0], [0.7071, 1.0, 0.7071]])
    (2, [[0.0, 0.7071, 1.0]])
    """
    return _pairwise(X, Y, ("X", "Y"), measure, p, base, normalize, chunk_size, n_jobs)


def pairwise_matrix(X: Any, Y: Any = None, **options: Any) -> Floats:
    """Return all blocks of `pairwise` as one matrix, for collections so small that it fits.

    >>> pairwise_matrix([[0, 3], [4, 0]], measure="euclidean").tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    blocks = [rows for _, rows in pairwise(X, Y, **options)]
    return np.concatenate(blocks) if blocks else np.zeros((0, np.shape(X if Y is None else Y)[0]))


def similarity_of_distance(distance: Any) -> Any:
    """Return 1 / (1 + distance), for a number or an array.

    >>> similarity_of_distance(3.0), similarity_of_distance(np.array([0.0, np.inf])).tolist()
    (0.25, [1.0, 0.0])
    """
    return 1.0 / (1.0 + distance)


def _pairwise(
    X: Any,
    Y: Any,
    names: tuple[str, str],
    measure: str,
    p: float | None,
    base: float,
    normalize: bool,
    chunk_size: int | None,
    n_jobs: int | None,
) -> Iterator[tuple[int, Floats]]:
    """Check everything now and return the blocks, which are made as they are asked for."""
    measure, p = _checked_measure(measure, p, base, normalize)
    X = _matrix(X, names[0])
    Y = X if Y is None else _matrix(Y, names[1])
    if X.shape[1] != Y.shape[1]:
        raise DataError(f"{names[0]} has {X.shape[1]} columns but {names[1]} {Y.shape[1]}; compare rows of one space")
    if chunk_size is None:
        chunk_size = max(1, _BLOCK // max(1, Y.shape[0]))
    check_range("chunk_size", chunk_size, at_least=1, whole=True)
    dtype = np.float32 if X.dtype == Y.dtype == np.float32 else np.float64
    some_sparse = sparse.issparse(X) or sparse.issparse(Y)
    prepare: Callable[..., Any] = partial(_sparse, n_jobs=n_jobs) if some_sparse else _dense
    left = prepare(X, names[0], measure, normalize)
    right = left if Y is X else prepare(Y, names[1], measure, normalize)
    compute = (_sparse_blocks if some_sparse else _dense_blocks)(right, measure, p, n_jobs)
    scale = math.sqrt(0.5) if measure == "hellinger" else 1.0 / math.log(base)

    def blocks() -> Iterator[tuple[int, Floats]]:
        for first in range(0, left.shape[0], chunk_size):
            result = compute(left[first : first + chunk_size])
            if measure in _PROBABILITIES and scale != 1.0:
                result *= scale
            if measure == "hellinger":
                np.minimum(result, 1.0, out=result)
            yield first, result.astype(dtype, copy=False)

    return blocks()


def _checked_measure(measure: str, p: float | None, base: float, normalize: bool) -> tuple[str, float]:
    """The measure, with its own name where p has one, once all options fit it."""
    check_choice("measure", measure, MEASURES)
    if (p is None) == (measure == "minkowski"):
        raise DataError(f"p belongs to measure='minkowski' and only to it, got p={p!r} for {measure!r}")
    check_range("base", base, above=1, below=math.inf)
    if base != math.e and measure not in ("kl", "js"):
        raise DataError(f"base belongs to kl and js, got base={base!r} for {measure!r}")
    if normalize and measure not in _PROBABILITIES:
        raise DataError(f"normalize belongs to {', '.join(_PROBABILITIES)}; {measure!r} does not compare probabilities")
    if p is None:
        return measure, 1.0
    check_range("p", p, at_least=1)
    return _NAMED.get(p, measure), p


def _row(vector: Any, name: str) -> Any:
    """A vector as a matrix of one row."""
    if not sparse.issparse(vector):
        vector = _array(vector, name)
        if vector.ndim == 1:
            return vector[np.newaxis]
    if vector.shape[:-1] != (1,):
        raise DataError(f"{name} must be one vector, got the shape {vector.shape}; compare rows with pairwise")
    return vector


def _matrix(X: Any, name: str) -> Any:
    """X as a CSR matrix or an array, of finite float32 or float64."""
    if sparse.issparse(X):
        X = check_bags(X, name=name, negative=True)
    else:
        X = _array(X, name)
        if X.ndim != 2 or (X.dtype.kind == "f" and not np.isfinite(X).all()):
            check_bags(X, name=name, negative=True)  # which knows what to say
    return X if X.dtype == np.float32 else X.astype(np.float64, copy=False)


def _array(values: Any, name: str) -> NDArray[Any]:
    """Dense numbers."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise DataError(f"{name} has rows of different lengths; pass one value a column in every row") from None
    if array.dtype.kind not in "buif":
        raise DataError(f"{name} holds values that are not numbers ({array.dtype.str}); pass numbers")
    return array.astype(np.float64) if array.dtype == np.float16 else array


def _sparse(X: Any, name: str, measure: str, normalize: bool, n_jobs: int | None) -> sparse.csr_matrix:
    """Rows as the sparse kernels want them: float64, no zeros stored, probabilities or of length 1 where needed."""
    precision = X.dtype
    X = sparse.csr_matrix(X, dtype=np.float64)
    if not X.data.all():
        X = X.copy()
        X.eliminate_zeros()
    if measure == "cosine":
        return weigh(X, "nnc", n_jobs=n_jobs).csr()
    if measure in _PROBABILITIES:
        _check_sign(X.data, lambda at: int(np.searchsorted(X.indptr, at, side="right")) - 1, name)
        sums = _checked_sums(np.asarray(X.sum(axis=1)).ravel(), name, normalize, precision)
        data = X.data / np.repeat(sums, np.diff(X.indptr))
        X = sparse.csr_matrix((np.sqrt(data) if measure == "hellinger" else data, X.indices, X.indptr), shape=X.shape)
    return X


def _dense(X: Floats, name: str, measure: str, normalize: bool) -> Floats:
    """Rows as the dense kernels and BLAS want them, like `_sparse`; cosines of float32 stay float32."""
    if measure == "cosine":
        largest = np.abs(X).max(axis=1, initial=0.0, keepdims=True)
        largest[largest == 0] = 1
        scaled = X / largest  # so that no square overflows or vanishes
        lengths = np.sqrt((scaled**2).sum(axis=1, dtype=np.float64, keepdims=True))
        lengths[lengths == 0] = 1
        unit: Floats = (scaled / lengths).astype(X.dtype, copy=False)
        return unit
    precision = X.dtype
    X = np.ascontiguousarray(X, dtype=np.float64)
    if measure in _PROBABILITIES:
        _check_sign(X.ravel(), lambda at: at // X.shape[1], name)
        X = X / _checked_sums(X.sum(axis=1), name, normalize, precision)[:, np.newaxis]
    return np.sqrt(X) if measure == "hellinger" else X


def _check_sign(values: Floats, row_of: Callable[[int], int], name: str) -> None:
    """Probabilities must not be negative."""
    if values.size and values.min() < 0:
        at = int((values < 0).argmax())
        raise DataError(f"{name} holds {values[at]} in row {row_of(at)}; probabilities must not be negative")


def _checked_sums(sums: Floats, name: str, normalize: bool, precision: np.dtype[Any]) -> Floats:
    """The sums of rows, by which they are divided: 1 up to rounding, or anything above 0 to normalize."""
    empty = (sums == 0) | ~np.isfinite(sums)
    if empty.any():
        row = int(empty.argmax())
        raise DataError(f"row {row} of {name} sums to {sums[row]} and is no distribution; leave it out")
    wrong = np.abs(sums - 1) > (1e-8 if precision == np.float64 else 1e-5)
    if not normalize and wrong.any():
        row = int(wrong.argmax())
        raise DataError(f"row {row} of {name} sums to {sums[row]}, not to 1; pass normalize=True")
    return sums


def _sparse_blocks(Y: sparse.csr_matrix, measure: str, p: float, n_jobs: int | None) -> Callable[[Any], Floats]:
    """A function from sparse rows to their block."""
    threads = effective_jobs(n_jobs)
    kernel = "euclidean" if measure == "hellinger" else measure
    matched = kernel in ("cosine", "euclidean", "jaccard", "js", "manhattan") and Y.shape[0] > _FEW
    right = csr_arrays(Y)
    terms = csr_arrays(Y.T.tocsr()) if matched else None

    def compute(X: sparse.csr_matrix) -> Floats:
        out = np.empty((X.shape[0], Y.shape[0]))
        if matched:
            native.match_rows(csr_arrays(X), right, terms, kernel, extent=X.shape[1], out=out, threads=threads)
        else:
            native.merge_rows(csr_arrays(X), right, kernel, p=p, extent=X.shape[1], out=out, threads=threads)
        return out

    return compute


def _dense_blocks(Y: Floats, measure: str, p: float, n_jobs: int | None) -> Callable[[Any], Floats]:
    """A function from dense rows to their block."""
    threads = effective_jobs(n_jobs)
    if measure not in ("cosine", "euclidean", "hellinger") or Y.shape[0] <= _FEW:
        kernel = "euclidean" if measure == "hellinger" else measure

        def direct(X: Floats) -> Floats:
            out = np.empty((X.shape[0], Y.shape[0]))
            native.compare_rows(X.astype(np.float64, copy=False), right, kernel, p=p, out=out, threads=threads)
            return out

        right = Y.astype(np.float64, copy=False)
        return direct

    blas = ThreadpoolController()

    def by_products(X: Floats) -> Floats:
        out = np.empty((X.shape[0], Y.shape[0]), dtype=np.result_type(X, Y))
        _multiply(X, Y, out, threads, blas)
        if measure == "cosine":
            return np.clip(out, -1.0, 1.0, out=out)
        native.euclidean_of_products(X, Y, out=out, threads=threads)
        return out

    return by_products


def _multiply(X: Floats, Y: Floats, out: Floats, threads: int, blas: ThreadpoolController) -> None:
    """Fill out = X Y^T tile by tile, each by one thread: BLAS threads of its own would change the last bits."""

    def fill(tile: tuple[int, int]) -> None:
        rows, columns = slice(tile[0], tile[0] + _TILE[0]), slice(tile[1], tile[1] + _TILE[1])
        with np.errstate(over="ignore", invalid="ignore"):  # such distances are computed anew
            np.matmul(X[rows], Y[columns].T, out=out[rows, columns])

    tiles = product(range(0, len(X), _TILE[0]), range(0, len(Y), _TILE[1]))
    with blas.limit(limits=1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        deque(pool.map(fill, tiles), maxlen=0)  # waits, and raises what a tile raised
