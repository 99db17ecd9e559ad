"""Lines, bars, scatter and histogram. What they share is said in __init__.py."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.plot.axes import add_legend, add_note, finish, new_axes, set_scale, strip_frame, written
from textmill.plot.inputs import Pairs, as_points, check_lengths, cut, finite, has_place
from textmill.plot.labels import label_ends, label_points, list_below
from textmill.plot.output import drawing
from textmill.plot.style import DASHED, DOTTED, INK, MEDIUM, MUTED, PAPER, look
from textmill.plot.tooltips import add_tooltips
from textmill.readable import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["bars", "histogram", "lines", "scatter"]

MOST_MARKERS = 25  # points of a line
MOST_VECTORS = 5_000  # points of a group that are not made an image
MOST_BARS = 300
MOST_BINS = 60


def lines(
    series: Pairs,
    *,
    x_label: str,
    y_label: str,
    title: str | None = None,
    x_scale: str = "linear",
    y_scale: str = "linear",
    marks: Pairs | None = None,
    horizontals: Mapping[str, float] | None = None,
    verticals: Mapping[str, ArrayLike] | None = None,
    diagonal: bool = False,
) -> Figure:
    """Curves through points (x, y) in the order given, with markers while they are few.

    Scales are "linear", "log" and "probit". `marks` are points on top (equal error rates, proposed boundaries),
    `horizontals` and `verticals` thin lines (a threshold, true boundaries), `diagonal` is the line of equal x and y.

    >>> curves = {"train": ([1, 2, 3], [9, 5, 4]), "held out": ([1, 2, 3], [9, 7, 7])}
    >>> figure = lines(curves, x_label="pass", y_label="loss")
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['train', 'held out']
    """
    curves = as_points(series, x_scale, y_scale)
    dots = as_points(marks, x_scale, y_scale) if marks else []
    across = {name: _placed(f"horizontal '{cut(name)}'", [y], y_scale) for name, y in (horizontals or {}).items()}
    down = {
        name: _placed(f"vertical '{cut(name)}'", np.atleast_1d(x), x_scale) for name, x in (verticals or {}).items()
    }
    figure, axes = new_axes(6.4, 4.0, x_label, y_label, title)
    set_scale(axes, "x", x_scale, np.concatenate([*(points.x for points in curves + dots), *down.values()]))
    set_scale(axes, "y", y_scale, np.concatenate([*(points.y for points in curves + dots), *across.values()]))
    if diagonal:
        low = max(axes.get_xlim()[0], axes.get_ylim()[0])
        high = min(axes.get_xlim()[1], axes.get_ylim()[1])
        axes.plot(np.linspace(low, high, 200), np.linspace(low, high, 200), color=MUTED, linewidth=0.8, zorder=1.5)
    entries = []
    for i, (name, x, y) in enumerate(curves):
        color, dash, marker = look(i)
        few = {"marker": marker, "markersize": 5, "markeredgecolor": PAPER, "markeredgewidth": 0.8}
        style: dict[str, Any] = {"linestyle": dash, "linewidth": 1.7, **(few if len(x) <= MOST_MARKERS else {})}
        entries += [(axes.plot(x, y, color=color, clip_on=False, zorder=2.5, **style)[0], name)]
    for i, (name, x, y) in enumerate(dots):
        style = {"marker": look(i).marker, "markersize": 6, "markeredgecolor": INK, "clip_on": False, "zorder": 3}
        entries += [(axes.plot(x, y, linestyle="none", markerfacecolor=PAPER if i % 2 else INK, **style)[0], name)]
    for name, height in across.items():
        entries += [(axes.axhline(height[0], color=INK, linewidth=0.9, linestyle=DOTTED), cut(name))]
    entries += _draw_verticals(axes, down)
    ends = [(name, *_end(x, y)) for name, x, y in curves]
    ends += [(cut(name), axes.get_xlim()[1], float(height[0])) for name, height in across.items()]
    if len(entries) > 1 and (dots or down or not label_ends(axes, ends)):
        add_legend(axes, entries)
    return finish(figure)


def bars(
    labels: Sequence[str],
    series: Mapping[str, ArrayLike],
    *,
    x_label: str,
    title: str | None = None,
    x_scale: str = "linear",
    origin: float | None = None,
    unit: str = "",
) -> Figure:
    """Horizontal bars from the top in the order given, each with its value; several series share each label.

    Bars grow from `origin` (by default 0, on a log axis 1); values are written with `unit` behind them.

    >>> figure = bars(["tokenize", "count"], {"speed-up": [2.5, 0.8]}, x_label="times as fast", origin=1, unit="×")
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['2.5×', '0.8×']
    """
    if len(labels) == 0 or not series:
        raise DataError("there is nothing to draw; pass at least one label and one series")
    if len(labels) * len(series) > MOST_BARS:
        raise DataError(f"{len(labels) * len(series)} bars cannot be read; pass at most {MOST_BARS}")
    start = float(x_scale == "log") if origin is None else origin
    _placed("origin", [start], x_scale)
    sets = {name: finite(f"bars of '{cut(name)}'", values, missing=True) for name, values in series.items()}
    for name, values in sets.items():
        check_lengths(f"bars of '{cut(name)}'", len(values), "labels", len(labels))
        _placed(f"bars of '{cut(name)}'", values[~np.isnan(values)], x_scale)
    figure, axes = new_axes(6.4, 0.6 + (0.1 + 0.19 * len(sets)) * len(labels), x_label, "", title)
    everything = np.concatenate([*sets.values()])
    room = 0.12 if (everything < start).any() else 0.0  # for numbers on the left
    set_scale(axes, "x", x_scale, np.append(everything, start), pad=(room, 0.02))
    strip_frame(axes)
    rows, height = np.arange(len(labels)), 0.8 / len(sets)
    numbers = np.reshape(written(everything), (len(sets), len(labels)))
    entries = []
    for i, (name, values) in enumerate(sets.items()):
        middles = rows + (i - (len(sets) - 1) / 2) * height
        bar = axes.barh(middles, values - start, left=start, height=0.9 * height, color=look(i).color)
        entries += [(bar, cut(name))]
        for middle, value, number in zip(middles, values, numbers[i], strict=True):
            if not math.isnan(value):
                where = {"xytext": (3, 0), "ha": "left"} if value >= start else {"xytext": (-3, 0), "ha": "right"}
                add_note(axes, one_line(number + unit), (value, middle), va="center_baseline", **where)
    axes.axvline(start, color=MUTED, linewidth=0.8)
    axes.set_xticks([])  # each bar has its value
    with drawing():  # Matplotlib changes the filters of warnings while it sets names
        axes.set_yticks(rows, [cut(label) for label in labels], fontsize=MEDIUM, color=INK, parse_math=False)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    if len(sets) > 1:
        add_legend(axes, entries)
    return finish(figure)


def scatter(
    groups: Pairs,
    *,
    x_label: str,
    y_label: str,
    title: str | None = None,
    x_scale: str = "linear",
    y_scale: str = "linear",
    labels: Mapping[str, Sequence[str]] | None = None,
    tooltips: Mapping[str, Sequence[str]] | None = None,
    sizes: Mapping[str, ArrayLike] | None = None,
    equal: bool = False,
    every_label: bool = False,
) -> Figure:
    """Points (x, y) in groups; `labels`, `tooltips` and `sizes` give any of the groups one entry per point.

    A label stands beside its point where there is room, and is left out where there is none; earlier points come
    first. With `every_label` one without room is listed below the axes, and its first word, which should be a number,
    stands on the point. A tooltip, by default the label, is what an SVG shows when the pointer rests on the point. The
    area of a point is proportional to its size. `equal` gives both axes the same unit, as a map needs.

    >>> figure = scatter({"terms": ([0, 1], [1, 0])}, labels={"terms": ["tree", "graph"]}, x_label="1", y_label="2")
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['tree', 'graph']
    """
    clouds = as_points(groups, x_scale, y_scale)
    unknown = [name for name in [*(labels or {}), *(tooltips or {}), *(sizes or {})] if name not in groups]
    if unknown:
        fault = f"there are labels, tooltips or sizes of '{cut(unknown[0])}', but no such group"
        raise DataError(f"{fault}; use the same names")
    texts = [[cut(label) for label in (labels or {}).get(name, ())] for name in groups]
    areas = [_areas(name, (sizes or {}).get(name), len(cloud.x)) for name, cloud in zip(groups, clouds, strict=True)]
    figure, axes = new_axes(6.4, 5.0, x_label, y_label, title)
    set_scale(axes, "x", x_scale, np.concatenate([cloud.x for cloud in clouds]), pad=(0.07, 0.07))
    set_scale(axes, "y", y_scale, np.concatenate([cloud.y for cloud in clouds]), pad=(0.07, 0.07))
    if equal:
        axes.set_aspect("equal", adjustable="box")
    entries = []
    for i, (name, cloud, text, area) in enumerate(zip(groups, clouds, texts, areas, strict=True)):
        check_lengths(f"labels of '{cloud.name}'", len(text) or len(cloud.x), "points", len(cloud.x))
        tips = [one_line(tip) for tip in ((tooltips or {}).get(name) or (labels or {}).get(name) or ())]
        check_lengths(f"tooltips of '{cloud.name}'", len(tips) or len(cloud.x), "points", len(cloud.x))
        style: dict[str, Any] = {"marker": look(i).marker, "rasterized": len(cloud.x) > MOST_VECTORS, "zorder": 2.5}
        style |= {"color": look(i).color, "edgecolors": PAPER, "linewidths": 0.5, "alpha": 0.85}
        points = axes.scatter(cloud.x, cloud.y, s=area, **style)
        add_tooltips(points, [tip for tip, x in zip(tips, cloud.x, strict=False) if not np.isnan(x)], i)
        entries += [(points, cloud.name)]
    if len(clouds) > 1:
        add_legend(axes, entries)
    finish(figure)
    without_room = label_points(axes, clouds, texts, areas)
    if every_label and without_room:
        list_below(axes, without_room)
    return figure


def histogram(
    samples: Mapping[str, ArrayLike],
    *,
    x_label: str,
    y_label: str | None = None,
    title: str | None = None,
    y_scale: str = "linear",
    bins: int | None = None,
    shares: bool = False,
    verticals: Mapping[str, ArrayLike] | None = None,
) -> Figure:
    """How often values fall into bins of equal width, the same for every sample.

    Whole numbers get a bin each unless they are spread far; `bins` sets the number of bins. `shares` divides by the
    size of each sample, so that samples of different size compare.

    >>> figure = histogram({"lengths": [1, 2, 2, 3, 3, 3]}, x_label="words")
    >>> figure.axes[0].patches[0].get_data().values.tolist()
    [1.0, 2.0, 3.0]
    """
    sets = {name: finite(f"sample '{cut(name)}'", values) for name, values in samples.items()}
    if not sets:
        raise DataError("there is nothing to draw; pass at least one sample, a name with its values")
    down = {name: finite(f"vertical '{cut(name)}'", np.atleast_1d(x)) for name, x in (verticals or {}).items()}
    everything = np.concatenate([*sets.values()])
    edges = _edges(everything, bins)
    heights = [np.histogram(values, edges)[0] / (len(values) if shares else 1) for values in sets.values()]
    figure, axes = new_axes(6.4, 3.6, x_label, y_label or ("share" if shares else "count"), title)
    set_scale(axes, "x", "linear", np.concatenate([edges, *down.values()]), pad=(0.02, 0.02))
    if np.array_equal(everything, np.rint(everything)):
        locator: Any = axes.xaxis.get_major_locator()
        locator.set_params(integer=True)
    seen = np.concatenate(heights)
    _placed("heights of bins", seen[seen > 0], y_scale)
    floor = 0.0 if y_scale == "linear" else float(seen[seen > 0].min()) / 2
    set_scale(axes, "y", y_scale, np.append(seen[seen > floor], floor))
    axes.set_ylim(bottom=floor)
    entries = []
    for i, (name, height) in enumerate(zip(sets, heights, strict=True)):
        color, dash, _ = look(i)
        filled = axes.stairs(height, edges, baseline=floor, fill=True, color=color, zorder=2)
        entries += [(filled, cut(name))]
        if len(sets) > 1:
            filled.set_alpha(0.25)
            line = axes.stairs(height, edges, baseline=floor, color=color, linestyle=dash, linewidth=1.5, zorder=2.5)
            entries[-1] = (line, cut(name))
    entries += _draw_verticals(axes, down)
    if len(entries) > 1:
        add_legend(axes, entries)
    return finish(figure)


def _placed(what: str, values: ArrayLike, scale: str) -> Floats:
    """Numbers that all have a place on an axis."""
    array = finite(what, values)
    if not has_place(scale, array).all():
        raise DataError(f"{what} holds a value that has no place on a {scale} axis; choose another scale")
    return array


def _end(x: Floats, y: Floats) -> tuple[float, float]:
    """The last point of a curve that is drawn."""
    last = int(np.flatnonzero(~np.isnan(x))[-1])
    return float(x[last]), float(y[last])


def _draw_verticals(axes: Axes, places: Mapping[str, Floats]) -> list[tuple[Any, str]]:
    """Thin lines from bottom to top; returns their entries in the legend."""
    entries = []
    for i, (name, x) in enumerate(places.items()):
        style: dict[str, Any] = {"color": INK, "linestyle": DOTTED} if i % 2 else {"color": MUTED, "linestyle": DASHED}
        drawn = axes.vlines(x, 0, 1, transform=axes.get_xaxis_transform(), linewidth=0.9, zorder=1.6, **style)
        entries += [(drawn, cut(name))]
    return entries


def _areas(name: str, sizes: ArrayLike | None, points: int) -> Floats:
    """Square points (typographic) that each point of a group takes; the greatest is 400."""
    if sizes is None:
        return np.asarray(30.0 if points <= 500 else 8.0)
    values = finite(f"sizes of '{cut(name)}'", sizes)
    check_lengths(f"sizes of '{cut(name)}'", len(values), "points", points)
    if values.min() < 0 or values.max() == 0:
        raise DataError(f"sizes of '{cut(name)}' must not be negative, nor all 0")
    areas: Floats = 400.0 * values / values.max()
    return areas


def _edges(values: Floats, bins: int | None) -> Floats:
    """Borders of bins: around whole numbers, or of the width of Freedman & Diaconis (1981)."""
    if bins is not None and bins < 1:
        raise DataError(f"bins is {bins}; pass at least 1")
    low, high = float(values.min()), float(values.max())
    size = max(abs(low), abs(high))
    if bins is None and high - low < MOST_BINS and size < 2**50 and np.array_equal(values, np.rint(values)):
        return np.arange(low, high + 2) - 0.5
    if high - low <= 1e-9 * size:  # as good as one value
        return np.array([low - 0.05 * size, high + 0.05 * size])
    if bins is None:
        quarter, three_quarters = np.quantile(values, [0.25, 0.75])
        width = float(2 * (three_quarters - quarter) / len(values) ** (1 / 3))
        bins = math.ceil(min((high - low) / width, MOST_BINS)) if width > 0 else 10
    return np.histogram_bin_edges(values, bins)
