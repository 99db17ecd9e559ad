"""The scorer gives the published percentages from counts that can be made from them (Jansche 2002, tables 1 to 3)."""

import pytest

from textmill.metrics import span_counts
from textmill.sequence import evaluate_tags

# correct, proposed, gold -> precision, recall, F
EXTRACTION = {
    "Spanish dev": ((3780, 4315, 4352), (87.60, 86.86, 87.23)),
    "Dutch dev": ((2206, 2570, 2609), (85.84, 84.55, 85.19)),
}
TYPES = {
    "gold phrases, Spanish dev": {
        "LOC": ((865, 1212, 985), (71.37, 87.82, 78.74)),
        "MISC": ((354, 500, 445), (70.80, 79.55, 74.92)),
        "ORG": ((1329, 1511, 1700), (87.95, 78.18, 82.78)),
        "PER": ((1028, 1129, 1222), (91.05, 84.12, 87.45)),
        "all": ((3576, 4352, 4352), (82.17, 82.17, 82.17)),
    },
    "gold phrases, Dutch dev": {
        "LOC": ((334, 442, 476), (75.57, 70.17, 72.77)),
        "MISC": ((600, 753, 746), (79.68, 80.43, 80.05)),
        "ORG": ((451, 548, 679), (82.30, 66.42, 73.51)),
        "PER": ((608, 866, 708), (70.21, 85.88, 77.26)),
        "all": ((1993, 2609, 2609), (76.39, 76.39, 76.39)),
    },
    "full, Spanish dev": {
        "LOC": ((753, 1145, 985), (65.76, 76.45, 70.70)),
        "MISC": ((241, 529, 445), (45.56, 54.16, 49.49)),
        "ORG": ((1192, 1540, 1700), (77.40, 70.12, 73.58)),
        "PER": ((936, 1101, 1222), (85.01, 76.60, 80.59)),
        "all": ((3122, 4315, 4352), (72.35, 71.74, 72.04)),
    },
    "full, Spanish test": {
        "LOC": ((795, 1030, 1084), (77.18, 73.34, 75.21)),
        "MISC": ((173, 389, 340), (44.47, 50.88, 47.46)),
        "ORG": ((1086, 1415, 1400), (76.75, 77.57, 77.16)),
        "PER": ((571, 712, 735), (80.20, 77.69, 78.92)),
        "all": ((2625, 3546, 3559), (74.03, 73.76, 73.89)),
    },
    "full, Dutch dev": {
        "LOC": ((320, 458, 476), (69.87, 67.23, 68.52)),
        "MISC": ((469, 725, 746), (64.69, 62.87, 63.77)),
        "ORG": ((381, 547, 679), (69.65, 56.11, 62.15)),
        "PER": ((537, 840, 708), (63.93, 75.85, 69.38)),
        "all": ((1707, 2570, 2609), (66.42, 65.43, 65.92)),
    },
}


def percent(*figures):
    return tuple(round(100 * figure, 2) for figure in figures)


@pytest.mark.parametrize("table", TYPES)
def test_typed_tables_come_back_from_their_counts(table):
    gold, predicted = [], []
    for label, ((right, proposed, there), _) in TYPES[table].items():
        if label != "all":
            for many, truth, claim in (
                (right, f"B-{label}", f"B-{label}"),
                (proposed - right, "O", f"B-{label}"),
                (there - right, f"B-{label}", "O"),
            ):
                gold += [[truth]] * many
                predicted += [[claim]] * many
    scores = evaluate_tags(gold, predicted, chunks=True)
    for label, (_, published) in TYPES[table].items():
        if label == "all":
            assert percent(scores.precision, scores.recall, scores.f1) == pytest.approx(published, abs=0.0051)
        else:
            counts = scores.chunks[label]
            assert percent(counts.precision(), counts.recall(), counts.f()) == pytest.approx(published, abs=0.0051)


@pytest.mark.parametrize("part", EXTRACTION)
def test_extraction_comes_back_from_its_counts(part):
    (right, proposed, there), published = EXTRACTION[part]
    one = [(0, 1, "")]
    gold = [one] * right + [[]] * (proposed - right) + [one] * (there - right)
    predicted = [one] * right + [one] * (proposed - right) + [[]] * (there - right)
    counts = span_counts(gold, predicted)
    assert percent(counts.precision, counts.recall, counts.f1) == pytest.approx(published, abs=0.0051)
