"""How hard is a text: a grader trained on texts with levels.

    text -> annotations -> features (features.py, perplexities.py) -> learner (learners.py) -> level

What a grader was trained with travels with it: tagger and parser, if they are models of textmill, language resources,
the tokens of its texts for the n-gram models, weights. Features of training are worked out by models without the group
of the text. A feature that the texts of training have and a new text has not counts as the mean of training, and a
warning says which group was missing.

Reference: Feng, Jansche, Huenerfauth & Elhadad (2010), A comparison of features for automatic readability assessment.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats
from textmill.corpus import texts_of
from textmill.errors import DataError, ModelFileError, warn_caller
from textmill.model import Classifier, Model, StringTable, check_choice, check_fitted
from textmill.tables import Table
from textmill.tasks.readability.annotator import Annotator
from textmill.tasks.readability.documents import AnnotatedText
from textmill.tasks.readability.features import FEATURES, GROUPS, FeatureTable, chosen_features, static_features
from textmill.tasks.readability.graded import reduce_text
from textmill.tasks.readability.layers import Layers
from textmill.tasks.readability.leaks import LeakWarning, hold_out_leak
from textmill.tasks.readability.learners import KINDS, LevelLearner
from textmill.tasks.readability.perplexities import LevelModels
from textmill.tasks.readability.preparation import PreparedTexts, prepare
from textmill.tasks.readability.resources import LanguageResources
from textmill.tasks.readability.wordnet import WordNet

__all__ = ["DEFAULT_FEATURES", "GradedLevels", "MissingFeatures", "ReadabilityGrader"]

DEFAULT_FEATURES = ("shallow", "pos", "entity", "chains", "coreference", "grid", "parse", "lm", "relative", "oov")


class MissingFeatures(UserWarning):
    """Features that a grader was trained with are missing in new texts, and count as the mean of training."""


class GradedLevels(Table):
    """Levels of texts, their expected number (0 for the easiest) and the probability of each level, (texts, levels)."""

    def __init__(self, ids: list[str], order: list[str], levels: NDArray[Any], expected: Floats, p: Floats) -> None:
        self.ids, self.order, self.levels, self.expected, self.probabilities = ids, order, levels, expected, p

    def columns(self) -> dict[str, Any]:
        """Return id, level, expected number of the level, and the probability of each level."""
        odds = {f"p({name})": self.probabilities[:, i] for i, name in enumerate(self.order)}
        return {"id": self.ids, "level": self.levels, "expected": self.expected, **odds}


class ReadabilityGrader(Classifier, Model):
    """Grade texts by their level.

    Parameters:
        features: Groups or names of features; a `-` in front leaves out. See features.py and perplexities.py.
        length: Whether features that grow with the length of a text are used.
        kind: logistic, ordinal, svm, ordinal-svm, regression or majority; see learners.py.
        l2: L2 penalty of logistic and ordinal; None chooses it by cross-validation.
        kernel: Kernel of svm: "rbf" or "linear".
        cost: Price of an error of svm; None chooses it by cross-validation.
        gamma: Width of the kernel rbf; None chooses it by cross-validation.
        models: How n-gram models are made, a `LevelModels`; None for its defaults.
        external: Perplexities by other corpora, made by `external_models`; None for none.
        tagger: Tags words; None if texts bring their tags, or none are wanted.
        parser: Parses sentences; None if texts bring their trees, or none are wanted.
        wordnet: Folder of WordNet for lexical chains; None for no chains.
        salience: Mentions that an entity of the grid needs in a text.
        resources: Syllables, familiar words and classes of tags; None for those of English.
        order: Levels, the easiest first; None for their values, or the mean Flesch-Kincaid grade.
        reduce: Whether texts are reduced to what `reduce_text` leaves of them first.
        random_state: Seed of folds.
        n_jobs: Threads; None for all cores. The grader is the same for any number.

    Attributes:
        classes_: Levels, the easiest first, (L,).
        feature_names_: Features in use.
        models_: Fitted n-gram models, or None if no feature needs them.
        learner_: Fitted `LevelLearner`.

    >>> easy = ["The mill is old. It turns.", "A dog ran. It was big.", "We eat bread. It is good."]
    >>> hard = ["Although perplexity characterizes probabilistic models, practitioners nevertheless hesitate.",
    ...         "Considerable deliberation accompanies international agricultural negotiations.",
    ...         "Notwithstanding objections, parliamentary representatives reconsidered legislation."]
    >>> grader = ReadabilityGrader(features=["shallow"]).fit(easy + hard, ["easy"] * 3 + ["hard"] * 3)
    >>> grader.predict(["The cat sat. It was fat."]).tolist()
    ['easy']
    """

    takes: ClassVar[str] = "texts"
    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {"feature_names_": "feature: str"}
    parts: ClassVar[dict[str, str]] = {
        "models": "tasks.LevelModels",
        "external": "tasks.LevelModels",
        "resources": "tasks.LanguageResources",
        "models_": "tasks.LevelModels",
        "learner_": "tasks.LevelLearner",
    }

    classes_: NDArray[Any]
    feature_names_: StringTable
    models_: LevelModels | None
    learner_: LevelLearner

    def __init__(
        self,
        *,
        features: Sequence[str] = DEFAULT_FEATURES,
        length: bool = True,
        kind: str = "logistic",
        l2: float | None = None,
        kernel: str = "rbf",
        cost: float | None = None,
        gamma: float | None = None,
        models: LevelModels | None = None,
        external: LevelModels | None = None,
        tagger: Any = None,
        parser: Any = None,
        wordnet: str | None = None,
        salience: int = 1,
        resources: LanguageResources | None = None,
        order: Sequence[str] | None = None,
        reduce: bool = False,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.features = features
        self.length = length
        self.kind = kind
        self.l2 = l2
        self.kernel = kernel
        self.cost = cost
        self.gamma = gamma
        self.models = models
        self.external = external
        self.tagger = tagger
        self.parser = parser
        self.wordnet = wordnet
        self.salience = salience
        self.resources = resources
        self.order = order
        self.reduce = reduce
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        texts: Iterable[str | AnnotatedText],
        levels: Sequence[Any] | None = None,
        groups: Sequence[Hashable] | None = None,
    ) -> Self:
        """Learn from texts, their levels and, where texts are versions of one article, their articles."""
        check_choice("kind", self.kind, KINDS)
        if levels is None:
            raise DataError("a grader learns from levels; pass one for each text")
        prepared = self.prepare(list(texts_of(texts)), levels, groups)
        return self.fit_prepared(prepared)

    def prepare(
        self,
        texts: Sequence[str | AnnotatedText],
        levels: Sequence[Any],
        groups: Sequence[Hashable] | None = None,
        *,
        ids: Sequence[str] | None = None,
    ) -> PreparedTexts:
        """Annotate texts and work out all that needs no learning; experiments share it."""
        return prepare(
            self._reduced(texts),
            levels,
            groups,
            order=self.order,
            ids=ids,
            annotator=self.annotator(),
            wordnet=None if self.wordnet is None else WordNet(self.wordnet),
            resources=self.resources,
            salience=self.salience,
            n_jobs=self.n_jobs,
        )

    def fit_prepared(self, prepared: PreparedTexts) -> Self:
        """Learn from texts that are prepared."""
        table, self.models_ = self.training_table(prepared)
        names = chosen_features(table.names, self.features, length=self.length)
        if self.models_ is not None and (leak := hold_out_leak(table, *_levels_of(prepared))) is not None:
            warn_caller(str(leak), LeakWarning)
        chosen = table.choose(names)
        self.feature_names_ = StringTable(names)
        self.learner_ = self.learner().fit(chosen.values, prepared.level, prepared.groups)
        self.classes_ = np.array(prepared.order)
        return self

    def learner(self) -> LevelLearner:
        """Return the learner that the parameters ask for, not fitted."""
        return LevelLearner(
            kind=self.kind,
            l2=self.l2,
            kernel=self.kernel,
            cost=self.cost,
            gamma=self.gamma,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )

    def new_models(self) -> LevelModels | None:
        """Return n-gram models that are not fitted, or None if no feature asks for them."""
        groups = {name.removeprefix("-").partition(".")[0] for name in self.features}
        if groups.isdisjoint(("lm", "relative", "oov", "all")):
            return None
        models = LevelModels(n_jobs=self.n_jobs) if self.models is None else self.models
        return LevelModels(**models.get_params(deep=False))

    def with_jobs(self, n_jobs: int | None) -> Self:
        """Let the grader and the models in it work with as many threads; None for all cores."""
        own = [self, self.tagger, self.parser, self.external, getattr(self, "models_", None)]
        for one in own:
            if hasattr(one, "n_jobs"):
                one.n_jobs = n_jobs
        return self

    def annotator(self) -> Annotator:
        """Return what annotates texts."""
        return Annotator(tagger=self.tagger, parser=self.parser, resources=self.resources)

    def annotate(
        self, texts: Iterable[str | AnnotatedText], *, ids: Sequence[str] | None = None
    ) -> list[AnnotatedText]:
        """Return texts as the grader sees them: reduced if it reduces, with every layer that can be made."""
        return self.annotator().annotate(self._reduced(list(texts_of(texts))), ids=ids)

    def predict(self, texts: Iterable[str | AnnotatedText]) -> NDArray[Any]:
        """Return the level of each text."""
        check_fitted(self)
        levels: NDArray[Any] = self.classes_[self.learner_.predict(self.transform(texts).values)]
        return levels

    def predict_proba(self, texts: Iterable[str | AnnotatedText]) -> Floats:
        """Return the probability of each level, (texts, levels)."""
        check_fitted(self)
        return self.learner_.predict_proba(self.transform(texts).values)

    def grade(self, texts: Iterable[str | AnnotatedText], *, ids: Sequence[str] | None = None) -> GradedLevels:
        """Return level, expected number of the level and probabilities of each text."""
        table = self.transform(texts, ids=ids)
        X = table.values
        levels = self.classes_[self.learner_.predict(X)]
        return GradedLevels(
            table.ids, self.classes_.tolist(), levels, self.learner_.expected(X), self.learner_.predict_proba(X)
        )

    def transform(self, texts: Iterable[str | AnnotatedText], *, ids: Sequence[str] | None = None) -> FeatureTable:
        """Return the features in use of new texts."""
        check_fitted(self)
        documents = self.annotate(texts, ids=ids)
        if not documents:
            return FeatureTable(self.feature_names_.to_list(), np.zeros((0, len(self.feature_names_))))
        return self.features_of(documents)

    def extract(self, texts: Iterable[str | AnnotatedText], *, ids: Sequence[str] | None = None) -> FeatureTable:
        """Return all features of new texts, those that are not in use, too; perplexities by models of all of training.

        >>> grader = ReadabilityGrader(features=["shallow"])
        >>> grader.fit(["A mill.", "It is old."], ["a", "b"]).extract(["The wheel turns."]).names[-1]
        'parse.tree.clauses'
        """
        check_fitted(self)
        return self._all_features(self.annotate(texts, ids=ids), GROUPS)

    def features_of(self, documents: Sequence[AnnotatedText]) -> FeatureTable:
        """Return the features in use of texts that are annotated."""
        names = self.feature_names_.to_list()
        groups = [group for group in GROUPS if any(name.startswith(f"{group}.") for name in names)]
        chosen = self._all_features(documents, groups).choose(names)
        in_training = ~np.isnan(self.learner_.mean_)
        missing = in_training & np.isnan(chosen.values).all(axis=0)
        if missing.any():
            lost = dict.fromkeys(name.partition(".")[0] for name, gone in zip(names, missing, strict=True) if gone)
            warn_caller(
                f"features of {', '.join(lost)} are missing in these texts and count as the mean of training; annotate "
                "the texts as those of training were",
                MissingFeatures,
            )
        return chosen

    def check_values(self) -> None:
        """Check that features in use of groups that are known are known, too; models of levels have others."""
        names = self.feature_names_.to_list()
        strange = [name for name in names if name.partition(".")[0] in GROUPS and name not in FEATURES]
        if strange:
            raise ModelFileError(f"there is no feature {strange[0][:80]!r}", reason="damaged")

    def training_table(self, prepared: PreparedTexts) -> tuple[FeatureTable, LevelModels | None]:
        """Return all features of texts of training, by models without their groups, and the fitted models."""
        table, models = prepared.static, self.new_models()
        if models is not None:
            levels, order = _levels_of(prepared)
            models.fit(prepared.tokens, levels, prepared.groups, order)
            table = table.joined(models.training_features())
        if self.external is not None:
            table = table.joined(self.external.transform(prepared.tokens))
        return table, models

    def _all_features(self, documents: Sequence[AnnotatedText], groups: Sequence[str]) -> FeatureTable:
        """Features of groups that need no learning, and all of the models."""
        layers = Layers(documents, self.resources, self.n_jobs)
        wordnet = None if self.wordnet is None or "chains" not in groups else WordNet(self.wordnet)
        table = FeatureTable([], np.zeros((len(documents), 0)), [document.id for document in documents])
        if groups:
            table = static_features(layers, wordnet=wordnet, groups=groups, salience=self.salience)
        for models in (self.models_, self.external):
            table = table if models is None else table.joined(models.transform(layers))
        return table

    def _reduced(self, texts: Sequence[str | AnnotatedText]) -> list[str | AnnotatedText]:
        if not self.reduce:
            return list(texts)
        return [reduce_text(text) if isinstance(text, str) else text for text in texts]


def _levels_of(prepared: PreparedTexts) -> tuple[list[str], list[str]]:
    return [prepared.order[i] for i in prepared.level], prepared.order
