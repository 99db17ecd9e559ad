"""Pages for people: an evaluation with its pictures."""

from __future__ import annotations

from numpy.typing import ArrayLike

from textmill.report import Report
from textmill.tasks.polarity.evaluation import PolarityEvaluation, draw_confusion, draw_density, evaluate_scores
from textmill.tasks.polarity.scorer import ReviewScores

__all__ = ["evaluation_report", "named_evaluations"]


def named_evaluations(gold: ArrayLike, scores: ReviewScores) -> dict[str, PolarityEvaluation]:
    """The figures of a model, and of the neutral score for every review.

    >>> import numpy as np
    >>> from textmill.tasks.polarity import Scale
    >>> scores = ReviewScores(np.array([4.6]), Scale(1, 5), np.array([5.0]), np.array([3]))
    >>> list(named_evaluations([5], scores))
    ['model', 'constant']
    """
    scale = scores.scale
    return {
        "model": evaluate_scores(gold, scores.raw, scale, assigned=scores.stars if scale.whole else None),
        "constant": evaluate_scores(gold, [scale.neutral] * len(scores.raw), scale),
    }


def evaluation_report(figures: dict[str, PolarityEvaluation], gold: ArrayLike, scores: ReviewScores) -> Report:
    """A page on how good a model is on reviews.

    >>> import numpy as np
    >>> from textmill.tasks.polarity import Scale
    >>> scores = ReviewScores(np.array([4.6, 1.5]), Scale(1, 5), np.array([5.0, 2.0]), np.array([3, 3]))
    >>> evaluation_report(named_evaluations([5, 1], scores), [5, 1], scores).title
    'Scores of reviews'
    """
    page = Report("Scores of reviews", subtitle=f"{figures['model'].reviews} reviews, scale {scores.scale}")
    page.heading("Figures")
    names = list(figures["model"].figures())
    rows = [(name, *(one.figures()[name] for one in figures.values())) for name in names]
    page.table(["figure", *figures], rows, caption="Errors, agreement and correlations with the gold scores.")
    page.heading("Gold and predicted")
    page.figure(draw_density(gold, scores.raw, scores.scale), caption="Where the predictions for each gold score lie.")
    for name, one in figures.items():
        if one.confusion is not None and name != "constant":
            page.figure(draw_confusion(one), caption=f"Gold and assigned scores, {name}.")
    return page
