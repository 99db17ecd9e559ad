"""Labels from a trained chain model: the best labeling, the k best, the most probable label of each token.

    viterbi      argmax_y score(y)                              exact; sparse where almost all pairs score 0
    posterior    argmax_y P(y_t = y | x) at every token         fewest wrong labels in expectation
    k best       the k labelings with the highest scores       exact, with scores and probabilities
    span         P(y_s = a_s, ..., y_e = a_e | x)               confidence of a stretch, exact
    steps        P(y_t | y_{t-1}, x)                            the chain as a Markov chain

All of them take restrictions: labels allowed at a token (a tag dictionary, known labels), transitions allowed between
labels. Work is cut into rounds of sequences and done in parallel by native code, whose files (native/sequence/chain.h
and decode.h) have the recurrences. Costs O(Y^2) a token, less where pairs are sparse.
References: Rabiner (1989); Soong & Huang (1991); Culotta & McCallum (2004) on confidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill._native import sequence as native
from textmill.arrays import Bytes, Floats
from textmill.errors import DataError
from textmill.model import check_range, effective_jobs
from textmill.sequence.encoding import Encoded
from textmill.sequence.features import FeatureLayout

__all__ = [
    "ChainScorer",
    "Hypothesis",
    "best_labels",
    "forced_labels",
    "markov_steps",
    "posterior",
    "span_confidence",
    "viterbi",
]

MOST_BEST = 1_000_000  # labelings of a sequence, about a gigabyte for 25 tokens


class Hypothesis(NamedTuple):
    """One labeling of a sequence: numbers of its labels, its score and its probability."""

    labels: list[int]
    score: float
    probability: float


@dataclass(frozen=True, slots=True)
class ChainScorer:
    """What decoders need of a model: where its weights are and what they are.

    `features` None means that `weights` has one entry for every feature; `normalized` is for conditional Markov models.

    >>> scorer = ChainScorer(FeatureLayout(2, 1, 1), np.array([0.5, -0.5, 1.0, 0.0, 0.0, 1.0]))
    >>> scorer.layout.size
    6
    """

    layout: FeatureLayout
    weights: Floats
    features: NDArray[np.int64] | None = None
    normalized: bool = False

    def arguments(self, data: Encoded) -> tuple[object, ...]:
        """What every native decoder takes first."""
        offsets, unigram, bigram = self.layout.data(data)
        support = None if self.features is None else self.layout.support(self.features)
        return self.layout.labels, offsets, tuple(unigram), tuple(bigram), self.weights, support


def viterbi(
    scorer: ChainScorer,
    data: Encoded,
    *,
    allowed: Bytes | None = None,
    transitions: Bytes | None = None,
    sparse: bool = True,
    n_jobs: int | None = 1,
) -> tuple[NDArray[np.int32], Floats]:
    """The best label of every token and the score of every sequence.

    `allowed` [T, Y] and `transitions` [Y, Y] are 0 where something is forbidden. A sequence all of whose labelings
    are forbidden gets the labels -1 and the score -inf.

    >>> from textmill.sequence.encoding import Active
    >>> tests = Active(np.arange(4), np.zeros(3, np.int32), None, 1)
    >>> scorer = ChainScorer(FeatureLayout(2, 1, 1), np.array([0.5, 0.0, 0.0, 1.0, 1.0, 0.0]))
    >>> labels, scores = viterbi(scorer, Encoded(np.array([0, 3]), tests, tests))
    >>> labels.tolist(), scores.tolist()
    ([0, 1, 0], [3.0])
    """
    path, scores = np.empty(data.tokens, np.int32), np.empty(data.sequences)
    native.label(
        *scorer.arguments(data),
        allowed=_mask(allowed),
        transitions=_mask(transitions),
        normalized=scorer.normalized,
        sparse=sparse,
        path=path,
        scores=scores,
        threads=effective_jobs(n_jobs),
    )
    return path, scores


def posterior(
    scorer: ChainScorer,
    data: Encoded,
    *,
    allowed: Bytes | None = None,
    transitions: Bytes | None = None,
    n_jobs: int | None = 1,
) -> tuple[Floats, Floats]:
    """Probabilities of the labels of every token [T, Y], and the log of every normalizer [S].

    >>> from textmill.sequence.encoding import Active
    >>> tests = Active(np.arange(2), np.zeros(1, np.int32), None, 1)
    >>> scorer = ChainScorer(FeatureLayout(2, 1, 1), np.array([np.log(3), 0.0, 0.0, 0.0, 0.0, 0.0]))
    >>> posterior(scorer, Encoded(np.array([0, 1]), tests, tests))[0].round(6).tolist()
    [[0.75, 0.25]]
    """
    probabilities, log_z = np.empty((data.tokens, scorer.layout.labels)), np.empty(data.sequences)
    if allowed is None and transitions is None and not scorer.normalized:
        labels, offsets, unigram, bigram, weights, support = scorer.arguments(data)
        problem = native.make_problem(labels, offsets, unigram, bigram, observed=None, forced=None, weights=None)
        problem.marginals(weights, support, probabilities, log_z, effective_jobs(n_jobs))
        return probabilities, log_z
    native.label_probabilities(
        *scorer.arguments(data),
        allowed=_mask(allowed),
        transitions=_mask(transitions),
        normalized=scorer.normalized,
        probabilities=probabilities,
        log_z=log_z,
        threads=effective_jobs(n_jobs),
    )
    return probabilities, log_z


def best_labels(
    scorer: ChainScorer,
    data: Encoded,
    k: int,
    *,
    allowed: Bytes | None = None,
    transitions: Bytes | None = None,
    n_jobs: int | None = 1,
) -> list[list[Hypothesis]]:
    """The k best labelings of every sequence, best first; fewer where fewer are possible. At most MOST_BEST are found.

    >>> from textmill.sequence.encoding import Active
    >>> tests = Active(np.arange(2), np.zeros(1, np.int32), None, 1)
    >>> scorer = ChainScorer(FeatureLayout(2, 1, 1), np.array([np.log(3), 0.0, 0.0, 0.0, 0.0, 0.0]))
    >>> [h.labels for h in best_labels(scorer, Encoded(np.array([0, 1]), tests, tests), 4)[0]]
    [[0], [1]]
    """
    check_range("k", k, at_least=1, at_most=MOST_BEST, whole=True)
    answers = native.best_labels(
        *scorer.arguments(data),
        allowed=_mask(allowed),
        transitions=_mask(transitions),
        normalized=scorer.normalized,
        n=k,
        threads=effective_jobs(n_jobs),
    )
    return [
        [Hypothesis(list(labels), score, math.exp(score - log_z)) for score, labels in paths]
        for paths, log_z in answers
    ]


def markov_steps(
    scorer: ChainScorer,
    data: Encoded,
    *,
    allowed: Bytes | None = None,
    transitions: Bytes | None = None,
    n_jobs: int | None = 1,
) -> Floats:
    """Probabilities of labels given the label before them, [T, Y, Y]; P(y_0) in every row of a first token.

    Rows of labels that cannot occur are zeros. What a chain model says of a sequence is the product of these numbers.

    >>> from textmill.sequence.encoding import Active
    >>> tests = Active(np.arange(2), np.zeros(1, np.int32), None, 1)
    >>> scorer = ChainScorer(FeatureLayout(2, 1, 1), np.array([np.log(3), 0.0, 0.0, 0.0, 0.0, 0.0]))
    >>> markov_steps(scorer, Encoded(np.array([0, 1]), tests, tests))[0, 0].round(6).tolist()
    [0.75, 0.25]
    """
    labels = scorer.layout.labels
    out = np.empty((data.tokens, labels, labels))
    native.conditionals(
        *scorer.arguments(data),
        allowed=_mask(allowed),
        transitions=_mask(transitions),
        normalized=scorer.normalized,
        out=out,
        threads=effective_jobs(n_jobs),
    )
    return out


def forced_labels(labels: NDArray[np.int32], classes: int) -> Bytes:
    """The restriction that known labels are: where a label is -1 all are allowed, else only that one.

    >>> forced_labels(np.array([1, -1], np.int32), 2).tolist()
    [[0, 1], [1, 1]]
    """
    free: Bytes = ((labels[:, None] == np.arange(classes)) | (labels[:, None] < 0)).astype(np.uint8)
    return free


def span_confidence(
    scorer: ChainScorer,
    data: Encoded,
    labels: NDArray[np.int32],
    spans: Sequence[tuple[int, int]],
    *,
    n_jobs: int | None = 1,
) -> Floats:
    """Probability that all tokens of each span (first, behind last; counted over the data set) have these labels.

    Each span is the share of the normalizer that remains when its tokens are forced; a span lies in one sequence.

    >>> from textmill.sequence.encoding import Active
    >>> tests = Active(np.arange(3), np.zeros(2, np.int32), None, 1)
    >>> scorer = ChainScorer(FeatureLayout(2, 1, 1), np.zeros(6))
    >>> span_confidence(scorer, Encoded(np.array([0, 2]), tests, tests), np.array([0, 1]), [(0, 2), (1, 2)]).tolist()
    [0.25, 0.5]
    """
    from textmill.sequence.training.objective import select_sequences

    _, log_z = posterior(scorer, data, n_jobs=n_jobs)
    confidence = np.empty(len(spans))
    for i, (begin, end) in enumerate(spans):
        s = int(np.searchsorted(data.offsets, begin, side="right")) - 1
        if not (0 <= begin < end <= data.tokens) or end > data.offsets[s + 1]:
            raise DataError(f"span {i} ({begin}, {end}) does not lie within one sequence; give first and behind last")
        one = select_sequences(data, slice(s, s + 1))
        labels_of_span = np.full(one.tokens, -1, np.int32)
        first = int(begin - data.offsets[s])
        labels_of_span[first : first + end - begin] = labels[begin:end]
        allowed = forced_labels(labels_of_span, scorer.layout.labels)
        confidence[i] = math.exp(posterior(scorer, one, allowed=allowed)[1][0] - log_z[s])
    return confidence


def _mask(mask: Bytes | None) -> Bytes | None:
    return None if mask is None else np.ascontiguousarray(mask, dtype=np.uint8)
