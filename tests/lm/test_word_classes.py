from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.word_classes import log_likelihood, partitions, set_partitions
from sklearn.metrics import adjusted_rand_score

import textmill
from textmill._native import lm as native
from textmill.corpus import sample_texts, split_sentences
from textmill.errors import DataError, ModelFileError
from textmill.lm import WordClasses

TOY = [["a", "b", "a", "b"], ["c", "b"]]
A, B, C, BOUNDARY = 0, 1, 2, 3


def exchange(class_of: list[int], sentences: list[list[int]], boundary: int, classes: int, candidates: int = 99) -> Any:
    offsets = np.cumsum([0, *map(len, sentences)])
    tokens = np.array([token for row in sentences for token in row], dtype=np.int32)
    return native.Exchange(
        offsets,
        tokens,
        boundary=boundary,
        class_of=np.array(class_of, dtype=np.int32),
        classes=classes,
        candidates=candidates,
        threads=2,
    )


@pytest.mark.parametrize(
    ("classes", "class_part"), [([1, 2, 1, 0], -9.887511), ([1, 2, 2, 0], -13.862944), ([1, 1, 1, 0], -15.955936)]
)
def test_likelihoods_of_the_worked_example(classes: list[int], class_part: float) -> None:
    machine = exchange(classes, [[A, B, A, B], [C, B]], BOUNDARY, 3)
    words = sum(n * math.log(n) for n in (3, 2, 2, 1))
    assert machine.log_likelihood() - words == pytest.approx(class_part, abs=1e-6)
    if classes == [1, 2, 1, 0]:
        assert machine.transitions().reshape(3, 3).tolist() == [[0, 2, 0], [0, 0, 3], [2, 1, 0]]
        assert machine.log_likelihood() == pytest.approx(-3.819085, abs=1e-6)
        assert math.exp(-machine.log_likelihood() / 8) == pytest.approx(1.611855, abs=1e-6)


def test_exchange_finds_the_classes_of_the_worked_example() -> None:
    classes = WordClasses(n_classes=2).fit(TOY)
    assert classes.class_of("a") == classes.class_of("c") != classes.class_of("b")
    assert classes.trace_[-1] == pytest.approx(-3.819085, abs=1e-6)


texts = st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=7), min_size=2, max_size=12)


@given(sentences=texts, n_classes=st.integers(1, 4), candidates=st.sampled_from([1, 2, None]), start=st.booleans())
@settings(max_examples=60)
def test_likelihood_is_kept_exactly_and_never_falls(
    sentences: list[list[str]], n_classes: int, candidates: int | None, start: bool
) -> None:
    words = sorted({word for row in sentences for word in row})
    if len(words) < n_classes:
        return
    ids = {word: i for i, word in enumerate(words)}
    generator = np.random.default_rng(len(words))
    first = generator.integers(1, n_classes + 1, len(words)).tolist() if start else [1] * len(words)
    machine = exchange(
        [*first, 0], [[ids[w] for w in row] for row in sentences], len(words), n_classes + 1, candidates or 99
    )
    order = np.arange(len(words), dtype=np.int32)
    before = machine.log_likelihood()
    for _ in range(6):
        moves = machine.sweep(order, np.array([1, n_classes + 1], dtype=np.int32))
        after = machine.log_likelihood()
        class_of = dict(zip(words, machine.class_of().tolist(), strict=False))
        assert after == pytest.approx(machine.recomputed(), abs=1e-8)
        assert after == pytest.approx(log_likelihood(sentences, class_of), abs=1e-8)
        assert after >= before - 1e-9
        before = after
        if not moves:
            break
    else:
        pytest.fail("exchange goes round in circles")


def test_exchange_mostly_finds_the_best_partition_of_a_few_words() -> None:
    hits = 0
    for seed in range(30):
        generator = np.random.default_rng(seed)
        names = list("abcdef")
        sentences = [[names[w] for w in generator.integers(0, 6, generator.integers(2, 6))] for _ in range(8)]
        words = sorted({w for row in sentences for w in row})
        best = max(log_likelihood(sentences, given) for given in set_partitions(words, 2))
        attempts = [
            WordClasses(n_classes=2, init="random", random_state=start, tolerance=0.0).fit(sentences).trace_[-1]
            for start in range(4)
        ]
        assert max(attempts) <= best + 1e-9
        hits += max(attempts) >= best - 1e-9
    assert hits >= 20  # a local optimum now and then


