"""Trees from left to right: the root at the left, every leaf on a line of its own. What all figures share is said in
__init__.py.

    y(leaf) = its number from the top,  y(node) = half-way between its first and its last child,  x = depth
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from textmill.errors import DataError
from textmill.plot.axes import finish, new_axes, strip_frame
from textmill.plot.inputs import cut
from textmill.plot.style import COLORS, INK, MUTED, PAPER, SMALL, fonts
from textmill.readable import one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["branches"]

MOST_NODES = 400
CHARACTER = 0.075  # inches


def branches(parents: Sequence[int], texts: Sequence[str], edges: Sequence[str], *, title: str | None = None) -> Figure:
    """A tree of texts: node i hangs below node `parents[i]`, which comes before it, -1 for the root.

    `edges[i]` is written on the line that leads to node i.

    >>> figure = branches([-1, 0, 0], ["letter?", "k", "s"], ["", "= c", "= s"])
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['letter?', 'k', '= c', 's', '= s']
    """
    if not texts or not len(parents) == len(texts) == len(edges) or parents[0] != -1:
        raise DataError("a tree needs a root, -1 as its parent, and a text and an edge for each node")
    if any(not 0 <= parent < i for i, parent in enumerate(parents) if i):
        raise DataError("a node must come after its parent")
    if len(texts) > MOST_NODES:
        raise DataError(f"{len(texts)} nodes are too many for a picture; draw at most {MOST_NODES}")
    children: list[list[int]] = [[] for _ in texts]
    depth = [0] * len(texts)
    for i, parent in enumerate(parents):
        if i:
            children[parent].append(i)
            depth[i] = depth[parent] + 1
    y = _heights(children)
    words = [cut(one_line(text)) for text in texts]
    signs = [cut(one_line(edge)) for edge in edges]
    widths = [0.0] * (max(depth) + 1)  # inches of each level: the edge that leads to it and its own texts
    for i, level in enumerate(depth):
        widths[level] = max(widths[level], CHARACTER * (len(words[i]) + len(signs[i])) + 0.5)
    x = [sum(widths[: level + 1]) for level in depth]
    rows = max(y) + 1
    figure, axes = new_axes(sum(widths) + 0.4, 0.3 * rows + (0.6 if title else 0.3), "", "", title)
    strip_frame(axes)
    axes.set(xticks=[], yticks=[], xlim=(0.0, sum(widths) + 0.2), ylim=(rows - 0.4, -0.6))
    plain: dict[str, Any] = {"family": fonts(), "parse_math": False, "va": "center", "fontsize": SMALL}
    for i, parent in enumerate(parents):
        begin = x[i] - CHARACTER * (len(words[i]) + len(signs[i])) - 0.15
        if i:
            axes.plot([x[parent] + 0.06, begin, x[i] - CHARACTER * len(words[i])], [y[parent], y[i], y[i]],
                      color=MUTED, linewidth=0.7, zorder=1)  # fmt: skip
        box = {"boxstyle": "round,pad=0.25", "facecolor": PAPER, "edgecolor": COLORS[1 if children[i] else 0]}
        axes.text(x[i], y[i], words[i], color=INK, ha="right", zorder=2, bbox={**box, "linewidth": 0.8}, **plain)
        if signs[i]:
            beside = x[i] - CHARACTER * len(words[i]) - 0.14
            axes.text(beside, y[i] - 0.24, signs[i], color=MUTED, ha="right", zorder=2, **plain)
    return finish(figure)


def _heights(children: list[list[int]]) -> list[float]:
    """Leaves one below the other, parents in the middle of their children; without recursion."""
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        stack += children[node][::-1]
    y = [0.0] * len(children)
    line = 0.0
    for node in order:
        if not children[node]:
            y[node] = line
            line += 1.0
    for node in reversed(order):
        if children[node]:
            y[node] = (y[children[node][0]] + y[children[node][-1]]) / 2.0
    return y
