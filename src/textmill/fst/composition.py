"""Composition, intersection, difference and complement.

    compose       (a o b)(x, z) = plus over y of a(x, y) times b(y, z)
    intersect     (a & b)(x)    = a(x) times b(x)                           acceptors
    difference    (a - b)(x)    = a(x) where b does not accept x           b deterministic, without weights and epsilons
    priority      (a .P. b)(x, y) = a(x, y), or b(x, y) where a has nothing for x
    lenient       a .O. b       = (a o b) .P. a                            b a constraint that may be broken

Filters keep paths with epsilons from being counted several times: `sequence` (`auto`), `alt_sequence` and `match` are
right in every semiring; `no_match` and `trivial` count such paths several times, which only idempotent semirings
forgive, and `null` lets no epsilon of one machine alone through. Special labels of one machine: sigma matches any
label, rho any that nothing else matches, phi is followed without reading when nothing matches (exact back-off).
Sorting is done when it is needed: at most one of the machines is sorted, and which one is searched is decided state
by state. Cost O(states of a x states of b x arcs x log arcs) at worst. Reference: Mohri (2009);
Karttunen (1998), The proper treatment of optimality in computational phonology (priority union and lenient
composition).
"""

from __future__ import annotations

from collections.abc import Iterable

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.fst.machine import Fst, agreed
from textmill.fst.optimization import determinize, minimize, rmepsilon
from textmill.fst.rational import project, union
from textmill.fst.semirings import semiring
from textmill.fst.transform import map_weights

__all__ = [
    "FILTERS",
    "complement",
    "compose",
    "difference",
    "intersect",
    "lenient_compose",
    "priority_union",
    "sigma_star",
]

FILTERS = ("auto", "sequence", "alt_sequence", "match", "no_match", "trivial", "null")


def compose(
    a: Fst,
    b: Fst,
    *,
    compose_filter: str = "auto",
    connect: bool = True,
    sigma: int | None = None,
    rho: int | None = None,
    phi: int | None = None,
    special: str = "right",
    rewrite: str = "always",
    phi_finals: bool = True,
    phi_loop: bool = False,
    matcher: str = "auto",
) -> Fst:
    """The outputs of `a` as inputs of `b`.

    `sigma`, `rho`, `phi` are labels with that meaning on the inputs of `b`, or on the outputs of `a` with
    `special="left"`. Where the other label of their arc is the same symbol, it becomes the label that was matched:
    "always", "never", or "auto", only if that machine is an acceptor (`rewrite`). With `phi_finals` a state that is
    not final is final through its phi arc; with `phi_loop` a phi arc to its own state takes the label as rho does.

    `matcher` says how arcs with a label are found: "auto" sorts a machine if neither is sorted, "sorted" refuses then,
    "hash" keeps a hash table of the arcs of `b` instead, which is worth it where few of its states are reached.

    >>> from textmill.fst.strings import string_map, strings
    >>> a, b = string_map([("eins", "one")]), string_map([("one", "un")])
    >>> [(x, y) for x, y, _ in strings(compose(a, b))]
    [('eins', 'un')]
    """
    if special not in ("left", "right"):
        raise DataError(f"special labels stand in the 'left' or the 'right' machine, not {special!r}")
    agreed(a.output_symbols, b.input_symbols, "output symbols of the first and the input symbols of the second machine")
    labels = _special_labels(sigma, rho, phi)
    none = (-1, -1, -1)
    machine = native.compose(
        a._native,
        b._native,
        filter=compose_filter,
        connect=connect,
        left=labels if special == "left" else none,
        right=labels if special == "right" else none,
        phi_finals=phi_finals,
        phi_loop=phi_loop,
        rewrite=rewrite,
        matcher=matcher,
    )
    return Fst._of(machine, a.input_symbols, b.output_symbols)


def _special_labels(sigma: int | None, rho: int | None, phi: int | None) -> tuple[int, int, int]:
    """The labels as the native core takes them: -1 where there is none."""
    for label in (sigma, rho, phi):
        if label is not None and not 0 < label < 2**31:
            raise DataError("sigma, rho and phi must be labels above 0")
    return -1 if sigma is None else sigma, -1 if rho is None else rho, -1 if phi is None else phi


