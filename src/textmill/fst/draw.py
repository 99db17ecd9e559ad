"""Pictures of machines: SVG by a layout of our own, and the DOT language of Graphviz.

    to_svg    states from left to right by layers, as few crossings as can be found, room for every label (layout.py)
    to_dot    the same text as OpenFst's fstdraw
    draw      a file: .svg, .dot and .gv are written here, .pdf, .png, ... by the program dot if it is installed

The start is drawn bold, final states with a double line. Up to three arcs between two states have lines of their own,
more share one whose label is cut ("a, b, c +23"); pointing at it shows all. Lines and texts have the color of the text
around the picture; a file by itself is dark on light, or light on dark where the reader's system is set so.
"""

from __future__ import annotations

import html
import math
import os
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from textmill.errors import DataError
from textmill.files import replacing
from textmill.fst.layout import Box, layered
from textmill.fst.machine import Arc, Fst
from textmill.fst.semirings import Weight
from textmill.fst.shapes import FONT, LINE, LOOP, RADIUS, End, Pen, width_of
from textmill.fst.symbols import SymbolTable

__all__ = ["draw", "to_dot", "to_svg"]

_MOST_STATES, _MOST_ARCS, _MOST_SHOWN = 400, 20_000, 150
_DOT_SECONDS = 600.0  # for Graphviz, whose layouts of large machines may take hours
_MARGIN = 12.0
_SEPARATE, _WIDEST = 3, 18  # arcs with lines of their own, characters of a label that is cut
_PAGE = "<style>svg:root{color:#1f2328}@media(prefers-color-scheme:dark){svg:root{color:#e6edf3}}</style>"
_NOTEBOOK = "<style>svg:root{color:#1f2328;background:#fff}</style>"


class _Style(NamedTuple):
    """How weights and labels become text."""

    acceptor: bool
    input: SymbolTable | None
    output: SymbolTable | None
    states: SymbolTable | None
    precision: int
    float_format: str
    show_weight_one: bool
    epsilon: str = "0"
    letters: bool = False


def to_dot(
    fst: Fst,
    *,
    title: str = "",
    acceptor: bool = False,
    numeric: bool = False,
    input_symbols: SymbolTable | None = None,
    output_symbols: SymbolTable | None = None,
    state_symbols: SymbolTable | None = None,
    portrait: bool = False,
    vertical: bool = False,
    width: float = 8.5,
    height: float = 11.0,
    ranksep: float = 0.4,
    nodesep: float = 0.25,
    fontsize: int = 14,
    precision: int = 5,
    float_format: str = "g",
    show_weight_one: bool = False,
) -> str:
    """The machine in the DOT language, byte for byte as fstdraw writes it; the options are those of that program.

    `portrait` leaves the page upright, `vertical` draws from bottom to top, sizes are inches. Labels have the symbols
    of the tables that are given, else of the machine's own, unless `numeric`.

    >>> from textmill.fst.formats import compile_text
    >>> print(to_dot(compile_text("0 1 1 2 .5\\n1"), portrait=True).splitlines()[8].strip())
    0 -> 1 [label = "1:2/0.5", fontsize = 14];
    """
    style = _Style(
        acceptor,
        None if numeric else fst.input_symbols if input_symbols is None else input_symbols,
        None if numeric else fst.output_symbols if output_symbols is None else output_symbols,
        state_symbols,
        precision,
        float_format,
        show_weight_one,
    )
    _check(style)
    if fst.start < 0:
        return "digraph FST {\n}\n"
    wide, high, ranks, nodes = (f"{inches:.{precision}{float_format}}" for inches in (width, height, ranksep, nodesep))
    lines = ["digraph FST {", f"rankdir = {'BT' if vertical else 'LR'};", f'size = "{wide},{high}";']
    lines += [f'label = "{_quoted(title)}";'] if title else []
    lines += ["center = 1;", f"orientation = {'Portrait' if portrait else 'Landscape'};"]
    lines += [f'ranksep = "{ranks}";', f'nodesep = "{nodes}";']
    for state in (fst.start, *(state for state in range(fst.num_states) if state != fst.start)):
        shape = "doublecircle" if fst.is_final(state) else "circle"
        bold = "bold" if state == fst.start else "solid"
        name = _quoted(_state_name(fst, state, style))
        lines.append(f'{state} [label = "{name}", shape = {shape}, style = {bold}, fontsize = {fontsize}]')
        for arc in fst.arcs(state):
            name = _quoted(_arc_name(fst, arc, style))
            lines.append(f'\t{state} -> {arc.nextstate} [label = "{name}", fontsize = {fontsize}];')
    return "\n".join([*lines, "}", ""])


