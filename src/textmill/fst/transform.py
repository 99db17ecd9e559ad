"""Transformations of machines: replacement, synchronization, normal forms of epsilons, maps of weights and arcs.

    replace        arcs that write the label of another machine become that machine (a grammar written out)
    synchronize    input and output labels side by side as early as can be
    epsnormalize   on each path, arcs that read nothing after those that read something
    map            weights inverted, added to, multiplied, raised to a power, rounded, removed; final states joined; ...
    convert        the same machine over another semiring
    to_gallic      outputs as part of the weights, and back: strings are spelled out, one label an arc
    factor_weight  strings in weights cut into single labels, one per arc
    factor_chains  arcs in a row joined into one, and the machine of their strings

All are O(result). A grammar that calls itself, and input and output that drift apart without limit, are a DataError.
Reference: Mohri (2002; 2003).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.fst.machine import Arc, Fst
from textmill.fst.semirings import Semiring, Weight, gallic, semiring
from textmill.model import check_range

__all__ = [
    "MAPS",
    "arcmap",
    "convert",
    "epsnormalize",
    "factor_chains",
    "factor_weight",
    "from_gallic",
    "map_arcs",
    "map_weights",
    "replace",
    "synchronize",
    "to_gallic",
]

_WEIGHTS = ("invert", "plus", "times", "power", "quantize", "rmweight", "reverse")
_ARCS = ("superfinal", "input_epsilon", "output_epsilon", "arc_sum", "arc_unique")
MAPS = ("identity", *_WEIGHTS, *_ARCS)


def arcmap(
    fst: Fst, map_type: str, *, weight: Weight | None = None, power: float = 1.0, delta: float = 1 / 1024
) -> Fst:
    """One of the standard maps, `MAPS`; plus and times use `weight`, power `power`, quantize `delta`.

    Of weights: their inverses, sums, products, powers (of numbers any, of others whole ones), roundings, one for all,
    or in the "reverse" semiring. Of arcs: "superfinal" leaves one final state, "input_epsilon" and "output_epsilon"
    take labels away, "arc_sum" adds up arcs with the same labels and next state, "arc_unique" drops the equal ones.

    >>> from textmill.fst.formats import compile_text
    >>> arcmap(compile_text("0 1 1 1 2\\n1 3"), "times", weight=1.0).final(1)
    4.0
    """
    if map_type == "identity":
        return fst.copy()
    if map_type in _WEIGHTS:
        number = delta if map_type == "quantize" else power
        return fst._like(native.map_weights(fst._native, map_type, weight, number))
    if map_type in _ARCS:
        return fst._like(native.map_arcs(fst._native, map_type))
    raise DataError(f"no map is called {map_type!r}; there are {', '.join(MAPS)}")


def map_arcs(fst: Fst, function: Callable[[int, Arc], Arc | None]) -> Fst:
    """Every arc replaced by `function(source, arc)`, or dropped where that is None; at the speed of Python.

    >>> from textmill.fst.formats import compile_text
    >>> map_arcs(compile_text("0 1 1 1\\n1"), lambda source, arc: arc._replace(olabel=7)).arcs(0)[0].olabel
    7
    """
    machine = Fst(fst.semiring, input_symbols=fst.input_symbols, output_symbols=fst.output_symbols)
    machine.add_states(fst.num_states)
    machine.start = fst.start
    for state in range(fst.num_states):
        machine.set_final(state, fst.final(state))
        for arc in fst.arcs(state):
            mapped = function(state, arc)
            if mapped is not None:
                machine.add_arc(state, *mapped)
    return machine


def map_weights(fst: Fst, semiring_name: str | Semiring, function: Callable[[Weight], Weight]) -> Fst:
    """The same machine with weights `function(weight)` of another semiring; zero stays zero. At the speed of Python.

    >>> from textmill.fst.formats import compile_text
    >>> map_weights(compile_text("0 1 1 1 2\\n1"), "product(tropical,real)", lambda w: (w, 1.0)).arcs(0)[0].weight
    (2.0, 1.0)
    """
    algebra, zero = semiring(semiring_name), fst.semiring.zero
    mapped = Fst(algebra, input_symbols=fst.input_symbols, output_symbols=fst.output_symbols)
    mapped.add_states(fst.num_states)
    mapped.start = fst.start
    for state in range(fst.num_states):
        final = fst.final(state)
        if final != zero:
            mapped.set_final(state, function(final))
        for arc in fst.arcs(state):
            mapped.add_arc(state, arc.ilabel, arc.olabel, function(arc.weight), arc.nextstate)
    return mapped


def convert(fst: Fst, semiring_name: str | Semiring) -> Fst:
    """The same machine over another semiring of numbers: costs stay costs, masses and -ln of masses become one another.

    >>> from textmill.fst.formats import compile_text
    >>> convert(compile_text("0 1 1 1 .5\\n1", semiring_name="real"), "log64").arcs(0)[0].weight
    0.6931471805599453
    """
    return fst._like(native.convert(fst._native, semiring(semiring_name)._native))


def to_gallic(fst: Fst, kind: str = "gallic") -> Fst:
    """The acceptor of the inputs whose weights hold the outputs: a weight w with output o becomes (o, w).

    `kind` says what plus does with different outputs: "gallic" keeps them all, "gallic_left" and "gallic_right" their
    common beginning or end, "gallic_min" the one with the better weight, "gallic_restricted" refuses.

    >>> from textmill.fst.formats import compile_text
    >>> to_gallic(compile_text("0 1 1 7 .5\\n1"), "gallic_min").arcs(0)[0]
    Arc(ilabel=1, olabel=1, weight=((7,), 0.5), nextstate=1)
    """
    machine = native.to_gallic(fst._native, gallic(kind, fst.semiring)._native)
    return Fst._of(machine, fst.input_symbols, fst.input_symbols)


def from_gallic(fst: Fst) -> Fst:
    """The transducer that writes the strings in gallic weights, one label an arc.

    What does not fit on an arc is written by those that follow, what is left at the end by arcs that read nothing.

    >>> from textmill.fst.formats import compile_text
    >>> fst = compile_text("0 1 5 5 7_8,.5\\n1", semiring_name="gallic_left(tropical)")
    >>> [tuple(arc) for _, arc in from_gallic(fst).iter_arcs()]
    [(5, 7, 0.5, 1), (0, 8, 0.0, 2)]
    """
    return Fst._of(native.from_gallic(fst._native), fst.input_symbols, None)


def factor_chains(fst: Fst) -> tuple[Fst, Fst]:
    """Two machines whose composition is this one, of which the second has no chains: (chains, factored).

    Arcs in a row, with nothing branching off and no state final between them, become one arc. Its input label 1, 2, ...
    stands for the string that they read; `chains` reads such strings and writes their labels. An arc has one output
    label, so a chain ends before the second. Recognizers search `factored`, and run a chain as one unit.

    >>> from textmill.fst.strings import string_map
    >>> machine = string_map([("abc", "x"), ("abd", "y"), ("e", "z")])
    >>> chains, factored = factor_chains(machine)
    >>> machine.num_states, factored.num_states
    (8, 4)
    """
    chains, factored = native.factor_chains(fst._native)
    return Fst._of(chains, fst.input_symbols, None), Fst._of(factored, None, fst.output_symbols)


def factor_weight(fst: Fst, *, arcs: bool = True, finals: bool = True, max_states: int = 1 << 24) -> Fst:
    """Strings in weights spread over arcs, a label each; `arcs` and `finals` say which weights are factored.

    The labels behind the first wait for the arcs that follow, those left at the end go on arcs that read nothing. For
    weights of strings and gallic ones; numbers cannot be cut, and their machines stay as they are.

    >>> from textmill.fst.formats import compile_text
    >>> fst = compile_text("0 1 5 5 7_8,.5\\n1", semiring_name="gallic_left(tropical)")
    >>> [arc.weight for _, arc in factor_weight(fst).iter_arcs()]
    [((7,), 0.5)]
    >>> factor_weight(fst).final(1)
    ((8,), 0.0)
    """
    check_range("max_states", max_states, at_least=1)
    return fst._like(native.factor_weights(fst._native, arcs=arcs, finals=finals, most_states=max_states))


def replace(
    machines: Mapping[int, Fst],
    root: int,
    *,
    call_arc_labeling: str = "input",
    return_arc_labeling: str = "neither",
    return_label: int = 0,
    max_states: int = 1 << 27,
) -> Fst:
    """The machine of the label `root`, with every arc that writes a label of `machines` replaced by that machine.

    The labelings say which labels of such an arc stay ("neither", "input", "output", "both"), and where arcs that
    return have `return_label`.

    >>> from textmill.fst.formats import compile_text
    >>> one = compile_text("0 1 1 1\\n1")
    >>> rule = compile_text("0 1 9 9\\n1")
    >>> replace({5: rule, 9: one}, 5, call_arc_labeling="neither").num_states
    4
    """
    check_range("max_states", max_states, at_least=1)
    pairs = [(label, fst._native) for label, fst in machines.items()]
    if root not in machines:
        raise DataError(f"the root label {root} has no machine")
    machine = native.replace(
        sorted(pairs, key=lambda pair: pair[0] != root),
        root=root,
        call=call_arc_labeling,
        back=return_arc_labeling,
        return_label=return_label,
        most_states=max_states,
    )
    return machines[root]._like(machine)


def synchronize(fst: Fst) -> Fst:
    """Labels of input and output on the same arcs as early as can be, epsilons at the end of paths.

    >>> from textmill.fst.formats import compile_text
    >>> from textmill.fst.optimization import rmepsilon
    >>> rmepsilon(synchronize(compile_text("0 1 1 0\\n1 2 2 3\\n2 3 0 4\\n3"))).arcs(0)[0][:2]
    (1, 3)
    """
    return fst._like(native.synchronize(fst._native))


def epsnormalize(fst: Fst, side: str = "input") -> Fst:
    """An equivalent machine where, on each path, arcs that read (or "output": write) nothing follow all that do.

    >>> from textmill.fst.formats import compile_text
    >>> epsnormalize(compile_text("0 1 0 5\\n1 2 1 0\\n2")).arcs(0)[0][:2]
    (1, 5)
    """
    if side not in ("input", "output"):
        raise DataError(f"epsilons are normalized on the 'input' or the 'output', not {side!r}")
    return fst._like(native.normalize_epsilons(fst._native, side == "output"))
