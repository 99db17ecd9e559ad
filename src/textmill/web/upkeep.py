"""How old the models of the collection are, and in how many parts it lies: what its keeper should know.

The same figures as `Collection.staleness`, and the advice that goes with them. Cost: a look at numbers that are there.
"""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from textmill.tasks.similarity import Collection
from textmill.web.answers import Refusal
from textmill.web.service import Service

__all__ = ["Upkeep", "upkeep_of", "upkeep_router"]


class Upkeep(BaseModel):
    """The state of a collection.

    `new_documents` is the share of documents that came after the models were trained, `unknown_words` that of words in
    them that the models do not know beyond what was usual in training.
    """

    documents: int
    shards: int
    new_documents: float
    unknown_words: float
    is_stale: bool
    advice: str | None


def upkeep_of(collection: Collection) -> Upkeep:
    """The state of a collection, and what to do about it.

    >>> from textmill.vectors import TextVectorizer, Weighting
    >>> words = TextVectorizer(weighting=Weighting(idf="n/d"))
    >>> upkeep_of(Collection.create("kept", ["a mill", "the sea"], methods={"words": words})).advice is None
    True
    """
    documents, words = collection.staleness()
    reasons = collection.stale_reasons()
    advice = None
    if reasons:
        advice = f"{' and '.join(reasons)}; train the models anew: textmill similar upsert COLLECTION --rebuild"
    return Upkeep(
        documents=len(collection),
        shards=collection.count_shards(),
        new_documents=documents,
        unknown_words=words,
        is_stale=bool(reasons),
        advice=advice,
    )


def upkeep_router(service: Service) -> APIRouter:
    """The address of the state."""
    router = APIRouter(tags=["articles"])

    @router.get("/articles/upkeep")
    async def upkeep() -> Upkeep:
        """How old the models of the collection are, and in how many parts it lies."""
        if service.holdings is None:
            raise Refusal(404, "no collection is served; start the server with --collection")
        return await service.desk.run(upkeep_of, service.holdings.collection)

    return router
