from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.corpus.readers import Document, read_documents
from textmill.corpus.splitters import split_documents
from textmill.corpus.tokenize import Tokenizer, split_sentences
from textmill.errors import DataError

TEXT = st.text(st.sampled_from(list("ab'. \n\t\r!?é–1,“中\u2028\u00a0🌧\u0301")), max_size=60)
fixed = settings(derandomize=True, max_examples=200, deadline=None)


def squeezed(text: str) -> str:
    return "".join(text.split())


def test_paragraphs_are_parted_by_blank_lines_of_any_kind():
    text = "\n\n one\nmore \n \t\n\n\ntwo\r\n\r\nthree\n\u3000\nfour\n"
    assert list(split_documents([text], "paragraph")) == ["one\nmore", "two", "three", "four"]


def test_sentences_are_those_of_the_tokenizer():
    text = "He paid 3.50. Then he left! Why?\n\nA title\n\nEnd."
    assert list(split_documents([text, ""], "sentence")) == split_sentences(text)


def test_passages_are_cut_where_tokens_begin():
    text = "(To be), or “not” to be; that is!"
    assert list(split_documents([text], "passage", chunk_size=3)) == ["(To be), or “", "not” to be; ", "that is!"]
    assert list(split_documents([text], "passage", chunk_size=8)) == [text]
    assert list(split_documents([text], "passage", chunk_size=100)) == [text]
    assert list(split_documents(["", " ", "!?", "a"], "passage", chunk_size=2)) == [" ", "!?", "a"]


def test_overlapping_passages_share_tokens_and_end_with_the_text():
    assert list(split_documents(["a b c d e"], "passage", chunk_size=3, overlap=2)) == ["a b c ", "b c d ", "c d e"]
    assert list(split_documents(["a b c d e"], "passage", chunk_size=3, overlap=1)) == ["a b c ", "c d e"]
    assert list(split_documents(["a b c d e f"], "passage", chunk_size=3, overlap=1)) == ["a b c ", "c d e ", "e f"]


def test_manuscripts_stay_whole():
    texts = ["One.\n\nTwo.", ""]
    assert list(split_documents(texts, "manuscript")) == texts


@fixed
@given(texts=st.lists(TEXT, max_size=4), size=st.integers(1, 5))
def test_passages_put_together_are_the_text(texts, size):
    assert "".join(split_documents(texts, "passage", chunk_size=size)) == "".join(texts)
    for text in texts:
        parts = list(split_documents([text], "passage", chunk_size=size))
        tokens = Tokenizer().spans(text)
        assert len(parts) == (max(1, -(-len(tokens) // size)) if text else 0)
        position, seen = 0, 0
        for part in parts:  # the tokens by their places in the whole text: a cut may change how a rest is cut
            inside = [token for token in tokens if position <= token[0] < position + len(part)]
            assert all(end <= position + len(part) for _, end in inside)
            seen += len(inside)
            position += len(part)
            assert len(inside) == size or part is parts[-1]
        assert seen == len(tokens)


@fixed
@given(text=TEXT, size=st.integers(2, 5), overlap=st.integers(1, 4))
def test_overlapping_passages_are_windows_over_the_tokens(text, size, overlap):
    if overlap >= size:
        return
    starts = [begin for begin, _ in Tokenizer().spans(text)]
    expected, first = [], 0
    while text:
        begin = starts[first] if first else 0
        end = starts[first + size] if first + size < len(starts) else len(text)
        expected.append(text[begin:end])
        if first + size >= len(starts):
            break
        first += size - overlap
    assert list(split_documents([text], "passage", chunk_size=size, overlap=overlap)) == expected


@fixed
@given(texts=st.lists(TEXT, max_size=4), unit=st.sampled_from(["paragraph", "sentence"]))
def test_nothing_but_white_space_is_lost_and_the_order_is_kept(texts, unit):
    parts = list(split_documents(texts, unit))
    assert squeezed("".join(parts)) == squeezed("".join(texts))
    assert all(part == part.strip() != "" for part in parts)
    if unit == "paragraph":
        assert not any(re.search(r"\n\s*\n", part) for part in parts)


def test_parts_of_documents_have_numbered_ids_and_the_place(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"id": "n1", "text": "a\\n\\nb"}\n{"id": "n2", "text": "c", "year": 7}\n')
    documents = read_documents(tmp_path / "x.jsonl")
    parts = split_documents(documents, "paragraph")
    expected = [("n1#1", "a", 1), ("n1#2", "b", 1), ("n2#1", "c", 2)]
    for _ in range(2):
        assert [(part.id, part.text, part.line) for part in parts] == expected
    *_, last = parts
    assert last == Document("n2#1", "c", {"id": "n2", "text": "c", "year": 7}, str(tmp_path / "x.jsonl"), 2)
    assert list(split_documents(documents, "manuscript")) == list(documents)


def test_the_result_is_lazy_and_as_repeatable_as_the_source():
    def texts():
        yield "a\n\nb"
        raise RuntimeError("read too far")

    stream = split_documents(texts(), "paragraph")
    assert iter(stream) is stream
    assert (next(stream), next(stream)) == ("a", "b")
    again = split_documents(["a\n\nb"], "paragraph")
    assert iter(again) is not again
    assert list(again) == list(again) == ["a", "b"]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"unit": "page"}, "unit must be one of 'manuscript', 'paragraph', 'sentence', 'passage', got 'page'"),
        ({"unit": "passage"}, "passages need a chunk_size"),
        ({"unit": "passage", "chunk_size": 0}, "chunk_size must be a whole number at least 1, got 0"),
        ({"unit": "passage", "chunk_size": 2, "overlap": 2}, "overlap must be a whole number .* below 2, got 2"),
        ({"unit": "passage", "chunk_size": 2, "overlap": -1}, "overlap must be a whole number at least 0"),
        ({"unit": "sentence", "chunk_size": 2}, "chunk_size and overlap are for unit='passage', not 'sentence'"),
        ({"unit": "paragraph", "overlap": 1}, "chunk_size and overlap are for unit='passage'"),
    ],
)
def test_wrong_arguments_are_refused_at_once(arguments, fault):
    with pytest.raises(DataError, match=fault):
        split_documents(["a"], **arguments)


def test_what_is_no_document_is_refused():
    with pytest.raises(DataError, match="documents is one text; pass a list of texts"):
        split_documents("a text", "sentence")
    with pytest.raises(DataError, match="a text or a Document is needed, not a value of type bytes"):
        list(split_documents([b"a"], "sentence"))
