"""CategoricalTree against C4.5 written down slowly, and what its files and rows must stand."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import trees as reference

from textmill import load
from textmill._native import trees as native
from textmill.errors import DataError, ModelFileError
from textmill.trees import CategoricalTree, EncodedRows, tree_code, tree_rules


def random_rows(rng: np.random.Generator, rows: int, valued: int, numeric: int, classes: int) -> tuple[Any, list[str]]:
    """Rows whose label depends on the cells, with noise."""
    cells = [
        [*(chr(97 + v) for v in rng.integers(0, 5, valued)), *(float(v) for v in rng.integers(0, 8, numeric))]
        for _ in range(rows)
    ]
    labels = []
    for row in cells:
        text = sum(ord(v) if isinstance(v, str) else int(v) * 3 for v in row[:2])
        labels.append(str(int(rng.integers(classes)) if rng.random() < 0.2 else text // 2 % classes))
    return cells, labels


def slow_tree(cells: Any, labels: list[str], weights: Any = None, **rules: Any) -> reference.Tree:
    weights = [1.0] * len(labels) if weights is None else weights
    values = {c: len({row[c] for row in cells}) for c in range(len(cells[0])) if isinstance(cells[0][c], str)}
    cases = [(tuple(row), label, float(w)) for row, label, w in zip(cells, labels, weights, strict=True)]
    return reference.grow(cases, classes=len(set(labels)), values=values, all_weight=sum(weights), **rules)


def same_tree(tree: CategoricalTree, slow: reference.Tree, cells: Any, probes: Any) -> None:
    assert tree.n_nodes_ == slow.size()
    rows = [*cells, *probes]
    assert tree.predict(rows).tolist() == [slow.predict(tuple(row)) for row in rows]


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(1, 60),
    valued=st.integers(0, 3),
    numeric=st.integers(0, 2),
    classes=st.integers(1, 4),
    subsets=st.booleans(),
    confidence=st.sampled_from([None, 0.25, 0.1, 0.6]),
    raising=st.booleans(),
    min_cases=st.sampled_from([1, 2, 3]),
)
def test_the_tree_is_that_of_c45_written_down_slowly(
    seed: int,
    rows: int,
    valued: int,
    numeric: int,
    classes: int,
    subsets: bool,
    confidence: float | None,
    raising: bool,
    min_cases: int,
) -> None:
    if valued + numeric == 0:
        return
    rng = np.random.default_rng(seed)
    cells, labels = random_rows(rng, rows, valued, numeric, classes)
    probes, _ = random_rows(rng, 20, valued, numeric, classes)
    probes[0] = ["z" if isinstance(v, str) else -1.0 for v in probes[0]]
    rules: dict[str, Any] = {"subsets": subsets, "confidence": confidence, "raising": raising, "min_cases": min_cases}
    weights = rng.integers(1, 4, rows).astype(float).tolist()
    tree = CategoricalTree(**rules, n_jobs=1).fit(cells, labels, sample_weight=weights)
    same_tree(tree, slow_tree(cells, labels, weights, **rules), cells, probes)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), subsets=st.booleans())
def test_gain_and_split_information_equal_their_definitions(seed: int, subsets: bool) -> None:
    cells, labels = random_rows(np.random.default_rng(seed), 40, 3, 1, 3)
    worths = CategoricalTree(subsets=subsets).split_worths(cells, labels)
    cases = [(tuple(row), label, 1.0) for row, label in zip(cells, labels, strict=True)]
    for column in range(3):
        groups = [tuple(group.split()) for group in worths.groups[column].split(" | ")]
        parts = [[case for case in cases if case[0][column] in group] for group in groups]
        gain, split_info = reference.gain_and_split_info(cases, parts)
        assert worths.gain[column] == pytest.approx(gain, abs=1e-12)
        assert worths.split_info[column] == pytest.approx(split_info, abs=1e-12)
        expected = reference.groups_of(cases, column, 2, subsets)
        assert sorted(map(sorted, groups)) == sorted(map(sorted, expected))
    values = {c: len({row[c] for row in cells}) for c in range(3)}
    rules = {"min_cases": 2, "subsets": subsets, "values": values, "classes": len(set(labels))}
    numeric = reference.option(cases, 3, rules)
    assert numeric is None or worths.gain[3] == pytest.approx(numeric[0], abs=1e-12)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), subsets=st.booleans())
def test_without_rules_and_pruning_training_has_no_errors_unless_cases_contradict(seed: int, subsets: bool) -> None:
    rng = np.random.default_rng(seed)
    cells = [list(row) for row in {tuple(map(str, rng.integers(0, 3, 4))) for _ in range(40)}]
    labels = [str(v) for v in rng.integers(0, 3, len(cells))]
    tree = CategoricalTree(min_cases=1, confidence=None, subsets=subsets).fit(cells, labels)
    assert tree.predict(cells).tolist() == labels


def test_pruning_adds_what_quinlan_says() -> None:
    assert native.added_errors(6, 0, 0.25) == pytest.approx(1.2378, abs=5e-5)
    assert native.added_errors(1, 0, 0.25) == pytest.approx(0.75)
    for n, e in ((10, 0.5), (10, 1), (10, 9.8), (14, 5), (1000, 300)):
        assert native.added_errors(n, e, 0.25) == pytest.approx(reference.added_errors(n, e, 0.25), rel=1e-12)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_pruning_does_not_raise_the_estimated_errors(seed: int) -> None:
    cells, labels = random_rows(np.random.default_rng(seed), 80, 3, 1, 3)
    cases = [(tuple(row), label, 1.0) for row, label in zip(cells, labels, strict=True)]

    def estimated(tree: CategoricalTree) -> float:
        counts = tree.node_counts()[tree.attribute_ < 0]
        total = counts.sum(axis=1)
        errors = total - counts.max(axis=1)
        return sum(e + native.added_errors(n, e, 0.25) for n, e in zip(total, errors, strict=True) if n > 0)

    pruned = CategoricalTree().fit(cells, labels)
    whole = CategoricalTree(confidence=None).fit(cells, labels)
    assert pruned.n_nodes_ <= whole.n_nodes_
    assert estimated(pruned) <= estimated(whole) + 0.1 * (whole.n_nodes_ - pruned.n_nodes_) + 1e-9
    assert len(cases) == pruned.node_counts([0]).sum()


def test_weights_count_like_repeated_rows() -> None:
    rng = np.random.default_rng(3)
    cells, labels = random_rows(rng, 100, 3, 1, 3)
    weights = rng.integers(0, 4, 100)
    repeated = np.repeat(np.arange(100), weights)
    weighted = CategoricalTree().fit(cells, labels, sample_weight=weights)
    plain = CategoricalTree().fit([cells[i] for i in repeated], [labels[i] for i in repeated])
    assert weighted.text() == plain.text()


def test_the_tree_is_the_same_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, (60000, 5))
    y = (X[:, 0] * 3 + X[:, 1] // 2 + (rng.random(60000) < 0.1)) % 7
    trees = [CategoricalTree(categorical="all", n_jobs=jobs).fit(X, y) for jobs in (1, 2, 8)]
    assert trees[0].n_nodes_ > 50
    assert trees[0].fingerprint() != CategoricalTree(categorical="all", min_cases=9).fit(X, y).fingerprint()
    for tree in trees[1:]:
        tree.n_jobs = 1
        assert tree.fingerprint() == trees[0].fingerprint()


def test_rules_and_code_give_what_the_tree_gives(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    cells, labels = random_rows(rng, 400, 3, 1, 4)
    tree = CategoricalTree().fit(cells, labels)
    probes, _ = random_rows(rng, 300, 3, 1, 4)
    for row in probes[::7]:
        row[int(rng.integers(3))] = '"?'
    expected = tree.predict(probes).tolist()
    rules = tree_rules(tree)
    for row, label in zip(probes, expected, strict=True):
        named = dict(zip("0123", row, strict=True))
        assert [rule.label for rule in rules if rule.holds(named)] == [label]
    columns = tree.columns_
    codes = [
        [columns[c].values.index(row[c]) if row[c] in columns[c].values else -1 for c in range(3)] for row in probes
    ]
    lines = "".join(f"{a} {b} {c} {row[3]!r}\n" for (a, b, c), row in zip(codes, probes, strict=True))
    main = """
