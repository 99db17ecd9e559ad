"""Agreement with OpenFst, through its Python wrapper, on random machines with cycles."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest
from reference.fst import paths, random_fst

import textmill.fst as wfst

pywrapfst = pytest.importorskip("pywrapfst")
CASES = 60


def theirs(fst: wfst.Fst) -> pywrapfst.Fst:
    return pywrapfst.Fst.read_from_string(wfst.to_bytes(fst))


def agree(ours: wfst.Fst, other: pywrapfst.Fst, sizes: bool = False) -> None:
    if sizes:
        assert (ours.num_states, ours.num_arcs) == (
            other.num_states(),
            sum(other.num_arcs(state) for state in other.states()),
        )
    ours, other = wfst.connect(ours), other.copy().connect()
    if ours.start < 0 or other.start() < 0:
        assert (ours.start < 0) == (other.start() < 0)
        return
    assert pywrapfst.randequivalent(theirs(ours), other, npath=30, delta=1e-2, seed=1, max_length=20)


def machines(seed: int, epsilon: float = 0.2) -> Iterator[wfst.Fst]:
    dice = random.Random(seed)
    for _ in range(CASES):
        yield random_fst(dice, "tropical", states=6, arcs=14, labels=3, cyclic=True, epsilon=epsilon)


def test_rational_operations() -> None:
    for a, b in zip(machines(1), machines(2), strict=True):
        agree(wfst.union(a, b), theirs(a).union(theirs(b)))
        agree(wfst.concat(a, b), theirs(a).concat(theirs(b)), sizes=True)
        agree(wfst.closure(a), theirs(a).closure())
        agree(wfst.closure(a, star=False), theirs(a).closure(closure_type="plus"))
        agree(wfst.reverse(a), pywrapfst.reverse(theirs(a)), sizes=True)
        agree(wfst.invert(a), theirs(a).invert(), sizes=True)
        agree(wfst.project(a, "output"), theirs(a).project("output"), sizes=True)
        agree(wfst.connect(a), theirs(a).connect(), sizes=True)


@pytest.mark.parametrize("name", ["sequence", "alt_sequence", "match", "trivial", "null"])
def test_composition(name: str) -> None:
    for a, b in zip(machines(3), machines(4), strict=True):
        other = pywrapfst.compose(theirs(a).arcsort("olabel"), theirs(b).arcsort("ilabel"), compose_filter=name)
        agree(wfst.compose(a, b, compose_filter=name), other, sizes=True)


def test_epsilon_removal_pushing_pruning() -> None:
    for a in machines(5, epsilon=0.4):
        agree(wfst.rmepsilon(a), theirs(a).rmepsilon())
        agree(wfst.prune(a, weight=1.0), pywrapfst.prune(theirs(a), weight=1.0), sizes=True)
        agree(wfst.push(wfst.connect(a)), pywrapfst.push(theirs(wfst.connect(a)), push_weights=True))
        expected = [float(weight) for weight in pywrapfst.shortestdistance(theirs(a))]
        found = wfst.shortest_distance(a)
        assert list(found[: len(expected)]) == pytest.approx(expected, abs=1e-3)
        assert all(weight == math.inf for weight in found[len(expected) :])


def test_best_paths() -> None:
    for a in machines(6):
        for n in (1, 4, 9):
            other = pywrapfst.shortestpath(theirs(a), nshortest=n)
            expected = sorted(weight for _, _, weight in paths(wfst.from_bytes(other.write_to_string())))
            found = [weight for _, _, weight in paths(wfst.shortest_path(a, n))]
            assert found == pytest.approx(expected, abs=1e-3)


def test_determinisation_and_minimisation() -> None:
    dice = random.Random(8)
    for _ in range(CASES):
        a = wfst.connect(random_fst(dice, "tropical", arcs=12, acceptor=True, epsilon=0.0))
        if a.start < 0:
            continue
        made, other = wfst.determinize(a), pywrapfst.determinize(theirs(a))
        agree(made, other, sizes=True)
        agree(wfst.minimize(made), other.copy().minimize(), sizes=True)
        t = wfst.connect(random_fst(dice, "tropical", arcs=9, epsilon=0.0, labels=4))
        if t.start < 0:
            continue
        agree(wfst.determinize(t, det_type="nonfunctional"), pywrapfst.determinize(theirs(t), det_type="nonfunctional"))
        coded = wfst.encode(t, labels=True)[0]
        agree(wfst.minimize(wfst.determinize(coded)), pywrapfst.determinize(theirs(coded)).minimize(), sizes=True)


def test_normal_forms_and_replacement() -> None:
    dice = random.Random(9)
    for _ in range(CASES):
        a = random_fst(dice, "tropical", arcs=9)
        agree(wfst.synchronize(a), pywrapfst.synchronize(theirs(a)))
        for side in ("input", "output"):
            agree(wfst.epsnormalize(a, side), pywrapfst.epsnormalize(theirs(a), eps_norm_type=side))
        rule = wfst.map_arcs(a, lambda source, arc: arc._replace(olabel=9) if arc.olabel == 1 else arc)
        b = random_fst(dice, "tropical", arcs=6)
        for call in ("neither", "input", "output", "both"):
            other = pywrapfst.replace([(5, theirs(rule)), (9, theirs(b))], call_arc_labeling=call)
            agree(wfst.replace({5: rule, 9: b}, 5, call_arc_labeling=call), other)


def test_comparisons() -> None:
    dice = random.Random(10)
    for a in machines(11):
        order = dice.sample(range(a.num_states), a.num_states)
        assert wfst.isomorphic(a, wfst.statesort(a, order))
        b = a.copy()
        b.add_arc(a.start, 1, 1, None, a.start)
        assert not wfst.isomorphic(a, b)
        assert wfst.rand_equivalent(a, wfst.arcsort(a), npath=10, max_length=8)
        acceptor = wfst.connect(random_fst(dice, "tropical", acceptor=True, epsilon=0.0))
        made = wfst.determinize(acceptor)
        assert wfst.equivalent(made, wfst.minimize(made))
        assert wfst.equivalent(made, wfst.push(made, to="final"))
        if made.start >= 0:
            assert not wfst.equivalent(made, wfst.arcmap(made, "times", weight=1.0)) or not made.num_arcs
