"""Learning of weights: sums over pairs against composition, gradients against differences, what EM promises."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.fst.test_expectations import random_machine, with_weights
from textmill import fst
from textmill.errors import DataError


def linear(labels: list[int]) -> fst.Fst:
    rows = [f"{i} {i + 1} {label} {label}" for i, label in enumerate(labels)]
    return fst.compile_text("\n".join([*rows, str(len(labels))]), semiring_name="real")


def text(labels: list[int]) -> str:
    return "".join(map(chr, labels))


def pairs_of(seed: int, count: int = 3) -> list[tuple[list[int], list[int]]]:
    draw = np.random.default_rng(seed)
    return [
        (draw.integers(1, 3, draw.integers(0, 4)).tolist(), draw.integers(1, 3, draw.integers(0, 4)).tolist())
        for _ in range(count)
    ]


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**31))
def test_sums_over_pairs_are_those_of_compositions(seed):
    machine = random_machine(seed, states=4, arcs=12)
    for x, y in pairs_of(seed):
        through = fst.compose(fst.arcsort(linear(x), "olabel"), fst.arcsort(machine))
        inputs = fst.total_weight(through)
        both = fst.total_weight(fst.compose(fst.arcsort(through, "olabel"), linear(y)))
        outputs = fst.total_weight(fst.compose(fst.arcsort(machine, "olabel"), linear(y)))
        sums = fst.pair_log_likelihoods(machine, [(text(x), text(y)), (text(x), None), (None, text(y))])
        assert np.exp(sums) == pytest.approx([both, inputs, outputs], rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("objective", fst.OBJECTIVES)
@pytest.mark.parametrize("seed", range(4))
def test_the_gradient_vanishes_where_training_ends(objective, seed):
    """Finite differences of the objective, computed from compositions, at the weights that were learned."""
    machine = random_machine(seed + 50, states=3, arcs=24)
    pairs = [(text(x), text(y)) for x, y in pairs_of(seed, 6)]
    possible = fst.pair_log_likelihoods(machine, pairs) > -math.inf
    pairs = [pair for pair, fits in zip(pairs, possible, strict=True) if fits]
    learned = fst.learn_weights(
        machine, pairs, method="gradient", objective=objective, l2=0.1, max_iter=500, tolerance=1e-12
    )

    def value(candidate: fst.Fst, size: float) -> float:
        shown = fst.pair_log_likelihoods(candidate, pairs).sum()
        if objective == "joint":
            return shown - len(pairs) * math.log(fst.total_weight(candidate)) - 0.05 * size
        return shown - fst.pair_log_likelihoods(candidate, [(x, None) for x, _ in pairs]).sum() - 0.05 * size

    if objective == "joint":  # the result is pushed: only its likelihood can be compared
        uniform = value(machine, float(np.square(np.log(machine.arrays()[1]["weight"])).sum()))
        assert learned.trace[-1] >= uniform
        assert fst.pair_log_likelihoods(learned.machine, pairs).sum() >= learned.trace[-1] - 1e-9
        return
    result = fst.convert(learned.machine, "real")
    _, arcs, finals = result.arrays()
    whole = np.concatenate([np.log(arcs["weight"]), np.log(finals[finals > 0])])
    for i in range(len(whole)):
        around = []
        for step in (1e-5, -1e-5):
            theta = whole.copy()
            theta[i] += step
            moved = np.zeros(len(finals))
            moved[finals > 0] = np.exp(theta[len(arcs) :])
            around.append(value(with_weights(result, np.exp(theta[: len(arcs)]), moved), float(theta @ theta)))
        assert (around[0] - around[1]) / 2e-5 == pytest.approx(0.0, abs=2e-4)


@pytest.mark.parametrize("objective", fst.OBJECTIVES)
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**31))
def test_the_likelihood_never_falls_and_is_that_of_the_machine(objective, seed):
    machine = random_machine(seed, states=4, arcs=14)
    pairs = [(text(x), text(y)) for x, y in pairs_of(seed, 8)]
    assume((fst.pair_log_likelihoods(machine, pairs) > -math.inf).any())
    learned = fst.learn_weights(
        machine, pairs, objective=objective, errors="skip", max_iter=15, tolerance=0.0, smoothing=1e-3
    )
    plain = fst.learn_weights(machine, pairs, objective=objective, errors="skip", max_iter=15, tolerance=0.0)
    assert (np.diff(plain.trace) >= -1e-9).all()
    shown = [pair for number, pair in enumerate(pairs) if number not in learned.impossible]
    assert fst.pair_log_likelihoods(learned.machine, shown).sum() == pytest.approx(learned.trace[-1], abs=1e-8)
    if objective == "joint":
        assert fst.total_weight(learned.machine) == pytest.approx(0.0, abs=1e-9)


def edits(letters: str) -> fst.Fst:
    """One state that copies, changes, deletes and inserts letters."""
    codes = [0, *map(ord, letters)]
    rows = [f"0 0 {a} {b} {0.7 if a == b else 0.05}" for a in codes for b in codes if a or b]
    return fst.compile_text("\n".join([*rows, "0 .5"]), semiring_name="real")


def test_a_conditional_model_gives_each_input_outputs_that_sum_to_one():
    learned = fst.learn_weights(
        edits("ab"), [("ab", "b"), ("a", "aa"), ("bb", "ba"), ("", "b")], objective="conditional", smoothing=0.1
    )
    sums = fst.pair_log_likelihoods(learned.machine, [(word, None) for word in ("", "a", "ab", "bbab")])
    assert sums == pytest.approx(np.zeros(4), abs=1e-9)


def test_weights_are_found_again_from_samples_of_a_machine():
    source = fst.compile_text(
        "0 0 97 98 .3\n0 1 97 97 .3\n1 1 98 97 .2\n1 0 98 98 .4\n0 .4\n1 .4", semiring_name="real"
    )
    drawn = fst.sample(source, 4000, random_state=3)
    pairs = [(x, y) for x, y, _ in fst.strings(drawn)]
    assert len(pairs) == 4000
    _, arcs, finals = source.arrays()
    start = with_weights(source, np.full(len(arcs), 0.2), np.full(len(finals), 0.2))
    learned = fst.learn_weights(start, pairs)
    weights = np.exp(-learned.machine.arrays()[1]["weight"])
    assert weights == pytest.approx(arcs["weight"], abs=0.03)
    assert learned.converged
    free = fst.learn_weights(start, pairs, method="gradient")
    assert free.trace[-1] == pytest.approx(learned.trace[-1], rel=1e-4)


def test_sides_that_are_missing_are_summed_over():
    machine = edits("ab")
    whole = fst.learn_weights(machine, [("ab", "ab"), ("a", None), (None, "b")], max_iter=5)
    counted = fst.learn_weights(
        machine, [("a", None), ("ab", "ab"), (None, "b")], max_iter=5, sample_weight=[1.0, 1.0, 1.0]
    )
    assert whole.trace == pytest.approx(counted.trace)
    double = fst.learn_weights(machine, [("ab", "ab"), ("ab", "ab")], max_iter=3)
    weighted = fst.learn_weights(machine, [("ab", "ab")], max_iter=3, sample_weight=[2.0])
    assert double.trace == pytest.approx(weighted.trace)


@pytest.mark.parametrize("method", ["em", "gradient"])
def test_the_same_bytes_come_from_any_number_of_threads(method):
    draw = np.random.default_rng(5)
    pairs = [("".join(draw.choice(list("abc"), 6)), "".join(draw.choice(list("abc"), 5))) for _ in range(60)]
    results = [
        fst.to_bytes(fst.learn_weights(edits("abc"), pairs, method=method, max_iter=4, n_jobs=jobs).machine)
        for jobs in (1, 2, 5)
    ]
    assert results[0] == results[1] == results[2]


def test_long_strings_neither_vanish_nor_overflow():
    machine = fst.compile_text("0 0 97 97 1e-3\n0 1", semiring_name="real")
    [total] = fst.pair_log_likelihoods(machine, [("a" * 5000, "a" * 5000)])
    assert total == pytest.approx(5000 * math.log(1e-3))
    large = fst.compile_text("0 0 97 97 1e3\n0 1", semiring_name="real")
    [total] = fst.pair_log_likelihoods(large, [("a" * 5000, None)])
    assert total == pytest.approx(5000 * math.log(1e3))


@pytest.mark.parametrize(
    ("pairs", "options", "message"),
    [
        ([], {}, "no pairs"),
        ("ab", {}, "a list of pairs"),
        (["ab"], {}, "no acceptor"),
        ([("a", "b", "c")], {}, "pair 1 is not"),
        ([(None, None)], {}, "neither side"),
        ([(None, "a")], {"objective": "conditional"}, "no input"),
        ([("a", None)], {"objective": "conditional"}, "no output"),
        ([("a", "a"), ("x", "a")], {}, "1 of 2 pairs have no path, the first is pair 2"),
        ([("x", "a")], {"errors": "skip"}, "have no path"),
        ([("a", 3)], {}, "pair 1: .* str"),
        ([("a", "a")], {"method": "newton"}, "method"),
        ([("a", "a")], {"l2": 1.0}, "method='gradient'"),
        ([("a", "a")], {"method": "gradient", "smoothing": 1.0}, "method='em'"),
        ([("a", "a")], {"sample_weight": [-1.0]}, "0 or more"),
    ],
)
def test_bad_pairs_are_refused_with_their_number(pairs, options, message):
    with pytest.raises(DataError, match=message):
        fst.learn_weights(edits("ab"), pairs, **options)


def test_a_silent_cycle_without_a_sum_is_refused():
    machine = fst.compile_text("0 0 0 0 1\n0 0 97 97 .5\n0 .5", semiring_name="real")
    with pytest.raises(DataError, match="neither read nor write"):
        fst.pair_log_likelihoods(machine, [("a", "a")])


def test_pairs_that_do_not_fit_are_listed():
    learned = fst.learn_weights(edits("ab"), [("a", "a"), ("x", "a"), ("b", "ab")], errors="skip", max_iter=2)
    assert learned.impossible == [1]
