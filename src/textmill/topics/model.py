"""What all topic models share: topics are rows over terms, texts come in through a vectorizer, topics are printed.

    components_ (k, m)    topic x term; what the numbers mean is the model's affair

A subclass adds its parameters (`n_topics`, `vectorizer` and others), `fit` and `transform`, and calls `_chunks`, which
turns whatever it was given into sparse chunks. A file holds the vectorizer, so a loaded model understands raw text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError, warn_caller
from textmill.model import Model, Transformer, check_fitted, check_range
from textmill.readable import spelled
from textmill.tables import Column, Table
from textmill.topics.chunks import Chunks, holds_documents
from textmill.vectors import TextVectorizer

__all__ = ["MOST_TOPICS", "FewerTopics", "TopicModel", "TopicTerms"]


class FewerTopics(UserWarning):
    """A model has fewer topics than were asked for, because the documents do not differ in more ways."""


class TopicTerms(Table, list[list[tuple[str, float]]]):
    """The terms of topics with their weights, a list for each topic; as a table a row for each topic and term.

    Attributes: strengths, one figure for each topic, or None.
    """

    def __init__(self, topics: Iterable[list[tuple[str, float]]], strengths: NDArray[np.float64] | None = None) -> None:
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
    components_: NDArray[np.float64]
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
        made = []
        for row in self.components_:
            best = _largest(np.abs(row), n_words)
            made.append([(str(j) if terms is None else terms[int(j)], float(row[j])) for j in best if row[j] != 0])
        return TopicTerms(made, self._strengths())

    def describe_topics(self, n_words: int = 10, terms: Sequence[str] | None = None) -> str:
        """Return the topics as lines of text: number, strength where the model has one, and the weighted terms."""
        strengths = self._strengths()
        lines = []
        for number, words in enumerate(self.topics(n_words, terms)):
            strength = "" if strengths is None else f" ({strengths[number]:.3f})"
            lines.append(
                f"topic {number + 1}{strength}: " + " + ".join(f'{w:.3f}*"{spelled(term)}"' for term, w in words)
            )
        return "\n".join(lines)

    def inverse_transform(self, weights: Any) -> NDArray[np.float64]:
        """Return dense rows over the terms: what documents with these weights of topics (n, k) would be, on average.

        >>> from textmill.topics import NMF
        >>> NMF(n_topics=1, random_state=0).fit(np.array([[3, 1]])).inverse_transform([[8]]).tolist()
        [[6.0, 2.0]]
        """
        rows: NDArray[np.float64] = self._weights(weights) @ self.components_
        return rows

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the names of the topics by column, as scikit-learn asks for them: lsa0, lsa1 and so on."""
        check_fitted(self)
        name = type(self).__name__.lower()
        return np.array([f"{name}{i}" for i in range(len(self.components_))], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = self.vectorizer is not None
        return tags

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the topics of documents, one row each; every subclass has its own."""
        raise NotImplementedError

    def _strengths(self) -> NDArray[np.float64] | None:
        """One figure per topic that is printed with it; a subclass that has such figures returns them."""
        return None

    def _weights(self, weights: Any) -> NDArray[np.float64]:
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

    def _warn_of_fewer(self) -> None:
        """Say so when `fit`, which calls this itself, has found fewer topics than were asked for."""
        if len(self.components_) < self.n_topics:
            warn_caller(
                f"{len(self.components_)} topics instead of {self.n_topics}: the {type(self).__name__} of these "
                "documents has no more; pass more documents or a smaller n_topics",
                FewerTopics,
            )


def _largest(values: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Positions of the `count` largest values, largest first, ties by position; O(m) + O(count log count)."""
    if count < len(values):
        border = np.partition(values, len(values) - count)[len(values) - count]
        above = np.flatnonzero(values > border)
        candidates = np.concatenate([above, np.flatnonzero(values == border)[: count - len(above)]])
    else:
        candidates = np.arange(len(values))
    candidates.sort()
    return candidates[np.argsort(-values[candidates], kind="stable")]


MOST_TOPICS = 65_535  # which 16 bits of a token can tell apart; more would only fill the memory
