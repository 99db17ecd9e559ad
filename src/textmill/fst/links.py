"""The links of a memoryless transducer as arrays, and how their probabilities are learnt.

    inventory    link e joins inputs[input_begin[e] : input_begin[e + 1]] and outputs[output_begin[e] : ...],
                 numbers of symbols, sorted by both
    training     E step, M step as in align.py, until the objective gains less than tol times its size

Counts below 1e-100 become 0: no alignment would miss such a link, and numbers that small are slow. Ctrl-C ends
training after the iteration at work. Cost: that of native/fst/align.h, O(links) a step beside it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.fst.alignment import Link
from textmill.fst.machine import Fst
from textmill.fst.stringpairs import EncodedPairs, Numbers
from textmill.progress import interruptible, start, track

__all__ = [
    "Inventory",
    "Limits",
    "Trainer",
    "Training",
    "best_links",
    "expected_links",
    "kept",
    "loops",
    "path_sums",
    "spelled",
    "tabled",
    "weighted",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Symbols = NDArray[np.int32]

_BATCH = 1 << 17  # pairs given to a kernel at once: well under a second, and Ctrl-C is heard
_NOTHING = 1e-100


class Limits(NamedTuple):
    """What links there can be: symbols of each side, links with an empty side or several symbols on both, insertions
    in a row (0: any number)."""

    max_input: int
    max_output: int
    deletions: bool
    insertions: bool
    many_to_many: bool
    insertions_in_a_row: int

    def allows(self, link: Link) -> bool:
        """Is the link within the limits?

        >>> Limits(1, 2, True, False, False, 0).allows((("x",), ("k", "s")))
        True
        """
        a, b = len(link[0]), len(link[1])
        if not a or not b:
            return self.deletions if a == 1 else b == 1 and self.insertions
        return a <= self.max_input and b <= self.max_output and (self.many_to_many or a == 1 or b == 1)


class Inventory(NamedTuple):
    """Links as numbers of symbols."""

    input_begin: Ints
    inputs: Symbols
    output_begin: Ints
    outputs: Symbols

    @property
    def size(self) -> int:
        """How many links there are."""
        return len(self.input_begin) - 1

    def groups(self) -> Ints:
        """For each link the number of its input side.

        >>> tabled({(("a",), ("x",)): 1, (("a",), ()): 1, (("b",), ()): 1}, Numbers("ab"), Numbers("x"))[0].groups()
        array([0, 0, 1])
        """
        bounds = itertools.pairwise(self.input_begin.tolist())
        sides = [self.inputs[begin:end].tobytes() for begin, end in bounds]
        return np.cumsum([0, *(a != b for a, b in itertools.pairwise(sides))], dtype=np.int64)[: self.size]


def weighted(links: Mapping[Link, float] | Iterable[Link], limits: Limits) -> dict[Link, float]:
    """Weights of the links that the limits allow; links without weights get the same each.

    >>> weighted([(("a",), ("b",)), (("a",), ())], Limits(1, 1, False, False, False, 0))
    {(('a',), ('b',)): 0.5}
    """
    if not isinstance(links, Mapping):
        listed = list(links)
        links = dict.fromkeys(listed, 1.0 / max(len(listed), 1))
    found: dict[Link, float] = {}
    for link, weight in links.items():
        if not (isinstance(link, tuple) and len(link) == 2 and all(isinstance(side, tuple) for side in link)):
            raise DataError(f"a link is a pair of tuples of symbols, such as (('x',), ('k', 's')), not {link!r}")
        if not (isinstance(weight, int | float) and 0.0 <= weight < np.inf):
            raise DataError(f"the weight of link {link!r} is {weight!r}, not a number of 0 or more")
        if limits.allows(link):
            found[link] = float(weight)
    if not found:
        raise DataError("no link is within the limits of the aligner; pass others, or allow longer ones")
    return found


def tabled(weights: Mapping[Link, float], inputs: Numbers, outputs: Numbers) -> tuple[Inventory, Floats]:
    """Links as arrays, sorted, and their weights.

    >>> inventory, weights = tabled({(("b",), ()): 0.25, ((), ("x",)): 0.5}, Numbers("ab"), Numbers("x"))
    >>> inventory.input_begin.tolist(), inventory.inputs.tolist(), weights.tolist()
    ([0, 0, 1], [1], [0.5, 0.25])
    """
    rows = sorted(([inputs[s] for s in link[0]], [outputs[s] for s in link[1]], w) for link, w in weights.items())

    def column(sides: Sequence[list[int]]) -> tuple[Ints, Symbols]:
        begin = np.cumsum([0, *map(len, sides)], dtype=np.int64)
        return begin, np.array(list(itertools.chain.from_iterable(sides)), dtype=np.int32)

    inventory = Inventory(*column([row[0] for row in rows]), *column([row[1] for row in rows]))
    return inventory, np.array([row[2] for row in rows], dtype=np.float64)


def spelled(inventory: Inventory, inputs: Iterable[str], outputs: Iterable[str]) -> list[Link]:
    """Links by their symbols.

    >>> spelled(tabled({(("b",), ()): 1.0}, Numbers("ab"), Numbers("x"))[0], "ab", "x")
    [(('b',), ())]
    """

    def sides(begin: Ints, numbers: Symbols, symbols: Iterable[str]) -> list[tuple[str, ...]]:
        named = list(symbols)
        flat = [named[number] for number in numbers.tolist()]
        return [tuple(flat[first:end]) for first, end in itertools.pairwise(begin.tolist())]

    left = sides(inventory.input_begin, inventory.inputs, inputs)
    return list(zip(left, sides(inventory.output_begin, inventory.outputs, outputs), strict=True))


def kept(inventory: Inventory, which: NDArray[np.bool_]) -> Inventory:
    """Some of the links.

    >>> both = tabled({(("a",), ()): 1.0, (("b",), ()): 1.0}, Numbers("ab"), Numbers())[0]
    >>> kept(both, np.array([False, True])).inputs.tolist()
    [1]
    """

    def side(begin: Ints, symbols: Symbols) -> tuple[Ints, Symbols]:
        lengths = np.diff(begin)
        return np.concatenate([[0], np.cumsum(lengths[which])]).astype(np.int64), symbols[np.repeat(which, lengths)]

    return Inventory(*side(inventory.input_begin, inventory.inputs), *side(inventory.output_begin, inventory.outputs))


def loops(inventory: Inventory, costs: Floats, gap: int | None, semiring_name: str) -> Fst:
    """The machine with a loop a link: state c has seen c insertions in a row (only 0 without a limit `gap`), further
    states are within links of several symbols.

    >>> loops(tabled({(("a",), ("x",)): 1.0}, Numbers("a"), Numbers("x"))[0], np.zeros(1), None, "tropical")
    Fst('tropical', 1 states, 1 arcs)
    """
    layers = states = 1 + (gap or 0)
    arcs: list[tuple[int, int, int, float, int]] = []
    sides = (
        [[number + 1 for number in numbers[first:end].tolist()] for first, end in itertools.pairwise(begin.tolist())]
        for begin, numbers in ((inventory.input_begin, inventory.inputs), (inventory.output_begin, inventory.outputs))
    )
    for u, v, cost in zip(*sides, costs.tolist(), strict=True):
        first, *others = itertools.zip_longest(u, v, fillvalue=0)
        if not u and gap is not None:
            arcs += [(c, *first, cost, c + 1) for c in range(gap)]
            continue
        arcs += [(c, *first, cost, states if others else 0) for c in range(layers)]
        for left, step in zip(range(len(others) - 1, -1, -1), others, strict=True):
            arcs.append((states, *step, 0.0, states + 1 if left else 0))
            states += 1
    columns = list(zip(*arcs, strict=True)) if arcs else [()] * 5
    return Fst.from_arrays(
        semiring_name,
        start=0,
        sources=columns[0],
        ilabels=columns[1],
        olabels=columns[2],
        weights=np.exp(-np.array(columns[3])) if semiring_name == "real" else columns[3],
        nextstates=columns[4],
        final_states=range(layers),
        states=states,
    )


def expected_links(
    links: native.Links,
    probability: Floats,
    pairs: EncodedPairs,
    weight: Floats | None,
    threads: int,
    *,
    counted: bool = True,
) -> tuple[Floats, Floats]:
    """ln Z of every pair, and the expected counts of links (an empty array unless they are `counted`)."""
    log_total = np.empty(len(pairs))
    counts = np.zeros(len(links) if counted else 0)
    for first, part in _parts(pairs, "counting links"):
        here = slice(first, first + len(part))
        links.expect(
            probability, *part.arrays(), None if weight is None else weight[here], threads, log_total[here], counts
        )
    return log_total, counts


def best_links(
    links: native.Links, log_probability: Floats, pairs: EncodedPairs, order: Sequence[int], n: int, threads: int
) -> Iterator[tuple[Ints, Ints, Symbols]]:
    """Batches of n-best alignments: where those of a pair begin, where the links of each begin, links."""
    for _, part in _parts(pairs, "aligning"):
        yield links.best(log_probability, *part.arrays(), list(order), n, threads)


def path_sums(values: Floats, begin: Ints) -> Floats:
    """Sums of values over stretches that follow each other, some of them perhaps empty.

    >>> path_sums(np.array([1.0, 2.0, 4.0]), np.array([0, 2, 2, 3])).tolist()
    [3.0, 0.0, 4.0]
    """
    sums = np.zeros(len(begin) - 1)
    some = np.diff(begin) > 0
    if some.any():
        sums[some] = np.add.reduceat(values, begin[:-1][some])
    return sums


def _parts(pairs: EncodedPairs, what: str) -> Iterator[tuple[int, EncodedPairs]]:
    if len(pairs) <= _BATCH:
        yield 0, pairs
        return
    for first in track(range(0, len(pairs), _BATCH), what, unit="batches of pairs"):
        yield first, pairs.part(first, min(first + _BATCH, len(pairs)))


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """What a run of EM has found: probabilities and counts of links, the objective before every iteration."""

    probability: Floats
    counts: Floats
    log_likelihoods: Floats
    objective: float
    converged: bool


@dataclass(frozen=True, slots=True, eq=False)
class Trainer:
    """EM over pairs: `weight` says how often each counts, `pseudo` what is added to the count of each link; links of
    one of the `groups` have probabilities with the sum 1."""

    links: native.Links
    pairs: EncodedPairs
    weight: Floats | None
    pseudo: Floats
    groups: Ints | None
    order: Sequence[int]
    threads: int

    def normalised(self, counts: Floats) -> Floats:
        """Probabilities from counts."""
        counts = np.where(counts < _NOTHING, 0.0, counts)
        if self.groups is None:
            total = counts.sum()
            if not total > 0:
                raise DataError("there is nothing to learn: no pair has a link; pass pairs with symbols")
            return np.asarray(counts / total)
        totals = np.bincount(self.groups, weights=counts)[self.groups]
        return np.divide(counts, totals, out=np.zeros(len(counts)), where=totals > 0)

    def uniform(self) -> Floats:
        """The same probability for every link of a group."""
        return self.normalised(np.ones(len(self.links)))

    def expect(self, probability: Floats) -> tuple[Floats, Floats]:
        """ln Z of every pair and expected counts of links."""
        return expected_links(self.links, probability, self.pairs, self.weight, self.threads)

    def count_best(self, probability: Floats) -> tuple[Floats, Floats]:
        """The same for best alignments instead of all."""
        with np.errstate(divide="ignore"):
            logs = np.log(probability)
        scores, counts, first = [], np.zeros(len(self.links)), 0
        for paths, begin, ids in best_links(self.links, logs, self.pairs, self.order, 1, self.threads):
            number = len(paths) - 1
            found = np.full(number, -np.inf)
            found[np.diff(paths) > 0] = path_sums(logs[ids], begin)
            scores.append(found)
            weight = np.ones(number) if self.weight is None else self.weight[first : first + number]
            counts += np.bincount(ids, np.repeat(weight, np.diff(begin[paths])), minlength=len(self.links))
            first += number
        return np.concatenate(scores), counts

    def train(self, begin: Floats, *, hard: bool, max_iter: int, tol: float) -> Training:
        """Iterate from a start until the objective hardly rises."""
        probability, counts = begin, np.zeros(len(begin))
        trace: list[float] = []
        objective, converged = -np.inf, False
        with start("learning links", total=max_iter, unit="iterations") as told, interruptible(range(max_iter)) as loop:
            for _ in loop:
                before = objective
                log_total, counts = self.count_best(probability) if hard else self.expect(probability)
                trace.append(self._sum(log_total))
                objective = trace[-1] + self._penalty(probability)
                probability = self.normalised(counts + self.pseudo)
                told.advance(log_likelihood=trace[-1])
                converged = objective - before <= tol * abs(objective)
                if converged:
                    break
        return Training(probability, counts, np.array(trace), objective, converged)

    def best_of(self, begin: Floats, restarts: int, seed: int | None, **options: bool | int | float) -> Training:
        """The best run from this start and from random ones over the same links."""
        best = self.train(begin, **options)  # type: ignore[arg-type]
        random = np.random.default_rng(seed)
        for _ in track(range(restarts), "trying other starts", unit="starts"):
            drawn = self.normalised(np.where(begin > 0, random.exponential(size=len(begin)), 0.0))
            other = self.train(drawn, **options)  # type: ignore[arg-type]
            best = other if other.objective > best.objective else best
        return best

    def _sum(self, log_total: Floats) -> float:
        aligned = np.isfinite(log_total)
        return float((log_total if self.weight is None else self.weight * log_total)[aligned].sum())

    def _penalty(self, probability: Floats) -> float:
        some = (self.pseudo > 0) & (probability > 0)
        return float((self.pseudo[some] * np.log(probability[some])).sum())
