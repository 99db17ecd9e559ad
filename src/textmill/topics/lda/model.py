"""Latent Dirichlet allocation: documents are mixtures of topics, topics are distributions of words.

    beta_t ~ Dirichlet(eta)     theta_d ~ Dirichlet(alpha)     for each word: z ~ theta_d, word ~ beta_z

    online    one update every few chunks: chi <- (1 - rho) chi + rho chi_new, both stretched to one size
    batch     one update of all topics in each pass, until the bound on the likelihood of the corpus stops rising
    gibbs     topics of all tokens, drawn again and again
    cvb0      the same expression without drawing

The first two are variational Bayes (learning.py, variational.py), the others take all documents at once (sampling.py).
What is learned are `Statistics` (statistics.py): memory is one table of terms x topics and, for variational Bayes, the
rows of the words of a chunk, whatever the number of documents, so a stream may be endless; new words are new rows. An
update by several chunks is a sum made in an order that depends on the chunks only: threads and the workers of a cluster
change nothing, not even the last bit.

References: Blei, Ng & Jordan (2003), Latent Dirichlet allocation; Hoffman, Blei & Bach (2010), Online learning for
latent Dirichlet allocation; Rehurek (2011), Scalability of Semantic Analysis in Natural Language Processing, chapter 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats, Ints
from textmill.cluster import Traffic, connect
from textmill.errors import DataError
from textmill.model import RandomState, Saved, check_choice, check_fitted, check_range, seed_of
from textmill.numeric import sparse
from textmill.topics.chunks import gathered
from textmill.topics.inference import infer_topics
from textmill.topics.lda.convergence import Convergence, HeldOut, dead_topics, duplicate_topics
from textmill.topics.lda.engines import Engine, Learned, Task
from textmill.topics.lda.evidence import left_to_right
from textmill.topics.lda.learning import Batch, Online, Variational
from textmill.topics.lda.perplexity import completion
from textmill.topics.lda.priors import alpha_of
from textmill.topics.lda.sampling import CVB0, Gibbs
from textmill.topics.lda.statistics import Statistics
from textmill.topics.lda.variational import Bound, Topics, document_parts, infer, mixtures, topics_part, word_topics
from textmill.topics.lda.weighting import WEIGHTINGS
from textmill.topics.model import MOST_TOPICS, ROWS, TopicModel, align_topics
from textmill.vectors import TextVectorizer

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["LDA"]

ENGINES: dict[str, type[Engine]] = {engine.name: engine for engine in (Online, Batch, Gibbs, CVB0)}


class LDA(TopicModel):
    """Learn topics as distributions of words, documents as mixtures of topics.

    Parameters:
        n_topics: Number of topics, k.
        method: "online", "batch", "gibbs" or "cvb0", or `Online(...)`, `Batch(...)`, `Gibbs(...)` or `CVB0(...)` with
            parameters of their own: sizes of chunks, schedules, tolerances, burn-in.
        alpha: Prior of topics in documents: a number, a number for each topic, "symmetric" (1/k), "asymmetric" or
            "auto" (learned).
        eta: Prior of words in topics: a number, a number for each word, a number for each topic and word (k, m) to
            guide topics, "auto" (learned, online and batch only) or None (1/k).
        max_iter: Largest number of passes over the documents (online, batch) or number of sweeps over the tokens
            (gibbs, cvb0). None for enough: passes for at least 20 updates (online), until the tolerance is reached
            (batch) or held-out documents are predicted no better, if there are some; 300 sweeps.
        inner_max_iter: Largest number of iterations of the inference of a document.
        inner_tolerance: Change at which the inference of a document ends.
        weighting: Weighting of tokens: "idf", "pmi" or None (not for cvb0).
        dtype: Type of the statistics: "float32" or "float64".
        vectorizer: `TextVectorizer` for documents that are texts; its counts should be unweighted (scheme "nnn").
        random_state: Seed of the random numbers.
        n_jobs: Number of threads; None for all cores.

    Attributes:
        components_: Expected topics, (k, m); each row sums to 1.
        statistics_: What was learned, `Statistics`; the next attributes are parts of it.
        term_topics_: Expected counts by term, (m, k).
        topic_counts_: Their sums, (k,).
        alpha_: Prior of topics, (k,).
        eta_: Prior of words, with one or k rows and one or m columns.
        documents_: Number of documents with a word that were read (counted once).
        words_: Number of occurrences in them.
        updates_: Number of updates.
        size_: Number of documents that the counts stand for.
        term_weights_: Weights of terms, with a weighting.
        n_iter_: Number of passes (online, batch) or sweeps (gibbs, cvb0).
        converged_: Whether training ended because of a tolerance.
        trace_: Bound per word after each pass (batch); log P(words, topics) every `thin` sweeps (gibbs, cvb0).
        perplexities_: Perplexities of held-out documents.
        evaluated_: Numbers of updates after which these were measured.
        vectorizer_: Fitted vectorizer, if documents were texts.

    >>> X = np.array([[3, 2, 0, 0], [2, 3, 0, 0], [0, 0, 4, 1], [0, 0, 1, 2]])
    >>> lda = LDA(n_topics=2, method="batch", alpha=0.1, eta=0.1, random_state=0).fit(X)
    >>> np.sort(lda.components_.round(2), axis=0).tolist()
    [[0.01, 0.01, 0.01, 0.01], [0.49, 0.49, 0.61, 0.37]]
    >>> np.sort(lda.transform(np.array([[5, 5, 0, 0]]))).round(2).tolist()
    [[0.01, 0.99]]
    >>> LDA(n_topics=2, method=Gibbs(burn_in=50), max_iter=100)
    LDA(n_topics=2, method=Gibbs(burn_in=50, thin=10, n_chains=1, collapsed=True), max_iter=100)
    """

    takes: ClassVar[str] = "counts"
    format_version: ClassVar[int] = 2
    layout: ClassVar[dict[str, str]] = {
        "trace_": "step",
        "perplexities_": "evaluation",
        "evaluated_": "evaluation: int64",
    }
    state: ClassVar[dict[str, type]] = {"n_iter_": int, "converged_": bool}
    parts: ClassVar[dict[str, str]] = {"statistics_": "topics.Statistics"}

    statistics_: Statistics
    trace_: Floats
    perplexities_: Floats
    evaluated_: Ints
    n_iter_: int
    converged_: bool

    def __init__(
        self,
        *,
        n_topics: int = 50,
        method: str | Engine = "online",
        alpha: Any = "symmetric",
        eta: Any = None,
        max_iter: int | None = None,
        inner_max_iter: int = 50,
        inner_tolerance: float = 1e-3,
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
        self.max_iter = max_iter
        self.inner_max_iter = inner_max_iter
        self.inner_tolerance = inner_tolerance
        self.weighting = weighting
        self.dtype = dtype
        self.vectorizer = vectorizer
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def of(cls, statistics: Statistics, *, vectorizer: TextVectorizer | None = None, **parameters: Any) -> LDA:
        """Return the model of statistics that were learned elsewhere, with a fitted vectorizer if it is for texts.

        >>> statistics = Statistics.of_counts(np.eye(2) * 8, alpha=np.ones(2), eta=np.ones((1, 1)))
        >>> LDA.of(statistics).components_.tolist()
        [[0.9, 0.1], [0.1, 0.9]]
        """
        model = cls(n_topics=statistics.n_topics, **parameters)
        model.vectorizer_ = vectorizer
        model._take(Learned(statistics), None)
        return model

    @property
    def term_topics_(self) -> NDArray[Any]:
        """Expected counts by term, (m, k)."""
        return self.statistics_.term_topics

    @property
    def topic_counts_(self) -> Floats:
        """Expected counts of topics, (k,)."""
        return self.statistics_.topic_counts

    @property
    def alpha_(self) -> Floats:
        """Prior of topics, (k,)."""
        return self.statistics_.alpha

    @property
    def eta_(self) -> Floats:
        """Prior of words, with one or k rows and one or m columns."""
        return self.statistics_.eta.T

    @property
    def documents_(self) -> int:
        """Number of documents with a word that were read."""
        return self.statistics_.documents

    @property
    def words_(self) -> float:
        """Number of occurrences in them."""
        return self.statistics_.words

    @property
    def updates_(self) -> int:
        """Number of updates."""
        return self.statistics_.updates

    @property
    def size_(self) -> float:
        """Number of documents that the counts stand for."""
        return self.statistics_.size

    @property
    def term_weights_(self) -> Floats | None:
        """Weights of terms, with a weighting."""
        return self.statistics_.term_weights

    @property
    def n_features_in_(self) -> int:
        """The number of terms, as scikit-learn asks for it."""
        check_fitted(self)
        return self.statistics_.n_terms

    @property
    def components_(self) -> Floats:  # type: ignore[override]
        """Expected topics, (k, m): E beta = lambda / sum lambda; made when first asked for."""
        counts, updates = self.statistics_.term_topics, self.statistics_.updates
        cached = vars(self).get("_components")
        if cached is None or cached[0] is not counts or cached[1] != updates:
            cached = self._components = (counts, updates, self.statistics_.topics().T.copy())
        components: Floats = cached[2]
        return components

    def fit(
        self,
        X: Any,
        y: object = None,
        *,
        X_dev: Any = None,
        cluster: str | Client | None = None,
        traffic: Traffic | None = None,
    ) -> LDA:
        """Learn from a matrix of counts, a stream of such matrices, or documents if there is a vectorizer.

        The perplexity of the documents `X_dev` is watched, and says when to stop if `max_iter` is None. `cluster`, the
        address of a Dask scheduler or a client, lets its workers do the E steps of an update; `traffic` counts what
        travels.
        """
        engine, task = self._check()
        if cluster is not None and not isinstance(engine, Variational):
            raise DataError(f"method={engine.name!r} runs on one machine; leave out cluster, or take 'online'")
        self._start(X)
        chunks = self._chunks(X, engine.rows(), negative=False)
        watch = self._watch(X_dev, engine, task)
        with connect(cluster, traffic=traffic) as workers:
            learned = engine.fit(task.empty(), chunks, task, workers=workers, watch=watch)
        return self._take(learned, watch)

    def partial_fit(self, X: Any, y: object = None, *, cluster: str | Client | None = None) -> LDA:
        """Learn from further documents, update by update; new columns are new terms.

        >>> lda = LDA(n_topics=1, random_state=0).partial_fit(np.array([[1, 1]])).partial_fit(np.array([[2, 0, 1]]))
        >>> lda.documents_, lda.components_.shape
        (2, (1, 3))
        """
        engine, task = self._check()
        fitted = self.__sklearn_is_fitted__()
        if fitted:
            self._make_changeable()
        else:
            self._start(X)
        before = self.statistics_ if fitted else task.empty()
        chunks = self._chunks(X, engine.rows(), negative=False)
        with connect(cluster) as workers:
            learned = engine.add(before, chunks, task, workers=workers)
        if not fitted:
            return self._take(learned, None)
        self.statistics_, self.converged_ = learned.statistics, False
        self.n_iter_ += learned.n_iter
        self.trace_ = learned.trace if len(learned.trace) else self.trace_
        return self

    def transform(self, X: Any, *, method: str = "variational") -> Floats:
        """Return the mixtures of documents, one row each; a document without known words has that of alpha.

        `method` is "variational", which gives E theta and takes the uncertainty of the topics into account, or another
        method of `infer_topics`, which takes the expected topics as they are.
        """
        check_fitted(self)
        if method == "variational":
            parts = [mixtures(part, self._expected(), n_jobs=self.n_jobs) for part in self._weighed(X)]
        else:
            options: dict[str, Any] = {"method": method, "alpha": self.alpha_, "n_jobs": self.n_jobs}
            phi = self.statistics_.topics()
            parts = [infer_topics(part, phi, **options).theta for part in self.rows_of(X)]
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
        parts = list(self._weighed(X))
        topics = self._expected()
        phi = [word_topics(part, topics, infer(part, topics, n_jobs=self.n_jobs).gamma) for part in parts]
        if not parts:
            return sparse.csr_matrix((0, len(self.term_topics_))), np.zeros((0, len(self.alpha_)))
        return sparse.vstack(parts, format="csr"), np.concatenate(phi)

    def bound(self, X: Any) -> Bound:
        """Return the variational bound on the log-likelihood of documents, in nats, with its parts.

        The topics' part is counted once, whatever the number of documents.
        """
        topics, words, documents, count = self._expected(), 0.0, 0.0, 0.0
        for part in self._weighed(X):
            inferred = infer(part, topics, n_jobs=self.n_jobs)
            words += float(inferred.likelihood.sum())
            documents += float(document_parts(inferred.gamma, topics.alpha)[1].sum())
            count += float(part.data.sum())
        return Bound(words, documents, topics_part(topics), count)

    def perplexity(self, X: Any, *, method: str = "completion") -> float:
        """Return the perplexity of documents: exp of minus the log-likelihood of a word.

        `method` says what that is: "completion" scores one half of the words of each document, the other half given;
        "bound" takes the bound, without the topics' part; "left-to-right" estimates it by particles, slowly.
        """
        check_choice("method", method, ["completion", "bound", "left-to-right"])
        total, words = 0.0, 0.0
        topics, phi = self._expected(), self.statistics_.topics
        for part in self._weighed(X):
            if method == "completion":
                likelihood, count = completion(part, partial(mixtures, topics=topics, n_jobs=self.n_jobs), phi)
            elif method == "bound":
                inferred = infer(part, topics, n_jobs=self.n_jobs)
                gains = document_parts(inferred.gamma, self.alpha_)[1]
                likelihood, count = float(inferred.likelihood.sum() + gains.sum()), float(part.data.sum())
            else:
                seed = seed_of(self.random_state, 0)
                evidence = left_to_right(part, phi(), self.alpha_, random_state=seed, n_jobs=self.n_jobs)
                likelihood, count = float(evidence.sum()), float(part.data.sum())
            total, words = total + likelihood, words + count
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
        >>> round(float(one.blend(other, 0.5).topic_counts_.sum()), 3)
        30.0
        """
        check_range("rho", rho, at_least=0, at_most=1)
        return self._joined(other, np.arange(len(self.alpha_)), rho)

    def merge(self, other: LDA) -> LDA:
        """Return the model of both corpora: topics are paired by their words, and their statistics added."""
        order = align_topics(self, other)[0]
        return self._joined(other, order, other.size_ / (self.size_ + other.size_))

    def report(self) -> Convergence:
        """Return how training went, with dead topics and pairs of topics that are nearly one.

        >>> print(LDA(n_topics=2, method="batch", random_state=0, alpha=0.1).fit(np.eye(4) * 5).report())
        converged: 3 updates, 3 iterations, 4 documents, 20 words
        bound of a word, nats: -1.8994 at first, -1.3620 at last, 3 times
        """
        check_fitted(self)
        return Convergence(
            self.converged_,
            self.n_iter_,
            self.updates_,
            self.documents_,
            self.words_,
            self.trace_,
            self.perplexities_,
            dead_topics(self.topic_counts_),
            duplicate_topics(self.components_),
            self.objective(),
        )

    def make_writable(self) -> None:
        """Copy the arrays that are still mapped from a file, so that they may be changed in place."""
        super().make_writable()
        self.statistics_.make_writable()

    @classmethod
    def upgrade(cls, saved: Saved) -> Saved:
        """Format 1 had the parameters of all engines, and the statistics among its own arrays."""
        saved.parameters = _upgraded_parameters(saved.parameters)
        saved.format = 2
        if saved.fitted:
            arrays, state = saved.arrays, saved.state
            inner = Saved("topics.Statistics", 1)
            inner.arrays = {f"{name}": arrays.pop(f"{name}_") for name in ("term_topics", "topic_counts", "alpha")}
            inner.arrays["eta"] = np.ascontiguousarray(arrays.pop("eta_").T)
            if "term_weights_" in arrays:
                inner.arrays["term_weights"] = arrays.pop("term_weights_")
            inner.state = {name: state.pop(f"{name}_") for name in ("documents", "words", "updates", "size")}
            inner.state["weighting"] = saved.parameters["weighting"]
            saved.parts["statistics_"] = inner
            bounds, joint, passes = arrays.pop("bounds_"), arrays.pop("joint_"), state.pop("passes_")
            arrays["trace_"] = bounds if len(bounds) else joint
            state["n_iter_"] = inner.state["updates"] if len(joint) else passes
        return saved

    def objective(self) -> str:
        """Return what the figures of `trace_` are, in words."""
        return "bound of a word, nats" if isinstance(self._engine(), Variational) else "log P(words, topics)"

    def strengths(self) -> Floats:
        """Return a figure for each topic that is printed with it."""
        return self.topic_counts_ / max(float(self.topic_counts_.sum()), 1e-300)

    def _check(self) -> tuple[Engine, Task]:
        """Check the parameters; what learns, and what is asked of it."""
        check_range("n_topics", self.n_topics, at_least=1, at_most=MOST_TOPICS, whole=True)
        engine = self._engine()
        if self.max_iter is not None:
            check_range("max_iter", self.max_iter, at_least=1, whole=True)
        check_range("inner_max_iter", self.inner_max_iter, at_least=1, below=2**31, whole=True)
        check_range("inner_tolerance", self.inner_tolerance, at_least=0)
        if self.weighting is not None:
            check_choice("weighting", self.weighting, WEIGHTINGS)
            if not engine.weighs:
                raise DataError(
                    f"weighting={self.weighting!r} belongs to the methods online, batch and gibbs, not to "
                    f"{engine.name}; leave it out"
                )
        check_choice("dtype", self.dtype, ["float32", "float64"])
        alpha_of(self.alpha, self.n_topics)
        task = Task(**{field.name: getattr(self, field.name) for field in fields(Task)})
        engine.check(task)
        return engine, task

    def _engine(self) -> Engine:
        if isinstance(self.method, Engine):
            return self.method
        check_choice("method", self.method, list(ENGINES))
        return ENGINES[self.method]()

    def _take(self, learned: Learned, watch: HeldOut | None) -> LDA:
        """Become the model of what an engine has learned."""
        self.statistics_, self.trace_ = learned.statistics, learned.trace
        self.n_iter_, self.converged_ = learned.n_iter, learned.converged
        self.perplexities_ = np.array(watch.perplexities if watch else [], dtype=np.float64)
        self.evaluated_ = np.array(watch.updates if watch else [], dtype=np.int64)
        return self

    def _expected(self) -> Topics:
        """What an E step on new documents needs."""
        check_fitted(self)
        return self.statistics_.expected(max_iter=self.inner_max_iter, tolerance=self.inner_tolerance)

    def _watch(self, X_dev: Any, engine: Engine, task: Task) -> HeldOut | None:
        """What notes the perplexity of documents that are kept apart."""
        if X_dev is None:
            return None
        tolerance = engine.tolerance if isinstance(engine, Variational) else 0.0
        return HeldOut(gathered(self._chunks(X_dev, ROWS, negative=False)), task, tolerance=tolerance)

    def _joined(self, other: LDA, order: NDArray[np.intp], rho: float) -> LDA:
        """A new model of the statistics of both, the topics of the other in some order."""
        check_fitted(self)
        check_fitted(other)
        joined = LDA(**self.get_params(deep=False))
        joined.vectorizer_ = self.vectorizer_
        return joined._take(Learned(self.statistics_.joined(other.statistics_, order, rho)), None)

    def _weighed(self, X: Any) -> Iterator[sparse.csr_matrix]:
        """The chunks of an input for the fitted model, weighed as it takes them."""
        topics = self._expected()
        for part in self.rows_of(X):
            yield topics.weighed(part)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_components"}


def _upgraded_parameters(old: dict[str, Any]) -> dict[str, Any]:
    """The parameters of format 1 as they are grouped and called today."""
    renamed = {"offset": "learning_offset", "decay": "learning_decay", "inner_iterations": "inner_max_iter"}
    values = {renamed.get(name, name): value for name, value in old.items()}
    engine = ENGINES[values["method"]]
    passes, sweeps = values.pop("passes", None), values.pop("sweeps", 300)
    values["max_iter"] = passes if issubclass(engine, Variational) else None if sweeps == 300 else sweeps
    own = {field.name: field.default for field in fields(engine)}  # type: ignore[arg-type]
    options = {name: values[name] for name, usual in own.items() if values.get(name, usual) != usual}
    for name in {field.name for kind in ENGINES.values() for field in fields(kind)}:  # type: ignore[arg-type]
        values.pop(name, None)
    if options:
        values["method"] = {"options": [f"topics.{engine.__name__}", options]}
    return values
