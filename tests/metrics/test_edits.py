"""Edit counts against plain recursion, jiwer, and the worked numbers of name transcription."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.edit_operations import fewest_edits, longest_common

from textmill.errors import DataError
from textmill.metrics import EditCounts, align, edit_table, edits, lcs_f

words = st.text("abc", max_size=7)
pairs = st.lists(st.tuples(words, words), min_size=1, max_size=12)


@settings(derandomize=True, deadline=None, max_examples=50)
@given(pairs=pairs)
def test_counts_equal_plain_recursion(pairs):
    references, hypotheses = zip(*pairs, strict=True)
    expected = [[*fewest_edits(x, y), len(x)] for x, y in pairs]
    assert edit_table(references, hypotheses).tolist() == expected


@settings(derandomize=True, deadline=None, max_examples=50)
@given(x=words, y=words)
def test_alignment_is_monotone_complete_and_has_the_counted_edits(x, y):
    path = align(x, y)
    assert [i for i, _ in path if i is not None] == list(range(len(x)))
    assert [j for _, j in path if j is not None] == list(range(len(y)))
    insertions = sum(i is None for i, _ in path)
    deletions = sum(j is None for _, j in path)
    substitutions = sum(i is not None and j is not None and x[i] != y[j] for i, j in path)
    assert (substitutions, insertions, deletions) == fewest_edits(x, y)


def test_ties_of_an_alignment_are_settled_from_the_end():
    assert align("aa", "a") == [(0, None), (1, 0)]
    assert align("a", "aa") == [(None, 0), (0, 1)]
    assert align("ab", "ba") == [(0, 0), (1, 1)]
    assert align("", "") == []
    assert align(["the", "cat"], []) == [(0, None), (1, None)]


def test_batches_of_any_size_give_the_same_counts(monkeypatch):
    rng = np.random.default_rng(11)
    draw = [["".join(rng.choice(list("abcd"), rng.integers(0, 30))) for _ in range(200)] for _ in range(2)]
    whole = edit_table(*draw)
    monkeypatch.setattr(edits, "_CELLS", 40)
    assert edit_table(*draw).tolist() == whole.tolist()
    assert [edit_table([x], [y])[0].tolist() for x, y in zip(*draw, strict=True)] == whole.tolist()


def test_long_sequences_are_exact():
    rng = np.random.default_rng(12)
    x = rng.integers(0, 50, 1500).tolist()
    y = x[:400] + x[410:900] + [99] + x[900:]
    assert edit_table([x], [y]).tolist() == [[0, 1, 10, 1500]]


@pytest.mark.parametrize(
    ("reference", "hypothesis", "counts"),
    [  # computed by jiwer 4.0; where several counts have the same sum, ours has the most substitutions
        ("the cat sat on the mat", "the cat sit on mat", (1, 0, 1)),
        ("a b c d e", "x b d e f", (1, 1, 1)),
        ("one two three", "three one two", (0, 1, 1)),
        ("a", "a b c d", (0, 3, 0)),
    ],
)
def test_values_computed_by_jiwer(reference, hypothesis, counts):
    found = EditCounts.from_sequences([reference.split()], [hypothesis.split()])
    assert (found.substitutions, found.insertions, found.deletions) == counts
    assert found.error_rate == sum(counts) / len(reference.split())


def test_counts_add_and_carry_their_unit():
    parts = [
        EditCounts.from_sequences(["kitten"], ["sitting"], unit="symbol"),
        EditCounts.from_sequences(["abc", ""], ["abc", ""], unit="symbol"),
    ]
    total = sum(parts, EditCounts())
    assert total.errors == 3
    assert total.error_rate == 3 / 9
    assert total.sequence_accuracy == 2 / 3
    assert total.signature.startswith("error-rate|unit:symbol|references:1|textmill:")
    with pytest.raises(DataError, match="do not add"):
        _ = total + EditCounts.from_sequences([["a"]], [["a"]], unit="word")


@settings(derandomize=True, deadline=None, max_examples=30)
@given(
    items=st.lists(st.tuples(st.lists(words, min_size=1, max_size=4), words), min_size=1, max_size=6),
)
def test_the_nearest_reference_counts(items):
    references, hypotheses = zip(*items, strict=True)
    expected = EditCounts()
    for alternatives, hypothesis in items:
        options = [EditCounts.from_sequences([x], [hypothesis], unit="symbol") for x in alternatives]
        best = min(options, key=lambda option: (option.errors, -option.reference))
        expected += EditCounts(
            best.substitutions, best.insertions, best.deletions, best.reference, best.exact, best.sequences
        )
    found = EditCounts.from_alternatives(references, hypotheses, unit="symbol")
    assert found.signature.startswith("error-rate|unit:symbol|references:nearest|")
    fields = ("substitutions", "insertions", "deletions", "reference", "exact", "sequences")
    assert [getattr(found, name) for name in fields] == [getattr(expected, name) for name in fields]


@settings(derandomize=True, deadline=None, max_examples=30)
@given(items=st.lists(st.tuples(st.lists(words, min_size=1, max_size=4), words), min_size=1, max_size=6))
def test_subsequence_f_equals_plain_recursion(items):
    references, hypotheses = zip(*items, strict=True)
    expected = []
    for alternatives, y in items:
        x = min(alternatives, key=lambda option: len(option) - 2 * longest_common(option, y))
        common = longest_common(x, y)
        precision, recall = (common / len(y), common / len(x)) if common else (0.0, 0.0)
        expected.append(2 * precision * recall / (precision + recall) if common else 0.0)
    assert lcs_f(references, hypotheses).tolist() == pytest.approx(expected)


def test_worked_subsequence_f():
    assert lcs_f([["afcde"], ["smyth"]], ["abcd", "smith"]).tolist() == pytest.approx([2 / 3, 0.8])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: edit_table(["a"], ["a", "b"]), "references has 1 items but hypotheses has 2"),
        (lambda: edit_table([], []), "references is empty"),
        (lambda: edit_table("abc", "abd"), "lists of sequences, not a string"),
        (lambda: EditCounts.from_sequences(["a b"], ["a c"]), "'a b' is a string, not a list of words; split it"),
        (lambda: EditCounts.from_alternatives([[["a"]]], ["a c"]), "'a c' is a string, not a list of words; split it"),
        (lambda: EditCounts.from_alternatives([["a"], []], ["a", "b"]), "hypothesis 1 has no reference"),
        (lambda: lcs_f(["ab"], ["ab"]), "references of hypothesis 0 are the string 'ab'; pass a list"),
        (lambda: lcs_f([[]], ["a"]), "hypothesis 0 has no reference"),
        (lambda: EditCounts.from_sequences([[]], [["a"]]).error_rate, "references are empty"),
        (lambda: EditCounts().sequence_accuracy, "there is no sequence"),
    ],
)
def test_bad_input_says_what_to_do(call, message):
    with pytest.raises(DataError, match=message):
        call()
