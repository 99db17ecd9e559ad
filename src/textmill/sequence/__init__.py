"""Sequence labelling: observation tests, linear-chain models, decoding, evaluation, formats of other tools.

patterns     the language that says which tests are made at each token
regexes      what its commands do to one value
encoder      the tests of a model, and how tokens are turned into them
attributes   CRFsuite's data files
chainmodel   what trained chains share: prediction, confidence, exchange with other formats
counts       what each pattern brings to a model
crf          linear-chain conditional random fields
crossval     cross-validation with a development part
crfsuite     model files of CRFsuite
decoders     Viterbi, posterior, n best, restrictions, confidence of spans
datasets     labelled sequences from files
dumps        weights as text, and back
evaluation   token, sequence and chunk figures of a tagger's answers
exchange     taggers from and into files of any kind
features     where the weights of a model are
formats      models of Wapiti, dumps of CRFsuite
labeling     files labelled, in the layout of Wapiti
markov       conditional Markov models
training     objective, optimisers, and the run around them
encoding     sequences as arrays of test ids, what every model of this package reads
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.sequence.attributes import AttributeSequence, read_attributes, write_attributes
    from textmill.sequence.chainmodel import ChainModel
    from textmill.sequence.counts import active_tests, count_by_pattern, patterns_of_tests
    from textmill.sequence.crf import CRF, NoWeights
    from textmill.sequence.crfsuite import attributes_of, read_crfsuite, write_crfsuite
    from textmill.sequence.crossval import Split, cross_validate, folds
    from textmill.sequence.datasets import DATA_FORMATS, LabeledSequences, read_labeled, read_rows, split_labels
    from textmill.sequence.decoders import (
        ChainScorer,
        Hypothesis,
        best_labels,
        forced_labels,
        posterior,
        span_confidence,
        viterbi,
    )
    from textmill.sequence.dumps import read_dump, update_weights, write_dump
    from textmill.sequence.encoder import Encoder, FeatureCounts
    from textmill.sequence.encoding import Active, Encoded, label_ids
    from textmill.sequence.evaluation import FIGURES, TagScores, evaluate_columns, evaluate_tags
    from textmill.sequence.exchange import TAGGER_FORMATS, read_tagger, tagger_of, write_tagger
    from textmill.sequence.features import FeatureLayout, Features
    from textmill.sequence.formats import (
        ChainWeights,
        read_crfsuite_dump,
        read_wapiti,
        write_wapiti,
    )
    from textmill.sequence.labeling import label_attributes, label_sentences, label_tests
    from textmill.sequence.markov import ConditionalMarkov
    from textmill.sequence.patterns import SYNTAXES, Command, Pattern, parse_patterns

__all__ = [
    "CRF",
    "DATA_FORMATS",
    "FIGURES",
    "SYNTAXES",
    "TAGGER_FORMATS",
    "Active",
    "AttributeSequence",
    "ChainModel",
    "ChainScorer",
    "ChainWeights",
    "Command",
    "ConditionalMarkov",
    "Encoded",
    "Encoder",
    "FeatureCounts",
    "FeatureLayout",
    "Features",
    "Hypothesis",
    "LabeledSequences",
    "NoWeights",
    "Pattern",
    "Split",
    "TagScores",
    "active_tests",
    "attributes_of",
    "best_labels",
    "count_by_pattern",
    "cross_validate",
    "evaluate_columns",
    "evaluate_tags",
    "folds",
    "forced_labels",
    "label_attributes",
    "label_ids",
    "label_sentences",
    "label_tests",
    "parse_patterns",
    "patterns_of_tests",
    "posterior",
    "read_attributes",
    "read_crfsuite",
    "read_crfsuite_dump",
    "read_dump",
    "read_labeled",
    "read_rows",
    "read_tagger",
    "read_wapiti",
    "span_confidence",
    "split_labels",
    "tagger_of",
    "update_weights",
    "viterbi",
    "write_attributes",
    "write_crfsuite",
    "write_dump",
    "write_tagger",
    "write_wapiti",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "attributes": "AttributeSequence read_attributes write_attributes",
        "chainmodel": "ChainModel",
        "counts": "active_tests count_by_pattern patterns_of_tests",
        "crf": "CRF NoWeights",
        "crossval": "Split cross_validate folds",
        "crfsuite": "attributes_of read_crfsuite write_crfsuite",
        "datasets": "DATA_FORMATS LabeledSequences read_labeled read_rows split_labels",
        "decoders": "ChainScorer Hypothesis best_labels forced_labels posterior span_confidence viterbi",
        "dumps": "read_dump update_weights write_dump",
        "encoder": "Encoder FeatureCounts",
        "encoding": "Active Encoded label_ids",
        "evaluation": "FIGURES TagScores evaluate_columns evaluate_tags",
        "exchange": "TAGGER_FORMATS read_tagger tagger_of write_tagger",
        "features": "FeatureLayout Features",
        "formats": "ChainWeights read_crfsuite_dump read_wapiti write_wapiti",
        "labeling": "label_attributes label_sentences label_tests",
        "markov": "ConditionalMarkov",
        "patterns": "SYNTAXES Command Pattern parse_patterns",
    },
)
