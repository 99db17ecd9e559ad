"""Training that chain models share: parameters, `fit`, paths of penalties, reports on optimality.

    X, y  ->  encoder  ->  Encoded  ->  objective(data)  ->  algorithm.train  ->  weights that are not zero

A model says in one method, `objective(data)`, what is minimized over encoded sequences; `fit`, `path`, `l1_max` and
`kkt_report` all ask it, so they cannot disagree. How it is minimized is the algorithm's (training/algorithms.py), what
is measured on the way and which weights remain is the run's (training/run.py).
"""

from __future__ import annotations

import functools
import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, Self

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats
from textmill.cluster import Cluster, connect
from textmill.errors import DataError, warn_caller
from textmill.model import RandomState, Saved, check_choice, check_fitted, check_range, seed_of
from textmill.optimize import REASONS, KKTReport, Plateau, kkt_violation
from textmill.sequence.chainmodel import ChainModel
from textmill.sequence.counts import active_tests, count_by_pattern
from textmill.sequence.decoders import ChainScorer, viterbi
from textmill.sequence.encoder import Encoder
from textmill.sequence.encoding import Encoded, label_ids
from textmill.sequence.features import FeatureLayout
from textmill.sequence.training.algorithms import ALGORITHMS, Algorithm, SparseWeights, algorithm_of
from textmill.sequence.training.batch import Result, Snapshot
from textmill.sequence.training.objective import ChainObjective, seen_features
from textmill.sequence.training.run import CLOCKS, PATIENCE, Run
from textmill.sequence.upgrades import upgrade_tagger

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["Course", "NoWeights", "Settings", "TrainableChain"]

DEFAULT_TOLERANCE = 1e-4
SPARSE_SHARE = 8  # weights are decoded as a list when at most one in this many is not zero

P = ParamSpec("P")
Stage = tuple[int, Sequence[str], Sequence[int | None]]
Labels = Sequence[Sequence[str | None]]


class NoWeights(UserWarning):
    """A tagger has learned nothing: all its weights are zero, and every token gets the same label."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Parameters, checked, with the algorithm's own where the model leaves them open."""

    algorithm: Algorithm
    l1: float
    l2: float
    max_iter: int
    tolerance: float


@dataclass(frozen=True, slots=True)
class Course:
    """What the runs of one training share: settings, sequences, those to develop on, when to stop, where to go on."""

    settings: Settings
    X: list[Any]
    X_dev: list[Any] | None
    y_dev: Labels | None
    plateau: Plateau
    checkpoint: str | None
    workers: Cluster | None


# parameters of CRFsuite and its wrappers, and what to pass instead
_CRFSUITE = {
    "all_possible_states": 'features="all", the default',
    "all_possible_transitions": 'features="all", the default',
    "c1": "l1=c1",
    "c2": "l2=2 * c2",
    "delta": "tolerance=delta",
    "epsilon": "algorithm=LBFGS(gradient_tolerance=epsilon)",
    "keep_tempfiles": "nothing; there are no temporary files",
    "linesearch": "nothing; the line search is fixed",
    "max_iterations": "max_iter=max_iterations",
    "min_freq": "encoder=Encoder(min_count=min_freq)",
    "model_filename": "nothing; save(path) writes the model",
    "num_memories": "algorithm=LBFGS(memory=num_memories)",
    "period": "algorithm=LBFGS(window=period)",
    "verbose": "nothing; progress.shown_by shows the training",
}


def _answer_crfsuite(init: Callable[P, None]) -> Callable[P, None]:
    """The constructor; an error says what a parameter of CRFsuite is called here.

    >>> from textmill.sequence import CRF
    >>> CRF(c1=0.1)
    Traceback (most recent call last):
    TypeError: CRF has no parameter 'c1', as CRFsuite has; pass l1=c1
    """
    own = inspect.signature(init).parameters

    @functools.wraps(init)
    def checked(*model: P.args, **parameters: P.kwargs) -> None:
        for name in parameters:
            if name in _CRFSUITE and name not in own:
                kind = type(model[0]).__name__
                raise TypeError(f"{kind} has no parameter {name!r}, as CRFsuite has; pass {_CRFSUITE[name]}")
        init(*model, **parameters)

    return checked


