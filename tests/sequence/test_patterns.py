"""The pattern language: parsing, commands, and the vectors of the specification."""

from __future__ import annotations

import pytest

from textmill.errors import DataError
from textmill.sequence import Encoder, nest_patterns, parse_patterns

TOKENS = [["The", "DT"], ["U.S.", "NNP"], ["1.8%", "CD"], ["run-off", "NN"]]
VECTORS = {
    "u:1=%x[-1,0]/%x[1,1]": ["_x-1/NNP", "The/CD", "U.S./NN", "1.8%/_x+1"],
    'u:3=%m[0,0,"^.?.?.?"]': ["The", "U.S", "1.8", "run"],
    'u:4=%m[0,0,".?.?$"]': ["he", "S.", "8%", "ff"],
    r'u:6=%t[0,0,"\p"]': ["false", "true", "true", "true"],
    'u:12=%M[0,0,"^.?.?"]': ["th", "u.", "1.", "ru"],
    "u:9=%x[-7,0]": ["_x-#", "_x-#", "_x-#", "_x-4"],
    "u:8=%x[@1,0]|%x[@-1,0]": ["The|run-off"] * 4,
    r'u:10=%m[0,0,"\a\a*"]': ["T", "U", "", "r"],
    r'u:11=%m[0,0,"\a*$"]': ["The", "", "", "off"],
    r'u:7=%m[0,0,"\d*"]': ["", "", "", ""],
}


def made_by(pattern: str, tokens: list[list[str]], **options: object) -> list[str]:
    """The test that the pattern makes at each token, without the name of the pattern."""
    encoder = Encoder(patterns=[pattern], **options)
    data = encoder.fit_encode([tokens])
    name = pattern.partition("=")[0] + "=" if "=" in pattern else pattern.partition("%")[0]
    return [encoder.tests_[i].removeprefix(name) for i in data.unigram.ids]


@pytest.mark.parametrize("pattern", VECTORS)
def test_patterns_of_the_worked_example_make_its_strings(pattern: str) -> None:
    assert made_by(pattern, TOKENS, syntax="wapiti") == VECTORS[pattern]


def test_offsets_and_columns_of_the_worked_example() -> None:
    rows = [[f"{column}{row}" for column in "abc"] for row in (1, 2, 3)]
    assert made_by("u:%x[-1,0]/%x[+1,2]", rows, syntax="wapiti")[1] == "a1/c3"


def test_absolute_positions_beyond_the_sequence_have_the_names_of_boundaries() -> None:
    assert made_by("u:%x[@3,0]%x[@-3,0]", [["a"], ["b"]], syntax="wapiti") == ["_x+1_x-1"] * 2


def test_templates_of_crfpp_have_boundaries_of_their_own() -> None:
    template = "# comment\nU00:%x[-1,0]\nU#1:%x[0,0]\n\nB\n"
    encoder = Encoder(patterns=template, syntax="crf++")
    encoder.fit([[["a"], ["b"]]])
    assert encoder.tests_.to_list() == ["U00:_B-1", "U#1:a", "B", "U00:a", "U#1:b"]
    assert encoder.feature_counts(3).features == 4 * 3 + 1 * 9


def test_short_commands_and_functions_see_whole_characters() -> None:
    tokens = [["Ångström-2.5"]]
    assert made_by("u:%prefix[0,0,2]/%Suffix[0,0,3]/%shape[0,0]", tokens) == ["Ån/2.5/Xx-d.d"]
    assert made_by("u:%f[0,0]", tokens, function=len_of) == ["12"]
    assert made_by('u:%f[0,0,"x"]', tokens, function=len_of) == ["12x"]
    assert made_by("u:%X[0,0]", tokens) == ["ångström-2.5"]


def len_of(value: str, suffix: str = "") -> str:
    return f"{len(value)}{suffix}"


def test_functions_are_called_once_per_distinct_value() -> None:
    calls: list[str] = []
    encoder = Encoder(patterns=["u:%f[0,0]"], function=lambda value: calls.append(value) or value)
    encoder.fit(["abab" * 50])
    assert sorted(calls) == sorted(["a", "b", *(f"_x{s}{i}" for s in "+-" for i in "1234#")])


