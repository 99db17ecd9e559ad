"""The making of all lists of a table of neighbors: by tiles, by search, on a cluster; with checkpoints."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from textmill._native import vectors as native
from textmill.arrays import Floats, Ints
from textmill.cluster import connect
from textmill.errors import DataError
from textmill.model import load
from textmill.progress import start
from textmill.tasks.similarity.documents import SimilarDocuments
from textmill.tasks.similarity.merging import merge_nearest, stacked
from textmill.tasks.similarity.snapshot import Snapshot
from textmill.vectors import Index, Searched

__all__ = ["STRETCH", "Building", "alive_numbers", "list_arrays", "model_name", "parts_of", "search_lists", "some_row"]

TILE = 1024  # rows and columns of a tile of products
STRETCH = 1024  # sparse documents that are searched together, and what a worker of a cluster searches
SECONDS = 60.0  # between checkpoints


class Building:
    """The making of all lists, which can be interrupted and begun again."""

    def __init__(self, table: Any, parts: Sequence[Searched], k: int, checkpoint: Any, jobs: int) -> None:
        self.table, self.parts, self.k, self.jobs = table, parts, k, jobs
        size = len(table.numbers_)
        self.neighbors = np.full((size, k), -1, np.int64)
        self.keys = np.full((size, k), -np.inf)
        self.done = 0
        self._path = None if checkpoint is None else Path(checkpoint)
        self._written = time.monotonic()
        if self._path is not None and self._path.exists():
            self._resume()

    def bysearch_lists(self) -> None:
        """One search for each document."""
        with start("finding neighbors", total=len(self.table.numbers_), unit="documents") as step:
            step.advance(min(self.done * STRETCH, len(self.table.numbers_)))
            for begin in range(self.done * STRETCH, len(self.table.numbers_), STRETCH):
                numbers = self.table.numbers_[begin : begin + STRETCH]
                self._put(begin, *search_lists(self.parts, numbers, self.k))
                self._mark(step, len(numbers))

    def on_cluster(self, cluster: Any, source: Any) -> None:
        """Stretches of documents, searched by the workers of a cluster."""
        if isinstance(source, SimilarDocuments):
            raise DataError("an index in memory cannot be searched by others; make a collection of the documents")
        numbers = self.table.numbers_
        begins = range(self.done * STRETCH, len(numbers), STRETCH)
        chunks = [(begin, numbers[begin : begin + STRETCH]) for begin in begins]
        state = (str(source.folder.resolve()), self.table.method_, self.table.model_, self.k, len(numbers))
        with connect(cluster) as workers, start("finding neighbors", total=len(chunks), unit="stretches") as step:
            for begin, members, keys in workers.map(_search_elsewhere, chunks, state):
                self._put(begin, members, keys)
                self._mark(step, 1)

    def by_tiles(self) -> None:
        """Tiles of products, each pair of documents once."""
        stretches = list(_stretches(self.parts))
        lists = native.NearestLists(len(self.table.numbers_), self.k)
        lists.resume(self.neighbors, self.keys)
        memory = [np.empty((TILE, TILE), np.float32) for _ in range(self.jobs)]
        total = len(stretches) * (len(stretches) + 1) // 2

        def add(lane: int, left: Any, rights: Sequence[Any]) -> None:
            for right in rights:
                products = memory[lane]
                out = products.reshape(-1)[: left.count * right.count].reshape(left.count, right.count)
                np.matmul(left.rows, right.rows.T, out=out)
                lists.add(
                    left.view, left.first, left.base, right.view, right.first, right.base, out, left.count, right.count
                )

        limit = ThreadpoolController().limit(limits=1, user_api="blas")
        with (
            limit,
            ThreadPoolExecutor(self.jobs) as pool,
            start("finding neighbors", total=total, unit="tiles") as step,
        ):
            step.advance(sum(len(stretches) - i for i in range(self.done)))
            for i in range(self.done, len(stretches)):
                rights = [stretches[j] for j in range(i, len(stretches))]
                lanes = [pool.submit(add, lane, stretches[i], rights[lane :: self.jobs]) for lane in range(self.jobs)]
                for lane in lanes:
                    lane.result()
                if self._is_time():
                    lists.lists(self.neighbors, self.keys)
                self._mark(step, len(rights))
        lists.lists(self.neighbors, self.keys)
        self._name_rows(stretches)

    def forget(self) -> None:
        """Remove the checkpoint: the work is done."""
        if self._path is not None:
            with contextlib.suppress(FileNotFoundError):
                self._path.unlink()

    def _name_rows(self, stretches: Sequence[Any]) -> None:
        """Numbers of documents in the place of rows, and no lists for vectors of zeros."""
        rows = np.concatenate([stretch.numbers for stretch in stretches] or [np.zeros(0, np.int64)])
        there = self.neighbors >= 0
        self.neighbors[there] = rows[self.neighbors[there]]
        if self.table.measure_ == "cosine":
            empty = np.concatenate([~stretch.rows.any(axis=1) for stretch in stretches] or [np.zeros(0, np.bool_)])
            self.neighbors[empty], self.keys[empty] = -1, -np.inf

    def _put(self, begin: int, members: Ints, keys: Floats) -> None:
        self.neighbors[begin : begin + len(members)], self.keys[begin : begin + len(keys)] = members, keys

    def _is_time(self) -> bool:
        return self._path is not None and time.monotonic() - self._written > SECONDS

    def _mark(self, step: Any, size: int) -> None:
        self.done += 1
        step.advance(size)
        if self._is_time():
            self.save()

    def save(self) -> None:
        """Write what is done."""
        assert self._path is not None
        state = type(self.table)()
        vars(state).update(vars(self.table))
        state.neighbors_, state.keys_ = self.neighbors, self.keys
        state.alive_ = np.ones(len(self.neighbors), np.bool_)
        state.stale_ = np.zeros(len(self.neighbors), np.bool_)
        state.model_ = f"{self.table.model_} {self.done}"
        state.save(self._path)
        self._written = time.monotonic()

    def _resume(self) -> None:
        assert self._path is not None
        state = load(self._path, expect=type(self.table))
        model, _, done = state.model_.rpartition(" ")
        same = (model, state.method_, state.k) == (self.table.model_, self.table.method_, self.k)
        if not same or not np.array_equal(state.numbers_, self.table.numbers_):
            raise DataError("a checkpoint of other work; remove it, or name another file", source=str(self._path))
        self.neighbors, self.keys, self.done = np.array(state.neighbors_), np.array(state.keys_), int(done)


class _Stretch:
    """Consecutive rows of one part, all of them alive."""

    def __init__(self, view: Any, rows: Any, numbers: Ints, first: int, base: int) -> None:
        self.view, self.rows, self.numbers, self.first, self.base = view, rows, numbers, first, base
        self.count = len(rows)


def _stretches(parts: Sequence[Searched]) -> Iterator[_Stretch]:
    base = 0
    for part in parts:
        numbers = alive_numbers(part)
        engine = part.index.engine_
        if len(numbers) != len(part.index.ids_):  # rows that are gone would leave gaps
            engine = Index.of(part.index.vectors_of(numbers), measure=part.index.measure, method="scan").engine_
        view = engine.view(None)
        for first in range(0, len(numbers), TILE):
            rows = engine.vectors_[first : first + TILE]
            yield _Stretch(view, rows, numbers[first : first + TILE], first, base + first)
        base += len(numbers)


def search_lists(parts: Sequence[Searched], numbers: Ints, k: int) -> tuple[Ints, Floats]:
    """The lists of some documents, by asking for each."""
    pieces, order = [], []
    for part in parts:
        here = np.flatnonzero(np.isin(numbers, part.index.ids_))
        if len(here):
            pieces.append(part.index.vectors_of(numbers[here]))
            order.append(here)
    rows = stacked(pieces)
    rows = rows[np.argsort(np.concatenate(order))] if len(pieces) > 1 else rows
    return list_arrays(merge_nearest(parts, rows, k, [{int(number)} for number in numbers]), k)


_opened: dict[tuple[str, str], Any] = {}  # collections of this process, on a worker of a cluster


def _search_elsewhere(chunk: tuple[int, Ints], state: tuple[str, str, str, int, int]) -> tuple[int, Ints, Floats]:
    """The lists of a stretch of documents, on a worker."""
    from textmill.tasks.similarity.collection import Collection

    folder, method, model, k, size = state
    collection = _opened.get((folder, model)) or Collection.open(folder, n_jobs=1)
    collection.refresh()
    _opened.clear()
    _opened[folder, model] = collection
    parts, _, present, _ = parts_of(collection, method)
    if present != model or sum(len(alive_numbers(part)) for part in parts) != size:
        raise DataError("the collection was changed while its neighbors were searched; begin again", source=folder)
    return chunk[0], *search_lists(parts, chunk[1], k)


def list_arrays(answers: Sequence[tuple[Ints, Floats]], k: int) -> tuple[Ints, Floats]:
    """Return lists as two arrays (n, k): numbers, -1 where there are fewer, and keys, -inf there."""
    members, keys = np.full((len(answers), k), -1, np.int64), np.full((len(answers), k), -np.inf)
    for i, (some, their_keys) in enumerate(answers):
        members[i, : len(some)], keys[i, : len(some)] = some, their_keys
    return members, keys


def parts_of(source: Any, method: str | None) -> tuple[list[Searched], str, str, str]:
    """The indexes that are searched, and name, model and measure of the method."""
    if isinstance(source, SimilarDocuments):
        return [Searched(source.index_)], "index", source.fingerprint_, source.measure
    snapshot: Snapshot = source.snapshot
    chosen = snapshot.method(method)
    parts = [Searched(part.indexes[chosen.name], None, part.dead) for part in snapshot.parts if part.indexes]
    return parts, chosen.name, model_name(snapshot, chosen.name), chosen.measure


def model_name(snapshot: Snapshot, method: str) -> str:
    """Return the name of the file of a method's model, which changes when it is trained anew."""
    return next((str(one["model"]) for one in snapshot.manifest["methods"] if one["name"] == method), "")


def alive_numbers(part: Searched) -> Ints:
    """Return the numbers of what may be found in an index."""
    index = part.index
    alive = index.alive_ if part.deny is None or not len(part.deny) else index.alive_ & ~np.isin(index.ids_, part.deny)
    return index.ids_ if alive.all() else index.ids_[alive]


def some_row(parts: Sequence[Searched]) -> Any:
    """Return one vector, to see of what sort they are."""
    index = parts[0].index
    return index.vectors_of(index.ids_[index.alive_][:1])
