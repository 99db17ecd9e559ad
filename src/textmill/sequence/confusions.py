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
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from textmill.corpus import Sentence, Span, spans_of
from textmill.errors import DataError
from textmill.sequence.evaluation import are_chunks, gold_and_predicted
from textmill.tables import Rows

__all__ = ["TagError", "column_errors", "errors_by_kind", "tag_errors"]


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


def tag_errors(
    X: Iterable[Any], gold: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]], *, chunks: bool | None = None
) -> Rows[TagError]:
    """The errors among labels of the sequences X, in their order.

    `chunks` says whether labels are IOB tags (None: if all look so). A token is shown by its first column, or by the
    first of its attributes.

    >>> X, gold, predicted = [["to", "New", "York"]], [["O", "B-LOC", "I-LOC"]], [["O", "O", "B-LOC"]]
    >>> for error in tag_errors(X, gold, predicted):
    ...     print(error.kind, error.place, error.gold, error.predicted, error.sentence, sep="; ")
    LOC > LOC ~; 1:2; LOC: New York; LOC: York; to [New York]
    """
    left, right = [list(map(str, labels)) for labels in gold], [list(map(str, labels)) for labels in predicted]
    spans = are_chunks(left, right) if chunks is None else chunks
    sequences = [s if isinstance(s, Sentence) else list(s) for s in X]
    sizes = [[len(one) for one in some] for some in (sequences, left, right)]
    if not sizes[0] == sizes[1] == sizes[2]:
        raise DataError(
            "X, gold and predicted differ in the number or lengths of their sequences; give those of one data set"
        )
    errors: list[TagError] = []
    for number, (sequence, truth, answer) in enumerate(zip(sequences, left, right, strict=True), 1):
        if truth != answer:
            pairs = _span_pairs(truth, answer) if spans else _token_pairs(truth, answer)
            words = sequence.column(0) if isinstance(sequence, Sentence) else [_word(token) for token in sequence]
            place = _place(sequence, number)
            errors += (_error(words, place, *pair) for pair in pairs)
    return Rows(errors, TagError)


def column_errors(sentences: Iterable[Sentence], *, chunks: bool | None = None) -> Rows[TagError]:
    """The errors in sentences whose last two columns are the gold and the predicted label.

    >>> [error] = column_errors([Sentence((("the", "dog"), ("D", "N"), ("D", "V")))])
    >>> error.kind, error.sentence
    ('N > V', 'the [dog]')
    """
    read = list(sentences)
    return tag_errors(read, *gold_and_predicted(read), chunks=chunks)


def errors_by_kind(errors: Iterable[TagError]) -> dict[str, list[TagError]]:
    """The errors of each kind, the most frequent kind first.

    >>> grouped = errors_by_kind(tag_errors([["to", "be", "to"]] * 2, [["A", "B", "A"]] * 2, [["B", "B", "C"]] * 2))
    >>> {kind: len(errors) for kind, errors in grouped.items()}
    {'A > B': 2, 'A > C': 2}
    """
    listed = list(errors)
    count = Counter(error.kind for error in listed)
    grouped: dict[str, list[TagError]] = {kind: [] for kind, _ in sorted(count.items(), key=lambda at: (-at[1], at[0]))}
    for error in listed:
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


def _error(words: Sequence[str], place: Callable[[int], str], gold: Span | None, predicted: Span | None) -> TagError:
    there = [span for span in (gold, predicted) if span is not None]
    begin, end = min(span[0] for span in there), max(span[1] for span in there)
    moved = len(there) == 2 and there[0][:2] != there[1][:2]
    labels = ["O" if span is None else span[2] for span in (gold, predicted)]
    marked = [*words[:begin], f"[{' '.join(words[begin:end])}]", *words[end:]]
    texts = [None if span is None else f"{span[2]}: {' '.join(words[span[0] : span[1]])}" for span in (gold, predicted)]
    return TagError(
        kind=" > ".join(labels) + (" ~" if moved else ""),
        place=place(begin),
        begin=begin,
        end=end,
        gold=texts[0],
        predicted=texts[1],
        sentence=" ".join(marked),
    )


def _place(sequence: Any, number: int) -> Callable[[int], str]:
    """How tokens of a sequence are found: by the line of a file, or by number."""
    source, line = (sequence.source, sequence.line) if isinstance(sequence, Sentence) else (None, None)
    if source is None or line is None:
        return lambda t: f"{number}:{t + 1}"
    return lambda t: f"{source}:{line + t}"


def _word(token: Any) -> str:
    """What a token is called: itself, its first column, its first attribute."""
    if isinstance(token, dict):
        token = list(token.values())
    while isinstance(token, list | tuple) and token:
        token = token[0]
    return str(token)
