"""Figures of messages, by hand and as the paper counts."""

from __future__ import annotations

import math

import pytest

from papers.voicemail.statistics import VoicemailStatistics, describe_messages, draw_distribution
from textmill.errors import DataError
from textmill.tasks.voicemail import (
    parse_message,
)

TEN = [
    "",
    "<caller> it's me </caller> bye",
    "hi <caller> this is Pat </caller> call <telno> one two </telno>",
    "hi <caller> this is Pat Caller </caller>",
    "hi Jane <caller> this is Kim </caller> hi",
    "hi Jane <caller> Kim Lee here </caller>",
    "hello <caller> this is Lee </caller> <telno> one two three four </telno> or <telno> five six </telno>",
    "no caller here",
    "hi <caller> it's Pat </caller>",
    "hi <caller> my name is Kim Lee </caller>",
]


def test_figures_of_ten_messages_are_those_by_hand() -> None:
    statistics = describe_messages(map(parse_message, TEN))
    figures = statistics.figures()
    assert (figures["messages"], figures["empty"], figures["callers"], figures["names"], figures["numbers"]) == (
        10,
        1,
        8,
        7,
        3,
    )
    assert figures["share with caller"] == pytest.approx(8 / 9)
    assert figures["numbers per message"] == pytest.approx(1 / 3)
    starts = statistics.distribution("caller start")  # 0 once, 1 five times, 2 twice
    assert starts.counts == {0: 1, 1: 5, 2: 2}
    assert starts.entropy == pytest.approx(
        -(1 / 8 * math.log2(1 / 8) + 5 / 8 * math.log2(5 / 8) + 1 / 4 * math.log2(1 / 4))
    )
    assert (starts.largest, starts.share_up_to(1)) == (2, 0.75)
    assert statistics.distribution("caller length").counts == {2: 2, 3: 4, 4: 1, 5: 1}
    assert statistics.distribution("caller length").entropy == pytest.approx(1.75)
    assert statistics.distribution("name start").counts == {2: 2, 3: 3, 4: 2}
    assert statistics.distribution("name length").entropy == pytest.approx(
        -(4 / 7 * math.log2(4 / 7) + 3 / 7 * math.log2(3 / 7))
    )
    assert statistics.distribution("number length").columns()["cumulative"] == [pytest.approx(2 / 3), 1.0]
    halves = describe_messages(map(parse_message, TEN[:4])) + describe_messages(map(parse_message, TEN[4:]))
    assert halves == statistics
    assert len(draw_distribution(statistics, "caller start").axes[0].lines) >= 2


def test_corpus_arithmetic_of_the_paper() -> None:
    paper = VoicemailStatistics(messages=8120, empty=434, callers=7065, names=6731, numbers=5303).figures()
    assert round(paper["share empty"], 3) == 0.053
    assert round(paper["share with caller"], 3) == 0.919
    assert round(paper["share of callers with name"], 3) == 0.953
    assert round(paper["numbers per message"], 3) == 0.690


def test_statistics_of_nothing() -> None:
    nothing = describe_messages([])
    assert nothing.figures()["numbers per message"] == 0
    assert nothing.distribution("caller start").entropy == 0
    assert nothing.distribution("caller start").largest is None
    with pytest.raises(DataError, match="no spans of callers to draw"):
        draw_distribution(nothing, "caller start")
    with pytest.raises(DataError, match="no distribution 'end'"):
        nothing.distribution("end")
