"""Pictures of topics: how near they are to each other, and how they come and go with time.

    map       topics as points whose distances are, as nearly as a plane allows, the Hellinger distances D of their
              words: the two largest eigenvectors of -1/2 C D^2 C, C = I - 1/k (classical scaling); areas are shares
    trends    the mean mixture of the documents of each period

Cost: O(k^2 m) for the distances, O(k^3) for the scaling; one pass over the documents.
References: Torgerson (1952), Multidimensional scaling; Sievert & Shirley (2014), LDAvis.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill import plot
from textmill.arrays import Floats
from textmill.corpus import Document, Documents
from textmill.errors import DataError
from textmill.model import check_choice, check_fitted, check_range
from textmill.tables import Column, Table
from textmill.topics.lda.model import LDA
from textmill.topics.map import draw_map
from textmill.topics.model import TopicModel
from textmill.vectors import pairwise_matrix

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Trends", "draw_model", "draw_topics", "draw_training", "draw_trends", "topic_plane", "topic_trends"]


_DATE = re.compile(r"(\d{4})(?:-?(\d{2})(?:-?(\d{2}))?)?(?:[T ].*)?")
_PERIODS = {"year": 4, "month": 7, "day": 10}  # characters of an ISO date
_FEW = 4  # periods that are too few for a curve


class _TrendArrays(NamedTuple):
    periods: list[str]
    shares: Floats
    documents: NDArray[np.int64]


class Trends(Table, _TrendArrays):
    """Periods in order, the mean mixture of each (periods, k), and how many documents it has."""

    __slots__ = ()

    def columns(self) -> dict[str, Column]:
        """Return period, number of documents, and the share of each topic from 1."""
        shares = {f"topic{t + 1}": self.shares[:, t] for t in range(self.shares.shape[1])}
        return {"period": self.periods, "documents": self.documents, **shares}


def topic_plane(model: TopicModel) -> Floats:
    """Return one point per topic, (k, 2); near points are topics of similar words.

    >>> from textmill.topics.formats import from_matrix
    >>> points = topic_plane(from_matrix([[1, 0, 0], [0, 1, 0], [0, 0, 1]]))
    >>> np.linalg.norm(points[0] - points[1]).round(6)
    np.float64(1.0)
    """
    check_fitted(model)
    if model.components_.min(initial=0) < 0:
        raise DataError(f"the topics of {type(model).__name__} are directions; draw its terms with draw_map instead")
    k = len(model.components_)
    if k < 2:
        raise DataError(f"a map needs two topics, the model has {k}; train with more")
    rows = model.components_ / np.maximum(model.components_.sum(axis=1, keepdims=True), 1e-300)
    squares = np.asarray(pairwise_matrix(rows, measure="hellinger", normalize=True), dtype=np.float64) ** 2
    centered = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True) + squares.mean()
    values, vectors = np.linalg.eigh(-centered / 2)
    axes = vectors[:, :-3:-1]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    placed: Floats = axes * np.sqrt(np.maximum(values[:-3:-1], 0.0))
    return placed


def draw_topics(
    model: TopicModel, *, terms: Sequence[str] | None = None, n_words: int = 3, title: str | None = None
) -> Figure:
    """Draw the topics as points with their first words; the area of a point is the topic's share of the corpus.

    Topics whose words have no room beside them have their number on the point, and their words below the map.

    >>> from textmill.topics.formats import from_matrix
    >>> figure = draw_topics(from_matrix([[3, 1, 0], [0, 1, 3]], terms=["sea", "ship", "sky"]), n_words=2)
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['1 sea ship', '2 sky ship']
    """
    points = topic_plane(model)
    strengths = model.strengths()
    shares = np.full(len(points), 1.0 / len(points)) if strengths is None else np.asarray(strengths)
    words = model.topics(n_words, terms)
    order = np.argsort(-shares, kind="stable")  # large topics get their labels first
    labels = [" ".join([str(topic + 1), *(word for word, _ in words[topic])]) for topic in order.tolist()]
    return plot.scatter(
        {"topics": (points[order, 0], points[order, 1])},
        labels={"topics": labels},
        sizes={"topics": np.maximum(shares[order], 1e-12)},
        x_label="first axis of Hellinger distance",
        y_label="second axis",
        title=title,
        equal=True,
        every_label=True,
    )


def topic_trends(mixtures: Any, dates: Iterable[Any], *, period: str | None = None) -> Trends:
    """Return the mean mixture of documents by time.

    `mixtures` (n, k) are what a model's `transform` gave; `dates` are ISO texts such as 2024, 2024-05 or
    2024-05-17T10:00, or dates; a document whose date is None or empty is left out. `period` is "year", "month" or
    "day", by default the longest that gives more than a few periods.

    >>> trends = topic_trends([[1, 0], [0, 1], [0.5, 0.5]], ["1848-03", "1848-11-02", "1849"])
    >>> trends.periods, trends.shares.tolist(), trends.documents.tolist()
    (['1848', '1849'], [[0.5, 0.5], [0.5, 0.5]], [2, 1])
    """
    rows = np.asarray(mixtures, dtype=np.float64)
    iso_dates = [_iso(date, number) for number, date in enumerate(dates)]
    if rows.ndim != 2 or len(iso_dates) != len(rows):
        raise DataError(f"there are {len(iso_dates)} dates for mixtures of shape {rows.shape}; pass one per document")
    dated = np.array([number for number, date in enumerate(iso_dates) if date], dtype=np.intp)
    if not len(dated):
        raise DataError("no document has a date; pass dates such as 2024-05-17")
    if period is None:
        shortest = min(len(iso_dates[int(number)]) for number in dated)
        finer = [name for name, size in _PERIODS.items() if size <= shortest]
        counts = {name: len({iso_dates[int(number)][: _PERIODS[name]] for number in dated}) for name in finer}
        period = next((name for name in finer if counts[name] > _FEW), finer[-1] if counts[finer[0]] == 1 else finer[0])
    check_choice("period", period, list(_PERIODS))
    size = _PERIODS[period]
    short = [int(number) for number in dated if len(iso_dates[int(number)]) < size]
    if short:
        raise DataError(
            f"the date {iso_dates[short[0]]!r} of document {short[0]} has no {period}; choose a longer period"
        )
    periods, places = np.unique([iso_dates[int(number)][:size] for number in dated], return_inverse=True)
    sums, documents = np.zeros((len(periods), rows.shape[1])), np.bincount(places, minlength=len(periods))
    np.add.at(sums, places, rows[dated])
    return Trends(periods.tolist(), sums / documents[:, None], documents.astype(np.int64))


def draw_trends(
    trends: Trends, names: Sequence[str] | None = None, *, n_topics: int = 6, title: str | None = None
) -> Figure:
    """Draw the shares of the `n_topics` topics that change most, as curves over time.

    >>> trends = topic_trends([[1, 0], [0.5, 0.5], [0, 1]], ["1848", "1849", "1850"])
    >>> figure = draw_trends(trends, ["sea", "sky"], n_topics=1)
    >>> figure.axes[0].get_xlabel()
    'year'
    """
    check_range("n_topics", n_topics, at_least=1, whole=True)
    k = trends.shares.shape[1]
    if names is not None and len(names) != k:
        raise DataError(f"there are {len(names)} names for {k} topics; pass one per topic")
    spread = trends.shares.max(axis=0) - trends.shares.min(axis=0)
    chosen = np.argsort(-spread, kind="stable")[:n_topics].tolist()
    x, label = _places(trends.periods)
    titles = {topic: f"{topic + 1} {names[topic]}" if names else f"topic {topic + 1}" for topic in chosen}
    curves = {titles[topic]: (x, trends.shares[:, topic]) for topic in chosen}
    return plot.lines(curves, x_label=label, y_label="share of the topic", title=title)


def draw_training(model: TopicModel) -> Figure:
    """Draw how training went: the perplexity of held-out documents if there were some, else what the model improved.

    >>> from textmill.topics import MultinomialMixture
    >>> figure = draw_training(MultinomialMixture(n_topics=2, random_state=0).fit(np.eye(3)))
    >>> figure.axes[0].get_ylabel()
    'penalized log-likelihood'
    """
    check_fitted(model)
    if isinstance(model, LDA) and len(model.perplexities_):
        label = "held-out perplexity"
        return plot.lines({label: (model.evaluated_, model.perplexities_)}, x_label="updates", y_label=label)
    values = np.asarray(vars(model).get("trace_", ()), dtype=np.float64)
    if values.size:
        label = model.objective()
        return plot.lines({label: (np.arange(1, len(values) + 1), values)}, x_label="steps", y_label=label)
    raise DataError(f"this {type(model).__name__} has no curve of its training; for LDA pass documents to hold out")


def draw_model(
    model: TopicModel,
    documents: Any = None,
    *,
    picture: str | None = None,
    date_field: str | None = None,
    color_field: str | None = None,
) -> Figure:
    """Draw a model: "topics" by distance, "terms" and documents in a plane, or topics over "time".

    By default topics, or terms where the topics are directions (LSA, PCA) or documents are given,
    or time when there is a field of the documents with the date. `color_field` is the field whose values are the groups
    that documents beside the terms are colored by.

    >>> from textmill.topics import LDA
    >>> figure = draw_model(LDA(n_topics=2, random_state=0).fit(np.eye(3)))
    >>> figure.axes[0].get_ylabel()
    'second axis'
    """
    check_fitted(model)
    if picture is None:
        by_distance = model.components_.min(initial=0) >= 0 and documents is None
        picture = "time" if date_field is not None else "topics" if by_distance else "terms"
    check_choice("picture", picture, ["topics", "terms", "time"])
    if color_field is not None and picture != "terms":
        raise DataError("documents are colored in the picture 'terms'; pass picture='terms', or no color_field")
    if picture == "topics":
        return draw_topics(model)
    if picture == "terms":
        groups = None if color_field is None else _field_values(documents, color_field, "the color")
        if not isinstance(documents, Documents):
            return draw_map(model, documents)
        drawn = list(documents)
        return draw_map(model, [one.text for one in drawn], groups=groups, names=[_name_of(one) for one in drawn])
    if date_field is None or not isinstance(documents, Documents):
        raise DataError("topics over time need documents and the field with their date; pass both")
    dates = _field_values(documents, date_field, "the date")
    names = [" ".join(word for word, _ in topic) for topic in model.topics(3)]
    return draw_trends(topic_trends(model.transform(documents), dates), names)


def _field_values(documents: Any, field: str, what: str) -> list[Any]:
    """A field of all documents, each of which must have it."""
    if not isinstance(documents, Documents):
        raise DataError(f"the field {field!r} needs documents that have it; pass them too")
    values = []
    for document in documents:
        if field not in document.fields:
            raise DataError(f"has no field {field!r}; name the field with {what}", source=document.place)
        values.append(document.fields[field])
    return values


def _name_of(document: Document) -> str:
    """Title and id of a document."""
    title = document.fields.get("title")
    return document.id if not title else f"{title} ({document.id})"


def _iso(date: Any, number: int) -> str:
    """A date as ISO text, as long as it is known; "" if it is not."""
    if date is None or date == "":
        return ""
    text = date.isoformat() if isinstance(date, datetime.date) else str(date).strip()
    match = _DATE.fullmatch(text)
    if match is None or not 1 <= int(match[2] or 1) <= 12 or not 1 <= int(match[3] or 1) <= 31:
        raise DataError(
            f"{text[:40]!r} of document {number} is no date; pass dates such as 2024, 2024-05 or 2024-05-17"
        )
    return "-".join(part for part in match.groups() if part)


def _places(periods: list[str]) -> tuple[Floats, str]:
    """Where periods stand on an axis, and its name: years with their parts, or days."""
    dates = [[*map(int, period.split("-"))] for period in periods]
    if len(dates[0]) < 3:
        return np.array([year + sum((month - 0.5) / 12 for month in rest) for year, *rest in dates]), "year"
    days = [datetime.date(year, month, min(day, 28)).toordinal() + max(day - 28, 0) for year, month, day in dates]
    return np.array(days, dtype=np.float64) - days[0], f"days after {periods[0]}"
