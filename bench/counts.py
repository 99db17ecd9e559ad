"""Count models against looping statsmodels, naive Bayes against MultinomialNB, and what zero inflation gains.

TEXTMILL_DATA=... python -m bench counts [--repeats 3] [--quick] [--only TEXT]

    SET, zibinom, N fits      processor seconds on one thread for every word and class of a table (20,000 words), and
    SET, negbinom, N fits     those that statsmodels needs for as many: its mean over some columns times the number of
                              columns that occur. statsmodels has no zero-inflated binomial; it gets its log-likelihood,
                              score and Hessian as a GenericLikelihoodModel, BFGS and then Newton. For the negative
                              binomial it gets no text of length 0 (it takes the logarithm of lengths, and one such
                              text makes all of its results NaN) and begins with the moments: from its own beginning
                              the rates of words are too far away. The quality compares 1,000 random columns: largest
                              distance of z, largest relative one of p (or mu, 1 / kappa). Where 1 / kappa is 0, which
                              statsmodels cannot reach, mu is compared with its Poisson, and the slope of the
                              likelihood by 1 / kappa must not be above 0 there
    SET, 2 threads            processor seconds of the busier of two threads, and of one; the bytes are the same
    SET, train, predict       processor seconds on one thread of NaiveBayes(event="multinomial") and MultinomialNB at
                              equal counts, full vocabulary
    SET, train, binom         the same for NaiveBayes(event="binom") with lengths, which also chooses its smoothing
    SET, V words              accuracy in % of zibinom and of binom, mean over 3 random splits 4:1; spread, McNemar's p
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections import Counter
from functools import cache, partial
from typing import Any

import numpy as np
import statsmodels.api as sm
from scipy.special import expit, gammaln
from sklearn.naive_bayes import MultinomialNB
from statsmodels.base.model import GenericLikelihoodModel

from bench._corpora import texts
from bench.harness import Job, Options
from papers._shared.presets import preset
from textmill.corpus import read_documents
from textmill.linear import (
    Binomial,
    NaiveBayes,
    NegativeBinomial,
    Poisson,
    ZeroInflated,
    fit_count_table,
    vocabulary_curve,
)

PACKAGES = ["statsmodels", "scikit-learn"]
SETS = ("20 News", "Reuters", "Reviews")
WORDS = 20_000
SIZES = {"20 News": (200, 1000, 5000, 20_000), "Reuters": (200, 1000, 5000), "Reviews": (200, 1000, 5000)}
SPLITS = 3
COMPARED = 1000


def jobs(options: Options) -> list[Job]:
    made = []
    for name in SETS:
        for kind in ("zibinom", "negbinom"):
            made.append(
                Job(
                    f"{name}, {kind}, {_cells(options, name):,} fits",
                    partial(_ours, options, name, kind),
                    partial(_theirs, options, name, kind),
                    "statsmodels in a loop",
                    partial(_distances, options, name, kind),
                    figure="returned",
                    bar=100.0,
                    claim=f"{kind} fits",
                )
            )
        made.append(
            Job(
                f"{name}, zibinom, 2 threads",
                partial(_fit, options, name, "zibinom", 2),
                partial(_fit, options, name, "zibinom", 1),
                "one thread",
                figure="busiest",
                bar=1.6,
                claim="fits on two threads",
            )
        )
        for part, bar, claim in (
            ("train", 1.0, "naive Bayes, train"),
            ("train, binom", 0.5, "binomial naive Bayes, train"),
            ("predict", 1.0, "naive Bayes, predict"),
        ):
            made.append(
                Job(
                    f"{name}, {part}",
                    partial(_bayes, options, name, part, ours=True),
                    partial(_bayes, options, name, part, ours=False),
                    "MultinomialNB",
                    partial(_agreement, options, name, part),
                    figure="processor",
                    bar=bar,
                    claim=claim,
                    prepare=partial(_both_trained, options, name),
                )
            )
        for size in SIZES[name]:
            made.append(
                Job(
                    f"{name}, {size:,} words",
                    partial(_accuracy, options, name, size, "zibinom"),
                    partial(_accuracy, options, name, size, "binom"),
                    "binom",
                    partial(_spread, options, name, size),
                    figure="returned",
                    label="%",
                )
            )
    return made


@cache
def counts(options: Options, name: str) -> tuple[Any, Any, Any]:
    """Counts of runs of letters, labels, and lengths."""
    if name == "20 News":
        records = list(read_documents(options.data / "newsgroups" / "20news.jsonl.gz"))
        documents, labels = [r.text for r in records], [r.fields["group"] for r in records]
    elif name == "Reuters":
        everything = read_documents(options.data / "reuters" / "reuters21578.jsonl.gz")
        records = [r for r in everything if len(r.fields["topics"]) == 1]
        sizes = Counter(r.fields["topics"][0] for r in records)
        records = [r for r in records if sizes[r.fields["topics"][0]] >= 20]
        documents, labels = [r.text for r in records], [r.fields["topics"][0] for r in records]
    else:
        documents = texts(Options(repeats=options.repeats), name)
        labels = [["books", "films", "kitchen"][i // 2000] for i in range(len(documents))]
    y = np.array(labels)
    if options.quick:
        documents, y = documents[::10], y[::10]
    X = preset("letters").fit_transform(documents)
    return X, y, np.asarray(X.sum(axis=1), np.float64).ravel()


@cache
def table(options: Options, name: str) -> tuple[Any, Any, Any]:
    """The training part of the first split with its most frequent words."""
    X, y, n = counts(options, name)
    train, _ = split(len(y), 0)
    rows = X[train]
    frequency = np.asarray((rows > 0).sum(axis=0)).ravel()
    words = np.sort(np.argsort(-frequency, kind="stable")[: 500 if options.quick else WORDS])
    return rows[:, words].tocsr(), y[train], n[train]


def split(size: int, seed: int) -> tuple[Any, Any]:
    order = np.random.default_rng(seed).permutation(size)
    return order[: size * 4 // 5], order[size * 4 // 5 :]


def _cells(options: Options, name: str) -> int:
    X, y, _ = table(options, name)
    return int(X.shape[1]) * len(np.unique(y))


def _fit(options: Options, name: str, kind: str, threads: int) -> Any:
    X, y, n = table(options, name)
    return fit_count_table(X, kind, y, exposure=n, n_jobs=threads)


def _ours(options: Options, name: str, kind: str) -> float:
    begin = time.process_time()
    _fit(options, name, kind, 1)
    return time.process_time() - begin


def _theirs(options: Options, name: str, kind: str) -> float:
    """Seconds for all words that occur, by the mean over some columns."""
    sample = _columns(options, name)[: 5 if options.quick else 20]
    begin = time.process_time()
    for x, n, _ in sample:
        _statsmodels(kind, x, n)
    mean = (time.process_time() - begin) / len(sample)
    return mean * int(((_best(options, name, kind).state & 1) == 0).sum())


@cache
def _best(options: Options, name: str, kind: str) -> Any:
    return _fit(options, name, kind, 1)


@cache
def _columns(options: Options, name: str) -> list[Any]:
    """Random words and classes in which they occur: counts, lengths, place."""
    X, y, n = table(options, name)
    present = np.argwhere((_best(options, name, "zibinom").state & 1) == 0)
    chosen = np.random.default_rng(7).permutation(len(present))[: 50 if options.quick else COMPARED]
    labels, by_word = np.unique(y), X.tocsc()
    out = []
    for c, w in present[chosen]:
        own = y == labels[c]
        out.append((by_word[:, [w]].toarray().ravel()[own].astype(float), n[own], (int(c), int(w))))
    return out


class ZeroInflatedBinomial(GenericLikelihoodModel):  # type: ignore[misc]
    """The zero-inflated binomial for statsmodels, in (logit p, logit z)."""

    def __init__(self, endog: Any, exposure: Any) -> None:
        super().__init__(endog, np.ones((len(endog), 1)), extra_params_names=["z"])
        self.n = exposure
        self.constant = float((gammaln(exposure + 1) - gammaln(endog + 1) - gammaln(exposure - endog + 1)).sum())

    def _parts(self, params: Any) -> Any:
        u, v = params
        f = np.where(self.endog > 0, self.endog * u, 0.0) - self.n * np.logaddexp(0, u)
        zero = self.endog == 0
        return f, zero, expit(v - f) * zero

    def loglike(self, params: Any) -> float:
        f, zero, _ = self._parts(params)
        v = params[1]
        return float(np.where(zero, np.logaddexp(v, f), f).sum() - len(f) * np.logaddexp(0, v)) + self.constant

    def nloglikeobs(self, params: Any) -> Any:
        f, zero, _ = self._parts(params)
        return -(np.where(zero, np.logaddexp(params[1], f), f) - np.logaddexp(0, params[1]))

    def score(self, params: Any) -> Any:
        _, _, r = self._parts(params)
        slope = self.endog - self.n * expit(params[0])
        return np.array([((1 - r) * slope).sum(), r.sum() - len(r) * expit(params[1])])

    def hessian(self, params: Any) -> Any:
        _, _, r = self._parts(params)
        p, z, mixed = expit(params[0]), expit(params[1]), r * (1 - r)
        slope = self.endog - self.n * p
        uu = (-(1 - r) * self.n * p * (1 - p) + mixed * slope**2).sum()
        return np.array([[uu, -(mixed * slope).sum()], [-(mixed * slope).sum(), mixed.sum() - len(r) * z * (1 - z)]])


def _moments(x: Any, n: Any) -> tuple[float, float]:
    """mu and 1 / kappa of counts by their moments; the latter may be below 0."""
    rate = x.sum() / n.sum()
    expected = rate * n
    return float(rate), float(((x - expected) ** 2 - x).sum() / (expected**2).sum())


def _statsmodels(kind: str, x: Any, n: Any, others: tuple[float, ...] = ()) -> tuple[float, float, float]:
    """p and z, or mu and 1 / kappa, and the log-likelihood; `others` are further beginnings of 1 / kappa."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if kind == "negbinom":
            x, n = x[n > 0], n[n > 0]  # of no length: log 0, and everything is NaN
            model, found = sm.NegativeBinomial(x, np.ones((len(x), 1)), exposure=n), []
            rate, spread = _moments(x, n)
            for start in (max(spread, 0.1), *others):
                run = model.fit([np.log(rate), start], disp=0, method="bfgs", maxiter=100, gtol=1e-8)
                params = _polished(model, run.params)
                found.append((float(model.loglike(params)), float(np.exp(params[0])), float(params[1])))
            value, mu, spread = max(found, key=lambda one: one[0] if np.isfinite(one[0]) else -np.inf)
            return mu, spread, value
        own = ZeroInflatedBinomial(x, n)
        rate, zeros = x.sum() / n.sum(), 0.5 * (x == 0).mean()
        start = [np.log(rate / (1 - rate)), np.log(zeros / (1 - zeros)) if zeros > 0 else -3.0]
        run = own.fit(start, method="bfgs", disp=0, maxiter=500, gtol=1e-8, skip_hessian=True)
        with contextlib.suppress(np.linalg.LinAlgError):  # z near 0: no curvature is left, what BFGS gave is taken
            run = own.fit(
                run.params, method="newton", disp=0, maxiter=100, tol=1e-13, ridge_factor=0.0, skip_hessian=True
            )
        return float(expit(run.params[0])), float(expit(run.params[1])), own.loglike(run.params)


