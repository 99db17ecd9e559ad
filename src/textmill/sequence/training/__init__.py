"""Training of chain models.

objective    value and gradient over sequences, on one machine or many
algorithms   the algorithms with their settings, by name
batch        L-BFGS, OWL-QN on a working set, RPROP
online       one sequence at a time: SGD, averaged perceptron
blocks       block coordinate descent
run          what is measured on the way, early stopping, checkpoints, fine-tuning
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.sequence.training.objective import ChainObjective

__all__ = ["ChainObjective"]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "objective": "ChainObjective",
    },
)
