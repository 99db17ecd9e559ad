"""Linear learning: classifiers that can be read, trained to a proven optimum.

problem      rows, objective, duality gap
solvers      coordinate descent on working sets, trust-region Newton
classifier   what linear classifiers share: rows, labels, probabilities, names of weights
logistic     logistic regression, L1, L2 and elastic net
chunked      the same over chunks of a file or on a cluster
grafting     logistic regression over combinations of features
selection    the penalty by cross-validation
kernels      kernels between rows, and the problems of support vectors
svr          support vector regression
pairwise     a support vector machine for each pair of classes
least_squares  least squares of minimum norm
datasets     labeled data from files
making       classifiers by kind, and their evaluation
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.linear.classifier import LinearClassifier, Weights
    from textmill.linear.datasets import Labeled, read_labeled
    from textmill.linear.grafting import CombinationLogistic, find_violators
    from textmill.linear.kernels import KernelRows, Solved, make_kernel, solve_problems
    from textmill.linear.least_squares import LeastSquares, solve_centered
    from textmill.linear.logistic import LogisticRegression, NotConverged
    from textmill.linear.making import evaluate_classifier, make_classifier
    from textmill.linear.pairwise import PairwiseSVM, solve_pairs, vote
    from textmill.linear.problem import Certificate
    from textmill.linear.selection import PenaltyScores, choose_penalty
    from textmill.linear.svr import SupportVectorRegression

__all__ = [
    "Certificate",
    "CombinationLogistic",
    "KernelRows",
    "Labeled",
    "LeastSquares",
    "LinearClassifier",
    "LogisticRegression",
    "NotConverged",
    "PairwiseSVM",
    "PenaltyScores",
    "Solved",
    "SupportVectorRegression",
    "Weights",
    "choose_penalty",
    "evaluate_classifier",
    "find_violators",
    "make_classifier",
    "make_kernel",
    "read_labeled",
    "solve_centered",
    "solve_pairs",
    "solve_problems",
    "vote",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "classifier": "LinearClassifier Weights",
        "datasets": "Labeled read_labeled",
        "grafting": "CombinationLogistic find_violators",
        "kernels": "KernelRows Solved make_kernel solve_problems",
        "least_squares": "LeastSquares solve_centered",
        "logistic": "LogisticRegression NotConverged",
        "making": "evaluate_classifier make_classifier",
        "pairwise": "PairwiseSVM solve_pairs vote",
        "problem": "Certificate",
        "selection": "PenaltyScores choose_penalty",
        "svr": "SupportVectorRegression",
    },
)
