#include "linear/smo.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/simd.h"

namespace textmill::linear {
namespace {

using base::with_packs;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLeastCurvature = 1e-12;
constexpr double kPlaces[4] = {0.0, 1.0, 2.0, 3.0};

struct Choice {
  double value;
  std::size_t place;
};

// The least value over the lanes, the lowest place among equals.
template <class P>
TEXTMILL_INLINED inline Choice least(P value, P place) {
  double v[P::width], p[P::width];
  value.store(v);
  place.store(p);
  std::size_t best = 0;
  for (std::size_t lane = 1; lane < P::width; ++lane)
    if (v[lane] < v[best] || (v[lane] == v[best] && p[lane] < p[best])) best = lane;
  return {v[best], static_cast<std::size_t>(p[best])};
}

// Arrays padded to whole packs: entries behind the last hold slopes that are never chosen.
struct State {
  std::size_t n, padded;
  std::vector<double> g, up, down, diagonal;
};

std::size_t padded(std::size_t n) { return (n + kPadding - 1) / kPadding * kPadding; }

// g += step (from - to); returns the variable of least slope upward, and the largest slope downward.
struct Selected {
  Choice up;
  double down;
};
Selected advance(State& s, double step, const double* from, const double* to) {
  double* g = s.g.data();
  const double *up = s.up.data(), *down = s.down.data();
  const std::size_t size = s.padded;
  return with_packs([=]<class P>() TEXTMILL_INLINED -> Selected {
    P best = kInfinity, place = 0.0, largest = -kInfinity, at = P::load(kPlaces);
    const P t = step;
    for (std::size_t k = 0; k < size; k += P::width) {
      const P slope = P::load(g + k) + t * (P::load(from + k) - P::load(to + k));
      slope.store(g + k);
      const P u = slope + P::load(up + k);
      const auto less = u < best;
      best = select(less, u, best);
      place = select(less, at, place);
      largest = max(largest, slope + P::load(down + k));
      at = at + P(static_cast<double>(P::width));
    }
    double lanes[P::width];
    largest.store(lanes);
    double highest = lanes[0];
    for (std::size_t lane = 1; lane < P::width; ++lane) highest = std::max(highest, lanes[lane]);
    return {least(best, place), highest};
  });
}

// The variable to lower: of those with a slope above `floor` the one whose pair with i gains most.
std::size_t partner(const State& s, std::size_t i, const double* from, double floor) {
  const double *g = s.g.data(), *down = s.down.data(), *diagonal = s.diagonal.data();
  const std::size_t size = s.padded;
  const double own = s.diagonal[i];
  return with_packs([=]<class P>() TEXTMILL_INLINED -> std::size_t {
    P best = 0.0, place = static_cast<double>(size), at = P::load(kPlaces);
    const P low = floor, own_curvature = own, two = 2.0;
    for (std::size_t k = 0; k < size; k += P::width) {
      const P distance = P::load(g + k) + P::load(down + k) - low;
      const P bend = max(own_curvature + P::load(diagonal + k) - two * P::load(from + k), P(kLeastCurvature));
      const P gain = select(P(0.0) < distance, P(0.0) - distance * distance / bend, P(0.0));
      const auto less = gain < best;
      best = select(less, gain, best);
      place = select(less, at, place);
      at = at + P(static_cast<double>(P::width));
    }
    return least(best, place).place;
  });
}

void settle(State& s, const SupportProblem& problem, std::size_t k, double value) {
  s.up[k] = value >= problem.upper[k] ? kInfinity : (value >= 0.0 ? problem.tube : -problem.tube);
  s.down[k] = value <= problem.lower[k] ? -kInfinity : (value > 0.0 ? problem.tube : -problem.tube);
}

// How far to raise a and lower b: the objective along t falls with `slope` < 0 and bends by `bend`; where one of them
// passes zero the slope rises by 2 tube.
double best_step(double a, double b, double limit, double slope, double bend, double tube) {
  double kinks[2] = {a < 0.0 ? -a : kInfinity, b > 0.0 ? b : kInfinity};
  if (kinks[0] > kinks[1]) std::swap(kinks[0], kinks[1]);
  double at = 0.0;
  for (const double kink : kinks) {
    const double t = at - slope / bend;
    if (t <= kink || kink >= limit) return std::min(t, limit);
    slope += bend * (kink - at) + 2.0 * tube;
    at = kink;
    if (slope >= 0.0) return at;
  }
  return std::min(at - slope / bend, limit);
}

double intercept_of(const State& s, const SupportProblem& problem, std::span<const double> dual, double up,
                    double down) {
  double sum = 0.0;
  std::size_t free = 0;
  for (std::size_t k = 0; k < s.n; ++k)
    if (dual[k] != 0.0 && dual[k] > problem.lower[k] && dual[k] < problem.upper[k]) {
      sum -= s.g[k] + (dual[k] > 0.0 ? problem.tube : -problem.tube);
      ++free;
    }
  if (free > 0) return sum / static_cast<double>(free);
  if (std::isinf(up) && std::isinf(down)) return 0.0;
  if (std::isinf(up)) return -down;
  return std::isinf(down) ? -up : -(up + down) / 2.0;
}

}  // namespace

DenseRows::DenseRows(std::span<const double> matrix, std::size_t size, std::span<const std::int32_t> listed)
    : n_(listed.size()), stride_(padded(n_)), values_(n_ * stride_) {
  for (std::size_t i = 0; i < n_; ++i) {
    const double* from = matrix.data() + static_cast<std::size_t>(listed[i]) * size;
    double* to = values_.data() + i * stride_;
    for (std::size_t k = 0; k < n_; ++k) to[k] = from[listed[k]];
  }
}

CachedRows::CachedRows(const base::Csr<std::int64_t, double>& x, const Design& z, const Kernel& kernel,
                       std::size_t most)
    : x_(x), z_(z), kernel_(kernel), most_(std::max<std::size_t>(most, 2)), squares_(x.rows), diagonal_(x.rows) {
  row_squares(x, {}, squares_);
  for (std::size_t i = 0; i < x.rows; ++i) {
    diagonal_[i] = squares_[i];
    apply(kernel, squares_[i], std::span(&squares_[i], 1), std::span(&diagonal_[i], 1));
  }
}

const double* CachedRows::row(std::size_t i) {
  const auto held = places_.find(i);
  if (held != places_.end()) {
    entries_.splice(entries_.begin(), entries_, held->second);
    return entries_.front().values.data();
  }
  if (entries_.size() >= most_) {
    places_.erase(entries_.back().row);
    entries_.splice(entries_.begin(), entries_, std::prev(entries_.end()));
    entries_.front().row = i;
  } else {
    entries_.push_front({i, std::vector<double>(padded(x_.rows))});
  }
  places_[i] = entries_.begin();
  const auto begin = static_cast<std::size_t>(x_.offsets[i]),
             size = static_cast<std::size_t>(x_.offsets[i + 1]) - begin;
  const std::span values(entries_.front().values.data(), x_.rows);
  row_dots(z_, x_.indices.subspan(begin, size), x_.values.subspan(begin, size), {}, values);
  apply(kernel_, squares_[i], squares_, values);
  return values.data();
}

SupportSolution solve_support(KernelRows& kernel, const SupportProblem& problem, double tolerance,
                              std::size_t max_steps, std::span<double> dual, std::span<double> slope) {
  const std::size_t n = kernel.size();
  const std::size_t whole = padded(n);
  State s{n,
          whole,
          std::vector(whole, 0.0),
          std::vector(whole, kInfinity),
          std::vector(whole, -kInfinity),
          std::vector(whole, 0.0)};
  for (std::size_t k = 0; k < n; ++k) {
    s.g[k] = slope[k];
    s.diagonal[k] = kernel.diagonal(k);
    settle(s, problem, k, dual[k]);
  }
  SupportSolution solution;
  Selected chosen = advance(s, 0.0, s.g.data(), s.g.data());
  while (chosen.down - chosen.up.value > tolerance && solution.steps < max_steps) {
    const std::size_t i = chosen.up.place;
    const double* from = kernel.row(i);
    const std::size_t j = partner(s, i, from, chosen.up.value);
    if (j >= n) break;  // nothing to gain but rounding
    const double* to = kernel.row(j);
    const double bend = std::max(s.diagonal[i] + s.diagonal[j] - 2.0 * from[j], kLeastCurvature);
    const double limit = std::min(problem.upper[i] - dual[i], dual[j] - problem.lower[j]);
    const double distance = chosen.up.value - (s.g[j] + s.down[j]);
    const double step = best_step(dual[i], dual[j], limit, distance, bend, problem.tube);
    const double raised = problem.upper[i] - dual[i] <= step ? problem.upper[i] : dual[i] + step;
    const double lowered = dual[j] - problem.lower[j] <= step ? problem.lower[j] : dual[j] - step;
    if (raised == dual[i] && lowered == dual[j]) break;  // as near as numbers can be
    dual[i] = raised;
    dual[j] = lowered;
    settle(s, problem, i, raised);
    settle(s, problem, j, lowered);
    chosen = advance(s, step, from, to);
    ++solution.steps;
  }
  std::copy_n(s.g.begin(), n, slope.begin());
  for (std::size_t k = 0; k < n; ++k)
    solution.objective += 0.5 * dual[k] * (s.g[k] - problem.target[k]) + problem.tube * std::abs(dual[k]);
  solution.violation = std::max(0.0, chosen.down - chosen.up.value);
  solution.intercept = intercept_of(s, problem, dual, chosen.up.value, chosen.down);
  return solution;
}

}  // namespace textmill::linear
