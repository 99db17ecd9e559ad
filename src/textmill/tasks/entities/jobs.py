"""Files in and out: tagged sentences to learn from, sentences and running text to label.

Column files have one token per line: the word first, the tag last, anything in between; lines that begin with a mark,
`-DOCSTART-` if no other is given, begin documents (corpus/columns.py). Files are labeled some sentences at a time,
whole documents together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from textmill.corpus import Opened, Sentence, Source, read_tagged, sentence_spans
from textmill.errors import DataError
from textmill.sequence import token_spans
from textmill.tasks.entities.recognizer import Entity, EntityRecognizer

__all__ = ["EntityData", "TextEntity", "label_entities", "label_running_text", "read_entities"]

_BATCH = 5_000  # sentences labeled together, and the rest of the last document


class EntityData(NamedTuple):
    """Sentences and their tags."""

    X: list[Sentence]
    y: list[list[str]]


class TextEntity(NamedTuple):
    """A name in running text: `begin` and `end` count characters."""

    begin: int
    end: int
    label: str
    probability: float
    text: str


def read_entities(
    source: Source | Opened,
    *,
    document: str | None = "-DOCSTART-",
    encoding: str = "utf-8",
    label_column: str | None = None,
) -> EntityData:
    """Read a column file whose first column is the word and whose last one is the tag, or words of CoNLL-U.

    `document` is how lines between documents begin. `label_column` names the column of CoNLL-U with the tags.

    >>> import io
    >>> data = read_entities(io.BytesIO(b"Ana NP B-PER\\nduerme V O\\n"))
    >>> data.X[0].column(0), data.y
    (('Ana', 'duerme'), [['B-PER', 'O']])
    """
    X: list[Sentence] = []
    y: list[list[str]] = []
    tagged = read_tagged(source, document=document, encoding=encoding, label_column=label_column, labels=True)
    for sentence in tagged:
        if len(sentence.columns) < 2:
            fault = "found one column; the first must be the word and the last its tag, as in 'Ana B-PER'"
            raise DataError(fault, source=sentence.source, line=sentence.line)
        tags = list(sentence.column(-1))
        for place, tag in enumerate(tags):
            if tag != "O" and (tag[0] not in "BIESLU" or tag[1:2] not in ("", "-")):
                fault = f"{tag!r} is not a tag; the last column must be O, or B-, I- and a label as in 'B-PER'"
                line = None if sentence.line is None else sentence.line + place
                raise DataError(fault, source=sentence.source, line=line)
        X.append(
            Sentence(sentence.columns[:-1], document=sentence.document, source=sentence.source, line=sentence.line)
        )
        y.append(tags)
    if not X:
        raise DataError("there are no sentences; the file is empty", source=str(source))
    return EntityData(X, y)


def label_entities(
    model: EntityRecognizer, sentences: Iterable[Sentence]
) -> Iterator[tuple[Sentence, list[str], list[Entity]]]:
    """Label a stream of sentences, some at a time: each with its tags and names.

    >>> model = EntityRecognizer().fit([["Ana", "ve", "Lima"]] * 5, [["B-PER", "O", "B-LOC"]] * 5)
    >>> [tags for _, tags, _ in label_entities(model, [Sentence((("Ana", "ve"),))])]
    [['B-PER', 'O']]
    """
    batch: list[Sentence] = []
    for sentence in sentences:
        if len(batch) >= _BATCH and (sentence.document is not None or len(batch) >= 2 * _BATCH):
            yield from _labeled(model, batch)
            batch = []
        batch.append(sentence)
    yield from _labeled(model, batch)


def label_running_text(model: EntityRecognizer, text: str) -> list[TextEntity]:
    """Return the names of a text, cut into sentences and words as UAX #29 says.

    >>> model = EntityRecognizer().fit([["Ana", "ve", "Lima"]] * 5, [["B-PER", "O", "B-LOC"]] * 5)
    >>> [(name.begin, name.text, name.label) for name in label_running_text(model, "Ana ve")]
    [(0, 'Ana', 'PER')]
    """
    cuts = []
    for begin, end in sentence_spans(text):
        tokens = [(begin + a, begin + b) for a, b in token_spans(text[begin:end])]
        if tokens:
            cuts.append(tokens)
    names = []
    for tokens, entities in zip(cuts, model.entities([[text[a:b] for a, b in tokens] for tokens in cuts]), strict=True):
        for one in entities:
            begin, end = tokens[one.start][0], tokens[one.end - 1][1]
            names.append(TextEntity(begin, end, one.label, one.probability, text[begin:end]))
    return names


def _labeled(model: EntityRecognizer, batch: list[Sentence]) -> Iterator[tuple[Sentence, list[str], list[Entity]]]:
    for sentence, names in zip(batch, model.entities(batch), strict=True):
        tags = ["O"] * len(sentence)
        for name in names:
            tags[name.start : name.end] = [f"I-{name.label}" if name.label else "I"] * (name.end - name.start)
            tags[name.start] = f"B-{name.label}" if name.label else "B"
        yield sentence, tags, names
