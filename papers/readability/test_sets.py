"""Sets of features side by side, features chosen inside of folds, and levels by formula."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from papers.readability.selection import add_one_best, feature_filter, select_nested
from papers.readability.sets import DETAILS, compare_sets, formula_levels, standard_sets
from papers.readability.statistics import correlations
from textmill.tasks.readability import (
    FEATURES,
    CrossValidated,
    FeatureTable,
    LevelLearner,
    LevelModels,
    PreparedTexts,
    ReadabilityGrader,
    chosen_features,
    prepare,
    prepare_graded,
    sample_graded_texts,
)


class Tagger:
    """Tags by the end of a word."""

    def predict(self, sentences: Any) -> list[list[str]]:
        ends = {"s": "NNS", "d": "VBD", "e": "NN", "y": "JJ", ".": ".", ",": ","}
        return [[ends.get(word[-1], "IN") for word in words] for words in sentences]


@pytest.fixture(scope="module")
def prepared() -> PreparedTexts:
    graded = sample_graded_texts(18)
    return ReadabilityGrader(tagger=Tagger(), n_jobs=1).prepare(graded.texts, graded.levels, graded.groups)


def test_selection_finds_what_tells_levels_and_no_copies() -> None:
    random = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    groups = [i % 30 for i in range(90)]
    signal = y + 0.6 * random.normal(size=90)
    other = y + 0.9 * random.normal(size=90)
    names = ["a.signal", "a.copy", "b.other", *(f"noise.{i}" for i in range(12))]
    values = np.column_stack([signal, signal + 1e-9, other, random.normal(size=(90, 12))])
    table = FeatureTable(names, values)
    chosen = feature_filter(table, y)
    assert "b.other" in chosen
    assert "a.signal" in chosen
    assert sum(name.startswith("noise") for name in chosen) <= 1
    steps = add_one_best(table, y, groups)
    assert [step.group for step in steps][:2] in (["a", "b"], ["b", "a"])
    assert all(later.accuracy > earlier.accuracy for earlier, later in pairwise(steps))
    nested = select_nested(table, y, groups, method="groups", n_folds=3)
    everything = select_nested(table, y, groups, method="none", n_folds=3)
    assert nested.accuracy >= everything.accuracy - 0.05
    assert nested.chosen["a.signal"] == 3
    assert "optimistic" in nested.note()


def test_a_comparison_has_sets_learners_and_baselines(prepared: PreparedTexts) -> None:
    models = LevelModels(order=2, representations=("words",), common=(50,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = compare_sets(prepared, LevelLearner(), models=models, mode="paper", n_folds=3)
    names = [row.name for row in result.rows()]
    assert {"shallow", "POS", "LM words", "everything", "everything, ordinal", "everything, majority"} <= set(names)
    rows = {row.name: row for row in result.rows()}
    assert rows["everything, majority"].accuracy == pytest.approx(1 / 3, abs=0.05)
    assert rows["words per sentence"].features == 1
    groups, matrix = correlations(prepared.static, by_group=True)
    assert "pos.nouns" in groups
    assert matrix == pytest.approx(matrix.T)
    assert formula_levels(prepared) is None  # levels are names


def test_numbers_as_levels_have_a_formula() -> None:
    texts = ["A dog ran. It was big.", "Considerable deliberation accompanies agricultural negotiations today."]
    made = prepare(texts, ["1", "12"])
    assert np.array(formula_levels(made, nearest=True)).tolist() == [0, 1]
    grades = made.static.choose(["shallow.flesch_kincaid"]).values[:, 0]  # -2.2 and 33.0
    assert np.array(formula_levels(made)).tolist() == [-1, -1]
    exact = prepare(texts, [f"{grade:.0f}" for grade in grades])
    assert np.array(formula_levels(exact)).tolist() == [0, 1]


def test_a_formula_that_answers_no_level_is_wrong_there() -> None:
    answers = {"formula": np.array([[0, -1, -1, 1]]), "other": np.array([[0, 0, 1, 1]])}
    expected = {name: rows.astype(float) for name, rows in answers.items()}
    result = CrossValidated(["1", "2"], np.array([0, 0, 1, 1]), answers, expected, {"formula": 1, "other": 1})
    formula, other = result.rows()
    assert (formula.accuracy, formula.mse, formula.kappa, formula.adjacent) == (0.5, None, None, None)
    assert formula.macro_f == pytest.approx(2 / 3)  # each level: precision 1, recall one half
    assert (other.accuracy, other.mse) == (1.0, 0.0)
    assert result.confusion("formula").labels == ("1", "2", "other")


def test_usual_sets_are_those_with_features() -> None:
    assert list(standard_sets(["shallow.words"], LevelLearner())) == ["shallow", "everything"]
    assert prepare_graded(sample_graded_texts(3)).order == ["easy", "middle", "hard"]


def test_details_of_groups_are_compared_where_their_features_are() -> None:
    names = [*FEATURES, "oov.tokens.100", "external.words.a.1"]
    plain, detailed = (standard_sets(names, LevelLearner(), detailed=one) for one in (False, True))
    assert {"POS nouns", "parse NP", "entity density, first four", "discourse"} <= detailed.keys()
    assert not plain.keys() & DETAILS.keys()
    assert "Schwarm and Ostendorf" in detailed
    assert "Schwarm and Ostendorf" not in standard_sets(names[:-1], LevelLearner(), detailed=True)
    every = standard_sets(names, LevelLearner(), detailed=True)["Schwarm and Ostendorf"].features
    assert len(chosen_features(names, every)) == 1 + 1 + 4 + 3  # 25 with twelve perplexities and six rates
