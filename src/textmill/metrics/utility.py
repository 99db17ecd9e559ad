"""F in every convention, and utilities over hits, misses, false alarms and rejections with their derivatives.

    A  hits          true +, predicted +        B  misses      true +, predicted -
    C  false alarms  true -, predicted +        D  rejections  true -, predicted -

    R = A / (A + B)     P = A / (A + C)     F = 1 / (a/R + (1-a)/P) = A / (A + a B + (1-a) C)

The recall weight a, between 0 (pure precision) and 1 (pure recall), is written in four ways:

    F_beta, the usual form                              a = beta^2 / (1 + beta^2)
    F_b, where b is beta squared (Jansche 2007)         a = b / (1 + b)
    F_alpha with alpha on 1/R (Jansche 2005)            a = alpha
    F_alpha with alpha on 1/P (van Rijsbergen 1979)     a = 1 - alpha          his E is 1 - F

A utility maps counts, an array whose last axis is (A, B, C, D), to a value, and to a gradient of the same shape as the
counts. Counts may be real: expected, smoothed or averaged ones. Every ratio here is homogeneous of degree 0, so counts
and shares give the same value. Where a ratio is 0/0 its value is `zero_division` and its gradient 0; F defaults to 1
(nothing to find and nothing claimed is perfect), precision, recall and specificity to 0.

Cost: a few operations per count vector. References: van Rijsbergen, Information Retrieval (1979), chapter 7; Jansche,
Maximum expected F-measure training (2005); Jansche, A maximum expected utility framework (2007).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from textmill.arrays import Floats
from textmill.errors import DataError

__all__ = [
    "FWeight",
    "GMeanUtility",
    "LinearUtility",
    "MCCUtility",
    "RatioUtility",
    "RecallFloorUtility",
    "Utility",
    "UtilitySum",
    "named_utility",
]


class Utility(Protocol):
    """Anything with a value and a gradient over counts (A, B, C, D); write your own to train or decode for it."""

    def value(self, counts: ArrayLike) -> Floats:
        """Value of each count vector: the shape of counts without its last axis."""

    def gradient(self, counts: ArrayLike) -> Floats:
        """Derivatives with respect to hits, misses, false alarms and rejections: the shape of counts."""


@dataclass(frozen=True, slots=True)
class FWeight:
    """How much an F-measure cares for recall, readable in every convention.

    `recall` is the weight of 1/R, the alpha of Jansche (2005); `precision` is the weight of 1/P, the alpha of van
    Rijsbergen. They sum to 1; make one with `from_beta`, `from_b`, `from_recall` or `from_precision`.

    >>> weight = FWeight.from_beta(2.0)
    >>> weight.recall, weight.precision, weight.b
    (0.8, 0.2, 4.0)
    >>> round(float(weight.f(precision=0.5, recall=1.0)), 4)
    0.8333
    """

    recall: float
    precision: float

    def __post_init__(self) -> None:
        if not (self.recall >= 0.0 and self.precision >= 0.0 and abs(self.recall + self.precision - 1.0) < 1e-12):
            raise DataError(
                f"weights {self.recall:g} of recall and {self.precision:g} of precision are not shares of 1; "
                "use from_beta for an F_beta"
            )

    @classmethod
    def from_beta(cls, beta: float) -> FWeight:
        """Read the beta of F_beta: recall counts beta times as much as precision; infinity is pure recall.

        >>> FWeight.from_beta(1.0)
        FWeight(recall=0.5, precision=0.5)
        """
        if not beta >= 0.0:
            raise DataError(f"beta {beta} is negative; use 0 for pure precision, 1 for F1, inf for pure recall")
        return cls.from_b(beta * beta)

    @classmethod
    def from_b(cls, b: float) -> FWeight:
        """Read b, the square of beta.

        >>> FWeight.from_b(0.25).beta
        0.5
        """
        if not b >= 0.0:
            raise DataError(f"b {b} is negative; b is the square of beta")
        return cls(1.0, 0.0) if math.isinf(b) else cls(b / (1.0 + b), 1.0 / (1.0 + b))

    @classmethod
    def from_recall(cls, weight: float) -> FWeight:
        """Read the weight of 1/R, the alpha of Jansche (2005).

        >>> round(FWeight.from_recall(0.75).beta ** 2, 12)
        3.0
        """
        return cls(weight, 1.0 - weight)

    @classmethod
    def from_precision(cls, weight: float) -> FWeight:
        """Read van Rijsbergen's alpha, the weight of 1/P.

        >>> FWeight.from_precision(0.25).recall
        0.75
        """
        return cls(1.0 - weight, weight)

    @property
    def b(self) -> float:
        """The square of beta; infinite for pure recall."""
        return self.recall / self.precision if self.precision else math.inf

    @property
    def beta(self) -> float:
        """The beta of F_beta; infinite for pure recall."""
        return math.sqrt(self.b)

    def f(self, precision: ArrayLike, recall: ArrayLike) -> Floats:
        """Weighted harmonic mean of precision and recall; 0 when both are 0.

        >>> [round(float(FWeight.from_beta(beta).f(0.5, 1.0)), 4) for beta in (1, 2, 0.5)]
        [0.6667, 0.8333, 0.5556]
        """
        p, r = np.asarray(precision, np.float64), np.asarray(recall, np.float64)
        if not (np.all((p >= 0) & (p <= 1)) and np.all((r >= 0) & (r <= 1))):
            raise DataError("precision and recall must lie between 0 and 1; divide percentages by 100")
        return _divide(p * r, self.recall * p + self.precision * r, 0.0)

    def e(self, precision: ArrayLike, recall: ArrayLike) -> Floats:
        """Van Rijsbergen's effectiveness E = 1 - F: 0 is perfect.

        >>> float(FWeight.from_precision(0.5).e(1.0, 1.0))
        0.0
        """
        return 1.0 - self.f(precision, recall)


@dataclass(frozen=True, slots=True)
class RatioUtility:
    """Quotient of two linear functions of the counts: u = (n . c) / (m . c), du/dc = (n - u m) / (m . c).

    >>> f1 = RatioUtility.f(FWeight.from_beta(1.0))
    >>> round(float(f1.value([24, 75, 9, 300])), 6)
    0.363636
    >>> f1.gradient([1, 1, 1, 0]).tolist()
    [0.25, -0.125, -0.125, 0.0]
    """

    numerator: tuple[float, float, float, float]
    denominator: tuple[float, float, float, float]
    zero_division: float = 0.0

    @classmethod
    def f(cls, weight: FWeight, zero_division: float = 1.0) -> RatioUtility:
        """F with the given weight: A / (A + a B + (1-a) C)."""
        return cls((1.0, 0.0, 0.0, 0.0), (1.0, weight.recall, weight.precision, 0.0), zero_division)

    @classmethod
    def precision(cls, zero_division: float = 0.0) -> RatioUtility:
        """A / (A + C)."""
        return cls((1.0, 0.0, 0.0, 0.0), (1.0, 0.0, 1.0, 0.0), zero_division)

    @classmethod
    def recall(cls, zero_division: float = 0.0) -> RatioUtility:
        """A / (A + B), also called sensitivity or hit rate."""
        return cls((1.0, 0.0, 0.0, 0.0), (1.0, 1.0, 0.0, 0.0), zero_division)

    @classmethod
    def specificity(cls, zero_division: float = 0.0) -> RatioUtility:
        """D / (C + D), the recall of the negatives."""
        return cls((0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 1.0), zero_division)

    @classmethod
    def accuracy(cls, zero_division: float = 0.0) -> RatioUtility:
        """(A + D) / (A + B + C + D)."""
        return cls((1.0, 0.0, 0.0, 1.0), (1.0, 1.0, 1.0, 1.0), zero_division)

    @classmethod
    def jaccard(cls, zero_division: float = 1.0) -> RatioUtility:
        """A / (A + B + C) = F1 / (2 - F1)."""
        return cls((1.0, 0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0), zero_division)

    def value(self, counts: ArrayLike) -> Floats:
        """Value of each count vector."""
        c = _counts(counts)
        return _divide(_dot(c, self.numerator), _dot(c, self.denominator), self.zero_division)

    def gradient(self, counts: ArrayLike) -> Floats:
        """Derivatives with respect to the four counts."""
        c = _counts(counts)
        slope = np.array(self.numerator) - self.value(c)[..., None] * np.array(self.denominator)
        return _divide(slope, _dot(c, self.denominator)[..., None], 0.0)


@dataclass(frozen=True, slots=True)
class LinearUtility:
    """So much for each hit, miss, false alarm and rejection; costs are negative.

    >>> float(LinearUtility(miss=-5.0, false_alarm=-1.0).value([8, 2, 3, 100]))
    -13.0
    """

    hit: float = 0.0
    miss: float = 0.0
    false_alarm: float = 0.0
    rejection: float = 0.0

    def value(self, counts: ArrayLike) -> Floats:
        """Value of each count vector."""
        return _dot(_counts(counts), self._weights())

    def gradient(self, counts: ArrayLike) -> Floats:
        """Derivatives with respect to the four counts: the weights themselves."""
        return np.broadcast_to(np.array(self._weights()), _counts(counts).shape).copy()

    def _weights(self) -> tuple[float, float, float, float]:
        return self.hit, self.miss, self.false_alarm, self.rejection


@dataclass(frozen=True, slots=True)
class UtilitySum:
    """Weighted sum of utilities plus a constant: several operating points at once.

    >>> float(UtilitySum.youden().value([8, 2, 10, 90]).round(6))
    0.7
    """

    terms: tuple[tuple[float, Utility], ...]
    constant: float = 0.0

    @classmethod
    def sensitivity_specificity(cls, weight: float = 0.5) -> UtilitySum:
        """Weighted recall and specificity, w A/(A+B) + (1-w) D/(C+D); w = 1/2 is balanced accuracy."""
        return cls(((weight, RatioUtility.recall()), (1.0 - weight, RatioUtility.specificity())))

    @classmethod
    def youden(cls) -> UtilitySum:
        """Youden's J: recall + specificity - 1."""
        return cls(((1.0, RatioUtility.recall()), (1.0, RatioUtility.specificity())), -1.0)

    def value(self, counts: ArrayLike) -> Floats:
        """Value of each count vector."""
        c = _counts(counts)
        return sum((w * term.value(c) for w, term in self.terms), np.full(c.shape[:-1], self.constant))

    def gradient(self, counts: ArrayLike) -> Floats:
        """Derivatives with respect to the four counts."""
        c = _counts(counts)
        return sum((w * term.gradient(c) for w, term in self.terms), np.zeros(c.shape))


