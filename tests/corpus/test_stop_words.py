"""Function words recognized from a corpus: what they are, in several languages, on every road through the counter."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import textmill
from textmill.corpus import FUNCTION_WORDS, CharacterNgrams, Vocabulary, read_documents, sample_articles, sample_texts
from textmill.corpus.stop_words import function_words_of
from textmill.errors import DataError

# Words of closed classes that any sample of the language has in plenty.
CLOSED = {
    "cs": "a v na se je k o s z že pro do",
    "de": "die der und in das zu den ist mit von nicht ein",
    "es": "de la que el en y a los del se las por",
    "fr": "de la le et les des en à du un une",
    "it": "di e il la che in a per un è",
    "pl": "w i na z się do o",
    "sk": "a v na sa je s z o že",
    "sl": "je v in na se za da so z pa",
}


def test_the_list_is_added_only_where_the_corpus_is_english() -> None:
    found = Vocabulary(stop_words="auto").fit(sample_texts())
    assert set(FUNCTION_WORDS) <= set(found.stop_words_)
    assert not set(found.stop_words_) & set(found.terms_)
    assert found.removed_["stop_words"]["types"] > 200
    spanish = ["el molino de la villa y el agua de la noria en el río de la sierra"] * 400
    words = Vocabulary(stop_words="auto").fit(spanish).stop_words_
    assert {"el", "de", "la", "y", "en"} <= set(words)
    assert "of" not in words


def test_a_corpus_too_small_to_tell_loses_only_words_of_the_list() -> None:
    texts = ["ships sail the sea and ships sail", "birds fly in the sky and birds fly"] * 20
    vocabulary = Vocabulary(stop_words="auto").fit(texts)
    assert vocabulary.terms_.to_list() == ["ships", "sail", "sea", "birds", "fly", "sky"]


def test_a_word_that_comes_in_clusters_or_is_long_is_kept() -> None:
    n = 1000
    words = ["bursty", "spread", "x" * 20]
    d, c = np.array([40, 950, 950]), np.array([2500, 2500, 2500])
    assert function_words_of(words, d, c, n, 500_000) == ["spread"]


@pytest.mark.data
@pytest.mark.parametrize("language", CLOSED)
def test_function_words_of_other_languages_are_recognized(language: str, data: Path) -> None:
    path = data / "language" / "sentences" / f"{language}.txt"
    vocabulary = Vocabulary(stop_words="auto").fit(read_documents(path, unit="line"))
    assert set(CLOSED[language].split()) <= set(vocabulary.stop_words_)
    assert len(vocabulary.stop_words_) < 120
    assert sum(map(len, vocabulary.stop_words_)) < 4 * len(vocabulary.stop_words_)  # short, most of them


def test_every_road_gives_the_same_words(tmp_path: Path) -> None:
    texts = sample_texts()
    one = Vocabulary(stop_words="auto", n_jobs=1).fit(texts)
    two = Vocabulary(stop_words="auto", n_jobs=2, memory="100kB").fit(texts)
    rows = Vocabulary(stop_words="auto")
    X = rows.fit_transform(texts)
    pruned = Vocabulary().fit(texts).prune(stop_words="auto")
    for other in (two, rows, pruned):
        assert other.stop_words_ == one.stop_words_
        assert other.terms_.to_list() == one.terms_.to_list()
        assert other.removed_ == one.removed_
    assert (one.transform(texts) != X).nnz == 0
    one.save(tmp_path / "v.mill")
    assert textmill.load(tmp_path / "v.mill").stop_words_ == one.stop_words_


@pytest.mark.parametrize("memory", [None, "1MB"])
def test_ngrams_with_a_function_word_go(memory: str | None) -> None:
    words = Vocabulary(stop_words="auto").fit(sample_texts()).stop_words_
    vocabulary = Vocabulary(stop_words="auto", ngrams=(1, 2), memory=memory).fit(sample_texts())
    assert vocabulary.stop_words_ == words
    assert not any(set(words) & set(term.split()) for term in vocabulary.terms_)
    assert any(" " in term for term in vocabulary.terms_)


def test_where_there_are_no_single_words_it_is_refused() -> None:
    for options in ({"ngrams": (2, 3)}, {"tokenizer": CharacterNgrams()}):
        with pytest.raises(DataError, match="needs single words"):
            Vocabulary(stop_words="auto", **options).fit(["a b"])  # type: ignore[arg-type]
    with pytest.raises(DataError, match="or 'auto'"):
        Vocabulary(stop_words="english").fit(["a b"])
    with pytest.raises(DataError, match="recognize first"):
        Vocabulary(min_df=2).fit(sample_texts()).prune(stop_words="auto")


def test_a_file_of_the_first_format_still_loads() -> None:
    path = Path(__file__).parent.parent / "files" / "vocabulary-1.mill"
    vocabulary = textmill.load(path)
    assert (vocabulary.stop_words_, vocabulary.ngrams) == ([], (1, 1))
    assert vocabulary.transform(["the mill"]).sum() == 2
    vectorizer = textmill.load(path.with_name("vectorizer-1.mill"))
    assert vectorizer.vocabulary_.stop_words_ == []
    assert vectorizer.transform(["the river turns"]).nnz == 3


def test_no_word_of_the_sample_that_names_a_subject_is_taken() -> None:
    subjects = {json.loads(json.dumps(article))["subject"].lower() for article in sample_articles()}
    assert not subjects & set(Vocabulary(stop_words="auto").fit(sample_texts()).stop_words_)
