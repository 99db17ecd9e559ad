"""Distributions of counts: how often a word occurs in a text of a given length.

    Poisson(mu)                    m^x e^-m / x!                                    m = mu n
    NegativeBinomial(mu, kappa)    m^x / x! (kappa)_x kappa^kappa / (m + kappa)^(kappa + x)
    Binomial(p)                    C(n, x) p^x (1 - p)^(n - x)
    Bernoulli(p)                   the binomial of [x > 0] in [n > 0] texts
    BetaBinomial(p, gamma)         C(n, x) B(x + alpha, n - x + beta) / B(alpha, beta)
    ZeroInflated(F, z)             z [x = 0] + (1 - z) F(x)

n is the exposure, the length of the text; for the first two it is 1 unless given, so that mu is the mean. The mean of
the beta-binomial is n p and its variance n p (1 - p) (1 + (n - 1) gamma); alpha = p (1 - gamma) / gamma, beta = (1 - p)
(1 - gamma) / gamma. kappa = infinity is the Poisson, gamma = 0 the binomial.

Cost: some logarithms a count. Relative errors of logarithms stay below 1e-10 (native/linear/count_models.h).
Reference: Jansche (2003), Parametric models of linguistic count data.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from textmill._native import linear as native
from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.model import RandomState, seed_of
from textmill.numeric import special

__all__ = [
    "Bernoulli",
    "BetaBinomial",
    "Binomial",
    "CountDistribution",
    "NegativeBinomial",
    "Poisson",
    "ZeroInflated",
    "distribution_of",
]

_MOST = 1e15  # whole numbers are exact below


class CountDistribution:
    """What all distributions of counts can do; counts and exposures are numbers or arrays that go together."""

    family: ClassVar[int]  # in native/linear/count_models.h
    bounded: ClassVar[bool]  # whether a count is at most its exposure, which must then be given

    @property
    def parameters(self) -> dict[str, float]:
        """Parameters by name, z last.

        >>> ZeroInflated(Binomial(p=0.02), z=0.3).parameters
        {'p': 0.02, 'z': 0.3}
        """
        return {field.name: float(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]

    def logpmf(self, x: ArrayLike, exposure: ArrayLike | None = None) -> Floats:
        """Return log P(x).

        >>> np.exp(NegativeBinomial(mu=0.45, kappa=1.2).logpmf([0, 1])).round(4).tolist()
        [0.6824, 0.2233]
        """
        counts, lengths = self._checked(x, exposure)
        first, second, z = self._native()
        flat_counts, flat_lengths = np.broadcast_arrays(counts, lengths)
        out = np.empty(flat_counts.size)
        values = [np.array([value]) for value in (first, second, z)]
        native.log_pmf(self.family, *values, np.ravel(flat_counts), np.ravel(flat_lengths), out, 1)
        return out.reshape(flat_counts.shape)

    def pmf(self, x: ArrayLike, exposure: ArrayLike | None = None) -> Floats:
        """Return P(x).

        >>> BetaBinomial(p=0.1, gamma=0.05).pmf([0, 1, 2, 3], 10).round(7).tolist()
        [0.4243481, 0.3089124, 0.1606098, 0.0693088]
        """
        return np.asarray(np.exp(self.logpmf(x, exposure)))

    def gradient(self, x: ArrayLike, exposure: ArrayLike | None = None) -> dict[str, Floats]:
        """Return the slopes of log P(x) by each parameter.

        >>> Poisson(mu=2.0).gradient([0, 4])["mu"].tolist()
        [-1.0, 1.0]
        """
        counts, lengths = self._checked(x, exposure)
        first, second, z = self._native()
        flat_counts, flat_lengths = np.broadcast_arrays(counts, lengths)
        out = np.empty((flat_counts.size, 3))
        native.count_slopes(self.family, first, second, z, np.ravel(flat_counts), np.ravel(flat_lengths), out, 1)
        names = list(self.parameters)
        columns = [0, 1, 2] if len(names) == 3 else [0, 2] if names[-1] == "z" else [0, 1]
        return {name: out[:, column].reshape(flat_counts.shape) for name, column in zip(names, columns, strict=False)}

    def loglikelihood(
        self, x: ArrayLike, exposure: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the sum of log P(x), each times its weight.

        >>> round(ZeroInflated(Binomial(p=0.02), z=0.5).loglikelihood([0, 3], [100, 120]), 4)
        -2.816
        """
        terms = self.logpmf(x, exposure)
        weights = 1.0 if sample_weight is None else np.asarray(sample_weight, np.float64)
        return float(np.sum(terms * weights))

    def cdf(self, x: ArrayLike, exposure: ArrayLike | None = None) -> Floats:
        """Return P(X <= x); x may be any number.

        >>> Poisson(mu=1.0).cdf([-1, 0, 1.5]).round(4).tolist()
        [0.0, 0.3679, 0.7358]
        """
        places, lengths = self._places(x, exposure)
        return np.where(places < 0, 0.0, self._below(np.maximum(places, 0.0), lengths))

    def sf(self, x: ArrayLike, exposure: ArrayLike | None = None) -> Floats:
        """Return P(X > x), exact also where it is small.

        >>> f"{Binomial(p=1e-5).sf(3, 100):.3e}"
        '3.918e-14'
        """
        places, lengths = self._places(x, exposure)
        return np.where(places < 0, 1.0, self._above(np.maximum(places, 0.0), lengths))

    def mean(self, exposure: ArrayLike | None = None) -> Floats:
        """Return the mean.

        >>> float(ZeroInflated(Binomial(p=0.02), z=0.3).mean(100))
        1.4
        """
        return self._moments(self._lengths(exposure))[0]

    def variance(self, exposure: ArrayLike | None = None) -> Floats:
        """Return the variance.

        >>> round(float(BetaBinomial(p=0.1, gamma=0.05).variance(10)), 6)
        1.305
        """
        return self._moments(self._lengths(exposure))[1]

    def sample(
        self,
        n_samples: int | tuple[int, ...] | None = None,
        exposure: ArrayLike | None = None,
        *,
        random_state: RandomState = None,
    ) -> Ints:
        """Draw counts: `n_samples` of them, or one for each exposure.

        >>> Binomial(p=0.5).sample(exposure=[0, 10, 10**6], random_state=1).shape
        (3,)
        """
        rng = np.random.Generator(np.random.Philox(seed_of(random_state)))
        lengths = self._lengths(exposure)
        shape = lengths.shape if n_samples is None else n_samples
        return self._draw(rng, np.broadcast_to(lengths, shape))

    def _checked(self, x: ArrayLike, exposure: ArrayLike | None) -> tuple[Floats, Floats]:
        """Counts and exposures, all of them valid."""
        counts = np.asarray(x, np.float64)
        bad = ~((counts >= 0) & (counts <= _MOST) & (counts == np.floor(counts)))
        if bad.any():
            place = int(np.argmax(bad.ravel()))
            raise DataError(f"count {counts.ravel()[place]} at {place} is no count; pass whole numbers >= 0")
        return counts, self._lengths(exposure)

    def _lengths(self, exposure: ArrayLike | None) -> Floats:
        if exposure is None:
            if self.bounded:
                raise DataError(f"a {type(self).__name__} needs the length of each text; pass exposure=")
            return np.ones(())
        lengths = np.asarray(exposure, np.float64)
        bad = ~((lengths >= 0) & (lengths <= _MOST))
        if self.bounded:
            bad |= lengths != np.floor(lengths)
        if bad.any():
            place = int(np.argmax(bad.ravel()))
            raise DataError(f"exposure {lengths.ravel()[place]} at {place} is no length; pass numbers >= 0")
        return lengths

    def _places(self, x: ArrayLike, exposure: ArrayLike | None) -> tuple[Floats, Floats]:
        places = np.floor(np.asarray(x, np.float64))
        if np.isnan(places).any():
            raise DataError("x holds NaN; pass numbers")
        lengths = self._lengths(exposure)
        a, b = np.broadcast_arrays(places, lengths)
        return a, b

    def _native(self) -> tuple[float, float, float]:
        """First, second and z, as the kernels take them."""
        raise NotImplementedError

    def _below(self, x: Floats, lengths: Floats) -> Floats:
        raise NotImplementedError

    def _above(self, x: Floats, lengths: Floats) -> Floats:
        raise NotImplementedError

    def _moments(self, lengths: Floats) -> tuple[Floats, Floats]:
        raise NotImplementedError

    def _draw(self, rng: np.random.Generator, lengths: Floats) -> Ints:
        raise NotImplementedError


