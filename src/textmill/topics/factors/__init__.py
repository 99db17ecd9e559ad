"""Factors of a documents x terms matrix: NMF, PLSA, PCA and the multinomial mixture.

nmf           non-negative factors, Euclidean and Kullback-Leibler
plsa          probabilistic latent semantic analysis
pca           principal components, centered without being made dense
mixture       documents of one topic each
em            documents as mixtures of topics, by EM: folding in and learning
nonnegative   how NMF and PLSA learn, at once or from a stream
starts        where they start
rows          the rows of a matrix, in this process or on a cluster
krylov        singular vectors of anything that can be multiplied
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.topics.factors.mixture import MultinomialMixture
    from textmill.topics.factors.nmf import NMF
    from textmill.topics.factors.pca import PCA
    from textmill.topics.factors.plsa import PLSA

__all__ = ["NMF", "PCA", "PLSA", "MultinomialMixture"]

__getattr__, __dir__ = deferred(__name__, {"mixture": "MultinomialMixture", "nmf": "NMF", "pca": "PCA", "plsa": "PLSA"})
