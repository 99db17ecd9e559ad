"""Labeling files with spans: JSON lines with labeled stretches and their probabilities, or tags beside the tokens.

    {"tokens": ["in", "Mill", "Hill"],
     "spans": [{"begin": 1, "end": 3, "label": "LOC", "text": "Mill Hill", "probability": 0.97}]}

Spans count tokens from 0, `end` is one past the last. A semi-Markov tagger gives the probability of a segment, a
chain tagger that of the tags of the span. With k > 1 a line holds the k best labelings, each with its spans.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from textmill.corpus import Sentence, Span, spans_of, tags_of
from textmill.errors import DataError
from textmill.model import load
from textmill.sequence.chainmodel import ChainModel
from textmill.sequence.labeling import LabelingOptions
from textmill.sequence.semimarkov import SemiMarkovCRF

__all__ = ["label_segments", "label_spans", "read_segment_tagger", "seen_columns"]

BATCH = 2000  # sequences labeled together
_FOREIGN = (b"#mdl#", b"lCRF", b"FILEHEADER = {", b"#")


def read_segment_tagger(path: str | os.PathLike[str]) -> SemiMarkovCRF | None:
    """The semi-Markov tagger in a file; None if there is another kind of tagger in it.

    >>> SemiMarkovCRF(filter=None, max_iter=3).fit([["a", "B"]], [["O", "B-X"]]).save("b.mill")
    >>> read_segment_tagger("b.mill").segment_labels_.tolist()
    ['O', 'X']
    """
    with open(path, "rb") as file:
        head = file.read(1 << 16)
    if head.startswith(_FOREIGN) or b"sequence.SemiMarkovCRF" not in head:
        return None
    model = load(path)
    return model if isinstance(model, SemiMarkovCRF) else None


def label_segments(model: SemiMarkovCRF, sentences: Iterable[Sentence], options: LabelingOptions) -> Iterator[str]:
    """The text of every sentence with the tags of its segments behind the lines, and a blank line.

    >>> tagger = SemiMarkovCRF(filter=None, max_iter=9).fit([["a", "B"]] * 2, [["O", "B-X"]] * 2)
    >>> next(label_segments(tagger, [Sentence((("a", "B"),))], LabelingOptions()))
    'a\\tO\\nB\\tB-X\\n\\n'
    """
    _refuse(options)
    for batch in _batches(sentences):
        X = [seen_columns(sentence, model.width_) for sentence in batch]
        if options.k > 1 or options.scores:
            answers = model.predict_best(X, max(options.k, 2))
        else:
            plain = model.predict_segments(X, maximize=options.maximize or "segments")
            answers = [[(spans, 0.0, 0.0)] for spans in plain]
        for sentence, some in zip(batch, answers, strict=True):
            lines = [_opened(line) for line in sentence.lines] or ["\t".join(row) + "\t" for row in sentence]
            for rank, (spans, score, probability) in enumerate(some[: options.k], 1):
                head = f"{sentence.document}\n\n" if sentence.document and rank == 1 else ""
                head += f"# {rank} {score:.10g} {probability:.6g}\n" if options.scores else ""
                tags = tags_of(spans, len(lines))
                yield head + "".join(f"{line}{tag}\n" for line, tag in zip(lines, tags, strict=True)) + "\n"


def label_spans(
    model: SemiMarkovCRF | ChainModel, sentences: Iterable[Sentence], options: LabelingOptions
) -> Iterator[str]:
    """A line of JSON for every sentence: its tokens and its spans with their probabilities.

    >>> tagger = SemiMarkovCRF(filter=None, max_iter=9).fit([["a", "B"]] * 2, [["O", "B-X"]] * 2)
    >>> line = next(label_spans(tagger, [Sentence((("a", "B"),))], LabelingOptions()))
    >>> [span["text"] for span in json.loads(line)["spans"]]
    ['B']
    """
    if isinstance(model, SemiMarkovCRF):
        _refuse(options)
    width = model.width_ if isinstance(model, SemiMarkovCRF) else model.encoder_.width_
    for batch in _batches(sentences):
        X = [seen_columns(sentence, width) for sentence in batch]
        for sentence, answers in zip(batch, _answers(model, X, options), strict=True):
            words = list(sentence.columns[0])
            shown = []
            for spans, chances, probability in answers:
                rows = [_span(words, span, chance) for span, chance in zip(spans, chances, strict=True)]
                shown.append({"spans": rows} | ({} if probability is None else {"probability": round(probability, 6)}))
            line = {"tokens": words, **(shown[0] if options.k == 1 else {"labelings": shown})}
            yield json.dumps(line, ensure_ascii=False) + "\n"


def _answers(
    model: Any, X: list[Any], options: LabelingOptions
) -> list[list[tuple[list[Span], list[float], float | None]]]:
    """For every sequence its labelings: spans, their probabilities, and that of the whole if several are asked for."""
    if isinstance(model, SemiMarkovCRF):
        if options.k > 1:
            best: list[list[tuple[list[Span], float | None]]] = [
                [(spans, probability) for spans, _, probability in some] for some in model.predict_best(X, options.k)
            ]
        else:
            best = [[(spans, None)] for spans in model.predict_segments(X, maximize=options.maximize or "segments")]
        chances = [
            model.span_confidence(X, [some[min(r, len(some) - 1)][0] for some in best]) for r in range(options.k)
        ]
        return [
            [(spans, chances[r][s], probability) for r, (spans, probability) in enumerate(some)]
            for s, some in enumerate(best)
        ]
    if options.k > 1:
        tagged = [[(tags, p) for tags, _, p in some] for some in model.predict_best(X, options.k)]
    else:
        tagged = [[(tags, None)] for tags in model.predict(X, posterior=options.posterior, maximize=options.maximize)]
    answers: list[list[tuple[list[Span], list[float], float | None]]] = [[] for _ in X]
    for rank in range(options.k):
        at = [s for s, some in enumerate(tagged) if rank < len(some)]
        labels = [tagged[s][rank][0] for s in at]
        spans = [spans_of(tags, lenient=True) for tags in labels]
        chances = model.span_confidence([X[s] for s in at], labels, [[span[:2] for span in some] for some in spans])
        for i, s in enumerate(at):
            answers[s].append((spans[i], chances[i], tagged[s][rank][1]))
    return answers


def _span(words: list[str], span: Span, probability: float) -> dict[str, Any]:
    begin, end, label = span
    text = " ".join(words[begin:end])
    return {"begin": begin, "end": end, "label": label, "text": text, "probability": round(probability, 6)}


def seen_columns(sentence: Sentence, width: int) -> Sentence:
    """What a tagger of `width` columns sees of a sentence: it without the gold label that stands in one column more.

    >>> seen_columns(Sentence((("a", "b"), ("O", "B-X"))), 1).columns
    (('a', 'b'),)
    """
    columns = sentence.columns[:-1] if width and len(sentence.columns) == width + 1 else sentence.columns
    return Sentence(columns, source=sentence.source, line=sentence.line)


def _opened(line: str) -> str:
    if line.endswith((" ", "\t")):
        return line
    return line + (" " if " " in line and "\t" not in line else "\t")


def _refuse(options: LabelingOptions) -> None:
    if options.posterior or options.constrain:
        raise DataError("segments have no posterior tags and no constraints; leave out --posterior and --constrain")


def _batches(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    iterator = iter(sentences)
    while batch := list(islice(iterator, BATCH)):
        yield batch
