"""LDA by Gibbs sampling and CVB0: attributes, files, further documents, held-out documents, peers, memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import textmill
from papers._shared.presets import preset
from textmill.corpus import read_documents
from textmill.errors import DataError
from textmill.topics import make_model
from textmill.topics.lda.gibbs import gibbs_mixtures, sample_topics
from textmill.topics.lda.model import LDA
from textmill.topics.lda.perplexity import split_words
from textmill.vectors import TextVectorizer, Weighting

METHODS = ["gibbs", "cvb0"]


def drawn(documents: int, vocabulary: int, topics: int, length: int, seed: int) -> csr_matrix:
    """Documents drawn from topics."""
    random = np.random.default_rng(seed)
    phi = random.dirichlet(np.full(vocabulary, 0.05), topics)
    words = random.dirichlet(np.full(topics, 0.1), documents) @ phi
    return csr_matrix(np.array([random.multinomial(length, row) for row in words]).astype(np.int32))


X = drawn(300, 80, 4, 40, seed=0)


@pytest.mark.parametrize("method", METHODS)
def test_a_model_is_filled_saved_and_loaded(method: str, tmp_path: Path) -> None:
    model = LDA(n_topics=4, method=method, alpha="auto", eta=0.05, max_iter=40, random_state=0).fit(X)
    assert model.components_.shape == (4, 80)
    assert model.components_.sum(axis=1) == pytest.approx(np.ones(4))
    assert model.term_topics_.T.sum() == pytest.approx(X.sum(), rel=1e-5)
    assert (model.documents_, model.words_, model.updates_) == (300, X.sum(), 40)
    assert len(model.trace_) == 4
    assert not np.allclose(model.alpha_, model.alpha_[0])
    model.save(tmp_path / "lda.mill")
    again = textmill.load(tmp_path / "lda.mill")
    assert again.transform(X[:5]).tobytes() == model.transform(X[:5]).tobytes()
    assert again.trace_.tolist() == model.trace_.tolist()


@pytest.mark.parametrize("method", METHODS)
def test_further_documents_and_terms_are_added(method: str) -> None:
    model = LDA(n_topics=4, method=method, eta=0.05, max_iter=30, random_state=0)
    model.partial_fit(X[:200, :70]).partial_fit(X[200:])
    assert model.term_topics_.shape == (80, 4)
    assert model.documents_ == 300
    assert model.term_topics_.T.sum() == pytest.approx(X[:200, :70].sum() + X[200:].sum(), rel=1e-5)
    share = np.maximum(np.asarray(X.sum(axis=0)).ravel() / X.sum(), 1e-12)
    unigram = np.exp(-(X.data @ np.log(share[X.indices])) / X.sum())
    assert model.perplexity(X) < 0.8 * unigram


@pytest.mark.parametrize("method", METHODS)
def test_held_out_documents_are_watched(method: str) -> None:
    model = LDA(n_topics=4, method=method, eta=0.05, max_iter=40, random_state=0).fit(X[:250], X_dev=X[250:])
    assert model.evaluated_.tolist() == [10, 20, 30, 40]
    assert model.perplexities_[-1] < 1.05 * model.perplexities_[0]
    plain = LDA(n_topics=4, method=method, eta=0.05, max_iter=40, random_state=0).fit(X[:250])
    assert plain.term_topics_.tobytes() == model.term_topics_.tobytes()


@pytest.mark.parametrize("method", METHODS)
def test_texts_are_taken_with_a_vectorizer(method: str) -> None:
    texts = ["red green blue", "red blue", "one two three", "two three"] * 5
    model = LDA(n_topics=2, method=method, alpha=0.1, eta=0.1, max_iter=50, random_state=0,
                vectorizer=TextVectorizer(weighting=Weighting(scheme="nnn")))  # fmt: skip
    theta = model.fit(texts).transform(["green red", "one three"])
    assert theta[0].argmax() != theta[1].argmax()


def test_weighting_is_kept_for_new_documents() -> None:
    model = LDA(n_topics=4, method="gibbs", weighting="idf", eta=0.05, max_iter=20, random_state=0).fit(X[:200])
    documents = np.maximum(np.bincount(X[:200].indices, minlength=80), 1)
    weight = np.log(200 / documents)
    expected = np.asarray(X[:200].sum(axis=0)).ravel() * weight
    assert model.term_topics_.T.sum(axis=0) == pytest.approx(expected, rel=1e-4, abs=1e-3)
    model.partial_fit(X[200:])
    expected += np.asarray(X[200:].sum(axis=0)).ravel() * weight
    assert model.term_topics_.T.sum(axis=0) == pytest.approx(expected, rel=1e-4, abs=1e-3)


def test_perplexity_from_left_to_right_is_near_that_of_the_bound() -> None:
    model = LDA(n_topics=4, method="gibbs", alpha=0.1, eta=0.05, max_iter=50, random_state=0).fit(X[:280])
    exact, bound = (model.perplexity(X[280:], method=how) for how in ("left-to-right", "bound"))
    assert exact < bound < 1.2 * exact


@pytest.mark.parametrize(
    ("parameters", "options", "message"),
    [
        ({"eta": "auto"}, {}, "does not learn eta"),
        ({"method": "cvb0", "weighting": "idf"}, {}, "weighting='idf' belongs to"),
        ({"max_iter": 0}, {}, "max_iter"),
        ({"burn_in": 20}, {}, "burn_in"),
        ({"n_chains": 0}, {}, "chains"),
        ({}, {"cluster": "tcp://127.0.0.1:1"}, "one machine"),
    ],
)
def test_bad_parameters_are_one_clear_error(parameters: dict, options: dict, message: str) -> None:
    with pytest.raises(DataError, match=message):
        make_model("lda", **{"n_topics": 2, "method": "gibbs", "max_iter": 20, **parameters}).fit(X, **options)


def test_bags_that_are_not_counts_are_refused() -> None:
    for method in METHODS:
        with pytest.raises(DataError, match="whole counts"):
            LDA(n_topics=2, method=method).fit(X * 0.3)
        with pytest.raises(DataError, match="only zeros"):
            LDA(n_topics=2, method=method).fit(csr_matrix((3, 4)))


@pytest.mark.slow
@pytest.mark.data
def test_perplexity_on_reuters_is_that_of_tomotopy_with_as_many_sweeps(data: Path) -> None:
    tomotopy = pytest.importorskip("tomotopy")
    records = list(read_documents(data / "reuters" / "reuters21578.jsonl.gz"))
    texts = {split: [r.text for r in records if r.fields["split"] == split] for split in ("training", "test")}
    vocabulary = preset("reuters").fit(r.text for r in records)
    train, test = (vocabulary.transform(texts[split]) for split in ("training", "test"))
    train, test = (bags[np.diff(bags.indptr) > 0] for bags in (train, test))
    seen, rest = split_words(test[:1000])
    rows = np.repeat(np.arange(rest.shape[0]), np.diff(rest.indptr))

    def perplexity(phi: np.ndarray, alpha: np.ndarray) -> float:
        theta = gibbs_mixtures(seen, phi, alpha=alpha, max_iter=60, random_state=0)
        p = np.einsum("ek,ek->e", theta[rows], phi[rest.indices])
        return float(np.exp(-(rest.data @ np.log(p)) / rest.data.sum()))

    for sweeps in (150, 300):
        peer = tomotopy.LDAModel(k=50, alpha=0.02, eta=0.02, seed=1)
        for d in range(train.shape[0]):
            row = slice(train.indptr[d], train.indptr[d + 1])
            peer.add_doc([str(w) for w in np.repeat(train.indices[row], train.data[row])])
        peer.train(sweeps, workers=1)
        phi = np.full((train.shape[1], 50), 1e-12)
        phi[[int(word) for word in peer.used_vocabs]] = np.array([peer.get_topic_word_dist(t) for t in range(50)]).T
        theirs = perplexity(phi, np.array(peer.alpha))
        found = sample_topics(train, 50, alpha=0.02, eta=0.02, max_iter=sweeps, learn_alpha=True, random_state=1)
        ours = perplexity((found.counts + 0.02) / (found.counts.sum(axis=0) + 0.02 * train.shape[1]), found.alpha)
        assert ours < 1.03 * theirs


MEMORY = """
import numpy as np
from scipy.sparse import csr_matrix
from textmill.topics import LDA, Gibbs

random = np.random.default_rng(0)
rows = np.repeat(np.arange(2000), 100)
X = csr_matrix((np.ones(len(rows), np.int32), (rows, random.integers(0, 100_000, len(rows)))), shape=(2000, 100_000))
model = LDA(n_topics=400, method=Gibbs(thin=1), eta=0.01, max_iter=2, random_state=0, n_jobs=2).fit(X)
assert model.term_topics_.shape == (100_000, 400)
print(next(int(line.split()[1]) / 1024 for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def test_100_000_words_and_400_topics_take_less_than_400_megabytes() -> None:
    run = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert float(run.stdout) < 400
