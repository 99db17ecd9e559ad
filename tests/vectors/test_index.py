"""index.py and its ways of searching: against brute force, each other, and themselves after every kind of change."""

from __future__ import annotations

import contextlib
import re
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference.neighbors import nearest, scores
from scipy import sparse

import textmill
from textmill.errors import DataError, ModelFileError
from textmill.vectors import Answers, Index, pairwise_matrix
from textmill.vectors.inverted import InvertedIndex
from textmill.vectors.scan import Wish

DENSE = ("scan", "coarse", "prefix", "va")
METHODS = (*DENSE, "inverted")


def points(rows: int, columns: int, seed: int, measure: str = "cosine", exact: bool = True) -> Any:
    """Random rows with duplicates, ties and zeros; small whole numbers, so that float32 holds them exactly."""
    random = np.random.default_rng(seed)
    X = random.integers(-3, 4, (rows, columns)) * (random.random((rows, columns)) < 0.7)
    X = X.astype(float) if exact else random.normal(size=(rows, columns)) / (1 + np.arange(columns))
    if rows > 3:
        X[rows // 2] = X[0]
        X[rows - 1] = X[0]
        X[1] = 0 if measure != "hellinger" else X[2]
    if measure == "hellinger":
        X = np.abs(X) + 0.125
        X /= X.sum(axis=1, keepdims=True)
    return X


def made(method: str, X: Any, **options: Any) -> Index:
    X = sparse.csr_matrix(X) if method == "inverted" else X
    return Index(method=method, **options).fit(X)


def same(a: Answers, b: Answers) -> bool:
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("offsets", "ids", "scores"))


@settings(max_examples=60)
@given(
    rows=st.integers(1, 60),
    columns=st.integers(1, 40),
    k=st.integers(1, 70),
    seed=st.integers(0, 10**6),
    measure=st.sampled_from(["cosine", "euclidean", "hellinger"]),
    method=st.sampled_from(METHODS),
)
def test_every_method_finds_what_brute_force_finds(
    rows: int, columns: int, k: int, seed: int, measure: str, method: str
) -> None:
    X, Q = points(rows, columns, seed, measure), points(6, columns, seed + 1, measure)
    answers = made(method, X, measure=measure).query(Q, k=k)
    for q, found in zip(Q, answers, strict=True):
        if measure == "cosine" and not q.any():
            assert len(found) == 0
            assert found.reason == "the query is a vector of zeros, which is near nothing"
            continue
        expected, figures = nearest(measure, X, q, k)
        assert found.scores == pytest.approx(figures, abs=5e-4 if measure == "hellinger" else 1e-6)
        assert sorted(found.ids.tolist()) == sorted(set(found.ids.tolist()))
        all_scores = scores(measure, X, q)
        assert all_scores[found.ids] == pytest.approx(figures, abs=1e-6)  # ids may differ where float32 makes no tie
        if measure == "euclidean":
            assert found.ids.tolist() == expected.tolist()


