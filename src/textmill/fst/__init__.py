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
transform      replacement, synchronisation, epsilons to the end, maps of weights and arcs, other semirings
compare        equality, equivalence, random paths, what a machine is
draw           DOT and SVG
align          alignments of string pairs, learnt by EM; links, linktraining, alignment, stringpairs: its parts
"""

from textmill.fst.align import EncodedAlignments, LinkPosterior, StringAligner
from textmill.fst.alignment import Alignment, Link, parse_alignment
from textmill.fst.archives import Archive, write_archive
from textmill.fst.compare import equal, equivalent, info, isomorphic, rand_equivalent, randgen, sample, verify
from textmill.fst.composition import FILTERS, complement, compose, difference, intersect, sigma_star
from textmill.fst.draw import to_dot, to_svg
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
from textmill.fst.optimization import Encoder, decode, determinize, disambiguate, encode, minimize, optimize, rmepsilon
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
from textmill.fst.stringpairs import PairRecord, bag_counts, bag_weights, read_pairs
from textmill.fst.strings import accep, apply, cross, labels_of, string_map, strings, text_of
from textmill.fst.symbols import SymbolTable
from textmill.fst.transform import MAPS, arcmap, convert, epsnormalize, map_arcs, map_weights, replace, synchronize

__all__ = [
    "EPSILON",
    "FILTERS",
    "MAPS",
    "NO_STATE",
    "PROPERTIES",
    "Alignment",
    "Arc",
    "Archive",
    "EncodedAlignments",
    "Encoder",
    "Fst",
    "Link",
    "LinkPosterior",
    "PairRecord",
    "Semiring",
    "SemiringDefinition",
    "StringAligner",
    "SymbolTable",
    "Weight",
    "accep",
    "apply",
    "arcmap",
    "arcsort",
    "bag_counts",
    "bag_weights",
    "closure",
    "compile_text",
    "complement",
    "compose",
    "concat",
    "connect",
    "convert",
    "cross",
    "custom",
    "decode",
    "determinize",
    "difference",
    "disambiguate",
    "encode",
    "epsnormalize",
    "equal",
    "equivalent",
    "from_bytes",
    "info",
    "intersect",
    "invert",
    "isomorphic",
    "labels_of",
    "map_arcs",
    "map_weights",
    "minimize",
    "optimize",
    "parse_alignment",
    "print_text",
    "project",
    "prune",
    "push",
    "rand_equivalent",
    "randgen",
    "read_fst",
    "read_pairs",
    "read_text",
    "relabel",
    "relabel_symbols",
    "repeat",
    "replace",
    "reverse",
    "reweight",
    "rmepsilon",
    "sample",
    "semiring",
    "shortest_distance",
    "shortest_path",
    "sigma_star",
    "statesort",
    "string_map",
    "strings",
    "synchronize",
    "text_of",
    "to_bytes",
    "to_dot",
    "to_svg",
    "topsort",
    "total_weight",
    "union",
    "verify",
    "write_archive",
    "write_fst",
    "write_text",
]
