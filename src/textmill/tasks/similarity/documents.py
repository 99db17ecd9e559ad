"""Similar documents: a model that turns texts into vectors, and an index of the vectors of many documents.

    text -> vector (any model with `transform(texts)`: TextVectorizer, LSA and other topic models) -> nearest documents

One file holds model, vectors and document ids, so a question in plain text needs nothing else. The index keeps a
fingerprint of the model: vectors of another model would be compared without meaning, so they are refused.

Cost: `fit` and `add` transform each document once, a chunk at a time; a query is a transform and a search
(`vectors/index.py`). Memory: the vectors.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill.cluster import connect
from textmill.corpus import Document, Documents, Vocabulary, require_passes
from textmill.errors import DataError, ModelFileError
from textmill.model import Estimator, Model, Saved, StringTable, check_fitted, check_range, load
from textmill.numeric import sparse
from textmill.progress import track
from textmill.tables import Column, Table, beginning
from textmill.vectors import ApproximateIndex, Index, Neighbors, TextVectorizer, Weighting

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["Matches", "SimilarDocuments", "query_shards"]

_CHUNK = 10_000  # documents transformed together
_TITLES = ("title", "headline", "subject")  # fields that name a document
_WIDTH = 80  # characters of a title
_UNKNOWN = "no word of the query is known to the model"


@dataclass(frozen=True, slots=True, repr=False)
class Matches(Table):
    """Ids of documents and scores, nearest first; `reason` says why there are none, where that has one.

    titles: the titles of the documents, or the beginnings of their texts; empty in an index of an older version.
    """

    ids: list[str]
    scores: NDArray[np.float64]
    reason: str | None = None
    titles: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)

    def columns(self) -> dict[str, Column]:
        """Return scores, ids and titles, the nearest first."""
        return {"score": self.scores, "id": self.ids, "title": self.titles or [""] * len(self.ids)}

    def note(self) -> str | None:
        """Return why nothing was found, if that is known."""
        return self.reason


class SimilarDocuments(Estimator, Model):
    """Find the documents most like a text.

    Parameters:
        model: Fitted model with `transform(texts)`; None for the TF-IDF of the documents themselves (a `TextVectorizer`
            with idf log n/d), which are then read twice.
        measure: "cosine", "euclidean" or "hellinger", as in `Index`.
        method: How the index is searched, as in `Index`.
        bits: Bits of a cell for the method "va", as in `Index`.
        n_jobs: Number of threads; None for all cores.

    Attributes:
        index_: The `Index` of the vectors.
        names_: Ids of the documents, by the ids of the index.
        titles_: What is shown of the documents.
        fingerprint_: Fingerprint of the model.
        model_: The `TextVectorizer` that was fitted where no model was given, else None.

    >>> similar = SimilarDocuments().fit(["the mill grinds corn", "a storm at sea", "corn for the old mill"])
    >>> similar.query(["corn mill"], k=2)[0]
    Matches, 2 rows
     score  id  title
    0.4398  0   the mill grinds corn
    0.3363  2   corn for the old mill
    >>> similar.query(["opera"])[0].reason
    'no word of the query is known to the model'
    """

    takes: ClassVar[str] = "texts"
    format_version: ClassVar[int] = 3
    layout: ClassVar[dict[str, str]] = {"names_": "document: str", "titles_": "document: str"}
    state: ClassVar[dict[str, type]] = {"fingerprint_": str}
    parts: ClassVar[dict[str, str]] = {"index_": "vectors.Index", "model_": "vectors.TextVectorizer"}

    names_: StringTable
    titles_: StringTable
    index_: Index
    fingerprint_: str
    model_: TextVectorizer | None

    def __init__(
        self,
        *,
        model: Any = None,
        measure: str = "cosine",
        method: str = "auto",
        bits: int = 8,
        n_jobs: int | None = None,
    ) -> None:
        self.model = model
        self.measure = measure
        self.method = method
        self.bits = bits
        self.n_jobs = n_jobs

    def fit(self, documents: Iterable[Any], y: object = None) -> SimilarDocuments:
        """Index documents: texts, which are numbered, or `Document`s, which have ids; one pass."""
        if self.model is not None and not (isinstance(self.model, Model) and hasattr(self.model, "transform")):
            raise DataError(f"model must be a textmill model that transforms texts, got {type(self.model).__name__}")
        if self.model is None:
            require_passes(documents, 2, "SimilarDocuments without a model")
            vocabulary, weighting = Vocabulary(n_jobs=self.n_jobs), Weighting(idf="n/d", n_jobs=self.n_jobs)
            self.model_ = TextVectorizer(vocabulary=vocabulary, weighting=weighting).fit(_texts(documents))
        else:
            self.model_ = None
        names, titles, X = self._vectors(documents, 0, set())
        if X is None:
            raise DataError("there are no documents to index; check that the input holds some")
        self.fingerprint_ = self._model().fingerprint()
        self._known_model = self._model()
        index = Index(measure=self.measure, method=self.method, bits=self.bits, n_jobs=self.n_jobs)
        self.index_ = index.fit(X)
        self._take(StringTable(names), StringTable(titles))
        return self

    def __len__(self) -> int:
        return len(self.index_)

    def add(self, documents: Iterable[Any]) -> int:
        """Add documents and return how many; an id that is already there is refused.

        >>> from textmill.vectors import TextVectorizer
        >>> similar = SimilarDocuments(model=TextVectorizer().fit(["a", "b", "c c"])).fit(["a b"])
        >>> similar.add(["b c"]), similar.query(["c"], k=1)[0].ids
        (1, ['1'])
        """
        check_fitted(self)
        self._check_model()
        names, titles, X = self._vectors(documents, len(self.names_), self._rows().keys())
        if X is not None:
            self.index_.add(X)
            self._take(StringTable([*self.names_, *names]), StringTable([*self.titles_, *titles]))
        return len(names)

    def upsert(self, documents: Iterable[Any]) -> int:
        """Add documents, in place of those with the same ids, and return how many.

        >>> from textmill.corpus import Document
        >>> from textmill.vectors import TextVectorizer
        >>> similar = SimilarDocuments(model=TextVectorizer().fit(["a", "b", "c c"])).fit(["a b", "b"])
        >>> similar.upsert([Document("0", "c", {}, "new.txt", 1)]), len(similar), similar.query(["c"], k=1)[0].ids
        (1, 2, ['0'])
        """
        check_fitted(self)
        self._check_model()
        names, titles, X = self._vectors(documents, len(self.names_), ())
        if X is not None:
            rows = self._rows()
            old = [rows[name] for name in names if name in rows]
            self.index_.add(X)
            self._take(StringTable([*self.names_, *names]), StringTable([*self.titles_, *titles]))
            if old:
                self.index_.remove(old)
        return len(names)

    def remove(self, ids: Sequence[str]) -> None:
        """Remove documents by id.

        >>> from textmill.vectors import TextVectorizer
        >>> similar = SimilarDocuments(model=TextVectorizer().fit(["a", "b", "c"])).fit(["a", "b"])
        >>> similar.remove(["0"])
        >>> len(similar)
        1
        """
        check_fitted(self)
        self.index_.remove(self._numbers(ids))
        vars(self).pop("_by_name", None)

    def query(
        self,
        texts: Sequence[Any],
        *,
        k: int = 10,
        allow: Sequence[str] | None = None,
        deny: Sequence[str] | None = None,
        approximate: ApproximateIndex | None = None,
    ) -> list[Matches]:
        """Return the k documents nearest to each text, of those in `allow` if given, without those in `deny`.

        `approximate` is a graph of `index_`, by which most of them are found without reading all vectors.

        >>> from textmill.topics import LSA
        >>> from textmill.vectors import ApproximateIndex, TextVectorizer
        >>> texts = ["old mill", "the sea", "mill and sea", "a storm at sea"]
        >>> words = TextVectorizer(weighting=Weighting(idf="n/d"))
        >>> similar = SimilarDocuments(model=LSA(n_topics=3, vectorizer=words).fit(texts)).fit(texts)
        >>> similar.query(["the sea"], k=1, approximate=ApproximateIndex().fit(similar.index_))[0].ids
        ['1']
        """
        check_range("k", k, at_least=1, whole=True)
        check_fitted(self)
        if isinstance(texts, str):
            raise DataError("texts must be a list of texts, got one text; put it into a list")
        self._check_model()
        have_terms = self._have_terms(texts)
        asked = [text for text, is_known in zip(texts, have_terms, strict=True) if is_known]
        filters = {"allow": self._filter(allow), "deny": self._filter(deny)}
        model = self._model()
        vectors = getattr(model, "rows", model.transform)  # plain arrays where there are some
        if approximate is None:
            answers = iter(self.index_.query(vectors(asked), k=k, **filters)) if asked else iter(())
        else:
            if allow is not None or deny is not None or approximate.index_ is not self.index_:
                raise DataError("a graph is asked without filters, and must be made of index_; leave it out here")
            answers = iter(approximate.query(vectors(asked), k=k)) if asked else iter(())
        return [
            self._named(next(answers)) if is_known else Matches([], np.zeros(0), _UNKNOWN) for is_known in have_terms
        ]

    def query_ids(self, ids: Sequence[str], *, k: int = 10) -> list[Matches]:
        """Return the k documents nearest to each of some documents of the index, but for themselves.

        >>> from textmill.vectors import TextVectorizer
        >>> similar = SimilarDocuments(model=TextVectorizer().fit(["a", "b", "c"])).fit(["a", "b", "a b"])
        >>> similar.query_ids(["0"], k=1)[0].ids
        ['2']
        """
        check_fitted(self)
        return [self._named(one) for one in self.index_.neighbors_of(self._numbers(ids), k=k)]

    def ids(self) -> list[str]:
        """Return the ids of all documents.

        >>> from textmill.vectors import TextVectorizer
        >>> SimilarDocuments(model=TextVectorizer().fit(["a", "b"])).fit(["a", "b"]).ids()
        ['0', '1']
        """
        check_fitted(self)
        return list(self._rows())

    def number_of(self, identifier: str) -> int:
        """Return the number that a document has in the index, by its id.

        >>> from textmill.vectors import TextVectorizer
        >>> SimilarDocuments(model=TextVectorizer().fit(["a", "b"])).fit(["a", "b"]).number_of("1")
        1
        """
        check_fitted(self)
        return self._numbers([identifier])[0]

    def pairs(self, *, threshold: float) -> Iterator[tuple[str, str, float]]:
        """Yield the ids and score of all pairs of documents at least so near; see `Index.pairs`.

        >>> from textmill.vectors import TextVectorizer
        >>> similar = SimilarDocuments(model=TextVectorizer().fit(["a", "b", "c"])).fit(["a b", "b", "a b"])
        >>> [(left, right) for left, right, score in similar.pairs(threshold=0.9)]
        [('0', '2')]
        """
        check_fitted(self)
        for left, right, scores in self.index_.pairs(threshold=threshold):
            for a, b, score in zip(left.tolist(), right.tolist(), scores.tolist(), strict=True):
                yield self.names_[a], self.names_[b], score

    def check_values(self) -> None:
        """Check what the layout cannot say of a file."""
        if len(self.names_) != self.index_.next_:
            raise ModelFileError(
                f"there are {len(self.names_)} names for {self.index_.next_} vectors", reason="damaged"
            )

    @classmethod
    def upgrade(cls, saved: Saved) -> Saved:
        """Format 1 had no titles, and always a model of the caller's; models inside format 2 had other fingerprints."""
        if saved.fitted:
            saved.state["fingerprint_"] = ""  # that of the model in the file, as it is read today
        if saved.fitted and saved.format == 1:
            ends = saved.arrays["names_.offsets"]
            saved.arrays |= {"titles_.bytes": np.zeros(0, np.uint8), "titles_.offsets": np.zeros(len(ends), ends.dtype)}
            saved.parts["model_"] = None
        saved.format = 3
        return saved

    def _model(self) -> Any:
        """What turns texts into vectors."""
        return self.model if self.model_ is None else self.model_

    def _vectors(self, documents: Iterable[Any], first: int, there: Any) -> tuple[list[str], list[str], Any]:
        """Ids, titles and vectors of documents, float32; None when there are none."""
        names: list[str] = []
        titles: list[str] = []
        seen: set[str] = set()
        chunks: list[Any] = []
        stream = iter(track(documents, "indexing", unit="documents"))
        while chunk := list(islice(stream, _CHUNK)):
            for document in chunk:
                name = document.id if isinstance(document, Document) else str(first + len(names))
                if name in there or name in seen:
                    place = document.place if isinstance(document, Document) else None
                    raise DataError(f"the id '{name}' is there twice; give every document its own", source=place)
                names.append(name)
                seen.add(name)
            texts = [document.text if isinstance(document, Document) else document for document in chunk]
            titles += [_title(document) for document in chunk]
            X = self._model().transform(texts)
            chunks.append(X.astype(np.float32) if sparse.issparse(X) else np.asarray(X, np.float32))
        if not chunks:
            return names, titles, None
        X = sparse.vstack(chunks, format="csr") if sparse.issparse(chunks[0]) else np.concatenate(chunks)
        return names, titles, X

    def _check_model(self) -> None:
        """Refuse a model that is not the one of the vectors."""
        model = self._model()
        if vars(self).get("_known_model") is not model:
            fingerprint = None if model is None else model.fingerprint()
            self.fingerprint_ = self.fingerprint_ or fingerprint or ""
            if fingerprint is None or fingerprint != self.fingerprint_:
                raise DataError("the index and the model do not belong together; pass the model of the index, or fit")
            self._known_model = model

    def _have_terms(self, texts: Sequence[Any]) -> list[bool]:
        """Which texts have a word that the model knows; all, when it cannot be asked."""
        vectorizer = getattr(self._model(), "vectorizer_", self._model())
        if not hasattr(vectorizer, "vocabulary_"):
            return [True] * len(texts)
        bags = vectorizer.vocabulary_.rows(texts)
        return [size > 0 for size in np.diff(bags.indptr).tolist()]

    def _take(self, names: StringTable, titles: StringTable) -> None:
        self.names_, self.titles_ = names, titles
        vars(self).pop("_by_name", None)

    def _rows(self) -> dict[str, int]:
        """Numbers in the index of the documents that are there, by id."""
        if "_by_name" not in vars(self):
            alive = self.index_.ids_[self.index_.alive_]
            self._by_name = dict(zip(self.names_.take(alive), alive.tolist(), strict=True))
        return self._by_name

    def _numbers(self, ids: Sequence[str]) -> list[int]:
        rows = self._rows()
        for name in ids:
            if name not in rows:
                raise DataError(f"the index has no document with the id '{name}'; check the ids")
        return [rows[name] for name in ids]

    def _filter(self, ids: Sequence[str] | None) -> list[int] | None:
        return None if ids is None else [self._rows()[name] for name in ids if name in self._rows()]

    def _named(self, neighbors: Neighbors) -> Matches:
        ids = neighbors.ids.tolist()
        return Matches(
            [self.names_[i] for i in ids], neighbors.scores, neighbors.reason, titles=[self.titles_[i] for i in ids]
        )


