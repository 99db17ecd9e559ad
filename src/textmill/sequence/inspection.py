"""What a tagger has learned: its strongest weights, of a label, a word, a test or a pair of labels.

    weight     +2.31: where the test is true, the label is e^2.31 times as likely as without it, all else being equal
    test       the observation test; `b` and other tests that are true everywhere have the weights of plain label pairs
    before     the label before, for weights of pairs; <start> at the start of a sequence, None for weights of one label
    label      the label

A word stands behind the tests that its patterns make of it, wherever in their window: `the` behind `u:w=the`, and
behind `u:s2=he` of a pattern with %suffix. Cost: one visit per weight, one match per test with a weight for a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError
from textmill.model import check_range
from textmill.sequence.chainmodel import ChainModel
from textmill.sequence.encoder import Encoder
from textmill.sequence.patterns import Command, Pattern, parse_patterns
from textmill.sequence.regexes import function_of
from textmill.tables import Rows

__all__ = ["FeatureWeight", "top_features"]

START = "<start>"


class FeatureWeight(NamedTuple):
    """One weight of a tagger; see the module."""

    weight: float
    test: str
    before: str | None
    label: str


def top_features(
    model: ChainModel,
    *,
    label: str | None = None,
    before: str | None = None,
    test: str | None = None,
    word: str | None = None,
    transitions: bool = False,
    k: int = 10,
) -> Rows[FeatureWeight]:
    """The k largest and the k smallest weights, positive first; those of zero are not kept.

    Only weights of `label`, of pairs with the label `before`, of one `test` by its whole name, of tests that a `word`
    has a part in. `transitions` leaves only pairs of labels, whatever the tokens are.

    >>> from textmill.sequence import CRF
    >>> X = [["the", "mill"], ["the", "river"]]
    >>> tagger = CRF(patterns=["u:w=%x[0,0]", "u:s=%suffix[0,0,2]"], algorithm="lbfgs").fit(X, [["D", "N"]] * 2)
    >>> [(feature.test, feature.label) for feature in top_features(tagger, word="the", label="D")]
    [('u:w=the', 'D'), ('u:s=he', 'D')]
    """
    check_range("k", k, at_least=1, whole=True)
    encoder = model.encoder_
    if encoder.hash_bits is not None:
        raise DataError("hashed tests have no names that could be shown; train without hash_bits")
    layout, classes = model.feature_layout_, model.classes_.tolist()
    parts = layout.split(model.features_)
    number = _test_numbers(encoder, parts.bigram, parts.test)
    chosen = np.ones(len(number), bool)
    if label is not None:
        chosen &= parts.label == _class_number(classes, label)
    if before is not None:
        chosen &= parts.source == (-2 if before == START else _class_number(classes, before))
    if test is not None:
        chosen &= number == _test_number(encoder, test)
    fits = _word_matcher(encoder, word) if word is not None else None
    if transitions:
        chosen &= parts.bigram & np.isin(number, [encoder._table().find(name) for name in _plain_tests(encoder)])
    if fits is not None:
        distinct, place = np.unique(number, return_inverse=True)
        fitting = np.array([fits(encoder.tests_[i]) for i in distinct.tolist()], bool)
        chosen &= fitting[place]
    rows = np.flatnonzero(chosen)
    order = rows[np.argsort(-model.weights_[rows], kind="stable")]
    signs = model.weights_[order] > 0
    extremes = [*order[signs][:k].tolist(), *order[~signs][-k:].tolist()]
    sources = {-1: None, -2: START}
    return Rows(
        [
            FeatureWeight(
                float(model.weights_[i]),
                encoder.tests_[int(number[i])],
                sources[source] if (source := int(parts.source[i])) < 0 else classes[source],
                classes[int(parts.label[i])],
            )
            for i in extremes
        ],
        FeatureWeight,
    )


def _test_numbers(encoder: Encoder, bigram: NDArray[np.bool_], row: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers among all tests of unigram and bigram tests."""
    of_unigram, of_bigram = (np.flatnonzero(numbers >= 0) for numbers in encoder.numbers())
    number = np.empty(len(row), np.int64)
    number[bigram], number[~bigram] = of_bigram[row[bigram]], of_unigram[row[~bigram]]
    return number


def _class_number(classes: list[str], label: str) -> int:
    if label not in classes:
        raise DataError(f"the tagger has no label {label!r}; it has {', '.join(classes)}")
    return classes.index(label)


def _test_number(encoder: Encoder, test: str) -> int:
    at = encoder._table().find(test)
    if at < 0:
        raise DataError(f"the tagger has no test {test!r}; a test is named as in `textmill tag dump`, such as u:w=the")
    return int(at)


def _plain_tests(encoder: Encoder) -> set[str]:
    """Tests that are true at every token: their bigram weights are those of label pairs."""
    if not encoder.patterns_:
        return {"b"}
    patterns = parse_patterns(encoder.patterns_, syntax=encoder.syntax)
    return {pattern.text for pattern in patterns if not _commands(pattern)}


def _commands(pattern: Pattern) -> list[Command]:
    return [part for part in pattern.parts if isinstance(part, Command)]


def _word_matcher(encoder: Encoder, word: str) -> Callable[[str], bool]:
    """Whether a test is one of those that a token with this word, in the first column, has a part in."""
    if not encoder.patterns_:  # attributes such as word:the and w=the
        return lambda test: re.split("[:=]", test[1:])[-1] == word
    forms = []
    for pattern in parse_patterns(encoder.patterns_, syntax=encoder.syntax):
        for chosen in (command for command in _commands(pattern) if command.column == 0):
            function = function_of(chosen, encoder.syntax, encoder.function)
            value = re.escape(word if function is None else function(word))
            texts = (
                re.escape(part) if isinstance(part, str) else value if part is chosen else ".*"
                for part in pattern.parts
            )
            forms.append(re.compile("".join(texts), re.DOTALL))
    return lambda test: any(form.fullmatch(test) for form in forms)
