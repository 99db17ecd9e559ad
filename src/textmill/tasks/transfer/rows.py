"""Multinomials in rows: draws, means and expected logarithms given counts.

    dirichlet   row ~ Dirichlet(prior + counts)
    sticks      x_i ~ Beta(prior + n_i, prior + n_{i+1} + ... + n_m),  p_i = x_i (1 - x_1) ... (1 - x_{i-1})

Independent Beta(1, 1) sticks are not the uniform Dirichlet: they put half of the mass on the first order. Draws are in
logarithms, so that no prior count is too small. Reference: Jansche (2005), Treebank transfer, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, digamma, gammaln

from textmill.arrays import Floats, Ids, Ints

__all__ = ["Rows", "generator_of"]


def generator_of(seed: int, chain: int, iteration: int) -> np.random.Generator:
    """Random numbers of one iteration of one chain, whatever ran before."""
    return np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), (chain << 40) + iteration]))


@dataclass(frozen=True)
class Rows:
    """Entries in rows with prior counts; `rest` is the prior count of a row's entries that are not listed.

    >>> rows = Rows.even(np.array([0, 0, 1, 1], np.int32), 1.0)
    >>> rows.mean(np.array([3.0, 0.0, 0.0, 0.0])).tolist()
    [0.8, 0.2, 0.5, 0.5]
    """

    row: Ids
    alpha: Floats
    rest: Floats
    sticks: bool = False

    @classmethod
    def even(cls, row: Ids, prior: float, *, sticks: bool = False) -> Rows:
        """Rows whose entries all have the same prior count."""
        n_rows = int(row.max(initial=-1)) + 1
        return cls(row, np.full(len(row), float(prior)), np.zeros(n_rows), sticks)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rest)

    def totals(self, values: Floats) -> Floats:
        """Sums of rows."""
        sums: Floats = np.bincount(self.row, values, minlength=self.n_rows).astype(np.float64)
        return sums

    def draw(self, counts: Floats, random_state: np.random.Generator) -> Floats:
        """One draw of all rows given counts."""
        if self.sticks:
            return self._draw_sticks(counts, random_state)
        shapes = np.concatenate([self.alpha + counts, self.rest])
        with np.errstate(divide="ignore"):
            logs = (
                np.log(random_state.standard_gamma(shapes + 1.0))
                + np.log(1.0 - random_state.random(len(shapes))) / shapes
            )
        logs[shapes == 0] = -np.inf
        logs, rest = logs[: len(counts)], logs[len(counts) :]
        most = np.maximum(_largest(self.row, logs, self.n_rows), rest)
        values = np.exp(logs - most[self.row])
        return np.asarray(values / (self.totals(values) + np.exp(rest - most))[self.row])

    def mean(self, counts: Floats) -> Floats:
        """Posterior means."""
        if self.sticks:
            first, later = self._sticks(counts)
            x = first / (first + later)
            return self._broken(x, 1.0 - x)
        own = self.alpha + counts
        return np.asarray(own / (self.totals(own) + self.rest)[self.row])

    def prior_deviation(self) -> Floats:
        """Standard deviations of entries under the prior."""
        if self.sticks:
            first, later = self._sticks(np.zeros(len(self.row)))
            total = first + later
            first_squared = first * (first + 1.0) / (total * (total + 1.0))
            later_squared = later * (later + 1.0) / (total * (total + 1.0))
            own = self._broken(np.where(later > 0, first_squared, 1.0), later_squared)
            return np.asarray(np.sqrt(np.maximum(own - self.mean(np.zeros(len(self.row))) ** 2, 0.0)))
        total = (self.totals(self.alpha) + self.rest)[self.row]
        share = self.alpha / total
        return np.asarray(np.sqrt(share * (1.0 - share) / (total + 1.0)))

    def geometric(self, counts: Floats) -> Floats:
        """exp E log p, the weights of variational inference."""
        if self.sticks:
            first, later = self._sticks(counts)
            both, broken = digamma(first + later), later > 0
            x = np.where(broken, np.exp(digamma(first) - both), 1.0)
            return self._broken(x, np.where(broken, np.exp(digamma(np.where(broken, later, 1.0)) - both), 0.0))
        own = self.alpha + counts
        return np.asarray(np.exp(digamma(own) - digamma(self.totals(own) + self.rest)[self.row]))

    def divergence(self, counts: Floats) -> float:
        """KL of the posterior with these counts from the prior."""
        if self.sticks:
            first, later = self._sticks(counts)
            broken = later > 0
            a, b, prior = first[broken], later[broken], self.alpha[broken]
            gains = (a - prior) * (digamma(a) - digamma(a + b)) + (b - prior) * (digamma(b) - digamma(a + b))
            return float((gains + betaln(prior, prior) - betaln(a, b)).sum())
        after, before = self.alpha + counts, self.alpha
        total, prior = self.totals(after) + self.rest, self.totals(before) + self.rest
        log_ratio = gammaln(total).sum() - gammaln(prior).sum() - gammaln(after).sum() + gammaln(before).sum()
        return float(log_ratio + (counts * (digamma(after) - digamma(total)[self.row])).sum())

    def maximum(self, counts: Floats) -> Floats:
        """The most probable rows given counts; where any is as probable as another, the mean."""
        if self.sticks:
            first, later = (np.maximum(part - 1.0, 0.0) for part in self._sticks(counts))
            total = first + later
            x = np.where(total > 0, first / np.where(total > 0, total, 1.0), 0.5)
            x[self._ends()] = 1.0
            return self._broken(x, 1.0 - x)
        own = np.maximum(counts + self.alpha - 1.0, 0.0)
        total = self.totals(own)
        even = 1.0 / np.bincount(self.row, minlength=self.n_rows)
        safe = np.where(total > 0, total, 1.0)
        return np.asarray(np.where(total[self.row] > 0, own / safe[self.row], even[self.row]))

    def log_prior(self, values: Floats) -> float:
        """The log density of rows under the prior, up to a constant: what the most probable rows are judged by."""
        if self.sticks:
            x = self.stick_shares(values)
            inner = np.setdiff1d(np.arange(len(x)), self._ends())
            logs = np.log(np.maximum(x[inner], 1e-300)) + np.log(np.maximum(1.0 - x[inner], 1e-300))
            return float(((self.alpha[inner] - 1.0) * logs).sum())
        return float((np.log(np.maximum(values, 1e-300)) * (self.alpha - 1.0)).sum())

    def stick_shares(self, values: Floats) -> Floats:
        """Each entry as a share of what the entries before it in its row have left; values may have axes before.

        >>> Rows.even(np.zeros(3, np.int32), 1.0).stick_shares(np.array([0.5, 0.25, 0.25])).tolist()
        [0.5, 0.5, 1.0]
        """
        starts = np.append(0, self._ends()[:-1] + 1) if len(self.row) else np.zeros(0, np.int64)
        sums = np.cumsum(values, axis=-1)
        before = (sums - values) - np.repeat(
            (sums - values)[..., starts], np.bincount(self.row, minlength=self.n_rows), axis=-1
        )
        left = 1.0 - before
        shares = np.where(left > 1e-300, values / np.where(left > 1e-300, left, 1.0), 1.0)
        shares[..., self._ends()] = 1.0
        return np.asarray(np.clip(shares, 0.0, 1.0))

    def _ends(self) -> Ints:
        """The last entry of each row; entries of a row stand together."""
        return np.flatnonzero(np.append(np.diff(self.row) != 0, True)) if len(self.row) else np.zeros(0, np.int64)

    def _sticks(self, counts: Floats) -> tuple[Floats, Floats]:
        """Both parameters of each stick's Beta; the last of a row is 1."""
        ends, sums = self._ends(), np.cumsum(counts)
        later = sums[ends][self.row] - sums + self.alpha
        later[ends] = 0.0
        return self.alpha + counts, later

    def _draw_sticks(self, counts: Floats, rng: np.random.Generator) -> Floats:
        first, later = self._sticks(counts)
        x = np.ones(len(counts))
        x[later > 0] = rng.beta(first[later > 0], later[later > 0])
        return self._broken(x, 1.0 - x)

    def _broken(self, x: Floats, left: Floats) -> Floats:
        out, before, last = np.empty(len(x)), 1.0, -1
        for at, row in enumerate(self.row.tolist()):
            before = 1.0 if row != last else before
            out[at], before, last = x[at] * before, before * left[at], row
        return out


def _largest(row: Ids, values: Floats, n_rows: int) -> Floats:
    most = np.full(n_rows, -np.inf)
    np.maximum.at(most, row, values)
    return most
