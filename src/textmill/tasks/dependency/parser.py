"""A deterministic dependency parser on a classifier of two units, trained to be read.

    push(-1); push(0)
    for i = 1 .. n-1:
        j = pop()
        while j != -1 and (i == n-1 or "j depends on i"):  head[j] = i;  j = pop()
        push(j); push(i)

Every unit but the last depends on a later one, and no two dependencies cross: the rule for bunsetsus of Japanese. The
question is answered by a `CombinationLogistic` over the features of attributes.py; it learns from the questions that
are asked when sentences are parsed with their right heads (none when i = n-1, where the answer is forced).

With an L2 penalty many weights are small, and most of them together change no head: those of largest size are kept, a
half or a third, where sentences kept apart are parsed as well with them.

Accuracy on sentences kept apart counts all of them, those too that could not be learned from: such a sentence has one
head at least that the parser cannot find. Where more than a fifth of the sentences are so, nothing is learned.

A feature that occurs in no more than l1 questions cannot have a weight, since the gradient of a question is below 1:
those are left out before the search, which changes nothing.

Cost: parsing asks at most 2n - 1 questions per sentence, in native code and on all threads; training is that of the
classifier. References: Sassano (2004), Linear-time dependency analysis for Japanese; Okanohara & Tsujii (2009).
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from textmill._native import tasks as native
from textmill.arrays import Ids
from textmill.corpus import KnpSentence, NamedFeatures
from textmill.errors import DataError, ModelFileError
from textmill.linear import CombinationLogistic, Weights
from textmill.model import Estimator, Model, StringTable, check_fitted, check_range, effective_jobs
from textmill.numeric import sparse
from textmill.progress import track
from textmill.selection import keep_apart
from textmill.tasks.dependency.attributes import column_table, encode, feature_names
from textmill.tasks.dependency.evaluation import evaluate

__all__ = ["DependencyParser", "Events", "extract_events"]

_BATCH = 3000  # combinations grafted at a time without l2: the optimum is that of all at once, and nearer
_CHUNK = 2000  # sentences parsed together
_PENALTIES = (4.0, 2.0, 1.0)  # tried from the largest
_SHARES = (0.38, 0.5)  # of the weights that may be enough
_HELD_OUT = 0.1
_L2 = 10.0
_MOST_LEFT_OUT = 0.2  # of the sentences of two bunsetsus: above, heads do not come last in the language
_FEWEST = 20  # sentences below which none can be spared to choose a penalty
_LABELS = np.array(["apart", "depends"])  # sorted: the second is the one of a positive margin


@dataclass(frozen=True)
class Events:
    """Questions and answers: rows of features, answers (1 if j depends on i), and which two units were asked about.

    `modifiers` and `heads` count the units of all sentences; `names` are those of the columns.
    """

    X: Any
    y: Ids
    modifiers: Ids
    heads: Ids
    names: list[str]


class DependencyParser(Estimator, Model):
    """Find the heads of bunsetsus.

    Parameters:
        l1: Penalty of a weight; None to choose among 4, 2 and 1 by the dependency accuracy on sentences kept apart.
        l2: Further penalty of a weight, which lets many combinations that say nearly the same share their weight.
        degree: Features in a combination at most.
        keep: Share of the combinations that stay, those of largest weight; None to choose among 0.38, 0.5 and 1 where
            l1 is chosen, the least with which sentences kept apart are parsed as well but for a standard error, else 1.
        held_out: Share of the sentences kept apart to choose l1 by, unless others are passed to `fit`.
        tolerance: Duality gap, relative to the objective, to which the classifier is optimized.
        random_state: Where the random choice of sentences to keep apart begins.
        n_jobs: Threads; None for all cores. The model and the heads are the same for any number.

    Attributes:
        classifier_: The `CombinationLogistic`, over the features it uses.
        l1_: The penalty.
        scores_: Dependency accuracy by penalty on all sentences kept apart, where l1 was chosen.
        n_sentences_, n_events_: Sentences and questions that were learned from.
        n_skipped_: Sentences that were left out: of one bunsetsu, with a head in front, or with crossing dependencies;
            if more than a fifth of all have such heads, `fit` raises a DataError.

    >>> from textmill.tasks.dependency import sample_sentences
    >>> sentences = sample_sentences(300)
    >>> parser = DependencyParser(l1=1.0).fit(sentences[:200])
    >>> parser.score(sentences[200:]) > 0.9
    True
    """

    takes: ClassVar[str] = "sequences"
    format_version: ClassVar[int] = 1
    parts: ClassVar[dict[str, str]] = {"classifier_": "linear.CombinationLogistic"}
    state: ClassVar[dict[str, Any]] = {
        "l1_": float,
        "scores_": dict,
        "n_sentences_": int,
        "n_events_": int,
        "n_skipped_": int,
    }

    classifier_: CombinationLogistic
    l1_: float
    scores_: dict[str, float]
    n_sentences_: int
    n_events_: int
    n_skipped_: int

    def __init__(
        self,
        *,
        l1: float | None = None,
        l2: float = _L2,
        degree: int = 2,
        keep: float | None = None,
        held_out: float = _HELD_OUT,
        tolerance: float = 1e-4,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.l1 = l1
        self.l2 = l2
        self.degree = degree
        self.keep = keep
        self.held_out = held_out
        self.tolerance = tolerance
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Iterable[KnpSentence], y: object = None, X_dev: Iterable[KnpSentence] | None = None) -> Self:
        """Learn from sentences with heads; `X_dev` are others to choose the penalty by."""
        if self.l1 is not None:
            check_range("l1", self.l1, above=0, below=np.inf)
        check_range("l2", self.l2, at_least=0, below=np.inf)
        if self.keep is not None:
            check_range("keep", self.keep, above=0, at_most=1)
        check_range("held_out", self.held_out, above=0, below=1)
        sentences = list(X)
        good = _parsable(sentences)
        usable = [sentence for sentence, fine in zip(sentences, good, strict=True) if fine]
        self.n_skipped_ = len(sentences) - len(usable)
        self.n_sentences_ = len(usable)
        wrong = sum(len(sentence) > 1 for sentence, fine in zip(sentences, good, strict=True) if not fine)
        if wrong > _MOST_LEFT_OUT * (wrong + len(usable)):
            raise DataError(
                f"{wrong:,} of {wrong + len(usable):,} sentences ({wrong / (wrong + len(usable)):.0%}) cannot be used: "
                "heads stand in front of their dependents, or dependencies cross; this parser is for languages whose "
                "heads come last, such as Japanese, and textmill has no other",
                source=next(s.source for s, fine in zip(sentences, good, strict=True) if len(s) > 1 and not fine),
            )
        if not usable:
            raise DataError(
                f"no sentence of {len(sentences):,} can be learned from: each needs two bunsetsus, with "
                "heads behind that do not cross, as in Japanese"
            )
        self.scores_ = {}
        l1, keep = (float(self.l1), 1.0) if self.l1 is not None else self._chosen(sentences, good, X_dev)
        self._learn(usable, l1, keep if self.keep is None else float(self.keep))
        return self

    def predict(self, X: Iterable[KnpSentence]) -> list[tuple[int, ...]]:
        """Return the heads of each sentence, -1 for the last bunsetsu; heads in the sentences are not looked at.

        >>> from textmill.tasks.dependency import sample_sentences
        >>> parser = DependencyParser(l1=1.0).fit(sample_sentences(100))
        >>> parser.predict(sample_sentences(2)[1:])
        [(2, 2, 4, 4, -1)]
        """
        return [heads for _, heads in self._parsed(X)]

    def parse(self, X: Iterable[KnpSentence]) -> Iterator[KnpSentence]:
        """Yield the sentences with their heads, in one pass over a stream."""
        for sentence, heads in self._parsed(X):
            yield sentence.with_heads(heads)

    def score(self, X: Iterable[KnpSentence], y: object = None) -> float:
        """Return the dependency accuracy: the share of bunsetsus but the last with the right head."""
        sentences = list(X)
        return evaluate(sentences, self.predict(sentences)).dependencies.accuracy

    def strongest(self, k: int = 20) -> Weights:
        """Return the weights of largest size, for and against a dependency, with the names of their features."""
        check_fitted(self)
        return self.classifier_.strongest(k)

    def _names(self) -> list[str]:
        """The features of the classifier by column."""
        features = self.classifier_.vectorizer_
        if not isinstance(features, NamedFeatures):
            raise DataError("the classifier of a parser needs the names of its features; train the parser again")
        return features.names_.to_list()

    def check_values(self) -> None:
        """Check that the features are attributes in roles, or shapes."""
        try:
            column_table(self._names())
        except (KeyError, DataError) as fault:
            raise ModelFileError(f"there is no feature of the role {fault}", reason="damaged") from None

    def _parsed(self, X: Iterable[KnpSentence]) -> Iterator[tuple[KnpSentence, tuple[int, ...]]]:
        check_fitted(self)
        attributes, columns = column_table(self._names())
        model, bias = self.classifier_.conjunctions(), float(self.classifier_.intercept_[0])
        stream = iter(X)
        while chunk := list(itertools.islice(stream, _CHUNK)):
            units = encode(chunk, attributes.get)
            heads = np.empty(len(units.offsets) - 1, np.int32)
            native.parse(*units, columns, model, bias, heads, effective_jobs(self.n_jobs))
            flat, bounds = heads.tolist(), units.sentences.tolist()
            for sentence, (begin, end) in zip(chunk, itertools.pairwise(bounds), strict=True):
                yield sentence, tuple(flat[begin:end])

    def _chosen(
        self, sentences: list[KnpSentence], good: list[bool], dev: Iterable[KnpSentence] | None
    ) -> tuple[float, float]:
        """The penalty with the best dependency accuracy on sentences kept apart; smaller ones only while it grows.

        And the least share of its weights that is as good there, but for a standard error: only heads count of which
        one is right with all weights or with the share, and not with the other. Sentences are kept apart of all that
        have a head, those that cannot be learned from among them.
        """
        several = [s for s, sentence in enumerate(sentences) if len(sentence) > 1]
        if dev is not None:
            learned, apart = several, list(dev)
        elif sum(good) < _FEWEST:
            return _PENALTIES[-1], 1.0
        else:
            split = keep_apart(len(several), self.held_out, random_state=self.random_state)
            learned = [several[s] for s in split.train.tolist()]
            apart = [sentences[several[s]] for s in split.test.tolist()]
        train = [sentences[s] for s in learned if good[s]]
        best, best_score = _PENALTIES[0], -1.0
        classifier, X, y, names = self._questions(train, _PENALTIES[-1])
        whole = classifier
        for model in track(classifier.path(X, y, values=_PENALTIES), "penalties", total=len(_PENALTIES)):
            self.l1_, self.classifier_ = model.l1, _compact(model, names)
            score = self.scores_[f"{model.l1:g}"] = self.score(apart)
            if score <= best_score:
                break
            best, best_score, whole = model.l1, score, self.classifier_
        self.classifier_ = whole
        right = self._right(apart)
        for share in _SHARES if self.l2 > 0 else ():
            self.classifier_ = _largest(whole, share)
            lost = right.astype(int) - self._right(apart)
            if lost.sum() <= np.sqrt((lost * lost).sum()):
                return best, share
        return best, 1.0

    def _right(self, sentences: list[KnpSentence]) -> NDArray[np.bool_]:
        """Whether each head is right, but for the last bunsetsus."""
        pairs = zip(sentences, self.predict(sentences), strict=True)
        return np.array([a == b for s, heads in pairs for a, b in zip(s.heads[:-1], heads[:-1], strict=True)], bool)

    def _learn(self, sentences: list[KnpSentence], l1: float, keep: float) -> None:
        """Train the classifier on the questions of sentences, and keep a share of its weights."""
        classifier, X, y, names = self._questions(sentences, l1)
        self.l1_, self.classifier_ = l1, _compact(_largest(classifier.fit(X, y), keep), names)

    def _questions(self, sentences: list[KnpSentence], l1: float) -> tuple[CombinationLogistic, Any, Any, list[str]]:
        """A classifier, not yet trained, with the rows, answers and names of features for penalties from l1 on."""
        events = extract_events(sentences)
        self.n_events_ = len(events.y)
        frequent = np.flatnonzero(np.bincount(events.X.indices, minlength=events.X.shape[1]) > l1)
        X = sparse.csr_matrix(events.X[:, frequent])
        if len(np.unique(events.y)) < 2:
            raise DataError(
                "all questions about the sentences have the same answer, so there is nothing to learn; pass more or "
                "longer sentences"
            )
        classifier = CombinationLogistic(
            l1=l1,
            l2=self.l2,
            degree=self.degree,
            batch=None if self.l2 > 0 else _BATCH,
            tolerance=self.tolerance,
            n_jobs=self.n_jobs,
        )
        return classifier, X, _LABELS[events.y], [events.names[c] for c in frequent]


def extract_events(sentences: Sequence[KnpSentence]) -> Events:
    """The questions that are asked when sentences are parsed with their right heads; those must be parsable.

    >>> from textmill.tasks.dependency import sample_sentences
    >>> events = extract_events(sample_sentences(2)[1:])
    >>> list(zip(events.modifiers.tolist(), events.heads.tolist(), events.y.tolist()))
    [(0, 1, 0), (1, 2, 1), (0, 2, 1), (2, 3, 0)]
    """
    names: dict[str, int] = {}
    units = encode(sentences, lambda name: names.setdefault(name, len(names)))
    features = feature_names(list(names))
    used = [name for name in features if name is not None]
    numbers = itertools.count()
    columns = np.array([-1 if name is None else next(numbers) for name in features], np.int32)
    heads = np.fromiter(itertools.chain.from_iterable(s.heads for s in sentences), np.int32)
    offsets, ids, modifiers, asked, answers = native.events(*units, columns, len(used), heads)
    present, ids = np.unique(ids, return_inverse=True)
    order = np.argsort(np.array([used[c] for c in present], dtype=object), kind="stable")
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    X = sparse.csr_matrix(
        (np.ones(len(ids)), rank[ids], offsets), shape=(len(offsets) - 1, len(present)), dtype=np.float64
    )
    X.sort_indices()
    return Events(X, answers, modifiers, asked, [used[c] for c in present[order]])


def _parsable(sentences: Sequence[KnpSentence]) -> list[bool]:
    """Whether the parser can find the heads of each sentence at all."""
    ends = np.zeros(len(sentences) + 1, np.int64)
    np.cumsum([len(sentence) for sentence in sentences], out=ends[1:])
    heads = np.fromiter(itertools.chain.from_iterable(s.heads for s in sentences), np.int32, int(ends[-1]))
    return [bool(fine) for fine in native.parsable(ends, heads)]


def _largest(classifier: CombinationLogistic, share: float) -> CombinationLogistic:
    """The classifier with that share of its combinations, those of largest weight, in their order."""
    if share >= 1.0:
        return classifier
    size = np.abs(classifier.coef_[0])
    rows = np.sort(np.argsort(-size, kind="stable")[: max(1, round(share * len(size)))])
    smaller = copy.copy(classifier)
    smaller.combinations_ = classifier.combinations_[rows]
    smaller.coef_ = np.ascontiguousarray(classifier.coef_[:, rows])
    return smaller


def _compact(classifier: CombinationLogistic, names: list[str]) -> CombinationLogistic:
    """The classifier over the features that have a weight, with their names."""
    parts = classifier.combinations_
    used = np.unique(parts[parts >= 0])
    rank = np.full(classifier.n_features_ + 1, -1, np.int32)
    rank[used] = np.arange(len(used), dtype=np.int32)
    classifier.combinations_ = rank[parts]  # -1 is the last entry, which is -1
    classifier.n_features_ = len(used)
    features = NamedFeatures()
    features.names_ = StringTable(names[c] for c in used)
    classifier.vectorizer_ = features
    classifier.n_jobs = None  # those of the parser count
    return classifier
