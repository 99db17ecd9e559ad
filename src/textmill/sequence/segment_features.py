"""Features of segments by number and by name: which tests are true of a segment, and of what it follows.

    test|label            number  test * labels + label
    test|state|label      number  (tests + test * states + state) * labels + label       what a segment follows

as weights stand in one vector (segment_data.py). A segmentation has the features of all its segments, O included; its
score is the sum of their weights.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from textmill.corpus import Span
from textmill.sequence.segment_data import SegmentData
from textmill.sequence.semimarkov import SemiMarkovCRF

__all__ = ["SegmentFeatures"]


class SegmentFeatures:
    """Features of the segments of encoded sequences; tokens count over all sequences."""

    def __init__(self, model: SemiMarkovCRF, data: SegmentData) -> None:
        self.labels: list[str] = model.segment_labels_.tolist()
        self.history, self.data = model.history, data
        self.tests, self.history_tests = model.tests_, model.history_tests_
        self.states = 1 if self.history == "none" else len(self.labels)
        self.number = {label: y for y, label in enumerate(self.labels)}
        self._names: dict[int, str] = {}

    def name(self, feature: int) -> str:
        """The test, what the segment follows if the test is of that, and the label."""
        if feature not in self._names:
            self._names[feature] = self._name(feature)
        return self._names[feature]

    def _name(self, feature: int) -> str:
        row, y = divmod(feature, len(self.labels))
        if row < len(self.tests):
            return f"{self.tests[row]}|{self.labels[y]}"
        test, q = divmod(row - len(self.tests), self.states)
        return f"{self.history_tests[test]}|{self.labels[q]}|{self.labels[y]}"

    def of_segment(self, begin: int, end: int, y: int) -> Counter[int]:
        """Features of a segment itself, with their values."""
        places: dict[str, Iterable[int]] = {
            "first": [begin],
            "last": [end - 1],
            "all": range(begin, end),
            "rest": range(begin + 1, end),
            "inner": range(begin + 1, end - 1),
        }
        places |= {"first2": [begin], "last2": [end - 1]} if end - begin > 1 else {"single": [begin]}
        entries = [
            pair for role, tokens in places.items() for token in tokens for pair in self.data.rows_at(role, token)
        ]
        if end - begin > 1:
            candidates = self.data.candidates
            first, last = int(candidates.starts[begin]), int(candidates.starts[begin + 1])
            entries += self.data.rows_of(first + candidates.lengths[first:last].tolist().index(end - begin))
        features: Counter[int] = Counter()
        for test, value in entries:
            features[test * len(self.labels) + y] += value  # type: ignore[assignment]
        return features

    def of_history(self, begin: int, q: int, y: int) -> Counter[int]:
        """Features of a segment that begins here and what it follows."""
        indptr, ids, _ = self.data.history
        base, features = len(self.tests), Counter[int]()
        for test in ids[int(indptr[begin]) : int(indptr[begin + 1])].tolist():
            features[(base + test * self.states + q) * len(self.labels) + y] += 1
        return features

    def of_step(self, step: tuple[int, int, int, int]) -> Counter[int]:
        """Features of a step of `steps`."""
        begin, end, q, y = step
        features = self.of_segment(begin, end, y)
        features.update(self.of_history(begin, q, y))
        return features

    def steps(self, spans: Iterable[Span], first: int, end: int) -> dict[tuple[int, int, int, int], None]:
        """The segmentation of the tokens from `first` to `end` that has these spans, counted from `first`, in order.

        A step is a segment, O included: first token, one past the last, what it follows, label.
        """
        starts = {first + begin: (first + behind, self.number[label]) for begin, behind, label in spans}
        taken: dict[tuple[int, int, int, int], None] = {}
        token, q = first, 0
        while token < end:
            behind, y = starts.get(token, (token + 1, 0))
            taken[token, behind, q, y] = None
            if self.history != "none":
                q = y if y or self.history == "label" else q
            token = behind
        return taken
