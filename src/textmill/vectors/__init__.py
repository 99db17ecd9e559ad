"""Documents as vectors: weights of terms, vectors of texts, distances.

weighting    SMART weights of bags of words, TF-IDF among them
vectorizer   from texts to weighted vectors in one estimator
distance     distances and similarities of vectors and of all pairs of rows
"""

from textmill.vectors.distance import MEASURES, compare, pairwise, pairwise_matrix, similarity_of_distance
from textmill.vectors.vectorizer import TextVectorizer
from textmill.vectors.weighting import NegativeWeights, Vectors, Weighting

__all__ = [
    "MEASURES",
    "NegativeWeights",
    "TextVectorizer",
    "Vectors",
    "Weighting",
    "compare",
    "pairwise",
    "pairwise_matrix",
    "similarity_of_distance",
]