@dataclass(frozen=True, slots=True)
class GMeanUtility:
    """Geometric mean of recall and specificity, sqrt(A/(A+B) * D/(C+D)); the gradient is 0 where the value is.

    >>> float(GMeanUtility().value([8, 2, 10, 90]).round(6))
    0.848528
    """

    def value(self, counts: ArrayLike) -> Floats:
        """Value of each count vector."""
        root: Floats = np.sqrt(RatioUtility.recall().value(counts) * RatioUtility.specificity().value(counts))
        return root

    def gradient(self, counts: ArrayLike) -> Floats:
        """Derivatives with respect to the four counts."""
        recall, specificity = RatioUtility.recall(), RatioUtility.specificity()
        product_rule = specificity.value(counts)[..., None] * recall.gradient(counts) + recall.value(counts)[
            ..., None
        ] * specificity.gradient(counts)
        return _divide(product_rule, 2.0 * self.value(counts)[..., None], 0.0)


@dataclass(frozen=True, slots=True)
class MCCUtility:
    """Matthews correlation (A D - B C) / sqrt((A+B)(A+C)(B+D)(C+D)); value and gradient are 0 where a margin is.

    >>> float(MCCUtility().value([8, 2, 10, 90]).round(6))
    0.543961
    """

    def value(self, counts: ArrayLike) -> Floats:
        """Value of each count vector."""
        a, b, c, d = np.moveaxis(_counts(counts), -1, 0)
        return _divide(a * d - b * c, _root_of_margins(a, b, c, d), 0.0)

    def gradient(self, counts: ArrayLike) -> Floats:
        """Derivatives with respect to the four counts."""
        a, b, c, d = np.moveaxis(_counts(counts), -1, 0)
        root = _root_of_margins(a, b, c, d)[..., None]
        inverse = [_divide(np.ones_like(margin), margin, 0.0) for margin in (a + b, a + c, b + d, c + d)]
        truth, claimed, passed, wrong = inverse  # 1 / (A+B), 1 / (A+C), 1 / (B+D), 1 / (C+D)
        log_margins = np.stack([truth + claimed, truth + passed, claimed + wrong, passed + wrong], axis=-1)
        covariance = np.stack([d, -c, -b, a], axis=-1)
        slope = _divide(covariance, root, 0.0) - 0.5 * self.value(counts)[..., None] * log_margins
        return np.asarray(np.where(root > 0.0, slope, 0.0))


