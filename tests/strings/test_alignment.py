"""Alignments as results: contributions, null edges, text and drawing."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from textmill.strings import Jaro, Levenshtein, Ml, Overlap, parse_measure

NAMES = ["Alexander Rumyanstev", "Mr Rumyantsev", "Mr Ryabev", "Ann Lee"]


def test_edges_add_up_to_the_score_and_hold_alignments_inside() -> None:
    fitted = parse_measure("ml(words, sub=ml(trigrams, sub=context))").fit(NAMES)
    alignment = fitted.align(NAMES[0], NAMES[1])
    assert sum(alignment.contributions()) == pytest.approx(alignment.score)
    edge = max(alignment.edges, key=lambda edge: edge.weight)
    assert (alignment.left_features[edge.left], alignment.right_features[edge.right]) == ("Rumyanstev", "Rumyantsev")
    assert edge.nested.score == pytest.approx(edge.similarity, abs=1e-6)
    assert edge.nested.edges[0].nested.measure == "context"


def test_unmatched_features_can_be_linked_to_the_null_vertex() -> None:
    alignment = Levenshtein().align("kitten", "sitting").with_null_edges()
    null = alignment.edges[-1]
    assert (null.left, null.right, null.weight) == (None, 6, 0.0)
    assert alignment.score == pytest.approx(4 / 7)
    assert Ml(weights="uniform").align("a b", "b").with_null_edges().edges[-1].right is None


def test_the_text_shows_words_scores_and_what_is_left() -> None:
    text = str(Ml(sub=Jaro(), weights="uniform").align("Mr John Smith", "Jon Smyth"))
    lines = text.splitlines()
    assert lines[0] == "'Mr John Smith' ~ 'Jon Smyth': 0.728043 by ml(words, sub=jaro, weights=\"uniform\")"
    assert "  John ~ Jon  similarity 0.916667, adds 0.374228" in lines
    assert "  only left: Mr" in lines


def test_the_drawing_is_valid_and_escaped() -> None:
    for alignment in (
        Overlap().align("<b> & co", "co <b>"),
        Levenshtein().align("", ""),
        Levenshtein().align("ab", "").with_null_edges(),
    ):
        root = ElementTree.fromstring(alignment.html())
        assert root.tag.endswith("svg")
        texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
        assert texts == [*alignment.left_features, *alignment.right_features]
