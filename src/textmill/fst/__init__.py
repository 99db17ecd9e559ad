"""Weighted finite-state transducers: machines, semirings, operations, files.

semirings      how weights are added and multiplied
machine        Fst: states, arcs, properties
compaction     strings, acceptors and machines without weights in less memory
symbols        names of labels
strings        strings as machines, machines as strings, one machine applied to many strings
brackets       generated symbols in strings: [name], [0x41]
formats        OpenFst text and binary files; archives: many machines in one file
rational       union, concatenation, closure, reversal, projection, sorting, trimming
composition    composition, intersection, difference, complement
lazy           machines whose states are computed when they are asked for; look-ahead
planner        in which order a chain of machines is composed
paths          distances, best paths, pruning, pushing
optimization   epsilon removal, determinization, minimization
encoding       labels and weights of arcs as single labels
transform      replacement, synchronization, epsilons to the end, maps of weights and arcs, other semirings
grammars       machines that call one another, before they are replaced
pushdown       machines with parentheses: one stack or several
overlay        changes beside a machine that is mapped from a file
compression    machine files in fewer bytes
traversal      walks over states, components, what can be reached from where
compare        equality, equivalence, random paths
facts          what a machine is: sizes, components, properties
layers, layout, shapes   where the parts of a picture stand, and what they look like
draw           SVG and DOT
grammar        operators on machines, strings promoted, sets, string files
rewriting      context-dependent rewrite rules
grammar_syntax, grammar_compiler, grammar_testing, grammar_explain   the grammar language
thrax          grammars of Thrax; jsgf: grammars of the Java Speech Grammar Format
ambiguity      several outputs for one input, outputs without end
scanning       a transducer on running text
lexicons       minimal word lists, and the words near to others; growing_lexicons: words added later
edits          edit transducers, distances, alignments, oracle errors of lattices
ngrams         back-off n-gram models; succinct: in little memory
restoring      words from what is left of them: case, accents, keys of a telephone
linear_models  linear taggers and classifiers
patterns       search automata, suffixes, factors
expectations   derivatives of the total weight, expected values, entropy, divergences
learning       weights learned from pairs of strings, by EM or by gradient
phones         pronunciation lexicons, context dependency
unicode        UTF-8, case and normal forms at the level of bytes; graphemes: what people take for one character
align          alignments of string pairs, learned by EM; links, linktraining, alignment, stringpairs: its parts
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.fst.align import EncodedAlignments, LinkPosterior, StringAligner
    from textmill.fst.alignment import Alignment, Link, parse_alignment
    from textmill.fst.ambiguity import (
        ambiguous_input,
        endless_input,
    )
    from textmill.fst.archives import Archive, write_archive
    from textmill.fst.brackets import GENERATED, escape
    from textmill.fst.compaction import COMPACT, CompactFst, compact
    from textmill.fst.compare import equal, equivalent, isomorphic, rand_equivalent, randgen, sample, verify
    from textmill.fst.composition import (
        FILTERS,
        complement,
        compose,
        difference,
        intersect,
        lenient_compose,
        priority_union,
        sigma_star,
    )
    from textmill.fst.compression import compress, compress_fst, decompress, decompress_fst
    from textmill.fst.draw import draw, to_dot, to_svg
    from textmill.fst.edits import (
        best_alignment,
        edit_distance,
        edit_factors,
        edit_transducer,
        oracle_error,
    )
    from textmill.fst.encoding import Encoder, decode, encode
    from textmill.fst.expectations import (
        DIVERGENCES,
        WeightGradient,
        divergence,
        entropy,
        expected_counts,
        expected_values,
        to_expectation,
        total_weight_gradient,
    )
    from textmill.fst.facts import ARC_FILTERS, info
    from textmill.fst.formats import (
        compile_text,
        file_types,
        from_bytes,
        print_text,
        read_fst,
        read_text,
        to_bytes,
        write_fst,
        write_text,
    )
    from textmill.fst.grammar import (
        END,
        START,
        Reading,
        add_weight,
        any_string,
        one_of,
        promote,
        reading,
        string_file,
    )
    from textmill.fst.grammar_compiler import (
        FUNCTIONS,
        Grammar,
        compile_grammar,
        read_grammar,
    )
    from textmill.fst.grammar_explain import (
        Explanation,
        draw_explanation,
        explain,
    )
    from textmill.fst.grammar_syntax import (
        Case,
        Definition,
        GrammarText,
        Import,
        Node,
        parse_grammar,
    )
    from textmill.fst.grammar_testing import (
        CaseResult,
        run_cases,
    )
    from textmill.fst.grammars import call_cycle, call_order, calls, connect_calls, inline_calls
    from textmill.fst.graphemes import grapheme_boundaries
    from textmill.fst.growing_lexicons import GrowingLexicon
    from textmill.fst.jsgf import compile_jsgf, read_jsgf
    from textmill.fst.lazy import LazyFst
    from textmill.fst.learning import OBJECTIVES, LearnedWeights, learn_weights, pair_log_likelihoods
    from textmill.fst.lexicons import (
        Neighbor,
        lexicon,
        nearest,
        read_lexicon,
    )
    from textmill.fst.linear_models import LinearClassifier, LinearFeature, LinearTagger, read_features
    from textmill.fst.machine import EPSILON, NO_STATE, PROPERTIES, Arc, Fst
    from textmill.fst.ngrams import (
        NGramMachine,
        ngram_machine,
    )
    from textmill.fst.optimization import (
        determinize,
        disambiguate,
        minimize,
        minimize_strings,
        optimize,
        rmepsilon,
    )
    from textmill.fst.overlay import EditedFst
    from textmill.fst.paths import prune, push, reweight, shortest_distance, shortest_path, total_weight
    from textmill.fst.patterns import (
        aho_corasick,
        counting_transducer,
        expected_occurrences,
        factor_automaton,
        search_automaton,
        suffix_automaton,
    )
    from textmill.fst.phones import (
        cascade,
        context_dependency,
        lazy_context_dependency,
        pronunciations,
    )
    from textmill.fst.planner import ChainPlan, EstimatedSize, Joint, compose_chain, plan_chain
    from textmill.fst.pushdown import PushdownFst, read_parentheses, replace_to_pushdown, write_parentheses
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
    from textmill.fst.restoring import REDUCTIONS, WordRestorer
    from textmill.fst.rewriting import (
        DIRECTIONS,
        boundary,
        rewrite,
    )
    from textmill.fst.scanning import (
        Change,
        TextRewriter,
    )
    from textmill.fst.semirings import Semiring, SemiringDefinition, Weight, custom, gallic, semiring
    from textmill.fst.stringpairs import SIDES, PairRecord, bag_counts, bag_weights, read_pairs
    from textmill.fst.strings import accep, apply, apply_stream, cross, labels_of, string_map, strings, text_of
    from textmill.fst.succinct import SuccinctNgrams
    from textmill.fst.symbols import SymbolTable
    from textmill.fst.thrax import (
        open_grammar,
        read_thrax,
    )
    from textmill.fst.transform import (
        MAPS,
        arcmap,
        convert,
        epsnormalize,
        factor_chains,
        factor_weight,
        from_gallic,
        map_arcs,
        map_weights,
        replace,
        synchronize,
        to_gallic,
    )
    from textmill.fst.traversal import (
        LabelReachability,
        StateReachability,
        Visit,
        accessible,
        coaccessible,
        depth_first,
        partial_copy,
        strongly_connected,
        visit,
    )
    from textmill.fst.unicode import (
        bytes_to_code_points,
        canonical_order,
        case_folding,
        character_map,
        decomposition,
        recomposition,
        utf8_acceptor,
    )

__all__ = [
    "ARC_FILTERS",
    "COMPACT",
    "DIRECTIONS",
    "DIVERGENCES",
    "END",
    "EPSILON",
    "FILTERS",
    "FUNCTIONS",
    "GENERATED",
    "MAPS",
    "NO_STATE",
    "OBJECTIVES",
    "PROPERTIES",
    "REDUCTIONS",
    "SIDES",
    "START",
    "Alignment",
    "Arc",
    "Archive",
    "Case",
    "CaseResult",
    "ChainPlan",
    "Change",
    "CompactFst",
    "Definition",
    "EditedFst",
    "EncodedAlignments",
    "Encoder",
    "EstimatedSize",
    "Explanation",
    "Fst",
    "Grammar",
    "GrammarText",
    "GrowingLexicon",
    "Import",
    "Joint",
    "LabelReachability",
    "LazyFst",
    "LearnedWeights",
    "LinearClassifier",
    "LinearFeature",
    "LinearTagger",
    "Link",
    "LinkPosterior",
    "NGramMachine",
    "Neighbor",
    "Node",
    "PairRecord",
    "PushdownFst",
    "Reading",
    "Semiring",
    "SemiringDefinition",
    "StateReachability",
    "StringAligner",
    "SuccinctNgrams",
    "SymbolTable",
    "TextRewriter",
    "Visit",
    "Weight",
    "WeightGradient",
    "WordRestorer",
    "accep",
    "accessible",
    "add_weight",
    "aho_corasick",
    "ambiguous_input",
    "any_string",
    "apply",
    "apply_stream",
    "arcmap",
    "arcsort",
    "bag_counts",
    "bag_weights",
    "best_alignment",
    "boundary",
    "bytes_to_code_points",
    "call_cycle",
    "call_order",
    "calls",
    "canonical_order",
    "cascade",
    "case_folding",
    "character_map",
    "closure",
    "coaccessible",
    "compact",
    "compile_grammar",
    "compile_jsgf",
    "compile_text",
    "complement",
    "compose",
    "compose_chain",
    "compress",
    "compress_fst",
    "concat",
    "connect",
    "connect_calls",
    "context_dependency",
    "convert",
    "counting_transducer",
    "cross",
    "custom",
    "decode",
    "decomposition",
    "decompress",
    "decompress_fst",
    "depth_first",
    "determinize",
    "difference",
    "disambiguate",
    "divergence",
    "draw",
    "draw_explanation",
    "edit_distance",
    "edit_factors",
    "edit_transducer",
    "encode",
    "endless_input",
    "entropy",
    "epsnormalize",
    "equal",
    "equivalent",
    "escape",
    "expected_counts",
    "expected_occurrences",
    "expected_values",
    "explain",
    "factor_automaton",
    "factor_chains",
    "factor_weight",
    "file_types",
    "from_bytes",
    "from_gallic",
    "gallic",
    "grapheme_boundaries",
    "info",
    "inline_calls",
    "intersect",
    "invert",
    "isomorphic",
    "labels_of",
    "lazy_context_dependency",
    "learn_weights",
    "lenient_compose",
    "lexicon",
    "map_arcs",
    "map_weights",
    "minimize",
    "minimize_strings",
    "nearest",
    "ngram_machine",
    "one_of",
    "open_grammar",
    "optimize",
    "oracle_error",
    "pair_log_likelihoods",
    "parse_alignment",
    "parse_grammar",
    "partial_copy",
    "plan_chain",
    "print_text",
    "priority_union",
    "project",
    "promote",
    "pronunciations",
    "prune",
    "push",
    "rand_equivalent",
    "randgen",
    "read_features",
    "read_fst",
    "read_grammar",
    "read_jsgf",
    "read_lexicon",
    "read_pairs",
    "read_parentheses",
    "read_text",
    "read_thrax",
    "reading",
    "recomposition",
    "relabel",
    "relabel_symbols",
    "repeat",
    "replace",
    "replace_to_pushdown",
    "reverse",
    "reweight",
    "rewrite",
    "rmepsilon",
    "run_cases",
    "sample",
    "search_automaton",
    "semiring",
    "shortest_distance",
    "shortest_path",
    "sigma_star",
    "statesort",
    "string_file",
    "string_map",
    "strings",
    "strongly_connected",
    "suffix_automaton",
    "synchronize",
    "text_of",
    "to_bytes",
    "to_dot",
    "to_expectation",
    "to_gallic",
    "to_svg",
    "topsort",
    "total_weight",
    "total_weight_gradient",
    "union",
    "utf8_acceptor",
    "verify",
    "visit",
    "write_archive",
    "write_fst",
    "write_parentheses",
    "write_text",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "align": "EncodedAlignments LinkPosterior StringAligner",
        "alignment": "Alignment Link parse_alignment",
        "archives": "Archive write_archive",
        "brackets": "GENERATED escape",
        "compaction": "COMPACT CompactFst compact",
        "compare": "equal equivalent isomorphic rand_equivalent randgen sample verify",
        "composition": "FILTERS complement compose difference intersect lenient_compose priority_union sigma_star",
        "draw": "draw to_dot to_svg",
        "encoding": "Encoder decode encode",
        "facts": "ARC_FILTERS info",
        "formats": "compile_text file_types from_bytes print_text read_fst read_text to_bytes write_fst write_text",
        "grammars": "call_cycle call_order calls connect_calls inline_calls",
        "machine": "EPSILON NO_STATE PROPERTIES Arc Fst",
        "optimization": "determinize disambiguate minimize minimize_strings optimize rmepsilon",
        "pushdown": "PushdownFst read_parentheses replace_to_pushdown write_parentheses",
        "compression": "compress compress_fst decompress decompress_fst",
        "linear_models": "LinearClassifier LinearFeature LinearTagger read_features",
        "overlay": "EditedFst",
        "succinct": "SuccinctNgrams",
        "planner": "ChainPlan EstimatedSize Joint compose_chain plan_chain",
        "paths": "prune push reweight shortest_distance shortest_path total_weight",
        "rational": "arcsort closure concat connect invert project relabel relabel_symbols repeat reverse "
        "statesort topsort union",
        "semirings": "Semiring SemiringDefinition Weight custom gallic semiring",
        "stringpairs": "PairRecord SIDES bag_counts bag_weights read_pairs",
        "strings": "accep apply apply_stream cross labels_of string_map strings text_of",
        "symbols": "SymbolTable",
        "transform": "MAPS arcmap convert epsnormalize factor_chains factor_weight from_gallic map_arcs map_weights "
        "replace synchronize to_gallic",
        "traversal": "LabelReachability StateReachability Visit accessible coaccessible depth_first partial_copy "
        "strongly_connected visit",
        "grammar": "END Reading START add_weight any_string one_of promote reading string_file",
        "rewriting": "DIRECTIONS boundary rewrite",
        "grammar_syntax": "Case Definition GrammarText Import Node parse_grammar",
        "grammar_compiler": "FUNCTIONS Grammar compile_grammar read_grammar",
        "grammar_testing": "CaseResult run_cases",
        "grammar_explain": "Explanation draw_explanation explain",
        "thrax": "open_grammar read_thrax",
        "ambiguity": "ambiguous_input endless_input",
        "scanning": "Change TextRewriter",
        "expectations": "DIVERGENCES WeightGradient divergence entropy expected_counts expected_values to_expectation "
        "total_weight_gradient",
        "lazy": "LazyFst",
        "learning": "LearnedWeights OBJECTIVES learn_weights pair_log_likelihoods",
        "lexicons": "Neighbor lexicon nearest read_lexicon",
        "edits": "best_alignment edit_distance edit_factors edit_transducer oracle_error",
        "ngrams": "NGramMachine ngram_machine",
        "patterns": "aho_corasick counting_transducer expected_occurrences factor_automaton search_automaton "
        "suffix_automaton",
        "restoring": "REDUCTIONS WordRestorer",
        "jsgf": "compile_jsgf read_jsgf",
        "phones": "cascade context_dependency lazy_context_dependency pronunciations",
        "growing_lexicons": "GrowingLexicon",
        "graphemes": "grapheme_boundaries",
        "unicode": "bytes_to_code_points canonical_order case_folding character_map decomposition recomposition "
        "utf8_acceptor",
    },
)
