"""Records of a language model: what words and n-grams of letters say, as bytes that a look-up reads in place.

Columns are (keys, rest, begin, languages, values): the values of key i for the languages it lists are
values[begin[i]:begin[i + 1]], and rest[i] is what it says of all others. `native/language/table.h` has the layout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import language as native
from textmill.errors import DataError
from textmill.model import StringTable
from textmill.tasks.language.counts import LanguageCounts
from textmill.tasks.language.letters import letter_evidence, script_shares
from textmill.tasks.language.relevance import entry_words, word_relevances

if TYPE_CHECKING:
    from textmill.tasks.language.identifier import LanguageIdentifier

__all__ = ["GRAM", "WORD", "blended_records", "columns_of", "least_count", "letter_records", "word_records"]

WORD, GRAM = 0, 1  # kinds of records
_PER_COUNT = 1e6  # words that a language has in the mean, for each occurrence that a word must have
_MOST_COUNT = 5
_BLEND = 20_000  # words blended together
_UNSEEN = 0.02  # occurrences of a word that a language does not have, for blending
_NEAR_NOTHING = 0.9  # above log(alpha) by no more than this, a relevance is not worth a pair


def least_count(counts: LanguageCounts, min_count: float | None) -> float:
    """How often a word must occur: `min_count`, or what goes with the amount of text.

    Rare words are most of what short texts of a small corpus can be told by; of a large one they are names and errors,
    and most of the file.

    >>> least_count(LanguageCounts.from_texts(["the cat"], ["en"]), None)
    0.0
    >>> least_count(LanguageCounts.from_frequencies({"en": {"cat": 7_500_000}, "de": {"katze": 500_000}}), None)
    4.0
    """
    if min_count is not None:
        return min_count
    return float(min(_MOST_COUNT, counts.totals_.mean() // _PER_COUNT))


def word_records(counts: LanguageCounts, model: LanguageIdentifier) -> Any:
    """Columns of the words of the counts: relevances as they are defined."""
    relevance = word_relevances(counts, model.alpha, model.background)
    words = entry_words(counts)
    often = np.bincount(words, counts.counts_, minlength=len(counts.words_)) >= least_count(counts, model.min_count)
    stay = often[words]
    if model.evidence == "positive":
        stay &= relevance > model.min_relevance
        rest = 0.0
    else:
        stay &= np.abs(relevance) >= model.min_relevance
        rest = float(np.log(model.alpha))
    size = np.bincount(words[stay], minlength=len(counts.words_))
    rows = np.flatnonzero(often)
    table = counts.words_.take(rows)
    begin = np.concatenate([[0], np.cumsum(size[rows])]).astype(np.int64)
    languages = counts.language_ids_[stay].astype(np.uint8)
    others = np.full(len(table), rest, dtype=np.float32)
    return table.bytes, table.offsets, WORD, others, begin, languages, relevance[stay].astype(np.float32)


def blended_records(counts: LanguageCounts, model: LanguageIdentifier, letters: Any) -> Any:
    """Relevances from frequencies times what letters say, to the power of `letters_weight`.

    q(L | w) ~ (TF(w, C_L) / #(C_L) + _UNSEEN / #(C_L)) p_letters(w | L)^weight        rel = log(alpha + (1 - alpha) N
    q)
    """
    if letters is None:
        raise DataError("letters_weight needs n-grams; set order to 1 at least")
    records = native.write_records(*letters, 0.0)
    slots, tags = native.index_records(records, 0.0)
    number = len(counts.languages_)
    guess = native.Evidence(
        slots, tags, records, 0.0, number, model.order, 1.0, 1e-4, script_shares(counts), model.accents == "strip"
    )
    words = entry_words(counts)
    often = np.bincount(words, counts.counts_, minlength=len(counts.words_)) >= least_count(counts, model.min_count)
    rows = np.flatnonzero(often)
    table = counts.words_.take(rows)
    everyone = np.ones(number, dtype=np.uint8)
    least = float(np.log(model.alpha))
    sizes, languages, values = [np.zeros(1, dtype=np.int64)], [], []
    for start in range(0, len(rows), _BLEND):
        part = rows[start : start + _BLEND]
        dense = np.full((len(part), number), _UNSEEN)
        for i, row in enumerate(part):
            entries = slice(int(counts.begin_[row]), int(counts.begin_[row + 1]))
            dense[i, counts.language_ids_[entries]] += counts.counts_[entries]
        text = "\n".join(table[i] for i in range(start, start + len(part)))
        said = native.signal(guess, native.Texts([text]), 0, everyone)[4].reshape(-1, number)
        if len(said) != len(part):
            raise DataError("the counts hold keys that are no words; count texts again")
        logs = np.log(dense / counts.totals_) + model.letters_weight * said
        share = np.exp(logs - logs.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        relevance = np.log(model.alpha + (1 - model.alpha) * number * share)
        listed = relevance > max(model.min_relevance, least + _NEAR_NOTHING)
        sizes.append(listed.sum(axis=1))
        languages.append(np.nonzero(listed)[1].astype(np.uint8))
        values.append(relevance[listed].astype(np.float32))
    rest = np.full(len(rows), least if model.evidence == "all" else 0.0, dtype=np.float32)
    begin = np.cumsum(np.concatenate(sizes)).astype(np.int64)
    return table.bytes, table.offsets, WORD, rest, begin, np.concatenate(languages), np.concatenate(values)


def letter_records(counts: LanguageCounts, model: LanguageIdentifier) -> Any:
    """Columns of n-grams of letters; None for a model that does not look at letters."""
    if model.order == 0:
        return None
    grams = letter_evidence(
        counts, order=model.order, min_share=model.min_share, prior=model.prior, min_worth=model.min_worth
    )
    return grams.keys.bytes, grams.keys.offsets, GRAM, grams.rest, grams.begin, grams.languages, grams.values


def columns_of(records: NDArray[np.uint8], step: float, kind: int) -> Any:
    """Columns of the records of one kind."""
    keys, offsets, rest, begin, languages, values = native.read_records(records, step, kind)
    return StringTable.from_arrays(keys, offsets), rest, begin, languages, values
