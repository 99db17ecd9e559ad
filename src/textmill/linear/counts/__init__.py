"""Models of counts: how often a word occurs in a text, whether it comes in bursts, and which distribution says so.

distributions   Poisson, negative binomial, binomial, Bernoulli, beta-binomial, and zero inflation of each
tables          counts with lengths, checked
fitting         one word, or every word and class of a table in one call
criticism       chi-square with pooling, tests of spread and zeros, likelihood ratio, Vuong, comparison
reading         counts from files: texts, bags, tables
bursts          which words burst, and pictures
dated           when they do
keyness         words of two corpora
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
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

__all__ = [
    "Bernoulli",
    "BetaBinomial",
    "Binomial",
    "Bursts",
    "CountComparison",
    "CountData",
    "CountDistribution",
    "CountFit",
    "CountFits",
    "CountPrior",
    "DatedBursts",
    "GoodnessOfFit",
    "KeyWords",
    "NegativeBinomial",
    "NormalTest",
    "Poisson",
    "ZeroInflated",
    "compare_counts",
    "compare_words",
    "counts_of_texts",
    "counts_report",
    "dispersion_test",
    "draw_bursts",
    "draw_comparison",
    "expected_counts",
    "find_bursts",
    "find_dated_bursts",
    "fit_count_table",
    "fit_counts",
    "goodness_of_fit",
    "likelihood_ratio",
    "read_count_bags",
    "read_count_table",
    "vuong_test",
    "zero_excess_test",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "bursts": "Bursts counts_report draw_bursts draw_comparison find_bursts",
        "criticism": "CountComparison GoodnessOfFit NormalTest compare_counts dispersion_test "
        "expected_counts goodness_of_fit likelihood_ratio vuong_test zero_excess_test",
        "dated": "DatedBursts find_dated_bursts",
        "distributions": "Bernoulli BetaBinomial Binomial CountDistribution NegativeBinomial Poisson ZeroInflated",
        "fitting": "CountFit CountFits CountPrior fit_count_table fit_counts",
        "keyness": "KeyWords compare_words",
        "reading": "CountData counts_of_texts read_count_bags read_count_table",
    },
)
