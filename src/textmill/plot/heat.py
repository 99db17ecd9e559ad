"""Heat maps: tables of counts, of similarities, of weights. What all figures share is said in __init__.py.

color(v) = map((v - low) / (high - low))          low = -high if a value is negative, so that 0 is white
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from textmill.errors import DataError
from textmill.plot.axes import add_note, finish, new_axes, strip_frame, tick, written
from textmill.plot.inputs import check_lengths, cut, finite
from textmill.plot.output import drawing
from textmill.plot.style import GRID, INK, MEDIUM, MUTED, PAPER, SMALL, fonts, import_matplotlib, look
from textmill.readable import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["heat_map"]

MOST_NAMES = 60  # rows or columns with names
MOST_NUMBERS = 225  # cells with numbers
MOST_EXACT = 1000  # rows or columns; of more there are not enough pixels
CHARACTER = 0.085  # inches

Spans = dict[str, tuple[int, int]]  # first row, and row after the last


def heat_map(
    matrix: ArrayLike,
    *,
    x_label: str,
    y_label: str,
    title: str | None = None,
    columns: Sequence[str] = (),
    rows: Sequence[str] = (),
    groups: Mapping[str, int] | None = None,
    boxes: Sequence[tuple[str, str]] = (),
    color_map: str | None = None,
) -> Figure:
    """A table as colors, first row on top; small ones hold their numbers, others have a color bar.

    For a square table whose rows are sorted into groups, `groups` maps each name to its number of rows and draws the
    borders between them, and each of `boxes` frames the groups from one name to another. Colors run from light to
    dark, or from orange over white to purple if a value is negative; `color_map` names another map of Matplotlib's.

    >>> languages = ["English", "Czech"]
    >>> figure = heat_map([[8, 2], [1, 9]], columns=languages, rows=languages, x_label="predicted", y_label="gold")
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['8', '2', '1', '9']
    """
    matplotlib = import_matplotlib()
    table = finite("matrix", matrix, missing=True, dimensions=2)
    height, width = table.shape
    check_lengths("names of columns", len(columns) or width, "columns", width)
    check_lengths("names of rows", len(rows) or height, "rows", height)
    if color_map not in (None, *matplotlib.colormaps):
        raise DataError(f"color_map '{cut(color_map)}' is not known to Matplotlib; one that is: 'gray'")
    spans = _spans(groups, table.shape) if groups else {}
    (across, across_at), (down, down_at) = _names(columns, spans, width), _names(rows, spans, height)
    numbered = table.size <= MOST_NUMBERS
    cell = min(max(0.55 if numbered else 0.14, 2.6 / max(table.shape)), 5.2 / max(table.shape))  # inches
    turned = any(CHARACTER * len(name) > cell * width / len(across) for name in across)
    above = CHARACTER * max(map(len, across), default=0) if turned else 0.2
    left = CHARACTER * max(map(len, down), default=0) + 0.35
    size = left + cell * width + (0.2 if numbered else 0.9), above + cell * height + (0.65 if title else 0.35)
    figure, axes = new_axes(*size, x_label, "", title)
    strip_frame(axes)
    axes.set_ylabel(one_line(y_label), fontsize=MEDIUM, color=INK, family=fonts(), parse_math=False)
    low, high = float(np.nanmin(table)), float(np.nanmax(table))
    if low < 0:
        low, high = -max(-low, high), max(-low, high)
    colors = matplotlib.colormaps[color_map or ("PuOr" if low < 0 else "Blues")].with_extremes(bad=GRID)
    exact = "none" if max(table.shape) <= MOST_EXACT else "auto"
    image = axes.imshow(table, cmap=colors, vmin=low, vmax=high, interpolation=exact, zorder=1)
    plain: dict[str, Any] = {"fontsize": MEDIUM, "color": INK, "parse_math": False}
    with drawing():  # Matplotlib changes the filters of warnings while it sets names
        axes.set_xticks(across_at, across, rotation=90 if turned else 0, **plain)
        axes.set_yticks(down_at, down, **plain)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    _draw_groups(axes, spans, boxes)
    if numbered:
        for (row, column), number in zip(np.ndindex(table.shape), written(table.ravel()), strict=True):
            value = table[row, column]
            if not math.isnan(value):
                ink = "#000000" if _luminance(colors(image.norm(value))) > 0.18 else "#ffffff"
                add_note(axes, number, (column, row), ha="center", va="center_baseline", color=ink)
    else:
        bar = figure.colorbar(image, ax=axes, shrink=0.5, aspect=16, format=matplotlib.ticker.FuncFormatter(tick))
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0, labelsize=SMALL, labelcolor=MUTED, labelfontfamily=fonts())
    return finish(figure)


def _luminance(color: Sequence[float]) -> float:
    """From 0, black, to 1, white; where it is 0.18, black and white are read equally well (WCAG 2.1)."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color[:3]]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def _spans(groups: Mapping[str, int], shape: tuple[int, ...]) -> Spans:
    ends = np.cumsum([*groups.values()]).tolist()
    if min(groups.values()) < 1 or (ends[-1], ends[-1]) != shape:
        raise DataError(
            f"groups of {ends[-1]} rows, but a table of {shape[0]} by {shape[1]}; pass the size of each group"
        )
    return {name: (end - size, end) for (name, size), end in zip(groups.items(), ends, strict=True)}


def _names(names: Sequence[str], spans: Spans, extent: int) -> tuple[list[str], list[float]]:
    """Names along one side and where they stand: of the groups, else of the cells if these are not too many."""
    if spans:
        return [cut(name) for name in spans], [(first + end - 1) / 2 for first, end in spans.values()]
    shown = names if extent <= MOST_NAMES else ()
    return [cut(name) for name in shown], [float(place) for place in range(len(shown))]


def _draw_groups(axes: Axes, spans: Spans, boxes: Sequence[tuple[str, str]]) -> None:
    from matplotlib.patches import Rectangle

    for _, end in [*spans.values()][:-1]:
        axes.axhline(end - 0.5, color=PAPER, linewidth=1.2)
        axes.axvline(end - 0.5, color=PAPER, linewidth=1.2)
    for i, (first, last) in enumerate(boxes):
        if first not in spans or last not in spans:
            raise DataError(f"a box goes from '{cut(first)}' to '{cut(last)}'; both must be among the groups")
        corner, side = spans[first][0] - 0.5, spans[last][1] - spans[first][0]
        style: dict[str, Any] = {"edgecolor": look(i + 1).color, "linewidth": 2, "zorder": 3, "clip_on": False}
        axes.add_patch(Rectangle((corner, corner), side, side, fill=False, **style))
