from __future__ import annotations

import builtins
import bz2
import gzip
import io
import random
import re
import tracemalloc
import warnings
from functools import partial
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.corpus import wikipedia
from textmill.corpus.readers import SkippedRecords, read_documents, read_records
from textmill.corpus.wikipedia import RoughPages, read_wikipedia
from textmill.corpus.wikitext import plain_text
from textmill.errors import DataError

EXPORT = "http://www.mediawiki.org/xml/export-0.11/"
SITE = """<siteinfo><sitename>Wikipedie</sitename>
<namespaces><namespace key="0" /><namespace key="1">Diskuse</namespace>
<namespace key="6">Soubor</namespace><namespace key="14">Kategorie</namespace></namespaces></siteinfo>"""


def page(title: str, text: str, *, number: int = 7, ns: int | None = 0, inner: str = "") -> str:
    space = "" if ns is None else f"<ns>{ns}</ns>"
    return (
        f"<page>\n<title>{escape(title)}</title>{space}<id>{number}</id>{inner}<revision><id>99</id>"
        f"<timestamp>2016-04-01T00:00:00Z</timestamp><contributor><username>Ann</username><id>5</id></contributor>"
        f'<text xml:space="preserve">{escape(text)}</text><sha1>x</sha1></revision></page>\n'
    )


def dump(*pages: str, site: str = SITE) -> bytes:
    root = f'<mediawiki xmlns="{EXPORT}" version="0.11" xml:lang="cs">'
    return f"{root}\n{site}\n{''.join(pages)}</mediawiki>\n".encode()


def fields(data: bytes, **options) -> list[dict]:
    reader = partial(read_wikipedia, **options)
    return [record.fields for record in read_records(io.BytesIO(data), format=reader)]


# ---- pages


def test_pages_have_id_title_timestamp_and_plain_text(tmp_path):
    path = tmp_path / "cswiki.xml"
    path.write_bytes(dump(page("A & B", "'''A''' [[b|c]]", number=12), page("T", "talk", ns=1), page("C", "d < e")))
    assert [(record.line, record.fields) for record in read_records(path)] == [
        (1, {"id": "12", "title": "A & B", "timestamp": "2016-04-01T00:00:00Z", "text": "A c"}),
        (3, {"id": "7", "title": "C", "timestamp": "2016-04-01T00:00:00Z", "text": "d < e"}),
    ]
    documents = read_documents(path)
    for _ in range(2):
        assert next((each.id, each.text, each.place) for each in documents) == ("12", "A c", f"{path}:1")


@pytest.mark.parametrize("name", ["x.xml", "x.xml.bz2", "x.xml.gz", "x.xml-p1p41242.bz2", "X.WIKIPEDIA", "x.dump"])
def test_the_name_or_the_format_tells_a_dump(tmp_path, name):
    data = dump(page("A", "b"))
    two = [data[:200], data[200:]]  # a multistream dump is several streams in a row
    packed = {"2": b"".join(map(bz2.compress, two)), "z": b"".join(map(gzip.compress, two))}
    (tmp_path / name).write_bytes(packed.get(name[-1], data))
    kind = "wikipedia" if name == "x.dump" else None
    assert list(read_documents(tmp_path / name, format=kind).texts()) == ["b"]


def test_namespaces_and_redirects_are_options():
    to = '<redirect title="Home" />'
    data = dump(
        page("A", "a"), page("Old", "#REDIRECT [[Home]]", inner=to), page("Diskuse:A", "t", ns=1),
        page("Older", "#redirect [[Home]]"), page("Kategorie:X", "k", ns=14),
    )  # fmt: skip
    assert [each["title"] for each in fields(data)] == ["A"]
    assert [each["title"] for each in fields(data, namespaces=[1, 14])] == ["Diskuse:A", "Kategorie:X"]
    found = fields(data, redirects=True)
    assert [(each["title"], each.get("redirect")) for each in found] == [("A", None), ("Old", "Home"), ("Older", "")]


def test_old_dumps_tell_the_namespace_by_the_title():
    data = dump(page("A: b", "a", ns=None), page("Diskuse:A", "t", ns=None))
    assert [each["title"] for each in fields(data)] == ["A: b"]
    assert [each["title"] for each in fields(data, namespaces={1})] == ["Diskuse:A"]
    assert len(fields(dump(page("Diskuse:A", "t", ns=None), site=""))) == 1


def test_the_last_revision_counts():
    other = "<revision><timestamp>2001-01-01T00:00:00Z</timestamp><text>old</text></revision>"
    (found,) = fields(dump(page("A", "new", inner=other)))
    assert (found["text"], found["timestamp"]) == ("new", "2016-04-01T00:00:00Z")


def test_files_and_categories_are_dropped_in_the_language_of_the_dump():
    text = "a [[Soubor:x.jpg|thumb|nápis]][[File:y.jpg]][[kategorie:Z]][[Category:Z]] b [[:Kategorie:Z|c]] [[de:A]]"
    assert fields(dump(page("A", text)))[0]["text"] == "a  b c"