def to_svg(
    fst: Fst,
    *,
    title: str = "",
    acceptor: bool | None = None,
    numeric: bool = False,
    input_symbols: SymbolTable | None = None,
    output_symbols: SymbolTable | None = None,
    state_symbols: SymbolTable | None = None,
    token_type: str | None = None,
    vertical: bool = False,
    precision: int = 5,
    float_format: str = "g",
    show_weight_one: bool = False,
    standalone: bool = False,
) -> str:
    """The machine as SVG; machines of more than 400 states are an error, draw those with Graphviz.

    `vertical` draws from top to bottom. Of an acceptor each label is shown once unless `acceptor` is False. Labels have
    the symbols of the tables that are given, else of the machine's own, unless `numeric`; without a table they are
    letters if `token_type` is "utf8" or "byte", else numbers. A picture has the colors of the text around it; one that
    stands alone in a file needs `standalone`.

    >>> from textmill.fst.strings import accep
    >>> ">a</text>" in to_svg(accep("a"), token_type="utf8")
    True
    """
    if token_type not in (None, "utf8", "byte", "symbol"):
        raise DataError(f"token_type is 'utf8', 'byte' or 'symbol', not {token_type!r}")
    style = _Style(
        fst.has("acceptor") if acceptor is None else acceptor,
        None if numeric else fst.input_symbols if input_symbols is None else input_symbols,
        None if numeric else fst.output_symbols if output_symbols is None else output_symbols,
        state_symbols,
        precision,
        float_format,
        show_weight_one,
        "ε",
        token_type in ("utf8", "byte") and not numeric,
    )
    _check(style)
    return _svg(fst, style, title, vertical, _PAGE if standalone else "")


def draw(fst: Fst, path: str | os.PathLike[str], **options: object) -> None:
    """Write a picture; its suffix says what: .svg, .dot or .gv, or what Graphviz makes of that (.pdf, .png, ...).

    The options of .svg are those of `to_svg`, of all others those of `to_dot`.

    >>> from textmill.fst.strings import accep
    >>> draw(accep("ab"), "machine.svg"); draw(accep("ab"), "machine.dot", portrait=True)
    """
    kind = Path(path).suffix.lower()
    if not kind[1:]:
        raise DataError(
            f"the name {os.fspath(path)!r} does not say what to draw; let it end in .svg, .dot, .pdf or .png"
        )
    picture: Callable[..., str] = partial(to_svg, standalone=True) if kind == ".svg" else to_dot
    content = picture(fst, **options).encode()
    if kind not in (".svg", ".dot", ".gv"):
        program = shutil.which("dot")
        if program is None:
            raise DataError(f"a {kind} file is drawn by the program dot; install Graphviz, or let the name end in .svg")
        try:
            done = subprocess.run(
                [program, f"-T{kind[1:]}"], input=content, capture_output=True, check=False, timeout=_DOT_SECONDS
            )
        except subprocess.TimeoutExpired as error:
            slow = f"dot has not drawn it in {_DOT_SECONDS:.0f} s; draw a smaller machine, or let the name end in .dot"
            raise DataError(slow, source=os.fspath(path)) from error
        if done.returncode:
            reasons = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
            raise DataError(f"dot could not draw a {kind} file: {reasons[0]}", source=os.fspath(path))
        content = done.stdout
    with replacing(path) as file:
        file.write(content)


def _preview(fst: Fst, style: str = "") -> str:
    """What a notebook shows: the picture, or a note that there is none."""
    try:
        if fst.num_states > _MOST_SHOWN or fst.num_arcs > _MOST_ARCS:
            return _note(f"{fst!r}: too large for a picture", style)
        drawn = to_svg(fst)
    except DataError as fault:
        return _note(f"{type(fst).__name__}: {fault}", style)
    return drawn.replace("<title>", f"{style}<title>", 1)


def _note(text: str, style: str = "") -> str:
    shown = html.escape(text)
    width = width_of(text) + 2 * _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="30" viewBox="0 0 {width:.0f} 30" '
        f'font-family="sans-serif" font-size="{FONT}" fill="currentColor">{style}<title>{shown}</title>'
        f'<text x="{_MARGIN:.0f}" y="20">{shown}</text></svg>'
    )


# ---- the picture


class _Line(NamedTuple):
    """Arcs that share a line: their label, and all of them."""

    source: int
    target: int
    text: str
    full: str


