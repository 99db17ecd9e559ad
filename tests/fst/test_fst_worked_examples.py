"""Small machines with known answers: sizes exactly, weights to the last digits."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from reference.fst import relation

import textmill.fst as wfst
from textmill.errors import DataError

W3 = "0 1 1 1 1\n0 2 1 1 2\n1 1 2 2 3\n1 3 3 3 5\n2 2 2 2 3\n2 3 4 4 6\n3\n"
W4 = "0 1 1 1 1\n0 2 2 2 2\n1 3 3 3 4\n2 3 3 3 1\n1 2 4 4 .5\n3\n"
W5 = "0 1 1 1 1\n1 2 0 0 2\n1 3 0 0 1\n2 3 2 2 3\n3 4 3 3 1\n2 4 0 0 .5\n4\n"
W6 = "0 1 1 1 0\n0 1 2 2 1\n0 2 3 3 5\n1 3 4 4 0\n1 3 5 5 1\n2 3 4 4 4\n2 3 5 5 5\n3\n"


def size(fst: wfst.Fst) -> tuple[int, int]:
    return fst.num_states, fst.num_arcs


def same_machine(fst: wfst.Fst, text: str, delta: float = 1e-5) -> bool:
    """Is it, up to the numbers of states, what the text describes?"""
    return wfst.isomorphic(fst, wfst.compile_text(text, semiring_name=fst.semiring), delta=delta)


def weights(fst: wfst.Fst) -> list[list[float]]:
    return [[arc.weight for arc in fst.arcs(state)] for state in range(fst.num_states)]


def test_first_machine_maps_ac_to_xz_and_has_150_bytes() -> None:
    letters = wfst.SymbolTable(["<eps>", "a", "b", "c", "x", "y", "z"])
    fst = wfst.compile_text(
        "0 1 a x .5\n0 1 b y 1.5\n1 2 c z 2.5\n2 3.5\n", input_symbols=letters, output_symbols=letters
    )
    assert relation(fst)[(1, 3), (4, 6)] == 6.5
    fst.input_symbols = fst.output_symbols = None
    content = wfst.to_bytes(fst)
    assert len(content) == 150
    assert content.startswith(b"\xd6\xfd\xb2\x7e\x06\x00\x00\x00vector\x08\x00\x00\x00standard\x02\x00\x00\x00")


@pytest.mark.parametrize(
    ("name", "states", "arcs", "paths"),
    [("sequence", 6, 5, 1), ("alt_sequence", 6, 5, 1), ("match", 5, 4, 1), ("trivial", 8, 11, 5), ("null", 0, 0, 0)],
)
def test_filters_of_composition(name: str, states: int, arcs: int, paths: int) -> None:
    a = wfst.compile_text("0 1 1 1\n1 2 2 0\n2 3 3 0\n3 4 4 4\n4\n")
    b = wfst.compile_text("0 1 1 4\n1 2 0 5\n2 3 4 1\n3\n")
    made = wfst.compose(a, b, compose_filter=name)
    assert (*size(made), len(list(wfst.strings(made)))) == (states, arcs, paths)
    if name == "match":
        assert same_machine(made, "0 1 1 4\n1 2 2 5\n2 3 3 0\n3 4 4 1\n4\n")
    elif paths == 1:  # a:d, the epsilons of one and then those of the other, d:a
        middle = [(2, 0), (3, 0), (0, 5)] if name == "sequence" else [(0, 5), (2, 0), (3, 0)]
        rows = [(1, 4), *middle, (4, 1)]
        assert same_machine(made, "".join(f"{i} {i + 1} {x} {y}\n" for i, (x, y) in enumerate(rows)) + "5\n")


def test_trivial_filter_counts_five_times_in_the_log_semiring() -> None:
    a = wfst.compile_text("0 1 1 1\n1 2 2 0\n2 3 3 0\n3 4 4 4\n4\n", semiring_name="log64")
    b = wfst.compile_text("0 1 1 4\n1 2 0 5\n2 3 4 1\n3\n", semiring_name="log64")
    for name in ("sequence", "alt_sequence", "match"):
        assert wfst.total_weight(wfst.compose(a, b, compose_filter=name)) == pytest.approx(0.0, abs=1e-12)
    assert wfst.total_weight(wfst.compose(a, b, compose_filter="trivial")) == pytest.approx(-math.log(5), abs=1e-12)


def test_determinization_in_two_semirings() -> None:
    made = wfst.determinize(wfst.compile_text(W3))
    assert size(made) == (3, 4)
    assert same_machine(made, "0 1 1 1 1\n1 1 2 2 3\n1 2 3 3 5\n1 2 4 4 7\n2\n")
    made = wfst.determinize(wfst.compile_text(W3, semiring_name="log"))
    assert same_machine(made, "0 1 1 1 0.686738\n1 1 2 2 3\n1 2 3 3 5.313262\n1 2 4 4 7.313262\n2\n")
    made = wfst.determinize(wfst.compile_text(W3, semiring_name="log64"))
    expected = [[0.6867383124817772], [3.0, 5.313261687518223, 7.313261687518223], []]
    assert weights(made) == [pytest.approx(row, abs=1e-12) for row in expected]


@pytest.mark.parametrize("name", ["tropical", "log64"])
def test_unequal_twins_are_reported_with_their_shortest_string(name: str) -> None:
    fst = wfst.compile_text(W3.replace("2 2 2 2 3", "2 2 2 2 4"), semiring_name=name)
    with pytest.raises(DataError, match="the string 1 leads to the states 1 and 2"):
        wfst.determinize(fst)


def test_three_best_paths_and_pruning() -> None:
    fst = wfst.compile_text(W4, keep_state_numbering=True)
    found = [(list(map(ord, text)), weight) for text, _, weight in wfst.strings(wfst.shortest_path(fst, 3))]
    assert found == [([1, 4, 3], 2.5), ([2, 3], 3.0), ([1, 3], 5.0)]
    assert same_machine(wfst.prune(fst, weight=1.0), W4.replace("1 3 3 3 4\n", ""))
    assert same_machine(wfst.prune(fst, weight=0.0), "0 1 1 1 1\n1 2 4 4 .5\n2 3 3 3 1\n3\n")


def test_epsilon_removal() -> None:
    made = wfst.rmepsilon(wfst.compile_text(W5, keep_state_numbering=True))
    assert same_machine(made, "0 1 1 1 1\n1 2 2 2 5\n1 3 3 3 2\n1 2.5\n2 3 3 3 1\n3\n")


@pytest.mark.parametrize(("name", "delta"), [("log", 1e-5), ("log64", 1e-12)])
def test_epsilon_loop_of_one_half_doubles(name: str, delta: float) -> None:
    fst = wfst.compile_text(f"0 0 0 0 {math.log(2)}\n0 1 1 1\n1\n", semiring_name=name)
    assert wfst.rmepsilon(fst).arcs(0)[0].weight == pytest.approx(-math.log(2), abs=delta)


def test_pushing_and_minimizing() -> None:
    fst = wfst.compile_text(W6)
    assert list(wfst.shortest_distance(fst, reverse=True)) == [0.0, 0.0, 4.0, 0.0]
    pushed = "0 1 1 1 0\n0 1 2 2 1\n0 2 3 3 9\n1 3 4 4 0\n1 3 5 5 1\n2 3 4 4 0\n2 3 5 5 1\n3\n"
    assert same_machine(wfst.push(fst), pushed)
    assert same_machine(wfst.minimize(fst), "0 1 1 1 0\n0 1 2 2 1\n0 1 3 3 9\n1 2 4 4 0\n1 2 5 5 1\n2\n")


def test_pushing_in_the_log_semiring_is_exact() -> None:
    fst = wfst.compile_text(W6, semiring_name="log64")
    total = -0.6266135907628493
    assert wfst.total_weight(fst) == pytest.approx(total, abs=1e-12)
    half = 0.31326168751822286
    expected = [[-half, 1 - half, 9 - half], [half, 1 + half], [half, 1 + half], []]
    assert weights(wfst.push(fst)) == [pytest.approx(row, abs=1e-12) for row in expected]
    assert wfst.total_weight(wfst.push(fst, to="final")) == pytest.approx(total, abs=1e-12)
    stochastic = wfst.push(fst, remove_total_weight=True)
    for state in range(stochastic.num_states):
        mass = sum(math.exp(-arc.weight) for arc in stochastic.arcs(state)) + math.exp(-stochastic.final(state))
        assert abs(mass - 1) < 1e-12


def backoff_model(epsilon: bool) -> wfst.Fst:
    """Interpolated Kneser-Ney of {a b, a c, b a b}: histories <s>, a, b, c and none; labels a 1, b 2, c 3, phi 9."""
    ln = math.log
    words = {1: 2 / 7, 2: 2 / 7, 3: 1 / 7}
    end = 2 / 7
    bigrams = {"s": {1: 47 / 84, 2: 19 / 84}, "a": {2: 47 / 84, 3: 0.125 + 0.5 / 7}, "b": {1: 19 / 84}, "c": {}}
    ends = {"b": 47 / 84, "c": 0.25 + 0.75 * end}
    state = {"s": 0, "a": 1, "b": 2, "c": 3, "": 4}
    after = {1: "a", 2: "b", 3: "c"}
    backoff = {"s": 1 / 2, "a": 1 / 2, "b": 1 / 2, "c": 3 / 4}
    fst = wfst.Fst("log64")
    fst.add_states(5)
    fst.start = 0
    for history, row in bigrams.items():
        for word, p in row.items():
            fst.add_arc(state[history], word, word, -ln(p), state[after[word]])
        fst.add_arc(state[history], 0 if epsilon else 9, 0 if epsilon else 9, -ln(backoff[history]), 4)
        if history in ends:
            fst.set_final(state[history], -ln(ends[history]))
    for word, p in words.items():
        fst.add_arc(4, word, word, -ln(p), state[after[word]])
    fst.set_final(4, -ln(end))
    return fst


def test_phi_is_exact_for_back_off_and_epsilon_overcounts() -> None:
    sentence = wfst.Fst("log64")
    sentence.add_states(4)
    sentence.start = 0
    for i, word in enumerate((2, 1, 2)):
        sentence.add_arc(i, word, word, None, i + 1)
    sentence.set_final(3)
    exact = wfst.total_weight(wfst.compose(sentence, backoff_model(epsilon=False), phi=9))
    assert exact == pytest.approx(4.134094, abs=1e-6)
    assert math.exp(-exact) == pytest.approx(0.0160172, abs=1e-7)
    assert math.exp(-exact) == pytest.approx(19 / 84 * 19 / 84 * 47 / 84 * 47 / 84, rel=1e-12)
    loose = wfst.total_weight(wfst.compose(sentence, backoff_model(epsilon=True)))
    assert loose == pytest.approx(2.700218, abs=1e-6)
    assert math.exp(-loose) == pytest.approx(0.0671909, abs=1e-7)
    assert math.exp(-loose) == pytest.approx((19 / 84 + 1 / 7) ** 2 * (47 / 84 + 1 / 7) ** 2, rel=1e-12)


def test_edit_distance_of_kitten_and_sitting() -> None:
    letters = sorted(set("kittensitting"))
    edit = wfst.Fst()
    edit.start = edit.add_state()
    edit.set_final(0)
    for x in letters:
        edit.add_arc(0, ord(x), 0, 1.0, 0)
        edit.add_arc(0, 0, ord(x), 1.0, 0)
        for y in letters:
            edit.add_arc(0, ord(x), ord(y), float(x != y), 0)
    lattice = wfst.compose(wfst.compose(wfst.accep("kitten"), edit), wfst.accep("sitting"))
    assert wfst.total_weight(lattice) == 3.0
    assert size(lattice) == (56, 139)


def test_search_for_four_words_has_ten_and_then_five_states() -> None:
    words = wfst.union(*(wfst.accep(word) for word in ("he", "she", "his", "hers")))
    search = wfst.concat(wfst.sigma_star(range(97, 123)), words)
    made = wfst.determinize(wfst.rmepsilon(search))
    assert size(made) == (10, 260)
    assert size(wfst.minimize(made)) == (5, 130)


def test_suffix_and_factor_automata_of_abcbc() -> None:
    suffixes = wfst.union(*(wfst.accep("abcbc"[i:]) for i in range(6)))
    assert size(wfst.minimize(wfst.determinize(wfst.rmepsilon(suffixes)))) == (8, 9)
    factors = wfst.union(*(wfst.accep("abcbc"[i:j]) for i in range(6) for j in range(i, 6)))
    assert size(wfst.minimize(wfst.determinize(wfst.rmepsilon(factors)))) == (6, 7)


def test_small_checks() -> None:
    made = wfst.rmepsilon(wfst.synchronize(wfst.compile_text("0 1 1 0\n1 2 2 11\n2 3 0 12\n3\n")))
    assert [arc[:2] for _, arc in wfst.topsort(made).iter_arcs()] == [(1, 11), (2, 12)]
    made = wfst.epsnormalize(wfst.compile_text("0 1 0 11\n1 2 1 0\n2 3 0 12\n3 4 2 13\n4\n"))
    assert [arc[:2] for _, arc in wfst.topsort(made).iter_arcs()] == [(1, 11), (2, 12), (0, 13)]
    made = wfst.difference(wfst.sigma_star([1, 2]), wfst.compile_text("0 1 1 1\n1 2 2 2\n2\n"))
    assert size(made) == (4, 8)
    branches = wfst.compile_text("0 1 1 5 .5\n0 2 1 5 .5\n1 3 2 6\n2 3 2 6\n3\n")
    coded, encoder = wfst.encode(branches, labels=True, weights=True)
    merged = wfst.decode(wfst.minimize(wfst.determinize(coded)), encoder)
    assert same_machine(merged, "0 1 1 5 .5\n1 2 2 6\n2\n")


def context_dependency(phones: int) -> wfst.Fst:
    """Phones 1 ... n and the end $ to triphones: states are the start, pairs (left, middle) and the end.

    The triphone left/middle_right is the label 1 + (left (n + 1) + middle) (n + 1) + right, with 0 for no phone on the
    left and 0 for the end on the right.
    """
    n = phones + 1
    state = {"start": 0, "end": 1}
    for left in range(n):
        for middle in range(1, n):
            state[left, middle] = len(state)
    fst = wfst.Fst()
    fst.add_states(len(state))
    fst.start = 0
    fst.set_final(1)
    for phone in range(1, n):
        fst.add_arc(0, phone, 0, None, state[0, phone])
    for left in range(n):
        for middle in range(1, n):
            for right in range(n):
                label = 1 + (left * n + middle) * n + right
                target = state[middle, right] if right else 1
                fst.add_arc(state[left, middle], right or n, label, None, target)
    return fst


def test_context_dependency_transducer() -> None:
    fst = context_dependency(2)
    assert size(fst) == (8, 20)
    assert len({arc.olabel for _, arc in fst.iter_arcs()} - {0}) == 18
    assert size(context_dependency(40)) == (1642, 67280)
    a, b, end = 1, 2, 3
    word = wfst.compile_text("".join(f"{i} {i + 1} {x} {x}\n" for i, x in enumerate((a, b, a, end))) + "4\n")
    ((_, outputs),) = relation(wfst.compose(word, fst))
    triphones = [((label - 1) // 9, (label - 1) // 3 % 3, (label - 1) % 3) for label in outputs]
    assert triphones == [(0, a, b), (a, b, a), (b, a, 0)]


A, B, C, D = map(ord, "abcd")
RULES = {
    # a -> b / c _ d: after c the rewriting is guessed, d must follow or must not
    "a->b/c_d": [
        *((s, x, x, 1 if x == C else 0) for s in (0, 1) for x in (A, B, C, D) if not (s == 1 and x == A)),
        (1, A, B, 2),
        (1, A, A, 3),
        (2, D, D, 0),
        (3, A, A, 0),
        (3, B, B, 0),
        (3, C, C, 1),
    ],
    # a -> b / b _: the left context is what was written (left to right) or what was read (simultaneously)
    "a->b/b_ written": [
        *((0, x, x, 1 if x == B else 0) for x in (A, B, C, D)),
        (1, A, B, 1),
        (1, B, B, 1),
        (1, C, C, 0),
        (1, D, D, 0),
    ],
    "a->b/b_ read": [
        *((0, x, x, 1 if x == B else 0) for x in (A, B, C, D)),
        (1, A, B, 0),
        (1, B, B, 1),
        (1, C, C, 0),
        (1, D, D, 0),
    ],
    "ab->c optional": [*((0, x, x, 0) for x in (A, B, C, D)), (0, A, C, 1), (1, B, 0, 0)],
    # aa -> b from the left: a single a only where no other a follows
    "aa->b": [
        *((s, x, x, 0) for s in (0, 2) for x in (B, C, D)),
        (0, A, B, 1),
        (1, A, 0, 0),
        (0, A, A, 2),
    ],
    "a->b at the start": [
        *((0, x, B if x == A else x, 1) for x in (A, B, C, D)),
        *((1, x, x, 1) for x in (A, B, C, D)),
    ],
}
FINALS = {"a->b/c_d": (0, 1, 3), "a->b/b_ written": (0, 1), "a->b/b_ read": (0, 1), "aa->b": (0, 2)}


def rule(name: str) -> wfst.Fst:
    fst = wfst.Fst()
    fst.add_states(max(max(source, target) for source, _, _, target in RULES[name]) + 1)
    fst.start = 0
    for source, x, y, target in RULES[name]:
        fst.add_arc(source, x, y, None, target)
    for state in FINALS.get(name, (0,) if "optional" in name else (0, 1)):
        fst.set_final(state)
    return fst


@pytest.mark.parametrize(
    ("name", "backwards", "text", "outputs"),
    [
        ("a->b/c_d", False, "cadcac", {"cbdcac"}),
        ("a->b/b_ written", False, "baaa", {"bbbb"}),
        ("a->b/b_ read", False, "baaa", {"bbaa"}),
        ("ab->c optional", False, "abab", {"abab", "abc", "cab", "cc"}),
        ("aa->b", False, "aaa", {"ba"}),
        ("aa->b", True, "aaa", {"ab"}),
        ("a->b at the start", False, "aa", {"ba"}),
        ("a->b at the start", True, "aa", {"ab"}),
    ],
)
def test_rewrite_rules_as_machines(name: str, backwards: bool, text: str, outputs: set[str]) -> None:
    fst = wfst.reverse(rule(name)) if backwards else rule(name)
    assert {y for _, y, _ in wfst.strings(wfst.compose(wfst.accep(text), fst))} == outputs
    assert {y for y, _ in wfst.apply(fst, [text], k=10)[0]} == outputs


@pytest.mark.data
def test_lexicon_of_the_war_of_the_worlds_has_the_published_sizes(data: Path) -> None:
    """Words of OpenFst's example, each a path, then one of 43 signs, again and again."""
    table = data / "wotw" / "wotw.syms"
    if not table.exists():
        pytest.skip("the words of OpenFst's example are not in the data folder as wotw/wotw.syms")
    words = [(word, key) for key, word in wfst.SymbolTable.read(table).items() if 0 < key <= 7102]
    lines, state = [], 0
    for word, key in words:
        lines += [f"{state + i if i else 0} {state + i + 1} {ord(c)} {0 if i else key}" for i, c in enumerate(word)]
        state += len(word)
        lines.append(str(state))
    signs = "".join(f"0 1 {code} 0\n" for code in range(32, 127) if not chr(code).isalpha()) + "1\n"
    lexicon = wfst.closure(wfst.concat(wfst.compile_text("\n".join(lines)), wfst.compile_text(signs)))
    without = wfst.rmepsilon(lexicon)
    deterministic = wfst.determinize(without)
    coded = wfst.encode(without, labels=True)[0]
    made = [lexicon, without, deterministic, wfst.minimize(deterministic), wfst.minimize(wfst.determinize(coded))]
    assert list(map(size, made)) == [
        (49_457, 56_600),
        (49_455, 361_941),
        (22_333, 327_767),
        (7_795, 80_416),
        (14_717, 21_860),
    ]
