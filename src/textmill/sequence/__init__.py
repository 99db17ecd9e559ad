"""Sequence labelling: observation tests, linear-chain models, decoding, evaluation, formats of other tools.

patterns     the language that says which tests are made at each token
regexes      what its commands do to one value
encoder      the tests of a model, and how tokens are turned into them
attributes   CRFsuite's data files
crossval     cross-validation with a development part
datasets     labelled sequences from files
evaluation   token, sequence and chunk figures of a tagger's answers
formats      models and dumps of Wapiti and CRFsuite
encoding     sequences as arrays of test ids, what every model of this package reads
"""

from textmill.sequence.attributes import AttributeSequence, read_attributes, write_attributes
from textmill.sequence.crossval import Split, cross_validate, folds
from textmill.sequence.datasets import DATA_FORMATS, LabelledSequences, read_labelled, split_labels
from textmill.sequence.encoder import Encoder, FeatureCounts
from textmill.sequence.encoding import Active, Encoded, label_ids
from textmill.sequence.evaluation import FIGURES, TagScores, evaluate_columns, evaluate_tags
from textmill.sequence.formats import (
    ChainWeights,
    read_crfsuite_dump,
    read_wapiti,
    update_weights,
    write_dump,
    write_wapiti,
)
from textmill.sequence.patterns import SYNTAXES, Command, Pattern, parse_patterns

__all__ = [
    "DATA_FORMATS",
    "FIGURES",
    "SYNTAXES",
    "Active",
    "AttributeSequence",
    "ChainWeights",
    "Command",
    "Encoded",
    "Encoder",
    "FeatureCounts",
    "LabelledSequences",
    "Pattern",
    "Split",
    "TagScores",
    "cross_validate",
    "evaluate_columns",
    "evaluate_tags",
    "folds",
    "label_ids",
    "parse_patterns",
    "read_attributes",
    "read_crfsuite_dump",
    "read_labelled",
    "read_wapiti",
    "split_labels",
    "update_weights",
    "write_attributes",
    "write_dump",
    "write_wapiti",
]
