"""One HTML page that needs nothing else: headings, text, colored text, tables, figures, code.

    parts in order -> Jinja2 template (report.html.j2) that escapes every text -> one file, replaced whole or not at all

The page holds its own styles and a few lines of script (a click on the head of a column sorts the table, a button
copies code), and its security policy forbids it to fetch anything. It can be read in light and dark, on paper and on a
telephone. The same calls give the same bytes: no time of day, no random ids. Figures may come from anywhere: what could
run or fetch something is refused, and their ids are renamed, so that no two are the same. Cost: O(size of the page).
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Sequence
from importlib import metadata, resources
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

from textmill.errors import DataError
from textmill.files import replacing
from textmill.readable import MISSING, numerals, one_line, printable

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

__all__ = ["Report"]

_DRAWS = re.compile(  # elements that draw something and do nothing else
    "svg|g|defs|symbol|use|title|desc|path|rect|circle|ellipse|line|polyline|polygon|text|tspan|textPath|image|a|"
    "clipPath|mask|marker|pattern|linearGradient|radialGradient|stop"
)
_LINK = re.compile("#|https?://")  # followed by a click
_INSIDE = re.compile("#|data:image/")  # needed to draw
_SHADES = 6  # of pieces of a text, in the template


class _Column(NamedTuple):
    """The head of a column."""

    name: str
    is_number: bool


class _Cell(NamedTuple):
    """What is read in a cell, and the number it is sorted by ("" if there is none)."""

    text: object
    value: str


class Report:
    """A page that grows part by part and is written at the end.

    `language` is the one its texts are in, `version` that of textmill unless it is given.

    >>> report = Report("Newspapers", subtitle="March 1848")
    >>> report.heading("Words")
    >>> report.text("The words that occur most often.")
    >>> report.table(["word", "count"], [("the", 6912), ("of", 3300)], caption="Two words.")
    >>> '<td class="number" data-value="6912">6912</td>' in report.render()
    True
    """

    def __init__(
        self, title: str, *, subtitle: str | None = None, language: str = "en", version: str | None = None
    ) -> None:
        self.title = title
        self.subtitle = subtitle
        self.language = language
        self.version = _installed_version() if version is None else version
        self._parts: list[dict[str, Any]] = []

    def heading(self, text: str, *, level: int = 2) -> None:
        """Begin a section (level 2) or a part of one (level 3); more than three sections get a table of contents.

        >>> Report("Newspapers").heading("Words")
        """
        if level not in (2, 3):
            raise DataError(f"level of heading '{_cut(text)}' is {level}; pass 2 for a section, 3 for a part of it")
        self._add("heading", text=text, level=level)

    def contents(self) -> None:
        """Put the table of contents here; without this call it stands below the title.

        >>> Report("Newspapers").contents()
        """
        self._add("contents")

    def text(self, *paragraphs: str) -> None:
        """Add paragraphs of plain text.

        >>> Report("Newspapers").text("A first paragraph.", "A second.")
        """
        for paragraph in paragraphs:
            self._add("text", text=paragraph)

    def code(self, text: str) -> None:
        """Add text that is shown as it is, line by line: a command, a configuration, a log.

        >>> Report("Newspapers").code("textmill vocab build news.jsonl -o news.mill")
        """
        self._add("code", words=_unbroken(text))

    def facts(self, facts: Iterable[tuple[str, str]]) -> None:
        """Add a row of short facts, each a figure and what it is.

        >>> Report("Newspapers").facts([("1,204", "issues"), ("2.1 s", "to count all words")])
        """
        self._add("facts", facts=list(facts))

    def links(self, links: Iterable[tuple[str, str]]) -> None:
        """Add links to other pages and files, each an address and what is to be seen there.

        Addresses are relative to the page, or begin with http: or https:.

        >>> Report("Newspapers").links([("names.html", "people who are named under several names")])
        """
        chosen = [(str(address), text) for address, text in links]
        for address, _ in chosen:
            if ":" in address.split("/")[0] and not _LINK.match(address):
                raise DataError(f"the link '{_cut(address)}' would run something; pass a path, or http: or https:")
        self._add("links", links=chosen)

    def html(self, part: Markup) -> None:
        """Add markup made elsewhere, which must be safe and must not use ids of others. A mere `str` is escaped.

        >>> from markupsafe import Markup
        >>> Report("Newspapers").html(Markup("<p>The <mark>first</mark> word.</p>"))
        """
        self._add("html", html=part)

    def spans(self, pieces: Iterable[tuple[str, str | None]], *, caption: str) -> None:
        """Add a text in pieces, each with its label; pieces of one label have one color, those of None have none.

        The label stands before its piece and is not copied with it; line ends are kept.

        >>> Report("Newspapers").spans([("Good morning. ", "en"), ("Guten Tag.", "de")], caption="Two languages.")
        """
        colors: dict[str, int] = {}
        shown = [
            (text, label, None if label is None else colors.setdefault(label, len(colors)) % _SHADES)
            for text, label in pieces
        ]
        self._add("spans", pieces=shown, caption=caption)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]], *, caption: str) -> None:
        """Add a table that the reader can sort.

        A column of numbers is aligned to the right, all of them with the same decimals; a number is sorted by its full
        value. `None` and NaN are shown as missing, truth as yes and no, `Markup` as it is, all else by `str`. If the
        first column is text, its cells are the heads of their rows.

        >>> Report("Newspapers").table(["model", "F1"], [("CRF", 93.71), ("HMM", None)], caption="Chunking.")
        """
        table = [tuple(row) for row in rows]
        if len(columns) == 0:
            raise DataError(f"table '{_cut(caption)}' has no columns; pass at least one")
        for number, row in enumerate(table, 1):
            if len(row) != len(columns):
                fault = f"has {len(row)} cells for {len(columns)} columns; pass one cell for each column"
                raise DataError(f"row {number} of table '{_cut(caption)}' {fault}")
        by_column = [_column([row[i] for row in table]) for i in range(len(columns))]
        heads = [_Column(name, is_number) for name, (is_number, _) in zip(columns, by_column, strict=True)]
        cells = [[cells[i] for _, cells in by_column] for i in range(len(table))]
        self._add("table", columns=heads, rows=cells, caption=caption)

    def figure(self, drawing: object, *, caption: str, alt: str | None = None) -> None:
        """Add a drawing; `alt` says what is to be seen, by default the caption.

        A drawing is the text of one `<svg>` element, or what has it ready for notebooks (`_repr_svg_`), as the figures
        of `textmill.plot` have.

        >>> circle = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 2 2"><circle cx="1" cy="1" r="1"/></svg>'
        >>> Report("Newspapers").figure(circle, caption="A circle.")
        """
        svg = drawing if isinstance(drawing, str) else getattr(drawing, "_repr_svg_", lambda: None)()
        if svg is None:
            raise DataError(
                f"figure '{_cut(caption)}' is a {type(drawing).__name__}, which is no drawing; pass SVG text, "
                "for a Matplotlib figure of your own textmill.plot.to_svg(figure)"
            )
        element = _checked(svg, f"figure '{_cut(caption)}'", prefix=f"figure-{len(self._parts) + 1}-")
        self._add("figure", svg=_markup(element, printable(caption if alt is None else alt)), caption=caption)

    def render(self) -> str:
        """The page as text.

        >>> Report("Newspapers").render()[:15]
        '<!DOCTYPE html>'
        """
        contents = [part for part in self._parts if part["kind"] == "heading" and part["level"] == 2]
        page = _template().render(
            title=self.title,
            subtitle=self.subtitle,
            language=self.language,
            maker=f"textmill {self.version}".strip(),
            contents=contents,
            parts=self._parts,
            missing=MISSING,
        )
        return printable(page)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page; a file that was there is replaced whole or not at all.

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Report("Newspapers").write(f"{folder}/report.html")
        ...     pathlib.Path(folder, "report.html").read_text()[:15]
        '<!DOCTYPE html>'
        """
        page = self.render().encode()
        with replacing(path) as file:
            file.write(page)

    def _add(self, kind: str, **content: object) -> None:
        self._parts.append({"kind": kind, "id": f"part-{len(self._parts) + 1}", **content})


