"""Lazy machines: `from textmill.fst import lazy`.

machine.py       what a lazy machine is, how to define one in Python, best paths
operations.py    all operations but composition, with lazy results
composition.py   composition with matchers, filters and look-ahead
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.fst.lazy.composition import (
        LOOK_AHEADS,
        PUSHES,
        Matcher,
        complement,
        compose,
        difference,
        intersect,
    )
    from textmill.fst.lazy.machine import (
        CACHE,
        CacheStatistics,
        LazyDefinition,
        LazyFst,
        as_lazy,
        define,
        shortest_path,
    )
    from textmill.fst.lazy.operations import (
        arcmap,
        arcsort,
        closure,
        concat,
        convert,
        decode,
        determinize,
        encode,
        factor_weight,
        invert,
        map_arcs,
        project,
        relabel,
        replace,
        rmepsilon,
        synchronize,
        to_gallic,
        union,
    )

__all__ = [
    "CACHE",
    "LOOK_AHEADS",
    "PUSHES",
    "CacheStatistics",
    "LazyDefinition",
    "LazyFst",
    "Matcher",
    "arcmap",
    "arcsort",
    "as_lazy",
    "closure",
    "complement",
    "compose",
    "concat",
    "convert",
    "decode",
    "define",
    "determinize",
    "difference",
    "encode",
    "factor_weight",
    "intersect",
    "invert",
    "map_arcs",
    "project",
    "relabel",
    "replace",
    "rmepsilon",
    "shortest_path",
    "synchronize",
    "to_gallic",
    "union",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "composition": "LOOK_AHEADS PUSHES Matcher complement compose difference intersect",
        "machine": "CACHE CacheStatistics LazyDefinition LazyFst as_lazy define shortest_path",
        "operations": (
            "arcmap arcsort closure concat convert decode determinize encode factor_weight "
            "invert map_arcs project relabel replace rmepsilon synchronize to_gallic union"
        ),
    },
)
