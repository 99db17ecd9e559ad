"""Push-down transducers against the enumeration of balanced paths, and against OpenFst."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from reference.fst import arc_paths, random_fst, relation, same
from reference.pushdown import balanced_paths, balanced_relation, random_pushdown

import textmill.fst as wfst
from textmill.errors import DataError
from textmill.fst import Fst, PushdownFst, lazy, read_parentheses, replace_to_pushdown, semiring, write_parentheses

COUNTS = [pytest.param(150, id="150"), pytest.param(5000, id="5000", marks=pytest.mark.slow)]
NAMES = ["tropical", "log64", "real", "boolean", "minmax"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", COUNTS)
def test_expansion_has_the_balanced_paths_and_no_others(name: str, count: int) -> None:
    dice, some = random.Random(1), 0
    for _ in range(count // len(NAMES)):
        pushdown = random_pushdown(dice, name, states=6, arcs=14)
        keep = dice.random() < 0.3
        wanted = balanced_relation(pushdown, 12, keep=keep)
        some += bool(wanted)
        made = pushdown.expand(keep_parentheses=keep, connect=dice.random() < 0.5)
        assert same(relation(made, 12), wanted, semiring(name))
        found = relation(pushdown.expand_lazily(keep_parentheses=keep, cache=200).expand(), 12)
        assert same(found, wanted, semiring(name))
    assert some > count // len(NAMES) // 10


@pytest.mark.parametrize("count", COUNTS)
def test_best_paths_are_the_best_of_all(count: int) -> None:
    dice, several = random.Random(2), 0
    for _ in range(count):
        pushdown = random_pushdown(dice, states=6, arcs=16, least=-2 if dice.random() < 0.3 else 0)
        weights = sorted(total(*path) for path in balanced_paths(pushdown, 12))
        n = dice.choice([1, 2, 5])
        best = pushdown.shortest_path(n)
        found = sorted(total(*path) for path in wfst_paths(best))
        assert found == pytest.approx(weights[:n])
        several += len(found) > 1
        kept = pushdown.shortest_path(n, keep_parentheses=True)
        again = [total(arcs, final) for arcs, final in balanced_paths(PushdownFst(kept, pushdown.parentheses), 40)]
        assert sorted(again) == pytest.approx(found)  # each is balanced
    assert several > count // 30


def wfst_paths(fst: Fst) -> list[tuple[tuple[wfst.Arc, ...], float]]:
    return list(arc_paths(fst, 40))


def total(arcs: tuple[wfst.Arc, ...], final: float) -> float:
    return sum(arc.weight for arc in arcs) + final


@pytest.mark.parametrize("count", COUNTS)
def test_machines_with_cycles_have_their_best_paths(count: int) -> None:
    dice, some = random.Random(3), 0
    for _ in range(count // 3):
        pushdown = random_pushdown(dice, states=4, arcs=9, acyclic=False, least=1)
        weights = sorted(total(arcs, final) for arcs, final in balanced_paths(pushdown, 6))
        found = [total(*path) for path in wfst_paths(pushdown.shortest_path())]
        some += bool(weights)
        if weights:  # seven arcs cost 3.5 or more
            assert found[0] <= weights[0]
            assert weights[0] >= 3.5 or found == pytest.approx(weights[:1])
    assert some > count // 30


@pytest.mark.parametrize("count", COUNTS)
def test_pruned_expansion_has_the_paths_near_the_best(count: int) -> None:
    dice, some = random.Random(4), 0
    for _ in range(count // 2):
        pushdown = random_pushdown(dice, states=6, arcs=16, least=-1 if dice.random() < 0.2 else 0)
        paths = sorted(total(arcs, final) for arcs, final in balanced_paths(pushdown, 12))
        limit = dice.choice([0.0, 0.5, 2.0])
        made = pushdown.expand(weight=limit)
        found = sorted(total(*path) for path in wfst_paths(made))
        near = [weight for weight in paths if weight <= paths[0] + limit]
        # states are merged, so a path that is kept may lie beside ones that are a little worse
        assert [weight for weight in found if weight <= (paths or [0])[0] + limit] == pytest.approx(near)
        whole = wfst.prune(pushdown.expand(), weight=limit)
        assert same(relation(wfst.prune(made, weight=limit)), relation(whole), made.semiring)
        some += len(near) > 1
    assert some > count // 60


def test_pruning_ends_what_has_no_end() -> None:
    clause = wfst.compile_text("0 1 1 1\n1 2 9 9 1\n2 3 2 2\n1\n3")  # S = a | a S b, each S costs 1
    recursive = replace_to_pushdown({9: clause}, 9)
    near = recursive.expand(weight=3.0)
    inputs = sorted(len(x) for x, _ in relation(near, 40))
    assert inputs == [1, 3, 5, 7]
    with pytest.raises(DataError, match=r"more than 1000 states"):
        recursive.expand(max_states=1000)
    free = replace_to_pushdown({9: wfst.compile_text("0 1 1 1\n1 2 9 9\n2 3 2 2\n1\n3")}, 9)
    with pytest.raises(DataError, match=r"more than 1000 states"):
        free.expand(weight=1.0, max_states=1000)


def test_depth_limits_the_expansion() -> None:
    clause = wfst.compile_text("0 1 1 1\n1 2 9 9 1\n2 3 2 2\n1\n3")
    recursive = replace_to_pushdown({9: clause}, 9)
    for depth in range(4):
        found = relation(recursive.expand(max_depth=depth), 60)
        assert sorted(len(x) for x, _ in found) == [1 + 2 * n for n in range(depth + 1)]


@pytest.mark.parametrize("count", COUNTS)
def test_composition_goes_before_expansion(count: int) -> None:
    dice, some = random.Random(5), 0
    for _ in range(count // 3):
        name = dice.choice(["tropical", "log64", "real"])
        pushdown = random_pushdown(dice, name, states=6, arcs=14)
        finite = random_fst(dice, name, states=4, arcs=8, labels=2)
        left = relation(wfst.compose(pushdown.expand(), finite), 24)
        right = relation(wfst.compose(finite, pushdown.expand()), 24)
        assert same(relation(pushdown.compose(finite).expand(), 24), left, semiring(name))
        assert same(relation(pushdown.compose_after(finite).expand(), 24), right, semiring(name))
        some += bool(left) + bool(right)
    assert some > count // 30


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("stacks", [1, 2, 3])
def test_reversed_paths_are_balanced_from_the_other_end(stacks: int, count: int) -> None:
    dice, some = random.Random(6), 0
    for _ in range(count // 3):
        restriction = dice.choice(["none", "read", "write"]) if stacks > 1 else "none"
        pushdown = random_pushdown(dice, states=6, arcs=18, stacks=stacks, restriction=restriction)
        wanted = {(x[::-1], y[::-1]): w for (x, y), w in relation(pushdown.expand(), 12).items()}
        assert same(relation(pushdown.reverse().expand(), 14), wanted, semiring("tropical"))
        some += bool(wanted)
    assert some > count // 30


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("restriction", ["none", "read", "write"])
def test_several_stacks_are_expanded(restriction: str, count: int) -> None:
    dice, crossing = random.Random(7), 0
    for _ in range(count):
        pushdown = random_pushdown(dice, states=7, arcs=44, stacks=2, restriction=restriction)
        wanted = balanced_relation(pushdown, 12)
        assert same(relation(pushdown.expand(), 12), wanted, semiring("tropical"))
        one = PushdownFst(pushdown.fst, pushdown.parentheses)
        crossing += wanted != balanced_relation(one, 12)
    assert crossing > 0


def test_copy_language_needs_two_stacks() -> None:
    # w w over {1, 2}: the first stack turns w round, the second turns it again
    machine = wfst.compile_text(
        "0 1 1 1\n1 0 11 11\n0 2 2 2\n2 0 13 13\n0 3 0 0\n"  # read w, push it on stack 1
        "3 4 12 12\n4 3 15 15\n3 5 14 14\n5 3 17 17\n3 6 0 0\n"  # move it to stack 2
        "6 7 1 1\n7 6 16 16\n6 8 2 2\n8 6 18 18\n6"  # read it again
    )
    copies = PushdownFst(machine, [(11, 12), (13, 14), (15, 16), (17, 18)], [1, 1, 2, 2])
    found = {x for (x, _), _ in relation(copies.expand(max_depth=3), 22).items()}
    words = {(), (1,), (2,), (1, 1), (1, 2), (2, 1), (2, 2)}
    assert {x for x in found if len(x) <= 4} == {w + w for w in words}


@pytest.mark.parametrize("count", COUNTS)
def test_replacement_says_the_same_as_a_push_down_machine(count: int) -> None:
    dice, some = random.Random(8), 0
    for _ in range(count // 3):
        name = dice.choice(["tropical", "log64"])
        parts = {50 + i: random_fst(dice, name, states=4, arcs=5, labels=2) for i in range(3)}
        for i in range(2):  # calls lead to later machines
            for _ in range(2):
                fst = parts[50 + i]
                fst.add_arc(dice.randrange(4), 0, dice.randint(51 + i, 52), 0.5, dice.randrange(4))
        try:
            plain = wfst.connect(wfst.replace(parts, 50, call_arc_labeling="neither"))
        except DataError:
            continue
        if plain.has("cyclic"):
            continue
        pushdown = replace_to_pushdown(parts, 50)
        made = pushdown.expand()
        assert same(relation(made, 40), relation(plain, 40), semiring(name))
        some += len(pushdown.parentheses) > 0 and made.num_states > 0
    assert some > count // 60


def test_a_grammar_that_calls_itself_is_parsed() -> None:
    # E = T | E + T, T = a | ( E ): left recursion, which lazily replaced machines never finish
    e, t = 101, 102
    rules = {
        e: wfst.compile_text(f"0 1 {t} {t}\n0 2 {e} {e}\n2 3 43 43\n3 1 {t} {t} 1\n1"),
        t: wfst.compile_text(f"0 1 97 97\n0 2 40 40\n2 3 {e} {e}\n3 1 41 41\n1"),
    }
    grammar = replace_to_pushdown(rules, e)
    for text, sums in (("a", 0), ("a+a", 1), ("(a+a)+a+(a)", 3), ("((a))", 0)):
        best = grammar.compose_after(wfst.accep(text)).shortest_path()
        assert wfst.total_weight(best) == sums, text
    for text in ("", "a+", "(a", "a)", "aa", "()"):
        assert grammar.compose_after(wfst.accep(text)).shortest_path().num_states == 0, text


def test_long_nesting_is_no_recursion() -> None:
    depth = 20_000
    clause = wfst.compile_text("0 1 1 1 1\n1 2 9 9\n2 3 2 2\n1\n3")
    grammar = replace_to_pushdown({9: clause}, 9)
    text = Fst()
    text.add_states(2 * depth)
    text.start = 0
    for i in range(2 * depth - 1):
        text.add_arc(i, 1 if i < depth else 2, 1 if i < depth else 2, None, i + 1)
    text.set_final(2 * depth - 1)
    best = grammar.compose_after(text).shortest_path()
    assert wfst.total_weight(best) == depth


def test_cycles_better_than_one_are_told() -> None:
    cycle = PushdownFst(wfst.compile_text("0 1 11 11 -1\n1 0 12 12\n0"), [(11, 12)])
    with pytest.raises(DataError, match=r"cycle whose weight is better than one"):
        cycle.shortest_path()
    unreached = PushdownFst(wfst.compile_text("0 1 1 1\n1\n2 2 1 1 -1\n2 1 1 1", keep_state_numbering=True), [(11, 12)])
    assert wfst.total_weight(unreached.shortest_path(3)) == 0.0


def test_wrong_parentheses_are_refused(tmp_path: Path) -> None:
    fst = wfst.compile_text("0 1 3 3\n1")
    for pairs, stacks, words in [
        ([(3, 3)], [], "parenthesis twice"),
        ([(3, 4), (4, 5)], [], "parenthesis twice"),
        ([(0, 4)], [], "labels above 0"),
        ([(3, 4)], [1, 2], "1 pairs of parentheses, but 2 stacks"),
        ([(3, 4)], [0], "stack 0 is not one of 1 to 63"),
        ([(3, 4)], [99], "stack 99 is not one of 1 to 63"),
    ]:
        with pytest.raises(DataError, match=words):
            PushdownFst(fst, pairs, stacks)
    with pytest.raises(DataError, match="stands on both sides"):
        PushdownFst(wfst.compile_text("0 1 3 5\n1"), [(3, 4)])
    with pytest.raises(DataError, match="restriction"):
        PushdownFst(fst, [(3, 4)], restriction="both")
    with pytest.raises(DataError, match="the sum of two weights is the better one"):
        PushdownFst(wfst.convert(fst, "log64"), [(3, 4)]).shortest_path()
    with pytest.raises(DataError, match="one stack"):
        PushdownFst(fst, [(3, 4), (5, 6)], [1, 2]).shortest_path()
    with pytest.raises(DataError, match="not by both"):
        PushdownFst(fst, [(3, 4)]).expand(weight=1.0, max_depth=1)
    with pytest.raises(DataError, match="has no machine"):
        replace_to_pushdown({1: fst}, 2)
    path = tmp_path / "pairs.txt"
    for text in ("3\n", "3 4 5\n6 7\n", "3 x\n", "3 4\n5 6 1\n", "-3 4\n"):
        path.write_text(text)
        with pytest.raises(DataError, match=r"pairs\.txt.*line"):
            read_parentheses(path)


def test_parentheses_are_written_and_read(tmp_path: Path) -> None:
    write_parentheses(tmp_path / "a", [(3, 4), (5, 6)])
    assert read_parentheses(tmp_path / "a") == ([(3, 4), (5, 6)], [])
    write_parentheses(tmp_path / "b", [(3, 4), (5, 6)], [1, 2])
    assert read_parentheses(tmp_path / "b") == ([(3, 4), (5, 6)], [1, 2])


def test_lazy_expansion_is_composed_without_being_written_out() -> None:
    clause = wfst.compile_text("0 1 97 97\n1 2 9 9 1\n2 3 98 98\n1\n3")
    endless = replace_to_pushdown({9: clause}, 9).expand_lazily()
    found = lazy.compose(wfst.accep("aaabb"), endless).expand(connect=True)
    assert wfst.total_weight(found) == 2.0


@pytest.mark.parametrize("count", COUNTS)
def test_openfst_says_the_same(tmp_path: Path, count: int) -> None:
    pynini = pytest.importorskip("pynini")
    dice, some = random.Random(9), 0
    for _ in range(count // 5):
        pushdown = random_pushdown(dice, states=6, arcs=16)
        finite = random_fst(dice, "tropical", states=4, arcs=8, labels=2)
        wfst.write_fst(pushdown.fst, tmp_path / "p.fst")
        wfst.write_fst(finite, tmp_path / "f.fst")
        write_parentheses(tmp_path / "pairs", pushdown.parentheses)
        theirs, other = pynini.Fst.read(str(tmp_path / "p.fst")), pynini.Fst.read(str(tmp_path / "f.fst"))
        pairs = pynini.PdtParentheses.read(str(tmp_path / "pairs"))

        def back(fst: object) -> Fst:
            fst.write(str(tmp_path / "back.fst"))  # type: ignore[attr-defined]
            return wfst.read_fst(tmp_path / "back.fst", map_file=False)

        expanded = back(pynini.pdt_expand(theirs, pairs))
        assert same(relation(pushdown.expand(), 14), relation(expanded, 14), semiring("tropical"))
        composed = pynini.pdt_compose(theirs, other, pairs, left_pdt=True)
        ours = pushdown.compose(finite)
        assert same(
            relation(ours.expand(), 20), relation(back(pynini.pdt_expand(composed, pairs)), 20), semiring("tropical")
        )
        some += expanded.num_states > 0
        turned = back(pynini.pdt_expand(pynini.pdt_reverse(theirs, pairs), pairs))
        assert same(relation(pushdown.reverse().expand(), 16), relation(turned, 16), semiring("tropical"))
    assert some > count // 60


def test_openfst_finds_the_same_best_paths(tmp_path: Path) -> None:
    pynini = pytest.importorskip("pynini")
    dice, some = random.Random(12), 0
    for _ in range(40):
        texts = []
        for x, y in ([8, 9], [9, 9], [1, 2]):  # OpenFst's search takes no recursion
            costs = [dice.randint(1, 9) / 2 for _ in range(5)]
            texts.append(
                f"0 1 {dice.randint(1, 2)} 1 {costs[0]}\n1 2 {x} {x} {costs[1]}\n2 3 {y} {y} {costs[2]}\n3\n"
                f"1 3 2 2 {costs[3]}\n0 3 1 {dice.randint(0, 2)} {costs[4] + 6}"
            )
        pushdown = replace_to_pushdown({7 + i: wfst.compile_text(text) for i, text in enumerate(texts)}, 7)
        wfst.write_fst(pushdown.fst, tmp_path / "p.fst")
        write_parentheses(tmp_path / "pairs", pushdown.parentheses)
        pairs = pynini.PdtParentheses.read(str(tmp_path / "pairs"))
        pynini.pdt_shortestpath(pynini.Fst.read(str(tmp_path / "p.fst")), pairs).write(str(tmp_path / "best.fst"))
        best = wfst.read_fst(tmp_path / "best.fst", map_file=False)
        assert wfst.total_weight(pushdown.shortest_path()) == pytest.approx(wfst.total_weight(best))
        some += best.num_states > 2
    assert some > 2


@pytest.mark.parametrize("count", COUNTS)
def test_openfst_says_the_same_of_two_stacks(tmp_path: Path, count: int) -> None:
    pynini = pytest.importorskip("pynini")
    dice = random.Random(10)
    for _ in range(count // 5):
        pushdown = random_pushdown(dice, states=6, arcs=16, stacks=2, restriction="read")
        wfst.write_fst(pushdown.fst, tmp_path / "p.fst")
        write_parentheses(tmp_path / "pairs", pushdown.parentheses, pushdown.stacks)
        pairs = pynini.MPdtParentheses.read(str(tmp_path / "pairs"))
        theirs = pynini.mpdt_expand(pynini.Fst.read(str(tmp_path / "p.fst")), pairs)
        theirs.write(str(tmp_path / "back.fst"))
        expanded = wfst.read_fst(tmp_path / "back.fst", map_file=False)
        assert same(relation(pushdown.expand(), 14), relation(expanded, 14), semiring("tropical"))
