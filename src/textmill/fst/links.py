"""The links of a memoryless transducer as arrays, as a machine, and what kernels make of pairs with them.

    link e joins inputs[input_begin[e] : input_begin[e + 1]] and outputs[output_begin[e] : output_begin[e + 1]],
    numbers of symbols; links are sorted by both

Cost: O(links); kernels that of native/fst/align.h.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill._native import fst as native
from textmill.arrays import Floats, Ids, Ints
from textmill.errors import DataError
from textmill.fst.alignment import Link
from textmill.fst.machine import Fst
from textmill.fst.stringpairs import EncodedPairs, Numbers
from textmill.model import check_choice
from textmill.progress import track

__all__ = [
    "Inventory",
    "Limits",
    "best_links",
    "expected_links",
    "link_weights",
    "loop_machine",
    "path_sums",
    "select_links",
    "spell_links",
    "tabulate_links",
]


_BATCH = 1 << 17  # pairs given to a kernel at once: well under a second, and Ctrl-C is heard


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
    inputs: Ids
    output_begin: Ints
    outputs: Ids

    @property
    def size(self) -> int:
        """How many links there are."""
        return len(self.input_begin) - 1

    def groups(self) -> Ints:
        """For each link the number of its input side.

        >>> links = {(("a",), ("x",)): 1, (("a",), ()): 1, (("b",), ()): 1}
        >>> tabulate_links(links, Numbers("ab"), Numbers("x"))[0].groups()
        array([0, 0, 1])
        """
        bounds = itertools.pairwise(self.input_begin.tolist())
        sides = [self.inputs[begin:end].tobytes() for begin, end in bounds]
        return np.cumsum([0, *(a != b for a, b in itertools.pairwise(sides))], dtype=np.int64)[: self.size]


def link_weights(links: Mapping[Link, float] | Iterable[Link], limits: Limits) -> dict[Link, float]:
    """Weights of the links that the limits allow; links without weights get the same each.

    >>> link_weights([(("a",), ("b",)), (("a",), ())], Limits(1, 1, False, False, False, 0))
    {(('a',), ('b',)): 0.5}
    """
    if not isinstance(links, Mapping):
        listed = list(links)
        links = dict.fromkeys(listed, 1.0 / max(len(listed), 1))
    weights: dict[Link, float] = {}
    for link, weight in links.items():
        if not (isinstance(link, tuple) and len(link) == 2 and all(isinstance(side, tuple) for side in link)):
            raise DataError(f"a link is a pair of tuples of symbols, such as (('x',), ('k', 's')), not {link!r}")
        if not (isinstance(weight, int | float) and 0.0 <= weight < np.inf):
            raise DataError(f"the weight of link {link!r} is {weight!r}, not a number of 0 or more")
        if limits.allows(link):
            weights[link] = float(weight)
    if not weights:
        raise DataError("no link is within the limits of the aligner; pass others, or allow longer ones")
    return weights


def tabulate_links(weights: Mapping[Link, float], inputs: Numbers, outputs: Numbers) -> tuple[Inventory, Floats]:
    """Links as arrays, sorted, and their weights.

    >>> inventory, weights = tabulate_links({(("b",), ()): 0.25, ((), ("x",)): 0.5}, Numbers("ab"), Numbers("x"))
    >>> inventory.input_begin.tolist(), inventory.inputs.tolist(), weights.tolist()
    ([0, 0, 1], [1], [0.5, 0.25])
    """
    rows = sorted(([inputs[s] for s in link[0]], [outputs[s] for s in link[1]], w) for link, w in weights.items())

    def column(sides: Sequence[list[int]]) -> tuple[Ints, Ids]:
        begin = np.cumsum([0, *map(len, sides)], dtype=np.int64)
        return begin, np.array(list(itertools.chain.from_iterable(sides)), dtype=np.int32)

    inventory = Inventory(*column([row[0] for row in rows]), *column([row[1] for row in rows]))
    return inventory, np.array([row[2] for row in rows], dtype=np.float64)


def spell_links(inventory: Inventory, inputs: Iterable[str], outputs: Iterable[str]) -> list[Link]:
    """Links by their symbols.

    >>> spell_links(tabulate_links({(("b",), ()): 1.0}, Numbers("ab"), Numbers("x"))[0], "ab", "x")
    [(('b',), ())]
    """

    def sides(begin: Ints, numbers: Ids, symbols: Iterable[str]) -> list[tuple[str, ...]]:
        named = list(symbols)
        flat = [named[number] for number in numbers.tolist()]
        return [tuple(flat[first:end]) for first, end in itertools.pairwise(begin.tolist())]

    left = sides(inventory.input_begin, inventory.inputs, inputs)
    return list(zip(left, sides(inventory.output_begin, inventory.outputs, outputs), strict=True))


def select_links(inventory: Inventory, which: NDArray[np.bool_]) -> Inventory:
    """Some of the links.

    >>> both = tabulate_links({(("a",), ()): 1.0, (("b",), ()): 1.0}, Numbers("ab"), Numbers())[0]
    >>> select_links(both, np.array([False, True])).inputs.tolist()
    [1]
    """

    def side(begin: Ints, symbols: Ids) -> tuple[Ints, Ids]:
        lengths = np.diff(begin)
        return np.concatenate([[0], np.cumsum(lengths[which])]).astype(np.int64), symbols[np.repeat(which, lengths)]

    return Inventory(*side(inventory.input_begin, inventory.inputs), *side(inventory.output_begin, inventory.outputs))


def loop_machine(inventory: Inventory, costs: Floats, gap: int | None, semiring_name: str) -> Fst:
    """The machine with one loop per link: state c has seen c insertions in a row (only 0 without a limit `gap`),
    further states are within links of several symbols.

    >>> inventory, _ = tabulate_links({(("a",), ("x",)): 1.0}, Numbers("a"), Numbers("x"))
    >>> loop_machine(inventory, np.zeros(1), None, "tropical")
    Fst('tropical', 1 states, 1 arcs)
    """
    check_choice("semiring_name", semiring_name, ["tropical", "tropical64", "log", "log64", "real"])
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
) -> Iterator[tuple[Ints, Ints, Ids]]:
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
