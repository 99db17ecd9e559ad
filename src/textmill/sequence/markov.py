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
    """A conditional Markov model; parameters, attributes and methods are those of `CRF`, but there is no bcd.

    >>> X = [[("the",), ("dog",)], [("a",), ("cat",)]]
    >>> model = ConditionalMarkov(patterns=["b", "u:%x[0,0]"], l1=0.1).fit(X, [["D", "N"], ["D", "N"]])
    >>> model.predict([[("the",), ("cat",)]])
    [['D', 'N']]
    """

    kind: ClassVar[str] = "memm"
    normalized: ClassVar[bool] = True

    def objective(self, data: Encoded, *, cluster: Cluster | None = None) -> ChainObjective:
        """Minus the log-likelihood of every label after the one before it, with penalties: what `fit` minimises."""
        return ChainObjective(self._layout(), data, cluster=cluster, normalized=True, **self._terms(data))
