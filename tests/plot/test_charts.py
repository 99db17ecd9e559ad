"""What lines, bars, scatter and histogram draw, read back from the Matplotlib objects."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textmill.errors import DataError
from textmill.plot import bars, heat_map, histogram, lines, scatter, to_svg
from textmill.plot.charts import _edges
from textmill.plot.style import look

LABELS: dict[str, Any] = {"x_label": "the x", "y_label": "the y"}
HOSTILE = "a\x00b\ud800 $x_1$ <script>alert(1)</script> & \N{SNOWMAN} 市场 \n\x1b[31m"


def axes_of(figure: Any) -> Any:
    return figure.axes[0]


def drawn_within(svg: str) -> bool:
    """Whether a picture has a line, and all its lines have finite corners."""
    paths = re.findall(r'<path[^>]* d="([^"]*)"', svg)
    numbers = [float(number) for path in paths for number in re.findall(r"[-+.\w]+", path) if number not in "MLQCZz"]
    return len(paths) > 0 and len(numbers) > 0 and bool(np.isfinite(numbers).all())


def texts(figure: Any) -> list[str]:
    return [text.get_text() for text in axes_of(figure).texts]


def legend(figure: Any) -> list[str] | None:
    found = axes_of(figure).get_legend()
    return None if found is None else [text.get_text() for text in found.get_texts()]


def test_lines_have_labels_title_and_data() -> None:
    figure = lines({"loss": ([1, 2, 4], [3.0, 2.0, 1.5])}, title="Loss falls", **LABELS)
    axes = axes_of(figure)
    assert (axes.get_xlabel(), axes.get_ylabel(), figure.get_suptitle()) == ("the x", "the y", "Loss falls")
    (line,) = axes.get_lines()
    np.testing.assert_array_equal(line.get_xdata(), [1, 2, 4])
    np.testing.assert_array_equal(line.get_ydata(), [3.0, 2.0, 1.5])
    assert legend(figure) is None
    assert texts(figure) == []


def test_lines_that_end_apart_are_named_where_they_end() -> None:
    figure = lines({"low": ([0, 1], [0, 0]), "high": ([0, 1], [0, 9]), "middle": ([0, 1], [0, 4])}, **LABELS)
    assert legend(figure) is None
    heights = {text.get_text(): text.get_window_extent().y0 for text in axes_of(figure).texts}
    assert heights["low"] < heights["middle"] < heights["high"]


def test_lines_that_end_together_or_early_have_a_legend() -> None:
    together = lines({"a": ([0, 1], [0, 1]), "b": ([0, 0.5, 1], [0, 0.9, 1])}, **LABELS)
    early = lines({"a": ([0, 1], [0, 1]), "b": ([0, 0.5], [0, 0.1])}, **LABELS)
    many = lines({f"series {i}": ([0, 1], [0, i]) for i in range(12)}, **LABELS)
    assert legend(together) == ["a", "b"]
    assert legend(early) == ["a", "b"]
    assert legend(many) == [f"series {i}" for i in range(12)]
    assert texts(together) == texts(early) == texts(many) == []


def test_names_with_an_underscore_stand_in_the_legend() -> None:
    assert legend(lines({"_a": ([0, 1], [0, 1]), "__label__b": ([0, 1], [1, 1])}, **LABELS)) == ["_a", "__label__b"]


def test_marks_horizontals_verticals_and_the_diagonal_are_drawn_and_named() -> None:
    figure = lines(
        {"signal": ([0, 5, 10], [0.2, 0.8, 0.4])},
        marks={"proposed": ([5], [0.8])},
        horizontals={"threshold": 0.5},
        verticals={"true": [2, 7], "other": 3},
        diagonal=True,
        **LABELS,
    )
    axes = axes_of(figure)
    diagonal, signal, proposed, threshold = axes.get_lines()
    np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    assert signal.get_xdata().tolist() == [0, 5, 10]
    assert (proposed.get_xdata().tolist(), proposed.get_ydata().tolist()) == ([5], [0.8])
    assert proposed.get_linestyle() == "None"
    assert list(threshold.get_ydata()) == [0.5, 0.5]
    assert [path[0, 0] for path in axes.collections[0].get_segments()] == [2, 7]
    assert legend(figure) == ["signal", "proposed", "threshold", "true", "other"]


def test_a_threshold_is_named_at_its_height() -> None:
    figure = lines({"signal": ([0, 10], [0.2, 0.4])}, horizontals={"threshold": 0.9}, **LABELS)
    assert texts(figure) == ["signal", "threshold"]


def test_limits_hold_all_that_is_drawn() -> None:
    figure = lines({"f": ([0, 1], [5, 6])}, horizontals={"far": 100}, verticals={"out": -7}, **LABELS)
    low, high = axes_of(figure).get_ylim()
    assert low < 5 < 100 < high
    assert axes_of(figure).get_xlim()[0] < -7


def test_rates_have_axes_from_0_to_1() -> None:
    axes = axes_of(lines({"roc": ([0, 0.5, 1], [0, 0.9, 1])}, **LABELS))
    assert axes.get_xlim() == (0, 1)
    assert axes.get_ylim() == (0, 1)


def test_only_short_lines_have_markers() -> None:
    short = axes_of(lines({"f": (range(25), range(25))}, **LABELS)).get_lines()[0]
    long = axes_of(lines({"f": (range(26), range(26))}, **LABELS)).get_lines()[0]
    assert (short.get_marker(), long.get_marker()) == ("o", "None")


def test_not_known_and_not_placed_points_are_gaps() -> None:
    figure = lines(
        {"f": ([1, 2, 3, 4, 5, 0], [1, math.nan, 3, math.inf, -1, 1])}, x_scale="log", y_scale="log", **LABELS
    )
    (line,) = axes_of(figure).get_lines()
    np.testing.assert_array_equal(line.get_ydata(), [1, math.nan, 3, math.nan, math.nan, math.nan])


def test_a_gap_at_the_end_moves_the_name_to_the_last_point() -> None:
    figure = lines({"a": ([0, 1, 2], [0, 5, math.nan]), "b": ([0, 1, 2], [0, 1, 1])}, **LABELS)
    assert legend(figure) == ["a", "b"]  # a ends half way


def test_equal_distances_on_a_log_axis_are_equal_factors() -> None:
    axes = axes_of(lines({"zipf": ([1, 10, 100], [1000, 100, 10])}, x_scale="log", y_scale="log", **LABELS))
    pixels = axes.transData.transform([(1, 1000), (10, 100), (100, 10)])
    np.testing.assert_allclose(np.diff(pixels[:, 0])[0], np.diff(pixels[:, 0])[1])
    np.testing.assert_allclose(np.diff(pixels[:, 1])[0], np.diff(pixels[:, 1])[1])


def test_a_probit_axis_is_linear_in_the_normal_deviate() -> None:
    rates = [0.001, 0.02, 0.3, 0.5, 0.9, 0.999]
    axes = axes_of(lines({"det": (rates, rates[::-1])}, x_scale="probit", y_scale="probit", **LABELS))
    pixels = axes.transData.transform([(rate, rate) for rate in rates])
    deviates = np.array([NormalDist().inv_cdf(rate) for rate in rates])
    for side in (0, 1):
        slope, offset = np.polyfit(deviates, pixels[:, side], 1)
        np.testing.assert_allclose(slope * deviates + offset, pixels[:, side], atol=1e-6)
    low, high = axes.get_xlim()
    assert 0 < low < 0.001 < 0.999 < high < 1


def test_ticks_are_round_and_plain() -> None:
    def ticks(**options: Any) -> list[str]:
        figure = lines({"f": options.pop("data")}, **options, **LABELS)
        axes = axes_of(figure)
        low, high = axes.get_xlim()
        return [axes.xaxis.get_major_formatter()(x) for x in axes.get_xticks() if low <= x <= high]

    assert ticks(data=([0, 100_000], [0, 1])) == ["0", "20,000", "40,000", "60,000", "80,000", "100,000"]
    assert ticks(data=([1, 2, 3], [0, 1, 2])) == ["1", "2", "3"]
    assert ticks(data=([-1, 1.5], [0, 1])) == ["−1", "−0.5", "0", "0.5", "1", "1.5"]
    assert ticks(data=([1, 5000], [0, 1]), x_scale="log") == ["1", "10", "100", "1,000"]
    assert ticks(data=([2, 20], [0, 1]), x_scale="log") == ["2", "5", "10", "20"]
    assert ticks(data=([0.01, 0.4], [0, 1]), x_scale="probit") == ["1 %", "2 %", "5 %", "10 %", "20 %", "30 %", "40 %"]
    assert ticks(data=([0.001, 0.9], [0, 1]), x_scale="probit") == ["0.1 %", "1 %", "5 %", "20 %", "50 %", "80 %"]


def test_bars_have_their_values_and_stand_in_order() -> None:
    figure = bars(["a", "b", "c"], {"w": [3, -1.5, math.nan]}, x_label="weight", title="T")
    axes = axes_of(figure)
    assert [patch.get_width() for patch in axes.patches][:2] == [3, -1.5]
    assert texts(figure) == ["3.0", "−1.5"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b", "c"]
    assert axes.get_ylim() == (2.5, -0.5)
    assert axes.get_xlabel() == "weight"
    assert legend(figure) is None


def test_bars_grow_from_their_origin() -> None:
    linear = axes_of(bars(["a"], {"w": [3]}, x_label="", origin=1)).patches[0]
    log = axes_of(bars(["a"], {"w": [0.1]}, x_label="", x_scale="log")).patches[0]
    assert (linear.get_x(), linear.get_width()) == (1, 2)
    assert log.get_x() + log.get_width() == pytest.approx(0.1)


def test_several_sets_of_bars_stand_side_by_side_and_have_a_legend() -> None:
    figure = bars(["a", "b"], {"ours": [1, 2], "_peer": [3, 4]}, x_label="", unit=" s")
    places = [
        (round(patch.get_y(), 6), round(patch.get_y() + patch.get_height(), 6)) for patch in axes_of(figure).patches
    ]
    assert all(one[1] <= other[0] for one, other in zip(sorted(places), sorted(places)[1:], strict=False))
    assert [patch.get_width() for patch in axes_of(figure).patches] == [1, 2, 3, 4]
    assert legend(figure) == ["ours", "_peer"]
    assert texts(figure) == ["1 s", "2 s", "3 s", "4 s"]


def test_numbers_beside_negative_bars_do_not_cover_the_labels() -> None:
    figure = bars(["a long label"], {"w": [-2.25]}, x_label="")
    number = axes_of(figure).texts[0].get_window_extent()
    label = axes_of(figure).get_yticklabels()[0].get_window_extent()
    assert label.x1 <= number.x0


def test_scatter_has_points_sizes_and_labels() -> None:
    figure = scatter(
        {"terms": ([0, 1, math.nan], [0, 1, 5]), "documents": ([2], [3])},
        labels={"terms": ["tree", "graph", "lost"]},
        sizes={"terms": [1, 4, 2]},
        equal=True,
        **LABELS,
    )
    axes = axes_of(figure)
    first, second = axes.collections
    assert first.get_offsets()[:2].tolist() == [[0, 0], [1, 1]]
    assert first.get_sizes()[1] == 4 * first.get_sizes()[0]
    assert second.get_offsets().tolist() == [[2, 3]]
    assert texts(figure) == ["tree", "graph"]
    assert legend(figure) == ["terms", "documents"]
    box = axes.get_window_extent()
    unit_x, unit_y = box.width / np.ptp(axes.get_xlim()), box.height / np.ptp(axes.get_ylim())
    assert unit_x == pytest.approx(unit_y)


def test_many_points_become_an_image() -> None:
    few, many = ({"g": (np.arange(n), np.arange(n))} for n in (5000, 5001))
    assert not axes_of(scatter(few, **LABELS)).collections[0].get_rasterized()
    assert axes_of(scatter(many, **LABELS)).collections[0].get_rasterized()


def test_histograms_count_as_numpy_does() -> None:
    rng = np.random.default_rng(1)
    one, other = rng.normal(0, 1, 500), rng.normal(2, 1, 100)
    figure = histogram({"one": one, "other": other}, x_label="score", bins=17)
    edges = np.histogram_bin_edges(np.concatenate([one, other]), 17)
    filled = axes_of(figure).patches[::2]
    for patch, sample in zip(filled, (one, other), strict=True):
        np.testing.assert_array_equal(patch.get_data().values, np.histogram(sample, edges)[0])
        np.testing.assert_array_equal(patch.get_data().edges, edges)
    assert legend(figure) == ["one", "other"]
    assert axes_of(figure).get_ylabel() == "count"


def test_shares_of_each_sample_sum_to_1() -> None:
    figure = histogram({"a": [1.5, 2, 3], "b": [1, 2.5]}, x_label="x", shares=True, verticals={"threshold": 2})
    assert [patch.get_data().values.sum() for patch in axes_of(figure).patches] == pytest.approx([1] * 4)
    assert axes_of(figure).get_ylabel() == "share"
    assert legend(figure) == ["a", "b", "threshold"]


def test_a_histogram_on_a_log_axis_shows_bins_with_one_value() -> None:
    figure = histogram({"n": [1] * 1000 + [2]}, x_label="n", y_scale="log", y_label="words")
    low, high = axes_of(figure).get_ylim()
    assert 0 < low < 1
    assert high > 1000
    assert axes_of(figure).get_ylabel() == "words"


@pytest.mark.parametrize(
    "values",
    [
        [3.0],
        [0.25, 0.25],
        [0, 0, 0],
        [1, 1 + 2e-16],
        [1e17, 1e17 + 16],
        [-5, 1000],
        [0.1, 0.2, 1e9],
        [1] * 50 + [7.5],
        list(range(60)),
        list(range(61)),
    ],
)
def test_bins_ascend_hold_every_value_and_are_not_too_many(values: list[float]) -> None:
    edges = _edges(np.array(values, float), None)
    assert (np.diff(edges) > 0).all()
    assert len(edges) <= 62
    assert np.histogram(values, edges)[0].sum() == len(values)


@given(st.lists(st.floats(-1e199, 1e199), min_size=1, max_size=30), st.none() | st.integers(1, 70))
def test_any_values_have_bins(values: list[float], bins: int | None) -> None:
    edges = _edges(np.array(values), bins)
    assert (np.diff(edges) > 0).all()
    assert np.histogram(values, edges)[0].sum() == len(values)


def test_whole_numbers_have_a_bin_each() -> None:
    assert _edges(np.array([2.0, 4.0]), None).tolist() == [1.5, 2.5, 3.5, 4.5]


CHARTS: dict[str, Callable[[str], Any]] = {
    "lines": lambda s: lines(
        {s: ([0, 1], [0, 1]), "b": ([0, 1], [1, 1])},
        x_label=s,
        y_label=s,
        title=s,
        marks={s: ([1], [1])},
        horizontals={s: 1},
        verticals={s: 1},
    ),
    "ends": lambda s: lines({s: ([0, 1], [0, 1]), "b": ([0, 1], [0, 0])}, **LABELS),
    "bars": lambda s: bars([s], {s: [1], "b": [2]}, x_label=s, title=s, unit=s),
    "scatter": lambda s: scatter({s: ([0], [1]), "b": ([1], [1])}, labels={s: [s]}, x_label=s, y_label=s, title=s),
    "heat map": lambda s: heat_map([[1]], columns=[s], rows=[s], x_label=s, y_label=s, title=s),
    "groups": lambda s: heat_map(np.eye(20), groups={s: 20}, boxes=[(s, s)], x_label=s, y_label=s),
    "histogram": lambda s: histogram({s: [1, 2], "b": [2]}, x_label=s, y_label=s, title=s, verticals={s: 1}),
}


@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS.keys())
@pytest.mark.parametrize("text", [HOSTILE, "", "_$\\frac{" * 100], ids=["hostile", "empty", "long"])
def test_any_text_can_be_drawn_as_it_is(
    chart: Callable[[str], Any], text: str, caplog: pytest.LogCaptureFixture
) -> None:
    svg = chart(text)._repr_svg_()
    svg.encode()
    assert "\x00" not in svg
    assert caplog.records == []


def test_a_dollar_is_a_dollar_everywhere() -> None:
    name = "$x_1$"
    figures = {  # and how often it is written
        lines({name: ([0, 1], [0, 1]), "b": ([0, 1], [1, 1])}, x_label=name, y_label=name, title=name): 4,  # legend
        lines({name: ([0, 1], [0, 1]), "b": ([0, 1], [0, 0])}, **LABELS): 1,  # at the end of the line
        bars([name], {name: [1], "b": [1]}, x_label=""): 2,
        scatter({"g": ([0], [0])}, labels={"g": [name]}, **LABELS): 2,  # the label and the tooltip
        heat_map([[1]], columns=[name], rows=[name], x_label="", y_label=name): 3,
    }
    for figure, times in figures.items():
        assert figure._repr_svg_().count(f">{name}<") == times


EXTREMES = [[0.0], [5.0, 5.0], [1e-199, 9e199], [-9e199, 9e199], [1, 1 + 1e-15], [0, 5e-324], [1e199, 1e199]]


@pytest.mark.parametrize("values", EXTREMES)
@pytest.mark.parametrize("scale", ["linear", "log"])
def test_extreme_values_can_be_drawn_or_have_no_place(values: list[float], scale: str) -> None:
    try:
        svg = lines({"f": (values, values)}, x_scale=scale, y_scale=scale, **LABELS)._repr_svg_()
        assert drawn_within(svg)
    except DataError as fault:
        assert scale == "log"
        assert "no point with a place" in str(fault)  # noqa: PT017


@pytest.mark.parametrize("values", [[1e-11], [1 - 1e-11], [1e-11, 0.5, 1 - 1e-11], [0, 1, 0.5]])
def test_rates_near_0_and_1_can_be_drawn(values: list[float]) -> None:
    svg = lines({"f": (values, values)}, x_scale="probit", y_scale="probit", diagonal=True, **LABELS)._repr_svg_()
    assert drawn_within(svg)


NAN, INF = math.nan, math.inf
FAULTS: dict[str, tuple[Callable[[], Any], str]] = {
    "no series": (lambda: lines({}, **LABELS), "nothing to draw"),
    "empty series": (lambda: lines({"f": ([], [])}, **LABELS), "x of 'f' is empty"),
    "other lengths": (lambda: lines({"f": ([1, 2], [1])}, **LABELS), "2 x values of 'f' and 1 y values"),
    "no pair": (lambda: lines({"f": [1, 2, 3]}, **LABELS), "'f' is not a pair"),  # type: ignore[dict-item]
    "a number": (lambda: lines({"f": 3}, **LABELS), "'f' is not a pair"),  # type: ignore[dict-item]
    "a word": (lambda: lines({"f": (["one"], [1])}, **LABELS), "x of 'f' holds something that is no number"),
    "a table": (lambda: lines({"f": ([[1]], [[1]])}, **LABELS), "x of 'f' has 2 dimensions"),
    "only NaN": (lambda: lines({"f": ([1], [NAN])}, **LABELS), "'f' has no point with a place on linear x"),
    "nothing positive": (lambda: lines({"f": ([1], [0])}, y_scale="log", **LABELS), "no point with a place"),
    "no rate": (lambda: lines({"f": ([1], [2])}, y_scale="probit", **LABELS), "no point with a place"),
    "unknown scale": (lambda: lines({"f": ([1], [2])}, y_scale="cubic", **LABELS), "pass one of linear, log, probit"),
    "empty marks": (lambda: lines({"f": ([1], [2])}, marks={"m": ([], [])}, **LABELS), "x of 'm' is empty"),
    "NaN threshold": (lambda: lines({"f": ([1], [2])}, horizontals={"t": NAN}, **LABELS), "horizontal 't' holds NaN"),
    "threshold 0": (
        lambda: lines({"f": ([1], [2])}, verticals={"t": 0}, x_scale="log", **LABELS),
        "vertical 't' holds a value that has no place on a log axis",
    ),
    "no bars": (lambda: bars([], {"w": []}, x_label=""), "nothing to draw"),
    "no sets": (lambda: bars(["a"], {}, x_label=""), "nothing to draw"),
    "other labels": (lambda: bars(["a"], {"w": [1, 2]}, x_label=""), "2 bars of 'w' and 1 labels"),
    "infinite bar": (lambda: bars(["a"], {"w": [INF]}, x_label=""), "bars of 'w' holds NaN or infinity"),
    "only NaN bars": (lambda: bars(["a"], {"w": [NAN]}, x_label=""), "bars of 'w' holds nothing but NaN"),
    "bar of 0": (lambda: bars(["a"], {"w": [0]}, x_label="", x_scale="log"), "no place on a log axis"),
    "origin 0": (lambda: bars(["a"], {"w": [1]}, x_label="", x_scale="log", origin=0), "origin holds a value"),
    "too many bars": (lambda: bars(["a"] * 301, {"w": [1] * 301}, x_label=""), "301 bars cannot be read"),
    "no group": (lambda: scatter({}, **LABELS), "nothing to draw"),
    "unknown group": (lambda: scatter({"g": ([1], [1])}, labels={"h": ["a"]}, **LABELS), "no such group"),
    "labels missing": (lambda: scatter({"g": ([1, 2], [1, 2])}, labels={"g": ["a"]}, **LABELS), "1 labels of 'g'"),
    "sizes missing": (lambda: scatter({"g": ([1, 2], [1, 2])}, sizes={"g": [1]}, **LABELS), "1 sizes of 'g'"),
    "negative size": (lambda: scatter({"g": ([1], [1])}, sizes={"g": [-1]}, **LABELS), "must not be negative"),
    "no sample": (lambda: histogram({}, x_label=""), "nothing to draw"),
    "empty sample": (lambda: histogram({"s": []}, x_label=""), "sample 's' is empty"),
    "NaN in sample": (lambda: histogram({"s": [1, NAN]}, x_label=""), "sample 's' holds NaN or infinity"),
    "no bins": (lambda: histogram({"s": [1.5]}, x_label="", bins=0), "bins is 0"),
    "probit counts": (lambda: histogram({"s": [1, 1]}, x_label="", y_scale="probit"), "no place on a probit axis"),
}


@pytest.mark.parametrize(("draw", "message"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_is_one_line_that_says_where(draw: Callable[[], Any], message: str) -> None:
    with pytest.raises(DataError) as caught:
        draw()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_two_of_36_series_look_the_same() -> None:
    assert len({(style.color, str(style.dash)) for style in map(look, range(36))}) == 36


def titles(svg: str) -> list[str]:
    return re.findall("<title>(.*?)</title>", svg)


def test_points_say_their_names_when_the_pointer_rests_on_them() -> None:
    figure = scatter(
        {"terms": ([0, math.nan, 1], [1, 2, 0]), "texts": ([0.5, 0.2], [2, 1])},
        labels={"terms": ["tree", "lost", "graph"]},
        tooltips={"texts": ["A <tale> & more", "a\nb"]},
        sizes={"texts": [1, 4]},
        x_label="1",
        y_label="2",
    )
    assert titles(to_svg(figure)) == ["tree", "graph", "A &lt;tale&gt; &amp; more", "a b"]


def test_a_label_without_room_is_still_a_tooltip() -> None:
    names = [f"a rather long name {i}" for i in range(60)]
    figure = scatter({"points": ([0] * 60, [0] * 60)}, labels={"points": names}, x_label="1", y_label="2")
    assert len(figure.axes[0].texts) < 60
    assert titles(to_svg(figure)) == names


def test_tooltips_are_those_of_a_group_that_is_there() -> None:
    with pytest.raises(DataError, match="tooltips or sizes of 'texts', but no such group"):
        scatter({"terms": ([0], [1])}, tooltips={"texts": ["a"]}, x_label="1", y_label="2")
    with pytest.raises(DataError, match="tooltips of 'terms'"):
        scatter({"terms": ([0], [1])}, tooltips={"terms": ["a", "b"]}, x_label="1", y_label="2")
