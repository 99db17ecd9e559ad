"""Trees: of decisions over values and numbers, and of sentences by a grammar from a treebank.

rows          rows of values and numbers as codes
categorical   CategoricalTree: C4.5's trees, learned, pruned, saved
inspection    a tree as text, as rules, as a picture
code          a tree as C tables
grammar       TreebankGrammar: the best trees of sentences
rules         its rules, markovized and smoothed
lexicon       its tags of words, known and unknown
parsing       words into symbols, brackets into trees
forest        packed forests: many trees that share their parts
weaving       forests intersected with n-grams or automata: sums, samples, best trees
transfer      orders of a related language, forests of its trees
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.trees.categorical import CategoricalTree, SplitWorths
    from textmill.trees.code import tree_code
    from textmill.trees.forest import Choice, PackedForest
    from textmill.trees.grammar import TreebankGrammar, bare_tree
    from textmill.trees.inspection import Rule, TreeRules, draw_tree, tree_rules, tree_text
    from textmill.trees.parsing import ScoredTree
    from textmill.trees.rows import EncodedRows
    from textmill.trees.transfer import Family, OrderModel, parse_families, propose_families
    from textmill.trees.weaving import Acceptor, ForestRule, WovenForests, WovenSample, weave

__all__ = [
    "Acceptor",
    "CategoricalTree",
    "Choice",
    "EncodedRows",
    "Family",
    "ForestRule",
    "OrderModel",
    "PackedForest",
    "Rule",
    "ScoredTree",
    "SplitWorths",
    "TreeRules",
    "TreebankGrammar",
    "WovenForests",
    "WovenSample",
    "bare_tree",
    "draw_tree",
    "parse_families",
    "propose_families",
    "tree_code",
    "tree_rules",
    "tree_text",
    "weave",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "categorical": "CategoricalTree SplitWorths",
        "code": "tree_code",
        "forest": "Choice PackedForest",
        "grammar": "TreebankGrammar bare_tree",
        "inspection": "Rule TreeRules draw_tree tree_rules tree_text",
        "parsing": "ScoredTree",
        "rows": "EncodedRows",
        "transfer": "Family OrderModel parse_families propose_families",
        "weaving": "Acceptor ForestRule WovenForests WovenSample weave",
    },
)
