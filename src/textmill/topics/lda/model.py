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

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill._native import topics as native
from textmill.arrays import Floats
from textmill.cluster import Traffic, connect
from textmill.errors import DataError, ModelFileError
from textmill.model import RandomState, check_choice, check_fitted, check_owners, check_range, effective_jobs, seed_of
from textmill.model.estimators import given_parameters
from textmill.numeric import sparse
from textmill.topics.factors.rows import gathered
from textmill.topics.factors.starts import aligned, known
from textmill.topics.inference import infer_topics
from textmill.topics.lda.convergence import Convergence, HeldOut, dead_topics, duplicate_topics
from textmill.topics.lda.evidence import left_to_right
from textmill.topics.lda.learning import Learning
from textmill.topics.lda.perplexity import completion
from textmill.topics.lda.priors import alpha_of, eta_of
from textmill.topics.lda.sampling import learn_at_once
from textmill.topics.lda.schedule import blended
from textmill.topics.lda.variational import Bound, Topics, document_parts, infer, topics_part, word_topics
from textmill.topics.lda.weighting import WEIGHTINGS, term_weights
from textmill.topics.model import MOST_TOPICS, TopicModel
from textmill.vectors import TextVectorizer

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["LDA"]


METHODS = ("online", "batch", "gibbs", "cvb0")
_VARIATIONAL, _SAMPLED = METHODS[:2], METHODS[2:]
_OWNERS: dict[str, tuple[str, ...]] = {  # methods that read a parameter; partial_fit of batch has updates, as online
    **dict.fromkeys(("chunk_size", "update_every", "passes", "offset", "decay", "restart"), _VARIATIONAL),
    **dict.fromkeys(("half_life", "total_docs", "tolerance", "eval_every"), _VARIATIONAL),
    **dict.fromkeys(("sweeps", "thin"), _SAMPLED),
    **dict.fromkeys(("burn_in", "n_chains", "collapsed"), ("gibbs",)),
    "weighting": ("online", "batch", "gibbs"),
}
_ROWS = 4096  # documents that are transformed together


