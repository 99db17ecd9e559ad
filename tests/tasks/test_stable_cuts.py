"""The default cut: costs against brute force, granularities, blocks, units of texts without marks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill._native import tasks as native
from textmill.tasks.segmentation import TopicSegmenter, stability, tokenized
from textmill.tasks.segmentation.recurrence import evidence
from textmill.tasks.segmentation.stability import BROAD, LOCAL, polya, stable_boundaries

MILL, SKY, SEA = (
    "The mill wheel grinds grain. Flour leaves the mill in sacks. The miller sells flour. ",
    "A planet orbits its star. The moon is seen by night. Astronomers watch the star. ",
    "The ship sails the sea. Waves carry the ship. Sailors fear the storm at sea. ",
)


def log_probability(ids, prior, total):
    """Of a Pólya distribution, from its definition: one token after the other."""
    seen: dict[int, int] = {}
    value = 0.0
    for i, w in enumerate(ids.tolist()):
        value += np.log((seen.get(w, 0) + prior[w]) / (i + total))
        seen[w] = seen.get(w, 0) + 1
    return value


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=0, max_size=4), min_size=2, max_size=6).filter(
        lambda u: sum(map(len, u)) > 1
    ),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_every_granularity_is_the_best_of_all_cuts(units, shared):
    ids = np.unique([i for unit in units for i in unit], return_inverse=True)[1].astype(np.int32)
    offsets = np.cumsum([0, *map(len, units)]).astype(np.int64)
    V, n = int(ids.max()) + 1, len(units)
    rows, gain, length = polya(ids, 4.0, shared=shared)
    power, weights = np.arange(len(ids) + 1.0) ** 0.7, np.array([0.01, 0.5, 2.0])
    prior = 4.0 * np.bincount(ids) / len(ids) if shared else np.full(V, 4.0)

    def cost(cuts, weight):
        parts = [ids[offsets[a] : offsets[b]] for a, b in itertools.pairwise([0, *cuts, n])]
        return sum(weight * len(p) ** 0.7 - log_probability(p, prior, prior.sum()) for p in parts)

    cuts, first = native.granular_cuts(
        ids, offsets, V, rows=rows, gain=gain, length=length, power=power, weights=weights
    )
    every = [c for size in range(n) for c in itertools.combinations(range(1, n), size)]
    for k, weight in enumerate(weights.tolist()):
        chosen = cuts[first[k] : first[k + 1]].tolist()
        assert chosen == sorted(set(chosen))
        assert cost(chosen, weight) == pytest.approx(min(cost(c, weight) for c in every), abs=1e-9)


def test_tables_that_are_too_small_are_refused():
    ids, offsets = np.array([0, 0, 1], np.int32), np.array([0, 2, 3])
    rows, gain, length = polya(ids, 4.0, shared=True)
    arguments = {"rows": rows, "gain": gain, "length": length, "power": np.zeros(4), "weights": np.ones(2)}
    for name, wrong in {"gain": gain[:-1], "length": length[:-1], "power": np.zeros(3), "rows": rows[:-1]}.items():
        with pytest.raises(ValueError, match=r"table of|row"):
            native.granular_cuts(ids, offsets, 2, **(arguments | {name: wrong}))
    with pytest.raises(ValueError, match="negative"):
        native.granular_cuts(ids, offsets, 2, **(arguments | {"rows": rows - 1}))


def test_a_coarser_granularity_has_no_more_segments():
    text = tokenized(MILL * 8 + SKY * 8 + SEA * 8)
    ids, offsets, words = text.content(text.pieces)
    for model in (LOCAL, BROAD):
        numbers = [len(cut) for cut in stability._cuts(model, ids, offsets, words)]
        assert numbers == sorted(numbers, reverse=True)


def test_the_cut_that_changes_least_is_trusted_most():
    a, b = np.array([5, 9]), np.array([3])
    judgment = LOCAL.judge([np.arange(1, 20), a, a, a, b, *[np.zeros(0, int)] * 5])
    assert int(np.argmin(judgment[:5])) == 2


@given(
    st.lists(st.lists(st.integers(0, 5), min_size=0, max_size=4), min_size=2, max_size=40).filter(
        lambda u: sum(map(len, u)) > 1
    ),
    st.data(),
)
@settings(max_examples=60, deadline=None)
def test_evidence_counts_words_that_come_again_by_distance(units, data):
    ids = np.unique([i for unit in units for i in unit], return_inverse=True)[1].astype(np.int32)
    offsets = np.cumsum([0, *map(len, units)]).astype(np.int64)
    places = st.lists(st.integers(1, len(units) - 1), unique=True, max_size=4).map(sorted)
    cuts = [data.draw(places), data.draw(places)]
    first = np.cumsum([0, *map(len, cuts)])
    joined = np.array([place for cut in cuts for place in cut], np.int32)
    table = native.recurrences(ids, offsets, int(ids.max()) + 1, joined, first).reshape(2, 6, 6)
    wanted = np.zeros((2, 6, 6))
    f = np.bincount(ids)
    for k, cut in enumerate(cuts):
        for i, j in itertools.combinations(range(len(units)), 2):
            if j - i > 32:
                continue
            x, y = ids[offsets[i] : offsets[i + 1]].tolist(), ids[offsets[j] : offsets[j + 1]].tolist()
            between = sum(i < place <= j for place in cut)
            row = wanted[k, int(np.log2(j - i))]
            common = sum(1 / (f[a] - 1) for a in x for b in y if a == b)
            for column in [2 * (between > 0), *([4] if between == 1 else [])]:
                row[column : column + 2] += common, len(x) * len(y)
    assert np.allclose(table, wanted)


def test_recurrences_refuse_cuts_that_are_no_gaps():
    ids, offsets = np.array([0, 0, 1], np.int32), np.array([0, 2, 3])
    for wrong in (0, 2, -1):
        with pytest.raises(ValueError, match="between units"):
            native.recurrences(ids, offsets, 2, np.array([wrong], np.int32), np.array([0, 1]))


def test_words_that_fade_are_no_boundary_and_words_that_stop_are():
    random = np.random.default_rng(0)
    fading = [(i // 4 + random.integers(0, 30, 8)).tolist() for i in range(120)]  # the vocabulary moves on, slowly
    stopping = [(100 * (i // 60) + random.integers(0, 30, 8)).tolist() for i in range(120)]
    gains = []
    for units in (fading, stopping):
        ids = np.unique(np.concatenate(units), return_inverse=True)[1].astype(np.int32)
        gains.append(float(evidence(ids, np.arange(0, 961, 8), int(ids.max()) + 1, [np.array([60])]).gain[0]))
    assert gains[0] < 0 < 20 < gains[1]


def test_topics_that_return_are_cut_each_time():
    mill, sky = "The mill wheel grinds grain. ", "A planet orbits its star. "
    assert TopicSegmenter().segment((mill * 12 + sky * 9) * 3).masses.tolist() == [60, 45] * 3
    cut = TopicSegmenter().segment((MILL * 4 + SKY * 4) * 3)
    assert len(cut) == 6


def test_a_text_of_few_words_keeps_those_that_are_in_one_part():
    cut = TopicSegmenter().segment("cat dog mouse.\n" * 12 + "stock bank fund.\n" * 9)
    assert cut.boundaries.tolist() == [36]


def test_one_topic_is_left_whole_and_disjoint_words_are_cut():
    random = np.random.default_rng(3)
    words = [f"w{i}" for i in range(300)]
    one = ". ".join(" ".join(random.choice(words, 12)) for _ in range(60))
    assert len(TopicSegmenter().segment(one)) == 1
    assert len(TopicSegmenter().segment(MILL * 3 + SKY * 3)) == 2


def test_a_text_without_any_marks_is_cut():
    bare = [(part * 30).replace(".", "").lower() for part in (MILL, SKY, SEA)]
    cut = TopicSegmenter().segment(" ".join(bare))
    wanted = np.cumsum([len(tokenized(part)) for part in bare])[:-1]
    assert len(cut) == 3
    assert np.abs(cut.boundaries - wanted).max() <= 30
    pieces = tokenized(" ".join(bare)).pieces
    assert pieces[0] == 0
    assert np.diff(pieces).max() <= 60


def test_sentences_are_pieces_where_they_are_short():
    text = tokenized(MILL * 5)
    assert text.pieces.tolist() == text.sentences.tolist()
    assert tokenized("").pieces.tolist() == [0]
    assert tokenized("a " * 61).pieces.tolist() == [0, 30, 61]


def test_frequent_words_of_other_languages_are_no_content():
    spanish = (
        "El molino de la villa muele el grano de la cosecha y la harina. "
        "La luna de la noche alumbra el campo y el camino de la sierra. "
    ) * 5
    text = tokenized(spanish)
    ids, _, _ = text.content(text.pieces)
    assert len(ids) < 0.8 * len(text)


def test_blocks_give_the_boundaries_of_the_whole(monkeypatch):
    parts = [MILL * 25, SKY * 25, SEA * 25, MILL * 25, SEA * 25]
    text = tokenized("".join(parts))
    wanted = np.cumsum([len(tokenized(part)) for part in parts])[:-1].tolist()
    assert stable_boundaries(text, text.pieces)[0].tolist() == wanted
    monkeypatch.setattr(stability, "BLOCK", 1000)
    assert stable_boundaries(text, text.pieces)[0].tolist() == wanted
    monkeypatch.setattr(stability, "BLOCK", 1)  # progress even so
    assert len(stable_boundaries(text, text.pieces)[0]) < len(text.pieces)
