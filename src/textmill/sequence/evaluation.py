"""How good a tagger is: token and sequence error, figures per label, chunks as conlleval counts them.

    token error      share of tokens with a wrong label
    sequence error   share of sequences with at least one wrong label
    chunks           labeled spans (IOB and its relatives, corpus/iob.py); one is right when first token, last token
                     and label all are; precision, recall and F1 over all chunks and per label

Counts are kept for each sequence, so figures have bootstrap intervals and two systems can be compared. For joint labels
(`AE1`: phoneme and stress) the same is counted again after `project`. Labels that training never saw are labels like
any other here: everything is counted on strings.

Cost: one pass over the tokens. Reference: Tjong Kim Sang & Buchholz (2000), whose conlleval the report follows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill.corpus import Sentence, convert_tags, guess_scheme, spans_of
from textmill.errors import DataError
from textmill.metrics import (
    Confusion,
    Difference,
    Interval,
    LabelCounts,
    bootstrap_interval,
    randomization_test,
    signature,
)
from textmill.model import RandomState, check_choice, seed_of
from textmill.tables import Column, Table

__all__ = [
    "FIGURES",
    "TagScores",
    "are_chunks",
    "check_predicted",
    "evaluate_columns",
    "evaluate_tags",
    "figure_of",
    "gold_and_predicted",
    "in_gold_scheme",
]

FIGURES = ("f1", "precision", "recall", "token_error", "sequence_error")

_SCORED = re.compile(r"# \d+ [-+.e\d]+ [-+.e\d]+")  # what `label_sentences` writes above a labeling with scores
_CORRECT, _TOKENS, _RIGHT, _SEQUENCES, _HITS, _FOUND, _PHRASES = range(7)
_RATIOS = {
    "precision": lambda sums: (sums[..., _HITS], sums[..., _FOUND]),
    "recall": lambda sums: (sums[..., _HITS], sums[..., _PHRASES]),
    "f1": lambda sums: (2 * sums[..., _HITS], sums[..., _FOUND] + sums[..., _PHRASES]),
    "token_error": lambda sums: (sums[..., _TOKENS] - sums[..., _CORRECT], sums[..., _TOKENS]),
    "sequence_error": lambda sums: (sums[..., _SEQUENCES] - sums[..., _RIGHT], sums[..., _SEQUENCES]),
}


@dataclass(frozen=True, slots=True, repr=False)
class TagScores(Table):
    """Counts of a tagger's answers; they add.

    Attributes: counts (sequences, 7), of tokens right, tokens, sequences right, sequences, chunks right, found and
    gold; confusion, gold label x assigned label; chunks, counts for every label of chunks, None where labels are no
    chunks.

    >>> scores = evaluate_tags([["B-NP", "I-NP", "O"], ["B-VP"]], [["B-NP", "O", "O"], ["B-VP"]])
    >>> scores.token_error, scores.sequence_error, scores.f1
    (0.25, 0.5, 0.5)
    >>> (scores + scores).f1
    0.5
    """

    counts: NDArray[np.int64]
    confusion: Confusion
    chunks: LabelCounts | None

    def __add__(self, other: TagScores) -> TagScores:
        both = None if self.chunks is None or other.chunks is None else self.chunks + other.chunks
        return TagScores(np.concatenate([self.counts, other.counts]), self.confusion + other.confusion, both)

    def columns(self) -> dict[str, Column]:
        """Return the figures of every label: of chunks, or of tokens where labels are no chunks."""
        return (self.confusion.per_label() if self.chunks is None else self.chunks).columns()

    def note(self) -> str:
        """Return the figures of all labels together."""
        names = FIGURES if self.chunks is not None else FIGURES[3:]
        return ", ".join(f"{name.replace('_', ' ')} {self.figure(name):.4f}" for name in names)

    @property
    def token_error(self) -> float:
        """Share of tokens with a wrong label."""
        return self.figure("token_error")

    @property
    def sequence_error(self) -> float:
        """Share of sequences with a wrong label."""
        return self.figure("sequence_error")

    @property
    def precision(self) -> float:
        """Share of the chunks found that are right."""
        return self.figure("precision")

    @property
    def recall(self) -> float:
        """Share of the gold chunks that were found."""
        return self.figure("recall")

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall of chunks."""
        return self.figure("f1")

    def figure(self, name: str) -> float:
        """One of FIGURES; 0 where nothing was found or there was nothing to find, as conlleval has it."""
        return float(_figure(self._checked(name), self.counts.sum(axis=0)))

    def interval(
        self, name: str, *, confidence: float = 0.95, resamples: int = 1000, random_state: RandomState = 0
    ) -> Interval:
        """A figure with the interval that resampled sequences give it.

        >>> scores = evaluate_tags([["A"]] * 20, [["A"]] * 15 + [["B"]] * 5)
        >>> interval = scores.interval("token_error")
        >>> interval.estimate, interval.low < 0.25 < interval.high
        (0.25, True)
        """
        checked = self._checked(name)
        return bootstrap_interval(
            self.counts,
            lambda sums: _figure(checked, sums),
            confidence=confidence,
            resamples=resamples,
            random_state=seed_of(random_state, 0),
        )

    def compare(
        self, other: TagScores, name: str, *, resamples: int = 1000, random_state: RandomState = 0
    ) -> Difference:
        """The difference of a figure between two taggers on the same sequences, and its p-value by randomization.

        >>> gold = [["A"]] * 40
        >>> good, bad = evaluate_tags(gold, gold), evaluate_tags(gold, [["B"]] * 40)
        >>> good.compare(bad, "token_error").difference
        -1.0
        """
        checked = self._checked(name)
        if not np.array_equal(self.counts[:, _TOKENS], other.counts[:, _TOKENS]):
            raise DataError("the two taggers did not label the same sequences; compare answers for the same data")
        return randomization_test(
            self.counts,
            other.counts,
            lambda sums: _figure(checked, sums),
            resamples=resamples,
            random_state=seed_of(random_state, 0),
        )

    def report(self) -> str:
        """The report of conlleval, character by character; figures per label where labels are no chunks.

        >>> print(evaluate_tags([["B-NP", "O"]], [["B-NP", "O"]]).report())
        processed 2 tokens with 1 phrases; found: 1 phrases; correct: 1.
        accuracy: 100.00%; precision: 100.00%; recall: 100.00%; FB1: 100.00
                       NP: precision: 100.00%; recall: 100.00%; FB1: 100.00  1
        """
        correct, tokens, right, sequences, hits, claimed, phrases = self.counts.sum(axis=0).tolist()
        if self.chunks is None:
            lines = [
                f"processed {tokens} tokens in {sequences} sequences; correct: {correct} tokens, {right} sequences."
            ]
            lines.append(
                f"accuracy: {100 * (1 - self.token_error):6.2f}%; sequences: {100 * right / max(sequences, 1):6.2f}%"
            )
            table = self.confusion.per_label()
        else:
            lines = [f"processed {tokens} tokens with {phrases} phrases; found: {claimed} phrases; correct: {hits}."]
            figures = "; ".join(
                [f"accuracy: {100 * correct / max(tokens, 1):6.2f}%", _triple(self.precision, self.recall, self.f1)]
            )
            lines.append(figures)
            table = self.chunks
        for label in sorted(map(str, table.labels)):
            counts = table[label]
            triple = _triple(counts.precision(), counts.recall(), counts.f(zero_division=0.0))
            lines.append(f"{label:>17}: {triple}  {int(counts.hits + counts.false_alarms)}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Everything but the counts per sequence, for machines."""
        correct, tokens, right, sequences, hits, claimed, phrases = self.counts.sum(axis=0).tolist()
        out: dict[str, Any] = {
            "tokens": tokens,
            "correct_tokens": correct,
            "token_error": self.token_error,
            "sequences": sequences,
            "correct_sequences": right,
            "sequence_error": self.sequence_error,
            "labels": _per_label(self.confusion.per_label()),
        }
        if self.chunks is not None:
            out |= {"phrases": phrases, "found": claimed, "correct": hits}
            out |= {name: self.figure(name) for name in ("precision", "recall", "f1")}
            out["chunks"] = _per_label(self.chunks)
        out["signature"] = signature("tags", chunks="conlleval" if self.chunks is not None else "none")
        return out

    def _checked(self, name: str) -> str:
        check_choice("figure", name, FIGURES)
        if self.chunks is None and name in ("f1", "precision", "recall"):
            raise DataError(f"{name} is a figure of chunks, but the labels are not tags such as B-NP; use token_error")
        return name


def evaluate_tags(
    gold: Iterable[Sequence[str]],
    predicted: Iterable[Sequence[str]],
    *,
    chunks: bool | None = None,
    project: Callable[[str], str] | None = None,
) -> TagScores:
    """Count what a tagger got right, given the gold labels and its own for the same sequences.

    `chunks` says whether labels are IOB tags (None: if all look so); `project` maps each label before it is compared.

    >>> scores = evaluate_tags([["AE1", "T"]], [["AE0", "T"]], project=lambda label: label[:2])
    >>> scores.token_error
    0.0
    """
    rows: list[tuple[int, ...]] = []
    left, right = [list(map(str, labels)) for labels in gold], [list(map(str, labels)) for labels in predicted]
    if len(left) != len(right):
        raise DataError(f"there are {len(left)} gold sequences but {len(right)} predicted ones; give one for each")
    if project is not None:
        left, right = ([[project(label) for label in labels] for labels in side] for side in (left, right))
    if chunks is None:
        chunks = are_chunks(left, right)
    if chunks:
        right = list(map(list, in_gold_scheme(left, right)))
    hits_of, found_of, gold_of = Counter[str](), Counter[str](), Counter[str]()
    for number, (truth, answer) in enumerate(zip(left, right, strict=True), 1):
        if len(truth) != len(answer):
            raise DataError(f"sequence {number} has {len(truth)} gold labels but {len(answer)} predicted ones")
        correct = sum(map(str.__eq__, truth, answer))
        spans = (set(spans_of(truth, lenient=True)), set(spans_of(answer, lenient=True))) if chunks else (set(), set())
        both = spans[0] & spans[1]
        for counter, members in ((hits_of, both), (gold_of, spans[0]), (found_of, spans[1])):
            counter.update(label for _, _, label in members)
        rows.append((correct, len(truth), int(correct == len(truth)), 1, len(both), len(spans[1]), len(spans[0])))
    flat = list(chain.from_iterable(left)), list(chain.from_iterable(right))
    confusion = Confusion.from_labels(*flat) if flat[0] else Confusion()
    counts = np.array(rows, np.int64).reshape(-1, 7)
    return TagScores(counts, confusion, _label_counts(hits_of, gold_of, found_of) if chunks else None)


def evaluate_columns(
    sentences: Iterable[Sentence], *, chunks: bool | None = None, project: Callable[[str], str] | None = None
) -> TagScores:
    """Count from a column file whose last two columns are the gold and the predicted label.

    >>> sentence = Sentence((("the", "dog"), ("B-NP", "I-NP"), ("B-NP", "I-NP")))
    >>> evaluate_columns([sentence]).f1
    1.0
    """
    gold, predicted = gold_and_predicted(sentences)
    return evaluate_tags(gold, predicted, chunks=chunks, project=project)


def gold_and_predicted(sentences: Iterable[Sentence]) -> tuple[list[Sequence[str]], list[Sequence[str]]]:
    """The last two columns of sentences.

    >>> gold_and_predicted([Sentence((("the", "dog"), ("D", "N"), ("D", "V")))])
    ([('D', 'N')], [('D', 'V')])
    """
    gold: list[Sequence[str]] = []
    predicted: list[Sequence[str]] = []
    for sentence in sentences:
        if len(sentence.columns) < 2:
            fault = "found one column; the last two must be the gold and the predicted label"
            raise DataError(fault, source=sentence.source, line=sentence.line)
        if not gold and _SCORED.fullmatch(" ".join(column[0] for column in sentence.columns)):
            fault = "found a line of scores; label without scores and n best to evaluate"
            raise DataError(fault, source=sentence.source, line=sentence.line)
        gold.append(sentence.column(-2))
        predicted.append(sentence.column(-1))
    if not gold:
        raise DataError("there are no sequences to evaluate; the file is empty")
    return gold, predicted


def check_predicted(sentences: Iterable[Sentence], source: str) -> None:
    """Raise an error if the last two columns hold no label in common: they are not gold and predicted labels then.

    >>> check_predicted([Sentence((("the", "dog"), ("D", "N"), ("B-NP", "I-NP")))], "a.txt")
    Traceback (most recent call last):
    textmill.errors.DataError: a.txt: the last two columns have no label in common, so they are not right and \
predicted labels; label the file first
    """
    gold, predicted = gold_and_predicted(sentences)
    cut = 2 if are_chunks(gold, predicted) else 0  # letters of schemes may differ
    left, right = ({label[cut:] for labels in side for label in labels} for side in (gold, predicted))
    if left.isdisjoint(right):
        fault = "the last two columns have no label in common, so they are not right and predicted labels"
        raise DataError(f"{fault}; label the file first", source=source)


def are_chunks(*labelings: Iterable[Sequence[str]]) -> bool:
    """Whether all labels look like IOB tags, and not all are O.

    >>> are_chunks([["B-NP", "O"]], [["I-NP", "O"]]), are_chunks([["NN", "O"]])
    (True, False)
    """
    tags = {label for labels in labelings for sequence in labels for label in sequence}
    return bool(tags - {"O"}) and all(tag == "O" or tag[:2] in ("B-", "I-", "E-", "S-", "L-", "U-") for tag in tags)


def in_gold_scheme(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """The predicted tags in the scheme of the gold tags, if each side fits one scheme as a whole.

    Tokens can then be compared by their tags. Tags that fit no scheme stay as they are, as conlleval compares them.

    >>> in_gold_scheme([["I-PER", "O"], ["I-LOC", "B-LOC"]], [["B-PER", "O"], ["B-LOC", "I-LOC"]])
    [['I-PER', 'O'], ['I-LOC', 'I-LOC']]
    """
    try:
        scheme, other = guess_scheme(gold), guess_scheme(predicted)
    except DataError:
        return list(predicted)
    if scheme == other or all(convert_tags(tags, other, scheme) == list(tags) for tags in predicted):
        return list(predicted)
    return [convert_tags(tags, other, scheme) for tags in predicted]


def figure_of(name: str) -> Callable[[NDArray[Any]], NDArray[np.float64]]:
    """One of FIGURES as a function of summed counts, for tests that resample sequences.

    >>> float(figure_of("token_error")(np.array([3, 4, 0, 1, 0, 0, 0])))
    0.25
    """
    return lambda sums: _figure(name, sums)


def _figure(name: str, sums: NDArray[Any]) -> NDArray[np.float64]:
    above, below = _RATIOS[name](np.asarray(sums, np.float64))
    figure: NDArray[np.float64] = np.divide(above, below, out=np.zeros_like(below), where=below > 0)
    return figure


def _triple(precision: float, recall: float, f1: float) -> str:
    return f"precision: {100 * precision:6.2f}%; recall: {100 * recall:6.2f}%; FB1: {100 * f1:6.2f}"


def _label_counts(hits: Counter[str], gold: Counter[str], predicted: Counter[str]) -> LabelCounts:
    labels = sorted(gold.keys() | predicted.keys())
    right, there, claimed = (np.array([counter[k] for k in labels], np.int64) for counter in (hits, gold, predicted))
    items = sum(gold.values()) + sum(predicted.values()) - sum(hits.values())
    return LabelCounts(tuple(labels), right, there, claimed, items)


def _per_label(table: LabelCounts) -> dict[str, dict[str, float]]:
    out = {}
    for label in table.labels:
        counts = table[label]
        out[str(label)] = {
            "precision": counts.precision(),
            "recall": counts.recall(),
            "f1": counts.f(zero_division=0.0),
            "gold": int(counts.hits + counts.misses),
            "predicted": int(counts.hits + counts.false_alarms),
        }
    return out
