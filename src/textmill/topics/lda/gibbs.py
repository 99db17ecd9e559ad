"""Latent Dirichlet allocation by Gibbs sampling: a topic for every token, drawn again and again.

    collapsed      P(z_i = t | others) ~ (J_dt + alpha_t) (K_wt + eta_wt) / (K_t + sum_w eta_wt)
    uncollapsed    theta_d ~ Dirichlet(J_d + alpha), phi_t ~ Dirichlet(K_t + eta_t), P(z_i = t) ~ theta_dt phi_tw

J_dt, K_wt, K_t count the tokens of topic t in document d, of word w, and in all; collapsed, token i itself is left out.
What comes out are means over the sweeps after `burn_in`, every `thin`-th of one chain: of K, and of the mixtures
(J_dt + alpha_t) / (J_d + sum alpha). Chains cannot be averaged (topics have no order), so of several the one with the
best log P(w, z) is taken. alpha can be learned (Minka's fixed point), eta can tell topics apart beforehand (guided
topics), tokens can weigh more or less than one.

The corpus is cut into cells that share no word and no document (native/topics/gibbs.h), as the corpus alone decides:
the same topics for any number of threads. Cost: tokens x topics a sweep, eight topics at a time. Memory: terms x topics
and documents x topics counts of 2 bytes (4 where a word or document has more than 65,535 tokens), 6 bytes per token.

References: Griffiths & Steyvers (2004), Finding scientific topics; Wilson & Chew (2010), Term weighting schemes for
latent Dirichlet allocation; Wallach, Mimno & McCallum (2009), Rethinking LDA: why priors matter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import topics as native
from textmill.arrays import Floats
from textmill.corpus import check_bags, csr_arrays
from textmill.errors import DataError
from textmill.model import RandomState, check_choice, check_range, effective_jobs, seed_of
from textmill.numeric import sparse
from textmill.progress import interruptible
from textmill.progress import start as begin
from textmill.topics.lda.priors import alpha_of, eta_of
from textmill.topics.lda.weighting import entry_weights, term_weights
from textmill.topics.model import MOST_TOPICS

__all__ = [
    "Chain",
    "Sampled",
    "fixed_topics",
    "gibbs_mixtures",
    "sample_topics",
    "start_counts",
    "whole_bags",
]


_LEARN_EVERY = 10  # sweeps between two steps of alpha
_LEARN_STEPS = 10  # of the fixed point
_ROWS = 1024  # documents that are folded in by one call


@dataclass(frozen=True, slots=True)
class Sampled:
    """The topics of a sampler.

    counts (m, k), the expected tokens of each term in each topic, and theta (n, k), the mixtures, are means over the
    chain; alpha (k,) is the prior, learned or given; joint holds log P(w, z) after the sweeps `joint_at`; assignments
    are the topics of the last sweep, document by document, the tokens of a document by term; chain is the number of
    the chain that was chosen.
    """

    counts: NDArray[np.floating[Any]]
    theta: NDArray[np.floating[Any]]
    alpha: Floats
    joint: Floats
    joint_at: NDArray[np.int64]
    assignments: NDArray[np.int32]
    chain: int


def sample_topics(
    X: Any,
    n_topics: int,
    *,
    alpha: Any = "symmetric",
    eta: Any = None,
    max_iter: int = 300,
    burn_in: int | None = None,
    thin: int = 10,
    n_chains: int = 1,
    collapsed: bool = True,
    weights: Any = None,
    learn_alpha: bool = False,
    start: Any = None,
    dtype: str = "float64",
    random_state: RandomState = None,
    n_jobs: int | None = None,
    watch: Callable[[int, NDArray[Any], Floats], bool | None] | None = None,
) -> Sampled:
    """Return topics of bags of whole counts (documents x terms), sampled.

    alpha is a number, (k,), "symmetric" (1 / k), "asymmetric" or "auto" (learned from 1 / k; `learn_alpha` learns from
    others), eta a number (1 / k by default), (m,) or (k, m). `burn_in` is half of the sweeps by default. `weights` says
    what a token counts: "idf", "pmi" (either with the numbers of `term_weights`: a pair), or a number a term. `start`
    goes on from earlier work: assignments of these documents, or counts (m, k) of others, which stay and to which these
    are added. `dtype`, "float64" or "float32", is that of counts and mixtures. `watch(sweep, counts, alpha)` is called
    every `thin` sweeps with the counts of that moment, and ends the chain by returning True.

    >>> X = [[4, 3, 0, 0], [3, 4, 0, 0], [0, 0, 3, 3], [0, 0, 4, 2]]
    >>> sampled = sample_topics(X, 2, alpha=0.1, eta=0.1, max_iter=100, random_state=0)
    >>> np.sort(sampled.theta.round(1), axis=1).tolist()
    [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]
    >>> float(sampled.counts.sum().round(6)), len(sampled.assignments)
    (26.0, 26)
    """
    X = whole_bags(X)
    check_range("n_topics", n_topics, at_least=1, at_most=MOST_TOPICS, whole=True)
    check_range("max_iter", max_iter, at_least=1, whole=True)
    burn_in = max_iter // 2 if burn_in is None else burn_in
    check_range("burn_in", burn_in, at_least=0, below=max_iter, whole=True)
    check_range("thin", thin, at_least=1, whole=True)
    check_range("n_chains", n_chains, at_least=1, whole=True)
    check_choice("dtype", dtype, ["float32", "float64"])
    threads = effective_jobs(n_jobs)
    of_tokens = start is not None and np.ndim(start) == 1
    topics = _start_topics(start if of_tokens else None, X, n_topics)
    before = start_counts(None if of_tokens else start, X.shape[1], n_topics)
    prior = alpha_of(alpha, n_topics)
    learn_alpha = learn_alpha or (isinstance(alpha, str) and alpha == "auto")
    words = eta_of(eta, n_topics, X.shape[1])
    if before is not None:
        words = words + before
    weighing = _token_weights(weights, X)
    seeds = np.random.SeedSequence(seed_of(random_state)).generate_state(n_chains, np.uint64)
    best: Sampled | None = None
    best_score = -np.inf
    with (
        begin("sampling", total=max_iter * n_chains, unit="sweeps") as bar,
        interruptible(range(n_chains), unit="sweeps", count=lambda: bar.done) as loop,
    ):
        for chain in loop:
            sampler = native.make_sampler(
                *csr_arrays(X, np.int32),
                weights=weighing,
                alpha=prior,
                eta=words,
                vocabulary=X.shape[1],
                collapsed=collapsed,
                seed=int(seeds[chain]),
                start=topics,
            )
            state = Chain(sampler, X, before, dtype, threads, burn_in, thin)
            state.run(max_iter, len(topics) > 0, learn_alpha, lambda: loop.interrupted, watch, bar)
            score = state.score()
            if score > best_score or best is None:
                best, best_score = state.result(chain), score
    assert best is not None
    return best


def gibbs_mixtures(
    X: Any,
    phi: Any,
    *,
    alpha: Any = "symmetric",
    max_iter: int = 100,
    burn_in: int | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Floats:
    """Return mixtures (n, k) of new documents for fixed topics phi (terms x topics), by Gibbs sampling.

    P(z_i = t | others) ~ (J_dt + alpha_t) phi_wt; the mixtures are means over the sweeps after `burn_in` (half of them
    by default). Words that no topic has are left out; a document without others gets alpha / sum alpha.

    >>> phi = np.array([[0.9, 0.2], [0.1, 0.8]])
    >>> gibbs_mixtures([[30, 0], [0, 0]], phi, alpha=0.1, max_iter=400, random_state=0).round(1).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    X = whole_bags(X)
    topics = fixed_topics(X, phi, alpha, n_jobs)
    check_range("max_iter", max_iter, at_least=1, whole=True)
    burn_in = max_iter // 2 if burn_in is None else burn_in
    check_range("burn_in", burn_in, at_least=0, below=max_iter, whole=True)
    seed, threads = seed_of(random_state) % 2**64, effective_jobs(n_jobs)
    theta = np.empty((X.shape[0], topics.topics))
    for first in range(0, X.shape[0], _ROWS):
        part = X[first : first + _ROWS]
        topics.mixtures(
            *csr_arrays(part, np.int32),
            sweeps=max_iter,
            burn_in=burn_in,
            seed=seed,
            first=first,
            theta=theta[first : first + _ROWS],
            threads=threads,
        )
    return theta


