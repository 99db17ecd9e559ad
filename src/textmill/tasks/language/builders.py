"""Documents in several languages, and texts as identifiers take them: without accents, mark-up and repeated lines."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from textmill.errors import DataError

__all__ = ["build_documents", "page_text", "repeated_once", "strip_accents"]

_HIDDEN = re.compile(r"<(script|style|noscript|template)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
_BLOCK = re.compile(
    r"</?(?:p|div|li|ul|ol|td|tr|table|h\d|br|nav|section|header|footer|option|select|title)\b[^>]*>", re.I
)


def build_documents(
    sentences: Mapping[str, Sequence[str]], *, k: int = 1000, random_state: int = 0
) -> list[list[tuple[str, str]]]:
    """k documents of one to four pieces in different languages, each a random sentence of 6 to 50 words."""
    medium = {
        language: [text for text in texts if 6 <= len(text.split()) <= 50]
        for language, texts in sorted(sentences.items())
    }
    for language, texts in medium.items():
        if not texts:
            raise DataError(f"language '{language}' has no text of 6 to 50 words; give it longer ones")
    draw = random.Random(random_state)
    documents = []
    for _ in range(k):
        languages = draw.sample(sorted(medium), min(draw.randint(1, 4), len(medium)))
        documents.append([(language, draw.choice(medium[language])) for language in languages])
    return documents


def strip_accents(text: str) -> str:
    """The text without accents, as people type it who have no keys for them.

    >>> strip_accents("Příliš žluťoučký kůň, łódź")
    'Prilis zlutoucky kun, lodz'
    """
    import unicodedata

    bare = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    return bare.translate(str.maketrans("łŁđĐøØ", "lLdDoO"))


def page_text(page: str) -> tuple[str, str | None]:
    """The text of an HTML page, a line for each block, each line once; and what its `lang` attribute says.

    >>> page_text('<html lang="cs-CZ"><p>Ahoj</p><script>x()</script><p>Ahoj</p>')
    ('Ahoj', 'cs')
    """
    from html import unescape

    match = re.search(r"<html[^>]*\blang\s*=\s*[\"']?([A-Za-z]+)", page, re.I)
    text = _BLOCK.sub("\n", _HIDDEN.sub(" ", page))
    text = unescape(re.sub(r"<[^>]*>", " ", text))
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(repeated_once(line for line in lines if line)), match[1].lower() if match else None


def repeated_once(lines: Iterable[str]) -> Iterator[str]:
    """Lines, each the first time it comes: menus and signatures repeat and would count again and again.

    >>> list(repeated_once(["Re:", "hello", "Re:"]))
    ['Re:', 'hello']
    """
    seen: set[str] = set()
    for line in lines:
        if line not in seen:
            seen.add(line)
            yield line
