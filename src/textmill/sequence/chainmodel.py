"""What the chain models share: encoder, labels, sparse weights; prediction, confidence, exchange with other formats.

A fitted model is an `Encoder` with its tests, the labels in sorted order, and the weights that are not zero with the
numbers of their features (features.py). `CRF` and `ConditionalMarkov` are siblings under `ChainModel`; they differ in
how scores become probabilities, over whole sequences or label by label, and share the training of `TrainableChain`
(trainable.py).

`LatentCRF` (latent.py) is a `TrainableChain` whose labels here are hidden states; it adds them up to labels. Other
models of sequences find their place beside them, without a change here:

    semimarkov.py    SemiMarkovCRF, labels of segments: a `Classifier` and `Model` of its own, since weights belong to
                     segments; it reuses `Encoder`, the batch algorithms and `Run`, which ask an objective for values
                     and gradients and a model for its error, never for labels of tokens, and `evaluate_tags`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError, ModelFileError
from textmill.model import Classifier, Model, check_fitted
from textmill.numeric import sparse
from textmill.sequence.counts import active_tests
from textmill.sequence.decoders import (
    ChainScorer,
    best_labels,
    forced_labels,
    markov_steps,
    posterior,
    span_confidence,
    viterbi,
)
from textmill.sequence.encoder import Encoder
from textmill.sequence.encoding import Encoded, label_ids
from textmill.sequence.features import FeatureLayout
from textmill.sequence.formats import ChainWeights
from textmill.sequence.label_models import MarkovLabels
from textmill.sequence.utility_tags import FObjective, maximal_tags

__all__ = ["ChainModel"]

Constraints: TypeAlias = Sequence[Sequence[str | Collection[str] | None]]

DENSE_SHARE = 4  # weights are handed to decoders as a vector when at least one in this many is not zero


class ChainModel(Classifier, Model):
    """A trained chain: subclasses learn `encoder_`, `classes_`, `features_` and `weights_`."""

    takes: ClassVar[str] = "sequences"
    layout: ClassVar[dict[str, str]] = {"features_": "feature: int64", "weights_": "feature: float64 | float32"}
    parts: ClassVar[dict[str, str]] = {"encoder_": "sequence.Encoder"}

    encoder_: Encoder
    classes_: NDArray[Any]
    features_: NDArray[np.int64]
    weights_: NDArray[np.float64]
    n_jobs: int | None
    start_label: bool

    kind: ClassVar[str]  # the name of files of other tools and of commands
    normalized: ClassVar[bool]  # label by label, not over whole sequences

    @property
    def feature_layout_(self) -> FeatureLayout:
        """Where the weights of a test are."""
        check_fitted(self)
        return self._layout()

    def predict(
        self,
        X: Iterable[Any],
        *,
        posterior: bool = False,
        constraints: Constraints | None = None,
        transitions: NDArray[Any] | None = None,
        maximize: str | None = None,
        micro: bool = True,
    ) -> list[list[str]]:
        """The labels of every sequence.

        `posterior` takes the most probable label of each token instead of the best labeling. `constraints` gives for
        each token a known label, several that are possible (a tag dictionary), or None. `transitions` [Y, Y] is 0 where
        a label must not follow another.

        `maximize` takes the labels of the greatest expected F: "f1" of spans where the labels are IOB tags and else of
        tokens with another label than O, "span-f1" or "token-f1", with any beta for 1 ("f2", "token-f0.5"). One F
        counts for all sequences together, as it is reported; with micro=False each has its own.
        """
        data = self._encoded(X)
        allowed = None if constraints is None else self._allowed(constraints, data)
        if maximize is not None:
            if posterior:
                raise DataError("posterior and maximize ask for different labels; pass one of them")
            classes = [str(label) for label in self.classes_.tolist()]
            objective = FObjective.parse(maximize, classes)
            restrictions: dict[str, Any] = {"allowed": allowed, "transitions": transitions, "n_jobs": self.n_jobs}
            return maximal_tags(self._scorer(), data, classes, objective, micro=micro, **restrictions)
        if posterior:
            probabilities = self._posterior(data, allowed, transitions)
            labels = np.where(probabilities.any(axis=1), probabilities.argmax(axis=1), -1).astype(np.int32)
        else:
            labels, _ = viterbi(self._scorer(), data, allowed=allowed, transitions=transitions, n_jobs=self.n_jobs)
        if (labels < 0).any():
            s = int(np.searchsorted(data.offsets, int(np.argmax(labels < 0)), side="right"))
            raise DataError(f"every labeling of sequence {s} is forbidden; relax constraints or transitions")
        return self._names(labels, data)

    def predict_marginals(
        self, X: Iterable[Any], *, constraints: Constraints | None = None
    ) -> list[NDArray[np.float64]]:
        """The probabilities of all labels at every token, one array [tokens, classes] a sequence."""
        data = self._encoded(X)
        allowed = None if constraints is None else self._allowed(constraints, data)
        probabilities = self._posterior(data, allowed, None)
        return np.split(probabilities, data.offsets[1:-1].tolist()) if data.sequences else []

    def label_chains(self, X: Iterable[Any], positive: Collection[str] | None = None) -> list[MarkovLabels]:
        """What the model says of every sequence as a chain of labels 0 and 1, for `decode_chain_f` and `expectation`.

        `positive` are the labels that count as 1; None for all but O.

        >>> from textmill.sequence import CRF
        >>> crf = CRF(patterns=["u:%x[0,0]"], l1=0.1).fit([[("a",), ("b",)]] * 3, [["X", "O"]] * 3)
        >>> [float(p) > 0.5 for p in crf.label_chains([[("a",), ("b",)]])[0].positives()]
        [True, False]
        """
        data = self._encoded(X)
        names = self.classes_.tolist()
        chosen = [name for name in names if name != "O"] if positive is None else list(positive)
        for name in chosen:
            if name not in names:
                raise DataError(f"positive label '{name}' is no label of the model; it has {names}")
        flags = np.isin(self.classes_, chosen)
        steps = markov_steps(self._scorer(), data, n_jobs=self.n_jobs)
        parts = [steps[begin:end] for begin, end in pairwise(data.offsets.tolist())]
        if any(not len(part) for part in parts):
            raise DataError("a sequence has no tokens and so no chain; leave it out")
        return [MarkovLabels(part[0, 0], part[1:], flags) for part in parts]

    def next_labels(self, X: Iterable[Any]) -> list[NDArray[np.float64]]:
        """The chains as distributions of the next label, [tokens, labels before, labels] a sequence; P(y_0) in every
        row of a first token.

        >>> from textmill.sequence import CRF
        >>> crf = CRF(patterns=["b", "u:%x[0,0]"], l1=0.1).fit([[("a",), ("b",)]] * 3, [["X", "O"]] * 3)
        >>> crf.next_labels([[("a",), ("b",)]])[0].sum(axis=2).round(6).tolist()
        [[1.0, 1.0], [1.0, 1.0]]
        """
        data = self._encoded(X)
        steps = markov_steps(self._scorer(), data, n_jobs=self.n_jobs)
        return np.split(steps, data.offsets[1:-1].tolist()) if data.sequences else []

    def predict_best(
        self, X: Iterable[Any], k: int = 5, *, constraints: Constraints | None = None
    ) -> list[list[tuple[list[str], float, float]]]:
        """The k best labelings of every sequence with their scores and probabilities, best first."""
        data = self._encoded(X)
        allowed = None if constraints is None else self._allowed(constraints, data)
        answers = best_labels(self._scorer(), data, k, allowed=allowed, n_jobs=self.n_jobs)
        names = self.classes_.tolist()  # one string a class, shared
        return [
            [([names[y] for y in one.labels], one.score, one.probability) for one in hypotheses]
            for hypotheses in answers
        ]

    def span_confidence(
        self, X: Iterable[Any], y: Sequence[Sequence[str]], spans: Sequence[Sequence[tuple[int, int]]]
    ) -> list[list[float]]:
        """How probable it is that all tokens of a span have the labels of y.

        `spans` gives for each sequence some spans (first token, behind the last), counted from 0 in the sequence.
        """
        data = self._encoded(X)
        labels = label_ids(y, data.offsets, self.classes_)
        if (labels < 0).any():
            raise DataError("y has labels that the model does not know; give labels that it predicts")
        if len(spans) != data.sequences or any(first < 0 for some in spans for first, _ in some):
            raise DataError(f"spans must be {data.sequences} lists of (first, behind the last), counted from 0")
        begins = data.offsets[:-1].tolist()
        flat = [(at + first, at + last) for at, some in zip(begins, spans, strict=True) for first, last in some]
        values = iter(span_confidence(self._scorer(), data, labels, flat, n_jobs=self.n_jobs).tolist())
        return [[next(values) for _ in some] for some in spans]

    def score(self, X: Any, y: Sequence[Sequence[str]]) -> float:
        """Share of tokens that get their label."""
        predicted = self.predict(X)
        if [len(labels) for labels in predicted] != [len(labels) for labels in y]:
            raise DataError("X and y differ in the number or lengths of their sequences; give one label per token")
        pairs = [(a, b) for guess, gold in zip(predicted, y, strict=True) for a, b in zip(guess, gold, strict=True)]
        return sum(a == b for a, b in pairs) / max(1, len(pairs))

    def to_weights(self) -> ChainWeights:
        """The model as tests, labels and sparse matrices, for formats of other tools and for inspection."""
        layout = self.feature_layout_
        if layout.start:
            raise DataError("weights of the start label have no place in other formats; train with start_label=False")
        parts, Y = layout.split(self.features_), layout.labels
        weights = self.weights_.astype(np.float64)
        one, two = ~parts.bigram, parts.bigram
        unigram = sparse.csr_matrix((weights[one], (parts.test[one], parts.label[one])), (layout.unigrams, Y))
        columns = parts.source[two] * Y + parts.label[two]
        bigram = sparse.csr_matrix((weights[two], (parts.test[two], columns)), (layout.bigrams, Y * Y))
        return ChainWeights(*self._written_as(), self.encoder_, unigram, bigram)

    @classmethod
    def from_weights(cls, weights: ChainWeights) -> Self:
        """A model from tests, labels and matrices: what was read from another tool's file can label."""
        encoder = weights.encoder
        settings = {name: getattr(encoder, name) for name in ("patterns", "syntax", "function", "hash_bits")}
        model = cls(encoder=Encoder(**settings))  # type: ignore[call-arg]
        order = np.argsort(np.array(weights.classes))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        model.encoder_, model.classes_ = encoder, np.array(weights.classes)[order]
        layout = model._layout()
        one, two = weights.unigram.tocoo(), weights.bigram.tocoo()
        source, label = np.divmod(two.col.astype(np.int64), layout.labels)
        features = np.concatenate(
            [
                layout.number(one.row.astype(np.int64), np.full(one.nnz, -1), rank[one.col]),
                layout.number(two.row.astype(np.int64), rank[source], rank[label]),
            ]
        )
        values = np.concatenate([one.data, two.data]).astype(np.float64)
        used = np.flatnonzero(values)
        order = used[np.argsort(features[used], kind="stable")]
        model.features_, model.weights_ = features[order], values[order]
        model._fill_state()
        return model

    def drop_unused_tests(self) -> Self:
        """Drop the tests that have no weight, in place; no prediction changes."""
        layout = self.feature_layout_
        if self.encoder_.hash_bits is not None:
            return self
        parts = layout.split(self.features_)
        unigram, bigram = self.encoder_.numbers()
        keep = active_tests(self.encoder_, layout, self.features_)
        self.encoder_ = self.encoder_.select(keep)
        new_u, new_b = self.encoder_.numbers()
        map_u, map_b = np.zeros(layout.unigrams + 1, np.int64), np.zeros(layout.bigrams + 1, np.int64)
        map_u[unigram[keep]], map_b[bigram[keep]] = new_u, new_b
        smaller = self.feature_layout_
        of_bigram = map_b[np.where(parts.bigram, parts.test, -1)]
        test = np.where(parts.bigram, of_bigram, map_u[np.where(parts.bigram, -1, parts.test)])
        features = smaller.number(test, parts.source, parts.label)
        order = np.argsort(features, kind="stable")
        self.features_, self.weights_ = features[order], self.weights_[order]
        return self

    def check_values(self) -> None:
        """Check what the layout cannot say of a model from a file."""
        if len(self.features_) and not (np.diff(self.features_) > 0).all():
            raise ModelFileError("the features do not rise", reason="damaged")
        if len(self.features_) and not 0 <= self.features_[0] <= self.features_[-1] < self.feature_layout_.size:
            raise ModelFileError("a feature belongs to no test", reason="damaged")
        if not np.isfinite(self.weights_).all():
            raise ModelFileError("a weight is not finite", reason="damaged")

    def __sklearn_tags__(self) -> Any:
        """Without the tag of a classifier: scikit-learn would take y for labels of rows, and refuse lists of labels."""
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = None, None
        return tags

    def _layout(self) -> FeatureLayout:
        """Where weights are for the tests of the encoder and the labels, while the model is being trained."""
        counts = self.encoder_.feature_counts(len(self.classes_))
        return FeatureLayout(len(self.classes_), counts.unigrams, counts.bigrams, self.start_label)

    def _written_as(self) -> tuple[str, list[str]]:
        """Kind and labels of the model in files of other tools."""
        return self.kind, self.classes_.tolist()

    def _fill_state(self) -> None:
        """Give values to attributes that only training knows."""

    def _scorer(self) -> ChainScorer:
        layout, weights = self.feature_layout_, self.weights_.astype(np.float64, copy=False)
        if len(weights) * DENSE_SHARE >= layout.size:
            full = np.zeros(layout.size)
            full[self.features_] = weights
            return ChainScorer(layout, full, None, self.normalized)
        return ChainScorer(layout, weights, self.features_, self.normalized)

    def _encoded(self, X: Iterable[Any]) -> Encoded:
        check_fitted(self)
        self.encoder_.n_jobs = self.n_jobs
        return self.encoder_.encode(X)

    def _allowed(self, constraints: Constraints, data: Encoded) -> NDArray[np.uint8]:
        plain = [[constraint if isinstance(constraint, str) else None for constraint in row] for row in constraints]
        allowed = forced_labels(label_ids(plain, data.offsets, self.classes_), len(self.classes_))
        number = {label: y for y, label in enumerate(self.classes_.tolist())}
        for s, row in enumerate(constraints):
            for t, constraint in enumerate(row, int(data.offsets[s])):
                labels = () if constraint is None else (constraint,) if isinstance(constraint, str) else constraint
                for label in labels:
                    if label not in number:
                        raise DataError(f"constraint '{label}' of sequence {s + 1} is no label of the model; use None")
                if constraint is not None:
                    allowed[t] = 0
                    allowed[t, [number[label] for label in labels]] = 1
        return allowed

    def _posterior(
        self, data: Encoded, allowed: NDArray[np.uint8] | None, transitions: NDArray[Any] | None
    ) -> NDArray[np.float64]:
        return posterior(self._scorer(), data, allowed=allowed, transitions=transitions, n_jobs=self.n_jobs)[0]

    def _names(self, labels: NDArray[np.int32], data: Encoded) -> list[list[str]]:
        names = list(map(self.classes_.tolist().__getitem__, labels.tolist()))  # one string a class, shared
        return [names[begin:end] for begin, end in pairwise(data.offsets.tolist())]
