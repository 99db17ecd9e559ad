"""Nouns of WordNet, from its own files: senses of each noun, and the senses above each sense.

`index.noun` has a line for each noun with the places of its senses in `data.noun`, the most frequent first; a line
there names the senses above it (`@` and `@i`). `noun.exc` has irregular plurals. Debian has the files in the package
wordnet-base, below /usr/share/wordnet. A noun that is not there is tried without its plural ending.

Cost: one pass over 20 MB of text, about a second. Reference: Fellbaum (1998), WordNet.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Ints
from textmill.errors import DataError

__all__ = ["WordNet"]

_ENDINGS = (
    ("ses", "s"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
    ("s", ""),
)
USUAL = Path("/usr/share/wordnet")


class WordNet:
    """The nouns of WordNet.

    Parameters:
        folder: Where `index.noun` and `data.noun` lie.

    Attributes:
        above_offsets, above: Senses above each sense.
    """

    def __init__(self, folder: str | os.PathLike[str] = USUAL) -> None:
        self.folder = Path(folder)
        places, above = self._read_senses()
        self._senses = self._read_nouns(places)
        self._irregular = self._read_exceptions()
        self.above_offsets: Ints = np.cumsum([0, *(len(row) for row in above)])
        flat = [places[place] for row in above for place in row if place in places]
        if len(flat) != int(self.above_offsets[-1]):
            raise DataError("data.noun names senses that it does not hold; get the file anew", source=str(self.folder))
        self.above: NDArray[np.int32] = np.array(flat, dtype=np.int32)

    def senses(self, noun: str) -> Sequence[int]:
        """Return the senses of a folded noun, its words with underscores between them; none if it is not known."""
        senses = self._senses.get(noun)
        if senses is None and noun in self._irregular:
            senses = self._senses.get(self._irregular[noun])
        for ending, instead in _ENDINGS if senses is None else ():
            if noun.endswith(ending) and (stem := noun.removesuffix(ending) + instead) in self._senses:
                return self._senses[stem]
        return senses or ()

    def _lines(self, name: str) -> list[str]:
        try:
            with open(self.folder / name, encoding="latin-1") as file:
                return [line for line in file if not line.startswith(" ")]
        except OSError as fault:
            raise DataError(
                f"cannot read {name}: {fault.strerror}; install Debian's wordnet-base, or pass the folder of WordNet",
                source=str(self.folder),
            ) from None

    def _read_senses(self) -> tuple[dict[str, int], list[list[str]]]:
        places: dict[str, int] = {}
        above: list[list[str]] = []
        for number, line in enumerate(self._lines("data.noun"), 1):
            fields = line.partition("|")[0].split()
            try:
                pointers = 4 + 2 * int(fields[3], 16)
                count = int(fields[pointers])
                own = [fields[pointers + 1 + 4 * k : pointers + 5 + 4 * k] for k in range(count)]
                above.append([place for kind, place, pos, _ in own if kind in ("@", "@i") and pos == "n"])
            except (IndexError, ValueError):
                raise DataError(
                    "this is no line of WordNet", source=str(self.folder / "data.noun"), line=number
                ) from None
            places[fields[0]] = len(places)
        return places, above

    def _read_nouns(self, places: dict[str, int]) -> dict[str, list[int]]:
        nouns = {}
        for line in self._lines("index.noun"):
            fields = line.split()
            count = int(fields[2])
            nouns[fields[0]] = [places[place] for place in fields[-count:] if place in places]
        return nouns

    def _read_exceptions(self) -> dict[str, str]:
        if not (self.folder / "noun.exc").exists():
            return {}
        return {parts[0]: parts[1] for line in self._lines("noun.exc") if len(parts := line.split()) > 1}
