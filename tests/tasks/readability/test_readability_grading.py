"""Learning levels: models without a group, modes of experiments, leaks, learners, selection, explanations, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textmill import load
from textmill.errors import DataError
from textmill.lm import NGramModel
from textmill.selection import deal_groups
from textmill.tasks.readability import (
    Annotator,
    FeatureSet,
    LanguageResources,
    Layers,
    LeakWarning,
    LevelLearner,
    LevelModels,
    MissingFeatures,
    PreparedTexts,
    ReadabilityGrader,
    TokenArrays,
    cross_validate,
    explain_groups,
    external_models,
    find_leaks,
    find_versions,
    hardest_sentences,
    hold_out_leak,
    prepare,
    sample_graded_texts,
)

KINDS = ("logistic", "ordinal", "svm", "ordinal-svm", "regression")


class Tagger:
    """Tags by the end of a word."""

    def predict(self, sentences: Any) -> list[list[str]]:
        ends = {"s": "NNS", "d": "VBD", "e": "NN", "y": "JJ", ".": ".", ",": ","}
        return [[ends.get(word[-1], "IN") for word in words] for words in sentences]


@pytest.fixture(scope="module")
def prepared() -> PreparedTexts:
    graded = sample_graded_texts(18)
    return ReadabilityGrader(tagger=Tagger(), n_jobs=1).prepare(graded.texts, graded.levels, graded.groups)


@pytest.mark.parametrize("smoothing", ["witten-bell", "katz"])
def test_perplexities_without_a_group_are_those_of_training_without_it(smoothing: str) -> None:
    graded = sample_graded_texts(17)  # 51 texts
    layers = Layers(ReadabilityGrader(tagger=Tagger()).annotator().annotate(graded.texts))
    assert graded.groups is not None
    models = LevelModels(order=3, representations=("words", "pairs"), smoothing=smoothing, common=())
    table = models.fit(layers, graded.levels, graded.groups, graded.order).training_features()
    arrays = TokenArrays.of(layers)
    for kind in ("words", "pairs"):
        sentences = arrays.represented(kind)
        texts = [sentences[a:b] for a, b in zip(arrays.documents[:-1], arrays.documents[1:], strict=True)]
        for number in range(0, len(texts), 5):
            others = [i for i, group in enumerate(graded.groups) if group != graded.groups[number]]
            for level in graded.order:
                rest = [s for i in others if graded.levels[i] == level for s in texts[i]]
                for order in (1, 2, 3):
                    alone = NGramModel(order=order, smoothing=smoothing).fit(rest)
                    expected = alone.scores(texts[number]).perplexity()
                    own = table.choose([f"lm.{kind}.{level}.{order}"]).values[number, 0]
                    assert own == pytest.approx(expected, rel=1e-10)


def test_mixed_words_and_common_words_do_not_know_the_group(prepared: PreparedTexts) -> None:
    levels = [prepared.order[i] for i in prepared.level]
    models = LevelModels(order=2, representations=("mixed",), common=(20,), n_words=30)
    table = models.fit(prepared.tokens, levels, prepared.groups, prepared.order).training_features()
    rows = [i for i, group in enumerate(prepared.groups) if group == prepared.groups[0]]
    parts = list(dict.fromkeys(prepared.groups))[::10]  # what is left out of the words together with the first group
    inside = [i for i, group in enumerate(prepared.groups) if group not in parts]
    fresh = LevelModels(order=2, representations=("mixed",), common=(20,), n_words=30)
    fresh.fit(prepared.tokens.take(inside), [levels[i] for i in inside], inside, prepared.order)
    kept = {name for name, keep in zip(fresh._training().names, fresh._kept_words(), strict=True) if keep}
    rest = [i for i, group in enumerate(prepared.groups) if group != prepared.groups[0]]
    arrays = prepared.tokens
    flags = np.array([name in kept for name in arrays.names])
    sentences = arrays.represented("mixed", flags)
    texts = [sentences[a:b] for a, b in zip(arrays.documents[:-1], arrays.documents[1:], strict=True)]
    for level in prepared.order:
        alone = NGramModel(order=2, smoothing="witten-bell").fit(
            [s for i in rest if levels[i] == level for s in texts[i]]
        )
        for row in rows:
            own = table.choose([f"lm.mixed.{level}.2"]).values[row, 0]
            assert own == pytest.approx(alone.scores(texts[row]).perplexity(), rel=1e-10)
    counts: dict[int, int] = {}
    words = [
        arrays.type[a:b][arrays.word[a:b]].tolist()
        for a, b in zip(arrays.sentences[arrays.documents][:-1], arrays.sentences[arrays.documents][1:], strict=True)
    ]
    for i in rest:
        if levels[i] == prepared.order[0]:
            for word in words[i]:
                counts[word] = counts.get(word, 0) + 1
    common = sorted(counts, key=lambda word: (-counts[word], word))[:20]
    share = np.mean([word not in common for word in words[rows[0]]])
    assert table.choose(["oov.tokens.20"]).values[rows[0], 0] == pytest.approx(share)


def test_new_texts_are_scored_by_all_texts_of_training(prepared: PreparedTexts) -> None:
    levels = [prepared.order[i] for i in prepared.level]
    models = LevelModels(order=2, representations=("words", "mixed"), common=(50,))
    models.fit(prepared.tokens, levels, prepared.groups, prepared.order)
    table = models.transform(prepared.tokens.take([0, 1]))
    sentences = prepared.tokens.take(np.flatnonzero(prepared.level == 0)).represented("words")
    own = prepared.tokens.take([1]).represented("words")
    expected = NGramModel(order=2, smoothing="witten-bell").fit(sentences).scores(own).perplexity()
    assert table.choose(["lm.words.easy.2"]).values[1, 0] == pytest.approx(expected, rel=1e-10)


def test_folds_keep_groups_together() -> None:
    groups = [f"g{i // 3}" for i in range(30)]
    folds = deal_groups(groups, 5, random_state=1)
    assert all(len(set(folds[i : i + 3].tolist())) == 1 for i in range(0, 30, 3))
    assert np.bincount(folds).tolist() == [6] * 5
    with pytest.raises(ValueError, match="10 groups for 11 folds"):
        deal_groups(groups, 11)


@pytest.mark.parametrize("mode", ["nested", "paper"])
def test_levels_are_learned_and_shuffled_levels_are_not(prepared: PreparedTexts, mode: str) -> None:
    sets = {"shallow": FeatureSet(["shallow"], LevelLearner()), "lm": FeatureSet(["lm.words"], LevelLearner())}
    models = LevelModels(order=2, representations=("words",), common=())
    result = cross_validate(prepared, sets, models=models, mode=mode, n_folds=3, repetitions=2)
    again = cross_validate(prepared, sets, models=models, mode=mode, n_folds=3, repetitions=2)
    assert result.rows() == again.rows()
    assert result.rows()[0].accuracy > 0.8
    random = np.random.default_rng(0)
    accuracies = []
    for _ in range(3):
        level = np.array(prepared.level)
        for group in dict.fromkeys(prepared.groups):
            rows = [i for i, own in enumerate(prepared.groups) if own == group]
            level[rows] = random.permutation(level[rows])
        shuffled = PreparedTexts(
            prepared.documents, level, prepared.order, prepared.groups, prepared.tokens, prepared.static
        )
        result = cross_validate(shuffled, sets, models=models, mode=mode, n_folds=6)
        accuracies += [row.accuracy for row in result.rows()]
    assert 0.15 < np.mean(accuracies) < 0.5


def test_document_wise_hold_out_is_found_to_leak(prepared: PreparedTexts) -> None:
    levels = [prepared.order[i] for i in prepared.level]
    models = LevelModels(order=3, representations=("words",), common=())
    grouped = models.fit(prepared.tokens, levels, prepared.groups, prepared.order).training_features()
    assert hold_out_leak(grouped, levels, prepared.order) is None
    alone = models.fit(prepared.tokens, levels, range(len(prepared)), prepared.order).training_features()
    leak = hold_out_leak(alone, levels, prepared.order)
    assert leak is not None
    assert leak.share > 0.9
    apart = PreparedTexts(
        prepared.documents, prepared.level, prepared.order, list(range(len(prepared))), prepared.tokens, prepared.static
    )
    with pytest.warns(LeakWarning, match="hold-out"):
        cross_validate(apart, {"lm": FeatureSet(["lm"], LevelLearner())}, models=models, mode="paper", n_folds=3)


def test_versions_without_groups_are_an_error() -> None:
    graded = sample_graded_texts(4)
    assert len(find_versions(graded.texts)) >= 4
    with pytest.raises(ValueError, match="pass groups: the article of each text"):
        prepare(graded.texts, graded.levels)
    with pytest.warns(LeakWarning, match="versions"):
        prepare(graded.texts, graded.levels, range(len(graded)))


def test_characters_and_headers_that_give_a_level_away_are_found() -> None:
    texts = [f"{'It’s' if i % 3 else 'Its'} mill number {i}" for i in range(30)]
    levels = [str(i % 3) for i in range(30)]
    leaks = find_leaks(texts, levels)
    assert {leak.what for leak in leaks} >= {"characters that are not ASCII", "quotes", "the character '’'"}
    assert {leak.level for leak in leaks if leak.kind == "characters"} == {"0"}
    headed = [f"{'Intermediate' if i % 3 == 1 else f'w{i}'} mill {i}" for i in range(30)]
    assert [leak.what for leak in find_leaks(headed, levels)] == ["the first word 'Intermediate'"]
    assert find_leaks([f"mill {i}" for i in range(30)], levels) == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_learner_tells_levels_apart(kind: str) -> None:
    random = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    X = np.column_stack([y + 0.2 * random.normal(size=60), random.normal(size=60), np.full(60, np.nan)])
    X[0, 1] = np.nan
    learner = LevelLearner(kind=kind, l2=None, random_state=1).fit(X, y)
    assert (learner.predict(X) == y).mean() > 0.9
    p = learner.predict_proba(X)
    assert p.shape == (60, 3)
    assert p.sum(axis=1) == pytest.approx(np.ones(60))
    assert np.corrcoef(learner.expected(X), y)[0, 1] > 0.9
    if kind != "svm":
        shares = learner.shares(X)
        assert np.abs(shares[:, 0]).mean() > 5 * np.abs(shares[:, 1]).mean()
        assert (shares[:, 2] == 0).all()


def test_ordinal_probabilities_are_differences() -> None:
    X, y = np.array([[0.0], [0.1], [1.0], [1.1], [2.0], [2.1]]), [0, 0, 1, 1, 2, 2]
    learner = LevelLearner(kind="ordinal").fit(X, y)
    Z = (X - learner.mean_) / learner.scale_
    above = 1 / (1 + np.exp(-(Z @ learner.coef_.T + learner.intercept_)))
    expected = np.column_stack([1 - above[:, 0], above[:, 0] - above[:, 1], above[:, 1]])
    assert learner.predict_proba(X) == pytest.approx(expected / expected.sum(axis=1, keepdims=True))


def test_what_cannot_be_learned_from_is_an_error() -> None:
    with pytest.raises(ValueError, match="same level"):
        LevelLearner().fit([[1.0], [2.0]], [1, 1])
    with pytest.raises(ValueError, match="no feature has a value"):
        LevelLearner().fit([[np.nan], [np.nan]], [0, 1])
    with pytest.raises(ValueError, match="2 columns, the learner was trained on 1"):
        LevelLearner().fit([[1.0], [2.0]], [0, 1]).predict([[1.0, 2.0]])
    with pytest.raises(ValueError, match="all texts have the level 'a'"):
        prepare(["A mill.", "Another one turns."], ["a", "a"])
    with pytest.raises(ValueError, match="level 'b' is not one of a"):
        prepare(["A mill.", "Another one turns."], ["a", "b"], order=["a"])
    with pytest.raises(ValueError, match="2 texts but 1 levels"):
        prepare(["A mill.", "Another one turns."], ["a"])
    with pytest.raises(ValueError, match="the text has no words"):
        Layers(ReadabilityGrader().annotator().annotate(["..."]))


def test_a_level_of_one_group_cannot_be_held_out() -> None:
    texts = ["A mill turns in the wind.", "Its wheel is old.", "Perplexity characterizes representations."]
    with pytest.raises(ValueError, match="nothing is left"):
        ReadabilityGrader(features=["lm.words"]).fit(texts, ["1", "1", "2"], ["a", "b", "c"])


def test_a_grader_is_saved_with_all_it_needs(tmp_path: Path) -> None:
    graded = sample_graded_texts(12)
    grader = ReadabilityGrader(features=["shallow", "lm.words", "oov"], resources=LanguageResources(vowels="aeiouy"))
    grader.fit(graded.texts, graded.levels, graded.groups)
    grader.save(tmp_path / "a.mill")
    loaded = load(tmp_path / "a.mill", expect=ReadabilityGrader)
    new = [article.texts[-1] for article in (sample_graded_texts(5), sample_graded_texts(7))]
    assert loaded.predict_proba(new) == pytest.approx(grader.predict_proba(new), rel=1e-12)
    loaded.save(tmp_path / "b.mill")
    assert (tmp_path / "a.mill").read_bytes() == (tmp_path / "b.mill").read_bytes()
    rows = loaded.grade(new, ids=["x", "y"]).to_dict()
    assert rows["id"] == ["x", "y"]
    assert loaded.classes_.tolist() == ["easy", "middle", "hard"]


def test_missing_layers_of_new_texts_are_told() -> None:
    graded = sample_graded_texts(8)
    grader = ReadabilityGrader(features=["shallow", "pos"], tagger=Tagger())
    grader.fit(graded.texts, graded.levels, graded.groups)
    grader.tagger = None
    with pytest.warns(MissingFeatures, match="features of pos are missing"):
        grader.predict(graded.texts[:2])


def test_explanations_name_groups_and_hard_sentences() -> None:
    graded = sample_graded_texts(12)
    grader = ReadabilityGrader(features=["shallow"]).fit(graded.texts, graded.levels, graded.groups)
    long = "The mill which the old man and his brothers had built beside the river many years ago was sold yesterday."
    text = f"The mill is old. {long} It turns. The cat is big."
    rows = explain_groups(grader, text)
    assert [row.group for row in rows] == ["shallow"]
    hard = hardest_sentences(grader, text, k=2)
    assert hard[0].sentence == 2
    assert hard[0].difficulty > hard[1].difficulty
    with pytest.raises(ValueError, match="one sentence"):
        hardest_sentences(grader, "The mill is old.")
    reducing = ReadabilityGrader(features=["shallow"], reduce=True).fit(graded.texts, graded.levels, graded.groups)
    quoted = "“The mill’s wheel” is old. It turns. The cat is big."
    shown = {row.sentence: row.text for row in hardest_sentences(reducing, quoted)}
    assert shown[1] == "The mills wheel is old ."


def test_a_level_of_one_article_has_no_models() -> None:
    grader = ReadabilityGrader(features=["shallow", "lm.words"])
    texts, levels = ["A mill.", "It is old indeed.", "It turns and turns."], ["1", "2", "2"]
    with pytest.raises(DataError, match="all texts of level '1' are of one article"):
        grader.fit(texts, levels)
    assert ReadabilityGrader(features=["shallow"]).fit(texts, levels).predict(["A mill."]).tolist() == ["1"]


def test_other_corpora_score_texts_by_their_own_models() -> None:
    graded, others = sample_graded_texts(12), sample_graded_texts(40)
    rows = [i for i, group in enumerate(others.groups or []) if group not in set(graded.groups or [])]
    corpora = others.take(rows)
    words = external_models(corpora, order=2)
    layers = Layers(Annotator().annotate(graded.texts))
    table = words.transform(layers)
    assert table.names == words.feature_names
    assert len(table.names) == 6
    text = TokenArrays.of(Layers(Annotator().annotate([graded.texts[4]]))).represented("words")
    own = TokenArrays.of(
        Layers(Annotator().annotate([t for t, n in zip(corpora.texts, corpora.levels, strict=True) if n == "hard"]))
    )
    alone = NGramModel(order=2, smoothing="witten-bell").fit(own.represented("words"))
    value = table.choose(["external.words.hard.2"]).values[4, 0]
    assert value == pytest.approx(alone.scores(text).perplexity(), rel=1e-10)

    tagged = external_models(corpora, annotator=Annotator(tagger=Tagger()), n_words=50)
    assert tagged.feature_names[0] == "external.mixed.easy.1"
    grader = ReadabilityGrader(features=["external"], tagger=Tagger(), external=tagged, n_jobs=1)
    grader.fit(graded.texts, graded.levels, graded.groups)
    assert grader.feature_names_.to_list() == tagged.feature_names
    prepared = grader.prepare(graded.texts, graded.levels, graded.groups)
    sets = {"LM external": FeatureSet(["external"], LevelLearner())}
    assert cross_validate(prepared, sets, external=tagged, n_folds=3).rows()[0].accuracy > 0.5


def test_the_penalty_is_chosen_by_what_is_held_out() -> None:
    random = np.random.default_rng(0)
    level = np.tile([0, 1], 60)
    clear = level[:, None] + 0.05 * random.normal(size=(120, 1))
    noise = random.normal(size=(120, 60))
    groups = [i // 2 for i in range(120)]
    sure = LevelLearner(n_jobs=1).fit(clear, level, groups)
    unsure = LevelLearner(n_jobs=1).fit(noise, level, groups)
    assert sure.l2_ <= 0.1 < 100.0 <= unsure.l2_
    assert LevelLearner(l2=1.0, n_jobs=1).fit(noise, level, groups).l2_ == 1.0
    odds = unsure.predict_proba(random.normal(size=(50, 60)))
    assert np.abs(odds - 0.5).max() < 0.4
