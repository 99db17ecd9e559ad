"""Sets of features side by side: groups and their parts, all learners over everything, majority and formula.

Reference: Feng et al. (2010), section 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from textmill.arrays import Ints
from textmill.tasks.readability.features import chosen_features
from textmill.tasks.readability.learners import LevelLearner
from textmill.tasks.readability.perplexities import LevelModels
from textmill.tasks.readability.preparation import PreparedTexts
from textmill.tasks.readability.protocol import CrossValidated, FeatureSet, cross_validate

__all__ = ["DETAILS", "compare_sets", "formula_levels", "standard_sets"]


_BASIC_PARSE = ["parse.tree.height", "parse.SBAR.per_sentence", "parse.NP.per_sentence", "parse.VP.per_sentence"]
_TRADITIONAL = ["shallow.words_per_sentence", "shallow.syllables_per_word", "shallow.flesch_kincaid"]
DETAILS: dict[str, list[str]] = {
    "words per sentence, syllables": ["shallow.words_per_sentence", "shallow.syllables_per_word"],
    "polysyllables per sentence": ["shallow.polysyllables_per_sentence"],
    **{
        f"POS {kind}": [f"pos.{kind}"]
        for kind in ("nouns", "verbs", "adjectives", "adverbs", "prepositions", "content", "function")
    },
    "entity density, first four": [
        "entity.mentions",
        "entity.unique",
        "entity.per_sentence",
        "entity.unique_per_sentence",
    ],
    "discourse": ["entity", "chains", "coreference", "grid"],
    "parse, first four": _BASIC_PARSE,
    **{f"parse {kind}": [f"parse.{kind}"] for kind in ("SBAR", "NP", "VP", "PP")},
    "parse, height": ["parse.tree.height"],
    "parse, constituents": ["parse.tree.constituents", "parse.tree.constituents_per_word"],
    "Schwarm and Ostendorf": ["external", "oov", *_BASIC_PARSE, *_TRADITIONAL],
}


def standard_sets(
    names: Sequence[str], learner: LevelLearner, *, length: bool = True, detailed: bool = False
) -> dict[str, FeatureSet]:
    """Return the usual sets of an experiment: single groups, representations, everything; only what has features.

    `detailed` adds the parts of groups that Feng et al. (2010) compare: classes of words, kinds of phrases, the
    features that groups began with, and the 25 of Schwarm & Ostendorf (2005), if all of their families are there.

    >>> list(standard_sets(["shallow.words", "shallow.words_per_sentence"], LevelLearner()))
    ['words per sentence', 'shallow', 'everything']
    """
    rows: dict[str, list[str]] = {
        "words per sentence": ["shallow.words_per_sentence"],
        "syllables per word": ["shallow.syllables_per_word"],
        "Flesch-Kincaid": ["shallow.flesch_kincaid"],
        "shallow": ["shallow"],
        "POS": ["pos"],
        "entity density": ["entity"],
        "lexical chains": ["chains"],
        "coreference": ["coreference"],
        "entity grid": ["grid"],
        "parse": ["parse"],
        "unknown words": ["oov"],
        "LM words": ["lm.words"],
        "LM tags": ["lm.tags"],
        "LM pairs": ["lm.pairs"],
        "LM mixed": ["lm.mixed"],
        "LM all": ["lm"],
        "LM relative": ["relative"],
        "LM external": ["external"],
        **(DETAILS if detailed else {}),
        "everything": ["all", "-formulas"],
    }
    sets = {}
    for name, wanted in rows.items():
        there = [w for w in wanted if w == "all" or any(_within(n, w.removeprefix("-")) for n in names)]
        if name in DETAILS and len(there) < len(wanted):
            continue
        if there and chosen_features(names, there, length=length):
            sets[name] = FeatureSet(there, learner, length)
    return sets


def compare_sets(prepared: PreparedTexts, learner: LevelLearner, **options: Any) -> CrossValidated:
    """Compare the usual sets of features, all learners over everything, and the majority, in one experiment.

    Options as in `cross_validate`, and `length` and `detailed` of `standard_sets`.
    """
    length, detailed = bool(options.pop("length", True)), bool(options.pop("detailed", False))
    models: LevelModels | None = options.get("models")
    external: LevelModels | None = options.get("external")
    there = [name for name in prepared.static.names if name not in set(prepared.static.missing())]
    if models is not None:
        kinds = [kind for kind in models.representations if kind == "words" or prepared.tokens.tag is not None]
        for family in ("lm", "relative"):
            there += [f"{family}.{kind}.{level}.1" for kind in kinds for level in prepared.order]
        there += [f"oov.tokens.{k}" for k in models.common]
    if external is not None:
        there += external.feature_names
    sets = standard_sets(there, learner, length=length, detailed=detailed)
    for kind in ("ordinal", "svm", "ordinal-svm", "regression", "majority"):
        if kind != learner.kind:
            other = LevelLearner(**{**learner.get_params(deep=False), "kind": kind})
            sets[f"everything, {kind}"] = FeatureSet(["all", "-formulas"], other, length)
    result = cross_validate(prepared, sets, **options)
    rows = len(next(iter(result.predicted.values())))
    for name, nearest in (("formula", False), ("formula, nearest level", True)):
        if (graded := formula_levels(prepared, nearest=nearest)) is not None:
            result.predicted[name] = np.tile(graded, (rows, 1))
            result.expected[name] = result.predicted[name].astype(np.float64)
            result.n_features[name] = 1
    return result


def formula_levels(prepared: PreparedTexts, *, nearest: bool = False) -> Ints | None:
    """Return the level that is the Flesch-Kincaid grade, rounded, without any training; None if levels are names.

    A grade that is none of the levels gives -1 or, if `nearest`, the level that is nearest to the grade.
    """
    if not all(level.lstrip("-").isdecimal() for level in prepared.order):
        return None
    grades = prepared.static.choose(["shallow.flesch_kincaid"]).values
    levels = np.array([float(level) for level in prepared.order])
    if nearest:
        return np.asarray(np.abs(grades - levels).argmin(axis=1))
    right = np.rint(grades) == levels
    return np.where(right.any(axis=1), right.argmax(axis=1), -1)


def _within(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(f"{prefix}.")
