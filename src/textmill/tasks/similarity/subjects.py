"""Subject codes from texts: features chosen by how much they tell of the classes, weights `atc`, a classifier, ranks.

    MI(t, c)  = sum over presence and absence of t, c and not c, of p log(p / (p p))      mutual information
    chi2(t, c)= n (AD - BC)^2 / ((A + C)(B + D)(A + B)(C + D))        A..D: documents with and without t, in c and not
    df(t)     = number of documents with t

A term is scored by its best class for `mutual_information` and `chi_square`. Classes are told apart one against the
rest, so a document may have several codes. Confidence: a logistic function of the margin, fitted to documents held out
in turn; for naive Bayes and the neural network their own probabilities, for kNN the share of the scores of neighbors.

References: Rehurek & Sojka (2008), Automated classification and categorization of mathematical knowledge; Yang &
Pedersen (1997), A comparative study on feature selection; Platt (1999).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from textmill.arrays import Floats, Masks
from textmill.corpus import Vocabulary
from textmill.errors import DataError, ModelFileError
from textmill.model import Classifier, Model, check_choice, check_fitted, check_range
from textmill.numeric import sparse
from textmill.optimize import fit_sigmoid, sigmoid
from textmill.tables import Rows
from textmill.vectors import Weighting

__all__ = ["SubjectClassifier", "Suggestion", "feature_scores"]

KINDS = ("svm", "logistic", "bayes", "knn", "network")
SELECTIONS = ("mutual_information", "chi_square", "document_frequency")
_FOLDS = 3


class Suggestion(NamedTuple):
    """A code and the confidence in it, from 0 to 1."""

    code: str
    confidence: float


class SubjectClassifier(Classifier, Model):
    """Suggest subject codes for texts.

    Parameters:
        kind: "svm" (linear), "logistic", "bayes", "knn" or "network" (one hidden layer).
        selection: How features are chosen: "mutual_information", "chi_square" or "document_frequency".
        n_features: Number of features; None for all.
        scheme: Weights of terms in SMART letters.
        vocabulary: A `Vocabulary` with the limits of terms; None for words of at least two documents.
        k: Number of neighbors of "knn".
        hidden: Number of hidden units of "network".
        l2: Strength of the penalty of "svm" and "logistic".
        random_state: Seed of the network and of what is held out.

    Attributes:
        classes_: Codes, sorted, (C,).
        vocabulary_: Fitted vocabulary.
        features_: Columns that were chosen, rising, (F,).
        documents_, frequency_: Number of documents, and of those with each chosen term, (F,).
        weights_, intercepts_: Weights of the classes, (C, F), and intercepts, (C,); of the output layer for a network.
        slope_: Slope and offset of the confidence, (2,).
        several_: Whether documents have several codes.

    >>> texts = ["rings and ideals", "ideals of rings", "graphs and trees", "trees in graphs"] * 3
    >>> model = SubjectClassifier(kind="logistic").fit(texts, ["13", "13", "05", "05"] * 3)
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
        "weights_": "class input",
        "intercepts_": "class",
        "hidden_weights_": "input feature: float64 | None",
        "hidden_intercepts_": "input: float64 | None",
        "slope_": "two",
        "rows_": "row feature: float32 | None",
        "labels_": "row class: bool | None",
    }
    state: ClassVar[dict[str, Any]] = {"documents_": int, "several_": bool}
    parts: ClassVar[dict[str, str]] = {"vocabulary": "corpus.Vocabulary", "vocabulary_": "corpus.Vocabulary"}

    features_: Any
    frequency_: Any
    weights_: Floats
    intercepts_: Floats
    hidden_weights_: Floats | None
    hidden_intercepts_: Floats | None
    slope_: Floats
    rows_: Any
    labels_: Any
    documents_: int
    several_: bool
    vocabulary_: Vocabulary

    def __init__(
        self,
        *,
        kind: str = "svm",
        selection: str = "mutual_information",
        n_features: int | None = None,
        scheme: str = "atc",
        vocabulary: Vocabulary | None = None,
        k: int = 15,
        hidden: int = 64,
        l2: float = 1.0,
        random_state: int = 0,
    ) -> None:
        self.kind = kind
        self.selection = selection
        self.n_features = n_features
        self.scheme = scheme
        self.vocabulary = vocabulary
        self.k = k
        self.hidden = hidden
        self.l2 = l2
        self.random_state = random_state

    def fit(self, X: Iterable[Any], y: Iterable[Any]) -> SubjectClassifier:
        """Learn from texts and their codes: one each, or a list for each."""
        check_choice("kind", self.kind, KINDS)
        check_choice("selection", self.selection, SELECTIONS)
        check_range("k", self.k, at_least=1, whole=True)
        check_range("hidden", self.hidden, at_least=1, whole=True)
        check_range("l2", self.l2, above=0)
        texts, labels = list(X), list(y)
        if len(texts) != len(labels):
            raise DataError(f"there are {len(texts)} texts and {len(labels)} codes; pass one entry each")
        self.several_ = any(isinstance(one, list | tuple | set | frozenset) for one in labels)
        sets = [set(map(str, one)) if isinstance(one, list | tuple | set | frozenset) else {str(one)} for one in labels]
        codes = sorted(set().union(*sets)) if sets else []
        if len(codes) < 2:
            raise DataError("texts of at least two codes are needed to tell them apart")
        Y = np.array([[code in some for code in codes] for some in sets])
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
        self._learn(self._weigh(counts), counts[:, self.features_], Y)
        return self

    def decision_function(self, X: Iterable[Any]) -> Floats:
        """Return the confidence in every code for each text, (n, C)."""
        check_fitted(self)
        counts = self.vocabulary_.transform(list(X))
        return self._confidence(self._weigh(counts), counts[:, self.features_])

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
        """Check that the chosen features are terms; weights of any value are weights."""
        terms = len(self.vocabulary_.terms_)
        if len(self.features_) and not 0 <= self.features_.min() <= self.features_.max() < terms:
            raise ModelFileError(f"'features_' has columns outside of {terms} terms", reason="damaged")

    def _weigh(self, counts: Any) -> Any:
        """Weights of the chosen features; their frequencies are those of training."""
        weighting = Weighting(scheme=self.scheme, idf="smooth")
        weighting.document_frequency_, weighting.documents_ = self.frequency_, self.documents_
        return weighting.transform(counts[:, self.features_])

    def _learn(self, X: Any, counts: Any, Y: Masks) -> None:
        self.hidden_weights_ = self.hidden_intercepts_ = self.rows_ = self.labels_ = None
        self.slope_ = np.array([1.0, 0.0])
        size = X.shape[1]
        if self.kind == "knn":
            self.rows_, self.labels_ = np.asarray(X.todense(), np.float32), Y
            self.weights_, self.intercepts_ = np.zeros((Y.shape[1], 1)), np.zeros(Y.shape[1])
        elif self.kind == "bayes":
            self.weights_, self.intercepts_ = _bayes(counts, Y)
        elif self.kind == "network":
            self._learn_network(X, Y)
        else:
            self.weights_, self.intercepts_ = self._one_against_rest(X, Y)
            margins, truth = self._held_out(X, Y)
            self.slope_ = np.array(fit_sigmoid(margins, truth))
        assert self.weights_.shape[1] in (1, size, self.hidden)

    def _one_against_rest(self, X: Any, Y: Masks) -> tuple[Floats, Floats]:
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import LinearSVC

        weights, intercepts = np.zeros((Y.shape[1], X.shape[1])), np.full(Y.shape[1], -1.0)
        for c in range(Y.shape[1]):
            if not Y[:, c].any() or Y[:, c].all():  # only in a part of the documents
                intercepts[c] = 1.0 if Y[:, c].all() else -1.0
                continue
            if self.kind == "svm":
                model = LinearSVC(C=1 / self.l2, random_state=self.random_state)
            else:
                model = LogisticRegression(C=10 / self.l2, solver="liblinear", random_state=self.random_state)
            model.fit(X, Y[:, c])
            weights[c], intercepts[c] = model.coef_[0], model.intercept_[0]
        return weights, intercepts

    def _held_out(self, X: Any, Y: Masks) -> tuple[Floats, Masks]:
        """Margins of documents that the classifier did not see."""
        fold = np.random.default_rng(self.random_state).permutation(len(Y)) % _FOLDS
        margins = np.zeros(Y.shape)
        for f in range(_FOLDS):
            inside, outside = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
            if len(inside) and len(outside):
                weights, intercepts = self._one_against_rest(X[inside], Y[inside])
                margins[outside] = np.asarray(X[outside] @ weights.T) + intercepts
        return margins.ravel(), Y.ravel()

    def _learn_network(self, X: Any, Y: Masks) -> None:
        import warnings

        from sklearn.exceptions import ConvergenceWarning
        from sklearn.neural_network import MLPClassifier

        target = Y if self.several_ else Y.argmax(axis=1)
        network = MLPClassifier((self.hidden,), alpha=1e-4, max_iter=300, random_state=self.random_state)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            network.fit(X, target)
        self.hidden_weights_, self.hidden_intercepts_ = network.coefs_[0].T.copy(), network.intercepts_[0]
        weights, intercepts = network.coefs_[1].T.copy(), network.intercepts_[1]
        if len(weights) == 1 and Y.shape[1] == 2:  # two classes have one output
            weights, intercepts = np.vstack([-weights, weights]) / 2, np.concatenate([-intercepts, intercepts]) / 2
        self.weights_, self.intercepts_ = weights, intercepts

    def _confidence(self, X: Any, counts: Any) -> Floats:
        if self.kind == "knn":
            return self._votes(X)
        inputs = counts if self.kind == "bayes" else X
        if self.hidden_weights_ is not None:
            inputs = np.maximum(np.asarray(inputs @ self.hidden_weights_.T) + self.hidden_intercepts_, 0.0)
        margins = np.asarray(inputs @ self.weights_.T) + self.intercepts_
        if self.kind in ("bayes", "network") and not self.several_:
            margins -= margins.max(axis=1, keepdims=True)
            powers = np.exp(margins)
            return np.asarray(powers / powers.sum(axis=1, keepdims=True), np.float64)
        if self.kind == "bayes":  # each class against the mean of the others
            margins -= margins.mean(axis=1, keepdims=True)
        return sigmoid(self.slope_[0] * margins + self.slope_[1])

    def _votes(self, X: Any) -> Floats:
        scores = np.asarray(X @ self.rows_.T.astype(np.float64))
        k = min(self.k, scores.shape[1])
        nearest = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        values = np.maximum(np.take_along_axis(scores, nearest, axis=1), 0.0)
        votes = np.einsum("nk,nkc->nc", values, self.labels_[nearest].astype(np.float64))
        total = values.sum(axis=1, keepdims=True)
        shares: Floats = np.divide(votes, total, out=np.full(votes.shape, 1.0 / votes.shape[1]), where=total > 0)
        return shares


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
    n = float(there.shape[0])
    both = np.asarray(there.T @ Y.astype(np.float64))  # (V, C): documents with t in c
    sizes = Y.sum(axis=0).astype(np.float64)
    A, B = both, documents[:, None] - both
    C, D = sizes - both, n - documents[:, None] - sizes + both
    if selection == "chi_square":
        below = (A + C) * (B + D) * (A + B) * (C + D)
        return np.asarray(np.divide(n * (A * D - B * C) ** 2, below, out=np.zeros_like(A), where=below > 0).max(axis=1))
    total = np.zeros_like(A)
    for joint, word, label in ((A, A + B, A + C), (B, A + B, B + D), (C, C + D, A + C), (D, C + D, B + D)):
        ratio = np.divide(joint * n, word * label, out=np.ones_like(joint), where=(joint > 0) & (word * label > 0))
        total += joint / n * np.log(ratio)
    return np.asarray(np.maximum(total, 0.0).max(axis=1))


def _bayes(counts: Any, Y: Masks) -> tuple[Floats, Floats]:
    """Weights of multinomial naive Bayes: log probabilities of words, and of classes."""
    totals = np.asarray(Y.T.astype(np.float64) @ counts) + 0.1
    prior = Y.sum(axis=0) / Y.sum()
    return np.log(totals / totals.sum(axis=1, keepdims=True)), np.log(np.maximum(prior, 1e-12))
