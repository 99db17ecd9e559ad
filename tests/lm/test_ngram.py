from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.kneser_ney import KneserNey
from scipy import stats

import textmill
from textmill._native import lm as native
from textmill.corpus import Tokenizer, read_documents, sample_texts, split_sentences
from textmill.errors import DataError, ModelFileError
from textmill.lm import NGramModel, counting, ngram, read_model


def sentences_of_articles(articles: int = 60) -> list[list[str]]:
    cut = Tokenizer()
    return [cut(sentence) for text in sample_texts()[:articles] for sentence in split_sentences(text)]


def random_sentences(seed: int, n: int, words: int, length: int = 8) -> list[list[str]]:
    random = np.random.default_rng(seed)
    p = 1 / np.arange(1, words + 1)
    return [[f"w{w}" for w in random.choice(words, random.integers(0, length), p=p / p.sum())] for _ in range(n)]


@given(seed=st.integers(0, 2**31), order=st.integers(1, 5), words=st.integers(1, 12), n=st.integers(1, 60))
@settings(max_examples=60)
def test_probabilities_are_those_of_the_definition(seed: int, order: int, words: int, n: int) -> None:
    sentences = random_sentences(seed, n, words)
    model, slow = NGramModel(order=order, n_jobs=2).fit(sentences), KneserNey(sentences, order)
    assert model.discounts_ == pytest.approx(np.array(slow.discounts), rel=1e-12)
    for sentence in random_sentences(seed + 1, 5, words + 2):
        padded = ["<s>", *(word if word in slow.words else "<unk>" for word in sentence), "</s>"]
        expected = [slow.p(padded[i], tuple(padded[max(0, i - order + 1) : i])) for i in range(1, len(padded))]
        assert 10 ** model.token_scores([sentence])[0] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_discounts_of_real_sentences_are_exact_and_probabilities_too(order: int) -> None:
    sentences = sentences_of_articles(272)
    model, slow = NGramModel(order=order).fit(sentences), KneserNey(sentences, order)
    assert model.discounts_ == pytest.approx(np.array(slow.discounts), rel=1e-12)
    assert len({*model.discounts_[-1].tolist()}) == 3  # no fallback
    padded = ["<s>", *sentences[3], "</s>"]
    expected = [slow.p(padded[i], tuple(padded[max(0, i - order + 1) : i])) for i in range(1, len(padded))]
    assert 10 ** model.token_scores(sentences[3:4])[0] == pytest.approx(expected, rel=1e-10)


@given(seed=st.integers(0, 2**31), order=st.integers(1, 4), words=st.integers(1, 9), n=st.integers(1, 40))
@settings(max_examples=40)
def test_probabilities_sum_to_one_in_every_context(seed: int, order: int, words: int, n: int) -> None:
    model = NGramModel(order=order).fit(random_sentences(seed, n, words))
    contexts = [sentence[:2] for sentence in random_sentences(seed + 1, 10, words + 1)]
    for context in [[], *contexts]:
        for start in (False, True):
            p = model.distribution(context, start=start)
            assert p.sum() == pytest.approx(1.0, abs=1e-12)
            assert p[ngram.BEGIN] == 0
            assert (np.delete(p, ngram.BEGIN) > 0).all()


def test_every_context_of_a_real_model_sums_to_one() -> None:
    model = NGramModel(order=3).fit(sentences_of_articles(20))
    levels = model.levels_.tolist()
    words = model.words_.to_list()
    parents = np.repeat(np.arange(levels[3]), np.diff(model.children_))  # of the nodes from 1 on
    for node in range(levels[2], levels[3], 7):
        context = [words[model.last_words_[parents[node - 1]]], words[model.last_words_[node]]]
        start = context[0] == "<s>"
        p = model.distribution(context[start:], start=start)
        assert p.sum() == pytest.approx(1.0, abs=1e-11)


