"""What became of the topics: two models compared, topic by topic.

    hellinger    sqrt(1/2 sum_w (sqrt p_w - sqrt q_w)^2)              0 to 1
    js           Jensen-Shannon divergence, nats                      0 to log 2
    kl           sum_w p_w log(p_w / q_w), p of the first model       over the terms that both models have
    jaccard      1 - common / all of the first words of two topics    0 to 1

Topics have no order, so each topic of one model is paired with one of the other such that the distances of all pairs
sum to the least; the distance of a pair is its drift. Models may have different vocabularies, whose terms are matched
by name: a term that one of them lacks has probability 0 there.

Cost: O(k1 k2 m) for the distances, O(k^3) for the pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.model import check_choice, check_fitted, check_range
from textmill.numeric import sparse
from textmill.tables import Rows, Table
from textmill.topics.model import TopicModel
from textmill.vectors import pairwise_matrix

__all__ = ["Difference", "Drift", "topic_difference"]


class Drift(NamedTuple):
    """A topic of the first model, the one of the second it is paired with, how far they are apart, and their words."""

    first: int
    second: int
    distance: float
    common: list[str]
    lost: list[str]
    gained: list[str]


@dataclass(frozen=True, slots=True, repr=False)
class Difference(Table):
    """Distances (k1, k2) of all topics of two models, and the pairs of topics, the nearest pair first."""

    distances: Floats
    pairs: list[Drift]

    def columns(self) -> dict[str, list[Any]]:
        """Return the pairs, the nearest first; topics are counted from 1."""
        table: dict[str, list[Any]] = Rows(self.pairs, Drift).columns()
        return table | {name: [topic + 1 for topic in table[name]] for name in ("first", "second")}


def topic_difference(
    one: TopicModel,
    other: TopicModel,
    *,
    measure: str = "hellinger",
    n_words: int = 10,
    terms: tuple[Sequence[str], Sequence[str]] | None = None,
) -> Difference:
    """Compare two models by the words of their topics.

    `n_words` are the words of a topic that jaccard compares and that pairs report; `terms`, the names of the columns of
    both models, is needed where a model has no vectorizer and the columns of the two are not the same terms.

    >>> from textmill.topics import PLSA
    >>> X = np.array([[3, 2, 0, 0], [2, 3, 0, 0], [0, 0, 4, 1], [0, 0, 1, 2]])
    >>> one, other = (PLSA(n_topics=2, random_state=seed).fit(X) for seed in (0, 1))
    >>> difference = topic_difference(one, other)
    >>> [round(pair.distance, 3) for pair in difference.pairs], difference.distances.shape
    ([0.0, 0.0], (2, 2))
    """
    from scipy.optimize import linear_sum_assignment

    check_choice("measure", measure, ["hellinger", "js", "kl", "jaccard"])
    check_range("n_words", n_words, at_least=1, whole=True)
    rows, names = _aligned(one, other, terms)
    first = [np.argsort(-part, axis=1, kind="stable")[:, :n_words] for part in rows]
    if measure == "jaccard":
        chosen = [_marked(words, part.shape[1]) for words, part in zip(first, rows, strict=True)]
        distances = 1.0 - pairwise_matrix(*chosen, measure="jaccard")
    else:
        if measure == "kl":
            rows = _on_common_terms(rows)
        distances = pairwise_matrix(*rows, measure=measure)
    finite = np.where(np.isfinite(distances), distances, 1e6)
    pairs = []
    for i, j in zip(*linear_sum_assignment(finite), strict=True):
        mine, theirs = ([names[int(w)] for w in words[t]] for words, t in zip(first, (i, j), strict=True))
        common = [word for word in mine if word in theirs]
        lost, gained = [w for w in mine if w not in theirs], [w for w in theirs if w not in mine]
        pairs.append(Drift(int(i), int(j), float(distances[i, j]), common, lost, gained))
    return Difference(np.asarray(distances, dtype=np.float64), sorted(pairs, key=lambda pair: pair.distance))


def _aligned(
    one: TopicModel, other: TopicModel, terms: tuple[Sequence[str], Sequence[str]] | None
) -> tuple[list[Floats], list[str]]:
    """The topics of both models as distributions over the terms of either, and these terms."""
    models = (one, other)
    for model in models:
        check_fitted(model)
        if model.components_.min(initial=0) < 0:
            raise DataError(
                f"the topics of {type(model).__name__} are directions, not distributions; compare LDA or PLSA"
            )
    if terms is None:
        vocabularies = [None if model.vectorizer_ is None else model.vectorizer_.terms_.to_list() for model in models]
    else:
        vocabularies = [list(part) for part in terms]
    columns = [model.components_.shape[1] for model in models]
    if vocabularies[0] is None or vocabularies[1] is None:
        if columns[0] != columns[1]:
            raise DataError(
                f"the models have {columns[0]} and {columns[1]} columns without names for both; pass terms=(..., ...)"
            )
        names = vocabularies[0] or vocabularies[1] or [str(column) for column in range(columns[0])]
        return [_distributions(model.components_) for model in models], list(names)
    cut = [part[:size] for part, size in zip((vocabularies[0], vocabularies[1]), columns, strict=True)]
    if [len(part) for part in cut] != columns:
        raise DataError(f"the models have {columns[0]} and {columns[1]} columns but fewer terms; pass one per column")
    names = list(dict.fromkeys([*cut[0], *cut[1]]))
    place = {name: number for number, name in enumerate(names)}
    rows = []
    for model, part in zip(models, cut, strict=True):
        wide = np.zeros((len(model.components_), len(names)))
        wide[:, [place[name] for name in part]] = model.components_
        rows.append(_distributions(wide))
    return rows, names


def _distributions(rows: Floats) -> Floats:
    """Rows that sum to 1; a row of zeros becomes uniform."""
    sums = rows.sum(axis=1, keepdims=True)
    return np.where(sums > 0, rows / np.where(sums > 0, sums, 1.0), 1.0 / rows.shape[1])


def _on_common_terms(rows: list[Floats]) -> list[Floats]:
    common = np.flatnonzero((rows[0] > 0).any(axis=0) & (rows[1] > 0).any(axis=0))
    if not len(common):
        raise DataError("the models have no term in common, so kl is not defined; compare by hellinger")
    return [_distributions(np.ascontiguousarray(part[:, common])) for part in rows]


def _marked(words: NDArray[np.intp], columns: int) -> sparse.csr_matrix:
    """Rows with a 1 for each of the words."""
    offsets = np.arange(0, words.size + 1, words.shape[1])
    return sparse.csr_matrix(
        (np.ones(words.size), np.sort(words, axis=1).ravel(), offsets), shape=(len(words), columns)
    )
