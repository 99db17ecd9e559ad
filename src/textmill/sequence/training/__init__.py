"""Training of chain models.

objective    value and gradient over sequences, on one machine or many
batch        L-BFGS, OWL-QN on a working set, RPROP
"""

from textmill.sequence.training.objective import ChainObjective

__all__ = ["ChainObjective"]
