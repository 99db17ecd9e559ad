"""Fit distributions of counts: to one word, or to every word and class of a table in one call.

    newton    maximum likelihood, or the mode under a prior: closed form for the Poisson, binomial and Bernoulli,
              else Newton's method with safeguards; models at their limits (kappa = infinity, gamma = 0, z = 0) are
              recognized by the slope there
    em        maximum likelihood of z and the rest in turns, for zero-inflated kinds
    moments   binomial p = sum x / sum n and beta-binomial
              gamma = [sum (x - n p)^2 / (p (1 - p)) - sum n] / (sum n^2 - sum n), at least 0 and below 1;
              negative binomial 1 / kappa = [sum (x - m)^2 - sum m] / sum m^2
    cells     the negative binomial with the observed frequencies of 0 and 1, which fits the rest badly

A prior adds `success` occurrences in `success + failure` tokens (or in `failure` units of exposure for mu), and
`inflated` texts of `inflated + not_inflated` in which the word could not occur.

Cost of a table: for each word and class the number of distinct lengths plus its own texts, times some ten steps.
References: Jansche (2003); Lambert (1992).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill._native import linear as native
from textmill.arrays import Floats, Ids
from textmill.corpus import csr_arrays
from textmill.errors import DataError
from textmill.linear.counts.distributions import distribution_of
from textmill.linear.counts.tables import (
    check_columns,
    check_counts,
    check_exposure,
    column_of,
    counts_and_weights,
    row_of_entries,
)
from textmill.model import check_choice, check_range, effective_jobs
from textmill.numeric import sparse
from textmill.tables import Table

__all__ = [
    "FAMILIES",
    "KINDS",
    "CountFit",
    "CountFits",
    "CountPrior",
    "estimate_moments",
    "fit_count_table",
    "fit_counts",
    "notes_of",
    "parameter_names",
]

FAMILIES = {"poisson": 0, "negbinom": 1, "binom": 2, "bernoulli": 2, "betabinom": 3}
KINDS = (*FAMILIES, *(f"zi{name}" for name in FAMILIES))
_METHODS = ("newton", "em", "moments", "cells")
_NAMES = {
    "poisson": ("mu",),
    "negbinom": ("mu", "kappa"),
    "binom": ("p",),
    "bernoulli": ("p",),
    "betabinom": ("p", "gamma"),
}
_STATES = {  # bits of native/linear/count_fits.h
    1: "absent",
    2: "no inflation",
    4: "no spread",
    8: "unidentified",
    16: "unfinished",
    32: "at the end",
}


@dataclass(frozen=True, slots=True)
class CountPrior:
    """Occurrences, tokens and texts that are added to what was seen; all 0 for maximum likelihood.

    >>> fit_counts([0, 0], "binom", exposure=[10, 10], prior=CountPrior(success=1, failure=9)).distribution.p
    0.03333333333333333
    """

    success: float = 0.0
    failure: float = 0.0
    inflated: float = 0.0
    not_inflated: float = 0.0

    def __post_init__(self) -> None:
        for name, value in zip(("success", "failure", "inflated", "not_inflated"), astuple(self), strict=True):
            check_range(name, value, at_least=0, below=np.inf)


@dataclass(frozen=True)
class CountFit:
    """A distribution with how well it fits.

    Attributes: kind; distribution; log_likelihood; observations, the sum of weights; standard_errors by parameter, NaN
    where the parameter is at a limit; notes: absent (the word never occurs), no inflation (z = 0 is best), no spread
    (kappa = infinity or gamma = 0 is best), unidentified (no text is longer than 1, so z is set to 0), unfinished (the
    iterations ended first), at the end (p or gamma runs to 1, kappa to 0); n_iter.
    """

    kind: str
    distribution: Any
    log_likelihood: float
    observations: float
    standard_errors: dict[str, float]
    notes: tuple[str, ...]
    n_iter: int

    @property
    def n_parameters(self) -> int:
        """The number of parameters of the kind."""
        return len(self.distribution.parameters)

    @property
    def aic(self) -> float:
        """Akaike's criterion, smaller is better: 2 k - 2 log L.

        >>> his = {0: 405, 1: 39, 2: 26, 3: 18, 4: 5, 5: 4, 6: 5, 7: 3, 8: 3, 14: 1}
        >>> round(fit_counts(his, "negbinom").aic, 2), round(fit_counts(his, "zinegbinom").aic, 2)
        (887.17, 885.19)
        """
        return 2 * self.n_parameters - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz's criterion, smaller is better: k log N - 2 log L."""
        return self.n_parameters * float(np.log(max(self.observations, 1.0))) - 2 * self.log_likelihood

    def __str__(self) -> str:
        values = ", ".join(
            f"{name} {value:.6g}" + (f" (±{error:.2g})" if np.isfinite(error := self.standard_errors[name]) else "")
            for name, value in self.distribution.parameters.items()
        )
        notes = f"; {', '.join(self.notes)}" if self.notes else ""
        return f"{self.kind}: {values}; log-likelihood {self.log_likelihood:.3f}, AIC {self.aic:.3f}{notes}"


