"""Models of other tools.

gensim's `LsiModel` keeps U as `projection.u` (terms x topics) and S as `projection.s`. The exchange goes through these
two arrays; its own files are pickled, so they are opened by gensim, not here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from textmill.errors import DataError
from textmill.model import check_fitted
from textmill.topics.decomposition import Decomposition, with_signs
from textmill.topics.lsa import LSA

__all__ = ["from_gensim", "to_gensim"]


def from_gensim(model: Any) -> LSA:
    """Return the LSA model of a gensim `LsiModel`; what gensim cut away is not known, so it has no error bound.

    >>> from_gensim(to_gensim(LSA(n_topics=1).fit(np.diag([3.0, 1.0])))).transform(np.eye(2)).tolist()
    [[1.0], [0.0]]
    """
    U = np.array(model.projection.u, dtype=np.float64, order="C")
    s = np.array(model.projection.s, dtype=np.float64)
    if not (np.isfinite(U).all() and np.isfinite(s).all() and U.ndim == 2 and s.shape == U.shape[1:]):
        raise DataError(f"this LsiModel holds U of shape {U.shape} and S of shape {s.shape}; train it again in gensim")
    made = LSA(n_topics=max(1, len(s)), decay=float(model.decay))
    made.vectorizer_ = None
    documents = int(model.docs_processed)
    return made._take(Decomposition(with_signs(U), s, documents, float(s @ s), np.nan))


def to_gensim(model: LSA, id2word: Any = None) -> Any:
    """Return a gensim `LsiModel` with the factors of an LSA model; `id2word` gives the terms where no vectorizer does.

    >>> to_gensim(LSA(n_topics=1).fit(np.diag([3.0, 1.0]))).projection.s.tolist()
    [3.0]
    """
    try:
        from gensim.models import LsiModel
    except ImportError as error:
        raise DataError("to_gensim needs gensim; install it with: pip install gensim") from error
    check_fitted(model)
    if id2word is None:
        terms = range(model.components_.shape[1]) if model.vectorizer_ is None else model.vectorizer_.terms_.to_list()
        id2word = {i: str(term) for i, term in enumerate(terms)}
    made = LsiModel(num_topics=len(model.components_), id2word=id2word)
    made.projection.u = np.asfortranarray(model.components_.T)
    made.projection.s = np.array(model.singular_values_)
    made.docs_processed = model.documents_
    return made