class TrainableChain(ChainModel):
    """A chain model that is trained: subclasses say what is minimized."""

    patience: ClassVar[Plateau] = PATIENCE  # when training stops early if nothing else is asked for
    format_version: ClassVar[int] = 2
    layout: ClassVar[dict[str, str]] = {"trace_": "iteration: float64"}
    parts: ClassVar[dict[str, str]] = {"encoder": "sequence.Encoder"}
    state: ClassVar[dict[str, Any]] = {
        "converged_": bool,
        "n_iter_": int,
        "objective_": float | None,
        "pattern_counts_": list,
        "stop_reason_": str,
    }

    converged_: bool
    n_iter_: int
    objective_: float | None
    pattern_counts_: list[dict[str, Any]]
    stop_reason_: str
    trace_: Floats
    training_log_: list[dict[str, float]]

    @_answer_crfsuite
    def __init__(
        self,
        *,
        patterns: str | Sequence[str] | None = None,
        encoder: Encoder | None = None,
        start_label: bool = False,
        features: str = "all",
        algorithm: str | Algorithm = "owlqn",
        l1: float | None = None,
        l2: float | None = None,
        max_iter: int | None = None,
        tolerance: float | None = None,
        fine_tune: int = 0,
        compact: bool = True,
        dtype: str = "float64",
        stages: Sequence[Stage] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.patterns = patterns
        self.encoder = encoder
        self.start_label = start_label
        self.features = features
        self.algorithm = algorithm
        self.l1 = l1
        self.l2 = l2
        self.max_iter = max_iter
        self.tolerance = tolerance
        self.fine_tune = fine_tune
        self.compact = compact
        self.dtype = dtype
        self.stages = stages
        self.n_jobs = n_jobs
        self.random_state = random_state

    def objective(self, data: Encoded, *, cluster: Cluster | None = None) -> ChainObjective:
        """What `fit` minimizes on labeled sequences, which are encoded by the tests of the model."""
        raise NotImplementedError

    def fit(
        self,
        X: Iterable[Any],
        y: Labels,
        X_dev: Iterable[Any] | None = None,
        y_dev: Labels | None = None,
        *,
        early_stopping: Plateau | None = None,
        sample_weight: Sequence[float] | None = None,
        start: ChainModel | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        cluster: str | Client | None = None,
    ) -> Self:
        """Learn from labeled sequences; a label may be None, then it is summed over (owlqn, lbfgs, rprop).

        With development sequences the run stops when their token error no longer falls, by default when the lowest is
        ten iterations old (`early_stopping`, a rule of `textmill.optimize`), and the weights of the lowest error are
        kept. `sample_weight` has one number >= 0 per row. `start` is a fitted model to begin
        with: its labels stay, its tests are joined by those of X. `checkpoint` is a file that the run is saved in and,
        when it exists, goes on from; later stages add .2, .3 to its name. `cluster` is the address or the client of a
        Dask cluster whose workers share the sequences (owlqn, lbfgs, rprop).
        """
        settings = self._settings()
        settings.algorithm.check(
            normalized=self.normalized, seen=self.features == "seen", clustered=cluster is not None
        )
        X, y = list(X), _listed(y)
        self.encoder_ = self._encoder(start)
        data = self.encoder_.fit_encode(X) if start is None else _joined(self.encoder_, X)
        self.classes_ = _classes(y) if start is None else start.classes_
        data = self._labeled(data, y, sample_weight)
        self.training_log_ = []
        with connect(cluster) as workers:
            course = Course(
                settings,
                X,
                None if X_dev is None else list(X_dev),
                y_dev,
                early_stopping or self.patience,
                None if checkpoint is None else os.fspath(checkpoint),
                None if cluster is None else workers,
            )
            result = self._train(course, data, start)
        values = result.weights.astype(self.dtype)
        self.features_, self.weights_ = result.features[values != 0], values[values != 0]
        self.n_iter_ = len(self.training_log_)
        self.objective_ = float(result.objectives[-1]) if result.objectives else None
        self.trace_ = np.array([entry["objective"] for entry in self.training_log_], np.float64)
        self.converged_, self.stop_reason_ = result.reason in ("gradient", "value"), REASONS[result.reason]
        layout = self._layout()
        self.pattern_counts_ = count_by_pattern(self.encoder_, layout, self.features_)
        if not len(self.features_) and layout.labels > 1 and settings.max_iter:
            warn_caller(_no_weights(settings.l1, data), NoWeights)
        return self.drop_unused_tests() if self.compact else self

    def _train(self, course: Course, data: Encoded, start: ChainModel | None) -> Result:
        """Find the weights, stage by stage."""
        weights = self._beginning(start)
        for number, (max_iter, stage) in enumerate(self._stages(course.settings.max_iter)):
            if stage is not None:
                data, weights = self._next_stage(course.X, stage, data, weights)
            result = self._run(course, data, weights, max_iter=max_iter, number=number)
            weights = SparseWeights(result.features, result.weights)
            if result.reason == "interrupted":
                break
        return result

    def _run(self, course: Course, data: Encoded, weights: SparseWeights, *, max_iter: int, number: int) -> Result:
        """One run of the algorithm; `number` counts the runs of a training, which have checkpoints of their own."""
        checkpoint = course.checkpoint
        run = Run(
            course.settings.algorithm,
            self.objective(data, cluster=course.workers),
            max_iter=max_iter,
            tolerance=course.settings.tolerance,
            seed=seed_of(self.random_state, 0),
            fine_tune=self.fine_tune if number >= len(self.stages or []) else 0,
            error=self._development_error(course.X_dev, course.y_dev),
            plateau=course.plateau,
            tests=self.encoder_.numbers,
            checkpoint=checkpoint if number == 0 or checkpoint is None else f"{checkpoint}.{number + 1}",
        )
        result = run.train(weights)
        self._log(run)
        return result

    def path(self, X: Iterable[Any], y: Labels, *, steps: int = 10, ratio: float = 0.01) -> Iterator[Self]:
        """Models along a path of L1 penalties, each begun where the last ended.

        The penalties fall from the smallest that leaves all weights at zero, max |gradient at 0|, to `ratio` of it.

        >>> from textmill.sequence import CRF
        >>> X, y = [[("a",), ("b",)], [("b",), ("a",)]], [["A", "B"], ["B", "A"]]
        >>> [len(model.features_) for model in CRF(patterns=["u:%x[0,0]"]).path(X, y, steps=3, ratio=0.1)]
        [0, 4, 4]
        """
        check_range("steps", steps, at_least=2, whole=True)
        check_range("ratio", ratio, above=0, below=1)
        if self.l1 is not None:
            raise DataError(f"l1={self.l1!r} has no meaning for a path, which chooses its penalties; leave it out")
        X, y = list(X), _listed(y)
        highest = self.l1_max(X, y)
        model: Self | None = None
        for l1 in np.geomspace(highest, ratio * highest, steps):
            before, model = model, type(self)(**{**self.get_params(deep=False), "l1": float(l1)})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NoWeights)  # the first model has none, by its penalty
                model.fit(X, y, start=before)
            yield model

    def l1_max(self, X: Iterable[Any], y: Labels) -> float:
        """The smallest L1 penalty at which all weights are zero: the largest slope there.

        >>> from textmill.sequence import CRF
        >>> CRF(patterns=["u:%x[0,0]"]).l1_max([[("a",), ("b",)], [("a",), ("b",)]], [["A", "B"], ["A", "B"]])
        1.0
        """
        y = _listed(y)
        model = type(self)(**self.get_params(deep=False))  # another one: this may be fitted to other labels
        model.encoder_, model.classes_ = model._encoder(), _classes(y)
        data = model.encoder_.fit_encode(list(X))
        objective = model.objective(model._labeled(data, y, None))
        objective.restrict(np.empty(0, np.int64))
        _, _, _, slopes = objective.violations(np.empty(0), 0.0)
        return float(np.abs(slopes).max(initial=0.0))

    def kkt_report(
        self,
        X: Iterable[Any],
        y: Labels,
        *,
        sample_weight: Sequence[float] | None = None,
        tolerance: float = 1e-3,
    ) -> KKTReport:
        """How far the weights are from the optimum on these sequences, over all features of the model's tests.

        >>> from textmill.sequence import CRF, OWLQN
        >>> X, y = [[("a",), ("b",)], [("b",), ("a",)]], [["A", "B"], ["B", "A"]]
        >>> exact = OWLQN(gradient_tolerance=1e-8)
        >>> CRF(patterns=["u:%x[0,0]"], l1=0.1, tolerance=0.0, algorithm=exact).fit(X, y).kkt_report(X, y).optimal
        True
        """
        check_fitted(self)
        name = algorithm_of(self.algorithm).name
        if not ALGORITHMS[name].minimizes:
            raise DataError(f"a {name} minimizes no objective, so its weights are not judged; train with another")
        objective = self.objective(self._labeled(self.encoder_.encode(X), _listed(y), sample_weight))
        theta = objective.spread(self.features_, self.weights_)
        _, gradient = objective(theta)
        return kkt_violation(theta, gradient, objective.l1, tolerance=tolerance)

    def zero_rate(self, X: Iterable[Any]) -> float:
        """Share of the scores of label pairs, over all tokens of X, that are zero: what sparse recursions save.

        The scores are lambda_t(y', y), of a conditional Markov model those before they are normalized.

        >>> from textmill.sequence import CRF
        >>> X, y = [[("a",), ("b",)], [("b",), ("a",)]], [["A", "B"], ["B", "A"]]
        >>> CRF(patterns=["u:%x[0,0]", "b"], l1=0.2).fit(X, y).zero_rate(X)
        1.0
        """
        check_fitted(self)
        data = self.encoder_.encode(X)
        objective = ChainObjective(self.feature_layout_, data.with_labels(np.zeros(data.tokens, np.int32)))
        objective.restrict(self.features_)
        return objective.zero_rate(self.weights_.astype(np.float64))

    @classmethod
    def upgrade(cls, saved: Saved) -> Saved:
        """A tagger of format 1, whose constructor had the parameters of all algorithms."""
        return upgrade_tagger(saved)

    def _settings(self) -> Settings:
        algorithm = algorithm_of(self.algorithm)
        check_choice("dtype", self.dtype, ("float64", "float32"))
        check_choice("features", self.features, ("all", "seen"))
        check_range("fine_tune", self.fine_tune, at_least=0, whole=True)
        for name in ("l2", "tolerance"):
            if not algorithm.minimizes and getattr(self, name) is not None:
                value = getattr(self, name)
                raise DataError(f"{name}={value!r} has no meaning for {algorithm.name}, which minimizes no objective")
        l1 = algorithm.default_l1 if self.l1 is None else self.l1
        l2 = algorithm.default_l2(l1) if self.l2 is None else self.l2
        max_iter = algorithm.default_max_iter if self.max_iter is None else self.max_iter
        tolerance = DEFAULT_TOLERANCE if self.tolerance is None else self.tolerance
        check_range("l1", l1, at_least=0)
        check_range("l2", l2, at_least=0)
        check_range("max_iter", max_iter, at_least=0, whole=True)
        check_range("tolerance", tolerance, at_least=0)
        if l1 > 0 and not algorithm.default_l1:
            others = sorted(name for name, other in ALGORITHMS.items() if other.default_l1)
            raise DataError(f"{algorithm.name} knows no L1 penalty; use l1=0 or one of {others}")
        return Settings(algorithm, float(l1), float(l2), max_iter, tolerance)

    def _terms(self, data: Encoded) -> dict[str, Any]:
        """What objectives of all kinds take beside layout and sequences."""
        settings = self._settings()
        seen = seen_features(self._layout(), data) if self.features == "seen" else None
        return {"l1": settings.l1, "l2": settings.l2, "n_jobs": self.n_jobs, "candidates": seen}

    def _encoder(self, start: ChainModel | None = None) -> Encoder:
        """A new encoder, or a copy of that of the model to begin with."""
        if start is not None:
            check_fitted(start)
            return start.encoder_.select(np.ones(len(start.encoder_.tests_), bool))
        if self.encoder is not None and self.patterns is not None:
            raise DataError("patterns are given twice; pass patterns=... or encoder=Encoder(patterns=...), not both")
        if self.encoder is not None and not isinstance(self.encoder, Encoder):
            raise DataError(f"encoder must be an Encoder, got {self.encoder!r}")
        encoder = Encoder(patterns=self.patterns) if self.encoder is None else self.encoder
        return Encoder(**{**encoder.get_params(deep=False), "n_jobs": self.n_jobs})

    def _labeled(self, data: Encoded, y: Labels, sample_weight: Sequence[float] | None) -> Encoded:
        weights = data.weights
        if sample_weight is not None:
            weights = np.asarray(sample_weight, np.float64)
            if weights.shape != (data.sequences,) or not (np.isfinite(weights) & (weights >= 0)).all():
                raise DataError(f"sample_weight must be {data.sequences} numbers >= 0, one per sequence")
        for rows in (data.unigram, data.bigram):
            if rows.values is not None and not np.isfinite(rows.values).all():
                raise DataError("a feature has a value that is not finite; scale or remove it")
        labels = label_ids(y, data.offsets, self.classes_)
        if (labels < 0).any():
            classes = set(self.classes_.tolist())
            new = sorted({label for row in y for label in row if label is not None and label not in classes})
            if new:
                raise DataError(f"label '{new[0]}' is not one of the model's; train a new model, without start")
        return Encoded(data.offsets, data.unigram, data.bigram, labels, weights)

    def _beginning(self, start: ChainModel | None) -> SparseWeights:
        """Weights to begin with, numbered for the tests of the encoder, whose first tests are the old ones."""
        if start is None:
            return SparseWeights(np.empty(0, np.int64), np.empty(0))
        old = start.feature_layout_
        if old.start != self.start_label:
            raise DataError("the model to begin with differs in start_label; use the same")
        features = _renumbered(start.features_, old, self._layout())
        order = np.argsort(features, kind="stable")
        return SparseWeights(features[order], start.weights_[order].astype(np.float64))

    def _stages(self, max_iter: int) -> Iterator[tuple[int, Stage | None]]:
        """Iterations of every stage, and what it adds."""
        stages = list(self.stages or [])
        bounds = [0, *(after for after, _, _ in stages)]
        if bounds != sorted(bounds) or (stages and bounds[-1] >= max_iter):
            raise DataError(f"stages begin after {bounds[1:]} iterations; let them rise and end before max_iter")
        for begin, end, stage in zip(bounds, [*bounds[1:], max_iter], [None, *stages], strict=True):
            yield end - begin, stage

    def _next_stage(
        self, X: list[Any], stage: Stage, data: Encoded, weights: SparseWeights
    ) -> tuple[Encoded, SparseWeights]:
        """Add the patterns of a stage; weights keep their tests."""
        _, patterns, parents = stage
        old = self._layout()
        active = active_tests(self.encoder_, old, weights.features)
        grown = self.encoder_.extend_encode(X, patterns, parents=list(parents), active=active)
        features = _renumbered(weights.features, old, self._layout())
        data = Encoded(grown.offsets, grown.unigram, grown.bigram, data.labels, data.weights)
        return data, SparseWeights(features, weights.weights)

    def _development_error(self, X: Iterable[Any] | None, y: Labels | None) -> Callable[[Snapshot], float] | None:
        """Wrong labels of development sequences, in percent, by the weights of an iteration."""
        if X is None:
            return None
        if y is None:
            raise DataError("X_dev needs y_dev; pass both")
        data, layout = self.encoder_.encode(X), self._layout()
        data = data.with_labels(label_ids(_listed(y), data.offsets, self.classes_))

        def error(done: Snapshot) -> float:
            if done.features is None and done.active * SPARSE_SHARE > len(done.theta):
                scorer = ChainScorer(layout, done.theta, None, self.normalized)
            else:
                features, weights = done.nonzero()
                scorer = ChainScorer(layout, weights, features, self.normalized)
            labels, _ = viterbi(scorer, data, n_jobs=self.n_jobs)
            return 100.0 * float(np.mean(labels != data.labels)) if data.tokens else 0.0

        return error

    def _log(self, run: Run) -> None:
        """Add the log of a stage to that of the stages before."""
        before = dict(self.training_log_[-1]) if self.training_log_ else {}
        for entry in run.log:
            entry["iteration"] = len(self.training_log_) + 1
            for clock in CLOCKS:
                entry[clock] += before.get(clock, 0.0)
            self.training_log_.append(entry)

    def _fill_state(self) -> None:
        self.n_iter_, self.objective_, self.training_log_, self.trace_ = 0, None, [], np.empty(0)
        self.converged_, self.stop_reason_ = False, "read from another tool's file"
        self.pattern_counts_ = count_by_pattern(self.encoder_, self._layout(), self.features_)


