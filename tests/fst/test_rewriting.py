"""Rewrite rules against their definition on strings, against Pynini, and the worked examples."""

from __future__ import annotations

import random

import pytest

from tests.reference.rewriting import rewritten
from textmill import fst
from textmill.errors import DataError

LETTERS = "abcd"
MODES = [(direction, optional) for direction in fst.DIRECTIONS for optional in (False, True)]


def outputs(rule: fst.Fst, text: str) -> set[str]:
    """All outputs of a machine for a text."""
    return {output for _, output, _ in fst.strings(fst.compose(fst.accep(text), rule), most=100_000)}


def context(strings: list[str]) -> fst.Fst:
    """The acceptor of strings in which ^ and $ are the ends of the text."""
    ends = {"^": fst.boundary("start"), "$": fst.boundary("end")}
    machine = fst.Fst()
    for string in strings:
        piece = fst.accep("")
        for letter in string:
            piece = piece + ends.get(letter, letter)
        machine = machine | piece
    return machine


def random_rule(rng: random.Random, empty: bool) -> tuple[dict[str, list[str]], list[str], list[str]]:
    """A small rule over few letters, so that its parts meet."""
    letters = "ab" if rng.random() < 0.5 else "abc"

    def word(least: int, most: int) -> str:
        return "".join(rng.choice(letters) for _ in range(rng.randint(least, most)))

    rule = {
        word(0 if empty else 1, 3): [word(0, 2) for _ in range(rng.randint(1, 2))] for _ in range(rng.randint(1, 2))
    }
    lefts = [("^" if rng.random() < 0.2 else "") + word(0, 2) for _ in range(rng.randint(1, 2))]
    rights = [word(0, 2) + ("$" if rng.random() < 0.2 else "") for _ in range(rng.randint(1, 2))]
    return rule, lefts, rights


def compiled(
    rule: dict[str, list[str]], lefts: list[str], rights: list[str], direction: str, optional: bool
) -> fst.Fst:
    """The machine of a rule."""
    pairs = [(phi, psi) for phi, outputs in rule.items() for psi in outputs]
    return fst.rewrite(
        fst.string_map(pairs),
        left=context(lefts),
        right=context(rights),
        alphabet=LETTERS,
        direction=direction,
        optional=optional,
    )


def check_random(cases: int, direction: str, optional: bool, seed: int) -> None:
    rng = random.Random(f"{seed} {direction} {optional}")
    done = 0
    while done < cases:
        rule, lefts, rights = random_rule(rng, empty=rng.random() < 0.2)
        machine = compiled(rule, lefts, rights, direction, optional)
        for _ in range(20):
            text = "".join(rng.choice("abcd" if rng.random() < 0.1 else "abc") for _ in range(rng.randint(0, 7)))
            expected = rewritten(text, rule, lefts, rights, direction, optional)
            assert outputs(machine, text) == expected, (text, rule, lefts, rights)
            done += 1


@pytest.mark.parametrize(("direction", "optional"), MODES)
def test_rules_agree_with_their_definition(direction: str, optional: bool) -> None:
    check_random(400, direction, optional, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize(("direction", "optional"), MODES)
def test_rules_agree_with_their_definition_in_ten_thousand_cases(direction: str, optional: bool) -> None:
    check_random(10_000, direction, optional, seed=2)


@pytest.mark.parametrize(("direction", "optional"), MODES)
def test_rules_agree_with_pynini(direction: str, optional: bool) -> None:
    pynini = pytest.importorskip("pynini")
    names = {"left-to-right": "ltr", "right-to-left": "rtl", "simultaneous": "sim"}
    rng = random.Random(f"pynini {direction} {optional}")
    sigma = pynini.union(*LETTERS).closure().optimize()

    def theirs(strings: list[str]) -> object:
        marks = {"^": "[BOS]", "$": "[EOS]"}
        return pynini.union(*("".join(marks.get(letter, letter) for letter in string) for string in strings))

    for _ in range(40):
        rule, lefts, rights = random_rule(rng, empty=False)
        pairs = [(phi, psi) for phi, outs in rule.items() for psi in outs]
        ours = compiled(rule, lefts, rights, direction, optional)
        peer = pynini.cdrewrite(
            pynini.union(*(pynini.cross(phi, psi) for phi, psi in pairs)),
            theirs(lefts),
            theirs(rights),
            sigma,
            direction=names[direction],
            mode="opt" if optional else "obl",
        ).optimize()
        for _ in range(10):
            text = "".join(rng.choice("abc") for _ in range(rng.randint(0, 6)))
            expected = set((pynini.accep(text) @ peer).project("output").rmepsilon().paths().ostrings())
            assert outputs(ours, text) == expected, (text, rule, lefts, rights)


def test_worked_examples_of_rules() -> None:
    def rule(phi: str, psi: str, left: object = "", right: object = "", **options: object) -> fst.Fst:
        return fst.rewrite(phi, psi, left=left, right=right, alphabet=LETTERS, **options)

    assert outputs(rule("a", "b", "c", "d"), "cadcac") == {"cbdcac"}
    expected = {"left-to-right": "bbbb", "right-to-left": "bbaa", "simultaneous": "bbaa"}
    for direction, output in expected.items():
        assert outputs(rule("a", "b", "b", direction=direction), "baaa") == {output}
    assert outputs(rule("ab", "c", optional=True), "abab") == {"abab", "abc", "cab", "cc"}
    assert outputs(rule("aa", "b"), "aaa") == {"ba"}
    assert outputs(rule("aa", "b", direction="right-to-left"), "aaa") == {"ab"}
    assert outputs(rule("a", "b", fst.boundary("start")), "aa") == {"ba"}
    assert outputs(rule("a", "b", right=fst.boundary("end")), "aa") == {"ab"}


def test_weights_of_the_target_are_paid_for_each_application() -> None:
    rule = fst.rewrite(fst.string_map([("a", "b", 1.5)]), alphabet=LETTERS, optional=True)
    weights = {y: w for _, y, w in fst.strings(fst.compose(fst.accep("aca"), rule))}
    assert weights == {"aca": 0.0, "bca": 1.5, "acb": 1.5, "bcb": 3.0}


def test_symbols_that_a_rule_does_not_tell_apart_do_not_make_it_larger() -> None:
    small = fst.rewrite("a", "b", left="c", right="d", alphabet=range(97, 107))
    large = fst.rewrite("a", "b", left="c", right="d", alphabet=range(97, 1097))
    assert small.num_states == large.num_states
    assert outputs(large, "cadcaǿ") == {"cbdcaǿ"}


def test_bad_rules_are_refused() -> None:
    with pytest.raises(DataError, match="contexts only"):
        fst.rewrite(fst.boundary("start"), "a", alphabet="ab")
    with pytest.raises(DataError, match="right context must be an acceptor"):
        fst.rewrite("a", "b", right=fst.cross("a", "b"), alphabet="ab")
    with pytest.raises(DataError, match="direction is one of"):
        fst.rewrite("a", "b", alphabet="ab", direction="up")
    with pytest.raises(DataError, match="acceptors"):
        fst.rewrite(fst.cross("a", "b"), "b", alphabet="ab")


def test_a_rule_with_an_empty_target_copies() -> None:
    assert outputs(fst.rewrite(fst.Fst(), "b", alphabet="ab"), "ab") == {"ab"}
    assert outputs(fst.rewrite("a", "b", left=fst.Fst(), alphabet="ab"), "ab") == {"ab"}
