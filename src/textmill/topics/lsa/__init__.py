"""Latent Semantic Analysis: the model, its passes over a stream, and what it is compared with.

model       the estimator
passes      steps over the chunks of a job, whose results add
basecase    the decomposition of a chunk
merging     the decomposition of two decompositions
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.topics.lsa.model import LSA

__all__ = ["LSA"]

__getattr__, __dir__ = deferred(__name__, {"model": "LSA"})
