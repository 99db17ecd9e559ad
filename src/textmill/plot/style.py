"""The look of every figure: colors, dashes, markers, fonts and sizes; and the import of Matplotlib.

The first colours of series are those of Okabe & Ito, Color universal design (2008), darker ones first. The others were
chosen one by one, each as far as possible in CIELAB from all before it, as normal eyes and those of dichromats see
them; no two of all are nearer than 15 to any of these eyes. INK, MUTED, GRID and PAPER are used for nothing but text
and frame, so that a page can put its own colors in their place.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from textmill.errors import DataError

__all__ = [
    "DASHED",
    "DOTTED",
    "GRID",
    "INK",
    "LARGE",
    "MEDIUM",
    "MUTED",
    "PAPER",
    "SMALL",
    "Style",
    "fonts",
    "import_matplotlib",
    "look",
]

COLORS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"),
    *("#8800ff", "#cccc77", "#770066", "#bb66ff", "#ee0055", "#884400", "#556677"),
    *("#990044", "#aaddbb", "#00ee44", "#9900cc", "#eebbdd", "#222299", "#443311"),
)
DASHED, DOTTED = (0, (5, 1.5)), (0, (1.2, 1.2))
DASHES: tuple[Any, ...] = ("-", DASHED, DOTTED, (0, (6, 1.5, 1.2, 1.5)), (0, (9, 2.5)), (0, (3, 1, 1, 1)))
MARKERS = ("o", "s", "D", "^", "v", "P")
INK, MUTED, GRID, PAPER = "#1b1f24", "#5f6670", "#d5d8dc", "#fffffe"
SMALL, MEDIUM, LARGE = 8.0, 9.0, 11.0  # points

FONT = "DejaVu Sans"  # comes with Matplotlib
OTHER_FONTS = (  # for scripts it does not have; those that are not installed are left out
    *("Noto Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Thai"),
    *("Noto Sans Devanagari", "Hiragino Sans", "PingFang SC", "Microsoft YaHei", "Segoe UI", "Arial Unicode MS"),
)


class Style(NamedTuple):
    """How one series looks."""

    color: str
    dash: Any
    marker: str


def look(i: int) -> Style:
    """The look of series `i`; no two of the first 120 are the same, and the first 20 differ in color.

    >>> look(0).color, look(20).color, look(0).dash == look(20).dash
    ('#0072b2', '#0072b2', False)
    """
    turn, color = divmod(i, len(COLORS))
    return Style(COLORS[color], DASHES[(color + turn) % len(DASHES)], MARKERS[(color + turn) % len(MARKERS)])


def import_matplotlib() -> Any:
    """Matplotlib, or an error that says how to get it."""
    try:
        import matplotlib
    except ImportError:
        raise DataError("figures need Matplotlib; install it with: pip install 'textmill[plot]'") from None
    return matplotlib


@functools.cache
def fonts() -> list[str]:
    """The families a text is set in, the next one where the first has no such character."""
    from matplotlib.font_manager import fontManager

    installed = set(fontManager.get_font_names())
    return [FONT, *(family for family in OTHER_FONTS if family in installed)]
