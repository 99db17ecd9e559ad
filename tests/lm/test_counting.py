"""The same counts within a limit of memory, on a cluster and in one piece."""

from __future__ import annotations

import itertools
import os
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textmill._native import lm as native
from textmill.corpus import PatternTokenizer, Sentences, read_documents, sample_texts
from textmill.errors import DataError
from textmill.lm import SMOOTHINGS, LeaveOneOut, NGramModel, arpa_of, counting

TEXTS = sample_texts()[:60]
ARRAYS = [
    "levels_",
    "last_words_",
    "children_",
    "suffixes_",
    "log_probability_",
    "log_back_off_",
    "counts_",
    "discounts_",
]


def check_equal(one: NGramModel, two: NGramModel) -> None:
    assert one.words_ == two.words_
    for name in ARRAYS:
        assert np.asarray(getattr(one, name)).tobytes() == np.asarray(getattr(two, name)).tobytes(), name
    assert one.sentences_ == two.sentences_


@pytest.mark.parametrize("threads", [1, 3])
def test_counts_are_those_of_a_dictionary(threads: int) -> None:
    """More places than one block takes, families of one and of thousands, and words of every width of characters."""
    rng = np.random.default_rng(1)
    names = ["a", "Straße", "日本", "\U0001d518w", "b" * 70_000, *(f"w{i}" for i in range(400))]
    ids = np.minimum(rng.zipf(1.3, size=40_000) - 1, len(names) - 1)
    cuts = np.sort(rng.integers(0, len(ids), 3_000))  # equal ones make empty sentences
    sentences = [[names[i] for i in part] for part in np.split(ids, cuts)]
    expected = Counter[tuple[str, ...]]()
    for sentence in sentences:
        words = ["<s>", *sentence, "</s>"]
        expected.update(tuple(words[i : i + n]) for n in range(1, 5) for i in range(len(words) - n + 1))
    model = NGramModel(order=4, n_jobs=threads).fit(sentences)
    arpa = arpa_of(model)
    words = model.words_.to_list()
    assert model.counts_ is not None
    rows = [tuple(words[w] for w in row) for order in arpa.orders for row in order.words.tolist()]
    seen = dict(zip(rows, model.counts_[1:].tolist(), strict=True))
    assert {ngram: count for ngram, count in seen.items() if count} == expected
    assert len(seen) == len(expected) + 1  # <unk> was never seen


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize("order", [1, 3])
def test_little_memory_gives_the_same_bytes(
    smoothing: str, order: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("textmill.corpus.tokenize.BATCH", 5000)
    parameters = {"order": order, "smoothing": smoothing, "min_counts": (1, 1, 2)[:order]}
    whole = NGramModel(**parameters).fit(Sentences(TEXTS))
    small = NGramModel(**parameters, memory="100kB").fit(Sentences(TEXTS))
    check_equal(whole, small)
    assert small.perplexity(TEXTS[:3]) == whole.perplexity(TEXTS[:3])
    small.save(tmp_path / "small.mill")
    whole.set_params(memory="100kB").save(tmp_path / "whole.mill")
    assert (tmp_path / "small.mill").read_bytes() == (tmp_path / "whole.mill").read_bytes()


def test_rare_words_and_vocabularies_within_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textmill.corpus.tokenize.BATCH", 5000)
    check_equal(
        NGramModel(order=2, min_count=3).fit(Sentences(TEXTS)),
        NGramModel(order=2, min_count=3, memory=1).fit(Sentences(TEXTS)),
    )
    words = ["the", "of", "moon"]
    check_equal(
        NGramModel(order=2).fit(Sentences(TEXTS), vocabulary=words),
        NGramModel(order=2, memory=1).fit(Sentences(TEXTS), vocabulary=words),
    )


def test_a_full_disk_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(DataError, match=r"no room for n-grams in .*TMPDIR"):
        NGramModel(order=2, memory="1MB").fit(TEXTS)
    with pytest.raises(DataError, match="memory must be"):
        NGramModel(order=2, memory="much").fit(TEXTS)


def test_nothing_is_left_in_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    NGramModel(order=3, memory="100kB").fit(TEXTS)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("smoothing", ["modified-kneser-ney", "katz"])
def test_a_cluster_gives_the_same_bytes(
    client: Any, smoothing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "_PIECE", 7)
    for i, text in enumerate(TEXTS):
        (tmp_path / f"{i:02}.txt").write_text(text, encoding="utf-8")
    documents = read_documents([str(tmp_path)])
    whole = NGramModel(order=3, smoothing=smoothing).fit(Sentences(text for text in documents.texts()))
    check_equal(whole, NGramModel(order=3, smoothing=smoothing).fit(Sentences(documents), cluster=client))
    check_equal(whole, NGramModel(order=3, smoothing=smoothing).fit(Sentences(TEXTS), cluster=client))
    words = whole.words_.to_list()[3:300]
    check_equal(
        NGramModel(order=2).fit(TEXTS, vocabulary=words),
        NGramModel(order=2).fit(TEXTS, vocabulary=words, cluster=client),
    )
    held_out = LeaveOneOut(NGramModel(order=2)).fit(Sentences(TEXTS), cluster=client)
    assert held_out.sentences_ == whole.sentences_
    with pytest.raises(DataError, match="no sentences"):
        NGramModel().fit([], cluster=client)


def test_long_texts_are_counted_alike_by_any_number_of_threads() -> None:
    """Long enough for large pages, for several stretches of words and for every share of what stands before n-grams."""
    random = np.random.default_rng(5)
    tokens = (3 + random.zipf(1.3, 1_200_000) % 30_000).astype(np.int32)
    offsets = np.arange(0, len(tokens) + 1, 12)
    trees = [
        native.count(offsets, tokens, order=2, words=30_003, begin=1, end=2, threads=threads) for threads in (1, 2, 3)
    ]
    for arrays in zip(*trees, strict=True):
        assert arrays[0].tobytes() == arrays[1].tobytes() == arrays[2].tobytes()
    _, last, children, counts = trees[0]
    inner = tokens[: len(tokens) // 12 * 12].reshape(-1, 12)
    pairs, times = np.unique(inner[:, :-1] * np.int64(30_003) + inner[:, 1:], return_counts=True)
    parents = np.repeat(np.arange(len(children) - 1), np.diff(children))[30_003:] - 1
    keys, own = parents * np.int64(30_003) + last[30_004:], counts[30_004:]
    plain = (parents != 1) & (last[30_004:] != 2)
    assert np.array_equal(keys[plain], pairs)
    assert np.array_equal(own[plain], times)
    suffixes = np.empty(len(last), dtype=np.int32)
    native.suffixes(*trees[0][:3], suffixes, threads=2)
    rules = {"method": 0, "min_count": np.ones(2, np.int64), "limit": np.full(2, 7, np.int32), "begin": 1}
    numbers = [np.empty((3, len(last))) for _ in range(3)]
    for threads, (a, p, b) in enumerate(numbers, start=1):
        native.smooth(*trees[0][:3], suffixes, counts, a.view(np.int64), p, b, **rules, threads=threads)
    assert numbers[0].tobytes() == numbers[1].tobytes() == numbers[2].tobytes()


def test_faults_of_sentences_come_in_their_order_while_others_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_BATCH", 200)

    def stream(fault: int) -> Iterator[str]:
        for i in range(200):
            yield f"sentence {i}"
            if i == fault:
                raise OSError("the line is cut")

    keep = PatternTokenizer(pattern=r"\S+")
    for jobs in (1, 2):
        model = NGramModel(order=2, n_jobs=jobs)
        assert model.fit(stream(1000)).sentences_ == 200
        with pytest.raises(OSError, match="the line is cut"):
            model.fit(stream(150))
        lists = [["to", "be"]] * 99 + [["<s>", "be"]] + [["to"]] * 99
        with pytest.raises(DataError, match="sentence 99 holds the word '<s>'"):
            model.fit(lists)
        with pytest.raises(DataError, match="sentence 99 holds the word '<s>'"):
            model.fit(itertools.chain(lists[:102], (1 / 0 for _ in range(1))))
        assert NGramModel(order=1, n_jobs=jobs, tokenizer=keep).fit(stream(1000)).sentences_ == 200


def test_tokenizers_of_ones_own_are_called_in_the_thread_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_BATCH", 200)
    threads = set()

    def cut(text: str) -> list[str]:
        threads.add(threading.get_ident())
        return text.split()

    NGramModel(order=2, tokenizer=cut, n_jobs=2).fit(["to be"] * 50)
    assert threads == {threading.get_ident()}
