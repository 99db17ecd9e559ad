"""Latent Dirichlet allocation of corpora so small that every assignment of topics can be visited."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np


def log_joint(documents: Sequence[Sequence[int]], topics: Sequence[int], alpha: np.ndarray, eta: np.ndarray) -> float:
    """log P(w, z) from its definition; eta is topics x words, topics one per token."""
    by_word = np.zeros_like(eta)
    total, at = 0.0, 0
    for document in documents:
        by_topic = np.zeros_like(alpha)
        for word in document:
            by_word[topics[at], word] += 1
            by_topic[topics[at]] += 1
            at += 1
        total += _log_dirichlet_ratio(by_topic, alpha)
    return total + sum(_log_dirichlet_ratio(by_word[t], eta[t]) for t in range(len(alpha)))


def _log_dirichlet_ratio(counts: np.ndarray, prior: np.ndarray) -> float:
    made = math.lgamma(prior.sum()) - math.lgamma(counts.sum() + prior.sum())
    return made + sum(math.lgamma(n + a) - math.lgamma(a) for n, a in zip(counts, prior, strict=True))


def all_assignments(tokens: int, topics: int) -> Iterator[tuple[int, ...]]:
    return itertools.product(range(topics), repeat=tokens)


def posterior(
    documents: Sequence[Sequence[int]], alpha: np.ndarray, eta: np.ndarray
) -> tuple[float, dict[tuple[int, ...], float]]:
    """log P(w), and P(z | w) of every assignment."""
    tokens = sum(map(len, documents))
    logs = {z: log_joint(documents, z, alpha, eta) for z in all_assignments(tokens, len(alpha))}
    most = max(logs.values())
    evidence = most + math.log(sum(math.exp(value - most) for value in logs.values()))
    return evidence, {z: math.exp(value - evidence) for z, value in logs.items()}


def with_fixed_topics(words: Sequence[int], phi: np.ndarray, alpha: np.ndarray) -> tuple[float, np.ndarray]:
    """log P(words) and the posterior mean of the mixture; phi is words x topics."""
    evidence, mean = 0.0, np.zeros_like(alpha)
    for z in all_assignments(len(words), len(alpha)):
        counts = np.bincount(z, minlength=len(alpha))
        weight = math.exp(_log_dirichlet_ratio(counts.astype(float), alpha))
        weight *= math.prod(phi[w, t] for w, t in zip(words, z, strict=True))
        evidence += weight
        mean += weight * (counts + alpha) / (len(words) + alpha.sum())
    return math.log(evidence), mean / evidence
