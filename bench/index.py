"""Nearest neighbors: a million vectors of 200 numbers, LSA vectors and TF-IDF vectors of 20 Newsgroups.

TEXTMILL_DATA=... python -m bench index

The million is generated with the falling spectrum of LSA vectors. The scan is measured against the plain reading of the
same memory by the same threads: a ratio of 0.8 is 80 % of the memory bandwidth.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench._kdtree import compare_with_tree
from bench.harness import Job, Options
from textmill import _testing
from textmill.corpus import Vocabulary, read_documents
from textmill.model import effective_jobs
from textmill.vectors import ApproximateIndex, Index, TextVectorizer

PACKAGES = ["gensim", "scikit-learn", "scipy", "usearch"]


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    return [*_million(options), *_lsa(options), *_sparse(options), *_trees(options)]


def _generated(rows: int, columns: int) -> NDArray[np.float32]:
    """Rows of length 1 whose columns fall off as singular values do."""
    random = np.random.default_rng(0)
    X = np.empty((rows, columns), np.float32)
    scale = (1.0 / np.sqrt(1.0 + np.arange(columns))).astype(np.float32)
    for first in range(0, rows, 50_000):
        block = random.standard_normal((min(50_000, rows - first), columns), dtype=np.float32) * scale
        X[first : first + 50_000] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return X


def _milliseconds(work: Callable[[], Any], queries: int) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) / queries * 1e3


def _gensim(X: NDArray[np.float32], **options: Any) -> Any:
    from gensim.similarities import MatrixSimilarity

    peer = MatrixSimilarity([], num_features=X.shape[1], **options)
    peer.index = X  # which is what its constructor makes of a corpus of a million Python lists
    return peer


def _agree(index: Index, peer: Any, Q: NDArray[np.float32]) -> str:
    mine = index.query(Q[:8], k=10)
    theirs = [{i for i, score in peer[q] if score > 0} for q in Q[:8]]
    same = sum(len(set(one.ids.tolist()) & other) for one, other in zip(mine, theirs, strict=True))
    return f"{same} of its {sum(map(len, theirs))} positive cosines found; it ranks by absolute values"


def _million(options: Options) -> list[Job]:
    X = _generated(20_000 if options.quick else 1_000_000, 200)
    random = np.random.default_rng(1)
    Q = X[:256] + 0.03 * random.standard_normal((256, 200), dtype=np.float32)
    Q /= np.linalg.norm(Q, axis=1, keepdims=True)
    threads = effective_jobs(None)
    scan, coarse = Index(method="scan").fit(X), Index(method="coarse").fit(X)
    prefix, va = Index(method="prefix").fit(X), Index(method="va").fit(X)
    X = scan.engine_.vectors_
    peer = _gensim(X, num_best=10)
    one = Q[:1]

    def equal(other: Index) -> str:
        found, expected = other.query(Q[:16]), scan.query(Q[:16])
        same = np.array_equal(found.ids, expected.ids) and np.array_equal(found.scores, expected.scores)
        few = [other.query(q[np.newaxis]) for q in Q[:16]]
        share = sum(answer.read for answer in few) / sum(answer.searched for answer in few)
        return f"answers {'equal' if same else 'DIFFER'}, {share:.3%} of the vectors read"

    def bandwidth() -> str:
        best = min(_milliseconds(lambda: _testing.read_all(X, threads), 1) for _ in range(3))
        return f"{X.nbytes / best / 1e6:.1f} GB/s read by {threads} threads"

    rows = f"{len(X):,} x 200"
    return [
        Job(f"scan, {rows}, one query", lambda: scan.query(one), lambda: _testing.read_all(X, threads),
            "reading the memory", bandwidth, bar=0.8),
        Job(f"scan, {rows}, a query of 256", lambda: _milliseconds(lambda: scan.query(Q), 256),
            lambda: _milliseconds(lambda: scan.query(one), 1), "one query at a time",
            figure="returned", label="ms", bar=5.0),
        Job(f"top 10 of {rows}, one query", lambda: coarse.query(one), lambda: peer[one[0]],
            "gensim MatrixSimilarity", lambda: _agree(coarse, peer, Q), bar=3.0),
        Job(f"scan, {rows}, one query", lambda: scan.query(one), lambda: peer[one[0]], "gensim MatrixSimilarity"),
        Job(f"coarse, {rows}, one query", lambda: coarse.query(one), lambda: scan.query(one), "scan",
            lambda: equal(coarse)),
        Job(f"top 10 of {rows}, 64 queries", lambda: scan.query(Q[:64]), lambda: list(peer[Q[:64]]),
            "gensim MatrixSimilarity"),
        Job(f"VA-File, {rows}, one query", lambda: va.query(one), lambda: scan.query(one), "scan", lambda: equal(va)),
        Job(f"prefix, {rows}, one query", lambda: prefix.query(one), lambda: scan.query(one), "scan",
            lambda: equal(prefix)),
    ]  # fmt: skip


def _texts(options: Options) -> list[str]:
    source = options.data / "newsgroups" / "20news.jsonl.gz"
    return list(read_documents(source).texts())[: 1000 if options.quick else None]


def _lsa(options: Options) -> list[Job]:
    from sklearn.decomposition import TruncatedSVD

    X = TextVectorizer(vocabulary=Vocabulary(min_df=5, max_df=0.1)).fit_transform(_texts(options))
    L = TruncatedSVD(200, n_iter=2, random_state=0).fit_transform(X)
    L = L[np.abs(L).sum(axis=1) > 0].astype(np.float32)
    scan, Q = Index(method="scan").fit(L), L[:: max(1, len(L) // 100)]
    jobs = []
    for bits in (4, 6, 8):
        va = Index(method="va", bits=bits).fit(L)
        found, expected = va.query(Q), scan.query(Q)
        share = 100 * found.read / found.searched
        equal = "answers equal" if np.array_equal(found.ids, expected.ids) else "answers DIFFER"
        jobs.append(
            Job(f"VA-File, {bits} bits, LSA of {len(L):,} x 200", lambda share=share: share, lambda: 100.0,
                "scan reads all", lambda equal=equal: equal,
                figure="returned", label="%", bar=100.0 if bits == 8 else None)
        )  # fmt: skip
    prefix, graph = Index(method="prefix").fit(L), ApproximateIndex().fit(scan)
    ones = [q[np.newaxis] for q in Q[:20]]
    return [
        *jobs,
        Job("prefix, LSA, 20 queries", lambda: [prefix.query(q) for q in ones], lambda: [scan.query(q) for q in ones],
            "scan", lambda: f"{prefix.engine_.heads_.shape[1]} of 200 columns first"),
        Job("graph, LSA, 20 queries", lambda: [graph.query(q) for q in ones], lambda: [scan.query(q) for q in ones],
            "scan", lambda: f"recall {graph.recall_:.3f}"),
    ]  # fmt: skip


def _sparse(options: Options) -> list[Job]:
    from gensim.matutils import Sparse2Corpus
    from gensim.similarities import SparseMatrixSimilarity

    X = TextVectorizer(vocabulary=Vocabulary(min_df=2)).fit_transform(_texts(options)).astype(np.float32)
    corpus = list(Sparse2Corpus(X, documents_columns=False))
    index, peer = Index(n_jobs=1).fit(X), SparseMatrixSimilarity(corpus, num_features=X.shape[1], num_best=10)
    chosen = range(0, X.shape[0], max(1, X.shape[0] // 64))
    rows, bags = [X[i] for i in chosen], [corpus[i] for i in chosen]

    def agree() -> str:
        found = index.query(X[list(chosen)])
        pairs = zip(found, bags, strict=True)
        far = max(abs(a - b) for one, bag in pairs for a, (_, b) in zip(one.scores, peer[bag], strict=True))
        return f"largest difference of scores {far:.1e}, {found.read / found.searched:.2%} of the rows computed exactly"

    return [
        Job(f"sparse top 10 of {X.shape[0]:,}, {len(rows)} queries", lambda: [index.query(row) for row in rows],
            lambda: [peer[bag] for bag in bags], "gensim SparseMatrixSimilarity", agree, bar=3.0),
        Job(f"sparse top 10, {len(rows)} queries at once", lambda: index.query(X[list(chosen)]), lambda: peer[bags],
            "gensim SparseMatrixSimilarity"),
    ]  # fmt: skip


def _trees(options: Options) -> list[Job]:
    jobs = []
    for d in (2, 5, 10, 20, 50):
        random = np.random.default_rng(d)
        made = compare_with_tree(random.random((2000 if options.quick else 20_000, d)), random.random((50, d)))
        jobs.append(
            Job(f"20,000 points in {d} dimensions, 50 queries", lambda made=made: made.scan_seconds * 1e3,
                lambda made=made: made.tree_seconds * 1e3, "SciPy cKDTree",
                lambda made=made: f"contrast {made.contrast:.1f}, answers {'equal' if made.equal else 'DIFFER'}",
                figure="returned", label="ms")
        )  # fmt: skip
    return jobs
