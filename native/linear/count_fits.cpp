#include "linear/count_fits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/parallel.h"
#include "linear/count_cell.h"

namespace textmill::linear {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLongestStep = 4.0;
constexpr double kSmallStep = 1e-7;  // Newton's next step would be its square
constexpr std::size_t kCellBlock = 32;
constexpr int kEmSteps = 3;     // before Newton takes over
constexpr int kBentSteps = 24;  // of Newton in (u, zeta); what is on its way then goes on in (a, zeta)
constexpr double kBend = 1e-4;  // share of the expected gain that a step must bring

// Solves (-H + lambda D) step = g over the active coordinates by Cholesky; false unless positive definite.
bool solve(const std::array<double, 6>& curvature, const Vector3& slope, const std::array<bool, 3>& active,
           double lambda, Vector3& step, std::array<Vector3, 3>* inverse = nullptr) {
  const double full[3][3] = {{curvature[0], curvature[1], curvature[3]},
                             {curvature[1], curvature[2], curvature[4]},
                             {curvature[3], curvature[4], curvature[5]}};
  std::size_t index[3], size = 0;
  for (std::size_t i = 0; i < 3; ++i)
    if (active[i]) index[size++] = i;
  double factor[3][3];
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const double own = -full[index[i]][index[j]];
      double sum = own + (i == j ? lambda * std::max(std::abs(own), 1e-12) : 0.0);
      for (std::size_t k = 0; k < j; ++k) sum -= factor[i][k] * factor[j][k];
      if (i == j) {
        if (!(sum > 1e-14 * std::abs(own)) || !std::isfinite(sum)) return false;
        factor[i][i] = std::sqrt(sum);
      } else {
        factor[i][j] = sum / factor[j][j];
      }
    }
  const auto back = [&](const double* right, double* out) {
    double y[3];
    for (std::size_t i = 0; i < size; ++i) {
      double sum = right[i];
      for (std::size_t k = 0; k < i; ++k) sum -= factor[i][k] * y[k];
      y[i] = sum / factor[i][i];
    }
    for (std::size_t i = size; i-- > 0;) {
      double sum = y[i];
      for (std::size_t k = i + 1; k < size; ++k) sum -= factor[k][i] * out[k];
      out[i] = sum / factor[i][i];
    }
  };
  double right[3], out[3];
  for (std::size_t i = 0; i < size; ++i) right[i] = slope[index[i]];
  back(right, out);
  step = {};
  for (std::size_t i = 0; i < size; ++i) step[index[i]] = out[i];
  if (inverse != nullptr)
    for (std::size_t c = 0; c < size; ++c) {
      const double unit[3] = {c == 0 ? 1.0 : 0.0, c == 1 ? 1.0 : 0.0, c == 2 ? 1.0 : 0.0};
      back(unit, out);
      for (std::size_t i = 0; i < size; ++i) (*inverse)[index[i]][index[c]] = out[i];
    }
  return true;
}

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

// From the coordinates (u, v, zeta) to (a, v, zeta) with a = u - log(1 + exp zeta), which are log odds(p) (1 - z) or
// log mu (1 - z). How often a rare word occurs fixes that product and hardly anything else: the likelihood is a ridge that
// is bent in (u, zeta), so that steps along it have to be short, and straight in (a, zeta). Where there is no such ridge
// the steps in (u, zeta) are fewer.
void straighten(double zeta, Sums& sums) {
  const double z = logistic(zeta);
  auto& [uu, uv, vv, uz, vz, zz] = sums.curvature;
  zz += 2 * z * uz + z * z * uu + sums.slope[0] * z * (1 - z);
  uz += z * uu;
  vz += z * uv;
  sums.slope[2] += z * sums.slope[0];
}

}  // namespace

Cell::Point Cell::fit_simple(Family family) {
  Point out;
  const Prior& prior = rules_.prior;
  double weighted = sum_n_positive_;
  for (std::size_t l = 0; l < length_.size(); ++l) weighted += zero_[l] * length_[l];
  const double extra = is_binomial(family) ? prior.success + prior.failure : prior.failure;
  const double below = weighted + extra, above = sum_x_ + prior.success;
  out.at.first = below > 0 ? above / below : 0.0;
  if (is_binomial(family) && out.at.first >= 1) out.state |= kAtEnd;
  out.at.second = is_binomial(family) ? 0.0 : kInfinity;
  return out;
}

