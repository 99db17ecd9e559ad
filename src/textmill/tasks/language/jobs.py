"""What the commands of `textmill language` do, each one call: read texts by language, train, build corpora, list
languages."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from textmill._native import language as native
from textmill.corpus import read_records
from textmill.errors import DataError
from textmill.model import load
from textmill.tasks.language.counts import LanguageCounts, check_language
from textmill.tasks.language.identifier import LanguageIdentifier
from textmill.tasks.language.thresholds import held_apart

__all__ = ["describe_languages", "read_labeled", "read_word_lists", "train_identifier"]


def read_labeled(
    sources: Iterable[str | os.PathLike[str]],
    *,
    language_field: str = "language",
    text_field: str | None = None,
    format: str | None = None,  # noqa: A002
    delimiter: str = ",",
    encoding: str = "utf-8",
    errors: str = "strict",
) -> tuple[list[str], list[str]]:
    """Texts and their languages: of tables by a field, of plain text by the name of the file (cs.txt, one text a line).

    A folder gives all files in it.
    """
    paths: list[str] = []
    for source in [os.fspath(path) for path in sources]:
        inside = (
            sorted(str(path) for path in Path(source).iterdir() if path.is_file()) if Path(source).is_dir() else None
        )
        paths += [source] if inside is None else inside
    texts: list[str] = []
    labels: list[str] = []
    for path in paths:
        stem, before = Path(path).name.split(".")[0], len(texts)
        for record in read_records(path, format=format, delimiter=delimiter, encoding=encoding, errors=errors):
            text = record.fields.get(text_field or "text")
            if text is None:
                raise DataError(f"there is no field '{text_field or 'text'}'; name it with --text-field",
                                source=record.source, line=record.line)  # fmt: skip
            label = record.fields.get(language_field)
            if label is None and path == "-":
                raise DataError("texts on stdin need a language; pass a table with a language field, or files")
            if str(text).strip():
                texts.append(str(text))
                try:
                    labels.append(check_language(stem if label is None else str(label)))
                except DataError as fault:
                    raise DataError(fault.message, source=record.source, line=record.line) from None
        if len(texts) == before:
            raise DataError("the file has no text, so nothing can be learned from it; leave it out", source=path)
    if not texts:
        raise DataError("no text was read; pass files with texts in them")
    return texts, labels


def read_word_lists(
    paths: Iterable[str | os.PathLike[str]], *, accents: str = "keep", encoding: str = "utf-8"
) -> LanguageCounts:
    """Counts from word lists, files named by their language (cs.txt): a word and how often it occurs on each line."""
    lists: dict[str, dict[str, float]] = {}
    for path in paths:
        words = lists.setdefault(Path(path).name.split(".")[0], {})
        for record in read_records(path, format="txt", encoding=encoding):
            word, *rest = str(record.fields["text"]).split() or [""]
            try:
                count = float(rest[-1])
                if not 0 <= count < float("inf"):
                    raise ValueError
            except (IndexError, ValueError):
                if not word:
                    continue
                raise DataError(
                    f"expected a word and how often it occurs, got {record.fields['text']!r}",
                    source=record.source, line=record.line,
                ) from None  # fmt: skip
            words[word] = words.get(word, 0.0) + count
    return LanguageCounts.from_frequencies(lists, accents=accents)


def train_identifier(
    identifier: LanguageIdentifier,
    texts: Sequence[str],
    labels: Sequence[str],
    *,
    add: Iterable[str | os.PathLike[str]] = (),
    subtract: Iterable[str | os.PathLike[str]] = (),
    more: LanguageCounts | None = None,
    others: tuple[Sequence[str], Sequence[str]] = ((), ()),
    cluster: Any = None,
) -> LanguageCounts:
    """Train on texts, with counts of files added or taken away; returns all counts.

    `more` are counts that are added, too, such as those of word lists; `others` are texts and labels of languages that
    are not learned: what is to be refused is tuned on them, too.
    """
    apart = held_apart(list(labels), identifier.held_out)
    inside = [i for i, out in enumerate(apart) if not out]
    outside = [i for i, out in enumerate(apart) if out]
    counts = LanguageCounts.from_texts(
        [texts[i] for i in inside], [labels[i] for i in inside], accents=identifier.accents, cluster=cluster
    )
    for path in add:
        counts = counts + load(path, expect=LanguageCounts)
    for path in subtract:
        counts = counts - load(path, expect=LanguageCounts)
    if more is not None:
        counts = counts + more
    twice = sorted(set(others[1]) & set(counts.languages_))
    if twice:
        raise DataError(f"'{twice[0]}' is learned, and among the other languages; leave it out of one of them")
    held = [*(texts[i] for i in outside), *others[0]], [*(labels[i] for i in outside), *others[1]]
    identifier.fit_counts(counts, *held)
    return counts


def describe_languages(identifier: LanguageIdentifier) -> list[dict[str, Any]]:
    """Of each language: its threshold, scripts, number of words in the dictionary, whether it is a decoy."""
    languages = native.read_records(identifier.records_, identifier.step_, 0)[4]
    sizes = np.bincount(languages, minlength=len(identifier.classes_))
    names = native.script_names()
    shares = np.exp(identifier.script_)
    return [
        {
            "language": code,
            "threshold": float(identifier.thresholds_[i]),
            "scripts": ",".join(names[j] for j in np.argsort(-shares[:, i], kind="stable") if shares[j, i] > 0.05),
            "words": int(sizes[i]),
            "decoy": bool(identifier.decoy_[i]),
        }
        for i, code in enumerate(identifier.classes_.tolist())
    ]
