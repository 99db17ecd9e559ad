"""Agreement with OpenFst, through its Python wrapper, on random machines with cycles."""

from __future__ import annotations

import collections
import itertools
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from reference.fst import paths, random_fst, relation, same

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


def test_determinization_and_minimization() -> None:
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


# ---- the same answer, path by path

SEMIRINGS = ["tropical", "log64"]


def ours(other: pywrapfst.Fst) -> wfst.Fst:
    return wfst.from_bytes(other.write_to_string())


def drawn(seed: str, name: str, **options: Any) -> Iterator[wfst.Fst]:
    """Machines that lead somewhere."""
    dice = random.Random(seed + name)
    for _ in range(CASES):
        fst = wfst.connect(random_fst(dice, name, **options))
        if fst.start >= 0:
            yield fst


def agree_exactly(made: wfst.Fst, other: pywrapfst.Fst, delta: float = 1e-3) -> None:
    assert same(relation(made), relation(ours(other)), made.semiring, delta)


EXACT: dict[str, Callable[[wfst.Fst, pywrapfst.Fst], tuple[wfst.Fst, pywrapfst.Fst]]] = {
    "closure": lambda a, b: (wfst.repeat(a, 1, 1), b),
    "determinize": lambda a, b: (
        wfst.determinize(wfst.project(a)),
        pywrapfst.determinize(b.project("input")),
    ),
    "epsnormalize": lambda a, b: (wfst.epsnormalize(a), pywrapfst.epsnormalize(b)),
    "epsnormalize output": lambda a, b: (wfst.epsnormalize(a, "output"), pywrapfst.epsnormalize(b, "output")),
    "map identity": lambda a, b: (wfst.arcmap(a, "identity"), pywrapfst.arcmap(b, map_type="identity")),
    "map input epsilon": lambda a, b: (
        wfst.arcmap(a, "input_epsilon"),
        pywrapfst.arcmap(b, map_type="input_epsilon"),
    ),
    "map invert": lambda a, b: (wfst.arcmap(a, "invert"), pywrapfst.arcmap(b, map_type="invert")),
    "map output epsilon": lambda a, b: (
        wfst.arcmap(a, "output_epsilon"),
        pywrapfst.arcmap(b, map_type="output_epsilon"),
    ),
    "map plus": lambda a, b: (
        wfst.arcmap(a, "plus", weight=0.5),
        pywrapfst.arcmap(b, map_type="plus", weight=0.5),
    ),
    "map power": lambda a, b: (wfst.arcmap(a, "power", power=3.0), pywrapfst.arcmap(b, map_type="power", power=3.0)),
    "map quantize": lambda a, b: (
        wfst.arcmap(a, "quantize", delta=0.5),
        pywrapfst.arcmap(b, map_type="quantize", delta=0.5),
    ),
    "map rmweight": lambda a, b: (wfst.arcmap(a, "rmweight"), pywrapfst.arcmap(b, map_type="rmweight")),
    "map superfinal": lambda a, b: (wfst.arcmap(a, "superfinal"), pywrapfst.arcmap(b, map_type="superfinal")),
    "map times": lambda a, b: (
        wfst.arcmap(a, "times", weight=0.5),
        pywrapfst.arcmap(b, map_type="times", weight=0.5),
    ),
    "push": lambda a, b: (wfst.push(a), pywrapfst.push(b, push_weights=True, delta=1e-9)),
    "push labels": lambda a, b: (wfst.push(a, weights=False, labels=True), pywrapfst.push(b, push_labels=True)),
    "push to final": lambda a, b: (
        wfst.push(a, to="final"),
        pywrapfst.push(b, push_weights=True, reweight_type="to_final", delta=1e-9),
    ),
    "push without the total": lambda a, b: (
        wfst.push(a, remove_total_weight=True),
        pywrapfst.push(b, push_weights=True, remove_total_weight=True, delta=1e-9),
    ),
    "relabel": lambda a, b: (
        wfst.relabel(a, input_pairs={1: 2, 2: 0}, output_pairs={1: 7}),
        b.relabel_pairs(ipairs=[(1, 2), (2, 0)], opairs=[(1, 7)]),
    ),
    "reverse": lambda a, b: (wfst.reverse(a), pywrapfst.reverse(b)),
    "reweight": lambda a, b: (
        wfst.reweight(a, [1.0 + state for state in range(a.num_states)]),
        b.reweight([1.0 + state for state in range(a.num_states)]),
    ),
    "reweight to final": lambda a, b: (
        wfst.reweight(a, [1.0 + state for state in range(a.num_states)], to="final"),
        b.reweight([1.0 + state for state in range(a.num_states)], reweight_type="to_final"),
    ),
    "rmepsilon": lambda a, b: (wfst.rmepsilon(a), b.rmepsilon()),
    "state map sum": lambda a, b: (wfst.arcmap(a, "arc_sum"), pywrapfst.statemap(b, "arc_sum")),
    "state map unique": lambda a, b: (wfst.arcmap(a, "arc_unique"), pywrapfst.statemap(b, "arc_unique")),
    "synchronize": lambda a, b: (wfst.synchronize(a), pywrapfst.synchronize(b)),
    "topsort": lambda a, b: (wfst.topsort(a), b.topsort()),
}


