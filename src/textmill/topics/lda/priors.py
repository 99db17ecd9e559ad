"""Dirichlet priors of topics in documents (alpha) and of words in topics (eta): given, or learned.

    symmetric     alpha_t = 1 / k
    asymmetric    alpha_t ~ 1 / (t + sqrt k), t = 0, 1, ..., with sum 1
    auto          maximizes sum_d E log p(theta_d | alpha) by Newton steps, with D documents:
                      g_t = D (psi(sum alpha) - psi(alpha_t)) + sum_d E log theta_dt
                      h_t = -D psi'(alpha_t)      z = D psi'(sum alpha)
                      c   = (sum g/h) / (1/z + sum 1/h)        step_t = -(g_t - c) / h_t

    eta           a number, one per word, or one per topic and word (guided topics); "auto" learns the number that
                  maximizes sum_t E log p(beta_t | eta), by Newton steps

Only sum_d E log theta_d, k numbers, is needed of the documents. A step is taken times the blending factor of the
update and halved until no number is 0 or below. References: Minka (2000), Estimating a Dirichlet distribution; Wallach,
Mimno & McCallum (2009), Rethinking LDA: why priors matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.topics.lda.variational import digamma

__all__ = ["alpha_of", "eta_of", "improve_alpha", "improve_eta"]


_HALVINGS = 10


def alpha_of(alpha: Any, topics: int) -> Floats:
    """The k numbers that `alpha` means.

    >>> alpha_of("symmetric", 4).tolist(), alpha_of("asymmetric", 2).round(3).tolist(), alpha_of(0.5, 2).tolist()
    ([0.25, 0.25, 0.25, 0.25], [0.631, 0.369], [0.5, 0.5])
    """
    if isinstance(alpha, str):
        if alpha not in ("symmetric", "asymmetric", "auto"):
            choices = "a number, one number per topic, 'symmetric', 'asymmetric' or 'auto'"
            raise DataError(f"alpha must be {choices}, got {alpha!r}")
        falling = 1.0 / (np.arange(topics) + np.sqrt(topics))
        return falling / falling.sum() if alpha == "asymmetric" else np.full(topics, 1.0 / topics)
    values = _numbers("alpha", alpha)
    if values.shape not in ((), (1,), (topics,)):
        raise DataError(f"alpha must be a number or {topics} of them, one per topic, got the shape {values.shape}")
    return np.array(np.broadcast_to(values, (topics,)))


def eta_of(eta: Any, topics: int, terms: int) -> Floats:
    """`eta` by term: one row or one per term, one column or one per topic.

    >>> eta_of(None, 4, 3).tolist(), eta_of([0.1, 0.2, 0.3], 4, 3).shape, eta_of(np.ones((4, 3)), 4, 3).shape
    ([[0.25]], (3, 1), (3, 4))
    """
    if eta is None or isinstance(eta, str):
        if eta not in (None, "auto"):
            raise DataError(f"eta must be a number, one per word, one per topic and word, or 'auto', got {eta!r}")
        return np.full((1, 1), 1.0 / topics)
    values = _numbers("eta", eta)
    if values.ndim == 0:
        return values.reshape(1, 1)
    if values.shape == (terms,):
        return np.ascontiguousarray(values[:, None])
    if values.shape == (topics, terms):
        return np.ascontiguousarray(values.T)
    raise DataError(
        f"eta must be a number, {terms} of them (one per word) or {topics} x {terms} (one per topic and word), "
        f"got the shape {values.shape}"
    )


def improve_alpha(alpha: Floats, log_theta: Floats, documents: float, rate: float = 1.0) -> Floats:
    """A Newton step; log_theta is the sum of E log theta over all documents.

    >>> mean = digamma(np.array([0.4, 0.8])) - digamma(np.array([1.2]))  # of Dirichlet(0.4, 0.8)
    >>> alpha = np.ones(2)
    >>> for _ in range(20):
    ...     alpha = improve_alpha(alpha, 100 * mean, 100)
    >>> alpha.round(6).tolist()
    [0.4, 0.8]
    """
    from scipy.special import polygamma

    total = alpha.sum()
    g = documents * (digamma(total) - digamma(alpha)) + log_theta
    h = -documents * polygamma(1, alpha)
    z = documents * float(polygamma(1, total))
    c = (g / h).sum() / (1.0 / z + (1.0 / h).sum())
    return _stepped(alpha, -(g - c) / h, rate)


def improve_eta(eta: float, log_beta: float, topics: int, terms: int, rate: float = 1.0) -> float:
    """A Newton step of the one number eta; log_beta is the sum of E log beta over topics and terms.

    >>> round(improve_eta(0.3, 2 * 3 * float(digamma(np.array([0.3]))[0] - digamma(np.array([0.9]))[0]), 2, 3), 6)
    0.3
    """
    from scipy.special import polygamma

    value = np.array([eta])
    slope = topics * terms * (digamma(terms * value) - digamma(value)) + log_beta
    bend = topics * terms * (terms * polygamma(1, terms * value) - polygamma(1, value))
    return float(_stepped(value, -slope / bend, rate)[0])


def _stepped(value: Floats, step: Floats, rate: float) -> Floats:
    for _ in range(_HALVINGS):
        moved = value + rate * step
        if np.isfinite(moved).all() and (moved > 0).all():
            return moved
        rate /= 2
    return value


def _numbers(name: str, values: Any) -> Floats:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name} must hold numbers, got {values!r}") from None
    if not numbers.size or not np.isfinite(numbers).all() or numbers.min() <= 0:
        least = f"{numbers.min():g}" if numbers.size else "none"
        raise DataError(f"{name} must be finite and above 0, got {least}; 1 / topics is a good start")
    return numbers
