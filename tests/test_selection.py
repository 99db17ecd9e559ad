"""Folds, held-out predictions, choices and rank correlations, against definitions and scipy.stats."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textmill.errors import DataError
from textmill.selection import (
    choose,
    deal_folds,
    deal_groups,
    held_out,
    kendall,
    nested,
    paired_test,
    ranks,
    spearman,
    splits,
)

VALUES = st.lists(st.integers(-4, 4), min_size=2, max_size=30)


@given(labels=st.lists(st.integers(0, 3), min_size=5, max_size=60), n_folds=st.integers(2, 5), seed=st.integers(0, 99))
def test_every_label_is_spread_evenly_and_folds_have_equal_sizes(labels, n_folds, seed):
    folds = deal_folds(labels, n_folds, random_state=seed)
    for label in [*set(labels), None]:
        counts = np.bincount(
            [f for f, own in zip(folds, labels, strict=True) if label in (own, None)], minlength=n_folds
        )
        assert counts.max() - counts.min() <= 1


def test_folds_depend_on_the_seed_and_on_nothing_else():
    labels = ["a", "b"] * 20
    assert deal_folds(labels, 4, random_state=1).tolist() == deal_folds(labels, 4, random_state=1).tolist()
    assert deal_folds(labels, 4, random_state=1).tolist() != deal_folds(labels, 4, random_state=2).tolist()
    with pytest.raises(DataError, match="3 examples cannot be dealt into 4 folds; pass fewer folds or more examples"):
        deal_folds([1, 2, 3], 4)


def test_rounds_test_every_example_once_and_never_train_on_it():
    folds = deal_groups(list("aabbccdde"), 3, random_state=5)
    seen = []
    for train, test in splits(folds):
        assert not set(train) & set(test)
        assert len(train) + len(test) == 9
        seen += test.tolist()
    assert sorted(seen) == list(range(9))
    assert all(folds[i] == folds[i + 1] for i in (0, 2, 4, 6))


def test_a_model_that_gives_too_few_predictions_is_refused():
    with pytest.raises(DataError, match="a model gave 1 predictions for 2 examples"):
        held_out(lambda train, test: np.zeros(1), [0, 0, 1, 1])


def test_the_simplest_setting_within_a_standard_error_is_found():
    noise = np.random.default_rng(0).normal(0, 0.3, 60)

    def loss(setting, train, test):
        return np.abs({"plain": 0.02, "rich": 0.0, "wrong": 2.0}[setting] + noise[test])

    choice = choose(["plain", "rich", "wrong"], loss, deal_folds(np.zeros(60), 3))
    assert choice.losses[2] > 1.5
    assert choice.settings[choice.simplest] == "plain"
    assert choice.losses[choice.best] == choice.losses.min()
    with pytest.raises(DataError, match="a held-out loss is not finite"):
        choose([1], lambda s, a, b: np.full(len(b), np.nan), [0, 1])


def test_a_nested_choice_never_sees_what_it_is_judged_on():
    y = np.random.default_rng(1).random(30)
    used: list[set[int]] = []

    def predict(setting, train, test):
        used.append(set(train.tolist()) | set(test.tolist()))
        return np.full(len(test), setting * y[train].mean())

    def loss(setting, train, test):
        return (y[test] - predict(setting, train, test)) ** 2

    predicted, chosen = nested(
        [0.0, 1.0], loss, lambda s, a, b: np.full(len(b), s * y[a].mean()), np.zeros(30), inner=3
    )
    folds = deal_folds(np.zeros(30), 5)
    for k, seen in enumerate(np.array_split(np.arange(len(used)), 5)):
        inside = set(np.flatnonzero(folds != k).tolist())
        assert all(used[i] <= inside for i in seen)
    assert chosen == [1.0] * 5
    assert predicted == pytest.approx([y[folds != k].mean() for k in folds])


@given(VALUES, st.randoms(use_true_random=False))
def test_correlations_of_ranks_are_those_of_scipy(x, random):
    from scipy import stats

    y = [random.randint(-3, 3) for _ in x]
    assert ranks(x).tolist() == stats.rankdata(x).tolist()
    if len(set(x)) > 1 and len(set(y)) > 1:
        assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)
        assert kendall(x, y) == pytest.approx(stats.kendalltau(x, y).statistic)
    else:
        assert np.isnan(kendall(x, y))
        assert np.isnan(spearman(x, y))


@given(st.lists(st.integers(0, 300), min_size=2, max_size=40, unique=True))
def test_tau_counts_pairs(x):
    pairs = list(itertools.combinations(x, 2))
    signs = [1 if b > a else -1 for a, b in pairs]
    assert kendall(range(len(x)), x) == pytest.approx(sum(signs) / len(pairs))


def test_a_paired_test_sees_what_a_test_of_two_means_would_not():
    hard = np.random.default_rng(3).random(100) * 10
    assert paired_test(hard, hard + 0.1).p_value < 0.05
    assert paired_test(hard, hard[::-1].copy()).p_value > 0.05
    with pytest.raises(DataError, match="3 losses against 2"):
        paired_test([1, 2, 3], [1, 2])