def test_scores_do_not_depend_on_threads_chunks_or_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = sentences_of_articles()
    models = [NGramModel(order=3, n_jobs=jobs).fit(sentences) for jobs in (1, 2, 5)]
    monkeypatch.setattr(counting, "_TOKENS", 1000)
    monkeypatch.setattr("textmill.corpus.tokenize.BATCH", 5000)
    models.append(NGramModel(order=3, n_jobs=2).fit(sentences))
    first = models[0]
    for model in models[1:]:
        assert model.words_ == first.words_
        for name in (
            "levels_",
            "last_words_",
            "children_",
            "suffixes_",
            "log_probability_",
            "log_back_off_",
            "counts_",
        ):
            assert np.array_equal(getattr(model, name), getattr(first, name)), name
        assert model.sample(20, random_state=3) == first.sample(20, random_state=3)
        assert model.scores(sentences).log_probability.tolist() == first.scores(sentences).log_probability.tolist()


def test_texts_are_cut_like_lists_of_their_tokens() -> None:
    texts = ["To be, or not to be!", "That is the question."]
    cut = Tokenizer()
    by_text, by_tokens = NGramModel(order=2).fit(texts), NGramModel(order=2).fit([cut(text) for text in texts])
    assert np.array_equal(by_text.log_probability_, by_tokens.log_probability_)
    stemmed = NGramModel(order=2, tokenizer=Tokenizer(stem="english")).fit(["the mills turned"])
    assert stemmed.words_.to_list()[3:] == ["the", "mill", "turn"]


def test_rare_words_count_as_unknown_ones() -> None:
    sentences = random_sentences(0, 200, 40)
    counts = Counter(word for sentence in sentences for word in sentence)
    model = NGramModel(order=3, min_count=5).fit(sentences)
    known = {word for word, count in counts.items() if count >= 5}
    assert {*model.words_.to_list()[3:]} == known
    replaced = [[word if word in known else "<unk>" for word in sentence] for sentence in sentences]
    same = NGramModel(order=3).fit(replaced)
    for context in (["w0"], ["w1", "w0"], ["w39"]):
        p, q = model.distribution(context), same.distribution(context)
        for word in [*known, "<unk>", "</s>"]:
            assert p[model.id_of(word)] == pytest.approx(q[same.id_of(word)], rel=1e-12)


def test_unknown_words_are_counted_and_can_be_left_out() -> None:
    model = NGramModel(order=2).fit(["to be or not to be", "to be good"])
    found = model.scores(["to be", "xyzzy to xyzzy", ""])
    assert found.words.tolist() == [3, 4, 1]
    assert found.unknown.tolist() == [0, 2, 0]
    rows = model.token_scores(["to be", "xyzzy to xyzzy", ""])
    assert found.log_probability == pytest.approx([row.sum() for row in rows])
    assert found.unknown_log_probability == pytest.approx([0, rows[1][0] + rows[1][2], 0])
    assert model.perplexity(["to be"]) == pytest.approx(10 ** -rows[0].mean())
    assert model.score(["to be"]) == pytest.approx(rows[0].mean() * np.log(10))
    assert found.per_word("nats")[0] == pytest.approx(rows[0].mean() * np.log(10))
    assert found.perplexity(unknown=False) < found.perplexity()
    assert model.token_scores(["to"], unit="bits")[0] == pytest.approx(np.log2(10) * model.token_scores(["to"])[0])


def test_a_unigram_model_is_sampled_with_its_probabilities() -> None:
    model = NGramModel(order=1).fit(random_sentences(1, 300, 30))
    drawn = Counter(
        word for sentence in model.sample(30_000, random_state=1, unknown=True) for word in [*sentence, "</s>"]
    )
    p = model.distribution()
    counts = np.array([drawn[word] for word in model.words_])
    others = np.arange(len(p)) != ngram.BEGIN
    assert stats.chisquare(counts[others], p[others] * counts.sum()).pvalue > 1e-3


