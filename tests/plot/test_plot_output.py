"""Files and pages: the same bytes, whole or not at all, and nothing of the process disturbed."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from textmill import files, plot
from textmill.errors import DataError
from textmill.plot import output

TRICKY = '"<b> & #1b1f24 id="x" url(#y)'


def sample() -> Any:
    return plot.lines(
        {TRICKY: ([0, 1, 2], [1, 3, 2]), "市场": ([0, 1, 2], [2, 2, 3])}, x_label="x", y_label="y", title="T"
    )


def gray() -> Any:
    return plot.heat_map(np.arange(400).reshape(20, 20), x_label="x", y_label="y")


@pytest.mark.parametrize(
    ("suffix", "magic"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF"), (".PNG", b"\x89")]
)
def test_the_suffix_names_the_kind(tmp_path: Path, suffix: str, magic: bytes) -> None:
    plot.save(sample(), tmp_path / f"f{suffix}")
    assert (tmp_path / f"f{suffix}").read_bytes().startswith(magic)
    assert os.listdir(tmp_path) == [f"f{suffix}"]


def test_other_suffixes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"f\.gif: figures are written as \.png, \.svg or \.pdf"):
        plot.save(sample(), tmp_path / "f.gif")
    with pytest.raises(DataError, match="choose one of these suffixes"):
        plot.save(sample(), tmp_path / "figure")
    assert os.listdir(tmp_path) == []


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "f.png"
    target.write_bytes(b"old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "replace", fail)
        with pytest.raises(OSError, match="No space left") as caught:
            plot.save(sample(), target)
    assert caught.value.filename == str(target)
    with monkeypatch.context() as patch:
        patch.setattr(Figure, "savefig", fail)
        with pytest.raises(OSError, match="No space left"):
            plot.save(sample(), target)
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["f.png"]
    plot.save(sample(), target)  # and the lock is free


DIGESTS = """
import hashlib, sys, numpy as np
from pathlib import Path
from textmill import plot
rng = np.random.default_rng(0)
x, y = rng.normal(size=(2, 50))
figures = {
    "lines pdf png svg": plot.lines({"a": (x, y), "b": (y, x)}, x_label="x", y_label="y", title="T"),
    "map png svg": plot.scatter({"g": (x, y)}, labels={"g": [f"w{i}" for i in range(50)]}, x_label="x", y_label="y"),
    "heat png svg": plot.heat_map(rng.random((20, 20)), x_label="x", y_label="y"),
}
for names, figure in figures.items():
    name, *suffixes = names.split()
    for suffix in suffixes:
        plot.save(figure, Path(folder, f"{name}.{suffix}"))
    Path(folder, f"{name}.page").write_text(plot.to_svg(figure))
"""


def test_bytes_depend_neither_on_process_nor_on_hashes_nor_on_time(tmp_path: Path) -> None:
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
    exec(DIGESTS, {"folder": tmp_path / "here"})
    command = [sys.executable, "-W", "error", "-c", f"folder = {str(tmp_path / 'there')!r}\n{DIGESTS}"]
    environment = {**os.environ, "PYTHONHASHSEED": "12", "SOURCE_DATE_EPOCH": "123456789", "TZ": "Asia/Tokyo"}
    subprocess.run(command, check=True, env=environment)
    names = sorted(os.listdir(tmp_path / "here"))
    assert len(names) == 10
    for name in names:
        content = (tmp_path / "here" / name).read_bytes()
        assert content == (tmp_path / "there" / name).read_bytes(), name
        assert b"Date" not in content


def test_a_second_drawing_gives_the_same_bytes(tmp_path: Path) -> None:
    figure = sample()
    contents = set()
    for name in ("1.svg", "2.svg"):
        plot.save(figure, tmp_path / name)
        plot.save(figure, tmp_path / "other.png")
        contents.add((tmp_path / name).read_bytes())
    assert len(contents) == 1


def test_threads_draw_the_same_figures() -> None:
    def digests() -> list[str]:
        return [hashlib.sha256(plot.to_svg(make()).encode()).hexdigest() for make in (sample, gray)]

    expected = digests()
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(digests())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_filters_of_warnings_change_for_one_figure_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Filters belong to the process: two threads that put them back in turn would leave what neither had."""
    entered: list[bool] = []
    enter = warnings.catch_warnings.__enter__

    def watched(context: warnings.catch_warnings) -> object:
        entered.append(output._LOCK.locked())
        return enter(context)

    monkeypatch.setattr(warnings.catch_warnings, "__enter__", watched)
    for make in (sample, gray):
        plot.to_svg(make())
    plot.to_svg(plot.bars(["a", "b"], {"f": [1, 2]}, x_label="x"))
    assert entered
    assert all(entered)