@pytest.mark.parametrize("name", SEMIRINGS)
@pytest.mark.parametrize("operation", EXACT)
def test_every_path_has_the_weight_of_the_reference(operation: str, name: str) -> None:
    for a in drawn(operation, name, arcs=9, epsilon=0.25):
        if operation.startswith("reweight to final") and a.num_states > 0:
            # the reference leaves the potential of the start in the paths
            made, other = EXACT[operation](a, theirs(a))
            scale = {pair: made.semiring.times(w, 1.0 + a.start) for pair, w in relation(made).items()}
            assert same(scale, relation(ours(other)), made.semiring, 1e-3) or same(
                relation(made), relation(ours(other)), made.semiring, 1e-3
            )
            continue
        agree_exactly(*EXACT[operation](a, theirs(a)))


@pytest.mark.parametrize("name", SEMIRINGS)
def test_cyclic_machines_agree_too(name: str) -> None:
    for a in drawn("cyclic", name, states=6, arcs=14, labels=3, cyclic=True):
        a = wfst.arcmap(a, "times", weight=3.0)
        agree(wfst.rmepsilon(a), theirs(a).rmepsilon())
        agree(wfst.push(a), pywrapfst.push(theirs(a), push_weights=True, delta=1e-9))
        agree(wfst.push(a, to="final"), theirs(a))
        agree(wfst.reverse(a), pywrapfst.reverse(theirs(a)), sizes=True)
        for reverse in (False, True):
            expected = [float(w) for w in pywrapfst.shortestdistance(theirs(a), reverse=reverse, delta=1e-10)]
            found = list(wfst.shortest_distance(a, reverse=reverse))
            assert found[: len(expected)] == pytest.approx(expected, abs=1e-5)
        other = wfst.arcmap(next(drawn(str(a.num_arcs), name, cyclic=True)), "times", weight=3.0)
        for chosen in ("sequence", "alt_sequence", "match", "no_match", "trivial"):
            composed = pywrapfst.compose(
                theirs(a).arcsort("olabel"), theirs(other).arcsort("ilabel"), compose_filter=chosen
            )
            agree(wfst.compose(a, other, compose_filter=chosen), composed, sizes=True)


def test_lists_of_best_strings_agree() -> None:
    for a in drawn("best", "tropical", states=6, arcs=14, labels=3, cyclic=True, acceptor=True):
        for n in (1, 5, 12):
            other = relation(ours(pywrapfst.shortestpath(theirs(a).rmepsilon(), nshortest=n, unique=True)))
            made = relation(wfst.shortest_path(a, n, unique=True))
            assert sorted(made.values()) == pytest.approx(sorted(other.values()), abs=1e-3)
            worst = max(made.values())
            assert {x for x, w in made.items() if w < worst - 1e-3} == {x for x, w in other.items() if w < worst - 1e-3}