@pytest.mark.parametrize("measure", ["cosine", "euclidean"])
@pytest.mark.parametrize("columns", [2, 3, 10, 50, 200, 400])
def test_scan_va_file_prefixes_and_postings_agree_to_the_last_bit(columns: int, measure: str) -> None:
    X, Q = (points(rows, columns, columns, exact=False) for rows in (1500, 85))  # 12 x 85: a thousand queries
    scan = made("scan", X, measure=measure).query(Q, k=12)
    for method in ("coarse", "prefix", "va"):
        index = made(method, X, measure=measure)
        assert same(index.query(Q, k=12), scan)
        assert same(index.query(Q[:1], k=12), made("scan", X, measure=measure).query(Q[:1], k=12))
    one_by_one = [made("scan", X[:600], measure=measure).query(q[None], k=12).ids for q in Q[:20]]
    together = made("scan", X[:600], measure=measure).query(Q[:20], k=12)
    assert np.array_equal(np.concatenate(one_by_one), together.ids)
    by_postings = made("inverted", X, measure=measure).query(Q, k=12)
    assert by_postings.scores == pytest.approx(scan.scores, abs=1e-12)
    assert (by_postings.ids == scan.ids).mean() > 0.999  # sums in another order: ties of doubles may part


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("measure", ["cosine", "euclidean"])
def test_answers_have_the_same_bytes_for_any_number_of_threads(method: str, measure: str) -> None:
    X, Q = points(20_000, 12, 5, exact=False), points(9, 12, 6, exact=False)
    answers = [made(method, X, measure=measure, n_jobs=jobs) for jobs in (1, 2, 5)]
    assert all(same(index.query(Q), answers[0].query(Q)) for index in answers)
    assert all(same(index.query(Q[:1]), answers[0].query(Q[:1])) for index in answers)


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5, 6, 7, 8])
def test_a_va_file_of_any_bits_is_exact(bits: int) -> None:
    X, Q = points(700, 13, bits, exact=False), points(20, 13, 99, exact=False)
    for measure in ("cosine", "euclidean"):
        index = made("va", X, measure=measure, bits=bits)
        assert index.engine_.cells_.shape[1] == -(-bits * 13 // 8)
        assert same(index.query(Q), made("scan", X, measure=measure).query(Q))


@pytest.mark.parametrize("method", METHODS)
def test_ties_are_broken_by_id(method: str) -> None:
    index = made(method, np.ones((50, 3)))
    assert index.query(np.ones((1, 3)), k=7)[0].ids.tolist() == list(range(7))
    assert index.query(np.ones((5, 3)), k=7)[4].ids.tolist() == list(range(7))


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    measure=st.sampled_from(["cosine", "euclidean"]),
    method=st.sampled_from(METHODS),
    threshold=st.floats(0.05, 0.95),
)
def test_range_queries_and_pairs_find_all_and_only_those_near(
    seed: int, measure: str, method: str, threshold: float
) -> None:
    X = points(40, 6, seed)
    index = made(method, X, measure=measure)
    threshold = threshold * (1 if measure == "cosine" else 8)
    near = pairwise_matrix(X, measure=measure)
    margin = np.abs(near - threshold) < 1e-6  # float32 may decide these either way
    inside = (near >= threshold) if measure == "cosine" else (near <= threshold)
    for i, found in enumerate(index.within(X[:5], threshold=threshold)):
        if found.reason is None:
            mask = np.zeros(40, bool)
            mask[found.ids] = True
            assert (mask == inside[i])[~margin[i]].all()
    found_pairs = np.zeros((40, 40), bool)
    for left, right, figures in index.pairs(threshold=threshold):
        assert (left < right).all()
        assert figures == pytest.approx(near[left, right], abs=1e-6)
        found_pairs[left, right] = True
    assert (found_pairs == np.triu(inside, 1))[~margin].all()


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), method=st.sampled_from(METHODS), measure=st.sampled_from(["cosine", "euclidean"]))
def test_an_index_that_was_changed_answers_like_one_made_of_what_is_left(seed: int, method: str, measure: str) -> None:
    random = np.random.default_rng(seed)
    X, more, Q = points(30, 5, seed), 4 * points(20, 5, seed + 1), points(4, 5, seed + 2) + 0.5
    index = made(method, X, measure=measure)
    assert index.add(sparse.csr_matrix(more) if method == "inverted" else more).tolist() == list(range(30, 50))
    gone = random.choice(50, size=int(random.integers(1, 45)), replace=False)
    index.remove(gone)
    left = np.setdiff1d(np.arange(50), gone)
    fresh = made(method, np.concatenate([X, more])[left], measure=measure)
    expected = fresh.query(Q, k=8)
    assert len(index) == len(fresh)
    for _ in range(2):
        found = index.query(Q, k=8)
        assert np.array_equal(found.ids, left[expected.ids])
        assert np.array_equal(found.scores, expected.scores)
        index.compact()
    assert index.add(X[:1])[0] == 50


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), method=st.sampled_from(METHODS), few=st.booleans())
def test_filters_by_id_leave_what_they_say(seed: int, method: str, few: bool) -> None:
    random = np.random.default_rng(seed)
    X, Q = points(80, 4, seed), points(3, 4, seed + 1) + 0.5
    index = made(method, X)
    allow, deny = random.choice(80, 4 if few else 40, replace=False), random.choice(80, 20, replace=False)
    left = np.setdiff1d(allow, deny)
    assume(len(left))
    found = index.query(Q, k=5, allow=allow, deny=[*deny, 10**9])
    expected = made(method, X[left]).query(Q, k=5)
    assert np.array_equal(found.ids, left[expected.ids])
    assert np.array_equal(found.scores, expected.scores)


@pytest.mark.parametrize("method", METHODS)
def test_a_filter_that_leaves_nothing_is_given_as_the_reason(method: str) -> None:
    index, Q = made(method, points(80, 4, 0)), points(3, 4, 1) + 0.5
    for filters in ({"allow": [3, 7], "deny": [7, 3]}, {"allow": []}, {"deny": range(80)}):
        found = index.query(Q, k=5, **filters)
        assert [one.reason for one in found] == ["the index is empty, or all of it was filtered out"] * 3
        assert len(found.ids) == 0


