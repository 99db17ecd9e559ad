"""Linear learning: classifiers that can be read, trained to a proven optimum.

problem      rows, objective, duality gap
solvers      coordinate descent on working sets, trust-region Newton
classifier   what linear classifiers share: rows, labels, probabilities, names of weights
logistic     logistic regression, L1, L2 and elastic net
chunked      the same over chunks of a file or on a cluster
expected_f   logistic regression trained for F or another utility of counts
grafting     logistic regression over combinations of features
selection    the penalty by cross-validation
smoothed     utilities of counts as smooth functions of weights
kernels      kernels between rows, and the problems of support vectors
svr          support vector regression
pairwise     a support vector machine for each pair of classes
least_squares  least squares of minimum norm
datasets     labeled data from files
making       classifiers by kind, and their evaluation
operating    thresholds, curves, methods side by side, cascades
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.linear.classifier import LinearClassifier, Weights
    from textmill.linear.datasets import Labeled, read_labeled
    from textmill.linear.expected_f import UtilityLogistic, operating_path
    from textmill.linear.grafting import CombinationLogistic, find_violators
    from textmill.linear.kernels import KernelRows, Solved, make_kernel, solve_problems
    from textmill.linear.least_squares import LeastSquares, solve_centered
    from textmill.linear.logistic import LogisticRegression, NotConverged
    from textmill.linear.making import evaluate_classifier, labels_with_probabilities, make_classifier
    from textmill.linear.operating import (
        Cascade,
        MethodTable,
        OperatingCurve,
        label_margins,
        oracle_threshold,
        tuned_threshold,
    )
    from textmill.linear.pairwise import PairwiseSVM, solve_pairs, vote
    from textmill.linear.problem import Certificate
    from textmill.linear.selection import PenaltyScores, choose_penalty
    from textmill.linear.smoothed import BernoulliModel, SmoothedUtility, bernoulli_utility
    from textmill.linear.svr import SupportVectorRegression

__all__ = [
    "BernoulliModel",
    "Cascade",
    "Certificate",
    "CombinationLogistic",
    "KernelRows",
    "Labeled",
    "LeastSquares",
    "LinearClassifier",
    "LogisticRegression",
    "MethodTable",
    "NotConverged",
    "OperatingCurve",
    "PairwiseSVM",
    "PenaltyScores",
    "SmoothedUtility",
    "Solved",
    "SupportVectorRegression",
    "UtilityLogistic",
    "Weights",
    "bernoulli_utility",
    "choose_penalty",
    "evaluate_classifier",
    "find_violators",
    "label_margins",
    "labels_with_probabilities",
    "make_classifier",
    "make_kernel",
    "operating_path",
    "oracle_threshold",
    "read_labeled",
    "solve_centered",
    "solve_pairs",
    "solve_problems",
    "tuned_threshold",
    "vote",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "classifier": "LinearClassifier Weights",
        "datasets": "Labeled read_labeled",
        "expected_f": "UtilityLogistic operating_path",
        "grafting": "CombinationLogistic find_violators",
        "kernels": "KernelRows Solved make_kernel solve_problems",
        "least_squares": "LeastSquares solve_centered",
        "logistic": "LogisticRegression NotConverged",
        "making": "evaluate_classifier labels_with_probabilities make_classifier",
        "operating": "Cascade MethodTable OperatingCurve label_margins oracle_threshold tuned_threshold",
        "pairwise": "PairwiseSVM solve_pairs vote",
        "problem": "Certificate",
        "svr": "SupportVectorRegression",
        "selection": "PenaltyScores choose_penalty",
        "smoothed": "BernoulliModel SmoothedUtility bernoulli_utility",
    },
)
