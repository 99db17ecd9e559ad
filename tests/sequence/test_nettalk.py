"""Nettalk and CoNLL-2000: the bands of the specification, and agreement with CRFsuite."""

from __future__ import annotations

import random

import numpy as np
import pytest

from textmill.corpus import read_columns
from textmill.sequence import CRF, Encoder

LETTER, THREE = "*:1=%x[0,0]", "*:3=%x[-1,0]%x[0,0]%x[1,0]"
FIVE = "*:5=%x[-2,0]%x[-1,0]%x[0,0]%x[1,0]%x[2,0]"
CONSONANTS = ("*:2l=%x[-1,0]%x[0,0]", "*:2r=%x[0,0]%x[1,0]")


def nettalk(data):
    lines = (data / "nettalk" / "nettalk.data").read_text(encoding="latin-1").splitlines()
    entries = [line.split("\t") for line in lines if line.strip()]
    random.Random(1).shuffle(entries)
    words = [[(letter,) for letter in word] for word, *_ in entries]
    return words, [list(phonemes) for _, phonemes, *_ in entries]


@pytest.mark.data
def test_numbers_of_tests_on_the_whole_dictionary(data):
    words, phonemes = nettalk(data)
    assert len({label for labels in phonemes for label in labels}) == 51
    sets = {
        27: ["*", LETTER],
        5534: [THREE],
        5561: ["*", LETTER, THREE],
        6665: ["*", LETTER, THREE, *CONSONANTS],
        55860: ["*", LETTER, THREE, FIVE],
    }
    for tests, patterns in sets.items():
        counts = Encoder(patterns=patterns).fit(words).feature_counts(51)
        assert (counts.tests, counts.features) == (tests, tests * 51 * 52)


@pytest.mark.data
@pytest.mark.slow
def test_the_errors_of_nettalk_lie_in_their_bands(data):
    words, phonemes = nettalk(data)
    a, b = len(words) * 8 // 10, len(words) * 9 // 10
    error, active = {}, {}
    for name, patterns in {
        "1": ["*", LETTER],
        "3": ["*", LETTER, THREE],
        "3 without": ["b", "u:1=%x[0,0]", "u:3=%x[-1,0]%x[0,0]%x[1,0]"],
    }.items():
        crf = CRF(patterns=patterns, l1=0.5, l2=1e-5, max_iter=300, tol=1e-4).fit(words[:a], phonemes[:a])
        error[name] = 100 * (1 - crf.score(words[b:], phonemes[b:]))
        active[name] = len(crf.features_)
    assert 17.3 <= error["1"] <= 18.8
    assert 3000 <= active["1"] <= 7000
    assert 10.2 <= error["3"] <= 11.3
    assert 14.0 <= error["3 without"] <= 15.2
    assert error["3"] < 0.85 * error["3 without"]


@pytest.mark.data
def test_the_objective_is_that_of_crfsuite(data, tmp_path):
    import pycrfsuite

    sentences = [list(sentence) for sentence in read_columns(data / "conll2000" / "train.txt")][:300]
    X = [[{f"w={row[0]}": 1.0, f"p={row[1]}": 1.0, "bias": 1.0} for row in s] for s in sentences]
    y = [[row[2] for row in s] for s in sentences]
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c1": 0.0, "c2": 0.5, "feature.possible_states": True, "feature.possible_transitions": True})
    for rows, labels in zip(X, y, strict=True):
        trainer.append([list(row) for row in rows], labels)
    trainer.train(str(tmp_path / "model"))
    theirs = trainer.logparser.last_iteration["loss"]
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    by_crfsuite = [tagger.tag([list(row) for row in rows]) for rows in X]
    ours = CRF(algorithm="lbfgs", l2=1.0, tol=1e-6, max_iter=500).fit(X, y)
    assert ours.objective_ == pytest.approx(theirs, rel=1e-3)
    pairs = [pair for a, b in zip(ours.predict(X), by_crfsuite, strict=True) for pair in zip(a, b, strict=True)]
    assert sum(a != b for a, b in pairs) <= 0.001 * len(pairs)
    assert np.isfinite(ours.weights_).all()
