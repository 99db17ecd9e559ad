"""Sequence labeling: observation tests, linear-chain models, decoding, evaluation, formats of other tools.

patterns     the language that says which tests are made at each token
regexes      what its commands do to one value
reports      what people see of a training run
explanations   why a token got its label
encoder      the tests of a model, and how tokens are turned into them
attributes   CRFsuite's data files
comparison   paired tests of two taggers
chainmodel   what trained chains share: prediction, confidence, exchange with other formats
confusions   what a tagger got wrong, in context
counted      conditional Markov models by counting
counts       what each pattern brings to a model
crf          linear-chain conditional random fields
crossval     cross-validation with a development part
crfsuite     model files of CRFsuite
decoders     Viterbi, posterior, n best, restrictions, confidence of spans
datasets     labeled sequences from files
defaults     patterns for those who give none
dumps        weights as text, and back
evaluation   token, sequence and chunk figures of a tagger's answers
expected_utility   expected F of sets of items, and the sets of greatest expected F
exchange     taggers from and into files of any kind
features     where the weights of a model are
formats      models of Wapiti, dumps of CRFsuite
inspection   the strongest weights of a label, a word, a pair of labels
hidden_states   hidden states of labels: numbers, names, weights to begin with
label_models   binary labels that depend on each other, and decoding under them
labelpaths   labelings of chains of hidden states, with certificates
latent       latent-dynamic CRFs: labels with hidden states
labeling     files labeled, in the layout of Wapiti
machines     CRFs as weighted transducers
markov       conditional Markov models
probability_files   probabilities of items from files
stepchain    chains given by distributions of the next label
classified   chains whose distribution is any classifier
runningtext  sentences, tokens and labels of running text
simple_functions   scores by a small automaton, and their expectations
trigrams     tests of three states
trainable    training that CRFs and conditional Markov models share
training     objective, algorithms, and the run around them
tuning       settings by trying, on development sequences
upgrades     files of older formats
utility_tags   tags of greatest expected F
encoding     sequences as arrays of test ids, what every model of this package reads

chainmodel says where models of segments (semimarkov) will stand.
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.sequence.attributes import AttributeSequence, read_attributes, write_attributes
    from textmill.sequence.boundaries import BoundaryScores, evaluate_boundaries
    from textmill.sequence.candidate_filter import CandidateFilter, FilterAudit, LostSpan
    from textmill.sequence.candidates import Candidates, all_candidates, gold_spans
    from textmill.sequence.chainmodel import ChainModel
    from textmill.sequence.classified import ClassifierMarkov
    from textmill.sequence.comparison import TagComparison, compare_columns, compare_tags
    from textmill.sequence.confusions import TagError, column_errors, errors_by_kind, tag_errors
    from textmill.sequence.counted import CountedMarkov, Evidence, default_chain
    from textmill.sequence.counts import active_tests, count_by_pattern, patterns_of_tests
    from textmill.sequence.crf import CRF
    from textmill.sequence.crfsuite import attributes_of, read_crfsuite, write_crfsuite
    from textmill.sequence.crossval import Split, cross_validate, folds
    from textmill.sequence.datasets import (
        DATA_FORMATS,
        LabeledSequences,
        check_labels,
        hold_out,
        read_labeled,
        read_rows,
        split_labels,
    )
    from textmill.sequence.decoders import (
        ChainScorer,
        Hypothesis,
        best_labels,
        forced_labels,
        markov_steps,
        posterior,
        span_confidence,
        viterbi,
    )
    from textmill.sequence.defaults import default_patterns, describe_default
    from textmill.sequence.dumps import read_dump, update_weights, write_dump
    from textmill.sequence.encoder import Encoder, FeatureCounts
    from textmill.sequence.encoding import Active, Encoded, label_ids
    from textmill.sequence.evaluation import (
        FIGURES,
        TagScores,
        check_predicted,
        evaluate_columns,
        evaluate_tags,
        gold_and_predicted,
    )
    from textmill.sequence.exchange import TAGGER_FORMATS, TAGGERS, read_tagger, tagger_of, write_tagger
    from textmill.sequence.expected_utility import (
        DECODERS,
        Decoding,
        SetDistribution,
        decode_f,
        decode_f_sets,
        decode_sets,
        decode_utility,
        expected_f,
        expected_f_curve,
        expected_f_gradient,
        expected_f_loss,
        f_distribution,
    )
    from textmill.sequence.explanations import Explanation, explain_labels
    from textmill.sequence.features import FeatureLayout, Features
    from textmill.sequence.formats import (
        ChainWeights,
        read_crfsuite_dump,
        read_wapiti,
        write_wapiti,
    )
    from textmill.sequence.inspection import FeatureWeight, top_features
    from textmill.sequence.label_models import (
        MarkovLabels,
        decode_chain_f,
        decode_joint_f,
        expected_value,
    )
    from textmill.sequence.labeling import (
        LabelingOptions,
        TagRepairs,
        label_attributes,
        label_sentences,
        label_tests,
        repair_lines,
        split_sentence,
    )
    from textmill.sequence.labelpaths import (
        SEARCHES,
        Certificate,
        HiddenScorer,
        LabelPaths,
        SearchLimits,
        best_label_paths,
        hidden_paths,
        label_log_probabilities,
        most_probable_states,
        state_probabilities,
    )
    from textmill.sequence.latent import LatentCRF
    from textmill.sequence.machines import tagger_machine, token_symbol
    from textmill.sequence.markov import ConditionalMarkov
    from textmill.sequence.patterns import SYNTAXES, Command, Pattern, nest_patterns, parse_patterns
    from textmill.sequence.probability_files import ItemSet, read_probabilities
    from textmill.sequence.reports import (
        SegmentSummary,
        TrainingSummary,
        TrainingTable,
        draw_training,
        summary_of,
        write_training_log,
    )
    from textmill.sequence.runningtext import LabeledSentence, LabeledSpan, check_words_only, label_text, token_spans
    from textmill.sequence.segment_choice import Segment
    from textmill.sequence.segment_data import SegmentData, SegmentObjective
    from textmill.sequence.segment_explanations import SegmentExplanation, explain_segments
    from textmill.sequence.segment_labeling import label_segments, label_spans, read_segment_tagger, seen_columns
    from textmill.sequence.segment_patterns import (
        PRESETS,
        SegmentPattern,
        normalized,
        parse_segment_patterns,
        segment_patterns,
        word_form,
    )
    from textmill.sequence.semimarkov import (
        HISTORIES,
        LongSegments,
        SemiMarkovCRF,
        entity_history,
        plain_labels,
    )
    from textmill.sequence.simple_functions import (
        CountFunction,
        Expectation,
        Hamming,
        SimpleFunction,
        WindowFunction,
        ZeroOne,
        evaluate_function,
        expectation,
        expectations,
        expected_hamming,
        expected_window_rate,
    )
    from textmill.sequence.stepchain import StepChain
    from textmill.sequence.trainable import NoWeights
    from textmill.sequence.training.algorithms import (
        ALGORITHMS,
        CG,
        LBFGS,
        OWLQN,
        RPROP,
        SGDL1,
        SGDL2,
        Algorithm,
        BlockDescent,
        Perceptron,
    )
    from textmill.sequence.tuning import (
        TunedCell,
        best_cell,
        draw_tuning,
        refit_tagger,
        tune_taggers,
        write_tuning,
    )

__all__ = [
    "ALGORITHMS",
    "CG",
    "CRF",
    "DATA_FORMATS",
    "DECODERS",
    "FIGURES",
    "HISTORIES",
    "LBFGS",
    "OWLQN",
    "PRESETS",
    "RPROP",
    "SEARCHES",
    "SGDL1",
    "SGDL2",
    "SYNTAXES",
    "TAGGERS",
    "TAGGER_FORMATS",
    "Active",
    "Algorithm",
    "AttributeSequence",
    "BlockDescent",
    "BoundaryScores",
    "CandidateFilter",
    "Candidates",
    "Certificate",
    "ChainModel",
    "ChainScorer",
    "ChainWeights",
    "ClassifierMarkov",
    "Command",
    "ConditionalMarkov",
    "CountFunction",
    "CountedMarkov",
    "Decoding",
    "Encoded",
    "Encoder",
    "Evidence",
    "Expectation",
    "Explanation",
    "FeatureCounts",
    "FeatureLayout",
    "FeatureWeight",
    "Features",
    "FilterAudit",
    "Hamming",
    "HiddenScorer",
    "Hypothesis",
    "ItemSet",
    "LabelPaths",
    "LabeledSentence",
    "LabeledSequences",
    "LabeledSpan",
    "LabelingOptions",
    "LatentCRF",
    "LongSegments",
    "LostSpan",
    "MarkovLabels",
    "NoWeights",
    "Pattern",
    "Perceptron",
    "SearchLimits",
    "Segment",
    "SegmentData",
    "SegmentExplanation",
    "SegmentObjective",
    "SegmentPattern",
    "SegmentSummary",
    "SemiMarkovCRF",
    "SetDistribution",
    "SimpleFunction",
    "Split",
    "StepChain",
    "TagComparison",
    "TagError",
    "TagRepairs",
    "TagScores",
    "TrainingSummary",
    "TrainingTable",
    "TunedCell",
    "WindowFunction",
    "ZeroOne",
    "active_tests",
    "all_candidates",
    "attributes_of",
    "best_cell",
    "best_label_paths",
    "best_labels",
    "check_labels",
    "check_predicted",
    "check_words_only",
    "column_errors",
    "compare_columns",
    "compare_tags",
    "count_by_pattern",
    "cross_validate",
    "decode_chain_f",
    "decode_f",
    "decode_f_sets",
    "decode_joint_f",
    "decode_sets",
    "decode_utility",
    "default_chain",
    "default_patterns",
    "describe_default",
    "draw_training",
    "draw_tuning",
    "entity_history",
    "errors_by_kind",
    "evaluate_boundaries",
    "evaluate_columns",
    "evaluate_function",
    "evaluate_tags",
    "expectation",
    "expectations",
    "expected_f",
    "expected_f_curve",
    "expected_f_gradient",
    "expected_f_loss",
    "expected_hamming",
    "expected_value",
    "expected_window_rate",
    "explain_labels",
    "explain_segments",
    "f_distribution",
    "folds",
    "forced_labels",
    "gold_and_predicted",
    "gold_spans",
    "hidden_paths",
    "hold_out",
    "label_attributes",
    "label_ids",
    "label_log_probabilities",
    "label_segments",
    "label_sentences",
    "label_spans",
    "label_tests",
    "label_text",
    "markov_steps",
    "most_probable_states",
    "nest_patterns",
    "normalized",
    "parse_patterns",
    "parse_segment_patterns",
    "patterns_of_tests",
    "plain_labels",
    "posterior",
    "read_attributes",
    "read_crfsuite",
    "read_crfsuite_dump",
    "read_dump",
    "read_labeled",
    "read_probabilities",
    "read_rows",
    "read_segment_tagger",
    "read_tagger",
    "read_wapiti",
    "refit_tagger",
    "repair_lines",
    "seen_columns",
    "segment_patterns",
    "span_confidence",
    "split_labels",
    "split_sentence",
    "state_probabilities",
    "summary_of",
    "tag_errors",
    "tagger_machine",
    "tagger_of",
    "token_spans",
    "token_symbol",
    "top_features",
    "tune_taggers",
    "update_weights",
    "viterbi",
    "word_form",
    "write_attributes",
    "write_crfsuite",
    "write_dump",
    "write_tagger",
    "write_training_log",
    "write_tuning",
    "write_wapiti",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "attributes": "AttributeSequence read_attributes write_attributes",
        "boundaries": "BoundaryScores evaluate_boundaries",
        "candidate_filter": "CandidateFilter FilterAudit LostSpan",
        "candidates": "Candidates all_candidates gold_spans",
        "chainmodel": "ChainModel",
        "comparison": "TagComparison compare_columns compare_tags",
        "confusions": "TagError column_errors errors_by_kind tag_errors",
        "classified": "ClassifierMarkov",
        "counted": "CountedMarkov Evidence default_chain",
        "counts": "active_tests count_by_pattern patterns_of_tests",
        "crf": "CRF",
        "crossval": "Split cross_validate folds",
        "crfsuite": "attributes_of read_crfsuite write_crfsuite",
        "datasets": "DATA_FORMATS LabeledSequences check_labels hold_out read_labeled read_rows split_labels",
        "decoders": "ChainScorer Hypothesis best_labels forced_labels markov_steps posterior span_confidence viterbi",
        "defaults": "default_patterns describe_default",
        "dumps": "read_dump update_weights write_dump",
        "encoder": "Encoder FeatureCounts",
        "encoding": "Active Encoded label_ids",
        "evaluation": "FIGURES TagScores check_predicted evaluate_columns evaluate_tags gold_and_predicted",
        "expected_utility": "DECODERS Decoding SetDistribution decode_f decode_f_sets decode_sets decode_utility "
        "expected_f expected_f_curve expected_f_gradient expected_f_loss f_distribution",
        "explanations": "Explanation explain_labels",
        "exchange": "TAGGERS TAGGER_FORMATS read_tagger tagger_of write_tagger",
        "features": "FeatureLayout Features",
        "formats": "ChainWeights read_crfsuite_dump read_wapiti write_wapiti",
        "inspection": "FeatureWeight top_features",
        "label_models": "MarkovLabels decode_chain_f decode_joint_f expected_value",
        "labeling": "LabelingOptions TagRepairs label_attributes label_sentences label_tests repair_lines "
        "split_sentence",
        "labelpaths": "SEARCHES Certificate HiddenScorer LabelPaths SearchLimits best_label_paths hidden_paths "
        "label_log_probabilities most_probable_states state_probabilities",
        "latent": "LatentCRF",
        "machines": "tagger_machine token_symbol",
        "markov": "ConditionalMarkov",
        "patterns": "SYNTAXES Command Pattern nest_patterns parse_patterns",
        "probability_files": "ItemSet read_probabilities",
        "reports": "SegmentSummary TrainingSummary TrainingTable draw_training summary_of write_training_log",
        "runningtext": "LabeledSentence LabeledSpan label_text token_spans check_words_only",
        "segment_choice": "Segment",
        "segment_data": "SegmentData SegmentObjective",
        "segment_explanations": "SegmentExplanation explain_segments",
        "segment_labeling": "label_segments label_spans read_segment_tagger seen_columns",
        "segment_patterns": "PRESETS SegmentPattern normalized parse_segment_patterns segment_patterns word_form",
        "semimarkov": "HISTORIES LongSegments SemiMarkovCRF entity_history plain_labels",
        "simple_functions": "CountFunction Expectation Hamming SimpleFunction WindowFunction ZeroOne evaluate_function "
        "expectation expectations expected_hamming expected_window_rate",
        "stepchain": "StepChain",
        "trainable": "NoWeights",
        "tuning": "TunedCell best_cell draw_tuning refit_tagger tune_taggers write_tuning",
        "training.algorithms": "ALGORITHMS CG LBFGS OWLQN RPROP SGDL1 SGDL2 Algorithm BlockDescent Perceptron",
    },
)
