"""Codes of labels and weights: files of OpenFst, tables of symbols, damaged files."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import pytest
from reference.fst import random_fst

from textmill import fst as wfst
from textmill.errors import DataError

NAMES = ["tropical", "tropical64", "log", "log64", "real", "boolean", "minmax", "signed_log", "product(tropical,log64)"]


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("labels", "weights"), [(True, False), (False, True), (True, True)])
def test_codes_survive_their_file(name: str, labels: bool, weights: bool) -> None:
    for seed in range(10):
        machine = random_fst(random.Random(seed), name, cyclic=True)
        coded, encoder = wfst.encode(machine, labels=labels, weights=weights)
        encoder.write("codes")
        again = wfst.Encoder.read("codes")
        assert (again.labels, again.weights, again.codes()) == (labels, weights, encoder.codes())
        content = Path("codes").read_bytes()
        again.write("codes")
        assert Path("codes").read_bytes() == content
        assert wfst.equal(wfst.decode(coded, again), wfst.decode(coded, encoder))


def test_final_weights_have_codes_of_their_own() -> None:
    machine = wfst.compile_text("0 1 1 1 2\n0 0 0 0 3\n0 3\n1\n")
    _, encoder = wfst.encode(machine, weights=True)
    assert encoder.codes() == [(1, 0, 2.0), (0, 0, 3.0), (-1, -1, 3.0), (-1, -1, 0.0)]


def test_the_file_is_that_of_the_peer() -> None:
    library = pytest.importorskip("pywrapfst")
    machine = wfst.compile_text("0 1 1 4 .5\n0 2 2 5 1.5\n1 2 3 6 2.5\n2 3.5\n1 1\n")
    machine.input_symbols = wfst.SymbolTable(["<eps>", "a", "b", "c"], name="in")
    wfst.write_fst(machine, "m.fst")
    theirs = library.VectorFst.read("m.fst")
    mapper = library.EncodeMapper(encode_labels=True, encode_weights=True)
    theirs.encode(mapper)
    mapper.write("theirs")
    coded, encoder = wfst.encode(machine, labels=True, weights=True)
    encoder.write("ours")
    assert Path("ours").read_bytes() == Path("theirs").read_bytes()
    assert wfst.equal(coded, wfst.from_bytes(theirs.write_to_string()))


def test_decoding_gives_the_tables_of_symbols_back() -> None:
    machine = wfst.compile_text("0 1 1 1\n1\n")
    machine.input_symbols = machine.output_symbols = wfst.SymbolTable(["<eps>", "a"], name="letters")
    coded, encoder = wfst.encode(machine, labels=True)
    assert coded.input_symbols is None
    encoder.write("codes")
    decoded = wfst.decode(coded, wfst.Encoder.read("codes"))
    assert decoded.input_symbols is not None
    assert decoded.input_symbols.name == "letters"
    assert decoded.output_symbols is not None
    assert decoded.output_symbols.items() == [(0, "<eps>"), (1, "a")]


def test_damaged_files_are_refused() -> None:
    machine = wfst.compile_text("0 1 1 4 .5\n0 2 2 5 1.5\n1 2 3 6 2.5\n2 3.5\n")
    machine.input_symbols = wfst.SymbolTable(["<eps>", "a", "b", "c"])
    wfst.encode(machine, labels=True, weights=True)[1].write("codes")
    content, dice = Path("codes").read_bytes(), random.Random(1)
    for size in range(len(content)):
        Path("cut").write_bytes(content[:size])
        with pytest.raises(DataError, match="cut: not a table of codes"):
            wfst.Encoder.read("cut")
    for _ in range(500):
        mutant = bytearray(content)
        for _ in range(dice.randint(1, 4)):
            mutant[dice.randrange(len(mutant))] = dice.randrange(256)
        Path("mutant").write_bytes(bytes(mutant))
        with contextlib.suppress(DataError):
            codes = wfst.Encoder.read("mutant").codes()
            assert all(min(ilabel, olabel) >= 0 or ilabel == olabel == -1 for ilabel, olabel, _ in codes)
    Path("text").write_text("no codes")
    with pytest.raises(DataError, match="text: not a table of codes"):
        wfst.Encoder.read("text")
