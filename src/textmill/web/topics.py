"""The panel of topics: a map, the words of each, its documents, and how it grew and shrank over time.

Documents and trends need a collection. Mixtures of all its documents are inferred once for each version of a model and
kept as float32: documents x topics x 4 bytes.
"""

from __future__ import annotations

import threading
from itertools import islice
from typing import Any

import numpy as np
from fastapi import APIRouter
from pydantic import BaseModel

from textmill.errors import DataError
from textmill.tasks.similarity import Snapshot
from textmill.topics import topic_plane, topic_trends
from textmill.web.answers import Refusal
from textmill.web.holdings import Holdings
from textmill.web.library import Entry
from textmill.web.service import Service

__all__ = ["Topic", "TopicDocument", "TopicsAnswer", "TrendsAnswer", "Word", "topics_router"]

_MOST_WORDS = 100
_CHUNK = 1000  # documents transformed together
_DIRECTIONS = "the topics of this model are directions, with weights above and below 0"
_DATES = ("date", "published", "year", "created")  # fields that say when a document was written


class Word(BaseModel):
    """A term and its weight in a topic."""

    term: str
    weight: float


class Topic(BaseModel):
    """A topic: its number, counted from 1, its words, its strength, and its place on the map if there is one."""

    number: int
    words: list[Word]
    strength: float | None
    x: float | None
    y: float | None


class TopicsAnswer(BaseModel):
    """All topics of a model."""

    name: str
    kind: str
    topics: list[Topic]
    note: str | None
    reads_texts: bool


class TopicDocument(BaseModel):
    """A document and how much of it is of a topic."""

    id: str
    title: str
    share: float


class TrendsAnswer(BaseModel):
    """The mean share of each topic by time: `shares[period][topic]`, and the field that the dates are from."""

    field: str
    periods: list[str]
    documents: list[int]
    shares: list[list[float]]


def topics_router(service: Service) -> APIRouter:
    """The addresses of this panel."""
    router = APIRouter(prefix="/topics", tags=["topics"])
    mixtures = _Mixtures()

    @router.get("/{name}")
    async def topics(name: str, words: int = 10) -> TopicsAnswer:
        """The topics of a model with their words, and their places on a map."""
        entry = service.library.get(name, "topics")
        if not 1 <= words <= _MOST_WORDS:
            raise Refusal(422, f"words must lie from 1 to {_MOST_WORDS}, got {words}")
        return await service.desk.run(_topics, entry, words)

    @router.get("/{name}/documents")
    async def documents(name: str, topic: int, k: int = 10) -> list[TopicDocument]:
        """The documents of the collection that have most of a topic."""
        entry = service.library.get(name, "topics")
        k = service.check_k(k)
        if not 1 <= topic <= len(entry.value.components_):
            raise Refusal(404, "the model has no such topic")
        return await service.desk.run(_documents, mixtures, entry, _holdings(service), topic - 1, k)

    @router.get("/{name}/trends")
    async def trends(name: str) -> TrendsAnswer:
        """The share of each topic by time, where documents have dates."""
        entry = service.library.get(name, "topics")
        return await service.desk.run(_trends, mixtures, entry, _holdings(service))

    return router


def _holdings(service: Service) -> Holdings:
    if service.holdings is None:
        raise Refusal(404, "documents and trends need a collection; start the server with --collection")
    return service.holdings


class _Mixtures:
    """The mixtures of all documents by one model, kept until model or documents change."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[Any, Any, Any]] = {}

    def of(self, entry: Entry, holdings: Holdings) -> tuple[Snapshot, Any]:
        """The snapshot and the rows of its documents."""
        model, snapshot = entry.value, holdings.collection.snapshot
        if model.vectorizer_ is None:
            raise Refusal(422, "the model has no vectorizer, so it reads no documents; train it with one")
        if model.components_.min(initial=0) < 0:
            raise Refusal(422, f"{_DIRECTIONS}, so documents have no shares of them")
        with self._lock:
            old_model, old_snapshot, rows = self._kept.get(entry.name, (None, None, None))
            if old_model is not model or old_snapshot is not snapshot:
                texts = (article.words for article in snapshot.articles())
                parts = [np.zeros((0, len(model.components_)), np.float32)]
                while chunk := list(islice(texts, _CHUNK)):
                    parts.append(np.asarray(model.transform(chunk), np.float32))
                rows = np.concatenate(parts)
                self._kept[entry.name] = (model, snapshot, rows)
        return snapshot, rows


def _documents(mixtures: _Mixtures, entry: Entry, holdings: Holdings, topic: int, k: int) -> list[TopicDocument]:
    snapshot, rows = mixtures.of(entry, holdings)
    best = np.argsort(-rows[:, topic], kind="stable")[:k]
    places = [snapshot.by_number(number) for number in snapshot.numbers[best].tolist()]
    return [
        TopicDocument(
            id=place.part.documents.ids_[place.row], title=place.part.documents.titles_[place.row], share=share
        )
        for place, share in zip(places, rows[best, topic].tolist(), strict=True)
    ]


def _trends(mixtures: _Mixtures, entry: Entry, holdings: Holdings) -> TrendsAnswer:
    names = {row.name for row in holdings.collection.fields()}
    name = next((name for name in _DATES if name in names), None)
    if name is None:
        raise Refusal(404, f"no document has a date; the fields that are looked for are {', '.join(_DATES)}")
    snapshot, rows = mixtures.of(entry, holdings)
    dates = [None if value is None else str(value) for value in snapshot.values(name)]
    trends = topic_trends(rows, dates)
    return TrendsAnswer(
        field=name,
        periods=trends.periods,
        documents=trends.documents.tolist(),
        shares=np.round(trends.shares, 6).tolist(),
    )


def _topics(entry: Entry, words: int) -> TopicsAnswer:
    model = entry.value
    points: Any = None
    note = None
    try:
        points = topic_plane(model).tolist()
    except DataError as error:
        note = _DIRECTIONS if model.components_.min(initial=0) < 0 else error.message
    strengths = model.strengths()
    topics = [
        Topic(
            number=number + 1,
            words=[Word(term=term, weight=weight) for term, weight in terms],
            strength=None if strengths is None else float(strengths[number]),
            x=None if points is None else points[number][0],
            y=None if points is None else points[number][1],
        )
        for number, terms in enumerate(model.topics(words))
    ]
    reads = model.vectorizer_ is not None
    return TopicsAnswer(name=entry.name, kind=entry.kind, topics=topics, note=note, reads_texts=reads)
