"""Hidden states on CoNLL-2000, noun phrases alone: quality, searches and states, by three seeds."""

from __future__ import annotations

import numpy as np
import pytest

from textmill.sequence import Encoder, LatentCRF, SearchLimits, evaluate_tags, read_labeled

WORDS = [*(f"u:w{i}=%x[{i},0]" for i in range(-2, 3)), "u:w-10=%x[-1,0]/%x[0,0]", "u:w01=%x[0,0]/%x[1,0]", "b"]

pytestmark = [pytest.mark.data, pytest.mark.slow]


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


def test_states_are_better_than_a_chain_and_label_paths_than_hidden_paths(parts, models):
    X, gold = parts["test"]
    dev = {name: evaluate_tags(parts["dev"][1], model.predict(parts["dev"][0])).f1 for name, model in models.items()}
    scores = {name: evaluate_tags(gold, model.predict(X)) for name, model in models.items()}
    best = max((0, 1, 2), key=dev.__getitem__)
    assert 0.873 < scores["CRF"].f1 < 0.885
    assert scores[best].f1 > scores["CRF"].f1 + 0.004
    assert models[best].objective_ < models["CRF"].objective_
    gains = []
    for seed in range(3):
        hidden = evaluate_tags(gold, models[seed].predict(X, search="viterbi"))
        marginal = evaluate_tags(gold, models[seed].predict(X, posterior=True))
        gains.append(scores[seed].f1 - hidden.f1)
        assert gains[-1] > -0.0005
        assert marginal.token_error <= min(scores[seed].token_error, hidden.token_error)
    assert np.mean(gains) > 0


def test_every_sentence_is_certified_and_searches_agree(parts, models):
    X, _ = parts["test"]
    tokens = sum(map(len, X))
    for seed in range(3):
        model = models[seed]
        certified = model.predict_certified(X)
        assert all(certificate.exact for _, certificate in certified)
        assert sum(certificate.expansions for _, certificate in certified) < 2 * tokens
        answers = [paths[0][0] for paths, _ in certified]
        assert answers == model.predict(X)
        proved = []
        for search in ("hidden", "hidden-exact"):
            others = model.predict_certified(X, search=search, limits=SearchLimits(paths=300))
            exact = [certificate.exact for _, certificate in others]
            proved.append(sum(exact))
            assert all(
                paths[0][0] == answer for (paths, _), answer, sure in zip(others, answers, exact, strict=True) if sure
            )
        assert 0 < proved[0] < proved[1] <= len(X)
        best = np.array(model.log_probability(X, answers))
        for other in (model.predict(X, search="viterbi"), model.predict(X, posterior=True)):
            assert (best >= np.array(model.log_probability(X, other)) - 1e-9).all()
