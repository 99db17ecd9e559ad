"""Tag schemes against definitions by neighbors, conlleval's tables, and the counts of public corpora."""

from __future__ import annotations

from itertools import pairwise, permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.tag_schemes import conlleval_spans, is_well_formed

from textmill.corpus.iob import SCHEMES, check_tags, convert_tags, guess_scheme, repair_tags, spans_of, tags_of
from textmill.errors import DataError

TAGS = ["O", *(f"{letter}-{label}" for letter in "BIESLU" for label in "xy")]


@st.composite
def span_sets(draw):
    """A length and spans; cuts that touch give neighbors, often with the same label."""
    length = draw(st.integers(0, 12))
    cuts = sorted(draw(st.sets(st.integers(0, length))))
    labels = st.sampled_from(["x", "y", "a-b", None])
    return length, [(a, b, label) for a, b in pairwise(cuts) if (label := draw(labels)) is not None]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_exactly_the_well_formed_sequences_up_to_length_four_are_accepted(scheme):
    accepted = 0
    for length in range(4):
        for tags in product(TAGS, repeat=length):
            well_formed = is_well_formed(tags, scheme)
            accepted += well_formed
            if well_formed:
                check_tags(tags, scheme)
            else:
                with pytest.raises(DataError):
                    check_tags(tags, scheme)
    for tags in product(["O", "B-x", "I-x", "I-y", "E-x", "L-x", "S-x", "U-x"], repeat=4):
        try:
            check_tags(tags, scheme)
        except DataError:
            assert not is_well_formed(tags, scheme), tags
        else:
            assert is_well_formed(tags, scheme), tags
            accepted += 1
    assert accepted > 40


@settings(derandomize=True, max_examples=200)
@given(case=span_sets())
def test_spans_written_and_read_are_the_same_spans(case):
    length, spans = case
    for scheme in SCHEMES:
        tags = tags_of(spans, length, scheme)
        assert is_well_formed(tags, scheme)
        assert spans_of(tags, scheme) == spans
        assert spans_of(tags, lenient=True) == spans
        assert tags_of(reversed(spans), length, scheme) == tags


@settings(derandomize=True, max_examples=100)
@given(case=span_sets())
def test_conversion_to_any_scheme_and_back_is_exact(case):
    length, spans = case
    for source, target in permutations(SCHEMES, 2):
        tags = tags_of(spans, length, source)
        there = convert_tags(tags, source, target)
        assert is_well_formed(there, target)
        assert convert_tags(there, target, source) == tags


def test_lenient_reading_of_every_short_sequence_is_that_of_conlleval():
    tags = ["O", "B-x", "I-x", "B-y", "I-y"]
    ends = ["O", "E-x", "I-x", "E-y", "I-y"]  # conlleval's tables leave B after E open, so E is tried without B
    for alphabet in (tags, ends):
        for sequence in product(alphabet, repeat=5):
            assert spans_of(sequence, lenient=True) == conlleval_spans(sequence), sequence


@pytest.mark.parametrize("left", "BIESLU")
@pytest.mark.parametrize("right", "BIESLU")
def test_neighbors_with_one_label_are_parted_where_one_ends_or_one_begins(left, right):
    one = left in "BI" and right in "IEL"
    expected = [(0, 2, "x")] if one else [(0, 1, "x"), (1, 2, "x")]
    assert spans_of([f"{left}-x", f"{right}-x"], lenient=True) == expected


@settings(derandomize=True, max_examples=300)
@given(st.lists(st.sampled_from(TAGS), max_size=10))
def test_lenient_spans_cover_exactly_the_tokens_that_are_not_outside(tags):
    covered = [position for start, end, _ in spans_of(tags, lenient=True) for position in range(start, end)]
    assert covered == [position for position, tag in enumerate(tags) if tag != "O"]


def test_bare_letters_are_spans_without_a_label():
    assert spans_of(["B", "I", "B", "O"]) == [(0, 2, ""), (2, 3, "")]
    assert tags_of([(0, 2, ""), (2, 3, "")], 4) == ["B", "I", "B", "O"]


def test_empty_sequence_has_no_spans():
    assert spans_of([]) == []
    assert tags_of([], 0) == []
    check_tags([], "IOB1")


@pytest.mark.parametrize("tag", ["", "B-", "X-PER", "PER", "BPER", "b-per", "O-PER", "-PER", "BI-PER", "O "])
def test_what_is_no_tag_is_named_with_its_place(tag):
    with pytest.raises(DataError, match=r"^a\.conll:12: ") as caught:
        spans_of(["O", "B-PER", tag], source="a.conll", line=10, lenient=True)
    assert repr(tag) in str(caught.value)


