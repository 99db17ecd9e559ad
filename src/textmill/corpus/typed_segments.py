"""Sentences with typed segments, drawn at random: what segment taggers can learn and token taggers cannot.

    names          a class has words of its own and shares last words with the next class; lengths differ by class
    copies         the string of an entity is in its sentence again: it is an entity there, too
    coordination   X "and" Y, Y a single word that two classes have: only the class of X tells
    decoys         words of names in an order that no name has: only the string as a whole tells them from names

Sentence i depends on the seed, on i and on the parameters, and on nothing else. Cost: the tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass

import numpy as np

from textmill.corpus.columns import Sentence
from textmill.corpus.iob import Span, tags_of
from textmill.errors import DataError

__all__ = ["TypedSegments"]

_SYLLABLES = [consonant + vowel for consonant in "bdfghjklmnprstvz" for vowel in "aeiou"]
_PLAIN = [
    "the",
    "of",
    "in",
    "with",
    "by",
    "for",
    "was",
    "were",
    "is",
    "are",
    "we",
    "show",
    "that",
    "these",
    "cell",
    "data",
    "not",
    "may",
    "has",
    "both",
    "from",
    "to",
    "on",
]


@dataclass(frozen=True)
class TypedSegments:
    """A stream of sentences with IOB2 tags in their last column.

    Parameters: sentences, their number; classes, number of classes; names, number of names of a class; copies,
    coordination and decoys, the chances of each in a sentence; seed; first, the number of the first sentence, so that
    further sentences with the same names can be drawn.

    >>> stream = TypedSegments(2, seed=3)
    >>> [len(sentence.columns) for sentence in stream]
    [2, 2]
    >>> list(stream) == list(stream)
    True
    """

    sentences: int = 1000
    _: KW_ONLY
    classes: int = 3
    names: int = 200
    copies: float = 0.3
    coordination: float = 0.3
    decoys: float = 0.3
    seed: int = 0
    first: int = 0

    def __post_init__(self) -> None:
        for name in ("sentences", "classes", "names"):
            if getattr(self, name) < 1:
                raise DataError(f"{name} must be at least 1, got {getattr(self, name)!r}")
        for name in ("copies", "coordination", "decoys"):
            if not 0 <= getattr(self, name) <= 1:
                raise DataError(f"{name} must be a number from 0 to 1, got {getattr(self, name)!r}")

    def __len__(self) -> int:
        return self.sentences

    def __iter__(self) -> Iterator[Sentence]:
        names = self._names()
        shared = self._words(np.random.default_rng([self.seed, 2]), 20 * self.classes)
        for i in range(self.first, self.first + self.sentences):
            yield self._sentence(np.random.default_rng([self.seed, 1, i]), names, shared)

    def labeled(self) -> tuple[list[list[str]], list[list[str]]]:
        """Words and tags of all sentences.

        >>> X, y = TypedSegments(1).labeled()
        >>> len(X[0]) == len(y[0])
        True
        """
        pairs = [(list(sentence.column(0)), list(sentence.column(1))) for sentence in self]
        return [words for words, _ in pairs], [tags for _, tags in pairs]

    @staticmethod
    def _words(rng: np.random.Generator, count: int) -> list[str]:
        return ["".join(rng.choice(_SYLLABLES, int(rng.integers(2, 5)))) for _ in range(count)]

    def _names(self) -> list[list[list[str]]]:
        """For every class its names; the lengths of class c are about c + 1, heads are shared by two classes."""
        rng = np.random.default_rng([self.seed, 0])
        heads = self._words(rng, self.classes + 1)
        names = []
        for c in range(self.classes):
            pool = self._words(rng, 30)
            lengths = 1 + rng.poisson(c + 0.5, self.names)
            some = [[*rng.choice(pool, n).tolist(), heads[c + int(rng.integers(2))]][-n - 1 :] for n in lengths]
            names.append(some)
        return names

    def _sentence(self, rng: np.random.Generator, names: list[list[list[str]]], shared: list[str]) -> Sentence:
        words: list[str] = []
        spans: list[Span] = []

        def plain() -> None:
            words.extend(rng.choice(_PLAIN, int(rng.integers(1, 5))).tolist())

        def entity(name: list[str], c: int) -> None:
            spans.append((len(words), len(words) + len(name), f"C{c}"))
            words.extend(name)

        plain()
        for _ in range(int(rng.integers(1, 4))):
            c = int(rng.integers(self.classes))
            name = names[c][int(rng.integers(self.names))]
            entity(name, c)
            if rng.random() < self.coordination:
                words.append("and")
                entity([shared[int(rng.integers(len(shared)))]], c)
            plain()
            if rng.random() < self.copies:
                entity(name, c)
                plain()
            if rng.random() < self.decoys:
                words.extend(reversed(names[c][int(rng.integers(self.names))]))
                plain()
        words.append(".")
        return Sentence((tuple(words), tuple(tags_of(spans, len(words)))))
