"""The map of topics keeps distances; trends are means by period."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest

from textmill.errors import DataError
from textmill.topics import LSA
from textmill.topics.formats import from_matrix
from textmill.topics.pictures import draw_topics, draw_trends, topic_plane, topic_trends
from textmill.vectors import compare


def test_three_topics_keep_their_distances_exactly() -> None:
    rows = np.random.default_rng(0).dirichlet(np.ones(20), 3)
    points = topic_plane(from_matrix(rows))
    for i in range(3):
        for j in range(i):
            assert np.linalg.norm(points[i] - points[j]) == pytest.approx(compare(rows[i], rows[j], "hellinger"))


def test_two_topics_and_equal_topics_have_places() -> None:
    assert topic_plane(from_matrix([[1, 0], [0, 1]])).shape == (2, 2)
    assert topic_plane(from_matrix([[1, 1], [1, 1], [1, 1]])) == pytest.approx(np.zeros((3, 2)), abs=1e-6)
    assert len(draw_topics(from_matrix([[1, 1], [1, 1], [1, 2]])).axes) == 1


def test_areas_are_shares() -> None:
    model = from_matrix([[3, 1, 0], [0, 1, 3], [1, 1, 1]])
    model.topic_counts_ = np.array([1.0, 4.0, 2.0])
    areas = draw_topics(model).axes[0].collections[0].get_sizes()
    assert areas.tolist() == pytest.approx([400, 200, 100])


def test_trends_are_means_of_the_documents_of_a_period() -> None:
    theta = np.random.default_rng(1).dirichlet(np.ones(3), 5)
    dates = ["2001-05-03", datetime.date(2001, 7, 1), "2003", None, datetime.datetime(2003, 1, 1, 12)]
    found = topic_trends(theta, dates, period="year")
    assert found.periods == ["2001", "2003"]
    assert found.shares == pytest.approx(np.array([theta[:2].mean(axis=0), theta[[2, 4]].mean(axis=0)]))
    assert found.documents.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("dates", "first"),
    [
        (["2001", "2002", "2003", "2004", "2005"], "2001"),
        (["2001-01", "2001-02", "2001-03", "2001-04", "2001-05"], "2001-01"),
        (["20010103T10:00", "20010104", "20010105", "20010106", "20010107"], "2001-01-03"),
        (["2001-01-01", "2002-01-01", "2002-01-02", "2002-01-03", "2002-01-04"], "2001-01-01"),
    ],
)
def test_the_period_follows_the_dates(dates: list[str], first: str) -> None:
    found = topic_trends(np.full((5, 2), 0.5), dates)
    assert found.periods[0] == first
    assert len(draw_trends(found).axes[0].lines) == 2


def test_curves_are_those_of_the_topics_that_change_most() -> None:
    found = topic_trends([[0.1, 0.3, 0.6], [0.1, 0.6, 0.3], [0.15, 0.25, 0.6]], ["1901", "1902", "1903"])
    figure = draw_trends(found, ["a", "b", "c"], n_topics=2)
    assert {text.get_text() for text in figure.axes[0].texts} == {"2 b", "3 c"}


@pytest.mark.parametrize(
    ("mixtures", "dates", "period", "message"),
    [
        ([[1.0]], ["May 1st"], None, "'May 1st' of document 0 is no date"),
        ([[1.0]], ["2001-13"], None, "is no date"),
        ([[1.0]], [None], None, "no document has a date"),
        ([[1.0]], ["2001", "2002"], None, "2 dates for mixtures"),
        ([[1.0]], ["2001"], "month", "has no month"),
        ([[1.0]], ["2001"], "week", "period must be one of"),
    ],
)
def test_bad_dates_are_told_in_one_line(mixtures: Any, dates: Any, period: str | None, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        topic_trends(mixtures, dates, period=period)
    assert "\n" not in str(caught.value)


def test_models_that_have_no_map_of_topics_are_told() -> None:
    with pytest.raises(DataError, match="draw_map instead"):
        topic_plane(LSA(n_topics=2).fit(np.array([[1.0, -1.0], [1.0, 1.0]])))
    with pytest.raises(DataError, match="needs two topics"):
        draw_topics(from_matrix([[1, 1]]))
    with pytest.raises(DataError, match="1 names for 2 topics"):
        draw_trends(topic_trends([[0.5, 0.5]], ["2001"]), ["a"])
