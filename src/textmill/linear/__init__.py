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
counts       distributions of counts: fitted to whole tables, compared, criticised
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.linear.classifier import LinearClassifier, Weights
    from textmill.linear.counts.bursts import Bursts, find_bursts, plot_bursts, plot_comparison
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
    from textmill.linear.datasets import Labeled, read_labeled
    from textmill.linear.grafting import CombinationLogistic, find_violators
    from textmill.linear.logistic import LogisticRegression, NotConverged
    from textmill.linear.making import evaluate_classifier, make_classifier
    from textmill.linear.problem import Certificate
    from textmill.linear.selection import PenaltyScores, choose_penalty

__all__ = [
    "Bernoulli",
    "BetaBinomial",
    "Binomial",
    "Bursts",
    "Certificate",
    "CombinationLogistic",
    "CountComparison",
    "CountDistribution",
    "CountFit",
    "CountFits",
    "CountPrior",
    "GoodnessOfFit",
    "Labeled",
    "LinearClassifier",
    "LogisticRegression",
    "NegativeBinomial",
    "NormalTest",
    "NotConverged",
    "PenaltyScores",
    "Poisson",
    "Weights",
    "ZeroInflated",
    "choose_penalty",
    "compare_counts",
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
    "plot_bursts",
    "plot_comparison",
    "read_labeled",
    "vuong_test",
    "zero_excess_test",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "classifier": "LinearClassifier Weights",
        "counts.bursts": "Bursts find_bursts plot_bursts plot_comparison",
        "counts.criticism": "CountComparison GoodnessOfFit NormalTest compare_counts dispersion_test "
        "expected_counts goodness_of_fit likelihood_ratio vuong_test zero_excess_test",
        "counts.distributions": "Bernoulli BetaBinomial Binomial CountDistribution NegativeBinomial Poisson "
        "ZeroInflated",
        "counts.fitting": "CountFit CountFits CountPrior fit_count_table fit_counts",
        "datasets": "Labeled read_labeled",
        "grafting": "CombinationLogistic find_violators",
        "logistic": "LogisticRegression NotConverged",
        "making": "evaluate_classifier make_classifier",
        "problem": "Certificate",
        "selection": "PenaltyScores choose_penalty",
    },
)
