"""exp, log, log1p, digamma and log-sum-exp over their whole range, against extended precision."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import special

from textmill import _testing
from textmill._native import base

Extended = np.longdouble
extended_only = pytest.mark.skipif(np.finfo(Extended).nmant < 60, reason="long double is no better than double here")

SPECIAL = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324, 1e-310, 2.2250738585072014e-308]
SPECIAL += [math.nextafter(2.2250738585072014e-308, 0.0), sys.float_info.max, -sys.float_info.max, 1e-17, -1e-17, 0.5]

# 20 digits, computed once in arbitrary precision: poles, the root and its neighbors, both sides of every switch
DIGAMMA = [
    (5e-324, -math.inf),
    (1e-310, -math.inf),
    (1e-300, -9.9999999999999997494e299),
    (1e-17, -99999999999999993.423),
    (0.001, -1000.5755719318102797),
    (0.25, -4.2274535333762654081),
    (0.5, -1.9635100260214234794),
    (1.0, -0.57721566490153286061),
    (0.9999999999999999, -0.57721566490153304323),
    (1.4, -0.061384544585116236801),
    (1.4606321449683624, -0.00096811526728040214588),
    (1.4616320449683622, -9.6767229121305940427e-8),
    (1.461632144968362, -3.0727905665462928431e-16),
    (1.4616321449683622, -9.2412655217294275168e-17),
    (1.4616321449683625, 1.2245374622004069031e-16),
    (1.4616321449693623, 9.6766585941809664668e-13),
    (1.5, 0.036489973978576520559),
    (2.0, 0.42278433509846713939),
    (3.7, 1.1671535393615114409),
    (5.999, 1.7059363290792256036),
    (6.0, 1.7061176684318004727),
    (6.001, 1.7062989749946425648),
    (10.0, 2.2517525890667211076),
    (171.0, 5.1387367300244836518),
    (1e5, 11.512920464961895087),
    (1e20, 46.05170185988091368),
    (1e300, 690.77552789821370526),
]


def apply(name, values, threads=1):
    values = np.asarray(values, dtype=float)
    out = np.empty_like(values)
    getattr(base, name)(values, out, threads)
    return out


def patterns(seed, size=1_000_000):
    """Random bit patterns: every exponent, both signs, subnormals, infinities, NaN."""
    bits = np.random.default_rng(seed).integers(0, 2**64, size, dtype=np.uint64)
    bits[:: size // 1000] &= np.uint64(0x800FFFFFFFFFFFFF)  # more subnormals than chance gives
    return bits.view(float)


def around(points, steps=2000):
    """The doubles next to each point, on both sides."""
    near = [np.asarray(points, dtype=float)]
    for direction in (-math.inf, math.inf):
        here = near[0]
        for _ in range(steps):
            here = np.nextafter(here, direction)
            near.append(here)
    return np.concatenate(near)


def errors_in_ulp(got, exact):
    """Distance in units of the last place of the exact value; infinite where only one of the two is finite or NaN."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(float)
        error = np.abs(got.astype(Extended) - exact) / np.spacing(np.abs(rounded)).astype(Extended)
        same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
        # within half an ulp of the largest double either infinity or the largest double is right
        return np.where(same, np.where(np.isfinite(rounded), error, 0.0), np.where(np.isfinite(error), error, np.inf))


def digamma_extended(values):
    """Recurrence up to 40, then the asymptotic series: good to 1e-18 absolutely."""
    y, total = values.astype(Extended), np.zeros(len(values), dtype=Extended)
    low = np.flatnonzero(y < 40)
    for _ in range(40):
        total[low] -= 1 / y[low]
        y[low] += 1
    square = 1 / (y * y)
    series = np.zeros_like(y)
    for numerator, denominator in [(1, 12), (-691, 32760), (1, 132), (-1, 240), (1, 252), (-1, 120), (1, 12)]:
        series = (series + Extended(numerator) / Extended(denominator)) * square
    return total + np.log(y) - 1 / (2 * y) - series


def sweep_exp():
    yield patterns(1)
    yield np.linspace(-1.0, 1.0, 300_001)
    yield np.linspace(-746.0, 710.0, 400_001)
    yield np.linspace(-745.2, -708.0, 200_001)  # subnormal results
    yield around([0.0, 708.0, -708.0, 709.782712893384, -708.3964185322641, -744.4400719213812, -745.1332191019412])
    yield around(math.log(2.0) * (np.arange(-1074, 1024) + 0.5), 3)  # where n changes


