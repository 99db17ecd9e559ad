"""Similarity of strings, as representation, alignment and score; collections of names and their matches.

features       what a string is cut into: characters, words, n-grams
measure        what a measure is, and what it learns
alignment      the explanation of a score
characters     edit distances and the Jaro family
bags           overlap, Jaccard, Dice, cosine, TF-IDF cosine
second_level   Monge-Elkan, Soft-TFIDF, Meta-Levenshtein, assignment
contexts       similarity by neighbours
joins          pairs above a threshold without scoring all
clusters       groups of matching names
matcher        the estimator around them
combined       powers, means, maxima, functions of yours
compatible     Soft-TFIDF as py_stringmatching computes it
language       measures as text
collection     names with ids, types, counts and clusters, and the files they come from
generate       synthetic names, with the words of stock
"""

from textmill.strings.alignment import Alignment, Edge
from textmill.strings.bags import Cosine, Dice, Jaccard, Overlap, TfIdf
from textmill.strings.characters import Damerau, Exact, Jaro, JaroWinkler, Levenshtein, NeedlemanWunsch, Osa
from textmill.strings.clusters import canonical_names, cluster_pairs
from textmill.strings.collection import NameList, read_names
from textmill.strings.combined import CustomMeasure, Maximum, Mean, Power
from textmill.strings.compatible import PySoftTfIdf
from textmill.strings.contexts import Context
from textmill.strings.features import Characters, CustomFeatures, Features, Ngrams, Words
from textmill.strings.generate import generate_names
from textmill.strings.joins import Pairs
from textmill.strings.language import FEATURES, MEASURES, parse_measure
from textmill.strings.matcher import DEFAULT_MEASURE, Clusters, Matcher, Neighbour
from textmill.strings.measure import Fitted, Measure
from textmill.strings.second_level import Assignment, Greedy, Ml, MongeElkan, SoftTfIdf

__all__ = [
    "DEFAULT_MEASURE",
    "FEATURES",
    "MEASURES",
    "Alignment",
    "Assignment",
    "Characters",
    "Clusters",
    "Context",
    "Cosine",
    "CustomFeatures",
    "CustomMeasure",
    "Damerau",
    "Dice",
    "Edge",
    "Exact",
    "Features",
    "Fitted",
    "Greedy",
    "Jaccard",
    "Jaro",
    "JaroWinkler",
    "Levenshtein",
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
    "Osa",
    "Overlap",
    "Pairs",
    "Power",
    "PySoftTfIdf",
    "SoftTfIdf",
    "TfIdf",
    "Words",
    "canonical_names",
    "cluster_pairs",
    "generate_names",
    "parse_measure",
    "read_names",
]
