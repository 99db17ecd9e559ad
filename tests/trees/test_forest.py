"""Packed forests: the worked example, brute force, samples, long sentences, bad input."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tests.reference.transfer import BIGRAMS, FAMILIES, SOURCE, fringe_weight, parameters
from textmill.corpus import Tree, parse_tree
from textmill.errors import DataError
from textmill.trees import (
    Acceptor,
    Choice,
    OrderModel,
    PackedForest,
    WovenForests,
    parse_families,
    propose_families,
    weave,
)


def example() -> tuple[WovenForests, np.ndarray, np.ndarray]:
    woven = weave([OrderModel(parse_families(FAMILIES)).forest(SOURCE)])
    events = np.array([float(eval(BIGRAMS[h[-1] if h else "#"].get(w, "0"))) for h, w in woven.events])
    return woven, np.array([float(p) for p in parameters()]), events


def test_the_worked_example_has_twelve_trees_and_its_sizes() -> None:
    forest = OrderModel(parse_families(FAMILIES)).forest(SOURCE)
    assert forest.n_trees() == 12
    assert len(forest.binarized().names) == 11
    woven = weave([forest])
    assert woven.sizes() == {"nodes": 21, "leaves": 15, "choices": 30, "top_choices": 3, "all_nodes": 40}
    triples = woven.triples()
    for node in ("(#, C, n): 3", "(#, C, a): 3", "(#, C, v): 2", "(v, S O, n): 2", "(n, O v, v): 2", "(v, O, n): 1"):
        assert node in triples
    leaves = "#,a1,a #,n1,n #,v,v a,a2,a a,n1,n a,n2,n a,v,v n,a1,a n,a2,a n,n2,n n,v,v v,a1,a v,a2,a v,n1,n v,n2,n"
    assert {f"({leaf.replace(',', ', ')})" for leaf in leaves.split()} <= set(triples)


def test_posteriors_of_the_worked_example_are_exact() -> None:
    woven, xi, events = example()
    log_z = woven.expect(xi, events)[0][0]
    assert math.exp(log_z) == pytest.approx(601623 / 500000000, rel=1e-12)
    forest, exact = woven.forests[0], {}
    flat = [choice for choices in forest.choices for choice in choices]
    for derivation in forest.derivations():
        weight = fringe_weight(forest.tree(derivation).tags())
        for c in derivation:
            weight *= parameters()[flat[c].parameter] if flat[c].parameter >= 0 else 1
        exact[tuple(derivation)] = weight
    assert sum(exact.values()) * 500000000 == 601623
    best = woven.best(xi, events, 20)[0]
    assert len(best) == 12
    for score, derivation in best:
        posterior = float(exact[tuple(derivation)] / sum(exact.values()))
        assert math.exp(score - log_z) == pytest.approx(posterior, rel=1e-12)
        assert woven.tree_log_weight(derivation, xi, events) == pytest.approx(score, rel=1e-12)
    assert forest.tree(best[0][1]).tags() == list("vnana")
    assert math.exp(best[0][0] - log_z) == pytest.approx(0.242344, abs=5e-7)
    assert [score for score, _ in best] == sorted((score for score, _ in best), reverse=True)


def test_samples_follow_the_posterior() -> None:
    woven, xi, events = example()
    log_z = woven.expect(xi, events)[0][0]
    many = weave([woven.forests[0]] * 1000)
    order = [woven.events.index(event) for event in many.events]
    seen: dict[tuple[int, ...], int] = {}
    for iteration in range(100):
        for derivation in many.sample(xi, events[order], iteration=iteration).derivations:
            seen[tuple(derivation)] = seen.get(tuple(derivation), 0) + 1
    expected = {tuple(d): 100_000 * math.exp(score - log_z) for score, d in woven.best(xi, events, 12)[0]}
    chi_square = sum((seen.get(d, 0) - n) ** 2 / n for d, n in expected.items())
    assert sum(seen.values()) == 100_000
    assert chi_square < 31.26  # 11 degrees of freedom, 0.001


def test_shares_along_a_sampled_tree_multiply_to_its_posterior() -> None:
    woven, xi, events = example()
    log_z = woven.expect(xi, events)[0][0]
    rules = woven.grammar(xi, events)
    tops = {rule.below[0]: rule.probability * math.exp(log_z) for rule in rules if "ROOT" in rule.node}
    assert tops["(#, C, n)"] == pytest.approx(7389 / 15625000, rel=1e-12)
    assert tops["(#, C, a)"] == pytest.approx(6561 / 10000000, rel=1e-12)
    assert tops["(#, C, v)"] == pytest.approx(297 / 4000000, rel=1e-12)
    below: dict[str, list[tuple[tuple[str, ...], float]]] = {}
    for rule in rules:
        below.setdefault(rule.node, []).append((rule.below, rule.probability))

    def fringes(node: str) -> list[tuple[list[str], float]]:
        """What can stand below a node, with the product of the shares."""
        if node not in below:
            return [([node.strip("()").split(", ")[2]], 1.0)]
        out = []
        for parts, share in below[node]:
            for row in itertools.product(*map(fringes, parts)):
                out.append(([w for words, _ in row for w in words], share * math.prod(p for _, p in row)))
        return out

    multiplied = {"".join(words): p for words, p in fringes("(#, ROOT, $)")}
    assert len(multiplied) == 12
    forest = woven.forests[0]
    many = weave([woven.forests[0]] * 200)
    order = [woven.events.index(event) for event in many.events]
    for drawn in many.sample(xi, events[order]).derivations:
        tree = forest.tree(drawn)
        assert forest.derivation(tree) == drawn
        weight = woven.tree_log_weight(forest.derivation(tree), xi, events)
        assert math.log(multiplied["".join([*tree.tags(), "$"])]) == pytest.approx(weight - log_z, rel=1e-10)


def test_a_tree_is_found_in_a_forest_or_not() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        forest = random_forest(rng)
        for own in (forest, forest.binarized()) if forest.n_trees() < 100 else ():
            for derivation in own.derivations():
                tree = own.tree(derivation)
                assert own.tree(own.derivation(tree)) == tree
    forest = OrderModel(parse_families(FAMILIES)).forest(SOURCE)
    for text in ("(C (S (a a1) (n n1)) (v v))", "(X (v v))", "(C (O (a a2) (n n2)) (v v) (S (a a1) (n n1)))"):
        with pytest.raises(DataError, match="does not hold this tree"):
            forest.derivation(parse_tree(text))


def random_forest(rng: np.random.Generator) -> PackedForest:
    """A forest of some dozens of trees with shared parts."""
    forest = PackedForest()
    for word in rng.choice(list("abc"), 3):
        forest.word(str(word))
    for _ in range(rng.integers(2, 4)):
        choices = [
            Choice(
                tuple(int(n) for n in rng.integers(0, len(forest.names), rng.integers(1, 4))), int(rng.integers(-1, 5))
            )
            for _ in range(rng.integers(1, 3))
        ]
        forest.node("X", choices)
    return forest


@pytest.mark.parametrize("seed", range(12))
def test_sums_and_posteriors_are_those_of_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    order = int(rng.integers(1, 4))
    forest = random_forest(rng)
    while forest.n_trees() > 200:
        forest = random_forest(rng)
    woven = weave([forest], order=order)
    xi, events = rng.random(5), rng.random(woven.n_events)
    plain = woven.forests[0]
    weights = {tuple(d): woven.tree_log_weight(d, xi, events) for d in plain.derivations()}
    log_z, counts, _ = woven.expect(xi, events)
    assert log_z[0] == pytest.approx(float(np.logaddexp.reduce(list(weights.values()))), rel=1e-10, abs=1e-10)
    best = woven.best(xi, events, 300)[0]
    assert sorted(score for score, _ in best) == pytest.approx(sorted(weights.values()), rel=1e-10)
    flat = [choice for choices in plain.choices for choice in choices]
    expected = np.zeros(5)
    for derivation, score in weights.items():
        for c in derivation:
            if flat[c].parameter >= 0:
                expected[flat[c].parameter] += math.exp(score - log_z[0])
    np.testing.assert_allclose(counts, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_any_acceptor_can_be_intersected(seed: int) -> None:
    rng = np.random.default_rng(seed)
    forest = random_forest(rng)
    while forest.n_trees() > 200:
        forest = random_forest(rng)
    arcs = [
        (p, w, int(rng.integers(3)), float(rng.random()))
        for p in range(3)
        for w in "abc"
        for _ in range(rng.integers(1, 3))
    ]  # nondeterministic, and cyclic
    finals = {0: 0.5, 1: 0.125, 2: 0.25}
    woven = weave([forest], acceptor=Acceptor.of(0, arcs, finals))
    xi = rng.random(5)

    def accepted(words: list[str]) -> float:
        states = {0: 1.0}
        for word in words:
            after: dict[int, float] = {}
            for p, w, q, weight in arcs:
                if w == word and p in states:
                    after[q] = after.get(q, 0.0) + states[p] * weight
            states = after
        return sum(weight * finals.get(q, 0.0) for q, weight in states.items())

    plain, total = woven.forests[0], 0.0
    flat = [choice for choices in plain.choices for choice in choices]
    for derivation in plain.derivations():
        product = math.prod(xi[flat[c].parameter] for c in derivation if flat[c].parameter >= 0)
        total += product * accepted(plain.tree(derivation).leaves())
    assert math.exp(woven.expect(xi, woven.start_weights)[0][0]) == pytest.approx(total, rel=1e-10)


@pytest.mark.parametrize("seed", range(8))
def test_choices_of_many_nodes_are_swept_as_they_are(seed: int) -> None:
    rng = np.random.default_rng(seed)
    forest = PackedForest()
    words = [forest.word(str(word), name=f"{word}{at}") for at, word in enumerate(rng.choice(list("abc"), 4))]
    pair = forest.node("P", [Choice((words[0], words[1]), 0), Choice((words[1], words[0]), 1)])
    orders = [tuple(int(n) for n in rng.permutation([pair, words[2], words[3], words[0]])) for _ in range(4)]
    forest.node("X", [Choice(order, int(rng.integers(-1, 5))) for order in orders])
    order = int(rng.integers(1, 4))
    binary, swept = weave([forest], order=order), weave([forest], order=order, binarize=False)
    xi = rng.random(5)
    weight = {event: float(rng.random()) for event in {*binary.events, *swept.events}}
    both = [(woven, np.array([weight[event] for event in woven.events])) for woven in (binary, swept)]
    log_z, counts, _ = zip(*(woven.expect(xi, events) for woven, events in both), strict=True)
    assert log_z[0] == pytest.approx(log_z[1], rel=1e-12)
    np.testing.assert_allclose(counts[0], counts[1], rtol=1e-10)
    best = [
        [(score, str(woven.forests[0].tree(d))) for score, d in woven.best(xi, events, 50)[0]] for woven, events in both
    ]
    assert sorted(tree for _, tree in best[0]) == sorted(tree for _, tree in best[1])
    assert [score for score, _ in best[0]] == pytest.approx([score for score, _ in best[1]], rel=1e-12)
    drawn = swept.sample(xi, both[1][1]).derivations[0]
    assert str(swept.forests[0].tree(drawn)) in {tree for _, tree in best[1]}
    assert any("X..." in triple for triple in swept.triples())


def test_rejection_draws_the_same_trees_and_its_tries_are_those_of_theory() -> None:
    woven, xi, events = example()
    many = weave([woven.forests[0]] * 4000)
    own = events[[woven.events.index(event) for event in many.events]]
    tries, derivations = many.reject(xi, own, random_state=3)
    best = woven.best(xi, events, 12)[0]
    log_z = np.logaddexp.reduce([score for score, _ in best])
    expected = {tuple(d): 4000 * math.exp(score - log_z) for score, d in best}
    seen = dict.fromkeys(expected, 0)
    for derivation in derivations:
        seen[tuple(derivation)] += 1
    assert sum((seen[d] - n) ** 2 / n for d, n in expected.items()) < 31.26
    fringe = {d: woven.tree_log_weight(d, np.ones(13), events) for d in expected}
    alone = woven.expect(xi, np.ones(len(events)))[0][0]  # proposals: the forest without n-grams
    taken = math.exp(log_z - alone - max(fringe.values()))
    assert tries.mean() == pytest.approx(1 / taken, rel=0.05)
    assert many.reject(xi, own, random_state=3, n_jobs=3)[1] == derivations
    with pytest.raises(DataError, match="none of 1 proposals for sentence"):
        many.reject(xi, own, max_tries=1)


def test_shares_of_choices_are_a_normalized_grammar() -> None:
    woven, xi, events = example()
    totals: dict[str, float] = {}
    for rule in woven.grammar(xi, events):
        totals[rule.node] = totals.get(rule.node, 0.0) + rule.probability
    assert list(totals.values()) == pytest.approx([1.0] * len(totals))
    by_top = {rule.below[0]: rule.probability for rule in woven.grammar(xi, events) if "ROOT" in rule.node}
    assert by_top["(#, C, n)"] == pytest.approx(7389 / 15625000 / (601623 / 500000000))
    alone = weave([woven.forests[0]], order=1)
    rules = {rule.below: rule.probability for rule in alone.grammar(xi, np.ones(alone.n_events)) if "S," in rule.node}
    assert sorted(rules.values())[-2:] == pytest.approx([0.3 / 1.1, 0.8 / 1.1])
    assert math.exp(alone.expect(xi, np.ones(alone.n_events))[0][0]) == pytest.approx((0.7 + 0.5 + 0.4) * 1.1 * 1.1)


@pytest.mark.parametrize("beam", [0.0, 0.3, 1.5, 50.0])
def test_a_pruned_forest_keeps_every_tree_within_the_beam(beam: float) -> None:
    woven, xi, events = example()
    pruned = woven.pruned(xi, events, beam=beam)[0]
    best = woven.best(xi, events, 12)[0]
    near = {str(woven.forests[0].tree(d)) for score, d in best if score >= best[0][0] - beam}
    left = {str(tree) for tree in pruned.trees()}
    assert near <= left
    assert (len(left) == 12) == (beam == 50.0)
    again = weave([pruned])
    own = events[[woven.events.index(event) for event in again.events]]
    assert again.best(xi, own)[0][0][0] == pytest.approx(best[0][0], rel=1e-12)


def test_choices_that_are_left_must_make_a_tree() -> None:
    forest = OrderModel(parse_families(FAMILIES)).forest(SOURCE)
    with pytest.raises(DataError, match="no tree is left"):
        forest.select([False] * forest.n_choices)
    with pytest.raises(DataError, match="2 values do not say which of"):
        forest.select([True] * 2)


def test_equal_forests_share_a_structure_and_are_counted_each() -> None:
    model = OrderModel(parse_families(FAMILIES))
    other = parse_tree("(C (v v) (S (n n1) (a a1)) (O (a a2) (n n2)))")
    forests = [model.forest(tree) for tree in (SOURCE, other, SOURCE, SOURCE)]
    woven = weave(forests)
    assert woven.n_structures == 2
    xi = np.array([float(p) for p in parameters()])
    own = np.array([float(eval(BIGRAMS[h[-1] if h else "#"].get(w, "0"))) for h, w in woven.events])
    log_z, counts, seen = woven.expect(xi, own)
    apart = [weave([forest]) for forest in forests]
    parts = [one.expect(xi, own[[woven.events.index(event) for event in one.events]]) for one in apart]
    assert log_z.tolist() == pytest.approx([part[0][0] for part in parts])
    np.testing.assert_allclose(counts, sum(part[1] for part in parts), rtol=1e-12)
    assert seen.sum() == pytest.approx(sum(part[2].sum() for part in parts))
    assert len(woven.sample(xi, own).derivations) == 4


def test_values_beyond_doubles_give_the_same_counts_and_samples() -> None:
    woven, xi, events = example()
    many = weave([woven.forests[0]] * 20)
    own = events[[woven.events.index(event) for event in many.events]]
    plain, far = many.expect(xi, own), many.expect(xi, own * 1e-200)
    np.testing.assert_allclose(far[0], plain[0] + 6 * math.log(1e-200), rtol=1e-12)
    np.testing.assert_allclose(far[1], plain[1], rtol=1e-10)
    assert many.sample(xi, own).derivations == many.sample(xi, own * 1e-200).derivations


def test_sizes_of_forests_with_all_orders_grow_polynomially() -> None:
    nodes = []
    for size in (10, 20, 40):
        forest = PackedForest()
        level = [forest.word(f"w{at}") for at in range(size)]
        while len(level) > 1:
            groups = [level[at : at + 4] for at in range(0, len(level), 4)]
            level = [forest.node("X", [Choice(order) for order in itertools.permutations(group)]) for group in groups]
        sizes = weave([forest]).sizes()
        assert sizes["all_nodes"] <= size**2 * len(forest.binarized().names)
        nodes.append(sizes["all_nodes"])
    assert nodes[2] / nodes[1] < 2**4
    assert nodes[1] / nodes[0] < 2**4


def test_a_forest_that_is_too_deep_is_named() -> None:
    forest = PackedForest()
    top = forest.word("a")
    for _ in range(6000):
        top = forest.node("X", [Choice((top,))])
    with pytest.raises(DataError, match="forest 1 is deeper than 5000 levels"):
        weave([forest])


def test_machines_of_fst_are_acceptors() -> None:
    from textmill.fst import Fst, SymbolTable

    symbols = SymbolTable()
    symbols.add("<eps>")
    a = symbols.add("a")
    machine = Fst("log", input_symbols=symbols, output_symbols=symbols)
    machine.add_states(2)
    machine.start = 0
    machine.add_arc(0, a, a, -math.log(0.25), 1)
    machine.set_final(1, -math.log(0.5))
    assert Acceptor.from_machine(machine) == Acceptor(
        0, ((0, "a", 1, pytest.approx(0.25)),), {1: pytest.approx(0.5)}, 2
    )
    machine.add_arc(0, 0, 0, 0.0, 1)
    with pytest.raises(DataError, match="state 0 has an epsilon arc"):
        Acceptor.from_machine(machine)


def test_five_hundred_words_do_not_underflow_and_sizes_stay_polynomial() -> None:
    forest = PackedForest()
    top = forest.word("a")
    for number in range(499):
        other = forest.word("ab"[number % 2])
        top = forest.node("X", [Choice((top, other), 0), Choice((other, top), 1)])
    woven = weave([forest])
    log_z = woven.expect(np.array([0.5, 0.5]), np.full(woven.n_events, 1e-5))[0][0]
    assert math.isfinite(log_z)
    assert log_z == pytest.approx(501 * math.log(1e-5), rel=1e-9)
    assert woven.sizes()["all_nodes"] <= 4 * 3**2 * len(forest.names)


@pytest.mark.parametrize("power", [-5.0, 5.0])
def test_sums_are_exact_where_only_the_top_leaves_the_range_of_doubles(power: float) -> None:
    for length in (53, 54):  # the top stands at an even or an odd place
        forest = PackedForest()
        top = forest.word("a")
        for _ in range(length - 1):
            top = forest.node("X", [Choice((top, forest.word("a")), 0)])
        woven = weave([forest])
        powers = np.array([power * (9 if word == "$" else 1) for _, word in woven.events])
        log_z = woven.expect(np.ones(1), 10.0**powers)[0][0]
        assert log_z == pytest.approx((length + 9) * power * math.log(10), rel=1e-13)


def test_samples_are_the_same_for_any_number_of_threads() -> None:
    woven, xi, events = example()
    many = weave([woven.forests[0]] * 50)
    events = events[[woven.events.index(event) for event in many.events]]
    first = many.sample(xi, events, random_state=5, n_jobs=1)
    for n_jobs in (2, 8):
        again = many.sample(xi, events, random_state=5, n_jobs=n_jobs)
        assert again.derivations == first.derivations
        assert again.event_counts.tolist() == first.event_counts.tolist()


def test_a_forest_becomes_trees_and_a_drawing() -> None:
    forest = OrderModel(parse_families("NP: JJ NN* | NN* JJ")).forest(parse_tree("(S (NP (JJ old) (NNS men)) (VB go))"))
    assert [str(tree) for tree in forest.trees()] == [
        "(S (NP (JJ old) (NNS men)) (VB go))",
        "(S (NP (NNS men) (JJ old)) (VB go))",
    ]
    assert forest.dot().startswith("digraph forest {")
    assert 'label="old"' in forest.dot()


def test_children_of_one_category_keep_their_order() -> None:
    model = OrderModel(parse_families("X: a a b | b a a"))
    trees = model.forest(parse_tree("(X (a 1) (a 2) (b 3))")).trees()
    assert [tree.leaves() for tree in trees] == [["1", "2", "3"], ["3", "1", "2"]]


def test_families_are_proposed_from_frequent_rules() -> None:
    trees = [parse_tree("(S (NP (D d) (N n)) (V v))")] * 3 + [parse_tree("(S (V v) (NP (D d) (N n)))")]
    assert [str(family) for family in propose_families(trees, min_count=4)] == ["NP: D N | N D", "S: NP V | V NP"]
    assert propose_families(trees, min_count=5) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no family is declared"),
        ("NP JJ NN", "line 1: 'NP JJ NN' has no colon"),
        ("NP: JJ NN | NN", "line 1: family 'NP': all orders must have the same children"),
        ("NP: JJ NN | JJ NN", "an order stands there twice"),
        (": a b | b a", "needs labels and orders"),
        ("this is: any text", "line 1: family 'this is' has nothing to change"),
        ("NP: NN | NN", "nothing to change"),
    ],
)
def test_bad_families_are_named(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse_families(text)


def test_bad_forests_are_named() -> None:
    model = OrderModel(parse_families("S: a b c | b a c"))
    with pytest.raises(DataError, match="stand in an order that family 'S: a b c"):
        model.forest(parse_tree("(S (c 1) (b 2) (a 3))"))
    forest = PackedForest()
    with pytest.raises(DataError, match="stands above node 7, which is not there yet"):
        forest.node("X", [Choice((7,))])
    with pytest.raises(DataError, match="has no choices"):
        forest.node("X", [])
    with pytest.raises(DataError, match="no forest to intersect"):
        weave([])
    word = forest.word("a")
    forest.node("X", [Choice((word,))])
    with pytest.raises(DataError, match="accepts no tree of forest 1"):
        weave([forest], acceptor=Acceptor.of(0, [(0, "b", 0, 1.0)], {0: 1.0}))
    woven = weave([forest])
    with pytest.raises(DataError, match="no tree of sentence 1 has a weight above 0"):
        woven.expect(np.zeros(0), np.zeros(woven.n_events))


def test_binarizing_keeps_the_trees() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        forest = random_forest(rng)
        if forest.n_trees() < 200:
            assert [tree.leaves() if isinstance(tree, Tree) else tree for tree in forest.trees()] == [
                tree.leaves() for tree in forest.binarized().trees()
            ]
    assert list(itertools.islice(forest.binarized().derivations(), 1))
