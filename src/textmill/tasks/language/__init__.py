"""Which languages a text is in, and where they change.

counts       LanguageCounts: words by language, which add
relevance    what a word says of a language
letters      what the letters of an unknown word say
records      both as bytes that a look-up reads in place
rewriting    records with other words, for some languages, without accents
thresholds   when a language is asserted, and how sure one is
answers      what is said of a text, and what is needed to assert a language
code         is a text source code?
identifier   LanguageIdentifier: the languages of a text, with the model that comes with the package
editing      models changed by hand: patches, lists, differences, dumps
letterpaths  what each letter of a text says, for cutting letter by letter
segmenter    LanguageSegmenter: where the language changes
builders     documents in several languages, text of pages
evaluation   precision and recall of sets, words of segmented texts
pages        a text in the colors of its languages
jobs         what the commands do
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.language.answers import LanguageAnswer, LanguageScores, RelativeAccepted, WordEvidence
    from textmill.tasks.language.builders import build_documents, page_text, repeated_once, strip_accents
    from textmill.tasks.language.counts import LanguageCounts, words_of
    from textmill.tasks.language.editing import (
        WordChange,
        apply_patch,
        diff_models,
        dump_lines,
        patch_lines,
        with_lists,
    )
    from textmill.tasks.language.evaluation import (
        LanguageEvaluation,
        TokenCounts,
        describe_evaluation,
        evaluate_languages,
        evaluate_segments,
        throughput,
    )
    from textmill.tasks.language.identifier import LanguageIdentifier
    from textmill.tasks.language.jobs import (
        describe_languages,
        read_labeled,
        read_word_lists,
        train_identifier,
    )
    from textmill.tasks.language.pages import languages_page
    from textmill.tasks.language.relevance import word_relevances
    from textmill.tasks.language.segmenter import LanguageSegment, LanguageSegmenter, language_shares
    from textmill.tasks.language.thresholds import best_threshold

__all__ = [
    "LanguageAnswer",
    "LanguageCounts",
    "LanguageEvaluation",
    "LanguageIdentifier",
    "LanguageScores",
    "LanguageSegment",
    "LanguageSegmenter",
    "RelativeAccepted",
    "TokenCounts",
    "WordChange",
    "WordEvidence",
    "apply_patch",
    "best_threshold",
    "build_documents",
    "describe_evaluation",
    "describe_languages",
    "diff_models",
    "dump_lines",
    "evaluate_languages",
    "evaluate_segments",
    "language_shares",
    "languages_page",
    "page_text",
    "patch_lines",
    "read_labeled",
    "read_word_lists",
    "repeated_once",
    "strip_accents",
    "throughput",
    "train_identifier",
    "with_lists",
    "word_relevances",
    "words_of",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "answers": "LanguageAnswer LanguageScores RelativeAccepted WordEvidence",
        "builders": "build_documents page_text repeated_once strip_accents",
        "counts": "LanguageCounts words_of",
        "editing": "WordChange apply_patch diff_models dump_lines patch_lines with_lists",
        "evaluation": "LanguageEvaluation TokenCounts describe_evaluation evaluate_languages evaluate_segments "
        "throughput",
        "identifier": "LanguageIdentifier",
        "jobs": "describe_languages read_labeled read_word_lists train_identifier",
        "pages": "languages_page",
        "relevance": "word_relevances",
        "segmenter": "LanguageSegment LanguageSegmenter language_shares",
        "thresholds": "best_threshold",
    },
)
