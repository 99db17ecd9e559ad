"""The log-linear taggers that the trees are compared with."""

from __future__ import annotations

import pytest

from papers.voicemail.generate import VoicemailGenerator
from papers.voicemail.taggers import SpanTagger
from textmill.errors import DataError, NotFittedError
from textmill.tasks.voicemail import (
    Message,
    evaluate_spans,
)

TRAIN = list(VoicemailGenerator(random_state=1).generate(2000))


TEST = list(VoicemailGenerator(random_state=2).generate(400))


@pytest.mark.parametrize("label", ["caller", "name", "telno"])
def test_the_tagger_learns_what_it_was_shown(label: str) -> None:
    tagger = SpanTagger(label, collapse=label == "telno").fit(TRAIN[:300])
    figures = evaluate_spans(TRAIN[:300], tagger.predict(TRAIN[:300]), label)
    assert figures.f1 > 0.9
    assert tagger.predict([""]) == [[]]


def test_the_tagger_refuses_what_it_cannot_do() -> None:
    with pytest.raises(DataError, match="'closing'"):
        SpanTagger("closing")
    with pytest.raises(NotFittedError):
        SpanTagger().predict(["a"])
    with pytest.raises(DataError, match="no messages with words"):
        SpanTagger().fit([Message(())])