def _check(name: str, value: float, low: float, high: float, *, open_low: bool = False) -> None:
    inside = low < value <= high if open_low else low <= value <= high
    if not inside:  # NaN is not inside either
        raise DataError(f"{name} is {value}; it must lie between {low} and {high}")


@dataclass(frozen=True)
class Poisson(CountDistribution):
    """mu: mean for an exposure of 1.

    >>> float((247 * Poisson(mu=166 / 247).pmf(0)).round(2))
    126.13
    """

    family: ClassVar[int] = 0
    bounded: ClassVar[bool] = False
    mu: float

    def __post_init__(self) -> None:
        _check("mu", self.mu, 0.0, 1e300)

    def _native(self) -> tuple[float, float, float]:
        return float(self.mu), 0.0, 0.0

    def _below(self, x: Floats, lengths: Floats) -> Floats:
        return np.asarray(special.pdtr(x, self.mu * lengths))

    def _above(self, x: Floats, lengths: Floats) -> Floats:
        return np.asarray(special.pdtrc(x, self.mu * lengths))

    def _moments(self, lengths: Floats) -> tuple[Floats, Floats]:
        m = np.asarray(self.mu * lengths)
        return m, m

    def _draw(self, rng: np.random.Generator, lengths: Floats) -> Ints:
        return np.asarray(rng.poisson(self.mu * lengths), np.int64)


