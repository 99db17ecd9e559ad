"""Training on a badly scaled problem keeps pace with other tools: words of very different frequency, in near copies."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest

from textmill.sequence import CRF, LBFGS, OWLQN, Encoder

ITERATIONS = 30
PATTERNS = ["b", "u:0=%x[0,0]", "u:1=%x[0,1]", "u:2=%x[0,2]", "u:-10=%x[-1,0]/%x[0,0]"]


@pytest.fixture(scope="module")
def sequences():
    """Words by rank from 1/r^1.3, mostly of their label; two more columns repeat the first but for one in fifty."""
    rng = np.random.default_rng(5)
    X, y = [], []
    for _ in range(150):
        label = np.repeat(rng.integers(3, size=10), 3)
        own = np.where(rng.random(30) < 0.6, label, rng.integers(3, size=30))
        words = np.array([f"{rank}.{of}" for rank, of in zip(np.minimum(rng.zipf(1.3, 30), 2000), own, strict=True)])
        copies = [np.where(rng.random(30) < 0.02, "other", words) for _ in range(2)]
        X.append([tuple(map(str, row)) for row in zip(words, *copies, strict=True)])
        y.append([f"L{i}" for i in label])
    return X, y


def objectives(sequences, algorithm=OWLQN, **options):
    exact = algorithm(gradient_tolerance=0.0)
    crf = CRF(patterns=PATTERNS, algorithm=exact, max_iter=ITERATIONS, tolerance=0.0, n_jobs=1, **options)
    return crf.fit(*sequences).trace_


def test_owlqn_is_never_more_than_one_percent_above_wapiti(sequences, capfd):
    wapiti = pytest.importorskip("wapiti")
    model = wapiti.Model(
        patterns="\n".join(PATTERNS), algo="l-bfgs", rho1=0.5, rho2=1e-5, stopeps=1e-9, stopwin=1000,
        maxiter=ITERATIONS, nthread=1,
    )  # fmt: skip
    for rows, labels in zip(*sequences, strict=True):
        model.add_training_sequence("\n".join(" ".join([*r, label]) for r, label in zip(rows, labels, strict=True)))
    capfd.readouterr()
    model.train()
    theirs = np.array([float(value) for value in re.findall(r"obj=([\d.]+)", capfd.readouterr().err)])
    assert len(theirs) == ITERATIONS
    ours = objectives(sequences, algorithm=OWLQN, l1=0.5, l2=1e-5)
    assert (ours[9:] <= 1.01 * theirs[9:]).all()


@pytest.mark.parametrize(("algorithm", "l1", "l2"), [(LBFGS, 0.0, 1.0), (OWLQN, 0.5, 1e-5)])
def test_training_is_never_more_than_one_percent_above_crfsuite(sequences, algorithm, l1, l2):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    X, y = sequences
    encoder = Encoder(patterns=PATTERNS[1:], n_jobs=1).fit(X)
    data, names = encoder.encode(X), encoder.tests_.to_list()
    tests = [[names[i] for i in data.unigram.ids[a:b]] for a, b in pairwise(data.unigram.indptr)]
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c1": l1, "c2": l2 / 2, "max_iterations": ITERATIONS, "epsilon": 1e-12, "delta": 1e-12})
    for i, labels in enumerate(y):
        trainer.append(tests[data.offsets[i] : data.offsets[i + 1]], labels)
    trainer.train("")
    theirs = np.array([entry["loss"] for entry in trainer.logparser.iterations])
    ours = objectives(sequences, algorithm=algorithm, l1=l1, l2=l2, features="seen")
    assert len(theirs) == len(ours) == ITERATIONS
    assert (ours[9:] <= 1.01 * theirs[9:]).all()