def _polished(model: Any, params: Any) -> Any:
    """Newton steps with statsmodels' score and Hessian; its own leave the range of 1 / kappa and then hang."""
    value = model.loglike(params)
    for _ in range(30):
        if params[1] < 1e-4:  # at the limit, 1 / kappa = 0, what BFGS gave is taken
            break
        try:
            step = np.linalg.solve(model.hessian(params), model.score(params))
        except np.linalg.LinAlgError:
            break
        while np.abs(step).max() > 1e-14:
            after = params - step
            if after[1] > 0 and (new := model.loglike(after)) >= value:
                break
            step = step / 2
        else:
            break
        params, value = after, new
    return params


@cache
def _distances(options: Options, name: str, kind: str) -> str:
    """The largest distances over random columns; where statsmodels ends below our likelihood it is counted apart.

    Both likelihoods are worked out by our distributions, which lose no digits near the limit 1 / kappa = 0.
    """
    fits, first, second, worse, better, limits, again = _best(options, name, kind), 0.0, 0.0, 0, 0, 0, 0
    for x, n, (c, w) in _columns(options, name):
        own, other = fits.first[c, w], fits.z[c, w] if kind == "zibinom" else 1 / fits.second[c, w]
        if kind == "negbinom" and other == 0:
            limits += 1
            better += ((x - own * n) ** 2 - x).sum() > 0  # then the likelihood would rise from the limit on
            first = max(first, abs(own / _poisson(x, n) - 1))
            continue
        a, b, _ = _statsmodels(kind, x, n)
        if kind == "negbinom" and not abs(other - b) <= 1e-6 * b:  # NaN too
            again += 1
            a, b, _ = _statsmodels(kind, x, n, (0.1, 1.0, 10.0, 100.0))
        if not np.isfinite(a + b):
            worse += 1
            continue
        gap = _likelihood(kind, own, other, x, n) - _likelihood(kind, a, b, x, n)
        better += gap < -1e-8
        if gap > 1e-9:
            worse += 1
            continue
        first = max(first, abs(own / a - 1))
        second = max(second, abs(other - b) / (b if kind == "negbinom" else 1.0))
    names = ("p", "z") if kind == "zibinom" else ("mu", "1/kappa")
    lost = int(((fits.state & 16) > 0).sum() + (~np.isfinite(fits.log_likelihood)).sum())
    return (
        f"{len(_columns(options, name))} columns: {names[0]} within {first:.1e} (relative), {names[1]} {second:.1e}; "
        f"statsmodels short of the maximum in {worse}, we in {better}; {lost} of all diverge"
        + (f"; 1/kappa = 0 in {limits}; statsmodels begun anew in {again}" if kind == "negbinom" else "")
    )


