"""Latent Dirichlet allocation: the model, its engines and what they share.

model         the estimator
statistics    what is learned: counts of words in topics, and priors
engines       what the engines share
learning      Online, Batch: the loop of variational Bayes
variational   the E step on a chunk, sums of chunks, the bound
schedule      how much of an update is new
sampling      Gibbs, CVB0: learning from all documents at once
gibbs         sampling the topics of tokens, collapsed and not
cvb0          the same expression without sampling
priors        alpha and eta, given or learned
weighting     tokens that count more or less than one
perplexity    how well documents are predicted
evidence      the probability of documents, from left to right
convergence   how training went
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.topics.lda.learning import Batch, Online
    from textmill.topics.lda.model import LDA
    from textmill.topics.lda.sampling import CVB0, Gibbs
    from textmill.topics.lda.statistics import Statistics

__all__ = ["CVB0", "LDA", "Batch", "Gibbs", "Online", "Statistics"]

__getattr__, __dir__ = deferred(
    __name__, {"learning": "Batch Online", "model": "LDA", "sampling": "CVB0 Gibbs", "statistics": "Statistics"}
)