def test_pages_without_text_or_id_are_pages():
    data = b"<mediawiki><page><revision><text deleted='deleted' /></revision></page><page/></mediawiki>"
    assert fields(data) == [{"title": "", "text": ""}] * 2


@settings(derandomize=True, max_examples=50, deadline=None)
@given(
    titles=st.lists(st.text(st.characters(exclude_categories=["C"]), max_size=5), max_size=5), size=st.integers(1, 99)
)
def test_blocks_may_be_cut_anywhere(titles, size):
    data = dump(*(page(title, f"text {i}") for i, title in enumerate(titles)))

    class Slow(io.BytesIO):
        def read1(self, _=-1):
            return super().read(size)

    expected = [each.text or "" for each in ElementTree.fromstring(data).iter(f"{{{EXPORT}}}title")]
    assert [record.fields["title"] for record in read_records(Slow(data), format="wikipedia")] == expected


def test_memory_is_that_of_a_page():
    def blocks():
        yield dump().partition(b"</mediawiki>")[0]
        for i in range(3000):
            yield page(f"Page {i}", "", inner=f"<comment>{'x' * 10_000}</comment>").encode()
        yield b"</mediawiki>"

    class Stream(io.RawIOBase):
        def __init__(self):
            self.blocks = blocks()

        def readable(self):
            return True

        def read(self, _=-1):
            return next(self.blocks, b"")

    tracemalloc.start()
    assert sum(1 for _ in read_records(Stream(), format="wikipedia")) == 3000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3e6


# ---- bad input


@pytest.mark.parametrize("cut", ["<title>Sec", "<id>8</id><rev", "half a te", "</revision"])
def test_a_dump_cut_in_a_page_gives_the_pages_before_and_then_the_place(tmp_path, cut):
    whole = dump(page("First", "one"), page("Second", "half a text", number=8))
    end = whole.rindex(cut.encode()) + len(cut)
    path = tmp_path / "x.xml"
    path.write_bytes(whole[:end])
    read = []
    with pytest.raises(DataError) as caught:
        read.extend(read_documents(path).texts())
    assert read == ["one"]
    error = caught.value
    title = "" if cut.startswith("<title") else "Second"
    identity = " (id 8)" if cut in ("half a te", "</revision", "<id>8</id><rev") else ""
    assert (error.source, error.line) == (str(path), 2)
    assert error.message.startswith(f"the XML ends in the page {title!r}{identity}, at line ")
    assert error.message.endswith(" of the XML; was the download finished?")
    line, byte = map(int, re.search(r"line (\d+), byte (\d+)", error.message).groups())
    assert line == whole[:end].count(b"\n") + 1
    assert end - len(cut) - 1 <= byte <= end
    with pytest.warns(SkippedRecords, match=r"x\.xml: 1 bad record skipped, the first: .*x\.xml:2: the XML ends"):
        assert list(read_documents(path, errors="skip").texts()) == ["one"]


def test_a_dump_cut_between_pages_is_noticed():
    data = dump(page("First", "one")).partition(b"</mediawiki>")[0]
    with pytest.raises(DataError, match=r"stream:1: the XML ends after 1 pages, at line \d+, byte \d+ of the XML; was"):
        fields(data)


def test_every_cut_gives_whole_pages_and_one_error():
    data = dump(page("A", "a"), page("B", "b"), page("C", "c"))
    for end in random.Random(1).sample(range(1, len(data) - len("</mediawiki>\n")), 100):
        read = []
        texts = (record.fields["text"] for record in read_records(io.BytesIO(data[:end]), format="wikipedia"))
        with pytest.raises(DataError, match=r"the XML ends|this is no XML"):
            read.extend(texts)
        assert read == ["a", "b", "c"][: data[:end].count(b"</page>")]


def test_a_truncated_compressed_dump_gives_the_pages_before_and_the_page_it_ends_in(tmp_path):
    numbers = random.Random(2)
    texts = [f"{i} " + " ".join(str(numbers.random()) for _ in range(3000)) for i in range(60)]
    data = bz2.compress(dump(*(page(f"P{i}", text, number=i) for i, text in enumerate(texts))))
    path = tmp_path / "x.xml.bz2"
    path.write_bytes(data[: len(data) * 2 // 3])
    read = []
    with pytest.raises(DataError) as caught:
        read.extend(read_documents(path).texts())
    assert 5 < len(read) < 60
    assert read == texts[: len(read)]
    fault = "the file ends in the middle of the compressed data; was the download finished? The end is in the page "
    assert caught.value.message.startswith(f"{fault}'P{len(read)}' (id {len(read)}), at line ")
    assert caught.value.line == len(read) + 1


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "this is no XML"),
        (b"plain text", r"malformed XML \(.*\) after 0 pages, at line 1"),
        (b"<rss><channel/></rss>", "the XML is <rss>, not <mediawiki>; only MediaWiki dumps are read"),
        (
            dump(page("A", "a")).replace(b"</title>", b"</ns>"),
            r"malformed XML \(mismatched tag\) in the page '', at li",
        ),
        (dump(page("A", "a").replace(">a<", ">\0<")), r"malformed XML \(.*\) in the page 'A' \(id 7\)"),
        (dump(page("A", "a")) + b"<more/>", "malformed XML .junk after document element. after 1 pages"),
    ],
)
def test_what_is_no_dump_is_an_error_or_skipped(data, fault):
    with pytest.raises(DataError, match=fault):
        fields(data)
    with pytest.warns(SkippedRecords, match=fault):
        list(read_records(io.BytesIO(data), format="wikipedia", errors="skip"))


