"""Feature forests: brute force over structures, worked examples, packings of segmentations, files of AMIS, damage."""

from __future__ import annotations

import io
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.semi_markov_crf.forest import Alternative, AmisEvent, FeatureForest, read_amis, write_amis
from papers.semi_markov_crf.segment_forests import PACKINGS, forest_events, forest_size, forest_weights, segment_forest
from textmill.errors import DataError
from textmill.sequence import HISTORIES, SemiMarkovCRF, all_candidates

TIME_FLIES = (  # four analyses that share their parts, as in the examples of the manual of AMIS
    "event1\n1 S S1 N time VP VP1 V flies PP PP1 P like NP NP1 D an N arrow\n"
    "{ _ ( _ S { _ ( _ S2 { _ ( _ NP { _ ( _ NP2 { d4 ( _ N { _ ( _ time ) } ) } { d6 ( _ N { _ ( _ flies ) } ) } ) "
    "} ) } { _ ( _ VP { _ ( _ VP2 { _ ( _ V { _ ( _ like ) } ) } { d12 ( _ NP { _ ( _ NP1 { _ ( _ D { _ ( _ an ) } ) } "
    "{ _ ( _ N { _ ( _ arrow ) } ) } ) } ) } ) } ) } ) ( _ S3 { _ ( _ S { _ ( _ S4 { d20 ( _ V { _ ( _ Vtime ) } ) } "
    "$d6 ) } ) } { d24 ( _ PP { _ ( _ PP1 { _ ( _ P { _ ( _ like ) } ) } $d12 ) } ) } ) ( _ S5 $d20 { _ ( _ NP { _ "
    "( _ NP3 "
    "$d6 $d24 ) } ) } ) ( _ S1 $d4 { _ ( _ VP { _ ( _ VP1 { _ ( _ V { _ ( _ flies ) } ) } $d24 ) } ) } ) } ) }\n"
)


def structures(forest, d=None):
    """Every structure below a disjunctive node, as tuples of conjunctive nodes."""
    d = forest.root if d is None else d
    for c in forest.conjunctive[forest.alternatives[d] : forest.alternatives[d + 1]].tolist():
        below = forest.disjunctive[forest.daughters[c] : forest.daughters[c + 1]].tolist()
        for parts in itertools.product(*(list(structures(forest, one)) for one in below)):
            yield (c, *itertools.chain.from_iterable(parts))


def random_forest(seed):
    rng = np.random.default_rng(seed)

    def expand(key):
        if key >= 5:
            return [Alternative([f"f{key}"])]
        made = []
        for _ in range(int(rng.integers(1, 4))):
            below = rng.integers(key + 1, 7, int(rng.integers(0, 3))).tolist()
            made.append(Alternative({f"f{int(rng.integers(6))}": float(rng.normal()), f"g{key}": 1.0}, below))
        return made

    return FeatureForest.build(0, expand)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_sums_and_best_are_those_of_all_structures(seed):
    forest = random_forest(seed)
    weights = np.random.default_rng(seed + 1).normal(0, 1, len(forest.feature_names))
    scores = forest.scores(weights)
    every = [(sum(scores[c] for c in one), one) for one in structures(forest)]
    total = math.log(sum(math.exp(value) for value, _ in every))
    sums = forest.sums(weights)
    assert sums.log_z == pytest.approx(total, abs=1e-9)
    for c in range(len(scores)):
        expected = sum(math.exp(value - total) * one.count(c) for value, one in every)
        assert sums.conjunctive[c] == pytest.approx(expected, abs=1e-9)
    best = forest.best_nodes(weights, 10)
    assert [value for value, _ in best] == pytest.approx(sorted((v for v, _ in every), reverse=True)[:10], abs=1e-9)
    for value, nodes in best:
        assert sum(scores[c] for c in nodes) == pytest.approx(value, abs=1e-9)
    expected = forest.expectations(weights)
    for i, name in enumerate(forest.feature_names[:4]):
        step = np.zeros(len(weights))
        step[i] = 1e-5
        slope = (forest.sums(weights + step).log_z - forest.sums(weights - step).log_z) / 2e-5
        assert expected[name] == pytest.approx(slope, rel=1e-6, abs=1e-7)


def test_figure_with_three_labels_and_two_positions():
    forest = FeatureForest.build(0, lambda t: [Alternative([f"{t}{y}"], [t + 1] if t == 0 else []) for y in "ABC"])
    assert forest.sizes()["conjunctive"] == 6
    assert forest.sums({}).log_z == pytest.approx(math.log(9), abs=1e-12)


