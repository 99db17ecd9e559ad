#include "linear/count_models.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace textmill::linear {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kDirect = 2000;       // beta-binomial products of at most so many factors are taken one by one
constexpr double kSmallSpread = 1e-6;  // t below which they always are: ratios of gamma functions would cancel

// log Gamma(y) = (y - 1/2) log y - y + log(2 pi) / 2 + s(1 / y): s(1 / (y + a)) - s(1 / y).
long double tail_difference(long double y, long double a) {
  static constexpr long double c[] = {1.0L / 12,   -1.0L / 360,      1.0L / 1260, -1.0L / 1680,
                                      1.0L / 1188, -691.0L / 360360, 1.0L / 156};
  const long double u = 1 / (y + a), v = 1 / y, uu = u * u, vv = v * v, uv = u * v;
  const long double difference = -a * uv;  // u - v
  long double sum = 0, powers = 1;         // u^(2k+1) - v^(2k+1) = (u - v) (u^2k + u^(2k-1) v + ... + v^2k)
  long double even = 1;                    // u^2k
  for (const long double factor : c) {
    sum += factor * powers;
    powers = even * uu + even * uv + vv * powers;
    even *= uu;
  }
  return difference * sum;
}

long double log_factorial(long double x) { return log_gamma_ratio(1, x); }

long double log_choose(long double n, long double x) {
  if (x == 0 || x == n) return 0;
  if (n - x < x) x = n - x;
  return log_gamma_ratio(n - x + 1, x) - log_factorial(x);
}

long double log_binom(long double p, long double x, long double n) {
  if (p <= 0) return x == 0 ? 0 : -kInfinity;
  if (p >= 1) return x == n ? 0 : -kInfinity;
  if (x == 0) return n * std::log1p(-p);
  return log_choose(n, x) + x * std::log(p) + (n == x ? 0 : (n - x) * std::log1p(-p));
}

// x = 0 of a beta-binomial: sum_{j<n} log(1 - p / (1 + j t)).
long double log_no_success(long double p, long double t, long double n) {
  if (n <= kDirect || t < kSmallSpread) {
    long double sum = 0;
    for (long double j = 0; j < n; ++j) sum += std::log1p(-p / (1 + j * t));
    return sum;
  }
  const long double alpha = p / t, beta = (1 - p) / t;
  return log_gamma_ratio(beta, alpha) - log_gamma_ratio(beta + n, alpha);
}

long double log_betabinom(long double p, long double gamma, long double x, long double n) {
  const long double t = gamma / (1 - gamma);
  if (t == 0 || p <= 0 || p >= 1 || n <= 1) return log_binom(p, x, n);
  if (x == 0) return log_no_success(p, t, n);
  if (x == n) return log_no_success(1 - p, t, n);
  if (n <= kDirect || t < kSmallSpread) {
    long double sum = log_choose(n, x);
    for (long double j = 0; j < x; ++j) sum += std::log(p + j * t);
    for (long double j = 0; j < n - x; ++j) sum += std::log1p(-p / (1 + j * t));
    for (long double j = n - x; j < n; ++j) sum -= std::log1p(j * t);
    return sum;
  }
  return log_choose(n, x) + log_gamma_ratio(p / t, x) + log_gamma_ratio((1 - p) / t, n - x) - log_gamma_ratio(1 / t, n);
}

long double log_poisson(long double m, long double x) {
  if (m <= 0) return x == 0 ? 0 : -kInfinity;
  return x == 0 ? -m : x * std::log(m) - m - log_factorial(x);
}

long double log_negbinom(long double m, long double kappa, long double x) {
  if (m <= 0 || std::isinf(kappa)) return log_poisson(m, x);
  const long double zero = -kappa * std::log1p(m / kappa);
  if (x == 0) return zero;
  long double growth = 0;  // (kappa)_x / kappa^x
  if (x <= 64) {
    for (long double j = 1; j < x; ++j) growth += std::log1p(j / kappa);
  } else {
    growth = log_gamma_ratio(kappa, x) - x * std::log(kappa);
  }
  return growth + x * std::log(m) + zero - x * std::log1p(m / kappa) - log_factorial(x);
}

