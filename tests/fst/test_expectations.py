"""Derivatives, expectations, entropy and divergences against enumeration, finite differences and closed forms."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill import fst
from textmill.errors import DataError


def random_machine(seed: int, *, states: int = 4, arcs: int = 8, acyclic: bool = False, labels: int = 3) -> fst.Fst:
    """A machine over real weights whose arcs lose mass, so that all sums exist; label 0 is among its labels."""
    draw = np.random.default_rng(seed)
    sources = np.sort(draw.integers(0, states, arcs))
    targets = draw.integers(0, states, arcs)
    if acyclic:
        sources, targets = np.minimum(sources, targets), np.maximum(sources, targets)
        kept = sources < targets
        sources, targets = sources[kept], targets[kept]
        order = np.argsort(sources, kind="stable")
        sources, targets = sources[order], targets[order]
    return fst.Fst.from_arrays(
        "real",
        start=0,
        sources=sources,
        ilabels=draw.integers(0, labels, len(sources)),
        olabels=draw.integers(0, labels, len(sources)),
        nextstates=targets,
        weights=draw.uniform(0.01, 0.9 / arcs, len(sources)),
        final_states=np.arange(states),
        final_weights=draw.uniform(0.05, 0.5, states),
        states=states,
    )


def with_weights(machine: fst.Fst, weights: np.ndarray, finals: np.ndarray) -> fst.Fst:
    offsets, arcs, _ = machine.arrays()
    return fst.Fst.from_arrays(
        "real",
        start=machine.start,
        sources=np.repeat(np.arange(machine.num_states), np.diff(offsets)),
        ilabels=arcs["ilabel"],
        olabels=arcs["olabel"],
        nextstates=arcs["nextstate"],
        weights=weights,
        final_states=np.flatnonzero(finals),
        final_weights=finals[finals > 0],
        states=machine.num_states,
    )


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**31))
def test_gradient_of_the_total_is_that_of_finite_differences(seed):
    machine = random_machine(seed)
    gradient = fst.total_weight_gradient(machine)
    _, arcs, finals = machine.arrays()
    for values, slopes in ((arcs["weight"], gradient.arcs), (finals, gradient.finals)):
        for i in range(len(values)):
            totals = []
            for step in (1e-6, -1e-6):
                moved = [np.array(arcs["weight"]), np.array(finals)]
                moved[values is finals][i] += step
                totals.append(fst.total_weight(with_weights(machine, *moved)))
            assert slopes[i] == pytest.approx((totals[0] - totals[1]) / 2e-6, rel=1e-5, abs=1e-9)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**31))
def test_counts_and_entropy_are_those_of_all_paths_one_by_one(seed):
    machine = random_machine(seed, acyclic=True)
    offsets, arcs, finals = machine.arrays()
    paths: list[tuple[float, list[int]]] = []

    def walk(state: int, weight: float, used: list[int]) -> None:
        if finals[state]:
            paths.append((weight * finals[state], used))
        for arc in range(offsets[state], offsets[state + 1]):
            walk(int(arcs["nextstate"][arc]), weight * float(arcs["weight"][arc]), [*used, arc])

    walk(0, 1.0, [])
    total = sum(weight for weight, _ in paths)
    expected = np.zeros(len(arcs))
    for weight, used in paths:
        for arc in used:
            expected[arc] += weight / total
    counts = fst.expected_counts(machine)
    assert counts.total == pytest.approx(math.log(total))
    assert counts.arcs == pytest.approx(expected, abs=1e-12)
    assert fst.entropy(machine) == pytest.approx(-sum(w / total * math.log(w / total) for w, _ in paths), abs=1e-9)
    values = np.arange(2.0 * len(arcs)).reshape(-1, 2)
    assert fst.expected_values(machine, values) == pytest.approx(expected @ values)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**31))
def test_the_expectation_semiring_gives_the_same_means_forwards(seed):
    machine = random_machine(seed)
    draw = np.random.default_rng(seed)
    values, final_values = draw.uniform(0, 2, (machine.num_arcs, 3)), draw.uniform(0, 2, (machine.num_states, 3))
    total, *sums = fst.total_weight(fst.to_expectation(machine, values, final_values))
    means = fst.expected_values(machine, values, final_values)
    assert total == pytest.approx(fst.total_weight(machine), rel=1e-9)
    assert [value / total for value in sums] == pytest.approx(means.tolist(), rel=1e-7)


def geometric(stay: float) -> fst.Fst:
    return fst.compile_text(f"0 0 97 97 {stay}\n0 {1 - stay}", semiring_name="real")


def test_distances_of_geometric_distributions_have_closed_forms():
    p, q = 0.75, 0.5
    relative = math.log((1 - p) / (1 - q)) + p / (1 - p) * math.log(p / q)
    assert fst.divergence(geometric(p), geometric(q)) == pytest.approx(relative)
    affinity = math.sqrt((1 - p) * (1 - q)) / (1 - math.sqrt(p * q))
    assert fst.divergence(geometric(p), geometric(q), "hellinger") == pytest.approx(math.sqrt(1 - affinity))
    inner = [(1 - a) * (1 - b) / (1 - a * b) for a, b in ((p, p), (p, q), (q, q))]
    assert fst.divergence(geometric(p), geometric(q), "l2") == pytest.approx(
        math.sqrt(inner[0] - 2 * inner[1] + inner[2])
    )
    assert fst.entropy(geometric(p)) == pytest.approx(-math.log(1 - p) - p / (1 - p) * math.log(p))


def test_machines_with_several_paths_per_string_are_summed_before_they_are_compared():
    twice = fst.compile_text("0 1 97 97 .25\n0 2 97 97 .25\n0 2 98 98 .5\n1\n2", semiring_name="real")
    once = fst.compile_text("0 1 97 97 .5\n0 1 98 98 .5\n1", semiring_name="real")
    for kind in fst.DIVERGENCES:
        assert fst.divergence(twice, once, kind) == pytest.approx(0.0, abs=1e-6)


def test_a_string_that_the_second_machine_lacks_is_infinitely_surprising():
    a, both = (fst.string_map(words, semiring_name="log64") for words in (["a"], ["a", "b"]))
    assert fst.divergence(both, a) == math.inf
    assert fst.divergence(a, both) == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fst.entropy(fst.accep("a")), "convert the machine to 'log64'"),
        (lambda: fst.entropy(fst.Fst("log64")), "no path"),
        (lambda: fst.divergence(fst.Fst("log64"), geometric(0.5)), "first machine has no path"),
        (lambda: fst.divergence(geometric(0.5), fst.string_map([("a", "b")], semiring_name="log64")), "second machine"),
        (lambda: fst.divergence(geometric(0.5), geometric(0.5), "cosine"), "kind"),
        (lambda: fst.expected_values(geometric(0.5), [1.0, 2.0]), "one row for each arc, 1 in all"),
        (lambda: fst.expected_values(geometric(0.5), [math.nan]), "finite"),
        (lambda: fst.to_expectation(geometric(0.5), [-1.0]), "0 or more"),
    ],
)
def test_bad_input_is_refused_with_the_reason(call, message):
    with pytest.raises(DataError, match=message):
        call()


def test_a_machine_without_a_path_has_no_counts():
    counts = fst.expected_counts(fst.compile_text("0 1 1 1 .5", semiring_name="real"))
    assert counts.total == -math.inf
    assert counts.arcs.tolist() == [0.0]
