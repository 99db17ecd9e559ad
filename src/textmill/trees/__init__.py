"""Decision trees over values and numbers, small enough to read and quick enough to run on every letter.

rows          rows of values and numbers as codes
categorical   CategoricalTree: C4.5's trees, learnt, pruned, saved
inspection    a tree as text, as rules, as a picture
code          a tree as C tables
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.trees.categorical import CategoricalTree, SplitWorths
    from textmill.trees.code import tree_code
    from textmill.trees.inspection import Rule, TreeRules, draw_tree, tree_rules, tree_text
    from textmill.trees.rows import EncodedRows

__all__ = [
    "CategoricalTree",
    "EncodedRows",
    "Rule",
    "SplitWorths",
    "TreeRules",
    "draw_tree",
    "tree_code",
    "tree_rules",
    "tree_text",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "categorical": "CategoricalTree SplitWorths",
        "code": "tree_code",
        "inspection": "Rule TreeRules draw_tree tree_rules tree_text",
        "rows": "EncodedRows",
    },
)
