"""Learning from all documents at once: by Gibbs sampling (gibbs.py) or CVB0 (cvb0.py).

Statistics of other documents keep their counts: they stay while the tokens of the new ones are sampled, and both are
added. Held-out documents are looked at every `thin` sweeps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from textmill.arrays import Floats
from textmill.cluster import Cluster
from textmill.corpus import widened
from textmill.errors import DataError
from textmill.model import check_range
from textmill.numeric import sparse
from textmill.topics.chunks import Chunks, gathered
from textmill.topics.lda.cvb0 import collapse_variational
from textmill.topics.lda.engines import Engine, Learned, Task, Watch
from textmill.topics.lda.gibbs import Sampled, sample_topics
from textmill.topics.lda.statistics import Statistics
from textmill.topics.lda.weighting import term_weights

__all__ = ["CVB0", "Gibbs", "SampledEngine"]

_SWEEPS = 300  # where their number is left to us


@dataclass(frozen=True)
class SampledEngine(Engine):
    """What `Gibbs` and `CVB0` share."""

    def fit(
        self,
        statistics: Statistics,
        chunks: Chunks,
        task: Task,
        *,
        workers: Cluster | None = None,
        watch: Watch | None = None,
    ) -> Learned:
        """Learn from all documents of a corpus.

        >>> import numpy as np
        >>> task = Task(n_topics=2, alpha=0.1, eta=0.1, max_iter=50, random_state=0)
        >>> learned = Gibbs().fit(task.empty(), Chunks(np.array([[4, 3, 0, 0], [0, 0, 3, 3]]), 9), task)
        >>> learned.n_iter, learned.statistics.documents, learned.statistics.topic_counts.sum().round(4)
        (50, 2, np.float64(13.0))
        """
        X = gathered(chunks)
        if not X.count_nonzero():
            raise DataError("X has only zeros, so there is nothing to learn; check the vocabulary and the weighting")
        if task.learns_eta:
            raise DataError(f"method={self.name!r} does not learn eta; pass a number, or take 'online' or 'batch'")
        if task.weighting is not None and statistics.term_weights is None:
            statistics.term_weights = term_weights([X], task.weighting)
        start: NDArray[Any] | None = None
        if statistics.n_terms:
            statistics.grow(X.shape[1])
            X, start = widened(X, statistics.n_terms), statistics.term_topics
        else:
            statistics.eta = task.eta_by_term(X.shape[1])
        before = statistics.updates

        def look(sweep: int, counts: NDArray[Any], alpha: Floats) -> None:
            if watch is not None:
                watch(statistics.with_counts(counts, alpha, before + sweep))

        options: dict[str, Any] = {
            "alpha": statistics.alpha,
            "eta": _as_given(statistics.eta),
            "max_iter": task.max_iter or _SWEEPS,
            "learn_alpha": task.learns_alpha,
            "start": start,
            "dtype": task.dtype,
            "random_state": task.random_state,
            "n_jobs": task.n_jobs,
            "watch": None if watch is None else look,
        }
        sampled = self.sample(X, statistics, options)
        sweeps = int(sampled.joint_at[-1])
        learned = statistics.with_counts(sampled.counts, sampled.alpha, before + sweeps)
        learned.documents += int((X.sum(axis=1) > 0).sum())
        learned.words += float(X.sum())
        learned.size = float(max(learned.documents, 1))
        return Learned(learned, sweeps, trace=sampled.joint)

    def add(self, statistics: Statistics, chunks: Chunks, task: Task, *, workers: Cluster | None = None) -> Learned:
        """Learn from further documents, whose counts are added to those of others."""
        return self.fit(statistics, chunks, task)

    def sample(self, X: sparse.csr_matrix, statistics: Statistics, options: dict[str, Any]) -> Sampled:
        """Run the sampler; `options` are those that all samplers have."""
        raise NotImplementedError


@dataclass(frozen=True)
class Gibbs(SampledEngine):
    """Gibbs sampling of the topics of all tokens.

    Parameters:
        burn_in: Number of sweeps before topics are averaged; None for half of them.
        thin: Number of sweeps between two that are averaged.
        n_chains: Number of chains, of which the best is taken.
        collapsed: Whether topics and mixtures are summed out.

    >>> Gibbs(burn_in=50)
    Gibbs(burn_in=50, thin=10, n_chains=1, collapsed=True)
    """

    burn_in: int | None = None
    thin: int = 10
    n_chains: int = 1
    collapsed: bool = True

    name: ClassVar[str] = "gibbs"

    def __post_init__(self) -> None:
        if self.burn_in is not None:
            check_range("burn_in", self.burn_in, at_least=0, whole=True)
        check_range("thin", self.thin, at_least=1, whole=True)
        check_range("n_chains", self.n_chains, at_least=1, whole=True)

    def check(self, task: Task) -> None:
        """Check that there are more sweeps than those before averaging begins."""
        if self.burn_in is not None:
            check_range("burn_in", self.burn_in, at_least=0, below=task.max_iter or _SWEEPS, whole=True)

    def sample(self, X: sparse.csr_matrix, statistics: Statistics, options: dict[str, Any]) -> Sampled:
        """Run the chains."""
        weighting = statistics.weighting
        return sample_topics(
            X,
            statistics.n_topics,
            burn_in=self.burn_in,
            thin=self.thin,
            n_chains=self.n_chains,
            collapsed=self.collapsed,
            weights=None if weighting is None else (weighting, statistics.term_weights),
            **options,
        )


@dataclass(frozen=True)
class CVB0(SampledEngine):
    """Collapsed variational inference: the expression of the sampler, without sampling.

    Parameters:
        thin: Number of sweeps between two that are measured.

    >>> CVB0()
    CVB0(thin=10)
    """

    thin: int = 10

    name: ClassVar[str] = "cvb0"
    weighs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_range("thin", self.thin, at_least=1, whole=True)

    def sample(self, X: sparse.csr_matrix, statistics: Statistics, options: dict[str, Any]) -> Sampled:
        """Renew the shares of all entries."""
        return collapse_variational(X, statistics.n_topics, trace_every=self.thin, **options)


def _as_given(eta: Floats) -> Any:
    """Eta by term as a number, a number for each word, or for each topic and word."""
    return eta.item() if eta.size == 1 else eta[:, 0] if eta.shape[1] == 1 else eta.T