def _joined(encoder: Encoder, X: list[Any]) -> Encoded:
    """X encoded by an older model's encoder: new tests are added where it has patterns, else ignored."""
    if encoder.hash_bits is not None or not encoder.patterns_:
        return encoder.encode(X)
    return encoder.extend_encode(X)


def _renumbered(features: NDArray[np.int64], old: FeatureLayout, new: FeatureLayout) -> NDArray[np.int64]:
    """The same features after tests were added."""
    parts = old.split(features)
    return new.number(parts.test, parts.source, parts.label)


def _no_weights(l1: float, data: Encoded) -> str:
    """What to do about a model without weights."""
    remedy = "pass more sequences or other patterns"
    if l1 > 0:
        number = "one sequence" if data.sequences == 1 else f"{data.sequences} sequences"
        remedy = f"l1={l1:g} is too much for {number}; pass a smaller l1, or more sequences"
    return f"all weights are zero, so every token gets the same label: {remedy}"


def _listed(y: Iterable[Iterable[str | None]]) -> Labels:
    """Labels that have a length and can be read again."""
    return [labels if isinstance(labels, list | tuple) else list(labels) for labels in y]


def _classes(y: Labels) -> NDArray[Any]:
    """The labels in sorted order."""
    labels = sorted({label for row in y for label in row if label is not None})
    if not labels:
        raise DataError("there are no labels to learn; pass y with one label per token")
    return np.array(labels)
