"""How an identifier learns: records from counts, thresholds and probabilities from texts kept apart.

They fill in what a `LanguageIdentifier` has learned (names that end in _). Relevances are those of relevance.py
and letters.py, written by records.py; thresholds.py chooses the rest on held-out texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from textmill._native import language as native
from textmill.errors import DataError
from textmill.model import check_choice, check_range
from textmill.tasks.language.answers import warn_of_relatives
from textmill.tasks.language.counts import LanguageCounts
from textmill.tasks.language.letters import script_shares
from textmill.tasks.language.records import blended_records, letter_records, word_records
from textmill.tasks.language.thresholds import fit_support, fit_temperature, several_lengths, tune_thresholds

if TYPE_CHECKING:
    from textmill.tasks.language.identifier import LanguageIdentifier

__all__ = ["check_settings", "learn", "tune"]


def check_settings(model: LanguageIdentifier) -> None:
    """Refuse hyper-parameters that mean nothing."""
    check_range("alpha", model.alpha, above=0, below=1)
    check_range("letters_alpha", model.letters_alpha, above=0, below=1)
    check_choice("evidence", model.evidence, ("positive", "all"))
    check_choice("accents", model.accents, ("keep", "strip"))
    check_range("min_worth", model.min_worth, at_least=0)
    check_range("held_out", model.held_out, at_least=0, below=1)
    check_range("beta", model.beta, above=0)
    check_range("order", model.order, at_least=0, at_most=8, whole=True)
    if model.min_count is not None:
        check_range("min_count", model.min_count, at_least=0)
    if not isinstance(model.background, LanguageCounts):
        check_choice("background", model.background, ("balanced", "union"))


def learn(model: LanguageIdentifier, counts: LanguageCounts, letters_from: LanguageCounts) -> None:
    """Records of the words of counts and of the n-grams of others, with thresholds that nothing has tuned yet."""
    if counts.accents_ != model.accents:
        raise DataError(f"the counts have accents={counts.accents_!r}, the identifier {model.accents!r}; use the same")
    languages = counts.languages_.to_list()
    if not languages or len(languages) > 255:
        raise DataError(f"{len(languages)} languages were counted; an identifier has 1 to 255")
    missing = sorted(set(model.decoys) - set(languages))
    if missing:
        raise DataError(f"the decoy '{missing[0]}' has no texts; give it some, or leave it out")
    model.classes_ = np.array(languages)
    model.decoy_ = np.isin(model.classes_, list(model.decoys))
    model.accents_ = model.accents
    model.sources_ = []
    model.prior_ = np.zeros(len(languages))
    model.script_ = script_shares(counts)
    most = float(np.log(model.alpha + (1 - model.alpha) * len(languages)))
    letters = letter_records(letters_from, model)
    words = blended_records(counts, model, letters) if model.letters_weight > 0 else word_records(counts, model)
    model.step_ = float(np.float32(max(most, 8.0) / 127)) if model.compact else 0.0
    parts = [native.write_records(*part, model.step_) for part in (words, letters) if part is not None]
    model._index(np.concatenate([np.zeros(0, dtype=np.uint8), *parts]))
    model.thresholds_ = np.full(len(languages), most / 4)
    model.length_part_ = 0.0
    model.temperature_ = [0.8, 0.3]
    model.support_ = []


def tune(model: LanguageIdentifier, X_dev: Sequence[str], y_dev: Sequence[str], beta: float) -> None:
    """Thresholds, probabilities and the rule of support by texts kept apart; warns of relatives that are accepted."""
    number = {code: i for i, code in enumerate(model.classes_.tolist())}
    texts, labels = several_lengths(list(X_dev), [number.get(label, -1) for label in y_dev])
    if not texts:
        raise DataError("thresholds need held-out texts; pass some, or set them with set_thresholds")
    sums = model.sums(texts)
    ids, words = np.array(labels, dtype=np.intp), sums.words.astype(np.float64)
    model.temperature_ = list(fit_temperature(sums.total + model.prior_, ids, words))
    thresholds, model.length_part_ = tune_thresholds(sums.scores, ids, words, beta)
    seen = np.isin(np.arange(len(number)), ids)
    model.thresholds_ = np.where(seen, thresholds, np.median(thresholds[seen]) if seen.any() else model.thresholds_)
    best = np.argmax(sums.total + model.prior_, axis=1)
    mean = sums.total[np.arange(len(best)), best] / np.maximum(words, 1.0)
    coverage = sums.dictionary_words / np.maximum(words, 1.0)
    model.support_ = list(fit_support(mean, coverage, words, np.where(ids < 0, -1, best == ids), beta))
    foreign = [(text, label) for text, label in zip(X_dev, y_dev, strict=True) if label not in number]
    if foreign:
        warn_of_relatives(model.detect_many([text for text, _ in foreign]), [label for _, label in foreign])
