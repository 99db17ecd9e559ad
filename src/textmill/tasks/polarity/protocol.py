"""Cross-validation: folds with every score spread evenly, all statistics from the training part only.

    cross_validate   predictions for every review by scorers that have not seen it
    CountedTexts     the same for a division into training and test reviews of your own

Texts are cut into features once. Within a fold a feature counts only if the training part has it, and idf is that of
the training part, so nothing of a test text reaches the model. Kernel values between all reviews are worked out once a
fold, straight from the counts,

    K_ij = k( sum_t idf_t^2 n_it n_jt / (|x_i| |x_j|) )

and shared by every learner: regression, all pairs of classes, least squares. Cost of a fold with n reviews: the sum of
the squared document frequencies for K, and what the solvers take.

Reference: Okanohara & Tsujii (2005), section 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from textmill.arrays import Floats, Ids, Ints
from textmill.corpus import Vocabulary
from textmill.linear import (
    KernelRows,
    LogisticRegression,
    count_votes,
    make_kernel,
    solve_centered,
    solve_pairs,
    solve_problems,
    vote,
)
from textmill.numeric import sparse
from textmill.progress import track
from textmill.selection import deal_folds
from textmill.tasks.polarity.evaluation import PolarityEvaluation, evaluate_scores
from textmill.tasks.polarity.features import ReviewFeatures, families_of, of_family_length
from textmill.tasks.polarity.scale import Scale
from textmill.tasks.polarity.scorer import PolarityScorer, check_scores, choose_l2, kind_for, targets_of

if TYPE_CHECKING:
    pass

__all__ = ["CountedTexts", "CrossValidated", "cross_validate"]


@dataclass(frozen=True)
class CrossValidated:
    """Predictions for all reviews by scorers of other folds, by name; `assigned` are the whole scores."""

    gold: Floats
    folds: Ints
    scale: Scale
    predicted: dict[str, Floats] = field(default_factory=dict)
    assigned: dict[str, Floats] = field(default_factory=dict)

    def evaluation(self, name: str) -> PolarityEvaluation:
        """The figures of one scorer over all reviews."""
        return evaluate_scores(self.gold, self.predicted[name], self.scale, assigned=self.assigned[name])


def cross_validate(
    texts: Sequence[str],
    scores: ArrayLike,
    scorers: Mapping[str, PolarityScorer],
    *,
    n_folds: int = 10,
    scale: Scale | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> CrossValidated:
    """Score every review by scorers trained on the other folds.

    >>> texts = ["a great mill", "great, just great", "a bad mill", "bad, really bad"] * 5
    >>> result = cross_validate(texts, [5, 5, 1, 1] * 5, {"svr": PolarityScorer(kind="svr")}, n_folds=5)
    >>> result.evaluation("svr").accuracy
    1.0
    """
    reviews = list(texts)
    gold = check_scores(reviews, scores)
    used = Scale.of(gold) if scale is None else scale
    folds = deal_folds(gold, n_folds, random_state=random_state)
    result = CrossValidated(gold, folds, used)
    for name, scorer in scorers.items():
        scorer.check()
        result.predicted[name], result.assigned[name] = np.empty(len(gold)), np.empty(len(gold))
    counted = CountedTexts(reviews, n_jobs)
    for fold in track(range(n_folds), "folds", unit="folds"):
        train = np.flatnonzero(folds != fold).astype(np.int32)
        test = np.flatnonzero(folds == fold).astype(np.int32)
        for name, predicted, assigned in counted.scores(gold, scorers, train, test, used):
            result.predicted[name][test] = predicted
            result.assigned[name][test] = assigned
    return result


class CountedTexts:
    """Counts of the features of all texts, for each choice of features once."""

    def __init__(self, texts: list[str], n_jobs: int | None) -> None:
        self.texts, self.n_jobs = texts, n_jobs
        self._counts: dict[str, tuple[KernelRows, Ints]] = {}
        self.buffers: dict[Any, Floats] = {}  # for the kernel values of a fold; the next fold overwrites them

    def rows(self, scorer: PolarityScorer) -> tuple[KernelRows, Ints]:
        """Counts, or ones for a binary weighting, and the families of the columns."""
        features = ReviewFeatures() if scorer.features is None else scorer.features
        binary = scorer.weighting == "binary"
        key = f"{features!r} {binary}"
        if key not in self._counts:
            vocabulary = Vocabulary(tokenizer=features, n_jobs=self.n_jobs)
            counts = vocabulary.fit_transform(self.texts).astype(np.float64)
            if binary:
                counts.data[:] = 1.0
            families = np.zeros(counts.shape[1], np.int64)
            if len(features.families) > 1:
                families = families_of(list(vocabulary.terms_))
            self._counts[key] = KernelRows(counts, n_jobs=self.n_jobs), families
        return self._counts[key]

    def scores(
        self, gold: Floats, scorers: Mapping[str, PolarityScorer], train: Ids, test: Ids, scale: Scale
    ) -> Iterator[tuple[str, Floats, Floats]]:
        """Name, predictions and whole scores of the test reviews by each scorer trained on the training reviews."""
        shared: dict[Any, _Fold] = {}
        for name, scorer in scorers.items():
            rows, families = self.rows(scorer)
            key = (id(rows), scorer.weighting, scorer.min_df, scorer.normalize)
            if key not in shared:
                shared[key] = _Fold(rows, families, train, scorer, self.buffers)
            yield name, *_fitted_scores(shared[key], scorer, gold, train, test, scale)


class _Fold:
    """What scorers of one weighting share in a fold: squared weights of the features, kernel values, vectors."""

    def __init__(
        self, rows: KernelRows, families: Ints, train: Ids, scorer: PolarityScorer, buffers: dict[Any, Floats]
    ) -> None:
        self.counts = rows
        self._source = id(rows)
        self.buffers = buffers
        X = rows.X
        inside = np.zeros(X.shape[0], bool)
        inside[train] = True
        entries = np.repeat(inside, np.diff(X.indptr))
        df = np.bincount(X.indices[entries], minlength=X.shape[1])
        present = df >= max(1, scorer.min_df)
        if scorer.weighting == "tf-idf":
            weights = np.where(present, np.log(len(train) / np.maximum(df, 1)), 0.0)
        else:
            weights = present.astype(np.float64)
        self.weights = weights
        if scorer.normalize == "family":
            self.counts = KernelRows(of_family_length(self.vectors(), families), n_jobs=scorer.n_jobs)
            self.weights = np.ones(len(weights))
        self._matrices: dict[Any, Floats] = {}

    def matrix(self, name: str, scorer: PolarityScorer) -> Floats:
        """Kernel values between all reviews."""
        settings: dict[str, Any] = (
            {} if name == "linear" else {"degree": scorer.degree, "gamma": scorer.gamma, "coef0": scorer.coef0}
        )
        key = (name, *settings.values())
        if key not in self._matrices:
            place = (self._source, scorer.weighting, scorer.min_df, scorer.normalize, *key)
            size = self.counts.X.shape[0]
            out = self.buffers.get(place)
            if out is None:
                out = self.buffers[place] = np.empty((size, size))
            self._matrices[key] = self.counts.gram(make_kernel(name, **settings, unit=True), self.weights**2, out)
        return self._matrices[key]

    def vectors(self) -> Any:
        """All reviews as weighted rows of length 1."""
        X = self.counts.X @ sparse.diags(self.weights)
        lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        return sparse.csr_matrix(sparse.diags(1.0 / np.where(lengths > 0, lengths, 1.0)) @ X)


def _fitted_scores(
    fold: _Fold, scorer: PolarityScorer, gold: Floats, train: Ids, test: Ids, scale: Scale
) -> tuple[Floats, Floats]:
    """Predictions and whole scores of the test reviews."""
    values = gold[train]
    kind = kind_for(scorer, values)
    if kind == "ordinal":
        rows = fold.vectors()
        labels = targets_of("ordinal", values)
        l2 = choose_l2(rows[train], labels, scorer.random_state) if scorer.l2 is None else float(scorer.l2)
        model = LogisticRegression(l2=l2, n_jobs=scorer.n_jobs).fit(rows[train], labels)
        probabilities = model.predict_proba(rows[test])
        steps = model.classes_.astype(np.float64)
        return probabilities @ steps, steps[probabilities.argmax(axis=1)]
    if kind == "least-squares":
        matrix = fold.matrix("linear", scorer)
        inner = matrix[np.ix_(train, train)]
        dual = solve_centered(inner, values - values.mean())
        offset = values.mean() - float((inner @ dual).mean())
        raw = np.einsum("ij,j->i", matrix[np.ix_(test, train)], dual) + offset
        return raw, scale.round(raw)
    matrix = fold.matrix("polynomial" if scorer.kernel is None else scorer.kernel, scorer)
    across = matrix[np.ix_(test, train)]
    if kind in ("pairwise", "pairwise-mean"):
        return _voted(matrix, across, scorer, values, train, scale)
    cost = np.full(len(train), float(scorer.cost))
    solved = solve_problems(
        matrix, [train], [values], [(-cost, cost)], tube=scorer.tube, tolerance=scorer.tolerance, n_jobs=1
    )
    raw = np.einsum("ij,j->i", across, solved.dual) + solved.intercepts[0]
    return raw, scale.round(raw)


def _voted(
    matrix: Floats, across: Floats, scorer: PolarityScorer, values: Floats, train: Ids, scale: Scale
) -> tuple[Floats, Floats]:
    classes, labels = np.unique(targets_of("pairwise", values), return_inverse=True)
    listed, solved = solve_pairs(
        matrix,
        train,
        labels.astype(np.int32),
        len(classes),
        cost=float(scorer.cost),
        tolerance=scorer.tolerance,
        n_jobs=scorer.n_jobs,
    )
    places = np.empty(matrix.shape[0], np.int64)
    places[train] = np.arange(len(train))
    decisions = np.empty((len(across), len(listed)))
    begin = 0
    for number, rows in enumerate(listed):
        dual = solved.dual[begin : begin + len(rows)]
        decisions[:, number] = np.einsum("ij,j->i", across[:, places[rows]], dual) + solved.intercepts[number]
        begin += len(rows)
    scores = classes[vote(decisions, np.abs(classes - scale.neutral))].astype(np.float64)
    if scorer.kind == "pairwise":
        return scores, scores
    votes = count_votes(decisions, len(classes))[0]
    return np.asarray(votes @ classes.astype(np.float64) / votes.sum(axis=1)), scores
