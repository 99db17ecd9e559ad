"""Plans of chains: the same machine in whatever order, sizes that are right, reasons that are given."""

from __future__ import annotations

import random
from functools import reduce
from pathlib import Path

import pytest
from reference.fst import random_fst, relation, same
from typer.testing import CliRunner

import textmill.fst as wfst
from textmill.cli.app import app
from textmill.errors import DataError
from textmill.fst import Fst, lazy


def wide(labels: int) -> Fst:
    """One letter becomes any label."""
    fst = Fst()
    fst.add_states(2)
    fst.start = 0
    fst.set_final(1)
    for label in range(1, labels + 1):
        fst.add_arc(0, 1, label, 1.0, 1)
        fst.add_arc(1, 1, label, 1.0, 0)
    return fst


def late(words: list[str]) -> Fst:
    """Letters to the numbers of words, written behind their letters."""
    fst = Fst()
    fst.start = fst.add_state()
    fst.set_final(fst.start)
    for number, word in enumerate(words, 1):
        state = fst.start
        for letter in word:
            following = fst.add_state()
            fst.add_arc(state, ord(letter), 0, None, following)
            state = following
        fst.add_arc(state, 32, number, None, fst.start)
    return fst


@pytest.mark.parametrize("name", ["tropical", "log64", "boolean"])
@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_every_order_gives_the_same_relation(name: str, length: int) -> None:
    for seed in range(25):
        dice = random.Random(f"{name} {length} {seed}")
        machines = [random_fst(dice, name, states=4, arcs=7) for _ in range(length)]
        made = wfst.plan_chain(machines, budget=dice.choice([1, 5, 2000]))
        expected = relation(reduce(wfst.compose, machines))
        assert same(relation(made.run()), expected, machines[0].semiring), seed
        assert same(relation(made.lazy().expand()), expected, machines[0].semiring), seed


def test_sizes_are_those_of_the_machines() -> None:
    dice = random.Random(1)
    machines = [random_fst(dice, "tropical", states=6, arcs=12, epsilon=0.0) for _ in range(3)]
    sizes = wfst.plan_chain(machines).sizes
    for first, last in ((0, 1), (1, 2), (0, 2)):
        whole = reduce(lambda a, b: lazy.compose(a, b), machines[first : last + 1])
        assert sizes[first, last] == wfst.EstimatedSize(whole.expand().num_states, counted=True)
    assert (
        not wfst.plan_chain([wide(5), wfst.closure(wfst.compile_text("0 1 1 1\n1 2 2 2\n2"))], budget=1)
        .sizes[0, 1]
        .counted
    )


def test_the_small_end_is_composed_first() -> None:
    """a o b has a state for each pair, b o c only a few: from the left would be wasteful."""
    dice = random.Random(3)
    many = [random_fst(dice, "tropical", states=40, arcs=400, labels=3, cyclic=True, epsilon=0.0) for _ in range(2)]
    narrow = wfst.compile_text("0 1 1 1\n1")
    assert wfst.plan_chain([*many, narrow], names=["a", "b", "c"]).order == "(a o (b o c))"
    assert wfst.plan_chain([narrow, *many], names=["c", "a", "b"]).order == "((c o a) o b)"


def test_look_ahead_is_taken_where_it_helps() -> None:
    words = ["".join(random.Random(i).choices("abcd", k=7)) for i in range(60)]
    grammar = wfst.compile_text("0 1 7 7 .5\n1 2 3 3\n2")
    made = wfst.plan_chain([late(words), grammar], names=["lexicon", "grammar"])
    (joint,) = made.joints
    assert (joint.look_ahead, joint.push) == ("output", "labels")
    assert "look-ahead on the output labels" in made.explain()
    assert wfst.total_weight(made.run()) == 0.5
    mirrored = wfst.plan_chain([wfst.invert(grammar), wfst.invert(late(words))])
    assert mirrored.joints[0].look_ahead == "input"
    plain = wfst.plan_chain([grammar, grammar])
    assert (plain.joints[0].look_ahead, plain.joints[0].compose_filter) == ("none", "trivial")


def test_bad_chains() -> None:
    with pytest.raises(DataError, match="no machine to begin with"):
        wfst.plan_chain([])
    with pytest.raises(DataError, match="1 names for 2 machines"):
        wfst.plan_chain([Fst(), Fst()], names=["a"])
    with pytest.raises(DataError, match="different semirings"):
        wfst.plan_chain([Fst("log"), Fst()])


def test_the_command(tmp_path: Path) -> None:
    words = late(["ab", "ac", "b"])
    for name, fst in (
        ("letters", wfst.accep("ac b ")),
        ("words", words),
        ("pairs", wfst.compile_text("0 1 2 8\n1 2 3 9 1\n2")),
    ):
        wfst.write_fst(fst, tmp_path / f"{name}.fst")
    files = [str(tmp_path / f"{name}.fst") for name in ("letters", "words", "pairs")]

    def run(*arguments: str) -> str:
        found = CliRunner().invoke(app, ["fst", "chain", *arguments, *files])
        assert found.exit_code == 0, found.output
        return found.stdout

    assert "order: (letters o (words o pairs))" in run("--explain-plan")
    for number, options in enumerate(([], ["--lazy"], ["--paths", "1"], ["--lazy", "--paths", "1"])):
        target = tmp_path / f"out{number}.fst"
        run(*options, "-o", str(target))
        made = wfst.read_fst(target)
        assert wfst.total_weight(made) == 1.0
        outputs = [arc.olabel for _, arc in made.iter_arcs() if arc.olabel]
        assert outputs == [8, 9]


def test_look_ahead_on_the_command_line(tmp_path: Path) -> None:
    wfst.write_fst(late(["ab", "ac", "b"]), tmp_path / "words.fst")
    wfst.write_fst(wfst.compile_text("0 1 2 8\n1 2 3 9 1\n2"), tmp_path / "pairs.fst")
    sizes = []
    for options in (
        [],
        ["--noconnect"],
        ["--noconnect", "--look_ahead=output", "--push=both"],
        ["--look_ahead=output"],
    ):
        target = tmp_path / "out.fst"
        files = [str(tmp_path / name) for name in ("words.fst", "pairs.fst", "out.fst")]
        found = CliRunner().invoke(app, ["fst", "compose", *options, *files])
        assert found.exit_code == 0, found.output
        sizes.append(wfst.read_fst(target, map_file=False).num_states)
        assert wfst.total_weight(wfst.read_fst(target, map_file=False)) == 1.0
    assert sizes[0] == sizes[2] == sizes[3] < sizes[1]
    wrong = CliRunner().invoke(app, ["fst", "compose", "--push=weights", *files])
    assert wrong.exit_code == 1
