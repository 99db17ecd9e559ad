"""Labeling files: what a tagger says of each token, written beside it.

    the DT B-NP                        the label behind the line of the token, a blank line after each sequence
    # 1 12.25 0.87                     with scores: rank, score and probability of the labeling that follows
    the DT B-NP/0.99                   and the probability of each label at its token

Lines that were kept stay as they are; the label is parted from them as their columns are from each other, by a blank or
a tab, by a tab where there is one column. Sentences without lines are written as Wapiti does, with blanks and a tab
before the label. Sequences are labeled some thousand at a time, so a file of any length takes little memory. Tokens
with one column more than the tagger was trained on have the gold label there; it stays where it is, and with
`constrain` it is taken as known where it is a label of the tagger. `repair` is a function from the labels of a sequence
to better ones, such as well-formed tags; scores and probabilities stay those of the tagger's own labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from textmill.corpus import SCHEMES, Sentence, Source, open_lines, repair_tags
from textmill.errors import DataError
from textmill.model import check_choice, check_range
from textmill.readable import counted
from textmill.sequence.attributes import read_attributes
from textmill.sequence.chainmodel import ChainModel

__all__ = [
    "LabelingOptions",
    "TagRepairs",
    "label_attributes",
    "label_sentences",
    "label_tests",
    "repair_lines",
    "split_sentence",
]

BATCH = 2000  # sequences labeled together

T = TypeVar("T")
Repair: TypeAlias = Callable[[list[str]], list[str]]


@dataclass(frozen=True, slots=True)
class LabelingOptions:
    """What is written for each sequence.

    Attributes:
        k: How many labelings, best first.
        scores: Whether to write the score and probability of each labeling and the probability of each label.
        posterior: Whether to choose the most probable label at each token instead of the best whole labeling.
        constrain: Whether the last column holds labels that are known.
        maximize: F to maximize in expectation, such as "f1" or "token-f2" (see `CRF.predict`); None for none.
        search: How a model of hidden states finds its labels (see `LatentCRF.predict`); None as it does by default.

    >>> LabelingOptions(k=3, scores=True)
    LabelingOptions(k=3, scores=True, posterior=False, constrain=False, maximize=None, search=None)
    """

    k: int = 1
    scores: bool = False
    posterior: bool = False
    constrain: bool = False
    maximize: str | None = None
    search: str | None = None

    def __post_init__(self) -> None:
        check_range("k", self.k, at_least=1, whole=True)
        if self.posterior and self.k > 1:
            raise DataError("posterior decoding has one answer; ask for k=1 or for Viterbi's k best")
        if self.maximize is not None and (self.posterior or self.scores or self.k > 1):
            raise DataError("maximize has one answer without scores; leave out k, scores and posterior")


_BEST_LABELS = LabelingOptions()


class TagRepairs:
    """A function that repairs the tags of one sequence after the other, and counts what it changed.

    >>> repairs = TagRepairs("IOB2")
    >>> repairs(["O", "I-PER"]), repairs(["B-PER", "I-PER"])
    (['O', 'B-PER'], ['B-PER', 'I-PER'])
    >>> print(repairs)
    repaired 1 tag in 1 of 2 sequences
    """

    def __init__(self, scheme: str = "IOB2") -> None:
        check_choice("scheme", scheme, SCHEMES)
        self.scheme = scheme
        self.tags, self.sequences, self.seen = 0, 0, 0  # tags and sequences that were changed, sequences in all

    def __call__(self, tags: Sequence[str]) -> list[str]:
        """Return well-formed tags."""
        repaired, changes = repair_tags(tags, self.scheme)
        self.tags += changes
        self.sequences += changes > 0
        self.seen += 1
        return repaired

    def __str__(self) -> str:
        return f"repaired {counted(self.tags, 'tags')} in {self.sequences} of {counted(self.seen, 'sequences')}"


def repair_lines(sentences: Iterable[Sentence], repairs: TagRepairs) -> Iterator[str]:
    """The text of every sentence with its last column repaired, for the rest as it stood in the file.

    >>> sentence = Sentence((("to", "Brno"), ("O", "I-LOC")), lines=("to\\tO", "Brno\\tI-LOC"))
    >>> next(repair_lines([sentence], TagRepairs("IOB2")))
    'to\\tO\\nBrno\\tB-LOC\\n\\n'
    """
    for sentence in sentences:
        tags = sentence.column(-1)
        lines = sentence.lines or [" ".join(row) for row in sentence]
        pairs = zip(lines, tags, repairs(tags), strict=True)
        mark = f"{sentence.document}\n\n" if sentence.document else ""
        yield mark + "".join(line[: line.rindex(tag)] + new + "\n" for line, tag, new in pairs) + "\n"


def label_sentences(
    model: ChainModel,
    sentences: Iterable[Sentence],
    options: LabelingOptions = _BEST_LABELS,
    *,
    repair: Repair | None = None,
) -> Iterator[str]:
    """The text of every labeled sentence, with its blank line.

    >>> from textmill.sequence import CRF
    >>> tagger = CRF(patterns=["u:%x[0,0]"], l1=0.1).fit([[("a",), ("b",)]] * 3, [["A", "B"]] * 3)
    >>> [text.splitlines() for text in label_sentences(tagger, [Sentence((("b", "a"),))])]
    [['b\\tB', 'a\\tA', '']]
    """
    for batch in _batches(sentences, options.k):
        split = [split_sentence(model, sentence, options.constrain) for sentence in batch]
        X = [tokens for tokens, _ in split]
        constraints = [labels for _, labels in split] if options.constrain else None
        shown = [
            _opened(sentence.lines) if sentence.lines else [" ".join(row) + "\t" for row in sentence]
            for sentence in batch
        ]
        marks = [f"{sentence.document}\n\n" if sentence.document else "" for sentence in batch]
        yield from _texts(model, X, shown, constraints, options, repair, marks)


def label_attributes(
    model: ChainModel,
    source: Source,
    options: LabelingOptions = _BEST_LABELS,
    *,
    repair: Repair | None = None,
    encoding: str = "utf-8",
) -> Iterator[str]:
    """The same for a file of CRFsuite: its label, then the tagger's."""
    for batch in _batches(read_attributes(source, encoding=encoding), options.k):
        X = [sequence.tokens for sequence in batch]
        constraints = [_free_unknown(model, sequence.labels) for sequence in batch] if options.constrain else None
        shown = [[f"{label}\t" for label in sequence.labels] for sequence in batch]
        yield from _texts(model, X, shown, constraints, options, repair)


