"""Questions to n-gram models, against the definition: the whole distribution, and counts by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from textmill.corpus import sample_texts
from textmill.errors import DataError
from textmill.lm import NGramModel, frequent_ngrams, from_arpa, next_words, to_arpa

SENTENCES = [text.lower().split()[:40] for text in sample_texts()][:200]


@pytest.fixture(scope="module")
def model() -> NGramModel:
    return NGramModel(order=3).fit(SENTENCES)


@pytest.mark.parametrize("context", [[], ["the"], ["of", "the"], ["nosuchword", "the"]])
def test_next_words_are_the_top_of_the_distribution(model: NGramModel, context: list[str]) -> None:
    p = model.distribution(context)
    best = next_words(model, context, k=20)
    assert len(best) == 20
    assert [probability for _, probability in best] == sorted((float(x) for x in np.delete(p, [0, 1])), reverse=True)[
        :20
    ]
    assert all(p[model.words_.to_list().index(word)] == probability for word, probability in best)


def test_a_start_is_not_a_middle(model: NGramModel) -> None:
    assert next_words(model, k=3, start=True) != next_words(model, k=3)


@pytest.mark.parametrize(("prefix", "order"), [([], 1), ([], 2), (["the"], 2), (["of", "the"], 3), (["the"], 3)])
def test_ngrams_are_those_counted_by_hand(model: NGramModel, prefix: list[str], order: int) -> None:
    counts: Counter[tuple[str, ...]] = Counter()
    for sentence in SENTENCES:
        words = ["<s>", *sentence, "</s>"]
        counts.update(tuple(words[i : i + order]) for i in range(len(words) - order + 1))
    expected = {words: n for words, n in counts.items() if list(words[: len(prefix)]) == prefix}
    shown = frequent_ngrams(model, prefix, k=10**6, order=order)
    assert {ngram.words: ngram.count for ngram in shown if ngram.count} == expected
    occurrences = [ngram.count or 0 for ngram in shown]
    assert occurrences == sorted(occurrences, reverse=True)
    for ngram in shown[:20]:
        if ngram.words != ("<s>",):
            p = model.distribution(ngram.words[:-1]) if "<s>" not in ngram.words else None
            if p is not None and ngram.words[-1] != "<unk>":
                assert ngram.probability == pytest.approx(float(p[model.words_.to_list().index(ngram.words[-1])]))


def test_what_was_not_seen_has_no_ngrams(model: NGramModel) -> None:
    assert frequent_ngrams(model, ["nosuchword"]) == []
    assert frequent_ngrams(model, ["the", "nosuchword"]) == []
    full = frequent_ngrams(model, ["the"], k=1, order=3)[0].words
    assert [ngram.words for ngram in frequent_ngrams(model, full)] == [full]


def test_a_model_without_counts_gives_the_most_likely(model: NGramModel, tmp_path: Path) -> None:
    to_arpa(model, tmp_path / "x.arpa")
    first = frequent_ngrams(from_arpa(tmp_path / "x.arpa"), ["the"], k=5)
    assert all(ngram.count is None for ngram in first)
    assert [ngram.probability for ngram in first] == sorted((n.probability for n in first), reverse=True)


def test_wrong_questions_are_refused(model: NGramModel) -> None:
    with pytest.raises(DataError, match="k must be"):
        next_words(model, k=0)
    with pytest.raises(DataError, match=r"list of words.*pass \['of', 'the'\]"):
        frequent_ngrams(model, "of the")
    with pytest.raises(DataError, match="at most 3"):
        frequent_ngrams(model, ["a", "b", "c", "d"])
    with pytest.raises(DataError, match="order must be"):
        frequent_ngrams(model, ["a", "b"], order=1)
