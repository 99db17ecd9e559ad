"""What people agree on, learners and features by cross-validation, the learning curve, and other domains."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from papers._shared.recipe import Recipe, Rows, figure
from papers.polarity.baselines import add_baselines
from papers.polarity.experiments import TABLES, compare, learning_curve, transfer
from papers.polarity.human import evaluate_annotator
from papers.polarity.statistics import describe
from textmill.tasks.polarity import PolarityScorer, Reviews, Scale, balance, read_reviews, sample_reviews

ANNOTATORS = {
    "first": [[12, 7, 0, 1, 0], [7, 8, 4, 1, 0], [1, 1, 13, 5, 0], [0, 0, 4, 10, 6], [0, 1, 2, 7, 10]],
    "second": [[16, 3, 0, 1, 0], [11, 5, 3, 1, 0], [2, 5, 7, 4, 2], [0, 1, 2, 1, 16], [0, 0, 0, 2, 18]],
}
KINDS = ("constant", "pairwise", "svr")
DOMAINS = ("books", "dvd", "kitchen_housewares")


@cache
def reviews(data: Path | None, quick: bool, name: str = "amazon5") -> Reviews:
    """A balanced draw of a collection; of made-up reviews where it is to be quick."""
    if quick or data is None:
        return Reviews.of(*sample_reviews(150, random_state=len(name)))
    folder = data / "reviews"
    if name == "amazon5":
        whole = read_reviews(folder / "amazon5.csv", text_field="input")
    else:
        whole = read_reviews([folder / f"{name}-negative.review", folder / f"{name}-positive.review"])
    return whole.take(balance(whole.scores, random_state=0))


def annotators(data: Path | None, quick: bool) -> Rows:
    rows = []
    for name, confusion in ANNOTATORS.items():
        figures = evaluate_annotator(confusion, Scale(1, 5))
        rows.append({"annotator": name, "squared error": figures.mse, "accuracy": figures.accuracy})
    return rows


def statistics(data: Path | None, quick: bool) -> Rows:
    part = reviews(data, quick)
    return [row._asdict() for row in describe(part.texts, part.scores)]


def learners(data: Path | None, quick: bool) -> Rows:
    return _compared(data, quick, "learners")


def features(data: Path | None, quick: bool) -> Rows:
    return _compared(data, quick, "features")


def _compared(data: Path | None, quick: bool, table: str) -> Rows:
    folds, shuffles = (4, 1) if quick else (10, 3)
    rows = compare(reviews(data, quick), tables=[table], n_folds=folds, shuffles=shuffles)
    return [{"name": row.name, "squared error": row.mse, "accuracy": row.accuracy, "p": row.p_value} for row in rows]


def curve(data: Path | None, quick: bool) -> Rows:
    part = reviews(data, quick)
    sizes, folds = ([2, 5, 15], 3) if quick else ([10, 20, 40, 80, 160], 10)
    points = learning_curve(part.texts, part.scores, PolarityScorer(kind="svr"), sizes=sizes, n_folds=folds)
    return [{"reviews of each score": point.per_score, "squared error": point.mse} for point in points]


def domains(data: Path | None, quick: bool) -> Rows:
    rows = []
    for source, target in zip(DOMAINS, (*DOMAINS[1:], DOMAINS[0]), strict=True):
        scorers = {kind: PolarityScorer(kind=kind) for kind in KINDS[1:]}
        result = add_baselines(transfer(reviews(data, quick, source), reviews(data, quick, target), scorers))
        rows.append({"domains": f"{source}, {target}", **{kind: result.evaluation(kind).mse for kind in KINDS}})
    return rows


_NEEDS = ["reviews"]
RECIPES = [
    Recipe(
        "agreement of annotators",
        "the two confusion matrices that the paper prints, 100 reviews",
        annotators,
        [{"annotator": "first", "squared error": 0.75}, {"annotator": "second", "squared error": 0.79}],
        {"squared errors are those of the paper": lambda rows: [row["squared error"] for row in rows] == [0.75, 0.79]},
    ),
    Recipe(
        "reviews of each score",
        "a balanced draw of reviews of one to five stars; quick: made-up reviews",
        statistics,
        shape={"scores are even": lambda rows: len({row["reviews"] for row in rows}) == 1},
        needs=_NEEDS,
    ),
    Recipe(
        "learners",
        "the same draw, ten folds, three shuffles; quick: made-up reviews, four folds; published: children's books",
        learners,
        [
            {"name": name, "squared error": mse}
            for name, mse in (
                ("pairwise SVM", 1.32),
                ("least squares", 1.05),
                ("SVR linear", 1.01),
                ("SVR quadratic", 0.94),
            )
        ],
        shape={
            "regression beats pairwise votes": lambda rows: (
                figure(rows, "SVR quadratic", "squared error") < figure(rows, "pairwise SVM", "squared error")
            ),
            "regression beats the neutral score": lambda rows: (
                figure(rows, "SVR quadratic", "squared error") < figure(rows, "constant", "squared error")
            ),
        },
        needs=_NEEDS,
    ),
    Recipe(
        "features",
        "the same, support vector regression",
        features,
        [
            {"name": name, "squared error": mse}
            for name, mse in zip(TABLES["features"], (0.94, 0.89, 0.90, 0.97, 0.93), strict=True)
        ],
        shape={
            "pairs of words help": lambda rows: (
                figure(rows, "unigram + bigram", "squared error") < figure(rows, "unigram", "squared error")
            )
        },
        needs=_NEEDS,
    ),
    Recipe(
        "learning curve",
        "the same, support vector regression",
        curve,
        shape={"more reviews help": lambda rows: rows[-1]["squared error"] < rows[0]["squared error"]},
        needs=_NEEDS,
    ),
    Recipe(
        "other domains",
        "books, DVDs and kitchenware (Multi-Domain Sentiment); quick: made-up reviews",
        domains,
        shape={
            "regression beats votes and the neutral score on average": lambda rows: (
                sum(row["svr"] for row in rows) < min(sum(row[kind] for row in rows) for kind in KINDS[:2])
            )
        },
        needs=_NEEDS,
    ),
]
