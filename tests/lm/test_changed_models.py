"""Pruned, mixed and quantized models, and the perplexity report."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import textmill
from textmill.corpus import Tokenizer, sample_texts, split_sentences
from textmill.errors import DataError, ModelFileError
from textmill.lm import (
    Mixture,
    NGramModel,
    frequent_ngrams,
    from_arpa,
    next_words,
    perplexity_report,
    prune,
    quantize,
    to_arpa,
)


def sentences(first: int, end: int) -> list[list[str]]:
    cut = Tokenizer()
    return [cut(sentence) for text in sample_texts()[first:end] for sentence in split_sentences(text)]


def check_sums(model: NGramModel, tolerance: float = 1e-9) -> None:
    for context in ([], ["the"], ["of", "the"], ["in", "the"], ["nosuchword", "of"]):
        for start in (False, True):
            assert model.distribution(context, start=start).sum() == pytest.approx(1.0, abs=tolerance)


@pytest.fixture(scope="module")
def katz() -> NGramModel:
    return NGramModel(order=3, smoothing="katz").fit(sentences(0, 60))


@pytest.mark.parametrize("method", ["entropy", "weighted-difference"])
@pytest.mark.parametrize("smoothing", ["katz", "modified-kneser-ney"])
def test_pruned_models_have_their_share_and_sum_to_one(method: str, smoothing: str, tmp_path: Path) -> None:
    model = NGramModel(order=3, smoothing=smoothing).fit(sentences(0, 60))
    held_out = sentences(60, 70)
    sizes, perplexities = [], []
    for keep in (1.0, 0.7, 0.4):
        small = prune(model, keep=keep, method=method)
        sizes.append((len(small.last_words_) - 1) / (len(model.last_words_) - 1))
        check_sums(small)
        perplexities.append(small.perplexity(held_out))
    assert sizes == pytest.approx([1.0, 0.7, 0.4], abs=1e-3)
    assert perplexities[0] == pytest.approx(model.perplexity(held_out), rel=1e-6)
    assert perplexities[2] < 2 * perplexities[0]
    to_arpa(small, tmp_path / "small.arpa")
    again = prune(from_arpa(tmp_path / "small.arpa"), keep=0.99, method=method)  # p(h) by the chain rule
    check_sums(again)


def test_what_is_lost_is_the_relative_entropy_of_both_models() -> None:
    """Leave out one n-gram, and compare its score with the sum over all words of the context."""
    model = NGramModel(order=2, smoothing="katz", n_jobs=1).fit(sentences(0, 20))
    counts = model.counts_.astype(float)
    weight = counts / (counts[1 : model.levels_[2]].sum() - counts[2])
    score = model.table().importance(weight, entropy=True, threads=1)
    parents = np.repeat(np.arange(model.levels_[2]), np.diff(model.children_))
    for node in range(int(model.levels_[2]), len(score), 397):
        h = int(parents[node - 1])
        if h == 2:
            continue
        marked = np.ones(len(score), dtype=bool)
        marked[node] = False
        smaller = NGramModel(order=2, smoothing="katz", n_jobs=1).fit(sentences(0, 20))
        smaller._take(marked)
        smaller.log_back_off_ = smaller.table().back_offs(threads=1)
        vars(smaller).pop("_made", None)
        context = [model.words_[h - 1]]
        p, q = np.delete(model.distribution(context), 1), np.delete(smaller.distribution(context), 1)
        assert score[node] == pytest.approx(weight[h] * float((p * np.log(p / q)).sum()), rel=1e-6, abs=1e-12)


def test_a_threshold_prunes_what_is_below(katz: NGramModel) -> None:
    assert len(prune(katz, threshold=0.0).last_words_) <= len(katz.last_words_)
    sizes = [len(prune(katz, threshold=threshold).last_words_) for threshold in (1e-7, 1e-6, 1e-5, 1.0)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == katz.levels_[2]
    for arguments in ({}, {"keep": 0.5, "threshold": 1e-8}):
        with pytest.raises(DataError, match="either keep"):
            prune(katz, **arguments)
    with pytest.raises(DataError, match="method must be"):
        prune(katz, keep=0.5, method="magic")


@pytest.mark.parametrize("bits", [4, 8, 11, 16])
def test_quantized_models_are_near_and_are_saved(bits: int, katz: NGramModel, tmp_path: Path) -> None:
    held_out = sentences(60, 70)
    small = quantize(katz, bits=bits)
    ratio = small.perplexity(held_out) / katz.perplexity(held_out)
    assert ratio == pytest.approx(1.0, abs={4: 0.2, 8: 0.005, 11: 0.001, 16: 1e-4}[bits])
    small.save(tmp_path / "small.mill")
    again = textmill.load(tmp_path / "small.mill", verify=True)
    assert again.token_scores(held_out[:3])[0].tolist() == small.token_scores(held_out[:3])[0].tolist()
    assert again.sample(3, random_state=1) == small.sample(3, random_state=1)
    katz.save(tmp_path / "whole.mill")
    if bits <= 8:
        assert (tmp_path / "small.mill").stat().st_size < 0.4 * (tmp_path / "whole.mill").stat().st_size
    assert [word for word, _ in next_words(small, ["of"], k=1)] == [word for word, _ in next_words(katz, ["of"], k=1)]
    assert frequent_ngrams(small, ["of"], k=1)[0].count is None
    to_arpa(small, tmp_path / "small.arpa")
    assert from_arpa(tmp_path / "small.arpa").perplexity(held_out) == pytest.approx(small.perplexity(held_out))


def test_codes_are_checked(katz: NGramModel) -> None:
    for bits in (3, 17):
        with pytest.raises(DataError, match="bits must be"):
            quantize(katz, bits=bits)
    broken = quantize(katz)
    broken.back_off_codes_ = broken.back_off_codes_[:-1].copy()
    with pytest.raises(ModelFileError, match="a code for each node"):
        broken.check_values()
    broken = quantize(katz)
    broken.books_ = broken.books_[:, :100].copy()
    with pytest.raises(ModelFileError, match="64 entries"):
        broken.check_values()


@given(seed=st.integers(0, 1000), bits=st.integers(4, 16))
@settings(max_examples=10)
def test_codes_are_the_nearest_values(seed: int, bits: int) -> None:
    from textmill.lm.quantizing import _book, _nearest, _packed

    values = np.random.default_rng(seed).normal(size=400).round(2)
    values[::3] = 0.0
    book = _book(values, bits)
    assert len(book) == 1 << bits
    assert (np.diff(book) >= 0).all()
    assert 0.0 in book
    codes = _nearest(book, values)
    assert np.abs(book[codes] - values) == pytest.approx(np.abs(book[None] - values[:, None]).min(axis=1))
    packed = _packed(codes, bits)
    whole = int.from_bytes(packed.tobytes(), "little")
    assert [whole >> bits * i & (1 << bits) - 1 for i in range(50)] == codes[:50].tolist()


def test_mixtures_of_unlike_vocabularies_sum_to_one_and_em_climbs() -> None:
    one = NGramModel(order=3).fit(sentences(0, 20))
    two = NGramModel(order=2, smoothing="witten-bell").fit(sentences(20, 60))
    dev = sentences(60, 64)
    mixture = Mixture([one, two]).fit(dev)
    assert mixture.trace_ == sorted(mixture.trace_)
    assert mixture.weights_.sum() == pytest.approx(1.0)
    best, shift = mixture.perplexity(dev), np.array([0.02, -0.02])
    for weights in ([0.5, 0.5], mixture.weights_ + shift, mixture.weights_ - shift, [1, 0], [0, 1]):
        assert best <= Mixture([one, two], weights=weights).perplexity(dev) * (1 + 1e-9)
    for context in ([], ["the"], ["of", "the"], ["nosuchword"]):
        p = mixture.distribution(context)
        assert p.sum() == pytest.approx(1.0, abs=1e-10)
        assert p[0] > 0
    words = mixture.words_.to_list()
    rows = mixture.token_scores([["the", "moon"]])
    assert 10 ** rows[0][0] == pytest.approx(mixture.distribution(start=True)[words.index("the")])
    merged = mixture.merged()
    check_sums(merged)
    assert merged.perplexity(dev) == pytest.approx(best, rel=0.02)
    assert merged.words_.to_list() == words
    scores = mixture.scores(dev)
    assert scores.unknown.tolist() == merged.scores(dev).unknown.tolist()


def test_bad_mixtures_are_refused() -> None:
    one, two = NGramModel(order=1).fit(["a b"]), NGramModel(order=1, tokenizer=Tokenizer(case="keep")).fit(["a"])
    for models, weights, fault in (
        ([one], None, "at least two"),
        ([one, two], None, "different ways"),
        ([one, one], [1.0], "2 numbers"),
        ([one, one], [-1.0, 2.0], "from 0 on"),
    ):
        with pytest.raises(DataError, match=fault):
            Mixture(models, weights=weights)
    with pytest.raises(DataError, match="no word"):
        Mixture([one, one]).fit([])


def test_perplexities_are_those_of_srilm_by_hand() -> None:
    model = NGramModel(order=2).fit(["to be or not to be", "to do"])
    report = perplexity_report(model, {"a": ["to be", "to see"], "b": ["do not"]})
    rows = [model.token_scores([text])[0] for text in ("to be", "to see", "do not")]
    total = sum(row.sum() for row in rows) - rows[1][1]
    assert report.ppl == pytest.approx(10 ** (-total / (6 - 1 + 3)))
    assert report.ppl1 == pytest.approx(10 ** (-total / (6 - 1)))
    opened = perplexity_report(model, [["to be", "to see"]], open_vocabulary=True)
    assert opened.ppl == pytest.approx(model.perplexity(["to be", "to see"]))
    assert int(report.hits.sum()) == 8
    assert report.lines()[1].startswith("0 zeroprobs, logprob= ")
    assert report.columns()["document"] == ["a", "b"]
    assert math.isnan(perplexity_report(model, [["to be"], []]).ppl_by_document()[1])
    with pytest.raises(DataError, match="no word"):
        perplexity_report(model, [])
    with pytest.raises(DataError, match="1 documents but 2 names"):
        perplexity_report(model, [["to be"]], names=["x", "y"])


def test_the_page_has_pictures(katz: NGramModel) -> None:
    texts = [list(map(" ".join, sentences(i, i + 1))) for i in range(60, 64)]
    page = perplexity_report(katz, texts).report().render()
    assert page.count("<svg") == 3
    assert "ppl1" in page
