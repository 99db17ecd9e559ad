"""topics/formats.py: to gensim and back."""

from __future__ import annotations

import numpy as np
import pytest
from reference.titles import COUNTS, TERMS
from scipy import sparse

from textmill.errors import DataError
from textmill.topics import LSA
from textmill.topics.formats import from_gensim, to_gensim

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
