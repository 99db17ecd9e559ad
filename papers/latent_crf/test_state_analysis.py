"""What hidden states stand for: words, tags, duplicates."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.metrics import v_measure_score

from papers.latent_crf.hidden_chains import HiddenChain
from papers.latent_crf.state_analysis import analyze_states
from textmill.errors import DataError
from textmill.sequence import (
    LatentCRF,
)

PLAIN = ["u:%x[0,0]", "b"]


@pytest.fixture(scope="module")
def chain():
    return HiddenChain({"A": 2, "B": 2}, vocabulary=12, random_state=1).sample(60, 10)


@pytest.fixture(scope="module")
def model(chain):
    return LatentCRF(patterns=PLAIN, states=2, noise=0.5, random_state=0).fit(chain.X, chain.y)


def test_states_are_described_by_their_tokens(chain, model):
    analysis = analyze_states(model, chain.X, tags=chain.states, min_count=5, k=2)
    tokens = sum(map(len, chain.X))
    assert sum(use.tokens for use in analysis.states) == tokens
    for label in "AB":
        assert sum(use.share for use in analysis.states if use.label == label) == pytest.approx(1.0)
    states = [part.argmax(axis=1) for part in model.predict_states(chain.X)]
    word = analysis.states[0].words[0]
    here = sum(
        w == word.word and h == 0
        for row, path in zip(chain.X, states, strict=True)
        for w, h in zip(row, path, strict=True)
    )
    everywhere = sum(row.count(word.word) for row in chain.X)
    assert (word.tokens, word.share) == (here, pytest.approx(here / everywhere))
    assert word.tag is not None
    follows = np.zeros((4, 4))
    for path in states:
        for a, b in itertools.pairwise(path):
            follows[a, b] += 1
    np.testing.assert_allclose(analysis.transitions, follows / follows.sum(axis=1, keepdims=True).clip(1))
    assert set(analysis.entropy) == {"A", "B"}
    flat = [list(itertools.chain.from_iterable(rows)) for rows in (chain.states, states)]
    assert analysis.v_measure == pytest.approx(v_measure_score(*flat))
    assert analyze_states(model, chain.X).v_measure is None
    page = analysis.report().render()
    assert "Words of the states" in page
    assert "A/1" in page
    assert len(analysis.to_json()["states"]) == 4
    with pytest.raises(DataError, match="one for each token"):
        analyze_states(model, chain.X, tags=[["x"]])


def test_states_with_the_same_weights_are_duplicates(chain):
    twins = LatentCRF(patterns=PLAIN, states=2, noise=1e-9, random_state=0, max_iter=3).fit(chain.X, chain.y)
    pairs = analyze_states(twins, chain.X).duplicates
    assert [(a, b) for a, b, _ in pairs] == [("A/1", "A/2"), ("B/1", "B/2")]
