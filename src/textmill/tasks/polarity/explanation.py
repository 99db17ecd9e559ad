"""Which phrases move a score: of a model all of them, of a review those it has.

    polarity of a feature   f(e_j) - f(0), the shift of the score by a review that has this feature and no other; for a
                            linear kernel the weight w_j
    part of a feature       how much of f(x) - f(0) is its doing:
        linear              x_j w_j
        quadratic           x_j sum_s b_s s_j (gamma^2 x.s + 2 gamma coef0),  which adds up, pairs shared
        others              f(x) - f(x without it), which need not add up

Stems are shown as their most frequent word of training. The standard error of a polarity is its spread over models of
training reviews that are drawn anew, with replacement. Cost: one row of kernel values for each feature; for standard
errors as many trainings as draws. References: Okanohara & Tsujii (2005), section 5.5; Efron (1979).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.linear import LeastSquares, PairwiseSVM, SupportVectorRegression
from textmill.model import check_choice, check_fitted, check_range
from textmill.numeric import sparse
from textmill.progress import track
from textmill.tables import Rows
from textmill.tasks.polarity.features import FAMILIES, family_of
from textmill.tasks.polarity.scorer import PolarityScorer, check_scores, targets_of

__all__ = ["FeaturePart", "FeaturePolarity", "explain_review", "feature_polarities"]

_BATCH = 4096  # features whose polarity is worked out together


class FeaturePolarity(NamedTuple):
    """A feature, its family, its polarity, the score of a review with nothing else, its document frequency, and the
    standard error of the polarity, None where it was not asked for; `term` is the feature as the vocabulary has it.
    """

    feature: str
    family: str
    polarity: float
    score: float
    df: int
    error: float | None = None
    term: str = ""


class FeaturePart(NamedTuple):
    """A feature of a review, its weight in the vector, and its part in the score."""

    feature: str
    family: str
    value: float
    part: float


def feature_polarities(
    scorer: PolarityScorer,
    *,
    k: int = 10,
    family: str | None = None,
    min_df: int = 1,
    texts: Sequence[str] | None = None,
    scores: ArrayLike | None = None,
    n_resamples: int = 50,
    random_state: int = 0,
) -> Rows[FeaturePolarity]:
    """The k features with the highest polarity, from the best down, then the k with the lowest, from the worst up.

    `family` limits them to one family, `min_df` to features of that many training reviews. With the `texts` and
    `scores` of training each gets a standard error.

    >>> texts = ["a great mill", "great, just great", "a bad mill", "bad, really bad", "an old mill"] * 4
    >>> scorer = PolarityScorer(kind="svr", kernel="linear").fit(texts, [5, 5, 1, 1, 3] * 4)
    >>> [row.feature for row in feature_polarities(scorer, k=1)]
    ['great', 'bad']
    """
    check_range("k", k, at_least=1, whole=True)
    if family is not None:
        check_choice("family", family, list(FAMILIES))
    polarity, base = _polarities(scorer)
    names = [str(name) for name in scorer.vectorizer_.terms_]
    frequency = scorer.vectorizer_.document_frequency_
    allowed = np.array(
        [df >= min_df and (family is None or family_of(n) == family) for n, df in zip(names, frequency, strict=True)]
    )
    candidates = np.flatnonzero(allowed)
    order = candidates[np.argsort(-polarity[candidates], kind="stable")]
    best = [j for j in order[:k] if polarity[j] > 0]
    worst = [j for j in order[::-1][:k] if polarity[j] < 0]
    shown = np.array([*best, *worst], np.int64)
    errors: list[float | None] = [None] * len(shown)
    if texts is not None:
        errors = [*_standard_errors(scorer, shown, texts, scores, n_resamples, random_state).tolist()]
    rows = [
        FeaturePolarity(
            scorer.shown(names[j]),
            family_of(names[j]),
            float(polarity[j]),
            float(base + polarity[j]),
            int(frequency[j]),
            error,
            names[j],
        )
        for j, error in zip(shown, errors, strict=True)
    ]
    return Rows(rows, FeaturePolarity)


def explain_review(scorer: PolarityScorer, text: str, *, k: int = 10) -> Rows[FeaturePart]:
    """The k features of a review with the largest parts in its score.

    >>> texts = ["a great mill", "great, just great", "a bad mill", "bad, really bad", "an old mill"] * 4
    >>> scorer = PolarityScorer(kind="svr", kernel="linear").fit(texts, [5, 5, 1, 1, 3] * 4)
    >>> [row.feature for row in explain_review(scorer, "a great thing", k=2)]
    ['great', 'a']
    """
    check_range("k", k, at_least=1, whole=True)
    check_fitted(scorer)
    _refuse(scorer)
    row = scorer.vectors([text])
    parts = _parts(scorer, row)
    order = np.argsort(-np.abs(parts), kind="stable")[:k]
    rows = []
    for place in order:
        name = str(scorer.vectorizer_.terms_[int(row.indices[place])])
        rows.append(FeaturePart(scorer.shown(name), family_of(name), float(row.data[place]), float(parts[place])))
    return Rows(rows, FeaturePart)


def _standard_errors(
    scorer: PolarityScorer, features: Ints, texts: Sequence[str], scores: ArrayLike | None, draws: int, seed: int
) -> Floats:
    """The spread of polarities over models of reviews drawn anew; words and weights stay those of the scorer."""
    check_range("n_resamples", draws, at_least=2, whole=True)
    values = check_scores(texts, scores)
    X = scorer.vectors(texts)
    size = len(features)
    single = sparse.csr_matrix((np.ones(size), (np.arange(size), features)), shape=(size, X.shape[1]))
    targets = targets_of(scorer.kind_, values)
    again = copy(scorer)
    generator = np.random.Generator(np.random.Philox(seed))
    drawn = []
    for _ in track(range(draws), "draws", unit="draws"):
        rows = generator.integers(0, len(values), len(values))
        while len(np.unique(values[rows])) < 2:
            rows = generator.integers(0, len(values), len(values))
        learner = type(scorer.learner_)(**scorer.learner_.get_params(deep=False))
        again.learner_ = learner.fit(X[rows], targets[rows])
        base = float(again.predict_rows(sparse.csr_matrix((1, X.shape[1])))[0])
        drawn.append(again.predict_rows(single) - base)
    return np.asarray(np.std(drawn, axis=0, ddof=1))


def _polarities(scorer: PolarityScorer) -> tuple[Floats, float]:
    """Polarities of all features, and the score of a review without any."""
    check_fitted(scorer)
    _refuse(scorer)
    columns = len(scorer.vectorizer_.terms_)
    base = float(scorer.predict_rows(sparse.csr_matrix((1, columns)))[0])
    learner = scorer.learner_
    if isinstance(learner, LeastSquares):
        return np.asarray(learner.coef_), base
    if isinstance(learner, SupportVectorRegression) and learner.coef_ is not None:
        return np.asarray(learner.coef_[0]), base
    pieces = [scorer.predict_rows(rows) - base for rows in _single_features(columns)]
    return np.concatenate(pieces), base


def _single_features(columns: int) -> Iterator[Any]:
    """Rows with one feature each, of value 1, in batches."""
    for begin in range(0, columns, _BATCH):
        size = min(_BATCH, columns - begin)
        own = np.arange(size)
        yield sparse.csr_matrix((np.ones(size), (own, begin + own)), shape=(size, columns))


def _parts(scorer: PolarityScorer, row: Any) -> Floats:
    """The part of each stored feature of a row in its score."""
    learner = scorer.learner_
    if isinstance(learner, LeastSquares):
        return np.asarray(row.data * learner.coef_[row.indices])
    if isinstance(learner, SupportVectorRegression):
        if learner.coef_ is not None:
            return np.asarray(row.data * learner.coef_[0, row.indices])
        if learner.kernel == "polynomial" and learner.degree == 2:
            arrays = (learner.support_values_, learner.support_columns_, learner.support_offsets_)
            support = sparse.csr_matrix(arrays, shape=(learner.n_support_, row.shape[1]))
            dots = np.asarray((support @ row.T).todense()).ravel()
            factors = learner.dual_[0] * (learner.gamma**2 * dots + 2 * learner.gamma * learner.coef0)
            pulled = np.asarray(support.T @ factors).ravel()
            return np.asarray(row.data * pulled[row.indices])
    whole = float(scorer.predict_rows(row)[0])
    without = sparse.csr_matrix(np.tile(row.toarray(), (row.nnz, 1)))
    places = sparse.csr_matrix((row.data, (np.arange(row.nnz), row.indices)), shape=without.shape)
    return whole - scorer.predict_rows(sparse.csr_matrix(without - places))


def _refuse(scorer: PolarityScorer) -> None:
    if isinstance(scorer.learner_, PairwiseSVM):
        raise DataError(
            f"a scorer of kind '{scorer.kind_}' has no weights to show; train 'svr', 'least-squares' or 'ordinal'"
        )
