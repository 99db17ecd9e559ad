"""How good is a judge? Accuracy on sentences of other documents and fresh negatives, beside its leaks.

Positives are all sentences of documents that served for nothing else, negatives as many new samples. `matched=True`
asks harder: each positive is paired with a negative of its length, with as many unknown words and of nearly its
probability (negatives.py), so that none of them can help. The interval is a bootstrap over sentences; the baseline is
the n-gram model with the threshold of training, above which a sentence is called right.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.metrics import BinaryCounts, Interval, ScoreCounts, bootstrap_interval, signature
from textmill.model import check_fitted
from textmill.plot import histogram, lines
from textmill.tasks.fluency.diagnostics import Leak, leaks_of
from textmill.tasks.fluency.documents import SentenceDocument, read_sentences
from textmill.tasks.fluency.encoded import Encoded
from textmill.tasks.fluency.model import FluencyModel, seed_for
from textmill.tasks.fluency.negatives import match_pairs

__all__ = ["FluencyEvaluation", "draw_margins", "draw_precision", "evaluate_fluency", "positives_of"]

_CANDIDATES = 20  # negatives that are drawn for each positive that is to be matched
_POOL = 20_000  # negatives that are drawn at least, so that a few sentences find theirs


@dataclass(frozen=True)
class FluencyEvaluation:
    """Margins of positives and negatives, and what else tells them apart.

    >>> result = FluencyEvaluation(np.array([1.0, -0.5]), np.array([-1.0, -2.0]), 0.5, (), False, 7)
    >>> result.accuracy, result.counts()
    (0.75, BinaryCounts(hits=1, misses=1, false_alarms=0, rejections=2))
    """

    positive_margins: Floats
    negative_margins: Floats
    lm_accuracy: float  # of the n-gram model with its threshold
    leaks: Sequence[Leak]
    matched: bool
    n_features: int
    seconds: float = 0.0  # to judge all sentences
    random_state: int = 0

    def counts(self, threshold: float = 0.0) -> BinaryCounts:
        """Return hits, misses, false alarms and rejections of "right" at a threshold of the margin."""
        hits = int(np.sum(self.positive_margins > threshold))
        false_alarms = int(np.sum(self.negative_margins > threshold))
        return BinaryCounts(
            hits, len(self.positive_margins) - hits, false_alarms, len(self.negative_margins) - false_alarms
        )

    @property
    def accuracy(self) -> float:
        """Share of sentences that are judged rightly at threshold 0."""
        return self.counts().accuracy()

    @cached_property
    def interval(self) -> Interval:
        """The accuracy with its 95 % interval."""
        right = np.concatenate([self.positive_margins > 0, self.negative_margins <= 0]).astype(np.float64)
        rows = np.stack([right, np.ones(len(right))], axis=1)
        return bootstrap_interval(rows, lambda sums: sums[..., 0] / sums[..., 1], random_state=self.random_state)

    @cached_property
    def curve(self) -> ScoreCounts:
        """Counts at every threshold."""
        margins = np.concatenate([self.positive_margins, self.negative_margins])
        gold = np.repeat([True, False], [len(self.positive_margins), len(self.negative_margins)])
        return ScoreCounts.from_scores(margins, gold)

    @property
    def signature(self) -> str:
        """What the accuracy was measured on."""
        return signature(
            "fluency-accuracy",
            negatives="matched" if self.matched else "all",
            positives=len(self.positive_margins),
            seed=self.random_state,
        )


def evaluate_fluency(
    model: FluencyModel,
    documents: Iterable[Any],
    *,
    matched: bool = False,
    negatives: Any = None,
    random_state: int = 0,
) -> FluencyEvaluation:
    """Judge the sentences of documents that training has not seen, and as many fresh negatives.

    `documents` are those of a test part, or sentences, lists of words. `negatives` is another source, or a list of
    wrong sentences, which are taken as they are.

    >>> from textmill.tasks.fluency import sample_documents, split_corpus
    >>> split = split_corpus(sample_documents(60))
    >>> model = FluencyModel(n_classes=8, order=2, min_count=1).fit(split)
    >>> 0.4 < evaluate_fluency(model, split.test).accuracy <= 1.0
    True
    """
    check_fitted(model)
    positives = positives_of(model, documents)
    keys = set(positives.keys())
    if isinstance(negatives, list | tuple):
        pool = _fitting(model, model.encode(negatives), "negatives")
    else:
        size = max(_CANDIDATES * positives.size, _POOL) if matched else positives.size
        pool = model.draw(size, seen=keys, source=negatives, number=random_state)
    if matched:
        positives, pool = _matched(model, positives, pool, random_state)
    start = time.perf_counter()
    margins = model.margins(positives), model.margins(pool)
    seconds = time.perf_counter() - start
    scores = model.log_scores(positives), model.log_scores(pool)
    hits = int(np.sum(scores[0] > model.lm_threshold_)) + int(np.sum(scores[1] <= model.lm_threshold_))
    return FluencyEvaluation(
        *margins,
        lm_accuracy=hits / (positives.size + pool.size),
        leaks=leaks_of(model.lm_, positives, pool, random_state=random_state),
        matched=matched,
        n_features=len(model.learner_.keys_),
        seconds=seconds,
        random_state=random_state,
    )


def draw_margins(result: FluencyEvaluation) -> Any:
    """Draw histograms of the margins of positives and negatives."""
    samples = {"right": result.positive_margins, "sampled": result.negative_margins}
    return histogram(samples, x_label="margin", y_label="share", bins=40, shares=True, verticals={"": [0.0]})


def draw_precision(results: dict[str, FluencyEvaluation]) -> Any:
    """Draw precision over recall of sentences that are right, at every threshold."""
    curves = {}
    for name, result in results.items():
        precision, recall = result.curve.precision_recall()
        curves[name] = (recall, precision)
    return lines(curves, x_label="recall", y_label="precision")


def positives_of(model: FluencyModel, documents: Iterable[Any]) -> Encoded:
    """The sentences of documents, or sentences, that have the right length, as ids.

    >>> from textmill.tasks.fluency import sample_documents
    >>> model = FluencyModel(n_classes=8, order=2, min_count=1).fit(sample_documents(60))
    >>> positives_of(model, [["the", "miller", "sees", "a", "mill"], ["no"]]).size
    1
    """
    items = list(documents)
    first = next((item for item in items if not isinstance(item, list | tuple) or len(item)), None)  # empty: either
    if isinstance(first, list | tuple) and not isinstance(first, SentenceDocument) and isinstance(first[0], str):
        return _fitting(model, model.encode(items), "positives")  # sentences, not documents
    sentences = [words for one in read_sentences(items, tokenizer=model.tokenizer) for words in one.sentences]
    return _fitting(model, model.encode(sentences), "positives")


def _fitting(model: FluencyModel, sentences: Encoded, what: str) -> Encoded:
    """Those of the right length."""
    lengths = sentences.lengths()
    rows = np.flatnonzero((lengths >= model.min_words) & (lengths <= model.max_words))
    if not len(rows):
        raise DataError(
            f"none of the {sentences.size} {what} has {model.min_words} to {model.max_words} words; pass others"
        )
    return sentences.take(rows)


def _matched(model: FluencyModel, positives: Encoded, pool: Encoded, random_state: int) -> tuple[Encoded, Encoded]:
    pairs = match_pairs(
        positives.lengths(),
        model.log_scores(positives),
        pool.lengths(),
        model.log_scores(pool),
        unknown=(positives.unknown(), pool.unknown()),
        random_state=seed_for(random_state, "match"),
    )
    if not len(pairs.positives):
        raise DataError("no positive has a negative of its length and score; pass more sentences")
    return positives.take(pairs.positives), pool.take(pairs.negatives)
