"""Counting terms: against the definition, for any number of threads and any batching; rules, merging, files."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.counting import count
from reference.titles import COUNTS, STOP, TERMS, TITLES
from scipy import sparse

import textmill
from textmill._native import corpus as native
from textmill.corpus import (
    CharacterNgrams,
    Documents,
    Tokenizer,
    Vocabulary,
    read_documents,
    remap,
    sample_path,
    sample_texts,
)
from textmill.errors import DataError, ModelFileError

WORDS = st.sampled_from(["a", "b", "bb", "é", "", "x" * 40, "\U0001f600"])
TOKENS = st.lists(st.lists(WORDS, max_size=8), min_size=1, max_size=12)


def test_to_be_or_not_to_be() -> None:
    vocabulary = Vocabulary(order="sorted").fit(["to be or not to be"])
    X = vocabulary.transform(["to be or not to be"])
    assert vocabulary.terms_.to_list() == ["be", "not", "or", "to"]
    assert X.toarray().tolist() == [[2, 1, 1, 2]]
    assert X.nnz == 4


def test_the_sample_corpus_gives_the_printed_matrix() -> None:
    vocabulary = Vocabulary(stop_words=STOP, min_count=2)
    X = vocabulary.fit_transform(TITLES)
    assert sorted(vocabulary.terms_) == sorted(TERMS)
    assert np.array_equal(X.toarray()[:, [vocabulary[term] for term in TERMS]], COUNTS)
    assert (X.sum(), (X.data**2).sum(), X.nnz) == (29, 31, 28)
    three = {"user", "system", "trees", "graph"}
    assert all(vocabulary.document_frequency_[vocabulary[t]] == (3 if t in three else 2) for t in TERMS)
    assert vocabulary.documents_ == 9
    assert vocabulary.transform(["human computer interaction"]).sum() == 2


@given(TOKENS)
def test_counts_are_those_of_the_definition(documents: list[list[str]]) -> None:
    terms, d, c, rows = count(documents)
    vocabulary = Vocabulary()
    X = vocabulary.fit_transform(iter(documents))
    assert vocabulary.terms_.to_list() == terms
    assert vocabulary.document_frequency_.tolist() == d
    assert vocabulary.collection_frequency_.tolist() == c
    assert X.toarray().tolist() == rows
    assert (vocabulary.documents_, vocabulary.tokens_, vocabulary.nonzeros_) == (len(documents), sum(c), X.nnz)
    assert vocabulary.transform(documents).toarray().tolist() == rows
    assert X.dtype == X.indices.dtype == np.int32
    assert X.has_canonical_format


def state(vocabulary: Vocabulary, X: sparse.csr_matrix) -> tuple[bytes, ...]:
    """Everything that must be the same, as bytes."""
    arrays = (vocabulary.terms_.bytes, vocabulary.terms_.offsets, vocabulary.document_frequency_)
    more = (vocabulary.collection_frequency_, X.indptr, X.indices, X.data)
    return tuple(array.tobytes() for array in arrays + more)


@pytest.mark.parametrize("options", [{}, {"order": "sorted", "min_df": 2}, {"tokenizer": Tokenizer(stem="english")}])
def test_bytes_are_the_same_for_any_number_of_threads_and_any_batching(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = sample_texts(language=None) * 4
    seen = set()
    for batch in (1 << 22, 1 << 16, 1000):
        monkeypatch.setattr("textmill.corpus.tokenize.BATCH", batch)
        for jobs in (1, 2, 5, 8) if batch == 1 << 22 else (2,):
            vocabulary = Vocabulary(n_jobs=jobs, **options)
            seen.add(state(vocabulary, vocabulary.fit_transform(texts)))
            assert (vocabulary.transform(texts) != vocabulary.fit_transform(texts)).nnz == 0
    assert len(seen) == 1


def test_rules_remove_in_their_order_and_are_recorded() -> None:
    documents = [["a", "b", "c", "x"], ["a", "b", "c"], ["a", "b", "d", "d"], ["a", "e"]]
    vocabulary = Vocabulary(stop_words=["x", "nowhere"], max_df=0.75, min_df=2, keep=1).fit(documents)
    assert vocabulary.terms_.to_list() == ["b"]
    assert vocabulary.removed_ == {
        "stop_words": {"types": 1, "tokens": 1},
        "max_df": {"types": 1, "tokens": 4},
        "min_df": {"types": 2, "tokens": 3},
        "keep": {"types": 1, "tokens": 2},
    }
    assert Vocabulary(min_count=2, max_df=2).fit(documents).terms_.to_list() == ["c", "d"]
    assert Vocabulary(keep=2, rank_by="occurrences", max_df=2).fit(documents).terms_.to_list() == ["c", "d"]
    assert Vocabulary(keep=2, max_df=2).fit(documents).terms_.to_list() == ["c", "x"]  # x and d tie: the smaller id
    assert Vocabulary(min_df=0.5).fit(documents).terms_.to_list() == ["a", "b", "c"]


@given(TOKENS, TOKENS)
@settings(max_examples=50)
def test_merging_parts_is_counting_the_whole(left: list[list[str]], right: list[list[str]]) -> None:
    for order in ("appearance", "sorted"):
        parts = [Vocabulary(order=order).fit(part) for part in (left, right)]
        merged, whole = parts[0].merge(parts[1]), Vocabulary(order=order).fit(left + right)
        for name in ("terms_", "documents_", "tokens_", "nonzeros_"):
            assert getattr(merged, name) == getattr(whole, name)
        assert np.array_equal(merged.document_frequency_, whole.document_frequency_)
        assert np.array_equal(merged.collection_frequency_, whole.collection_frequency_)


def test_pruning_later_equals_pruning_at_once_and_bags_follow() -> None:
    texts = sample_texts()
    full = Vocabulary()
    X = full.fit_transform(texts)
    small = full.prune(min_df=3, max_df=0.2, keep=500)
    at_once = Vocabulary(min_df=3, max_df=0.2, keep=500)
    Y = at_once.fit_transform(texts)
    assert small.terms_ == at_once.terms_
    assert small.removed_ == at_once.removed_
    assert (remap(X, full.mapping_to(small), len(small)) != Y).nnz == 0
    with pytest.raises(DataError, match="merge first, then prune"):
        small.merge(full)


def test_merging_refuses_another_tokenizer() -> None:
    with pytest.raises(DataError, match="use one tokenizer"):
        Vocabulary().fit(["a"]).merge(Vocabulary(tokenizer=CharacterNgrams()).fit(["abc"]))


def test_normalized_terms_count_documents_once() -> None:
    vocabulary = Vocabulary(tokenizer=Tokenizer(normalize=lambda token: "" if token == "the" else token.rstrip("s")))
    X = vocabulary.fit_transform(["the mill mills", "Mills"])
    assert vocabulary.terms_.to_list() == ["mill"]
    assert vocabulary.document_frequency_.tolist() == [2]
    assert X.toarray().tolist() == [[2], [1]]
    bags = vocabulary.bags(["mills the mill saw"])
    assert [chunk.toarray().tolist() for chunk in bags] == [[[2]]]
    assert (bags.tokens, bags.unknown) == (2, 1)  # what the normalizer drops is not unknown


def test_any_callable_can_be_the_tokenizer() -> None:
    vocabulary = Vocabulary(tokenizer=str.split)
    assert vocabulary.fit_transform(["A a", "a"]).toarray().tolist() == [[1, 1], [0, 1]]
    assert vocabulary.transform(iter(["a b"])).toarray().tolist() == [[0, 1]]


def test_bags_tell_what_was_not_known(tmp_path: Path) -> None:
    vocabulary = Vocabulary().fit(["to be"])
    bags = vocabulary.bags(["to be or not", "or", "be"])
    for _ in range(2):  # a list can be read again, and the totals start anew
        assert sum(chunk.shape[0] for chunk in bags) == 3
        assert (bags.documents, bags.tokens, bags.unknown, bags.empty) == (3, 3, 3, 1)


def test_empty_streams_and_empty_documents() -> None:
    vocabulary = Vocabulary()
    for use in (vocabulary.fit, vocabulary.fit_transform, Vocabulary(memory=1).fit):
        with pytest.raises(DataError, match="there are no documents to count"):
            use([])
    assert vocabulary.fit_transform(["", "  "]).shape == (2, 0)
    assert vocabulary.transform(["a"]).shape == (1, 0)
    assert Vocabulary().fit(["a b"]).transform([]).shape == (0, 2)


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ("one text", r"got one text; pass \[text\]"),
        ([1, 2], "document:1:1: a document must be a list or tuple of tokens, not int"),
        (["fine", None], "document:2:1: a document must be a str, not NoneType"),
        (["fine", ["tokens"]], "document:2:1: a document must be a str, not list"),
        ([["a", 3]], "document:1:2: a token must be a str, not int"),
        (["ok", "x\udc80"], "document:2:2: the text holds a lone surrogate"),
        ([["\udc80"]], "document:1:1: the text holds a lone surrogate"),
    ],
)
def test_bad_documents_are_named(documents: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Vocabulary().fit(documents)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_df": -1}, "min_df must be a number at least 0"),
        ({"max_df": 1.5}, "max_df must be a number at least 0 and at most 1"),
        ({"keep": 0}, "keep must be a whole number at least 1"),
        ({"order": "random"}, "order must be one of"),
        ({"rank_by": "df"}, "rank_by must be one of"),
        ({"stop_words": "the"}, "stop_words must be a list of words"),
        ({"min_count": 1.5}, "min_count must be a whole number"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_wrong_parameters_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Vocabulary(**options).fit(["a"])


def test_an_unfitted_vocabulary_says_so() -> None:
    for use in (lambda v: v.transform(["a"]), lambda v: v["a"], len, lambda v: v.prune(), lambda v: v.bags([])):
        with pytest.raises(DataError, match="not fitted"):
            use(Vocabulary())


def test_looking_up_terms() -> None:
    vocabulary = Vocabulary().fit(["to be"])
    assert (vocabulary["be"], "be" in vocabulary, "\ud800" in vocabulary, 3 in vocabulary) == (1, True, False, False)
    with pytest.raises(KeyError, match="question"):
        vocabulary["question"]
    assert vocabulary.get_feature_names_out().tolist() == ["to", "be"]
    with pytest.raises(DataError, match="is no rule"):
        vocabulary.prune(min_tf=3)


def test_saving_and_loading_keeps_everything_and_the_bytes(tmp_path: Path) -> None:
    vocabulary = Vocabulary(min_df=2, max_df=0.5, tokenizer=Tokenizer(keep=["dates"], stem="english"))
    X = vocabulary.fit_transform(sample_texts())
    vocabulary.save(tmp_path / "v.mill")
    loaded = textmill.load(tmp_path / "v.mill", expect=Vocabulary)
    assert loaded.get_params()["tokenizer__stem"] == "english"
    assert loaded.removed_ == vocabulary.removed_
    assert (loaded.transform(sample_texts()) != X).nnz == 0
    loaded.save(tmp_path / "again.mill")
    assert (tmp_path / "v.mill").read_bytes() == (tmp_path / "again.mill").read_bytes()
    assert (pickle.loads(pickle.dumps(loaded)).transform(sample_texts()[:3]) != X[:3]).nnz == 0  # noqa: S301


def test_a_file_with_contradictions_is_refused(tmp_path: Path) -> None:
    vocabulary = Vocabulary().fit(["to be to", "to do"])
    vocabulary.save(tmp_path / "v.mill")
    saved = (tmp_path / "v.mill").read_bytes()
    frequencies = vocabulary.document_frequency_.tobytes()
    assert saved.count(frequencies) == 1
    (tmp_path / "v.mill").write_bytes(saved.replace(frequencies, (vocabulary.document_frequency_ * 9).tobytes()))
    with pytest.raises(ModelFileError, match="contradict"):
        textmill.load(tmp_path / "v.mill", verify=True)
    with pytest.raises(ModelFileError, match="contradict"):
        textmill.load(tmp_path / "v.mill").transform(["to be"])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("document_frequency_", [-1, 1, 1], "contradict"),
        ("document_frequency_", [3, 1, 1], "contradict"),  # of two documents
        ("collection_frequency_", [3, 0, 1], "contradict"),
        ("removed_", {"min_df": {"types": 1}}, "removed terms"),
        ("removed_", {"min_df": {"types": 1, "tokens": 1.0}}, "removed terms"),
        ("removed_", {"min_df": {"types": 1, "tokens": 1, "more": 1}}, "removed terms"),
        ("removed_", {"min_df": [1, 1]}, "removed terms"),
        ("stop_words_", ["the", 3], "recognized words"),
        ("terms_", textmill.model.StringTable(["to", "be", "to"]), "occurs twice"),
    ],
)
def test_values_that_no_counting_gives_are_refused(name: str, value: Any, message: str) -> None:
    vocabulary = Vocabulary().fit(["to be to", "to do"])
    vocabulary.verify()
    setattr(vocabulary, name, np.array(value) if name.endswith("frequency_") else value)
    with pytest.raises(ModelFileError, match=message):
        vocabulary.verify()


def test_merging_refuses_other_ngrams_and_pruning_by_recognized_words_needs_all_counts() -> None:
    with pytest.raises(DataError, match="use one range"):
        Vocabulary().fit(["a"]).merge(Vocabulary(ngrams=(1, 2)).fit(["a"]))
    whole = Vocabulary().fit(["a b", "b c c", "c"])
    assert whole.prune(stop_words="auto").terms_ == whole.terms_
    with pytest.raises(DataError, match="recognize first, then prune"):
        whole.prune(min_df=2).prune(stop_words="auto")
    assert whole.prune(min_df=2).prune(max_df=1).removed_ == {
        "min_df": {"types": 1, "tokens": 1},
        "max_df": {"types": 2, "tokens": 5},
    }
    twice = whole.prune(stop_words=["a"]).prune(stop_words=["b"])
    assert twice.removed_ == {"stop_words": {"types": 2, "tokens": 3}}


def test_batches_with_ever_more_terms_make_one_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textmill.corpus.tokenize.BATCH", 1)  # characters of a batch
    vocabulary = Vocabulary()
    texts = ["a", "b a b", "", "c", "a c d"]
    X = vocabulary.fit_transform(texts)
    assert X.toarray().tolist() == [[1, 0, 0, 0], [1, 2, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [1, 0, 1, 1]]
    assert Vocabulary().fit_transform(["b a b"]).toarray().tolist() == [[2, 1]]


def test_scikit_learn_takes_it_in_a_pipeline() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    texts = ["good fine", "fine good good", "bad poor", "poor bad bad"] * 3
    search = GridSearchCV(make_pipeline(Vocabulary(), LogisticRegression()), {"vocabulary__min_df": [1, 2]}, cv=2)
    assert search.fit(texts, [1, 1, 0, 0] * 3).predict(["good", "poor"]).tolist() == [1, 0]


def test_several_python_threads_can_share_a_vocabulary() -> None:
    texts = sample_texts()
    vocabulary = Vocabulary().fit(texts)
    expected = vocabulary.transform(texts)
    wrong: list[int] = []

    def work() -> None:
        for _ in range(5):
            wrong.append((vocabulary.transform(texts) != expected).nnz)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [0] * 20


def test_a_table_shared_by_threads_counts_every_document() -> None:
    table = native.TermTable()
    rules = Tokenizer().rules()
    threads = [
        threading.Thread(target=lambda: table.count(["a b"] * 500, rules, threads=2, rows=False, first=0))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert table.terms_from(0)[2].tolist() == [4000, 4000]


def test_the_table_refuses_what_would_crash_it() -> None:
    with pytest.raises(ValueError, match="occurs twice"):
        native.TermTable(np.frombuffer(b"aa", np.uint8), np.array([0, 1, 2]), 1)
    with pytest.raises(ValueError, match="offsets of strings must end with"):
        native.TermTable(np.frombuffer(b"aa", np.uint8), np.array([0, 1, 3]), 1)
    with pytest.raises(ValueError, match="decrease"):
        native.TermTable(np.frombuffer(b"aa", np.uint8), np.array([0, 2, 1, 2]), 1)
    table = native.TermTable()
    with pytest.raises(ValueError, match="out of range"):
        table.tally(np.array([0], np.int32), np.array([1], np.int32))
    with pytest.raises(ValueError, match="outside the mapping"):
        native.remap(
            np.array([0, 1]), np.array([5], np.int32), np.array([1], np.int32), np.zeros(2, np.int32), threads=1
        )
    with pytest.raises(ValueError, match="number of entries"):
        native.remap(
            np.array([0, 9]), np.array([0], np.int32), np.array([1], np.int32), np.zeros(2, np.int32), threads=1
        )
    with pytest.raises(ValueError, match="threads"):
        table.count([], None, threads=0, rows=False, first=0)


def test_a_generator_is_read_once_and_never_held() -> None:
    alive = 0

    def stream() -> Iterator[str]:
        nonlocal alive
        for i in range(1000):
            alive += 1
            yield f"document {i}"

    assert Vocabulary().fit(stream()).documents_ == alive == 1000


@pytest.mark.data
def test_reuters_counts_equal_those_of_plain_python(data: Path) -> None:
    import gzip
    import json

    file = next((data / "reuters").glob("*.jsonl*"))
    with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines][:2000]
    tokens = list(Tokenizer().tokenize(texts))
    vocabulary = Vocabulary()
    X = vocabulary.fit_transform(texts)
    assert X.sum() == sum(map(len, tokens)) == vocabulary.tokens_
    for i in (0, 77, 1999):
        row = {vocabulary.terms_[int(t)]: int(v) for t, v in zip(X[i].indices, X[i].data, strict=True)}
        assert row == {token: tokens[i].count(token) for token in tokens[i]}


def test_a_cluster_takes_a_single_document_and_recognizes_function_words(threads: Any) -> None:
    assert Vocabulary().fit(["to be or not to be"], cluster=threads).terms_.to_list() == ["to", "be", "or", "not"]
    texts = list(sample_texts())
    here, there = Vocabulary(stop_words="auto"), Vocabulary(stop_words="auto")
    here.fit(texts)
    there.fit(texts, cluster=threads)
    assert there.stop_words_ == here.stop_words_ != []
    assert there.terms_.to_list() == here.terms_.to_list()
    assert Vocabulary().fit(texts[:3], cluster=threads).stop_words_ == []


def test_a_cluster_reads_files_on_its_workers_and_refuses_one_text(threads: Any, monkeypatch: Any) -> None:
    with pytest.raises(DataError, match="got one text"):
        Vocabulary().fit("to be or not to be", cluster=threads)
    documents = read_documents(sample_path())
    here = Vocabulary().fit(documents)
    texts = Documents.texts

    def reading(self: Documents) -> Any:
        assert threading.current_thread() is not threading.main_thread(), "read before it was sent"
        return texts(self)

    monkeypatch.setattr(Documents, "texts", reading)
    assert Vocabulary().fit(documents, cluster=threads).terms_.to_list() == here.terms_.to_list()


def test_a_copy_keeps_the_tokenizer_as_it_is() -> None:
    vocabulary = Vocabulary(tokenizer=Tokenizer(digits="drop")).fit(["one 1 two", "two 2"])
    smaller = vocabulary.prune(min_df=2)
    assert (smaller.tokenizer, smaller.terms_.to_list()) == (vocabulary.tokenizer, ["two"])


def test_weights_below_zero_have_terms_too_and_bags_begin_with_nothing_read() -> None:
    vocabulary = Vocabulary().fit(["to be or not"])
    assert vocabulary.inverse_transform([[-2.0, 0, 0, 1.5]]) == [["to", "not"]]
    bags = vocabulary.bags(["to be", "or"])
    assert (bags.documents, bags.tokens, bags.unknown, bags.empty) == (0, 0, 0, 0)


def test_a_file_of_the_first_format_becomes_one_of_the_second() -> None:
    saved = Vocabulary.upgrade(SimpleNamespace(fitted=True, state={}, format=1))  # type: ignore[arg-type]
    assert (saved.format, saved.state) == (2, {"stop_words_": []})