#include <stdio.h>
int main(void) {
  int codes[3]; double number;
  while (scanf("%d %d %d %lf", codes, codes + 1, codes + 2, &number) == 4)
    puts(tree_labels[tree_label(codes, &number)]);
  return 0;
}
"""
    (tmp_path / "tree.c").write_text(tree_code(tree) + main)
    subprocess.run(["cc", "-w", "-o", tmp_path / "tree", tmp_path / "tree.c"], check=True)
    run = subprocess.run([tmp_path / "tree"], input=lines, capture_output=True, text=True, check=True)
    assert run.stdout.split() == expected


def test_a_model_comes_back_from_its_file_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    cells, labels = random_rows(np.random.default_rng(1), 100, 2, 1, 3)
    tree = CategoricalTree().fit(cells, labels)
    tree.save(tmp_path / "tree.mill")
    again = load(tmp_path / "tree.mill")
    assert again.predict(cells).tolist() == tree.predict(cells).tolist()
    assert again.text() == tree.text()
    again.make_writable()
    again.n_children_ = again.n_children_ + 1
    with pytest.raises(ModelFileError, match="does not hold together"):
        again.verify()


def test_columns_are_values_or_numbers() -> None:
    rows = [{"word": "call", "digits": 7}, {"word": "room", "digits": 3}, {"word": "call", "digits": 10}]
    tree = CategoricalTree(min_cases=1).fit(rows, [True, False, True])
    assert [column.values for column in tree.columns_] == [("call", "room"), None]
    assert tree.predict([{"digits": 3, "word": "room"}]).tolist() == [False]
    coded = EncodedRows(np.array([[0], [1], [0]], np.int32), values=[["call", "room"]], names=["word"])
    assert CategoricalTree(min_cases=1).fit(coded, [1, 0, 1]).predict(coded).tolist() == [1, 0, 1]
    values = CategoricalTree(categorical=[0], min_cases=1).fit(np.array([[1.0], [2.0], [3.0]]), ["a", "b", "a"])
    assert values.columns_[0].values == ("1", "2", "3")
    assert values.predict([[3], [2], [9]]).tolist() == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([["a"], [1]], [0, 1], "column 0 mixes texts and numbers, first in row 1"),
        ([["a", "b"], ["a"]], [0, 1], "row 1 has 1 cells but row 0 has 2"),
        ([[None], ["a"]], [0, 1], "column 0 has no value in row 0"),
        ([[1.0], [float("nan")]], [0, 1], "contains NaN, in row 1, column 0"),
        ([["a"]], [0, 1], "inconsistent"),
        ([], [], "Reshape|empty|dimension"),
        ([{"a": 1}, {"b": 1}], [0, 1], "row 1 has the fields"),
    ],
)
def test_bad_rows_are_refused_with_their_place(X: Any, y: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        CategoricalTree().fit(X, y)


def test_one_class_is_one_leaf_and_a_deep_tree_does_not_end_the_process() -> None:
    assert CategoricalTree().fit([["a"], ["b"]], ["x", "x"]).predict([["c"]]).tolist() == ["x"]
    numbers = np.arange(3000.0)[:, None]
    tree = CategoricalTree(min_cases=1, confidence=None).fit(numbers, np.arange(3000) % 2)
    assert tree.n_nodes_ > 100


def test_probabilities_come_from_the_counts_of_the_node() -> None:
    tree = CategoricalTree(smoothing=2.0).fit([["a"], ["a"], ["a"], ["b"], ["b"]], [0, 0, 1, 1, 1])
    assert tree.predict_proba([["a"]])[0].tolist() == pytest.approx([3 / 5, 2 / 5])
    assert tree.predict_proba([["new"]])[0].tolist() == pytest.approx([3 / 7, 4 / 7])


def test_the_groups_of_thousands_of_values_are_found() -> None:
    """As a script of characters has them; looking at all pairs of groups over and over would take days."""
    rng = np.random.default_rng(1)
    values = rng.integers(0, 10_000, 40_000)
    labels = np.where(rng.random(40_000) < 0.6, values % 40, rng.integers(0, 40, 40_000))  # few values have one class
    tree = CategoricalTree(n_jobs=1).fit([[str(v)] for v in values], labels)
    assert np.mean(tree.predict([[str(v)] for v in values]) == labels) > 0.3
