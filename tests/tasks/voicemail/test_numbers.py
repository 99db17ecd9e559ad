"""Spoken numbers: the examples of the paper, random numbers spoken by code of its own, the transducer, lattices."""

from __future__ import annotations

import itertools
import math
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench._speech import speak
from textmill.errors import DataError
from textmill.fst import Fst, SymbolTable, compile_text
from textmill.tasks.voicemail import (
    LOCALES,
    NumberGrammar,
    format_number,
    lattice_hypotheses,
    number_transducer,
    numbers_in_lattice,
    numbers_in_nbest,
    quantity,
    read_locale,
    transduce,
)

GRAMMAR = NumberGrammar()
EXAMPLES = [  # words, digits, extension, what the digits baseline finds
    ("three two seven ten twenty five", "3271025", "", []),
    ("three hundred fourteen ninety nine", "3001499", "", []),
    ("one eight hundred five five five one two one two", "18005551212", "", [(3, 10, "5551212")]),
    ("area code two one two five five five thirteen twelve extension forty two", "2125551312", "42", []),
    ("nine seven three three six oh eight five double seven", "9733608577", "", []),
    ("one two three four five", "12345", "", []),
    ("one two three four", "1234", "", [(0, 4, "1234")]),
    ("twenty oh", "200", "", []),
    ("extension four oh one", "401", "", []),
    ("two hundred thousand", "200000", "", []),
    ("forty thousand", "40000", "", []),
]
IN_CONTEXT = [
    ("meet me at two thirty", [(3, 5, "230")]),
    ("my social is one two three four five six seven eight nine", [(3, 12, "123456789")]),
    ("the area code is nine oh eight", [(4, 7, "908")]),
    ("call five five five area code please", [(1, 4, "555")]),
    ("double or hundred of nothing", []),
    ("Call Five-Five-Five, TWENTY-FIVE.", [(1, 3, "55525")]),
    ("it is 555-1212 or (212) 555-1212 or 3.5", [(2, 3, "5551212"), (4, 6, "2125551212")]),
]


@pytest.mark.parametrize(("words", "digits", "extension", "plain"), EXAMPLES)
def test_examples_of_the_paper(words: str, digits: str, extension: str, plain: list[tuple[int, int, str]]) -> None:
    (number,) = GRAMMAR.find(words)
    assert (number.start, number.end) == (0, len(words.split()))
    assert (number.digits, number.extension) == (digits, extension)
    assert [(n.start, n.end, n.digits) for n in GRAMMAR.digits_baseline([words])[0]] == plain
    assert transduce(GRAMMAR.transducer(), words) == [(digits, extension)]


@pytest.mark.parametrize(("words", "numbers"), IN_CONTEXT)
def test_numbers_among_other_words(words: str, numbers: list[tuple[int, int, str]]) -> None:
    assert [(n.start, n.end, n.digits) for n in GRAMMAR.find(words)] == numbers
    expected = [(digits, "") for _, _, digits in numbers]
    assert transduce(number_transducer(GRAMMAR, words.split()), words) == expected


def test_fillers_are_passed_over_only_when_asked() -> None:
    words = "uh five five uh five one um two one two uh"
    assert [n.digits for n in GRAMMAR.find(words)] == ["55", "51", "212"]
    (number,) = NumberGrammar(skip_fillers=True).find(words)
    assert (number.start, number.end, number.digits) == (1, 10, "5551212")


def test_oh_counts_in_the_digits_baseline_only_when_asked() -> None:
    words = ["one oh three four"]
    assert GRAMMAR.digits_baseline(words)[0] == []
    assert [n.digits for n in GRAMMAR.digits_baseline(words, every_zero=True)[0]] == ["1034"]


def check_random_numbers(count: int, british: bool) -> None:
    generator = random.Random(7)
    digits = ["".join(generator.choices("0123456789", k=generator.randint(4, 11))) for _ in range(count)]
    texts = [" ".join(speak(one, generator, british=british)) for one in digits]
    found = NumberGrammar("gb" if british else "us").find_all(texts)
    wrong = [
        (one, text, own)
        for one, text, own in zip(digits, texts, found, strict=True)
        if [n.digits for n in own] != [one]
    ]
    assert not wrong, wrong[:3]


@pytest.mark.parametrize("british", [False, True])
def test_random_numbers_come_back(british: bool) -> None:
    check_random_numbers(2000, british)


@pytest.mark.slow
@pytest.mark.parametrize("british", [False, True])
def test_a_hundred_thousand_random_numbers_come_back(british: bool) -> None:
    check_random_numbers(100_000, british)


