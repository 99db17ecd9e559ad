"""Why is this a name, and why of this type?

For every candidate phrase of a sentence: what phase 1 gives the span, what rescoring makes of it, the probability of
each type, and the features that speak most for the best type against the second. For phase 1, what each level of
back-off says at the first word of the phrase.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from textmill.linear import CategoricalBayes
from textmill.model import check_fitted
from textmill.sequence import CountedMarkov, Evidence
from textmill.tasks.entities.candidates import words_of
from textmill.tasks.entities.recognizer import EntityRecognizer

__all__ = ["PhraseReasons", "explain_entities"]


class PhraseReasons(NamedTuple):
    """One candidate phrase and what speaks for it."""

    start: int
    end: int
    text: str
    chosen: bool
    span: float  # P(span) of phase 1
    name: float  # P(name | span)
    types: dict[str, float]  # P(type | name)
    features: list[tuple[str, float]]  # of phase 2, for the best type against the second
    evidence: list[Evidence]  # of phase 1, at the first word after O, coarsest first


def explain_entities(model: EntityRecognizer, sentence: Sequence[Any], k: int = 5) -> list[PhraseReasons]:
    """Return the candidates of a sentence with k features each, in the order of the text.

    >>> X = [["Ana", "vive", "en", "Lima"], ["Luis", "vive", "en", "Quito"], ["ella", "vive", "bien"]] * 4
    >>> y = [["B-PER", "O", "O", "B-LOC"], ["B-PER", "O", "O", "B-LOC"], ["O", "O", "O"]] * 4
    >>> reasons = explain_entities(EntityRecognizer().fit(X, y), ["Luis", "vive"])
    >>> [(one.text, one.chosen, max(one.types, key=one.types.get)) for one in reasons]
    [('Luis', True, 'PER')]
    """
    check_fitted(model)
    words = words_of(sentence)
    table = model.candidates([words])
    names = model.classes_.tolist()
    chosen = {(one.start, one.end) for one in model.entities([words])[0]}
    reasons = []
    for i in np.lexsort((table.phrases.end, table.phrases.begin)).tolist():
        start, end = int(table.phrases.begin[i]), int(table.phrases.end[i])
        types = dict(zip(names, np.exp(table.types[i]).tolist(), strict=True))
        evidence: list[Evidence] = []
        if isinstance(model.extractor_, CountedMarkov) and not model.extractor_.joint:
            evidence = model.extractor_.evidence(words, start, ["O"] if start else [])
        reasons.append(
            PhraseReasons(
                start,
                end,
                " ".join(words[start:end]),
                (start, end) in chosen,
                float(table.probability[i]),
                float(table.name[i]),
                types,
                _features(model, table.rows_of(i), types, k),
                evidence,
            )
        )
    return reasons


def _features(model: EntityRecognizer, ids: Any, types: dict[str, float], k: int) -> list[tuple[str, float]]:
    """The features that speak most for the best type against the second."""
    ranked = sorted(types, key=lambda name: -types[name])
    classifier = model.classifier_
    classes = classifier.classes_.tolist()
    if len(ranked) < 2:
        return []
    if isinstance(classifier, CategoricalBayes):
        weights = classifier.feature_weights()
    elif hasattr(classifier, "coef_") and len(classes) > 2:
        weights = np.asarray(classifier.coef_).T
    else:
        return []
    gain = weights[ids, classes.index(ranked[0])] - weights[ids, classes.index(ranked[1])]
    order = np.argsort(-np.abs(gain), kind="stable")[:k]
    return [(model.features_.feature(int(ids[j])), float(gain[j])) for j in order]
