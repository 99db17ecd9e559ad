"""Scores of reviews: the protocol of the paper, scoring, and large linear regressions, against scikit-learn.

    SET, protocol       processor seconds of a ten-fold comparison of quadratic regression and pairwise votes, from
                        the texts on; the peer cuts texts by the same function and hands kernel matrices to SVR and SVC
    SET, scoring        processor seconds for the vectors of 10,000 reviews by the support vectors of one fold's model
    large, linear       processor seconds of a linear regression over 500,000 made-up reviews with 1,000,000 hashed
                        columns, ours to a gap of 1 % of the objective, the peer (LinearSVR, dual) as many passes
    large, streamed     the same with rows read from disk again in every pass, in a process of its own; and its memory

Sets are balanced draws: five stars (amazon5.csv), books, DVDs and kitchenware. Behind the table stands the quality: the
squared error over three shuffles, within a domain and from one to another.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.svm import SVC, SVR, LinearSVR
from threadpoolctl import threadpool_limits

from bench._streamed_regression import write_chunks
from bench.harness import Job, Options, measured
from papers.polarity.baselines import add_baselines
from papers.polarity.experiments import transfer
from textmill.linear import SupportVectorRegression
from textmill.selection import deal_folds
from textmill.tasks.polarity import PolarityScorer, ReviewFeatures, Reviews, balance, cross_validate, read_reviews

PACKAGES = ["scikit-learn"]
FILES = {"books": "books", "DVD": "dvd", "kitchen": "kitchen_housewares"}
NAMES = ("five stars", *FILES)
KINDS = {
    "pairwise SVM": PolarityScorer(kind="pairwise", n_jobs=1),
    "least squares": PolarityScorer(kind="least-squares", n_jobs=1),
    "SVR linear": PolarityScorer(kind="svr", kernel="linear", n_jobs=1),
    "SVR quadratic": PolarityScorer(kind="svr", n_jobs=1),
    "ordinal": PolarityScorer(kind="ordinal", n_jobs=1),
}
ROWS = ("constant", *KINDS)
PAIR = {name: KINDS[name] for name in ("pairwise SVM", "SVR quadratic")}
SHUFFLES = 3
_options: list[Options] = []


def jobs(options: Options) -> list[Job]:
    _options[:] = [options]
    made = []
    for name in NAMES:
        made += [
            Job(
                f"{name}, protocol",
                lambda name=name: _ours(options, name),  # type: ignore[misc]
                lambda name=name: _theirs(options, name),  # type: ignore[misc]
                "scikit-learn",
                lambda name=name: _agreement(options, name),  # type: ignore[misc]
                figure="processor",
                bar=3.0,
                claim="protocol, one thread",
            ),
            Job(
                f"{name}, scoring",
                lambda name=name: _models(options, name)[0].predict(_rows(options, name)),  # type: ignore[misc]
                lambda name=name: _models(options, name)[1].predict(_rows(options, name)),  # type: ignore[misc]
                "scikit-learn",
                lambda name=name: _difference(options, name),  # type: ignore[misc]
                figure="processor",
                bar=5.0,
                claim="scoring, one thread",
                prepare=lambda name=name: _rows(options, name),  # type: ignore[misc]
            ),
        ]
    made.append(
        Job(
            "large, linear",
            lambda: _large_ours(options),
            lambda: _large_theirs(options),
            "scikit-learn",
            lambda: _large_quality(options),
            figure="processor",
            prepare=lambda: _passes(options),
        )
    )
    made.append(
        Job(
            "large, linear, streamed",
            lambda: _streamed(options)["seconds"],
            lambda: measured(lambda: _large_theirs(options), "processor"),
            "scikit-learn, in memory",
            lambda: _streamed_quality(options),
            figure="returned",
            prepare=lambda: (_passes(options), _chunks(options)),
        )
    )
    return made


def appendix() -> str:
    """Squared errors over the shuffles, as tables."""
    options = _options[0]
    names = NAMES[:1] if options.quick else NAMES
    lines = ["squared error (accuracy), 10 folds, mean of 3 shuffles", "set | " + " | ".join(ROWS)]
    for name in names:
        cells = [f"{mse:.3f} ({accuracy:.3f})" for mse, accuracy in _within(options, name).values()]
        lines.append(f"{name} | " + " | ".join(cells))
    if not options.quick:
        lines += ["", "trained on -> tested on | " + " | ".join(ROWS)]
        for source in FILES:
            for target in FILES:
                if source != target:
                    cells = [f"{mse:.3f}" for mse in _across(options, source, target).values()]
                    lines.append(f"{source} -> {target} | " + " | ".join(cells))
    return "\n".join(lines)


@cache
def _all_reviews(options: Options, name: str) -> Reviews:
    folder = options.data / "reviews"
    if name == "five stars":
        return read_reviews(folder / "amazon5.csv", text_field="input")
    return read_reviews([folder / f"{FILES[name]}-{side}.review" for side in ("negative", "positive")])


@cache
def _reviews(options: Options, name: str, seed: int = 0) -> Reviews:
    whole = _all_reviews(options, name)
    count = 30 if options.quick else None
    return whole.take(balance(whole.scores, n_reviews=count, random_state=seed))


def _ours(options: Options, name: str) -> Any:
    reviews = _reviews(options, name)
    return cross_validate(reviews.texts, reviews.scores, PAIR, scale=reviews.scale, n_jobs=1).predicted


def _theirs(options: Options, name: str) -> Any:
    reviews = _reviews(options, name)
    y, folds = reviews.scores, deal_folds(reviews.scores)
    features = list(ReviewFeatures().tokenize(reviews.texts))
    X = CountVectorizer(analyzer=_as_is).fit_transform(features).astype(float)
    predicted = {kind: np.empty(len(y)) for kind in PAIR}
    with threadpool_limits(1):
        for fold in range(10):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            df = np.asarray((X[train] > 0).sum(axis=0)).ravel()
            weights = np.where(df > 0, np.log(len(train) / np.maximum(df, 1)), 0.0)
            Z = X @ sparse.diags(weights)
            lengths = np.sqrt(np.asarray(Z.multiply(Z).sum(axis=1)).ravel())
            Z = sparse.csr_matrix(sparse.diags(1 / np.where(lengths > 0, lengths, 1)) @ Z)
            inner = ((Z[train] @ Z[train].T).toarray() + 1) ** 2
            outer = ((Z[test] @ Z[train].T).toarray() + 1) ** 2
            svr = SVR(kernel="precomputed", C=100, epsilon=0.1).fit(inner, y[train])
            predicted["SVR quadratic"][test] = svr.predict(outer)
            svc = SVC(kernel="precomputed", C=100).fit(inner, y[train])
            predicted["pairwise SVM"][test] = svc.predict(outer)
    return predicted


def _as_is(features: list[str]) -> list[str]:
    return features


def _agreement(options: Options, name: str) -> str:
    gold = _reviews(options, name).scores
    ours, theirs = _ours(options, name), _theirs(options, name)
    cells = [
        f"{kind} {((ours[kind] - gold) ** 2).mean():.3f} and {((theirs[kind] - gold) ** 2).mean():.3f}" for kind in PAIR
    ]
    return "squared error, ours and peer: " + ", ".join(cells)


@cache
def _models(options: Options, name: str) -> tuple[Any, Any, Any]:
    reviews = _reviews(options, name)
    scorer = PolarityScorer(kind="svr", n_jobs=1).fit(reviews.texts, reviews.scores)
    X = sparse.csr_matrix(scorer.vectorizer_.transform(reviews.texts))
    theirs = SVR(kernel="poly", degree=2, gamma=1.0, coef0=1.0, C=100, epsilon=0.1).fit(X, reviews.scores)
    return scorer.learner_, theirs, scorer


@cache
def _rows(options: Options, name: str) -> Any:
    texts = _all_reviews(options, name).texts
    count = 500 if options.quick else 10_000
    return sparse.csr_matrix(_models(options, name)[2].vectorizer_.transform((texts * 11)[:count]))


def _difference(options: Options, name: str) -> str:
    ours, theirs, _ = _models(options, name)
    rows = _rows(options, name)[:500]
    largest = np.abs(ours.predict(rows) - theirs.predict(rows)).max()
    return f"{ours.n_support_} support vectors; largest difference {largest:.1e}"


@cache
def _large(options: Options) -> tuple[Any, Any]:
    """Rows of 60 words each by Zipf's law, hashed, of length 1; scores follow random weights of the words."""
    rows, columns, words = (20_000, 50_000, 30) if options.quick else (500_000, 1_000_000, 60)
    random = np.random.default_rng(0)
    ranks = np.minimum(random.zipf(1.3, (rows, words)), 10**7).astype(np.uint64)
    ids = ((ranks * np.uint64(11400714819323198485)) >> np.uint64(20)) % np.uint64(columns)
    offsets = np.arange(0, rows * words + 1, words, dtype=np.int32)
    X = sparse.csr_matrix((np.ones(rows * words), ids.astype(np.int32).ravel(), offsets), shape=(rows, columns))
    X.sum_duplicates()
    X.data[:] = 1.0  # else the most frequent word would decide every score
    lengths = np.sqrt(np.bincount(np.repeat(np.arange(rows), np.diff(X.indptr)), X.data**2, rows))
    X.data /= np.repeat(lengths, np.diff(X.indptr))
    opinion = X @ random.normal(0, 2, columns)
    y = np.clip(np.rint(3 + opinion - opinion.mean() + random.normal(0, 0.7, rows)), 1, 5)
    return X, y


