"""From letters to sounds: a pronunciation model from a word list, small, quick and readable.

lexicon      words and pronunciations: reading, writing, harvesting
sources      words of a text, programs that pronounce, made-up words
evidence     bags of symbols, rules, interpolation
alignment    the target of every position, by four methods
windows      positions as rows of letters
entries      words and lexicon entries, checked, as numbers
walking      words through a tree
learning     from a lexicon to a tree: settings chosen by words kept apart, alignment by trees
inflections  endings that sound as a table says
model        PronunciationModel: trained on a lexicon, pronounces words
evaluation   counts that add, sweeps, errors by context, speed
exports      C code, a transducer, spellings of sounds
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.pronunciation.alignment import AlignedLexicon, align_lexicon
    from textmill.tasks.pronunciation.evaluation import (
        ContextErrors,
        LinkTable,
        PronunciationCounts,
        WorstEntries,
        context_errors,
        draw_alignment,
        draw_links,
        evaluate_pronunciations,
        letter_node,
        link_table,
        model_size,
        split_lexicon,
        word_interval,
        worst_entries,
    )
    from textmill.tasks.pronunciation.evidence import (
        RulePair,
        bag_counts,
        foreign_phonemes,
        make_aligner,
        pair_weights,
        read_rules,
    )
    from textmill.tasks.pronunciation.exports import model_code, spellings, to_transducer
    from textmill.tasks.pronunciation.inflections import Inflection
    from textmill.tasks.pronunciation.lexicon import (
        Entry,
        Spelling,
        find_overlap,
        group_entries,
        read_lexicon,
        write_lexicon,
    )
    from textmill.tasks.pronunciation.model import PronunciationModel, Sounding
    from textmill.tasks.pronunciation.sources import pronounce_by_rules, sample_lexicon
    from textmill.tasks.pronunciation.windows import padded_targets, windows_of

__all__ = [
    "AlignedLexicon",
    "ContextErrors",
    "Entry",
    "Inflection",
    "LinkTable",
    "PronunciationCounts",
    "PronunciationModel",
    "RulePair",
    "Sounding",
    "Spelling",
    "WorstEntries",
    "align_lexicon",
    "bag_counts",
    "context_errors",
    "draw_alignment",
    "draw_links",
    "evaluate_pronunciations",
    "find_overlap",
    "foreign_phonemes",
    "group_entries",
    "letter_node",
    "link_table",
    "make_aligner",
    "model_code",
    "model_size",
    "padded_targets",
    "pair_weights",
    "pronounce_by_rules",
    "read_lexicon",
    "read_rules",
    "sample_lexicon",
    "spellings",
    "split_lexicon",
    "to_transducer",
    "windows_of",
    "word_interval",
    "worst_entries",
    "write_lexicon",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "alignment": "AlignedLexicon align_lexicon",
        "evaluation": "ContextErrors LinkTable PronunciationCounts WorstEntries context_errors "
        "draw_alignment draw_links evaluate_pronunciations letter_node link_table model_size "
        "split_lexicon word_interval worst_entries",
        "evidence": "RulePair bag_counts foreign_phonemes make_aligner pair_weights read_rules",
        "exports": "model_code spellings to_transducer",
        "lexicon": "Entry Spelling find_overlap group_entries read_lexicon write_lexicon",
        "inflections": "Inflection",
        "model": "PronunciationModel Sounding",
        "sources": "pronounce_by_rules sample_lexicon",
        "windows": "padded_targets windows_of",
    },
)
