"""Lists of similar articles that follow what people judged: Rocchio's rule with the stored judgments.

Neighbors of an article that were judged relevant pull the question towards them, those judged irrelevant push it away
(`Collection.query` with `like` and `unlike`). "Partly" moves nothing, the latest judgment of a neighbor counts
whichever list it was made in, and judged articles are not listed again.
"""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import APIRouter
from pydantic import BaseModel

from textmill.tasks.similarity import Collection
from textmill.web.answers import Refusal
from textmill.web.articles import Method, Neighbor
from textmill.web.indexes import near_of
from textmill.web.judgments import Judgment
from textmill.web.service import Service

__all__ = ["FeedbackAnswer", "feedback_router", "moved_lists"]


class FeedbackAnswer(BaseModel):
    """The judgments that count, and the lists that follow them."""

    id: str
    like: list[str]
    unlike: list[str]
    methods: list[Method]


def moved_lists(collection: Collection, identifier: str, judged: Iterable[Judgment], k: int) -> FeedbackAnswer:
    """The lists of an article by every method, moved by judgments of its neighbors."""
    if identifier not in collection:
        raise Refusal(404, "there is no article with this id")
    grades = {one.other: one.label for one in sorted(judged, key=lambda one: one.at)}
    there = {name: grade for name, grade in grades.items() if name in collection and name != identifier}
    like = sorted(name for name, grade in there.items() if grade == "yes")
    unlike = sorted(name for name, grade in there.items() if grade == "no")
    methods = []
    for name in collection.methods:
        matches = collection.query(id=identifier, like=like, unlike=unlike, method=name, k=k)
        near = [Neighbor(id=one.id, title=one.title, score=one.score) for one in near_of(matches)]
        methods.append(Method(name=name, neighbors=near, reason=matches.reason))
    return FeedbackAnswer(id=identifier, like=like, unlike=unlike, methods=methods)


def feedback_router(service: Service) -> APIRouter:
    """The address of moved lists."""
    router = APIRouter(tags=["articles"])

    @router.get("/articles/feedback")
    async def feedback(id: str, k: int = 10) -> FeedbackAnswer:  # noqa: A002
        """Articles similar to one and to those that were judged relevant, away from those judged irrelevant."""
        service.check_k(k)
        if service.holdings is None:
            raise Refusal(404, "no collection is served; start the server with --collection")
        judged = await service.desk.run(service.judgments.about, "article", id)
        return await service.desk.run(moved_lists, service.holdings.collection, id, judged, k)

    return router
