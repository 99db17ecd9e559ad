"""Why there is no tree here: a KD-tree against a scan, at any number of dimensions.

A tree of nested boxes skips those farther from the query than the k-th best so far. With more dimensions distances
become alike,

    contrast = (d_max - d_min) / d_min             of a query's distances to all points

and soon no box can be skipped: above about ten dimensions the tree visits every point, more slowly than a scan does.
Reference: Weber, Schek & Blott (1998), A quantitative analysis and performance study for similarity-search methods in
high-dimensional spaces.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill.vectors.index import Index

__all__ = ["TreeComparison", "compare_with_tree"]


@dataclass(frozen=True, slots=True)
class TreeComparison:
    """Seconds of both for the same queries, the contrast of their distances, and whether both found the same points."""

    tree_seconds: float
    scan_seconds: float
    contrast: float
    equal: bool

    @property
    def ratio(self) -> float:
        """How many times longer the tree takes than the scan."""
        return self.tree_seconds / self.scan_seconds


def compare_with_tree(X: Any, Q: Any, *, k: int = 10) -> TreeComparison:
    """Answer the queries Q one by one over the points X with SciPy's KD-tree and with a scan, on one thread.

    >>> points = np.random.default_rng(0).random((2000, 20))
    >>> compare_with_tree(points[20:], points[:20]).equal
    True
    """
    from scipy.spatial import cKDTree

    X, Q = np.asarray(X, np.float32), np.asarray(Q, np.float32)
    tree = cKDTree(X.astype(np.float64))
    index = Index(measure="euclidean", method="scan", n_jobs=1).fit(X)
    start = time.perf_counter()
    by_tree = [tree.query(query, k=k)[1] for query in Q.astype(np.float64)]
    middle = time.perf_counter()
    by_scan = [index.query(query[np.newaxis], k=k).ids for query in Q]
    end = time.perf_counter()
    distances = [np.sqrt(((X - query) ** 2).sum(axis=1)) for query in Q]
    contrast = float(np.mean([(d.max() - d.min()) / d.min() for d in distances if d.min() > 0]))
    equal = all(np.array_equal(np.sort(a), np.sort(b)) for a, b in zip(by_tree, by_scan, strict=True))
    return TreeComparison(middle - start, end - middle, contrast, equal)
