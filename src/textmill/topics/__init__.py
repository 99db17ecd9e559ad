"""Topics of a corpus: a few directions that explain many documents.

lsa          Latent Semantic Analysis of streams, on one machine or many
lda          latent Dirichlet allocation of streams, by variational Bayes
gibbs        latent Dirichlet allocation by sampling the topics of tokens, collapsed and not
cvb0         the same by collapsed variational inference
evidence     the probability of documents, from left to right
pca          principal components, centred without being made dense
nmf          non-negative factors, Euclidean and Kullback-Leibler
plsa         probabilistic latent semantic analysis
em           documents as mixtures of topics, by EM: folding in and learning
mixture      documents of one topic each: the multinomial mixture
inference    mixtures of new documents by any method, entropies, divergences
quality      coherence, diversity and exclusivity of topics
difference   the topics of two models compared
explain      the words of a text coloured by topic
pictures     topics by distance and over time
factors      what the non-negative models share
clustering   clusters of documents and terms, labelled
map          terms and documents in one plane
projecting   the topics of any number of documents in one file
model        what all topic models share: their terms, texts in, topics printed
chunks       any input as a stream of sparse chunks of one size

variational, schedule, priors, perplexity,
sampling                                    the parts of LDA
decomposition, basecase, merging, passes    the parts of LSA
baselines, accuracy                         what it is compared with, and how
formats, exchange                           models and files of other tools
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.topics.clustering import Cluster, Clusters, cluster_documents, cluster_rows, cluster_terms
    from textmill.topics.cvb0 import collapse_variational
    from textmill.topics.difference import Difference, Drift, topic_difference
    from textmill.topics.em import Mixtures, fold_in
    from textmill.topics.evidence import left_to_right
    from textmill.topics.explain import Explanation, TopicWord, explain_text
    from textmill.topics.gibbs import Sampled, gibbs_mixtures, sample_topics
    from textmill.topics.inference import (
        divergences,
        entropy,
        exponentiated_gradient,
        infer_topics,
        monte_carlo,
        query_likelihood,
    )
    from textmill.topics.lda import LDA
    from textmill.topics.lsa import LSA
    from textmill.topics.map import Plane, draw_map, plane
    from textmill.topics.mixture import MultinomialMixture
    from textmill.topics.model import FewerTopics
    from textmill.topics.nmf import NMF
    from textmill.topics.pca import PCA
    from textmill.topics.pictures import Trends, draw_topics, draw_trends, topic_trends
    from textmill.topics.plsa import PLSA
    from textmill.topics.projecting import save_projections
    from textmill.topics.quality import topic_coherence, topic_diversity, topic_exclusivity

__all__ = [
    "LDA",
    "LSA",
    "NMF",
    "PCA",
    "PLSA",
    "Cluster",
    "Clusters",
    "Difference",
    "Drift",
    "Explanation",
    "FewerTopics",
    "Mixtures",
    "MultinomialMixture",
    "Plane",
    "Sampled",
    "TopicWord",
    "Trends",
    "cluster_documents",
    "cluster_rows",
    "cluster_terms",
    "collapse_variational",
    "divergences",
    "draw_map",
    "draw_topics",
    "draw_trends",
    "entropy",
    "explain_text",
    "exponentiated_gradient",
    "fold_in",
    "gibbs_mixtures",
    "infer_topics",
    "left_to_right",
    "monte_carlo",
    "plane",
    "query_likelihood",
    "sample_topics",
    "save_projections",
    "topic_coherence",
    "topic_difference",
    "topic_diversity",
    "topic_exclusivity",
    "topic_trends",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "clustering": "Cluster Clusters cluster_documents cluster_rows cluster_terms",
        "cvb0": "collapse_variational",
        "difference": "Difference Drift topic_difference",
        "em": "Mixtures fold_in",
        "evidence": "left_to_right",
        "explain": "Explanation TopicWord explain_text",
        "gibbs": "Sampled gibbs_mixtures sample_topics",
        "inference": "divergences entropy exponentiated_gradient infer_topics monte_carlo query_likelihood",
        "lda": "LDA",
        "lsa": "LSA",
        "map": "Plane draw_map plane",
        "mixture": "MultinomialMixture",
        "model": "FewerTopics",
        "nmf": "NMF",
        "pca": "PCA",
        "pictures": "Trends draw_topics draw_trends topic_trends",
        "plsa": "PLSA",
        "projecting": "save_projections",
        "quality": "topic_coherence topic_diversity topic_exclusivity",
    },
)
