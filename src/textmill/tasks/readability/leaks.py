"""What gives levels away without being any measure of difficulty.

    characters   a character, or a kind of them, that most texts of every level but one have, and hardly any of that
                 one; or the other way round
    beginnings   a first word that most texts of a level share, and hardly any other text has
    versions     texts of different levels that share long stretches of words, but not a group
    hold-out     perplexities by which the own level looks worst in nearly every text: other versions of the text were
                 in the models of the other levels

"Most" is half of the texts, "hardly any" one in twenty; a level of fewer than five texts says nothing. Of characters,
only those are looked at that `reduce_text` takes out: how often a text has a comma is up to its author. Versions are
texts that share at least 2 % of the runs of eight words of the shorter one, and five of them. Cost: linear in the words
of the texts.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from textmill.arrays import Floats
from textmill.corpus import Tokenizer
from textmill.tables import Rows
from textmill.tasks.readability.features import FeatureTable
from textmill.tasks.readability.graded import reduce_text

__all__ = ["Leak", "LeakWarning", "find_leaks", "find_versions", "hold_out_leak"]

_MOST, _HARDLY = 0.5, 0.05
_RUN, _SHARED, _FEWEST = 8, 0.02, 5
_WORST = 0.9
_FEW = 5  # texts of a level
_QUOTES = frozenset("\"'`\u2018\u2019\u201c\u201d\u00ab\u00bb")


class LeakWarning(UserWarning):
    """Something gives the levels of texts away."""


class Leak(NamedTuple):
    """What gives a level away: its kind, the level, share of its texts and of all others that have it, and a remedy."""

    kind: str
    what: str
    level: str
    share: float
    others: float
    remedy: str

    def __str__(self) -> str:
        return (
            f"{self.kind}: {self.what} in {100 * self.share:.0f} % of the texts of {self.level}, "
            f"{100 * self.others:.0f} % of others; {self.remedy}"
        )


def find_leaks(texts: Sequence[str], levels: Sequence[str], groups: Sequence[Hashable] | None = None) -> Rows[Leak]:
    """Return what gives levels away in texts as they are.

    >>> texts = [text for i in range(5) for text in (f"{i}: it’s a mill.", f"{i}: its old.", f"{i}: it’s very old.")]
    >>> find_leaks(texts, ["low", "mid", "high"] * 5)[0].level
    'mid'
    """
    names = list(dict.fromkeys(levels))
    own = np.array([names.index(level) for level in levels])
    leaks = _characters(texts, own, names) + _beginnings(texts, own, names)
    shared = find_versions(texts)
    key = list(range(len(texts))) if groups is None else list(groups)
    apart = [(a, b) for a, b in shared if key[a] != key[b]]
    across = [pair for pair in apart if levels[pair[0]] != levels[pair[1]]]
    if across:
        a, b = across[0]
        count = len({text for pair in across for text in pair}) / len(texts)
        leaks.append(
            Leak(
                "versions",
                f"stretches of words shared with a text of another level and group (texts {a + 1} and {b + 1})",
                "all levels",
                count,
                0.0,
                "give versions of an article the same group",
            )
        )
    return Rows(leaks, Leak)


def _characters(texts: Sequence[str], own: Floats, names: list[str]) -> list[Leak]:
    kinds: dict[str, Callable[[str], bool]] = {
        "characters that are not ASCII": lambda c: ord(c) > 127,
        "control characters": lambda c: unicodedata.category(c) == "Cc" and c not in "\n\r\t",
        "quotes": lambda c: c in _QUOTES,
    }
    sets = [set(text) for text in texts]
    plain = frozenset(reduce_text("".join(map(chr, range(33, 127)))))
    marks = sorted({c for own_set in sets for c in own_set if not c.isalnum() and not c.isspace()} - plain)
    present = {kind: [any(map(test, one)) for one in sets] for kind, test in kinds.items()}
    present |= {f"the character {mark!r}": [mark in one for one in sets] for mark in marks}
    remedy = "reduce all texts alike (reduce_text, --reduce)"
    return [leak for what, flags in present.items() for leak in _level_apart(what, np.array(flags), own, names, remedy)]


def _beginnings(texts: Sequence[str], own: Floats, names: list[str]) -> list[Leak]:
    first = [text.split(maxsplit=1)[0] if text.split() else "" for text in texts]
    leaks = []
    for number, name in enumerate(names):
        mine = [word for word, level in zip(first, own, strict=True) if level == number]
        word = max(set(mine), key=lambda one: (mine.count(one), one))
        flags = np.array([one == word for one in first])
        shared_words = _level_apart(
            f"the first word {word!r}", flags, own, names, "take headers out of all texts", "beginnings"
        )
        leaks += [leak for leak in shared_words if leak.level == name and leak.share > leak.others]
    return leaks


def _level_apart(
    what: str, flags: Floats, own: Floats, names: list[str], remedy: str, kind: str = "characters"
) -> list[Leak]:
    """The level that a flag tells from all others, if there is one."""
    if len(names) < 2 or min(np.bincount(own, minlength=len(names))) < _FEW:
        return []
    shares = np.array([flags[own == number].mean() for number in range(len(names))])
    leaks = []
    for number, name in enumerate(names):
        rest = np.delete(shares, number)
        lacks = shares[number] <= _HARDLY and rest.min() >= _MOST
        has = shares[number] >= _MOST and rest.max() <= _HARDLY
        if lacks or has:
            others = float(flags[own != number].mean())
            leaks.append(Leak(kind, what, name, float(shares[number]), others, remedy))
    return leaks[:1] if len(names) == 2 else leaks


def find_versions(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Return pairs of texts that share long stretches of words, as pairs of numbers.

    >>> story = "The old mill by the river turns its great wheel all day long while the miller sleeps in his chair"
    >>> find_versions([story, f"{story} and the cat looks on", "Another text about the sea and the wind and the sky"])
    [(0, 1)]
    """
    owners: dict[int, list[int]] = defaultdict(list)
    runs = []
    for number, words in enumerate(Tokenizer().tokenize(texts)):
        own = {hash(tuple(words[i : i + _RUN])) for i in range(max(0, len(words) - _RUN + 1))}
        runs.append(len(own))
        for run in own:
            owners[run].append(number)
    shared: dict[tuple[int, int], int] = defaultdict(int)
    for members in owners.values():
        if 1 < len(members) <= 50:  # a run of very many texts is a phrase of the publisher
            for pair in combinations(members, 2):
                shared[pair] += 1
    return sorted(
        pair for pair, n in shared.items() if n >= _FEWEST and n >= _SHARED * min(runs[pair[0]], runs[pair[1]])
    )


def hold_out_leak(perplexities: FeatureTable, levels: Sequence[str], order: Sequence[str]) -> Leak | None:
    """Return the leak of perplexities in which the own level looks worst nearly every time; None if it does not."""
    own = np.array([list(order).index(level) for level in levels])
    shares = []
    families = {name.rsplit(".", 2)[0] for name in perplexities.names if name.startswith("lm.")}
    for family in sorted(families):
        orders = {name.rsplit(".", 1)[1] for name in perplexities.names if name.startswith(f"{family}.")}
        for n in orders - {"1"}:
            table = perplexities.choose([f"{family}.{level}.{n}" for level in order]).values
            if not np.isnan(table).any():
                shares.append(float((table.argmax(axis=1) == own).mean()))
    if not shares or max(shares) < _WORST or len(order) < 2:
        return None
    return Leak(
        "hold-out",
        "the model of the own level is the worst",
        "all levels",
        max(shares),
        1.0 / len(order),
        "take all versions of a text out of all models: pass the article as group",
    )
