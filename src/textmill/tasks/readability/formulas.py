"""Classic readability formulas, from one pass over a text.

    Flesch-Kincaid       0.39 W/S + 11.8 Y/W - 15.59                 W words       S sentences    Y syllables
    Flesch reading ease  206.835 - 1.015 W/S - 84.6 Y/W              P words of 3 syllables or more
    Gunning FOG          0.4 (W/S + 100 P/W)                         C letters and digits
    SMOG                 1.0430 sqrt(30 P/S) + 3.1291                D words that are not familiar, U different ones
    Dale-Chall           0.1579 (100 D/W) + 0.0496 W/S, and 3.6365 more if 100 D/W > 5
    Coleman-Liau         0.0588 (100 C/W) - 0.296 (100 S/W) - 15.8   L words of 7 letters or more
    ARI                  4.71 C/W + 0.5 W/S - 21.43
    Spache               0.121 W/S + 0.082 (100 U/W) + 0.659
    Linsear Write        r = (W + 2 P) / S;  r/2 if r > 20, else (r - 2)/2
    LIX                  W/S + 100 L/W
    RIX                  L/S

All give a school grade but reading ease (100 easy, 0 hard), LIX and RIX. Linsear Write is over the whole text in place
of a sample of 100 words, Spache by the same familiar words as Dale-Chall. A text without words has no score (NaN).

Cost: one look-up for each word; a word seen before in the same batch is not looked at again. References: Flesch (1948);
Kincaid et al. (1975); Gunning (1952); McLaughlin (1969); Dale & Chall (1948); Coleman & Liau (1975); Senter & Smith
(1967); Spache (1953); O'Hayre (1966); Bjornsson (1968); Anderson (1983).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill.arrays import Floats, Ints
from textmill.corpus import texts_of
from textmill.model import effective_jobs
from textmill.tables import Table
from textmill.tasks.readability.lines import unwrap_lines
from textmill.tasks.readability.resources import LanguageResources

__all__ = ["FORMULAS", "TextCounts", "count_texts"]

FORMULAS = (
    "flesch_kincaid",
    "reading_ease",
    "fog",
    "smog",
    "dale_chall",
    "coleman_liau",
    "ari",
    "spache",
    "linsear_write",
    "lix",
    "rix",
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TextCounts(Table):
    """Counts of texts, one entry each; they add, and formulas follow from them.

    >>> counts = TextCounts(*map(np.array, ([100], [5], [150], [12], [450], [20], [18], [25])))
    >>> round(float(counts.formula("flesch_kincaid")[0]), 3), round(float(counts.formula("smog")[0]), 6)
    (9.91, 11.979248)
    """

    words: Ints
    sentences: Ints
    syllables: Ints
    polysyllables: Ints
    letters: Ints
    difficult: Ints
    difficult_types: Ints
    long_words: Ints

    def formula(self, name: str) -> Floats:
        """Return one formula, by its name in `FORMULAS`, for each text."""
        return self.formulas()[name]

    def formulas(self) -> dict[str, Floats]:
        """Return all formulas."""
        with np.errstate(divide="ignore", invalid="ignore"):
            W, S = self.words.astype(np.float64), self.sentences.astype(np.float64)
            length, syllables, letters = W / S, self.syllables / W, self.letters / W
            hard, strange, long = self.polysyllables / W, 100 * self.difficult / W, self.long_words / W
            points = (W + 2 * self.polysyllables) / S
            scores = (
                0.39 * length + 11.8 * syllables - 15.59,
                206.835 - 1.015 * length - 84.6 * syllables,
                0.4 * (length + 100 * hard),
                1.0430 * np.sqrt(30 * self.polysyllables / S) + 3.1291,
                0.1579 * strange + 0.0496 * length + np.where(strange > 5, 3.6365, 0.0),
                5.88 * letters - 29.6 / length - 15.8,
                4.71 * letters + 0.5 * length - 21.43,
                0.121 * length + 8.2 * self.difficult_types / W + 0.659,
                np.where(points > 20, points / 2, (points - 2) / 2),
                length + 100 * long,
                self.long_words / S,
            )
        return {name: np.where(W > 0, score, np.nan) for name, score in zip(FORMULAS, scores, strict=True)}

    def columns(self) -> dict[str, Any]:
        """Return words, sentences, syllables and all formulas."""
        counts = {"words": self.words, "sentences": self.sentences, "syllables": self.syllables}
        return {**counts, **self.formulas()}


def count_texts(
    texts: Iterable[str], *, resources: LanguageResources | None = None, n_jobs: int | None = None
) -> TextCounts:
    """Count words, sentences, syllables and the rest of what formulas need.

    >>> counts = count_texts(["The mill turns. The miller is happy."])
    >>> int(counts.words[0]), int(counts.sentences[0]), int(counts.syllables[0])
    (7, 2, 9)
    """
    own = LanguageResources() if resources is None else resources
    plain = [unwrap_lines(text) for text in texts_of(texts)]
    rows = own.meter().count(plain, list(own.stops()), threads=effective_jobs(n_jobs)).reshape(-1, 8)
    return TextCounts(*(np.ascontiguousarray(column) for column in rows.T))
