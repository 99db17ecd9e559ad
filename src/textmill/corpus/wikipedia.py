"""MediaWiki dumps: the XML of `pages-articles` and its kin, page by page as plain text.

    <mediawiki> <page> <title/> <ns/> <id/> <redirect/> <revision> <timestamp/> <text/> ...

Of a page that has several revisions the last one counts. The record number is that of the page in the dump, counting
all pages; XML tells its own encoding. Declarations of entities are refused, so nothing can be expanded. A dump that is
cut or malformed gives the pages before the fault and then one bad record.

Cost: one pass, memory is the longest page; removing the markup takes nearly all the time. Reference: MediaWiki export
format 0.3 to 0.11.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any
from xml.parsers import expat

from textmill.corpus.compression import pieces
from textmill.corpus.streams import BadRecords, Part, open_bytes
from textmill.corpus.wikitext import HIDDEN, plain_text, rough_text
from textmill.errors import DataError, warn_caller

__all__ = ["RoughPages", "read_wikipedia"]

_VALUES = {
    "page/title": "title",
    "page/ns": "ns",
    "page/id": "id",
    "page/revision/timestamp": "timestamp",
    "page/revision/text": "text",
}
_FIELDS = ("id", "title", "timestamp", "redirect", "text")
_NAMESPACE = "siteinfo/namespaces/namespace"
_REDIRECT = re.compile(r"\s*#redirect\b", re.IGNORECASE)


class RoughPages(UserWarning):
    """The markup of `count` pages of `source` could not be parsed; only tags and brackets were removed there.

    >>> print(RoughPages(2, "enwiki.xml", "Anarchism"))
    enwiki.xml: the markup of 2 pages could not be parsed and was removed roughly, the first: 'Anarchism'
    """

    def __init__(self, count: int, source: str, first: str) -> None:
        super().__init__(count, source, first)  # the arguments themselves, so that it can be pickled
        self.count = count
        self.source = source
        self.first = first

    def __str__(self) -> str:
        pages = "page" if self.count == 1 else "pages"
        fault = "could not be parsed and was removed roughly"
        return f"{self.source}: the markup of {self.count} {pages} {fault}, the first: {self.first!r}"


def read_wikipedia(
    part: Part, bad: BadRecords, *, namespaces: Collection[int] = (0,), redirects: bool = False
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and fields of the pages of a dump: id, title, timestamp of the revision, text; all are strings.

    `namespaces` are the numbers of those wanted (0 articles, 1 talk, 14 categories). With `redirects`, pages that only
    lead elsewhere come too, with a field "redirect". For other than the default values pass the reader with them as
    the format: `read_documents(path, format=functools.partial(read_wikipedia, namespaces=[0, 14]))`.

    >>> import io
    >>> page = "<title>Anarchism</title><ns>0</ns><id>12</id><revision><text>'''A''' [[b]]</text></revision>"
    >>> part = Part(io.BytesIO(f"<mediawiki><page>{page}</page></mediawiki>".encode()), "enwiki.xml")
    >>> list(read_wikipedia(part, BadRecords("strict", "enwiki.xml")))
    [(1, {'id': '12', 'title': 'Anarchism', 'text': 'A b'})]
    """
    plain_text("")  # a missing library is noticed now
    pages = _Pages(part.name, frozenset(namespaces), redirects)
    rough, first = 0, ""  # pages whose markup could not be parsed
    with open_bytes(part.source, name=part.name) as stream:
        blocks = pieces(stream)
        more = True
        while more:
            try:
                block = next(blocks, b"")
            except DataError as error:
                fault = f"{error.message} The end is {pages.reached()}"
                raise DataError(fault, source=part.name, line=pages.number or None) from None
            more = block != b""
            wrong = pages.feed(block)
            for number, fields in pages.finished:
                try:
                    fields["text"] = plain_text(fields["text"], pages.hidden)
                except Exception:  # whatever a parser may do with a page nobody has checked
                    first = first if rough else fields["title"]
                    rough += 1
                    fields["text"] = rough_text(fields["text"])
                yield number, fields
            pages.finished.clear()
            if wrong is not None:
                bad(wrong)
                break
    if rough:
        warn_caller(RoughPages(rough, part.name, first))


