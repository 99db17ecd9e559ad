"""What a collection holds at one moment: its parts, which documents of them are alive, its methods.

A snapshot is never changed, so any number of threads may ask it while the next one is made. Parts are in the order of
their numbers; the last one is in memory (`recent`), the others are mapped files.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from textmill.arrays import Ints, Masks
from textmill.errors import DataError
from textmill.tables import Rows
from textmill.tasks.similarity.articles import Article
from textmill.tasks.similarity.filters import Where, as_condition
from textmill.tasks.similarity.merging import stacked
from textmill.tasks.similarity.methods import Method, counting_method
from textmill.tasks.similarity.shards import DocumentShard, RecentDocuments
from textmill.vectors import Index

__all__ = ["FieldSummary", "Part", "Place", "Snapshot", "apply_entries", "summarize_fields"]


class Place(NamedTuple):
    """Where a document is: its part, its row there, its number."""

    part: Part
    row: int
    number: int


@dataclass(frozen=True)
class Part:
    """Documents, their vectors by method, and the numbers of those that are dead."""

    documents: DocumentShard | RecentDocuments
    indexes: Mapping[str, Index]
    dead: Ints
    serial: int = -1

    @cached_property
    def alive(self) -> Masks:
        """Which rows are alive."""
        return ~np.isin(self.documents.numbers_, self.dead)

    @property
    def numbers(self) -> Ints:
        """The numbers of the rows, rising."""
        return self.documents.numbers_

    def without(self, numbers: Ints) -> Part:
        """The same part with more dead documents."""
        if not len(numbers):
            return self
        return replace(self, dead=np.union1d(self.dead, numbers))

    def chosen(self, where: Where | None) -> Ints | None:
        """The numbers of the documents that a filter lets through; None for all."""
        if not where:
            return None
        mask = np.ones(len(self.documents), np.bool_)
        for name, wanted in where.items():
            condition = as_condition(wanted)
            values = self.column(name)
            mask &= np.fromiter(map(condition, values), np.bool_, len(values))
        return self.numbers[mask]

    def column(self, name: str) -> list[Any]:
        """The values of a field; id, title and source are fields as well."""
        if name == "id":
            return list(self.documents.ids_)
        if name == "title":
            return list(self.documents.titles_)
        if name == "source":
            return [self.documents.source(row) for row in range(len(self.documents))]
        return self.documents.column(name)


@dataclass(frozen=True)
class Snapshot:
    """Parts and methods, how far the journal was read, and what came since the models were trained."""

    manifest: dict[str, Any]
    parts: tuple[Part, ...]
    methods: dict[str, Method]
    next_number: int
    journal_end: int = 0
    words: tuple[int, int] = (0, 0)  # known and unknown, of documents that the models were not trained on

    @property
    def recent(self) -> Part:
        """The part in memory."""
        return self.parts[-1]

    @cached_property
    def _filled(self) -> list[Part]:
        return [part for part in self.parts if len(part.numbers)]

    @cached_property
    def _firsts(self) -> list[int]:
        """The first number of each part with documents; they rise from part to part."""
        return [int(part.numbers[0]) for part in self._filled]

    @cached_property
    def numbers(self) -> Ints:
        """The numbers of all documents that are alive, rising."""
        return np.concatenate([part.numbers[part.alive] for part in self.parts])

    def __len__(self) -> int:
        return len(self.numbers)

    def find(self, identifier: str) -> Place | None:
        """Where a document is, by its id."""
        place: Place | None
        asked, place = vars(self).get("_latest", (None, None))  # one question looks for its document several times
        if asked == identifier:
            return place
        place = None
        for part in reversed(self.parts):
            row = part.documents.find(identifier)
            if row is not None and part.alive[row]:
                place = Place(part, row, int(part.numbers[row]))
                break
        vars(self)["_latest"] = identifier, place
        return place

    def hash_ids(self) -> None:
        """Make documents quick to find by their ids; worth its time for a snapshot that is asked often."""
        for part in self.parts:
            if isinstance(part.documents, DocumentShard):
                part.documents.hash_ids()

    def find_all(self, identifiers: Sequence[str]) -> dict[str, Place]:
        """Where documents are, by their ids, of those that are there; for many ids faster than one by one."""
        hashes = np.fromiter(map(hash, identifiers), np.int64, len(identifiers))
        places: dict[str, Place] = {}
        for part in reversed(self.parts):
            for i in part.documents.likely(hashes).tolist():
                row = part.documents.find(identifiers[i])
                if row is not None and part.alive[row]:
                    places.setdefault(identifiers[i], Place(part, row, int(part.numbers[row])))
        return places

    def place(self, identifier: str) -> Place:
        """Where a document is; an error if there is none of that id."""
        place = self.find(identifier)
        if place is None:
            shown = identifier if len(identifier) <= 80 else identifier[:80] + "…"
            raise DataError(f"there is no document with the id '{shown}' (it may have been deleted); check the id")
        return place

    def by_number(self, number: int) -> Place:
        """Where the document of a number is."""
        place = bisect_right(self._firsts, number) - 1
        if place >= 0:
            part = self._filled[place]
            row = int(part.numbers.searchsorted(number))
            if row < len(part.numbers) and part.numbers[row] == number:
                return Place(part, row, number)
        raise KeyError(number)

    def get(self, identifier: str) -> Article:
        """The document of an id."""
        place = self.place(identifier)
        return place.part.documents.article(place.row)

    def text(self, identifier: str) -> Any:
        """The text of a document, or its list of terms; an error where there are no texts."""
        place = self.place(identifier)
        return place.part.documents.text(place.row)

    def articles(self) -> Iterator[Article]:
        """All documents, in the order of their numbers."""
        for part in self.parts:
            for row in np.flatnonzero(part.alive).tolist():
                yield part.documents.article(row)

    def names(self) -> Iterator[tuple[int, str]]:
        """Number and id of all documents."""
        for part in self.parts:
            for number, name, alive in zip(part.numbers.tolist(), part.documents.ids_, part.alive, strict=True):
                if alive:
                    yield number, name

    def values(self, name: str) -> list[Any]:
        """The values of a field of all documents."""
        return [
            value for part in self.parts for value, alive in zip(part.column(name), part.alive, strict=True) if alive
        ]

    def method(self, name: str | None) -> Method:
        """A method by name, None for the first."""
        if name is None:
            return next(iter(self.methods.values()))
        if name not in self.methods:
            raise DataError(f"the collection has no method '{name}'; it has {', '.join(self.methods)}")
        return self.methods[name]

    def vectors_of(self, method: str, numbers: Ints) -> Any:
        """The stored vectors of documents, in this order."""
        pieces, order = [], []
        for part in self.parts:
            here = np.flatnonzero(np.isin(numbers, part.numbers))
            if len(here):
                pieces.append(part.indexes[method].vectors_of(numbers[here]))
                order.append(here)
        rows = stacked(pieces)
        return rows[np.argsort(np.concatenate(order))] if len(pieces) > 1 else rows

    def staleness(self) -> tuple[float, float]:
        """Shares of new documents, and of words in them that are unknown beyond what was usual in training.

        Models leave out rare and common words of the very documents they are trained on: a share u0 of these is unknown
        to them. So of new documents with a share u not u counts, but (u - u0) / (1 - u0), from 0 to 1.
        """
        first = self.manifest["trained"]
        new = int(np.count_nonzero(self.numbers >= first))
        words = sum(self.words)
        usual = float(self.manifest.get("unknown", 0.0))
        share = self.words[1] / words if words else 0.0
        return new / len(self) if len(self) else 0.0, max(0.0, share - usual) / (1 - usual) if usual < 1 else 0.0


def apply_entries(snapshot: Snapshot, entries: Sequence[dict[str, Any]]) -> Snapshot:
    """Return the state after some changes of the journal."""
    if not entries:
        return snapshot
    written: list[tuple[int, Article]] = []
    gone: list[int] = []
    for entry in entries:
        writes = entry["do"] == "write"
        old = entry["replaces"] if writes else entry["number"]
        if old is not None:
            gone.append(old)
        if writes:
            names = ("id", "title", "text", "fields", "source")
            written.append((entry["number"], Article(*(entry[name] for name in names))))
    *stored, recent = snapshot.parts
    words = snapshot.words
    if written:
        articles = [article for _, article in written]
        numbers = np.array([number for number, _ in written], np.int64)
        indexes = {}
        for name, method in snapshot.methods.items():
            X = method.vectors(articles)
            if name in recent.indexes:
                indexes[name] = recent.indexes[name].copy()
                indexes[name].add(X, ids=numbers)
            else:
                indexes[name] = method.index(X, numbers)
        recent = replace(recent, documents=recent.documents.with_(written), indexes=indexes)  # type: ignore[union-attr]
        counting = counting_method(snapshot.methods.values())
        more = (0, 0) if counting is None else counting.count_words(articles)
        words = words[0] + more[0], words[1] + more[1]
    dead = np.array(gone, np.int64)
    parts = [part.without(dead[np.isin(dead, part.numbers)]) for part in (*stored, recent)]
    return replace(
        snapshot,
        parts=tuple(parts),
        next_number=max(snapshot.next_number, *(number + 1 for number, _ in written), 0),
        words=words,
    )


class FieldSummary(NamedTuple):
    """A field: its name, the number of documents that have it and of different values, and the most frequent value."""

    name: str
    documents: int
    values: int
    example: str


def summarize_fields(snapshot: Snapshot) -> Rows[FieldSummary]:
    """What fields the documents have."""
    names = sorted(set().union(*(part.documents.field_names() for part in snapshot.parts)))
    rows = []
    for name in names:
        counts: Counter[str] = Counter()
        documents = 0
        for value in snapshot.values(name):
            if value is not None:
                documents += 1
                counts.update(map(str, value) if isinstance(value, list) else [str(value)])
        if documents:
            rows.append(FieldSummary(name, documents, len(counts), counts.most_common(1)[0][0] if counts else ""))
    return Rows(rows, FieldSummary)
