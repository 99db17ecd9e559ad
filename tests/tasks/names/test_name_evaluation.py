"""Curves, comparison and choice of measures, against counting by hand."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textmill.errors import DataError
from textmill.metrics import ScoreCounts
from textmill.strings import parse_measure
from textmill.tasks.names import Gold, MatchCurve, NameList, choose, differences, evaluate, generate_names
from textmill.tasks.names.evaluation import scored_blocks

SCORES = [1.0, 0.95, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.5, 0.3]
LABELS = ["pos", "pos", "unk", "neg", "pos", "pos", "neg", "neg", "pos", None]


def naive(scores: list[float], labels: list[str | None], missed: int) -> list[tuple[int, float, float]]:
    """Pairs, precision and recall at every cut, straight from the definition."""
    ranked = [(score, label) for score, label in zip(scores, labels, strict=True) if label != "unk"]
    positives = sum(label == "pos" for _, label in ranked) + missed
    rows = []
    for cut in sorted({score for score, _ in ranked}, reverse=True):
        taken = [label for score, label in ranked if score >= cut]
        hits = sum(label == "pos" for label in taken)
        rows.append((len(taken), hits / len(taken), hits / positives))
    return rows


def test_ten_pairs_by_hand() -> None:
    curve = MatchCurve.of(SCORES, LABELS, missed=1)
    assert curve.pairs.tolist() == [
        1,
        2,
        4,
        5,
        6,
        7,
        8,
        9,
    ]  # the tie at 0.9 is not split, the unknown pair is not there
    assert curve.precision == pytest.approx([1, 1, 3 / 4, 4 / 5, 4 / 6, 4 / 7, 5 / 8, 5 / 9])
    assert curve.recall == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6, 4 / 6, 4 / 6, 5 / 6, 5 / 6])
    assert curve.best().pairs == 5
    assert curve.best().f == pytest.approx(8 / 11)
    assert curve.best(0.5).f == pytest.approx(5 / 6.5)
    assert curve.best(2.0).pairs == 8
    assert curve.best(2.0).f == pytest.approx(25 / 32)
    assert curve.best().threshold == pytest.approx(0.75)
    assert curve.at_precision(0.7).pairs == 5
    with pytest.raises(DataError, match="ask for less"):
        MatchCurve.of([0.5, 0.4], ["neg", "pos"]).at_precision(0.9)


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.7, 1.0]), st.sampled_from(LABELS)), min_size=1),
    st.integers(0, 3),
    st.sampled_from([0.5, 1.0, 2.0]),
)
def test_the_curve_is_that_of_counting(pairs: list[tuple[float, str | None]], missed: int, beta: float) -> None:
    scores, labels = [score for score, _ in pairs], [label for _, label in pairs]
    if "pos" not in labels and not missed:
        labels[0] = "pos"
    if all(label == "unk" for label in labels):
        return
    curve, rows = MatchCurve.of(scores, labels, missed=missed), naive(scores, labels, missed)
    assert curve.pairs.tolist() == [row[0] for row in rows]
    assert curve.precision == pytest.approx([row[1] for row in rows])
    assert curve.recall == pytest.approx([row[2] for row in rows])
    figures = [(1 + beta**2) * p * r / (beta**2 * p + r) if p + r else 0.0 for _, p, r in rows]
    assert curve.f(beta) == pytest.approx(figures)
    assert curve.best(beta).f == pytest.approx(max(figures))


def labeled(seed: int) -> tuple[NameList, Gold]:
    names = generate_names(12, random_state=seed)
    gold = Gold.from_clusters(names)
    draw = random.Random(seed)
    more = {pair: draw.choice(["neg", "unk"]) for pair in itertools.combinations(names.ids, 2) if draw.random() < 0.1}
    return names, Gold({**gold.labels, **{p: label for p, label in more.items() if gold.label(*p) is None}})


@pytest.mark.parametrize("measure", ["levenshtein", "tfidf(words)", "softtfidf(words, sub=jaro)"])
@pytest.mark.parametrize("unlabeled", ["negative", "ignore"])
def test_evaluation_is_the_curve_of_all_pairs(measure: str, unlabeled: str) -> None:
    names, gold = labeled(3)
    found = evaluate(names, gold, measure, unlabeled=unlabeled, normalize=None)
    fitted = parse_measure(measure).fit(names.names)
    scores, labels = [], []
    for (i, a), (j, b) in itertools.combinations(enumerate(names.names), 2):
        label = gold.label(names.ids[i], names.ids[j])
        score = round((fitted.similarity(a, b) + fitted.similarity(b, a)) / 2, 9)
        if score > 0 and (label is not None or unlabeled == "negative"):
            scores.append(score)
            labels.append(label)
    curve = MatchCurve.of(scores, labels, missed=len(gold.positives) - labels.count("pos"))
    assert found.curve.pairs.tolist() == curve.pairs.tolist()
    assert found.curve.precision == pytest.approx(curve.precision)
    assert found.curve.recall == pytest.approx(curve.recall)
    assert 0 <= found.held_out() <= found.curve.best().f + 1e-9
    assert sum(found.folds, ScoreCounts()) == found.curve.counts


def test_two_lists_and_two_relations_give_the_same() -> None:
    names = generate_names(40, random_state=8)
    half = [int(key.endswith(("a", "b"))) for key in names.ids]
    both = NameList(names.ids, names.names, clusters=names.clusters, relations=[str(k) for k in half])
    left, right = both.split()
    one = evaluate(both, Gold.from_clusters(both), "levenshtein")
    other = evaluate(left, Gold.from_clusters(left, right), "levenshtein", other=right)
    assert one.curve.pairs.tolist() == other.curve.pairs.tolist()
    assert one.curve.best() == pytest.approx(other.curve.best())


def test_discarded_names_do_not_take_part() -> None:
    names = NameList.of(["Ann Smith", "Ann Smith", "Ann Smyth"], ids=["a", "b", "c"])
    gold = Gold({("a", "c"): "pos", ("b", "c"): "neg"}, frozenset(["b"]))
    assert evaluate(names, gold, "levenshtein").curve.pairs.tolist() == [1]


def test_differences_are_the_positives_of_one_cut_only() -> None:
    names = generate_names(60, random_state=2)
    gold = Gold.from_clusters(names)
    one, other = evaluate(names, gold, "levenshtein"), evaluate(names, gold, "tfidf(words)")
    first, second = differences(one, other)
    inside = [
        {
            pair
            for pair, score in zip(of.positives, of.positive_scores, strict=True)
            if score >= of.curve.best().threshold
        }
        for of in (one, other)
    ]
    assert {(pair.left, pair.right) for pair in first} == inside[0] - inside[1]
    assert {(pair.left, pair.right) for pair in second} == inside[1] - inside[0]
    assert first
    assert second
    with pytest.raises(DataError, match="different positives"):
        differences(one, evaluate(names, Gold({("1", "2"): "pos"}), "levenshtein"))


def test_the_choice_is_the_best_on_held_out_pairs() -> None:
    names = generate_names(60, random_state=5)
    tried = [evaluate(names, Gold.from_clusters(names), m) for m in ("cosine(words)", "levenshtein", "tfidf(trigrams)")]
    choice = choose(tried, beta=1.0)
    best = max(tried, key=lambda one: one.held_out())
    assert (choice.measure, choice.threshold) == (best.measure, best.curve.best().threshold)
    assert set(tried[0].row()) >= {"measure", "F1", "F0.5", "F2", "AP"}
    with pytest.raises(DataError, match="nothing to choose"):
        choose([])


def test_blocks_are_the_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textmill.tasks.names.evaluation._CELLS", 70)
    names = generate_names(10, random_state=1).names
    fitted = parse_measure("jaro").fit(names)
    blocks = list(scored_blocks(fitted, names))
    assert len(blocks) > 3
    assert np.allclose(np.concatenate([block for _, block in blocks]), fitted.matrix(names), atol=1e-9)


def test_what_cannot_be_evaluated_is_refused() -> None:
    names = NameList.of(["Ann Smith", "Tom Jones"])
    with pytest.raises(DataError, match="no positive pair"):
        evaluate(names, Gold({("1", "2"): "neg"}), "jaro")
    with pytest.raises(DataError, match="no name has the id '9'"):
        evaluate(names, Gold({("1", "9"): "pos"}), "jaro")
    with pytest.raises(DataError, match="no measure is called 'jaroo'; known:"):
        evaluate(names, Gold({("1", "2"): "pos"}), "jaroo")
    with pytest.raises(DataError, match="above 0"):
        evaluate(names, Gold({("1", "2"): "pos"}), "cosine(words)")
    with pytest.raises(DataError, match="labels"):
        MatchCurve.of([1.0], [])
