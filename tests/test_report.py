"""The page: well-formed, escaped, accessible, self-contained, the same bytes, whole or not at all."""

from __future__ import annotations

import html
import math
import os
import re
import shutil
import subprocess
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from textmill import files, plot
from textmill.errors import DataError
from textmill.readable import MISSING
from textmill.report import Report

VOID = {"meta", "link", "br", "hr", "img", "input"}
CIRCLE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 2 2"><circle cx="1" cy="1" r="1"/></svg>'
ATTACK = "<script>alert('x')</script>\"'><img src=x onerror=y>&amp;"


class Page(HTMLParser):
    """A page taken apart: elements with their attributes, text by element, and whether tags match."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs)
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert "svg" in self._open or tag in VOID
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and data.strip():
            self.texts.append((self._open[-1], data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def text(self, tag: str) -> list[str]:
        return [data for name, data in self.texts if name == tag]

    @property
    def ids(self) -> list[str]:
        return [str(attributes["id"]) for _, attributes in self.elements if "id" in attributes]


def full_report(text: str = "words") -> Report:
    report = Report(text, subtitle=text, version="1.2.3")
    for _ in range(4):
        report.heading(text)
    report.heading(text, level=3)
    report.text(text, text)
    report.code(text)
    report.spans([(text, text), (text, None)], caption=text)
    report.table([text, text], [(text, 1), (text, None)], caption=text)
    report.figure(CIRCLE, caption=text, alt=text)
    report.html(Markup('<p id="own">special</p>'))
    return report


def test_a_page_has_all_its_parts_in_order() -> None:
    report = Report("Title", subtitle="Sub", version="1.2.3")
    report.heading("First")
    report.text("one", "two")
    report.heading("Part", level=3)
    report.code("x = 1\n  y")
    report.table(["name", "count"], [("a", 1)], caption="A table.")
    report.figure(CIRCLE, caption="A circle.", alt="A disc")
    report.html(Markup("<p>by <em>hand</em></p>"))
    page = Page(report.render())
    order = [data for tag, data in page.texts if tag not in ("style", "script", "title")]
    assert order == [
        *("Title", "Sub", "First", "one", "two", "Part", "x = 1\n  y", "Copy", "A table.", "name", "count", "a", "1"),
        *("A circle.", "by ", "hand", "Made with textmill 1.2.3"),
    ]
    assert page.text("title") == ["Title"]
    assert page.all("html") == [{"lang": "en"}]


def test_pieces_of_one_label_have_one_color_and_join_to_the_text() -> None:
    pieces = [
        ("  One <b>\n", "en"),
        ("zwei\n\n", "de"),
        ("3 ", None),
        ("four", "en"),
        *[("x", str(i)) for i in range(5)],
    ]
    report = Report("Title")
    report.spans(pieces, caption="Languages.")
    page = report.render()
    (box,) = re.findall(r'<div class="spans"[^>]*>(.*?)</div>', page, flags=re.S)
    assert html.unescape(re.sub("<[^>]*>", "", box)) == "".join(text for text, _ in pieces)
    shades = re.findall(r'class="(shade-\d)" title="(\w+)" data-label="\2"', box)
    assert [label for _, label in shades] == [label for _, label in pieces if label is not None]
    by_label = {label: shade for shade, label in shades}
    assert all(by_label[label] == shade for shade, label in shades)
    assert len({shade for shade, _ in shades}) == 6
    assert all(f".{shade} {{" in page for shade, _ in shades)  # the style has them all


def test_an_empty_page_is_a_page() -> None:
    page = Page(Report("Title").render())
    assert page.text("h1") == ["Title"]
    assert page.all("nav") == []
    assert 'class="subtitle"' not in Report("Title").render()


def test_the_language_is_said() -> None:
    assert Page(Report("Titel", language="de").render()).all("html") == [{"lang": "de"}]


def test_the_version_is_the_installed_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    def none(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    assert f"Made with textmill {metadata.version('textmill')}" in Report("T").render()
    monkeypatch.setattr(metadata, "version", none)
    assert "<footer>Made with textmill</footer>" in Report("T").render()


@pytest.mark.parametrize("text", [ATTACK, "</title></style></pre></td><p>", "{{ 7 * 7 }}{% raw %}", "]]>", "<!--"])
def test_text_is_escaped_in_every_field(text: str) -> None:
    page = Page(full_report(text).render())
    plain = Page(full_report().render())
    words = "span"  # around each word of code that has a hyphen
    assert [tag for tag, _ in page.elements if tag != words] == [tag for tag, _ in plain.elements if tag != words]
    assert sum(data == text for _, data in page.texts) == sum(data == "words" for _, data in plain.texts) > 15
    assert {"aria-label": text}.items() <= {"aria-label": page.all("svg")[0]["aria-label"]}.items()
    assert [div["aria-label"] for div in page.all("div") if "aria-label" in div] == [text, text]


@given(st.text(st.characters(codec=None), max_size=30))
def test_any_text_gives_a_page_that_can_be_written(text: str) -> None:
    page = full_report(text).render()
    page.encode()
    assert "\x00" not in page
    Page(page)


def test_what_cannot_be_shown_is_replaced() -> None:
    page = Page(full_report("nul \x00 half \ud83d bell \x07").render())
    assert set(page.text("h2")) == {"nul \ufffd half \ufffd bell \ufffd"}
    assert page.all("svg")[0]["aria-label"] == "nul \ufffd half \ufffd bell \ufffd"


def test_a_mere_string_is_not_markup() -> None:
    report = Report("T")
    report.html("<b>bold</b>")  # type: ignore[arg-type]
    assert Page(report.render()).all("b") == []


def test_more_than_three_sections_have_contents_that_lead_to_them() -> None:
    three, four = Report("T"), Report("T")
    for name in "abc":
        three.heading(name)
    three.heading("part", level=3)
    for name in "abcd":
        four.heading(name)
        four.heading("part", level=3)
    assert Page(three.render()).all("nav") == []
    page = Page(four.render())
    assert page.all("nav") == [{"aria-label": "Contents"}]
    assert page.text("a") == ["a", "b", "c", "d"]
    targets = [str(link["href"])[1:] for link in page.all("a")]
    assert targets == [heading["id"] for heading in page.all("h2")]


def test_other_levels_are_refused() -> None:
    with pytest.raises(DataError, match="level of heading 'x' is 1; pass 2 for a section"):
        Report("T").heading("x", level=1)


def table(columns: list[str], rows: list[Any]) -> Page:
    report = Report("T")
    report.table(columns, rows, caption="C")
    return Page(report.render())


def test_a_table_has_heads_with_scope_buttons_and_a_caption() -> None:
    page = table(["name", "count"], [("a", 1), ("b", 20)])
    assert page.text("caption") == ["C"]
    assert [head["scope"] for head in page.all("th")] == ["col", "col", "row", "row"]
    assert [head.get("class") for head in page.all("th")] == [None, "number", None, None]
    assert page.all("button") == [{"type": "button"}] * 2
    assert page.text("button") == ["name", "count"]
    assert page.all("div") == [{"class": "table", "role": "region", "tabindex": "0", "aria-label": "C"}]


def test_numbers_are_aligned_written_alike_and_sorted_by_their_full_value() -> None:
    page = table(["F1"], [(93.71,), (94.2,), (math.nan,), (None,), (np.float32(0.5),), (Fraction(1, 3),), (7,)])
    assert page.text("td") == ["93.71", "94.20", MISSING, MISSING, "0.50", "0.33", "7.00"]
    assert all(cell["class"] == "number" for cell in page.all("td"))
    keys = [cell["data-value"] for cell in page.all("td")]
    assert keys == ["93.71", "94.2", "", "", "0.5", "0.3333333333333333", "7"]


def test_whole_numbers_are_exact() -> None:
    page = table(["n"], [(2**53 + 1,), (np.int64(12345),), (-3,)])
    assert page.text("td") == ["9,007,199,254,740,993", "12,345", "-3"]
    assert page.all("td")[0]["data-value"] == str(2**53 + 1)


def test_infinity_is_sorted() -> None:
    page = table(["n"], [(math.inf,), (-math.inf,), (1.5,)])
    assert page.text("td") == ["∞", "-∞", "1.5"]
    assert [cell["data-value"] for cell in page.all("td")] == ["Infinity", "-Infinity", "1.5"]


def test_other_cells_are_text() -> None:
    page = table(
        ["any"], [("x",), (1,), (True,), (np.False_,), (None,), (math.nan,), (10**400,), (Markup("<i>m</i>"),)]
    )
    assert page.text("th") == ["x", "1", "yes", "no", MISSING, MISSING, str(10**400)]
    assert page.text("i") == ["m"]
    assert not any("class" in cell for cell in page.all("th"))


def test_truth_is_yes_and_no() -> None:
    page = table(["name", "converged", "kept"], [("a", True, np.True_), ("b", False, np.False_)])
    assert page.text("td") == ["yes", "yes", "no", "no"]
    assert page.all("td") == [{}] * 4


def test_a_column_of_nothing_is_text_and_a_table_may_have_no_rows() -> None:
    page = table(["a", "b"], [("x", None)])
    assert page.text("td") == [MISSING]
    assert page.all("td") == [{}]
    assert table(["a"], []).all("td") == []


def test_rows_may_be_made_on_the_fly() -> None:
    report = Report("T")
    report.table(["a", "b"], (iter((i, i)) for i in range(3)), caption="C")  # type: ignore[misc]
    assert len(Page(report.render()).all("td")) == 6


def test_ragged_tables_are_refused() -> None:
    with pytest.raises(DataError, match="row 2 of table 'C' has 1 cells for 2 columns; pass one cell for each column"):
        table(["a", "b"], [(1, 2), (3,)])
    with pytest.raises(DataError, match="table 'C' has no columns"):
        table([], [])


def test_many_figures_live_on_one_page() -> None:
    report = Report("T")
    figure = plot.lines({"f": ([0, 1], [0, 1])}, x_label="x", y_label="y")
    for number in range(3):
        report.figure(figure, caption=f"the same, number {number}")
    report.figure(plot.to_svg(figure), caption="as text")
    report.figure(plot.histogram({"s": [1, 2, 2]}, x_label="n"), caption="another")
    page = Page(report.render())
    assert len(page.ids) == len(set(page.ids)) > 100
    references = re.findall(r"(?:url\(|href=\")#([^\")]+)", report.render())
    assert len(references) > 50
    assert set(references) <= set(page.ids)
    assert [svg["aria-label"] for svg in page.all("svg")] == page.text("figcaption")
    assert all(svg["role"] == "img" for svg in page.all("svg"))


def test_references_of_every_kind_follow_their_ids() -> None:
    svg = """<?xml version="1.0"?><!DOCTYPE svg><svg xmlns="http://www.w3.org/2000/svg"
      xmlns:xlink="http://www.w3.org/1999/xlink" aria-labelledby="t d"><!-- note --><metadata><any/>thing</metadata>
      <title id="t">T</title><desc id="d">D</desc><defs><path id="p" d="M0 0"/><clipPath id="c"/></defs>
      <use xlink:href="#p" clip-path="url(#c)"/><use href="#p" style="fill: url('#c'); stroke: url(#c)"/>
      <a href="https://example.org/#x"><text>url(#c) #p</text></a><image href="data:image/png;base64,AA=="/></svg>"""
    report = Report("T")
    report.figure(svg, caption="C")
    page = Page(report.render())
    prefix = page.ids[0].removesuffix("t")
    assert page.ids == [prefix + name for name in "tdpc"]
    assert page.all("svg")[0]["aria-labelledby"] == f"{prefix}t {prefix}d"
    first, second = page.all("use")
    assert first == {"href": f"#{prefix}p", "clip-path": f"url(#{prefix}c)"}
    assert second == {"href": f"#{prefix}p", "style": f"fill: url('#{prefix}c'); stroke: url(#{prefix}c)"}
    assert page.all("a") == [{"href": "https://example.org/#x"}]
    assert page.text("text") == ["url(#c) #p"]
    assert "metadata" not in report.render()


SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:h="http://www.w3.org/1999/xhtml">{}</svg>'


@pytest.mark.parametrize(
    ("svg", "message"),
    [
        (SVG.format("<script>alert(1)</script>"), "holds <script>"),
        (SVG.format("<SCRIPT>alert(1)</SCRIPT>"), "holds <SCRIPT>"),
        (SVG.format("<h:script>alert(1)</h:script>"), "holds <script>"),
        (SVG.format("<g><foreignObject/></g>"), "holds <foreignObject>"),
        (SVG.format("<style>body { display: none }</style>"), "holds <style>"),
        (SVG.format("<animate/>"), "holds <animate>"),
        (SVG.format('<g onclick="x()"/>'), "has onclick='x()'"),
        (SVG.format('<g OnLoad="x()"/>'), "has OnLoad='x()'"),
        (SVG.format('<image href="https://example.org/a.png"/>'), "would run or fetch something"),
        (SVG.format('<image HREF="//example.org/a.png"/>'), "would run or fetch something"),
        (SVG.format('<a href="javascript:alert(1)"/>'), "has href='javascript:alert(1)'"),
        (SVG.format('<use href="other.svg#x"/>'), "has href='other.svg#x'"),
        ("<p>no figure</p>", "holds <p>"),
        ("<g/>", "holds <g>"),
        ("<svg><g></svg>", "is not well-formed SVG"),
        ("figure.svg", "is not well-formed SVG"),
        ("", "is not well-formed SVG"),
    ],
)
def test_a_figure_that_could_do_something_is_refused(svg: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        Report("T").figure(svg, caption="C")
    assert message in str(caught.value)
    assert str(caught.value).startswith("figure 'C' ")
    assert "\n" not in str(caught.value)


def test_messages_are_one_line_whatever_the_caption() -> None:
    for draw in (
        lambda report: report.figure(SVG.format("<g onclick='&#10;'/>"), caption="two\nlines" * 50),
        lambda report: report.table([], [], caption="two\nlines"),
        lambda report: report.table(["a"], [()], caption="two\nlines"),
        lambda report: report.heading("two\nlines", level=7),
    ):
        with pytest.raises(DataError, match="'two lines") as caught:
            draw(Report("T"))
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 300


def test_what_is_no_drawing_is_refused_with_a_hint() -> None:
    from matplotlib.figure import Figure

    with pytest.raises(
        DataError, match=r"figure 'C' is a Figure, which is no drawing.*textmill\.plot\.to_svg\(figure\)"
    ):
        Report("T").figure(Figure(), caption="C")


def test_the_page_fetches_nothing() -> None:
    text = full_report().render()
    page = Page(text)
    policy = str(next(meta["content"] for meta in page.all("meta") if "http-equiv" in meta))
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy
    addresses = {value for _, attributes in page.elements for value in attributes.values() if value and "//" in value}
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert "@import" not in text
    assert "url(" not in text


def test_the_page_is_made_for_light_dark_print_and_small_screens() -> None:
    text = full_report().render()
    for words in ("color-scheme: light dark", "prefers-color-scheme: dark", "@media print", 'name="viewport"'):
        assert words in text


def test_the_same_calls_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        full_report().write(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (tmp_path / "one").read_text(encoding="utf-8") == full_report().render()


def test_a_failed_write_leaves_the_old_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "report.html"
    target.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", fail)
    with pytest.raises(OSError, match="No space left") as caught:
        full_report().write(target)
    assert caught.value.filename == str(target)
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["report.html"]


SORTING = """
const script = require("fs").readFileSync(0, "utf8").match(/<script>([^]*?)<\\/script>/)[1];
let click;
globalThis.document = { addEventListener: (_, handler) => (click ??= handler), documentElement: { lang: "en" } };
eval(script);
function sorted(isNumber, texts, clicks) {
  const rows = texts.map((text) => ({ cells: [{ textContent: text, dataset: { value: text } }] }));
  const body = { rows, append(...rows) { this.rows = rows; } };
  const state = {};
  const head = {
    cellIndex: 0, classList: { contains: () => isNumber }, closest: () => ({ tBodies: [body] }),
    getAttribute: (name) => state[name] ?? null, setAttribute: (name, value) => (state[name] = value),
    removeAttribute: (name) => delete state[name],
  };
  head.parentNode = { cells: [head] };
  for (let i = 0; i < clicks; i++) click({ target: { closest: (what) => (what === "button" ? {} : head) } });
  return [state["aria-sort"], ...body.rows.map((row) => row.cells[0].textContent)].join(" ");
}
const numbers = ["3", "", "10", "-2.5", "Infinity"], words = ["topic 10", "\\u2013", "topic 2", "Apfel"];
for (const clicks of [1, 2]) console.log(sorted(true, numbers, clicks) + "|" + sorted(false, words, clicks));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here")
def test_a_click_sorts_a_table_and_what_is_missing_stays_last() -> None:
    run = subprocess.run(
        ["node", "-e", SORTING],
        input=Report("T").render(),
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    assert run.stdout.splitlines() == [
        "descending Infinity 10 3 -2.5 |ascending Apfel topic 2 topic 10 –",
        "ascending -2.5 3 10 Infinity |descending topic 10 topic 2 Apfel –",
    ]


def test_links_lead_to_files_beside_the_page_and_facts_are_escaped() -> None:
    report = Report("Harvest")
    report.links([("customers.html", "who <bought> it"), ("https://example.org/a", "elsewhere")])
    report.facts([("12 t", "rye & oats")])
    page = report.render()
    assert '<li><a href="customers.html">customers.html</a>: who &lt;bought&gt; it</li>' in page
    assert "<dd>12 t</dd><dt>rye &amp; oats</dt>" in page
    for address in ("javascript:alert(1)", "data:text/html,x"):
        with pytest.raises(DataError, match="would run something"):
            report.links([(address, "no")])
