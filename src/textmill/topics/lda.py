"""Latent Dirichlet allocation: documents are mixtures of topics, topics are distributions of words.

    beta_t ~ Dirichlet(eta)     theta_d ~ Dirichlet(alpha)     for each word: z ~ theta_d, word ~ beta_z

    batch     one update of all topics a pass, until the bound on the likelihood of the corpus stops rising
    online    one update every `update_every` chunks: chi <- (1 - rho) chi + rho chi_new, both stretched to one size

Both are variational Bayes (variational.py); schedule.py says what rho is. Memory is one table of terms x topics and the
rows of the words of a chunk, whatever the number of documents, so a stream may be endless; new words are new rows. An
update by several chunks is a sum made in an order that depends on the chunks only: threads and the workers of a cluster
change nothing, not even the last bit.

References: Blei, Ng & Jordan (2003), Latent Dirichlet allocation; Hoffman, Blei & Bach (2010), Online learning for
latent Dirichlet allocation; Rehurek (2011), Scalability of Semantic Analysis in Natural Language Processing, chapter 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from textmill._native import topics as native
from textmill.cluster import Cluster, Traffic, connect
from textmill.errors import DataError, ModelFileError
from textmill.model import check_choice, check_fitted, check_range, effective_jobs
from textmill.progress import interruptible, start
from textmill.topics.chunks import Chunks
from textmill.topics.factors import gathered, seed_of
from textmill.topics.gibbs import sample_topics
from textmill.topics.model import TopicModel
from textmill.topics.perplexity import completion
from textmill.topics.priors import alpha_of, eta_of, improve_alpha
from textmill.topics.schedule import Schedule
from textmill.topics.variational import (
    Bound,
    Partial,
    Topics,
    add_partials,
    document_parts,
    infer,
    partial_of_job,
    topics_part,
)
from textmill.vectors import TextVectorizer

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["LDA"]

Floats = NDArray[np.float64]

METHODS = ("online", "batch", "gibbs")
_ROWS = 4096  # documents that are transformed together
_LEAST_UPDATES = 20  # of a corpus that can be read again, when the number of passes is left to us
_BATCH_PASSES = 100  # at most, likewise


class LDA(TopicModel):
    """Learn topics as distributions of words, documents as mixtures of topics.

    Parameters: n_topics, k; method, "online", "batch" or "gibbs"; alpha, prior of topics in documents: a number, one a
    topic, "symmetric" (1/k), "asymmetric" or "auto" (learnt); eta, prior of words in topics: a number, one a word, one
    a topic and word (k, m) to guide topics, "auto" (learnt) or None (1/k); chunk_size, documents of a chunk;
    update_every, chunks of an update, 0 for all; passes over the corpus, None for enough (online: 20 updates at least;
    batch: until `tolerance`); offset and decay of the schedule; half_life, of a document in documents, for streams that
    change; total_docs, the size that statistics are stretched to, None for the number of documents; inner_iterations
    and inner_tolerance of the inference of a document; tolerance, of the relative gain of the bound of batch; sweeps
    over the tokens, burn_in (None for half of them) and thin, which sweeps are averaged, n_chains, the number of chains
    of which the best is taken, collapsed, whether topics and mixtures are summed out, weighting of tokens, "idf", "pmi"
    or None, all of gibbs; dtype of the statistics, "float32" or "float64"; vectorizer, with which texts are taken (its
    counts should be unweighed: scheme "nnn"); random_state; n_jobs.

    Attributes: components_ (k, m), the expected topics, rows that sum to 1; statistics_ (k, m), chi, the expected
    counts; term_topics_ (m, k), the same by term, as it is stored; topic_counts_ (k,), sums of chi; alpha_ (k,);
    eta_, one or k rows, one or m columns; documents_, how many with a word were read (once); words_, occurrences in
    them; updates_; size_, the documents that chi stands for; bounds_, of a word, one a pass (batch);
    joint_, log P(words, topics) every `thin` sweeps (gibbs); vectorizer_.

    >>> X = np.array([[3, 2, 0, 0], [2, 3, 0, 0], [0, 0, 4, 1], [0, 0, 1, 2]])
    >>> lda = LDA(n_topics=2, method="batch", alpha=0.1, eta=0.1, random_state=0).fit(X)
    >>> np.sort(lda.components_.round(2), axis=0).tolist()
    [[0.01, 0.01, 0.01, 0.01], [0.49, 0.49, 0.61, 0.37]]
    >>> np.sort(lda.transform(np.array([[5, 5, 0, 0]]))).round(2).tolist()
    [[0.01, 0.99]]
    """

    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "term_topics_": "term topic: float32 | float64",
        "topic_counts_": "topic",
        "alpha_": "topic",
        "eta_": "eta_topic eta_term",
        "bounds_": "pass",
        "joint_": "sample",
    }
    state: ClassVar[dict[str, type]] = {"documents_": int, "words_": float, "updates_": int, "size_": float}

    term_topics_: NDArray[Any]
    topic_counts_: Floats
    alpha_: Floats
    eta_: Floats
    bounds_: Floats
    joint_: Floats
    documents_: int
    words_: float
    updates_: int
    size_: float

    def __init__(
        self,
        *,
        n_topics: int = 50,
        method: str = "online",
        alpha: Any = "symmetric",
        eta: Any = None,
        chunk_size: int = 1000,
        update_every: int = 1,
        passes: int | None = None,
        offset: float = 10.0,
        decay: float = 0.5,
        half_life: float | None = None,
        total_docs: int | None = None,
        inner_iterations: int = 50,
        inner_tolerance: float = 1e-3,
        tolerance: float = 1e-4,
        sweeps: int = 300,
        burn_in: int | None = None,
        thin: int = 10,
        n_chains: int = 1,
        collapsed: bool = True,
        weighting: str | None = None,
        dtype: str = "float32",
        vectorizer: TextVectorizer | None = None,
        random_state: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.method = method
        self.alpha = alpha
        self.eta = eta
        self.chunk_size = chunk_size
        self.update_every = update_every
        self.passes = passes
        self.offset = offset
        self.decay = decay
        self.half_life = half_life
        self.total_docs = total_docs
        self.inner_iterations = inner_iterations
        self.inner_tolerance = inner_tolerance
        self.tolerance = tolerance
        self.sweeps = sweeps
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.collapsed = collapsed
        self.weighting = weighting
        self.dtype = dtype
        self.vectorizer = vectorizer
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def statistics_(self) -> NDArray[Any]:
        """Expected counts of words in topics, (k, m): a view."""
        return self.term_topics_.T

    @property
    def components_(self) -> Floats:  # type: ignore[override]
        """Expected topics, (k, m): E beta = lambda / sum lambda; made when first asked for."""
        made = vars(self).get("_components")
        if made is None or made[0] is not self.term_topics_ or made[1] != self.updates_:
            made = self._components = (self.term_topics_, self.updates_, self._phi(slice(None)).T.copy())
        components: Floats = made[2]
        return components

    def fit(
        self,
        X: Any,
        y: object = None,
        *,
        cluster: str | Client | None = None,
        traffic: Traffic | None = None,
    ) -> LDA:
        """Learn from a matrix of counts, a stream of such matrices, or documents if there is a vectorizer.

        `cluster`, the address of a Dask scheduler or a client, lets its workers do the E steps of an update;
        `traffic` counts what travels.
        """
        self._check()
        self._start(X)
        chunks = self._chunks(X, self.chunk_size, negative=False)
        if self.method not in ("online", "batch"):
            if cluster is not None:
                raise DataError(f"method={self.method!r} runs on one machine; leave out cluster, or take 'online'")
            self._forget_all()
            return self._fit_sampled(gathered(chunks))
        passes = 1 if self.passes is None and chunks.one_shot else self.passes
        if self.method == "batch" or passes != 1:
            chunks.require_passes(passes or 2, f"LDA(method={self.method!r})")
        self._forget_all()
        with connect(cluster, traffic=traffic) as workers:
            self._learn(chunks, workers, passes, known=self.total_docs or chunks.filled)
        return self

    def partial_fit(self, X: Any, y: object = None) -> LDA:
        """Learn from further documents, update by update; new columns are new terms.

        >>> lda = LDA(n_topics=1, random_state=0).partial_fit(np.array([[1, 1]])).partial_fit(np.array([[2, 0, 1]]))
        >>> lda.documents_, lda.components_.shape
        (2, (1, 3))
        """
        self._check()
        if self.__sklearn_is_fitted__():
            check_fitted(self)
            self.make_writable()
        else:
            self._start(X)
            self._forget_all()
        chunks = self._chunks(X, self.chunk_size, negative=False)
        if self.method not in ("online", "batch"):
            return self._fit_sampled(gathered(chunks))
        with connect(None) as workers:
            self._learn(chunks, workers, 1, known=self.total_docs, online=True)
        return self

    def transform(self, X: Any) -> Floats:
        """Return the mixtures E theta of documents, one row each; a document without known words has that of alpha."""
        parts = [_shares(infer(part, self._topics(), n_jobs=self.n_jobs).gamma) for part in self._known(X)]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.alpha_)))

    def bound(self, X: Any) -> Bound:
        """Return the variational bound on the log-likelihood of documents, in nats, with its parts.

        The topics' part is counted once, whatever the number of documents.
        """
        topics, words, documents, count = self._topics(), 0.0, 0.0, 0.0
        for part in self._known(X):
            found = infer(part, topics, n_jobs=self.n_jobs)
            words += float(found.likelihood.sum())
            documents += float(document_parts(found.gamma, topics.alpha)[1].sum())
            count += float(part.data.sum())
        return Bound(words, documents, topics_part(topics), count)

    def perplexity(self, X: Any, *, how: str = "completion") -> float:
        """Return the perplexity of documents: exp of minus the log-likelihood of a word.

        `how` says what that is: "completion" scores one half of the words of each document, the other half given;
        "bound" takes the bound, without the topics' part.
        """
        check_choice("how", how, ["completion", "bound"])
        total, words = 0.0, 0.0
        for part in self._known(X):
            if how == "bound":
                found = infer(part, self._topics(), n_jobs=self.n_jobs)
                gains = document_parts(found.gamma, self.alpha_)[1]
                found_total, found_words = float(found.likelihood.sum() + gains.sum()), float(part.data.sum())
            else:
                found_total, found_words = completion(part, self._mixtures, self._phi, n_jobs=self.n_jobs)
            total, words = total + found_total, words + found_words
        if not words:
            raise DataError("nothing to score: X has no words; pass at least one document with known words")
        return float(np.exp(-total / words))

    def score(self, X: Any, y: object = None) -> float:
        """Return the mean log-likelihood (nats) of a word by document completion."""
        return -float(np.log(self.perplexity(X)))

    def check_values(self) -> None:
        """Check what the layout cannot say of a model from a file."""
        for name in ("term_topics_", "topic_counts_", "alpha_", "eta_"):
            values = getattr(self, name)
            if not np.isfinite(values).all() or values.min(initial=0) < 0:
                raise ModelFileError(f"'{name}' must be finite and not negative")
        if not (self.alpha_ > 0).all() or not (self.eta_ > 0).all():
            raise ModelFileError("alpha and eta must be above 0")
        terms, topics = self.term_topics_.shape
        if self.eta_.shape[0] not in (1, topics) or self.eta_.shape[1] not in (1, terms):
            raise ModelFileError(f"eta has the shape {self.eta_.shape}, which does not fit {topics} x {terms}")
        if self.documents_ < 0 or self.updates_ < 0 or not self.size_ > 0:
            raise ModelFileError("counts of documents and updates are out of range")

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the names of the topics, as scikit-learn asks for them."""
        return np.array([f"lda{i}" for i in range(len(self.alpha_))], dtype=object)

    def _strengths(self) -> Floats:
        return self.topic_counts_ / max(float(self.topic_counts_.sum()), 1e-300)

    def _check(self) -> None:
        check_range("n_topics", self.n_topics, at_least=1, whole=True)
        check_choice("method", self.method, METHODS)
        check_range("chunk_size", self.chunk_size, at_least=1, whole=True)
        check_range("update_every", self.update_every, at_least=0, whole=True)
        if self.passes is not None:
            check_range("passes", self.passes, at_least=1, whole=True)
        check_range("offset", self.offset, at_least=1)
        check_range("decay", self.decay, at_least=0.5, at_most=1)
        if self.half_life is not None:
            check_range("half_life", self.half_life, above=0)
        if self.total_docs is not None:
            check_range("total_docs", self.total_docs, at_least=1, whole=True)
        check_range("inner_iterations", self.inner_iterations, at_least=1, below=2**31, whole=True)
        check_range("inner_tolerance", self.inner_tolerance, at_least=0)
        check_range("tolerance", self.tolerance, at_least=0)
        check_choice("dtype", self.dtype, ["float32", "float64"])
        alpha_of(self.alpha, self.n_topics)

    def _forget_all(self) -> None:
        for name in ("term_topics_", "topic_counts_", "eta_"):
            vars(self).pop(name, None)
        self.alpha_ = alpha_of(self.alpha, self.n_topics)
        self.bounds_ = self.joint_ = np.zeros(0)
        self.documents_, self.words_, self.updates_, self.size_ = 0, 0.0, 0, 1.0

    def _begin(self, terms: int) -> None:
        """The random start over so many terms."""
        if not terms:
            raise DataError("X has no terms; pass at least one document with a word")
        self.eta_ = np.ascontiguousarray(eta_of(self.eta, self.n_topics, terms).T)
        self.term_topics_ = np.empty((terms, self.n_topics), dtype=self.dtype)
        native.random_start(seed_of(self.random_state), 0, self.term_topics_, effective_jobs(self.n_jobs))
        self.topic_counts_ = self.term_topics_.sum(axis=0, dtype=np.float64)

    def _learn(
        self, chunks: Chunks, workers: Cluster, passes: int | None, *, known: float | None, online: bool = False
    ) -> None:
        """Passes over chunks; `known` is the number of documents, where it is known."""
        batch = self.method == "batch" and not online
        most = passes or (_BATCH_PASSES if batch else _LEAST_UPDATES)
        seen = self.documents_
        with start("LDA", total=most if batch else None, unit="passes") as told, interruptible(range(most)) as loop:
            for number in loop:
                before = self.updates_
                bound = tokens = 0.0
                for part, whole in self._updates(chunks, workers, batch):
                    if not number:
                        self.documents_ += part.documents
                        self.words_ += part.tokens
                    self._update(part, known, whole=whole and not online)
                    bound, tokens = bound + part.bound, tokens + part.tokens
                if not number:
                    if self.documents_ == seen == 0:
                        raise DataError("X has no documents with a word; pass at least one")
                    known = known or (None if online else self.documents_)
                told.advance()
                if batch:
                    self.bounds_ = np.append(self.bounds_, (bound + self._last_topics_part) / max(tokens, 1e-300))
                    gain = np.diff(self.bounds_[-2:])
                    if passes is None and len(gain) and gain[0] < self.tolerance * abs(self.bounds_[-1]):
                        break
                elif passes is None and (number + 1) * (self.updates_ - before) >= _LEAST_UPDATES:
                    break

    def _fit_sampled(self, X: sparse.csr_matrix) -> LDA:
        """Learn from all documents at once, given what was learnt from others before."""
        known = hasattr(self, "term_topics_")
        terms = max(X.shape[1], len(self.term_topics_) if known else 0)
        if isinstance(self.eta, str):
            raise DataError(f"method={self.method!r} does not learn eta; pass a number, or take 'online' or 'batch'")
        if known:
            self._grow(terms)
            X = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], terms))
        found = sample_topics(
            X,
            self.n_topics,
            alpha=self.alpha_,
            eta=self.eta,
            sweeps=self.sweeps,
            burn_in=self.burn_in,
            thin=self.thin,
            chains=self.n_chains,
            collapsed=self.collapsed,
            weights=self.weighting,
            learn_alpha=self._learns_alpha(),
            start=self.term_topics_ if known else None,
            dtype=self.dtype,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        self.term_topics_, self.alpha_, self.joint_ = found.counts, found.alpha, found.joint
        self.topic_counts_ = found.counts.sum(axis=0, dtype=np.float64)
        self.eta_ = np.ascontiguousarray(eta_of(self.eta, self.n_topics, terms).T)
        self.documents_ += int((X.sum(axis=1) > 0).sum())
        self.words_ += float(X.sum())
        self.updates_ += int(found.joint_at[-1])
        self.size_ = float(max(self.documents_, 1))
        return self

    def _updates(self, chunks: Chunks, workers: Cluster, batch: bool) -> Iterator[tuple[Partial, bool]]:
        """The sums of the updates of one pass, and whether one is that of the whole pass."""
        jobs = iter(chunks.jobs(1))
        threads = workers.worker_jobs(self.n_jobs)
        every = None if batch or not self.update_every else self.update_every
        first = True
        while True:
            job = next(jobs, None)
            if job is None:
                return
            if not hasattr(self, "term_topics_"):
                self._begin(chunks.terms or max((part.shape[1] for part in job), default=0))
            group = chain([job], jobs if every is None else islice(jobs, every - 1))
            self._last_topics_part = topics_part(self._topics()) if batch else np.nan
            state = workers.broadcast(self._topics(watched=batch or self._learns_alpha()))
            part = workers.map_reduce(partial_of_job, group, add_partials, state, threads)
            following = next(jobs, None)
            yield part, first and following is None
            first = False
            if following is None:
                return
            jobs = chain([following], jobs)

    def _update(self, part: Partial, known: float | None, *, whole: bool) -> None:
        """The M step: blend statistics into the model, or take their place when they are of the whole corpus."""
        if not part.documents:
            return
        schedule = Schedule(self.offset, self.decay, self.half_life)
        rho = 1.0 if whole else schedule.rho(self.updates_, part.documents)
        size = float(part.documents) if whole else schedule.size(self.documents_, self.chunk_size, known)
        if self.updates_ == 0:
            self.size_ = size
        self._grow(int(part.words[-1]) + 1 if len(part.words) else 0)
        native.blend(
            self.term_topics_,
            (1.0 - rho) * size / self.size_,
            part.words,
            part.rows,
            rho * size / part.documents,
            self.topic_counts_,
            effective_jobs(self.n_jobs),
        )
        self.size_ = size
        self.updates_ += 1
        if self._learns_alpha():
            self.alpha_ = improve_alpha(self.alpha_, part.log_theta, part.documents, rho)

    def _learns_alpha(self) -> bool:
        return isinstance(self.alpha, str) and self.alpha == "auto"

    def _grow(self, terms: int) -> None:
        more = terms - len(self.term_topics_)
        if more > 0:
            self.eta_ = np.ascontiguousarray(self._topics().widened(terms).eta.T)
            self.term_topics_ = np.concatenate([self.term_topics_, np.zeros((more, len(self.alpha_)), self.dtype)])

    def _topics(self, *, watched: bool = False) -> Topics:
        """What an E step needs."""
        eta = np.ascontiguousarray(self.eta_.T)
        totals = self.topic_counts_ + eta.sum(axis=0) * (len(self.term_topics_) if len(eta) == 1 else 1)
        statistics = np.ascontiguousarray(self.term_topics_)
        return Topics(statistics, eta, totals, self.alpha_, self.inner_iterations, self.inner_tolerance, watched)

    def _phi(self, words: Any) -> Floats:
        """E beta of some terms, by term."""
        topics = self._topics()
        eta = topics.eta if len(topics.eta) == 1 else topics.eta[words]
        made: Floats = (topics.statistics[words].astype(np.float64) + eta) / topics.totals
        return made

    def _mixtures(self, X: sparse.csr_matrix) -> Floats:
        return _shares(infer(X, self._topics(), n_jobs=self.n_jobs).gamma)

    def _known(self, X: Any) -> Iterator[sparse.csr_matrix]:
        """The chunks of an input for a fitted model."""
        check_fitted(self)
        terms = len(self.term_topics_)
        for part in self._chunks(X, _ROWS, negative=False):
            if part.shape[1] > terms:
                raise DataError(
                    f"X has {part.shape[1]} columns but the model {terms} terms; use bags of one vocabulary"
                )
            yield part

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_components"}


def _shares(gamma: NDArray[Any]) -> Floats:
    gamma = gamma.astype(np.float64)
    made: Floats = gamma / gamma.sum(axis=1, keepdims=True)
    return made
