"""Semi-Markov conditional random fields: labels of whole segments, for names of many words.

    p(s | x) = exp( sum_j [ sum_{f true of segment j} mu[f, y_j] + sum_{h true before it} nu[h, q_j, y_j] ] ) / Z(x)
    minimize  sum_i w_i (-log p(s^i | x^i)) + l1 ||theta||_1 + l2 / 2 ||theta||^2

A segment (first token, last token, label) may be asked anything about the words in it (segment_patterns.py); O segments
have one token. What a segment follows, its state q, is nothing (`history="none"`), the label of the segment before it
("label"), or the last entity before it at any distance ("entity"), which the paper writes into the O labels:

    O protein O O DNA   ->   O protein O-protein O-protein DNA

Candidates are stretches of at most `max_length` tokens that a cheap filter keeps (candidates.py). Sums over all
segmentations are factored (native/sequence/segments.h): O(N |Q| |E|) for states and O(candidates |E|) for segments.
References: Sarawagi & Cohen (2004); Okanohara, Miyao, Tsuruoka & Tsujii (2006).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from textmill._native import segments as native
from textmill.arrays import Floats, Ints
from textmill.corpus import Sentence, Span, tags_of
from textmill.errors import DataError, ModelFileError, reason_of, warn_caller
from textmill.model import (
    Classifier,
    Model,
    RandomState,
    Saved,
    StringTable,
    check_choice,
    check_fitted,
    check_range,
    effective_jobs,
    seed_of,
)
from textmill.optimize import REASONS, Plateau, Stopping, minimize_lbfgs
from textmill.readable import counted
from textmill.sequence.candidate_counts import width_of
from textmill.sequence.candidate_filter import CandidateFilter
from textmill.sequence.candidates import Candidates, all_candidates, gold_spans
from textmill.sequence.segment_choice import RATIOS, Segment, best_ratio, listed_segments, most_expected, ratio_counts
from textmill.sequence.segment_data import SegmentCells, SegmentData, SegmentObjective, SegmentRows
from textmill.sequence.segment_learning import learn_tests
from textmill.sequence.segment_patterns import PRESETS, CompiledSegments, parse_segment_patterns, segment_patterns
from textmill.sequence.training.algorithms import Algorithm, SparseWeights, algorithm_of
from textmill.sequence.training.batch import Snapshot
from textmill.sequence.training.run import PATIENCE, Run
from textmill.sequence.word_lists import WordLists

__all__ = ["HISTORIES", "LongSegments", "SemiMarkovCRF", "entity_history", "plain_labels"]

HISTORIES = ("none", "label", "entity")
COST = 0.4  # of a segment that is predicted: half of an F1 of 0.8, the value that makes it the best choice for F1
FEWEST, FEW, MANY = 30, 2_000, 10_000  # labeled segments: from FEWEST to MANY the cost is measured, else it is COST
HELD_OUT, ROUNDS = 3, 40  # to measure it, a third of the sequences is kept apart; iterations of that training
_KEPT = 0.99  # share of the sum of squares of the weights that a compact model has
DEFAULT_L2 = 5.0  # where there is no L1 penalty: segments have many tests, of which most are rare
MOST_BYTES = 1 << 35  # of the scores of histories; more is refused, with an estimate


class LongSegments(UserWarning):
    """Segments of the training data are longer than the maximum."""


def entity_history(labels: Sequence[str]) -> list[str]:
    """Labels of segments with the last entity written into O.

    >>> entity_history(["O", "protein", "O", "O", "DNA"])
    ['O', 'protein', 'O-protein', 'O-protein', 'DNA']
    """
    last, written = "", []
    for label in labels:
        written.append(f"O-{last}" if label == "O" and last else label)
        last = last if label == "O" else label
    return written


def plain_labels(labels: Sequence[str]) -> list[str]:
    """The labels before `entity_history`.

    >>> plain_labels(["DNA", "O-DNA", "RNA", "O-RNA", "O-RNA"])
    ['DNA', 'O', 'RNA', 'O', 'O']
    """
    return ["O" if label.startswith("O-") else label for label in labels]


class SemiMarkovCRF(Classifier, Model):
    """A semi-Markov CRF over IOB2 tags.

    Parameters:
        patterns: "rich" or "table3" (see `segment_patterns`), text of a pattern file, or list of patterns.
        history: What a segment follows: "none", "label" or "entity".
        max_length: Number of tokens of the longest segment.
        long_segments: "drop" (longer ones of the training data become O) or "keep" (they are candidates of their own).
        filter: "bayes" for a `CandidateFilter`, None for all candidates, or an object with the methods
            `fit_candidates(X, y)` and `candidates(X)`.
        filter_recall: Share of the segments that the filter "bayes" must keep.
        min_count: How often a test must be true of segments of the training data to be kept.
        function: What %f of patterns calls.
        segment_function: Function of (tokens, first, one past the last) that returns further tests of a segment: a
            mapping from names to values, or a list of names.
        word_lists: Mapping from names to lists of texts: a test with the similarity to the nearest text of each; the
            filter keeps what is in one.
        compact: Whether to drop the smallest weights after training, which have a hundredth of the sum of all squares,
            and tests without weights: a file a tenth as large, and no other answers but by chance.
        algorithm: "lbfgs", "owlqn" or "rprop", or an object with settings of its own.
        l1: L1 penalty; None for 0, or for 0.5 with owlqn.
        l2: L2 penalty; None for 5, or for 1e-5 with an L1 penalty.
        max_iter: Largest number of iterations; None for 200.
        tolerance: Relative change of the objective that ends a run; None for 1e-4.
        n_jobs: Number of threads; None for all cores.
        random_state: Seed of the random numbers.

    Attributes:
        classes_: Tags that `predict` gives.
        segment_labels_: Labels of segments, O first.
        filter_: Fitted filter, or None.
        patterns_: Patterns, as they were read.
        tests_: Tests of segments; history_tests_, those of histories.
        features_: Numbers of the weights that are not zero, see segment_data.py.
        weights_: These weights.
        theta_: All weights, those that are zero, too; not saved.
        width_: Number of columns of tokens.
        n_long_: Number of segments of the training data that were longer than the maximum.
        cost_: What a segment must at least be worth to be predicted, see `predict_segments`: measured on development
            sequences or, if there are less than 10,000 segments, on a third of the sequences by a model of the others.
        n_iter_, converged_, stop_reason_, objective_, trace_, training_log_: As in `CRF`.
        training_summary_: Numbers of the training, as a mapping; not saved.

    >>> X = [["in", "Mill", "Hill", "Lane"], ["the", "Mill", "stood"], ["to", "Hill", "Lane"]] * 2
    >>> y = [["O", "B-LOC", "I-LOC", "I-LOC"], ["O", "O", "O"], ["O", "B-LOC", "I-LOC"]] * 2
    >>> tagger = SemiMarkovCRF(max_length=3, filter=None, max_iter=30).fit(X, y)
    >>> tagger.predict([["in", "Mill", "Hill", "Lane"]])
    [['O', 'B-LOC', 'I-LOC', 'I-LOC']]
    """

    takes: ClassVar[str] = "sequences"
    kind: ClassVar[str] = "semimarkov"
    format_version: ClassVar[int] = 3
    layout: ClassVar[dict[str, str]] = {
        "segment_labels_": "label: label",
        "tests_": "test: str",
        "history_tests_": "history: str",
        "features_": "weight: int32",
        "weights_": "weight: float32",
        "trace_": "iteration: float64",
    }
    parts: ClassVar[dict[str, str]] = {"filter_": "sequence.CandidateFilter"}
    state: ClassVar[dict[str, Any]] = {
        "converged_": bool,
        "cost_": float,
        "n_iter_": int,
        "n_long_": int,
        "objective_": float | None,
        "patterns_": list,
        "stop_reason_": str,
        "width_": int,
    }

    segment_labels_: NDArray[Any]
    tests_: StringTable
    history_tests_: StringTable
    features_: NDArray[np.int32]
    weights_: NDArray[np.float32]
    _theta: Floats | None
    filter_: Any
    patterns_: list[str]
    width_: int
    n_long_: int
    cost_: float
    n_iter_: int
    converged_: bool
    stop_reason_: str
    objective_: float | None
    trace_: Floats
    training_log_: list[dict[str, float]]
    training_summary_: dict[str, Any]

    def __init__(
        self,
        *,
        patterns: str | Sequence[str] = "rich",
        history: str = "entity",
        max_length: int = 10,
        long_segments: str = "drop",
        filter: Any = "bayes",  # noqa: A002
        filter_recall: float = 0.995,
        min_count: int = 1,
        function: Callable[..., str] | None = None,
        segment_function: Callable[..., Any] | None = None,
        word_lists: Mapping[str, Sequence[str]] | None = None,
        compact: bool = True,
        algorithm: str | Algorithm = "lbfgs",
        l1: float | None = None,
        l2: float | None = None,
        max_iter: int | None = None,
        tolerance: float | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.patterns = patterns
        self.history = history
        self.max_length = max_length
        self.long_segments = long_segments
        self.filter = filter
        self.filter_recall = filter_recall
        self.min_count = min_count
        self.function = function
        self.segment_function = segment_function
        self.word_lists = word_lists
        self.compact = compact
        self.algorithm = algorithm
        self.l1 = l1
        self.l2 = l2
        self.max_iter = max_iter
        self.tolerance = tolerance
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Iterable[Any],
        y: Iterable[Sequence[str]],
        X_dev: Iterable[Any] | None = None,
        y_dev: Iterable[Sequence[str]] | None = None,
        *,
        early_stopping: Plateau | None = None,
        sample_weight: Sequence[float] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from sequences of tokens and their IOB2 tags.

        With development sequences the run stops when the best F1 is ten iterations old (`early_stopping`), and the
        weights of the best iteration are kept. `checkpoint` is a file that the run is saved in and goes on from.
        """
        self._check()
        X, y = _sequences(X), [list(tags) for tags in y]
        self.cost_ = COST
        if X_dev is None:
            self.cost_ = self._held_out_cost(X, y, sample_weight)
        else:
            X_dev, y_dev = _sequences(X_dev), None if y_dev is None else [list(tags) for tags in y_dev]
        objective = self.objective(X, y, sample_weight=sample_weight)
        algorithm, max_iter, tolerance = self._algorithm(), self.max_iter, self.tolerance
        run = Run(
            algorithm,
            objective,  # type: ignore[arg-type]
            max_iter=algorithm.default_max_iter if max_iter is None else max_iter,
            tolerance=1e-4 if tolerance is None else tolerance,
            seed=seed_of(self.random_state, 0),
            error=self._development_error(X_dev, y_dev),
            plateau=early_stopping or PATIENCE,
            checkpoint=checkpoint,
        )
        result = run.train(SparseWeights(np.empty(0, np.int64), np.empty(0)))
        tests = len(self.tests_) + len(self.history_tests_)
        theta = np.zeros(objective.size)
        theta[result.features] = result.weights
        self._keep(theta)
        if X_dev is not None and y_dev is not None:
            self.cost_ = best_ratio(*self._ratio_counts(X_dev, y_dev)) / 2
        self.training_log_ = run.log
        self.n_iter_ = len(run.log)
        self.objective_ = float(result.objectives[-1]) if result.objectives else None
        self.trace_ = np.array([entry["objective"] for entry in run.log], np.float64)
        self.converged_, self.stop_reason_ = result.reason in ("gradient", "value"), REASONS[result.reason]
        self.training_summary_ = {
            "sequences": len(objective.data.candidates.offsets) - 1,
            "labels": len(self.segment_labels_) - 1,
            "tests": tests,
            "features": objective.size,
            "candidates": objective.data.candidates.count,
            "all_candidates": all_candidates(objective.data.candidates.offsets, self.max_length).count,
            "long_segments": self.n_long_,
            "bytes": objective.problem.memory,
            "iterations": self.n_iter_,
            "objective": self.objective_,
            "stop_reason": self.stop_reason_,
        }
        return self

    def objective(
        self,
        X: Iterable[Any],
        y: Iterable[Sequence[str]],
        *,
        sample_weight: Sequence[float] | None = None,
        packed: bool = False,
    ) -> SegmentObjective:
        """What `fit` minimizes: learns filter, labels and tests of these sequences.

        `packed` computes by the recursion of the paper, for comparison: equal values, slower.
        """
        self._check()
        X = _sequences(X)
        spans = gold_spans(y, X)
        self._compile(X)
        cells = self._cells(X)
        labels = sorted({label for some in spans for _, _, label in some})
        if not labels:
            raise DataError("there are no labeled segments to learn; pass tags such as B-PER")
        if "O" in labels:
            raise DataError("a segment is labeled 'O', which stands for no segment; give it another label")
        self.segment_labels_ = np.array(["O", *labels])
        observed = self._observed(spans, cells.offsets)
        candidates = self._fit_candidates(X, y, cells.offsets, observed)
        weights = None
        if sample_weight is not None:
            weights = np.asarray(sample_weight, np.float64)
            if weights.shape != (len(X),) or not (np.isfinite(weights) & (weights >= 0)).all():
                raise DataError(f"sample_weight must be {len(X)} numbers >= 0, one per sequence")
        self.tests_, self.history_tests_ = learn_tests(
            cells, observed, lambda table: self._extra(X, cells.offsets, table), self.min_count
        )
        self._table = self._history_table = None
        if not len(self.tests_):
            raise DataError(f"no test is true {self.min_count} times; pass a smaller min_count or more sequences")
        data = self._encode(cells, X, candidates)
        self._check_histories(data)
        l1, l2 = self._penalties()
        return SegmentObjective(
            data, observed, len(self.segment_labels_), self.history, l1=l1, l2=l2, weights=weights, n_jobs=self.n_jobs,
            packed=packed,
        )  # fmt: skip

    @property
    def classes_(self) -> NDArray[Any]:
        """Tags that `predict` gives, in sorted order."""
        names = self.segment_labels_.tolist()[1:]
        return np.array(sorted(["O", *(f"{letter}-{name}" for name in names for letter in "BI")]))

    def predict(self, X: Iterable[Any], *, maximize: str | None = "segments") -> list[list[str]]:
        """The IOB2 tags of the segments of every sequence, chosen as `predict_segments` does."""
        X = _sequences(X)
        return [tags_of(spans, len(x)) for x, spans in zip(X, self.predict_segments(X, maximize=maximize), strict=True)]

    def predict_segments(self, X: Iterable[Any], *, maximize: str | None = "segments") -> list[list[Span]]:
        """The labeled segments (first token, one past the last, label) of every sequence.

        maximize="segments" chooses segments by their own probabilities, those that sum up to the most when each costs
        `cost_`; "f1" those whose F1, over all sequences together, is the greatest to be expected; None the most
        probable segmentation as a whole.
        """
        if maximize is not None:
            check_choice("maximize", maximize, ("segments", "f1"))
            data, probabilities, _ = self._marginals(_sequences(X))
            chosen = most_expected(data.candidates, probabilities, 2 * self.cost_ if maximize == "segments" else None)
            return [[segment[:3] for segment in some] for some in self._listed(data, probabilities, chosen)]
        return [answers[0][0] for answers in self.predict_best(X, 1)]

    def predict_best(self, X: Iterable[Any], k: int = 5) -> list[list[tuple[list[Span], float, float]]]:
        """The k best segmentations of every sequence with their scores and probabilities, best first.

        With k=1 the probability is left out (NaN), as it costs as much again.
        """
        check_range("k", k, at_least=1, whole=True)
        return self._best(self._problem(_sequences(X))[1], k)

    def _best(self, problem: Any, k: int, asked: Any = None) -> list[list[tuple[list[Span], float, float]]]:
        threads = effective_jobs(self.n_jobs)
        bounds, scores, ends, flat = problem.best(self.theta_, k, threads, asked)
        log_z = problem.marginals(self.theta_, threads)[1] if k > 1 else None
        names = self.segment_labels_.tolist()
        rows = flat.reshape(-1, 3).tolist()
        answers = []
        for s, (begin, end) in enumerate(pairwise(bounds.tolist())):
            some = []
            for h in range(begin, end):
                spans = [(t, t + length, names[y]) for t, length, y in rows[ends[h] : ends[h + 1]]]
                probability = float("nan") if log_z is None else float(np.exp(scores[h] - log_z[s]))
                some.append((spans, float(scores[h]), probability))
            answers.append(some)
        return answers

    def rivals(
        self, X: Sequence[Any], spans: Sequence[Span]
    ) -> tuple[SegmentData, list[tuple[list[Span], list[Span]]]]:
        """The best segmentation of every sequence with a segment, one for each sequence, and the best without it.

        A segment that is no candidate, or a label that the model does not have, is refused.
        """
        X = _sequences(X)
        data, problem = self._problem(X)
        numbers = {name: i for i, name in enumerate(self.segment_labels_.tolist())}
        rows = _flat([[span] for span in spans], data.candidates.offsets, numbers)
        if (rows[:, 2] < 1).any() or not data.candidates.contains(rows[:, 0], rows[:, 1]).all():
            raise DataError("a segment has another label than the model knows, or is no candidate of its filter")
        asked = np.empty((len(X), 4), np.int32)
        asked[:, :3] = rows
        asked[:, 0] -= data.candidates.offsets[:-1]
        answers = []
        for must in (1, 0):
            asked[:, 3] = must
            answers.append([some[0][0] for some in self._best(problem, 1, asked)])
        return data, list(zip(*answers, strict=True))

    def segment_marginals(self, X: Iterable[Any], *, threshold: float = 0.01) -> list[list[Segment]]:
        """The segments of every sequence whose probability is at least the threshold, in order."""
        data, probabilities, _ = self._marginals(_sequences(X))
        chosen = probabilities >= threshold
        chosen[:, 0] = False
        chosen[np.flatnonzero(data.candidates.single == 0)] = False
        return self._listed(data, probabilities, chosen)

    def _listed(self, data: SegmentData, probabilities: Floats, chosen: NDArray[np.bool_]) -> list[list[Segment]]:
        return listed_segments(data.candidates, probabilities, chosen, self.segment_labels_.tolist())

    def span_confidence(self, X: Iterable[Any], spans: Sequence[Sequence[Span]]) -> list[list[float]]:
        """How probable each of these labeled segments is, 0 where it is no candidate."""
        X = _sequences(X)
        if len(spans) != len(X):
            raise DataError(f"there are {len(X)} sequences but {len(spans)} lists of spans; give one for each")
        table: list[dict[Span, float]] = [
            {segment[:3]: segment.probability for segment in some} for some in self.segment_marginals(X, threshold=0.0)
        ]
        return [
            [chances.get((span[0], span[1], span[2]), 0.0) for span in some]
            for chances, some in zip(table, spans, strict=True)
        ]

    def log_likelihood(self, X: Iterable[Any], y: Iterable[Sequence[str]]) -> float:
        """The sum of log p(s | x) over labeled sequences; -inf where a segment is no candidate."""
        X = _sequences(X)
        spans = gold_spans(y, X)
        data, problem = self._problem(X)
        numbers = {name: i for i, name in enumerate(self.segment_labels_.tolist())}
        rows = _flat(spans, data.candidates.offsets, numbers)
        if (rows[:, 2] < 0).any() or not data.candidates.contains(rows[:, 0], rows[:, 1]).all():
            return -float("inf")
        problem.observe(rows)
        return -float(problem.evaluate(self.theta_, None, False, effective_jobs(self.n_jobs)))

    def score(self, X: Any, y: Sequence[Sequence[str]]) -> float:
        """F1 of the segments."""
        from textmill.sequence.evaluation import evaluate_tags

        return evaluate_tags(y, self.predict(X), chunks=True).f1

    def check_values(self) -> None:
        """Check what the layout cannot say of a model from a file."""
        try:
            parse_segment_patterns(self.patterns_)
        except DataError as error:
            raise ModelFileError(str(error), reason=reason_of(error)) from None
        labels = self.segment_labels_.tolist()
        if not labels or labels[0] != "O" or len(set(labels)) < len(labels) or self.history not in HISTORIES:
            raise ModelFileError("the labels or the history make no sense", reason="damaged")
        steps = np.diff(self.features_, prepend=np.int32(-1), append=np.int32(self._size()))
        if len(self.weights_) != len(self.features_) or (len(steps) and steps.min() < 1):
            raise ModelFileError("the numbers of the weights do not rise, or are too large", reason="damaged")
        if not np.isfinite(self.weights_).all():
            raise ModelFileError("a weight is not finite", reason="damaged")

    def __sklearn_tags__(self) -> Any:
        """Without the tag of a classifier: scikit-learn would take y for labels of rows, and refuse lists of labels."""
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = None, None
        return tags

    @property
    def theta_(self) -> Floats:
        """All weights: for every test of segments one per label, and so on; see segment_data.py."""
        if getattr(self, "_theta", None) is None:
            self._theta = np.zeros(self._size())
            self._theta[self.features_] = self.weights_
        assert self._theta is not None
        return self._theta

    def _size(self) -> int:
        """How many weights there are for the labels and tests."""
        labels = len(self.segment_labels_)
        states = 1 if self.history == "none" else labels
        return (len(self.tests_) + len(self.history_tests_) * states) * labels

    def _keep(self, theta: Floats) -> None:
        """Take these weights, and with `compact` drop small ones and tests that have none."""
        if self.compact:
            theta = _largest(theta)
            labels, border = len(self.segment_labels_), len(self.tests_) * len(self.segment_labels_)
            states = 1 if self.history == "none" else labels
            own, before = theta[:border].reshape(-1, labels), theta[border:].reshape(-1, states * labels)
            used, followed = own.any(axis=1), before.any(axis=1)
            self.tests_ = self.tests_.take(np.flatnonzero(used))
            self.history_tests_ = self.history_tests_.take(np.flatnonzero(followed))
            theta = np.concatenate([own[used].ravel(), before[followed].ravel()])
            self._table = self._history_table = None
        self.features_ = np.flatnonzero(theta).astype(np.int32)
        self.weights_ = theta[self.features_].astype(np.float32)
        self._theta = None

    def __getstate__(self) -> dict[str, Any]:
        hidden = ("_theta", "_compiled", "_table", "_history_table", "_lists")
        return {name: value for name, value in vars(self).items() if name not in hidden}

    def _check(self) -> None:
        check_choice("history", self.history, HISTORIES)
        check_choice("long_segments", self.long_segments, ("drop", "keep"))
        check_range("max_length", self.max_length, at_least=1, whole=True)
        check_range("min_count", self.min_count, at_least=1, whole=True)
        check_range("filter_recall", self.filter_recall, above=0, at_most=1)
        self._algorithm()
        self._penalties()

    def _algorithm(self) -> Algorithm:
        algorithm = algorithm_of(self.algorithm)
        if not algorithm.gradients:
            raise DataError(f"{algorithm.name} does not train segments; use lbfgs, owlqn or rprop")
        return algorithm

    def _penalties(self) -> tuple[float, float]:
        algorithm = self._algorithm()
        l1 = algorithm.default_l1 if self.l1 is None else self.l1
        l2 = (DEFAULT_L2 if not l1 else algorithm.default_l2(l1)) if self.l2 is None else self.l2
        check_range("l1", l1, at_least=0)
        check_range("l2", l2, at_least=0)
        if l1 > 0 and not algorithm.default_l1:
            raise DataError(f"{algorithm.name} knows no L1 penalty; use l1=0 or owlqn")
        return float(l1), float(l2)

    def _compile(self, X: list[Any]) -> None:
        """Read the patterns, those of a preset for the columns that there are."""
        first = next((x for x in X if len(x)), None)
        if first is None:
            raise DataError("there are no tokens to learn from; pass at least one sequence that is not empty")
        self.width_ = width_of(first)
        chosen: str | Sequence[str] = self.patterns
        if isinstance(chosen, str) and chosen in PRESETS:
            chosen = segment_patterns(chosen, self.width_)
        parsed = parse_segment_patterns(chosen)
        if self.history == "none":
            parsed = [pattern for pattern in parsed if pattern.kind != "p"]
        self.patterns_ = list(dict.fromkeys(pattern.text for pattern in parsed))
        self._compiled = CompiledSegments(parsed, self.function)
        self._theta = None
        self._lists = WordLists(self.word_lists or {})

    def _cells(self, X: list[Any]) -> SegmentCells:
        if getattr(self, "_compiled", None) is None:
            self._compiled = CompiledSegments(parse_segment_patterns(self.patterns_), self.function)
            self._lists = WordLists(self.word_lists or {})
        first = next((x for x in X if len(x)), None)
        if first is not None:
            width, missing = width_of(first), self._compiled.missing(width_of(first))
            if missing is not None:
                fault = f"pattern {missing[0].place} asks for column {missing[1]}, but tokens have {width}"
                raise DataError(fault, source=getattr(first, "source", None), line=getattr(first, "line", None))
        return SegmentCells(self._compiled, X, effective_jobs(self.n_jobs))

    def _observed(self, spans: list[list[Span]], offsets: Ints) -> Ints:
        """Gold segments as (first token, length, label); those too long dropped, if that is asked for."""
        numbers = {name: i for i, name in enumerate(self.segment_labels_.tolist())}
        rows = _flat(spans, offsets, numbers)
        long = rows[:, 1] > self.max_length
        self.n_long_ = int(long.sum())
        if self.n_long_:
            what = "left out of training" if self.long_segments == "drop" else "kept as candidates of their own"
            number = counted(self.n_long_, "segments")
            warn_caller(f"{number} of more than max_length={self.max_length} tokens {what}", LongSegments)
        return rows[~long] if self.long_segments == "drop" else rows

    def _fit_candidates(self, X: list[Any], y: Any, offsets: Ints, observed: Ints) -> Candidates:
        self.filter_ = self._filter()
        if self.filter_ is None:
            candidates = all_candidates(offsets, self.max_length)
        else:
            candidates = self.filter_.fit_candidates(X, y)
            if not np.array_equal(candidates.offsets, offsets):
                raise DataError("the filter gave candidates of other sequences; return them for all of X")
            if not candidates.count:
                raise DataError("the filter keeps no candidate at all; lower its threshold or raise its recall")
        return candidates.with_spans(observed[:, 0], observed[:, 1])

    def _filter(self) -> Any:
        if self.filter is None:
            return None
        if isinstance(self.filter, str):
            check_choice("filter", self.filter, ("bayes",))
            lists = [text for texts in (self.word_lists or {}).values() for text in texts]
            return CandidateFilter(max_length=self.max_length, recall=self.filter_recall, word_list=lists or None)
        for method in ("fit_candidates", "candidates"):
            if not callable(getattr(self.filter, method, None)):
                raise DataError(f"the filter {self.filter!r} has no method {method}; see CandidateFilter")
        return self.filter

    def _tables(self) -> tuple[Any, Any]:
        if getattr(self, "_table", None) is None:
            self._table = native.StringNumbers(self.tests_.bytes, self.tests_.offsets)
            self._history_table = native.StringNumbers(self.history_tests_.bytes, self.history_tests_.offsets)
        return self._table, self._history_table

    def _encode(self, cells: SegmentCells, X: list[Any], candidates: Candidates) -> SegmentData:
        tests, history = self._tables()
        return SegmentData.encode(cells, candidates, tests, history, self._extra(X, cells.offsets, tests))

    def _extra(self, X: list[Any], offsets: Ints, table: Any) -> Callable[[Ints, Ints, bool], SegmentRows | None]:
        """Tests of segments that Python computes: functions and word lists."""

        def rows(begins: Ints, lengths: Ints, grow: bool) -> SegmentRows | None:
            if self.segment_function is None and not self.word_lists:
                return None
            return self._lists.rows(X, offsets, begins, lengths, self.segment_function, table, grow)

        return rows

    def _check_histories(self, data: SegmentData) -> None:
        labels = len(self.segment_labels_)
        states = 1 if self.history == "none" else labels
        size = (data.history_tests + data.candidates.tokens) * states * labels * 16
        if size > MOST_BYTES:
            raise DataError(
                f"history={self.history!r} with {labels} labels and {data.history_tests} tests of histories needs "
                f"about {size / 2**30:.0f} GB; use fewer labels, history='none', or fewer patterns of p"
            )

    def segment_data(self, X: Iterable[Any]) -> SegmentData:
        """Sequences with their candidates and tests, for forests and inspection."""
        check_fitted(self)
        X = _sequences(X)
        cells = self._cells(X)
        if self.filter_ is None:
            candidates = all_candidates(cells.offsets, self.max_length)
        else:
            candidates = self.filter_.candidates(X)
        return self._encode(cells, X, candidates)

    def _problem(self, X: list[Any]) -> tuple[SegmentData, Any]:
        data = self.segment_data(X)
        return data, data.problem(len(self.segment_labels_), self.history)

    def _marginals(self, X: list[Any]) -> tuple[SegmentData, Floats, Floats]:
        data, problem = self._problem(X)
        flat, log_z = problem.marginals(self.theta_, effective_jobs(self.n_jobs))
        return data, flat.reshape(-1, len(self.segment_labels_)), log_z

    def _held_out_cost(self, X: list[Any], y: Sequence[Sequence[str]], sample_weight: Sequence[float] | None) -> float:
        """The cost that is best for a third of the sequences, by a model of the others; COST if that says little.

        With few segments every third has its turn. Thirds are whole stretches: sequences of a text stand together.
        """
        total = sum(map(len, gold_spans(y, X)))
        rounds = ROUNDS if self.max_iter is None else min(ROUNDS, self.max_iter)
        if not FEWEST <= total < MANY or not rounds:
            return COST
        bounds = [len(X) * i // HELD_OUT for i in range(HELD_OUT + 1)]
        counts, judged = np.zeros((len(RATIOS), 2), np.int64), 0
        for begin, end in list(pairwise(bounds))[-1 if total >= FEW else 0 :]:
            inside = [i for i in range(len(X)) if not begin <= i < end]
            train, train_y = [X[i] for i in inside], [y[i] for i in inside]
            if not any(stop - first <= self.max_length for some in gold_spans(train_y) for first, stop, _ in some):
                return COST
            weights = None if sample_weight is None else [sample_weight[i] for i in inside]
            model = type(self)(**self.get_params(deep=False))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LongSegments)  # all of them are counted later
                objective = model.objective(train, train_y, sample_weight=weights)
            stopping = Stopping(max_iter=rounds, tolerance=1e-3)
            start = np.zeros(objective.size)
            model._fill_state()
            model._theta = minimize_lbfgs(objective, start, stopping=stopping, diagonal=objective.scales()).theta
            more, number = model._ratio_counts(X[begin:end], y[begin:end])
            counts, judged = counts + more, judged + number
        return best_ratio(counts, judged) / 2

    def _ratio_counts(self, X: list[Any], y: Iterable[Sequence[str]]) -> tuple[NDArray[np.int64], int]:
        """Segments that are right and chosen at each ratio, and how many there are, in labeled sequences."""
        spans = gold_spans(y, X)
        data, probabilities, _ = self._marginals(X)
        c = data.candidates
        rows = _flat(spans, c.offsets, {name: i for i, name in enumerate(self.segment_labels_.tolist())})
        rows = rows[c.contains(rows[:, 0], rows[:, 1]) & (rows[:, 2] > 0)]
        gold = np.zeros(probabilities.shape)
        gold[c.rows(rows[:, 0], rows[:, 1]), rows[:, 2]] = 1.0
        return ratio_counts(c, probabilities, gold), sum(map(len, spans))

    def _fill_state(self) -> None:
        """Values of a model that is not trained yet but labels, as on development sequences."""
        self.trace_, self.n_iter_, self.converged_ = np.zeros(0), 0, False
        self.stop_reason_, self.objective_, self.cost_ = "", None, COST
        self.features_, self.weights_, self._theta = np.empty(0, np.int32), np.empty(0, np.float32), None

    @classmethod
    def upgrade(cls, saved: Saved) -> Saved:
        """In format 1 a segment always had the same cost; until format 2 all weights were kept."""
        if not saved.fitted:
            return replace(saved, format=3)
        theta = np.asarray(saved.arrays["weights_"])
        features = np.flatnonzero(theta).astype(np.int32)
        arrays = {**saved.arrays, "features_": features, "weights_": theta[features].astype(np.float32)}
        state = {**saved.state, "cost_": COST} if saved.format == 1 else saved.state
        return replace(saved, format=3, state=state, arrays=arrays)

    def _development_error(self, X: Iterable[Any] | None, y: Any) -> Callable[[Snapshot], float] | None:
        """100 - F1 of development sequences, by the weights of an iteration."""
        if X is None:
            return None
        if y is None:
            raise DataError("X_dev needs y_dev; pass both")
        X = _sequences(X)
        gold = [set(some) for some in gold_spans(y, X)]
        names = self.segment_labels_.tolist()
        self._fill_state()
        _, problem = self._problem(X)

        def error(done: Snapshot) -> float:
            theta = done.theta
            if done.features is not None:
                theta = np.zeros(problem.features)
                theta[done.features] = done.theta
            bounds, _, ends, flat = problem.best(theta, 1, effective_jobs(self.n_jobs))
            rows = flat.reshape(-1, 3).tolist()
            hits = 0
            for s, h in enumerate(bounds[:-1].tolist()):
                hits += sum((t, t + n, names[label]) in gold[s] for t, n, label in rows[ends[h] : ends[h + 1]])
            total = len(rows) + sum(map(len, gold))
            return 100.0 * (1 - 2 * hits / total) if total else 0.0

        return error


