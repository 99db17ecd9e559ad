"""Scores of coherence from the mixture of topics that explains a document best.

    theta* = argmax_theta sum_w n_w log sum_t theta_t phi_tw          (EM, topics phi fixed; topics/em.py)

    H        = - sum_t theta*_t log2 theta*_t                        entropy in bits; 2^H: effective number of topics
    LLPW     = (1/l) sum_w n_w log2 sum_t theta*_t phi_tw            log-likelihood per word; perplexity 2^-LLPW
    combined = H - weight LLPW                                       smaller is more coherent

A coherent document is about few things: its H is low. LLPW says whether the words are those of the collection at all.
Documents without a content word have no score: NaN, never an entropy of 0. EM runs to the same tolerance for every
document: entropy falls with the number of its steps, so unequal numbers would be compared.

Reference: Misra, Cappe & Yvon (2008), Using LDA to detect semantically incoherent documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill._native import topics as native
from textmill.arrays import Floats
from textmill.corpus import check_bags, csr_arrays
from textmill.errors import DataError
from textmill.metrics import OperatingPoint, ScoreCounts
from textmill.model import check_choice, check_range, effective_jobs
from textmill.numeric import sparse
from textmill.topics import MultinomialMixture, fold_in

__all__ = [
    "WEIGHTS",
    "CoherenceScores",
    "MixtureScorer",
    "TopicScorer",
    "combine",
    "effective_topics",
    "entropy",
    "equal_error",
    "tune_weight",
]


WEIGHTS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)  # tried by tune_weight


def entropy(theta: ArrayLike, unit: str = "bits") -> Floats:
    """Entropy of each row of mixtures, in "bits", "nats", or "normalized" by that of a uniform one.

    >>> entropy([[11 / 14, 3 / 14], [1, 0]]).round(6).tolist()
    [0.749595, 0.0]
    >>> entropy([[11 / 14, 3 / 14]], "nats").round(6).tolist(), entropy([[0.5, 0.5]], "normalized").tolist()
    ([0.51958], [1.0])
    """
    check_choice("unit", unit, ["bits", "nats", "normalized"])
    p = np.asarray(theta, dtype=np.float64)
    nats = -np.sum(p * np.log(np.maximum(p, 1e-300)), axis=-1)
    scale = {"bits": np.log(2.0), "nats": 1.0, "normalized": np.log(max(p.shape[-1], 2))}[unit]
    bits: Floats = np.maximum(nats, 0.0) / scale
    return bits


def effective_topics(theta: ArrayLike) -> Floats:
    """2 to the power of the entropy: how many equally used topics have it.

    >>> effective_topics([[0.25, 0.25, 0.25, 0.25], [1, 0, 0, 0]]).tolist()
    [4.0, 1.0]
    """
    numbers: Floats = 2.0 ** entropy(theta)
    return numbers


def combine(entropies: ArrayLike, llpw: ArrayLike, weight: float) -> Floats:
    """H - weight LLPW; smaller is more coherent.

    >>> combine([2.0], [-8.0], 0.1).tolist()
    [2.8]
    """
    scores: Floats = np.asarray(entropies, dtype=np.float64)
    return scores - weight * np.asarray(llpw) if weight else scores


def equal_error(true: ArrayLike, false: ArrayLike, *, accept: str = "below") -> OperatingPoint:
    """Equal error rate of a score, with its threshold; entropies are accepted below it, LLPW above. NaN is left out.

    >>> equal_error([0.9, 0.8, 0.35, 0.3], [0.5, 0.4, 0.2, 0.1, 0.05], accept="above").figure
    0.4
    """
    sides = [np.asarray(side, dtype=np.float64) for side in (true, false)]
    sides = [side[~np.isnan(side)] for side in sides]
    gold = np.repeat([True, False], [len(side) for side in sides])
    return ScoreCounts.from_scores(np.concatenate(sides), gold, accept=accept).equal_error()


@dataclass(frozen=True, slots=True, eq=False)
class CoherenceScores:
    """Scores of documents, one entry each: mixtures theta (n, k), entropy in bits, llpw in bits, words (length).

    >>> scores = TopicScorer([[0.9, 0.1], [0.2, 0.8]]).score([[3, 1], [0, 0]])
    >>> scores.entropy.round(6).tolist(), scores.llpw.round(6).tolist(), scores.perplexity.round(6).tolist()
    ([0.749595, nan], [-0.811278, nan], [1.754765, nan])
    """

    theta: Floats
    entropy: Floats
    llpw: Floats
    words: Floats

    @property
    def perplexity(self) -> Floats:
        """2^-LLPW."""
        per_word: Floats = 2.0**-self.llpw
        return per_word

    @property
    def empty(self) -> NDArray[np.bool_]:
        """Documents without a word that a topic has: they have no scores."""
        without_words: NDArray[np.bool_] = self.words == 0
        return without_words


class TopicScorer:
    """Scores bags of words by fixed topics, rows of `components` (k, terms).

    smoothing is the prior count of each topic in EM (0: maximum likelihood); tolerance bounds the gap, per word, to the
    best mixture.
    """

    def __init__(
        self, components: ArrayLike, *, smoothing: float = 0.0, tolerance: float = 1e-5, n_jobs: int | None = None
    ) -> None:
        check_range("smoothing", smoothing, at_least=0)
        check_range("tolerance", tolerance, above=0)
        topics = np.asarray(components)
        if topics.ndim != 2 or not topics.size:
            raise DataError(f"components must be topics x terms, got the shape {topics.shape}")
        self.phi = np.ascontiguousarray(topics.T, dtype=np.float64)
        self._known = (self.phi.sum(axis=1) > 0).astype(np.float64)
        self.smoothing = smoothing
        self.tolerance = tolerance
        self.n_jobs = n_jobs

    def score(self, X: Any) -> CoherenceScores:
        """Score documents: a matrix documents x terms."""
        X = check_bags(X)
        mixtures = fold_in(X, self.phi, prior=self.smoothing, tolerance=self.tolerance, n_jobs=self.n_jobs)
        words = np.asarray(X @ self._known, dtype=np.float64)
        empty = words == 0
        likelihood = self.likelihoods(X, mixtures.theta) if self.smoothing else mixtures.log_likelihood
        llpw = np.divide(likelihood / np.log(2.0), words, out=np.full(len(words), np.nan), where=~empty)
        return CoherenceScores(mixtures.theta, np.where(empty, np.nan, entropy(mixtures.theta)), llpw, words)

    def likelihoods(self, X: sparse.csr_matrix, theta: Floats) -> Floats:
        """Log-likelihood (nats) of documents under mixtures, of the words that some topic has.

        >>> TopicScorer([[0.9, 0.1], [0.2, 0.8]]).likelihoods(check_bags([[3, 1]]), np.array([[0.5, 0.5]])).round(6)
        array([-2.59...])
        """
        ratio, gradient, likelihood = np.empty(X.nnz), np.empty_like(theta), np.empty(X.shape[0])
        threads = effective_jobs(self.n_jobs)
        native.expect(*csr_arrays(X, np.float64), self.phi, theta, ratio, gradient, likelihood, threads)
        return likelihood


class MixtureScorer:
    """The same scores from a multinomial mixture: the entropy of the posterior of its one topic, the likelihood.

    >>> from textmill.topics import MultinomialMixture
    >>> model = MultinomialMixture(n_topics=2, random_state=0).fit(np.array([[9, 0], [0, 9]]))
    >>> MixtureScorer(model).score([[9, 0], [0, 0]]).entropy.round(3).tolist()
    [0.0, nan]
    """

    def __init__(self, model: MultinomialMixture) -> None:
        self.model = model

    def score(self, X: Any) -> CoherenceScores:
        """Score documents: a matrix documents x terms."""
        X = check_bags(X)
        words = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
        bits = self.model.log_likelihood(X) / np.log(2.0)
        llpw = np.divide(bits, words, out=np.full(len(words), np.nan), where=words > 0)
        return CoherenceScores(self.model.transform(X), self.model.entropy(X), llpw, words)


def tune_weight(
    true: CoherenceScores, false: Mapping[str, CoherenceScores], weights: Sequence[float] = WEIGHTS
) -> tuple[float, dict[float, float]]:
    """Find the weight of LLPW in the combined score on development data, and the mean equal error of each weight tried.

    A weight may serve only if it makes no kind of false document harder to tell; 0, the entropy alone, always may.

    >>> scorer = TopicScorer([[0.9, 0.1], [0.2, 0.8]])
    >>> tune_weight(scorer.score([[9, 1], [18, 2]]), {"flat": scorer.score([[5, 5], [4, 5]])})[0]
    0.0
    """
    errors: dict[float, list[float]] = {}
    for weight in (0.0, *weights):
        of_true = combine(true.entropy, true.llpw, weight)
        errors[weight] = [equal_error(of_true, combine(one.entropy, one.llpw, weight)).figure for one in false.values()]
    fair = [w for w, rates in errors.items() if all(a <= b for a, b in zip(rates, errors[0.0], strict=True))]
    means = {weight: float(np.mean(rates)) for weight, rates in errors.items()}
    return min(fair, key=lambda weight: (means[weight], abs(weight))), means