def whole_bags(X: Any) -> sparse.csr_matrix:
    """Bags for samplers, which need whole tokens.

    >>> whole_bags([[1.5, 0]])
    Traceback (most recent call last):
    textmill.errors.DataError: X holds 1.5 in row 0, column 0; samplers need whole counts, pass weights to weigh tokens
    """
    X = check_bags(X)
    if not X.shape[1]:
        raise DataError("X has no terms; pass documents x terms with at least one column")
    if X.dtype.kind == "f" and X.nnz:
        broken = X.data != np.floor(X.data)
        if broken.any():
            place = int(np.argmax(broken))
            row = int(np.searchsorted(X.indptr, place, side="right")) - 1
            raise DataError(
                f"X holds {X.data[place]} in row {row}, column {X.indices[place]}; samplers need whole counts, "
                "pass weights to weigh tokens"
            )
    if X.nnz and X.data.max() >= 2**31:
        raise DataError(f"X holds a count of {X.data.max():.0f}; samplers take counts below 2,147,483,648")
    return X


def fixed_topics(X: sparse.csr_matrix, phi: Any, alpha: Any, n_jobs: int | None) -> Any:
    """Topics (terms x topics) for documents, in the form of the kernels."""
    phi = np.ascontiguousarray(phi, dtype=np.float32 if np.asarray(phi).dtype == np.float32 else np.float64)
    if phi.ndim != 2 or phi.shape[0] != X.shape[1] or not phi.shape[1]:
        raise DataError(f"X has {X.shape[1]} columns, so phi must be {X.shape[1]} x topics, got the shape {phi.shape}")
    if not np.isfinite(phi).all() or phi.min(initial=0) < 0:
        raise DataError("phi must hold finite numbers that are not negative; pass one distribution a topic")
    check_range("the number of topics", phi.shape[1], at_most=MOST_TOPICS)
    return native.fixed_topics(phi, alpha_of(alpha, phi.shape[1]), effective_jobs(n_jobs))


