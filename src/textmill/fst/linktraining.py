"""How the probabilities of links are learned from pairs: EM, hard EM, restarts.

    E step    c(u:v): expected counts over all alignments, or counts in best alignments
    M step    d(u:v) = c'(u:v) / sum c',   c' = c + pseudo-counts
    stop      when the objective, ln p of all pairs + sum of pseudo-counts times ln d, gains less than
              tolerance times its size

Counts below 1e-100 become 0: no alignment would miss such a link, and numbers that small are slow. Ctrl-C ends
training after the iteration at work. Cost: a visit of all pairs an iteration. Reference: Dempster, Laird & Rubin
(1977), Maximum likelihood from incomplete data via the EM algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from textmill._native import fst as native
from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.fst.links import best_links, expected_links, path_sums
from textmill.fst.stringpairs import EncodedPairs
from textmill.progress import interruptible, start

__all__ = ["METHODS", "Trainer", "Training"]


METHODS = ("em", "viterbi", "em+viterbi")
_NOTHING = 1e-100


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """The result of a run: probabilities of links, their counts, the log-likelihood before every iteration."""

    probability: Floats
    counts: Floats
    trace: Floats
    objective: float
    converged: bool


@dataclass(frozen=True, slots=True, eq=False)
class Trainer:
    """Learns from pairs: `weight` says how often each counts, `pseudo` what is added to the count of each link; links
    of one of the `groups` (all of them, if there are none) have probabilities with the sum 1; `order` breaks ties."""

    links: native.Links
    pairs: EncodedPairs
    weight: Floats | None
    pseudo: Floats
    groups: Ints | None
    order: Sequence[int]
    method: str
    max_iter: int
    tolerance: float
    threads: int

    def run(self, begin: Floats, restarts: int, seed: int | None) -> Training:
        """The best run from this start and from random ones over the same links."""
        best = self._best_start(begin, restarts, seed) if restarts else self._train(begin)
        if self.method == "em+viterbi":
            counts = self._count_best(best.probability)[1]
            best = replace(best, probability=self.normalize(counts + self.pseudo), counts=counts)
        return best

    def normalize(self, counts: Floats) -> Floats:
        """Probabilities from counts."""
        counts = np.where(counts < _NOTHING, 0.0, counts)
        groups = np.zeros(len(counts), dtype=np.int64) if self.groups is None else self.groups
        totals = np.bincount(groups, weights=counts)
        if not totals.any():
            raise DataError("there is nothing to learn: no pair has a link; pass pairs with symbols")
        return np.divide(counts, totals[groups], out=np.zeros(len(counts)), where=totals[groups] > 0)

    def expect(self, probability: Floats) -> tuple[Floats, Floats]:
        """ln Z of every pair and expected counts of links."""
        return expected_links(self.links, probability, self.pairs, self.weight, self.threads)

    def _best_start(self, begin: Floats, restarts: int, seed: int | None) -> Training:
        random = np.random.default_rng(seed)
        runs: list[Training] = []
        with (
            start("trying starts", total=restarts + 1, unit="starts") as step,
            interruptible(range(restarts + 1)) as loop,
        ):
            for number in loop:
                drawn = np.where(begin > 0, random.exponential(size=len(begin)), 0.0)
                runs.append(self._train(self.normalize(drawn) if number else begin))
                runs = [max(runs, key=lambda run: run.objective)]  # the first of equal ones
                step.advance(objective=runs[0].objective)
        return runs[0]

    def _count_best(self, probability: Floats) -> tuple[Floats, Floats]:
        """The same for best alignments instead of all."""
        with np.errstate(divide="ignore"):
            logs = np.log(probability)
        scores, counts, first = [], np.zeros(len(self.links)), 0
        for paths, begin, ids in best_links(self.links, logs, self.pairs, self.order, 1, self.threads):
            number = len(paths) - 1
            best = np.full(number, -np.inf)
            best[np.diff(paths) > 0] = path_sums(logs[ids], begin)
            scores.append(best)
            weight = np.ones(number) if self.weight is None else self.weight[first : first + number]
            counts += np.bincount(ids, np.repeat(weight, np.diff(begin[paths])), minlength=len(self.links))
            first += number
        return np.concatenate(scores), counts

    def _train(self, begin: Floats) -> Training:
        """Iterate until the objective hardly rises."""
        count = self._count_best if self.method == "viterbi" else self.expect
        probability, counts = begin, np.zeros(len(begin))
        trace: list[float] = []
        objective, converged = -np.inf, False
        with (
            start("learning links", total=self.max_iter, unit="iterations") as step,
            interruptible(range(self.max_iter)) as loop,
        ):
            for _ in loop:
                before = objective
                log_total, counts = count(probability)
                trace.append(self._sum(log_total))
                objective = trace[-1] + self._penalty(probability)
                probability = self.normalize(counts + self.pseudo)
                step.advance(log_likelihood=trace[-1])
                converged = bool(objective - before <= self.tolerance * abs(objective))
                if converged:
                    break
        return Training(probability, counts, np.array(trace), objective, converged)

    def _sum(self, log_total: Floats) -> float:
        aligned = np.isfinite(log_total)
        weight = 1.0 if self.weight is None else self.weight[aligned]
        return float((weight * log_total[aligned]).sum())

    def _penalty(self, probability: Floats) -> float:
        some = (self.pseudo > 0) & (probability > 0)
        return float((self.pseudo[some] * np.log(probability[some])).sum())