Cell::Point Cell::newton(Family family, bool inflated, Point start) {
  const bool spread = family == Family::negbinom || family == Family::betabinom;
  const std::array<bool, 3> active{true, spread, inflated};
  Vector3 at = to_coordinates(family, start.at), step;
  Sums now, next;
  evaluate(family, inflated, at, now);
  bool done = false, straight = false;
  std::int32_t iteration = 0;
  const auto most = static_cast<std::int32_t>(rules_.max_iter);
  for (; iteration < most && !done; ++iteration) {
    if (inflated && iteration == kBentSteps) {
      straight = true;
      straighten(at[2], now);
    }
    double lambda = 0.0;
    while (!solve(now.curvature, now.slope, active, lambda, step)) {
      lambda = lambda == 0.0 ? 1e-3 : 10 * lambda;
      if (lambda > 1e12) break;
    }
    if (lambda > 1e12) break;
    double longest = 0.0, gain = 0.0;
    for (std::size_t i = 0; i < 3; ++i) longest = std::max(longest, std::abs(step[i])), gain += step[i] * now.slope[i];
    double scale = longest > kLongestStep ? kLongestStep / longest : 1.0;
    const double noise = 1e-14 * (std::abs(now.value) + 1);
    bool better = false;
    for (int half = 0; half < 40; ++half, scale /= 2) {
      Vector3 tried;
      for (std::size_t i = 3; i-- > 0;) {
        double moved = at[i] + scale * step[i];
        if (i == 0 && straight) moved += softplus(tried[2]) - softplus(at[2]);
        tried[i] = i == 0 && !is_binomial(family) ? moved : std::clamp(moved, -kFar, kFar);
      }
      evaluate(family, inflated, tried, next);
      if (straight) straighten(tried[2], next);
      if (std::isfinite(next.value) && next.value >= now.value + kBend * scale * gain - noise) {
        better = true;
        double moved = 0.0;
        for (std::size_t i = 0; i < 3; ++i) moved = std::max(moved, std::abs(tried[i] - at[i]));
        done = moved < kSmallStep || (lambda == 0.0 && longest < kSmallStep);
        at = tried;
        break;
      }
    }
    if (!better) {
      done = gain < 1e-9 * (std::abs(now.value) + 1);
      break;
    }
    std::swap(now, next);
  }
  Point out;
  out.at = to_parameters(family, at, inflated);
  if (!spread) out.at.second = is_binomial(family) ? 0.0 : kInfinity;
  out.value = now.value;
  out.iterations = start.iterations + iteration;
  if (!done) out.state |= kUnfinished;
  const double end = kFar - 8;
  if ((is_binomial(family) && at[0] > end) || (family == Family::betabinom && at[1] > end) ||
      (family == Family::negbinom && at[1] < -end))
    out.state |= kAtEnd;
  return out;
}

Cell::Point Cell::em(Family family, Point start, std::size_t steps, double tolerance) {
  const std::vector<double> all = zero_;
  const Prior& prior = rules_.prior;
  Point now = start;
  now.state |= kUnfinished;
  for (std::size_t step = 0; step < steps; ++step) {
    const double z = now.at.z;
    const bool limit = family == Family::negbinom ? std::isinf(now.at.second) : now.at.second <= 0;
    fill_zeros(limit ? simple(family) : family, now.at);
    double inflated = 0.0;
    for (std::size_t l = 0; l < length_.size(); ++l) {
      if (all[l] <= 0) continue;
      const double total = z + (1 - z) * e_[l], r = total > 0 ? z / total : 1.0;
      inflated += all[l] * r;
      zero_[l] = all[l] * (1 - r);
    }
    Point next = fit(family, false);
    zero_ = all;
    next.at.z = (inflated + prior.inflated) / (weight_all_ + prior.inflated + prior.not_inflated);
    next.iterations = now.iterations + 1;
    next.state = (next.state & kAtEnd) | kUnfinished;
    double change = std::abs(next.at.z - z);
    change = std::max(change, std::abs(std::log(next.at.first) - std::log(now.at.first)));
    if (std::isfinite(next.at.second) && next.at.second > 0 && std::isfinite(now.at.second) && now.at.second > 0)
      change = std::max(change, std::abs(std::log(next.at.second) - std::log(now.at.second)));
    now = next;
    if (change < tolerance) {
      now.state &= ~kUnfinished;
      break;
    }
  }
  return now;
}