def test_neighbors_of_stored_vectors_leave_out_themselves() -> None:
    index = Index().fit([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    found = index.neighbors_of([0, 3], k=2)
    assert [one.ids.tolist() for one in found] == [[2, 1], [1, 0]]


def test_worked_example_cosines_of_the_sample_query() -> None:
    terms = ["0 1 2", "2 3 4 5 6 8", "1 3 4 7", "0 4 4 7", "3 5 6", "9", "9 10", "9 10 11", "8 10 11"]  # of c1 to m4
    titles = sparse.csr_matrix([np.bincount([*map(int, row.split())], minlength=12) for row in terms])
    query = np.zeros((1, 12))
    query[0, [0, 2]] = 1  # human, computer
    for index in (Index().fit(titles), Index().fit(titles.toarray()), Index(method="va").fit(titles.toarray())):
        found = index.query(query, k=9)[0]
        assert found.ids.tolist() == [0, 1, 3, 2, 4, 5, 6, 7, 8]
        assert found.scores == pytest.approx([0.816497, 0.288675, 0.288675, 0, 0, 0, 0, 0, 0], abs=1e-6)


def test_worked_examples_of_distances() -> None:
    found = Index(measure="euclidean").fit([[4.0, 0, 3]]).query([[1.0, 2, 3]])[0]
    assert found.scores[0] == pytest.approx(3.605551, abs=1e-6)
    found = Index(measure="hellinger").fit([[0.1, 0.6, 0.3]]).query([[0.5, 0.3, 0.2]])[0]
    assert found.scores[0] == pytest.approx(0.327384, abs=1e-6)
    disjoint = Index(measure="hellinger").fit([[1.0, 0.0]]).query([[0.0, 1.0], [1.0, 0.0]])
    assert disjoint.scores.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("method", METHODS)
def test_a_saved_index_answers_the_same_and_is_saved_the_same(method: str, tmp_path: Path) -> None:
    X, Q = points(300, 9, 3, exact=False), points(5, 9, 4, exact=False)
    index = made(method, X)
    index.remove([3, 4, 5])
    index.save(tmp_path / "a.mill")
    loaded = textmill.load(tmp_path / "a.mill", expect=Index)
    assert same(loaded.query(Q), index.query(Q))
    loaded.save(tmp_path / "b.mill")
    assert (tmp_path / "a.mill").read_bytes() == (tmp_path / "b.mill").read_bytes()
    loaded.add(X[:2])
    loaded.remove([7])
    assert 7 not in loaded.query(X[7:8])[0].ids
    if method != "inverted":
        engine = textmill.load(tmp_path / "a.mill").engine_
        assert not engine.vectors_.flags.writeable  # it is the file


@pytest.mark.parametrize("method", METHODS)
def test_a_damaged_index_file_is_refused_or_harmless(method: str, tmp_path: Path) -> None:
    index = made(method, points(40, 5, 1))
    index.save(tmp_path / "good.mill")
    content = (tmp_path / "good.mill").read_bytes()
    (tmp_path / "short.mill").write_bytes(content[:-20])
    with pytest.raises(ModelFileError):
        textmill.load(tmp_path / "short.mill")
    random = np.random.default_rng(0)
    header = 8 + int.from_bytes(content[:8], "little")
    for trial in range(60):
        damaged = bytearray(content)
        for _ in range(1 + trial % 5):
            damaged[int(random.integers(header, len(content)))] = int(random.integers(0, 256))
        (tmp_path / "bad.mill").write_bytes(damaged)
        with contextlib.suppress(ModelFileError):
            textmill.load(tmp_path / "bad.mill").query(np.ones((5, 5)), k=40)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda index: index.query(np.ones((1, 3))), "Q has vectors of 3 numbers but the index of 2; use the model"),
        (lambda index: index.query([[1.0, np.nan]]), "Q holds NaN in row 0, column 1"),
        (lambda index: index.query([[1.0, np.inf]]), "Q holds inf in row 0, column 1"),
        (lambda index: index.query([1.0, 2.0]), "Q must have rows and columns, got 1 axes"),
        (lambda index: index.query([[1.0, 2.0]], k=0), "k must be a whole number at least 1, got 0"),
        (lambda index: index.query([["a", "b"]]), "not numbers"),
        (lambda index: index.within([[1.0, 2.0]], threshold=2.0), "threshold must be a number at least -1"),
        (lambda index: index.pairs(threshold=np.nan), "threshold must be a number"),
        (lambda index: index.add([[1.0, 2.0, 3.0]]), "X has vectors of 3 numbers but the index of 2"),
        (lambda index: index.add([[1e20, 0.0]]), "too large for float32"),
        (lambda index: index.add([[1.0, 0.0]], ids=[1]), "ids must rise, from 2 on"),
        (lambda index: index.add([[1.0, 0.0]], ids=[5, 6]), "there are 2 ids for 1 vectors"),
        (lambda index: index.remove([9]), "the index has no vector with the id 9"),
        (lambda index: index.remove(["x"]), "ids must be a list of whole numbers"),
        (lambda index: Index(measure="manhattan").fit([[1.0]]), "measure must be one of"),
        (lambda index: Index(method="tree").fit([[1.0]]), "method must be one of"),
        (lambda index: Index(method="inverted").fit([[1.0]]), "method='inverted' cannot index dense vectors"),
        (lambda index: Index(method="va", bits=9).fit([[1.0]]), "bits must be a whole number"),
        (lambda index: Index(method="prefix", prefix=3).fit([[1.0]]), "prefix=3 but the vectors have 1 columns"),
        (lambda index: Index(measure="hellinger").fit([[0.5, 0.2]]), "row 0 of X sums to 0.7, not to 1"),
        (lambda index: Index(measure="hellinger").fit([[1.5, -0.5]]), "holds -0.5; the Hellinger distance"),
        (lambda index: Index(measure="hellinger").fit([[0.0, 0.0]]), "row 0 of X sums to 0 and is no distribution"),
        (lambda index: Index().fit(np.ones((3, 0))), "X has no columns"),
        (lambda index: Index().query([[1.0]]), "this Index is not fitted yet"),
    ],
)
def test_bad_input_has_one_clear_error(call: Any, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)) as caught:
        call(Index().fit([[1.0, 0.0], [0.0, 1.0]]))
    assert "\n" not in str(caught.value)


