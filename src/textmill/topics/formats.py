"""Models of other tools, as objects: gensim, scikit-learn, tomotopy, plain matrices, and the arrays of pyLDAvis.

gensim's `LsiModel` keeps U as `projection.u` (terms x topics) and S as `projection.s`; its `LdaModel` keeps expected
counts as `state.sstats` (topics x terms) with the priors `alpha` and `eta`. scikit-learn's `LatentDirichletAllocation`
keeps counts and prior together in `components_`; tomotopy gives out distributions and the size of each topic. The
exchange goes through these arrays; files of such tools are pickled or their own, so they are opened by the tool, not
here. Plain files of topics (MALLET, LDA-C) are the subject of exchange.py.

A matrix of distributions alone becomes a model whose topics are known for certain: expected counts so large that the
prior adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from textmill.corpus import Vocabulary
from textmill.errors import DataError
from textmill.model import check_fitted
from textmill.topics.decomposition import Decomposition, with_signs
from textmill.topics.lda.model import LDA
from textmill.topics.lda.priors import alpha_of, eta_of
from textmill.topics.lda.statistics import Statistics
from textmill.topics.lsa.model import LSA
from textmill.topics.model import TopicModel
from textmill.vectors import TextVectorizer, Weighting

__all__ = [
    "from_counts",
    "from_gensim",
    "from_matrix",
    "from_sklearn",
    "from_tomotopy",
    "terms_of",
    "to_gensim",
    "to_pyldavis",
]


_CERTAIN = 1e12  # words of a topic of which only the distribution is known


def from_matrix(topics: Any, *, alpha: Any = "symmetric", terms: Sequence[str] | None = None) -> LDA:
    """Return the LDA model of topics given as rows over terms; rows need not sum to 1.

    With `terms`, the names of the columns, the model reads texts.

    >>> lda = from_matrix([[3, 1, 0], [0, 1, 1]], terms=["to", "be", "or"])
    >>> lda.components_.round(6).tolist(), list(lda.topics(1))
    ([[0.75, 0.25, 0.0], [0.0, 0.5, 0.5]], [[('to', 0.75)], [('be', 0.5)]])
    """
    rows = np.asarray(topics, dtype=np.float64)
    if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all() or rows.min() < 0:
        raise DataError("topics must be rows of finite numbers that are not negative, one row a topic")
    sums = rows.sum(axis=1, keepdims=True)
    if not (sums > 0).all():
        raise DataError(f"topic {int(np.argmin(sums)) + 1} has only zeros; leave it out, or give its words weight")
    return from_counts(_CERTAIN * rows / sums, alpha=alpha, eta=1.0 / _CERTAIN, terms=terms)


def from_counts(counts: Any, *, alpha: Any, eta: Any, documents: int = 0, terms: Sequence[str] | None = None) -> LDA:
    """Return the LDA model of expected counts of terms in topics, (k, m), and its priors.

    >>> from_counts([[8, 1], [1, 8]], alpha=0.5, eta=0.5, documents=6).components_.tolist()
    [[0.85, 0.15], [0.15, 0.85]]
    """
    chi = np.asarray(counts, dtype=np.float64)
    if chi.ndim != 2 or not chi.size or not np.isfinite(chi).all() or chi.min() < 0:
        raise DataError("counts must be rows of finite numbers that are not negative, one row a topic")
    k, m = chi.shape
    if terms is not None and len(terms) != m:
        raise DataError(f"there are {len(terms)} terms for {m} columns; pass one per column")
    priors = alpha_of(alpha, k), eta_of(eta, k, m)
    statistics = Statistics.of_counts(np.ascontiguousarray(chi.T), alpha=priors[0], eta=priors[1], documents=documents)
    statistics.topic_counts = chi.sum(axis=1)
    number = priors[1].item() if priors[1].size == 1 else None
    vectorizer = None if terms is None else _reader(terms)
    return LDA.of(statistics, vectorizer=vectorizer, alpha=priors[0].tolist(), eta=number, dtype="float64")


def from_gensim(model: Any) -> LSA | LDA:
    """Return the LSA model of a gensim `LsiModel`, or the LDA model of an `LdaModel`.

    What gensim cut away of an `LsiModel` is not known, so the model has no error bound.

    >>> from_gensim(to_gensim(LSA(n_topics=1).fit(np.diag([3.0, 1.0])))).transform(np.eye(2)).tolist()
    [[1.0], [0.0]]
    """
    if hasattr(model, "state") and hasattr(model.state, "sstats"):
        words = dict(model.id2word.items()) if model.id2word is not None else {}
        terms = [str(words.get(i, i)) for i in range(model.state.sstats.shape[1])] if words else None
        eta = np.asarray(model.eta, dtype=np.float64)
        documents = int(model.state.numdocs)
        return from_counts(model.state.sstats, alpha=model.alpha, eta=eta, documents=documents, terms=terms)
    U = np.array(model.projection.u, dtype=np.float64, order="C")
    s = np.array(model.projection.s, dtype=np.float64)
    if not (np.isfinite(U).all() and np.isfinite(s).all() and U.ndim == 2 and s.shape == U.shape[1:]):
        raise DataError(f"this LsiModel holds U of shape {U.shape} and S of shape {s.shape}; train it again in gensim")
    decomposition = Decomposition(with_signs(U), s, int(model.docs_processed), float(s @ s), np.nan)
    return LSA.of(decomposition, n_topics=max(1, len(s)), decay=float(model.decay))


def to_gensim(model: LSA | LDA, id2word: Any = None) -> Any:
    """Return a gensim `LsiModel` with the factors of an LSA model, or an `LdaModel` with the counts of an LDA model.

    `id2word` gives the terms where no vectorizer does.

    >>> to_gensim(LSA(n_topics=1).fit(np.diag([3.0, 1.0]))).projection.s.tolist()
    [3.0]
    >>> to_gensim(LDA(n_topics=1).fit(np.array([[3, 1]]))).get_topics().sum().round(6)
    np.float64(1.0)
    """
    try:
        from gensim.models import LdaModel, LsiModel
    except ImportError as error:
        raise DataError("to_gensim needs gensim; install it with: pip install gensim") from error
    check_fitted(model)
    if id2word is None:
        id2word = dict(enumerate(terms_of(model)))
    k, m = model.components_.shape
    if isinstance(model, LDA):
        eta = np.broadcast_to(model.eta_, (k if len(model.eta_) > 1 else 1, m))
        target = LdaModel(
            num_topics=k,
            id2word=id2word,
            alpha=model.alpha_,
            eta=np.array(eta if len(eta) > 1 else eta[0]),
            dtype=np.float64,
            random_state=0,
        )
        target.state.sstats = np.array(model.term_topics_.T, dtype=np.float64)
        target.state.numdocs = model.documents_
        target.num_updates = model.documents_
        target.sync_state()
        return target
    target = LsiModel(num_topics=k, id2word=id2word)
    target.projection.u = np.asfortranarray(model.components_.T)
    target.projection.s = np.array(model.singular_values_)
    target.docs_processed = model.documents_
    return target


def from_sklearn(model: Any, *, terms: Sequence[str] | None = None) -> LDA:
    """Return the LDA model of a fitted scikit-learn `LatentDirichletAllocation`.

    >>> from sklearn.decomposition import LatentDirichletAllocation
    >>> theirs = LatentDirichletAllocation(n_components=1).fit(np.array([[3, 1]]))
    >>> from_sklearn(theirs, terms=["to", "be"]).components_.round(4).tolist()
    [[0.6667, 0.3333]]
    """
    if not hasattr(model, "components_") or not hasattr(model, "topic_word_prior_"):
        raise DataError(f"this {type(model).__name__} is no fitted LatentDirichletAllocation; pass one")
    counts = np.maximum(np.asarray(model.components_, dtype=np.float64) - model.topic_word_prior_, 0.0)
    alpha = float(model.doc_topic_prior_)
    return from_counts(counts, alpha=alpha, eta=float(model.topic_word_prior_), terms=terms)


def from_tomotopy(model: Any) -> LDA:
    """Return the LDA model of a trained tomotopy `LDAModel`, with its words.

    >>> from_tomotopy(object())
    Traceback (most recent call last):
    textmill.errors.DataError: this object is no trained LDAModel of tomotopy; pass one
    """
    if not hasattr(model, "get_topic_word_dist") or not model.k:
        raise DataError(f"this {type(model).__name__} is no trained LDAModel of tomotopy; pass one")
    terms = [str(word) for word in model.used_vocabs]
    rows = np.array([model.get_topic_word_dist(topic) for topic in range(model.k)], dtype=np.float64)
    eta = float(model.eta)
    sizes = np.asarray(model.get_count_by_topics(), dtype=np.float64) + eta * len(terms)
    counts = np.maximum(rows / rows.sum(axis=1, keepdims=True) * sizes[:, None] - eta, 0.0)
    return from_counts(counts, alpha=np.asarray(model.alpha), eta=eta, documents=len(model.docs), terms=terms)


def to_pyldavis(model: TopicModel, X: Any, *, terms: Sequence[str] | None = None) -> dict[str, Any]:
    """Return what `pyLDAvis.prepare` takes, for documents X: distributions, lengths, words and their frequencies.

    Documents without known words and words that no document has are left out, as pyLDAvis wants it.

    >>> lda = from_matrix([[3, 1, 1], [0, 1, 1]])
    >>> data = to_pyldavis(lda, np.array([[1, 2, 0], [0, 0, 0]]))
    >>> data["topic_term_dists"].round(2).tolist(), data["doc_lengths"].tolist(), data["vocab"]
    ([[0.75, 0.25], [0.0, 1.0]], [3.0], ['0', '1'])
    """
    check_fitted(model)
    if model.components_.min() < 0:
        raise DataError(f"the topics of {type(model).__name__} are directions, not distributions; export LDA or PLSA")
    names = list(terms_of(model) if terms is None else terms)
    if len(names) < model.components_.shape[1]:
        raise DataError(f"there are {len(names)} terms for {model.components_.shape[1]} columns; pass one per column")
    frequency = np.zeros(model.components_.shape[1])
    mixtures, lengths = [np.zeros((0, len(model.components_)))], [np.zeros(0)]
    for part in model.rows_of(X):
        length = np.asarray(part.sum(axis=1), dtype=np.float64).ravel()
        filled = part[length > 0]
        mixtures.append(np.asarray(model.transform(filled), dtype=np.float64))
        lengths.append(length[length > 0])
        frequency += np.asarray(part.sum(axis=0), dtype=np.float64).ravel()
    used = np.flatnonzero(frequency > 0)
    if not len(used):
        raise DataError("X has no documents with a known word; pass at least one")
    rows = model.components_[:, used] + 1e-300
    theta = np.concatenate(mixtures)
    return {
        "topic_term_dists": rows / rows.sum(axis=1, keepdims=True),
        "doc_topic_dists": theta / theta.sum(axis=1, keepdims=True),
        "doc_lengths": np.concatenate(lengths),
        "vocab": [names[int(column)] for column in used],
        "term_frequency": frequency[used],
    }


def terms_of(model: TopicModel) -> list[str]:
    """The names of the columns of a model: the terms of its vectorizer, or else their numbers.

    >>> terms_of(from_matrix([[3, 1]]))
    ['0', '1']
    """
    columns = model.components_.shape[1]
    if model.vectorizer_ is None:
        return [str(column) for column in range(columns)]
    return model.vectorizer_.terms_.to_list()[:columns]


def _reader(terms: Sequence[str]) -> TextVectorizer:
    """A vectorizer whose terms are these, in this order."""
    if len(set(terms)) != len(terms):
        twice = next(term for term in terms if list(terms).count(term) > 1)
        raise DataError(f"the term {twice!r} names two columns; pass one name a column")
    return TextVectorizer.of(Vocabulary().fit([list(terms)]), Weighting(scheme="nnn"))
