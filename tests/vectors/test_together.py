"""Several indexes answer as one index of all their vectors would, bit by bit."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.vectors import Index, Searched, TextVectorizer, nearest_of_all, together


def parts_of(X: np.ndarray, cuts: list[int], measure: str, method: str = "auto") -> list[Searched]:
    bounds = [0, *sorted(cuts), len(X)]
    stretches = [(begin, end) for begin, end in pairwise(bounds) if begin < end]
    return [
        Searched(Index(measure=measure, method=method).fit(X[begin:end], ids=np.arange(begin, end)))
        for begin, end in stretches
    ]


@settings(deadline=None)
@given(
    seed=st.integers(0, 10**6),
    rows=st.integers(1, 400),
    columns=st.integers(1, 40),
    cuts=st.lists(st.integers(0, 400), min_size=1, max_size=4),
    k=st.integers(1, 30),
    count=st.integers(1, 9),
    measure=st.sampled_from(["cosine", "euclidean", "hellinger"]),
    method=st.sampled_from(["auto", "auto", "scan"]),
)
def test_parts_answer_as_one_index(
    seed: int, rows: int, columns: int, cuts: list[int], k: int, count: int, measure: str, method: str
) -> None:
    random = np.random.default_rng(seed)
    X, Q = (np.round(random.random((size, columns)) * 3) + 1 for size in (rows, count))  # many ties and copies
    if measure == "hellinger":
        X, Q = (some / some.sum(axis=1, keepdims=True) for some in (X, Q))
    whole = Index(measure=measure).fit(X)
    prepared = Index(measure=measure).fit(Q).vectors_of(np.arange(count))
    parts = parts_of(X, [min(cut, rows) for cut in cuts], measure, method)
    deny = np.flatnonzero(random.random(rows) < 0.2)
    expected = whole.nearest(prepared, k=k, deny=deny)
    answer = nearest_of_all([replace(part, deny=deny) for part in parts], prepared, k=k)
    for mine, its in zip(answer, expected, strict=True):
        np.testing.assert_array_equal(mine, its)


def test_dense_parts_are_searched_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).standard_normal((300, 20))
    calls = []
    search = together.search_parts
    monkeypatch.setattr(together, "search_parts", lambda *some: calls.append(1) or search(*some))
    parts = parts_of(X, [100, 200], "cosine")
    rows = Index().fit(X[:2]).vectors_of([0, 1])
    answer = nearest_of_all(parts, rows, k=3)
    assert calls == [1]
    some = np.arange(150)  # with a filter each is asked for itself
    narrowed = nearest_of_all([replace(part, allow=some) for part in parts], rows, k=3)
    assert calls == [1]
    assert answer.ids[0] == narrowed.ids[0] == 0
    assert narrowed.ids.max() < 150


def test_ids_that_do_not_rise_keep_their_order() -> None:
    X = np.ones((4, 3))
    parts = [Searched(Index().fit(X[:2], ids=[5, 6])), Searched(Index().fit(X[2:], ids=[1, 2]))]
    assert nearest_of_all(parts, parts[0].index.vectors_of([5]), k=3).ids.tolist() == [1, 2, 5]


def test_sparse_parts_and_empty_ones() -> None:
    texts = ["old mill", "the sea", "mill and sea", "a storm at sea"]
    vectors = TextVectorizer().fit_transform(texts)
    whole = Index().fit(vectors)
    parts = [Searched(Index().fit(vectors[:2])), Searched(Index().fit(vectors[2:], ids=[2, 3]))]
    rows = whole.vectors_of([2])
    for mine, its in zip(nearest_of_all(parts, rows, k=3), whole.nearest(rows, k=3), strict=True):
        np.testing.assert_array_equal(mine, its)
    assert nearest_of_all([], rows).offsets.tolist() == [0, 0]
