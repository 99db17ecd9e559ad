"""What all topic models share: topics are rows over terms, texts come in through a vectorizer, topics are printed.

    components_ (k, m)    topic x term; what the numbers mean is the model's affair

A subclass adds its parameters (`n_topics`, `vectorizer` and others), `fit` and `transform`, and calls `_chunks`, which
turns whatever it was given into sparse chunks. A file holds the vectorizer, so a loaded model understands raw text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats
from textmill.errors import DataError, warn_caller
from textmill.model import Model, Transformer, check_fitted, check_range
from textmill.numeric import sparse
from textmill.readable import spelled
from textmill.tables import Column, Table
from textmill.topics.chunks import Chunks, holds_documents
from textmill.vectors import TextVectorizer

__all__ = ["MOST_TOPICS", "ROWS", "FewerTopics", "TopicModel", "TopicTerms", "align_topics"]

MOST_TOPICS = 65_535  # which 16 bits of a token can tell apart; more would only fill the memory
ROWS = 4096  # documents that are transformed together


class FewerTopics(UserWarning):
    """A model has fewer topics than were asked for, because the documents do not differ in more ways."""


class TopicTerms(Table, list[list[tuple[str, float]]]):
    """The terms of topics with their weights, a list for each topic; as a table a row for each topic and term.

    Attributes: strengths, one figure for each topic, or None.
    """

    def __init__(self, topics: Iterable[list[tuple[str, float]]], strengths: Floats | None = None) -> None:
        super().__init__(topics)
        self.strengths = strengths

    def columns(self) -> dict[str, list[Any]]:
        """Return topic and rank, both counted from 1, term and weight."""
        rows = [
            (number, rank, term, weight)
            for number, topic in enumerate(self, 1)
            for rank, (term, weight) in enumerate(topic, 1)
        ]
        return {name: [row[i] for row in rows] for i, name in enumerate(("topic", "rank", "term", "weight"))}

    def shown(self) -> dict[str, Column]:
        """Return a row for each topic, its terms on one line."""
        strengths = {} if self.strengths is None else {"strength": self.strengths[: len(self)]}
        return {"topic": range(1, len(self) + 1), **strengths, "terms": [" ".join(t for t, _ in row) for row in self]}


class TopicModel(Transformer, Model):
    """Base of the topic models.

    Parameters of every subclass: n_topics, k; vectorizer, a `TextVectorizer`, with which the model takes texts and
    lists of tokens; an unfitted one is copied and fitted by `fit`, None means that only matrices are taken.

    Attributes: components_ (k, m), vectorizer_, the fitted vectorizer or None.
    """

    layout: ClassVar[dict[str, str]] = {"components_": "topic term"}
    parts: ClassVar[dict[str, str]] = {"vectorizer": "vectors.TextVectorizer", "vectorizer_": "vectors.TextVectorizer"}

    n_topics: int
    vectorizer: TextVectorizer | None
    components_: Floats
    vectorizer_: TextVectorizer | None

    @property
    def n_features_in_(self) -> int:
        """The number of terms, as scikit-learn asks for it."""
        check_fitted(self)
        return int(self.components_.shape[1])

    def topics(self, n_words: int = 10, terms: Sequence[str] | None = None) -> TopicTerms:
        """Return for each topic the terms of largest absolute weight with their weights, ties in order of columns.

        Terms are those of the vectorizer, or `terms`, or else the numbers of the columns.
        """
        check_fitted(self)
        check_range("n_words", n_words, at_least=1, whole=True)
        if terms is None and self.vectorizer_ is not None:
            terms = self.vectorizer_.terms_.to_list()
        if terms is not None and len(terms) < self.components_.shape[1]:
            columns = self.components_.shape[1]
            raise DataError(f"there are {len(terms)} terms for {columns} columns; pass one per column")
        topics = []
        for row in self.components_:
            best = _largest(np.abs(row), n_words)
            topics.append([(str(j) if terms is None else terms[int(j)], float(row[j])) for j in best if row[j] != 0])
        return TopicTerms(topics, self.strengths())

    def describe_topics(self, n_words: int = 10, terms: Sequence[str] | None = None) -> str:
        """Return the topics as lines of text: number, strength where the model has one, and the weighted terms."""
        strengths = self.strengths()
        lines = []
        for number, words in enumerate(self.topics(n_words, terms)):
            strength = "" if strengths is None else f" ({strengths[number]:.3f})"
            lines.append(
                f"topic {number + 1}{strength}: " + " + ".join(f'{w:.3f}*"{spelled(term)}"' for term, w in words)
            )
        return "\n".join(lines)

    def inverse_transform(self, weights: Any) -> Floats:
        """Return dense rows over the terms: what documents with these weights of topics (n, k) would be, on average.

        >>> from textmill.topics import NMF
        >>> NMF(n_topics=1, random_state=0).fit(np.array([[3, 1]])).inverse_transform([[8]]).tolist()
        [[6.0, 2.0]]
        """
        rows: Floats = self._weights(weights) @ self.components_
        return rows

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the names of the topics by column, as scikit-learn asks for them: lsa0, lsa1 and so on."""
        check_fitted(self)
        name = type(self).__name__.lower()
        return np.array([f"{name}{i}" for i in range(len(self.components_))], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = getattr(self, "vectorizer", None) is not None
        return tags

    def transform(self, X: Any) -> Floats:
        """Return the topics of documents, one row each; every subclass has its own."""
        raise NotImplementedError

    def rows_of(self, X: Any, *, negative: bool = False) -> Iterator[sparse.csr_matrix]:
        """Give the rows of an input over the terms of the fitted model, chunk by chunk.

        >>> from textmill.topics import NMF
        >>> [part.shape for part in NMF(n_topics=1).fit(np.eye(3)).rows_of(np.ones((1, 3)))]
        [(1, 3)]
        """
        check_fitted(self)
        yield from self._chunks(X, ROWS, negative=negative).over(self.n_features_in_, type(self).__name__)

    def objective(self) -> str:
        """Return what the figures of `trace_` are, in words; every subclass that has some says so."""
        return "objective"

    def strengths(self) -> Floats | None:
        """One figure per topic that is printed with it; a subclass that has such figures returns them."""
        return None

    def _weights(self, weights: Any) -> Floats:
        """Rows of weights of topics, once they have a column for each topic."""
        check_fitted(self)
        rows = np.asarray(weights, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.components_):
            raise DataError(
                f"weights have the shape {rows.shape}, but the model has {len(self.components_)} topics; "
                "pass one row for each document and one column for each topic"
            )
        return rows

    def _chunks(self, X: Any, size: int | None = None, *, negative: bool = True) -> Chunks:
        """The input of a fitted model, or of one that `_start` prepared, in chunks of `size` rows."""
        return Chunks(X, size, self.vectorizer_, negative=negative)

    def _start(self, X: Any) -> None:
        """Begin a fit: set `vectorizer_`, after counting the terms of X in one pass if that is still to be done."""
        vectorizer = self.vectorizer
        if vectorizer is not None and not vectorizer.__sklearn_is_fitted__() and holds_documents(X):
            vectorizer = TextVectorizer(**vectorizer.get_params(deep=False)).fit(X)
        fitted = vectorizer is not None and vectorizer.__sklearn_is_fitted__()
        self.vectorizer_ = vectorizer if fitted else None
        if self.vectorizer_ is not None and not len(self.vectorizer_.terms_):
            raise DataError(
                "the vocabulary has no terms: the documents have no words, or min_df and max_df leave none; "
                "pass other documents or limits"
                + (", or unit='line' if every line is a document" if self.vectorizer_.documents_ == 1 else "")
            )

    def _make_changeable(self) -> None:
        """Let `partial_fit` change a fitted model in place, also one from a file."""
        if self.__sklearn_is_fitted__():
            check_fitted(self)
            self.make_writable()

    def _warn_of_fewer(self) -> None:
        """Say so when `fit`, which calls this itself, has found fewer topics than were asked for."""
        if len(self.components_) < self.n_topics:
            warn_caller(
                f"{len(self.components_)} topics instead of {self.n_topics}: the {type(self).__name__} of these "
                "documents has no more; pass more documents or a smaller n_topics",
                FewerTopics,
            )


def align_topics(one: TopicModel, other: TopicModel) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Pair the topics of two models so that the cosines of their rows sum to the most.

    Returns the order of the other's topics, and both components with as many columns; terms must be the same.

    >>> from textmill.topics import NMF
    >>> one, other = (NMF(n_topics=2, random_state=0).fit(np.diag(scale)) for scale in ([3.0, 2.0], [2.0, 3.0]))
    >>> align_topics(one, other)[0].tolist()
    [1, 0]
    """
    from scipy.optimize import linear_sum_assignment

    check_fitted(one)
    check_fitted(other)
    if type(one) is not type(other):
        raise DataError(f"cannot merge {type(one).__name__} with {type(other).__name__}; pass models of one kind")
    if len(one.components_) != len(other.components_):
        raise DataError(f"one model has {len(one.components_)} topics, the other {len(other.components_)}; train alike")
    terms = [None if model.vectorizer_ is None else model.vectorizer_.terms_.to_list() for model in (one, other)]
    if terms[0] != terms[1]:
        raise DataError("the models have different vocabularies; train both with one vectorizer")
    columns = max(one.components_.shape[1], other.components_.shape[1])
    both = [np.pad(m.components_, ((0, 0), (0, columns - m.components_.shape[1]))) for m in (one, other)]
    unit: list[Any] = [rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300) for rows in both]
    order = linear_sum_assignment(-unit[0] @ unit[1].T)[1]
    return order, both[0], both[1]


def _largest(values: Floats, count: int) -> NDArray[np.intp]:
    """Positions of the `count` largest values, largest first, ties by position; O(m) + O(count log count)."""
    if count < len(values):
        border = np.partition(values, len(values) - count)[len(values) - count]
        above = np.flatnonzero(values > border)
        candidates = np.concatenate([above, np.flatnonzero(values == border)[: count - len(above)]])
    else:
        candidates = np.arange(len(values))
    candidates.sort()
    return candidates[np.argsort(-values[candidates], kind="stable")]
