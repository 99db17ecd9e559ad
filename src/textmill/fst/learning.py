"""Weights of a machine, learned from pairs of strings: its states and arcs are given, its probabilities are not.

    p(x, y)     = sum over the paths that read x and write y of the product of their weights
    joint       maximize  sum of ln p(x, y)              the weights of a state, with its end, sum to one
    conditional maximize  sum of ln p(y | x)             the weights of a state sum to one for each symbol it may read

    "em"        E step: how often each arc is on the paths of each pair, alpha p beta / Z (native/fst/pathsums.h)
                M step: counts + smoothing, normalized by state ("joint"); "conditional": arcs that read nothing get
                their share of all counts of the state, I; arcs that read a get (1 - I) times their share among the
                arcs of the state that read a; the end gets 1 - I. The likelihood never falls.
    "gradient"  weights are free: p(x, y) = exp(score of its paths) / Z, with Z over all paths, or over those that
                read x. Minimized by L-BFGS: its gradient is the difference of two expectations,
                E[arc | all paths] - E[arc | paths of the pair], plus l2 times ln weight. This is a conditional random
                field over a transducer, and has no local rules for the weights of a state.

A side that is None is summed over, so that inputs, or outputs, without their other side can be learned from, too;
strings instead of pairs are read by an acceptor. Cost: one visit per pair, place and arc that fits, an iteration;
threaded, same bytes for any number of threads. References: Eisner (2002), Parameter estimation for probabilistic
finite-state transducers; Oncina & Sebban (2006), Learning stochastic edit distance; Dreyer, Smith & Eisner (2008),
Latent-variable modeling of string transductions with finite-state methods.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from textmill._native import fst as native
from textmill.arrays import Floats, Ids, Ints
from textmill.errors import DataError
from textmill.fst.machine import Fst
from textmill.fst.paths import push
from textmill.fst.rational import connect
from textmill.fst.strings import labels_of
from textmill.fst.symbols import SymbolTable
from textmill.fst.transform import convert
from textmill.model import check_choice, check_range, effective_jobs
from textmill.optimize import REASONS, Reason, Stopping, minimize_lbfgs
from textmill.progress import interruptible, start

__all__ = ["OBJECTIVES", "LearnedWeights", "learn_weights", "pair_log_likelihoods"]

OBJECTIVES = ("joint", "conditional")
_METHODS = ("em", "gradient")

_Side = tuple[Ints, Ids] | tuple[None, None]
_UNSEEN: _Side = (None, None)


@dataclass(frozen=True, slots=True, eq=False)
class LearnedWeights:
    """A trained machine and how its training went.

    `machine` has log64 weights; arcs that no pair needs are gone. `trace` is the objective after each iteration, the
    log-likelihood of all pairs (with "gradient" and l2, minus the penalty). `impossible` lists the numbers, from 0, of
    the pairs that no path of the machine fits; they were left out.
    """

    machine: Fst
    trace: Floats
    converged: bool
    stopped: str
    impossible: list[int]


def learn_weights(
    fst: Fst,
    pairs: Iterable[Any],
    *,
    method: str = "em",
    objective: str = "joint",
    smoothing: float = 0.0,
    l2: float = 0.0,
    max_iter: int = 100,
    tolerance: float = 1e-6,
    sample_weight: ArrayLike | None = None,
    token_type: str = "utf8",
    errors: str = "strict",
    n_jobs: int | None = None,
) -> LearnedWeights:
    """Learn the weights of a machine from pairs of strings, from the weights it has (tropical, log, log64 or real).

    A pair is (input, output); either side may be None, and a plain string stands for a pair of equal sides, for
    acceptors. `errors`: "strict" refuses pairs that no path fits, "skip" leaves them out and lists them.
    `smoothing`, for "em", is added to every count; `l2`, for "gradient", penalizes ln weights.

    >>> from textmill.fst.formats import compile_text
    >>> coin = compile_text("0 0 104 104\\n0 0 116 116\\n0", semiring_name="real")
    >>> learned = learn_weights(coin, ["hht", "h", "hhhht"])
    >>> [round(math.exp(-arc.weight), 3) for arc in learned.machine.arcs(0)], learned.converged
    ([0.583, 0.167], True)
    """
    check_choice("method", method, _METHODS)
    check_choice("objective", objective, OBJECTIVES)
    check_choice("errors", errors, ("strict", "skip"))
    check_range("smoothing", smoothing, at_least=0)
    check_range("l2", l2, at_least=0)
    check_range("max_iter", max_iter, at_least=1)
    if method == "em" and l2:
        raise DataError("l2 is a penalty of method='gradient'; with 'em' use smoothing")
    if method == "gradient" and smoothing:
        raise DataError("smoothing is for method='em'; with 'gradient' use l2")
    problem = _Problem(fst, pairs, objective, sample_weight, token_type, errors, effective_jobs(n_jobs))
    learn = _by_em if method == "em" else _by_gradient
    return learn(problem, smoothing if method == "em" else l2, max_iter, tolerance)


def pair_log_likelihoods(
    fst: Fst, pairs: Iterable[Any], *, token_type: str = "utf8", n_jobs: int | None = None
) -> Floats:
    """ln of the summed weight of all paths of each pair; -inf where there is none. Sides may be None, as above.

    >>> from textmill.fst.formats import compile_text
    >>> coin = compile_text("0 0 104 104 .5\\n0 0 116 116 .25\\n0 .25", semiring_name="real")
    >>> pair_log_likelihoods(coin, ["ht", "x"]).round(4).tolist()
    [-3.4657, -inf]
    """
    problem = _Problem(fst, pairs, "joint", None, token_type, "keep", effective_jobs(n_jobs))
    return problem.log_likelihoods(problem.weights, problem.finals)


class _Group:
    """Pairs that show the same sides, and the sums over the paths that fit them."""

    def __init__(self, skeleton: dict[str, Any], numbers: Ints, inputs: _Side, outputs: _Side) -> None:
        self.numbers, self.inputs, self.outputs = numbers, inputs, outputs
        self.sums = native.PathSums(**skeleton, input=inputs[0] is not None, output=outputs[0] is not None)

    def select(self, rows: Ints) -> None:
        """Keep these rows only."""
        self.numbers = self.numbers[rows]
        self.inputs, self.outputs = (_taken(side, rows) for side in (self.inputs, self.outputs))

    def expect(
        self, weights: Floats, finals: Floats, share: Floats, threads: int, counts: tuple[Floats, Floats] | None
    ) -> Floats | None:
        """ln Z of its pairs, whose counts are added; None if cycles that neither read nor write have no sum."""
        if not self.sums.weigh(weights, finals):
            return None
        totals = np.empty(len(self.numbers))
        on_arcs, at_ends = (np.empty(0), np.empty(0)) if counts is None else counts
        self.sums.expect(
            *self.inputs,
            *self.outputs,
            share=share[self.numbers],
            threads=threads,
            log_total=totals,
            counts=on_arcs,
            final_counts=at_ends,
        )
        return totals


class _Problem:
    """A machine and pairs as arrays; expected counts for given weights."""

    def __init__(
        self,
        fst: Fst,
        pairs: Iterable[Any],
        objective: str,
        sample_weight: ArrayLike | None,
        token_type: str,
        errors: str,
        threads: int,
    ) -> None:
        if fst.semiring.name not in ("tropical", "log", "log64", "real"):
            raise DataError(f"weights of {fst.semiring.name} are no probabilities; convert the machine to 'log64'")
        real = convert(fst if fst.semiring.name != "tropical" else convert(fst, "log64"), "real")
        self.fst, self.objective, self.threads = fst, objective, threads
        self.offsets, self.arcs, finals = real.arrays()
        self.weights, self.finals = (np.ascontiguousarray(a, np.float64) for a in (self.arcs["weight"], finals))
        if not (np.isfinite(self.weights).all() and np.isfinite(self.finals).all()):
            raise DataError("the machine has weights that are not finite; nothing can be learned from there")
        self.sources = np.repeat(np.arange(fst.num_states), np.diff(self.offsets))
        self.skeleton = {
            "start": fst.start,
            "begin": self.offsets,
            "ilabel": np.ascontiguousarray(self.arcs["ilabel"]),
            "olabel": np.ascontiguousarray(self.arcs["olabel"]),
            "next": np.ascontiguousarray(self.arcs["nextstate"]),
        }
        rows = _checked(fst, pairs, token_type, objective)
        self.n_pairs = len(rows)
        self.share = _shares(sample_weight, len(rows))
        self.groups = _grouped(self.skeleton, rows, fst, token_type)
        self.impossible: list[int] = []
        if errors != "keep":
            self._leave_out_impossible(errors)

    def _leave_out_impossible(self, errors: str) -> None:
        totals = self.log_likelihoods(self.weights, self.finals)
        self.impossible = np.flatnonzero(totals == -math.inf).tolist()
        if self.impossible and (errors == "strict" or len(self.impossible) == self.n_pairs):
            many = f"{len(self.impossible)} of {self.n_pairs} pairs have no path, the first is"
            raise DataError(
                f"{many} pair {self.impossible[0] + 1}; give the machine more arcs, or pass errors='skip' to leave "
                "such pairs out"
            )
        for group in self.groups:
            group.select(np.flatnonzero(totals[group.numbers] > -math.inf))
        self.groups = [group for group in self.groups if len(group.numbers)]

    def log_likelihoods(self, weights: Floats, finals: Floats) -> Floats:
        """ln Z of every pair."""
        totals = np.full(self.n_pairs, -math.inf)
        for group in self.groups:
            values = group.expect(weights, finals, self.share, self.threads, None)
            if values is None:
                raise DataError(
                    "a cycle of arcs that neither read nor write has a mass of one or more, so that its paths have no "
                    "sum; give it smaller weights or remove it"
                )
            totals[group.numbers] = values
        return totals

    def expect(self, weights: Floats, finals: Floats) -> tuple[float, Floats, Floats] | None:
        """The summed ln Z of all pairs and the expected counts of arcs and ends; None where there is no sum."""
        counts = np.zeros(len(weights)), np.zeros(len(finals))
        total = 0.0
        for group in self.groups:
            values = group.expect(weights, finals, self.share, self.threads, counts)
            if values is None or not np.isfinite(values).all():
                return None
            total += float(values @ self.share[group.numbers])
        return total, *counts

    def count(self, weights: Floats, finals: Floats) -> tuple[float, Floats, Floats]:
        """The same where sums must exist."""
        expected = self.expect(weights, finals)
        if expected is None:
            raise DataError("cycles that neither read nor write have no sum any more; add smoothing, or remove them")
        return expected

    def result(self, weights: Floats, finals: Floats, trace: Sequence[float], reason: Reason) -> LearnedWeights:
        """The machine with these weights, without arcs of weight 0."""
        used = weights > 0
        machine = Fst.from_arrays(
            "real",
            start=self.fst.start,
            sources=self.sources[used],
            ilabels=self.arcs["ilabel"][used],
            olabels=self.arcs["olabel"][used],
            nextstates=self.arcs["nextstate"][used],
            weights=weights[used],
            final_states=np.flatnonzero(finals),
            final_weights=finals[finals > 0],
            states=self.fst.num_states,
        )
        machine = connect(convert(machine, "log64"))
        machine.input_symbols, machine.output_symbols = self.fst.input_symbols, self.fst.output_symbols
        return LearnedWeights(
            machine, np.array(trace), reason in ("value", "gradient"), REASONS[reason], self.impossible
        )


def _by_em(problem: _Problem, smoothing: float, max_iter: int, tolerance: float) -> LearnedWeights:
    may_use, may_end = problem.weights > 0, problem.finals > 0
    normalize = _normalize_joint if problem.objective == "joint" else _normalize_conditional
    weights, finals = normalize(problem, problem.weights, problem.finals)
    expected = problem.count(weights, finals)
    trace = [expected[0]]
    reason: Reason = "iterations"
    with (
        start("learning weights", total=max_iter, unit="iterations") as step,
        interruptible(range(max_iter)) as iterations,
    ):
        for _ in iterations:
            counts = np.where(may_use, expected[1] + smoothing, 0.0)
            weights, finals = normalize(problem, counts, np.where(may_end, expected[2] + smoothing, 0.0))
            expected = problem.count(weights, finals)
            trace.append(expected[0])
            step.advance()
            if trace[-1] - trace[-2] <= tolerance * abs(trace[-1]):
                reason = "value"
                break
        if iterations.interrupted:
            reason = "interrupted"
    return problem.result(weights, finals, trace, reason)


def _normalize_joint(problem: _Problem, counts: Floats, finals: Floats) -> tuple[Floats, Floats]:
    """Arcs and end of a state sum to one."""
    totals = np.bincount(problem.sources, weights=counts, minlength=len(finals)) + finals
    return _divide(counts, totals[problem.sources]), _divide(finals, totals)


def _normalize_conditional(problem: _Problem, counts: Floats, finals: Floats) -> tuple[Floats, Floats]:
    """Arcs of a state that read nothing, and those that read a, sum to one for each a; likewise with the end."""
    silent = problem.arcs["ilabel"] == 0
    states = len(finals)
    totals = np.bincount(problem.sources, weights=counts, minlength=states) + finals
    spent = _divide(np.bincount(problem.sources[silent], weights=counts[silent], minlength=states), totals)
    _, key = np.unique(
        problem.sources.astype(np.int64) << 32 | problem.arcs["ilabel"].astype(np.int64), return_inverse=True
    )
    same = np.bincount(key, weights=counts)[key] if len(key) else counts
    reading = np.multiply(1.0 - spent[problem.sources], _divide(counts, same))
    weights = np.where(silent, _divide(counts, totals[problem.sources]), reading)
    return weights, np.where(finals > 0, 1.0 - spent, 0.0)


def _divide(counts: ArrayLike, totals: ArrayLike) -> Floats:
    parts, wholes = np.asarray(counts, dtype=np.float64), np.asarray(totals, dtype=np.float64)
    shares: Floats = np.divide(parts, wholes, out=np.zeros(len(parts)), where=wholes > 0)
    return shares


def _by_gradient(problem: _Problem, l2: float, max_iter: int, tolerance: float) -> LearnedWeights:
    on_arcs, at_ends = np.flatnonzero(problem.weights > 0), np.flatnonzero(problem.finals > 0)
    everything = _Normalizer(problem)

    def unpack(theta: Floats) -> tuple[Floats, Floats]:
        weights, finals = np.zeros(len(problem.weights)), np.zeros(len(problem.finals))
        with np.errstate(over="ignore"):
            weights[on_arcs], finals[at_ends] = np.exp(theta[: len(on_arcs)]), np.exp(theta[len(on_arcs) :])
        return weights, finals

    def loss(theta: Floats) -> tuple[float, Floats]:
        weights, finals = unpack(theta)
        if not (np.isfinite(weights).all() and np.isfinite(finals).all()):
            return math.inf, np.zeros(len(theta))
        shown, whole = problem.expect(weights, finals), everything.expect(weights, finals)
        if shown is None or whole is None:
            return math.inf, np.zeros(len(theta))
        slope = np.concatenate([(whole[1] - shown[1])[on_arcs], (whole[2] - shown[2])[at_ends]])
        return whole[0] - shown[0] + 0.5 * l2 * float(theta @ theta), slope + l2 * theta

    begin = everything.inside(unpack, np.log(np.concatenate([problem.weights[on_arcs], problem.finals[at_ends]])))
    with start("learning weights", total=max_iter, unit="iterations") as step:
        solution = minimize_lbfgs(
            loss,
            begin,
            stopping=Stopping(tolerance=tolerance, gradient_tolerance=tolerance, window=3, max_iter=max_iter),
            callback=lambda _: step.advance(),
        )
    trace = [-value for value in solution.report.values]
    learned = problem.result(*unpack(solution.theta), trace, solution.report.reason)
    if problem.objective == "conditional":
        return learned
    return replace(learned, machine=push(learned.machine, remove_total_weight=True))


class _Normalizer:
    """Sums over all paths ("joint"), or over those that read the inputs of the pairs ("conditional")."""

    def __init__(self, problem: _Problem) -> None:
        self.problem = problem
        self.groups: list[_Group] = []
        if problem.objective == "joint":
            self.sums = native.PathSums(**problem.skeleton, input=False, output=False)
            self.mass = float(sum(problem.share[group.numbers].sum() for group in problem.groups))
            return
        for group in problem.groups:
            self.groups.append(_Group(problem.skeleton, group.numbers, group.inputs, _UNSEEN))

    def expect(self, weights: Floats, finals: Floats) -> tuple[float, Floats, Floats] | None:
        """As `_Problem.expect`."""
        counts, final_counts = np.zeros(len(weights)), np.zeros(len(finals))
        if not self.groups:
            if not self.sums.weigh(weights, finals):
                return None
            total = np.empty(1)
            self.sums.expect(
                None,
                None,
                None,
                None,
                np.array([self.mass]),
                1,
                log_total=total,
                counts=counts,
                final_counts=final_counts,
            )
            return self.mass * float(total[0]), counts, final_counts
        value = 0.0
        for group in self.groups:
            totals = group.expect(weights, finals, self.problem.share, self.problem.threads, (counts, final_counts))
            if totals is None:
                return None
            value += float(totals @ self.problem.share[group.numbers])
        return value, counts, final_counts

    def inside(self, unpack: Any, theta: Floats) -> Floats:
        """Weights, all made smaller by one factor until cycles have sums."""
        for _ in range(200):
            if self.expect(*unpack(theta)) is not None:
                return theta
            theta = theta - 0.5
        raise DataError("cycles of the machine have no sum with any weights")


def _checked(fst: Fst, pairs: Iterable[Any], token_type: str, objective: str) -> list[tuple[Any, Any]]:
    """The strings of both sides of every pair, None for a side that is not shown."""
    acceptor = fst.has("acceptor")

    def side(text: Any, number: int) -> str | None:
        if text is None or type(text) is str:
            return text
        if isinstance(text, list | tuple):
            return " ".join(text) if token_type == "symbol" else "".join(text)
        if not isinstance(text, str):
            raise DataError(f"pair {number}: a string of symbols must be a str, not {type(text).__name__}")
        return text

    if isinstance(pairs, str | bytes):
        raise DataError("pass a list of pairs; a single string would be taken for its characters")
    rows: list[tuple[Any, Any]] = []
    for number, pair in enumerate(pairs, 1):
        if isinstance(pair, str):
            if not acceptor:
                raise DataError(f"pair {number} is a string, but the machine is no acceptor; pass (input, output)")
            pair = (pair, None)
        if (type(pair) is not tuple and not isinstance(pair, Sequence)) or len(pair) != 2:
            raise DataError(f"pair {number} is not (input, output); pass pairs of strings")
        left, right = side(pair[0], number), side(pair[1], number)
        if left is None and right is None:
            raise DataError(f"pair {number} shows neither side; leave it out")
        if left is None and objective == "conditional":
            raise DataError(f"pair {number} has no input, and outputs are learned given inputs; use objective='joint'")
        if right is None and objective == "conditional":
            raise DataError(f"pair {number} has no output to learn given its input; leave it out, or use 'joint'")
        rows.append((left, right))
    if not rows:
        raise DataError("there are no pairs to learn from")
    return rows


def _grouped(skeleton: dict[str, Any], rows: list[tuple[Any, Any]], fst: Fst, token_type: str) -> list[_Group]:
    groups = []
    tables = fst.input_symbols, fst.output_symbols
    for has_input, has_output in ((True, True), (True, False), (False, True)):
        numbers = [k for k, (x, y) in enumerate(rows) if (x is not None, y is not None) == (has_input, has_output)]
        if numbers:
            inputs, outputs = (
                _labels([rows[k][i] for k in numbers], numbers, token_type, tables[i]) if shown else _UNSEEN
                for i, shown in enumerate((has_input, has_output))
            )
            groups.append(_Group(skeleton, np.array(numbers, np.int64), inputs, outputs))
    return groups


def _labels(texts: list[str], numbers: list[int], token_type: str, symbols: SymbolTable | None) -> _Side:
    """Labels of strings, one after another: characters of all of them at once, others one by one."""
    if token_type == "utf8":
        labels = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.int32)
        if labels.all():
            return _offsets(texts), labels
    rows = []
    for number, text in zip(numbers, texts, strict=True):
        try:
            rows.append(np.array(labels_of(text, token_type, symbols), np.int32))
        except DataError as fault:
            raise DataError(f"pair {number + 1}: {fault.message}") from None
    return _offsets(rows), np.concatenate(rows)


def _taken(side: _Side, rows: Ints) -> _Side:
    begin, symbols = side
    if begin is None or symbols is None:
        return side
    parts = [symbols[begin[row] : begin[row + 1]] for row in rows]
    return _offsets(parts), np.concatenate(parts) if parts else symbols[:0]


def _offsets(parts: Sequence[Sized]) -> Ints:
    offsets = np.zeros(len(parts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)), out=offsets[1:])
    return offsets


def _shares(sample_weight: ArrayLike | None, count: int) -> Floats:
    if sample_weight is None:
        return np.ones(count)
    shares = np.ascontiguousarray(sample_weight, dtype=np.float64)
    if shares.shape != (count,) or not (np.isfinite(shares).all() and (shares >= 0).all() and shares.any()):
        raise DataError(f"sample_weight must hold {count} numbers of 0 or more, not all 0")
    return shares
