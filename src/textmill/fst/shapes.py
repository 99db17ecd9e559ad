"""The shapes of a picture of a machine, as SVG: states, lines with tips, loops, labels.

A state is a circle, or a box with round ends if its name is long. A line leaves it in the direction of where it goes,
passes every layer straight (layout.py), and turns between layers in cubic curves. Colors are those of the text around
the picture (currentColor), and no shape has an id, so that pictures can stand together in one page.
"""

from __future__ import annotations

import html
import math
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from textmill.fst.layout import Pass

__all__ = ["FONT", "LINE", "LOOP", "RADIUS", "End", "Pen", "width_of"]

RADIUS, FONT, LINE = 17.0, 13, 15.0  # of a state; of letters; between lines of text
LOOP = 30.0  # how far a loop stands out


class End(NamedTuple):
    """A state where a line begins or ends: its middle and half its extents."""

    along: float
    across: float
    half_along: float
    half_across: float


class Pen:
    """Writes shapes at places along and across the layers, which follow one another to the right or downwards.

    >>> Pen(False, 0.0, 0.0).at(1.0, 2.0), Pen(True, 0.0, 0.0).at(1.0, 2.0)
    ('1 2', '2 1')
    """

    def __init__(self, vertical: bool, shift_along: float, shift_across: float) -> None:
        self.vertical = vertical
        self.shift = (shift_along, shift_across)

    def at(self, along: float, across: float) -> str:
        """A point."""
        a, c = along + self.shift[0], across + self.shift[1]
        return f"{_number(c)} {_number(a)}" if self.vertical else f"{_number(a)} {_number(c)}"

    def text(self, along: float, across: float, text: str, anchor: str) -> str:
        """A text that begins at a point or has its middle there."""
        x, y = self.at(along, across).split()
        return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{html.escape(text)}</text>'

    def beside(self, along: float, across: float, text: str) -> str:
        """The label of a line: above it, or to the right of one that goes down."""
        if self.vertical:
            return self.text(along + 4.5, across + 6, text, "start")
        return self.text(along, across - 5, text, "middle")

    def state(self, along: float, across: float, name: str, half: float, *, start: bool, final: bool) -> str:
        """A state, half of whose width is given."""
        x, y = (float(value) for value in self.at(along, across).split())
        stroke = "2.6" if start else "1.2"

        def outline(inset: float, width: str) -> str:
            w, r = half - inset, RADIUS - inset
            shape = f'x="{_number(x - w)}" y="{_number(y - r)}" width="{_number(2 * w)}" height="{_number(2 * r)}"'
            return f'<rect {shape} rx="{_number(r)}" fill="none" stroke="currentColor" stroke-width="{width}"/>'

        rings = outline(0, stroke) + (outline(4, "1.2") if final else "")
        place = f'x="{_number(x)}" y="{_number(y + 4.5)}" text-anchor="middle"'
        said = f"state {name}" + (", start" if start else "") + (", final" if final else "")
        return f"<g><title>{html.escape(said)}</title>{rings}<text {place}>{html.escape(name)}</text></g>"

    def edge(self, source: End, target: End, route: list[Pass]) -> str:
        """A line through its passes, and its tip."""
        ahead = 1.0 if target.along > source.along else -1.0
        begin, out = _leave(source, route[0].begin, route[0].across, ahead)
        end, back = _leave(target, route[-1].end, route[-1].across, -ahead)
        base = (end[0] + 8 * back[0], end[1] + 8 * back[1])
        path = [f"M{self.at(*begin)}"]
        here, direction = begin, out
        for entry, leaving, across in route:
            path.append(self._curve(here, direction, (entry, across), (-ahead, 0.0)))
            if leaving != entry:
                path.append(f"L{self.at(leaving, across)}")
            here, direction = (leaving, across), (ahead, 0.0)
        path.append(self._curve(here, direction, base, back))
        return self._stroke("".join(path)) + self._tip(end, back)

    def loop(self, along: float, across: float, half: float, labels: Sequence[str]) -> str:
        """A loop at a state with its labels, one below the other."""
        side = 1.0 if self.vertical else -1.0
        rim = across + side * (half if self.vertical else RADIUS)
        wide = 7.0
        begin, end = (along - wide, rim - side * 1.5), (along + wide, rim - side * 1.5)
        back = _unit(0.45, side)
        base = (end[0] + 8 * back[0], end[1] + 8 * back[1])
        high = rim + side * (LOOP + 4)
        path = f"M{self.at(*begin)}C{self.at(along - 20, high)} {self.at(along + 24, high)} {self.at(*base)}"
        texts = []
        for i, label in enumerate(labels):
            if self.vertical:
                down = (i - (len(labels) - 1) / 2) * LINE
                texts.append(self.text(along + down + 4.5, rim + LOOP + 1, label, "start"))
            else:
                up = (len(labels) - 1 - i) * LINE
                texts.append(self.text(along, rim - LOOP + 1 - up, label, "middle"))
        return self._stroke(path) + self._tip(end, back) + "".join(texts)

    def _curve(
        self, begin: tuple[float, float], out: tuple[float, float], end: tuple[float, float], back: tuple[float, float]
    ) -> str:
        """A curve that leaves `begin` in direction `out` and reaches `end` from direction `back`."""
        if abs(begin[1] - end[1]) < 0.05 and abs(out[1]) < 0.001 and abs(back[1]) < 0.001:
            return f"L{self.at(*end)}"
        reach = 0.5 * abs(end[0] - begin[0])
        one = (begin[0] + reach * out[0], begin[1] + reach * out[1])
        two = (end[0] + reach * back[0], end[1] + reach * back[1])
        return f"C{self.at(*one)} {self.at(*two)} {self.at(*end)}"

    @staticmethod
    def _stroke(path: str) -> str:
        return f'<path d="{path}" fill="none" stroke="currentColor" stroke-width="1.2"/>'

    def _tip(self, end: tuple[float, float], back: tuple[float, float]) -> str:
        """The head of an arrow at `end`, seen from direction `back`."""
        (a, c), (u, v) = end, back
        left = (a + 9 * u - 3.6 * v, c + 9 * v + 3.6 * u)
        right = (a + 9 * u + 3.6 * v, c + 9 * v - 3.6 * u)
        return f'<path d="M{self.at(a, c)}L{self.at(*left)} {self.at(*right)}z"/>'


def _leave(state: End, along: float, across: float, ahead: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Where a line leaves a state for a point, and in which direction."""
    angle = math.atan2(across - state.across, max(abs(along - state.along), 1.0))
    angle = max(-1.0, min(1.0, 0.75 * angle))
    u, v = math.cos(angle), math.sin(angle)
    flat_along, flat_across = state.half_along - RADIUS, state.half_across - RADIUS
    point = (
        state.along + ahead * (flat_along + RADIUS * u),
        state.across + flat_across * max(-1.0, min(1.0, 1.5 * v)) + RADIUS * v,
    )
    return point, (ahead * u, v)


def _unit(u: float, v: float) -> tuple[float, float]:
    size = math.hypot(u, v)
    return u / size, v / size


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0") if round(value, 1) else "0"


def width_of(text: str) -> float:
    """About how wide a text is.

    >>> width_of("i") < width_of("m") < width_of("\N{CJK UNIFIED IDEOGRAPH-4E00}")
    True
    """
    return sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return float(FONT)
    if letter in "ijlt.,:;'|!/()[] ":
        return 0.36 * FONT
    return (0.88 if letter in "mwMW@%+<>" else 0.62) * FONT