def test_linear_chain_as_a_forest():
    """Label pairs as keys: log Z of the forest is that of the products of matrices."""
    rng = np.random.default_rng(2)
    psi = rng.normal(0, 1, (4, 3, 3))
    names = {f"{t}{a}{b}": psi[t, a, b] for t in range(4) for a in range(3) for b in range(3)}

    def expand(key):
        t, a = key
        if t == 4:
            return [Alternative([])]
        return [Alternative([f"{t}{a}{b}"], [(t + 1, b)]) for b in range(3)]

    alpha = np.exp(psi[0, 0])
    for t in range(1, 4):
        alpha = alpha @ np.exp(psi[t])
    assert FeatureForest.build((0, 0), expand).sums(names).log_z == pytest.approx(math.log(alpha.sum()), abs=1e-12)


def test_time_flies_has_four_analyses_and_comes_back(tmp_path):
    [event] = read_amis(io.BytesIO(TIME_FLIES.encode()))
    assert event.forest.sums({}).log_z == pytest.approx(math.log(4), abs=1e-12)
    assert len(list(structures(event.forest))) == 4
    write_amis([event], tmp_path / "a.event")
    [again] = read_amis(tmp_path / "a.event")
    assert again.forest.sizes() == event.forest.sizes()
    assert again.observed == event.observed
    weights = {name: 0.1 * i for i, name in enumerate(event.forest.feature_names)}
    assert again.forest.sums(weights).log_z == pytest.approx(event.forest.sums(weights).log_z, abs=1e-12)


def test_conjunctive_nodes_are_shared_and_odd_names_kept(tmp_path):
    text = b"e 1\n2\tf\\:1:2.5 f3\n{ d ( n f\\:1:2.5 { _ ( m \\{ ) ( k ) } { _ $m ( l f3 ) } ) }  # comment\n"
    [event] = read_amis(io.BytesIO(text))
    assert (event.name, event.observed) == ("e 1", {"f:1": 2.5, "f3": 1.0})
    assert event.forest.sizes()["conjunctive"] == 4
    assert len(list(structures(event.forest))) == 4
    assert "{" in event.forest.feature_names
    write_amis([event], tmp_path / "b.event")
    [again] = read_amis(tmp_path / "b.event")
    assert again.observed == event.observed
    assert again.forest.sizes() == event.forest.sizes()
    assert again.forest.feature_names == event.forest.feature_names


@pytest.mark.parametrize(
    ("forest", "fault"),
    [
        ("{ a ( b $a ) }", "a cycle"),
        ("{ a ( b $c ) }", "refers to no node"),
        ("{ a ( b f ) ( b g ) }", "two nodes called 'b'"),
        ("{ a ( b f )", "ends before its nodes are closed"),
        ("( a f )", "begins with a disjunctive node"),
        ("{ a f }", "stands where a conjunctive node must be"),
        ("{ a ( b f ) } x", "follows the end"),
        ("{ a { b ( c ) } }", "take turns"),
        ("{ a ( b f:x ) }", "no number"),
        ("{ a ( b f:inf ) }", "finite value"),
        ("{ a ( b ) ) }", "closes no node"),
        ("{", "before a node has its name"),
    ],
)
def test_damaged_forests(forest, fault):
    with pytest.raises(DataError, match=fault):
        read_amis(io.BytesIO(f"e\n1 f\n{forest}\n".encode()))
    with pytest.raises(DataError, match="three lines"):
        read_amis(io.BytesIO(b"e\n1 f\n"))
    with pytest.raises(DataError, match="no whole number"):
        read_amis(io.BytesIO(b"e\nx f\n{ _ ( _ ) }\n"))


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_cut_and_exchange_of_tokens_is_read_or_refused(data):
    tokens = TIME_FLIES.split(" ")
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(tokens) - 1))
        tokens[at] = data.draw(st.sampled_from(["{", "}", "(", ")", "$d6", "$d24", "_", "f:1", "d4", ":", "\\", "#"]))
    tokens = tokens[: data.draw(st.integers(1, len(tokens)))]
    try:
        events = read_amis(io.BytesIO(" ".join(tokens).encode()))
    except DataError:
        return
    for event in events:
        assert event.forest.sums({}).log_z < 50


def test_cycles_explosions_and_bad_numbers_are_refused():
    with pytest.raises(DataError, match="cycle"):
        FeatureForest.build(0, lambda key: [Alternative([], [1 - key])])
    with pytest.raises(DataError, match=r"more than 100 conjunctive nodes .* about \d+"):
        FeatureForest.build((), lambda key: [Alternative([], [(*key, y)]) for y in range(3)], max_nodes=100)
    with pytest.raises(DataError, match="not finite"):
        FeatureForest.build(0, lambda key: [Alternative({"f": math.nan})])
    forest = FeatureForest.build(0, lambda key: [Alternative(["f"]), Alternative(["g"])])
    with pytest.raises(DataError, match="not a number"):
        forest.sums({"f": math.nan})
    with pytest.raises(DataError, match="2 features but 3 weights"):
        forest.sums(np.zeros(3))
    assert forest.sums({"f": -math.inf}).conjunctive.tolist() == [0.0, 1.0]


