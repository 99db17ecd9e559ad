// Elementary functions over arrays of doubles: exp, log, log1p, digamma, log-sum-exp.
//
//   exp      x = n ln 2 + r, |r| <= ln(2)/2;   exp x = 2^n (1 + r + r^2 q(r)),  q a polynomial of degree 9
//   log      x = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2));  s = f / (2 + f);
//            log(1 + f) = f - (f^2/2 - s (f^2/2 + s^2 R(s^2))),  R of degree 6;   log x = k ln 2 + log(1 + f)
//   log1p    the same with f = x while 1 + x needs no scaling, else with the rounding error of 1 + x put back
//   digamma  psi(y + 1/2) = log y + g(1/y^2) / y^2 for y >= 5.5;   psi(1 + t) = (t - t0) A(t) / B(t) for 0 <= t < 5,
//            1 + t0 = 1.4616... the root of psi;   psi(x) = psi(1 + x) - 1/x below 1
//   logsumexp   m + log sum_i exp(x_i - m),  m = max x_i
//
// Polynomials are minimax, or close to it. Largest errors, on either instruction set, in units in the last place (ulp):
//
//   exp         1 ulp, subnormal results included               exp(-inf) = 0, exp(>= 709.79) = inf
//   log         1 ulp, subnormal arguments included             log(0) = -inf, log(< 0) = NaN
//   log1p       1 ulp, keeps the sign of zero                   log1p(-1) = -inf, log1p(< -1) = NaN
//   digamma     6 ulp below 6, also at its root; 2 ulp above    digamma(0) = -inf, digamma(< 0) = NaN
//   logsumexp   the rounding of its sum, n 2^-54 at most        of nothing, or of nothing but -inf: -inf
//
// NaN gives NaN everywhere. What a value gives never depends on where in the array it stands. Inside a kernel of their
// own (simd.h) others call the forms on packs, exp(P) and so on; elsewhere the array forms.
//
// References: Muller (2016), Elementary Functions, on argument reduction; Abramowitz & Stegun 6.3.5, 6.3.18 on digamma.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "base/simd.h"

