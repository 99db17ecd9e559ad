"""Coherence against windows counted one by one, and against gensim; diversity and exclusivity by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from textmill.corpus import Tokenizer, Vocabulary
from textmill.errors import DataError
from textmill.topics import PLSA
from textmill.topics.quality import MEASURES, topic_coherence, topic_diversity, topic_exclusivity
from textmill.vectors import TextVectorizer, Weighting

WORDS = [f"w{number}" for number in range(30)]


def random_texts(seed: int, *, repeats: bool = True, documents: int = 60) -> list[list[str]]:
    random = np.random.default_rng(seed)
    texts = []
    for _ in range(documents):
        if repeats:
            texts.append([WORDS[i] for i in random.zipf(1.4, random.integers(0, 60)) % 30])
        else:
            texts.append([WORDS[i] for i in random.permutation(30)[: random.integers(1, 31)]])
    return texts


TOPICS = [WORDS[:5], WORDS[3:9], WORDS[20:24]]


def windows_of(text: list[str], size: int) -> list[set[str]]:
    if size == 0 or len(text) <= size:
        return [set(text)]
    return [set(text[i : i + size]) for i in range(len(text) - size + 1)]


def slow_coherence(measure: str, topic: list[str], texts: list[list[str]], size: int) -> float:
    """Straight from the definitions."""
    windows = [window for text in texts for window in windows_of(text, size)]

    def share(*words: str) -> float:
        return sum(all(word in window for word in words) for window in windows) / len(windows)

    def pmi(v: str, w: str) -> float:
        return float(np.log((share(v, w) + 1e-12) / (share(v) * share(w))))

    def npmi(v: str, w: str) -> float:
        return pmi(v, w) / -float(np.log(share(v, w) + 1e-12))

    pairs = [(topic[i], topic[j]) for i in range(len(topic)) for j in range(i)]
    if measure == "umass":
        return float(np.mean([np.log((share(v, w) + 1e-12) / share(w)) for v, w in pairs]))
    if measure == "uci":
        return float(np.mean([pmi(v, w) for v, w in pairs]))
    if measure == "npmi":
        return float(np.mean([npmi(v, w) for v, w in pairs]))
    vectors = np.array([[npmi(v, w) for w in topic] for v in topic])
    whole = vectors.sum(axis=0)
    return float(np.mean([v @ whole / np.linalg.norm(v) / np.linalg.norm(whole) for v in vectors]))


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("window", [None, 0, 4, 1000])
@pytest.mark.parametrize("seed", [0, 1])
def test_coherence_is_that_of_the_definition(measure: str, window: int | None, seed: int) -> None:
    texts = random_texts(seed)
    found = topic_coherence(TOPICS, texts, measure=measure, window=window)
    size = MEASURES[measure] if window is None else window
    assert found == pytest.approx([slow_coherence(measure, topic, texts, size) for topic in TOPICS], rel=1e-9)


@pytest.mark.parametrize("measure", MEASURES)
def test_coherence_is_that_of_gensim_where_no_word_is_repeated_in_a_window(measure: str) -> None:
    gensim = pytest.importorskip("gensim")
    texts = random_texts(3, repeats=False)
    dictionary = gensim.corpora.Dictionary(texts)
    peer = gensim.models.CoherenceModel(
        topics=TOPICS,
        texts=texts,
        corpus=[dictionary.doc2bow(text) for text in texts],
        dictionary=dictionary,
        coherence={"umass": "u_mass", "c_v": "c_v"}.get(measure, f"c_{measure}"),
        window_size=MEASURES[measure] or None,
        topn=6,
        processes=1,
    )
    assert topic_coherence(TOPICS, texts, measure=measure) == pytest.approx(
        np.array(peer.get_coherence_per_topic()), abs=1e-6
    )


def test_gensim_takes_a_repeated_word_out_of_a_window_too_early() -> None:
    gensim = pytest.importorskip("gensim")
    texts = [["a", "a", "b", "c", "d"], ["c", "d", "b"], ["a", "c", "d"]]
    dictionary = gensim.corpora.Dictionary(texts)
    peer = gensim.models.CoherenceModel(
        topics=[["a", "b"]], texts=texts, dictionary=dictionary, coherence="c_uci", window_size=3, processes=1
    )
    exact = slow_coherence("uci", ["a", "b"], texts, 3)
    assert topic_coherence([["a", "b"]], texts, measure="uci", window=3)[0] == pytest.approx(exact)
    assert abs(peer.get_coherence() - exact) > 0.1  # the window "a b c" has an a that gensim does not see


def test_a_matrix_of_counts_gives_the_coherence_of_whole_documents() -> None:
    texts = random_texts(4)
    vectorizer = TextVectorizer(weighting=Weighting(scheme="nnn")).fit(texts)
    X = vectorizer.transform(texts)
    for measure in MEASURES:
        by_texts = topic_coherence(TOPICS, texts, measure=measure, window=0)
        by_counts = topic_coherence(TOPICS, X, measure=measure, window=0, terms=vectorizer.terms_.to_list())
        assert by_counts == pytest.approx(by_texts)


def test_a_model_is_judged_by_its_words_and_reads_texts_as_it_was_trained() -> None:
    texts = ["Cats purr, cats sleep.", "A cat sleeps", "Dogs bark at dogs", "A dog barks"] * 3
    tokenizer = Tokenizer(stem="english")
    vectorizer = TextVectorizer(vocabulary=Vocabulary(tokenizer=tokenizer), weighting=Weighting(scheme="nnn"))
    model = PLSA(n_topics=2, random_state=0, vectorizer=vectorizer).fit(texts)
    words = [[word for word, _ in topic] for topic in model.topics(3)]
    tokens = [tokenizer(text) for text in texts]
    assert topic_coherence(model, texts, n_words=3) == pytest.approx(topic_coherence(words, tokens))
    assert topic_coherence(model, texts, tokenizer=tokenizer, n_words=3) == pytest.approx(
        topic_coherence(words, tokens)
    )


def test_threads_change_nothing() -> None:
    texts = random_texts(5, documents=300)
    one, many = (topic_coherence(TOPICS, texts, n_jobs=jobs) for jobs in (1, 4))
    assert one.tobytes() == many.tobytes()


def test_words_that_share_every_window_agree_fully() -> None:
    assert topic_coherence([["a", "b"]], [["a", "b"], ["b", "a"]], measure="npmi").tolist() == [1.0]


def test_a_topic_of_one_word_has_no_coherence() -> None:
    assert np.isnan(topic_coherence([["a"]], [["a"]])).all()


def test_diversity_and_exclusivity_of_small_topics() -> None:
    assert topic_diversity([["a", "b"], ["a", "b"]]) == 0.5
    assert topic_diversity([["a", "b"], ["c", "d"]]) == 1.0
    assert topic_exclusivity(np.array([[0.8, 0.2], [0.8, 0.2]]), n_words=2) == pytest.approx([0.5, 0.5])
    assert topic_exclusivity(np.eye(3), n_words=1) == pytest.approx([1.0, 1.0, 1.0])
    model = PLSA(n_topics=2, random_state=0).fit(np.array([[3, 2, 0, 0], [0, 0, 4, 1]]))
    assert topic_exclusivity(model, n_words=1) == pytest.approx([1.0, 1.0], abs=1e-3)
    assert topic_diversity(model, n_words=2) == 1.0


@pytest.mark.parametrize(
    ("topics", "documents", "options", "message"),
    [
        ([["a"]], [["a"]], {"measure": "c_w"}, "measure must be one of"),
        ([["a"]], [["a"]], {"window": -1}, "window must be a whole number at least 0"),
        ([], [["a"]], {}, "no topics to judge"),
        (["ab"], [["a"]], {}, "lists of words"),
        ([["a"]], "a text", {}, "documents must be texts"),
        ([["a"]], [], {}, "no documents to count"),
        ([["a", "b"]], sparse.csr_matrix(np.eye(2)), {"measure": "npmi"}, "counts have no windows"),
        ([["a", "b"]], sparse.csr_matrix(np.eye(2)), {"measure": "umass"}, "pass terms"),
        ([["a", "c"]], sparse.csr_matrix(np.eye(2)), {"measure": "umass", "terms": "abc"}, "pass its terms"),
    ],
)
def test_bad_input_of_coherence_is_told_in_one_line(
    topics: Any, documents: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        topic_coherence(topics, documents, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("measure", MEASURES)
def test_words_that_no_document_has_are_no_topic(measure: str) -> None:
    texts = [["cat", "sat"], ["cat", "sat", "mat"], ["dog"], ["dog", "mat"]]
    with pytest.warns(UserWarning, match=r"^4 of 7 words are in no document and are left out \('zzz', 'qqq', 'Cat', "):
        values = topic_coherence([["cat", "sat"], ["zzz", "qqq"], ["Cat", "Sat"], ["mat"]], texts, measure=measure)
    assert np.isnan(values).tolist() == [False, True, True, True]
    with pytest.warns(UserWarning, match="1 of 4 words is in no document"):
        (left,) = topic_coherence([["cat", "zzz", "sat", "mat"]], texts, measure=measure)
    assert left == topic_coherence([["cat", "sat", "mat"]], texts, measure=measure)[0]
    columns = np.array([[1, 1, 0], [1, 0, 0]])
    with pytest.warns(UserWarning, match="2 of 3 topics have fewer than two others, their coherence is NaN"):
        bags = topic_coherence(
            [["a", "b"], ["a", "c"], ["x"]], columns, measure=measure, window=0, terms=["a", "b", "c"]
        )
    assert np.isnan(bags).tolist() == [False, True, True]
