"""Names of people, places and organizations: where they are, then what they are.

recognizer    EntityRecognizer: two phases, trained on tagged sentences
extraction    phase 1: the probable spans of sentences
classification   phase 2: classifiers of whole phrases
candidates    candidate phrases as arrays
presets       what a recognizer is made of, by quality and language
phrases       features of phrases
words         views of words
rescoring     both phases joined: which candidates are names, and of which type
spans         tags as arrays of spans, documents
jobs          column files and running text, in and out
evaluation    figures of each phase and of both, errors by kind
explanation   why a phrase is a name, and of its type
tuning        settings by trying them on development sentences
pages         an evaluation as a page
sample        made-up sentences with names
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.entities.candidates import CandidateTable
    from textmill.tasks.entities.evaluation import (
        ERROR_KINDS,
        EntityError,
        EntityEvaluation,
        evaluate_entities,
        find_errors,
    )
    from textmill.tasks.entities.explanation import PhraseReasons, explain_entities
    from textmill.tasks.entities.jobs import (
        EntityData,
        TextEntity,
        label_entities,
        label_running_text,
        read_entities,
    )
    from textmill.tasks.entities.pages import entity_report
    from textmill.tasks.entities.phrases import PhraseFeatures, PhraseRows, Phrases
    from textmill.tasks.entities.presets import LANGUAGES, PRESETS, Language
    from textmill.tasks.entities.recognizer import Entity, EntityRecognizer
    from textmill.tasks.entities.sample import sample_entities
    from textmill.tasks.entities.tuning import TunedSetting, tune_entities
    from textmill.tasks.entities.words import VIEWS, strip_accents

__all__ = [
    "ERROR_KINDS",
    "LANGUAGES",
    "PRESETS",
    "VIEWS",
    "CandidateTable",
    "Entity",
    "EntityData",
    "EntityError",
    "EntityEvaluation",
    "EntityRecognizer",
    "Language",
    "PhraseFeatures",
    "PhraseReasons",
    "PhraseRows",
    "Phrases",
    "TextEntity",
    "TunedSetting",
    "entity_report",
    "evaluate_entities",
    "explain_entities",
    "find_errors",
    "label_entities",
    "label_running_text",
    "read_entities",
    "sample_entities",
    "strip_accents",
    "tune_entities",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "candidates": "CandidateTable",
        "evaluation": "ERROR_KINDS EntityError EntityEvaluation evaluate_entities find_errors",
        "explanation": "PhraseReasons explain_entities",
        "jobs": "EntityData TextEntity label_entities label_running_text read_entities",
        "pages": "entity_report",
        "phrases": "PhraseFeatures PhraseRows Phrases",
        "presets": "LANGUAGES PRESETS Language",
        "recognizer": "Entity EntityRecognizer",
        "sample": "sample_entities",
        "tuning": "TunedSetting tune_entities",
        "words": "VIEWS strip_accents",
    },
)
