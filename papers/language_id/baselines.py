"""What came before: identifiers by common words, n-gram ranks, character models and compression.

    common words    share of the words that are among the N most frequent of L (Ingle 1980)
    rank order      sum over the n-grams of a text of |rank in the text - rank in L|, a fixed distance for those that L
                    does not have; 1- to 5-grams of _word_, the 300 most frequent (Cavnar & Trenkle 1994)
    Markov          p(c | h) = (n(hc) + 1) / (n(h) + A) for the last k characters h, A characters (Dunning 1994)
    PPM             p_k(c | h) = n(hc) / (n(h) + t(h)) + t(h) / (n(h) + t(h)) p_{k-1}(c | h'), t(h) distinct characters
                    after h, p_{-1} uniform: escapes of method C, blended so that they sum to 1 (Teahan 2000)
    interpolated    p(c | h) = sum_i lambda_i p_i(c | h_i), weights by EM on held-out text

Character models score a text by its logarithm to the base 2 per character, so that lengths compare. Two ways to say
"unknown": a threshold on that score for each language, and one more model of other languages, `unknown`. These are
the yardsticks of the dictionary, written to be read: counts lie in dictionaries, and a letter costs microseconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError
from textmill.model import Classifier, check_fitted, check_range
from textmill.tasks.language.counts import check_language, words_of

__all__ = [
    "CommonWordsIdentifier",
    "InterpolatedIdentifier",
    "MarkovIdentifier",
    "PPMIdentifier",
    "RankOrderIdentifier",
]

Floats = NDArray[np.float64]


class _Baseline(Classifier):
    """Texts by language, and the language with the largest score."""

    classes_: NDArray[Any]

    def fit(self, X: Iterable[str], y: Iterable[str]) -> Any:
        """Learn from texts and their languages."""
        texts: dict[str, list[str]] = {}
        for text, label in zip(X, y, strict=True):
            texts.setdefault(check_language(label), []).append(text)
        if not texts:
            raise DataError("no text was given; pass texts of one language or more")
        self.classes_ = np.array(sorted(texts))
        self._learn([texts[code] for code in self.classes_.tolist()])
        return self

    def scores(self, text: str) -> Floats:
        """The score of each language, larger is better."""
        raise NotImplementedError

    def _learn(self, texts: list[list[str]]) -> None:
        raise NotImplementedError

    def predict(self, X: Iterable[str]) -> NDArray[Any]:
        """The best language of each text."""
        check_fitted(self)
        return np.array([self.classes_[int(np.argmax(self.scores(text)))] for text in X])


class CommonWordsIdentifier(_Baseline):
    """Count the words of a text that are common in a language.

    >>> CommonWordsIdentifier(n_words=2).fit(["the cat the dog", "der hund der"], ["en", "de"]).predict(["der mann"])
    array(['de'], dtype='<U2')
    """

    def __init__(self, *, n_words: int = 200) -> None:
        self.n_words = n_words

    def _learn(self, texts: list[list[str]]) -> None:
        check_range("n_words", self.n_words, at_least=1, whole=True)
        self.words_ = []
        for of_language in texts:
            counts = Counter(word for text in of_language for word in words_of(text))
            ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            self.words_.append({word for word, _ in ranked[: self.n_words]})

    def scores(self, text: str) -> Floats:
        """The share of words that are common in each language."""
        words = words_of(text)
        return np.array([sum(word in common for word in words) / max(len(words), 1) for common in self.words_])


class RankOrderIdentifier(_Baseline):
    """Compare the ranks of n-grams of letters with those of each language.

    >>> RankOrderIdentifier().fit(["the cat the dog", "der hund der"], ["en", "de"]).predict(["then"])
    array(['en'], dtype='<U2')
    """

    def __init__(self, *, n_ranks: int = 300, order: int = 5) -> None:
        self.n_ranks = n_ranks
        self.order = order

    def _learn(self, texts: list[list[str]]) -> None:
        check_range("n_ranks", self.n_ranks, at_least=1, whole=True)
        check_range("order", self.order, at_least=1, whole=True)
        self.ranks_ = [self._ranked(of_language) for of_language in texts]

    def _ranked(self, texts: Iterable[str]) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for text in texts:
            for word in words_of(text):
                padded = f"_{word}_"
                for size in range(1, self.order + 1):
                    counts.update(padded[i : i + size] for i in range(len(padded) - size + 1))
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[: self.n_ranks]
        return {gram: rank for rank, (gram, _) in enumerate(ranked)}

    def scores(self, text: str) -> Floats:
        """Minus the distance of the ranks to those of each language."""
        mine = self._ranked([text])
        return np.array(
            [
                -sum(abs(rank - ranks.get(gram, self.n_ranks + rank)) for gram, rank in mine.items())
                for ranks in self.ranks_
            ],
            dtype=np.float64,
        )


class _CharacterModel(_Baseline):
    """Models of the next character; a language has its counts by context."""

    order: int
    unknown: Sequence[str]

    def _learn(self, texts: list[list[str]]) -> None:
        check_range("order", self.order, at_least=0, whole=True)
        cleaned = [[_characters(text) for text in of_language] for of_language in texts]
        if self.unknown:
            cleaned.append([_characters(text) for text in self.unknown])
        self.alphabet_ = sorted({c for of_language in cleaned for text in of_language for c in text})
        self.counts_ = [_context_counts(of_language, self.order) for of_language in cleaned]
        self._prepare(cleaned)

    def _prepare(self, texts: list[list[str]]) -> None:
        """What a model learns beside counts."""

    def probability(self, language: int, history: str, character: str) -> float:
        """p(character | history) of the language of this number."""
        raise NotImplementedError

    def letter_scores(self, text: str) -> tuple[list[str], Floats]:
        """Codes of the languages, and log2 p of each character under each of them, characters x languages."""
        padded = " " * self.order + text.lower()
        rows = [
            [
                log2(self.probability(j, padded[i : i + self.order], padded[i + self.order]))
                for j in range(len(self.classes_))
            ]
            for i in range(len(text))
            if len(padded) > i + self.order
        ]
        rows += [[0.0] * len(self.classes_)] * (len(text) - len(rows))
        return self.classes_.tolist(), np.array(rows).reshape(len(text), len(self.classes_))

    def scores(self, text: str) -> Floats:
        """Mean log2 p of a character under each language."""
        return self._all_scores(text)[: len(self.classes_)]

    def _all_scores(self, text: str) -> Floats:
        padded = " " * self.order + _characters(text)
        models = len(self.counts_)
        sums = np.zeros(models)
        for i in range(self.order, len(padded)):
            history, character = padded[i - self.order : i], padded[i]
            sums += [log2(self.probability(j, history, character)) for j in range(models)]
        return sums / max(len(padded) - self.order, 1)

    def predict_known(self, X: Iterable[str], *, thresholds: Sequence[float] | None = None) -> list[str | None]:
        """The best language of each text, or None: below its threshold, or behind the model of unknown languages."""
        check_fitted(self)
        answers: list[str | None] = []
        for text in X:
            scores = self._all_scores(text)
            best = int(np.argmax(scores))
            unknown = best == len(self.classes_) or (thresholds is not None and scores[best] < thresholds[best])
            answers.append(None if unknown else str(self.classes_[best]))
        return answers


class MarkovIdentifier(_CharacterModel):
    """A Markov chain of characters for each language, add-one smoothed.

    >>> model = MarkovIdentifier(order=1).fit(["the cat", "der hund"], ["en", "de"])
    >>> model.predict(["the dog"])
    array(['en'], dtype='<U2')
    """

    def __init__(self, *, order: int = 2, unknown: Sequence[str] = ()) -> None:
        self.order = order
        self.unknown = unknown

    def probability(self, language: int, history: str, character: str) -> float:
        """(n(hc) + 1) / (n(h) + A)."""
        counts = self.counts_[language][self.order].get(history)
        alphabet = len(self.alphabet_)
        return (counts[character] + 1) / (counts.total() + alphabet) if counts else 1 / alphabet


class PPMIdentifier(_CharacterModel):
    """Prediction by partial matching: contexts of all lengths, escapes of method C.

    >>> model = PPMIdentifier(order=2).fit(["the cat", "der hund"], ["en", "de"])
    >>> round(sum(model.probability(0, "th", c) for c in model.alphabet_), 6)
    1.0
    """

    def __init__(self, *, order: int = 4, unknown: Sequence[str] = ()) -> None:
        self.order = order
        self.unknown = unknown

    def probability(self, language: int, history: str, character: str) -> float:
        """The blend over contexts of all lengths."""
        value = 1 / len(self.alphabet_)
        for size in range(self.order + 1):
            counts = self.counts_[language][size].get(history[len(history) - size :])
            if not counts:
                break
            total, distinct = counts.total(), len(counts)
            value = (counts[character] + distinct * value) / (total + distinct)
        return value


class InterpolatedIdentifier(_CharacterModel):
    """Orders 0 to n, interpolated with weights that EM finds on held-out text.

    Attributes: weights_ (languages x orders + 2, the first for the uniform distribution), trace_ (held-out
    log-likelihood after each iteration, by language).

    >>> model = InterpolatedIdentifier(order=2).fit(["the cat and the dog", "der hund und der"], ["en", "de"])
    >>> model.weights_.sum(axis=1).round(6).tolist()
    [1.0, 1.0]
    """

    def __init__(
        self, *, order: int = 4, held_out: float = 0.1, tolerance: float = 1e-4, max_iter: int = 100,
        unknown: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.order = order
        self.held_out = held_out
        self.tolerance = tolerance
        self.max_iter = max_iter
        self.unknown = unknown

    def _prepare(self, texts: list[list[str]]) -> None:
        check_range("held_out", self.held_out, above=0, below=1)
        self.trace_: list[list[float]] = []
        weights = []
        whole = self.counts_
        self.counts_ = []
        parts = []
        for of_language in texts:
            joined = " ".join(of_language)
            cut = max(1, int(len(joined) * (1 - self.held_out)))
            self.counts_.append(_context_counts([joined[:cut]], self.order))
            parts.append(joined[cut:] or joined)
        for language, text in enumerate(parts):
            padded = " " * self.order + text
            rows = np.array(
                [self._orders(language, padded[i - self.order : i], padded[i]) for i in range(self.order, len(padded))]
            )
            mixture, trace = _mixture_weights(rows, self.tolerance, self.max_iter)
            weights.append(mixture)
            self.trace_.append(trace)
        self.weights_ = np.array(weights)
        self.counts_ = whole

    def _orders(self, language: int, history: str, character: str) -> list[float]:
        values = [1 / len(self.alphabet_)]
        for size in range(self.order + 1):
            counts = self.counts_[language][size].get(history[len(history) - size :])
            values.append(counts[character] / counts.total() if counts else values[-1])
        return values

    def probability(self, language: int, history: str, character: str) -> float:
        """The weighted sum of all orders."""
        return float(np.dot(self.weights_[language], self._orders(language, history, character)))


def _characters(text: str) -> str:
    return " ".join(text.lower().split()) or " "


def _context_counts(texts: Iterable[str], order: int) -> list[dict[str, Counter[str]]]:
    """For each length of context: context -> counts of the next character."""
    tables: list[dict[str, Counter[str]]] = [{} for _ in range(order + 1)]
    for text in texts:
        padded = " " * order + text
        for i in range(order, len(padded)):
            for size in range(order + 1):
                tables[size].setdefault(padded[i - size : i], Counter())[padded[i]] += 1
    return tables


def _mixture_weights(rows: Floats, tolerance: float, max_iter: int) -> tuple[Floats, list[float]]:
    """Weights of the columns of p_i(c_t | h_t) with the best likelihood, by EM, and its logarithm on the way."""
    weights = np.full(rows.shape[1], 1 / rows.shape[1])
    trace = []
    for _ in range(max_iter):
        parts = rows * weights
        sums = parts.sum(axis=1, keepdims=True)
        trace.append(float(np.log(sums).sum()))
        updated = (parts / sums).mean(axis=0)
        done = np.abs(updated - weights).max() < tolerance
        weights = updated
        if done:
            break
    return weights, trace
