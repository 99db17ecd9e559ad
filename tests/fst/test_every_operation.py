"""A table of all operations: on random machines each changes the weighted relation as its definition says.

Every entry draws a machine or two and returns what was made of them and the relation that it must have, enumerated by
paths. What is not a matter of relations (order of arcs, number of states) is asserted on the way.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest
from reference.fst import (
    Relation,
    arc_paths,
    joined,
    paths,
    random_fst,
    random_weight,
    relation,
    same,
)

import textmill.fst as wfst
from textmill.fst import Arc, Fst, Semiring, SymbolTable, semiring

Made = tuple[Fst, Relation]
Operation = Callable[[random.Random, Semiring], Made]

COUNTS = [pytest.param(200, id="200"), pytest.param(10_000, id="10000", marks=pytest.mark.slow)]
FIELDS = ["tropical", "log64", "real", "boolean"]
SIX = [*FIELDS, "left_string", "gallic(tropical)"]
COMMUTATIVE = [*FIELDS, "product(tropical,log64)"]
PATH = ["tropical", "boolean", "lexicographic(tropical,tropical)"]
FILES = ["tropical", "tropical64", "log", "log64", "real", "boolean", "minmax", "signed_log"]

TABLE: dict[str, tuple[list[str], Operation]] = {}


def operation(names: list[str]) -> Callable[[Operation], Operation]:
    """Put a function into the table."""

    def enter(function: Operation) -> Operation:
        TABLE[function.__name__] = (names, function)
        return function

    return enter


def small(dice: random.Random, algebra: Semiring, **options: Any) -> Fst:
    return random_fst(dice, algebra, **{"states": 4, "arcs": 6, **options})


def renamed(labels: tuple[int, ...], names: dict[int, int]) -> tuple[int, ...]:
    return tuple(name for label in labels if (name := names.get(label, label)))


# ---- labels


@operation(["left_string", "gallic(tropical)", "gallic_left(tropical)", "gallic_min(tropical)", "tropical"])
def factored(dice: random.Random, algebra: Semiring) -> Made:
    fst = small(dice, algebra)
    arcs, finals = dice.random() < 0.7, dice.random() < 0.7
    made = wfst.factor_weight(fst, arcs=arcs, finals=finals)
    if arcs and algebra.name == "left_string":
        assert all(len(arc.weight) <= 1 for _, arc in made.iter_arcs())
    if arcs and algebra.name == "gallic_left(tropical)":
        assert all(len(arc.weight[0]) <= 1 for _, arc in made.iter_arcs())
    return made, relation(fst)


@operation(["left_string", *SIX])
def chained(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra)
    chains, factored = wfst.factor_chains(a)
    return wfst.compose(chains, factored), relation(a)


@operation(SIX)
def relabeled(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra)
    ins, outs = ({1: dice.randint(0, 3), 2: dice.randint(0, 3)} for _ in range(2))
    pairs = (((renamed(x, ins), renamed(y, outs)), w) for x, y, w in paths(a))
    return wfst.relabel(a, input_pairs=ins, output_pairs=outs.items()), joined(algebra, pairs)


@operation(SIX)
def relabeled_by_tables(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra)
    old = SymbolTable(["<eps>", "a", "b"])
    a.input_symbols = a.output_symbols = old
    new = SymbolTable(["<eps>", *dice.sample(["b", "c", "a"], 3)])
    names = {old.key(symbol): new.key(symbol) for symbol in old}
    made = wfst.relabel_symbols(a, input_symbols=new, output_symbols=new)
    return made, joined(algebra, (((renamed(x, names), renamed(y, names)), w) for x, y, w in paths(a)))


@operation(SIX)
def inverted(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra)
    return wfst.invert(a), {(y, x): w for (x, y), w in relation(a).items()}


@operation(SIX)
def encoded_and_decoded(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra)
    labels = dice.random() < 0.7
    coded, encoder = wfst.encode(a, labels=labels, weights=dice.random() < 0.5 or not labels)
    assert coded.has("acceptor") or not labels
    assert coded.properties("weighted") == {"weighted": False} or not encoder.weights
    if encoder.weights and labels and algebra.name in FIELDS:
        coded = wfst.minimize(wfst.determinize(wfst.rmepsilon(coded)))
        if not algebra.idempotent:  # determinized without its weights: equal paths are one
            return wfst.decode(wfst.encode(a, encoder=encoder)[0], encoder), relation(a)
    return wfst.decode(coded, encoder), relation(a)


# ---- order


@operation(SIX)
def sorted_topologically(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra)
    a = wfst.statesort(a, dice.sample(range(4), 4))
    made = wfst.topsort(a)
    assert made.has("top_sorted")
    return made, relation(a)


@operation(SIX)
def sorted_by_labels(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra)
    by = dice.choice(["ilabel", "olabel"])
    made = wfst.arcsort(a, by)
    assert made.has("input_sorted" if by == "ilabel" else "output_sorted")
    return made, relation(a)


@operation(SIX)
def renumbered(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra, cyclic=True)
    made = wfst.map_arcs(wfst.statesort(a, dice.sample(range(4), 4)), lambda source, arc: arc)
    for state in range(4):  # arcs in another order too
        arcs = made.arcs(state)
        dice.shuffle(arcs)
        for place, arc in enumerate(arcs):
            made.set_arc(state, place, arc)
    assert wfst.isomorphic(a, made, delta=1e-9)
    b = wfst.arcsort(small(dice, algebra))
    assert wfst.equal(b, wfst.arcsort(b), delta=0.0)
    return b, relation(b)


@operation(SIX)
def trimmed(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra)
    made = wfst.connect(a)
    assert made.properties("accessible", "coaccessible") == {"accessible": True, "coaccessible": True}
    return made, relation(a)


# ---- rational


@operation(SIX)
def closed(dice: random.Random, algebra: Semiring) -> Made:
    """Strings of at most three labels; nothing is read nowhere, and the empty string is left out."""
    a = random_fst(dice, algebra, states=3, arcs=4, acceptor=True, epsilon=0.0)
    a.set_final(0, algebra.zero)
    once = [(x, w) for x, _, w in paths(a)]
    star = dice.random() < 0.5
    level: list[tuple[Any, Any]] = [((), algebra.one)]
    every = level[:] if star else []
    for _ in range(3):
        level = [(x + y, algebra.times(w, v)) for x, w in level for y, v in once if len(x + y) <= 3]
        every += level
    made = wfst.closure(a, star=star)
    found = {pair: w for pair, w in relation(made, 8).items() if len(pair[0]) <= 3}
    expected = joined(algebra, (((x, x), w) for x, w in every))
    assert same(found, expected, algebra)
    return a, relation(a)


@operation(SIX)
def repeated(dice: random.Random, algebra: Semiring) -> Made:
    a = random_fst(dice, algebra, states=3, arcs=3)
    lower = dice.randint(0, 2)
    upper = lower + dice.randint(0, 2)
    once = list(paths(a))
    level: list[Any] = [((), (), algebra.one)]
    every = []
    for copies in range(upper + 1):
        every += level if copies >= lower else []
        level = [(x + u, y + v, algebra.times(w, z)) for x, y, w in level for u, v, z in once]
    return wfst.repeat(a, lower, upper), joined(algebra, (((x, y), w) for x, y, w in every))


@operation(SIX)
def replaced(dice: random.Random, algebra: Semiring) -> Made:
    rule = wfst.relabel(random_fst(dice, algebra, states=4, arcs=4), output_pairs={1: 9})
    inner = small(dice, algebra, arcs=4)
    call, back = (dice.choice(["neither", "input", "output", "both"]) for _ in range(2))
    inside = list(paths(inner))

    def expand(arc: Arc) -> list[Any]:
        if arc.olabel != 9:
            return [((arc.ilabel,) * (arc.ilabel > 0), (arc.olabel,) * (arc.olabel > 0), arc.weight)]
        reads = (arc.ilabel,) * (call in ("input", "both") and arc.ilabel > 0)
        writes = (9,) * (call in ("output", "both"))
        ends = (7,) * (back in ("input", "both")), (7,) * (back in ("output", "both"))
        return [(reads + x + ends[0], writes + y + ends[1], algebra.times(arc.weight, w)) for x, y, w in inside]

    every = []
    for arcs, final in arc_paths(rule):
        for parts in itertools.product(*map(expand, arcs)):
            weight = algebra.one
            for part in parts:
                weight = algebra.times(weight, part[2])
            x, y = (tuple(label for part in parts for label in part[side]) for side in (0, 1))
            every.append(((x, y), algebra.times(weight, final)))
    made = wfst.replace({5: rule, 9: inner}, 5, call_arc_labeling=call, return_arc_labeling=back, return_label=7)
    return made, joined(algebra, every)


# ---- products


@operation(COMMUTATIVE)
def intersected(dice: random.Random, algebra: Semiring) -> Made:
    a, b = (small(dice, algebra, acceptor=True) for _ in range(2))
    x, y = relation(a), relation(b)
    return wfst.intersect(a, b), {pair: algebra.times(w, y[pair]) for pair, w in x.items() if pair in y}


@operation(FIELDS)
def complemented(dice: random.Random, algebra: Semiring) -> Made:
    plain = wfst.determinize(random_fst(dice, "boolean", acceptor=True, epsilon=0.0))
    a = wfst.map_weights(plain, algebra, lambda w: algebra.one)
    every = [x for n in range(4) for x in itertools.product((1, 2, 3), repeat=n)]
    made = wfst.complement(a, [1, 2, 3])
    has = relation(a)
    found = relation(made, 3)
    assert found == {(x, x): algebra.one for x in every if (x, x) not in has}
    return a, has


@operation(COMMUTATIVE)
def crossed(dice: random.Random, algebra: Semiring) -> Made:
    a, b = (random_fst(dice, algebra, states=3, arcs=3, acceptor=True) for _ in range(2))
    pairs = (((x, y), algebra.times(w, v)) for (x, _), w in relation(a).items() for (y, _), v in relation(b).items())
    return wfst.cross(a, b), joined(algebra, pairs)


@operation(["left_string", "gallic(tropical)"])
def composed_without_weights_on_one_side(dice: random.Random, algebra: Semiring) -> Made:
    a, b = small(dice, algebra), wfst.arcmap(small(dice, algebra), "rmweight")
    pairs = []
    for x, y, w in paths(a):
        pairs += [((x, z), w) for u, z, _ in paths(b) if u == y]
    if algebra.idempotent:
        return wfst.compose(a, b), joined(algebra, pairs)
    return a, relation(a)


# ---- strings


@operation(SIX)
def mapped_from_a_list(dice: random.Random, algebra: Semiring) -> Made:
    def word() -> str:
        return "".join(dice.choices("ab", k=dice.randint(0, 3)))

    rows = [(word(), word(), random_weight(algebra.name, dice)) for _ in range(4)]
    pairs = (((tuple(map(ord, x)), tuple(map(ord, y))), w) for x, y, w in rows)
    return wfst.string_map(rows, semiring_name=algebra), joined(algebra, pairs)


@operation(SIX)
def accepted(dice: random.Random, algebra: Semiring) -> Made:
    text, weight = "".join(dice.choices("aé€", k=dice.randint(0, 4))), random_weight(algebra.name, dice)
    for token_type in ("utf8", "byte"):
        made = wfst.accep(text, weight, token_type=token_type, semiring_name=algebra)
        assert list(wfst.strings(made, token_type=token_type)) == [(text, text, weight)]
    a = small(dice, algebra)
    listed = sorted((x, y) for x, y, _ in wfst.strings(a))
    assert listed == sorted(("".join(map(chr, x)), "".join(map(chr, y))) for x, y, _ in paths(a))
    return a, relation(a)


@operation(SIX)
def drawn_at_random(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra)
    every = relation(a)
    drawn = wfst.randgen(a, 5, random_state=dice.randrange(1 << 40))
    assert {(x, y) for x, y, _ in paths(drawn)} <= {(x, y) for x, y, _ in paths(a)}
    assert drawn.num_states == 0 or every
    return a, every


# ---- files


@operation(FILES)
def written_and_read(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra)
    kind, align = dice.choice([("vector", False), ("const", False), ("const", True)])
    made = wfst.from_bytes(wfst.to_bytes(a, fst_type=kind, align=align))
    assert wfst.equal(made, a, delta=0.0)
    assert wfst.equal(
        wfst.compile_text(wfst.print_text(a), semiring_name=algebra),
        wfst.compile_text(wfst.print_text(a, show_weight_one=True), semiring_name=algebra),
        delta=0.0,
    )
    return made, relation(a)


@operation(["left_string", "gallic(tropical)", "product(tropical,log64)", "expectation(real,1)"])
def printed_and_compiled(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra)
    return wfst.compile_text(wfst.print_text(a), semiring_name=algebra), relation(a)


# ---- weights


@operation(["tropical", "log64", "real"])
def weights_mapped(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra)
    kind = dice.choice(["invert", "plus", "times", "power", "quantize", "rmweight"])
    weight = random_weight(algebra.name, dice)

    def image(w: Any) -> Any:
        match kind:
            case "invert":
                return algebra.divide(algebra.one, w)
            case "plus":
                return algebra.plus(w, weight)
            case "times":
                return algebra.times(w, weight)
            case "power":
                return w**3.0 if algebra.name == "real" else 3.0 * w
            case "quantize":
                return algebra.quantize(w, 0.5)
        return algebra.one

    made = wfst.arcmap(a, kind, weight=weight, power=3.0, delta=0.5)
    expected = wfst.map_weights(a, algebra, image)
    return made, relation(expected)


@operation(SIX)
def arcs_mapped(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra)
    kind = dice.choice(["identity", "superfinal", "input_epsilon", "output_epsilon", "arc_sum", "arc_unique"])
    if (kind == "arc_sum" and not algebra.right) or (kind == "arc_unique" and not algebra.idempotent):
        kind = "superfinal"
    made = wfst.arcmap(a, kind)
    if kind == "superfinal":
        assert sum(made.is_final(state) for state in range(made.num_states)) <= 1
    if kind == "arc_sum":
        assert all(len({arc[:2] + arc[3:] for arc in row}) == len(row) for row in map(made.arcs, made.states()))
    sides = [() if kind == f"{side}_epsilon" else None for side in ("input", "output")]
    pairs = ((tuple(s if e is None else e for s, e in zip((x, y), sides, strict=True)), w) for x, y, w in paths(a))
    return made, joined(algebra, pairs)


@operation(["tropical", "log64", "real", "signed_log"])
def converted(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra)
    if algebra.name == "signed_log":
        a = wfst.map_weights(a, algebra, lambda w: (1.0, w[1]))
    other = dice.choice(["tropical64", "log64", "real", "signed_log"])
    back = wfst.convert(wfst.convert(a, other), algebra)
    assert wfst.equal(back, a, delta=1e-6)
    assert wfst.convert(a, "boolean").num_arcs == a.num_arcs
    return back, relation(a)


@operation(["tropical", "log64", "real"])
def reweighted(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra)
    potentials = [random_weight(algebra.name, dice) for _ in range(a.num_states)]
    return wfst.reweight(a, potentials, to=dice.choice(["initial", "final"])), relation(a)


@operation(["tropical", "log64", "real", "boolean", "left_string"])
def pushed(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra)
    to = "initial" if not algebra.right else dice.choice(["initial", "final"])
    if algebra.commutative:
        total = wfst.total_weight(a)
        removed = wfst.push(a, to=to, remove_total_weight=True)
        if total != algebra.zero:
            assert algebra.approx_equal(wfst.total_weight(removed), algebra.one, 1e-5)
    return wfst.push(a, to=to), relation(a)


@operation(["tropical", "log64", "real", "boolean", "right_string"])
def distances_from_the_start(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra)
    found = list(wfst.shortest_distance(a))
    for state in range(a.num_states):
        b = wfst.map_arcs(a, lambda source, arc: arc)
        for other in range(a.num_states):
            b.set_final(other, algebra.one if other == state else algebra.zero)
        total = algebra.zero
        for _, _, weight in paths(b):
            total = algebra.plus(total, weight)
        value = found[state].item() if hasattr(found[state], "item") else found[state]
        assert algebra.approx_equal(value, total, 1e-6)
    return a, relation(a)


# ---- optimization


@operation(SIX)
def epsilons_removed(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra, epsilon=0.5)
    made = wfst.rmepsilon(a)
    assert not made.has("epsilons")
    return made, relation(a)


@operation(SIX)
def epsilons_last(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra, epsilon=0.4)
    return wfst.epsnormalize(a, dice.choice(["input", "output"])), relation(a)


@operation(SIX)
def synchronized(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra, epsilon=0.4)
    made = wfst.synchronize(a)
    for arcs, _ in arc_paths(made):
        for first, second in itertools.pairwise(arc for arc in arcs if arc.ilabel or arc.olabel):
            assert not (first.ilabel == 0 and second.ilabel)
            assert not (first.olabel == 0 and second.olabel)
    return made, relation(a)


@operation(["left_string", "lexicographic(tropical,tropical)", "minmax", "tropical64", "product(tropical,log64)"])
def determinized(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra, acceptor=True, epsilon=0.0)
    made = wfst.determinize(a)
    assert made.has("input_deterministic")
    return made, relation(a)


@operation(FIELDS)
def optimized(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra, acceptor=dice.random() < 0.5)
    return wfst.optimize(a), relation(a)


@operation(["tropical", "tropical64", "boolean"])
def disambiguated(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra, arcs=9, acceptor=True, epsilon=0.0)
    made = wfst.disambiguate(a)
    assert len({x for x, _, _ in paths(made)}) == len(list(paths(made)))
    return made, relation(a)


# ---- paths


@operation([*PATH, "minmax", "tropical64"])
def best(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra, arcs=9)

    def ordered(weights: list[Any]) -> list[Any]:
        left, out = list(weights), []
        while left:
            top = left[0]
            for weight in left:
                top = algebra.plus(top, weight)
            left.remove(top)
            out.append(top)
        return out

    every = ordered([w for _, _, w in paths(a)])
    for n in (1, 2, 5):
        assert [w for _, _, w in paths(wfst.shortest_path(a, n))] == every[:n]
    acceptor = wfst.project(a, "output")
    distinct = relation(acceptor)
    unique = relation(wfst.shortest_path(acceptor, 3, unique=True))
    assert ordered(list(unique.values())) == ordered(list(distinct.values()))[:3]
    assert all(distinct[pair] == w for pair, w in unique.items())
    return wfst.shortest_path(acceptor, 10_000, unique=True), distinct


@operation(["tropical", "tropical64"])
def pruned_to_some_states(dice: random.Random, algebra: Semiring) -> Made:
    a = small(dice, algebra)
    most = dice.randint(0, 4)
    made = wfst.prune(a, max_states=most)
    assert made.num_states <= most
    every = relation(a)
    assert all(every[pair] <= weight for pair, weight in relation(made).items())
    if every and most == 4:
        assert min(relation(made).values()) == min(every.values())
    return wfst.prune(a, max_states=4), every


@operation(["tropical", "log64", "real"])
def compared(dice: random.Random, algebra: Semiring) -> Made:
    a = wfst.determinize(wfst.connect(small(dice, algebra, acceptor=True, epsilon=0.0)))
    b = wfst.determinize(wfst.connect(small(dice, algebra, acceptor=True, epsilon=0.0)))
    assert wfst.equivalent(a, b) == same(relation(a), relation(b), algebra, 1 / 1024)
    assert wfst.equivalent(a, wfst.minimize(a))
    if a.start >= 0:
        assert wfst.rand_equivalent(a, wfst.push(a), npath=3, max_length=6)
    return a, relation(a)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("entry", "name"), [(entry, name) for entry in sorted(TABLE) for name in TABLE[entry][0]])
def test_relation(entry: str, name: str, count: int) -> None:
    dice, algebra = random.Random(f"{entry} {name}"), semiring(name)
    for case in range(count):
        made, expected = TABLE[entry][1](dice, algebra)
        assert same(relation(made), expected, made.semiring), f"case {case}"
