"""A collection as the panels see it: articles with text and fields, one source for each method, uploads.

    neighbors of an article   from neighbors-METHOD.mill in the folder, where that knows exactly these documents;
                              else one search
    neighbors of a text       one search for all questions that wait

A source belongs to one snapshot of the collection and is never changed. Uploads are streams of JSON lines: lines are
read and written as they come, a bounded number of them is in memory, and what is confirmed is on the disk.
"""

from __future__ import annotations

import json
import os
import queue
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from textmill.errors import DataError, ModelFileError
from textmill.model import load
from textmill.tasks.similarity import (
    Article,
    Collection,
    Matches,
    NeighborTable,
    Question,
    Snapshot,
    StaleModel,
    similarities,
)
from textmill.web.answers import Refusal
from textmill.web.indexes import Near, near_of

__all__ = ["Holdings", "MethodSource", "Upload"]

_LINE = 16 << 20  # bytes of one document of an upload
_PIECES = 8  # pieces of an upload that wait to be written
_END = b""


class MethodSource:
    """One method of a collection at one moment."""

    def __init__(self, name: str, collection: Collection, table: NeighborTable | None) -> None:
        self.name = name
        self._collection = collection
        self._snapshot: Snapshot = collection.snapshot
        self._table = table

    def __len__(self) -> int:
        return len(self._snapshot)

    def __contains__(self, identifier: str) -> bool:
        return self._snapshot.find(identifier) is not None

    def is_quick(self, k: int) -> bool:
        """Whether neighbors are there already."""
        return self._table is not None and k <= self._table.k

    def title(self, identifier: str) -> str:
        """What is shown of a document."""
        place = self._snapshot.place(identifier)
        return str(place.part.documents.titles_[place.row])

    def article(self, identifier: str) -> Article:
        """A document with its text and fields."""
        return self._snapshot.get(identifier)

    def listed(self, search: str, first: int, count: int) -> tuple[int, list[tuple[str, str]]]:
        """Ids and titles that contain some letters, and how many there are."""
        wanted = search.casefold().strip()
        if not wanted:
            numbers = self._snapshot.numbers[first : first + count].tolist()
            return len(self), [self._shown(number) for number in numbers]
        rows = [self._shown(number) for number in self._snapshot.numbers.tolist()]
        fitting = [row for row in rows if wanted in row[0].casefold() or wanted in row[1].casefold()]
        return len(fitting), fitting[first : first + count]

    def neighbors(self, identifier: str, k: int) -> list[Near]:
        """The documents nearest to one."""
        table = self._table
        if table is not None and k <= table.k:
            row = int(np.searchsorted(table.numbers_, self._snapshot.place(identifier).number))
            members = table.neighbors_[row, :k]
            members = members[members >= 0]
            scores = similarities(table.measure_, table.keys_[row, : len(members)]).tolist()
            return [Near(*self._shown(number), score) for number, score in zip(members.tolist(), scores, strict=True)]
        return near_of(self._collection.query(id=identifier, method=self.name, k=k))

    def search(self, texts: Sequence[str], k: int) -> list[tuple[list[Near], str | None]]:
        """The documents nearest to each text, and why there are none."""
        questions = [Question(text=text) for text in texts]
        answers: list[Matches] = self._collection.query_many(questions, method=self.name, k=k)
        return [(near_of(one), one.reason) for one in answers]

    def _shown(self, number: int) -> tuple[str, str]:
        place = self._snapshot.by_number(number)
        return str(place.part.documents.ids_[place.row]), str(place.part.documents.titles_[place.row])


class Holdings:
    """The collection that is served."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.collection = Collection.open(folder)
        self._stamps: dict[str, Any] = {}
        self.sources = self._sources()

    def refresh(self) -> bool:
        """Take over what was written since; whether there was something."""
        tables = {name: _stamp(self._table_path(name)) for name in self.collection.methods}
        self.collection.refresh()
        if self.collection.snapshot is self._seen and tables == self._stamps:
            return False
        self.sources = self._sources()
        return True

    def texts(self) -> Iterator[str]:
        """The texts of all documents."""
        return (article.words for article in self.collection.snapshot.articles())

    def write(self, documents: Iterator[Any]) -> int:
        """Write documents and return how many; those of before with the same ids are replaced."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StaleModel)  # staleness is shown, not warned of
            written = self.collection.upsert(documents, source="upload")
        self.sources = self._sources()
        return written

    def delete(self, ids: Sequence[str]) -> int:
        """Delete documents."""
        count = self.collection.delete(ids)
        self.sources = self._sources()
        return count

    def _sources(self) -> dict[str, MethodSource]:
        self._seen = self.collection.snapshot
        self._seen.hash_ids()
        self._stamps = {name: _stamp(self._table_path(name)) for name in self.collection.methods}
        return {name: MethodSource(name, self.collection, self._table(name)) for name in self.collection.methods}

    def _table_path(self, method: str) -> str:
        return os.path.join(self._folder, f"neighbors-{method}.mill")

    def _table(self, method: str) -> NeighborTable | None:
        """The lists of a method, if they are those of the documents and the model of this moment."""
        try:
            table = load(self._table_path(method), expect=NeighborTable, verify=True)
        except (OSError, ModelFileError):
            return None
        whole = bool(table.alive_.all()) and not bool(table.stale_.any())
        same = np.array_equal(table.numbers_, self.collection.snapshot.numbers)
        return table if whole and same and table.fits(self.collection) else None


class Upload:
    r"""A stream of JSON lines between a client that sends and a thread that writes.

    >>> upload = Upload()
    >>> for piece in (b'{"id": "a", "te', b'xt": "A mill."}\n\n{"id": "b", "text": "B"}', b""):
    ...     upload.put(piece)
    >>> [document["id"] for document in upload]
    ['a', 'b']
    """

    def __init__(self) -> None:
        self._pieces: queue.Queue[bytes | None] = queue.Queue(_PIECES)
        self.line = 0

    def put(self, piece: bytes | None) -> None:
        """Hand over a piece, no bytes for the end, None when the client left; `queue.Full` if the writer is behind."""
        self._pieces.put_nowait(piece)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        rest = b""
        while True:
            piece = self._pieces.get()
            if piece is None:
                raise Refusal(400, "the upload ended before it was whole")
            lines = (rest + piece).split(b"\n")
            rest = lines.pop()
            if len(rest) > _LINE:
                raise Refusal(413, f"line {self.line + 1} is longer than {_LINE} bytes")
            for line in lines if piece != _END else [*lines, rest]:
                self.line += 1
                if line.strip():
                    yield self._document(line)
            if piece == _END:
                return

    def _document(self, line: bytes) -> dict[str, Any]:
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            raise DataError(f"line {self.line} is not JSON in UTF-8; send one object per line") from None
        if not isinstance(document, dict) or not isinstance(document.get("text"), str):
            raise DataError(f"line {self.line} is no object with a text; send lines such as {{'id': ..., 'text': ...}}")
        return document


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        seen = os.stat(path)
    except OSError:
        return None
    return seen.st_ino, seen.st_mtime_ns
