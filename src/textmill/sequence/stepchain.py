"""Chains given by distributions of the next label, T(y_t | labels before, x): their decoding.

    P(y | x) = prod_t T(y_t | h_t, x)          h_t: the labels before token t, as many as the order says

A subclass gives the steps T, [tokens, histories, labels]; decoding is native (native/sequence/steps.h): the best
labeling by Viterbi, with or without a beam, the most probable label of each token, the k best labelings with their
probabilities. A history is a number, sum_i label_i base^i with i = 0 the nearest; what stands before the first token is
`start_label`, or a label of its own (then base is one more than there are labels).

Labels of spans in IOB2 may be held to their scheme: after O, after a span of another label and at the beginning an I
gets probability 0, and the other labels are divided by their sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill._native import sequence as native
from textmill.arrays import Bytes, Floats, Ids, Ints
from textmill.errors import DataError
from textmill.model import Classifier, check_choice, check_fitted, check_range, effective_jobs

__all__ = ["StepChain", "allowed_steps", "classes_of", "start_number"]

MOST_HISTORIES = 100_000  # that fit into memory for every token of a sequence


class StepChain(Classifier):
    """Decoding of a chain of next-label distributions; subclasses have `classes_`, `order_` and `_step_source`."""

    takes: ClassVar[str] = "sequences"

    classes_: NDArray[Any]
    order_: int  # labels before that the model looks at
    start_: int  # number of what stands before the first token, len(classes_) for a label of its own
    n_jobs: int | None

    def predict(self, X: Iterable[Any], *, method: str = "viterbi", beam: int | None = None) -> list[list[str]]:
        """Return the labels of every sequence.

        `method` "viterbi" finds the best labeling, "posterior" the most probable label of each token. With a beam only
        so many histories of labels live on after each token of Viterbi's search, the best ones.
        """
        check_choice("method", method, ("viterbi", "posterior"))
        if beam is not None:
            check_range("beam", beam, at_least=1, whole=True)
            if method == "posterior":
                raise DataError("beam is a parameter of method='viterbi'; the posterior sums over all labelings")
        source, offsets = self.steps(X)
        labels = np.empty(int(offsets[-1]), np.int32)
        if method == "viterbi":
            source.label(None, beam or 0, labels, np.empty(len(offsets) - 1), effective_jobs(self.n_jobs))
        else:
            labels = self._marginals(source, offsets).argmax(axis=1).astype(np.int32)
        names = list(map(self.classes_.tolist().__getitem__, labels.tolist()))  # one string a class, shared
        return [names[begin:end] for begin, end in pairwise(offsets.tolist())]

    def predict_marginals(self, X: Iterable[Any]) -> list[Floats]:
        """Return the probabilities of all labels at every token, one array [tokens, classes] a sequence."""
        source, offsets = self.steps(X)
        return np.split(self._marginals(source, offsets), offsets[1:-1].tolist()) if len(offsets) > 1 else []

    def predict_best(self, X: Iterable[Any], k: int = 5) -> list[list[tuple[list[str], float]]]:
        """Return the k best labelings of every sequence with their probabilities, best first."""
        check_range("k", k, at_least=1, at_most=1_000_000, whole=True)
        source, offsets = self.steps(X)
        threads = effective_jobs(self.n_jobs)
        log_z = np.zeros(len(offsets) - 1)
        source.marginals(None, np.empty((int(offsets[-1]), len(self.classes_))), log_z, threads)
        names = self.classes_.tolist()
        return [
            [([names[y] for y in labels], math.exp(score - total)) for score, labels in paths]
            for paths, total in zip(source.best(None, k, threads), log_z.tolist(), strict=True)
        ]

    def next_labels(self, X: Iterable[Any]) -> list[Floats]:
        """Return T of every token, one array [tokens, histories, labels] a sequence.

        A history is the number that the module describes; at first tokens only what stands before counts.
        """
        source, offsets = self.steps(X)
        out = np.empty((int(offsets[-1]), self._base() ** self.order_, len(self.classes_)))
        source.steps(out, effective_jobs(self.n_jobs))
        return np.split(out, offsets[1:-1].tolist()) if len(offsets) > 1 else []

    def score(self, X: Any, y: Sequence[Sequence[str]]) -> float:
        """Return the share of tokens that get their label."""
        predicted = self.predict(X)
        if [len(labels) for labels in predicted] != [len(labels) for labels in y]:
            raise DataError("X and y differ in the number or lengths of their sequences; give one label per token")
        pairs = [(a, b) for guess, gold in zip(predicted, y, strict=True) for a, b in zip(guess, gold, strict=True)]
        return sum(a == b for a, b in pairs) / max(1, len(pairs))

    def __sklearn_tags__(self) -> Any:
        """Without the tag of a classifier: scikit-learn would take y for labels of rows, and refuse lists of labels."""
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = None, None
        return tags

    def _step_source(self, X: Iterable[Any]) -> tuple[native.StepSource, Ints]:
        """The steps of sequences and where each begins."""
        raise NotImplementedError

    def steps(self, X: Iterable[Any]) -> tuple[native.StepSource, Ints]:
        """Return the steps as native decoders take them, and where each sequence begins."""
        check_fitted(self)
        return self._step_source(X)

    def _marginals(self, source: native.StepSource, offsets: Ints) -> Floats:
        out = np.empty((int(offsets[-1]), len(self.classes_)))
        source.marginals(None, out, np.empty(len(offsets) - 1), effective_jobs(self.n_jobs))
        return out

    def _base(self) -> int:
        return len(self.classes_) + (self.start_ == len(self.classes_))

    def _histories(self) -> tuple[int, int, int, int]:
        """What native code takes for a history."""
        if self._base() ** self.order_ > MOST_HISTORIES:
            raise DataError(
                f"{len(self.classes_)} labels and order {self.order_} give {self._base() ** self.order_} histories, "
                f"more than {MOST_HISTORIES}; use patterns of a smaller order"
            )
        return len(self.classes_), self._base(), self.order_, self.start_


def classes_of(y: Iterable[Sequence[str | None]]) -> NDArray[Any]:
    """All labels, sorted; None is no label.

    >>> classes_of([["B", None], ["A"]]).tolist()
    ['A', 'B']
    """
    labels = {label for row in y for label in row if label is not None}
    if not labels:
        raise DataError("no token has a label, so there is nothing to count; pass y with labels, None where unknown")
    if not all(isinstance(label, str) for label in labels):
        raise DataError("labels must be texts")
    return np.array(sorted(labels))


def start_number(classes: NDArray[Any], start_label: str | None) -> int:
    """The number of what stands before the first token: the label given, O, or one of its own.

    >>> start_number(np.array(["B", "O"]), None), start_number(np.array(["DT", "NN"]), None)
    (1, 2)
    """
    names = classes.tolist()
    if start_label is None:
        return names.index("O") if "O" in names else len(names)
    if start_label not in names:
        raise DataError(f"start_label '{start_label}' is no label of the data; it has {names}, use one or None")
    return int(names.index(start_label))


def allowed_steps(classes: NDArray[Any], order: int, start: int, scheme: str | None) -> Bytes:
    """Which labels may follow which histories, [histories, labels]: all, or by IOB2.

    >>> allowed_steps(np.array(["B", "I", "O"]), 1, 2, "auto").tolist()
    [[1, 1, 1], [1, 1, 1], [1, 0, 1]]
    """
    check_choice("scheme", scheme, ("auto", "IOB2", None))
    names = [str(name) for name in classes.tolist()]
    tags = all(name == "O" or (name[0] in "BI" and (len(name) == 1 or name[1] == "-")) for name in names)
    if scheme == "IOB2" and not tags:
        raise DataError(f"scheme 'IOB2' has the labels O, B-x and I-x, these are {names}; convert them, or use None")
    base = len(names) + (start == len(names))
    allowed = np.ones((base**order, len(names)), np.uint8)
    if scheme is None or not tags:
        return allowed
    nearest: Ids = np.arange(base**order) % base
    for y, name in enumerate(names):
        if name[0] == "I":
            inside = [z for z, other in enumerate(names) if other[0] in "BI" and other[1:] == name[1:]]
            allowed[~np.isin(nearest, inside), y] = 0
    return allowed
