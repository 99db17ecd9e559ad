"""A detector of incoherent documents: learned from good ones, applied to a stream of new ones.

    fit      topics from most of the good documents; forgeries made from the rest calibrate the decision
    scores   entropy of topics, LLPW, their combination; threshold for the document's length; probability; verdict
    explain  the topics of a document, and the sentences that the rest of it does not lead one to expect

Scores change with length (a short text shows little of its topics), so the threshold is a function of the length: at
each length of a grid the quantile of the combined score that only a share `false_alarms` of the held-out good
documents, cut to that length, exceed; between them interpolated in the logarithm of the length. A long document is not
its own beginning, so `LengthCurve.raised` then moves the curve until whole documents of each length keep to
the share. The same for LLPW gives a floor below which a document is `unfamiliar`: of another domain. The probability of
being forged is
logistic in (score, log length, their product), fitted to as many forged as good documents: it is to be read against
even odds.

    surprise of a sentence = mean over its words of log2 (p_average(w) / p_rest(w))       positive: offending

where p_average mixes the topics as the good documents do on average and p_rest as the other sentences of the document,
fifty on either side, suggest. Cost: that of the topic model in `fit`; one inference a document after. Reference: Misra,
Cappe & Yvon (2008), Using LDA to detect semantically incoherent documents.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats
from textmill.corpus import FUNCTION_WORDS, Document, Tokenizer, TokenizerLike, Vocabulary, texts_of
from textmill.errors import DataError, ModelFileError
from textmill.model import Estimator, Model, RandomState, Saved, check_choice, check_fitted, check_range, seed_of
from textmill.numeric import sparse
from textmill.optimize import fit_logistic, sigmoid
from textmill.progress import track
from textmill.tasks.coherence.calibration import LengthCurve
from textmill.tasks.coherence.content import Content, ContentReader, sentences_of
from textmill.tasks.coherence.forgery import KINDS, Forger
from textmill.tasks.coherence.scores import CoherenceScores, TopicScorer, combine, entropy, equal_error, tune_weight
from textmill.topics import LDA, fold_in

__all__ = ["CoherenceDetector", "DocumentScore", "Explanation", "SentenceScore"]


GRID = (10, 15, 20, 30, 40, 50, 60, 80, 100, 125, 150, 175, 200, 225, 300, 400, 600, 1000)  # lengths of calibration

_LEAST = 20  # good documents to calibrate a length with
_CHUNK = 1000  # documents scored together
_CLEAR = 0.1  # share of a document that makes a topic worth naming
_PULL = 5.0  # words that the average mixture counts for where a sentence is judged
_WINDOW = 50  # sentences on either side that count as the rest of the document
_SHORT = 3  # content words below which a sentence is not judged
_L2 = 0.01  # penalty of the weights of the probability


@dataclass(frozen=True, slots=True)
class DocumentScore:
    """What the detector found in a document.

    words, content words; unknown, the share of unknown ones among content words and these; entropy and llpw in bits;
    normalized, entropy / log2(topics); effective_topics; perplexity; score, entropy - weight x llpw; threshold, above
    which documents of this length are called incoherent; probability of being forged, at even odds; verdict,
    "coherent", "incoherent", "doubtful" (threshold and probability point to different sides) or "empty" (no content
    word: all scores are NaN); unfamiliar, whether the words are less likely than in good documents; topics, the main
    ones: number, share, words.
    """

    id: str
    words: int
    unknown: float
    entropy: float
    normalized: float
    effective_topics: float
    llpw: float
    perplexity: float
    score: float
    threshold: float
    probability: float
    verdict: str
    unfamiliar: bool
    topics: list[tuple[int, float, list[str]]]


@dataclass(frozen=True, slots=True)
class SentenceScore:
    """A sentence: its content words, main topic with its share, surprise in bits per word, and whether it offends."""

    text: str
    words: int
    topic: int
    share: float
    surprise: float
    offending: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """The score of a document, and of each of its sentences."""

    score: DocumentScore
    sentences: list[SentenceScore]


class CoherenceDetector(Estimator, Model):
    """Tell coherent documents from blended, shuffled, generated or stuffed ones.

    Parameters:
        n_topics: Number of topics.
        alpha: Prior of topics in documents.
        eta: Prior of words in topics.
        max_iter: Number of sweeps of the Gibbs sampler.
        smoothing: Prior count of each topic when the mixture of a document is inferred.
        function_words: Words that are left out.
        tokenizer: What cuts texts into words; None for words without numbers.
        held_out: Share of the documents that only calibrate.
        false_alarms: Share of good documents that may be called incoherent.
        forgeries: Kinds of forgeries that calibrate the probability and the weight.
        random_state: Seed of the random numbers.
        n_jobs: Number of threads; None for all cores.

    Attributes:
        components_: Topics, (k, m).
        vocabulary_: Words that are known.
        background_: Average mixture, (k,).
        weight_: Weight of the log-likelihood per word in the score.
        lengths_: Lengths of documents for which there are thresholds.
        thresholds_: Calibration by length: scores above which a document is incoherent.
        floors_: Calibration by length: the lower ends.
        calibration_: Coefficients of the probability, (4,).
        equal_errors_: Equal error rate of each kind of forgery on the held-out documents.

    >>> from textmill.tasks.coherence import sample_pages
    >>> detector = CoherenceDetector(n_topics=12, max_iter=50).fit(sample_pages(200))
    >>> pages = [page.text for page in sample_pages(3, random_state=8)]
    >>> detector.predict([pages[0], " ".join(pages), ""]).tolist()
    ['coherent', 'incoherent', 'empty']
    """

    takes: ClassVar[str] = "texts"
    format_version: ClassVar[int] = 2
    layout: ClassVar[dict[str, str]] = {
        "components_": "topic term",
        "background_": "topic",
        "lengths_": "length",
        "thresholds_": "length",
        "floors_": "length",
        "calibration_": "coefficient",
    }
    state: ClassVar[dict[str, type]] = {"weight_": float, "equal_errors_": dict}
    parts: ClassVar[dict[str, str]] = {"vocabulary_": "corpus.Vocabulary"}

    components_: Floats
    background_: Floats
    lengths_: Floats
    thresholds_: Floats
    floors_: Floats
    calibration_: Floats
    weight_: float
    equal_errors_: dict[str, float]
    vocabulary_: Vocabulary

    def __init__(
        self,
        *,
        n_topics: int = 50,
        alpha: float = 1.0,
        eta: float = 0.1,
        max_iter: int = 300,
        smoothing: float = 0.0,
        function_words: Collection[str] = FUNCTION_WORDS,
        tokenizer: TokenizerLike = None,
        held_out: float = 0.2,
        false_alarms: float = 0.05,
        forgeries: Sequence[str] = ("sentence-salad", "word-salad", "markov"),
        random_state: RandomState = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.alpha = alpha
        self.eta = eta
        self.max_iter = max_iter
        self.smoothing = smoothing
        self.function_words = function_words
        self.tokenizer = tokenizer
        self.held_out = held_out
        self.false_alarms = false_alarms
        self.forgeries = forgeries
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def upgrade(cls, saved: Saved) -> Saved:
        """Rename what format 1 called `sweeps`."""
        saved.parameters["max_iter"] = saved.parameters.pop("sweeps")
        return saved

    def fit(self, documents: Iterable[Any], y: object = None, *, topics: Any = None) -> CoherenceDetector:
        """Learn from good documents, texts or `Document`s; they are held in memory.

        `topics` are used in place of new ones: a fitted topic model with a vectorizer, or a pair of the matrix topics x
        terms and the list of terms, from wherever it comes. Then all documents calibrate, and should not be those that
        the topics were learned from.
        """
        self._check()
        texts = [one.text if isinstance(one, Document) else one for one in texts_of(documents)]
        seed = seed_of(self.random_state) % 2**32
        order = np.random.default_rng(seed).permutation(len(texts))
        held = round(self.held_out * len(texts)) if topics is None else len(texts)
        rest = [texts[i] for i in order[held:]]
        calibrating = [texts[i] for i in order[:held]]
        if topics is None:
            self._learn(rest, seed)
        else:
            self._take(topics)
        self._calibrate(calibrating, rest or calibrating, seed)
        return self

    def scores(self, documents: Iterable[Any]) -> Iterator[DocumentScore]:
        """Score a stream of documents, texts (which are numbered) or `Document`s (which have ids)."""
        if isinstance(documents, str):
            raise DataError("documents must be an iterable of texts, got one text; pass [text]")
        check_fitted(self)
        return self._stream(documents)

    def _stream(self, documents: Iterable[Any]) -> Iterator[DocumentScore]:
        reader, scorer = self._tools()
        stream = enumerate(track(documents, "scoring", unit="documents"))
        while chunk := list(islice(stream, _CHUNK)):
            names = [one.id if isinstance(one, Document) else str(i) for i, one in chunk]
            content = reader.read(one for _, one in chunk)
            scores = scorer.score(content.bags(reader.terms))
            yield from self._described(names, content, scores)

    def predict(self, documents: Iterable[Any]) -> NDArray[np.str_]:
        """Return the verdict on each document: "coherent", "incoherent", "doubtful" or "empty"."""
        return np.array([score.verdict for score in self.scores(documents)], dtype=str)

    def explain(self, document: str | Document) -> Explanation:
        """Score a document and each of its sentences; those that offend are better explained without the others."""
        (score,) = self.scores([document])
        text = document.text if isinstance(document, Document) else document
        reader, scorer = self._tools()
        sentences = sentences_of(text)
        X = reader.read(sentences).bags(reader.terms) if sentences else sparse.csr_matrix((0, reader.terms))
        rest = sparse.csr_matrix(_neighbors(len(sentences)) @ X)
        prior = _PULL * self.background_
        mixtures, own = (fold_in(bags, scorer.phi, prior=prior, n_jobs=self.n_jobs).theta for bags in (rest, X))
        average = np.repeat(self.background_[None, :], len(sentences), axis=0)
        gain = (scorer.likelihoods(X, average) - scorer.likelihoods(X, mixtures)) / np.log(2.0)
        words = np.asarray(X.sum(axis=1)).ravel()
        surprise = np.divide(gain, words, out=np.full(len(words), np.nan), where=words > 0)
        return Explanation(
            score,
            [
                SentenceScore(
                    sentence,
                    int(words[i]),
                    int(own[i].argmax()),
                    float(own[i].max()),
                    float(surprise[i]),
                    bool(words[i] >= _SHORT and surprise[i] > 0),
                )
                for i, sentence in enumerate(sentences)
            ],
        )

    def topic_words(self, topic: int, n_words: int = 8) -> list[str]:
        """Return the most likely words of a topic."""
        check_fitted(self)
        best = np.argsort(-self.components_[topic], kind="stable")[:n_words]
        return self.vocabulary_.terms_.take(best).to_list()

    def threshold(self, words: Any) -> Floats:
        """Return the score above which documents with this number of content words are called incoherent."""
        check_fitted(self)
        return LengthCurve(self.lengths_, self.thresholds_).at(words)

    def check_values(self) -> None:
        """Check what the layout cannot say of a detector from a file."""
        numbers = (self.components_, self.background_, self.thresholds_, self.floors_, self.calibration_)
        if not all(np.isfinite(one).all() for one in numbers) or self.components_.min(initial=0) < 0:
            raise ModelFileError("numbers must be finite, and probabilities not negative", reason="damaged")
        if len(self.calibration_) != 4 or not len(self.lengths_) or not (np.diff(self.lengths_) > 0).all():
            raise ModelFileError("the calibration by length is not one", reason="damaged")
        if self.lengths_[0] < 1 or self.components_.shape[1] != len(self.vocabulary_):
            raise ModelFileError("topics, terms and lengths do not belong together", reason="damaged")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_made"}  # made again on use

    def _check(self) -> None:
        check_range("n_topics", self.n_topics, at_least=1, whole=True)
        check_range("held_out", self.held_out, above=0, below=1)
        check_range("false_alarms", self.false_alarms, above=0, below=1)
        check_range("smoothing", self.smoothing, at_least=0)
        if isinstance(self.forgeries, str) or not self.forgeries:
            raise DataError(f"forgeries must be a list of kinds such as {KINDS[0]!r}, got {self.forgeries!r}")
        for kind in self.forgeries:
            check_choice("forgeries", kind, KINDS)

    def _learn(self, texts: list[str], seed: int) -> None:
        tokenizer = Tokenizer(digits="drop") if self.tokenizer is None else self.tokenizer
        vocabulary = Vocabulary(tokenizer=tokenizer, stop_words=list(self.function_words), n_jobs=self.n_jobs)
        if not texts:
            raise DataError(f"there are too few good documents; pass {_LEAST * 5} or more")
        X = vocabulary.fit_transform(texts)
        model = LDA(
            n_topics=self.n_topics,
            method="gibbs",
            alpha=self.alpha,
            eta=self.eta,
            max_iter=self.max_iter,
            random_state=seed,
            n_jobs=self.n_jobs,
        ).fit(X)
        self.components_, self.vocabulary_ = np.ascontiguousarray(model.components_, np.float64), vocabulary

    def _take(self, topics: Any) -> None:
        """Use topics that were learned elsewhere."""
        if hasattr(topics, "components_") and getattr(topics, "vectorizer_", None) is not None:
            components, vocabulary = topics.components_, topics.vectorizer_.vocabulary_
        elif isinstance(topics, tuple) and len(topics) == 2:
            components, terms = topics
            tokenizer = Tokenizer(digits="drop") if self.tokenizer is None else self.tokenizer
            vocabulary = Vocabulary(tokenizer=tokenizer, n_jobs=self.n_jobs).fit([list(terms)])
        else:
            raise DataError("topics must be a fitted model with a vectorizer, or a matrix topics x terms and its terms")
        matrix = np.array(components, dtype=np.float64, order="C")
        if matrix.ndim != 2 or matrix.shape[1] != len(vocabulary):
            raise DataError(
                f"the topics have the shape {matrix.shape}, but there are {len(vocabulary)} different terms; "
                "pass the vocabulary that the topics were learned with"
            )
        if not np.isfinite(matrix).all() or matrix.min(initial=0) < 0 or (matrix.sum(axis=1) <= 0).any():
            raise DataError("topics must be rows of numbers that are not negative, with a positive sum")
        self.components_, self.vocabulary_ = matrix / matrix.sum(axis=1, keepdims=True), vocabulary

    def _calibrate(self, good: list[str], learned: list[str], seed: int) -> None:
        """Find weight, thresholds by length, and the probability, from good documents and forgeries of them."""
        vars(self).pop("_made", None)
        reader, scorer = self._reader(), self._scorer()
        content = reader.read(good)
        usable = content.lengths >= GRID[0]
        if usable.sum() < _LEAST:
            raise DataError(
                f"only {int(usable.sum())} documents of {GRID[0]} content words or more are left to calibrate with; "
                f"pass at least {_LEAST} (share held_out={self.held_out} of all), or a larger share"
            )
        good = [text for text, use in zip(good, usable, strict=True) if use]
        content = content.take(usable)
        forger = Forger(good, reader, background=learned, random_state=seed)
        false = {kind: reader.read(forger.make(kind, content.lengths)) for kind in self.forgeries}
        true_scores = scorer.score(content.bags(reader.terms))
        false_scores = {kind: scorer.score(one.bags(reader.terms)) for kind, one in false.items()}
        self.background_ = true_scores.theta.mean(axis=0)
        self.weight_, _ = tune_weight(true_scores, false_scores)
        of_true = combine(true_scores.entropy, true_scores.llpw, self.weight_)
        self.equal_errors_ = {
            kind: equal_error(of_true, combine(one.entropy, one.llpw, self.weight_)).figure
            for kind, one in false_scores.items()
        }
        self._calibrate_lengths(content, false, reader, scorer)

    def _calibrate_lengths(
        self, true: Content, false: dict[str, Content], reader: ContentReader, scorer: TopicScorer
    ) -> None:
        lengths, thresholds, floors = [], [], []
        rows: list[Floats] = []
        labels: list[NDArray[np.int64]] = []
        for length in GRID:
            enough = true.lengths >= length
            if enough.sum() < _LEAST:
                break
            sides = [one.take(enough).first(length) for one in (true, *false.values())]
            scored = [scorer.score(one.bags(reader.terms)) for one in sides]
            scores = [combine(one.entropy, one.llpw, self.weight_) for one in scored]
            lengths.append(float(length))
            thresholds.append(float(np.quantile(scores[0], 1 - self.false_alarms)))
            floors.append(float(np.quantile(scored[0].llpw, self.false_alarms)))
            for i, side in enumerate(scores):
                side = side if i else np.tile(side, len(false))  # as many good as forged documents
                rows.append(_features(side, np.full(len(side), float(length))))
                labels.append(np.full(len(side), int(i > 0)))
        whole = scorer.score(true.bags(reader.terms))
        score = combine(whole.entropy, whole.llpw, self.weight_)
        grid = np.array(lengths)
        above = LengthCurve(grid, np.array(thresholds)).raised(true.lengths, score, self.false_alarms)
        below = LengthCurve(grid, np.array(floors)).lowered(true.lengths, whole.llpw, self.false_alarms)
        self.lengths_, self.thresholds_, self.floors_ = above.lengths, above.values, below.values
        X, forged = np.concatenate(rows), np.concatenate(labels)
        complete = ~np.isnan(X).any(axis=1)
        self.calibration_ = fit_logistic(X[complete], forged[complete], l2=_L2)

    def _reader(self) -> ContentReader:
        return ContentReader(self.vocabulary_, self.function_words, n_jobs=self.n_jobs)

    def _scorer(self) -> TopicScorer:
        return TopicScorer(self.components_, smoothing=self.smoothing, n_jobs=self.n_jobs)

    def _tools(self) -> tuple[ContentReader, TopicScorer]:
        """What documents are read and scored with; made once."""
        if "_made" not in vars(self):
            self._made = self._reader(), self._scorer()
        return self._made

    def _described(self, names: list[str], content: Content, scores: CoherenceScores) -> Iterator[DocumentScore]:
        score = combine(scores.entropy, scores.llpw, self.weight_)
        threshold = self.threshold(scores.words)
        floor = LengthCurve(self.lengths_, self.floors_).at(scores.words)
        logit = _features(score, np.maximum(scores.words, 1)) @ self.calibration_
        probability = sigmoid(logit)
        normalized = entropy(scores.theta, "normalized")
        for i, name in enumerate(names):
            empty = bool(scores.empty[i])
            total = int(content.lengths[i] + content.unknown[i])
            yield DocumentScore(
                id=name,
                words=int(scores.words[i]),
                unknown=float(content.unknown[i]) / total if total else float("nan"),
                entropy=float(scores.entropy[i]),
                normalized=float("nan") if empty else float(normalized[i]),
                effective_topics=float(2.0 ** scores.entropy[i]),
                llpw=float(scores.llpw[i]),
                perplexity=float(scores.perplexity[i]),
                score=float(score[i]),
                threshold=float("nan") if empty else float(threshold[i]),
                probability=float("nan") if empty else float(probability[i]),
                verdict="empty" if empty else _verdict(bool(score[i] > threshold[i]), float(probability[i])),
                unfamiliar=bool(scores.llpw[i] < floor[i]),
                topics=[] if empty else self._main_topics(scores.theta[i]),
            )

    def _main_topics(self, theta: Floats) -> list[tuple[int, float, list[str]]]:
        best = np.argsort(-theta, kind="stable")[:5]
        named = [int(t) for i, t in enumerate(best) if i == 0 or theta[t] >= _CLEAR]
        return [(t, float(theta[t]), self.topic_words(t)) for t in named]


def _neighbors(sentences: int) -> sparse.csr_matrix:
    """Which sentences are the rest of the document for which: all within the window but itself."""
    reach = min(_WINDOW, sentences - 1)
    offsets = [k for k in range(-reach, reach + 1) if k]
    if not offsets:
        return sparse.csr_matrix((sentences, sentences))
    return sparse.diags([1.0] * len(offsets), offsets, shape=(sentences, sentences), format="csr")


def _features(score: Floats, words: Floats) -> Floats:
    """What the probability is a function of."""
    length = np.log(words)
    return np.column_stack([np.ones(len(score)), score, length, score * length])


def _verdict(above: bool, probability: float) -> str:
    """What is said of a document above or below its threshold that is forged with this probability at even odds."""
    if above == (probability > 0.5):
        return "incoherent" if above else "coherent"
    return "doubtful"
