"""The experiments of the paper.

    transfer         predictions for reviews of another domain
    compare          tables of learners, weightings and families of features, with significance
    learning_curve   the error by the number of training reviews of each score

Reference: Okanohara & Tsujii (2005), section 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from papers.polarity.baselines import BASELINES, add_baselines
from textmill import plot
from textmill.errors import DataError
from textmill.model import check_range
from textmill.model.estimators import constructor_parameters
from textmill.progress import track
from textmill.selection import deal_folds, paired_test
from textmill.tables import Rows
from textmill.tasks.polarity.evaluation import evaluate_scores
from textmill.tasks.polarity.features import ReviewFeatures
from textmill.tasks.polarity.protocol import CountedTexts, CrossValidated, cross_validate
from textmill.tasks.polarity.reviews import Reviews, balance
from textmill.tasks.polarity.scale import Scale
from textmill.tasks.polarity.scorer import PolarityScorer, check_scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["TABLES", "ComparisonRow", "CurvePoint", "compare", "draw_curves", "learning_curve", "transfer"]


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
    counted = CountedTexts(reviews, n_jobs)
    for fold in track(range(n_folds), "folds", unit="folds"):
        test = np.flatnonzero(folds == fold).astype(np.int32)
        inside = order[folds[order] != fold]
        for number, size in enumerate(chosen):
            parts = [inside[gold[inside] == score][:size] for score in np.unique(gold)]
            train = np.sort(np.concatenate(parts)).astype(np.int32)
            for _, raw, whole in counted.scores(gold, {"": model}, train, test, used):
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
        "constant": {"baseline": "constant"},
        "random": {"baseline": "random"},
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
        runs.append(add_baselines(result, random_state=seed))
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
    counted = CountedTexts([*reviews.texts, *on.texts], n_jobs)
    train = np.arange(len(reviews), dtype=np.int32)
    test = np.arange(len(reviews), len(reviews) + len(on), dtype=np.int32)
    gold = np.concatenate([reviews.scores, on.scores])
    result = CrossValidated(on.scores, np.zeros(len(on), np.int64), reviews.scale)
    for name, predicted, assigned in counted.scores(gold, scorers, train, test, reviews.scale):
        result.predicted[name], result.assigned[name] = predicted, assigned
    return result


def _tabled(tables: Sequence[str], base: PolarityScorer) -> dict[tuple[str, str], PolarityScorer]:
    """The scorer of each row of the tables that reads: `base` with what the row changes."""
    scorers = {}
    for table in tables:
        if table not in TABLES:
            raise DataError(f"there is no table '{table}'; there are {', '.join(TABLES)}")
        for name, changes in TABLES[table].items():
            if "baseline" not in changes:
                scorers[table, name] = _changed(base, dict(changes))
    return scorers


def _rows(
    tables: Sequence[str], scorers: Mapping[tuple[str, str], PolarityScorer], runs: list[CrossValidated]
) -> Iterator[ComparisonRow]:
    keys = {*BASELINES, *map(repr, scorers.values())}
    figures = {key: [run.evaluation(key) for run in runs] for key in keys}
    errors = {key: np.concatenate([(run.predicted[key] - run.gold) ** 2 for run in runs]) for key in keys}
    for table in tables:
        own = {
            name: str(changes.get("baseline") or repr(scorers[table, name])) for name, changes in TABLES[table].items()
        }
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
