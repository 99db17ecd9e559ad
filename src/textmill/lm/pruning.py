"""Smaller models: leave out the n-grams that say least.

    entropy                p(h) (p(w | h) log (p(w | h) / p~(w | h)) + ...)    relative entropy to the pruned model
    weighted-difference    p(h w) (log p(w | h) - log p~(w | h))               p~: from the shorter context instead

Each n-gram of two words and more gets a score by one of these; an n-gram that others continue counts as much as the
best of them, so that what stays is a tree. Either all above a threshold stay, or the best, so many that the model has a
share of its n-grams. Then back-off weights are worked out again, and every context sums to 1 as before. Any back-off
model can be pruned, also one from an ARPA file; p(h) comes from counts where a model has them, else from the chain
rule, which suits Kneser-Ney badly, whose short contexts are no estimates of p(h).

Cost: a few look-ups for each n-gram. References: Stolcke (1998), Entropy-based pruning of backoff language models;
Seymore & Rosenfeld (1996), Scalable backoff language models; Chelba et al. (2010), Study on interaction between entropy
pruning and Kneser-Ney smoothing.
"""

from __future__ import annotations

import copy

import numpy as np

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.lm.counting import BEGIN
from textmill.lm.ngram import NGramModel
from textmill.model import check_choice, check_fitted, check_range, effective_jobs

__all__ = ["prune"]

METHODS = ("entropy", "weighted-difference")


def prune(
    model: NGramModel,
    *,
    keep: float | None = None,
    threshold: float | None = None,
    method: str = "entropy",
) -> NGramModel:
    """Return a smaller model: with `keep` of its n-grams (a share of 1), or those that score above `threshold`.

    The threshold of "entropy" is on exp(score) - 1, by how much the perplexity grows, as in SRILM (such as 1e-8); that
    of "weighted-difference" is on the score, with p(h w) as a count if the model has counts. Single words always stay.

    >>> model = NGramModel(order=3, smoothing="katz").fit(["the mill turns", "the mill stands", "a mill turns"] * 3)
    >>> small = prune(model, keep=0.8)
    >>> len(small.last_words_) < len(model.last_words_), round(float(small.distribution(["the", "mill"]).sum()), 9)
    (True, 1.0)
    """
    check_fitted(model)
    check_choice("method", method, list(METHODS))
    if (keep is None) == (threshold is None):
        raise DataError("pass either keep, a share of the n-grams, or threshold, the smallest score that stays")
    threads = effective_jobs(model.n_jobs)
    entropy = method == "entropy"
    score = model.table().importance(_weights(model, entropy), entropy=entropy, threads=threads)
    words = int(model.levels_[2])
    if threshold is not None:
        check_range("threshold", threshold, at_least=0.0)
        marked = (np.expm1(score) if entropy else score) > threshold
    else:
        share = 1.0 if keep is None else keep
        check_range("keep", share, above=0.0, at_most=1.0)
        nodes = len(score) - 1
        room = max(0, round(share * nodes) - (words - 1))
        marked = np.ones(len(score), dtype=bool)
        if room < len(score) - words:
            ranked = np.argsort(-score[words:], kind="stable")  # of equal scores parents come first
            marked[words:] = False
            marked[words + ranked[:room]] = True
    marked[:words] = True
    smaller = copy.copy(model)
    vars(smaller).pop("_made", None)
    smaller._take(marked)
    smaller.log_back_off_ = smaller.table().back_offs(threads=threads)
    vars(smaller).pop("_made", None)
    return smaller


def _weights(model: NGramModel, entropy: bool) -> Floats:
    """p of each n-gram from counts, or nothing where there are none."""
    if model.counts_ is None:
        return np.zeros(0)
    counts = model.counts_.astype(np.float64)
    counts[0] = total = counts[1 : int(model.levels_[2])].sum() - counts[1 + BEGIN]
    return counts / total if entropy else counts
