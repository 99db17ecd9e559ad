"""Approximate indexes: the recall is measured honestly, scores are exact; trees lose above ten dimensions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from bench._kdtree import compare_with_tree
from textmill.errors import DataError
from textmill.vectors import ApproximateIndex, Index

pytest.importorskip("usearch")


def test_the_reported_recall_is_that_of_other_queries_too_and_scores_are_exact() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 32)) / (1 + np.arange(32))
    Q = random.normal(size=(100, 32)) / (1 + np.arange(32))
    for measure in ("cosine", "euclidean"):
        index = Index(measure=measure).fit(X)
        fast = ApproximateIndex(n_jobs=1).fit(index)
        exact, found = index.query(Q), fast.query(Q)
        recall = np.mean([len(np.intersect1d(a.ids, b.ids)) / 10 for a, b in zip(exact, found, strict=True)])
        assert fast.recall_ > 0.9
        assert recall == pytest.approx(fast.recall_, abs=0.08)
        right = {(i, int(j)): s for i, one in enumerate(exact) for j, s in zip(one.ids, one.scores, strict=True)}
        for i, one in enumerate(found):
            assert all(right.get((i, int(j)), s) == s for j, s in zip(one.ids, one.scores, strict=True))


def test_a_smaller_expansion_misses_more() -> None:
    X = np.random.default_rng(1).normal(size=(4000, 64))
    index = Index().fit(X)
    recalls = [ApproximateIndex(connectivity=4, expansion=e, n_jobs=1).fit(index).recall_ for e in (2, 200)]
    assert recalls[0] < recalls[1]


def test_zero_queries_sparse_vectors_and_removed_ones() -> None:
    index = Index().fit(np.eye(4))
    index.remove([2])
    fast = ApproximateIndex(n_jobs=1).fit(index)
    assert fast.query(np.zeros((1, 4)))[0].reason is not None
    assert 2 not in fast.query([[0, 0, 1.0, 0.1]])[0].ids
    with pytest.raises(DataError, match="a graph needs dense vectors"):
        ApproximateIndex().fit(Index().fit(sparse.csr_matrix(np.eye(3))))


def test_a_tree_wins_in_two_dimensions_and_loses_in_forty() -> None:
    random = np.random.default_rng(0)
    few, many = (compare_with_tree(random.random((20_000, d)), random.random((30, d))) for d in (2, 40))
    assert few.equal
    assert many.equal
    assert few.ratio < 1 < many.ratio
    assert few.contrast > 10 > many.contrast
