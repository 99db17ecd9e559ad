"""Names and their types in two phases: where is a name, then what is it.

    phase 1   a chain over the bare tags B, I and O finds phrases: `CountedMarkov`, or a `CRF`
    phase 2   a classifier looks at a whole phrase and its sentence: naive Bayes over phrases.py, or another one

With phrases="gold" phase 2 learns from the gold phrases and labels what Viterbi finds in phase 1, every phrase of it
(Jansche 2002). With phrases="jackknife" phase 1 gives every probable span of training sentences by a chain without
these sentences, and phase 2 learns from them, with a class O for what is no name; then spans are rescored, share their
types within a document, and are chosen by expected F (rescoring.py). Chains of counts are left out by subtraction, so
that costs no second training; a CRF is trained once more for each fold.

The job needs nothing but words: other columns of tokens are not looked at.
Reference: Jansche (2002), Named entity extraction with conditional Markov models and classifiers.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from textmill._native import entities as native
from textmill._native import sequence as chains
from textmill.arrays import Floats, Ids, Ints
from textmill.errors import DataError
from textmill.linear import CategoricalBayes
from textmill.model import Classifier, Model, check_choice, check_fitted, check_range, effective_jobs
from textmill.numeric import sparse
from textmill.progress import track
from textmill.sequence import CountedMarkov
from textmill.tasks.entities.candidates import (
    CandidateTable,
    TrainingTable,
    concatenate_candidates,
    join_gold,
    phrases_of,
    rows_between,
    select_phrases,
    word_cells,
    words_of,
)
from textmill.tasks.entities.phrases import PhraseFeatures, PhraseRows, Phrases
from textmill.tasks.entities.presets import PRESETS, parts_of_preset
from textmill.tasks.entities.rescoring import Mixing, choose_spans, learn_mixing, score_types, weight_of_counts
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
_BATCH = 20_000  # sentences whose steps are in memory together


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
        preset: "counted" (trains in a second) or "strong" (a CRF and logistic regression).
        language: "es" or "nl" for what is known of these languages; None for any other.
        phrases: What phase 2 learns from, "jackknife" or "gold" (see the module).
        extractor: Phase 1, a `CountedMarkov` or `CRF`, in the place of the preset's.
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
    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {"mixing_": "weight"}
    parts: ClassVar[dict[str, str]] = {
        "extractor_": "sequence.CountedMarkov | sequence.CRF",
        "features_": "tasks.entities.PhraseFeatures",
        "classifier_": "linear.CategoricalBayes | linear.LogisticRegression",
        "counts_": "linear.CategoricalBayes",
    }

    extractor_: Any
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
        extractor, features, classifier = self._new_parts()
        lengths = np.fromiter(map(len, words), np.int64, len(words))
        counting = isinstance(extractor, CountedMarkov) and not extractor.joint
        cells = extractor.cells(words) if counting else word_cells(words, self.n_jobs)
        if counting:
            data = extractor.fit_encode(cells, bare_labels(spans.phrases, lengths))
        else:
            tags = bare_tags(spans.phrases, lengths)
            extractor.fit(words, tags)
        self.extractor_, self.features_ = extractor, features
        self.mixing_, self.counts_ = np.empty(0), None
        self.classes_ = np.array(spans.labels)
        if self.phrases == "gold":
            rows = features.fit_rows(cells, spans.phrases)
            self.classifier_ = self._classified(classifier, rows, spans.label, spans.labels)
            return self
        folds = self._bounds(len(words))
        if counting:
            candidates = native.jackknife_candidates(
                extractor.table(), (data.offsets, data.bigram.indptr, data.bigram.ids), data.labels, folds,
                *self._letters(extractor), self.min_probability, effective_jobs(self.n_jobs),
            )  # fmt: skip
        else:
            candidates = self._jackknifed(words, tags, folds)
        names = [NO_NAME, *spans.labels]
        table = join_gold(candidates, spans)
        rows = features.fit_rows(cells, table.phrases)
        self.classifier_ = self._classified(classifier, rows, table.label, names)
        if classifier is not None:
            self.counts_ = self._classified(None, rows, table.label, names)
        held = self._held_out(None, rows, table, names, folds)
        place = np.searchsorted(self._all_classes(), np.array(names))
        real = table.probability > 0
        weight = 0.0
        if classifier is not None:
            counts, held = held, self._held_out(classifier, rows, table, names, folds)
            weight = weight_of_counts(held[real], counts[real], place[table.label[real]].astype(np.int32))
            held = held + weight * counts
        groups = self._groups(sentences, cells, table.phrases)
        mixing = learn_mixing(
            select_phrases(table.phrases, real), held[real], int(place[0]), table.probability[real],
            place[table.label[real]].astype(np.int32), len(spans.label), None if groups is None else groups[real],
        )  # fmt: skip
        self.mixing_ = np.array(mixing._replace(counts=weight))
        return self

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
        scores = self._scores(rows)
        if self.counts_ is not None:
            scores = scores + Mixing(*self.mixing_.tolist()).counts * self._scores(rows, self.counts_)
        types, _ = self._best(self._log_types(scores))
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
        both.classifier_ = both._bayes(classes, counts, rows)
        both.counts_ = None
        both.mixing_ = share * self.mixing_ + (1 - share) * other.mixing_
        return both

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

    def _new_parts(self) -> tuple[Any, PhraseFeatures, Any]:
        """The parts, new ones of the preset or copies of those given."""
        extractor, features, classifier = parts_of_preset(self.preset, self.language, self.n_jobs)
        extractor = extractor if self.extractor is None else copy.deepcopy(self.extractor)
        features = features if self.features is None else PhraseFeatures(**self.features.get_params(deep=False))
        return extractor, features, classifier if self.classifier is None else self.classifier

    def _letters(self, extractor: Any) -> tuple[int, int]:
        """Numbers of B and I; one past the labels stands for an I that never occurred."""
        names = extractor.classes_.tolist()
        return names.index("B"), names.index("I") if "I" in names else len(names)

    def _bounds(self, sentences: int) -> Ints:
        folds = _FOLDS[self.preset] if self.n_folds is None else self.n_folds
        folds = max(2, min(folds, sentences))
        return np.linspace(0, sentences, folds + 1).astype(np.int64)

    def _jackknifed(self, words: list[list[str]], tags: list[list[str]], folds: Ints) -> Any:
        """Candidates of every fold by an extractor that was trained without it."""
        parts = []
        for first, last in track(list(itertools.pairwise(folds)), "jackknife"):
            extractor, _, _ = self._new_parts()
            extractor.fit([*words[:first], *words[last:]], [*tags[:first], *tags[last:]])
            parts.append(self._candidates(extractor, words[first:last]))
        return concatenate_candidates(parts)

    def _candidates(self, extractor: Any, words: Any) -> Any:
        """Probable spans of sentences: offsets, begin, end, probability."""
        threads = effective_jobs(self.n_jobs)
        extractor.n_jobs = self.n_jobs
        if "B" not in extractor.classes_.tolist():  # a fold may have no names
            return np.zeros(len(words) + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0)
        letters = self._letters(extractor)
        if isinstance(extractor, CountedMarkov):
            return native.find_candidates(extractor.steps(words)[0], *letters, self.min_probability, threads)
        parts = []
        for begin in range(0, len(words), _BATCH):
            steps = extractor.next_labels(words[begin : begin + _BATCH])
            offsets = np.cumsum([0, *map(len, steps)]).astype(np.int64)
            size = len(extractor.classes_)
            flat = np.concatenate(steps) if steps else np.empty((0, size, size))
            source = chains.StepSource((size, size, 1, 0), offsets, np.ascontiguousarray(flat))
            parts.append(native.find_candidates(source, *letters, self.min_probability, threads))
        return concatenate_candidates(parts)

    def _bayes(self, classes: NDArray[Any], counts: Floats, rows: Floats) -> CategoricalBayes:
        features = self.features_.templates(), self.features_.template_of_, self.features_.values_
        return CategoricalBayes.from_counts(
            classes, features, counts, rows, smoothing=self.smoothing, n_jobs=self.n_jobs
        )

    def _classified(self, classifier: Any, rows: PhraseRows, label: Ids, names: list[str]) -> Any:
        """Phase 2, trained on the rows."""
        if classifier is not None:
            return copy.deepcopy(classifier).fit(self._matrix(rows), np.array(names)[label])
        order = np.argsort(names)  # classes in their order
        classes = np.array(names)[order]
        place = np.empty(len(names), np.int64)
        place[order] = np.arange(len(names))
        counts = self._class_counts(rows, place[label], len(names))
        return self._bayes(classes, counts, np.bincount(place[label], minlength=len(names)).astype(np.float64))

    def _class_counts(self, rows: PhraseRows, label: Ints, classes: int) -> Floats:
        size = len(self.features_.values_)
        of_feature = np.repeat(label, np.diff(rows.offsets)) * size + rows.ids
        return np.bincount(of_feature, minlength=classes * size).reshape(classes, size).astype(np.float64)

    def _held_out(
        self, classifier: Any, rows: PhraseRows, table: TrainingTable, names: list[str], folds: Ints
    ) -> Floats:
        """Scores of every row by a classifier without the rows of its fold."""
        bounds = table.phrases.offsets[folds]
        parts = []
        for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            inner = rows_between(rows, first, last)
            if classifier is None:
                whole = self.classifier_ if self.counts_ is None else self.counts_
                place = np.searchsorted(whole.classes_, np.array(names))[table.label[first:last]]
                counts = whole.counts_ - self._class_counts(inner, place, len(names))
                size = whole.rows_ - np.bincount(place, minlength=len(names))
                model = self._bayes(whole.classes_, counts, size)
            else:
                rest = np.r_[0:first, last : len(table.label)]
                model = copy.deepcopy(classifier).fit(self._matrix(rows)[rest], np.array(names)[table.label[rest]])
            parts.append(self._scores(inner, model))
        return np.concatenate(parts)

    def _matrix(self, rows: PhraseRows) -> Any:
        size = len(rows.offsets) - 1, len(self.features_.values_)
        matrix = sparse.csr_matrix((np.ones(len(rows.ids)), rows.ids, rows.offsets), size)
        matrix.sum_duplicates()
        return matrix

    def _scores(self, rows: PhraseRows, model: Any = None) -> Floats:
        """Logarithms of what phase 2 says of each class, up to a constant."""
        model = self.classifier_ if model is None else model
        if isinstance(model, CategoricalBayes):
            model.n_jobs = self.n_jobs
            return model.decision_rows(rows.offsets, rows.ids)
        names = self._all_classes()
        scores = np.full((len(rows.offsets) - 1, len(names)), -50.0)
        if len(scores):
            probability = np.maximum(model.predict_proba(self._matrix(rows)), 1e-20)
            scores[:, np.searchsorted(names, model.classes_)] = np.log(probability)
        return scores

    def _log_types(self, scores: Floats) -> Floats:
        """Logarithms of P(type | name) from scores of all classes."""
        chosen = scores[:, np.searchsorted(self._all_classes(), self.classes_)]
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

    def _groups(self, sentences: list[Any], cells: Any, phrases: Phrases) -> Ints | None:
        """Numbers of candidates with equal words in one document; None without documents."""
        starts = document_starts(sentences)
        if starts is None:
            return None
        words = self.features_.word_sums(cells)
        offsets = cells.offsets()
        sentence = np.repeat(np.arange(len(sentences)), np.diff(phrases.offsets))
        first = offsets[sentence]
        total = words[first + phrases.end] - words[first + phrases.begin]
        document = document_numbers(starts)[sentence].astype(np.uint64)
        key = total * np.uint64(0x9E3779B97F4A7C15) + document
        return np.unique(key, return_inverse=True)[1].astype(np.int64)

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
        *spans, probability = self._candidates(self.extractor_, cells if counting else words)
        phrases = Phrases(*spans)
        rows = self.features_.rows(cells, phrases)
        mixing = Mixing(*self.mixing_.tolist())
        groups = self._groups(sentences, cells, phrases) if mixing.sharing > 0 else None
        none = int(np.searchsorted(sorted([*self.classes_.tolist(), NO_NAME]), NO_NAME))
        scores = self._scores(rows)
        if self.counts_ is not None and mixing.counts > 0:
            scores = scores + mixing.counts * self._scores(rows, self.counts_)
        scored = score_types(scores, none, probability, groups, mixing)
        return CandidateTable(phrases, rows, probability, scored.name, scored.types)

    def _recognized(self, X: Iterable[Any]) -> tuple[list[Any], Phrases, Ids, Floats]:
        """Sentences, their names, types and probabilities."""
        sentences = list(X)
        table = self.candidates(sentences)
        types, log_p = self._best(table.types)
        best = table.name * np.exp(log_p)
        if self.phrases == "gold":
            return sentences, table.phrases, types, best
        chosen = choose_spans(table.phrases, best, Mixing(*self.mixing_.tolist()).threshold, self.n_jobs)
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
