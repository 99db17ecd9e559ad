from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from textmill.corpus import Document, Vocabulary
from textmill.errors import DataError
from textmill.tasks.coherence import (
    CoherenceScores,
    ContentReader,
    MixtureScorer,
    TopicScorer,
    combine,
    effective_topics,
    entropy,
    equal_error,
    tune_weight,
)
from textmill.topics import MultinomialMixture

PHI = np.array([[0.9, 0.1], [0.2, 0.8]])


def test_the_worked_example_of_scores() -> None:
    scores = TopicScorer(PHI, tolerance=1e-9).score([[3, 1]])
    assert scores.theta[0] == pytest.approx([11 / 14, 3 / 14], abs=1e-6)
    assert scores.entropy[0] == pytest.approx(0.749595, abs=1e-6)
    assert entropy(scores.theta, "nats")[0] == pytest.approx(0.519580, abs=1e-6)
    assert scores.llpw[0] == pytest.approx(-0.811278, abs=1e-6)
    assert scores.perplexity[0] == pytest.approx(1.754765, abs=1e-6)


def test_the_entropy_of_even_and_of_single_topics() -> None:
    assert entropy(np.full((1, 50), 1 / 50))[0] == pytest.approx(5.643856, abs=1e-6)
    assert entropy(np.eye(50)[:1])[0] == 0.0
    assert entropy(np.full((1, 50), 1 / 50), "normalized")[0] == pytest.approx(1.0)
    assert entropy([[1.0]], "normalized")[0] == 0.0
    assert effective_topics(np.full((1, 50), 1 / 50))[0] == pytest.approx(50.0)


@pytest.mark.parametrize(
    ("true", "false", "expected"),
    [
        ([0.9, 0.8, 0.7, 0.4], [0.6, 0.5, 0.3, 0.2], 0.25),
        ([0.9, 0.8], [0.2, 0.1], 0.0),
        ([0.5, 0.4], [0.5, 0.4], 0.5),
        ([0.9, 0.8, 0.35, 0.3], [0.5, 0.4, 0.2, 0.1, 0.05], 0.4),
    ],
)
def test_the_worked_examples_of_equal_error(true: list[float], false: list[float], expected: float) -> None:
    assert equal_error(true, false, accept="above").figure == pytest.approx(expected)


def brute_force_equal_error(true: np.ndarray, false: np.ndarray) -> float:
    """Operating points between distinct scores, accepted above; interpolated where FA - FR changes its sign."""
    points = []
    for threshold in [math.inf, *sorted({*true.tolist(), *false.tolist()}, reverse=True)]:
        points.append((float(np.mean(false >= threshold)), float(np.mean(true < threshold))))
    for (fa, fr), (fa_next, fr_next) in itertools.pairwise(points):
        if fa - fr < 0 <= fa_next - fr_next:
            share = (fr - fa) / ((fa_next - fr_next) - (fa - fr))
            return fa + share * (fa_next - fa)
    raise AssertionError("no change of sign")


@given(st.lists(st.integers(0, 6), min_size=1, max_size=15), st.lists(st.integers(0, 6), min_size=1, max_size=15))
def test_equal_error_is_that_of_brute_force_and_symmetric(true: list[int], false: list[int]) -> None:
    a, b = np.array(true, float), np.array(false, float)
    figure = equal_error(a, b, accept="above").figure
    assert figure == pytest.approx(brute_force_equal_error(a, b), abs=1e-12)
    assert equal_error(-a, -b).figure == pytest.approx(figure)  # negated scores are accepted below
    swapped = equal_error(-b, -a, accept="above").figure  # negated scores and swapped labels
    assert swapped == pytest.approx(figure, abs=1e-12)


def test_inverted_scores_have_an_equal_error_above_one_half() -> None:
    assert equal_error([1, 2, 3], [7, 8, 9], accept="above").figure == 1.0


def test_nan_is_left_out_of_equal_error() -> None:
    assert equal_error([1, np.nan, 2], [3, 4, np.nan]).figure == 0.0