def test_ill_formed_sequence_names_the_token_and_what_is_expected():
    with pytest.raises(DataError) as caught:
        check_tags(["B-LOC", "O", "I-PER", "S-PER"])
    assert str(caught.value) == (
        "token 3: tag 'I-PER' is not IOB2 here, 'B-PER' is expected; correct it with repair_tags, "
        "or read with lenient=True"
    )


@pytest.mark.parametrize("scheme", SCHEMES)
def test_any_tags_become_well_formed_and_keep_the_spans_of_conlleval(scheme):
    for length in range(4):
        for tags in product(TAGS, repeat=length):
            repaired, changes = repair_tags(tags, scheme)
            assert is_well_formed(repaired, scheme), tags
            assert spans_of(repaired, scheme) == spans_of(tags, lenient=True)
            if {tag[0] for tag in tags} <= set("BIO"):  # what conlleval's tables speak of
                assert spans_of(repaired, scheme) == conlleval_spans(tags)
            assert changes == sum(one != two for one, two in zip(tags, repaired, strict=True))
            assert (changes == 0) == is_well_formed(tags, scheme)


@pytest.mark.parametrize(
    ("scheme", "broken", "repaired"),
    [
        ("IOB2", "O I-x I-x I-y B-y", "O B-x I-x B-y B-y"),
        ("IOB1", "B-x I-x B-x O B-y", "I-x I-x B-x O I-y"),
        ("IOE2", "I-x O I-x I-y", "E-x O E-x E-y"),
        ("IOE1", "E-x O I-x E-x I-x", "I-x O I-x E-x I-x"),
        ("IOBES", "B-x O I-x I-x O E-y S-y I-y", "S-x O B-x E-x O S-y S-y S-y"),
        ("BILOU", "B-x O I-x L-x L-x I-x U-y", "U-x O B-x L-x U-x U-x U-y"),
    ],
)
def test_repairs_follow_the_table_of_the_scheme(scheme, broken, repaired):
    assert repair_tags(broken.split(), scheme).tags == repaired.split()


def test_what_is_no_tag_is_not_repaired():
    with pytest.raises(DataError, match="token 2: 'NN' is not a tag"):
        repair_tags(["O", "NN"])
    with pytest.raises(DataError, match="unknown tag scheme 'IOB'"):
        repair_tags(["O"], "IOB")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_scheme_that_the_tags_look_like_is_named(scheme):
    tags = tags_of([(0, 1, "x"), (1, 3, "x"), (4, 7, "y")], 8, scheme)
    assert guess_scheme([["O"], tags]) == scheme
    other = "IOB1" if scheme == "IOB2" else "IOB2"
    with pytest.raises(DataError, match=f"looks like {scheme}, pass scheme='{scheme}' or"):
        check_tags(tags, other)


def test_guess_without_spans_is_iob2_and_contradictions_name_the_sequence():
    assert guess_scheme([]) == guess_scheme([["O", "O"], []]) == "IOB2"
    assert guess_scheme(iter([["I-x"], ["I-x", "E-x", "I-x"]])) == "IOE1"
    with pytest.raises(DataError, match=r"^sequence 2 \(O I-x\) is not IOB2 like those before it; "):
        guess_scheme([["B-x", "I-x"], ["O", "I-x"]])
    with pytest.raises(DataError, match=r"^sequence 2, token 1: 'Q-x' is not a tag"):
        guess_scheme([["B-x"], ["Q-x"]])


@pytest.mark.parametrize(
    ("spans", "fault"),
    [
        ([(0, 2, "x"), (1, 3, "x")], "overlaps"),
        ([(0, 5, "x")], "not inside 4 tokens"),
        ([(-1, 2, "x")], "not inside 4 tokens"),
        ([(2, 2, "x")], "not inside 4 tokens"),
        ([(3, 1, "x")], "not inside 4 tokens"),
    ],
)
def test_impossible_spans_are_refused(spans, fault):
    with pytest.raises(DataError, match=fault):
        tags_of(spans, 4)


def test_unknown_scheme_lists_the_known_ones():
    for call in (lambda: spans_of(["O"], "BIO"), lambda: tags_of([], 1, "BIO"), lambda: check_tags([], "BIO")):
        with pytest.raises(DataError, match="unknown tag scheme 'BIO'; choose IOB2, IOB1, IOBES, BILOU, IOE2, IOE1"):
            call()
