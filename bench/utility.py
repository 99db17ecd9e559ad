"""Training and decoding for F: quality against likelihood with a tuned threshold, speed against NumPy and scikit-learn.

TEXTMILL_DATA=... python -m bench utility [--repeats 3] [--quick] [--only TEXT]

    F1, SET                   1 - F1 of the test rows, mean over 10 random splits into train, dev and test (2 : 1 : 1).
                              Ours is `UtilityLogistic` as it is, trained on train and dev. The peer is logistic
                              regression, penalty 1 as LIBLINEAR's default, its threshold the best on dev; "refitted" is
                              trained again on train and dev with that threshold, and has the better of two penalties, 1
                              and 0.1, chosen on dev. Sets: three Reuters topics of about a hundred articles, rows with
                              outliers (8 columns, 20% positives, of which 15% are far out on the wrong side) and sparse
                              rows with 4% positives.
    decode 1,000 | 10,000     processor seconds for the set of greatest expected F1, exact; the cubic sum in NumPy, and
                              our own cubic method
    decode 100,000            processor seconds, approximate with its bound, against the second that is allowed
    decode 100,000 sets       processor seconds for sets of 30, on one thread, against the two seconds that are allowed
    gradient, 1 | 2 threads   processor seconds for value and gradient of F~ of 1,000,000 x 1,000 rows with 10 entries
                              each, against scikit-learn's logistic loss; of the busier of two threads against one,
                              ten times over, since the clock of a running thread moves in steps of 4 ms
    tags, conll2002           1 - F1 of spans with maximize="f1", against Viterbi's
"""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.stats import binomtest

from bench.harness import Job, Options
from textmill.corpus import Vocabulary, read_columns, read_documents
from textmill.linear import LogisticRegression, SmoothedUtility, UtilityLogistic, tuned_threshold
from textmill.metrics import BinaryCounts
from textmill.sequence import CRF, decode_f, decode_f_sets, evaluate_tags, expected_f_curve
from textmill.vectors import TextVectorizer, Weighting

PACKAGES = ["scikit-learn", "scipy"]
TOPICS = ("nat-gas", "bop", "livestock")  # 105, 105 and 99 articles
SETS = (*TOPICS, "outliers", "sparse")
SPLITS = 10


def jobs(options: Options) -> list[Job]:
    made = [
        Job(
            f"F1, {name}",
            lambda name=name: 1 - np.mean(_splits(options, name)["ours"]),
            lambda name=name: 1 - np.mean(_splits(options, name)["tuned"]),
            "threshold tuned on dev",
            lambda name=name: _quality(options, name),
            figure="returned",
            label="",
            bar=1.0,
            claim="1 - F1 of tests",
        )
        for name in SETS
    ]
    n = 300 if options.quick else 1000
    p = -np.sort(-np.random.default_rng(0).random(n))
    large = np.random.default_rng(1).random(2000 if options.quick else 10_000)
    many = np.random.default_rng(2).random(100_000)
    made += [
        Job(
            f"decode {n:,}",
            lambda: decode_f(p),
            lambda: numpy_curve(p).max(),
            "cubic, NumPy",
            lambda: f"E[F1] {decode_f(p).value:.12f} and {numpy_curve(p).max():.12f}",
            figure="processor",
            bar=100.0,
        ),
        Job(
            f"decode {len(large):,}",
            lambda: decode_f(large),
            lambda: decode_f(large, method="cubic"),
            "cubic, ours",
            lambda: f"same set: {np.array_equal(decode_f(large).labels, decode_f(large, method='cubic').labels)}",
            figure="processor",
        ),
        Job(
            "decode 100,000",
            lambda: _seconds(lambda: decode_f(many)),
            lambda: 1.0,
            "1 s",
            lambda: f"at most {decode_f(many).error:.1e} below the best",
            figure="returned",
            bar=1.0,
        ),
        Job(
            "decode 100,000 sets",
            lambda: _seconds(lambda: decode_f_sets(_sets(), n_jobs=1)),
            lambda: 2.0,
            "2 s",
            figure="returned",
            bar=1.0,
        ),
        Job(
            "gradient, 1 thread",
            lambda: _rows(options, 1)(np.full(1001, 0.01)),
            lambda: _their_gradient(options),
            "scikit-learn's logistic loss",
            figure="processor",
            bar=0.5,
        ),
        Job(
            "gradient, 2 threads",
            lambda: _ten_gradients(options, 2),
            lambda: _ten_gradients(options, 1),
            "one thread",
            figure="busiest",
            bar=1.6,
        ),
        Job(
            "tags, conll2002",
            lambda: 1 - _span_f1(options, "f1"),
            lambda: 1 - _span_f1(options, None),
            "Viterbi",
            lambda: f"span F1 {_span_f1(options, 'f1'):.4f} and {_span_f1(options, None):.4f}",
            figure="returned",
            label="",
            bar=1.0,
        ),
    ]
    return made