def _installed_version() -> str:
    try:
        return metadata.version("textmill")
    except metadata.PackageNotFoundError:
        return ""


@functools.cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    rules = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return rules.from_string(resources.files("textmill").joinpath("report.html.j2").read_text(encoding="utf-8"))


def _column(values: Sequence[object]) -> tuple[bool, list[_Cell]]:
    """Is this a column of numbers, and its cells."""
    numbers = [_number(value) for value in values]
    missing = [value is None for value in values]
    if all(gap or number is not None for number, gap in zip(numbers, missing, strict=True)) and not all(missing):
        figures = [float("nan") if number is None else number for number in numbers]
        return True, [_Cell(text, _key(number)) for text, number in zip(numerals(figures), figures, strict=True)]
    return False, [_Cell(_text(value), "") for value in values]


def _number(value: object) -> float | None:
    """A number that can be sorted, whole ones exactly; else None."""
    if not isinstance(value, Real) or _is_truth(value):
        return None
    try:
        near = float(value)
    except OverflowError:
        return None
    return int(value) if isinstance(value, Integral) else near


def _is_truth(value: object) -> bool:
    return type(value).__name__ in {"bool", "bool_"}  # Python's, and NumPy's by either name


def _key(number: float) -> str:
    """A number as the script reads it."""
    if number != number:
        return ""
    return repr(number).replace("inf", "Infinity")