class Chain:
    """One chain: its sweeps, its means, its trace."""

    def __init__(
        self,
        sampler: Any,
        X: sparse.csr_matrix,
        before: Floats | None,
        dtype: str,
        threads: int,
        burn_in: int,
        thin: int,
    ) -> None:
        topics = len(sampler.alpha())
        self.sampler, self.before, self.threads = sampler, before, threads
        self.burn_in, self.thin = burn_in, thin
        self.counts = np.zeros((X.shape[1], topics), dtype=dtype)
        self.theta = np.zeros((X.shape[0], topics), dtype=dtype)
        self.samples = 0
        self.joint: list[tuple[int, float]] = []

    def run(
        self,
        max_iter: int,
        placed: bool,
        learn_alpha: bool,
        interrupted: Callable[[], bool],
        watch: Callable[[int, NDArray[Any], Floats], bool | None] | None,
        bar: Any,
    ) -> None:
        """Sweep; a chain that is not `placed` begins with a sweep that gives tokens their first topics."""
        sweep = 0
        if not placed:
            self.sweep()
        while sweep < max_iter and not interrupted():
            self.sweep()
            sweep += 1
            if learn_alpha and sweep % _LEARN_EVERY == 0:
                self.sampler.learn_alpha(_LEARN_STEPS, self.threads)
            figures = {}
            if sweep % self.thin == 0 or sweep == max_iter:
                self.joint.append((sweep, self.sampler.joint(self.threads)))
                figures["joint"] = self.joint[-1][1]
                if sweep > self.burn_in:
                    self.keep()
            bar.advance(1, **figures)
            if watch is not None and sweep % self.thin == 0 and watch(sweep, self.now(), self.sampler.alpha()):
                break
        if not self.joint or self.joint[-1][0] != sweep:
            self.joint.append((sweep, self.sampler.joint(self.threads)))
        if not self.samples:
            self.keep()

    def sweep(self) -> None:
        """Visit every token once."""
        for _ in range(self.sampler.stages):
            self.sampler.advance(self.threads)

    def keep(self) -> None:
        """Take the present state into the means."""
        self.samples += 1
        self.sampler.average(self.counts, self.theta, share=1.0 / self.samples, threads=self.threads)

    def now(self) -> NDArray[Any]:
        """The counts of this moment."""
        counts = np.zeros_like(self.counts)
        self.sampler.average(counts, np.zeros_like(self.theta), share=1.0, threads=self.threads)
        return counts if self.before is None else counts + self.before.astype(counts.dtype)

    def score(self) -> float:
        """Mean of log P(w, z) over the sweeps that are kept."""
        values = [value for sweep, value in self.joint if sweep > self.burn_in]
        return float(np.mean(values or [self.joint[-1][1]]))

    def result(self, chain: int) -> Sampled:
        """The means, with the counts of other documents added."""
        if self.before is not None:
            self.counts += self.before
        at, values = zip(*self.joint, strict=True)
        return Sampled(
            counts=self.counts,
            theta=self.theta,
            alpha=self.sampler.alpha(),
            joint=np.array(values),
            joint_at=np.array(at, dtype=np.int64),
            assignments=self.sampler.assignments(),
            chain=chain,
        )


