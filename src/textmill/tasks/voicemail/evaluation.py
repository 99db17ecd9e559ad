"""How good answers are: precision, recall and F of callers, names and numbers by three criteria, and what went wrong.

    strict             the same first and last word
    containment        exactly one whole gold span inside, more around it is allowed
    name containment   the caller's phrase has the whole name in it

Messages that are empty or have no caller stay in: a proposal there is wrong. Strict figures and those of containment
differ much on the output of a recognizer; both are given, with intervals over messages.

Cost: one pass, and the draws of the bootstrap. Reference: Jansche & Abney (2002), tables 1 to 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from textmill.errors import DataError
from textmill.metrics import SpanCounts, bootstrap_interval, span_counts
from textmill.tables import Table
from textmill.tasks.voicemail.answers import VoicemailAnswer
from textmill.tasks.voicemail.locale import Locale
from textmill.tasks.voicemail.messages import MarkedSpan, Message
from textmill.tasks.voicemail.numbers import NumberGrammar, SpokenNumber

__all__ = [
    "SpanError",
    "SpanFigures",
    "VoicemailEvaluation",
    "evaluate_answers",
    "evaluate_spans",
    "plain_rules",
    "span_errors",
]

_CRITERIA = {
    "caller": ("strict", "containment", "name containment"),
    "name": ("strict", "containment"),
    "telno": ("strict", "containment"),
}


class SpanFigures(NamedTuple):
    """Figures of one label by one criterion, with the ends of the 95 % interval of F."""

    label: str
    criterion: str
    precision: float
    recall: float
    f1: float
    low: float
    high: float
    proposed: int
    gold: int


class SpanError(NamedTuple):
    """A span that was missed, spurious or of wrong boundaries, in its context; surer answers come first."""

    kind: str
    label: str
    message: int
    gold: str
    proposed: str
    confidence: float
    context: str


class VoicemailEvaluation(Table):
    """Figures of all labels and criteria, as rows."""

    def __init__(self, rows: list[SpanFigures], errors: list[SpanError]) -> None:
        self.rows = rows
        self.errors = errors

    def figures(self, label: str, criterion: str = "strict") -> SpanFigures:
        """The row of a label and a criterion."""
        for row in self.rows:
            if (row.label, row.criterion) == (label, criterion):
                return row
        raise DataError(f"there are no figures of {label!r} by {criterion!r}")

    def columns(self) -> dict[str, list[Any]]:
        """Return label, criterion, precision, recall, f1, low, high, proposed and gold."""
        return {name: [getattr(row, name) for row in self.rows] for name in SpanFigures._fields}


def _gold(message: Message, label: str, criterion: str) -> list[MarkedSpan]:
    if label == "name" or criterion == "name containment":
        name = message.name
        return [] if name is None else [name._replace(label=label)]
    if label == "caller":
        caller = message.caller
        return [] if caller is None else [caller]
    return message.marked(label)


def evaluate_spans(
    messages: Sequence[Message], spans: Sequence[Iterable[MarkedSpan]], label: str, criterion: str = "strict"
) -> SpanFigures:
    """Figures of proposed spans of one label: caller, name or telno.

    >>> from textmill.tasks.voicemail import parse_message
    >>> gold = [parse_message("<caller> this is Pat </caller> bye"), parse_message("")]
    >>> row = evaluate_spans(gold, [[MarkedSpan(0, 4, "caller")], []], "caller", "containment")
    >>> row.precision, row.recall
    (1.0, 1.0)
    """
    if len(messages) != len(spans):
        raise DataError(f"there are {len(messages)} messages but answers to {len(spans)}; give one for each")
    truth = [_gold(message, label, criterion) for message in messages]
    claims = [[span for span in own if span.label == label] for own in spans]
    parts = [span_counts([one], [other], criterion) for one, other in zip(truth, claims, strict=True)]
    counts = sum(parts, SpanCounts(conventions=parts[0].conventions if parts else ""))
    interval = (0.0, 0.0)
    if counts.proposed and counts.gold:
        rows = np.array([(part.right, part.proposed, part.matched, part.gold) for part in parts], dtype=np.float64)
        ends = bootstrap_interval(rows, _f1, resamples=400)
        interval = ends.low, ends.high
    return SpanFigures(
        label, criterion, counts.precision, counts.recall, counts.f1, *interval, counts.proposed, counts.gold
    )


def _f1(sums: Any) -> Any:
    right, proposed, matched, gold = (sums[..., i] for i in range(4))
    with np.errstate(invalid="ignore", divide="ignore"):
        precision, recall = np.nan_to_num(right / proposed), np.nan_to_num(matched / gold)
        return np.nan_to_num(2 * precision * recall / (precision + recall))


def evaluate_answers(messages: Sequence[Message], answers: Sequence[VoicemailAnswer]) -> VoicemailEvaluation:
    """Figures of answers to marked messages, and their errors."""
    spans = [answer.spans for answer in answers]
    rows = [evaluate_spans(messages, spans, label, criterion) for label, own in _CRITERIA.items() for criterion in own]
    return VoicemailEvaluation(rows, span_errors(messages, answers))


def span_errors(messages: Sequence[Message], answers: Sequence[VoicemailAnswer]) -> list[SpanError]:
    """What went wrong by the strict criterion: boundary errors, spurious and missed spans, the surest first."""
    errors = []
    for number, (message, answer) in enumerate(zip(messages, answers, strict=True)):
        sure = {(n.start, n.end, "telno"): n.confidence for n in answer.numbers}
        for one, label in ((answer.caller, "caller"), (answer.name, "name")):
            if one is not None:
                sure[one.start, one.end, label] = one.confidence
        for label in _CRITERIA:
            gold = _gold(message, label, "strict")
            claims = [span for span in answer.spans if span.label == label]
            wrong = [claim for claim in claims if claim not in gold]
            for span in gold:
                if span in claims:
                    continue
                near = next((c for c in wrong if c.start < span.end and span.start < c.end), None)
                if near is not None:
                    wrong.remove(near)
                errors.append(_error(message, number, label, span, near, 0.0 if near is None else sure[near]))
            errors += [_error(message, number, label, None, claim, sure[claim]) for claim in wrong]
    order = {"boundary": 0, "spurious": 1, "missed": 2}
    return sorted(errors, key=lambda error: (order[error.kind], -error.confidence, error.message))


def _error(
    message: Message, number: int, label: str, gold: MarkedSpan | None, claim: MarkedSpan | None, confidence: float
) -> SpanError:
    spans = [span for span in (gold, claim) if span is not None]
    start, end = min(span.start for span in spans), max(span.end for span in spans)

    def text(span: MarkedSpan | None) -> str:
        return "" if span is None else " ".join(message.tokens[span.start : span.end])

    before = " ".join(message.tokens[max(0, start - 5) : start])
    behind = " ".join(message.tokens[end : end + 3])
    kind = "missed" if claim is None else "spurious" if gold is None else "boundary"
    context = f"{before} [{' '.join(message.tokens[start:end])}] {behind}".strip()
    return SpanError(kind, label, number, text(gold), text(claim), confidence, context)


def plain_rules(
    messages: Sequence[Message], locale: str | Locale = "us", *, min_digits: int = 4
) -> dict[str, list[list[MarkedSpan]]]:
    """Numbers by the three rules that learn nothing: digits, grammar (all candidates) and prune (of enough digits).

    >>> from textmill.tasks.voicemail import parse_message
    >>> spans = plain_rules([parse_message("at two call five five five one")])
    >>> {rule: len(own[0]) for rule, own in spans.items()}
    {'digits': 1, 'grammar': 2, 'prune': 1}
    """
    grammar = NumberGrammar(locale)
    every = grammar.find_all(messages)
    digits = grammar.digits_baseline(messages)

    def spans(numbers: Iterable[list[SpokenNumber]], least: int) -> list[list[MarkedSpan]]:
        return [
            [MarkedSpan(n.start, n.end, "telno") for n in own if len(n.digits) + len(n.extension) >= least]
            for own in numbers
        ]

    return {"digits": spans(digits, 1), "grammar": spans(every, 1), "prune": spans(every, min_digits)}
