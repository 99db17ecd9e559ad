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


def labels_of(crf, letter):
    """The chunks that a letter may be written as."""
    letters, symbols = crf.letters_.to_list(), crf.symbols_.to_list()
    i = letters.index(letter)
    chunks = crf.labels_[crf.label_begin_[i] : crf.label_begin_[i + 1]]
    return ["".join(symbols[s] for s in crf.writes_[crf.write_begin_[c] : crf.write_begin_[c + 1]]) for c in chunks]


@pytest.mark.parametrize("word", ["ax", "tee", "exit", "ate"])
def test_scores_of_every_labelling_sum_to_one_and_the_largest_is_predicted(crf, word):
    outputs = sorted({"".join(chunks) for chunks in itertools.product(*(labels_of(crf, c) for c in word))})
    probabilities = np.exp(crf.score_samples([word] * len(outputs), outputs))
    assert probabilities.sum() == pytest.approx(1.0, abs=1e-6)
    assert crf.predict([word]) == [outputs[int(probabilities.argmax())]]


def test_training_without_penalty_makes_the_examples_likely():
    few = LetterCRF(window=1, longest=1, max_iter=1, l2=0.0, n_jobs=1).fit(WORDS, SOUNDS)
    many = LetterCRF(window=1, longest=1, max_iter=60, l2=0.0, n_jobs=1).fit(WORDS, SOUNDS)
    before, after = few.score_samples(WORDS, SOUNDS).sum(), many.score_samples(WORDS, SOUNDS).sum()
    assert after > before
    assert after > len(WORDS) * math.log(0.5)


def test_unknown_letters_write_nothing(crf):
    assert crf.predict(["?", "t?ax", ""]) == ["", crf.predict(["tax"])[0], ""]


def test_same_model_every_time_and_from_a_file(crf, tmp_path):
    again = LetterCRF(window=2, longest=2, n_jobs=2, max_iter=5).fit(WORDS, SOUNDS)
    assert again.fingerprint() == LetterCRF(window=2, longest=2, n_jobs=2, max_iter=5).fit(WORDS, SOUNDS).fingerprint()
    assert np.array_equal(again.test_weights_, crf.test_weights_)
    crf.save(tmp_path / "crf.mill")
    words = ["".join(letters) for letters in itertools.product("taxe", repeat=3)]
    assert textmill.load(tmp_path / "crf.mill").predict(words) == crf.predict(words)
