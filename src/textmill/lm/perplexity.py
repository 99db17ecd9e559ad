"""How well a model predicts documents: perplexities as SRILM reports them, unknown words, hits by order.

    ppl     10^(-log10 p / (words - unknown - impossible + sentences))    ends of sentences count as words
    ppl1    10^(-log10 p / (words - unknown - impossible))                they do not
    hits    how many words (and ends) were found as n-grams of each length

log10 p is the sum over all words but unknown ones, and those that are known but cannot be: some ARPA files give words
-99, which stands for 0. SRILM calls them zeroprobs. Counts add, figures do not: a report holds counts by document, and
every figure is of their sum. `open_vocabulary` counts unknown words like others, with the probability of <unk>. Cost: a
second look-up for each word. Reference: Stolcke (2002), SRILM, ngram -ppl -debug 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.lm.counting import UNKNOWN
from textmill.lm.ngram import NGramModel
from textmill.model import check_fitted, effective_jobs
from textmill.report import Report
from textmill.tables import Table

__all__ = ["PerplexityReport", "perplexity_report"]

_NEVER = -99.0  # log10 of 0 in ARPA files
_SHOWN = 500  # documents in a table of the page


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PerplexityReport(Table):
    """What a model makes of documents, one entry each.

    Attributes:
        names: What the documents are called.
        sentences: Numbers of sentences.
        words: Numbers of words, ends of sentences not among them.
        unknown: How many of the words are not in the model.
        impossible: How many words and ends have probability 0, which a model from a file may give, known as they are.
        log_probability: Log10 of the probability of all words and ends but unknown and impossible ones.
        unknown_log_probability: What unknown words would add to it.
        hits: Words and ends by the length of the n-gram that was found, (documents, order), without unknown words.
        open_vocabulary: Whether unknown words count in the perplexities.
    """

    names: tuple[str, ...]
    sentences: Ints
    words: Ints
    unknown: Ints
    impossible: Ints
    log_probability: Floats
    unknown_log_probability: Floats
    hits: NDArray[np.int64]
    open_vocabulary: bool

    def columns(self) -> dict[str, Any]:
        """Return counts and perplexities of each document."""
        return {
            "document": list(self.names),
            "sentences": self.sentences,
            "words": self.words,
            "unknown": self.unknown,
            "log10": self._log_probability(),
            "ppl": self.ppl_by_document(),
            "ppl1": self.ppl1_by_document(),
        }

    def note(self) -> str | None:
        """Return the perplexities of all documents."""
        return f"ppl {self.ppl:.2f}, ppl1 {self.ppl1:.2f}" if self.words.sum() else None

    def _log_probability(self) -> Floats:
        return self.log_probability + self.open_vocabulary * self.unknown_log_probability

    def _events(self, ends: bool) -> Ints:
        return self.words - (not self.open_vocabulary) * self.unknown - self.impossible + ends * self.sentences

    def ppl_by_document(self) -> Floats:
        """Perplexity of each document, ends of sentences included; NaN where nothing counts."""
        return _perplexity(self._log_probability(), self._events(True))

    def ppl1_by_document(self) -> Floats:
        """Perplexity of each document, the number of ends left out of the mean; NaN where nothing counts."""
        return _perplexity(self._log_probability(), self._events(False))

    @property
    def ppl(self) -> float:
        """Perplexity of all documents, ends of sentences included."""
        return float(_perplexity(self._log_probability().sum(keepdims=True), self._events(True).sum(keepdims=True))[0])

    @property
    def ppl1(self) -> float:
        """Perplexity of all documents, the number of ends left out of the mean."""
        return float(_perplexity(self._log_probability().sum(keepdims=True), self._events(False).sum(keepdims=True))[0])

    def lines(self) -> list[str]:
        """The report in the words of SRILM, and the hits by order."""
        words, unknown, impossible = (int(x.sum()) for x in (self.words, self.unknown, self.impossible))
        total = self._log_probability().sum()
        hits = self.hits.sum(axis=0)
        shares = ", ".join(
            f"{n}-grams {h} ({h / max(1, hits.sum()):.1%})" for n, h in enumerate(hits.tolist(), start=1)
        )
        return [
            f"{len(self.names)} documents, {int(self.sentences.sum())} sentences, {words} words, {unknown} OOVs",
            f"{impossible} zeroprobs, logprob= {total:.4f} ppl= {self.ppl:.4f} ppl1= {self.ppl1:.4f}",
            f"found as {shares}",
        ]

    def report(self, title: str = "Perplexity") -> Report:
        """Return a page with pictures: hits by order, perplexities of documents, the documents that surprise most.

        >>> model = NGramModel(order=2).fit(["to be", "to do"])
        >>> "ppl1" in perplexity_report(model, {"one": ["to be"]}).report().render()
        True
        """
        from textmill import plot

        report = Report(title, subtitle=f"{len(self.names)} documents")
        words, unknown, ends = (int(counts.sum()) for counts in (self.words, self.unknown, self.sentences))
        report.facts(
            [
                (f"{self.ppl:.2f}", "ppl, ends of sentences included"),
                (f"{self.ppl1:.2f}", "ppl1, ends left out of the mean"),
                (f"{words:,}", "words"),
                (f"{ends:,}", "sentences"),
                (f"{unknown / max(1, words):.2%}", "unknown words"),
            ]
        )
        how = "count like others" if self.open_vocabulary else "are left out"
        report.text(f"Unknown words {how}. Both perplexities are 10 to the power of minus the mean log10 probability.")
        report.heading("How long the n-grams are that were found")
        orders = [f"{n}" for n in range(1, self.hits.shape[1] + 1)]
        report.figure(
            plot.bars(orders, {"words": self.hits.sum(axis=0)}, x_label="words and ends, by the length of the n-gram"),
            caption="Words by the length of the longest n-gram that the model has for them.",
        )
        ppl = self.ppl_by_document()
        finite = np.isfinite(ppl) & (ppl > 0)
        if finite.sum() > 1:
            report.heading("Perplexity of documents")
            report.figure(
                plot.histogram({"documents": np.log10(ppl[finite])}, x_label="log10 ppl", y_label="documents"),
                caption="How the perplexities of documents are spread.",
            )
            rate = self.unknown[finite] / np.maximum(1, self.words[finite])
            report.figure(
                plot.scatter(
                    {"documents": (rate, ppl[finite])}, x_label="share of unknown words", y_label="ppl", y_scale="log"
                ),
                caption="Documents by their unknown words and their perplexity.",
            )
        report.heading("Documents")
        ranked = np.argsort(-np.nan_to_num(ppl, nan=-1.0), kind="stable")[:_SHOWN]
        columns = self.columns()
        rows = [[columns[name][int(i)] for name in columns] for i in ranked]
        report.table(list(columns), rows, caption=f"The {len(rows)} documents that surprise the model most.")
        return report


def perplexity_report(
    model: NGramModel,
    documents: Iterable[Iterable[Any]] | dict[str, Iterable[Any]],
    *,
    names: Sequence[str] | None = None,
    open_vocabulary: bool = False,
) -> PerplexityReport:
    """Score documents, each a list of sentences, and count what was found.

    >>> model = NGramModel(order=2).fit(["to be or not to be", "to do"])
    >>> report = perplexity_report(model, {"one": ["to be", "to see"], "two": ["do not"]})
    >>> report.words.tolist(), report.unknown.tolist(), report.hits.tolist()
    ([4, 2], [1, 0], [[1, 4], [3, 0]])
    """
    check_fitted(model)
    if isinstance(documents, dict):
        names, documents = list(documents), list(documents.values())
    order, threads = len(model.levels_) - 2, effective_jobs(model.n_jobs)
    rows: list[tuple[int, int, int, int, float, float]] = []
    hits: list[NDArray[np.int64]] = []
    for document in documents:
        row = np.zeros(6)
        by_order = np.zeros(order + 1, dtype=np.int64)
        for offsets, ids in model._sequences(document):
            scores, lengths = model.table().score(offsets, ids, with_end=True, orders=True, threads=threads)
            unknown = np.zeros(len(scores), dtype=bool)
            is_word = np.ones(len(scores), dtype=bool)
            is_word[offsets[1:] + np.arange(len(offsets) - 1)] = False
            unknown[is_word] = ids <= UNKNOWN
            impossible = ~unknown & (scores <= _NEVER)
            sums = [scores[~(unknown | impossible)].sum(), scores[unknown].sum()]
            row += [len(offsets) - 1, len(ids), unknown.sum(), impossible.sum(), *sums]
            by_order += np.bincount(lengths[~unknown], minlength=order + 1)
        rows.append((int(row[0]), int(row[1]), int(row[2]), int(row[3]), float(row[4]), float(row[5])))
        hits.append(by_order[1:])
    if not any(row[0] for row in rows):
        raise DataError("there is no word to score; pass at least one sentence")
    labels = tuple(str(i) for i in range(len(rows))) if names is None else tuple(names)
    if len(labels) != len(rows):
        raise DataError(f"there are {len(rows)} documents but {len(labels)} names; pass one for each")
    sentences, words, missing, never, total, rest = (np.array(column) for column in zip(*rows, strict=True))
    return PerplexityReport(labels, sentences, words, missing, never, total, rest, np.stack(hits), open_vocabulary)


def _perplexity(log_probability: Floats, events: Ints) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(events > 0, 10.0 ** (-log_probability / np.where(events > 0, events, 1)), np.nan)