def test_an_empty_index_says_so_and_can_grow() -> None:
    for method in DENSE:
        index = Index(method=method).fit(np.zeros((0, 2)))
        assert index.query([[1.0, 0.0]])[0].reason == "the index is empty, or all of it was filtered out"
        assert list(index.pairs(threshold=0.5)) == []
        index.add([[1.0, 0.0]])
        assert index.query([[1.0, 0.0]])[0].ids.tolist() == [0]


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_query_works_in_as_many_threads_as_it_was_given(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from textmill.vectors import scan

    threads: list[int] = []
    native_scan, make_pool, blas = scan.native.scan, scan.ThreadPoolExecutor, scan.ThreadpoolController().info

    def note_scan(*arguments: Any, **options: Any) -> Any:
        threads.append(options["threads"])
        return native_scan(*arguments, **options)

    def note_pool(lanes: int) -> Any:  # made where BLAS has one thread for each of its calls
        threads.append(lanes * max(one["num_threads"] for one in blas() if one["user_api"] == "blas"))
        return make_pool(lanes)

    monkeypatch.setattr(scan.native, "scan", note_scan)
    monkeypatch.setattr(scan, "ThreadPoolExecutor", note_pool)
    X = np.random.default_rng(0).normal(size=(4 * scan._ROWS, 16))
    Index(method="scan", n_jobs=jobs).fit(X).query(X[:256])
    Index(method="scan", n_jobs=jobs).fit(X).query(X[:1])
    assert threads == [jobs, jobs]


@pytest.mark.data
def test_a_va_file_reads_under_one_percent_of_lsa_vectors(data: Path) -> None:
    from sklearn.decomposition import TruncatedSVD

    from textmill.corpus import Vocabulary, read_documents
    from textmill.vectors import TextVectorizer

    texts = list(read_documents(data / "reuters" / "reuters21578.jsonl.gz").texts())[:6000]
    X = TextVectorizer(vocabulary=Vocabulary(min_df=3, max_df=0.1)).fit_transform(texts)
    L = TruncatedSVD(100, n_iter=2, random_state=0).fit_transform(X)
    L = L[np.abs(L).sum(axis=1) > 0]
    scan, file = Index().fit(L), Index(method="va", bits=8).fit(L)
    found = file.query(L[:100], k=10)
    assert same(found, scan.query(L[:100], k=10))
    assert found.read < 0.01 * found.searched
    assert file.engine_.cells_.nbytes * 4 == file.engine_.vectors_.nbytes


def test_a_thread_may_search_while_rows_that_wait_are_settled() -> None:
    rng = np.random.default_rng(0)
    rows = sparse.random(40, 30, density=0.3, format="csr", dtype=np.float32, random_state=rng)
    engine = InvertedIndex.build("product", rows)
    faults: list[BaseException] = []
    done = threading.Event()

    def search() -> None:
        try:
            while not done.is_set():
                assert (np.diff(engine.search(rows[:3], Wish(5)).offsets) == 5).all()
        except BaseException as fault:
            faults.append(fault)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    searcher = threading.Thread(target=search)
    try:
        searcher.start()
        for _ in range(60):
            engine.append(rows)
            engine.settle()
    finally:
        done.set()
        searcher.join()
        sys.setswitchinterval(before)
    assert not faults
    assert len(engine) == 61 * 40