def start_counts(start: Any, terms: int, topics: int) -> Floats | None:
    """Counts (m, k) of other documents to start from.

    >>> start_counts([[1, 2]], 1, 2).tolist()
    [[1.0, 2.0]]
    """
    if start is None:
        return None
    counts = np.asarray(start, dtype=np.float64)
    if counts.shape != (terms, topics):
        raise DataError(f"start must be counts {terms} x {topics}, or assignments, got the shape {counts.shape}")
    if not np.isfinite(counts).all() or counts.min() < 0:
        raise DataError("start holds counts that are negative or not finite; pass `counts` of an earlier result")
    return counts


def _start_topics(start: Any, X: sparse.csr_matrix, topics: int) -> NDArray[np.int32]:
    """Assignments of all tokens to start from; empty for none."""
    if start is None:
        return np.zeros(0, dtype=np.int32)
    values, tokens = np.asarray(start), int(X.data.sum(dtype=np.int64))
    if values.dtype.kind not in "iu" or len(values) != tokens:
        raise DataError(f"start must hold a topic for each of the {tokens} tokens; pass `assignments` of these bags")
    if tokens and not 0 <= values.min() <= values.max() < topics:
        wrong = values.min() if values.min() < 0 else values.max()
        raise DataError(f"start holds topic {wrong}, but topics are 0 to {topics - 1}; pass as many n_topics")
    return np.ascontiguousarray(values, dtype=np.int32)


def _token_weights(weights: Any, X: sparse.csr_matrix) -> NDArray[np.float32]:
    """What a token of each entry counts; empty when all count 1."""
    if weights is None:
        return np.zeros(0, dtype=np.float32)
    if isinstance(weights, str | tuple):
        kind, numbers = (weights, term_weights([X], weights)) if isinstance(weights, str) else weights
        entries = entry_weights(X, numbers, kind)
    else:
        by_term = np.asarray(weights, dtype=np.float64)
        if by_term.shape != (X.shape[1],) or not np.isfinite(by_term).all() or by_term.min() < 0:
            raise DataError(f"weights must be 'idf', 'pmi' or {X.shape[1]} finite numbers >= 0, one per term")
        entries = by_term[X.indices]
    return entries.astype(np.float32)
