"""Figures into files and pages, the same bytes each time.

    page:   text stays text in the page's font and color, ids are DIGEST-..., no style rule leaves the figure

Matplotlib has settings for SVG and PDF that hold for the whole process, and warns of each character that no font has.
So one figure is drawn at a time, the settings are put back, and the warnings dropped.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import threading
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from textmill.errors import DataError
from textmill.files import check_target, replacing
from textmill.plot.style import GRID, INK, MUTED, PAPER, import_matplotlib
from textmill.plot.tooltips import with_titles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["check_figure_path", "drawing", "save", "to_svg"]

DPI = 200  # of PNG, and of images inside SVG and PDF
IN_PAGE = {
    INK: "currentColor",
    MUTED: "var(--muted, #5f6670)",
    GRID: "var(--grid, #d5d8dc)",
    PAPER: "var(--paper, #fff)",
}
PAGE_STYLE = "stroke-linejoin: round; stroke-linecap: butt; font-family: system-ui, 'DejaVu Sans', sans-serif"

_SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "textmill", "pdf.fonttype": 42}
_NO_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
_STYLE_RULES = re.compile(r"\s*<defs>\s*<style.*?</style>\s*</defs>", re.DOTALL)
_FONT_FAMILY = re.compile(r"font-family: [^;\"]*(; )?")
_TAG = re.compile(r"<[^!?][^>]*>")
_ID = re.compile(r'( id="|href="#|url\(#)')
_LOCK = threading.Lock()


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as PNG, SVG or PDF, by the suffix; a file that was there is replaced whole or not at all.

    >>> import pathlib, tempfile
    >>> from textmill.plot import lines
    >>> figure = lines({"f": ([0, 1], [0, 1])}, x_label="x", y_label="y")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(figure, f"{folder}/f.png")
    ...     pathlib.Path(folder, "f.png").read_bytes()[1:4]
    b'PNG'
    """
    content = _rendered(figure, _kind(path), "#ffffff")
    with replacing(path) as file:
        file.write(content)


def check_figure_path(path: str | os.PathLike[str]) -> None:
    """Raise what `save` would raise for this path, before the work whose figure it is to hold is done.

    >>> check_figure_path("curve.docx")
    Traceback (most recent call last):
    textmill.errors.DataError: curve.docx: figures are written as .png, .svg or .pdf; choose one of these suffixes
    """
    _kind(path)
    import_matplotlib()
    check_target(path)


def _kind(path: str | os.PathLike[str]) -> str:
    """The format that a suffix names."""
    name = os.fspath(path)
    kind = os.path.splitext(name)[1].lower().removeprefix(".")
    if kind not in _NO_METADATA:
        raise DataError("figures are written as .png, .svg or .pdf; choose one of these suffixes", source=name)
    return kind


def to_svg(figure: Figure) -> str:
    """A figure as one `<svg>` element for a page.

    Text and frame take the colours of the page: `currentColor`, and `--muted`, `--grid` and `--paper` if it sets them.
    Ids begin with a digest of the figure, so that figures on one page do not use each other's.

    >>> from textmill.plot import lines
    >>> svg = to_svg(lines({"f": ([0, 1], [0, 1])}, x_label="x", y_label="y"))
    >>> svg[:4], svg[-6:]
    ('<svg', '</svg>')
    """
    text = _rendered(figure, "svg", "none").decode()
    text = _STYLE_RULES.sub("", text[text.index("<svg") :].strip(), count=1)
    digest = hashlib.blake2b(text.encode(), digest_size=5).hexdigest()
    return _TAG.sub(lambda tag: _tag_in_page(tag[0], f"f{digest}-"), text).replace(
        "<svg", f'<svg style="{PAGE_STYLE}"', 1
    )


def _tag_in_page(tag: str, prefix: str) -> str:
    tag = _FONT_FAMILY.sub("", _ID.sub(rf"\1{prefix}", tag))
    for color, of_page in IN_PAGE.items():
        tag = tag.replace(color, of_page)
    return tag


def _rendered(figure: Figure, kind: str, background: str) -> bytes:
    buffer = io.BytesIO()
    with drawing():
        look: dict[str, Any] = {"facecolor": background, "edgecolor": "none", "dpi": DPI}
        figure.savefig(buffer, format=kind, metadata=_NO_METADATA[kind], **look)
    return with_titles(buffer.getvalue(), figure) if kind == "svg" else buffer.getvalue()


@contextlib.contextmanager
def drawing() -> Iterator[None]:
    """One figure at a time, with our settings and without warnings."""
    settings = import_matplotlib().rcParams
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = {key: settings[key] for key in _SETTINGS}
        settings.update(_SETTINGS)
        try:
            yield
        finally:
            settings.update(before)
