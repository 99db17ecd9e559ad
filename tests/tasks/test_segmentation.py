"""Cutting texts by topic: the numbers of the specification, brute force, limits, forms, bad input."""

from __future__ import annotations

import dataclasses
import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.scalable_semantics.baselines import Fixed, NoBoundary, Random
from papers.scalable_semantics.building import concatenations
from textmill._native import tasks as native
from textmill.corpus import Document, Tokenizer, parse_choi, read_choi, write_choi
from textmill.errors import DataError
from textmill.metrics import Segmentation, window_diff
from textmill.tasks.language import LanguageSegmenter
from textmill.tasks.segmentation import (
    C99,
    METHODS,
    Chunker,
    LSITiling,
    MaximumProbability,
    TextTiling,
    TopicSegmenter,
    draw_scores,
    draw_segments,
    evaluate_segmenters,
    reference_of,
    scores_page,
    segment_stream,
    segmenter_of,
    segments_page,
    stability,
    tokenized,
)
from textmill.tasks.segmentation.probability import laplace
from textmill.tasks.segmentation.rules import choose_gaps, threshold_of
from textmill.tasks.segmentation.segmenter import gaps_of
from textmill.tasks.segmentation.signals import Contexts, depth_scores, gap_signal, local_minima, smooth
from textmill.tasks.segmentation.streams import StreamedSpace
from textmill.tasks.segmentation.texts import unit_counts

SIGNAL = np.array([0.9, 0.8, 0.3, 0.7, 0.95, 0.9, 0.5, 0.6, 0.4, 0.9])
SYNONYMS = (
    "car road car road auto road auto road auto road car road fish sea fish sea shark sea shark sea fish sea shark sea"
)
RANKED = [[5, 4, 1, 1], [4, 5, 2, 1], [1, 2, 5, 6], [1, 1, 6, 5]]
SIMILAR = [[1, 0.6, 0.5, 0.1, 0, 0.05], [0.6, 1, 0.7, 0.1, 0.05, 0], [0.5, 0.7, 1, 0.2, 0.1, 0.1],
           [0.1, 0.1, 0.2, 1, 0.6, 0.5], [0, 0.05, 0.1, 0.6, 1, 0.8], [0.05, 0, 0.1, 0.5, 0.8, 1]]  # fmt: skip
MILL, SKY, SEA = (
    "The mill wheel grinds grain. Flour leaves the mill in sacks. The miller sells flour. ",
    "A planet orbits its star. The moon is seen by night. Astronomers watch the star. ",
    "The ship sails the sea. Waves carry the ship. Sailors fear the storm at sea. ",
)
TOPICS = MILL * 20 + SKY * 20 + SEA * 20
ANY = [*METHODS, "auto"]


# --- signals ----------------------------------------------------------------------------------------------------------


def test_depths_minima_and_rules_of_the_specification():
    np.testing.assert_allclose(depth_scores(SIGNAL), [0, 0.1, 1.25, 0.25, 0, 0.05, 0.55, 0, 0.7, 0], atol=1e-12)
    assert local_minima(SIGNAL).tolist() == [2, 6, 8]
    expected = [0.85, 0.6667, 0.6, 0.65, 0.85, 0.7833, 0.6667, 0.5, 0.6333, 0.65]
    np.testing.assert_allclose(smooth(SIGNAL, 2, 1), expected, atol=5e-5)
    gaps = gaps_of(np.arange(1, 11), SIGNAL)
    assert choose_gaps(gaps, "depth", 1.0).tolist() == [2]
    assert choose_gaps(gaps, "hearst", 0.0).tolist() == [2, 8]
    assert choose_gaps(gaps, "liberal", 0.0).tolist() == [2, 6, 8]
    assert choose_gaps(gaps, "similarity", 0.45).tolist() == [2, 8]
    assert choose_gaps(gaps, "depth", 1.0, 2).tolist() == [2]
    assert threshold_of(gaps, "hearst", 0.0) == ("depth", pytest.approx(0.6829, abs=5e-5))
    assert threshold_of(gaps, "liberal", 0.0) == ("depth", pytest.approx(0.8333 - 0.3009, abs=1e-4))
    assert threshold_of(gaps, "similarity", 0.2) == ("similarity", 0.2)
    below = SIGNAL.mean() - SIGNAL.std() / 2
    assert choose_gaps(gaps, "signal", 0.0).tolist() == [i for i in (2, 6, 8) if SIGNAL[i] < below]


def test_a_plateau_has_one_minimum_and_equal_values_stay_equal():
    assert local_minima(np.array([3.0, 1.0, 1.0, 1.0, 2.0, 2.0, 0.0])).tolist() == [2]
    assert local_minima(np.array([1.0, 1.0])).tolist() == local_minima(np.zeros(0)).tolist() == []
    assert len(set(smooth(np.full(50, 0.1), 3, 2).tolist())) == 1


