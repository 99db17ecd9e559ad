"""Linear-chain conditional random fields with very many features.

    p(y | x) = exp(score(x, y)) / Z(x)
    score(x, y) = sum_t [ sum_{u true at t} mu[u, y_t] + sum_{b true at t, t >= 1} lambda[b, y_{t-1}, y_t] ]
    minimise  sum_i w_i (-log p(y^i | x^i)) + l1 ||theta||_1 + l2 / 2 ||theta||^2

    owlqn        quasi-Newton for L1 on a working set: the usual choice        lbfgs        the same without L1
    sgd_l1       stochastic gradient, cumulative L1: quick to a good model     sgd_l2       stochastic gradient, L2
    bcd          block coordinate descent: one vector of weights in memory     perceptron   averaged perceptron
    rprop        sign-based steps

The penalties are sums, not means: they do not scale with the number of sequences. With an L1 penalty almost all
weights are zero and only the others are stored. Cost an iteration: one recursion over every distinct beginning and end
of a sequence (how it works: docs/how/crf.md). The same model for any number of threads.
References: Lafferty, McCallum & Pereira (2001); Lavergne, Cappe & Yvon (2010).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from textmill.cluster import connect
from textmill.errors import DataError, warn_caller
from textmill.model import RandomState, check_choice, check_fitted, check_owners, check_range, effective_jobs, seed_of
from textmill.optimize import KKTReport, kkt_violation
from textmill.sequence.chainmodel import ChainModel
from textmill.sequence.counts import active_tests, count_by_pattern
from textmill.sequence.encoder import Encoder
from textmill.sequence.encoding import Encoded, label_ids
from textmill.sequence.features import FeatureLayout
from textmill.sequence.training.blocks import block_tests
from textmill.sequence.training.objective import ChainObjective
from textmill.sequence.training.trainer import ALGORITHMS, Settings, Trainer

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["CRF", "NoWeights"]

DEFAULT_L1 = {"owlqn": 0.5, "sgd_l1": 0.5, "bcd": 0.5, "rprop": 0.5}
DEFAULT_L2 = {"lbfgs": 1.0, "sgd_l2": 1.0, "perceptron": 0.0}
_GRADIENT = ("lbfgs", "owlqn", "rprop")
_LOSS = tuple(algorithm for algorithm in ALGORITHMS if algorithm != "perceptron")  # those that minimise something
_OWNERS = {
    "eta0": ("sgd_l1", "sgd_l2"),
    "alpha": ("sgd_l1",),
    "variant": ("rprop",),
    "l2": _LOSS,
    "tol": _LOSS,
    "period": _LOSS,
}
_TUNING_OWNERS = {"memory": ("lbfgs", "owlqn"), "epsilon": _GRADIENT}  # any algorithm with fine_tune
ITERATIONS = {"sgd_l1": 30, "sgd_l2": 30, "perceptron": 20, "bcd": 30}


class NoWeights(UserWarning):
    """A tagger has learnt nothing: all its weights are zero, and every token gets the same label."""


class CRF(ChainModel):
    """A linear-chain CRF.

    Parameters. Of the tests: patterns, syntax, function, min_count, hash_bits, see `Encoder`; start_label, whether
    bigram tests are true at first tokens, after a label of their own; features, "all" (every test with every label) or
    "seen" (only with the labels that it has in the training data, as CRFsuite; owlqn, lbfgs, rprop). Of the objective:
    algorithm, see the module; l1 and l2, None for the algorithm's own (0.5 and 1e-5; without L1: 0 and 1). Of the run:
    max_iter (200 iterations, 30 epochs or sweeps), tol, the relative change of the objective over `period`
    iterations that ends it, epsilon, the
    norm of the gradient that ends it, relative to that of the weights; stop_window and stop_tolerance (percentage
    points), see `fit`; memory, pairs of quasi-Newton methods; eta0 (None: calibrated) and alpha, rates of SGD; variant
    of rprop; fine_tune, iterations of L-BFGS without L1 on the weights that are not zero; compact, drop tests without
    weights; dtype of the weights that are kept, "float64" or "float32"; stages, see `fit`; n_jobs; random_state.

    Attributes: classes_ (Y,), encoder_, features_ and weights_ (the weights that are not zero), pattern_counts_ (a
    mapping for every pattern, see counts.py), training_log_ (one for every iteration), n_iter_, objective_, stopped_.

    >>> X = [[("the",), ("dog",), ("barks",)], [("a",), ("cat",), ("sleeps",)]]
    >>> crf = CRF(patterns=["b", "u:%x[0,0]"], l1=0.1).fit(X, [["D", "N", "V"], ["D", "N", "V"]])
    >>> crf.predict([[("the",), ("cat",), ("barks",)]])
    [['D', 'N', 'V']]
    """

    format_version: ClassVar[int] = 1
    state: ClassVar[dict[str, Any]] = {
        "n_iter_": int,
        "objective_": float | None,
        "pattern_counts_": list,
        "stopped_": str,
    }

    n_iter_: int
    objective_: float | None
    pattern_counts_: list[dict[str, Any]]
    stopped_: str
    training_log_: list[dict[str, float]]

    def __init__(
        self,
        *,
        patterns: str | Sequence[str] | None = None,
        syntax: str = "textmill",
        function: Callable[..., str] | None = None,
        min_count: int = 1,
        hash_bits: int | None = None,
        start_label: bool = False,
        features: str = "all",
        algorithm: str = "owlqn",
        l1: float | None = None,
        l2: float | None = None,
        max_iter: int | None = None,
        tol: float = 1e-4,
        period: int = 5,
        epsilon: float = 1e-5,
        stop_window: int = 5,
        stop_tolerance: float = 0.02,
        memory: int = 5,
        eta0: float | None = None,
        alpha: float = 0.9,
        variant: Literal["+", "-"] = "+",
        fine_tune: int = 0,
        compact: bool = True,
        dtype: str = "float64",
        stages: Sequence[tuple[int, Sequence[str], Sequence[int | None]]] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.patterns = patterns
        self.syntax = syntax
        self.function = function
        self.min_count = min_count
        self.hash_bits = hash_bits
        self.start_label = start_label
        self.features = features
        self.algorithm = algorithm
        self.l1 = l1
        self.l2 = l2
        self.max_iter = max_iter
        self.tol = tol
        self.period = period
        self.epsilon = epsilon
        self.stop_window = stop_window
        self.stop_tolerance = stop_tolerance
        self.memory = memory
        self.eta0 = eta0
        self.alpha = alpha
        self.variant = variant
        self.fine_tune = fine_tune
        self.compact = compact
        self.dtype = dtype
        self.stages = stages
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Iterable[Any],
        y: Sequence[Sequence[str | None]],
        X_dev: Iterable[Any] | None = None,
        y_dev: Sequence[Sequence[str | None]] | None = None,
        *,
        sample_weight: Sequence[float] | None = None,
        start: ChainModel | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        cluster: str | Client | None = None,
    ) -> Self:
        """Learn from labelled sequences; a label may be None, then it is summed over (owlqn, lbfgs, rprop).

        With development sequences the run stops when their token error no longer changes, by `stop_window` and
        `stop_tolerance`, and the weights of the lowest error are kept. `stages` adds patterns while training:
        (after so many iterations, patterns, for each the number of a parent pattern or None); a test of a pattern with
        a parent is made only where the parent's test has a weight. `sample_weight` is one number >= 0 a sequence.
        `start` is a fitted model to begin with: its labels stay, its tests are joined by those of X. `checkpoint` is a
        file that the run is saved in and, when it exists, goes on from; later stages add .2, .3 to its name. `cluster`
        is the address or the client of a Dask cluster whose workers share the sequences (lbfgs, owlqn, rprop).
        """
        settings = self._settings()
        X = list(X)
        if cluster is not None and settings.algorithm not in ("lbfgs", "owlqn", "rprop"):
            raise DataError(f"{settings.algorithm} does not run on a cluster; use owlqn or lbfgs")
        encoder = self._encoder(start)
        data = encoder.fit_encode(X) if start is None else self._joined(encoder, X)
        self.classes_ = _classes(y) if start is None else start.classes_
        data = self._labelled(data, y, sample_weight)
        features, weights = self._beginning(encoder, start)
        jobs = effective_jobs(self.n_jobs)
        self.training_log_ = []
        with connect(cluster) as workers:
            for number, (last, stage) in enumerate(self._stages(settings)):
                if stage is not None:
                    data, features = self._next_stage(encoder, X, stage, data, features)
                self.encoder_ = encoder
                layout = self.feature_layout_of(encoder)
                trainer = Trainer(
                    last,
                    layout,
                    data,
                    self._development(encoder, X_dev, y_dev),
                    block_tests(layout, *encoder.numbers()) if settings.algorithm == "bcd" else None,
                    self.normalized,
                    jobs,
                    None if cluster is None else workers,
                    checkpoint if number == 0 or checkpoint is None else f"{os.fspath(checkpoint)}.{number + 1}",
                )
                result = trainer.train(features, weights)
                features, weights = result.features, result.weights
                before = dict(self.training_log_[-1]) if self.training_log_ else {}
                for entry in trainer.log:
                    entry["iteration"] = len(self.training_log_) + 1
                    for clock in ("seconds", "cpu_seconds"):
                        entry[clock] += before.get(clock, 0.0)
                    self.training_log_.append(entry)
                if result.reason == "interrupted":
                    break
        kept = weights.astype(self.dtype)
        self.features_, self.weights_ = features[kept != 0], kept[kept != 0]
        self.n_iter_ = len(self.training_log_)
        self.objective_ = float(result.objectives[-1]) if result.objectives else None
        self.stopped_ = result.reason
        self.pattern_counts_ = count_by_pattern(self.encoder_, layout, self.features_)
        if not len(self.features_) and layout.labels > 1 and settings.max_iter:
            warn_caller(_no_weights(settings, data), NoWeights)
        return self.drop_unused_tests() if self.compact else self

    def path(
        self, X: Iterable[Any], y: Sequence[Sequence[str | None]], *, steps: int = 10, ratio: float = 0.01
    ) -> Iterator[CRF]:
        """Models along a path of L1 penalties, each begun where the last ended.

        The penalties fall from the smallest that leaves all weights at zero, max |gradient at 0|, to `ratio` of it.

        >>> X, y = [[("a",), ("b",)], [("b",), ("a",)]], [["A", "B"], ["B", "A"]]
        >>> [len(model.features_) for model in CRF(patterns=["u:%x[0,0]"]).path(X, y, steps=3, ratio=0.1)]
        [0, 4, 4]
        """
        check_range("steps", steps, at_least=2, whole=True)
        check_range("ratio", ratio, above=0, below=1)
        X = list(X)
        highest = self.l1_max(X, y)
        model: CRF | None = None
        for l1 in np.geomspace(highest, ratio * highest, steps):
            before, model = model, type(self)(**{**self.get_params(deep=False), "l1": float(l1)})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NoWeights)  # the first model has none, by its penalty
                model.fit(X, y, start=before)
            yield model

    def l1_max(self, X: Iterable[Any], y: Sequence[Sequence[str | None]]) -> float:
        """The smallest L1 penalty at which all weights are zero: the largest slope there.

        >>> CRF(patterns=["u:%x[0,0]"]).l1_max([[("a",), ("b",)], [("a",), ("b",)]], [["A", "B"], ["A", "B"]])
        1.0
        """
        model = type(self)(**self.get_params(deep=False))  # another one: this may be fitted to other labels
        encoder = model._encoder()
        data = encoder.fit_encode(list(X))
        model.classes_ = _classes(y)
        objective = model._objective(model.feature_layout_of(encoder), model._labelled(data, y, None))
        objective.restrict(np.empty(0, np.int64))
        _, _, _, slopes = objective.violations(np.empty(0), 0.0)
        return float(np.abs(slopes).max(initial=0.0))

    def kkt_report(
        self,
        X: Iterable[Any],
        y: Sequence[Sequence[str | None]],
        *,
        sample_weight: Sequence[float] | None = None,
        tolerance: float = 1e-3,
    ) -> KKTReport:
        """How far the weights are from the optimum on these sequences, over all features of the model's tests.

        >>> X, y = [[("a",), ("b",)], [("b",), ("a",)]], [["A", "B"], ["B", "A"]]
        >>> CRF(patterns=["u:%x[0,0]"], l1=0.1, tol=0.0, epsilon=1e-8).fit(X, y).kkt_report(X, y).optimal
        True
        """
        check_fitted(self)
        if self.algorithm == "perceptron":
            raise DataError("a perceptron minimises no objective, so its weights are not judged; train with another")
        data = self._labelled(self.encoder_.encode(X), y, sample_weight)
        objective = self._objective(self.feature_layout_, data)
        theta = objective.spread(self.features_, self.weights_)
        _, gradient = objective(theta)
        return kkt_violation(theta, gradient, self._settings().l1, tolerance=tolerance)

    def zero_rate(self, X: Iterable[Any]) -> float:
        """Share of the scores of label pairs, over all tokens of X, that are zero: what sparse recursions save.

        The scores are lambda_t(y', y), of a conditional Markov model those before they are normalized.

        >>> X, y = [[("a",), ("b",)], [("b",), ("a",)]], [["A", "B"], ["B", "A"]]
        >>> CRF(patterns=["u:%x[0,0]", "b"], l1=0.2).fit(X, y).zero_rate(X)
        1.0
        """
        check_fitted(self)
        data = self.encoder_.encode(X)
        objective = ChainObjective(self.feature_layout_, data.with_labels(np.zeros(data.tokens, np.int32)))
        objective.restrict(self.features_)
        return objective.zero_rate(self.weights_.astype(np.float64))

    def feature_layout_of(self, encoder: Encoder) -> FeatureLayout:
        """Where weights are for the tests of an encoder."""
        counts = encoder.feature_counts(len(self.classes_))
        return FeatureLayout(len(self.classes_), counts.unigrams, counts.bigrams, self.start_label)

    def _objective(self, layout: FeatureLayout, data: Encoded) -> ChainObjective:
        """What `fit` minimises on these sequences."""
        jobs = effective_jobs(self.n_jobs)
        return Trainer(self._settings(), layout, data, normalized=self.normalized, threads=jobs).objective()

    def _settings(self) -> Settings:
        check_choice("algorithm", self.algorithm, ALGORITHMS)
        check_choice("dtype", self.dtype, ("float64", "float32"))
        check_choice("variant", self.variant, ("+", "-"))
        check_choice("features", self.features, ("all", "seen"))
        if self.features == "seen" and self.algorithm not in ("lbfgs", "owlqn", "rprop"):
            raise DataError(f"{self.algorithm} has all features; use features='all', or owlqn, lbfgs or rprop")
        l1 = DEFAULT_L1.get(self.algorithm, 0.0) if self.l1 is None else self.l1
        l2 = DEFAULT_L2.get(self.algorithm, 1e-5) if self.l2 is None else self.l2
        check_range("l1", l1, at_least=0)
        check_range("l2", l2, at_least=0)
        if l1 > 0 and self.algorithm not in DEFAULT_L1:
            raise DataError(f"{self.algorithm} knows no L1 penalty; use l1=0 or one of {sorted(DEFAULT_L1)}")
        max_iter = ITERATIONS.get(self.algorithm, 200) if self.max_iter is None else self.max_iter
        check_range("max_iter", max_iter, at_least=0, whole=True)
        check_range("fine_tune", self.fine_tune, at_least=0, whole=True)
        check_range("memory", self.memory, at_least=1, whole=True)
        check_range("alpha", self.alpha, above=0, at_most=1)
        if self.eta0 is not None:
            check_range("eta0", self.eta0, above=0)
        check_range("tol", self.tol, at_least=0)
        check_range("period", self.period, at_least=1, whole=True)
        check_range("epsilon", self.epsilon, at_least=0)
        check_range("stop_window", self.stop_window, at_least=2, whole=True)
        check_range("stop_tolerance", self.stop_tolerance, above=0)
        check_owners(self, "algorithm", _OWNERS if self.fine_tune else _OWNERS | _TUNING_OWNERS)
        if self.normalized and self.algorithm == "bcd":
            raise DataError("bcd is for CRFs only; use owlqn")
        return Settings(
            self.algorithm,
            float(l1),
            float(l2),
            max_iter,
            self.tol,
            self.period,
            self.epsilon,
            self.memory,
            self.eta0,
            self.alpha,
            self.variant,
            self.stop_window,
            self.stop_tolerance,
            self.fine_tune,
            seed_of(self.random_state, 0),
            self.features,
        )

    def _encoder(self, begin: ChainModel | None = None) -> Encoder:
        """A new encoder, or a copy of that of the model to begin with."""
        if begin is not None:
            check_fitted(begin)
            return begin.encoder_.select(np.ones(len(begin.encoder_.tests_), bool))
        return Encoder(
            patterns=self.patterns,
            syntax=self.syntax,
            function=self.function,
            min_count=self.min_count,
            hash_bits=self.hash_bits,
            n_jobs=self.n_jobs,
        )

    def _joined(self, encoder: Encoder, X: list[Any]) -> Encoded:
        """X encoded by an older model's encoder: new tests are added where it has patterns, else ignored."""
        if encoder.hash_bits is not None or not encoder.patterns_:
            return encoder.encode(X)
        return encoder.extend_encode(X)

    def _labelled(
        self, data: Encoded, y: Sequence[Sequence[str | None]], sample_weight: Sequence[float] | None
    ) -> Encoded:
        weights = data.weights
        if sample_weight is not None:
            weights = np.asarray(sample_weight, np.float64)
            if weights.shape != (data.sequences,) or not (np.isfinite(weights) & (weights >= 0)).all():
                raise DataError(f"sample_weight must be {data.sequences} numbers >= 0, one a sequence")
        for rows in (data.unigram, data.bigram):
            if rows.values is not None and not np.isfinite(rows.values).all():
                raise DataError("a feature has a value that is not finite; scale or remove it")
        labels = label_ids(y, data.offsets, self.classes_)
        if (labels < 0).any():
            known = set(self.classes_.tolist())
            new = sorted({label for row in y for label in row if label is not None and label not in known})
            if new:
                raise DataError(f"label '{new[0]}' is not one of the model's; train a new model, without start")
        return Encoded(data.offsets, data.unigram, data.bigram, labels, weights)

    def _beginning(self, encoder: Encoder, begin: ChainModel | None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Weights to begin with, numbered for the tests of the encoder, whose first tests are the old ones."""
        if begin is None:
            return np.empty(0, np.int64), np.empty(0)
        old = begin.feature_layout_
        if old.start != self.start_label:
            raise DataError("the model to begin with differs in start_label; use the same")
        parts = old.split(begin.features_)
        features = self.feature_layout_of(encoder).number(parts.test, parts.source, parts.label)
        order = np.argsort(features, kind="stable")
        return features[order], begin.weights_[order].astype(np.float64)

    def _stages(
        self, settings: Settings
    ) -> Iterator[tuple[Settings, tuple[Sequence[str], Sequence[int | None]] | None]]:
        """Settings of every stage, and the patterns that it adds."""
        stages = list(self.stages or [])
        bounds = [0, *(after for after, _, _ in stages)]
        if bounds != sorted(bounds) or (stages and bounds[-1] >= settings.max_iter):
            raise DataError(f"stages begin after {bounds[1:]} iterations; let them rise and end before max_iter")
        for i, begin in enumerate(bounds):
            last = i == len(bounds) - 1
            end = settings.max_iter if last else bounds[i + 1]
            tuning = settings.fine_tune if last else 0
            yield (
                replace(settings, max_iter=end - begin, fine_tune=tuning),
                None if i == 0 else (stages[i - 1][1], stages[i - 1][2]),
            )

    def _next_stage(
        self,
        encoder: Encoder,
        X: list[Any],
        stage: tuple[Sequence[str], Sequence[int | None]],
        data: Encoded,
        features: NDArray[np.int64],
    ) -> tuple[Encoded, NDArray[np.int64]]:
        """Add the patterns of a stage; weights keep their tests."""
        old = self.feature_layout_of(encoder)
        parts = old.split(features)
        active = active_tests(encoder, old, features)
        grown = encoder.extend_encode(X, stage[0], parents=list(stage[1]), active=active)
        numbers = self.feature_layout_of(encoder).number(parts.test, parts.source, parts.label)
        return Encoded(grown.offsets, grown.unigram, grown.bigram, data.labels, data.weights), numbers

    def _development(
        self, encoder: Encoder, X: Iterable[Any] | None, y: Sequence[Sequence[str | None]] | None
    ) -> Encoded | None:
        if X is None:
            return None
        if y is None:
            raise DataError("X_dev without y_dev tells nothing; pass both")
        data = encoder.encode(X)
        return data.with_labels(label_ids(y, data.offsets, self.classes_))

    def _fill_state(self) -> None:
        self.n_iter_, self.objective_, self.stopped_, self.training_log_ = 0, None, "read", []
        self.pattern_counts_ = count_by_pattern(self.encoder_, self.feature_layout_of(self.encoder_), self.features_)


def _no_weights(settings: Settings, data: Encoded) -> str:
    """What to do about a model without weights."""
    remedy = "pass more sequences or other patterns"
    if settings.l1 > 0:
        number = "one sequence" if data.sequences == 1 else f"{data.sequences} sequences"
        remedy = f"l1={settings.l1:g} is too much for {number}; pass a smaller l1, or more sequences"
    return f"all weights are zero, so every token gets the same label: {remedy}"


def _classes(y: Sequence[Sequence[str | None]]) -> NDArray[Any]:
    """The labels in sorted order."""
    found = sorted({label for labels in y for label in labels if label is not None})
    if not found:
        raise DataError("there are no labels to learn; pass y with one label per token")
    return np.array(found)
