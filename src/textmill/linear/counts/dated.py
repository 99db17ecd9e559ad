"""When words come in bursts: Kleinberg's two states for words of dated documents.

Documents fall into periods t = 1 ... n, those without documents left out; of d_t documents r_t have the word. A hidden
state q_t is 0, the usual share p_0 = R / D of all periods, or 1, a burst, with p_1 = s p_0. The states of least cost,

    sum_t sigma(q_t, t) + gamma log n [q_t > q_{t-1}],   q_0 = 0,
    sigma(i, t) = - log C(d_t, r_t) - r_t log p_i - (d_t - r_t) log (1 - p_i),

are found by dynamic programming. A run of state 1 is a burst; its weight, sum sigma(0, t) - sigma(1, t) over its
periods, is what it gains over the usual share, before the cost of entering it. p_1 is at most 0.9999.

Cost: two states per word and period. Reference: Kleinberg (2003), Bursty and hierarchical structure in streams,
section 4.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from textmill.arrays import Floats
from textmill.corpus import check_bags
from textmill.errors import DataError
from textmill.model import check_choice, check_range
from textmill.numeric import sparse
from textmill.tables import Table

__all__ = ["DatedBursts", "burst_states", "find_dated_bursts", "periods_of"]

PERIODS = ("day", "week", "month", "year")
_CERTAIN = 0.9999  # largest share of documents in a burst
_WORDS = 4096  # whose states are found at a time
_DATE = re.compile(r"\s*(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[T ].*)?)?)?\s*")


class DatedBursts(Table):
    """Bursts of words, the heaviest first; a word may have several.

    Attributes, a list each: terms; begin and end, the first and the last period; weight; documents with the word in the
    burst; share of the documents of the burst; usual, the share of all documents.
    """

    def __init__(self, table: dict[str, list[Any]]) -> None:
        self.terms, self.begin, self.end, self.weight = table["term"], table["begin"], table["end"], table["weight"]
        self.documents, self.share, self.usual = table["documents"], table["share"], table["usual"]

    def columns(self) -> dict[str, list[Any]]:
        """Return term, begin, end, weight, documents, share and usual."""
        names = ("begin", "end", "weight", "documents", "share", "usual")
        return {"term": self.terms, **{name: getattr(self, name) for name in names}}


def find_dated_bursts(
    X: Any,
    dates: Sequence[Any],
    terms: Sequence[str] | None = None,
    *,
    by: str | None = None,
    scale: float = 2.0,
    gamma: float = 1.0,
    min_documents: int = 5,
) -> DatedBursts:
    """Find when words are much more frequent than usual: in how many documents of each day, week, month or year.

    `dates` has the date of each row of X, see `periods_of`; `by` is the period, by default what the dates tell: the
    day, or the month or year where they have no more. A burst has `scale` times the usual share of documents; a larger
    `gamma` asks for more evidence to enter it. Words of fewer than `min_documents` documents are left out.

    >>> years = [1990 + i // 4 for i in range(40)]
    >>> X = [[1 if year in (1994, 1995) else 0, i % 2] for i, year in enumerate(years)]
    >>> bursts = find_dated_bursts(X, years, ["mill", "the"])
    >>> bursts.terms, bursts.begin, bursts.end, bursts.documents
    (['mill'], ['1994'], ['1995'], [8])
    """
    check_range("scale", scale, above=1, below=np.inf)
    check_range("gamma", gamma, at_least=0, below=np.inf)
    check_range("min_documents", min_documents, at_least=1, whole=True)
    X = check_bags(X)
    if terms is not None and len(terms) != X.shape[1]:
        raise DataError(f"there are {len(terms)} terms but X has {X.shape[1]} columns; pass one name per column")
    names = periods_of(dates, by=by)
    if len(names) != X.shape[0]:
        raise DataError(f"X has {X.shape[0]} rows but there are {len(names)} dates; pass one per row")
    periods, places = np.unique(np.array(names, dtype=str), return_inverse=True)
    n = len(periods)
    if n < 2:
        raise DataError("all documents are of one period; choose a shorter one with by, or leave dates out")
    sizes = np.bincount(places, minlength=n).astype(np.float64)
    present = sparse.csr_matrix((np.ones(X.nnz), X.indices, X.indptr), shape=X.shape)
    present.data[X.data == 0] = 0.0
    member = sparse.csr_matrix((np.ones(len(places)), (places, np.arange(len(places)))), shape=(n, len(places)))
    counts = (member @ present).tocsc()  # periods x words
    frequent = np.flatnonzero(np.asarray(counts.sum(axis=0)).ravel() >= min_documents)
    fields = ("term", "begin", "end", "weight", "documents", "share", "usual")
    table: dict[str, list[Any]] = {name: [] for name in fields}
    for begin in range(0, len(frequent), _WORDS):
        words = frequent[begin : begin + _WORDS]
        r = counts[:, words].toarray()
        states, gains = burst_states(r, sizes, scale=scale, gamma=gamma)
        usual = r.sum(axis=0) / sizes.sum()
        for j in np.flatnonzero(states.any(axis=0)):
            change = np.diff(np.concatenate([[0], states[:, j], [0]]))
            for first, end in zip(np.flatnonzero(change > 0), np.flatnonzero(change < 0), strict=True):
                seen = float(r[first:end, j].sum())
                table["term"].append(str(words[j]) if terms is None else terms[int(words[j])])
                table["begin"].append(str(periods[first]))
                table["end"].append(str(periods[end - 1]))
                table["weight"].append(float(gains[first:end, j].sum()))
                table["documents"].append(int(seen))
                table["share"].append(seen / float(sizes[first:end].sum()))
                table["usual"].append(float(usual[j]))
    order = sorted(range(len(table["term"])), key=lambda i: (-table["weight"][i], table["term"][i], table["begin"][i]))
    return DatedBursts({name: [column[i] for i in order] for name, column in table.items()})


def burst_states(r: Any, d: Any, *, scale: float, gamma: float) -> tuple[Any, Floats]:
    """The states of least cost, periods x words, and what state 1 gains over state 0 in each period.

    >>> states, gains = burst_states(np.array([[0], [4], [4], [0], [0]]), np.full(5, 5), scale=2.0, gamma=1.0)
    >>> states.ravel().tolist(), bool(gains[1:3].sum() > np.log(5))
    ([0, 1, 1, 0, 0], True)
    """
    r, d = np.asarray(r, np.float64), np.asarray(d, np.float64)[:, None]
    n = len(r)
    usual = r.sum(axis=0) / d.sum()
    high = np.minimum(scale * usual, _CERTAIN)
    able = high > usual  # a word of nearly all documents cannot be more frequent
    low = np.where(able, usual, 0.25)
    high = np.where(able, high, 0.5)
    gains = np.where(able, r * np.log(high / low) + (d - r) * (np.log1p(-high) - np.log1p(-low)), -np.inf)
    entry = gamma * np.log(n)
    cost = np.zeros((2, r.shape[1]))  # of the best states so far, less sum of sigma(0)
    cost[1] = np.inf
    before = np.zeros((n, 2, r.shape[1]), np.int8)
    for t in range(n):
        stays, enters = cost[1], cost[0] + entry
        leaves = cost[1] < cost[0]
        before[t, 0] = leaves
        before[t, 1] = stays <= enters
        cost = np.stack([np.where(leaves, cost[1], cost[0]), np.minimum(stays, enters) - gains[t]])
    states = np.zeros(r.shape, np.int8)
    now = (cost[1] < cost[0]).astype(np.int8)
    for t in range(n - 1, -1, -1):
        states[t] = now
        now = np.where(now == 1, before[t, 1], before[t, 0])
    return states, np.where(np.isfinite(gains), gains, 0.0)


def periods_of(dates: Iterable[Any], *, by: str | None = None) -> list[str]:
    """The period of each date: of dates and times of Python, years, or texts such as 2024, 2024-05 and 2024-05-31.

    >>> periods_of(["2024-05-31", "2024-06-02T10:15"]), periods_of([datetime.date(2024, 5, 31)], by="month")
    (['2024-05-31', '2024-06-02'], ['2024-05'])
    >>> periods_of(["2024-05-31", "2024-06-02"], by="week"), periods_of([1789, "1793"])
    (['2024-W22', '2024-W22'], ['1789', '1793'])
    """
    if by is not None:
        check_choice("by", by, PERIODS)
    parts = [_date_of(date, row) for row, date in enumerate(dates)]
    shortest = min((len(part) for part in parts), default=1)
    period = by or {1: "year", 2: "month", 3: "day"}[shortest]
    needed = {"year": 1, "month": 2, "week": 3, "day": 3}[period]
    if shortest < needed:
        row = next(row for row, part in enumerate(parts) if len(part) < needed)
        raise DataError(f"the date of row {row} has no {'month' if shortest == 1 else 'day'}; choose a longer period")
    if period == "week":
        weeks = (datetime.date(*part[:3]).isocalendar() for part in parts)
        return [f"{week.year:04d}-W{week.week:02d}" for week in weeks]
    return ["-".join([f"{part[0]:04d}", *(f"{number:02d}" for number in part[1:needed])]) for part in parts]


def _date_of(date: Any, row: int) -> tuple[int, ...]:
    """Year, month and day, as far as they are given."""
    if isinstance(date, datetime.date):
        return date.year, date.month, date.day
    match = _DATE.fullmatch(str(date))
    numbers = tuple(int(number) for number in match.groups() if number is not None) if match else ()
    try:
        datetime.date(*(*numbers, 1, 1)[:3])
    except (TypeError, ValueError):
        numbers = ()
    if not numbers:
        raise DataError(f"the date of row {row} is {date!r}; write it as 2024-05-31, 2024-05 or 2024") from None
    return numbers
