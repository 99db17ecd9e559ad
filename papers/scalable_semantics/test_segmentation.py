"""The tables of chapter 5: texts put together, trivial segmenters, dimensions, and the order of methods."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from papers.scalable_semantics.baselines import Fixed, NoBoundary, Random
from papers.scalable_semantics.building import beginnings, concatenations
from papers.scalable_semantics.passages import choi_texts, passages
from papers.scalable_semantics.sweep import draw_best_dimensions, draw_strategies, draw_sweep, sweep_dimensions
from textmill.errors import DataError
from textmill.tasks.segmentation import (
    C99,
    Hearst,
    LSITiling,
    MaximumProbability,
    TextTiling,
    TopicSegmenter,
    evaluate_segmenters,
    reference_of,
    tokenized,
)

MILL, SKY, SEA = (
    "The mill wheel grinds grain. Flour leaves the mill in sacks. The miller sells flour. ",
    "A planet orbits its star. The moon is seen by night. Astronomers watch the star. ",
    "The ship sails the sea. Waves carry the ship. Sailors fear the storm at sea. ",
)


def test_built_texts_know_their_boundaries():
    references = concatenations([MILL, SKY, SEA], 6, segments=(1, 3), random_state=1)
    assert [reference.n_segments for reference in references] == [1, 2, 3, 1, 2, 3]
    for reference in references:
        edges = [0, *reference.text.starts[reference.boundaries].tolist(), len(reference.text.text)]
        assert {reference.text.text[a:b].strip() for a, b in itertools.pairwise(edges)} <= {
            MILL.strip(), SKY.strip(), SEA.strip()
        }  # fmt: skip
    [one] = beginnings([MILL * 4, SKY * 4, SEA * 4], 1, sentences=(3, 5), n_segments=3)
    assert one.n_segments == 3
    with pytest.raises(DataError, match="3 documents have 5 sentences or more, and 4 are needed"):
        beginnings([MILL * 4, SKY * 4, SEA * 4], 1, sentences=(3, 5), n_segments=4)
    with pytest.raises(DataError, match="no segments"):
        reference_of([])


def test_a_sweep_knows_its_best_dimensions_and_strategies():
    references = concatenations([MILL * 15, SKY * 15, SEA * 15], 6, segments=(2, 3))
    sweep = sweep_dimensions(references, most=6)
    behind = sweep.behind()
    best = np.argmin(sweep.scores, axis=1)
    assert (behind[np.arange(len(best)), best] == 0).all()
    for row, scores, deviations, b in zip(behind, sweep.scores, sweep.deviations, best, strict=True):
        near = scores - scores[b] <= deviations[b]
        np.testing.assert_array_equal(~np.isnan(row), near)
        np.testing.assert_allclose(row[near], (scores - scores[b])[near])
    ways = sweep.strategies()
    [free] = evaluate_segmenters({"free": LSITiling()}, references)
    np.testing.assert_allclose(ways["5, segments not given"], list(free.by_segments().values()))
    np.testing.assert_allclose(ways["5"], sweep.scores[:, 4])
    for i, m in enumerate(sweep.n_segments.tolist()):
        assert ways["as many as segments"][i] == sweep.scores[i, m - 1]
        assert ways["best"][i] == sweep.scores[i].min()
    assert "segments" in draw_best_dimensions(sweep).axes[0].get_ylabel()
    assert len(draw_strategies(sweep).axes[0].lines) >= 4
    np.testing.assert_allclose([line.get_ydata() for line in draw_sweep(sweep).axes[0].lines], sweep.scores)


def test_a_sweep_is_the_segmenter_with_each_number_of_dimensions():
    references = concatenations([MILL * 15, SKY * 15, SEA * 15], 4, segments=(2, 3))
    sweep = sweep_dimensions(references, most=4)
    for d in (2, 4):
        scores = evaluate_segmenters({"lsi": LSITiling(n_dimensions=d)}, references, number_given=True)[0]
        np.testing.assert_allclose(sweep.scores[:, d - 1], list(scores.by_segments().values()))
    assert set(sweep.best()) == {2, 3}


def test_a_random_cut_has_at_most_one_segment_more_than_thousands_of_tokens():
    text = tokenized("word " * 3500)
    numbers = [len(Random(random_state=seed).segment(text)) for seed in range(60)]
    assert set(numbers) == {1, 2, 3, 4}
    assert Random(random_state=3).segment(text).boundaries.tolist() == (
        Random(random_state=3).segment(text).boundaries.tolist()
    )
    assert Fixed().segment(text).boundaries.tolist() == list(range(120, 3500, 120))


@pytest.mark.data
@pytest.mark.slow
def test_choi_texts_by_all_methods(data):
    references = choi_texts(data)
    assert len(references) == 200

    def scores(segmenter, *, given=False):
        return evaluate_segmenters({"x": segmenter}, references, number_given=given)[0]

    assert scores(C99()).pk.mean() <= 0.13
    c99 = scores(C99(), given=True)
    assert c99.pk.mean() <= 0.11
    best, best_given = scores(MaximumProbability()), scores(TopicSegmenter(), given=True)
    assert scores(TopicSegmenter()).window_diff.mean() <= 0.14
    assert best.window_diff.mean() <= 0.10
    assert best_given.window_diff.mean() <= 0.09
    latent = scores(LSITiling(sequence_tokens=10, context=6, n_dimensions=10), given=True)
    assert c99.window_diff.mean() < latent.window_diff.mean() <= 0.28
    assert latent.window_diff.mean() < scores(TextTiling(), given=True).window_diff.mean()
    assert scores(Hearst()).window_diff.mean() < scores(NoBoundary()).window_diff.mean()


@pytest.mark.data
@pytest.mark.slow
def test_long_texts_of_many_passages(data):
    texts = passages(data)
    references = concatenations(texts, 140)

    def scores(segmenter, *, given=False):
        return evaluate_segmenters({"x": segmenter}, references, number_given=given)[0]

    latent, counts = scores(LSITiling()), scores(TextTiling())
    order = [latent, *(scores(one) for one in (NoBoundary(), Random(), Hearst(), Fixed()))]
    means = [one.window_diff.mean() for one in order]
    assert means == sorted(means)
    assert means[0] <= 0.30
    few = latent.n_true <= 2
    assert counts.window_diff[few].mean() < latent.window_diff[few].mean()
    given = [scores(one, given=True).window_diff.mean() for one in (LSITiling(), TextTiling())]
    assert given[0] <= given[1] - 0.05
    optimal = scores(LSITiling(search="optimal", n_dimensions="segments"), given=True)
    assert optimal.window_diff.mean() <= 0.10
    for m in (3, 5, 10):
        sweep = sweep_dimensions(concatenations(texts, 24, segments=(m, m), random_state=1))
        assert m / 2 <= sweep.best()[m] <= m + 2
        assert m > 3 or sweep.scores[0, 19] >= sweep.scores.min() + 0.05
