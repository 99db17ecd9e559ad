"""The protocol of experiments: folds with every score spread evenly, all statistics from the training part only.

    cross_validate   predictions for every review by scorers that have not seen it
    transfer         predictions for reviews of another domain
    compare          tables of learners, weightings and families of features, with significance
    learning_curve   the error by the number of training reviews of each score

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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from textmill import plot
from textmill.arrays import Floats, Ids, Ints
from textmill.corpus import Vocabulary
from textmill.errors import DataError
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
from textmill.model import check_range
from textmill.model.estimators import constructor_parameters
from textmill.numeric import sparse
from textmill.progress import track
from textmill.selection import deal_folds, paired_test
from textmill.tables import Rows
from textmill.tasks.polarity.baselines import BASELINES
from textmill.tasks.polarity.evaluation import PolarityEvaluation, evaluate_scores
from textmill.tasks.polarity.features import ReviewFeatures, families_of, of_family_length
from textmill.tasks.polarity.reviews import Reviews, balance
from textmill.tasks.polarity.scale import Scale
from textmill.tasks.polarity.scorer import PolarityScorer, check_scores, choose_l2, kind_for, make_learner, targets_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "TABLES",
    "ComparisonRow",
    "CrossValidated",
    "CurvePoint",
    "compare",
    "cross_validate",
    "draw_curves",
    "learning_curve",
    "transfer",
]


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
    counted = _CountedTexts(reviews, n_jobs)
    for fold in track(range(n_folds), "folds", unit="folds"):
        train = np.flatnonzero(folds != fold).astype(np.int32)
        test = np.flatnonzero(folds == fold).astype(np.int32)
        for name, predicted, assigned in _scored(counted, gold, scorers, train, test, used):
            result.predicted[name][test] = predicted
            result.assigned[name][test] = assigned
    return result


class CurvePoint(NamedTuple):
    """A point of a learning curve: training reviews of each score, and figures over all test reviews."""

    per_score: int
    mse: float
    accuracy: float | None


def learning_curve(
    texts: Sequence[str],
    scores: ArrayLike,
    scorer: PolarityScorer | None = None,
    *,
    sizes: Sequence[int] | None = None,
    n_folds: int = 10,
    scale: Scale | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Rows[CurvePoint]:
    """The error by the number of training reviews of each score, cross-validated.

    `sizes` are by default 10, 20, 40, ... and all that every training part has. Smaller parts lie within larger ones.

    >>> texts = ["a great mill", "great, just great", "a bad mill", "bad, really bad"] * 10
    >>> [point.per_score for point in learning_curve(texts, [5, 5, 1, 1] * 10, sizes=[5, 10], n_folds=5)]
    [5, 10]
    """
    model = PolarityScorer() if scorer is None else scorer
    model.check()
    reviews = list(texts)
    gold = check_scores(reviews, scores)
    used = Scale.of(gold) if scale is None else scale
    folds = deal_folds(gold, n_folds, random_state=random_state)
    most = min(int(((folds != fold) & (gold == score)).sum()) for fold in range(n_folds) for score in np.unique(gold))
    if most == 0:
        raise DataError(f"some of {n_folds} training parts lack a score; pass more reviews of each score")
    chosen = _sizes(sizes, most)
    order = np.random.Generator(np.random.Philox(random_state + 1)).permutation(len(gold))
    predicted, assigned = np.empty((len(chosen), len(gold))), np.empty((len(chosen), len(gold)))
    counted = _CountedTexts(reviews, n_jobs)
    for fold in track(range(n_folds), "folds", unit="folds"):
        test = np.flatnonzero(folds == fold).astype(np.int32)
        inside = order[folds[order] != fold]
        for number, size in enumerate(chosen):
            parts = [inside[gold[inside] == score][:size] for score in np.unique(gold)]
            train = np.sort(np.concatenate(parts)).astype(np.int32)
            for _, raw, whole in _scored(counted, gold, {"": model}, train, test, used):
                predicted[number, test], assigned[number, test] = raw, whole
    points = []
    for number, size in enumerate(chosen):
        figures = evaluate_scores(gold, predicted[number], used, assigned=assigned[number])
        points.append(CurvePoint(int(size), figures.mse, figures.accuracy))
    return Rows(points, CurvePoint)


def draw_curves(curves: Mapping[str, Sequence[CurvePoint]]) -> Figure:
    """Draw learning curves by name.

    >>> draw_curves({"books": [CurvePoint(10, 1.9, 0.2), CurvePoint(20, 1.8, 0.3)]}).axes[0].get_ylabel()
    'squared error'
    """
    series = {name: ([p.per_score for p in points], [p.mse for p in points]) for name, points in curves.items()}
    return plot.lines(series, x_label="training reviews of each score", y_label="squared error")


# Tables of the paper: learners, weightings and families that are compared. Rows of one table differ in one thing only:
# each sets the same names, and all others are those of the scorer that was asked for, the paper's by default.
TABLES: dict[str, dict[str, dict[str, Any]]] = {
    "learners": {
        "constant": {"kind": "constant", "kernel": None},
        "random": {"kind": "random", "kernel": None},
        "pairwise SVM": {"kind": "pairwise", "kernel": None},
        "pairwise SVM, mean": {"kind": "pairwise-mean", "kernel": None},
        "least squares": {"kind": "least-squares", "kernel": None},
        "SVR linear": {"kind": "svr", "kernel": "linear"},
        "SVR quadratic": {"kind": "svr", "kernel": "polynomial"},
        "ordinal": {"kind": "ordinal", "kernel": None},
    },
    "weightings": {name: {"weighting": name} for name in ("tf", "tf-idf", "binary")},
    "features": {
        "unigram": {"families": ("unigram",)},
        **{
            f"unigram + {name}": {"families": ("unigram", name)}
            for name in ("bigram", "trigram", "inbook", "aroundbook")
        },
    },
}


class ComparisonRow(NamedTuple):
    """One scorer of a table: error and accuracy, means over the shuffles, and the spread of the error over them.

    `p_value` is that of the difference in squared error from the best of its table, by paired bootstrap over reviews.
    """

    table: str
    name: str
    mse: float
    spread: float
    mse_rounded: float
    accuracy: float | None
    within_one: float | None
    p_value: float | None


def compare(
    reviews: Reviews,
    *,
    on: Reviews | None = None,
    tables: Sequence[str] = tuple(TABLES),
    scorer: PolarityScorer | None = None,
    n_folds: int = 10,
    shuffles: int = 1,
    balanced: bool = False,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Rows[ComparisonRow]:
    """Compare learners, weightings and families of features, as the tables of the paper do.

    By cross-validation, or with `on` trained on all reviews and tested on those, of another domain say. `scorer` has
    the settings that a row does not change; by default weightings and features are compared with the paper's support
    vector regression. With `shuffles` it is done several times, with folds dealt anew and, if
    `balanced`, with another draw of the same number of reviews of each score.

    >>> texts = ["a great mill", "great, just great", "a bad mill", "bad, really bad"] * 5
    >>> rows = compare(Reviews.of(texts, [5, 5, 1, 1] * 5), tables=["weightings"], n_folds=5)
    >>> [row.name for row in rows]
    ['tf', 'tf-idf', 'binary']
    """
    check_range("shuffles", shuffles, at_least=1, whole=True)
    scorers = _tabled(tables, PolarityScorer(kind="svr") if scorer is None else scorer)
    distinct: dict[str, PolarityScorer] = {repr(one): one for one in scorers.values()}
    runs = []
    for run in range(shuffles):
        seed = random_state + run
        part = reviews.take(balance(reviews.scores, random_state=seed)) if balanced else reviews
        if on is None:
            result = cross_validate(
                part.texts,
                part.scores,
                distinct,
                n_folds=n_folds,
                scale=part.scale,
                random_state=seed,
                n_jobs=n_jobs,
            )
        else:
            other = on.take(balance(on.scores, random_state=seed)) if balanced else on
            result = transfer(part, other, distinct, n_jobs=n_jobs)
        runs.append(result)
    return Rows(list(_rows(tables, scorers, runs)), ComparisonRow)


def transfer(
    reviews: Reviews, on: Reviews, scorers: Mapping[str, PolarityScorer], *, n_jobs: int | None = None
) -> CrossValidated:
    """Train scorers on reviews and score others with them.

    >>> books = Reviews.of(["a great book", "a bad book"] * 5, [5, 1] * 5)
    >>> mills = Reviews.of(["a great mill", "a bad mill"], [5, 1])
    >>> transfer(books, mills, {"svr": PolarityScorer(kind="svr")}).evaluation("svr").accuracy
    1.0
    """
    counted = _CountedTexts([*reviews.texts, *on.texts], n_jobs)
    train = np.arange(len(reviews), dtype=np.int32)
    test = np.arange(len(reviews), len(reviews) + len(on), dtype=np.int32)
    gold = np.concatenate([reviews.scores, on.scores])
    result = CrossValidated(on.scores, np.zeros(len(on), np.int64), reviews.scale)
    for name, predicted, assigned in _scored(counted, gold, scorers, train, test, reviews.scale):
        result.predicted[name], result.assigned[name] = predicted, assigned
    return result


def _tabled(tables: Sequence[str], base: PolarityScorer) -> dict[tuple[str, str], PolarityScorer]:
    """The scorer of each row of the tables: `base` with what the row changes."""
    scorers = {}
    for table in tables:
        if table not in TABLES:
            raise DataError(f"there is no table '{table}'; there are {', '.join(TABLES)}")
        for name, changes in TABLES[table].items():
            scorers[table, name] = _changed(base, dict(changes))
    return scorers


def _rows(
    tables: Sequence[str], scorers: Mapping[tuple[str, str], PolarityScorer], runs: list[CrossValidated]
) -> Iterator[ComparisonRow]:
    keys = {repr(scorer) for scorer in scorers.values()}
    figures = {key: [run.evaluation(key) for run in runs] for key in keys}
    errors = {key: np.concatenate([(run.predicted[key] - run.gold) ** 2 for run in runs]) for key in keys}
    for table in tables:
        own = {name: repr(scorers[table, name]) for name in TABLES[table]}
        best = min(own.values(), key=lambda key: float(errors[key].mean()))
        for name, key in own.items():
            mse = [one.mse for one in figures[key]]
            yield ComparisonRow(
                table,
                name,
                float(np.mean(mse)),
                float(np.std(mse)),
                float(np.mean([one.mse_rounded for one in figures[key]])),
                _mean([one.accuracy for one in figures[key]]),
                _mean([one.within_one for one in figures[key]]),
                None if key == best else paired_test(errors[key], errors[best]).p_value,
            )


class _CountedTexts:
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


def _scored(
    counted: _CountedTexts,
    gold: Floats,
    scorers: Mapping[str, PolarityScorer],
    train: Ids,
    test: Ids,
    scale: Scale,
) -> Iterator[tuple[str, Floats, Floats]]:
    """Name, predictions and whole scores of the test reviews by each scorer trained on the training reviews."""
    shared: dict[Any, _Fold] = {}
    for name, scorer in scorers.items():
        rows, families = counted.rows(scorer)
        key = (id(rows), scorer.weighting, scorer.min_df, scorer.normalize)
        if key not in shared:
            shared[key] = _Fold(rows, families, train, scorer, counted.buffers)
        yield name, *_fitted_scores(shared[key], scorer, gold, train, test, scale)


def _fitted_scores(
    fold: _Fold, scorer: PolarityScorer, gold: Floats, train: Ids, test: Ids, scale: Scale
) -> tuple[Floats, Floats]:
    """Predictions and whole scores of the test reviews."""
    values = gold[train]
    kind = kind_for(scorer, values)
    if kind in BASELINES:
        raw = make_learner(scorer, scale, None, values).fit(values, values).predict(test)
        return raw, scale.round(raw)
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


def _changed(base: PolarityScorer, changes: dict[str, Any]) -> PolarityScorer:
    """A scorer like another one with other settings."""
    settings = {name: getattr(base, name) for name in constructor_parameters(PolarityScorer)}
    families = changes.pop("families", None)
    if families is not None:
        features = ReviewFeatures() if base.features is None else base.features
        own = {name: getattr(features, name) for name in constructor_parameters(ReviewFeatures)}
        settings["features"] = ReviewFeatures(**{**own, "families": families})
    return PolarityScorer(**{**settings, **changes})


def _sizes(sizes: Sequence[int] | None, most: int) -> list[int]:
    if sizes is None:
        doubled = [10 * 2**k for k in range(40) if 10 * 2**k < most]
        return [*doubled, most]
    for size in sizes:
        check_range("sizes", size, at_least=1, whole=True)
        if size > most:
            raise DataError(f"every training part has {most} reviews of each score; pass sizes up to that, not {size}")
    return [int(size) for size in sizes]


def _mean(values: list[float | None]) -> float | None:
    figures = [value for value in values if value is not None]
    return float(np.mean(figures)) if figures else None