long double log_base(Family family, const Parameters& parameters, double x, double n) {
  const long double first = parameters.first, m = first * n;
  switch (family) {
    case Family::poisson: return log_poisson(m, x);
    case Family::negbinom: return log_negbinom(m, parameters.second, x);
    case Family::binom: return x > n ? -kInfinity : log_binom(first, x, n);
    case Family::betabinom: return x > n ? -kInfinity : log_betabinom(first, parameters.second, x, n);
  }
  return 0;
}

// psi(y + m) - psi(y) and psi'(y) - psi'(y + m) for y >= 16, as sums that do not cancel.
struct PolygammaSteps {
  double digamma, trigamma, log_ratio;
};

PolygammaSteps polygamma_steps(double y, double m) {
  const double e = y + m, u = 1 / y, v = 1 / e, d = m * u * v;  // d = u - v
  const double uu = u * u, vv = v * v, sum = u + v, squares = uu + vv;
  const double d2 = d * sum;  // u^2 - v^2
  const double d4 = d2 * squares, d6 = d2 * (uu * uu + uu * vv + vv * vv), d8 = d4 * (uu * uu + vv * vv);
  const double d3 = d * (uu + u * v + vv);
  const double d5 = d * (uu * uu + uu * u * v + uu * vv + u * v * vv + vv * vv);
  const double d7 = u * d6 + d * vv * vv * vv;
  const double grown = std::log1p(m * u);
  PolygammaSteps out;
  out.log_ratio = grown;
  out.digamma = grown + d / 2 + d2 / 12 - d4 / 120 + d6 / 252 - d8 / 240;
  out.trigamma = d + d2 / 2 + d3 / 6 - d5 / 30 + d7 / 42;
  return out;
}

}  // namespace

long double log_gamma_ratio(long double y, long double a) {
  if (a == 0) return 0;
  long double shift = 0, product = 1;
  for (; y < 20; ++y) {
    if (a > 0 && a < 1e-3L) {
      shift -= std::log1p(a / y);
    } else {
      product *= y / (y + a);
    }
  }
  if (product != 1) shift += std::log(product);
  return shift + (y - 0.5L) * std::log1p(a / y) + a * std::log(y + a) - a + tail_difference(y, a);
}

double log_inflated_zero(double z, double f) {
  if (z == 0) return f;
  const double rest = (1 - z) * std::expm1(f);
  if (rest > -0.5) return std::log1p(rest);
  const double sum = z + (1 - z) * std::exp(f);
  return sum > 0 ? std::log(sum) : -kInfinity;
}

double log_pmf(Family family, const Parameters& parameters, double x, double n) {
  const double f = static_cast<double>(log_base(family, parameters, x, n));
  if (parameters.z == 0) return f;
  return x == 0 ? log_inflated_zero(parameters.z, f) : std::log1p(-parameters.z) + f;
}

double log_zero(Family family, const Parameters& parameters, double n) {
  const double first = parameters.first, second = parameters.second;
  switch (family) {
    case Family::poisson: return -first * n;
    case Family::negbinom: return std::isinf(second) ? -first * n : -second * std::log1p(first * n / second);
    case Family::binom: return n == 0 ? 0 : n * std::log1p(-first);
    case Family::betabinom: {
      const double t = second / (1 - second);
      if (n == 0) return 0;
      if (t <= 0 || first >= 1) return n * std::log1p(-first);
      return rising(1 - first, t, n).log - rising(1, t, n).log;
    }
  }
  return 0;
}

