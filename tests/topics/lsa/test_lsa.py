"""topics/lsa.py: the worked examples and acceptance checks of streamed LSA, bad input, files."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from reference.titles import COUNTS, TERMS, TITLES
from scipy import sparse

import textmill
from bench._lsa_accuracy import relative_errors, similarity_rmse
from papers._shared.presets import preset
from textmill.corpus import TopicStream, Vocabulary, read_documents
from textmill.errors import DataError
from textmill.topics import LSA, PCA, FewerTopics
from textmill.topics.decomposition import Projection
from textmill.topics.lsa.merging import merge_qr
from textmill.topics.lsa.passes import Plan, node
from textmill.vectors import TextVectorizer, Weighting, pairwise_matrix

# corpora of low rank are made on purpose
pytestmark = pytest.mark.filterwarnings("ignore::textmill.topics.FewerTopics")

Floats = NDArray[np.float64]

X = sparse.csr_matrix(COUNTS)
TRUE = [3.340884, 2.541701, 2.353944, 1.644532, 1.504832, 1.306382, 0.845903, 0.560134, 0.363677]
METHODS = ["one_pass", "hybrid", "refined", "two_pass"]
QUERY = np.isin(TERMS, ["human", "computer"]).astype(float)[None, :]


class Counted:
    """A corpus that counts how often each document is read."""

    def __init__(self, matrix: Any, size: int = 7) -> None:
        self.matrix = matrix
        self.size = size
        self.read = 0
        self.passes = 0

    def __iter__(self) -> Iterator[Any]:
        self.passes += 1
        for start in range(0, self.matrix.shape[0], self.size):
            part = self.matrix[start : start + self.size]
            self.read += part.shape[0]
            yield part


def random_corpus(seed: int, documents: int = 60, terms: int = 40, density: float = 0.15) -> Any:
    return sparse.random(documents, terms, density, format="csr", random_state=seed)


def singular_values(matrix: Any) -> Floats:
    return np.linalg.svd(matrix.toarray(), compute_uv=False)


def drift(model: LSA) -> float:
    U = np.vstack([model.components_, model.reserve_])
    return float(np.abs(U @ U.T - np.eye(len(U))).max(initial=0.0))


@pytest.mark.parametrize("method", METHODS)
def test_the_sample_has_its_singular_values(method: str) -> None:
    model = LSA(n_topics=9, method=method).fit(X)
    assert model.singular_values_ == pytest.approx(TRUE, abs=1e-6)
    assert model.energy_ == 31
    two = LSA(n_topics=2, oversampling=7, method=method).fit(X)
    explained = (two.singular_values_**2).sum()
    assert explained / 31 == pytest.approx(0.568443, abs=1e-6)
    assert np.sqrt(31 - explained) == pytest.approx(3.657629, abs=1e-6)


def test_documents_and_terms_have_the_printed_coordinates() -> None:
    model = LSA(n_topics=2).fit(X)
    V = model.transform(X, scaled=True)
    printed = [[0.1974, -0.0559], [0.6060, 0.1656], [0.4629, -0.1273], [0.5421, -0.2318], [0.2795, 0.1068]]
    printed += [[0.0038, 0.1928], [0.0146, 0.4379], [0.0241, 0.6151], [0.0820, 0.5299]]
    assert np.abs(V - printed).max() < 6e-5
    human, graph = TERMS.index("human"), TERMS.index("graph")
    assert model.components_[:, human] == pytest.approx([0.2214, -0.1132], abs=6e-5)
    assert model.components_[:, graph] == pytest.approx([0.0361, 0.6228], abs=6e-5)


def test_a_query_finds_titles_that_share_no_word_with_it() -> None:
    model = LSA(n_topics=2).fit(X)
    assert model.transform(QUERY)[0] == pytest.approx([0.461821, -0.070028], abs=1e-6)
    assert model.transform(QUERY, scaled=True)[0] == pytest.approx([0.138233, -0.027551], abs=1e-6)
    for scaled, printed in (
        (False, [0.998093, 0.937486, 0.998445, 0.986589, 0.907559, -0.124168, -0.106393, -0.098795, 0.050042]),
        (True, [0.996858, 0.894501, 0.997434, 0.978600, 0.846361, -0.176031, -0.162606, -0.156864, -0.043281]),
    ):
        query, documents = model.transform(QUERY, scaled=scaled), model.transform(X, scaled=scaled)
        assert pairwise_matrix(query, documents, measure="cosine")[0] == pytest.approx(printed, abs=1e-6)


def test_one_document_at_a_time_depends_on_the_order_and_oversampling_helps() -> None:
    mixed = X[[0, 5, 1, 6, 2, 7, 3, 8, 4]]
    for corpus, extra, expected in (
        (X, 0, [3.335651, 2.372993]),
        (mixed, 0, [3.333671, 2.348764]),  # m3 comes with sqrt(3), as long as the second factor, which stays
        (X, 2, [3.340809, 2.496758]),
        (mixed, 2, [3.339916, 2.531332]),
    ):
        model = LSA(n_topics=2, oversampling=extra, chunk_size=1, method="one_pass").fit(corpus)
        assert model.singular_values_ == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("extra", "q", "means"),
    [
        (0, 0, [2.786, 1.984]),
        (0, 1, [3.194, 2.342]),
        (0, 3, [3.325, 2.467]),
        (2, 0, [3.096, 2.339]),
        (2, 1, [3.317, 2.498]),
    ],
)
def test_two_passes_on_the_sample_have_the_printed_means(extra: int, q: int, means: list[float]) -> None:
    settings = {"n_topics": 2, "method": "two_pass", "oversampling": extra, "power_iterations": q, "n_jobs": 1}
    found = np.array([LSA(random_state=seed, **settings).fit(X).singular_values_ for seed in range(200)])
    assert (found <= np.array(TRUE[:2]) + 1e-6).all()
    assert found.mean(axis=0) == pytest.approx(means, abs=0.06)


def test_two_passes_are_exact_when_the_sample_spans_everything() -> None:
    for seed in range(5):
        model = LSA(n_topics=2, oversampling=7, method="two_pass", power_iterations=0, random_state=seed).fit(X)
        assert model.singular_values_ == pytest.approx(TRUE[:2], abs=1e-6)


def check_full_rank(seed: int, jobs: int, method: str) -> None:
    random = np.random.default_rng(seed)
    corpus = random_corpus(seed, int(random.integers(5, 60)), int(random.integers(5, 40)), 0.2)
    if not corpus.nnz:
        return
    true, dense = singular_values(corpus), corpus.toarray()
    rank = int((true > 1e-12 * true[0]).sum())
    size = -(-corpus.shape[0] // jobs)
    for model in (
        LSA(n_topics=60, oversampling=0, chunk_size=size, method=method).fit(corpus)._decomposition(),
        node([corpus[i : i + size] for i in range(0, corpus.shape[0], size)], Plan(60, merge=merge_qr)),
    ):
        assert model.rank == rank
        assert model.s == pytest.approx(true[:rank], rel=1e-10, abs=1e-12 * true[0])
        assert np.abs(model.U.T @ model.U - np.eye(rank)).max() <= 1e-12
        error = (model.U * model.s**2) @ model.U.T - dense.T @ dense
        assert np.linalg.norm(error) / model.energy <= 1e-12


splits = given(st.integers(0, 2**31 - 1), st.integers(1, 10), st.sampled_from(["one_pass", "hybrid"]))


@settings(max_examples=20)
@splits
@example(seed=178, jobs=10, method="one_pass")  # ten merges lost 2.5e-12 of orthogonality
def test_full_rank_is_exact_for_any_split(seed: int, jobs: int, method: str) -> None:
    check_full_rank(seed, jobs, method)


@pytest.mark.slow
@settings(max_examples=200)
@splits
def test_full_rank_is_exact_for_two_hundred_splits(seed: int, jobs: int, method: str) -> None:
    check_full_rank(seed, jobs, method)


def check_underestimation(seed: int, method: str, size: int) -> None:
    corpus = random_corpus(seed)
    true = singular_values(corpus)
    model = LSA(n_topics=4, oversampling=2, chunk_size=size, method=method, n_jobs=1).fit(corpus)
    assert (model.singular_values_ <= true[:4] * (1 + 1e-10)).all()
    assert (model.intervals()[:, 1] >= true[:4] * (1 - 1e-10)).all()
    assert drift(model) < 1e-11


streams = given(st.integers(0, 2**31 - 1), st.sampled_from(METHODS), st.integers(1, 30))


@settings(max_examples=20)
@streams
def test_no_singular_value_is_overestimated_and_intervals_hold(seed: int, method: str, size: int) -> None:
    check_underestimation(seed, method, size)


@pytest.mark.slow
@settings(max_examples=400)
@streams
def test_no_singular_value_of_a_hundred_streams_is_overestimated(seed: int, method: str, size: int) -> None:
    check_underestimation(seed, method, size)  # a hundred for each method


@settings(max_examples=20)
@given(st.integers(0, 2**31 - 1), st.floats(0.2, 1), st.integers(1, 6))
def test_decay_is_the_decomposition_of_weighted_chunks(seed: int, decay: float, chunks: int) -> None:
    corpus = random_corpus(seed, 10 * chunks, 15, 0.3)
    weights = np.repeat(decay ** np.arange(chunks - 1, -1, -1), 10)
    model = LSA(n_topics=15, chunk_size=10, decay=decay, method="one_pass").fit(corpus)
    s = singular_values(sparse.diags(weights) @ corpus)[: len(model.singular_values_)]
    assert model.singular_values_ == pytest.approx(s, rel=1e-9, abs=1e-12)
    assert model.energy_ == pytest.approx((s**2).sum())


def test_half_life_does_not_depend_on_the_chunk_size() -> None:
    corpus = random_corpus(3, 40, 15, 0.3)
    models = [LSA(n_topics=15, chunk_size=c, half_life=20, method="one_pass").fit(corpus) for c in (1, 40)]
    ages = np.arange(39, -1, -1)
    by_one = singular_values(sparse.diags(0.5 ** (ages / 40)) @ corpus)
    assert models[0].singular_values_ == pytest.approx(by_one[:15], rel=1e-9)
    assert LSA(n_topics=15, chunk_size=10, half_life=20, method="one_pass").fit(
        sparse.vstack([corpus[:10], corpus[:10]])
    ).singular_values_ == pytest.approx(singular_values(corpus[:10])[:10] * np.sqrt(1 + 0.5**0.5), rel=1e-9)
    assert models[1].singular_values_ == pytest.approx(singular_values(corpus)[:15], rel=1e-9)


@pytest.mark.parametrize("krylov", [False, True])
def test_two_passes_do_not_depend_on_chunks_and_read_as_often_as_they_say(krylov: bool) -> None:
    corpus = random_corpus(5, 200, 80, 0.05)
    made = []
    for size, per_job in ((200, None), (7, None), (31, 2)):
        counted = Counted(corpus)
        model = LSA(
            n_topics=5, oversampling=3, method="two_pass", power_iterations=2, chunk_size=size, random_state=4,
            krylov=krylov, chunks_per_job=per_job,
        ).fit(counted)  # fmt: skip
        assert counted.passes == 2 + 2
        made.append(model)
    for model in made[1:]:
        assert model.singular_values_ == pytest.approx(made[0].singular_values_, rel=1e-10)
        assert np.abs(model.components_ - made[0].components_).max() < 1e-9


def test_krylov_blocks_are_more_accurate_for_the_same_passes() -> None:
    corpus = next(iter(TopicStream(600, vocabulary=500, topics=30, chunk_size=600, length=80, seed=1)))
    true = singular_values(corpus)[:10]
    settings = {"n_topics": 10, "oversampling": 0, "method": "two_pass", "power_iterations": 2}
    plain, krylov = (LSA(krylov=k, **settings).fit(corpus).singular_values_ for k in (False, True))
    assert (true - krylov).sum() < 0.5 * (true - plain).sum()


@pytest.mark.parametrize("method", ["one_pass", "hybrid"])
def test_one_pass_reads_every_document_once_and_takes_a_generator(method: str) -> None:
    corpus = random_corpus(6)
    counted = Counted(corpus)
    model = LSA(n_topics=5, method=method, chunk_size=10).fit(counted)
    assert (counted.passes, counted.read, model.documents_) == (1, 60, 60)
    again = LSA(n_topics=5, method=method, chunk_size=10).fit(chunk for chunk in [corpus[:13], corpus[13:]])
    assert again.singular_values_ == pytest.approx(model.singular_values_, rel=1e-12)


def test_the_default_refines_what_can_be_read_again_and_reads_a_generator_once() -> None:
    corpus = random_corpus(7, 300, 100)
    true = singular_values(corpus)[:5]
    settings = {"n_topics": 5, "chunk_size": 50, "oversampling": 5}
    counted = Counted(corpus)
    refined = LSA(**settings).fit(counted)
    assert counted.passes == 2
    once = LSA(**settings).fit(iter(Counted(corpus)))
    assert (true - refined.singular_values_).sum() < 0.5 * (true - once.singular_values_).sum()
    assert refined.bound_ is None
    assert once.bound_ is not None


@pytest.mark.parametrize("method", ["two_pass", "refined"])
def test_several_passes_over_a_generator_are_refused_before_it_is_read(method: str) -> None:
    left = iter([X])
    with pytest.raises(DataError, match="passes but this stream can be read once"):
        LSA(method=method).fit(left)
    assert next(left) is X


def test_merging_saved_halves_is_the_run_of_two_jobs_bit_for_bit(tmp_path: Path) -> None:
    corpus = random_corpus(8, 100, 60)
    settings = {"n_topics": 6, "oversampling": 2, "method": "hybrid", "chunk_size": 50, "n_jobs": 1}
    for name, part in (("a", corpus[:50]), ("b", corpus[50:])):
        LSA(**settings).fit(part).save(tmp_path / f"{name}.mill")
    halves = [textmill.load(tmp_path / f"{name}.mill") for name in "ab"]
    merged, run = halves[0].merge(halves[1]), LSA(**settings).fit(corpus)
    assert merged.components_.tobytes() == run.components_.tobytes()
    assert merged.singular_values_.tobytes() == run.singular_values_.tobytes()
    assert merged.bound_ == run.bound_
    merged.save(tmp_path / "c.mill")
    textmill.load(tmp_path / "c.mill", verify=True).save(tmp_path / "d.mill")
    assert (tmp_path / "c.mill").read_bytes() == (tmp_path / "d.mill").read_bytes()


def test_a_model_takes_documents_for_ever_and_a_copy_is_a_snapshot() -> None:
    corpus = random_corpus(9)
    model = LSA(n_topics=40, method="one_pass").partial_fit(corpus[:10])
    snapshot = copy.copy(model)
    before = snapshot.components_.copy()
    model.add_documents(Counted(corpus[10:30])).partial_fit(corpus[30:])
    assert (snapshot.components_ == before).all()
    assert snapshot.documents_ == 10
    assert model.documents_ == 60
    assert model.singular_values_ == pytest.approx(singular_values(corpus)[: len(model.singular_values_)], rel=1e-9)


def test_the_vocabulary_may_grow() -> None:
    corpus = random_corpus(10, 30, 20, 0.3)
    narrow = sparse.csr_matrix(corpus[:15, :12])
    model = LSA(n_topics=20, method="one_pass").fit(narrow).add_documents([corpus[15:]])
    whole = sparse.vstack([sparse.hstack([narrow, sparse.csr_matrix((15, 8))]), corpus[15:]]).tocsr()
    assert model.components_.shape[1] == 20
    assert model.singular_values_ == pytest.approx(singular_values(whole)[: len(model.singular_values_)], rel=1e-9)
    for method in ("two_pass", "refined"):
        grown = LSA(n_topics=20, method=method).fit([narrow, corpus[15:]])
        assert grown.singular_values_ == pytest.approx(model.singular_values_, rel=1e-7)


def test_folding_in_the_documents_of_training_gives_the_rows_of_v() -> None:
    corpus = random_corpus(11, 30, 50, 0.2)
    model = LSA(n_topics=30, method="one_pass").fit(corpus)
    V = model.transform(corpus, scaled=True)
    assert np.abs(V.T @ V - np.eye(V.shape[1])).max() < 1e-10
    assert np.abs((V * model.singular_values_) @ model.components_ - corpus.toarray()).max() < 1e-10
    streamed = np.vstack(list(model.project(iter([corpus[:7], corpus[7:]]), scaled=True)))
    assert np.abs(streamed - V).max() < 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_corners_have_defined_results(method: str) -> None:
    for corpus, rank in (
        (sparse.csr_matrix(np.ones((3, 4))), 1),
        (sparse.csr_matrix(np.eye(3, 40)), 3),
        (sparse.csr_matrix(np.vstack([np.eye(3)] * 20)), 3),
        (sparse.csr_matrix(np.array([[2.0]])), 1),
    ):
        model = LSA(n_topics=5, method=method, chunk_size=2).fit(corpus)
        assert model.components_.shape == (rank, corpus.shape[1])
        assert model.transform(corpus).shape == (corpus.shape[0], rank)
        assert np.isfinite(model.intervals()).all()
    one = LSA(n_topics=1, oversampling=0, method=method).fit(random_corpus(12))
    assert one.components_.shape == (1, 40)


@pytest.mark.parametrize("method", METHODS)
def test_an_empty_corpus_is_refused(method: str) -> None:
    for nothing in ([], sparse.csr_matrix((0, 5))):
        with pytest.raises(DataError, match="there are no documents"):
            LSA(method=method).fit(nothing)


@pytest.mark.parametrize("kind", [LSA, PCA])
def test_fewer_topics_than_were_asked_for_are_warned_of(kind: Any) -> None:
    with pytest.warns(FewerTopics, match="2 topics instead of 9: .* pass more documents or a smaller n_topics") as told:
        kind(n_topics=9).fit(np.array([[2.0, 0, 1], [0, 1, 0], [4, 1, 2]]))
    assert told[0].filename == __file__


@pytest.mark.parametrize("method", METHODS)
def test_documents_without_a_word_are_refused(method: str) -> None:
    with pytest.raises(DataError, match="only zeros"):
        LSA(method=method).fit(sparse.csr_matrix((3, 4)))
    with pytest.raises(DataError, match="only zeros"):
        LSA(method=method).partial_fit(np.zeros((3, 4)))
    for vectorizer, documents in (
        (TextVectorizer(), ["", "", ""]),
        (TextVectorizer(vocabulary=Vocabulary(min_df=1000)), ["a mill", "a mill"]),
    ):
        with pytest.raises(DataError, match="the vocabulary has no terms"):
            LSA(method=method, vectorizer=vectorizer).fit(documents)


def test_numbers_that_are_none_are_refused_with_their_place() -> None:
    bad = COUNTS.astype(float)
    bad[2, 3] = np.nan
    with pytest.raises(DataError, match="X holds NaN in row 2, column 3"):
        LSA().fit(bad)
    with pytest.raises(DataError, match="chunk 1 of X holds NaN in row 2, column 3"):
        LSA().fit([COUNTS, bad])


def test_rows_of_another_length_are_refused() -> None:
    with pytest.raises(DataError, match="X has 3 features, but LSA is expecting 12 features"):
        LSA(n_topics=2).fit(X).transform(np.ones((1, 3)))


def test_documents_without_a_vectorizer_are_refused() -> None:
    with pytest.raises(DataError, match="this model has no vectorizer"):
        LSA().fit(TITLES)
    with pytest.raises(DataError, match="X must be a matrix or a stream"):
        LSA().fit("one text")


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_topics": 0}, {"method": "three_pass"}, {"chunk_size": 0}, {"oversampling": -1}, {"decay": 1.5},
        {"power_iterations": -1}, {"chunk_method": "magic"}, {"half_life": 0}, {"random_state": -1},
        {"chunks_per_job": 0}, {"decay": 0.5, "method": "two_pass"},
    ],
)  # fmt: skip
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(DataError):
        LSA(**wrong).fit(X)


def test_a_corpus_that_changes_between_passes_is_noticed() -> None:
    class Growing:
        rows = 5

        def __iter__(self) -> Iterator[Any]:
            self.rows += 1
            yield X[: self.rows]

    with pytest.raises(DataError, match="it must not change while it is read"):
        LSA(n_topics=2).fit(Growing())


def test_a_model_with_a_vectorizer_takes_texts_and_keeps_it_in_its_file(tmp_path: Path) -> None:
    vectorizer = TextVectorizer(vocabulary=preset("deerwester"), weighting=Weighting(scheme="nnn"))
    model = LSA(n_topics=2, vectorizer=vectorizer).fit(TITLES)
    assert model.singular_values_ == pytest.approx(TRUE[:2], abs=1e-6)
    assert not hasattr(vectorizer, "terms_")
    model.save(tmp_path / "titles.mill")
    loaded = textmill.load(tmp_path / "titles.mill")
    query = loaded.transform(["human computer interaction", "unheard words"])
    assert query == pytest.approx(np.array([[0.461821, -0.070028], [0, 0]]), abs=1e-6)
    assert loaded.topics(3) == model.topics(3)
    assert loaded.describe_topics(3).splitlines()[0] == ('topic 1 (3.341): 0.644*"system" + 0.404*"user" + 0.301*"eps"')
    assert loaded.add_documents(iter(["graph of trees"])).documents_ == 10
    with pytest.raises(DataError, match="X has 3 features, but TextVectorizer is expecting 12 features"):
        loaded.partial_fit(np.ones((1, 3)))
    other = LSA(n_topics=2, vectorizer=TextVectorizer()).fit(TITLES)
    with pytest.raises(DataError, match="the models have different terms"):
        model.merge(other)


def test_topics_without_terms_are_numbered_and_terms_can_be_passed() -> None:
    model = LSA(n_topics=2).fit(X)
    assert model.topics(1)[0][0][0] == str(TERMS.index("system"))
    assert [term for term, _ in model.topics(3, TERMS)[1]] == ["graph", "trees", "minors"]
    with pytest.raises(DataError, match="there are 1 terms for 12 columns"):
        model.topics(3, ["one"])


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    corpus = random_corpus(13, 300, 120)
    models = [LSA(n_topics=6, chunk_size=60, n_jobs=n).fit(corpus) for n in (1, 2)]
    assert models[1].singular_values_ == pytest.approx(models[0].singular_values_, rel=1e-12)


class Reuters:
    """The corpus of the published table, its true factors, and 1,000 of its documents."""

    def __init__(self, data: Path) -> None:
        vectorizer = TextVectorizer(vocabulary=preset("reuters"))
        self.X = vectorizer.fit_transform(read_documents(data / "reuters" / "reuters21578.jsonl.gz"))
        self.truth = LSA(n_topics=100, method="one_pass", oversampling=0, n_jobs=1).fit(self.X)
        self.true = self.truth.singular_values_
        self.some = self.X[np.random.default_rng(0).choice(self.X.shape[0], 1000, replace=False)]
        self.true_vectors = self.truth.transform(self.some)

    def errors(self, order: Any = slice(None), **settings: Any) -> tuple[Floats, float]:
        """Relative errors of the singular values, and of the similarities."""
        model = LSA(n_topics=100, n_jobs=1, **settings).fit(self.X[order])
        assert (model.singular_values_ <= self.true * (1 + 1e-10)).all()
        errors = relative_errors(model.singular_values_, self.true)
        return errors, similarity_rmse(model.transform(self.some), self.true_vectors)


@pytest.fixture(scope="module")
def reuters(data: Path) -> Reuters:
    return Reuters(data)


@pytest.mark.data
def test_reuters_has_its_published_spectrum(reuters: Reuters) -> None:
    assert (reuters.X.shape, reuters.X.nnz) == ((10788, 8490), 459190)
    assert reuters.true[:5] == pytest.approx([16.07906, 12.82387, 11.73012, 11.48134, 10.77934], abs=1e-5)
    assert reuters.true[99] == pytest.approx(3.60214, abs=1e-5)


@pytest.mark.data
@pytest.mark.parametrize(
    ("settings", "mean", "rmse"),
    [
        ({"method": "one_pass", "chunk_size": 1000, "oversampling": 0}, 0.117 * 1.1, 0.0326 * 1.1),
        ({"method": "hybrid", "chunk_size": 5000, "oversampling": 0}, 0.059 * 1.1, 0.0272 * 1.1),
        ({"method": "two_pass", "oversampling": 0, "power_iterations": 1}, 0.107 * 1.1, 0.058 * 1.1),
        ({"method": "two_pass", "oversampling": 100, "power_iterations": 3}, 0.0025 * 1.1, 0.0127 * 1.1),
        ({"chunk_size": 1000, "oversampling": 100}, 0.005, 0.0105),
        ({"chunk_size": 1000, "oversampling": 100, "power_iterations": 1}, 0.001, 0.0055),
    ],
)
def test_reuters_is_as_accurate_as_published(
    reuters: Reuters, settings: dict[str, Any], mean: float, rmse: float
) -> None:
    errors, similarity = reuters.errors(**settings)
    assert errors.mean() <= mean
    assert similarity <= rmse


@pytest.mark.data
@pytest.mark.slow
def test_reuters_shows_what_oversampling_power_and_order_do(reuters: Reuters) -> None:
    one = {"method": "one_pass", "chunk_size": 1000}
    two = {"method": "two_pass", "oversampling": 100}
    _, plain = reuters.errors(oversampling=0, **one)
    _, doubled = reuters.errors(oversampling=100, **one)
    assert doubled <= 0.6 * plain
    power = {q: reuters.errors(power_iterations=q, **two)[1] for q in (0, 1, 3)}
    assert power[3] <= power[1] / 2
    assert power[0] >= 4 * power[3]
    topic = np.abs(reuters.truth.transform(reuters.X)).argmax(axis=1)
    by_topic = np.argsort(topic, kind="stable")
    shuffled = np.random.default_rng(1).permutation(len(topic))
    (sorted_r, sorted_rmse), (mixed_r, mixed_rmse) = (
        reuters.errors(o, oversampling=0, **one) for o in (by_topic, shuffled)
    )
    assert mixed_r[0] < sorted_r[0]
    assert mixed_rmse < sorted_rmse
    for order in (by_topic, shuffled):
        assert reuters.errors(order, oversampling=100, **one)[1] < 0.020


CHILD = """
import sys
from textmill.corpus import ZipfStream
from textmill.topics import LSA
stream = ZipfStream(int(sys.argv[1]), vocabulary=50_000, length=20, chunk_size=2048, seed=1)
LSA(n_topics=60, oversampling=0, method="hybrid", chunk_size=4_000, n_jobs=1).fit(iter(stream))
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_corpus() -> None:
    peaks = []
    for documents in (20_000, 120_000):
        command = [sys.executable, "-c", CHILD, str(documents)]
        peaks.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) / 1024)
    assert peaks[1] < 1.05 * peaks[0]


def test_the_last_sigma_of_a_word_is_written_as_one():
    texts = ["της πόλεως", "ΤΗΣ ΠΟΛΕΩΣ", "η αγορά", "η θάλασσα"]
    model = LSA(n_topics=1, vectorizer=TextVectorizer()).fit(texts)
    assert '"της"' in model.describe_topics()
    assert "τησ" in model.vectorizer_.vocabulary_.terms_


@pytest.mark.parametrize("scaled", [False, True])
def test_one_question_takes_only_its_own_words_and_gives_the_same_bytes(scaled, monkeypatch):
    random = np.random.default_rng(0)
    X = sparse.random(60, 400, density=0.05, random_state=random, format="csr")
    model = LSA(n_topics=5).fit(X)
    together = model.transform(X, scaled=scaled)
    monkeypatch.setattr(Projection, "_whole", property(lambda self: pytest.fail("all terms were copied")))
    for i in range(60):
        assert model.transform(X[i], scaled=scaled).tobytes() == together[i : i + 1].tobytes()