@pytest.mark.parametrize(
    ("pattern", "value", "result"),
    [
        (r'u:%m[0,0,"\a\a*"]', "Één2", "Één"),
        (r'u:%t[0,0,"^\u\l*$"]', "Żółw", "true"),
        (r'u:%m[0,0,"[\a\d]+"]', "--é1", "é1"),
        (r'u:%t[0,0,"^\p$"]', "€", "true"),
        (r'u:%t[0,0,"\P"]', "«»", "false"),
        (r'u:%m[0,0,"\p{Lu}+"]', "aÄB", "ÄB"),
        (r'u:%m[0,0,"(ab|cd)+"]', "xabcd", "abcd"),
    ],
)
def test_regular_expressions_know_unicode_by_default(pattern: str, value: str, result: str) -> None:
    assert made_by(pattern, [[value]]) == [result]


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        ("x:%x[0,0]", "must begin with u, b or \\*"),
        ("u:%x[0]", "is no command"),
        ("u:%q[0,0]", "no command %q"),
        ("u:%m[0,0]", "needs a third argument"),
        ('u:%x[0,0,"a"]', "no third argument"),
        ("u:%x[@0,0]", "no position @0"),
        ("u: 100%", "is no command"),
    ],
)
def test_a_bad_pattern_is_named_with_its_line(pattern: str, fault: str) -> None:
    with pytest.raises(DataError, match=rf"p.txt:2.*{fault}"):
        parse_patterns(f"b\n{pattern}", source="p.txt")


def test_a_bad_regular_expression_is_named_with_its_pattern() -> None:
    with pytest.raises(DataError, match=r"line 2.*'\(' is no regular expression"):
        Encoder(patterns=["b", 'u:%m[0,0,"("]']).fit(["a"])
    with pytest.raises(DataError, match=r"follows nothing"):
        Encoder(patterns=['u:%m[0,0,"*a"]'], syntax="wapiti").fit(["a"])


def test_a_column_that_is_not_there_is_named_with_the_pattern() -> None:
    with pytest.raises(DataError, match=r"pattern 'u:%x\[0,2\]' \(line 2\) asks for column 2, but .* columns 0 to 1"):
        Encoder(patterns=["u:%x[0,0]", "u:%x[0,2]"]).fit([TOKENS])


def test_no_patterns_are_refused() -> None:
    with pytest.raises(DataError, match="there are no patterns"):
        parse_patterns("# nothing\n")


def test_patterns_are_nested_by_their_commands() -> None:
    text = ["b", "u:5=%x[-1,0]%x[0,0]%x[1,0]", "u:w=%x[0,0]", "*:b=%x[-1,0]/%x[0,0]", "u:p=%x[0,1]", "b:r=%x[1,0]"]
    first, stages = nest_patterns(text, 3)
    assert first == ["b", "u:w=%x[0,0]", "*:b=%x[-1,0]/%x[0,0]", "u:p=%x[0,1]", "b:r=%x[1,0]"]
    # u:w has no pairs, so it is no parent of *:b; the larger of two that are contained is the parent
    assert stages == [(3, ["u:5=%x[-1,0]%x[0,0]%x[1,0]"], [2])]
    first, stages = nest_patterns(["*:1=%x[0,0]", "*:3=%x[0,0]%x[1,0]", "*:5=%x[0,0]%x[1,0]%x[2,0]"], 10)
    assert first == ["*:1=%x[0,0]"]
    assert stages == [(10, ["*:3=%x[0,0]%x[1,0]"], [0]), (20, ["*:5=%x[0,0]%x[1,0]%x[2,0]"], [1])]


def test_patterns_that_are_not_nested_have_no_stages() -> None:
    with pytest.raises(DataError, match=r"p.txt: no pattern contains another one, so there are no stages; write"):
        nest_patterns("*\nu:w=%x[0,0]\n", 5, source="p.txt")
    with pytest.raises(DataError, match="every must be a whole number at least 1, got 0"):
        nest_patterns(["u:w=%x[0,0]", "u:v=%x[0,0]%x[1,0]"], 0)
