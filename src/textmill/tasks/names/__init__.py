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
records       records with several fields, and the files they come from
aliases       nicknames and trade names that mean the same
blocking      which pairs of records are compared, and what that loses
comparison    pairs of records as rows of numbers
record_matcher RecordMatcher: the weighted mean of a measure a field
learned       LearnedMatcher: probabilities learned from labels
logistic      logistic regression for a few labels, and what held-out labels say of it
boosting      boosted trees for many
fellegi_sunter FellegiSunter: probabilities without labels
mixture       its two classes, by EM over the agreement of all pairs
agreement     how far values agree, in levels that the list defines
active        which pairs to label next
linking       the jobs around them: pairs, groups, suggestions, explanations, pages
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.names.active import spaced_pairs, uncertain_pairs
    from textmill.tasks.names.aliases import Aliases, read_aliases
    from textmill.tasks.names.blocking import (
        Block,
        BlockingReport,
        Candidates,
        HugeBlock,
        default_blocks,
        find_candidates,
        parse_block,
    )
    from textmill.tasks.names.calibration import Calibration
    from textmill.tasks.names.collection import NameList, read_names
    from textmill.tasks.names.comparison import PairComparer
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
    from textmill.tasks.names.fellegi_sunter import FellegiSunter, FieldLeftOut, UndecidedError
    from textmill.tasks.names.generate import generate_names
    from textmill.tasks.names.gold import Gold, read_gold, write_gold
    from textmill.tasks.names.jobs import (
        MEASURES_TO_COMPARE,
        MatchCounts,
        PairScore,
        align,
        compare,
        curves,
        dedupe,
        evaluate_measures,
        join,
        pool,
        review_file,
        review_pairs,
        score_pair,
    )
    from textmill.tasks.names.learned import LearnedMatcher
    from textmill.tasks.names.linking import (
        Linked,
        cluster_page,
        dedupe_records,
        explain_records,
        fit_or_doubt,
        group_notes,
        join_records,
        score_name,
        suggest_labels,
        suggestion_page,
    )
    from textmill.tasks.names.logistic import Reliability, reliability
    from textmill.tasks.names.pairfiles import ClusterRow, PairRow, read_pairs, write_clusters, write_pairs
    from textmill.tasks.names.pooling import PooledPair, pool_pairs
    from textmill.tasks.names.record_matcher import (
        Contribution,
        PairExplanation,
        RecordEstimator,
        RecordMatcher,
        explanation_lines,
    )
    from textmill.tasks.names.records import Field, RecordList, parse_field, plain_form, read_record_list
    from textmill.tasks.names.review import Proposal, propose, review_page
    from textmill.tasks.names.sample import sample_names, sample_names_path

__all__ = [
    "MEASURES_TO_COMPARE",
    "Aliases",
    "Block",
    "BlockingReport",
    "Calibration",
    "Candidates",
    "Choice",
    "ClusterRow",
    "Contribution",
    "Cut",
    "Difference",
    "Evaluation",
    "FellegiSunter",
    "Field",
    "FieldLeftOut",
    "Gold",
    "HugeBlock",
    "LearnedMatcher",
    "Linked",
    "MatchCounts",
    "MatchCurve",
    "NameList",
    "PairComparer",
    "PairExplanation",
    "PairRow",
    "PairScore",
    "PooledPair",
    "Proposal",
    "RecordEstimator",
    "RecordList",
    "RecordMatcher",
    "Reliability",
    "UndecidedError",
    "align",
    "choose",
    "cluster_page",
    "compare",
    "curves",
    "dedupe",
    "dedupe_records",
    "default_blocks",
    "differences",
    "evaluate",
    "evaluate_measures",
    "explain_records",
    "explanation_lines",
    "find_candidates",
    "fit_or_doubt",
    "generate_names",
    "group_notes",
    "join",
    "join_records",
    "parse_block",
    "parse_field",
    "plain_form",
    "pool",
    "pool_pairs",
    "propose",
    "read_aliases",
    "read_gold",
    "read_names",
    "read_pairs",
    "read_record_list",
    "reliability",
    "review_file",
    "review_page",
    "review_pairs",
    "sample_names",
    "sample_names_path",
    "score_name",
    "score_pair",
    "spaced_pairs",
    "suggest_labels",
    "suggestion_page",
    "uncertain_pairs",
    "write_clusters",
    "write_gold",
    "write_pairs",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "active": "spaced_pairs uncertain_pairs",
        "aliases": "Aliases read_aliases",
        "blocking": "Block BlockingReport Candidates HugeBlock default_blocks find_candidates parse_block",
        "comparison": "PairComparer",
        "fellegi_sunter": "FellegiSunter FieldLeftOut UndecidedError",
        "learned": "LearnedMatcher",
        "linking": "Linked cluster_page dedupe_records explain_records fit_or_doubt group_notes join_records "
        "score_name suggest_labels suggestion_page",
        "logistic": "Reliability reliability",
        "record_matcher": "Contribution PairExplanation RecordEstimator RecordMatcher explanation_lines",
        "records": "Field RecordList parse_field plain_form read_record_list",
        "calibration": "Calibration",
        "collection": "NameList read_names",
        "evaluation": "Choice Cut Difference Evaluation MatchCurve choose differences evaluate",
        "generate": "generate_names",
        "gold": "Gold read_gold write_gold",
        "jobs": "MEASURES_TO_COMPARE MatchCounts PairScore align compare curves dedupe evaluate_measures join pool "
        "review_file review_pairs score_pair",
        "pairfiles": "ClusterRow PairRow read_pairs write_clusters write_pairs",
        "pooling": "PooledPair pool_pairs",
        "review": "Proposal propose review_page",
        "sample": "sample_names sample_names_path",
    },
)
