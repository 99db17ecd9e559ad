"""Labels beside what they name, without overlap: at the ends of lines, and around points.

Ends of lines: labels keep the order of the ends and a distance of one line of text, and move as little as that allows;
least squares under order constraints, solved by pooling neighbors (Ayer et al. 1955). Cost O(n).

Points: each label in turn takes the first free of twelve places around its point, then of ten further out with a thin
line to the point; taken places are kept in a bit map of the axes. Greedy, as in Christensen, Marks & Shieber, An
empirical study of algorithms for point-feature label placement (1995). Cost O(n) places of a few hundred bits.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats
from textmill.plot.axes import add_note, lay_out
from textmill.plot.inputs import Points
from textmill.plot.output import drawing
from textmill.plot.style import INK, MEDIUM, MUTED, SMALL, fonts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["label_ends", "label_points", "list_below"]

MOST_ENDS = 8
_LINE = 1.25  # height of a line in font sizes
_CELL = 2.0  # pixels of the bit map
_SIDES = [(1.0, 0), (-1.0, 0), *((right, up) for right in (0.0, 1.0, -1.0, 0.5, -0.5) for up in (1, -1))]
_PLACES = [(2, side) for side in _SIDES] + [(14, side) for side in _SIDES[2:]]  # distance in points


def label_ends(axes: Axes, ends: Sequence[tuple[str, float, float]]) -> bool:
    """Write each name to the right of the axes at the height where its line ends, if all fit; else nothing."""
    lay_out(axes)
    frame, points = axes.bbox, 72 / axes.figure.dpi
    places = axes.transData.transform([(x, y) for _, x, y in ends])
    order = np.argsort(places[:, 1], kind="stable")
    gap = MEDIUM * _LINE / points
    heights = np.empty(len(ends))
    heights[order] = _spread(places[order, 1], gap)
    moved = np.abs(heights - places[:, 1]).max() > gap
    meet = (np.diff(places[order, 1]) < 0.3 * gap).any()  # such as curves that all end at (1, 1)
    short = (places[:, 0] < frame.x1 - 0.08 * frame.width).any()
    if len(ends) > MOST_ENDS or moved or meet or short:
        return False
    for (name, _, y), place, height in zip(ends, places, heights, strict=True):
        where = {"xycoords": axes.get_yaxis_transform(), "xytext": (6, (height - place[1]) * points)}
        add_note(axes, name, (1, y), ha="left", va="center_baseline", fontsize=MEDIUM, **where)
    return True


def _spread(places: Floats, gap: float) -> Floats:
    """Ascending places moved apart to at least `gap`, with the least sum of squared moves.

    >>> _spread(np.array([0.0, 1.0, 10.0]), 4.0)
    array([-1.5,  2.5, 10. ])
    """
    steps = gap * np.arange(len(places))
    blocks: list[tuple[float, int]] = []  # mean and size; means ascend
    for place in places - steps:
        mean, size = float(place), 1
        while blocks and blocks[-1][0] >= mean:
            other, count = blocks.pop()
            mean, size = (mean * size + other * count) / (size + count), size + count
        blocks.append((mean, size))
    means: Floats = np.repeat([mean for mean, _ in blocks], [size for _, size in blocks])
    return means + steps


def label_points(
    axes: Axes, groups: Sequence[Points], texts: Sequence[Sequence[str]], areas: Sequence[Floats]
) -> list[tuple[str, float, float]]:
    """Write labels beside their points where there is room, the first point of each group first.

    Returns the labels that found no room, with their points.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.font_manager import FontProperties

    if not any(texts):
        return []
    without_room: list[tuple[str, float, float]] = []
    pixels = axes.figure.dpi / 72  # in a point
    room = _Room(axes.bbox.width, axes.bbox.height)
    labeled = []
    for group, names, area in zip(groups, texts, areas, strict=True):
        centers = axes.transData.transform(np.column_stack([group.x, group.y])) - (axes.bbox.x0, axes.bbox.y0)
        radii = np.broadcast_to(np.sqrt(area / np.pi) * pixels, len(centers))
        there = ~np.isnan(group.x)
        for (x, y), radius in zip(centers[there], radii[there], strict=True):
            room.take((x - radius, y - radius, x + radius, y + radius))
        dots = zip(names, group.x, group.y, centers, radii, strict=False)
        labeled.append([dot for dot in dots if dot[0] and not np.isnan(dot[1])])
    renderer, font = FigureCanvasAgg(axes.figure).get_renderer(), FontProperties(family=fonts(), size=SMALL)
    height = _LINE * SMALL * pixels
    for name, x, y, center, radius in filter(None, itertools.chain.from_iterable(itertools.zip_longest(*labeled))):
        with drawing():
            width = renderer.get_text_width_height_descent(name, font, False)[0] + 3 * pixels
        for distance, (right, up) in _PLACES:
            away = radius + distance * pixels
            shift = np.array([right * (away + width / 2), up * (away + height / 2)])
            (x0, y0), (x1, y1) = center + shift - (width / 2, height / 2), center + shift + (width / 2, height / 2)
            box = (x0, y0, x1, y1)
            if room.is_free(box):
                room.take(box)
                pointer = {"arrowstyle": "-", "color": MUTED, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 2}
                far = {"arrowprops": pointer} if distance > 2 else {}
                add_note(axes, name, (x, y), xytext=tuple(shift / pixels), ha="center", va="center", **far)
                break
        else:
            without_room.append((name, float(x), float(y)))
    return without_room