def _poisson(x: Any, n: Any) -> float:
    """mu of statsmodels' Poisson model."""
    x, n = x[n > 0], n[n > 0]
    start = [np.log(_moments(x, n)[0]) + 0.1]
    return float(np.exp(sm.Poisson(x, np.ones((len(x), 1)), exposure=n).fit(start, disp=0, tol=1e-12).params[0]))


def _likelihood(kind: str, first: float, second: float, x: Any, n: Any) -> float:
    """The log-likelihood of p and z, or of mu and 1 / kappa."""
    model: Any = ZeroInflated(Binomial(first), second) if kind == "zibinom" else Poisson(first)
    if kind == "negbinom" and second > 1e-12:
        model = NegativeBinomial(first, 1 / second)
    return float(np.asarray(model.logpmf(x, n)).sum())


@cache
def _split_counts(options: Options, name: str) -> tuple[Any, Any, Any, Any, Any, Any]:
    X, y, n = counts(options, name)
    train, test = split(len(y), 0)
    return X[train], y[train], n[train], X[test], y[test], n[test]


def _fit_bayes(options: Options, name: str, event: str) -> Any:
    X, y, n, _, _, _ = _split_counts(options, name)
    if event == "binom":
        return NaiveBayes(event="binom", n_jobs=1).fit(X, y, exposure=n)
    return NaiveBayes(event="multinomial", smoothing=1.0, n_jobs=1).fit(X, y)


