"""Compact machines, and const machines with other widths of indexes: OpenFst's files, memory, refusals."""

from __future__ import annotations

import random
import struct
import subprocess
from pathlib import Path

import pytest
from reference.fst import random_fst

import textmill.fst as wfst
from textmill.errors import DataError
from textmill.fst import Fst

pywrapfst = pytest.importorskip("pywrapfst")

KINDS = ["string", "weighted_string", "acceptor", "unweighted_acceptor", "unweighted"]


def machine(kind: str, dice: random.Random, semiring: str = "tropical") -> Fst:
    if kind.endswith("string"):
        fst = Fst(semiring)
        count = dice.randint(1, 9)
        fst.add_states(count)
        fst.start = 0
        for state in range(count - 1):
            label = dice.randint(0, 5)
            fst.add_arc(state, label, label, dice.randint(0, 3) / 2 if kind != "string" else None, state + 1)
        fst.set_final(count - 1, dice.randint(0, 3) / 2 if kind != "string" else None)
        return fst
    fst = random_fst(dice, semiring, states=6, arcs=15, cyclic=True, acceptor=kind.endswith("acceptor"))
    return wfst.arcmap(fst, "rmweight") if kind.startswith("unweighted") else fst


@pytest.mark.parametrize("semiring", ["tropical", "log64"])
@pytest.mark.parametrize("kind", KINDS)
def test_files_of_the_reference_are_read_and_written_again(kind: str, semiring: str) -> None:
    dice = random.Random(1)
    for _ in range(30):
        fst = machine(kind, dice, semiring)
        theirs = pywrapfst.Fst.read_from_string(wfst.to_bytes(fst))
        content = pywrapfst.convert(theirs, f"compact_{kind}").write_to_string()
        ours = wfst.from_bytes(content)
        assert wfst.equal(ours, fst, delta=0.0)
        if semiring == "tropical":  # with 64 bits the reference leaves bytes between fields as they were
            assert wfst.to_bytes(ours, fst_type=f"compact_{kind}") == content
        written = wfst.to_bytes(fst, fst_type=f"compact_{kind}", align=True)
        assert pywrapfst.isomorphic(pywrapfst.Fst.read_from_string(written), theirs)
        assert wfst.equal(wfst.from_bytes(written), fst, delta=0.0)


@pytest.mark.parametrize("width", ["8", "16", "64"])
def test_other_widths_of_indexes_come_back(width: str) -> None:
    dice = random.Random(2)
    for semiring in ("tropical", "log64", "boolean", "signed_log"):
        for align in (False, True):
            fst = random_fst(dice, semiring, cyclic=True)
            assert wfst.equal(wfst.from_bytes(wfst.to_bytes(fst, fst_type=f"const{width}", align=align)), fst)
    for kind in KINDS:
        fst = machine(kind, dice)
        assert wfst.equal(wfst.from_bytes(wfst.to_bytes(fst, fst_type=f"compact{width}_{kind}")), fst)


def test_the_layout_of_other_widths_is_that_of_the_reference() -> None:
    """Written once by OpenFst 1.7.9: `0 1 1 1 .5 / 0 2 3 3 / 1 2 2 2 .25 / 1 .75 / 2 3.5`, what follows the header."""
    fst = wfst.compile_text("0 1 1 1 .5\n0 2 3 3\n1 2 2 2 .25\n1 .75\n2 3.5\n")
    arcs = struct.pack("<iifiiifiiifi", 1, 1, 0.5, 1, 3, 3, 0.0, 2, 2, 2, 0.25, 2)
    zero = float("inf")
    bodies = {
        "const8": struct.pack("<f4Bf4Bf4B", zero, 0, 2, 0, 0, 0.75, 2, 1, 0, 0, 3.5, 3, 0, 0, 0) + arcs,
        "const16": struct.pack("<f4Hf4Hf4H", zero, 0, 2, 0, 0, 0.75, 2, 1, 0, 0, 3.5, 3, 0, 0, 0) + arcs,
        "const64": struct.pack("<f4x4Qf4x4Qf4x4Q", zero, 0, 2, 0, 0, 0.75, 2, 1, 0, 0, 3.5, 3, 0, 0, 0) + arcs,
        "compact8_acceptor": struct.pack("<4B", 0, 2, 4, 5)
        + struct.pack("<" + "ifi" * 5, 1, 0.5, 1, 3, 0.0, 2, -1, 0.75, -1, 2, 0.25, 2, -1, 3.5, -1),
    }
    for name, body in bodies.items():
        assert wfst.to_bytes(fst, fst_type=name).endswith(body), name


@pytest.mark.parametrize("kind", KINDS)
def test_compact_machines_are_used_as_all_others(kind: str) -> None:
    dice = random.Random(3)
    for _ in range(20):
        fst = machine(kind, dice)
        small = wfst.compact(fst, kind)
        assert (small.start, small.num_states, small.num_arcs) == (fst.start, fst.num_states, fst.num_arcs)
        for state in range(fst.num_states):
            assert small.arcs(state) == fst.arcs(state)
            assert small.final(state) == fst.final(state)
            assert small.num_arcs_of(state) == fst.num_arcs_of(state)
        assert list(small.iter_arcs()) == list(fst.iter_arcs())
        assert wfst.equal(small, fst)
        assert wfst.equal(wfst.union(small, small), wfst.union(fst, fst))
        assert wfst.equal(wfst.compose(small, small), wfst.compose(fst, fst))
        assert small.properties() == fst.properties()
        assert wfst.equal(wfst.arcsort(small, lambda arc: -arc.ilabel), wfst.arcsort(fst, lambda arc: -arc.ilabel))
        assert wfst.equal(wfst.partial_copy(small, 3), wfst.partial_copy(fst, 3))
        assert wfst.equal(wfst.shortest_path(small), wfst.shortest_path(fst))
        assert wfst.equal(small.expanded(), fst)


