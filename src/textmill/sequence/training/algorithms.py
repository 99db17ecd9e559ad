"""Training algorithms: each is a small frozen dataclass with its own settings and one method, `train`.

    owlqn        OWLQN          quasi-Newton for L1 on a working set: the usual choice
    lbfgs        LBFGS          the same without L1
    cg           CG             conjugate gradient: less memory, more iterations
    sgd_l1       SGDL1          stochastic gradient, cumulative L1: quick to a good model
    sgd_l2       SGDL2          stochastic gradient, L2
    bcd          BlockDescent   block coordinate descent: one vector of weights in memory
    rprop        RPROP          sign-based steps
    perceptron   Perceptron     averaged perceptron

What is minimized and how far a run goes is not theirs: penalties belong to the objective, the limits of iterations and
of change to the `Session`. A model takes a name, for the usual settings, or an object: CRF(algorithm=OWLQN(memory=10)).
A new algorithm is a class here and its name in `ALGORITHMS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from textmill.arrays import Floats, Ids, Ints
from textmill.errors import DataError
from textmill.model import Options, check_choice, check_range
from textmill.optimize import Stopping
from textmill.sequence.training.batch import (
    Result,
    Watch,
    WorkingSet,
    train_cg,
    train_dense,
    train_rprop,
    train_working_set,
)
from textmill.sequence.training.blocks import BlockState, block_tests, train_blocks
from textmill.sequence.training.objective import ChainObjective
from textmill.sequence.training.online import FALL, OnlineState, calibrated_rate, train_perceptron, train_sgd

__all__ = [
    "ALGORITHMS",
    "CG",
    "LBFGS",
    "OWLQN",
    "RPROP",
    "SGDL1",
    "SGDL2",
    "Algorithm",
    "BlockDescent",
    "Perceptron",
    "Session",
    "SparseWeights",
    "algorithm_of",
]

TUNING_WINDOW = 10  # iterations without any change that end fine-tuning


class SparseWeights(NamedTuple):
    """Weights to begin with: numbers of features, rising, and a weight for each; the others are zero."""

    features: Ints
    weights: Floats

    def dense(self, size: int) -> Floats:
        """One weight for each of `size` features.

        >>> SparseWeights(np.array([1]), np.array([2.0])).dense(3).tolist()
        [0.0, 2.0, 0.0]
        """
        full = np.zeros(size)
        full[self.features] = self.weights
        return full


@dataclass(frozen=True, slots=True)
class Session:
    """What a run gives to its algorithm: limits, a seed, who watches, where states are saved and found again.

    `save` is None where no checkpoint is asked for, `state` holds the fields of the state to go on from. `tests` gives
    for each observation test the numbers of its unigram and of its bigram weights, -1 for none.
    """

    max_iter: int
    tolerance: float
    seed: int
    watch: Watch
    save: Callable[[Any], None] | None = None
    state: dict[str, Any] | None = None
    tests: Callable[[], tuple[Ids, Ids]] | None = None

    def keep(self, state: Any) -> None:
        """Save a state, if that is asked for."""
        if self.save is not None:
            self.save(state)


class Algorithm(Options):
    """A way to find weights; subclasses are frozen dataclasses."""

    name: ClassVar[str]
    default_l1: ClassVar[float] = 0.0  # where a model leaves it open; 0: it cannot have one
    default_max_iter: ClassVar[int] = 200
    minimizes: ClassVar[bool] = True  # an objective, which has a tolerance and an L2 penalty
    gradients: ClassVar[bool] = False  # of all sequences at once: on a cluster, of seen features, of unknown labels

    def train(self, objective: ChainObjective, start: SparseWeights, session: Session) -> Result:
        """Find the weights that minimize the objective, from `start` or from the state of the session."""
        raise NotImplementedError

    @classmethod
    def default_l2(cls, l1: float) -> float:
        """The L2 penalty beside an L1 penalty, or, where that is 0, in its place.

        >>> OWLQN.default_l2(0.5), OWLQN.default_l2(0.0), Perceptron.default_l2(0.0)
        (1e-05, 1.0, 0.0)
        """
        if not cls.minimizes:
            return 0.0
        return 1e-5 if l1 else 1.0

    def vectors(self, l1: float) -> int:
        """How many numbers are held for each feature: weights and gradient, and what the algorithm remembers."""
        return 2

    def tuner(self) -> LBFGS:
        """The algorithm that fine-tunes what this one leaves."""
        return LBFGS(window=TUNING_WINDOW)

    def check(self, *, normalized: bool, seen: bool, clustered: bool) -> None:
        """Refuse what the algorithm cannot train: a model normalized label by label, seen features, on a cluster."""
        if seen and not self.gradients:
            raise DataError(f"{self.name} supports only features='all'; for 'seen' use {_names('gradients')}")
        if clustered and not self.gradients:
            raise DataError(f"{self.name} does not run on a cluster; use {_names('gradients')}")

    def _stopping(self, session: Session, *, gradient_tolerance: float = 0.0, window: int = 5) -> Stopping:
        return Stopping(
            gradient_tolerance=gradient_tolerance,
            tolerance=session.tolerance,
            window=window,
            max_iter=session.max_iter,
        )


@dataclass(frozen=True)
class _QuasiNewton(Algorithm):
    """Quasi-Newton methods.

    memory, pairs of the history; gradient_tolerance, norm of the gradient, relative to that of the weights, that ends a
    run; window, iterations over which the change of the objective is measured.
    """

    memory: int = 5
    gradient_tolerance: float = 1e-5
    window: int = 5

    gradients: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_range("memory", self.memory, at_least=1, whole=True)
        check_range("gradient_tolerance", self.gradient_tolerance, at_least=0)
        check_range("window", self.window, at_least=1, whole=True)

    def tuner(self) -> LBFGS:
        """L-BFGS with the same memory."""
        return LBFGS(memory=self.memory, gradient_tolerance=self.gradient_tolerance, window=TUNING_WINDOW)

    def _dense(self, objective: ChainObjective, start: SparseWeights, session: Session) -> Result:
        """L-BFGS over the features that the objective looks at."""
        if session.state is not None:
            state = WorkingSet(**session.state)
        else:
            state = WorkingSet.begin(np.empty(0, np.int64), objective.spread(*start))
        stopping = self._stopping(session, gradient_tolerance=self.gradient_tolerance, window=self.window)
        return train_dense(
            objective, state, memory=self.memory, stopping=stopping, watch=session.watch, save=session.save
        )


@dataclass(frozen=True)
class LBFGS(_QuasiNewton):
    """L-BFGS, for models without an L1 penalty: memory, gradient_tolerance, window.

    >>> LBFGS(memory=10)
    LBFGS(memory=10, gradient_tolerance=1e-05, window=5)
    """

    name: ClassVar[str] = "lbfgs"

    def vectors(self, l1: float) -> int:
        """Weights, gradient and direction, now and before, and pairs of the history."""
        return 6 + 2 * self.memory

    def train(self, objective: ChainObjective, start: SparseWeights, session: Session) -> Result:
        """Minimize over all features, or those the objective is restricted to."""
        return self._dense(objective, start, session)


@dataclass(frozen=True)
class OWLQN(_QuasiNewton):
    """OWL-QN on a working set of features, for L1 and elastic-net penalties: memory, gradient_tolerance, window.

    >>> OWLQN(memory=0)
    Traceback (most recent call last):
    textmill.errors.DataError: memory must be a whole number at least 1, got 0
    """

    name: ClassVar[str] = "owlqn"
    default_l1: ClassVar[float] = 0.5

    def vectors(self, l1: float) -> int:
        """Those of L-BFGS, or with an L1 penalty weights and gradient: the others are of a working set."""
        return 2 if l1 else 6 + 2 * self.memory

    def train(self, objective: ChainObjective, start: SparseWeights, session: Session) -> Result:
        """Minimize with the L1 penalty; without one as L-BFGS does."""
        if objective.l1 == 0:
            return self._dense(objective, start, session)
        state = WorkingSet(**session.state) if session.state is not None else WorkingSet.begin(*start)
        return train_working_set(
            objective,
            state,
            l1=objective.l1,
            memory=self.memory,
            stopping=self._stopping(session, gradient_tolerance=self.gradient_tolerance, window=self.window),
            watch=session.watch,
            save=session.keep,
        )


@dataclass(frozen=True)
class RPROP(Algorithm):
    """Steps by the signs of the gradient: variant, "+" or "-"; gradient_tolerance, window.

    >>> RPROP(variant="*")
    Traceback (most recent call last):
    textmill.errors.DataError: variant must be one of '+', '-', got '*'
    """

    variant: Literal["+", "-"] = "+"
    gradient_tolerance: float = 1e-5
    window: int = 5

    name: ClassVar[str] = "rprop"
    default_l1: ClassVar[float] = 0.5
    gradients: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_choice("variant", self.variant, ("+", "-"))
        check_range("gradient_tolerance", self.gradient_tolerance, at_least=0)
        check_range("window", self.window, at_least=1, whole=True)

    def train(self, objective: ChainObjective, start: SparseWeights, session: Session) -> Result:
        """Minimize over all features."""
        if session.save is not None:
            raise DataError("rprop keeps no checkpoint; use another algorithm or checkpoint=None")
        return train_rprop(
            objective,
            objective.spread(*start),
            l1=objective.l1,
            variant=self.variant,
            stopping=self._stopping(session, gradient_tolerance=self.gradient_tolerance, window=self.window),
            watch=session.watch,
        )


@dataclass(frozen=True)
class CG(Algorithm):
    """Nonlinear conjugate gradient, for models without an L1 penalty: beta, gradient_tolerance, window.

    >>> CG(beta="hestenes")
    Traceback (most recent call last):
    textmill.errors.DataError: beta must be one of 'polak-ribiere', 'fletcher-reeves', got 'hestenes'
    """

    beta: Literal["polak-ribiere", "fletcher-reeves"] = "polak-ribiere"
    gradient_tolerance: float = 1e-5
    window: int = 5

    name: ClassVar[str] = "cg"
    gradients: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_choice("beta", self.beta, ("polak-ribiere", "fletcher-reeves"))
        check_range("gradient_tolerance", self.gradient_tolerance, at_least=0)
        check_range("window", self.window, at_least=1, whole=True)

    def train(self, objective: ChainObjective, start: SparseWeights, session: Session) -> Result:
        """Minimize over all features, or those the objective is restricted to."""
        if session.save is not None:
            raise DataError("cg keeps no checkpoint; use another algorithm or checkpoint=None")
        return train_cg(
            objective,
            objective.spread(*start),
            beta=self.beta,
            stopping=self._stopping(session, gradient_tolerance=self.gradient_tolerance, window=self.window),
            watch=session.watch,
        )


@dataclass(frozen=True)
class SGDL1(Algorithm):
    """Stochastic gradient with a cumulative L1 penalty, at the rates eta0 alpha^epoch.

    eta0, the first rate (None: calibrated on a sample); alpha, its decay (None: what makes it fall to 4 % of the first
    over the epochs of the run); window, epochs over which the change of the objective is measured.

    >>> SGDL1(eta0=0.2)
    SGDL1(eta0=0.2, alpha=None, window=5)
    """

    eta0: float | None = None
    alpha: float | None = None
    window: int = 5

    name: ClassVar[str] = "sgd_l1"
    default_l1: ClassVar[float] = 0.5
    default_max_iter: ClassVar[int] = 30

    def __post_init__(self) -> None:
        if self.alpha is not None:
            check_range("alpha", self.alpha, above=0, at_most=1)
        _check_rate(self.eta0, self.window)

    def train(self, objective: ChainObjective, start: SparseWeights, session: Session) -> Result:
        """Train in epochs, in a new random order each."""
        epochs = max(session.max_iter, 1)
        alpha = FALL ** (1.0 / epochs) if self.alpha is None else self.alpha
        return _sgd(objective, start, session, self.eta0, alpha, self._stopping(session, window=self.window))


@dataclass(frozen=True)
class SGDL2(Algorithm):
    """Stochastic gradient with an L2 penalty, at rates that fall with 1 / t.

    eta0, the first rate (None: calibrated on a sample); window, epochs over which the change of the objective is
    measured.

    >>> SGDL2(eta0=0.0)
    Traceback (most recent call last):
    textmill.errors.DataError: eta0 must be a number above 0, got 0.0
    """

    eta0: float | None = None
    window: int = 5

    name: ClassVar[str] = "sgd_l2"
    default_max_iter: ClassVar[int] = 30

    def __post_init__(self) -> None:
        _check_rate(self.eta0, self.window)

    def train(self, objective: ChainObjective, start: SparseWeights, session: Session) -> Result:
        """Train in epochs, in a new random order each."""
        return _sgd(objective, start, session, self.eta0, 0.0, self._stopping(session, window=self.window))


@dataclass(frozen=True)
class BlockDescent(Algorithm):
    """Block coordinate descent, all weights of one test at a time; for CRFs.

    window, sweeps over which the change of the objective is measured.

    >>> BlockDescent().name
    'bcd'
    """

    window: int = 5

    name: ClassVar[str] = "bcd"
    default_l1: ClassVar[float] = 0.5
    default_max_iter: ClassVar[int] = 30

    def __post_init__(self) -> None:
        check_range("window", self.window, at_least=1, whole=True)

    def check(self, *, normalized: bool, seen: bool, clustered: bool) -> None:
        """Refuse what the algorithm cannot train."""
        super().check(normalized=normalized, seen=seen, clustered=clustered)
        if normalized:
            raise DataError("bcd is for CRFs only; use owlqn")

    def train(self, objective: ChainObjective, start: SparseWeights, session: Session) -> Result:
        """Train in sweeps over all tests, in a new random order each."""
        layout, data = objective.sequences()
        assert session.tests is not None
        begun = session.state or {"w": start.dense(layout.size), "objectives": []}
        return train_blocks(
            layout,
            data,
            block_tests(layout, *session.tests()),
            BlockState(**begun),
            l1=objective.l1,
            l2=objective.l2,
            random_state=session.seed,
            n_jobs=objective.threads,
            stopping=self._stopping(session, window=self.window),
            watch=session.watch,
            save=session.keep,
        )


@dataclass(frozen=True)
class Perceptron(Algorithm):
    """The averaged perceptron: it minimizes nothing, so it has no penalties and no tolerance.

    >>> Perceptron()
    Perceptron()
    """

    name: ClassVar[str] = "perceptron"
    default_max_iter: ClassVar[int] = 20
    minimizes: ClassVar[bool] = False

    def train(self, objective: ChainObjective, start: SparseWeights, session: Session) -> Result:
        """Train in epochs; the objective is the number of wrong labels met."""
        layout, data = objective.sequences()
        if session.state is not None:
            state = OnlineState(**session.state)
        else:
            state = OnlineState.fresh(layout, start.dense(layout.size), second=True)
        return train_perceptron(
            layout,
            data,
            state,
            random_state=session.seed,
            stopping=self._stopping(session),
            watch=session.watch,
            save=session.keep,
        )


ALGORITHMS: dict[str, type[Algorithm]] = {
    cls.name: cls for cls in (LBFGS, OWLQN, SGDL1, BlockDescent, RPROP, SGDL2, CG, Perceptron)
}


_CRFSUITE = {"l2sgd": "sgd_l2", "ap": "perceptron", "pa": "perceptron", "arow": "perceptron"}


def algorithm_of(value: str | Algorithm) -> Algorithm:
    """The algorithm of a name, with its usual settings, or the object itself.

    >>> algorithm_of("owlqn")
    OWLQN(memory=5, gradient_tolerance=1e-05, window=5)
    >>> algorithm_of("newton")
    Traceback (most recent call last):
    textmill.errors.DataError: algorithm must be one of 'lbfgs', 'owlqn', 'sgd_l1', 'bcd', 'rprop', 'sgd_l2', \
