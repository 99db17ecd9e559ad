"""Texts in several languages, and texts that say one thing again and again.

A text is mixed when its parts are: it is cut where its language changes (segmenter.py), and a language is asserted of
the whole that is asserted of its own parts put together, is the most probable there, and has a fair number of words. A
text in one language that is like another has single words and phrases of the other; together they do not reach the
threshold of a language that has them all.

Words that come again are not new evidence. A text of n words has usually many more than sqrt(n) different ones; one of
V < sqrt(n) is taken to say as much as V^2 words do: sums and number of words are both multiplied by V^2 / n, so that
scores, which are means, stay as they are.

Cost: only texts of which a language is in doubt are cut: another one has enough evidence of its own, or blocks of the
text look like different languages, which takes a second pass over texts of four parts or more. Different words are
counted until there are enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import language as native
from textmill.tasks.language.answers import LanguageScores

if TYPE_CHECKING:
    from textmill.tasks.language.identifier import LanguageIdentifier

__all__ = ["FEWEST_WORDS", "language_parts", "text_blocks", "without_repetition"]

Floats = NDArray[np.float64]
FEWEST_WORDS = 8  # of a part in another language, and twice as many of a text that may have one
_LEAST_SHARE = 0.1  # of the words of a text
_FEWEST_BLOCKS = 4
_MOST_BLOCKS = 8  # a part of that share fills most of one


def without_repetition(texts: Sequence[str | bytes], sums: LanguageScores) -> LanguageScores:
    """The sums of texts without what repeated words add beyond V^2.

    >>> sums = LanguageScores(np.array([[8.0]]), np.array([[8.0]]), np.array([8]), np.array([8]))
    >>> without_repetition(["mill " * 8], sums).words.tolist()
    [1]
    """
    counts = sums.words.copy()
    for i, text in enumerate(texts):
        enough = isqrt(max(0, int(counts[i]) - 1)) + 1  # the least V with V^2 >= n
        if enough > 1 and not _has_words(text, enough):
            different = len({key for key in native.keys(native.Texts([text]), 0, False) if key})
            counts[i] = min(int(counts[i]), max(1, different) ** 2)
    if (counts == sums.words).all():
        return sums
    factor = (counts / np.maximum(sums.words, 1))[:, None]
    return replace(
        sums,
        dictionary=(sums.dictionary * factor).astype(sums.dictionary.dtype),
        total=(sums.total * factor).astype(sums.total.dtype),
        words=counts,
        dictionary_words=np.ceil(sums.dictionary_words * factor[:, 0]).astype(np.int64),
    )


def _has_words(text: str | bytes, enough: int) -> bool:
    """Whether the beginning of a text has so many different words between blanks."""
    return len(set(text[: 64 * enough].lower().split())) >= enough


def text_blocks(text: str | bytes, words: int) -> list[str | bytes]:
    """The blocks of a text whose languages are compared, none of a short one; they end at blanks.

    >>> [len(block.split()) for block in text_blocks("one two three four five six seven eight " * 4, 32)]
    [9, 8, 8, 7]
    """
    count = min(_MOST_BLOCKS, words // FEWEST_WORDS)
    if count < _FEWEST_BLOCKS:
        return []
    blank: Any = " " if isinstance(text, str) else b" "
    cuts = [0]
    for i in range(1, count):
        place = max(cuts[-1], i * len(text) // count)
        found_at = text.find(blank, place)
        cuts.append(place if found_at < 0 else found_at)
    return [text[a:b] for a, b in pairwise([*cuts, len(text)])]


def language_parts(
    identifier: LanguageIdentifier, texts: list[str | bytes], languages: Sequence[str] | None
) -> list[dict[str, tuple[str | bytes, float]]]:
    """For each text the parts in each language, put together, and their shares of its words, the largest first."""
    from textmill.tasks.language.segmenter import LanguageSegmenter

    segmenter = LanguageSegmenter(identifier=identifier, languages=languages, n_jobs=identifier.n_jobs)
    of_texts = []
    for text, pieces in zip(texts, segmenter.segments_many(texts), strict=True):
        parts: dict[str, Any] = {}
        words: dict[str, int] = {}
        whole = max(1, sum(piece.last_word - piece.first_word for piece in pieces))
        for piece in pieces:
            if piece.language is not None:
                parts[piece.language] = parts.get(piece.language, text[:0]) + text[piece.begin : piece.end]
                words[piece.language] = words.get(piece.language, 0) + piece.last_word - piece.first_word
        least = max(FEWEST_WORDS, _LEAST_SHARE * whole)
        large = sorted((code for code in parts if words[code] >= least), key=lambda code: -words[code])
        of_texts.append({code: (parts[code], words[code] / whole) for code in large})
    return of_texts
