"""Have chains come together, and how much do they say?

    R-hat = sqrt(((n - 1) / n W + B / n) / W)   each chain cut in two; W: mean variance within, B / n: variance of means
    ESS   = m n / (1 + 2 sum_t rho_t)           rho_t: autocorrelation at lag t, summed while pairs of them are positive

Cost: O(m n log n) per quantity. References: Gelman et al. (2013), Bayesian Data Analysis, sections 11.4 and 11.5; Geyer
(1992), Practical Markov chain Monte Carlo.
"""

from __future__ import annotations

import numpy as np

from textmill.arrays import Floats

__all__ = ["effective_size", "split_r_hat"]


def split_r_hat(draws: Floats) -> Floats:
    """R-hat of quantities from draws (chains, iterations, quantities); 1 where nothing varies.

    >>> rng = np.random.default_rng(0)
    >>> bool(split_r_hat(rng.normal(size=(4, 500, 1)))[0] < 1.02)
    True
    """
    half = draws.shape[1] // 2
    if half < 2:
        return np.full(draws.shape[2], np.inf)
    parts = np.concatenate([draws[:, :half], draws[:, half : 2 * half]])
    within = parts.var(axis=1, ddof=1).mean(axis=0)
    between = parts.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.sqrt(((half - 1) / half * within + between) / within)
    return np.asarray(np.where(within + between <= 1e-300, 1.0, ratio))


def effective_size(draws: Floats) -> Floats:
    """How many independent draws are worth as much, for quantities from draws (chains, iterations, quantities).

    >>> rng = np.random.default_rng(0)
    >>> bool(effective_size(rng.normal(size=(4, 500, 1)))[0] > 1500)
    True
    """
    chains, n, _ = draws.shape
    centered = draws - draws.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centered, 2 * n, axis=1)
    covariance = np.fft.irfft(spectrum * spectrum.conj(), axis=1)[:, :n].mean(axis=0) / n
    within = covariance[0] * n / max(n - 1, 1)
    variance = (n - 1) / n * within + (draws.mean(axis=1).var(axis=0, ddof=1) if chains > 1 else 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = 1.0 - (within - covariance) / variance
    rho[0] = 1.0
    pairs = rho[: n // 2 * 2].reshape(-1, 2, rho.shape[1]).sum(axis=1)
    positive = np.cumprod(pairs > 0, axis=0)
    pairs = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=0)
    length = -1.0 + 2.0 * np.nansum(pairs, axis=0)
    size = chains * n / np.maximum(length, 1.0 / np.log10(max(chains * n, 10)))
    return np.asarray(np.where(variance <= 1e-300, chains * n, size))
