"""topics/formats.py: models of other tools, there and back."""

from __future__ import annotations

import numpy as np
import pytest
from reference.titles import COUNTS, TERMS
from scipy import sparse

from textmill.errors import DataError
from textmill.topics import LDA, LSA, entropy, infer_topics
from textmill.topics.formats import (
    from_counts,
    from_gensim,
    from_matrix,
    from_sklearn,
    from_tomotopy,
    to_gensim,
    to_pyldavis,
)

X = sparse.csr_matrix(COUNTS)


def test_gensim_gives_the_same_vectors_and_comes_back() -> None:
    matutils = pytest.importorskip("gensim.matutils")
    model = LSA(n_topics=2).fit(X)
    theirs = to_gensim(model, dict(enumerate(TERMS)))
    corpus = list(matutils.Sparse2Corpus(X, documents_columns=False))
    vectors = matutils.corpus2dense(theirs[corpus], 2).T
    assert vectors == pytest.approx(model.transform(X), abs=1e-6)
    back = from_gensim(theirs)
    assert back.singular_values_ == pytest.approx(model.singular_values_)
    assert np.abs(back.components_ - model.components_).max() == 0
    assert back.documents_ == 9
    assert np.isinf(back.intervals()[:, 1]).all()
    theirs.projection.s[0] = np.nan
    with pytest.raises(DataError, match="train it again in gensim"):
        from_gensim(theirs)


def test_a_model_that_gensim_trained_is_taken_over() -> None:
    models, matutils = pytest.importorskip("gensim.models"), pytest.importorskip("gensim.matutils")
    corpus = list(matutils.Sparse2Corpus(X, documents_columns=False))
    theirs = models.LsiModel(corpus, num_topics=2, id2word=dict(enumerate(TERMS)))
    ours = from_gensim(theirs)
    assert ours.singular_values_ == pytest.approx([3.340884, 2.541701], abs=1e-4)
    assert ours.add_documents(X).documents_ == 18


LDA_X = sparse.csr_matrix(np.random.default_rng(0).poisson(0.6, (60, 12)))


def test_an_lda_model_goes_to_gensim_and_comes_back() -> None:
    matutils = pytest.importorskip("gensim.matutils")
    model = LDA(n_topics=3, alpha=[0.1, 0.2, 0.3], eta=0.05, dtype="float64", random_state=0).fit(LDA_X)
    theirs = to_gensim(model, dict(enumerate(TERMS)))
    assert theirs.get_topics() == pytest.approx(model.components_, abs=1e-12)
    corpus = list(matutils.Sparse2Corpus(LDA_X, documents_columns=False))
    theirs.iterations, theirs.gamma_threshold = 1000, 1e-12
    gamma, _ = theirs.inference(corpus)
    ours = LDA(**model.get_params()).fit(LDA_X).set_params(inner_max_iter=1000, inner_tolerance=1e-12)
    assert ours.transform(LDA_X) == pytest.approx(gamma / gamma.sum(axis=1, keepdims=True), abs=1e-6)
    back = from_gensim(theirs)
    assert isinstance(back, LDA)
    assert back.components_ == pytest.approx(model.components_, abs=1e-12)
    assert (back.documents_, back.alpha_.tolist()) == (model.documents_, [0.1, 0.2, 0.3])
    assert back.vectorizer_ is not None
    assert back.vectorizer_.terms_.to_list() == list(TERMS)


def test_eta_by_word_and_topic_goes_to_gensim() -> None:
    pytest.importorskip("gensim")
    for eta in (np.linspace(0.1, 1, 12), np.linspace(0.1, 1, 36).reshape(3, 12)):
        model = LDA(n_topics=3, eta=eta, dtype="float64", random_state=0).fit(LDA_X)
        theirs = to_gensim(model)
        assert theirs.get_topics() == pytest.approx(model.components_, abs=1e-12)
        assert from_gensim(theirs).components_ == pytest.approx(model.components_, abs=1e-12)