@pytest.mark.parametrize("kind", ['"lol"', 'SYSTEM "file:///etc/passwd"'])
def test_entities_are_refused(kind):
    bomb = f"<!DOCTYPE mediawiki [<!ENTITY a {kind}>]>".encode()
    with pytest.raises(DataError, match="the XML declares the entity 'a'; dumps have none"):
        fields(bomb + dump(page("A", "").replace("></text>", ">&a;</text>")))


def test_a_page_the_parser_fails_on_is_read_roughly_and_counted():
    def fail(markup, hidden=()):
        if "x" in markup:
            raise RuntimeError
        return plain_text(markup, hidden)

    data = dump(page("A", "'''a'''"), page("B", "'''x''' {{y}} <b>z</b>"), page("C", "x"))
    with (
        mock.patch.object(wikipedia, "plain_text", fail),
        pytest.warns(RoughPages, match="stream: the markup of 2 pages could not be parsed .* the first: 'B'"),
    ):
        assert [each["text"] for each in fields(data)] == ["a", "x y z", "x"]
    with pytest.warns(RoughPages, match="of 1 page "):
        assert fields(dump(page("A", "[[a|" * 10_000)))[0]["text"].startswith("a a a")


def test_a_missing_library_is_named(monkeypatch):
    real = builtins.__import__

    def refuse(name, *arguments, **options):
        if name.startswith("mwparserfromhell"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(DataError, match=r"wikitext needs the mwparserfromhell library: pip install 'textmill\[io\]'"):
        fields(dump(page("A", "a")))


HOSTILE = ["{{", "{|\n", "<b>", "<ref>[[", "{{{a|", "<!--", "<nowiki>", "<a "]  # dropped before the parser sees them
HOSTILE += ["[[a|\n", "[[", "''a'''b", "[http://a ", "\n*:#"]


@pytest.mark.parametrize("mark", HOSTILE)
def test_the_parser_gets_no_long_piece_of_a_hostile_page_and_none_twice(mark, monkeypatch):
    """It can be quadratic in what it is given at a time."""
    import mwparserfromhell

    pieces, parse = [], mwparserfromhell.parse
    monkeypatch.setattr(mwparserfromhell, "parse", lambda text: (pieces.append(len(text)), parse(text))[1])
    markup = mark * (25_000 // len(mark))
    with warnings.catch_warnings(action="ignore", category=RoughPages):
        assert len(fields(dump(page("A", markup)))) == 1
    assert sum(pieces) <= len(markup)
    assert max(pieces, default=0) <= (4_000 if "\n" in mark else 20_000)


# ---- a real dump, against gensim


@pytest.fixture(scope="module")
def real() -> Path:
    gensim = pytest.importorskip("gensim")
    folder = Path(gensim.__file__).parent / "test/test_data"
    return folder / "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"


def compare_with_gensim(path: Path) -> int:
    from gensim.corpora.wikicorpus import extract_pages, filter_wiki

    from textmill.corpus.tokenize import Tokenizer

    with bz2.open(path) as stream:
        expected = [each for each in extract_pages(stream, ("0",)) if each[1]]  # others are empty
    expected = [each for each in expected if not each[1].lower().startswith("#redirect")]
    documents = list(read_documents(path))
    assert [(each.fields["title"], each.id) for each in documents] == [(title, number) for title, _, number in expected]
    left = re.compile(r"\[\[|\{\{|\}\}|<ref|thumb\|")
    assert not [each.id for each in documents if left.search(each.text)]
    for document, (_, markup, _) in list(zip(documents, expected, strict=True))[::10]:
        ours, theirs = (set(Tokenizer()(text)) for text in (document.text, filter_wiki(markup)))
        assert len(ours & theirs) > 0.9 * len(ours)
    return len(documents)


def test_the_beginning_of_a_real_dump_gives_the_pages_gensim_gives(real, tmp_path):
    with bz2.open(real) as stream:
        pages = stream.read(1_500_000).rpartition(b"</page>")[0]
    (tmp_path / "x.xml.bz2").write_bytes(bz2.compress(pages + b"</page></mediawiki>"))
    assert compare_with_gensim(tmp_path / "x.xml.bz2") > 15


@pytest.mark.slow
def test_a_real_dump_gives_the_pages_gensim_gives(real):
    assert compare_with_gensim(real) == 106