@pytest.mark.parametrize("unknown", [True, False])
def test_trigrams_are_sampled_with_their_smoothed_probabilities(unknown: bool) -> None:
    model = NGramModel(order=3).fit(random_sentences(2, 60, 8, length=6))
    followers: dict[tuple[str, ...], Counter[str]] = {}
    for sentence in model.sample(40_000, random_state=2, unknown=unknown):
        padded = ["<s>", *sentence, "</s>"]
        for i in range(1, len(padded)):
            followers.setdefault(tuple(padded[max(0, i - 2) : i]), Counter())[padded[i]] += 1
    tested = 0
    for context, counter in followers.items():
        if sum(counter.values()) < 4000:
            continue
        start = context[0] == "<s>"
        p = model.distribution(context[start:], start=start)
        if not unknown:
            p[ngram.UNKNOWN] = 0
            p /= p.sum()
        counts = np.array([counter[word] for word in model.words_])
        there = p > 0
        assert stats.chisquare(counts[there], p[there] * counts.sum()).pvalue > 1e-4, context
        tested += 1
    assert tested >= 6


def test_samples_of_the_worked_example(tmp_path: Path) -> None:
    (tmp_path / "bare.arpa").write_text(  # no smoothing: nothing else can follow
        "\\data\\\nngram 1=5\nngram 2=3\n\n\\1-grams:\n-99\t<unk>\n-99\t<s>\t-99\n-0.5\t</s>\n"
        "-0.5\tx\t-99\n-0.5\ty\t-99\n\n"
        "\\2-grams:\n0\t<s> x\n0\tx y\n0\ty </s>\n\n\\end\\\n"
    )
    assert read_model(tmp_path / "bare.arpa").sample(1000, random_state=0) == [["x", "y"]] * 1000
    model = NGramModel(order=2, smoothing="witten-bell").fit(["x y", "x z"])
    x, y = model.id_of("x"), model.id_of("y")
    p_y = 0.6 / 6 + 0.4 / 5  # 6 counts of 4 words, above a uniform distribution of 5
    p = float(model.distribution(["x"])[y])
    assert p == pytest.approx(0.5 * 0.5 + 0.5 * p_y, abs=1e-12)
    offsets, ids = model.sample_ids(150_000, random_state=1, unknown=True)
    starts = np.flatnonzero(ids == x)
    inside = np.setdiff1d(starts, offsets[1:] - 1)  # behind a last word comes the end
    followed = int((ids[inside + 1] == y).sum())
    assert len(starts) > 100_000
    assert abs(followed / len(starts) - p) < 3 * math.sqrt(p * (1 - p) / len(starts))


def test_the_smoothed_bigrams_of_the_worked_example_are_sampled(tmp_path: Path) -> None:
    """P(y | x) = 1 / 4 + 1 / 12, from unigrams that are not smoothed themselves; a million draws."""
    unigrams = {"<unk>": -99.0, "<s>": -99.0, "</s>": 2 / 6, "x": 2 / 6, "y": 1 / 6, "z": 1 / 6}
    shorter = {"<s>": 1 / 3, "x": 0.5, "y": 0.5, "z": 0.5}  # 1 - lambda: c(h) = 2, 2, 1, 1 and N1+(h) = 1, 2, 1, 1
    seen = {("<s>", "x"): 1.0, ("x", "y"): 0.5, ("x", "z"): 0.5, ("y", "</s>"): 1.0, ("z", "</s>"): 1.0}
    lines = ["\\data\\", "ngram 1=6", "ngram 2=5", "", "\\1-grams:"]
    for word, p in unigrams.items():
        back_off = f"\t{math.log10(shorter[word]):.12f}" if word in shorter else ""
        lines.append(f"{math.log10(p) if p > 0 else p:.12f}\t{word}{back_off}")
    lines += ["", "\\2-grams:"]
    for (h, w), share in seen.items():
        lines.append(f"{math.log10((1 - shorter[h]) * share + shorter[h] * unigrams[w]):.12f}\t{h} {w}")
    (tmp_path / "smoothed.arpa").write_text("\n".join([*lines, "", "\\end\\", ""]))
    model = read_model(tmp_path / "smoothed.arpa")
    x, y = model.id_of("x"), model.id_of("y")
    p = float(model.distribution(["x"])[y])
    assert p == pytest.approx(0.333333, abs=1e-6)
    offsets, ids = model.sample_ids(900_000, random_state=2, unknown=True)
    starts = np.flatnonzero(ids == x)
    assert len(starts) > 1_000_000
    last = np.zeros(len(ids), dtype=bool)
    last[offsets[1:] - 1] = True  # behind a last word comes the end
    followed = int((ids[starts[~last[starts]] + 1] == y).sum())
    assert abs(followed / len(starts) - p) < 3 * math.sqrt(p * (1 - p) / len(starts))


