"""Pictures of machines: the DOT language of Graphviz, and SVG by a small layered layout of our own.

    layer of a state     length of the shortest path from the start
    order in a layer     by the mean place of the neighbours in the layer before, swept forth and back (Sugiyama 1981)

Nothing but this module is needed for SVG; notebooks show it for any machine. For pictures of hundreds of states write
DOT and use Graphviz. O(sweeps x arcs log states).
"""

from __future__ import annotations

import html
from collections import defaultdict

from textmill.errors import DataError
from textmill.fst.machine import Arc, Fst
from textmill.fst.symbols import SymbolTable

__all__ = ["to_dot", "to_svg"]

_MOST_DRAWN = 400
_STEP_X, _STEP_Y, _RADIUS = 130, 80, 18


def to_dot(
    fst: Fst, *, title: str = "", acceptor: bool | None = None, portrait: bool = False, fontsize: int = 14
) -> str:
    """The machine in the DOT language; labels with the symbols of its tables.

    >>> from textmill.fst.strings import accep
    >>> print(to_dot(accep("a")).splitlines()[0])
    digraph FST {
    """
    single = fst.has("acceptor") if acceptor is None else acceptor
    direction = "TB" if portrait else "LR"
    lines = ["digraph FST {", f"rankdir = {direction};", f'label = "{_quoted(title)}";', "center = 1;"]
    for state in range(fst.num_states):
        shape = "doublecircle" if fst.is_final(state) else "circle"
        style = "bold" if state == fst.start else "solid"
        name = _quoted(_state_name(fst, state))
        lines.append(f'{state} [label = "{name}", shape = {shape}, style = {style}, fontsize = {fontsize}]')
        for arc in fst.arcs(state):
            label = _quoted(_arc_name(fst, arc, single))
            lines.append(f'\t{state} -> {arc.nextstate} [label = "{label}", fontsize = {fontsize}];')
    return "\n".join([*lines, "}", ""])


def to_svg(fst: Fst, *, acceptor: bool | None = None) -> str:
    """The machine as SVG; machines of more than 400 states are an error, draw those with Graphviz.

    >>> from textmill.fst.strings import accep
    >>> to_svg(accep("a")).startswith("<svg")
    True
    """
    if fst.num_states > _MOST_DRAWN:
        raise DataError(
            f"a picture of {fst.num_states} states cannot be read; prune the machine, or write DOT with to_dot"
        )
    single = fst.has("acceptor") if acceptor is None else acceptor
    place = _layout(fst)
    width = max((x for x, _ in place.values()), default=0) + 2 * _RADIUS + 40
    height = max((y for _, y in place.values()), default=0) + 2 * _RADIUS + 60
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L10 5L0 10z"/></marker></defs>',
    ]
    for state in range(fst.num_states):
        bundles: dict[int, list[str]] = defaultdict(list)
        for arc in fst.arcs(state):
            bundles[arc.nextstate].append(_arc_name(fst, arc, single))
        for target, names in bundles.items():
            parts.append(_edge(place[state], place[target], names, state == target))
    for state, (x, y) in place.items():
        stroke = 2.5 if state == fst.start else 1
        parts.append(f'<circle cx="{x}" cy="{y}" r="{_RADIUS}" fill="white" stroke="black" stroke-width="{stroke}"/>')
        if fst.is_final(state):
            parts.append(f'<circle cx="{x}" cy="{y}" r="{_RADIUS - 3}" fill="none" stroke="black"/>')
        name = html.escape(_state_name(fst, state))
        parts.append(f'<text x="{x}" y="{y + 4}" text-anchor="middle">{name}</text>')
    return "\n".join([*parts, "</svg>"])


