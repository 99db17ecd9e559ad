"""Grafting of combinations against all of them written out: PolynomialFeatures and LIBLINEAR, at the same objective.

TEXTMILL_DATA=... python -m bench combinations [--repeats 3] [--quick] [--only TEXT]

    SET, degree D             processor seconds on one thread; the peer writes out every product that occurs and trains
                              LIBLINEAR's solver 6. Each side has the loosest tolerance of 0.1, 0.01 ... with which it
                              ends within 1e-4 of the best objective.
    SET, degree D, memory     megabytes that a process of its own takes at most above what it had with the data loaded
                              and the code in memory: each side has trained on the first 50 rows before
    planted, ten searches     processor seconds of the busier of two threads, and of one, for searches of degree 3; ten,
                              since the clock of a running thread moves in steps of 4 ms
    ppattach, prediction      processor seconds for the test events, against scikit-learn's cubic SVM

| set | rows | features | in a row | penalty |
|---|---|---|---|---|
| ppattach | 20,801 | 13,112 | 4 | 1 |
| planted | 20,000, for degree 3 4,000 | 1,000 | 30 | 10, for degree 3 4 |
| Reuters | 2,000 | 3,000 commonest, there or not | 40 | 3 |

Quality: how far objectives are above the best, active features, columns of the peer, accuracy on the test events.
"""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from liblinear.liblinearutil import problem as liblinear_problem
from liblinear.liblinearutil import train as liblinear_train
from scipy.sparse import csr_matrix
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import SVC

from bench._linear_sets import binary_set, prepositions
from bench.harness import Job, Options
from textmill.corpus import NamedFeatures
from textmill.linear import CombinationLogistic, find_violators

PACKAGES = ["liblinear-official", "scikit-learn"]


SETS = (("ppattach", 2), ("ppattach", 3), ("planted", 2), ("planted, 4,000 rows", 3), ("Reuters", 2))
PENALTIES = {"ppattach": 1.0, "planted": 10.0, "planted, 4,000 rows": 4.0, "Reuters": 3.0}
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
NEAR = 1e-4


def jobs(options: Options) -> list[Job]:
    made = []
    for name, degree in SETS:
        made.append(
            Job(
                f"{name}, degree {degree}",
                lambda name=name, degree=degree: _ours(options, name, degree, _tolerance(options, name, degree)),
                lambda name=name, degree=degree: _written_out(options, name, degree, _theirs(options, name, degree)),
                "PolynomialFeatures + LIBLINEAR",
                lambda name=name, degree=degree: _quality(options, name, degree),
                figure="processor",
                bar=10.0,
                claim="training",
                prepare=lambda name=name, degree=degree: (
                    _tolerance(options, name, degree),  # found once: their search is not timed
                    _theirs(options, name, degree),
                ),
            )
        )
        made.append(
            Job(
                f"{name}, degree {degree}, memory",
                lambda name=name, degree=degree: _megabytes("ours", name, degree, options),
                lambda name=name, degree=degree: _megabytes("theirs", name, degree, options),
                "PolynomialFeatures + LIBLINEAR",
                figure="returned",
                label="MB",
                bar=20.0,
                claim="memory",
            )
        )
    made.append(
        Job(
            "planted, 4,000 rows, ten searches of degree 3, 2 threads",
            lambda: [_searched(options, 2) for _ in range(10)],
            lambda: [_searched(options, 1) for _ in range(10)],
            "one thread",
            lambda: f"{len(_searched(options, 1)[0])} combinations, the same: {_same_search(options)}",
            figure="busiest",
            bar=1.6,
            prepare=lambda: _set(options, "planted, 4,000 rows"),
        )
    )
    made.append(
        Job(
            "ppattach, prediction",
            lambda: _model(options).predict(_test(options)[0]),
            lambda: _svm(options).predict(_test(options)[0]),
            "cubic SVM",
            lambda: f"accuracy: ours {_accuracy(options, _model(options))}, SVM {_accuracy(options, _svm(options))}",
            figure="processor",
            bar=50.0,
            prepare=lambda: (_model(options), _svm(options), _test(options)),
        )
    )
    return made


