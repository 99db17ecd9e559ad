"""Lists of names that mean the same: pairs, groups, labels, measures compared.

collection    names with ids, types, counts and clusters, and the files they come from
gold          what is known about pairs: positive, negative, don't know
pairfiles     files of matched pairs and of clusters
jobs          find pairs within a list or between two, group them, compare measures on labels, prepare pairs for labels
evaluation    precision, recall and F by number of pairs; comparison; the choice of a measure
pooling       which pairs are worth a label
calibration   from scores to probabilities
review        a page to judge pairs by mouse and keyboard
generate      synthetic names, with the words of stock
sample        a customer list to try everything on
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.names.calibration import Calibration
    from textmill.tasks.names.collection import NameList, read_names
    from textmill.tasks.names.evaluation import (
        Choice,
        Cut,
        Difference,
        Evaluation,
        MatchCurve,
        choose,
        differences,
        evaluate,
    )
    from textmill.tasks.names.generate import generate_names
    from textmill.tasks.names.gold import Gold, read_gold, write_gold
    from textmill.tasks.names.jobs import (
        MEASURES_TO_COMPARE,
        MatchCounts,
        align,
        compare,
        curves,
        dedupe,
        evaluate_measures,
        join,
        pool,
        review_file,
        review_pairs,
    )
    from textmill.tasks.names.pairfiles import ClusterRow, PairRow, read_pairs, write_clusters, write_pairs
    from textmill.tasks.names.pooling import PooledPair, pool_pairs
    from textmill.tasks.names.review import Proposal, propose, review_page
    from textmill.tasks.names.sample import sample_names, sample_names_path

__all__ = [
    "MEASURES_TO_COMPARE",
    "Calibration",
    "Choice",
    "ClusterRow",
    "Cut",
    "Difference",
    "Evaluation",
    "Gold",
    "MatchCounts",
    "MatchCurve",
    "NameList",
    "PairRow",
    "PooledPair",
    "Proposal",
    "align",
    "choose",
    "compare",
    "curves",
    "dedupe",
    "differences",
    "evaluate",
    "evaluate_measures",
    "generate_names",
    "join",
    "pool",
    "pool_pairs",
    "propose",
    "read_gold",
    "read_names",
    "read_pairs",
    "review_file",
    "review_page",
    "review_pairs",
    "sample_names",
    "sample_names_path",
    "write_clusters",
    "write_gold",
    "write_pairs",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "calibration": "Calibration",
        "collection": "NameList read_names",
        "evaluation": "Choice Cut Difference Evaluation MatchCurve choose differences evaluate",
        "generate": "generate_names",
        "gold": "Gold read_gold write_gold",
        "jobs": "MEASURES_TO_COMPARE MatchCounts align compare curves dedupe evaluate_measures join pool "
        "review_file review_pairs",
        "pairfiles": "ClusterRow PairRow read_pairs write_clusters write_pairs",
        "pooling": "PooledPair pool_pairs",
        "review": "Proposal propose review_page",
        "sample": "sample_names sample_names_path",
    },
)
