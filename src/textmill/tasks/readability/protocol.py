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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from textmill import plot
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

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MODES", "ComparedSet", "CrossValidated", "FeatureSet", "cross_validate", "draw_levels"]

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


def draw_levels(result: CrossValidated, name: str) -> Figure:
    """Draw how often each level was answered by each."""
    table = result.confusion(name)
    names = [str(label) for label in table.labels]
    shares = 100 * table.table / np.maximum(table.table.sum(axis=1, keepdims=True), 1)
    return plot.heat_map(shares.round(1), columns=names, rows=names, x_label="answered, %", y_label="level", title=name)


def _part(table: FeatureTable, rows: Ints) -> FeatureTable:
    return FeatureTable(table.names, table.values[rows], [table.ids[i] for i in rows])


def _fresh(model: Any) -> Any:
    return type(model)(**model.get_params(deep=False))