Cell::Point Cell::fit_inflated(Family family) {
  Point base = fit_simple(family);
  base.value = objective(family, false, base.at);
  if (inflation_slope(family, base.at) <= 0) {
    base.state |= kNoInflation;
    return base;
  }
  double zeros = 0.0;
  for (const double weight : zero_) zeros += weight;
  Point start = base;
  start.at.z = std::max(0.5 * zeros / weight_all_, 1e-6);
  start = em(family, start, kEmSteps, 0.0);
  start.state = 0;
  start.at.first = std::min(start.at.first, is_binomial(family) ? 1 - 1e-6 : start.at.first);
  Point out = newton(family, true, start);
  if (out.value >= base.value || rules_.prior.inflated > 0) return out;  // such a prior rules z = 0 out
  base.state |= kNoInflation;
  return base;
}

Cell::Point Cell::fit_spread(Family family) {
  Point base = fit_simple(simple(family));
  base.value = objective(simple(family), false, base.at);
  if (base.at.first <= 0 || spread_slope(base.at, family) <= 0) {
    base.state |= kNoSpread;
    return base;
  }
  // Moments: sum of squared distances against that of the simple model.
  double square = 0.0, expected = 0.0, growth = 0.0;
  const double first = base.at.first, q = 1 - first;
  const auto add = [&](double x, double n, double w) {
    const double m = first * n, gap = x - m;
    square += w * gap * gap;
    expected += w * (family == Family::negbinom ? m : m * q);
    growth += w * (family == Family::negbinom ? m * m : m * q * (n - 1));
  };
  for (std::size_t l = 0; l < length_.size(); ++l) add(0, length_[l], zero_[l]);
  for (std::size_t k = 0; k < entries_.count.size(); ++k)
    add(entries_.count[k], length_[entries_.length[k]], entries_.weight[k]);
  const double spread = growth > 0 ? std::max((square - expected) / growth, 1e-4) : 1e-2;  // 1 / kappa, or gamma
  Point start = base;
  start.at.second = family == Family::negbinom ? 1 / spread : std::min(spread, 0.5);
  Point out = newton(family, false, start);
  if (out.value >= base.value) return out;
  base.state |= kNoSpread;
  return base;
}

Cell::Point Cell::fit_both(Family family) {
  const Family plain = simple(family);
  Point spread = fit_spread(family);  // z = 0
  Point inflated = fit_inflated(plain);
  spread.state |= kNoInflation;
  inflated.state |= kNoSpread;
  const bool must_inflate = rules_.prior.inflated > 0;
  Point best = must_inflate || inflated.value > spread.value ? inflated : spread;
  std::vector<Point> starts;
  if (!(spread.state & kNoSpread)) {
    starts.push_back(spread);
    starts.back().at.z = 0.2;
  }
  if (inflated.at.z > 0) {
    starts.push_back(inflated);
    starts.back().at.second = family == Family::negbinom ? 2.0 : std::min(0.1, std::max(1e-3, inflated.at.first));
    starts.push_back(starts.back());
    starts.back().at.second = family == Family::negbinom ? 0.2 : 0.02;
    starts.back().at.z *= 0.5;
  }
  for (Point& start : starts) {
    start.state = 0;
    if (is_binomial(family)) start.at.first = std::min(start.at.first, 1 - 1e-6);
    Point out = newton(family, true, start);
    const bool vanished = family == Family::negbinom ? out.at.second > 1e9 : out.at.second < 1e-10;
    if (vanished || out.at.z < 1e-9) continue;  // the simpler models are those, without rounding
    const double margin = 1e-10 * (std::abs(best.value) + 1);
    if (out.value > best.value + margin || (out.value > best.value - margin && (best.state & kUnfinished))) best = out;
  }
  return best;
}

