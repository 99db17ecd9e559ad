"""Equivalent machines that are smaller or faster to use: without epsilons, deterministic, minimal.

    rmepsilon     arcs'(p) = plus over q of d(p, q) times arcs of q that are not epsilon     d: sums over epsilon paths
    determinize   subsets of (state, output still to be written, weight still to be paid)
    minimize      weights and outputs pushed to the start, then states that cannot be told apart merged

Determinization ends for acyclic machines and those with the twins property; when a result grows suspiciously large
the property is tested, and a machine without it is a DataError that names a string. Weights that differ by less than
`delta` count as equal when states are compared; the weights of the result are not rounded. Reference: Mohri (1997;
2000; 2002).
"""

from __future__ import annotations

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.fst.encoding import decode, encode
from textmill.fst.machine import Fst
from textmill.fst.semirings import Weight
from textmill.model import check_range

__all__ = ["determinize", "disambiguate", "minimize", "minimize_strings", "optimize", "rmepsilon"]

_DELTA = 1 / 1024


def rmepsilon(
    fst: Fst,
    *,
    connect: bool = True,
    weight: Weight | None = None,
    max_states: int | None = None,
    queue_type: str = "auto",
    reverse: bool = False,
) -> Fst:
    """Without arcs that read and write nothing; pruned if `weight` or `max_states` is given.

    Arcs behind epsilons are copied to where the epsilons begin; with `reverse` arcs before epsilons are copied to
    where these end, which makes fewer arcs where few lead into epsilons and many out of them. `queue_type`, as in
    `shortest_distance`, is used for cycles of epsilons.

    >>> from textmill.fst.formats import compile_text
    >>> rmepsilon(compile_text("0 1 0 0 2\\n1 2 1 1 1\\n2")).arcs(0)[0].weight
    3.0
    """
    result = fst._native
    if reverse and not (fst.semiring.left and fst.semiring.right):
        raise DataError(f"weights of {fst.semiring.name} distribute from one side only; remove epsilons forwards")
    if reverse:  # turned round twice; what the second turn puts before the start goes in the last removal
        result = native.reverse(native.remove_epsilons(native.reverse(result, True), connect, queue_type), True)
    result = native.remove_epsilons(result, connect, queue_type)
    if weight is not None or max_states is not None:
        result = native.prune(result, weight, max_states)
    return fst._like(result)


def determinize(
    fst: Fst,
    *,
    det_type: str = "functional",
    delta: float = _DELTA,
    weight: Weight | None = None,
    keep_states: int | None = None,
    max_states: int = 1 << 27,
    subsequential_label: int = 0,
    increment_subsequential_label: bool = False,
) -> Fst:
    """An equivalent machine in which no state has two arcs with the same input label.

    Of a transducer with several outputs for one input: a DataError that names the input ("functional"), all of them
    ("nonfunctional"), or the best ("disambiguate"; of equally good ones the first that is met). Outputs that are left
    at the end are written behind `subsequential_label`, several at one state behind that and the following labels with
    `increment_subsequential_label`. With `weight` only what is on paths not worse than that times the best, with
    `keep_states` only that many of the best states: such a result is found best first, and ends even where the whole
    one would not. More than `max_states` states are a DataError.

    >>> from textmill.fst.formats import compile_text
    >>> determinize(compile_text("0 1 1 1 1\\n0 2 1 1 2\\n1\\n2")).num_arcs
    1
    """
    check_range("max_states", max_states, at_least=1)
    if keep_states is not None:
        check_range("keep_states", keep_states, at_least=1)
    machine = native.determinize(
        fst._native,
        outputs=det_type,
        delta=delta,
        weight=weight,
        most_states=max_states,
        kept_states=keep_states,
        label=subsequential_label,
        increment=increment_subsequential_label,
    )
    return fst._like(machine)


def disambiguate(
    fst: Fst,
    *,
    delta: float = _DELTA,
    weight: Weight | None = None,
    keep_states: int | None = None,
    max_states: int = 1 << 27,
) -> Fst:
    """An equivalent machine in which no two paths read the same string: the best of them stays (path semirings).

    It can be done for some machines that cannot be determinized. Every arc has to read something. With `weight` and
    `keep_states` the result is pruned.

    >>> from textmill.fst.formats import compile_text
    >>> disambiguate(compile_text("0 1 1 5 1\\n0 2 1 6 2\\n1\\n2")).num_arcs
    1
    """
    check_range("max_states", max_states, at_least=1)
    result = native.disambiguate(fst._native, delta, max_states)
    if weight is not None or keep_states is not None:
        result = native.prune(result, weight, keep_states)
    return fst._like(result)


def minimize(fst: Fst, *, delta: float = _DELTA, allow_nondet: bool = False) -> Fst:
    """The equivalent machine with the fewest states, of a deterministic one; others only get smaller (`allow_nondet`).

    >>> from textmill.fst.formats import compile_text
    >>> minimize(compile_text("0 1 1 1\\n0 2 2 2\\n1 3 3 3\\n2 4 3 3\\n3\\n4")).num_states
    3
    """
    return fst._like(native.minimize(fst._native, delta, allow_nondet))


def minimize_strings(fst: Fst, *, delta: float = _DELTA, allow_nondet: bool = False) -> tuple[Fst, Fst]:
    """A minimal machine that writes numbers of strings, and the machine that reads a number and writes its string.

    The smallest form of a transducer: `minimize` has to spell strings out, one label an arc, which takes states. The
    two composed are equivalent to the machine.

    >>> from textmill.fst.composition import compose
    >>> from textmill.fst.strings import string_map, strings
    >>> words = string_map([("a", "one"), ("b", "two")])
    >>> numbers, outputs = minimize_strings(words)
    >>> minimize(words).num_states, numbers.num_states
    (6, 4)
    >>> sorted((x, y) for x, y, _ in strings(compose(numbers, outputs)))
    [('a', 'one'), ('b', 'two')]
    """
    numbers, outputs = native.minimize_strings(fst._native, delta, allow_nondet)
    return Fst._of(numbers, fst.input_symbols, None), Fst._of(outputs, None, fst.output_symbols)


def optimize(fst: Fst) -> Fst:
    """Remove epsilons, then determinize and minimize with labels and weights encoded: always possible, often enough.

    >>> from textmill.fst.rational import union
    >>> from textmill.fst.strings import accep
    >>> optimize(union(accep("ab"), accep("cb"))).num_states
    3
    """
    plain = rmepsilon(fst)
    weighted = plain.has("weighted") and plain.has("cyclic")
    if plain.has("acceptor") and not weighted:
        return minimize(determinize(plain))
    coded, encoder = encode(plain, labels=True, weights=weighted)
    return decode(minimize(determinize(coded)), encoder)