def test_empty_documents_have_no_scores() -> None:
    for scorer in (TopicScorer(PHI), TopicScorer(PHI, smoothing=0.5)):
        scores = scorer.score([[0, 0], [1, 1]])
        assert np.isnan([scores.entropy[0], scores.llpw[0], scores.perplexity[0]]).all()
        assert scores.empty.tolist() == [True, False]
        assert np.isfinite([scores.entropy[1], scores.llpw[1]]).all()
    words_without_topic = TopicScorer(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    scores = words_without_topic.score([[0, 0, 7], [1, 1, 5]])
    assert scores.words.tolist() == [0, 2]
    assert np.isnan(scores.entropy[0])
    assert scores.llpw[1] == pytest.approx(-1.0)


def test_documents_of_one_word_and_of_very_many_are_scored() -> None:
    scores = TopicScorer(PHI).score([[1, 0], [50_000, 30_000], [1e-3, 0]])
    assert np.isfinite(scores.entropy).all()
    assert np.isfinite(scores.llpw).all()
    assert scores.entropy[0] == pytest.approx(0.0, abs=1e-3)


def test_smoothing_changes_the_mixture_but_the_likelihood_has_no_prior() -> None:
    scores = TopicScorer(PHI, smoothing=0.1, tolerance=1e-9).score([[3, 1]])
    assert scores.theta[0] == pytest.approx([0.757533, 0.242467], abs=1e-6)
    p = PHI.T @ scores.theta[0]
    assert scores.llpw[0] == pytest.approx((3 * np.log2(p[0]) + np.log2(p[1])) / 4)


def test_scores_from_a_mixture_have_its_posterior() -> None:
    X = np.array([[4, 3, 0, 0], [3, 4, 0, 0], [0, 0, 4, 3], [0, 0, 3, 5]])
    model = MultinomialMixture(n_topics=2, random_state=0).fit(X)
    scores = MixtureScorer(model).score([[4, 4, 0, 0], [0, 0, 0, 0]])
    assert scores.entropy[0] < 0.1
    assert scores.llpw[0] == pytest.approx(model.log_likelihood(np.array([[4, 4, 0, 0]]))[0] / np.log(2) / 8)
    assert np.isnan(scores.entropy[1])
    assert np.isnan(scores.llpw[1])


def made_scores(entropies: list[float], llpw: list[float]) -> CoherenceScores:
    n = len(entropies)
    return CoherenceScores(np.zeros((n, 2)), np.array(entropies), np.array(llpw), np.full(n, 10.0))


def test_a_weight_is_taken_only_where_it_makes_no_kind_worse() -> None:
    true = made_scores([1.0, 2.0, 3.0, 2.5], [-5.0, -5.1, -5.2, -4.9])
    unlikely = made_scores([2.9, 2.0, 3.5, 3.1], [-15.0, -16.0, -14.0, -15.0])
    likely = made_scores([3.2, 3.1, 3.4, 3.3], [-1.0, -1.0, -1.0, -1.0])
    weight, means = tune_weight(true, {"unlikely": unlikely})
    assert weight > 0
    assert means[weight] < means[0.0]
    assert (
        equal_error(combine(true.entropy, true.llpw, weight), combine(unlikely.entropy, unlikely.llpw, weight)).figure
        == 0
    )
    weight, _ = tune_weight(true, {"unlikely": unlikely, "likely": likely}, [0.5])
    assert weight == 0.0


def test_content_words_are_told_from_function_words_and_unknown_ones() -> None:
    reader = ContentReader(Vocabulary().fit(["mill corn wheel"]), ["the", "of"])
    content = reader.read(["The mill of corn, xyzzy!", "", Document("d", "wheel", {}, "x", 1), "corn plugh the"])
    assert content.ids.tolist() == [0, 1, 2, 1]
    assert content.lengths.tolist() == [2, 0, 1, 1]
    assert content.unknown.tolist() == [1, 0, 0, 1]
    X = content.bags(3)
    assert X.toarray().tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert content.ids.tolist() == [0, 1, 2, 1]  # making bags changes nothing
    assert content.first(1).lengths.tolist() == [1, 0, 1, 1]
    assert reader.read([["corn", "plugh", "the"]]).unknown.tolist() == [1]
    assert reader.read([]).lengths.tolist() == []
    assert reader.cut("the mill of the corn wheel", 2) == "the mill of the corn"
    assert reader.cut("the mill", 0) == ""
    assert reader.cut("the mill", 5) == "the mill"


def test_bad_topics_are_named() -> None:
    with pytest.raises(DataError, match="topics x terms"):
        TopicScorer([0.5, 0.5])
    with pytest.raises(DataError, match="tolerance"):
        TopicScorer(PHI, tolerance=0)
    with pytest.raises(DataError, match="X has 3 columns"):
        TopicScorer(PHI).score(csr_matrix(np.ones((1, 3))))
    with pytest.raises(DataError, match="unit"):
        entropy([[1.0]], "octets")
