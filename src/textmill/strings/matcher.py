"""Find the names that mean the same: within a list, between two lists, or for one name.

    matcher = Matcher(measure="ml(words, sub=jaro, transpositions='extended')", threshold=0.8).fit(names)
    matcher.pairs()                  pairs within the list           matcher.join(others)    pairs with another list
    matcher.query("J Smith", 5)      the five nearest                matcher.clusters()      groups of equal names

Weights of words are learned from the names given to `fit`. How pairs are found without scoring all of them, and why
none is lost, is in joins.py; memory is that of the index and of one block of results, so `stream` can write more pairs
than memory holds. `add` takes more names without learning anew: words not met before weigh as if one name held them.

On a cluster every worker gets the index once, and blocks of left names go round; results are the same bytes.

Cost: see joins.py. Reference: Moreau, Yvon & Cappé (2008).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill.cluster import connect
from textmill.errors import DataError, ModelFileError
from textmill.model import Estimator, Model, Saved, StringTable, check_choice, check_fitted, check_range, effective_jobs
from textmill.strings.clusters import canonical_names, cluster_pairs
from textmill.strings.features import checked_names
from textmill.strings.language import parse_measure
from textmill.strings.matching import MATCHINGS
from textmill.strings.matching import one_to_one as matched_once
from textmill.strings.measure import Fitted, Measure
from textmill.strings.normalize import DEFAULT_STEPS, Normalize, normalizer_of
from textmill.strings.pairs import NameJoin, Pairs
from textmill.tables import Column, Picked, Rows, Table

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["DEFAULT_MEASURE", "Clusters", "Matcher", "Neighbor"]

DEFAULT_MEASURE = "auto"

_BLOCK = 4096  # left names searched together: one message to a worker, one step of progress


class Neighbor(NamedTuple):
    """A name found by `Matcher.query`."""

    position: int
    id: str
    name: str
    score: float


class _ClusterArrays(NamedTuple):
    groups: NDArray[np.int64]
    names: list[int]


class Clusters(Table, _ClusterArrays):
    """Groups of names: `groups` (names,) the number of each name's group, `names` the position of each group's name.

    As a table the names stand group by group; those of a `Matcher` are shown themselves, others by position.
    """

    _list: Sequence[str] | None = None

    def columns(self) -> dict[str, Column]:
        """Return cluster, name and the name that stands for the cluster, with the position of the name."""
        order = np.argsort(self.groups, kind="stable")
        shown: Any = range(len(self.groups)) if self._list is None else self._list
        canonical = Picked(shown, np.asarray(self.names, np.int64)[self.groups[order]])
        return {"cluster": self.groups[order], "name": Picked(shown, order), "canonical": canonical, "position": order}


class Matcher(Estimator, Model):
    """Match names that are written differently.

    Parameters:
        measure: A text such as "ml(words, sub=jaro)", or a `Measure`, which cannot be saved. The default, "auto",
            chooses one that suits the list, see adaptive.py; `measure_` and `reason_` say which and why.
        threshold: The least score of a match, 0 to 1.
        normalize: What is ignored: steps of `STEPS`, by default case and accents (and repeated blanks); None for
            nothing; or a function, which cannot be saved. Names are shown as they came.
        min_word_similarity: The search knows no similarities of words below it, which makes long lists fast; scores do
            not depend on it, and no pair is missed where the threshold is larger.
        n_jobs: Threads; None for all cores.

    Attributes:
        names_: Names as they came, (n,).
        ids_: Id of each name, (n,).
        counts_: How often each name occurs, (n,), or None.
        learned_: Number of names that weights come from.

    >>> matcher = Matcher(threshold=0.7).fit(["Ann Smith", "Anne Smith", "Tom Jones", "Ann Smyth"])
    >>> pairs = matcher.pairs()
    >>> pairs.left.tolist(), pairs.right.tolist()
    ([0, 0], [1, 3])
    >>> matcher.query("Jones Tom", 1)[0].name
    'Tom Jones'
    """

    takes: ClassVar[str] = "texts"
    format_version: ClassVar[int] = 2
    layout: ClassVar[dict[str, str]] = {
        "names_": "name: str",
        "ids_": "name: str",
        "counts_": "name: int64 | None",
    }
    state: ClassVar[dict[str, type]] = {"learned_": int}

    names_: StringTable
    ids_: StringTable
    counts_: NDArray[np.int64] | None
    learned_: int

    def __init__(
        self,
        *,
        measure: str | Measure = DEFAULT_MEASURE,
        threshold: float = 0.6,
        normalize: Normalize = DEFAULT_STEPS,
        min_word_similarity: float = 0.3,
        n_jobs: int | None = None,
    ) -> None:
        self.measure = measure
        self.threshold = threshold
        self.normalize = normalize
        self.min_word_similarity = min_word_similarity
        self.n_jobs = n_jobs

    def fit(
        self,
        names: Iterable[str],
        y: object = None,
        *,
        ids: Sequence[str] | None = None,
        counts: Sequence[int] | None = None,
    ) -> Matcher:
        """Learn weights from the names and make them searchable; without `ids` a name's id is its position."""
        check_range("threshold", self.threshold, at_least=0.0, at_most=1.0)
        check_range("min_word_similarity", self.min_word_similarity, at_least=0.0, at_most=1.0)
        strings = checked_names(names)
        identities = _checked_ids(ids, len(strings), taken=())
        measure = self._measure()
        compared = self._normalized(strings)
        self._join = self._joined(measure.fit(compared, counts), compared)
        self.names_ = StringTable(strings)
        self.ids_ = StringTable(identities)
        self.counts_ = None if counts is None else np.asarray(counts, np.int64)
        self.learned_ = len(strings)
        return self

    def add(
        self, names: Iterable[str], *, ids: Sequence[str] | None = None, counts: Sequence[int] | None = None
    ) -> Matcher:
        """Take more names; weights stay as they were learned, only new words are compared with all others.

        >>> matcher = Matcher().fit(["Ann Smith", "Tom Jones"]).add(["Anne Smith"])
        >>> matcher.pairs().right.tolist()
        [2]
        """
        check_fitted(self)
        strings = checked_names(names)
        before = self.ids_.to_list()
        identities = _checked_ids(ids, len(strings), taken=before)
        if (counts is None) != (self.counts_ is None) or (counts is not None and len(counts) != len(strings)):
            raise DataError(
                f"names were fitted {'with' if self.counts_ is not None else 'without'} counts; do the same here"
            )
        self._search().add(self._normalized(strings), effective_jobs(self.n_jobs))
        self.names_ = StringTable([*self.names_, *strings])
        self.ids_ = StringTable([*before, *identities])
        if self.counts_ is not None and counts is not None:
            self.counts_ = np.concatenate([self.counts_, np.asarray(counts, np.int64)])
        return self

    def pairs(
        self, *, threshold: float | None = None, k: int | None = None, cluster: str | Client | None = None
    ) -> Pairs:
        """Return pairs within the list that score at least the threshold, each once; `k` keeps the best of each name.

        With `k` every name is once on the left, so a pair may come twice, from both of its names. For measures that
        have a direction the left name is the earlier one.
        """
        return Pairs.concatenate(self.stream(threshold=threshold, k=k, cluster=cluster)).named(self.names_)

    def join(
        self,
        others: Iterable[str],
        *,
        threshold: float | None = None,
        k: int | None = None,
        one_to_one: str | None = None,
        cluster: str | Client | None = None,
    ) -> Pairs:
        """Return pairs of other names, on the left, with those of the list.

        `one_to_one` ("greedy" or "optimal", see matching.py) matches every name of both lists at most once.

        >>> Matcher().fit(["Ann Smith", "Tom Jones"]).join(["Jones, Tom", "Bob"]).right.tolist()
        [1]
        """
        if one_to_one is not None:
            check_choice("one_to_one", one_to_one, MATCHINGS)
        left = checked_names(others, "others")
        pairs = Pairs.concatenate(self.stream(left, threshold=threshold, k=k, cluster=cluster))
        return (pairs if one_to_one is None else matched_once(pairs, method=one_to_one)).named(left, self.names_)

    def stream(
        self,
        others: Iterable[str] | None = None,
        *,
        threshold: float | None = None,
        k: int | None = None,
        cluster: str | Client | None = None,
    ) -> Iterator[Pairs]:
        """Yield what `pairs`, or with `others` what `join`, returns, block by block as it is found.

        >>> sum(len(block.score) for block in Matcher().fit(["Ann Smith", "Anne Smith"]).stream())
        1
        """
        check_fitted(self)
        least = self.threshold if threshold is None else threshold
        check_range("threshold", least, at_least=0.0, at_most=1.0)
        if k is not None:
            check_range("k", k, at_least=1, whole=True)
        left = None if others is None else self._normalized(checked_names(others, "others"))
        return self._stream(left, float(least), k or 0, cluster)

    def _stream(
        self, left: list[str] | None, threshold: float, k: int, cluster: str | Client | None
    ) -> Iterator[Pairs]:
        join = self._search()
        size = len(join.names) if left is None else len(left)
        blocks = [(begin, min(begin + _BLOCK, size)) for begin in range(0, size, _BLOCK)]
        with connect(cluster) as where:
            jobs = effective_jobs(where.worker_jobs(self.n_jobs))
            state = where.broadcast((join, left))
            yield from where.map(partial(_block, threshold=threshold, k=k, n_jobs=jobs), blocks, state)

    def query(self, name: str, k: int = 10, *, threshold: float = 0.0) -> list[Neighbor]:
        """Return the k names nearest to one, best first, of those that score above 0 and at least the threshold."""
        check_fitted(self)
        check_range("k", k, at_least=1, whole=True)
        check_range("threshold", threshold, at_least=0.0, at_most=1.0)
        query = self._normalized(checked_names([name], "the query"))
        pairs = self._search().across(query, threshold, k, effective_jobs(self.n_jobs))
        rows = (
            Neighbor(int(j), self.ids_[int(j)], self.names_[int(j)], float(score))
            for j, score in zip(pairs.right, pairs.score, strict=True)
        )
        return Rows(rows, Neighbor)

    def clusters(
        self, pairs: Pairs | None = None, *, threshold: float | None = None, method: str = "connected"
    ) -> Clusters:
        """Return groups of matching names, and the name that stands for each; see clusters.py for both methods.

        >>> clusters = Matcher(threshold=0.7).fit(["Ann Smith", "Anne Smith", "Tom Jones"]).clusters()
        >>> clusters.groups.tolist(), clusters.names
        ([0, 0, 1], [1, 2])
        """
        check_fitted(self)
        least = self.threshold if threshold is None else threshold
        pairs = self.pairs(threshold=least) if pairs is None else pairs
        names = self.names_.to_list()
        groups = cluster_pairs(pairs, len(names), threshold=least, method=method)
        counts = None if self.counts_ is None else self.counts_.tolist()
        clusters = Clusters(groups, canonical_names(names, groups, pairs, counts))
        clusters._list = names
        return clusters

    @property
    def fitted_(self) -> Fitted:
        """The measure with the weights it learned, to score and explain single pairs of normalized names."""
        check_fitted(self)
        return self._search().fitted

    @property
    def measure_(self) -> str:
        """The measure that names are compared by: of "auto" the one that was chosen."""
        return str(self.fitted_.measure)

    @property
    def reason_(self) -> str:
        """Why "auto" has chosen it, in one line; empty for a measure that was named."""
        return self.fitted_.reason

    def check_values(self) -> None:
        """Check what the layout cannot say of a matcher from a file."""
        if not 0 <= self.learned_ <= len(self.names_):
            raise ModelFileError(f"learned_ is {self.learned_} of {len(self.names_)} names", reason="damaged")

    @classmethod
    def upgrade(cls, saved: Saved) -> Saved:
        """Format 1 called the least similarity of words epsilon, and compared names as they came."""
        saved.parameters["min_word_similarity"] = saved.parameters.pop("epsilon")
        saved.parameters["normalize"] = None
        return saved

    def _normalized(self, names: list[str]) -> list[str]:
        """Names as they are compared."""
        normalizer = normalizer_of(self.normalize)
        return names if normalizer is None else checked_names(map(normalizer, names))

    def _measure(self) -> Measure:
        return parse_measure(self.measure) if isinstance(self.measure, str) else self.measure

    def _joined(self, fitted: Fitted, names: list[str]) -> NameJoin:
        options: Any = {"min_word_similarity": self.min_word_similarity, "n_jobs": effective_jobs(self.n_jobs)}
        return fitted.join(names, **options)

    def _search(self) -> NameJoin:
        """What finds pairs; that of a matcher from a file is made when it is first needed."""
        if not hasattr(self, "_join"):
            names = self.names_.to_list()
            counts = None if self.counts_ is None else self.counts_[: self.learned_].tolist()
            names = self._normalized(names)
            fitted = self._measure().fit(names[: self.learned_], counts)
            self._join = self._joined(fitted, names[: self.learned_])
            if len(names) > self.learned_:
                self._join.add(names[self.learned_ :], effective_jobs(self.n_jobs))
        return self._join


def _block(
    block: tuple[int, int], state: tuple[NameJoin, list[str] | None], *, threshold: float, k: int, n_jobs: int
) -> Pairs:
    """Pairs of one block of left names; pure, so it runs unchanged on a worker."""
    begin, end = block
    join, left = state
    if left is None:
        return join.among(begin, end, threshold, k, n_jobs)
    pairs = join.across(left[begin:end], threshold, k, n_jobs)
    return Pairs(pairs.left + np.int32(begin), pairs.right, pairs.score)


def _checked_ids(ids: Sequence[str] | None, size: int, taken: Sequence[str]) -> list[str]:
    """Ids of new names: as many as names, none twice."""
    identities = [str(len(taken) + i) for i in range(size)] if ids is None else [str(one) for one in ids]
    if len(identities) != size:
        raise DataError(f"{len(identities)} ids for {size} names; pass one id for each name")
    seen = set(taken)
    for position, one in enumerate(identities):
        if one in seen:
            raise DataError(f"the id {one!r} at position {position} is there twice; ids must differ")
        seen.add(one)
    return identities
