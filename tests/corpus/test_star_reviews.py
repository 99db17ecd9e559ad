"""The star-review format: fields between lines of tags, faults by line."""

from __future__ import annotations

import io

import pytest

from textmill.corpus import read_documents, read_records
from textmill.errors import DataError

GOOD = (
    "<data>\n<review>\n<rating>\n4.0\n</rating>\n<title>\n\n</title>\n"
    "<review_text>\nOne.\n\nTwo <3.\n</review_text>\n</review>\n</data>\n"
)


def read(text: str, **options: str) -> list[tuple[int, dict[str, str]]]:
    records = read_records(io.BytesIO(text.encode()), format="review", **options)
    return [(record.line, record.fields) for record in records]


def test_fields_stand_between_their_tags() -> None:
    assert read(GOOD + GOOD) == [
        (2, {"rating": "4.0", "title": "", "text": "One.\n\nTwo <3."}),
        (17, {"rating": "4.0", "title": "", "text": "One.\n\nTwo <3."}),
    ]


def test_the_first_of_two_equal_fields_counts() -> None:
    text = GOOD.replace("<title>", "<rating>\n1.0\n</rating>\n<title>")
    assert read(text)[0][1]["rating"] == "4.0"


def test_the_format_is_known_by_suffix_and_by_beginning(tmp_path) -> None:
    for name in ("a.review", "b"):
        (tmp_path / name).write_text(GOOD.removeprefix("<data>\n"))
        assert [document.text for document in read_documents(tmp_path / name)] == ["One.\n\nTwo <3."]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.replace("</rating>\n", ""), r"stream:2: <rating> is not closed in this review"),
        (GOOD.replace("</review>\n", ""), r"stream:2: the file ends within this review|outside"),
        (GOOD + "hello\n", r"stream:16: outside of a field"),
        ("</review>\n", r"stream:1: </review> without <review>"),
        ("<review>\n" + GOOD, r"stream:1: this review is not closed|stream:1"),
    ],
)
def test_faults_are_named_by_line(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(text)
    with pytest.warns(UserWarning, match="1"):
        read(text, errors="skip")
