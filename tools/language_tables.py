"""Write native/language/tables.inc: scripts, compositions and letters without accents.

python tools/language_tables.py native/language/tables.inc

script       number of the script of a code point, 0 for those of no or of every script; two stages, blocks of 128
names        names of the scripts by number
unspaced     whether a script writes words without blanks
compose      canonical compositions (first, second, composed), sorted
plain        Latin and Greek lower-case letters and what is left of them without accents, sorted
"""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

import regex

SCRIPTS = [
    "Latin",
    "Cyrillic",
    "Greek",
    "Arabic",
    "Hebrew",
    "Han",
    "Hiragana",
    "Katakana",
    "Hangul",
    "Thai",
    "Lao",
    "Khmer",
    "Myanmar",
    "Tibetan",
    "Devanagari",
    "Bengali",
    "Gurmukhi",
    "Gujarati",
    "Oriya",
    "Tamil",
    "Telugu",
    "Kannada",
    "Malayalam",
    "Sinhala",
    "Georgian",
    "Armenian",
    "Ethiopic",
    "Thaana",
    "Syriac",
    "Cherokee",
    "Canadian_Aboriginal",
    "Mongolian",
    "Tifinagh",
    "Nko",
    "Vai",
    "Yi",
    "Bopomofo",
    "Javanese",
    "Balinese",
    "Sundanese",
    "Tai_Le",
    "New_Tai_Lue",
    "Tai_Tham",
    "Tai_Viet",
    "Cham",
    "Ol_Chiki",
    "Meetei_Mayek",
    "Chakma",
    "Adlam",
    "Lisu",
    "Osage",
    "Gothic",
    "Coptic",
    "Glagolitic",
    "Runic",
    "Ogham",
    "Bamum",
    "Buginese",
    "Limbu",
    "Lepcha",
    "Kayah_Li",
    "Samaritan",
    "Mandaic",
    "Tagalog",
    "Nyiakeng_Puachue_Hmong",
    "Pahawh_Hmong",
    "Hanifi_Rohingya",
]
UNSPACED = {"Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar", "Bopomofo", "Yi", "Tai_Tham", "Javanese",
            "Balinese", "New_Tai_Lue", "Tai_Viet", "Tai_Le"}  # fmt: skip
BLOCK, SIZE = 128, 0x110000
SPECIAL = {"ł": "l", "đ": "d", "ð": "d", "ø": "o", "ħ": "h", "ı": "i", "ŧ": "t", "ŀ": "l", "ß": "ss", "æ": "ae",
           "œ": "oe", "þ": "th", "ŋ": "n", "ə": "e"}  # fmt: skip


def rows(values: list[int], width: int = 24) -> str:
    """Numbers as the body of an array."""
    return ",\n".join(",".join(map(str, values[i : i + width])) for i in range(0, len(values), width))


def main(target: Path) -> None:
    """Write the file."""
    script = [0] * SIZE
    for number, name in enumerate(SCRIPTS, 1):
        for match in regex.finditer(
            rf"\p{{Script={name}}}+", "".join(map(chr, (*range(0xD800), *range(0xE000, SIZE))))
        ):
            for character in match[0]:
                script[ord(character)] = number
    blocks: dict[tuple[int, ...], int] = {}
    index = [blocks.setdefault(tuple(script[i : i + BLOCK]), len(blocks)) for i in range(0, SIZE, BLOCK)]
    compositions = []
    for point in range(SIZE):
        if 0xAC00 <= point < 0xD7A4:
            continue  # Hangul is composed by arithmetic
        parts = unicodedata.decomposition(chr(point)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            first, second = (int(part, 16) for part in parts)
            if unicodedata.normalize("NFC", chr(first) + chr(second)) == chr(point):
                compositions.append((first, second, point))
    plain = []
    for point in (*range(0x80, 0x250), *range(0x370, 0x400), *range(0x1E00, 0x2000)):
        letter = chr(point)
        if not letter.isalpha() or letter.lower() != letter:
            continue
        bare = SPECIAL.get(letter) or "".join(
            c for c in unicodedata.normalize("NFD", letter) if not unicodedata.combining(c)
        )
        if bare in SPECIAL:
            bare = SPECIAL[bare]
        if bare != letter and 1 <= len(bare) <= 2:
            plain.append((point, ord(bare[0]), ord(bare[1]) if len(bare) > 1 else 0))
    lines = ["// Made by tools/language_tables.py; do not edit."]
    names = ", ".join(f'"{name}"' for name in ("", *SCRIPTS))
    lines += [f"inline constexpr const char* kScriptNames[{len(SCRIPTS) + 1}] = {{{names}}};"]
    flags = ", ".join("true" if name in UNSPACED else "false" for name in ("", *SCRIPTS))
    lines += [f"inline constexpr bool kUnspaced[{len(SCRIPTS) + 1}] = {{{flags}}};"]
    lines += [f"inline constexpr std::uint16_t kScriptBlock[{len(index)}] = {{", rows(index), "};"]
    flat = [value for block in blocks for value in block]
    lines += [f"inline constexpr std::uint8_t kScript[{len(flat)}] = {{", rows(flat), "};"]
    for name, table in (("kCompose", sorted(compositions)), ("kPlain", sorted(plain))):
        lines += [f"inline constexpr char32_t {name}[{len(table)}][3] = {{"]
        lines += [",\n".join("{" + ",".join(map(str, row)) + "}" for row in table), "};"]
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