@cache
def _set(options: Options, name: str) -> tuple[csr_matrix, Any]:
    if name.startswith("planted"):
        rows = 20_000 if name == "planted" else 4000
        return _planted(rows // 10 if options.quick else rows)
    if name == "Reuters":
        X, y = binary_set(options, "Reuters")
        common = np.sort(np.argsort(-np.diff(X.tocsc().indptr), kind="stable")[100:3100])  # not the function words
        X = csr_matrix(X[:2000, common])
        X.data[:] = 1.0
        return X, y[:2000]
    events, labels = prepositions(options, "training")
    X = NamedFeatures().fit_transform(events)
    return (X[:3000], labels[:3000]) if options.quick else (X, labels)


def _planted(rows: int) -> tuple[csr_matrix, Any]:
    """Sparse binary rows with 30 of 1,000 features; logits from 20 features and 20 pairs of frequent ones."""
    rng = np.random.default_rng(3)
    popular = 1 / np.arange(1, 1001) ** 0.7
    chosen = np.array([rng.choice(1000, 30, replace=False, p=popular / popular.sum()) for _ in range(rows)])
    X = csr_matrix((np.ones(chosen.size), chosen.ravel(), np.arange(0, chosen.size + 1, 30)), shape=(rows, 1000))
    X.sort_indices()
    z = X[:, :20] @ rng.uniform(-2, 2, 20)
    for a, b in rng.choice(60, (20, 2)):
        z += rng.uniform(1, 3) * rng.choice([-1, 1]) * X[:, [a]].multiply(X[:, [b]]).toarray().ravel()
    return X, (rng.random(rows) < 1 / (1 + np.exp(-z))).astype(int)


def _ours(options: Options, name: str, degree: int, tolerance: float, rows: int | None = None) -> CombinationLogistic:
    X, y = _set(options, name) if rows is None else (part[:rows] for part in _set(options, name))
    return CombinationLogistic(l1=PENALTIES[name], degree=degree, n_jobs=1, tolerance=tolerance).fit(X, y)


def _searched(options: Options, threads: int) -> Any:
    """What a search finds before anything is learned but how many rows are positive."""
    X, y = _set(options, "planted, 4,000 rows")
    return find_violators(X, y - y.mean(), 10.0, 3, n_jobs=threads)


def _same_search(options: Options) -> bool:
    one, two = _searched(options, 1), _searched(options, 2)
    return all(np.array_equal(a, b) for a, b in zip(one[:2], two[:2], strict=True))


def _written_out(
    options: Options, name: str, degree: int, tolerance: float, rows: int | None = None
) -> tuple[csr_matrix, Any]:
    X, y = _set(options, name) if rows is None else (part[:rows] for part in _set(options, name))
    X = csr_matrix(PolynomialFeatures(degree, interaction_only=True).fit_transform(X))
    used, columns = np.unique(X.indices, return_inverse=True)  # of hundreds of millions of columns most are empty
    X = csr_matrix((X.data, columns.astype(np.int32), X.indptr.astype(np.int32)), shape=(X.shape[0], len(used)))
    problem = liblinear_problem(np.where(y == 1, 1.0, -1.0), X)
    model = liblinear_train(problem, f"-s 6 -c {1 / PENALTIES[name]} -e {tolerance} -q")
    weights = np.array(model.w[: X.shape[1]])
    return X, weights if model.label[0] == 1 else -weights


@cache
def _best(options: Options, name: str, degree: int) -> float:
    return _ours(options, name, degree, 1e-7).objective_


@cache
def _tolerance(options: Options, name: str, degree: int) -> float:
    best = _best(options, name, degree)
    return next(t for t in TOLERANCES if _ours(options, name, degree, t).objective_ <= best * (1 + NEAR))


@cache
def _theirs(options: Options, name: str, degree: int) -> float:
    best = _best(options, name, degree)
    return next(t for t in TOLERANCES if _objective(options, name, degree, t)[0] <= best * (1 + NEAR))


@cache
def _objective(options: Options, name: str, degree: int, tolerance: float) -> tuple[float, int]:
    """The objective that the peer reaches, and its columns."""
    X, weights = _written_out(options, name, degree, tolerance)
    z, y = X @ weights, _set(options, name)[1]
    loss = np.logaddexp(0, np.where(y == 1, -z, z)).sum()
    return float(loss + PENALTIES[name] * np.abs(weights).sum()), X.shape[1]


def _quality(options: Options, name: str, degree: int) -> str:
    model, best = _ours(options, name, degree, _tolerance(options, name, degree)), _best(options, name, degree)
    theirs, columns = _objective(options, name, degree, _theirs(options, name, degree))
    above = f"{model.objective_ / best - 1:.1e} and {theirs / best - 1:.1e}"
    return f"above the best: {above}; {len(model.combinations_)} of {columns} columns"


def _megabytes(side: str, name: str, degree: int, options: Options) -> float:
    """What a process of its own takes at most above what it has when the data are there."""
    tolerance = (_tolerance if side == "ours" else _theirs)(options, name, degree)
    words = [sys.executable, "-m", "bench.combinations", side, name, str(degree), str(tolerance)]
    quick = {**os.environ, "QUICK": "1" if options.quick else ""}
    return float(subprocess.run(words, check=True, capture_output=True, text=True, env=quick).stdout)


def _memory(field: str) -> float:
    """VmRSS, the megabytes that this process holds, or VmHWM, the most it has held since that was reset."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(field))


@cache
def _model(options: Options) -> CombinationLogistic:
    return _ours(options, "ppattach", 3, 1e-5)


@cache
def _test(options: Options) -> tuple[csr_matrix, Any]:
    names = NamedFeatures().fit(prepositions(options, "training")[0])
    events, labels = prepositions(options, "test")
    return names.transform(events), labels


@cache
def _svm(options: Options) -> SVC:
    X, y = _set(options, "ppattach")
    return SVC(C=0.01, kernel="poly", degree=3, coef0=1.0, gamma=1.0).fit(X, y)


def _accuracy(options: Options, model: Any) -> str:
    X, labels = _test(options)
    return f"{100 * model.score(X, labels):.2f}"


if __name__ == "__main__":  # one side in a process of its own: prints its megabytes
    side, name, degree, tolerance = sys.argv[1:]
    chosen = Options(quick=bool(os.environ["QUICK"]))
    work = _ours if side == "ours" else _written_out
    work(chosen, name, int(degree), 0.1, rows=50)
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)  # what was freed after loading is not counted as had
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets VmHWM
    before = _memory("VmRSS")
    work(chosen, name, int(degree), float(tolerance))
    print(max(_memory("VmHWM") - before, 0.1))
