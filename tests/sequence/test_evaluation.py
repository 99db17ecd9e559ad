"""Figures of taggers, against a restatement of conlleval and against scikit-learn."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.conlleval import score

from textmill.corpus import read_columns
from textmill.errors import DataError
from textmill.sequence import evaluate_columns, evaluate_tags

tags = st.sampled_from(["O", "B-NP", "I-NP", "B-VP", "I-VP", "E-NP", "S-VP"])
answers = st.lists(st.lists(st.tuples(tags, tags), max_size=8), min_size=1, max_size=6)


@given(pairs=answers)
def test_chunks_are_counted_as_conlleval_counts_them(pairs: list[list[tuple[str, str]]]) -> None:
    gold, predicted = ([[pair[side] for pair in sequence] for sequence in pairs] for side in (0, 1))
    right, there, found = score(gold, predicted)
    scores = evaluate_tags(gold, predicted, chunks=True)
    assert scores.chunks is not None
    for label in there.keys() | found.keys():
        counts = scores.chunks[label]
        assert (counts.hits, counts.misses) == (right[label], there[label] - right[label])
        assert counts.false_alarms == found[label] - right[label]
    total = sum(there.values()) + sum(found.values())
    assert scores.f1 == pytest.approx(2 * sum(right.values()) / total if total else 0.0)


def test_the_report_is_that_of_conlleval() -> None:
    gold = [["B-NP", "I-NP", "B-VP", "O"], ["B-NP", "B-PP"]]
    predicted = [["B-NP", "I-NP", "I-VP", "O"], ["I-NP", "I-NP"]]
    assert evaluate_tags(gold, predicted).report().splitlines() == [
        "processed 6 tokens with 4 phrases; found: 3 phrases; correct: 2.",
        "accuracy:  50.00%; precision:  66.67%; recall:  50.00%; FB1:  57.14",
        "               NP: precision:  50.00%; recall:  50.00%; FB1:  50.00  2",
        "               PP: precision:   0.00%; recall:   0.00%; FB1:   0.00  0",
        "               VP: precision: 100.00%; recall: 100.00%; FB1: 100.00  1",
    ]


def test_figures_per_label_are_those_of_scikit_learn() -> None:
    from sklearn.metrics import precision_recall_fscore_support

    gold, predicted = [["A", "B", "A", "C"], ["B", "B"]], [["A", "A", "A", "B"], ["B", "C"]]
    scores = evaluate_tags(gold, predicted)
    assert scores.chunks is None
    flat_gold, flat_predicted = [*gold[0], *gold[1]], [*predicted[0], *predicted[1]]
    expected = precision_recall_fscore_support(flat_gold, flat_predicted, labels=["A", "B", "C"], zero_division=0)
    for i, label in enumerate("ABC"):
        row = scores.to_json()["labels"][label]
        assert [row["precision"], row["recall"], row["f1"]] == pytest.approx([expected[k][i] for k in range(3)])
    assert (scores.token_error, scores.sequence_error) == (0.5, 1.0)
    assert scores.confusion.table.tolist() == [[2, 0, 0], [1, 1, 1], [0, 1, 0]]
    assert "C: precision" in scores.report()
    with pytest.raises(DataError, match="f1 is a figure of chunks"):
        scores.interval("f1")


def test_joint_labels_are_projected_before_they_are_compared() -> None:
    gold, predicted = [["a1", "b0"], ["c>"]], [["a0", "b0"], ["d>"]]
    assert evaluate_tags(gold, predicted).token_error == pytest.approx(2 / 3)
    assert evaluate_tags(gold, predicted, project=lambda label: label[0]).token_error == pytest.approx(1 / 3)


def test_counts_of_parts_add_to_those_of_the_whole() -> None:
    gold = [["B-A", "I-A"], ["O", "B-B"], ["B-A"]]
    predicted = [["B-A", "O"], ["O", "B-B"], ["B-C"]]
    whole = evaluate_tags(gold, predicted)
    parts = evaluate_tags(gold[:1], predicted[:1]) + evaluate_tags(gold[1:], predicted[1:])
    assert parts.to_json() == whole.to_json()
    assert parts.interval("f1") == whole.interval("f1")


def test_intervals_and_comparisons_rest_on_whole_sequences() -> None:
    gold = [["B-A", "O"]] * 30
    good, bad = [["B-A", "O"]] * 30, [["B-A", "O"]] * 10 + [["O", "O"]] * 20
    scores, worse = evaluate_tags(gold, good), evaluate_tags(gold, bad)
    interval = worse.interval("recall")
    assert interval.low < 1 / 3 < interval.high
    assert scores.compare(worse, "f1").p_value < 0.01
    with pytest.raises(DataError, match="same sequences"):
        scores.compare(evaluate_tags([["O"]], [["O"]], chunks=True), "f1")


def test_labels_that_training_never_saw_are_labels_like_any_other() -> None:
    scores = evaluate_tags([["NEW", "A"]], [["A", "A"]])
    assert scores.to_json()["labels"]["NEW"]["recall"] == 0


def test_a_column_file_is_evaluated_by_its_last_two_columns() -> None:
    file = io.BytesIO(b"the DT B-NP B-NP\ndog NN I-NP O\n\n")
    assert evaluate_columns(read_columns(file)).token_error == 0.5
    with pytest.raises(DataError, match=r"x.txt.*1: found one column|found one column"):
        evaluate_columns(read_columns(io.BytesIO(b"the\n")))
    with pytest.raises(DataError, match="no sequences"):
        evaluate_columns([])


def test_unequal_lengths_are_refused() -> None:
    with pytest.raises(DataError, match="2 gold sequences but 1"):
        evaluate_tags([["A"], ["A"]], [["A"]])
    with pytest.raises(DataError, match="sequence 2 has 1 gold labels but 2"):
        evaluate_tags([["A"], ["A"]], [["A"], ["A", "A"]])
    with pytest.raises(DataError, match="is not a tag"):
        evaluate_tags([["B-A", "weird"]], [["B-A", "O"]], chunks=True)