def test_pruning_disambiguating_and_comparing_agree() -> None:
    dice = random.Random(31)
    for a in drawn("prune", "tropical", states=7, arcs=14, cyclic=True):
        for most in (2, 4):
            other = pywrapfst.prune(theirs(a), nstate=most, weight=100.0)
            assert wfst.prune(a, max_states=most).num_states <= most >= other.num_states()
        acceptor = wfst.project(a)
        if not acceptor.has("epsilons") and not a.has("cyclic"):
            agree_exactly(wfst.disambiguate(acceptor), pywrapfst.disambiguate(theirs(acceptor)))
        order = dice.sample(range(a.num_states), a.num_states)
        assert wfst.isomorphic(a, wfst.statesort(a, order))  # which the reference does not find if not deterministic
    machines = list(drawn("equal", "tropical", states=4, arcs=5, acceptor=True, epsilon=0.0, labels=1))
    made = [wfst.determinize(a) for a in machines]
    for a, b in itertools.pairwise(made):
        assert wfst.equivalent(a, b) == pywrapfst.equivalent(theirs(a), theirs(b))
        assert wfst.equal(a, b) == pywrapfst.equal(theirs(a), theirs(b))
        assert wfst.isomorphic(a, b) == pywrapfst.isomorphic(theirs(a), theirs(b))
        left, right = theirs(wfst.arcsort(a, "olabel")), theirs(wfst.arcmap(wfst.arcsort(b), "rmweight"))
        agree_exactly(wfst.difference(a, wfst.arcmap(b, "rmweight")), pywrapfst.difference(left, right))
        agree_exactly(wfst.intersect(a, b), pywrapfst.intersect(left, theirs(wfst.arcsort(b))))


@pytest.mark.parametrize("name", SEMIRINGS)
def test_encoding_agrees(name: str) -> None:
    arc_type = "standard" if name == "tropical" else name
    for a in drawn("encode", name, arcs=10, cyclic=True):
        for labels, weights in ((True, False), (False, True), (True, True)):
            mapper = pywrapfst.EncodeMapper(arc_type, encode_labels=labels, encode_weights=weights)
            other = theirs(a).encode(mapper)
            made, encoder = wfst.encode(a, labels=labels, weights=weights)
            assert (made.num_states, made.num_arcs) == (other.num_states(), ours(other).num_arcs)
            agree(wfst.decode(made, encoder), other.decode(mapper))


def test_random_paths_have_the_same_distribution() -> None:
    fst = wfst.compile_text("0 1 97 97 1\n0 1 98 98 2\n0 2 99 99 0.5\n1 3 100 100 1\n1 0.5\n2 3 101 101\n3\n")
    for select, theirs_select in (("uniform", "uniform"), ("log_prob", "log_prob")):
        made = wfst.randgen(fst, 20_000, select=select, weighted=True, random_state=5)
        other = pywrapfst.randgen(theirs(fst), npath=20_000, select=theirs_select, seed=5)
        shares = {x: math.exp(-w) for x, _, w in paths(made)}
        counts = collections.Counter(x for x, _, _ in paths(ours(other)))
        assert shares.keys() == counts.keys()
        for x, share in shares.items():
            assert share == pytest.approx(counts[x] / 20_000, abs=0.02)


def test_symbol_tables_relabel_alike() -> None:
    old, new = wfst.SymbolTable(["<eps>", "a", "b"]), wfst.SymbolTable(["<eps>", "b", "c", "a"])
    tables = []
    for table in (old, new):
        other = pywrapfst.SymbolTable()
        for key, symbol in table.items():
            other.add_symbol(symbol, key)
        tables.append(other)
    for a in drawn("symbols", "tropical"):
        a.input_symbols = a.output_symbols = old
        made = wfst.relabel_symbols(a, input_symbols=new, output_symbols=new)
        other = theirs(a).relabel_tables(
            old_isymbols=tables[0], new_isymbols=tables[1], old_osymbols=tables[0], new_osymbols=tables[1]
        )
        assert relation(made) == relation(ours(other))
        assert theirs(made).output_symbols().find("a") == 3
