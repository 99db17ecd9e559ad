"""Mixtures of new documents: against tomotopy, and coherence of topics against gensim, on three corpora, one thread.

Topics are tomotopy's own: both sides infer the same documents with the same words and topics. Quality is the mean
log-likelihood of a word in bits under the mixtures that each side found. The bar is that of EM to a gap of 1e-5.

TEXTMILL_DATA=... python -m bench inference
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from bench._corpora import TOPICAL, topical
from bench.harness import Job, Options
from textmill.topics import infer_topics, topic_coherence
from textmill.topics.factors.em import expected_counts
from textmill.topics.formats import from_tomotopy

PACKAGES = ["tomotopy", "gensim"]
TOPICS = 50
SWEEPS = 100  # of tomotopy for a document


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    return [job for name in TOPICAL for job in jobs_of(options, name)]


def jobs_of(options: Options, name: str) -> list[Job]:
    """The comparisons on one corpus, with test documents of at least 80 words."""
    import tomotopy
    from gensim.corpora import Dictionary
    from gensim.models import CoherenceModel

    warnings.filterwarnings("ignore", category=RuntimeWarning, module="tomotopy")
    training, test = (list(map(words_of, part)) for part in topical(options, name, limit=4000))
    test = [words for words in test if len(words) >= 80]

    peer = tomotopy.LDAModel(k=TOPICS, alpha=1.0, eta=0.1, seed=1)
    for words in training:
        peer.add_doc(words)
    peer.optim_interval = 0
    peer.train(20 if options.quick else 200, workers=1)
    model = from_tomotopy(peer)
    reader = model.vectorizer_
    assert reader is not None
    X = reader.transform(test)
    phi = np.ascontiguousarray(model.components_.T)
    queries = [peer.make_doc(words) for words in test]

    def theirs() -> NDArray[Any]:
        found, _ = peer.infer(queries, iterations=SWEEPS, workers=1)
        return np.asarray(found, dtype=np.float64)

    def bits(theta: NDArray[Any]) -> float:
        return float(expected_counts(X, np.ascontiguousarray(theta), phi)[2].sum() / X.sum() / np.log(2))

    def quality(method: str, tolerance: float = 1e-6) -> str:
        ours = infer_topics(X, phi, method=method, alpha=1.0, tolerance=tolerance, n_jobs=1)
        return f"{bits(ours.theta):.4f} bits per word, peer {bits(theirs()):.4f}; steps {ours.n_iter.mean():.1f}"

    def infer(method: str, tolerance: float = 1e-6) -> Any:
        return lambda: infer_topics(X, phi, method=method, alpha=1.0, tolerance=tolerance, n_jobs=1)

    lists = [[word for word, _ in topic] for topic in model.topics(10)]
    dictionary = Dictionary(training)

    def their_coherence() -> NDArray[Any]:
        made = CoherenceModel(topics=lists, texts=training, dictionary=dictionary, coherence="c_v", processes=1)
        return np.array(made.get_coherence_per_topic())

    def our_coherence() -> NDArray[Any]:
        return topic_coherence(lists, training, n_jobs=1)

    sweeps = f"tomotopy, {SWEEPS} sweeps"
    methods = [
        ("EM, gap 1e-5", "em", 1e-5, 20.0),
        ("EM, gap 1e-6", "em", 1e-6, None),
        ("EM, smoothed", "smoothed-em", 1e-6, None),
        ("exponentiated gradient, gap 1e-6", "eg", 1e-6, None),
        ("variational", "variational", 1e-6, None),
        ("Gibbs, 100 sweeps", "gibbs", 1e-6, None),
    ]
    table = [
        Job(f"{name}: {title}", infer(method, tolerance), theirs, sweeps,
            lambda method=method, tolerance=tolerance: quality(method, tolerance), "processor", "s", bar, title)
        for title, method, tolerance, bar in methods
    ]  # fmt: skip
    coherence = Job(
        f"{name}: C_v coherence of 50 topics",
        our_coherence,
        their_coherence,
        "gensim",
        lambda: f"mean {our_coherence().mean():.4f}, peer {their_coherence().mean():.4f}",
        "processor",
        claim="C_v coherence",
    )
    return [*table, coherence]


def words_of(bag: csr_matrix) -> list[str]:
    """A row of counts as words: order does not matter to a mixture, and the windows of both sides see the same."""
    return [str(word) for word in np.repeat(bag.indices, bag.data.astype(int))]
