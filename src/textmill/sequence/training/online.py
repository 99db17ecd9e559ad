"""Training one sequence at a time: SGD with a cumulative L1 penalty, SGD with L2, averaged perceptron.

The updates are native (native/sequence/online.h has the formulas). Here are the epochs: a random order for each, a
learning rate found by trying, what the caller sees after an epoch, and the state from which a run goes on. `watch` sees
an epoch before `save` keeps it, so a checkpoint never lacks what was measured; an epoch that ends the run is not kept,
and a run that finds the checkpoint before it comes to the same end.

    eta_j = eta0 alpha^(j / N)         SGD with L1        eta_j = eta0 / (1 + eta0 l2 j / N)         SGD with L2

With L1 the rate falls to FALL of the first one over the epochs of the run, however many they are: a run that ends
while its rate is high ends with weights that still jump about. eta0 is calibrated on an eighth of the sequences, from 4
to 300: 0.1 doubled or halved as long as the objective improves after eight passes, over which the rate falls as in the
whole run. The usual four rates so cost as much as four epochs.
References: Tsuruoka, Tsujii & Ananiadou (2009); Bottou (2004); Collins (2002).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill._native import sequence as native
from textmill.arrays import Floats, Ids, Ints
from textmill.errors import DataError
from textmill.optimize import Reason, Stopping, dot
from textmill.progress import interruptible
from textmill.sequence.encoding import Encoded
from textmill.sequence.features import FeatureLayout
from textmill.sequence.training.batch import Result, Snapshot, Watch, nonzero_weights
from textmill.sequence.training.latent import LatentObjective
from textmill.sequence.training.objective import ChainObjective, select_sequences

__all__ = ["FALL", "OnlineState", "calibrated_rate", "train_perceptron", "train_sgd", "training_data"]


SHARE = 8  # of how many sequences one is in the sample on which the learning rate is tried
LEAST_SAMPLE, SAMPLE = 4, 300  # sequences in the sample, at least and at most
FALL = 0.9**30  # the last rate of a run with L1, as a share of the first
PASSES = 8  # over the sample: after a single one a rate that is too small looks best
LEAST_RATE, MOST_RATE = 1e-9, 100.0  # the range in which it is looked for
CALL = 1000  # sequences of one native call: a fraction of a second


@dataclass(slots=True)
class OnlineState:
    """What a run needs to go on: weights, the second vector (penalties received, or updates), decays, counters."""

    w: Floats
    q: Floats
    seen: Floats
    steps: tuple[float, float, float]
    objectives: list[float]
    epoch: int = 0

    @classmethod
    def fresh(cls, layout: FeatureLayout, start: Floats | None, second: bool) -> OnlineState:
        """The state before the first epoch."""
        w = np.zeros(layout.size) if start is None else start
        q = np.zeros(layout.size if second else 0)
        return cls(w, q, np.ones(layout.rows + layout.bigrams), (0.0, 0.0, 1.0), [])

    def average(self) -> Floats:
        """The mean of the perceptron's weights over all its steps; before the first, the weights themselves."""
        return self.w - self.q / self.steps[0] if self.steps[0] else self.w


def training_data(layout: FeatureLayout, data: Encoded, owner: Ids | None = None) -> native.Training:
    """The sequences as the native trainers take them; every label must be known."""
    if data.labels is None or (data.labels < 0).any():
        raise DataError("some labels are not known; use algorithm='owlqn' or 'lbfgs', which sum over them")
    offsets, unigram, bigram = layout.data(data)
    return native.make_training(
        layout.labels, offsets, tuple(unigram), tuple(bigram), observed=data.labels, weights=data.weights, owner=owner
    )


def train_sgd(
    layout: FeatureLayout,
    data: Encoded,
    state: OnlineState,
    *,
    l1: float,
    l2: float,
    eta0: float,
    alpha: float,
    random_state: int,
    stopping: Stopping,
    watch: Watch,
    save: Callable[[OnlineState], None] = lambda state: None,
    owner: Ids | None = None,
) -> Result:
    """Epochs of SGD; alpha 0 takes the rate for L2. Weights are flushed after every epoch."""
    training = training_data(layout, data, owner)
    rates = {"eta0": eta0, "alpha": alpha, "l1": l1, "l2": l2}
    reason: Reason = "iterations"
    finite: tuple[Ints, Floats] | None = None
    with interruptible(range(state.epoch, stopping.max_iter)) as epochs:
        for epoch in epochs:
            order = np.random.default_rng([random_state, epoch]).permutation(data.sequences)
            loss = 0.0
            for begin in range(0, len(order), CALL):
                part, state.steps = training.sgd_steps(
                    order[begin : begin + CALL], state.w, state.q, state.seen, state.steps, **rates
                )
                loss += part
            value = math.nan
            if math.isfinite(loss):
                training.sgd_flush(state.w, state.q, state.seen, state.steps)
                value = loss + l1 * float(np.abs(state.w).sum()) + 0.5 * l2 * dot(state.w, state.w)
            if not math.isfinite(value):
                if finite is None:
                    message = f"the weights grow without limit with eta0={eta0:g}; pass a smaller eta0"
                    raise DataError(message, source="sgd")
                return Result(*finite, "diverged", epoch, epoch, state.objectives)
            state.objectives.append(value)
            finite = nonzero_weights(state.w, None)
            state.epoch = epoch + 1
            if watch(_snapshot(state, state.w)):
                reason = "stopped"
                break
            if stopping.settled(state.objectives):
                reason = "value"
                break
            save(state)
        if epochs.interrupted:
            reason = "interrupted"
    return _result(state, state.w, reason)


