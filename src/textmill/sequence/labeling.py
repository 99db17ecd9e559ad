"""Labeling files: what a tagger says of each token, written beside it.

    the DT TAB B-NP                    the label behind the columns of the token, a blank line after each sequence
    # 1 12.25 0.87                     with scores: rank, score and probability of the labelling that follows
    the DT TAB B-NP/0.99               and the probability of each label at its token

The layout is that of Wapiti, so tools that read its output go on working. Sequences are labelled some thousand at a
time, so a file of any length takes little memory. Tokens with one column more than the tagger was trained on have the
gold label there; it stays where it is, and with `constrain` it is taken as known where it is a label of the tagger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from textmill.corpus import Sentence
from textmill.corpus.streams import Source
from textmill.errors import DataError
from textmill.model import check_range
from textmill.sequence.attributes import read_attributes
from textmill.sequence.chainmodel import ChainModel
from textmill.sequence.datasets import read_rows

__all__ = ["label_attributes", "label_sentences", "label_tests"]

BATCH = 2000  # sequences labelled together

T = TypeVar("T")


def label_sentences(
    model: ChainModel,
    sentences: Iterable[Sentence],
    *,
    k: int = 1,
    scores: bool = False,
    posterior: bool = False,
    constrain: bool = False,
) -> Iterator[str]:
    """The text of every labelled sentence, with its blank line.

    >>> from textmill.sequence import CRF
    >>> tagger = CRF(patterns=["u:%x[0,0]"], l1=0.1).fit([[("a",), ("b",)]] * 3, [["A", "B"]] * 3)
    >>> [text.splitlines() for text in label_sentences(tagger, [Sentence((("b", "a"),))])]
    [['b\\tB', 'a\\tA', '']]
    """
    _check(k, posterior)
    for batch in _batches(sentences, k):
        split = [_split(model, sentence, constrain) for sentence in batch]
        X = [tokens for tokens, _ in split]
        known = [labels for _, labels in split] if constrain else None
        shown = [[" ".join(row) for row in sentence] for sentence in batch]
        yield from _texts(model, X, shown, known, k, scores, posterior)


def label_attributes(
    model: ChainModel,
    source: Source,
    *,
    k: int = 1,
    scores: bool = False,
    posterior: bool = False,
    constrain: bool = False,
) -> Iterator[str]:
    """The same for a file of CRFsuite: its label, then the tagger's."""
    _check(k, posterior)
    for batch in _batches(read_attributes(source), k):
        X = [sequence.tokens for sequence in batch]
        known = [_known(model, sequence.labels) for sequence in batch] if constrain else None
        yield from _texts(model, X, [sequence.labels for sequence in batch], known, k, scores, posterior)


def label_tests(
    model: ChainModel,
    source: Source,
    *,
    k: int = 1,
    scores: bool = False,
    posterior: bool = False,
    constrain: bool = False,
) -> Iterator[str]:
    """The same for a file whose columns are tests themselves, as many as a token has; see `read_rows`."""
    _check(k, posterior)
    for batch in _batches(read_rows(source), k):
        X = [[row[:-1] if constrain else row for row in rows] for rows in batch]
        known = [_known(model, [row[-1] for row in rows]) for rows in batch] if constrain else None
        yield from _texts(model, X, [[" ".join(row) for row in rows] for rows in batch], known, k, scores, posterior)


def _check(k: int, posterior: bool) -> None:
    check_range("k", k, at_least=1, whole=True)
    if posterior and k > 1:
        raise DataError("posterior decoding has one answer; ask for k=1 or for Viterbi's k best")


def _texts(
    model: ChainModel,
    X: list[Any],
    shown: list[list[str]],
    known: list[list[str | None]] | None,
    k: int,
    scores: bool,
    posterior: bool,
) -> Iterator[str]:
    answers: list[list[tuple[list[str], float, float]]]
    if k > 1 or (scores and not posterior):
        answers = model.predict_best(X, k, constraints=known)
    else:
        plain = model.predict(X, posterior=posterior, constraints=known)
        answers = [[(labels, 0.0, 0.0)] for labels in plain]
    marginals = model.predict_marginals(X, constraints=known) if scores else None
    number = {label: i for i, label in enumerate(model.classes_.tolist())}
    for s, (rows, hypotheses) in enumerate(zip(shown, answers, strict=True)):
        for rank, (labels, score, probability) in enumerate(hypotheses, 1):
            fields: Sequence[str] = labels
            text = ""
            if marginals is not None:
                chosen = [float(marginals[s][t, number[label]]) for t, label in enumerate(labels)]
                fields = [f"{label}/{value:.6g}" for label, value in zip(labels, chosen, strict=True)]
                if posterior:
                    score = probability = _product(chosen)
                text = f"# {rank} {score:.10g} {probability:.6g}\n"
            yield text + "".join(f"{row}\t{field}\n" for row, field in zip(rows, fields, strict=True)) + "\n"


def _product(values: list[float]) -> float:
    product = 1.0
    for value in values:
        product *= value
    return product


def _batches(items: Iterable[T], labellings: int) -> Iterator[list[T]]:
    """Lists of sequences, shorter where each has many labellings."""
    iterator = iter(items)
    while batch := list(islice(iterator, max(1, BATCH // labellings))):
        yield batch


def _split(model: ChainModel, sentence: Sentence, constrain: bool) -> tuple[Any, list[str | None]]:
    """What the tagger sees of a sentence, and the labels that are known."""
    width = model.encoder_.width_
    has_labels = constrain or (width and len(sentence.columns) == width + 1)
    if constrain and len(sentence.columns) < 2:
        fault = "found one column; with constraints the last must hold the known labels"
        raise DataError(fault, source=sentence.source, line=sentence.line)
    columns = sentence.columns[:-1] if has_labels else sentence.columns
    tokens: Any = Sentence(columns, source=sentence.source, line=sentence.line)
    if not model.encoder_.patterns_:
        tokens = list(map(list, tokens))
    return tokens, _known(model, sentence.column(-1)) if constrain else []


def _known(model: ChainModel, labels: Sequence[str]) -> list[str | None]:
    """Labels that the tagger knows; the others are free."""
    classes = set(model.classes_.tolist())
    return [label if label in classes else None for label in labels]
