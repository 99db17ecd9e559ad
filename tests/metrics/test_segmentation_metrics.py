"""P_k and WindowDiff against the naive definition, NLTK, segeval, and the worked numbers of topic segmentation."""

import itertools
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.window_measures import largest_matching, naive_pk, naive_window_diff

from textmill.errors import DataError
from textmill.metrics import BinaryCounts, Segmentation, WindowCounts, boundary_counts, pk, window_diff

cut = Segmentation.from_boundaries
masses = Segmentation.from_masses


def marks(string, unit="gap"):
    """A string of 0 and 1 over gaps, or over units with the last one 0."""
    units = len(string) + 1 if unit == "gap" else len(string)
    return cut([place + 1 for place, mark in enumerate(string) if mark == "1"], units)


def test_windows_equal_the_naive_definition():
    rng = np.random.default_rng(51)
    for _ in range(1000):
        units = int(rng.integers(2, 25))
        k, unit = int(rng.integers(1, units)), str(rng.choice(["gap", "unit"]))
        reference, hypothesis = (np.flatnonzero(rng.random(units - 1) < rng.random()) + 1 for _ in range(2))
        for ours, naive in ((pk, naive_pk), (window_diff, naive_window_diff)):
            counts = ours(cut(reference, units), cut(hypothesis, units), k=k, unit=unit)
            assert counts.disagreements == naive(reference.tolist(), hypothesis.tolist(), units, k, unit)
            assert counts.windows == (units - k if unit == "gap" else units - k + 1)
            assert 0.0 <= counts.rate <= 1.0
            assert counts.rate_per_unit == counts.disagreements / units
            assert ours(cut(reference, units), cut(reference, units), k=k, unit=unit).rate == 0.0


@pytest.mark.parametrize(
    ("hypothesis", "by_window_diff", "by_pk"),
    [
        ([4, 8], 0.0, 0.0),
        ([5, 8], 0.2, 0.2),
        ([4], 0.2, 0.2),
        ([], 0.4, 0.4),
        ([4, 5, 8], 0.2, 0.1),
        ([2, 6, 10], 1.0, 1.0),
        (range(1, 12), 1.0, 0.6),
    ],
)
def test_worked_table_of_twelve_units(hypothesis, by_window_diff, by_pk):
    reference, found = cut([4, 8], 12), cut(list(hypothesis), 12)
    assert window_diff(reference, found).rate == pytest.approx(by_window_diff)  # k is 2, half of 4
    assert pk(reference, found).rate == pytest.approx(by_pk)
    assert window_diff(reference, found, k=2).rate == pytest.approx(by_window_diff)


@pytest.mark.parametrize(
    ("reference", "hypothesis", "k", "by_window_diff", "by_pk"),
    [  # computed by nltk.metrics.segmentation 3.10 on strings over gaps
        ("00000010000", "10000100001", 2, 0.4, 0.4),
        ("01011011001", "00010000101", 3, 0.888888888889, 0.333333333333),
        ("11001000000001010010", "00111010000000100010", 4, 0.588235294118, 0.176470588235),
        ("10000000001000010000", "00001010000000000000", 5, 0.875, 0.875),
        ("000000000100000010000000000000", "000000100000000000000000000000", 3, 0.321428571429, 0.321428571429),
        ("000100010000111010011111111111", "001011111011010100010011000001", 6, 0.96, 0.0),
    ],
)
def test_values_computed_by_nltk(reference, hypothesis, k, by_window_diff, by_pk):
    assert window_diff(marks(reference), marks(hypothesis), k=k).rate == pytest.approx(by_window_diff)
    assert pk(marks(reference), marks(hypothesis), k=k).rate == pytest.approx(by_pk)


