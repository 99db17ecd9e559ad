"""Linear-chain conditional random fields with very many features.

    p(y | x) = exp(score(x, y)) / Z(x)
    score(x, y) = sum_t [ sum_{u true at t} mu[u, y_t] + sum_{b true at t, t >= 1} lambda[b, y_{t-1}, y_t] ]
    minimize  sum_i w_i (-log p(y^i | x^i)) + l1 ||theta||_1 + l2 / 2 ||theta||^2

The penalties are sums, not means: they do not scale with the number of sequences. With an L1 penalty almost all
weights are zero and only the others are stored. Cost an iteration: one recursion over every distinct beginning and end
of a sequence (how it works: docs/how/crf.md). The same model for any number of threads.
References: Lafferty, McCallum & Pereira (2001); Lavergne, Cappe & Yvon (2010).
"""

from __future__ import annotations

from typing import ClassVar

from textmill.cluster import Cluster
from textmill.sequence.encoding import Encoded
from textmill.sequence.trainable import TrainableChain
from textmill.sequence.training.objective import ChainObjective

__all__ = ["CRF"]


class CRF(TrainableChain):
    """A linear-chain CRF.

    Parameters:
        patterns: Text of a pattern file or list of patterns; None for tokens with attributes of their own.
        encoder: `Encoder` instead, for another syntax, rare tests or hashing: `Encoder(patterns=..., min_count=2)`.
        start_label: Whether bigram tests are true at first tokens, after a label of their own.
        features: "all" (every test with every label) or "seen" (only with the labels that it has in the training data,
            as CRFsuite; owlqn, lbfgs, rprop).
        algorithm: "owlqn", "lbfgs", "sgd_l1", "sgd_l2", "bcd", "rprop", "perceptron", or an
            object with settings of its own: `OWLQN(memory=10)`, `SGDL1(eta0=0.2)`; see training/algorithms.py.
        l1: L1 penalty; None for 0.5, or for 0 where the algorithm has no L1 penalty.
        l2: L2 penalty; None for 1e-5, or for 1 where there is no L1 penalty.
        max_iter: Largest number of iterations; None for 200, or for 30 epochs or sweeps.
        tolerance: Relative change of the objective that ends a run; None for 1e-4.
        fine_tune: Number of iterations of L-BFGS on the weights that are not zero, with L2 in the place of L1.
        compact: Whether to drop tests without weights.
        dtype: Type of the weights, "float64" or "float32".
        stages: Patterns added while training, as (number of iterations before, patterns, for each the number of a
            parent pattern or None); a test of a pattern with a parent is added only where the parent's test has a
            weight.
        n_jobs: Number of threads; None for all cores.
        random_state: Seed of the random numbers.

    Attributes:
        classes_: Labels, (Y,).
        encoder_: Fitted encoder.
        features_: Numbers of the weights that are not zero.
        weights_: These weights.
        pattern_counts_: Mapping for every pattern, see counts.py.
        n_iter_: Number of iterations.
        converged_: Whether the tolerance was reached.
        stop_reason_: Why training ended, in words.
        objective_: Objective at the end.
        trace_: Objective after each iteration.
        training_log_: Mapping for every iteration; not saved.

    >>> X = [[("the",), ("dog",), ("barks",)], [("a",), ("cat",), ("sleeps",)]]
    >>> crf = CRF(patterns=["b", "u:%x[0,0]"], l1=0.1).fit(X, [["D", "N", "V"], ["D", "N", "V"]])
    >>> crf.predict([[("the",), ("cat",), ("barks",)]])
    [['D', 'N', 'V']]
    """

    kind: ClassVar[str] = "crf"
    normalized: ClassVar[bool] = False

    def objective(self, data: Encoded, *, cluster: Cluster | None = None) -> ChainObjective:
        """Minus the log-likelihood of whole sequences, with penalties: what `fit` minimizes."""
        return ChainObjective(self._layout(), data, cluster=cluster, **self._terms(data))
