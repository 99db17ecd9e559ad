"""Probabilities of matches, learned with labels and without, chosen labels, explanations, files."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textmill import load
from textmill.errors import DataError, ModelFileError, NotFittedError
from textmill.optimize import check_gradient
from textmill.strings import Pairs
from textmill.tasks.names import (
    FellegiSunter,
    Gold,
    LearnedMatcher,
    NameList,
    RecordEstimator,
    RecordList,
    RecordMatcher,
    cluster_page,
    explain_records,
    explanation_lines,
    generate_names,
    read_pairs,
    reliability,
    suggest_labels,
    suggestion_page,
    write_pairs,
)
from textmill.tasks.names.active import spaced_pairs, uncertain_pairs
from textmill.tasks.names.boosting import boost_trees
from textmill.tasks.names.logistic import (
    choose_penalty,
    expected_threshold,
    fit_logistic,
    held_out_odds,
    label_folds,
    log_losses,
)

NAMES = generate_names(150, random_state=4)
PEOPLE = RecordList.of(
    {
        "name": NAMES.names,
        "phone": [
            f"{int(key) % 97:03d}" if n % 5 else ""
            for n, key in enumerate(np.unique(NAMES.clusters, return_inverse=True)[1])
        ],
    },
    ids=NAMES.ids,
)
FIELDS = ["name", "phone:exact"]


def labels(matcher: RecordEstimator, every: int = 3) -> Gold:
    """True labels of every third candidate."""
    found = matcher.candidates(PEOPLE)
    clusters = NAMES.clusters
    assert clusters is not None
    pairs = list(zip(found.left[::every].tolist(), found.right[::every].tolist(), strict=True))
    return Gold({(NAMES.ids[i], NAMES.ids[j]): "pos" if clusters[i] == clusters[j] else "neg" for i, j in pairs})


def f1(pairs: Pairs) -> float:
    clusters = np.array(NAMES.clusters)
    hits = int((clusters[pairs.left] == clusters[pairs.right]).sum())
    sizes = np.unique(clusters, return_counts=True)[1]
    return 2 * hits / (len(pairs.left) + int((sizes * (sizes - 1) // 2).sum()))


@pytest.fixture(scope="module")
def learned() -> LearnedMatcher:
    matcher = LearnedMatcher(fields=FIELDS)
    return matcher.fit(PEOPLE, labels(matcher))


@pytest.fixture(scope="module")
def unsupervised() -> FellegiSunter:
    return FellegiSunter(fields=FIELDS).fit(PEOPLE)


# logistic regression


def test_the_regression_is_that_of_scikit_learn() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(1)
    Z = rng.normal(size=(120, 6))
    y = rng.random(120) < 1 / (1 + np.exp(-(Z @ rng.normal(size=6) - 0.5)))
    for penalty in (0.1, 3.0):
        peer = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=10_000).fit(Z, y)
        ours = fit_logistic(Z, y, penalty)
        assert ours.weights == pytest.approx(peer.coef_[0], abs=1e-4)
        assert ours.intercept == pytest.approx(peer.intercept_[0], abs=1e-4)
        assert (1 / (1 + np.exp(-ours.log_odds(Z)))).sum() == pytest.approx(y.sum(), abs=1e-3)  # calibrated in sum


def test_no_fold_sees_the_label_it_predicts() -> None:
    rng = np.random.default_rng(2)
    Z, y = rng.normal(size=(60, 40)), rng.random(60) < 0.5  # nothing to learn, everything to learn by heart
    folds = label_folds(y)
    assert folds is not None
    odds = held_out_odds(Z, y, folds, [0.01])[:, 0]
    assert ((odds > 0) == y).mean() < 0.7
    inside = 1 / (1 + np.exp(-fit_logistic(Z, y, 0.01).log_odds(Z)))
    assert ((inside > 0.5) == y).mean() > 0.95


def test_the_penalty_is_large_for_noise_and_small_for_a_clear_case() -> None:
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(80, 10))
    assert choose_penalty(Z, rng.random(80) < 0.5) >= 10.0
    assert choose_penalty(Z, Z[:, 0] > 0) <= 1.0
    assert label_folds(np.arange(80) == 0) is None  # one match cannot be split


def test_the_threshold_has_the_greatest_expected_f() -> None:
    p = np.random.default_rng(4).beta(0.4, 0.8, 12)
    outcomes = np.array(list(itertools.product([0, 1], repeat=12)))
    chances = np.prod(np.where(outcomes == 1, p, 1 - p), axis=1)

    def expected(threshold: float) -> float:  # the mean of 2 hits over the mean of taken and matches
        taken = p >= threshold
        return float(chances @ (2 * outcomes[:, taken].sum(axis=1)) / (chances @ (taken.sum() + outcomes.sum(axis=1))))

    best = max(expected(threshold) for threshold in p)
    assert expected(expected_threshold(p)) == pytest.approx(best)
    assert expected(0.5) < best - 1e-3


def slow_boost(X: Any, y: Any, rounds: int, depth: int, least: int, rate: float, penalty: float) -> Any:
    """Margins of boosted trees from the definition, a set of rows a node, every threshold tried."""
    margin = np.full(len(X), np.log((y.sum() + 0.5) / (len(y) - y.sum() + 0.5)))
    for _ in range(rounds):
        p = 1 / (1 + np.exp(-margin))
        g, h, step = p - y, p * (1 - p), np.zeros(len(X))

        def weight(rows: Any, g: Any = g, h: Any = h) -> float:
            return float(g[rows].sum() ** 2 / (h[rows].sum() + penalty))

        def grow(rows: Any, level: int, g: Any = g, h: Any = h, step: Any = step, weight: Any = weight) -> None:
            if level:
                step[rows] = -rate * g[rows].sum() / (h[rows].sum() + penalty)
            best, sides = 1e-12, None
            for c in range(X.shape[1]) if level < depth else ():
                for cut in sorted(set(X[rows, c][~np.isnan(X[rows, c])]))[1:]:
                    for rest in (False, True):
                        first = rows[np.where(np.isnan(X[rows, c]), rest, X[rows, c] < cut)]
                        second = np.setdiff1d(rows, first)
                        gain = weight(first) + weight(second) - weight(rows)
                        if min(len(first), len(second)) >= least and gain > best + 1e-12:
                            best, sides = gain, (first, second)
            for side in sides or ():
                grow(side, level + 1)

        grow(np.arange(len(X)), 0)
        margin += step
    return margin


def test_boosted_trees_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(60, 3)).round(1)
    y = X[:, 0] * X[:, 1] + rng.normal(0, 0.3, 60) > 0.2
    X[rng.random(X.shape) < 0.2] = np.nan
    trees = boost_trees(X, y, rounds=6)
    expected = slow_boost(X, y, 6, 4, 5, 0.1, 1.0)
    assert trees.log_odds(X) == pytest.approx(expected, abs=1e-9)
    assert trees.stages(X)[:, -1] == pytest.approx(expected, abs=1e-9)
    assert trees.start + trees.contributions(X).sum(axis=1) == pytest.approx(expected, abs=1e-9)
    one, two = (boost_trees(X, y, n_jobs=n).values.tobytes() for n in (1, 2))
    assert one == two


def test_boosted_trees_learn_what_no_line_can() -> None:
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, (2000, 4))
    y = X[:, 0] * X[:, 1] > 0  # the sign of a product
    trees = boost_trees(X[:1000], y[:1000])
    assert ((trees.log_odds(X[1000:]) > 0) == y[1000:]).mean() > 0.95
    line = fit_logistic(X[:1000], y[:1000], 1.0)
    assert ((line.log_odds(X[1000:]) > 0) == y[1000:]).mean() < 0.6
    assert log_losses(trees.stages(X[1000:]), y[1000:]).mean(axis=0).argmin() > 10


def test_probabilities_are_calibrated_on_pairs_not_seen() -> None:
    rng = np.random.default_rng(5)
    Z = rng.normal(size=(20_000, 5))
    y = rng.random(20_000) < 1 / (1 + np.exp(-(Z @ [1.0, -1.0, 0.5, 0.0, 0.0] - 1.0)))
    model = fit_logistic(Z[:200], y[:200], choose_penalty(Z[:200], y[:200]))
    table = reliability(1 / (1 + np.exp(-model.log_odds(Z[200:]))), y[200:])
    gaps = [abs(p - o) for n, p, o in zip(table.counts, table.predicted, table.observed, strict=True) if n > 200]
    assert max(gaps) < 0.12
    assert table.brier < 0.18
    assert sum(table.counts) == 19_800


# without labels


def test_unsupervised_matching_beats_a_fixed_threshold(unsupervised: FellegiSunter) -> None:
    assert f1(unsupervised.pairs(PEOPLE)) > f1(RecordMatcher(fields=FIELDS).pairs(PEOPLE)) - 0.02
    assert f1(unsupervised.pairs(PEOPLE)) > 0.75
    assert unsupervised.n_iter_ == len(unsupervised.trace_)
    assert any(line.startswith("phone, exact") for line in unsupervised.lines())


# learned from labels


def test_labels_make_matching_better(learned: LearnedMatcher) -> None:
    assert f1(learned.pairs(PEOPLE)) > f1(RecordMatcher(fields=FIELDS).pairs(PEOPLE)) + 0.03
    assert learned.brier_ is not None
    assert learned.brier_ < 0.05


def test_sixty_labels_are_enough() -> None:
    matcher = LearnedMatcher(fields=FIELDS)
    gold = labels(matcher, max(1, len(matcher.candidates(PEOPLE)) // 60))
    assert f1(matcher.fit(PEOPLE, gold).pairs(PEOPLE)) > 0.75


@pytest.mark.parametrize("name", ["learned", "unsupervised"])
def test_saving_loading_and_saving_gives_the_same_bytes(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    model = request.getfixturevalue(name)
    model.save(tmp_path / "one.mill")
    again = load(tmp_path / "one.mill", verify=True)
    again.save(tmp_path / "two.mill")
    assert (tmp_path / "one.mill").read_bytes() == (tmp_path / "two.mill").read_bytes()
    assert again.scores(PEOPLE)[1].tobytes() == model.scores(PEOPLE)[1].tobytes()


def test_impossible_values_of_a_file_are_refused(learned: LearnedMatcher, unsupervised: FellegiSunter) -> None:
    for model, name, value in ((learned, "scales_", 0.0), (unsupervised, "m_", 1.5), (unsupervised, "u_", 0.0)):
        before = getattr(model, name)
        setattr(model, name, np.full_like(before, value))
        with pytest.raises(ModelFileError):
            model.verify()
        setattr(model, name, before)


@pytest.mark.parametrize("make", [LearnedMatcher, FellegiSunter])
def test_results_are_the_same_for_any_number_of_jobs(make: Callable[..., Any]) -> None:
    gold = labels(RecordMatcher(fields=FIELDS))
    models = [make(fields=FIELDS, n_jobs=jobs).fit(PEOPLE, gold) for jobs in (1, 2, 5)]
    scores = [model.scores(PEOPLE)[1].tobytes() for model in models]
    assert scores[0] == scores[1] == scores[2]
    assert models[0].set_params(n_jobs=None).fingerprint() == models[2].set_params(n_jobs=None).fingerprint()


@pytest.mark.parametrize("make", [RecordMatcher, LearnedMatcher, FellegiSunter])
def test_matchers_are_estimators(make: Callable[..., Any]) -> None:
    from sklearn.base import clone

    matcher = make(fields=FIELDS, k=7)
    assert clone(matcher).get_params() == matcher.get_params()
    if make is not RecordMatcher:
        with pytest.raises(NotFittedError):
            matcher.pairs(PEOPLE)


@pytest.mark.parametrize("name", ["learned", "unsupervised"])
def test_contributions_add_up_to_the_probability(name: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(name)
    candidates, scores = model.scores(PEOPLE)
    positions = np.arange(0, len(candidates), 11)
    for position, found in zip(positions, model.explain(PEOPLE, positions, candidates=candidates), strict=True):
        odds = found.start + sum(part.weight for part in found.contributions)
        assert 1 / (1 + math.exp(-odds)) == pytest.approx(scores[position], abs=1e-12)
        assert sum(found.by_field().values()) == pytest.approx(odds - found.start)
        if not PEOPLE.columns["phone"][found.left] or not PEOPLE.columns["phone"][found.right]:
            part = next(part for part in found.contributions if part.measure == "exact")
            assert math.isnan(part.value)
            assert part.weight == 0.0 or len(model.tree_values_)  # trees may learn from what is missing
    assert explanation_lines(found)[0] == f"score {found.score:.4f}"


def test_a_pair_that_no_block_has_found_can_be_explained(learned: LearnedMatcher) -> None:
    candidates = learned.candidates(PEOPLE)
    i, j = next(
        (a, b)
        for a, b in itertools.combinations(range(len(PEOPLE)), 2)
        if candidates.positions(np.array([a]), np.array([b]))[0] < 0
    )
    lines = explain_records(learned, PEOPLE, PEOPLE.ids[j], PEOPLE.ids[i])
    assert lines[:2] == [PEOPLE.shown(i), PEOPLE.shown(j)]


@pytest.mark.parametrize(
    ("gold", "fault"),
    [
        ({}, "there are no labels"),
        ({("1", "2"): "unk"}, "there are no labels"),
        ({("1", "2"): "pos", ("1", "3"): "pos"}, "no label is neg; learning needs matches and others"),
        ({("1", "2"): "neg"}, "no label is pos"),
        ({("1", "nobody"): "pos", ("1", "2"): "neg"}, "no name has the id 'nobody'"),
    ],
)
def test_labels_that_teach_nothing_are_refused(gold: dict[tuple[str, str], str], fault: str) -> None:
    people = RecordList.of({"name": ["Ann Lee", "Anne Lee", "Tom Fox"]})
    with pytest.raises(DataError, match=fault) as error:
        LearnedMatcher().fit(people, Gold(gold))
    assert "\n" not in str(error.value)


def test_contradictory_labels_are_refused() -> None:
    with pytest.raises(DataError, match="labeled pos and neg; remove one"):
        Gold({("1", "2"): "pos", ("2", "1"): "neg"})


def test_labels_that_contradict_the_numbers_give_moderate_probabilities() -> None:
    people = RecordList.of({"name": ["Ann Lee"] * 8})
    pairs = list(itertools.combinations(people.ids, 2))
    gold = Gold({pair: "pos" if n % 2 else "neg" for n, pair in enumerate(pairs)})
    matcher = LearnedMatcher(blocks=["name:exact"]).fit(people, gold)
    assert matcher.scores(people)[1] == pytest.approx(0.5, abs=0.01)


def test_a_model_refuses_other_fields(learned: LearnedMatcher) -> None:
    from sklearn.base import clone

    other = clone(learned)
    other.__dict__.update({name: value for name, value in vars(learned).items() if name.endswith("_")})
    other.set_params(fields=["name"])
    with pytest.raises(DataError, match="learned with other fields"):
        other.pairs(PEOPLE)
    with pytest.raises(DataError, match="the field 'name' is there twice"):
        RecordMatcher(fields=["name", "name:jaro"]).pairs(PEOPLE)
    with pytest.raises(DataError, match="a list of at least one field"):
        RecordMatcher(fields="name").pairs(PEOPLE)


def test_two_lists_are_joined_and_learned_from() -> None:
    half = len(NAMES) // 2
    left = RecordList.of({"name": NAMES.names[::2]})
    right = RecordList.of({"name": NAMES.names[1::2]})
    clusters = NAMES.clusters
    assert clusters is not None
    matcher = LearnedMatcher()
    found = matcher.candidates(left, right)
    truth = [clusters[2 * i] == clusters[2 * j + 1] for i, j in zip(found.left, found.right, strict=True)]
    pairs = list(zip(found.left.tolist(), found.right.tolist(), truth, strict=True))[::2]
    gold = Gold({(left.ids[i], right.ids[j]): "pos" if y else "neg" for i, j, y in pairs}, symmetric=False)
    matcher.fit(left, gold, other=right)
    joined = matcher.join(left, right, one_to_one="greedy")
    assert len(set(joined.left)) == len(joined.left) == len(set(joined.right)) <= half
    hits = np.mean([clusters[2 * i] == clusters[2 * j + 1] for i, j in zip(joined.left, joined.right, strict=True)])
    assert hits > 0.8


# choosing labels, pages, files


def test_suggestions_are_doubtful_different_and_not_labeled(learned: LearnedMatcher) -> None:
    gold = labels(learned)
    pairs = suggest_labels(learned, PEOPLE, gold=gold, k=20)
    assert len(pairs.left) == 20
    keys = {(PEOPLE.ids[i], PEOPLE.ids[j]) for i, j in zip(pairs.left, pairs.right, strict=True)}
    assert len(keys) == 20
    assert all(gold.label(*key) is None for key in keys)
    doubt = np.abs(learned.scores(PEOPLE)[1] - 0.5)
    assert np.abs(pairs.score - 0.5).mean() < np.sort(doubt)[: len(doubt) // 2].mean()
    first = suggest_labels(RecordMatcher(fields=FIELDS), PEOPLE, k=10)
    assert np.ptp(first.score) > 0.4


def test_suggestions_end_when_all_is_labeled() -> None:
    assert spaced_pairs(np.array([0.2, 0.4]), 5, labeled=np.array([0, 1])).tolist() == []
    rows = np.zeros((2, 1))
    assert (
        uncertain_pairs(np.array([0.2, 0.4]), rows, 5, labeled=np.array([0, 1]), positions=np.arange(2)).tolist() == []
    )


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(1, 40))
def test_spaced_pairs_are_different_pairs(scores: list[float], k: int) -> None:
    chosen = spaced_pairs(np.array(scores), k, labeled=np.zeros(0, np.int64))
    assert len(set(chosen.tolist())) == len(chosen) == min(k, len(scores))


def test_pages_show_pairs_reasons_and_groups(learned: LearnedMatcher) -> None:
    pairs = suggest_labels(learned, PEOPLE, k=5)
    page = suggestion_page(learned, PEOPLE, pairs).render()
    assert "before anything is compared" in page
    assert "Download decisions" in page
    found = learned.pairs(PEOPLE)
    groups = cluster_page(PEOPLE, learned.clusters(PEOPLE, found), found).render()
    assert "groups of several records" in groups
    assert PEOPLE.columns["name"][int(found.left[0])].split()[0] in groups


@pytest.mark.parametrize("suffix", ["tsv", "jsonl", "parquet"])
def test_files_of_pairs_have_a_column_of_probabilities(tmp_path: Path, suffix: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    names = NameList.of(["A", "B"])
    write_pairs(tmp_path / f"p.{suffix}", [Pairs.of([(0, 1, 0.25)])], names, score="probability")
    assert next(iter(read_pairs(tmp_path / f"p.{suffix}"))).score == 0.25
    if suffix == "tsv":
        assert (tmp_path / "p.tsv").read_text().startswith("id1\tid2\tprobability\t")


def test_the_gradient_is_right() -> None:
    rng = np.random.default_rng(11)
    Z, y = rng.normal(size=(30, 4)), rng.random(30) < 0.4

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        z = Z @ theta[:-1] + theta[-1]
        value = float(np.logaddexp(0.0, z).sum() - y @ z + theta[:-1] @ theta[:-1])
        slope = 1 / (1 + np.exp(-z)) - y
        return value, np.append(Z.T @ slope + 2 * theta[:-1], slope.sum())

    best = fit_logistic(Z, y, 2.0)
    theta = np.append(best.weights, best.intercept)
    assert check_gradient(objective, theta + 0.1)
    assert np.abs(objective(theta)[1]).max() < 1e-4
