"""Corpora for languages: training text, test texts of three lengths, documents in several languages.

A corpus is prepared as the paper does it: sentences, each once, those with letters outside a script left out, a part of
them kept for tests; no stemming. Test texts are runs of words from the part kept apart: small 2-5 words, medium 6-50,
large more than 50. Segmentation documents have one to four medium texts in different languages.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from textmill._native import language as native
from textmill.corpus import split_sentences
from textmill.errors import DataError
from textmill.model import StringTable

__all__ = ["build_corpus", "build_documents", "build_tests", "page_text", "repeated_once", "strip_accents"]

_WORDS = {"small": (2, 5), "medium": (6, 50), "large": (51, 120)}
_HIDDEN = re.compile(r"<(script|style|noscript|template)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
_BLOCK = re.compile(
    r"</?(?:p|div|li|ul|ol|td|tr|table|h\d|br|nav|section|header|footer|option|select|title)\b[^>]*>", re.I
)


def build_corpus(
    texts: Iterable[str], *, script: str | None = None, held_out: float = 0.1
) -> tuple[list[str], list[str]]:
    """Sentences of texts for training and those kept apart: each once, without those that leave the script.

    >>> build_corpus(["Ahoj. Ahoj. Мир!"], script="Latin", held_out=0)
    (['Ahoj.'], [])
    """
    names = native.script_names()
    if script is not None and script not in names:
        raise DataError(f"the script {script!r} is not one of {', '.join(names[1:])}")
    seen: set[str] = set()
    sentences: tuple[list[str], list[str]] = ([], [])
    for text in texts:
        for sentence in split_sentences(text):
            sentence = " ".join(sentence.split())
            if not sentence or sentence in seen:
                continue
            seen.add(sentence)
            if script is not None and _scripts(sentence) - {0, names.index(script)}:
                continue
            number = len(sentences[0]) + len(sentences[1]) + 1
            sentences[int(int(number * held_out) > int((number - 1) * held_out))].append(sentence)
    return sentences


def build_tests(
    sentences: Mapping[str, Sequence[str]], *, k: int = 1000, pruned: Iterable[str] = (), random_state: int = 0
) -> list[tuple[str, str, str]]:
    """(language, class, text): k texts of each language and class, cut from sentences; `pruned` ones are left out."""
    bad = set(pruned)
    tests = []
    for language in sorted(sentences):
        words = [word for sentence in sentences[language] for word in sentence.split()]
        for name, (least, most) in _WORDS.items():
            draw = random.Random(f"{random_state} {language} {name}")
            for _ in range(k):
                size = draw.randint(least, most)
                if size >= len(words):
                    break
                start = draw.randrange(len(words) - size)
                text = " ".join(words[start : start + size])
                if text not in bad:
                    tests.append((language, name, text))
    return tests


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


def _scripts(text: str) -> set[int]:
    """Numbers of the scripts of the letters of a text."""
    letters = StringTable(character for character in text if character.isalpha())
    return set(native.scripts(letters.bytes, letters.offsets).tolist())
