"""Logistic regression trained for the score you report: F with any weight of recall, or another utility of counts.

    maximize  U~(theta) - l1 |w| - l2 / 2 |w|^2          U~ the smoothed utility (smoothed.py), theta = (b, w), b free

The default decision, margin > 0, is then the operating point that the utility asks for. U~ is not concave, so it is
maximized from several starts and the best is kept:

    start 0       logistic regression, its intercept moved to the best threshold of the training rows
    start 1 ...   random directions, steep, cut at their best threshold; some for few columns, none for text, where all
                  directions that part the rows are as good

Penalty and operating point by cross-validation: for every fold models of each penalty are trained on the others, and
their margins on the held-out rows say which utility a penalty allows and at which threshold. Logistic regressions stand
among the candidates: where their model is right, likelihood uses the rows better, and only their threshold has to move.
Which candidate is best, and where exactly to cut it, is mostly noise when positives are few; so the model is the mean
of the best four, each cut at its threshold and scaled to the same steepness of probability:

    theta = sum_c a_c (theta_c - t_c e_0) / (4 a_1)          a_c: slope of Platt's line on the held-out margins of c

Text has more columns than rows, F~ of the training rows is then near 1 for any weights that part them, and it is the
held-out rows that know where to cut.

The scores are no probabilities: `calibrated` has those, from the held-out margins by logistic regression (Platt).

Cost: two products with X an evaluation, some dozens of them for each start, fold and penalty.
References: Jansche (2005); Lipton, Elkan & Naryanaswamy (2014) for the threshold; Platt (1999).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats, Ints
from textmill.corpus import NamedFeatures
from textmill.errors import DataError
from textmill.linear.classifier import LinearClassifier, labels_of
from textmill.linear.problem import Penalty, Problem
from textmill.linear.smoothed import FEW_ENTRIES, SmoothedUtility
from textmill.linear.solvers import minimize
from textmill.metrics import BinaryCounts, FWeight, ScoreCounts, Utility, named_utility
from textmill.model import check_choice, check_fitted, check_range, effective_jobs, seed_of
from textmill.numeric import special
from textmill.optimize import (
    REASONS,
    Reason,
    Solution,
    Stopping,
    fit_sigmoid,
    minimize_cg,
    minimize_lbfgs,
    minimize_owlqn,
)
from textmill.vectors import TextVectorizer

__all__ = ["UtilityLogistic", "operating_path"]

PENALTIES = (1e-6, 1e-5, 1e-4, 1e-3)  # times the mean square length of a row
USUAL_PENALTY = 1  # place of the one for first runs
LIKELIHOOD_L2 = (0.1, 1.0)  # of logistic regressions, the first of them start 0
MEMBERS = 4  # candidates whose mean is taken
FEW_COLUMNS = 100  # up to which random starts pay
MOST_NORM = 1e3  # of theta for rows of length 1; beyond it the supremum is at infinity
STEEP = 10.0  # spread of the margins of a random start: near to the decisions themselves
SATURATED = 1e-6
AT_INFINITY = "the supremum lies at infinity"


class UtilityLogistic(LinearClassifier):
    """A linear classifier whose decisions maximize F, or another utility of hits, misses, false alarms and rejections.

    Parameters:
        utility: Name of a utility (see `named_utility`), such as "f1", "f2", "mcc" or "cost:5:1", or an object with
            `value` and `gradient` over counts.
        positive: The label to be found; None for True or 1, or for the rarer of two texts. With more than two classes
            each is found in turn, one against all others.
        l1: L1 penalty.
        l2: L2 penalty; None to choose it by cross-validation.
        gamma: Steepness of the smoothed decision; several for a run with each, begun with the last.
        n_starts: Random starts beside the logistic regression; None for 10 with up to 100 columns, else 0.
        n_folds: Folds that choose penalties and operating point; 0 for none: the training rows alone decide.
        method: Optimizer: "lbfgs", "bfgs" or "cg" (Fletcher-Reeves); with an L1 penalty it is OWL-QN.
        vectorizer: With it the model takes texts or mappings, as `LogisticRegression` does.
        tolerance: Relative improvement that ends a run.
        max_iter: Iterations of a run at most.
        random_state: Where the random numbers of starts and folds begin.
        n_jobs: Threads; None for all cores.

    Attributes:
        classes_: Labels, sorted, (K,).
        coef_: Weights, (1, m) for two classes (those of the second), else (K, m).
        intercept_: Intercepts, (1,) or (K,).
        vectorizer_: Fitted vectorizer, or None.
        positive_: The label to be found; None for more than two classes.
        l2_: Penalties of the best candidates, one a margin.
        criterion_: What was maximized for the last margin, by the candidates that did best on held-out rows: "utility",
            "likelihood" or "both".
        objective_: Smoothed utility without penalty, the mean over margins.
        held_out_: Utility of held-out rows at the chosen penalty and threshold, mean over margins; None without folds.
        starts_: For every start of the last margin its objective, norm of theta and why it ended.
        saturated_: Share of rows whose smoothed decision is within 1e-6 of 0 or 1.
        calibration_: Slope and offset of `calibrated` for each margin, or empty.
        n_iter_: Iterations of the chosen runs.
        converged_: Whether the tolerance was reached by them.
        stop_reason_: Why the last of them ended.
        trace_: Its objective after each iteration.

    >>> rows = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = UtilityLogistic(utility="alpha:0.25", l2=0.0, n_folds=0).fit(rows, [1, -1, 1, 1])
    >>> model.predict(rows).tolist(), round(model.objective_, 3)
    ([-1, -1, 1, 1], 0.889)
    """

    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {"l2_": "output", "calibration_": "fitted line: float64"}
    state: ClassVar[dict[str, Any]] = {
        "positive_": str | int | float | bool | None,
        "criterion_": str,
        "objective_": float,
        "held_out_": float | None,
        "starts_": list,
        "saturated_": float,
        "n_iter_": int,
        "converged_": bool,
        "stop_reason_": str,
    }

    positive_: Any
    l2_: Floats
    criterion_: str
    calibration_: Floats
    objective_: float
    held_out_: float | None
    starts_: list[dict[str, Any]]
    saturated_: float
    n_iter_: int
    converged_: bool
    stop_reason_: str
    trace_: list[float]

    def __init__(
        self,
        *,
        utility: str | Utility = "f1",
        positive: Any = None,
        l1: float = 0.0,
        l2: float | None = None,
        gamma: float | Sequence[float] = 1.0,
        n_starts: int | None = None,
        n_folds: int = 5,
        method: str = "lbfgs",
        vectorizer: TextVectorizer | NamedFeatures | None = None,
        tolerance: float = 1e-7,
        max_iter: int = 300,
        random_state: int | None = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.utility = utility
        self.positive = positive
        self.l1 = l1
        self.l2 = l2
        self.gamma = gamma
        self.n_starts = n_starts
        self.n_folds = n_folds
        self.method = method
        self.vectorizer = vectorizer
        self.tolerance = tolerance
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, *, start: LinearClassifier | None = None) -> Self:
        """Learn from rows and labels; `start` is a fitted classifier of the same columns and classes to begin with."""
        self._check_parameters()
        rows = self._begin(X, y)
        labels = labels_of(y, rows.shape[0], self.classes_)
        sides = range(len(self.classes_))
        self.positive_ = None
        if len(self.classes_) == 2:
            sides = range(*_side(self.positive, self.classes_, labels))
            self.positive_ = self.classes_.tolist()[sides[0]]
        elif self.positive is not None:
            raise DataError(f"positive={self.positive!r} is for two classes, there are {len(self.classes_)}")
        if start is not None:
            check_fitted(start)
            if start.coef_.shape[1] != rows.shape[1] or not np.array_equal(start.classes_, self.classes_):
                raise DataError("start has other classes or columns than the data; pass a model of the same ones")
        runs = []
        for side in sides:
            first = None if start is None else _theta(start, side)
            runs.append(_Training(self, rows, labels == side, first).run())
        self._take(runs, sides[0] == 0)
        return self

    def calibrated(self, X: Any) -> Floats:
        """Probabilities of each class from held-out margins; of several classes each against all others.

        >>> rng = np.random.default_rng(0)
        >>> y = rng.random(400) < 0.2
        >>> X = rng.normal(size=(400, 1)) + 2.0 * y[:, None]
        >>> p = UtilityLogistic(n_jobs=1).fit(X, y).calibrated(X)[:, 1]
        >>> bool(abs(p.mean() - 0.2) < 0.05)
        True
        """
        check_fitted(self)
        if not len(self.calibration_):
            raise DataError("the model was trained without folds and knows no probabilities; train with n_folds >= 2")
        margins = np.atleast_2d(self.decision_function(X).T)
        slope, offset = self.calibration_.T
        chances = special.expit(slope[:, None] * margins + offset[:, None])
        return np.stack([1 - chances[0], chances[0]], axis=1) if len(chances) == 1 else np.ascontiguousarray(chances.T)

    def _check_parameters(self) -> None:
        if isinstance(self.utility, str):
            named_utility(self.utility)
        elif not hasattr(self.utility, "gradient"):
            raise DataError(f"utility {self.utility!r} has no gradient over counts; pass a name or a utility")
        check_range("l1", self.l1, at_least=0, below=np.inf)
        if self.l2 is not None:
            check_range("l2", self.l2, at_least=0, below=np.inf)
        for gamma in self._gammas():
            check_range("gamma", gamma, above=0, below=np.inf)
        if self.n_starts is not None:
            check_range("n_starts", self.n_starts, at_least=0, whole=True)
        check_range("n_folds", self.n_folds, at_least=0, whole=True)
        check_choice("method", self.method, ("lbfgs", "bfgs", "cg"))
        check_range("tolerance", self.tolerance, at_least=0)
        check_range("max_iter", self.max_iter, at_least=0, whole=True)

    def _gammas(self) -> list[float]:
        return [float(one) for one in np.ravel(self.gamma)]

    def _take(self, runs: list[_Run], negated: bool) -> None:
        """Become the model of the runs; with two classes the weights are those of the second."""
        sign = -1.0 if len(runs) == 1 and negated else 1.0
        self.coef_ = sign * np.stack([run.theta[1:] for run in runs])
        self.intercept_ = sign * np.array([run.theta[0] for run in runs])
        self.l2_ = np.array([run.l2 for run in runs])
        lines = [run.line for run in runs if run.line is not None]
        # of a negated margin: 1 - expit(a m + b) with m = - m'
        self.calibration_ = (
            np.array([(a, sign * b) for a, b in lines]).reshape(-1, 2)
            if len(lines) == len(runs)
            else (np.empty((0, 2)))
        )
        self.objective_ = float(np.mean([run.value for run in runs]))
        figures = [run.figure for run in runs if run.figure is not None]
        self.held_out_ = float(np.mean(figures)) if len(figures) == len(runs) else None
        last = runs[-1]
        self.criterion_ = last.criterion
        self.starts_, self.saturated_ = last.starts, float(np.mean([run.saturated for run in runs]))
        self.n_iter_ = sum(run.iterations for run in runs)
        self.converged_ = all(run.reason in ("gradient", "value") for run in runs)
        self.stop_reason_ = AT_INFINITY if last.reason == "unbounded" else REASONS[last.reason]
        self.trace_ = last.trace


@dataclass(frozen=True, slots=True)
class _Run:
    theta: Floats
    l2: float
    criterion: str
    value: float  # smoothed utility
    figure: float | None  # utility of held-out rows
    line: tuple[float, float] | None  # of calibration
    starts: list[dict[str, Any]]
    saturated: float
    iterations: int
    reason: Reason
    trace: list[float]


@dataclass(frozen=True, slots=True)
class _Choice:
    members: list[tuple[int, float, float]]  # place of a candidate, its share, its threshold; the best comes first
    figure: float  # utility of held-out rows
    line: tuple[float, float]  # of calibration


class _Training:
    """One binary problem: starts, penalties, folds."""

    def __init__(self, model: UtilityLogistic, rows: Any, positive: NDArray[np.bool_], first: Floats | None) -> None:
        self.model, self.rows, self.positive, self.first = model, rows, positive, first
        self.utility = named_utility(model.utility) if isinstance(model.utility, str) else model.utility
        squares = np.asarray(rows.multiply(rows).mean(axis=0)).ravel()
        self.length = float(squares.sum()) or 1.0  # mean square length of a row
        self.sizes = np.sqrt(np.where(squares > 0, squares, 1.0))
        self.rng = np.random.default_rng(seed_of(model.random_state))

    def run(self) -> _Run:
        model = self.model
        whole = self.objective(slice(None))
        grid = [model.l2] if model.l2 is not None else [self.length * one for one in PENALTIES]
        usual = grid[min(USUAL_PENALTY, len(grid) - 1)]
        regression = self.regression(self.rows, self.positive, LIKELIHOOD_L2[0])
        ours = [self.cut(whole, regression), *([] if self.first is None else [self.first])]
        runs = [self.maximize(whole, usual, start) for start in [*ours, *self.random_starts(whole)]]
        best = max(runs, key=lambda run: -run.value)  # the first of equals
        starts = [
            {
                "objective": -run.value,
                "norm": float(np.linalg.norm(run.theta)),
                "reason": self.reason(whole, run, usual),
            }
            for run in runs
        ]
        folds = min(model.n_folds, int(self.positive.sum()), int((~self.positive).sum()))
        if folds < 2:
            return self.result(whole, best.theta, [best], "utility", usual, starts)
        choice = self.held_out(grid, folds, best.theta)
        theta = np.zeros(len(best.theta))
        chosen: list[Solution] = []
        for place, share, threshold in choice.members:
            if place >= len(grid):
                own = self.regression(self.rows, self.positive, LIKELIHOOD_L2[place - len(grid)])
            else:
                begins = (ours[0], best.theta) if grid[place] != usual else ()
                candidates = [self.maximize(whole, grid[place], start) for start in begins] or [best]
                chosen.append(max(candidates, key=lambda run: -run.value))
                own = chosen[-1].theta.copy()
            own[0] -= threshold
            theta += share * own
        first = choice.members[0][0]
        criterion = "utility" if len(chosen) == len(choice.members) else "both" if chosen else "likelihood"
        l2 = grid[first] if first < len(grid) else LIKELIHOOD_L2[first - len(grid)]
        return self.result(whole, theta, chosen, criterion, l2, starts, choice)

    def result(
        self,
        whole: SmoothedUtility,
        theta: Floats,
        chosen: list[Solution],
        criterion: str,
        l2: float,
        starts: list[dict[str, Any]],
        choice: _Choice | None = None,
    ) -> _Run:
        value = whole(theta)[0]
        chance = special.expit(whole.gamma * whole.margins(theta))
        return _Run(
            theta,
            float(l2),
            criterion,
            value,
            None if choice is None else choice.figure,
            None if choice is None else choice.line,
            starts,
            float((chance * (1 - chance) < SATURATED).mean()),
            sum(run.report.iterations for run in chosen),
            self.reason(whole, chosen[0], l2) if chosen else "value",
            [-value for value in chosen[0].report.values] if chosen else [value],
        )

    def reason(self, objective: SmoothedUtility, run: Solution, l2: float) -> Reason:
        """Why a run ended; without a penalty one that would gain by longer weights did so on the way to infinity.

        The utility is flat out there, so that a run may stop by its gradient long before the bound on the norm.
        """
        reason = run.report.reason
        if l2 > 0 or self.model.l1 > 0 or reason not in ("gradient", "value", "line_search") or not run.theta.any():
            return reason
        values = [objective(length * run.theta)[0] for length in (1.0, 2.0, 4.0, 8.0)]
        return "unbounded" if values == sorted(values) else reason

    def objective(self, part: Any) -> SmoothedUtility:
        gamma = self.model._gammas()[-1]
        n_jobs = self.model.n_jobs
        return SmoothedUtility(self.rows[part], self.positive[part], self.utility, gamma=gamma, n_jobs=n_jobs)

    def cut(self, objective: SmoothedUtility, theta: Floats) -> Floats:
        """The same direction with the best threshold on the training rows."""
        moved = theta.copy()
        moved[0] -= _threshold(objective.margins(theta), objective.positive, self.utility)[0]
        return moved

    def regression(self, rows: Any, positive: NDArray[np.bool_], l2: float) -> Floats:
        """Intercept and weights of a logistic regression."""
        problem = Problem(
            rows,
            positive.astype(np.int32),
            2,
            np.ones(len(positive)),
            intercept=True,
            threads=effective_jobs(self.model.n_jobs) if rows.nnz > FEW_ENTRIES else 1,
        )
        run = minimize(problem, Penalty(0.0, l2), tolerance=1e-4, max_iter=100)
        return np.concatenate([run.intercept, run.coef[0]])

    def random_starts(self, objective: SmoothedUtility) -> Iterator[Floats]:
        columns = self.rows.shape[1]
        count = self.model.n_starts
        if count is None:
            count = 10 if columns <= FEW_COLUMNS else 0
        for _ in range(count):
            theta = np.zeros(columns + 1)
            theta[1:] = self.rng.normal(size=columns) / self.sizes
            spread = float(objective.margins(theta).std()) or 1.0
            theta[1:] *= STEEP / spread
            theta[0] = -_threshold(objective.margins(theta), self.positive, self.utility)[0]
            yield theta

    def maximize(self, objective: SmoothedUtility, l2: float, start: Floats) -> Solution:
        """Minimize minus the utility, with penalties, for every gamma in turn."""
        model = self.model
        bound = MOST_NORM * max(1.0, 1.0 / self.length**0.5)
        rules = Stopping(
            gradient_tolerance=0.0,
            violation_tolerance=1e-7,
            tolerance=model.tolerance,
            window=5,
            max_iter=model.max_iter,
            max_norm=max(bound, 2 * float(np.linalg.norm(start))),
        )
        solution: Solution | None = None
        last = objective.gamma
        for gamma in model._gammas():
            objective.gamma = gamma
            theta = start if solution is None else solution.theta
            function = _penalized(objective, l2)
            if model.l1 > 0:
                l1 = np.full(len(theta), float(model.l1))
                l1[0] = 0.0
                solution = minimize_owlqn(function, theta, l1=l1, stopping=rules)
            elif model.method == "cg":
                solution = minimize_cg(function, theta, stopping=rules)
            else:
                memory = 10 if model.method == "lbfgs" else max(10, min(model.max_iter, 200))
                solution = minimize_lbfgs(function, theta, memory=memory, stopping=rules)
        objective.gamma = last
        if solution is None:
            raise DataError("gamma is empty; pass at least one steepness")
        return solution

    def held_out(self, grid: list[float], folds: int, usual: Floats) -> _Choice:
        """The candidates that do best on held-out rows, and what their mean is worth there.

        Candidates are the penalties, and behind them the logistic regressions.
        """
        fold = _folds(self.positive, folds, self.rng)
        regressions = LIKELIHOOD_L2 if self.model.l2 is None and not self.model.l1 else LIKELIHOOD_L2[:1]
        margins = np.empty((len(grid) + len(regressions), len(fold)))
        for k in range(folds):
            inside, outside = fold != k, fold == k
            objective = self.objective(inside)
            thetas = [self.regression(self.rows[inside], self.positive[inside], l2) for l2 in regressions]
            own = self.cut(objective, thetas[0])
            starts = [own] if self.rows.shape[1] > FEW_COLUMNS else [own, usual]
            for j, l2 in enumerate(grid):
                best = max((self.maximize(objective, l2, start) for start in starts), key=lambda run: -run.value)
                margins[j, outside] = self.rows[outside] @ best.theta[1:] + best.theta[0]
            for j, theta in enumerate(thetas, len(grid)):
                margins[j, outside] = self.rows[outside] @ theta[1:] + theta[0]
        if len(regressions) == 1:  # a penalty of one's own is for the utility
            margins = margins[: len(grid)]
        points = [_threshold(row, self.positive, self.utility) for row in margins]
        best_first = np.argsort([-figure for _, figure in points], kind="stable")[:MEMBERS].tolist()
        if self.model.l1:  # a mean would have all weights that one of them has
            best_first = best_first[:1]
        slopes = [fit_sigmoid(margins[j], self.positive).slope for j in best_first]
        scales = [a if a > 0 else 1 / (float(margins[j].std()) or 1.0) for j, a in zip(best_first, slopes, strict=True)]
        shares = [scale / scales[0] / len(scales) for scale in scales]
        thresholds = [points[j][0] for j in best_first]
        mean = sum(share * (margins[j] - cut) for j, share, cut in zip(best_first, shares, thresholds, strict=True))
        counts = BinaryCounts.from_labels(self.positive, mean > 0, True)
        return _Choice(
            list(zip(best_first, shares, thresholds, strict=True)),
            float(self.utility.value(counts.vector)),
            fit_sigmoid(mean, self.positive),
        )


def operating_path(
    model: UtilityLogistic, X: Any, y: Any, recall_weights: Sequence[float] = (0.1, 0.25, 0.5, 0.75, 0.9)
) -> Iterator[tuple[float, UtilityLogistic]]:
    """Models along the weight of recall in F (0 is precision alone, 0.5 is F1), each begun with the last.

    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(500) < 0.2
    >>> X = rng.normal(size=(500, 1)) + y[:, None]
    >>> path = operating_path(UtilityLogistic(l2=1e-4, n_folds=0, n_jobs=1), X, y, [0.1, 0.9])
    >>> claimed = [int(fitted.predict(X).sum()) for _, fitted in path]
    >>> claimed[0] < claimed[1]
    True
    """
    before: UtilityLogistic | None = None
    for weight in recall_weights:
        FWeight.from_recall(weight)
        before = type(model)(**{**model.get_params(deep=False), "utility": f"alpha:{weight!r}"}).fit(X, y, start=before)
        yield float(weight), before


def _penalized(objective: SmoothedUtility, l2: float) -> Any:
    def function(theta: Floats) -> tuple[float, Floats]:
        value, gradient = objective(theta)
        np.negative(gradient, out=gradient)
        gradient[1:] += l2 * theta[1:]
        return l2 / 2 * float(np.square(theta[1:]).sum()) - value, gradient

    return function


def _threshold(margins: Floats, positive: NDArray[np.bool_], utility: Utility) -> tuple[float, float]:
    """The margin from which rows are best claimed, and the utility there; 0 where nothing should be."""
    best = ScoreCounts.from_scores(margins, positive).best(utility)
    lowest, highest = float(margins.min()), float(margins.max())
    return float(np.clip(best.threshold, lowest - 1.0, highest + 1.0)), best.figure


def _folds(positive: NDArray[np.bool_], folds: int, rng: np.random.Generator) -> Ints:
    fold = np.empty(len(positive), np.int64)
    for side in (True, False):
        members = rng.permutation(np.flatnonzero(positive == side))
        fold[members] = np.arange(len(members)) % folds
    return fold


def _theta(start: LinearClassifier, side: int) -> Floats:
    """Intercept and weights of one class against the others."""
    row = side if len(start.coef_) > 1 else 0
    sign = -1.0 if len(start.coef_) == 1 and side == 0 else 1.0
    theta: Floats = sign * np.concatenate([[start.intercept_[row]], start.coef_[row]])
    return theta


def _side(positive: Any, classes: NDArray[Any], labels: NDArray[Any]) -> tuple[int, int]:
    """The place of the positive label of two, as a range of one."""
    if positive is not None:
        names = classes.tolist()
        same = [k for k, name in enumerate(names) if name == positive or str(name) == str(positive)]
        if not same:
            raise DataError(f"positive={positive!r} is no label of the data; they have {names}")
        return same[0], same[0] + 1
    side: Literal[0, 1] = 1
    if classes.dtype.kind not in "biuf" and 2 * int((labels == 1).sum()) > len(labels):
        side = 0
    return side, side + 1
