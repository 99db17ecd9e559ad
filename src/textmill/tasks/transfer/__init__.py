"""A treebank for a related language: trees imputed from a treebank, raw text, and orders that may change.

sampler       TreebankTransfer: trees of a related language, and how sure they are
chains        Gibbs chains, collapsed or not, EM, variational inference; checkpoints
rows          multinomials given counts: draws and means
fringes       n-grams of raw text, as weights and as prior counts
diagnostics   R-hat and effective sample size
evaluation    imputed trees against right ones
conllu        dependency trees as bracketed trees and back
pictures      traces of chains
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.transfer.conllu import conllu_of, tree_of
    from textmill.tasks.transfer.diagnostics import effective_size, split_r_hat
    from textmill.tasks.transfer.evaluation import TransferScores, evaluate, fringe_perplexity
    from textmill.tasks.transfer.fringes import FringeCounts
    from textmill.tasks.transfer.pictures import draw_traces
    from textmill.tasks.transfer.rows import Rows
    from textmill.tasks.transfer.sampler import TransferSummary, TreebankTransfer, WeakIdentification, forest_rules

__all__ = [
    "FringeCounts",
    "Rows",
    "TransferScores",
    "TransferSummary",
    "TreebankTransfer",
    "WeakIdentification",
    "conllu_of",
    "draw_traces",
    "effective_size",
    "evaluate",
    "forest_rules",
    "fringe_perplexity",
    "split_r_hat",
    "tree_of",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "conllu": "conllu_of tree_of",
        "diagnostics": "effective_size split_r_hat",
        "evaluation": "TransferScores evaluate fringe_perplexity",
        "fringes": "FringeCounts",
        "pictures": "draw_traces",
        "rows": "Rows",
        "sampler": "TransferSummary TreebankTransfer WeakIdentification forest_rules",
    },
)
