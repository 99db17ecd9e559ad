"""Words added to finished lexicons; marks in order; grapheme clusters."""

from __future__ import annotations

import random
import unicodedata

import pytest
import regex

import textmill.fst as wfst
from textmill.errors import DataError
from textmill.fst import GrowingLexicon, canonical_order, grapheme_boundaries

COUNTS = [pytest.param(60, id="60"), pytest.param(3000, id="3000", marks=pytest.mark.slow)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("count", COUNTS)
def test_a_grown_lexicon_is_the_minimal_one(weighted: bool, count: int) -> None:
    dice = random.Random(1)
    for _ in range(count):
        pairs = [
            (
                "".join(dice.choice("abc") for _ in range(dice.randint(1, 6))),
                dice.randint(0, 8) / 4 if weighted else 0.0,
            )
            for _ in range(dice.randint(1, 40))
        ]
        cut = dice.randint(0, len(pairs))
        first, whole = (
            {word: min(w for x, w in part if x == word) for word, _ in part} for part in (pairs[:cut], pairs)
        )
        growing = GrowingLexicon(wfst.lexicon(list(first.items()) if weighted else list(first)) if first else None)
        assert growing.update(pairs[cut:]) == len(whole) - len(first)
        built = wfst.lexicon(list(whole.items()) if weighted else list(whole))
        assert wfst.isomorphic(growing.fst(), built)
        assert all(word in growing for word in whole)
        assert "abcabcabc" not in growing
        if first and cut < len(pairs):
            other = dict(pairs[cut:])
            again = GrowingLexicon(wfst.lexicon(list(first.items())))
            assert again.merge(wfst.lexicon(list(other.items()))) == len(whole) - len(first)


def test_words_that_cannot_be_added_are_refused() -> None:
    growing = GrowingLexicon()
    for word, weight in (("", 0.0), ("a", float("nan")), ("a", float("inf"))):
        with pytest.raises(DataError):
            growing.add(word, weight)
    with pytest.raises(DataError, match="a word is a str"):
        growing.add(b"a")
    with pytest.raises(DataError, match="without cycles"):
        GrowingLexicon(wfst.closure(wfst.accep("a")))
    with pytest.raises(DataError, match="tropical"):
        GrowingLexicon(wfst.convert(wfst.accep("a"), "log64"))
    with pytest.raises(DataError, match="without cycles"):
        GrowingLexicon(wfst.string_map([("a", "b")]))
    in_bytes = GrowingLexicon(token_type="byte")
    assert in_bytes.add("é")
    assert b"\xc3\xa9" in in_bytes
    assert in_bytes.fst().num_arcs == 2


def test_marks_are_put_into_canonical_order() -> None:
    marks = [chr(code) for code in (0x301, 0x323, 0x308, 0x31B, 0x327, 0x345, 0x5B0, 0x304)]
    machine, dice = canonical_order(marks), random.Random(2)
    for _ in range(200):
        text = "".join(
            dice.choice("eaé漢") + "".join(dice.choice(marks) for _ in range(dice.randint(0, 4)))
            for _ in range(dice.randint(1, 3))
        )
        wanted, run = "", ""
        for character in [*text, ""]:
            if character and unicodedata.combining(character):
                run += character
            else:
                wanted, run = wanted + "".join(sorted(run, key=unicodedata.combining)) + character, ""
        assert [output for output, _ in wfst.apply(machine, [text], token_type="byte")[0]] == [wanted]
    whole = wfst.compose(wfst.decomposition(), machine)
    for text in ("ộ", "o\u0301\u0323", "ǖ\u0323"):
        assert wfst.apply(whole, [text], token_type="byte")[0][0][0] == unicodedata.normalize("NFD", text)
    with pytest.raises(DataError, match="combining class"):
        canonical_order(["a"])


def test_grapheme_clusters_are_those_of_the_regex_library() -> None:
    machine, dice = grapheme_boundaries("|"), random.Random(3)
    kinds = [*"a\r\n漢é가각", "\u0301", "\u200d", "\u0903", "\u0600", *"🇩🇪", *"각", *"👩🏽❤", "\ufe0f", "\u200b"]
    texts = ["".join(dice.choice(kinds) for _ in range(dice.randint(0, 8))) for _ in range(1000)]
    for text, outputs in zip(texts, wfst.apply(machine, texts, token_type="byte"), strict=True):
        assert [output for output, _ in outputs] == ["|".join(regex.findall(r"\X", text))], ascii(text)
    longer = wfst.apply(grapheme_boundaries(" · "), ["ab"], token_type="byte")[0]
    assert [output for output, _ in longer] == ["a · b"]
    with pytest.raises(DataError, match="separator is empty"):
        grapheme_boundaries("")
