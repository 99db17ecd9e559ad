"""Binary files of machines with composite weights: as OpenFst 1.7.9 wrote them once, and back."""

from __future__ import annotations

import random
import struct

import pytest
from reference.fst import random_fst

import textmill.fst as wfst
from textmill.errors import DataError

NAMES = [
    "left_string",
    "right_string",
    "gallic(tropical)",
    "gallic_left(tropical)",
    "gallic_min(tropical)",
    "product(tropical,log64)",
    "lexicographic(tropical,tropical)",
    "power(real,2)",
    "expectation(real,1)",
]


def file(arc_type: bytes, first: bytes, second: bytes, final: bytes, zero: bytes) -> bytes:
    """`0 1 1 1 first / 0 1 2 2 second / 1 final` as OpenFst writes it."""
    head = struct.pack("<i", 2125659606) + struct.pack("<i", 6) + b"vector"
    head += struct.pack("<i", len(arc_type)) + arc_type + struct.pack("<ii", 2, 0)
    body = zero + struct.pack("<q", 2) + struct.pack("<ii", 1, 1) + first + struct.pack("<i", 1)
    body += struct.pack("<ii", 2, 2) + second + struct.pack("<i", 1) + final + struct.pack("<q", 0)
    return head + struct.pack("<Qqqq", 3, 0, 2, 0) + body


INF = float("inf")
FILES = {
    "left_string": file(
        b"left_standard_string",
        struct.pack("<iii", 2, 5, 6),
        struct.pack("<i", 0),
        struct.pack("<i", 0),
        struct.pack("<ii", 1, -1),
    ),
    "gallic_left(tropical)": file(
        b"left_gallic_standard",
        struct.pack("<iif", 1, 7, 0.5),
        struct.pack("<if", 0, 0.0),
        struct.pack("<if", 0, 1.5),
        struct.pack("<iif", 1, -1, INF),
    ),
    "gallic(tropical)": file(
        b"gallic_standard",
        struct.pack("<iiifiiif", 2, 1, 7, 0.5, 2, 8, 9, 2.0),
        struct.pack("<iif", 1, 0, 0.0),
        struct.pack("<iif", 1, 0, 1.5),
        struct.pack("<i", 0),
    ),
    "product(tropical,log)": file(
        b"tropical_X_log",
        struct.pack("<ff", 1.5, 2.5),
        struct.pack("<ff", 0, 0),
        struct.pack("<ff", 0.5, 0.25),
        struct.pack("<ff", INF, INF),
    ),
    "lexicographic(tropical,tropical)": file(
        b"tropical_LT_tropical",
        struct.pack("<ff", 1.5, 2.5),
        struct.pack("<ff", 0, 0),
        struct.pack("<ff", 0.5, 0.25),
        struct.pack("<ff", INF, INF),
    ),
    "power(tropical,2)": file(
        b"standard_^2",
        struct.pack("<ff", 1.5, 2.5),
        struct.pack("<ff", 0, 0),
        struct.pack("<ff", 1.5, 2.5),
        struct.pack("<ff", INF, INF),
    ),
    "expectation(log64,1)": file(
        b"expectation_log64_log64",
        struct.pack("<dd", 0.5, 1.5),
        struct.pack("<dd", 0, INF),
        struct.pack("<dd", 0.25, 2.5),
        struct.pack("<dd", INF, INF),
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_the_reference_are_read_and_written_again(name: str) -> None:
    fst = wfst.from_bytes(FILES[name])
    assert fst.semiring.name == name
    assert (fst.num_states, fst.num_arcs, fst.arcs(0)[1].weight) == (2, 2, fst.semiring.one)
    assert wfst.to_bytes(fst) == FILES[name]


@pytest.mark.parametrize("name", NAMES)
def test_machines_come_back(name: str) -> None:
    dice = random.Random(1)
    for _ in range(20):
        fst = random_fst(dice, name, cyclic=True)
        letters = wfst.SymbolTable(["<eps>", "a", "b"], name="letters")
        fst.input_symbols = letters if dice.random() < 0.5 else None
        made = wfst.from_bytes(wfst.to_bytes(fst))
        assert wfst.equal(made, fst)
        assert (made.input_symbols is None) == (fst.input_symbols is None)
        assert made.input_symbols is None or made.input_symbols.items() == letters.items()


def test_semirings_without_a_name_in_the_reference_are_refused() -> None:
    with pytest.raises(DataError, match="no binary form"):
        wfst.to_bytes(wfst.accep("a", semiring_name="union(tropical)"))
    with pytest.raises(DataError, match="no binary form"):
        wfst.to_bytes(wfst.accep("a", semiring_name="left_string"), fst_type="const")


def test_damaged_files_never_crash() -> None:
    dice = random.Random(2)
    refused = 0
    for _ in range(2000):
        content = bytearray(FILES[dice.choice(list(FILES))])
        if dice.random() < 0.4:
            del content[dice.randrange(len(content)) :]
        else:
            for _ in range(dice.randint(1, 4)):
                content[dice.randrange(len(content))] = dice.randrange(256)
        try:
            wfst.from_bytes(bytes(content))
        except DataError:
            refused += 1
    assert refused > 600
