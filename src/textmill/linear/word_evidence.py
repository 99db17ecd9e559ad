"""What the words of a naive Bayes classifier say: for a class, for one text, and with which parameters.

One occurrence of word w in a text of n tokens adds log F_wc(1 | n) - log F_wc(0 | n) to the score of class c; what it
says for c is that less the most that it adds to another class. For one text the differences of the two best classes,
word by word, with what absent words and the prior say, add up to the difference of the log probabilities.

Cost: one score of every word; for a text one of each of its words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from textmill.errors import DataError
from textmill.linear.classifier import Weights
from textmill.numeric import sparse
from textmill.tables import Table

if TYPE_CHECKING:
    from textmill.linear.bayes import NaiveBayes

__all__ = ["Contributions", "Topicality", "explained", "parameters_of_words", "strongest_words"]


class Topicality(Table):
    """Parameters of words in one class, a row each: feature, documents, occurrences, first, second, z, information."""

    def __init__(self, table: dict[str, list[Any]]) -> None:
        self.table = table

    def columns(self) -> dict[str, list[Any]]:
        """Return feature, label, documents, occurrences, the parameters and information."""
        return self.table


class Contributions(Table):
    """What the words of one text say: `label` against `against`; features, counts and weights, the strongest first.

    `absent` is what the words that are not there say together, `prior` what the sizes of the classes say; all of them
    add up to the difference of the log probabilities.
    """

    def __init__(
        self,
        labels: tuple[Any, Any],
        features: list[str],
        counts: list[float],
        weights: list[float],
        rest: tuple[float, float],
    ) -> None:
        self.label, self.against = labels
        self.features, self.counts, self.weights = features, counts, weights
        self.absent, self.prior = rest

    def columns(self) -> dict[str, list[Any]]:
        """Return feature, count and weight."""
        return {"feature": self.features, "count": self.counts, "weight": self.weights}


def strongest_words(model: NaiveBayes, k: int) -> Weights:
    """Words that speak most for each class, ranked by what they say times their share of texts."""
    size = len(model.words_)
    one = sparse.csr_matrix(np.eye(1)) if size == 1 else sparse.identity(size, format="csr")
    mean = max(1.0, round(float(model.tokens_.sum() / max(model.texts_.sum(), 1.0))))
    gains = model._words_scores(one, np.full(size, mean), np.zeros(size, np.int32), 1)[0]
    names = model.feature_names()
    share = (model.documents_ / np.maximum(model.texts_, 1.0)[:, None])[:, model.words_]
    labels, features, weights = [], [], []
    for c in range(len(model.classes_)):
        others = np.delete(gains, c, axis=1)
        above = gains[:, c] - (others.max(axis=1) if others.size else 0.0)
        ranked = share[c] * above
        for j in np.argsort(-ranked, kind="stable")[:k]:
            if ranked[j] <= 0:
                break
            labels.append(_plain(model.classes_[c]))
            features.append(_name(names, int(model.words_[j])))
            weights.append(float(above[j]))
    return Weights(labels, features, weights)


def explained(model: NaiveBayes, X: Any, exposure: ArrayLike | None) -> list[Contributions]:
    """What the words of each text say for the best class against the second best."""
    if len(model.classes_) < 2:
        raise DataError("the model has one class only, so there is nothing to explain")
    rows, lengths = model._rows(X, exposure)
    names = model.feature_names()
    bucket = np.zeros(len(model.words_), np.int32)
    scores = model._scores(rows, lengths, bucket, 1)[0] + model.log_prior_
    selected = rows[:, model.words_] if len(model.words_) < model.n_features_ else rows
    out = []
    for i in range(rows.shape[0]):
        second, best = np.argsort(scores[i], kind="stable")[-2:]
        begin, end = selected.indptr[i : i + 2]
        columns, counts = selected.indices[begin:end], selected.data[begin:end]
        single = sparse.csr_matrix(
            (counts, columns, np.arange(len(columns) + 1)), shape=(len(columns), len(model.words_))
        )
        each = model._words_scores(single, np.full(len(columns), lengths[i]), bucket, 1)[0]
        weights = each[:, best] - each[:, second]
        prior = float(model.log_prior_[best] - model.log_prior_[second])
        absent = float(scores[i, best] - scores[i, second]) - prior - float(weights.sum())
        order = np.argsort(-np.abs(weights), kind="stable")
        out.append(
            Contributions(
                (_plain(model.classes_[best]), _plain(model.classes_[second])),
                [_name(names, int(model.words_[columns[j]])) for j in order],
                [float(counts[j]) for j in order],
                [float(weights[j]) for j in order],
                (absent, prior),
            )
        )
    return out


def parameters_of_words(model: NaiveBayes, label: Any, k: int | None) -> Topicality:
    """Parameters of the most informative words in one class."""
    if label not in model.classes_.tolist():
        raise DataError(f"there is no class {label!r}; there are {model.classes_.tolist()}")
    c = model.classes_.tolist().index(label)
    names = model.feature_names()
    order = model.ranking()[:k]
    columns = model.words_[order]
    is_rate = "poisson" in model.event or "negbinom" in model.event
    first = "theta" if model.event == "multinomial" else "mu" if is_rate else "p"
    table: dict[str, list[Any]] = {
        "feature": [_name(names, int(j)) for j in columns],
        "documents": model.documents_[c, columns].tolist(),
        "occurrences": model.occurrences_[c, columns].tolist(),
        first: model.first_[order, c].tolist(),
    }
    if "betabinom" in model.event or "negbinom" in model.event:
        table["gamma" if "betabinom" in model.event else "kappa"] = model.second_[order, c].tolist()
    if model.event.startswith("zi"):
        table["z"] = model.z_[order, c].tolist()
    table["information"] = model.information_[columns].tolist()
    return Topicality(table)


def _name(names: list[str] | None, column: int) -> str:
    return str(column) if names is None else names[column]


def _plain(label: Any) -> Any:
    return label.item() if hasattr(label, "item") else label