def test_deep_forests_need_no_recursion(tmp_path):
    deep = FeatureForest.build(0, lambda t: [Alternative([f"f{t % 3}"], [t + 1] if t < 20_000 else [])])
    assert deep.sums({"f0": 0.5}).log_z == pytest.approx(0.5 * (20_000 // 3 + 1))
    write_amis([AmisEvent("deep", 1, {}, deep)], tmp_path / "deep.event")
    [event] = read_amis(tmp_path / "deep.event")
    assert event.forest.sizes()["conjunctive"] == 20_001


def test_drawing_names_every_node():
    forest = random_forest(5)
    drawn = forest.to_dot(weights={})
    sizes = forest.sizes()
    assert drawn.count("shape=circle") == sizes["disjunctive"]
    assert drawn.count("shape=box") == sizes["conjunctive"]


X = [
    ["we", "cut", "NF", "kappa", "B", "in", "T", "cells"],
    ["the", "T", "cells", "with", "NF", "kappa", "B", "and", "AP", "1", "grew"],
]
Y = [
    ["O", "O", "B-P", "I-P", "I-P", "O", "B-C", "I-C"],
    ["O", "B-C", "I-C", "O", "B-P", "I-P", "I-P", "O", "B-P", "I-P", "O"],
]


@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("recall", [0.995, None])
def test_all_packings_hold_the_same_segmentations(history, recall, tmp_path):
    model = SemiMarkovCRF(history=history, max_length=3, filter="bayes" if recall else None, max_iter=10, n_jobs=1)
    model.fit(X, Y)
    data, problem = model._problem([X[0]])
    _, log_z = problem.marginals(model.theta_, 1)
    expected = [(score, spans) for spans, score, _ in model.predict_best(X[:1], 10)[0]]
    for packing in PACKINGS:
        forest = segment_forest(model, X[0], packing=packing)
        weights = forest_weights(model, forest)
        sums = forest.sums(weights)
        assert sums.log_z == pytest.approx(log_z[0], abs=1e-9)
        best = forest.best_nodes(weights, 10)
        assert [score for score, _ in best] == pytest.approx([score for score, _ in expected], abs=1e-9)
        marginal: dict[str, float] = {}
        for name, probability in zip(forest.names, sums.conjunctive, strict=True):
            marginal[name] = marginal.get(name, 0.0) + probability
        for segment in model.segment_marginals(X[:1], threshold=0.0)[0]:
            name = f"{segment.begin + 1}-{segment.end} {segment.label}"
            assert marginal[name] == pytest.approx(segment.probability, abs=1e-9)
        size = forest_size(data.candidates, 2, packing=packing, history=history)
        assert size == (forest.sizes()["disjunctive"], forest.sizes()["conjunctive"])
    write_amis(forest_events(model, X, packing="packed"), tmp_path / "x.event")
    for event, sequence in zip(read_amis(tmp_path / "x.event"), X, strict=True):
        forest = segment_forest(model, sequence, packing="packed")
        assert event.forest.sizes() == forest.sizes()
        assert event.forest.sums(forest_weights(model, event.forest)).log_z == pytest.approx(
            forest.sums(forest_weights(model, forest)).log_z, abs=1e-9
        )


def test_sizes_of_the_specification():
    """The numbers that the specification counts, with a closing node for each state at the end."""
    every = all_candidates(np.array([0, 25]), 10)
    assert forest_size(every, 5, packing="packed") == (151, 6045 + 6)
    assert forest_size(every, 5, packing="unpacked") == (271, 10785 + 11)
    assert forest_size(every, 5, packing="factored").conjunctive == 1895 + 6
    longer = all_candidates(np.array([0, 30]), 10)
    assert forest_size(longer, 5, packing="packed") == (181, 7575 + 6)
    assert forest_size(longer, 5, packing="unpacked") == (326, 13590 + 11)
    small = all_candidates(np.array([0, 4]), 3)
    assert forest_size(small, 2, packing="packed") == (13, 52 + 3)
    assert forest_size(small, 2, packing="unpacked") == (19, 68 + 5)
    assert (
        forest_size(every, 5, packing="packed").conjunctive
        <= 0.6 * forest_size(every, 5, packing="unpacked").conjunctive
    )
    assert forest_size(every, 5).conjunctive <= 0.35 * forest_size(every, 5, packing="packed").conjunctive
