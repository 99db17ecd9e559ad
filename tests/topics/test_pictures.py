"""The map of topics keeps distances; trends are means by period."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textmill import plot
from textmill.corpus import read_documents
from textmill.errors import DataError
from textmill.topics import LSA, NMF
from textmill.topics.formats import from_matrix
from textmill.topics.map import draw_map
from textmill.topics.pictures import draw_model, draw_topics, draw_trends, topic_plane, topic_trends
from textmill.vectors import TextVectorizer, Weighting, compare


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
    model.statistics_.topic_counts = np.array([1.0, 4.0, 2.0])
    areas = draw_topics(model).axes[0].collections[0].get_sizes()
    assert areas.tolist() == pytest.approx([400, 200, 100])


@pytest.mark.parametrize(("topics", "spread"), [(3, 1.0), (20, 0.3), (40, 0.001)])
def test_every_topic_can_be_identified(topics: int, spread: float) -> None:
    rows = np.full((topics, 60), 1.0) + spread * np.random.default_rng(0).random((topics, 60))
    model = from_matrix(rows, terms=[f"t{i}" for i in range(60)])
    figure = draw_topics(model, title="Topics")
    beside = [text.get_text() for text in figure.axes[0].texts]
    below = [text.get_text() for text in figure.texts if text.get_text() != "Topics"]
    words = [" ".join([str(t + 1), *(word for word, _ in topic)]) for t, topic in enumerate(model.topics(3))]
    full = [label for label in beside if " " in label]
    assert sorted(full + below) == sorted(words)  # beside the point, or below the map
    assert sorted(label for label in beside if " " not in label) == sorted(label.split()[0] for label in below)
    assert below == sorted(below, key=lambda label: int(label.split()[0]))
    assert bool(below) == (topics == 40)


def test_labels_below_a_map_do_not_move_what_was_drawn() -> None:
    points = {"p": (np.zeros(30), np.zeros(30))}
    labels = {"p": [f"{i} label" for i in range(30)]}
    figures = [
        plot.scatter(points, labels=labels, x_label="x", y_label="y", title="T", every_label=every)
        for every in (False, True)
    ]
    sizes = [figure.get_size_inches() for figure in figures]
    assert sizes[1][0] == sizes[0][0]
    assert sizes[1][1] > sizes[0][1]
    boxes = [figure.axes[0].get_position().bounds for figure in figures]
    for place in (1, 3):  # from the top, and in height, the axes are as many inches
        inches = [(1 - box[1] if place == 1 else box[3]) * size[1] for box, size in zip(boxes, sizes, strict=True)]
        assert inches[0] == pytest.approx(inches[1])
    lowest = min(text.get_position()[1] for text in figures[1].texts)
    assert lowest > 0


def test_documents_are_colored_by_a_field(tmp_path: Path) -> None:
    groups = [f"group {i % 9}" for i in range(27)]
    lines = [json.dumps({"text": f"word{i % 5} word{i % 3} sea", "kind": group}) for i, group in enumerate(groups)]
    (tmp_path / "d.jsonl").write_text("\n".join(lines), encoding="utf-8")
    documents = read_documents(tmp_path / "d.jsonl")
    model = LSA(n_topics=2, vectorizer=TextVectorizer(weighting=Weighting(scheme="nnn"))).fit(documents)
    figure = draw_model(model, documents, color_field="kind")
    drawn = figure.axes[0].collections
    assert len(drawn) == 1 + 9  # the terms, and a cloud for each group
    colors = {tuple(cloud.get_facecolor()[0]) for cloud in drawn}
    assert len(colors) == 10
    with pytest.raises(DataError, match="has no field 'subject'"):
        draw_model(model, documents, color_field="subject")
    with pytest.raises(DataError, match="needs documents that have it"):
        draw_model(model, np.ones((2, len(model.vectorizer_.terms_))), picture="terms", color_field="kind")
    with pytest.raises(DataError, match="colored in the picture 'terms'"):
        draw_model(model, documents, picture="topics", color_field="kind")


@pytest.mark.parametrize(("model", "axis"), [(NMF(n_topics=2), "second axis"), (LSA(n_topics=2), "topic 2")])
def test_topics_are_drawn_by_distance_unless_they_are_directions(model: Any, axis: str) -> None:
    assert draw_model(model.fit(np.eye(3) + 1)).axes[0].get_ylabel() == axis


def test_a_group_may_be_called_terms() -> None:
    model = LSA(n_topics=2).fit(np.eye(3))
    assert len(draw_map(model, np.eye(3), groups=["terms", "terms", 1]).axes[0].collections) == 3


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
