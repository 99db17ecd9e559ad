"""Conditional Markov models (maximum-entropy Markov models): chains that are normalized label by label.

    p(y | x) = prod_t p(y_t | y_{t-1}, x),      p(y | y', x) = exp(mu_t(y) + lambda_t(y', y)) / N_t(y')
    N_t(y') = sum_z exp(mu_t(z) + lambda_t(y', z))

Trained with the label before as it was given, so every token is a multinomial logistic regression of its own and no
recursion is needed; decoded by Viterbi over the products. Quick to train, but a label with few successors passes its
probability on whatever is observed (label bias), which a CRF does not do.
References: McCallum, Freitag & Pereira (2000); Lafferty, McCallum & Pereira (2001) on label bias.
"""

from __future__ import annotations

from typing import ClassVar

from textmill.cluster import Cluster
from textmill.sequence.encoding import Encoded
from textmill.sequence.trainable import TrainableChain
from textmill.sequence.training.objective import ChainObjective

__all__ = ["ConditionalMarkov"]


class ConditionalMarkov(TrainableChain):
    """A conditional Markov model; attributes and methods are those of `CRF`.

    Parameters:
        patterns: Text of a pattern file or list of patterns; None for tokens with attributes of their own.
        encoder: `Encoder` instead, for another syntax, rare tests or hashing: `Encoder(patterns=..., min_count=2)`.
        start_label: Whether bigram tests are true at first tokens, after a label of their own.
        features: "all" (every test with every label) or "seen" (only with the labels that it has in the training data,
            as CRFsuite; owlqn, lbfgs, rprop).
        algorithm: "owlqn", "lbfgs", "sgd_l1", "sgd_l2", "rprop", "perceptron" (there is no "bcd"), or an
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

    >>> X = [[("the",), ("dog",)], [("a",), ("cat",)]]
    >>> model = ConditionalMarkov(patterns=["b", "u:%x[0,0]"], l1=0.1).fit(X, [["D", "N"], ["D", "N"]])
    >>> model.predict([[("the",), ("cat",)]])
    [['D', 'N']]
    """

    kind: ClassVar[str] = "memm"
    normalized: ClassVar[bool] = True

    def objective(self, data: Encoded, *, cluster: Cluster | None = None) -> ChainObjective:
        """Minus the log-likelihood of every label after the one before it, with penalties: what `fit` minimizes."""
        return ChainObjective(self._layout(), data, cluster=cluster, normalized=True, **self._terms(data))
