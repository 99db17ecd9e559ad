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
    fst.input_symbols = fst.output_symbols = wfst.SymbolTable()
    empty = wfst.from_bytes(wfst.to_bytes(fst)).input_symbols
    assert isinstance(empty, wfst.SymbolTable)
    assert len(empty) == 0


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


def test_one_machine_of_an_archive_is_found_without_the_others(tmp_path: Path) -> None:
    """Damage elsewhere is not seen: an sttable is bisected, an stlist stepped through up to its key."""
    machines = {f"k{i:03}": random_fst(random.Random(i)) for i in range(100)}
    for far_type in ("sttable", "stlist"):
        path = tmp_path / f"{far_type}.far"
        wfst.write_archive(path, machines, far_type=far_type)
        content = bytearray(path.read_bytes())
        for i in (3, 90):  # the magic number of two machines
            at = content.index(f"k{i:03}".encode()) + 4
            content[at : at + 4] = b"...."
        path.write_bytes(content)
        archive = wfst.Archive(path)
        near = "k002" if far_type == "stlist" else "k050"
        assert wfst.equal(archive[near], machines[near])
        assert near in archive
        for _ in range(2):  # asked again it says the same
            with pytest.raises(DataError, match=r"machine 'k003': not a binary machine"):
                archive["k003"]
    wfst.write_archive(tmp_path / "good.far", machines)
    good = wfst.Archive(tmp_path / "good.far")
    assert len(good) == 100
    assert "k1" not in good
    assert 5 not in good
    with pytest.raises(KeyError):
        good["k1"]


@pytest.mark.parametrize("count", [300, pytest.param(5_000, marks=pytest.mark.slow)])
def test_damaged_archives_never_crash(count: int, tmp_path: Path) -> None:
    dice = random.Random(12)
    machines = {f"k{i}": random_fst(random.Random(i), cyclic=True) for i in range(4)}
    seeds = []
    for far_type in ("sttable", "stlist"):
        wfst.write_archive(tmp_path / "m.far", machines, far_type=far_type)
        seeds.append((tmp_path / "m.far").read_bytes())
    refused = 0
    for _ in range(count):
        content = bytearray(dice.choice(seeds))
        if dice.random() < 0.3:
            del content[dice.randrange(len(content)) :]
        for _ in range(dice.randint(0, 3)):
            at = dice.randrange(max(1, len(content) - 8))
            content[at : at + 8] = struct.pack("<q", dice.choice([-1, 1 << 31, 1 << 62, 0, 7]))
        (tmp_path / "m.far").write_bytes(content)
        try:
            for fst in wfst.Archive(tmp_path / "m.far").values():
                wfst.connect(fst)
        except DataError:
            refused += 1
    assert refused > count // 4


def test_keys_of_archives_out_of_order_are_refused(tmp_path: Path) -> None:
    wfst.write_archive(tmp_path / "m.far", {"a": wfst.accep("a"), "b": wfst.accep("b")})
    content = (tmp_path / "m.far").read_bytes().replace(b"\x01\0\0\0a", b"\x01\0\0\0z")
    (tmp_path / "m.far").write_bytes(content)
    with pytest.raises(DataError, match="key 2 of the archive is not behind"):
        list(wfst.Archive(tmp_path / "m.far"))


def test_aligned_machines_of_archives_are_aligned_to_the_file(tmp_path: Path) -> None:
    """Padding counts from the first byte of the archive, not of the machine."""
    fst = random_fst(random.Random(1), "log64", states=50, arcs=200, cyclic=True)
    opening = struct.pack("<iii", 5656924, 1, 5) + b"first"
    alone = wfst.to_bytes(fst, fst_type="const", align=True)
    size = 4 + 4 + len("const") + 4 + len("log64") + 4 + 4 + 4 * 8  # of its header
    body = size + -size % 16
    header, states, arcs = alone[:size], alone[body : body + 50 * 24], alone[body + 50 * 24 :]
    assert len(opening) % 16 != 0
    content = opening + header
    content += b"\0" * (-len(content) % 16) + states
    content += b"\0" * (-len(content) % 16) + arcs
    (tmp_path / "m.far").write_bytes(content + struct.pack("<i", 0))
    archive = wfst.Archive(tmp_path / "m.far")
    assert list(archive) == ["first"]
    assert archive["first"].is_mapped
    assert wfst.equal(archive["first"], fst)


@pytest.mark.parametrize("name", ["tropical", "log64", "boolean", "signed_log"])
def test_files_are_written_in_chunks_with_the_same_bytes(name: str, tmp_path: Path) -> None:
    fst = many_arcs(2, name, 100_000)
    for fst_type, align in (("vector", False), ("const", False), ("const", True)):
        whole = wfst.to_bytes(fst, fst_type=fst_type, align=align)
        chunks: list[bytes] = []
        assert wfst.formats._write(fst, chunks.append, fst_type, align) == len(whole)
        assert b"".join(chunks) == whole
        assert len(chunks) > 1
        assert max(map(len, chunks)) < 3 << 20
        assert wfst.equal(wfst.from_bytes(whole), fst)
    wfst.write_text(fst, tmp_path / "m.txt")
    assert (tmp_path / "m.txt").read_text() == wfst.print_text(fst)
    assert wfst.equal(wfst.read_text(tmp_path / "m.txt", semiring_name=name, keep_state_numbering=True), fst)