def intersect(a: Fst, b: Fst, *, compose_filter: str = "auto", connect: bool = True) -> Fst:
    """The strings that both acceptors have, with both weights.

    >>> from textmill.fst.strings import accep, strings
    >>> [text for text, _, weight in strings(intersect(accep("a", 1.0), accep("a", 2.0)))]
    ['a']
    """
    for fst in (a, b):
        if not fst.has("acceptor"):
            raise DataError("only acceptors can be intersected; compose transducers, or project them first")
    return compose(a, b, compose_filter=compose_filter, connect=connect)


def difference(a: Fst, b: Fst, *, compose_filter: str = "auto", connect: bool = True) -> Fst:
    """The strings of the acceptor `a` that `b` does not have.

    >>> from textmill.fst.strings import accep, strings
    >>> from textmill.fst.rational import union
    >>> [text for text, _, _ in strings(difference(union(accep("a"), accep("b")), accep("a")))]
    ['b']
    """
    if not a.has("acceptor"):
        raise DataError("only from an acceptor strings can be taken away; project the transducer first")
    agreed(a.output_symbols, b.input_symbols, "symbols of the two machines")
    machine = native.difference(a._native, b._native, filter=compose_filter, connect=connect)
    return Fst._of(machine, a.input_symbols, a.output_symbols)


def sigma_star(labels: Iterable[int], semiring_name: str = "tropical") -> Fst:
    """The acceptor of all strings over some labels.

    >>> sigma_star([1, 2]).num_arcs
    2
    """
    fst = Fst(semiring(semiring_name))
    fst.start = fst.add_state()
    fst.set_final(0)
    for label in sorted(set(labels)):
        fst.add_arc(0, label, label, None, 0)
    return fst


def complement(fst: Fst, labels: Iterable[int]) -> Fst:
    """All strings over some labels that an acceptor does not have.

    >>> from textmill.fst.strings import accep
    >>> complement(accep("a"), [97]).is_final(0)
    True
    """
    result = difference(sigma_star(labels, fst.semiring.name), fst)
    result.input_symbols = result.output_symbols = fst.input_symbols
    return result


def priority_union(first: Fst, second: Fst) -> Fst:
    """The first machine, and the second for the inputs that the first has no output for.

    >>> from textmill.fst.strings import string_map, strings
    >>> special, regular = string_map([("go", "went")]), string_map([("go", "goed"), ("ask", "asked")])
    >>> sorted((x, y) for x, y, _ in strings(priority_union(special, regular)))
    [('ask', 'asked'), ('go', 'went')]
    """
    agreed(first.input_symbols, second.input_symbols, "input symbols of the two machines")
    backwards = native.difference(native.invert(second._native), _inputs(first)._native, filter="auto", connect=True)
    others = Fst._of(native.invert(backwards), second.input_symbols, second.output_symbols)
    return union(first, others)


def lenient_compose(first: Fst, second: Fst) -> Fst:
    """Composition where it has a result; the inputs that it would leave without any keep the outputs of the first.

    >>> from textmill.fst.strings import accep, string_map, strings
    >>> words = string_map([("a", "x"), ("a", "y"), ("b", "y")])
    >>> sorted((x, y) for x, y, _ in strings(lenient_compose(words, accep("x"))))
    [('a', 'x'), ('b', 'y')]
    """
    unchecked = Fst._of(first._native, first.input_symbols, second.output_symbols)
    return priority_union(compose(first, second), unchecked)


def _inputs(fst: Fst) -> Fst:
    """The deterministic acceptor of the inputs, without weights."""
    algebra = fst.semiring
    zero = algebra.zero
    plain = map_weights(project(fst), "boolean", lambda weight: weight != zero)
    return map_weights(minimize(determinize(rmepsilon(plain))), algebra, lambda weight: algebra.one)
