"""Labeled data from files: columns keep their numbers, and what training did not have is left out and counted."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textmill.corpus import NamedFeatures
from textmill.errors import DataError
from textmill.linear import CombinationLogistic, LogisticRegression, NaiveBayes, read_labeled

Rows = list[tuple[int, dict[int, float]]]


def rows_of(seed: int, first: int, last: int, n_rows: int = 40) -> Rows:
    """Random rows over the columns `first` to `last`, not all of which occur."""
    draw = random.Random(seed)
    return [
        (draw.choice([1, -1]), {draw.randint(first, last): float(draw.randint(1, 3)) for _ in range(4)})
        for _ in range(n_rows)
    ]


def written(path: Path, rows: Rows) -> str:
    path.write_text("".join(f"{y} {' '.join(f'{j}:{v:g}' for j, v in x.items())}\n" for y, x in rows), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("first", [0, 1])
def test_rows_have_the_columns_of_the_file_by_their_numbers(tmp_path: Path, first: int) -> None:
    rows = [(1, {first: 1.0}), *rows_of(3, first, 12)]
    data = read_labeled([written(tmp_path / "a.svmlight", rows)])
    assert data.columns is not None
    assert data.columns.tolist() == list(range(first, 1 + max(max(x) for _, x in rows)))
    for (_, x), row in zip(rows, data.X.toarray(), strict=True):
        assert {j: v for j, v in zip(data.columns.tolist(), row.tolist(), strict=True) if v} == x
    assert data.y == [y for y, _ in rows]


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("seed", range(4))
def test_columns_that_training_did_not_have_are_left_out_and_counted(tmp_path: Path, first: int, seed: int) -> None:
    train, test = rows_of(seed, first, 30, 12), rows_of(seed + 100, 0, 35)
    had = {j for _, x in train for j in x}
    read = read_labeled([written(tmp_path / "train", train)]).without_empty_columns()
    assert read.names is not None
    assert read.names.names_.to_list() == [str(j) for j in sorted(had)]
    unknown = [j for _, x in test for j in x if j not in had]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        new = read_labeled([written(tmp_path / "test", test)], columns=read.names)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert message.startswith(f"{len(set(unknown))} columns that training did not have, ")
    assert f": {len(unknown)} values left out" in message
    for (_, x), row in zip(test, new.X.toarray(), strict=True):
        kept = {j: v for j, v in zip(sorted(had), row.tolist(), strict=True) if v}
        assert kept == {j: v for j, v in x.items() if j in had}


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(l1=0.01, l2=0),
        LogisticRegression(l2=0.1),
        CombinationLogistic(l1=0.1),
        NaiveBayes(event="multinomial"),
    ],
    ids=lambda model: f"{type(model).__name__}{model.get_params().get('l1', '')}",
)
def test_weights_are_shown_under_the_numbers_of_the_file(tmp_path: Path, model: Any) -> None:
    rows = [(1, {7: 1.0, 20: 1.0}), (-1, {9: 1.0, 20: 1.0})] * 5
    read = read_labeled([written(tmp_path / "a.svmlight", rows)]).without_empty_columns()
    fitted = model.set_params(vectorizer=read.names).fit(read.X, read.y)
    best: dict[Any, str] = {}
    for label, feature, _ in zip(*fitted.strongest(3).columns().values(), strict=True):
        best.setdefault(label, feature)
    assert {str(label): best[label] for label in best} in ({"1": "7", "-1": "9"}, {"1": "7"}, {"-1": "9"})


def test_features_of_vowpal_wabbit_are_named_by_namespace(tmp_path: Path) -> None:
    path = tmp_path / "house"  # recognized without a suffix
    path.write_text("1 |w price:0.25 sqft:0.5 |d:2 night\n-1 1.0 'tag| price:0.8 a a\n2 x|d e:1e-1\n", encoding="utf-8")
    data = read_labeled([str(path)])
    assert (data.kind, data.y) == ("events", [1, -1, 2])
    assert data.X == [{"w^price": 0.25, "w^sqft": 0.5, "d^night": 2.0}, {"price": 0.8, "a": 2.0}, {"d^e": 0.1}]
    path.write_text("|w price:1\n", encoding="utf-8")
    assert read_labeled([str(path)], label_field=None, format="vw").X == [{"w^price": 1.0}]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("1 0.5 |a b", "an importance or a base, '0.5'"),
        ("1:0.3 2:0 |a b", "several labels or costs, '1:0.3 2:0'"),
        ("1,3 |a b", "several labels or costs, '1,3'"),
        ("|a b", "no label before the |"),
        ("1 a b", "no | between"),
        ("1 |a b:x", "the value of 'b:x' is no finite number"),
        ("good |a b", "is no label of Vowpal Wabbit"),
    ],
)
def test_lines_of_vowpal_wabbit_that_are_not_read_are_refused(tmp_path: Path, line: str, fault: str) -> None:
    path = tmp_path / "a.vw"
    path.write_text(f"1 |a b\n{line}\n", encoding="utf-8")
    with pytest.raises(DataError) as refused:
        read_labeled([str(path)])
    assert fault in str(refused.value)
    assert f"{path}:2" in str(refused.value)


def test_a_folder_for_each_label_gives_labels(tmp_path: Path) -> None:
    for name in ("sea/1", "sea/old/2", "mill/3.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"text {name}", encoding="utf-8")
    data = read_labeled([str(tmp_path)])
    assert Counter(zip(data.y or [], data.X, strict=True)) == Counter(
        [("mill", "text mill/3.txt"), ("sea", "text sea/1"), ("sea", "text sea/old/2")]
    )
    (tmp_path / "stray").write_text("text", encoding="utf-8")
    with pytest.raises(DataError, match=r"stray: no label: .* one folder for each label"):
        read_labeled([str(tmp_path)])


def test_several_labels_of_a_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a", "label": ["x", "y"]}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"a.jsonl:1: the field 'label' holds several labels; keep one"):
        read_labeled([str(path)])
    path = tmp_path / "a.svmlight"
    path.write_text("1,3 1:1\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"a.svmlight:1:2: a line with several labels; keep one"):
        read_labeled([str(path)])


def test_prose_is_not_taken_for_rows(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("12 monkeys came at 7:30\n", encoding="utf-8")
    with pytest.raises(DataError, match="this is plain text, without a field 'label'"):
        read_labeled([str(path)])


def test_numbers_of_columns_need_not_rise_in_a_model(tmp_path: Path) -> None:
    model = LogisticRegression(vectorizer=NamedFeatures()).fit([{"9": 1.0}, {"10": 1.0}], [1, -1])
    data = read_labeled([written(tmp_path / "a.svmlight", [(1, {9: 2.0, 10: 1.0})])], columns=model.vectorizer_)
    assert data.X.toarray().tolist() == [[1.0, 2.0]]  # names of mappings are sorted as texts
    assert np.all(np.diff(data.X.indices) > 0)
