"""Chains whose next-label distribution is any classifier with probabilities.

    P(y | x) = prod_t T(y_t | y_{t-n}, ..., y_{t-1}, x)          T = classifier.predict_proba of a row

The row of a token is a mapping: the tests that patterns make there, by the numbers of the patterns ("0", "1", ...), and
the labels before ("before 1" the nearest, "before 2", ...; "_" before the first token). With a maximum-entropy
classifier this is a maximum-entropy Markov model, with naive Bayes or a decision tree a chain of those. Training rows
have the labels before as they were given; decoding asks for the row of every token with every history.
Cost: the classifier's, for tokens times histories. References: McCallum, Freitag & Pereira (2000); Jansche (2002).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from textmill._native import sequence as native
from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.model import check_range
from textmill.sequence.encoder import Encoder
from textmill.sequence.encoding import Encoded, label_ids
from textmill.sequence.stepchain import StepChain, allowed_steps, classes_of, start_number

__all__ = ["ClassifierMarkov"]

_PATTERNS = ("u:%X[0,0]", "u:%X[-1,0]", "u:%X[1,0]", "u:%shape[0,0]", "u:%suffix[0,0,3]")
_BATCH = 20_000  # rows that are classified together


class ClassifierMarkov(StepChain):
    """A conditional Markov model around a classifier.

    Parameters:
        classifier: Has `fit(rows, labels)`, `predict_proba(rows)` and `classes_`; rows are mappings, as
            `linear.CategoricalBayes` takes them, or with scikit-learn a pipeline that begins with a `DictVectorizer`.
        patterns: What is observed at a token; None for the word, its neighbors, its shape and its ending.
        order: Number of labels before that the classifier sees.
        scheme: As of `CountedMarkov`.
        start_label: As of `CountedMarkov`.
        n_jobs: Number of threads; None for all cores.

    Attributes:
        classes_: Labels, sorted.
        classifier_: The classifier, fitted.

    >>> from textmill.linear import CategoricalBayes
    >>> model = ClassifierMarkov(classifier=CategoricalBayes(smoothing=0.1), patterns=["u:%x[0,0]"])
    >>> model.fit([["the", "dog"], ["a", "Rex"]], [["O", "O"], ["O", "B"]]).predict([["the", "Rex"]])
    [['O', 'B']]
    """

    classifier_: Any
    encoder_: Encoder

    def __init__(
        self,
        *,
        classifier: Any = None,
        patterns: str | Sequence[str] | None = None,
        order: int = 1,
        scheme: str | None = "auto",
        start_label: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.classifier = classifier
        self.patterns = patterns
        self.order = order
        self.scheme = scheme
        self.start_label = start_label
        self.n_jobs = n_jobs

    def fit(self, X: Iterable[Any], y: Sequence[Sequence[str]]) -> Self:
        """Train the classifier on every token with the labels before it."""
        check_range("order", self.order, at_least=1, whole=True)
        for method in ("fit", "predict_proba"):
            if not hasattr(self.classifier, method):
                raise DataError(f"classifier must have fit and predict_proba, {self.classifier!r} has no {method}")
        self.classes_ = classes_of(y)
        self.order_, self.start_ = self.order, start_number(self.classes_, self.start_label)
        self._histories()
        patterns = list(_PATTERNS) if self.patterns is None else self.patterns
        self.encoder_ = Encoder(patterns=patterns, n_jobs=self.n_jobs)
        data = self.encoder_.fit_encode(list(X))
        labels = label_ids(y, data.offsets, self.classes_)
        if (labels < 0).any():
            raise DataError("every token needs a label; fill in those that are None, or use CountedMarkov")
        offsets, history, label, _ = native.label_events(self._histories(), data.offsets, labels)
        observed = self._observed(data)
        rows = [observed[t] | self._before(int(history[offsets[t]])) for t in range(data.tokens)]
        self.classifier_ = copy.deepcopy(self.classifier).fit(rows, self.classes_[label])
        return self

    def _observed(self, data: Encoded) -> list[dict[str, str]]:
        """The tests of every token."""
        tests = self.encoder_.tests_.to_list()
        unigram, bigram = self.encoder_.numbers()
        rows: list[dict[str, str]] = [{} for _ in range(data.tokens)]
        for active, numbers in ((data.unigram, unigram), (data.bigram, bigram)):
            names = [tests[i] for i in np.flatnonzero(numbers >= 0)]
            token = np.repeat(np.arange(data.tokens), np.diff(active.indptr))
            for t, test in zip(token.tolist(), active.ids.tolist(), strict=True):
                rows[t][str(len(rows[t]))] = names[test]
        return rows

    def _before(self, history: int) -> dict[str, str]:
        names = [*self.classes_.tolist(), "_"]
        row = {}
        for i in range(1, self.order_ + 1):
            row[f"before {i}"] = names[history % self._base()]
            history //= self._base()
        return row

    def _step_source(self, X: Iterable[Any]) -> tuple[native.StepSource, Ints]:
        data = self.encoder_.encode(list(X))
        observed = self._observed(data)
        histories = [self._before(h) for h in range(self._base() ** self.order_)]
        parts = [self._probabilities(rows) for rows in _batches(observed, histories)]
        flat = np.concatenate(parts) if parts else np.empty((0, len(self.classes_)))
        allowed = allowed_steps(self.classes_, self.order_, self.start_, self.scheme)
        steps = flat.reshape(data.tokens, len(histories), len(self.classes_)) * allowed
        total = steps.sum(axis=2, keepdims=True)
        steps = np.where(total > 0, steps / np.where(total > 0, total, 1.0), allowed / allowed.sum(axis=1)[:, None])
        return native.StepSource(self._histories(), data.offsets, np.ascontiguousarray(steps)), data.offsets

    def _probabilities(self, rows: list[dict[str, str]]) -> Floats:
        """Of all labels; one that the classifier never saw has 0."""
        out = np.zeros((len(rows), len(self.classes_)))
        classes: NDArray[Any] = np.asarray(self.classifier_.classes_)
        out[:, np.searchsorted(self.classes_, classes)] = self.classifier_.predict_proba(rows)
        return out


def _batches(observed: list[dict[str, str]], histories: list[dict[str, str]]) -> Iterator[list[dict[str, str]]]:
    """The rows of all tokens with all histories, some at a time."""
    batch: list[dict[str, str]] = []
    for row in observed:
        batch += [row | history for history in histories]
        if len(batch) >= _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