def test_topics_of_gensim_scikit_learn_and_tomotopy_give_the_scores_of_the_native_path() -> None:
    gensim, tomotopy = pytest.importorskip("gensim"), pytest.importorskip("tomotopy")
    from sklearn.decomposition import LatentDirichletAllocation

    corpus = list(gensim.matutils.Sparse2Corpus(LDA_X, documents_columns=False))
    by_gensim = gensim.models.LdaModel(corpus, num_topics=3, id2word=dict(enumerate(TERMS)), random_state=0)
    by_sklearn = LatentDirichletAllocation(n_components=3, random_state=0).fit(LDA_X)
    by_tomotopy = tomotopy.LDAModel(k=3, seed=1)
    for row in LDA_X.toarray():
        if row.any():
            by_tomotopy.add_doc([TERMS[j] for j, count in enumerate(row) for _ in range(count)])
    by_tomotopy.train(20, workers=1)
    rows = np.array([by_tomotopy.get_topic_word_dist(t) for t in range(3)])
    words = [TERMS.index(word) for word in by_tomotopy.used_vocabs]
    taken = [
        (from_gensim(by_gensim), by_gensim.get_topics(), LDA_X),
        (from_sklearn(by_sklearn), by_sklearn.components_, LDA_X),
        (from_tomotopy(by_tomotopy), rows, LDA_X[:, words]),
    ]
    for model, phi, X in taken:
        native = from_matrix(phi)
        assert model.components_ == pytest.approx(native.components_, abs=1e-6)
        ours, theirs = infer_topics(X, model.components_.T), infer_topics(X, native.components_.T)
        assert entropy(ours.theta) == pytest.approx(entropy(theirs.theta), abs=1e-3)
        assert ours.log_likelihood == pytest.approx(theirs.log_likelihood, rel=1e-5)
        assert infer_topics(X, native.components_.T).log_likelihood == pytest.approx(
            infer_topics(X, (phi / phi.sum(axis=1, keepdims=True)).T).log_likelihood, rel=1e-6
        )


def test_arrays_for_pyldavis_are_distributions() -> None:
    model = LDA(n_topics=4, random_state=0).fit(LDA_X)
    counts = np.vstack([LDA_X.toarray(), np.zeros((1, 12), dtype=np.int64)])
    counts[:, 3] = 0
    X = sparse.csr_matrix(counts)
    data = to_pyldavis(model, X, terms=TERMS)
    kept = np.asarray(X.sum(axis=1)).ravel() > 0
    assert data["topic_term_dists"].sum(axis=1) == pytest.approx(np.ones(4))
    assert data["doc_topic_dists"].sum(axis=1) == pytest.approx(np.ones(kept.sum()))
    assert data["doc_lengths"].tolist() == np.asarray(X.sum(axis=1)).ravel()[kept].tolist()
    assert data["vocab"] == [term for j, term in enumerate(TERMS) if j != 3]
    assert data["term_frequency"].tolist() == np.delete(np.asarray(X.sum(axis=0)).ravel(), 3).tolist()


@pytest.mark.filterwarnings("ignore")  # of its own dependencies
def test_pyldavis_prepares_what_we_export() -> None:
    pyldavis = pytest.importorskip("pyLDAvis")
    model = LDA(n_topics=4, random_state=0).fit(LDA_X)
    prepared = pyldavis.prepare(**to_pyldavis(model, LDA_X, terms=TERMS), n_jobs=1, R=5, sort_topics=False)
    assert len(prepared.topic_coordinates) == 4


def test_bad_models_and_matrices_are_told_in_one_line() -> None:
    with pytest.raises(DataError, match="topic 2 has only zeros"):
        from_matrix([[1, 1], [0, 0]])
    with pytest.raises(DataError, match="not negative"):
        from_matrix([[1, -1]])
    with pytest.raises(DataError, match="3 terms for 2 columns"):
        from_matrix([[1, 1]], terms=["a", "b", "c"])
    with pytest.raises(DataError, match="'a' names two columns"):
        from_matrix([[1, 1]], terms=["a", "a"])
    with pytest.raises(DataError, match="alpha"):
        from_matrix([[1, 1]], alpha=0.0)
    with pytest.raises(DataError, match="not negative"):
        from_counts([[np.nan]], alpha=1.0, eta=1.0)
    with pytest.raises(DataError, match="no fitted LatentDirichletAllocation"):
        from_sklearn(object())
    with pytest.raises(DataError, match="no trained LDAModel"):
        from_tomotopy(object())
    with pytest.raises(DataError, match="directions, not distributions"):
        to_pyldavis(LSA(n_topics=2).fit(X), X)
    with pytest.raises(DataError, match="no documents with a known word"):
        to_pyldavis(LDA(n_topics=2).fit(LDA_X), np.zeros((1, 12)))
    with pytest.raises(DataError, match="2 terms for 12 columns"):
        to_pyldavis(LDA(n_topics=2).fit(LDA_X), LDA_X, terms=["a", "b"])
