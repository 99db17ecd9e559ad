"""Documents of a collection in files that are mapped, and those that are still in memory.

A shard holds documents in the order of their numbers: every write of a document has a number, larger than all before,
so a newer version of a document has a larger number than the older. `DocumentShard` is a file, opened in no time and
read where it is asked; `RecentDocuments` are those of the journal. Both find a document by id and give columns of
fields.

Cost: an id is found by bisection of the sorted ids, O(log n) strings, and of many at once only those are looked for
whose hash is here; a column of fields is parsed once and kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from textmill.arrays import Ids, Ints, Masks
from textmill.errors import ModelFileError
from textmill.model import Model, StringTable
from textmill.tasks.similarity.articles import Article

__all__ = ["DocumentShard", "RecentDocuments"]


class DocumentShard(Model):
    """Documents in one file.

    Attributes: numbers_ (n,) rising; ids_, titles_, texts_, fields_ (JSON), all (n,); tokenized_ (n,), whether a text
    is a JSON list of terms; sources_ (n,) into source_names_; order_ (n,), rows by id.

    >>> shard = DocumentShard.of([Article("b", "B", "to be"), Article("a", "A", "or not")], [3, 5])
    >>> shard.find("a"), shard.article(1).text, len(shard)
    (1, 'or not', 2)
    """

    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "numbers_": "document: int64",
        "ids_": "document: str",
        "titles_": "document: str",
        "texts_": "document: str",
        "fields_": "document: str",
        "tokenized_": "document: bool",
        "sources_": "document: int32",
        "source_names_": "source: str",
        "order_": "document: int64",
    }
    indices: ClassVar[dict[str, str]] = {"sources_": "source", "order_": "document"}

    numbers_: Ints
    ids_: StringTable
    titles_: StringTable
    texts_: StringTable
    fields_: StringTable
    tokenized_: Masks
    sources_: Ids
    source_names_: StringTable
    order_: Ints

    @classmethod
    def of(cls, articles: Sequence[Article], numbers: Sequence[int]) -> DocumentShard:
        """Return the shard of some documents with rising numbers."""
        shard = cls()
        shard.numbers_ = np.asarray(numbers, np.int64)
        shard.ids_ = StringTable(article.id for article in articles)
        shard.titles_ = StringTable(article.title for article in articles)
        shard.texts_ = StringTable(
            article.text if isinstance(article.text, str) else json.dumps(article.text, ensure_ascii=False)
            for article in articles
        )
        shard.fields_ = StringTable(json.dumps(article.fields, ensure_ascii=False) for article in articles)
        shard.tokenized_ = np.array([not isinstance(article.text, str) for article in articles], np.bool_)
        names = list(dict.fromkeys(article.source for article in articles))
        codes = {name: code for code, name in enumerate(names)}
        shard.source_names_ = StringTable(names)
        shard.sources_ = np.array([codes[article.source] for article in articles], np.int32)
        shard.order_ = np.array(sorted(range(len(articles)), key=lambda row: articles[row].id), np.int64)
        return shard

    @classmethod
    def join(cls, pieces: Sequence[tuple[DocumentShard, Ints]], room: Callable[..., Any] = np.empty) -> DocumentShard:
        """Return the shard of rows of several shards, one after the other; `room` as in `StringTable.join`."""
        shard = cls()
        for name in ("ids_", "titles_", "texts_", "fields_"):
            setattr(shard, name, StringTable.join([(getattr(one, name), rows) for one, rows in pieces], room))
        shard.numbers_ = np.concatenate([one.numbers_[rows] for one, rows in pieces])
        shard.tokenized_ = np.concatenate([one.tokenized_[rows] for one, rows in pieces])
        codes: dict[str, int] = {}
        sources = []
        for one, rows in pieces:
            seen, firsts, places = np.unique(one.sources_[rows], return_index=True, return_inverse=True)
            source_names = {code: one.source_names_[code] for code in seen[np.argsort(firsts)].tolist()}
            for name in source_names.values():
                codes.setdefault(name, len(codes))
            sources.append(np.array([codes[source_names[code]] for code in seen.tolist()], np.int32)[places])
        shard.source_names_, shard.sources_ = StringTable(codes), np.concatenate(sources)
        ids = shard.ids_.to_list()
        shard.order_ = np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64)
        return shard

    def __len__(self) -> int:
        return len(self.numbers_)

    @property
    def size(self) -> int:
        """Bytes of the texts."""
        return int(self.texts_.bytes.size)

    def likely(self, hashes: Ints) -> Ints:
        """Return which of some ids may be here, by their hashes; the others are not."""
        self.hash_ids()
        places = np.minimum(np.searchsorted(self._hashes, hashes), max(len(self) - 1, 0))
        return np.flatnonzero(self._hashes[places] == hashes) if len(self) else np.zeros(0, np.int64)

    def hash_ids(self) -> None:
        """Make `find` faster for who asks often: the hashes of all ids, in order, and their rows."""
        if "_hashes" not in vars(self):
            hashes = np.fromiter(map(hash, self.ids_), np.int64, len(self))
            self._hashed_rows = np.argsort(hashes, kind="stable")
            self._hashes = hashes[self._hashed_rows]  # last, so that another thread sees both

    def find(self, identifier: str) -> int | None:
        """Return the row of an id."""
        if "_hashes" in vars(self):
            wanted = hash(identifier)
            for place in range(int(self._hashes.searchsorted(wanted)), len(self)):
                if self._hashes[place] != wanted:
                    break
                row = int(self._hashed_rows[place])
                if self.ids_[row] == identifier:
                    return row
            return None
        low, high = 0, len(self.order_)
        while low < high:
            middle = (low + high) // 2
            row = int(self.order_[middle])
            name = self.ids_[row]
            if name == identifier:
                return row
            low, high = (middle + 1, high) if name < identifier else (low, middle)
        return None

    def article(self, row: int) -> Article:
        """Return the document of a row."""
        return Article(self.ids_[row], self.titles_[row], self.text(row), _object(self.fields_[row]), self.source(row))

    def text(self, row: int) -> Any:
        """Return the text of a row, or its list of terms."""
        return json.loads(self.texts_[row]) if self.tokenized_[row] else self.texts_[row]

    def texts(self) -> Iterator[Any]:
        """Yield all texts."""
        return (json.loads(text) if cut else text for text, cut in zip(self.texts_, self.tokenized_, strict=True))

    def source(self, row: int) -> str:
        """Return the name of the source of a row."""
        return self.source_names_[int(self.sources_[row])]

    def column(self, name: str) -> list[Any]:
        """Return the values of a field, None where there is none; parsed once."""
        columns: dict[str, list[Any]] = vars(self).setdefault("_columns", {})
        if name not in columns:
            if "_parsed" not in vars(self):
                self._parsed = [_object(text) for text in self.fields_]
            columns[name] = [fields.get(name) for fields in self._parsed]
        return columns[name]

    def field_names(self) -> set[str]:
        """Return the names of all fields."""
        self.column("")
        return {name for fields in self._parsed for name in fields}

    def check_values(self) -> None:
        """Check what the layout cannot say of a shard from a file."""
        if len(self) and (self.numbers_[0] < 0 or (np.diff(self.numbers_) <= 0).any()):
            raise ModelFileError("the numbers of the documents do not rise", reason="damaged")


class RecentDocuments:
    """Documents in memory, with the same methods as a shard. It is not changed: `with_` gives another one.

    >>> recent = RecentDocuments().with_([(7, Article("a", "A", "to be"))])
    >>> recent.find("a"), recent.numbers_.tolist()
    (0, [7])
    """

    def __init__(self) -> None:
        self._articles: list[Article] = []
        self._rows: dict[str, int] = {}
        self.size = 0
        self.numbers_ = np.zeros(0, np.int64)

    def with_(self, written: Sequence[tuple[int, Article]]) -> RecentDocuments:
        """Return these and further documents; of two with one id the later is found."""
        other = RecentDocuments()
        other._articles = [*self._articles, *(article for _, article in written)]
        other.size = self.size + sum(len(article.words) for _, article in written)
        other._rows = self._rows | {article.id: row for row, (_, article) in enumerate(written, len(self))}
        other.numbers_ = np.concatenate([self.numbers_, np.array([number for number, _ in written], np.int64)])
        return other

    def __len__(self) -> int:
        return len(self._articles)

    def stored(self, rows: Ints) -> DocumentShard:
        """Return some of the documents as a shard."""
        return DocumentShard.of([self._articles[row] for row in rows.tolist()], self.numbers_[rows].tolist())

    def likely(self, hashes: Ints) -> Ints:
        """Return which of some ids may be here: any, since they are looked up at once."""
        return np.arange(len(hashes))

    def find(self, identifier: str) -> int | None:
        """Return the row of an id."""
        return self._rows.get(identifier)

    def article(self, row: int) -> Article:
        """Return the document of a row."""
        return self._articles[row]

    def text(self, row: int) -> Any:
        """Return the text of a row, or its list of terms."""
        return self._articles[row].text

    def texts(self) -> Iterator[Any]:
        """Yield all texts."""
        return (article.text for article in self._articles)

    def source(self, row: int) -> str:
        """Return the name of the source of a row."""
        return self._articles[row].source

    @property
    def ids_(self) -> list[str]:
        """All ids."""
        return [article.id for article in self._articles]

    @property
    def titles_(self) -> list[str]:
        """All titles."""
        return [article.title for article in self._articles]

    def column(self, name: str) -> list[Any]:
        """Return the values of a field, None where there is none."""
        return [article.fields.get(name) for article in self._articles]

    def field_names(self) -> set[str]:
        """Return the names of all fields."""
        return {name for article in self._articles for name in article.fields}


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ModelFileError("the fields of a document are no JSON object; the shard is damaged", reason="damaged")
    return value
