"""PCA: the worked example, scikit-learn on dense matrices, chunks, merges, and what is never made dense."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from reference.titles import COUNTS
from scipy import sparse
from scipy.sparse import csr_matrix
from sklearn import decomposition

import textmill
from textmill.errors import DataError
from textmill.topics import PCA

pytestmark = pytest.mark.filterwarnings("ignore::textmill.topics.FewerTopics")  # of low rank on purpose
FILES = Path(__file__).parents[2] / "files"
X = csr_matrix(COUNTS.astype(float))
EIGENVALUES = [1.038325, 0.701322, 0.378963, 0.306965, 0.213936, 0.099437, 0.055329, 0.039057]


@pytest.mark.parametrize("method", ["lanczos", "krylov", "one_pass"])
def test_eigenvalues_of_the_worked_example(method: str) -> None:
    pca = PCA(n_topics=12, method=method, random_state=0).fit(X)
    assert pca.explained_variance_ == pytest.approx(EIGENVALUES, abs=1e-6)  # the ninth is 0 and no direction
    assert pca.total_variance_ == pytest.approx(2.833333, abs=1e-6)
    assert pca.explained_variance_ratio_.sum() == pytest.approx(1)


def test_centering_changes_the_spectrum() -> None:
    uncentered = np.linalg.svd(X.toarray(), compute_uv=False) ** 2 / 8
    assert uncentered[:3] == pytest.approx([1.395188, 0.807530, 0.692631], abs=1e-6)
    assert abs(PCA(n_topics=1).fit(X).explained_variance_[0] - uncentered[0]) > 0.3


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shape", [(300, 100), (80, 250)])
def test_equals_dense_pca(seed: int, shape: tuple[int, int]) -> None:
    data = sparse.random(*shape, 0.05, format="csr", random_state=seed)
    pca = PCA(n_topics=6, random_state=seed).fit(data)
    dense = decomposition.PCA(6, svd_solver="full").fit(data.toarray())
    assert pca.mean_ == pytest.approx(dense.mean_, abs=1e-12)
    assert pca.explained_variance_ == pytest.approx(dense.explained_variance_, abs=1e-8)
    assert pca.explained_variance_ratio_ == pytest.approx(dense.explained_variance_ratio_, abs=1e-8)
    signs = np.sign((pca.components_ * dense.components_).sum(axis=1))
    assert np.abs(pca.components_ * signs[:, None] - dense.components_).max() < 1e-8
    assert np.abs(pca.transform(data) * signs - dense.transform(data.toarray())).max() < 1e-8


def test_krylov_is_near_in_few_passes_and_orthonormal() -> None:
    data = sparse.random(400, 300, 0.03, format="csr", random_state=2)
    exact = PCA(n_topics=10, random_state=0).fit(data).explained_variance_
    near = PCA(n_topics=10, method="krylov", power_iterations=4, random_state=0).fit(data)
    assert near.explained_variance_ == pytest.approx(exact, rel=1e-3)
    assert (near.explained_variance_ <= exact * (1 + 1e-9)).all()
    assert np.abs(near.components_ @ near.components_.T - np.eye(10)).max() < 1e-12


def test_chunks_give_the_exact_mean_and_total_variance_and_nearly_the_components() -> None:
    random = np.random.default_rng(0)
    low = random.random((500, 4)) @ random.random((4, 60))
    data = csr_matrix(np.where(random.random((500, 60)) < 0.4, low, 0))
    whole = PCA(n_topics=3, random_state=0).fit(data)
    for size in (50, 128, 500):
        parts = PCA(n_topics=3, method="one_pass", chunk_size=size, random_state=0).fit(data)
        assert parts.mean_ == pytest.approx(whole.mean_, abs=1e-12)
        assert parts.total_variance_ == pytest.approx(whole.total_variance_, rel=1e-12)
        assert parts.explained_variance_ == pytest.approx(whole.explained_variance_, rel=0.02)


def test_untruncated_chunks_and_merges_are_exact() -> None:
    data = sparse.random(90, 20, 0.3, format="csr", random_state=1)
    dense = decomposition.PCA(20, svd_solver="full").fit(data.toarray())
    one = PCA(n_topics=20, random_state=0).partial_fit(data[:30]).partial_fit(data[30:50])
    merged = one.merge(PCA(n_topics=20, random_state=0).fit(data[50:]))
    for pca in (merged, PCA(n_topics=20, method="one_pass", chunk_size=13, random_state=0).fit(data)):
        assert pca.explained_variance_ == pytest.approx(dense.explained_variance_, abs=1e-10)
        assert pca.documents_ == 90


def test_further_documents_leave_the_number_of_topics() -> None:
    data = sparse.random(200, 60, 0.2, format="csr", random_state=4)
    pca = PCA(n_topics=3, random_state=0).fit(data[:100])
    for part in (data[100:150], data[150:]):
        pca.partial_fit(part)
        assert pca.components_.shape == (3, 60)
        assert pca.singular_values_.shape == pca.explained_variance_ratio_.shape == (3,)
        assert pca.transform(data).shape == (200, 3)
        assert len(pca.topics()) == 3
    assert PCA(n_topics=3, random_state=0).partial_fit(data).transform(data).shape == (200, 3)


def test_documents_added_later_give_the_model_of_one_pass_over_all() -> None:
    data = sparse.random(200, 60, 0.2, format="csr", random_state=4)
    settings = {"n_topics": 3, "method": "one_pass", "chunk_size": 50, "random_state": 0}
    whole = PCA(**settings).fit(data)
    parts = PCA(**settings).fit(data[:100]).partial_fit(data[100:])
    assert parts.components_.tobytes() == whole.components_.tobytes()
    exact = PCA(n_topics=3, random_state=0).fit(data).explained_variance_
    poor = PCA(**settings, oversampling=0).fit(data[:100]).partial_fit(data[100:]).explained_variance_
    assert np.abs(whole.explained_variance_ - exact).max() < np.abs(poor - exact).max()


def test_a_file_of_the_first_format_still_loads_with_the_number_of_topics() -> None:
    old = textmill.load(FILES / "model" / "pca_format_1.mill", verify=True)  # n_topics=2, but all 8 directions
    assert (old.n_topics, old.components_.shape, old.reserve_.shape) == (2, (2, 8), (6, 8))
    data = sparse.random(12, 8, 0.5, format="csr", random_state=3)
    assert old.explained_variance_ == pytest.approx(PCA(n_topics=2).fit(data).explained_variance_, rel=0.03)
    assert old.partial_fit(data).transform(data).shape == (12, 2)


def test_streams_are_read_as_often_as_the_algorithm_needs() -> None:
    def chunks():
        yield X[:4]
        yield X[4:]

    assert PCA(n_topics=2).fit(chunks()).documents_ == 9
    with pytest.raises(DataError, match="passes"):
        PCA(n_topics=2, method="krylov").fit(chunks())
    again = PCA(n_topics=2, method="krylov", random_state=0).fit([X[:4], X[4:]])
    assert again.explained_variance_ == pytest.approx(EIGENVALUES[:2], abs=1e-6)


def test_memory_does_not_grow_with_documents_times_terms() -> None:
    random = np.random.default_rng(0)
    data = csr_matrix((random.random(20000), random.integers(0, 10000, 20000), np.arange(0, 20001, 10)), (2000, 10000))
    for method in ("krylov", "one_pass"):
        tracemalloc.start()
        PCA(n_topics=5, method=method, oversampling=5, random_state=0).fit(data)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2000 * 10000 * 8 / 5


def test_whitened_projections_have_variance_one() -> None:
    data = sparse.random(200, 30, 0.2, format="csr", random_state=0)
    made = PCA(n_topics=4, whiten=True).fit(data).transform(data)
    assert made.var(axis=0, ddof=1) == pytest.approx(np.ones(4))


def test_a_file_brings_the_model_back_and_it_learns_on(tmp_path) -> None:
    pca = PCA(n_topics=3, random_state=0).fit(X)
    pca.save(tmp_path / "pca.mill")
    loaded = textmill.load(tmp_path / "pca.mill", verify=True)
    assert loaded.transform(X).tobytes() == pca.transform(X).tobytes()
    assert loaded.partial_fit(X).documents_ == 18


def test_identical_documents_have_no_components() -> None:
    pca = PCA(n_topics=3).fit(np.tile([1.0, 2.0, 0.0], (5, 1)))
    assert pca.components_.shape[0] == 0 or pca.explained_variance_.max() < 1e-20
    assert np.isfinite(pca.transform(np.ones((2, 3)))).all()


@pytest.mark.parametrize("method", ["lanczos", "krylov", "one_pass"])
def test_zeros_one_document_and_too_many_topics_are_no_faults(method: str) -> None:
    for data in (np.zeros((4, 3)), np.ones((1, 3)), np.eye(3), np.eye(2, 50)):
        pca = PCA(n_topics=40, method=method, random_state=0).fit(data)
        assert np.isfinite(pca.transform(data)).all()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.zeros((0, 3)), "no documents"),
        ([], "no documents"),
        (np.array([[1.0, np.nan]]), "NaN"),
        (["to be"], "vectorizer"),
    ],
)
def test_bad_input_is_one_clear_error(bad: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        PCA(n_topics=2).fit(bad)


@pytest.mark.parametrize("parameters", [{"n_topics": 0}, {"method": "x"}, {"oversampling": -1}, {"chunk_size": 0}])
def test_parameters_are_checked_by_fit(parameters: dict) -> None:
    with pytest.raises(DataError):
        PCA(**parameters).fit(X)