WORDS = [*GRAMMAR.locale.spoken, "call", "the", "the"]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=25), st.booleans())
def test_the_transducer_writes_what_the_scanner_finds(words: list[str], skip: bool) -> None:
    grammar, machine = GRAMMARS[skip]
    text = " ".join(words)
    assert transduce(machine, text) == [(n.digits, n.extension) for n in grammar.find(text)]


GRAMMARS = {skip: (g := NumberGrammar(skip_fillers=skip), g.transducer()) for skip in (False, True)}


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=25))
def test_candidates_do_not_overlap_and_cannot_be_extended(words: list[str]) -> None:
    numbers = GRAMMAR.find(" ".join(words))
    items = [
        i for i, word in enumerate(words) if GRAMMAR.locale.spoken.get(word, ("",))[0] in ("digit", "teen", "tens")
    ]
    covered = [i for n in numbers for i in range(n.start, n.end)]
    assert len(set(covered)) == len(covered)
    assert set(items) <= set(covered)  # no item is left out
    for left, right in itertools.pairwise(numbers):
        if left.end == right.start:  # only a hundred, thousand or double without its number can stand between
            pytest.fail(f"two candidates side by side: {words}")
    for number in numbers:
        whole = GRAMMAR.find(" ".join(words[number.start : number.end]))
        assert [(n.digits, n.extension) for n in whole] == [(number.digits, number.extension)]


PIECES = st.one_of(
    st.text(max_size=6), st.sampled_from([*WORDS, "twenty-six", "5551212", "\x1c", "\u2003", "(", "-five-"])
)


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=12), st.sampled_from([" ", "\t", ""]))
def test_tokens_are_those_of_python_whatever_the_text(pieces: list[str], blank: str) -> None:
    text = blank.join(piece for piece in pieces if piece.isprintable() or piece in ("\x1c", "\u2003"))
    tokens = text.split()
    numbers = GRAMMAR.find(text)
    machine = number_transducer(GRAMMAR, tokens)
    assert transduce(machine, text) == [(n.digits, n.extension) for n in numbers]
    for number in numbers:
        assert 0 <= number.start < number.end <= len(tokens)
        words = " ".join(tokens[number.start : number.end])
        assert [(n.digits, n.extension) for n in GRAMMAR.find(words)] == [(number.digits, number.extension)]


def test_millions_of_words_are_read_in_one_pass() -> None:
    """Texts of a size at which whatever is quadratic does not come to an end."""
    text = (" ".join(["call"] * 3 + ["five", "twenty", "six"] * 2) + " ") * 1_000_000
    assert len(NumberGrammar(n_jobs=1).find_all([text]).start) == 1_000_000
    digits = NumberGrammar().find("five " * 5_000_000)
    assert len(digits) == 1
    assert len(digits[0].digits) == 5_000_000


def test_the_number_of_threads_does_not_matter() -> None:
    generator = random.Random(3)
    texts = [" ".join(generator.choices(WORDS, k=generator.randint(0, 40))) for _ in range(500)]
    assert NumberGrammar(n_jobs=1).find_all(texts)[:] == NumberGrammar(n_jobs=5).find_all(texts)[:]


def test_formats_and_amounts() -> None:
    assert format_number("3271025") == "327-1025"
    assert format_number("2125551312", "42") == "(212) 555-1312 ext. 42"
    assert format_number("18005551212") == "1-800-555-1212"
    assert format_number("01225551212", locale="gb") == "01225 551212"
    assert format_number("12345") == "12345"
    assert quantity("three hundred fourteen ninety nine") == "314.99"
    assert quantity("two thousand five") == "2005"
    assert quantity("forty five thousand three hundred ten") == "45310"
    assert quantity("zero") == "0"
    for words in ("", "five five five", "hundred", "two hundred thousand thousand", "call me"):
        assert quantity(words) is None


def test_empty_and_short_messages() -> None:
    assert GRAMMAR.find_all(["", " ", "five", "hello"])[:] == [[], [], GRAMMAR.find("five"), []]
    assert GRAMMAR.find_all([])[:] == []
    with pytest.raises(DataError, match="message 0 is 3"):
        GRAMMAR.find_all([3])  # type: ignore[list-item]


# ---- lattices


def lattice(arcs: list[tuple[int, int, str, float]], final: int) -> Fst:
    words = SymbolTable(["<eps>", *dict.fromkeys(word for _, _, word, _ in arcs)])
    text = "\n".join(f"{a} {b} {word} {weight}" for a, b, word, weight in arcs)
    return compile_text(f"{text}\n{final}", acceptor=True, input_symbols=words)


