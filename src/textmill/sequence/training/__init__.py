"""Training of chain models.

objective    value and gradient over sequences, on one machine or many
batch        L-BFGS, OWL-QN on a working set, RPROP
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
