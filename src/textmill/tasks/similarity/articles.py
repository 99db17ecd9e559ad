"""Documents as a collection keeps them: id, title, text, fields, and the source they came from.

A text is a string, or a list of terms where documents come as counts. Fields are what else a record held, as JSON has
it: texts, numbers, truth values, lists and mappings of them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from textmill.corpus import Document
from textmill.errors import DataError
from textmill.tables import beginning

__all__ = ["Article", "articles_of"]

_TITLES = ("title", "headline", "subject")  # fields that name a document
_WIDTH = 80  # characters of a title that is the beginning of the text
_LONGEST = 1000  # characters of any title


@dataclass(frozen=True, slots=True)
class Article:
    """A document of a collection.

    >>> Article("n7", "A storm", "A storm at sea.", {"year": 1990}, "news").fields["year"]
    1990
    """

    id: str
    title: str
    text: str | list[str]
    fields: dict[str, Any] = field(default_factory=dict)
    source: str = ""

    @property
    def words(self) -> str:
        """The text as a string, also where it is a list of terms."""
        return self.text if isinstance(self.text, str) else " ".join(self.text)


def articles_of(documents: Iterable[Any], source: str | None = None, *, first: int = 0) -> Iterator[Article]:
    """Yield articles made of `Document`s, `Article`s, texts or mappings with a "text"; those without an id are
    numbered.

    `source` names where they come from; None for what each document says.

    >>> next(articles_of([{"id": "n7", "title": "A storm", "text": "A storm at sea.", "year": 1990}], "news"))
    Article(id='n7', title='A storm', text='A storm at sea.', fields={'year': 1990}, source='news')
    """
    if isinstance(documents, str):
        raise DataError("documents must be a list of documents, got one text; put it into a list")
    for number, document in enumerate(documents, first):
        yield _article(document, number, source)


def _article(document: Any, number: int, source: str | None) -> Article:
    if isinstance(document, Article):
        article = (
            document if source is None else Article(document.id, document.title, document.text, document.fields, source)
        )
        return _checked(article, None)
    if isinstance(document, Document):
        return _of_fields(document.id, document.text, document.fields, source or document.source, document.place)
    if isinstance(document, Mapping):
        if "text" not in document:
            names = ", ".join(map(repr, islice(document, 10))) or "none"
            raise DataError(f"document {number} has no field 'text'; its fields are {names}")
        identifier = document.get("id")
        identifier = str(number) if identifier is None else str(identifier).strip()
        return _of_fields(identifier, document["text"], dict(document), source or "", f"document {number}")
    return _of_fields(str(number), document, {}, source or "", f"document {number}")


def _of_fields(identifier: str, text: Any, fields: dict[str, Any], source: str, place: str) -> Article:
    if not isinstance(text, str):
        if not isinstance(text, list | tuple) or not all(isinstance(term, str) for term in text):
            raise DataError(f"a text or a list of terms is needed, got {type(text).__name__}", source=place)
        text = list(text)
    title = next((fields[name] for name in _TITLES if isinstance(fields.get(name), str) and fields[name].strip()), None)
    if title is None:
        title = beginning(text if isinstance(text, str) else " ".join(islice(text, _WIDTH)), _WIDTH)
    others = {
        name: _plain(value)
        for name, value in fields.items()
        if name != "title" and not (name == "id" and str(value).strip() == identifier) and value is not text
    }
    if others.get("text") == text:
        del others["text"]
    return _checked(Article(identifier, beginning(title, _LONGEST), text, others, source), place)


def _checked(article: Article, place: str | None) -> Article:
    """The article, once its id can be kept and its strings can be written."""
    if not isinstance(article.id, str) or not article.id.strip():
        raise DataError("a document needs an id that is not empty", source=place)
    try:
        json.dumps([article.id, article.title, article.text, article.fields], ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise DataError(
            f"the document '{article.id!a}' holds half a character (a lone surrogate); decode it with errors='replace'",
            source=place,
        ) from None
    except (TypeError, ValueError) as fault:
        raise DataError(
            f"a field of the document '{article.id}' cannot be written as JSON: {fault}", source=place
        ) from None
    return article


def _plain(value: Any) -> Any:
    """A value as JSON has it; anything unknown as its text, and no NaN."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    return _plain(value.tolist()) if hasattr(value, "tolist") else str(value)
