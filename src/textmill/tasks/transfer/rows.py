"""Multinomials in rows: draws, means and expected logarithms given counts.

    dirichlet   row ~ Dirichlet(prior + counts)
    sticks      x_i ~ Beta(prior + n_i, prior + n_{i+1} + ... + n_m),  p_i = x_i (1 - x_1) ... (1 - x_{i-1})

Independent Beta(1, 1) sticks are not the uniform Dirichlet: they put half of the mass on the first order. Draws are in
logarithms, so that no prior count is too small. Reference: Jansche (2005), Treebank transfer, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln

from textmill.arrays import Floats, Ids

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
        """Standard deviations of entries under a Dirichlet prior."""
        total = (self.totals(self.alpha) + self.rest)[self.row]
        share = self.alpha / total
        return np.asarray(np.sqrt(share * (1.0 - share) / (total + 1.0)))

    def geometric(self, counts: Floats) -> Floats:
        """exp E log p, the weights of variational inference."""
        own = self.alpha + counts
        return np.asarray(np.exp(digamma(own) - digamma(self.totals(own) + self.rest)[self.row]))

    def divergence(self, counts: Floats) -> float:
        """KL of the posterior with these counts from the prior."""
        after, before = self.alpha + counts, self.alpha
        total, prior = self.totals(after) + self.rest, self.totals(before) + self.rest
        log_ratio = gammaln(total).sum() - gammaln(prior).sum() - gammaln(after).sum() + gammaln(before).sum()
        return float(log_ratio + (counts * (digamma(after) - digamma(total)[self.row])).sum())

    def _sticks(self, counts: Floats) -> tuple[Floats, Floats]:
        """Both parameters of each stick's Beta; the last of a row is 1."""
        ends = np.flatnonzero(np.append(np.diff(self.row) != 0, True))
        sums = np.cumsum(counts)
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
