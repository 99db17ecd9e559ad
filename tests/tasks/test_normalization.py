"""Text normalization: hand-written cases, alignments, streams, the command."""

from __future__ import annotations

import json
import random
import re
from functools import cache
from pathlib import Path

import pytest
from reference.spoken_numbers import KINDS, SCALES, SMALL, STYLES, TENS, draw
from typer.testing import CliRunner

from textmill import fst
from textmill.cli.app import app
from textmill.errors import DataError
from textmill.tasks import normalization
from textmill.tasks.normalization import Normalizer, conventions

CASES = Path(__file__).parent.parent / "files" / "normalization-english.txt"
GRAMMARS = Path(normalization.__file__).parent / "english"


@cache
def normalizer(inverse: bool = False) -> Normalizer:
    """The normalizer of English."""
    return Normalizer(inverse=inverse)


def cases() -> dict[str, list[tuple[str, str]]]:
    """Inputs and outputs by kind."""
    kinds: dict[str, list[tuple[str, str]]] = {}
    rows: list[tuple[str, str]] = []
    for line in CASES.read_text(encoding="utf-8").split("\n")[1:]:
        if line.startswith("[") and line.endswith("]"):
            rows = kinds.setdefault(line[1:-1], [])
        elif line:
            text, _, output = line.partition("|")
            rows.append((text, output))
    return kinds


def test_there_are_enough_cases() -> None:
    assert sum(map(len, cases().values())) >= 800
    assert len(cases()["ambiguous"]) >= 60
    assert len(cases()["inverse"]) >= 400
    assert len({text for rows in cases().values() for text, _ in rows}) >= 800


@pytest.mark.parametrize("kind", sorted(cases()))
def test_cases_written_by_hand(kind: str) -> None:
    rows = cases()[kind]
    outputs = [normalizer(kind == "inverse").normalize(text) for text, _ in rows]
    wrong = [
        (text, expected, output) for (text, expected), output in zip(rows, outputs, strict=True) if output != expected
    ]
    assert wrong == []


@pytest.mark.parametrize("file", ["numbers", "expressions", "english", "english_inverse"])
def test_the_tests_in_the_grammars_pass(file: str) -> None:
    failures = [
        result.diff()
        for result in fst.run_cases(fst.read_grammar(GRAMMARS / f"{file}.grammar"), imports=False)
        if not result.passed
    ]
    assert failures == []


def test_numbers_survive_the_way_there_and_back() -> None:
    rng = random.Random(3)
    for number in [*range(10, 400, 13), *(rng.randrange(10, 10 ** rng.randint(3, 14)) for _ in range(100))]:
        words = normalizer().normalize(f"{number:,}")
        assert normalizer(True).normalize(words) == f"{number:,}"


def each_style(kind: str, count: int) -> list[tuple[str, set[str]]]:
    """Random values of a kind as people say them, in every style, and the writings that are right."""
    found = []
    for name, style in STYLES.items():
        rng = random.Random(f"{kind}, {name}")
        found += [(style(said), accepted) for said, accepted in (draw(kind, rng) for _ in range(count))]
    return found


COUNTS = [340, pytest.param(17_000, marks=pytest.mark.slow)]  # of each style: 10^5 of each kind in all


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_said_is_written_in_every_style(kind: str, count: int) -> None:
    items = each_style(kind, count)
    written = normalizer(True).normalize("\n".join(said for said, _ in items)).split("\n")
    assert [(said, out) for (said, right), out in zip(items, written, strict=True) if out not in right] == []


AROUND = [("Yesterday we saw ", ", and left."), ("“", "” (she said)."), ("It was ", "!"), ("Well, ", "; nothing else")]


