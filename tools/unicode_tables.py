"""Write native/corpus/unicode_tables.inc from the Unicode Character Database.

    apt-get install unicode-data
    python tools/unicode_tables.py /usr/share/unicode native/corpus/unicode_tables.inc

Two tables with two stages each (blocks of 128 code points, equal blocks stored once):

    properties   16 bits a code point: word-break class, sentence-break class and four flags
    fold         16 bits a code point: 0 = folds to itself, else an index into `fold_targets`, rows of at most three
                 code points (full case folding, statuses C and F)
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

BLOCK = 128
SIZE = 0x110000

# The order is that of the enumerations in native/corpus/unicode.h.
WORD = [
    "Other",
    "CR",
    "LF",
    "Newline",
    "Extend",
    "ZWJ",
    "Format",
    "Regional_Indicator",
    "Katakana",
    "Hebrew_Letter",
    "ALetter",
    "Single_Quote",
    "Double_Quote",
    "MidNumLet",
    "MidLetter",
    "MidNum",
    "Numeric",
    "ExtendNumLet",
    "WSegSpace",
]
SENTENCE = [
    "Other",
    "CR",
    "LF",
    "Sep",
    "Extend",
    "Format",
    "Sp",
    "Lower",
    "Upper",
    "OLetter",
    "Numeric",
    "ATerm",
    "SContinue",
    "STerm",
    "Close",
]
PICTOGRAPHIC, LETTER, NUMBER, SYMBOL = 1 << 9, 1 << 10, 1 << 11, 1 << 12


def ranges(path: Path, field: int = 1) -> Iterator[tuple[int, int, str]]:
    """(first, last, value) of each line of a property file."""
    for line in path.read_text(encoding="utf-8").splitlines():
        line = line.split("#")[0].strip()
        if line:
            parts = [part.strip() for part in line.split(";")]
            first, _, last = parts[0].partition("..")
            yield int(first, 16), int(last or first, 16), parts[field]


def properties(ucd: Path) -> list[int]:
    """The packed properties of every code point."""
    table = [0] * SIZE
    for first, last, name in ranges(ucd / "auxiliary/WordBreakProperty.txt"):
        for point in range(first, last + 1):
            table[point] |= WORD.index(name)
    for first, last, name in ranges(ucd / "auxiliary/SentenceBreakProperty.txt"):
        for point in range(first, last + 1):
            table[point] |= SENTENCE.index(name) << 5
    flags = [
        ("emoji/emoji-data.txt", r"Extended_Pictographic", PICTOGRAPHIC),
        ("DerivedCoreProperties.txt", r"Alphabetic", LETTER),
        ("extracted/DerivedGeneralCategory.txt", r"N[dlo]", NUMBER),
        ("extracted/DerivedGeneralCategory.txt", r"S[mcko]", SYMBOL),
    ]
    for file, pattern, flag in flags:
        for first, last, name in ranges(ucd / file):
            if re.fullmatch(pattern, name):
                for point in range(first, last + 1):
                    table[point] |= flag
    return table


def folding(ucd: Path) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Index of every code point into the rows of fold targets, and the rows; row 0 is not used."""
    table, targets = [0] * SIZE, [(0, 0, 0)]
    rows: dict[tuple[int, int, int], int] = {}
    for line in (ucd / "CaseFolding.txt").read_text(encoding="utf-8").splitlines():
        parts = [part.strip() for part in line.split("#")[0].split(";")]
        if len(parts) >= 3 and parts[1] in ("C", "F"):
            points = [int(point, 16) for point in parts[2].split()]
            row = ([*points, 0, 0])[:3]
            key = (row[0], row[1], row[2])
            if key not in rows:
                rows[key] = len(targets)
                targets.append(key)
            table[int(parts[0], 16)] = rows[key]
    return table, targets


def two_stages(table: list[int]) -> tuple[list[int], list[int]]:
    """Block numbers, and the distinct blocks one after the other."""
    known: dict[tuple[int, ...], int] = {}
    stage1: list[int] = []
    stage2: list[int] = []
    for start in range(0, SIZE, BLOCK):
        block = tuple(table[start : start + BLOCK])
        if block not in known:
            known[block] = len(known)
            stage2.extend(block)
        stage1.append(known[block])
    return stage1, stage2


def array(kind: str, name: str, values: list[int]) -> str:
    """A C++ array definition, twenty-four values a line."""
    lines = [",".join(str(value) for value in values[i : i + 24]) for i in range(0, len(values), 24)]
    return f"inline constexpr {kind} {name}[{len(values)}] = {{\n" + ",\n".join(lines) + "};\n"


def main(ucd: Path, output: Path) -> None:
    """Generate the file."""
    version = re.search(
        r"WordBreakProperty-([\d.]+)\.txt", (ucd / "auxiliary/WordBreakProperty.txt").read_text("utf-8")
    )
    assert version is not None
    fold, targets = folding(ucd)
    blocks, values = two_stages(properties(ucd))
    fold_blocks, fold_values = two_stages(fold)
    output.write_text(
        "// Made by tools/unicode_tables.py; do not edit.\n"
        f'inline constexpr char kUnicodeVersion[] = "{version[1]}";\n'
        + array("std::uint16_t", "kPropertyBlock", blocks)
        + array("std::uint16_t", "kProperty", values)
        + array("std::uint16_t", "kFoldBlock", fold_blocks)
        + array("std::uint16_t", "kFoldRow", fold_values)
        + array("char32_t", "kFoldTarget", [point for row in targets for point in row]),
        encoding="utf-8",
    )
    print(
        f"Unicode {version[1]}: {len(values) // BLOCK} + {len(fold_values) // BLOCK} blocks, {len(targets) - 1} folds"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