@dataclass(frozen=True)
class NegativeBinomial(CountDistribution):
    """mu: mean for an exposure of 1; kappa: shape, small for bursts, infinity for the Poisson.

    >>> NegativeBinomial(mu=0.5, kappa=np.inf).pmf(2) == Poisson(mu=0.5).pmf(2)
    np.True_
    """

    family: ClassVar[int] = 1
    bounded: ClassVar[bool] = False
    mu: float
    kappa: float

    def __post_init__(self) -> None:
        _check("mu", self.mu, 0.0, 1e300)
        _check("kappa", self.kappa, 0.0, np.inf, open_low=True)

    def _native(self) -> tuple[float, float, float]:
        return float(self.mu), float(self.kappa), 0.0

    def _below(self, x: Floats, lengths: Floats) -> Floats:
        m = self.mu * lengths
        if np.isinf(self.kappa):
            return np.asarray(special.pdtr(x, m))
        return np.asarray(special.betainc(self.kappa, x + 1, self.kappa / (self.kappa + m)))

    def _above(self, x: Floats, lengths: Floats) -> Floats:
        m = self.mu * lengths
        if np.isinf(self.kappa):
            return np.asarray(special.pdtrc(x, m))
        return np.asarray(special.betainc(x + 1, self.kappa, m / (self.kappa + m)))

    def _moments(self, lengths: Floats) -> tuple[Floats, Floats]:
        m = np.asarray(self.mu * lengths)
        return m, np.asarray(m * (1 + m / self.kappa))

    def _draw(self, rng: np.random.Generator, lengths: Floats) -> Ints:
        rate = 1.0 if np.isinf(self.kappa) else rng.gamma(self.kappa, 1 / self.kappa, lengths.shape)
        return np.asarray(rng.poisson(self.mu * lengths * rate), np.int64)


@dataclass(frozen=True)
class Binomial(CountDistribution):
    """p: probability of the word at each place of the text.

    >>> float(Binomial(p=0.25).pmf(0, 2))
    0.5625
    """

    family: ClassVar[int] = 2
    bounded: ClassVar[bool] = True
    p: float

    def __post_init__(self) -> None:
        _check("p", self.p, 0.0, 1.0)

    def _native(self) -> tuple[float, float, float]:
        return float(self.p), 0.0, 0.0

    def _below(self, x: Floats, lengths: Floats) -> Floats:
        return np.asarray(
            np.where(x >= lengths, 1.0, special.bdtr(np.minimum(x, lengths), lengths.astype(np.int64), self.p))
        )

    def _above(self, x: Floats, lengths: Floats) -> Floats:
        return np.asarray(
            np.where(x >= lengths, 0.0, special.bdtrc(np.minimum(x, lengths), lengths.astype(np.int64), self.p))
        )

    def _moments(self, lengths: Floats) -> tuple[Floats, Floats]:
        return np.asarray(lengths * self.p), np.asarray(lengths * self.p * (1 - self.p))

    def _draw(self, rng: np.random.Generator, lengths: Floats) -> Ints:
        return np.asarray(rng.binomial(lengths.astype(np.int64), self.p), np.int64)


