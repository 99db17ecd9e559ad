"""Latent Dirichlet allocation by collapsed variational inference (CVB0): the sampler's expression, without sampling.

    gamma_dwt ~ (J_dt - gamma_dwt + alpha_t) (K_wt - gamma_dwt + eta_wt) / (K_t - gamma_dwt + sum_w eta_wt)
    J_dt = sum_w n_dw gamma_dwt      K_wt = sum_d n_dw gamma_dwt      K_t = sum_w K_wt

gamma_dwt says how much of word w in document d belongs to topic t; one token is left out of the counts when its gamma
is renewed. After a random start nothing is random, and there is nothing to average: the counts of the last sweep are
the result. Cost: entries x topics a sweep. Memory: entries x topics floats.

Reference: Asuncion, Welling, Smyth & Teh (2009), On smoothing and inference for topic models.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import topics as native
from textmill.corpus import csr_arrays
from textmill.model import RandomState, check_choice, check_range, effective_jobs, seed_of
from textmill.progress import interruptible
from textmill.progress import start as begin
from textmill.topics.lda.gibbs import Chain, Sampled, start_counts, whole_bags
from textmill.topics.lda.priors import alpha_of, eta_of
from textmill.topics.model import MOST_TOPICS

__all__ = ["collapse_variational"]


def collapse_variational(
    X: Any,
    n_topics: int,
    *,
    alpha: Any = "symmetric",
    eta: Any = None,
    max_iter: int = 100,
    trace_every: int = 10,
    learn_alpha: bool = False,
    start: Any = None,
    dtype: str = "float64",
    random_state: RandomState = None,
    n_jobs: int | None = None,
    watch: Callable[[int, NDArray[Any], NDArray[np.float64]], bool | None] | None = None,
) -> Sampled:
    """Return topics of bags of whole counts, as `sample_topics` does, by CVB0.

    `start` may be counts (m, k) of other documents, which stay and to which these are added. The joint is log P(w, z)
    of the expected counts, every `trace_every` sweeps; assignments are the largest gamma of each token.

    >>> X = [[4, 3, 0, 0], [3, 4, 0, 0], [0, 0, 3, 3], [0, 0, 4, 2]]
    >>> sampled = collapse_variational(X, 2, alpha=0.1, eta=0.1, random_state=0)
    >>> np.sort(sampled.theta.round(1), axis=1).tolist()
    [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]
    """
    X = whole_bags(X)
    check_range("n_topics", n_topics, at_least=1, at_most=MOST_TOPICS, whole=True)
    check_range("max_iter", max_iter, at_least=1, whole=True)
    check_range("trace_every", trace_every, at_least=1, whole=True)
    check_choice("dtype", dtype, ["float32", "float64"])
    before = start_counts(start, X.shape[1], n_topics)
    words = eta_of(eta, n_topics, X.shape[1])
    if before is not None:
        words = words + before
    seed = seed_of(random_state) % 2**64
    learn_alpha = learn_alpha or (isinstance(alpha, str) and alpha == "auto")
    expected = native.make_collapsed_variational(
        *csr_arrays(X, np.int32),
        alpha=alpha_of(alpha, n_topics),
        eta=words,
        vocabulary=X.shape[1],
        seed=seed,
    )
    chain = Chain(expected, X, before, dtype, effective_jobs(n_jobs), burn_in=max_iter, thin=trace_every)
    with (
        begin("inferring", total=max_iter, unit="sweeps") as bar,
        interruptible(range(1), unit="sweeps", count=lambda: bar.done) as loop,
    ):
        for _ in loop:
            chain.run(max_iter, True, learn_alpha, lambda: loop.interrupted, watch, bar)
    return chain.result(0)