def list_below(axes: Axes, labels: Sequence[tuple[str, float, float]]) -> None:
    """Write the first word of labels, such as a number, on their points, and the labels themselves below the axes.

    The figure grows by the lines that are needed; what was drawn stays where it is, above them.
    """
    columns = 3
    figure: Any = axes.figure  # no part of another figure
    for name, x, y in labels:
        add_note(axes, name.partition(" ")[0], (x, y), ha="center", va="center", fontsize=SMALL - 1)
    width, before = figure.get_size_inches()
    line = _LINE * SMALL / 72
    lines = -(-len(labels) // columns)
    added = line * (lines + 1)
    height = before + added
    place = axes.get_position(original=False)
    figure.set_size_inches(width, height)
    axes.set_position((place.x0, (place.y0 * before + added) / height, place.width, place.height * before / height))
    for text in figure.texts:  # the title
        text.set_y((text.get_position()[1] * before + added) / height)
    for number, (name, _, _) in enumerate(sorted(labels, key=_number)):
        column, row = divmod(number, lines)
        where = 0.02 + column / columns, (added - line * (row + 1)) / height
        plain: dict[str, Any] = {"family": fonts(), "parse_math": False, "fontsize": SMALL, "color": INK}
        figure.text(*where, name, ha="left", va="bottom", **plain)


def _number(label: tuple[str, float, float]) -> tuple[int, str]:
    """Labels in the order of the numbers they begin with."""
    first = label[0].partition(" ")[0]
    return (int(first) if first.isdecimal() else 0, label[0])


class _Room:
    """Which parts of a frame are taken, as a bit map."""

    def __init__(self, width: float, height: float) -> None:
        self._frame = width, height
        self._taken = np.zeros((int(width / _CELL) + 1, int(height / _CELL) + 1), bool)

    def _part(self, box: tuple[float, float, float, float]) -> NDArray[np.bool_]:
        left, low, right, high = (max(0, int(edge / _CELL)) for edge in box)
        return self._taken[left : right + 1, low : high + 1]

    def is_free(self, box: tuple[float, float, float, float]) -> bool:
        """Is the box inside the frame, and nothing in it?"""
        inside = box[0] >= 0 and box[1] >= 0 and box[2] <= self._frame[0] and box[3] <= self._frame[1]
        return inside and not self._part(box).any()

    def take(self, box: tuple[float, float, float, float]) -> None:
        """Keep others out of the box."""
        self._part(box)[...] = True