class _Pages:
    """The pages of a dump that is fed in blocks: those wanted become `finished`, with their markup."""

    def __init__(self, name: str, namespaces: frozenset[int], redirects: bool) -> None:
        self.name = name
        self.number = 0  # pages begun
        self.finished: list[tuple[int, dict[str, Any]]] = []
        self.hidden = set(HIDDEN)
        self._namespaces = namespaces
        self._redirects = redirects
        self._keys: dict[str, int | None] = {}  # namespaces by name
        self._key: int | None = None  # of the namespace that is being declared
        self._path: list[str] = []
        self._page: dict[str, Any] = {}
        self._text: list[str] | None = None  # of the element that is being read, if it is one to keep
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.EntityDeclHandler = self._refuse_entity

    def feed(self, block: bytes) -> DataError | None:
        """Parse a block, b"" for the end, and give the fault in it."""
        try:
            self._parser.Parse(block, not block)
        except expat.ExpatError as error:
            return self._fault(error, at_end=not block)
        except DataError as error:
            return error
        return None

    def reached(self) -> str:
        """Where in the dump the parser is, in words."""
        parser = self._parser
        where = f"at line {parser.CurrentLineNumber}, byte {parser.CurrentByteIndex} of the XML"
        if "page" in self._path[:2]:
            number = f" (id {self._page['id']})" if "id" in self._page else ""
            return f"in the page {self._page.get('title', '')!r}{number}, {where}"
        return f"after {self.number} pages, {where}"

    def _fault(self, error: expat.ExpatError, *, at_end: bool) -> DataError:
        if at_end:
            fault = f"the XML ends {self.reached()}; was the download finished?"
            if not self._path and not self.number:
                fault = "this is no XML; a MediaWiki dump is needed"
        else:
            fault = f"malformed XML ({expat.ErrorString(error.code)}) {self.reached()}; fetch or make the file again"
        return DataError(fault, source=self.name, line=self.number or None)

    def _refuse_entity(self, entity: str, *_: object) -> None:
        raise DataError(
            f"the XML declares the entity {entity!r}; dumps have none, do not trust this file", source=self.name
        )

    def _start(self, element: str, attributes: dict[str, str]) -> None:
        if not self._path and element != "mediawiki":
            raise DataError(f"the XML is <{element}>, not <mediawiki>; only MediaWiki dumps are read", source=self.name)
        self._path.append(element)
        path = "/".join(self._path[1:])
        if path == "page":
            self.number += 1
            self._page = {}
        elif path == "page/redirect":
            self._page["redirect"] = attributes.get("title", "")
        elif path == _NAMESPACE:
            self._key = _number(attributes.get("key", ""))
        if path in _VALUES or path == _NAMESPACE:
            self._text = []

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _end(self, element: str) -> None:
        path = "/".join(self._path[1:])
        self._path.pop()
        if self._text is not None and (path in _VALUES or path == _NAMESPACE):  # else an element inside of one
            value = "".join(self._text)
            self._text = None
            if path == _NAMESPACE:
                self._keys[value] = self._key
                if self._key in (6, 14):  # files and categories, in the language of the dump
                    self.hidden.add(value.lower())
            else:
                self._page[_VALUES[path]] = value
        if path == "page":
            self._finish()

    def _finish(self) -> None:
        """Keep the page that has ended, if it is wanted."""
        page = {"title": "", "text": "", **self._page}
        namespace = _number(page.get("ns", ""))
        if namespace is None:  # as in old dumps
            namespace = self._keys.get(page["title"].partition(":")[0], 0)
        if _REDIRECT.match(page["text"]):
            page.setdefault("redirect", "")
        if namespace in self._namespaces and (self._redirects or "redirect" not in page):
            self.finished.append((self.number, {name: page[name] for name in _FIELDS if name in page}))


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\s*-?[0-9]{1,9}\s*", text) else None
