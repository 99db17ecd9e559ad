"""Similarity of strings, as representation, alignment and score; collections of names and their matches.

features       what a string is cut into: characters, words, n-grams
measure        what a measure is, and what it learns
alignment      the explanation of a score
characters     edit distances and the Jaro family
bags           overlap, Jaccard, Dice, cosine, TF-IDF cosine
second_level   Monge-Elkan, Soft-TFIDF, Meta-Levenshtein, assignment
optima         all best alignments where there are several
contexts       similarity by neighbours
joins          pairs above a threshold without scoring all
matching       pairs in which every name comes at most once
clusters       groups of matching names
matcher        the estimator around them
combined       powers, means, maxima, functions of yours
compatible     Soft-TFIDF as py_stringmatching computes it
language       measures as text
collection     names with ids, types, counts and clusters, and the files they come from
generate       synthetic names, with the words of stock
gold           what is known about pairs: positive, negative, don't know
normalise      case, accents, punctuation, titles, legal forms: all off unless asked for
pairfiles      files of matched pairs
evaluation     precision, recall and F by number of pairs; comparison; the choice of a measure
pooling        which pairs are worth a label
calibration    from scores to probabilities
review         a page to judge pairs by mouse and keyboard
sample         a customer list to try everything on
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.strings.alignment import Alignment, Edge
    from textmill.strings.bags import Cosine, Dice, Jaccard, Overlap, TfIdf
    from textmill.strings.calibration import Calibration
    from textmill.strings.characters import Damerau, Exact, Jaro, JaroWinkler, Levenshtein, NeedlemanWunsch, Osa
    from textmill.strings.clusters import canonical_names, cluster_pairs
    from textmill.strings.collection import NameList, read_names
    from textmill.strings.combined import CustomMeasure, Maximum, Mean, Power
    from textmill.strings.compatible import PySoftTfIdf
    from textmill.strings.contexts import Context
    from textmill.strings.evaluation import (
        Choice,
        Cut,
        Difference,
        Evaluation,
        MatchCurve,
        choose,
        differences,
        evaluate,
    )
    from textmill.strings.features import Characters, CustomFeatures, Features, Ngrams, Words
    from textmill.strings.generate import generate_names
    from textmill.strings.gold import Gold, read_gold, write_gold
    from textmill.strings.language import FEATURES, MEASURES, parse_measure
    from textmill.strings.matcher import DEFAULT_MEASURE, Clusters, Matcher, Neighbour
    from textmill.strings.matching import one_to_one
    from textmill.strings.measure import Fitted, Measure
    from textmill.strings.normalise import LEGAL_FORMS, TITLES, Normaliser
    from textmill.strings.optima import best_alignments
    from textmill.strings.pairfiles import ClusterRow, PairRow, read_pairs, write_clusters, write_pairs
    from textmill.strings.pairs import Pairs
    from textmill.strings.pooling import PooledPair, pool_pairs
    from textmill.strings.review import Proposal, propose, review_page
    from textmill.strings.sample import sample_names, sample_names_path
    from textmill.strings.second_level import Assignment, Greedy, Ml, MongeElkan, SoftTfIdf

__all__ = [
    "DEFAULT_MEASURE",
    "FEATURES",
    "LEGAL_FORMS",
    "MEASURES",
    "TITLES",
    "Alignment",
    "Assignment",
    "Calibration",
    "Characters",
    "Choice",
    "ClusterRow",
    "Clusters",
    "Context",
    "Cosine",
    "CustomFeatures",
    "CustomMeasure",
    "Cut",
    "Damerau",
    "Dice",
    "Difference",
    "Edge",
    "Evaluation",
    "Exact",
    "Features",
    "Fitted",
    "Gold",
    "Greedy",
    "Jaccard",
    "Jaro",
    "JaroWinkler",
    "Levenshtein",
    "MatchCurve",
    "Matcher",
    "Maximum",
    "Mean",
    "Measure",
    "Ml",
    "MongeElkan",
    "NameList",
    "NeedlemanWunsch",
    "Neighbour",
    "Ngrams",
    "Normaliser",
    "Osa",
    "Overlap",
    "PairRow",
    "Pairs",
    "PooledPair",
    "Power",
    "Proposal",
    "PySoftTfIdf",
    "SoftTfIdf",
    "TfIdf",
    "Words",
    "best_alignments",
    "canonical_names",
    "choose",
    "cluster_pairs",
    "differences",
    "evaluate",
    "generate_names",
    "one_to_one",
    "parse_measure",
    "pool_pairs",
    "propose",
    "read_gold",
    "read_names",
    "read_pairs",
    "review_page",
    "sample_names",
    "sample_names_path",
    "write_clusters",
    "write_gold",
    "write_pairs",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "alignment": "Alignment Edge",
        "bags": "Cosine Dice Jaccard Overlap TfIdf",
        "calibration": "Calibration",
        "characters": "Damerau Exact Jaro JaroWinkler Levenshtein NeedlemanWunsch Osa",
        "clusters": "canonical_names cluster_pairs",
        "collection": "NameList read_names",
        "combined": "CustomMeasure Maximum Mean Power",
        "compatible": "PySoftTfIdf",
        "contexts": "Context",
        "evaluation": "Choice Cut Difference Evaluation MatchCurve choose differences evaluate",
        "features": "Characters CustomFeatures Features Ngrams Words",
        "generate": "generate_names",
        "gold": "Gold read_gold write_gold",
        "language": "FEATURES MEASURES parse_measure",
        "matcher": "DEFAULT_MEASURE Clusters Matcher Neighbour",
        "matching": "one_to_one",
        "measure": "Fitted Measure",
        "normalise": "LEGAL_FORMS TITLES Normaliser",
        "optima": "best_alignments",
        "pairfiles": "ClusterRow PairRow read_pairs write_clusters write_pairs",
        "pairs": "Pairs",
        "pooling": "PooledPair pool_pairs",
        "review": "Proposal propose review_page",
        "sample": "sample_names sample_names_path",
        "second_level": "Assignment Greedy Ml MongeElkan SoftTfIdf",
    },
)
