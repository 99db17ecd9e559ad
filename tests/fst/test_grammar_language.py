"""The grammar language: meaning of every operator, places of errors, tests, explanations, Thrax, mutants."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from textmill import fst
from textmill.cli.app import app
from textmill.errors import DataError

GRAMMAR = r"""
# words and numbers
set vowel = [aeiou]
digit = "1":"one" | "2":"two" | "3":"three" <0.5>
def listed(x, y) = x ("":y x)*
export digits = listed(digit, " ")
letters = [a-z]{1,8} - ("the" | "of") & ~("q" .*)
spelling = "ys" -> "ies" / [^aeiou] _ $ @ "a" -> "o" / ^ _ [b-d] optional
export plural = letters "":"s" @ spelling <1>
functional export tagged = `noun`:"" digits | delete("x") insert("\u{e9}\x21"){2}
test digits
  "12" -> "one two"
  "4" -> nothing
test plural
  "city" -> "cities"
  "ab" -> "abs" | "obs"
"""


def outputs(text: str, rule: str, string: str) -> set[str]:
    """All outputs of a rule of a grammar for a string."""
    machine = fst.compile_grammar(text)[rule]
    return {y for _, y, _ in fst.strings(fst.compose(fst.accep(string), machine))}


def compile_all(text: str, **options: object) -> int:
    """Compile every rule of a grammar; how many there are."""
    grammar = fst.compile_grammar(text, **options)
    return sum(grammar[name].num_states >= 0 for name, rule in grammar.text.definitions.items() if not rule.parameters)


@pytest.mark.parametrize(
    ("expression", "string", "expected"),
    [
        ('"a" | "b" "c"', "bc", {"bc"}),
        ('"a":"b" "c"', "ac", {"bc"}),
        ('"a":("b" | "c")', "a", {"b", "c"}),
        ('"a"* "b"', "aab", {"aab"}),
        ('"a"+', "", set()),
        ('"a"? "b"{2}', "bb", {"bb"}),
        ('"a"{2,}', "aaaa", {"aaaa"}),
        ('[a-c] - "b"', "b", set()),
        ('[a-c] & "b"', "b", {"b"}),
        ('~"a"', "a", set()),
        ('~"a"', "ab", {"ab"}),
        ("[^a-y]", "z", {"z"}),
        (".", "%", {"%"}),
        ('"a":"b" @ "b":"c"', "a", {"c"}),
        ('"a" -> "b"', "xax", {"xbx"}),
        ('"a" -> "b" / "x" _', "xaa", {"xba"}),
        ('"a" -> "b" / _ $', "aa", {"ab"}),
        ('"a" -> "b" / ^ _', "aa", {"ba"}),
        ('"a" -> "b" / "b" _ right_to_left', "baa", {"bba"}),
        ('"a" -> "b" optional', "a", {"a", "b"}),
        ('("a":"b" | "c":"d") / "x" _', "xacxc", {"xbcxd"}),
        ('invert("a":"b")', "b", {"a"}),
        ('input("a":"b")', "a", {"a"}),
        ('output("a":"b")', "b", {"b"}),
        ('reverse("ab")', "ba", {"ba"}),
        ('join("a", ",")', "a,a", {"a,a"}),
        ('delete("a") insert("b")', "a", {"b"}),
        (r"""'\x41\u{e9}\"' '#'""", 'Aé"#', {'Aé"#'}),
    ],
)
def test_expressions_mean_what_the_page_says(expression: str, string: str, expected: set[str]) -> None:
    assert outputs(f"a = {expression}", "a", string) == expected


def test_the_whole_language_together() -> None:
    grammar = fst.compile_grammar(GRAMMAR)
    assert grammar.exports == ["digits", "plural", "tagged"]
    assert all(result.passed for result in fst.run_cases(grammar))
    assert grammar.apply("digits", ["13"]) == [[("one three", 0.5)]]
    assert grammar.apply("plural", ["the", "dog"]) == [[], [("dogs", 1.0)]]
    assert grammar.apply("tagged", ["x"])[0][0][0] == "é!é!"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('a = "x', r'g:1:5: the string has no closing "'),
        ("a = [x", r"g:1:5: the set has no closing \]"),
        ("a = b", r"g:1:5: there is no rule 'b'"),
        ('word = "a"\nb = wird', r"g:2:5: there is no rule 'wird'; did you mean 'word'"),
        ('a = "x"\na = "y"', r"g:2:1: 'a' was defined in line 1"),
        ("a = b\nb = a", r"g:1:1: the rule 'a' needs itself: a needs b needs a"),
        ('export a = ("":"x")* "b"', r"g:1:8: the rule 'a' does not end: the input 'b'"),
        ('functional a = "x" ("y":"1" | "y":"2")', r"g:1:12: the rule 'a' is ambiguous: the input 'xy' has"),
        ('a = "x"{3,1}', r"g:1:8: at least 3 times and at most 1"),
        ('a = "x"{9999999}', r"g:1:5: 9,999,999 repetitions"),
        ("export a = ^", r"g:1:8: \^ and \$ stand in contexts"),
        ('export a = "x":$', r"g:1:8: \^ and \$ stand in contexts of rewrite rules only, not in the rule 'a'"),
        ('set a =^[xy]\nb = "z"', r"g:1:8: \^ and \$ stand in contexts of rewrite rules only, not in a set"),
        ('alphabet [xy] | $\nb = "z"', r"g:1:10: \^ and \$ stand in contexts of rewrite rules only, not in a set"),
        ('a = ("x":"y") - "x"', r"g:1:6: here strings must stay"),
        ('a = "x" -> "y" / "z"', r"g:1:21: '_' is expected"),
        ('import "nowhere" as n', r"g:1:8: .*nowhere: No such file"),
        ('a = ("x"', r"g:1:9: '\)' for the '\(' of line 1, column 5"),
        ('  a = "x"', r"g:1:3: an indented line"),
        ('set a = "xy"', r"g:1:9: a set has single symbols only, not 'xy'"),
        ("a = n.b", r"g:1:5: no import is called 'n'"),
        ("a = delete()", r"g:1:5: delete\(x\)"),
        ('def f(x) = x\na = f("a", "b")', r"g:2:5: 'f' takes 1 arguments"),
        ("def f(x) = f(x)\na = f('a')", r"g:1:12: the function 'f' calls itself"),
        ("test = 'a'", r"g:1:6: the name of a rule"),
        ("test a\n  'x' -> 'y'", r"g:2:3: there is no rule 'a' to test"),
        ("a = 'x' <y>", r"g:1:9: a cost is a number"),
        ("a = 5", r"g:1:5: '5' means nothing"),
        ("a = '\\q'", r"g:1:6: .* is no escape"),
        ("a = [b-a]", r"g:1:5: the range b-a runs backwards"),
        ("a = " + "(" * 100 + "'x'" + ")" * 100, r"g:1:\d+: expressions lie within one another"),
        ("tokens word", r"g:1:8: tokens are"),
        ("a = lines('nowhere.tsv')", r"g:1:5: .*nowhere.tsv: No such file"),
    ],
)
def test_errors_name_line_and_column(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        compile_all(text, source="g")


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        ('~(.* "a" .{25})', True),
        ('(.* "a" .{25}) - (.* "b" .{25})', True),
        ('.* "a" .{25}', False),
        ('(.* "a" .{20} "x":"y")*', False),
        ("(.{100} | .{99}){1,100}", None),
        ('("a"*)* ("":"")* @ ("a"* | "b")*', False),
        ('"a" -> "b" / (.* "c" .{12}) _ (.{12} "d" .*)', None),
        ('("a" | "a")* <1> @ ("a":"b")* <2>', False),
    ],
)
def test_rules_that_grow_are_machines_or_errors_with_a_place(rule: str, fault: bool | None) -> None:
    try:
        compile_all(f"r = {rule}", source="g")
        failed = False
    except DataError as error:
        failed = True
        message = str(error)
    if fault is not None:
        assert failed == fault
    assert not failed or re.match(r"g:\d+:\d+: ", message)


def test_bytes_and_code_points_give_the_same_strings() -> None:
    rule = 'a = [é€]+ | "ü" -> "ue" / "é" _\n'
    for text in ("é€", "éü", "xü"):
        expected = fst.compile_grammar(rule).apply("a", [text])
        assert fst.compile_grammar("tokens byte\n" + rule).apply("a", [text]) == expected


def test_imports_share_rules_and_circles_are_refused(tmp_path: Path) -> None:
    (tmp_path / "one.grammar").write_text('digit = [0-9]\ndef twice(x) = x x\ntest digit\n  "1" -> "1"\n')
    (tmp_path / "two.grammar").write_text(
        'import "one.grammar" as one\nexport year = one.twice(one.twice(one.digit))\n'
    )
    grammar = fst.read_grammar(tmp_path / "two.grammar")
    assert grammar.apply("year", ["1984", "198"]) == [[("1984", 0.0)], []]
    assert len(list(fst.run_cases(grammar))) == 1
    (tmp_path / "one.grammar").write_text('import "two.grammar" as two\ndigit = "a"\n')
    with pytest.raises(DataError, match=r"one.grammar:1:8: the import goes round in a circle: two.grammar imports one"):
        fst.read_grammar(tmp_path / "two.grammar")


def test_explanations_follow_the_best_output() -> None:
    grammar = fst.compile_grammar(GRAMMAR)
    tree = fst.explain(grammar, "city", "plural")
    assert tree is not None
    assert (tree.input, tree.output) == ("city", "cities")
    titles = [step.title for step in tree.steps]
    assert "letters" in titles
    assert "spelling" in titles
    drawn = fst.draw_explanation(tree)
    assert '"citys" -> "cities"' in drawn
    assert fst.explain(grammar, "the", "plural") is None


def test_the_command_compiles_tests_and_explains(tmp_path: Path) -> None:
    file = tmp_path / "g.grammar"
    file.write_text(GRAMMAR + '  "dog" -> "dogz"\n')
    run = CliRunner().invoke
    assert run(app, ["fst", "grammar", "compile", str(file), "-o", str(tmp_path / "g.far")]).exit_code == 0
    assert list(fst.Archive(tmp_path / "g.far")) == ["digits", "plural", "tagged"]
    assert (
        run(app, ["fst", "grammar", "compile", str(file), "-o", str(tmp_path / "g.fst"), "--rule", "digits"]).exit_code
        == 0
    )
    assert fst.equal(fst.read_fst(tmp_path / "g.fst"), fst.Archive(tmp_path / "g.far")["digits"])
    tested = run(app, ["fst", "grammar", "test", str(file)])
    assert tested.exit_code == 1
    assert re.search(r'g.grammar:\d+:3: plural: "dog"\n- dogz\n\+ dogs\n4 of 5 cases passed', tested.output)
    assert "spelling" in run(app, ["fst", "grammar", "explain", str(file), "city", "--rule", "plural"]).output


def test_thrax_grammars_are_read(tmp_path: Path) -> None:
    file = tmp_path / "t.grm"
    file.write_text(
        '# a comment\nfunc Twice[x] { y = x x; return y; }\nsigma = "a" | "b" | "e";\n'
        'export R = Optimize[CDRewrite["a" : "e", "b", "[EOS]", sigma*, \'ltr\', \'obl\']];\n'
        'export T = Twice["ab"] ("x" : "y" <1.5>)?;\nexport U = Union["a", "b"] Concat["c", "d"];\n'
    )
    grammar = fst.open_grammar(file)
    assert grammar.apply("R", ["baba"]) == [[("babe", 0.0)]]
    assert grammar.apply("T", ["ababx"]) == [[("ababy", 1.5)]]
    assert grammar.apply("U", ["bcd"]) == [[("bcd", 0.0)]]
    file.write_text('export A = "a";\nexport B = LoadFst["x.fst"];\n')
    with pytest.raises(DataError, match=r"t.grm:2:12: LoadFst cannot be translated"):
        fst.open_grammar(file)


def test_transliteration_goes_both_ways_where_it_is_defined() -> None:
    grammar = fst.read_grammar(Path(__file__).parents[2] / "examples" / "cyrillic.grammar")
    assert [result.diff() for result in fst.run_cases(grammar) if not result.passed] == []
    letters = "абвгдеёжзийклмнопрстуфхцчшщъыьэюя"
    words = [letters, letters.upper().replace("Ъ", "").replace("Ь", ""), "Съешьещёэтихмягкихфранцузскихбулок"]
    latin = [answers[0][0] for answers in grammar.apply("iso", words)]
    assert [answers[0][0] for answers in grammar.apply("iso_inverse", latin)] == words


def mutants(text: str, count: int, seed: int) -> list[str]:
    """The grammar with a few characters or pieces changed, dropped, doubled or exchanged."""
    rng = random.Random(seed)
    pieces = ['"', "'", "[", "]", "(", ")", "{", "}", "<", ">", "->", "/", "_", "@", "|", "-", "&", "~", "*", "+", "^"]
    pieces += [
        "$",
        ":",
        "=",
        "\\",
        "`",
        ".",
        "\n",
        " ",
        "{9}",
        "{2,}",
        "99",
        "é",
        "\0",
        "digit",
        "export ",
        "test ",
        "#",
    ]
    results = []
    for _ in range(count):
        mutant = text
        for _ in range(rng.randint(1, 3)):
            at, size = rng.randrange(len(mutant)), rng.choice([0, 1, 1, 2, 5])
            kind = rng.random()
            if kind < 0.4:
                mutant = mutant[:at] + rng.choice(pieces) + mutant[at + size :]
            elif kind < 0.7:
                mutant = mutant[:at] + mutant[at + max(size, 1) :]
            else:
                other = rng.randrange(len(mutant))
                mutant = mutant[:at] + mutant[other : other + 20] + mutant[at:]
        results.append(mutant)
    return results


def check_mutants(count: int, seed: int) -> None:
    machines, faults = 0, []
    for mutant in mutants(GRAMMAR, count, seed):
        try:
            machines += compile_all(mutant, source="m", max_states=1 << 14)
        except DataError as fault:
            faults.append((str(fault), mutant))
    assert machines > count // 10
    assert len(faults) > count // 4
    assert [fault for fault in faults if not re.match(r"m:\d+:\d+: ", fault[0])] == []


def test_mutants_of_a_grammar_are_machines_or_errors_with_a_place() -> None:
    check_mutants(300, 1)


@pytest.mark.slow
def test_a_hundred_thousand_mutants() -> None:
    check_mutants(100_000, 2)