def query_shards(
    paths: Sequence[str | os.PathLike[str]],
    texts: Sequence[str],
    *,
    k: int = 10,
    cluster: str | Client | None = None,
) -> list[Matches]:
    """Return the k documents nearest to each text over several index files, made with one model.

    They are opened here or on the workers of a Dask cluster, where they must be found under these paths. Ties are
    broken by the order of the files, then of the documents.

    >>> from textmill.vectors import TextVectorizer
    >>> model = TextVectorizer().fit(["to be", "or not", "to see"])
    >>> for name, texts in {"a.mill": ["to be"], "b.mill": ["or not"]}.items():
    ...     SimilarDocuments(model=model).fit(texts).save(name)
    >>> query_shards(["a.mill", "b.mill"], ["be or not"], k=1)[0].scores.round(4).tolist()
    [0.8165]
    """
    if not paths:
        raise DataError("there are no index files to ask; pass at least one")
    with connect(cluster) as where:
        shards = where.keep(_open, [os.fspath(path) for path in paths], where.worker_jobs(None))
        parts = list(where.map(_ask, shards, list(texts), k))
    for path, part in zip(paths, parts, strict=True):
        if part[:2] != parts[0][:2]:
            raise DataError(f"made with another model or measure than {paths[0]}; index again", source=os.fspath(path))
    sign = -1.0 if parts[0][1] == "cosine" else 1.0
    merged = []
    for i in range(len(texts)):
        matches = [part[2][i] for part in parts]
        scores = np.concatenate([one.scores for one in matches])
        order = np.argsort(sign * scores, kind="stable")[:k]
        names, titles = ([item for one in matches for item in getattr(one, part)] for part in ("ids", "titles"))
        reason = None if len(order) else matches[0].reason
        merged.append(Matches([names[j] for j in order], scores[order], reason, titles=[titles[j] for j in order]))
    return merged


def _texts(documents: Iterable[Any]) -> Iterable[Any]:
    """The texts of documents, which can be read as often as the documents."""
    if isinstance(documents, Documents):
        return documents
    return [one.text if isinstance(one, Document) else one for one in documents]


def _title(document: Any) -> str:
    """What is shown of a document: its title if it has one, else how its text begins."""
    if not isinstance(document, Document):
        return beginning(
            document if isinstance(document, str) else " ".join(islice(map(str, document), _WIDTH)), _WIDTH
        )
    title = next((document.fields[name] for name in _TITLES if document.fields.get(name)), None)
    return beginning(title if isinstance(title, str) else document.text, _WIDTH)


def _open(path: str, n_jobs: int | None) -> SimilarDocuments:
    similar = load(path, expect=SimilarDocuments)
    if n_jobs is not None:
        similar.index_.set_params(n_jobs=n_jobs)
    return similar


def _ask(similar: SimilarDocuments, texts: list[str], k: int) -> tuple[str, str, list[Matches]]:
    matches = similar.query(texts, k=k)  # first, since it makes sure of the fingerprint
    return similar.fingerprint_, similar.measure, matches
