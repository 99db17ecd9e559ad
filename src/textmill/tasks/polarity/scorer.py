"""Scores of reviews: text to features to weights to a number on the scale.

    features (features.py) -> counts -> binary, tf or tf-idf, length 1 -> learner -> score

| kind | learner | what it answers |
|---|---|---|
| svr | support vector regression, quadratic kernel | a number; least squared error of the paper |
| pairwise | one support vector machine for each pair of scores | a score by votes |
| pairwise-mean | the same machines | the mean of the votes, and the winner as whole score |
| least-squares | linear regression of minimum norm | a number |
| ordinal | logistic regression over the scores, penalty by cross-validation | a probability for each score |
| auto | ordinal for up to 20 whole scores with 3 reviews each, else svr | |

The ordinal scorer serves two criteria with one model: the mean of its distribution has the least expected squared
error, the mode the highest expected accuracy. TF-IDF is n log(N / df) by the documents of training; a feature that
training never saw is left out. An interval with `coverage` reaches as far to both sides of a score as that share of
held-out scores of training did from theirs (conformal, by folds).

Cost: that of the learner; scoring is one visit of each feature and, for a quadratic kernel, of the support vectors that
share it.

References: Okanohara & Tsujii (2005), Assigning polarity scores to reviews using machine learning techniques; Barber,
Candes, Ramdas & Tibshirani (2021), Predictive inference with the jackknife+.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from textmill.arrays import Floats, Ints
from textmill.corpus import Vocabulary
from textmill.errors import DataError, warn_caller
from textmill.linear import LeastSquares, LogisticRegression, PairwiseSVM, SupportVectorRegression, choose_penalty
from textmill.model import Model, Regressor, StringTable, check_choice, check_fitted, check_range
from textmill.model.file import Saved
from textmill.tables import Table
from textmill.tasks.polarity.features import ReviewFeatures, families_of, of_family_length
from textmill.tasks.polarity.reviews import balance
from textmill.tasks.polarity.scale import Scale
from textmill.vectors import TextVectorizer, Weighting

__all__ = [
    "KINDS",
    "WEIGHTINGS",
    "PolarityScorer",
    "ReviewScores",
    "UnfamiliarText",
    "check_scores",
    "choose_l2",
    "half_width",
    "kind_for",
    "make_learner",
    "targets_of",
]

KINDS = ("auto", "svr", "pairwise", "pairwise-mean", "least-squares", "ordinal")
WEIGHTINGS = {"binary": "bnc", "tf": "nnc", "tf-idf": "ntc"}
PENALTIES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
FEW_SCORES, FEW_REVIEWS = 20, 3  # up to so many scores, with at least so many reviews each, "auto" is ordinal
MOST_SCORES = 101  # of kinds that have a class for each score
MOST_CHOOSING = 10_000  # reviews, drawn at random, that choose the penalty
_FEW = 20  # features below which a review's unfamiliarity says nothing
_UNFAMILIAR = 0.5  # share of unknown features of all reviews above which a warning is due


class UnfamiliarText(UserWarning):
    """Most features of the reviews were never seen in training: another language or domain."""


class ReviewScores(Table):
    """Scores of reviews: raw, clipped to the scale, as a whole score, and how many known features each rests on.

    `probabilities` is (reviews, scores) for an ordinal scorer, else None; `intervals` is (reviews, 2) for a scorer with
    `coverage`, else None.
    """

    def __init__(
        self,
        raw: Floats,
        scale: Scale,
        stars: Floats,
        n_features: Ints,
        probabilities: Floats | None = None,
        intervals: Floats | None = None,
    ) -> None:
        self.raw, self.scale, self.stars, self.n_features = raw, scale, stars, n_features
        self.probabilities, self.intervals = probabilities, intervals

    def columns(self) -> dict[str, Any]:
        """Return score, stars, raw and number of known features, and the ends of the interval if there is one."""
        ends = {} if self.intervals is None else {"low": self.intervals[:, 0], "high": self.intervals[:, 1]}
        score = self.scale.clip(self.raw)
        return {"score": score, "stars": self.stars, "raw": self.raw, "features": self.n_features, **ends}


class PolarityScorer(Regressor, Model):
    """Give reviews a score.

    Parameters:
        kind: "auto", "svr", "pairwise", "pairwise-mean", "least-squares" or "ordinal".
        features: How texts become features; None for `ReviewFeatures()`, the words.
        weighting: "tf-idf", "tf" or "binary"; rows have length 1 in each.
        normalize: What gets length 1 first: the "union" of all families, or each "family" apart.
        min_df: Features in fewer reviews are left out.
        kernel: Kernel of svr and pairwise: "polynomial", "linear" or "rbf"; None for the quadratic.
        degree: Degree of the polynomial kernel.
        gamma: Factor of the dot product in the polynomial kernel, or of the distance in rbf.
        coef0: Summand of the polynomial kernel.
        cost: Price of an error of svr and pairwise, C of LIBSVM.
        tube: Error up to which svr does not care.
        l2: Penalty of ordinal; None chooses it by cross-validation.
        scale: Lowest and highest score; None finds them in the scores, see `Scale.of`.
        score_names: Names of the scores in rising order, for files that have them instead of numbers; () for none.
        coverage: Share of reviews whose score shall lie in the interval that is given with it; None for no interval.
        balanced: Whether to train on an equal number of reviews of each score, drawn at random.
        tolerance: Accuracy of svr and pairwise, see `SupportVectorRegression`.
        random_state: Seed of the draw, of folds and of random scores.
        n_jobs: Threads; None for all cores. The model is the same for any number.

    Attributes:
        vectorizer_: Fitted `TextVectorizer`.
        learner_: Fitted learner.
        kind_: Kind of the learner.
        low_: Lowest score.
        high_: Highest score.
        whole_: Whether scores are whole numbers.
        reviews_: Number of reviews of training.
        half_width_: Half of the width of intervals, or None.
        stems_: Stems that are no words, (S,), and forms_ the most frequent word of each, (S,).

    >>> texts = ["a great mill", "great, just great", "a bad mill", "bad, really bad", "an old mill"] * 4
    >>> scorer = PolarityScorer(kind="svr").fit(texts, [5, 5, 1, 1, 3] * 4)
    >>> scorer.predict(["great!", "bad"]).round(1).tolist()
    [5.3, 0.7]
    """

    takes: ClassVar[str] = "texts"
    format_version: ClassVar[int] = 2
    layout: ClassVar[dict[str, str]] = {"stems_": "stem: str", "forms_": "stem: str"}
    state: ClassVar[dict[str, Any]] = {
        "kind_": str,
        "low_": float,
        "high_": float,
        "whole_": bool,
        "reviews_": int,
        "half_width_": float | None,
    }
    parts: ClassVar[dict[str, str]] = {
        "features": "tasks.ReviewFeatures",
        "vectorizer_": "vectors.TextVectorizer",
        "learner_": "linear.SupportVectorRegression | linear.PairwiseSVM | linear.LeastSquares | "
        "linear.LogisticRegression",
    }

    vectorizer_: TextVectorizer
    learner_: Any
    kind_: str
    low_: float
    high_: float
    whole_: bool
    reviews_: int
    half_width_: float | None
    stems_: StringTable
    forms_: StringTable

    def __init__(
        self,
        *,
        kind: str = "auto",
        features: ReviewFeatures | None = None,
        weighting: str = "tf-idf",
        normalize: str = "union",
        min_df: int = 1,
        kernel: str | None = None,
        degree: int = 2,
        gamma: float = 1.0,
        coef0: float = 1.0,
        cost: float = 100.0,
        tube: float = 0.1,
        l2: float | None = None,
        scale: tuple[float, float] | None = None,
        score_names: Sequence[str] = (),
        coverage: float | None = None,
        balanced: bool = False,
        tolerance: float = 1e-3,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.kind = kind
        self.features = features
        self.weighting = weighting
        self.normalize = normalize
        self.min_df = min_df
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.cost = cost
        self.tube = tube
        self.l2 = l2
        self.scale = scale
        self.score_names = score_names
        self.coverage = coverage
        self.balanced = balanced
        self.tolerance = tolerance
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, texts: Iterable[str], scores: ArrayLike | None = None) -> Self:
        """Learn from reviews and their scores."""
        self.check()
        reviews = list(texts)
        values = check_scores(reviews, scores)
        scale = self._scale_of(values)
        if self.balanced:
            rows = balance(values, random_state=self.random_state)
            reviews, values = [reviews[i] for i in rows], values[rows]
        kind = kind_for(self, values)
        vectorizer = self._new_vectorizer()
        vars(self).pop("_families", None)
        X = vectorizer.fit_transform(reviews)
        if self.normalize == "family":
            X = of_family_length(X, families_of([str(name) for name in vectorizer.terms_]))
        if not X.nnz:
            raise DataError("no review has a feature that tells it from others; pass more reviews, or smaller min_df")
        learner = make_learner(self, scale, X, values)
        self.learner_ = learner.fit(X, targets_of(kind, values))
        self.kind_ = kind
        self.vectorizer_ = vectorizer
        self.low_, self.high_, self.whole_ = float(scale.low), float(scale.high), scale.whole
        self.reviews_ = len(reviews)
        forms = (ReviewFeatures() if self.features is None else self.features).forms(reviews[:MOST_CHOOSING])
        self.stems_, self.forms_ = StringTable(forms), StringTable(forms.values())
        self.half_width_ = None if self.coverage is None else half_width(self, reviews, values, scale)
        return self

    def predict(self, texts: Iterable[str]) -> Floats:
        """Return the score of each review: a number that may lie outside of the scale, for ordinal the mean."""
        return self.predict_rows(self.vectors(texts))

    def predict_interval(self, texts: Iterable[str]) -> Floats:
        """Return the lowest and the highest score that `coverage` allows for, (reviews, 2).

        >>> texts = ["a great mill", "great, just great", "a bad mill", "bad, really bad", "an old mill"] * 4
        >>> PolarityScorer(kind="svr", coverage=0.8).fit(texts, [5, 5, 1, 1, 3] * 4).predict_interval(["bad"]).shape
        (1, 2)
        """
        intervals = self._intervals(self.predict(texts))
        if intervals is None:
            raise DataError("this scorer was trained without intervals; pass coverage, such as 0.9, and train again")
        return intervals

    def vectors(self, texts: Iterable[str]) -> Any:
        """Return the weighted rows of reviews, as the learner takes them."""
        check_fitted(self)
        return self._normalized(self.vectorizer_.transform(texts))

    def predict_proba(self, texts: Iterable[str]) -> Floats:
        """Return the probability of each score of `scale_`, (reviews, scores), by an ordinal scorer."""
        probabilities = self._probabilities(self.vectors(texts))
        if probabilities is None:
            raise DataError(f"a scorer of kind '{self.kind_}' has no probabilities; train one with kind='ordinal'")
        return probabilities

    def scored(self, texts: Iterable[str]) -> ReviewScores:
        """Score reviews: the number, the whole score, the probabilities if there are any, and what it rests on.

        >>> texts = ["a great mill", "great, just great", "a bad mill", "bad, really bad", "an old mill"] * 4
        >>> PolarityScorer(kind="ordinal").fit(texts, [5, 5, 1, 1, 3] * 4).scored(["great", "zzz"]).n_features.tolist()
        [1, 0]
        """
        check_fitted(self)
        bags = self.vectorizer_.vocabulary_.bags(texts)
        chunks = list(bags)
        if not chunks:
            empty = np.empty(0)
            return ReviewScores(empty, self.scale_, empty, np.empty(0, np.int64))
        counts = chunks[0] if len(chunks) == 1 else _stacked(chunks)
        rows = self._normalized(self.vectorizer_.weighting_.transform(counts))
        n_features = np.diff(counts.indptr).astype(np.int64)
        total = int(counts.sum()) + bags.unknown
        if total >= _FEW and bags.unknown > _UNFAMILIAR * total:
            share = 100 * bags.unknown / total
            warn_caller(
                f"{share:.0f} % of the features of these reviews were never seen in training; are they in the language "
                "and domain of the model?",
                UnfamiliarText,
            )
        raw = self.predict_rows(rows)
        probabilities = self._probabilities(rows)
        stars = self.scale_.round(raw)
        if probabilities is not None:
            stars = np.array(self._class_scores())[self._class_probabilities(rows).argmax(axis=1)]
        if self.kind_ == "pairwise-mean":
            stars = np.asarray(self.learner_.predict(rows), dtype=np.float64)
        return ReviewScores(raw, self.scale_, stars, n_features, probabilities, self._intervals(raw))

    def assign(self, texts: Iterable[str]) -> Floats:
        """Return the whole score of each review: the rounded number, for ordinal the most probable score.

        >>> texts = ["a great mill", "great, just great", "a bad mill", "bad, really bad"] * 4
        >>> PolarityScorer(kind="ordinal", l2=0.1).fit(texts, [5, 5, 2, 2] * 4).assign(["bad"]).tolist()
        [2.0]
        """
        return self.scored(texts).stars

    @property
    def scale_(self) -> Scale:
        """The scale of the scores."""
        check_fitted(self)
        return Scale(self.low_, self.high_, self.whole_, tuple(self.score_names))

    def check(self) -> None:
        """Raise an error if a parameter has no meaning."""
        check_choice("kind", self.kind, KINDS)
        check_choice("weighting", self.weighting, list(WEIGHTINGS))
        check_range("min_df", self.min_df, at_least=1, whole=True)
        if self.features is not None and not isinstance(self.features, ReviewFeatures):
            raise DataError(f"features must be ReviewFeatures, got {self.features!r}")
        check_choice("normalize", self.normalize, ("union", "family"))
        if self.l2 is not None:
            check_range("l2", self.l2, above=0)
        if self.coverage is not None:
            check_range("coverage", self.coverage, above=0, below=1)

    def predict_rows(self, rows: Any) -> Floats:
        """Return the scores of vectors that `vectorizer_` has made."""
        if isinstance(self.learner_, LogisticRegression):
            return np.asarray(self._class_probabilities(rows) @ np.array(self._class_scores()))
        if self.kind_ == "pairwise-mean":
            votes = self.learner_.votes(rows)
            return np.asarray(votes @ np.array(self._class_scores()) / votes.sum(axis=1))
        return np.asarray(self.learner_.predict(rows), dtype=np.float64)

    def shown(self, feature: str) -> str:
        """Return a feature as people write it: without the mark of its family, stems as their most frequent word.

        >>> texts = ["lovely money", "so much money", "very lovely"]
        >>> PolarityScorer(kind="svr").fit(texts, [5, 3, 4]).shown("b:love monei")
        'lovely money'
        """
        check_fitted(self)
        forms: dict[str, str] | None = vars(self).get("_forms")
        if forms is None:
            forms = self._forms = dict(zip(self.stems_, self.forms_, strict=True))
        return " ".join(forms.get(stem, stem) for stem in feature.partition(":")[2].split(" "))

    @classmethod
    def upgrade(cls, saved: Saved) -> Saved:
        """Format 1 had no words for stems, no intervals and one way to normalize."""
        saved.format = 2
        saved.parameters |= {"coverage": None, "normalize": "union"}
        if saved.fitted:
            saved.state["half_width_"] = None
            for name in ("stems_", "forms_"):
                saved.arrays |= {f"{name}.bytes": np.zeros(0, np.uint8), f"{name}.offsets": np.zeros(1, np.int64)}
        return saved

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_families", "_forms")}

    def _normalized(self, rows: Any) -> Any:
        if self.normalize != "family":
            return rows
        families: Ints | None = vars(self).get("_families")
        if families is None:
            families = self._families = families_of([str(name) for name in self.vectorizer_.terms_])
        return of_family_length(rows, families)

    def _intervals(self, raw: Floats) -> Floats | None:
        if self.half_width_ is None:
            return None
        scores = self.scale_.clip(raw)
        return self.scale_.clip(np.column_stack([scores - self.half_width_, scores + self.half_width_]))

    def _class_scores(self) -> list[float]:
        return [float(score) for score in self.learner_.classes_]

    def _class_probabilities(self, rows: Any) -> Floats:
        return np.asarray(self.learner_.predict_proba(rows))

    def _probabilities(self, rows: Any) -> Floats | None:
        """Probabilities of all scores of the scale; those that training never saw have none."""
        if not isinstance(self.learner_, LogisticRegression):
            return None
        steps = self.scale_.scores()
        out = np.zeros((rows.shape[0], len(steps)))
        out[:, [steps.index(score) for score in self._class_scores()]] = self._class_probabilities(rows)
        return out

    def _scale_of(self, values: Floats) -> Scale:
        if self.scale is None:
            return Scale.of(values)
        low, high = self.scale
        whole = bool((values == np.floor(values)).all()) and float(low).is_integer() and float(high).is_integer()
        scale = Scale(float(low), float(high), whole)
        for row, score in enumerate(values.tolist()):
            if not scale.low <= score <= scale.high:
                raise DataError(f"the score {score:g} in row {row} is outside of the scale, {scale}")
        if len(np.unique(values)) < 2:
            raise DataError(f"all reviews have the score {values[0]:g}; pass reviews of at least 2 different scores")
        return scale

    def _new_vectorizer(self) -> TextVectorizer:
        features = ReviewFeatures() if self.features is None else self.features
        vocabulary = Vocabulary(tokenizer=features, min_df=int(self.min_df), n_jobs=self.n_jobs)
        weighting = Weighting(scheme=WEIGHTINGS[self.weighting], idf="n/d", n_jobs=self.n_jobs)
        return TextVectorizer(vocabulary=vocabulary, weighting=weighting)


def check_scores(texts: Sequence[str], scores: ArrayLike | None) -> Floats:
    """Scores as numbers, one for each text.

    >>> check_scores(["a"], [4]).tolist()
    [4.0]
    """
    if scores is None:
        raise DataError("requires y to be passed, but the target y is None; pass a score for each review")
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(f"row {row} is no text but {type(text).__name__}; pass the texts of reviews")
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("scores must be numbers; read named scores with read_reviews") from None
    if values.shape != (len(texts),):
        raise DataError(f"there are {len(texts)} reviews for scores of shape {values.shape}; pass one for each")
    if not len(texts):
        raise DataError("there are no reviews; pass at least two of different scores")
    if not np.isfinite(values).all():
        raise DataError(f"the score in row {int(np.argmin(np.isfinite(values)))} is missing or not finite; give it one")
    return values


def kind_for(scorer: PolarityScorer, values: Floats) -> str:
    """The kind that a scorer uses for scores: its own, or what "auto" chooses.

    >>> kind_for(PolarityScorer(), np.array([1.0, 5.0] * 3)), kind_for(PolarityScorer(), np.array([0.5, 2.0]))
    ('ordinal', 'svr')
    """
    if scorer.kind != "auto":
        return scorer.kind
    distinct, counts = np.unique(values, return_counts=True)
    whole = bool((distinct == np.floor(distinct)).all())
    few = 2 <= len(distinct) <= FEW_SCORES and int(counts.min()) >= FEW_REVIEWS
    return "ordinal" if whole and few else "svr"


def targets_of(kind: str, values: Floats) -> Any:
    """Scores as the learner of a kind takes them.

    >>> targets_of("pairwise", np.array([1.0, 2.0])).tolist()
    [1, 2]
    """
    if kind not in ("pairwise", "pairwise-mean", "ordinal"):
        return values
    if (values != np.floor(values)).any() or len(np.unique(values)) > MOST_SCORES:
        raise DataError(
            f"kind '{kind}' has a class for each score and takes whole scores, at most {MOST_SCORES} of them; "
            "use 'svr' or 'least-squares'"
        )
    return values.astype(np.int64)


def make_learner(scorer: PolarityScorer, scale: Scale, X: Any, values: Floats) -> Any:
    """The learner that a scorer asks for, not fitted; the penalty of ordinal is chosen on X and the scores."""
    kind = kind_for(scorer, values)
    if kind == "least-squares":
        return LeastSquares(n_jobs=scorer.n_jobs)
    if kind == "ordinal":
        l2 = choose_l2(X, targets_of(kind, values), scorer.random_state) if scorer.l2 is None else float(scorer.l2)
        return LogisticRegression(l2=l2, n_jobs=scorer.n_jobs)
    settings: dict[str, Any] = {
        "kernel": "polynomial" if scorer.kernel is None else scorer.kernel,
        "degree": scorer.degree,
        "gamma": scorer.gamma,
        "coef0": scorer.coef0,
        "cost": scorer.cost,
        "tolerance": scorer.tolerance,
        "n_jobs": scorer.n_jobs,
    }
    if kind in ("pairwise", "pairwise-mean"):
        return PairwiseSVM(neutral=scale.neutral, **settings)
    return SupportVectorRegression(tube=scorer.tube, random_state=scorer.random_state, **settings)


def half_width(scorer: PolarityScorer, texts: Sequence[str], values: Floats, scale: Scale) -> float:
    """How far scores of reviews lie from those that scorers of other folds give them, in the share `coverage` of cases.

    At most 10,000 reviews, drawn at random, are scored so.
    """
    from textmill.tasks.polarity.protocol import cross_validate  # which is made of scorers

    some = np.random.Generator(np.random.Philox(scorer.random_state)).permutation(len(values))[:MOST_CHOOSING]
    some.sort()
    plain = PolarityScorer(**{**scorer.get_params(deep=False), "coverage": None})
    folds = min(10, len(some))
    held_out = cross_validate(
        [texts[i] for i in some],
        values[some],
        {"": plain},
        n_folds=folds,
        scale=scale,
        random_state=scorer.random_state,
        n_jobs=scorer.n_jobs,
    )
    errors = np.sort(np.abs(scale.clip(held_out.predicted[""]) - values[some]))
    assert scorer.coverage is not None
    place = int(np.ceil((len(errors) + 1) * scorer.coverage)) - 1
    return float(errors[place]) if place < len(errors) else scale.high - scale.low


def choose_l2(X: Any, labels: Any, random_state: int = 0) -> float:
    """The penalty that explains most of held-out scores, by at most 10,000 reviews; 0.1 where a score has fewer than 3.

    What is explained is the share of the squared error of their mean plus the share of their surprise: the model serves
    two criteria, and by likelihood alone it hedges more than a squared error forgives.

    >>> choose_l2(np.eye(4), [1, 2, 1, 2])
    0.1
    """
    values = np.asarray(labels)
    if len(values) > MOST_CHOOSING:
        some = np.sort(np.random.Generator(np.random.Philox(random_state)).permutation(len(values))[:MOST_CHOOSING])
        X, values = X[some], values[some]
    fewest = int(np.unique(values, return_counts=True)[1].min())
    if fewest < 3:
        return 0.1
    steps, labels = np.unique(values, return_inverse=True)
    shares = np.bincount(labels) / len(values)
    square, surprise = float(np.var(values)), -float(shares @ np.log(shares))

    def explained(model: Any, rows: Any, right: Any) -> float:
        probabilities = model.predict_log_proba(rows)
        errors = (np.exp(probabilities) @ steps - steps[right]) ** 2
        likely = probabilities[np.arange(len(right)), right]
        return 2.0 - float(errors.mean()) / square + float(likely.mean()) / surprise

    return choose_penalty(
        LogisticRegression(tolerance=1e-2),
        X,
        values,
        penalty="l2",
        values=PENALTIES,
        n_folds=min(5, fewest),
        score=explained,
        random_state=random_state,
    ).best


def _stacked(chunks: list[Any]) -> Any:
    from textmill.numeric import sparse

    return sparse.vstack(chunks, format="csr")
