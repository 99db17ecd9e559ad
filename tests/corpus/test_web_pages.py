"""Text of web pages, beside html5lib's tree and beside pages whose text is known."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.corpus import read_documents
from textmill.corpus.markup import HIDDEN, parse_html
from textmill.errors import DataError

PIECES = [  # neither <select> nor <template>: html5lib has older rules for what is inside of them
    "<div>", "</div>", "<p>", "</p>", "<b>", "</b>", "<i>", "</i>", "<nav>", "</nav>", "<table>", "</table>", "<tr>",
    "<td>", "<ul>", "<li>", "</ul>", "<object>", "</object>", "<button>", "</button>", "<script>", "</script>",
    "<style>", "</style>", "<svg>", "</svg>", "<br>", "<h1>", "</h1>", "<title>", "</title>", "<!--", "-->", "&amp;",
    "<a href='x>y'>", "</a>", "</body>", "<form>", "</form>",
]  # fmt: skip


def tree_words(page: str) -> set[str]:
    """The words outside of hidden elements in html5lib's tree, titles included."""
    html5lib = pytest.importorskip("html5lib")
    words: set[str] = set()

    def walk(node) -> None:  # type: ignore[no-untyped-def]
        tag = node.tag if isinstance(node.tag, str) else "!comment"
        if tag.rpartition("}")[2] in HIDDEN or tag.startswith("!"):
            return
        words.update(re.findall(r"w\d+", node.text or ""))
        for child in node:
            walk(child)
            words.update(re.findall(r"w\d+", child.tail or ""))

    walk(html5lib.parse(page, treebuilder="etree"))
    return words


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=20))
def test_no_word_is_lost_or_shown_that_a_browser_would_show_or_not(pieces: list[str]) -> None:
    page = "w0 " + "".join(f"{piece} w{number} " for number, piece in enumerate(pieces, 1))
    read = parse_html(page)
    assert set(re.findall(r"w\d+", f"{read.title} {read.text}")) == tree_words(page)


@pytest.mark.parametrize(
    ("page", "text", "left_out"),
    [
        ("<div><nav>menu</div><p>The article itself.</p>", "The article itself.", {"nav": 1}),
        ("<div><object>no player</div><p>The article.</p>", "no player\nThe article.", {}),
        ("<select><option>one<option>two</select><button>go</button>", "one\ntwo\ngo", {}),
        ("<nav>a<nav>b</nav></nav><script>1</script><script>2</script>x", "x", {"nav": 1, "script": 2}),
        ("<svg><title>Icon</title></svg><p>x", "x", {"svg": 1}),
        ("<p>un<b>broken</b> word<br>next", "unbroken word\nnext", {}),
        ("<table><td>a<td>b<tr><td>c</table>", "a\nb\nc", {}),
        ("", "", {}),
        ("plain text", "plain text", {}),
    ],
)
def test_the_text_of_a_page(page: str, text: str, left_out: dict[str, int]) -> None:
    read = parse_html(page)
    assert (read.text, read.left_out) == (text, left_out)
    assert read.title == ""


def test_deeply_nested_elements_are_read() -> None:
    assert parse_html("<div><b>" * 20_000 + "here").text == "here"


def test_main_text_leaves_out_what_stands_around_it(tmp_path: Path) -> None:
    pytest.importorskip("resiliparse")
    article = "The mill stands by the river and has done so for three hundred years. " * 6
    around = "<ul class='menu'><li><a href='a'>Home</a><li><a href='b'>Contact</a></ul>"
    page = (
        f"<title>Mills</title><body>{around}<article><h1>Mills</h1><p>{article}</p></article><footer>Imprint</footer>"
    )
    (tmp_path / "a.html").write_text(page)
    (tmp_path / "b.html").write_text("<nav>Home</nav>two words")
    (main, short) = read_documents(tmp_path, format="main-text")
    assert main.fields["title"] == "Mills"
    assert article.strip() in main.text
    assert "Contact" not in main.text
    assert "Imprint" not in main.text
    assert short.text == "two words"
    (everything, _) = read_documents(tmp_path)
    assert "Contact" in everything.text


def test_main_text_without_its_library_names_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.html").write_text("<p>x")
    monkeypatch.setitem(__import__("sys").modules, "resiliparse", None)
    monkeypatch.setitem(__import__("sys").modules, "resiliparse.extract", None)
    monkeypatch.setitem(__import__("sys").modules, "resiliparse.extract.html2text", None)
    with pytest.raises(DataError, match=r"pip install 'textmill\[io\]'"):
        list(read_documents(tmp_path / "a.html", format="main-text"))
