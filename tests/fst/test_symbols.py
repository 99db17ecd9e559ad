"""Symbol tables: checksums and separators as the reference has them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import textmill.fst as wfst
from textmill.errors import DataError

pywrapfst = pytest.importorskip("pywrapfst")


def test_checksums_are_those_of_the_reference() -> None:
    dice = random.Random(1)
    for _ in range(100):
        table, theirs = wfst.SymbolTable(["<eps>"]), pywrapfst.SymbolTable()
        theirs.add_symbol("<eps>", 0)
        for i in range(dice.randint(0, 40)):
            symbol = f"é{i}" * dice.randint(1, 4)
            key = table.available_key + dice.choice([0, 0, 0, 3])
            table.add(symbol, key)
            theirs.add_symbol(symbol, key)
        assert table.checksum() == theirs.checksum()
        assert table.labeled_checksum() == theirs.labeled_checksum()


def test_checksums_tell_tables_apart() -> None:
    a, b, c = (wfst.SymbolTable(["<eps>"]) for _ in range(3))
    for table, pairs in ((a, [("x", 1), ("y", 2)]), (b, [("y", 2), ("x", 1)]), (c, [("x", 2), ("y", 5)])):
        for symbol, key in pairs:
            table.add(symbol, key)
    assert a.compatible(b)
    assert a.labeled_checksum() == b.labeled_checksum() != c.labeled_checksum()
    assert a.checksum() == c.checksum() != b.checksum()
    assert wfst.SymbolTable().checksum() == bytes(32)


def test_any_separator_can_be_used(tmp_path: Path) -> None:
    path = tmp_path / "t.sym"
    table = wfst.SymbolTable(["<eps>", "new york", "b"])
    table.write(path, separator=";")
    assert path.read_text() == "<eps>;0\nnew york;1\nb;2\n"
    assert wfst.SymbolTable.read(path, separator=";").items() == table.items()
    path.write_text("<eps>,0\na ;1\n\n")
    assert wfst.SymbolTable.read(path, separator=",;").symbol(1) == "a "
    path.write_text("<eps>,0\na,b,1\n")
    with pytest.raises(DataError, match="2: 'a,b,1'"):
        wfst.SymbolTable.read(path, separator=",")
    path.write_text("a,1\na,2\n")
    with pytest.raises(DataError, match="2: symbol 'a' has key 1 already"):
        wfst.SymbolTable.read(path, separator=",")


def test_sparse_keys_are_kept_merged_and_compacted() -> None:
    table = wfst.SymbolTable(["<eps>", "a"])
    table.add("far", 10**12)
    assert table.symbol(10**12) == "far"
    table.remove(1)
    assert table.add("a") == 10**12 + 1
    assert [key for key, _ in table.compacted().items()] == [0, 1, 2]
    other = wfst.SymbolTable(["<eps>", "b", "far"])
    merged = table.merged(other)
    assert merged.key("far") == 10**12
    assert merged.symbol(merged.key("b")) == "b"
    with pytest.raises(DataError, match="has key"):
        table.add("far", 3)