def test_the_smallest_kind_is_chosen() -> None:
    dice = random.Random(4)
    assert wfst.compact(wfst.accep("abc")).kind == "string"
    assert wfst.compact(wfst.accep("abc", 0.5)).kind == "weighted_string"
    assert wfst.compact(wfst.union(wfst.accep("a"), wfst.accep("b"))).kind == "unweighted_acceptor"
    assert wfst.compact(wfst.union(wfst.accep("a", 1.0), wfst.accep("b"))).kind == "acceptor"
    assert wfst.compact(wfst.string_map([("a", "b"), ("c", "d")])).kind == "unweighted"
    with pytest.raises(DataError, match="no compact form"):
        wfst.compact(wfst.string_map([("a", "b", 1.0), ("c", "d")]))
    big = machine("acceptor", dice)
    for _ in range(400):
        big.add_arc(0, 1, 1, None, 0)
    assert wfst.equal(wfst.compact(big), big)


def test_bytes_an_arc() -> None:
    text = wfst.accep("x" * 100_000)
    assert wfst.compact(text).nbytes < 4.01 * 100_000
    assert text.nbytes >= 36 * 100_000
    wide = wfst.sigma_star(range(1, 50_001))
    assert wfst.compact(wide).nbytes < 8.01 * 50_000
    wide.set_final(0, 1.0)
    assert wfst.compact(wide).nbytes < 12.01 * 50_000


def test_compact_machines_cannot_be_changed() -> None:
    small = wfst.compact(wfst.accep("ab"))
    for call in (
        small.add_state,
        lambda: small.add_arc(0, 1, 1, None, 1),
        lambda: small.set_final(0),
        lambda: setattr(small, "start", 1),
        lambda: small.delete_states([0]),
    ):
        with pytest.raises(DataError, match="expanded"):
            call()


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("string", "0 1 1 1\n1 2 2 2\n0\n2\n", "is final and has arcs"),
        ("string", "0 2 1 1\n2 1 1 1\n1\n", "does not lead to the next state"),
        ("string", "0 1 1 1 .5\n1\n", "has an arc with a weight"),
        ("weighted_string", "0 1 1 2 .5\n1\n", "two labels"),
        ("acceptor", "0 1 1 2\n1\n", "two labels"),
        ("unweighted_acceptor", "0 1 1 1\n1 2\n", "has a final weight"),
        ("unweighted", "0 1 1 2 1\n1\n", "has an arc with a weight"),
    ],
)
def test_machines_of_another_kind_are_refused(kind: str, text: str, words: str) -> None:
    fst = wfst.compile_text(text, keep_state_numbering=True)
    with pytest.raises(DataError, match=words):
        wfst.to_bytes(fst, fst_type=f"compact_{kind}")


def test_indexes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match="8 bits cannot hold"):
        wfst.to_bytes(wfst.sigma_star(range(1, 500)), fst_type="const8")
    with pytest.raises(DataError, match="16 bits cannot hold"):
        wfst.to_bytes(wfst.sigma_star(range(1, 70_000)), fst_type="compact16_acceptor")


@pytest.mark.parametrize("count", [1_500, pytest.param(50_000, marks=pytest.mark.slow)])
def test_damaged_files_never_crash(count: int) -> None:
    dice = random.Random(5)
    seeds = [
        wfst.to_bytes(machine(kind, dice), fst_type=f"compact{width}_{kind}") for kind in KINDS for width in ("", "8")
    ]
    seeds += [wfst.to_bytes(machine("acceptor", dice), fst_type=f"const{width}") for width in ("8", "16", "64")]
    refused = 0
    for _ in range(count):
        content = bytearray(dice.choice(seeds))
        match dice.randrange(3):
            case 0:
                del content[dice.randrange(len(content)) :]
            case 1:
                for _ in range(dice.randint(1, 4)):
                    content[dice.randrange(len(content))] = dice.randrange(256)
            case _:
                at = dice.randrange(len(content) - 8)
                content[at : at + 8] = struct.pack("<q", dice.choice([-1, 1 << 31, 1 << 62, 0, 255]))
        try:
            wfst.connect(wfst.from_bytes(bytes(content))).properties()
        except DataError:
            refused += 1
    assert refused > count // 4


def test_debian_programs_read_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "m.fst"
    for kind in KINDS:
        fst = machine(kind, random.Random(6))
        wfst.write_fst(fst, path, fst_type=f"compact_{kind}")
        try:
            printed = subprocess.run(["fstprint", str(path)], capture_output=True, check=True, text=True).stdout
        except FileNotFoundError:
            pytest.skip("the programs of OpenFst are not installed")
        assert wfst.isomorphic(wfst.compile_text(printed), fst)
