"""Axes as all charts have them: scales and their limits, ticks, grid, labels, legend.

    linear   from the least value to the greatest and 4 % more, but not across 0 or 1 for these 4 % alone
    log      the same in log10 x
    probit   the same in the normal deviate z with x = Phi(z), marked in per cent

The label of the y axis stands above it, so that nobody has to turn the head.
"""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from textmill.arrays import Floats
from textmill.numeric import special
from textmill.plot.output import drawing, to_svg
from textmill.plot.style import GRID, INK, LARGE, MEDIUM, MUTED, SMALL, fonts, import_matplotlib
from textmill.readable import numerals, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["add_legend", "add_note", "finish", "lay_out", "new_axes", "set_scale", "strip_frame", "tick", "written"]

_TITLE_CHARACTERS = 10.5  # in an inch
_PER_CENT = (0.01, 0.1, 1, 5, 20, 50, 80, 95, 99, 99.9, 99.99)
_MORE_PER_CENT = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99, 99.8)


def new_axes(width: float, height: float, x_label: str, y_label: str, title: str | None) -> tuple[Figure, Axes]:
    """A figure of this size in inches with empty axes in it."""
    import_matplotlib()
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    label_height = (0.08 if title else 0.2) if y_label else 0.0  # inches; the layout does not count labels above axes
    layout = ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.06, rect=(0, 0, 1, 1 - label_height / height))
    figure: Any = Figure(figsize=(width, height), dpi=100, layout=layout, facecolor="none")
    figure._repr_svg_ = functools.partial(to_svg, figure)  # what notebooks and reports ask a drawing for
    plain: dict[str, Any] = {"family": fonts(), "parse_math": False, "color": INK}
    if title:
        lines = textwrap.wrap(one_line(title), int(width * _TITLE_CHARACTERS))
        figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=LARGE, fontweight="bold", **plain)
    axes = figure.add_subplot(facecolor="none")
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set(color=MUTED, linewidth=0.8)
    axes.grid(visible=True, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    ticks: dict[str, Any] = {"labelsize": SMALL, "labelcolor": MUTED, "labelfontfamily": fonts(), "color": MUTED}
    axes.tick_params(direction="out", length=3, width=0.8, **ticks)
    axes.set_xlabel(one_line(x_label), fontsize=MEDIUM, **plain)
    if y_label:
        axes.set_ylabel(one_line(y_label), fontsize=MEDIUM, rotation=0, ha="left", va="bottom", **plain)
        axes.yaxis.set_label_coords(0, 1.02)
    return figure, axes


def strip_frame(axes: Axes) -> None:
    """Take away grid, frame and tick marks, for charts whose marks carry their own numbers."""
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)


def set_scale(axes: Axes, which: str, scale: str, values: Floats, *, pad: tuple[float, float] = (0.04, 0.04)) -> None:
    """Give the axis "x" or "y" its scale, limits that hold the values, and ticks at round numbers."""
    from matplotlib import ticker

    low, high = _limits(scale, values[np.isfinite(values)], pad)
    axis: Any = axes.xaxis if which == "x" else axes.yaxis
    axes.set(**{f"{which}lim": (low, high)})  # before the scale, which has no place for the 0 and 1 of empty axes
    if scale == "log":
        axes.set(**{f"{which}scale": "log"})
        axis.set_major_locator(ticker.LogLocator(subs=(1,) if high / low > 200 else (1, 2, 5), numticks=10))
    elif scale == "probit":
        getattr(axes, f"set_{which}scale")("function", functions=(special.ndtri, special.ndtr))
        wide = special.ndtri(high) - special.ndtri(low) > 3.5
        axis.set_major_locator(ticker.FixedLocator([share / 100 for share in (_PER_CENT if wide else _MORE_PER_CENT)]))
    else:
        steps = [1, 2, 2.5, 5, 10]
        axis.set_major_locator(ticker.MaxNLocator(6, steps=steps, integer=_are_whole(values), min_n_ticks=1))
    axis.set_major_formatter(ticker.FuncFormatter(_per_cent if scale == "probit" else tick))
    axis.set_minor_locator(ticker.NullLocator())


def _limits(scale: str, values: Floats, pad: tuple[float, float]) -> tuple[float, float]:
    if scale == "log":
        low, high = _padded(np.log10(values), pad, 0.3)
        return 10**low, 10**high
    if scale == "probit":
        low, high = special.ndtr(_padded(special.ndtri(values), pad, 0.3))
        return max(float(low), 1e-15), min(float(high), 1 - 1e-15)
    least, greatest = float(values.min()), float(values.max())
    low, high = _padded(values, pad, 0.1 * abs(greatest) or 0.1)
    if low < 0 <= least and greatest > 0:
        low = 0.0
    if least < 0 and greatest <= 0 < high:
        high = 0.0
    if least >= 0 and greatest <= 1 < high:
        high = 1.0
    return low, high


def _padded(values: Floats, pad: tuple[float, float], alone: float) -> tuple[float, float]:
    """Least and greatest value with some room, `alone` if they are one."""
    low, high = float(values.min()), float(values.max())
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        return low - alone, high + alone
    return low - pad[0] * (high - low), high + pad[1] * (high - low)


def _are_whole(values: Floats) -> bool:
    return bool(np.all((values == np.rint(values)) | np.isnan(values)))


def tick(value: float, _: object = None) -> str:
    """A round number as it stands at a tick.

    >>> tick(20_000), tick(0.1 + 0.2), tick(-2.5)
    ('20,000', '0.3', '−2.5')
    """
    return f"{value:,.10g}".replace("-", "−")


def _per_cent(value: float, _: object = None) -> str:
    return f"{100 * value:.4g} %"


def written(values: Floats) -> list[str]:
    """Numbers to be read beside their marks.

    >>> written(np.array([0.25, -1.5]))
    ['0.25', '−1.50']
    """
    return [number.replace("-", "−") for number in numerals(values.tolist(), digits=3)]


def add_note(axes: Axes, text: str, point: tuple[float, float], **look: Any) -> Any:
    """Plain text at a point, `xytext` points away from it, inside the axes or not."""
    plain: dict[str, Any] = {"family": fonts(), "parse_math": False, "fontsize": SMALL, "color": INK, "zorder": 5}
    return axes.annotate(
        text, point, textcoords="offset points", annotation_clip=False, **{"xytext": (0, 0)} | plain | look
    )


def add_legend(axes: Axes, entries: Sequence[tuple[Any, str]]) -> None:
    """A legend on the right of the axes; an entry is something drawn and its name."""
    where: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.03), "alignment": "left"}
    look: dict[str, Any] = {"frameon": False, "handlelength": 2.2, "prop": {"family": fonts(), "size": MEDIUM}}
    legend = axes.legend([drawn for drawn, _ in entries], ["name"] * len(entries), labelcolor=INK, **where, **look)
    for text, (_, name) in zip(legend.get_texts(), entries, strict=True):
        text.set(text=name, parse_math=False)  # as a label, a name that begins with an underscore would be left out


def lay_out(axes: Axes) -> None:
    """Give the axes the place that labels and legends leave, so that data have places in pixels."""
    figure: Any = axes.figure
    with drawing():
        figure.draw_without_rendering()


def finish(figure: Figure) -> Figure:
    """Lay out a last time: later drawings must not move anything, not even by rounding."""
    lay_out(figure.axes[0])
    figure.set_layout_engine("none")
    return figure
