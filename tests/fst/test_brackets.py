r"""Generated symbols in brackets, against Pynini, and back."""

from __future__ import annotations

import random

import pytest

import textmill.fst as wfst
from textmill.errors import DataError

pynini = pytest.importorskip("pynini")


def labels(fst: object) -> list[int]:
    return [arc.ilabel for state in fst.states() for arc in fst.arcs(state)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("token_type", ["byte", "utf8"])
def test_brackets_are_read_as_pynini_reads_them(token_type: str) -> None:
    generated = wfst.SymbolTable(["<epsilon>"])
    first = pynini.accep("[first symbol of this run]")
    shift = labels(first)[0] - wfst.GENERATED
    for name in ("first", "symbol", "of", "this", "run"):
        wfst.labels_of(f"[{name}]", token_type, generated=generated)
    texts = ["a[0x41]b", "[65][101]", "[0101]", r"\[x\]\\", "é[0xE9]", "[new_one]a[run of]", "plain"]
    for text in texts:
        expected = labels(pynini.accep(text, token_type=token_type))
        found = wfst.labels_of(text, token_type, generated=generated)
        assert [label + shift if label >= wfst.GENERATED else label for label in found] == expected


def test_brackets_come_back() -> None:
    dice = random.Random(1)
    generated = wfst.SymbolTable(["<eps>"])
    for _ in range(200):
        text = "".join(dice.choice(["a", "é", r"\[", r"\]", "\\\\", "[tag]", "[end of]", "z"]) for _ in range(8))
        for token_type in ("byte", "utf8"):
            found = wfst.labels_of(text, token_type, generated=generated)
            again = wfst.text_of(found, token_type, generated=generated)
            assert wfst.labels_of(again, token_type, generated=generated) == found
            assert again == text.replace("[end of]", "[end][of]")
    plain = "a[b]\\c"
    assert wfst.text_of(wfst.labels_of(wfst.escape(plain), generated=generated)) == plain


def test_machines_have_generated_symbols() -> None:
    generated = wfst.SymbolTable(["<eps>"])
    fst = wfst.string_map([("walk[past]", "walked"), ("go[past]", "went")], generated=generated)
    found = wfst.compose(wfst.accep("go[past]", generated=generated), fst)
    assert [(x, y) for x, y, _ in wfst.strings(found, generated=generated)] == [("go[past]", "went")]
    assert generated.key("past") == wfst.GENERATED


@pytest.mark.parametrize("text", ["[", "]", "[a", "a]b", "[a[b]]", "\\", "[]", "[0]", "[99999999999]"])
def test_brackets_that_do_not_fit_are_named(text: str) -> None:
    with pytest.raises(DataError, match="string"):
        wfst.labels_of(text, generated=wfst.SymbolTable(["<eps>"]))
