from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text

from textmill.plot import scatter
from textmill.plot.labels import _spread

LABELS: dict[str, Any] = {"x_label": "", "y_label": ""}


def isotonic(places: np.ndarray, gap: float) -> np.ndarray:
    """Least squares under order constraints by the min-max formula, which is its definition turned into code."""
    moved = places - gap * np.arange(len(places))
    best = [
        max(min(moved[j : k + 1].mean() for k in range(i, len(moved))) for j in range(i + 1)) for i in range(len(moved))
    ]
    return np.array(best) + gap * np.arange(len(places))


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=9), st.floats(0, 30))
def test_ends_move_apart_as_little_as_possible(places: list[float], gap: float) -> None:
    ordered = np.sort(places)
    np.testing.assert_allclose(_spread(ordered, gap), isotonic(ordered, gap), atol=1e-9)


def box_of(text: Any) -> Any:
    text.get_window_extent()  # puts it in its place
    return Text.get_window_extent(text)  # without the line to the point


def overlap(one: Any, other: Any) -> float:
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    return max(width, 0) * max(height, 0)


def test_labels_of_points_neither_overlap_nor_leave_the_axes_nor_cover_points() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 120))
    names = [f"word{i}" for i in range(120)]
    figure = scatter({"terms": (x, y)}, labels={"terms": names}, **LABELS)
    axes = figure.axes[0]
    found, frame = [box_of(text) for text in axes.texts], axes.get_window_extent()
    assert 40 < len(found) < 120
    for i, one in enumerate(found):
        assert frame.x0 <= one.x0 and one.x1 <= frame.x1 and frame.y0 <= one.y0 and one.y1 <= frame.y1  # noqa: PT018
        assert all(overlap(one, other) <= 0.02 * one.width * one.height for other in found[:i])
    pixels = axes.transData.transform(np.column_stack([x, y]))
    for one in found:
        inside = (one.x0 < pixels[:, 0]) & (pixels[:, 0] < one.x1) & (one.y0 < pixels[:, 1]) & (pixels[:, 1] < one.y1)
        assert not inside.any()


def test_each_label_stands_near_its_point_or_has_a_line_to_it() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(2, 40))
    figure = scatter({"terms": (x, y)}, labels={"terms": [str(i) for i in range(40)]}, **LABELS)
    axes = figure.axes[0]
    for text in axes.texts:
        point = axes.transData.transform((x[int(text.get_text())], y[int(text.get_text())]))
        box = box_of(text)
        away = max(box.x0 - point[0], point[0] - box.x1, box.y0 - point[1], point[1] - box.y1)
        assert away < 15 or text.arrow_patch is not None
        assert away < 40


def test_the_first_labels_of_each_group_come_first() -> None:
    crowd = [0.0] * 30
    figure = scatter(
        {"a": (crowd, crowd), "b": (crowd, crowd)},
        labels={"a": [f"a{i}" for i in range(30)], "b": [f"b{i}" for i in range(30)]},
        **LABELS,
    )
    names = [text.get_text() for text in figure.axes[0].texts]
    assert names[:4] == ["a0", "b0", "a1", "b1"]
    assert len(names) < 30


def test_empty_labels_take_no_room() -> None:
    figure = scatter({"a": ([0, 0, 0], [0, 0, 1])}, labels={"a": ["", "", "seen"]}, **LABELS)
    assert [text.get_text() for text in figure.axes[0].texts] == ["seen"]


def test_labels_keep_off_large_points() -> None:
    figure = scatter({"a": ([0, 1], [0, 0])}, sizes={"a": [100, 1]}, labels={"a": ["large", "small"]}, **LABELS)
    axes = figure.axes[0]
    radius = np.sqrt(400 / np.pi) * figure.dpi / 72
    center = axes.transData.transform((0, 0))
    large = box_of(axes.texts[0])
    assert large.x0 >= center[0] + radius or large.x1 <= center[0] - radius
