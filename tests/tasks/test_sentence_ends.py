"""Segments begin where sentences begin, by every method; the places are known from how the texts were made."""

from __future__ import annotations

import random
from itertools import accumulate

import pytest

from papers.scalable_semantics.baselines import Fixed
from textmill.tasks.segmentation import METHODS, Chunker, segmenter_of

SUBJECTS = (
    ["mill", "wheel", "grain", "flour", "stone", "river", "miller", "sack", "bread", "harvest"],
    ["planet", "orbit", "star", "moon", "comet", "telescope", "galaxy", "dust", "ring", "eclipse"],
    ["ship", "harbor", "sail", "captain", "rope", "anchor", "storm", "cargo", "deck", "lighthouse"],
    ["court", "judge", "law", "witness", "trial", "jury", "appeal", "verdict", "prison", "lawyer"],
)
CUTTING = ["auto", *METHODS]


def sentences_of(count: int, seed: int = 0) -> list[str]:
    """Sentences of 11 to 29 words, a quarter on each subject."""
    rng = random.Random(seed)
    made = []
    for number in range(count):
        words = rng.choices(SUBJECTS[number * len(SUBJECTS) // count], k=rng.randrange(8, 20))
        made.append(
            " ".join(["The", *words, "and", *rng.choices(["old", "new", "great", "small"], k=rng.randrange(1, 9))])
            + "."
        )
    return made


def starts(sentences: list[str], mark: str) -> set[int]:
    """Characters at which sentences begin."""
    return set(accumulate((len(one) + len(mark) for one in sentences), initial=0))


@pytest.mark.parametrize("wanted", [None, 9])
@pytest.mark.parametrize("method", CUTTING)
def test_a_long_text_is_cut_between_sentences(method: str, wanted: int | None) -> None:
    sentences = sentences_of(330)
    cut = segmenter_of(method).segment(" ".join(sentences), n_segments=wanted)
    assert len(cut.text) > 6_000
    if method not in ("texttiling", "random") or wanted is not None:
        assert len(cut) > 1
    assert {begin for begin, _ in cut.spans} <= starts(sentences, " ")
    if wanted is not None and method not in ("all", "hearst", "texttiling", "lsitiling", "c99", "c99-latent"):
        assert len(cut) == wanted


@pytest.mark.parametrize("method", CUTTING)
def test_lines_that_are_sentences_are_kept_whole(method: str) -> None:
    sentences = [
        one.replace(" and ", ". And ") if number % 9 == 0 else one for number, one in enumerate(sentences_of(80))
    ]
    cut = segmenter_of(method).segment("\n".join(sentences))
    assert {begin for begin, _ in cut.spans} <= starts(sentences, "\n")


def test_text_without_marks_is_cut_where_the_method_says() -> None:
    transcript = " ".join(word for part in SUBJECTS for word in part * 12)
    cut = Fixed(n_tokens=100).segment(transcript)
    assert cut.boundaries.tolist() == [100, 200, 300, 400]
    mixed = "A first sentence of five words. " + transcript + ". And a last sentence."
    assert len(Fixed(n_tokens=100).segment(mixed)) > 3


def test_boundaries_stay_where_the_method_puts_them_if_that_is_asked_for() -> None:
    text = " ".join(sentences_of(40))
    free = Fixed(n_tokens=50).segment(text, snap=None)
    assert free.boundaries[:3].tolist() == [50, 100, 150]


def test_chunks_of_prose_begin_with_sentences() -> None:
    sentences = sentences_of(60)
    text = " ".join(sentences)
    places, at = starts(sentences, " "), 0
    for chunk in Chunker(max_tokens=120).chunks(text):
        at = text.index(chunk.text, at)
        assert at in places
