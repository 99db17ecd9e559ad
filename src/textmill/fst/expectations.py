"""Derivatives of the weight of a whole machine, expected values of its paths, entropy, distances of distributions.

    Z              = sum over paths of p(path),       p(path) = product of the p of its arcs and of its end
    dZ / dp(arc)   = alpha(source) beta(target)                                      alpha, beta: distances to and fro
    E[arc]         = p(arc) alpha(source) beta(target) / Z = d ln Z / d ln p(arc)    how often a random path uses it
    E[v]           = sum over arcs of E[arc] v(arc)           v adds up along a path
    H              = ln Z - E[ln p]                           entropy of the paths, in nats
    D(P || Q)      = sum over strings of P ln (P / Q)         P, Q: distributions of strings, one path per string

This is differentiation in reverse: all derivatives for twice the price of Z, also where there are cycles. The same
expectations come forwards, a value at a time, from the expectation semiring, whose weights (p, p v) add and multiply
to (Z, Z E[v]); a machine with such weights may be composed with others first, and so carries values through
compositions: `divergence` sums -P ln Q over the strings of two machines that way. For log, log64 and real weights.

Cost: two shortest distances; expectations also O(arcs). References: Eisner (2002), Parameter estimation for
probabilistic finite-state transducers; Li & Eisner (2009), First- and second-order expectation semirings; Cortes,
Mohri, Rastogi & Riley (2008), On the computation of the relative entropy of probabilistic automata.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.fst.composition import intersect
from textmill.fst.machine import Fst
from textmill.fst.optimization import determinize, rmepsilon
from textmill.fst.paths import push, shortest_distance, total_weight
from textmill.fst.rational import arcsort, connect
from textmill.fst.transform import convert
from textmill.model import check_choice

__all__ = [
    "DIVERGENCES",
    "WeightGradient",
    "divergence",
    "entropy",
    "expected_counts",
    "expected_values",
    "to_expectation",
    "total_weight_gradient",
]

DIVERGENCES = ("kl", "hellinger", "l2")


@dataclass(frozen=True, slots=True, eq=False)
class WeightGradient:
    """One number per arc, in the order of `Fst.arrays`, and one per state for its final weight.

    `total` is the weight of the whole machine.
    """

    total: float
    arcs: Floats
    finals: Floats


def total_weight_gradient(fst: Fst) -> WeightGradient:
    """Derivatives of the total weight with respect to the weight of every arc and of every final state.

    With log weights, -ln p, they are expected counts: how often a random path uses the arc. With real weights they
    are plain derivatives of the sum.

    >>> from textmill.fst.formats import compile_text
    >>> fst = compile_text("0 1 1 1 .5\\n0 1 2 2 .25\\n1 .5", semiring_name="real")
    >>> gradient = total_weight_gradient(fst)
    >>> gradient.total, gradient.arcs.tolist(), gradient.finals.tolist()
    (0.375, [0.5, 0.5], [1.0, 0.75])
    """
    if fst.semiring.name == "real":
        alpha, beta, total, sources, arcs, _ = _passes(fst)
        return WeightGradient(total, alpha[sources] * beta[arcs["nextstate"]], alpha)
    counts = expected_counts(fst)
    return WeightGradient(-counts.total, counts.arcs, counts.finals)


def expected_counts(fst: Fst) -> WeightGradient:
    """How often a random path uses each arc and ends in each state; `total` is ln Z.

    A machine without a path has counts of 0 and ln Z of -inf.

    >>> from textmill.fst.formats import compile_text
    >>> loop = compile_text("0 0 1 1 .5\\n0 .5", semiring_name="real")
    >>> expected_counts(loop).arcs.round(12).tolist()
    [1.0]
    """
    alpha, beta, total, sources, arcs, finals = _passes(_logarithmic(fst))
    if total == math.inf:
        return WeightGradient(-math.inf, np.zeros(len(arcs)), np.zeros(len(finals)))
    with np.errstate(invalid="ignore"):
        on_arcs = np.exp(total - alpha[sources] - arcs["weight"] - beta[arcs["nextstate"]])
        at_ends = np.exp(total - alpha - finals)
    return WeightGradient(-total, np.nan_to_num(on_arcs), np.nan_to_num(at_ends))


def expected_values(fst: Fst, values: ArrayLike, final_values: ArrayLike | None = None) -> Floats:
    """The mean, over random paths, of values that add up along a path.

    `values` has one row per arc, in the order of `Fst.arrays`, and one column per value (or is one-dimensional);
    `final_values` has one row per state.

    >>> from textmill.fst.formats import compile_text
    >>> loop = compile_text("0 0 1 1 .75\\n0 .25", semiring_name="real")
    >>> expected_values(loop, [1.0]).round(12).tolist()  # the mean length
    [3.0]
    """
    counts = expected_counts(fst)
    if counts.total == -math.inf:
        raise DataError("the machine has no path, so values have no mean")
    on_arcs = _rows("values", values, fst.num_arcs, "arc")
    mean = counts.arcs @ on_arcs
    if final_values is not None:
        at_ends = _rows("final_values", final_values, fst.num_states, "state")
        if at_ends.shape[1] != on_arcs.shape[1]:
            raise DataError(f"values have {on_arcs.shape[1]} columns but final_values {at_ends.shape[1]}")
        mean = mean + counts.finals @ at_ends
    return np.asarray(mean, dtype=np.float64)


def entropy(fst: Fst) -> float:
    """The entropy of the paths of a machine, in nats, with their weights as probabilities once they sum to one.

    For a machine with one path per string it is the entropy of the strings.

    >>> from textmill.fst.strings import string_map
    >>> round(entropy(string_map(["heads", "tails"], semiring_name="log64")), 6)
    0.693147
    """
    machine = _logarithmic(fst)
    counts = expected_counts(machine)
    if counts.total == -math.inf:
        raise DataError("the machine has no path, so it has no entropy")
    _, arcs, finals = machine.arrays()
    spent = _weighted_sum(counts.arcs, arcs["weight"]) + _weighted_sum(counts.finals, finals)
    return max(0.0, counts.total + spent)


def to_expectation(fst: Fst, values: ArrayLike, final_values: ArrayLike | None = None) -> Fst:
    """The same machine over `expectation(real,n)`: weights (p, p v_1, ..., p v_n), for arcs and ends.

    The total weight of such a machine is (Z, Z E[v_1], ..., Z E[v_n]), before and after it is composed with others.
    Values are 0 or more, as real weights are; `expected_values` takes any.

    >>> from textmill.fst.formats import compile_text
    >>> fst = compile_text("0 1 1 1 .5\\n0 1 2 2 .25\\n1", semiring_name="real")
    >>> total_weight(to_expectation(fst, [10.0, 20.0]))
    (0.75, 10.0)
    """
    machine = convert(fst, "real") if fst.semiring.name != "real" else fst
    on_arcs = _rows("values", values, machine.num_arcs, "arc")
    at_ends = _rows(
        "final_values",
        np.zeros((machine.num_states, on_arcs.shape[1])) if final_values is None else final_values,
        machine.num_states,
        "state",
    )
    if (on_arcs < 0).any() or (at_ends < 0).any():
        raise DataError("values must be 0 or more, as real weights are; use expected_values for others")
    offsets, arcs, finals = machine.arrays()
    result = Fst(f"expectation(real,{on_arcs.shape[1]})", input_symbols=fst.input_symbols)
    result.output_symbols = fst.output_symbols
    result.add_states(machine.num_states)
    result.start = machine.start
    pairs = _tuples(arcs["weight"], on_arcs)
    ends = _tuples(finals, at_ends)
    for state in range(machine.num_states):
        if finals[state] != 0.0:
            result.set_final(state, ends[state])
        for arc in range(int(offsets[state]), int(offsets[state + 1])):
            ilabel, olabel, _, target = arcs[arc].item()
            result.add_arc(state, ilabel, olabel, pairs[arc], target)
    return result


def divergence(p: Fst, q: Fst, kind: str = "kl") -> float:
    """How far the distribution of strings of one acceptor is from that of another; both are made to sum to one.

    "kl" is the relative entropy D(P || Q) in nats, infinite where P has a string that Q lacks; "hellinger" is
    sqrt(1 - sum of sqrt(P Q)), from 0 to 1; "l2" is the Euclidean distance of the probabilities. "kl" and "hellinger"
    need one path per string: machines that are not deterministic are determinized, and those that cannot be are
    refused.

    >>> from textmill.fst.strings import string_map
    >>> fair = string_map(["h", "t"], semiring_name="log64")
    >>> bent = string_map([("h", "h", 0.25), ("t", "t", 1.5)], semiring_name="log64")
    >>> round(divergence(fair, bent), 6), round(divergence(bent, bent, "hellinger"), 6)
    (0.183782, 0.0)
    """
    check_choice("kind", kind, DIVERGENCES)
    left, right = (_distribution(machine, name) for machine, name in ((p, "first"), (q, "second")))
    if kind == "l2":
        squares = [_together(a, b) for a, b in ((left, left), (left, right), (right, right))]
        return math.sqrt(max(0.0, squares[0] - 2 * squares[1] + squares[2]))
    left, right = (_one_path_per_string(machine) for machine in (left, right))
    if kind == "hellinger":
        return math.sqrt(max(0.0, 1.0 - _together(_scaled(left, 0.5), _scaled(right, 0.5))))
    _, arcs, finals = right.arrays()
    surprise = [np.maximum(np.where(np.isfinite(cost), cost, 0.0), 0.0) for cost in (arcs["weight"], finals)]
    costs = to_expectation(_scaled(right, 0.0), *surprise)  # weights (1, -ln q)
    plain = to_expectation(left, np.zeros(left.num_arcs))
    common, cross = total_weight(intersect(arcsort(plain), arcsort(costs)))
    if common < 1.0 - 1e-9:
        return math.inf  # the first machine has strings that the second one lacks
    return max(0.0, float(cross) - entropy(left))


def _passes(fst: Fst) -> tuple[Floats, Floats, float, Ints, NDArray[Any], Floats]:
    """Distances from the start and to the end, the total, sources of arcs, arcs, final weights."""
    offsets, arcs, finals = fst.arrays()
    zero = fst.semiring.zero
    if fst.start < 0:
        alpha = beta = np.full(fst.num_states, zero)
        total = float(zero)
    else:
        alpha = np.asarray(shortest_distance(fst), dtype=np.float64)
        beta = np.asarray(shortest_distance(fst, reverse=True), dtype=np.float64)
        total = float(beta[fst.start])
    sources = np.repeat(np.arange(fst.num_states), np.diff(offsets))
    return alpha, beta, total, sources, arcs, finals


def _logarithmic(fst: Fst) -> Fst:
    name = fst.semiring.name
    if name not in ("log", "log64", "real"):
        raise DataError(f"paths of {name} have no probabilities; convert the machine to 'log64' first")
    return fst if name == "log64" else convert(fst, "log64")


def _rows(name: str, values: ArrayLike, count: int, item: str) -> Floats:
    rows = np.asarray(values, dtype=np.float64)
    if rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2 or len(rows) != count:
        raise DataError(f"{name} must have one row for each {item}, {count} in all, not the shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise DataError(f"{name} must be finite")
    return rows


def _tuples(weights: Floats, values: Floats) -> list[tuple[float, ...]]:
    return [tuple(row) for row in np.column_stack([weights, weights[:, None] * values]).tolist()]


def _weighted_sum(counts: Floats, weights: Floats) -> float:
    used = counts > 0
    return float(counts[used] @ weights[used])


def _scaled(machine: Fst, factor: float) -> Fst:
    """The same machine with the power `factor` of its probabilities."""
    offsets, arcs, finals = machine.arrays()
    final_states = np.flatnonzero(finals != math.inf)
    return Fst.from_arrays(
        "log64",
        start=machine.start,
        sources=np.repeat(np.arange(machine.num_states), np.diff(offsets)),
        ilabels=arcs["ilabel"],
        olabels=arcs["olabel"],
        nextstates=arcs["nextstate"],
        weights=factor * arcs["weight"],
        final_states=final_states,
        final_weights=factor * finals[final_states],
        states=machine.num_states,
    )


def _distribution(fst: Fst, name: str) -> Fst:
    """A stochastic machine: the probabilities of its paths sum to one."""
    if not fst.has("acceptor"):
        raise DataError(f"the {name} machine writes other strings than it reads; project it to one side first")
    machine = connect(_logarithmic(fst))
    if machine.start < 0:
        raise DataError(f"the {name} machine has no path, so it is no distribution of strings")
    return push(machine, remove_total_weight=True)


def _one_path_per_string(machine: Fst) -> Fst:
    if machine.has("input_deterministic") and not machine.has("epsilons"):
        return machine
    return push(determinize(rmepsilon(machine)), remove_total_weight=True)


def _together(a: Fst, b: Fst) -> float:
    """The sum over strings of both machines of the product of their probabilities."""
    return math.exp(-float(total_weight(intersect(arcsort(a), arcsort(b)))))
