"""Match lists of names: find pairs, group them, compare measures on labels, prepare pairs for labeling.

    dedupe     names -> pairs within the list (and clusters, and a page to review them)
    join       two lists -> pairs between them
    evaluate   names and gold -> precision, recall and F of measures by number of pairs
    pool       names -> the best pairs of several measures, worth a label

Names are normalized only for the comparison, by default without case and accents: what is written and shown are the
names as they came. The measures and
the search are those of `textmill.strings`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from textmill import plot
from textmill.errors import DataError
from textmill.model import check_choice
from textmill.progress import track
from textmill.strings import (
    DEFAULT_MEASURE,
    DEFAULT_STEPS,
    Alignment,
    Clusters,
    Fitted,
    Matcher,
    Normalize,
    Pairs,
    normalizer_of,
    parse_measure,
)
from textmill.tasks.names.collection import NameList
from textmill.tasks.names.evaluation import Evaluation, choose, differences, evaluate
from textmill.tasks.names.gold import Gold
from textmill.tasks.names.pairfiles import PairRow, read_pairs, write_clusters, write_pairs
from textmill.tasks.names.pooling import pool_pairs
from textmill.tasks.names.review import propose, review_page

if TYPE_CHECKING:
    from distributed import Client
    from matplotlib.figure import Figure

    from textmill.report import Report

__all__ = [
    "MEASURES_TO_COMPARE",
    "MatchCounts",
    "PairScore",
    "align",
    "compare",
    "curves",
    "dedupe",
    "evaluate_measures",
    "join",
    "pool",
    "review_file",
    "review_pairs",
    "score_pair",
]

MEASURES_TO_COMPARE = (
    "cosine(words)",
    "tfidf(words)",
    "softtfidf(words, sub=jaro_winkler, theta=0.9)",
    "ml(words, sub=ml(trigrams, sub=context), transpositions='extended')",
    DEFAULT_MEASURE,
)

_REVIEWED = 5000  # pairs on a page, the best


class MatchCounts(NamedTuple):
    """How many pairs were found, how many clusters they make (None if nobody asked), by which measure and why."""

    pairs: int
    clusters: int | None
    measure: str
    reason: str


class PairScore(NamedTuple):
    """The similarity of two names, and the measure that gave it."""

    score: float
    measure: str


def score_pair(
    left: str,
    right: str,
    *,
    measure: str = DEFAULT_MEASURE,
    names: NameList | None = None,
    normalize: Normalize = DEFAULT_STEPS,
) -> PairScore:
    """Compare two names, as `align` does, without what is behind the score.

    >>> round(score_pair("SMITH, Ann", "Anne Smith").score, 4)
    0.8851
    """
    fitted, one, two = _fitted_to_pair(left, right, measure, names, normalize)
    return PairScore(fitted.similarity(one, two), str(fitted.measure))


def align(
    left: str,
    right: str,
    *,
    measure: str = DEFAULT_MEASURE,
    names: NameList | None = None,
    normalize: Normalize = DEFAULT_STEPS,
) -> Alignment:
    """Compare two names; what the alignment shows are the names as they came.

    Weights of words come from `names`; without them, two names tell nothing about what is rare, and all weigh the same.

    >>> alignment = align("SMITH, Ann", "Anne Smith")
    >>> alignment.left_features, round(alignment.score, 4)
    (('SMITH', 'Ann'), 0.8851)
    """
    fitted, one, two = _fitted_to_pair(left, right, measure, names, normalize)
    return fitted.align(one, two).restored(left, right)


def _fitted_to_pair(
    left: str, right: str, measure: str, names: NameList | None, normalize: Normalize
) -> tuple[Fitted, str, str]:
    """The measure, fitted to the list or to the pair alone, and the two names as they are compared."""
    normalizer = normalizer_of(normalize) or str
    one, two = normalizer(left), normalizer(right)
    fitted = parse_measure(measure).fit([one, two] if names is None else names.normalized(normalize))
    if names is None:
        fitted.forget_weights()
    return fitted, one, two


def dedupe(
    names: NameList,
    target: str | os.PathLike[str],
    *,
    measure: str = DEFAULT_MEASURE,
    threshold: float = 0.6,
    k: int | None = None,
    clusters: str | os.PathLike[str] | None = None,
    method: str = "connected",
    report: str | os.PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002
    normalize: Normalize = DEFAULT_STEPS,
    n_jobs: int | None = None,
    cluster: str | Client | None = None,
) -> MatchCounts:
    """Write the pairs of names that match, as they are found; `clusters` and `report` name two more files.

    `k` keeps the best matches of every name, `method` is "connected" or "correlation", `cluster` is a Dask
    scheduler. Without clusters and report no more than a block of pairs is held.

    >>> import tempfile
    >>> names = NameList.of(["Ann Smith", "Tom Jones", "Anne Smith", "Jones Tom"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dedupe(names, f"{folder}/pairs.tsv", clusters=f"{folder}/clusters.tsv")[:2]
    (2, 2)
    """
    check_choice("method", method, ["connected", "correlation"])
    matcher = Matcher(measure=measure, threshold=threshold, normalize=normalize, n_jobs=n_jobs).fit(
        names, ids=names.ids, counts=None if names.counts is None else names.counts.tolist()
    )
    held: list[Pairs] = []
    keep = clusters is not None or report is not None
    blocks = _held(matcher.stream(k=k, cluster=cluster), held if keep else None)
    count = write_pairs(target, track(blocks, "matching", unit="blocks"), names, format=format)
    groups = None
    if clusters is not None:
        grouped: Clusters = matcher.clusters(Pairs.concatenate(held), method=method)
        groups = write_clusters(clusters, names, grouped)
    if report is not None:
        page = _review(_rows(Pairs.concatenate(held), names, names), matcher.fitted_, None, normalize)
        page.write(report)
    return _counts(count, groups, matcher)


def join(
    left: NameList,
    right: NameList,
    target: str | os.PathLike[str],
    *,
    measure: str = DEFAULT_MEASURE,
    threshold: float = 0.6,
    k: int | None = None,
    one_to_one: str | None = None,
    report: str | os.PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002
    normalize: Normalize = DEFAULT_STEPS,
    n_jobs: int | None = None,
    cluster: str | Client | None = None,
) -> MatchCounts:
    """Write the pairs of a left and a right name that match; the measure learns from the right list.

    `one_to_one` ("greedy" or "optimal") gives every name at most one partner; then all pairs are held first.

    >>> join(NameList.of(["Smith, Ann"]), NameList.of(["Ann Smith", "Tom Jones"]), "-", format="jsonl").pairs
    {"id1": "1", "id2": "1", "score": 1.0, "name1": "Smith, Ann", "name2": "Ann Smith"}
    1
    """
    matcher = Matcher(measure=measure, threshold=threshold, normalize=normalize, n_jobs=n_jobs).fit(right)
    held: list[Pairs] = []
    if one_to_one is None:
        blocks = matcher.stream(left, k=k, cluster=cluster)
    else:
        blocks = iter([matcher.join(left, k=k, one_to_one=one_to_one, cluster=cluster)])
    blocks = _held(blocks, None if report is None else held)
    count = write_pairs(target, track(blocks, "matching", unit="blocks"), left, right, format=format)
    if report is not None:
        page = _review(_rows(Pairs.concatenate(held), left, right), matcher.fitted_, None, normalize)
        page.write(report)
    return _counts(count, None, matcher)


def evaluate_measures(
    names: NameList,
    gold: Gold,
    measures: Iterable[str] = MEASURES_TO_COMPARE,
    *,
    other: NameList | None = None,
    normalize: Normalize = DEFAULT_STEPS,
    unlabeled: str = "negative",
    floor: float = 0.0,
    n_jobs: int | None = None,
) -> list[Evaluation]:
    """Evaluate measures one after the other on the same gold; a wrong one is noticed before the first is fitted.

    >>> names = NameList.of(["Ann Smith", "Anne Smith", "Tom Jones"])
    >>> [one.row()["F1"] for one in evaluate_measures(names, Gold({("1", "2"): "pos"}), ["jaro"])]
    [1.0]
    """
    chosen = [parse_measure(measure) for measure in measures]
    options: Any = {"other": other, "unlabeled": unlabeled, "floor": floor, "normalize": normalize, "n_jobs": n_jobs}
    return [evaluate(names, gold, measure, **options) for measure in track(chosen, "evaluating", unit="measures")]


def curves(evaluations: Sequence[Evaluation], *, beta: float = 1.0) -> Figure:
    """Draw F by the number of best pairs, up to four times as many as there are positives.

    >>> names = NameList.of(["Ann Smith", "Anne Smith", "Tom Jones"])
    >>> figure = curves(evaluate_measures(names, Gold({("1", "2"): "pos"}), ["jaro"]))
    """
    if not evaluations:
        raise DataError("there is nothing to draw; evaluate at least one measure")
    most = 4 * len(evaluations[0].positives)
    series: dict[str, tuple[Any, Any]] = {}
    for evaluation in evaluations:
        shown = max(1, int(np.searchsorted(evaluation.curve.pairs, most, side="right")))
        series[evaluation.measure] = (evaluation.curve.pairs[:shown], evaluation.curve.f(beta)[:shown])
    return plot.lines(series, x_label="best pairs taken as matches", y_label=f"F{beta:g}")


def compare(
    evaluations: Sequence[Evaluation], names: NameList, other: NameList | None = None, *, k: int = 10
) -> Iterator[str]:
    """Give lines of text: the table of measures, the choice, and the positives in which others differ from the best.

    `k` is how many of these are listed for each two measures, those of the greatest difference first.

    >>> names = NameList.of(["Ann Smith", "Anne Smith", "Tom Jones"])
    >>> for line in compare(evaluate_measures(names, Gold({("1", "2"): "pos"}), ["jaro"]), names):
    ...     print(line)
    F1      P       R       pairs  threshold  F0.5    F2      AP      held-out F1  measure
    1.0000  1.0000  1.0000  1      0.7426     1.0000  1.0000  1.0000  0.0000       jaro
    best on held-out pairs: jaro, threshold 0.7426
    """
    ranked = sorted(evaluations, key=lambda one: -one.curve.best().f)
    table = [one.row() for one in ranked]
    heads = [*[head for head in table[0] if head != "measure"], "measure"]
    cells = [heads, *([_cell(row[head]) for head in heads] for row in table)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
    choice = choose(evaluations)
    yield f"best on held-out pairs: {choice.measure}, threshold {choice.threshold:.4f}"
    left = dict(zip(names.ids, names.names, strict=True))
    right = left if other is None else dict(zip(other.ids, other.names, strict=True))
    one = ranked[0]
    for two in ranked[1:]:
        for finder, misser, pairs in zip((one, two), (two, one), differences(one, two), strict=True):
            yield f"{len(pairs)} positives within the best cut of {finder.measure} but not of {misser.measure}"
            for pair in pairs[:k]:
                scores = (pair.first, pair.second) if finder is one else (pair.second, pair.first)
                yield f"  {scores[0]:.4f}  {scores[1]:.4f}  {left[pair.left]} | {right[pair.right]}"


def pool(
    names: NameList,
    measures: Iterable[str] = MEASURES_TO_COMPARE,
    *,
    k: int = 100,
    other: NameList | None = None,
    gold: Gold | None = None,
    normalize: Normalize = DEFAULT_STEPS,
    n_jobs: int | None = None,
) -> Pairs:
    """The pairs that at least one measure ranks among its best, without those that have a label.

    >>> pool(NameList.of(["Ann Smith", "Anne Smith", "Tom Jones"]), ["jaro", "levenshtein"], k=1).left.tolist()
    [0]
    """
    pooled = pool_pairs(names, measures, k=k, other=other, gold=gold, normalize=normalize, n_jobs=n_jobs)
    return Pairs.of([(pair.left, pair.right, pair.score) for pair in pooled])


def review_file(
    source: str | os.PathLike[str],
    *,
    measure: str = DEFAULT_MEASURE,
    gold: Gold | None = None,
    title: str | None = None,
    normalize: Normalize = DEFAULT_STEPS,
) -> Report:
    """A page of the pairs of a file, their names aligned by a measure that learns from just these names.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dedupe(NameList.of(["Ann Smith", "Anne Smith"]), f"{folder}/pairs.tsv")
    ...     review_file(f"{folder}/pairs.tsv").write(f"{folder}/page.html")
    ...     pathlib.Path(folder, "page.html").read_text()[:15]
    '<!DOCTYPE html>'
    """
    rows = list(read_pairs(source))
    names = NameList.of(dict.fromkeys(name for row in rows for name in (row.name1, row.name2))).normalized(normalize)
    return _review(rows, parse_measure(measure).fit(names), gold, normalize, title or "Pairs to review")


def review_pairs(
    pairs: Pairs,
    names: NameList,
    other: NameList | None = None,
    *,
    measure: str = DEFAULT_MEASURE,
    title: str = "Pairs to review",
    normalize: Normalize = DEFAULT_STEPS,
) -> Report:
    """A page of pairs that were just found.

    >>> names = NameList.of(["Ann Smith", "Anne Smith", "Tom Jones"])
    >>> review_pairs(pool(names, ["jaro"], k=1), names).title
    'Pairs to review'
    """
    compared = NameList.of([*names, *(other or ())]).normalized(normalize)
    return _review(_rows(pairs, names, other or names), parse_measure(measure).fit(compared), None, normalize, title)


def _counts(pairs: int, clusters: int | None, matcher: Matcher) -> MatchCounts:
    return MatchCounts(pairs, clusters, str(matcher.fitted_.measure), matcher.fitted_.reason)


def _held(blocks: Iterator[Pairs], held: list[Pairs] | None) -> Iterator[Pairs]:
    """The blocks, kept as they pass if somebody needs them later."""
    for block in blocks:
        if held is not None:
            held.append(block)
        yield block


def _rows(pairs: Pairs, left: NameList, right: NameList) -> list[PairRow]:
    """The best pairs with their names."""
    order = np.lexsort((pairs.right, pairs.left, -pairs.score))[:_REVIEWED].tolist()
    places = [(int(pairs.left[k]), int(pairs.right[k]), float(pairs.score[k])) for k in order]
    return [PairRow(left.ids[i], right.ids[j], score, left.names[i], right.names[j]) for i, j, score in places]


def _review(
    rows: Sequence[PairRow],
    fitted: Fitted,
    gold: Gold | None,
    normalize: Normalize,
    title: str = "Pairs to review",
) -> Report:
    best = sorted(rows, key=lambda row: -row.score)[:_REVIEWED]
    proposals = [propose(row, fitted, normalize) for row in track(best, "aligning", unit="pairs")]
    return review_page(proposals, title=title, gold=gold)


def _cell(value: float | str) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
