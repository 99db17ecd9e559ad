"""Wapiti and CRFsuite for the benchmark of CRFs: their data, their training runs, their times."""

from __future__ import annotations

import ctypes
import os
import random
import re
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from textmill.corpus import read_columns

__all__ = [
    "CHUNKS",
    "LETTERS",
    "Rows",
    "Tags",
    "WapitiGradient",
    "columns",
    "crfsuite",
    "crfsuite_attributes",
    "crfsuite_evaluation",
    "crfsuite_model",
    "crfsuite_run",
    "nettalk",
    "wapiti",
    "wapiti_epoch",
    "wapiti_objective",
]

Rows = list[list[tuple[str, ...]]]
Tags = list[list[str]]
Clock = Callable[[], float]

LETTERS = {
    "1-grm": ["*", "*:1=%x[0,0]"],
    "3-grm": ["*", "*:1=%x[0,0]", "*:3=%x[-1,0]%x[0,0]%x[1,0]"],
    "3-grm-": ["*:3=%x[-1,0]%x[0,0]%x[1,0]"],
}
CHUNKS = [
    "b",
    *(f"u:w{i}=%x[{i},0]" for i in range(-2, 3)),
    "u:w-10=%x[-1,0]/%x[0,0]",
    "u:w01=%x[0,0]/%x[1,0]",
    *(f"u:p{i}=%x[{i},1]" for i in range(-2, 3)),
    *(f"u:p{i}{i + 1}=%x[{i},1]/%x[{i + 1},1]" for i in range(-2, 2)),
    *(f"u:p{i}{i + 2}=%x[{i},1]/%x[{i + 1},1]/%x[{i + 2},1]" for i in range(-2, 1)),
]


def nettalk(data: Path, some: int | None = None) -> tuple[Rows, Tags]:
    """Letters and phonemes of the dictionary, in a random order."""
    lines = (data / "nettalk" / "nettalk.data").read_text(encoding="latin-1").splitlines()
    entries = [line.split("\t") for line in lines if line.strip()]
    random.Random(1).shuffle(entries)
    return [[(letter,) for letter in word] for word, *_ in entries[:some]], [list(p) for _, p, *_ in entries[:some]]


def columns(path: Path, some: int | None = None) -> tuple[Rows, Tags]:
    """Sentences of a column file, the last column apart."""
    sentences = [list(sentence) for sentence in read_columns(path)][:some]
    return [[row[:-1] for row in s] for s in sentences], [[row[-1] for row in s] for s in sentences]


def wapiti(
    patterns: list[str], X: Rows, y: Tags, *, clock: Clock = time.perf_counter, **options: Any
) -> tuple[Any, float, list[float]]:
    """The model, the seconds of training without the reading of sequences, and the objective after every iteration.

    Its progress goes past Python, to the process's own stderr.
    """
    import wapiti

    options = {"rho1": 0.5, "rho2": 1e-5, "stopeps": 1e-9, "stopwin": 100_000, **options}
    model = wapiti.Model(patterns="\n".join(patterns), **options)
    for rows, labels in zip(X, y, strict=True):
        model.add_training_sequence("\n".join(" ".join([*r, label]) for r, label in zip(rows, labels, strict=True)))
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        start = clock()
        try:
            model.train()
        finally:
            seconds = clock() - start
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        log = file.read().decode()
    return model, seconds, [float(found) for found in re.findall(r"obj=([\d.]+)", log)]


class WapitiGradient:
    """One evaluation of Wapiti: its own function for value and gradient, which its optimizers call."""

    def __init__(self, patterns: list[str], X: Rows, y: Tags, features: int, threads: int) -> None:
        self.model, _, _ = wapiti(patterns, X, y, algo="rprop", maxiter=1, nthread=threads)
        self.evaluate = _evaluation(self.model, features)

    def seconds(self, clock: Clock = time.perf_counter) -> float:
        start = clock()
        self.evaluate()
        return clock() - start


def wapiti_objective(model: Any, features: int) -> float:
    """The objective of a trained model with this number of features, by Wapiti's own function."""
    return _evaluation(model, features)()


def _evaluation(model: Any, features: int) -> Callable[[], float]:
    """Wapiti's function for the value, with penalties, and the gradient at the model's weights."""
    from wapiti.api import _wapiti

    gradient = (ctypes.c_double * features)()
    _wapiti.grd_new.restype = ctypes.c_void_p
    _wapiti.grd_new.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    _wapiti.grd_gradient.restype = ctypes.c_double
    _wapiti.grd_gradient.argtypes = [ctypes.c_void_p]
    state = _wapiti.grd_new(_address(model), ctypes.addressof(gradient))

    def evaluate(kept: Any = (model, gradient)) -> float:  # what the state points to must stay
        return float(_wapiti.grd_gradient(state))

    return evaluate


