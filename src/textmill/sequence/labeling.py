"""Labeling files: what a tagger says of each token, written beside it.

    the DT TAB B-NP                    the label behind the columns of the token, a blank line after each sequence
    # 1 12.25 0.87                     with scores: rank, score and probability of the labelling that follows
    the DT TAB B-NP/0.99               and the probability of each label at its token

The layout is that of Wapiti, so tools that read its output go on working. Sequences are labelled some thousand at a
time, so a file of any length takes little memory. Tokens with one column more than the tagger was trained on have the
gold label there; it stays where it is, and with `constrain` it is taken as known where it is a label of the tagger.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from textmill.corpus import Sentence, read_columns
from textmill.corpus.streams import Source
from textmill.errors import DataError
from textmill.model import check_choice, check_range
from textmill.progress import track
from textmill.sequence.attributes import AttributeSequence, read_attributes
from textmill.sequence.chainmodel import ChainModel
from textmill.sequence.datasets import DATA_FORMATS, read_rows

__all__ = ["Answers", "label_file", "label_sentences"]

BATCH = 2000  # sequences labelled together

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answers:
    """What is written of each sequence: k labellings, with scores, the most probable labels instead of the best.

    With `constrain`, labels of the input that the tagger has are kept, and others leave the token free.

    >>> Answers(posterior=True, k=2)
    Traceback (most recent call last):
    textmill.errors.DataError: posterior decoding has one answer; ask for k=1 or for Viterbi's k best
    """

    k: int = 1
    scores: bool = False
    posterior: bool = False
    constrain: bool = False

    def __post_init__(self) -> None:
        check_range("k", self.k, at_least=1, whole=True)
        if self.posterior and self.k > 1:
            raise DataError("posterior decoding has one answer; ask for k=1 or for Viterbi's k best")


USUAL = Answers()


class _Input(NamedTuple):
    """A sequence of a file: what the tagger sees, what is written again, the labels in the input."""

    tokens: Any
    rows: Sequence[str]
    labels: Sequence[str]


def label_file(
    model: ChainModel,
    source: Source,
    answers: Answers = USUAL,
    *,
    format: str = "columns",  # noqa: A002
) -> Iterator[str]:
    """The text of every labelled sequence of a file, with its blank line; formats are those of `read_labeled`.

    In files of CRFsuite (`crfsuite`) the label of the file comes first, then the tagger's.

    >>> import io
    >>> from textmill.sequence import CRF
    >>> tagger = CRF(patterns=["u:%x[0,0]"], l1=0.1).fit([[("a",), ("b",)]] * 3, [["A", "B"]] * 3)
    >>> "".join(label_file(tagger, io.BytesIO(b"b\\na\\n")))
    'b\\tB\\na\\tA\\n\\n'
    """
    check_choice("format", format, DATA_FORMATS)
    if format == "columns":
        return label_sentences(model, track(read_columns(source), "labeling", unit="sequences"), answers)
    if format == "crfsuite":
        return _label(model, read_attributes(source), _attributes, answers)
    return _label(model, read_rows(source), _tests, answers)


def label_sentences(model: ChainModel, sentences: Iterable[Sentence], answers: Answers = USUAL) -> Iterator[str]:
    """The text of every labelled sentence, with its blank line.

    >>> from textmill.sequence import CRF
    >>> tagger = CRF(patterns=["u:%x[0,0]"], l1=0.1).fit([[("a",), ("b",)]] * 3, [["A", "B"]] * 3)
    >>> [text.splitlines() for text in label_sentences(tagger, [Sentence((("b", "a"),))])]
    [['b\\tB', 'a\\tA', '']]
    """
    return _label(model, sentences, _columns, answers)


def _label(
    model: ChainModel, sequences: Iterable[T], read: Callable[[ChainModel, T, bool], _Input], answers: Answers
) -> Iterator[str]:
    """Texts of all sequences, some at a time."""
    classes = set(model.classes_.tolist())
    for batch in _batches(sequences, answers.k):
        inputs = [read(model, sequence, answers.constrain) for sequence in batch]
        constraints = None
        if answers.constrain:
            constraints = [[label if label in classes else None for label in item.labels] for item in inputs]
        yield from _texts(model, inputs, constraints, answers)


def _columns(model: ChainModel, sentence: Sentence, constrain: bool) -> _Input:
    width = model.encoder_.width_
    has_labels = constrain or (width and len(sentence.columns) == width + 1)
    if constrain and len(sentence.columns) < 2:
        fault = "found one column; with constraints the last must hold the known labels"
        raise DataError(fault, source=sentence.source, line=sentence.line)
    columns = sentence.columns[:-1] if has_labels else sentence.columns
    tokens: Any = Sentence(columns, source=sentence.source, line=sentence.line)
    if not model.encoder_.patterns_:
        tokens = list(map(list, tokens))
    return _Input(tokens, [" ".join(row) for row in sentence], sentence.column(-1))


def _attributes(model: ChainModel, sequence: AttributeSequence, constrain: bool) -> _Input:
    return _Input(sequence.tokens, sequence.labels, sequence.labels)


def _tests(model: ChainModel, rows: list[list[str]], constrain: bool) -> _Input:
    """Columns are tests themselves, as many as a token has; with constraints the last is the label."""
    tokens = [row[:-1] if constrain else row for row in rows]
    return _Input(tokens, [" ".join(row) for row in rows], [row[-1] for row in rows])


def _texts(
    model: ChainModel, inputs: list[_Input], constraints: list[list[str | None]] | None, answers: Answers
) -> Iterator[str]:
    X = [item.tokens for item in inputs]
    lists: list[list[tuple[list[str], float, float]]]
    if answers.k > 1 or (answers.scores and not answers.posterior):
        lists = model.predict_best(X, answers.k, constraints=constraints)
    else:
        plain = model.predict(X, posterior=answers.posterior, constraints=constraints)
        lists = [[(labels, 0.0, 0.0)] for labels in plain]
    marginals = model.predict_marginals(X, constraints=constraints) if answers.scores else None
    number = {label: i for i, label in enumerate(model.classes_.tolist())}
    for s, (item, hypotheses) in enumerate(zip(inputs, lists, strict=True)):
        for rank, (labels, score, probability) in enumerate(hypotheses, 1):
            fields: Sequence[str] = labels
            text = ""
            if marginals is not None:
                chosen = [float(marginals[s][t, number[label]]) for t, label in enumerate(labels)]
                fields = [f"{label}/{value:.6g}" for label, value in zip(labels, chosen, strict=True)]
                if answers.posterior:
                    score = probability = math.prod(chosen)
                text = f"# {rank} {score:.10g} {probability:.6g}\n"
            yield text + "".join(f"{row}\t{field}\n" for row, field in zip(item.rows, fields, strict=True)) + "\n"


def _batches(items: Iterable[T], labellings: int) -> Iterator[list[T]]:
    """Lists of sequences, shorter where each has many labellings."""
    iterator = iter(items)
    while batch := list(islice(iterator, max(1, BATCH // labellings))):
        yield batch
