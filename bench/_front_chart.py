"""The chart of the front page: two bars per row, as long as the times; the longer one is as wide as there is room."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

IMAGES = Path(__file__).parent.parent / "docs" / "images"


class Colors(NamedTuple):
    """Of a drawing: text, what is less important, our bars and theirs."""

    text: str
    quiet: str
    ours: str
    peer: str


SCHEMES = {
    "light": Colors(text="#1f2328", quiet="#59636e", ours="#00796b", peer="#c4ccd4"),
    "dark": Colors(text="#f0f6fc", quiet="#9198a1", ours="#4db6ac", peer="#3d444d"),
}
WIDTH, BAR, STEP, TOP = 520, 420, 66, 36


def draw(content: dict[str, Any]) -> None:
    """Write both drawings."""
    IMAGES.mkdir(exist_ok=True)
    for scheme, colors in SCHEMES.items():
        (IMAGES / f"speed-{scheme}.svg").write_text(svg(content["rows"], colors), encoding="utf-8")


def svg(rows: list[dict[str, Any]], colors: Colors) -> str:
    """One drawing."""
    height = TOP + STEP * len(rows) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" font-size="15" '
        'font-family="-apple-system, Segoe UI, Helvetica, Arial, sans-serif">',
        "<title>Processor time of textmill and of the tools that people use</title>",
        f'<rect x="0" y="6" width="14" height="14" rx="2" fill="{colors.ours}"/>',
        _text(20, 18, "textmill", colors.text),
        f'<rect x="100" y="6" width="14" height="14" rx="2" fill="{colors.peer}"/>',
        _text(120, 18, "the other tool; shorter is faster", colors.quiet),
    ]
    for number, row in enumerate(rows):
        y = TOP + STEP * number
        longest = max(row["ours"], row["peer"])
        ours, peer = (max(2.0, BAR * row[side] / longest) for side in ("ours", "peer"))
        parts += [
            _text(0, y + 14, row["job"], colors.text, weight="bold"),
            _text(WIDTH, y + 14, f"{_ratio(row['ratio'])} as {row['peer_name']}", colors.text, anchor="end"),
            f'<rect x="0" y="{y + 21}" width="{ours:.1f}" height="15" rx="2" fill="{colors.ours}"/>',
            _text(ours + 7, y + 33, _seconds(row["ours"]), colors.text),
            f'<rect x="0" y="{y + 38}" width="{peer:.1f}" height="15" rx="2" fill="{colors.peer}"/>',
            _text(peer + 7, y + 50, _seconds(row["peer"]), colors.quiet),
        ]
    return "\n".join([*parts, "</svg>\n"])


def _text(x: float, y: float, text: str, fill: str, *, anchor: str = "start", weight: str = "normal") -> str:
    return (
        f'<text x="{x:.1f}" y="{y}" fill="{fill}" text-anchor="{anchor}" font-weight="{weight}">{escape(text)}</text>'
    )


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 0.95 else f"{1000 * value:.0f} ms"


def _ratio(value: float) -> str:
    """How many times as fast we are."""
    return f"{value:.0f}× as fast" if value >= 9.95 else f"{value:.1f}× as fast"
