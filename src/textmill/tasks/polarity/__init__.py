"""How many stars does a review give? Scores on a scale from the text alone, and the phrases that move them.

scale         lowest to highest score, named scores, neutral
reviews       reading, balancing and describing reviews with scores
features      words, n-grams, words near a target, words under a negation
scorer        PolarityScorer: trained on reviews, scores new ones
evaluation    squared errors, agreement, the binary question, pictures
protocol      cross-validation, comparison tables, learning curves
explanation   phrases that move a score
pages         an evaluation and a comparison as pages
sample        made-up reviews
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.polarity.evaluation import (
        PolarityEvaluation,
        density_grid,
        draw_confusion,
        draw_density,
        evaluate_scores,
    )
    from textmill.tasks.polarity.explanation import FeaturePart, FeaturePolarity, explain_review, feature_polarities
    from textmill.tasks.polarity.features import ReviewFeatures, porter_stem
    from textmill.tasks.polarity.pages import evaluation_report, named_evaluations
    from textmill.tasks.polarity.protocol import CrossValidated, cross_validate
    from textmill.tasks.polarity.reviews import Reviews, balance, read_reviews
    from textmill.tasks.polarity.sample import sample_reviews
    from textmill.tasks.polarity.scale import Scale, parse_scale
    from textmill.tasks.polarity.scorer import PolarityScorer, ReviewScores, UnfamiliarText

__all__ = [
    "CrossValidated",
    "FeaturePart",
    "FeaturePolarity",
    "PolarityEvaluation",
    "PolarityScorer",
    "ReviewFeatures",
    "ReviewScores",
    "Reviews",
    "Scale",
    "UnfamiliarText",
    "balance",
    "cross_validate",
    "density_grid",
    "draw_confusion",
    "draw_density",
    "evaluate_scores",
    "evaluation_report",
    "explain_review",
    "feature_polarities",
    "named_evaluations",
    "parse_scale",
    "porter_stem",
    "read_reviews",
    "sample_reviews",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "evaluation": "PolarityEvaluation density_grid draw_confusion draw_density evaluate_scores",
        "explanation": "FeaturePart FeaturePolarity explain_review feature_polarities",
        "features": "ReviewFeatures porter_stem",
        "pages": "evaluation_report named_evaluations",
        "protocol": "CrossValidated cross_validate",
        "reviews": "Reviews balance read_reviews",
        "sample": "sample_reviews",
        "scale": "Scale parse_scale",
        "scorer": "PolarityScorer ReviewScores UnfamiliarText",
    },
)
