"""The loop of variational Bayes: passes over a corpus, sums of updates on one machine or many, M steps.

    for each update of `update_every` chunks (algorithm 4.3, kappa x P of them for P workers):
        send the topics to the workers; each gives chi of its chunks; their sum, in the order of the chunks, is chi_new
        chi <- blend of chi and chi_new (schedule.py);  alpha, eta <- a Newton step each, if they are learned

On a cluster the chunks of many passes are made once and kept where they were made; an update of one chunk is made in
this process. An update by the whole corpus takes the place of chi: batch. The sum depends on the chunks only, so the
number of workers, and one that dies, change nothing. After Ctrl-C the statistics are those of the last whole pass or
update.
Reference: Rehurek (2011), Scalability of Semantic Analysis in Natural Language Processing, algorithm 4.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, ClassVar

import numpy as np

from textmill.arrays import Floats
from textmill.cluster import Cluster, connect
from textmill.errors import DataError, warn_caller
from textmill.model import check_range, effective_jobs
from textmill.progress import interruptible, start
from textmill.topics.chunks import Chunks, KeptChunk
from textmill.topics.lda.engines import Engine, Learned, Task, Watch
from textmill.topics.lda.priors import improve_alpha, improve_eta
from textmill.topics.lda.schedule import Schedule
from textmill.topics.lda.statistics import Statistics
from textmill.topics.lda.variational import (
    Partial,
    add_partials,
    log_beta,
    partial_of_job,
    partial_of_kept,
    topics_part,
)
from textmill.topics.lda.weighting import term_weights

__all__ = ["Batch", "Online", "Variational"]

_LEAST_UPDATES = 20  # of a corpus that can be read again, when the number of passes is left to us
_MOST_PASSES = 100  # likewise
_LONG = 10_000  # updates after which a learning_decay of 0.5 is warned of


@dataclass(frozen=True)
class Variational(Engine):
    """What `Online` and `Batch` share."""

    chunk_size: int = 1000
    update_every: int = 1
    learning_offset: float = 10.0
    learning_decay: float = 0.5
    restart: bool = False
    half_life: float | None = None
    total_docs: int | None = None
    tolerance: float = 1e-4
    eval_every: int = 0

    by_corpus: ClassVar[bool]

    def __post_init__(self) -> None:
        check_range("chunk_size", self.chunk_size, at_least=1, whole=True)
        check_range("update_every", self.update_every, at_least=0, whole=True)
        check_range("learning_offset", self.learning_offset, at_least=1)
        check_range("learning_decay", self.learning_decay, at_least=0.5, at_most=1)
        if self.total_docs is not None:
            check_range("total_docs", self.total_docs, at_least=1, whole=True)
        check_range("tolerance", self.tolerance, at_least=0)
        check_range("eval_every", self.eval_every, at_least=0, whole=True)
        if self.half_life is not None:
            check_range("half_life", self.half_life, above=0)
            for name in ("learning_decay", "learning_offset", "total_docs"):
                if getattr(self, name) != getattr(Variational, name):
                    raise DataError(f"half_life takes the place of {name}; leave one of them out")

    def rows(self) -> int | None:
        """The number of documents in a chunk."""
        return self.chunk_size

    def fit(
        self,
        statistics: Statistics,
        chunks: Chunks,
        task: Task,
        *,
        workers: Cluster | None = None,
        watch: Watch | None = None,
    ) -> Learned:
        """Learn from a corpus in passes: as many as asked for, or until there is nothing to gain.

        >>> X = np.array([[3, 2, 0], [0, 1, 4]])
        >>> task = Task(n_topics=2, max_iter=4, random_state=0)
        >>> learned = Batch().fit(task.empty(), Chunks(X, 9), task)
        >>> learned.n_iter, learned.statistics.topic_counts.sum().round(4), len(learned.trace)
        (4, np.float64(10.0), 4)
        """
        passes = 1 if task.max_iter is None and chunks.one_shot and not self.by_corpus else task.max_iter
        chunks.require_passes((passes or 2) + (task.weighting is not None), f"LDA(method={self.name!r})")
        if task.weighting is not None:
            statistics.term_weights = term_weights(chunks, task.weighting)
        with connect(None) as here:
            run = _Run(self, statistics, chunks, task, self._workers(workers, here), watch)
            return run.fit(passes, self.total_docs or chunks.filled)

    def add(self, statistics: Statistics, chunks: Chunks, task: Task, *, workers: Cluster | None = None) -> Learned:
        """Learn from further documents, update by update; new columns are new terms.

        >>> task = Task(n_topics=1, random_state=0)
        >>> first = Online().add(task.empty(), Chunks(np.array([[1, 1]]), 9), task).statistics
        >>> Online().add(first, Chunks(np.array([[2, 0, 1]]), 9), task).statistics.term_topics.shape
        (3, 1)
        """
        if task.weighting is not None and statistics.term_weights is None:
            chunks.require_passes(2, "a weighting")
            statistics.term_weights = term_weights(chunks, task.weighting)
        with connect(None) as here:
            return _Run(self, statistics, chunks, task, self._workers(workers, here), None).add(self.total_docs)

    def _workers(self, workers: Cluster | None, here: Cluster) -> Cluster:
        """Who makes the sums: this process where an update is one chunk, since there is nothing to share."""
        if workers is None or not workers.elsewhere:
            return here
        if self.update_every == 1 and not self.by_corpus:
            warn_caller(
                "every update is one chunk, which workers cannot share, so it is made in this process; "
                "pass update_every=8, or method='batch'"
            )
            return here
        return workers


@dataclass(frozen=True)
class Online(Variational):
    """Online variational Bayes: an update every few chunks, so a stream may be endless.

    Parameters:
        chunk_size: Number of documents in a chunk.
        update_every: Number of chunks between two updates; 0 for all of them.
        learning_offset: Offset of the schedule, rho_t = (offset + t) ** -decay.
        learning_decay: Decay of the schedule, from 0.5 to 1.
        restart: Whether each call of `partial_fit` begins the schedule anew.
        half_life: Number of documents after which an old one weighs half, for streams that change; None: nothing is
            forgotten.
        total_docs: Number of documents that the statistics are scaled to; None for the number of documents read.
        tolerance: Relative gain of the held-out perplexity at which training ends.
        eval_every: Number of updates between two looks at held-out documents; 0 for once in each pass.

    >>> Online(learning_decay=0.7)
    Online(chunk_size=1000, update_every=1, learning_offset=10.0, learning_decay=0.7, restart=False, half_life=None, ...
    """

    name: ClassVar[str] = "online"
    by_corpus: ClassVar[bool] = False


@dataclass(frozen=True)
class Batch(Variational):
    """Variational Bayes with an update in each pass, until the bound on the likelihood of the corpus stops rising.

    The parameters are those of `Online`; `tolerance` is the relative gain of the bound at which training ends, or of
    the held-out perplexity, if there are held-out documents. The schedule is for `partial_fit`, which learns online.

    >>> Batch(tolerance=1e-3).tolerance
    0.001
    """

    name: ClassVar[str] = "batch"
    by_corpus: ClassVar[bool] = True


class _Run:
    """One call of `fit` or `add`: what it reads, where it works, and what it has learned so far."""

    def __init__(
        self,
        engine: Variational,
        statistics: Statistics,
        chunks: Chunks,
        task: Task,
        workers: Cluster,
        watch: Watch | None,
    ) -> None:
        self.engine = engine
        self.statistics = statistics
        self.chunks = chunks
        self.task = task
        self.workers = workers
        self.watch = watch
        self.schedule = Schedule(engine.learning_offset, engine.learning_decay, engine.half_life)
        self.first_update = statistics.updates if engine.restart else 0  # where t is 0
        self.bounds: list[float] = []
        self.stalled = False
        self.kept: list[KeptChunk] | None = None  # on the workers, where there are many passes

    def fit(self, passes: int | None, documents_in_all: float | None) -> Learned:
        """Passes over the corpus, as many or until there is nothing to gain."""
        engine, statistics, converged, n_iter = self.engine, self.statistics, False, 0
        if self.workers.elsewhere and passes != 1 and not self.chunks.one_shot and self.chunks.terms:
            self.kept = self.chunks.keep(self.workers)
        most = passes or _MOST_PASSES
        with start("LDA", total=passes, unit="passes") as bar, interruptible(range(most), unit="passes") as loop:
            for number in loop:
                before, documents, bound, tokens = statistics.updates, 0, 0.0, 0.0
                for part, whole in self._updates(engine.by_corpus):
                    if not number:
                        statistics.documents += part.documents
                        statistics.words += part.tokens
                    self._update(part, documents_in_all, whole=whole)
                    documents, bound, tokens = documents + part.documents, bound + part.bound, tokens + part.tokens
                if not documents:
                    raise DataError("X has no documents with a word; pass at least one")
                if documents != statistics.documents:
                    raise DataError(
                        f"the corpus had {statistics.documents} documents in one pass and {documents} in another; "
                        "it must not change while it is read"
                    )
                documents_in_all = documents_in_all or documents
                n_iter += 1
                if engine.by_corpus:
                    self.bounds.append((bound + self._topics_part) / tokens)
                if not engine.eval_every:
                    self._evaluate()
                bar.advance(1, **self._figures())
                if passes is None:
                    enough, converged = self._enough(n_iter * (statistics.updates - before))
                    if enough:
                        break
        return Learned(statistics, n_iter, converged, np.array(self.bounds))

    def add(self, documents_in_all: float | None) -> Learned:
        """Learn from further documents, which are read once."""
        statistics = self.statistics
        with start("LDA", unit="updates") as bar, interruptible(self._updates(False), unit="updates") as loop:
            for part, _ in loop:
                statistics.documents += part.documents
                statistics.words += part.tokens
                self._update(part, documents_in_all, whole=False)
                bar.advance()
        if not statistics.updates:
            raise DataError("X has no documents with a word; pass at least one")
        return Learned(statistics)

    def _figures(self) -> dict[str, float]:
        if self.watch is not None and self.watch.perplexities:
            return {"perplexity": self.watch.perplexities[-1]}
        return {"bound": self.bounds[-1]} if self.bounds else {}

    def _enough(self, updates: int) -> tuple[bool, bool]:
        """Whether a run of any number of passes is over, and whether it converged."""
        if self.watch is not None:
            return self.stalled, self.stalled
        if self.engine.by_corpus:
            gain = np.diff(self.bounds[-2:])
            converged = bool(len(gain)) and bool(gain[0] < self.engine.tolerance * abs(self.bounds[-1]))
            return converged, converged
        return updates >= _LEAST_UPDATES, False

    def _updates(self, by_corpus: bool) -> Iterator[tuple[Partial, bool]]:
        """The sums of the updates of one pass, and whether one is that of the whole pass."""
        statistics, task = self.statistics, self.task
        step: Any = partial_of_job if self.kept is None else partial_of_kept
        jobs: Iterator[Any] = self.chunks.jobs(1, exact=True) if self.kept is None else iter(self.kept)
        threads = self.workers.worker_jobs(task.n_jobs)
        alone, job = True, next(jobs, None)
        while job is not None:
            if not statistics.n_terms:
                terms = self.chunks.terms or max((part.shape[1] for part in job), default=0)
                statistics.begin(terms, task.eta_by_term(terms), seed=task.seed(), threads=effective_jobs(task.n_jobs))
            rest = jobs if by_corpus or not self.engine.update_every else islice(jobs, self.engine.update_every - 1)
            topics = statistics.expected(
                max_iter=task.inner_max_iter,
                tolerance=task.inner_tolerance,
                watched=by_corpus or task.learns_alpha,
            )
            if by_corpus:
                self._topics_part = topics_part(topics)
            state = self.workers.broadcast(topics)
            part = self.workers.map_reduce(step, chain([job], rest), add_partials, state, threads)
            job = next(jobs, None)
            yield part, alone and job is None
            alone = False

    def _update(self, part: Partial, documents_in_all: float | None, *, whole: bool) -> None:
        """The M step: blend sums into the statistics, or take their place when they are of the whole corpus."""
        engine, statistics, task = self.engine, self.statistics, self.task
        if not part.documents:
            return
        rho = 1.0 if whole else self.schedule.rho(statistics.updates - self.first_update, part.documents)
        size = float(part.documents)
        if not whole:
            size = self.schedule.size(statistics.documents, engine.chunk_size, documents_in_all)
        if statistics.updates == 0:
            statistics.size = size  # the random start stands for as many
        noise, seed = self._noise(rho), task.seed(0)
        statistics.blend(part, rho=rho, size=size, noise=noise, seed=seed, threads=effective_jobs(task.n_jobs))
        if task.learns_alpha:
            statistics.alpha = improve_alpha(statistics.alpha, part.log_theta, part.documents, rho)
        if task.learns_eta:
            terms, topics = statistics.term_topics.shape
            eta = improve_eta(float(statistics.eta[0, 0]), log_beta(statistics.expected()), topics, terms, rho)
            statistics.eta = np.full((1, 1), eta)
        if statistics.updates == _LONG and engine.learning_decay == 0.5 and engine.half_life is None:
            warn_caller(
                f"{_LONG} updates with learning_decay=0.5: the topics will never come to rest; "
                "pass learning_decay=0.7, or a half_life"
            )
        if engine.eval_every and statistics.updates % engine.eval_every == 0:
            self._evaluate()

    def _noise(self, rho: float) -> Floats | None:
        """What a forgetting model puts in the place of what it forgets: a little of a random start, even over topics.

        Without it a new word would fall to the smallest topic, whatever the words around it.
        """
        if self.engine.half_life is None:
            return None
        counts = self.statistics.topic_counts
        return rho * counts / max(float(counts.mean()), 1e-300)

    def _evaluate(self) -> None:
        """Have the statistics judged by held-out documents, if there are any."""
        if self.watch is not None:
            self.stalled = self.watch(self.statistics)