'cg', 'perceptron', got 'newton'
    """
    if isinstance(value, Algorithm):
        return value
    if isinstance(value, type) and issubclass(value, Algorithm):
        raise DataError(f"algorithm is the class {value.__name__}; pass an object, {value.__name__}()")
    if value in _CRFSUITE:
        raise DataError(f"algorithm={value!r} is a name of CRFsuite; pass algorithm={_CRFSUITE[value]!r} here")
    check_choice("algorithm", value, ALGORITHMS)
    return ALGORITHMS[value]()


def _names(attribute: str) -> str:
    *names, last = sorted(name for name, cls in ALGORITHMS.items() if getattr(cls, attribute))
    return f"{', '.join(names)} or {last}"


def _check_rate(eta0: float | None, window: int) -> None:
    if eta0 is not None:
        check_range("eta0", eta0, above=0)
    check_range("window", window, at_least=1, whole=True)


def _sgd(
    objective: ChainObjective,
    start: SparseWeights,
    session: Session,
    eta0: float | None,
    alpha: float,
    stopping: Stopping,
) -> Result:
    layout, data = objective.sequences()
    l1, l2 = objective.l1, objective.l2
    if session.state is not None:
        state = OnlineState(**session.state)
    else:
        state = OnlineState.fresh(layout, start.dense(layout.size), second=l1 > 0)
    rate = eta0 or calibrated_rate(
        layout,
        data,
        l1=l1,
        l2=l2,
        fall=alpha ** max(session.max_iter, 1),
        random_state=session.seed,
        n_jobs=objective.threads,
        owner=objective.owner,
    )
    return train_sgd(
        layout,
        data,
        state,
        l1=l1,
        l2=l2,
        eta0=rate,
        alpha=alpha,
        random_state=session.seed,
        stopping=stopping,
        watch=session.watch,
        save=session.keep,
        owner=objective.owner,
    )