namespace textmill::base {

// Array forms, in the calling thread. `in` and `out` have one length and are the same array or do not overlap.
void exp(std::span<const double> in, std::span<double> out);
void log(std::span<const double> in, std::span<double> out);
void log1p(std::span<const double> in, std::span<double> out);
void digamma(std::span<const double> in, std::span<double> out);
double logsumexp(std::span<const double> values);

namespace detail {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kSmallestNormal = std::numeric_limits<double>::min();
inline constexpr double kLargest = std::numeric_limits<double>::max();
// ln 2 in two parts: the first ends in 15 zero bits, so its product with an exponent is exact.
inline constexpr double kLn2High = 0x1.62e42fefa0000p-1, kLn2Low = 1.6465949582897082e-12;

template <Pack P>
struct Reduced {
  P value;  // exp(r)
  P power;  // n
};

template <Pack P>
TEXTMILL_INLINED inline Reduced<P> exp_reduced(P x) {
  static constexpr double q[] = {0.5,
                                 0.16666666666666433,
                                 0.04166666666660375,
                                 0.008333333333500581,
                                 0.0013888888926891876,
                                 0.0001984126946530813,
                                 2.4801508550144492e-05,
                                 2.7557641377501114e-06,
                                 2.762524408205511e-07,
                                 2.497832661013275e-08};
  const P n = round(x * P(1.4426950408889634));
  const P high = multiply_add(n, P(-kLn2High), x);  // exact
  const P r = multiply_add(n, P(-kLn2Low), high);
  const P lost = multiply_add(n, P(-kLn2Low), high - r);
  return {P(1.0) + (r + multiply_add(r * r, polynomial(r, q), lost)), n};
}

// k ln 2 + log(1 + f) + c, where c is a small correction.
template <Pack P>
TEXTMILL_INLINED inline P log_reduced(P k, P f, P c) {
  static constexpr double R[] = {0.6666666666666734,  0.39999999999413965, 0.28571428742562144, 0.22222198553785505,
                                 0.18183565407248337, 0.15314021118750684, 0.14796261168009292};
  const P s = f / (P(2.0) + f);
  const P z = s * s;
  const P half_square = P(0.5) * f * f;
  const P tail = multiply_add(s, multiply_add(z, polynomial(z, R), half_square), multiply_add(k, P(kLn2Low), c));
  return multiply_add(k, P(kLn2High), f - (half_square - tail));
}

}  // namespace detail

template <Pack P>
TEXTMILL_INLINED inline P exp(P x) {
  if (P::all(abs(x) <= P(708.0))) [[likely]] {
    const auto [value, power] = detail::exp_reduced(x);
    return value * power_of_two(power);
  }
  // Some lane over- or underflows: scale in two steps, which round once, at the end. NaN comes through.
  const P low = P(-746.0), high = P(710.0);
  const auto [value, power] = detail::exp_reduced(select(x < low, low, select(high < x, high, x)));
  const P half = round(power * P(0.5));
  return value * power_of_two(half) * power_of_two(power - half);
}

template <Pack P>
TEXTMILL_INLINED inline P log(P x) {
  using detail::kLargest, detail::kSmallestNormal;
  if (P::all((P(kSmallestNormal) <= x) & (x <= P(kLargest)))) [[likely]] {
    const auto [m, k] = split(x);
    return detail::log_reduced(k, m - P(1.0), P(0.0));
  }
  const auto tiny = x < P(kSmallestNormal);
  const auto [m, k] = split(select(tiny, x * P(0x1p54), x));
  const P value = detail::log_reduced(select(tiny, k - P(54.0), k), m - P(1.0), P(0.0));
  const P at_zero = select(x == P(0.0), P(-detail::kInfinity), P(detail::kNaN));
  return select(x <= P(kLargest), select(P(0.0) < x, value, at_zero), x);  // infinity and NaN are their own logarithm
}

template <Pack P>
TEXTMILL_INLINED inline P log1p(P x) {
  const P u = P(1.0) + x;
  const P back = u - P(1.0);
  const P lost = (P(1.0) - (u - back)) + (x - back);  // 1 + x = u + lost, exactly
  const auto [m, k] = split(u);
  const auto unscaled = k == P(0.0);
  const P value = detail::log_reduced(k, select(unscaled, x, m - P(1.0)), select(unscaled, P(0.0), lost / u));
  const P signed_value = select(x == P(0.0), x, value);
  if (P::all((P(-1.0) < x) & (x <= P(detail::kLargest)))) [[likely]]
    return signed_value;
  const P at_pole = select(x == P(-1.0), P(-detail::kInfinity), P(detail::kNaN));
  return select(x <= P(detail::kLargest), select(P(-1.0) < x, signed_value, at_pole), x);
}

template <Pack P>
TEXTMILL_INLINED inline P digamma(P x) {
  static constexpr double g[] = {0.041666666666665464,  -0.007291666665458872, 0.003844245615419531,
                                 -0.004134044749512394, 0.00755440696479593,   -0.020716310833953745,
                                 0.07091797631007912,   -0.19118023285383473};
  static constexpr double A[] = {1.2503801375034054,    2.0355800639435455,   1.2179749218247153,
                                 0.3415820266816173,    0.0469753427230148,   0.0029965099478344095,
                                 7.419240227281492e-05, 4.401421906841499e-07};
  static constexpr double B[] = {1.0,
                                 2.3115157845647234,
                                 1.9523213543705087,
                                 0.7880935720343917,
                                 0.16379213900677392,
                                 0.01734679762542186,
                                 0.0008587076046521299,
                                 1.6110059485854065e-05,
                                 6.539591113158315e-08};
  const auto small = x < P(6.0);
  P value = 0.0;
  if (!P::all(small)) {
    const P y = select(small, P(6.0), x) - P(0.5);
    const P w = P(1.0) / (y * y);
    value = multiply_add(w, polynomial(w, g), log(y));
  }
  if (P::any(small)) {
    const auto below = x < P(1.0);
    const P t = select(below, x, x - P(1.0));
    const P from_root = (t - P(0.46163214496836236)) - P(-1.5522348162858677e-17);
    P near = from_root * (polynomial(t, A) / polynomial(t, B));
    if (P::any(below)) near = select(below, near - P(1.0) / x, near);
    value = select(small, near, value);
  }
  return select(P(0.0) <= x, value, P(detail::kNaN));
}

// log sum_i exp(values[i]).
template <Pack P>
TEXTMILL_INLINED inline double logsumexp(std::span<const double> values) {
  const double* x = values.data();
  const std::size_t size = values.size(), whole = size - size % P::width, rest = size - whole;
  const P nothing = -detail::kInfinity;
  P most = nothing;
  for (std::size_t i = 0; i < whole; i += P::width) most = max(most, P::load(x + i));
  if (rest > 0) most = max(most, P::load(x + whole, rest, -detail::kInfinity));
  // With an infinite maximum nothing is shifted, and the sum itself is 0, infinity or, from a NaN, NaN.
  const double found = largest(most);
  const double shift = std::abs(found) <= detail::kLargest ? found : 0.0;
  P total = 0.0;
  for (std::size_t i = 0; i < whole; i += P::width) total = total + exp(P::load(x + i) - P(shift));
  if (rest > 0) total = total + exp(P::load(x + whole, rest, -detail::kInfinity) - P(shift));
  return shift + std::log(sum(total));
}

}  // namespace textmill::base