def planted(seed: int, n: int = 3000, n_classes: int = 4, members: int = 6) -> tuple[list[list[str]], dict[str, int]]:
    generator = np.random.default_rng(seed)
    transition = generator.dirichlet(np.full(n_classes, 0.3), n_classes)
    sentences = []
    for _ in range(n):
        c, row = int(generator.integers(n_classes)), []
        for _ in range(8):
            row.append(f"{c}-{generator.integers(members)}")
            c = int(generator.choice(n_classes, p=transition[c]))
        sentences.append(row)
    return sentences, {f"{c}-{m}": c for c in range(n_classes) for m in range(members)}


@pytest.mark.parametrize("n_candidates", [2, None])
def test_planted_classes_are_recovered(n_candidates: int | None) -> None:
    sentences, truth = planted(1)
    classes = WordClasses(n_classes=4, n_candidates=n_candidates, tolerance=0.0).fit(sentences)
    assert adjusted_rand_score(list(truth.values()), [classes.class_of(word) for word in truth]) >= 0.95


def test_few_exact_gains_give_nearly_the_likelihood_of_all() -> None:
    sentences = [split.split() for text in sample_texts()[:80] for split in split_sentences(text)]
    likelihoods = [
        WordClasses(n_classes=30, min_count=2, n_candidates=n).fit(sentences).trace_[-1] for n in (None, 8, 1)
    ]
    words = WordClasses(n_classes=1, min_count=2).fit(sentences).trace_[-1]  # without any classes
    gains = [value - words for value in likelihoods]
    assert gains[1] > 0.97 * gains[0]
    assert gains[2] > 0.85 * gains[0]


def test_hierarchical_classes_have_codes_and_the_largest_are_split_first() -> None:
    sentences, truth = planted(2, n_classes=6)
    classes = WordClasses(n_classes=6, method="hierarchical").fit(sentences)
    codes = classes.codes_.to_list()
    assert codes[0] == ""
    assert len(set(codes[1:])) == 6
    assert sorted({len(code) for code in codes[1:]}) == [2, 3]
    prefix_free = all(not b.startswith(a) for a, b in itertools.permutations(codes[1:], 2))
    assert prefix_free
    assert adjusted_rand_score(list(truth.values()), [classes.class_of(word) for word in truth]) > 0.5


W5 = {
    "lexicon": {"a": 0.6, "c": 0.3, "b c": 0.1, "b": 0.7, "a b": 0.3},
    "classes": {"a": 1, "c": 1, "b c": 1, "b": 2, "a b": 2},
    "transition": [[0.0, 0.6, 0.4], [0.3, 0.2, 0.5], [0.3, 0.6, 0.1]],
}


def chunk_machine(chunks: list[str], letters: str) -> tuple[Any, dict[str, int]]:
    """A table of chunks, and the types of the chunks; words are numbered 3, 4, ... as in models."""
    ids = {letter: 3 + i for i, letter in enumerate(letters)}
    words = 3 + len(letters)
    pieces = [[ids[w] for w in chunk.split()] for chunk in chunks]
    offsets = np.cumsum([0, *map(len, pieces)])
    tokens = np.array([t for piece in pieces for t in piece], dtype=np.int32)
    longest = max(map(len, pieces))
    level, word, first, _ = native.count(offsets, tokens, order=longest, words=words, begin=1, end=2, threads=1)
    marked = np.ones(len(word), dtype=np.uint8)
    rows = {}
    for node in range(1 + words, len(word)):
        marked[node] = word[node] > 2
    parents = np.repeat(np.arange(len(first) - 1), np.diff(first))
    for node in range(1 + words, len(word)):
        parent = parents[node - 1]
        marked[node] &= marked[parent] & (word[parent] > 2)
    level, word, first, _ = native.select(level, word, first, marked)
    for chunk, piece in zip(chunks, pieces, strict=True):
        row = np.array([piece], dtype=np.int32)
        rows[chunk] = int(native.find(level, word, first, row)[0]) - 1
    return (native.ChunkTable(level, word, first), len(word) - 1, ids), rows