class CountFits(Table):
    """The fits of a whole table: arrays of shape (classes, words).

    Attributes: kind; labels, the classes; terms, names of the words, or None; first (mu or p), second (kappa or gamma),
    z; log_likelihood; errors, standard errors of first, second and z; state, bits as in `CountFit.notes`; n_iter;
    observations (classes,), the weight of the texts of each class.

    >>> fits = fit_count_table([[0, 1], [3, 0], [0, 2]], "zibinom", exposure=[10, 20, 30], terms=["mill", "sea"])
    >>> fits.fit("mill").distribution.z > 0.3, fits.first.shape
    (True, (1, 2))
    """

    def __init__(
        self,
        kind: str,
        labels: Sequence[Any],
        terms: Sequence[str] | None,
        n_words: int,
        observations: Floats,
    ) -> None:
        self.kind, self.labels, self.terms, self.observations = kind, list(labels), terms, observations
        shape = (len(self.labels), n_words)
        self.first, self.second, self.z = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.log_likelihood, self.errors = np.zeros(shape), np.full((*shape, 3), np.nan)
        self.state, self.n_iter = np.zeros(shape, np.int32), np.zeros(shape, np.int32)

    def fit(self, term: str | int, label: Any = None) -> CountFit:
        """Return the fit of one word, by name or column, and class."""
        c = 0 if label is None else self.labels.index(label)
        w = term if isinstance(term, int) else self._column(term)
        return self._at(c, w)

    def columns(self) -> dict[str, list[Any]]:
        """Return a row for each word and class: its parameters, log-likelihood and notes."""
        names, size = parameter_names(self.kind), self.first.size
        words = [str(w) for w in range(self.first.shape[1])] if self.terms is None else list(self.terms)
        out: dict[str, list[Any]] = {"term": words * len(self.labels)}
        if self.labels != [None]:
            out = {"label": [label for label in self.labels for _ in words], **out}
        values = dict(zip(("first", "second", "z"), (self.first, self.second, self.z), strict=True))
        for name in names:
            out[name] = values[_ARRAYS[name]].ravel().tolist()
        for i, name in enumerate(("first", "second", "z")):
            for parameter in names:
                if _ARRAYS[parameter] == name:
                    out[f"se_{parameter}"] = self.errors[:, :, i].ravel().tolist()
        out["log_likelihood"] = self.log_likelihood.ravel().tolist()
        flat = self.state.ravel()
        out["notes"] = [", ".join(notes_of(int(flat[i]))) for i in range(size)]
        return out

    def fits(self) -> Iterator[CountFit]:
        """All fits, class by class."""
        for c in range(self.first.shape[0]):
            for w in range(self.first.shape[1]):
                yield self._at(c, w)

    def _column(self, term: str) -> int:
        if self.terms is None or term not in self.terms:
            raise DataError(f"there is no word {term!r} in the table; pass a name of `terms` or a column")
        return list(self.terms).index(term)

    def _at(self, c: int, w: int) -> CountFit:
        names = parameter_names(self.kind)
        place = {"first": 0, "second": 1, "z": 2}
        return CountFit(
            self.kind,
            distribution_of(self.kind, float(self.first[c, w]), float(self.second[c, w]), float(self.z[c, w])),
            float(self.log_likelihood[c, w]),
            float(self.observations[c]),
            {name: float(self.errors[c, w, place[_ARRAYS[name]]]) for name in names},
            notes_of(int(self.state[c, w])),
            int(self.n_iter[c, w]),
        )


_ARRAYS = {"mu": "first", "p": "first", "kappa": "second", "gamma": "second", "z": "z"}


def parameter_names(kind: str) -> tuple[str, ...]:
    """The parameters of a kind.

    >>> parameter_names("zinegbinom")
    ('mu', 'kappa', 'z')
    """
    names = _NAMES[kind.removeprefix("zi")]
    return (*names, "z") if kind.startswith("zi") else names


