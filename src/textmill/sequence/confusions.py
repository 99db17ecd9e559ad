"""What a tagger got wrong: every wrong token or span with its sentence, grouped by what was taken for what.

    NN > JJ          a token, or a span of the label NN that was called JJ
    PER > O          a span that was missed
    O > PER          a span that is none
    PER > LOC ~      spans that overlap but do not begin and end together (PER > PER ~: only the boundaries are wrong)

Where labels are chunks, each gold span that was not found is paired with the wrong span that shares the most tokens
with it, one of the same label and then the first where several do; what remains on either side was missed or is none.
Spans are read as conlleval reads them. Cost: linear in the number of tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from textmill.corpus import Sentence, Span, spans_of
from textmill.sequence.evaluation import are_chunks, gold_and_predicted
from textmill.tables import Rows

__all__ = ["TagError", "errors_by_kind", "tag_errors"]


class TagError(NamedTuple):
    """A wrong token or span: `begin` is its first token and `end` behind the last, counted from 0 over both sides.

    `gold` and `predicted` are the labels with the words that have them, None where there is no span. `sentence` has the
    wrong part in brackets.
    """

    kind: str
    place: str  # file and line, or the number of the sequence and the token, counted from 1
    begin: int
    end: int
    gold: str | None
    predicted: str | None
    sentence: str


def tag_errors(sentences: Iterable[Sentence], *, chunks: bool | None = None) -> Rows[TagError]:
    """The errors in sentences whose last two columns are the gold and the predicted label, in their order.

    `chunks` says whether labels are IOB tags (None: if all look so).

    >>> words, gold, found = ("to", "New", "York"), ("O", "B-LOC", "I-LOC"), ("O", "O", "B-LOC")
    >>> for error in tag_errors([Sentence((words, gold, found))]):
    ...     print(error.kind, error.place, error.gold, error.predicted, error.sentence, sep="; ")
    LOC > LOC ~; 1:2; LOC: New York; LOC: York; to [New York]
    """
    read = list(sentences)
    gold, predicted = gold_and_predicted(read)
    spans = are_chunks(gold, predicted) if chunks is None else chunks
    errors: list[TagError] = []
    for number, (sentence, left, right) in enumerate(zip(read, gold, predicted, strict=True), 1):
        if left != right:
            pairs = _span_pairs(left, right) if spans else _token_pairs(left, right)
            errors += (_error(sentence, number, *pair) for pair in pairs)
    return Rows(errors, TagError)


def errors_by_kind(errors: Iterable[TagError]) -> dict[str, list[TagError]]:
    """The errors of each kind, the most frequent kind first.

    >>> words, gold, found = ("to", "be", "to"), ("A", "B", "A"), ("B", "B", "C")
    >>> grouped = errors_by_kind(tag_errors([Sentence((words, gold, found))] * 2))
    >>> {kind: len(errors) for kind, errors in grouped.items()}
    {'A > B': 2, 'A > C': 2}
    """
    kept = list(errors)
    count = Counter(error.kind for error in kept)
    grouped: dict[str, list[TagError]] = {kind: [] for kind, _ in sorted(count.items(), key=lambda at: (-at[1], at[0]))}
    for error in kept:
        grouped[error.kind].append(error)
    return grouped


def _token_pairs(gold: Sequence[str], predicted: Sequence[str]) -> Iterator[tuple[Span | None, Span | None]]:
    for t, (left, right) in enumerate(zip(gold, predicted, strict=True)):
        if left != right:
            yield (t, t + 1, left), (t, t + 1, right)


def _span_pairs(gold: Sequence[str], predicted: Sequence[str]) -> list[tuple[Span | None, Span | None]]:
    """Gold spans that were not found and predicted ones that are wrong, paired where they overlap."""
    truth, answer = spans_of(gold, lenient=True), spans_of(predicted, lenient=True)
    missed, wrong = sorted(set(truth) - set(answer)), sorted(set(answer) - set(truth))
    pairs: list[tuple[Span | None, Span | None]] = []
    free = list(wrong)
    for span in missed:
        touching = [other for other in free if other[0] < span[1] and span[0] < other[1]]
        best = max(touching, key=lambda other: (_shared(span, other), other[2] == span[2]), default=None)
        pairs.append((span, best))
        if best is not None:
            free.remove(best)
    pairs += ((None, span) for span in free)
    return sorted(pairs, key=lambda pair: min(span[0] for span in pair if span is not None))


def _shared(one: Span, two: Span) -> int:
    return min(one[1], two[1]) - max(one[0], two[0])


def _error(sentence: Sentence, number: int, gold: Span | None, predicted: Span | None) -> TagError:
    there = [span for span in (gold, predicted) if span is not None]
    begin, end = min(span[0] for span in there), max(span[1] for span in there)
    moved = len(there) == 2 and there[0][:2] != there[1][:2]
    labels = ["O" if span is None else span[2] for span in (gold, predicted)]
    words = sentence.column(0)
    marked = [*words[:begin], f"[{' '.join(words[begin:end])}]", *words[end:]]
    named = sentence.source is not None and sentence.line is not None
    texts = [None if span is None else f"{span[2]}: {' '.join(words[span[0] : span[1]])}" for span in (gold, predicted)]
    return TagError(
        kind=" > ".join(labels) + (" ~" if moved else ""),
        place=f"{sentence.source}:{(sentence.line or 0) + begin}" if named else f"{number}:{begin + 1}",
        begin=begin,
        end=end,
        gold=texts[0],
        predicted=texts[1],
        sentence=" ".join(marked),
    )
