"""Operations whose results are lazy machines; they take machines of both kinds.

    union, concat, closure          epsilons between the parts; a new start for union and star
    invert, project, relabel, arcsort, arcmap, convert, encode, decode, to_gallic, map_arcs       one state at a time
    rmepsilon                       epsilons followed from the states that are asked for
    determinize                     the subsets that are asked for; there may be no end of them
    synchronize, factor_weight      what is still to be written, or paid, is part of the state
    replace                         calls are part of the state, so a machine may call itself

`cache` is the size in bytes beyond which the result lets go of states; None is no limit. What the eager operations
find out beforehand, that there is no end of states, shows here only when more and more are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.fst.encoding import Encoder
from textmill.fst.lazy.machine import CACHE, LazyFst, _checked_cache, as_lazy, define
from textmill.fst.machine import Arc, Fst, agreed
from textmill.fst.semirings import Semiring, Weight, gallic, semiring
from textmill.fst.transform import MAPS

__all__ = [
    "arcmap",
    "arcsort",
    "closure",
    "concat",
    "convert",
    "decode",
    "determinize",
    "encode",
    "factor_weight",
    "invert",
    "map_arcs",
    "project",
    "relabel",
    "replace",
    "rmepsilon",
    "synchronize",
    "to_gallic",
    "union",
]

Machine = Fst | LazyFst
_ARC_MAPS = ("superfinal", "input_epsilon", "output_epsilon", "arc_sum", "arc_unique")


def union(*machines: Machine, cache: int | None = CACHE) -> LazyFst:
    """All strings of all machines.

    >>> from textmill.fst.strings import accep, strings
    >>> sorted(text for text, _, _ in strings(union(accep("a"), accep("b")).expand()))
    ['a', 'b']
    """
    return _side_by_side(native.lazy_unite, machines, cache)


def concat(*machines: Machine, cache: int | None = CACHE) -> LazyFst:
    """A string of the first followed by one of the second, and so on.

    >>> from textmill.fst.strings import accep, strings
    >>> [text for text, _, _ in strings(concat(accep("a"), accep("b")).expand())]
    ['ab']
    """
    return _side_by_side(native.lazy_concatenate, machines, cache)


def _side_by_side(operation: Any, machines: tuple[Machine, ...], cache: int | None) -> LazyFst:
    parts = [as_lazy(machine) for machine in machines]
    if not parts:
        raise DataError("there is no machine to begin with")
    ins, outs = parts[0].input_symbols, parts[0].output_symbols
    for part in parts[1:]:
        ins = agreed(ins, part.input_symbols, "input symbols of the machines")
        outs = agreed(outs, part.output_symbols, "output symbols of the machines")
    return LazyFst(operation([part._native for part in parts], _checked_cache(cache)), ins, outs)


def closure(machine: Machine, *, star: bool = True, cache: int | None = CACHE) -> LazyFst:
    """Any number of strings of the machine one after another, at least one without `star`.

    >>> from textmill.fst.strings import accep
    >>> closure(accep("a")).expand().has("cyclic")
    True
    """
    a = as_lazy(machine)
    return a._like(native.lazy_close(a._native, star, _checked_cache(cache)))


def invert(machine: Machine, *, cache: int | None = CACHE) -> LazyFst:
    """Inputs and outputs exchanged.

    >>> from textmill.fst.strings import accep, cross, strings
    >>> [(x, y) for x, y, _ in strings(invert(cross(accep("a"), accep("b"))).expand())]
    [('b', 'a')]
    """
    a = as_lazy(machine)
    return LazyFst(native.lazy_invert(a._native, _checked_cache(cache)), a.output_symbols, a.input_symbols)


def project(machine: Machine, side: str = "input", *, cache: int | None = CACHE) -> LazyFst:
    """The acceptor of the inputs, or with "output" of the outputs.

    >>> from textmill.fst.strings import accep, cross, strings
    >>> [text for text, _, _ in strings(project(cross(accep("a"), accep("b")), "output").expand())]
    ['b']
    """
    if side not in ("input", "output"):
        raise DataError(f"project on the 'input' or the 'output', not {side!r}")
    a = as_lazy(machine)
    symbols = a.output_symbols if side == "output" else a.input_symbols
    return LazyFst(native.lazy_project(a._native, side == "output", _checked_cache(cache)), symbols, symbols)


def relabel(
    machine: Machine,
    *,
    input_pairs: Mapping[int, int] | Iterable[tuple[int, int]] = (),
    output_pairs: Mapping[int, int] | Iterable[tuple[int, int]] = (),
    cache: int | None = CACHE,
) -> LazyFst:
    """Labels replaced by others: pairs (old, new); those that are not named stay.

    >>> from textmill.fst.strings import accep
    >>> machine = relabel(accep("a"), output_pairs={97: 98})
    >>> machine.arcs(machine.start)[0][:2]
    (97, 98)
    """
    a = as_lazy(machine)
    pairs = [
        list(table.items()) if isinstance(table, Mapping) else list(table) for table in (input_pairs, output_pairs)
    ]
    native_machine = native.lazy_relabel(a._native, *pairs, _checked_cache(cache))
    return LazyFst(native_machine, None if pairs[0] else a.input_symbols, None if pairs[1] else a.output_symbols)


def arcsort(machine: Machine, by: str = "ilabel", *, cache: int | None = CACHE) -> LazyFst:
    """The arcs of each state sorted by "ilabel" or "olabel".

    >>> from textmill.fst.formats import compile_text
    >>> [arc.ilabel for arc in arcsort(compile_text("0 1 2 2\\n0 1 1 1\\n1")).arcs(0)]
    [1, 2]
    """
    if by not in ("ilabel", "olabel"):
        raise DataError(f"arcs are sorted by 'ilabel' or 'olabel', not {by!r}")
    a = as_lazy(machine)
    return a._like(native.lazy_sort(a._native, by == "olabel", _checked_cache(cache)))


def arcmap(
    machine: Machine,
    map_type: str,
    *,
    weight: Weight | None = None,
    power: float = 1.0,
    delta: float = 1 / 1024,
    cache: int | None = CACHE,
) -> LazyFst:
    """One of the standard maps of `textmill.fst.arcmap`, but "reverse".

    >>> from textmill.fst.formats import compile_text
    >>> arcmap(compile_text("0 1 1 1 2\\n1 3"), "times", weight=1.0).expand().final(1)
    4.0
    """
    a = as_lazy(machine)
    if map_type == "identity":
        return a
    if map_type not in MAPS:
        raise DataError(f"no map is called {map_type!r}; there are {', '.join(MAPS)}")
    if map_type in _ARC_MAPS:
        return a._like(native.lazy_map_arcs(a._native, map_type, _checked_cache(cache)))
    number = delta if map_type == "quantize" else power
    return a._like(native.lazy_map_weights(a._native, map_type, weight, number, _checked_cache(cache)))


def map_arcs(machine: Machine, function: Callable[[int, Arc], Arc | None], *, cache: int | None = CACHE) -> LazyFst:
    """Every arc replaced by `function(source, arc)`, or dropped where that is None; at the speed of Python.

    >>> from textmill.fst.formats import compile_text
    >>> map_arcs(compile_text("0 1 1 1\\n1"), lambda source, arc: arc._replace(olabel=7)).arcs(0)[0].olabel
    7
    """
    a = as_lazy(machine)
    tables = {"input_symbols": a.input_symbols, "output_symbols": a.output_symbols}
    return define(_Mapped(a, function), a.semiring, cache=cache, **tables)


class _Mapped:
    """A machine whose arcs went through a function."""

    def __init__(self, machine: LazyFst, function: Callable[[int, Arc], Arc | None]) -> None:
        self._machine, self._function = machine, function

    def start(self) -> int | None:
        start = self._machine.start
        return None if start < 0 else start

    def final(self, state: int) -> Weight:
        return self._machine.final(state)

    def arcs(self, state: int) -> list[Arc]:
        mapped = (self._function(state, arc) for arc in self._machine.arcs(state))
        return [arc for arc in mapped if arc is not None]


def convert(machine: Machine, semiring_name: str | Semiring, *, cache: int | None = CACHE) -> LazyFst:
    """The same machine over another semiring of numbers.

    >>> from textmill.fst.formats import compile_text
    >>> machine = convert(compile_text("0 1 1 1 .5\\n1", semiring_name="real"), "log64")
    >>> machine.arcs(machine.start)[0].weight
    0.6931471805599453
    """
    a = as_lazy(machine)
    return a._like(native.lazy_convert(a._native, semiring(semiring_name)._native, _checked_cache(cache)))


def to_gallic(machine: Machine, kind: str = "gallic", *, cache: int | None = CACHE) -> LazyFst:
    """The acceptor of the inputs whose weights hold the outputs.

    >>> from textmill.fst.formats import compile_text
    >>> machine = to_gallic(compile_text("0 1 1 7 .5\\n1"), "gallic_min")
    >>> machine.arcs(machine.start)[0].weight
    ((7,), 0.5)
    """
    a = as_lazy(machine)
    native_machine = native.lazy_to_gallic(a._native, gallic(kind, a.semiring)._native, _checked_cache(cache))
    return LazyFst(native_machine, a.input_symbols, a.input_symbols)


def encode(
    machine: Machine,
    *,
    labels: bool = False,
    weights: bool = False,
    encoder: Encoder | None = None,
    cache: int | None = CACHE,
) -> tuple[LazyFst, Encoder]:
    """Labels, weights or both of each arc as one label; the encoder fills as states are computed.

    >>> from textmill.fst.formats import compile_text
    >>> coded, encoder = encode(compile_text("0 1 5 7 .5\\n1"), labels=True)
    >>> coded.expand().has("acceptor"), encoder.codes()
    (True, [(5, 7, 0.0)])
    """
    a = as_lazy(machine)
    used = Encoder(a.semiring, labels=labels, weights=weights) if encoder is None else encoder
    used.input_symbols = used.input_symbols or a.input_symbols
    used.output_symbols = used.output_symbols or a.output_symbols
    return LazyFst(native.lazy_encode(a._native, used._native, _checked_cache(cache))), used


def decode(machine: Machine, encoder: Encoder, *, cache: int | None = CACHE) -> LazyFst:
    """What `encode` has put together, taken apart again.

    >>> from textmill.fst.formats import compile_text
    >>> coded, encoder = encode(compile_text("0 1 5 7 .5\\n1"), labels=True)
    >>> machine = decode(coded, encoder)
    >>> machine.arcs(machine.start)[0].ilabel
    5
    """
    native_machine = native.lazy_decode(as_lazy(machine)._native, encoder._native, _checked_cache(cache))
    return LazyFst(native_machine, encoder.input_symbols, encoder.output_symbols)


def rmepsilon(machine: Machine, *, cache: int | None = CACHE) -> LazyFst:
    """Without arcs that read and write nothing.

    >>> from textmill.fst.formats import compile_text
    >>> machine = rmepsilon(compile_text("0 1 0 0 2\\n1 2 1 1 1\\n2"))
    >>> machine.arcs(machine.start)[0].weight
    3.0
    """
    a = as_lazy(machine)
    return a._like(native.lazy_remove_epsilons(a._native, _checked_cache(cache)))


def determinize(
    machine: Machine,
    *,
    det_type: str = "functional",
    delta: float = 1 / 1024,
    subsequential_label: int = 0,
    increment_subsequential_label: bool = False,
    acceptor: bool | None = None,
    cache: int | None = CACHE,
) -> LazyFst:
    """No two arcs of a state with the same input label, as `textmill.fst.determinize` but without an end to fear.

    Whether the machine is an `acceptor` is looked up if it is there as a whole; a lazy one is taken for a transducer
    unless it is said to be one.

    >>> from textmill.fst.formats import compile_text
    >>> machine = determinize(compile_text("0 1 1 1 1\\n0 2 1 1 2\\n1 3 2 2\\n2 3 3 3\\n3"))
    >>> [arc.weight for arc in machine.arcs(machine.start)]
    [1.0]
    """
    a = as_lazy(machine)
    is_acceptor = machine.has("acceptor") if acceptor is None and isinstance(machine, Fst) else bool(acceptor)
    native_machine = native.lazy_determinize(
        a._native,
        outputs=det_type,
        delta=delta,
        label=subsequential_label,
        increment=increment_subsequential_label,
        transducer=not is_acceptor,
        limit=_checked_cache(cache),
    )
    return a._like(native_machine)


def synchronize(machine: Machine, *, cache: int | None = CACHE) -> LazyFst:
    """Labels of input and output on the same arcs as early as can be.

    >>> from textmill.fst.formats import compile_text
    >>> machine = synchronize(compile_text("0 1 1 0\\n1 2 2 3\\n2 3 0 4\\n3"))
    >>> machine.expand().num_states
    4
    """
    a = as_lazy(machine)
    return a._like(native.lazy_synchronize(a._native, _checked_cache(cache)))


def factor_weight(
    machine: Machine, *, arcs: bool = True, finals: bool = True, max_labels: int = 1000, cache: int | None = CACHE
) -> LazyFst:
    """Strings in weights spread over arcs, a label each; a DataError if more than `max_labels` wait for arcs.

    >>> from textmill.fst.formats import compile_text
    >>> fst = compile_text("0 1 5 5 7_8,.5\\n1", semiring_name="gallic_left(tropical)")
    >>> [arc.weight for arc in factor_weight(fst).arcs(0)]
    [((7,), 0.5)]
    """
    a = as_lazy(machine)
    native_machine = native.lazy_factor_weights(a._native, arcs, finals, max_labels, _checked_cache(cache))
    return a._like(native_machine)


def replace(
    machines: Mapping[int, Machine],
    root: int,
    *,
    call_arc_labeling: str = "input",
    return_arc_labeling: str = "neither",
    return_label: int = 0,
    cache: int | None = CACHE,
) -> LazyFst:
    """The machine of the label `root`, with arcs that write a label of `machines` replaced by that machine.

    Machines may call themselves: there is no end of states then, and what is looked at is computed.

    >>> from textmill.fst.formats import compile_text
    >>> nested = compile_text("0 1 1 1\\n1 2 9 9\\n2 3 2 2\\n0 3 3 3\\n3")
    >>> machine = replace({9: nested}, 9, call_arc_labeling="neither")
    >>> from itertools import islice
    >>> len(list(islice(machine.walk(), 100)))
    100
    """
    if root not in machines:
        raise DataError(f"the root label {root} has no machine")
    parts = {label: as_lazy(machine) for label, machine in machines.items()}
    ordered = sorted(parts.items(), key=lambda item: item[0] != root)
    native_machine = native.lazy_replace(
        [(label, part._native) for label, part in ordered],
        root=root,
        call=call_arc_labeling,
        back=return_arc_labeling,
        return_label=return_label,
        limit=_checked_cache(cache),
    )
    return parts[root]._like(native_machine)
