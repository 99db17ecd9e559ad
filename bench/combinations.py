"""Grafting of combinations against all of them written out: PolynomialFeatures and LIBLINEAR, at the same objective.

TEXTMILL_DATA=... python -m bench combinations [--repeats 3] [--quick] [--only TEXT]

    ppattach, degree 2 | 3    processor seconds on one thread; penalty 1, and 10 for the planted set; the peer makes
    planted, degree 2         every product that occurs and trains LIBLINEAR's solver 6 to the objective of ours
    ppattach, prediction      processor seconds for the test events, against scikit-learn's cubic SVM

Quality: objectives, active features, megabytes of their table, accuracy on the test events.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from liblinear.liblinearutil import problem as liblinear_problem
from liblinear.liblinearutil import train as liblinear_train
from scipy.sparse import csr_matrix
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import SVC

from bench._linear_sets import prepositions
from bench.harness import Job, Options
from textmill.corpus import NamedFeatures
from textmill.linear import CombinationLogistic

PACKAGES = ["liblinear-official", "scikit-learn"]


def jobs(options: Options) -> list[Job]:
    made = []
    for name, degree in (("ppattach", 2), ("ppattach", 3), ("planted", 2)):
        made.append(
            Job(
                f"{name}, degree {degree}",
                lambda name=name, degree=degree: _ours(options, name, degree),
                lambda name=name, degree=degree: _written_out(options, name, degree),
                "PolynomialFeatures + LIBLINEAR",
                lambda name=name, degree=degree: _quality(options, name, degree),
                figure="processor",
                bar=10.0,
                claim="training",
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
        )
    )
    return made


@cache
def _set(options: Options, name: str) -> tuple[csr_matrix, Any]:
    if name == "planted":
        return _planted(2000 if options.quick else 20_000)
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


def _ours(options: Options, name: str, degree: int) -> CombinationLogistic:
    X, y = _set(options, name)
    return CombinationLogistic(l1=_l1(name), degree=degree, n_jobs=1, tolerance=1e-5).fit(X, y)


def _l1(name: str) -> float:
    return 1.0 if name == "ppattach" else 10.0


def _expanded(options: Options, name: str, degree: int) -> csr_matrix:
    made = PolynomialFeatures(degree, interaction_only=True).fit_transform(_set(options, name)[0])
    return csr_matrix(made)


def _written_out(options: Options, name: str, degree: int) -> Any:
    X, y = _expanded(options, name, degree), _set(options, name)[1]
    used, columns = np.unique(X.indices, return_inverse=True)  # of hundreds of millions of columns most are empty
    X = csr_matrix((X.data, columns.astype(np.int32), X.indptr.astype(np.int32)), shape=(X.shape[0], len(used)))
    model = liblinear_train(liblinear_problem(np.where(y == 1, 1.0, -1.0), X), f"-s 6 -c {1 / _l1(name)} -e 1e-4 -q")
    weights = np.array(model.w[: X.shape[1]])
    return X, weights if model.label[0] == 1 else -weights


def _quality(options: Options, name: str, degree: int) -> str:
    model, (X, weights) = _ours(options, name, degree), _written_out(options, name, degree)
    z, y = X @ weights, _set(options, name)[1]
    theirs = np.logaddexp(0, np.where(y == 1, -z, z)).sum() + _l1(name) * np.abs(weights).sum()
    megabytes = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 1e6
    return (
        f"objective {model.objective_:.3f} and {theirs:.3f}; {len(model.combinations_)} of {X.shape[1]} columns; "
        f"their table {megabytes:.0f} MB"
    )


@cache
def _model(options: Options) -> CombinationLogistic:
    return _ours(options, "ppattach", 3)


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