def test_partitions_of_the_worked_example() -> None:
    (table, types, ids), rows = chunk_machine(list(W5["lexicon"]), "abc")
    lexicon, class_of = np.full(types, -np.inf), np.zeros(types, dtype=np.int32)
    for chunk, p in W5["lexicon"].items():
        lexicon[rows[chunk]], class_of[rows[chunk]] = math.log(p), W5["classes"][chunk]
    with np.errstate(divide="ignore"):
        transition = np.log(np.array(W5["transition"]))
    tokens = np.array([ids[w] for w in "abc"], dtype=np.int32)
    offsets, chosen, best, total = table.segment(
        np.array([0, 3]), tokens, class_of=class_of, lexicon=lexicon, transition=transition, threads=1
    )
    assert math.exp(best[0]) == pytest.approx(0.006804, abs=1e-9)
    assert math.exp(total[0]) == pytest.approx(0.015444, abs=1e-9)
    assert total[0] == pytest.approx(-4.170535, abs=1e-6)
    assert offsets.tolist() == [0, 3]
    assert chosen.tolist() == [rows[w] for w in "abc"]
    assert class_of[chosen].tolist() == [1, 2, 1]


@given(seed=st.integers(0, 10_000), length=st.integers(1, 10), threads=st.sampled_from([1, 2, 5]))
@settings(max_examples=60)
def test_the_best_partition_is_that_of_enumeration(seed: int, length: int, threads: int) -> None:
    generator = np.random.default_rng(seed)
    letters = "abc"
    chunks = [" ".join(c) for n in (1, 2, 3) for c in itertools.product(letters, repeat=n)]
    (table, types, ids), rows = chunk_machine(chunks, letters)
    lexicon = np.full(types, -np.inf)
    class_of = np.ones(types, dtype=np.int32)
    used = [chunk for chunk in chunks if " " not in chunk or generator.random() < 0.5]
    for chunk in used:
        lexicon[rows[chunk]], class_of[rows[chunk]] = generator.normal(-2, 1), generator.integers(1, 4)
    transition = np.log(generator.dirichlet(np.ones(4), 4))
    words = [letters[i] for i in generator.integers(0, 3, length)]
    tokens = np.array([ids[w] for w in words], dtype=np.int32)
    _, chosen, best, total = table.segment(
        np.array([0, length]), tokens, class_of=class_of, lexicon=lexicon, transition=transition, threads=threads
    )
    scores = {}
    for cut in partitions(length, 3):
        pieces = [rows[" ".join(words[b:e])] for b, e in cut]
        path = [0, *(int(class_of[p]) for p in pieces), 0]
        score = sum(transition[a, b] for a, b in itertools.pairwise(path)) + sum(lexicon[p] for p in pieces)
        scores[tuple(pieces)] = score
    assert best[0] == pytest.approx(max(scores.values()), abs=1e-9)
    assert scores[tuple(chosen.tolist())] == pytest.approx(best[0], abs=1e-9)
    assert total[0] == pytest.approx(np.logaddexp.reduce(list(scores.values())), abs=1e-9)


def idioms(seed: int) -> list[list[str]]:
    generator = np.random.default_rng(seed)
    sentences = []
    for _ in range(1500):
        subject, verb, thing = (f"{kind}{generator.integers(30)}" for kind in "svo")
        tail = ["kick", "bucket"] if generator.random() < 0.4 else [thing]
        sentences.append([subject, verb, *tail])
    return sentences


def test_planted_idioms_come_out_as_chunks_and_likelihood_never_falls() -> None:
    classes = WordClasses(n_classes=6, max_length=3, held_out=0.0, tolerance=0.0).fit(idioms(3))
    assert classes.segment([["s1", "v2", "kick", "bucket"]])[0][-1].endswith("kick bucket")
    assert (np.diff(classes.trace_) >= -1e-6).all()
    assert len(classes.held_out_trace_) == 0


def test_held_out_sentences_end_the_cutting() -> None:
    sentences = [split.split() for text in sample_texts()[:120] for split in split_sentences(text)]
    classes = WordClasses(n_classes=12, max_length=4, min_chunk_count=4, min_count=2).fit(sentences)
    held = classes.held_out_trace_
    assert len(held) >= 2
    assert (np.diff(held)[:-1] >= 0).all()
    lengths = classes.lengths_of(np.flatnonzero(classes.counts_ > 0).astype(np.int32))
    assert lengths.max() > 1
    assert classes.counts_[len(classes.words_) :].max() >= 4
    cut = classes.segment(sentences[:20])
    assert [" ".join(row).count(" ") for row in cut] == [len(s) - 1 for s in sentences[:20]]
    assert classes.perplexity(sentences[:50]) == pytest.approx(math.exp(-classes.score(sentences[:50])))


