"""Naive Bayes over counts with honest event models: every word and class has a distribution of its own.

    log P(c | text) = log P(c) + sum_w log F_wc(x_w | n) + const        x_w: count of word w, n: length of the text

Words that are absent count too. With base_c(n) = sum_w log F_wc(0 | n), tabulated for every distinct length, the sum is
base_c(n) + sum_{w: x_w > 0} [log F_wc(x_w | n) - log F_wc(0 | n)]: as many terms as the text has words.

| event | F | smoothing a |
|---|---|---|
| binom, zibinom | binomial of p, with zero inflation z | p = (X + a) / (N + a V), in every step of the fit |
| betabinom, zibetabinom | p varies between texts by gamma | the same |
| poisson, zipoisson, negbinom, zinegbinom | mean mu n, shape kappa | mu = (X + a) / (N + a V) |
| bernoulli | whether the word is there, texts that are not empty | p = (D + a) / (texts + 2 a) |
| multinomial | baseline: all tokens from one urn | theta = (X + a) / (sum X + a V) |
| multivariate | baseline: bernoulli, empty texts too | p = (D + a) / (texts + 2 a) |

X counts occurrences in the class, N its tokens, D its texts with the word, V the columns. A word that a class has never
seen is not inflated: z would veto the class.

The statistics add: of multinomial, multivariate, bernoulli, binom and poisson they are sums by class, of the others the
rows themselves, ordered as they came; any chunking and any cluster gives the same model.

Words are ranked by the average mutual information of their presence with the class,
I = sum_c sum_{f in {0, 1}} P(c, f) log [P(c, f) / (P(c) P(f))].

Cost: one visit of every entry; fits as in counts.fitting. References: McCallum & Nigam (1998); Jansche (2003).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill._native import linear as native
from textmill.arrays import Floats, Ids
from textmill.cluster import connect
from textmill.corpus import NamedFeatures, Vocabulary, array_like, csr_arrays
from textmill.errors import DataError, ModelFileError
from textmill.linear.class_counts import ClassCounts, add, count_chunk, count_classes, mutual_information
from textmill.linear.classifier import Weights, classes_of, is_matrix, labels_of, require_rows, row_weights
from textmill.linear.counts.fitting import FAMILIES, CountFits, CountPrior, estimate_moments, fit_count_table
from textmill.linear.counts.tables import check_counts, check_exposure
from textmill.linear.left_out import smoothing_of_counts, smoothing_of_presence
from textmill.linear.word_evidence import Contributions, Topicality, explained, parameters_of_words, strongest_words
from textmill.model import Classifier, Model, check_choice, check_fitted, check_range, effective_jobs
from textmill.numeric import sparse, special
from textmill.vectors import TextVectorizer

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["EVENTS", "NaiveBayes"]

SUMMED = ("multinomial", "multivariate", "bernoulli", "binom", "poisson")  # of which sums by class are enough
FITTED = ("zibinom", "betabinom", "zibetabinom", "zipoisson", "negbinom", "zinegbinom")
EVENTS = (*SUMMED, *FITTED)
_ROWS = 4096  # of a chunk that a matrix is cut into
_NONE = np.empty((0, 0))


class NaiveBayes(Classifier, Model):
    """Classify texts by their word counts.

    Parameters:
        event: Model of a count; see the table of the module. The default, zibinom, needs no more than p and z, and z
            says how often a word is simply not on topic in a class.
        smoothing: a of the table; None chooses it by leaving texts out, see left_out.py.
        n_words: Number of words to keep, those of the highest mutual information with the class; None for all.
        length: What the length of a text counts: "all" tokens, or those of the "vocabulary" that is kept.
        class_prior: "estimated" from the training texts, "uniform", or a probability for each class in sorted order.
        method: How two parameters are fitted: "newton" (maximum likelihood) or, for betabinom and negbinom, "moments".
        vectorizer: With it the model takes texts (`TextVectorizer` with Weighting(scheme="nnn"), or `Vocabulary`) or
            mappings (`NamedFeatures`); an unfitted one is copied and fitted by `fit`. None: only matrices are taken.
        n_jobs: Threads; None for all cores. The model is the same for any number.

    Attributes:
        classes_: Labels, sorted, (K,).
        words_: Columns that are kept, (W,).
        first_, second_, z_: p or mu, gamma or kappa, and z, (W, K); of multinomial first_ is theta.
        log_prior_: Logarithms of the probabilities of the classes, (K,).
        occurrences_, documents_: Counts of occurrences and of texts by class and column, (K, V).
        tokens_, texts_: Tokens and texts by class, (K,).
        smoothing_: a that was used.
        information_: Mutual information of each column with the class, (V,).
        n_features_: Number of columns.
        vectorizer_: Fitted vectorizer, or None.

    >>> X = [[2, 0, 1], [3, 0, 0], [0, 2, 1], [0, 1, 0]]
    >>> model = NaiveBayes(event="binom").fit(X, ["mill", "mill", "sea", "sea"])
    >>> model.predict([[1, 0, 1], [0, 1, 0]]).tolist()
    ['mill', 'sea']
    """

    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "words_": "word: int32",
        "first_": "word class",
        "second_": "word class",
        "z_": "word class",
        "log_prior_": "class",
        "occurrences_": "class feature",
        "documents_": "class feature",
        "tokens_": "class",
        "texts_": "class",
        "nonempty_": "class",
        "information_": "feature",
    }
    state: ClassVar[dict[str, Any]] = {"n_features_": int}
    parts: ClassVar[dict[str, str]] = {
        "vectorizer": "vectors.TextVectorizer | corpus.Vocabulary | corpus.NamedFeatures",
        "vectorizer_": "vectors.TextVectorizer | corpus.Vocabulary | corpus.NamedFeatures",
    }

    words_: Ids
    first_: Floats
    second_: Floats
    z_: Floats
    log_prior_: Floats
    occurrences_: Floats
    documents_: Floats
    tokens_: Floats
    texts_: Floats
    nonempty_: Floats
    information_: Floats
    n_features_: int
    vectorizer_: TextVectorizer | Vocabulary | NamedFeatures | None

    def __init__(
        self,
        *,
        event: str = "zibinom",
        smoothing: float | None = None,
        n_words: int | None = None,
        length: str = "all",
        class_prior: str | Sequence[float] = "estimated",
        method: str = "newton",
        vectorizer: TextVectorizer | Vocabulary | NamedFeatures | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.event = event
        self.smoothing = smoothing
        self.n_words = n_words
        self.length = length
        self.class_prior = class_prior
        self.method = method
        self.vectorizer = vectorizer
        self.n_jobs = n_jobs

    @property
    def n_features_in_(self) -> int:
        """The number of columns, as scikit-learn asks for it."""
        check_fitted(self)
        return self.n_features_

    @property
    def smoothing_(self) -> float:
        """a of the table: the parameter, or what leaving texts out chooses."""
        check_fitted(self)
        return self._amount()

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        exposure: ArrayLike | None = None,
        cluster: str | Client | None = None,
    ) -> Self:
        """Learn from counts and labels.

        X is a matrix of counts, documents or mappings for the vectorizer, or chunks: an iterable of pairs (X, y) or
        triples (X, y, exposure), then y is None and X is read once. `exposure` has the length of each text, with the
        tokens that are no columns; without it lengths are the sums of rows, for texts the number of all their tokens.
        `cluster`, the address of a Dask scheduler or a client, lets its workers count.
        """
        self._check_parameters()
        for name in ("_statistics", "_cache"):
            vars(self).pop(name, None)
        if y is None or cluster is not None:
            return self._fit_chunks(X, y, sample_weight, exposure, cluster)
        rows, lengths = self._begin(X, y, exposure)
        labels = labels_of(y, rows.shape[0], self.classes_)
        weights = row_weights(sample_weight, labels, self.classes_, None)
        return self._learn(self._count(rows, labels, lengths, weights))

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Sequence[Any] | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        exposure: ArrayLike | None = None,
    ) -> Self:
        """Add the texts of one chunk; the model is that of all texts so far, whatever the chunks.

        `classes` are all labels of the stream; the first call needs them unless its rows have them all. Events that
        need more than sums keep the rows and fit them again; a model from a file has no rows and cannot go on.

        >>> X, y = [[2, 0, 1], [0, 2, 1], [3, 0, 0], [0, 1, 0]], ["mill", "sea", "mill", "sea"]
        >>> parts = NaiveBayes().partial_fit(X[:2], y[:2]).partial_fit(X[2:], y[2:])
        >>> bool((parts.first_ == NaiveBayes().fit(X, y).first_).all())
        True
        """
        self._check_parameters()
        before = self._before()
        if before is None:
            rows, lengths = self._begin(X, y, exposure, classes)
        else:
            if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise DataError(f"classes {sorted(set(classes))} are not those of the first call")
            rows, lengths = self._rows(X, exposure)
        labels = labels_of(y, rows.shape[0], self.classes_)
        weights = row_weights(sample_weight, labels, self.classes_, None)
        counted = self._count(rows, labels, lengths, weights)
        return self._learn(counted if before is None else before + counted)

    def decision_function(self, X: Any, *, exposure: ArrayLike | None = None) -> Floats:
        """Return log P(c) + log P(text | c) without the terms that are the same for every class, (rows, classes).

        >>> model = NaiveBayes(event="multinomial").fit([[2, 0], [0, 2]], ["a", "b"])
        >>> model.decision_function([[1, 0]]).argmax(axis=1).tolist()
        [0]
        """
        check_fitted(self)
        rows, lengths = self._rows(X, exposure)
        bucket = np.zeros(len(self.words_), np.int32)
        return np.asarray(self._scores(rows, lengths, bucket, 1)[0] + self.log_prior_)

    def predict(self, X: Any, *, exposure: ArrayLike | None = None) -> NDArray[Any]:
        """Return the most probable label of each row."""
        best = self.decision_function(X, exposure=exposure).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[best]
        return labels

    def predict_proba(self, X: Any, *, exposure: ArrayLike | None = None) -> Floats:
        """Return the probability of each class; words are taken as independent, so most are near 0 or 1."""
        rows: Floats = special.softmax(self.decision_function(X, exposure=exposure), axis=1)
        return rows

    def predict_log_proba(self, X: Any, *, exposure: ArrayLike | None = None) -> Floats:
        """Return the logarithms of the probabilities."""
        rows: Floats = special.log_softmax(self.decision_function(X, exposure=exposure), axis=1)
        return rows

    def ranking(self) -> Ids:
        """Return the words that are kept, as places in `words_`, by falling mutual information.

        >>> NaiveBayes().fit([[1, 2, 1], [1, 0, 0], [0, 0, 2], [0, 3, 2]], ["a", "a", "b", "b"]).ranking().tolist()
        [0, 2, 1]
        """
        check_fitted(self)
        order = np.argsort(-self.information_[self.words_], kind="stable")
        return order.astype(np.int32)

    def strongest(self, k: int = 20) -> Weights:
        """Return the words that speak most for each class: how much one occurrence in a text of mean length adds to the
        log probability of the class, above the other classes; words are ranked by that times their share of texts.

        >>> NaiveBayes().fit([[2, 0, 1], [3, 0, 1], [0, 2, 1], [0, 1, 1]], ["a", "a", "b", "b"]).strongest(1).features
        ['0', '1']
        """
        check_fitted(self)
        return strongest_words(self, k)

    def explain(self, X: Any, *, exposure: ArrayLike | None = None) -> list[Contributions]:
        """Return for each text what its words say for the best class against the second best.

        >>> model = NaiveBayes(event="multinomial").fit([[2, 0], [0, 2]], ["a", "b"])
        >>> words = model.explain([[3, 1]])[0]
        >>> words.label, words.features, [round(weight, 2) for weight in words.weights]
        ('a', ['0', '1'], [9.13, -3.04])
        """
        check_fitted(self)
        return explained(self, X, exposure)

    def topicality(self, label: Any, k: int | None = None) -> Topicality:
        """Return the words of a class, those of the highest mutual information first, with their parameters.

        >>> model = NaiveBayes().fit([[9, 1], [0, 1], [0, 2], [1, 1]], ["a", "a", "b", "b"])
        >>> model.topicality("a").to_dict()["feature"]
        ['0', '1']
        """
        check_fitted(self)
        return parameters_of_words(self, label, k)

    def feature_names(self) -> list[str] | None:
        """Names of the columns, where a vectorizer knows them."""
        check_fitted(self)
        if self.vectorizer_ is None:
            return None
        return [str(name) for name in self.vectorizer_.get_feature_names_out()]

    def check_values(self) -> None:
        """Check that parameters lie where they can be."""
        words = self.words_
        if len(words) and not ((words >= 0) & (words < self.n_features_)).all():
            raise ModelFileError("'words_' has columns that the model does not have", reason="damaged")
        probability = self._family in (FAMILIES["binom"], FAMILIES["betabinom"]) and self.event not in SUMMED
        most = 1.0 if probability else np.inf
        if not (np.isfinite(self.first_).all() and (self.first_ >= 0).all() and (self.first_ <= most).all()):
            raise ModelFileError("'first_' holds parameters that are no probabilities or rates", reason="damaged")
        if not ((self.z_ >= 0) & (self.z_ <= 1)).all() or np.isnan(self.second_).any():
            raise ModelFileError("'z_' or 'second_' hold parameters that are out of range", reason="damaged")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = self.vectorizer is not None
        tags.input_tags.positive_only = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_cache"}

    def _check_parameters(self) -> None:
        check_choice("event", self.event, EVENTS)
        check_choice("length", self.length, ("all", "vocabulary"))
        check_choice("method", self.method, ("newton", "moments"))
        if self.method == "moments" and self.event not in ("betabinom", "negbinom"):
            raise DataError(f"moments are for betabinom and negbinom, not for {self.event}; use method='newton'")
        if self.smoothing is not None:
            check_range("smoothing", self.smoothing, above=0, below=np.inf)
        if self.n_words is not None:
            check_range("n_words", self.n_words, at_least=1, whole=True)
        if isinstance(self.class_prior, str):
            check_choice("class_prior", self.class_prior, ("estimated", "uniform"))

    def _amount(self) -> float:
        """a of the smoothing."""
        if self.smoothing is not None:
            return float(self.smoothing)
        if self.event in ("bernoulli", "multivariate"):
            texts = self.nonempty_ if self.event == "bernoulli" else self.texts_
            return smoothing_of_presence(self.documents_, texts)
        return smoothing_of_counts(self.occurrences_, self.documents_, self.tokens_, self.texts_)

    def _begin(
        self, X: Any, y: Any, exposure: ArrayLike | None, classes: Sequence[Any] | None = None
    ) -> tuple[Any, Floats]:
        """Start a fit: labels, vectorizer, columns."""
        vectorizer = self.vectorizer
        X = array_like(X)
        if vectorizer is not None and not is_matrix(X) and not vectorizer.__sklearn_is_fitted__():
            vectorizer = type(vectorizer)(**vectorizer.get_params(deep=False))
            X = list(X.texts()) if hasattr(X, "texts") else list(X)
            vectorizer.fit(X)
        self.vectorizer_ = vectorizer if vectorizer is not None and vectorizer.__sklearn_is_fitted__() else None
        self.classes_ = classes_of(y if classes is None else classes)
        rows, lengths = self._rows(X, exposure, fitted=False)
        require_rows(rows)
        self.n_features_ = int(rows.shape[1])
        return rows, lengths

    def _rows(self, X: Any, exposure: ArrayLike | None, *, fitted: bool = True) -> tuple[Any, Floats]:
        """X as sparse rows of counts, and the lengths of the texts."""
        X = array_like(X)
        if is_matrix(X):
            rows = check_counts(X)
        elif self.vectorizer_ is None:
            raise DataError("X holds no numbers, and this model has no vectorizer; pass vectorizer=, or a matrix")
        else:
            documents = list(X.texts()) if hasattr(X, "texts") else list(X)
            rows = check_counts(self.vectorizer_.transform(documents))
            if exposure is None and self.length == "all":
                exposure = _all_tokens(self.vectorizer_, documents)
        if fitted and rows.shape[1] != self.n_features_:
            raise DataError(
                f"X has {rows.shape[1]} features, but NaiveBayes is expecting {self.n_features_} features as input; "
                "pass rows over the same columns"
            )
        if exposure is None and self.event in ("multinomial", "multivariate") and fitted:
            return rows, np.zeros(rows.shape[0])  # lengths say nothing there
        bounded = self.event not in ("multinomial", "multivariate")
        return rows, check_exposure(rows, exposure, bounded=bounded and exposure is not None)

    def _count(self, rows: Any, labels: Ids, lengths: Floats, weights: Floats) -> ClassCounts:
        """The statistics of some texts."""
        keeps_rows = self.event not in SUMMED
        return count_classes(
            rows, labels, lengths, weights, len(self.classes_), keeps_rows, effective_jobs(self.n_jobs)
        )

    def _before(self) -> ClassCounts | None:
        """The statistics of the texts so far, None before the first."""
        if not self.__sklearn_is_fitted__():
            return None
        check_fitted(self)
        statistics: ClassCounts | None = vars(self).get("_statistics")
        if statistics is not None:
            return statistics
        if self.event not in SUMMED:
            raise DataError(
                f"a model file has no rows, which event '{self.event}' needs to go on; fit again, or use event='binom'"
            )
        return ClassCounts(self.occurrences_, self.documents_, self.tokens_, self.nonempty_, self.texts_, None)

    def _learn(self, statistics: ClassCounts) -> Self:
        """Fit every word and class to the statistics."""
        vars(self).pop("_cache", None)
        self._statistics = statistics
        self.occurrences_, self.documents_ = statistics.occurrences, statistics.documents
        self.tokens_, self.texts_, self.nonempty_ = statistics.tokens, statistics.all_texts, statistics.texts
        self.information_ = mutual_information(self.documents_, self.texts_)
        self.words_ = np.arange(self.n_features_, dtype=np.int32)
        if self.n_words is not None and self.n_words < self.n_features_:
            order = np.argsort(-self.information_, kind="stable")[: self.n_words]
            self.words_ = np.sort(order).astype(np.int32)
        self.log_prior_ = self._log_prior()
        shape = (len(self.words_), len(self.classes_))
        self.second_, self.z_ = np.zeros(shape), np.zeros(shape)
        if self.event in ("negbinom", "zinegbinom", "poisson", "zipoisson"):
            self.second_ = np.full(shape, np.inf)
        if self.event in SUMMED:
            self.first_ = self._closed_form()
        else:
            self._fit_words(statistics)
        return self

    def _log_prior(self) -> Floats:
        if isinstance(self.class_prior, str):
            weights = self.texts_ if self.class_prior == "estimated" else np.ones(len(self.classes_))
            weights = np.maximum(weights, 1e-300)  # a class of the stream that has not come yet
        else:
            weights = np.asarray(self.class_prior, np.float64)
            if weights.shape != (len(self.classes_),) or not (np.isfinite(weights) & (weights > 0)).all():
                raise DataError(f"class_prior needs a number above 0 for each of {len(self.classes_)} classes")
        return np.asarray(np.log(weights / weights.sum()))

    def _closed_form(self) -> Floats:
        """p, mu or theta of events whose sums are enough, (W, K)."""
        a = self._amount()
        columns = slice(None) if len(self.words_) == self.n_features_ else self.words_
        if self.event in ("bernoulli", "multivariate"):
            texts = self.nonempty_ if self.event == "bernoulli" else self.texts_
            return np.ascontiguousarray(((self.documents_[:, columns] + a) / (texts + 2 * a)[:, None]).T)
        counts = self.occurrences_[:, columns]
        if self.event == "multinomial":
            below = counts.sum(axis=1) + a * len(self.words_)
        else:
            below = self._tokens() + a * self.n_features_
        return np.ascontiguousarray((counts.T + a) / below)

    def _tokens(self) -> Floats:
        """Tokens of each class, as far as they count for the length."""
        return self.tokens_ if self.length == "all" else self.occurrences_[:, self.words_].sum(axis=1)

    def _fit_words(self, statistics: ClassCounts) -> None:
        assert statistics.rows is not None
        X, labels, lengths, weights = statistics.rows
        if len(self.words_) < self.n_features_:
            X = X[:, self.words_].tocsr()
        if self.length == "vocabulary":
            lengths = np.asarray(X.sum(axis=1), np.float64).ravel()
        a, columns = self._amount(), self.n_features_
        is_rate = "poisson" in self.event or "negbinom" in self.event
        prior = CountPrior(success=a, failure=a * (columns if is_rate else max(columns - 1, 1)))
        classes = len(self.classes_)
        if self.method == "moments":
            fits = CountFits(self.event, range(classes), None, X.shape[1], self.texts_)
            estimate_moments(fits, X, labels, lengths, weights)
            below = self._tokens() + a * columns
            self.first_ = np.ascontiguousarray((self.occurrences_[:, self.words_].T + a) / below)
        else:
            # every class has its place, though it may have no text yet
            X = sparse.vstack([X, sparse.csr_matrix((classes, X.shape[1]), dtype=X.dtype)], format="csr")
            fits = fit_count_table(
                X,
                self.event,
                np.concatenate([labels, np.arange(classes)]),
                exposure=np.concatenate([lengths, np.zeros(classes)]),
                sample_weight=np.concatenate([weights, np.zeros(classes)]),
                prior=prior,
                n_jobs=self.n_jobs,
            )
            self.first_ = np.ascontiguousarray(fits.first.T)
            self.z_ = np.ascontiguousarray(fits.z.T)
        self.second_ = np.ascontiguousarray(fits.second.T)
        if not is_rate:
            self.first_ = np.minimum(self.first_, 1 - 1e-12)
            self.second_ = np.clip(self.second_, 0.0, 1 - 1e-9)

    def _scores(self, rows: Any, lengths: Floats, bucket: Ids, buckets: int) -> Floats:
        """Scores without the prior, (buckets, rows, classes)."""
        if len(self.words_) < self.n_features_:
            rows = rows[:, self.words_].tocsr()
        if self.length == "vocabulary":
            lengths = np.asarray(rows.sum(axis=1), np.float64).ravel()
        scores = self._words_scores(rows, lengths, bucket, buckets)
        if self.event == "multinomial":
            return scores
        distinct, places = np.unique(np.ones(1) if self.event == "multivariate" else lengths, return_inverse=True)
        zeros = np.empty((buckets, len(distinct), len(self.classes_)))
        presence = self.event in ("bernoulli", "multivariate")
        native.zero_sums(
            self._family, presence, self.first_, self.second_, self.z_, distinct, bucket, zeros,
            effective_jobs(self.n_jobs),
        )  # fmt: skip
        return np.asarray(scores + (zeros if self.event == "multivariate" else zeros[:, places]))

    def _words_scores(self, rows: Any, lengths: Floats, bucket: Ids, buckets: int) -> Floats:
        """What the words that are there add, (buckets, rows, classes)."""
        is_linear = self.event in SUMMED
        presence = self.event in ("bernoulli", "multivariate")
        out = np.zeros((buckets, rows.shape[0], len(self.classes_)))
        counts = rows.data if rows.data.dtype in (np.int32, np.float64) else rows.data.astype(np.float64)
        offsets, columns, _ = csr_arrays(rows)
        native.score_counts(
            self._family, is_linear, presence,
            _NONE if is_linear else self.first_, _NONE if is_linear else self.second_, _NONE if is_linear else self.z_,
            self._weights(), offsets, columns, counts, lengths, bucket, out, effective_jobs(self.n_jobs),
        )  # fmt: skip
        return out

    @property
    def _family(self) -> int:
        return FAMILIES.get(self.event.removeprefix("zi"), FAMILIES["binom"])

    def _weights(self) -> Floats:
        """Weights of counts, (W, K), made when first asked for."""
        cached: Floats | None = vars(self).get("_cache")
        if cached is None:
            if self.event in ("multinomial", "poisson"):
                cached = np.log(self.first_)
            elif self._family == FAMILIES["binom"]:
                cached = np.log(self.first_) - np.log1p(-self.first_)
            else:
                cached = np.zeros_like(self.first_)
            self._cache = cached
        return cached

    def _fit_chunks(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, exposure: ArrayLike | None, cluster: Any
    ) -> Self:
        """Count chunks, in this process or on a cluster; a matrix is cut into them."""
        chunks: list[Any]
        if y is not None:
            rows, lengths = self._begin(X, y, exposure)
            labels = labels_of(y, rows.shape[0], self.classes_)
            weights = row_weights(sample_weight, labels, self.classes_, None)
            cuts = [*range(0, rows.shape[0], _ROWS), rows.shape[0]]
            chunks = [(rows[a:b], labels[a:b], lengths[a:b], weights[a:b]) for a, b in pairwise(cuts)]
        else:
            chunks = self._taken(X)
        with connect(cluster) as workers:
            threads = effective_jobs(workers.worker_jobs(self.n_jobs))
            statistics = workers.map_reduce(
                count_chunk, chunks, add, (len(self.classes_), self.event not in SUMMED, threads)
            )
        return self._learn(statistics)

    def _taken(self, X: Any) -> list[Any]:
        """Chunks (X, y) or (X, y, exposure), with numbers for the labels."""
        if not isinstance(X, Iterable) or hasattr(X, "shape"):
            raise DataError("requires y to be passed, but the target y is None; pass y, or chunks of (X, y)")
        parts: list[Any] = []
        for chunk in X:
            if not isinstance(chunk, tuple) or len(chunk) not in (2, 3):
                raise DataError("a chunk must be (X, y) or (X, y, exposure); requires y to be passed with X otherwise")
            parts.append(chunk)
        if not parts:
            raise DataError("there are no chunks; pass at least one (X, y)")
        self.classes_ = classes_of(np.concatenate([np.asarray(chunk[1]) for chunk in parts]))
        self.vectorizer_ = None
        self.n_features_ = int(check_counts(parts[0][0]).shape[1])
        out = []
        for chunk in parts:
            rows, lengths = self._rows(chunk[0], chunk[2] if len(chunk) > 2 else None)
            labels = labels_of(chunk[1], rows.shape[0], self.classes_)
            out.append((rows, labels, lengths, np.ones(rows.shape[0])))
        return out


def _all_tokens(vectorizer: TextVectorizer | Vocabulary | NamedFeatures, documents: list[Any]) -> Floats | None:
    """The lengths of texts in terms of the vocabulary's kind, with those that are no columns; None for features."""
    if isinstance(vectorizer, NamedFeatures):
        return None
    vocabulary = vectorizer if isinstance(vectorizer, Vocabulary) else vectorizer.vocabulary_
    plain = Vocabulary(tokenizer=vocabulary.tokenizer, ngrams=vocabulary.ngrams, n_jobs=vocabulary.n_jobs)
    return np.asarray(plain.fit_transform(documents).sum(axis=1), np.float64).ravel()
