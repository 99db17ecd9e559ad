"""Similarity of strings, as representation, alignment and score; the search for similar ones.

features        what a string is cut into: characters, words, n-grams
measure         what a measure is, and what it learns
alignment       the explanation of a score
characters      edit distances and the Jaro family
bags            overlap, Jaccard, Dice, cosine, TF-IDF cosine
second_level    Monge-Elkan, Soft-TFIDF, Meta-Levenshtein, assignment
sounds          a rough code of how a word sounds
word_matchings  which words of two strings are matched
optima          all best alignments where there are several
contexts        similarity by neighbors
adaptive        the default measure, which adapts to its list
combined        powers, means, maxima, functions of yours
compatible      Soft-TFIDF as py_stringmatching computes it
language        measures as text
normalize       names without case and accents, punctuation, titles, legal forms
pairs           pairs of names, and what joins have in common
scored_join     strings prepared to be compared with many others, and pairs found by comparing them
word_join       pairs above a threshold by an index of words; why none is missed
cosine_join     the same for vectors
rescoring       exact scores of what a search finds
matching        pairs in which every name comes at most once
clusters        groups of matching names
matcher         the estimator around them
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.strings.adaptive import Auto
    from textmill.strings.alignment import Alignment, Edge, spans_of
    from textmill.strings.bags import Cosine, Dice, Jaccard, Overlap, TfIdf
    from textmill.strings.characters import Damerau, Exact, Jaro, JaroWinkler, Levenshtein, NeedlemanWunsch, Osa
    from textmill.strings.clusters import canonical_names, cluster_pairs
    from textmill.strings.combined import CustomMeasure, Maximum, Mean, Power
    from textmill.strings.compatible import PySoftTfIdf
    from textmill.strings.contexts import Context
    from textmill.strings.features import Characters, CustomFeatures, Features, Ngrams, Sounds, Words, checked_names
    from textmill.strings.language import FEATURES, MEASURES, parse_measure
    from textmill.strings.matcher import DEFAULT_MEASURE, Clusters, Matcher, Neighbor
    from textmill.strings.matching import one_to_one
    from textmill.strings.measure import Fitted, Measure
    from textmill.strings.normalize import (
        DEFAULT_STEPS,
        LEGAL_FORMS,
        STEPS,
        TITLES,
        Normalize,
        Normalizer,
        latin_letters,
        normalizer_of,
        places_in,
    )
    from textmill.strings.optima import best_alignments
    from textmill.strings.pairs import Pairs
    from textmill.strings.scored_join import Prepared
    from textmill.strings.second_level import Assignment, Greedy, Ml, MongeElkan, SoftTfIdf
    from textmill.strings.sounds import sound_code

__all__ = [
    "DEFAULT_MEASURE",
    "DEFAULT_STEPS",
    "FEATURES",
    "LEGAL_FORMS",
    "MEASURES",
    "STEPS",
    "TITLES",
    "Alignment",
    "Assignment",
    "Auto",
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
    "NeedlemanWunsch",
    "Neighbor",
    "Ngrams",
    "Normalize",
    "Normalizer",
    "Osa",
    "Overlap",
    "Pairs",
    "Power",
    "Prepared",
    "PySoftTfIdf",
    "SoftTfIdf",
    "Sounds",
    "TfIdf",
    "Words",
    "best_alignments",
    "canonical_names",
    "checked_names",
    "cluster_pairs",
    "latin_letters",
    "normalizer_of",
    "one_to_one",
    "parse_measure",
    "places_in",
    "sound_code",
    "spans_of",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "adaptive": "Auto",
        "alignment": "Alignment Edge spans_of",
        "bags": "Cosine Dice Jaccard Overlap TfIdf",
        "characters": "Damerau Exact Jaro JaroWinkler Levenshtein NeedlemanWunsch Osa",
        "clusters": "canonical_names cluster_pairs",
        "combined": "CustomMeasure Maximum Mean Power",
        "compatible": "PySoftTfIdf",
        "contexts": "Context",
        "features": "Characters CustomFeatures Features Ngrams Sounds Words checked_names",
        "language": "FEATURES MEASURES parse_measure",
        "matcher": "DEFAULT_MEASURE Clusters Matcher Neighbor",
        "matching": "one_to_one",
        "measure": "Fitted Measure",
        "normalize": "DEFAULT_STEPS LEGAL_FORMS Normalize Normalizer STEPS TITLES latin_letters normalizer_of "
        "places_in",
        "optima": "best_alignments",
        "pairs": "Pairs",
        "scored_join": "Prepared",
        "second_level": "Assignment Greedy Ml MongeElkan SoftTfIdf",
        "sounds": "sound_code",
    },
)