def train_perceptron(
    layout: FeatureLayout,
    data: Encoded,
    state: OnlineState,
    *,
    random_state: int,
    stopping: Stopping,
    watch: Watch,
    save: Callable[[OnlineState], None] = lambda state: None,
) -> Result:
    """Epochs of the averaged perceptron; the objective is the number of wrong labels met in the epoch."""
    training = training_data(layout, data)
    reason: Reason = "iterations"
    average = state.average()
    with interruptible(range(state.epoch, stopping.max_iter)) as epochs:
        for epoch in epochs:
            order = np.random.default_rng([random_state, epoch]).permutation(data.sequences)
            wrong, step = 0, state.steps[0]
            for begin in range(0, len(order), CALL):
                part, step = training.perceptron_steps(order[begin : begin + CALL], state.w, state.q, step)
                wrong += part
            state.steps = (step, 0.0, 1.0)
            average = state.average()
            state.objectives.append(float(wrong))
            state.epoch = epoch + 1
            if watch(_snapshot(state, average)):
                reason = "stopped"
                break
            if wrong == 0:
                reason = "value"
                break
            save(state)
        if epochs.interrupted:
            reason = "interrupted"
    return _result(state, average, reason)


def calibrated_rate(
    layout: FeatureLayout,
    data: Encoded,
    *,
    l1: float,
    l2: float,
    fall: float,
    random_state: int,
    n_jobs: int,
    owner: Ids | None = None,
) -> float:
    """The best first learning rate on a sample: doubled or halved from 0.1 while the objective improves.

    `fall` is the last rate of a run as a share of the first, 0 for the rates of L2.
    """
    rng = np.random.default_rng([random_state, 0])
    chosen = np.zeros(data.sequences, bool)
    size = min(SAMPLE, max(LEAST_SAMPLE, data.sequences // SHARE))
    chosen[rng.permutation(data.sequences)[:size]] = True
    sample = select_sequences(data, chosen)
    training = training_data(layout, sample, owner)
    share = sample.sequences / data.sequences  # the penalty that belongs to the sample
    terms: dict[str, Any] = {"l2": l2 * share, "n_jobs": n_jobs}
    objective: ChainObjective
    if owner is None:
        objective = ChainObjective(layout, sample, **terms)
    else:
        objective = LatentObjective(layout, sample, owner, **terms)
    rates = {"alpha": fall ** (1.0 / PASSES), "l1": l1 * share, "l2": l2 * share}

    def after_passes(eta0: float) -> float:
        state = OnlineState.fresh(layout, None, l1 > 0)
        for epoch in range(PASSES):
            order = np.random.default_rng([random_state, epoch]).permutation(sample.sequences)
            loss, state.steps = training.sgd_steps(order, state.w, state.q, state.seen, state.steps, eta0=eta0, **rates)
            if not math.isfinite(loss):
                return math.inf
        training.sgd_flush(state.w, state.q, state.seen, state.steps)
        return objective(state.w)[0] + l1 * share * float(np.abs(state.w).sum())

    best = 0.1
    while not (value := after_passes(best)) < math.inf and best > LEAST_RATE:  # values of tests in the thousands
        best /= 2
    first = best
    for factor in (2.0, 0.5):
        tried = best * factor
        while LEAST_RATE < tried < MOST_RATE and (now := after_passes(tried)) < value:
            best, value, tried = tried, now, tried * factor
        if best != first:
            break
    return best


def _snapshot(state: OnlineState, w: Floats) -> Snapshot:
    return Snapshot(state.epoch, state.objectives[-1], int(np.count_nonzero(w)), w)


def _result(state: OnlineState, w: Floats, reason: Reason) -> Result:
    features = np.flatnonzero(w)
    return Result(features, w[features], reason, state.epoch, state.epoch, state.objectives)
