"""Nettalk and CoNLL-2000: the bands of the specification, and agreement with CRFsuite."""

from __future__ import annotations

import random

import numpy as np
import pytest

from papers.letter_to_sound.nettalk import read_nettalk
from textmill.corpus import read_columns
from textmill.sequence import CRF, SGDL1, Encoder, evaluate_tags, read_labeled

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


class Letters:
    """Nettalk cut into words to train on, to develop on and to test on."""

    def __init__(self, data):
        self.words, self.phonemes = nettalk(data)
        a, b = len(self.words) * 8 // 10, len(self.words) * 9 // 10
        self.train, self.dev, self.test = slice(a), slice(a, b), slice(b, None)

    def fit(self, patterns, start=None, stop_early=False, **settings):
        crf = CRF(patterns=patterns, random_state=0, **settings)
        held_out = (self.words[self.dev], self.phonemes[self.dev]) if stop_early else ()
        return crf.fit(self.words[self.train], self.phonemes[self.train], *held_out, start=start)

    def error(self, crf, part=None):
        """Wrong phonemes in percent."""
        part = part or self.test
        return 100 * (1 - crf.score(self.words[part], self.phonemes[part]))


@pytest.fixture(scope="module")
def letters(data):
    return Letters(data)


@pytest.fixture(scope="module")
def three(letters):
    """A model of windows of three letters with pairs of labels."""
    return letters.fit(["*", LETTER, THREE], max_iter=150)


@pytest.mark.data
@pytest.mark.slow
def test_single_letters_lie_in_their_band_with_every_penalty(letters):
    kinds = [{"l1": 0.5, "l2": 0.0}, {"l1": 0.5, "l2": 1e-5}, {"algorithm": "lbfgs", "l2": 0.1}]
    models = [letters.fit(["*", LETTER], max_iter=150, **kind) for kind in kinds]
    errors = [letters.error(crf) for crf in models]
    assert all(17.3 <= error <= 18.8 for error in errors), errors
    assert max(errors) - min(errors) <= 0.3
    assert all(3000 <= len(crf.features_) <= 7000 for crf in models[:2])


@pytest.mark.data
@pytest.mark.slow
def test_pairs_of_labels_with_windows_of_three_letters_lower_the_error(letters, three):
    plain = letters.fit(["b", "u:1=%x[0,0]", "u:3=%x[-1,0]%x[0,0]%x[1,0]"], max_iter=150)
    assert 10.2 <= letters.error(three) <= 11.3
    assert 14.0 <= letters.error(plain) <= 15.2
    assert letters.error(three) < 0.85 * letters.error(plain)
    assert len(three.features_) < 0.01 * three.pattern_counts_[-1]["features"]


@pytest.mark.data
@pytest.mark.slow
def test_sgd_and_fine_tuning_come_as_far_as_owlqn(letters, three):
    quick = letters.fit(["*", LETTER, THREE], algorithm=SGDL1(eta0=0.5, alpha=0.7), max_iter=8)
    tuned = letters.fit(None, max_iter=0, fine_tune=5, start=quick)
    assert len(tuned.features_) <= len(quick.features_)
    assert letters.error(tuned, letters.dev) <= letters.error(quick, letters.dev) + 0.05
    assert letters.error(tuned) <= letters.error(three) + 0.15


@pytest.mark.data
@pytest.mark.slow
def test_stages_from_one_to_five_letters_lose_nothing(letters):
    stages = [(20, [THREE], [1]), (60, [FIVE], [2])]
    staged = letters.fit(["*", LETTER], stages=stages, max_iter=140, stop_early=True)
    whole = letters.fit(["*", LETTER, THREE, FIVE], max_iter=140, stop_early=True)
    made, all_tests = ([row["tests"] for row in crf.pattern_counts_] for crf in (staged, whole))
    assert sum(made) < sum(all_tests)
    assert letters.error(whole) < 9.0
    assert letters.error(staged) <= letters.error(whole) + 0.1


@pytest.mark.data
@pytest.mark.slow
def test_stress_learned_together_with_phonemes_does_them_no_harm(letters, data):
    words = list(read_nettalk(data / "nettalk" / "nettalk.data"))
    random.Random(1).shuffle(words)
    joint = [word.joint() for word in words]
    assert [[label[0] for label in labels] for labels in joint] == letters.phonemes
    both = CRF(patterns=["*", LETTER], max_iter=60).fit(letters.words[letters.train], joint[letters.train])
    answers = both.predict(letters.words[letters.test])
    projected = evaluate_tags(joint[letters.test], answers, chunks=False, project=lambda label: label[0])
    assert projected.token_error < evaluate_tags(joint[letters.test], answers, chunks=False).token_error
    assert 100 * projected.token_error <= letters.error(letters.fit(["*", LETTER], max_iter=60))


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"algorithm": "lbfgs", "l2": 1.0}], ids=["elastic net", "L2"])
def test_words_and_tags_in_a_window_find_the_chunks_of_conll(data, settings):
    patterns = [
        "b",
        *(f"u:{name}{i}=%x[{i},{column}]" for column, name in enumerate("wp") for i in range(-2, 3)),
        "u:w-10=%x[-1,0]/%x[0,0]",
        "u:w01=%x[0,0]/%x[1,0]",
        *(f"u:p{i}{i + 1}=%x[{i},1]/%x[{i + 1},1]" for i in range(-2, 2)),
        *(f"u:p{i}{i + 2}=%x[{i},1]/%x[{i + 1},1]/%x[{i + 2},1]" for i in range(-2, 1)),
    ]
    train, test = (read_labeled(data / "conll2000" / f"{name}.txt") for name in ("train", "test"))
    crf = CRF(patterns=patterns, max_iter=100, **settings).fit(train.X, train.y)
    assert evaluate_tags(test.y, crf.predict(test.X)).f1 >= 0.937


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
    ours = CRF(algorithm="lbfgs", l2=1.0, tolerance=1e-6, max_iter=500).fit(X, y)
    assert ours.objective_ == pytest.approx(theirs, rel=1e-3)
    pairs = [pair for a, b in zip(ours.predict(X), by_crfsuite, strict=True) for pair in zip(a, b, strict=True)]
    assert sum(a != b for a, b in pairs) <= 0.001 * len(pairs)
    assert np.isfinite(ours.weights_).all()
