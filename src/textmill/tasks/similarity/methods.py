"""Ways to compare the documents of a collection: a model that makes vectors, and the measure between them.

    tfidf   words by their weights (ntc)                cosine
    lsa     topics of the TF-IDF matrix                 cosine
    lda     mixtures of topics                          Hellinger
    ...     any model that transforms texts

Scores are larger for nearer documents, 1 for equal vectors: the cosine, 1 - H for the Hellinger distance H, 1 / (1 + d)
for the Euclidean distance d.

Words of more than 30 % of the documents and of fewer than 5 are left out, as far too common or mistakes; a collection
of fewer than 100 documents keeps all its words, because there five documents are many.
Reference: Rehurek (2011), Scalability of Semantic Analysis in Natural Language Processing, chapter 6.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from textmill.arrays import Floats
from textmill.corpus import FormulaTokenizer, Vocabulary
from textmill.errors import DataError
from textmill.model import Model, check_choice
from textmill.tasks.similarity.articles import Article
from textmill.topics import make_model
from textmill.vectors import Index, TextVectorizer, Weighting, prepare_rows, scores_of

__all__ = ["Method", "as_methods", "counting_method", "make_method", "similarities"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}")
_MIXTURES = ("LDA", "PLSA", "MultinomialMixture")  # whose rows are probabilities
_SMALL = 100  # documents of a collection that keeps all words
_MIN_DF, _MAX_DF = 5, 0.3
_TOPICS = 200


@dataclass(frozen=True, slots=True)
class Method:
    """A model under a name, and how its vectors are compared.

    >>> method = Method("tfidf", TextVectorizer().fit(["to be", "or not", "to do"]), "cosine")
    >>> method.rows([Article("1", "", "not")]).shape
    (1, 5)
    """

    name: str
    model: Any
    measure: str

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The terms that the model knows, where it has them."""
        vectorizer = getattr(self.model, "vectorizer_", self.model)
        return getattr(vectorizer, "vocabulary_", None)

    def vectors(self, articles: Sequence[Article]) -> Any:
        """Return the vectors of documents as the model makes them."""
        if hasattr(self.model, "transform_articles"):
            return self.model.transform_articles(articles)
        return self.model.transform([article.text for article in articles])

    def rows(self, articles: Sequence[Article]) -> Any:
        """Return the vectors of questions, as an index of the method takes them."""
        if not hasattr(self.model, "transform_articles") and hasattr(self.model, "rows"):
            return self.prepared(self.model.rows([article.text for article in articles]))
        return self.prepared(self.vectors(articles))

    def prepared(self, X: Any) -> Any:
        """Return vectors as an index of the method takes them."""
        return prepare_rows(self.measure, X, "the question")

    def index(self, X: Any, numbers: Any, n_jobs: int | None = None) -> Index:
        """Return the index of the vectors of documents."""
        return Index(measure=self.measure, n_jobs=n_jobs).fit(X, ids=numbers)

    def count_words(self, articles: Sequence[Article]) -> tuple[int, int]:
        """Return how many words of documents the model knows, and how many not; zeros where it has no terms."""
        if self.vocabulary is None:
            return 0, 0
        bags = self.vocabulary.bags([article.text for article in articles])
        for _ in bags.rows():
            pass
        return bags.tokens, bags.unknown


def counting_method(methods: Iterable[Method]) -> Method | None:
    """Return the method whose words are counted: the first that has some.

    >>> counting_method([]) is None
    True
    """
    return next((method for method in methods if method.vocabulary is not None), None)


def similarities(measure: str, keys: Floats) -> Floats:
    """Return the scores of keys of an index: larger for nearer documents.

    >>> import numpy as np
    >>> similarities("hellinger", np.array([0.0, -2.0])).tolist(), similarities("euclidean", np.array([-1.0])).tolist()
    ([1.0, 0.0], [0.5])
    """
    scores = scores_of(measure, keys)
    if measure == "cosine":
        return scores
    return 1.0 - scores if measure == "hellinger" else 1.0 / (1.0 + scores)


def make_method(
    kind: str,
    *,
    n_documents: int,
    n_topics: int | None = None,
    min_df: float | None = None,
    max_df: float | None = None,
    scheme: str | None = None,
    tokenizer: Any = None,
    formulas: bool = False,
    formula_weight: float = 1.0,
    random_state: int | None = None,
    n_jobs: int | None = None,
) -> Method:
    """Return an unfitted method: "tfidf", or a kind of topic model, "lsa", "lda", "nmf", "plsa", "pca" or "mixture".

    None stands for what suits the number of documents. `formulas` counts formulas, $...$, as terms.

    >>> make_method("lsa", n_documents=5000).model.n_topics
    200
    """
    check_choice("method", kind, ["tfidf", "lsa", "lda", "nmf", "plsa", "pca", "mixture"])
    small = n_documents < _SMALL
    min_df = (1 if small else _MIN_DF) if min_df is None else min_df
    max_df = (1.0 if small else _MAX_DF) if max_df is None else max_df
    if formulas:
        tokenizer = FormulaTokenizer(tokenizer=tokenizer)
    vocabulary = Vocabulary(tokenizer=tokenizer, min_df=min_df, max_df=max_df, n_jobs=n_jobs)
    counts = kind in ("lda", "plsa", "mixture")
    weighting = Weighting(
        scheme=scheme or ("nnn" if counts else "ntc"), idf="n/d" if max_df >= 1 else "n/(1+d)", n_jobs=n_jobs
    )
    vectorizer = TextVectorizer(vocabulary=vocabulary, weighting=weighting, formula_weight=formula_weight)
    if kind == "tfidf":
        return Method(kind, vectorizer, "cosine")
    if n_topics is None:
        n_topics = min(_TOPICS, max(2, n_documents // 4)) if not counts else min(50, max(2, n_documents // 20))
    model = make_model(kind, n_topics=n_topics, vectorizer=vectorizer, random_state=random_state, n_jobs=n_jobs)
    return Method(kind, model, _measure_of(model))


def as_methods(methods: Mapping[str, Any] | Iterable[Method]) -> list[Method]:
    """Return methods from a mapping of names to models, or to pairs of a model and a measure.

    >>> as_methods({"words": TextVectorizer()})[0].measure
    'cosine'
    """
    pairs = methods.items() if isinstance(methods, Mapping) else [(method.name, method) for method in methods]
    result = []
    for name, value in pairs:
        if isinstance(value, Method):
            method = value
        else:
            model, measure = value if isinstance(value, tuple) else (value, None)
            method = Method(name, model, measure or _measure_of(model))
        if not _NAME.fullmatch(name) or name in ("documents", "fused"):
            raise DataError(f"'{name}' cannot name a method; use letters, digits, - and _, and not documents or fused")
        if not isinstance(method.model, Model) or not hasattr(method.model, "transform"):
            raise DataError(
                f"the model of '{name}' must be one of textmill that transforms texts, got {method.model!r:.80}"
            )
        check_choice("measure", method.measure, ["cosine", "euclidean", "hellinger"])
        result.append(method)
    if not result:
        raise DataError("a collection needs at least one method, such as {'tfidf': TextVectorizer()}")
    if len({method.name for method in result}) < len(result):
        raise DataError("two methods have one name; give each its own")
    return result


def _measure_of(model: Any) -> str:
    return "hellinger" if type(model).__name__ in _MIXTURES else "cosine"
