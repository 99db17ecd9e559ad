"""Class models straight from their definitions: likelihood by counting, partitions by enumeration."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

BOUNDARY = "#"


def log_likelihood(sentences: Sequence[Sequence[str]], class_of: Mapping[str, int]) -> float:
    """The sum of log P(c | c') P(w | c) over all words and ends, with relative frequencies."""
    tokens = [[BOUNDARY, *sentence, BOUNDARY] for sentence in sentences if sentence]
    classes = {**class_of, BOUNDARY: 0}
    pairs = Counter((classes[a], classes[b]) for row in tokens for a, b in pairwise(row))
    before = Counter(classes[a] for row in tokens for a in row[:-1])
    words = Counter(b for row in tokens for b in row[1:])
    after = Counter(classes[b] for row in tokens for b in row[1:])
    return sum(
        math.log(pairs[classes[a], classes[b]] / before[classes[a]]) + math.log(words[b] / after[classes[b]])
        for row in tokens
        for a, b in pairwise(row)
    )


def partitions(length: int, longest: int) -> Iterator[list[tuple[int, int]]]:
    """All ways to cut `length` words into pieces of at most `longest`."""
    if length == 0:
        yield []
        return
    for last in range(1, min(longest, length) + 1):
        for rest in partitions(length - last, longest):
            yield [*rest, (length - last, length)]


def set_partitions(items: Sequence[str], n_classes: int) -> Iterator[dict[str, int]]:
    """All ways to give items one of n classes, up to the names of the classes."""

    def extend(at: int, used: int, given: dict[str, int]) -> Iterator[dict[str, int]]:
        if at == len(items):
            yield dict(given)
            return
        for c in range(1, min(used + 1, n_classes) + 1):
            given[items[at]] = c
            yield from extend(at + 1, max(used, c), given)

    return extend(0, 0, {})
