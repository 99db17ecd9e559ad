"""What the engines of Dirichlet allocation share: what is asked of them, what they give back, who watches.

    engine.fit(statistics, chunks, task) -> Learned      engines: Online, Batch (learning.py), Gibbs, CVB0 (sampling.py)
    engine.add(statistics, chunks, task) -> Learned      further documents

An engine is a frozen dataclass of its own parameters; `Task` holds those that all engines have. It takes statistics,
empty or of other documents, and returns statistics that hold the documents of the chunks too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from textmill.arrays import Floats
from textmill.cluster import Cluster
from textmill.model import Options, RandomState, seed_of
from textmill.topics.chunks import Chunks
from textmill.topics.lda.priors import alpha_of, eta_of
from textmill.topics.lda.statistics import Statistics

__all__ = ["Engine", "Learned", "Task", "Watch"]


class Watch(Protocol):
    """What judges statistics while they are learned. Attributes: perplexities, so far."""

    perplexities: list[float]

    def __call__(self, statistics: Statistics) -> bool:
        """Note how good statistics are; return whether they get no better."""
        ...


@dataclass(frozen=True)
class Task:
    """What is asked of an engine, whichever it is; the names are those of the parameters of `LDA`."""

    n_topics: int
    alpha: Any = "symmetric"
    eta: Any = None
    max_iter: int | None = None
    inner_max_iter: int = 50
    inner_tolerance: float = 1e-3
    weighting: str | None = None
    dtype: str = "float32"
    random_state: RandomState = None
    n_jobs: int | None = None

    @property
    def learns_alpha(self) -> bool:
        """Whether alpha is learned."""
        return isinstance(self.alpha, str) and self.alpha == "auto"

    @property
    def learns_eta(self) -> bool:
        """Whether eta is learned."""
        return isinstance(self.eta, str)

    def empty(self) -> Statistics:
        """Return statistics of no documents.

        >>> Task(n_topics=3).empty().term_topics.shape
        (0, 3)
        """
        return Statistics(alpha_of(self.alpha, self.n_topics), dtype=self.dtype, weighting=self.weighting)

    def eta_by_term(self, terms: int) -> Floats:
        """Return the prior of a number of words, with 1 row or one per term."""
        return eta_of(self.eta, self.n_topics, terms)

    def seed(self, unset: int | None = None) -> int:
        """Return a seed of the random numbers; `unset` where there is no random state."""
        return seed_of(self.random_state, unset)


@dataclass(frozen=True)
class Learned:
    """What an engine gives back.

    Attributes: statistics; n_iter, passes or sweeps done; converged, whether a tolerance was reached; trace, the
    objective of the engine as it went.
    """

    statistics: Statistics
    n_iter: int = 0
    converged: bool = False
    trace: Floats = field(default_factory=lambda: np.zeros(0))


class Engine(Options):
    """Base of the engines. Attributes: name, that of `method`; weighs, whether tokens can have weights."""

    name: ClassVar[str]
    weighs: ClassVar[bool] = True

    def check(self, task: Task) -> None:
        """Check what depends on the parameters of all engines."""

    def rows(self) -> int | None:
        """The number of documents in a chunk; None where all are taken at once."""
        return None

    def fit(
        self, statistics: Statistics, chunks: Chunks, task: Task, *, workers: Cluster | None, watch: Watch | None = None
    ) -> Learned:
        """Learn from a corpus, from the start; `watch` is asked now and then."""
        raise NotImplementedError

    def add(self, statistics: Statistics, chunks: Chunks, task: Task, *, workers: Cluster | None) -> Learned:
        """Learn from further documents, read once."""
        raise NotImplementedError