double log_odds_of_count(Family family, const Parameters& parameters, double x, double n) {
  const double first = parameters.first, second = parameters.second;
  if (x == 0) return 0;
  switch (family) {
    case Family::poisson: return x * std::log(first);
    case Family::negbinom:
      if (std::isinf(second)) return x * std::log(first);
      {
        double sum = x * (std::log(first) - std::log1p(first * n / second));
        if (x > 64) return sum + static_cast<double>(log_gamma_ratio(second, x)) - x * std::log(second);
        for (double j = 1; j < x; ++j) sum += std::log1p(j / second);
        return sum;
      }
    case Family::binom: return x * (std::log(first) - std::log1p(-first));
    case Family::betabinom: {
      const double t = second / (1 - second), q = 1 - first;
      if (t <= 0) return x * (std::log(first) - std::log1p(-first));
      if (x > 64) return rising(first, t, x).log + rising(q, t, n - x).log - rising(q, t, n).log;
      double ratio = 1.0, sum = 0.0;
      for (double j = 0; j < x; ++j) {
        ratio *= (first + j * t) / (q + (n - 1 - j) * t);
        if (ratio < 1e-200 || ratio > 1e200) sum += std::log(ratio), ratio = 1.0;
      }
      return sum + std::log(ratio);
    }
  }
  return 0;
}

Rising rising(double a, double t, double m) {
  Rising out;
  if (m <= 0) return out;
  if (t * m < 1e-3 * a) {  // powers of j t / a: differences over t would lose their digits
    const double r = t / a, s1 = m * (m - 1) / 2, s2 = s1 * (2 * m - 1) / 3, s3 = s1 * s1;
    const double s4 = s2 * (3 * m * (m - 1) - 1) / 5, s5 = s3 * (2 * m * (m - 1) - 1) / 3;
    const double s6 = s2 * (3 * m * m * (m - 1) * (m - 1) - 3 * m * (m - 1) + 1) / 7;
    const double r2 = r * r, r3 = r2 * r, r4 = r3 * r, r5 = r4 * r;
    out.log = m * std::log(a) + r * s1 - r2 * s2 / 2 + r3 * s3 / 3 - r4 * s4 / 4 + r5 * s5 / 5;
    out.one = (m - r * s1 + r2 * s2 - r3 * s3 + r4 * s4 - r5 * s5) / a;
    out.j = (s1 - r * s2 + r2 * s3 - r3 * s4 + r4 * s5 - r5 * s6) / a;
    out.one2 = (m - 2 * r * s1 + 3 * r2 * s2 - 4 * r3 * s3 + 5 * r4 * s4 - 6 * r5 * s5) / (a * a);
    out.j2 = (s1 - 2 * r * s2 + 3 * r2 * s3 - 4 * r3 * s4 + 5 * r4 * s5 - 6 * r5 * s6) / (a * a);
    out.jj2 = (s2 - 2 * r * s3 + 3 * r2 * s4 - 4 * r3 * s5 + 5 * r4 * s6) / (a * a);
    return out;
  }
  double j = 0, product = 1;
  const auto add = [&](double factor) {
    const double inverse = 1 / factor, scaled = j * inverse;
    product *= factor;
    if (product < 1e-150 || product > 1e150) out.log += std::log(product), product = 1;
    out.one += inverse, out.j += scaled;
    out.one2 += inverse * inverse, out.j2 += scaled * inverse, out.jj2 += scaled * scaled;
  };
  const double direct = m <= 24 ? m : std::min(m, std::max(0.0, std::ceil(16 - a / t)));
  for (; j < direct; ++j) add(a + j * t);
  out.log += std::log(product);
  if (j >= m) return out;
  // The rest by Stirling's series: y = a / t + j, k more factors.
  const double k = m - j, start = a + j * t, y = start / t;
  const PolygammaSteps steps = polygamma_steps(y, k);
  const double u = 1 / y, v = 1 / (y + k), d = k * u * v;
  const double d3 = d * (u * u + u * v + v * v);
  const double d5 = d * (u * u * u * u + u * u * u * v + u * u * v * v + u * v * v * v + v * v * v * v);
  // log Gamma(y + k) - log Gamma(y) + k log t
  out.log += (y - 0.5) * steps.log_ratio + k * (std::log(start + k * t) - 1) - d / 12 + d3 / 360 - d5 / 1260;
  const double one = steps.digamma / t, one2 = steps.trigamma / (t * t);
  out.one += one, out.one2 += one2;
  out.j += (k - a * one) / t;
  out.j2 += (one - a * one2) / t;
  out.jj2 += (k - 2 * a * one + a * a * one2) / (t * t);
  return out;
}

