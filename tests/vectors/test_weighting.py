"""SMART weights: the printed numbers, the definition on random matrices, peers, chunks, threads, files, bad input."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from reference.smart_weights import weights
from reference.titles import COUNTS
from scipy import sparse

import textmill
from textmill._native import vectors as native
from textmill.corpus import Vocabulary, check_bags, sample_texts
from textmill.errors import DataError, ModelFileError
from textmill.vectors import NegativeWeights, Weighting
from textmill.vectors.weighting import weigh

SCHEMES = ["".join(letters) for letters in itertools.product("nbal", "nt", "nc")]
IDFS = ["n/(1+d)", "n/d", "smooth"]

HUMAN, COMPUTER, USER, SYSTEM, RESPONSE, TIME, EPS, SURVEY = 0, 2, 3, 4, 5, 6, 7, 8
C2, C4 = 1, 3


def random_counts(rng: np.random.Generator, *, whole: bool = True) -> NDArray[Any]:
    """A small matrix with empty rows, unused terms and a term of every document."""
    rows, columns = int(rng.integers(1, 9)), int(rng.integers(1, 8))
    X = rng.poisson(rng.uniform(0.1, 2), (rows, columns)).astype(float)
    if not whole:
        X *= rng.uniform(0.01, 300, X.shape)
    if rng.random() < 0.5:
        X[:, rng.integers(columns)] += 1
    if rng.random() < 0.5:
        X[:, rng.integers(columns)] = 0
    if rng.random() < 0.5:
        X[rng.integers(rows)] = 0
    return X.astype(np.int32) if whole else X


def bytes_of(X: sparse.csr_matrix) -> tuple[bytes, ...]:
    return X.indptr.tobytes(), X.indices.tobytes(), X.data.tobytes()


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        ("ntc", [0.4892, 0.7221, 0.4892]),
        ("ann", [0.75, 1.0, 0.75]),
        ("atc", [0.5804, 0.5712, 0.5804]),
        ("lnn", [0.693147, 1.098612, 0.693147]),
        ("ltc", [0.5448, 0.6374, 0.5448]),
        ("nnn", [1, 2, 1]),
        ("bnn", [1, 1, 1]),
    ],
)
def test_c4_has_the_printed_weights(scheme: str, expected: list[float]) -> None:
    row = Weighting(scheme=scheme).fit(COUNTS).transform(COUNTS[[C4]]).toarray()[0]
    assert row[[HUMAN, SYSTEM, EPS]] == pytest.approx(expected, abs=1e-6 if scheme == "lnn" else 5e-5)
    assert np.count_nonzero(row) == 3


def test_the_sample_corpus_has_the_printed_idf_and_cosines() -> None:
    weighting = Weighting().fit(COUNTS)
    assert weighting.idf_[HUMAN] == pytest.approx(1.0986, abs=5e-5)
    assert weighting.idf_[SYSTEM] == pytest.approx(0.8109, abs=5e-5)
    X = weighting.transform(COUNTS)
    c2 = X[[C2]].toarray()[0, [COMPUTER, USER, SYSTEM, RESPONSE, TIME, SURVEY]]
    assert c2 == pytest.approx([0.4433, 0.3272, 0.3272, 0.4433, 0.4433, 0.4433], abs=5e-5)
    cosines = (X @ X[[C4]].T).toarray()[:, 0]
    assert cosines == pytest.approx([0.2824, 0.2363, 0.5815, 1.0, 0, 0, 0, 0, 0], abs=5e-5)


def test_gensims_default_is_a_choice_of_parameters() -> None:
    weighting = Weighting(scheme="ntc", idf="n/d", log_base=2).fit(COUNTS)
    row = weighting.transform(COUNTS[[C4]]).toarray()[0]
    assert row[[HUMAN, SYSTEM, EPS]] == pytest.approx([0.4918, 0.7185, 0.4918], abs=5e-5)


@pytest.mark.parametrize("normalize", [True, False])
def test_gensim_agrees(normalize: bool) -> None:
    models = pytest.importorskip("gensim.models")
    corpus = [[(t, int(a)) for t, a in enumerate(row) if a] for row in COUNTS]
    peer = models.TfidfModel(corpus, normalize=normalize)
    X = Weighting(scheme="ntc" if normalize else "ntn", idf="n/d", log_base=2).fit(COUNTS).transform(COUNTS)
    for row, document in zip(X.toarray(), corpus, strict=True):
        expected = np.zeros(len(row))
        for t, w in peer[document]:
            expected[t] = w
        assert row == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("norm", ["n", "c"])
def test_scikit_learn_agrees_where_conventions_coincide(norm: str) -> None:
    from sklearn.feature_extraction.text import TfidfTransformer

    X = Vocabulary().fit_transform(sample_texts(language=None))
    peer = TfidfTransformer(norm="l2" if norm == "c" else None, smooth_idf=True).fit(X)
    ours = Weighting(scheme=f"nt{norm}", idf="smooth").fit(X)
    np.testing.assert_allclose(ours.idf_, peer.idf_, rtol=1e-14)
    theirs, mine = peer.transform(X), ours.transform(X)
    assert (mine.indices == theirs.indices).all()
    np.testing.assert_allclose(mine.data, theirs.data, rtol=1e-12)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kind", IDFS)
def test_the_sample_corpus_is_weighed_as_defined(scheme: str, kind: str) -> None:
    X = Weighting(scheme=scheme, idf=kind).fit(COUNTS).transform(COUNTS)
    np.testing.assert_allclose(X.toarray(), weights(COUNTS, COUNTS, scheme, kind=kind), rtol=1e-12, atol=1e-15)


@pytest.mark.filterwarnings("ignore::textmill.vectors.NegativeWeights")
def test_random_matrices_are_weighed_as_defined() -> None:
    rng = np.random.default_rng(1)
    for trial in range(500):
        whole = bool(trial % 2)
        train = random_counts(rng, whole=whole)
        rows = random_counts(rng, whole=whole)
        rows = np.resize(rows, (len(rows), train.shape[1]))
        kind, base, negative = IDFS[trial % 3], (math.e, 2.0, 10.0)[trial % 7 % 3], ("clip", "keep")[trial % 5 % 2]
        weighting = Weighting(idf=kind, log_base=base, negative=negative).fit(sparse.csr_matrix(train))
        counts = sparse.csr_matrix(rows)
        for scheme in SCHEMES:
            X = weighting.set_params(scheme=scheme).transform(counts)
            expected = weights(train, rows, scheme, kind=kind, base=base, negative=negative)
            dense = X.toarray()
            assert (np.abs(dense - expected) <= 1e-14 + 1e-11 * np.abs(expected)).all()  # false for NaN, too
            assert X.nnz == np.count_nonzero(dense)
            assert not dense[rows == 0].any()
        assert X.has_canonical_format


@pytest.mark.parametrize(
    "count", [np.int8, np.uint16, np.int64, np.uint64, np.longdouble, np.float32, np.float64, np.bool_]
)
def test_the_type_of_the_counts_does_not_matter(count: type) -> None:
    X = sparse.csr_matrix(np.minimum(COUNTS, 1) if count is np.bool_ else COUNTS)
    weighting = Weighting(scheme="ltc").fit(X)
    assert bytes_of(weighting.transform(X.astype(count))) == bytes_of(weighting.transform(X))


def test_float32_weights_are_those_of_float64_rounded() -> None:
    X = Vocabulary().fit_transform(sample_texts())
    for scheme in SCHEMES:
        wide = Weighting(scheme=scheme, idf="smooth").fit(X).transform(X)
        narrow = Weighting(scheme=scheme, idf="smooth", dtype="float32").fit(X).transform(X)
        assert narrow.dtype == np.float32
        assert (narrow.data == wide.data.astype(np.float32)).all()


@pytest.mark.parametrize("scheme", ["ntc", "ltn", "atc", "bnc"])
def test_bytes_are_the_same_for_any_number_of_threads(scheme: str) -> None:
    X = Vocabulary().fit_transform(sample_texts(language=None) * 3)
    made = {bytes_of(Weighting(scheme=scheme, idf="n/d", n_jobs=jobs).fit(X).transform(X)) for jobs in (1, 2, 8)}
    assert len(made) == 1


def test_input_is_left_alone() -> None:
    X = sparse.csr_matrix(COUNTS)
    before = bytes_of(X)
    made = Weighting().fit(X).transform(X)
    made.data[:] = made.indices[:] = 0
    assert bytes_of(X) == before


def test_stored_zeros_count_as_absent_and_are_dropped() -> None:
    X = sparse.csr_matrix((np.array([0, 2, 0]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 2))
    weighting = Weighting(scheme="ann").fit(X)
    assert weighting.document_frequency_.tolist() == [0, 1]
    assert weighting.transform(X).toarray().tolist() == [[0, 1], [0, 0]]
    assert weighting.transform(X).nnz == 1


def test_empty_rows_stay_empty() -> None:
    for scheme in SCHEMES:
        weighting = Weighting(scheme=scheme).fit(COUNTS)
        assert weighting.transform(np.zeros((3, 12))).nnz == 0
        assert weighting.transform(np.zeros((0, 12))).shape == (0, 12)
    assert Weighting().fit(np.zeros((0, 4))).transform([[1, 2, 3, 4]]).nnz == 0
    assert Weighting().fit(np.zeros((2, 0))).transform(np.zeros((1, 0))).shape == (1, 0)


def test_terms_that_training_never_saw_have_no_idf() -> None:
    train = np.array([[1, 0], [0, 0], [0, 0]])
    for kind in IDFS:
        weighting = Weighting(scheme="ntn", idf=kind).fit(train)
        assert weighting.idf_[1] == 0
        vectors = weighting.vectors([np.array([[2, 3], [0, 1]]), np.array([[0, 0]])])
        assert sum(chunk.nnz for chunk in vectors) == 1
        assert (vectors.documents, vectors.nonzeros, vectors.empty, vectors.unseen) == (3, 1, 2, 2)


def test_negative_idf_is_clipped_with_one_warning_or_kept() -> None:
    X = np.array([[1, 1, 2], [1, 0, 0], [1, 1, 0]])
    weighting = Weighting(scheme="ntn").fit(X)
    with pytest.warns(NegativeWeights, match="1 of 3 terms are in all 3 documents"):
        first = weighting.transform(X)
    weighting.transform(X)  # a second warning would be an error
    weighting.transform_query(X)
    assert first.toarray() == pytest.approx(np.array([[0, 0, 2 * math.log(1.5)], [0, 0, 0], [0, 0, 0]]))
    assert first.nnz == 1
    kept = Weighting(scheme="ntn", negative="keep").fit(X).transform(X)
    assert kept.toarray()[1, 0] == pytest.approx(math.log(3 / 4))
    assert kept.nnz == 4  # d = n - 1 is exactly 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Weighting(scheme="nnc").fit(X).transform(X)  # no idf, no warning


def test_files_and_copies_do_not_repeat_the_warning_of_training(tmp_path: Path) -> None:
    X = np.array([[1, 1, 2], [1, 0, 0], [1, 1, 0]])
    weighting = Weighting(scheme="ntn").fit(X)
    with pytest.warns(NegativeWeights):
        expected = weighting.transform(X).toarray()
    weighting.save(tmp_path / "weighting.mill")
    for again in (textmill.load(tmp_path / "weighting.mill"), copy.deepcopy(weighting)):
        assert np.array_equal(again.transform(X).toarray(), expected)  # a warning would be an error
    with pytest.warns(NegativeWeights):
        textmill.load(tmp_path / "weighting.mill").partial_fit(X).transform(X)


def test_a_parameter_changed_after_fit_changes_the_idf() -> None:
    weighting = Weighting().fit(COUNTS)
    before = weighting.idf_.copy()
    assert not np.array_equal(weighting.set_params(idf="smooth").idf_, before)
    weighting.set_params(idf="n/(1+d)").partial_fit(COUNTS)
    assert not np.array_equal(weighting.idf_, before)


def test_the_base_of_logarithms_cancels_out_of_unit_vectors_only() -> None:
    for scheme, equal in (("ntc", True), ("ntn", False), ("ltc", True)):
        two, e = (Weighting(scheme=scheme, log_base=base).fit(COUNTS).transform(COUNTS) for base in (2, math.e))
        assert np.allclose(two.data, e.data, rtol=1e-14) is equal


@given(st.lists(st.integers(0, 9), max_size=4), st.integers(0, 2**32 - 1))
def test_chunks_streams_and_merging_give_exactly_the_whole(cuts: list[int], seed: int) -> None:
    X = sparse.csr_matrix(np.random.default_rng(seed).poisson(0.7, (9, 5)))
    whole = Weighting().fit(X)
    chunks = [X[a:b] for a, b in itertools.pairwise([0, *sorted(cuts), 9])]
    merged = Weighting().fit(chunks[0])
    for chunk in chunks[1:]:
        merged = merged.merge(Weighting().fit(chunk))
    streamed = Weighting().fit(iter(chunks))
    for other in (merged, streamed):
        assert other.documents_ == whole.documents_ == 9
        assert other.document_frequency_.tobytes() == whole.document_frequency_.tobytes()


def test_stored_frequencies_of_a_vocabulary_are_enough() -> None:
    vocabulary = Vocabulary(min_df=2)
    X = vocabulary.fit_transform(sample_texts())
    counted, stored = Weighting(scheme="ltc").fit(X), Weighting.of(vocabulary, scheme="ltc")
    assert stored.documents_ == counted.documents_
    assert (stored.document_frequency_ == counted.document_frequency_).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NegativeWeights)
        assert bytes_of(stored.transform(X)) == bytes_of(counted.transform(X))


def test_queries_have_a_scheme_of_their_own() -> None:
    for weighting in (Weighting(scheme="lnc.ntc"), Weighting(scheme="lnc", query="ntc")):
        weighting.fit(COUNTS)
        assert bytes_of(weighting.transform(COUNTS)) == bytes_of(Weighting(scheme="lnc").fit(COUNTS).transform(COUNTS))
        queries = weighting.transform_query(COUNTS)
        assert bytes_of(queries) == bytes_of(Weighting(scheme="ntc").fit(COUNTS).transform(COUNTS))
    assert bytes_of(Weighting().fit(COUNTS).transform_query(COUNTS)) == bytes_of(
        Weighting().fit(COUNTS).transform(COUNTS)
    )


def test_a_stream_of_vectors_can_be_read_again_unless_it_comes_from_a_generator() -> None:
    weighting = Weighting().fit(COUNTS)
    vectors = weighting.vectors([COUNTS[:4], COUNTS[4:]])
    assert (sparse.vstack(list(vectors)) != weighting.transform(COUNTS)).nnz == 0
    assert len(list(vectors)) == 2
    once = weighting.vectors(chunk for chunk in [COUNTS])
    assert len(list(once)) == 1
    with pytest.raises(DataError, match="can be read once"):
        list(once)


def test_values_of_any_size_give_unit_rows() -> None:
    X = check_bags(np.array([[3e200, 4e200], [3e-200, 4e-200], [3e-310, 4e-310], [5e-324, 0]]))
    made = weigh(X, "nnc").toarray()
    assert made[:2] == pytest.approx(np.array([[0.6, 0.8]] * 2), rel=1e-14)
    assert made[2] == pytest.approx([0.6, 0.8], rel=1e-10)
    assert made[3].tolist() == [1, 0]
    assert weigh(X, "nnc", dtype="float32").toarray()[0] == pytest.approx([0.6, 0.8], rel=1e-6)
    assert weigh(check_bags(np.array([[1.0, 1e-60]])), "nnn", dtype="float32").nnz == 1
    with pytest.raises(DataError, match="float32 cannot hold"):
        weigh(X, "nnn", dtype="float32")


def test_a_weighting_comes_back_from_its_file(tmp_path: Path) -> None:
    weighting = Weighting(scheme="ltc.bnn", idf="smooth", dtype="float32").fit(COUNTS)
    weighting.save(tmp_path / "weighting.mill")
    back = textmill.load(tmp_path / "weighting.mill", expect=Weighting)
    assert back.get_params() == weighting.get_params()
    assert bytes_of(back.transform(COUNTS)) == bytes_of(weighting.transform(COUNTS))
    back.partial_fit(COUNTS)
    assert back.documents_ == 18
    weighting.save(tmp_path / "again.mill")
    assert (tmp_path / "again.mill").read_bytes() == (tmp_path / "weighting.mill").read_bytes()
    twin = pickle.loads(pickle.dumps(weighting))  # noqa: S301 - our own bytes
    assert bytes_of(twin.transform(COUNTS)) == bytes_of(weighting.transform(COUNTS))


def test_impossible_frequencies_in_a_file_are_refused() -> None:
    weighting = Weighting().fit(COUNTS)
    weighting.documents_ = 1
    with pytest.raises(ModelFileError, match="contradict"):
        weighting.verify()


def test_scikit_learns_pipeline_and_search_take_it() -> None:
    from sklearn.base import clone
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(Vocabulary(), Weighting(idf="smooth"))
    assert pipeline.fit_transform(["to be", "to do"]).shape == (2, 3)
    assert pipeline.get_feature_names_out().tolist() == ["to", "be", "do"]
    assert Weighting().fit(COUNTS).get_feature_names_out()[:2].tolist() == ["x0", "x1"]
    assert not hasattr(clone(Weighting().fit(COUNTS)), "documents_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"scheme": "tfidf"}, "scheme must be three letters such as 'ntc', got 'tfidf'"),
        ({"scheme": "xtc"}, "scheme 'xtc': the local letter must be one of n, b, a, l, got 'x'"),
        ({"scheme": "nlc"}, "the global letter must be one of n, t"),
        ({"scheme": "ntn.ntx"}, "the normalization letter must be one of n, c, got 'x'"),
        ({"scheme": "ntn.ntc", "query": "ntc"}, "names the one for queries already"),
        ({"scheme": None}, "three letters"),
        ({"query": "nt"}, "query must be three letters"),
        ({"idf": "thesis"}, "idf must be one of"),
        ({"log_base": 1}, "log_base must be a number above 1"),
        ({"log_base": math.inf}, "log_base must be a number above 1"),
        ({"negative": "drop"}, "negative must be one of"),
        ({"dtype": "float16"}, "dtype must be one of"),
        ({"n_jobs": 0}, "n_jobs must be a whole number"),
    ],
)
def test_wrong_parameters_are_named(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as caught:
        Weighting(**parameters).fit(COUNTS).transform(COUNTS)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[1.0, np.nan]]), "holds NaN in row 0, column 1"),
        (np.array([[1, -2]]), "must not be negative"),
        (np.array([["a", "b"]]), "not numbers"),
        (np.array([1, 2]), "must have rows and columns, got 1 axes"),
        (
            [sparse.csr_matrix([[1, 2]]), sparse.csr_matrix([[1, 2, 3]])],
            "X has 3 features, but Weighting is expecting 2 features",
        ),
        ([], "the stream has no chunks"),
    ],
)
def test_bad_input_is_named_and_leaves_the_old_fit(X: Any, message: str) -> None:
    weighting = Weighting().fit(COUNTS)
    with pytest.raises(DataError) as caught:
        weighting.fit(X)
    assert message in str(caught.value)
    assert weighting.documents_ == 9


def test_what_does_not_fit_together_is_refused() -> None:
    weighting = Weighting().fit(COUNTS)
    with pytest.raises(
        DataError, match="X has 3 features, but Weighting is expecting 12 features as input; use bags of one vocabulary"
    ):
        weighting.transform(np.ones((1, 3)))
    with pytest.raises(DataError, match="X has 2 features, but Weighting is expecting 12"):
        weighting.merge(Weighting().fit(np.eye(2)))
    with pytest.raises(DataError, match="not fitted yet"):
        Weighting().transform(COUNTS)
    with pytest.raises(DataError, match="not fitted yet"):
        Weighting().idf_  # noqa: B018

    def chunks() -> Iterator[sparse.csr_matrix]:
        yield sparse.csr_matrix(COUNTS)

    with pytest.raises(DataError, match="must have rows and columns"):
        weighting.transform(chunks())


def test_the_kernel_believes_nothing() -> None:
    good: dict[str, Any] = {
        "offsets": np.array([0, 1]),
        "columns": np.zeros(1, np.int32),
        "values": np.ones(1),
        "local": "n",
        "weights": np.ones(1),
        "extent": 1,
        "per_log": 1.0,
        "unit": False,
        "out_offsets": np.zeros(2, np.int64),
        "out_columns": np.zeros(1, np.int32),
        "out_values": np.zeros(1),
        "threads": 1,
    }
    assert native.weigh(**good) == 1
    for wrong in (
        {"offsets": np.array([1, 1])},
        {"offsets": np.array([0, 2])},
        {"offsets": np.array([0, 2, 1]), "out_offsets": np.zeros(3, np.int64)},
        {"offsets": np.zeros(0, np.int64), "out_offsets": np.zeros(0, np.int64)},
        {"columns": np.ones(1, np.int32)},
        {"columns": np.full(1, -1, np.int32)},
        {"local": "x"},
        {"weights": np.ones(2)},
        {"out_values": np.zeros(2)},
        {"out_columns": np.zeros(0, np.int32)},
        {"threads": 0},
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - any reason will do
            native.weigh(**(good | wrong))
    with pytest.raises(TypeError):
        native.weigh(**(good | {"out_values": np.zeros(1, np.int32)}))


@pytest.mark.parametrize("letters", ["nfc", "bfc", "afc", "nnc", "nfn"])
def test_schemes_of_gensim_are_those_of_the_page_on_migration(letters: str) -> None:
    from gensim.models import TfidfModel

    X = np.random.default_rng(3).poisson(0.8, (12, 9))
    X[:, 0] = 0
    X[0, 0] = 2
    theirs = TfidfModel([[(j, int(c)) for j, c in enumerate(row) if c] for row in X], smartirs=letters)
    expected = np.zeros(X.shape)
    for i, row in enumerate(X):
        for j, value in theirs[[(j, int(c)) for j, c in enumerate(row) if c]]:
            expected[i, j] = value
    scheme = letters.replace("f", "t")
    ours = Weighting(scheme=scheme, idf="n/d", **({} if scheme.endswith("c") else {"log_base": 2})).fit_transform(X)
    assert ours.toarray() == pytest.approx(expected, abs=1e-9)
