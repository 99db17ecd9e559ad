"""Small machines with known answers: sizes exactly, weights to the last digits."""

from __future__ import annotations

import math
import time

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


def test_trivial_filter_counts_five_times_in_the_log_semiring() -> None:
    a = wfst.compile_text("0 1 1 1\n1 2 2 0\n2 3 3 0\n3 4 4 4\n4\n", semiring_name="log64")
    b = wfst.compile_text("0 1 1 4\n1 2 0 5\n2 3 4 1\n3\n", semiring_name="log64")
    for name in ("sequence", "alt_sequence", "match"):
        assert wfst.total_weight(wfst.compose(a, b, compose_filter=name)) == pytest.approx(0.0, abs=1e-12)
    assert wfst.total_weight(wfst.compose(a, b, compose_filter="trivial")) == pytest.approx(-math.log(5), abs=1e-12)


def test_determinisation_in_two_semirings() -> None:
    made = wfst.determinize(wfst.compile_text(W3))
    assert size(made) == (3, 4)
    assert weights(made) == [[1.0], [3.0, 5.0, 7.0], []]
    made = wfst.determinize(wfst.compile_text(W3, semiring_name="log64"))
    expected = [[0.6867383124817772], [3.0, 5.313261687518223, 7.313261687518223], []]
    assert weights(made) == [pytest.approx(row, abs=1e-12) for row in expected]


@pytest.mark.parametrize("name", ["tropical", "log64"])
def test_unequal_twins_are_reported_within_a_second(name: str) -> None:
    fst = wfst.compile_text(W3.replace("2 2 2 2 3", "2 2 2 2 4"), semiring_name=name)
    began = time.perf_counter()
    with pytest.raises(DataError, match="the string 1 leads to the states 1 and 2"):
        wfst.determinize(fst)
    assert time.perf_counter() - began < 1.0


def test_three_best_paths_and_pruning() -> None:
    fst = wfst.compile_text(W4, keep_state_numbering=True)
    found = [(list(map(ord, text)), weight) for text, _, weight in wfst.strings(wfst.shortest_path(fst, 3))]
    assert found == [([1, 4, 3], 2.5), ([2, 3], 3.0), ([1, 3], 5.0)]
    pruned = wfst.prune(fst, weight=1.0)
    assert pruned.num_arcs == 4
    assert 4.0 not in [arc.weight for _, arc in pruned.iter_arcs()]
    best = wfst.prune(fst, weight=0.0)
    assert size(best) == (4, 3)


def test_epsilon_removal() -> None:
    made = wfst.rmepsilon(wfst.compile_text(W5, keep_state_numbering=True))
    assert made.num_states == 4
    assert {(arc.ilabel, arc.weight) for arc in made.arcs(1)} == {(2, 5.0), (3, 2.0)}
    assert made.final(1) == 2.5


@pytest.mark.parametrize(("name", "delta"), [("log", 1e-5), ("log64", 1e-12)])
def test_epsilon_loop_of_one_half_doubles(name: str, delta: float) -> None:
    fst = wfst.compile_text(f"0 0 0 0 {math.log(2)}\n0 1 1 1\n1\n", semiring_name=name)
    assert wfst.rmepsilon(fst).arcs(0)[0].weight == pytest.approx(-math.log(2), abs=delta)


def test_pushing_and_minimising() -> None:
    fst = wfst.compile_text(W6)
    assert list(wfst.shortest_distance(fst, reverse=True)) == [0.0, 0.0, 4.0, 0.0]
    assert weights(wfst.push(fst)) == [[0.0, 1.0, 9.0], [0.0, 1.0], [0.0, 1.0], []]
    assert size(wfst.minimize(fst)) == (3, 5)


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
    assert math.exp(-exact) == pytest.approx(19 / 84 * 19 / 84 * 47 / 84 * 47 / 84, rel=1e-12)
    loose = wfst.total_weight(wfst.compose(sentence, backoff_model(epsilon=True)))
    assert loose < exact


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
    assert wfst.decode(wfst.minimize(wfst.determinize(coded)), encoder).num_states == 3


def test_nothing_runs_for_ever() -> None:
    cases = [
        lambda: wfst.total_weight(wfst.compile_text("0 0 1 1 0\n0\n", semiring_name="log64")),
        lambda: wfst.shortest_path(wfst.compile_text("0 1 1 1 -1\n1 0 1 1 -1\n1\n")),
        lambda: wfst.replace({5: wfst.compile_text("0 1 5 5\n1\n")}, 5),
        lambda: wfst.synchronize(wfst.compile_text("0 0 1 0\n0\n")),
        lambda: wfst.rmepsilon(wfst.compile_text("0 0 0 0 1\n0 1 1 1\n1\n", semiring_name="real")),
        lambda: list(wfst.strings(wfst.compile_text("0 0 1 1\n0\n"))),
    ]
    for case in cases:
        began = time.perf_counter()
        with pytest.raises(DataError):
            case()
        assert time.perf_counter() - began < 1.0