def _svg(fst: Fst, style: _Style, title: str, vertical: bool, colors: str) -> str:
    if fst.num_states > _MOST_STATES or fst.num_arcs > _MOST_ARCS:
        raise DataError(
            f"a picture of {fst.num_states} states and {fst.num_arcs} arcs cannot be read; prune the machine, or write "
            "DOT with to_dot"
        )
    if not fst.num_states:
        return _note(f"{fst!r}", colors)
    lines, loops = _lines(fst, style)
    names = [_state_name(fst, state, style) for state in range(fst.num_states)]
    halves = [max(RADIUS, width_of(name) / 2 + 9) for name in names]
    boxes = [_state_box(halves[state], loops.get(state, []), vertical) for state in range(fst.num_states)]
    drawing = layered(
        boxes,
        [(line.source, line.target) for line in lines],
        [_label_box(line.text, vertical) for line in lines],
        root=max(fst.start, 0),
    )
    top = _MARGIN + (24 if title else 0)
    pen = Pen(vertical, *((_MARGIN, top) if not vertical else (top, _MARGIN)))
    parts = []
    ends = [
        End(along, across, *((RADIUS, half) if vertical else (half, RADIUS)))
        for (along, across), half in zip(drawing.nodes, halves, strict=True)
    ]
    for line, route, (along, across) in zip(lines, drawing.routes, drawing.labels, strict=True):
        stroke = pen.edge(ends[line.source], ends[line.target], route) + pen.beside(along, across, line.text)
        parts.append(f"<g><title>{html.escape(line.full)}</title>{stroke}</g>")
    for state, ((along, across), name, half) in enumerate(zip(drawing.nodes, names, halves, strict=True)):
        if state in loops:
            full = html.escape("; ".join(line.full for line in loops[state]))
            drawn = pen.loop(along, across, half, [line.text for line in loops[state]])
            parts.append(f"<g><title>{full}</title>{drawn}</g>")
        parts.append(pen.state(along, across, name, half, start=state == fst.start, final=fst.is_final(state)))
    width, height = drawing.length, drawing.breadth
    if vertical:
        width, height = height, width
    width, height = math.ceil(max(width, width_of(title)) + 2 * _MARGIN), math.ceil(height + _MARGIN + top)
    head = f'<text x="{_MARGIN:.0f}" y="22" font-weight="bold">{html.escape(title)}</text>' if title else ""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'style="max-width:100%;height:auto" font-family="Helvetica,Arial,sans-serif" font-size="{FONT}" '
            f'fill="currentColor" stroke="none">{colors}<title>{html.escape(title or repr(fst))}</title>',
            *([head] if head else []),
            *parts,
            "</svg>\n",
        ]
    )


def _lines(fst: Fst, style: _Style) -> tuple[list[_Line], dict[int, list[_Line]]]:
    """The lines between states, and the labels of loops."""
    lines: list[_Line] = []
    loops: dict[int, list[_Line]] = {}
    for state in range(fst.num_states):
        bundles: dict[int, list[str]] = defaultdict(list)
        for arc in fst.arcs(state):
            bundles[arc.nextstate].append(_arc_name(fst, arc, style))
        for target, names in bundles.items():
            if len(names) > _SEPARATE:
                drawn = [_Line(state, target, _shortened(names), f"{state} → {target}: {', '.join(names)}")]
            else:
                drawn = [_Line(state, target, name, f"{state} → {target}: {name}") for name in names]
            if target == state:
                loops[state] = drawn
            else:
                lines += drawn
    return lines, loops


def _shortened(names: list[str]) -> str:
    """As many names as there is room for, and how many more there are."""
    shown = names[:1]
    for name in names[1:]:
        if len(", ".join([*shown, name])) > _WIDEST:
            break
        shown.append(name)
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" +{more}" if more else "")


def _state_box(half: float, loops: list[_Line], vertical: bool) -> Box:
    """The room of a state with its loop: above it, or to its right if states follow one another downwards."""
    if not loops:
        return Box(2 * RADIUS, half, half) if vertical else Box(2 * half, RADIUS, RADIUS)
    widest = max(width_of(loop.text) for loop in loops)
    if vertical:
        return Box(max(2 * RADIUS, len(loops) * LINE), half, half + LOOP + widest + 6)
    return Box(max(2 * half, widest), RADIUS + LOOP + len(loops) * LINE, RADIUS)


def _label_box(text: str, vertical: bool) -> Box:
    """The room of a label above its line, or to the right of it."""
    return Box(LINE, 3.0, width_of(text) + 8) if vertical else Box(width_of(text) + 6, LINE + 2, 3.0)


# ---- names


def _check(style: _Style) -> None:
    if style.float_format not in ("e", "f", "g"):
        raise DataError(f"float_format is 'e', 'f' or 'g', not {style.float_format!r}")
    if not 0 <= style.precision <= 100:
        raise DataError(f"precision is a number of digits from 0 to 100, not {style.precision}")


def _state_name(fst: Fst, state: int, style: _Style) -> str:
    symbol = None if style.states is None else style.states._native.symbol(state)
    name = str(state) if symbol is None else str(symbol)
    return name + _weight_name(fst, fst.final(state), style) if fst.is_final(state) else name


def _arc_name(fst: Fst, arc: Arc, style: _Style) -> str:
    name = _label_name(arc.ilabel, style.input, style)
    if not style.acceptor:
        name += ":" + _label_name(arc.olabel, style.output, style)
    return name + _weight_name(fst, arc.weight, style)


def _weight_name(fst: Fst, weight: Weight, style: _Style) -> str:
    """The weight behind its stroke; nothing for one."""
    if weight == fst.semiring.one and not style.show_weight_one:
        return ""
    if isinstance(weight, float) and math.isfinite(weight):
        return f"/{weight:.{style.precision}{style.float_format}}"
    return f"/{fst.semiring.format(weight)}"


def _label_name(label: int, symbols: SymbolTable | None, style: _Style) -> str:
    symbol = None if symbols is None else symbols._native.symbol(label)
    if label == 0 and style.epsilon != "0":
        return style.epsilon
    if symbol is not None:
        return str(symbol)
    if style.letters and symbols is None and label < 0x110000 and chr(label).isprintable():
        return "␣" if label == 32 else chr(label)
    return str(label)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
