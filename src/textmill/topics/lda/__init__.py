"""Latent Dirichlet allocation: the model, its engines and what they share.

model         the estimator
learning      the loop of variational Bayes, online and batch
variational   the E step on a chunk, sums of chunks, the bound
schedule      how much of an update is new
sampling      learning from all documents at once
gibbs         sampling the topics of tokens, collapsed and not
cvb0          the same expression without sampling
priors        alpha and eta, given or learnt
weighting     tokens that count more or less than one
perplexity    how well documents are predicted
evidence      the probability of documents, from left to right
convergence   how training went
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.topics.lda.model import LDA

__all__ = ["LDA"]

__getattr__, __dir__ = deferred(__name__, {"model": "LDA"})
