"""Train a scorer of reviews, say how good it is and which phrases move the score.

python examples/score_reviews.py reviews.csv                         # stars and text in columns of these names
python examples/score_reviews.py books-negative.review books-positive.review
python examples/score_reviews.py                                     # on made-up reviews
"""

from __future__ import annotations

import argparse

from textmill.tasks import PolarityScorer
from textmill.tasks.polarity import Reviews, cross_validate, feature_polarities, read_reviews, sample_reviews

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("reviews", nargs="*", help="files of reviews with scores")
parser.add_argument("--text-field", help="field that holds the text")
arguments = parser.parse_args()

if arguments.reviews:
    reviews = read_reviews(arguments.reviews, text_field=arguments.text_field)
else:
    reviews = Reviews.of(*sample_reviews(200))

kinds = {kind: PolarityScorer(kind=kind) for kind in ("pairwise", "svr", "ordinal")}
result = cross_validate(reviews.texts, reviews.scores, kinds, n_folds=5, scale=reviews.scale)
for kind in kinds:
    figures = result.evaluation(kind)
    print(f"{kind:10} squared error {figures.mse:.3f}, right {figures.accuracy or 0:.3f}")
scorer = PolarityScorer().fit(reviews.texts, reviews.scores)
for row in feature_polarities(scorer, k=5, min_df=3):
    print(f"{row.polarity:+.2f} {row.feature}")