def many_arcs(seed: int, name: str, arcs: int) -> wfst.Fst:
    """2000 states, two of which have a third of the arcs each."""
    dice = np.random.default_rng(seed)
    sources = dice.choice(np.array([0, 7, -1]), arcs)
    sources[sources < 0] = dice.integers(0, 2000, int((sources < 0).sum()))
    labels = dice.integers(0, 10, (2, arcs))
    return wfst.Fst.from_arrays(
        name,
        start=3,
        sources=sources,
        ilabels=labels[0],
        olabels=labels[1],
        nextstates=dice.integers(0, 2000, arcs),
        final_states=[0, 1999],
        states=2000,
    )


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "m.fst"
    wfst.write_fst(wfst.accep("old"), path)
    fst = wfst.compile_text("0 1 1 5\n1\n")
    with pytest.raises(DataError, match="not 'compact'"):
        wfst.write_fst(fst, path, fst_type="compact")
    with pytest.raises(DataError, match="output label 5"):
        wfst.write_text(fst, path, output_symbols=wfst.SymbolTable(["<eps>"]))

    def full(chunk: bytes) -> None:
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        wfst.formats._write(fst, full)
    assert wfst.equal(wfst.read_fst(path), wfst.accep("old"))
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.fst"]


def test_lines_of_text_may_come_in_any_order() -> None:
    dice = random.Random(8)
    for _ in range(50):
        fst = random_fst(dice, states=8, arcs=30, cyclic=True)
        first, *lines = wfst.print_text(fst).splitlines(keepends=True)
        dice.shuffle(lines)
        shuffled = wfst.compile_text("".join([first, *lines]), keep_state_numbering=True)
        assert same(relation(shuffled, 4), relation(fst, 4), fst.semiring)
        theirs = pywrapfst.Compiler(keep_state_numbering=True)
        theirs.write("".join([first, *lines]))
        assert wfst.to_bytes(shuffled)[66:] == theirs.compile().write_to_string()[66:]


def test_numbers_of_states_may_be_as_large_as_they_are_written() -> None:
    fst = wfst.compile_text("9223372036854775807 999999999999999999 1 1\n999999999999999999\n")
    assert (fst.num_states, fst.start) == (2, 0)
    with pytest.raises(DataError, match="text:1:field 1: state '9223372036854775808'"):
        wfst.compile_text("9223372036854775808 1 1 1\n")


def test_a_machine_takes_no_more_than_its_records(tmp_path: Path) -> None:
    """20 bytes per state, 16 per arc, whatever it was read from; in an archive too, where more follows."""
    fst = wfst.arcsort(many_arcs(3, "tropical", 20_000))
    least = 20 * fst.num_states + 16 * fst.num_arcs
    wfst.write_fst(fst, tmp_path / "m.fst")
    wfst.write_archive(tmp_path / "m.far", {"a": fst, "b": fst})
    for read in (
        wfst.from_bytes(wfst.to_bytes(fst)),
        wfst.from_bytes(wfst.to_bytes(fst, fst_type="const")),
        wfst.read_fst(tmp_path / "m.fst"),
        wfst.Archive(tmp_path / "m.far")["a"],
        wfst.compile_text(wfst.print_text(fst)),
    ):
        assert least <= read.nbytes <= 1.02 * least


def test_mapped_machines_are_checked_before_they_are_followed(tmp_path: Path) -> None:
    """Every record, whichever block of the check it falls into."""
    fst = many_arcs(4, "tropical", 150_000)
    path = tmp_path / "m.fst"
    wfst.write_fst(fst, path, fst_type="const", align=True)
    content = path.read_bytes()
    arcs = len(content) - 16 * fst.num_arcs
    for arc in (0, 70_000, fst.num_arcs - 1):
        at = arcs + 16 * arc + 12
        path.write_bytes(content[:at] + struct.pack("<i", fst.num_states) + content[at + 4 :])
        damaged = wfst.read_fst(path)
        with pytest.raises(DataError, match=f"an arc to state {fst.num_states} of"):
            damaged.arcs(0)
    for state in (0, 1000, fst.num_states - 1):
        at = arcs - 20 * (fst.num_states - state) + 4
        path.write_bytes(content[:at] + struct.pack("<I", 0xFFFFFFFF) + content[at + 4 :])
        with pytest.raises(DataError, match="damaged"):
            wfst.read_fst(path).arcs(0)


def test_wrong_files_are_told_what_they_are(tmp_path: Path) -> None:
    cases = {b"0 1 1 1\n": "read it with read_text", b"\x1f\x8b\x08": "gzip", b"PK\x03\x04....": "zip archive"}
    cases[b"\x00\x01\x02\x03...."] = "unknown or damaged file"
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
