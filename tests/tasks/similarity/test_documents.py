"""similarity.py: documents by text and by id, the model inside the file, shards, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import textmill
from textmill.corpus import Document, Vocabulary, read_documents, sample_path
from textmill.errors import DataError
from textmill.tasks import SimilarDocuments, query_shards
from textmill.vectors import TextVectorizer, Weighting, pairwise_matrix


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return list(read_documents(sample_path()))


@pytest.fixture(scope="module")
def model(documents: list[Document]) -> TextVectorizer:
    return TextVectorizer(vocabulary=Vocabulary(max_df=0.2)).fit(document.text for document in documents)


@pytest.fixture
def similar(model: TextVectorizer, documents: list[Document]) -> SimilarDocuments:
    return SimilarDocuments(model=model).fit(documents)


def test_a_question_finds_what_all_cosines_find(similar: SimilarDocuments, documents: list[Document]) -> None:
    texts = [documents[5].text, "goals and goalkeepers", "how do I bake bread?"]
    X = similar.model.transform([document.text for document in documents])
    cosines = pairwise_matrix(similar.model.transform(texts), X, measure="cosine")
    for row, found in zip(cosines, similar.query(texts, k=7), strict=True):
        best = np.argsort(-row, kind="stable")[:7]
        assert found.scores == pytest.approx(row[best], abs=1e-6)
        assert found.ids[0] == documents[best[0]].id


def test_near_duplicates_are_found(similar: SimilarDocuments) -> None:
    found = {(left, right) for left, right, _ in similar.pairs(threshold=0.8)}
    assert sum(right == f"{left}-copy" for left, right in found) >= 7
    assert similar.query_ids(["wildlife-20"], k=1)[0].ids == ["wildlife-20-copy"]


def test_no_known_word_is_an_empty_answer_with_a_reason(similar: SimilarDocuments) -> None:
    for text in ("", "qqqq xxxx", "?!"):
        (found,) = similar.query([text])
        assert len(found) == 0
        assert found.reason == "no word of the query is known to the model"
    known, unknown = similar.query(["the moon", "qqqq"], k=3)
    assert len(known) == 3
    assert len(unknown) == 0


def test_documents_come_and_go(similar: SimilarDocuments) -> None:
    new = Document("new", "A comet with two tails", {}, "news.txt", 1)
    assert similar.add([new]) == 1
    assert similar.query(["comet tails"], k=1)[0].ids == ["new"]
    assert similar.query(["comet tails"], k=1, deny=["new"])[0].ids != ["new"]
    assert similar.query(["bread"], k=1, allow=["new", "unknown"])[0].ids == ["new"]
    with pytest.raises(DataError, match=r"news.txt:1: the id 'new' is there twice"):
        similar.add([new])
    similar.remove(["new"])
    assert similar.query(["comet tails"], k=1)[0].ids != ["new"]
    with pytest.raises(DataError, match="the index has no document with the id 'new'"):
        similar.remove(["new"])
    assert similar.add([new]) == 1


def test_a_file_holds_all_that_a_question_needs(similar: SimilarDocuments, tmp_path: Path) -> None:
    similar.remove(["astronomy-01"])
    similar.save(tmp_path / "index.mill")
    loaded = textmill.load(tmp_path / "index.mill", verify=True)
    mine, theirs = similar.query(["tides of the moon"]), loaded.query(["tides of the moon"])
    assert mine[0].ids == theirs[0].ids
    assert np.array_equal(mine[0].scores, theirs[0].scores)
    loaded.save(tmp_path / "again.mill")
    assert (tmp_path / "index.mill").read_bytes() == (tmp_path / "again.mill").read_bytes()


def test_an_index_and_a_model_that_do_not_belong_together_are_refused(similar: SimilarDocuments) -> None:
    other = TextVectorizer().fit(["another corpus", "of three", "texts"])
    same = TextVectorizer(**similar.model.get_params(deep=False))
    same._take(similar.model.vocabulary_)
    similar.set_params(model=same)
    assert len(similar.query(["moon"])[0])  # equal models are the same model
    similar.set_params(model=other)
    for call in (lambda: similar.query(["moon"]), lambda: similar.add(["moon"])):
        with pytest.raises(DataError, match="the index and the model do not belong together"):
            call()


def test_shards_answer_like_one_index(model: TextVectorizer, documents: list[Document], tmp_path: Path) -> None:
    whole = SimilarDocuments(model=model).fit(documents)
    paths = []
    for i in range(3):
        paths.append(tmp_path / f"{i}.mill")
        SimilarDocuments(model=model).fit(documents[i * 110 : (i + 1) * 110]).save(paths[-1])
    texts = ["the moon", "bread and butter", "qqqq"]
    for one, many in zip(whole.query(texts, k=9), query_shards(paths, texts, k=9), strict=True):
        assert one.ids == many.ids
        assert np.array_equal(one.scores, many.scores)
        assert one.reason == many.reason
    other = TextVectorizer(weighting=Weighting(scheme="nnc")).fit(["the moon", "at sea"])
    SimilarDocuments(model=other).fit(["the moon"]).save(tmp_path / "other.mill")
    with pytest.raises(DataError, match="made with another model or measure"):
        query_shards([*paths, tmp_path / "other.mill"], ["moon"])


def test_shards_answer_on_a_cluster_too(
    client: Any, model: TextVectorizer, documents: list[Document], tmp_path: Path
) -> None:
    paths = [tmp_path / "0.mill", tmp_path / "1.mill"]
    for path, part in zip(paths, (documents[:150], documents[150:]), strict=True):
        SimilarDocuments(model=model).fit(part).save(path)
    there = query_shards(paths, ["tides of the moon"], k=5, cluster=client)
    assert there[0].ids == query_shards(paths, ["tides of the moon"], k=5)[0].ids


def test_a_topic_model_is_a_model_for_texts(documents: list[Document], tmp_path: Path) -> None:
    from textmill.topics import LSA

    vectorizer = TextVectorizer(vocabulary=Vocabulary(min_df=2, max_df=0.2))
    lsa = LSA(n_topics=40, vectorizer=vectorizer, random_state=0).fit([document.text for document in documents])
    for method in ("auto", "va"):
        SimilarDocuments(model=lsa, method=method).fit(documents).save(tmp_path / "index.mill")
        similar = textmill.load(tmp_path / "index.mill", expect=SimilarDocuments)
        known, unknown = similar.query(["tides raised by the Moon", "qqqq"], k=3)
        assert all(name.startswith("astronomy") for name in known.ids)
        assert unknown.reason == "no word of the query is known to the model"
        assert similar.query_ids(["wildlife-20"], k=1)[0].ids == ["wildlife-20-copy"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda similar: similar.query("one text"), "texts must be a list of texts"),
        (lambda similar: similar.query(["a"], k=0), "k must be a whole number"),
        (lambda similar: SimilarDocuments(model="tfidf").fit(["a"]), "model must be a textmill model"),
        (lambda similar: SimilarDocuments(model=similar.model).fit([]), "there are no documents to index"),
        (lambda similar: SimilarDocuments(model=similar.model).query(["a"]), "is not fitted yet"),
        (lambda similar: query_shards([], ["a"]), "there are no index files"),
    ],
)
def test_bad_input_has_one_clear_error(similar: SimilarDocuments, call: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        call(similar)
