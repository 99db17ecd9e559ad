"""Linear learning: classifiers that can be read, trained to a proven optimum.

problem      rows, objective, duality gap
solvers      coordinate descent on working sets, trust-region Newton
classifier   what linear classifiers share: rows, labels, probabilities, names of weights
logistic     logistic regression, L1, L2 and elastic net
chunked      the same over chunks of a file or on a cluster
expected_f   logistic regression trained for F or another utility of counts
drawing      pictures of paths and weights
grafting     logistic regression over combinations of features
selection    the penalty by cross-validation
smoothed     utilities of counts as smooth functions of weights
kernels      kernels between rows, and the problems of support vectors
svr          support vector regression
tube_descent  the linear one over chunks
pairwise     a support vector machine for each pair of classes
least_squares  least squares of minimum norm
datasets     labeled data from files
making       classifiers by kind, and their evaluation
class_counts  sums by class, mutual information
bayes        naive Bayes with those distributions
left_out     how much to add to counts
categorical  naive Bayes over features that have names for values
word_evidence  what its words say
vocabulary_curve   its accuracy by vocabulary size
counts       distributions of counts: fitted to whole tables, compared, criticized
operating    thresholds, curves, methods side by side, cascades
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.linear.bayes import NaiveBayes
    from textmill.linear.categorical import CategoricalBayes
    from textmill.linear.class_counts import mutual_information
    from textmill.linear.classifier import LinearClassifier, Weights
    from textmill.linear.counts.bursts import Bursts, counts_report, draw_bursts, draw_comparison, find_bursts
    from textmill.linear.counts.criticism import (
        CountComparison,
        GoodnessOfFit,
        NormalTest,
        compare_counts,
        dispersion_test,
        expected_counts,
        goodness_of_fit,
        likelihood_ratio,
        vuong_test,
        zero_excess_test,
    )
    from textmill.linear.counts.dated import DatedBursts, find_dated_bursts
    from textmill.linear.counts.distributions import (
        Bernoulli,
        BetaBinomial,
        Binomial,
        CountDistribution,
        NegativeBinomial,
        Poisson,
        ZeroInflated,
    )
    from textmill.linear.counts.fitting import CountFit, CountFits, CountPrior, fit_count_table, fit_counts
    from textmill.linear.counts.keyness import KeyWords, compare_words
    from textmill.linear.counts.reading import CountData, counts_of_texts, read_count_bags, read_count_table
    from textmill.linear.datasets import Labeled, read_labeled, split_labeled
    from textmill.linear.drawing import draw_path, draw_strongest
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
    from textmill.linear.pairwise import PairwiseSVM, count_votes, solve_pairs, vote
    from textmill.linear.problem import Certificate
    from textmill.linear.selection import PenaltyScores, choose_penalty
    from textmill.linear.smoothed import BernoulliModel, SmoothedUtility, bernoulli_utility
    from textmill.linear.svr import SupportVectorRegression
    from textmill.linear.tuning import tuned_logistic
    from textmill.linear.vocabulary_curve import VocabularyCurve, vocabulary_curve
    from textmill.linear.word_evidence import Contributions, Topicality

__all__ = [
    "Bernoulli",
    "BernoulliModel",
    "BetaBinomial",
    "Binomial",
    "Bursts",
    "Cascade",
    "CategoricalBayes",
    "Certificate",
    "CombinationLogistic",
    "Contributions",
    "CountComparison",
    "CountData",
    "CountDistribution",
    "CountFit",
    "CountFits",
    "CountPrior",
    "DatedBursts",
    "GoodnessOfFit",
    "KernelRows",
    "KeyWords",
    "Labeled",
    "LeastSquares",
    "LinearClassifier",
    "LogisticRegression",
    "MethodTable",
    "NaiveBayes",
    "NegativeBinomial",
    "NormalTest",
    "NotConverged",
    "OperatingCurve",
    "PairwiseSVM",
    "PenaltyScores",
    "Poisson",
    "SmoothedUtility",
    "Solved",
    "SupportVectorRegression",
    "Topicality",
    "UtilityLogistic",
    "VocabularyCurve",
    "Weights",
    "ZeroInflated",
    "bernoulli_utility",
    "choose_penalty",
    "compare_counts",
    "compare_words",
    "count_votes",
    "counts_of_texts",
    "counts_report",
    "dispersion_test",
    "draw_bursts",
    "draw_comparison",
    "draw_path",
    "draw_strongest",
    "evaluate_classifier",
    "expected_counts",
    "find_bursts",
    "find_dated_bursts",
    "find_violators",
    "fit_count_table",
    "fit_counts",
    "goodness_of_fit",
    "label_margins",
    "labels_with_probabilities",
    "likelihood_ratio",
    "make_classifier",
    "make_kernel",
    "mutual_information",
    "operating_path",
    "oracle_threshold",
    "read_count_bags",
    "read_count_table",
    "read_labeled",
    "solve_centered",
    "solve_pairs",
    "solve_problems",
    "split_labeled",
    "tuned_logistic",
    "tuned_threshold",
    "vocabulary_curve",
    "vote",
    "vuong_test",
    "zero_excess_test",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "bayes": "NaiveBayes",
        "categorical": "CategoricalBayes",
        "class_counts": "mutual_information",
        "classifier": "LinearClassifier Weights",
        "counts.bursts": "Bursts counts_report draw_bursts draw_comparison find_bursts",
        "counts.criticism": "CountComparison GoodnessOfFit NormalTest compare_counts dispersion_test "
        "expected_counts goodness_of_fit likelihood_ratio vuong_test zero_excess_test",
        "counts.dated": "DatedBursts find_dated_bursts",
        "counts.distributions": "Bernoulli BetaBinomial Binomial CountDistribution NegativeBinomial Poisson "
        "ZeroInflated",
        "counts.fitting": "CountFit CountFits CountPrior fit_count_table fit_counts",
        "counts.keyness": "KeyWords compare_words",
        "counts.reading": "CountData counts_of_texts read_count_bags read_count_table",
        "datasets": "Labeled read_labeled split_labeled",
        "drawing": "draw_path draw_strongest",
        "expected_f": "UtilityLogistic operating_path",
        "grafting": "CombinationLogistic find_violators",
        "kernels": "KernelRows Solved make_kernel solve_problems",
        "least_squares": "LeastSquares solve_centered",
        "logistic": "LogisticRegression NotConverged",
        "making": "evaluate_classifier labels_with_probabilities make_classifier",
        "operating": "Cascade MethodTable OperatingCurve label_margins oracle_threshold tuned_threshold",
        "pairwise": "PairwiseSVM count_votes solve_pairs vote",
        "problem": "Certificate",
        "tuning": "tuned_logistic",
        "vocabulary_curve": "VocabularyCurve vocabulary_curve",
        "svr": "SupportVectorRegression",
        "selection": "PenaltyScores choose_penalty",
        "word_evidence": "Contributions Topicality",
        "smoothed": "BernoulliModel SmoothedUtility bernoulli_utility",
    },
)