def test_probabilities_of_all_short_sentences_of_a_word_model_sum_to_less_than_one() -> None:
    classes = WordClasses(n_classes=2, alpha=0.5).fit(TOY)
    sentences = [list(s) for n in range(1, 5) for s in itertools.product(["a", "b", "c", "other"], repeat=n)]
    total = np.exp(classes.scores(sentences)).sum()
    assert 0.5 < total <= 1.0


def test_same_bytes_for_any_number_of_threads_and_after_loading(tmp_path: Path) -> None:
    sentences = idioms(4)[:400]
    models = [WordClasses(n_classes=5, max_length=2, n_jobs=jobs).fit(sentences) for jobs in (1, 2, 5)]
    for model in models[1:]:
        assert (model.class_of_ == models[0].class_of_).all()
        assert (model.counts_ == models[0].counts_).all()
    models[0].save(tmp_path / "classes.mill")
    loaded = textmill.load(tmp_path / "classes.mill", expect=WordClasses)
    assert loaded.segment(sentences[:9]) == models[0].segment(sentences[:9])
    assert loaded.transform(sentences[:9]) == models[0].transform(sentences[:9])


def test_runs_of_several_types_do_not_depend_on_threads() -> None:
    generator = np.random.default_rng(3)
    words = np.minimum(generator.geometric(0.004, (600, 12)), 900).astype(str)  # 900 types, some of them frequent
    sentences = [row.tolist() for row in words]
    fitted = [WordClasses(n_classes=20, max_iter=6, n_jobs=jobs).fit(sentences) for jobs in (1, 2, 5)]
    assert fitted[0].n_iter_ > 2
    for other in fitted[1:]:
        assert other.class_of_.tobytes() == fitted[0].class_of_.tobytes()
        assert other.trace_.tobytes() == fitted[0].trace_.tobytes()
    assert (np.diff(fitted[0].trace_) > -1e-6).all()


def test_unknown_words_share_the_class_of_rare_ones() -> None:
    sentences = [["the", "mill", "turns"]] * 5 + [["the", word, "turns"] for word in ("wheel", "stone", "sail")]
    classes = WordClasses(n_classes=3).fit(sentences)
    assert classes.class_of("unheard") == classes.class_of("wheel")


@pytest.mark.parametrize(
    ("parameters", "sentences", "message"),
    [
        ({"n_classes": 9}, TOY, "too few for n_classes=9"),
        ({"n_classes": 9, "method": "hierarchical"}, TOY, "too few"),
        ({"n_classes": 0}, TOY, "n_classes"),
        ({"method": "random"}, TOY, "method"),
        ({"alpha": 0.0}, TOY, "alpha"),
        ({}, [], "no sentences"),
        ({}, [[], []], "no words"),
        ({"n_classes": 1}, [["<s>"]], "its start or end"),
    ],
)
def test_bad_input_is_a_clear_error(parameters: dict[str, Any], sentences: list[list[str]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        WordClasses(**parameters).fit(sentences)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    classes = WordClasses(n_classes=2).fit(TOY)
    classes.class_of_ = classes.class_of_ + 5
    with pytest.raises(ModelFileError):
        classes.verify()


def test_kernels_refuse_what_is_out_of_range() -> None:
    with pytest.raises(ValueError, match="out of range"):
        exchange([1, 2, 9, 0], [[0, 1]], 3, 3)
    with pytest.raises(ValueError, match="boundary"):
        exchange([1, 2, 1, 0], [[0, 3]], 3, 3)
    machine = exchange([1, 2, 1, 0], [[0, 1]], 3, 3)
    with pytest.raises(ValueError, match="cannot be moved"):
        machine.sweep(np.array([3], dtype=np.int32), np.array([1, 3], dtype=np.int32))
    with pytest.raises(ValueError, match="groups"):
        machine.sweep(np.array([0], dtype=np.int32), np.array([1, 2], dtype=np.int32))
