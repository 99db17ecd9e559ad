"""Names and their types in two phases: where is a name, then what is it.

    phase 1   a chain over the bare tags B, I and O finds phrases: `CountedMarkov`, or a `CRF` (extraction.py)
    phase 2   a classifier looks at a whole phrase and its sentence: naive Bayes over phrases.py, or another one
              (classification.py)

With phrases="gold" phase 2 learns from the gold phrases and labels what Viterbi finds in phase 1, every phrase of it
(Jansche 2002). With phrases="jackknife" phase 1 gives every probable span of training sentences by a chain without
these sentences, and phase 2 learns from them, with a class O for what is no name; then spans are rescored, share their
types within a document, and are chosen by expected F (rescoring.py). Chains of counts are left out by subtraction, so
that costs no second training; a CRF is trained once more for each fold. The preset "strong" also asks a CRF over full
tags, which finds names and types in one go, and weighs what it says against the two phases.

The job needs nothing but words: other columns of tokens are not looked at.
Reference: Jansche (2002), Named entity extraction with conditional Markov models and classifiers.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from textmill.arrays import Floats, Ids, Ints
from textmill.errors import DataError, ModelFileError
from textmill.linear import CategoricalBayes
from textmill.model import Classifier, Model, Saved, check_choice, check_fitted, check_range
from textmill.sequence import CountedMarkov
from textmill.tasks.entities.candidates import (
    CandidateTable,
    TrainingTable,
    join_gold,
    phrases_of,
    select_phrases,
    word_cells,
    words_of,
)
from textmill.tasks.entities.classification import LabeledRows, PhraseClassifiers
from textmill.tasks.entities.extraction import find_candidates, jackknife_by_training, jackknife_counts
from textmill.tasks.entities.phrases import PhraseFeatures, PhraseRows, Phrases
from textmill.tasks.entities.presets import PRESETS, Parts, parts_of_preset
from textmill.tasks.entities.rescoring import Documents, Judges, Mixing, choose_spans, learn_mixing, score_types
from textmill.tasks.entities.spans import (
    TaggedSpans,
    bare_labels,
    bare_tags,
    document_numbers,
    document_starts,
    read_tags,
    tags_from_spans,
)

__all__ = ["Entity", "EntityRecognizer"]

NO_NAME = "O"  # class of candidates that are no names
_FOLDS = {"counted": 10, "strong": 5}


class Entity(NamedTuple):
    """A name in a sentence: its tokens start .. end - 1, its type, how probable both are, and its words."""

    start: int
    end: int
    label: str
    probability: float
    text: str


class EntityRecognizer(Classifier, Model):
    """Find names and say what they are.

    Parameters:
        preset: "counted" (trains in a second) or "strong" (CRFs and logistic regression).
        language: "es" or "nl" for what is known of these languages; None for any other.
        phrases: What phase 2 learns from, "jackknife" or "gold" (see the module).
        extractor: Phase 1, a `CountedMarkov` or `CRF`, in the place of the preset's.
        chain: A `CRF` that is asked, too, in the place of the preset's: it learns full tags.
        features: `PhraseFeatures` in the place of the preset's.
        classifier: Phase 2, with fit and predict_proba for sparse rows, in the place of the preset's.
        smoothing: Of the counts of phase 2; None to choose it for each template by leaving one out.
        n_folds: Folds of the jackknife; None for 10 with counts and 5 otherwise.
        min_probability: Smallest P(span) of a candidate.
        default_label: A type that is taken only where no other reaches `default_threshold`; None for no such type.
        default_threshold: P(type | name) that another type must reach.
        n_jobs: Number of threads; None for all cores. Answers are the same for any number.

    Attributes:
        classes_: Types of names, sorted.
        extractor_: Phase 1, fitted.
        chain_: Chain over full tags, fitted; None without one.
        features_: Features of phrases, fitted.
        classifier_: Phase 2, fitted.
        counts_: Naive Bayes beside another classifier; None where phase 2 is naive Bayes.
        mixing_: Weights of rescoring; empty with phrases="gold".

    >>> X = [["Ana", "vive", "en", "Lima"], ["Luis", "vive", "en", "Quito"], ["ella", "vive", "bien"]] * 4
    >>> y = [["B-PER", "O", "O", "B-LOC"], ["B-PER", "O", "O", "B-LOC"], ["O", "O", "O"]] * 4
    >>> EntityRecognizer().fit(X, y).predict([["Luis", "vive", "en", "Lima"]])
    [['B-PER', 'O', 'O', 'B-LOC']]
    """

    takes: ClassVar[str] = "sequences"
    format_version: ClassVar[int] = 2
    layout: ClassVar[dict[str, str]] = {"mixing_": "weight"}
    parts: ClassVar[dict[str, str]] = {
        "extractor_": "sequence.CountedMarkov | sequence.CRF",
        "chain_": "sequence.CRF",
        "features_": "tasks.entities.PhraseFeatures",
        "classifier_": "linear.CategoricalBayes | linear.LogisticRegression",
        "counts_": "linear.CategoricalBayes",
    }

    extractor_: Any
    chain_: Any
    features_: PhraseFeatures
    classifier_: Any
    counts_: CategoricalBayes | None
    mixing_: Floats

    def __init__(
        self,
        *,
        preset: str = "counted",
        language: str | None = None,
        phrases: str = "jackknife",
        extractor: Any = None,
        chain: Any = None,
        features: PhraseFeatures | None = None,
        classifier: Any = None,
        smoothing: float | None = 0.01,
        n_folds: int | None = None,
        min_probability: float = 0.02,
        default_label: str | None = None,
        default_threshold: float = 0.5,
        n_jobs: int | None = None,
    ) -> None:
        self.preset = preset
        self.language = language
        self.phrases = phrases
        self.extractor = extractor
        self.chain = chain
        self.features = features
        self.classifier = classifier
        self.smoothing = smoothing
        self.n_folds = n_folds
        self.min_probability = min_probability
        self.default_label = default_label
        self.default_threshold = default_threshold
        self.n_jobs = n_jobs

    def fit(self, X: Iterable[Any], y: Sequence[Sequence[str]]) -> Self:
        """Learn from sentences (lists of words, rows or `Sentence`s) and their tags, of any scheme of corpus/iob.py."""
        self._check_parameters()
        sentences = list(X)
        words = [words_of(sentence) for sentence in sentences]
        spans = _checked_spans(words, y)
        self._check_default(spans.labels)
        new = self._new_parts()
        extractor = new.extractor
        lengths = np.fromiter(map(len, words), np.int64, len(words))
        counting = isinstance(extractor, CountedMarkov) and not extractor.joint
        cells = extractor.cells(words) if counting else word_cells(words, self.n_jobs)
        if counting:
            data = extractor.fit_encode(cells, bare_labels(spans.phrases, lengths))
        else:
            tags = bare_tags(spans.phrases, lengths)
            extractor.fit(words, tags)
        self.extractor_, self.features_, self.chain_ = extractor, new.features, None
        self.mixing_, self.counts_ = np.empty(0), None
        self.classes_ = np.array(spans.labels)
        if self.phrases == "gold":
            gold = LabeledRows(new.features.fit_rows(cells, spans.phrases), spans.label, spans.labels)
            self.classifier_ = self._classifiers().train(new.classifier, gold)
            return self
        folds = self._bounds(len(words))
        if counting and new.chain is None:
            candidates = jackknife_counts(extractor, data, folds, self.min_probability, self.n_jobs)
        else:
            bare = bare_tags(spans.phrases, lengths)
            full = tags_from_spans(spans.phrases, spans.label, spans.labels, lengths)
            if new.chain is not None:
                self.chain_ = new.chain.fit(words, full)

            def train(first: int, last: int) -> tuple[Any, Any]:
                parts = self._new_parts()
                rest = [*words[:first], *words[last:]]
                parts.extractor.fit(rest, [*bare[:first], *bare[last:]])
                if parts.chain is not None:
                    parts.chain.fit(rest, [*full[:first], *full[last:]])
                return parts.extractor, parts.chain

            candidates = jackknife_by_training(train, words, spans.labels, folds, self.min_probability, self.n_jobs)
        self._learn_phrases(join_gold(candidates, spans), new.classifier, sentences, cells, folds, spans)
        return self

    def _learn_phrases(
        self, table: TrainingTable, classifier: Any, sentences: list[Any], cells: Any, folds: Ints, spans: TaggedSpans
    ) -> None:
        """Train phase 2 on candidates, and learn from its held-out scores how to weigh all judges."""
        names = [NO_NAME, *spans.labels]
        data = LabeledRows(self.features_.fit_rows(cells, table.phrases), table.label, names)
        learner, bounds = self._classifiers(), table.phrases.offsets[folds]
        self.classifier_ = learner.train(classifier, data)
        held = [learner.held_out(self.classifier_, classifier, data, bounds)]
        if classifier is not None:
            self.counts_ = learner.train(None, data)
            held.append(learner.held_out(self.counts_, None, data, bounds))
        place = np.searchsorted(self._all_classes(), np.array(names)).astype(np.int32)
        real = table.proposed
        judges = Judges(
            [scores[real] for scores in held], int(place[0]), table.probability[real],
            None if table.typed is None else table.typed[real],
        )  # fmt: skip
        phrases, documents = select_phrases(table.phrases, real), self._documents(sentences, cells)
        mixing = learn_mixing(judges, phrases, place[table.label[real]], len(spans.label), documents)
        self.mixing_ = mixing.to_array()

    def predict(self, X: Iterable[Any]) -> list[list[str]]:
        """Return IOB2 tags of every sentence."""
        sentences, phrases, label, _ = self._recognized(X)
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        return tags_from_spans(phrases, label, self.classes_.tolist(), lengths)

    def entities(self, X: Iterable[Any]) -> list[list[Entity]]:
        """Return the names of every sentence, in order.

        >>> model = EntityRecognizer().fit([["Ana", "ve", "Lima"]] * 5, [["B-PER", "O", "B-LOC"]] * 5)
        >>> [(name.text, name.label) for name in model.entities([["Ana", "ve"]])[0]]
        [('Ana', 'PER')]
        """
        sentences, phrases, label, probability = self._recognized(X)
        names, out = self.classes_.tolist(), []
        for s, sentence in enumerate(sentences):
            some = range(int(phrases.offsets[s]), int(phrases.offsets[s + 1]))
            words = words_of(sentence)
            spans = [(int(phrases.begin[i]), int(phrases.end[i]), i) for i in some]
            out.append(
                [Entity(a, b, names[label[i]], float(probability[i]), " ".join(words[a:b])) for a, b, i in spans]
            )
        return out

    def classify(self, X: Iterable[Any], spans: Sequence[Sequence[tuple[int, int]]]) -> list[list[str]]:
        """Return the types of phrases (start, end) that are known to be names: phase 2 alone.

        >>> model = EntityRecognizer().fit([["Ana", "ve", "Lima"]] * 5, [["B-PER", "O", "B-LOC"]] * 5)
        >>> model.classify([["Ana", "ve", "Lima"]], [[(2, 3)]])
        [['LOC']]
        """
        check_fitted(self)
        words = [words_of(sentence) for sentence in X]
        if len(spans) != len(words):
            raise DataError(f"there are {len(words)} sentences but {len(spans)} lists of spans; give one for each")
        for s, some in enumerate(spans):
            for start, end in some:
                if not 0 <= start < end <= len(words[s]):
                    raise DataError(f"sentence {s + 1}: span ({start}, {end}) is not in its {len(words[s])} tokens")
        phrases = phrases_of(spans)
        rows = self.features_.rows(word_cells(words, self.n_jobs), phrases)
        types, _ = self._best(self._log_types(self._scores(rows)))
        names = np.array(self.classes_.tolist(), object)[types]
        return [list(names[a:b]) for a, b in zip(phrases.offsets[:-1], phrases.offsets[1:], strict=True)]

    def extract(self, X: Iterable[Any]) -> list[list[str]]:
        """Return the bare tags that phase 1 alone finds."""
        check_fitted(self)
        words = [words_of(sentence) for sentence in X]
        self.extractor_.n_jobs = self.n_jobs
        tags: list[list[str]] = self.extractor_.predict(words)
        return bare_tags(read_tags(tags).phrases, np.fromiter(map(len, words), np.int64, len(words)))

    def score(self, X: Any, y: Sequence[Sequence[str]]) -> float:
        """Return the F of exact spans and types."""
        from textmill.sequence import evaluate_tags

        return evaluate_tags(y, self.predict(X), chunks=True).f1

    def merge(self, other: EntityRecognizer) -> EntityRecognizer:
        """Return the recognizer of the sentences of both: preset "counted" only.

        With phrases="gold" it is the one that training on all sentences gives, bit for bit; otherwise the weights of
        rescoring are averaged, since they cannot be found from counts.
        """
        for part in (self, other):
            check_fitted(part)
            counted = isinstance(part.extractor_, CountedMarkov) and isinstance(part.classifier_, CategoricalBayes)
            if not counted:
                raise DataError("only models that count can be merged; train with the preset 'counted', or on all data")
        mine, theirs = ({**part.get_params(deep=False), "n_jobs": None} for part in (self, other))
        if {name: repr(value) for name, value in mine.items()} != {name: repr(v) for name, v in theirs.items()}:
            raise DataError(f"the recognizers differ in their parameters, {self!r} and {other!r}; use the same")
        both = type(self)(**self.get_params(deep=False))
        share = self.extractor_.sequences_ / max(self.extractor_.sequences_ + other.extractor_.sequences_, 1)
        both.extractor_ = self.extractor_.merge(other.extractor_)
        both.features_, *places = self.features_.union(other.features_)
        both.classes_ = np.array(sorted({*self.classes_.tolist(), *other.classes_.tolist()}))
        classes = np.array(sorted({*self.classifier_.classes_.tolist(), *other.classifier_.classes_.tolist()}))
        counts, rows = np.zeros((len(classes), len(both.features_.values_))), np.zeros(len(classes))
        for part, place in zip((self, other), places, strict=True):
            where = np.searchsorted(classes, part.classifier_.classes_)
            counts[np.ix_(where, place)] += part.classifier_.counts_
            rows[where] += part.classifier_.rows_
        both.classifier_ = both._classifiers().bayes(classes, counts, rows)
        both.counts_, both.chain_ = None, None
        both.mixing_ = share * self.mixing_ + (1 - share) * other.mixing_
        return both

    @classmethod
    def upgrade(cls, saved: Saved) -> Saved:
        """Bring a model of format 1 into today's form: it had one sum of scores, weighed as a whole."""
        weights = saved.arrays["mixing_"]
        if len(weights):
            a, b, d, s, t, threshold, w = weights.tolist()
            second = saved.parts.get("counts_") is not None
            names, types = ([a, a * w], [s, s * w]) if second else ([a], [s])
            mixing = Mixing((*names, b, d), tuple(types), (1.0, t, 0.0), threshold)
            weights = mixing.to_array()
        parameters = {**saved.parameters, "chain": None}
        parts = {**saved.parts, "chain_": None}
        return replace(saved, format=2, arrays={**saved.arrays, "mixing_": weights}, parameters=parameters, parts=parts)

    def __sklearn_tags__(self) -> Any:
        """Without the tag of a classifier: y are lists of tags."""
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = None, None
        return tags

    def _check_parameters(self) -> None:
        check_choice("preset", self.preset, PRESETS)
        check_choice("phrases", self.phrases, ("jackknife", "gold"))
        check_range("min_probability", self.min_probability, above=0, below=1)
        check_range("default_threshold", self.default_threshold, at_least=0, at_most=1)
        if self.n_folds is not None:
            check_range("n_folds", self.n_folds, at_least=2, whole=True)
        if self.smoothing is not None:
            check_range("smoothing", self.smoothing, above=0, below=np.inf)

    def _new_parts(self) -> Parts:
        """The parts, new ones of the preset or copies of those given."""
        parts = parts_of_preset(self.preset, self.language, self.n_jobs)
        own = {
            name: copy.deepcopy(getattr(self, name))
            for name in ("extractor", "chain")
            if getattr(self, name) is not None
        }
        if self.features is not None:
            own["features"] = PhraseFeatures(**self.features.get_params(deep=False))
        if self.classifier is not None:
            own["classifier"] = self.classifier
        return parts._replace(**own)

    def _classifiers(self) -> PhraseClassifiers:
        return PhraseClassifiers(self.features_, self.smoothing, self.n_jobs)

    def _bounds(self, sentences: int) -> Ints:
        folds = _FOLDS[self.preset] if self.n_folds is None else self.n_folds
        folds = max(2, min(folds, sentences))
        return np.linspace(0, sentences, folds + 1).astype(np.int64)

    def _scores(self, rows: PhraseRows) -> list[Floats]:
        """What phase 2 says of each class: scores of its classifiers."""
        models = [self.classifier_] if self.counts_ is None else [self.classifier_, self.counts_]
        return [self._classifiers().scores(model, rows, self._all_classes()) for model in models]

    def _mixing(self) -> Mixing:
        scores = 1 if self.counts_ is None else 2
        if len(self.mixing_) != Mixing.size(scores, self.chain_ is not None):
            raise ModelFileError("the weights of rescoring do not fit the parts of the recognizer", reason="damaged")
        return Mixing.from_array(self.mixing_, scores, self.chain_ is not None)

    def _log_types(self, scores: list[Floats]) -> Floats:
        """Logarithms of P(type | name) from scores of all classes, for phrases that are known to be names."""
        if len(self.mixing_):
            total: Floats = sum(  # type: ignore[assignment]
                weight * one for weight, one in zip(self._mixing().types, scores, strict=False)
            )
        else:
            total = scores[0]
        chosen = total[:, np.searchsorted(self._all_classes(), self.classes_)]
        top = chosen.max(axis=1, initial=-np.inf, keepdims=True)
        return np.asarray(chosen - top - np.log(np.exp(chosen - top).sum(axis=1, keepdims=True)))

    def _check_default(self, names: Sequence[str]) -> None:
        if self.default_label is not None and self.default_label not in names:
            raise DataError(f"default_label must be a type of the data, {', '.join(names)}; got '{self.default_label}'")

    def _best(self, types: Floats) -> tuple[Ids, Floats]:
        """Best type of each candidate and the logarithm of its probability."""
        names = self.classes_.tolist()
        best = types.argmax(axis=1)
        if self.default_label is not None:
            self._check_default(names)
            default = names.index(self.default_label)
            others = types.copy()
            others[:, default] = -np.inf
            certain = others.max(axis=1, initial=-np.inf) >= np.log(max(self.default_threshold, 1e-300))
            best = np.where(certain, others.argmax(axis=1), default)
        return best.astype(np.int32), types[np.arange(len(best)), best]

    def _all_classes(self) -> list[str]:
        """Classes of phase 2."""
        return sorted([*self.classes_.tolist(), *([] if self.phrases == "gold" else [NO_NAME])])

    def _documents(self, sentences: list[Any], cells: Any) -> Documents | None:
        """Words and documents of sentences; None without documents."""
        starts = document_starts(sentences, cells)
        if starts is None:
            return None
        return Documents(cells.offsets(), self.features_.word_sums(cells), document_numbers(starts))

    def candidates(self, X: Iterable[Any]) -> CandidateTable:
        """Return all probable phrases with their probabilities; with phrases="gold" those that Viterbi finds.

        >>> model = EntityRecognizer().fit([["Ana", "ve", "Lima"]] * 5, [["B-PER", "O", "B-LOC"]] * 5)
        >>> table = model.candidates([["Ana", "ve"]])
        >>> table.phrases.begin.tolist(), table.phrases.end.tolist(), table.types.shape
        ([0], [1], (1, 2))
        """
        check_fitted(self)
        sentences = list(X)
        words = [words_of(sentence) for sentence in sentences]
        counting = isinstance(self.extractor_, CountedMarkov) and not self.extractor_.joint
        self.features_.n_jobs = self.extractor_.n_jobs = self.n_jobs
        cells = self.extractor_.cells(words) if counting else word_cells(words, self.n_jobs)
        if self.phrases == "gold":
            phrases = read_tags(self.extractor_.predict(cells if counting else words)).phrases
            ones = np.ones(len(phrases.begin))
            rows = self.features_.rows(cells, phrases)
            return CandidateTable(phrases, rows, ones, ones, self._log_types(self._scores(rows)))
        source = cells if counting and self.chain_ is None else words
        types = self.classes_.tolist()
        spans = find_candidates(self.extractor_, self.chain_, source, types, self.min_probability, self.n_jobs)
        rows = self.features_.rows(cells, spans.phrases)
        mixing = self._mixing()
        none = int(np.searchsorted(self._all_classes(), NO_NAME))
        judges = Judges(self._scores(rows), none, spans.probability, spans.typed)
        documents = self._documents(sentences, cells) if mixing.shares else None
        scored = score_types(judges, spans.phrases, documents, mixing)
        return CandidateTable(spans.phrases, rows, spans.probability, scored.name, scored.types)

    def _recognized(self, X: Iterable[Any]) -> tuple[list[Any], Phrases, Ids, Floats]:
        """Sentences, their names, types and probabilities."""
        sentences = list(X)
        table = self.candidates(sentences)
        types, log_p = self._best(table.types)
        best = table.name * np.exp(log_p)
        if self.phrases == "gold":
            return sentences, table.phrases, types, best
        chosen = choose_spans(table.phrases, best, self._mixing().threshold, self.n_jobs)
        return sentences, select_phrases(table.phrases, chosen), types[chosen], best[chosen]


def _checked_spans(words: list[list[str]], y: Sequence[Sequence[str]]) -> TaggedSpans:
    if len(words) != len(y):
        raise DataError(f"there are {len(words)} sentences but {len(y)} lists of tags; give one for each")
    for number, (sentence, tags) in enumerate(zip(words, y, strict=True), 1):
        if len(sentence) != len(tags):
            raise DataError(f"sentence {number} has {len(sentence)} words but {len(tags)} tags; give one per word")
    spans = read_tags(y)
    if not len(spans.label):
        raise DataError("no sentence has a name, so there is nothing to learn; check that the last column has tags")
    if NO_NAME in spans.labels:
        raise DataError(f"'{NO_NAME}' cannot be a type of names; rename it")
    return spans