Jet jet(Family family, double first, double second, double x, double n) {
  Jet out;
  switch (family) {
    case Family::poisson: {
      const double m = first * n;
      out.value = (x > 0 ? x * std::log(first) : 0.0) - m;
      out.u = x - m, out.uu = -m;
      return out;
    }
    case Family::binom: {
      const double q = 1 - first;
      out.value = (x > 0 ? x * std::log(first) : 0.0) + (n > x ? (n - x) * std::log1p(-first) : 0.0);
      out.u = x - n * first, out.uu = -n * first * q;
      return out;
    }
    case Family::negbinom: {
      const double m = first * n, k = second, sum = k + m, grown = std::log1p(m / k);
      const Rising r = rising(1, 1 / k, x);  // (kappa)_x / kappa^x
      out.value = r.log + (x > 0 ? x * std::log(first) : 0.0) - (k + x) * grown;
      out.u = k * (x - m) / sum;
      out.uu = -m * k * (k + x) / (sum * sum);
      out.uv = k * (x - m) * m / (sum * sum);
      // sum 1 / (kappa + j) = r.one / kappa, sum 1 / (kappa + j)^2 = r.one2 / kappa^2
      const double slope = r.one / k - grown + (m - x) / sum;
      const double bend = -r.one2 / (k * k) + m / (k * sum) - (m - x) / (sum * sum);
      out.v = k * slope;
      out.vv = k * slope + k * k * bend;
      return out;
    }
    case Family::betabinom: {
      const double p = first, q = 1 - p, t = second, w = p * q;
      const Rising a = rising(p, t, x), b = rising(q, t, n - x), c = rising(1, t, n);
      const double by_p = a.one - b.one, by_t = a.j + b.j - c.j;
      out.value = a.log + b.log - c.log;
      out.u = w * by_p;
      out.uu = w * w * (-a.one2 - b.one2) + w * (1 - 2 * p) * by_p;
      out.v = t * by_t;
      out.uv = w * t * (b.j2 - a.j2);
      out.vv = t * t * (c.jj2 - a.jj2 - b.jj2) + t * by_t;
      return out;
    }
  }
  return out;
}

void slopes(Family family, const Parameters& parameters, double x, double n, double* out) {
  const double first = parameters.first, z = parameters.z;
  double second = parameters.second, to_first = 1 / first, to_second = 0.0;
  Family shape = family;
  if (family == Family::negbinom && std::isinf(second)) shape = Family::poisson;
  if (family == Family::betabinom && second == 0) shape = Family::binom;
  if (family == Family::binom || family == Family::betabinom) to_first = 1 / (first * (1 - first));
  if (shape == Family::negbinom) to_second = 1 / second;
  if (shape == Family::betabinom) {
    to_second = 1 / (second * (1 - second));  // d log t / d gamma
    second /= 1 - second;
  }
  const Jet own = jet(shape, first, second, x, n);
  out[0] = own.u * to_first, out[1] = own.v * to_second, out[2] = 0.0;
  if (x > 0) {
    out[2] = -1 / (1 - z);
  } else {
    const double f0 = std::exp(own.value), total = z + (1 - z) * f0;
    const double share = (1 - z) * f0 / total;
    out[0] *= share, out[1] *= share;
    out[2] = (1 - f0) / total;
  }
}

}  // namespace textmill::linear
