"""Questions to a collection: a document, a text, a vector, or documents that were judged; and their answers.

    q' = q + mean(like) - 1/4 mean(unlike)            Rocchio's rule on unit vectors; without q the means alone

Several methods answer by reciprocal rank fusion: the score of a document is the sum over methods of 1 / (60 + rank).
For mixtures of topics (Hellinger) the rule works on the probabilities, where nothing can fall below 0.

References: Rocchio (1971), Relevance feedback in information retrieval; Manning, Raghavan & Schuetze (2008), section
9.1.1, for the weights; Cormack, Clarke & Buettcher (2009), Reciprocal rank fusion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.numeric import is_sparse, sparse
from textmill.tasks.similarity.articles import Article
from textmill.tasks.similarity.documents import Matches
from textmill.tasks.similarity.filters import Where
from textmill.tasks.similarity.fusion import fuse_ranks
from textmill.tasks.similarity.merging import merge_nearest, stacked
from textmill.tasks.similarity.methods import Method, similarities
from textmill.tasks.similarity.snapshot import Snapshot
from textmill.vectors import Searched

__all__ = ["Question", "ask", "rank"]

UNKNOWN = "no word of the question is known to the model"
_UNLIKE = 0.25  # weight of documents that are not wanted
_DEPTH = 100  # ranks of each method that are fused


@dataclass(frozen=True, slots=True)
class Question:
    """What documents should be similar to: one of `id`, `text` and `vector`, or judged documents, or both.

    >>> Question(text="storm at sea", unlike=("n7",)).unlike
    ('n7',)
    """

    id: str | None = None
    text: str | None = None
    vector: Any = None
    like: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise a `DataError` unless it is one question."""
        asked = [self.id is not None, self.text is not None, self.vector is not None]
        if sum(asked) > 1:
            raise DataError("pass only one of id, text and vector")
        if not sum(asked) and not self.like:
            raise DataError("nothing is asked; pass one of id, text, vector and like")


def ask(
    snapshot: Snapshot,
    questions: Sequence[Question],
    *,
    method: str | Sequence[str] | None = None,
    k: int = 10,
    where: Where | None = None,
) -> list[Matches]:
    """Return the answers to questions, all searched together."""
    for question in questions:
        question.check()
    if method is None or isinstance(method, str):
        return _ask(snapshot, questions, snapshot.method(method), k, where)
    lists = [_ask(snapshot, questions, snapshot.method(name), max(k, _DEPTH), where) for name in method]
    if not lists:
        raise DataError("there are no methods to fuse; name at least one")
    return [_fused(answers, k) for answers in zip(*lists, strict=True)]


def rank(
    snapshot: Snapshot, method: Method, rows: Any, k: int, where: Where | None = None, without: Sequence[set[int]] = ()
) -> list[tuple[Ints, Floats]]:
    """Return numbers and keys of the documents nearest to prepared rows, those in `without[i]` left out."""
    parts = [
        Searched(part.indexes[method.name], part.chosen(where), part.dead) for part in snapshot.parts if part.indexes
    ]
    return merge_nearest(parts, rows, k, without)


def _ask(
    snapshot: Snapshot, questions: Sequence[Question], method: Method, k: int, where: Where | None
) -> list[Matches]:
    texts = [question.text for question in questions if question.text is not None]
    vectors = method.rows([Article("", "", text) for text in texts]) if texts else None
    rows, without, asked = [], [], []
    place = 0
    for i, question in enumerate(questions):
        row: Any = None
        out: set[int] = set()
        if question.text is not None:
            row = vectors[np.array([place])] if vectors is not None else None
            place += 1
        elif question.vector is not None:
            row = _vector(snapshot, method, question.vector)
        elif question.id is not None:
            number = snapshot.place(question.id).number
            row, out = snapshot.vectors_of(method.name, np.array([number])), {number}
        if question.like or question.unlike:
            judged = [
                np.array([snapshot.place(name).number for name in ids], np.int64)
                for ids in (question.like, question.unlike)
            ]
            row = _moved(snapshot, method, row, *judged)
            out |= {int(number) for part in judged for number in part}
        if _length(row):
            rows.append(row)
            without.append(out)
            asked.append(i)
    answers = [Matches([], np.zeros(0), UNKNOWN)] * len(questions)
    if rows:
        ranked = rank(snapshot, method, stacked(rows), k, where, without)
        for i, (numbers, keys) in zip(asked, ranked, strict=True):
            answers[i] = _named(snapshot, numbers, similarities(method.measure, keys), where)
    return answers


def _named(snapshot: Snapshot, numbers: Ints, scores: Floats, where: Where | None) -> Matches:
    places = [snapshot.by_number(number) for number in numbers.tolist()]
    ids = [place.part.documents.ids_[place.row] for place in places]
    titles = [place.part.documents.titles_[place.row] for place in places]
    reason = None
    if not ids:
        reason = "no document passes the filter" if where else "no document has anything in common with the question"
    return Matches(ids, scores, reason, titles=titles)


def _fused(answers: Sequence[Matches], k: int) -> Matches:
    titles = {name: title for one in answers for name, title in zip(one.ids, one.titles, strict=True)}
    ranked = fuse_ranks([one.ids for one in answers])[:k]
    reason = None if ranked else answers[0].reason
    return Matches(
        [name for name, _ in ranked],
        np.array([score for _, score in ranked]),
        reason,
        titles=[titles[name] for name, _ in ranked],
    )


def _vector(snapshot: Snapshot, method: Method, vector: Any) -> Any:
    X = vector if is_sparse(vector) else np.atleast_2d(np.asarray(vector, np.float64))
    columns = next(part.indexes[method.name].columns_ for part in snapshot.parts if method.name in part.indexes)
    if X.shape != (1, columns):
        raise DataError(f"the vector has the shape {X.shape}; the method '{method.name}' needs {columns} numbers")
    rows = method.prepared(X)
    held = next(part.indexes[method.name] for part in snapshot.parts if method.name in part.indexes)
    if is_sparse(held.vectors_of(held.ids_[:1])) and not is_sparse(rows):
        return sparse.csr_matrix(rows)
    return rows.toarray() if is_sparse(rows) and not is_sparse(held.vectors_of(held.ids_[:1])) else rows


def _moved(snapshot: Snapshot, method: Method, row: Any, like: Ints, unlike: Ints) -> Any:
    """A question moved by judged documents."""
    total: Any = None if row is None else _plain(method, row)
    for numbers, weight in ((like, 1.0), (unlike, -_UNLIKE)):
        if len(numbers):
            mean = _plain(method, snapshot.vectors_of(method.name, numbers)).mean(axis=0, keepdims=True) * weight
            total = mean if total is None else total + mean
    if method.measure == "hellinger":
        total = np.maximum(total, 0.0)
        sum_ = total.sum()
        total = total / sum_ if sum_ > 0 else total
    if (row is not None and is_sparse(row)) or (row is None and is_sparse(snapshot.vectors_of(method.name, like))):
        return method.prepared(sparse.csr_matrix(total))
    return method.prepared(total)


def _plain(method: Method, rows: Any) -> Floats:
    """Stored rows as the numbers that means are made of."""
    dense: Floats = (rows.toarray() if is_sparse(rows) else rows).astype(np.float64)
    return dense**2 if method.measure == "hellinger" else dense


def _length(row: Any) -> bool:
    if row is None:
        return False
    return bool(row.nnz) if is_sparse(row) else bool(np.asarray(row).any())
