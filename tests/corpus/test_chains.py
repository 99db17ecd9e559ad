"""Streams: lazy, read again when their source can be, refused before they are eaten."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from textmill.corpus import Chain, Vocabulary, is_one_shot, read_documents, rechunk, require_passes, sample_path
from textmill.errors import DataError


def test_a_chain_makes_items_as_they_are_read() -> None:
    made: list[int] = []

    def numbers() -> Iterator[int]:
        for i in range(5):
            made.append(i)
            yield i

    chain = iter(Chain(numbers(), str, str.upper))
    assert made == []
    assert next(chain) == "0"
    assert made == [0]


def test_documents_to_tokens_to_bags_to_weights() -> None:
    documents = read_documents(sample_path())
    vocabulary = Vocabulary(min_df=5).fit(documents)
    weighted = Chain(vocabulary.bags(documents), np.sqrt)
    assert not is_one_shot(weighted)
    first, again = (sum(float(chunk.sum()) for chunk in weighted) for _ in range(2))
    assert first == again > 0


def test_one_shot_streams_are_told_apart_and_refused_before_they_are_read() -> None:
    stream = iter(["a", "b"])
    assert is_one_shot(stream)
    assert is_one_shot(Chain(Chain(stream, str), str))
    assert not is_one_shot(["a"])
    assert not is_one_shot(read_documents(sample_path()))
    require_passes(stream, 1)
    with pytest.raises(DataError, match="LSA needs 2 passes but this stream can be read once"):
        require_passes(Chain(stream, str), 2, "LSA")
    assert list(stream) == ["a", "b"]


@given(st.lists(st.integers(0, 5), max_size=8), st.integers(1, 7))
def test_rechunking_keeps_the_rows_and_their_order(sizes: list[int], size: int) -> None:
    total = sum(sizes)
    X = sparse.csr_matrix(np.arange(total * 2).reshape(total, 2) % 3)
    ends = np.cumsum([0, *sizes])
    parts = [X[a:b] for a, b in itertools.pairwise(ends)]
    made = list(rechunk(parts, size))
    assert [part.shape[0] for part in made[:-1]] == [size] * (len(made) - 1)
    assert sum(part.shape[0] for part in made) == total
    if made:
        assert (sparse.vstack(made) != X).nnz == 0
    with pytest.raises(DataError, match="size must be"):
        next(rechunk(parts, 0))
