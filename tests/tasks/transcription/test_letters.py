"""The field over letters against enumeration of labelings."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import textmill
from tests.reference import letter_field
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
def test_scores_of_every_labeling_sum_to_one_and_the_largest_is_predicted(crf, word):
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


@pytest.mark.parametrize("word", ["tax", "exit", "tee", "axax", "t"])
def test_outputs_and_their_probabilities_equal_enumeration_of_all_labelings(crf, word):
    expected = letter_field.outputs(crf, word)
    listed = crf.set_params(beam=100_000).predict_best([word], k=10_000)[0]
    for one in listed:
        assert one.log_probability == pytest.approx(expected[one.output], abs=1e-6)
    assert {output for output, p in expected.items() if p > -12} <= {one.output for one in listed}
    best = sorted(expected, key=expected.get, reverse=True)
    assert [one.output for one in listed[:3]] == best[:3]
    scores = crf.score_samples([word] * len(expected), list(expected))
    assert scores.tolist() == pytest.approx(list(expected.values()), abs=1e-6)


def test_a_narrow_beam_keeps_the_best_outputs(crf):
    words = ["".join(letters) for letters in itertools.product("taxe", repeat=4)]
    wide = crf.set_params(beam=10_000).predict(words)
    narrow = crf.set_params(beam=8).predict(words)
    crf.set_params(beam=100)
    assert sum(a != b for a, b in zip(wide, narrow, strict=True)) <= len(words) // 50


@pytest.mark.parametrize("l2", [0.0, 0.7])
def test_gradient_equals_finite_differences_and_the_objective_its_definition(crf, l2):
    words = [word for word in WORDS if word != "xa"]
    letters = {letter: i for i, letter in enumerate(crf.letters_.to_list())}
    flat = np.array([letters[letter] for word in words for letter in word], dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(word) for word in words])]).astype(np.int64)
    rng = np.random.default_rng(3)
    gold = [rng.integers(0, crf.label_begin_[x + 1] - crf.label_begin_[x]) for x in flat]
    gold = np.array(gold, dtype=np.int32)
    field = crf._new_field()
    places = crf._places()
    weights = [w.copy() for w in (crf.test_weights_, crf.pair_weights_, crf.label_weights_)]

    def objective(some):
        gradient = [np.zeros_like(w) for w in some]
        return field.objective(offsets, flat, gold, *places, *some, *gradient, l2=l2), gradient

    value, gradient = objective(weights)
    expected = 0.5 * l2 * sum(float((w.astype(float) ** 2).sum()) for w in weights)
    for i, word in enumerate(words):
        scores = dict(letter_field.labelings(crf, word))
        right = tuple(gold[offsets[i] : offsets[i + 1]].tolist())
        expected += math.log(sum(map(math.exp, scores.values()))) - scores[right]
    assert value == pytest.approx(expected, rel=1e-6)
    step = 2.0**-7  # a power of two: exact in floats of this size
    for part in range(len(weights)):
        nonzero = np.flatnonzero(gradient[part])
        for i in rng.choice(nonzero, size=min(40, len(nonzero)), replace=False):
            values = []
            for sign in (1, -1):
                moved = [v.copy() for v in weights]
                moved[part][i] += np.float32(sign * step)
                values.append((objective(moved)[0], float(moved[part][i])))
            slope = (values[0][0] - values[1][0]) / (values[0][1] - values[1][1])
            assert gradient[part][i] == pytest.approx(slope, abs=2e-4)
