"""Counts of spans against a scorer by the definition, and the counts behind the published tables."""

import random

import pytest

from textmill.errors import DataError
from textmill.metrics import SPAN_CRITERIA, SpanCounts, span_counts

# correct, proposed, gold and the printed precision, recall and F of Jansche (2002), tables 1 to 3
PUBLISHED = [
    (3780, 4315, 4352, "87.60/86.86/87.23"),
    (2206, 2570, 2609, "85.84/84.55/85.19"),
    (865, 1212, 985, "71.37/87.82/78.74"),
    (354, 500, 445, "70.80/79.55/74.92"),
    (1329, 1511, 1700, "87.95/78.18/82.78"),
    (1028, 1129, 1222, "91.05/84.12/87.45"),
    (3576, 4352, 4352, "82.17/82.17/82.17"),
    (334, 442, 476, "75.57/70.17/72.77"),
    (600, 753, 746, "79.68/80.43/80.05"),
    (451, 548, 679, "82.30/66.42/73.51"),
    (608, 866, 708, "70.21/85.88/77.26"),
    (1993, 2609, 2609, "76.39/76.39/76.39"),
    (753, 1145, 985, "65.76/76.45/70.70"),
    (241, 529, 445, "45.56/54.16/49.49"),
    (1192, 1540, 1700, "77.40/70.12/73.58"),
    (936, 1101, 1222, "85.01/76.60/80.59"),
    (3122, 4315, 4352, "72.35/71.74/72.04"),
    (795, 1030, 1084, "77.18/73.34/75.21"),
    (173, 389, 340, "44.47/50.88/47.46"),
    (1086, 1415, 1400, "76.75/77.57/77.16"),
    (571, 712, 735, "80.20/77.69/78.92"),
    (2625, 3546, 3559, "74.03/73.76/73.89"),
    (320, 458, 476, "69.87/67.23/68.52"),
    (469, 725, 746, "64.69/62.87/63.77"),
    (381, 547, 679, "69.65/56.11/62.15"),
    (537, 840, 708, "63.93/75.85/69.38"),
    (1707, 2570, 2609, "66.42/65.43/65.92"),
]


@pytest.mark.parametrize(("right", "proposed", "gold", "printed"), PUBLISHED)
def test_counts_give_the_published_percentages(right, proposed, gold, printed):
    counts = SpanCounts(right, proposed, right, gold)
    assert "/".join(f"{100 * x:.2f}" for x in (counts.precision, counts.recall, counts.f1)) == printed


def contains(outer, inner):
    return outer[2] == inner[2] and set(range(inner[0], inner[1])) <= set(range(outer[0], outer[1]))


def by_definition(gold, predicted, criterion):
    """Right proposals and matched gold spans of one text."""
    if criterion == "strict":
        return sum(p in gold for p in predicted), sum(g in predicted for g in gold)
    most = 1 if criterion == "containment" else len(gold)
    right = [p for p in predicted if 1 <= sum(contains(p, g) for g in gold) <= most]
    return len(right), sum(any(contains(p, g) for p in right) for g in gold)


@pytest.mark.parametrize("criterion", SPAN_CRITERIA)
def test_random_spans_are_counted_as_defined(criterion):
    draw = random.Random(7)

    def spans():
        edges = [sorted(draw.sample(range(9), 2)) for _ in range(draw.randrange(5))]
        return sorted({(*edge, draw.choice("ab")) for edge in edges})

    gold, predicted = [spans() for _ in range(300)], [spans() for _ in range(300)]
    counts = span_counts(gold, predicted, criterion)
    pairs = [by_definition(g, p, criterion) for g, p in zip(gold, predicted, strict=True)]
    assert counts.right == sum(right for right, _ in pairs) > 0
    assert counts.matched == sum(matched for _, matched in pairs) > 0
    assert (counts.proposed, counts.gold) == (sum(map(len, predicted)), sum(map(len, gold)))
    halves = span_counts(gold[:100], predicted[:100], criterion) + span_counts(gold[100:], predicted[100:], criterion)
    assert halves == counts


def test_a_span_around_two_gold_spans_counts_only_for_names():
    gold, predicted = [[(1, 2, "x"), (3, 4, "x")]], [[(0, 5, "x")]]
    assert [span_counts(gold, predicted, criterion).right for criterion in SPAN_CRITERIA] == [0, 0, 1]


def test_no_spans_give_zeros():
    counts = span_counts([[]], [[]])
    assert (counts.precision, counts.recall, counts.f1) == (0.0, 0.0, 0.0)
    assert counts.signature.startswith("spans|match:strict|textmill:")


def test_faults_are_named():
    with pytest.raises(DataError, match="text 2: span"):
        span_counts([[], [(3, 3, "x")]], [[], []])
    with pytest.raises(DataError, match="1 texts but proposed ones of 2"):
        span_counts([[]], [[], []])
    with pytest.raises(ValueError, match="criterion"):
        span_counts([[]], [[]], "fuzzy")
    with pytest.raises(DataError, match="right is 2 of 1"):
        SpanCounts(2, 1, 1, 1)
    with pytest.raises(DataError, match="do not add"):
        span_counts([[]], [[]]) + span_counts([[]], [[]], "containment")
