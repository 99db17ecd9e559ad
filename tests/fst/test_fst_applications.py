"""Smaller applications of machines: restored words, oracle errors, counted patterns, profiles of sequences."""

from __future__ import annotations

import contextlib
import itertools
import math
import random
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import textmill.fst as wfst
from textmill.cli.fst import app
from textmill.corpus import write_arpa
from textmill.errors import DataError
from textmill.fst import WordRestorer
from textmill.lm import NGramModel, arpa_of

TEXT = ["Mars is a planet", "the man is from Mars", "a man is good", "home is good", "Will he go home", "he will go",
        "this man will go", "the good man"]  # fmt: skip


@pytest.fixture(scope="module")
def model() -> NGramModel:
    return NGramModel(order=3).fit([line.split() for line in TEXT])


@pytest.mark.parametrize("reduction", ["case", "keypad", "accents"])
def test_restored_words_are_the_best_of_all_candidates(model: NGramModel, reduction: str) -> None:
    restorer = WordRestorer(arpa_of(model), reduction)
    draw = random.Random(2)
    vocabulary = [word for word in model.words_ if not word.startswith("<")]
    for _ in range(30):
        tokens = [restorer.reduction(word) for word in draw.choices(vocabulary, k=draw.randint(1, 5))]
        sentences = list(itertools.product(*(restorer.candidates(token) for token in tokens)))
        logs = [float(row.sum()) for row in model.token_scores([list(s) for s in sentences], unit="nats")]
        (cost, words), *_ = restorer.best(tokens, 3)
        assert cost == pytest.approx(-max(logs), abs=1e-6)
        assert logs[sentences.index(tuple(words))] == pytest.approx(max(logs), abs=1e-9)
        assert restorer.restore(tokens) == words


def test_chains_of_a_lexicon_become_single_arcs(tmp_path: Path) -> None:
    lexicon = wfst.optimize(wfst.string_map([("strength", "a"), ("string", "b"), ("length", "c"), ("ring", "d")]))
    chains, factored = wfst.factor_chains(lexicon)
    assert sorted(wfst.strings(wfst.compose(chains, factored))) == sorted(wfst.strings(lexicon))
    inside = [
        state
        for state in range(factored.num_states)
        if state != factored.start and not factored.is_final(state) and len(factored.arcs(state)) == 1
    ]
    into = [arc.nextstate for _, arc in factored.iter_arcs()]
    outputs = {state: factored.arcs(state)[0].olabel for state in inside}
    for state in inside:  # what is left of chains is a second output, or a way in from two sides
        before = [arc.olabel for _, arc in factored.iter_arcs() if arc.nextstate == state]
        assert into.count(state) > 1 or (outputs[state] and before[0])
    read = {arc.ilabel for _, arc in factored.iter_arcs()} - {0}
    assert read == {arc.olabel for _, arc in chains.iter_arcs()} - {0} == set(range(1, len(read) + 1))
    wfst.write_fst(lexicon, tmp_path / "a.fst")
    done = CliRunner().invoke(app, ["factor", *(str(tmp_path / f"{name}.fst") for name in ("a", "chains", "b"))])
    assert done.exit_code == 0, done.output
    assert wfst.isomorphic(wfst.read_fst(tmp_path / "b.fst"), factored)
    assert wfst.isomorphic(wfst.read_fst(tmp_path / "chains.fst"), chains)


def test_chains_end_before_a_second_output_and_need_a_start() -> None:
    machine = wfst.compile_text("0 1 1 5 .5\n1 2 2 0 1\n2 3 0 6 2\n3 4 3 0\n4 1")
    _, factored = wfst.factor_chains(machine)
    assert [(arc.ilabel, arc.olabel, arc.weight) for _, arc in factored.iter_arcs()] == [(1, 5, 1.5), (2, 6, 2.0)]
    nothing, empty = wfst.factor_chains(wfst.Fst())
    assert (nothing.num_states, empty.num_states, empty.start) == (1, 0, -1)


