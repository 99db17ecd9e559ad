"""The two classes of pairs, against sums over pairs and a search over all poolings; levels that a list defines."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textmill.tasks.names.agreement import TAILS, FieldValues, measures_of
from textmill.tasks.names.mixture import Patterns, _order, best_fit, find_parents, fit_agreements, log_likelihood
from textmill.tasks.names.records import Field, RecordList


def drawn(count: int, share: float, m: list[list[float]], u: list[list[float]], seed: int):
    """Levels of pairs of a mixture whose variables are independent in either class."""
    rng = np.random.default_rng(seed)
    match = rng.random(count) < share
    columns = [
        np.where(match, rng.choice(len(a), count, p=a), rng.choice(len(b), count, p=b))
        for a, b in zip(m, u, strict=True)
    ]
    return np.stack(columns, axis=-1).astype(np.int8), match


def pooled(M: np.ndarray, U: np.ndarray) -> tuple[float, np.ndarray]:
    """The greatest likelihood among all ways to pool neighbors whose ratio rises, and m."""
    best = (-math.inf, M)
    for cuts in itertools.product([0, 1], repeat=len(M) - 1):
        block = np.concatenate([[0], np.cumsum(cuts)])
        own = np.bincount(block, weights=M) / np.bincount(block, weights=M + U)
        if (np.diff(own) < 0).any():
            continue
        m, u = (M + U) * own[block] / M.sum(), (M + U) * (1 - own[block]) / U.sum()
        value = float(M @ np.log(m) + U @ np.log(u))
        best = max(best, (value, m), key=lambda one: one[0])
    return best


@given(st.lists(st.tuples(st.floats(0.1, 50), st.floats(0.1, 50)), min_size=2, max_size=6))
def test_levels_in_order_are_those_of_the_best_pooling(counts):
    M, U = np.array(counts).T
    m, u = _order(M, U)
    assert (np.diff(m / u) >= -1e-9).all()
    assert float(M @ np.log(m) + U @ np.log(u)) == pytest.approx(pooled(M, U)[0], abs=1e-9)


@given(st.integers(0, 10_000))
def test_the_objective_never_falls_and_a_disagreement_never_speaks_for_a_match(seed):
    rng = np.random.default_rng(seed)
    levels = rng.integers(-1, 3, size=(int(rng.integers(2, 80)), int(rng.integers(1, 5)))).astype(np.int8)
    found = fit_agreements(Patterns.of(levels), [3] * levels.shape[1], max_iter=40, tolerance=0.0)
    assert (np.diff(found.trace) >= -1e-9 * np.abs(found.trace[:-1])).all()
    for m, u in zip(found.m, found.u, strict=True):
        assert m.sum() == pytest.approx(1.0)
        assert u.sum() == pytest.approx(1.0)
        assert (np.diff(m / u[0]) >= -1e-9).all()


def test_the_likelihood_is_that_of_pairs_one_by_one():
    levels, _ = drawn(200, 0.2, [[0.2, 0.8], [0.1, 0.2, 0.7]], [[0.8, 0.2], [0.6, 0.3, 0.1]], 1)
    levels[::7, 1] = -1
    weights = np.where(np.arange(200) % 3, 1.0, 4.0)
    found = fit_agreements(Patterns.of(levels, weights), [2, 3], parents=[-1, 0], max_iter=5)
    total = 0.0
    for g, weight in zip(levels.tolist(), weights, strict=True):
        match, rest = found.share, 1 - found.share
        for v, level in enumerate(g):
            if level >= 0:
                match *= found.m[v][level]
                rest *= found.u[v][g[0] if v else 0][level]
        total += weight * math.log(match + rest)
    assert log_likelihood(found, Patterns.of(levels, weights)) == pytest.approx(total / weights.sum())


def test_the_probabilities_that_made_the_pairs_are_found():
    m = [[0.05, 0.15, 0.8], [0.1, 0.9], [0.2, 0.3, 0.5], [0.15, 0.85]]
    u = [[0.9, 0.08, 0.02], [0.95, 0.05], [0.8, 0.15, 0.05], [0.9, 0.1]]
    levels, match = drawn(400_000, 0.004, m, u, 2)
    found = best_fit(Patterns.of(levels), [3, 2, 3, 2], None)
    assert found.converged
    assert found.share == pytest.approx(match.mean(), rel=0.05)
    for ours, theirs in zip(found.m, m, strict=True):
        assert ours.tolist() == pytest.approx(theirs, abs=0.05)
    for ours, theirs in zip(found.u, u, strict=True):
        assert ours[0].tolist() == pytest.approx(theirs, abs=0.01)


def test_a_weight_counts_for_as_many_pairs():
    levels, _ = drawn(3000, 0.05, [[0.1, 0.9]] * 3, [[0.9, 0.1]] * 3, 3)
    weights = np.where(np.arange(3000) % 2, 1.0, 3.0)
    often = np.repeat(levels, weights.astype(int), axis=0)
    one, two = fit_agreements(Patterns.of(levels, weights), [2] * 3), fit_agreements(Patterns.of(often), [2] * 3)
    assert one.share == pytest.approx(two.share, rel=1e-9)
    assert np.concatenate(one.m).tolist() == pytest.approx(np.concatenate(two.m).tolist())


def test_a_variable_that_is_always_missing_changes_nothing():
    levels, _ = drawn(500, 0.1, [[0.2, 0.8]] * 3, [[0.8, 0.2]] * 3, 3)
    alone = fit_agreements(Patterns.of(levels), [2] * 3)
    beside = fit_agreements(Patterns.of(np.column_stack([levels, np.full(500, -1)]).astype(np.int8)), [2] * 4)
    assert beside.share == pytest.approx(alone.share, rel=1e-9)
    assert (beside.m[3] / beside.u[3][0]).tolist() == pytest.approx([1.0, 1.0])


def test_fields_that_go_together_are_found_and_do_not_count_twice():
    rng = np.random.default_rng(4)
    levels, match = drawn(400_000, 0.001, [[0.1, 0.9]] * 5, [[0.97, 0.03]] * 5, 5)
    levels[:, 4] = np.where(match | (rng.random(400_000) < 0.1), levels[:, 4], levels[:, 3])  # a postcode and its city
    halves = [Patterns.of(part) for part in (levels[::2], levels[1::2])]
    parents, gain = find_parents(halves, [2] * 5)
    assert sorted((v, parent) for v, parent in enumerate(parents) if parent >= 0) in ([(4, 3)], [(3, 4)])
    assert gain > 0.0
    found = best_fit(Patterns.of(levels), [2] * 5, parents)
    assert found.share == pytest.approx(match.mean(), rel=0.15)
    both = np.array([[-1, -1, -1, 1, 1]], np.int8)
    inside = ~match & (levels[:, 3] == 1)
    true = 0.9**2 / (inside.mean() / (~match).mean() * levels[inside, 4].mean())
    assert float(found.log_ratios(both).sum()) == pytest.approx(math.log(true), abs=0.3)
    twice = best_fit(Patterns.of(levels), [2] * 5, None)
    assert twice.share > 3 * match.mean()  # without the parent the second class is the pairs of one city


def test_independent_fields_have_no_parents_and_no_second_class_means_no_gain():
    levels, _ = drawn(200_000, 0.002, [[0.1, 0.9]] * 4, [[0.95, 0.05]] * 4, 6)
    parents, gain = find_parents([Patterns.of(levels[::2]), Patterns.of(levels[1::2])], [2] * 4)
    assert parents == [-1] * 4
    assert gain > 0.005
    none, _ = drawn(200_000, 0.0, [[0.1, 0.9]] * 4, [[0.95, 0.05]] * 4, 7)
    _, nothing = find_parents([Patterns.of(none[::2]), Patterns.of(none[1::2])], [2] * 4)
    assert nothing < 1e-5


# levels


@given(st.lists(st.text("ab c", max_size=6), min_size=2, max_size=25))
def test_cuts_are_quantiles_of_pairs_of_different_values(texts):
    values = FieldValues(Field("name"), RecordList.of({"name": texts}))
    left, right = np.triu_indices(len(texts), 1)
    measures = measures_of(values)
    cuts = values.cuts(measures, left, right)
    a, b = values.ends(left, right)
    apart = (a >= 0) & (b >= 0) & (a != b)
    for measure, row in zip(measures, cuts, strict=True):
        alone = values.levels([measure], row[None], left, right)
        for level, tail in enumerate(TAILS, 1):
            assert (alone[apart] >= level).mean() <= tail if apart.any() else True
    levels = values.levels(measures, cuts, left, right)
    assert (levels[(a == b) & (a >= 0)] == len(TAILS) + 1).all()
    assert (levels[(a < 0) | (b < 0)] == -1).all()
    assert (levels[apart] <= len(TAILS)).all()
    assert levels.tolist() == values.levels(measures, cuts, right, left).tolist()


def test_a_measure_that_depends_on_the_order_is_averaged():
    values = FieldValues(Field("name", "ml(words, sub=jaro)"), RecordList.of({"name": ["a b", "a b c d", "x"]}))
    forth, back = (values._scores("ml(words, sub=jaro)", np.array(a), np.array(b)) for a, b in (([0], [1]), ([1], [0])))
    assert forth.tolist() == back.tolist()
