"""Linear learning: classifiers that can be read, trained to a proven optimum.

problem      rows, objective, duality gap
solvers      coordinate descent on working sets, trust-region Newton
classifier   what linear classifiers share: rows, labels, probabilities, names of weights
logistic     logistic regression, L1, L2 and elastic net
chunked      the same over chunks of a file or on a cluster
grafting     logistic regression over combinations of features
selection    the penalty by cross-validation
datasets     labeled data from files
making       classifiers by kind, and their evaluation
class_counts  sums by class, mutual information
bayes        naive Bayes with those distributions
vocabulary_curve   its accuracy by vocabulary size
counts       distributions of counts: fitted to whole tables, compared, criticised
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.linear.bayes import Contributions, NaiveBayes, Topicality
    from textmill.linear.class_counts import mutual_information
    from textmill.linear.classifier import LinearClassifier, Weights
    from textmill.linear.counts.bursts import Bursts, counts_report, find_bursts, plot_bursts, plot_comparison
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
    from textmill.linear.counts.reading import CountData, counts_of_texts, read_count_bags, read_count_table
    from textmill.linear.datasets import Labeled, read_labeled
    from textmill.linear.grafting import CombinationLogistic, find_violators
    from textmill.linear.logistic import LogisticRegression, NotConverged
    from textmill.linear.making import evaluate_classifier, make_classifier
    from textmill.linear.problem import Certificate
    from textmill.linear.selection import PenaltyScores, choose_penalty
    from textmill.linear.vocabulary_curve import VocabularyCurve, vocabulary_curve

__all__ = [
    "Bernoulli",
    "BetaBinomial",
    "Binomial",
    "Bursts",
    "Certificate",
    "CombinationLogistic",
    "Contributions",
    "CountComparison",
    "CountData",
    "CountDistribution",
    "CountFit",
    "CountFits",
    "CountPrior",
    "GoodnessOfFit",
    "Labeled",
    "LinearClassifier",
    "LogisticRegression",
    "NaiveBayes",
    "NegativeBinomial",
    "NormalTest",
    "NotConverged",
    "PenaltyScores",
    "Poisson",
    "Topicality",
    "VocabularyCurve",
    "Weights",
    "ZeroInflated",
    "choose_penalty",
    "compare_counts",
    "counts_of_texts",
    "counts_report",
    "dispersion_test",
    "evaluate_classifier",
    "expected_counts",
    "find_bursts",
    "find_violators",
    "fit_count_table",
    "fit_counts",
    "goodness_of_fit",
    "likelihood_ratio",
    "make_classifier",
    "mutual_information",
    "plot_bursts",
    "plot_comparison",
    "read_count_bags",
    "read_count_table",
    "read_labeled",
    "vocabulary_curve",
    "vuong_test",
    "zero_excess_test",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "bayes": "Contributions NaiveBayes Topicality",
        "class_counts": "mutual_information",
        "classifier": "LinearClassifier Weights",
        "counts.bursts": "Bursts counts_report find_bursts plot_bursts plot_comparison",
        "counts.criticism": "CountComparison GoodnessOfFit NormalTest compare_counts dispersion_test "
        "expected_counts goodness_of_fit likelihood_ratio vuong_test zero_excess_test",
        "counts.distributions": "Bernoulli BetaBinomial Binomial CountDistribution NegativeBinomial Poisson "
        "ZeroInflated",
        "counts.fitting": "CountFit CountFits CountPrior fit_count_table fit_counts",
        "counts.reading": "CountData counts_of_texts read_count_bags read_count_table",
        "datasets": "Labeled read_labeled",
        "grafting": "CombinationLogistic find_violators",
        "logistic": "LogisticRegression NotConverged",
        "making": "evaluate_classifier make_classifier",
        "problem": "Certificate",
        "vocabulary_curve": "VocabularyCurve vocabulary_curve",
        "selection": "PenaltyScores choose_penalty",
    },
)
