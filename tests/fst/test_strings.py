"""Strings and machines, and one machine applied to many strings."""

from __future__ import annotations

import random

import pytest

import textmill.fst as wfst
from textmill.errors import DataError


def test_token_types() -> None:
    symbols = wfst.SymbolTable(["<eps>", "ab", "c"])
    for token_type, text, labels in (("utf8", "né", [110, 233]), ("byte", "é", [195, 169]), ("symbol", "c ab", [2, 1])):
        assert wfst.labels_of(text, token_type, symbols) == labels
        assert wfst.text_of(labels, token_type, symbols) == text
    with pytest.raises(DataError, match="'zz' is not in the table"):
        wfst.accep("zz", token_type="symbol", symbols=symbols)
    with pytest.raises(DataError, match="label 0"):
        wfst.accep("a\0b")
    with pytest.raises(DataError, match="not text"):
        wfst.text_of([200], "byte")


def test_applying_is_composing_and_searching() -> None:
    dice = random.Random(1)
    words = ["".join(dice.choices("abc", k=dice.randint(1, 4))) for _ in range(40)]
    mapping = [
        (word, "".join(dice.choices("xyz", k=dice.randint(0, 3))), float(dice.randint(0, 3))) for word in words * 2
    ]
    machine = wfst.string_map(mapping)
    texts = [*words, "cccccc", ""]
    for n in (1, 3):
        found = wfst.apply(machine, texts, n=n)
        assert found == wfst.apply(machine, texts, n=n, n_jobs=2)
        for text, outputs in zip(texts, found, strict=True):
            best: dict[str, float] = {}
            for word, output, weight in mapping:
                if word == text:
                    best[output] = min(weight, best.get(output, weight))
            assert [weight for _, weight in outputs] == sorted(best.values())[:n]
            assert all(best[output] == weight for output, weight in outputs)


def test_applying_needs_the_path_property() -> None:
    with pytest.raises(DataError, match="path property"):
        wfst.apply(wfst.string_map([("a", "b")], semiring_name="log64"), ["a"])


def test_cross_products_map_everything_to_everything() -> None:
    left, right = wfst.union(wfst.accep("a"), wfst.accep("bc")), wfst.union(wfst.accep("x"), wfst.accep(""))
    pairs = {(x, y) for x, y, _ in wfst.strings(wfst.cross(left, right))}
    assert pairs == {("a", "x"), ("a", ""), ("bc", "x"), ("bc", "")}


def test_random_paths_follow_the_weights() -> None:
    fst = wfst.compile_text("0 1 97 97 .75\n0 1 98 98 .25\n1\n", semiring_name="real")
    drawn = wfst.randgen(fst, 4000, select="log_prob", weighted=True)
    shares = {text: weight for text, _, weight in wfst.strings(drawn)}
    assert shares["a"] == pytest.approx(0.75, abs=0.03)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert wfst.print_text(drawn) == wfst.print_text(wfst.randgen(fst, 4000, select="log_prob", weighted=True))
    uniform = wfst.randgen(fst, 4000, weighted=True, seed=1)
    assert {text: w for text, _, w in wfst.strings(uniform)}["a"] == pytest.approx(0.5, abs=0.03)
    unnormalised = wfst.arcmap(wfst.convert(fst, "log64"), "times", weight=2.0)
    assert wfst.sample(unnormalised, 10).num_arcs == 10


def test_special_labels_match_as_they_say() -> None:
    word = wfst.accep("abz")
    sigma = wfst.compile_text("0 1 97 97\n1 2 999 999\n2 3 122 122\n3\n")
    assert [y for _, y, _ in wfst.strings(wfst.compose(word, sigma, sigma=999))] == ["abz"]
    rho = wfst.compile_text("0 0 97 65\n0 0 999 999 1\n0\n")
    assert [(y, w) for _, y, w in wfst.strings(wfst.compose(word, rho, rho=999))] == [("Abz", 2.0)]
    assert [(x, w) for x, _, w in wfst.strings(wfst.compose(wfst.invert(rho), word, rho=999, special="left"))] == [
        ("Abz", 2.0)
    ]
    phi = wfst.compile_text("0 1 97 97\n1 2 999 999 3\n2 2 98 98\n2 2 122 122\n2\n")
    assert [w for _, _, w in wfst.strings(wfst.compose(word, phi, phi=999))] == [3.0]
    loop = wfst.compile_text("0 0 999 999\n0\n")
    with pytest.raises(DataError, match="phi arcs"):
        wfst.compose(word, loop, phi=999)
