"""Lazy machines: each operation gives what the eager one gives, with any cache, from any thread."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from reference.fst import random_fst, relation, same

import textmill.fst as wfst
from textmill.errors import DataError
from textmill.fst import Arc, Fst, lazy
from textmill.fst.lazy import LazyFst

COUNTS = [pytest.param(12, id="12"), pytest.param(600, id="600", marks=pytest.mark.slow)]
NUMBERS = ["tropical", "tropical64", "log", "log64", "real", "boolean", "minmax", "signed_log"]
OTHERS = ["left_string", "gallic(tropical)", "product(tropical,log64)"]
ALL = [*NUMBERS, *OTHERS]
COMMUTATIVE = [*NUMBERS, "product(tropical,log64)"]
DIVISIBLE = [name for name in COMMUTATIVE if name != "minmax"]

Case = tuple[LazyFst, Fst]  # a lazy result, and the eager one
TABLE: dict[str, tuple[list[str], bool, Callable[..., Case]]] = {}


def case(names: list[str], *, isomorphic: bool = True) -> Callable[..., Any]:
    """Put a function into the table: semirings, and whether the two machines are the same but for their numbers."""

    def enter(function: Callable[..., Case]) -> Callable[..., Case]:
        TABLE[function.__name__] = (names, isomorphic, function)
        return function

    return enter


def small(dice: random.Random, name: str, **options: Any) -> Fst:
    return random_fst(dice, name, **{"states": 4, "arcs": 6, **options})


@case(ALL, isomorphic=False)
def union(dice: random.Random, name: str, cache: int | None) -> Case:
    a, b, c = (small(dice, name) for _ in range(3))
    return lazy.union(a, b, c, cache=cache), wfst.union(a, b, c)


@case(ALL, isomorphic=False)
def concat(dice: random.Random, name: str, cache: int | None) -> Case:
    a, b, c = (small(dice, name, states=3, arcs=4) for _ in range(3))
    return lazy.concat(a, b, c, cache=cache), wfst.concat(a, b, c)


@case(ALL)
def closure(dice: random.Random, name: str, cache: int | None) -> Case:
    a, star = wfst.connect(small(dice, name)), dice.random() < 0.5
    return lazy.closure(a, star=star, cache=cache), wfst.connect(wfst.closure(a, star=star))


@case(ALL)
def invert(dice: random.Random, name: str, cache: int | None) -> Case:
    a = small(dice, name)
    return lazy.invert(a, cache=cache), wfst.invert(a)


@case(ALL)
def project(dice: random.Random, name: str, cache: int | None) -> Case:
    a, side = small(dice, name), dice.choice(["input", "output"])
    return lazy.project(a, side, cache=cache), wfst.project(a, side)


@case(ALL)
def relabel(dice: random.Random, name: str, cache: int | None) -> Case:
    a, pairs = small(dice, name), {1: dice.randint(0, 3), 2: 3}
    return (
        lazy.relabel(a, input_pairs=pairs, output_pairs=pairs.items(), cache=cache),
        wfst.relabel(a, input_pairs=pairs, output_pairs=pairs),
    )


@case(ALL)
def arcsort(dice: random.Random, name: str, cache: int | None) -> Case:
    a, by = small(dice, name), dice.choice(["ilabel", "olabel"])
    return lazy.arcsort(a, by, cache=cache), wfst.arcsort(a, by)


@case(ALL)
def arcmap(dice: random.Random, name: str, cache: int | None) -> Case:
    a = small(dice, name)
    kinds = ["identity", "rmweight", "quantize", "superfinal", "input_epsilon", "output_epsilon", "arc_unique"]
    kind = dice.choice([*kinds, *(["arc_sum", "times", "plus"] if name in DIVISIBLE else [])])
    weight = a.semiring.one if kind in ("times", "plus") else None
    return lazy.arcmap(a, kind, weight=weight, cache=cache), wfst.arcmap(a, kind, weight=weight)


@case(["tropical", "log64", "real", "minmax"])
def convert(dice: random.Random, name: str, cache: int | None) -> Case:
    a, to = small(dice, name), dice.choice(["tropical", "log", "tropical64", "boolean"])
    return lazy.convert(a, to, cache=cache), wfst.convert(a, to)


@case(["tropical", "log64"])
def to_gallic(dice: random.Random, name: str, cache: int | None) -> Case:
    a = small(dice, name)
    return lazy.to_gallic(a, "gallic_left", cache=cache), wfst.to_gallic(a, "gallic_left")


@case(["left_string", "gallic(tropical)", "gallic_left(tropical)", "tropical"])
def factor_weight(dice: random.Random, name: str, cache: int | None) -> Case:
    a, arcs = small(dice, name), dice.random() < 0.7
    return lazy.factor_weight(a, arcs=arcs, cache=cache), wfst.factor_weight(a, arcs=arcs)


@case(ALL)
def encode_and_decode(dice: random.Random, name: str, cache: int | None) -> Case:
    a, labels = wfst.connect(small(dice, name)), dice.random() < 0.7
    coded, encoder = lazy.encode(a, labels=labels, weights=dice.random() < 0.5 or not labels, cache=cache)
    whole = wfst.encode(a, encoder=encoder)[0]
    if dice.random() < 0.5:
        return coded, whole
    return lazy.decode(coded, encoder, cache=cache), wfst.decode(whole, encoder)


@case([name for name in ALL if name != "signed_log"], isomorphic=False)
def rmepsilon(dice: random.Random, name: str, cache: int | None) -> Case:
    a = small(dice, name, epsilon=0.5)
    return lazy.rmepsilon(a, cache=cache), wfst.rmepsilon(a)


@case(["tropical", "tropical64", "log", "log64", "real", "boolean", "left_string"])
def determinize(dice: random.Random, name: str, cache: int | None) -> Case:
    a = small(dice, name, acceptor=True, epsilon=0.0, states=5, arcs=9)
    return lazy.determinize(a, cache=cache), wfst.determinize(a)


@case(["tropical", "log64"])
def determinize_transducers(dice: random.Random, name: str, cache: int | None) -> Case:
    a = wfst.connect(small(dice, name, input_epsilon=0.0, states=5, arcs=9))
    return (
        lazy.determinize(a, det_type="nonfunctional", subsequential_label=3, cache=cache),
        wfst.determinize(a, det_type="nonfunctional", subsequential_label=3),
    )


@case(ALL)
def synchronize(dice: random.Random, name: str, cache: int | None) -> Case:
    a = wfst.connect(small(dice, name, epsilon=0.4))
    return lazy.synchronize(a, cache=cache), wfst.synchronize(a)


@case(ALL)
def replace(dice: random.Random, name: str, cache: int | None) -> Case:
    machines = {7: small(dice, name), 1: small(dice, name, labels=1)}
    machines[1] = wfst.relabel(machines[1], output_pairs={1: 5})
    options = {"call_arc_labeling": dice.choice(["neither", "input", "both"]), "return_label": 4,
               "return_arc_labeling": dice.choice(["neither", "output"])}  # fmt: skip
    return lazy.replace(machines, 7, cache=cache, **options), wfst.replace(machines, 7, **options)


@case(COMMUTATIVE)
def compose(dice: random.Random, name: str, cache: int | None) -> Case:
    a, b = small(dice, name), small(dice, name)
    given = dice.choice(wfst.FILTERS)
    kind = dice.choice(["auto", "hash"])
    return (
        lazy.compose(a, b, compose_filter=given, right=lazy.Matcher(kind=kind), cache=cache),
        wfst.compose(a, b, compose_filter=given, connect=False),
    )


@case(COMMUTATIVE)
def compose_special(dice: random.Random, name: str, cache: int | None) -> Case:
    a, b = small(dice, name, labels=3), small(dice, name, labels=4)
    labels: dict[str, Any] = dict(zip(dice.sample(["sigma", "rho", "phi"], 2), (3, 4), strict=True))
    options = {"phi_finals": dice.random() < 0.5, "rewrite": dice.choice(["always", "never", "auto"])}
    if dice.random() < 0.5:
        made = lazy.compose(a, b, right=lazy.Matcher(**labels), cache=cache, **options)
        return made, wfst.compose(a, b, connect=False, **labels, **options)
    made = lazy.compose(b, a, left=lazy.Matcher(**labels), cache=cache, **options)
    return made, wfst.compose(b, a, connect=False, special="left", **labels, **options)


@case(COMMUTATIVE, isomorphic=False)
def compose_ahead(dice: random.Random, name: str, cache: int | None) -> Case:
    a, b = small(dice, name, states=5, arcs=10, epsilon=0.4), small(dice, name, labels=3)
    pushes = lazy.PUSHES if name in DIVISIBLE else ("none", "labels")
    ahead = dice.choice(["arc", "output", "input"])
    push = "none" if ahead == "arc" else dice.choice(pushes)
    return lazy.compose(a, b, look_ahead=ahead, push=push, cache=cache), wfst.compose(a, b)


def one_phi(fst: Fst, phi: int | None) -> Fst:
    """Without further phi arcs of a state, on either side: which of several is followed depends on their order."""
    for field in ("ilabel", "olabel"):
        seen: set[int] = set()

        def kept(source: int, arc: Arc, field: str = field, seen: set[int] = seen) -> Arc | None:
            if getattr(arc, field) != phi:
                return arc
            first = source not in seen
            seen.add(source)
            return arc if first else None

        fst = wfst.map_arcs(fst, kept)
    return fst


@case(COMMUTATIVE, isomorphic=False)
def compose_special_ahead(dice: random.Random, name: str, cache: int | None) -> Case:
    a, b = small(dice, name, labels=2, epsilon=0.4), small(dice, name, labels=4, epsilon=0.1)
    labels: dict[str, Any] = dict(zip(dice.sample(["sigma", "rho", "phi"], 2), (3, 4), strict=True))
    push = dice.choice(["none", "weights"]) if name in DIVISIBLE else "none"
    b = one_phi(b, labels.get("phi"))
    if dice.random() < 0.5:
        made = lazy.compose(a, b, right=lazy.Matcher(**labels), look_ahead="output", push=push, cache=cache)
        return made, wfst.compose(a, b, **labels)
    made = lazy.compose(b, a, left=lazy.Matcher(**labels), look_ahead="input", push=push, cache=cache)
    return made, wfst.compose(b, a, special="left", **labels)


@case(COMMUTATIVE)
def compose_with_many_epsilons(dice: random.Random, name: str, cache: int | None) -> Case:
    a, b = small(dice, name), small(dice, name, labels=3)
    made = lazy.compose(a, b, right=lazy.Matcher(epsilons=(3, 2)), left=lazy.Matcher(epsilons=(2,)), cache=cache)
    silent = wfst.relabel(a, output_pairs={2: 0}), wfst.relabel(b, input_pairs={3: 0, 2: 0})
    return made, wfst.compose(*silent, connect=False)


@case(COMMUTATIVE)
def intersect(dice: random.Random, name: str, cache: int | None) -> Case:
    a, b = small(dice, name, acceptor=True), small(dice, name, acceptor=True)
    return lazy.intersect(a, b, cache=cache), wfst.intersect(a, b, connect=False)


@case(COMMUTATIVE, isomorphic=False)
def difference(dice: random.Random, name: str, cache: int | None) -> Case:
    a = small(dice, name, acceptor=True, epsilon=0.0)
    b = wfst.convert(random_fst(dice, "boolean", states=4, arcs=5, acceptor=True, epsilon=0.0), "tropical")
    b = wfst.map_weights(wfst.determinize(b), a.semiring, lambda weight: a.semiring.one)
    return lazy.difference(a, b, cache=cache), wfst.difference(a, b)


@case(COMMUTATIVE, isomorphic=False)
def nested(dice: random.Random, name: str, cache: int | None) -> Case:
    a, b, c = small(dice, name), small(dice, name, states=3), small(dice, name)
    made = lazy.compose(lazy.union(a, lazy.invert(b, cache=cache), cache=cache), lazy.arcsort(c), cache=cache)
    return lazy.project(made, cache=cache), wfst.project(wfst.compose(wfst.union(a, wfst.invert(b)), c))


def reached(fst: Fst) -> Fst:
    """Without states that no arc leads to: a lazy machine never meets them."""
    made = fst.copy()
    made.delete_states([state for state, is_reached in enumerate(wfst.accessible(fst)) if not is_reached])
    return made


CASES = [(function, name) for function, (names, _, _) in TABLE.items() for name in names]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("function", "name"), CASES)
def test_lazy_is_eager(function: str, name: str, count: int) -> None:
    _, isomorphic, make = TABLE[function]
    for seed in range(count):
        dice = random.Random(f"{function} {name} {seed}")
        cache = dice.choice([None, 0, 300, lazy.CACHE])
        made, eager = make(dice, name, cache)
        whole = made.expand()
        if isomorphic:
            assert wfst.isomorphic(whole, reached(eager), delta=1e-6), seed
        if not whole.has("cyclic"):
            assert same(relation(whole), relation(eager), whole.semiring), seed
        again = made.expand()
        assert wfst.equal(again, whole, delta=0.0), seed


def test_a_bounded_cache_lets_go_and_computes_again() -> None:
    a = wfst.closure(wfst.accep("abcdefgh"))
    results, statistics = [], []
    for cache in (None, 1 << 20, 400, 0):
        machine = lazy.compose(a, a, cache=cache)
        order = list(machine.walk())
        results.append([[machine.final(s), machine.arcs(s)] for s in [*order, *reversed(order)]])
        statistics.append(machine.statistics())
    assert all(result == results[0] for result in results)
    assert statistics[0].dropped == 0
    assert statistics[0].computed == statistics[0].numbered
    assert statistics[2].dropped > 0
    assert statistics[2].computed > statistics[0].computed
    assert statistics[2].nbytes <= 400 + 200
    assert statistics[3].cached <= 1


def test_many_threads_see_one_machine() -> None:
    dice = random.Random(5)
    a, b = (random_fst(dice, "log64", states=30, arcs=200, labels=4, cyclic=True) for _ in range(2))
    alone = lazy.compose(a, lazy.rmepsilon(lazy.invert(b), cache=2000)).expand()
    shared = lazy.compose(a, lazy.rmepsilon(lazy.invert(b), cache=2000), cache=3000)
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: shared.expand(), range(16)))
    assert all(wfst.equal(machine, alone, delta=0.0) for machine in made)


class Counter:
    """Strings of a and b with as many of one as of the other: no finite machine."""

    def start(self) -> int:
        return 0

    def final(self, state: int) -> float | None:
        return 0.0 if state == 0 else None

    def arcs(self, state: int) -> list[tuple[int, int, float | None, int]]:
        return [(97, 97, 1.0, state + 1), (98, 98, None, state - 1)]


def test_a_machine_of_ones_own_may_be_infinite() -> None:
    balanced = lazy.define(Counter())
    found = lazy.compose(wfst.closure(wfst.union(wfst.accep("a"), wfst.accep("b"))), balanced)
    for text, weight in (("ab", 1.0), ("abba", 2.0), ("bbaaab", 3.0)):
        path = lazy.shortest_path(lazy.compose(wfst.accep(text), balanced))
        assert [(x, w) for x, _, w in wfst.strings(path)] == [(text, weight)]
    assert lazy.compose(wfst.accep("abb"), balanced).expand(connect=True).num_states == 0
    with pytest.raises(DataError, match="more than 1000 states"):
        found.expand(max_states=1000)


def test_a_machine_of_ones_own_from_threads() -> None:
    shared = lazy.define(Counter(), cache=500)
    texts = ["ab" * n + "ba" * (n % 3) for n in range(1, 30)]

    def weight(text: str) -> float:
        return next(w for _, _, w in wfst.strings(lazy.shortest_path(lazy.compose(wfst.accep(text), shared))))

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(weight, texts)) == [len(text) / 2 for text in texts]


def test_faults_of_a_machine_of_ones_own_come_through() -> None:
    class Broken(Counter):
        def arcs(self, state: int) -> Any:
            return {0: [(1, 1, None, 1)], 1: [(1, 1)], 2: [(-4, 1, None, 1)]}[state]

    machine = lazy.define(Broken())
    assert machine.arcs(0) == [(1, 1, 0.0, 1)]
    with pytest.raises(DataError, match="not \\(input label"):
        machine.arcs(1)
    with pytest.raises(DataError, match="state 7 is not one of the 2 that are known"):
        machine.arcs(7)
    with pytest.raises(DataError, match="start is missing"):
        lazy.define(object())  # type: ignore[arg-type]

    class Raising(Counter):
        def start(self) -> int:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        lazy.define(Raising()).expand()


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", ["tropical", "boolean", "minmax", "lexicographic(tropical,tropical)"])
def test_best_paths_without_the_whole_machine(name: str, count: int) -> None:
    for seed in range(count):
        dice = random.Random(seed)
        a, b = (random_fst(dice, name, states=6, arcs=14, cyclic=True, epsilon=0.1) for _ in range(2))
        machine = lazy.compose(a, b)
        expected = wfst.shortest_path(wfst.compose(a, b), 3)
        found = lazy.shortest_path(machine, 3)
        weights = [sorted(map(repr, (w for _, _, w in wfst.strings(fst)))) for fst in (found, expected)]
        assert weights[0] == weights[1], seed
        one = lazy.shortest_path(machine)
        assert wfst.isomorphic(one, wfst.shortest_path(wfst.compose(a, b))) or (
            wfst.total_weight(one) == wfst.total_weight(expected)
        ), seed


def test_best_paths_refuse_what_they_cannot_do() -> None:
    better = wfst.compile_text("0 1 1 1 -1\n1")
    with pytest.raises(DataError, match="better than one"):
        lazy.shortest_path(better)
    with pytest.raises(DataError, match="path property"):
        lazy.shortest_path(wfst.Fst("log"))
    with pytest.raises(DataError, match="written out more than 3 states"):
        lazy.shortest_path(wfst.accep("abcdef"), max_states=3)


def test_a_grammar_that_calls_itself() -> None:
    """Balanced brackets: S -> ( S ) S | nothing."""
    rule = wfst.compile_text("0 1 1 1 1\n1 2 9 9\n2 3 2 2\n3 4 9 9\n0\n4")
    brackets = lazy.replace({9: rule}, 9, call_arc_labeling="neither")
    with pytest.raises(DataError, match="calls itself"):
        wfst.replace({9: rule}, 9)
    for text, fits in (("12", True), ("1122", True), ("121122", True), ("112", False), ("2", False)):
        line = wfst.Fst()
        line.add_states(len(text) + 1)
        line.start = 0
        line.set_final(len(text))
        for place, sign in enumerate(text):
            line.add_arc(place, int(sign), int(sign), None, place + 1)
        found = lazy.shortest_path(lazy.compose(line, brackets), max_states=3000) if fits else None
        if found is not None:
            assert wfst.total_weight(found) == text.count("1")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"look_ahead": "far"}, "look_ahead is none, arc, output or input"),
        ({"push": "all"}, "push is one of"),
        ({"compose_filter": "none"}, "no filter is called"),
        ({"push": "weights"}, "look_ahead='output' or 'input'"),
        ({"look_ahead": "output", "compose_filter": "match"}, "filter of its own"),
        ({"look_ahead": "output", "left": lazy.Matcher(phi=3)}, "look at the other side"),
        ({"look_ahead": "output", "right": lazy.Matcher(phi=3), "push": "labels"}, "cannot be pushed past"),
        ({"left": lazy.Matcher(phi=3), "right": lazy.Matcher(rho=3)}, "one of the two machines only"),
        ({"right": lazy.Matcher(kind="hash", phi=3)}, "found in sorted arcs"),
        ({"left": lazy.Matcher(kind="hash")}, "give it to `right`"),
        ({"cache": -1}, "cache"),
    ],
)
def test_wrong_parts_of_a_composition(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        lazy.compose(wfst.accep("a"), wfst.accep("a"), **options)


def test_look_ahead_needs_one_whole_machine() -> None:
    late = lazy.define(Counter())
    with pytest.raises(DataError, match="needs the whole machine"):
        lazy.compose(late, wfst.accep("ab"), look_ahead="output")
    found = lazy.compose(late, wfst.accep("ab"), look_ahead="input", push="both")
    assert [w for _, _, w in wfst.strings(lazy.shortest_path(found))] == [1.0]


def test_an_explicit_machine_does_not_stay() -> None:
    a, b = wfst.compile_text("0 1 1 0\n1 2 2 2\n2"), wfst.compile_text("0 1 2 2\n1")
    assert lazy.compose(a, b).expand(connect=True).num_states == 3
    assert lazy.compose(a, b, right=lazy.Matcher(explicit=True)).expand(connect=True).num_states == 0
    silent = wfst.compile_text("0 1 0 3\n1 2 2 2\n2")
    both = lazy.compose(
        a, silent, compose_filter="match", left=lazy.Matcher(explicit=True), right=lazy.Matcher(explicit=True)
    )
    assert [tuple(arc) for _, arc in both.expand(connect=True).iter_arcs()] == [(1, 3, 0.0, 1), (2, 2, 0.0, 2)]


def test_look_ahead_makes_fewer_states() -> None:
    """Words that are written at their ends: without look-ahead every beginning is tried."""
    words = ["".join(random.Random(i).choices("abc", k=8)) for i in range(200)]
    lexicon = wfst.Fst()
    lexicon.start = lexicon.add_state()
    for number, word in enumerate(words, 1):
        state = lexicon.start
        for letter in word:
            following = lexicon.add_state()
            lexicon.add_arc(state, ord(letter), 0, None, following)
            state = following
        lexicon.add_arc(state, 1, number, None, lexicon.start)
    lexicon.set_final(lexicon.start)
    grammar = wfst.compile_text("0 1 7 7 .5\n1 2 3 3\n1 2 4 4\n2")
    plain = lazy.compose(lexicon, grammar).expand()
    ahead = lazy.compose(lexicon, grammar, look_ahead="output", push="both").expand()
    assert plain.num_states > 4000
    assert ahead.num_states < 40
    assert wfst.total_weight(ahead) == wfst.total_weight(plain) == 0.5
    assert len(list(wfst.strings(ahead))) == 2
    assert sorted(wfst.strings(ahead)) == sorted(wfst.strings(wfst.connect(plain)))
