"""Text normalization: numbers, dates, money, measures and abbreviations as words, and words as they are written.

    "Dr. Smith paid $3.50 in 1984."  ->  "Doctor Smith paid three dollars and fifty cents in nineteen eighty four."

normalizer   Normalizer: a grammar on running text, both ways, with alignments
english/     the grammars, in the language of `fst.read_grammar`
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.normalization.normalizer import LANGUAGES, Normalizer, conventions

__all__ = ["LANGUAGES", "Normalizer", "conventions"]

__getattr__, __dir__ = deferred(__name__, {"normalizer": "LANGUAGES Normalizer conventions"})
