"""The NETtalk dictionary and its joint labels."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from papers.letter_to_sound.nettalk import NettalkWord, read_nettalk
from textmill.errors import DataError


@pytest.mark.data
def test_the_whole_dictionary_has_the_labels_of_the_specification(data: Path) -> None:
    words = list(read_nettalk(data / "nettalk" / "nettalk.data"))
    assert (len(words), sum(len(word.word) for word in words)) == (20007, 146934)
    assert len({phoneme for word in words for phoneme in word.phonemes}) == 51
    assert len({pair for word in words for pair in zip(word.phonemes, word.marks, strict=True)}) == 163
    assert len({label for word in words for label in word.joint()}) == 113
    changed = [
        label != phoneme + mark
        for word in words
        for label, phoneme, mark in zip(word.joint(), word.phonemes, word.marks, strict=True)
        if phoneme != "-"
    ]
    assert sum(changed) == 2186


def test_marks_are_attached_to_their_phonemes() -> None:
    assert NettalkWord("ab", "-b", "1<").joint() == ["-", "b<"]
    assert NettalkWord("aeb", "-eb", "1<<").joint() == ["-", "e1", "b<"]
    assert NettalkWord("eb", "eb", "<0").joint() == ["e0", "b<"]
    assert NettalkWord("be", "be", "01").joint() == ["b>", "e1"]


@pytest.mark.parametrize("line", [b"aback\txb@k-\n", b"aback\txb@k\t0>1<<\t0\n"])
def test_a_line_that_is_not_aligned_is_named(line: bytes) -> None:
    with pytest.raises(DataError, match=":2: expected word, phonemes and marks of one length"):
        list(read_nettalk(io.BytesIO(b"ab\t-b\t1<\t0\n" + line)))
