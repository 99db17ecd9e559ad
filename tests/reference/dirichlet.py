"""Variational Dirichlet allocation straight from its formulas, one document after the other; and exact likelihoods."""

from __future__ import annotations

from itertools import product
from math import exp, lgamma
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp, psi, softmax


def e_step(X: Any, lam: Any, alpha: Any, iterations: int = 50, tolerance: float = 1e-3) -> Any:
    """gamma (n, k), chi (k, m) and the words' part of the bound for lambda (k, m), from gamma = 1, in logarithms."""
    X, alpha = np.asarray(X, float), np.broadcast_to(np.asarray(alpha, float), (len(lam),))
    log_beta = psi(lam) - psi(lam.sum(axis=1, keepdims=True))
    gamma = np.ones((len(X), len(lam)))
    chi, words = np.zeros_like(lam), 0.0
    for d, counts in enumerate(X):
        known = counts > 0

        def logs(row: Any = gamma[d], known: Any = known) -> Any:
            return psi(row)[:, None] - psi(row.sum()) + log_beta[:, known]

        for _ in range(iterations):
            new = alpha + softmax(logs(), axis=0) @ counts[known]
            change, gamma[d] = np.abs(new - gamma[d]).mean(), new
            if change < tolerance:
                break
        chi[:, known] += softmax(logs(), axis=0) * counts[known]
        words += counts[known] @ logsumexp(logs(), axis=0)
    return gamma, chi, words


def bound(X: Any, lam: Any, gamma: Any, alpha: Any, eta: Any) -> float:
    """The whole bound, phi at its optimum."""
    alpha = np.broadcast_to(np.asarray(alpha, float), (len(lam),))
    eta = np.broadcast_to(np.asarray(eta, float), lam.shape)
    log_theta = psi(gamma) - psi(gamma.sum(axis=1, keepdims=True))
    log_beta = psi(lam) - psi(lam.sum(axis=1, keepdims=True))
    total = float((np.asarray(X) * np.log(np.exp(log_theta) @ np.exp(log_beta))).sum())
    for row, logs in zip(gamma, log_theta, strict=True):
        total += gammaln(alpha.sum()) - gammaln(alpha).sum() + ((alpha - row) * logs).sum()
        total += gammaln(row).sum() - gammaln(row.sum())
    for row, prior, logs in zip(lam, eta, log_beta, strict=True):
        total += gammaln(prior.sum()) - gammaln(prior).sum() + ((prior - row) * logs).sum()
        total += gammaln(row).sum() - gammaln(row.sum())
    return float(total)


def log_evidence(documents: list[list[int]], topics: int, terms: int, alpha: float, eta: float) -> float:
    """log P(words) by the sum over all topics of all tokens."""
    tokens = [(d, w) for d, words in enumerate(documents) for w in words]
    total = 0.0
    for choice in product(range(topics), repeat=len(tokens)):
        by_document = np.zeros((len(documents), topics))
        by_topic = np.zeros((topics, terms))
        for (d, w), t in zip(tokens, choice, strict=True):
            by_document[d, t] += 1
            by_topic[t, w] += 1
        logs = 0.0
        for rows, prior in ((by_document, alpha), (by_topic, eta)):
            size = rows.shape[1]
            for row in rows:
                logs += lgamma(size * prior) - lgamma(row.sum() + size * prior)
                logs += sum(lgamma(n + prior) - lgamma(prior) for n in row)
        total += exp(logs)
    return float(np.log(total))
