"""Measures: the printed numbers, the definitions, peers, laws of metrics, near and extreme rows, blocks, bad input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from reference import distances as reference
from scipy import sparse
from scipy.spatial import distance as peer

from textmill._native import vectors as native
from textmill.errors import DataError
from textmill.vectors import MEASURES, compare, pairwise, pairwise_matrix, similarity_of_distance

PROBABILITIES = ("hellinger", "kl", "js")
FORMS: dict[str, Any] = {"dense": np.asarray, "csr": sparse.csr_matrix, "csc array": sparse.csc_array}


def random_rows(rng: np.random.Generator, rows: int, columns: int, measure: str, share: float = 0.5) -> NDArray[Any]:
    """Rows that the measure takes, with a share of zeros."""
    X = np.where(rng.random((rows, columns)) < share, 0.0, rng.normal(size=(rows, columns)))
    if measure in PROBABILITIES:
        X = np.abs(X)
        X[X.sum(axis=1) == 0, 0] = 1
        X /= X.sum(axis=1, keepdims=True)
    return X


def options(measure: str) -> dict[str, Any]:
    return {"measure": measure} | ({"p": 3} if measure == "minkowski" else {})


@pytest.mark.parametrize("form", FORMS)
def test_distances_are_those_printed(form: str) -> None:
    make = FORMS[form]
    x, y = (make(np.array([row])) for row in ([1, 2, 3], [4, 0, 3]))
    for measure, p, d, s in (
        ("manhattan", 1, 5, 0.166667),
        ("euclidean", 2, 3.605551, 0.217129),
        ("minkowski", 3, 3.271066, 0.234134),
        ("chebyshev", math.inf, 3, 0.25),
    ):
        for value in (compare(x, y, "minkowski", p=p), compare(x, y, **options(measure))):
            assert value == pytest.approx(d, abs=5e-7)
            assert similarity_of_distance(value) == pytest.approx(s, abs=5e-7)
    assert compare(x, y, "cosine") == pytest.approx(0.694879, abs=5e-7)


@pytest.mark.parametrize("form", FORMS)
def test_divergences_are_those_printed(form: str) -> None:
    make = FORMS[form]
    P, Q = (make(np.array([row])) for row in ([0.5, 0.3, 0.2], [0.1, 0.6, 0.3]))
    distance = compare(P, Q, "hellinger")
    assert distance == pytest.approx(0.327384, abs=5e-7)
    assert distance**2 == pytest.approx(0.107180, abs=5e-7)
    assert compare(P, Q, "kl") == pytest.approx(0.515682, abs=5e-7)
    assert compare(P, Q, "kl", base=2) == pytest.approx(0.743972, abs=5e-7)
    assert 2 / math.log(2) * distance**2 == pytest.approx(0.309257, abs=5e-7)
    assert compare(Q, P, "kl") == pytest.approx(0.376584, abs=5e-7)
    assert compare(P, Q, "js") == pytest.approx(0.103295, abs=5e-7)
    assert compare(P, Q, "js", base=2) == pytest.approx(0.103295 / math.log(2), abs=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_extremes_of_the_measures(form: str) -> None:
    make = FORMS[form]
    left, right, none = (make(np.array([row])) for row in ([0.5, 0.5, 0, 0], [0, 0, 0.25, 0.75], [0, 0, 0, 0]))
    assert compare(left, right, "hellinger") == 1.0
    assert compare(left, right, "kl") == math.inf
    assert similarity_of_distance(compare(left, right, "kl")) == 0.0
    assert compare(left, right, "js") == pytest.approx(math.log(2), rel=1e-15)
    assert compare(left, right, "jaccard") == 0.0
    assert compare(left, right, "cosine") == compare(left, none, "cosine") == compare(none, none, "cosine") == 0.0
    assert compare(none, none, "jaccard") == 1.0
    assert compare(left, none, "jaccard") == 0.0
    assert compare(left, none, "manhattan") == 1.0
    for measure in ("manhattan", "euclidean", "chebyshev"):
        assert compare(none, none, measure) == 0.0
    assert compare(left, -1 * left, "cosine") == pytest.approx(-1.0, rel=1e-15)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("form", FORMS)
def test_all_pairs_are_as_defined(measure: str, form: str) -> None:
    rng = np.random.default_rng(2)
    for share in (0.0, 0.4, 0.9):
        for rows in (1, 3, 7, 20):
            X, Y = (random_rows(rng, n, 13, measure, share) for n in (rows, 23 - rows))
            if rows > 3:
                Y[0] = X[1]
                X[2] = 1 / 13 if measure in PROBABILITIES else 0
            define = reference.MEASURES.get(measure, lambda x, y: reference.minkowski(x, y, 3))
            expected = np.array([[define(x, y) for y in Y] for x in X])
            for left, right in ((X, Y), (FORMS[form](X), FORMS[form](Y)), (X, FORMS[form](Y)), (FORMS[form](X), Y)):
                found = pairwise_matrix(left, right, **options(measure))
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_scipy_agrees(form: str) -> None:
    rng = np.random.default_rng(3)
    make = FORMS[form]
    X, Y = (random_rows(rng, rows, 40, "") for rows in (30, 20))
    for p in (1, 1.5, 2, 3, 7.25, math.inf):
        kind = {"metric": "chebyshev"} if p == math.inf else {"metric": "minkowski", "p": p}
        found = pairwise_matrix(make(X), make(Y), measure="minkowski", p=p)
        np.testing.assert_allclose(found, peer.cdist(X, Y, **kind), rtol=1e-12)
    np.testing.assert_allclose(pairwise_matrix(make(X), make(Y)), 1 - peer.cdist(X, Y, "cosine"), atol=1e-14)
    jaccard = 1 - peer.cdist(X != 0, Y != 0, "jaccard")
    np.testing.assert_allclose(pairwise_matrix(make(X), make(Y), measure="jaccard"), jaccard, rtol=1e-14)
    P, Q = (random_rows(rng, rows, 40, "js") for rows in (30, 20))
    js = peer.cdist(P, Q, "jensenshannon") ** 2
    np.testing.assert_allclose(pairwise_matrix(make(P), make(Q), measure="js"), js, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_laws_hold_on_ten_thousand_triples(form: str) -> None:
    rng = np.random.default_rng(4)
    make = FORMS[form]
    for measure, p in (*(("minkowski", p) for p in (1, 1.7, 2, 3, math.inf)), ("hellinger", None)):
        X = random_rows(rng, 22, 9, measure)  # 22^3 > 10^4 triples
        X[1] = X[0]
        D = pairwise_matrix(make(X), measure=measure, p=p)
        assert (D == D.T).all() or np.allclose(D, D.T, rtol=1e-14, atol=0)
        assert (D[np.eye(22, dtype=bool)] == 0).all()
        assert D[0, 1] == 0
        assert (D[2:, 2:][~np.eye(20, dtype=bool)] > 0).all()
        assert (D[:, None, :] <= D[:, :, None] + D[None, :, :] + 1e-13).all()
    assert (D <= 1).all()


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_kl_is_at_least_twice_hellinger_squared(form: str) -> None:
    rng = np.random.default_rng(5)
    make = FORMS[form]
    P = random_rows(rng, 100, 6, "kl", 0.2)
    P[50:] = P[:50] * rng.uniform(0.999, 1.001, (50, 6))  # near pairs, too
    P /= P.sum(axis=1, keepdims=True)
    H, KL, JS = (pairwise_matrix(make(P), measure=measure) for measure in ("hellinger", "kl", "js"))
    assert (KL >= 2 * H**2 - 1e-16).all()
    assert (KL >= 0).all()
    assert np.isinf(KL).any()
    assert JS.max() <= math.log(2) + 1e-15
    np.testing.assert_allclose(JS, JS.T, rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_cosines_stay_within_their_range(form: str) -> None:
    rng = np.random.default_rng(6)
    X = random_rows(rng, 150, 5, "cosine", 0.1)
    X = np.concatenate([X, 3 * X, -X])
    for dtype in (np.float64, np.float32):
        S = pairwise_matrix(FORMS[form](X.astype(dtype)))
        assert S.dtype == dtype
        assert S.min() >= -1
        assert S.max() <= 1
        assert np.diag(S) == pytest.approx(np.ones(450), abs=1e-15 if dtype == np.float64 else 1e-6)


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-6)])
def test_blocks_of_cosines_are_the_product_of_unit_rows(form: str, dtype: type, tolerance: float) -> None:
    rng = np.random.default_rng(7)
    X = random_rows(rng, 203, 60, "cosine", 0.8).astype(dtype)
    X[5] = 0
    lengths = np.linalg.norm(X.astype(np.float64), axis=1, keepdims=True)
    unit = X / np.where(lengths == 0, 1, lengths)
    for block in (1, 50, 203, 1000):
        seen = 0
        for first, rows in pairwise(FORMS[form](X), chunk_size=block):
            assert first == seen
            assert rows.shape == (min(block, 203 - first), 203)
            assert rows.dtype == dtype
            assert np.abs(rows - unit[first : first + len(rows)] @ unit.T).max() <= tolerance
            seen += len(rows)
        assert seen == 203


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("measure", ["manhattan", "euclidean"])
def test_near_rows_keep_their_digits(form: str, measure: str) -> None:
    rng = np.random.default_rng(8)
    far = 1000 + random_rows(rng, 10, 50, "", 0.0)
    for gap in (1e-1, 1e-4, 1e-8, 1e-11):
        near = far + gap * rng.uniform(0.5, 1, far.shape)
        found = np.diag(pairwise_matrix(FORMS[form](far), FORMS[form](near), measure=measure))
        expected = [reference.MEASURES[measure](x, y) for x, y in zip(far, near, strict=True)]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_near_distributions_keep_their_digits(form: str) -> None:
    rng = np.random.default_rng(9)
    P = random_rows(rng, 10, 30, "hellinger", 0.3)
    Q = P * rng.uniform(1 - 1e-6, 1 + 1e-6, P.shape)
    Q /= Q.sum(axis=1, keepdims=True)
    found = np.diag(pairwise_matrix(FORMS[form](P), FORMS[form](Q), measure="hellinger"))
    np.testing.assert_allclose(found, [reference.hellinger(x, y) for x, y in zip(P, Q, strict=True)], rtol=1e-7)


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("rows", [1, 10])
def test_huge_and_tiny_values_neither_overflow_nor_vanish(form: str, rows: int) -> None:
    make = FORMS[form]
    for scale in (1e-300, 1e-170, 1e170, 1e300):
        X, Y = (make(scale * np.array([row] * rows)) for row in ([1.0, 2, 3], [4.0, 0, 3]))
        for measure, p, expected in (("euclidean", None, 3.605551275463989), ("minkowski", 3, 35 ** (1 / 3))):
            found = pairwise_matrix(X, Y, measure=measure, p=p)
            np.testing.assert_allclose(found, scale * expected, rtol=1e-13)
        np.testing.assert_allclose(pairwise_matrix(X, Y), 0.6948792289723034, rtol=1e-13)
    assert compare(make([[1.0, 0]]), make([[1.0, 1]]), "minkowski", p=900) == 1.0
    assert compare(make([[1.0, 0]]), make([[1e-310, 1 - 1e-310]]), "kl") == pytest.approx(310 * math.log(10))


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_bytes_are_the_same_for_any_number_of_threads_and_sparse_ones_for_any_block(form: str, measure: str) -> None:
    rng = np.random.default_rng(10)
    X, Y = (FORMS[form](random_rows(rng, rows, 70, measure, 0.7)) for rows in (150, 90))
    made = {pairwise_matrix(X, Y, n_jobs=jobs, **options(measure)).tobytes() for jobs in (1, 2, 8)}
    if form == "csr":
        made |= {pairwise_matrix(X, Y, chunk_size=size, **options(measure)).tobytes() for size in (1, 7, 1000)}
    assert len(made) == 1


@pytest.mark.parametrize("measure", MEASURES)
def test_float32_rows_give_float32_results(measure: str) -> None:
    X = random_rows(np.random.default_rng(11), 20, 30, measure)
    expected = pairwise_matrix(X, **options(measure))
    for make in (np.asarray, sparse.csr_matrix):
        found = pairwise_matrix(make(X.astype(np.float32)), **options(measure))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)
        for left, right in ((np.float32, np.float64), (np.float64, np.float32)):
            mixed = pairwise_matrix(make(X.astype(left)), make(X.astype(right)), **options(measure))
            both = (X.astype(dtype).astype(np.float64) for dtype in (left, right))
            extra = {"normalize": True} if measure in PROBABILITIES else {}
            assert mixed.dtype == np.float64
            tolerance = 3e-8 if measure == "cosine" else 1e-12  # unit rows of float32 are float32
            np.testing.assert_allclose(mixed, pairwise_matrix(*both, **options(measure), **extra), atol=tolerance)


def test_probabilities_are_normalized_on_demand() -> None:
    P, Q = [[5, 3, 2]], [[1, 6, 3]]
    for measure, expected in (("kl", 0.515682), ("hellinger", 0.327384), ("js", 0.103295)):
        for make in (np.array, sparse.csr_matrix):
            found = pairwise_matrix(make(P), make(Q), measure=measure, normalize=True)
            assert found[0, 0] == pytest.approx(expected, abs=5e-7)
            with pytest.raises(DataError, match=r"row 0 of X sums to 10\.0, not to 1; pass normalize=True"):
                pairwise(make(P), make(Q), measure=measure)
    almost = np.array([[0.5, 0.5 + 5e-9]])
    assert pairwise_matrix(almost, measure="kl")[0, 0] == 0


def test_stored_zeros_and_unsorted_rows_do_not_matter() -> None:
    X = sparse.csr_matrix((np.array([2.0, 0.0, 1.0]), np.array([2, 1, 0]), np.array([0, 3])), shape=(1, 3))
    dense = np.array([[1.0, 0, 2]])
    for measure in MEASURES:
        extra = {"normalize": True} if measure in PROBABILITIES else {}
        for Y in ([[1, 1, 0]], [[1, 1, 0]] * 9):
            found = pairwise_matrix(X, sparse.csr_matrix(Y), **options(measure), **extra)
            np.testing.assert_allclose(found, pairwise_matrix(dense, np.array(Y), **options(measure), **extra))
    assert X.data.tolist() == [2.0, 0.0, 1.0]


def test_nothing_compared_gives_nothing() -> None:
    for make in (np.asarray, sparse.csr_matrix):
        empty, some = make(np.zeros((0, 3))), make(np.eye(3))
        for measure in MEASURES:
            assert list(pairwise(empty, some, **options(measure))) == []
            assert pairwise_matrix(empty, some, **options(measure)).shape == (0, 3)
            assert pairwise_matrix(some, empty, **options(measure)).shape == (3, 0)
            assert pairwise_matrix(empty, **options(measure)).shape == (0, 0)
    assert compare([], [], "euclidean") == 0.0
    assert compare([], [], "cosine") == 0.0


@pytest.mark.parametrize(
    ("x", "y", "settings", "message"),
    [
        ([1, 2], [1, 2, 3], {"measure": "cosine"}, "x has 2 columns but y 3"),
        ([1, math.nan], [1, 2], {"measure": "cosine"}, "x holds NaN in row 0, column 1"),
        ([1, 2], [math.inf, 2], {"measure": "jaccard"}, "y holds inf in row 0, column 0"),
        (["a"], ["b"], {"measure": "cosine"}, "not numbers"),
        ([[1, 2], [3, 4]], [1, 2], {"measure": "cosine"}, "x must be one vector, got the shape (2, 2)"),
        (3, 4, {"measure": "cosine"}, "x must be one vector"),
        ([1], [1], {"measure": "cosinus"}, "measure must be one of"),
        ([1], [1], {"measure": "minkowski"}, "p belongs to measure='minkowski'"),
        ([1], [1], {"measure": "cosine", "p": 2}, "p belongs to measure='minkowski'"),
        ([1], [1], {"measure": "minkowski", "p": 0.5}, "p must be a number at least 1"),
        ([1], [1], {"measure": "minkowski", "p": math.nan}, "p must be a number at least 1"),
        ([1], [1], {"measure": "kl", "base": 1}, "base must be a number above 1"),
        ([1], [1], {"measure": "hellinger", "base": 2}, "base belongs to kl and js"),
        ([1], [1], {"measure": "cosine", "normalize": True}, "does not compare probabilities"),
        ([1.5, -0.5], [0.5, 0.5], {"measure": "hellinger"}, "x holds -0.5 in row 0; probabilities must not be"),
        ([0.5, 0.5], [0, 0], {"measure": "kl", "normalize": True}, "row 0 of y sums to 0.0 and is no distribution"),
        ([0.5, 0.5], [0.5, 0.4], {"measure": "js"}, "row 0 of y sums to 0.9, not to 1"),
    ],
)
def test_bad_vectors_and_options_are_named(x: Any, y: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as caught:
        compare(x, y, **settings)
    assert message in str(caught.value)


def test_bad_matrices_are_named_at_once() -> None:
    wrong = sparse.csr_matrix(np.array([[1.0, 0], [0.25, 0.75], [0.5, -0.5]]))
    with pytest.raises(DataError, match=r"X holds -0\.5 in row 2"):
        pairwise(wrong, measure="kl")
    with pytest.raises(DataError, match="X must have rows and columns"):
        pairwise([1, 2, 3])
    with pytest.raises(DataError, match="rows of different lengths"):
        compare([[1, 2], [3]], [1], "cosine")
    with pytest.raises(DataError, match="chunk_size must be a whole number at least 1"):
        pairwise(np.eye(2), chunk_size=0)
    with pytest.raises(DataError, match="n_jobs"):
        pairwise(np.eye(2), n_jobs=0)


def csr(rows: list[list[int]], values: float = 1.0) -> tuple[Any, ...]:
    columns = np.array([column for row in rows for column in row], dtype=np.int32)
    return np.cumsum([0, *map(len, rows)]), columns, np.full(len(columns), values)


def test_the_kernels_believe_nothing() -> None:
    x, out = csr([[0, 2]]), np.zeros((1, 1))
    good: dict[str, Any] = {"p": 1.0, "extent": 3, "out": out, "threads": 1}
    native.merge_rows(x, x, "manhattan", **good)
    for left, changed in (
        (csr([[2, 0]]), {}),
        (csr([[0, 0]]), {}),
        (csr([[0, 3]]), {}),
        (csr([[-1]]), {}),
        ((np.zeros(0, np.int64), *x[1:]), {}),
        ((np.array([0, 5]), *x[1:]), {}),
        (x, {"out": np.zeros((2, 1))}),
        (x, {"threads": 0}),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - any reason will do
            native.merge_rows(left, x, "manhattan", **(good | changed))
    with pytest.raises(ValueError, match="p must be"):
        native.merge_rows(x, x, "minkowski", **(good | {"p": 0.5}))
    with pytest.raises(ValueError, match="no measure"):
        native.merge_rows(x, x, "taxicab", **good)
    del good["p"]
    terms = csr([[0], [], [0]])
    native.match_rows(x, x, terms, "cosine", **good)
    assert out[0, 0] == 1
    for wrong in (csr([[0], []]), csr([[1], [], [0]])):
        with pytest.raises(ValueError):  # noqa: PT011 - any reason will do
            native.match_rows(x, x, wrong, "cosine", **good)
    with pytest.raises(ValueError, match="not made of common terms"):
        native.match_rows(x, x, terms, "kl", **good)
    with pytest.raises(ValueError, match="columns"):
        native.compare_rows(np.ones((1, 2)), np.ones((1, 3)), "kl", p=1.0, out=out, threads=1)
    with pytest.raises(ValueError, match="columns"):
        native.euclidean_of_products(np.ones((1, 2)), np.ones((1, 3)), out=out, threads=1)
    with pytest.raises(TypeError):
        native.compare_rows(np.ones((1, 2)), np.ones((1, 2)), "kl", p=1.0, out=out.astype(np.float32), threads=1)