def _largest(theta: Floats) -> Floats:
    """The weights without the smallest, which have a hundredth of the sum of squares."""
    squares = np.sort(theta**2)
    behind = np.searchsorted(np.cumsum(squares), (1 - _KEPT) * squares.sum())
    return np.where(theta**2 >= squares[min(behind, len(squares) - 1)], theta, 0.0) if len(squares) else theta


def _flat(spans: list[list[Span]], offsets: Ints, numbers: Mapping[str, int]) -> Ints:
    """Spans as rows (first token over all sentences, length, number of the label or -1)."""
    if len(spans) != len(offsets) - 1:
        raise DataError(f"there are {len(offsets) - 1} sequences but {len(spans)} sequences of labels")
    rows = []
    for number, (begin, end) in enumerate(pairwise(offsets.tolist())):
        for first, last, label in spans[number]:
            if last > end - begin:
                raise DataError(f"sequence {number + 1} has {end - begin} tokens but more labels; give one per token")
            rows.append((begin + first, last - first, numbers.get(label, -1)))
    return np.array(rows, np.int64).reshape(-1, 3)


def _sequences(X: Iterable[Any]) -> list[Any]:
    """Sequences that have a length and can be read again."""
    return [x if isinstance(x, list | tuple | Sentence) else list(x) for x in X]
