"""Texts to vectors: the parts it is made of, passes over streams, queries, the way back to terms, files, peers."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference.titles import STOP, TITLES
from scipy import sparse

import textmill
from textmill.corpus import CharacterNgrams, Tokenizer, Vocabulary, sample_texts
from textmill.errors import DataError, ModelFileError
from textmill.vectors import TextVectorizer, Weighting, pairwise_matrix


def titles_vectorizer(**weighting: Any) -> TextVectorizer:
    return TextVectorizer(vocabulary=Vocabulary(stop_words=STOP, min_count=2), weighting=Weighting(**weighting))


def same(left: Any, right: Any) -> bool:
    return left.shape == right.shape and (left != right).nnz == 0


def split_words(text: str) -> list[str]:
    return text.lower().split()


def test_titles_get_the_printed_weights() -> None:
    vectorizer = titles_vectorizer()
    X = vectorizer.fit_transform(TITLES)
    c4 = dict(vectorizer.inverse(X[[3]])[0])
    assert c4 == pytest.approx({"system": 0.7221, "human": 0.4892, "eps": 0.4892}, abs=5e-5)
    cosines = pairwise_matrix(X[[3]], X, measure="cosine")[0]
    assert cosines == pytest.approx([0.2824, 0.2363, 0.5815, 1.0, 0, 0, 0, 0, 0], abs=5e-5)


def test_a_query_has_the_printed_cosines() -> None:
    vectorizer = titles_vectorizer(scheme="nnn")
    X = vectorizer.fit_transform(TITLES)
    query = vectorizer.transform_query(["human computer interaction"])
    assert query.sum() == 2
    expected = [0.816497, 0.288675, 0, 0.288675, 0, 0, 0, 0, 0]
    assert pairwise_matrix(query, X)[0] == pytest.approx(expected, abs=5e-7)


def test_it_is_its_parts_one_after_the_other() -> None:
    texts = sample_texts(language=None)
    for vocabulary, weighting in (
        (None, Weighting(idf="smooth")),
        (Vocabulary(tokenizer=CharacterNgrams(lengths=(2, 3)), min_df=2), Weighting(scheme="lnc", dtype="float32")),
        (Vocabulary(tokenizer=Tokenizer(stem="english"), order="sorted", keep=50), Weighting(idf="n/d")),
    ):
        vectorizer = TextVectorizer(vocabulary=vocabulary, weighting=weighting)
        X = vectorizer.fit_transform(texts)
        alone = Vocabulary() if vocabulary is None else Vocabulary(**vocabulary.get_params(deep=False))
        bags = alone.fit_transform(texts)
        assert same(X, Weighting(**weighting.get_params()).fit(bags).transform(bags))
        assert X.dtype == weighting.dtype
        assert same(vectorizer.transform(texts), X)
        assert same(TextVectorizer(vocabulary=vocabulary, weighting=weighting).fit(texts).transform(texts), X)
        assert vectorizer.get_feature_names_out().tolist() == alone.terms_.to_list()
        assert vectorizer.terms_.to_list() == vectorizer.vocabulary_.terms_.to_list()


def test_scikit_learns_vectorizer_agrees_on_the_same_tokens() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = sample_texts()
    tokenizer = Tokenizer()
    peer = TfidfVectorizer(analyzer=tokenizer)
    theirs = peer.fit_transform(texts)
    ours = TextVectorizer(vocabulary=Vocabulary(order="sorted"), weighting=Weighting(idf="smooth"))
    mine = ours.fit_transform(texts)
    assert ours.get_feature_names_out().tolist() == peer.get_feature_names_out().tolist()
    np.testing.assert_allclose(mine.toarray(), theirs.toarray(), atol=1e-13)


def test_parameters_are_not_fitted_and_reach_into_the_parts() -> None:
    from sklearn.base import clone

    vectorizer = titles_vectorizer().set_params(weighting__scheme="bnn", vocabulary__min_df=3)
    X = vectorizer.fit_transform(TITLES)
    assert set(X.data) == {1.0}
    assert X.shape[1] == 4
    assert not hasattr(vectorizer.vocabulary, "terms_")
    assert not hasattr(vectorizer.weighting, "documents_")
    assert not hasattr(clone(vectorizer), "terms_")


def test_a_generator_is_enough_for_one_pass_and_refused_for_two() -> None:
    def once() -> Iterator[str]:
        yield from TITLES

    expected = titles_vectorizer().fit_transform(TITLES)
    assert same(titles_vectorizer().fit_transform(once()), expected)
    assert titles_vectorizer().fit(once()).documents_ == 9
    taken = once()
    with pytest.raises(DataError, match="fit_vectors needs 2 passes but a generator can be read once"):
        titles_vectorizer().fit_vectors(taken)
    assert next(taken) == TITLES[0]  # refused before anything was read
    bounded = TextVectorizer(vocabulary=Vocabulary(memory="1MB"))
    with pytest.raises(DataError, match="needs 2 passes"):
        bounded.fit_transform(once())


def test_streams_give_the_rows_of_the_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textmill.corpus.tokenize.BATCH", 200)
    vectorizer = titles_vectorizer()
    vectors = vectorizer.fit_vectors(TITLES)
    for _ in range(2):  # can be read again
        chunks = list(vectors)
        assert len(chunks) > 1
        assert same(sparse.vstack(chunks), vectorizer.transform(TITLES))
        assert (vectors.documents, vectors.empty, vectors.nonzeros) == (9, 0, 28)
    assert vectors.bags.unknown > 0
    once = vectorizer.vectors(title for title in TITLES)
    assert sum(chunk.shape[0] for chunk in once) == 9
    with pytest.raises(DataError, match="can be read once"):
        list(once)


def test_queries_are_weighed_by_their_own_scheme() -> None:
    vectorizer = titles_vectorizer(scheme="lnc.ntc").fit(TITLES)
    assert same(vectorizer.transform_query(TITLES), titles_vectorizer(scheme="ntc").fit_transform(TITLES))
    assert same(vectorizer.transform(TITLES), titles_vectorizer(scheme="lnc").fit_transform(TITLES))


def test_rows_lead_back_to_their_heaviest_terms() -> None:
    vectorizer = TextVectorizer(weighting=Weighting(scheme="nnn")).fit(["a b c"])
    X = sparse.csr_matrix(np.array([[1.0, 3.0, 1.0], [0, 0, 0], [-1.0, 0.0, -2.0]]))
    assert vectorizer.inverse(X, k=2) == [[("b", 3.0), ("a", 1.0)], [], [("a", -1.0), ("c", -2.0)]]
    assert vectorizer.inverse(X.toarray())[0] == [("b", 3.0), ("a", 1.0), ("c", 1.0)]
    with pytest.raises(DataError, match="X has 2 columns but there are 3 terms"):
        vectorizer.inverse([[1, 2]])
    with pytest.raises(DataError, match="k must be a whole number"):
        vectorizer.inverse(X, k=0)


def test_merging_parts_gives_the_whole_corpus() -> None:
    parts = [TextVectorizer().fit(TITLES[:4]), TextVectorizer().fit(TITLES[4:])]
    both, whole = parts[0].merge(parts[1]), TextVectorizer().fit(TITLES)
    assert both.terms_.to_list() == whole.terms_.to_list()
    assert same(both.transform(TITLES), whole.transform(TITLES))
    with pytest.raises(DataError, match="merge first, then prune"):
        titles_vectorizer().fit(TITLES).merge(parts[0])


def test_it_comes_back_from_its_file_with_its_parts(tmp_path: Path) -> None:
    vocabulary = Vocabulary(tokenizer=Tokenizer(stem="english"), min_df=2, stop_words=["the"])
    vectorizer = TextVectorizer(vocabulary=vocabulary, weighting=Weighting(scheme="ltc.bnn", idf="n/d"))
    X = vectorizer.fit_transform(sample_texts())
    vectorizer.save(tmp_path / "first.mill")
    back = textmill.load(tmp_path / "first.mill", expect=TextVectorizer)
    assert same(back.transform(sample_texts()), X)
    assert same(back.transform_query(["a text"]), vectorizer.transform_query(["a text"]))
    assert repr(back) == repr(vectorizer)
    back.save(tmp_path / "second.mill")
    assert (tmp_path / "first.mill").read_bytes() == (tmp_path / "second.mill").read_bytes()
    copy = pickle.loads(pickle.dumps(back))  # noqa: S301 - our own bytes
    assert same(copy.transform(sample_texts()), X)


def test_a_function_is_passed_again_once(tmp_path: Path) -> None:
    vectorizer = TextVectorizer(vocabulary=Vocabulary(tokenizer=split_words)).fit(TITLES)
    vectorizer.save(tmp_path / "own.mill")
    with pytest.raises(ModelFileError, match="vocabulary__tokenizer="):
        textmill.load(tmp_path / "own.mill")
    back = textmill.load(tmp_path / "own.mill", vocabulary__tokenizer=split_words)
    assert same(back.transform(TITLES), vectorizer.transform(TITLES))


def test_contradictions_in_a_file_are_refused() -> None:
    vectorizer = TextVectorizer().fit(TITLES)
    vectorizer.vocabulary_.documents_ = 1
    with pytest.raises(ModelFileError, match="contradict"):
        vectorizer.verify()


def test_a_pipeline_takes_texts() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(titles_vectorizer(), LogisticRegression(C=100))
    labels = ["c"] * 5 + ["m"] * 4
    assert model.fit(TITLES, labels).score(TITLES, labels) == 1.0


def test_bad_input_is_named_before_documents_are_read() -> None:
    def never() -> Iterator[str]:
        raise AssertionError
        yield ""

    with pytest.raises(DataError, match="scheme must be three letters"):
        TextVectorizer(weighting=Weighting(scheme="tf")).fit(never())
    with pytest.raises(DataError, match="min_df"):
        TextVectorizer(vocabulary=Vocabulary(min_df=-1)).fit_transform(never())
    with pytest.raises(DataError, match="not fitted yet"):
        TextVectorizer().transform(TITLES)
    with pytest.raises(DataError, match="got one text"):
        TextVectorizer().fit("to be")
    with pytest.raises(DataError, match="there are no documents to count"):
        TextVectorizer().fit_transform([])
    assert TextVectorizer(weighting=Weighting(scheme="nnc")).fit_transform(["", "..."]).shape == (2, 0)


def test_a_scheme_in_place_of_a_weighting_is_refused_with_the_right_way() -> None:
    with pytest.raises(DataError, match="weighting must be a Weighting, such as"):
        TextVectorizer(weighting="nnn").fit(["to be"])  # type: ignore[arg-type]
    with pytest.raises(DataError, match="vocabulary must be a Vocabulary, such as"):
        TextVectorizer(vocabulary=["to", "be"]).fit(["to be"])  # type: ignore[arg-type]


def test_a_file_that_held_the_counts_of_its_vocabulary_still_loads(tmp_path: Path) -> None:
    texts = ["the moon and the sea", "the sea and the moon", "a bank lends money", "money in a bank"]
    old = textmill.load(Path(__file__).parents[1] / "files" / "vectorizer-2.mill", verify=True)
    new = TextVectorizer(vocabulary=Vocabulary(min_df=1), weighting=Weighting(scheme="ntc")).fit(texts)
    assert old.transform(texts).toarray().tobytes() == new.transform(texts).toarray().tobytes()
    assert old.fingerprint() == new.fingerprint()
    old.save(tmp_path / "new.mill")
    assert textmill.load(tmp_path / "new.mill").fingerprint() == new.fingerprint()
