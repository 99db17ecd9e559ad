"""What each pattern brings to a model: how many tests it made, how many weights they could have, how many they have.

    tests          distinct observation tests that the pattern made on the training sequences
    features       Y for each that has weights per label, Y^2 for each that has weights per pair: their sum over all
                   patterns is K
    active_tests   tests with at least one weight that is not zero
    active         weights that are not zero

A test is its string, so its pattern is found by the text before the first command, which good patterns have for
themselves; patterns that begin alike are told apart by the rest of their text, and a test that several could have made
counts for the one with the most text of its own. Cost: one look at the beginning of each test and pattern.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill.sequence.encoder import Encoder
from textmill.sequence.features import FeatureLayout
from textmill.sequence.patterns import Pattern, parse_patterns

__all__ = ["active_tests", "count_by_pattern", "patterns_of_tests"]


def count_by_pattern(encoder: Encoder, layout: FeatureLayout, features: NDArray[np.int64]) -> list[dict[str, Any]]:
    """The counts of every pattern, when `features` have weights that are not zero.

    >>> encoder = Encoder(patterns=["u:w=%x[0,0]", "b"]).fit(["ab"])
    >>> for counts in count_by_pattern(encoder, FeatureLayout(2, 2, 1), np.array([0, 1, 4])):
    ...     print(list(counts.values()))
    ['u:w=%x[0,0]', 2, 4, 1, 2]
    ['b', 1, 4, 1, 1]
    """
    parts = layout.split(features)
    if encoder.hash_bits is not None:
        active = len(np.unique(parts.test[~parts.bigram])) + len(np.unique(parts.test[parts.bigram]))
        return [_row("(hashed)", layout.unigrams + layout.bigrams, layout.size, active, len(features))]
    unigram, bigram = encoder.numbers()
    pattern = patterns_of_tests(encoder)
    names = encoder.patterns_ or ["(attributes)"]
    owner_u, owner_b = np.empty(layout.unigrams, np.int32), np.empty(layout.bigrams, np.int32)
    owner_u[unigram[unigram >= 0]] = pattern[unigram >= 0]
    owner_b[bigram[bigram >= 0]] = pattern[bigram >= 0]
    width_b = layout.labels**2 + (layout.labels if layout.start else 0)

    def per_pattern(numbers: NDArray[Any]) -> NDArray[np.int64]:
        return np.bincount(numbers, minlength=len(names))

    tests = per_pattern(pattern)
    possible = per_pattern(owner_u) * layout.labels + per_pattern(owner_b) * width_b
    used = per_pattern(pattern[active_tests(encoder, layout, features)])
    weights = per_pattern(owner_u[parts.test[~parts.bigram]]) + per_pattern(owner_b[parts.test[parts.bigram]])
    return [_row(name, *map(int, row)) for name, *row in zip(names, tests, possible, used, weights, strict=True)]


def active_tests(encoder: Encoder, layout: FeatureLayout, features: NDArray[np.int64]) -> NDArray[np.bool_]:
    """For each test of the encoder, whether one of the features is its own.

    >>> encoder = Encoder(patterns=["u:w=%x[0,0]"]).fit(["ab"])
    >>> active_tests(encoder, FeatureLayout(2, 2, 0), np.array([3])).tolist()
    [False, True]
    """
    parts = layout.split(features)
    unigram, bigram = encoder.numbers()
    of_unigram, of_bigram = np.zeros(layout.unigrams + 1, bool), np.zeros(layout.bigrams + 1, bool)
    of_unigram[parts.test[~parts.bigram]] = True
    of_bigram[parts.test[parts.bigram]] = True
    active: NDArray[np.bool_] = of_unigram[unigram] | of_bigram[bigram]  # -1, no such weights, is the last entry: False
    return active


def patterns_of_tests(encoder: Encoder) -> NDArray[np.int32]:
    """The number of the pattern that made each test, counted from 0; all 0 where tests are attributes of tokens.

    >>> patterns_of_tests(Encoder(patterns=["u:1=%x[0,0]", "u:2=%x[-1,0]%x[0,0]"]).fit(["ab"])).tolist()
    [0, 1, 0, 1]
    """
    owner = np.zeros(len(encoder.tests_), np.int32)
    if not encoder.patterns_:
        return owner
    groups: defaultdict[bytes, list[int]] = defaultdict(list)
    patterns = parse_patterns(encoder.patterns_, syntax=encoder.syntax)
    for number, pattern in enumerate(patterns):
        groups[_beginning(pattern)].append(number)
    for beginning in sorted(groups, key=len):  # the longest that fits is the last to be written
        numbers = groups[beginning]
        fitting = _that_begin(encoder, beginning)
        owner[fitting] = numbers[0]
        if len(numbers) > 1:
            texts = sorted(numbers, key=lambda number: -_literal(patterns[number]))
            forms = [(number, _form(patterns[number])) for number in texts]
            for test in fitting.tolist():
                name = encoder.tests_[test]
                owner[test] = next((number for number, form in forms if form.fullmatch(name)), numbers[0])
    return owner


def _row(pattern: str, tests: int, features: int, active: int, weights: int) -> dict[str, Any]:
    return {"pattern": pattern, "tests": tests, "features": features, "active_tests": active, "active": weights}


def _beginning(pattern: Pattern) -> bytes:
    """The text before the first command."""
    first = pattern.parts[0]
    return first.encode() if isinstance(first, str) else b""


def _literal(pattern: Pattern) -> int:
    return sum(len(part) for part in pattern.parts if isinstance(part, str))


def _form(pattern: Pattern) -> re.Pattern[str]:
    """What tests of the pattern look like."""
    return re.compile("".join(re.escape(part) if isinstance(part, str) else ".*" for part in pattern.parts), re.DOTALL)


def _that_begin(encoder: Encoder, beginning: bytes) -> NDArray[np.int64]:
    """Numbers of the tests that begin so."""
    data, offsets = encoder.tests_.bytes, encoder.tests_.offsets
    numbers = np.flatnonzero(np.diff(offsets) >= len(beginning))
    for i, byte in enumerate(beginning):
        numbers = numbers[data[offsets[numbers] + i] == byte]
    return numbers
