"""Files of machines: text, OpenFst's binaries, archives, symbol tables; and what is wrong with damaged ones."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import numpy as np
import pytest
from reference.fst import random_fst, relation, same

import textmill.fst as wfst
from textmill.errors import DataError

pywrapfst = pytest.importorskip("pywrapfst")

TEXT = "0\t1\t1\t2\t0.5\n0\t2\t0\t3\n1\t2\t4\t0\t1.25\n2\t3.5\n"


def test_text_round_trip_keeps_every_byte() -> None:
    assert wfst.print_text(wfst.compile_text(TEXT)) == TEXT


def test_states_are_numbered_as_they_appear_unless_kept() -> None:
    text = "7 3 1 1\n3\n"
    assert wfst.compile_text(text).num_states == 2
    kept = wfst.compile_text(text, keep_state_numbering=True)
    assert (kept.num_states, kept.start) == (8, 7)


def test_names_of_states_come_from_a_table() -> None:
    names = wfst.SymbolTable(["begin", "end"])
    fst = wfst.compile_text("begin end 1 1\nend\n", state_symbols=names)
    assert wfst.print_text(fst, state_symbols=names) == "begin\tend\t1\t1\nend\n"


@pytest.mark.parametrize(
    ("text", "place", "fault"),
    [
        ("0 1 1 1\nx 1 1 1\n", "text:2:field 1", "state 'x'"),
        ("0 1 -1 1\n", "text:1:field 3", "label '-1'"),
        ("0 1 99999999999 1\n", "text:1:field 3", "label"),
        ("0 1 1 1 heavy\n", "text:1:field 5", "not a weight"),
        ("0 1 1 1 nan\n", "text:1:field 5", "not a weight"),
        ("0 1 1\n", "text:1:field 3", "acceptor=True"),
        ("0 1 1 1 1 1\n", "text:1:field", "fields"),
        ("0 0.5\n0 1 2 3 4 5 6 7 8\n", "text:2:field", "fields"),
    ],
)
def test_bad_lines_are_named_with_line_and_field(text: str, place: str, fault: str) -> None:
    with pytest.raises(DataError) as caught:
        wfst.compile_text(text)
    assert str(caught.value).startswith(place)
    assert fault in str(caught.value)


def test_unknown_symbols_are_named() -> None:
    letters = wfst.SymbolTable(["<eps>", "a"])
    with pytest.raises(DataError, match="text:1:field 4: symbol 'b' is not in the table of output symbols"):
        wfst.compile_text("0 1 a b\n", input_symbols=letters, output_symbols=letters)
    fst = wfst.compile_text("0 1 1 5\n1\n")
    with pytest.raises(DataError, match="output label 5 is not in the table"):
        wfst.print_text(fst, output_symbols=letters)
    assert wfst.print_text(fst, output_symbols=letters, missing_symbol="?") == "0\t1\t1\t?\n1\n"


@pytest.mark.parametrize("name", ["tropical", "log", "log64"])
@pytest.mark.parametrize("kind", ["vector", "const"])
def test_files_of_the_reference_are_read_and_written_again_byte_for_byte(name: str, kind: str, tmp_path: Path) -> None:
    dice = random.Random(4)
    arc_type = {"tropical": "standard"}.get(name, name)
    for _ in range(30):
        fst = random_fst(dice, name, states=8, arcs=20, cyclic=True)
        compiler = pywrapfst.Compiler(arc_type=arc_type, keep_state_numbering=True)
        compiler.write(wfst.print_text(fst))
        theirs = compiler.compile()
        if kind == "const":
            theirs = pywrapfst.convert(theirs, "const")
        content = theirs.write_to_string()
        ours = wfst.from_bytes(content)
        assert ours.semiring.name == name
        if kind == "vector":
            assert wfst.to_bytes(ours) == content
        assert same(relation(ours, 4), relation(fst, 4), fst.semiring)
        back = pywrapfst.Fst.read_from_string(wfst.to_bytes(fst, fst_type=kind))
        assert pywrapfst.isomorphic(back, theirs)


def test_aligned_const_machines_are_mapped_and_shared_with_the_reference(tmp_path: Path) -> None:
    fst = random_fst(random.Random(1), "log64", states=50, arcs=200, cyclic=True)
    path = tmp_path / "m.fst"
    wfst.write_fst(fst, path, fst_type="const", align=True)
    ours = wfst.read_fst(path)
    assert ours.is_mapped
    assert wfst.equal(ours, fst)
    assert pywrapfst.isomorphic(pywrapfst.Fst.read(str(path)), pywrapfst.Fst.read_from_string(wfst.to_bytes(fst)))
    changed = ours.copy()
    changed.set_final(0, 9.0)
    assert ours.is_mapped
    assert not changed.is_mapped


def test_symbol_tables_travel_with_the_machine(tmp_path: Path) -> None:
    letters = wfst.SymbolTable(["<eps>", "ä", "b"], name="letters")
    fst = wfst.compile_text("0 1 ä b\n1\n", input_symbols=letters, output_symbols=letters)
    theirs = pywrapfst.Fst.read_from_string(wfst.to_bytes(fst))
    assert theirs.input_symbols().find("ä") == 1
    ours = wfst.from_bytes(theirs.write_to_string())
    assert ours.input_symbols is not None
    assert ours.input_symbols.compatible(letters)
    assert ours.input_symbols.name == "letters"
    assert wfst.to_bytes(ours) == theirs.write_to_string()
    for binary in (False, True):
        letters.write(tmp_path / "letters.sym", binary=binary)
        assert wfst.SymbolTable.read(tmp_path / "letters.sym").items() == letters.items()
    assert pywrapfst.SymbolTable.read(str(tmp_path / "letters.sym")).find(2) == "b"


def test_empty_tables_are_tables(tmp_path: Path) -> None:
    empty = wfst.SymbolTable(name="nothing")
    fst = wfst.compile_text("0 0.5\n", input_symbols=empty, output_symbols=empty)
    read = wfst.from_bytes(wfst.to_bytes(fst))
    assert isinstance(read.input_symbols, wfst.SymbolTable)
    assert read.input_symbols.name == "nothing"
    other = wfst.compile_text("0 1 1 1\n1\n", input_symbols=None)
    other.input_symbols = wfst.SymbolTable(["<eps>", "a"])
    with pytest.raises(DataError, match="input label 1 is not in the table"):
        wfst.print_text(other, input_symbols=empty)
    encoder = wfst.Encoder("tropical", labels=True, weights=True)
    assert wfst.encode(other, encoder=encoder)[1] is encoder
    assert len(encoder) == 2


@pytest.mark.parametrize("far_type", ["sttable", "stlist"])
def test_archives_are_shared_with_the_reference(far_type: str, tmp_path: Path) -> None:
    machines = {f"k{i}": random_fst(random.Random(i)) for i in range(5)}
    ours, theirs = tmp_path / "ours.far", tmp_path / "theirs.far"
    wfst.write_archive(ours, machines, far_type=far_type)
    writer = pywrapfst.FarWriter.create(str(theirs), arc_type="standard", far_type=far_type)
    for key, fst in machines.items():
        writer.add(key, pywrapfst.Fst.read_from_string(wfst.to_bytes(fst)))
    del writer
    assert ours.read_bytes() == theirs.read_bytes()
    archive = wfst.Archive(theirs)
    assert archive.far_type == far_type
    assert {key: wfst.equal(archive[key], machines[key]) for key in archive} == dict.fromkeys(machines, True)


def test_wrong_files_are_told_what_they_are(tmp_path: Path) -> None:
    cases = {b"0 1 1 1\n": "read it with read_text", b"\x1f\x8b\x08": "gzip", b"PK\x03\x04....": "first four bytes"}
    for content, words in cases.items():
        with pytest.raises(DataError, match=words):
            wfst.from_bytes(content)
    (tmp_path / "empty.fst").write_bytes(b"")
    with pytest.raises(DataError, match="empty"):
        wfst.read_fst(tmp_path / "empty.fst")


@pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_damaged_binaries_never_crash(count: int, tmp_path: Path) -> None:
    """Mutants of good files either are machines still or are refused; those that pass are used."""
    dice = random.Random(11)
    letters = wfst.SymbolTable(["<eps>", "a", "b"])
    seeds = []
    for kind, align in (("vector", False), ("const", False), ("const", True)):
        fst = random_fst(dice, dice.choice(["tropical", "log64"]), cyclic=True)
        fst.input_symbols = letters if align else None
        seeds.append(wfst.to_bytes(fst, fst_type=kind, align=align))
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
        buffer = np.frombuffer(bytes(content), dtype=np.uint8)
        try:
            machine = wfst.formats._parse(buffer, 0, "mutant", map_arrays=dice.random() < 0.5)[0]
            wfst.connect(machine).properties()
        except DataError:
            refused += 1
    assert refused > count // 4
