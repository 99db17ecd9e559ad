"""Topics of a collection as tables and charts: the words of each, and how a document is mixed of them.

A chart shows topics of at least 5 % and sums the rest as "other"; percentages have one decimal and sum to exactly 100,
because what rounding leaves over goes to the parts that lost most (Hamilton's method of seats).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from textmill.corpus import is_formula
from textmill.errors import DataError
from textmill.model import check_range
from textmill.tables import Rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MixturePart", "TopicRow", "draw_mixture", "mixture_parts", "topic_table"]


class TopicRow(NamedTuple):
    """A topic: its number from 1, its words, and the share of formulas among the most probable 100 terms."""

    topic: int
    words: list[str]
    formulas: float


class MixturePart(NamedTuple):
    """A topic of a document, or "other", and its share in percent."""

    topic: str
    percent: float


def topic_table(model: Any, *, n_words: int = 10) -> Rows[TopicRow]:
    """Return the words of every topic of a model, formulas included.

    >>> from textmill.topics import NMF
    >>> from textmill.vectors import TextVectorizer, Weighting
    >>> words = TextVectorizer(weighting=Weighting(scheme="nnn"))
    >>> model = NMF(n_topics=1, vectorizer=words, random_state=0).fit(["to be", "to be"])
    >>> topic_table(model)[0].words
    ['to', 'be']
    """
    if not hasattr(model, "topics"):
        raise DataError(f"a {type(model).__name__} has no topics; name a method that has, such as lda or lsa")
    wide = model.topics(n_words=100)
    rows = []
    for number, terms in enumerate(wide, 1):
        share = sum(is_formula(term) for term, _ in terms) / len(terms) if terms else 0.0
        rows.append(TopicRow(number, [term for term, _ in terms[:n_words]], share))
    return Rows(rows, TopicRow)


def mixture_parts(
    mixture: ArrayLike, *, threshold: float = 0.05, names: Sequence[str] | None = None
) -> Rows[MixturePart]:
    """Return the topics of a document with their percentages, in the order of topics, and what is left as "other".

    >>> [tuple(part) for part in mixture_parts([0.718, 0.124, 0.04, 0.118])]
    [('1', 71.8), ('2', 12.4), ('4', 11.8), ('other', 4.0)]
    """
    check_range("threshold", threshold, at_least=0, at_most=1)
    weights = np.asarray(mixture, np.float64)
    if weights.ndim != 1 or (weights < 0).any() or abs(weights.sum() - 1) > 1e-6:
        raise DataError("a mixture needs probabilities that sum to 1; name a method with mixtures, such as lda")
    large = np.flatnonzero(weights >= threshold)
    shares = [float(weights[i]) for i in large]
    labels = [names[int(i)] if names is not None else str(i + 1) for i in large]
    if len(large) < len(weights):
        shares.append(float(1 - sum(shares)))
        labels.append("other")
    tenths = np.array(shares) * 1000
    whole = np.floor(tenths + 1e-9).astype(int)
    order = np.argsort(-(tenths - whole), kind="stable")
    whole[order[: 1000 - int(whole.sum())]] += 1
    return Rows(
        [MixturePart(label, count / 10) for label, count in zip(labels, whole.tolist(), strict=True)], MixturePart
    )


def draw_mixture(parts: Rows[MixturePart], *, title: str | None = None) -> Figure:
    """Draw the mixture of a document as bars."""
    from textmill.plot import bars

    shares = {"share": [part.percent for part in parts]}
    return bars([part.topic for part in parts], shares, x_label="share of the document", unit=" %", title=title)