def sweep_log():
    yield patterns(2)
    yield np.geomspace(5e-324, 1.7e308, 300_001)
    yield np.linspace(0.5, 2.0, 300_001)
    yield around([1.0, math.sqrt(0.5), math.sqrt(2.0), 2.2250738585072014e-308, 2.0, 0.5])
    yield around(np.ldexp(math.sqrt(2.0), np.arange(-1070, 1023)), 3)  # where k changes


def sweep_log1p():
    yield patterns(3)
    yield np.linspace(-1.0, 3.0, 400_001)
    yield np.geomspace(5e-324, 1.7e308, 300_001)
    yield -np.geomspace(5e-324, 1.0, 300_001)
    yield np.arange(100_000.0)
    yield around([0.0, -1.0, math.sqrt(0.5) - 1.0, math.sqrt(2.0) - 1.0, 1.0, 2.0**53, -0.5])


@extended_only
@pytest.mark.parametrize(("name", "sweep"), [("exp", sweep_exp), ("log", sweep_log), ("log1p", sweep_log1p)])
def test_a_function_is_right_to_one_unit_in_the_last_place_everywhere(name, sweep):
    for values in sweep():
        got = apply(name, values)
        with np.errstate(all="ignore"):
            exact = getattr(np, name)(values.astype(Extended))
        error = errors_in_ulp(got, exact)
        worst = np.argmax(error)
        assert error[worst] < 1.0, (values[worst], got[worst], exact[worst], error[worst])


@pytest.mark.parametrize("name", ["exp", "log", "log1p"])
def test_special_values_and_signed_zeros_are_those_of_the_standard(name):
    values = np.array(SPECIAL)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(values)
    got = apply(name, values)
    np.testing.assert_allclose(got, expected, rtol=1e-15, atol=0)
    finite = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[finite]), np.signbit(expected[finite]))


def test_exp_underflows_gradually_and_then_to_zero():
    got = apply("exp", [-744.0, -745.0, -745.133, -745.134, -746.0, -1e308])
    assert got.tolist() == [1e-323, 5e-324, 5e-324, 0.0, 0.0, 0.0]


@extended_only
@pytest.mark.parametrize(
    ("low", "high"), [(1e-308, 1.0), (0.5, 1.4), (1.5, 2.0), (2.0, 6.5), (6.0, 50.0), (50.0, 1e300)]
)
def test_digamma_is_right_to_a_relative_1e15_away_from_its_root(low, high):
    for values in (np.linspace(low, high, 50_001), np.geomspace(low, high, 50_001)):
        got, exact = apply("digamma", values), digamma_extended(values)
        assert np.max(np.abs((got - exact) / exact)) < 1e-15


@extended_only
def test_digamma_of_random_bits_is_right():
    values = np.abs(patterns(4))
    values = values[(values > 1e-308) & np.isfinite(values)]
    exact = digamma_extended(values)
    assert np.max(np.abs((apply("digamma", values) - exact) / exact)) < 1e-15


@pytest.mark.parametrize(("value", "expected"), DIGAMMA)
def test_digamma_has_the_tabled_values_even_at_its_root(value, expected):
    assert apply("digamma", [value])[0] == pytest.approx(expected, rel=1e-15, abs=0)


def test_digamma_is_defined_for_positive_numbers_only():
    got = apply("digamma", [0.0, -0.0, -5e-324, -1.0, -2.5, -math.inf, math.inf, math.nan])
    np.testing.assert_array_equal(got, [-math.inf, math.inf, *[math.nan] * 4, math.inf, math.nan])


@pytest.mark.parametrize("name", ["exp", "log", "log1p", "digamma"])
def test_a_value_gives_the_same_bits_wherever_it_stands(name):
    values = np.concatenate([patterns(5, 2000), SPECIAL, np.linspace(0.0, 20.0, 999)])
    whole = apply(name, values).view(np.uint64)
    one_by_one = np.array([apply(name, [value])[0] for value in values]).view(np.uint64)
    shifted = np.concatenate([apply(name, values[:3]), apply(name, values[3:])]).view(np.uint64)
    nan = np.isnan(whole.view(float))
    np.testing.assert_array_equal(one_by_one[~nan], whole[~nan])
    np.testing.assert_array_equal(shifted[~nan], whole[~nan])
    assert np.isnan(one_by_one.view(float)[nan]).all()


@pytest.mark.parametrize("name", ["exp", "log", "log1p", "digamma"])
def test_threads_shapes_and_working_in_place_do_not_change_the_bits(name):
    values = np.random.default_rng(6).gamma(2.0, 3.0, (37, 2111))
    expected = apply(name, values)
    for threads in (2, 3, 8):
        assert apply(name, values, threads).tobytes() == expected.tobytes()
    getattr(base, name)(values, values, 2)
    assert values.tobytes() == expected.tobytes()
    assert apply(name, np.empty((3, 0))).shape == (3, 0)


