"""Collections in several languages: a model for each, or one space for all; and vectors that documents bring along.

`LanguageModels` fits a model of its own to the documents of each language. Every language has columns of its own, so
documents of different languages have nothing in common, and all of them are in one index. The language is that of a
field, or what a detector says, or else the one whose vocabulary knows most of the words.

`fit_joint_space` learns one space for two languages or more from documents that say the same in each: the texts of a
pair are one document of an LSA, so words that stand for each other come to lie together, and a text in one language
finds those in the other. Reference: Dumais, Letsche, Littman & Landauer (1997), Automatic cross-language retrieval
using latent semantic indexing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from textmill.corpus import Vocabulary
from textmill.errors import DataError
from textmill.model import Estimator, Model, Transformer, check_fitted, check_range
from textmill.numeric import is_sparse, sparse
from textmill.tasks.similarity.articles import Article
from textmill.topics import LSA
from textmill.vectors import Index, TextVectorizer, Weighting

__all__ = ["FieldVectors", "LanguageModels", "fit_joint_space", "mate_retrieval"]

_MODELS = "vectors.TextVectorizer | topics.LSA | topics.LDA | topics.NMF | topics.PLSA | topics.PCA"


class LanguageModels(Transformer, Model):
    """A model for each language of a collection.

    Parameters:
        model: Model that is copied and fitted for each language; None for a `TextVectorizer`.
        field: Field with the language of a document.
        detector: What tells the language of a text that has no such field: a model with `predict(texts)`, or a function
            from a text to a language; None to choose the vocabulary that knows most words.

    Attributes:
        language_: First language.
        model_: Its model.
        others_: The further languages, again `LanguageModels`, or None.

    >>> from textmill.tasks.similarity import Collection
    >>> words = LanguageModels(model=TextVectorizer(weighting=Weighting(idf="smooth")))
    >>> texts = [("en", "the old mill"), ("en", "corn for the mill"), ("de", "die alte mill am bach")]
    >>> documents = [{"text": text, "language": language} for language, text in texts]
    >>> library = Collection.create("tongues", documents, methods={"words": words})
    >>> library.query(text="the mill").ids
    ['0', '1']
    """

    takes: ClassVar[str] = "texts"
    format_version: ClassVar[int] = 1
    state: ClassVar[dict[str, type]] = {"language_": str, "columns_": int}
    parts: ClassVar[dict[str, str]] = {"model_": _MODELS, "others_": "tasks.similarity.LanguageModels"}

    language_: str
    columns_: int
    model_: Any
    others_: LanguageModels | None

    def __init__(
        self, *, model: Any = None, field: str = "language", detector: Callable[[str], str] | Model | None = None
    ) -> None:
        self.model = model
        self.field = field
        self.detector = detector

    def fit(self, X: Iterable[Any], y: Iterable[str] | None = None) -> LanguageModels:
        """Learn from texts and their languages."""
        if y is None:
            raise DataError("the languages of the texts are needed; pass them as y, or make a collection with a field")
        languages = list(y)
        return self.fit_articles(
            [Article("", "", text, {self.field: one}) for text, one in zip(X, languages, strict=True)]
        )

    def fit_articles(self, articles: Iterable[Article]) -> LanguageModels:
        """Learn from documents, which are read several times."""
        languages = sorted({self._language(article) for article in articles})
        following: LanguageModels | None = None
        for language in reversed(languages):
            head = self if language == languages[0] else LanguageModels(field=self.field)
            prototype = TextVectorizer() if self.model is None else self.model
            head.model_ = _copy(prototype).fit(_OfLanguage(articles, language, self._language))
            head.columns_ = int(head.model_.transform([""]).shape[1])
            head.language_, head.others_ = language, following
            following = head
        return self

    def languages(self) -> list[str]:
        """Return the languages that have a model."""
        return [one.language_ for one in self._chain()]

    def transform(self, X: Iterable[Any]) -> Any:
        """Return the vectors of texts, whose languages are told by the detector or by their words."""
        return self.transform_articles([Article("", "", text) for text in X])

    def transform_articles(self, articles: Sequence[Article]) -> Any:
        """Return the vectors of documents."""
        check_fitted(self)
        spoken = [self._language(article, guess=True) for article in articles]
        blocks = []
        for one in self._chain():
            rows = [i for i, language in enumerate(spoken) if language == one.language_]
            X = one.model_.transform([articles[i].text for i in rows]) if rows else None
            blocks.append(_spread(X, rows, len(articles), one.columns_, is_sparse(self.model_.transform([""]))))
        return sparse.hstack(blocks, format="csr") if is_sparse(blocks[0]) else np.hstack(blocks)

    def _language(self, article: Article, *, guess: bool = False) -> str:
        value = article.fields.get(self.field)
        if isinstance(value, str) and value:
            return value
        if self.detector is not None:
            detect: Any = self.detector
            return str(detect.predict([article.words])[0] if hasattr(detect, "predict") else detect(article.words))
        if guess:
            return max(self._chain(), key=lambda one: _words_known(one.model_, article.text)).language_
        raise DataError(
            f"the document '{article.id}' has no field '{self.field}' with its language; "
            "name the field, or pass a detector"
        )

    def _chain(self) -> Iterator[LanguageModels]:
        one: LanguageModels | None = self
        while one is not None:
            yield one
            one = one.others_


class FieldVectors(Estimator, Model):
    """Vectors that documents bring along in a field, such as embeddings made elsewhere.

    Parameters:
        field: Field with a list of numbers, as many in every document.

    Attributes: columns_, how many.

    >>> FieldVectors(field="v").fit_articles([Article("a", "A", "", {"v": [1.0, 2.0]})]).columns_
    2
    """

    format_version: ClassVar[int] = 1
    state: ClassVar[dict[str, type]] = {"columns_": int}

    columns_: int

    def __init__(self, *, field: str = "vector") -> None:
        self.field = field

    def fit_articles(self, articles: Iterable[Article]) -> FieldVectors:
        """Look at the first document for the number of columns."""
        first = next(iter(articles), None)
        if first is None:
            raise DataError("there are no documents to take vectors from")
        self.columns_ = len(self._vector(first))
        return self

    def transform(self, X: Iterable[Any]) -> Any:
        """Refuse: a text has no such vector."""
        raise DataError(
            f"texts have no vector of the field '{self.field}'; ask by id or by vector, or by another method"
        )

    def transform_articles(self, articles: Sequence[Article]) -> Any:
        """Return the vectors of documents."""
        check_fitted(self)
        rows = [self._vector(article) for article in articles]
        for article, row in zip(articles, rows, strict=True):
            if len(row) != self.columns_:
                raise DataError(
                    f"the document '{article.id}' has {len(row)} numbers in '{self.field}', not {self.columns_}"
                )
        return np.array(rows, np.float64).reshape(len(rows), self.columns_)

    def _vector(self, article: Article) -> list[float]:
        value = article.fields.get(self.field)
        if not article.id and value is None:
            self.transform([])
        if not isinstance(value, list) or not value or not all(isinstance(one, int | float) for one in value):
            raise DataError(f"the document '{article.id}' has no list of numbers in the field '{self.field}'")
        return value


class _OfLanguage:
    """The texts of one language, as often as they are asked for."""

    def __init__(self, articles: Iterable[Article], language: str, language_of: Callable[[Article], str]) -> None:
        self._articles, self._language, self._language_of = articles, language, language_of

    def __iter__(self) -> Iterator[Any]:
        return (one.text for one in self._articles if self._language_of(one) == self._language)


def fit_joint_space(
    pairs: Iterable[Sequence[str]],
    *,
    n_topics: int = 100,
    min_df: int = 2,
    max_df: float = 0.5,
    tokenizer: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> LSA:
    """Return one space for texts in several languages, learned from documents that say the same in each.

    >>> pairs = [("red mill", "rote Mühle"), ("red boat", "rotes Boot"), ("old mill", "alte Mühle")] * 2
    >>> model = fit_joint_space(pairs, n_topics=3, min_df=1, max_df=1.0)
    >>> mate_retrieval(model, ["red mill", "red boat"], ["rote Mühle", "rotes Boot"])
    1.0
    """
    texts = ["\n\n".join(pair) for pair in pairs]
    if len(texts) < 2:
        raise DataError("at least two pairs of documents are needed to learn a space from")
    check_range("n_topics", n_topics, at_least=1, whole=True)
    vocabulary = Vocabulary(tokenizer=tokenizer, min_df=min_df, max_df=max_df, n_jobs=n_jobs)
    vectorizer = TextVectorizer(vocabulary=vocabulary, weighting=Weighting(scheme="ltc", idf="smooth", n_jobs=n_jobs))
    topics = min(n_topics, len(texts) - 1)
    return LSA(n_topics=topics, vectorizer=vectorizer, random_state=random_state, n_jobs=n_jobs).fit(texts)


def mate_retrieval(model: Any, left: Sequence[str], right: Sequence[str]) -> float:
    """Return the share of texts on the left whose nearest text on the right is their mate, at the same place."""
    if len(left) != len(right):
        raise DataError(f"there are {len(left)} texts and {len(right)} mates; pass one each")
    nearest = Index().fit(model.transform(list(right))).query(model.transform(list(left)), k=1)
    return float(np.mean([len(one) > 0 and int(one.ids[0]) == i for i, one in enumerate(nearest)]))


def _copy(model: Any) -> Any:
    parameters = model.get_params(deep=False)
    return type(model)(**{n: _copy(v) if isinstance(v, Estimator) else v for n, v in parameters.items()})


def _words_known(model: Any, text: Any) -> int:
    vectorizer = getattr(model, "vectorizer_", model)
    return int(vectorizer.vocabulary_.rows([text]).data.sum())


def _spread(X: Any, rows: Sequence[int], size: int, columns: int, as_sparse: bool) -> Any:
    """The rows of one language among those of all."""
    if not as_sparse:
        out = np.zeros((size, columns))
        if X is not None:
            out[list(rows)] = X
        return out
    if X is None:
        return sparse.csr_matrix((size, columns))
    places = sparse.csr_matrix((np.ones(len(rows)), (list(rows), np.arange(len(rows)))), shape=(size, len(rows)))
    return places @ X
