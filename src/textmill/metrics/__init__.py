"""Counts that add, and figures from their sums.

classification   confusion tables, hits and misses of labels: accuracy, precision, recall, F, kappa, MCC
utility          F in every convention; utilities over the four counts with their derivatives
brackets         labeled brackets of trees
curves           scores at every threshold: ROC, DET, precision-recall, equal error rate, best thresholds
segmentation     P_k, WindowDiff, boundary precision and recall
edits            word and symbol error rate, alignment, sequence accuracy
ranking          MRR, MAP, NDCG, precision and recall at k
regression       squared and absolute error, R^2, correlation, from moments that merge
spans            spans that match strictly, or contain what they should
significance     bootstrap intervals, paired tests, McNemar, chi-square
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.metrics.brackets import BracketCounts
    from textmill.metrics.classification import AccuracyCounts, BinaryCounts, Confusion, LabelCounts
    from textmill.metrics.conventions import signature
    from textmill.metrics.curves import OperatingPoint, ScoreCounts
    from textmill.metrics.edits import EditCounts, align, edit_table, lcs_f
    from textmill.metrics.ranking import (
        RankingCounts,
        average_precision,
        mean_precision,
        ndcg,
        precision_at,
        r_precision,
        ranked,
        recall_at,
        reciprocal_rank,
    )
    from textmill.metrics.regression import Moments, RegressionCounts
    from textmill.metrics.segmentation import Segmentation, WindowCounts, boundary_counts, pk, window_diff
    from textmill.metrics.significance import (
        ChiSquare,
        Difference,
        Interval,
        PairedCounts,
        bootstrap_figures,
        bootstrap_interval,
        chi_square_fit,
        chi_square_independence,
        paired_bootstrap,
        randomization_test,
    )
    from textmill.metrics.spans import SPAN_CRITERIA, SpanCounts, span_counts
    from textmill.metrics.utility import (
        FWeight,
        GMeanUtility,
        LinearUtility,
        MCCUtility,
        RatioUtility,
        RecallFloorUtility,
        Utility,
        UtilitySum,
        named_utility,
    )

__all__ = [
    "SPAN_CRITERIA",
    "AccuracyCounts",
    "BinaryCounts",
    "BracketCounts",
    "ChiSquare",
    "Confusion",
    "Difference",
    "EditCounts",
    "FWeight",
    "GMeanUtility",
    "Interval",
    "LabelCounts",
    "LinearUtility",
    "MCCUtility",
    "Moments",
    "OperatingPoint",
    "PairedCounts",
    "RankingCounts",
    "RatioUtility",
    "RecallFloorUtility",
    "RegressionCounts",
    "ScoreCounts",
    "Segmentation",
    "SpanCounts",
    "Utility",
    "UtilitySum",
    "WindowCounts",
    "align",
    "average_precision",
    "bootstrap_figures",
    "bootstrap_interval",
    "boundary_counts",
    "chi_square_fit",
    "chi_square_independence",
    "edit_table",
    "lcs_f",
    "mean_precision",
    "named_utility",
    "ndcg",
    "paired_bootstrap",
    "pk",
    "precision_at",
    "r_precision",
    "randomization_test",
    "ranked",
    "recall_at",
    "reciprocal_rank",
    "signature",
    "span_counts",
    "window_diff",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "brackets": "BracketCounts",
        "conventions": "signature",
        "classification": "AccuracyCounts BinaryCounts Confusion LabelCounts",
        "curves": "OperatingPoint ScoreCounts",
        "edits": "EditCounts align edit_table lcs_f",
        "ranking": "RankingCounts average_precision mean_precision ndcg precision_at r_precision ranked "
        "recall_at reciprocal_rank",
        "regression": "Moments RegressionCounts",
        "segmentation": "Segmentation WindowCounts boundary_counts pk window_diff",
        "significance": "ChiSquare Difference Interval PairedCounts bootstrap_figures bootstrap_interval "
        "chi_square_fit chi_square_independence paired_bootstrap randomization_test",
        "spans": "SPAN_CRITERIA SpanCounts span_counts",
        "utility": "FWeight GMeanUtility LinearUtility MCCUtility RatioUtility RecallFloorUtility Utility UtilitySum "
        "named_utility",
    },
)