@dataclass(frozen=True, slots=True)
class RecallFloorUtility:
    """Precision, punished where recall is under a floor: P - penalty * max(0, floor - R)^2.

    >>> float(RecallFloorUtility(floor=0.9, penalty=10.0).value([8, 2, 2, 88]).round(6))
    0.7
    """

    floor: float
    penalty: float = 10.0

    def value(self, counts: ArrayLike) -> Floats:
        """Value of each count vector."""
        return RatioUtility.precision().value(counts) - self.penalty * self._shortfall(counts) ** 2

    def gradient(self, counts: ArrayLike) -> Floats:
        """Derivatives with respect to the four counts."""
        pull = 2.0 * self.penalty * self._shortfall(counts)[..., None]
        return RatioUtility.precision().gradient(counts) + pull * RatioUtility.recall().gradient(counts)

    def _shortfall(self, counts: ArrayLike) -> Floats:
        return np.maximum(0.0, self.floor - RatioUtility.recall().value(counts))


_PLAIN: dict[str, Callable[[], Utility]] = {
    "accuracy": RatioUtility.accuracy,
    "balanced-accuracy": UtilitySum.sensitivity_specificity,
    "g-mean": GMeanUtility,
    "jaccard": RatioUtility.jaccard,
    "mcc": MCCUtility,
    "precision": RatioUtility.precision,
    "recall": RatioUtility.recall,
    "specificity": RatioUtility.specificity,
    "youden": UtilitySum.youden,
}


