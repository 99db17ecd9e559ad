"""Candidates of several parts, put together natively, against the definition in Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textmill._native import tasks as native
from textmill.lm import PairModel
from textmill.tasks.transcription import CandidateTable, LetterCRF, sample_names
from textmill.tasks.transcription.parts import Notation, Part, candidates_of

WORDS, OUTPUTS = sample_names()
NOTHING = (np.zeros((0, 3), np.int32), np.zeros(0, np.uint8))
OUTPUT = st.lists(st.integers(0, 2), max_size=3).map(tuple)
LISTS = st.lists(
    st.lists(st.lists(OUTPUT, unique=True, max_size=5), min_size=2, max_size=2), min_size=1, max_size=3
)  # model, word, output


def coded(lists):
    """Of each model the arrays: those of word w in order, with ln p by place."""
    rows = []
    for words in lists:
        outputs = [output for word in words for output in word]
        rows.append(
            (
                np.cumsum([0, *map(len, words)]),
                np.array([-float(i + 1) for word in words for i in range(len(word))]),
                np.cumsum([0, *map(len, outputs)]),
                np.array([s for output in outputs for s in output], dtype=np.int32),
            )
        )
    return rows


@given(lists=LISTS, most=st.integers(1, 4), refused=st.booleans())
def test_joined_lists_are_those_of_the_definition(lists, most, refused):
    after = np.array([[0, 0, -1]], dtype=np.int32)  # refuses symbol 2
    acceptor = (after, np.ones(1, np.uint8)) if refused else NOTHING
    joined = native.join_lists(coded(lists), most=most, symbols=3, next=acceptor[0], accept=acceptor[1], threads=2)
    begin, output_begin, symbols, model, number, scores = (part.tolist() for part in joined)
    scores = np.array(scores).reshape(-1, len(lists))
    for w in range(2):
        expected = []
        for m, words in enumerate(lists):
            good = [output for output in words[w] if not (refused and 2 in output)]
            first = sum(map(len, words[:w]))
            expected += [(o, m, first + words[w].index(o)) for o in good[:most] if o not in {e[0] for e in expected}]
        own = range(begin[w], begin[w + 1])
        assert [tuple(symbols[output_begin[c] : output_begin[c + 1]]) for c in own] == [e[0] for e in expected]
        assert [(model[c], number[c]) for c in own] == [e[1:] for e in expected]
        for c, (output, *_) in zip(own, expected, strict=True):
            for m, words in enumerate(lists):
                if output in words[w]:
                    assert scores[c, m] == -float(words[w].index(output) + 1)
                else:
                    assert math.isnan(scores[c, m])


@pytest.fixture(scope="module")
def parts():
    direct = Notation("as it is")
    sounds = Notation("katakana")
    written = [sounds.write(output) for output in OUTPUTS]
    pairs = PairModel(order=3, n_jobs=1).fit(WORDS, OUTPUTS)
    back = PairModel(order=3, direction="backward", max_input=2, n_jobs=1).fit(WORDS, OUTPUTS)
    field = LetterCRF(n_jobs=1, max_iter=5).fit(WORDS, OUTPUTS)
    by_sounds = PairModel(order=3, n_jobs=1).fit(WORDS, written)
    return [
        Part("pairs", pairs, "NFC", direct),
        Part("back", back, "NFC", direct),
        Part("field", field, "NFC", direct),
        Part("sounds", by_sounds, "NFC", sounds),
    ]


@pytest.mark.parametrize("some", [[0], [0, 1], [0, 1, 2], [3], [0, 2, 3]])
def test_every_candidate_has_the_score_that_each_part_gives_it(parts, some):
    chosen = [parts[i] for i in some]
    words = ["kitano", "sumida", "x?", "tokyo"]
    table, outputs = candidates_of(chosen, words, 5)
    assert isinstance(table, CandidateTable)
    for w, word in enumerate(words):
        own = range(int(table.begin[w]), int(table.begin[w + 1]))
        listed = [outputs[c] for c in own]
        assert len(set(listed)) == len(listed)
        for m, part in enumerate(chosen):
            best = part.answers([word], 5)
            for i in range(len(best.log_probability)):
                assert part.output(best.output(i)) in listed
            for c in own:
                symbols = part.notation.write(outputs[c])
                value = -math.inf if symbols is None else float(part.model.score_samples([word], [symbols])[0])
                if isinstance(part.model, PairModel) and math.isfinite(value):
                    value -= float(best.total[0])
                expected = max(value, -30.0)
                # sums over what the beam kept: never above, and close where it matters
                assert table.scores[c, m] <= max(expected, -30.0) + 1e-6
                if expected > -8:
                    assert table.scores[c, m] == pytest.approx(expected, abs=0.05)
        for c in own:
            links = outputs.alignment(c).links
            assert "".join(s for u, _ in links for s in u) == word


def test_ranked_and_best_agree_with_sorting():
    rng = np.random.default_rng(0)
    sizes = [3, 0, 5, 1]
    begin = np.cumsum([0, *sizes])
    table = CandidateTable(begin, list("abcdefghi"), rng.normal(size=(9, 2)))
    weights = np.array([0.3, 0.9])
    starts, order = table.ranked(weights, 2)
    values = table.scores @ weights
    for w in range(4):
        own = sorted(range(begin[w], begin[w + 1]), key=lambda c: -values[c])[:2]
        assert order[starts[w] : starts[w + 1]].tolist() == own
    best = table.best(weights)
    assert best[1] is None
    assert best[2] == table.outputs[int(begin[2] + values[begin[2] : begin[3]].argmax())]
    posteriors = np.exp(table.log_posteriors(weights))
    assert [posteriors[begin[w] : begin[w + 1]].sum() for w in (0, 2, 3)] == pytest.approx([1, 1, 1])
