from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from textmill.errors import DataError
from textmill.plot import heat_map

LABELS: dict[str, Any] = {"x_label": "predicted", "y_label": "gold"}


def shown(axis: Any) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


def test_a_small_table_has_names_and_numbers_and_no_color_bar() -> None:
    figure = heat_map([[8, 1200, 0], [1, 9, math.nan]], columns=["a", "b", "c"], rows=["x", "y"], title="T", **LABELS)
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel(), figure.get_suptitle()) == ("predicted", "gold", "T")
    assert (shown(axes.xaxis), shown(axes.yaxis)) == (["a", "b", "c"], ["x", "y"])
    assert [text.get_text() for text in axes.texts] == ["8", "1200", "0", "1", "9"]
    assert [text.xy for text in axes.texts] == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1)]
    np.testing.assert_array_equal(axes.images[0].get_array().filled(-1), [[8, 1200, 0], [1, 9, -1]])


def test_a_large_table_has_a_color_bar_and_no_numbers() -> None:
    figure = heat_map(np.arange(256).reshape(16, 16), **LABELS)
    assert len(figure.axes) == 2
    assert list(figure.axes[0].texts) == []


@pytest.mark.parametrize("low", [0, -1])
def test_numbers_can_be_read_on_their_cells(low: float) -> None:
    figure = heat_map(np.linspace(low, 1, 100).reshape(10, 10), **LABELS)
    (image,) = figure.axes[0].images
    for text in figure.axes[0].texts:
        column, row = text.xy
        red, green, blue, _ = image.cmap(image.norm(image.get_array()[row, column]))
        channels = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)]
        cell = 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2]
        ink = 1.0 if text.get_color() == "#ffffff" else 0.0
        contrast = (max(cell, ink) + 0.05) / (min(cell, ink) + 0.05)
        assert contrast >= 4.5  # WCAG 2.1, level AA


def test_zero_is_the_middle_when_a_value_is_negative() -> None:
    (image,) = heat_map([[-1, 4]], **LABELS).axes[0].images
    assert image.get_clim() == (-4, 4)
    assert min(image.cmap(image.norm(0))[:3]) > 0.93  # nearly white
    (image,) = heat_map([[1, 4]], **LABELS).axes[0].images
    assert image.get_clim() == (1, 4)


def test_another_color_map_can_make_the_diagonal_white() -> None:
    (image,) = heat_map([[1, 0.2], [0.2, 1]], color_map="gray", **LABELS).axes[0].images
    assert image.cmap(image.norm(1.0)) == (1, 1, 1, 1)


def test_groups_have_names_borders_and_boxes() -> None:
    figure = heat_map(
        np.eye(20), groups={"20D": 5, "20E": 12, "20F": 3}, boxes=[("20D", "20E"), ("20F", "20F")], **LABELS
    )
    axes = figure.axes[0]
    assert shown(axes.xaxis) == shown(axes.yaxis) == ["20D", "20E", "20F"]
    assert list(axes.get_xticks()) == [2, 10.5, 18]
    borders = [list(line.get_ydata()) for line in axes.get_lines()[::2]]
    assert borders == [[4.5, 4.5], [16.5, 16.5]]
    assert [(box.get_xy(), box.get_width(), box.get_height()) for box in axes.patches] == [
        ((-0.5, -0.5), 17, 17),
        ((16.5, 16.5), 3, 3),
    ]


def test_names_that_are_equal_after_cutting_all_stay() -> None:
    figure = heat_map(np.eye(2), columns=["w" * 60 + "a", "w" * 60 + "b"], **LABELS)
    assert len(set(shown(figure.axes[0].xaxis))) == 1
    assert list(figure.axes[0].get_xticks()) == [0, 1]


def test_too_many_names_are_left_out() -> None:
    names = [f"n{i}" for i in range(61)]
    assert shown(heat_map(np.eye(61), columns=names, rows=names, **LABELS).axes[0].yaxis) == []


@pytest.mark.parametrize("matrix", [[[0.0]], [[3, 3], [3, 3]], np.zeros((20, 20)), [[1.5] * 200], [[1.5]] * 200])
def test_odd_tables_can_be_drawn(matrix: Any) -> None:
    assert heat_map(matrix, **LABELS)._repr_svg_().startswith("<svg")


FAULTS: dict[str, tuple[Callable[[], Any], str]] = {
    "empty": (lambda: heat_map([[]], **LABELS), "matrix is empty"),
    "a row": (lambda: heat_map([1, 2], **LABELS), "matrix has 1 dimensions; pass an array of 2"),
    "ragged": (lambda: heat_map([[1], [1, 2]], **LABELS), "matrix holds something that is no number"),
    "infinite": (lambda: heat_map([[math.inf]], **LABELS), "matrix holds NaN or infinity"),
    "only NaN": (lambda: heat_map([[math.nan]], **LABELS), "matrix holds nothing but NaN"),
    "columns": (lambda: heat_map([[1, 2]], columns=["a"], **LABELS), "1 names of columns and 2 columns"),
    "rows": (lambda: heat_map([[1, 2]], rows=["a", "b"], **LABELS), "2 names of rows and 1 rows"),
    "groups": (lambda: heat_map(np.eye(3), groups={"a": 2}, **LABELS), "groups of 2 rows, but a table of 3 by 3"),
    "empty group": (lambda: heat_map(np.eye(3), groups={"a": 3, "b": 0}, **LABELS), "pass the size of each group"),
    "not square": (lambda: heat_map([[1, 2]], groups={"a": 1}, **LABELS), "a table of 1 by 2"),
    "box": (lambda: heat_map(np.eye(2), groups={"a": 2}, boxes=[("a", "z")], **LABELS), "from 'a' to 'z'"),
    "box alone": (lambda: heat_map(np.eye(2), boxes=[("a", "a")], **LABELS), "must be among the groups"),
    "color map": (lambda: heat_map([[1]], color_map="mauve", **LABELS), "color_map 'mauve' is not known"),
}


@pytest.mark.parametrize(("draw", "message"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_is_one_line_that_says_what(draw: Callable[[], Any], message: str) -> None:
    with pytest.raises(DataError) as caught:
        draw()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
