"""Subject codes from texts: features chosen by how much they tell of the classes, weights `atc`, a classifier, ranks.

    MI(t, c)  = sum over presence and absence of t, c and not c, of p log(p / (p p))      mutual information
    chi2(t, c)= n (AD - BC)^2 / ((A + C)(B + D)(A + B)(C + D))        A..D: documents with and without t, in c and not
    df(t)     = number of documents with t

A term is scored by its best class for `mutual_information` and `chi_square`. Each class is told from the rest by a
classifier of `linear`, so a document may have several codes. Confidence is the probability of the logistic regression;
naive Bayes is too sure of itself, so its margins pass a logistic curve that is fitted to documents held out in turn.
For kNN it is the share of the scores of the neighbors, which an index of the sparse rows finds.

Cost: a training for each class, of naive Bayes also for each fold; the model has classes x features weights, or for kNN
the rows of training.
References: Rehurek & Sojka (2008), Automated classification and categorization of mathematical knowledge; Yang &
Pedersen (1997), A comparative study on feature selection; Platt (1999).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from textmill.arrays import Floats, Ints, Masks
from textmill.corpus import Vocabulary
from textmill.errors import DataError, ModelFileError
from textmill.linear import LogisticRegression, NaiveBayes, mutual_information
from textmill.model import Classifier, Model, check_choice, check_fitted, check_range
from textmill.numeric import sparse
from textmill.optimize import fit_sigmoid, sigmoid
from textmill.selection import deal_folds, held_out
from textmill.tables import Rows
from textmill.vectors import Index, Weighting

__all__ = ["SubjectClassifier", "Suggestion", "feature_scores"]

KINDS = ("logistic", "bayes", "knn")
SELECTIONS = ("mutual_information", "chi_square", "document_frequency")
_FOLDS = 3


class Suggestion(NamedTuple):
    """A code and the confidence in it, from 0 to 1."""

    code: str
    confidence: float


class SubjectClassifier(Classifier, Model):
    """Suggest subject codes for texts.

    Parameters:
        kind: "logistic" (regression), "bayes" (naive, multinomial) or "knn".
        selection: How features are chosen: "mutual_information", "chi_square" or "document_frequency".
        n_features: Number of features; None for all.
        scheme: Weights of terms in SMART letters.
        vocabulary: A `Vocabulary` with the limits of terms; None for words of at least two documents.
        k: Number of neighbors of "knn".
        l2: Penalty of "logistic".
        random_state: Seed of what is held out for "bayes".
        n_jobs: Threads; None for all cores. The model is the same for any number.

    Attributes:
        classes_: Codes, sorted, (C,).
        vocabulary_: Fitted vocabulary.
        features_: Columns that were chosen, rising, (F,).
        documents_, frequency_: Number of documents, and of those with each chosen term, (F,).
        weights_, intercepts_: Weights of the classes, (C, F), and intercepts, (C,); None for kNN.
        slope_: Slope and offset of the confidence, (2,).
        index_: For kNN the index of the documents, else None; labels_ and ends_ are their classes, one after the other,
            and where those of each document end.
        several_: Whether documents have several codes.

    >>> texts = ["rings and ideals", "ideals of rings", "graphs and trees", "trees in graphs"] * 3
    >>> model = SubjectClassifier().fit(texts, ["13", "13", "05", "05"] * 3)
    >>> model.predict(["a tree of graphs", "rings"]).tolist()
    ['05', '13']
    >>> model.suggest("graphs", k=1)[0].code
    '05'
    """

    takes: ClassVar[str] = "texts"
    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "features_": "feature: int64",
        "frequency_": "feature: int64",
        "weights_": "class feature: float64 | None",
        "intercepts_": "class: float64 | None",
        "slope_": "two",
        "labels_": "label: int64 | None",
        "ends_": "row: int64 | None",
    }
    state: ClassVar[dict[str, Any]] = {"documents_": int, "several_": bool}
    parts: ClassVar[dict[str, str]] = {
        "vocabulary": "corpus.Vocabulary",
        "vocabulary_": "corpus.Vocabulary",
        "index_": "vectors.Index",
    }

    features_: Ints
    frequency_: Ints
    weights_: Floats | None
    intercepts_: Floats | None
    slope_: Floats
    index_: Index | None
    labels_: Ints | None
    ends_: Ints | None
    documents_: int
    several_: bool
    vocabulary_: Vocabulary

    def __init__(
        self,
        *,
        kind: str = "logistic",
        selection: str = "mutual_information",
        n_features: int | None = None,
        scheme: str = "atc",
        vocabulary: Vocabulary | None = None,
        k: int = 15,
        l2: float = 0.1,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.kind = kind
        self.selection = selection
        self.n_features = n_features
        self.scheme = scheme
        self.vocabulary = vocabulary
        self.k = k
        self.l2 = l2
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Iterable[Any], y: Iterable[Any]) -> SubjectClassifier:
        """Learn from texts and their codes: one each, or a list for each."""
        check_choice("kind", self.kind, KINDS)
        check_choice("selection", self.selection, SELECTIONS)
        check_range("k", self.k, at_least=1, whole=True)
        check_range("l2", self.l2, above=0)
        texts, labels = list(X), list(y)
        if len(texts) != len(labels):
            raise DataError(f"there are {len(texts)} texts and {len(labels)} codes; pass one entry each")
        self.several_ = any(isinstance(one, list | tuple | set | frozenset) for one in labels)
        sets = [set(map(str, one)) if isinstance(one, list | tuple | set | frozenset) else {str(one)} for one in labels]
        codes = sorted(set().union(*sets)) if sets else []
        if len(codes) < 2:
            raise DataError("texts of at least two codes are needed to tell them apart")
        place = {code: c for c, code in enumerate(codes)}
        Y = np.zeros((len(sets), len(codes)), bool)
        for row, some in zip(Y, sets, strict=True):
            row[[place[code] for code in some]] = True
        parameters = {"min_df": 2} if self.vocabulary is None else self.vocabulary.get_params(deep=False)
        vocabulary = Vocabulary(**parameters)
        counts = vocabulary.fit_transform(texts)
        if not counts.shape[1]:
            raise DataError("no words are left: the texts are empty, or the limits of the vocabulary leave none")
        scores = feature_scores(counts, Y, self.selection)
        size = counts.shape[1] if self.n_features is None else min(self.n_features, counts.shape[1])
        self.features_ = np.sort(np.argsort(-scores, kind="stable")[:size]).astype(np.int64)
        self.vocabulary_, self.documents_ = vocabulary, len(texts)
        self.frequency_ = vocabulary.document_frequency_[self.features_]
        self.classes_ = np.array(codes)
        self._learn(counts, Y)
        return self

    def decision_function(self, X: Iterable[Any]) -> Floats:
        """Return the confidence in every code for each text, (n, C)."""
        check_fitted(self)
        inputs = self._inputs(self.vocabulary_.transform(list(X)))
        if self.index_ is not None:
            return self._votes(inputs)
        assert self.weights_ is not None
        assert self.intercepts_ is not None
        return sigmoid(self.slope_[0] * (np.asarray(inputs @ self.weights_.T) + self.intercepts_) + self.slope_[1])

    def predict(self, X: Iterable[Any]) -> Any:
        """Return the code of each text, or where documents have several, lists of those above one half, at least
        one."""
        confidence = self.decision_function(X)
        codes = self.classes_.tolist()
        if not self.several_:
            return np.array([codes[int(i)] for i in confidence.argmax(axis=1)])
        chosen = [[codes[j] for j in np.flatnonzero(row > 0.5)] or [codes[int(row.argmax())]] for row in confidence]
        out = np.empty(len(chosen), object)
        out[:] = chosen
        return out

    def suggest(self, text: Any, *, k: int = 5) -> Rows[Suggestion]:
        """Return the k codes that suit a text best, with the confidence in each."""
        check_range("k", k, at_least=1, whole=True)
        row = self.decision_function([text])[0]
        order = np.argsort(-row, kind="stable")[:k]
        return Rows([Suggestion(str(self.classes_[i]), float(row[i])) for i in order], Suggestion)

    def check_values(self) -> None:
        """Check that the chosen features are terms, and that an index has rows of them with labels of classes."""
        terms = len(self.vocabulary_.terms_)
        if len(self.features_) and not 0 <= self.features_.min() <= self.features_.max() < terms:
            raise ModelFileError(f"'features_' has columns outside of {terms} terms", reason="damaged")
        if (self.kind == "knn") != (self.index_ is not None) or (self.index_ is None) != (self.weights_ is not None):
            raise ModelFileError("a classifier has either weights or an index, and this one has not", reason="damaged")
        if self.index_ is None:
            return
        labels, ends = self.labels_, self.ends_
        if labels is None or ends is None or len(ends) != len(self.index_):
            raise ModelFileError("'ends_' has not one entry for each row of the index", reason="damaged")
        bounds = np.concatenate([[0], ends])
        if (np.diff(bounds) < 0).any() or bounds[-1] != len(labels) or self.index_.columns_ != len(self.features_):
            raise ModelFileError("'ends_' does not rise to the number of labels", reason="damaged")
        if len(labels) and not 0 <= labels.min() <= labels.max() < len(self.classes_):
            raise ModelFileError("'labels_' has classes that are not there", reason="damaged")
        if not np.array_equal(self.index_.ids_, np.arange(len(ends))):
            raise ModelFileError("the index has ids that are not those of rows", reason="damaged")

    def _inputs(self, counts: Any) -> Any:
        """What the classifier takes: weights of the chosen features, by frequencies of training; for bayes counts."""
        chosen = sparse.csr_matrix(counts[:, self.features_])
        if self.kind == "bayes":
            return chosen
        weighting = Weighting(scheme=self.scheme, idf="smooth", n_jobs=self.n_jobs)
        weighting.document_frequency_, weighting.documents_ = self.frequency_, self.documents_
        return weighting.transform(chosen)

    def _learn(self, counts: Any, Y: Masks) -> None:
        self.weights_ = self.intercepts_ = self.index_ = self.labels_ = self.ends_ = None
        self.slope_ = np.array([1.0, 0.0])
        inputs = self._inputs(counts)
        if self.kind == "knn":
            self.index_ = Index(n_jobs=self.n_jobs).fit(inputs)
            self.labels_ = np.nonzero(Y)[1].astype(np.int64)
            self.ends_ = np.cumsum(Y.sum(axis=1)).astype(np.int64)
            return

        def margins(train: Ints, test: Ints) -> Floats:
            weights, intercepts = self._one_against_rest(inputs[train], Y[train])
            return np.asarray(inputs[test] @ weights.T) + intercepts

        self.weights_, self.intercepts_ = self._one_against_rest(inputs, Y)
        if self.kind == "bayes" and len(Y) >= _FOLDS:
            folds = deal_folds(np.zeros(len(Y)), _FOLDS, random_state=self.random_state)
            self.slope_ = np.array(fit_sigmoid(held_out(margins, folds).ravel(), Y.ravel()))

    def _one_against_rest(self, X: Any, Y: Masks) -> tuple[Floats, Floats]:
        """Weights and intercepts of each class against the others; a class of all or no documents has an intercept."""
        weights, intercepts = np.zeros((Y.shape[1], X.shape[1])), np.where(Y.all(axis=0), 1.0, -1.0)
        for c in np.flatnonzero(Y.any(axis=0) & ~Y.all(axis=0)):
            if self.kind == "logistic":
                model = LogisticRegression(l2=self.l2, tolerance=1e-3, n_jobs=self.n_jobs).fit(X, Y[:, c])
                weights[c], intercepts[c] = model.coef_[0], model.intercept_[0]
            else:
                bayes = NaiveBayes(event="multinomial", n_jobs=self.n_jobs).fit(X, Y[:, c])
                odds = np.log(bayes.first_)
                weights[c, bayes.words_] = odds[:, 1] - odds[:, 0]
                intercepts[c] = bayes.log_prior_[1] - bayes.log_prior_[0]
        return weights, intercepts

    def _votes(self, X: Any) -> Floats:
        """The share of each class in the scores of the nearest documents; without any, the same share for all."""
        assert self.index_ is not None
        assert self.labels_ is not None
        assert self.ends_ is not None
        votes = np.zeros((X.shape[0], len(self.classes_)))
        begins = np.concatenate([[0], self.ends_[:-1]])
        for row, near in zip(votes, self.index_.query(X, k=self.k), strict=True):
            for document, score in zip(near.ids.tolist(), np.maximum(near.scores, 0.0).tolist(), strict=True):
                row[self.labels_[begins[document] : self.ends_[document]]] += score
            total = float(np.maximum(near.scores, 0.0).sum())
            row[:] = np.minimum(row / total, 1.0) if total > 0 else 1.0 / len(row)
        return votes


def feature_scores(counts: Any, Y: Masks, selection: str = "mutual_information") -> Floats:
    """Return how much each term tells of the classes; `counts` (n, V) sparse, `Y` (n, C) truth.

    >>> counts = sparse.csr_matrix([[1, 1], [1, 0], [0, 1], [0, 0]])
    >>> Y = np.array([[True, False], [True, False], [False, True], [False, True]])
    >>> feature_scores(counts, Y).round(4).tolist(), feature_scores(counts, Y, "chi_square").tolist()
    ([0.6931, 0.0], [4.0, 0.0])
    """
    there = sparse.csr_matrix(counts).astype(bool).astype(np.float64)
    documents = np.asarray(there.sum(axis=0)).ravel()
    if selection == "document_frequency":
        return documents
    n = there.shape[0]
    scores = np.zeros(there.shape[1])
    for c in range(Y.shape[1]):  # a class at a time: no table of terms x classes
        size = int(Y[:, c].sum())
        inside = np.asarray(there[Y[:, c]].sum(axis=0)).ravel()
        outside = documents - inside
        if selection == "mutual_information":
            information = mutual_information(np.stack([inside, outside]), [size, n - size])
        else:
            below = documents * (n - documents) * float(size * (n - size))
            cross = inside * (n - size - outside) - outside * (size - inside)
            information = np.divide(n * cross**2, below, out=np.zeros(len(below)), where=below > 0)
        scores = np.maximum(scores, information)
    return scores