def test_a_million_units_take_no_more_calls_than_a_thousand():
    def calls(units):
        rng, made = np.random.default_rng(4), []
        one, other = (cut(np.sort(rng.choice(units - 1, units // 200, replace=False)) + 1, units) for _ in range(2))
        sys.setprofile(lambda frame, event, argument: made.append(event))
        try:
            first, second = pk(one, other).rate, window_diff(one, other).rate
        finally:
            sys.setprofile(None)
        assert 0 < first <= second < 1
        return len(made)

    assert calls(1_000_000) == calls(1_000)


def test_strings_over_units_have_one_window_more():
    first, second, third = (marks(string, "unit") for string in ("000100000010", "000010000100", "100000010000"))
    assert window_diff(first, second, k=3, unit="unit").rate == pytest.approx(0.3)
    assert window_diff(second, third, k=3, unit="unit").rate == pytest.approx(0.8)
    ones = cut(range(1, 400), 400)
    quarters, nothing = marks("0100" * 100, "unit"), cut([], 400)
    assert pk(quarters, nothing, k=2, unit="unit").rate == pytest.approx(0.5012531328320802)
    assert pk(quarters, ones, k=2, unit="unit").rate == pytest.approx(0.49874686716791977, abs=1e-12)


@pytest.mark.parametrize(
    ("reference", "hypothesis", "by_window_diff", "by_pk"),
    [  # computed by segeval 2.0 with windows of 2 and 3 units
        ((4, 4, 4), (5, 3, 4), (0.2, 2 / 9), (0.2, 2 / 9)),
        ((4, 4, 4), (12,), (0.4, 2 / 3), (0.4, 2 / 3)),
        ((5, 5, 2, 8), (4, 6, 10), (2 / 9, 5 / 17), (2 / 9, 4 / 17)),
        ((3, 1, 1, 7), (2, 2, 4, 4), (0.6, 2 / 3), (0.4, 4 / 9)),
        ((2, 3, 6), (5, 6), (2 / 9, 0.25), (2 / 9, 0.25)),
    ],
)
def test_values_computed_by_segeval(reference, hypothesis, by_window_diff, by_pk):
    pair = masses(reference), masses(hypothesis)
    assert [window_diff(*pair, k=k).rate for k in (2, 3)] == pytest.approx(list(by_window_diff))
    assert [pk(*pair, k=k).rate for k in (2, 3)] == pytest.approx(list(by_pk))


def test_swapped_arguments_change_the_window():
    assert window_diff(masses([4, 4, 4]), masses([12])).rate == pytest.approx(0.4)
    assert window_diff(masses([12]), masses([4, 4, 4])).rate == 1.0


def test_expected_disagreements_of_uncertain_boundaries():
    p, z = (0.5, 0.1, 0.7, 0.2, 0.9), "10100"
    total = 0.0
    for y in itertools.product("01", repeat=5):
        probability = np.prod([q if mark == "1" else 1 - q for q, mark in zip(p, y, strict=True)])
        total += probability * pk(marks("".join(y)), marks(z), k=2).disagreements
    assert total == pytest.approx(1.88)


@pytest.mark.parametrize(
    ("lengths", "k"),
    [([4, 4, 4], 2), ([1], 1), ([2], 1), ([3], 2), ([5], 3), ([1, 1, 1], 1), ([7, 8], 4), ([100, 1], 25)],
)
def test_default_window_is_half_the_mean_segment_with_halves_rounded_up(lengths, k):
    text = masses(lengths)
    assert pk(text, text).windows == text.units - k


def test_a_text_of_one_unit_has_nothing_to_get_wrong():
    counts = pk(masses([1]), masses([1]))
    assert (counts.disagreements, counts.windows) == (0, 0)
    assert (counts + pk(masses([2]), masses([1, 1]))).rate == 1.0


def test_counts_add_over_documents_and_conventions_do_not_mix():
    documents = [(masses([4, 4, 4]), masses([5, 3, 4])), (masses([6, 6]), masses([12]))]
    parts = [pk(*pair) for pair in documents]
    total = sum(parts, WindowCounts())
    assert total.rate == (parts[0].disagreements + parts[1].disagreements) / (parts[0].windows + parts[1].windows)
    assert total.units == 24
    assert total.signature.startswith("pk|k:half-mean|unit:gap|textmill:")
    for other in (window_diff(*documents[0]), pk(*documents[0], k=2), pk(*documents[0], unit="unit")):
        with pytest.raises(DataError, match="do not add; compute both with the same choices"):
            _ = total + other


@settings(derandomize=True, deadline=None, max_examples=50)
@given(
    units=st.just(14),
    gold=st.sets(st.integers(1, 13), max_size=5),
    found=st.sets(st.integers(1, 13), max_size=5),
    tolerance=st.integers(0, 4),
)
def test_boundary_matching_is_the_largest_one(units, gold, found, tolerance):
    counts = boundary_counts(cut(sorted(gold), units), cut(sorted(found), units), tolerance=tolerance)
    hits = largest_matching(sorted(gold), sorted(found), tolerance)
    assert counts == BinaryCounts(hits, len(gold) - hits, len(found) - hits, 13 - len(gold) - len(found) + hits)


@settings(derandomize=True, deadline=None, max_examples=50)
@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=9))
def test_masses_and_boundaries_are_two_views_of_one_segmentation(lengths):
    text = masses(lengths)
    assert text.units == sum(lengths)
    assert text.masses.tolist() == lengths
    assert cut(text.boundaries, text.units) == text
    assert Segmentation(text.gaps.astype(int).tolist()) == text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cut([12], 12), r"boundary 12 is outside 1\.\.11 of a text of 12 units"),
        (lambda: cut([0], 12), "boundary 0 is outside"),
        (lambda: cut([1.5], 12), "boundaries holds fractions"),
        (lambda: cut([], 0), "a text of 0 units"),
        (lambda: Segmentation([0, 2, 0]), "gaps must hold true and false"),
        (lambda: masses([]), "each at least 1"),
        (lambda: masses([3, 0, 2]), "remove empty segments"),
        (lambda: masses([3, float("nan")]), "masses holds nan at item 1"),
        (lambda: pk(masses([3]), masses([4])), "the reference cuts 3 units but the hypothesis 4"),
        (lambda: pk(masses([3]), masses([3]), k=0), "k 0 does not fit"),
        (lambda: pk(masses([3]), masses([3]), k=3), "choose it between 1 and 2"),
        (lambda: pk(masses([3]), masses([3]), k=4, unit="unit"), "choose it between 1 and 3"),
        (lambda: pk(masses([3]), masses([3]), unit="word"), "choose one of 'gap', 'unit'"),
        (lambda: boundary_counts(masses([3]), masses([3]), tolerance=-1), "tolerance -1 is negative"),
        (lambda: WindowCounts().rate, "there is no window"),
        (lambda: WindowCounts().rate_per_unit, "there is no text"),
    ],
)
def test_bad_input_says_what_to_do(call, message):
    with pytest.raises(DataError, match=message):
        call()
