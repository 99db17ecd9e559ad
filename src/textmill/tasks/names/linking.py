"""Match records with several fields: find pairs, learn, choose pairs to label, explain, write pages.

    dedupe_records   a list -> pairs within it (and clusters, and pages)
    join_records     two lists -> pairs between them
    suggest_labels   a list and a learned matcher -> the pairs whose labels would tell most
    cluster_page     groups of records with the pairs that join them, the weakest first

The matchers are those of record_matcher.py, learned.py and fellegi_sunter.py; files of pairs have a column
`probability` where a model was learned, and `score` otherwise.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill.model import check_choice, check_range
from textmill.readable import counted
from textmill.report import Report
from textmill.strings import Clusters, Pairs, parse_measure
from textmill.tasks.names.active import spaced_pairs, uncertain_pairs
from textmill.tasks.names.blocking import BlockingReport, Candidates
from textmill.tasks.names.comparison import FIELD_MEASURE
from textmill.tasks.names.fellegi_sunter import FellegiSunter, UndecidedError
from textmill.tasks.names.gold import Gold
from textmill.tasks.names.learned import LearnedMatcher
from textmill.tasks.names.pairfiles import PairRow, write_clusters, write_pairs
from textmill.tasks.names.record_matcher import (
    RecordEstimator,
    RecordMatcher,
    explanation_lines,
    pairs_above,
    standard_rows,
)
from textmill.tasks.names.records import RecordList
from textmill.tasks.names.review import propose, review_page

__all__ = [
    "Linked",
    "cluster_page",
    "dedupe_records",
    "explain_records",
    "fit_or_doubt",
    "group_notes",
    "join_records",
    "score_name",
    "suggest_labels",
    "suggestion_page",
]

_REVIEWED = 2000  # pairs on a page, the best
_GROUPS = 500  # groups on a page, those with the weakest pairs
_LARGE, _SWALLOWED = 20, 0.05  # records, and the share of a list, that a group has at most without a note
_DOUBTFUL = 20  # times as many as are wanted have their numbers looked at


class Linked(NamedTuple):
    """How many pairs were written, how many clusters of several records (None if nobody asked), and the blocking.

    `notes` say what is wrong with the groups that the pairs would make: see `group_notes`.
    """

    pairs: int
    clusters: int | None
    blocking: BlockingReport
    notes: tuple[str, ...] = ()


def fit_or_doubt(
    matcher: LearnedMatcher | FellegiSunter,
    records: RecordList,
    gold: Gold | None,
    *,
    other: RecordList | None = None,
    candidates: Candidates | None = None,
) -> UndecidedError | None:
    """Train a matcher; return why the records do not show which pairs match, None if they do.

    >>> people = RecordList.of({"name": ["Ann Lee", "Tom Fox", "Eve Day"]})
    >>> str(fit_or_doubt(FellegiSunter(), people, None))[:45]
    'the blocking finds no pair to learn from; low'
    """
    try:
        matcher.fit(records, gold, other=other, candidates=candidates)  # type: ignore[arg-type]
    except UndecidedError as doubt:
        return doubt
    return None


def group_notes(records: RecordList, pairs: Pairs, groups: NDArray[np.int64]) -> tuple[str, ...]:
    """Say which groups a person should look at: one that swallows the list, and those that were split, and why.

    >>> people = RecordList.of({"name": [f"name {n}" for n in range(30)]})
    >>> chain = Pairs.of([(n, n + 1, 0.9) for n in range(29)])
    >>> group_notes(people, chain, np.zeros(30, np.int64))[0][:56]
    "one group has 30 of 30 records ('name 0', 'name 1', ...)"
    """
    notes = []
    sizes = np.bincount(groups, minlength=1)
    largest = int(sizes.argmax())
    if sizes[largest] > max(_LARGE, _SWALLOWED * len(records)):
        members = [records.shown(int(at)) for at in np.flatnonzero(groups == largest)[:2]]
        shown = ", ".join(repr(text[:60]) for text in members)
        notes.append(
            f"one group has {sizes[largest]:,} of {len(records):,} records ({shown}, ...): "
            "the threshold is too low, or the model does not suit the list"
        )
    cut = groups[pairs.left] != groups[pairs.right]
    if cut.any():
        best = int(np.flatnonzero(cut)[np.argmax(pairs.score[cut])])
        ends = [records.ids[int(side[best])] for side in (pairs.left, pairs.right)]
        notes.append(
            f"left out of the groups: {counted(int(cut.sum()), 'pairs')} above the threshold, because most of the "
            f"other pairs between the same groups do not match; the likeliest: {' and '.join(ends)}"
        )
    return tuple(notes)


def dedupe_records(
    records: RecordList,
    target: str | os.PathLike[str],
    matcher: RecordEstimator,
    *,
    threshold: float | None = None,
    clusters: str | os.PathLike[str] | None = None,
    method: str | None = None,
    report: str | os.PathLike[str] | None = None,
    cluster_report: str | os.PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002
) -> Linked:
    """Write the pairs of records that match; the other names are those of further files.

    By default probabilities make groups by correlation clustering, which splits groups whose inner pairs contradict.

    >>> people = RecordList.of({"name": ["Ann Lee", "Anne Lee", "Tom Fox"], "phone": ["1-2", "1/2", ""]})
    >>> matcher = RecordMatcher(fields=["name", "phone:exact"], threshold=0.8)
    >>> found = dedupe_records(people, "-", matcher, format="jsonl")
    {"id1": "1", "id2": "2", "score": 0.898..., "name1": "Ann Lee | 1-2", "name2": "Anne Lee | 1/2"}
    """
    if method is None:
        method = "connected" if isinstance(matcher, RecordMatcher) else "correlation"
    check_choice("method", method, ["connected", "correlation"])
    least = matcher._least(threshold)
    candidates, scores = matcher.scores(records)
    pairs = pairs_above(candidates, scores, least)
    names = records.names()
    count = write_pairs(target, [pairs], names, format=format, score=score_name(matcher))
    groups = None
    if clusters is not None or cluster_report is not None:
        grouped = matcher.clusters(records, pairs, threshold=threshold, method=method)
        groups = int((np.bincount(grouped.groups, minlength=1) > 1).sum())
        if clusters is not None:
            write_clusters(clusters, names, grouped)
        if cluster_report is not None:
            cluster_page(records, grouped, pairs).write(cluster_report)
        notes = group_notes(records, pairs, grouped.groups)
    else:
        notes = group_notes(records, pairs, matcher.clusters(records, pairs, threshold=threshold).groups)
    if report is not None:
        _page(matcher, records, None, pairs, candidates, "Pairs to review").write(report)
    return Linked(count, groups, candidates.report(), notes)


def join_records(
    left: RecordList,
    right: RecordList,
    target: str | os.PathLike[str],
    matcher: RecordEstimator,
    *,
    threshold: float | None = None,
    one_to_one: str = "auto",
    report: str | os.PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002
) -> Linked:
    """Write the pairs of a left and a right record that match; `one_to_one` is that of the matcher's `join`.

    >>> one, two = RecordList.of({"name": ["Lee, Ann"]}), RecordList.of({"name": ["Ann Lee", "Tom Fox"]})
    >>> join_records(one, two, "-", RecordMatcher(), format="jsonl").pairs
    {"id1": "1", "id2": "1", "score": 1.0, "name1": "Lee, Ann", "name2": "Ann Lee"}
    1
    """
    candidates = matcher.candidates(left, right)
    pairs = matcher.join(left, right, threshold=threshold, one_to_one=one_to_one, candidates=candidates)
    notes: tuple[str, ...] = ()
    if one_to_one == "auto" and matcher.probabilistic:
        every = matcher.join(left, right, threshold=threshold, one_to_one="none", candidates=candidates)
        if len(every.score) > len(pairs.score):
            more = counted(len(every.score) - len(pairs.score), "pairs")
            notes = (
                f"every record is matched once, with its best partner: {more} beside them are less probable than pairs "
                "without a rival, so most are false; pass --one-to-one none to keep them",
            )
    count = write_pairs(target, [pairs], left.names(), right.names(), format=format, score=score_name(matcher))
    if report is not None:
        _page(matcher, left, right, pairs, candidates, "Pairs to review").write(report)
    return Linked(count, None, candidates.report(), notes)


def suggest_labels(
    matcher: RecordEstimator,
    records: RecordList,
    *,
    other: RecordList | None = None,
    gold: Gold | None = None,
    k: int = 50,
    candidates: Candidates | None = None,
) -> Pairs:
    """The k candidates without a label whose labels would tell most, the first first, with their scores.

    A `RecordMatcher` has no probabilities: it gives candidates evenly spaced over its scores, to begin with.

    >>> people = RecordList.of({"name": ["Ann Lee", "Anne Lee", "Tom Fox", "Tom Foxe", "Lee"]})
    >>> suggest_labels(RecordMatcher(blocks=["name:jaro:0.5"]), people, k=2).left.tolist()
    [2, 0]
    """
    check_range("k", k, at_least=1, whole=True)
    if candidates is None:
        candidates = matcher.candidates(records, other)
    candidates, scores = matcher.scores(records, other, candidates=candidates)
    labeled = np.zeros(0, np.int64)
    if gold is not None:
        i, j, _ = gold.places(records.names(), None if other is None else other.names())
        labeled = candidates.positions(i, j)
        labeled = labeled[labeled >= 0]
    if isinstance(matcher, RecordMatcher):
        chosen = spaced_pairs(scores, k, labeled=labeled)
    else:
        doubt = scores * (1.0 - scores)
        doubt[labeled] = -1.0
        near = np.sort(np.argsort(-doubt, kind="stable")[: _DOUBTFUL * k])
        rows = standard_rows(matcher, records, other, candidates, near)
        chosen = uncertain_pairs(scores, rows, k, labeled=labeled, positions=near)
    return Pairs(candidates.left[chosen], candidates.right[chosen], scores[chosen])


def suggestion_page(
    matcher: RecordEstimator,
    records: RecordList,
    pairs: Pairs,
    *,
    other: RecordList | None = None,
    candidates: Candidates | None = None,
) -> Report:
    """A page on which suggested pairs are labeled, with an explanation of each probability."""
    if candidates is None:
        candidates = matcher.candidates(records, other)
    return _page(matcher, records, other, pairs, candidates, "Pairs to label")


def explain_records(
    matcher: RecordEstimator, records: RecordList, one: str, two: str, *, other: RecordList | None = None
) -> list[str]:
    """Lines that explain the score of the pair with these ids; a pair that is no candidate is compared all the same.

    >>> people = RecordList.of({"name": ["Ann Lee", "Tom Fox"], "phone": ["12", "12"]})
    >>> print(*explain_records(RecordMatcher(fields=["name", "phone:exact"]), people, "1", "2"), sep="\\n")
    Ann Lee | 12
    Tom Fox | 12
    score 0.5000
      +0.000  name
      +0.500  phone
        +0.500  phone, exact = 1.000
    """
    gold = Gold({(one, two): "pos"}, symmetric=other is None)
    i, j, _ = gold.places(records.names(), None if other is None else other.names())
    candidates = matcher.candidates(records, other).including(i, j)
    explanation = matcher.explain(records, candidates.positions(i, j), other, candidates=candidates)[0]
    right = records if other is None else other
    return [records.shown(int(i[0])), right.shown(int(j[0])), *explanation_lines(explanation, 20)]


def cluster_page(records: RecordList, clusters: Clusters, pairs: Pairs, *, title: str = "Groups of records") -> Report:
    """A page of the groups of several records: their fields and the pairs that join them, weakest groups first.

    >>> people = RecordList.of({"name": ["Ann Lee", "Anne Lee", "Tom Fox"]})
    >>> matcher = RecordMatcher(blocks=["name:jaro:0.7"], threshold=0.5)
    >>> pairs = matcher.pairs(people)
    >>> "Anne Lee" in cluster_page(people, matcher.clusters(people, pairs), pairs).render()
    True
    """
    groups = clusters.groups
    sizes = np.bincount(groups, minlength=1)
    inside = groups[pairs.left] == groups[pairs.right]
    left, right, score = pairs.left[inside], pairs.right[inside], pairs.score[inside]
    weakest = np.ones(len(sizes))
    np.minimum.at(weakest, groups[left], score)
    several = np.flatnonzero(sizes > 1)
    order = several[np.argsort(weakest[several], kind="stable")]
    report = Report(title, subtitle=f"{len(several)} groups of several records, those with the weakest pairs first.")
    if len(order) > _GROUPS:
        report.text(f"The page shows {_GROUPS} of {len(order)} groups; the file of clusters has all.")
    members = np.split(np.argsort(groups, kind="stable"), np.cumsum(sizes)[:-1])
    joined: dict[int, list[int]] = {}
    for at, group in enumerate(groups[left].tolist()):
        joined.setdefault(group, []).append(at)
    for number, group in enumerate(order[:_GROUPS].tolist(), 1):
        canonical = clusters.names[group]
        report.heading(f"{number}. {records.shown(canonical)}", level=3)
        rows = [[records.ids[i], *(column[i] for column in records.columns.values())] for i in members[group].tolist()]
        report.table(["id", *records.columns], rows, caption=f"{len(rows)} records")
        links = sorted(joined.get(group, []), key=lambda at: score[at])[:20]
        report.table(
            ["id", "id", "score"],
            [[records.ids[left[at]], records.ids[right[at]], round(float(score[at]), 4)] for at in links],
            caption=f"the weakest of {len(joined.get(group, []))} pairs",
        )
    return report


def _page(
    matcher: RecordEstimator,
    records: RecordList,
    other: RecordList | None,
    pairs: Pairs,
    candidates: Candidates,
    title: str,
) -> Report:
    """Pairs with aligned names and an explanation of each score."""
    right = records if other is None else other
    order = np.argsort(-pairs.score, kind="stable")[:_REVIEWED]
    i, j = pairs.left[order], pairs.right[order]
    shown = [(records.shown(int(a)), right.shown(int(b))) for a, b in zip(i, j, strict=True)]
    fitted = parse_measure(FIELD_MEASURE).fit([name for pair in shown for name in pair])
    why = matcher.explain(records, candidates.positions(i, j), other, candidates=candidates) if len(order) else []
    proposals = [
        propose(PairRow(records.ids[a], right.ids[b], explanation.score, *names), fitted)._replace(
            reasons=explanation_lines(explanation)
        )
        for a, b, names, explanation in zip(i.tolist(), j.tolist(), shown, why, strict=True)
    ]
    return review_page(proposals, title=title)


def score_name(matcher: RecordEstimator) -> str:
    """The column of the scores of a matcher in files of pairs.

    >>> score_name(RecordMatcher())
    'score'
    """
    return "score" if isinstance(matcher, RecordMatcher) else "probability"