def test_samples_follow_a_hundred_frequent_contexts_and_always_end() -> None:
    model = NGramModel(order=3).fit(sentences_of_articles())
    offsets, ids = model.sample_ids(40_000, random_state=3, longest=10_000, unknown=True)
    assert int(np.diff(offsets).max()) < 10_000
    padded = np.full(len(ids) + 80_000, -1, dtype=np.int32)
    padded[offsets[:-1] + 2 * np.arange(40_000)] = ngram.BEGIN
    padded[offsets[1:] + 2 * np.arange(40_000) + 1] = ngram.END
    padded[padded < 0] = ids
    inner = (padded[:-1] != ngram.END) & (padded[1:] != ngram.END)  # a context does not reach over sentences
    places = np.flatnonzero(inner)
    contexts = padded[places].astype(np.int64) * len(model.words_) + padded[places + 1]
    order = np.argsort(contexts, kind="stable")
    keys, first, counts = np.unique(contexts[order], return_index=True, return_counts=True)
    words = model.words_.to_list()
    values = []
    for at in np.argsort(-counts)[:100]:
        context = [words[i] for i in divmod(int(keys[at]), len(words))]
        start = context[0] == "<s>"
        p = model.distribution(context[start:], start=start)
        drawn = np.bincount(padded[places[order[first[at] : first[at] + counts[at]]] + 2], minlength=len(words))
        expected = p * counts[at]
        frequent = expected >= 5
        tested = [*drawn[frequent], drawn[~frequent].sum()], [*expected[frequent], expected[~frequent].sum()]
        values.append(stats.chisquare(*tested).pvalue)
    assert min(values) > 1e-5
    assert 0.3 < np.mean(values) < 0.7


def test_samples_go_on_after_a_context_and_end_in_time() -> None:
    model = NGramModel(order=3).fit(["a b c", "a b d"] * 20)
    assert {sentence[0] for sentence in model.sample(50, context=["a", "b"], random_state=0) if sentence} >= {"c", "d"}
    assert max(map(len, model.sample(50, longest=2, random_state=0))) == 2
    assert model.sample(0) == []
    assert "<unk>" not in {word for sentence in model.sample(500, random_state=5) for word in sentence}


def test_a_saved_model_scores_the_same(tmp_path: Path) -> None:
    model = NGramModel(order=3).fit(sentences_of_articles(10))
    model.save(tmp_path / "lm.mill")
    again = textmill.load(tmp_path / "lm.mill", verify=True)
    assert again.token_scores(["the mill"])[0].tolist() == model.token_scores(["the mill"])[0].tolist()
    again.save(tmp_path / "again.mill")
    assert (tmp_path / "again.mill").read_bytes() == (tmp_path / "lm.mill").read_bytes()


