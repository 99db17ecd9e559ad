"""Evidence from left to right against enumeration and the worked example."""

from __future__ import annotations

import numpy as np
import pytest
from reference.allocation import with_fixed_topics
from scipy.sparse import csr_matrix

from textmill.errors import DataError
from textmill.topics.lda.evidence import left_to_right


def test_the_worked_example_by_enumeration() -> None:
    phi = np.array([[0.9, 0.2], [0.1, 0.8]])
    assert with_fixed_topics([0, 0, 0, 1], phi, np.ones(2))[0] == pytest.approx(-2.731370, abs=1e-6)


RANDOM = np.random.default_rng(1)
PROBLEMS = [  # example 3 of the specification, and three topics
    (np.array([[0.9, 0.2], [0.1, 0.8]]), np.ones(2), [0, 0, 0, 1]),
    (RANDOM.dirichlet(np.full(5, 0.3), 3).T.copy(), np.array([0.2, 0.9, 0.4]), [0, 1, 1, 2, 3, 4]),
]


@pytest.mark.parametrize(("phi", "alpha", "words"), PROBLEMS)
def test_the_mean_of_single_particles_is_the_evidence(phi: np.ndarray, alpha: np.ndarray, words: list[int]) -> None:
    X = csr_matrix(np.tile(np.bincount(words, minlength=len(phi)), (20_000, 1)))
    estimates = np.exp(left_to_right(X, phi, alpha, particles=1, random_state=0))
    error = estimates.std(ddof=1) / np.sqrt(len(estimates))
    assert abs(estimates.mean() - np.exp(with_fixed_topics(words, phi, alpha)[0])) < 4 * error


@pytest.mark.parametrize(("phi", "alpha", "words"), PROBLEMS)
def test_many_particles_come_close_each_time(phi: np.ndarray, alpha: np.ndarray, words: list[int]) -> None:
    X = csr_matrix(np.tile(np.bincount(words, minlength=len(phi)), (50, 1)))
    exact = with_fixed_topics(words, phi, alpha)[0]
    errors = left_to_right(X, phi, alpha, particles=500, random_state=0) - exact
    assert abs(errors.mean()) < 0.02
    assert np.abs(errors).max() < 0.15


def test_one_topic_needs_no_estimate() -> None:
    phi = np.array([[0.5], [0.3], [0.2]])
    expected = 2 * np.log(0.5) + 3 * np.log(0.2)
    assert left_to_right([[2, 0, 3]], phi, 0.7, particles=1, random_state=0) == pytest.approx([expected], rel=1e-6)


def test_any_number_of_threads_gives_the_same_bytes_and_chunks_do_not_matter() -> None:
    random = np.random.default_rng(0)
    X = csr_matrix(random.poisson(0.3, (40, 60)))
    phi = random.dirichlet(np.full(60, 0.2), 9).T.copy()
    one = left_to_right(X, phi, 0.1, particles=3, random_state=5, n_jobs=1)
    assert one.tobytes() == left_to_right(X, phi, 0.1, particles=3, random_state=5, n_jobs=4).tobytes()


def test_unknown_words_and_empty_documents_have_probability_one() -> None:
    phi = np.array([[0.5, 0.5], [0.0, 0.0], [0.5, 0.5]])
    found = left_to_right([[1, 0, 0], [1, 7, 0], [0, 2, 0], [0, 0, 0]], phi, random_state=0)
    assert found == pytest.approx([np.log(0.5), np.log(0.5), 0.0, 0.0], rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"particles": 0}, "particles"), ({"alpha": 0.0}, "alpha"), ({"phi": np.ones((3, 2))}, "2 columns"),
     ({"X": [[0.5, 1.0]]}, "whole counts")],
)  # fmt: skip
def test_bad_input_is_one_clear_error(arguments: dict, message: str) -> None:
    given = {"X": [[1, 1]], "phi": np.ones((2, 2)), **arguments}
    with pytest.raises(DataError, match=message):
        left_to_right(**given)