@pytest.mark.parametrize("dimensions", [2, 3])
def test_the_toy_of_two_topics(dimensions):
    text = "a b " * 4 + "x y " * 4
    tiles = LSITiling(sequence_tokens=2, context=2, n_dimensions=dimensions, smoothing=1)
    cut = tiles.segment(text)
    assert cut.gaps.positions.tolist() == [4, 6, 8, 10, 12]
    np.testing.assert_allclose(cut.gaps.similarity, [1, 0.7071, 0, 0.7071, 1], atol=5e-5)
    np.testing.assert_allclose(cut.gaps.depth, [0, 0.2929, 2, 0.2929, 0], atol=5e-5)
    assert cut.boundaries.tolist() == [8]
    contexts = Contexts(cut.text, cut.text.sequences(2), 2)
    assert contexts.counts().toarray().tolist() == [[2, 2, 0, 0]] * 3 + [[1, 1, 1, 1]] + [[0, 0, 2, 2]] * 3
    flat = LSITiling(sequence_tokens=2, context=2, n_dimensions=1, smoothing=1).segment(text)
    np.testing.assert_allclose(flat.gaps.similarity, 1)


def test_synonyms_meet_in_the_latent_space():
    counts = TextTiling(sequence_tokens=4, context=1, smoothing=1).segment(SYNONYMS)
    np.testing.assert_allclose(counts.gaps.similarity, [0.5, 0.866, 0, 0.5, 0.866], atol=5e-4)
    latent = LSITiling(sequence_tokens=4, context=1, n_dimensions=2, smoothing=1).segment(SYNONYMS)
    np.testing.assert_allclose(latent.gaps.similarity, [1, 1, 0, 1, 1], atol=1e-9)
    assert latent.boundaries.tolist() == [12]


def random_text(seed, tokens=700):
    random = np.random.default_rng(seed)
    return " ".join(f"w{i}" for i in np.minimum(random.zipf(1.3, tokens), 90))


@pytest.mark.parametrize("seed", range(20))
def test_signals_are_those_of_contexts_counted_one_by_one(seed):
    text, size, k = tokenized(random_text(seed)), 10, 4
    contexts = Contexts(text, text.sequences(size), k)
    edges = contexts.sequences.tolist()
    n = len(edges) - 1
    A = np.zeros((n - k + 1, len(text.terms)))
    for b in range(n - k + 1):
        for t in text.ids[edges[b] : edges[b + k]]:
            A[b, t] += 1
    np.testing.assert_array_equal(contexts.counts().toarray(), A)

    def cosine(V):
        return [V[g - k] @ V[g] / np.linalg.norm(V[g - k]) / np.linalg.norm(V[g]) for g in range(k, n - k + 1)]

    np.testing.assert_allclose(gap_signal(contexts, None), cosine(A), atol=1e-12)
    W = A * np.log(len(A) / (A > 0).sum(axis=0))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    np.testing.assert_allclose(contexts.tfidf().toarray(), W, atol=1e-12)
    U, s, _ = np.linalg.svd(W, full_matrices=False)
    for d in (2, 5, 8):
        vectors, values = contexts.latent(d)
        np.testing.assert_allclose(values, s[:d], atol=1e-9)
        np.testing.assert_allclose(gap_signal(contexts, vectors), cosine(U[:, :d] * s[:d]), atol=1e-8)
    largest, _ = contexts.latent(20)
    np.testing.assert_allclose(
        gap_signal(contexts, largest[:, :5]), gap_signal(contexts, contexts.latent(5)[0]), atol=1e-6
    )


def test_many_contexts_are_decomposed_as_few_are():
    text = tokenized(random_text(1, 9000))
    contexts = Contexts(text, text.sequences(20), 6)
    assert len(contexts) > 400
    W = contexts.tfidf().toarray()
    U, s, _ = np.linalg.svd(W, full_matrices=False)
    vectors, values = contexts.latent(5)
    np.testing.assert_allclose(values, s[:5], atol=1e-9)
    expected = gap_signal(contexts, U[:, :5] * s[:5])
    np.testing.assert_allclose(gap_signal(contexts, vectors), expected, atol=1e-8)


@pytest.mark.parametrize("method", ["lsitiling", "texttiling", "optimal"])
def test_other_numbers_of_words_change_nothing(method):
    text = tokenized(TOPICS + random_text(3))
    order = np.random.default_rng(1).permutation(len(text.terms))
    terms = [text.terms[i] for i in np.argsort(order)]
    other = dataclasses.replace(text, terms=terms, ids=order[text.ids].astype(np.int32))
    assert [other.terms[i] for i in other.ids[:50]] == [text.terms[i] for i in text.ids[:50]]
    one, two = (segmenter_of(method).segment(source) for source in (text, other))
    assert len(one) > 1
    np.testing.assert_allclose(one.gaps.similarity, two.gaps.similarity, atol=1e-9)
    assert one.boundaries.tolist() == two.boundaries.tolist()