def test_arrays_that_do_not_fit_are_refused():
    values = np.ones(8)
    with pytest.raises(ValueError, match="axis 0 of out must be 8, got 7"):
        base.exp(values, np.empty(7), 1)
    with pytest.raises(ValueError, match="out must have 1 axes, got 2"):
        base.exp(values, np.empty((8, 1)), 1)
    with pytest.raises(ValueError, match="out overlaps values without being the same array"):
        base.exp(values[:-1], values[1:], 1)
    with pytest.raises(ValueError, match="threads must be at least 1"):
        base.exp(values, np.empty(8), 0)
    frozen = np.empty(8)
    frozen.flags.writeable = False
    for out in (np.empty(8, dtype=np.float32), np.empty(16)[::2], frozen, [0.0] * 8):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            base.exp(values, out, 1)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 22, 1000])
def test_log_sum_exp_agrees_with_scipy(size):
    rng = np.random.default_rng(size)
    for scale in (1e-3, 1.0, 30.0, 1e3, 1e300):
        values = rng.normal(0.0, scale, size)
        assert _testing.logsumexp(values) == pytest.approx(special.logsumexp(values), rel=1e-14, abs=1e-14)


def test_log_sum_exp_of_a_long_vector_is_right_to_its_bound():
    values = np.random.default_rng(9).normal(0.0, 2.0, 200_000)
    assert _testing.logsumexp(values) == pytest.approx(math.log(math.fsum(np.exp(values))), abs=2e-12, rel=0)


def test_log_sum_exp_takes_infinities_and_nan():
    inf, nan = math.inf, math.nan
    for rest in ([], [-inf] * 9, [0.0] * 9):  # short and long vectors, both loops
        assert _testing.logsumexp(np.array([inf, 1.0, *rest])) == inf
        assert _testing.logsumexp(np.array([-inf, inf, *rest])) == inf
        assert math.isnan(_testing.logsumexp(np.array([nan, 1.0, *rest])))
        assert math.isnan(_testing.logsumexp(np.array([*rest, nan])))
        assert math.isnan(_testing.logsumexp(np.array([inf, nan, *rest])))
    assert _testing.logsumexp(np.array([])) == -inf
    assert _testing.logsumexp(np.full(9, -inf)) == -inf
    assert _testing.logsumexp(np.array([-inf, 3.0, -inf])) == 3.0
    assert _testing.logsumexp(np.array([1e308, -1e308])) == 1e308
    assert math.isnan(_testing.logsumexp(np.array([nan, -inf])))


def test_log_sum_exp_of_rows_is_that_of_each_row_for_any_number_of_threads():
    values = np.random.default_rng(10).normal(0.0, 5.0, (503, 22))
    expected = np.array([_testing.logsumexp(row) for row in values])
    for threads in (1, 2, 3, 8):
        out = np.empty(503)
        base.logsumexp_rows(values, out, threads)
        assert out.tobytes() == expected.tobytes()
    nothing = np.empty(4)
    base.logsumexp_rows(np.empty((4, 0)), nothing, 2)
    assert (nothing == -math.inf).all()
    base.logsumexp_rows(np.empty((0, 4)), np.empty(0), 2)
    with pytest.raises(ValueError, match="out must have 503 entries, got 502"):
        base.logsumexp_rows(values, np.empty(502), 1)


def run_with_simd(choice, *arguments):
    environment = {**os.environ, "TEXTMILL_SIMD": choice}
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False)


def test_the_environment_chooses_the_instruction_set():
    show = "from textmill._native import base; print(base.simd())"
    assert base.simd() in ("avx2", "baseline")
    assert run_with_simd("baseline", "-c", show).stdout == "baseline\n"
    assert run_with_simd("", "-c", show).stdout in ("avx2\n", "baseline\n")
    wrong = run_with_simd("sse9", "-c", show)
    assert wrong.returncode == 1
    assert "ValueError: TEXTMILL_SIMD='sse9' is neither 'baseline' nor 'avx2'; unset it" in wrong.stderr


@pytest.mark.skipif(base.simd() == "baseline", reason="this is the baseline")
@pytest.mark.parametrize("file", ["test_math.py", "test_sparse.py"])
def test_the_baseline_passes_the_same_tests(file):
    path = Path(__file__).with_name(file)
    run = run_with_simd("baseline", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path))
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
