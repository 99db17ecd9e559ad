"""Chains of known states: reproducible, with the frequencies of their distributions, owners as labels."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from papers.latent_crf.hidden_chains import HiddenChain
from textmill.errors import DataError


def test_sequences_depend_on_their_number_alone() -> None:
    chain = HiddenChain({"A": 2, "B": 1}, vocabulary=6, random_state=3)
    whole, part = chain.sample(10, 5), chain.sample(4, 5, first=6)
    assert whole.X[6:] == part.X
    assert whole.states[6:] == part.states
    assert all(
        state.startswith(f"{label}/")
        for a, b in zip(whole.y, whole.states, strict=True)
        for label, state in zip(a, b, strict=True)
    )
    assert HiddenChain({"A": 2, "B": 1}, vocabulary=6, random_state=4).sample(10, 5).X != whole.X


def test_frequencies_are_those_of_the_distributions() -> None:
    chain = HiddenChain({"A": 2, "B": 1}, vocabulary=6, random_state=0)
    drawn = chain.sample(800, 10)
    steps, words = np.zeros((3, 3)), np.zeros((3, 6))
    for row, states in zip(drawn.X, drawn.states, strict=True):
        numbers = [chain.names.index(state) for state in states]
        for a, b in pairwise(numbers):
            steps[a, b] += 1
        for word, state in zip(row, numbers, strict=True):
            words[state, int(word[1:])] += 1
    for counts, truth in ((steps, chain.transitions), (words, chain.emissions)):
        often = counts.sum(axis=1) > 500
        shares = counts[often] / counts[often].sum(axis=1, keepdims=True)
        np.testing.assert_allclose(shares, truth[often], atol=0.06)


@pytest.mark.parametrize(
    ("states", "settings"),
    [
        ({}, {}),
        ({"A": 0}, {}),
        ({"A": 1}, {"vocabulary": 0}),
        ({"A": 1}, {"shared": 2}),
        ({"A": 1}, {"concentration": 0}),
    ],
)
def test_impossible_settings_are_refused(states: dict[str, int], settings: dict[str, float]) -> None:
    with pytest.raises(DataError, match="must"):
        HiddenChain(states, **settings)
