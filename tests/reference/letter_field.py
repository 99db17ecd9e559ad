"""A field over letters straight from its definition: all labelings of a word, each with the sum of its weights."""

from __future__ import annotations

import itertools
import math

MASK = (1 << 64) - 1


def mixed(h, value):
    h = ((h ^ value) * 0x9E3779B97F4A7C15) & MASK
    return h ^ h >> 32


def stretches(word, t, window, longest):
    """The stretches of letters around place t: (first, last), the letter itself for (0, 0)."""
    yield 0, 0
    for first in range(-window, window + 1):
        for last in range(first, min(window, first + longest - 1) + 1):
            inside = all(-1 <= t + i <= len(word) for i in range(first, last + 1))
            if inside and (first, last) != (0, 0):
                yield first, last


def key(word, t, first, last):
    """The number by which a field knows a stretch; word holds numbers of letters, outside of it are two signs."""

    def sign(i):
        return 1 if i < 0 else 2 if i >= len(word) else word[i] + 4

    own = mixed(0x51ED270B, sign(t))
    if (first, last) == (0, 0):
        return own
    h = mixed(own, first + 1000)
    for i in range(first, last + 1):
        h = mixed(h, sign(t + i))
    return h


def labelings(crf, word):
    """All labelings of a word of known letters, as labels within each letter's list, with their scores."""
    letters = {letter: i for i, letter in enumerate(crf.letters_.to_list())}
    numbers = [letters[letter] for letter in word]
    lists = [crf.labels_[crf.label_begin_[x] : crf.label_begin_[x + 1]].tolist() for x in numbers]
    tests = {int(k): int(b) for k, b in zip(crf.tests_, crf.test_begin_, strict=False)}
    pairs = {int(k): int(b) for k, b in zip(crf.pairs_, crf.pair_begin_, strict=False)}
    labels = len(crf.write_begin_) - 1
    for choice in itertools.product(*(range(len(some)) for some in lists)):
        score = 0.0
        for t, k in enumerate(choice):
            for first, last in stretches(numbers, t, crf.window, crf.longest):
                begin = tests.get(key(numbers, t, first, last))
                if begin is not None:
                    score += float(crf.test_weights_[begin + k])
            if t:
                j = choice[t - 1]
                score += float(crf.label_weights_[lists[t - 1][j] * labels + lists[t][k]])
                begin = pairs.get(numbers[t - 1] << 32 | numbers[t])
                if begin is not None:
                    score += float(crf.pair_weights_[begin + j * len(lists[t]) + k])
        yield choice, score


def outputs(crf, word):
    """ln p of every output of a word."""
    symbols = crf.symbols_.to_list()
    letters = {letter: i for i, letter in enumerate(crf.letters_.to_list())}
    sums = {}
    for choice, score in labelings(crf, word):
        written = []
        for letter, k in zip(word, choice, strict=True):
            label = int(crf.labels_[crf.label_begin_[letters[letter]] + k])
            written += [symbols[s] for s in crf.writes_[crf.write_begin_[label] : crf.write_begin_[label + 1]]]
        sums.setdefault("".join(written), []).append(score)
    total = math.log(sum(math.exp(s) for some in sums.values() for s in some))
    return {output: math.log(sum(map(math.exp, some))) - total for output, some in sums.items()}