@dataclass(frozen=True)
class Bernoulli(Binomial):
    """p: probability that a text has the word at all. Counts and exposures above 1 count as 1.

    >>> Bernoulli(p=0.25).pmf([0, 1, 7, 0], [50, 1, 50, 0]).tolist()
    [0.75, 0.25, 0.25, 1.0]
    """

    def _checked(self, x: ArrayLike, exposure: ArrayLike | None) -> tuple[Floats, Floats]:
        counts, lengths = super()._checked(x, exposure)
        return np.minimum(counts, 1.0), lengths

    def _lengths(self, exposure: ArrayLike | None) -> Floats:
        return np.minimum(super()._lengths(1 if exposure is None else exposure), 1.0)


@dataclass(frozen=True)
class BetaBinomial(CountDistribution):
    """p: mean probability of the word; gamma: how much it varies between texts, 0 for the binomial.

    >>> BetaBinomial.from_shapes(1.0, 3.0)
    BetaBinomial(p=0.25, gamma=0.2)
    """

    family: ClassVar[int] = 3
    bounded: ClassVar[bool] = True
    p: float
    gamma: float

    def __post_init__(self) -> None:
        _check("p", self.p, 0.0, 1.0)
        _check("gamma", self.gamma, -1.0, np.nextafter(1.0, 0.0))

    @classmethod
    def from_shapes(cls, alpha: float, beta: float) -> BetaBinomial:
        """Return the distribution with the parameters alpha and beta of the beta distribution.

        >>> BetaBinomial.from_shapes(1.0, 1.0).pmf([0, 1, 2, 3], 3).tolist()
        [0.25, 0.25, 0.25, 0.25]
        """
        _check("alpha", alpha, 0.0, 1e300, open_low=True)
        _check("beta", beta, 0.0, 1e300, open_low=True)
        return cls(alpha / (alpha + beta), 1 / (alpha + beta + 1))

    @property
    def shapes(self) -> tuple[float, float]:
        """alpha and beta of the beta distribution, infinite for gamma = 0.

        >>> [round(shape, 9) for shape in BetaBinomial(p=0.1, gamma=0.05).shapes]
        [1.9, 17.1]
        """
        if self.gamma == 0:
            return np.inf, np.inf
        odds = (1 - self.gamma) / self.gamma
        return self.p * odds, (1 - self.p) * odds

    def _native(self) -> tuple[float, float, float]:
        return float(self.p), float(self.gamma), 0.0

    def _below(self, x: Floats, lengths: Floats) -> Floats:
        return self._summed(x, lengths, below=True)

    def _above(self, x: Floats, lengths: Floats) -> Floats:
        return self._summed(x, lengths, below=False)

    def _summed(self, x: Floats, lengths: Floats, *, below: bool) -> Floats:
        """Sums of probabilities, for each length once."""
        out = np.empty(x.shape)
        for length in np.unique(lengths):
            own = lengths == length
            masses = self._masses(length)
            places = np.minimum(x[own], length).astype(np.intp)
            if below:
                out[own] = np.minimum(np.cumsum(masses), 1.0)[places]
            else:
                out[own] = np.append(np.cumsum(masses[::-1])[::-1], 0.0)[places + 1]
        return out

    def _masses(self, length: float) -> Floats:
        """P(0), ..., P(length), by P(x + 1) / P(x) = (n - x) / (x + 1) (p + x t) / (1 - p + (n - x - 1) t)."""
        if not (0 < self.p < 1 and self.gamma >= 0):
            return self.pmf(np.arange(length + 1), length)
        t, x = self.gamma / (1 - self.gamma), np.arange(length)
        ratios = (length - x) / (x + 1) * (self.p + x * t) / (1 - self.p + (length - x - 1) * t)
        return np.asarray(np.exp(self.logpmf(0, length) + np.append(0.0, np.cumsum(np.log(ratios)))))

    def _moments(self, lengths: Floats) -> tuple[Floats, Floats]:
        m = np.asarray(lengths * self.p)
        return m, np.asarray(m * (1 - self.p) * (1 + np.maximum(lengths - 1, 0) * self.gamma))

    def _draw(self, rng: np.random.Generator, lengths: Floats) -> Ints:
        if self.gamma < 0:
            raise DataError(f"gamma is {self.gamma}; a beta-binomial with gamma < 0 cannot be drawn from")
        chance = np.full(lengths.shape, self.p)
        if self.gamma > 0 and 0 < self.p < 1:
            chance = np.nan_to_num(rng.beta(*self.shapes, lengths.shape), nan=self.p)
        return np.asarray(rng.binomial(lengths.astype(np.int64), chance), np.int64)


