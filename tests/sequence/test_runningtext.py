"""Running text: places that are exact, tokens, lines, and taggers that cannot read it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.corpus import sample_chunks
from textmill.errors import DataError
from textmill.sequence import CRF, label_text, runningtext, split_labels, token_spans
from textmill.sequence.defaults import default_patterns


@pytest.fixture(scope="module")
def tagger() -> CRF:
    data = split_labels(sample_chunks()[:150])
    return CRF(patterns=default_patterns(1), max_iter=10).fit(data.X, data.y)


TEXT = "\tThe mill stood by the river;\r\nit was “very old”!  Its owner, Mr. Hill, left?\n\n\u3000The end\u200b."


def test_every_place_is_exact(tagger: CRF) -> None:
    sentences = list(label_text(tagger, TEXT))
    assert [sentence.text for sentence in sentences][:2] == ["The mill stood by the river;", "it was “very old”!"]
    for sentence in sentences:
        assert TEXT[sentence.begin : sentence.end] == sentence.text
        assert len(sentence.tokens) == len(sentence.labels)
        for span in sentence.spans:
            assert TEXT[span.begin : span.end] == span.text
            assert (span.begin, span.end) == (
                min(begin for begin, end in sentence.tokens if end > span.begin),
                max(end for begin, end in sentence.tokens if begin < span.end),
            )
    words = [[TEXT[a:b] for a, b in sentence.tokens] for sentence in sentences]
    assert words == [
        ["The", "mill", "stood", "by", "the", "river", ";"],
        ["it", "was", "“", "very", "old", "”", "!"],
        ["Its", "owner", ",", "Mr", "."],
        ["Hill", ",", "left", "?"],
        ["The", "end", "."],
    ]
    assert [sentence.labels for sentence in sentences] == tagger.predict(words)


def test_batches_do_not_change_the_answers(tagger: CRF, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = list(label_text(tagger, TEXT))
    monkeypatch.setattr(runningtext, "BATCH", 1)
    assert list(label_text(tagger, TEXT)) == whole


def test_lines_are_joined_on_demand(tagger: CRF) -> None:
    text = "The mill stood\nby the\r\nriver.\n\nIt was old\n \nand wet."
    joined = [sentence.text for sentence in label_text(tagger, text, join_lines=True)]
    assert joined == ["The mill stood\nby the\r\nriver.", "It was old", "and wet."]
    assert len(list(label_text(tagger, text))) == 5


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("don't stop", "don't stop"),
        ("state-of-the-art - yes", "state-of-the-art - yes"),
        ("1,000.50 (about 3.5%)!", "1,000.50 ( about 3.5 % ) !"),
        ("U.S.A., e.g. here...", "U.S.A. , e.g. here ..."),
        ("¿Qué? «sí»", "¿ Qué ? « sí »"),
        ("re\u0301sume\u0301-s", "re\u0301sume\u0301-s"),
        ("a- -b", "a - - b"),
        ("\ufeffx\u200b", "x"),
        (" ", ""),
    ],
)
def test_tokens(text: str, tokens: str) -> None:
    assert [text[begin:end] for begin, end in token_spans(text)] == tokens.split()


@settings(derandomize=True, max_examples=200)
@given(st.text(st.sampled_from("aé1 .-\n'\"…中🙂\u0301\u200d"), max_size=20))
def test_tokens_cover_all_that_is_seen_and_do_not_overlap(text: str) -> None:
    spans = token_spans(text)
    assert all(begin < end for begin, end in spans)
    assert all(one[1] <= two[0] for one, two in pairwise(spans))
    covered = {i for begin, end in spans for i in range(begin, end)}
    missing = [c for i, c in enumerate(text) if i not in covered]
    assert all(c.isspace() or c == "\u200d" for c in missing)


def test_labels_that_are_no_chunks_are_spans_of_one_token() -> None:
    tagger = CRF(l1=0.1).fit([["the", "mill"]] * 3, [["D", "N"]] * 3)
    [sentence] = label_text(tagger, "the mill")
    assert [(span.label, span.text) for span in sentence.spans] == [("D", "the"), ("N", "mill")]


def test_a_tokenizer_of_ones_own_and_repairs(tagger: CRF) -> None:
    [sentence] = label_text(
        tagger, "a b", tokenizer=lambda text: [(0, len(text))], repair=lambda tags: ["B-x"] * len(tags)
    )
    assert (sentence.tokens, [span.label for span in sentence.spans]) == ([(0, 3)], ["x"])
    assert list(label_text(tagger, "a b", tokenizer=lambda text: [])) == []
    assert list(label_text(tagger, "")) == []


def test_taggers_that_need_more_than_words_are_refused() -> None:
    data = split_labels(sample_chunks()[:30])
    options = {"max_iter": 3}
    for patterns, fault in (
        (
            ["u:%x[0,0]", "u:p=%x[-1,1]"],
            r"reads columns 0 and 1, .* column 1 is missing, first in pattern 'u:p=%x\[-1,1\]'",
        ),
        (["u:p=%x[0,1]"], "reads column 1, but running text has only words"),
    ):
        tagger = CRF(patterns=patterns, **options).fit(data.X, data.y)
        with pytest.raises(DataError, match=fault):
            next(label_text(tagger, "a text"))
    attributes = CRF(**options).fit([[{"w": "a"}]] * 3, [["A"]] * 3)
    with pytest.raises(DataError, match="trained on attributes of tokens"):
        next(label_text(attributes, "a text"))
