"""Every smoothing against its definition in exact fractions; every context sums to 1; holes are filled as stated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.smoothing import Smoothed

import textmill
from textmill.corpus import Tokenizer, sample_texts, split_sentences
from textmill.errors import DataError
from textmill.lm import SMOOTHINGS, NGramModel
from textmill.lm.counting import BEGIN


def random_sentences(seed: int, n: int, words: int, length: int = 8) -> list[list[str]]:
    random = np.random.default_rng(seed)
    p = 1 / np.arange(1, words + 1)
    return [[f"w{w}" for w in random.choice(words, random.integers(0, length), p=p / p.sum())] for _ in range(n)]


def check(model: NGramModel, slow: Smoothed, sentences: list[list[str]]) -> None:
    for sentence in sentences:
        padded = ["<s>", *(word if word in slow.words else "<unk>" for word in sentence), "</s>"]
        expected = [slow.p(padded[i], tuple(padded[max(0, i - slow.order + 1) : i])) for i in range(1, len(padded))]
        assert 10 ** model.token_scores([sentence])[0] == pytest.approx([float(p) for p in expected], rel=1e-10)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@given(
    seed=st.integers(0, 2**31),
    order=st.integers(1, 4),
    words=st.integers(1, 12),
    n=st.integers(1, 60),
    least=st.lists(st.integers(1, 3), min_size=4, max_size=4),
    cut=st.booleans(),
    unknown=st.booleans(),
)
@settings(max_examples=12)
def test_probabilities_are_those_of_the_definition(
    smoothing: str, seed: int, order: int, words: int, n: int, least: list[int], cut: bool, unknown: bool
) -> None:
    min_counts = tuple(sorted(least))[:order] if cut else (1,) * order
    sentences = random_sentences(seed, n, words)
    if unknown:  # then <unk> has counts, and a context may have seen all words
        sentences = [["<unk>" if word == "w1" else word for word in sentence] for sentence in sentences]
    model = NGramModel(order=order, smoothing=smoothing, min_counts=min_counts, n_jobs=2).fit(sentences)
    slow = Smoothed(sentences, order, smoothing, min_counts)
    check(model, slow, random_sentences(seed + 1, 4, words + 2))
    for context in ([], ["w0"], ["w0", "w1"], ["w2", "w0", "w0"]):
        for start in (False, True):
            p = model.distribution(context, start=start)
            assert p.sum() == pytest.approx(1.0, abs=1e-12)
            assert p[BEGIN] == 0
            assert (np.delete(p, BEGIN) > 0).all()


@pytest.fixture(scope="module")
def real() -> list[list[str]]:
    cut = Tokenizer()
    return [cut(sentence) for text in sample_texts()[:12] for sentence in split_sentences(text)]


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_contexts_of_real_sentences_sum_to_one(smoothing: str, real: list[list[str]]) -> None:
    model = NGramModel(order=2, smoothing=smoothing, min_counts=(1, 2)).fit(real)
    check(model, Smoothed(real, 2, smoothing, (1, 2)), real[7:8])
    levels, words = model.levels_.tolist(), model.words_.to_list()
    for node in range(levels[1], levels[2], 211):
        p = model.distribution([] if node == 1 + BEGIN else [words[node - 1]], start=node == 1 + BEGIN)
        assert p.sum() == pytest.approx(1.0, abs=1e-10)


def test_katz_discounts_are_exact_rationals(real: list[list[str]]) -> None:
    model, slow = NGramModel(order=2, smoothing="katz", katz_limit=3).fit(real), Smoothed(real, 2, "katz", katz_limit=3)
    assert model.fall_backs_ == []
    check(model, slow, real[7:8])
    for n in (1, 2):
        expected = [float(slow.discount(n, r)) for r in range(1, 9)]
        assert model.discounts_[n - 1] == pytest.approx(expected, rel=1e-12, abs=1e-15)
        assert 0 < expected[0] < 1
        assert expected[7] == 0
    assert NGramModel(order=2, smoothing="katz", katz_limit=(1, 5)).fit(real).discounts_[0].tolist() == [0.0] * 8


def test_holes_in_the_counts_of_counts_are_stated() -> None:
    sentences = [["a", "b"], ["c", "d"]]
    for smoothing in ("modified-kneser-ney", "katz", "absolute", "good-turing", "kneser-ney"):
        model = NGramModel(order=2, smoothing=smoothing).fit(sentences)
        assert model.fall_backs_
        assert all("too little text" in line for line in model.fall_backs_)
        check(model, Smoothed(sentences, 2, smoothing), [["a", "b"], ["b", "x"]])
    assert NGramModel(order=2, smoothing="witten-bell").fit(sentences).fall_backs_ == []


def test_what_is_cut_off_is_not_stored(real: list[list[str]], tmp_path: Path) -> None:
    whole = NGramModel(order=3, smoothing="katz").fit(real)
    model = NGramModel(order=3, smoothing="katz", min_counts=(1, 1, 2)).fit(real)
    sizes, fewer = np.diff(whole.levels_), np.diff(model.levels_)
    assert fewer[:3].tolist() == sizes[:3].tolist()
    assert fewer[3] == (whole.counts_[whole.levels_[3] :] > 1).sum() < sizes[3] / 3
    model.save(tmp_path / "cut.mill")
    again = textmill.load(tmp_path / "cut.mill", verify=True)
    assert again.perplexity(real[:50]) == model.perplexity(real[:50])


def test_words_outside_a_vocabulary_are_unknown(real: list[list[str]]) -> None:
    words = sorted({word for sentence in real[:40] for word in sentence})
    for smoothing in SMOOTHINGS:
        model = NGramModel(order=2, smoothing=smoothing).fit(real[40:100], vocabulary=words)
        assert model.words_.to_list()[3:] == words
        check(model, Smoothed(real[40:100], 2, smoothing, vocabulary=words), real[98:102])


def test_wrong_settings_are_named() -> None:
    for parameters, fault in (
        ({"smoothing": "laplace"}, "smoothing must be"),
        ({"min_counts": (2, 1)}, "must not fall"),
        ({"min_counts": (1, 1, 1, 1)}, "at most 3 orders"),
        ({"katz_limit": 8}, "katz_limit must"),
    ):
        with pytest.raises(DataError, match=fault):
            NGramModel(**parameters).fit(["a b"])
    with pytest.raises(DataError, match="vocabulary must be words"):
        NGramModel().fit(["a b"], vocabulary="a")


def test_a_file_of_the_first_format_still_loads() -> None:
    model = textmill.load(Path(__file__).parent.parent / "files" / "lm" / "ngram-1.mill", verify=True)
    assert model.smoothing == "modified-kneser-ney"
    assert model.perplexity(["the mill turns"]) == pytest.approx(1.5358469681185138, rel=1e-14)
