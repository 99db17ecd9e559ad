"""Term lists of other tools."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from textmill.corpus import Vocabulary, read_dictionary, read_terms, sample_texts, write_dictionary, write_terms
from textmill.errors import DataError
from textmill.model import load


def test_gensim_reads_our_dictionary_and_we_read_its(tmp_path: Path) -> None:
    from gensim.corpora import Dictionary

    vocabulary = Vocabulary(min_df=2).fit(sample_texts())
    write_dictionary(tmp_path / "ours.txt.gz", vocabulary)
    write_dictionary(tmp_path / "ours.txt", vocabulary)
    theirs = Dictionary.load_from_text(str(tmp_path / "ours.txt"))
    assert theirs.token2id == {term: i for i, term in enumerate(vocabulary.terms_)}
    assert theirs.num_docs == vocabulary.documents_
    assert [theirs.dfs[i] for i in range(len(theirs))] == vocabulary.document_frequency_.tolist()
    for sort in (True, False):
        theirs.save_as_text(str(tmp_path / "theirs.txt"), sort_by_word=sort)
        again = read_dictionary(tmp_path / "theirs.txt")
        assert again.terms_ == vocabulary.terms_ == read_dictionary(tmp_path / "ours.txt.gz").terms_
        assert again.document_frequency_.tolist() == vocabulary.document_frequency_.tolist()
        assert again.documents_ == vocabulary.documents_


def test_plain_lists_make_the_round_trip(tmp_path: Path) -> None:
    vocabulary = Vocabulary().fit(["one two two"])
    write_terms(tmp_path / "vocab.txt", vocabulary)
    assert (tmp_path / "vocab.txt").read_text() == "one\ntwo\n"
    read = read_terms(tmp_path / "vocab.txt")
    assert read.transform(["two one two three"]).toarray().tolist() == [[1, 2]]
    read.save(tmp_path / "v.mill")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"3\n0 a 1\n", "2: a line must be"),
        (b"3\n0\ta\t1\n0\tb\t1\n", "3: id 0 occurs twice"),
        (b"3\n0\ta\t1\n2\tb\t1\n", "id 1 is missing; close the gaps"),
        (b"3\n0\ta\t1\n1\ta\t1\n", "term 'a' occurs twice"),
        (b"3\n0\ta\t-1\n", "2: a line must be"),
    ],
)
def test_damaged_dictionaries_are_refused(text: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_dictionary(io.BytesIO(text))


def test_terms_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    odd = Vocabulary().fit([["a\tb", "c\nd"]])
    with pytest.raises(DataError, match="tab or a line end"):
        write_dictionary(tmp_path / "d.txt", odd)
    with pytest.raises(DataError, match="line end"):
        write_terms(tmp_path / "d.txt", odd)
    with pytest.raises(DataError, match="occurs twice"):
        read_terms(io.BytesIO(b"a\na\n"))
    assert not list(tmp_path.iterdir())


DOCUMENTS = ["the pizza is good", "beer and pizza", "the bear", "pizza, pizza"]


@pytest.mark.parametrize("memory", [None, "1MB"])
def test_terms_of_a_list_stay_in_every_fit(memory: str | None) -> None:
    terms = read_terms(io.BytesIO(b"wine\npizza\nbeer\n")).set_params(memory=memory)
    expected = [[0, 1, 0], [0, 1, 1], [0, 0, 0], [0, 2, 0]]
    assert terms.fit_transform(DOCUMENTS).toarray().tolist() == expected
    assert terms.fit(DOCUMENTS).transform(DOCUMENTS).toarray().tolist() == expected
    assert terms.terms_.to_list() == ["wine", "pizza", "beer"]
    assert terms.document_frequency_.tolist() == [0, 3, 1]
    assert terms.collection_frequency_.tolist() == [0, 4, 1]
    assert (terms.documents_, terms.tokens_) == (4, 11)
    assert terms.removed_ == {"fixed": {"types": 5, "tokens": 6}}
    assert terms.fit_transform(["nothing of it"]).toarray().tolist() == [[0, 0, 0]]


def test_terms_of_a_list_stay_in_pipelines_vectorizers_clones_and_files(tmp_path: Path) -> None:
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline

    from textmill.vectors import TextVectorizer, Weighting

    terms = read_terms(io.BytesIO(b"pizza\nbeer\n"))
    for steps in (Pipeline([("c", terms), ("t", Weighting(idf="smooth"))]), TextVectorizer(vocabulary=terms)):
        for one in (steps, clone(steps)):
            assert one.fit_transform(DOCUMENTS).shape == (4, 2)
    assert clone(terms).terms_.to_list() == ["pizza", "beer"]
    assert not clone(Vocabulary().fit(DOCUMENTS)).__sklearn_is_fitted__()
    terms.save(tmp_path / "terms.mill")
    assert load(tmp_path / "terms.mill").fit(DOCUMENTS).terms_.to_list() == ["pizza", "beer"]
    assert terms.fit(DOCUMENTS).prune(min_df=2).fit(DOCUMENTS).terms_.to_list()[0] == "the"


def test_rules_and_fixed_terms_exclude_each_other() -> None:
    terms = read_terms(io.BytesIO(b"pizza\nbeer\n"))
    with pytest.raises(DataError, match="the terms are fixed, so min_df has none to remove"):
        terms.set_params(min_df=2).fit(DOCUMENTS)
    with pytest.raises(DataError, match="there are no terms to keep"):
        Vocabulary(fixed=True).fit(DOCUMENTS)