class LDA(TopicModel):
    """Learn topics as distributions of words, documents as mixtures of topics.

    Parameters:
        n_topics: Number of topics, k.
        method: "online", "batch", "gibbs" or "cvb0".
        alpha: Prior of topics in documents: a number, a number for each topic, "symmetric" (1/k), "asymmetric" or
            "auto" (learned).
        eta: Prior of words in topics: a number, a number for each word, a number for each topic and word (k, m) to
            guide topics, "auto" (learned) or None (1/k).
        chunk_size: Number of documents in a chunk.
        update_every: Number of chunks between two updates; 0 for all of them.
        passes: Number of passes over the corpus. None for enough: at least 20 updates (online); until `tolerance`
            (batch); until held-out documents are predicted no better, if there are some.
        offset: Offset of the schedule of updates.
        decay: Decay of the schedule of updates.
        restart: Whether each call of `partial_fit` begins the schedule anew.
        half_life: Number of documents after which an old one weighs half, for streams that change; None: nothing is
            forgotten.
        total_docs: Number of documents that the statistics are scaled to; None for the number of documents read.
        inner_iterations: Largest number of iterations of the inference of a document.
        inner_tolerance: Change at which the inference of a document ends.
        tolerance: Relative gain of the bound, or of the held-out perplexity, at which training ends.
        eval_every: Number of updates between two looks at held-out documents; 0 for once in each pass.
        sweeps: Number of sweeps over the tokens (gibbs, cvb0).
        burn_in: Number of sweeps before topics are averaged (gibbs); None for half of them.
        thin: Number of sweeps between two that are averaged (gibbs).
        n_chains: Number of chains, of which the best is taken (gibbs).
        collapsed: Whether topics and mixtures are summed out (gibbs).
        weighting: Weighting of tokens: "idf", "pmi" or None (not for cvb0).
        dtype: Type of the statistics: "float32" or "float64".
        vectorizer: `TextVectorizer` for documents that are texts; its counts should be unweighted (scheme "nnn").
        random_state: Seed of the random numbers.
        n_jobs: Number of threads; None for all cores.

    Attributes:
        components_: Expected topics, (k, m); each row sums to 1.
        statistics_: Expected counts chi, (k, m).
        term_topics_: The same by term, (m, k), as it is stored.
        topic_counts_: Sums of chi, (k,).
        alpha_: Prior of topics, (k,).
        eta_: Prior of words, with one or k rows and one or m columns.
        documents_: Number of documents with a word that were read (counted once).
        words_: Number of occurrences in them.
        updates_: Number of updates.
        passes_: Number of passes.
        converged_: Whether training ended because of a tolerance.
        size_: Number of documents that chi stands for.
        bounds_: Bound per word, after each pass (batch).
        perplexities_: Perplexities of held-out documents.
        evaluated_: Numbers of updates after which these were measured.
        term_weights_: Weights of terms, with a weighting.
        joint_: log P(words, topics) every `thin` sweeps (gibbs).
        vectorizer_: Fitted vectorizer, if documents were texts.

    >>> X = np.array([[3, 2, 0, 0], [2, 3, 0, 0], [0, 0, 4, 1], [0, 0, 1, 2]])
    >>> lda = LDA(n_topics=2, method="batch", alpha=0.1, eta=0.1, random_state=0).fit(X)
    >>> np.sort(lda.components_.round(2), axis=0).tolist()
    [[0.01, 0.01, 0.01, 0.01], [0.49, 0.49, 0.61, 0.37]]
    >>> np.sort(lda.transform(np.array([[5, 5, 0, 0]]))).round(2).tolist()
    [[0.01, 0.99]]
    """

    takes: ClassVar[str] = "counts"
    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "term_topics_": "term topic: float32 | float64",
        "topic_counts_": "topic",
        "alpha_": "topic",
        "eta_": "eta_topic eta_term",
        "bounds_": "pass",
        "perplexities_": "evaluation",
        "evaluated_": "evaluation: int64",
        "term_weights_": "weighed_term: float64 | None",
        "joint_": "sample",
    }
    state: ClassVar[dict[str, type]] = {
        "documents_": int,
        "words_": float,
        "updates_": int,
        "passes_": int,
        "converged_": bool,
        "size_": float,
    }

    term_topics_: NDArray[Any]
    topic_counts_: Floats
    alpha_: Floats
    eta_: Floats
    bounds_: Floats
    perplexities_: Floats
    evaluated_: NDArray[np.int64]
    term_weights_: Floats | None
    joint_: Floats
    documents_: int
    words_: float
    updates_: int
    passes_: int
    converged_: bool
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
        restart: bool = False,
        half_life: float | None = None,
        total_docs: int | None = None,
        inner_iterations: int = 50,
        inner_tolerance: float = 1e-3,
        tolerance: float = 1e-4,
        eval_every: int = 0,
        sweeps: int = 300,
        burn_in: int | None = None,
        thin: int = 10,
        n_chains: int = 1,
        collapsed: bool = True,
        weighting: str | None = None,
        dtype: str = "float32",
        vectorizer: TextVectorizer | None = None,
        random_state: RandomState = None,
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
        self.restart = restart
        self.half_life = half_life
        self.total_docs = total_docs
        self.inner_iterations = inner_iterations
        self.inner_tolerance = inner_tolerance
        self.tolerance = tolerance
        self.eval_every = eval_every
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
        held_out: Any = None,
        cluster: str | Client | None = None,
        traffic: Traffic | None = None,
    ) -> LDA:
        """Learn from a matrix of counts, a stream of such matrices, or documents if there is a vectorizer.

        The perplexity of `held_out` documents is watched, and says when to stop if `passes` is None. `cluster`, the
        address of a Dask scheduler or a client, lets its workers do the E steps of an update; `traffic` counts what
        travels.
        """
        self._check()
        self._start(X)
        chunks = self._chunks(X, self.chunk_size, negative=False)
        self._forget_all()
        if self.method not in ("online", "batch"):
            if cluster is not None:
                raise DataError(f"method={self.method!r} runs on one machine; leave out cluster, or take 'online'")
            learn_at_once(self, gathered(chunks), self._watch(held_out))
            return self
        passes = 1 if self.passes is None and chunks.one_shot and self.method == "online" else self.passes
        chunks.require_passes((passes or 2) + (self.weighting is not None), f"LDA(method={self.method!r})")
        if self.weighting is not None:
            self.term_weights_ = term_weights(chunks, self.weighting)
        with connect(cluster, traffic=traffic) as workers:
            learning = Learning(self, chunks, workers, self._watch(held_out))
            learning.run(passes, known=self.total_docs or chunks.filled)
        return self

    def partial_fit(self, X: Any, y: object = None, *, cluster: str | Client | None = None) -> LDA:
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
            learn_at_once(self, gathered(chunks))
            return self
        if self.weighting is not None and self.term_weights_ is None:
            chunks.require_passes(2, "a weighting")
            self.term_weights_ = term_weights(chunks, self.weighting)
        with connect(cluster) as workers:
            Learning(self, chunks, workers, None).add(known=self.total_docs)
        return self

    def transform(self, X: Any, *, inference: str = "variational") -> Floats:
        """Return the mixtures of documents, one row each; a document without known words has that of alpha.

        `inference` is "variational", which gives E theta and knows how uncertain the topics are, or another method of
        `infer_topics`, which takes the expected topics as they are.
        """
        if inference == "variational":
            parts = [_shares(infer(part, self._topics(), n_jobs=self.n_jobs).gamma) for part in self._known(X)]
        else:
            options: dict[str, Any] = {"method": inference, "alpha": self.alpha_, "n_jobs": self.n_jobs}
            phi = self._phi(slice(None))
            parts = [infer_topics(part, phi, **options).theta for part in known(self, X)]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.alpha_)))

    def word_topics(self, X: Any) -> tuple[sparse.csr_matrix, Floats]:
        """Return the bags of documents and, for each of their entries, the probabilities of its topics.

        The topic of an entry is the largest of its row; occurrences of a word in a document share one.

        >>> X = np.array([[3, 2, 0, 0], [2, 3, 0, 0], [0, 0, 4, 1], [0, 0, 1, 2]])
        >>> lda = LDA(n_topics=2, method="batch", alpha=0.1, eta=0.1, random_state=0).fit(X)
        >>> bags, phi = lda.word_topics(np.array([[1, 0, 0, 2]]))
        >>> bags.indices.tolist(), bool(phi[0].argmax() == phi[1].argmax()), phi.sum(axis=1).round(6).tolist()
        ([0, 3], False, [1.0, 1.0])
        """
        parts = list(self._known(X))
        topics = self._topics()
        found = [word_topics(part, topics, infer(part, topics, n_jobs=self.n_jobs).gamma) for part in parts]
        if not parts:
            return sparse.csr_matrix((0, len(self.term_topics_))), np.zeros((0, len(self.alpha_)))
        return sparse.vstack(parts, format="csr"), np.concatenate(found)

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
        "bound" takes the bound, without the topics' part; "left-to-right" estimates it by particles, slowly.
        """
        check_choice("how", how, ["completion", "bound", "left-to-right"])
        total, words = 0.0, 0.0
        for part in self._known(X):
            if how == "bound":
                found = infer(part, self._topics(), n_jobs=self.n_jobs)
                gains = document_parts(found.gamma, self.alpha_)[1]
                found_total, found_words = float(found.likelihood.sum() + gains.sum()), float(part.data.sum())
            elif how == "left-to-right":
                seed = seed_of(self.random_state, 0)
                phi = self._phi(slice(None))
                evidence = left_to_right(part, phi, self.alpha_, random_state=seed, n_jobs=self.n_jobs)
                found_total, found_words = float(evidence.sum()), float(part.data.sum())
            else:
                found_total, found_words = completion(part, self._mixtures, self._phi, n_jobs=self.n_jobs)
            total, words = total + found_total, words + found_words
        if not words:
            raise DataError("nothing to score: X has no words; pass at least one document with known words")
        return float(np.exp(-total / words))

    def score(self, X: Any, y: object = None) -> float:
        """Return the mean log-likelihood (nats) of a word by document completion."""
        return -float(np.log(self.perplexity(X)))

    def blend(self, other: LDA, rho: float) -> LDA:
        """Return the blend of two models with the same topics (algorithm 4.2): (1 - rho) of this, rho of the other.

        Both are first stretched to the documents of both; rho = n2 / (n1 + n2) adds their statistics.

        >>> X = np.array([[3, 2, 0], [0, 1, 4]])
        >>> one, other = LDA(n_topics=2, random_state=0).fit(X), LDA(n_topics=2, random_state=0).fit(2 * X)
        >>> round(float(one.blend(other, 0.5).statistics_.sum()), 3)
        30.0
        """
        check_range("rho", rho, at_least=0, at_most=1)
        return self._joined(other, np.arange(len(self.alpha_)), rho)

    def merge(self, other: LDA) -> LDA:
        """Return the model of both corpora: topics are paired by their words, and their statistics added."""
        order = aligned(self, other)[0]
        return self._joined(other, order, other.size_ / (self.size_ + other.size_))

    def report(self) -> Convergence:
        """Return how training went, with dead topics and pairs of topics that are nearly one.

        >>> print(LDA(n_topics=2, method="batch", random_state=0, alpha=0.1).fit(np.eye(4) * 5).report())
        converged: 3 updates, 3 passes, 4 documents, 20 words
        bound of a word: -1.8994 at first, -1.3620 at last, 3 times
        """
        check_fitted(self)
        return Convergence(
            self.converged_,
            self.passes_,
            self.updates_,
            self.documents_,
            self.words_,
            self.bounds_,
            self.perplexities_,
            dead_topics(self.topic_counts_),
            duplicate_topics(self.components_),
        )

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

    def _strengths(self) -> Floats:
        return self.topic_counts_ / max(float(self.topic_counts_.sum()), 1e-300)

    def _check(self) -> None:
        check_range("n_topics", self.n_topics, at_least=1, at_most=MOST_TOPICS, whole=True)
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
        check_range("eval_every", self.eval_every, at_least=0, whole=True)
        check_range("sweeps", self.sweeps, at_least=1, whole=True)
        if self.burn_in is not None:
            check_range("burn_in", self.burn_in, at_least=0, below=self.sweeps, whole=True)
        check_range("thin", self.thin, at_least=1, whole=True)
        check_range("n_chains", self.n_chains, at_least=1, whole=True)
        if self.weighting is not None:
            check_choice("weighting", self.weighting, WEIGHTINGS)
        check_choice("dtype", self.dtype, ["float32", "float64"])
        check_owners(self, "method", _OWNERS)
        swallowed = {"offset", "decay", "total_docs"} & given_parameters(self).keys()
        if self.half_life is not None and swallowed:
            raise DataError(f"half_life takes the place of {min(swallowed)}; leave one of them out")
        alpha_of(self.alpha, self.n_topics)

    def _forget_all(self) -> None:
        for name in ("term_topics_", "topic_counts_", "eta_"):
            vars(self).pop(name, None)
        self.alpha_ = alpha_of(self.alpha, self.n_topics)
        self.bounds_ = self.joint_ = self.perplexities_ = np.zeros(0)
        self.evaluated_ = np.zeros(0, dtype=np.int64)
        self.term_weights_ = None
        self.documents_, self.words_, self.size_ = 0, 0.0, 1.0
        self.updates_, self.passes_, self.converged_ = 0, 0, False

    def _begin(self, terms: int) -> None:
        """The random start over this number of terms."""
        if not terms:
            raise DataError("X has no terms; pass at least one document with a word")
        self.eta_ = np.ascontiguousarray(eta_of(self.eta, self.n_topics, terms).T)
        self.term_topics_ = np.empty((terms, self.n_topics), dtype=self.dtype)
        native.random_start(seed_of(self.random_state), 0, self.term_topics_, effective_jobs(self.n_jobs))
        self.topic_counts_ = self.term_topics_.sum(axis=0, dtype=np.float64)

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
        return Topics(
            statistics,
            eta,
            totals,
            self.alpha_,
            self.inner_iterations,
            self.inner_tolerance,
            watched,
            self.term_weights_,
            self.weighting,
        )

    def _phi(self, words: Any) -> Floats:
        """E beta of some terms, by term."""
        topics = self._topics()
        eta = topics.eta if len(topics.eta) == 1 else topics.eta[words]
        made: Floats = (topics.statistics[words].astype(np.float64) + eta) / topics.totals
        return made

    def _mixtures(self, X: sparse.csr_matrix) -> Floats:
        return _shares(infer(X, self._topics(), n_jobs=self.n_jobs).gamma)

    def _watch(self, held_out: Any) -> tuple[HeldOut, Callable[[], float]] | None:
        """What notes the perplexity of held-out documents, and what finds it."""
        if held_out is None:
            return None
        X = gathered(self._chunks(held_out, _ROWS, negative=False))
        return HeldOut(self.tolerance), lambda: self.perplexity(X)

    def _joined(self, other: LDA, order: NDArray[np.intp], rho: float) -> LDA:
        """A new model of the statistics of both, the topics of the other in some order."""
        check_fitted(self)
        check_fitted(other)
        if len(self.alpha_) != len(other.alpha_):
            raise DataError(f"one model has {len(self.alpha_)} topics, the other {len(other.alpha_)}; train alike")
        made = LDA(**self.get_params(deep=False))
        made._forget_all()
        terms = max(len(self.term_topics_), len(other.term_topics_))
        mine, theirs = (model._topics().widened(terms) for model in (self, other))
        n1, n2 = self.size_, other.size_
        both = blended(mine.statistics, n1, theirs.statistics[:, order], n2, rho)
        made.vectorizer_, made.term_weights_ = self.vectorizer_, self.term_weights_
        made.alpha_, made.eta_ = self.alpha_, np.ascontiguousarray(mine.eta.T)
        made.term_topics_ = np.ascontiguousarray(both, dtype=self.term_topics_.dtype)
        made.topic_counts_ = both.sum(axis=0, dtype=np.float64)
        made.documents_, made.words_ = self.documents_ + other.documents_, self.words_ + other.words_
        made.updates_, made.size_ = self.updates_ + other.updates_, n1 + n2
        return made

    def _known(self, X: Any) -> Iterator[sparse.csr_matrix]:
        """The chunks of an input for a fitted model, weighed as it takes them."""
        check_fitted(self)
        topics = self._topics()
        for part in self._chunks(X, _ROWS, negative=False).over(len(self.term_topics_), type(self).__name__):
            yield topics.weighed(part)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_components"}


def _shares(gamma: NDArray[Any]) -> Floats:
    gamma = gamma.astype(np.float64)
    made: Floats = gamma / gamma.sum(axis=1, keepdims=True)
    return made
