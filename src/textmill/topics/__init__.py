"""Topics of a corpus: a few directions that explain many documents.

lsa       Latent Semantic Analysis of streams, on one machine or many
model     what all topic models share: their terms, texts in, topics printed
chunks    any input as a stream of sparse chunks of one size

decomposition, basecase, merging, passes    the parts of LSA
baselines, accuracy                         what it is compared with, and how
formats                                     models of other tools
"""

from textmill.topics.lsa import LSA

__all__ = ["LSA"]
