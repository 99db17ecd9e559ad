"""People who could review an article of the collection: those whose own articles are nearest to it."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from textmill.tasks.similarity import Collection, suggest_reviewers
from textmill.web.answers import Refusal
from textmill.web.service import Service

__all__ = ["Person", "people_for", "people_router"]

_FIELD = 200  # letters of the name of a field


class Person(BaseModel):
    """A name, the votes, and the articles that gave them, the nearest first."""

    name: str
    votes: float
    articles: list[str]


def people_for(collection: Collection, identifier: str, field: str, k: int) -> list[Person]:
    """People who could review an article, without its authors and those who wrote with them.

    >>> names = {"Noether": "prime ideals", "Krull": "ideals of rings", "Cayley": "a tree"}
    >>> rows = [{"text": text, "authors": name} for name, text in names.items()]
    >>> [one.name for one in people_for(Collection.create("people", rows, methods=["tfidf"]), "0", "authors", 5)]
    ['Krull']
    """
    if identifier not in collection:
        raise Refusal(404, "there is no article with this id")
    rows = suggest_reviewers(collection, id=identifier, field=field, method=list(collection.methods), k=k)
    return [Person(**row._asdict()) for row in rows]


def people_router(service: Service) -> APIRouter:
    """The address of people."""
    router = APIRouter(tags=["articles"])

    @router.get("/articles/reviewers")
    async def reviewers(id: str, field: str = "authors", k: int = 5) -> list[Person]:  # noqa: A002
        """People who could review an article: their own articles are near to it by all methods together."""
        service.check_k(k)
        if len(field) > _FIELD:
            raise Refusal(422, f"the name of the field has {len(field)} characters; the limit is {_FIELD}")
        if service.holdings is None:
            raise Refusal(404, "no collection is served; start the server with --collection")
        return await service.desk.run(people_for, service.holdings.collection, id, field, k)

    return router
