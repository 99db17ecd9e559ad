"""Documents in HTML and XML: title, fields of the head, and the text without markup, formulas in it as TeX-like terms.

A file is a document. Its title is that of <title>, <article-title> or the first <h1>; <meta name content> and the
language become fields; scripts, styles and navigation are left out (`HIDDEN`) and counted. MathML becomes `$...$`
(`formulas.py`), so that a `FormulaTokenizer` finds it. XML must be well-formed and may not declare entities, so nothing
can be expanded; HTML is parsed by Lexbor as browsers do it, whatever is missing or wrong in it. A MediaWiki dump is XML
too, but has many documents and a reader of its own.

Cost: one pass; memory is the file and its tree. References: HTML living standard, section 13; MathML 3.
"""

from __future__ import annotations

import html.entities
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from textmill.corpus.formulas import MathElement, formula_of_mathml
from textmill.corpus.sniffing import peek
from textmill.corpus.streams import BadRecords, Part, open_bytes
from textmill.corpus.wikipedia import read_wikipedia
from textmill.errors import DataError

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

__all__ = ["HIDDEN", "WebPage", "parse_html", "read_html", "read_main_text", "read_xml"]

HIDDEN = frozenset({"script", "style", "noscript", "template", "nav", "svg", "iframe"})
_BLOCKS = {
    "p", "div", "br", "hr", "li", "ul", "ol", "dl", "dt", "dd", "table", "tr", "td", "th", "h1", "h2", "h3", "h4",
    "h5", "h6", "section", "article", "header", "footer", "blockquote",
    "pre", "title", "sec", "abstract", "para", "figure", "caption", "theorem", "proof", "equation", "body",
    "head", "aside", "main", "address", "nav", "form", "fieldset", "legend", "button", "select", "optgroup", "option",
    "textarea", "figcaption", "details", "summary", "dialog", "menu", "hgroup", "search", "thead", "tbody", "tfoot",
}  # fmt: skip
_TITLES = {"title", "article-title", "h1"}
_TELLING = {"meta", "html", "article", "body", "text", "tei"}  # elements whose attributes are looked at
_CHARSET = re.compile(rb"""<(?:meta[^>]+charset|\?xml[^>]+encoding)\s*=\s*["']?([A-Za-z0-9_.:-]+)""", re.IGNORECASE)
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def read_html(part: Part, bad: BadRecords) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the one document of an HTML file.

    >>> import io
    >>> page = b"<title>Rings</title><p>Let <math><mi>R</mi></math> be a <b>ring</b>.</p>"
    >>> list(read_html(Part(io.BytesIO(page), "rings.html"), BadRecords("strict", "rings.html")))
    [(0, {'title': 'Rings', 'text': 'Let $R$ be a ring.'})]
    """
    text = _decoded(part, bad)
    if text is not None:
        yield from _documents(parse_html(text), part, bad)


def read_main_text(part: Part, bad: BadRecords) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the one document of an HTML file without menus, sidebars and footers, as Resiliparse finds its main text.

    A page in which it finds none keeps all its text. Formulas in MathML are text as any other here.
    """
    try:
        from resiliparse.extract.html2text import extract_plain_text
    except ImportError:
        raise DataError(
            "main text needs the library resiliparse: pip install 'textmill[io]'", source=part.name
        ) from None
    text = _decoded(part, bad)
    if text is not None:
        page = parse_html(text)
        main = extract_plain_text(text, main_content=True, list_bullets=False, alt_texts=False, comments=False)
        lines = (" ".join(line.split()) for line in main.split("\n"))
        page = replace(page, text="\n".join(line for line in lines if line) or page.text)
        yield from _documents(page, part, bad)


