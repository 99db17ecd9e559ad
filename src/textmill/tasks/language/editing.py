"""Models changed by hand: patch files, lists, differences, and the dictionary as text.

A patch is text, one change on each line: a word, a language, a relevance, with tabs between them. Without a relevance
(or with `-`) the word no longer speaks for the language; with `*` for the language it leaves the dictionary. The first
line may name the model that the patch was written for, by its fingerprint:

    # model 3f2a...
    ahoj    cs    2.0
    grand   en    -
    www     *

Adding a word with relevance r to a text of n words changes its score by r / n. Cost: one visit of each record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from textmill.errors import DataError
from textmill.tasks.language.identifier import LanguageIdentifier

__all__ = ["WordChange", "apply_patch", "diff_models", "dump_lines", "patch_lines", "with_lists"]


@dataclass(frozen=True, slots=True)
class WordChange:
    """A word whose relevance to a language differs between two models; None where it has none."""

    word: str
    language: str
    before: float | None
    after: float | None


def apply_patch(model: LanguageIdentifier, lines: Iterable[str], *, source: str = "patch") -> LanguageIdentifier:
    """A copy of the model with the changes of a patch.

    >>> from textmill.tasks.language import LanguageCounts
    >>> model = LanguageIdentifier(min_count=1, order=0)
    >>> model = model.fit_counts(LanguageCounts.from_texts(["ja", "yes"], ["de", "en"]))
    >>> apply_patch(model, ["ahoj\\tde\\t1.5", "yes\\t*"]).words()["ahoj"]
    {'de': 1.5}
    """
    words: Mapping[str, dict[str, float]] = model.words()
    changes: dict[str, dict[str, float] | None] = {}
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\r\n")
        if text.startswith("# model "):
            if text.removeprefix("# model ").strip() != model.fingerprint():
                fault = "this patch was written for another model; delete its first line to apply it all the same"
                raise DataError(fault, source=source, line=number)
            continue
        if not text.strip() or text.startswith("#"):
            continue
        fields = text.split("\t")
        if len(fields) not in (2, 3):
            raise DataError(f"expected a word, a language and a relevance with tabs between them, got {text!r}",
                            source=source, line=number)  # fmt: skip
        word, language = fields[0], fields[1]
        if language == "*":
            changes[word] = None
            continue
        if language not in model.classes_.tolist():
            raise DataError(f"the model does not know the language '{language}'", source=source, line=number)
        relevance = changes.get(word, dict(words.get(word, {}))) or {}
        if len(fields) == 2 or fields[2] == "-":
            relevance.pop(language, None)
        else:
            try:
                relevance[language] = float(fields[2])
            except ValueError:
                raise DataError(f"the relevance {fields[2]!r} is no number", source=source, line=number) from None
        changes[word] = relevance
    return model.with_words(changes)


def with_lists(
    model: LanguageIdentifier, *, white: Mapping[str, Iterable[str]] | None = None, black: Iterable[str] = ()
) -> LanguageIdentifier:
    """A copy in which the words of white lists speak for their language alone, as strongly as any word, and those of a
    black list for none."""
    strongest = max((value for pairs in model.words().values() for value in pairs.values()), default=1.0)
    changes: dict[str, dict[str, float] | None] = {word: {} for word in black}
    for language, words in (white or {}).items():
        changes.update({word: {language: strongest} for word in words})
    return model.with_words(changes)


def diff_models(
    before: LanguageIdentifier, after: LanguageIdentifier, *, tolerance: float = 1e-6
) -> Iterator[WordChange]:
    """What changed between two models, word by word in the order of words.

    >>> from textmill.tasks.language import LanguageCounts
    >>> model = LanguageIdentifier(min_count=1, order=0)
    >>> model = model.fit_counts(LanguageCounts.from_texts(["ja", "yes"], ["de", "en"]))
    >>> list(diff_models(model, model.with_words({"jo": {"de": 1.0}})))
    [WordChange(word='jo', language='de', before=None, after=1.0)]
    """
    old, new = before.words(), after.words()
    for word in sorted({*old, *new}):
        left, right = old.get(word, {}), new.get(word, {})
        for language in sorted({*left, *right}):
            a, b = left.get(language), right.get(language)
            if a is None or b is None or abs(a - b) > tolerance:
                yield WordChange(word, language, a, b)


def patch_lines(changes: Iterable[WordChange], model: LanguageIdentifier | None = None) -> Iterator[str]:
    """A patch that makes these changes; with `model`, for that model only."""
    if model is not None:
        yield f"# model {model.fingerprint()}"
    for change in changes:
        yield f"{change.word}\t{change.language}\t{'-' if change.after is None else format(change.after, '.6g')}"


def dump_lines(model: LanguageIdentifier, *, language: str | None = None) -> Iterator[str]:
    """The dictionary as text: word, language, relevance with tabs between them, sorted by word."""
    for word, pairs in model.words().items():
        for code, value in sorted(pairs.items(), key=lambda item: -item[1]):
            if language is None or code == language:
                yield f"{word}\t{code}\t{value:.4f}"
