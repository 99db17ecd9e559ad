"""Is this sentence all right? A judge of single sentences, learned from raw text.

    documents -> split (documents.py)
      vocabulary   words that occur min_count times
      lm           n-gram model, from which negatives are sampled; word classes
      train        positives; in each pass as many fresh negatives -> features -> passive-aggressive rounds
      dev          curve of probabilities, threshold of the baseline

    f(s) > 0: all right; f is moved so that P(right) is a half at 0. The baseline says so where log P(s) / |s| is above
    a threshold.

N-gram models know what is likely, not what is right: a sampled sentence is fluent from word to word and lacks a verb,
or changes its subject halfway. The learner sees which conjunctions of classes occur in sentences that are right and not
in samples. Sentences that are wrong in a way that no n-gram model writes are better found by that model: `scores` has
its log probability beside the margin.

Cost: training is dominated by the rounds, features x active sentences each. Reference: Okanohara & Tsujii (2007), A
discriminative language model with pseudo-negative samples.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats, Ints, Masks
from textmill.corpus import TokenizerLike
from textmill.errors import DataError
from textmill.lm import ExpandedKernel, FeatureSets, NGramModel, PassiveAggressive, WordClasses
from textmill.model import Estimator, Model, Saved, StringTable, check_choice, check_fitted, check_range, effective_jobs
from textmill.optimize import sigmoid
from textmill.progress import interruptible, track
from textmill.tables import Table
from textmill.tasks.fluency.documents import SHARES, CorpusSplit, read_sentences, split_corpus, words_of
from textmill.tasks.fluency.encoded import Encoded, SeenSentences
from textmill.tasks.fluency.features import (
    FeatureView,
    View,
    class_view,
    feature_sets,
    needs_classes,
    parse_features,
    tag_view,
    word_view,
)
from textmill.tasks.fluency.negatives import draw_negatives

__all__ = ["FluencyModel", "SentenceScores", "UnknownWords", "seed_for"]

BEGIN = 1  # id of the start symbol in n-gram models
_UNKNOWN_SHARE = 0.8  # of unknown words in positives, above which nothing can be learned
_UNFAMILIAR = 0.5  # share of unknown words of sentences above which a warning is due
_FINE = 4  # fine classes for each class
_SOFTNESS = 0.3  # chosen on Brown, Reuters and Spanish text of other seeds than those reported
_FEW = 20  # words, of which unknown ones say nothing
_SEEDS = {"split": 0, "pass": 1, "dev": 2, "test": 3, "order": 4, "match": 5, "sheet": 6}


def seed_for(random_state: int, purpose: str, number: int = 0) -> int:
    """Return a seed of its own for each thing that is drawn, so that no two draw the same sentences.

    >>> seed_for(0, "pass", 0) != seed_for(0, "pass", 1) != seed_for(0, "test")
    True
    """
    return int(np.random.SeedSequence([random_state, _SEEDS[purpose], number]).generate_state(1)[0])


class UnknownWords(UserWarning):
    """Most words of the sentences are unknown to the judge: another language or kind of text."""


class SentenceScores(Table):
    """Sentences judged: margin, probability that all is right, log10 probability of a word by the n-gram model.

    `words` and `unknown` are numbers of words; `right` says whether the margin is above the threshold.
    """

    def __init__(self, margin: Floats, probability: Floats, log10: Floats, words: Ints, unknown: Ints, right: Masks):
        self.margin, self.probability, self.log10 = margin, probability, log10
        self.words, self.unknown, self.right = words, unknown, right

    def columns(self) -> dict[str, Any]:
        """Return one row for each sentence."""
        return {
            "right": self.right,
            "margin": self.margin,
            "probability": self.probability,
            "log10": self.log10,
            "words": self.words,
            "unknown": self.unknown,
        }


class FluencyModel(Estimator, Model):
    """Tell sentences that are right from sentences that an n-gram model would write.

    Parameters:
        features: What is looked at, such as "class:2" or "class:2,word:3"; see `features.py`.
        n_classes: Number of word classes, for "fine" four times as many; at most as many as there are words.
        max_length: Number of words of the longest chunk that has a class.
        kernel: "polynomial", "linear" or "rbf".
        degree: Degree of the polynomial kernel.
        gamma: Factor of the distance in rbf.
        rule: How far a round goes: "pa", "pa1" or "pa2", see `PassiveAggressive`.
        cost: Price of a margin that is missed; None for 1 / (0.6 k), with k the mean of K(x, x), which suits any kernel
            and features: a round of "pa2" then goes three quarters of the way.
        max_iter: Passes over the positives, each with fresh negatives.
        averaged: Whether to take the mean of the models after all rounds.
        order: Length of the longest n-gram of the sampler.
        smoothing: That of the sampler, see `NGramModel`.
        min_count: Words that occur less often in the text of the vocabulary are unknown.
        vocabulary: Where known words come from: documents kept "apart", or the text of the language model ("lm"), which
            gives positives away by their unknown words.
        split: What is shared out: "document", or "sentence", which gives higher figures than new documents do.
        min_words: Number of words of the shortest sentence.
        max_words: Number of words of the longest sentence.
        tagger: Gives each word of sentences a tag, for features "pos"; anything with `predict`, such as a `CRF`.
        tokenizer: What cuts sentences into words; None for words in their case and marks of punctuation.
        random_state: Seed of the split, of negatives and of orders.
        n_jobs: Threads; None for all cores. The model is the same for any number.

    Attributes:
        lm_: The n-gram model.
        word_classes_: The word classes, or None.
        fine_classes_: The fine ones, or None.
        learner_: The learner, a `PassiveAggressive`.
        lm_threshold_: Log10 probability of a word above which the baseline says "right".
        tags_: Tags seen in training, (T,).
        trace_: Accuracy on development sentences after each pass.
        sizes_: Number of sentences of each part.
        text_digests_, drawn_digests_: Sentences of the text and negatives of training, as numbers in ascending order;
            what is drawn later repeats none of them.

    >>> from textmill.tasks.fluency import sample_documents
    >>> model = FluencyModel(n_classes=8, order=2, min_count=1).fit(sample_documents(60))
    >>> model.scores(["the old miller sees the river ."]).words.tolist()
    [7]
    """

    takes: ClassVar[str] = "texts"
    format_version: ClassVar[int] = 3
    layout: ClassVar[dict[str, str]] = {
        "tags_": "tag: str",
        "trace_": "pass",
        "text_digests_": "sentence: uint64",
        "drawn_digests_": "negative: uint64",
    }
    state: ClassVar[dict[str, Any]] = {"lm_threshold_": float, "sizes_": dict}
    parts: ClassVar[dict[str, str]] = {
        "lm_": "lm.NGramModel",
        "word_classes_": "lm.WordClasses",
        "fine_classes_": "lm.WordClasses",
        "learner_": "lm.PassiveAggressive",
        "tagger": "sequence.CRF",
    }

    lm_: NGramModel
    word_classes_: WordClasses | None
    fine_classes_: WordClasses | None
    learner_: PassiveAggressive
    lm_threshold_: float
    tags_: StringTable
    trace_: Floats
    sizes_: dict[str, int]
    text_digests_: NDArray[np.uint64]
    drawn_digests_: NDArray[np.uint64]

    def __init__(
        self,
        *,
        features: str = "class:2,fine:1",
        n_classes: int = 50,
        max_length: int = 1,
        kernel: str = "polynomial",
        degree: int = 2,
        gamma: float = 0.02,
        rule: str = "pa2",
        cost: float | None = None,
        max_iter: int = 2,
        averaged: bool = True,
        order: int = 3,
        smoothing: str = "modified-kneser-ney",
        min_count: int = 2,
        vocabulary: str = "apart",
        split: str = "document",
        min_words: int = 5,
        max_words: int = 200,
        tagger: Any = None,
        tokenizer: TokenizerLike = None,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.features = features
        self.n_classes = n_classes
        self.max_length = max_length
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.rule = rule
        self.cost = cost
        self.max_iter = max_iter
        self.averaged = averaged
        self.order = order
        self.smoothing = smoothing
        self.min_count = min_count
        self.vocabulary = vocabulary
        self.split = split
        self.min_words = min_words
        self.max_words = max_words
        self.tagger = tagger
        self.tokenizer = tokenizer
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, documents: Any, y: object = None, *, negatives: Any = None) -> FluencyModel:
        """Learn from documents, or from a `CorpusSplit`; `negatives` is another source of wrong sentences.

        Documents are texts, `Document`s or lists of sentences. They are split here, without a part for tests; to
        evaluate, split them first with `split_corpus` and keep its test part.
        """
        views = self._check()
        parts = documents if isinstance(documents, CorpusSplit) else self._split(documents)
        self._learn_language(parts, views)
        train, dev = (self._encoded_part(parts, part) for part in ("train", "dev"))
        text = Encoded.joined([Encoded(*self.lm_.encode(parts.sentences("lm"))), train, dev])
        seen = set(text.keys())
        self.text_digests_ = np.unique(text.digests())
        self.tags_ = StringTable(self._tags(train, views))
        source = self.lm_ if negatives is None else negatives
        wrong = self._draw(source, dev.size, seen, "dev")
        dev_sets = FeatureSets.joined([self.sets(dev), self.sets(wrong)])
        dev_labels = np.repeat(np.array([1, -1]), [dev.size, wrong.size])
        drawn = self._learn(source, train, seen, dev_sets, dev_labels)
        self.drawn_digests_ = np.unique(np.concatenate([wrong.digests(), *drawn]))
        self.learner_.calibrate(dev_sets, dev_labels)
        scores = np.concatenate([self.log_scores(dev), self.log_scores(wrong)])
        self.lm_threshold_ = _best_threshold(scores, dev_labels > 0)
        return self

    def decision_function(self, sentences: Iterable[Any]) -> Floats:
        """Return the margin of each sentence, a text or a list of words; above 0 means right."""
        return self.margins(self.encode(sentences))

    def predict(self, sentences: Iterable[Any]) -> Ints:
        """Return 1 for each sentence that is right, -1 for others."""
        return np.where(self.decision_function(sentences) > 0, 1, -1)

    def predict_proba(self, sentences: Iterable[Any]) -> Floats:
        """Return the probability that each sentence is right, as good as real sentences beside sampled ones."""
        return self._probabilities(self.decision_function(sentences))

    def score(self, sentences: Iterable[Any], y: Any) -> float:
        """Return the share of sentences whose label, 1 or -1, is predicted."""
        return float(np.mean(self.predict(sentences) == np.asarray(y)))

    def scores(self, sentences: Iterable[Any], *, threshold: float = 0.0) -> SentenceScores:
        """Return what is known of each sentence; `threshold` is the margin above which a sentence is right."""
        encoded = self.encode(sentences)
        margins = self.margins(encoded)
        return SentenceScores(
            margins,
            self._probabilities(margins),
            self.log_scores(encoded),
            encoded.lengths(),
            encoded.unknown(),
            margins > threshold,
        )

    def encode(self, sentences: Iterable[Any]) -> Encoded:
        """Return sentences as ids of the words of the model; warns if most are unknown."""
        check_fitted(self)
        if isinstance(sentences, str):
            raise DataError("sentences is one text; pass a list of sentences")
        encoded = Encoded(*self.lm_.encode(list(words_of(sentences, self.tokenizer))))
        unknown = float(np.mean(encoded.ids == 0)) if len(encoded.ids) else 0.0
        if unknown > _UNFAMILIAR and len(encoded.ids) >= _FEW:
            warnings.warn(
                f"{100 * unknown:.0f} % of the words are unknown to this judge, so it cannot tell much of them; is it "
                "another language or kind of text?",
                UnknownWords,
                stacklevel=2,
            )
        return encoded

    def margins(self, sentences: Encoded) -> Floats:
        """Return the margins of sentences as ids; 0 is where right and wrong are equally probable."""
        sets = self.sets(sentences)
        if self.kernel != "polynomial":
            return self.learner_.margins(sets) + self.margin_shift()
        if "_expanded" not in vars(self):
            self._expanded = ExpandedKernel(self.learner_)
        return self._expanded.decision_function(sets) + self.margin_shift()

    def margin_shift(self) -> float:
        """Return what is added to the margins of the learner, so that the verdict and the probability agree.

        P(right) = 1 / (1 + exp(-(a m + b))) by the curve of the development sentences is a half at m = -b / a.
        """
        slope, intercept = self.learner_.slope_, self.learner_.intercept_
        return 0.0 if slope is None or intercept is None or slope <= 0 else intercept / slope

    def log_scores(self, sentences: Encoded) -> Floats:
        """Return the log10 probability of a word of each sentence as ids, its end included, by the n-gram model."""
        return self.lm_.scores_of_ids(sentences.offsets, sentences.ids).per_word("log10")

    def views(self, sentences: Encoded) -> list[View]:
        """Return the symbols that features are made of."""
        return [self._view(view, sentences) for view in parse_features(self.features)]

    def draw(
        self, sentences: int, *, purpose: str = "test", seen: Any = (), source: Any = None, number: int = 0
    ) -> Encoded:
        """Draw negatives as ids that are neither in `seen` nor sentences of the text; `number` tells draws apart.

        The model's own differ from the negatives of training, too, unless it has no others.
        """
        text = SeenSentences(self.text_digests_, seen)
        if source is not None:
            return self._draw(source, sentences, text, purpose, number)
        try:
            return self._draw(self.lm_, sentences, SeenSentences(self.drawn_digests_, text), purpose, number)
        except DataError:
            return self._draw(self.lm_, sentences, text, purpose, number)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_expanded"}

    @classmethod
    def upgrade(cls, saved: Saved) -> Saved:
        """Format 1 had no fine classes, and rounds by "pa1"; formats 1 and 2 did not know what training had seen."""
        if saved.format == 1:
            saved.parameters["rule"] = "pa1"
            if saved.fitted:
                saved.parts["fine_classes_"] = None
        if saved.fitted:
            saved.arrays |= {name: np.zeros(0, np.uint64) for name in ("text_digests_", "drawn_digests_")}
        saved.format = 3
        return saved

    def _check(self) -> list[FeatureView]:
        views = parse_features(self.features)
        check_choice("kernel", self.kernel, ["linear", "polynomial", "rbf"])
        check_choice("rule", self.rule, ["pa", "pa1", "pa2"])
        check_range("n_classes", self.n_classes, at_least=1, below=1 << 15, whole=True)
        check_choice("vocabulary", self.vocabulary, ["apart", "lm"])
        check_choice("split", self.split, ["document", "sentence"])
        check_range("max_iter", self.max_iter, at_least=1, whole=True)
        check_range("min_count", self.min_count, at_least=1, whole=True)
        check_range("min_words", self.min_words, at_least=1, whole=True)
        check_range("max_words", self.max_words, at_least=self.min_words, whole=True)
        if any(view.kind == "pos" for view in views) and not hasattr(self.tagger, "predict"):
            raise DataError("features 'pos' need tagger=..., a model with predict such as a fitted sequence.CRF")
        return views

    def _split(self, documents: Iterable[Any]) -> CorpusSplit:
        shares = {part: share for part, share in SHARES.items() if part != "test"}
        if self.vocabulary == "lm":
            del shares["vocabulary"]
        return split_corpus(
            read_sentences(documents, tokenizer=self.tokenizer),
            shares=shares,
            method=self.split,
            min_words=self.min_words,
            max_words=self.max_words,
            random_state=seed_for(self.random_state, "split"),
        )

    def _learn_language(self, parts: CorpusSplit, views: list[FeatureView]) -> None:
        """Vocabulary, n-gram model and classes."""
        self.sizes_ = parts.counts()
        source = "vocabulary" if self.vocabulary == "apart" else "lm"
        for part in (source, "lm", "train", "dev"):
            if not self.sizes_[part]:
                raise DataError(f"part '{part}' has no sentences; give it documents, or a share of the split")
        counts = Counter(word for sentence in parts.sentences(source) for word in sentence)
        words = [word for word, count in counts.items() if count >= self.min_count]
        if not words:
            raise DataError(
                f"no word of part '{source}' occurs {self.min_count} times, so all words are unknown; pass more text "
                "or a smaller min_count"
            )
        text = parts.sentences("lm")
        self.lm_ = NGramModel(order=self.order, smoothing=self.smoothing, n_jobs=self.n_jobs)
        self.lm_.fit(text, vocabulary=words)
        kinds = {view.kind for view in views}
        method = "hierarchical" if "code" in kinds else "exchange"
        most = max(1, len({word for sentence in text for word in sentence} & set(words)))
        settings: dict[str, Any] = {"random_state": self.random_state, "n_jobs": self.n_jobs}
        self.word_classes_ = self.fine_classes_ = None
        if needs_classes(views):
            classes = WordClasses(n_classes=min(self.n_classes, most), method=method, **settings)
            self.word_classes_ = classes.set_params(max_length=self.max_length).fit(text, vocabulary=words)
        if "fine" in kinds:
            fine = WordClasses(n_classes=min(_FINE * self.n_classes, most), **settings)
            self.fine_classes_ = fine.fit(text, vocabulary=words)
        vars(self).pop("_expanded", None)

    def _encoded_part(self, parts: CorpusSplit, part: str) -> Encoded:
        encoded = Encoded(*self.lm_.encode(parts.sentences(part)))
        unknown = float(np.mean(encoded.ids == 0))
        if unknown > _UNKNOWN_SHARE:
            raise DataError(
                f"{100 * unknown:.0f} % of the words of part '{part}' are unknown; is it another language? Pass more "
                "text of its kind, or a smaller min_count"
            )
        return encoded

    def _draw(self, source: Any, size: int, seen: Any, purpose: str, number: int = 0) -> Encoded:
        return draw_negatives(
            source,
            self.lm_,
            size,
            min_words=self.min_words,
            max_words=self.max_words,
            seen=seen,
            random_state=seed_for(self.random_state, purpose, number),
        )

    def _learn(
        self, source: Any, train: Encoded, seen: set[bytes], dev_sets: FeatureSets, dev_labels: Ints
    ) -> list[NDArray[np.uint64]]:
        """Passes over the positives, each with negatives of its own, whose digests are returned."""
        positives = self.sets(train)
        self.learner_ = PassiveAggressive(
            method=self.rule,
            cost=self._mean_cost(positives) if self.cost is None else self.cost,
            kernel=self.kernel,
            degree=self.degree,
            gamma=self.gamma,
            averaged=self.averaged,
            n_jobs=self.n_jobs,
        )
        slots = np.full(len(positives), -1, dtype=np.int32)
        trace, drawn = [], []
        with interruptible(track(range(self.max_iter), "learning", unit="passes"), unit="passes") as passes:
            for number in passes:
                wrong = self._draw(source, train.size, seen, "pass", number)
                drawn.append(wrong.digests())
                both = FeatureSets.joined([positives, self.sets(wrong)])
                labels = np.repeat(np.array([1, -1]), [train.size, wrong.size])
                generator = np.random.Generator(np.random.Philox(seed_for(self.random_state, "order", number)))
                order = generator.permutation(len(both))
                own = np.where(order < train.size, slots[np.minimum(order, train.size - 1)], -1).astype(np.int32)
                self.learner_.learn(both.take(order), labels[order], classes=[-1, 1], slots=own)
                slots[order[order < train.size]] = own[order < train.size]
                self.learner_.partial_fit(both.take([]), [])  # takes over what was learned
                trace.append(self.learner_.score(dev_sets, dev_labels))
        self.trace_ = np.array(trace)
        return drawn

    def _mean_cost(self, positives: FeatureSets) -> float:
        """The cost with which 1 / (2 C) is `_SOFTNESS` of the mean of K(x, x)."""
        sizes = np.diff(positives.offsets).astype(np.float64)
        squares = {"linear": sizes, "polynomial": (1.0 + sizes) ** self.degree, "rbf": np.ones(len(sizes))}
        return 1.0 / (2.0 * _SOFTNESS * max(1.0, float(squares[self.kernel].mean())))

    def sets(self, sentences: Encoded) -> FeatureSets:
        """Return the features of sentences as ids."""
        return feature_sets(self.views(sentences), threads=effective_jobs(self.n_jobs))

    def _view(self, view: FeatureView, sentences: Encoded) -> View:
        if view.kind == "word":
            return word_view(sentences, view.order, BEGIN)
        if view.kind == "pos":
            return tag_view(sentences, self.lm_.words_.to_list(), view.order, self.tagger, self.tags_.to_list())
        classes = self.fine_classes_ if view.kind == "fine" else self.word_classes_
        assert classes is not None
        return class_view(sentences, view, classes)

    def _tags(self, train: Encoded, views: Sequence[FeatureView]) -> list[str]:
        """All tags that the tagger gives to the positives."""
        if not any(view.kind == "pos" for view in views):
            return []
        words, bounds, ids = self.lm_.words_.to_list(), train.offsets.tolist(), train.ids.tolist()
        texts = [[words[i] for i in ids[bounds[s] : bounds[s + 1]]] for s in range(train.size)]
        return sorted({str(tag) for row in self.tagger.predict(texts) for tag in row})

    def _probabilities(self, margins: Floats) -> Floats:
        slope = self.learner_.slope_
        assert slope is not None
        return sigmoid(max(slope, 0.0) * margins)  # 0: margins told nothing


def _best_threshold(scores: Floats, right: Masks) -> float:
    """The threshold above which scores mean right, with the fewest errors."""
    order = np.argsort(scores, kind="stable")
    errors = np.concatenate([[0], np.cumsum(np.where(right[order], 1, -1))])  # beyond those of "all are right"
    best = int(errors.argmin())
    ranked = scores[order]
    below = ranked[best - 1] if best > 0 else ranked[0] - 1.0
    above = ranked[best] if best < len(ranked) else ranked[-1] + 1.0
    return float((below + above) / 2)
