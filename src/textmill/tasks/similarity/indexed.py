"""Index files seen as a collection: read only, with the texts and fields of the documents where these are passed.

An index keeps vectors, ids and titles. Every analysis of a collection asks a snapshot, so an index is given one: its
documents, with each file as a method under the name of the file. Several indexes of the same documents are several
methods. What needs texts or fields says so where an index has none.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from textmill.arrays import Ints
from textmill.errors import DataError
from textmill.model import load
from textmill.tasks.similarity.articles import Article, articles_of
from textmill.tasks.similarity.documents import SimilarDocuments
from textmill.tasks.similarity.methods import Method, as_methods
from textmill.tasks.similarity.shards import RecentDocuments
from textmill.tasks.similarity.snapshot import Part, Snapshot
from textmill.tasks.similarity.store import Store
from textmill.vectors import Index

__all__ = ["IndexStore", "IndexedDocuments"]


class IndexedDocuments(RecentDocuments):
    """The documents of an index, with what is known of them beside it.

    >>> documents = IndexedDocuments(["a"], ["A mill"], np.array([3]), None)
    >>> documents.article(0).title, documents.find("a")
    ('A mill', 0)
    >>> documents.text(0)
    Traceback (most recent call last):
    textmill.errors.DataError: an index holds no texts and fields; pass the documents it was made of (--documents), ...
    """

    def __init__(
        self, ids: Sequence[str], titles: Sequence[str], numbers: Ints, articles: Mapping[str, Article] | None
    ) -> None:
        super().__init__()
        self._is_bare = articles is None
        pairs = zip(ids, titles, strict=True)
        self._articles = [(articles or {}).get(name) or Article(name, title, "") for name, title in pairs]
        self._rows = {name: row for row, name in enumerate(ids)}
        self.numbers_ = numbers

    def text(self, row: int) -> Any:
        """Return the text of a row."""
        self._refuse_bare()
        return super().text(row)

    def texts(self) -> Iterator[Any]:
        """Yield all texts."""
        self._refuse_bare()
        return super().texts()

    def column(self, name: str) -> list[Any]:
        """Return the values of a field, None where there is none."""
        self._refuse_bare()
        return super().column(name)

    def field_names(self) -> set[str]:
        """Return the names of all fields."""
        self._refuse_bare()
        return super().field_names()

    def _refuse_bare(self) -> None:
        if self._is_bare:
            raise DataError(
                "an index holds no texts and fields; pass the documents it was made of (--documents), or make a "
                "collection of them"
            )


class IndexStore(Store):
    """Index files where a collection has its folder.

    `documents` are those that the indexes were made of, for their texts and fields; None if nobody needs them.
    """

    def __init__(
        self,
        paths: Sequence[str | os.PathLike[str]],
        documents: Iterable[Any] | None = None,
        *,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(Path(paths[0]), n_jobs=n_jobs)
        self._paths = [Path(path) for path in paths]
        self._documents = documents

    def open(self, opened: Snapshot | None = None) -> Snapshot:
        """All files as one part."""
        indexes = [load(path, expect=SimilarDocuments) for path in self._paths]
        names = _names(self._paths)
        first = indexes[0]
        alive = first.index_.ids_[first.index_.alive_]
        ids, titles = first.names_.take(alive).to_list(), first.titles_.take(alive).to_list()
        articles = None if self._documents is None else {one.id: one for one in articles_of(self._documents)}
        if articles is not None and not articles.keys() & set(ids):
            raise DataError("none of the documents is in the index; pass those it was made of")
        documents = IndexedDocuments(ids, titles, alive, articles)
        engines = {}
        methods = []
        for path, name, similar in zip(self._paths, names, indexes, strict=True):
            model = similar.model_ if similar.model_ is not None else similar.model
            methods.append(Method(name, model, similar.measure))
            numbers = _numbers(similar, ids, path)
            rows = similar.index_.vectors_of(numbers) if len(numbers) else None
            whole = np.array_equal(similar.index_.ids_, alive)
            index = similar.index_ if whole or rows is None else Index.of(rows, ids=alive, measure=similar.measure)
            engines[name] = index.set_params(n_jobs=self._n_jobs)
        manifest = {
            "methods": [
                {"name": name, "model": similar.fingerprint_} for name, similar in zip(names, indexes, strict=True)
            ],
            "trained": int(first.index_.next_),
        }
        part = Part(documents, engines, np.zeros(0, np.int64))
        by_name = {method.name: method for method in as_methods(methods)}
        return Snapshot(manifest, (part,), by_name, int(first.index_.next_))

    def refreshed(self, snapshot: Snapshot) -> Snapshot:
        """The same: an index file is opened once."""
        return snapshot

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Refuse to write."""
        raise DataError(
            "an index is written by `textmill similar add`, `upsert` and `remove`; here it is only read",
            source=str(self.folder),
        )
        yield


def _names(paths: Sequence[Path]) -> list[str]:
    """A name for each file: its own without the ending, where that can name a method."""
    names: list[str] = []
    for number, path in enumerate(paths, 1):
        name = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in path.stem).strip("-")
        name = name[:40] or "index"
        names.append(f"{name}-{number}" if name in names or name in ("documents", "fused") else name)
    return names


def _numbers(similar: SimilarDocuments, ids: Sequence[str], path: Path) -> list[int]:
    """The numbers of documents in an index, which must hold exactly these."""
    if len(similar) != len(ids):
        raise DataError(f"it holds {len(similar)} documents where the first has {len(ids)}", source=str(path))
    try:
        return [similar.number_of(name) for name in ids]
    except DataError as fault:
        raise DataError(f"{fault.message}: both indexes must hold the same documents", source=str(path)) from None
