"""The k nearest documents of every document, made once and kept up to date.

    build     all lists of a collection: tiles of products, each pair once for both its lists
    update    after documents were written or deleted: the lists of a build with the same models, for the price of a few
              questions

A new document asks for its own list, and is put into every list whose last member it beats; its number is above all
others, so at equal scores it comes after. A list that has lost a member is made anew when it is next asked for.

Cost of a build: n^2 / 2 products of vectors, in float32 and on all cores; where vectors are sparse, one search a
document. Memory: the lists, and one tile for each thread. Long builds write checkpoints and go on from them; on a Dask
cluster stretches of documents are searched by workers that see the collection under the same path.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from textmill.arrays import Floats, Ints, Masks
from textmill.errors import DataError, ModelFileError
from textmill.model import Model, check_range, effective_jobs
from textmill.numeric import is_sparse
from textmill.tasks.similarity.building import (
    STRETCH,
    Building,
    alive_numbers,
    list_arrays,
    model_name,
    parts_of,
    search_lists,
    some_row,
)
from textmill.tasks.similarity.documents import Matches, SimilarDocuments
from textmill.tasks.similarity.merging import merge_nearest, stacked
from textmill.tasks.similarity.methods import similarities
from textmill.vectors import Growing, Searched

if TYPE_CHECKING:
    from distributed import Client

    from textmill.tasks.similarity.collection import Collection

__all__ = ["NeighborTable"]

_REBUILD = 8  # one new document of so many, and all lists are made anew


class NeighborTable(Growing, Model):
    """The nearest documents of every document of a collection, by one method.

    Attributes:
        numbers_: Numbers of the documents, (n,), rising.
        neighbors_: Numbers of their neighbors, (n, k), nearest first; -1 where there are fewer.
        keys_: Keys of these, (n, k), larger for nearer ones; -inf where there are fewer.
        alive_: False for documents that are gone, (n,).
        stale_: True for lists that have lost a member, (n,).
        method_: Name of the method.
        model_: The model that made the vectors, by the name of its file.
        measure_: Measure of the method.

    >>> from textmill.tasks.similarity import Collection
    >>> from textmill.vectors import TextVectorizer, Weighting
    >>> words = TextVectorizer(weighting=Weighting(idf="n/d"))
    >>> library = Collection.create("lib", ["corn mill", "a storm", "corn of the mill"], methods={"words": words})
    >>> table = NeighborTable.build(library, k=2)
    >>> table.matches(library, "0").ids
    ['2']
    >>> _ = library.upsert(["old corn mill"])
    >>> table.update(library)
    >>> table.matches(library, "0").ids
    ['3', '2']
    """

    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "numbers_": "document: int64",
        "neighbors_": "document k: int64",
        "keys_": "document k: float64",
        "alive_": "document: bool",
        "stale_": "document: bool",
    }
    state: ClassVar[dict[str, type]] = {"method_": str, "model_": str, "measure_": str}

    numbers_: Ints
    neighbors_: Ints
    keys_: Floats
    alive_: Masks
    stale_: Masks
    method_: str
    model_: str
    measure_: str
    _last: Floats  # the key that a new member of a list must beat

    @classmethod
    def build(
        cls,
        source: Collection | SimilarDocuments,
        *,
        method: str | None = None,
        k: int = 10,
        cluster: str | Client | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
    ) -> NeighborTable:
        """Return the table of a collection by one of its methods (None for the first), or of an index.

        `checkpoint` names a file that is written every minute and read when the work begins again.
        """
        check_range("k", k, at_least=1, whole=True)
        parts, name, model, measure = parts_of(source, method)
        table = cls()
        table.method_, table.model_, table.measure_ = name, model, measure
        table.numbers_ = np.concatenate([alive_numbers(part) for part in parts] or [np.zeros(0, np.int64)])
        work = Building(table, parts, k, checkpoint, effective_jobs(n_jobs))
        if cluster is not None:
            work.on_cluster(cluster, source)
        elif parts and is_sparse(some_row(parts)):
            work.bysearch_lists()
        else:
            work.by_tiles()
        table.neighbors_, table.keys_ = work.neighbors, work.keys
        table.alive_, table.stale_ = np.ones(len(table.numbers_), np.bool_), np.zeros(len(table.numbers_), np.bool_)
        table._begin()
        work.forget()
        return table

    def __len__(self) -> int:
        return int(np.count_nonzero(self.alive_))

    @property
    def k(self) -> int:
        """Length of the lists."""
        return int(self.neighbors_.shape[1])

    def fits(self, collection: Collection) -> bool:
        """Say whether the vectors are those of the collection's model of today."""
        return model_name(collection.snapshot, self.method_) == self.model_

    def update(self, source: Collection | SimilarDocuments, *, n_jobs: int | None = None) -> None:
        """Take over what was written and deleted since; the lists are those of a build, once they are asked for."""
        parts, _, model, _ = parts_of(source, self.method_)
        if model != self.model_:
            raise DataError(f"the model of '{self.method_}' was trained anew; build the neighbors anew")
        self._begin()
        current = np.concatenate([alive_numbers(part) for part in parts] or [np.zeros(0, np.int64)])
        first = int(self.numbers_[-1]) + 1 if len(self.numbers_) else 0
        new = current[np.searchsorted(current, first) :]
        if len(current) - len(new) < len(self):
            self._lose(self.numbers_[self.alive_ & ~np.isin(self.numbers_, current, assume_unique=True)])
        if len(new) * _REBUILD > len(current):
            vars(self).update(vars(NeighborTable.build(source, method=self.method_, k=self.k, n_jobs=n_jobs)))
        elif len(new):
            self._gain(parts, new)

    def settle(self, source: Collection | SimilarDocuments) -> None:
        """Make anew the lists that have lost a member, and forget documents that are gone."""
        self._begin()
        self._renew(parts_of(source, self.method_)[0], np.flatnonzero(self.stale_ & self.alive_))
        if not self.alive_.all():
            for name in ("numbers_", "neighbors_", "keys_", "stale_", "_last"):
                setattr(self, name, getattr(self, name)[self.alive_])
            self.alive_ = np.ones(len(self.numbers_), np.bool_)

    def matches(self, source: Collection | SimilarDocuments, identifier: str) -> Matches:
        """Return the neighbors of a document, by its id."""
        if isinstance(source, SimilarDocuments):
            number = source.number_of(identifier)
        else:
            number = source.snapshot.place(identifier).number
        members, keys = self.lists(source, [number])[0]
        scores = similarities(self.measure_, keys)
        if isinstance(source, SimilarDocuments):
            names, titles = source.names_.take(members).to_list(), source.titles_.take(members).to_list()
        else:
            places = [source.snapshot.by_number(one) for one in members.tolist()]
            names = [place.part.documents.ids_[place.row] for place in places]
            titles = [place.part.documents.titles_[place.row] for place in places]
        return Matches(
            names, scores, None if names else "the document has nothing in common with others", titles=titles
        )

    def lists(self, source: Collection | SimilarDocuments, numbers: Sequence[int]) -> list[tuple[Ints, Floats]]:
        """Return the neighbors and keys of documents by their numbers, making anew what has lost a member."""
        self._begin()
        rows = np.searchsorted(self.numbers_, numbers)
        wanted = np.asarray(numbers)
        inside = rows < len(self.numbers_)
        if not inside.all() or (self.numbers_[rows] != wanted).any() or not self.alive_[rows].all():
            raise DataError("the table does not know this document; call update first")
        stale = rows[self.stale_[rows]]
        if len(stale):
            self._renew(parts_of(source, self.method_)[0], stale)
        answers = []
        for row in rows.tolist():
            size = int(np.count_nonzero(self.neighbors_[row] >= 0))
            answers.append((self.neighbors_[row, :size], self.keys_[row, :size]))
        return answers

    def scores(self) -> Floats:
        """Return the scores of all neighbors, (n, k); NaN where there are fewer."""
        there = self.neighbors_ >= 0
        scores = similarities(self.measure_, np.where(there, self.keys_, 0.0))
        return np.where(there, scores, np.nan)

    def check_values(self) -> None:
        """Check what the layout cannot say of a table from a file."""
        if len(self.numbers_) and (self.numbers_[0] < 0 or (np.diff(self.numbers_) <= 0).any()):
            raise ModelFileError("the numbers of the documents do not rise", reason="damaged")
        if self.neighbors_.shape[1] < 1 or self.neighbors_.min(initial=0) < -1:
            raise ModelFileError("the neighbors are no numbers of documents", reason="damaged")

    def _begin(self) -> None:
        """What is made of the lists when a table is built or opened."""
        if "_last" not in vars(self):
            self.make_writable()
            self._last = np.where(self.alive_ & ~self.stale_, self.keys_[:, -1], np.inf)

    def _lose(self, gone: Ints) -> None:
        rows = np.searchsorted(self.numbers_, gone)
        self.alive_[rows] = False
        broken = self.alive_ & np.isin(self.neighbors_, gone).any(axis=1)
        self.stale_ |= broken
        self._last[rows] = np.inf
        self._last[broken] = np.inf

    def _gain(self, parts: Sequence[Searched], new: Ints) -> None:
        """Documents that came: their own lists, and the lists that they enter."""
        pieces = [part.index.vectors_of(some) for part in parts if len(some := new[np.isin(new, part.index.ids_)])]
        rows = stacked(pieces)
        answers = merge_nearest(parts, rows, self.k, [{int(number)} for number in new])
        before = len(self.numbers_)
        members, keys = list_arrays(answers, self.k)
        self.extend("numbers_", new)
        self.extend("neighbors_", members)
        self.extend("keys_", keys)
        self.extend("alive_", np.ones(len(new), np.bool_))
        self.extend("stale_", np.zeros(len(new), np.bool_))
        self.extend("_last", np.full(len(new), np.inf))  # their lists are whole already
        for i, number in enumerate(new.tolist()):
            row = rows[np.array([i])]
            for part in parts:
                ids = part.index.ids_
                places = self._places(ids)
                reached, keys_ = part.index.reach(row, np.where(places >= 0, self._last[places], np.inf))
                for other, key in zip(reached.tolist(), keys_.tolist(), strict=True):
                    place = int(np.searchsorted(self.numbers_[:before], other))
                    if self.neighbors_[place, 0] >= 0 or self._has_direction(part, other):
                        self._enter(place, number, key, is_sparse(row))
        self._last[before:] = self.keys_[before:, -1]

    def _has_direction(self, part: Searched, number: int) -> bool:
        """Whether a document can be near anything; a vector of zeros has no cosine."""
        row = part.index.vectors_of([number])
        return self.measure_ != "cosine" or is_sparse(row) or bool(row.any())

    def _places(self, ids: Ints) -> Ints:
        """The rows of numbers in the table, -1 where it has none."""
        if not len(ids):
            return ids
        begin = int(np.searchsorted(self.numbers_, ids[0]))
        if np.array_equal(self.numbers_[begin : begin + len(ids)], ids):
            return np.arange(begin, begin + len(ids))
        places = np.searchsorted(self.numbers_, ids)
        there = places < len(self.numbers_)
        there[there] = self.numbers_[places[there]] == ids[there]
        return np.where(there, places, -1)

    def _enter(self, row: int, number: int, key: float, sparse_row: bool) -> None:
        """Put a newer document into a list, behind all that are as near."""
        if not key > self._last[row] or (sparse_row and self.measure_ == "cosine" and not key > 0):
            return
        keys, members = self.keys_[row], self.neighbors_[row]
        place = int(np.searchsorted(-keys, -key, side="right"))
        keys[place + 1 :], members[place + 1 :] = keys[place:-1].copy(), members[place:-1].copy()
        keys[place], members[place] = key, number
        self._last[row] = keys[-1]

    def _renew(self, parts: Sequence[Searched], rows: Ints) -> None:
        for begin in range(0, len(rows), STRETCH):
            some = rows[begin : begin + STRETCH]
            self.neighbors_[some], self.keys_[some] = search_lists(parts, self.numbers_[some], self.k)
        self.stale_[rows] = False
        self._last[rows] = self.keys_[rows, -1]
