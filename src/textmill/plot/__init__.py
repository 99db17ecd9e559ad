"""Figures from arrays: lines, bars, scatter, heat map, histogram, trees; PNG, SVG and PDF files, SVG for pages.

    linear   x          log   log10 x, 0 < x          probit   z with x = Phi(z), 0 < x < 1: the axes of a DET curve

Each function takes arrays under names and returns a Matplotlib `Figure` of its own: no pyplot, no window, nothing
shared. Names, labels and titles are plain text ('$' is a dollar). Series differ in color (told apart by the
color-blind), in dash and in marker (told apart in print). What stands beside its line needs no legend, and one series
has none.

NaN means "not known": a gap in a line, a point, bar or cell that is not there. So is, in lines and scatter, what an
axis has no place for: infinity, 0 on a log axis, 0 and 1 on a probit axis. A series of which nothing is left is a
`DataError`; so are NaN in a histogram, and infinity in histograms, bars and heat maps.

Files are the same bytes for the same figure and the same Matplotlib. Cost: that of Matplotlib, some tenths of a second.
References: Okabe & Ito, Color universal design (2008); Martin et al., The DET curve (1997); Tufte, The visual display
of quantitative information (1983).
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.plot.branching import branches
    from textmill.plot.charts import bars, histogram, lines, scatter
    from textmill.plot.heat import heat_map
    from textmill.plot.output import check_figure_path, save, to_svg
    from textmill.plot.style import COLORS

__all__ = [
    "COLORS",
    "bars",
    "branches",
    "check_figure_path",
    "heat_map",
    "histogram",
    "lines",
    "save",
    "scatter",
    "to_svg",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "style": "COLORS",
        "branching": "branches",
        "charts": "bars histogram lines scatter",
        "heat": "heat_map",
        "output": "check_figure_path save to_svg",
    },
)
