"""How the parameters of a transfer are learned: chains of draws, or the ascent of an objective.

    gibbs         T ~ p(T | S, Xi, Lam), exactly;  Xi ~ Dirichlet(prior + counts);  in the full model Lam likewise
    collapsed     Xi and Lam integrated out, one sentence after the other
    em            Xi from expected counts, to a maximum of the posterior
    variational   the same with exp E log, to a maximum of a lower bound

Cost: one visit per choice of the forests in every iteration, on all threads. References: Jansche (2005), Treebank
transfer; Tanner & Wong (1987), The calculation of posterior distributions by data augmentation.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from textmill._native import trees as native
from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.model import effective_jobs
from textmill.progress import track
from textmill.tasks.transfer.rows import Rows, generator_of
from textmill.trees import WovenForests

__all__ = ["Checkpoint", "Learned", "Schedule", "ascend", "run_chains"]

_KEPT = 100  # draws of a chain that are kept at most, unless it is said how many
_SHARE = 1 << 20


@dataclass(frozen=True)
class Schedule:
    """How long to run, and from where."""

    method: str
    n_chains: int
    max_iter: int
    burn_in: int
    thin: int | None  # one draw is kept of so many iterations
    tolerance: float
    seed: int
    n_jobs: int | None


@dataclass(frozen=True)
class Learned:
    """Means (em: the maximum) of parameters and events, draws (chain, draw, entry), counts of rows, and the trace."""

    parameters: Floats
    weights: Floats
    draws: Floats
    event_draws: Floats
    row_counts: Floats
    trace: Floats
    converged: bool = False


def run_chains(woven: WovenForests, rows: Rows, events: Rows | Floats, plan: Schedule, saved: Checkpoint) -> Learned:
    """Run the chains of methods gibbs and collapsed, from a checkpoint if there is one."""
    n, n_parameters = plan.max_iter, len(rows.row)
    every = -(-(n - plan.burn_in) // _KEPT) if plan.thin is None else plan.thin
    shape = (plan.n_chains, len(range(plan.burn_in, n, every)))
    kept_events = shape if isinstance(events, Rows) else (plan.n_chains, 0)
    arrays = {
        "draws": np.zeros((*shape, n_parameters)),
        "event_draws": np.zeros((*kept_events, woven.n_events)),
        "trace": np.zeros((plan.n_chains, n)),
        "counts": np.zeros(n_parameters),
        "xi": np.zeros((plan.n_chains, n_parameters)),
        "lam": np.zeros((plan.n_chains, woven.n_events)),
        "means": np.zeros(n_parameters),
        "event_means": np.zeros(woven.n_events),
    }
    xi, lam, trace = arrays["xi"], arrays["lam"], arrays["trace"]
    first = saved.restore(arrays)
    if first == 0:
        for c in range(plan.n_chains):
            rng = generator_of(plan.seed, c, 0)
            xi[c] = rows.draw(np.zeros(n_parameters), rng)
            lam[c] = events.draw(np.zeros(woven.n_events), rng) if isinstance(events, Rows) else events
    collapsed = plan.method == "collapsed"
    chains = [_collapsed(woven, rows, events) for _ in range(plan.n_chains)] if collapsed else []
    for iteration in track(range(first, n), "sampling", unit="iterations"):
        for c in range(plan.n_chains):
            rng, seed = generator_of(plan.seed, c, iteration + 1), plan.seed + c * _SHARE
            if collapsed:
                chains[c].scan(seed, iteration)
                used, seen = chains[c].counts()
            else:
                drawn = woven.sample(
                    xi[c], lam[c], random_state=seed, iteration=iteration, trees=False, n_jobs=plan.n_jobs
                )
                used, seen = drawn.parameter_counts, drawn.event_counts
                trace[c, iteration] = drawn.log_z.sum()
            xi[c] = rows.draw(used, rng)
            if isinstance(events, Rows):
                lam[c] = events.draw(seen, rng)
            if collapsed:
                trace[c, iteration] = woven.native.expect(xi[c], lam[c], effective_jobs(plan.n_jobs))[0].sum()
            if iteration >= plan.burn_in:
                arrays["counts"] += used
                arrays["means"] += rows.mean(used)  # means given the trees vary less than draws
                arrays["event_means"] += events.mean(seen) if isinstance(events, Rows) else events
                if (iteration - plan.burn_in) % every == 0:
                    arrays["draws"][c, (iteration - plan.burn_in) // every] = xi[c]
                    if isinstance(events, Rows):
                        arrays["event_draws"][c, (iteration - plan.burn_in) // every] = lam[c]
        saved.write(arrays, iteration + 1)
    size = plan.n_chains * (n - plan.burn_in)
    return Learned(
        arrays["means"] / size,
        arrays["event_means"] / size,
        arrays["draws"],
        arrays["event_draws"],
        rows.totals(arrays["counts"] / size),
        trace,
    )


def ascend(woven: WovenForests, rows: Rows, events: Rows | Floats, plan: Schedule) -> Learned:
    """EM or variational inference, until the objective stays as it is."""
    variational = plan.method == "variational"
    used = generator_of(plan.seed, 0, 0).random(len(rows.row))  # even rows would stay even
    seen = np.zeros(woven.n_events)
    trace: list[float] = []
    converged = False
    for _ in track(range(plan.max_iter), "iterations", unit="iterations"):
        if variational:
            xi, lam = rows.geometric(used), events.geometric(seen) if isinstance(events, Rows) else events
        else:
            xi, lam = rows.maximum(used), events.mean(seen) if isinstance(events, Rows) else events
        log_z, next_used, next_seen = woven.expect(xi, lam, plan.n_jobs)
        value = float(log_z.sum())
        if variational:
            value -= rows.divergence(used) + (events.divergence(seen) if isinstance(events, Rows) else 0.0)
        else:
            value += rows.log_prior(xi)
        used, seen = next_used, next_seen
        trace.append(value)
        if len(trace) > 2 and abs(trace[-1] - trace[-2]) <= plan.tolerance * abs(trace[-1]):
            converged = True
            break
    return Learned(
        rows.mean(used) if variational else rows.maximum(used),
        events.mean(seen) if isinstance(events, Rows) else np.asarray(events),
        np.zeros((1, 0, len(used))),
        np.zeros((1, 0, woven.n_events)),
        rows.totals(used),
        np.array([trace]),
        converged,
    )


class Checkpoint:
    """The state of Gibbs chains in a file, written ten times in a run, and read if it is there."""

    def __init__(self, path: Any, model: Any, woven: WovenForests) -> None:
        self._path = None if path is None else Path(path)
        facts = (model.get_params(deep=False) | {"n_jobs": None}, len(woven.forests), woven.n_events)
        self._facts = np.frombuffer(repr(facts).encode(), np.uint8)
        self._every = max(model.max_iter // 10, 1)
        if self._path is not None and model.method != "gibbs":
            raise DataError("only chains of method 'gibbs' have checkpoints; leave checkpoint out")

    def restore(self, arrays: dict[str, Floats]) -> int:
        """Fill arrays from the file; returns how many iterations are done."""
        if self._path is None or not self._path.exists():
            return 0
        with np.load(self._path, allow_pickle=False) as stored:
            if not np.array_equal(stored["facts"], self._facts):
                raise DataError(f"{self._path}: a checkpoint of another run; remove the file, or name another")
            for name, array in arrays.items():
                array[...] = stored[name]
            return int(stored["iteration"])

    def write(self, arrays: dict[str, Floats], iteration: int) -> None:
        """Write the arrays if it is time."""
        if self._path is None or iteration % self._every:
            return
        part = self._path.with_name(self._path.name + ".part")
        with part.open("wb") as out:
            np.savez(out, facts=self._facts, iteration=np.array(iteration), **arrays)  # type: ignore[arg-type]
        part.replace(self._path)


def _collapsed(woven: WovenForests, rows: Rows, events: Rows | Floats) -> Any:
    totals = rows.totals(rows.alpha) + rows.rest
    if isinstance(events, Rows):
        event_totals = events.totals(events.alpha) + events.rest
        return native.CollapsedChain(woven.native, rows.row, rows.alpha, totals, events.row, events.alpha, event_totals)
    fixed = np.full(woven.n_events, -1, np.int32)
    return native.CollapsedChain(woven.native, rows.row, rows.alpha, totals, fixed, np.asarray(events), np.zeros(0))