@pytest.mark.parametrize("count", [20, pytest.param(1_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_in_running_text_a_stretch_is_written_whole_or_stays(kind: str, count: int) -> None:
    items = each_style(kind, count)
    for before, after in AROUND:
        written = normalizer(True).normalize("\n".join(f"{before}{said}{after}" for said, _ in items)).split("\n")
        for (said, right), out in zip(items, written, strict=True):
            assert out.startswith(before)
            assert out.endswith(after)
            assert out[len(before) : len(out) - len(after)] in {*right, said}


NUMBER = [*SMALL, *TENS[2:], "hundred", "thousand", "million", "billion", "third", "fifth", "twentieth", "thirds", "oh"]
BETWEEN = [
    "and",
    "and",
    "point",
    "to",
    "and a half",
    "percent",
    "dollars",
    "cents",
    "kilometers",
    "p m",
    "january",
    "march",
    "in",
    "at",
    "of",
    "people",
    "a",
    "minus",
    "dot",
    "over",
    "feet",
    "or",
    "the",
    "half past",
    "o'clock",
    "plus",
    "double",
    "pounds",
    "hours",
    "minutes",
    "the nineteen",
    "euros",
    "celsius",
    "the",
    "point",
]
ONE_NUMBER = f"(?:{'|'.join(sorted(NUMBER, key=len, reverse=True))})"
STRETCH = re.compile(rf"\b{ONE_NUMBER}\b(?:(?: | and | point | to | or | and a half | dot | over ){ONE_NUMBER}\b)*")


@pytest.mark.parametrize("count", [4_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_words_of_numbers_in_any_order_are_never_written_in_part(count: int) -> None:
    rng = random.Random(5)
    read = 0
    for _ in range(count):
        soup = [rng.choice(NUMBER if rng.random() < 0.72 else BETWEEN) for _ in range(rng.randint(2, 9))]
        text = f"we saw {' '.join(soup)}, and left"
        changes = normalizer(True).changes(text)
        for stretch in STRETCH.finditer(text):
            words = [stretch.start() + word.start() for word in re.finditer(ONE_NUMBER, stretch[0])]
            inside = [any(change.start <= at < change.end for change in changes) for at in words]
            assert all(inside) or not any(inside), (text, stretch[0], normalizer(True).normalize(text))
            read += all(inside)
        for change in changes:  # and what was read leaves no word of a number beside digits
            left = [word for word in re.findall(rf"\b{ONE_NUMBER}\b", change.output) if word not in SCALES]
            assert not left, change
    assert read > count / 5


@pytest.mark.parametrize("kind", sorted({*KINDS} - {"time"}))  # 1:15 is "one fifteen", which is no time on its own
def test_what_is_written_comes_back_from_its_reading(kind: str) -> None:
    rng = random.Random(8)
    back = Normalizer(inverse=True, conventions={"pounds": "money"})
    for right in (draw(kind, rng)[1] for _ in range(200)):
        for written in right:
            assert back.normalize(normalizer().normalize(written)) in right, written


def test_conventions_change_what_they_name_and_nothing_else() -> None:
    said = (
        "ten million people and five cats at three p m on july fourth twenty twenty; five kilometers, ten percent; "
        "ten pounds; one thousand two; half past two"
    )
    written = "at 3:30 p.m., .5 and 1,023 on 3/4/2020"
    usual = "10 million people and five cats at 3 p.m. on July 4, 2020; 5 km, 10%; 10 pounds; 1,002; 2:30"
    spoken = "at three thirty p m, zero point five and one thousand twenty three on March fourth, twenty twenty"
    other_usual = "10000000 people and 5 cats at 03:00 pm on july 4 2020; 5km, 10 %; £10; 1002; 02:30"
    other_spoken = (
        "at three thirty PM, point five and one thousand and twenty-three on the third of April twenty twenty"
    )
    settings: list[tuple[dict[str, str], str, str]] = [
        ({name: choices[0] for name, choices in conventions().items()}, usual, spoken),
        ({name: choices[1] for name, choices in conventions().items()}, other_usual, other_spoken),
        ({"half_day": "capitals", "pounds": "weight"}, usual.replace("p.m.", "PM").replace("pounds", "lb"), spoken),
        ({"spoken_half_day": "dots"}, usual, spoken.replace("p m", "p.m.")),
    ]
    assert {choice for choices, _, _ in settings for choice in choices.items()} == {
        (name, choice) for name, choices in conventions().items() for choice in choices
    }
    for choices, right, heard in settings:
        assert Normalizer(inverse=True, conventions=choices).normalize(said) == right
        assert Normalizer(conventions=choices).normalize(written) == heard
    with pytest.raises(DataError, match="thousands"):
        Normalizer(conventions={"thousand": "none"})
    with pytest.raises(DataError, match="'comma', 'none'"):
        Normalizer(conventions={"thousands": "dots"})


def test_what_has_a_digit_is_never_spoken_in_part() -> None:
    rng = random.Random(6)
    pieces = ["1", "20", "305", "1984", "7", ".", "-", ":", "/", ",", "%", "$", "A", "km", "pm", "x", "th", "–"]
    tokens = ["".join(rng.choices(pieces, k=rng.randint(1, 6))).strip(".,:–-/") or "1" for _ in range(5_000)]
    spoken = normalizer().normalize("\n".join(f"we saw {token} there" for token in tokens)).split("\n")
    assert sum(f"we saw {token} there" != out for token, out in zip(tokens, spoken, strict=True)) > 1_000
    for token, out in zip(tokens, spoken, strict=True):
        stretch = out.removeprefix("we saw ").removesuffix(" there")
        assert stretch == token or not any(letter.isdigit() for letter in stretch), (token, out)


def test_alignments_say_which_characters_became_which_words() -> None:
    text = "“Prix:” €5 für Dr. Müller – 25 km"
    changes = normalizer().changes(text)
    assert [(text[c.start : c.end], c.output) for c in changes] == [(c.input, c.output) for c in changes]
    assert [c.input for c in changes] == ["€5", "25 km"]
    rebuilt, at = "", 0
    for change in changes:
        rebuilt += text[at : change.start] + change.output
        at = change.end
    assert rebuilt + text[at:] == normalizer().normalize(text)


def test_a_stream_may_be_cut_anywhere() -> None:
    text = "\n".join(text for rows in cases().values() for text, _ in rows).encode()
    whole = b"".join(normalizer().normalize_stream([text]))
    rng = random.Random(1)
    cuts = sorted(rng.randrange(len(text)) for _ in range(50))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert b"".join(normalizer().normalize_stream(pieces)) == whole


def test_the_same_bytes_for_any_number_of_threads() -> None:
    text = "\n".join(text for rows in cases().values() for text, _ in rows).encode()
    results = {b"".join(Normalizer(n_jobs=jobs).normalize_stream([text])) for jobs in (1, 2, 8)}
    assert len(results) == 1


def test_bytes_that_are_no_text_are_named() -> None:
    with pytest.raises(DataError, match=r"input:2: byte 0xff is not UTF-8"):
        list(normalizer().normalize_stream([b"one\n\xff 5\n"]))
    with pytest.raises(DataError, match="surrogate"):
        normalizer().normalize("\ud800")
    assert normalizer().normalize("") == ""
    assert normalizer().normalize("\0 5") == "\0 five"


def test_a_grammar_of_your_own(tmp_path: Path) -> None:
    file = tmp_path / "smiles.grammar"
    file.write_text('tokens byte\nexport smile = ":-)":"(smile)" | "<3":"love"\n')
    assert Normalizer(grammar=file).normalize("I <3 you :-)") == "I love you (smile)"
    file.write_text('export smile = "x"\n')
    with pytest.raises(DataError, match="tokens byte"):
        Normalizer(grammar=file)
    with pytest.raises(DataError, match="language"):
        Normalizer("klingon")
    with pytest.raises(DataError, match="has its own conventions"):
        Normalizer(grammar=file, conventions={"thousands": "none"})


def test_the_command_normalizes_both_ways(tmp_path: Path) -> None:
    run = CliRunner().invoke
    assert run(app, ["normalize"], input="It is 5 km.\n").output == "It is five kilometers.\n"
    assert run(app, ["normalize", "--inverse"], input="five kilometers\n").output == "5 km\n"
    unusual = ["normalize", "--inverse", "--convention", "thousands=none", "--convention", "scales=digits"]
    assert run(app, unusual, input="ten million\n").output == "10000000\n"
    assert "write NAME=CHOICE" in run(app, ["normalize", "--convention", "thousands"], input="").output
    row = json.loads(run(app, ["normalize", "--json"], input="at 5 km\n").output)
    assert row["changes"] == [{"start": 3, "end": 7, "input": "5 km", "output": "five kilometers"}]
    source, target = tmp_path / "a.txt", tmp_path / "b.txt"
    source.write_text("$5\n")
    assert run(app, ["normalize", str(source), "-o", str(target)]).exit_code == 0
    assert target.read_text() == "five dollars\n"
