"""Texts with levels: read, order the levels, reduce to what all levels have, leave out what is no article.

A record has a text, a level (`level_field`, or the first of level, grade and label) and, where several texts are
versions of one article, the article (`group_field`, or the first of group and article). Levels that are numbers are
ordered by value, others by the mean Flesch-Kincaid grade of their texts, unless an order is given.

Reduction. A corpus whose levels were prepared in different ways gives its levels away: where one level has lost all
quotes, an apostrophe tells it from the others. `reduce_text` leaves letters and digits of ASCII, blanks, line ends and
. , ; : ? ! ( ) - % $ / &, in every text alike.

Articles. `is_article` says no to what has fewer than 3 sentences or 30 words, to what asks in more than half of its
sentences, and to lists, where more than half of the lines have no full stop, question or exclamation mark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from textmill.corpus import BadRecords, read_documents, split_sentences
from textmill.errors import DataError
from textmill.tasks.readability.formulas import count_texts
from textmill.tasks.readability.lines import unwrap_lines
from textmill.tasks.readability.resources import LanguageResources

__all__ = ["GradedTexts", "is_article", "order_levels", "read_graded_texts", "reduce_text"]

LEVEL_FIELDS = ("level", "grade", "label")
GROUP_FIELDS = ("group", "article")
_STRANGE = re.compile(r"[^A-Za-z0-9 \n.,;:?!()%$/&-]")
_BLANKS = re.compile(r" +")
_LINE_ENDS = re.compile(r" *\n\s*")
_ENDS = re.compile(r"[.?!][^\w]*$")
_FEW_SENTENCES, _FEW_WORDS = 3, 30


@dataclass(frozen=True)
class GradedTexts:
    """Texts with levels, groups (None: not known) and ids; `order` are the levels, the easiest first."""

    texts: list[str]
    levels: list[str]
    groups: list[str] | None
    ids: list[str]
    order: list[str]

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: Any) -> GradedTexts:
        """Return some of the texts, by number."""
        chosen = [int(row) for row in rows]

        def some(values: list[str]) -> list[str]:
            return [values[i] for i in chosen]

        groups = None if self.groups is None else some(self.groups)
        return GradedTexts(some(self.texts), some(self.levels), groups, some(self.ids), self.order)

    def reduced(self) -> GradedTexts:
        """Return the texts with what `reduce_text` leaves of them."""
        return replace(self, texts=[reduce_text(text) for text in self.texts])


def reduce_text(text: str) -> str:
    """Return what is left of a text without quotes, control characters and all that is not ASCII.

    >>> reduce_text("The mill’s “wheel” – a big one –  turns.")
    'The mills wheel a big one turns.'
    """
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ").replace("\u00a0", " ")
    return _LINE_ENDS.sub("\n", _BLANKS.sub(" ", _STRANGE.sub("", plain))).strip()


def is_article(text: str) -> bool:
    """Say whether a text is an article, and no quiz, puzzle or list.

    >>> is_article("Who turns the wheel? What is flour? Where is the mill?")
    False
    """
    text = unwrap_lines(text)
    sentences = split_sentences(text, abbreviations=LanguageResources().stops())
    lines = [line for line in text.splitlines() if line.strip()]
    if len(sentences) < _FEW_SENTENCES or len(text.split()) < _FEW_WORDS:
        return False
    asking = sum(sentence.rstrip().endswith("?") for sentence in sentences)
    open_lines = sum(_ENDS.search(line.strip()) is None for line in lines)
    return 2 * asking <= len(sentences) and (len(lines) < _FEW_SENTENCES or 2 * open_lines <= len(lines))


def order_levels(texts: Sequence[str], levels: Sequence[str]) -> list[str]:
    """Return the levels, the easiest first: by value if they are numbers, else by the mean Flesch-Kincaid grade.

    >>> order_levels(["The mill is old.", "Perplexity characterizes probabilistic representations."], ["low", "high"])
    ['low', 'high']
    """
    names = list(dict.fromkeys(levels))
    try:
        return sorted(names, key=float)
    except ValueError:
        grades = count_texts(texts).formula("flesch_kincaid")
        own = np.array(levels)
        return sorted(names, key=lambda name: float(np.nanmean(grades[own == name])))


def read_graded_texts(
    sources: Any,
    *,
    level_field: str | None = None,
    group_field: str | None = None,
    order: Sequence[str] | None = None,
    errors: str = "strict",
    articles_only: bool = False,
    **reading: Any,
) -> GradedTexts:
    r"""Read texts with levels; `reading` goes to `corpus.read_documents`, `order` are the levels, the easiest first.

    With `articles_only`, what is no article is left out. A text that is empty or has no level is an error that names
    its place, or left out and counted (errors="skip").

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "texts.csv")
    ...     _ = path.write_text("level,article,text\n2,mill,The mill is old.\n1,mill,A mill.\n")
    ...     graded = read_graded_texts(path)
    >>> graded.levels, graded.groups, graded.order
    (['2', '1'], ['mill', 'mill'], ['1', '2'])
    """
    documents = read_documents(sources, errors=errors, **reading)
    texts, levels, groups, ids = [], [], [], []
    with BadRecords(errors, documents.sources[0]) as bad:
        for document in documents:
            level = _field(document.fields, level_field, LEVEL_FIELDS)
            group = _field(document.fields, group_field, GROUP_FIELDS)
            fault = None
            if level is None:
                wanted = level_field or "level, grade or label"
                fault = f"the record has no level; name its field with level_field (looked for {wanted})"
            elif group_field is not None and group is None:
                fault = f"the record has no field {group_field!r}"
            elif not any(character.isalnum() for character in document.text):
                fault = "the text has no words; leave it out"
            elif order is not None and level not in order:
                fault = f"level {level!r} is not one of {', '.join(order)}"
            if fault is not None:
                bad(DataError(fault, source=document.source, line=document.line))
                continue
            if articles_only and not is_article(document.text):
                continue
            texts.append(document.text)
            levels.append(str(level))
            groups.append(group)
            ids.append(document.id)
    if not texts:
        raise DataError("there are no texts with levels; pass at least one", source=documents.sources[0])
    articles = None if any(group is None for group in groups) else [str(group) for group in groups]
    return GradedTexts(texts, levels, articles, ids, order_levels(texts, levels) if order is None else list(order))


def _field(fields: Any, name: str | None, usual: Sequence[str]) -> str | None:
    for key in usual if name is None else (name,):
        if (value := fields.get(key)) not in (None, ""):
            return str(value)
    return None
