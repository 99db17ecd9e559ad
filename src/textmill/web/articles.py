"""The panel of articles: search, read, neighbors by all methods beside each other, judgments, uploads.

    GET  /api/v1/article?id=...&k=10      an article and its neighbors     made once, then bytes from memory
    GET  /api/v1/search?text=...&k=10     neighbors of a text              questions that wait are searched together
    POST /api/v1/search                   the same for long texts

Answers by id are kept as bytes, the latest asked for, until a file changes. They go out without FastAPI, whose work on
each request would cost more than the answer; the addresses, their types and their documentation are FastAPI's.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import parse_qsl

from fastapi import APIRouter, Query
from pydantic import BaseModel

from textmill.topics import TopicModel
from textmill.web.analyses import Fact, mixture_of
from textmill.web.answers import Answer, Direct, Refusal, json_answer
from textmill.web.holdings import MethodSource
from textmill.web.indexes import IndexSource, Near
from textmill.web.service import Service
from textmill.web.work import Desk, Together

__all__ = [
    "ArticleAnswer",
    "ArticleList",
    "ArticleText",
    "Articles",
    "GradeOf",
    "ListedArticle",
    "Method",
    "MixtureAnswer",
    "Neighbor",
    "SearchAnswer",
    "SearchQuestion",
    "articles_router",
]

_KEPT = 32 << 20  # bytes of answers that are kept
_PAGE = 200
_LONGEST_ID = 16_384


class Neighbor(BaseModel):
    """An article that is near: its id, title and score."""

    id: str
    title: str
    score: float


class Method(BaseModel):
    """What one method finds, or why it finds nothing."""

    name: str
    neighbors: list[Neighbor]
    reason: str | None = None


class ArticleAnswer(BaseModel):
    """An article with the lists of all methods."""

    id: str
    title: str
    methods: list[Method]


class SearchAnswer(BaseModel):
    """What all methods find for a text."""

    methods: list[Method]


class SearchQuestion(BaseModel):
    """A text to search for."""

    text: str
    k: int = 10


class ListedArticle(BaseModel):
    """An article in a list."""

    id: str
    title: str


class ArticleList(BaseModel):
    """Some articles, and how many there are."""

    total: int
    articles: list[ListedArticle]


class ArticleText(BaseModel):
    """The text of an article, its fields, and where it came from."""

    id: str
    text: str
    fields: dict[str, str]
    source: str


class MixtureAnswer(BaseModel):
    """The shares of topics in a text, by one model."""

    model: str
    parts: list[Fact]


class GradeOf(BaseModel):
    """Whether a neighbor of an article is relevant, as somebody judged it; None takes the judgment back."""

    id: str
    neighbor: str
    method: str
    grade: Literal["yes", "partly", "no"] | None


class Articles:
    """All methods, their answers by id, and questions that wait."""

    def __init__(self, service: Service) -> None:
        self._service = service
        limits = service.settings.limits
        self._desk = Desk(limits.queue)  # of its own, so that long texts in another panel hold nobody up
        self._together = Together(self._desk, self._search, queue=limits.queue, tally=service.tally)
        self._kept: OrderedDict[bytes, Answer] = OrderedDict()
        self._size = 0
        self._version = 0
        self._indexes: dict[str, IndexSource] = {}
        self._values: dict[str, Any] = {}
        self.refresh()

    @property
    def _sources(self) -> dict[str, Source]:
        """All methods: those of the collection, then the index files."""
        holdings = self._service.holdings
        sources: dict[str, Source] = {} if holdings is None else dict(holdings.sources)
        for name, source in self._indexes.items():
            sources[f"{name} (file)" if name in sources else name] = source
        return sources

    def refresh(self) -> bool:
        """Look at the files and the collection again; whether any of them is another."""
        holdings = self._service.holdings
        changed = holdings is not None and holdings.refresh()
        values = {entry.name: entry.value for entry in self._service.library.of("articles")}
        if values.keys() != self._values.keys() or any(values[name] is not self._values[name] for name in values):
            self._indexes = {entry.name: IndexSource(entry) for entry in self._service.library.of("articles")}
            self._values = values
            changed = True
        return changed

    def close(self) -> None:
        """End the threads."""
        self._desk.close()

    def methods(self) -> list[str]:
        """Names of the methods."""
        return list(self._sources)

    def direct(self) -> dict[str, Direct]:
        """Answers that need nothing of FastAPI."""
        return {"/api/v1/article": self._article, "/api/v1/search": self._search_short}

    def forget(self) -> None:
        """Drop all answers, since what they were made of has changed."""
        self._kept.clear()
        self._size = 0
        self._version += 1

    async def _article(self, query: bytes) -> Answer:
        stored = self._kept.get(query)
        if stored is not None:
            self._kept.move_to_end(query)
            return stored
        values, version = _values(query), self._version
        answer = await self.article(values.get("id", ""), _whole(values.get("k", "10")))
        if version == self._version:  # or it was made of what is no longer there
            self._keep(query, answer)
        return answer

    def _keep(self, query: bytes, answer: Answer) -> None:
        self._kept[query] = answer
        self._size += len(answer.body) + len(query)
        while self._size > _KEPT:
            old, dropped = self._kept.popitem(last=False)
            self._size -= len(dropped.body) + len(old)

    async def article(self, id: str, k: int) -> Answer:  # noqa: A002
        """An article and its neighbors."""
        self._service.check_k(k)
        sources = self._having(id)
        if all(source.is_quick(k) for source in sources.values()):
            return _article_answer(id, sources, k)  # lists that are there cost less than a thread
        async with asyncio.timeout(self._service.settings.limits.seconds):
            return await self._desk.run(_article_answer, id, sources, k)

    def _having(self, id: str) -> dict[str, Source]:  # noqa: A002
        """The methods that know an article."""
        if len(id) > _LONGEST_ID:
            raise Refusal(422, f"the id has {len(id)} characters; the limit is {_LONGEST_ID}")
        sources = {name: source for name, source in self._sources.items() if id in source}
        if not sources:
            raise Refusal(404, "there is no article with this id")
        return sources

    def text(self, id: str) -> ArticleText:  # noqa: A002
        """What a collection has of an article."""
        source = next((one for one in self._having(id).values() if isinstance(one, MethodSource)), None)
        if source is None:
            raise Refusal(404, "index files hold no texts; serve a collection")
        article = source.article(id)
        fields = {name: _shown(value) for name, value in article.fields.items()}
        return ArticleText(id=article.id, text=article.words, fields=fields, source=article.source)

    def mixtures(self, id: str) -> list[MixtureAnswer]:  # noqa: A002
        """The shares of topics in an article, by every topic model that reads texts."""
        text = self.text(id).text
        models = [(entry.name, entry.value) for entry in self._service.library.of("topics")]
        if self._service.holdings is not None:
            methods = self._service.holdings.collection.methods
            models += [(name, one.model) for name, one in methods.items() if isinstance(one.model, TopicModel)]
        readers = [(name, model) for name, model in models if model.vectorizer_ is not None]
        shares = [(name, model) for name, model in readers if not model.components_.min(initial=0) < 0]
        return [MixtureAnswer(model=name, parts=mixture_of(model, text)) for name, model in shares]

    async def _search_short(self, query: bytes) -> Answer:
        values = _values(query)
        return await self.search(values.get("text", ""), _whole(values.get("k", "10")))

    async def search(self, text: str, k: int) -> Answer:
        """What all methods find for a text."""
        self._service.check_k(k)
        self._service.check_text(text)
        if not self._sources:
            raise Refusal(404, "no articles are served")
        async with asyncio.timeout(self._service.settings.limits.seconds):
            answer: Answer = await self._together.ask(k, text)
        return answer

    def _search(self, k: int, texts: Sequence[str]) -> list[Answer]:
        """Answers to several texts, searched together by each method."""
        columns = [(name, source.search(texts, k)) for name, source in self._sources.items()]
        return [
            json_answer({"methods": [_method(name, *lists[place]) for name, lists in columns]})
            for place in range(len(texts))
        ]

    def listed(self, search: str, first: int, count: int) -> ArticleList:
        """Articles whose ids or titles contain some letters."""
        if not self._sources:
            return ArticleList(total=0, articles=[])
        total, rows = max(self._sources.values(), key=len).listed(search, first, count)
        return ArticleList(total=total, articles=[ListedArticle(id=one, title=title) for one, title in rows])

    def judge(self, grade: GradeOf) -> None:
        """Store a judgment about a neighbor."""
        if grade.method not in self._sources:
            raise Refusal(404, "there is no such method")
        if not any(grade.id in source and grade.neighbor in source for source in self._sources.values()):
            raise Refusal(404, "there is no article with this id")
        self._service.judgments.put("article", grade.method, grade.id, grade.neighbor, grade.grade)
        self._service.tally.add("judgments")


Source: TypeAlias = IndexSource | MethodSource


def articles_router(service: Service, articles: Articles) -> APIRouter:
    """The addresses of this panel."""
    router = APIRouter(tags=["articles"])

    @router.get("/article", response_model=ArticleAnswer)
    async def article(id: str, k: int = 10) -> None:  # noqa: A002
        """An article and its neighbors by all methods; answered in front of FastAPI."""

    @router.get("/search", response_model=SearchAnswer)
    async def search(text: str, k: int = 10) -> None:
        """Articles near to a text by all methods; answered in front of FastAPI."""

    @router.post("/search")
    async def search_long(question: SearchQuestion) -> SearchAnswer:
        """Articles near to a text that is too long for an address."""
        answer = await articles.search(question.text, question.k)
        return SearchAnswer.model_validate_json(answer.body)

    @router.get("/articles")
    async def listed(
        search: str = "", first: Annotated[int, Query(ge=0)] = 0, count: Annotated[int, Query(ge=1, le=_PAGE)] = 50
    ) -> ArticleList:
        """Articles by the letters of their titles and ids."""
        return await service.desk.run(articles.listed, search, first, count)

    @router.get("/articles/text")
    async def text(id: str) -> ArticleText:  # noqa: A002
        """The text and the fields of an article of the collection."""
        return await service.desk.run(articles.text, id)

    @router.get("/articles/mixtures")
    async def mixtures(id: str) -> list[MixtureAnswer]:  # noqa: A002
        """The shares of topics in an article of the collection: those of at least 5 %, and the rest."""
        return await service.desk.run(articles.mixtures, id)

    @router.get("/articles/judgments")
    async def judgments(id: str) -> list[GradeOf]:  # noqa: A002
        """What was judged of the neighbors of an article."""
        stored = await service.desk.run(service.judgments.about, "article", id)
        return [GradeOf(id=one.one, neighbor=one.other, method=one.file, grade=one.label) for one in stored]  # type: ignore[arg-type]

    @router.put("/articles/judgments", status_code=204)
    async def judge(grade: GradeOf) -> None:
        """Store whether a neighbor is relevant."""
        service.check_writable()
        await service.desk.run(articles.judge, grade)

    return router


def _shown(value: Any) -> str:
    """A field for people."""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _article_answer(id: str, sources: dict[str, Source], k: int) -> Answer:  # noqa: A002
    methods = [_method(name, source.neighbors(id, k), None) for name, source in sources.items()]
    return json_answer({"id": id, "title": next(iter(sources.values())).title(id), "methods": methods})


def _method(name: str, neighbors: list[Near], reason: str | None) -> dict[str, Any]:
    listed = [{"id": one, "title": title, "score": score} for one, title, score in neighbors]
    return {"name": name, "neighbors": listed, "reason": reason}


def _values(query: bytes) -> dict[str, str]:
    try:
        return dict(parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict"))
    except (UnicodeDecodeError, ValueError):
        raise Refusal(422, "the address is not UTF-8 in percent signs") from None


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise Refusal(422, "k must be a whole number")
    return int(text)
