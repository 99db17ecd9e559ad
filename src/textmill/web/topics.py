"""The panel of topics: a map, the words of each, its documents, and how it grew and shrank over time.

Documents and trends need a collection. Mixtures of all its documents are inferred once for each version of a model and
kept as float32: documents x topics x 4 bytes.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from textmill.errors import DataError
from textmill.topics import topic_plane
from textmill.web.answers import Refusal
from textmill.web.library import Entry
from textmill.web.service import Service

__all__ = ["Topic", "TopicsAnswer", "Word", "topics_router"]

_MOST_WORDS = 100


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


def topics_router(service: Service) -> APIRouter:
    """The addresses of this panel."""
    router = APIRouter(prefix="/topics", tags=["topics"])

    @router.get("/{name}")
    async def topics(name: str, words: int = 10) -> TopicsAnswer:
        """The topics of a model with their words, and their places on a map."""
        entry = service.library.get(name, "topics")
        if not 1 <= words <= _MOST_WORDS:
            raise Refusal(422, f"words must lie from 1 to {_MOST_WORDS}, got {words}")
        return await service.desk.run(_topics, entry, words)

    return router


def _topics(entry: Entry, words: int) -> TopicsAnswer:
    model = entry.value
    points: Any = None
    note = None
    try:
        points = topic_plane(model).tolist()
    except DataError as error:
        note = error.message
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
