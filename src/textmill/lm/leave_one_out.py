"""Score each document of a corpus by a model of all the others, exactly, without training again.

A model that was trained on a document is not surprised by it. `LeaveOneOut` counts a corpus once and takes the n-grams
of a document, or of a group of documents, out of the counts before it scores them: every number is the one that
training without them gives, for every smoothing and with `min_counts` (native/lm/leave_out.h).

Words that only the documents taken out have are unknown then, as they are in training without them. Where the model has
a vocabulary of its own (`min_count` above 1, or `vocabulary=`), that stays, and a word of it that is taken out entirely
has a count of 0: the same as training with `vocabulary=` all its words.

Cost: O(order) look-ups for each word of a document; Katz and Good-Turing also compare the words after each context with
those after the shorter one. Memory: that of all counts, 28 bytes for each distinct n-gram, and 112 for each context.
Reference: Ney, Martin & Wessel (1997), Statistical language modeling using leaving-one-out.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import corpus as native_corpus
from textmill._native import lm as native
from textmill.arrays import Floats, Ints
from textmill.errors import DataError, NotFittedError
from textmill.lm.counting import BEGIN, END, SPECIAL, UNKNOWN, sequences
from textmill.lm.ngram import NGramModel, SentenceScores
from textmill.model import StringTable, effective_jobs

__all__ = ["LeaveOneOut"]


class LeaveOneOut:
    """Count a corpus once; score documents as if they had not been in it.

    Parameters:
        model: How to count and smooth; it is not fitted.

    Attributes:
        words_: Words by id.
        sentences_: Number of sentences that were counted.

    >>> documents = [["the mill turns", "the mill stands still"], ["a mill turns"], ["the wheel turns"]]
    >>> held_out = LeaveOneOut(NGramModel(order=2, smoothing="witten-bell"))
    >>> held_out = held_out.fit(sentence for document in documents for sentence in document)
    >>> alone = NGramModel(order=2, smoothing="witten-bell").fit([*documents[1], *documents[2]])
    >>> scores = held_out.scores(documents)
    >>> bool(np.allclose(scores[0].log_probability, alone.scores(documents[0]).log_probability, rtol=1e-12))
    True
    """

    def __init__(self, model: NGramModel) -> None:
        self.model = model

    def fit(
        self, sentences: Iterable[Any], *, vocabulary: Iterable[str] | None = None, cluster: Any = None
    ) -> LeaveOneOut:
        """Count the n-grams of all sentences; arguments as in `NGramModel.fit`."""
        rules = self.model.rules()
        words, tree, self.sentences_ = self.model.counted(sentences, vocabulary=vocabulary, cluster=cluster)
        threads = effective_jobs(self.model.n_jobs)
        suffixes = np.empty(len(tree[1]), dtype=np.int32)
        native.suffixes(*tree[:3], suffixes, threads=threads)
        self.words_: StringTable = words
        self._table = native_corpus.TermTable(words.bytes, words.offsets, threads)
        self._counts = native.LeaveOut(
            *tree[:3],
            suffixes,
            tree[3],
            **rules.native,
            unknown=UNKNOWN,
            begin=BEGIN,
            end=END,
            open=vocabulary is None and self.model.min_count == 1,
            fixed=len(SPECIAL),
            threads=threads,
        )
        return self

    def scores(
        self, documents: Sequence[Sequence[Any]], *, groups: Sequence[Hashable] | None = None
    ) -> list[SentenceScores]:
        """Return the scores of each document, a list of sentences, by the model of all others.

        Documents of one group, such as versions of one text, are taken out together.

        >>> documents = [["the mill turns"], ["the mill stands"], ["a wheel turns"]]
        >>> held_out = LeaveOneOut(NGramModel(order=2)).fit(sentence for document in documents for sentence in document)
        >>> [row.unknown.tolist() for row in held_out.scores(documents)]
        [[0], [1], [2]]
        >>> [row.unknown.tolist() for row in held_out.scores(documents, groups=["mill", "mill", "wheel"])]
        [[2], [3], [2]]
        """
        labels: list[Hashable] = list(range(len(documents))) if groups is None else list(groups)
        if len(labels) != len(documents):
            raise DataError(
                f"there are {len(documents)} documents but {len(labels)} groups; pass one for each document"
            )
        members: dict[Hashable, list[int]] = {}
        for number, label in enumerate(labels):
            members.setdefault(label, []).append(number)
        order = [number for numbers in members.values() for number in numbers]
        offsets, ids = self._sequences([sentence for number in order for sentence in documents[number]])
        ends = np.cumsum([0, *(len(documents[number]) for number in order)])
        bounds = ends[np.cumsum([0, *(len(numbers) for numbers in members.values())])]
        borders = np.column_stack([bounds[:-1], bounds[1:], bounds[:-1], bounds[1:]])
        scored, unknown, _ = self._scored((offsets, ids), (offsets, ids), borders)
        parts = [_part(offsets, scored, unknown, begin, end) for begin, end in pairwise(ends.tolist())]
        return [part for _, part in sorted(zip(order, parts, strict=True), key=lambda pair: pair[0])]

    def scores_without(self, removed: Iterable[Any], sentences: Iterable[Any]) -> SentenceScores:
        """Return the scores of some sentences by the model of all but the removed ones.

        >>> held_out = LeaveOneOut(NGramModel(order=2)).fit(["the mill turns", "the mill stands", "a wheel turns"])
        >>> held_out.scores_without(["a wheel turns"], ["the wheel turns"]).unknown.tolist()
        [1]
        >>> held_out.scores_without(["the wheel turns"], ["the wheel turns"])
        Traceback (most recent call last):
        textmill.errors.DataError: removed sentence 0 was never counted, or not so often: see 'the wheel turns'; ...
        """
        out, scored = self._sequences(removed), self._sequences(sentences)
        borders = np.array([[0, len(out[0]) - 1, 0, len(scored[0]) - 1]])
        values, unknown, _ = self._scored(out, scored, borders)
        return _part(scored[0], values, unknown, 0, len(scored[0]) - 1)

    def scores_by_order(self, parts: Sequence[tuple[Sequence[Any], Sequence[Any]]]) -> list[tuple[SentenceScores, ...]]:
        """Return for each part, (sentences to take out, sentences to score), the scores by order 1, 2, ... up to all.

        One pass gives the models of all orders. Each is what training with that order gives, so the smoothing must not
        count continuations, as both kinds of Kneser-Ney do.

        >>> documents = [["the mill turns", "the mill stands"], ["a mill turns"], ["the wheel turns"]]
        >>> held_out = LeaveOneOut(NGramModel(order=2, smoothing="witten-bell"))
        >>> held_out = held_out.fit(sentence for document in documents for sentence in document)
        >>> one, two = held_out.scores_by_order([(documents[0], documents[0])])[0]
        >>> alone = NGramModel(order=1, smoothing="witten-bell").fit([*documents[1], *documents[2]])
        >>> bool(np.allclose(one.log_probability, alone.scores(documents[0]).log_probability, rtol=1e-12))
        True
        """
        if "kneser-ney" in self.model.smoothing:
            raise DataError("scores_by_order needs a smoothing without continuation counts, such as witten-bell")
        removed = self._sequences([sentence for out, _ in parts for sentence in out])
        scored = self._sequences([sentence for _, own in parts for sentence in own])
        ends = [np.cumsum([0, *(len(part[side]) for part in parts)]) for side in (0, 1)]
        borders = np.column_stack([ends[0][:-1], ends[0][1:], ends[1][:-1], ends[1][1:]])
        values, unknown, shorter = self._scored(removed, scored, borders, shorter_models=True)
        orders = [*shorter.reshape(self.model.order - 1, len(values)), values]
        return [
            tuple(_part(scored[0], order, unknown, begin, end) for order in orders)
            for begin, end in pairwise(ends[1].tolist())
        ]

    def _sequences(self, sentences: Iterable[Any]) -> tuple[Ints, NDArray[np.int32]]:
        if not hasattr(self, "words_"):
            raise NotFittedError("this LeaveOneOut is not fitted yet; call fit")
        batches = list(sequences(sentences, self._table, self.model.tokenizer, self.model.n_jobs, grow=False))
        lengths = [np.zeros(1, np.int64), *(np.diff(offsets) for offsets, _ in batches)]
        return np.cumsum(np.concatenate(lengths)), np.concatenate([np.zeros(0, np.int32), *(ids for _, ids in batches)])

    def _scored(
        self,
        removed: tuple[Ints, NDArray[np.int32]],
        scored: tuple[Ints, NDArray[np.int32]],
        borders: Ints,
        *,
        shorter_models: bool = False,
    ) -> tuple[Floats, NDArray[np.bool_], Floats]:
        values, unknown, _, shorter, fault = self._counts.score(
            *removed, *scored, borders, shorter_models=shorter_models, threads=effective_jobs(self.model.n_jobs)
        )
        if fault is not None:
            _, sentence, word, emptied = fault
            if emptied:
                raise DataError("nothing is left when these sentences are taken out; pass fewer of them")
            begin, end = removed[0][sentence : sentence + 2].tolist()
            begin += max(0, word - 1)
            shown = [self.words_[max(int(i), UNKNOWN)] for i in removed[1][begin : min(end, begin + 5)]]
            remedy = "take out only what was counted"
            raise DataError(
                f"removed sentence {sentence} was never counted, or not so often: see '{' '.join(shown)}'; {remedy}"
            )
        return values, unknown.astype(bool), shorter


def _part(offsets: Ints, values: Floats, unknown: NDArray[np.bool_], begin: int, end: int) -> SentenceScores:
    """The scores of sentences `begin` to `end`."""
    inner = offsets[begin : end + 1] - offsets[begin]
    first, last = int(offsets[begin]) + begin, int(offsets[end]) + end
    is_word = np.ones(last - first, dtype=bool)
    is_word[inner[1:] + np.arange(len(inner) - 1)] = False
    return SentenceScores.of(inner, values[first:last], unknown[first:last][is_word])
