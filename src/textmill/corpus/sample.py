"""The sample articles that ship with the package: the default data of the demo, the documentation and the examples.

308 short articles on eleven subjects, written for textmill and dedicated to the public domain (CC0 1.0): 24 in English
for each subject, four in each of nine other languages, and eight near-duplicates of English articles, whose id ends
in "-copy". One JSON object a line, UTF-8, with the fields id, subject, language (ISO 639-1), title and text; a blank
line separates the paragraphs of a text. The articles stand sorted by subject, so shuffle them before cutting off a
test set. Reading them all takes a few milliseconds.

900 chunked sentences in two column files (word, part of speech, chunk tag in IOB2), made by the small grammar of
tools/chunk_sample.py, with four wrong parts of speech in a hundred: 700 to train a tagger, 200 to test it.
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from textmill.corpus.columns import Sentence, read_columns
from textmill.errors import DataError

__all__ = ["sample_articles", "sample_chunks", "sample_path", "sample_texts"]

_FILES = ("articles.jsonl", "chunks-train.txt", "chunks-test.txt")


def sample_path(name: str = "articles.jsonl") -> Path:
    """Where a sample lies: the articles, chunks-train.txt or chunks-test.txt.

    >>> sample_path().name
    'articles.jsonl'
    """
    if name not in _FILES:
        raise DataError(f"there is no sample {name!r}, only {', '.join(_FILES)}")
    return Path(str(files("textmill.corpus.samples") / name))


def sample_chunks(part: str = "train") -> list[Sentence]:
    """The chunked sentences to train with, or those to test with (`part="test"`).

    >>> train, test = sample_chunks(), sample_chunks("test")
    >>> len(train), len(test), train[0].column("word")[:3], train[0][0]
    (700, 200, ('Over', 'his', 'modest'), ('Over', 'IN', 'B-PP'))
    """
    return list(read_columns(sample_path(f"chunks-{part}.txt"), columns=["word", "pos", "chunk"]))


def sample_articles(*, language: str | None = "en") -> list[dict[str, str]]:
    """The sample articles in one language, or in all of them with `language=None`.

    >>> articles = sample_articles()
    >>> len(articles), len(sample_articles(language=None))
    (272, 308)
    >>> articles[0]["id"], articles[0]["subject"], articles[0]["language"], articles[0]["title"]
    ('astronomy-01', 'astronomy', 'en', 'Why the Moon shows one face')
    """
    with sample_path().open(encoding="utf-8") as lines:
        articles: list[dict[str, str]] = [json.loads(line) for line in lines]
    if language is None:
        return articles
    chosen = [article for article in articles if article["language"] == language]
    if not chosen:
        languages = ", ".join(sorted({article["language"] for article in articles}))
        raise DataError(f"no sample article in language {language!r}; choose one of {languages}, or None for all")
    return chosen


def sample_texts(*, language: str | None = "en") -> list[str]:
    """The texts of the same articles, in the same order, without their titles.

    >>> print(sample_texts(language="fr")[0][:39])
    Versez 250 g de farine dans un saladier
    """
    return [article["text"] for article in sample_articles(language=language)]
