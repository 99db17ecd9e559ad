"""Why are two documents similar? Shared terms, formulas and topics, each with its part of the score.

    cosine of words       cos = sum over common terms of a_t b_t                 a, b: unit vectors of the documents
    cosine of topics      cos = sum over topics of z_i w_i                       z, w: the same in topics
                              = sum over terms of 1/2 [a_t (u_t . w) / |z| + b_t (u_t . z) / |w|]     u_t: topics of t
    mixtures (Hellinger)  1 - H, H^2 = 1 - sum over topics of sqrt(p_i q_i): parts in the ratio of these products

Parts of terms add up to the score, and so do those of topics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from textmill.corpus import is_formula
from textmill.errors import DataError
from textmill.numeric import is_sparse
from textmill.tables import Rows
from textmill.tasks.similarity.articles import Article
from textmill.tasks.similarity.methods import Method, similarities

if TYPE_CHECKING:
    from textmill.tasks.similarity.collection import Collection

__all__ = ["SharedPart", "explain_similarity"]


class SharedPart(NamedTuple):
    """Something that two documents share: "term", "formula" or "topic", its name, and its part of the score."""

    kind: str
    name: str
    part: float


def explain_similarity(
    collection: Collection, one: str, other: str, *, method: str | None = None, k: int = 10
) -> Rows[SharedPart]:
    """Return what makes two documents similar: the k terms and the k topics of the largest parts.

    >>> from textmill.tasks.similarity import Collection
    >>> from textmill.vectors import TextVectorizer, Weighting
    >>> words = TextVectorizer(weighting=Weighting(idf="smooth"))
    >>> library = Collection.create("why", ["corn mill", "old corn mill", "a storm"], methods={"words": words})
    >>> [row.name for row in explain_similarity(library, "0", "1")]
    ['corn', 'mill']
    """
    chosen = collection.snapshot.method(method)
    articles = [collection.get(one), collection.get(other)]
    rows = collection.snapshot.vectors_of(
        chosen.name, np.array([collection.snapshot.place(name).number for name in (one, other)])
    )
    if is_sparse(rows):
        return Rows(_terms(chosen, rows)[:k], SharedPart)
    topics = _topics(chosen, rows)[:k]
    return Rows([*_terms_of_topics(chosen, articles)[:k], *topics], SharedPart)


def _named(term: str, part: float) -> SharedPart:
    return SharedPart("formula" if is_formula(term) else "term", term, part)


def _terms(method: Method, rows: Any) -> list[SharedPart]:
    vocabulary = method.vocabulary
    if vocabulary is None or method.measure != "cosine":
        raise DataError(f"the method '{method.name}' cannot be explained by terms; name one of words or topics")
    dense = rows.toarray().astype(np.float64)
    parts = dense[0] * dense[1]
    order = np.argsort(-parts, kind="stable")
    return [_named(vocabulary.terms_[int(t)], float(parts[t])) for t in order[: np.count_nonzero(parts > 0)]]


def _topics(method: Method, rows: Any) -> list[SharedPart]:
    x, y = rows.astype(np.float64)
    parts = x * y
    if method.measure == "hellinger":
        score = float(similarities("hellinger", np.array([min(0.0, -((x - y) ** 2).sum())]))[0])
        parts = parts / parts.sum() * score
    elif method.measure != "cosine":
        raise DataError(f"the method '{method.name}' compares by distance, which has no parts; name another")
    names = _topic_names(method.model)
    order = np.argsort(-np.abs(parts), kind="stable")
    return [SharedPart("topic", names(int(i)), float(parts[i])) for i in order if parts[i] != 0]


def _topic_names(model: Any) -> Any:
    try:
        topics = model.topics(n_words=3)
    except (AttributeError, DataError):
        return lambda i: f"{i + 1}"
    return lambda i: f"{i + 1}: " + " ".join(term for term, _ in topics[i])


def _terms_of_topics(method: Method, articles: list[Article]) -> list[SharedPart]:
    """Parts of terms, where documents become topics by a product: LSA, and PCA but for its center."""
    model, vocabulary = method.model, method.vocabulary
    if vocabulary is None or method.measure != "cosine" or type(model).__name__ != "LSA":
        return []
    if not all(article.text for article in articles):
        return []  # of an index without texts topics are all there is to see
    X = model.vectorizer_.transform([article.text for article in articles]).tocsr()
    Z = model.transform([article.text for article in articles])
    lengths = np.linalg.norm(Z, axis=1)
    if not lengths.all():
        return []
    parts: dict[int, float] = {}
    for i in (0, 1):
        row, towards = X[i], Z[1 - i] / lengths[1 - i]
        for column, weight in zip(row.indices.tolist(), row.data.tolist(), strict=True):
            part = weight * float(model.components_[:, column] @ towards) / lengths[i] / 2
            parts[column] = parts.get(column, 0.0) + part
    order = sorted(parts, key=lambda column: (-parts[column], column))
    return [_named(vocabulary.terms_[column], parts[column]) for column in order]
