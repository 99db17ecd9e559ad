"""Documents as vectors: weights of terms, vectors of texts, distances, nearest neighbors.

weighting    SMART weights of bags of words, TF-IDF among them
vectorizer   from texts to weighted vectors in one estimator
distance     distances and similarities of vectors and of all pairs of rows
index        nearest neighbors; ways of searching: scan, coarse, vafile, inverted; measured: its measures
growth       arrays that grow at the end; joining: one index of several
together     several indexes that answer as one
approximate  nearest neighbors that are found faster and sometimes missed
shards       one index in many files, on one machine or many
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.vectors.approximate import ApproximateIndex
    from textmill.vectors.coarse import CoarseScan
    from textmill.vectors.distance import MEASURES, compare, pairwise, pairwise_matrix, similarity_of_distance
    from textmill.vectors.growth import Growing
    from textmill.vectors.index import Answers, Index, Neighbors, Ranked
    from textmill.vectors.inverted import InvertedIndex
    from textmill.vectors.joining import join_indexes
    from textmill.vectors.measured import prepare_rows, scores_of
    from textmill.vectors.scan import PrefixScan, Scan
    from textmill.vectors.shards import ShardedIndex, open_shards, write_shards
    from textmill.vectors.together import Searched, nearest_of_all
    from textmill.vectors.vafile import VAFile
    from textmill.vectors.vectorizer import TextVectorizer
    from textmill.vectors.weighting import NegativeWeights, Vectors, Weighting

__all__ = [
    "MEASURES",
    "Answers",
    "ApproximateIndex",
    "CoarseScan",
    "Growing",
    "Index",
    "InvertedIndex",
    "NegativeWeights",
    "Neighbors",
    "PrefixScan",
    "Ranked",
    "Scan",
    "Searched",
    "ShardedIndex",
    "TextVectorizer",
    "VAFile",
    "Vectors",
    "Weighting",
    "compare",
    "join_indexes",
    "nearest_of_all",
    "open_shards",
    "pairwise",
    "pairwise_matrix",
    "prepare_rows",
    "scores_of",
    "similarity_of_distance",
    "write_shards",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "approximate": "ApproximateIndex",
        "coarse": "CoarseScan",
        "distance": "MEASURES compare pairwise pairwise_matrix similarity_of_distance",
        "growth": "Growing",
        "index": "Answers Index Neighbors Ranked",
        "inverted": "InvertedIndex",
        "joining": "join_indexes",
        "measured": "prepare_rows scores_of",
        "scan": "PrefixScan Scan",
        "shards": "ShardedIndex open_shards write_shards",
        "together": "Searched nearest_of_all",
        "vafile": "VAFile",
        "vectorizer": "TextVectorizer",
        "weighting": "NegativeWeights Vectors Weighting",
    },
)
