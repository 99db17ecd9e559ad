r"""Chains by counting: T(y_t | labels before, x) from relative counts, with back-off over ever coarser histories.

    P(y | x) = prod_t T(y_t | h_1(t), ..., h_L(t))          h_l: what pattern l makes at token t, and the labels before

Take the words and labels of a sentence for a chain of pairs, G(w, y) = prod G(w_t, y_t | w_{t-1}, y_{t-1}), and the
words for a chain, too; if a word depends on the word before but not on its label, the quotient is the product above. So
it is a conditional model of whole labelings, which needs one pass of counting and no optimizer; its weakness is label
bias (a CRF has none).

The chain of histories is a list of patterns (patterns.py), the finest first. The first character says how many labels
before belong to a history: b one, t two, or a digit. A pattern without them (u) is refused, since labels would no
longer depend on each other. Distributions are smoothed from the coarsest to the finest, what was never seen is skipped:

    "witten-bell"      (c + strength r q) / (n + strength r)       r different labels seen, q the coarser distribution
    "absolute"         max(c - D, 0) / n + (what was taken) q      D = n_1 / (n_1 + 2 n_2) of the level
    "jelinek-mercer"   w c / n + (1 - w) q                         w of the level and of log2 n, by leaving one out
    "hard"             c / n of the finest history seen at least min_count times

`joint=True` gives the generative model G instead: the pair of what is observed here and its label, given what was
observed before; the same patterns and smoothing, for comparison.

Counts add: `partial_fit` and `merge` give the model of all sequences, bit for bit. Labels that are None are not known:
EM counts every labeling by its probability, until the likelihood of the known labels no longer rises.

Cost: one look-up a token and pattern. References: Jansche (2002); Witten & Bell (1991); Ney, Essen & Kneser (1994).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from textmill._native import sequence as native
from textmill.arrays import Bytes, Floats, Ids, Ints
from textmill.errors import DataError, ModelFileError, reason_of
from textmill.model import Model, Saved, StringTable, check_choice, check_fitted, check_range, effective_jobs
from textmill.sequence.decoders import forced_labels
from textmill.sequence.encoder import Encoder
from textmill.sequence.encoding import Encoded, label_ids
from textmill.sequence.jointcounts import (
    before_totals,
    check_joint,
    finer_shares,
    joint_encoder,
    joint_tests,
    learn_joint,
    merge_joint,
)
from textmill.sequence.stepchain import StepChain, allowed_steps, classes_of, start_number

__all__ = ["CountedMarkov", "Evidence", "default_chain"]

SMOOTHINGS = ("hard", "witten-bell", "absolute", "jelinek-mercer")
_BUCKETS = native.COUNT_BUCKETS
_LEAST = 1e-4  # expected counts below this are left out
_ROUNDS = 10  # of EM for the weights of levels

_Labels = Sequence[Sequence[str | None]]


def default_chain(shape: str = '%t[{at},0,"^\\p{{Lu}}"]') -> list[str]:
    """The chain for words: the word and the word before, each as it is or by whether it begins with a capital.

    `shape` is the command that looks at a word, {at} its offset.

    >>> default_chain("%shape[{at},0]")
    ['b:%x[0,0]/%x[-1,0]', 'b:%x[0,0]/%shape[-1,0]', 'b:%x[0,0]', 'b:%shape[0,0]/%x[-1,0]', \
'b:%shape[0,0]/%shape[-1,0]', 'b:%shape[0,0]', 'b']
    """
    here, before = shape.format(at=0), shape.format(at=-1)
    return [
        "b:%x[0,0]/%x[-1,0]",
        f"b:%x[0,0]/{before}",
        "b:%x[0,0]",
        f"b:{here}/%x[-1,0]",
        f"b:{here}/{before}",
        f"b:{here}",
        "b",
    ]


class Evidence(NamedTuple):
    """One level of back-off at a token: what its history is, how often each label followed, and T up to this level."""

    pattern: str
    test: str
    counts: dict[str, float]
    probability: dict[str, float]


class CountedMarkov(StepChain, Model):
    """A conditional (or joint) Markov model that only counts.

    Parameters:
        patterns: The chain of histories, finest first; None for `default_chain()`.
        smoothing: "witten-bell", "absolute", "jelinek-mercer" or "hard".
        strength: Of "witten-bell", how much a coarser history counts.
        min_count: Of "hard", how often a history must have been seen.
        joint: Whether to model observations and labels together ("witten-bell" only).
        scheme: "IOB2" holds labels to that scheme, "auto" if all labels look so, None never.
        start_label: The label that stands before the first token; None for O, or one of its own where there is no O.
        max_iter: Largest number of iterations of EM, where labels are missing.
        tolerance: Relative change of the log-likelihood that ends EM.
        n_jobs: Number of threads; None for all cores. The model is the same for any number.

    Attributes:
        classes_: Labels, sorted, (Y,).
        encoder_: `Encoder` of the histories.
        level_: Level of each test, (tests,).
        rows_, history_, entries_, label_, counts_: Table of counts: tests -> labels before -> (label, count).
        weights_: Discounts or weights of the levels, (levels, buckets of counts).
        trace_: Log-likelihood of the known labels after each iteration of EM.

    >>> X = [["the", "dog"], ["a", "Rex"], ["Rex"]]
    >>> model = CountedMarkov().fit(X, [["O", "O"], ["O", "B"], ["B"]])
    >>> model.predict([["a", "Rex"], ["Max"]])
    [['O', 'B'], ['B']]
    """

    format_version: ClassVar[int] = 2
    layout: ClassVar[dict[str, str]] = {
        "level_": "test: int32",
        "rows_": "test+1: int64",
        "history_": "row: int32",
        "entries_": "row+1: int64",
        "label_": "entry: int32",
        "counts_": "entry",
        "weights_": "level bucket",
        "trace_": "iteration",
        "before_of_": "test: int32 | None",
        "finer_": "pair two: int32 | None",
    }
    indices: ClassVar[dict[str, str]] = {"level_": "level"}
    offsets: ClassVar[dict[str, str]] = {"rows_": "row", "entries_": "entry"}
    state: ClassVar[dict[str, Any]] = {"order_": int, "start_": int, "sequences_": int}
    parts: ClassVar[dict[str, str]] = {"encoder_": "sequence.Encoder", "joint_encoder_": "sequence.Encoder"}

    encoder_: Encoder
    joint_encoder_: Encoder | None
    before_of_: Ids | None
    finer_: Ids | None
    level_: Ids
    rows_: Ints
    history_: Ids
    entries_: Ints
    label_: Ids
    counts_: Floats
    weights_: Floats
    trace_: Floats
    sequences_: int

    def __init__(
        self,
        *,
        patterns: str | Sequence[str] | None = None,
        smoothing: str = "witten-bell",
        strength: float = 1.0,
        min_count: int = 1,
        joint: bool = False,
        scheme: str | None = "auto",
        start_label: str | None = None,
        max_iter: int = 20,
        tolerance: float = 1e-4,
        n_jobs: int | None = None,
    ) -> None:
        self.patterns = patterns
        self.smoothing = smoothing
        self.strength = strength
        self.min_count = min_count
        self.joint = joint
        self.scheme = scheme
        self.start_label = start_label
        self.max_iter = max_iter
        self.tolerance = tolerance
        self.n_jobs = n_jobs

    def fit(self, X: Iterable[Any], y: _Labels) -> Self:
        """Count; labels that are None are found by EM."""
        self.fit_encode(X, y)
        return self

    def cells(self, X: Iterable[Any]) -> Any:
        """Intern the words of sequences, before or after `fit`; every method takes them in the place of X."""
        if self.joint:
            raise DataError("a joint model reads sequences twice; pass the sequences themselves")
        encoder = self.encoder_ if self.__sklearn_is_fitted__() else self._encoder()
        encoder.n_jobs = self.n_jobs
        return encoder.cells(X)

    def fit_encode(self, X: Any, y: _Labels | tuple[Ids, NDArray[Any]]) -> Encoded:
        """Fit, and return the sequences as tests with their labels.

        `y` may also be the numbers of the labels of all tokens, one sequence after the other, and the sorted labels.
        """
        self._check_parameters()
        chain = self._chain()
        X = list(X) if self.joint else X
        numbered = isinstance(y, tuple) and len(y) == 2 and isinstance(y[0], np.ndarray)
        classes: NDArray[Any] = y[1] if numbered else classes_of(y)  # type: ignore[assignment, arg-type]
        self.encoder_ = self._encoder()
        data = self.encoder_.fit_encode(X)
        self.order_ = max(order for order, _ in chain)
        self.classes_, self.start_ = classes, start_number(classes, self.start_label)
        self.sequences_ = data.sequences
        self._allowed()  # an error before anything is counted
        self.level_ = self._levels(data)
        labels: Ids = y[0] if numbered else label_ids(y, data.offsets, classes)  # type: ignore[assignment, arg-type]
        self._count(data, native.label_events(self._histories(), data.offsets, labels))
        self.joint_encoder_, self.before_of_, self.finer_ = None, None, None
        if self.joint:
            if (labels < 0).any():
                raise DataError("a joint model counts labels that are all known; fill them in, or use joint=False")
            self.joint_encoder_ = joint_encoder([pattern for _, pattern in chain], self.n_jobs)
            self.before_of_, self.finer_ = learn_joint(self.joint_encoder_, X, self.level_, data)
        self.trace_ = np.empty(0)
        self._smooth(data, labels)
        if (labels < 0).any():
            self._expect(data, labels)
        return data.with_labels(labels)

    def partial_fit(self, X: Iterable[Any], y: _Labels) -> Self:
        """Add sequences; labels and histories may be new. The model is that of all sequences so far.

        >>> model = CountedMarkov().partial_fit([["the", "dog"]], [["O", "O"]]).partial_fit([["Rex"]], [["B"]])
        >>> model.fingerprint() == CountedMarkov().fit([["the", "dog"], ["Rex"]], [["O", "O"], ["B"]]).fingerprint()
        True
        """
        part = type(self)(**self.get_params(deep=False)).fit(X, y)
        whole = self.merge(part) if self.__sklearn_is_fitted__() else part
        self.__dict__.update(whole.__dict__)
        return self

    def merge(self, other: CountedMarkov) -> CountedMarkov:
        """Return the model of the sequences of both, those of `other` behind its own.

        Weights of "jelinek-mercer" are averaged, since they cannot be found from counts alone.

        >>> one = CountedMarkov().fit([["the", "dog"]], [["O", "O"]])
        >>> one.merge(CountedMarkov().fit([["Rex"]], [["B"]])).predict([["the", "Rex"]])
        [['O', 'B']]
        """
        for part in (self, other):
            check_fitted(part)
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)
        for settings in (mine, theirs):
            settings.pop("n_jobs")
        if mine != theirs or self.encoder_.width_ != other.encoder_.width_:
            raise DataError(f"the models differ in their parameters, {self!r} and {other!r}; use the same")
        both = type(self)(**self.get_params(deep=False))
        both.classes_ = np.array(sorted({*self.classes_.tolist(), *other.classes_.tolist()}))
        both.start_ = start_number(both.classes_, self.start_label)
        both.order_ = self.order_
        both.sequences_ = self.sequences_ + other.sequences_
        both.encoder_, numbers = _union(self.encoder_, other.encoder_)
        both.level_ = np.empty(len(both.encoder_.tests_), np.int32)
        both.level_[: len(self.level_)] = self.level_
        both.level_[numbers] = other.level_
        both.joint_encoder_, both.before_of_, both.finer_ = None, None, None
        if self.joint:
            both._merge_joint(self, other, numbers)
        both.trace_ = np.empty(0)
        parts = [self._cells(both, np.arange(len(self.level_))), other._cells(both, numbers)]
        both._take_cells(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
        share = np.array([self.sequences_, other.sequences_], float) / max(both.sequences_, 1)
        both.weights_ = share[0] * self.weights_ + share[1] * other.weights_
        if self.smoothing == "absolute":
            both.weights_ = both._discounts()
        return both

    def _merge_joint(self, one: CountedMarkov, other: CountedMarkov, numbers: Ints) -> None:
        """What a joint model has beside the counts; `numbers` are those of the tests of `other`."""
        assert one.joint_encoder_ is not None
        assert other.joint_encoder_ is not None
        self.joint_encoder_, events = _union(one.joint_encoder_, other.joint_encoder_)
        pairs, before = ([getattr(part, name) for part in (one, other)] for name in ("finer_", "before_of_"))
        self.before_of_, self.finer_ = merge_joint(pairs, before, numbers, events, len(self.level_))

    def evidence(self, sequence: Sequence[Any], token: int, before: Sequence[str] = ()) -> list[Evidence]:
        """Return what each level of back-off says at a token (counted from 0) after these labels, coarsest first.

        `before` are the labels before the token, the nearest last; those missing stand before the sequence.

        >>> model = CountedMarkov().fit([["the", "dog"], ["a", "Rex"]], [["O", "O"], ["O", "B"]])
        >>> [(one.test, one.counts) for one in model.evidence(["a", "Rex"], 1, ["O"])][-2:]
        [('Rex/false', {'B': 1.0}), ('Rex/a', {'B': 1.0})]
        """
        if self.joint:
            raise DataError("evidence is that of a conditional model; use joint=False")
        check_fitted(self)
        data = self.encoder_.encode([sequence])
        if not 0 <= token < data.tokens:
            raise DataError(f"there is no token {token} in a sequence of {data.tokens}; count from 0")
        names = self.classes_.tolist()
        history = 0
        for label in [*([None] * self.order_), *before][-self.order_ :]:
            if label is not None and label not in names:
                raise DataError(f"'{label}' is no label of the model; it has {names}")
            history = history * self._base() + (self.start_ if label is None else names.index(label))
        begin, end = data.bigram.indptr[token : token + 2]
        patterns, levels = self._patterns(), []
        table = self.table()
        for i in range(int(end) - 1, int(begin) - 1, -1):
            test = int(data.bigram.ids[i])
            level, tests = int(self.level_[test]), data.bigram.ids[i:end]
            at = history % self._base() ** self._orders()[level]
            counts: dict[str, float] = {}
            for row in range(int(self.rows_[test]), int(self.rows_[test + 1])):
                if self.history_[row] == at:
                    entries = range(int(self.entries_[row]), int(self.entries_[row + 1]))
                    counts = {names[self.label_[e]]: float(self.counts_[e]) for e in entries}
            steps = np.empty((1, self._base() ** self.order_, len(names)))
            one = np.array([0, len(tests)]), np.ascontiguousarray(tests)
            native.StepSource(table, (np.array([0, 1]), *one), None).steps(steps, 1)
            probability = dict(zip(names, steps[0, history].tolist(), strict=True))
            shown = self.encoder_.tests_[test].partition("|")[2]
            levels.append(Evidence(patterns[level], shown.removeprefix(":"), counts, probability))
        return levels

    def check_values(self) -> None:
        """Check what the layout cannot say of a model from a file."""
        try:
            levels = [order for order, _ in self._chain()]
            if len(self.weights_) != len(levels) or len(self.level_) != len(self.encoder_.tests_):
                raise ModelFileError("levels, weights and tests do not belong together", reason="damaged")
            if self.order_ != max(levels) or not 0 <= self.start_ <= len(self.classes_):
                raise ModelFileError("the order or the label at the start does not fit the patterns", reason="damaged")
            self.table()
            check_joint(self.joint_encoder_, self.before_of_, self.finer_)
        except ValueError as error:
            raise ModelFileError(str(error), reason=reason_of(error)) from None

    @classmethod
    def upgrade(cls, saved: Saved) -> Saved:
        """Bring a model of format 1 into today's form; joint ones did not hold what merging needs."""
        if saved.parts.get("joint_encoder_") is not None:
            return super().upgrade(saved)
        return replace(saved, format=2, arrays={k: v for k, v in saved.arrays.items() if k != "share_of_"})

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_model"}

    def _check_parameters(self) -> None:
        check_choice("smoothing", self.smoothing, SMOOTHINGS)
        check_range("strength", self.strength, above=0, below=np.inf)
        check_range("min_count", self.min_count, at_least=1, whole=True)
        check_range("max_iter", self.max_iter, at_least=1, whole=True)
        check_range("tolerance", self.tolerance, at_least=0)
        if self.joint and self.smoothing != "witten-bell":
            raise DataError(f"joint=True is smoothed by 'witten-bell', not by '{self.smoothing}'; change one of them")
        allowed_steps(np.array(["O"]), 1, 0, self.scheme)

    def _patterns(self) -> list[str]:
        patterns = default_chain() if self.patterns is None else self.patterns
        lines = patterns.splitlines() if isinstance(patterns, str) else list(patterns)
        return [line.partition("#")[0].strip() for line in lines if line.partition("#")[0].strip()]

    def _chain(self) -> list[tuple[int, str]]:
        """For each pattern the number of labels before, and the pattern of an encoder with the level as its name."""
        chain = []
        for level, pattern in enumerate(self._patterns()):
            order = {"b": 1, "t": 2}.get(pattern[0].lower(), int(pattern[0]) if pattern[0] in "123456789" else 0)
            if not order:
                raise DataError(
                    f"pattern {pattern!r} does not look at the label before, and labels would no longer depend on each "
                    "other; begin it with b (one label before), t (two) or a digit"
                )
            chain.append((order, f"b{level}|{pattern[1:]}"))
        if not chain:
            raise DataError("there are no patterns; write at least one, such as b:%x[0,0]")
        return chain

    def _encoder(self) -> Encoder:
        return Encoder(patterns=[pattern for _, pattern in self._chain()], n_jobs=self.n_jobs)

    def _orders(self) -> list[int]:
        return [order for order, _ in self._chain()]

    def _levels(self, data: Encoded) -> Ids:
        """Levels of tests: each token has one test of every pattern, in order."""
        levels = len(self._chain())
        level = np.empty(data.bigram.size, np.int32)
        level[data.bigram.ids] = np.tile(np.arange(levels, dtype=np.int32), data.tokens)
        return level

    def _count(self, data: Encoded, events: Any) -> None:
        vars(self).pop("_model", None)
        orders = np.array(self._orders(), np.int32)
        tests = data.offsets, data.bigram.indptr, data.bigram.ids
        table = native.count_events(self._histories(), self.level_, orders, tests, events, effective_jobs(self.n_jobs))
        self.rows_, self.history_, self.entries_, self.label_, self.counts_ = table

    def _smooth(self, data: Encoded, labels: Ids) -> None:
        """Discounts or weights of the levels."""
        self.weights_ = np.zeros((len(self._chain()), _BUCKETS))
        if self.smoothing == "absolute":
            self.weights_ = self._discounts()
        elif self.smoothing == "jelinek-mercer":
            events = native.label_events(self._histories(), data.offsets, labels)
            tests = data.offsets, data.bigram.indptr, data.bigram.ids
            weights = native.interpolation_weights(self.table(), tests, events, _ROUNDS)
            self.weights_ = weights.reshape(-1, _BUCKETS)
        vars(self).pop("_model", None)

    def _discounts(self) -> Floats:
        """n_1 / (n_1 + 2 n_2) of every level."""
        level = np.repeat(np.repeat(self.level_, np.diff(self.rows_)), np.diff(self.entries_))
        once, twice = (np.bincount(level[self.counts_ == n], minlength=len(self._chain())) for n in (1.0, 2.0))
        share = np.where(once > 0, once / np.maximum(once + 2 * twice, 1), 0.5)
        return np.repeat(share[:, None], _BUCKETS, axis=1)

    def _expect(self, data: Encoded, labels: Ids) -> None:
        """EM: count all labelings of what is not known by their probabilities."""
        allowed = forced_labels(labels, len(self.classes_))
        tests = data.offsets, data.bigram.indptr, data.bigram.ids
        trace: list[float] = []
        for _ in range(self.max_iter):
            log_z = np.empty(data.sequences)
            source = native.StepSource(self.table(), tests, None)
            events = source.expected(allowed, _LEAST, log_z, effective_jobs(self.n_jobs))
            trace.append(float(log_z[np.isfinite(log_z)].sum()))
            self._count(data, events)
            if len(trace) > 1 and abs(trace[-1] - trace[-2]) <= self.tolerance * max(abs(trace[-2]), 1e-300):
                break
        self.trace_ = np.array(trace)

    def _allowed(self) -> Bytes:
        return allowed_steps(self.classes_, self.order_, self.start_, self.scheme)

    def table(self) -> native.CountedModel:
        """Return the counts as native code holds them."""
        if getattr(self, "_model", None) is None:
            table = (
                self.level_, np.array(self._orders(), np.int32), self.rows_, self.history_, self.entries_, self.label_,
                self.counts_,
            )  # fmt: skip
            self._model = native.CountedModel(
                self._histories(), table, SMOOTHINGS.index(self.smoothing), float(self.strength),
                float(self.min_count), np.ascontiguousarray(self.weights_).ravel(), self._allowed(),
            )  # fmt: skip
        return self._model

    def _step_source(self, X: Any) -> tuple[native.StepSource, Ints]:
        X = list(X) if self.joint else X
        self.encoder_.n_jobs = self.n_jobs
        data = self.encoder_.encode(X)
        tests = data.offsets, data.bigram.indptr, data.bigram.ids
        joint = None
        if self.joint_encoder_ is not None:
            assert self.before_of_ is not None
            assert self.finer_ is not None
            share_of = finer_shares(self.finer_, len(self.joint_encoder_.tests_))
            table = self.rows_, self.history_, self.entries_, self.counts_
            joint = (
                *joint_tests(self.joint_encoder_, X, data, self.level_, share_of),
                *before_totals(table, self.before_of_),
            )
        return native.StepSource(self.table(), tests, joint), data.offsets

    def _cells(self, whole: CountedMarkov, numbers: NDArray[Any]) -> tuple[Ints, Ints, Ints, Floats]:
        """Test, history, label and count of every entry in the numbers of a larger model."""
        names = {name: number for number, name in enumerate(whole.classes_.tolist())}
        place = np.array([names[name] for name in self.classes_.tolist()] + [whole.start_], np.int64)
        rows = np.repeat(np.arange(len(self.history_)), np.diff(self.entries_))
        test = np.repeat(np.arange(len(self.level_)), np.diff(self.rows_))
        left, history = self.history_.astype(np.int64), np.zeros(len(self.history_), np.int64)
        for i in range(self.order_):
            digit = left % self._base()
            used = np.array(self._orders())[self.level_[test]] > i
            history += np.where(used, place[digit] * whole._base() ** i, 0)
            left //= self._base()
        return numbers[test][rows].astype(np.int64), history[rows], place[self.label_], self.counts_

    def _take_cells(self, test: Ints, history: Ints, label: Ints, count: Floats) -> None:
        """The table of these entries, equal ones added."""
        order = np.lexsort((label, history, test))
        test, history, label, count = test[order], history[order], label[order], count[order]
        new_row = np.ones(len(test), bool)
        new_row[1:] = (test[1:] != test[:-1]) | (history[1:] != history[:-1])
        first = new_row.copy()
        first[1:] |= label[1:] != label[:-1]
        starts = np.flatnonzero(first)
        self.counts_ = np.add.reduceat(count, starts) if len(starts) else np.empty(0)
        self.label_ = label[starts].astype(np.int32)
        heads = np.flatnonzero(new_row)
        self.history_ = history[heads].astype(np.int32)
        self.entries_ = np.append(np.searchsorted(starts, heads), len(starts)).astype(np.int64)
        self.rows_ = np.searchsorted(test[heads], np.arange(len(self.level_) + 1)).astype(np.int64)


def _union(one: Encoder, two: Encoder) -> tuple[Encoder, Ints]:
    """An encoder with the tests of both, and the numbers of those of the second."""
    numbers = {test: number for number, test in enumerate(one.tests_)}
    places = [numbers.setdefault(test, len(numbers)) for test in two.tests_]
    both = Encoder(**one.get_params(deep=False))
    both.tests_, both.width_, both.patterns_ = StringTable(numbers), one.width_, one.patterns_
    return both, np.array(places, np.int64)
