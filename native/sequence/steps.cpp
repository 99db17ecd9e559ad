#include "sequence/steps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace textmill::sequence {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

struct Sizes {
  std::size_t Y, H, base;
  explicit Sizes(const Histories& histories)
      : Y(histories.labels), H(histories.size(histories.order)), base(histories.base) {}
  std::size_t next(std::size_t h, std::size_t y) const { return (h * base + y) % H; }
};

// Weight of an arc, 0 where the label is not allowed.
double arc(const Steps& steps, const Sizes& n, std::size_t t, std::size_t h, std::size_t y) {
  if (steps.allowed != nullptr && !steps.allowed[t * n.Y + y]) return 0.0;
  return steps.weights[(t * n.H + h) * n.Y + y];
}

// Sets all but the best `beam` values to 0.
void prune(std::span<double> values, std::size_t beam, std::vector<std::size_t>& order) {
  order.resize(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t i, std::size_t j) { return values[i] > values[j]; });
  for (std::size_t i = beam; i < order.size(); ++i) values[order[i]] = 0.0;
}

}  // namespace

double best_path(const Steps& steps, std::size_t beam, std::span<std::int32_t> path) {
  const Sizes n(steps.histories);
  std::vector<double> before(n.H, 0.0), now(n.H);
  std::vector<std::int32_t> from(steps.length * n.H, -1);  // history before, for each history after
  std::vector<std::size_t> order;
  before[steps.histories.begin()] = 1.0;
  double score = 0.0;
  for (std::size_t t = 0; t < steps.length; ++t) {
    std::ranges::fill(now, 0.0);
    for (std::size_t h = 0; h < n.H; ++h) {
      if (before[h] == 0.0) continue;
      for (std::size_t y = 0; y < n.Y; ++y) {
        const double weight = before[h] * arc(steps, n, t, h, y);
        const std::size_t after = n.next(h, y);
        if (weight > now[after]) {
          now[after] = weight;
          from[t * n.H + after] = static_cast<std::int32_t>(h);
        }
      }
    }
    if (beam > 0 && beam < n.H) prune(now, beam, order);
    const double best = *std::ranges::max_element(now);
    if (!(best > 0.0)) {
      std::ranges::fill(path, -1);
      return kNever;
    }
    for (double& value : now) value /= best;
    score += std::log(best);
    before.swap(now);
  }
  auto h = static_cast<std::size_t>(std::ranges::max_element(before) - before.begin());
  for (std::size_t t = steps.length; t-- > 0;) {
    path[t] = static_cast<std::int32_t>(h % n.base);
    h = static_cast<std::size_t>(from[t * n.H + h]);
  }
  return score;
}

double sum_paths(const Steps& steps, std::span<double> a, std::span<double> b) {
  const Sizes n(steps.histories);
  std::vector<double> first(n.H, 0.0), scale(steps.length);
  first[steps.histories.begin()] = 1.0;
  double log_z = 0.0;
  for (std::size_t t = 0; t < steps.length; ++t) {
    const double* before = t == 0 ? first.data() : &a[(t - 1) * n.H];
    const std::span<double> now = a.subspan(t * n.H, n.H);
    std::ranges::fill(now, 0.0);
    for (std::size_t h = 0; h < n.H; ++h) {
      if (before[h] == 0.0) continue;
      for (std::size_t y = 0; y < n.Y; ++y) now[n.next(h, y)] += before[h] * arc(steps, n, t, h, y);
    }
    scale[t] = std::accumulate(now.begin(), now.end(), 0.0);
    if (!(scale[t] > 0.0)) return kNever;
    for (double& value : now) value /= scale[t];
    log_z += std::log(scale[t]);
  }
  if (b.empty() || steps.length == 0) return log_z;
  std::ranges::fill(b.subspan((steps.length - 1) * n.H, n.H), 1.0);
  for (std::size_t t = steps.length - 1; t > 0; --t) {
    for (std::size_t h = 0; h < n.H; ++h) {
      double sum = 0.0;
      for (std::size_t y = 0; y < n.Y; ++y) sum += arc(steps, n, t, h, y) * b[t * n.H + n.next(h, y)];
      b[(t - 1) * n.H + h] = sum / scale[t];
    }
  }
  return log_z;
}

double label_marginals(const Steps& steps, std::span<double> out) {
  const Sizes n(steps.histories);
  std::ranges::fill(out, 0.0);
  std::vector<double> a(steps.length * n.H), b(steps.length * n.H);
  const double log_z = sum_paths(steps, a, b);
  if (log_z == kNever) return log_z;
  for (std::size_t t = 0; t < steps.length; ++t) {
    double sum = 0.0;
    for (std::size_t h = 0; h < n.H; ++h) {
      const double p = a[t * n.H + h] * b[t * n.H + h];
      if (h % n.base < n.Y) out[t * n.Y + h % n.base] += p;
      sum += p;
    }
    for (std::size_t y = 0; y < n.Y; ++y) out[t * n.Y + y] /= sum;
  }
  return log_z;
}

double expected_events(const Steps& steps, double least, Events& events) {
  const Sizes n(steps.histories);
  std::vector<double> a(steps.length * n.H), b(steps.length * n.H), first(n.H, 0.0);
  first[steps.histories.begin()] = 1.0;
  const double log_z = sum_paths(steps, a, b);
  for (std::size_t t = 0; t < steps.length; ++t) {
    if (log_z != kNever) {
      const double* before = t == 0 ? first.data() : &a[(t - 1) * n.H];
      double sum = 0.0;
      for (std::size_t h = 0; h < n.H; ++h)
        for (std::size_t y = 0; y < n.Y; ++y) sum += before[h] * arc(steps, n, t, h, y) * b[t * n.H + n.next(h, y)];
      for (std::size_t h = 0; h < n.H; ++h) {
        for (std::size_t y = 0; y < n.Y; ++y) {
          const double p = before[h] * arc(steps, n, t, h, y) * b[t * n.H + n.next(h, y)] / sum;
          if (p < least) continue;
          events.history.push_back(static_cast<std::int32_t>(h));
          events.label.push_back(static_cast<std::int32_t>(y));
          events.weight.push_back(p);
        }
      }
    }
    events.offsets.push_back(static_cast<std::int64_t>(events.history.size()));
  }
  return log_z;
}

std::vector<Path> best_paths(const Steps& steps, std::size_t n_best) {
  const Sizes n(steps.histories);
  if (steps.length == 0) return {{0.0, {}}};
  std::vector<double> unary(steps.length * n.H, 0.0), pairs(steps.length * n.H * n.H, kNever);
  std::vector<const double*> rows(steps.length);
  std::fill(unary.begin(), unary.begin() + static_cast<std::ptrdiff_t>(n.H), kNever);
  for (std::size_t t = 0; t < steps.length; ++t) {
    rows[t] = &pairs[t * n.H * n.H];
    for (std::size_t h = 0; h < n.H; ++h) {
      if (t == 0 && h != steps.histories.begin()) continue;
      for (std::size_t y = 0; y < n.Y; ++y) {
        const double weight = std::log(arc(steps, n, t, h, y));
        (t == 0 ? unary[n.next(h, y)] : pairs[(t * n.H + h) * n.H + n.next(h, y)]) = weight;
      }
    }
  }
  std::vector<Path> paths = best_paths(Chain{steps.length, n.H, unary.data(), rows, n.H}, n_best);
  for (Path& path : paths)
    for (std::int32_t& label : path.labels) label %= static_cast<std::int32_t>(n.base);
  return paths;
}

}  // namespace textmill::sequence
