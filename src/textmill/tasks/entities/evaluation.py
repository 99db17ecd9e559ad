"""How good a recognizer is, and which phase is to blame.

    extraction       F of phase 1 alone: types do not count
    classification   accuracy of phase 2 alone, on the gold phrases
    product          extraction times classification: what F would be if the phases erred independently
    full             F of exact spans and types, as conlleval counts, for each type and over all
    types            of the phrases that were extracted exactly, the share with the right type

Errors have kinds: a missing name, a spurious one, one with the right type and wrong edges, one with the right edges and
another type, and one with both wrong.
Reference: Jansche (2002), tables 1 to 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from textmill.corpus import Span, spans_of
from textmill.metrics import SpanCounts, span_counts
from textmill.sequence import TagScores, evaluate_tags
from textmill.tasks.entities.candidates import words_of
from textmill.tasks.entities.recognizer import EntityRecognizer

__all__ = ["ERROR_KINDS", "EntityError", "EntityEvaluation", "evaluate_entities", "find_errors"]

ERROR_KINDS = ("missing", "spurious", "edges", "type", "edges and type")
_DEFINITIONS = (
    "Extraction and product are of phase 1 alone, before its candidates are scored again; precision, recall and f1 are "
    "of the final answer, so they can be higher."
)
_CONTEXT = 4  # words to either side of an error


class EntityError(NamedTuple):
    """One error: its kind, the sentence's number (from 1), what was right, what was found, and the words around."""

    kind: str
    sentence: int
    gold: str  # type and words, "-" for nothing
    predicted: str
    context: str


@dataclass(frozen=True, slots=True)
class EntityEvaluation:
    """Figures of both phases and of the whole; counts, so that they are exact."""

    full: TagScores
    extraction: SpanCounts  # phase 1 alone
    spans: SpanCounts  # what is proposed in the end, types aside
    classified: int  # gold phrases that get their type
    gold: int
    errors: list[EntityError]

    @property
    def accuracy(self) -> float:
        """Share of gold phrases that phase 2 gives their type."""
        return self.classified / self.gold if self.gold else 0.0

    @property
    def product(self) -> float:
        """F of extraction times accuracy of classification."""
        return self.extraction.f1 * self.accuracy

    @property
    def types(self) -> float:
        """Share of exactly proposed phrases that have the right type."""
        right = int(self.full.counts.sum(axis=0)[4])
        return right / self.spans.right if self.spans.right else 0.0

    def kinds(self) -> dict[str, int]:
        """Return how many errors there are of each kind."""
        counts = Counter(error.kind for error in self.errors)
        return {kind: counts[kind] for kind in ERROR_KINDS}

    def figures(self) -> dict[str, float]:
        """Return all figures by name."""
        return {
            "extraction precision": self.extraction.precision,
            "extraction recall": self.extraction.recall,
            "extraction f1": self.extraction.f1,
            "classification accuracy": self.accuracy,
            "product": self.product,
            "precision": self.full.precision,
            "recall": self.full.recall,
            "f1": self.full.f1,
            "types of exact phrases": self.types,
        }

    def report(self) -> str:
        """Return the figures as text: those of conlleval, then those of the phases."""
        lines = [self.full.report(), ""]
        lines += [f"{name:>24}: {100 * value:6.2f}%" for name, value in self.figures().items()]
        kinds = ", ".join(f"{kind} {count}" for kind, count in self.kinds().items())
        return "\n".join([*lines, "", _DEFINITIONS, "", f"errors: {kinds}"])


def evaluate_entities(
    model: EntityRecognizer,
    X: Sequence[Any],
    y: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]] | None = None,
) -> EntityEvaluation:
    """Evaluate a recognizer on tagged sentences; `predicted` are its tags, if they are there already.

    >>> X, y = [["Ana", "ve", "Lima"]] * 5, [["B-PER", "O", "B-LOC"]] * 5
    >>> result = evaluate_entities(EntityRecognizer().fit(X, y), X, y)
    >>> result.full.f1, result.accuracy, result.product, result.kinds()["type"]
    (1.0, 1.0, 1.0, 0)
    """
    answers = model.predict(X) if predicted is None else predicted
    gold = [spans_of(tags, lenient=True) for tags in y]
    claims = [spans_of(tags, lenient=True) for tags in answers]
    bare = [[(a, b, "") for a, b, _ in some] for some in gold]
    extraction = span_counts(bare, [spans_of(tags, lenient=True) for tags in model.extract(X)])
    types = model.classify(X, [[(a, b) for a, b, _ in some] for some in gold])
    pairs = [
        (label, kind)
        for some, kinds in zip(gold, types, strict=True)
        for (_, _, label), kind in zip(some, kinds, strict=False)
    ]
    return EntityEvaluation(
        evaluate_tags(y, answers, chunks=True),
        extraction,
        span_counts(bare, [[(a, b, "") for a, b, _ in some] for some in claims]),
        sum(a == b for a, b in pairs),
        len(pairs),
        find_errors(X, gold, claims),
    )


def find_errors(
    X: Sequence[Any], gold: Sequence[Sequence[Span]], predicted: Sequence[Sequence[Span]]
) -> list[EntityError]:
    """List all errors with the words around them, in the order of the text.

    >>> [tuple(error)[:4] for error in find_errors([["Ana", "ve", "Lima"]], [[(0, 1, "PER")]], [[(0, 2, "PER")]])]
    [('edges', 1, 'PER Ana', 'PER Ana ve')]
    """
    errors = []
    for number, (sentence, truth, claims) in enumerate(zip(X, gold, predicted, strict=True), 1):
        words = words_of(sentence)
        left = [span for span in truth if span not in claims]
        extra = [span for span in claims if span not in truth]
        for claim in extra:
            near = next((span for span in left if span[0] < claim[1] and claim[0] < span[1]), None)
            if near is None:
                errors.append(_error("spurious", number, words, None, claim))
                continue
            left.remove(near)
            edges, kind = near[:2] != claim[:2], near[2] != claim[2]
            name = "edges and type" if edges and kind else "edges" if edges else "type"
            errors.append(_error(name, number, words, near, claim))
        errors += [_error("missing", number, words, span, None) for span in left]
    return errors


def _error(kind: str, number: int, words: list[str], gold: Span | None, claim: Span | None) -> EntityError:
    shown = [span for span in (gold, claim) if span is not None]
    first, last = min(span[0] for span in shown), max(span[1] for span in shown)
    before, after = words[max(0, first - _CONTEXT) : first], words[last : last + _CONTEXT]
    context = " ".join([*before, "[", *words[first:last], "]", *after])
    texts = ["-" if span is None else f"{span[2]} {' '.join(words[span[0] : span[1]])}" for span in (gold, claim)]
    return EntityError(kind, number, texts[0], texts[1], context)
