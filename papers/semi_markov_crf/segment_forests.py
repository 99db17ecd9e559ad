"""The segmentations of a sentence as feature forests: unpacked, packed as in the paper, and factored.

    unpacked   a node for each position and label that ends there, O split by the last entity before it
    packed     one for each position and state q: "protein ends at 8" and "O-protein at 8" are the same node
    factored   (t, q) --[tests of history]--> (t, e) --[tests of segment]--> (u, q = e): every segment is there once

All three hold the same segmentations with the same features. Cost in conjunctive nodes for N tokens, E classes and
candidates of at most L tokens: O(N E^2 L) unpacked and packed, O(N E^2 + N E L) factored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from papers.semi_markov_crf.forest import Alternative, AmisEvent, FeatureForest
from textmill.errors import DataError
from textmill.model import check_choice
from textmill.sequence.candidates import Candidates
from textmill.sequence.segment_data import SegmentData
from textmill.sequence.segment_features import SegmentFeatures
from textmill.sequence.semimarkov import SemiMarkovCRF

__all__ = ["PACKINGS", "ForestSize", "forest_events", "forest_size", "forest_weights", "segment_forest"]

PACKINGS = ("unpacked", "packed", "factored")


class ForestSize(NamedTuple):
    """Numbers of nodes of the forests of some sentences, closing nodes included, and bytes without features.

    >>> ForestSize(13, 55).bytes
    1424
    """

    disjunctive: int
    conjunctive: int

    @property
    def bytes(self) -> int:
        """Of the graph alone: two offsets and two edges a conjunctive node, an offset a disjunctive node."""
        return self.conjunctive * 24 + self.disjunctive * 8


def forest_size(
    candidates: Candidates, entities: int, *, packing: str = "factored", history: str = "entity"
) -> ForestSize:
    """The size of the forests of all sentences, counted without making them.

    >>> from textmill.sequence import all_candidates
    >>> forest_size(all_candidates(np.array([0, 25]), 10), 5, packing="packed")
    ForestSize(disjunctive=151, conjunctive=6051)
    """
    check_choice("packing", packing, PACKINGS)
    offsets, T = candidates.offsets, candidates.tokens
    sizes = np.diff(offsets)
    sentence = np.repeat(np.arange(len(sizes)), sizes)
    beginning = candidates.single.astype(np.int64) + np.diff(candidates.starts)
    # positions lie between tokens, one more a sentence than it has tokens: t + 1 + sentence is behind token t
    positions = T + len(sizes)
    ends = np.zeros(positions, bool)
    ends[(np.arange(T) + 1 + sentence)[candidates.single > 0]] = True
    begins = candidates.begins()
    ends[begins + candidates.lengths + sentence[begins]] = True
    first = np.asarray(offsets[:-1] + np.arange(len(sizes)))
    number = np.repeat(np.arange(len(sizes)), sizes + 1)
    order = np.where(ends, np.arange(positions), positions)
    earliest = np.minimum.reduceat(order, first) if len(first) else np.empty(0, np.int64)
    since = np.arange(positions) - earliest[number]  # positions since the first entity may have ended
    plain = np.ones(positions, np.int64)
    if history == "none":
        states = plain
    elif history == "label":
        states = plain + entities * ends
    elif packing == "unpacked":
        states = plain + entities * ends + entities * (since > 0)
    else:
        states = plain + entities * (since >= 0)
    starting = np.zeros(positions, np.int64)
    starting[np.arange(T) + sentence] = beginning
    last = np.zeros(positions, bool)
    last[first + sizes] = True
    ors, ands = int(states.sum()), int(states[last].sum())
    inner = states[~last]
    count = starting[~last]
    if packing == "factored":
        ors += entities * int((count > 0).sum())
        ands += int(inner.sum() + entities * (inner * (count > 0)).sum() + entities * count.sum())
    else:
        ands += int((inner * (1 + entities * count)).sum())
    return ForestSize(ors, ands)


def segment_forest(model: SemiMarkovCRF, sequence: Any, *, packing: str = "factored") -> FeatureForest:
    """The forest of one sequence: features are tests with labels, `test|label` and `test|state|label`.

    >>> X, y = [["in", "Mill", "Hill"]] * 2, [["O", "B-LOC", "I-LOC"]] * 2
    >>> tagger = SemiMarkovCRF(patterns=["s:%x[b:e,0]", "p"], max_length=2, filter=None, max_iter=5).fit(X, y)
    >>> forest = segment_forest(tagger, X[0], packing="packed")
    >>> forest.sizes()["disjunctive"], round(float(np.exp(forest.sums({}).log_z)))
    (7, 12)
    """
    check_choice("packing", packing, PACKINGS)
    if not len(sequence):
        raise DataError("the sequence has no tokens, so there is nothing to draw")
    data = model.segment_data([sequence])
    return _Builder(model, data).forest(packing)


def forest_weights(model: SemiMarkovCRF, forest: FeatureForest) -> dict[str, float]:
    """The weights of a model by the names of features in its forests."""
    labels = model.segment_labels_.tolist()
    Y, states = len(labels), 1 if model.history == "none" else len(labels)
    tests = {name: i for i, name in enumerate(model.tests_.to_list())}
    history = {name: i for i, name in enumerate(model.history_tests_.to_list())}
    number = {label: y for y, label in enumerate(labels)}
    weights = {}
    for name in forest.feature_names:
        left, _, label = name.rpartition("|")
        at = tests.get(left)
        if at is not None:
            weights[name] = float(model.theta_[at * Y + number[label]])
            continue
        test, _, state = left.rpartition("|")
        row = len(tests) + history[test] * states + (number[state] if states > 1 else 0)
        weights[name] = float(model.theta_[row * Y + number[label]])
    return weights


def forest_events(model: SemiMarkovCRF, X: Iterable[Any], *, packing: str = "packed") -> Iterator[AmisEvent]:
    """Sequences as events of AMIS: their forests, and the features of the best segmentation as what is observed."""
    for number, sequence in enumerate(X, 1):
        forest = segment_forest(model, sequence, packing=packing)
        _, nodes = forest.best_nodes(forest_weights(model, forest))[0]
        observed: Counter[str] = Counter()
        for node in nodes:
            for name, value in forest.features_of(node).items():
                observed[name] += value  # type: ignore[assignment]
        yield AmisEvent(f"event_{number}", 1, dict(observed), forest)


class _Builder:
    """Alternatives of the nodes of one sentence."""

    def __init__(self, model: SemiMarkovCRF, data: SegmentData) -> None:
        self.features = SegmentFeatures(model, data)
        self.labels, self.history = self.features.labels, model.history
        self.n = data.candidates.tokens
        self.spans: list[list[int]] = [[] for _ in range(self.n)]
        for begin, end in data.candidates.spans(0):
            self.spans[begin].append(end)

    def forest(self, packing: str) -> FeatureForest:
        return FeatureForest.build((0, 0, "O"), lambda key: self._expand(key, packing))

    def _expand(self, key: Any, packing: str) -> Iterator[Alternative]:
        if key[0] == "link":
            _, t, y = key
            for u in self.spans[t]:
                features = self._named(self.features.of_segment(t, u, y))
                yield Alternative(features, [self._key(u, y, y, packing)], f"{t + 1}-{u} {self.labels[y]}")
            return
        t, q, _ = key
        if t == self.n:
            yield Alternative({}, (), "end")
            return
        after = q if self.history == "entity" else 0
        yield Alternative(self._tests(t, t + 1, 0, q), [self._key(t + 1, after, 0, packing)], f"{t + 1} O")
        for y in range(1, len(self.labels)):
            if packing == "factored":
                if self.spans[t]:
                    name = f"{self.labels[q] if q else 'none'} > {self.labels[y]}"
                    yield Alternative(self._named(self.features.of_history(t, q, y)), [("link", t, y)], name)
                continue
            for u in self.spans[t]:
                yield Alternative(
                    self._tests(t, u, y, q), [self._key(u, y, y, packing)], f"{t + 1}-{u} {self.labels[y]}"
                )

    def _key(self, u: int, q: int, label: int, packing: str) -> Hashable:
        """Position, state, and unpacked also whether a segment ends there or O does."""
        state = 0 if self.history == "none" else q
        return (u, state, ("O" if label == 0 else "entity") if packing == "unpacked" and state else "O")

    def _tests(self, t: int, u: int, y: int, q: int) -> dict[str, float]:
        """Of a segment and of what it follows."""
        return self._named(self.features.of_step((t, u, q, y)))

    def _named(self, features: Counter[int]) -> dict[str, float]:
        return {self.features.name(feature): float(value) for feature, value in features.items()}
