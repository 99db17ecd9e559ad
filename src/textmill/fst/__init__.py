"""Weighted finite-state transducers: machines, semirings, operations, files.

semirings      how weights are added and multiplied
machine        Fst: states, arcs, properties
symbols        names of labels
strings        strings as machines, machines as strings, one machine applied to many strings
formats        OpenFst text and binary files; archives: many machines in one file
rational       union, concatenation, closure, reversal, projection, sorting, trimming
composition    composition, intersection, difference, complement
paths          distances, best paths, pruning, pushing
optimization   epsilon removal, determinisation, minimisation, encoding
"""

from textmill.fst.archives import Archive, write_archive
from textmill.fst.composition import FILTERS, complement, compose, difference, intersect, sigma_star
from textmill.fst.formats import (
    compile_text,
    from_bytes,
    print_text,
    read_fst,
    read_text,
    to_bytes,
    write_fst,
    write_text,
)
from textmill.fst.machine import EPSILON, NO_STATE, PROPERTIES, Arc, Fst
from textmill.fst.optimization import Encoder, decode, determinize, encode, minimize, optimize, rmepsilon
from textmill.fst.paths import prune, push, reweight, shortest_distance, shortest_path, total_weight
from textmill.fst.rational import (
    arcsort,
    closure,
    concat,
    connect,
    invert,
    project,
    relabel,
    relabel_symbols,
    repeat,
    reverse,
    statesort,
    topsort,
    union,
)
from textmill.fst.semirings import Semiring, SemiringDefinition, Weight, custom, semiring
from textmill.fst.strings import accep, apply, cross, labels_of, string_map, strings, text_of
from textmill.fst.symbols import SymbolTable

__all__ = [
    "EPSILON",
    "FILTERS",
    "NO_STATE",
    "PROPERTIES",
    "Arc",
    "Archive",
    "Encoder",
    "Fst",
    "Semiring",
    "SemiringDefinition",
    "SymbolTable",
    "Weight",
    "accep",
    "apply",
    "arcsort",
    "closure",
    "compile_text",
    "complement",
    "compose",
    "concat",
    "connect",
    "cross",
    "custom",
    "decode",
    "determinize",
    "difference",
    "encode",
    "from_bytes",
    "intersect",
    "invert",
    "labels_of",
    "minimize",
    "optimize",
    "print_text",
    "project",
    "prune",
    "push",
    "read_fst",
    "read_text",
    "relabel",
    "relabel_symbols",
    "repeat",
    "reverse",
    "reweight",
    "rmepsilon",
    "semiring",
    "shortest_distance",
    "shortest_path",
    "sigma_star",
    "statesort",
    "string_map",
    "strings",
    "text_of",
    "to_bytes",
    "topsort",
    "total_weight",
    "union",
    "write_archive",
    "write_fst",
    "write_text",
]
