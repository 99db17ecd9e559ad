"""Mixtures of new documents: against tomotopy, and coherence of topics against gensim, on Reuters-21578, one thread.

Topics are tomotopy's own: both sides infer the same documents with the same words and topics. Quality is the mean
log-likelihood of a word in bits under the mixtures that each side found. The bar is that of EM to a gap of 1e-5.

TEXTMILL_DATA=... python -m bench inference
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.harness import Job, Options
from textmill.corpus import Tokenizer, preset, read_documents
from textmill.topics import infer_topics, topic_coherence
from textmill.topics.em import expected_counts
from textmill.topics.formats import from_tomotopy

PACKAGES = ["tomotopy", "gensim"]
TOPICS = 50
SWEEPS = 100  # of tomotopy for a document


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    import tomotopy
    from gensim.corpora import Dictionary
    from gensim.models import CoherenceModel

    warnings.filterwarnings("ignore", category=RuntimeWarning, module="tomotopy")
    documents = list(read_documents(options.data / "reuters" / "reuters21578.jsonl.gz"))
    vocabulary = preset("reuters").fit(document.text for document in documents)
    known = set(vocabulary.terms_)
    cut = vocabulary.tokenizer or Tokenizer()
    tokens = [[word for word in words if word in known] for words in cut.tokenize(d.text for d in documents)]
    training = [words for d, words in zip(documents, tokens, strict=True) if d.fields["split"] == "training"]
    test = [words for d, words in zip(documents, tokens, strict=True) if d.fields["split"] != "training"]
    test = [words for words in test if len(words) >= 80]
    if options.quick:
        training, test = training[:500], test[:20]

    peer = tomotopy.LDAModel(k=TOPICS, alpha=1.0, eta=0.1, seed=1)
    for words in training:
        if words:
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
        return f"{bits(ours.theta):.4f} bits a word, peer {bits(theirs()):.4f}; steps {ours.iterations.mean():.1f}"

    def infer(method: str, tolerance: float = 1e-6) -> Any:
        return lambda: infer_topics(X, phi, method=method, alpha=1.0, tolerance=tolerance, n_jobs=1)

    lists = [[word for word, _ in topic] for topic in model.topics(10)]
    dictionary = Dictionary(training)

    def their_coherence() -> NDArray[Any]:
        made = CoherenceModel(topics=lists, texts=training, dictionary=dictionary, coherence="c_v", processes=1)
        return np.array(made.get_coherence_per_topic())

    def our_coherence() -> NDArray[Any]:
        return topic_coherence(lists, training, n_jobs=1)

    name = f"tomotopy, {SWEEPS} sweeps"
    return [
        Job("EM, gap 1e-5", infer("em", 1e-5), theirs, name, lambda: quality("em", 1e-5), bar=20.0),
        Job("EM, gap 1e-6", infer("em"), theirs, name, lambda: quality("em")),
        Job("EM, smoothed", infer("smoothed-em"), theirs, name, lambda: quality("smoothed-em")),
        Job("exponentiated gradient, gap 1e-6", infer("eg"), theirs, name, lambda: quality("eg")),
        Job("variational", infer("variational"), theirs, name, lambda: quality("variational")),
        Job("Gibbs, 100 sweeps", infer("gibbs"), theirs, name, lambda: quality("gibbs")),
        Job(
            "C_v coherence of 50 topics",
            our_coherence,
            their_coherence,
            "gensim",
            lambda: f"mean {our_coherence().mean():.4f}, peer {their_coherence().mean():.4f}",
        ),
    ]