def _decoded(part: Part, bad: BadRecords) -> str | None:
    """The characters of a page; None if its bytes are bad."""
    with open_bytes(part.source, name=part.name) as stream:
        data = stream.read()
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    declared = _CHARSET.search(data[:2048])
    encoding = encoding or (declared[1].decode("ascii") if declared else part.encoding)
    try:
        return data.decode(encoding)
    except LookupError:
        bad(DataError(f"its encoding is said to be {encoding!r}, which is none; pass encoding", source=part.name))
    except UnicodeDecodeError as fault:
        bad(DataError(f"not {encoding} at byte {fault.start}; pass the encoding it has", source=part.name))
    return None


def parse_html(text: str) -> WebPage:
    """Read a page as a browser would.

    >>> page = parse_html("<title>Rings</title><div><nav>Home</div><p>Let R be a ring.</p><script>f()</script>")
    >>> page.text, page.title, page.what_is_left_out()
    ('Let R be a ring.', 'Rings', 'nav 1, script 1')
    """
    from selectolax.lexbor import LexborHTMLParser

    builder = _Builder()
    root = LexborHTMLParser(text).root
    if root is not None:
        _walk(root, builder)
    return builder.page()


def _walk(node: LexborNode, builder: _Builder) -> None:
    """Tell the builder of a node and all that is in it, in the order of the page."""
    opened: list[LexborNode] = []
    while True:
        inside = None
        if node.is_text_node:
            builder.data(node.text_content or "")
        elif node.is_element_node:
            tag = node.tag or ""
            attributes = {name: value or "" for name, value in node.attributes.items()} if tag in _TELLING else {}
            builder.start(tag, attributes)
            inside = node.child
            if inside is None:
                builder.end(tag)
            else:
                opened.append(node)
                node = inside
        while inside is None:
            inside = node.next
            if inside is None:
                if not opened:
                    return
                node = opened.pop()
                builder.end(node.tag or "")
            else:
                node = inside


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
        yield from _documents(builder.page(), part, bad)


def _documents(page: WebPage, part: Part, bad: BadRecords) -> Iterator[tuple[int, dict[str, Any]]]:
    """The page as the one document of its file."""
    if not page.text:
        bad.empty(part.name, f"left out: {page.what_is_left_out()}" if page.left_out else "")
    yield 0, page.record()


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


@dataclass(frozen=True, slots=True)
class WebPage:
    """What a page says: text, title, the fields of its head, and how many elements of each kind were left out."""

    text: str
    title: str
    fields: dict[str, Any]
    left_out: dict[str, int]

    def record(self) -> dict[str, Any]:
        """The page as the fields of a record."""
        return ({"title": self.title} if self.title else {}) | self.fields | {"text": self.text}

    def what_is_left_out(self) -> str:
        """Kinds of elements and their numbers, the most first."""
        most_first = sorted(self.left_out.items(), key=lambda one: (-one[1], one[0]))
        return ", ".join(f"{name} {count}" for name, count in most_first)


class _Builder:
    """What is said by tags and text becomes a document."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._title: list[str] = []
        self._fields: dict[str, Any] = {}
        self._hidden = 0
        self._left_out: Counter[str] = Counter()
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
        if name in HIDDEN:
            self._left_out[name] += not self._hidden
            self._hidden += 1
        elif self._hidden:
            return
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
        if name in HIDDEN:
            self._hidden -= 1
        elif name == self._in_title:
            self._in_title = ""
        self._text.append("\n" if name in _BLOCKS else "")

    def data(self, text: str) -> None:
        if self._math:
            self._math[-1].text += text
        else:
            self._put(text)

    def _put(self, text: str) -> None:
        if not self._hidden:
            (self._title if self._in_title else self._text).append(text)

    def page(self) -> WebPage:
        lines = (" ".join(line.split()) for line in "".join(self._text).split("\n"))
        text = "\n".join(line for line in lines if line)
        title = " ".join("".join(self._title).split())
        return WebPage(text, title, self._fields, dict(self._left_out))

    def _meta(self, key: str, value: str) -> None:
        old = self._fields.get(key)
        if key in ("viewport", "generator", "theme-color", "robots"):
            return
        self._fields[key] = value if old is None else [*(old if isinstance(old, list) else [old]), value]
