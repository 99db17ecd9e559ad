"""Rank measures against scikit-learn, loops over the definition, and the worked numbers of name transcription."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as peer

from textmill.errors import DataError
from textmill.metrics import (
    RankingCounts,
    average_precision,
    mean_precision,
    ndcg,
    precision_at,
    r_precision,
    ranked,
    recall_at,
    reciprocal_rank,
)

lists = st.integers(1, 8).flatmap(
    lambda width: st.lists(st.lists(st.integers(0, 3), min_size=width, max_size=width), min_size=1, max_size=5)
)


def by_definition(grades, k, relevant):
    """RR, AP, P@k, R@k, R-precision and success of one query."""
    found = [rank for rank, grade in enumerate(grades, start=1) if grade > 0]
    hits = sum(rank <= k for rank in found)
    return (
        1 / found[0] if found else 0.0,
        sum(sum(r <= rank for r in found) / rank for rank in found) / relevant if relevant else 0.0,
        hits / k,
        hits / relevant if relevant else 0.0,
        sum(rank <= relevant for rank in found) / relevant if relevant else 0.0,
        float(hits > 0),
    )


@settings(derandomize=True, deadline=None, max_examples=100)
@given(grades=lists, k=st.integers(1, 10), unseen=st.integers(0, 4))
def test_figures_equal_their_definition(grades, k, unseen):
    relevant = [sum(g > 0 for g in row) + unseen for row in grades]
    expected = np.array([by_definition(row, k, r) for row, r in zip(grades, relevant, strict=True)])
    found = [
        reciprocal_rank(grades),
        average_precision(grades, relevant),
        precision_at(grades, k),
        recall_at(grades, k, relevant),
        r_precision(grades, relevant),
    ]
    assert np.stack(found, axis=1) == pytest.approx(expected[:, :5])
    counts = RankingCounts.from_relevance(grades, k=k, relevant=relevant)
    means = [counts.mrr, counts.map, counts.precision, counts.recall, counts.r_precision, counts.success]
    assert means == pytest.approx(expected.mean(axis=0).tolist())


def test_gain_equals_scikit_learn():
    rng = np.random.default_rng(21)
    for _ in range(10):
        grades, scores = rng.integers(0, 4, (6, 9)), rng.permuted(np.tile(np.arange(9.0), (6, 1)), axis=1)
        for k in (1, 3, 9, 20):
            order = ranked(scores, grades)
            linear = peer.ndcg_score(grades, scores, k=k, ignore_ties=True)
            assert ndcg(order, k).mean() == pytest.approx(linear)
            exponential = peer.ndcg_score(2**grades - 1, scores, k=k, ignore_ties=True)
            assert ndcg(order, k, gain="exponential").mean() == pytest.approx(exponential)
            counts = RankingCounts.from_relevance(order, k=k, gain="exponential")
            assert counts.ndcg == pytest.approx(exponential)


def test_average_precision_equals_scikit_learn():
    rng = np.random.default_rng(22)
    truth, scores = rng.random((20, 12)) < 0.3, rng.permuted(np.tile(np.arange(12.0), (20, 1)), axis=1)
    truth[:, 0] = True
    expected = [peer.average_precision_score(t, s) for t, s in zip(truth, scores, strict=True)]
    assert average_precision(ranked(scores, truth)) == pytest.approx(expected)


def test_gain_that_was_not_retrieved_lowers_the_figure():
    dcg = 2.0 / math.log2(2) + 1.0 / math.log2(4)
    best = 3.0 / math.log2(2) + 2.0 / math.log2(3) + 1.0 / math.log2(4)
    assert ndcg([[2, 0, 1]], 3, ideal=[[1, 2, 3, 0]]).tolist() == pytest.approx([dcg / best])
    assert ndcg([[0, 0]], 2).tolist() == [0.0]


def test_worked_precision_of_transcriptions():
    # candidates b a c with references b c; candidates a b c with references b c; one right candidate and depth 10
    relevance = [[1, 0, 1], [0, 1, 1], [1, 0, 0]]
    assert mean_precision(relevance, [2, 2, 10]).tolist() == pytest.approx([0.75, 0.25, 0.292897], abs=5e-7)
    first = precision_at(relevance, 1)
    assert first.tolist() == [1.0, 0.0, 1.0]  # accuracy of the first candidate


def test_equal_scores_stay_in_the_order_given():
    assert ranked([[1.0, 1.0, 2.0, 1.0]], [[1, 2, 3, 0]]).tolist() == [[3.0, 1.0, 2.0, 0.0]]
    many = np.arange(200)
    assert ranked((many % 2)[None, :], many[None, :])[0].tolist() == [*range(1, 200, 2), *range(0, 200, 2)]


def test_counts_add_and_carry_their_conventions():
    grades = np.random.default_rng(23).integers(0, 3, (10, 6))
    parts = [RankingCounts.from_relevance(grades[a : a + 5], k=3) for a in (0, 5)]
    total, whole = sum(parts, RankingCounts()), RankingCounts.from_relevance(grades, k=3)
    for name in ("mrr", "map", "ndcg", "precision", "recall", "r_precision", "success"):
        assert getattr(total, name) == pytest.approx(getattr(whole, name))
    assert total.signature.startswith("ranking|k:3|gain:linear|ties:order|textmill:")
    with pytest.raises(DataError, match="do not add"):
        _ = total + RankingCounts.from_relevance(grades, k=4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: reciprocal_rank([]), "relevance has 1 dimensions"),
        (lambda: reciprocal_rank([[]]), "relevance is empty"),
        (lambda: reciprocal_rank([[1, 0], [1]]), "rows of equal length"),
        (lambda: reciprocal_rank([[1, -1]]), "relevance holds -1; grades are at least 0"),
        (lambda: reciprocal_rank([[1, math.nan]]), "relevance holds nan at item 1"),
        (lambda: precision_at([[1]], 0), "k is 0"),
        (lambda: ndcg([[1]], 0), "k is 0"),
        (lambda: ndcg([[1]], 1, gain="cubic"), "choose one of 'linear', 'exponential'"),
        (lambda: ndcg([[2]], 1, ideal=[[1]]), "ideal holds less gain"),
        (lambda: ndcg([[2]], 1, ideal=[[1], [2]]), "ideal has 2 items"),
        (lambda: average_precision([[1, 1]], [1]), "query 0 finds 2 relevant answers but relevant says 1"),
        (lambda: average_precision([[1, 1]], [2, 2]), "relevant has 2 items"),
        (lambda: mean_precision([[1]], [0]), "under 1"),
        (lambda: ranked([[1.0]], [[1, 0]]), "pass one score for each grade"),
        (lambda: ranked([[math.nan]], [[1]]), "scores holds nan"),
        (lambda: RankingCounts().mrr, "there is no query"),
    ],
)
def test_bad_input_says_what_to_do(call, message):
    with pytest.raises(DataError, match=message):
        call()
