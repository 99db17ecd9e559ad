"""From texts to weighted vectors, in one estimator: cut into terms, count, weigh.

    text -> tokens (`Tokenizer`) -> counts (`Vocabulary`) -> weights (`Weighting`)

Passes over the documents: `fit` one, `transform` and `vectors` one, `fit_transform` one, because it keeps the counts,
`fit_vectors` two, because it keeps nothing but the vocabulary, whatever the length of the stream.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill.corpus import Vocabulary, check_bags, is_formula
from textmill.errors import DataError
from textmill.model import Model, StringTable, Transformer, check_fitted, check_range
from textmill.model.file import Saved
from textmill.numeric import SparseRows, sparse
from textmill.vectors.weighting import Vectors, Weighting

__all__ = ["TextVectorizer"]


class TextVectorizer(Transformer, Model):
    """Turn documents, texts or lists of tokens, into rows of term weights.

    Both parts are copied, not fitted themselves; their parameters can be set as `vocabulary__min_df`,
    `weighting__scheme`.

    Parameters:
        vocabulary: A `Vocabulary` whose parameters say how documents are cut and which terms are kept; None for its
            defaults.
        weighting: A `Weighting` whose parameters say how terms are weighed; None for its defaults (TF-IDF).
        formula_weight: Factor of the weights of formulas, terms such as $x_i$, before rows are normalized; 0 leaves
            them out.

    Attributes:
        vocabulary_: Fitted vocabulary; the next attributes are its own.
        terms_: Terms by column, (V,).
        document_frequency_: Number of documents with each term, (V,).
        documents_: Number of documents.
        stop_words_: Function words that were recognized and left out.
        weighting_: Weighting by its frequencies.

    >>> vectorizer = TextVectorizer(weighting=Weighting(idf="smooth"))
    >>> vectorizer.fit_transform(["to be", "to do"]).toarray().round(4).tolist()
    [[0.5797, 0.8148, 0.0], [0.5797, 0.0, 0.8148]]
    >>> [[term for term, weight in row] for row in vectorizer.inverse(vectorizer.transform(["do be do", "to"]), k=2)]
    [['do', 'be'], ['to']]
    """

    takes: ClassVar[str] = "texts"
    format_version: ClassVar[int] = 3
    parts: ClassVar[dict[str, str]] = {
        "vocabulary": "corpus.Vocabulary",
        "weighting": "vectors.Weighting",
        "vocabulary_": "corpus.Vocabulary",
    }

    vocabulary_: Vocabulary

    def __init__(
        self,
        *,
        vocabulary: Vocabulary | None = None,
        weighting: Weighting | None = None,
        formula_weight: float = 1.0,
    ) -> None:
        self.vocabulary = vocabulary
        self.weighting = weighting
        self.formula_weight = formula_weight

    @classmethod
    def of(cls, vocabulary: Vocabulary, weighting: Weighting | None = None) -> TextVectorizer:
        """Return the vectorizer of a corpus whose terms are counted already.

        >>> vectorizer = TextVectorizer.of(Vocabulary().fit(["to be"]), Weighting(scheme="nnn"))
        >>> vectorizer.transform(["be be"]).toarray().tolist()
        [[0.0, 2.0]]
        """
        check_fitted(vocabulary)
        settings = Vocabulary(**vocabulary.get_params(deep=False))
        return cls(vocabulary=settings, weighting=weighting)._take(vocabulary)

    def fit(self, documents: Iterable[Any], y: object = None, **options: Any) -> TextVectorizer:
        """Count the terms of a stream of documents in one pass; `options` go to `Vocabulary.fit`."""
        return self._take(self._new_vocabulary().fit(documents, **options))

    def fit_transform(self, documents: Iterable[Any], y: object = None, **options: Any) -> sparse.csr_matrix:
        """Count the terms and return the vectors of the same documents, in one pass."""
        vocabulary = self._new_vocabulary()
        X = vocabulary.fit_transform(documents, **options)
        return self._take(vocabulary).weighting_.transform(X)

    def transform(self, documents: Iterable[Any]) -> sparse.csr_matrix:
        """Return the vectors of documents."""
        return self.weighting_.transform(self.vocabulary_.transform(documents))

    def rows(self, documents: Iterable[Any]) -> SparseRows:
        """Return the vectors of documents as plain arrays, for small jobs that need no SciPy.

        >>> TextVectorizer().fit(["to be", "or not", "to do"]).rows(["not", "two mills"]).indptr.tolist()
        [0, 1, 1]
        """
        return self.weighting_.rows(self.vocabulary_.rows(documents))

    def transform_query(self, documents: Iterable[Any]) -> sparse.csr_matrix:
        """Return the vectors of queries, weighed by the scheme for queries.

        >>> vectorizer = TextVectorizer(weighting=Weighting(scheme="nnn.bnc")).fit(["to be", "or not to be"])
        >>> vectorizer.transform_query(["not not to"]).toarray().round(4).tolist()
        [[0.7071, 0.0, 0.0, 0.7071]]
        """
        return self.weighting_.transform_query(self.vocabulary_.transform(documents))

    def vectors(self, documents: Iterable[Any]) -> Vectors:
        """Return the vectors as a stream of CSR chunks that are made as they are read.

        The stream tells what it met: `vectors.documents`, `vectors.bags.unknown` and more.

        >>> vectors = TextVectorizer(weighting=Weighting(scheme="nnc")).fit(["to be"]).vectors(["be", "or not to be"])
        >>> [chunk.toarray().round(4).tolist() for chunk in vectors], vectors.bags.unknown
        ([[[0.0, 1.0], [0.7071, 0.7071]]], 2)
        """
        return Vectors(self.weighting_, self.vocabulary_.bags(documents), source=documents)

    def fit_vectors(self, documents: Iterable[Any], **options: Any) -> Vectors:
        """Count the terms in one pass and return the stream of vectors, which reads the documents again.

        >>> TextVectorizer().fit_vectors(text for text in ["to be"])
        Traceback (most recent call last):
        textmill.errors.DataError: fit_vectors needs 2 passes but a generator can be read once; pass a list ...
        """
        if iter(documents) is documents:
            raise DataError(
                "fit_vectors needs 2 passes but a generator can be read once; pass a list or a reader of files, "
                "or use fit_transform, which keeps all in memory"
            )
        return self.fit(documents, **options).vectors(documents)

    def inverse(self, X: Any, *, k: int = 10) -> list[list[tuple[str, float]]]:
        """Return for each row the terms of the `k` largest weights with these, ties in the order of the columns."""
        check_range("k", k, at_least=1, whole=True)
        check_fitted(self)
        X = check_bags(X, negative=True)
        if X.shape[1] != len(self.terms_):
            raise DataError(
                f"X has {X.shape[1]} columns but there are {len(self.terms_)} terms; pass vectors made here"
            )
        rows = []
        for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            weights, columns = X.data[begin:end], X.indices[begin:end]
            best = [i for i in np.argsort(-weights, kind="stable") if weights[i] != 0][:k]
            rows.append([(self.terms_[int(columns[i])], float(weights[i])) for i in best])
        return rows

    def inverse_transform(self, X: Any) -> list[list[str]]:
        """Return the terms of each row, in the order of their columns; `inverse` has weights with them.

        >>> vectorizer = TextVectorizer(weighting=Weighting(idf="smooth")).fit(["to be", "or not"])
        >>> vectorizer.inverse_transform(vectorizer.transform(["not to"]))
        [['to', 'not']]
        """
        return self.vocabulary_.inverse_transform(X)

    def merge(self, other: TextVectorizer) -> TextVectorizer:
        """Return the vectorizer of both corpora together, exactly; see `Vocabulary.merge`.

        >>> TextVectorizer().fit(["to be"]).merge(TextVectorizer().fit(["be good"])).document_frequency_.tolist()
        [1, 2, 1]
        """
        merged = TextVectorizer(**self.get_params(deep=False))
        return merged._take(self.vocabulary_.merge(other.vocabulary_))

    @property
    def terms_(self) -> StringTable:
        """The terms by column."""
        return self.vocabulary_.terms_

    @property
    def document_frequency_(self) -> NDArray[np.int64]:
        """The number of documents with each term."""
        return self.vocabulary_.document_frequency_

    @property
    def documents_(self) -> int:
        """The number of documents."""
        return self.vocabulary_.documents_

    @property
    def removed_(self) -> dict[str, dict[str, int]]:
        """What was left out, by rule: types and tokens."""
        return self.vocabulary_.removed_

    @property
    def stop_words_(self) -> list[str]:
        """The function words that were recognized and left out."""
        return self.vocabulary_.stop_words_

    @property
    def weighting_(self) -> Weighting:
        """The weighting by the frequencies of the vocabulary."""
        check_fitted(self)
        cached = vars(self).get("_weighting")
        if cached is None or cached[0] is not self.vocabulary_:
            weighting = Weighting.of(self.vocabulary_, **self._weighting_parameters())
            if self.formula_weight != 1:
                formulas = np.array([is_formula(term) for term in self.vocabulary_.terms_], np.bool_)
                weighting.factors = np.where(formulas, self.formula_weight, 1.0)
            cached = self._weighting = (self.vocabulary_, weighting)
        return cached[1]

    @classmethod
    def upgrade(cls, saved: Saved) -> Saved:
        """Formats 1 and 2 held what the fitted vocabulary had counted, each as the `Vocabulary` of its time."""
        if saved.fitted:
            settings = saved.parts.get("vocabulary") or Saved("corpus.Vocabulary", saved.format)
            saved.parts["vocabulary_"] = replace(settings, fitted=True, state=saved.state, arrays=saved.arrays)
            saved.state, saved.arrays = {}, {}
        saved.format = 3
        return saved

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the terms by column, as scikit-learn asks for them."""
        return self.vocabulary_.get_feature_names_out()

    def _new_vocabulary(self) -> Vocabulary:
        """An unfitted vocabulary; all parameters are checked before a long pass begins."""
        for name, kind, example in (
            ("vocabulary", Vocabulary, "Vocabulary(min_df=2)"),
            ("weighting", Weighting, "Weighting(scheme='ntc')"),
        ):
            part = getattr(self, name)
            if part is not None and not isinstance(part, kind):
                raise DataError(f"{name} must be a {kind.__name__}, such as {example}, got {part!r}")
        Weighting(**self._weighting_parameters()).schemes()
        check_range("formula_weight", self.formula_weight, at_least=0, below=np.inf)
        return Vocabulary() if self.vocabulary is None else self.vocabulary.__sklearn_clone__()

    def _weighting_parameters(self) -> dict[str, Any]:
        return {} if self.weighting is None else self.weighting.get_params(deep=False)

    def _take(self, vocabulary: Vocabulary) -> TextVectorizer:
        """Become fitted by what a vocabulary counted."""
        self.vocabulary_ = vocabulary
        _ = self.weighting_  # refuses a scheme that does not fit, now
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_weighting"}
