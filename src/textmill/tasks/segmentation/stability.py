"""Which granularity a text has: of cuts from fine to coarse, the one that changes least with the granularity.

A cut costs, over its segments of n_i tokens with the words of f_i(w) tokens each,

    sum_i  -log P(words of i) + kappa n_i^beta + 3

with P a Pólya (Dirichlet-multinomial) distribution. A larger kappa gives fewer segments. The evidence for a boundary
inside of one topic grows more slowly with the lengths on both sides than the evidence between topics; the power of the
length grows with it, so that one kappa means the same for long and for short segments. Two distributions are tried:

    local     prior 4 p(w), p(w) the share of w in the text; beta 0.7: words that come in bursts; short segments
    broad     prior 0.2 for every word; beta 0.5: the whole vocabulary of a topic; long segments

For each of them ten values of kappa give ten cuts, from one pass over all segments. Where there are topics, cuts of
neighboring kappas agree; inside of one topic they do not. So each cut is judged by

    mean share of boundaries that its two neighbors do not have in common with it + w (log kappa / kappa_0)^2

and the least wins; no boundary at all is always stable and counts no better than a constant. kappa_0, w and these
constants were chosen on texts put together from news, posts, reviews, abstracts, prose and declarations.

Short segments have too few words for this. There the cut of maximum probability (module `probability`, which has one
granularity) is taken where it finds short segments and a local cut finds nearly the same ones, without knowing of it,
or where nearly all tokens of the words that are repeated lie in one segment each.

A long text is cut in blocks that overlap by half a block or more, so that time and memory are linear in its length.

Cost: O(units * tokens) for a block. References: Utiyama & Isahara (2001), A statistical model for domain-independent
text segmentation; Eisenstein & Barzilay (2008), Bayesian unsupervised topic segmentation; Lange, Roth, Braun & Buhmann
(2004), Stability-based validation of clustering solutions.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from textmill._native import tasks as native
from textmill.arrays import Floats, Ids, Ints
from textmill.tasks.segmentation.probability import laplace
from textmill.tasks.segmentation.texts import TokenizedText

__all__ = ["BROAD", "LOCAL", "Granularity", "polya", "stable_boundaries"]

BLOCK, UNITS = 30_000, 2_000  # tokens and units at most that are looked at together
_PROGRESS = 64  # one part in so many of a block, at least
_SEGMENT = 3.0  # cost of a segment, whatever its length
_AGREEMENT = 0.35  # share of boundaries that differ, below which two models mean the same
_SHORT, _SEVERAL = 150, 4  # tokens of a short segment, and segments of which a text of such must have
_APART = 0.95  # share of repeated words in their own segments, from which there is no doubt
_FINE = slice(2, 5)  # local granularities of short segments


@dataclass(frozen=True, slots=True)
class Granularity:
    """A distribution of words, its range of granularities, and how a granularity is judged.

    Attributes:
        name: Its name.
        prior: Pseudo-count of a word: in all, shared out by frequency, if `shared`; else of every word.
        shared: Whether the prior follows the frequencies.
        beta: Power of the length of a segment.
        least: Finest granularity.
        most: Coarsest granularity.
        usual: The granularity that is expected, for 1,000 tokens.
        slope: How the expectation moves with the logarithm of the length of the text.
        weight: Of the distance from what is expected.
        whole: The least that a text without boundaries may be judged.
        handicap: Added to every judgement.
    """

    name: str
    prior: float
    shared: bool
    beta: float
    least: float
    most: float
    usual: float
    slope: float
    weight: float
    whole: float
    handicap: float

    def kappas(self, many: int = 10) -> Floats:
        """The granularities that are tried, finest first."""
        return np.geomspace(self.least, self.most, many)

    def judge(self, cuts: list[Ints], tokens: int) -> Floats:
        """How little each cut is to be trusted."""
        kappas = self.kappas(len(cuts))
        changes = np.array([_change(a, b) for a, b in pairwise(cuts)])
        unrest = np.array([changes[max(0, i - 1) : i + 1].mean() for i in range(len(cuts))])
        unrest = np.where([not len(cut) for cut in cuts], np.maximum(unrest, self.whole), unrest)
        away = np.log(kappas / self.usual) - self.slope * np.log(tokens / 1000)
        judgement: Floats = unrest + self.weight * away**2 + self.handicap
        return judgement


LOCAL = Granularity("local", 4.0, True, 0.7, 5.0, 14.0, 9.5, -0.1, 0.55, 0.16, 0.1)
BROAD = Granularity("broad", 0.2, False, 0.5, 4.0, 40.0, 16.0, 0.0, 0.6, 0.35, 0.0)


def stable_boundaries(text: TokenizedText, units: Ints) -> tuple[Ints, list[str], Ints]:
    """Boundaries of the most stable cut of a text into units, the distributions that found them, where blocks begin."""
    ids, offsets, _ = text.content(units)
    boundaries: list[int] = []
    names: list[str] = []
    begin, last = 0, len(units) - 1
    blocks: list[int] = []
    while True:
        blocks.append(begin)
        end = min(last, int(np.searchsorted(units, units[begin] + BLOCK, side="right")) - 1)
        end = max(begin + 1, min(end, begin + UNITS))
        if last - end < (end - begin) // 2:  # a short rest belongs to this block
            end = last
        cuts, name = _most_stable(ids[offsets[begin] : offsets[end]], offsets[begin : end + 1] - offsets[begin])
        names.append(name)
        here = (begin + cuts).tolist()
        if end == last:
            return units[[*boundaries, *here]].astype(np.int64), list(dict.fromkeys(names)), units[blocks]
        half = begin + max(1, (end - begin) // 2)  # what is behind it is seen again, with what follows
        here = [cut for cut in here if cut <= half] or here[:1]
        boundaries += here
        begin = here[-1] if here and _PROGRESS * (here[-1] - begin) >= end - begin else half


def _most_stable(ids: Ids, offsets: Ints) -> tuple[Ints, str]:
    """Units before which the most stable cut of these words lies, and the name of the distribution that found it."""
    words, inverse = np.unique(ids, return_inverse=True)
    if len(ids) < 2 or len(offsets) < 3:
        return np.zeros(0, np.int64), LOCAL.name
    numbers: Ids = inverse.astype(np.int32)
    local, broad = (_cuts(model, numbers, offsets, len(words)) for model in (LOCAL, BROAD))
    probable = _probable(numbers, offsets, len(words))
    short = len(probable) + 1 >= _SEVERAL and len(ids) < _SHORT * (len(probable) + 1)
    if short and min(_change(probable, cut) for cut in local[_FINE]) < _AGREEMENT:
        return probable, "probability"
    if len(probable) and _apart(numbers, offsets[probable]) > _APART:
        return probable, "probability"
    judged = [(model.judge(cuts, len(ids)), cuts, model.name) for model, cuts in ((LOCAL, local), (BROAD, broad))]
    judgement, cuts, name = min(judged, key=lambda one: float(one[0].min()))
    return cuts[int(np.argmin(judgement))], name


def _cuts(model: Granularity, ids: Ids, offsets: Ints, vocabulary: int) -> list[Ints]:
    """The best cut of each granularity, finest first."""
    rows, gain, length = polya(ids, model.prior, shared=model.shared)
    cuts, first = native.granular_cuts(
        ids, offsets, vocabulary, rows=rows, gain=gain, length=length + _SEGMENT,
        power=np.arange(len(ids) + 1.0) ** model.beta, weights=model.kappas(),
    )  # fmt: skip
    return [cuts[a:b].astype(np.int64) for a, b in pairwise(first.tolist())]


def _probable(ids: Ids, offsets: Ints, vocabulary: int) -> Ints:
    """The cut of maximum probability."""
    gain, length = laplace(len(ids), vocabulary)
    cuts, _ = native.probable_cuts(
        ids, offsets, vocabulary, offsets, rows=np.zeros(vocabulary, np.int64), gain=gain, length=length,
        penalty=float(np.log(len(ids))), segments=0, shortest=0, longest=2**62,
    )  # fmt: skip
    boundaries: Ints = cuts.astype(np.int64)
    return boundaries


def polya(ids: Ids, prior: float, *, shared: bool) -> tuple[Ints, Floats, Floats]:
    """Tables of a Pólya distribution: the row of each word, the gain of one more token in it, the cost of a length.

    The prior is shared out among the words by their frequencies, or each word has it.

    >>> rows, gain, length = polya(np.array([0, 1, 1]), 3.0, shared=True)
    >>> rows.tolist(), gain.round(4).tolist(), length.round(4).tolist()
    ([0, 1], [0.0, 0.6931, 1.0986], [0.0, 1.0986, 2.4849, 4.0943])
    """
    from scipy.special import gammaln

    counts = np.bincount(ids)
    distinct, which = np.unique(counts, return_inverse=True)
    first = np.concatenate([[0], np.cumsum(distinct)])
    before = np.arange(first[-1]) - np.repeat(first[:-1], distinct)
    pseudo = prior * np.repeat(distinct, distinct) / len(ids) if shared else prior
    total = prior if shared else prior * len(counts)
    length = gammaln(np.arange(len(ids) + 1) + total) - gammaln(total)
    return first[which].astype(np.int64), np.log(before + pseudo), length


def _apart(ids: Ids, boundaries: Ints) -> float:
    """Share of the tokens of repeated words in the one segment where each word is most; 0 if words hardly repeat."""
    segment = np.searchsorted(boundaries, np.arange(len(ids)), side="right")
    many = len(boundaries) + 1
    counts = np.bincount(ids.astype(np.int64) * many + segment, minlength=(int(ids.max()) + 1) * many).reshape(-1, many)
    total = counts.sum(axis=1)
    repeated = total >= 3
    tokens = int(total[repeated].sum())
    return float(counts[repeated].max(axis=1).sum()) / tokens if 2 * tokens > len(ids) else 0.0


def _change(one: Ints, other: Ints) -> float:
    """Share of the boundaries of two cuts that are not in both."""
    both = len(np.intersect1d(one, other, assume_unique=True))
    either = len(one) + len(other) - both
    return 1.0 - both / either if either else 0.0
