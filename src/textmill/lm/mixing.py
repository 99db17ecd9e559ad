"""Mixtures of language models: each word's probability is a weighted mean.

    p(w | h) = sum_i lambda_i p_i(w | h)
    lambda_i <- mean over the words of development data of lambda_i p_i / sum_j lambda_j p_j          (EM)

The vocabulary is the union of all. A model that lacks some of its words shares the probability of its unknown word
equally among these and the unknown word, so that each distribution still sums to 1.

`Mixture` asks all models for every word. `merged` makes one model of it: the n-grams that any of them has, each with
its mixed probability, and back-off weights with which every context sums to 1; words not seen after a context then come
from the mixed shorter context, so its probabilities differ a little.

Cost: that of all models; EM a few passes over one number for each word and model. References: Jelinek & Mercer (1980),
Interpolated estimation of Markov source parameters from sparse data; Stolcke (2002), SRILM, ngram -mix-lm.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill._native import lm as native
from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.lm.counting import BEGIN, SPECIAL, UNKNOWN, Tree
from textmill.lm.ngram import UNITS, NGramModel, SentenceScores
from textmill.model import StringTable, check_choice, check_fitted, check_range, effective_jobs

__all__ = ["Mixture"]


class Mixture:
    """Several models, weighed.

    Parameters:
        models: At least two fitted models, which cut texts alike.
        weights: A weight for each; None: equal ones, until `fit`.

    Attributes:
        weights_: The weights, sum 1.
        words_: Words of all models, the special ones first.
        trace_: Log probability (log10, of a word) of the development data after each step of `fit`.
        n_iter_: Steps of `fit`.

    >>> plays = NGramModel(order=2).fit(["to be or not to be", "what is the matter"])
    >>> mills = NGramModel(order=2).fit(["the mill turns", "the mill stands still"])
    >>> mixture = Mixture([plays, mills]).fit(["the mill is old", "the mill turns"])
    >>> bool(mixture.weights_[1] > 0.5), round(float(mixture.distribution(["the"]).sum()), 9)
    (True, 1.0)
    """

    def __init__(self, models: Sequence[NGramModel], *, weights: ArrayLike | None = None) -> None:
        if len(models) < 2:
            raise DataError(f"a mixture needs at least two models, got {len(models)}")
        for model in models:
            check_fitted(model)
        if len({repr(model.tokenizer) for model in models}) > 1:
            raise DataError("the models cut texts into words in different ways; train them with one tokenizer")
        self.models = list(models)
        self.weights_ = np.full(len(models), 1 / len(models)) if weights is None else _checked(weights, len(models))
        words = dict.fromkeys(word for model in models for word in model.words_)
        self.words_ = StringTable([*SPECIAL, *(word for word in words if word not in SPECIAL)])
        names = {word: i for i, word in enumerate(self.words_)}
        self._names: list[NDArray[np.int32]] = []  # of each word of the union in each model
        self._share: list[float] = []  # log10 of the share of an unknown word that one word has
        for model in self.models:
            name = np.full(len(self.words_), UNKNOWN, dtype=np.int32)
            name[[names[word] for word in model.words_]] = np.arange(len(model.words_), dtype=np.int32)
            self._names.append(name)
            self._share.append(-float(np.log10(1 + len(self.words_) - len(model.words_))))
        self.trace_: list[float] = []
        self.n_iter_ = 0

    def fit(self, X_dev: Iterable[Any], *, max_iter: int = 100, tolerance: float = 1e-6) -> Mixture:
        """Choose the weights that make sentences most likely, by EM from those at hand; stop when none changes more."""
        check_range("max_iter", max_iter, at_least=1, whole=True)
        check_range("tolerance", tolerance, at_least=0.0)
        columns = 10 ** self._columns(X_dev)[0]
        if not len(columns):
            raise DataError("there is no word to weigh the models by; pass at least one sentence")
        self.trace_ = []
        for self.n_iter_ in range(1, max_iter + 1):
            parts = columns * self.weights_
            total = parts.sum(axis=1, keepdims=True)
            self.trace_.append(float(np.log10(total).mean()))
            weights = (parts / total).mean(axis=0)
            change, self.weights_ = float(np.abs(weights - self.weights_).max()), weights / weights.sum()
            if change <= tolerance:
                break
        return self

    def token_scores(self, sentences: Iterable[Any], *, unit: str = "log10") -> list[Floats]:
        """Return for each sentence the log probabilities of its words and, last, of its end."""
        check_choice("unit", unit, list(UNITS))
        columns, bounds, _ = self._columns(sentences)
        return np.split(UNITS[unit] * self._mixed(columns), bounds[1:-1])[: len(bounds) - 1]

    def scores(self, sentences: Iterable[Any]) -> SentenceScores:
        """Return the log probability of each sentence, and how many of its words no model has."""
        columns, bounds, unknown = self._columns(sentences)
        offsets = bounds - np.arange(len(bounds))
        return SentenceScores.of(offsets, self._mixed(columns), unknown)

    def perplexity(self, sentences: Iterable[Any], *, unknown: bool = True) -> float:
        """Return the perplexity of sentences, ends included; `unknown=False` leaves unknown words out."""
        return self.scores(sentences).perplexity(unknown=unknown)

    def distribution(self, context: Sequence[str] = (), *, start: bool = False) -> Floats:
        """Return the probability of every word of `words_` after some others; `start`: they begin a sentence."""
        total = np.zeros(len(self.words_))
        for model, weight, name, share in zip(self.models, self.weights_, self._names, self._share, strict=True):
            p = model.distribution(context, start=start)[name]
            total += weight * np.where(name == UNKNOWN, p * 10**share, p)
        return total

    def merged(self) -> NGramModel:
        """Return one model of all n-grams, which can be saved, pruned and written to an ARPA file.

        >>> one = NGramModel(order=2).fit(["to be or not to be"])
        >>> two = NGramModel(order=3).fit(["the mill turns"])
        >>> both = Mixture([one, two]).merged()
        >>> both.order, round(float(both.distribution(["mill"]).sum()), 9)
        (3, 1.0)
        """
        threads = effective_jobs(self.models[0].n_jobs)
        order = max(len(model.levels_) for model in self.models) - 2
        names = {word: i for i, word in enumerate(self.words_)}
        rename = [np.array([names[word] for word in model.words_], dtype=np.int32) for model in self.models]
        trees = [_deepened(model, order) for model in self.models]
        *tree, _ = native.combine(trees, rename, words=len(self.words_), threads=threads)
        total = np.zeros(len(tree[1]))
        for model, weight, name, share in zip(self.models, self.weights_, self._names, self._share, strict=True):
            score = model.table().evaluate(*tree, name)
            absent = name[np.maximum(tree[1], 0)] == UNKNOWN
            total += weight * 10 ** np.where(absent, score + share, score)
        first = self.models[0]
        merged = NGramModel(order=order, tokenizer=first.tokenizer, n_jobs=first.n_jobs)
        merged.words_, (merged.levels_, merged.last_words_, merged.children_) = self.words_, tree
        merged.suffixes_ = np.empty(len(tree[1]), dtype=np.int32)
        native.suffixes(*tree, merged.suffixes_, threads=threads)
        with np.errstate(divide="ignore"):
            merged.log_probability_ = np.maximum(np.log10(total), -99.0)
        merged.log_probability_[[0, 1 + BEGIN]] = -99.0
        merged.log_back_off_ = np.zeros(len(tree[1]))
        merged.counts_ = merged.books_ = merged.probability_codes_ = merged.back_off_codes_ = None
        merged.discounts_, merged.fall_backs_ = np.zeros((order, 0)), []
        merged.sentences_ = sum(model.sentences_ for model in self.models)
        merged.by_line_ = first.by_line_
        merged.log_back_off_ = merged.table().back_offs(threads=threads)
        vars(merged).pop("_made", None)
        return merged

    def _columns(self, sentences: Iterable[Any]) -> tuple[Floats, NDArray[np.int64], NDArray[np.bool_]]:
        """Log10 p of all words and ends by each model, where sentences begin, and which words no model has."""
        texts = list(sentences)
        columns: list[Floats] = []
        unknown: list[NDArray[np.bool_]] = []
        bounds = np.zeros(1, dtype=np.int64)
        for model, share in zip(self.models, self._share, strict=True):
            parts = list(model._scored(texts))
            lengths = np.concatenate([np.zeros(1, np.int64), *(np.diff(offsets) + 1 for offsets, _, _ in parts)])
            bounds = np.cumsum(lengths)
            is_word = np.ones(int(bounds[-1]), dtype=bool)
            is_word[bounds[1:] - 1] = False
            tokens = np.concatenate([np.zeros(0, np.int32), *(ids for *_, ids in parts)])
            scores = np.concatenate([np.zeros(0), *(values for _, values, _ in parts)])
            scores[np.flatnonzero(is_word)[tokens <= UNKNOWN]] += share
            columns.append(scores)
            unknown.append(tokens <= UNKNOWN)
        return np.column_stack(columns), bounds, np.logical_and.reduce(unknown)

    def _mixed(self, columns: Floats) -> Floats:
        mixed: Floats = np.log10((10**columns * self.weights_).sum(axis=1))
        return mixed


def _checked(weights: ArrayLike, models: int) -> Floats:
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (models,) or not np.isfinite(values).all() or values.min() < 0 or values.sum() <= 0:
        raise DataError(f"weights must be {models} numbers from 0 on, not all of them 0; got {weights!r}")
    normalized: Floats = values / values.sum()
    return normalized


def _deepened(model: NGramModel, order: int) -> Tree:
    """The tree of a model, with empty levels down to `order`."""
    levels, words, children = model.levels_, model.last_words_, model.children_
    more = order - (len(levels) - 2)
    levels = np.append(levels, np.full(more, len(words), dtype=np.int64))
    children = np.append(children, np.full(int(levels[order]) + 1 - len(children), len(words), dtype=np.int32))
    return levels, words, children, np.zeros(len(words), dtype=np.int64)
