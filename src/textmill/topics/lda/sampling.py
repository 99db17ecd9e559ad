"""How LDA learns from all documents at once: by Gibbs sampling (gibbs.py) or CVB0 (cvb0.py).

A model that has learnt from other documents before keeps their counts: they stay while the tokens of the new ones are
sampled, and both are added. With held-out documents their perplexity is noted every `thin` sweeps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from textmill.corpus import widened
from textmill.errors import DataError
from textmill.numeric import sparse
from textmill.topics.lda.convergence import HeldOut
from textmill.topics.lda.cvb0 import collapse_variational
from textmill.topics.lda.gibbs import sample_topics
from textmill.topics.lda.priors import eta_of
from textmill.topics.lda.weighting import term_weights

if TYPE_CHECKING:
    from textmill.topics.lda.model import LDA

__all__ = ["learn_at_once"]


def learn_at_once(
    model: LDA, X: sparse.csr_matrix, held_out: tuple[HeldOut, Callable[[], float]] | None = None
) -> None:
    """Fill the attributes of a model from documents, given what it has learnt before."""
    known = hasattr(model, "term_topics_")
    if not X.count_nonzero():
        raise DataError("X has only zeros, so there is nothing to learn; check the vocabulary and the weighting")
    if isinstance(model.eta, str):
        raise DataError(f"method={model.method!r} does not learn eta; pass a number, or take 'online' or 'batch'")
    if model.weighting is not None and model.term_weights_ is None:
        model.term_weights_ = term_weights([X], model.weighting)
    if known:
        model._grow(X.shape[1])
        X = widened(X, len(model.term_topics_))
    else:
        model.eta_ = np.ascontiguousarray(eta_of(model.eta, model.n_topics, X.shape[1]).T)
    before = model.updates_

    def watch(sweep: int, counts: NDArray[Any], alpha: NDArray[np.float64]) -> None:
        if held_out is not None:
            noted, find = held_out
            _take(model, counts, alpha, before + sweep)
            noted.add(before + sweep, find())

    common: dict[str, Any] = {
        "alpha": model.alpha_,
        "eta": model.eta_.item() if model.eta_.size == 1 else model.eta_[0] if len(model.eta_) == 1 else model.eta_,
        "sweeps": model.sweeps,
        "learn_alpha": model._learns_alpha(),
        "start": model.term_topics_ if known else None,
        "dtype": model.dtype,
        "random_state": model.random_state,
        "n_jobs": model.n_jobs,
        "watch": None if held_out is None else watch,
    }
    if model.method == "cvb0":
        found = collapse_variational(X, model.n_topics, trace_every=model.thin, **common)
    else:
        found = sample_topics(
            X,
            model.n_topics,
            burn_in=model.burn_in,
            thin=model.thin,
            chains=model.n_chains,
            collapsed=model.collapsed,
            weights=None if model.weighting is None else (model.weighting, model.term_weights_),
            **common,
        )
    _take(model, found.counts, found.alpha, before + int(found.joint_at[-1]))
    model.joint_ = found.joint
    model.documents_ += int((X.sum(axis=1) > 0).sum())
    model.words_ += float(X.sum())
    model.size_ = float(max(model.documents_, 1))
    if held_out is not None:
        model.perplexities_ = np.array(held_out[0].perplexities)
        model.evaluated_ = np.array(held_out[0].updates, dtype=np.int64)


def _take(model: LDA, counts: NDArray[Any], alpha: NDArray[np.float64], updates: int) -> None:
    model.term_topics_, model.alpha_, model.updates_ = counts, alpha, updates
    model.topic_counts_ = counts.sum(axis=0, dtype=np.float64)