def label_tests(
    model: ChainModel,
    source: Source,
    options: LabelingOptions = _BEST_LABELS,
    *,
    repair: Repair | None = None,
    encoding: str = "utf-8",
) -> Iterator[str]:
    """The same for a file whose columns are tests themselves, as many as a token has; see `read_rows`."""
    for batch in _batches(_blocks(source, encoding), options.k):
        split = [[line.split() for line in lines] for lines in batch]
        X = [[row[:-1] if options.constrain else row for row in rows] for rows in split]
        constraints = [_free_unknown(model, [row[-1] for row in rows]) for rows in split] if options.constrain else None
        shown = [_opened(lines) for lines in batch]
        yield from _texts(model, X, shown, constraints, options, repair)


def _texts(
    model: ChainModel,
    X: list[Any],
    shown: list[list[str]],
    constraints: list[list[str | None]] | None,
    options: LabelingOptions,
    repair: Repair | None,
    marks: Sequence[str] | None = None,
) -> Iterator[str]:
    """The texts of sequences; `marks` stand before them."""
    answers: list[list[tuple[list[str], float, float]]]
    if options.k > 1 or (options.scores and not options.posterior):
        answers = model.predict_best(X, options.k, constraints=constraints)
    else:
        own: dict[str, Any] = {} if options.search is None else {"search": options.search}
        plain = model.predict(X, posterior=options.posterior, constraints=constraints, maximize=options.maximize, **own)
        answers = [[(labels, 0.0, 0.0)] for labels in plain]
    marginals = model.predict_marginals(X, constraints=constraints) if options.scores else None
    number = {label: i for i, label in enumerate(model.classes_.tolist())}
    for s, (rows, hypotheses) in enumerate(zip(shown, answers, strict=True)):
        for rank, (labels, score, probability) in enumerate(hypotheses, 1):
            fields: Sequence[str] = labels if repair is None else repair(labels)
            text = marks[s] if marks is not None and rank == 1 else ""
            if marginals is not None:
                chosen = [float(marginals[s][t, number[label]]) for t, label in enumerate(labels)]
                fields = [f"{label}/{value:.6g}" for label, value in zip(fields, chosen, strict=True)]
                if options.posterior:
                    score = probability = _product(chosen)
                text += f"# {rank} {score:.10g} {probability:.6g}\n"
            yield text + "".join(f"{row}{field}\n" for row, field in zip(rows, fields, strict=True)) + "\n"


def _opened(lines: Sequence[str]) -> list[str]:
    """The lines of a sequence as they are, with what parts a further column from them."""
    text = "\n".join(lines)
    separator = " " if " " in text and "\t" not in text else "\t"
    if " \n" in text or "\t\n" in text or text.endswith((" ", "\t")):
        return [line if line.endswith((" ", "\t")) else line + separator for line in lines]
    return [line + separator for line in lines]


def _blocks(source: Source, encoding: str) -> Iterator[list[str]]:
    """The lines of every sequence of a file."""
    block: list[str] = []
    for _, line in open_lines(source, encoding=encoding):
        if line.strip():
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _product(values: list[float]) -> float:
    product = 1.0
    for value in values:
        product *= value
    return product


def _batches(items: Iterable[T], labelings: int) -> Iterator[list[T]]:
    """Lists of sequences, shorter where each has many labelings."""
    iterator = iter(items)
    while batch := list(islice(iterator, max(1, BATCH // labelings))):
        yield batch


def split_sentence(model: ChainModel, sentence: Sentence, constrain: bool) -> tuple[Any, list[str | None]]:
    """What the tagger sees of a sentence, and the labels that are known.

    >>> from textmill.sequence import CRF
    >>> tagger = CRF(patterns=["u:%x[0,0]"], l1=0.1).fit([[("a",), ("b",)]] * 3, [["A", "B"]] * 3)
    >>> tokens, known = split_sentence(tagger, Sentence((("a",), ("B",))), True)
    >>> list(tokens), known
    ([('a',)], ['B'])
    """
    width = model.encoder_.width_
    has_labels = constrain or (width and len(sentence.columns) == width + 1)
    if constrain and len(sentence.columns) < 2:
        fault = "found one column; with constraints the last must hold the known labels"
        raise DataError(fault, source=sentence.source, line=sentence.line)
    columns = sentence.columns[:-1] if has_labels else sentence.columns
    tokens: Any = Sentence(columns, source=sentence.source, line=sentence.line)
    if not model.encoder_.patterns_:
        tokens = list(map(list, tokens))
    return tokens, _free_unknown(model, sentence.column(-1)) if constrain else []


def _free_unknown(model: ChainModel, labels: Sequence[str]) -> list[str | None]:
    """Labels that the tagger knows; the others are free."""
    classes = set(model.classes_.tolist())
    return [label if label in classes else None for label in labels]
