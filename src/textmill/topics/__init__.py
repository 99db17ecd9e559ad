"""Topics of a corpus: a few directions that explain many documents.

lda            latent Dirichlet allocation: variational Bayes, Gibbs sampling, CVB0
lsa            Latent Semantic Analysis of streams, on one machine or many
factors        NMF, PLSA, PCA and the multinomial mixture

model          what all topic models share: their terms, texts in, topics printed
chunks         any input as a stream of sparse chunks of one size
decomposition  products and orthonormal bases
operators      matrices known by their products
inference      mixtures of new documents by any method, entropies, divergences
quality        coherence, diversity and exclusivity of topics
difference     the topics of two models compared
explain        the words of a text colored by topic
pictures       topics by distance and over time
clustering     clusters of documents and terms, labeled
making         a model by the name of its kind
map            terms and documents in one plane
projecting     the topics of any number of documents in one file
formats        models of other tools
exchange       files of other tools
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.topics.clustering import Cluster, Clusters, cluster_documents, cluster_rows, cluster_terms
    from textmill.topics.difference import Difference, Drift, topic_difference
    from textmill.topics.explain import Explanation, TopicWord, explain_text
    from textmill.topics.factors.em import Mixtures, fold_in
    from textmill.topics.factors.mixture import MultinomialMixture
    from textmill.topics.factors.nmf import NMF
    from textmill.topics.factors.pca import PCA
    from textmill.topics.factors.plsa import PLSA
    from textmill.topics.inference import (
        divergences,
        entropy,
        exponentiated_gradient,
        infer_topics,
        monte_carlo,
        query_likelihood,
    )
    from textmill.topics.lda.cvb0 import collapse_variational
    from textmill.topics.lda.evidence import left_to_right
    from textmill.topics.lda.gibbs import Sampled, gibbs_mixtures, sample_topics
    from textmill.topics.lda.learning import Batch, Online
    from textmill.topics.lda.model import LDA
    from textmill.topics.lda.sampling import CVB0, Gibbs
    from textmill.topics.lda.statistics import Statistics
    from textmill.topics.lsa.model import LSA
    from textmill.topics.making import make_model, make_vectorizer
    from textmill.topics.map import Plane, draw_map, plane
    from textmill.topics.model import FewerTopics, TopicModel
    from textmill.topics.operators import Operator, as_operator
    from textmill.topics.pictures import (
        Trends,
        draw_model,
        draw_topics,
        draw_training,
        draw_trends,
        topic_plane,
        topic_trends,
    )
    from textmill.topics.projecting import save_projections
    from textmill.topics.quality import topic_coherence, topic_diversity, topic_exclusivity

__all__ = [
    "CVB0",
    "LDA",
    "LSA",
    "NMF",
    "PCA",
    "PLSA",
    "Batch",
    "Cluster",
    "Clusters",
    "Difference",
    "Drift",
    "Explanation",
    "FewerTopics",
    "Gibbs",
    "Mixtures",
    "MultinomialMixture",
    "Online",
    "Operator",
    "Plane",
    "Sampled",
    "Statistics",
    "TopicModel",
    "TopicWord",
    "Trends",
    "as_operator",
    "cluster_documents",
    "cluster_rows",
    "cluster_terms",
    "collapse_variational",
    "divergences",
    "draw_map",
    "draw_model",
    "draw_topics",
    "draw_training",
    "draw_trends",
    "entropy",
    "explain_text",
    "exponentiated_gradient",
    "fold_in",
    "gibbs_mixtures",
    "infer_topics",
    "left_to_right",
    "make_model",
    "make_vectorizer",
    "monte_carlo",
    "plane",
    "query_likelihood",
    "sample_topics",
    "save_projections",
    "topic_coherence",
    "topic_difference",
    "topic_diversity",
    "topic_exclusivity",
    "topic_plane",
    "topic_trends",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "clustering": "Cluster Clusters cluster_documents cluster_rows cluster_terms",
        "lda.cvb0": "collapse_variational",
        "difference": "Difference Drift topic_difference",
        "factors.em": "Mixtures fold_in",
        "lda.evidence": "left_to_right",
        "explain": "Explanation TopicWord explain_text",
        "lda.gibbs": "Sampled gibbs_mixtures sample_topics",
        "inference": "divergences entropy exponentiated_gradient infer_topics monte_carlo query_likelihood",
        "lda.learning": "Batch Online",
        "lda.model": "LDA",
        "lda.sampling": "CVB0 Gibbs",
        "lda.statistics": "Statistics",
        "lsa.model": "LSA",
        "making": "make_model make_vectorizer",
        "map": "Plane draw_map plane",
        "factors.mixture": "MultinomialMixture",
        "model": "FewerTopics TopicModel",
        "factors.nmf": "NMF",
        "factors.pca": "PCA",
        "operators": "Operator as_operator",
        "pictures": "Trends draw_model draw_topics draw_training draw_trends topic_plane topic_trends",
        "factors.plsa": "PLSA",
        "projecting": "save_projections",
        "quality": "topic_coherence topic_diversity topic_exclusivity",
    },
)
