"""A collection of documents on disk that answers "what is similar to this?": read by many, written by one.

    collection.json      what belongs together: shards, journal, methods; replaced whole
    documents-N.mill     ids, titles, texts and fields of the documents of shard N
    METHOD-N.mill        their vectors by one method, an `Index`
    model-METHOD-N.mill  the model of a method
    journal-N            what was written since (`journal.py`)

Every write of a document gets a number above all before it, a new version of an old document, too. Answers are ordered
by score, then by number. A reader holds a snapshot, which is not changed while it is asked; `refresh` takes the next
one. The models are frozen: a document that comes later is seen with their words. When more than a tenth of the
documents, or of the words in new documents, is new to them, `StaleModel` is warned of, and `rebuild` trains anew.

Cost: opening reads headers and the journal; a question is one search in each shard (few: they double in size); a write
is one line of the journal, one flush, and its own vectors. Memory: what is asked of the mapped files, and the journal.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textmill.errors import warn_caller
from textmill.model import check_range, load
from textmill.tables import Rows
from textmill.tasks.similarity.articles import Article, articles_of
from textmill.tasks.similarity.documents import Matches
from textmill.tasks.similarity.filters import Where
from textmill.tasks.similarity.indexed import IndexStore
from textmill.tasks.similarity.methods import Method
from textmill.tasks.similarity.questions import Question, ask
from textmill.tasks.similarity.snapshot import FieldSummary, Snapshot, summarize_fields
from textmill.tasks.similarity.store import Store, build_collection

if TYPE_CHECKING:
    from textmill.tasks.similarity.neighbors import NeighborTable

__all__ = ["Collection", "StaleModel"]

_CHUNK = (1000, 1 << 21)  # documents that are written together, and characters of their texts
_RECENT = (2000, 1 << 23)  # documents of the journal before they become a shard, and characters
_STALE = 0.1  # share of new documents or unknown words from which models are old, and
_FEW = (20, 1000)  # documents and words that are too few to say so


class StaleModel(UserWarning):
    """So much of a collection is new to its models that they should be trained anew."""


class Collection:
    """Documents with title, text and fields, found by what they are similar to.

    Made by `Collection.create`, opened by `Collection.open`; several processes may read it while one writes.

    >>> from textmill.vectors import TextVectorizer, Weighting
    >>> texts = ["the mill grinds corn", "a storm at sea", "corn for the old mill"]
    >>> words = TextVectorizer(weighting=Weighting(idf="n/d"))
    >>> library = Collection.create("library", texts, methods={"tfidf": words})
    >>> library.query(text="corn mill", k=1).ids, library.query(id="0", k=1).ids
    (['0'], ['2'])
    >>> library.upsert([{"id": "sea", "text": "the sea and the storm", "year": 1990}])
    1
    >>> library.query(id="1", k=1, where={"year": 1990}).ids, library.get("sea").fields
    (['sea'], {'year': 1990})
    >>> library.delete(["1"])
    1
    >>> library.ids()
    ['0', '2', 'sea']
    """

    def __init__(self, store: Store, *, n_jobs: int | None = None) -> None:
        self._store = store
        self._snapshot = store.open()
        self._warned: set[str] = set()
        self._tables: dict[str, NeighborTable | None] = {}
        self._lock = threading.RLock()
        self._changing = threading.Lock()  # who holds it may take another snapshot
        self.n_jobs = n_jobs

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, n_jobs: int | None = None) -> Collection:
        """Open a collection; it is locked only while something is written.

        >>> Collection.open("/no such folder")
        Traceback (most recent call last):
        textmill.errors.DataError: /no such folder: no collection: there is no collection.json; make one with ...
        """
        return cls(Store(Path(folder), n_jobs=n_jobs), n_jobs=n_jobs)

    @classmethod
    def of_indexes(
        cls,
        paths: Sequence[str | os.PathLike[str]],
        *,
        documents: Iterable[Any] | None = None,
        n_jobs: int | None = None,
    ) -> Collection:
        """Open index files of the same documents as a collection that is only read: each file is a method.

        An index keeps no texts and fields; `documents` are those it was made of, for whoever asks for these.

        >>> from textmill.tasks import SimilarDocuments
        >>> SimilarDocuments().fit(["corn mill", "a storm", "old corn mill"]).save("words.mill")
        >>> library = Collection.of_indexes(["words.mill"])
        >>> library.query(id="0", k=1).ids, list(library.methods)
        (['2'], ['words'])
        """
        return cls(IndexStore(paths, documents, n_jobs=n_jobs), n_jobs=n_jobs)

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike[str],
        documents: Iterable[Any] | Mapping[str, Iterable[Any]],
        *,
        methods: Mapping[str, Any] | Iterable[Method] | Iterable[str] | None = None,
        n_jobs: int | None = None,
        **settings: Any,
    ) -> Collection:
        """Make a collection in a new folder and return it; documents are read once.

        `documents` are texts, `Document`s, mappings or `Article`s, or a mapping from names of sources to such.
        `methods` are kinds ("tfidf", "lsa", "lda" and others; None for tfidf and lsa), to which `settings` go as to
        `make_method`, or a mapping from names to models; models that are not fitted are fitted to these documents.
        """
        articles: Iterable[Article]
        if isinstance(documents, Mapping):
            articles = (one for name, part in documents.items() for one in articles_of(part, str(name)))
        else:
            articles = articles_of(documents)
        store = Store(Path(folder), n_jobs=n_jobs)
        build_collection(store, articles, methods, settings, n_jobs)
        return cls(store, n_jobs=n_jobs)

    @property
    def folder(self) -> Path:
        """Where the collection is."""
        return self._store.folder

    @property
    def snapshot(self) -> Snapshot:
        """What the collection holds at this moment; it stays as it is."""
        return self._snapshot

    @property
    def methods(self) -> dict[str, Method]:
        """The methods by name; the first one is asked where none is named."""
        return self._snapshot.methods

    def __len__(self) -> int:
        return len(self._snapshot)

    def __contains__(self, identifier: object) -> bool:
        return isinstance(identifier, str) and self._snapshot.find(identifier) is not None

    def __iter__(self) -> Iterator[Article]:
        return self._snapshot.articles()

    def ids(self) -> list[str]:
        """Return the ids of all documents, in the order in which they were written."""
        return [name for _, name in self._snapshot.names()]

    def get(self, identifier: str) -> Article:
        """Return a document.

        An unknown or deleted id is a `DataError`.
        """
        return self._snapshot.get(identifier)

    def fields(self) -> Rows[FieldSummary]:
        """Return the fields that documents have: name, how many documents have it, how many values, an example."""
        return summarize_fields(self._snapshot)

    def values(self, field: str) -> list[Any]:
        """Return the values of a field in the order of `ids`, None where a document has none."""
        return self._snapshot.values(field)

    def query(
        self,
        *,
        id: str | None = None,  # noqa: A002
        text: str | None = None,
        vector: Any = None,
        like: Sequence[str] = (),
        unlike: Sequence[str] = (),
        method: str | Sequence[str] | None = None,
        k: int = 10,
        where: Where | None = None,
    ) -> Matches:
        """Return the k documents most similar to a document, a text or a vector, or to several documents.

        `like` and `unlike` are ids of documents that were judged: they move the question, or are one by themselves
        (Rocchio). They and the document `id` are not in the answer. `method` is a name of `methods`, or several, whose
        answers are fused by their ranks. `where` filters by fields, see `filters`.
        """
        question = Question(id=id, text=text, vector=vector, like=tuple(like), unlike=tuple(unlike))
        return self.query_many([question], method=method, k=k, where=where)[0]

    def query_many(
        self,
        questions: Sequence[Question],
        *,
        method: str | Sequence[str] | None = None,
        k: int = 10,
        where: Where | None = None,
    ) -> list[Matches]:
        """Return the answers to several questions, which are searched together."""
        check_range("k", k, at_least=1, whole=True)
        return ask(self._snapshot, questions, method=method, k=k, where=where)

    def upsert(self, documents: Iterable[Any], *, source: str | None = None) -> int:
        """Write documents, in place of those with the same ids, and return how many; they are on the disk then.

        Those of a long stream are written in chunks: after a fault the ones before it are there. A document that is
        there already, with the same title, text, fields and source, stays as it is.
        """
        written = 0
        with self._writing():
            articles = articles_of(documents, source, first=self._snapshot.next_number)
            for chunk in _chunks(articles):
                self._take(self._store.write(self._snapshot, chunk))
                written += len(chunk)
                recent = self._snapshot.recent.documents
                if len(recent) > _RECENT[0] or recent.size > _RECENT[1]:
                    self._take(self._store.fold(self._snapshot))
        self._warn_if_stale()
        return written

    def delete(self, ids: Iterable[str]) -> int:
        """Delete documents and return how many; an unknown id is refused before anything is deleted."""
        names = [ids] if isinstance(ids, str) else list(dict.fromkeys(ids))
        with self._writing():
            for name in names:
                self._snapshot.get(name)
            if names:
                self._take(self._store.delete(self._snapshot, names))
        return len(names)

    def refresh(self) -> bool:
        """Take over what others have written since; returns whether there was something.

        Cheap when there is nothing new: two looks at the folder. While another thread writes through this object there
        is nothing to take over: what it writes is seen at once.
        """
        if not self._changing.acquire(blocking=False):
            return False
        try:
            before = self._snapshot
            self._take(self._store.refreshed(before))
            return self._snapshot is not before
        finally:
            self._changing.release()

    def compact(self) -> None:
        """Merge the journal and small shards, and give back the room of what was deleted; models and answers stay.

        Worth it after a large upload or many deletions: a question is one search in each shard.
        """
        with self._writing():
            self._take(self._store.fold(self._snapshot, whole=True))

    def count_shards(self) -> int:
        """Return in how many parts the documents lie; the journal is one while there is something in it."""
        return sum(bool(len(part.numbers)) for part in self._snapshot.parts)

    def rebuild(
        self, methods: Mapping[str, Any] | Iterable[Method] | Iterable[str] | None = None, **settings: Any
    ) -> None:
        """Train the models anew on the documents that are there now; readers see the old ones until it is done.

        `methods` and `settings` as in `create`; None for the same models with the same parameters.
        """
        with self._writing():
            self._take(self._store.rebuild(self._snapshot, methods, settings, self.n_jobs))
        self._warned.clear()

    def keep_neighbors(self, table: NeighborTable) -> None:
        """Keep a table of neighbors with the collection, for `neighbors` here and elsewhere."""
        table.settle(self)
        table.save(self.folder / f"neighbors-{table.method_}.mill")
        self._tables[table.method_] = table

    def neighbors(self, identifier: str, *, method: str | None = None, k: int = 10) -> Matches:
        """Return the k nearest documents of a document: from the table that is kept, or else by a question.

        A table is brought up to date when documents were written since.
        """
        check_range("k", k, at_least=1, whole=True)
        name = self._snapshot.method(method).name
        with self._lock:
            table = self._table(name)
            if table is None or table.k < k:
                return self.query(id=identifier, method=name, k=k)
            table.update(self)
            matches = table.matches(self, identifier)
        return Matches(matches.ids[:k], matches.scores[:k], matches.reason, titles=matches.titles[:k])

    def _table(self, name: str) -> NeighborTable | None:
        from textmill.tasks.similarity.neighbors import NeighborTable

        path = self.folder / f"neighbors-{name}.mill"
        if name not in self._tables:
            self._tables[name] = load(path, expect=NeighborTable) if path.exists() else None
        table = self._tables[name]
        return table if table is not None and table.fits(self) else None

    def staleness(self) -> tuple[float, float]:
        """Return the shares of documents and of words in them that came after the models were trained.

        The second is that of words in the new documents that are unknown beyond the share that the models leave out of
        the documents they were trained on, as rare or common.
        """
        return self._snapshot.staleness()

    def stale_reasons(self) -> list[str]:
        """Return why the models are old, one sentence each; nothing while no share passes a tenth."""
        return list(self._stale().values())

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Be the only writer, from the latest state on."""
        with self._store.writing(), self._changing:
            self._take(self._store.refreshed(self._snapshot))
            yield

    def _take(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def _stale(self) -> dict[str, str]:
        """What is too new to the models, and the sentence with its share."""
        documents, words = self.staleness()
        new = (documents * len(self), sum(self._snapshot.words))
        facts = ((documents, "documents are newer than the models"), (words, "words of new documents are unknown"))
        return {
            what: f"{share:.0%} of the {what}"
            for (share, what), count, few in zip(facts, new, _FEW, strict=True)
            if share > _STALE and count >= few
        }

    def _warn_if_stale(self) -> None:
        for what, sentence in self._stale().items():
            if what not in self._warned:
                self._warned.add(what)
                warn_caller(f"{sentence}; train them anew with rebuild", StaleModel)


def _chunks(articles: Iterable[Article]) -> Iterator[list[Article]]:
    """Documents that are written together."""
    chunk: list[Article] = []
    size = 0
    for article in articles:
        chunk.append(article)
        size += len(article.words)
        if len(chunk) == _CHUNK[0] or size > _CHUNK[1]:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