def _fit_peer(options: Options, name: str) -> Any:
    X, y, *_ = _split_counts(options, name)
    return MultinomialNB().fit(X, y)


@cache
def _both_trained(options: Options, name: str) -> tuple[Any, Any]:
    return _fit_bayes(options, name, "multinomial"), _fit_peer(options, name)


def _bayes(options: Options, name: str, part: str, *, ours: bool) -> None:
    if part == "predict":
        _both_trained(options, name)[0 if ours else 1].predict(_split_counts(options, name)[3])
    elif ours:
        _fit_bayes(options, name, "binom" if part == "train, binom" else "multinomial")
    else:
        _fit_peer(options, name)


def _agreement(options: Options, name: str, part: str) -> str:
    X, _, _, X_test, y_test, n_test = _split_counts(options, name)
    ours, peer = _both_trained(options, name)
    theirs = peer.predict(X_test)
    if part == "train, binom":
        labels = _fit_bayes(options, name, "binom").predict(X_test, exposure=n_test)
        return f"accuracy {(labels == y_test).mean():.4f} and {(theirs == y_test).mean():.4f}"
    labels = ours.predict(X_test)
    same = "the same" if (labels == theirs).all() else f"{(labels != theirs).sum()} different"
    size = f"{X.shape[0]} + {X_test.shape[0]} texts, {X.shape[1]} words"
    return f"{size}; {same} labels, accuracy {(labels == y_test).mean():.4f}"


@cache
def _curves(options: Options, name: str) -> list[Any]:
    X, y, n = counts(options, name)
    out = []
    for seed in range(SPLITS):
        train, test = split(len(y), seed)
        frequent = np.flatnonzero(np.asarray(X[train].sum(axis=0)).ravel() > 1)
        rows = X[:, frequent].tocsr()
        out.append(
            vocabulary_curve(
                rows[train], y[train], rows[test], y[test], sizes=SIZES[name], exposure=n[train], exposure_dev=n[test],
                events=("bernoulli", "binom", "zibinom", "betabinom", "multinomial"), n_jobs=1,
            )
        )  # fmt: skip
    return out


def _accuracies(options: Options, name: str, size: int, event: str) -> Any:
    curves = _curves(options, name)
    place = [min(range(len(c.sizes)), key=lambda i: abs(c.sizes[i] - size)) for c in curves]
    return 100 * np.array([c.accuracy[i, c.events.index(event)] for c, i in zip(curves, place, strict=True)])


def _accuracy(options: Options, name: str, size: int, event: str) -> float:
    return float(_accuracies(options, name, size, event).mean())


def _spread(options: Options, name: str, size: int) -> str:
    curves = _curves(options, name)
    sizes = [min(c.sizes, key=lambda s: abs(s - size)) for c in curves]
    p = [c.paired("binom", "zibinom", s).mcnemar().p_value for c, s in zip(curves, sizes, strict=True)]
    inflated = _accuracies(options, name, size, "zibinom")
    gains = inflated - _accuracies(options, name, size, "binom")
    others = ", ".join(
        f"{e} {_accuracy(options, name, size, e):.2f}" for e in ("bernoulli", "betabinom", "multinomial")
    )
    return (
        f"zibinom {inflated.min():.2f} to {inflated.max():.2f}, gains {gains.min():.2f} to {gains.max():.2f} points, "
        f"McNemar p <= {max(p):.2g}; {others}"
    )