def test_signs_of_dimensions_change_nothing():
    text = tokenized(random_text(5))
    contexts = Contexts(text, text.sequences(20), 6)
    vectors, _ = contexts.latent(5)
    signs = np.array([1, -1, -1, 1, -1])
    np.testing.assert_allclose(gap_signal(contexts, vectors * signs), gap_signal(contexts, vectors), atol=1e-12)


def test_a_topic_that_is_appended_adds_a_boundary_at_the_junction():
    junction = len(tokenized(MILL * 40))
    before = LSITiling().segment(MILL * 40).boundaries.tolist()
    behind = LSITiling().segment(MILL * 40 + SKY * 9).boundaries.tolist()
    assert len(tokenized(SKY * 9)) >= 120
    assert len(behind) == len(before) + 1
    assert abs(behind[-1] - junction) <= 20


def test_fewer_dimensions_than_were_asked_for_are_told():
    cut = LSITiling(sequence_tokens=2, context=2, n_dimensions=20, smoothing=1).segment("a b " * 4 + "x y " * 4)
    assert cut.details["n_dimensions"] < cut.details["n_dimensions_asked"] == 20
    assert cut.boundaries.tolist() == [8]
    assert "n_dimensions_asked" not in LSITiling(n_dimensions=2).segment(TOPICS).details


def test_shifted_contexts_are_an_option():
    cut = LSITiling(overlap=True).segment(TOPICS)
    assert len(cut.gaps.similarity) == len(cut.gaps.positions)
    assert cut.gaps.similarity.min() > LSITiling().segment(TOPICS).gaps.similarity.min()


# --- C99 --------------------------------------------------------------------------------------------------------------


def test_ranks_and_divisions_of_the_specification():
    ranks = np.empty((4, 4), np.float32)
    native.rank_matrix(np.array(RANKED, np.float32), 3, ranks)
    expected = [[0.6667, 0.4, 0, 0], [0.4, 0.75, 0.375, 0], [0, 0.375, 0.5, 0.8], [0, 0, 0.8, 0]]
    np.testing.assert_allclose(ranks, expected, atol=5e-5)
    ranks = np.empty((6, 6), np.float32)
    native.rank_matrix(np.array(SIMILAR, np.float32), 11, ranks)
    parts = [(ranks[:p, :p].sum() + ranks[p:, p:].sum()) / (p * p + (6 - p) ** 2) for p in range(1, 6)]
    np.testing.assert_allclose(parts, [0.5011, 0.6057, 0.7111, 0.6171, 0.4879], atol=5e-5)
    for exact in (False, True):
        cuts, density = native.divide(ranks, exact)
        assert (cuts[0], sorted(cuts[:2])) == (3, [1, 3])
        np.testing.assert_allclose(density[:2], [ranks.mean(), 0.7111], atol=5e-5)