def _text(value: object) -> object:
    if value is None or (isinstance(value, Real) and value != value):
        return MISSING
    if _is_truth(value):
        return "yes" if value else "no"
    return value if hasattr(value, "__html__") else str(value)


def _checked(svg: str, what: str, *, prefix: str) -> ElementTree.Element:
    """The element without namespaces, its ids and the references to them beginning with `prefix`."""
    try:
        root = ElementTree.fromstring(printable(svg).strip())
    except ElementTree.ParseError as fault:
        raise DataError(f"{what} is not well-formed SVG ({fault}); pass the text of one <svg> element") from None
    for parent in [*root.iter()]:
        for child in [*parent]:
            if _local(child.tag) == "metadata":
                parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        if not _DRAWS.fullmatch(element.tag) or (element is root and element.tag != "svg"):
            raise DataError(f"{what} holds <{element.tag}>, which has no place in it; pass an <svg> of shapes and text")
        attributes = {_local(name): value for name, value in element.attrib.items()}
        element.attrib.clear()
        for name, value in attributes.items():
            allowed = _LINK if element.tag == "a" else _INSIDE
            if name.lower().startswith("on") or (name.lower() == "href" and not allowed.match(value)):
                raise DataError(f"{what} has {name}='{_cut(value)}', which would run or fetch something; remove it")
            element.set(name, _renamed(name.lower(), value, prefix))
    return root


def _unbroken(text: str) -> Markup:
    """Text whose words with hyphens are elements of their own, which the page does not break as it does `--option`."""
    from markupsafe import Markup, escape

    parts = re.split(r"(\S*-\S*)", text)  # every second one has a hyphen
    return Markup("").join(
        Markup("<span>{}</span>").format(part) if number % 2 else escape(part) for number, part in enumerate(parts)
    )


def _cut(text: str) -> str:
    """Text inside a message."""
    return one_line(text)[:80]


def _local(name: str) -> str:
    """A name without its namespace."""
    return name.rpartition("}")[2]


def _renamed(name: str, value: str, prefix: str) -> str:
    if name == "id":
        return prefix + value
    if name in ("aria-labelledby", "aria-describedby"):
        return " ".join(prefix + other for other in value.split())
    if name == "href":
        return re.sub("^#", f"#{prefix}", value)
    return re.sub(r"url\((['\"]?)#", rf"url(\1#{prefix}", value)


def _markup(element: ElementTree.Element, alt: str) -> Markup:
    from markupsafe import Markup

    element.attrib.update({"xmlns": "http://www.w3.org/2000/svg", "role": "img", "aria-label": alt})
    return Markup(ElementTree.tostring(element, encoding="unicode").strip())
