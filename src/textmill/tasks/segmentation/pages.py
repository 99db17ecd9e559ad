"""Pictures and pages: the signal with its boundaries, the text in colors, figures of methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from textmill import plot
from textmill.report import Report
from textmill.tasks.segmentation.building import Reference
from textmill.tasks.segmentation.evaluation import SegmentationScores
from textmill.tasks.segmentation.segments import Segments
from textmill.tasks.segmentation.tiling import TextTiling

__all__ = ["draw_scores", "draw_segments", "scores_page", "segments_page"]

_EXCERPT = 300  # characters of a segment that a table shows
_COLORED = 200_000  # characters of a text that is shown whole, in colors


def draw_segments(segments: Segments, reference: Reference | None = None) -> Any:
    """The similarity across the gaps of a text, with proposed boundaries as dots and true ones as lines.

    The threshold of a rule is a line across; where it is one of depth, the depth is drawn, too, and has the dots.
    Methods that have no such signal are drawn on that of `TextTiling`; texts too short for any, as bars.
    """
    gaps = segments.gaps
    if gaps is None:
        gaps = TextTiling().segment(segments.text).gaps
    if gaps is None or len(gaps) < 2:
        labels = [f"{i}" for i in range(1, len(segments) + 1)]
        return plot.bars(labels[:60], {"tokens": segments.masses[:60]}, x_label="tokens", title="Segments")
    threshold = segments.details.get("threshold")
    curves = {"similarity": (gaps.positions, gaps.similarity)}
    if threshold is not None and threshold["of"] == "depth":
        curves["depth"] = (gaps.positions, gaps.depth)
    marks = {}
    if len(segments.boundaries):
        heights = np.interp(segments.boundaries, *list(curves.values())[-1])
        marks = {"boundaries": (segments.boundaries, heights)}
    true = {} if reference is None or not len(reference.boundaries) else {"true boundaries": reference.boundaries}
    return plot.lines(
        curves,
        x_label="token",
        y_label=f"{' and '.join(curves)} across the gap",
        title="Where the topic changes",
        marks=marks,
        horizontals=None if threshold is None else {"threshold": threshold["value"]},
        verticals=true,
    )


def segments_page(segments: Segments, title: str = "Segments") -> Report:
    """The segments with their words, what parts them, and the signal."""
    page = Report(title)
    page.facts([("method", segments.method), ("segments", str(len(segments))), ("tokens", str(len(segments.text)))])
    page.figure(draw_segments(segments), caption="Similarity across gaps; low means that the topic changes")
    words = segments.words() if len(segments) else []
    rows = [
        (i, tokens, begin, ", ".join(best), _excerpt(text))
        for i, (tokens, (begin, _), best, text) in enumerate(
            zip(segments.masses.tolist(), segments.spans, words, segments, strict=True), 1
        )
    ]
    whole = len(segments.text.text) <= _COLORED
    shown = [(text if whole else _excerpt(text) + "\n", str(i)) for i, text in enumerate(segments, 1)]
    page.spans(shown, caption="The text, segment by segment" if whole else "How each segment begins")
    page.table(["segment", "tokens", "first character", "words", "begins"], rows, caption="Segments and their words")
    parted = [(token, ", ".join(before), ", ".join(behind)) for token, before, behind in segments.explain()]
    if parted:
        page.table(["token", "words that end", "words that begin"], parted, caption="What each boundary parts")
    return page


def draw_scores(scores: Sequence[SegmentationScores]) -> Any:
    """Scores of every text, best first, one line per method."""
    return plot.lines(
        {one.name: (np.arange(1.0, len(one.window_diff) + 1), np.sort(one.window_diff)) for one in scores},
        x_label="texts, best first",
        y_label="WindowDiff",
        title="Methods on all texts",
    )


def scores_page(scores: Sequence[SegmentationScores], title: str = "Segmenters") -> Report:
    """Figures of several methods: means, sorted curves, means by number of segments."""
    page = Report(title)
    facts = [one.to_json() for one in scores]
    page.table(list(facts[0]), [list(row.values()) for row in facts], caption="Means over texts")
    page.figure(draw_scores(scores), caption="Every text, best first; lower is better")
    numbers = sorted({m for one in scores for m in one.by_segments()})
    if len(numbers) > 1:
        curves = {
            one.name: (np.array(numbers, float), np.array([one.by_segments().get(m, np.nan) for m in numbers]))
            for one in scores
        }
        figure = plot.lines(curves, x_label="true segments", y_label="WindowDiff", title="By number of segments")
        page.figure(figure, caption="Mean WindowDiff by the true number of segments")
    return page


def _excerpt(text: str) -> str:
    short = " ".join(text.split())
    return short if len(short) <= _EXCERPT else short[: _EXCERPT - 1] + "…"
