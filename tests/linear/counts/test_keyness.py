"""Words of two corpora: counts against plain counting, G2 against the likelihoods of binomials, what is refused."""

from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np
import pytest

from textmill.corpus import Vocabulary
from textmill.errors import DataError
from textmill.linear import compare_words


def corpus(seed: int, size: int, shift: int) -> list[str]:
    """Texts over thirty words, whose shares depend on `shift`."""
    draw = random.Random(seed)
    words = [f"w{i:02}" for i in range(30)]
    weights = [1 / (1 + (i + shift) % 30) for i in range(30)]
    return [" ".join(draw.choices(words, weights, k=draw.randint(0, 15))) for _ in range(size)]


def log_binomial(x: int, n: int, p: float) -> float:
    """The log probability of x in n tokens, without what does not depend on p."""
    return (x * math.log(p) if x else 0.0) + ((n - x) * math.log(1 - p) if n > x else 0.0)


@pytest.mark.parametrize("seed", range(3))
def test_counts_and_measures_are_those_of_the_definitions(seed: int) -> None:
    first, second = corpus(seed, 40, 0), corpus(seed + 9, 70, 4)
    words = compare_words(first, second, min_count=1)
    counts = [Counter(word for text in texts for word in text.split()) for texts in (first, second)]
    documents = [Counter(word for text in texts for word in set(text.split())) for texts in (first, second)]
    sizes = [sum(one.values()) for one in counts]
    assert words.tokens == tuple(sizes)
    assert sorted(words.terms) == sorted(counts[0].keys() | counts[1].keys())
    for i, term in enumerate(words.terms):
        a, b = counts[0][term], counts[1][term]
        assert (words.first[i], words.second[i]) == (a, b)
        assert (words.first_documents[i], words.second_documents[i]) == (documents[0][term], documents[1][term])
        apart = log_binomial(a, sizes[0], a / sizes[0]) + log_binomial(b, sizes[1], b / sizes[1])
        shared = (a + b) / sum(sizes)
        together = log_binomial(a, sizes[0], shared) + log_binomial(b, sizes[1], shared)
        assert words.log_likelihood[i] == pytest.approx(2 * (apart - together), abs=1e-9)
        ratio = (max(a, 0.5) / sizes[0]) / (max(b, 0.5) / sizes[1])
        if a == 0 or b == 0:
            ratio = max(ratio, 2.0) if a else min(ratio, 0.5)
        assert words.log_ratio[i] == pytest.approx(math.log2(ratio), abs=1e-12)
    assert np.all(np.diff(words.log_likelihood) <= 1e-9)
    assert sorted(words.of_first().terms + words.of_second().terms) == sorted(words.terms)


def test_the_corpora_may_change_sides_and_be_vocabularies() -> None:
    first, second = corpus(1, 40, 0), corpus(2, 70, 4)
    words, turned = compare_words(first, second), compare_words(second, first)
    assert turned.of_second().terms == words.of_first().terms
    counted = compare_words(Vocabulary().fit(first), Vocabulary().fit(second))
    assert counted.to_dict() == words.to_dict()


def test_rare_words_are_not_on_top() -> None:
    once = " ".join(f"x{i}" for i in range(200))
    words = compare_words(["we will win " * 50 + once], ["they were here " * 50 + "we " * 9], min_count=1)
    assert set(words.of_first(3).terms) == {"we", "will", "win"}
    assert words.of_first().terms[-1].startswith("x")


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(DataError, match="no word occurs 5 times; lower min_count"):
        compare_words(["a b"], ["b c"])
    with pytest.raises(DataError, match="words were removed from the vocabulary by min_df; fit it without"):
        compare_words(Vocabulary(min_df=2).fit(["a b", "b"]), ["b c"])
    with pytest.raises(DataError, match="stop_words='auto' may find other words in each corpus"):
        compare_words(["a b"], ["b c"], vocabulary=Vocabulary(stop_words="auto"))
    with pytest.raises(DataError, match="no documents"):
        compare_words([], ["b c"])
