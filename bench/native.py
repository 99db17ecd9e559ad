"""The native base: elementary functions, random numbers and sparse products against NumPy and SciPy, one thread each.

python -m bench native

Behind the table of jobs it prints what the native code costs to compile (tools/compile_times.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from bench._compile_times import ROOT, compile_times
from bench.harness import Job, Options
from textmill import _testing
from textmill._native import base

PACKAGES = ["scipy"]

Array = NDArray[np.float64]
Error = Callable[[Array], float]
Work = Callable[[], Array]


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    return [*functions(options), *random_numbers(options), *products(options)]


def appendix() -> str:
    """What compiling costs."""
    return compile_times(ROOT / "build")


def judged(
    name: str, ours: Callable[[], Array], peer: Callable[[], Array], peer_name: str, error: Error, what: str
) -> Job:
    """A job whose quality is the error of both results."""
    return Job(name, ours, peer, peer_name, lambda: f"{what} {error(ours()):.2g}, peer {error(peer()):.2g}")


def functions(options: Options) -> Iterator[Job]:
    rng = np.random.default_rng(0)
    size = 20_000 if options.quick else 1_000_000
    normal, positive = rng.normal(0.0, 10.0, size), rng.gamma(0.7, 4.0, size)
    positive[np.abs(positive - 1.46) < 0.1] += 0.2  # at the root of digamma the reference itself has lost its digits
    for name, values, peer in [
        ("exp", normal, np.exp),
        ("log", positive, np.log),
        ("log1p", positive, np.log1p),
        ("digamma", positive, special.digamma),
    ]:
        exact = digamma_extended(values) if name == "digamma" else peer(values.astype(np.longdouble))
        package = "scipy" if name == "digamma" else "numpy"
        yield judged(name, elementwise(name, values), lambda v=values, p=peer: p(v), package, ulp(exact), "max ulp")
    for columns in (22, size):
        matrix = rng.normal(0.0, 5.0, (max(1, size // columns), columns))
        exact = np.log(np.exp(matrix.astype(np.longdouble)).sum(axis=1))
        name = f"logsumexp, {matrix.shape[0]} x {columns}"
        peer = lambda m=matrix: special.logsumexp(m, axis=1)  # noqa: E731
        yield judged(name, rowwise(matrix), peer, "scipy", ulp(exact), "max ulp")


def elementwise(name: str, values: Array) -> Callable[[], Array]:
    out, function = np.empty_like(values), getattr(base, name)

    def call() -> Array:
        function(values, out, 1)
        return out

    return call


def rowwise(matrix: Array) -> Callable[[], Array]:
    out = np.empty(len(matrix))

    def call() -> Array:
        base.logsumexp_rows(matrix, out, 1)
        return out

    return call


def ulp(exact: NDArray[np.longdouble]) -> Callable[[Array], float]:
    spacing = np.spacing(np.abs(exact.astype(float)))
    return lambda got: float(np.max(np.abs(got - exact) / spacing))


def digamma_extended(values: Array) -> NDArray[np.longdouble]:
    y, total = values.astype(np.longdouble), np.zeros(len(values), dtype=np.longdouble)
    low = np.flatnonzero(y < 40)
    for _ in range(40):
        total[low] -= 1 / y[low]
        y[low] += 1
    square, series = 1 / (y * y), np.zeros_like(y)
    for numerator, denominator in [(1, 12), (-691, 32760), (1, 132), (-1, 240), (1, 252), (-1, 120), (1, 12)]:
        series = (series + np.longdouble(numerator) / np.longdouble(denominator)) * square
    return total + np.log(y) - 1 / (2 * y) - series


def random_numbers(options: Options) -> Iterator[Job]:
    rows = 100 if options.quick else 2000
    out = np.empty((rows, 500))
    generator = np.random.Generator(np.random.Philox(1))
    for name, parameters, peer in [
        ("uniform", (), lambda: generator.random((rows, 500))),
        ("normal", (), lambda: generator.standard_normal((rows, 500))),
        ("gamma", (0.3,), lambda: generator.standard_gamma(0.3, (rows, 500))),
    ]:
        function = getattr(base if name == "normal" else _testing, f"random_{name}")
        yield Job(f"random {name}", lambda f=function, p=parameters: f(1, *p, out, 1), peer, "numpy Philox")


def products(options: Options) -> Iterator[Job]:
    rows, columns, length = (2000, 6000, 60) if options.quick else (20_000, 60_000, 156)
    matrix = bag_of_words(rows, columns, length)
    rng = np.random.default_rng(2)
    for k in (1, 8, 64, 256):
        for transposed in (False, True):
            peer = matrix.T if transposed else matrix
            dense = rng.normal(size=(peer.shape[1], k))
            error = relative_error(peer, dense)
            ours = {threads: product(matrix, dense, transposed, threads) for threads in (1, 2)}
            name = f"{'A^T' if transposed else 'A'} B, k = {k}"
            yield judged(name, ours[1], lambda p=peer, d=dense: p @ d, "scipy", error, "relative error")
            yield Job(f"{name}, 2 threads", ours[2], ours[1], "textmill, 1 thread")


def bag_of_words(rows: int, columns: int, length: int) -> sparse.csr_array:
    """Rows of `length` words with probabilities like 1 / rank; about a sixth of them repeat a word of their row."""
    rng = np.random.default_rng(1)
    words = (columns ** rng.random((rows, length))).astype(np.int32) - 1
    counts = np.ones(words.size)
    matrix = sparse.csr_array(
        (counts, words.ravel(), np.arange(0, words.size + 1, length, dtype=np.int32)), (rows, columns)
    )
    matrix.sum_duplicates()
    return matrix


def product(matrix: sparse.csr_array, dense: Array, transposed: bool, threads: int) -> Callable[[], Array]:
    out = np.empty((matrix.shape[1] if transposed else matrix.shape[0], dense.shape[1]))
    function = base.csr_transposed_dense if transposed else base.csr_dense

    def call() -> Array:
        function(matrix.indptr, matrix.indices, matrix.data, matrix.shape[1], dense, out, threads)
        return out

    return call


def relative_error(matrix: sparse.sparray, dense: Array) -> Callable[[Array], float]:
    """Of 30 rows and 4 columns, against extended precision, relative to the sums of magnitudes."""
    some, few = np.linspace(0, matrix.shape[0] - 1, 30).astype(int), dense[:, :4].astype(np.longdouble)
    chosen = matrix.tocsr()[some].toarray().astype(np.longdouble)
    exact, scale = chosen @ few, np.abs(chosen) @ np.abs(few) + np.longdouble(1e-300)
    return lambda got: float(np.max(np.abs(got[some, :4] - exact) / scale))