Cell::Point Cell::fit(Family family, bool inflated) {
  const bool spread = family == Family::negbinom || family == Family::betabinom;
  if (!spread && !inflated) return fit_simple(family);
  if (!inflated) return fit_spread(family);
  return spread ? fit_both(family) : fit_inflated(family);
}

void Cell::fit() {
  const Family family = rules_.family;
  if (entries_.count.empty() || weight_positive_ <= 0) {
    best_ = fit_simple(simple(family));
    best_.state = kAbsent;
    return;
  }
  const double longest = length_.empty() ? 0.0 : length_.back();
  const bool unidentified = is_binomial(family) && longest <= 1;
  if (unidentified) {
    best_ = fit_simple(simple(family));
    if (rules_.inflated || family == Family::betabinom) best_.state |= kUnidentified;
    return;
  }
  if (!rules_.em || !rules_.inflated) {
    best_ = fit(family, rules_.inflated);
    return;
  }
  Point start;
  if (rules_.start != nullptr) {
    start.at = *rules_.start;
  } else {
    start = fit(family, false);
    double zeros = 0.0;
    for (const double weight : zero_) zeros += weight;
    start.at.z = 0.5 * zeros / weight_all_;
  }
  start.iterations = 0;
  best_ = em(family, start, rules_.max_iter, rules_.tolerance);
}

void Cell::write(const Fits& out, std::size_t cell) {
  const Parameters& at = best_.at;
  out.z[cell] = at.z, out.first[cell] = at.first, out.second[cell] = at.second;
  out.state[cell] = best_.state, out.iterations[cell] = best_.iterations;
  double* errors = out.errors.data() + 3 * cell;
  errors[0] = errors[1] = errors[2] = kNaN;
  const bool limit = rules_.family == Family::negbinom ? std::isinf(at.second) : at.second <= 0;
  const bool has_second = rules_.family == Family::negbinom || rules_.family == Family::betabinom;
  const Family shape = limit || !has_second ? simple(rules_.family) : rules_.family;
  if (best_.state & kAbsent) {  // every text has count 0
    double value = 0.0;
    for (std::size_t l = 0; l < length_.size(); ++l) value += zero_[l] * log_zero(shape, at, length_[l]);
    out.log_likelihood[cell] = value;
    return;
  }
  if (at.first >= 1 && is_binomial(shape)) {  // every text consists of the word
    double value = 0.0;
    for (std::size_t l = 0; l < length_.size(); ++l)
      if (length_[l] > 0 && zero_[l] > 0) value += zero_[l] * std::log(at.z);
    out.log_likelihood[cell] = value + weight_positive_ * std::log1p(-at.z);
    return;
  }
  const bool inflated = at.z > 0;
  const Vector3 place = to_coordinates(shape, at);
  Sums sums;
  evaluate(shape, inflated, place, sums, false);
  out.log_likelihood[cell] = sums.value + constant_;
  evaluate(shape, inflated, place, sums);
  std::array<Vector3, 3> covariance{};
  Vector3 step;
  const std::array<bool, 3> active{true, shape == rules_.family && has_second, inflated};
  if (!solve(sums.curvature, sums.slope, active, 0.0, step, &covariance)) return;
  const double by_first = is_binomial(shape) ? at.first * (1 - at.first) : at.first;
  errors[0] = by_first * std::sqrt(covariance[0][0]);
  if (active[1]) {
    const double by_second = shape == Family::negbinom ? at.second : at.second * (1 - at.second);
    errors[1] = by_second * std::sqrt(covariance[1][1]);
  }
  if (inflated) errors[2] = at.z * (1 - at.z) * std::sqrt(covariance[2][2]);
}

void fit_table(const CountTable& table, const FitRules& rules, const Fits& out, std::size_t threads) {
  base::parallel_blocks(table.cells(), kCellBlock, threads, [&](std::size_t begin, std::size_t end) {
    Cell work(table, rules);
    for (std::size_t cell = begin; cell < end; ++cell) {
      work.take(cell);
      work.fit();
      work.write(out, cell);
    }
  });
}

}  // namespace textmill::linear
