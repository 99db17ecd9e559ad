"""Which granularity a text has: of cuts from fine to coarse, the one that changes least with the granularity.

A cut costs, over its segments of n_i tokens with the words of f_i(w) tokens each,

    sum_i  -log P(words of i) + kappa n_i^beta + 3

with P a Pólya (Dirichlet-multinomial) distribution. A larger kappa gives fewer segments. The evidence for a boundary
inside of one topic grows more slowly with the lengths on both sides than the evidence between topics; the power of the
length grows with it, so that one kappa means the same for long and for short segments. Two distributions are tried:

    local     prior 4 p(w), p(w) the share of w in the text; beta 0.7: words that come in bursts; short segments
    broad     prior 0.2 for every word; beta 0.5: the whole vocabulary of a topic; long segments

For each of them ten values of kappa give ten cuts, from one pass over all segments. Where there are topics, cuts of
neighboring kappas agree; inside of one topic they do not. And where there are topics, words stop at the boundaries: the
evidence G of a cut (module `recurrence`) compares them with words as far apart inside of its segments, so that what
drifts within one text is not taken for a new topic. Each cut of b boundaries is judged by

    mean share of boundaries that its two neighbors do not have in common with it + w (log kappa / kappa_0)^2
    + 0.52 (1 - G / largest G) + 2.2 (1 - G / 4 sqrt(b))+ + 1.5 (1 - G / 0.14 expected)+

with (x)+ = max(0, x), no boundary by 0.435 + 0.012 * the largest G / sqrt(b), and the least wins. The cut of maximum
probability (module `probability`, which has one granularity, made for short segments) is judged with the others: by the
share of boundaries in which the most similar of the others differs from it (by none where hardly a word crosses its
boundaries), and by the length of its segments. The constants were chosen on texts put together from news, posts,
reviews, abstracts, prose and declarations.

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
from textmill.tasks.segmentation.recurrence import Evidence, evidence
from textmill.tasks.segmentation.texts import TokenizedText

__all__ = ["BROAD", "LOCAL", "Granularity", "polya", "stable_boundaries"]

BLOCK, UNITS = 30_000, 2_000  # tokens and units at most that are looked at together
_PROGRESS = 64  # one part in so many of a block, at least
_SEGMENT = 3.0  # cost of a segment, whatever its length
_LEAST, _DOUBT = 4.0, 2.2  # evidence by the root of the number of boundaries, and what a cut without it costs
_SHARE, _DOUBT_OF_SHARE = 0.14, 1.5  # the same for the evidence in proportion to what is expected
_WEAKER = 0.52  # cost of having no evidence where others have
_WHOLE, _STRONG = 0.435, 0.012  # judgment of a text without boundaries, and how it grows with the evidence for some
_SHARED, _ENOUGH = 0.05, 5  # of expected words on both sides, and how many a boundary, from which there is no doubt
_SHORT, _LONGER, _PROBABLE = 38, 0.27, -0.2  # words of a short segment, cost of longer ones, handicap of the probable


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
        usual: The granularity that is expected.
        weight: Of the distance from what is expected.
        handicap: Added to every judgment.
    """

    name: str
    prior: float
    shared: bool
    beta: float
    least: float
    most: float
    usual: float
    weight: float
    handicap: float

    def kappas(self, many: int = 10) -> Floats:
        """The granularities that are tried, finest first."""
        return np.geomspace(self.least, self.most, many)

    def judge(self, cuts: list[Ints]) -> Floats:
        """How little each cut is to be trusted, by its neighbors and its granularity."""
        changes = np.array([_change(a, b) for a, b in pairwise(cuts)])
        unrest = np.array([changes[max(0, i - 1) : i + 1].mean() for i in range(len(cuts))])
        judgment: Floats = unrest + self.weight * np.log(self.kappas(len(cuts)) / self.usual) ** 2 + self.handicap
        return judgment


LOCAL = Granularity("local", 4.0, True, 0.7, 5.0, 14.0, 13.3, 0.53, 0.18)
BROAD = Granularity("broad", 0.2, False, 0.5, 4.0, 40.0, 17.5, 0.17, 0.0)


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
    cuts = [*local, *broad, probable]
    proof = evidence(numbers, offsets, len(words), cuts)
    nearest = 0.0 if _apart(proof) else min(_change(probable, cut) for cut in cuts[:-1])
    longer = max(0.0, float(np.log(len(ids) / (len(probable) + 1) / _SHORT)))
    last = nearest + _LONGER * longer**2 + _PROBABLE
    judged = [LOCAL.judge(local), BROAD.judge(broad), np.array([last])]
    judgment = np.concatenate(judged) + _doubts(proof)
    best = int(np.argmin(judgment))
    if judgment[best] >= _WHOLE + _STRONG * float(proof.strength.max()):
        return np.zeros(0, np.int64), LOCAL.name
    name = LOCAL.name if best < len(local) else BROAD.name if best < len(cuts) - 1 else "probability"
    return cuts[best], name


def _apart(proof: Evidence) -> bool:
    """Whether neighboring segments of the last cut have hardly a word in common, where many were to be expected."""
    expected = proof.expected[-1]
    return bool(proof.shared[-1] <= _SHARED * expected and expected >= _ENOUGH * max(1, proof.boundaries[-1]))


def _doubts(proof: Evidence) -> Floats:
    """What speaks against each cut: little evidence in itself, for its words, or beside others; no boundary."""
    gain = np.maximum(proof.gain, 0.0)
    doubts = _WEAKER * (1 - gain / max(1e-6, float(gain.max())))
    doubts += _DOUBT * np.maximum(0.0, 1 - proof.strength / _LEAST)
    doubts += _DOUBT_OF_SHARE * np.maximum(0.0, 1 - gain / np.maximum(1e-6, _SHARE * proof.expected))
    answer: Floats = np.where(proof.boundaries > 0, doubts, np.inf)
    return answer


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
    counts = np.bincount(ids)
    distinct, which = np.unique(counts, return_inverse=True)
    first = np.concatenate([[0], np.cumsum(distinct)])
    before = np.arange(first[-1]) - np.repeat(first[:-1], distinct)
    pseudo = prior * np.repeat(distinct, distinct) / len(ids) if shared else prior
    total = prior if shared else prior * len(counts)
    length = np.concatenate([[0.0], np.cumsum(np.log(np.arange(len(ids)) + total))])
    return first[which].astype(np.int64), np.log(before + pseudo), length


def _change(one: Ints, other: Ints) -> float:
    """Share of the boundaries of two cuts that are not in both."""
    both = len(np.intersect1d(one, other, assume_unique=True))
    either = len(one) + len(other) - both
    return 1.0 - both / either if either else 0.0
