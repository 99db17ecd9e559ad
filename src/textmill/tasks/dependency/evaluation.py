"""How well heads were found.

    dependency accuracy = bunsetsus with the right head / bunsetsus but the last of each sentence
    sentence accuracy   = sentences with all heads right / sentences of two bunsetsus or more

The next-to-last bunsetsu counts although it has no choice, as is the custom. Counts of parts of a corpus add.
Reference: Uchimoto, Sekine & Isahara (1999).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from textmill.corpus import KnpSentence
from textmill.errors import DataError
from textmill.metrics import AccuracyCounts, Interval, bootstrap_interval
from textmill.report import Report
from textmill.tables import Table
from textmill.tasks.dependency.attributes import attributes_of

__all__ = ["DISTANCES", "DependencyError", "DependencyScores", "error_page", "evaluate", "find_errors"]

DISTANCES = ("in front", "1", "2", "3", "4-6", "7+")
_SHOWN, _ERRORS = 30, 200  # rows of a page
_BOUNDS = (1, 2, 3, 4, 7)  # where the classes of distance begin but for the first


@dataclass(frozen=True, slots=True, repr=False)
class DependencyScores(Table):
    """Counts of right heads: of all, of whole sentences, and by the right distance.

    >>> scores = DependencyScores(AccuracyCounts(9, 10), AccuracyCounts(1, 2))
    >>> scores.dependencies.accuracy, (scores + scores).sentences.items
    (0.9, 4)
    """

    dependencies: AccuracyCounts = field(default_factory=AccuracyCounts)
    sentences: AccuracyCounts = field(default_factory=AccuracyCounts)
    by_distance: dict[str, AccuracyCounts] = field(default_factory=dict)
    by_sentence: tuple[tuple[int, int], ...] = ()

    def __add__(self, other: DependencyScores) -> DependencyScores:
        zero = AccuracyCounts()
        names = [name for name in DISTANCES if name in self.by_distance or name in other.by_distance]
        return DependencyScores(
            self.dependencies + other.dependencies,
            self.sentences + other.sentences,
            {name: self.by_distance.get(name, zero) + other.by_distance.get(name, zero) for name in names},
            self.by_sentence + other.by_sentence,
        )

    def columns(self) -> dict[str, Any]:
        """Return distance, right heads, bunsetsus and accuracy."""
        counts = list(self.by_distance.values())
        return {
            "distance": list(self.by_distance),
            "correct": [count.correct for count in counts],
            "total": [count.items for count in counts],
            "accuracy": [count.accuracy for count in counts],
        }

    def interval(self) -> Interval:
        """The 95 % interval of the dependency accuracy, by resampling sentences."""
        return bootstrap_interval(
            np.array(self.by_sentence, dtype=np.float64), lambda sums: sums[..., 0] / np.maximum(sums[..., 1], 1)
        )

    def to_json(self) -> dict[str, Any]:
        """The figures as plain values."""
        return {
            "dependency_accuracy": self.dependencies.accuracy,
            "sentence_accuracy": self.sentences.accuracy,
            "dependencies": self.dependencies.items,
            "sentences": self.sentences.items,
            "by_distance": {name: count.accuracy for name, count in self.by_distance.items()},
        }


class DependencyError(NamedTuple):
    """A wrong head: where, which bunsetsu, its right head and the one that was found, and the whole sentence."""

    place: str
    bunsetsu: str
    right: str
    predicted: str
    sentence: str


def evaluate(sentences: Iterable[KnpSentence], heads: Sequence[Sequence[int]]) -> DependencyScores:
    """Compare the heads of sentences with those that were found; sentences of one bunsetsu do not count.

    >>> from textmill.tasks.dependency import sample_sentences
    >>> right = sample_sentences(2)
    >>> evaluate(right, [sentence.heads for sentence in right]).dependencies.accuracy
    1.0
    """
    right: list[int] = []
    predicted: list[int] = []
    sizes: list[int] = []
    for sentence, own in _paired(sentences, heads):
        if len(own) >= 2:
            right += sentence.heads[:-1]
            predicted += own[:-1]
            sizes.append(len(own) - 1)
    if not sizes:
        raise DataError("no sentence has two bunsetsus, so there is nothing to score; pass sentences with heads")
    gold, hits = np.array(right), np.array(right) == np.array(predicted)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    places = np.arange(len(gold)) - np.repeat(starts, sizes)
    classes = np.digitize(gold - places, _BOUNDS)
    per_sentence = np.add.reduceat(hits.astype(np.int64), starts)
    by_distance = {
        name: AccuracyCounts(int(hits[classes == c].sum()), int((classes == c).sum()))
        for c, name in enumerate(DISTANCES)
        if (classes == c).any()
    }
    return DependencyScores(
        AccuracyCounts(int(hits.sum()), len(hits)),
        AccuracyCounts(int((per_sentence == sizes).sum()), len(sizes)),
        by_distance,
        tuple(zip(per_sentence.tolist(), sizes, strict=True)),
    )


def find_errors(sentences: Iterable[KnpSentence], heads: Sequence[Sequence[int]]) -> Iterator[DependencyError]:
    """Yield every wrong head with its surroundings.

    >>> from textmill.tasks.dependency import sample_sentences
    >>> sentence = sample_sentences(2)[1]
    >>> [(error.bunsetsu, error.right, error.predicted) for error in find_errors([sentence], [(4, 2, 4, 4, -1)])]
    [('山が', '探したので、', '持った。')]
    """
    for sentence, own in _paired(sentences, heads):
        texts = [bunsetsu.text for bunsetsu in sentence.bunsetsus]
        for at, (right, predicted) in enumerate(zip(sentence.heads[:-1], own[:-1], strict=True)):
            if right != predicted:
                place = sentence.id or f"{sentence.source}:{sentence.line}"
                heads_of = (texts[right] if right >= 0 else "", texts[predicted] if predicted >= 0 else "")
                yield DependencyError(place, texts[at], *heads_of, "".join(texts))


def error_page(parser: Any, sentences: Sequence[KnpSentence], heads: Sequence[Sequence[int]]) -> Report:
    """A page on the errors of a parser: accuracy by distance, by the last word of the modifier, weights, wrong heads.

    >>> from textmill.tasks.dependency import DependencyParser, sample_sentences
    >>> sentences = sample_sentences(100)
    >>> parser = DependencyParser(l1=1.0).fit(sentences)
    >>> "Accuracy by distance" in error_page(parser, sentences, parser.predict(sentences)).render()
    True
    """
    scores = evaluate(sentences, heads)
    words = _by_last_word(sentences, heads)
    weights = parser.strongest(_SHOWN)
    page = Report("Errors of a dependency parser", subtitle=f"{scores.sentences.items:,} sentences")
    page.facts(
        [
            (f"{100 * scores.dependencies.accuracy:.2f} %", f"of {scores.dependencies.items:,} heads are right"),
            (f"{100 * scores.sentences.accuracy:.2f} %", "of sentences have no error"),
        ]
    )
    page.heading("Accuracy by distance")
    rows = [(name, count.items, count.accuracy) for name, count in scores.by_distance.items()]
    page.table(["distance to the right head", "bunsetsus", "accuracy"], rows, caption="Far heads are harder to find.")
    page.heading("Where the errors are")
    page.table(
        ["last word of the modifier", "errors", "bunsetsus", "accuracy"],
        [(word, count.items - count.correct, count.items, count.accuracy) for word, count in words[:_SHOWN]],
        caption="Bunsetsus by their last word, those with most errors first.",
    )
    page.heading("The strongest weights")
    page.table(
        ["speaks for", "features", "weight"],
        list(zip(weights.labels, weights.features, weights.weights, strict=True)),
        caption="Combinations of features with the largest weights.",
    )
    page.heading("Wrong heads")
    page.table(
        ["sentence", "bunsetsu", "right head", "head found", "text"],
        list(itertools.islice(find_errors(sentences, heads), _ERRORS)),
        caption=f"The first {_ERRORS} errors at most.",
    )
    return page


def _by_last_word(sentences: Iterable[KnpSentence], heads: Sequence[Sequence[int]]) -> list[tuple[str, AccuracyCounts]]:
    """Counts by the last word of bunsetsus, those with most errors first."""
    counts: dict[str, AccuracyCounts] = {}
    for sentence, own in _paired(sentences, heads):
        for bunsetsu, head in zip(sentence.bunsetsus[:-1], own[:-1], strict=True):
            last = next(name for name in attributes_of(bunsetsu) if name.startswith("last="))[len("last=") :]
            counts[last] = counts.get(last, AccuracyCounts()) + AccuracyCounts(int(head == bunsetsu.head), 1)
    return sorted(counts.items(), key=lambda item: (item[1].correct - item[1].items, item[0]))


def _paired(
    sentences: Iterable[KnpSentence], heads: Sequence[Sequence[int]]
) -> Iterator[tuple[KnpSentence, Sequence[int]]]:
    count = 0
    for sentence in sentences:
        if count >= len(heads) or len(heads[count]) != len(sentence):
            raise DataError(
                "the sentences and the heads do not belong together: pass one list of heads for each sentence, with "
                "one number for each bunsetsu",
                source=sentence.source,
                line=sentence.line,
            )
        yield sentence, heads[count]
        count += 1
    if count != len(heads):
        raise DataError(f"there are {count} sentences but {len(heads)} lists of heads; pass one for each")