def test_settings_and_filters_of_the_process_stay(tmp_path: Path) -> None:
    broken = Figure()
    broken.text(0, 0, "$\\frac{$")  # cannot be drawn
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": "mine", "pdf.fonttype": 3}):
        settings, filters = dict(matplotlib.rcParams), list(warnings.filters)
        plot.save(sample(), tmp_path / "f.svg")
        with pytest.raises(ValueError, match="frac"):
            plot.to_svg(broken)
        assert dict(matplotlib.rcParams) == settings
        assert warnings.filters == filters


def test_neither_pyplot_nor_matplotlib_is_loaded_before_it_is_needed() -> None:
    code = (
        "import sys, textmill.plot, textmill.report; print('matplotlib' in sys.modules, 'jinja2' in sys.modules); "
        "textmill.plot.lines({'f': ([0], [0])}, x_label='', y_label=''); print('matplotlib.pyplot' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "False", "False"]


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (sample, gray):
        with pytest.raises(DataError, match=r"pip install 'textmill\[plot\]'") as caught:
            draw()
        assert "\n" not in str(caught.value)


def test_figures_without_a_layout_of_ours_can_be_saved(tmp_path: Path) -> None:
    figure = Figure()
    figure.add_subplot().plot([1, 2])
    plot.save(figure, tmp_path / "own.svg")
    assert "<svg" in plot.to_svg(figure)


def attributes(svg: str) -> list[tuple[str, str]]:
    root = ElementTree.fromstring(svg)
    return [(name.rpartition("}")[2], value) for element in root.iter() for name, value in element.attrib.items()]


def test_an_svg_for_a_page_is_one_element_with_text_as_text() -> None:
    svg = plot.to_svg(sample())
    root = ElementTree.fromstring(svg)
    assert svg.startswith("<svg")
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert {element.tag.rpartition("}")[2] for element in root.iter()} <= {
        "svg",
        "g",
        "path",
        "text",
        "use",
        "defs",
        "clipPath",
        "rect",
    }
    written = [element.text for element in root.iter() if element.tag.endswith("}text")]
    assert TRICKY.replace("z", "z") in written or TRICKY[:39] + "…" in written
    assert {"x", "y", "T", "市场"} <= set(written)


def test_an_svg_for_a_page_takes_the_colors_of_the_page() -> None:
    values = [value for name, value in attributes(plot.to_svg(sample())) if name == "style"]
    assert any("fill: currentColor" in value for value in values)
    assert any("stroke: var(--grid, #d5d8dc)" in value for value in values)
    assert not any("#1b1f24" in value or "#fffffe" in value for value in values)
    assert sum("font-family" in value for value in values) == 1  # of the whole


def test_ids_are_unique_referred_to_and_of_this_figure_only() -> None:
    ids: list[str] = []
    for figure in (sample(), gray(), plot.histogram({"s": [1, 2, 2]}, x_label="x")):
        found = attributes(plot.to_svg(figure))
        own = [value for name, value in found if name == "id"]
        references = [value[1:] for name, value in found if name == "href" and value.startswith("#")]
        references += [match for _, value in found for match in re.findall(r"url\(#([^)]+)\)", value)]
        assert references
        assert set(references) <= set(own)
        ids += own
    assert len(ids) == len(set(ids))


def test_notebooks_show_a_figure_as_svg() -> None:
    figure = sample()
    assert figure._repr_svg_() == plot.to_svg(figure)
