"""How a chain of machines is best composed: which two first, how arcs are matched, whether to look ahead.

    a o b o c o ...       the same machine in whatever order, but the machines in between may be tiny or huge

The size of every stretch of the chain is found by trying: it is composed lazily, and up to `budget` states of it are
computed. If that is all of them, the size is known; else it is guessed from how fast new states are still met. With
those sizes the order of association that writes the fewest states is found as for products of matrices, in O(n^3):

    cost(i, j) = states(i ... j) + min over k of cost(i, k) + cost(k+1, j)

At each joint, between machine k and k + 1, the two are tried with and without look-ahead on their labels; it is used
where it saves a fifth of the states or more. Epsilons need no filter where only one of the two has any. If neither
machine is sorted, the one with fewer arcs is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from textmill.errors import DataError
from textmill.fst import lazy
from textmill.fst.composition import compose
from textmill.fst.lazy import LazyFst
from textmill.fst.machine import Fst
from textmill.model import check_range

__all__ = ["ChainPlan", "EstimatedSize", "Joint", "compose_chain", "plan_chain"]

_SAVING = 0.8  # look-ahead must leave at most that part of the states


@dataclass(frozen=True)
class EstimatedSize:
    """States of a composition: counted, or guessed from those that were met."""

    states: int
    counted: bool

    def __str__(self) -> str:
        return f"{self.states:,} states" if self.counted else f"about {self.states:,} states"


@dataclass(frozen=True)
class Joint:
    """How two neighbors of a chain are composed, and why."""

    compose_filter: str
    look_ahead: str
    push: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class ChainPlan:
    """What to compose with what, made by `plan_chain`; `run` does it.

    >>> from textmill.fst.strings import accep
    >>> plan = plan_chain([accep("a"), accep("a"), accep("a")])
    >>> plan.order
    '((1 o 2) o 3)'
    """

    machines: Sequence[Fst]
    names: Sequence[str]
    sizes: dict[tuple[int, int], EstimatedSize]
    cuts: dict[tuple[int, int], int]  # of each stretch that is made: where its left part ends
    joints: Sequence[Joint]
    costs: dict[tuple[int, int], int] = field(repr=False)

    @property
    def order(self) -> str:
        """The chain with brackets.

        >>> from textmill.fst.strings import accep
        >>> plan_chain([accep("a"), accep("a")], names=["x", "y"]).order
        '(x o y)'
        """
        return self._bracketed(0, len(self.machines) - 1)

    def _bracketed(self, first: int, last: int) -> str:
        if first == last:
            return self.names[first]
        cut = self.cuts[first, last]
        return f"({self._bracketed(first, cut)} o {self._bracketed(cut + 1, last)})"

    def explain(self) -> str:
        """What is done and why, in lines of text.

        >>> from textmill.fst.strings import accep
        >>> print(plan_chain([accep("a"), accep("a")]).explain().splitlines()[0])
        order: (1 o 2)
        """
        last = len(self.machines) - 1
        lines = [f"order: {self.order}"]
        if last > 1:
            for name, cost in self._alternatives():
                lines.append(f"  {name}: {cost:,} states to be written in all")
        for (first, end), size in self.sizes.items():
            if first < end:
                lines.append(f"{' o '.join(self.names[first : end + 1])}: {size}")
        for (left, right), joint in zip(pairwise(self.names), self.joints, strict=True):
            lines.append(
                f"{left} o {right}: filter {joint.compose_filter}, look-ahead {joint.look_ahead}, push {joint.push}"
            )
            lines += [f"  {reason}" for reason in joint.reasons]
        return "\n".join(lines)

    def _alternatives(self) -> list[tuple[str, int]]:
        """The plan, and from the left and the right, with what they cost."""
        last = len(self.machines) - 1
        left = sum(self.sizes[0, end].states for end in range(1, last + 1))
        right = sum(self.sizes[first, last].states for first in range(last))
        return [("as planned", self.costs[0, last]), ("from the left", left), ("from the right", right)]

    def run(self) -> Fst:
        """The composition, without states that lead nowhere.

        >>> from textmill.fst.strings import accep
        >>> plan_chain([accep("ab"), accep("ab")]).run().num_states
        3
        """
        return self._composed(0, len(self.machines) - 1)

    def _composed(self, first: int, last: int) -> Fst:
        if first == last:
            return self.machines[first]
        cut = self.cuts[first, last]
        left, right, joint = self._composed(first, cut), self._composed(cut + 1, last), self.joints[cut]
        if joint.look_ahead == "none":
            return compose(left, right, compose_filter=joint.compose_filter)
        return _joined(left, right, joint).expand(connect=True)

    def lazy(self, *, cache: int | None = lazy.CACHE) -> LazyFst:
        """The composition as a lazy machine: nothing in between is written out, so any order costs the same.

        Look-ahead needs the machine that it looks at as a whole: all joints with look-ahead on outputs have theirs if
        the chain is put together from the right, those on inputs from the left; the more frequent kind decides.

        >>> from textmill.fst.strings import accep
        >>> plan_chain([accep("ab"), accep("ab")]).lazy().expand().num_states
        3
        """
        kinds = [joint.look_ahead for joint in self.joints]
        if kinds.count("output") >= kinds.count("input"):
            result: Fst | LazyFst = self.machines[-1]
            for machine, joint in zip(reversed(self.machines[:-1]), reversed(self.joints), strict=True):
                result = _joined(machine, result, joint, cache)
        else:
            result = self.machines[0]
            for machine, joint in zip(self.machines[1:], self.joints, strict=True):
                result = _joined(result, machine, joint, cache)
        return lazy.as_lazy(result)


def plan_chain(machines: Sequence[Fst], *, names: Sequence[str] | None = None, budget: int = 2000) -> ChainPlan:
    """How to compose some machines, from what trying with at most `budget` states of each stretch has shown.

    >>> from textmill.fst.strings import accep
    >>> plan_chain([accep("abc"), accep("abc")]).sizes[0, 1]
    EstimatedSize(states=4, counted=True)
    """
    check_range("budget", budget, at_least=1)
    if not machines:
        raise DataError("there is no machine to begin with")
    called = [str(i + 1) for i in range(len(machines))] if names is None else list(names)
    if len(called) != len(machines):
        raise DataError(f"there are {len(called)} names for {len(machines)} machines")
    joints = [_joint(left, right, budget) for left, right in pairwise(machines)]
    sizes, costs, cuts = {}, {}, {}
    for length in range(1, len(machines) + 1):
        for first in range(len(machines) - length + 1):
            last = first + length - 1
            if length == 1:
                sizes[first, last], costs[first, last] = EstimatedSize(machines[first].num_states, counted=True), 0
                continue
            sizes[first, last] = _stretch(machines[first : last + 1], joints[first:last], budget)
            cut = min(reversed(range(first, last)), key=lambda k: costs[first, k] + costs[k + 1, last])
            cuts[first, last] = cut
            costs[first, last] = sizes[first, last].states + costs[first, cut] + costs[cut + 1, last]
    return ChainPlan(list(machines), called, sizes, cuts, joints, costs)


def compose_chain(machines: Sequence[Fst], *, budget: int = 2000) -> Fst:
    """All machines composed, in the order and manner of their `plan_chain`.

    >>> from textmill.fst.strings import accep
    >>> compose_chain([accep("ab"), accep("ab"), accep("ab")]).num_states
    3
    """
    return plan_chain(machines, budget=budget).run()


def _joined(left: Fst | LazyFst, right: Fst | LazyFst, joint: Joint, cache: int | None = lazy.CACHE) -> LazyFst:
    """Two machines composed; without look-ahead where the machine that it needs is not there."""
    whole = {"none": True, "output": isinstance(left, Fst), "input": isinstance(right, Fst)}[joint.look_ahead]
    ahead, push = (joint.look_ahead, joint.push) if whole else ("none", "none")
    compose_filter = "auto" if ahead != "none" or not whole else joint.compose_filter
    return lazy.compose(left, right, compose_filter=compose_filter, look_ahead=ahead, push=push, cache=cache)


def _joint(left: Fst, right: Fst, budget: int) -> Joint:
    """How two neighbors are composed."""
    reasons = []
    writes, reads = left.has("output_epsilons"), right.has("input_epsilons")
    compose_filter = "sequence" if writes and reads else "trivial"
    if not (writes and reads):
        who = "neither machine has" if not writes and not reads else "only one of the two machines has"
        reasons.append(f"{who} epsilons in between, so that no path can be counted twice")
    if left.has("output_sorted") or right.has("input_sorted"):
        which = "the first is" if left.has("output_sorted") else "the second is"
        if left.has("output_sorted") and right.has("input_sorted"):
            which = "both are"
        reasons.append(f"{which} sorted: arcs are looked up there, in the state with more of them")
    else:
        which = "first" if left.num_arcs < right.num_arcs else "second"
        reasons.append(f"neither is sorted: the {which} is, it has fewer arcs")
    plain = _size(lazy.compose(left, right, compose_filter=compose_filter), budget, left, right)
    best = ("none", "none", plain)
    for ahead, useful in (("output", writes), ("input", reads)):
        if useful and left.semiring.commutative:
            size = _size(lazy.compose(left, right, look_ahead=ahead, push="labels"), budget, left, right)
            reasons.append(f"look-ahead on the {ahead} labels: {size} instead of {plain}")
            if size.states < _SAVING * best[2].states:
                best = (ahead, "labels", size)
    return Joint("auto" if best[0] != "none" else compose_filter, best[0], best[1], tuple(reasons))


def _stretch(machines: Sequence[Fst], joints: Sequence[Joint], budget: int) -> EstimatedSize:
    """The size of a part of the chain."""
    part = ChainPlan(machines, [], {}, {}, joints, {}).lazy()
    return _size(part, budget, *machines)


def _size(machine: LazyFst, budget: int, *parts: Fst) -> EstimatedSize:
    """States of a lazy composition: if there are more than the budget, as many for each new one as were met so far."""
    expanded, met, _ = machine._native.probe(budget)
    if expanded == met:
        return EstimatedSize(met, counted=True)
    most = 1
    for part in parts:
        most *= 3 * max(part.num_states, 1)  # the filter has up to three states
    return EstimatedSize(min(most, met * met // expanded), counted=False)
