"""Documents in HTML and XML: title, fields of the head, and the text without markup, formulas in it as TeX-like terms.

A file is a document. Its title is that of <title>, <article-title> or the first <h1>; <meta name content> and the
language become fields; scripts, styles and navigation are left out. MathML becomes `$...$` (`formulas.py`), so that a
`FormulaTokenizer` finds it. XML must be well-formed and may not declare entities, so nothing can be expanded; HTML is
read as browsers do. A MediaWiki dump is XML too, but has many documents and a reader of its own.

Cost: one pass; memory is the file. References: HTML living standard, section 13; MathML 3.
"""

from __future__ import annotations

import html.entities
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from xml.parsers import expat

from textmill.corpus.formulas import MathElement, formula_of_mathml
from textmill.corpus.sniffing import peek
from textmill.corpus.streams import BadRecords, Part, open_bytes
from textmill.corpus.wikipedia import read_wikipedia
from textmill.errors import DataError

__all__ = ["read_html", "read_xml"]

_HIDDEN = {"script", "style", "noscript", "template", "nav", "svg", "iframe", "object"}
_BLOCKS = {
    "p", "div", "br", "hr", "li", "ul", "ol", "dl", "dt", "dd", "table", "tr", "td", "th", "h1", "h2", "h3", "h4",
    "h5", "h6", "section", "article", "header", "footer", "blockquote",
    "pre", "title", "sec", "abstract", "para", "figure", "caption", "theorem", "proof", "equation", "body",
    "head", "aside", "main", "address",
}  # fmt: skip
_TITLES = {"title", "article-title", "h1"}
_VOID = {"br", "hr", "img", "meta", "link", "input", "area", "base", "col", "embed", "source", "track", "wbr"}
_CHARSET = re.compile(rb"""<(?:meta[^>]+charset|\?xml[^>]+encoding)\s*=\s*["']?([A-Za-z0-9_.:-]+)""", re.IGNORECASE)
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def read_html(part: Part, bad: BadRecords) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the one document of an HTML file.

    >>> import io
    >>> page = b"<title>Rings</title><p>Let <math><mi>R</mi></math> be a <b>ring</b>.</p>"
    >>> list(read_html(Part(io.BytesIO(page), "rings.html"), BadRecords("strict", "rings.html")))
    [(0, {'title': 'Rings', 'text': 'Let $R$ be a ring.'})]
    """
    with open_bytes(part.source, name=part.name) as stream:
        data = stream.read()
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    declared = _CHARSET.search(data[:2048])
    encoding = encoding or (declared[1].decode("ascii") if declared else part.encoding)
    try:
        text = data.decode(encoding)
    except LookupError:
        bad(DataError(f"its encoding is said to be {encoding!r}, which is none; pass encoding", source=part.name))
        return
    except UnicodeDecodeError as fault:
        bad(DataError(f"not {encoding} at byte {fault.start}; pass the encoding it has", source=part.name))
        return
    builder = _Builder()
    parser = _Html(builder)
    parser.feed(text)
    parser.close()
    yield from builder.documents()


def read_xml(part: Part, bad: BadRecords) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the one document of an XML file, or the pages of a MediaWiki dump.

    >>> import io
    >>> page = b"<article><title>Rings</title><p>Let R be a ring.</p></article>"
    >>> list(read_xml(Part(io.BytesIO(page), "rings.xml"), BadRecords("strict", "rings.xml")))
    [(0, {'title': 'Rings', 'text': 'Let R be a ring.'})]
    """
    with peek(part.source, name=part.name) as (head, stream):
        if b"<mediawiki" in head[:4096]:
            yield from read_wikipedia(part._replace(source=stream), bad)
            return
        data = stream.read()
    builder = _Builder()
    try:
        _parse_xml(data, builder, part.name)
    except expat.ExpatError as fault:
        reason = expat.ErrorString(fault.code)
        bad(
            DataError(
                f"not well-formed XML: {reason}; mend it, or pass format='html'", source=part.name, line=fault.lineno
            )
        )
    except DataError as fault:
        bad(fault)
    else:
        yield from builder.documents()


def _parse_xml(data: bytes, builder: _Builder, name: str) -> None:
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.UseForeignDTD(True)  # so that &nbsp; and its like are handed on
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)

    def refuse(*declaration: Any) -> None:
        fault = "it declares entities, which are not expanded; remove the declaration"
        raise DataError(fault, source=name, line=parser.CurrentLineNumber)

    def start(tag: str, attributes: dict[str, str]) -> None:
        builder.start(tag, attributes)

    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.SkippedEntityHandler = lambda entity, _: builder.data(html.entities.html5.get(entity + ";", " "))
    parser.ExternalEntityRefHandler = lambda *_: 1
    parser.Parse(data, True)


class _Html(HTMLParser):
    def __init__(self, builder: _Builder) -> None:
        super().__init__(convert_charrefs=True)
        self._builder = builder

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._builder.start(tag, {name: value or "" for name, value in attrs})
        if tag in _VOID:
            self._builder.end(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._builder.start(tag, {name: value or "" for name, value in attrs})
        self._builder.end(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            self._builder.end(tag)

    def handle_data(self, data: str) -> None:
        self._builder.data(data)


class _Builder:
    """What is said by tags and text becomes a document."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._title: list[str] = []
        self._fields: dict[str, Any] = {}
        self._hidden = 0
        self._in_title = ""
        self._math: list[MathElement] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2].lower()
        if self._math or name == "math":
            element = MathElement(name)
            if self._math:
                self._math[-1].inside.append(element)
            self._math.append(element)
            return
        if name in _HIDDEN:
            self._hidden += 1
        elif name in _TITLES and not self._title and not self._in_title:
            self._in_title = name
        elif (
            name == "meta"
            and attributes.get("content")
            and (key := attributes.get("name") or attributes.get("property"))
        ):
            self._meta(key, attributes["content"])
        language = attributes.get("lang") or attributes.get("xml:lang")
        if language and name in ("html", "article", "body", "text", "tei"):
            self._fields.setdefault("language", language)
        self._text.append("\n" if name in _BLOCKS else "")

    def end(self, tag: str) -> None:
        name = tag.rpartition(":")[2].lower()
        if self._math:
            if any(one.name == name for one in self._math):
                while (element := self._math.pop()).name != name:
                    pass
                if not self._math:
                    self._put(formula_of_mathml(element))
            return
        if name in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        elif name == self._in_title:
            self._in_title = ""
        self._text.append("\n" if name in _BLOCKS else "")

    def data(self, text: str) -> None:
        if self._math:
            self._math[-1].text += text
        else:
            self._put(text)

    def _put(self, text: str) -> None:
        if self._in_title:
            self._title.append(text)
        elif not self._hidden:
            self._text.append(text)

    def documents(self) -> Iterator[tuple[int, dict[str, Any]]]:
        lines = (" ".join(line.split()) for line in "".join(self._text).split("\n"))
        text = "\n".join(line for line in lines if line)
        title = " ".join("".join(self._title).split())
        if text or title:
            yield 0, ({"title": title} if title else {}) | self._fields | {"text": text}

    def _meta(self, key: str, value: str) -> None:
        old = self._fields.get(key)
        if key in ("viewport", "generator", "theme-color", "robots"):
            return
        self._fields[key] = value if old is None else [*(old if isinstance(old, list) else [old]), value]
