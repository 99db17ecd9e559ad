"""Every operation changes the relation of a machine as its definition says: random machines, by enumeration."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from reference.fst import joined, random_fst, relation, same
from reference.fst import paths as enumerated

import textmill.fst as wfst
from textmill.errors import DataError
from textmill.fst import Fst, Semiring, semiring

COUNTS = [pytest.param(200, id="200"), pytest.param(10_000, id="10000", marks=pytest.mark.slow)]
SEMIRINGS = ["tropical", "log64", "real", "boolean", "left_string", "gallic(tropical)"]
COMMUTATIVE = ["tropical", "log64", "real", "boolean", "product(tropical,log64)", "custom"]


class Count:
    """Numbers of paths."""

    zero, one, commutative = 0, 1, True

    def plus(self, a: int, b: int) -> int:
        return a + b

    def times(self, a: int, b: int) -> int:
        return a * b


COUNTING = wfst.custom(Count())


def algebra_of(name: str) -> Semiring:
    return COUNTING if name == "custom" else semiring(name)


def list_paths(fst: Fst) -> list[Any]:
    return list(enumerated(fst))


def check(name: str, count: int, operation: Callable[[random.Random, Semiring], tuple[Fst, dict[Any, Any]]]) -> None:
    dice = random.Random(7)
    algebra = algebra_of(name)
    for case in range(count):
        made, expected = operation(dice, algebra)
        assert same(relation(made), expected, made.semiring), f"case {case}"


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", [*SEMIRINGS, "custom"])
def test_union_is_the_sum(name: str, count: int) -> None:
    def operation(dice: random.Random, algebra: Semiring) -> tuple[Fst, dict[Any, Any]]:
        a, b = random_fst(dice, algebra), random_fst(dice, algebra)
        return wfst.union(a, b), joined(algebra, [*relation(a).items(), *relation(b).items()])

    check(name, count, operation)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", [*SEMIRINGS, "custom"])
def test_concat_is_the_product(name: str, count: int) -> None:
    def operation(dice: random.Random, algebra: Semiring) -> tuple[Fst, dict[Any, Any]]:
        a, b = random_fst(dice, algebra, states=4, arcs=5), random_fst(dice, algebra, states=4, arcs=5)
        pairs = [((x + u, y + v), algebra.times(w, z)) for x, y, w in list_paths(a) for u, v, z in list_paths(b)]
        return wfst.concat(a, b), joined(algebra, pairs)

    check(name, count, operation)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", SEMIRINGS)
def test_reverse_turns_strings_and_weights_round(name: str, count: int) -> None:
    def operation(dice: random.Random, algebra: Semiring) -> tuple[Fst, dict[Any, Any]]:
        a = random_fst(dice, algebra)
        turned = wfst.reverse(a)
        pairs = [((x[::-1], y[::-1]), algebra.reverse(w)) for x, y, w in list_paths(a)]
        return turned, joined(turned.semiring, pairs)

    check(name, count, operation)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", SEMIRINGS)
def test_projection_sums_over_the_other_side(name: str, count: int) -> None:
    def operation(dice: random.Random, algebra: Semiring) -> tuple[Fst, dict[Any, Any]]:
        a = random_fst(dice, algebra)
        output = dice.random() < 0.5
        pairs = [((y, y) if output else (x, x), w) for x, y, w in list_paths(a)]
        return wfst.project(a, "output" if output else "input"), joined(algebra, pairs)

    check(name, count, operation)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", COMMUTATIVE)
def test_composition_sums_over_the_strings_between(name: str, count: int) -> None:
    def operation(dice: random.Random, algebra: Semiring) -> tuple[Fst, dict[Any, Any]]:
        a, b = random_fst(dice, algebra), random_fst(dice, algebra)
        pairs = [
            ((x, z), algebra.times(w, v))
            for (x, y), w in relation(a).items()
            for (u, z), v in relation(b).items()
            if y == u
        ]
        chosen = dice.choice(["sequence", "alt_sequence", "match"])
        if dice.random() < 0.5:
            a, b = wfst.arcsort(a, "olabel"), wfst.arcsort(b, "ilabel")
        return wfst.compose(a, b, compose_filter=chosen), joined(algebra, pairs)

    check(name, count, operation)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", COMMUTATIVE)
def test_difference_keeps_what_the_other_has_not(name: str, count: int) -> None:
    def operation(dice: random.Random, algebra: Semiring) -> tuple[Fst, dict[Any, Any]]:
        a = random_fst(dice, algebra, acceptor=True)
        b = wfst.arcmap(random_fst(dice, algebra, acceptor=True, epsilon=0.0), "rmweight")
        taken = relation(b)
        plain = wfst.determinize(wfst.map_weights(b, "boolean", lambda w: True))
        b = wfst.map_weights(plain, algebra, lambda w: algebra.one)
        return wfst.difference(a, b), {pair: w for pair, w in relation(a).items() if pair not in taken}

    check(name, count, operation)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", [*SEMIRINGS, "product(tropical,log64)", "custom"])
def test_epsilon_removal_keeps_the_relation(name: str, count: int) -> None:
    def operation(dice: random.Random, algebra: Semiring) -> tuple[Fst, dict[Any, Any]]:
        a = random_fst(dice, algebra, acceptor=True, epsilon=0.5)
        made = wfst.rmepsilon(a)
        assert not made.has("epsilons")
        return made, relation(a)

    check(name, count, operation)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", ["tropical", "log64", "real", "boolean", "minmax"])
def test_determinized_and_minimized_acceptors_are_equivalent(name: str, count: int) -> None:
    def operation(dice: random.Random, algebra: Semiring) -> tuple[Fst, dict[Any, Any]]:
        a = wfst.rmepsilon(random_fst(dice, algebra, acceptor=True))
        made = wfst.determinize(a)
        assert made.has("input_deterministic")
        assert same(relation(made), relation(a), algebra)
        small = wfst.minimize(made)
        assert small.num_states <= max(wfst.connect(made).num_states, 1)
        return small, relation(a)

    check(name, count, operation)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", ["tropical", "log64", "real"])
def test_determinized_and_minimized_transducers_are_equivalent(name: str, count: int) -> None:
    dice = random.Random(3)
    algebra = semiring(name)
    for _ in range(count):
        a = wfst.rmepsilon(random_fst(dice, algebra, input_epsilon=0.0))
        expected = relation(a)
        outputs = {x: {y for u, y in expected if u == x} for x, _ in expected}
        every = wfst.determinize(a, det_type="nonfunctional")
        assert same(relation(every), expected, algebra)
        if all(len(found) == 1 for found in outputs.values()):
            made = wfst.determinize(a)
            assert same(relation(made), expected, algebra)
            assert same(relation(wfst.minimize(made, allow_nondet=True)), expected, algebra)
        else:
            with pytest.raises(DataError, match="not functional: the input"):
                wfst.determinize(a)
        if name == "tropical":
            best = relation(wfst.determinize(a, det_type="disambiguate"))
            assert {x for x, _ in best} == set(outputs)
            for (x, y), weight in best.items():
                assert expected[x, y] == pytest.approx(weight)
                assert weight == pytest.approx(min(expected[x, other] for other in outputs[x]))


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", ["tropical", "log64", "real", "boolean"])
def test_pushing_and_encoding_keep_the_relation(name: str, count: int) -> None:
    def operation(dice: random.Random, algebra: Semiring) -> tuple[Fst, dict[Any, Any]]:
        a = random_fst(dice, algebra)
        chosen = dice.randrange(5)
        if chosen == 0:
            return wfst.push(a), relation(a)
        if chosen == 1:
            return wfst.push(a, to="final"), relation(a)
        if chosen == 2:
            return wfst.push(
                a, weights=dice.random() < 0.5, labels=True, to=dice.choice(["initial", "final"])
            ), relation(a)
        if chosen == 3:
            coded, encoder = wfst.encode(a, labels=dice.random() < 0.5, weights=True)
            return wfst.decode(coded, encoder), relation(a)
        coded, encoder = wfst.encode(a, labels=True)
        return wfst.decode(wfst.minimize(wfst.determinize(wfst.rmepsilon(coded))), encoder), relation(a)

    check(name, count, operation)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", ["tropical", "log64", "real", "boolean"])
def test_epsilon_normal_forms_keep_the_relation(name: str, count: int) -> None:
    def operation(dice: random.Random, algebra: Semiring) -> tuple[Fst, dict[Any, Any]]:
        a = random_fst(dice, algebra)
        chosen = dice.randrange(3)
        if chosen == 0:
            return wfst.synchronize(a), relation(a)
        side = ("input", "output")[chosen - 1]
        made = wfst.epsnormalize(a, side)
        for source, arc in made.iter_arcs():
            reads = arc.ilabel if side == "input" else arc.olabel
            if reads == 0:  # nothing that reads may follow
                assert all((arc2.ilabel if side == "input" else arc2.olabel) == 0 for arc2 in made.arcs(arc.nextstate))
            assert source >= 0
        return made, relation(a)

    check(name, count, operation)


@pytest.mark.parametrize("count", COUNTS)
def test_disambiguation_leaves_one_path_a_string_and_it_is_the_best(count: int) -> None:
    dice = random.Random(12)
    for _ in range(count):
        a = random_fst(dice, "tropical", arcs=14, input_epsilon=0.0)
        best: dict[Any, float] = {}
        for x, _, weight in list_paths(a):
            best[x] = min(weight, best.get(x, weight))
        made = list_paths(wfst.disambiguate(a))
        assert len({x for x, _, _ in made}) == len(made)
        assert {x: weight for x, _, weight in made} == pytest.approx(best)


@pytest.mark.parametrize("count", COUNTS)
def test_best_paths_are_those_of_the_sorted_list(count: int) -> None:
    dice = random.Random(5)
    for _ in range(count):
        a = random_fst(dice, "tropical", arcs=12)
        every = sorted(weight for _, _, weight in list_paths(a))
        for n in (1, 3, 10):
            found = [weight for _, _, weight in list_paths(wfst.shortest_path(a, n))]
            assert found == pytest.approx(every[:n])
        acceptor = wfst.project(a)
        strings = sorted(relation(acceptor).values())
        unique = relation(wfst.shortest_path(acceptor, 4, unique=True))
        assert sorted(unique.values()) == pytest.approx(strings[:4])
        assert all(relation(acceptor)[pair] == pytest.approx(weight) for pair, weight in unique.items())


@pytest.mark.parametrize("count", COUNTS)
def test_pruning_keeps_exactly_the_arcs_of_good_paths(count: int) -> None:
    dice = random.Random(6)
    pruned = 0
    for _ in range(count):
        a = random_fst(dice, "tropical", arcs=12)
        numbered = [  # paths as states, and arcs by their number
            (states, arcs, sum(a.arcs(s)[i].weight for s, i in arcs) + a.final(states[-1]))
            for states, arcs in numbered_paths(a)
        ]
        limit = min((weight for _, _, weight in numbered), default=0.0) + 0.5 + 1e-6
        good = [(states, arcs) for states, arcs, weight in numbered if weight <= limit]
        kept, ends = {arc for _, arcs in good for arc in arcs}, {states[-1] for states, _ in good}
        expected = Fst("tropical")
        expected.add_states(a.num_states)
        if a.start >= 0:
            expected.start = a.start
        for state, i in sorted(kept):
            arc = a.arcs(state)[i]
            expected.add_arc(state, arc.ilabel, arc.olabel, arc.weight, arc.nextstate)
        for state in ends:
            expected.set_final(state, a.final(state))
        made = wfst.prune(a, weight=0.5)
        assert made.num_arcs == len(kept)
        assert sorted(list_paths(made)) == sorted(list_paths(expected))
        pruned += len(kept) < a.num_arcs
    assert pruned > count / 4


def numbered_paths(fst: Fst) -> list[tuple[list[int], list[tuple[int, int]]]]:
    """The states of every path, and its arcs as (state, number)."""
    found, stack = [], [([fst.start], [])] if fst.start >= 0 else []
    while stack:
        states, arcs = stack.pop()
        if fst.final(states[-1]) != fst.semiring.zero:
            found.append((states, arcs))
        row = fst.arcs(states[-1])
        stack += [([*states, arc.nextstate], [*arcs, (states[-1], i)]) for i, arc in enumerate(row)]
    return found


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", ["tropical", "log64", "real", "boolean", "left_string", "custom"])
def test_distances_are_sums_over_paths(name: str, count: int) -> None:
    dice = random.Random(9)
    algebra = algebra_of(name)
    for _ in range(count):
        a = random_fst(dice, algebra)
        back = list(wfst.shortest_distance(a, reverse=True))
        for state in range(a.num_states):
            b = a.copy()
            b.start = state
            weights = [weight for _, _, weight in list_paths(b)]
            total = algebra.zero
            for weight in weights:
                total = algebra.plus(total, weight)
            value = back[state].item() if hasattr(back[state], "item") else back[state]
            assert algebra.approx_equal(value, total, 1e-6)
