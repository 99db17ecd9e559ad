"""Synthetic streams against the distributions they promise, and against their own chunks."""

from __future__ import annotations

import pickle
import tracemalloc
from itertools import islice

import numpy as np
import pytest
from scipy import sparse, stats

from textmill.corpus import synthetic
from textmill.corpus.synthetic import DriftingStream, TopicStream, ZipfStream
from textmill.errors import DataError

KINDS = {
    "zipf": lambda documents, **more: ZipfStream(documents, vocabulary=300, length=30, empty=0.05, seed=4, **more),
    "topics": lambda documents, **more: TopicStream(documents, vocabulary=200, length=30, empty=0.05, seed=4, **more),
    "abrupt": lambda documents, **more: DriftingStream(
        documents, vocabulary=90, length=30, empty=0.05, period=200, seed=4, **more
    ),
    "gradual": lambda documents, **more: DriftingStream(
        documents, vocabulary=90, length=30, period=90, drift="gradual", seed=4, **more
    ),
    "popularity": lambda documents, **more: DriftingStream(
        documents, vocabulary=90, length=30, period=90, drift="gradual", changes="popularity", seed=4, **more
    ),
}
CHANCE = 0.001  # of a right distribution to fail a test; with fixed seeds it cannot fail by chance later
every_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 128 documents of 30 tokens, so that few documents lie in many blocks."""
    monkeypatch.setattr(synthetic, "_BLOCK_TOKENS", 1 << 12)


def same(left, right):
    return left.shape == right.shape and (left != right).nnz == 0


def frequencies(stream, start, stop):
    return np.asarray(stream.chunk(start, stop).sum(axis=0)).ravel()


def p_value(observed, probabilities):
    """Chi-square test, rare terms taken together."""
    expected = observed.sum() * probabilities
    common = expected >= 5
    if common.all():
        return stats.chisquare(observed, expected).pvalue
    observed = np.append(observed[common], observed[~common].sum())
    expected = np.append(expected[common], expected[~common].sum())
    return stats.chisquare(observed[expected > 0], expected[expected > 0]).pvalue


@every_kind
@pytest.mark.parametrize("chunk", [1, 77, 128, 1000])
@pytest.mark.usefixtures("small_blocks")
def test_chunks_of_any_size_hold_the_same_documents(make, chunk):
    whole = make(500).chunk(0, 500)
    chunks = list(make(500, chunk_size=chunk))
    assert len(chunks) == len(make(500, chunk_size=chunk)) == -(-500 // chunk)
    assert same(sparse.vstack(chunks), whole)


@every_kind
@pytest.mark.usefixtures("small_blocks")
def test_reading_may_start_anywhere_and_the_number_of_documents_does_not_matter(make):
    whole = make(500).chunk(0, 500)
    for start, stop in [(0, 1), (127, 129), (1, 256), (499, 500), (300, 300)]:
        assert same(make(500).chunk(start, stop), whole[start:stop])
        assert same(make(None).chunk(start, stop), whole[start:stop])
    assert same(sparse.vstack(list(islice(make(None, chunk_size=90), 5))), whole[:450])


@every_kind
@pytest.mark.usefixtures("small_blocks")
def test_every_pass_gives_the_same_and_other_seeds_other_documents(make):
    stream = make(300, chunk_size=100)
    assert all(same(first, second) for first, second in zip(stream, stream, strict=True))
    assert same(pickle.loads(pickle.dumps(stream)).chunk(0, 100), stream.chunk(0, 100))  # noqa: S301
    assert len(pickle.dumps(stream)) < 1000
    other = type(stream)(100, vocabulary=stream.vocabulary, length=30, seed=5)
    assert not same(other.chunk(0, 100), stream.chunk(0, 100))
    assert not same(stream.chunk(0, 100), stream.chunk(128, 228))


@every_kind
@pytest.mark.usefixtures("small_blocks")
def test_bags_tokens_texts_and_single_documents_agree(make):
    stream = make(300, words="syllables")
    bags = stream.chunk(0, 300)
    texts = list(stream.texts())
    assert len(texts) == len(stream.texts()) == len(stream.tokens()) == 300
    assert texts == list(stream.texts())
    number = {name: term for term, name in enumerate(stream.names)}
    for at, tokens in enumerate(stream.tokens()):
        assert texts[at] == " ".join(tokens)
        counts = np.bincount([number[token] for token in tokens], minlength=stream.vocabulary)
        assert (counts == bags[at].toarray()).all()
    for at in (0, 128, 299):
        terms = stream.document(at)
        assert terms.dtype == np.int32
        assert [stream.names[term] for term in terms] == texts[at].split()


@every_kind
def test_chunks_are_canonical_csr_with_int32(make):
    chunk = next(iter(make(None)))
    assert chunk.format == "csr"
    assert chunk.shape[0] == 1024
    assert chunk.dtype == chunk.indices.dtype == np.int32
    assert chunk.data.min() >= 1
    for row in range(chunk.shape[0]):
        columns = chunk.indices[chunk.indptr[row] : chunk.indptr[row + 1]]
        assert (np.diff(columns) > 0).all()
    again = sparse.csr_matrix((chunk.data, chunk.indices, chunk.indptr), shape=chunk.shape)
    assert again.has_canonical_format


def test_memory_does_not_grow_with_the_number_of_documents():
    def peak(chunks):
        stream = ZipfStream(vocabulary=1000, length=50, chunk_size=500)
        tracemalloc.start()
        for _ in islice(stream, chunks):
            pass
        result = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return result

    peak(1)
    assert peak(60) < 1.2 * peak(6)


@pytest.mark.parametrize(("exponent", "shift"), [(1.0, 2.7), (1.1, 0.0), (0.0, 1.0), (2.0, -0.5)])
def test_terms_follow_zipf_and_mandelbrot(exponent, shift):
    stream = ZipfStream(vocabulary=500, exponent=exponent, shift=shift, length=100, seed=11)
    weights = [1 / (rank + shift) ** exponent for rank in range(1, 501)]
    expected = np.array(weights) / sum(weights)
    assert stream.probabilities == pytest.approx(expected, abs=1e-14)
    assert p_value(frequencies(stream, 0, 3000), expected) > CHANCE


def test_neighboring_tokens_are_independent():
    stream = ZipfStream(vocabulary=10, length=50, seed=2)
    pairs = np.zeros((10, 10))
    for number in range(0, 40000, 1024):  # each in another block
        terms = stream.document(number)
        np.add.at(pairs, (terms[:-1], terms[1:]), 1)
    assert stats.chi2_contingency(pairs).pvalue > CHANCE


def test_lengths_tokens_mixtures_and_topics_have_random_numbers_of_their_own():
    firsts = [synthetic._philox(7, purpose, block).random() for purpose in synthetic._Purpose for block in range(3)]
    assert len(set(firsts)) == 15


def test_lengths_are_log_normal_with_the_mean_that_was_asked_for():
    stream = ZipfStream(vocabulary=2, length=1000, spread=0.4, seed=3)
    tokens = np.asarray(stream.chunk(0, 500).sum(axis=1)).ravel()
    assert stats.kstest(np.log(tokens), stats.norm(np.log(1000) - 0.08, 0.4).cdf).pvalue > CHANCE
    constant = ZipfStream(100, vocabulary=2, length=17, spread=0)
    assert set(np.asarray(constant.chunk(0, 100).sum(axis=1)).ravel().tolist()) == {17}


def test_empty_documents_come_only_when_asked_for():
    def share(empty):
        stream = ZipfStream(vocabulary=50, length=2, empty=empty, seed=6)
        return float((np.diff(stream.chunk(0, 4000).indptr) == 0).mean())

    assert share(0.0) == 0
    assert share(1.0) == 1
    assert stats.binomtest(round(share(0.2) * 4000), 4000, 0.2).pvalue > CHANCE


def test_mixtures_and_topics_follow_their_dirichlet_distributions():
    stream = TopicStream(topics=4, vocabulary=2000, alpha=[0.02, 0.5, 1, 3], eta=0.05, seed=7)
    mixtures = stream.mixtures(0, 3000)
    assert mixtures.sum(axis=1) == pytest.approx(1)
    for topic, alpha in enumerate([0.02, 0.5, 1, 3]):
        assert stats.kstest(mixtures[:, topic], stats.beta(alpha, 4.52 - alpha).cdf).pvalue > CHANCE
    assert stats.kstest(stream.topics_at().ravel(), stats.beta(0.05, 0.05 * 1999).cdf).pvalue > CHANCE
    assert stream.topics_at().sum(axis=1) == pytest.approx(1)
    assert stream.popularity_at(10).tolist() == [0.02, 0.5, 1, 3]


def test_tiny_parameters_give_one_topic_a_document():
    mixtures = TopicStream(topics=30, vocabulary=10, alpha=1e-6, seed=1).mixtures(0, 500)
    assert np.isfinite(mixtures).all()
    assert mixtures.max(axis=1) == pytest.approx(1)
    assert p_value(np.bincount(mixtures.argmax(axis=1), minlength=30), np.full(30, 1 / 30)) > CHANCE


def test_words_of_a_document_follow_its_mixture_of_topics():
    stream = TopicStream(64, topics=5, vocabulary=40, alpha=0.5, eta=0.5, length=4000, spread=0, seed=8)
    mixtures, bags, topics = stream.mixtures(0, 64), stream.chunk(0, 64).toarray(), stream.topics_at()
    values = [p_value(bags[at], mixtures[at] @ topics) for at in range(64)]
    assert stats.kstest(values, stats.uniform.cdf).pvalue > CHANCE
    for start, stop in [(0, 0), (3, 40), (63, 64)]:
        assert (stream.mixtures(start, stop) == mixtures[start:stop]).all()


def test_terms_without_probability_are_not_drawn_even_at_the_edges():
    cumulated = synthetic._cumulated(np.array([[0.0, 1, 0], [0.5, 0, 0.5]]))
    rows, uniform = np.array([0, 0, 1, 1, 1]), np.array([0.0, 1 - 2**-53, 0.0, 0.5, 1 - 2**-53])
    assert synthetic._pick(cumulated, rows, uniform).tolist() == [1, 1, 0, 2, 2]


def test_words_of_given_topics_come_from_their_topics_only():
    bars = np.kron(np.eye(3), np.full(4, 0.25))
    stream = TopicStream(400, topics=bars, alpha=1e-6, length=30, seed=9)
    assert stream.vocabulary == 12
    assert (stream.topics_at(5) == bars).all()
    by_topic = stream.chunk(0, 400).toarray().reshape(400, 3, 4).sum(axis=2)
    assert ((by_topic > 0).sum(axis=1) == 1).all()
    assert (by_topic.argmax(axis=1) == stream.mixtures(0, 400).argmax(axis=1)).all()


def test_abrupt_drift_replaces_the_topics_at_once():
    stream = DriftingStream(topics=1, vocabulary=60, eta=0.5, length=50, period=300, seed=10)
    first, second = stream.topics_at(0)[0], stream.topics_at(300)[0]
    assert (stream.topics_at(299)[0] == first).all()
    assert p_value(frequencies(stream, 0, 300), first) > CHANCE
    assert p_value(frequencies(stream, 300, 600), second) > CHANCE
    assert p_value(frequencies(stream, 300, 600), first) < 1e-9
    assert (stream.topics_at(10**15) != second).any()


def test_gradual_drift_mixes_the_next_topics_in():
    stream = DriftingStream(topics=1, vocabulary=60, eta=0.5, length=50, period=1000, drift="gradual", seed=10)
    first, second = stream.topics_at(0)[0], stream.topics_at(1000)[0]
    assert stream.topics_at(250)[0] == pytest.approx(0.75 * first + 0.25 * second)
    lengths = np.asarray(stream.chunk(600, 1400).sum(axis=1)).ravel()
    expected = sum(length * stream.topics_at(600 + at)[0] for at, length in enumerate(lengths)) / lengths.sum()
    assert p_value(frequencies(stream, 600, 1400), expected) > CHANCE
    assert p_value(frequencies(stream, 600, 1000), first) < 1e-9


@pytest.mark.parametrize("drift", ["abrupt", "gradual"])
def test_drift_of_popularity_leaves_the_topics_and_moves_the_mixtures(drift):
    stream = DriftingStream(topics=4, vocabulary=50, alpha=2.0, period=2000, drift=drift, changes="popularity", seed=12)
    assert (stream.topics_at(0) == stream.topics_at(9999)).all()
    for start, stop in [(0, 2000), (2000, 4000)]:
        alphas = np.array([stream.popularity_at(document) for document in range(start, stop, 20)])
        assert alphas.sum(axis=1) == pytest.approx(8)
        assert stream.mixtures(start, stop).mean(axis=0) == pytest.approx(alphas.mean(axis=0) / 8, abs=0.02)
    assert abs(stream.popularity_at(0) - stream.popularity_at(2000)).max() > 0.5
    middle = stream.popularity_at(1000)
    if drift == "gradual":
        assert middle == pytest.approx((stream.popularity_at(0) + stream.popularity_at(2000)) / 2)
    else:
        assert (middle == stream.popularity_at(0)).all()


def test_names_are_different_words_and_the_first_are_the_shortest():
    assert ZipfStream(vocabulary=3).names == ("w0", "w1", "w2")
    names = ZipfStream(vocabulary=20000, words="syllables").names
    assert len(set(names)) == 20000
    assert all(name.isalpha() for name in names)
    assert [len(name) for name in names] == sorted(len(name) for name in names)
    assert names[:3] == ("ba", "be", "bi")


def test_stream_without_documents_and_endless_stream():
    nothing = ZipfStream(0, vocabulary=9)
    assert list(nothing) == list(nothing.texts()) == []
    assert len(nothing) == 0
    assert nothing.chunk(0, 0).shape == (0, 9)
    for endless in (ZipfStream(), ZipfStream().texts(), ZipfStream().tokens()):
        with pytest.raises(TypeError, match="endless stream has no length"):
            len(endless)


def test_documents_far_away_can_be_read():
    assert len(ZipfStream(seed=2**64 - 1).document(10**15)) > 0


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (lambda: ZipfStream(-1), "documents must be a whole number between 0"),
        (lambda: ZipfStream(1e6), "documents must be a whole number"),
        (lambda: ZipfStream(vocabulary=0), "vocabulary must be a whole number between 1"),
        (lambda: ZipfStream(exponent=-1), "exponent must be between 0 and 100, not -1"),
        (lambda: ZipfStream(shift=-1), "shift must be above -1"),
        (lambda: ZipfStream(shift=float("nan")), "shift must be above -1"),
        (lambda: ZipfStream(length=0.5), "length must be between 1 and 1e"),
        (lambda: ZipfStream(spread=float("nan")), "spread must be between"),
        (lambda: ZipfStream(empty=1.5), "empty must be between 0 and 1"),
        (lambda: ZipfStream(chunk_size=0), "chunk_size must be"),
        (lambda: ZipfStream(seed=-1), "seed must be"),
        (lambda: ZipfStream(words="klingon"), "words must be 'numbered' or 'syllables', not 'klingon'"),
        (lambda: TopicStream(topics=0), "topics must be a whole number between 1"),
        (lambda: TopicStream(topics=2.5), "topics must be a whole number"),
        (lambda: TopicStream(topics=[0.5, 0.5]), r"topics x terms, not the shape \(2,\)"),
        (lambda: TopicStream(topics=[[0.5, 0.4]]), "each row with the sum 1"),
        (lambda: TopicStream(topics=[[1.5, -0.5]]), "not negative"),
        (lambda: TopicStream(topics=[[np.nan, 1]]), "must be probabilities"),
        (lambda: TopicStream(topics=[["a", "b"]]), "an array of numbers"),
        (lambda: TopicStream(alpha=0), "alpha must be between"),
        (lambda: TopicStream(alpha=[0.1, np.inf], topics=2), "alpha must be between"),
        (lambda: TopicStream(alpha=[0.1, 0.2]), "one for each of 20 topics"),
        (lambda: TopicStream(eta=0), "eta must be between"),
        (lambda: DriftingStream(period=0), "period must be"),
        (lambda: DriftingStream(drift="sudden"), "drift must be 'abrupt' or 'gradual'"),
        (lambda: DriftingStream(changes="words"), "changes must be 'topics' or 'popularity'"),
        (lambda: DriftingStream(topics=[[0.5, 0.5]]), "topics that change must be drawn"),
        (lambda: ZipfStream(10).chunk(5, 11), "documents 5 to 11 were asked for; the stream has 10 documents"),
        (lambda: ZipfStream(10).chunk(6, 5), "documents 6 to 5"),
        (lambda: ZipfStream().document(-1), "counts up from 0"),
        (lambda: TopicStream(10).mixtures(0, 11), "has 10 documents"),
        (lambda: TopicStream(10).topics_at(10), "has 10 documents"),
    ],
)
def test_wrong_parameters_are_named(call, fault):
    with pytest.raises(DataError, match=fault):
        call()
