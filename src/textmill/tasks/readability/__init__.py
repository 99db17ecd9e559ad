"""How hard is a text: formulas, features at five levels of language, graders trained on texts with levels.

resources     syllables, familiar words and classes of tags of a language
formulas      eleven classic formulas
documents     annotated texts
annotations   reading them: trees, CoNLL-U, CoreNLP
annotator     making annotations, by models and by rules
graded        texts with levels: read, reduced, ordered
layers        annotated texts as arrays
features      features that need no learning
discourse     lexical chains, coreference, the grid of entities
wordnet       nouns of WordNet
perplexities  n-gram models of each level, informative and common words
leaks         what gives levels away
learners      levels from rows of features
preparation   texts made ready for learning
grader        ReadabilityGrader: trained on texts with levels, grades new ones
protocol      cross-validation over groups, nested or as in the paper
explanation   why a text is hard
sample        articles at three levels
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.readability.annotations import (
        read_annotated,
        read_annotated_conllu,
        read_annotated_trees,
        read_corenlp,
    )
    from textmill.tasks.readability.annotator import Annotator
    from textmill.tasks.readability.documents import AnnotatedText, Mention
    from textmill.tasks.readability.explanation import (
        FeatureShare,
        HardSentence,
        explain_groups,
        hardest_sentences,
    )
    from textmill.tasks.readability.external import external_models
    from textmill.tasks.readability.features import (
        FEATURES,
        GROUPS,
        Feature,
        FeatureTable,
        chosen_features,
        static_features,
    )
    from textmill.tasks.readability.formulas import FORMULAS, TextCounts, count_texts
    from textmill.tasks.readability.graded import (
        GradedTexts,
        is_article,
        order_levels,
        read_graded_texts,
        reduce_text,
    )
    from textmill.tasks.readability.grader import GradedLevels, MissingFeatures, ReadabilityGrader
    from textmill.tasks.readability.layers import Layers
    from textmill.tasks.readability.leaks import Leak, LeakWarning, find_leaks, find_versions, hold_out_leak
    from textmill.tasks.readability.learners import LevelLearner
    from textmill.tasks.readability.perplexities import LevelModels, TokenArrays, information_gain
    from textmill.tasks.readability.preparation import PreparedTexts, prepare, prepare_graded
    from textmill.tasks.readability.protocol import ComparedSet, CrossValidated, FeatureSet, cross_validate, draw_levels
    from textmill.tasks.readability.resources import (
        LanguageResources,
        learn_syllable_rules,
        read_abbreviations,
        read_endings,
        read_familiar_words,
        read_syllable_rules,
    )
    from textmill.tasks.readability.sample import sample_graded_texts
    from textmill.tasks.readability.wordnet import WordNet

__all__ = [
    "FEATURES",
    "FORMULAS",
    "GROUPS",
    "AnnotatedText",
    "Annotator",
    "ComparedSet",
    "CrossValidated",
    "Feature",
    "FeatureSet",
    "FeatureShare",
    "FeatureTable",
    "GradedLevels",
    "GradedTexts",
    "HardSentence",
    "LanguageResources",
    "Layers",
    "Leak",
    "LeakWarning",
    "LevelLearner",
    "LevelModels",
    "Mention",
    "MissingFeatures",
    "PreparedTexts",
    "ReadabilityGrader",
    "TextCounts",
    "TokenArrays",
    "WordNet",
    "chosen_features",
    "count_texts",
    "cross_validate",
    "draw_levels",
    "explain_groups",
    "external_models",
    "find_leaks",
    "find_versions",
    "hardest_sentences",
    "hold_out_leak",
    "information_gain",
    "is_article",
    "learn_syllable_rules",
    "order_levels",
    "prepare",
    "prepare_graded",
    "read_abbreviations",
    "read_annotated",
    "read_annotated_conllu",
    "read_annotated_trees",
    "read_corenlp",
    "read_endings",
    "read_familiar_words",
    "read_graded_texts",
    "read_syllable_rules",
    "reduce_text",
    "sample_graded_texts",
    "static_features",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "annotations": "read_annotated read_annotated_conllu read_annotated_trees read_corenlp",
        "annotator": "Annotator",
        "documents": "AnnotatedText Mention",
        "explanation": "FeatureShare HardSentence explain_groups hardest_sentences",
        "features": "FEATURES GROUPS Feature FeatureTable chosen_features static_features",
        "formulas": "FORMULAS TextCounts count_texts",
        "graded": "GradedTexts is_article order_levels read_graded_texts reduce_text",
        "grader": "GradedLevels MissingFeatures ReadabilityGrader",
        "layers": "Layers",
        "leaks": "Leak LeakWarning find_leaks find_versions hold_out_leak",
        "learners": "LevelLearner",
        "external": "external_models",
        "perplexities": "LevelModels TokenArrays information_gain",
        "preparation": "PreparedTexts prepare prepare_graded",
        "protocol": "ComparedSet CrossValidated FeatureSet cross_validate draw_levels",
        "resources": "LanguageResources learn_syllable_rules read_abbreviations read_endings read_familiar_words "
        "read_syllable_rules",
        "sample": "sample_graded_texts",
        "wordnet": "WordNet",
    },
)