@given(st.integers(2, 9), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_the_density_is_that_of_direct_sums(n, seed):
    R = np.random.default_rng(seed).random((n, n)).astype(np.float32)
    R = (R + R.T) / 2
    cuts, density = native.divide(R, True)
    made: list[int] = []
    for i, cut in enumerate(cuts.tolist()):
        best = max(direct(R, sorted([*made, p])) for p in range(1, n) if p not in made)
        made.append(cut)
        assert direct(R, sorted(made)) == pytest.approx(best, abs=1e-6)
        assert density[i + 1] == pytest.approx(best, abs=1e-6)


def direct(R, cuts):
    edges = [0, *cuts, len(R)]
    pairs = list(itertools.pairwise(edges))
    return sum(R[a:b, a:b].sum(dtype=float) for a, b in pairs) / sum((b - a) ** 2 for a, b in pairs)


def test_c99_takes_an_odd_neighborhood():
    with pytest.raises(DataError, match="neighborhood must be odd, got 10"):
        C99(neighborhood=10).segment(TOPICS)


@pytest.mark.parametrize("search", ["fast", "exact"])
@pytest.mark.parametrize("dimensions", [None, 4])
def test_banded_c99_with_a_band_as_wide_as_the_text_is_c99(monkeypatch, search, dimensions):
    options = {"search": search, "n_dimensions": dimensions, "band": 1000}
    whole = [C99(**options).segment(TOPICS, n_segments=m).boundaries.tolist() for m in (None, 3, 12)]
    monkeypatch.setattr("textmill.tasks.segmentation.c99._MOST", 1)
    assert [C99(**options).segment(TOPICS, n_segments=m).boundaries.tolist() for m in (None, 3, 12)] == whole


@given(
    st.lists(st.lists(st.integers(0, 4), min_size=0, max_size=4), min_size=2, max_size=14),
    st.integers(1, 14),
    st.sampled_from([1, 3, 11]),
    st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_banded_division_is_the_definition(units, band, r, exact):
    n, band = len(units), min(band, len(units))
    rows = np.array([np.bincount(unit, minlength=5) if unit else np.zeros(5) for unit in units], float)
    norms = np.sqrt((rows**2).sum(axis=1))
    norms[norms == 0] = 1.0
    S = (rows @ rows.T / norms / norms[:, None]).astype(np.float32)
    S = np.triu(S) + np.triu(S, 1).T
    near = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) < band
    R = np.zeros((n, n))
    for i, j in zip(*np.nonzero(near), strict=True):
        box = (slice(max(0, i - r // 2), i + r // 2 + 1), slice(max(0, j - r // 2), j + r // 2 + 1))
        others = int(near[box].sum()) - 1
        R[i, j] = np.float32((S[box][near[box]] < S[i, j]).sum()) / np.float32(others) if others else 0.0
    sparse = unit_counts(
        np.array([w for unit in units for w in unit], np.int32), np.cumsum([0, *map(len, units)]).astype(np.int64), 5
    )
    cuts, density = native.divide_band(
        sparse.indptr.astype(np.int64), sparse.indices.astype(np.int32), sparse.data, 5, r=r, band=band, exact=exact
    )
    assert sorted(cuts.tolist()) == list(range(1, n))
    for i in range(n):
        pairs = list(itertools.pairwise([0, *sorted(cuts[:i].tolist()), n]))
        inside = sum(R[a:b, a:b][near[a:b, a:b]].sum() for a, b in pairs)
        assert density[i] == pytest.approx(inside / sum(near[a:b, a:b].sum() for a, b in pairs), abs=1e-6)


def test_banded_c99_cuts_a_long_text_where_its_topics_change(monkeypatch):
    monkeypatch.setattr("textmill.tasks.segmentation.c99._MOST", 50)
    assert C99(band=60).segment(TOPICS, n_segments=4).boundaries.tolist() == (
        C99(band=1000).segment(TOPICS, n_segments=4).boundaries.tolist()
    )
    with pytest.raises(DataError, match="band must be a whole number at least 1"):
        C99(band=0).segment(TOPICS)


# --- shortest paths ---------------------------------------------------------------------------------------------------


def description_length(ids, vocabulary):
    counts = np.bincount(ids)
    counts = counts[counts > 0]
    return len(ids) * np.log(len(ids) + vocabulary) - (counts * np.log(counts + 1)).sum()


def every_cut(n):
    return (cuts for size in range(n) for cuts in itertools.combinations(range(1, n), size))


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), min_size=1, max_size=7),
    st.floats(0, 4),
    st.integers(0, 3),
)
@settings(max_examples=80, deadline=None)
def test_the_most_probable_cut_is_the_best_of_all(units, penalty, segments):
    ids = np.array([i for unit in units for i in unit], np.int32)
    ids = np.unique(ids, return_inverse=True)[1].astype(np.int32)
    offsets = np.cumsum([0, *map(len, units)]).astype(np.int64)
    V, n = int(ids.max()) + 1, len(units)
    segments = min(segments, n)
    gain, length = laplace(len(ids), V)

    def cost(cuts):
        edges = [0, *cuts, n]
        parts = [ids[offsets[a] : offsets[b]] for a, b in itertools.pairwise(edges)]
        return sum(description_length(part, V) + penalty for part in parts)

    allowed = [cuts for cuts in every_cut(n) if not segments or len(cuts) == segments - 1]
    cuts, possible = native.probable_cuts(
        ids, offsets, V, offsets, rows=np.zeros(V, np.int64), gain=gain, length=length, penalty=penalty,
        segments=segments, shortest=0, longest=99,
    )  # fmt: skip
    assert possible
    assert cost(cuts.tolist()) == pytest.approx(min(map(cost, allowed)), abs=1e-9)


@given(st.integers(1, 8), st.integers(0, 10**6), st.floats(0, 1), st.integers(0, 4), st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_the_most_compact_cut_is_the_best_of_all(n, seed, penalty, segments, shortest):
    vectors = np.random.default_rng(seed).normal(size=(n, 2))
    sizes = np.arange(n + 1, dtype=np.int64)
    segments = min(segments, n)

    def cost(cuts):
        parts = [vectors[a:b] for a, b in itertools.pairwise([0, *cuts, n])]
        return sum(((part - part.mean(axis=0)) ** 2).sum() + penalty for part in parts)

    allowed = [
        cuts
        for cuts in every_cut(n)
        if (not segments or len(cuts) == segments - 1)
        and all(b - a >= shortest for a, b in itertools.pairwise([0, *cuts, n]))
    ]
    cuts, possible = native.compact_cuts(
        vectors, sizes, penalty=penalty, segments=segments, shortest=shortest, longest=99
    )
    assert possible == bool(allowed)
    if allowed:
        assert cost(cuts.tolist()) == pytest.approx(min(map(cost, allowed)), abs=1e-9)


def test_the_length_of_segments_can_be_limited_in_the_search():
    vectors = np.repeat(np.eye(2), [8, 2], axis=0)
    sizes = np.arange(11, dtype=np.int64)
    cuts, possible = native.compact_cuts(vectors, sizes, penalty=0.1, segments=0, shortest=0, longest=5)
    assert possible
    assert np.diff([0, *cuts, 10]).max() <= 5
    assert native.compact_cuts(vectors, sizes, penalty=0.1, segments=1, shortest=0, longest=5)[1] is False


@pytest.mark.parametrize("method", ["auto", "probability", "c99", "optimal"])
def test_three_topics_are_three_segments(method):
    wanted = [len(tokenized(MILL * 20)), len(tokenized(MILL * 20 + SKY * 20))]
    assert np.abs(segmenter_of(method).segment(TOPICS, n_segments=3).boundaries - wanted).max() <= 20


def test_a_long_text_has_its_three_topics():
    text = MILL * 120 + SKY * 120 + SEA * 120
    cut = TopicSegmenter().segment(text)
    assert len(tokenized(text)) > 4000
    wanted = [len(tokenized(MILL * 120)), len(tokenized(MILL * 120 + SKY * 120))]
    assert len(cut) == 3
    assert np.abs(cut.boundaries - wanted).max() <= 20


def test_the_number_of_dimensions_may_follow_the_text():
    for dimensions in ("segments", "auto"):
        cut = LSITiling(n_dimensions=dimensions).segment(TOPICS)
        assert len(cut) == 3
        assert cut.details["n_dimensions"] >= 2


class Backwards:
    """A model that says how often each letter is in a text."""

    def transform(self, texts):
        return np.array([[text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts], float)


def test_any_model_can_give_the_vectors():
    cut = TextTiling(vectors=Backwards(), rule="depth", threshold=0.01).segment(TOPICS)
    assert len(cut) > 1
    mixed = LSITiling(background=Backwards(), background_weight=1.0).segment(TOPICS)
    np.testing.assert_allclose(mixed.gaps.similarity, cut.gaps.similarity)

    class Wrong:
        def transform(self, texts):
            return np.full((len(texts), 2), np.nan)

    with pytest.raises(DataError, match="not finite"):
        TextTiling(vectors=Wrong()).segment(TOPICS)


# --- limits and forms -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ANY)
def test_limits_hold_for_every_method(method):
    cut = segmenter_of(method).segment(TOPICS, min_tokens=50, max_tokens=120)
    assert "".join(cut) == TOPICS
    assert cut.masses.max() <= 120
    assert cut.masses.min() >= 50


def test_boundaries_move_to_breaks_within_reach():
    text = "\n\n".join([MILL * 4, SKY * 4, SEA * 4])
    cut = TextTiling(rule="liberal").segment(text, snap="paragraph", reach=1000)
    assert set(cut.boundaries.tolist()) <= set(tokenized(text).breaks("paragraph").tolist())
    assert Fixed(n_tokens=7).segment(text, snap="paragraph", reach=0).boundaries.tolist() == list(
        range(7, len(tokenized(text)), 7)
    )


def test_cuts_that_are_given_stay():
    cut = NoBoundary().segment(TOPICS, cuts=[len(MILL)])
    assert list(cut) == [MILL, TOPICS[len(MILL) :]]
    both = MaximumProbability().segment(TOPICS, cuts=[len(MILL)], n_segments=3)
    assert len(both) == 3
    assert len(MILL) in both.offsets.tolist()
    with pytest.raises(DataError, match="cuts must lie inside the text"):
        NoBoundary().segment("abc", cuts=[4])


def test_every_form_says_the_same():
    cut = TopicSegmenter().segment(TOPICS)
    assert "".join(cut) == "".join(TOPICS[a:b] for a, b in cut.spans) == TOPICS
    assert cut.segmentation() == Segmentation.from_masses(cut.masses)
    facts = json.loads(json.dumps(cut.to_json(texts=True, gaps=True)))
    assert [segment["text"] for segment in facts["segments"]] == list(cut)
    marks = cut.to_string()
    assert [i + 1 for i, mark in enumerate(marks) if mark == "1"] == cut.boundaries.tolist()
    sentences = parse_choi(cut.to_choi().splitlines())
    assert [len(tokenized("\n".join(lines))) for lines in sentences] == cut.masses.tolist()
    assert cut[0] + cut[1] + cut[2] == TOPICS
    assert cut[1:] == list(cut)[1:]


def test_the_tree_of_cuts_is_a_slider():
    cut = Fixed(n_tokens=60).segment(TOPICS)
    coarse = cut.coarser(3)
    assert len(coarse) == 3
    assert set(coarse.boundaries.tolist()) <= set(cut.boundaries.tolist())
    strengths = [strength for _, strength in cut.tree()]
    assert strengths == sorted(strengths)
    with pytest.raises(DataError, match="n_segments must lie from 1 to"):
        cut.coarser(0)


def test_words_explain_segments_and_boundaries():
    cut = MaximumProbability().segment(TOPICS, n_segments=3)
    words = cut.words()
    assert "flour" in words[0]
    assert "star" in words[1]
    assert {"sea", "ship"} & set(words[2])
    token, before, behind = cut.explain()[0]
    assert token == cut.boundaries[0]
    assert "flour" in before or "mill" in before
    assert "star" in behind


def test_chunks_are_the_text_and_keep_their_length():
    chunks = Chunker(max_tokens=60).chunks(TOPICS)
    assert "".join(chunk.text for chunk in chunks) == TOPICS
    assert max(chunk.tokens for chunk in chunks) <= 60
    assert all(TOPICS[chunk.begin : chunk.end] == chunk.text for chunk in chunks)
    starts = set(tokenized(TOPICS).starts[tokenized(TOPICS).breaks("sentence")].tolist()) | {0}
    assert {chunk.begin for chunk in chunks} <= starts
    shared = Chunker(max_tokens=60, overlap=10).chunks(TOPICS)
    assert max(chunk.tokens for chunk in shared) <= 60
    assert all(a.end > b.begin for a, b in itertools.pairwise(shared))
    assert Chunker().transform(["", "one"]) == [[], ["one"]]
    [first, *_] = Chunker(max_tokens=60).documents([Document("x", TOPICS, {"title": "T"}, "f", 1)])
    assert (first.id, first.fields["title"], first.fields["source"]) == ("x#1", "T", "x")
    with pytest.raises(DataError, match="overlap must be"):
        Chunker(max_tokens=10, overlap=10).chunks("a b")


@given(
    st.text(alphabet="ab .\n\r。é天ก", max_size=300),
    st.integers(1, 12),
    st.integers(0, 12),
    st.sampled_from([None, "sentence", "paragraph", "line"]),
    st.integers(0, 300),
)
@settings(max_examples=120, deadline=None)
def test_chunks_of_any_text_join_to_it(text, longest, shortest, snap, cut):
    class Cut:
        def segments(self, text):
            return [(0, min(cut, len(text))), (min(cut, len(text)), len(text))]

    segmenter = Fixed(n_tokens=5)
    chunks = Chunker(
        max_tokens=longest, min_tokens=min(longest, shortest), snap=snap, segmenter=segmenter, cuts=Cut()
    ).chunks(text)
    assert "".join(chunk.text for chunk in chunks) == text
    assert all(chunk.tokens <= longest for chunk in chunks)
    source = tokenized(text)
    place = int(np.searchsorted(source.starts, min(cut, len(text))))
    if 0 < place < len(source):
        assert int(source.starts[place]) in {chunk.begin for chunk in chunks}


def test_chunks_are_even_and_at_topics():
    text = MILL * 7 + SKY * 7 + SEA * 7
    topics = TopicSegmenter().segment(text).offsets.tolist()
    chunks = Chunker(max_tokens=60).chunks(text)
    assert {chunk.begin for chunk in chunks} >= set(topics)
    assert min(chunk.tokens for chunk in chunks) >= 30
    whole = Chunker(max_tokens=60, segmenter=NoBoundary()).chunks(MILL * 7)
    assert max(chunk.tokens for chunk in whole) - min(chunk.tokens for chunk in whole) <= 15
    assert all(chunk.tokens >= 40 for chunk in Chunker(max_tokens=90, min_tokens=40).chunks(text))


def test_a_stream_gives_the_segments_of_the_whole():
    lines = [line + "\n" for line in (TOPICS * 3).replace(". ", ".\n").splitlines()]
    segments = list(segment_stream(TopicSegmenter(), iter(lines), chunk_size=300))
    assert "".join(segments) == "".join(lines)
    assert 3 <= len(segments) < 40
    assert next(segment_stream(NoBoundary(), iter(["a b "] * 50), chunk_size=2, room=4)) != "a b " * 50


def test_a_stream_has_the_boundaries_of_the_whole(monkeypatch):
    monkeypatch.setattr(stability, "BLOCK", 1000)
    monkeypatch.setattr(TopicSegmenter, "horizon", 1500)
    random = np.random.default_rng(1)
    shared = [f"s{i}" for i in range(150)]
    lines = []
    for topic in range(60):
        words = [f"t{topic}w{i}" for i in range(30)]
        for _ in range(int(random.integers(4, 30))):
            content = (random.choice(shared if random.random() < 0.4 else words) for _ in range(8))
            lines.append(f"the of and to was in {' '.join(content)}.\n")
    whole = list(TopicSegmenter().segment("".join(lines)))
    assert 50 < len(whole) < 70
    assert list(segment_stream(TopicSegmenter(), iter(lines), chunk_size=500)) == whole
    assert list(segment_stream(TopicSegmenter(), iter(lines), chunk_size=500, ahead=0)) != whole
    read = 0

    def reading():
        nonlocal read
        for line in lines:
            read += len(line)
            yield line

    assert next(segment_stream(TopicSegmenter(), reading(), chunk_size=500)) == whole[0]
    assert read < sum(map(len, lines)) / 2
    with pytest.raises(DataError, match="ahead must be"):
        list(segment_stream(TopicSegmenter(), iter(lines), ahead=-1))


# --- data and evaluation ----------------------------------------------------------------------------------------------


def test_choi_files_come_back(tmp_path):
    segments = [["To be .", "Or not ."], ["To be ."]]
    write_choi(segments, tmp_path / "a.ref")
    assert read_choi(tmp_path / "a.ref") == segments
    (tmp_path / "b.ref").write_text("==========\n\n==========\n")
    with pytest.raises(DataError, match=r"b\.ref: no sentences"):
        read_choi(tmp_path / "b.ref")


def test_scores_are_means_over_texts():
    references = concatenations([MILL * 3, SKY * 3, SEA * 3], 6, segments=(2, 3))
    scores = evaluate_segmenters({"auto": TopicSegmenter(), "none": NoBoundary()}, references, n_jobs=2)
    assert scores[0].window_diff.mean() < scores[1].window_diff.mean()
    one = [window_diff(r.segmentation, Segmentation.from_masses([len(r.text)])).rate for r in references]
    assert scores[1].window_diff.tolist() == one
    assert scores[1].by_segments() == {
        m: np.mean([x for x, r in zip(one, references, strict=True) if r.n_segments == m]) for m in (2, 3)
    }
    given = evaluate_segmenters({"fixed": Fixed()}, references, number_given=True)[0]
    assert given.n_proposed.tolist() == given.n_true.tolist()
    assert "Mean WindowDiff by the true number of segments" in scores_page(scores).render()
    for line, one_method in zip(draw_scores(scores).axes[0].lines, scores, strict=True):
        assert list(line.get_ydata()) == sorted(one_method.window_diff)
    with pytest.raises(DataError, match="no texts"):
        evaluate_segmenters({"none": NoBoundary()}, [])


def test_cuts_may_come_from_anything_that_has_segments():
    text = "mill wheel grain flour " * 30 + "planet orbit star moon " * 30
    cut = NoBoundary().segment(text, cuts=Fixed(n_tokens=100))
    assert cut.boundaries.tolist() == [100, 200]

    class Piece:
        def __init__(self, begin):
            self.begin = begin

    class Languages:
        def segments(self, text):
            return [Piece(0), Piece(text.index("planet"))]

    assert NoBoundary().segment(text, cuts=Languages()).boundaries.tolist() == [120]
    assert NoBoundary().segment("", cuts=Languages()).boundaries.tolist() == []
    # what the method proposes near a cut means the same
    assert Fixed(n_tokens=110).segment(text, cuts=Languages()).boundaries.tolist() == [120, 220]
    assert Fixed(n_tokens=110).segment(text, cuts=Languages(), reach=5).boundaries.tolist() == [110, 120, 220]
    chunks = Chunker(max_tokens=500, segmenter=NoBoundary(), snap=None, cuts=Languages()).chunks(text)
    assert [chunk.tokens for chunk in chunks] == [120, 120]


def test_the_language_segmenter_cuts_a_text_of_one_topic():
    english = "The river flows through the old town and under the stone bridge. " * 3
    german = "Der Fluss fließt durch die alte Stadt und unter der steinernen Brücke hindurch. " * 3
    cut = NoBoundary().segment(english + german, cuts=LanguageSegmenter())
    assert list(cut) == [english, german]


def test_a_streamed_space_is_that_of_the_text_as_long_as_there_is_one_block():
    text = tokenized(" ".join(f"{word}{i % 3}" for word in ("mill", "planet", "star") for i in range(200)))
    contexts = Contexts(text, text.sequences(20), 3)
    vectors, values = contexts.latent(4)
    streamed, sizes = StreamedSpace(4, 1e12).latent(contexts, 4)
    np.testing.assert_allclose(sizes, values, rtol=1e-8)
    np.testing.assert_allclose(streamed @ streamed.T, vectors @ vectors.T, atol=1e-8)


def test_a_streamed_space_learns_what_is_new_only_and_fades():
    first = tokenized("mill wheel grain flour " * 100)
    space = StreamedSpace(4, half_life=5.0)
    contexts = Contexts(tokenized(first.text + "planet orbit star moon " * 100), np.arange(0, 801, 20), 3)
    space.latent(contexts, 4)
    documents = space.model.documents_
    space.known = 800
    before = space.model.singular_values_.copy()
    space.latent(contexts, 4)  # nothing is new
    assert space.model.documents_ == documents
    np.testing.assert_array_equal(space.model.singular_values_, before)
    space.known = 0
    other = Contexts(tokenized("law court judge jury " * 100), np.arange(0, 401, 20), 3)
    vectors, _ = space.latent(other, 1)
    assert abs(vectors).min() > 0.9  # the newest words have the first dimension


def test_a_page_has_the_text_in_colors():
    text = "The mill wheel grinds grain. " * 8 + "A planet orbits its star. " * 8
    page = segments_page(TopicSegmenter().segment(text)).render()
    assert page.count('class="shade-0"') == 1
    assert page.count('class="shade-1"') == 1
    assert page.count("A planet orbits its star. " * 8) == 1


def test_pictures_and_pages():
    cut = TopicSegmenter().segment(TOPICS)
    true = reference_of([MILL * 20, SKY * 20, SEA * 20], between="")
    assert draw_segments(cut, true).axes
    assert draw_segments(Fixed(n_tokens=2).segment("a b c")).axes
    for tiling, height in ((TextTiling(threshold=0.5), 0.5), (LSITiling(), 1.0)):
        tiles = tiling.segment(TOPICS)
        drawn = draw_segments(tiles, true).axes[0].lines
        level = [line for line in drawn if len(line.get_xdata()) == 2 and set(line.get_ydata()) == {height}]
        assert len(level) == 1
        [dots] = [line for line in drawn if list(line.get_xdata()) == tiles.boundaries.tolist()]
        decides = tiles.gaps.depth if height == 1.0 else tiles.gaps.similarity
        assert np.isin(np.round(dots.get_ydata(), 9), np.round(decides, 9)).all()
    page = segments_page(cut).render()
    assert "flour" in page
    assert "What each boundary parts" in page


# --- bad input --------------------------------------------------------------------------------------------------------

ODD = {
    "empty": "",
    "blank": " " * 2**20,
    "one": "word",
    "letter": "x",
    "no breaks": MILL.replace("\n", " ") * 3,
    "same": "same " * 500,
    "junk": bytes(range(256)).decode("latin-1") * 20,
    "han": "天地玄黃宇宙洪荒日月盈昃辰宿列張" * 40,
    "thai": "ภาษาไทยไม่มีช่องว่าง" * 30,
    "combining": "e\u0301 " * 200,
    "signs": "!!! ??? ... --- " * 50,
}


@pytest.mark.parametrize("method", [*METHODS, "auto"])
@pytest.mark.parametrize("name", ODD)
def test_any_text_is_tiled(method, name):
    text = ODD[name]
    for n_segments in (None, 3):
        cut = segmenter_of(method).segment(text, n_segments=n_segments)
        assert "".join(cut) == text
        assert (np.diff(cut.boundaries) > 0).all()
        assert json.dumps(cut.to_json(gaps=True)) == json.dumps(
            segmenter_of(method).segment(text, n_segments=n_segments).to_json(gaps=True)
        )


def test_impossible_wishes_are_refused():
    with pytest.raises(DataError, match="n_segments must be"):
        Fixed().segment("a b", n_segments=0)
    with pytest.raises(DataError, match="max_tokens must be"):
        Fixed().segment("a b", min_tokens=5, max_tokens=4)
    with pytest.raises(DataError, match="snap must be one of"):
        Fixed().segment("a b c", snap="page")
    with pytest.raises(DataError, match="method must be one of"):
        segmenter_of("magic")
    with pytest.raises(DataError, match="a text is needed, not a value of type bytes"):
        Fixed().segment(b"bytes")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="takes many texts, got one"):
        Fixed().transform("a b")
    with pytest.raises(DataError, match="n_dimensions must be"):
        LSITiling(n_dimensions=0).segment(TOPICS)


def test_more_segments_than_gaps_are_all_there_are():
    assert len(Fixed().segment("a b c", n_segments=9)) == 3
    assert len(MaximumProbability().segment("One. Two. Three.", n_segments=9)) == 3
    assert len(LSITiling().segment(TOPICS, n_segments=999)) >= 3
    assert len(Random().segment("a b c", n_segments=9)) == 3


def test_a_tokenizer_that_drops_words_keeps_the_places():
    dropping = Tokenizer(normalize=lambda token: None if token == "the" else token)
    text = tokenized("the cat saw the dog", dropping)
    assert [text.text[a:b] for a, b in zip(text.starts, text.ends, strict=True)] == ["cat", "saw", "dog"]


def test_several_texts_at_once_are_the_same():
    texts = [TOPICS, MILL, "", random_text(4)]
    one: Any = TopicSegmenter().transform(texts, n_jobs=1)
    two: Any = TopicSegmenter().transform(texts, n_jobs=4)
    assert [cut.boundaries.tolist() for cut in one] == [cut.boundaries.tolist() for cut in two]
