"""The quick ways of operations give what their definitions give."""

from __future__ import annotations

import numpy as np
import pytest

import textmill.fst as wfst


def random_automaton(seed: int, *, states: int = 30, labels: int = 3, kinds: int = 2) -> wfst.Fst:
    """Deterministic, with cycles; arcs in any order, as many final states as not."""
    dice = np.random.default_rng(seed)
    rows = [
        (s, int(label), int(dice.integers(states)), float(dice.integers(kinds)))
        for s in range(states)
        for label in dice.permutation(labels)[: dice.integers(1, labels + 1)] + 1
    ]
    finals = np.flatnonzero(dice.random(states) < 0.5)
    return wfst.Fst.from_arrays(
        "tropical",
        start=0,
        sources=[row[0] for row in rows],
        ilabels=[row[1] for row in rows],
        olabels=[row[1] for row in rows],
        nextstates=[row[2] for row in rows],
        weights=np.array([row[3] for row in rows], dtype=np.float32),
        final_states=finals,
        states=states,
    )


def useful(fst: wfst.Fst) -> set[int]:
    """States on a path from the start to a final state, by following arcs until nothing changes."""
    arcs = [(s, arc.nextstate) for s in fst.states() for arc in fst.arcs(s)]
    reached, ending = {fst.start}, {s for s in fst.states() if fst.is_final(s)}
    for _ in range(fst.num_states):
        reached |= {t for s, t in arcs if s in reached}
        ending |= {s for s, t in arcs if t in ending}
    return reached & ending


def classes_of(fst: wfst.Fst) -> int:
    """Number of classes of states that cannot be told apart (Moore 1956)."""
    kind: dict[int, object] = {s: (fst.is_final(s), fst.final(s)) for s in fst.states()}
    for _ in range(fst.num_states):
        seen = {s: (kind[s], frozenset((a.ilabel, a.weight, kind[a.nextstate]) for a in fst.arcs(s))) for s in kind}
        number = {value: i for i, value in enumerate(dict.fromkeys(seen.values()))}
        kind = {s: number[seen[s]] for s in kind}
    return len(set(kind.values()))


@pytest.mark.parametrize("seed", range(40))
def test_connect_keeps_the_states_on_paths(seed: int) -> None:
    fst = random_automaton(seed, labels=2, states=25)
    for s in range(0, 25, 2):
        fst.set_final(s, float("inf"))  # few ends, so that many states lead nowhere or only backwards to one
    kept = useful(fst)
    assert wfst.connect(fst).num_states == (len(kept) if fst.start in kept else 0)


@pytest.mark.parametrize("seed", range(40))
def test_cyclic_machines_are_minimized_as_far_as_moore_does(seed: int) -> None:
    fst = wfst.connect(random_automaton(seed, labels=1 + seed % 3, kinds=1))
    assert wfst.minimize(fst).num_states == (classes_of(fst) if fst.num_states else 0)
    assert wfst.equivalent(wfst.minimize(fst), fst)


@pytest.mark.parametrize("seed", range(20))
def test_states_that_only_far_arcs_tell_apart_stay_apart(seed: int) -> None:
    # two rings of the same labels: only one state of the second is not final
    size = 20 + seed
    fst = wfst.Fst()
    fst.add_states(2 * size + 1)
    fst.start = 2 * size
    fst.add_arc(2 * size, 1, 1, None, 0)
    fst.add_arc(2 * size, 2, 2, None, size)
    for ring in range(2):
        for i in range(size):
            fst.add_arc(ring * size + i, 1, 1, None, ring * size + (i + 1) % size)
            if ring == 0 or i != seed:
                fst.set_final(ring * size + i)
    fst.set_final(2 * size)
    assert wfst.minimize(fst).num_states == size + 2


@pytest.mark.parametrize("seed", range(20))
def test_a_deterministic_machine_is_determinized_by_renumbering(seed: int) -> None:
    fst = random_automaton(seed, kinds=3)
    made = wfst.determinize(fst)
    assert made.has("input_sorted")
    assert made.num_states == len({0} | _reached(fst))
    assert wfst.equal(wfst.determinize(made), made)
    coded, _ = wfst.encode(wfst.connect(fst), labels=True, weights=True)
    again, _ = wfst.encode(wfst.connect(made), labels=True, weights=True)
    assert wfst.minimize(wfst.determinize(coded)).num_states == wfst.minimize(wfst.determinize(again)).num_states


def _reached(fst: wfst.Fst) -> set[int]:
    reached = {fst.start}
    for _ in range(fst.num_states):
        reached |= {arc.nextstate for s in reached for arc in fst.arcs(s)}
    return reached


@pytest.mark.parametrize("seed", range(40))
def test_the_best_path_of_a_cyclic_machine_has_the_least_weight(seed: int) -> None:
    fst = random_automaton(seed, kinds=4)
    d = {s: fst.final(s) for s in fst.states()}
    for _ in d:  # Bellman (1958)
        d = {s: min([fst.final(s), *(arc.weight + d[arc.nextstate] for arc in fst.arcs(s))]) for s in d}
    assert wfst.total_weight(wfst.shortest_path(fst)) == d[fst.start]
    assert wfst.shortest_distance(fst, reverse=True).tolist() == [d[s] for s in fst.states()]


def test_of_equal_paths_in_a_cyclic_machine_the_one_with_the_earlier_arcs_is_taken() -> None:
    fst = wfst.compile_text("0 0 7 7\n0 2 3 3 1\n0 1 1 1 1\n1 1 9 9\n1 3 2 2 1\n2 3 4 4 1\n2 0 5 5\n3")
    assert [arc.ilabel for s in range(2) for arc in wfst.shortest_path(fst).arcs(s)] == [3, 4]


def test_a_cycle_without_weight_does_not_catch_the_best_path() -> None:
    fst = wfst.compile_text("0 1 1 1\n1 0 2 2\n1 2 3 3\n2 1 4 4\n2 3 5 5 1\n3 0 6 6\n3")
    assert [arc.ilabel for s in range(3) for arc in wfst.shortest_path(fst).arcs(s)] == [1, 3, 5]


def test_a_cyclic_machine_without_an_end_has_no_best_path() -> None:
    assert wfst.shortest_path(wfst.compile_text("0 1 1 1\n1 0 2 2")).num_states == 0


@pytest.mark.parametrize("seed", range(20))
def test_epsilons_are_removed_wherever_they_lead(seed: int) -> None:
    dice = np.random.default_rng(seed)
    rows = [
        (int(s), int(dice.integers(3)), int(dice.integers(12)), float(dice.integers(1, 4)))
        for s in range(12)
        for _ in range(3)
    ]
    text = "\n".join(f"{s} {t} {label} {label} {w}" for s, label, t, w in rows)
    fst = wfst.compile_text(f"{text}\n{dice.integers(12)} 1\n{dice.integers(12)}")
    made = wfst.rmepsilon(fst)
    assert not made.has("epsilons")
    for _ in range(20):
        labels = dice.integers(1, 3, dice.integers(5)).tolist()
        line = _line(labels)
        assert wfst.total_weight(wfst.compose(line, made)) == wfst.total_weight(wfst.compose(line, fst))


def _line(labels: list[int]) -> wfst.Fst:
    n = len(labels)
    return wfst.Fst.from_arrays(
        "tropical",
        start=0,
        sources=list(range(n)),
        ilabels=labels,
        olabels=labels,
        nextstates=list(range(1, n + 1)),
        final_states=[n],
        states=n + 1,
    )
