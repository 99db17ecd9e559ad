"""Label counts against scikit-learn, and the worked numbers of graded reviews and language identification."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as peer
from sklearn.preprocessing import MultiLabelBinarizer

from textmill.errors import DataError
from textmill.metrics import AccuracyCounts, BinaryCounts, Confusion, LabelCounts, RatioUtility, RegressionCounts

STARS = (1, 2, 3, 4, 5)
FIRST = [[12, 7, 0, 1, 0], [7, 8, 4, 1, 0], [1, 1, 13, 5, 0], [0, 0, 4, 10, 6], [0, 1, 2, 7, 10]]
SECOND = [[16, 3, 0, 1, 0], [11, 5, 3, 1, 0], [2, 5, 7, 4, 2], [0, 1, 2, 1, 16], [0, 0, 0, 2, 18]]

answers = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), min_size=1, max_size=40)
varied = answers.filter(lambda pairs: len({label for pair in pairs for label in pair}) > 1)  # or the peer warns


@settings(derandomize=True, deadline=None, max_examples=20)
@given(pairs=varied, zero_division=st.sampled_from([0.0, 1.0, math.nan]), beta=st.sampled_from([0.5, 1.0, 2.0]))
def test_averages_equal_scikit_learn(pairs, zero_division, beta):
    gold, said = zip(*pairs, strict=True)
    table = Confusion.from_labels(gold, said)
    counts = table.per_label()
    assert table.table.tolist() == peer.confusion_matrix(gold, said).tolist()
    for average in ("micro", "macro", "weighted"):
        expected = peer.precision_recall_fscore_support(
            gold, said, beta=beta, average=average, zero_division=zero_division
        )[:3]
        found = [
            counts.precision(average, zero_division),
            counts.recall(average, zero_division),
            counts.f(average, beta, zero_division),
        ]
        # where every label of any weight is left out we say NaN, the peer falls back to another average
        pairs_to_compare = [(a, b) for a, b in zip(found, expected, strict=True) if not math.isnan(a)]
        assert all(a == pytest.approx(b) for a, b in pairs_to_compare)
        assert math.isnan(zero_division) or len(pairs_to_compare) == 3


@settings(derandomize=True, deadline=None, max_examples=20)
@given(pairs=varied)
def test_agreement_equals_scikit_learn(pairs):
    gold, said = zip(*pairs, strict=True)
    table = Confusion.from_labels(gold, said, labels="abcd")
    assert table.accuracy() == pytest.approx(peer.accuracy_score(gold, said))
    assert table.error_rate() == pytest.approx(1 - peer.accuracy_score(gold, said))
    assert table.mcc() == pytest.approx(peer.matthews_corrcoef(gold, said), abs=1e-12)
    for ours, theirs in (("plain", None), ("linear", "linear"), ("quadratic", "quadratic")):
        expected = peer.cohen_kappa_score(gold, said, weights=theirs, labels=list("abcd"))
        assert table.kappa(ours) == pytest.approx(expected, abs=1e-12)


@settings(derandomize=True, deadline=None, max_examples=50)
@given(pairs=answers, cuts=st.lists(st.integers(0, 40), max_size=3))
def test_tables_of_parts_sum_to_the_table_of_the_whole(pairs, cuts):
    edges = sorted({0, *(cut for cut in cuts if cut < len(pairs)), len(pairs)})
    parts = [Confusion.from_labels(*zip(*pairs[a:b], strict=True)) for a, b in pairwise(edges)]
    whole = Confusion.from_labels(*zip(*pairs, strict=True))
    assert sum(parts, Confusion()) == whole
    assert sum((part.per_label() for part in parts), LabelCounts()) == whole.per_label()


def test_set_valued_answers_equal_scikit_learn():
    rng = np.random.default_rng(5)
    languages = ["cs", "de", "en", "sk"]
    draw = [[{x for x in languages if rng.random() < 0.4} for _ in range(60)] for _ in range(2)]
    counts = sum((LabelCounts.from_sets(*(side[a : a + 20] for side in draw)) for a in (0, 20, 40)), LabelCounts())
    assert counts == LabelCounts.from_sets(*draw)
    binary = [MultiLabelBinarizer(classes=languages).fit_transform(side) for side in draw]
    for average in ("micro", "macro", "weighted"):
        expected = peer.precision_recall_fscore_support(*binary, beta=2.0, average=average)[:3]
        assert (counts.precision(average), counts.recall(average), counts.f(average, 2.0)) == pytest.approx(expected)
    expected = peer.multilabel_confusion_matrix(*binary)[1]
    (rejections, false_alarms), (misses, hits) = expected
    assert counts["de"] == BinaryCounts(int(hits), int(misses), int(false_alarms), int(rejections))


def test_labels_can_be_left_out_of_an_average():
    gold, said = list("OOOABBA"), list("OOAABAO")
    counts = Confusion.from_labels(gold, said).per_label()
    expected = peer.f1_score(gold, said, labels=["A", "B"], average="micro")
    assert counts.only("AB").f("micro") == pytest.approx(expected)


def test_precision_and_recall_over_sounded_phonemes():
    rng = np.random.default_rng(6)
    gold, said = (rng.choice(["", "a", "k", "s"], 300, p=[0.6, 0.2, 0.1, 0.1]).tolist() for _ in range(2))
    pairs = list(zip(gold, said, strict=True))
    right = sum(g == s != "" for g, s in pairs)
    wrong = sum("" not in (g, s) and g != s for g, s in pairs)
    spurious, missed = sum(g == "" != s for g, s in pairs), sum(s == "" != g for g, s in pairs)
    table = Confusion.from_labels(gold, said)
    assert table.accuracy() == pytest.approx(1 - (wrong + spurious + missed) / 300)
    sounded = table.per_label().only("aks")
    assert sounded.precision("micro") == pytest.approx(right / (right + wrong + spurious))
    assert sounded.recall("micro") == pytest.approx(right / (right + wrong + missed))


@pytest.mark.parametrize(
    ("table", "mse", "mae", "bias", "pearson", "exact", "near", "quadratic", "plain", "columns"),
    [
        (FIRST, 0.75, 0.55, -0.01, 0.80583, 0.53, 0.94, 0.80519, 0.4125, [20, 17, 23, 24, 16]),
        (SECOND, 0.79, 0.61, 0.09, 0.85029, 0.47, 0.93, 0.83644, 0.3375, [29, 14, 12, 9, 36]),
    ],
)
def test_human_judges_of_reviews(table, mse, mae, bias, pearson, exact, near, quadratic, plain, columns):
    confusion = Confusion(STARS, np.array(table))
    assert confusion.table.sum(axis=0).tolist() == columns
    assert confusion.accuracy() == pytest.approx(exact)
    assert confusion.accuracy(within=1) == pytest.approx(near)
    assert confusion.kappa("quadratic") == pytest.approx(quadratic, abs=5e-6)
    assert confusion.kappa() == pytest.approx(plain, abs=5e-6)
    gold, said = np.meshgrid(STARS, STARS, indexing="ij")
    errors = RegressionCounts.from_values(gold.ravel(), said.ravel(), confusion.table.ravel())
    assert (errors.mse, errors.mae, errors.bias) == pytest.approx((mse, mae, bias))
    assert errors.pearson == pytest.approx(pearson, abs=5e-6)


def test_tokens_labeled_with_their_language():
    assert AccuracyCounts(49943 - 1420, 49943).accuracy == pytest.approx(0.9716, abs=5e-5)
    assert AccuracyCounts(49340 - 817, 49340).accuracy == pytest.approx(0.9834, abs=5e-5)
    parts = [AccuracyCounts(3, 4), AccuracyCounts(0, 1)]
    assert sum(parts, AccuracyCounts()) == AccuracyCounts(3, 5)
    assert sum(parts, AccuracyCounts()).error_rate == pytest.approx(0.4)


@settings(derandomize=True, deadline=None, max_examples=50)
@given(pairs=answers)
def test_one_label_against_the_rest_is_a_row_of_the_table(pairs):
    gold, said = zip(*pairs, strict=True)
    table = Confusion.from_labels(gold, said, labels="abcd").per_label()
    for label in "abcd":
        counts = BinaryCounts.from_labels(gold, said, positive=label)
        assert counts == table[label]
        assert counts == BinaryCounts.from_labels(np.array(gold), np.array(said), positive=label)
        assert counts.accuracy() == pytest.approx(float(RatioUtility.accuracy().value(counts.vector)))
    assert sum((table[x] for x in "abcd"), BinaryCounts()).hits == sum(g == s for g, s in pairs)


def test_binary_figures():
    counts = BinaryCounts(hits=8, misses=2, false_alarms=10, rejections=90)
    assert counts.precision() == pytest.approx(8 / 18)
    assert counts.recall() == 0.8
    assert counts.accuracy() == pytest.approx(98 / 110)
    gold, said = np.repeat([1, 1, 0, 0], [8, 2, 10, 90]), np.repeat([1, 0, 1, 0], [8, 2, 10, 90])
    assert counts.mcc() == pytest.approx(peer.matthews_corrcoef(gold, said))
    nothing = BinaryCounts(rejections=5)
    assert (nothing.precision(), nothing.recall(), nothing.f()) == (0.0, 0.0, 1.0)
    assert (nothing.precision(1.0), nothing.recall(1.0), nothing.f(1.0, 0.0)) == (1.0, 1.0, 0.0)


def test_labels_of_several_types_and_numpy_arrays_are_counted():
    mixed = [1, "a", None, ("x", 2)]
    table = Confusion.from_labels(mixed, [1, "a", "a", ("x", 2)])
    assert table.accuracy() == 0.75
    assert Confusion.from_labels(np.array([3, 1]), np.array([3, 3])) == Confusion.from_labels([3, 1], [3, 3])


def test_declared_order_is_kept_and_wins_over_a_part_of_it():
    declared = Confusion.from_labels(["hi"], ["lo"], labels=["lo", "mid", "hi"])
    assert (Confusion.from_labels(["mid"], ["mid"]) + declared).labels == ("lo", "mid", "hi")
    assert (declared + Confusion.from_labels(["hi"], ["hi"])).table.tolist() == [[0, 0, 0], [0, 0, 0], [1, 0, 1]]
    assert (Confusion.from_labels("b", "b") + Confusion.from_labels("a", "b")).labels == ("a", "b")
    assert (Confusion.from_labels("b", "b") + Confusion.from_labels("a", "a")).labels == ("a", "b")


def test_one_label_everywhere_has_no_agreement_beyond_chance():
    table = Confusion.from_labels("aaa", "aaa")
    assert table.kappa() == 0.0
    assert table.kappa(zero_division=1.0) == 1.0
    assert table.mcc() == 0.0
    counts = Confusion.from_labels("a", "a", labels="ab").per_label().only("b")
    assert math.isnan(counts.f("macro", zero_division=math.nan))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Confusion.from_labels("ab", "a"), "gold has 2 items but predicted has 1"),
        (lambda: Confusion.from_labels("", ""), "gold is empty"),
        (lambda: Confusion.from_labels("ab", "ax", labels="ab"), "predicted item 1 is 'x', which labels does not name"),
        (lambda: Confusion.from_labels("ab", "ab", labels="aab"), "names a label twice"),
        (lambda: Confusion(("a",), np.zeros((2, 2), int)), "does not fit 1 labels"),
        (lambda: Confusion(("a",), np.array([[-1]])), "at least 0"),
        (lambda: Confusion(("a",), np.array([[0.5]])), "pass counts, not shares"),
        (lambda: Confusion().accuracy(), "table is empty"),
        (lambda: Confusion.from_labels("ab", "ab").kappa("cubic"), "weights='cubic' is not known"),
        (lambda: Confusion.from_labels("ab", "ab").per_label().f("mean"), "choose one of 'micro', 'macro', 'weighted'"),
        (lambda: Confusion.from_labels("ab", "ab").per_label()["c"], "label 'c' was never counted"),
        (lambda: LabelCounts().f("macro"), "no label to average over"),
        (lambda: LabelCounts.from_sets(["cs"], [{"cs"}]), "not a set of labels"),
        (lambda: LabelCounts.from_sets([], []), "gold is empty"),
        (lambda: LabelCounts(("a",), np.array([2]), np.array([1]), np.array([2]), 3), "do not fit together"),
        (lambda: LabelCounts(("a",), np.array([1, 1]), np.array([1]), np.array([2]), 3), "do not fit together"),
        (lambda: LabelCounts.from_sets([set()], [set()]).f("micro"), "no label to average over"),
        (lambda: BinaryCounts(hits=-1), "hits is -1"),
        (lambda: BinaryCounts(misses=math.nan), "misses is nan"),
        (lambda: BinaryCounts.from_labels([True], [True, False]), "gold has 1 items but predicted has 2"),
        (lambda: AccuracyCounts(3, 2), "3 correct of 2 items"),
        (lambda: AccuracyCounts().accuracy, "accuracy of no items"),
    ],
)
def test_bad_input_says_what_to_do(call, message):
    with pytest.raises(DataError, match=message):
        call()
