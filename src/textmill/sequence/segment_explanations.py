"""Why a segment was chosen: the tests that speak for it and against the best segmentation without it.

Every segment of the answer is held against what would be there if it were forbidden:

    with      the best segmentation that has the segment
    without   the best one that does not
    lead      score(with) - score(without) = sum over features of weight x (value in with - value in without)

What speaks for the segment has a positive part of the lead, what speaks for its rival a negative one. Segments are
chosen by their own probabilities (`predict_segments`), so a lead may be negative. Cost: two searches for each segment,
and one pass over the tests of both segmentations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from textmill.corpus import Span
from textmill.model import check_fitted, check_range
from textmill.sequence.segment_features import SegmentFeatures
from textmill.sequence.semimarkov import SemiMarkovCRF

__all__ = ["SegmentExplanation", "explain_segments"]


class SegmentExplanation(NamedTuple):
    """Why a segment is there: `tests` speak for it (positive) or for its rival (negative), strongest first.

    `other` are the segments that only the best segmentation without it has. Tests are named `test|label` or
    `test|state|label`; `lead` is the sum over all of them, listed or not.
    """

    begin: int
    end: int
    label: str
    probability: float
    other: list[Span]
    lead: float
    tests: list[tuple[str, float]]


def explain_segments(model: SemiMarkovCRF, X: Iterable[Any], *, k: int = 5) -> list[list[SegmentExplanation]]:
    """Explain every segment that `predict_segments` gives by its k strongest tests.

    >>> X, y = [["in", "Mill", "Hill"]] * 3, [["O", "B-LOC", "I-LOC"]] * 3
    >>> tagger = SemiMarkovCRF(patterns=["s:string=%x[b:e,0]"], max_length=2, filter=None, l2=0.1).fit(X, y)
    >>> [[why]] = explain_segments(tagger, X[:1], k=1)
    >>> why.begin, why.end, why.label, why.tests[0][0]
    (1, 3, 'LOC', 's:string=Mill Hill|LOC')
    """
    check_fitted(model)
    check_range("k", k, at_least=1, whole=True)
    X = list(X)
    chosen = model.predict_segments(X)
    repeated = [x for x, spans in zip(X, chosen, strict=True) for _ in spans]
    spans = [span for some in chosen for span in some]
    if not spans:
        return [[] for _ in X]
    data, pairs = model.rivals(repeated, spans)
    features = SegmentFeatures(model, data)
    chances = model.span_confidence(X, chosen)
    answers: list[list[SegmentExplanation]] = []
    at = 0
    for some, confidence in zip(chosen, chances, strict=True):
        row = []
        for (begin, end, label), probability in zip(some, confidence, strict=True):
            first, last = int(data.candidates.offsets[at]), int(data.candidates.offsets[at + 1])
            here, there = pairs[at]
            one, two = features.steps(here, first, last), features.steps(there, first, last)
            gains: Counter[int] = Counter()
            for step in one:
                if step not in two:
                    gains.update(features.of_step(step))
            for step in two:
                if step not in one:
                    gains.subtract(features.of_step(step))
            values = {i: float(model.theta_[i]) * value for i, value in gains.items() if value}
            ranked = sorted(values.items(), key=lambda item: (-abs(item[1]), item[0]))[:k]
            tests = [(features.name(i), value) for i, value in ranked if value != 0]
            other = [span for span in there if span not in here]
            lead = float(np.sum(np.fromiter(values.values(), np.float64, len(values))))
            row.append(SegmentExplanation(begin, end, label, probability, other, lead, tests))
            at += 1
        answers.append(row)
    return answers
