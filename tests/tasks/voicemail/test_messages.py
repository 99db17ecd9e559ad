"""Mark-up both ways, names by their capitals, statistics of spans."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.errors import DataError
from textmill.tasks.voicemail import (
    LABELS,
    MarkedSpan,
    Message,
    caller_name,
    parse_message,
    read_messages,
    write_messages,
)

SAMPLE = (
    "<greeting> hi Jane </greeting> <caller> this is Pat Caller </caller> I just wanted to give me a call at "
    "<telno> one two three four five </telno> when you get the message <closing> talk to you soon </closing>"
)


def test_the_sample_of_the_paper() -> None:
    message = parse_message(SAMPLE)
    assert message.caller == MarkedSpan(2, 6, "caller")
    assert message.name == MarkedSpan(4, 6, "name")
    (number,) = message.marked("telno")
    assert message.tokens[number.start : number.end] == ("one", "two", "three", "four", "five")
    assert [span.label for span in message.spans] == list(LABELS)
    assert str(message) == SAMPLE


def test_names_are_the_leftmost_run_of_capitals() -> None:
    names = {
        "this is Pat Caller": (2, 4),
        "it's me": None,
        "this is Pat from the Murray Hill office": (2, 3),
        "I'm Pat Caller": (1, 3),
        "I I've I'd I'll": None,
        "": None,
    }
    for phrase, name in names.items():
        assert caller_name(phrase.split()) == name
    assert Message(("hi",)).name is None


@st.composite
def messages(draw: st.DrawFn) -> Message:
    tokens = draw(st.lists(st.sampled_from(["hi", "I", "it's", "Pat", "five", "ça"]), max_size=20))
    cuts = sorted(draw(st.sets(st.integers(0, len(tokens)), max_size=6)))
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    return Message(tuple(tokens), tuple(MarkedSpan(a, b, draw(st.sampled_from(LABELS))) for a, b in pairs))


@settings(max_examples=200, deadline=None)
@given(st.lists(messages(), max_size=5))
def test_mark_up_goes_round(tmp_path_factory: pytest.TempPathFactory, many: list[Message]) -> None:
    for message in many:
        assert parse_message(str(message)) == message
    path = tmp_path_factory.mktemp("messages") / "marked.txt"
    assert write_messages(path, many) == len(many)
    assert list(read_messages(path)) == many


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("<caller> this is <telno> five </telno> </caller>", "<telno> inside of <caller>"),
        ("<caller> this is Pat", "<caller> is not closed; add </caller>"),
        ("this is </caller>", "</caller> where nothing is open"),
        ("<caller> Pat </telno>", "</telno> where <caller> is open"),
        ("<person> Pat </person>", "unknown tag <person>; tags are greeting, caller, telno, closing"),
        ("<caller> </caller>", "nothing between <caller> and </caller>"),
    ],
)
def test_bad_mark_up_names_file_and_line(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "bad.txt"
    path.write_text(f"fine\n{text}\n", encoding="utf-8")
    with pytest.raises(DataError) as raised:
        list(read_messages(path))
    assert f"bad.txt:2: {fault}" in str(raised.value)


def test_latin_1_and_wrong_spans_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes("fine\ncafé\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"latin\.txt:2"):
        list(read_messages(path))
    assert [m.text for m in read_messages([path], encoding="latin-1")] == ["fine", "café"]
    with pytest.raises(DataError, match="span 1-3"):
        Message(("a", "b"), (MarkedSpan(1, 3, "telno"),))


def test_messages_of_records_are_their_texts(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text('{"text": "call <telno> one two </telno>"}\n{"text": "hi"}\n', encoding="utf-8")
    assert [message.text for message in read_messages(path)] == ["call one two", "hi"]
    with pytest.raises(DataError, match="a JSON object is no message; give the words alone"):
        parse_message('{"text": "call me"}')