def notes_of(state: int) -> tuple[str, ...]:
    """The words for the bits of a state.

    >>> notes_of(6)
    ('no inflation', 'no spread')
    """
    return tuple(words for bit, words in _STATES.items() if state & bit)


def fit_counts(
    counts: ArrayLike | Mapping[int, float],
    kind: str = "zibinom",
    *,
    exposure: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    method: str = "newton",
    prior: CountPrior | None = None,
    start: Mapping[str, float] | None = None,
    max_exposure: float | None = None,
    tolerance: float = 1e-9,
    max_iter: int = 200,
) -> CountFit:
    """Fit a distribution to the counts of one word: one count per text, or a histogram {count: how many texts}.

    `kind` is poisson, negbinom, binom, bernoulli or betabinom, or one of these with "zi" in front. `exposure` has the
    length of each text (one number for all will do); the binomials need it. `start` has the parameters that EM begins
    with. `max_exposure` leaves longer texts out of the moments that estimate gamma and kappa, which they would govern.

    >>> print(fit_counts({0: 179, 1: 58, 2: 18, 3: 5, 4: 1, 5: 1}, "negbinom"))
    negbinom: mu 0.450382 (±0.049), kappa 1.17438 (±0.47); log-likelihood -235.332, AIC 474.664
    """
    check_choice("kind", kind, KINDS)
    x, weights = counts_and_weights(counts, sample_weight)
    base = kind.removeprefix("zi")
    if exposure is None:
        if base in ("binom", "betabinom"):
            raise DataError(f"kind '{kind}' needs the length of each text; pass exposure=")
        exposure = 1.0
    lengths = np.array(np.broadcast_to(np.asarray(exposure, np.float64), x.shape))
    return fit_count_table(
        column_of(x),
        kind,
        exposure=np.maximum(lengths, x > 0) if base == "bernoulli" else lengths,
        sample_weight=weights,
        method=method,
        prior=prior,
        start=start,
        max_exposure=max_exposure,
        tolerance=tolerance,
        max_iter=max_iter,
        n_jobs=1,
    ).fit(0)


def fit_count_table(
    X: Any,
    kind: str = "zibinom",
    y: ArrayLike | None = None,
    *,
    exposure: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    method: str = "newton",
    prior: CountPrior | None = None,
    start: Mapping[str, float] | None = None,
    max_exposure: float | None = None,
    tolerance: float = 1e-9,
    max_iter: int = 200,
    terms: Sequence[str] | None = None,
    n_jobs: int | None = None,
) -> CountFits:
    """Fit a distribution to every column of X, to each class of the labels y apart.

    X has texts as rows and words as columns. `exposure` has the length of each text; None takes the sums of the rows
    for the binomials, and 1 for the Poisson and the negative binomial, whose mu is then a mean per text. The other
    parameters are those of `fit_counts`; the result is the same for any number of threads `n_jobs`.

    >>> fits = fit_count_table([[0, 2], [1, 2], [4, 1], [0, 3]], "negbinom", ["a", "a", "b", "b"])
    >>> fits.first.tolist()
    [[0.5, 2.0], [2.0, 2.0]]
    """
    check_choice("kind", kind, KINDS)
    check_choice("method", method, _METHODS)
    check_range("max_iter", max_iter, at_least=0, whole=True)
    check_range("tolerance", tolerance, at_least=0)
    base, inflated = kind.removeprefix("zi"), kind.startswith("zi")
    X = check_counts(X)
    bounded = base in ("binom", "betabinom")
    if exposure is None and base in ("poisson", "negbinom"):
        lengths = np.ones(X.shape[0])
    else:
        check_columns(X, exposure)
        lengths = check_exposure(X, exposure, bounded=bounded)
    weights = np.ones(X.shape[0]) if sample_weight is None else np.array(sample_weight, np.float64)
    if weights.shape != (X.shape[0],) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise DataError(f"sample_weight must have a finite number >= 0 for each of {X.shape[0]} rows")
    labels, classes = _labels(y, X.shape[0])
    if terms is not None and len(terms) != X.shape[1]:
        raise DataError(f"there are {len(terms)} terms but X has {X.shape[1]} columns; pass one name per column")
    sizes = np.bincount(labels, weights=weights, minlength=len(classes)).astype(np.float64)
    fits = CountFits(kind, classes, terms, X.shape[1], sizes)
    if method in ("moments", "cells"):
        if prior is not None or start is not None:
            raise DataError(f"method '{method}' takes no prior and no start; use method='newton'")
        estimate_moments(fits, X, labels, lengths, weights, method=method, max_exposure=max_exposure)
        _likelihoods(fits, X, labels, lengths, weights)
        return fits
    if method == "em" and not inflated:
        raise DataError(f"EM is for zero-inflated kinds, '{kind}' is none; use method='newton'")
    threads = effective_jobs(n_jobs)
    table = native.CountTable(
        X.shape[1], len(classes), *csr_arrays(X, np.float64), labels, lengths, weights, base == "bernoulli", threads
    )
    native.fit_table(
        table,
        FAMILIES[base],
        inflated,
        method == "em",
        np.array(astuple(prior or CountPrior()), np.float64),
        int(max_iter),
        float(tolerance),
        _start(kind, start),
        fits.z.reshape(-1),
        fits.first.reshape(-1),
        fits.second.reshape(-1),
        fits.log_likelihood.reshape(-1),
        fits.errors.reshape(-1, 3),
        fits.state.reshape(-1),
        fits.n_iter.reshape(-1),
        threads,
    )
    return fits


