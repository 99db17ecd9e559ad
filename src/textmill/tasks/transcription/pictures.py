"""Pictures of a transcriber: which letters are written as which symbols."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.lm import PairModel
from textmill.plot import heat_map
from textmill.tasks.transcription.transcriber import Transcriber

__all__ = ["LetterTable", "letter_table"]


@dataclass(frozen=True)
class LetterTable:
    """How often letters are written as symbols: shares by letter, (letters, symbols)."""

    letters: list[str]
    symbols: list[str]
    shares: Floats

    def plot(self) -> Any:
        """A heat map, a figure of Matplotlib."""
        return heat_map(self.shares, rows=self.letters, columns=self.symbols, x_label="written as", y_label="letter")


def letter_table(model: Transcriber, *, n_letters: int = 40, n_symbols: int = 60) -> LetterTable:
    """The most frequent letters and what they are written as, from the pairs of the first pair model of a transcriber.

    >>> from textmill.tasks.transcription import sample_names
    >>> table = letter_table(Transcriber(search=False).fit(*sample_names()))
    >>> table.shares.shape == (len(table.letters), len(table.symbols))
    True
    """
    models: list[Any] = [getattr(model, str(part["slot"])) for part in model.plan_ if part["kind"] == "pairs"]
    if not models:
        raise DataError("this transcriber has no pair model, whose pairs could be drawn")
    pairs: PairModel = models[0]
    counts: Counter[tuple[str, str]] = Counter()
    ngrams = pairs.ngrams_
    if ngrams.counts_ is None:
        raise DataError("the pairs of this model have no counts")
    for link, count in zip(pairs.pairs_, ngrams.counts_[1 + 3 : 1 + len(ngrams.words_)].tolist(), strict=True):
        for letter in link[0] or ("·",):
            counts[letter, "".join(link[1]) or "·"] += int(count)
    by_letter: Counter[str] = Counter()
    by_symbol: Counter[str] = Counter()
    for (letter, symbol), count in counts.items():
        by_letter[letter] += count
        by_symbol[symbol] += count
    letters = sorted(letter for letter, _ in by_letter.most_common(n_letters))
    symbols = sorted(symbol for symbol, _ in by_symbol.most_common(n_symbols))
    shares = np.array([[counts[letter, symbol] / by_letter[letter] for symbol in symbols] for letter in letters])
    return LetterTable(letters, symbols, shares)
