"""Experiments that do not fool anybody: folds over groups, repeated, with models that have not seen the test texts.

    nested   n-gram models, informative words and common words come from the training fold alone; its own texts are
             scored by models without their group, test texts by models of the whole fold
    paper    one pass over all texts, each scored by models without its group: as in the paper, n-gram models see the
             texts of the test fold, with their levels, when they score texts of training

All texts of a group are in one fold. Each repetition deals the groups anew; figures are means over repetitions, with
their standard deviation. p-values are of McNemar's test against the best row, over the texts of the first repetition.

Cost: of paper one extraction, of nested one for each fold; and the learners. Reference: Feng et al. (2010), section 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from textmill.arrays import Floats, Ints
from textmill.errors import DataError, warn_caller
from textmill.metrics import Confusion, PairedCounts, RegressionCounts
from textmill.model import check_choice, check_range
from textmill.progress import track
from textmill.selection import deal_groups
from textmill.tables import Rows, Table
from textmill.tasks.readability.features import FeatureTable, chosen_features
from textmill.tasks.readability.leaks import LeakWarning, hold_out_leak
from textmill.tasks.readability.learners import LevelLearner
from textmill.tasks.readability.perplexities import LevelModels
from textmill.tasks.readability.preparation import PreparedTexts

__all__ = [
    "MODES",
    "ComparedSet",
    "CrossValidated",
    "FeatureSet",
    "compare_sets",
    "cross_validate",
    "formula_levels",
    "standard_sets",
]

MODES = ("nested", "paper")


@dataclass(frozen=True)
class FeatureSet:
    """A row of an experiment: features by group or name, and what learns from them."""

    features: Sequence[str]
    learner: LevelLearner
    length: bool = True


class ComparedSet(NamedTuple):
    """Figures of one set: mean accuracy and its deviation over repetitions, and what else is asked for.

    A set that answers some texts by no level, as a formula does, has no squared error, neighbors and kappa.
    """

    name: str
    features: int
    accuracy: float
    deviation: float
    mse: float | None
    macro_f: float
    adjacent: float | None
    kappa: float | None
    p_value: float | None


@dataclass(frozen=True)
class CrossValidated(Table):
    """Answers for every text in every repetition: `predicted` and `expected` are (repetitions, texts) for each set.

    A prediction of -1 is an answer that is none of the levels.
    """

    order: list[str]
    level: Ints
    predicted: dict[str, Ints]
    expected: dict[str, Floats]
    n_features: dict[str, int]

    def accuracies(self, name: str) -> Floats:
        """Return the accuracy of each repetition."""
        return np.asarray((self.predicted[name] == self.level).mean(axis=1))

    def confusion(self, name: str) -> Confusion:
        """Return how often each level (row) was answered by each, over all repetitions; "other" is none of them."""
        gold = [self.order[i] for row in self.predicted[name] for i in self.level]
        names = [*self.order, "other" if "other" not in self.order else "none of these"]
        labels = self.order if self.predicted[name].min(initial=0) >= 0 else names
        return Confusion.from_labels(gold, [names[i] for i in self.predicted[name].ravel()], labels)

    def rows(self) -> Rows[ComparedSet]:
        """Return the figures of each set."""
        means = {name: float(self.accuracies(name).mean()) for name in self.predicted}
        best = max(means, key=lambda name: means[name])
        right = {name: answers[0] == self.level for name, answers in self.predicted.items()}
        figures = []
        for name, answers in self.predicted.items():
            table, whole = self.confusion(name), answers.min(initial=0) >= 0
            gold = np.tile(self.level, len(answers)).astype(np.float64)
            spread = self.accuracies(name)
            figures.append(
                ComparedSet(
                    name,
                    self.n_features[name],
                    means[name],
                    float(spread.std(ddof=1)) if len(spread) > 1 else 0.0,
                    RegressionCounts.from_values(gold, answers.ravel().astype(np.float64)).mse if whole else None,
                    table.per_label().f("macro") if whole else float(np.mean(table.per_label().columns()["f1"][:-1])),
                    table.accuracy(within=1) if whole else None,
                    table.kappa("quadratic") if whole else None,
                    None if name == best else PairedCounts.from_correct(right[best], right[name]).mcnemar_exact(),
                )
            )
        return Rows(figures, ComparedSet)

    def columns(self) -> dict[str, Any]:
        """Return the columns of `rows`."""
        rows = self.rows()
        return {field: [getattr(row, field) for row in rows] for field in ComparedSet._fields}


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


def cross_validate(
    prepared: PreparedTexts,
    sets: Mapping[str, FeatureSet],
    *,
    models: LevelModels | None = None,
    external: LevelModels | None = None,
    mode: str = "nested",
    n_folds: int = 10,
    repetitions: int = 1,
    random_state: int = 0,
) -> CrossValidated:
    """Answer every text by learners that were trained without its group, for each set of features.

    `models` are n-gram models to make, not fitted; None for none. `external` are fitted models of other corpora, see
    `external_models`. `mode` is "nested" or "paper".
    """
    check_choice("mode", mode, MODES)
    check_range("repetitions", repetitions, at_least=1, whole=True)
    if not sets:
        raise DataError("there is no set of features; pass at least one")
    table = prepared.static
    if external is not None:
        table = table.joined(external.transform(prepared.tokens))
    levels = [prepared.order[i] for i in prepared.level]
    if models is not None and mode == "paper":
        learned = _fresh(models).fit(prepared.tokens, levels, prepared.groups, prepared.order).training_features()
        if (leak := hold_out_leak(learned, levels, prepared.order)) is not None:
            warn_caller(str(leak), LeakWarning)
        table = table.joined(learned)
    size = len(prepared)
    predicted = {name: np.zeros((repetitions, size), np.int64) for name in sets}
    expected = {name: np.zeros((repetitions, size)) for name in sets}
    counts: dict[str, int] = {}
    steps = [(r, fold) for r in range(repetitions) for fold in range(n_folds)]
    dealt = [deal_groups(prepared.groups, n_folds, random_state=random_state + r) for r in range(repetitions)]
    for repetition, fold in track(steps, "folds", unit="folds"):
        inside = np.flatnonzero(dealt[repetition] != fold)
        outside = np.flatnonzero(dealt[repetition] == fold)
        train, test = _part(table, inside), _part(table, outside)
        if models is not None and mode == "nested":
            own = _fresh(models).fit(
                prepared.tokens.take(inside),
                [levels[i] for i in inside],
                [prepared.groups[i] for i in inside],
                prepared.order,
            )
            train = train.joined(own.training_features())
            test = test.joined(own.transform(prepared.tokens.take(outside)))
        groups = [prepared.groups[i] for i in inside]
        for name, one in sets.items():
            names = chosen_features(train.names, one.features, length=one.length)
            counts[name] = len([n for n in names if not np.isnan(train.choose([n]).values).all()])
            learner = _fresh(one.learner).fit(train.choose(names).values, prepared.level[inside], groups)
            X = test.choose(names).values
            predicted[name][repetition, outside] = learner.predict(X)
            expected[name][repetition, outside] = learner.expected(X)
    return CrossValidated(prepared.order, prepared.level, predicted, expected, counts)


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


def _part(table: FeatureTable, rows: Ints) -> FeatureTable:
    return FeatureTable(table.names, table.values[rows], [table.ids[i] for i in rows])


def _fresh(model: Any) -> Any:
    return type(model)(**model.get_params(deep=False))
