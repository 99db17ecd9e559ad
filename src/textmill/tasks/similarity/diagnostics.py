"""Is a collection still what its models were trained on? Its words, topics and scores from first document to last.

    words       distinct words V after n words, and Heaps' law V = c n^b fitted to them
    unknown     share of the words of a period that the models do not know
    drift       distance between the mean vector of a period and that of all periods before it: the Hellinger distance
                of mean mixtures, 1 - cosine of other mean vectors
    chance      the same with documents dealt to the periods at random: what drift would be if nothing changed

Periods are equal shares of the documents in the order in which they were written, or of a field such as the year.
Random pairs and nearest neighbors of a sample give the histograms of scores.
Cost: two passes over the texts, one over the vectors.
References: Heaps (1978), Information retrieval; Rehurek (2011), chapter 6.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from textmill.arrays import Floats, Ints
from textmill.corpus import Vocabulary
from textmill.errors import DataError
from textmill.model import check_range
from textmill.numeric import is_sparse, sparse
from textmill.progress import track
from textmill.tables import Rows
from textmill.tasks.similarity.duplicates import NearPair, duplicate_groups, near_duplicates
from textmill.tasks.similarity.methods import Method, counting_method
from textmill.tasks.similarity.questions import Question
from textmill.tasks.similarity.scoring import pair_scores

if TYPE_CHECKING:
    from textmill.tasks.similarity.collection import Collection
    from textmill.tasks.similarity.snapshot import Snapshot

__all__ = ["Diagnosis", "Period", "ScoreSample", "diagnose", "write_diagnosis"]

_BLOCK = 4096  # documents that are looked at together
_PAIRS = 20_000
_SAMPLE = 500  # documents whose neighbors are looked for


class Period(NamedTuple):
    """Some documents that came one after the other; `words` and `distinct` count all up to their end."""

    period: str
    documents: int
    words: int
    distinct: int
    unknown: float
    drift: float
    chance: float


class ScoreSample(NamedTuple):
    """Scores of random pairs of documents, and of nearest neighbors, by one method."""

    method: str
    random: Floats
    nearest: Floats


class Diagnosis(NamedTuple):
    """What `diagnose` found.

    `heaps` are c and b of Heaps' law; `stale` says why models are old.
    """

    method: str
    periods: Rows[Period]
    heaps: tuple[float, float]
    stale: list[str]
    scores: list[ScoreSample]
    duplicates: Rows[NearPair]


def diagnose(
    collection: Collection,
    *,
    method: str | None = None,
    by: str | None = None,
    n_periods: int = 10,
    threshold: float = 0.9,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Diagnosis:
    """Return how words, topics and scores of a collection have changed, in the vectors of a method.

    `by` is a field that orders documents, such as the year; those without it are left out of the periods. Pairs of
    documents with a score of at least `threshold` are near-duplicates.

    >>> from textmill.tasks.similarity import Collection
    >>> from textmill.vectors import TextVectorizer, Weighting
    >>> words = TextVectorizer(weighting=Weighting(idf="n/d"))
    >>> texts = ["corn mill", "corn mill", "storm sea", "sea storm"]
    >>> found = diagnose(Collection.create("changing", texts, methods={"words": words}), n_periods=2)
    >>> [(row.documents, row.distinct, row.drift) for row in found.periods]
    [(2, 2, nan), (2, 4, 1.0)]
    """
    check_range("n_periods", n_periods, at_least=2, whole=True)
    snapshot = collection.snapshot
    numbers, names = _ordered(snapshot, by)
    if len(numbers) < n_periods:
        raise DataError(f"{len(numbers)} documents are too few for {n_periods} periods; pass fewer")
    labels = np.arange(len(numbers)) * n_periods // len(numbers)
    generator = np.random.default_rng(random_state)
    chosen = snapshot.method(method)
    drift, chance = _drift(snapshot, chosen, numbers, labels, generator.permutation(labels))
    counts = _words(snapshot, chosen, numbers, labels, n_jobs)
    rows = []
    for p in range(n_periods):
        inside = np.flatnonzero(labels == p)
        of_period = f"{names[inside[0]]} to {names[inside[-1]]}"
        rows.append(Period(of_period, len(inside), *counts[p], float(drift[p]), float(chance[p])))
    return Diagnosis(
        chosen.name,
        Rows(rows, Period),
        _heaps(rows),
        collection.stale_reasons(),
        [_scores(collection, name, generator) for name in collection.methods],
        near_duplicates(collection, threshold=threshold, method=chosen.name),
    )


def write_diagnosis(collection: Collection, diagnosis: Diagnosis, path: str | os.PathLike[str]) -> None:
    """Write a page with a diagnosis: curves, histograms and groups of duplicates."""
    from textmill.plot import histogram, lines
    from textmill.report import Report

    report = Report("How a collection has changed", subtitle=collection.folder.name)
    last = diagnosis.periods[-1]
    groups = duplicate_groups(diagnosis.duplicates)
    figures = [
        (f"{len(collection):,}", "documents"),
        (f"{last.words:,}", "words"),
        (f"{last.distinct:,}", "distinct words"),
        (f"{len(groups):,}", "groups of near-duplicates"),
    ]
    report.facts(figures)
    for reason in diagnosis.stale:
        report.text(f"{reason}; the models should be trained anew.")
    report.heading("Words")
    c, b = diagnosis.heaps
    words = [row.words for row in diagnosis.periods]
    law: dict[str, Any] = {"collection": (words, [row.distinct for row in diagnosis.periods])}
    if math.isfinite(b):
        law[f"{c:.3g} n^{b:.2f}"] = words, [c * n**b for n in words]
    report.figure(
        lines(law, x_label="words", y_label="distinct words"), caption="Distinct words, and Heaps' law fitted to them."
    )
    unknown = _curve(diagnosis.periods, "unknown")
    if unknown[0]:
        report.figure(
            lines({"unknown words": unknown}, x_label="period", y_label="share"),
            caption=f"Share of the words of each period that the method {diagnosis.method} does not know.",
        )
    report.heading("Topics")
    moved = {name: _curve(diagnosis.periods, name) for name in ("drift", "chance")}
    if all(places for places, _ in moved.values()):
        report.figure(
            lines(moved, x_label="period", y_label="distance"),
            caption="Distance of each period from all before it, and what it would be in a random order.",
        )
    report.table(Period._fields, diagnosis.periods, caption="Periods.")
    report.heading("Scores")
    for sample in diagnosis.scores:
        samples = {"random pairs": sample.random, "neighbors": sample.nearest}
        there = {name: values for name, values in samples.items() if len(values)}
        if there:
            report.figure(
                histogram(there, x_label=f"score by {sample.method}", shares=True),
                caption=f"Scores by {sample.method} of random pairs, and of the ten nearest neighbors.",
            )
    report.heading("Near-duplicates")
    rows = [(len(group), ", ".join(group[:20]) + (", ..." if len(group) > 20 else "")) for group in groups[:100]]
    report.table(["documents", "ids"], rows, caption="Groups of documents that are nearly the same, the largest first.")
    report.write(path)


def _curve(periods: Rows[Period], name: str) -> tuple[list[int], list[float]]:
    """The periods that have a figure, counted from 1, and the figure."""
    pairs = [(place, getattr(row, name)) for place, row in enumerate(periods, 1)]
    there = [(place, value) for place, value in pairs if math.isfinite(value)]
    return [place for place, _ in there], [value for _, value in there]


def _ordered(snapshot: Snapshot, by: str | None) -> tuple[Ints, list[str]]:
    """Numbers of documents in their order, and how each is named."""
    if by is None:
        numbers = snapshot.numbers
        return numbers, [str(place) for place in range(1, len(numbers) + 1)]
    pairs = zip(snapshot.values(by), snapshot.numbers.tolist(), strict=True)
    there = [(value, number) for value, number in pairs if value is not None and not isinstance(value, list)]
    if not there:
        raise DataError(f"no document has one value in the field '{by}'; name another, or leave it out")
    plain = all(isinstance(value, int | float) for value, _ in there)
    there.sort(key=lambda pair: (pair[0] if plain else str(pair[0]), pair[1]))
    return np.array([number for _, number in there], np.int64), [str(value) for value, _ in there]


def _blocks(size: int, title: str) -> Iterator[slice]:
    for begin in track(range(0, size, _BLOCK), title, unit="blocks"):
        yield slice(begin, begin + _BLOCK)


def _words(
    snapshot: Snapshot, method: Method, numbers: Ints, labels: Ints, n_jobs: int | None
) -> list[tuple[int, int, float]]:
    """Words and distinct words up to the end of each period, and the share of its words that are unknown."""
    counting = method if method.vocabulary is not None else counting_method(snapshot.methods.values())
    n_periods = int(labels[-1]) + 1
    vocabulary = None if counting is None else counting.vocabulary
    settings: dict[str, Any] = (
        {} if vocabulary is None else {"tokenizer": vocabulary.tokenizer, "ngrams": vocabulary.ngrams}
    )
    everything = Vocabulary(**settings, n_jobs=n_jobs).fit(_Texts(snapshot, numbers))
    is_known = np.fromiter((vocabulary is not None and term in vocabulary for term in everything.terms_), np.bool_)
    seen = np.zeros(len(everything), np.bool_)
    tokens, unknown, distinct = (np.zeros(n_periods, np.int64) for _ in range(3))
    for block in _blocks(len(numbers), "counting words"):
        bags = everything.transform(list(_Texts(snapshot, numbers[block])))
        period = np.repeat(labels[block], np.diff(bags.indptr))
        np.add.at(tokens, period, bags.data.astype(np.int64))
        strange = ~is_known[bags.indices]
        np.add.at(unknown, period[strange], bags.data[strange].astype(np.int64))
        fresh = np.flatnonzero(~seen[bags.indices])
        terms, first = np.unique(bags.indices[fresh], return_index=True)
        np.add.at(distinct, period[fresh[first]], 1)
        seen[terms] = True
    shares = np.divide(unknown, tokens, out=np.zeros(n_periods), where=tokens > 0)
    shares = shares if vocabulary is not None else np.full(n_periods, np.nan)
    totals = zip(tokens.cumsum().tolist(), distinct.cumsum().tolist(), shares.tolist(), strict=True)
    return list(totals)


class _Texts:
    """Texts of documents, as often as they are asked for."""

    def __init__(self, snapshot: Snapshot, numbers: Ints) -> None:
        self._snapshot = snapshot
        self._numbers = numbers

    def __iter__(self) -> Iterator[Any]:
        for number in self._numbers.tolist():
            place = self._snapshot.by_number(number)
            yield place.part.documents.text(place.row)


def _drift(snapshot: Snapshot, method: Method, numbers: Ints, labels: Ints, shuffled: Ints) -> tuple[Floats, Floats]:
    """Distance of the mean of each period from that of all before it, in order and in a random order."""
    n_periods = int(labels[-1]) + 1
    sums: list[Any] = [0.0, 0.0]
    for block in _blocks(len(numbers), "comparing periods"):
        rows = snapshot.vectors_of(method.name, numbers[block])
        X = rows.csr().astype(np.float64) if is_sparse(rows) else rows.astype(np.float64)
        X = X.multiply(X).tocsr() if is_sparse(rows) and method.measure == "hellinger" else X
        X = X**2 if not is_sparse(rows) and method.measure == "hellinger" else X
        for which, periods in enumerate((labels, shuffled)):
            size = X.shape[0]
            dealt = sparse.csr_matrix((np.ones(size), (periods[block], np.arange(size))), shape=(n_periods, size))
            part = dealt @ X
            sums[which] = sums[which] + (part.toarray() if sparse.issparse(part) else part)
    return _distances(sums[0], method.measure), _distances(sums[1], method.measure)


def _distances(sums: Floats, measure: str) -> Floats:
    distances = np.full(len(sums), np.nan)
    before = sums.cumsum(axis=0)
    for p in range(1, len(sums)):
        a, b = sums[p], before[p - 1]
        if measure == "hellinger":
            total = a.sum() * b.sum()
            closeness = np.sqrt(a * b).sum() / math.sqrt(total) if total > 0 else math.nan
            distances[p] = math.sqrt(max(0.0, 1.0 - closeness)) if closeness == closeness else math.nan
        else:
            total = float(np.linalg.norm(a) * np.linalg.norm(b))
            distances[p] = max(0.0, 1.0 - float(a @ b) / total) if total > 0 else math.nan
    return distances


def _heaps(rows: list[Period]) -> tuple[float, float]:
    """c and b of V = c n^b, by least squares of the logarithms."""
    there = [(math.log(row.words), math.log(row.distinct)) for row in rows if row.distinct]
    if len({n for n, _ in there}) < 2:
        return math.nan, math.nan
    b, log_c = np.polyfit([n for n, _ in there], [v for _, v in there], 1).tolist()
    return math.exp(log_c), b


def _scores(collection: Collection, name: str, generator: np.random.Generator) -> ScoreSample:
    numbers = collection.snapshot.numbers
    if len(numbers) < 2:
        return ScoreSample(name, np.zeros(0), np.zeros(0))
    left = generator.integers(len(numbers), size=_PAIRS)
    right = (left + generator.integers(1, len(numbers), size=_PAIRS)) % len(numbers)
    ids = collection.ids()
    some = generator.choice(len(numbers), min(_SAMPLE, len(numbers)), replace=False)
    answers = collection.query_many([Question(id=ids[i]) for i in np.sort(some)], method=name, k=10)
    nearest = np.concatenate([answer.scores for answer in answers])
    return ScoreSample(name, pair_scores(collection.snapshot, name, numbers[left], numbers[right]), nearest)