def _large_model(options: Options) -> SupportVectorRegression:
    X, y = _large(options)
    return SupportVectorRegression(cost=1.0, tolerance=1e-2, n_jobs=1).fit(X, y)


@cache
def _passes(options: Options) -> int:
    return _large_model(options).n_iter_


def _large_ours(options: Options) -> Any:
    return _large_model(options)


def _large_theirs(options: Options) -> Any:
    X, y = _large(options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LinearSVR(C=1.0, epsilon=0.1, dual=True, tol=1e-12, max_iter=_passes(options), intercept_scaling=10.0)
        return model.fit(X, y)


def _large_quality(options: Options) -> str:
    X, y = _large(options)
    start = time.process_time()
    model = _large_model(options)
    seconds = time.process_time() - start
    theirs = _large_theirs(options)

    def objective(coef: Any, intercept: float) -> float:
        return 0.5 * float(coef @ coef) + float(np.maximum(np.abs(X @ coef + intercept - y) - 0.1, 0).sum())

    ours, peer = objective(model.coef_[0], model.intercept_[0]), objective(theirs.coef_, theirs.intercept_[0])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return (
        f"{model.n_iter_} passes, {seconds:.0f} s, gap {model.gap_ / model.objective_:.1e}; objective of the peer "
        f"{peer / ours - 1:+.1%}; {X.nnz / 1e6:.0f} million entries, {memory:.1f} GiB in all"
    )


@cache
def _chunks(options: Options) -> Any:
    """A folder, gone when the run is over, with the rows in ten files."""
    folder = tempfile.TemporaryDirectory()
    X, y = _large(options)
    write_chunks(Path(folder.name), X, y, X.shape[0] // 10)
    return folder


def _streamed(options: Options) -> dict[str, float]:
    command = [sys.executable, "-m", "bench._streamed_regression", _chunks(options).name]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def _streamed_quality(options: Options) -> str:
    found, whole = _streamed(options), _large_model(options)
    return (
        f"{found['passes']} passes, gap {found['gap']:.1e}; objective {found['objective'] / whole.objective_ - 1:+.1%} "
        f"of that in memory; {found['memory']:.0f} MiB at most, {found['before']:.0f} before the first row"
    )


@cache
def _within(options: Options, name: str) -> dict[str, tuple[float, float]]:
    figures: dict[str, list[tuple[float, float]]] = {kind: [] for kind in ROWS}
    for seed in range(SHUFFLES):
        reviews = _reviews(options, name, seed)
        result = add_baselines(
            cross_validate(reviews.texts, reviews.scores, KINDS, scale=reviews.scale, random_state=seed)
        )
        for kind in ROWS:
            one = result.evaluation(kind)
            figures[kind].append((one.mse, one.accuracy or 0.0))
    return {
        kind: (float(np.mean([m for m, _ in some])), float(np.mean([a for _, a in some])))
        for kind, some in figures.items()
    }


@cache
def _across(options: Options, source: str, target: str) -> dict[str, float]:
    errors: dict[str, list[float]] = {kind: [] for kind in ROWS}
    for seed in range(SHUFFLES):
        result = add_baselines(transfer(_reviews(options, source, seed), _reviews(options, target, seed), KINDS))
        for kind in ROWS:
            errors[kind].append(result.evaluation(kind).mse)
    return {kind: float(np.mean(some)) for kind, some in errors.items()}
