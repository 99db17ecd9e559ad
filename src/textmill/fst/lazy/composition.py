"""Lazy composition: matchers, filters and look-ahead as parts that can be chosen.

    compose       (a o b)(x, z) = plus over y of a(x, y) times b(y, z)
    intersect     strings of both acceptors       difference    strings of the first that the second has not
    complement    all strings over some labels that an acceptor has not

**Matchers** (`Matcher`, one for each machine) say what the labels in the middle mean: sigma matches any, rho any that
nothing else matches, phi is followed without reading when nothing matches; `epsilons` are further labels that read
nothing; an `explicit` machine never stays where it is while the other moves by an epsilon. Arcs are found by bisection
("sorted"), in a hash table ("hash"), or as it suits ("auto").

**Filters** keep paths with epsilons from being counted several times: "sequence", "alt_sequence" and "match" are right
in every semiring, "no_match", "trivial" and "null" are not (see `textmill.fst.compose`).

**Look-ahead** makes a state only if something can still be matched from it: "arc" looks at the arcs of both states;
"output" knows for each state of the first machine which labels can be written next, through any number of epsilons,
as intervals of labels that are renumbered for that; "input" knows the same of what the second machine reads. With
`push` the weights that lie ahead are paid at once, and a label is written as soon as it is the only one that is left.
Paths and their weights stay the same. Where a lexicon writes its words late, composition with a grammar would else go
through the whole lexicon from every state of the grammar.
Reference: Allauzen, Riley & Schalkwyk (2009), A generalized composition algorithm for weighted transducers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.fst.composition import FILTERS, _special_labels, sigma_star
from textmill.fst.lazy.machine import CACHE, LazyFst, _checked_cache, as_lazy
from textmill.fst.machine import Fst, agreed

__all__ = ["LOOK_AHEADS", "PUSHES", "Matcher", "complement", "compose", "difference", "intersect"]

LOOK_AHEADS = ("none", "arc", "output", "input")
PUSHES = ("none", "weights", "labels", "both")


@dataclass(frozen=True)
class Matcher:
    """What the labels of a machine mean where another is composed with it, and how its arcs are found.

    >>> Matcher(phi=7)
    Matcher(kind='auto', sigma=None, rho=None, phi=7, epsilons=(), explicit=False)
    """

    kind: str = "auto"  # or "sorted", "hash"
    sigma: int | None = None
    rho: int | None = None
    phi: int | None = None
    epsilons: tuple[int, ...] = ()
    explicit: bool = False


def compose(
    a: Fst | LazyFst,
    b: Fst | LazyFst,
    *,
    compose_filter: str = "auto",
    left: Matcher = Matcher(),
    right: Matcher = Matcher(),
    look_ahead: str = "none",
    push: str = "none",
    rewrite: str = "always",
    phi_finals: bool = True,
    phi_loop: bool = False,
    cache: int | None = CACHE,
) -> LazyFst:
    """The outputs of `a` as inputs of `b`; `left` says how the outputs of `a` are matched, `right` the inputs of `b`.

    `rewrite`, `phi_finals` and `phi_loop` are those of `textmill.fst.compose`. States that lead nowhere are not taken
    out: nobody has seen the whole machine.

    >>> from textmill.fst.strings import string_map, strings
    >>> a, b = string_map([("eins", "one")]), string_map([("one", "un")])
    >>> [(x, y) for x, y, _ in strings(compose(a, b, look_ahead="output", push="both").expand())]
    [('eins', 'un')]
    """
    if compose_filter not in FILTERS:
        raise DataError(f"no filter is called {compose_filter!r}; there are {', '.join(FILTERS)}")
    if push not in PUSHES:
        raise DataError(f"push is one of {', '.join(PUSHES)}, not {push!r}")
    if left.kind == "hash":
        raise DataError("the hash table is one of the second machine's arcs; give it to `right`")
    x, y = as_lazy(a), as_lazy(b)
    agreed(x.output_symbols, y.input_symbols, "output symbols of the first and the input symbols of the second machine")
    native_machine = native.lazy_compose(
        x._native,
        y._native,
        filter=compose_filter,
        left=_special_labels(left.sigma, left.rho, left.phi),
        right=_special_labels(right.sigma, right.rho, right.phi),
        phi_finals=phi_finals,
        phi_loop=phi_loop,
        rewrite=rewrite,
        matcher=right.kind if right.kind != "auto" else left.kind,
        look_ahead=look_ahead,
        push_weights=push in ("weights", "both"),
        push_labels=push in ("labels", "both"),
        left_stays=not left.explicit,
        right_stays=not right.explicit,
        left_epsilons=list(left.epsilons),
        right_epsilons=list(right.epsilons),
        limit=_checked_cache(cache),
    )
    return LazyFst(native_machine, x.input_symbols, y.output_symbols)


def intersect(
    a: Fst | LazyFst, b: Fst | LazyFst, *, compose_filter: str = "auto", cache: int | None = CACHE
) -> LazyFst:
    """The strings that both acceptors have, with both weights.

    >>> from textmill.fst.strings import accep, strings
    >>> [text for text, _, _ in strings(intersect(accep("a"), accep("a")).expand())]
    ['a']
    """
    for machine in (a, b):
        if isinstance(machine, Fst) and not machine.has("acceptor"):
            raise DataError("only acceptors can be intersected; compose transducers, or project them first")
    return compose(a, b, compose_filter=compose_filter, cache=cache)


def difference(
    a: Fst | LazyFst, b: Fst | LazyFst, *, compose_filter: str = "auto", cache: int | None = CACHE
) -> LazyFst:
    """The strings of the acceptor `a` that `b` does not have: `b` deterministic, without weights and epsilons.

    >>> from textmill.fst.strings import accep, strings
    >>> from textmill.fst.lazy import union
    >>> [text for text, _, _ in strings(difference(union(accep("a"), accep("b")), accep("a")).expand())]
    ['b']
    """
    if isinstance(a, Fst) and not a.has("acceptor"):
        raise DataError("only from an acceptor strings can be taken away; project the transducer first")
    x, y = as_lazy(a), as_lazy(b)
    agreed(x.output_symbols, y.input_symbols, "symbols of the two machines")
    native_machine = native.lazy_difference(x._native, y._native, filter=compose_filter, limit=_checked_cache(cache))
    return LazyFst(native_machine, x.input_symbols, x.output_symbols)


def complement(machine: Fst | LazyFst, labels: Iterable[int], *, cache: int | None = CACHE) -> LazyFst:
    """All strings over some labels that an acceptor does not have.

    >>> from textmill.fst.strings import accep
    >>> machine = complement(accep("a"), [97])
    >>> machine.final(machine.start)
    0.0
    """
    a = as_lazy(machine)
    rest = difference(sigma_star(labels, a.semiring.name), a, cache=cache)
    rest.input_symbols = rest.output_symbols = a.input_symbols
    return rest
