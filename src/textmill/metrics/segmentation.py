"""How well proposed boundaries cut a text: P_k, WindowDiff, boundary precision and recall.

A text of n units (tokens, sentences) has n - 1 gaps. A boundary at position b, 1 <= b <= n - 1, separates unit b from
unit b + 1 (units counted from 1); a segmentation is its set of boundaries, or its masses, the lengths of its segments.
Let r_i and h_i be the number of boundaries of reference and hypothesis in window i:

    P_k        = (1/w) sum_i [ (r_i = 0) xor (h_i = 0) ]          w: number of windows
    WindowDiff = (1/w) sum_i [ r_i != h_i ]

    unit="gap"    a window is the k gaps between unit i and unit i + k; w = n - k        (the default, the definition)
    unit="unit"   a boundary marks the unit it follows, a window is k units; w = n - k + 1  (a mark for every unit)

By default k is half the mean segment length of the reference, n / (2 s) for s segments, halves rounded up, at least 1.
Both measures are asymmetric through k. They punish over-segmentation up to 1 and give "no boundary" about 0.4: print
both extremes beside a result.

Cost: O(n), by prefix sums. References: Beeferman, Berger & Lafferty (1999); Pevzner & Hearst (2002).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill.arrays import Ints
from textmill.errors import DataError
from textmill.metrics._inputs import choice, numbers, truths
from textmill.metrics.classification import BinaryCounts
from textmill.metrics.conventions import conventions, merged, signature

__all__ = ["Segmentation", "WindowCounts", "boundary_counts", "pk", "window_diff"]


@dataclass(frozen=True, slots=True, eq=False)
class Segmentation:
    """A text cut into segments; `gaps[b - 1]` is true where there is a boundary at position b.

    >>> cut = Segmentation.from_boundaries([4, 8], units=12)
    >>> cut.masses.tolist(), cut == Segmentation.from_masses([4, 4, 4])
    ([4, 4, 4], True)
    """

    gaps: NDArray[np.bool_]

    def __post_init__(self) -> None:
        object.__setattr__(self, "gaps", truths("gaps", self.gaps))

    @classmethod
    def from_boundaries(cls, boundaries: ArrayLike, units: int) -> Segmentation:
        """Read positions between 1 and units - 1, in any order, repetitions ignored."""
        if units < 1:
            raise DataError(f"a text of {units} units cannot be cut; pass at least 1 unit")
        places = _whole("boundaries", boundaries)
        outside = places[(places < 1) | (places >= units)]
        if outside.size:
            raise DataError(f"boundary {outside[0]} is outside 1..{units - 1} of a text of {units} units; leave it out")
        gaps = np.zeros(units - 1, np.bool_)
        gaps[places - 1] = True
        return cls(gaps)

    @classmethod
    def from_masses(cls, masses: ArrayLike) -> Segmentation:
        """Read segment lengths from first to last."""
        lengths = _whole("masses", masses)
        if not lengths.size or lengths.min() < 1:
            raise DataError("masses are the lengths of one or more segments, each at least 1; remove empty segments")
        ends = np.cumsum(lengths)
        return cls.from_boundaries(ends[:-1], int(ends[-1]))

    def __eq__(self, other: object) -> bool:
        return np.array_equal(self.gaps, other.gaps) if isinstance(other, Segmentation) else NotImplemented

    @property
    def units(self) -> int:
        """Length of the text."""
        return len(self.gaps) + 1

    @property
    def boundaries(self) -> Ints:
        """Positions of the boundaries, rising."""
        return np.flatnonzero(self.gaps).astype(np.int64) + 1

    @property
    def masses(self) -> Ints:
        """Lengths of the segments."""
        return np.diff(self.boundaries, prepend=0, append=self.units)


@dataclass(frozen=True, slots=True)
class WindowCounts:
    """Windows in which two segmentations disagree. Counts of the same measure, k and unit add.

    >>> counts = pk(Segmentation.from_masses([4, 4, 4]), Segmentation.from_masses([5, 3, 4]), k=2)
    >>> counts.rate, counts.signature.rpartition("|")[0]
    (0.2, 'pk|k:2|unit:gap')
    """

    disagreements: int = 0
    windows: int = 0
    units: int = 0
    conventions: str = ""

    def __add__(self, other: WindowCounts) -> WindowCounts:
        return WindowCounts(
            self.disagreements + other.disagreements,
            self.windows + other.windows,
            self.units + other.units,
            merged(self.conventions, other.conventions),
        )

    @property
    def rate(self) -> float:
        """Share of windows that disagree: the figure of the definition."""
        if not self.windows:
            raise DataError("there is no window; add counts of a text with more than one unit")
        return self.disagreements / self.windows

    @property
    def rate_per_unit(self) -> float:
        """Disagreements divided by the length of the text, as some authors do."""
        if not self.units:
            raise DataError("there is no text; add counts of at least one")
        return self.disagreements / self.units

    @property
    def signature(self) -> str:
        """Measure, k, unit and version, to print beside the figure."""
        return signature(self.conventions)


def pk(reference: Segmentation, hypothesis: Segmentation, *, k: int | None = None, unit: str = "gap") -> WindowCounts:
    """Windows with a boundary in one segmentation and none in the other.

    >>> pk(Segmentation.from_boundaries([4, 8], 12), Segmentation.from_boundaries([4, 5, 8], 12), k=2).rate
    0.1
    """
    return _count("pk", lambda ours, theirs: (ours > 0) != (theirs > 0), reference, hypothesis, k, unit)


def window_diff(
    reference: Segmentation, hypothesis: Segmentation, *, k: int | None = None, unit: str = "gap"
) -> WindowCounts:
    """Windows with different numbers of boundaries.

    >>> window_diff(Segmentation.from_boundaries([4, 8], 12), Segmentation.from_boundaries([4, 5, 8], 12), k=2).rate
    0.2
    """
    return _count("windowdiff", np.not_equal, reference, hypothesis, k, unit)


def boundary_counts(reference: Segmentation, hypothesis: Segmentation, *, tolerance: int = 0) -> BinaryCounts:
    """Boundaries found, missed and invented; each matches at most one, at most `tolerance` units away.

    >>> counts = boundary_counts(Segmentation.from_masses([4, 4, 4]), Segmentation.from_masses([5, 3, 4]), tolerance=1)
    >>> counts.precision(), counts.recall()
    (1.0, 1.0)
    """
    _same_text(reference, hypothesis)
    if tolerance < 0:
        raise DataError(f"tolerance {tolerance} is negative; 0 asks for the exact position")
    gold, proposed = reference.boundaries, hypothesis.boundaries
    hits = _matches(gold, proposed, tolerance)
    misses, false_alarms = len(gold) - hits, len(proposed) - hits
    return BinaryCounts(hits, misses, false_alarms, reference.units - 1 - hits - misses - false_alarms)


def _matches(gold: Ints, proposed: Ints, tolerance: int) -> int:
    """Size of the largest one-to-one matching: on a line, pairing the leftmost free boundaries is optimal."""
    if tolerance == 0:
        return len(np.intersect1d(gold, proposed, assume_unique=True))
    hits = at = 0
    for place in gold.tolist():
        while at < len(proposed) and proposed[at] < place - tolerance:
            at += 1
        if at < len(proposed) and proposed[at] <= place + tolerance:
            hits, at = hits + 1, at + 1
    return hits


def _count(
    measure: str,
    differ: Callable[[Ints, Ints], NDArray[np.bool_]],
    reference: Segmentation,
    hypothesis: Segmentation,
    k: int | None,
    unit: str,
) -> WindowCounts:
    choice("unit", unit, ("gap", "unit"))
    _same_text(reference, hypothesis)
    units, segments = reference.units, int(reference.gaps.sum()) + 1
    positions = units - 1 if unit == "gap" else units
    size = max(1, (units + segments) // (2 * segments)) if k is None else k
    if k is not None and not 1 <= k <= positions:
        raise DataError(f"k {k} does not fit a text of {units} units; choose it between 1 and {positions}")
    ours, theirs = (_in_windows(cut.gaps, positions, size) for cut in (reference, hypothesis))
    choices = conventions(measure, k="half-mean" if k is None else k, unit=unit)
    return WindowCounts(int(np.count_nonzero(differ(ours, theirs))), len(ours), units, choices)


def _in_windows(gaps: NDArray[np.bool_], positions: int, size: int) -> Ints:
    """Number of boundaries in each window of `size` positions; in the unit convention the last position is empty."""
    before = np.zeros(positions + 1, np.int64)
    np.cumsum(gaps, out=before[1 : len(gaps) + 1])
    before[len(gaps) + 1 :] = before[len(gaps)]
    return before[size:] - before[: max(0, len(before) - size)]


def _same_text(reference: Segmentation, hypothesis: Segmentation) -> None:
    if reference.units != hypothesis.units:
        raise DataError(
            f"the reference cuts {reference.units} units but the hypothesis {hypothesis.units}; cut the same text"
        )


def _whole(name: str, values: ArrayLike) -> Ints:
    array = numbers(name, values)
    if np.any(array != np.rint(array)):
        raise DataError(f"{name} holds fractions; positions and lengths are whole numbers of units")
    return array.astype(np.int64)
