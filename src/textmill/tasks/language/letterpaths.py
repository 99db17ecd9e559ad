"""What each letter of a text says of each language, for cutting a text letter by letter.

    score(i, L) = log2 p(c_i | c_{i-k+1} .. c_{i-1}, L) - log2 p_0(c_i | ...)

from the n-grams of an identifier (letters.py): of each letter the longest n-gram counts, the end of a word belongs to
its last letter, and log2 p(script | L) to its first. What a letter says is relative to the mean of the languages, which
is all that a path over languages needs. O(letters x order) look-ups and one row of languages for each letter.
Reference: Teahan, Text classification and segmentation using minimum cross-entropy (2000).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import language as native
from textmill.errors import DataError
from textmill.tasks.language.identifier import LanguageIdentifier
from textmill.tasks.language.records import GRAM, columns_of

__all__ = ["IdentifierLetters"]

Floats = NDArray[np.float32]


class IdentifierLetters:
    """The n-grams of an identifier as character models for `LanguageSegmenter(method="letters")`.

    >>> letters = IdentifierLetters(LanguageIdentifier.bundled(), ["cs", "en"])
    >>> codes, scores = letters.letter_scores("the")
    >>> codes, scores.shape, bool(scores[:, 1].sum() > scores[:, 0].sum())
    (['cs', 'en'], (3, 2), True)
    """

    def __init__(self, identifier: LanguageIdentifier, languages: Any = None) -> None:
        if identifier.order == 0:
            raise DataError("the identifier has no n-grams of letters; train it with an order of 1 or more")
        chosen = identifier.languages() if languages is None else identifier.check_languages(languages)
        codes = identifier.classes_.tolist()
        self._identifier = identifier
        self._columns = np.array([codes.index(code) for code in chosen], dtype=np.intp)
        self._codes = chosen
        keys, self._rest, self._begin, self._languages, self._values = columns_of(
            identifier.records_, identifier.step_, GRAM
        )
        self._place = {key: i for i, key in enumerate(keys)}
        self._rows: dict[str, Floats | None] = {}

    def letter_scores(self, text: str) -> tuple[list[str], Floats]:
        """Codes of the languages, and what each character says of each of them, in bits, characters x languages."""
        scores = np.zeros((len(text), len(self._codes)), dtype=np.float32)
        everyone = np.ones(len(self._identifier.classes_), dtype=np.uint8)
        spans, _, data, ends, _ = native.signal(self._identifier._native, native.Texts([text]), 0, everyone)
        if not len(spans):
            return self._codes, scores
        scripts = self._identifier.script_[native.scripts(data, ends)][:, self._columns]
        keys = data.tobytes()
        for i in range(len(ends) - 1):
            begin, last = int(spans[2 * i]), int(spans[2 * i + 1]) - 1
            if ends[i] == ends[i + 1]:  # a code, or too long: nothing is said of it
                continue
            scores[begin] += scripts[i]
            marked = f"<{keys[ends[i] : ends[i + 1]].decode()}>"
            for at in range(1, len(marked)):
                row = self._longest(marked[max(at + 1 - self._identifier.order, 0) : at + 1])
                if row is not None:
                    scores[min(begin + at - 1, last)] += row
        return self._codes, scores / np.float32(np.log(2))

    def _longest(self, gram: str) -> Floats | None:
        """The row of the longest end of an n-gram that is known."""
        if gram not in self._rows:
            ending = next((gram[i:] for i in range(len(gram)) if gram[i:] in self._place), None)
            self._rows[gram] = None if ending is None else self._row(self._place[ending])
        return self._rows[gram]

    def _row(self, place: int) -> Floats:
        row = np.full(len(self._identifier.classes_), self._rest[place], dtype=np.float32)
        pairs = slice(int(self._begin[place]), int(self._begin[place + 1]))
        row[self._languages[pairs]] = self._values[pairs]
        result: Floats = row[self._columns]
        return result
