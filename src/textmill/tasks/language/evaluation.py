"""How good an identifier and a segmenter are.

Texts: a set of languages is answered for each text, so precision and recall are those of sets, by language, over all
and for each class of length (small: 2-5 words, medium: 6-50, large: more than 50); the best single language has an
accuracy and a confusion table.

Tokens of segmented texts: right when exactly the expected language is assigned. An error is off by one when it lies at
a boundary and the word beside it, across the boundary, has the assigned language; the accuracy without them leaves
them out of errors and of words: 1 - (errors - off by one) / (words - off by one).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from textmill.errors import DataError
from textmill.metrics import Confusion, LabelCounts
from textmill.tasks.language.identifier import LanguageIdentifier
from textmill.tasks.language.segmenter import LanguageSegmenter

__all__ = [
    "LENGTH_CLASSES",
    "LanguageEvaluation",
    "TokenCounts",
    "describe_evaluation",
    "evaluate_languages",
    "evaluate_segments",
    "length_class",
    "throughput",
]

LENGTH_CLASSES = ("single", "small", "medium", "large")


def length_class(n_words: int) -> str:
    """Return the class of a text by its number of words.

    >>> [length_class(words) for words in (1, 5, 6, 51)]
    ['single', 'small', 'medium', 'large']
    """
    return "single" if n_words < 2 else "small" if n_words < 6 else "medium" if n_words <= 50 else "large"


@dataclass(frozen=True)
class LanguageEvaluation:
    """Counts of texts: sets of languages by class of length ("all" for every text), and the best single languages."""

    sets: dict[str, LabelCounts]
    best: Confusion
    seconds: float = 0.0
    megabytes: float = 0.0

    @property
    def accuracy(self) -> float:
        """Share of texts whose best language is the right one."""
        return self.best.accuracy()


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """Words of segmented texts: all, wrong ones, those of them that are off by one, and texts with one piece too many.

    >>> counts = TokenCounts(words=49_943, errors=1_420, off_by_one=603)
    >>> f"{counts.accuracy:.4f} {counts.accuracy_inside:.4f}"
    '0.9716 0.9834'
    """

    words: int = 0
    errors: int = 0
    off_by_one: int = 0
    single: int = field(default=0)  # texts in one language
    single_whole: int = field(default=0)  # of those, texts that stay in one piece

    def __add__(self, other: TokenCounts) -> TokenCounts:
        return TokenCounts(
            self.words + other.words,
            self.errors + other.errors,
            self.off_by_one + other.off_by_one,
            self.single + other.single,
            self.single_whole + other.single_whole,
        )

    @property
    def accuracy(self) -> float:
        """Share of words with the right language."""
        return 1 - self.errors / self.words if self.words else 0.0

    @property
    def accuracy_inside(self) -> float:
        """The same without words that are off by one."""
        words = self.words - self.off_by_one
        return 1 - (self.errors - self.off_by_one) / words if words else 0.0


def evaluate_languages(
    model: LanguageIdentifier, texts: Sequence[str], languages: Sequence[str], *, only: Sequence[str] | None = None
) -> LanguageEvaluation:
    """Compare the answers for texts with their languages; `only` restricts the answers."""
    if len(texts) != len(languages):
        raise DataError(f"{len(texts)} texts have {len(languages)} languages; pass a language for each text")
    began = perf_counter()
    answers = model.detect_many(texts, languages=only)
    seconds = perf_counter() - began
    classes: dict[str, list[int]] = {"all": list(range(len(texts)))}
    for i, answer in enumerate(answers):
        classes.setdefault(length_class(answer.words), []).append(i)
    unknown = set(languages) - set(model.classes_.tolist())
    sets = {
        name: LabelCounts.from_sets(
            [set() if languages[i] in unknown else {languages[i]} for i in rows],
            [set(answers[i].languages) for i in rows],
        )
        for name in ("all", *LENGTH_CLASSES)
        if (rows := classes.get(name))
    }
    best = Confusion.from_labels(list(languages), [answer.language or "und" for answer in answers])
    return LanguageEvaluation(sets, best, seconds, sum(len(text.encode()) for text in texts) / 1e6)


def describe_evaluation(model: LanguageIdentifier, result: LanguageEvaluation, *, beta: float = 1.0) -> dict[str, Any]:
    """All figures of an evaluation by name, speed and the size of the model among them.

    For each class of length precision, recall and F_beta of each language and their macro and micro averages; in
    "confusion" how often each language was taken for which.
    """
    sets = {}
    for name, part in result.sets.items():
        own = {str(label): part[label] for label in part.labels}
        sets[name] = {
            "texts": part.items,
            "languages": {
                code: {"precision": counts.precision(), "recall": counts.recall(), "f": counts.f(beta)}
                for code, counts in own.items()
            },
        } | {
            way: {"precision": part.precision(way), "recall": part.recall(way), "f": part.f(way, beta)}
            for way in ("macro", "micro")
        }
    labels = [str(label) for label in result.best.labels]
    taken = {
        gold: {answer: int(number) for answer, number in zip(labels, row, strict=True) if number}
        for gold, row in zip(labels, result.best.table, strict=True)
    }
    texts, seconds = int(result.best.table.sum()), max(result.seconds, 1e-9)
    return {
        "accuracy": result.accuracy,
        "texts": texts,
        "beta": beta,
        "sets": sets,
        "confusion": {gold: answers for gold, answers in taken.items() if answers},
        "texts_per_second": texts / seconds,
        "megabytes_per_second": result.megabytes / seconds,
        "model_megabytes": _megabytes(model),
    }


def evaluate_segments(
    segmenter: LanguageSegmenter, documents: Sequence[Sequence[tuple[str, str]]], *, joined: str = " "
) -> TokenCounts:
    """Segment documents, each a sequence of (language, text) pieces, and compare every word."""
    from textmill._native import language as native

    texts = [joined.join(text for _, text in document) for document in documents]
    total = TokenCounts()
    for document, pieces in zip(documents, segmenter.segments_many(texts), strict=True):
        gold = [code for code, text in document for _ in native.keys(native.Texts([text]), 0, False)]
        assigned: list[str | None] = []
        for piece in pieces:
            label = piece.languages[0] if len(piece.languages) == 1 else None
            assigned += [label] * (piece.last_word - piece.first_word)
        if len(gold) != len(assigned):
            raise DataError("the pieces of a document do not join word by word; join them with a blank")
        wrong = [i for i, (right, label) in enumerate(zip(gold, assigned, strict=True)) if right != label]
        beside = sum(
            (i > 0 and gold[i - 1] != gold[i] and gold[i - 1] == assigned[i])
            or (i + 1 < len(gold) and gold[i + 1] != gold[i] and gold[i + 1] == assigned[i])
            for i in wrong
        )
        alone = len({code for code, _ in document}) == 1
        total += TokenCounts(len(gold), len(wrong), beside, int(alone), int(alone and len(pieces) == 1))
    return total


def throughput(model: LanguageIdentifier, texts: Sequence[str]) -> dict[str, float]:
    """Texts and megabytes in a second, and the size of the model in megabytes."""
    began = perf_counter()
    model.predict(texts)
    seconds = max(perf_counter() - began, 1e-9)
    data = sum(len(text.encode()) for text in texts) / 1e6
    return {
        "texts_per_second": len(texts) / seconds,
        "megabytes_per_second": data / seconds,
        "model_megabytes": _megabytes(model),
    }


def _megabytes(model: LanguageIdentifier) -> float:
    return sum(array.nbytes for array in (model.records_, model.slots_, model.tags_)) / 1e6
