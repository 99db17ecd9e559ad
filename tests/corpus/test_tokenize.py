"""Words, sentences and n-grams: the official break tests, slow definitions, and what bad input does."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textmill._native import corpus as native
from textmill.corpus import CharacterNgrams, Tokenizer, split_sentences
from textmill.errors import DataError

UNICODE = Path(__file__).parent.parent / "files" / "unicode"
ASSIGNED = st.characters(codec="utf-8", exclude_categories=["Cn"])  # our tables know more letters than older Pythons do
TEXTS = st.text(alphabet=ASSIGNED, max_size=60)
TRICKY = st.text(
    alphabet="aZ9_. ,:;'\"’-\u00ad\u0301\u200d\u05d0\u30a2\U0001f468\U0001f1e9\r\n\u2028ßİ\u0f7c", max_size=40
)


def break_tests(name: str) -> list[tuple[str, list[int]]]:
    """Texts and the ends of their segments."""
    tests = []
    for line in (UNICODE / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        text, ends = "", []
        for part in line.split()[1:]:
            if part == "÷":
                ends.append(len(text))
            elif part != "×":
                text += chr(int(part, 16))
        tests.append((text, ends))
    return tests


def sentence_ends(text: str) -> list[int]:
    return [end for _, end in native.sentence_spans(text, [])]


@pytest.mark.parametrize(
    ("file", "count", "ends_of"),
    [("word_break.txt", 1823, native.word_boundaries), ("sentence_break.txt", 502, sentence_ends)],
)
def test_the_official_break_tests_pass(file: str, count: int, ends_of: Callable[[str], list[int]]) -> None:
    tests = break_tests(file)
    assert len(tests) == count
    assert [text for text, ends in tests if ends_of(text) != ends] == []


@given(TEXTS | TRICKY)
def test_segments_cover_the_text_whatever_its_width(text: str) -> None:
    for ends_of in (native.word_boundaries, sentence_ends):
        ends = ends_of(text)
        assert ends == sorted(set(ends))
        assert (ends[-1] if ends else 0) == len(text)
        wide = text + "\u2029\U00010000"  # the same text in four bytes per character
        assert [end for end in ends_of(wide) if end < len(text)] == ends[:-1]


@given(TEXTS | TRICKY)
def test_words_are_the_segments_with_a_letter_or_number_case_folded(text: str) -> None:
    starts = [0, *native.word_boundaries(text)]
    segments = [text[a:b] for a, b in itertools.pairwise(starts)]
    wordlike = [s for s in segments if is_word(s)]
    assert Tokenizer(case="keep")(text) == wordlike
    assert Tokenizer()(text) == [fold(word) for word in wordlike]
    assert Tokenizer().spans(text) == [span for span in itertools.pairwise(starts) if is_word(text[slice(*span)])]


def test_a_vowel_sign_on_a_blank_is_no_word() -> None:
    """Tibetan text has them; a word with a blank in it could not be written to an ARPA file."""
    assert Tokenizer()("\u0f40 \u0f7c\u0f0b\u3000\u0f7c \u0941") == ["\u0f40"]


def is_word(segment: str) -> bool:
    import regex

    return any(letter_or_number(c) for c in segment) and not regex.match(r"\p{White_Space}", segment)


def letter_or_number(c: str) -> bool:
    import regex

    return unassigned(c) is False and regex.match(r"[\p{Alphabetic}\p{N}]", c) is not None


def unassigned(c: str) -> bool:
    """Newer versions of Unicode know more letters than our tables: leave those out of the comparison."""
    return unicodedata.category(c) == "Cn"


def fold(word: str) -> str:
    return word.casefold()


def test_every_code_point_folds_as_python_folds_it() -> None:
    points = [chr(p) for p in range(0x110000) if not 0xD800 <= p <= 0xDFFF and not unassigned(chr(p))]
    grams = next(CharacterNgrams(lengths=(1, 1)).tokenize(["\n".join(points)]))
    expected = [c for p in points for c in ("" if p.isspace() else p.casefold())]
    assert [gram for gram in grams if not gram.isspace()] == [c for c in expected if not c.isspace()]


@pytest.mark.parametrize(
    ("text", "options", "tokens"),
    [
        ("12.4.2010 and 2010-04-12", {"keep": ["dates"]}, ["12.4.2010", "and", "2010-04-12"]),
        ("12.4.2010 and 2010-04-12", {"split": ["dates"]}, ["12", "4", "2010", "and", "2010", "04", "12"]),
        ("147.251.48.1", {"split": ["addresses"]}, ["147", "251", "48", "1"]),
        ("147.251.48.1 fe80::1, 256.1.1.1", {"keep": ["addresses"]}, ["147.251.48.1", "fe80::1", "256.1.1.1"]),
        ("pages 10–55 or 1990-1995", {"keep": ["ranges"]}, ["pages", "10–55", "or", "1990-1995"]),
        ("pages 10–55", {}, ["pages", "10", "55"]),
        ("U.S.A. e.g. Dr. No", {"keep": ["abbreviations"]}, ["u.s.a.", "e.g.", "dr", "no"]),
        ("Dr. No", {"keep": ["abbreviations"], "abbreviations": ["dr."]}, ["dr.", "no"]),
        ("U.S.A.", {"split": ["abbreviations"]}, ["u", "s", "a"]),
        ("fine :-) <3 :D 👍🏽!", {"keep": ["emoticons"]}, ["fine", ":-)", "<3", ":d", "👍🏽"]),
        ("fine :-) <3", {}, ["fine", "3"]),
        ("-3.5e-10 +1,000.50 50%", {"keep": ["numbers"]}, ["-3.5e-10", "+1,000.50", "50%"]),
        ("a-5 x+1", {"keep": ["numbers"]}, ["a", "5", "x", "1"]),
        ("http://example.org (see 8) a=(b)", {"keep": ["emoticons"]}, ["http", "example.org", "see", "8", "a", "b"]),
        ("in 1999 at 10.5 x2", {"digits": "drop"}, ["in", "at", "x2"]),
        ("in 1999 at 10.5 x2", {"digits": "mask"}, ["in", "0000", "at", "00.0", "x2"]),
        ("a bc def ghij", {"shortest": 2, "longest": 3}, ["bc", "def"]),
        ("N8 state-of-the-art don't", {}, ["n8", "state", "of", "the", "art", "don't"]),
        ("STRASSE Straße", {}, ["strasse", "strasse"]),
        ("STRASSE Straße", {"case": "keep"}, ["STRASSE", "Straße"]),
    ],
)
def test_options(text: str, options: dict[str, object], tokens: list[str]) -> None:
    assert Tokenizer(**options)(text) == tokens
    assert Tokenizer(**options)(text + " \u4e2d")[: len(tokens)] == tokens  # two bytes per character
    assert Tokenizer(**options)(text + " \U00010428")[: len(tokens)] == tokens  # four


@given(TRICKY | st.text(alphabet="0123456789.-–/:+%eEabcdef)(D;=<3^_ U\U0001f44d", max_size=40))
def test_compounds_lose_no_letter_and_no_number(text: str) -> None:
    every = ["numbers", "dates", "addresses", "ranges", "abbreviations", "emoticons"]
    plain = "".join(c for c in text if letter_or_number(c))
    for options in ({"keep": every}, {"split": every}):
        tokenizer = Tokenizer(case="keep", **options)  # type: ignore[arg-type]
        assert "".join(c for token in tokenizer(text) for c in token if letter_or_number(c)) == plain
        assert [text[a:b] for a, b in tokenizer.spans(text)] == tokenizer(text)


def test_python_functions_are_called_once_for_each_distinct_token() -> None:
    seen: list[str] = []

    def normalize(token: str) -> str | None:
        seen.append(token)
        return None if token == "the" else token.removesuffix("s")

    documents = ["the mills mill", "the mill mills"] * 50
    assert next(iter(Tokenizer(normalize=normalize).tokenize(documents))) == ["mill", "mill"]
    assert sorted(seen) == ["mill", "mills", "the"]


@given(st.text(alphabet="ab \tßé\u3000", max_size=20), st.integers(1, 4), st.integers(0, 3))
def test_character_ngrams_are_all_windows_of_the_folded_text(text: str, shortest: int, more: int) -> None:
    lengths = (shortest, shortest + more)
    run = "".join(c if not c.isspace() else " " for c in text.casefold())
    while "  " in run:
        run = run.replace("  ", " ")
    windows = [run[i : i + n] for n in range(lengths[0], lengths[1] + 1) for i in range(len(run) - n + 1)]
    assert CharacterNgrams(lengths=lengths)(text) == windows


def test_ngrams_within_words_have_a_blank_on_either_side() -> None:
    assert CharacterNgrams(lengths=(5, 6), within="word")("a big") == [" a ", " big ", " big "][:2]


def test_abbreviations_end_no_sentence_but_lines_do() -> None:
    text = "See Fig. 3. Ask Dr. Hill.\nOk."
    assert split_sentences(text, abbreviations=["Dr.", "fig."]) == ["See Fig. 3.", "Ask Dr. Hill.", "Ok."]
    assert split_sentences("") == []
    assert split_sentences("It ends with Dr.\nHill.", abbreviations=["dr."]) == ["It ends with Dr.", "Hill."]


def test_tokens_are_the_same_for_any_number_of_threads() -> None:
    documents = [f"Word{i} is number {i % 17}. " * 40 for i in range(3000)]
    one = list(Tokenizer().tokenize(documents, n_jobs=1))
    assert one == list(Tokenizer().tokenize(documents, n_jobs=2)) == list(Tokenizer().tokenize(documents, n_jobs=8))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"case": "lower"}, "case must be one of 'fold', 'keep'"),
        ({"digits": 1}, "digits must be one of"),
        ({"keep": ["urls"]}, "keep must be one of"),
        ({"keep": "dates"}, r"keep must be a list of names, got the text 'dates'; pass \['dates'\]"),
        ({"keep": ["dates"], "split": ["dates"]}, "dates cannot be both kept and split"),
        ({"shortest": 0}, "shortest must be a whole number at least 1"),
        ({"shortest": 3, "longest": 2}, "longest must be"),
        ({"abbreviations": ["Dr"]}, "must end with a full stop"),
        ({"stem": "klingon"}, "no stemmer for 'klingon'; there are"),
    ],
)
def test_wrong_options_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Tokenizer(**options)("text")


def test_a_lone_surrogate_is_found_with_its_place() -> None:
    with pytest.raises(DataError, match="document:2:4: the text holds a lone surrogate"):
        list(Tokenizer().tokenize(["fine", "bad\ud800"]))
    with pytest.raises(DataError, match="document:1:1: a document must be a str, not bytes"):
        list(Tokenizer().tokenize([b"bytes"]))  # type: ignore[list-item]


def test_huge_and_odd_texts_are_handled() -> None:
    assert Tokenizer()("x" * 10_000_000) == ["x" * 10_000_000]
    assert Tokenizer()("\0a\0b\0") == ["a", "b"]
    assert Tokenizer()("") == []
    assert len(Tokenizer()("a\u0301" * 1_000_000)[0]) == 2_000_000
    assert Tokenizer()("." * 1_000_000) == []
    assert len(split_sentences("." * 100_000 + " x")) <= 2
    assert Tokenizer(keep=["emoticons", "numbers", "addresses"])("1." * 100_000)[0].startswith("1.1")


def test_the_tables_are_made_by_the_tool_from_the_character_database(tmp_path: Path) -> None:
    database = Path(os.environ.get("UNICODE_DATA", "/usr/share/unicode"))
    if not (database / "auxiliary" / "WordBreakProperty.txt").exists():
        pytest.skip("the Unicode Character Database is not installed (apt-get install unicode-data)")
    root = Path(__file__).parent.parent.parent
    made = tmp_path / "tables.inc"
    subprocess.run([sys.executable, root / "tools/unicode_tables.py", database, made], check=True, capture_output=True)
    if native.unicode_version not in made.read_text():
        pytest.skip(f"the installed database is not that of Unicode {native.unicode_version}")
    assert made.read_bytes() == (root / "native/corpus/unicode_tables.inc").read_bytes()


def test_random_bytes_as_text_never_crash() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        points = rng.integers(0, 0x10FFFF, 200)
        text = "".join(chr(p) for p in points if not 0xD800 <= p <= 0xDFFF)
        every = Tokenizer(keep=["numbers", "dates", "addresses", "ranges", "abbreviations", "emoticons"])
        assert len(every(text)) <= len(text)
