"""topics/chunks.py: every kind of input, in chunks of one size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from textmill.corpus import Vocabulary, ZipfStream, read_bags, read_documents, save_npz
from textmill.errors import DataError
from textmill.topics import as_operator
from textmill.topics.chunks import Chunks, holds_documents
from textmill.vectors import TextVectorizer, Weighting

TEXTS = ["to be", "or not", "to be to be", "or"]


@pytest.fixture
def vectorizer() -> TextVectorizer:
    return TextVectorizer(weighting=Weighting(scheme="nnn")).fit(TEXTS)


def stacked(chunks: Chunks) -> list[list[float]]:
    parts = list(chunks)
    assert all(part.shape[0] == 3 for part in parts[:-1])
    return sparse.vstack(parts).toarray().tolist()


def test_all_inputs_give_the_same_chunks(vectorizer: TextVectorizer, tmp_path: Path) -> None:
    counts = vectorizer.vocabulary_.transform(TEXTS)
    save_npz(tmp_path / "bags.npz", [counts], columns=4)
    (tmp_path / "lines.txt").write_text("\n".join(TEXTS) + "\n")
    for X in (
        counts,
        counts.toarray(),
        [counts[:1], counts[1:]],
        TEXTS,
        [text.split() for text in TEXTS],
        read_bags(tmp_path / "bags.npz"),
        read_documents(tmp_path / "lines.txt", unit="line"),
        vectorizer.vocabulary_.bags(TEXTS),
        vectorizer.vectors(TEXTS),
    ):
        chunks = Chunks(X, 3, vectorizer)
        assert not chunks.one_shot
        assert stacked(chunks) == stacked(chunks) == counts.toarray().tolist()
        assert (chunks.documents, chunks.passes) == (4, 2)
        jobs = list(chunks.jobs(1))
        assert sparse.vstack([part for job in jobs for part in job]).toarray().tolist() == counts.toarray().tolist()


def test_what_can_be_read_once_says_so(vectorizer: TextVectorizer) -> None:
    for X in (iter(TEXTS), vectorizer.vectors(iter(TEXTS)), (text for text in TEXTS)):
        assert Chunks(X, 2, vectorizer).one_shot
        with pytest.raises(DataError, match="this needs 2 passes"):
            Chunks(X, 2, vectorizer).require_passes(2, "this")


def test_generated_streams_are_cut_into_addresses() -> None:
    stream = ZipfStream(10, vocabulary=20, chunk_size=4)
    jobs = list(Chunks(stream, 2).jobs(2))
    assert [sum(part.shape[0] for part in job) for job in jobs] == [4, 4, 2]
    assert (sparse.vstack([part for job in jobs for part in job]) != sparse.vstack(list(stream))).nnz == 0


def test_what_is_wrong_is_said() -> None:
    for X in (3, "text", {"a": 1}):
        with pytest.raises(DataError, match="X must be a matrix or a stream"):
            Chunks(X)
    with pytest.raises(DataError, match="known only by its products"):
        Chunks(as_operator(np.eye(2)))
    with pytest.raises(DataError, match="-1 in row 0, column 1; counts must not be negative"):
        Chunks(np.array([[1, -1]]), negative=False)
    with pytest.raises(DataError, match="documents are needed twice"):
        holds_documents(iter(TEXTS))
    assert not holds_documents(Vocabulary().fit(TEXTS).bags(TEXTS))