def test_a_damaged_tree_is_refused() -> None:
    model = NGramModel(order=3).fit(sentences_of_articles(5))
    for name, change in [
        ("levels_", lambda a: a[::-1].copy()),
        ("last_words_", lambda a: a[::-1].copy()),
        ("children_", lambda a: a + 1),
        ("suffixes_", lambda a: a * 0 + len(a) - 1),
        ("log_probability_", lambda a: a * np.nan),
        ("log_back_off_", lambda a: a[:-1]),
        ("children_", lambda a: a[:1]),
    ]:
        broken = NGramModel(order=3).fit(sentences_of_articles(5))
        setattr(broken, name, change(getattr(model, name)))
        vars(broken).pop("_made", None)
        with pytest.raises((ModelFileError, ValueError)):
            broken.check_values()


def test_bad_input_is_named() -> None:
    with pytest.raises(DataError, match="there are no sentences"):
        NGramModel().fit([])
    with pytest.raises(DataError, match="order must be"):
        NGramModel(order=0).fit(["a"])
    with pytest.raises(DataError, match="sentence 1 holds the word '</s>'"):
        NGramModel().fit([["a"], ["b", "</s>"]])
    with pytest.raises(DataError, match="not fitted"):
        NGramModel().perplexity(["a"])
    with pytest.raises(DataError, match="pass \\['a', 'b'\\]"):
        NGramModel().fit(["a"]).distribution("a b")
    with pytest.raises(DataError, match="there is no word"):
        NGramModel().fit(["a"]).perplexity([])
    with pytest.raises(DataError, match="unit must be"):
        NGramModel().fit(["a"]).token_scores(["a"], unit="octets")
    with pytest.raises(DataError, match="got one text"):
        NGramModel().fit("one text")
    assert NGramModel().fit([""]).distribution(start=True).sum() == pytest.approx(1.0)


def test_the_bindings_check_what_they_are_given() -> None:
    level, word, first, counts = native.count(
        np.array([0, 2]), np.array([3, 4], np.int32), order=2, words=5, begin=1, end=2, threads=1
    )
    with pytest.raises(ValueError, match="below 3"):
        native.count(np.array([0, 2]), np.array([3, 4], np.int32), order=2, words=3, begin=1, end=2, threads=1)
    with pytest.raises(ValueError, match="new number"):
        native.combine([(level, word, first, counts)], [np.full(5, 9, np.int32)], words=5, threads=1)
    with pytest.raises(ValueError, match="longer than the tree"):
        native.find(level, word, first, np.zeros((1, 3), np.int32))
    rules = {"method": 0, "min_count": np.array([1, 1]), "limit": np.array([7, 7], np.int32), "begin": 1, "threads": 1}
    rows = np.empty(len(word), np.int64), np.empty(len(word)), np.empty(len(word))
    wrong = np.arange(len(word), dtype=np.int32)
    with pytest.raises(ValueError, match="shorter n-gram"):
        native.smooth(level, word, first, wrong, counts, *rows, **rules)
    native.suffixes(level, word, first, wrong, threads=1)
    native.smooth(level, word, first, wrong, counts, *rows, **rules)
    with pytest.raises(ValueError, match="two numbers"):
        native.smooth(level, word, first, wrong, counts, rows[0], rows[1], rows[2][1:].copy(), **rules)
    with pytest.raises(ValueError, match="no method 7"):
        native.smooth(level, word, first, wrong, counts, *rows, **rules | {"method": 7})
    with pytest.raises(ValueError, match="not fall"):
        native.smooth(level, word, first, wrong, counts, *rows, **rules | {"min_count": np.array([2, 1])})


@pytest.mark.data
def test_reuters_is_less_surprising_with_longer_contexts(data: Path) -> None:
    texts = [document.text for document in read_documents(data / "reuters" / "reuters21578.jsonl.gz")][:3000]
    sentences = [sentence for text in texts for sentence in split_sentences(text)]
    held_out, learned = sentences[::10], [s for i, s in enumerate(sentences) if i % 10]
    perplexities = [NGramModel(order=n).fit(learned).perplexity(held_out) for n in (1, 2, 3)]
    assert perplexities == sorted(perplexities, reverse=True)
