"""States that noun phrases learn, for three seeds."""

from __future__ import annotations

import pytest

from papers.latent_crf.state_analysis import analyze_states
from textmill.sequence import Encoder, LatentCRF, read_labeled

pytestmark = [pytest.mark.data, pytest.mark.slow]


WORDS = [*(f"u:w{i}=%x[{i},0]" for i in range(-2, 3)), "u:w-10=%x[-1,0]/%x[0,0]", "u:w01=%x[0,0]/%x[1,0]", "b"]


@pytest.fixture(scope="module")
def parts(data):
    def noun_phrases(name):
        read = read_labeled(data / "conll2000" / f"{name}.txt")
        return read.X, [[tag if tag.endswith("-NP") else "O" for tag in row] for row in read.y]

    (X, y), test = noun_phrases("train"), noun_phrases("test")
    cut = len(X) * 9 // 10
    return {"train": (X[:cut], y[:cut]), "dev": (X[cut:], y[cut:]), "test": test}


@pytest.fixture(scope="module")
def models(parts):
    encoder = Encoder(patterns=WORDS, min_count=11)
    states = {"CRF": 1, 0: 4, 1: 4, 2: 4}
    return {
        name: LatentCRF(encoder=encoder, states=k, l2=1.0, random_state=name if k > 1 else 0).fit(
            *parts["train"], *parts["dev"]
        )
        for name, k in states.items()
    }


def test_words_of_states_for_three_seeds(parts, models):
    X, _ = parts["test"]
    tags = [sentence.column(1) for sentence in X]
    tokens = sum(map(len, X))
    for seed in range(3):
        analysis = analyze_states(models[seed], X, tags=tags, min_count=15, k=3)
        assert len(analysis.states) == 12
        assert sum(use.tokens for use in analysis.states) == tokens
        assert sum(len(use.words) == 3 for use in analysis.states) >= 6
