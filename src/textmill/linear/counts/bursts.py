"""Which words come in bursts: every word of a table under a plain and a bursty model, side by side.

    p       share of the word among all tokens                         z      how often it is simply not on topic
    gamma   how much its rate varies between texts                     gain   AIC of the binomial minus that of the best
    repeat  mean count in texts that have it, over what a binomial of the same p expects there, n p / (1 - (1 - p)^n)

Cost: two fits a word (native/linear/count_fits.h). Reference: Church & Gale (1995), Poisson mixtures; Jansche (2003).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.linear.counts.criticism import CountComparison, compare_counts, expected_counts
from textmill.linear.counts.fitting import fit_count_table
from textmill.linear.counts.tables import check_columns, check_counts, check_exposure, counts_and_weights
from textmill.model import check_range
from textmill.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from textmill.report import Report

__all__ = ["Bursts", "counts_report", "draw_bursts", "draw_comparison", "find_bursts"]


class Bursts(Table):
    """Words by how much a bursty model gains over the binomial, the strongest first.

    Attributes, a list each: terms, occurrences, documents, p, z, gamma, repeat, gain, best (binom, zibinom or
    betabinom).
    """

    def __init__(self, table: dict[str, list[Any]]) -> None:
        self.terms, self.occurrences, self.documents = table["term"], table["occurrences"], table["documents"]
        self.p, self.z, self.gamma = table["p"], table["z"], table["gamma"]
        self.repeat, self.gain, self.best = table["repeat"], table["gain"], table["best"]

    def columns(self) -> dict[str, list[Any]]:
        """Return term, occurrences, documents, p, z, gamma, repeat, gain and best."""
        names = ("occurrences", "documents", "p", "z", "gamma", "repeat", "gain", "best")
        return {"term": self.terms, **{name: getattr(self, name) for name in names}}


def find_bursts(
    X: Any,
    terms: Sequence[str] | None = None,
    *,
    exposure: ArrayLike | None = None,
    min_count: int = 10,
    n_jobs: int | None = None,
) -> Bursts:
    """Rank the words of a table by how much they burst; rarer words than `min_count` are left out.

    >>> X = [[9, 1], [0, 1], [0, 1], [8, 1], [0, 2], [0, 1], [0, 1], [0, 2]]
    >>> bursts = find_bursts(X, ["mill", "the"], exposure=[20] * 8)
    >>> bursts.terms, bursts.best
    (['mill', 'the'], ['zibinom', 'binom'])
    """
    check_range("min_count", min_count, at_least=1, whole=True)
    X = check_counts(X)
    if terms is not None and len(terms) != X.shape[1]:
        raise DataError(f"there are {len(terms)} terms but X has {X.shape[1]} columns; pass one name per column")
    check_columns(X, exposure)
    lengths = check_exposure(X, exposure, bounded=True)
    occurrences = np.asarray(X.sum(axis=0), np.float64).ravel()
    columns = np.flatnonzero(occurrences >= min_count)
    if not len(columns):
        raise DataError(f"no word occurs {min_count} times; lower min_count")
    X = X[:, columns].tocsr()
    settings: dict[str, Any] = {"exposure": lengths, "n_jobs": n_jobs}
    plain, inflated, spread = (fit_count_table(X, kind, **settings) for kind in ("binom", "zibinom", "betabinom"))
    aic = np.stack(
        [2 * k - 2 * fits.log_likelihood[0] for k, fits in ((1, plain), (2, inflated), (2, spread))]
    )  # 3 x words
    best = aic.argmin(axis=0)
    gain = aic[0] - aic.min(axis=0)
    documents = np.diff(X.tocsc().indptr)
    repeat = _repeats(X, lengths, plain.first[0], documents)
    order = np.lexsort((columns, -gain))
    names = np.array(["binom", "zibinom", "betabinom"])[best]
    return Bursts(
        {
            "term": [str(columns[j]) if terms is None else terms[int(columns[j])] for j in order],
            "occurrences": occurrences[columns][order].astype(int).tolist(),
            "documents": documents[order].tolist(),
            "p": plain.first[0][order].tolist(),
            "z": inflated.z[0][order].tolist(),
            "gamma": spread.second[0][order].tolist(),
            "repeat": repeat[order].tolist(),
            "gain": gain[order].tolist(),
            "best": names[order].tolist(),
        }
    )


def draw_bursts(bursts: Bursts, *, n_words: int = 30) -> Figure:
    """Draw words by frequency and by how often they are not on topic; the strongest bursts are named.

    >>> X = [[9, 1], [0, 1], [0, 1], [8, 1], [0, 2], [0, 1], [0, 1], [0, 2]]
    >>> len(draw_bursts(find_bursts(X, exposure=[20] * 8)).axes)
    1
    """
    from textmill.plot import scatter

    named = min(n_words, len(bursts.terms))
    groups = {"strongest bursts": (bursts.p[:named], bursts.z[:named])}
    labels = {"strongest bursts": [str(term) for term in bursts.terms[:named]]}
    if len(bursts.terms) > named:
        groups["other words"] = (bursts.p[named:], bursts.z[named:])
    return scatter(groups, x_label="share of all tokens", y_label="z, not on topic", x_scale="log", labels=labels)


def draw_comparison(
    counts: Any,
    comparison: CountComparison,
    *,
    exposure: ArrayLike | None = None,
    n_counts: int = 15,
    y_scale: str = "log",
    title: str | None = None,
) -> Figure:
    """Draw how many texts have each count, and how many each model expects.

    >>> from textmill.linear import compare_counts
    >>> were = {0: 179, 1: 58, 2: 18, 3: 5, 4: 1, 5: 1}
    >>> len(draw_comparison(were, compare_counts(were), y_scale="linear").axes)
    1
    """
    from textmill.plot import lines

    check_range("n_counts", n_counts, at_least=1, whole=True)
    x, weights = counts_and_weights(counts, None)
    most = int(min(x.max(), n_counts))
    places = list(range(most + 1))
    observed = np.bincount(x.astype(int), weights=weights, minlength=most + 1)[: most + 1]
    settings: dict[str, Any] = {"observations": float(weights.sum())}
    if exposure is not None:
        settings |= {"exposure": np.broadcast_to(np.asarray(exposure, np.float64), x.shape), "sample_weight": weights}
    series: dict[str, Any] = {"observed": (places, observed)}
    for kind, fit in comparison.fits.items():
        series[kind] = (places, expected_counts(fit.distribution, places, **settings))
    return lines(series, x_label="occurrences in a text", y_label="texts", y_scale=y_scale, title=title)


def _repeats(X: Any, lengths: Floats, p: Floats, documents: Any) -> Floats:
    """Mean count in texts with the word, over what a binomial expects there."""
    by_word = X.tocsc()
    words = np.repeat(np.arange(X.shape[1]), documents)
    n = lengths[by_word.indices]
    expected = n * p[words] / -np.expm1(n * np.log1p(-np.minimum(p[words], 1 - 1e-12)))
    sums = np.bincount(words, weights=expected, minlength=X.shape[1])
    return np.asarray(by_word.sum(axis=0), np.float64).ravel() / np.maximum(sums, 1e-300)


def counts_report(
    X: Any,
    terms: Sequence[str],
    *,
    exposure: ArrayLike | None = None,
    words: Sequence[str] = (),
    n_words: int = 6,
    min_count: int = 10,
    title: str = "When words come in bursts",
    n_jobs: int | None = None,
) -> Report:
    """A page: which words burst, and for some words the observed and the fitted histograms.

    Without `words` those of the strongest bursts are shown, `n_words` of them.

    >>> X = [[9, 1], [0, 1], [0, 1], [8, 1], [0, 2], [0, 1], [0, 1], [0, 2]]
    >>> "zibinom" in counts_report(X, ["mill", "the"], exposure=[20] * 8, n_words=1).render()
    True
    """
    from textmill.report import Report

    X = check_counts(X)
    lengths = check_exposure(X, exposure, bounded=True)
    bursts = find_bursts(X, terms, exposure=lengths, min_count=min_count, n_jobs=n_jobs)
    page = Report(title, subtitle=f"{X.shape[0]} texts, {X.shape[1]} words")
    page.heading("Which words burst")
    page.text(
        "z is how often a word is simply not on topic, gamma how much its rate varies between texts, repeat how much "
        "more often than expected it comes again; gain is in AIC over the binomial."
    )
    table = bursts.columns()
    rows = list(zip(*(column[:30] for column in table.values()), strict=True))
    page.table(list(table), rows, caption="The strongest bursts.")
    page.figure(draw_bursts(bursts), caption="Frequency of words, and how often they are not on topic.")
    by_word = X.tocsc()
    places = {term: j for j, term in enumerate(terms)}
    for word in words or bursts.terms[:n_words]:
        if word not in places:
            raise DataError(f"there is no word {word!r} in the table")
        counts = by_word[:, places[word]].toarray().ravel()
        comparison = compare_counts(counts, exposure=lengths)
        page.heading(str(word))
        columns = comparison.columns()
        page.table(list(columns), list(zip(*columns.values(), strict=True)), caption=f"Models of '{word}'.")
        picture = draw_comparison(counts, comparison, exposure=lengths)
        page.figure(picture, caption=f"Texts by the count of '{word}', observed and expected.")
    return page