def _layout(fst: Fst) -> dict[int, tuple[int, int]]:
    """Where the states stand."""
    layer: dict[int, int] = {}
    queue = [fst.start] if fst.start >= 0 else []
    layer.update(dict.fromkeys(queue, 0))
    targets = {state: sorted({arc.nextstate for arc in fst.arcs(state)}) for state in range(fst.num_states)}
    for state in queue:
        for target in targets[state]:
            if target not in layer:
                layer[target] = layer[state] + 1
                queue.append(target)
    beyond = max(layer.values(), default=-1) + 1
    for state in range(fst.num_states):
        layer.setdefault(state, beyond)  # what cannot be reached stands behind the rest
    rows: dict[int, list[int]] = defaultdict(list)
    for state in sorted(layer):
        rows[layer[state]].append(state)
    neighbours: dict[int, list[int]] = defaultdict(list)
    for state, reached in targets.items():
        for target in reached:
            neighbours[state].append(target)
            neighbours[target].append(state)
    order = {state: i for row in rows.values() for i, state in enumerate(row)}
    for sweep in range(8):
        for depth in sorted(rows, reverse=sweep % 2 == 1):
            wanted = depth - 1 if sweep % 2 == 0 else depth + 1

            def mean(state: int, wanted: int = wanted) -> float:
                near = [order[other] for other in neighbours[state] if layer[other] == wanted]
                return sum(near) / len(near) if near else order[state]

            rows[depth].sort(key=lambda state: (mean(state), order[state]))
            order.update({state: i for i, state in enumerate(rows[depth])})
    tallest = max((len(row) for row in rows.values()), default=0)
    return {
        state: (
            40 + _RADIUS + depth * _STEP_X,
            40 + _RADIUS + int((i + (tallest - len(row)) / 2) * _STEP_Y),
        )
        for depth, row in sorted(rows.items())
        for i, state in enumerate(row)
    }


def _edge(source: tuple[int, int], target: tuple[int, int], names: list[str], loop: bool) -> str:
    """Arcs between two states: one line with all labels."""
    (x1, y1), (x2, y2) = source, target
    text = html.escape(", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else ""))
    if loop:
        path = f"M{x1 - 8} {y1 - 16}C{x1 - 30} {y1 - 52} {x1 + 30} {y1 - 52} {x1 + 8} {y1 - 16}"
        return _line(path, x1, y1 - 46, text)
    length = max(((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5, 1.0)
    ux, uy = (x2 - x1) / length, (y2 - y1) / length
    bend = 14 if length < 1.5 * _STEP_X and x2 > x1 else 34  # arcs over several layers and back pass the states between
    middle_x, middle_y = (x1 + x2) / 2 + uy * bend, (y1 + y2) / 2 - ux * bend
    begin = f"{x1 + ux * _RADIUS:.0f} {y1 + uy * _RADIUS:.0f}"
    end = f"{x2 - ux * _RADIUS:.0f} {y2 - uy * _RADIUS:.0f}"
    label_x, label_y = (x1 + x2) / 2 + uy * bend * 0.6, (y1 + y2) / 2 - ux * bend * 0.6 - 4
    return _line(f"M{begin}Q{middle_x:.0f} {middle_y:.0f} {end}", label_x, label_y, text)


def _line(path: str, x: float, y: float, text: str) -> str:
    return (
        f'<path d="{path}" fill="none" stroke="black" marker-end="url(#tip)"/>'
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="middle">{text}</text>'
    )


def _state_name(fst: Fst, state: int) -> str:
    if not fst.is_final(state) or fst.final(state) == fst.semiring.one:
        return str(state)
    return f"{state}/{_weight_name(fst, fst.final(state))}"


def _arc_name(fst: Fst, arc: Arc, single: bool) -> str:
    name = _label_name(arc.ilabel, fst.input_symbols)
    if not single:
        name += ":" + _label_name(arc.olabel, fst.output_symbols)
    return name if arc.weight == fst.semiring.one else f"{name}/{_weight_name(fst, arc.weight)}"


def _weight_name(fst: Fst, weight: object) -> str:
    return f"{weight:.4g}" if isinstance(weight, float) else fst.semiring.format(weight)


def _label_name(label: int, symbols: SymbolTable | None) -> str:
    symbol = None if symbols is None else symbols._native.symbol(label)
    if symbol is not None:
        return str(symbol)
    return "ε" if label == 0 else str(label)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