def test_posteriors_of_a_lattice_are_sums_over_its_messages() -> None:
    generator = random.Random(5)
    vocabulary = ["call", "five", "twenty", "six", "hundred", "double", "extension", "twenty-six", "555"]
    for _ in range(10):
        arcs = [
            (i, i + 1, word, round(generator.random() * 3, 3))
            for i in range(5)
            for word in generator.sample(vocabulary, 3)
        ]
        sums: dict[tuple[str, str], float] = {}
        total = 0.0
        for path in itertools.product(*([arc for arc in arcs if arc[0] == i] for i in range(5))):
            weight = math.exp(-sum(arc[3] for arc in path))
            total += weight
            for key in {(n.digits, n.extension) for n in GRAMMAR.find(" ".join(arc[2] for arc in path))}:
                sums[key] = sums.get(key, 0.0) + weight
        found = numbers_in_lattice(lattice(arcs, 5), GRAMMAR, k=10_000, min_digits=1)
        assert {(n.digits, n.extension) for n in found} == set(sums)
        for number in found:
            assert number.posterior == pytest.approx(sums[number.digits, number.extension] / total, rel=1e-4)


def test_best_messages_of_a_lattice_and_numbers_of_an_n_best_list() -> None:
    arcs = [(0, 1, "call", 0.0), (1, 2, "five", 0.5), (1, 2, "nine", 1.5)] + [(i, i + 1, "two", 0.0) for i in (2, 3, 4)]
    hypotheses = lattice_hypotheses(lattice(arcs, 5), k=2)
    assert hypotheses == [
        ("call five two two two", pytest.approx(-0.5)),
        ("call nine two two two", pytest.approx(-1.5)),
    ]
    exact = numbers_in_lattice(lattice(arcs, 5))
    for one, other in zip(exact, numbers_in_nbest(hypotheses), strict=True):
        assert one[:2] == other[:2]
        assert one.posterior == pytest.approx(other.posterior, rel=1e-5)


def test_bad_lattices_are_refused() -> None:
    good = [(0, 1, "five", 0.0)]
    with pytest.raises(DataError, match="has a cycle"):
        numbers_in_lattice(lattice([*good, (1, 0, "five", 1.0)], 1))
    with pytest.raises(DataError, match="is empty"):
        numbers_in_lattice(Fst())
    plain = lattice(good, 1)
    plain.input_symbols = None
    with pytest.raises(DataError, match="no input symbols"):
        numbers_in_lattice(plain)
    with pytest.raises(DataError, match="reaches a final state"):
        numbers_in_lattice(lattice([*good, (1, 2, "five", math.inf)], 2))
    with pytest.raises(DataError, match="finite numbers"):
        numbers_in_nbest([("five", math.nan)])
    assert numbers_in_nbest([]) == []


# ---- locales


def test_a_damaged_locale_names_the_file_and_the_entry(tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "src/textmill/tasks/voicemail/locales/us.toml").read_text(encoding="utf-8")
    assert LOCALES == ("gb", "us")
    cases = {
        'digits = ["zero oh o", ': ("digits = [", "digits in .* must be a list of 10"),
        "[callers]": ("[strangers]", "section .callers. is missing"),
        "double = 2": ("double = 1", "'double' in repeats must stand for 2 to 9"),
        'hundred = ["hundred"]': ('hundred = ["five"]', "'five' is a digit and a hundred"),
        '7 = "ddd-dddd"': ('7 = "ddd-ddd"', "format of '7'"),
        "plain_lengths = [4, 7, 10]": ("plain_lengths = [0]", "plain_lengths"),
        '"hi", "hello"': ('"Hi", "hello"', "'Hi' in greetings must be in lower case"),
        'plain = ["zero"': ('plain = ["ten"', "'ten' in plain is no word of digits"),
        'area = ["area", "code"]': ('area = "area"', "area must be a list"),
        'thousand = ["thousand"]': ("", "no entry 'thousand'"),
        "[formats]": ("[formats", "not a TOML file"),
    }
    for number, (old, (new, message)) in enumerate(cases.items()):
        assert old in text
        path = tmp_path / f"{number}.toml"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        with pytest.raises(DataError, match=message):
            read_locale(path)
    with pytest.raises(DataError, match="no locale 'fr'"):
        read_locale("fr")
    (tmp_path / "latin.toml").write_bytes(text.encode() + b"# \xe9\n")
    with pytest.raises(DataError, match="not a TOML file"):
        read_locale(tmp_path / "latin.toml")