def _labels(y: ArrayLike | None, rows: int) -> tuple[Ids, list[Any]]:
    if y is None:
        return np.zeros(rows, np.int32), [None]
    labels = np.asarray(y)
    if labels.shape != (rows,):
        raise DataError(f"X has {rows} rows but y has shape {labels.shape}; pass one label per row")
    classes, places = np.unique(labels, return_inverse=True)
    return places.astype(np.int32), classes.tolist()


def _start(kind: str, start: Mapping[str, float] | None) -> Floats:
    if start is None:
        return np.empty(0)
    names = parameter_names(kind)
    if set(start) != set(names):
        raise DataError(f"start must have the parameters {', '.join(names)}, got {', '.join(start)}")
    values = {_ARRAYS[name]: float(value) for name, value in start.items()}
    if not 0 < values.get("z", 0.5) < 1:
        raise DataError(f"start has z = {values['z']}; EM never leaves 0 or 1, so begin inside")
    if values["first"] <= 0:
        raise DataError(f"start has {names[0]} = {values['first']}; begin with a number above 0")
    second = values.get("second", 0.0 if "p" in names else np.inf)
    return np.array([values["first"], second, values.get("z", 0.0)])


def estimate_moments(
    fits: CountFits,
    X: Any,
    labels: Ids,
    lengths: Floats,
    weights: Floats,
    *,
    method: str = "moments",
    max_exposure: float | None = None,
) -> None:
    """Fill in estimates by moments or by the cells 0 and 1, without likelihoods; sums over the entries of a class."""
    base = fits.kind.removeprefix("zi")
    if fits.kind.startswith("zi") or (method == "cells" and base != "negbinom"):
        raise DataError(f"there are no {method} for kind '{fits.kind}'; use method='newton'")
    if base == "bernoulli":
        X, lengths = sparse.csr_matrix((np.minimum(X.data, 1.0), X.indices, X.indptr), X.shape), np.minimum(lengths, 1)
    if method == "cells":
        _by_cells(fits, X, labels, lengths, weights)
        return
    short = lengths <= (np.inf if max_exposure is None else max_exposure)
    for c in range(len(fits.labels)):
        own = labels == c
        x, n = _class_sums(X, own, lengths, weights)
        fits.first[c] = np.divide(x[0], n[0], out=np.zeros_like(x[0]), where=n[0] > 0)
        if base in ("poisson", "binom", "bernoulli"):
            fits.second[c] = np.inf if base == "poisson" else 0.0
            continue
        x, n = _class_sums(X, own & short, lengths, weights)
        first = fits.first[c]
        square = x[1] - 2 * first * x[2] + first**2 * n[1]
        if base == "negbinom":
            spread = np.divide(square - first * n[0], first**2 * n[1], out=np.zeros_like(first), where=first > 0)
            fits.second[c] = np.divide(1.0, spread, out=np.full_like(first, np.inf), where=spread > 0)
        else:
            inside = (first > 0) & (first < 1) & (n[1] > n[0])
            scaled = np.divide(square, first * (1 - first), out=np.zeros_like(first), where=inside)
            gamma = np.divide(scaled - n[0], n[1] - n[0], out=np.zeros_like(first), where=inside)
            fits.second[c] = np.clip(gamma, 0.0, 1 - 1e-9)
        fits.state[c] |= np.where(np.isinf(fits.second[c]) | (fits.second[c] == 0), 4, 0).astype(np.int32)
        fits.state[c] |= np.where(first == 0, 1, 0).astype(np.int32)


