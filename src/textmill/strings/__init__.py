"""Similarity of strings, as representation, alignment and score; collections of names and their matches.

features       what a string is cut into: characters, words, n-grams
measure        what a measure is, and what it learns
alignment      the explanation of a score
characters     edit distances and the Jaro family
bags           overlap, Jaccard, Dice, cosine, TF-IDF cosine
second_level   Monge-Elkan, Soft-TFIDF, Meta-Levenshtein, assignment
contexts       similarity by neighbours
combined       powers, means, maxima, functions of yours
language       measures as text
collection     names with ids, types, counts and clusters, and the files they come from
generate       synthetic names, with the words of stock
"""

from __future__ import annotations

from textmill.strings.alignment import Alignment, Edge
from textmill.strings.bags import Cosine, Dice, Jaccard, Overlap, TfIdf
from textmill.strings.characters import Damerau, Exact, Jaro, JaroWinkler, Levenshtein, NeedlemanWunsch, Osa
from textmill.strings.collection import NameList, read_names
from textmill.strings.combined import CustomMeasure, Maximum, Mean, Power
from textmill.strings.contexts import Context
from textmill.strings.features import Characters, CustomFeatures, Features, Ngrams, Words
from textmill.strings.generate import generate_names
from textmill.strings.language import FEATURES, MEASURES, parse_measure
from textmill.strings.measure import Fitted, Measure
from textmill.strings.second_level import Assignment, Greedy, Ml, MongeElkan, SoftTfIdf

__all__ = [
    "FEATURES",
    "MEASURES",
    "Alignment",
    "Assignment",
    "Characters",
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
    "Maximum",
    "Mean",
    "Measure",
    "Ml",
    "MongeElkan",
    "NameList",
    "NeedlemanWunsch",
    "Ngrams",
    "Osa",
    "Overlap",
    "Power",
    "SoftTfIdf",
    "TfIdf",
    "Words",
    "generate_names",
    "parse_measure",
    "read_names",
]
