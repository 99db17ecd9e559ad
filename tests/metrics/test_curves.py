"""Threshold curves against scikit-learn, a sweep in exact fractions, and worked numbers of coherence and matching."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.threshold_sweeps import equal_error_rate, operating_points, pairs_won
from scipy.stats import norm
from sklearn import metrics as peer

from textmill.errors import DataError
from textmill.metrics import BinaryCounts, FWeight, LinearUtility, MCCUtility, RatioUtility, ScoreCounts

items = st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=2, max_size=30).filter(
    lambda pairs: 0 < sum(gold for _, gold in pairs) < len(pairs)
)
few = settings(derandomize=True, deadline=None, max_examples=40)


def split(pairs):
    scores, gold = zip(*pairs, strict=True)
    return [score / 4 for score in scores], list(gold)


@settings(few, max_examples=25)
@given(pairs=items)
def test_curves_equal_scikit_learn(pairs):
    scores, gold = split(pairs)
    counts = ScoreCounts.from_scores(scores, gold)
    false_alarm_rate, hit_rate, _ = peer.roc_curve(gold, scores, drop_intermediate=False)
    assert [side.tolist() for side in counts.roc()] == [false_alarm_rate.tolist(), hit_rate.tolist()]
    assert counts.auc() == pytest.approx(peer.roc_auc_score(gold, scores))
    assert counts.average_precision() == pytest.approx(peer.average_precision_score(gold, scores))
    precision, recall, _ = peer.precision_recall_curve(gold, scores)
    assert counts.precision_recall()[0] == pytest.approx(precision[::-1])
    assert counts.precision_recall()[1] == pytest.approx(recall[::-1])


@few
@given(pairs=items)
def test_equal_error_and_area_equal_a_sweep_in_fractions(pairs):
    scores, gold = split(pairs)
    counts = ScoreCounts.from_scores(scores, gold)
    assert counts.equal_error().figure == pytest.approx(float(equal_error_rate(scores, gold)), abs=1e-14)
    assert counts.auc() == pytest.approx(float(pairs_won(scores, gold)), abs=1e-14)
    points = operating_points(scores, gold)
    assert counts.table[:, [0, 2]].tolist() == [[hits, false_alarms] for *_, hits, false_alarms in points]
    rates = [(float(fa), float(fr)) for fa, fr, *_ in points]
    assert np.stack(counts.error_rates(), axis=1).tolist() == [list(pair) for pair in rates]
    nearest = min(abs(fa - fr) for fa, fr in rates)
    reached = counts.equal_error().counts
    negatives = reached.false_alarms + reached.rejections
    gap = abs(reached.false_alarms / negatives - reached.misses / (reached.hits + reached.misses))
    assert gap == pytest.approx(nearest)


@few
@given(pairs=items)
def test_negated_scores_with_swapped_truth_have_the_same_equal_error(pairs):
    scores, gold = split(pairs)
    swapped = ScoreCounts.from_scores([-score for score in scores], [not g for g in gold])
    rate = ScoreCounts.from_scores(scores, gold).equal_error().figure
    assert swapped.equal_error().figure == pytest.approx(rate)
    below = ScoreCounts.from_scores([-score for score in scores], gold, accept="below")
    assert below.equal_error().figure == rate
    assert below.thresholds.tolist() == (-ScoreCounts.from_scores(scores, gold).thresholds).tolist()


@pytest.mark.parametrize(
    ("true", "false", "rate"),
    [
        ((0.9, 0.8, 0.7, 0.4), (0.6, 0.5, 0.3, 0.2), 0.25),
        ((3.0, 2.0), (1.0, 0.5), 0.0),
        ((1.0, 2.0), (1.0, 2.0), 0.5),
        ((0.9, 0.8, 0.35, 0.3), (0.5, 0.4, 0.2, 0.1, 0.05), 0.4),
        ((0.1, 0.2), (0.8, 0.9), 1.0),
    ],
)
def test_worked_equal_error_rates(true, false, rate):
    counts = ScoreCounts.from_scores([*true, *false], [1] * len(true) + [0] * len(false))
    assert counts.equal_error().figure == pytest.approx(rate, abs=1e-15)


def test_a_threshold_accepts_what_the_table_says():
    rng = np.random.default_rng(7)
    for accept in ("above", "below"):
        scores, gold = rng.normal(size=40).round(1), rng.random(40) < 0.5
        counts = ScoreCounts.from_scores(scores, gold, accept=accept)
        for threshold, row in zip(counts.thresholds, counts.table.tolist(), strict=True):
            accepted = scores >= threshold if accept == "above" else scores <= threshold
            expected = BinaryCounts.from_labels(gold, accepted)
            assert counts.at(threshold) == expected
            assert [expected.hits, expected.misses, expected.false_alarms, expected.rejections] == row
        for threshold in (-1.0, 0.0, 0.3):
            accepted = scores >= threshold if accept == "above" else scores <= threshold
            assert counts.at(threshold) == BinaryCounts.from_labels(gold, accepted)


def test_thresholds_separate_even_neighboring_floats():
    low = 1.0
    high = math.nextafter(low, 2.0)
    huge = ScoreCounts.from_scores([low, high, 1.7e308, -1.7e308], [0, 1, 1, 0])
    assert [huge.at(t).hits + huge.at(t).false_alarms for t in huge.thresholds] == [0, 1, 2, 3, 4]
    assert huge.equal_error().counts == BinaryCounts(2, 0, 0, 2)


@few
@given(pairs=items, beta=st.sampled_from([0.5, 1.0, 2.0]))
def test_best_threshold_equals_brute_force(pairs, beta):
    scores, gold = split(pairs)
    counts = ScoreCounts.from_scores(scores, gold)
    for utility in (RatioUtility.f(FWeight.from_beta(beta)), LinearUtility(hit=1.0, false_alarm=-beta), MCCUtility()):
        tried = []
        for cut in [math.inf, *sorted(set(scores), reverse=True)]:
            point = BinaryCounts.from_labels(gold, [score >= cut for score in scores])
            tried.append((float(utility.value(point.vector)), point))
        best = max(value for value, _ in tried)
        first = next(point for value, point in tried if value == best)
        found = counts.best(utility)
        assert (found.figure, found.counts) == (best, first)
        assert counts.at(found.threshold) == first


@few
@given(pairs=items)
def test_caring_more_for_recall_never_raises_the_threshold(pairs):
    counts = ScoreCounts.from_scores(*split(pairs))
    thresholds = [counts.best(RatioUtility.f(FWeight.from_beta(b))).threshold for b in (0.25, 0.5, 1.0, 2.0, 4.0)]
    assert thresholds == sorted(thresholds, reverse=True)


def test_ten_pairs_of_names_with_tied_scores():
    scores = [1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.6, 0.5, 0.0, 0.0]
    gold = [1, 1, 0, 1, 1, 0, 0, 1, 0, 1]
    counts = ScoreCounts.from_scores(scores, gold)
    # cuts accept 2, 3, 6, 7, 8, 10 pairs with 2, 2, 4, 4, 5, 6 of the 6 positives
    for beta, best in ((0.5, 1.25 * 2 / (2 + 0.25 * 6)), (1.0, 2 * 6 / 16), (2.0, 5 * 6 / (10 + 24))):
        assert counts.best(RatioUtility.f(FWeight.from_beta(beta))).figure == pytest.approx(best)
    assert (counts.table[:, 0] + counts.table[:, 2]).tolist() == [0, 2, 3, 6, 7, 8, 10]


def test_positives_without_a_score_stay_in_the_denominators():
    counts = ScoreCounts.from_scores([3, 2, 1], [1, 0, 1], missed=2)
    lowest = ScoreCounts.from_scores([3, 2, 1, -9, -9], [1, 0, 1, 1, 1])
    assert counts.precision_recall()[1].tolist() == [0.0, 0.25, 0.25, 0.5]
    assert counts.auc() == lowest.auc() == 0.25
    assert counts.average_precision() == pytest.approx((1 + 2 / 3) / 4)
    assert counts.equal_error().figure == lowest.equal_error().figure == 0.75


def test_det_axes_are_normal_deviates_of_both_error_rates():
    rng = np.random.default_rng(8)
    scores, gold = rng.normal(size=200), rng.random(200) < 0.4
    false_acceptance, false_rejection = ScoreCounts.from_scores(scores, gold).error_rates()
    x, y = ScoreCounts.from_scores(scores, gold).det()
    assert x == pytest.approx(norm.ppf(false_acceptance))
    assert y == pytest.approx(norm.ppf(false_rejection))
    reached, rejected, _ = peer.det_curve(gold, scores)
    rates = set(zip(false_acceptance.tolist(), false_rejection.tolist(), strict=True))
    assert set(zip(reached.tolist(), rejected.tolist(), strict=True)) <= rates


@few
@given(pairs=items, other=items)
def test_scores_of_parts_sum_to_the_scores_of_the_whole(pairs, other):
    parts = [ScoreCounts.from_scores(*split(part), accept="below", missed=1) for part in (pairs, other)]
    whole = ScoreCounts.from_scores(*split(pairs + other), accept="below", missed=2)
    assert sum(parts, ScoreCounts()) == whole


def test_signature_names_the_conventions():
    counts = ScoreCounts.from_scores([1, 2], [0, 1])
    assert counts.signature.startswith("threshold|accept:above|ties:together|eer:linear|ap:step|textmill:")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ScoreCounts.from_scores([1, 2], [1]), "scores has 2 items but gold has 1"),
        (lambda: ScoreCounts.from_scores([], []), "scores is empty"),
        (lambda: ScoreCounts.from_scores([1.0, math.nan], [1, 0]), "scores holds nan at item 1"),
        (lambda: ScoreCounts.from_scores([1.0, math.inf], [1, 0]), "scores holds inf at item 1"),
        (lambda: ScoreCounts.from_scores([[1.0]], [1]), "scores has 2 dimensions"),
        (lambda: ScoreCounts.from_scores(["high"], [1]), "not an array of numbers"),
        (lambda: ScoreCounts.from_scores([1, 2], ["yes", "no"]), "compare labels first"),
        (lambda: ScoreCounts.from_scores([1, 2], [1, -1]), "true and false"),
        (lambda: ScoreCounts.from_scores([1, 2], [[1, 0]]), "gold has 2 dimensions"),
        (lambda: ScoreCounts.from_scores([1], [1], missed=-1), "missed is -1"),
        (lambda: ScoreCounts.from_scores([1], [1], accept="left"), "choose one of 'above', 'below'"),
        (lambda: ScoreCounts.from_scores([1, 2], [1, 1]).roc(), "there is no negative item"),
        (lambda: ScoreCounts.from_scores([1, 2], [0, 0]).auc(), "there is no positive item"),
        (lambda: ScoreCounts.from_scores([1, 2], [0, 0]).average_precision(), "there is no positive item"),
        (lambda: ScoreCounts.from_scores([1, 2], [0, 0]).equal_error(), "there is no positive item"),
        (lambda: ScoreCounts().best(MCCUtility()), "there is no score"),
        (lambda: ScoreCounts.from_scores([1], [0]).best(RatioUtility.recall(math.nan)), "NaN at every threshold"),
        (lambda: ScoreCounts.from_scores([1, 2], [1, 0]).at(math.nan), "threshold is NaN"),
        (
            lambda: ScoreCounts.from_scores([1], [1]) + ScoreCounts.from_scores([1], [1], accept="below"),
            "negate one side",
        ),
    ],
)
def test_bad_input_says_what_to_do(call, message):
    with pytest.raises(DataError, match=message):
        call()
