"""Kanji from readings on the surnames of JMnedict, as jamdict-data of PyPI brings them.

What EM finds, and what its last step drops. Pairs are cut into training and test by a hash; the best name of a test
reading is right if the dictionary has it with that reading. A reading of a kanji in the dictionary (KANJIDIC) counts
where the surnames show it: at least twice in names that the dictionary's readings cut in one way only.
"""

from __future__ import annotations

import importlib.util
import re
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from textmill.tasks.transcription import KanjiRestorer, romanize, syllabify

_COMMON = 500  # kanji
_SEEN = 2  # names that show a reading


def table() -> list[str]:
    """Lines of the table, or the one that says what is missing."""
    spec = importlib.util.find_spec("jamdict_data")
    if spec is None or spec.origin is None:
        return ["kanji: not measured, since jamdict-data is not installed"]
    database = sqlite3.connect(f"file:{Path(spec.origin).with_name('jamdict.db')}?mode=ro", uri=True)
    names: dict[str, set[str]] = {}
    for kanji, kana in _surnames(database):
        reading = romanize(kana)
        if reading and re.fullmatch(r"[\u4e00-\u9fff々]{1,4}", kanji):
            names.setdefault(reading, set()).add(kanji)
    pairs = [(reading, kanji) for reading in sorted(names) for kanji in sorted(names[reading])]
    train = [pair for pair in pairs if zlib.crc32("".join(pair).encode()) % 10]
    test = sorted({reading for reading, _ in set(pairs) - set(train)})
    readings, kanji = zip(*train, strict=True)
    dictionary = _dictionary(database)
    shown = _shown(train, dictionary)
    common = {c for c, _ in Counter(c for _, name in train for c in name).most_common(_COMMON)}
    asked = [(c, reading) for (c, reading), n in shown.items() if n >= _SEEN and c in common]
    lines = [
        f"{len(train)} pairs to train on, {len(test)} test readings; "
        f"{len(asked)} readings of the {_COMMON} most common kanji",
        "",
        "| source | channel | ACC | readings in the channel | of the dictionary's readings found |",
        "|---|---|---|---|---|",
    ]
    for order, method in ((3, "em"), (3, "em+viterbi"), (1, "em+viterbi")):
        model = KanjiRestorer(order=order, method=method).fit(readings, kanji)
        best = model.predict(test)
        right = sum(name in names[reading] for name, reading in zip(best, test, strict=True)) / len(test)
        kept = {(link[0][0], "".join(link[1])) for link in model.channel_.links_}
        found = sum(pair in kept for pair in asked) / len(asked)
        lines.append(f"| {order}-grams | {method} | {right:.3f} | {len(model.channel_.links_)} | {100 * found:.1f} % |")
    return lines


def _surnames(database: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Names in kanji and kana; the tables have no index, so they are joined here."""
    kinds = {tid for (tid,) in database.execute("select tid from NETransType where text = 'surname'")}
    entries = {entry for tid, entry in database.execute("select ID, idseq from NETranslation") if tid in kinds}
    written: dict[int, list[str]] = {}
    for entry, text in database.execute("select idseq, text from NEKanji"):
        if entry in entries:
            written.setdefault(entry, []).append(text)
    for entry, kana in database.execute("select idseq, text from NEKana"):
        for kanji in written.get(entry, ()):
            yield kanji, kana


def _dictionary(database: sqlite3.Connection) -> dict[str, set[str]]:
    """Readings of kanji, in syllables put together as `KanjiRestorer` does."""
    readings: dict[str, set[str]] = {}
    character = dict(database.execute("select ID, literal from character"))
    group = dict(database.execute("select ID, cid from rm_group"))
    for gid, value in database.execute("select gid, value from reading where r_type in ('ja_on', 'ja_kun')"):
        syllables = syllabify(romanize(value.strip("-").split(".")[0]) or "")
        if syllables:
            readings.setdefault(character[group[gid]], set()).add("".join(syllables))
    return readings


def _shown(train: list[tuple[str, str]], dictionary: dict[str, set[str]]) -> Counter[tuple[str, str]]:
    """How often names that the dictionary's readings cut in one way show each reading."""
    counts: Counter[tuple[str, str]] = Counter()
    for reading, name in train:
        syllables = syllabify(reading)
        if syllables is None:
            continue

        def cuts(at: int, place: int, syllables: list[str] = syllables, name: str = name) -> list[list[str]]:
            if place == len(name):
                return [[]] if at == len(syllables) else []
            return [
                ["".join(syllables[at:end]), *rest]
                for end in range(at + 1, len(syllables) + 1)
                if "".join(syllables[at:end]) in dictionary.get(name[place], ())
                for rest in cuts(end, place + 1)
            ]

        ways = cuts(0, 0)
        if len(ways) == 1:
            counts.update(zip(name, ways[0], strict=True))
    return counts