def test_tokens_without_a_word_are_copied(model: NGramModel) -> None:
    restorer = WordRestorer(arpa_of(model))
    assert restorer.restore(["mars", "QUX", "man"]) == ["Mars", "QUX", "man"]
    assert restorer.restore([]) == []
    with pytest.raises(DataError, match="as a list"):
        restorer.restore("mars")
    with pytest.raises(DataError, match="reduction"):
        WordRestorer(arpa_of(model), "colour")


def test_the_command_restores_lines(model: NGramModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_arpa("model.arpa", arpa_of(model))

    def run(*arguments: str, text: str) -> str:
        return CliRunner().invoke(app, ["restore", *arguments], input=text, catch_exceptions=False).stdout

    assert run("model.arpa", text="the man is from mars\n\nwill he go home\n") == (
        "the man is from Mars\n\nWill he go home\n"
    )
    assert run("--reduction=keypad", "model.arpa", text="43 9455 46\n") == "he will go\n"


def levenshtein(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def test_the_oracle_error_is_that_of_the_nearest_path() -> None:
    draw = random.Random(5)
    for _ in range(40):
        texts = ["".join(draw.choices("abcd", k=draw.randint(0, 6))) for _ in range(draw.randint(1, 5))]
        reference = "".join(draw.choices("abcde", k=draw.randint(1, 6)))
        lattice = wfst.string_map([(text, text, draw.random()) for text in texts])
        edits, pairs = wfst.oracle_error(lattice, reference)
        codes = [tuple(map(ord, text)) for text in texts]
        goal = tuple(map(ord, reference))
        assert edits == min(levenshtein(code, goal) for code in codes)
        assert tuple(x for x, _ in pairs if x) in codes
        assert tuple(y for _, y in pairs if y) == goal
        assert sum(x != y for x, y in pairs) == edits
    with pytest.raises(DataError, match="no path"):
        wfst.oracle_error(wfst.Fst(), "a")


@pytest.mark.parametrize("name", ["tropical", "log64", "real"])
def test_expected_occurrences_are_means_over_all_strings(name: str) -> None:
    draw = random.Random(6)
    for _ in range(25):
        texts = sorted({"".join(draw.choices("ab", k=draw.randint(0, 7))) for _ in range(4)})
        costs = [draw.random() * 3 for _ in texts]
        pattern = "".join(draw.choices("ab", k=draw.randint(1, 2)))
        lattice = wfst.string_map(list(zip(texts, texts, costs, strict=True)), semiring_name="log64")
        if name == "tropical":
            lattice = wfst.convert(lattice, "tropical64")
            lattice = wfst.convert(lattice, "tropical")
        elif name == "real":
            lattice = wfst.convert(lattice, "real")
        counts = [sum(text.startswith(pattern, i) for i in range(len(text))) for text in texts]
        shares = np.exp(-np.array(costs))
        assert wfst.expected_occurrences(lattice, pattern) == pytest.approx(shares @ counts / shares.sum(), rel=1e-5)
    with pytest.raises(DataError, match="no path"):
        wfst.expected_occurrences(wfst.Fst("log64"), "a")
    with pytest.raises(DataError, match="no probabilities"):
        wfst.expected_occurrences(wfst.Fst("boolean"), "a")


def test_class_models_come_from_replacement() -> None:
    """A model over classes calls a machine for each: P(words) = P(classes) P(words | classes)."""
    symbols = wfst.SymbolTable(["<eps>", "to", "paris", "rome", "CITY"])
    grammar = wfst.compile_text("0 1 to .5\n1 2 CITY .25\n2", acceptor=True, input_symbols=symbols)
    city = wfst.compile_text("0 1 paris 1\n0 1 rome 2\n1", acceptor=True, input_symbols=symbols)
    whole = wfst.replace({100: grammar, symbols.key("CITY"): city}, 100, call_arc_labeling="neither")
    paths = {tuple(x.split()): weight for x, _, weight in wfst.strings(whole, token_type="symbol")}
    assert paths == {("to", "paris"): 1.75, ("to", "rome"): 2.75}


LIGHTS = """#JSGF V1.0 UTF-8 en;
grammar lights;  // a comment
public <order> = [please] (<verb> {do it}) the (/3/ lights | /1/ lamp) <end>*;
<verb> = dim | turn (on | off)+ | "switch off"; /* another
   comment */
<end> = now | <NULL>;
public <never> = <VOID> | yes;
"""


def test_speech_grammars_are_read() -> None:
    rules = wfst.compile_jsgf(LIGHTS)
    assert list(rules) == ["order", "never"]

    def outputs(text: str) -> list[tuple[str, float]]:
        return wfst.apply(rules["order"], [text], token_type="symbol", k=3)[0]

    ((text, cost),) = outputs("please turn on off the lights now now")
    assert text == "please turn on off {do_it} the lights now now"
    assert cost == pytest.approx(math.log(4 / 3), abs=1e-5)
    assert outputs("switch off the lamp") == [("switch off {do_it} the lamp", pytest.approx(math.log(4), abs=1e-5))]
    assert outputs("turn the lamp") == []
    assert [text for text, _, _ in wfst.strings(rules["never"], token_type="symbol")] == ["yes"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("grammar a;", r"g:1:1: a grammar begins"),
        ("#JSGF V1.0; grammar a;\npublic <a> = b", r"g:2:14: ';'"),
        ("#JSGF V1.0; grammar a;\npublic <a> = <b>;", r"g:2:14: the rule <b> is not defined"),
        ("#JSGF V1.0; grammar a;\npublic <a> = /x/ b;", r"g:2:14"),
        ("#JSGF V1.0; grammar a;\npublic <a> = /1/ b | c;", r"all alternatives"),
        ("#JSGF V1.0; grammar a;\npublic <a> = /0/ b | /0/ c;", r"all 0"),
        ("#JSGF V1.0; grammar a;\n<a> = b;", r"no rule is public"),
        ("#JSGF V1.0; grammar a;\nimport <x.y>;", r"g:2:1: imports"),
        ("#JSGF V1.0; grammar a; public <a> = b; <a> = c;", r"defined twice"),
        ("#JSGF V1.0; grammar a; public <a> = x <b>; <b> = y <a>;", r"<a> calls <b> calls <a>"),
        ("#JSGF V1.0; grammar a; public <a> = ();", r"words, a rule or a group"),
        ("#JSGF V1.0; grammar a; public <a> = " + "(" * 500 + "b" + ")" * 500 + ";", r"nested"),
    ],
)
def test_faults_of_speech_grammars_have_a_place(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        wfst.compile_jsgf(text, source="g")


def test_mutants_of_a_speech_grammar_are_machines_or_errors() -> None:
    draw = random.Random(9)
    for _ in range(150):
        letters = list(LIGHTS)
        for _ in range(draw.randint(1, 4)):
            at = draw.randrange(len(letters))
            letters[at : at + draw.randint(0, 3)] = draw.choice(
                ["", ";", "|", "(", "]", "*", "<a>", "{", "/", "é", '"']
            )
        with contextlib.suppress(DataError):
            assert wfst.compile_jsgf("".join(letters))


def test_the_command_compiles_speech_grammars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lights.jsgf").write_text(LIGHTS)
    done = CliRunner().invoke(app, ["grammar", "compile", "lights.jsgf", "-o", "lights.far"], catch_exceptions=False)
    assert "order: " in done.stderr
    done = CliRunner().invoke(app, ["grammar", "compile", "lights.jsgf", "--rule", "never", "-o", "never.fst"])
    assert done.exit_code == 0
    assert wfst.read_fst("never.fst").num_arcs == 1
