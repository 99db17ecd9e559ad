"""The probability of whole documents under fixed topics, estimated from left to right.

    P(w_1 ... w_L) = prod_i P(w_i | w_1 ... w_i-1)
    P(w_i | w_1 ... w_i-1) ~ (1/R) sum_r sum_t phi_wt (n_rt + alpha_t) / (i - 1 + sum alpha)

n_rt counts the topics that particle r has drawn for the words before i; before each i they are all drawn anew, one
after the other. With one particle the estimate has the right mean, but its logarithm scatters and lies below; with
more it is steady, off by the little that one round of drawing anew leaves of the topics' dependence.
Cost: L^2 / 2 draws a particle, so documents of thousands of words are slow.

Reference: Wallach, Murray, Salakhutdinov & Mimno (2009), Evaluation methods for topic models.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill.corpus import csr_arrays
from textmill.model import RandomState, check_range, effective_jobs, seed_of
from textmill.progress import track
from textmill.topics.lda.gibbs import fixed_topics, whole_bags

__all__ = ["left_to_right"]

_ROWS = 16  # documents of one call


def left_to_right(
    X: Any,
    phi: Any,
    alpha: Any = "symmetric",
    *,
    particles: int = 20,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Return log P(document) in nats for fixed topics phi (terms x topics), one number per document.

    The order of a document's words is that of a shuffle by `random_state`; words that no topic has are left out, and a
    document without others has log 1.

    >>> phi = np.array([[0.9, 0.2], [0.1, 0.8]])
    >>> left_to_right([[1, 0], [0, 0]], phi, 1.0, random_state=0).round(4).tolist()  # log 0.55, log 1
    [-0.5978, 0.0]
    """
    X = whole_bags(X)
    check_range("particles", particles, at_least=1, whole=True)
    topics = fixed_topics(X, phi, alpha, n_jobs)
    seed, threads = seed_of(random_state) % 2**64, effective_jobs(n_jobs)
    evidence = np.empty(X.shape[0])
    for first in track(range(0, X.shape[0], _ROWS), "evidence", unit="blocks"):
        part = csr_arrays(X[first : first + _ROWS], np.int32)
        topics.left_to_right(
            *part,
            particles=particles,
            seed=seed,
            first=first,
            evidence=evidence[first : first + _ROWS],
            threads=threads,
        )
    return evidence