def wapiti_epoch(patterns: list[str], X: Rows, y: Tags) -> float:
    """Seconds of an epoch of SGD-L1, without the labeling of the training set that follows it in every iteration."""
    from wapiti.api import _wapiti

    model, short, _ = wapiti(patterns, X, y, algo="sgd-l1", maxiter=1, nthread=1)
    _, long, _ = wapiti(patterns, X, y, algo="sgd-l1", maxiter=2, nthread=1)
    token, sequence = ctypes.c_double(), ctypes.c_double()
    _wapiti.tag_eval.argtypes = [ctypes.c_void_p] * 3
    start = time.perf_counter()
    _wapiti.tag_eval(_address(model), ctypes.addressof(token), ctypes.addressof(sequence))
    return long - short - (time.perf_counter() - start)


def _address(model: Any) -> int | None:
    return ctypes.cast(model._model, ctypes.c_void_p).value


def crfsuite_attributes(sentence: list[tuple[str, ...]]) -> list[list[str]]:
    """The tests of CHUNKS as attributes, made in Python as CRFsuite's users do."""
    words = ["_", "_", *(row[0] for row in sentence), "_", "_"]
    tags = ["_", "_", *(row[1] for row in sentence), "_", "_"]
    found = []
    for t in range(2, len(sentence) + 2):
        tests = [f"w{i}={words[t + i]}" for i in range(-2, 3)]
        tests += [f"w-10={words[t - 1]}/{words[t]}", f"w01={words[t]}/{words[t + 1]}"]
        tests += [f"p{i}={tags[t + i]}" for i in range(-2, 3)]
        tests += [f"p{i}{i + 1}={tags[t + i]}/{tags[t + i + 1]}" for i in range(-2, 2)]
        tests += [f"p{i}{i + 2}={tags[t + i]}/{tags[t + i + 1]}/{tags[t + i + 2]}" for i in range(-2, 1)]
        found.append(tests)
    return found


def crfsuite(X: Rows, y: Tags, iterations: int) -> tuple[str, float, list[dict[str, Any]]]:
    """The model file, the seconds of training, and the log of the iterations; L-BFGS, features seen, c2 = 0.5."""
    trainer = _crfsuite_trainer(map(crfsuite_attributes, X), y, {"c1": 0.0, "c2": 0.5, "max_iterations": iterations})
    path = str(Path(tempfile.mkdtemp()) / "model")
    start = time.perf_counter()
    trainer.train(path)
    return path, time.perf_counter() - start, trainer.logparser.iterations


def crfsuite_model(path: str, tokens: Iterable[list[Any]], y: Tags, iterations: int) -> None:
    """Train as `crfsuite` does, with attributes of one's own, and write the model."""
    _crfsuite_trainer(tokens, y, {"c1": 0.0, "c2": 0.5, "max_iterations": iterations}).train(path)


def crfsuite_run(
    tokens: Iterable[list[Any]], y: Tags, iterations: int, penalties: dict[str, float]
) -> tuple[float, list[dict[str, Any]]]:
    """Processor seconds of a training run that no tolerance ends, and its log."""
    endless = {"max_iterations": iterations, "epsilon": 1e-12, "delta": 1e-12}
    trainer = _crfsuite_trainer(tokens, y, {**penalties, **endless})
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        trainer.train(str(Path(folder) / "model"))
    return time.process_time() - start, trainer.logparser.iterations


def crfsuite_evaluation(tokens: Callable[[], Iterable[list[Any]]], y: Tags) -> float:
    """Processor seconds of an evaluation: the difference of two runs of L-BFGS, by the evaluations they log.

    One pair of vectors is kept, so that the optimizer's own arithmetic is little beside them.
    """
    penalties = {"c1": 0.0, "c2": 0.5, "num_memories": 1}
    (short, few), (long, many) = (crfsuite_run(tokens(), y, iterations, penalties) for iterations in (2, 12))
    return (long - short) / sum(int(entry["linesearch_trials"]) for entry in many[len(few) :])


def _crfsuite_trainer(tokens: Iterable[list[Any]], y: Tags, parameters: dict[str, Any]) -> Any:
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params(parameters)
    for sentence, labels in zip(tokens, y, strict=True):
        trainer.append(sentence, labels)
    return trainer
