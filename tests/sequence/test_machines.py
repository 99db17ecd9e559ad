"""CRFs as machines: the same best paths, the same sums."""

from __future__ import annotations

import math
import random

import pytest

import textmill.fst as wfst
from textmill.errors import DataError
from textmill.sequence import CRF, ConditionalMarkov, Encoder, tagger_machine, token_symbol

PATTERNS = [
    "u:0=%x[0,0]",
    "u:1=%x[-1,0]",
    "u:2=%x[1,0]/%x[0,1]",
    "*:3=%x[-2,1]%x[0,1]",
    'u:4=%t[0,0,"^[a-c]"]',
    "u:5=%suffix[0,0,1]-%X[1,0]",
    "b",
]


def sentences(count: int) -> tuple[list[list[list[str]]], list[list[str]]]:
    dice = random.Random(1)
    X, y = [], []
    for _ in range(count):
        words = ["".join(dice.choice("abcd") for _ in range(dice.randint(1, 2))) for _ in range(dice.randint(1, 7))]
        X.append([[word, word[0].upper()] for word in words])
        y.append(["VOW" if word[0] == "a" else "END" if word[-1] == "d" else dice.choice("ST") for word in words])
    return X, y


def test_machines_of_crfs_have_their_best_paths_and_sums() -> None:
    X, y = sentences(80)
    crf = CRF(encoder=Encoder(patterns=PATTERNS), l1=0.05, l2=0.01, max_iter=30).fit(X, y)
    tagger = tagger_machine(crf, [token for sentence in X for token in sentence])
    chains = crf.predict_best(X[:40], 3)
    for sentence, predicted, best in zip(X[:40], crf.predict(X[:40]), chains, strict=True):
        names = [token_symbol(token) for token in sentence]
        found = tagger.best_outputs(names, 3)
        assert found[0][1] == predicted
        machine = tagger.machine(names, semiring_name="log64").expand()
        log_sum = wfst.total_weight(machine)
        for (cost, tags), (labels, score, probability) in zip(found, best, strict=True):
            assert tags == labels
            assert -cost == pytest.approx(score)
            assert math.exp(log_sum - cost) == pytest.approx(probability, rel=1e-6)


def test_what_no_machine_can_say_is_refused() -> None:
    X, y = sentences(20)
    fitted = CRF(encoder=Encoder(patterns=["u:%x[@1,0]"]), max_iter=2).fit(X, y)
    with pytest.raises(DataError, match="first or the last token"):
        tagger_machine(fitted, X[0])
    hashed = CRF(encoder=Encoder(patterns=["u:%x[0,0]"], hash_bits=8), max_iter=2).fit(X, y)
    with pytest.raises(DataError):
        tagger_machine(hashed, X[0])
    fitted = CRF(encoder=Encoder(patterns=["u:%x[0,1]"]), max_iter=2).fit(X, y)
    with pytest.raises(DataError, match="1 columns"):
        tagger_machine(fitted, ["word"])
    markov = ConditionalMarkov(encoder=Encoder(patterns=["u:%x[0,0]", "b"]), max_iter=2).fit(X, y)
    with pytest.raises(DataError):
        tagger_machine(markov, X[0])
