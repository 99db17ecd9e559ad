"""Operators on machines, strings promoted, string files."""

from __future__ import annotations

from pathlib import Path

import pytest

from textmill import fst
from textmill.errors import DataError


def texts(machine: fst.Fst) -> set[str]:
    """All strings of an acceptor without cycles."""
    return {text for text, _, _ in fst.strings(machine)}


def test_operators_promote_strings_on_both_sides() -> None:
    a = fst.accep("a")
    assert texts(a + "b") == {"ab"}
    assert texts("b" + a) == {"ba"}
    assert texts(a | "b") == texts("b" | a) == {"a", "b"}
    assert texts((a | "b") - "a") == {"b"}
    assert texts("ab" - a) == {"ab"}
    assert {y for _, y, _ in fst.strings("a" @ fst.cross("a", "x"))} == {"x"}
    assert {y for _, y, _ in fst.strings(a @ fst.cross("a", "x") @ "x")} == {"x"}


def test_powers_repeat() -> None:
    a = fst.accep("a")
    assert texts(a**3) == {"aaa"}
    assert texts(a ** (0, 2)) == {"", "a", "aa"}
    for most in (None, ...):
        assert not texts(("" | (fst.accep("a") ** 2)) - a ** (0, most))
    with pytest.raises(DataError, match="repeated"):
        a ** "b"  # type: ignore[operator]


def test_complement_is_over_the_alphabet_of_the_reading() -> None:
    with fst.reading(alphabet="ab"):
        assert texts((~fst.accep("a")) - (~(fst.accep("b") | "ab"))) == {"b", "ab"}
    with pytest.raises(DataError, match="needs an alphabet"):
        ~fst.accep("a")
    with fst.reading(token_type="byte"):
        assert fst.any_string().num_arcs == 255
        assert fst.promote("é").num_states == 3


def test_operators_keep_semirings_apart() -> None:
    log = fst.accep("a", semiring_name="log64")
    assert (log + "b").semiring.name == "log64"
    with pytest.raises(DataError, match="different semirings"):
        log + fst.accep("b")
    with pytest.raises(DataError, match="a machine or a string"):
        log + 3  # type: ignore[operator]


def test_subtraction_takes_machines_with_epsilons_and_weights() -> None:
    taken = fst.add_weight(fst.accep("a") | "b" | "", 2.0)
    assert texts((fst.accep("a") | "c") - taken) == {"c"}


def test_string_files_name_the_line_of_a_fault(tmp_path: Path) -> None:
    file = tmp_path / "words.tsv"
    file.write_text("a\tb\nc\td\tx\n")
    with pytest.raises(DataError, match=r"words.tsv:2: the weight 'x'"):
        fst.string_file(file)
    file.write_bytes(b"a\tb\n\xff\n")
    with pytest.raises(DataError, match=r"words.tsv:2: the file is not UTF-8"):
        fst.string_file(file)
    file.write_text("a\tb\tc\td\n")
    with pytest.raises(DataError, match=r"words.tsv:1: a line has"):
        fst.string_file(file)
