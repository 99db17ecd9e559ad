"""Naive Bayes over values: scikit-learn's model, the definition, counts that add, files, bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.naive_bayes import CategoricalNB
from typer.testing import CliRunner

from textmill.cli.app import app
from textmill.errors import DataError
from textmill.linear import CategoricalBayes
from textmill.model import load

RANDOM = np.random.default_rng(3)
NUMBERS = RANDOM.integers(0, 5, (200, 4))
LABELS = np.array(["a", "b", "c"])[(NUMBERS[:, 0] + RANDOM.integers(0, 2, 200)) % 3]


def some_rows(size: int, seed: int) -> tuple[list[dict[str, Any]], list[str]]:
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for _ in range(size):
        label = rng.choice(["LOC", "ORG", "PER"])
        words = [f"{label}{rng.geometric(0.2)}" if rng.random() < 0.6 else f"w{rng.integers(30)}" for _ in range(3)]
        row: dict[str, Any] = {"first": words[0], "words": words, "length": int(rng.integers(1, 5))}
        if rng.random() < 0.5:
            row["capital"] = bool(rng.random() < 0.8)
        rows.append(row)
        labels.append(str(label))
    return rows, labels


def test_numbers_give_the_model_of_scikit_learn_with_a_place_for_other_values() -> None:
    ours = CategoricalBayes(smoothing=0.5).fit(NUMBERS, LABELS)
    theirs = CategoricalNB(alpha=0.5, min_categories=NUMBERS.max(axis=0) + 2).fit(NUMBERS, LABELS)
    assert ours.predict_log_proba(NUMBERS) == pytest.approx(theirs.predict_log_proba(NUMBERS), abs=1e-12)


def test_scores_are_the_definition() -> None:
    rows, labels = some_rows(120, 0)
    model = CategoricalBayes().fit(rows, labels)
    smoothing = dict(zip(model.templates_.to_list(), model.smoothing_.tolist(), strict=True))

    def values(row: dict[str, Any], template: str) -> list[str]:
        value = row.get(template, [])
        return [str(one) for one in (value if isinstance(value, list) else [value])]

    row = {"first": "never seen", "words": ["w1", "LOC1", "LOC1"], "length": 2, "other": "x"}
    for c, label in enumerate(model.classes_):
        own = [r for r, y in zip(rows, labels, strict=True) if y == label]
        right = np.log(len(own) / len(rows))
        for template, a in smoothing.items():
            seen = {v for r in rows for v in values(r, template)}
            there = [v for r in own for v in values(r, template)]
            for value in values(row, template):
                if value in seen:
                    right += np.log((there.count(value) + a) / (len(there) + a * (len(seen) + 1)))
        assert model.decision_function([row])[0, c] == pytest.approx(right, abs=1e-12)


@pytest.mark.parametrize("smoothing", [None, 0.1])
def test_chunks_merges_threads_and_the_order_of_rows_give_the_same_bytes(smoothing: float | None) -> None:
    rows, labels = some_rows(300, 1)
    whole = CategoricalBayes(smoothing=smoothing, n_jobs=1).fit(rows, labels)
    parts = CategoricalBayes(smoothing=smoothing, n_jobs=2)
    for a in (200, 0, 100):
        parts.partial_fit(rows[a : a + 100], labels[a : a + 100])
    halves = [CategoricalBayes(smoothing=smoothing).fit(rows[a::2], labels[a::2]) for a in (0, 1)]
    for model in (parts, halves[0].merge(halves[1]), halves[1].merge(halves[0])):
        for name in ("counts_", "rows_", "smoothing_", "template_of_"):
            assert getattr(model, name).tobytes() == getattr(whole, name).tobytes(), name
        assert model.values_.to_list() == whole.values_.to_list()
        assert model.predict_proba(rows).tobytes() == whole.predict_proba(rows).tobytes()


def test_each_template_gets_the_smoothing_that_predicts_what_is_left_out() -> None:
    rng = np.random.default_rng(5)
    even = rng.integers(0, 40, 400)  # every value in every class: much smoothing
    sharp = np.array([f"{y}{rng.integers(3)}" for y in rng.integers(0, 2, 400)])  # a value in one class only: little
    labels = [value[0] for value in sharp]
    model = CategoricalBayes().fit([{"even": int(e), "sharp": s} for e, s in zip(even, sharp, strict=True)], labels)
    assert dict(zip(model.templates_.to_list(), model.smoothing_.tolist(), strict=True))["even"] > 1
    assert dict(zip(model.templates_.to_list(), model.smoothing_.tolist(), strict=True))["sharp"] < 0.01
    counts, template = model.counts_, model.template_of_

    def left_out(t: int, a: float) -> float:
        own = counts[:, template == t]
        below = own.sum(axis=1, keepdims=True) - 1 + a * (own.shape[1] + 1)
        there = own > 0
        return float((own * np.log(np.where(there, own - 1 + a, 1.0) / below))[there].sum())

    assert model.smoothing_[1] == 1e-4  # the ends of what is tried
    assert model.smoothing_[0] == pytest.approx(10.0)
    mixed = CategoricalBayes().fit([{"x": v} for v in ["p", "p", "p", "q", "q", "r", "s", "p", "q"]], list("aaaabbbbb"))
    counts, template, a = mixed.counts_, mixed.template_of_, float(mixed.smoothing_[0])
    assert left_out(0, a) >= max(left_out(0, a * factor) for factor in (0.3, 0.7, 1.5, 3.0))
    assert 1e-4 < a < 10


def test_weights_of_rows_count_as_often() -> None:
    rows, labels = some_rows(50, 2)
    twice = CategoricalBayes().fit(rows + rows[:20], labels + labels[:20])
    weighted = CategoricalBayes().fit(rows, labels, sample_weight=[2.0] * 20 + [1.0] * 30)
    assert twice.counts_.tobytes() == weighted.counts_.tobytes()


def test_a_model_survives_its_file_and_goes_on(tmp_path: Path) -> None:
    rows, labels = some_rows(100, 4)
    model = CategoricalBayes().fit(rows[:60], labels[:60])
    model.save(tmp_path / "m.mill")
    loaded = load(tmp_path / "m.mill", expect=CategoricalBayes)
    assert loaded.predict_proba(rows).tobytes() == model.predict_proba(rows).tobytes()
    loaded.partial_fit(rows[60:], labels[60:])
    assert loaded.counts_.tobytes() == CategoricalBayes().fit(rows, labels).counts_.tobytes()


def test_explanations_add_up_to_the_difference_of_scores() -> None:
    rows, labels = some_rows(100, 6)
    model = CategoricalBayes(class_prior="uniform").fit(rows, labels)
    scores = np.sort(model.decision_function(rows[:1])[0])
    assert sum(model.explain(rows[0]).weights) == pytest.approx(scores[-1] - scores[-2], abs=1e-12)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([3], "row 0 must be a mapping"),
        ([{"a": "x"}, {"a": {"b": 1}}], "row 1, 'a'"),
        ([{"a": float("nan")}, {"a": "x"}], "row 0, 'a'"),
        ([["a=x"], [4]], "row 1: 4 is no text"),
        ([], "minimum of 1"),
        ({"a": "x"}, "list of mappings"),
    ],
)
def test_bad_rows_are_named(rows: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        CategoricalBayes().fit(rows, ["u", "v"][: len(rows)])


def test_rows_without_any_feature_get_the_prior() -> None:
    model = CategoricalBayes().fit([{"a": "x"}, {}, {"a": None}], ["u", "v", "v"])
    assert model.predict_proba([{}])[0] == pytest.approx([1 / 3, 2 / 3])


def test_commands_take_events(tmp_path: Path) -> None:
    events, model = tmp_path / "a.events", tmp_path / "m.mill"
    events.write_text("N v=eat p=with\nN v=eat p=of\nV v=see p=with\nV v=see p=in\n" * 5)
    run = CliRunner().invoke(app, ["classify", "train", str(events), "--kind", "categorical", "-o", str(model)])
    assert "20 rows, 2 classes; 5 values of 2 templates" in run.output
    run = CliRunner().invoke(app, ["classify", "evaluate", str(model), str(events)])
    assert "accuracy 1.0000" in run.output
    run = CliRunner().invoke(app, ["classify", "explain", str(model), "-k", "1"])
    assert "v=eat" in run.output
    text = tmp_path / "a.csv"
    text.write_text("text,label\nhello,a\nbye,b\n")
    run = CliRunner().invoke(app, ["classify", "train", str(text), "--kind", "categorical", "-o", str(model)])
    assert run.exit_code != 0
