"""The loop of variational Bayes: passes over a corpus, sums of updates on one machine or many, M steps.

    for each update of `update_every` chunks (algorithm 4.3, kappa x P of them for P workers):
        send the topics to the workers; each gives chi of its chunks; their sum, in the order of the chunks, is chi_new
        chi <- blend of chi and chi_new (schedule.py);  alpha, eta <- a Newton step each, if they are learnt

An update by the whole corpus takes the place of chi: batch. The sum depends on the chunks only, so the number of
workers, and one that dies, change nothing. After Ctrl-C the model holds the last whole pass (`fit`) or update.
Reference: Rehurek (2011), Scalability of Semantic Analysis in Natural Language Processing, algorithm 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING

import numpy as np

from textmill._native import topics as native
from textmill.arrays import Floats
from textmill.cluster import Cluster
from textmill.errors import DataError, warn_caller
from textmill.model import effective_jobs, seed_of
from textmill.progress import interruptible, start
from textmill.topics.chunks import Chunks
from textmill.topics.lda.convergence import HeldOut
from textmill.topics.lda.priors import improve_alpha, improve_eta
from textmill.topics.lda.schedule import Schedule
from textmill.topics.lda.variational import Partial, add_partials, log_beta, partial_of_job, topics_part

if TYPE_CHECKING:
    from textmill.topics.lda.model import LDA

__all__ = ["Learning"]


_LEAST_UPDATES = 20  # of a corpus that can be read again, when the number of passes is left to us
_MOST_PASSES = 100  # likewise
_LONG = 10_000  # updates after which a decay of 0.5 is warned of


class Learning:
    """One call of `fit` or `partial_fit`: what it reads, where it works, and what it has found so far."""

    def __init__(
        self, model: LDA, chunks: Chunks, workers: Cluster, watch: tuple[HeldOut, Callable[[], float]] | None
    ) -> None:
        self.model = model
        self.chunks = chunks
        self.workers = workers
        self.watch = watch
        self.schedule = Schedule(model.offset, model.decay, model.half_life)
        self.first_update = model.updates_ if model.restart else 0  # where t is 0
        self.stalled = False

    def run(self, passes: int | None, known: float | None) -> None:
        """Passes over the corpus, as many or until there is nothing to gain; `known` documents in all, if known."""
        model, batch = self.model, self.model.method == "batch"
        most = passes or _MOST_PASSES
        with start("LDA", total=passes, unit="passes") as told, interruptible(range(most), unit="passes") as loop:
            for number in loop:
                before, documents, bound, tokens = model.updates_, 0, 0.0, 0.0
                for part, whole in self._updates(batch):
                    if not number:
                        model.documents_ += part.documents
                        model.words_ += part.tokens
                    self._update(part, known, whole=whole)
                    documents, bound, tokens = documents + part.documents, bound + part.bound, tokens + part.tokens
                if not documents:
                    raise DataError("X has no documents with a word; pass at least one")
                if documents != model.documents_:
                    raise DataError(
                        f"the corpus had {model.documents_} documents in one pass and {documents} in another; "
                        "it must not change while it is read"
                    )
                known = known or documents
                model.passes_ += 1
                if batch:
                    model.bounds_ = np.append(model.bounds_, (bound + self._topics_part) / tokens)
                if not model.eval_every:
                    self._evaluate()
                told.advance(1, **self._figures())
                if passes is None and self._enough(batch, model.updates_ - before):
                    break

    def add(self, known: float | None) -> None:
        """Learn from further documents, which are read once."""
        model = self.model
        with start("LDA", unit="updates") as told, interruptible(self._updates(False), unit="updates") as loop:
            for part, _ in loop:
                model.documents_ += part.documents
                model.words_ += part.tokens
                self._update(part, known, whole=False)
                told.advance()
        if not model.updates_:
            raise DataError("X has no documents with a word; pass at least one")
        model.converged_ = False

    def _enough(self, batch: bool, updates: int) -> bool:
        """Whether a run of any number of passes is over."""
        model = self.model
        if self.watch is not None:
            model.converged_ = self.stalled
            return self.stalled
        if batch:
            gain = np.diff(model.bounds_[-2:])
            model.converged_ = bool(len(gain)) and bool(gain[0] < model.tolerance * abs(model.bounds_[-1]))
            return model.converged_
        return model.passes_ * updates >= _LEAST_UPDATES

    def _figures(self) -> dict[str, float]:
        if len(self.model.perplexities_):
            return {"perplexity": float(self.model.perplexities_[-1])}
        return {"bound": float(self.model.bounds_[-1])} if len(self.model.bounds_) else {}

    def _updates(self, batch: bool) -> Iterator[tuple[Partial, bool]]:
        """The sums of the updates of one pass, and whether one is that of the whole pass."""
        model = self.model
        jobs = self.chunks.jobs(1, exact=True)
        threads = self.workers.worker_jobs(model.n_jobs)
        watched = batch or model._learns_alpha()
        alone, job = True, next(jobs, None)
        while job is not None:
            if not hasattr(model, "term_topics_"):
                terms = None if model.vectorizer_ is None else len(model.vectorizer_.terms_)
                model._begin(terms or self.chunks.terms or max((part.shape[1] for part in job), default=0))
            rest = jobs if batch or not model.update_every else islice(jobs, model.update_every - 1)
            topics = model._topics(watched=watched)
            if batch:
                self._topics_part = topics_part(topics)
            state = self.workers.broadcast(topics)
            part = self.workers.map_reduce(partial_of_job, chain([job], rest), add_partials, state, threads)
            job = next(jobs, None)
            yield part, alone and job is None
            alone = False

    def _update(self, part: Partial, known: float | None, *, whole: bool) -> None:
        """The M step: blend statistics into the model, or take its place when they are of the whole corpus."""
        model = self.model
        if not part.documents:
            return
        rho = 1.0 if whole else self.schedule.rho(model.updates_ - self.first_update, part.documents)
        size = float(part.documents) if whole else self.schedule.size(model.documents_, model.chunk_size, known)
        if model.updates_ == 0:
            model.size_ = size  # the random start stands for as many
        model._grow(int(part.words[-1]) + 1)
        native.blend(
            model.term_topics_,
            (1.0 - rho) * size / model.size_,
            part.words,
            part.rows,
            rho * size / part.documents,
            self._noise(rho),
            seed_of(model.random_state, 0),
            model.topic_counts_,
            effective_jobs(model.n_jobs),
        )
        model.size_ = size
        model.updates_ += 1
        if model._learns_alpha():
            model.alpha_ = improve_alpha(model.alpha_, part.log_theta, part.documents, rho)
        if isinstance(model.eta, str):
            terms, topics = model.term_topics_.shape
            eta = improve_eta(float(model.eta_[0, 0]), log_beta(model._topics()), topics, terms, rho)
            model.eta_ = np.full((1, 1), eta)
        if model.updates_ == _LONG and model.decay == 0.5 and model.half_life is None:
            warn_caller(
                f"{_LONG} updates with decay=0.5: the topics will never come to rest; pass decay=0.7, or a half_life"
            )
        if model.eval_every and model.updates_ % model.eval_every == 0:
            self._evaluate()

    def _noise(self, rho: float) -> Floats:
        """What a forgetting model puts in the place of what it forgets: a little of a random start, even over topics.

        Without it a new word would fall to the smallest topic, whatever the words around it.
        """
        if self.model.half_life is None:
            return np.zeros(0)
        counts = self.model.topic_counts_
        return rho * counts / max(float(counts.mean()), 1e-300)

    def _evaluate(self) -> None:
        """Note the perplexity of the held-out documents, if there are any."""
        if self.watch is None:
            return
        noted, find = self.watch
        self.stalled = noted.add(self.model.updates_, find())
        self.model.perplexities_ = np.array(noted.perplexities)
        self.model.evaluated_ = np.array(noted.updates, dtype=np.int64)
