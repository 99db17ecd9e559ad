r"""Wikitext to plain text.

    markup -> without what is not read (comments, templates, tables, notes, formulas, tags) -> parsed -> visible text

The first step matches brackets in one pass: a closing mark ends the nearest opening mark of its kind, and what was left
open in between stays text. The second step, links, styles, headings, lists and entities, is the parser of
mwparserfromhell, which is asked about a paragraph at a time. Of a link remains what the reader sees; files, categories
and links to other languages go. Marks that have no partner are dropped and their content is kept.

Cost: the first step is linear; the parser can be quadratic in a hostile paragraph, so long ones are parsed by lines and
a line of more than 20,000 characters is refused.
Reference: MediaWiki, Help:Formatting and Help:Links.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from textmill.errors import DataError

__all__ = ["HIDDEN", "plain_text", "rough_text"]

HIDDEN = frozenset({"category", "file", "image"})  # namespaces whose links are not part of the text

_MARK = re.compile(  # every branch begins with a letter of its own, which makes the search fast
    r"\{\{+|\}\}+|\[\[|\]\]"
    r"|\{(?<![^\s:*\#;]\{)\||\|(?<![^\n ]\|)\}(?!\}(?!\}))"
    r"|<!--|-->|<(/?)([A-Za-z][A-Za-z0-9]*)[^<>]*?(/?)>"
    r"|__[A-Z]{3,}__"
)
_OPENING = {"{{": "{{", "[[": "[[", "{|": "{|", "<!": "comment"}
_CLOSING = {"}}": "{{", "]]": "[[", "|}": "{|", "--": "comment"}
_NESTED = {"ref", "table", "{{", "{|"}  # what has no text to read, and holds wikitext
_LITERAL = {"nowiki", "pre"}  # elements whose content is text to read as it stands
_RAW = {
    *{"categorytree", "ce", "chem", "gallery", "graph", "hiero", "imagemap", "inputbox", "mapframe", "maplink", "math"},
    *{"score", "section", "source", "syntaxhighlight", "templatedata", "timeline", "comment"},
} | _LITERAL  # elements whose content is something else than wikitext
_NAMESPACE = re.compile(r"([^:|\[\]\n]*):")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z-]+)?:[^|\[\]]*")
_STYLE = re.compile(r"'{2,}")
_PARAGRAPH = 4_000  # characters; what is longer is parsed by lines
_LINE = 20_000


def plain_text(markup: str, hidden: Collection[str] = HIDDEN) -> str:
    """Give the text that a reader of the page would see as running text, headings and lists included.

    `hidden` are the lower-case names of the namespaces whose links are dropped. What the parser raises is passed on;
    a line that is too long to parse is a `DataError`.

    >>> plain_text("'''Anarchism''' is a [[political philosophy|philosophy]].{{Cite|x}}<ref>[[Note]]</ref>")
    'Anarchism is a philosophy.'
    """
    try:
        import mwparserfromhell
    except ImportError:
        raise DataError("wikitext needs the mwparserfromhell library: pip install 'textmill[io]'") from None
    visible: list[str] = []
    for paragraph in _without_hidden_parts(markup, hidden).split("\n\n"):
        lines = [paragraph] if len(paragraph) <= _PARAGRAPH else paragraph.split("\n")
        if any(len(line) > _LINE for line in lines):
            raise DataError(f"a line has more than {_LINE:,} characters; cut it")
        parsed = (mwparserfromhell.parse(line).nodes if line else () for line in lines)
        visible.append("\n".join("".join(_visible(nodes)) for nodes in parsed))
    return _tidy("\n\n".join(visible))


def rough_text(markup: str) -> str:
    """Give the text without tags and bracket marks, for pages that `plain_text` cannot do; this never fails.

    >>> rough_text("'''a''' [[b|c]] <i>d</i> {{e}}")
    'a b c d e'
    """
    from html import unescape

    text = re.sub(r"<[^<>]*>", "", markup)
    return _tidy(unescape(re.sub(r"'{2,}|[{}\[\]]{2,}", "", text).replace("|", " ")))


def _without_hidden_parts(markup: str, hidden: Collection[str]) -> str:
    """The markup without everything that is dropped with its content, and without tags."""
    marks = list(_marks(markup))
    last_end = {ends: start for start, _, _, ends in marks}
    opened: list[tuple[str, int]] = []  # kind and where it begins
    still_open: Counter[str] = Counter()
    raw: tuple[str, int] | None = None  # the element whose content is not wikitext
    cuts: list[tuple[int, int, str]] = []
    for start, end, begins, ends in marks:
        if raw is not None:
            if ends == raw[0]:
                if ends not in _LITERAL:
                    cuts.append((raw[1], -end, ""))
                raw = None
            continue
        if begins in _RAW and last_end.get(begins, -1) > start:
            raw = begins, start
            continue
        if "[[" in (begins, ends):  # the parser will need it
            if begins:
                opened.append((begins, start))
                still_open[begins] += 1
            elif opened and opened[-1][0] == ends:
                begin = opened.pop()[1]
                still_open[ends] -= 1
                if _is_hidden(markup, begin + 2, start, hidden):
                    cuts.append((begin, -end, ""))
            continue
        cuts.append((start, -end, "\n" if begins == "br" else ""))
        if begins in _NESTED:
            count = (end - start) // 2 if begins == "{{" else 1
            opened += [(begins, start)] * count
            still_open[begins] += count
        for _ in range((end - start) // 2 if ends == "{{" else bool(ends)):
            tag, first = "", -1
            while still_open[ends] and tag != ends:
                tag, first = opened.pop()
                still_open[tag] -= 1
            if tag:
                cuts.append((first, -end, ""))
    return _cut_out(markup, cuts)


def _marks(markup: str) -> Iterator[tuple[int, int, str, str]]:
    """Where each mark begins and ends, what it opens and what it closes, "" for nothing."""
    for mark in _MARK.finditer(markup):
        slash, tag, single = mark.groups()
        if tag is None:
            two = mark.group()[:2]
            yield *mark.span(), _OPENING.get(two, ""), _CLOSING.get(two, "")
        else:
            tag = tag.lower()
            yield *mark.span(), "" if slash or (single and tag != "br") else tag, tag if slash else ""


def _is_hidden(markup: str, start: int, end: int, hidden: Collection[str]) -> bool:
    """Whether the link there is no part of the text; a colon before the title makes any link an ordinary one."""
    namespace = _NAMESPACE.match(markup, start, end)
    if namespace is None:
        return False
    name = namespace[1].strip().replace("_", " ").lower()
    return name in hidden or _LANGUAGE.fullmatch(markup, start, end) is not None


def _cut_out(text: str, cuts: list[tuple[int, int, str]]) -> str:
    """The text without the pieces (start, -end), each replaced by something; inner pieces go with the outer."""
    pieces: list[str] = []
    position = 0
    for start, minus_end, instead in sorted(cuts):
        if start >= position:
            pieces += [text[position:start], instead]
            position = -minus_end
    pieces.append(text[position:])
    return "".join(pieces)


def _visible(nodes: Iterable[Any]) -> Iterator[str]:
    """The visible pieces of parsed wikitext."""
    from html import unescape  # its table of entities takes longer to load than most commands run

    for node in nodes:
        match type(node).__name__:
            case "Text":
                yield _STYLE.sub("", node.value)  # styles without a partner
            case "Wikilink":
                yield from _visible((node.title if node.text is None else node.text).nodes)
            case "ExternalLink":
                if node.title is not None:
                    yield from _visible(node.title.nodes)
                elif not node.brackets:
                    yield str(node.url)
            case "HTMLEntity":
                yield unescape(str(node))  # never half a character
            case "Heading":
                yield "".join(_visible(node.title.nodes)).strip()
            case "Tag" if node.contents is not None:
                literal = str(node.tag).lower() in _LITERAL
                yield from [str(node.contents)] if literal else _visible(node.contents.nodes)


def _tidy(text: str) -> str:
    """The text without blanks at the ends of lines and with single blank lines."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.strip() for line in text.split("\n"))).strip()