def _class_sums(X: Any, own: NDArray[np.bool_], lengths: Floats, weights: Floats) -> tuple[list[Floats], list[float]]:
    """Sums of x, x^2 and x n for each column, of n and n^2, over some rows."""
    w, n = weights * own, lengths
    square = X.copy()
    square.data = square.data.astype(np.float64) ** 2
    sums = [np.asarray(X.T @ w, np.float64), np.asarray(square.T @ w), np.asarray(X.T @ (w * n), np.float64)]
    return sums, [float(np.sum(w * n)), float(np.sum(w * n * n))]


def _by_cells(fits: CountFits, X: Any, labels: Ids, lengths: Floats, weights: Floats) -> None:
    """The negative binomial with the shares f0 and f1 of texts with 0 and 1: a root in kappa.

    f1 / f0 = mu kappa / (kappa + mu) = g gives mu = g kappa / (kappa - g); kappa solves f0 = (1 - g / kappa)^kappa.
    """
    from scipy.optimize import brentq

    if (lengths != lengths[:1]).any():
        raise DataError("method 'cells' is for texts of one length; leave exposure out")
    n = float(lengths[0]) if len(lengths) else 1.0
    for c in range(len(fits.labels)):
        w = weights * (labels == c)
        total = float(w.sum())
        present = np.asarray(sparse.csr_matrix((X.data > 0, X.indices, X.indptr), X.shape).T @ w, np.float64)
        once = np.asarray(sparse.csr_matrix((X.data == 1, X.indices, X.indptr), X.shape).T @ w, np.float64)
        for j in range(X.shape[1]):
            f0, f1 = (total - present[j]) / total if total else 1.0, once[j] / total if total else 0.0
            if f0 <= 0 or f1 <= 0:
                fits.state[c, j] |= 1 if f0 >= 1 else 8
                fits.second[c, j] = np.inf
                continue
            g = f1 / f0

            def gap(k: float, g: float = g, f0: float = f0) -> float:
                return k * float(np.log1p(-g / k)) - float(np.log(f0))  # kappa / (kappa + mu) = 1 - g / kappa

            if -g <= np.log(f0):  # the Poisson, kappa = infinity, has zeros enough
                fits.first[c, j], fits.second[c, j] = g / n, np.inf
                fits.state[c, j] |= 4
                continue
            low = g * (1 + 1e-12)
            k = brentq(gap, low, max(2 * low, 1.0) * 1e9, xtol=1e-14, rtol=1e-14) if gap(low) < 0 else low
            fits.second[c, j], fits.first[c, j] = k, g * k / (k - g) / n


def _likelihoods(fits: CountFits, X: Any, labels: Ids, lengths: Floats, weights: Floats) -> None:
    """Fill in the log-likelihoods: zeros of all texts, then what the entries change."""
    base = fits.kind.removeprefix("zi")
    if base == "bernoulli":
        X, lengths = sparse.csr_matrix((np.minimum(X.data, 1.0), X.indices, X.indptr), X.shape), np.minimum(lengths, 1)
    family, rows = FAMILIES[base], row_of_entries(X)
    of_row = labels[rows]
    at = of_row.astype(np.int64) * X.shape[1] + X.indices
    flat = [np.ascontiguousarray(array.reshape(-1)[at]) for array in (fits.first, fits.second, fits.z)]
    own, none = np.empty(len(at)), np.empty(len(at))
    native.log_pmf(family, *flat, X.data.astype(np.float64), lengths[rows], own, 1)
    native.log_pmf(family, *flat, np.zeros(len(at)), lengths[rows], none, 1)
    gain = np.bincount(at, weights=weights[rows] * (own - none), minlength=fits.first.size)
    for c in range(len(fits.labels)):
        distinct, places = np.unique(lengths[labels == c], return_inverse=True)
        many = np.bincount(places, weights=weights[labels == c], minlength=len(distinct))
        for j in range(X.shape[1]):
            zeros = np.empty(len(distinct))
            values = [np.array([array[c, j]]) for array in (fits.first, fits.second, fits.z)]
            native.log_pmf(family, *values, np.zeros(len(distinct)), distinct, zeros, 1)
            fits.log_likelihood[c, j] = gain[c * X.shape[1] + j] + float(many @ zeros)