def named_utility(name: str) -> Utility:
    """The utility of a name, as commands and estimators take it.

    f1, f2, f0.5 ... F_beta; alpha:W, F with the weight W of recall; jaccard, precision, recall, specificity, accuracy,
    balanced-accuracy, youden, g-mean, mcc; sensitivity:W, recall and specificity weighted W to 1 - W; recall-floor:R,
    precision with a recall of at least R; cost:M:A, costs of a miss and of a false alarm. A sum has + between its
    terms, each with a weight before * : "0.5*f1+0.5*recall".

    >>> named_utility("f2") == RatioUtility.f(FWeight.from_beta(2.0))
    True
    >>> named_utility("cost:5:1")
    LinearUtility(hit=0.0, miss=-5.0, false_alarm=-1.0, rejection=0.0)
    """
    terms = name.split("+")
    if len(terms) > 1 or "*" in name:
        pairs = [("1", term) if "*" not in term else tuple(term.split("*", 1)) for term in terms]
        return UtilitySum(tuple((_number(weight, name), named_utility(term)) for weight, term in pairs))
    kind, *rest = name.strip().split(":")
    if kind in _PLAIN and not rest:
        return _PLAIN[kind]()
    if kind[:1] == "f" and not rest and kind[1:2].isdigit():
        return RatioUtility.f(FWeight.from_beta(_number(kind[1:], name)))
    numbers = [_number(part, name) for part in rest]
    if kind == "alpha" and len(numbers) == 1:
        return RatioUtility.f(FWeight.from_recall(numbers[0]))
    if kind == "sensitivity" and len(numbers) == 1:
        return UtilitySum.sensitivity_specificity(numbers[0])
    if kind == "recall-floor" and len(numbers) in (1, 2):
        return RecallFloorUtility(*numbers)
    if kind == "cost" and len(numbers) == 2:
        return LinearUtility(miss=-numbers[0], false_alarm=-numbers[1])
    raise DataError(
        f"utility '{name}' is unknown; use f1 (any beta), alpha:W, {', '.join(_PLAIN)}, sensitivity:W, recall-floor:R "
        "or cost:MISS:ALARM"
    )


def _number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise DataError(f"utility '{name}' has '{text}' where a number belongs") from None


def _counts(counts: ArrayLike) -> Floats:
    """Counts as an array (..., 4). Rounding of smoothed counts may leave -1e-16 for 0; more is a mistake."""
    array = np.asarray(counts, np.float64)
    if array.ndim == 0 or array.shape[-1] != 4:
        raise DataError(f"counts of shape {array.shape} need a last axis of 4: hits, misses, false alarms, rejections")
    if not np.all(np.isfinite(array)):
        raise DataError("counts hold NaN or infinity; sum finite counts only")
    if np.any(array < 0.0):
        if np.any(array < -1e-9 * np.maximum(1.0, np.abs(array).sum(axis=-1, keepdims=True))):
            raise DataError(f"counts hold the negative number {array.min():g}; counts are at least 0")
        array = np.maximum(array, 0.0)
    return array


def _dot(counts: Floats, weights: tuple[float, float, float, float]) -> Floats:
    """counts . weights in a fixed order: one vector and a grid of them give the same bits, as `@` would not."""
    a, b, c, d = counts[..., 0], counts[..., 1], counts[..., 2], counts[..., 3]
    return np.asarray(a * weights[0] + b * weights[1] + c * weights[2] + d * weights[3])


def _root_of_margins(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    """sqrt((A+B)(A+C)(B+D)(C+D)), as a product of roots so that large counts do not overflow."""
    root: Floats = np.sqrt(a + b) * np.sqrt(a + c) * np.sqrt(b + d) * np.sqrt(c + d)
    return root


def _divide(numerator: Floats, denominator: Floats, zero_division: float) -> Floats:
    """Divide where the denominator is not 0, else put `zero_division`."""
    shape = np.broadcast_shapes(np.shape(numerator), np.shape(denominator))
    result = np.full(shape, zero_division)
    np.divide(numerator, denominator, out=result, where=np.asarray(denominator) != 0.0)
    return result