@dataclass(frozen=True)
class ZeroInflated(CountDistribution):
    """Another distribution with more zeros: with probability z the count is 0, whatever the text.

    z below 0 takes zeros away; it must leave the probability of a zero at 0 or above.

    >>> ZeroInflated(Binomial(p=0.02), z=0.3).pmf([0, 1, 2], 100).round(7).tolist()
    [0.3928337, 0.1894565, 0.1913897]
    """

    base: CountDistribution
    z: float

    def __post_init__(self) -> None:
        if isinstance(self.base, ZeroInflated):
            raise DataError("a zero-inflated distribution cannot be inflated again; change its z")
        _check("z", self.z, -1e300, 1.0)

    @property
    def family(self) -> int:  # type: ignore[override]
        """That of the distribution inside."""
        return self.base.family

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        """That of the distribution inside."""
        return self.base.bounded

    @property
    def parameters(self) -> dict[str, float]:
        """Parameters by name, z last.

        >>> list(ZeroInflated(NegativeBinomial(mu=1.0, kappa=2.0), z=0.5).parameters)
        ['mu', 'kappa', 'z']
        """
        return {**self.base.parameters, "z": float(self.z)}

    def _checked(self, x: ArrayLike, exposure: ArrayLike | None) -> tuple[Floats, Floats]:
        counts, lengths = self.base._checked(x, exposure)
        self._check_deflation(lengths)
        return counts, lengths

    def _lengths(self, exposure: ArrayLike | None) -> Floats:
        lengths = self.base._lengths(exposure)
        self._check_deflation(lengths)
        return lengths

    def _check_deflation(self, lengths: Floats) -> None:
        if self.z < 0:
            zero = self.base.pmf(0, lengths.max(initial=0.0)) if self.base.bounded else self.base.pmf(0, lengths).min()
            if self.z + (1 - self.z) * float(zero) < -1e-15:
                least = -float(zero) / (1 - float(zero))
                raise DataError(f"z is {self.z}, but zeros are so rare that it must be at least {least:.6g}")

    def _native(self) -> tuple[float, float, float]:
        first, second, _ = self.base._native()
        return first, second, float(self.z)

    def _below(self, x: Floats, lengths: Floats) -> Floats:
        return np.asarray(self.z + (1 - self.z) * self.base._below(x, lengths))

    def _above(self, x: Floats, lengths: Floats) -> Floats:
        return np.asarray((1 - self.z) * self.base._above(x, lengths))

    def _moments(self, lengths: Floats) -> tuple[Floats, Floats]:
        m, v = self.base._moments(lengths)
        return np.asarray((1 - self.z) * m), np.asarray((1 - self.z) * v + self.z * (1 - self.z) * m * m)

    def _draw(self, rng: np.random.Generator, lengths: Floats) -> Ints:
        if self.z < 0:
            raise DataError(f"z is {self.z}; a distribution with fewer zeros cannot be drawn from")
        there = rng.random(lengths.shape) >= self.z
        return np.where(there, self.base._draw(rng, lengths), 0)

    def with_z(self, z: float) -> ZeroInflated:
        """Return the same with another z.

        >>> ZeroInflated(Poisson(mu=1.0), z=0.5).with_z(0.0).z
        0.0
        """
        return replace(self, z=z)


def distribution_of(kind: str, first: float, second: float, z: float) -> Any:
    """The distribution of a kind, such as "zibinom", with parameters as the kernels give them.

    >>> distribution_of("zinegbinom", 1.5, 0.9, 0.6)
    ZeroInflated(base=NegativeBinomial(mu=1.5, kappa=0.9), z=0.6)
    """
    inner: CountDistribution
    base = kind.removeprefix("zi")
    if base == "poisson":
        inner = Poisson(first)
    elif base == "negbinom":
        inner = NegativeBinomial(first, second)
    elif base == "betabinom":
        inner = BetaBinomial(first, second)
    else:
        inner = Bernoulli(first) if base == "bernoulli" else Binomial(first)
    return ZeroInflated(inner, z) if kind.startswith("zi") else inner