def appendix() -> str:
    wins = losses = 0
    for key in list(_RESULTS):
        ours, tuned = _RESULTS[key]["ours"], _RESULTS[key]["tuned"]
        wins += int((ours > tuned).sum())
        losses += int((ours < tuned).sum())
    held, trials = _bound_trials(10_000)
    sign = f"p = {binomtest(wins, wins + losses).pvalue:.2g}" if wins + losses else "not measured"
    return (
        f"\nall splits of the sets above: {wins} better, {losses} worse than the tuned threshold; sign test {sign}\n"
        f"bound of the approximation: held in {held:,} of {trials:,} random trials"
    )


_RESULTS: dict[str, dict[str, Any]] = {}


def _splits(options: Options, name: str) -> dict[str, Any]:
    """F1 on test of every split and method."""
    if name in _RESULTS:
        return _RESULTS[name]
    figures: dict[str, list[float]] = {"ours": [], "tuned": [], "refitted": [], "likelihood": [], "seconds": []}
    for split in range(2 if options.quick else SPLITS):
        X, y = _set(options, name, split if name in ("outliers", "sparse") else 0)
        order = np.random.default_rng(1000 + split).permutation(len(y))
        train, dev, test = np.split(order, [len(y) // 2, 3 * len(y) // 4])
        both = order[: 3 * len(y) // 4]
        models = {l2: LogisticRegression(l2=l2, n_jobs=1).fit(X[train], y[train]) for l2 in (1.0, 0.1)}
        points = {l2: tuned_threshold(model.decision_function(X[dev]), y[dev]) for l2, model in models.items()}
        best = max(points, key=lambda l2: points[l2].figure)
        again = LogisticRegression(l2=best, n_jobs=1).fit(X[both], y[both])
        start = time.process_time()
        ours = UtilityLogistic(n_jobs=1).fit(X[both], y[both])
        figures["seconds"].append(time.process_time() - start)
        answers = {
            "ours": ours.predict(X[test]),
            "tuned": models[1.0].decision_function(X[test]) >= points[1.0].threshold,
            "refitted": again.decision_function(X[test]) >= points[best].threshold,
            "likelihood": again.predict(X[test]),
        }
        for method, answer in answers.items():
            figures[method].append(BinaryCounts.from_labels(y[test], answer, True).f())
    _RESULTS[name] = {key: np.array(values) for key, values in figures.items()}
    return _RESULTS[name]


def _quality(options: Options, name: str) -> str:
    rows = _splits(options, name)
    wins, losses = int((rows["ours"] > rows["tuned"]).sum()), int((rows["ours"] < rows["tuned"]).sum())
    sign = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    means = ", ".join(f"{key} {rows[key].mean():.4f}" for key in ("ours", "tuned", "refitted", "likelihood"))
    return f"F1 {means}; {wins} better, {losses} worse, sign test p = {sign:.2g}; {rows['seconds'].mean():.1f} s a fit"


@cache
def _set(options: Options, name: str, seed: int) -> tuple[csr_matrix, Any]:
    if name in TOPICS:
        X, topics = _reuters(options)
        return X, np.array([name in some for some in topics])
    rng = np.random.default_rng(seed)
    if name == "outliers":
        y = rng.random(7615) < 0.2
        X = rng.normal(size=(7615, 8))
        X[y, 0] += 1.2
        X[y, 1] += 0.8
        far = np.flatnonzero(y)
        X[far[rng.random(len(far)) < 0.15], 0] -= 10
        return csr_matrix(X), y
    popular = 1 / np.arange(1, 2001) ** 0.8
    y = rng.random(8000) < 0.04
    marked = popular.copy()
    marked[rng.choice(2000, 60, replace=False)] *= 4
    chances = [popular / popular.sum(), marked / marked.sum()]
    rows = [np.unique(rng.choice(2000, 40, p=chances[int(one)])) for one in y]
    ends = np.cumsum([0, *map(len, rows)])
    lengths = np.repeat([len(row) ** -0.5 for row in rows], [len(row) for row in rows])
    return csr_matrix((lengths, np.concatenate(rows), ends), shape=(8000, 2000)), y


@cache
def _reuters(options: Options) -> tuple[csr_matrix, list[Any]]:
    records = list(read_documents(options.data / "reuters" / "reuters21578.jsonl.gz"))
    texts = [record.text for record in records]
    X = TextVectorizer(vocabulary=Vocabulary(), weighting=Weighting(scheme="ntc")).fit_transform(texts)
    return csr_matrix(X, dtype=np.float64), [record.fields["topics"] for record in records]


def numpy_curve(p: Any) -> Any:
    """E_0 ... E_n of falling p: for every m the sum over the distributions of hits and of the others."""
    n = len(p)
    before, behind = [np.ones(1)], [np.ones(1)]
    for one in p:
        before.append(np.convolve(before[-1], [1 - one, one]))
    for one in p[::-1]:
        behind.append(np.convolve(behind[-1], [1 - one, one]))
    curve = np.empty(n + 1)
    curve[0] = np.prod(1 - p)
    for m in range(1, n + 1):
        hits, rest = np.arange(m + 1)[:, None], np.arange(n - m + 1)
        curve[m] = before[m] @ (2 * hits / (m + hits + rest)) @ behind[n - m]
    return curve


def _bound_trials(trials: int) -> tuple[int, int]:
    rng = np.random.default_rng(13)
    held = 0
    for _ in range(trials):
        n, b = int(rng.integers(1, 60)), float(rng.choice([0.25, 0.49, 0.5, 1.0, 2.0, 4.0]))
        p = rng.beta(*rng.choice([0.2, 0.5, 1.0, 3.0], 2), n) * rng.choice([1.0, 0.1])
        exact = expected_f_curve(p, b=b)
        decoded = decode_f(p, b=b, method="approximate")
        held += decoded.value <= exact[decoded.size] + 1e-15 and exact.max() <= decoded.value + decoded.error + 1e-15
    return held, trials


def _seconds(work: Any) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


@cache
def _sets() -> list[Any]:
    return list(np.random.default_rng(3).random((100_000, 30)))


@cache
def _matrix(options: Options) -> tuple[csr_matrix, Any]:
    rng = np.random.default_rng(4)
    n = 50_000 if options.quick else 1_000_000
    columns = rng.integers(0, 100, (n, 10), dtype=np.int32) + np.arange(0, 1000, 100, dtype=np.int32)
    X = csr_matrix((rng.random(10 * n), columns.ravel(), np.arange(0, 10 * n + 1, 10, dtype=np.int32)), (n, 1000))
    return X, rng.random(n) < 0.1


@cache
def _rows(options: Options, threads: int) -> SmoothedUtility:
    objective = SmoothedUtility(*_matrix(options), n_jobs=threads)
    objective(np.zeros(1001))  # the matrix by columns is made once
    return objective


def _ten_gradients(options: Options, threads: int) -> None:
    for _ in range(10):
        _rows(options, threads)(np.full(1001, 0.01))


def _their_gradient(options: Options) -> Any:
    from sklearn._loss.loss import HalfBinomialLoss
    from sklearn.linear_model._linear_loss import LinearModelLoss

    X, y = _matrix(options)
    loss = LinearModelLoss(base_loss=HalfBinomialLoss(), fit_intercept=True)
    return loss.loss_gradient(np.full(1001, 0.01), X, y.astype(np.float64), n_threads=1)


@cache
def _tagger(options: Options) -> tuple[CRF, Any, Any]:
    def read(name: str) -> tuple[list[Any], list[list[str]]]:
        sentences = list(read_columns(options.data / "conll2002" / name, encoding="latin-1"))
        return [list(zip(*s.columns[:2], strict=True)) for s in sentences], [list(s.column(-1)) for s in sentences]

    X, y = read("esp.train")
    shape = ['u:s%m[0,0,".?.?.?$"]', 'u:c%m[0,0,"^.?"]']
    words = ["b", "u:%x[0,0]", "u:1%x[-1,0]", "u:2%x[1,0]", "u:p%x[0,1]", "u:q%x[-1,1]"]
    size = 500 if options.quick else 2500
    crf = CRF(patterns=[*words, *shape], l1=0.5, max_iter=60).fit(X[:size], y[:size])
    return (crf, *read("esp.testb"))


@cache
def _span_f1(options: Options, maximize: str | None) -> float:
    crf, X, y = _tagger(options)
    return float(evaluate_tags(y, crf.predict(X, maximize=maximize)).f1)
