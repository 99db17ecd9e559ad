"""Edges and lengths of segments, and the statistics of tagged data."""

from __future__ import annotations

import pytest

from textmill.corpus import TypedSegments
from textmill.errors import DataError
from textmill.sequence import evaluate_boundaries, evaluate_tags


def test_left_and_right_edges_are_counted_apart():
    gold = [["B-A", "I-A", "O", "B-B", "I-B", "I-B"]]
    answer = [["B-A", "O", "O", "O", "B-B", "I-B"]]
    scores = evaluate_boundaries(gold, answer)
    assert (scores.f1("exact"), scores.f1("left"), scores.f1("right")) == (0.0, 0.5, 0.5)
    assert scores.recall("left", "A") == scores.precision("left", "A") == 1.0
    assert scores.f1("right", "A") == 0.0
    assert scores.by_length() == {1: (0, 0, 0, 1), 2: (0, 0, 1, 1), 3: (0, 0, 1, 0)}
    assert scores.to_json()["left"]["f1"] == 0.5


def test_exact_scores_are_those_of_chunks_and_counts_add():
    _, y = TypedSegments(40, seed=1).labeled()
    answer = [["O", *tags[1:]] if tags[0] == "O" else tags for tags in y]
    answer[0] = ["O"] * len(y[0])
    scores, chunks = evaluate_boundaries(y, answer), evaluate_tags(y, answer)
    assert (scores.recall(), scores.precision(), scores.f1()) == (chunks.recall, chunks.precision, chunks.f1)
    halves = evaluate_boundaries(y[:20], answer[:20]) + evaluate_boundaries(y[20:], answer[20:])
    assert halves.to_json() == scores.to_json()


def test_micro_average_of_the_table():
    """Correct answers and all answers of the best system of the paper, from its recalls and precisions by class."""
    gold = {"protein": 5067, "cell_type": 1921, "DNA": 1056, "cell_line": 500, "RNA": 118}
    recall = {"protein": 77.74, "cell_type": 65.33, "DNA": 69.03, "cell_line": 57.60, "RNA": 69.49}
    precision = {"protein": 68.92, "cell_type": 82.19, "DNA": 70.16, "cell_line": 53.14, "RNA": 67.21}
    hits = {name: round(gold[name] * recall[name] / 100) for name in gold}
    answers = {name: round(hits[name] / precision[name] * 100) for name in gold}
    assert sum(hits.values()) == 6293
    assert sum(answers.values()) == pytest.approx(8945, abs=1)
    from collections import Counter

    from textmill.sequence import BoundaryScores

    scores = BoundaryScores(
        Counter({("exact", name): count for name, count in hits.items()}), Counter(gold), Counter(answers)
    )
    assert scores.recall() == pytest.approx(0.7265, abs=1e-4)
    assert scores.precision() == pytest.approx(0.7035, abs=1e-4)
    assert scores.f1() == pytest.approx(0.7148, abs=1e-4)


def test_bad_input():
    with pytest.raises(DataError, match="1 gold sequences but 0"):
        evaluate_boundaries([["O"]], [])
    with pytest.raises(DataError, match="sequence 1 has 1 gold labels but 2"):
        evaluate_boundaries([["O"]], [["O", "O"]])
    with pytest.raises(DataError, match="match must be one of"):
        evaluate_boundaries([["O"]], [["O"]]).f1("both")
