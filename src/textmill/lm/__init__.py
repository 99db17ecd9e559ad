"""Language models: how likely is a sequence of words, and what may follow.

ngram           n-gram models: counting, scoring, sampling
smoothing       from counts to probabilities, in seven ways
counting        n-grams of a stream, in memory, through files or on a cluster
leave_one_out   scores of documents by a model of all the others
mixing          several models, weighed
pruning         smaller models: leave out what says least
quantizing      smaller files: numbers of 4 to 16 bits
perplexity      how well a model predicts documents, as SRILM reports it
queries         what comes next, how often was this seen
formats         ARPA files in and out
pairs           pair n-grams: from strings to strings
pair_tables     symbols and words of pair n-grams as numbers
pair_machine    pair n-grams as transducers
candidates      outputs with probabilities, one by one or as arrays
acceptors       which outputs are allowed
classes         classes of words and chunks, by exchange
class_codes     classes split in two, with codes of bits
discriminative  passive-aggressive learning with kernels: right or wrong
feature_sets    examples as sets of features
user_kernels    rounds with a kernel written in Python
expansion       kernels as weights of conjunctions, for speed
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.lm.acceptors import OutputAcceptor
    from textmill.lm.candidates import Candidate, CandidateArrays
    from textmill.lm.classes import ClassMember, WordClasses
    from textmill.lm.discriminative import PassiveAggressive
    from textmill.lm.expansion import ExpandedKernel
    from textmill.lm.feature_sets import FeatureSets
    from textmill.lm.formats import arpa_of, from_arpa, read_model, to_arpa
    from textmill.lm.leave_one_out import LeaveOneOut
    from textmill.lm.mixing import Mixture
    from textmill.lm.ngram import NGramModel, SentenceScores
    from textmill.lm.pairs import PairModel, UnalignedPairs
    from textmill.lm.perplexity import PerplexityReport, perplexity_report
    from textmill.lm.pruning import prune
    from textmill.lm.quantizing import quantize
    from textmill.lm.queries import NGram, frequent_ngrams, next_words
    from textmill.lm.smoothing import SMOOTHINGS

__all__ = [
    "SMOOTHINGS",
    "Candidate",
    "CandidateArrays",
    "ClassMember",
    "ExpandedKernel",
    "FeatureSets",
    "LeaveOneOut",
    "Mixture",
    "NGram",
    "NGramModel",
    "OutputAcceptor",
    "PairModel",
    "PassiveAggressive",
    "PerplexityReport",
    "SentenceScores",
    "UnalignedPairs",
    "WordClasses",
    "arpa_of",
    "frequent_ngrams",
    "from_arpa",
    "next_words",
    "perplexity_report",
    "prune",
    "quantize",
    "read_model",
    "to_arpa",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "acceptors": "OutputAcceptor",
        "candidates": "Candidate CandidateArrays",
        "classes": "ClassMember WordClasses",
        "discriminative": "PassiveAggressive",
        "expansion": "ExpandedKernel",
        "feature_sets": "FeatureSets",
        "formats": "arpa_of from_arpa read_model to_arpa",
        "leave_one_out": "LeaveOneOut",
        "mixing": "Mixture",
        "ngram": "NGramModel SentenceScores",
        "pairs": "PairModel UnalignedPairs",
        "perplexity": "PerplexityReport perplexity_report",
        "pruning": "prune",
        "quantizing": "quantize",
        "queries": "NGram frequent_ngrams next_words",
        "smoothing": "SMOOTHINGS",
    },
)
